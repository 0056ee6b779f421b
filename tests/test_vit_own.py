"""Chapter 13: your own checkpoints, looked at, merged to a file, and LoRA adapters."""
import hashlib
import html
import json
import math
import os
import re
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import torch
from safetensors.torch import save, save_file

from data import store
from lessons.cart.algorithms.interference import overlap
from lessons.checkpoints import (
    adapters,
    conv1d,
    folders,
    looking,
    lora,
    opening,
    patterns,
    together,
    totals,
    vectors,
    writing,
)
from lessons.checkpoints.opening import CheckpointError
from lessons.merging import merge as merge_states
from lessons.vit.experiment import example
from lessons.vit.panels import files as files_panels
from lessons.vit.panels import own
from toy_models import weights

WIDTH, TOKENS, PLACES, BLOCKS = 16, 40, 8, 2


def gpt2_shapes(width=WIDTH, tokens=TOKENS, places=PLACES, blocks=BLOCKS):
    """{key: shape} as GPT-2's file on the hub has them: matrices are stored (in, out)."""
    found = {"wte.weight": (tokens, width), "wpe.weight": (places, width)}
    for number in range(blocks):
        for name, shape in {"ln_1": None, "attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width),
                            "ln_2": None, "mlp.c_fc": (width, 4 * width), "mlp.c_proj": (4 * width, width)}.items():
            found[f"h.{number}.{name}.weight"] = shape or (width,)
            found[f"h.{number}.{name}.bias"] = (shape or (width, width))[1:]
    return found | {"ln_f.weight": (width,), "ln_f.bias": (width,)}


def drawn(shapes, seed, spread=1.0):
    generator = torch.Generator().manual_seed(seed)
    return {key: spread * torch.randn(shape, generator=generator) for key, shape in shapes.items()}


def in_folder(path, state, config=None, **metadata):
    path.mkdir(parents=True)
    save_file({key: tensor.contiguous() for key, tensor in state.items()}, path / "model.safetensors", metadata)
    (path / "config.json").write_text(json.dumps(config or {"model_type": "gpt2"}))
    return folders.opened(path)


@pytest.fixture
def gpt2(tmp_path):
    """A GPT-2-shaped base and three finetuned folders: (base, [finetuned])."""
    base = drawn(gpt2_shapes(), 0)
    tuned = [weights.add(base, drawn(gpt2_shapes(), seed, 0.01)) for seed in (1, 2, 3)]
    return in_folder(tmp_path / "gpt2", base), [in_folder(tmp_path / name, state)
                                                for name, state in zip(("cola", "mrpc", "sst2"), tuned)]


# -- looking -------------------------------------------------------------------------------------------------------

def test_lengths_angles_and_signs_are_those_of_the_task_vectors(gpt2):
    base, tuned = gpt2
    found = looking.look(base, tuned, progress=False)
    taus = [weights.subtract(dict(state), dict(base)) for state in tuned]
    assert list(found.task.values) == ["cola", "mrpc", "sst2"] and list(found.layer.values) == list(base)
    for layer in ("wte.weight", "h.1.mlp.c_fc.bias"):
        here = found.sel(layer=layer)
        one, two = taus[0][layer].double().flatten(), taus[1][layer].double().flatten()
        assert here.norm[0].item() == pytest.approx(one.norm().item(), rel=1e-5)
        cosine = (one @ two / one.norm() / two.norm()).item()
        assert here.cosine.sel(task="cola", other="mrpc").item() == pytest.approx(cosine, abs=1e-5)
        ups = torch.stack([tau[layer] > 0 for tau in taus]).sum(0)
        share = ((ups > 0) & (ups < 3)).double().mean().item()
        assert here.disagree.item() == pytest.approx(share)
    whole = looking.overall(found)
    assert whole.norm.values == pytest.approx([weights.norm(tau) for tau in taus], rel=1e-5)
    assert whole.cosine[0, 1].item() == pytest.approx(weights.cosine(taus[0], taus[1]), abs=1e-5)
    assert whole.relative.values == pytest.approx(whole.norm.values / weights.norm(dict(base)), rel=1e-5)
    assert found.attrs["notes"] == [] and (found.parent > 0.999).all()
    assert found["size"].sum().item() == sum(tensor.numel() for tensor in base.values())


def test_spectra_and_row_spaces_are_those_of_whole_decompositions(gpt2):
    base, tuned = gpt2
    found = looking.look(base, tuned, ratios=(0.1, 0.5, 1.0), progress=False)
    for layer in ("wte.weight", "h.0.attn.c_attn.weight", "h.0.mlp.c_proj.weight"):  # tall, wide, tall
        matrices = [(state[layer] - base[layer]).double() for state in tuned]
        factored = [torch.linalg.svd(matrix, full_matrices=False) for matrix in matrices]
        here, size = found.sel(layer=layer), len(factored[0].S)
        for place, rank in enumerate((math.ceil(0.1 * size), math.ceil(0.5 * size), size)):
            share = (factored[0].S[:rank].square().sum() / factored[0].S.square().sum()).item()
            assert here.energy[0, place].item() == pytest.approx(share, rel=1e-4)
            rows = [one.S[:, None] * one.Vh for one in factored]
            expected = [overlap(rows[i], rows[j], rank) for i in range(3) for j in range(i)]
            assert here.overlap[place].item() == pytest.approx(np.mean(expected), rel=1e-4)
        stable = (factored[1].S.square().sum() / factored[1].S[0] ** 2).item()
        assert here.stable_rank[1].item() == pytest.approx(stable, rel=1e-4)
    assert not found.sel(layer="ln_f.bias").matrix and np.isnan(found.sel(layer="ln_f.bias").overlap).all()


def test_every_matrix_is_decomposed_once(gpt2, monkeypatch):
    base, tuned = gpt2
    seen = []
    monkeypatch.setattr(vectors, "spectrum",
                        lambda matrix, kept, whole=vectors.spectrum: (seen.append(kept), whole(matrix, kept))[1])
    found = looking.look(base, tuned, progress=False)
    assert len(seen) == 3 * int(found.matrix.sum()) == 3 * (2 + 4 * BLOCKS)
    assert looking.seconds_of(base, 3) > 0


def test_a_tensor_of_every_model_at_a_time_is_enough(gpt2, monkeypatch):
    base, tuned = gpt2
    asked = []
    read = folders.Checkpoint.__getitem__
    monkeypatch.setattr(folders.Checkpoint, "__getitem__", lambda self, key: (asked.append(key), read(self, key))[1])
    looking.look(base, tuned, spectra=False, progress=False)
    first, *others = base  # in tests, whoever checks types looks at the first tensor of a mapping
    asked = [key for key in asked if key != first]
    runs = [key for place, key in enumerate(asked) if not place or asked[place - 1] != key]
    assert runs == others, "a key was read again after another"


def test_a_base_that_is_not_the_parent_is_said(gpt2, tmp_path):
    _, tuned = gpt2
    stranger = in_folder(tmp_path / "stranger", drawn(gpt2_shapes(), 9))
    notes = looking.look(stranger, tuned[:1], spectra=False, progress=False).attrs["notes"]
    assert len(notes) == 1 and "cola" in notes[0] and "does not match this base: the cosine" in notes[0]


def test_a_copy_of_the_base_and_two_copies_of_a_model_are_said(gpt2):
    base, tuned = gpt2
    found = looking.look(base, [tuned[0], base, tuned[0]], ["a", "b", "c"], progress=False)
    notes = " ".join(found.attrs["notes"])
    assert "is the base itself: its task vector is zero" in notes and "a and c are the same model" in notes
    assert np.isnan(found.cosine.sel(task="b", other="a")).all()
    twice = {key: 2 * tuned[0][key] - base[key] for key in base}  # the same direction is not the same model
    assert looking.look(base, [tuned[0], twice], ["a", "b"], spectra=False, progress=False).attrs["notes"] == []


def test_a_copy_of_the_base_leaves_the_other_angles(gpt2):
    base, tuned = gpt2
    found = looking.look(base, [base, *tuned[:2]], ["copy", "a", "b"], spectra=False, progress=False)
    assert "nan" not in own.summary(found).text and "nan" not in own.reading_of_regime(found).text
    known = looking.overall(found).cosine.sel(task="a", other="b").item()
    assert f"between {known:.2f} and {known:.2f}" in own.reading_of_regime(found).text


def test_one_model_alone_has_no_angles_and_no_pair(gpt2):
    base, tuned = gpt2
    found = looking.look(base, tuned[:1], spectra=False, progress=False)
    assert "cosines with each other" not in own.reading_of_regime(found).text
    with pytest.raises(ValueError, match="two finetuned models are needed"):
        looking.layer(base, tuned[:1], "wte.weight")


def test_models_without_a_matrix_are_told():
    states = [{"bias": torch.randn(3, generator=torch.Generator().manual_seed(seed))} for seed in (0, 1, 2)]
    found = looking.look(states[0], states[1:], ["a", "b"], progress=False)
    with pytest.raises(ValueError, match="no matrix"):
        own.by_layer(found)
    with pytest.raises(ValueError, match="'bias' is no matrix of these models; they have none"):
        looking.layer(states[0], states[1:], "bias", ["a", "b"])


def test_single_numbers_empty_tensors_and_counters_are_looked_past():
    base = {"scale": torch.tensor(2.0), "none": torch.zeros(0, 3), "bn.num_batches_tracked": torch.tensor(3)}
    found = looking.look(base, [base | {"scale": torch.tensor(5.0)}, base | {"scale": torch.tensor(1.0)}], ["a", "b"],
                         progress=False)
    assert list(found.layer.values) == ["scale", "none"]
    assert found.norm.sel(layer="scale").values.tolist() == [3.0, 1.0]
    assert found.disagree.sel(layer="scale") == 1 and found.inner.sel(layer="none").values.tolist() == [[0, 0], [0, 0]]


def test_a_resnets_counters_are_carried_over(tmp_path):
    base = {"conv.weight": torch.ones(2, 2, 1, 1), "bn.num_batches_tracked": torch.tensor(3)}
    other = base | {"conv.weight": torch.full((2, 2, 1, 1), 3.0)}
    merged = folders.opened(writing.merge(tmp_path / "merged", "average", base, [base, other]))
    assert int(merged["bn.num_batches_tracked"]) == 3 and merged["conv.weight"].flatten().tolist() == [2.0] * 4


def test_names_must_be_different_ones(gpt2):
    base, tuned = gpt2
    with pytest.raises(ValueError, match="names must be 3 different ones"):
        looking.look(base, tuned, ["a", "a", "b"])


def test_signs_that_agree_or_cancel():
    one = torch.tensor([1.0, -2.0, 0.0, 3.0])
    assert vectors.signs(torch.stack([one, 2 * one])) == vectors.Signs(0.0, 0.0)
    assert vectors.signs(torch.stack([one, -one])) == vectors.Signs(1.0, 0.5)
    assert vectors.signs(torch.stack([one, torch.zeros(4)])) == vectors.Signs(0.0, 0.0)
    assert math.isnan(vectors.signs(torch.zeros(2, 4)).against)


def test_signs_at_random_keep_lengths_and_sparsity():
    generator = torch.Generator().manual_seed(0)
    stack = torch.randn(8, 40, 1000, generator=generator)
    unrelated = vectors.by_chance(stack)
    assert unrelated.disagree == pytest.approx(1 - 2 / 2 ** 8, abs=0.01)
    assert unrelated.against == pytest.approx(vectors.signs(stack).against, abs=0.005)
    assert vectors.by_chance(stack.abs()).against == pytest.approx(unrelated.against, abs=0.005)
    unequal = stack * 4.0 ** torch.arange(8)[:, None, None]
    sparse = stack * (torch.rand(stack.shape, generator=generator) < 0.1)
    for lopsided in (unequal, sparse):
        found = vectors.by_chance(lopsided).against
        assert found == pytest.approx(vectors.signs(lopsided).against, abs=0.005)
        assert found < unrelated.against - 0.05
    assert vectors.by_chance(stack, most=1000).against == pytest.approx(unrelated.against, abs=0.02)
    assert vectors.by_chance(torch.zeros(2, 0)).disagree == 0


# -- merging to a file ---------------------------------------------------------------------------------------------

@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.fault("files", "A path is not UTF-8", answers="An error says so")
def test_a_path_that_is_not_utf8_is_said(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(save({"w": torch.zeros(2, 2)}))
    with pytest.raises(CheckpointError, match="not UTF-8") as caught:
        folders.opened(folder)
    str(caught.value).encode()  # can be printed


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("name", ["a b", "ü 日本語", "a\nb", "-rf", "con", "..hidden", "%20", "it's \"quoted\"",
                                  "#?[x]$HOME"])
@pytest.mark.fault("files", "Folders are called -rf, con, %20, or have quotes, line ends and other scripts",
                   answers="Models are opened and written there")
def test_a_folder_may_have_any_name(tmp_path, name):
    state = drawn({"layer.weight": (4, 4)}, 0)
    states = [state, *(weights.add(state, drawn({"layer.weight": (4, 4)}, seed, 0.01)) for seed in (1, 2))]
    base, *tuned = (in_folder(tmp_path / name / f"model {i}", state) for i, state in enumerate(states))
    merged = folders.opened(writing.merge(tmp_path / name / "merged", "average", base, tuned))
    torch.testing.assert_close(merged["layer.weight"], (tuned[0]["layer.weight"] + tuned[1]["layer.weight"]) / 2)


def test_a_merge_is_written_with_a_card_that_records_method_parameters_and_digests(gpt2, tmp_path):
    base, tuned = gpt2
    folder = writing.merge(tmp_path / "merged", "ties", base, tuned, density=0.3)
    expected = merge_states("ties", base, tuned, density=0.3)
    again = folders.opened(folder)
    assert list(sorted(again)) == sorted(expected) and again.config == {"model_type": "gpt2"}
    assert all(torch.equal(again[key], expected[key]) for key in expected)
    text = (folder / "README.md").read_text()
    shown = writing.card_of(folder)
    assert shown.startswith("Merged by *TIES*") and text.strip().endswith(shown[-100:])
    assert "| density | `0.3` |" in text and "| scale | `1.0` |" in text and "Yadav et al. 2023" in text
    for checkpoint in (base, *tuned):
        digest = opening.sha256(checkpoint.path / "model.safetensors")
        assert digest in text and f"`{digest[:12]}…`" in shown
    assert "| mrpc | " in text and [path.name for path in tmp_path.iterdir() if "merged" in path.name] == ["merged"]


def test_an_unused_folder_is_found(tmp_path):
    assert writing.unused(tmp_path / "merged") == tmp_path / "merged"
    for name in ("merged", "merged-2"):
        (tmp_path / name).mkdir()
    assert writing.unused(tmp_path / "merged") == tmp_path / "merged-3"


def test_dtypes_that_were_widened_stand_in_the_card(gpt2, tmp_path):
    base, tuned = gpt2
    half = in_folder(tmp_path / "half", {key: tensor.bfloat16() for key, tensor in tuned[0].items()})
    folder = writing.merge(tmp_path / "merged", "average", base, [half, tuned[1]])
    assert "holds BF16: it is read as F32" in (folder / "README.md").read_text()
    assert folders.opened(folder)["wte.weight"].dtype == torch.float32


def test_the_config_says_the_dtype_that_is_written(gpt2, tmp_path):
    base, tuned = gpt2
    half = in_folder(tmp_path / "half", {key: tensor.bfloat16() for key, tensor in base.items()},
                     {"model_type": "gpt2", "dtype": "bfloat16"})
    folder = writing.merge(tmp_path / "merged", "average", half, tuned)
    assert folders.opened(folder).config == {"model_type": "gpt2", "dtype": "float32"}
    modes = {path.stat().st_mode for path in folder.iterdir()}
    assert len(modes) == 1, "the weights may be read by whoever may read the card"


def test_parameters_from_numpy_stand_in_the_card_as_numbers(gpt2):
    base, tuned = gpt2
    text = writing.card("dare", {"seed": np.int64(3), "drop_rate": np.float32(0.5)}, base, tuned, ["a", "b", "c"])
    assert "| seed | `3` |" in text and "| drop_rate | `0.5` |" in text


def test_a_weight_that_is_no_number_stops_a_merge_by_its_file(gpt2, tmp_path):
    base, tuned = gpt2
    state = dict(tuned[1].items())
    state["wte.weight"] = torch.full_like(state["wte.weight"], torch.inf)
    bad = in_folder(tmp_path / "diverged", state)
    with pytest.raises(CheckpointError, match="'wte.weight' of .*diverged holds an infinite weight"):
        writing.merge(tmp_path / "merged", "average", base, [tuned[0], bad])
    with pytest.raises(CheckpointError, match="diverged: 'wte.weight' holds NaN or infinite weights"):
        looking.look(base, [tuned[0], bad], spectra=False, progress=False)
    assert not (tmp_path / "merged").exists()


def test_every_file_stands_in_the_card_with_its_own_folder(gpt2, tmp_path):
    base, _ = gpt2
    low = adapters.Adapted(base, adapters.opened(adapter_folder(tmp_path / "low", seed=1)))
    high = adapters.Adapted(low, adapters.opened(adapter_folder(tmp_path / "high", seed=2)))
    rows = writing.sources(high)
    for name in ("low", "high"):
        digest = opening.sha256(tmp_path / name / "adapter_model.safetensors")
        assert (name, "adapter_model.safetensors", digest) in rows
    assert (base.path.name, "model.safetensors", opening.sha256(base.path / "model.safetensors")) in rows
    assert writing.sources({"a": torch.ones(1)}) == [("the state dict", "in memory", "–")]


def test_paths_that_are_dots_have_names_in_the_card(gpt2, tmp_path, monkeypatch):
    base, tuned = gpt2
    monkeypatch.chdir(tuned[0].path)
    models = [folders.opened("."), folders.opened(f"../{tuned[1].path.name}/")]
    with pytest.warns(writing.StrangeModels, match="is the base itself"):
        folder = writing.merge(tmp_path / "merged", "average", folders.opened("model.safetensors"), models)
    card = (folder / "README.md").read_text()
    assert "| cola | cola | model.safetensors |" in card and str(tuned[0].path.parent) not in card
    assert "cola (cola) is the base itself: its task vector is zero. A copy" in card


@pytest.mark.fault("written", "A merge is told to write over something, or finds no room",
                   answers="It refuses, and nothing is changed or left")
def test_nothing_is_overwritten_and_nothing_is_left_half_written(gpt2, tmp_path, monkeypatch):
    base, tuned = gpt2
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CheckpointError, match="gpt2 is there already, and nothing is overwritten"):
        writing.merge(base.path, "average", base, tuned)
    with pytest.raises(ValueError, match="emr gives one model a task"):
        writing.merge(tmp_path / "new", "emr", base, tuned)
    with pytest.raises(ValueError, match="there is no merging method 'tie'"):
        writing.merge(tmp_path / "new", "tie", base, tuned)
    monkeypatch.setattr(writing.shutil, "disk_usage", lambda _: type("", (), {"free": 100})())
    with pytest.raises(store.StoreError, match="has no room for the merged model"):
        writing.merge(tmp_path / "new", "average", base, tuned)
    monkeypatch.undo()

    (tmp_path / "file").write_text("no folder")
    with pytest.raises(store.StoreError, match="file is no folder that may be written"):
        writing.merge(tmp_path / "file" / "new", "average", base, tuned)
    (tmp_path / "file").unlink()
    def full(*_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(writing.shards.Writer, "add", full)
    with pytest.raises(store.StoreError, match="new cannot be written: .*No space left"):
        writing.merge(tmp_path / "folders" / "to make" / "new", "average", base, tuned)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.fault("written", "A merge is killed while it writes", answers="The next merge removes what was left")
def test_what_a_killed_merge_left_behind_is_removed_by_the_next(gpt2, tmp_path):
    base, tuned = gpt2
    script = ("import os, signal, sys\nfrom pathlib import Path\nfrom lessons.checkpoints import writing\n"
              "with writing._whole(Path(sys.argv[1])) as part:\n    (part / 'model.safetensors').write_bytes(b'half')\n"
              "    os.kill(os.getpid(), getattr(signal, 'SIGKILL', signal.SIGTERM))")
    target = tmp_path / "merged"
    assert subprocess.run([sys.executable, "-c", script, str(target)]).returncode != 0
    left = [path.name for path in tmp_path.glob(".merged.*.part")]
    assert len(left) == 1
    (tmp_path / ".merged.another-machine.1.part").mkdir()
    ours = store.part_of(target, threads=True)
    ours.with_name(ours.name.replace(str(threading.get_ident()), "1")).mkdir()  # one that still writes
    writing.merge(target, "average", base, tuned)
    assert not (tmp_path / left[0]).exists() and len(list(tmp_path.glob(".merged.*.part"))) == 2


@pytest.mark.fault("written", "While a merge is made, its new folder appears",
                   answers="That folder stays, and the merge says so")
def test_two_merges_into_one_new_folder_leave_the_first(gpt2, tmp_path, monkeypatch):
    base, tuned = gpt2
    def first_come(*asked, write=writing._write):
        if not (tmp_path / "merged").exists():
            (tmp_path / "merged").mkdir()
            (tmp_path / "merged" / "model.safetensors").write_text("of another process")
        write(*asked)
    monkeypatch.setattr(writing, "_write", first_come)
    with pytest.raises(CheckpointError, match="merged is there already, and nothing is overwritten"):
        writing.merge(tmp_path / "merged", "average", base, tuned)
    assert (tmp_path / "merged" / "model.safetensors").read_text() == "of another process"
    assert not list(tmp_path.glob(".merged*"))


def test_the_same_merge_again_takes_no_new_folder(gpt2, tmp_path):
    base, tuned = gpt2
    first = writing.merge_once(tmp_path / "merged", "ties", base, tuned, density=0.2)
    other = writing.merge_once(tmp_path / "merged", "ties", base, tuned, density=0.3)
    assert (first.name, other.name) == ("merged", "merged-2")
    assert writing.merge_once(tmp_path / "merged", "ties", base, tuned, density=0.3) == other
    assert writing.merge_once(tmp_path / "merged", "ties", base, tuned, density=0.2) == first
    assert not (tmp_path / "merged-3").exists()


@pytest.mark.fault("written", "A file is replaced between opening and merging",
                   answers="It is not merged, and the card has no wrong digest")
def test_a_file_that_was_replaced_after_it_was_opened_is_not_merged(gpt2, tmp_path, monkeypatch):
    base, tuned = gpt2
    def replaced_meanwhile(*asked, made=writing.card):  # all weights are read, the card is still to be written
        save_file(dict(tuned[1].items()), tmp_path / "another")
        os.replace(tmp_path / "another", tuned[0].path / "model.safetensors")
        return made(*asked)
    monkeypatch.setattr(writing, "card", replaced_meanwhile)
    with pytest.raises(CheckpointError, match="cola.* has changed since it was opened"):
        writing.merge(tmp_path / "merged", "average", base, tuned)
    assert not (tmp_path / "merged").exists()


def test_the_card_has_the_digests_of_the_adapters_files_that_were_opened(gpt2, tmp_path):
    base, _ = gpt2
    folder = adapter_folder(tmp_path / "lora")
    adapted = adapters.Adapted(base, adapters.opened(folder))
    config = folder / "adapter_config.json"
    before = hashlib.sha256(config.read_bytes()).hexdigest()
    config.write_text(json.dumps(json.loads(config.read_text()) | {"lora_alpha": 64}))
    text = (writing.merge(tmp_path / "merged", "average", base, [adapted]) / "README.md").read_text(encoding="utf-8")
    assert before in text and hashlib.sha256(config.read_bytes()).hexdigest() not in text
    os.truncate(folder / "adapter_model.safetensors", 100)
    with pytest.raises(CheckpointError, match="adapter_model.safetensors has changed since it was opened"):
        adapted.adapter.digests()


@pytest.mark.fault("weights", "A model with another parent, or a copy of the base, is merged",
                   answers="A warning and the card say so")
def test_strangers_and_copies_are_told_by_the_merge_and_by_its_card(gpt2, tmp_path):
    base, tuned = gpt2
    order = torch.randperm(4 * WIDTH, generator=torch.Generator().manual_seed(0))
    shuffled = {key: tensor[order[order < len(tensor)]] for key, tensor in tuned[0].items()}
    stranger = in_folder(tmp_path / "stranger", shuffled)
    with pytest.warns(writing.StrangeModels, match="stranger.*does not match this base"):
        folder = writing.merge(tmp_path / "merged", "average", base, [stranger, tuned[1]])
    card = (folder / "README.md").read_text()
    assert "stranger (stranger) does not match this base" in card and str(tmp_path) not in card
    with pytest.warns(writing.StrangeModels, match="a and b are the same model"):
        folder = writing.merge(tmp_path / "twice", "average", base, [tuned[0], tuned[0]], ["a", "b"])
    assert "a and b are the same model" in (folder / "README.md").read_text()


def test_a_merge_of_models_that_belong_together_warns_of_nothing(gpt2, tmp_path, recwarn):
    base, tuned = gpt2
    writing.merge(tmp_path / "merged", "average", base, tuned)
    assert not [one for one in recwarn if one.category is writing.StrangeModels]


def with_head(state, labels, seed=5):
    head = {"score.weight": (labels, WIDTH)}
    return {f"transformer.{key}": tensor for key, tensor in state.items()} | drawn(head, seed)


@pytest.mark.parametrize("configs, told", [
    ([{"id2label": {"0": "good"}}, {"id2label": {"0": "spam"}}], True), ([{}, {}], True),
    ([{"id2label": {"0": "good"}}] * 2, False)], ids=["others", "unknown", "the same"])
@pytest.mark.fault("weights", "Classifiers of different tasks are averaged", answers="A warning says so")
def test_heads_that_are_averaged_though_tasks_may_differ_are_told(gpt2, tmp_path, recwarn, configs, told):
    base, tuned = gpt2
    start = in_folder(tmp_path / "start", with_head(base, 2))
    models = [in_folder(tmp_path / f"task{number}", with_head(state, 2, number), {"model_type": "gpt2"} | config)
              for number, (state, config) in enumerate(zip(tuned, configs))]
    folder = writing.merge(tmp_path / "merged", "average", start, models)
    said = [str(one.message) for one in recwarn if one.category is writing.StrangeModels]
    assert bool(said) == told == ("'score.weight' is a head for labels" in (folder / "README.md").read_text())
    assert not told or "import Without" in said[0] and "'score.'" in said[0]


def test_a_bare_base_and_classifiers_merge_as_the_message_says(gpt2, tmp_path):
    base, tuned = gpt2
    base.config["architectures"] = ["GPT2LMHeadModel"]
    masks = {f"h.{number}.attn.bias": torch.ones(1, 1, PLACES, PLACES) for number in range(BLOCKS)}
    official = in_folder(tmp_path / "official", {**base, **masks}, {"architectures": ["GPT2LMHeadModel"]})
    models = [in_folder(tmp_path / f"labels{number}", with_head(state, number + 2))
              for number, state in enumerate(tuned)]
    with pytest.raises(CheckpointError, match="The rest of their keys is the same") as raised:
        writing.merge(tmp_path / "merged", "average", official, models)
    lines = re.findall("`(.*?)`", str(raised.value))
    here = {"base": official, "finetuned": models}
    for line in lines:
        exec(line, here)  # what the message says, word for word
    folder = writing.merge(tmp_path / "merged", "average", here["base"], here["finetuned"])
    merged, card = folders.opened(folder), (folder / "README.md").read_text()
    assert set(merged) == set(base) and torch.allclose(merged["wte.weight"], sum(m["wte.weight"] for m in tuned) / 3)
    assert "labels0: 'score.weight' was left out on request" in card and "'h.0.attn.bias' and 1 more" not in card
    assert "'h.0.attn.bias', 'h.1.attn.bias' are no weights" in card and "'transformer.' before its keys" in card


@pytest.mark.fault("written", "A head is left out of a merge", answers="Card and config say so")
def test_the_config_claims_no_head_that_was_left_out(gpt2, tmp_path):
    base, tuned = gpt2
    config = {"model_type": "gpt2", "architectures": ["GPT2ForSequenceClassification"]}
    models = [in_folder(tmp_path / f"m{number}", with_head(state, 2, number), config)
              for number, state in enumerate((base, *tuned))]
    less = [together.Without(model, "score.") for model in models]
    folder = writing.merge(tmp_path / "merged", "average", less[0], less[1:])
    assert folders.opened(folder).config == {"model_type": "gpt2"}
    assert "m0: 'score.weight' was left out on request" in (folder / "README.md").read_text()


def test_a_cart_of_two_models_is_told_to_be_their_average(gpt2):
    base, tuned = gpt2
    assert "Of two models CART gives the average" in writing.card("cart", {}, base, tuned[:2], ["a", "b"])
    assert "Of two models" not in writing.card("cart", {}, base, tuned, ["a", "b", "c"])


# -- LoRA ----------------------------------------------------------------------------------------------------------

MODULES = {f"h.{number}.{name}": shape for number in range(BLOCKS)
           for name, shape in (("attn.c_attn", (WIDTH, 3 * WIDTH)), ("mlp.c_proj", (4 * WIDTH, WIDTH)))}


def adapter_folder(path, seed=0, rank=4, config=None, change=None, prefix="base_model.model.transformer."):
    """An adapter of a GPT-2 in PEFT's layout."""
    path.mkdir(parents=True)
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for module, (inputs, outputs) in MODULES.items():
        state[f"{prefix}{module}.lora_A.weight"] = torch.randn(rank, inputs, generator=generator)
        state[f"{prefix}{module}.lora_B.weight"] = 0.01 * torch.randn(outputs, rank, generator=generator)
    if change:
        change(state)
    said = {"peft_type": "LORA", "r": rank, "lora_alpha": 16, "fan_in_fan_out": True, "use_rslora": False,
            "target_modules": ["c_attn", "c_proj"]} | (config or {})
    (path / "adapter_config.json").write_text(json.dumps(said))
    save_file(state, path / "adapter_model.safetensors")
    return path


def test_an_adapter_beside_its_base_is_a_finetuned_model(gpt2, tmp_path):
    base, _ = gpt2
    folder = adapter_folder(tmp_path / "lora")
    adapted = adapters.Adapted(base, adapters.opened(folder))
    stored = folders.Checkpoint(folder, [folder / "adapter_model.safetensors"])
    for module in MODULES:
        name = f"base_model.model.transformer.{module}"
        expected = 16 / 4 * (stored[f"{name}.lora_B.weight"] @ stored[f"{name}.lora_A.weight"]).T
        change = adapted[f"{module}.weight"] - base[f"{module}.weight"]
        torch.testing.assert_close(change, expected, atol=1e-6, rtol=1e-5)
    assert torch.equal(adapted["wte.weight"], base["wte.weight"]) and list(adapted) == list(base)


@pytest.mark.parametrize("config, scale", [({}, 4.0), ({"use_rslora": True}, 8.0), ({"lora_alpha": 2}, 0.5),
                                           ({"alpha_pattern": {"c_attn": 4}}, 1.0),
                                           ({"alpha_pattern": {"attn": 4}}, 4.0)])
def test_what_the_product_is_multiplied_by(tmp_path, config, scale):
    adapter = adapters.opened(adapter_folder(tmp_path / "lora", config=config))
    assert adapter.pairs["transformer.h.0.attn.c_attn"].scale == scale


def test_a_lora_folder_goes_through_part_3(gpt2, tmp_path):
    base, _ = gpt2
    tuned = [adapters.Adapted(base, adapters.opened(adapter_folder(tmp_path / f"lora{seed}", seed))) for seed in (1, 2)]
    found = looking.look(base, tuned, progress=False)
    assert list(found.task.values) == ["lora1", "lora2"] and found.attrs["notes"] == []
    here = found.sel(layer="h.0.attn.c_attn.weight")
    assert (here.stable_rank <= 4).all() and (here.energy.sel(ratio=0.32) > 0.9999).all()  # rank 4 of 16
    assert not found.norm.sel(layer="wte.weight").any()
    folder = writing.merge(tmp_path / "merged", "task_arithmetic", base, tuned, scale=1.0)
    merged, text = folders.opened(folder), (folder / "README.md").read_text()
    change = sum(one["h.0.attn.c_attn.weight"] - base["h.0.attn.c_attn.weight"] for one in tuned)
    torch.testing.assert_close(merged["h.0.attn.c_attn.weight"], base["h.0.attn.c_attn.weight"] + change)
    assert opening.sha256(tmp_path / "lora2/adapter_model.safetensors") in text and "adapter_config.json" in text


def test_products_add_up_and_factors_do_not():
    generator = torch.Generator().manual_seed(0)
    downs = [torch.randn(3, 8, generator=generator) for _ in range(2)]
    ups = [torch.randn(6, 3, generator=generator) for _ in range(2)]
    right = sum(lora.change(down, up, 2.0) for down, up in zip(downs, ups))
    down, up = lora.summed(downs, ups, [2.0, 2.0])
    torch.testing.assert_close(up @ down, right)
    apart = lora.change(sum(downs), sum(ups), 2.0)
    assert (apart - right).norm() > 0.5 * right.norm()
    turn = torch.randn(3, 3, generator=generator)  # the same adapter in other coordinates
    torch.testing.assert_close(lora.change(turn @ downs[0], ups[0] @ turn.inverse(), 2.0),
                               lora.change(downs[0], ups[0], 2.0), rtol=1e-4, atol=1e-4)


def test_convolutions_and_embeddings_have_their_own_shapes(tmp_path):
    base = {"conv.weight": torch.zeros(5, 3, 2, 2), "emb.weight": torch.zeros(7, 4)}
    path = tmp_path / "lora"
    path.mkdir()
    save_file({"base_model.model.conv.lora_A.weight": torch.randn(2, 3, 2, 2),
               "base_model.model.conv.lora_B.weight": torch.randn(5, 2, 1, 1),
               "base_model.model.emb.lora_embedding_A": torch.randn(2, 7),
               "base_model.model.emb.lora_embedding_B": torch.randn(4, 2)}, path / "adapter_model.safetensors")
    (path / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 4}))
    adapter = adapters.opened(path)
    adapted = adapters.Adapted(base, adapter)
    down, up = (adapter.tensors[f"base_model.model.conv.lora_{letter}.weight"] for letter in "AB")
    expected = 2 * torch.einsum("or,rihw->oihw", up[:, :, 0, 0], down)
    torch.testing.assert_close(adapted["conv.weight"], expected)
    down, up = (adapter.tensors[f"base_model.model.emb.lora_embedding_{letter}"] for letter in "AB")
    torch.testing.assert_close(adapted["emb.weight"], 2 * (up @ down).T)


def drop_b(state):
    del state["base_model.model.transformer.h.0.attn.c_attn.lora_B.weight"]


def dora(state):
    state["base_model.model.transformer.h.0.attn.c_attn.lora_magnitude_vector"] = torch.ones(48)


BAD = {
    "half an adapter": ({"change": drop_b}, "has no lora_B for 'transformer.h.0.attn.c_attn'"),
    "DoRA": ({"change": dora}, "is DoRA, not LoRA"),
    "another kind": ({"config": {"peft_type": "IA3"}}, "another kind than LoRA, IA3"),
    "another rank": ({"config": {"r": 8}}, "says rank 8 for 'transformer.h.0.attn.c_attn', its A has 4 rows"),
    "no alpha": ({"config": {"lora_alpha": None}}, "lora_alpha = None"),
    "rank 0": ({"config": {"r": 0}}, "says r = 0"),
}


@pytest.mark.parametrize("options, says", BAD.values(), ids=BAD.keys())
@pytest.mark.fault("files", "An adapter is of a kind that is not plain LoRA, or is damaged",
                   answers="It is refused, with the reason")
def test_adapters_that_cannot_be_used_are_refused(tmp_path, options, says):
    with pytest.raises(CheckpointError, match=says) as raised:
        adapters.opened(adapter_folder(tmp_path / "lora", **options))
    assert str(tmp_path / "lora") in str(raised.value)


def small_adapter(path, tensors, config=None):
    """An adapter with just these tensors, r = 2 and lora_alpha = 4."""
    path.mkdir(exist_ok=True)
    save_file({adapters.PREFIX + key: tensor for key, tensor in tensors.items()}, path / "adapter_model.safetensors")
    said = {"peft_type": "LORA", "r": 2, "lora_alpha": 4} | (config or {})
    (path / "adapter_config.json").write_text(json.dumps(said))
    return path


PAIR = {"q.lora_A.weight": torch.ones(2, 4), "q.lora_B.weight": torch.ones(6, 2)}
BASE = {"q.weight": torch.zeros(6, 4), "q.bias": torch.zeros(6), "embed.weight": torch.zeros(7, 4)}


@pytest.mark.parametrize("tensors, config, says", [
    (PAIR, {"init_lora_weights": "pissa_niter_4"}, "began with pissa_niter_4 and stands on a base that this changed"),
    (PAIR, {"init_lora_weights": "OLoRA"}, "stands on a base that this changed.*merge_and_unload"),
    (PAIR, {"alora_invocation_tokens": [3, 4]}, "acts behind certain tokens alone"),
    (PAIR, {"use_rslora": "false"}, "adapter_config.json says use_rslora = 'false': it must be true or false"),
    (PAIR, {"fan_in_fan_out": 1}, "fan_in_fan_out = '1': it must be true or false"),
    (PAIR | {"q.lora_A.weight": torch.ones(2, 4, dtype=torch.int8)}, {}, "lora_A.weight' is I8.*quantised adapter"),
    (PAIR, {"alpha_pattern": ["q"]}, "adapter_config.json: alpha_pattern must give a number"),
    (PAIR, {"alpha_pattern": {"q": "16"}}, "alpha_pattern must give a number for each pattern.*'16' is no number"),
    (PAIR, {"rank_pattern": {"*q": 2}}, "rank_pattern cannot be used, since '\\*q' is no regular expression"),
    (PAIR | {"q.lora_B.weight": torch.ones(6)}, {}, r"'base_model.model.q.lora_B.*' has shape \(6,\), .* no matrix"),
    (PAIR | {"q.lora_A.weight": torch.ones(0, 4)}, {}, r"lora_A.weight' has shape \(0, 4\), which is no matrix"),
    (PAIR | {"q.token_adapter.trainable_tokens_delta": torch.ones(1, 4)}, {}, "changes single tokens")])
@pytest.mark.fault("files", "An adapter's config holds values that make no sense", answers="It is refused by field")
def test_adapters_that_mean_something_else_or_nothing_are_refused(tmp_path, tensors, config, says):
    with pytest.raises(CheckpointError, match=says) as raised:
        adapters.opened(small_adapter(tmp_path / "lora", tensors, config))
    assert str(tmp_path / "lora") in str(raised.value)


def test_a_config_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    folder = small_adapter(tmp_path / "lora", PAIR)

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")
    monkeypatch.setattr("pathlib.Path.read_bytes", refused)
    with pytest.raises(CheckpointError, match="adapter_config.json cannot be read: Permission denied"):
        adapters.opened(folder)


def test_plain_beginnings_are_no_reason_to_refuse(tmp_path):
    for start in (True, False, "gaussian", "orthogonal", "eva"):
        adapters.opened(small_adapter(tmp_path / "lora", PAIR, {"init_lora_weights": start}))


def test_a_bias_of_b_is_added_with_the_scale(tmp_path):
    folder = small_adapter(tmp_path / "lora", PAIR | {"q.lora_B.bias": torch.ones(6)}, {"lora_bias": True})
    adapted = adapters.Adapted(BASE, adapters.opened(folder))
    assert adapted["q.bias"].tolist() == [2.0] * 6 and adapted["q.weight"].flatten().tolist() == [4.0] * 24
    with pytest.raises(CheckpointError, match="changes 'q.bias', which the state dict does not have"):
        adapters.Adapted({"q.weight": BASE["q.weight"]}, adapters.opened(folder))


def test_what_stands_under_an_adapter_takes_the_bases_place_and_is_changed(tmp_path):
    more = {"q.base_layer.bias": torch.full((6,), 3.0), "embed.base_layer.weight": torch.full((7, 4), 5.0),
            "embed.lora_embedding_A": torch.ones(2, 7), "embed.lora_embedding_B": torch.ones(4, 2)}
    adapted = adapters.Adapted(BASE, adapters.opened(small_adapter(tmp_path / "lora", PAIR | more)))
    assert adapted["q.bias"].tolist() == [3.0] * 6
    assert adapted["embed.weight"].flatten().tolist() == [9.0] * 28  # 5, and 2 · (1 + 1)


def test_a_head_of_the_adapters_own_is_left_out_on_request(tmp_path):
    adapter = adapters.opened(small_adapter(tmp_path / "lora", PAIR | {"classifier.weight": torch.ones(2, 4)}))
    with pytest.raises(CheckpointError, match=r"'classifier.weight', which .* does not have.*without=\['classifier"):
        adapters.Adapted(BASE, adapter)
    adapted = adapters.Adapted(BASE, adapter, without=["classifier."])
    assert adapted["q.weight"].flatten().tolist() == [4.0] * 24


def test_two_modules_that_mean_one_key_are_refused(tmp_path):
    twice = {f"{part}.{key}": tensor.clone() for part in ("encoder", "decoder") for key, tensor in PAIR.items()}
    adapter = adapters.opened(small_adapter(tmp_path / "lora", twice))
    with pytest.raises(CheckpointError, match="changes 'q.weight' .* twice, by 'decoder.q.weight' and 'encoder.q.weig"):
        adapters.Adapted(BASE, adapter)


def test_an_adapter_needs_its_base_and_is_none_itself(tmp_path):
    adapter = adapters.opened(small_adapter(tmp_path / "lora", PAIR))
    with pytest.raises(CheckpointError, match="not PosixPath and Adapter"):
        adapters.Adapted(tmp_path, adapter)
    with pytest.raises(CheckpointError, match="Put the adapter beside its base: adapters.Adapted.base, adapter"):
        looking.look(BASE, [adapter], progress=False)


def test_an_adapter_of_somebody_elses_is_not_written_over(gpt2, tmp_path):
    base, tuned = gpt2
    folder = adapter_folder(tmp_path / "mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(CheckpointError, match="mine holds an adapter that was not made here"):
        example.as_adapter(folder, base, tuned[0], 3)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    for state in tuned[:2]:
        example.as_adapter(tmp_path / "ours", base, state, 3)


def test_a_folder_that_lacks_a_file_of_an_adapter_says_which(tmp_path):
    with pytest.raises(CheckpointError, match="adapter_config.json is missing"):
        adapters.opened(tmp_path)
    folder = adapter_folder(tmp_path / "lora")
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    with pytest.raises(CheckpointError, match="adapter_model.safetensors is missing. adapter_model.bin is a pickle"):
        adapters.opened(folder)


def test_an_adapter_of_another_base_is_refused_by_key(gpt2, tmp_path):
    base, _ = gpt2
    adapter = adapters.opened(adapter_folder(tmp_path / "lora", prefix="base_model.model.encoder."))
    other = {key: base[key] for key in base if "c_attn" not in key}
    with pytest.raises(CheckpointError, match="changes 'encoder.h.0.attn.c_attn.weight', which .* does not have"):
        adapters.Adapted(other, adapter)
    short = {**base, "h.0.attn.c_attn.weight": torch.zeros(16, 40)}
    with pytest.raises(CheckpointError, match=r"by a matrix of shape \(48, 16\), which has shape \(16, 40\)"):
        adapters.Adapted(short, adapters.opened(adapter_folder(tmp_path / "flat")))


def test_tensors_that_are_stored_whole_take_the_place_of_the_bases(gpt2, tmp_path):
    base, _ = gpt2

    def with_norm(state):
        state["base_model.model.transformer.ln_f.weight"] = torch.full((WIDTH,), 7.0)
    adapted = adapters.Adapted(base, adapters.opened(adapter_folder(tmp_path / "lora", change=with_norm)))
    assert adapted["ln_f.weight"].tolist() == [7.0] * WIDTH


def gpt2_with_score(path, **config):
    """A GPT-2 with a square Linear, as GPT2ForSequenceClassification with as many labels as it is wide."""
    base = drawn(gpt2_shapes() | {"score.weight": (WIDTH, WIDTH)}, 0)
    return in_folder(path, base, config or {"model_type": "gpt2"})


def mixed_adapter(path, said, modules=("h.0.attn.c_attn", "h.0.attn.c_proj", "score"), **config):
    """An adapter of Conv1D and Linear modules in one, r = 2 and lora_alpha = 4."""
    outputs = {"c_attn": 3 * WIDTH}
    tensors = {}
    for seed, module in enumerate(modules):
        shapes = {"A": (2, WIDTH), "B": (outputs.get(module.split(".")[-1], WIDTH), 2)}
        tensors |= drawn({f"{module}.lora_{letter}.weight": shape for letter, shape in shapes.items()}, seed)
    return adapters.opened(small_adapter(path, tensors, {"fan_in_fan_out": said} | config))


@pytest.mark.parametrize("said", [False, True])
@pytest.mark.fault("files", "One adapter has matrices stored in two orientations",
                   answers="Each is turned as its module needs")
def test_conv1d_and_linear_in_one_adapter_are_turned_module_by_module(tmp_path, said):
    base, adapter = gpt2_with_score(tmp_path / "base"), mixed_adapter(tmp_path / "lora", said)
    adapted = adapters.Adapted(base, adapter)
    for module, turned in {"h.0.attn.c_attn": True, "h.0.attn.c_proj": True, "score": False}.items():
        down, up = adapter.factors(module)
        change = 2 * (up @ down)
        expected = base[f"{module}.weight"] + (change.T if turned else change)
        torch.testing.assert_close(adapted[f"{module}.weight"], expected)


def test_a_square_matrix_that_nothing_decides_is_asked_for(tmp_path):
    base, adapter = gpt2_with_score(tmp_path / "base", n_embd=WIDTH), mixed_adapter(tmp_path / "lora", False)
    with pytest.raises(CheckpointError, match=r"'score.weight', which is square.*conv1d=\['c_attn', 'c_proj'\]\), or"):
        adapters.Adapted(base, adapter)
    told = adapters.Adapted(base, adapter, conv1d=["attn.c_proj"])
    assert told.turned == {"h.0.attn.c_attn.weight": True, "h.0.attn.c_proj.weight": True, "score.weight": False}
    assert not adapters.Adapted(base, adapter, conv1d=[]).turned["h.0.attn.c_proj.weight"]
    with pytest.raises(CheckpointError, match="conv1d names 'c_fc', but no module of .* ends so"):
        adapters.Adapted(base, adapter, conv1d=["c_fc"])


SQUARE, FLAT, TURNED = ((4, 4), (4,)), ((6, 4), (6,)), ((4, 6), (6,))


@pytest.mark.parametrize("others, config, said, alone, turned", [
    ({}, {}, False, False, False), ({}, {}, True, True, True), ({}, {}, True, False, None),
    ({"h.up": TURNED}, {}, False, True, None), ({"h.up": TURNED}, {}, True, True, True),
    ({"h.up": TURNED}, {}, True, False, None), ({"h.q": TURNED}, {}, False, False, True),
    ({"h.q": FLAT}, {}, True, False, False), ({"h.q": FLAT, "i.q": TURNED}, {}, False, True, None),
    ({"h.up": FLAT}, {}, True, True, None), ({"h.up": FLAT}, {}, False, False, False),
    ({}, {"model_type": "llama"}, True, True, False), ({"h.up": TURNED}, {"model_type": "own"}, False, True, None),
    ({}, {"model_type": "own", "auto_map": {"AutoModel": "own.Own"}}, True, False, None),
    ({}, {"decoder": {"model_type": "gpt2"}}, True, False, False)])
def test_what_tells_how_a_square_matrix_is_stored(others, config, said, alone, turned):
    base = {}
    for name, (shape, bias) in {"g.q": SQUARE, **others}.items():
        base |= {f"{name}.weight": torch.zeros(shape), f"{name}.bias": torch.zeros(bias)}
    state = together.Without(base)
    state.config = config
    assert conv1d.of_square(state, "g.q.weight", conv1d.in_base(state), said, alone) is turned


def test_a_shape_that_contradicts_the_bias_is_refused(tmp_path):
    adapter = adapters.opened(small_adapter(tmp_path / "lora", PAIR))
    with pytest.raises(CheckpointError, match=r"by a matrix of shape \(6, 4\), which has shape \(4, 6\)"):
        adapters.Adapted({"q.weight": torch.zeros(4, 6), "q.bias": torch.zeros(4)}, adapter)
    assert adapters.Adapted({"q.weight": torch.zeros(4, 6), "q.bias": torch.zeros(6)}, adapter).turned["q.weight"]


@pytest.mark.parametrize("field, value, says", [
    ("layer_replication", [[0, 2], [1, 3]], "layers occur several times"),
    ("use_dora", True, "is DoRA"), ("kasa_config", {"beta": 0.1}, "is KaSA"), ("velora_config", {}, "is VeLoRA"),
    ("monteclora_config", {"num_samples": 8}, "is MonteCLoRA"), ("use_bdlora", {"nblocks": 2}, "is BD-LoRA"),
    ("arrow_config", {"top_k": 3}, "chooses among several"), ("trainable_token_indices", [3], "changes single tokens"),
    ("enable_lora", [True, False, True], "only some of the outputs")])
@pytest.mark.fault("files", "An adapter's config has fields that change what it does (DoRA, replicated layers)",
                   answers="It is refused by the field's name")
def test_a_field_that_changes_the_product_is_refused_by_name(tmp_path, field, value, says):
    advice = re.escape(adapters.INSTEAD.get(field, "Let PEFT write the whole model by merge_and_unload."))
    with pytest.raises(CheckpointError, match=rf"{says}.*{field} in adapter_config.json\). {advice}$"):
        adapters.opened(small_adapter(tmp_path / "lora", PAIR, {field: value}))
    assert adapters.opened(small_adapter(tmp_path / "lora", PAIR, {field: None})).notes == []


@pytest.mark.parametrize("key", ["q.lora_diag", "q.lora_velora_embed", "q.lora_monteclora_sampler.expert_weights",
                                 "q.lora_A.bias", "q.lora_C.weight", "q.lora_B.weight_scale"])
@pytest.mark.fault("files", "An adapter holds tensors of a kind that is not known (KaSA, VeLoRA)",
                   answers="They are refused by name, and never left out")
def test_a_part_that_is_not_understood_is_refused_by_name(tmp_path, key):
    with pytest.raises(CheckpointError, match=f"holds 'base_model.model.{key}'.*the library that made it") as raised:
        adapters.Adapted(BASE, adapters.opened(small_adapter(tmp_path / "lora", PAIR | {key: torch.ones(2)})))
    assert "without=" not in str(raised.value)


def test_two_adapters_in_one_file_are_refused(tmp_path):
    both = {key.replace(".weight", f".{name}.weight"): tensor.clone() for name in ("a", "b")
            for key, tensor in PAIR.items()}
    with pytest.raises(CheckpointError, match="two of one kind, 'base_model.model.q.lora_A.a.weight' and '.*A.b.wei"):
        adapters.opened(small_adapter(tmp_path / "lora", both))


def test_a_field_that_nobody_knows_is_told_in_the_look_and_in_the_card(gpt2, tmp_path):
    base, _ = gpt2
    config = {"twist": 3, "plain": None, "init_lora_weights": "spiral"}
    adapted = adapters.Adapted(base, adapters.opened(adapter_folder(tmp_path / "lora", config=config)))
    assert [note.split(" says ")[1].split(",")[0] for note in adapted.notes] == ["'twist' = '3'",
                                                                                "'init_lora_weights' = 'spiral'"]
    notes = together.together(together.Without(base, "wpe."), [together.Without(adapted, "wpe.")])[2]
    assert set(adapted.notes) <= set(notes)
    assert set(adapted.notes) <= set(looking.look(base, [adapted], spectra=False, progress=False).attrs["notes"])
    text = (writing.merge(tmp_path / "merged", "average", base, [adapted]) / "README.md").read_text()
    assert "'twist' = '3', which is not known here" in text


HARMLESS = ["q", "^h.0.q", r"h\.\d+\.q", r".*\.(0|1)\.q", "h.[01].k$", "(?:h|g).0.k", "nothing"]
NAMES = ["h.0.q", "h.1.q", "h.0.k", "g.0.k", "q", "h.0.eq"]


@pytest.mark.parametrize("pattern", HARMLESS)
def test_a_pattern_means_what_it_means_in_peft(pattern):
    found = patterns.first_matches(["never", pattern], NAMES)
    assert found == [1 if re.match(rf"(.*\.)?({pattern})$", name) else None for name in NAMES]


@pytest.mark.parametrize("pattern", ["(a+)+$x", "(a|a)" * 60 + "x"])
@pytest.mark.fault("files", "A pattern in an adapter's config would take forever",
                   answers="It is refused after seconds")
def test_a_pattern_that_would_hang_is_refused(tmp_path, monkeypatch, pattern):
    monkeypatch.setattr(patterns, "SECONDS", 0.5)
    tensors = {f"{'a' * 60}.{key}": tensor for key, tensor in PAIR.items()}
    with pytest.raises(CheckpointError, match="rank_pattern cannot.*has not ended after 0.5 seconds. Write the mod"):
        adapters.opened(small_adapter(tmp_path / "lora", tensors, {"rank_pattern": {pattern: 2, "q": 2}}))


@pytest.mark.parametrize("pattern", ["(" * 2000 + "a" + ")" * 2000, "a{2", "[", "(?P<a>b)(?P<a>c)", "+"])
def test_a_pattern_of_any_text_is_used_or_refused(tmp_path, pattern):
    try:
        adapters.opened(small_adapter(tmp_path / "lora", PAIR, {"alpha_pattern": {pattern: 2}}))
    except CheckpointError as error:
        assert "alpha_pattern cannot be used, since" in str(error) and len(str(error)) < 1000


def test_without_a_second_process_a_pattern_is_refused_and_a_name_is_not(monkeypatch):
    monkeypatch.setattr(patterns.sys, "executable", "/nowhere/python")
    assert patterns.first_matches(["h.0.q", "q"], NAMES[:2]) == [0, 1]
    with pytest.raises(ValueError, match="second Python process, which failed"):
        patterns.first_matches(["(q|k)"], NAMES)


@pytest.mark.parametrize("folder, named, config, told", [
    ("gpt2", "openai-community/gpt2", {}, ""), ("gpt2", "gpt2-medium", {}, "gpt2-medium"), ("gpt2", None, {}, ""),
    ("base", "gpt2", {"_name_or_path": "openai-community/GPT2"}, ""), ("base", "gpt2", {}, "gpt2"),
    ("models--openai-community--gpt2/snapshots/607a", "openai-community/gpt2", {}, ""),
    ("gpt2", "C:\\models\\gpt2", {}, ""), ("gpt2", ["gpt2"], {}, ""), ("gpt2", "meta/opt", {}, "meta/opt"),
    ("gpt2", "/home/me/opt", {}, "opt"), ("gpt2", "C:\\Users\\me\\opt\\", {}, "opt")])
@pytest.mark.fault("files", "An adapter is put on another base than its own", answers="A note names both bases")
def test_another_base_than_the_adapters_own_is_told(tmp_path, folder, named, config, told):
    base = in_folder(tmp_path / folder, BASE, {"model_type": "gpt2"} | config)
    adapter = adapters.opened(small_adapter(tmp_path / "lora", PAIR, {"base_model_name_or_path": named}))
    notes = adapters.Adapted(base, adapter).notes
    assert len(notes) == bool(told) and all(f"tuned on {told!r}" in note and folder in note for note in notes)
    assert adapters.Adapted(dict(base), adapter).notes == []  # nobody knows what this one is called


@pytest.mark.parametrize("kind, config, told", [
    ("GPT2LMHeadModel", {"model_type": "gpt2"}, False), ("BertForMaskedLM", {"model_type": "gpt2"}, True),
    ("XLMRobertaModel", {"model_type": "xlm-roberta"}, False), ("BertForMaskedLM", {}, False),
    ("OwnNet", {"model_type": "net", "architectures": ["OwnNet"]}, False)])
def test_another_architecture_than_the_adapters_own_is_told(tmp_path, kind, config, told):
    base = in_folder(tmp_path / "base", BASE, config or {"hidden_size": 4})
    adapter = adapters.opened(small_adapter(tmp_path / "lora", PAIR, {"auto_mapping": {"base_model_class": kind}}))
    assert [kind in note for note in adapters.Adapted(base, adapter).notes] == [True] * told


OF_VIT = {"attention.q_proj": "attention.attention.query", "attention.k_proj": "attention.attention.key",
          "attention.v_proj": "attention.attention.value", "attention.o_proj": "attention.output.dense",
          "mlp.fc1": "intermediate.dense", "mlp.fc2": "output.dense"}


@pytest.mark.parametrize("prefix", ["vit.", ""])
@pytest.mark.fault("files", "An adapter uses other names of the same modules", answers="They are found")
def test_a_vits_modules_are_found_under_their_older_names(tmp_path, prefix):
    base = {f"{prefix}encoder.layer.{number}.{old}.weight": torch.zeros(6, 4) for number in (1, 11)
            for old in OF_VIT.values()}
    tensors = {f"vit.layers.{number}.{new}.{key[2:]}": (number + place) * tensor for number in (1, 11)
               for place, new in enumerate(OF_VIT) for key, tensor in PAIR.items()}
    adapted = adapters.Adapted(base, adapters.opened(small_adapter(tmp_path / "lora", tensors)))
    for number in (1, 11):
        for place, old in enumerate(OF_VIT.values()):
            assert (adapted[f"{prefix}encoder.layer.{number}.{old}.weight"] == 4 * (number + place) ** 2).all()
    (note,) = adapted.notes
    assert "names of transformers 5, such as 'vit.layers.1." in note and "encoder.layer.1." in note


@pytest.mark.parametrize("module, base, says", [
    ("vision_model.encoder.layers.0.mlp.fc1", {"vit.encoder.layer.0.intermediate.dense.weight": (6, 4)}, "other names"),
    ("vit.layers.0.mlp.fc1", {"bert.encoder.layer.0.intermediate.dense.weight": (6, 4)}, "under other names"),
    ("model.q", {"model.query.weight": (6, 4), "model.norm.weight": (6,)}, "1 of its tensors have.*'model.query.wei"),
    ("model.q", {"model.query.weight": (7, 4)}, "No tensor of it has the shape.*Is it the base"),
    ("lm_head", {"wte.weight": (6, 4), "h.0.q.weight": (4, 4)}, "shares 'wte.weight' .tie_word_embeddings.*merge_and")])
def test_where_a_name_is_missing_the_message_says_what_is_different(tmp_path, module, base, says):
    base = {key: torch.zeros(shape) for key, shape in base.items()}
    if module.startswith("vision"):
        base["vit.encoder.layer.0.attention.attention.query.weight"] = torch.zeros(4, 4)
    tensors = {f"{module}.{key[2:]}": tensor for key, tensor in PAIR.items()}
    adapter = adapters.opened(small_adapter(tmp_path / "lora", tensors))
    with pytest.raises(CheckpointError, match=says):
        adapters.Adapted(base, adapter)


def test_parameters_that_are_no_modules_weight_are_told(tmp_path):
    tensors = {f"mlp.experts.{key[2:]}": tensor for key, tensor in PAIR.items()}
    config = {"target_parameters": ["experts.gate_up_proj"]}
    adapter = adapters.opened(small_adapter(tmp_path / "lora", tensors, config))
    with pytest.raises(CheckpointError, match="parameters that are no module's weight .'experts.gate_up_proj'"):
        adapters.Adapted({"mlp.experts.gate_up_proj": torch.zeros(2, 6, 4)}, adapter)


@pytest.mark.parametrize("alpha, says", [
    ("NaN", "lora_alpha a finite number"), ("Infinity", "lora_alpha a finite number"),
    ("true", "lora_alpha a finite number"), ("1" + 400 * "0", "lora_alpha a finite number"),
    ("1e308", r"B·A of 'q' would be multiplied by 5e\+307.*Is lora_alpha right")])
def test_a_scale_that_cannot_be_meant_is_refused(tmp_path, alpha, says):
    folder = small_adapter(tmp_path / "lora", PAIR)
    text = (folder / "adapter_config.json").read_text()
    (folder / "adapter_config.json").write_text(text.replace('"lora_alpha": 4', f'"lora_alpha": {alpha}'))
    with pytest.raises(CheckpointError, match=says):
        adapters.opened(folder)


def test_a_task_vector_of_a_gpt2_is_written_as_peft_stores_it(gpt2, tmp_path):
    base, tuned = gpt2
    adapter = adapters.opened(example.as_adapter(tmp_path / "cut", base, tuned[0], 3))
    for key, (inputs, outputs) in {"h.0.mlp.c_fc": (WIDTH, 4 * WIDTH), "h.0.attn.c_proj": (WIDTH, WIDTH)}.items():
        down, up = adapter.factors(key)
        assert down.shape == (3, inputs) and up.shape == (outputs, 3)
        change = tuned[0][f"{key}.weight"] - base[f"{key}.weight"]
        left, sigma, right = torch.linalg.svd(change, full_matrices=False)
        adapted = adapters.Adapted(base, adapter)[f"{key}.weight"] - base[f"{key}.weight"]
        torch.testing.assert_close(adapted, left[:, :3] * sigma[:3] @ right[:3], rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(adapter.delta(key, turned=False), adapted.T, rtol=1e-3, atol=1e-5)


# -- the course's own networks as files ----------------------------------------------------------------------------

def test_networks_are_written_once_as_folders_and_one_in_shards(gpt2):
    base, tuned = dict(gpt2[0]), gpt2[1]
    start, found = example.written(base, {"a": dict(tuned[0]), "b": dict(tuned[1])}, {"model_type": "test"})
    assert folders.opened(start).config == {"model_type": "test"} and len(folders.opened(found["b"]).files) == 2
    for path, state in ((start, base), (found["a"], tuned[0]), (found["b"], tuned[1])):
        assert all(torch.equal(folders.opened(path)[key], state[key]) for key in state)
    changed = (start / "model.safetensors").stat().st_mtime_ns
    assert example.written(base, {"a": dict(tuned[0]), "b": dict(tuned[1])}, {"model_type": "test"})[0] == start
    assert (start / "model.safetensors").stat().st_mtime_ns == changed
    for other in ((tuned[1], {"model_type": "test"}), (tuned[0], {})):
        assert example.written(base, {"a": dict(other[0]), "b": dict(tuned[1])}, other[1])[0] != start


def test_what_the_chapter_writes_beside_a_closed_folder_goes_to_the_learner_s_own(gpt2, quiet_store, tmp_path, close):
    base, tuned = dict(gpt2[0]), {"a": dict(gpt2[1][0])}
    theirs = example.written(base, tuned)[0]  # the owner's
    close(quiet_store)
    with warnings.catch_warnings(action="ignore"):
        assert example.written(base, tuned)[0] == theirs
        mine, _ = example.written(base, tuned, {"model_type": "another"})
        spoilt = example.spoilt(mine)
    assert mine == example.written(base, tuned, {"model_type": "another"})[0]
    for path in (mine, *spoilt.values(), store.workplace("checkpoints")):
        assert path.is_relative_to(tmp_path / "own/checkpoints")
    assert "…/checkpoints/spoilt" in example.said_of(spoilt["half a download"])


def test_spoilt_files_are_all_told_but_the_flipped_bit(gpt2):
    found = {what: example.said_of(path) for what, path in example.spoilt(gpt2[0].path).items()}
    told = {"a pickle under this name": "zip archive", "a Git-LFS pointer": "Git-LFS pointer",
            "a page to log in": "web page", "half a download": "truncated", "a header of absurd size": "absurd size",
            "one flipped bit": "opened: 28"}
    assert found.keys() == told.keys() and all(told[what] in said for what, said in found.items())
    page = files_panels.said_of_spoilt(example.spoilt(gpt2[0].path))
    assert "opened: 28 tensors" in page.page
    assert "attn.in_proj_weight (first third)" in files_panels.names_of_a_block().page
    assert "and 20 more" in files_panels.contents(gpt2[0]).page


@pytest.mark.parametrize("rslora", [False, True])
def test_a_task_vector_cut_down_to_an_adapter_is_its_best_approximation(gpt2, tmp_path, rslora):
    base, tuned = gpt2
    adapter = adapters.opened(example.as_adapter(tmp_path / "cut", base, tuned[0], 3, rslora=rslora))
    adapted = adapters.Adapted(base, adapter)
    key = "h.0.mlp.c_fc.weight"
    left, sigma, right = torch.linalg.svd(tuned[0][key] - base[key], full_matrices=False)
    torch.testing.assert_close(adapted[key] - base[key], left[:, :3] * sigma[:3] @ right[:3], rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match="no matrix has both sides longer than 64"):
        example.as_adapter(tmp_path / "large", base, tuned[0], 64)


def written_totals(base, tuned, folder):
    return totals.write(folder, base, tuned, (0.5,), progress=False)


def written_adapter(base, tuned, folder):
    return example.as_adapter(folder, base, tuned[0], 3)


def written_example(base, tuned, folder):
    return example.written(base, {"a": tuned[0], "b": tuned[1]}, {"model_type": "test"})[0]


@pytest.mark.parametrize("write", [written_totals, written_adapter, written_example])
@pytest.mark.parametrize("room", [10, 4096])
def test_a_full_disk_is_told_and_leaves_nothing_half_written(gpt2, tmp_path, monkeypatch, full_disk, write, room):
    base, tuned = gpt2
    base, tuned = {**base}, [{**state} for state in tuned]
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "out"))
    told = rf"^{re.escape(str(tmp_path / 'out'))}.* has no room for .* Delete what"
    with pytest.raises(store.NoRoom, match=told), full_disk(room):
        write(base, tuned, tmp_path / "out")
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.suffix != ".lock"]
    write(base, tuned, tmp_path / "out")  # with room it works


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}


@pytest.mark.parametrize("write", [written_totals, written_adapter])
@pytest.mark.fault("full", "The disk is full when task vectors or an adapter are written again",
                   answers="What was there stays as it was")
def test_a_full_disk_leaves_what_was_there_as_it_was(gpt2, tmp_path, full_disk, write):
    base, tuned = gpt2
    before = contents(write(base, tuned[:2], tmp_path / "out"))
    with pytest.raises(store.NoRoom), full_disk(4096):
        write(base, tuned[1:], tmp_path / "out")
    assert contents(tmp_path / "out") == before


def test_an_adapter_whose_config_finds_no_room_is_not_there_either(gpt2, tmp_path, full_disk, monkeypatch):
    base, tuned = gpt2
    monkeypatch.setattr(example.json, "dumps", lambda *_, **__: " " * 200_000)
    with pytest.raises(store.NoRoom, match="has no room for adapter_config.json"), full_disk(100_000):
        example.as_adapter(tmp_path / "out", {**base}, tuned[0], 3)
    assert contents(tmp_path / "out") == {}


@pytest.mark.parametrize("rslora", [False, True])
def test_an_adapter_that_peft_wrote_is_what_peft_merges(tmp_path, rslora):
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=8, vocab_size=40)
    model = transformers.GPT2LMHeadModel(config)
    model.save_pretrained(tmp_path / "base")
    lora_config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn", "c_proj"], use_rslora=rslora,
                                  fan_in_fan_out=True, rank_pattern={"c_proj": 2}, alpha_pattern={"c_attn": 6},
                                  lora_bias=rslora, bias="none" if rslora else "all")
    wrapped = peft.get_peft_model(model, lora_config)
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name or (lora_config.bias == "all" and name.endswith("bias")):
            torch.nn.init.normal_(parameter, std=0.1)
    wrapped.save_pretrained(tmp_path / "lora")
    adapted = adapters.Adapted(folders.opened(tmp_path / "base"), adapters.opened(tmp_path / "lora"))
    expected = wrapped.merge_and_unload().state_dict()
    assert len(adapted.modules) == 6
    for key in adapted:
        torch.testing.assert_close(adapted[key], expected[key], rtol=1e-5, atol=1e-6)


def tiny(transformers, what):
    """A tiny model of transformers: GPT-2 with 2 labels or with as many as it is wide, BERT, or ViT."""
    if what.startswith("gpt2"):
        config = transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=8, vocab_size=40, pad_token_id=0,
                                         num_labels=16 if "square" in what else 2)
        return transformers.GPT2ForSequenceClassification(config)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    if what == "bert":
        return transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=40, **sizes))
    return transformers.ViTForImageClassification(transformers.ViTConfig(image_size=8, patch_size=4, **sizes))


@pytest.mark.parametrize("said", [False, True])
@pytest.mark.parametrize("what, targets", [
    ("gpt2", ["c_attn", "c_proj"]), ("gpt2", ["attn.c_proj"]), ("gpt2", ["score"]), ("gpt2, square", ["score"]),
    ("gpt2", ["attn.c_proj", "score"]), ("gpt2", ["c_attn", "score"]), ("gpt2, square", ["attn.c_proj", "score"]),
    ("bert", "all-linear"), ("vit", "all-linear")])
def test_what_peft_decides_by_module_is_what_we_decide(tmp_path, what, targets, said):
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = tiny(transformers, what)
    model.save_pretrained(tmp_path / "base")
    wrapped = peft.get_peft_model(model, peft.LoraConfig(r=4, lora_alpha=8, target_modules=targets,
                                                         fan_in_fan_out=said))
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    wrapped.save_pretrained(tmp_path / "lora")
    wrapped.merge_and_unload().save_pretrained(tmp_path / "merged")  # its file has the names of the base's file
    adapted = adapters.Adapted(folders.opened(tmp_path / "base"), adapters.opened(tmp_path / "lora"))
    expected = folders.opened(tmp_path / "merged")
    assert adapted.keys() == expected.keys() and adapted.modules
    for key in adapted:
        torch.testing.assert_close(adapted[key], expected[key], rtol=1e-5, atol=1e-6)


def as_read(transformers, wrapped, folder):
    """(logits of a wrapped model, logits of the whole model that PEFT writes of it)."""
    tokens = torch.arange(6)[None]
    with torch.no_grad():
        expected = wrapped.eval()(tokens).logits
        wrapped.merge_and_unload().save_pretrained(folder)
        return expected, transformers.LlamaForCausalLM.from_pretrained(folder).eval()(tokens).logits


@pytest.mark.parametrize("kind", ["use_dora", "kasa_config", "velora_config", "monteclora_config", "layer_replication"])
def test_what_is_advised_for_an_adapter_that_is_refused_is_right(tmp_path, kind):
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=4, num_attention_heads=2, vocab_size=40))
    made = {"use_dora": lambda: True, "layer_replication": lambda: [[0, 2], [1, 4]]}
    value = made.get(kind) or getattr(peft, kind.replace("_", " ").title().replace(" ", ""))
    wrapped = peft.get_peft_model(model, peft.LoraConfig(target_modules=["q_proj"], r=2, **{kind: value()}))
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    if kind not in adapters.INSTEAD:
        torch.testing.assert_close(*as_read(transformers, wrapped, tmp_path / "whole"))
        return
    with pytest.raises((AssertionError, RuntimeError)):  # the day this does not raise, the advice can be the usual one
        torch.testing.assert_close(*as_read(transformers, wrapped, tmp_path / "whole"))


def test_an_adapter_that_we_wrote_of_a_gpt2_is_what_peft_reads(tmp_path):
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = tiny(transformers, "gpt2, square")
    model.save_pretrained(tmp_path / "base")
    base = folders.opened(tmp_path / "base")
    tuned = weights.add(base, drawn({key: tuple(base[key].shape) for key in base}, 1, 0.01))
    example.as_adapter(tmp_path / "lora", base, tuned, 4)
    config = json.loads((tmp_path / "lora/adapter_config.json").read_text())
    adapter = adapters.opened(tmp_path / "lora")
    adapted = adapters.Adapted(base, adapter)
    modules = [module for module in adapter.pairs if not module.endswith(("wte", "wpe"))]  # these are embeddings
    (tmp_path / "lora/adapter_config.json").write_text(json.dumps(config | {"target_modules": modules}))
    merged = peft.PeftModel.from_pretrained(model, tmp_path / "lora").merge_and_unload().state_dict()
    assert len(modules) == 9
    for module in modules:
        torch.testing.assert_close(merged[f"{module}.weight"], adapted[f"{module}.weight"], rtol=1e-5, atol=1e-6)


def official(transformers, what):
    """(a tiny model, key -> what the published file calls it, what lies beside the weights there): BERT's
    normalisations have gamma and beta; GPT-2's keys have no "transformer." before them, and its masks lie beside them.
    """
    if what == "bert":
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
        model = transformers.BertForPreTraining(transformers.BertConfig(vocab_size=40, **sizes))
        return model, lambda key: key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"), {}
    config = transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=PLACES, vocab_size=40)
    masks = {f"h.{number}.attn.bias": torch.ones(1, 1, PLACES, PLACES).tril() for number in range(2)}
    return transformers.GPT2LMHeadModel(config), lambda key: key.removeprefix("transformer."), masks


# transformers 5 writes a model under the names of the file that it was loaded from, older ones under the newer names
@pytest.mark.parametrize("parent", ["official", "newer"])
@pytest.mark.parametrize("what", ["bert", "gpt2"])
def test_an_official_file_and_its_relatives_merge_to_a_model_that_transformers_loads_whole(tmp_path, what, parent):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    model, older, masks = official(transformers, what)
    for name in ("official", "newer"):
        model.save_pretrained(tmp_path / name)
    newer = folders.opened(tmp_path / "newer")
    state = {older(key): tensor for key, tensor in newer.items()}
    assert state.keys() != newer.keys()
    save_file(state | masks, tmp_path / "official/model.safetensors", {"format": "pt"})
    tuned = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        tuned.append(type(model).from_pretrained(tmp_path / parent))
        with torch.no_grad():
            for parameter in tuned[-1].parameters():
                parameter += 0.001 * torch.randn_like(parameter)
        tuned[-1].save_pretrained(tmp_path / f"tuned{seed}")
    relatives = [folders.opened(tmp_path / f"tuned{seed}") for seed in (1, 2)]
    folder = writing.merge(tmp_path / "merged", "average", folders.opened(tmp_path / "official"), relatives)
    merged, told = type(model).from_pretrained(folder, output_loading_info=True)
    assert not any(told.values()), told
    one, other = (some.state_dict() for some in tuned)
    for key, tensor in merged.state_dict().items():
        torch.testing.assert_close(tensor, (one[key] + other[key]) / 2)


def test_every_field_that_peft_has_is_decided():
    peft = pytest.importorskip("peft")
    assert set(peft.LoraConfig.__dataclass_fields__) <= adapters.KNOWN


@pytest.mark.slow  # writes 1.5 GB
def test_folders_of_gpt2s_size_and_a_lora_of_it_go_through_part_3(tmp_path):
    shapes = gpt2_shapes(768, 50_257, 1024, 12)
    state = drawn(shapes, 0, 0.02)
    base = in_folder(tmp_path / "gpt2", state)
    tuned = in_folder(tmp_path / "tuned", weights.add(state, drawn(shapes, 1, 0.001)))
    path = tmp_path / "lora"
    path.mkdir()
    generator = torch.Generator().manual_seed(2)
    factors = {}
    for number in range(12):
        name = f"base_model.model.transformer.h.{number}.attn.c_attn"
        factors[f"{name}.lora_A.weight"] = torch.randn(8, 768, generator=generator)
        factors[f"{name}.lora_B.weight"] = 0.001 * torch.randn(2304, 8, generator=generator)
    save_file(factors, path / "adapter_model.safetensors")
    said = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "fan_in_fan_out": True}
    (path / "adapter_config.json").write_text(json.dumps(said))
    models = [tuned, adapters.Adapted(base, adapters.opened(path))]
    found = looking.look(base, models, spectra=False, progress=False)
    assert int(found["size"].sum()) == 124_439_808 and found.attrs["notes"] == []
    assert (found.parent > 0.99).all() and not found.norm.sel(task="lora", layer="wte.weight")
    one = looking.layer(base, models, "h.5.attn.c_attn.weight", densities=(1.0,), ratios=(0.02, 1.0))
    shares = one.inner.sel(end="lora", density=1.0, task="lora").values
    assert shares == pytest.approx([1.0, 1.0], abs=1e-3)  # rank 8 of 768 holds all of it
    folder = writing.merge(tmp_path / "merged", "task_arithmetic", base, models, scale=1.0)
    merged = folders.opened(folder)["h.11.attn.c_attn.weight"]
    expected = sum(model["h.11.attn.c_attn.weight"] for model in models) - base["h.11.attn.c_attn.weight"]
    torch.testing.assert_close(merged, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.fault("pages", "Names are formulas for matplotlib", answers="They are drawn as they are written")
def test_a_name_with_dollars_is_no_formula_in_a_picture(tmp_path):
    formula, price = r"x$\frac$", "from $5 to $9"
    key = f"h.0.{formula}.weight"
    base, *tuned = (in_folder(tmp_path / name, drawn({key: (8, 8)}, seed))
                    for seed, name in enumerate(("base", formula, price)))
    view = own.by_layer(looking.look(base, tuned, progress=False))
    for name in (formula, price):
        assert ("merged", f"Task vectors: {name}") in view.set(task=name).frame.key
        assert name in html.unescape(view.still())
    layer = own.one_layer(looking.layer(base, tuned, key, densities=(1.0,), ratios=(1.0,)))
    assert layer.frame.key[:3] == [("", f"Layer: {key}"), ("a", f"A: {formula}"), ("b", f"B: {price}")]
    assert key in html.unescape(layer.still())
