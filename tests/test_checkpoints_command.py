"""Merges that are written tensor by tensor, in shards, with weights and dtypes; and the command line."""
import inspect
import json
import os
import weakref

import pytest
import torch
import yaml
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import lessons.checkpoints
from data import store
from lessons.checkpoints import Without, folders, opening, shards, writing
from lessons.checkpoints import __main__ as command
from lessons.checkpoints.opening import CheckpointError, Entry
from lessons.merging import Needs, merge_on_demand, methods, sparse
from lessons.merging import merge as merge_states

FROM_WEIGHTS = [name for name, method in methods().items() if method.needs == (Needs.WEIGHTS,)]
SHAPES = {"wte.weight": (12, 8), "h.0.w": (8, 8), "h.0.b": (8,), "h.1.w": (8, 8), "h.1.b": (8,), "scale": ()}
TOKENIZER = {"tokenizer.json": '{"words": 12}', "generation_config.json": "{}", "preprocessor_config.json": '{"a": 1}'}


def state_of(seed, spread=1.0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return {key: (spread * torch.randn(shape, generator=generator)).to(dtype) for key, shape in SHAPES.items()}


def written(path, state, config=None, beside=None):
    path.mkdir()
    save_file(state, path / "model.safetensors", {"format": "pt"})
    (path / "config.json").write_text(json.dumps(config or {"model_type": "own", "dtype": "float32"}))
    for name, text in (beside or {}).items():
        (path / name).write_text(text)
    return folders.opened(path)


def family(folder, dtype=torch.float32):
    """A base with a tokenizer and two models that were finetuned from it."""
    base = state_of(0)
    tuned = [{key: tensor + change for (key, tensor), change in zip(base.items(), state_of(seed, 0.1).values())}
             for seed in (1, 2)]
    states = [{key: tensor.to(dtype) for key, tensor in state.items()} for state in (base, *tuned)]
    start = written(folder / "base", states[0], beside=TOKENIZER)
    return start, [written(folder / name, state) for name, state in zip("ab", states[1:])]


@pytest.fixture
def models(tmp_path):
    return family(tmp_path)


def same(state, other):
    return sorted(state) == sorted(other) and all(
        state[key].dtype == other[key].dtype and torch.equal(state[key], other[key]) for key in state)


def merged(*asked, **options):
    return writing.merge(*asked, progress=False, **options)


# -- tensor by tensor --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", FROM_WEIGHTS)
def test_tensors_made_on_demand_are_those_of_the_whole_model(name, models):
    base, tuned = models
    assert same(merge_on_demand(name, base, tuned), merge_states(name, base, tuned))


def test_only_what_is_asked_for_is_made_and_a_method_called_later_gives_a_dict_again(models):
    base, tuned = models
    asked = merge_on_demand("average", base, tuned)
    assert not isinstance(asked, dict) and list(asked) == list(base) and len(asked) == len(base)
    assert asked["h.0.w"] is not asked["h.0.w"] and not asked["h.0.w"].requires_grad
    assert isinstance(merge_states("average", base, tuned), dict)
    with pytest.raises(ValueError, match="no merging method 'tie'"):
        merge_on_demand("tie", base, tuned)
    assert isinstance(merge_states("average", base, tuned), dict), "an error leaves nothing switched on"


@pytest.mark.parametrize("size", [None, 300])
def test_each_tensor_is_written_and_let_go_before_the_next_is_made(models, tmp_path, monkeypatch, size):
    alive = []
    def add(self, tensor, write=shards.Writer.add):
        assert not any(one() is not None for one in alive), "an earlier tensor of the merged model is still in memory"
        write(self, tensor)
        alive.append(weakref.ref(tensor))
    monkeypatch.setattr(shards.Writer, "add", add)
    merged(tmp_path / "out", "ties", *models, shard_size=size)
    assert len(alive) == len(SHAPES)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name, options", [
    ("ties", {}), ("ties", {"density": 1e-3}), ("ties", {"density": 0}), ("consensus", {"density": 0.3}),
    ("breadcrumbs", {"trim": "global", "density": 0.5, "outliers": 0.1})])
def test_limits_of_a_whole_vector_that_does_not_fit_into_memory_are_the_same(name, options, dtype, monkeypatch):
    base, *tuned = (state_of(seed, dtype=dtype) for seed in range(4))
    tuned[0]["wte.weight"] = base["wte.weight"] + 0.25  # many equal magnitudes
    expected = merge_states(name, base, tuned, **options)
    monkeypatch.setattr(sparse, "FEW", 0)
    monkeypatch.setattr(sparse, "LONG", 7)
    assert same(merge_states(name, base, tuned, **options), expected)


# -- shards ------------------------------------------------------------------------------------------------------------

def test_shards_hold_the_model_that_one_file_holds_and_the_index_says_where(models, tmp_path):
    whole, parts = (merged(tmp_path / name, "cart", *models, shard_size=size)
                    for name, size in (("whole", None), ("parts", 400)))
    assert same(folders.opened(parts), folders.opened(whole)) and not (parts / "model.safetensors").exists()
    names = sorted(path.name for path in parts.glob("*.safetensors"))
    assert names == [f"model-{number:05d}-of-00003.safetensors" for number in (1, 2, 3)]
    index = json.loads((parts / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 4 * sum(torch.Size(shape).numel() for shape in SHAPES.values())
    assert {key: name for name in names for key in load_file(parts / name)} == index["weight_map"]
    assert not list(whole.glob("*.index.json")) and (whole / "model.safetensors").exists()
    modes = {path.stat().st_mode for path in parts.iterdir()}
    assert len(modes) == 1, "all may be read by whoever may read the card"


def test_a_file_of_several_dtypes_is_read_by_the_library_that_maps_it(tmp_path):
    state = {"a": torch.ones(3, dtype=torch.bfloat16), "b": torch.arange(3.0), "n.num_batches_tracked": torch.tensor(7),
             "none": torch.empty(0, 2), "c": torch.tensor(1.5, dtype=torch.float64)}
    with shards.Writer(tmp_path / "x.safetensors", {key: Entry(folders.NAMES[tensor.dtype], tuple(tensor.shape))
                                                   for key, tensor in state.items()}, {"format": "pt"}) as writer:
        for key in writer.keys:
            writer.add(state[key])
    assert same(load_file(tmp_path / "x.safetensors"), state)
    assert same(folders.opened(tmp_path / "x.safetensors"), state)
    with safe_open(tmp_path / "x.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
    sizes = opening.header(tmp_path / "x.safetensors")
    assert all(start % opening.BYTES[sizes.entries[key].dtype] == 0 for key, (start, _) in sizes.places.items())


def test_a_tensor_that_is_not_what_the_header_says_is_refused(tmp_path):
    with (pytest.raises(ValueError, match=r"'a' is to be F32 \(2,\), and F64 \(2,\) came"),
          shards.Writer(tmp_path / "x.safetensors", {"a": Entry("F32", (2,))}) as writer):
        writer.add(torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("text, size", [("5GB", 5 * 10**9), ("500 mb", 5 * 10**8), ("1.5GiB", 3 * 2**29), ("7", 7),
                                        (12, 12), ("3B", 3), ("2KiB", 2048)])
def test_sizes_of_shards_are_read_as_the_hub_writes_them(text, size):
    assert shards.parsed_size(text) == size


@pytest.mark.parametrize("text", ["", "5XB", "GB", "-5GB", "0", "5 G B", "nan", "5K", True, "1e3"])
def test_what_is_no_size_is_said(text):
    with pytest.raises(ValueError, match="a shard's size must be a number of bytes or a text such as"):
        shards.parsed_size(text)


def test_a_tensor_larger_than_a_shard_has_a_file_of_its_own():
    entries = {key: Entry("F32", (size,)) for key, size in (("a", 1), ("b", 9), ("c", 1), ("d", 1), ("e", 1))}
    assert [list(part) for part in shards.planned(entries, 8).values()] == [["a"], ["b"], ["c", "d"], ["e"]]


@pytest.mark.parametrize("size", [None, 400])
@pytest.mark.fault("full", "The disk becomes full while a merged model is written",
                   answers="An error says so, and nothing is left")
def test_a_disk_that_is_full_in_the_middle_leaves_nothing(models, tmp_path, full_disk, size):
    before = sorted(tmp_path.iterdir())
    with full_disk(380), pytest.raises(store.StoreError, match="out cannot be written"):
        merged(tmp_path / "out", "average", *models, shard_size=size)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.fault("written", "A merge is interrupted", answers="Nothing is left")
def test_an_interrupt_leaves_nothing(models, tmp_path, monkeypatch):
    monkeypatch.setattr(shards.Writer, "add", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        merged(tmp_path / "out", "average", *models, shard_size=400)
    assert sorted(tmp_path.iterdir()) == before


def test_the_same_merge_in_shards_takes_no_new_folder(models, tmp_path):
    options = {"shard_size": 400, "progress": False}
    first = writing.merge_once(tmp_path / "out", "average", *models, **options)
    assert writing.merge_once(tmp_path / "out", "average", *models, **options) == first
    assert writing.merge_once(tmp_path / "out", "average", *models, progress=False) == tmp_path / "out-2"


# -- weights and dtype -------------------------------------------------------------------------------------------------

def test_weights_of_an_average_are_shares(models, tmp_path):
    base, (a, b) = models
    found = folders.opened(merged(tmp_path / "out", "average", base, [a, b], weights=[3, 1]))
    for key in SHAPES:
        torch.testing.assert_close(found[key], 0.75 * a[key] + 0.25 * b[key], rtol=1e-5, atol=1e-6)


def test_weights_multiply_task_vectors(models, tmp_path):
    base, (a, b) = models
    out = merged(tmp_path / "out", "task_arithmetic", base, [a, b], ["a", "<b>"], weights=[0.8, -0.4], scale=0.5)
    found = folders.opened(out)
    for key in SHAPES:
        wanted = base[key] + 0.5 * (0.8 * (a[key] - base[key]) - 0.4 * (b[key] - base[key]))
        torch.testing.assert_close(found[key], wanted, rtol=1e-5, atol=1e-6)
    card = (out / "README.md").read_text()
    assert "| weight of a | `0.8` |" in card and "weight of &#60;b&#62; | `-0.4`" in card


@pytest.mark.parametrize("name", FROM_WEIGHTS)
def test_weights_of_one_change_nothing(name, models, tmp_path):
    plain, weighted = (merged(tmp_path / str(weights), name, *models, weights=weights) for weights in (None, [1, 1]))
    assert same(folders.opened(plain), folders.opened(weighted))


def test_half_precision_is_rounded_once_also_with_weights(tmp_path):
    base, (a, b) = family(tmp_path, torch.bfloat16)
    found = folders.opened(merged(tmp_path / "out", "average", base, [a, b], weights=[3, 1]))
    for key in SHAPES:
        assert torch.equal(found[key], (0.75 * a[key].float() + 0.25 * b[key].float()).bfloat16()), key


@pytest.mark.parametrize("weights, says", [
    ([1], r"weights must be finite numbers, one for each of 2 finetuned models, not \[1\]"), ([1, 2, 3], "each of 2"),
    ([1, float("nan")], "each of 2"), (["1", "2"], "each of 2"), ([1, -1], "of a mean must have a sum above 0")])
def test_weights_that_make_no_sense_are_said(models, tmp_path, weights, says):
    with pytest.raises(ValueError, match=says):
        merged(tmp_path / "out", "average", *models, weights=weights)
    assert not (tmp_path / "out").exists()


def test_the_dtype_is_that_which_was_asked_for(models, tmp_path):
    base, tuned = models
    found = folders.opened(merged(tmp_path / "out", "ties", base, tuned, dtype="bfloat16"))
    expected = merge_states("ties", base, tuned)
    assert same(found, {key: tensor.bfloat16() for key, tensor in expected.items()})
    assert found.config["dtype"] == "bfloat16"


def test_a_wider_dtype_is_computed_in(tmp_path):
    base, (a, b) = family(tmp_path, torch.bfloat16)
    found = folders.opened(merged(tmp_path / "out", "average", base, [a, b], dtype=torch.float32))
    assert torch.equal(found["h.0.w"], torch.stack([a["h.0.w"].float(), b["h.0.w"].float()]).mean(0))


def test_a_number_that_no_dtype_holds_is_said_and_leaves_nothing(tmp_path, models):
    base, tuned = models
    large = written(tmp_path / "large", {**base, "h.1.w": 1e6 * base["h.1.w"]})
    with pytest.warns(writing.StrangeModels), pytest.raises(ValueError, match="'h.1.w' does not fit torch.float16"):
        merged(tmp_path / "out", "average", base, [large, tuned[0]], dtype="float16")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_an_unknown_dtype_is_said(models, tmp_path):
    with pytest.raises(ValueError, match="dtype must be one of float16, bfloat16, float32, float64, not 'int8'"):
        merged(tmp_path / "out", "average", *models, dtype="int8")


def test_the_room_that_is_needed_is_that_of_the_dtype_and_of_the_copies(models, tmp_path, monkeypatch):
    numbers = sum(torch.Size(shape).numel() for shape in SHAPES.values())
    needed = 2 * numbers + sum(map(len, TOKENIZER.values()))
    for free, dtype in ((needed - 1, "bfloat16"), (needed, "float32")):
        monkeypatch.setattr(writing.shutil, "disk_usage", lambda _, free=free: type("", (), {"free": free})())
        with pytest.raises(store.StoreError, match="has no room for the merged model"):
            merged(tmp_path / "out", "average", *models, dtype=dtype)


def test_no_method_has_a_parameter_that_is_an_option_of_every_merge():
    options = {name for name, parameter in inspect.signature(writing.merge).parameters.items()}
    options |= {"out", "without", "quiet", "help"}
    assert not [name for method in methods().values() for name in options & {one.name for one in method.parameters}]


# -- what lies beside ----------------------------------------------------------------------------------------------

@pytest.mark.fault("written", "A base's folder holds programs", answers="They are not copied to the merged model")
def test_tokenizer_and_other_settings_of_the_base_are_copied_and_no_program(models, tmp_path):
    base, tuned = models
    for name in ("modeling_own.py", "pytorch_model.bin", "training_args.bin", "notes.txt"):
        (base.path / name).write_text("not to be copied")
    out = merged(tmp_path / "out", "average", Without(base, "scale"), [Without(state, "scale") for state in tuned])
    names = {path.name for path in out.iterdir()}
    assert names == {*TOKENIZER, "model.safetensors", "config.json", "README.md"}
    card = (out / "README.md").read_text()
    for name, text in TOKENIZER.items():
        assert (out / name).read_text() == text
        assert f"| copied beside it | base | {name} | `{opening.sha256(out / name)}` |" in card


def test_a_link_is_copied_as_what_it_leads_to_and_a_pipe_is_left(models, tmp_path):
    base, tuned = models
    (tmp_path / "blob").write_text("words")
    (base.path / "vocab.txt").symlink_to(tmp_path / "blob")
    os.mkfifo(base.path / "merges.txt")
    out = merged(tmp_path / "out", "average", base, tuned)
    assert (out / "vocab.txt").read_text() == "words" and not (out / "vocab.txt").is_symlink()
    assert not (out / "merges.txt").exists()


def test_a_model_in_memory_brings_nothing_along(models, tmp_path):
    base, tuned = models
    out = merged(tmp_path / "out", "average", dict(base), tuned)
    assert {path.name for path in out.iterdir()} == {"model.safetensors", "README.md"}


def test_another_tokenizer_than_the_bases_is_told(models, tmp_path):
    base, (a, b) = models
    (a.path / "tokenizer.json").write_text('{"words": 13}')
    (b.path / "tokenizer.json").write_text(TOKENIZER["tokenizer.json"])
    with pytest.warns(writing.StrangeModels, match="^a has another tokenizer.json than the base"):
        out = merged(tmp_path / "out", "average", base, [a, b])
    assert (out / "README.md").read_text().count("has another tokenizer.json") == 1


def test_the_cards_head_names_the_models_as_the_hub_does(models, tmp_path):
    base, tuned = models
    snapshot = tmp_path / "models--own-er--gpt.2" / "snapshots" / "1a2b"
    snapshot.parent.mkdir(parents=True)
    base.path.rename(snapshot)
    strange = tmp_path / 'x"\n---\n<img src=x>'
    tuned[1].path.rename(strange)
    out = merged(tmp_path / "out", "average", *map(folders.opened, [snapshot]),
                 [folders.opened(tuned[0].path), folders.opened(strange)])
    card = (out / "README.md").read_text()
    head = yaml.safe_load(card.split("---\n")[1])
    assert head == {"library_name": "weightspace", "base_model": ["own-er/gpt.2", "a"], "tags": ["merge"]}
    assert "<img" not in card


# -- the command line --------------------------------------------------------------------------------------------------

@pytest.fixture
def asked(models, capsys):
    """asked("merge", …) -> (exit status, what stands in both streams) of the command line."""
    def run(*words):
        try:
            status = command.main([str(word) for word in words])
        except SystemExit as ended:
            status = ended.code
        said = capsys.readouterr()
        return status, said.out, said.err
    return run


def paths(models):
    return [models[0].path, *(state.path for state in models[1])]


def test_the_command_merges_as_the_function_does(models, asked, tmp_path):
    words = ["--density", 0.3, "--on-tie", "positive", "--weights", "0.7,0.4", "--dtype", "bfloat16", "--shard-size",
             "400B", "--names", "x,y", "--out", tmp_path / "out"]
    status, said, wrong = asked("merge", "ties", *paths(models), *words)
    wanted = merged(tmp_path / "wanted", "ties", *models, ["x", "y"], density=0.3, on_tie="positive",
                    weights=[0.7, 0.4], dtype="bfloat16", shard_size=400)
    assert status == 0 and same(folders.opened(tmp_path / "out"), folders.opened(wanted)) and "tensor" in wrong
    assert (tmp_path / "out/README.md").read_text() == (wanted / "README.md").read_text()
    assert all(str(path) in said for path in (tmp_path / "out").iterdir())


@pytest.mark.parametrize("name", FROM_WEIGHTS)
def test_every_method_of_weights_alone_is_offered_with_its_parameters(name, asked):
    status, said, _ = asked("merge", name, "--help")
    assert status == 0 and all(f"--{one.name.replace('_', '-')}" in said for one in methods()[name].parameters)


@pytest.mark.parametrize("words, says", [
    (["merge", "tie"], ["invalid choice: 'tie'", *FROM_WEIGHTS]), (["merge", "emr"], ["invalid choice: 'emr'"]),
    (["merge", "ties", "B", "M", "--out", "x", "--densty", "1"], ["'--densty' is not known", "--density", "--trim"]),
    (["merge", "ties", "B", "M", "--out", "x", "--dens", "0.3"], ["'--dens' is not known here"]),
    (["merge", "average", "B", "M", "--out", "x", "--scale", "1"], ["'--scale' is not known here"]),
    (["merge", "ties", "B", "M", "--out", "x", "--density", "3"], ["density must be a number, from 0 to 1, not 3.0"]),
    (["merge", "ties", "B", "M", "--out", "x", "--density", "x"], ["density must be a number, from 0 to 1, not 'x'"]),
    (["merge", "ties", "B", "M", "--out", "x", "--trim", "all"], ["trim must be 'global' or 'tensor' or 'row'"]),
    (["merge", "dare", "B", "M", "--out", "x", "--seed", "1.5"], ["seed must be a whole number"]),
    (["merge", "ties", "B", "M", "--out", "x", "--weights", "1;2"], ["weights are numbers with commas between them"]),
    (["merge", "ties", "B", "M", "--out", "x", "--dtype", "int8"], ["float16", "bfloat16"]),
    (["merge", "ties", "B", "M"], ["--out"]), (["look", "B"], ["MODEL"]), (["fetch", "b16"], ["b32"]), ([], ["look"])])
def test_what_is_asked_the_wrong_way_is_told_with_what_there_is(words, says, asked):
    status, _, wrong = asked(*words)
    assert status == 2 and all(text in wrong for text in says)


@pytest.mark.parametrize("words, says", [
    (["--weights", "1"], "one for each of 2 finetuned models"), (["--shard-size", "big"], "a shard's size must be"),
    (["--names", "x"], "names must be 2 different ones"), (["--without", "head."], "no key begins with 'head.'")])
def test_what_does_not_fit_the_models_is_told_and_leaves_nothing(words, says, models, asked, tmp_path):
    status, _, wrong = asked("merge", "average", *paths(models), "--out", tmp_path / "out", *words)
    assert status == 1 and says in wrong and "Traceback" not in wrong and not (tmp_path / "out").exists()


def test_a_folder_that_is_there_is_not_written(models, asked, tmp_path):
    (tmp_path / "out").mkdir()
    status, _, wrong = asked("merge", "average", *paths(models), "--out", tmp_path / "out")
    assert status == 1 and "is there already, and nothing is overwritten" in wrong
    assert not list((tmp_path / "out").iterdir())


def test_the_command_leaves_keys_out_and_takes_adapters(models, asked, tmp_path):
    adapter = tmp_path / "lora"
    adapter.mkdir()
    save_file({"base_model.model.h.0.w.lora_A.weight": torch.ones(1, 8),
               "base_model.model.h.0.w.lora_B.weight": torch.ones(8, 1)}, adapter / "adapter_model.safetensors")
    (adapter / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 1, "lora_alpha": 2}))
    base, tuned = models
    renamed = written(tmp_path / "layers", {("h.0.w.weight" if key == "h.0.w" else key): tensor
                                            for key, tensor in base.items()})
    status, _, wrong = asked("merge", "average", renamed.path, adapter, "--out", tmp_path / "out", "--without", "scale",
                             "--quiet")
    assert status == 0, wrong
    found = folders.opened(tmp_path / "out")
    torch.testing.assert_close(found["h.0.w.weight"], base["h.0.w"] + 2)
    assert "scale" not in found and "left out on request" in (tmp_path / "out/README.md").read_text()


def test_the_command_looks(models, asked):
    status, said, _ = asked("look", *paths(models), "--layers", "--spectra", "--quiet")
    looked = lessons.checkpoints.look(*models, progress=False)
    assert status == 0 and "2 models of" in said and "h.1.w" in said
    norm = float(looked.norm.sel(task="a").pipe(lambda norm: (norm ** 2).sum() ** 0.5))
    assert f"{norm:.4g}" in said and "pushes up and another down" in said and "at rank 8%" in said


@pytest.mark.fault("written", "Names in files hold control characters", answers="They do not reach the terminal")
def test_what_came_from_files_cannot_control_the_terminal(models, asked, tmp_path):
    evil = written(tmp_path / "evil", {("h\x1b[2J\r" if key == "scale" else key): tensor
                                       for key, tensor in models[0].items()})
    status, said, wrong = asked("look", evil.path, evil.path, "--layers", "--quiet")
    assert status == 0 and "\x1b" not in said + wrong and "\r" not in said + wrong and r"h\x1b[2J\r" in said
    assert "is the base itself" in said
    status, said, wrong = asked("look", models[0].path, tmp_path / "no\x1b[2Jne")
    assert status == 1 and "\x1b" not in wrong and r"no\x1b[2Jne" in wrong


def test_warnings_of_a_merge_are_told(models, asked, tmp_path):
    base, (a, _) = models
    status, _, wrong = asked("merge", "average", base.path, a.path, base.path, "--out", tmp_path / "out", "--quiet")
    assert status == 0 and "warning: " in wrong and "is the base itself" in wrong


def test_the_front_door_has_what_it_names():
    assert all(hasattr(lessons.checkpoints, name) for name in lessons.checkpoints.__all__)
    with pytest.raises(CheckpointError):
        lessons.checkpoints.opened("no such folder")
