"""What chapter 13 shows of checkpoints: panels about your own, and CLIP's six tasks where a folder holds them."""
import itertools
import re
import shutil
import time

import numpy as np
import pytest
import torch
import xarray

from data import store
from lessons.checkpoints import fetching, known, looking, vectors
from lessons.checkpoints.towers import Tower
from lessons.kit.view.widget import MOST_FRAMES
from lessons.vit.experiment import causes
from lessons.vit.experiment import clip as measuring
from lessons.vit.panels import causes as of_causes
from lessons.vit.panels import clip as clip_panels
from lessons.vit.panels import own
from tests.test_vit_folders import SMALL, TASKS, hub, random_tower

TOWER = Tower(width=64, layers=2, heads=1, mlp=96, tokens=5, patch=8)
LAYER = "encoder.layers.1.mlp.fc1.weight"
NAMES = ("mnist", "svhn", "kmnist")


def models():
    """A base and three models whose task vectors have few strong directions."""
    base = random_tower(TOWER, 0)
    generator = torch.Generator().manual_seed(1)
    tuned = []
    for _ in NAMES:
        state = {}
        for key, tensor in base.items():
            noise = 0.002 * torch.randn(tensor.shape, generator=generator)
            if tensor.ndim == 2:
                left, right = torch.randn(len(tensor), 2, generator=generator), torch.randn(2, tensor.shape[1])
                noise += 0.005 * left @ right
            state[key] = tensor + noise
        tuned.append(state)
    return base, tuned


@pytest.fixture
def looked():
    base, tuned = models()
    return looking.look(base, tuned, NAMES, progress=False)


@pytest.fixture
def layered():
    base, tuned = models()
    return looking.layer(base, tuned, LAYER, NAMES), base, tuned


def test_every_setting_of_the_views_is_drawn_with_words_and_quickly(looked, layered):
    for view in (own.by_layer(looked), own.one_layer(layered[0])):
        start = time.perf_counter()
        frames = every_frame(view)
        assert (time.perf_counter() - start) / len(frames) < 0.02
        assert all(frame["title"] and frame["alt"] and "nan" not in frame["alt"] for frame in frames)
        assert not any(re.search("[0-9]", frame["title"]) for frame in frames)


def every_frame(view):
    """The frames of all settings of a view."""
    places = itertools.product(*(range(len(control.values)) for control in view.controls.values()))
    return list(view.packed(list(places))["frames"].values())


def test_a_map_has_a_row_a_block_and_a_column_a_kind_of_matrix(looked):
    key = "encoder.layers.1.mlp.fc1.weight"
    share = float((looked.norm / looked.base_norm).mean("task").sel(layer=key))
    page = own.map_of_lengths(looked).data
    assert f"1.mlp.fc1 {share:.1%}" in page and "patch_embedding" not in page


def test_matrices_are_drawn_on_one_scale():
    page = own.products({"A": torch.ones(2, 2), "B": torch.full((2, 2), 2.0)}).data
    assert "Lengths of the whole matrices: A 2, B 4." in page


def test_layers_stand_in_natural_order(looked):
    names = looked.layer.values[own._in_order(looked)]
    assert [name.split(".")[2] for name in names if name.startswith("encoder")] == ["0"] * 6 + ["1"] * 6


def test_one_layers_merge_is_what_its_sliders_say(layered):
    found, base, tuned = layered
    view = own.one_layer(found).set(merge="the sum", density=0.2, ratio=0.08)
    taus = [state[LAYER] - base[LAYER] for state in tuned]
    ends = [vectors.truncations(vectors.trimmed(tau, 0.2), [0.08])[0] for tau in taus[:2]]
    merged = 2 * (0.5 * ends[0] + 0.5 * ends[1])
    share = ((merged * taus[0]).sum() / taus[0].square().sum()).item()
    assert f"mnist {share:.2f}" in view.alt and "λ = 2, α = 0.50" in view.alt
    length = (merged.norm() / base[LAYER].norm()).item()
    assert f"The change is {length:.3g} of the layer" in view.alt
    assert view.frame.values["change"] == pytest.approx(merged[:32, :32].abs().numpy(), abs=1e-6)
    whole = own.one_layer(found).set(merge="A alone", density=1.0, ratio=1.0)
    assert "mnist 1.00" in whole.alt and whole.frame.values["A"][-1] == pytest.approx(1)
    assert [text for _, text in whole.frame.key][:3] == [f"Layer: {LAYER}", "A: mnist", "B: svhn"]


def test_directions_take_the_numbers_of_two_thin_matrices_and_never_more_than_the_matrix():
    assert own.sizes_of([0.01, 0.02, 0.25, 1.0], (100, 300)) == pytest.approx([4 / 300, 8 / 300, 1 / 3, 1.0])
    assert own.sizes_of([0.01, 0.32, 1.0], (8, 8)) == pytest.approx([0.25, 0.75, 1.0])


@pytest.mark.parametrize("directions, entries, trimmed, title", [
    ({"A": [0.5, 0.7], "B": [0.6, 0.8]}, [0.2, 0.6, 1], False,
     "At equal size, strong directions keep more of A and B than large entries"),
    ({"B": [0.1, 0.2]}, [0.2, 0.6, 1], True, "With small entries dropped first, directions keep less of B than large "
     "entries"),
    ({"A": [0.39, 0.61]}, [0.4, 0.6, 1], False, "At equal size, strong directions keep about as much of A as large "
     "entries"),
    ({"A": [0.5, 0.55]}, [0.4, 0.6, 1], False, "Neither directions nor entries always keep more of A"),
    ({"A": [np.nan, np.nan]}, [np.nan] * 3, False, "A model did not move this layer, so nothing of it can be kept")])
def test_what_keeps_more_at_equal_size(directions, entries, trimmed, title):
    directions = {name: np.array([*values, 1.0]) for name, values in directions.items()}
    found = own.finding_of_keeping([0.1, 0.4, 1.0], directions, [0.1, 0.4, 1.0], {"A": entries, "B": entries}, trimmed)
    assert found == title


def test_with_everything_kept_alone_nothing_is_compared(looked):
    base, tuned = models()
    view = own.one_layer(looking.layer(base, tuned, LAYER, densities=(1.0,), ratios=(1.0,)))
    assert view.title == "Nothing of A and B is lost before directions or entries are dropped"


@pytest.mark.parametrize("against, held, tasks, title", [
    ([0.1, 0.1], [0.9, 0.9], 2, "Signs agree more than by chance, leading directions hold most of every matrix’s "
     "change"),
    ([0.29, 0.3], [0.9, 0.2], 2, "Signs agree hardly more than by chance, leading directions hold most of some "
     "matrices’ change"),
    ([0.3, 0.31], [0.1, 0.2], 2, "Signs agree no more than by chance, leading directions hold less than half of any "
     "matrix’s change"),
    ([0.4, 0.4], [0.1, np.nan], 2, "Signs agree less than by chance, leading directions hold less than half of any "
     "matrix’s change"),
    ([0.29, 0.3], [0.9] * 9 + [0.2], 2, "Signs agree hardly more than by chance, leading directions hold most of "
     "nearly every matrix’s change"),
    ([0.29, 0.3], [0.9] * 8 + [0.2] * 2, 2, "Signs agree hardly more than by chance, leading directions hold most of "
     "some matrices’ change"),
    ([0, 0], [0.9, 0.9], 1, "The leading directions hold most of every matrix’s change"),
    ([0, 0], [np.nan, np.nan], 2, "No model moved any matrix of its base")])
def test_what_task_vectors_are_called(against, held, tasks, title):
    found = own.finding_of_task_vectors(np.array(against), np.array([0.3, 0.3]), np.array(held), tasks)
    assert found == title


def test_a_view_of_many_matrices_thins_its_stops_so_that_a_page_can_hold_them(looked):
    many = looked.isel(layer=np.tile(np.flatnonzero(looked.matrix.values), 12))
    view = own.by_layer(many.assign_coords(layer=[f"h.{number}.weight" for number in range(many.sizes["layer"])]))
    assert np.prod([len(control.values) for control in view.controls.values()]) <= MOST_FRAMES
    assert len(view.frame.values["length"]) == many.sizes["layer"] > len(view.controls["matrix"].values)


def test_trimming_keeps_the_largest_and_truncating_is_the_svd():
    vector = torch.tensor([[3.0, -1.0], [0.5, -2.0]])
    assert vectors.trimmed(vector, 0.5).tolist() == [[3.0, 0.0], [0.0, -2.0]]
    matrix = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))
    left, sigma, right = torch.linalg.svd(matrix, full_matrices=False)
    found = vectors.truncations(matrix, [0.3, 1.0])
    torch.testing.assert_close(found[0], left[:, :2] * sigma[:2] @ right[:2], rtol=1e-4, atol=1e-5)
    assert torch.equal(found[1], matrix)


@pytest.mark.parametrize("options, says", [({"key": "nothing"}, "'nothing' is no matrix of these models"),
                                           ({"key": "pre_layrnorm.weight"}, "is no matrix of these models"),
                                           ({"key": LAYER, "pair": (1, 1)}, "two different numbers from 0 to 2")])
def test_a_layer_must_be_a_matrix_of_two_models(options, says):
    base, tuned = models()
    with pytest.raises(ValueError, match=says):
        looking.layer(base, tuned, **options)


def test_the_summary_says_lengths_angles_and_what_is_strange(looked):
    text = repr(own.summary(looked))
    assert all(name in text for name in NAMES) and "Mind" not in own.summary(looked).page
    base, tuned = models()
    strange = looking.look(base, [tuned[0], dict(base)], ["a", "b"], spectra=False, progress=False)
    assert "is the base itself" in own.summary(strange).page
    assert "cosines with each other lie between" in repr(own.reading_of_regime(looked))


# -- CLIP's six tasks ----------------------------------------------------------------------------------------------

def test_without_checkpoints_the_page_says_so_and_shows_published_figures():
    said = repr(measuring.announce())
    assert "No CLIP checkpoints here: 9 of 9 files are missing" in said and "python -m lessons.checkpoints" in said
    assert measuring.run() is None
    assert "Published, not measured here" in clip_panels.table_beside(None).page
    assert "Measured only where" in repr(clip_panels.reading_of_difference(None))


def test_a_matrix_that_nobody_moved_does_not_spoil_the_words(looked):
    still = looked.copy(deep=True)
    place = int(np.flatnonzero(looked.matrix.values)[0])
    still.norm[place], still.cosine[place], still.energy[place] = 0.0, np.nan, np.nan
    view = own.by_layer(still)
    frames = every_frame(view)
    assert not any("nan" in frame["alt"] for frame in frames) and "‖τ‖/‖θ₀‖ from 0 to" in view.alt
    assert any("hold unknown of the squared length" in frame["alt"] for frame in frames)


def test_a_base_that_is_zero_somewhere_has_no_length_there(looked):
    zero = looked.copy(deep=True)
    zero.base_norm[int(np.flatnonzero(looked.matrix.values)[0])] = 0.0
    assert np.isnan(own.by_layer(zero).frame.values["length"]).sum() == 1


def test_captions_say_whose_checkpoints_these_are(looked):
    assert own.by_layer(looked).caption.startswith("Your own checkpoints")
    ours = looked.assign_attrs(trained_on="Not MNIST! A stand-in")
    assert own.by_layer(ours).caption.startswith("The course's networks as files, trained on Not MNIST!")


def test_clips_published_table_stands_beside_the_small_vits_with_how_far_each_comes():
    reported = list(clip_panels.ROWS)
    shares = xarray.DataArray([[[0.4, 0.4], [0.8, 0.8], *[[0.5, 0.5]] * 4, [0.6, 0.6]]],
                              dims=("width", "reported", "task"), coords={"width": [64], "reported": reported})
    attributes = {"source": "MNIST", "source_kind": "official", "dataset": "MNIST", "network": "TinyViT",
                  "profile": "quick", "seed": 0, "images": "2 images"}
    page = clip_panels.beside_small(xarray.Dataset({"test": shares}, attrs=attributes))
    assert "CART: CLIP 84.7, of the way 86%, TinyViT, width 64 60.0, of the way 50%" in repr(page)
    assert "published, not measured here" in page.page


def causes_found():
    """Gaps of a ViT that grow like the square of the own distance, and of MLPs that grow slower."""
    length = np.array(causes.LENGTHS)
    of_vit = [kind.startswith("ViT") for kind in causes.KINDS]
    own = {kind: 0.3 * (length * (1.0 if kind == causes.VIT else 0.5)) ** 2 for kind in causes.KINDS}
    gap = {kind: 0.2 * values ** (2 if vit else 1.5) for (kind, values), vit in zip(own.items(), of_vit)}
    attributes = {"source": "MNIST", "source_kind": "official", "dataset": "MNIST", "network": "both",
                  "profile": "full", "seed": 0, "images": "2 images"}
    return xarray.Dataset({"gap": (("kind", "length"), np.array(list(gap.values()))),
                           "own": (("kind", "length"), np.array(list(own.values()))),
                           "relative": ("kind", [0.05 if vit else 0.1 for vit in of_vit])},
                          {"kind": list(causes.KINDS), "length": length}, attributes)


def test_a_vit_and_mlps_are_compared_at_equal_distance_and_at_equal_length():
    found = causes_found()
    text = repr(of_causes.reading_of_the_causes(found))
    vit, mlp = 0.2 * 0.2, 0.2 * 0.2 ** 0.5
    assert f"is {vit:.1%} of that distance in the ViT, {vit:.1%} in the ViT with fixed" in " ".join(text.split())
    assert f"and {mlp:.1%} in the MLP with ReLUs" in " ".join(text.split())
    twice, once = 0.2 * 0.3 * 2 ** 2, 0.2 * (0.3 * 0.5 ** 2) ** 0.5  # the ViT's task vectors, twice as long
    assert f"it is {twice:.1%} in the ViT and {once:.1%} in the MLP." in " ".join(text.split())
    picture = of_causes.at_equal(found).data
    assert "own 0.300 share 0.060" in picture and "MLP (ReLU): own" in picture
    assert "Measured in profile “full” alone" in repr(of_causes.at_equal(None))
    assert f"Weights have moved equally far: ViT {twice:.1%}" in of_causes.equally_far(found).data
    assert f"it is {twice:.1%} and {once:.1%}." in repr(of_causes.reading_of_equally_far(found))


def test_parts_that_an_average_spoils_are_compared_with_their_errors():
    shape = (1, 3, 2)
    values = {"spoiled": np.full(shape, 0.7), "alone": np.full(shape, 0.5), "rescued": np.full(shape, 0.6)}
    values["spoiled"][:, 1] = 0.5
    attributes = {"source": "MNIST", "source_kind": "official", "dataset": "MNIST", "network": "TinyViT",
                  "profile": "full", "seed": 0, "images": "2 images", "test_images": 4000}
    found = xarray.Dataset({name: (("width", "place", "task"), value) for name, value in values.items()}
                           | {name: (("width", "task"), np.full((1, 2), value))
                              for name, value in (("base", 0.4), ("average", 0.45), ("single", 0.75))}
                           | {"squares": (("width", "place"), [[0.5, 0.3, 0.2]])},
                           {"place": ["attention", "block 1", "block 2"]}, attributes)
    others = [found.sel(place=["attention"]).assign_coords(place=[place]) for place in ("MLP", "all else")]
    found = xarray.concat([found, *others], "place", data_vars="minimal")
    assert "block 1: of ‖τ‖² 30%, spoilt 0.500, mended 0.600, alone 0.500" in repr(of_causes.parts_table(found))
    text = repr(of_causes.reading_of_the_parts(found))
    assert "Averaging block 1 alone costs 25.0 points, block 2 5.0: 20.0 ± 1.1 apart." in text
    assert "The 2 blocks, each averaged alone, cost 30.0 together, and all else 5.0; the whole network at once" in text


@pytest.fixture
def six_folders(tmp_path, quiet_store, monkeypatch):
    """The six towers, small and random, where the course looks for them; nothing is pinned."""
    unpinned = {task: known.Remote(one.name, one.repository, "main") for task, one in known.FINETUNED.items()}
    monkeypatch.setattr(known, "FINETUNED", unpinned)
    monkeypatch.setattr(known, "SETS", {"b32": (known.BASE, *known.TOKENS, *(unpinned[task] for task in known.SIX))})
    layouts = ("old", "new", "bfloat16", "open_clip", "timm", "old")
    _, paths = hub(tmp_path / "hub", SMALL, tasks=TASKS[:6], layouts=layouts)
    for task, remote in [(None, known.BASE), *((task, unpinned[task]) for task in known.SIX)]:
        fetching.folder(remote).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(paths[task] if task else tmp_path / "hub/clip", fetching.folder(remote))
    return unpinned


@pytest.mark.slow  # draws six stand-ins
def test_the_six_tasks_are_measured_once_and_shown_beside_what_is_published(six_folders, monkeypatch, capsys):
    assert "9 of 9 files are not pinned" in repr(measuring.announce())
    found = measuring.run(4, "cpu", None, ratios=(0.08, 0.32), lambdas=(1.0, 2.0))
    assert "Measuring CLIP on 6 × 4 images, on cpu: about " in capsys.readouterr().out
    assert found.accuracy.shape == (11, 6) and found.bell.shape == (2, 2, 6) and found.sizes["pair"] == 3
    assert found.notnull().all().to_array().all() and ((found.accuracy >= 0) & (found.accuracy <= 1)).all()
    assert found.attrs["source_kind"] == "stand-in" and "4 test images" in found.attrs["images"]
    assert not [path for path in (store.root() / "checkpoints").iterdir() if path.name.startswith(".totals")]
    page = clip_panels.table_beside(found).page
    assert "<i>(99.6)</i>" in page and "not measured here" in page
    assert "points from the published figures" in repr(clip_panels.reading_of_difference(found))
    assert "λ = 2. By rank 0.08: " in clip_panels.bell(found).set(rank=0.32, lam=2.0).alt
    assert "mnist, cifar10, α = 0.75: " in clip_panels.line(found).set(pair="mnist, cifar10", alpha=0.75).alt
    monkeypatch.setattr(measuring, "_measure", lambda *_: pytest.fail("measured again"))
    assert measuring.run(4, "cpu", None, ratios=(0.08, 0.32), lambdas=(1.0, 2.0)).identical(found)


@pytest.mark.slow  # uses the six stand-ins
def test_adamerging_adapts_to_images_without_labels(six_folders):
    ours, tests = measuring.suite(None), measuring.images(3)
    found = measuring.adapted(ours, tests, "cpu", steps=2, lr=0.1)
    start = measuring.adapted(ours, tests, "cpu", steps=0)
    assert found.keys() == start.keys() == ours.base.keys()
    assert any(not torch.equal(found[key], start[key]) for key in found)


def test_an_estimate_comes_before_anything_starts():
    assert measuring.READING < measuring.seconds(50, 0.0002) < measuring.seconds(50, 0.02) < 3600
