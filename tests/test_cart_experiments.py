"""Chapter 8's measurements and pictures, on the stand-in and in small."""
import math

import numpy as np
import pytest
import safetensors.torch
import torch
import xarray

from lessons import suites
from lessons.cart import algorithms, experiment, panels
from lessons.cart.algorithms.spectra import Spectra, kept_rank, shifted, truncated
from lessons.cart.experiment import (
    bell,
    grid,
    numbers,
    peak,
    pixels,
    plane,
    readings,
    resnet,
    several,
    storage,
    tasks,
    theorem,
)
from lessons.kit import archive, claims
from lessons.kit.predict import predict
from lessons.kit.view.widget import MOST_FRAMES
from lessons.merging import cart, cart_indexing, merge, task_arithmetic
from toy_models import MLP, weights

SMALL = bell.Settings(size=400, test_images=40, shares=(0.0, 0.5, 1.0), num_tasks=3, widths=(20, 40), several=False,
                      rotated_size=400, directions=(0, 4, 12, 32, 128))
SMALL_PEAK = peak.Settings({name: peak.Case(case.digits, case.outputs, 3, size=200) for name, case in peak.CASES.items()
                            if name in (peak.USUAL, peak.FEW_DIGITS)}, images=20, directions=(0, 1, 4, 12, 32))
SMALL_PIXELS = pixels.Settings({name: (peak.Case(num_tasks=3, size=200), scaling)
                                for name, (_, scaling) in pixels.CASES.items()},
                               images=20, directions=(0, 1, 4, 12, 32))
SMALL_SEVERAL = several.Settings(size=200, images=20, directions=(0, 4, 12))
SMALL_TASKS = tasks.Settings(num_tasks=3, counts=(2, 3), subsets=2, methods=tuple(tasks.GRIDS), images=30, size=400)
ONE_IMAGE = 0.026  # of 40 may lie on the border


@pytest.fixture(scope="module")
def small(standin_folder_session):
    """Less training and fewer images, while this file's tests run; what is trained is kept with the other tests'
    models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        for profile in bell.PROFILES:
            patch.setitem(bell.PROFILES, profile, SMALL)
        patch.setitem(plane.PROFILES, "quick", plane.Settings(SMALL, points=4, images=20))
        patch.setitem(tasks.PROFILES, "quick", SMALL_TASKS)
        patch.setitem(theorem.PROFILES, "quick", theorem.Settings(SMALL, trials=5))
        patch.setitem(peak.PROFILES, "quick", SMALL_PEAK)
        patch.setitem(several.PROFILES, "quick", SMALL_SEVERAL)
        patch.setitem(pixels.PROFILES, "quick", SMALL_PIXELS)
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
    return bell.permuted(SMALL, 0).load(images=40)


def loss_of(state, x, y):
    return torch.nn.functional.cross_entropy(MLP.from_state(state)(x), y).item()


# -- what the sweeps hold --------------------------------------------------------------------------

@pytest.mark.parametrize("name", [bell.name_of(1.0), bell.ROTATED])
def test_the_grid_holds_the_accuracies_of_the_merged_networks(name, sweep):
    suite = bell.suites_of(SMALL, 0)[name].load(images=40)
    part = readings.one(sweep, setting=name)
    test = part.accuracy.sel(part="test")
    for rank, lam in ((0.03, 2.0), (0.32, 1.0), (1.0, 0.3)):
        centred = suite.accuracy(cart(suite.base, suite.finetuned, scale=lam, rank_ratio=rank))
        here = test.sel(how=grid.HOWS[0], rank=rank, lam=lam).values
        assert here == pytest.approx(centred, abs=ONE_IMAGE)
    plain = suite.accuracy(task_arithmetic(suite.base, suite.finetuned, scale=0.3))
    here = test.sel(how=grid.HOWS[1], rank=1.0, lam=0.3).values
    assert here == pytest.approx(plain, abs=ONE_IMAGE)
    assert part.own.sel(part="test").values == pytest.approx(suite.own())


def test_at_both_ends_of_the_rank_axis_stands_the_average(sweep):
    ends = sweep.accuracy.sel(how=grid.HOWS[0], rank=[0.0, 1.0]) - sweep.average
    assert abs(ends).max() <= ONE_IMAGE
    start = sweep.accuracy.sel(how=grid.HOWS[1], rank=0.0) - sweep.base
    assert abs(start).max() == 0


def test_what_layer_1_misses_and_gains_is_that_of_the_merged_network(loaded, sweep):
    part = readings.one(sweep, setting=bell.name_of(1.0))
    merged = cart(loaded.base, loaded.finetuned, scale=2.0, rank_ratio=0.08)
    missed = gain = whole = 0.0
    for (x, _), state in zip(loaded.held_out, loaded.finetuned):
        flat = x.flatten(1)
        here, own, base = (flat @ one["layers.0.weight"].T + one["layers.0.bias"]
                           for one in (merged, state, loaded.base))
        missed += ((here - own) ** 2).sum().item()
        gain += ((here - base) * (own - base)).sum().item()
        whole += ((own - base) ** 2).sum().item()
    at = part.sel(how=grid.HOWS[0], rank=0.08, lam=2.0)
    assert at.missed.item() == pytest.approx(missed / whole, rel=1e-3)
    assert at.gain.item() == pytest.approx(gain / whole, rel=1e-3)


def test_hyper_parameters_are_chosen_on_held_out_images(sweep):
    part = readings.one(sweep, setting=bell.name_of(1.0))
    best = readings.chosen(part, grid.HOWS[0])
    held_out = part.accuracy.sel(how=grid.HOWS[0], part="held-out").mean("task")
    assert held_out.sel(rank=best.attrs["rank"], lam=best.attrs["lam"]) == held_out.max()
    assert readings.chosen(part, grid.HOWS[1], full_rank=True).attrs["rank"] == 1.0
    spoiled = part.assign(accuracy=part.accuracy.where(part.part == "held-out", 0.0))
    assert readings.chosen(spoiled, grid.HOWS[0]).attrs == best.attrs


def test_one_suite_has_its_own_tasks_and_layers(sweep):
    disjoint = readings.one(sweep, setting=bell.name_of(1.0))
    assert disjoint.sizes["task"] == 3
    assert readings.one(sweep, setting=bell.ROTATED).sizes["task"] == 8
    assert list(disjoint.layer.values) == ["layer 1", "output"]
    with pytest.raises(ValueError, match="unknown setting"):
        readings.one(sweep, setting="another")


@pytest.mark.parametrize("run", [bell.run, bell.run_widths, peak.run, pixels.run, several.run, theorem.run,
                                 plane.run, tasks.run, storage.run, resnet.run, resnet.run_tasks, resnet.run_storage,
                                 experiment.claims, experiment.announce])
def test_an_unknown_profile_is_refused(run):
    with pytest.raises(ValueError, match="unknown profile 'slow'"):
        run("slow")


def test_captions_say_how_many_images_each_measurement_had():
    images = {run: run("quick", 0).attrs["images"] for run in (bell.run, theorem.run, plane.run, tasks.run)}
    assert images == {bell.run: "400 training and 40 test images a task",
                      theorem.run: "400 training and 40 test images a task",
                      plane.run: "20 test images a task",
                      tasks.run: "400 training and 30 test images a task"}


def test_the_plane_shows_the_loss_of_its_points_and_the_path_its_own():
    found = plane.run("quick", 0)
    suite = bell.permuted(SMALL, 0).load(images=20)
    merged = cart(suite.base, suite.finetuned, scale=2.0, rank_ratio=0.08)
    expected = [loss_of(merged, x, y) for x, y in suite.test]
    assert found.path_loss.sel(rank=0.08, lam=2.0).values == pytest.approx(expected, rel=1e-3)
    flat = plane.Plane(suite.finetuned)
    part = found.sel(plane=plane.PLANES[0])
    state = flat.at(torch.tensor([part.x.values[1], part.y.values[2]]))
    expected = [loss_of(state, x, y) for x, y in suite.test]
    assert part.loss.isel(row=2, column=1).values == pytest.approx(expected, rel=1e-3)
    assert found.away.sel(rank=[0.0, 1.0]).max() < 1e-3 < found.away.sel(rank=0.08)
    average = weights.average(suite.finetuned)
    distances = [weights.norm(weights.subtract(one, average)) for one in suite.finetuned]
    assert found.tuned_away.values == pytest.approx(distances, rel=1e-4)


def test_bytes_are_those_of_files_and_the_models_come_back(loaded, tmp_path):
    found = storage.measured(loaded)
    kept = cart_indexing(loaded.base, loaded.finetuned, rank_ratio=0.08)
    contiguous = {key: tensor.contiguous() for key, tensor in kept.extras[0].items()}
    safetensors.torch.save_file(contiguous, tmp_path / "one.safetensors")
    low = found.sel(rank=0.08)
    assert low.task_bytes == pytest.approx((tmp_path / "one.safetensors").stat().st_size, rel=1e-3)
    assert low.accuracy.values == pytest.approx(loaded.accuracy(kept))
    assert low.task_bytes > found.peer_task_bytes.max() > found.task_bytes.sel(rank=0.01)


def test_candidates_of_cart_are_merged_as_the_method_merges_them(loaded):
    grid = tasks.GRIDS["CART, tuned"]
    (found,), (number,) = tasks.tuned(loaded, {"": grid})
    merged = [merge("cart", loaded.base, loaded.finetuned, scale=scale, rank_ratio=rank)
              for scale in grid.scales for rank in grid.values]
    scores = [loaded.accuracy(one, "held-out").mean() for one in merged]
    assert scores[number] == pytest.approx(max(scores), abs=0.01)
    assert found == pytest.approx(loaded.normalised(merged[number]).mean(), abs=0.02)


def test_subsets_differ_are_as_many_as_there_are_and_the_same_each_time():
    assert suites.subsets_of(4, 4, 6, 0) == [(0, 1, 2, 3)]
    some = suites.subsets_of(20, 8, 5, 0)
    assert len(set(some)) == 5
    assert all(len(set(one)) == 8 for one in some)
    assert some == suites.subsets_of(20, 8, 5, 0) != suites.subsets_of(20, 8, 5, 1)
    found = tasks.run("quick", 0)
    assert found.normalised.notnull().sum("subset").isel(merged_by=0).values.tolist() == [2, 1]
    assert found.possible.values.tolist() == [3, 1]


def test_the_sample_size_takes_the_lowest_starts_and_the_best_networks():
    own = np.array([0.8, 0.9, 1.0])
    base = np.array([0.1, 0.5, 0.3])
    assert tasks.needed(own, base, 2, 0.05) == math.ceil((1.96 * (1 - 0.2 / 0.95) / 2 / 0.05) ** 2)


# -- claims ----------------------------------------------------------------------------------------

ONLY_FULL = {("CART-4", "best_directions_at_width_400"), ("CART-4", "best_directions_at_width_800")}


def test_the_ledgers_conditions_name_numbers_that_are_measured():
    found = numbers.of_mlps("quick", 0)
    found["CART-2"] |= several.claims(several.run("quick", 0))["CART-2"]
    known = {id: claim for id, claim in claims.ledger().items() if claim.measured_by == experiment.__name__}
    assert known.keys() == found.keys()
    for id, claim in known.items():
        names = {one.number for one in claim.conditions if not one.number.startswith((numbers.RESNET, "ViT "))}
        missing = {(id, name) for name in names - found[id].keys()}
        assert names and missing <= ONLY_FULL
    assert all(math.isfinite(value) for of_claim in found.values() for value in of_claim.values())


def test_the_notebook_in_quick_shows_the_numbers_that_few_images_are_enough_for():
    shown = experiment.claims("quick", 0)
    assert {id: tuple(of_claim) for id, of_claim in shown.items()} == numbers.QUICK
    both = theorem.run("quick", 0)
    assert shown["CART-7"] == {"largest_share_of_the_bound": both.ratio.max().item(), "square_V_bound": 0.0,
                               "I_k_bound": 0.0}


def test_the_ledger_asks_the_experiments_that_it_has_kept_runs_of():
    runs = {(run["experiment"], run["profile"]) for run in claims.runs() if run["module"] == experiment.__name__}
    assert {(one.name, profile) for one in experiment.LEDGER for profile in one.ledger} == runs


# -- pictures --------------------------------------------------------------------------------------

def draws():
    """{name: a function that makes a panel}."""
    return {"directions": lambda: panels.directions.directions(bell.run("quick", 0)),
            "overlap": lambda: panels.overlap.overlap(bell.run("quick", 0)),
            "peak": lambda: panels.peak.peak(peak.run("quick", 0)),
            "width": lambda: panels.width.width(bell.run_widths("quick", 0)),
            "interference": lambda: panels.interference.per_layer(bell.run("quick", 0)),
            "plane": lambda: panels.plane.plane(plane.run("quick", 0)),
            "storage": lambda: panels.costs.storage(storage.run("quick", 0)),
            "resnet": lambda: panels.resnet.split(as_of_resnets(bell.run("quick", 0)))}


def as_of_resnets(sweep):
    """One setting of the MLPs' sweep in the shape of `resnet.run`'s."""
    source = resnet.source()
    network = suites.split(8).base.architecture.title
    one = sweep.sel(setting=[bell.ROTATED]).assign_coords(setting=[resnet.SETTING]).drop_vars("sigma")
    one.attrs.pop("directions")
    return one.assign_attrs(source=source.text, source_kind=source.kind, dataset=resnet.BELL.dataset, network=network,
                            profile="full", images=resnet.IMAGES)


@pytest.mark.parametrize("name", draws())
def test_a_view_says_what_it_shows_and_fits_on_a_page(name):
    view = draws()[name]()
    assert math.prod(len(control.values) for control in view.controls.values()) <= MOST_FRAMES
    before = view.values
    for name, control in view.controls.items():
        shown = set()
        for value in (control.values[0], control.values[-1]):
            view.set(**{name: value})
            view.packed([tuple(view.positions)])
            shown.add(view.alt)
        view.set(**before)
        assert len(shown) == min(2, len(control.values)) or name == "grey"
    assert "nan" not in view.alt and len(view.alt) > 40 and view.title and "svg" in view.still()


def test_the_overview_and_the_question_say_the_sweeps_accuracies(sweep):
    disjoint = readings.one(sweep, setting=bell.name_of(1.0)).sel(part="test")
    own = disjoint.own.mean().item()
    average = disjoint.average.mean().item()
    said = panels.bell.overview(sweep).data
    assert f"{bell.name_of(1.0)}: pretrained {disjoint.base.mean().item():.3f}, average {average:.3f}" in said
    assert f"own networks {own:.3f}" in said
    assert "keeps the **12 directions** of each" in panels.bell.question(sweep)


@pytest.mark.parametrize("average, verdict", [(0.0, "Agrees"), (1.0, "Does not agree here")])
def test_the_reading_of_figure_1_says_whether_there_is_a_bell(average, verdict, sweep):
    said = panels.bell.reading_of_figure_1(sweep.assign(average=0 * sweep.average + average)).text
    best = readings.chosen(readings.one(sweep, setting=bell.name_of(1.0)), grid.HOWS[0])
    kept = panels.bell.Ranks(sweep).said(best.attrs["rank"])
    assert f"{verdict}: CART at its best ({kept}, λ = {best.attrs['lam']:g})" in said
    assert f"has {best.accuracy.mean().item():.3f}, the average {average:.3f}," in said


@pytest.mark.parametrize("above, verdict",
                         [(0.4, "Agrees"), (0.0, "Cannot be told here"), (-0.4, "Does not agree here")])
def test_the_reading_of_figure_1_says_whether_cart_is_above_task_arithmetic(above, verdict, sweep):
    spoiled = sweep.assign(accuracy=(sweep.how == grid.HOWS[0]) * above + 0.5 + 0 * sweep.accuracy)
    assert f"{verdict}: that CART is above task arithmetic" in panels.bell.reading_of_figure_1(spoiled).text


def test_the_reading_of_the_needle_names_the_ranks_that_lose_and_how_wide_the_bell_is(sweep):
    mean = xarray.DataArray([0.5, 0.3, 0.9, 0.6, 0.55, 0.5], dims="rank")
    spoiled = sweep.assign(accuracy=0 * sweep.accuracy + mean, average=0 * sweep.average + 0.5)
    said = panels.bell.reading_of_the_needle(spoiled).text
    assert "from 12 to 12 of 400 directions" in said and "by two standard errors or more, with 4; other" in said


def test_tables_of_the_overlap_and_of_the_figures_hold_the_sweeps_numbers(sweep):
    one = readings.one(sweep, setting=bell.name_of(0.5))
    overlap = panels.overlap.reading_of_the_overlap(sweep)
    error = 2 * readings.error_of_height(one)
    cells = f"<td>{readings.height(one):+.3f} ± {error:.3f}</td><td>{readings.lost_by_the_average(one):.3f}</td>"
    assert cells in overlap.page
    meant = [readings.row_space(one, how, "meant") for how in grid.HOWS]
    figure_2 = panels.interference.reading_of_figure_2(sweep)
    assert f"<td>{meant[0]:.3f}</td><td>{meant[1]:.3f}</td>" in figure_2.page
    assert (bell.name_of(0.5) in figure_2.text) == (meant[0] < meant[1])
    cells = "".join(f"<td>{value:.2f}</td>" for value in readings.along_the_ranks(one).values())
    assert cells in panels.interference.reading_of_figure_3(sweep).page


def test_the_table_of_widths_says_where_cart_is_best_and_what_is_lost():
    widths = bell.run_widths("quick", 0)
    narrow = readings.one(widths, width=20)
    best = readings.chosen(narrow, grid.HOWS[0]).attrs["rank"]
    lost = 1 - (narrow.average / narrow.own).sel(part="test").mean().item()
    said = panels.width.reading_of_the_widths(widths).text
    kept = panels.width.Ranks(widths).said(best).partition(" ")[0]
    assert f"20: best, held-out: directions {kept}, of the rank {100 * min(1, best / 20):.2g} %," in said
    assert f"lost by average {lost:.3f}" in said


# -- where the bell peaks --------------------------------------------------------------------------

@pytest.fixture(scope="module")
def by_direction(small):
    return peak.run("quick", 0)


def test_a_case_holds_the_accuracy_of_the_merged_networks_with_the_output_layer_cut_and_whole():
    case = SMALL_PEAK.cases[peak.USUAL]
    trained = peak.networks(case, 0, images=20)
    for centre in (True, False):
        spectra = Spectra(trained.base, trained.finetuned, centre)
        ranks = grid.shares(case.width, (12,))
        found = peak.over_heads(spectra, [trained.test], ranks, lams=(2.0,))[0, :, 0, 0]
        for which, accuracy in enumerate(found):
            totals = spectra.totals(0.03)
            if which:
                totals["layers.1.weight"] = spectra.total("layers.1.weight", 1.0)
            network = MLP.from_state(shifted(spectra.origin, totals, 2.0))
            right = [(network(x).argmax(1) == y).double().mean().item() for x, y in trained.test]
            assert accuracy == pytest.approx(np.mean(right), abs=0.02)  # one of 60 images may lie on the border


def test_chapter_7s_tasks_are_measured_like_the_other_cases_with_ties_beside_them():
    sweep = several.run("quick", 0).sel(case=several.CASE)
    loaded = several.suite_of(SMALL_SEVERAL).load(images=20)
    part = sweep.sel(head=peak.HEADS[0], rank=12.0, how=grid.HOWS[0])
    merged = cart(loaded.base, loaded.finetuned, scale=part.lam.item(), rank_ratio=12 / bell.WIDTH)
    assert part.accuracy.item() == pytest.approx(loaded.accuracy(merged).mean(), abs=0.02)
    tried = {}
    for density in several.TIES["ties"].values:
        for scale in several.TIES["ties"].scales:
            merged = merge("ties", loaded.base, loaded.finetuned, scale=scale, density=density)
            tried[loaded.accuracy(merged, "held-out").mean()] = loaded.accuracy(merged).mean()
    assert sweep.ties.item() == pytest.approx(tried[max(tried)], abs=0.02)


def test_five_digits_have_five_labels_and_their_networks_five_outputs():
    trained = peak.networks(SMALL_PEAK.cases[peak.FEW_DIGITS], 0, images=20)
    assert trained.base["layers.1.weight"].shape == (5, bell.WIDTH)
    assert {label for _, y in trained.test for label in y.tolist()} == set(range(5))
    folded = peak.networks(peak.Case(outputs=5, num_tasks=1, size=100), 0, images=40)
    assert {label for _, y in folded.test for label in y.tolist()} == set(range(5))


def test_scaled_pixels_are_trained_on_and_judged_at_the_learning_rate_of_the_case():
    case = peak.Case(num_tasks=1, size=200)
    plain, scaled = (peak.networks(case, 0, 20, scaling) for scaling in (peak.Scaling(), peak.Scaling(0.5, 2.0, 0.05)))
    for (x, y), (images, labels) in zip(plain.test + plain.held_out, scaled.test + scaled.held_out):
        assert torch.allclose(images, (x - 0.5) / 2) and torch.equal(y, labels)
    still = peak.networks(case, 0, 20, peak.Scaling(lr=0.0))
    assert all(torch.allclose(still.base[key], still.finetuned[0][key]) for key in still.base)
    x, y = peak._labelled(case, "train")
    torch.manual_seed(0)
    by_hand = MLP((784, bell.WIDTH, 10)).double()
    order = torch.Generator().manual_seed(0)
    for batch in [batch for _ in range(2) for batch in torch.randperm(200, generator=order).split(peak.BATCH)]:
        by_hand.sgd_step((x[:200][batch].flatten(1).double() - 0.5) / 2, y[batch], 0.05)
    assert all(torch.allclose(scaled.base[key], by_hand.state_dict()[key].float(), atol=1e-6) for key in scaled.base)


def test_the_networks_of_the_usual_case_are_those_of_the_zoo(loaded):
    trained = peak.networks(peak.Case(num_tasks=3, size=400), 0, images=20)
    for ours, theirs in zip(trained.finetuned, loaded.finetuned):
        assert all(torch.allclose(ours[key], theirs[key], atol=1e-6) for key in theirs)


def test_held_out_and_test_images_are_different_ones(by_direction):
    trained = peak.networks(SMALL_PEAK.cases[peak.FEW_DIGITS], 0, images=20)
    held_out = {image.numpy().tobytes() for image in trained.held_out[0][0]}
    assert held_out.isdisjoint(image.numpy().tobytes() for image in trained.test[0][0])
    ends = by_direction.accuracy.sel(how=grid.HOWS[0]).isel(rank=[0, -1])
    assert abs(ends - by_direction.average).max() < 0.05, "the average, up to images on the border"


def test_a_plateau_is_what_cannot_be_told_from_the_best():
    accuracy = xarray.DataArray([0.1, 0.6, 0.79, 0.8, 0.78, 0.6, 0.79, 0.1], dims="rank",
                                coords={"rank": [0, 1, 2, 3, 4, 5, 6, 400]})
    part = xarray.Dataset({"accuracy": accuracy.expand_dims(head=["one"], how=["centred"]), "images": 2000})
    found = readings.plateau(part, "one", "centred")
    assert (found.first, found.best, found.last) == (2, 3, 4), "5 is lower, and 6 is not in the row"
    assert found.said == "3 (2 to 4)"


def test_the_tables_of_the_peak_hold_its_numbers(by_direction):
    part = by_direction.sel(case=peak.USUAL)
    said = panels.peak.reading_of_the_cases(by_direction).text
    top = readings.plateau(part, peak.HEADS[1])
    cliff = " (no cliff)" if panels.peak.behind_the_cliff(part, peak.HEADS[0]) is None else ""
    assert f"{peak.USUAL}: number of large singular values {part.large.item():.0f}{cliff}, rule of 8.5" in said
    assert f"rule of 8.5 {part.rule.item():.0f}," in said
    assert f"directions with which CART is best, {peak.HEADS[1]} {top.said}" in said
    apart = readings.centred_over_truncated(part, peak.HEADS[0])[3].value
    assert f"{apart:+.3f}" in panels.peak.reading_of_centring(by_direction).text
    best = part.accuracy.sel(head=peak.HEADS[0], how=grid.HOWS[0]).max().item()
    assert f"CART {best:.3f}, from θ₀" in panels.peak.reading_of_the_best(by_direction).text
    assert f"share {part.rows.item():.0%} of the row spaces" in panels.peak.reading_of_the_spaces(by_direction).text


def test_the_picture_of_what_gets_through_names_the_rule(by_direction):
    sigma = torch.from_numpy(by_direction.sel(case=peak.USUAL).sigma.sel(how=grid.HOWS[1]).values)
    rule = algorithms.planted.predicted_rank(sigma, 4)
    assert f"Rule of exercise 8.5: {rule} directions." in panels.peak.let_through(by_direction).data


def test_the_guess_of_the_peak_stands_where_it_was_made(by_direction):
    guess = predict("With how many directions?", low=0, high=16, step=1)
    view = panels.peak.peak(by_direction, guess)
    assert guess.at == {"case": peak.FEW_DIGITS, "head": peak.HEADS[0]}
    guess.commit(4)
    first = readings.plateau(by_direction.sel(case=peak.FEW_DIGITS), peak.HEADS[0]).first
    assert guess.truth == first and view.values.items() >= guess.at.items()


def test_the_theorems_figure_and_reading_say_both_sides():
    both = theorem.run("quick", 0)
    assert both.ratio.max() < 1 and both.literal.sel(side="bound").max() == 0
    figure = panels.interference.theorem(both).data
    most = both.ratio.max("trial").values
    assert f"is at most {most[0]:.3f} (meant) and {most[1]:.3f} (printed)" in figure
    said = panels.interference.reading_of_the_theorem(both).text
    assert f"at most {both.ratio.max().item():.2f} of the bound for 5 sets of tasks" in said
    loss = both.literal.sel(which="I(k)", side="L").item()
    assert f"L = {loss:.2f}, bound 0." in said


def test_the_reading_of_the_plane_names_the_lowest_loss_on_the_way():
    found = plane.run("quick", 0)
    way = found.path_loss.mean("task")
    said = panels.plane.reading(found).text
    average = way.sel(rank=0.0).isel(lam=0).item()
    assert f"falls from {average:.2f} to {way.min().item():.2f} with" in said
    on_plane = found.loss.sel(plane=plane.PLANES[0]).mean("task").min().item()
    assert f"no cell of the former’s map is below {on_plane:.2f}" in said
    assert ("between the middles of four cells" in said) == (average < on_plane)


def test_a_truncated_task_vector_is_along_its_own_as_far_as_the_reading_says():
    suite = bell.permuted(SMALL, 0).load("cpu", SMALL.test_images)
    spectra = Spectra(suite.base, suite.finetuned)
    count = kept_rank(panels.bell.SHOWN_RANK, spectra.origin[grid.FIRST].shape)
    whole = spectra.matrices[grid.FIRST].double()
    cut = torch.stack([truncated(matrix, count) for matrix in whole])
    share = ((cut * whole).sum() / whole.square().sum()).item()
    assert f"{share:.0%} of the squared length" in panels.plane.reading_of_the_span(bell.run("quick", 0)).text
    assert cut.square().sum().item() == pytest.approx((cut * whole).sum().item())


def test_the_number_of_tasks_is_drawn_with_its_errors_and_read():
    added = tasks.run("quick", 0)
    of_average = added.normalised.sel(merged_by="average", count=2).values
    error = of_average.std(ddof=1) / 2 ** 0.5
    assert f"average: 2 tasks {of_average.mean():.3f} ± {error:.3f}" in panels.costs.number_of_tasks(added).data
    said = panels.costs.reading_of_figure_7(added).text
    assert f"σ is {added.normalised.std('subset', ddof=1).max().item():.3f} at most" in said
    left = added.normalised.mean("subset").isel(count=-1)
    assert f", 3 tasks {left.max().item():.2f}, lost" in said
    alone = added.normalised.sel(merged_by="average", count=3).mean().item()
    assert f", 3 tasks {alone:.3f} (one subset);" in panels.costs.number_of_tasks(added).data
    assert "loses least (on one subset). With all tasks" in said


def test_a_method_that_loses_least_within_the_noise_is_not_called_the_best():
    added = tasks.run("quick", 0)
    of_subsets = 0 * added.normalised.isel(count=0, drop=True) + xarray.DataArray([0.0, 0.1], dims="subset")
    level = added.assign_coords(count=[3, 4])
    level = level.assign(normalised=of_subsets * xarray.ones_like(level["count"]))
    assert "loses least, but its lead over the next method is within the noise. With all tasks" in \
        panels.costs.reading_of_figure_7(level).text


def test_the_reading_of_storage_compares_with_the_masks():
    kept = storage.run("quick", 0)
    said = panels.costs.reading_of_storage(kept).text
    mask = kept.peer_task_bytes.sel(peer="EMR").item()
    times = kept.task_bytes.sel(rank=0.08).item() / mask
    assert f"a task takes {times:.1f} times as many bytes as a mask" in said
    assert f"the own networks: accuracy {kept.own.mean().item():.3f}, kB a task" in said
    low = panels.costs.bits_by_width(0.08, (100,), fixed=10).text
    assert low == "k = 8 % of M: M = 100 5.12\nk = 10: M = 100 6.40"


def test_without_resnets_a_sentence_says_how_to_get_them():
    with archive.anew():  # whatever the repository keeps of them
        for run in (resnet.run, resnet.run_tasks, resnet.run_storage):
            assert run("quick") is None
    assert "full" in panels.resnet.split(None).text
    for shown in (panels.resnet.reading, panels.resnet.number_of_tasks, panels.resnet.storage):
        assert not shown(None).text


def test_the_announcement_names_the_data_and_says_what_is_there(capsys, monkeypatch):
    bell.run("quick", 0)
    bell.run_widths("quick", 0)
    monkeypatch.setattr("lessons.kit.sweep.is_kept", lambda *_: False)  # other tests may have measured everything
    experiment.announce("quick", 0)
    said = capsys.readouterr().out
    assert "stand-in for MNIST" in said and "stand-in for Fashion-MNIST" in said
    assert "All MLPs that the zoo keeps for this chapter are there" in said
    assert "ResNet" not in said
    assert "MLPs on digits and clothes" in said and "more networks are trained that the zoo does not keep" in said
    with archive.anew():
        experiment.announce("full", 0)
    assert "21 ResNets have to be trained" in capsys.readouterr().out
