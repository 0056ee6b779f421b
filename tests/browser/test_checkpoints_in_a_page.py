"""The page of the book that reads, compares and merges a reader's own checkpoints: to the last bit as in Python, and
with the same refusals."""
import re

import pytest
import safetensors.torch
import torch
from axe_playwright_python.sync_playwright import Axe

from lessons.checkpoints import folders, writing
from tests.test_vit_checkpoints import REFUSED
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
NAMES = ("base", "one", "two", "three", "four")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{name: file} of a base and three models: every dtype that is merged, a single number, a counter, equal sizes."""
    folder, draw = tmp_path_factory.mktemp("models"), torch.Generator().manual_seed(0)
    shapes = {"layer.weight": (40, 30), "layer.bias": (40,), "half.weight": (8, 8), "brain.weight": (8, 8),
              "single": ()}
    dtypes = {"half.weight": torch.float16, "brain.weight": torch.bfloat16}
    base = {key: torch.randn(shape, generator=draw) for key, shape in shapes.items()}
    paths = {}
    for name in NAMES:
        state = {key: tensor + (name != "base") * 0.1 * torch.randn(tensor.shape, generator=draw)
                 for key, tensor in base.items()}
        if name != "base":
            state["layer.weight"][::3] = base["layer.weight"][::3]  # where nothing moved
            state["layer.bias"][:20] = base["layer.bias"][:20] + 0.25  # of one magnitude
        state["half.weight"][0, :2] = torch.tensor([6e-8, 3e-5])  # too small for float16's normal numbers
        state = {key: tensor.to(dtypes.get(key, torch.float32)) for key, tensor in state.items()}
        state["norm.num_batches_tracked"] = torch.tensor(NAMES.index(name) + 5)
        paths[name] = folder / f"{name}.safetensors"
        safetensors.torch.save_file(state, paths[name], {"format": "pt"})
    return paths


@pytest.fixture
def reader(site):
    """The page, without a network; what it asked for and what was refused are told at the end."""
    with lab.chromium(width=1200, height=900) as page:
        page.context.set_offline(True)
        asked, complaints = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.goto((site / "your-checkpoints.html").as_uri())
        yield page
        assert [address for address in asked if not address.startswith((site.as_uri(), "data:", "blob:"))] == []
        assert page.errors == [] and complaints == []


def choose(page, base, *tuned):
    """Open files, each a path, or a dict as Playwright takes it."""
    page.get_by_label("Base model").set_input_files(base)
    page.locator("[data-drop-base] input:enabled").wait_for()
    page.get_by_label("Finetuned models").set_input_files(list(tuned))
    page.locator("[data-drop-base] input:enabled").wait_for()
    return page.locator("[data-says]").inner_text()


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("method, settings", [("average", {}), ("task_arithmetic", {"scale": 0.7}),
                                              ("ties", {"scale": 1.35, "density": 0.3})])
def test_a_merge_is_that_of_python_to_the_last_bit(reader, files, tmp_path, method, settings, count):
    assert "Compared" in choose(reader, files["base"], *[files[name] for name in NAMES[1:count + 1]])
    reader.get_by_label("Method").select_option(method)
    for name, value in settings.items():
        reader.locator(f"[data-{name}]").fill(str(value))
    with reader.expect_download() as download:
        reader.get_by_role("button", name="Merge and download").click()
    ours = safetensors.torch.load_file(download.value.path())
    base, *tuned = (folders.opened(files[name]) for name in NAMES[:count + 1])
    settings = settings | ({"trim": "tensor"} if method == "ties" else {})
    folder = writing.merge(tmp_path / "merged", method, base, tuned, dtype="float32", progress=False, **settings)
    expected = safetensors.torch.load_file(folder / "model.safetensors")
    assert ours.keys() == expected.keys() and download.value.suggested_filename == f"merged-{method}.safetensors"
    for key, tensor in expected.items():
        assert ours[key].dtype == tensor.dtype and torch.equal(ours[key], tensor), key


def test_what_differs_is_told_tensor_by_tensor(reader, files):
    choose(reader, files["base"], files["one"], files["two"])
    base, one, two = (safetensors.torch.load_file(files[name]) for name in NAMES[:3])
    vectors = [{key: tensor.float() - base[key].float() for key, tensor in state.items() if tensor.is_floating_point()}
               for state in (one, two)]
    flat = [torch.cat([tensor.flatten() for tensor in vector.values()]).double() for vector in vectors]
    models, tensors = reader.locator(".ws-differs table").all()
    cosine = torch.cosine_similarity(*flat, dim=0).item()
    assert models.locator("tbody tr").nth(1).locator("td").all_inner_texts()[1] == f"{cosine:.3}"
    row = tensors.locator("tbody tr", has_text="layer.bias").first.locator("td").all_inner_texts()
    share = (vectors[0]["layer.bias"].double().norm() / base["layer.bias"].double().norm()).item()
    assert row[0] == "40" and float(row[1]) == pytest.approx(share, rel=2e-3)
    against = ((flat[0] * flat[1]) < 0).double().mean().item()
    assert f"In {100 * against:.1f} % of all numbers" in reader.locator(".ws-differs p").inner_text()


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
        reader.get_by_role("button", name="Merge and download").click()
    merged = safetensors.torch.load_file(download.value.path())
    assert {key: tensor.tolist() for key, tensor in merged.items()} == {"__proto__": [1] * 3, "constructor": [0] * 2}


def test_what_is_no_checkpoint_is_refused_as_in_python(reader):
    for name, (content, says) in REFUSED.items():
        reader.get_by_label("Base model").set_input_files(
            {"name": "model.safetensors", "mimeType": "application/octet-stream", "buffer": content})
        reader.locator("[data-says].ws-wrong").wait_for()
        told = reader.locator("[data-says]").inner_text()
        assert "model.safetensors" in told and re.search(says, told), name
        assert reader.locator("[data-named-base]").inner_text() == ""
        reader.reload()


def test_models_that_do_not_belong_together_are_named(reader, files, tmp_path):
    state = safetensors.torch.load_file(files["one"])
    hostile = "<img src=x onerror=\"document.title='ran'\">"
    changes = {"has another name": (lambda: {**state, hostile: torch.ones(2)}, f"'{hostile}' is in .* and not in base"),
               "has another shape": (lambda: {**state, "layer.bias": torch.ones(3)}, "'layer.bias' is 40 in .* and 3"),
               "is not finite": (lambda: {**state, "layer.bias": torch.full((40,), torch.nan)}, "is not finite")}
    for name, (change, says) in changes.items():
        path = tmp_path / f"{name}.safetensors"
        safetensors.torch.save_file(change(), path)
        assert re.search(says, choose(reader, files["base"], path)), name
        assert not reader.get_by_role("button", name="Merge and download").is_visible()
    assert reader.title() != "ran"
    assert "at most 4 finetuned models" in choose(reader, files["base"], *[files["one"]] * 5)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_usable_by_all(reader, files, theme):
    reader.emulate_media(color_scheme=theme)
    choose(reader, files["base"], files["one"], files["two"])
    reader.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=theme)
    violations = Axe().run(reader, options={"preload": False}).response["violations"]
    assert [found["id"] for found in violations] == []
