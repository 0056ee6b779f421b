"""The whole CLIP path offline, from folders in Hugging Face's layout that the tests write: θ₀ with both towers, eight
finetuned towers, one sharded, one in bfloat16, one under old, one under new, one under open_clip's and one under timm's
names. Random weights; once small, once with the shapes of ViT-B/32."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from data import store
from lessons.checkpoints import clip, folders, heads, images, looking, naming, totals, towers, writing
from lessons.checkpoints.opening import CheckpointError
from lessons.checkpoints.towers import B32, Tower
from lessons.linearity.algorithms import own_distance
from lessons.merging import Needs, merge, methods
from lessons.vit.experiment import clip as measuring
from tests.test_vit_checkpoints import in_names_of
from tests.test_vit_clip import small_tokenizer
from tools.bench import checkpoints as bench

REPOSITORY = Path(__file__).parents[1]

TASKS = ("mnist", "fashion_mnist", "svhn", "kmnist", "cifar10", "cifar100", "second", "third")
LAYOUTS = ("old", "new", "sharded", "bfloat16", "open_clip", "timm", "old", "new")
SMALL = Tower(width=64, layers=2, heads=1, mlp=96, tokens=5, patch=16)
SPACE = 32


def random_tower(tower, seed, spread=0.05):
    generator = torch.Generator().manual_seed(seed)
    return {key: spread * torch.randn(shape, generator=generator) for key, shape in tower.shapes().items()}


def moved(state, seed):
    generator = torch.Generator().manual_seed(seed)
    return {key: tensor + 0.003 * torch.randn(tensor.shape, generator=generator) for key, tensor in state.items()}


def write(folder, state, layout):
    """A finetuned tower in one of the layouts."""
    folder.mkdir(parents=True)
    column, prefix = {"open_clip": (1, "visual."), "timm": (2, ""), "new": (0, "")}.get(layout, (0, "vision_model."))
    named = {key: tensor.contiguous() for key, tensor in in_names_of(state, column, prefix).items()}
    if layout == "bfloat16":
        named = {key: tensor.bfloat16() for key, tensor in named.items()}
    if layout != "sharded":
        save_file(named, folder / "model.safetensors")
        return
    keys = list(named)
    halves = {f"model-0000{n}-of-00002.safetensors": keys[n - 1::2] for n in (1, 2)}
    for name, ours in halves.items():
        save_file({key: named[key] for key in ours}, folder / name)
    index = {"weight_map": {key: name for name, ours in halves.items() for key in ours}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def write_base(folder, tower, text_width):
    """θ₀: both towers, projections and tokenizer; the vision tower."""
    folder.mkdir(parents=True)
    tokenizer = small_tokenizer(folder)
    words = Tower(text_width, tower.layers, max(1, text_width // 64), 2 * text_width, 77,
                  vocabulary=len(tokenizer.vocabulary))
    vision = random_tower(tower, 0)
    state = {f"vision_model.{key}": tensor for key, tensor in vision.items()}
    state |= {f"text_model.{key}": tensor for key, tensor in random_tower(words, 1).items()}
    state["vision_model.embeddings.position_ids"] = torch.arange(tower.tokens)[None]  # as older files have it
    generator = torch.Generator().manual_seed(2)
    state["visual_projection.weight"] = torch.randn(SPACE, tower.width, generator=generator)
    state["text_projection.weight"] = torch.randn(SPACE, text_width, generator=generator)
    save_file(state | {"logit_scale": torch.tensor(4.6)}, folder / "model.safetensors")
    return vision


def hub(folder, tower, text_width=64, tasks=TASKS, layouts=LAYOUTS, distinct=8):
    """All folders: (θ₀'s vision tower, {task: folder}). Tasks beyond so many distinct ones have the files of earlier
    ones."""
    vision = write_base(folder / "clip", tower, text_width)
    paths = {}
    for number, (task, layout) in enumerate(zip(tasks, layouts)):
        paths[task] = folder / f"clip_{task}"
        if number < distinct:
            write(paths[task], moved(vision, 10 + number), layout)
        else:
            shutil.copytree(paths[tasks[number % distinct]], paths[task], copy_function=os.link)
    return vision, paths


@pytest.fixture
def labelled(monkeypatch):
    """Two tasks more than the course knows, so that there are eight."""
    monkeypatch.setattr(heads, "LABELS", {**heads.LABELS, "second": heads.LABELS["mnist"],
                                          "third": heads.LABELS["kmnist"]})
    return {"cifar100": [f"class {number}" for number in range(5)]}


@pytest.fixture
def small(tmp_path, labelled):
    """(suite, θ₀'s vision tower, folder)."""
    vision, paths = hub(tmp_path, SMALL)
    return clip.opened(tmp_path / "clip", paths, labelled), vision, tmp_path


def pictures(count=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (count, 3, 32, 32), dtype=torch.uint8, generator=generator)


def test_eight_towers_in_six_layouts_are_one_suite(small):
    suite, vision, _ = small
    assert suite.tower == SMALL and list(suite.finetuned) == list(TASKS)
    assert suite.base.keys() == vision.keys()  # without position_ids
    assert all(torch.equal(suite.base[key], vision[key]) for key in vision)
    for seed, (task, layout) in enumerate(zip(TASKS, LAYOUTS), 10):
        expected = moved(vision, seed)
        tolerance = 0.02 if layout == "bfloat16" else 0.0
        for key, tensor in suite.finetuned[task].items():
            assert tensor.dtype == torch.float32
            torch.testing.assert_close(tensor, expected[key], rtol=tolerance, atol=tolerance)
    assert any("clip_kmnist holds BF16" in note for note in suite.notes)


def test_heads_are_made_once_and_again_for_another_text_tower(small, monkeypatch):
    suite, _, folder = small
    assert {task: len(head) for task, head in suite.heads.items()} == dict.fromkeys(TASKS, 10) | {"cifar100": 5}
    kept = sorted((store.root() / "checkpoints/heads").glob("*.safetensors"))
    assert len(kept) == len(TASKS) and all(path.stat().st_size < 20_000 for path in kept)
    torch.testing.assert_close(suite.heads["svhn"].norm(dim=1), torch.ones(10))
    checkpoint = folders.opened(folder / "clip")
    monkeypatch.setattr(heads, "head", lambda *_: pytest.fail("made again"))
    assert torch.equal(clip.kept_head(checkpoint, "mnist"), suite.heads["mnist"])
    monkeypatch.setattr(heads, "head", lambda *_: torch.zeros(10, SPACE))
    monkeypatch.setitem(heads.LABELS, "mnist", heads.LABELS["kmnist"])
    assert not clip.kept_head(checkpoint, "mnist").any()  # of other names another head is made


def test_a_damaged_head_is_noticed_and_made_again(small):
    suite, _, folder = small
    kept = next((store.root() / "checkpoints/heads").glob("mnist-*.safetensors"))
    for content in (kept.read_bytes()[:-4], next(kept.parent.glob("kmnist-*")).read_bytes()):
        kept.write_bytes(content)
        with pytest.warns(store.DataWarning, match="is damaged"):
            head = clip.kept_head(folders.opened(folder / "clip"), "mnist")
        assert torch.equal(head, suite.heads["mnist"])


def test_every_method_merges_the_suite_and_is_judged(small):
    suite, _, folder = small
    x = pictures()
    y = torch.arange(6) % 10
    tuned = list(suite.finetuned.values())
    batches = [[images.prepared(x[:2], suite.tower.image)]] * len(tuned)
    models = {"θ₀": suite.base, "mnist": suite.finetuned["mnist"]}
    from_weights = [name for name, method in methods().items() if method.needs == (Needs.WEIGHTS,)]
    for name in from_weights:
        models[name] = lambda name=name: merge(name, suite.base, tuned[:methods()[name].models])
    models["adamerging"] = lambda: merge("adamerging", suite.base, tuned, forward=clip.forward(suite), batches=batches,
                                         steps=2)
    found = clip.table(suite, models, {"mnist": (x, y), "cifar10": (x, y)})
    assert found.shape == (len(models), 2) and found.attrs["images"] == [6, 6] and ((found >= 0) & (found <= 1)).all()
    by_hand = heads.logits(towers.pooled(suite.base, images.prepared(x, 32), SMALL), suite.projection,
                           suite.heads["mnist"], suite.scale).argmax(1)
    assert found.sel(model="θ₀", task="mnist").item() == pytest.approx((by_hand == y).float().mean().item())


def test_cart_at_many_ranks_from_files_is_cart(small):
    suite, _, folder = small
    tuned = list(suite.finetuned.values())
    totals.write(folder / "totals", suite.base, tuned, (0.08, 0.32, 0.16), progress=False)
    assert sorted(path.name for path in (folder / "totals").iterdir()) == [
        "average.safetensors", "total_0.08.safetensors", "total_0.16.safetensors", "total_0.32.safetensors"]
    for ratio, scale in ((0.08, 1.0), (0.16, 2.5), (0.32, -0.5)):
        expected = merge("cart", suite.base, tuned, rank_ratio=ratio, scale=scale)
        found = totals.Cart(folder / "totals", ratio, scale)
        assert list(found) == list(expected)
        for key in expected:
            torch.testing.assert_close(found[key], expected[key], rtol=1e-4, atol=1e-5)


def test_linearity_along_the_line_is_ctls(small):
    suite, _, _ = small
    found = measuring.linearity(suite, "mnist", "svhn", pictures(), (0.0, 0.5, 1.0))
    assert list(found.layer.values) == ["block 0", "block 1", "pooled"]
    assert found.gap_mean.sel(alpha=0.0).values == pytest.approx([0] * 3, abs=1e-6)
    assert found.coef_mean.sel(alpha=1.0).values == pytest.approx([1] * 3, abs=1e-6)
    x = images.prepared(pictures(), 32)
    ends = [towers.pooled(suite.finetuned[task], x, SMALL) for task in ("mnist", "svhn")]
    assert found.own_mean.sel(layer="pooled").item() == pytest.approx(own_distance(*ends).mean().item(), rel=1e-4)


def test_a_suite_is_looked_at_and_merged_to_a_folder(small):
    suite, _, folder = small
    tuned = list(suite.finetuned.values())
    found = looking.look(suite.base, tuned, TASKS, progress=False)
    assert found.sizes["layer"] == len(SMALL.shapes()) and found.attrs["notes"] == []
    merged = writing.merge(folder / "merged", "task_arithmetic", suite.base, tuned, TASKS)
    assert naming.vision_tower(folders.opened(merged)).tower == SMALL
    text = (merged / "README.md").read_text()
    assert text.count("model-0000") == 2 and "| svhn | " in text  # both shards with their digests


@pytest.mark.parametrize("change, says", [
    (lambda folder: (folder / "clip_mnist/model.safetensors").unlink(), "clip_mnist holds no checkpoint"),
    (lambda folder: (folder / "clip/vocab.json").unlink(), "no tokenizer in .*clip"),
    (lambda folder: save_file(random_tower(Tower(128, 2, 1, 96, 5, 16), 0), folder / "clip_mnist/model.safetensors"),
     "clip_mnist is a tower of width 128, .*width 64, not 128")], ids=["missing", "tokenizer", "another tower"])
def test_what_is_wrong_with_a_suite_is_said(tmp_path, labelled, change, says):
    _, paths = hub(tmp_path, SMALL)
    change(tmp_path)
    with pytest.raises((CheckpointError, ValueError), match=says):
        clip.opened(tmp_path / "clip", paths, labelled)


@pytest.mark.slow  # writes 2.5 GB
def test_vit_b32_with_random_weights_goes_through_the_whole_path(tmp_path, labelled):
    vision, paths = hub(tmp_path, B32, text_width=512, distinct=6)
    suite = clip.opened(tmp_path / "clip", paths, labelled, "ViT-B/32")
    assert naming.parameters(suite.base) == 87_456_000
    tuned = list(suite.finetuned.values())
    folder = writing.merge(tmp_path / "merged", "task_arithmetic", suite.base, tuned, TASKS, scale=0.125)
    merged = naming.vision_tower(folders.opened(folder), "ViT-B/32")
    key = "encoder.layers.11.mlp.fc2.weight"
    torch.testing.assert_close(merged[key], torch.stack([one[key] for one in tuned]).mean(0), rtol=1e-4, atol=1e-6)
    x, y = pictures(2), torch.tensor([3, 7])
    found = clip.table(suite, {"θ₀": suite.base, "merged": merged}, {"mnist": (x, y), "cifar100": (x, y % 5)})
    assert found.shape == (2, 2) and found.notnull().all()
    line = measuring.linearity(suite, "mnist", "kmnist", x, (0.5,))
    assert line.sizes["layer"] == 13 and (line.gap_mean < 0.5 * line.own_mean).all()
    with pytest.raises(CheckpointError, match="is ViT-B/32: width 768, .*you asked for ViT-L/14"):
        clip.opened(tmp_path / "clip", paths, labelled, "ViT-L/14")


@pytest.mark.slow  # a process of its own, whose memory is measured
@pytest.mark.skipif(not bench.STATUS.exists(), reason="there is no /proc here: memory is not measured")
def test_merging_eight_deep_towers_holds_less_than_half_of_one(tmp_path):
    deep = Tower(width=192, layers=48, heads=3, mlp=768, tokens=5, patch=16)
    base = random_tower(deep, 0)
    for number, state in enumerate((base, moved(base, 1), moved(base, 2))):
        write(tmp_path / str(number), state, "old")
    for number in range(3, 1 + bench.TASKS):
        (tmp_path / str(number)).symlink_to(tmp_path / str(2 - number % 2))
    command = [sys.executable, "-m", "tools.bench.checkpoints", "task_arithmetic", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout
    assert 1e6 < json.loads(said.splitlines()[-1])[1] < 4 * deep.parameters() / 2
