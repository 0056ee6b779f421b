"""The page of the book that reads, compares and merges a reader's own checkpoints. Average, task arithmetic and TIES
are equal to Python's to the last bit, CART and singular values nearly so. Files, shards and folders are taken and
refused as in Python, whether they are chosen or dropped. The merged file is written piece by piece, to a file or as a
download."""
import base64
import contextlib
import functools
import http.server
import json
import pickle
import re
import threading

import pytest
import safetensors.torch
import torch
from axe_playwright_python.sync_playwright import Axe

from lessons.checkpoints import folders, vectors, writing
from lessons.checkpoints.opening import CheckpointError
from tests.browser.conftest import bounded
from tests.test_vit_checkpoints import REFUSED
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
NAMES = ("base", "one", "two", "three", "four")
SHAPES = {"layer.weight": (40, 30), "layer.bias": (40,), "half.weight": (8, 8), "brain.weight": (8, 8), "single": (),
          "long.weight": (700, 400), "conv.weight": (6, 3, 3, 3), "norm.running_mean": (6,)}
TUNED = "Finetuned models"


@pytest.fixture(scope="module")
def states():
    """{name: state dict} of a base and four models: every dtype that is merged, a single number, a counter, equal
    sizes, a tensor of several pieces."""
    draw = torch.Generator().manual_seed(0)
    dtypes = {"half.weight": torch.float16, "brain.weight": torch.bfloat16}
    base = {key: torch.randn(shape, generator=draw) for key, shape in SHAPES.items()}
    made = {}
    for name in NAMES:
        state = {key: tensor + (name != "base") * 0.1 * torch.randn(tensor.shape, generator=draw)
                 for key, tensor in base.items()}
        if name != "base":
            state["layer.weight"][::3] = base["layer.weight"][::3]  # where nothing moved
            state["layer.bias"][:20] = base["layer.bias"][:20] + 0.25  # of one magnitude
        state["half.weight"][0, :2] = torch.tensor([6e-8, 3e-5])  # too small for float16's normal numbers
        state = {key: tensor.to(dtypes.get(key, torch.float32)) for key, tensor in state.items()}
        made[name] = state | {"norm.num_batches_tracked": torch.tensor(NAMES.index(name) + 5)}
    return made


@pytest.fixture(scope="module")
def files(tmp_path_factory, states):
    """{name: file} of these."""
    folder = tmp_path_factory.mktemp("models")
    for name, state in states.items():
        safetensors.torch.save_file(state, folder / f"{name}.safetensors", {"format": "pt"})
    return {name: folder / f"{name}.safetensors" for name in states}


def saved(folder, state, count=2):
    """Files of models of one kind, each with other numbers."""
    draw, paths = torch.Generator().manual_seed(0), []
    for number in range(count):
        changed = {key: tensor + torch.randn(tensor.shape, generator=draw) for key, tensor in state.items()}
        paths.append(folder / f"{number}.safetensors")
        safetensors.torch.save_file(changed, paths[-1])
    return paths


@pytest.fixture(scope="module")
def browser():
    with lab.browser() as context:
        yield context


@contextlib.contextmanager
def opened(browser, address, width=1200):
    """The page."""
    with lab.fresh_page(browser) as page, bounded(page, address.rpartition("/")[0]):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        yield page


@pytest.fixture
def reader(browser, site):
    """The page from its folder, without a network, where the browser cannot write to files."""
    browser.set_offline(True)
    with opened(browser, (site / "your-checkpoints.html").as_uri()) as page:
        page.evaluate("() => { delete window.showSaveFilePicker; }")
        yield page
    browser.set_offline(False)


def says(page):
    """What the page says when it has finished."""
    page.locator("[data-drop-base] input:enabled").first.wait_for()
    return page.locator("[data-says]").inner_text()


def choose(page, base, *tuned):
    """Open files, each a path, or a dict as Playwright takes it."""
    page.get_by_label("Base model").set_input_files(base)
    says(page)
    page.get_by_label(TUNED, exact=True).set_input_files(list(tuned))
    return says(page)


def drop(page, zone, *paths):
    """Drop files and folders of the disk, as a hand would."""
    box, mouse = page.locator(f"[data-drop-{zone}]").bounding_box(), page.context.new_cdp_session(page)
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + 20}
    for step in ("dragEnter", "dragOver", "drop"):
        mouse.send("Input.dispatchDragEvent", {"type": step, **place, "data": {
            "items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}})
    return says(page)


def merged(page, method="average", **settings):
    """The state dict that the page gives."""
    page.get_by_label("Method").select_option(method)
    for name, value in settings.items():
        page.locator(f"[data-{name}]").fill(str(value))
    with page.expect_download() as download:
        page.get_by_role("button", name="Merge and save").click()
    assert download.value.suggested_filename == f"merged-{method}.safetensors"
    return safetensors.torch.load_file(download.value.path())


def by_python(folder, method, base, *tuned, **settings):
    """The state dict that Python gives."""
    base, *tuned = (folders.opened(path) for path in (base, *tuned))
    writing.merge(folder, method, base, tuned, dtype="float32", progress=False, **settings)
    return safetensors.torch.load_file(folder / "model.safetensors")


def assert_equal(ours, expected):
    assert ours.keys() == expected.keys()
    for key, tensor in expected.items():
        assert ours[key].dtype == tensor.dtype and torch.equal(ours[key], tensor), key


# -- merging -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("method, settings", [("average", {}), ("task_arithmetic", {"scale": 0.7}),
                                              ("ties", {"scale": 1.35, "density": 0.3})])
def test_a_merge_is_that_of_python_to_the_last_bit(reader, files, tmp_path, method, settings, count):
    paths = [files[name] for name in NAMES[:count + 1]]
    assert "Compared" in choose(reader, *paths)
    ours = merged(reader, method, **settings)
    assert_equal(ours, by_python(tmp_path / "merged", method, *paths, **settings,
                                 **{"trim": "tensor"} if method == "ties" else {}))


@pytest.mark.parametrize("rank", [0, 0.11, 1])
def test_cart_is_that_of_python_nearly(reader, files, tmp_path, rank):
    choose(reader, *files.values())
    ours = merged(reader, "cart", scale=1.4, rank=rank)
    expected = by_python(tmp_path / "merged", "cart", *files.values(), scale=1.4, rank_ratio=rank)
    average = by_python(tmp_path / "average", "average", *files.values())
    for key, tensor in expected.items():
        assert (ours[key] - tensor).abs().max() <= 1e-5 * tensor.abs().max(), key
        is_cut = tensor.ndim > 1 and 0 < rank < 1
        assert ((ours[key] - average[key]).abs().max() > 1e-3) == is_cut, key


def test_of_two_models_cart_is_said_to_be_the_average(reader, files):
    choose(reader, files["base"], files["one"], files["two"])
    merged(reader, "cart")
    assert "Of two models CART gives the average" in says(reader)


def test_thirty_two_models_merge_and_their_tables_read_well_on_a_phone(reader, tmp_path):
    paths = saved(tmp_path, {"a.layer.of.a.rather.long.name.weight": torch.arange(30.0).view(6, 5)}, count=33)
    reader.set_viewport_size({"width": 390, "height": 844})
    assert "Compared 32 finetuned models" in choose(reader, *paths)
    reader.get_by_role("button", name="Find the singular values").click()
    says(reader)
    for table in reader.locator(".ws-differs table").all():
        assert table.locator("thead tr").nth(1).locator("th").last.inner_text() in ("31", "32")
    assert reader.evaluate("document.documentElement.scrollWidth") == 390
    for method, settings in {"average": {}, "task_arithmetic": {"scale": 0.1}}.items():
        expected = by_python(tmp_path / method, method, *paths, **settings)
        torch.testing.assert_close(merged(reader, method, **settings), expected)  # PyTorch has its own order of adding


# -- comparing ---------------------------------------------------------------------------------------------------------

def test_what_differs_is_told_tensor_by_tensor(reader, files):
    choose(reader, files["base"], files["one"], files["two"])
    base, one, two = (safetensors.torch.load_file(files[name]) for name in NAMES[:3])
    vectors = [{key: tensor.float() - base[key].float() for key, tensor in state.items() if tensor.is_floating_point()}
               for state in (one, two)]
    flat = [torch.cat([tensor.flatten() for tensor in vector.values()]).double() for vector in vectors]
    models, tensors = reader.locator(".ws-differs table").all()
    cosine = torch.cosine_similarity(*flat, dim=0).item()
    assert models.locator("tbody tr").nth(1).locator("td").all_inner_texts()[1] == f"{cosine:.3f}"
    row = tensors.locator("tbody tr", has_text="layer.bias").first.locator("td").all_inner_texts()
    share = (vectors[0]["layer.bias"].double().norm() / base["layer.bias"].double().norm()).item()
    assert row[0] == "40" and float(row[2]) == pytest.approx(share, rel=5e-3)
    against = ((flat[0] * flat[1]) < 0).double().mean().item()
    assert row[1].endswith(" %")
    assert f"In {100 * against:.1f} % of all numbers" in reader.locator(".ws-differs p").inner_text()


def singular_values(page):
    """What the page found, as it is downloaded."""
    page.get_by_role("button", name="Find the singular values").click()
    says(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download all singular values").click()
    return json.loads(download.value.path().read_text(encoding="utf-8"))


def test_singular_values_are_those_of_torch(reader, files, states):
    choose(reader, files["base"], files["one"], files["two"])
    found = singular_values(reader)
    assert found["models"] == ["one.safetensors", "two.safetensors"]
    by_name = {tensor["name"]: tensor["singular_values"] for tensor in found["tensors"]}
    assert by_name.keys() == {key for key, shape in SHAPES.items() if len(shape) > 1}
    for key, values in by_name.items():
        for name, ours in zip(("one", "two"), values):
            matrix = (states[name][key].float() - states["base"][key].float()).flatten(1).double()
            sigma = torch.linalg.svdvals(matrix)
            strong = sigma > 1e-6 * sigma[0]  # the squares of weaker ones are lost in rounding
            assert len(ours) == len(sigma)
            torch.testing.assert_close(torch.tensor(ours).double()[strong], sigma[strong], rtol=1e-3, atol=0)
            assert (torch.tensor(ours)[~strong] < 1e-5 * sigma[0]).all()


@pytest.mark.parametrize("measure", ["share", "stable"])
def test_a_heat_map_shows_how_many_directions_each_layer_takes(reader, files, states, measure):
    choose(reader, files["base"], files["one"], files["two"])
    reader.get_by_role("button", name="Find the singular values").click()
    says(reader)
    reader.get_by_label("Show").select_option(measure)
    rows = reader.locator("[data-directions] tbody tr")
    for row in rows.all():
        key = row.locator("th").inner_text()
        shape, count, *told = row.locator("td").all_inner_texts()
        sigmas = [torch.linalg.svdvals((states[name][key].float() - states["base"][key].float()).flatten(1).double())
                  for name in ("one", "two")]
        shares = [(sigma.square().cumsum(0) < 0.9 * sigma.square().sum()).sum().add(1).item() / len(sigma)
                  for sigma in sigmas]
        assert (shape, count) == (" × ".join(map(str, SHAPES[key])), str(len(sigmas[0])))
        expected = [f"{100 * share:.1f} %" for share in shares] if measure == "share" else [
            f"{vectors.stable_rank(sigma):#.3g}".rstrip(".") for sigma in sigmas]
        assert told == expected
    assert rows.count() == 5


def test_a_matrix_that_is_too_large_is_named(reader, tmp_path):
    choose(reader, *saved(tmp_path, {"largest": torch.ones(1025, 1025), "small": torch.ones(2, 3)}))
    assert [tensor["name"] for tensor in singular_values(reader)["tensors"]] == ["small"]
    assert "Not decomposed: largest." in reader.locator("[data-directions] p").inner_text()
    reader.get_by_label("Method").select_option("cart")
    reader.get_by_role("button", name="Merge and save").click()
    assert "'largest' is 1,025 × 1,025, which is too large" in says(reader)


def test_long_work_can_be_stopped_and_the_page_goes_on(reader, tmp_path):
    choose(reader, *saved(tmp_path, {"large": torch.ones(1024, 1024)}, count=5))
    reader.get_by_role("button", name="Find the singular values").click()
    reader.get_by_role("button", name="Stop").click()
    assert says(reader) == "Stopped." and reader.locator("[data-directions] table").count() == 0
    assert merged(reader).keys() == {"large"}


# -- files, shards and folders -----------------------------------------------------------------------------------------

def sharded(folder, state, indexed=True, count=3):
    """A folder of shards, as the hub has them, and its files."""
    folder.mkdir(parents=True)
    keys = sorted(state)
    weight_map = {key: f"model-{1 + number % count:05d}-of-{count:05d}.safetensors" for number, key in enumerate(keys)}
    for name in set(weight_map.values()):
        part = {key: state[key] for key in keys if weight_map[key] == name}
        safetensors.torch.save_file(part, folder / name, {"format": "pt"})
    (folder / "config.json").write_text("{}")
    (folder / "runs").mkdir()
    (folder / "runs/notes.txt").write_text("no weights are in here")
    if indexed:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return folder


@pytest.fixture
def shards(tmp_path, states):
    """{name: folder} of a base and three models in three files each, one of them without an index."""
    return {name: sharded(tmp_path / "hub" / name, states[name], indexed=name != "two") for name in NAMES[:4]}


def choose_folder(page, zone, folder):
    """Choose a folder in the browser's own dialog."""
    page.locator(f"[data-drop-{zone}] input[webkitdirectory]").set_input_files(folder)
    return says(page)


def test_shards_that_are_chosen_together_are_one_model(reader, shards, states):
    parts = {name: [path for path in shards[name].iterdir() if path.is_file()] for name in ("base", "two")}
    assert choose(reader, parts["base"], *parts["two"]) == "Compared 1 finetuned model with model."
    assert_equal(merged(reader), {key: tensor.float() if tensor.is_floating_point() else states["base"][key]
                                  for key, tensor in states["two"].items()})


@pytest.mark.parametrize("how", ["one by one", "their parent", "dropped"])
def test_folders_are_a_model_each(reader, shards, files, tmp_path, how):
    if how == "dropped":
        drop(reader, "base", shards["base"])
        drop(reader, "tuned", shards["one"], files["two"], shards["three"])
    else:
        choose_folder(reader, "base", shards["base"])
        for folder in [shards["one"], shards["two"]] if how == "one by one" else [shards["one"].parent]:
            choose_folder(reader, "tuned", folder)
    names = {"one by one": ["one", "two"], "their parent": [f"hub/{name}" for name in NAMES[:4]],
             "dropped": ["one", "two.safetensors", "three"]}[how]
    listed = reader.locator("[data-named-tuned] li").all_inner_texts()
    assert sorted(listed) == sorted(f"{name} Remove" for name in names)
    same = [name.split()[0].removeprefix("hub/").removesuffix(".safetensors") for name in listed]
    assert_equal(merged(reader), by_python(tmp_path / "merged", "average", *[files[name] for name in ["base", *same]]))


def change_index(folder, **changes):
    """Change what the index of a folder says; None takes a key away."""
    index = folder / "model.safetensors.index.json"
    listed = json.loads(index.read_text())["weight_map"] | changes
    index.write_text(json.dumps({"weight_map": {key: name for key, name in listed.items() if name is not None}}))


def leave_only(folder, name):
    """Another file in place of the weights."""
    for path in folder.glob("model*"):
        path.unlink()
    (folder / name).write_bytes(b"GGUF")


FIRST, SECOND, THIRD = (f"model-{number:05d}-of-00003.safetensors" for number in (1, 2, 3))
INDEX = "model.safetensors.index.json"
BROKEN = {
    "a shard is missing": (lambda folder: (folder / SECOND).unlink(),
                           rf"one/{SECOND} is missing: {INDEX} names it for \d tensors, among them '"),
    "a shard is cut short": (lambda folder: (folder / SECOND).write_bytes((folder / SECOND).read_bytes()[:-9]),
                             f"one/{SECOND} is truncated"),
    "a shard is a pickle": (lambda folder: (folder / SECOND).write_bytes(pickle.dumps([1], protocol=4)),
                            f"one/{SECOND} is a pickle.*was not opened"),
    "another shard": (lambda folder: change_index(folder, **{"brain.weight": SECOND}),
                      f"'brain.weight' lies in .*one/{FIRST}, where {INDEX} says {SECOND}.*of one download"),
    "a key that is nowhere": (lambda folder: change_index(folder, __proto__=FIRST),
                              f"one/{FIRST} does not hold '__proto__', which {INDEX} says it does"),
    "a key too few": (lambda folder: change_index(folder, **{"brain.weight": None}),
                      f"one/{FIRST} holds 'brain.weight', of which {INDEX} does not know"),
    "a shard elsewhere": (lambda folder: change_index(folder, **{"brain.weight": f"../{FIRST}"}),
                          f"names a shard outside its folder, '../{FIRST}', which is not opened"),
    "a shard without a name": (lambda folder: change_index(folder, **{"brain.weight": ""}),
                               "names a shard outside its folder, ''"),
    "no map": (lambda folder: (folder / INDEX).write_text('{"weight_map": []}'),
               "is no index of shards: it has no “weight_map”"),
    "no JSON": (lambda folder: (folder / INDEX).write_text("<html>"), f"one/{INDEX} cannot be read as JSON"),
    "a tensor twice": (lambda folder: (folder / SECOND).write_bytes((folder / FIRST).read_bytes()),
                       f"one/{SECOND} holds 'brain.weight', which .*one/{FIRST} holds as well"),
    "a pickle": (lambda folder: leave_only(folder, "pytorch_model.bin"), "pytorch_model.bin is a pickle"),
    "a GGUF file": (lambda folder: leave_only(folder, "model-q4.gguf"), "model-q4.gguf is a GGUF file"),
    "an adapter": (lambda folder: leave_only(folder, "adapter_model.safetensors"), "LoRA adapter"),
    "another name": (lambda folder: leave_only(folder, "weights.safetensors"), "one safetensors file by another name"),
    "nothing": (lambda folder: leave_only(folder, "vocab.txt"), "holds no checkpoint.*it holds config.json"),
}


def test_a_folder_that_is_no_model_is_refused_as_in_python(reader, files, states, tmp_path):
    reader.get_by_label("Base model").set_input_files(files["base"])
    for name, (breaks, text) in BROKEN.items():
        folder = sharded(tmp_path / name / "one", states["one"])
        breaks(folder)
        with pytest.raises(CheckpointError, match=text):
            folders.opened(folder)
        told = choose_folder(reader, "tuned", folder)
        assert re.search(text, told), (name, told)
        assert reader.locator("[data-named-tuned] li").count() == 0


def test_shards_that_are_no_set_are_refused(reader, files, states, tmp_path):
    one = sharded(tmp_path / "one", states["one"], indexed=False)
    other = sharded(tmp_path / "other", states["one"], indexed=False, count=2)
    told = choose(reader, files["base"], one / FIRST, one / THIRD)
    assert told.startswith(f"{SECOND} is missing: {FIRST} is one of 3 files")
    told = choose(reader, files["base"], one / FIRST, other / "model-00002-of-00002.safetensors")
    assert "are shards of two downloads: one has 3 files and the other 2" in told
    told = choose(reader, [files["base"], files["one"]])
    assert told.startswith("These are 2 models (base.safetensors, one.safetensors), and the base is one.")
    assert reader.locator("[data-named-tuned] li").count() == 0


def test_a_model_is_opened_once_and_can_be_removed(reader, files):
    choose(reader, files["base"], files["one"], files["two"])
    assert choose(reader, files["base"], files["one"]) == (
        "Compared 2 finetuned models with base.safetensors. Open already and not opened again: one.safetensors.")
    reader.get_by_role("button", name="Remove one.safetensors").click()
    assert says(reader) == "Compared 1 finetuned model with base.safetensors."
    assert reader.locator("[data-named-tuned] li").all_inner_texts() == ["two.safetensors Remove"]


def test_a_file_that_has_changed_is_named(reader, files, tmp_path):
    path = tmp_path / "changing.safetensors"
    path.write_bytes(files["one"].read_bytes())
    choose(reader, files["base"], path)
    safetensors.torch.save_file({"a": torch.ones(2)}, path)
    reader.get_by_role("button", name="Merge and save").click()
    assert "changing.safetensors cannot be read" in says(reader)


def test_a_file_may_be_dropped_and_a_tensor_may_have_any_name(reader, files, tmp_path):
    state = {"__proto__": torch.ones(3), "constructor": torch.zeros(2)}
    safetensors.torch.save_file(state, tmp_path / "dropped.safetensors")
    dropped = reader.evaluate_handle("""(bytes) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], "dropped.safetensors"));
        return transfer; }""", list((tmp_path / "dropped.safetensors").read_bytes()))
    for zone in ("base", "tuned"):
        reader.locator(f"[data-drop-{zone}]").dispatch_event("drop", {"dataTransfer": dropped})
        reader.locator(f"[data-named-{zone}]", has_text="dropped.safetensors").wait_for()
    with reader.expect_download() as download:
        reader.get_by_role("button", name="Merge and save").click()
    merged = safetensors.torch.load_file(download.value.path())
    assert {key: tensor.tolist() for key, tensor in merged.items()} == {"__proto__": [1] * 3, "constructor": [0] * 2}


def test_what_is_no_checkpoint_is_refused_as_in_python(reader):
    for name, (content, text) in REFUSED.items():
        reader.get_by_label("Base model").set_input_files(
            {"name": "model.safetensors", "mimeType": "application/octet-stream", "buffer": content})
        told = says(reader)
        assert "model.safetensors" in told and re.search(text, told), name
        assert reader.locator("[data-says].ws-wrong").count() == 1
        assert reader.locator("[data-named-base]").inner_text() == ""
        reader.evaluate("() => { document.querySelector('[data-says]').textContent = ''; }")


def test_models_that_do_not_belong_together_are_named(reader, files, states, tmp_path):
    state, hostile = states["one"], "<img src=x onerror=document.title='ran'>"
    changes = {"another name": ({**state, hostile: torch.ones(2)}, f"'{hostile}' is in .* and not in base"),
               "another shape": ({**state, "layer.bias": torch.ones(3)}, "'layer.bias' is 40 in .* and 3"),
               "another kind": ({**state, "layer.bias": torch.ones(40, dtype=torch.int16)},
                                "'layer.bias' is I16, .* Leave it out"),
               "bytes": ({**state, "layer.bias": torch.ones(40, dtype=torch.uint8)}, "is U8, .* A quantised model"),
               "wide": ({**state, "layer.bias": torch.ones(40).double()}, "is F64, .* The command line does"),
               hostile: ({**state, "layer.bias": torch.full((40,), torch.nan)}, "is not finite")}
    for name, (changed, text) in changes.items():
        path = tmp_path / f"{name}.safetensors"
        safetensors.torch.save_file(changed, path)
        assert re.search(text, choose(reader, files["base"], path)), name
        assert not reader.get_by_role("button", name="Merge and save").is_visible()
    assert reader.locator("[data-named-tuned] li").all_inner_texts() == [f"{hostile}.safetensors Remove"]
    assert reader.title() != "ran"


# -- writing to a file -------------------------------------------------------------------------------------------------

# A dialog of the browser can be opened by no test. A file of its private file system has the same streams.
CHOSEN = """() => { window.showSaveFilePicker = async ({suggestedName}) => {
    const folder = await navigator.storage.getDirectory();
    const handle = await folder.getFileHandle(suggestedName, {create: true}), {createWritable} = handle;
    handle.createWritable = async () => {
        const stream = await createWritable.call(handle), {write} = stream;
        window.sizes = [];
        stream.write = (part) => { sizes.push(part.byteLength ?? part.size); return write.call(stream, part); };
        return stream;
    };
    return handle; }; }"""
WRITTEN = """async () => {
    const found = {};
    for await (const [name, handle] of await navigator.storage.getDirectory()) {
        const reader = new FileReader(), file = await handle.getFile();
        const read = new Promise((done) => { reader.onload = done; });
        reader.readAsDataURL(file);
        await read;
        found[name] = reader.result.split(",")[1];
    }
    return found; }"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """It serves files and writes nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture
def writer(browser, site):
    """The page from a server, because a page of the disk has no private file system."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with opened(browser, f"http://127.0.0.1:{server.server_port}/your-checkpoints.html") as page:
            page.evaluate(CHOSEN)
            yield page
    finally:
        server.shutdown()
        server.server_close()


def test_folders_are_dropped_in_browsers_that_have_no_handles_too(writer, shards):
    writer.evaluate("() => { delete DataTransferItem.prototype.getAsFileSystemHandle; }")
    drop(writer, "base", shards["base"])
    assert drop(writer, "tuned", shards["one"], shards["two"]) == "Compared 2 finetuned models with base."


def test_a_model_that_the_dialog_has_emptied_is_named(writer, files, tmp_path):
    path = tmp_path / "chosen.safetensors"
    path.write_bytes(files["one"].read_bytes())
    choose(writer, files["base"], path)
    path.write_bytes(b"")  # as a browser does when it is chosen as the place of the merged file
    writer.get_by_role("button", name="Merge and save").click()
    assert "chosen.safetensors cannot be read any more. If you chose it as the place" in says(writer)
    assert writer.evaluate(WRITTEN) == {}


def test_a_merge_is_written_to_a_file_piece_by_piece(writer, files, tmp_path):
    choose(writer, *files.values())
    writer.get_by_label("Method").select_option("ties")
    writer.get_by_role("button", name="Merge and save").click()
    assert re.fullmatch(r"Merged with TIES: [\d,]+ bytes, in the file merged-ties.safetensors\.", says(writer))
    [content] = map(base64.b64decode, writer.evaluate(WRITTEN).values())
    expected = by_python(tmp_path / "merged", "ties", *files.values(), density=0.2, trim="tensor")
    assert_equal(safetensors.torch.load(content), expected)
    sizes = writer.evaluate("sizes")
    assert sum(sizes) == len(content) and max(sizes) == 4 << 18 < expected["long.weight"].nbytes
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    assert header["norm.num_batches_tracked"]["data_offsets"] == [0, 8], "wide numbers come first"


def test_no_file_is_left_of_a_merge_that_fails(writer, tmp_path):
    for name, number in {"base": 0.0, "one": 3e38, "two": 3e38}.items():
        safetensors.torch.save_file({"a": torch.full((3,), number)}, tmp_path / f"{name}.safetensors")
    choose(writer, *(tmp_path / f"{name}.safetensors" for name in ("base", "one", "two")))
    writer.get_by_label("Method").select_option("task_arithmetic")
    writer.get_by_role("button", name="Merge and save").click()
    assert "'a' does not fit float32 any more" in says(writer) and writer.evaluate(WRITTEN) == {}


def test_who_chooses_no_place_is_told_that_nothing_was_written(browser, site, files):
    with opened(browser, (site / "your-checkpoints.html").as_uri()) as page:
        choose(page, files["base"], files["one"])
        page.get_by_role("button", name="Merge and save").click()  # without a window, the dialog closes itself
        assert says(page) == "Nothing was written, because you chose no place."


@pytest.mark.parametrize("theme, width", [("light", 390), ("dark", 1200)])
def test_the_page_is_usable_by_all(reader, files, theme, width):
    reader.set_viewport_size({"width": width, "height": 900})
    reader.emulate_media(color_scheme=theme)
    choose(reader, *files.values())
    reader.get_by_label("Method").select_option("ties")
    reader.get_by_role("button", name="Find the singular values").click()
    says(reader)
    reader.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=theme)
    violations = Axe().run(reader, options={"preload": False}).response["violations"]
    assert [violation["id"] for violation in violations] == []
    assert reader.evaluate("document.documentElement.scrollWidth") == width
