"""Chapter 8's measurements and pictures, on the stand-in and in small."""
import math

import numpy as np
import pytest
import safetensors.torch
import torch

from lessons.kit import claims
from lessons.cart import experiment
from lessons.cart.experiment import bell, grid, plane, readings, resnet, storage, tasks, theorem
from lessons.cart.panels import bell as panels, costs, interference as interference_panels, plane as plane_panels, resnet as resnet_panels
from lessons.merging import cart, cart_indexing, merge, task_arithmetic
from lessons import suites
from lessons.kit.panel import MOST_FRAMES, settings_of
from toy_models import MLP, weights

SMALL = bell.Settings(size=400, test_images=40, shares=(0.0, 0.5, 1.0), num_tasks=3, widths=(20, 40), several=False, rotated_size=400, ranks=(0.0, 0.01, 0.03, 0.08, 0.32, 1.0))


@pytest.fixture(scope="module")
def small(standin_folder_session):
    """Less training and fewer images, while this file's tests run; what is trained is kept with the other tests' models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        for profile in bell.PROFILES:
            patch.setitem(bell.PROFILES, profile, SMALL)
        patch.setitem(plane.PROFILES, "quick", plane.Settings(4, 20))
        patch.setitem(tasks.PROFILES, "quick", tasks.Settings(3, (2, 3), 2, tuple(tasks.METHODS), 30))
        patch.setitem(theorem.TRIALS, "quick", 5)
        yield


@pytest.fixture(autouse=True)
def folder(small, standin_folder_session, quiet_store, monkeypatch):
    """The session's folder also inside a test."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))


@pytest.fixture(scope="module")
def sweep(small):
    return bell.run("quick", 0)


@pytest.fixture(scope="module")
def loaded(small):
    return bell.permuted("quick", 0).load(images=40)


# -- what the sweeps hold ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [bell.name_of(1.0), bell.ROTATED])
def test_the_grid_holds_the_accuracies_of_the_merged_networks(name, sweep):
    suite = bell.suites_of("quick", 0)[name].load(images=40)
    part = readings.one(sweep, setting=name)
    for rank, lam in ((0.03, 2.0), (0.32, 1.0), (1.0, 0.3)):
        centred = suite.accuracy(cart(suite.base, suite.finetuned, scale=lam, rank_ratio=rank))
        assert part.accuracy.sel(how=grid.HOWS[0], part="test", rank=rank, lam=lam).values == pytest.approx(centred, abs=0.026), "one image of 40 may lie on the border"
    plain = suite.accuracy(task_arithmetic(suite.base, suite.finetuned, scale=0.3))
    assert part.accuracy.sel(how=grid.HOWS[1], part="test", rank=1.0, lam=0.3).values == pytest.approx(plain, abs=0.026)
    assert part.own.sel(part="test").values == pytest.approx(suite.own())


def test_at_both_ends_of_the_rank_axis_stands_the_average(sweep):
    ends = sweep.accuracy.sel(how=grid.HOWS[0], rank=[0.0, 1.0]) - sweep.average
    assert abs(ends).max() <= 0.026
    start = sweep.accuracy.sel(how=grid.HOWS[1], rank=0.0) - sweep.base
    assert abs(start).max() == 0


def test_what_layer_1_misses_and_gains_is_that_of_the_merged_network(loaded, sweep):
    part = readings.one(sweep, setting=bell.name_of(1.0))
    merged = cart(loaded.base, loaded.finetuned, scale=2.0, rank_ratio=0.08)
    found = np.zeros(3)
    for (x, _), state in zip(loaded.held_out, loaded.finetuned):
        here, own, base = (x.flatten(1) @ one["layers.0.weight"].T + one["layers.0.bias"] for one in (merged, state, loaded.base))
        found += [((here - own) ** 2).sum().item(), ((here - base) * (own - base)).sum().item(), ((own - base) ** 2).sum().item()]
    at = part.sel(how=grid.HOWS[0], rank=0.08, lam=2.0)
    assert at.missed.item() == pytest.approx(found[0] / found[2], rel=1e-3)
    assert at.gain.item() == pytest.approx(found[1] / found[2], rel=1e-3)


def test_hyper_parameters_are_chosen_on_held_out_images(sweep):
    part = readings.one(sweep, setting=bell.name_of(1.0))
    best = readings.chosen(part, grid.HOWS[0])
    held_out = part.accuracy.sel(how=grid.HOWS[0], part="held-out").mean("task")
    assert held_out.sel(rank=best.attrs["rank"], lam=best.attrs["lam"]) == held_out.max()
    assert readings.chosen(part, grid.HOWS[1], full_rank=True).attrs["rank"] == 1.0
    spoiled = part.assign(accuracy=part.accuracy.where(part.part == "held-out", 0.0))
    assert readings.chosen(spoiled, grid.HOWS[0]).attrs == best.attrs


def test_one_suite_has_its_own_tasks_and_layers(sweep):
    assert readings.one(sweep, setting=bell.name_of(1.0)).sizes["task"] == 3 and readings.one(sweep, setting=bell.ROTATED).sizes["task"] == 8
    assert list(readings.one(sweep, setting=bell.name_of(1.0)).layer.values) == ["layer 1", "output"]
    with pytest.raises(ValueError, match="unknown setting"):
        readings.one(sweep, setting="another")


def test_an_unknown_profile_is_refused():
    with pytest.raises(ValueError, match="unknown profile"):
        bell.run("slow")


def test_the_plane_shows_the_loss_of_its_points_and_the_path_its_own(loaded):
    found = plane.run("quick", 0)
    suite = bell.permuted("quick", 0).load(images=20)
    merged = cart(suite.base, suite.finetuned, scale=2.0, rank_ratio=0.08)
    for task, (x, y) in enumerate(suite.test):
        assert found.path_loss.sel(rank=0.08, lam=2.0, task=task).item() == pytest.approx(torch.nn.functional.cross_entropy(MLP.from_state(merged)(x), y).item(), rel=1e-3)
    flat = plane.Plane(suite.finetuned)
    part = found.sel(plane=plane.PLANES[0])
    state = flat.at(torch.tensor([part.x.values[1], part.y.values[2]]))
    losses = [torch.nn.functional.cross_entropy(MLP.from_state(state)(x), y).item() for x, y in suite.test]
    assert part.loss.isel(row=2, column=1).values == pytest.approx(losses, rel=1e-3)
    assert found.away.sel(rank=[0.0, 1.0]).max() < 1e-3 < found.away.sel(rank=0.08)
    assert found.tuned_away.values == pytest.approx([weights.norm(weights.subtract(one, weights.average(suite.finetuned))) for one in suite.finetuned], rel=1e-4)


def test_bytes_are_those_of_files_and_the_models_come_back(loaded, tmp_path):
    found = storage.measured(loaded)
    kept = cart_indexing(loaded.base, loaded.finetuned, rank_ratio=0.08)
    safetensors.torch.save_file({key: tensor.contiguous() for key, tensor in kept.extras[0].items()}, tmp_path / "one.safetensors")
    assert found.task_bytes.sel(rank=0.08) == pytest.approx((tmp_path / "one.safetensors").stat().st_size, rel=1e-3)
    assert found.accuracy.sel(rank=0.08).values == pytest.approx(loaded.accuracy(kept))
    assert found.task_bytes.sel(rank=0.08) > found.peer_task_bytes.max() > found.task_bytes.sel(rank=0.01)


def test_candidates_of_cart_are_merged_as_the_method_merges_them(loaded):
    candidates = tasks.METHODS["CART"]
    found, number = tasks.best(loaded, candidates)
    merged = [merge(name, loaded.base, loaded.finetuned, **parameters) for name, parameters in candidates]
    scores = [loaded.accuracy(one, "held-out").mean() for one in merged]
    assert scores[number] == pytest.approx(max(scores), abs=0.01)
    assert found == pytest.approx(loaded.normalised(merged[number]).mean(), abs=0.02)


def test_subsets_differ_are_as_many_as_there_are_and_the_same_each_time():
    assert tasks.subsets_of(4, 4, 6, 0) == [(0, 1, 2, 3)]
    some = tasks.subsets_of(20, 8, 5, 0)
    assert len(set(some)) == 5 and all(len(set(one)) == 8 for one in some) and some == tasks.subsets_of(20, 8, 5, 0) != tasks.subsets_of(20, 8, 5, 1)
    found = tasks.run("quick", 0)
    assert found.normalised.notnull().sum("subset").isel(merged_by=0).values.tolist() == [2, 1]
    assert found.possible.values.tolist() == [3, 1]


def test_the_sample_size_takes_the_lowest_starts_and_the_best_networks():
    own, base = np.array([0.8, 0.9, 1.0]), np.array([0.1, 0.5, 0.3])
    assert tasks.needed(own, base, 2, 0.05) == math.ceil((1.96 * (1 - 0.2 / 0.95) / 2 / 0.05) ** 2)


# -- claims and pictures -------------------------------------------------------------------------------------------------------

def test_the_ledgers_conditions_name_numbers_that_are_measured(monkeypatch):
    numbers = experiment.of_mlps("quick", 0)
    known = {id: claim for id, claim in claims.ledger().items() if claim.measured_by == experiment.__name__}
    assert known.keys() == numbers.keys() == experiment.QUICK.keys()
    only_full = {("CART-2", "height_two_data_sets"), ("CART-4", "best_directions_at_width_400"), ("CART-4", "best_directions_at_width_800")}
    for id, claim in known.items():
        names = {condition.number for condition in claim.conditions if not condition.number.startswith(experiment.RESNET)}
        assert names and {name for name in names - numbers[id].keys() if (id, name) not in only_full} == set()
        assert set(experiment.QUICK[id]) <= numbers[id].keys()
    assert all(math.isfinite(value) for found in numbers.values() for value in found.values())
    quick = experiment.claims(experiment.run("quick", 0))
    assert quick == {id: {name: numbers[id][name] for name in numbers[id] if name in names} for id, names in experiment.QUICK.items()}


def draws():
    """{name: a function that makes a panel}."""
    return {"rank_and_lam": lambda: panels.rank_and_lam(bell.run("quick", 0)), "overlap": lambda: panels.overlap(bell.run("quick", 0)), "width": lambda: panels.width(bell.run_widths("quick", 0)),
            "interference": lambda: interference_panels.per_layer(bell.run("quick", 0)), "plane": lambda: plane_panels.plane(plane.run("quick", 0)),
            "storage": lambda: costs.storage(storage.run("quick", 0)), "resnet": lambda: resnet_panels.split(as_of_resnets(bell.run("quick", 0)))}


def as_of_resnets(sweep):
    """One setting of the MLPs' sweep in the shape of `resnet.run`'s."""
    return sweep.sel(setting=[bell.ROTATED]).assign_coords(setting=[resnet.SETTING]).assign_attrs(resnet.attributes(suites.split(resnet.NUM_TASKS), 0))


@pytest.mark.parametrize("name", draws())
def test_a_panel_says_what_it_shows_and_fits_on_a_page(name):
    panel = draws()[name]()
    grids = {control: settings_of(widget) for control, widget in panel.controls.items()}
    assert math.prod(map(len, grids.values())) <= MOST_FRAMES
    for control, values in grids.items():
        before, seen = panel.values[control], set()
        for value in (values[0], values[-1]):
            panel.set(**{control: value})
            seen.add(panel.picture.frame["marks"])
        panel.set(**{control: before})
        assert len(seen) == 2 and not panel.picture.error
    assert "nan" not in panel.alt and len(panel.alt) > 40


def test_the_full_panel_of_the_chapter_fits_on_a_page_too():
    assert len(grid.RANKS) * len(grid.LAMS) * len(grid.HOWS) * len(panels.SHOWN) <= MOST_FRAMES


@pytest.mark.parametrize("draw", [panels.overview, panels.predicted, panels.reading_of_figure_1, panels.reading_of_the_overlap, interference_panels.reading_of_figure_2,
                                  interference_panels.reading_of_figure_3])
def test_figures_and_readings_of_the_bell_are_made_of_the_sweep(draw, sweep):
    assert draw(sweep)._repr_html_()


def test_the_other_figures_and_readings():
    both, added, kept = theorem.run("quick", 0), tasks.run("quick", 0), storage.run("quick", 0)
    for shown in (interference_panels.theorem(both), interference_panels.reading_of_the_theorem(both), costs.number_of_tasks(added), costs.reading_of_figure_7(added), costs.reading_of_storage(kept),
                  costs.bits_by_width(), panels.reading_of_the_widths(bell.run_widths("quick", 0)), plane_panels.reading(plane.run("quick", 0))):
        assert shown._repr_html_()
    assert f"σ is {added.normalised.std('subset').max().item():.3f} at most" in costs.reading_of_figure_7(added).text
    assert both.ratio.max() < 1 and both.literal.sel(side="bound").max() == 0


def test_without_resnets_a_sentence_says_how_to_get_them():
    assert resnet.run("quick") is None and resnet.run_tasks("quick") is None and resnet.run_storage("quick") is None
    assert "full" in resnet_panels.split(None).text
    assert not resnet_panels.reading(None).text and not resnet_panels.number_of_tasks(None).text and not resnet_panels.storage(None).text
