"""What the views of chapter 8 say at several settings of the archived full sweeps, beside the sweeps' numbers."""
import re
from pathlib import Path

import numpy as np
import pytest
import xarray

from lessons.cart import experiment
from lessons.cart.experiment import peak, plane, readings, several
from lessons.cart.experiment.grid import HOWS, READINGS
from lessons.cart.panels import bell, centring, costs, directions, interference, levels, overlap, parts, resnet, width
from lessons.cart.panels import peak as peak_panels
from lessons.cart.panels import plane as plane_panels
from lessons.cart.panels.bell import levels_of
from lessons.kit.predict import predict
from lessons.kit.view.marks import ROLES

IMAGES = 4000


@pytest.fixture(scope="module")
def sweep():
    return experiment.bell.run("full", 0)


@pytest.fixture(scope="module")
def eight():
    """The tasks of chapter 7."""
    return experiment.several.run("full", 0)


@pytest.fixture(scope="module")
def sets(eight):
    """All sets of tasks."""
    return parts.together(experiment.peak.run("full", 0), eight)


@pytest.fixture(scope="module")
def views(sweep, eight, sets):
    """All of them, as they open without a prediction."""
    cases = experiment.peak.run("full", 0)
    return {"directions": directions.directions(sweep), "overlap": overlap.overlap(sweep),
            "levels": levels.levels(sweep), "bell": centring.bell(eight), "centring": centring.centring(sets),
            "peak": peak_panels.peak(cases),
            "width": width.width(experiment.bell.run_widths("full", 0)),
            "per_layer": interference.per_layer(sweep), "plane": plane_panels.plane(experiment.plane.run("full", 0)),
            "storage": costs.storage(experiment.storage.run("full", 0)),
            "split": resnet.split(experiment.resnet.run("full", 0))}


OPENINGS = {
    "directions": "Too few directions hurt, all give the average, the best number lies between",
    "overlap": "With permuted pixels, CART beats the average only where most are permuted",
    "levels": "The more pixels are permuted, the more averaging loses",
    "bell": "None and all give the average, the best number lies between",
    "centring": "At its best, truncation is more accurate without centring",
    "peak": "CART reaches its best right behind the cliff in the singular values",
    "width": "Wider layers need no more directions",
    "per_layer": "Centring makes the tasks’ directions overlap more, not less",
    "plane": "CART leaves this map: nothing on it has so low a loss",
    "storage": "A few directions a task keep more than a mask of the same size",
    "split": "At this λ, every number of directions is within the noise of the plain average"}


@pytest.mark.parametrize("name", OPENINGS)
def test_a_view_opens_where_its_finding_is_seen(name, views):
    view = views[name]
    assert view.title == OPENINGS[name]
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) <= 1
    assert all(len(control.texts) <= 6 for control in view.controls.values() if control.kind == "chips")
    coloured = {mark.role for chart in view.charts for mark in chart.marks} - {"other", "chance", "single"}
    assert coloured <= {"merged"} and all(mark.role in ROLES for mark in view.marks)


@pytest.mark.parametrize("name", OPENINGS)
def test_titles_state_no_number_and_alts_state_all_of_a_setting(name, views):
    view = views[name]
    for index in range(len(view.controls[view.slider].values)):
        frame = view.draw(**view.values | {view.slider: view.controls[view.slider].values[index]})
        assert not re.search(r"[0-9]", frame.title) and "nan" not in frame.alt


@pytest.mark.parametrize("setting, lam, how, title", [
    (bell.DISJOINT, 3.0, HOWS[0], OPENINGS["directions"]),
    (bell.DISJOINT, 0.3, HOWS[0], "None and all give the average, the best number lies between"),
    ("0 % of the pixels permuted", 3.0, HOWS[0], OPENINGS["split"]),
    (bell.DISJOINT, 1.0, HOWS[1], "Task vectors from θ₀ gain when they are cut, too"),
    ("0 % of the pixels permuted", 1.0, HOWS[1], "θ₀ is more accurate without any of these task vectors")])
def test_the_title_over_the_directions_is_what_the_sweep_says(setting, lam, how, title, sweep, views):
    view = views["directions"]
    frame = view.draw(rank=0.03, lam=lam, setting=setting, how=how, grey=directions.OTHER_LAMS)
    part = readings.one(sweep, setting=setting).sel(part="test")
    mean = part.accuracy.sel(how=how, lam=lam).mean("task").values
    assert frame.title == title
    assert f"12 directions kept: mean accuracy {mean[12]:.3f} ±" in frame.alt
    gain = mean[1:-1].max() - (part.average.mean().item() if how == HOWS[0] else mean[-1])
    error = 2 * np.sqrt(2 * 0.25 / IMAGES)
    assert (gain > error) == ("best number" in title or "gain when" in title)


def test_the_directions_have_bars_for_what_is_kept_and_grey_lines_for_each_task(sweep, views):
    view = views["directions"]
    frame = view.draw(rank=0.03, lam=3.0, setting=bell.DISJOINT, how=HOWS[0], grey=directions.EACH_TASK)
    kept, cut = frame.values["kept"], frame.values["cut"]
    sigma = readings.one(sweep, setting=bell.DISJOINT).sigma.sel(how=HOWS[0]).values
    assert kept[1:13] == pytest.approx(sigma[:12]) and np.isnan(kept[13:]).all()
    assert cut[13:20] == pytest.approx(sigma[[12, 13, 14, 15, 19, 31, 63]])
    by_task = readings.one(sweep, setting=bell.DISJOINT).accuracy.sel(how=HOWS[0], part="test", lam=3.0).values
    assert frame.values["grey line 2"] == pytest.approx(by_task[:, 1])
    assert np.isnan(frame.values["grey line 5"]).all(), "there are four tasks"


@pytest.mark.parametrize("mean, title", [
    ([0.5, 0.7, 0.9, 0.6, 0.5], "None and all give the average, the best number lies between"),
    ([0.5, 0.3, 0.9, 0.6, 0.5], "Too few directions hurt, all give the average, the best number lies between"),
    ([0.5, 0.6, 0.3, 0.9, 0.5], "Some numbers of directions hurt, keeping all of them gives the average, the best "
                                "number lies between"),
    ([0.5, 0.5, 0.3, 0.9, 0.5], "Too few directions hurt, all give the average, the best number lies between"),
    ([0.5, 0.3, 0.9, 0.6, 0.4], "Too few directions hurt, all hurt, the best number lies between"),
    ([0.5, 0.6, 0.9, 0.6, 0.6], "No direction gives the average, all help, the best number lies between"),
    ([0.5, 0.6, 0.7, 0.8, 0.9], "The more directions, the better the merge"),
    ([0.5, 0.51, 0.2, 0.51, 0.5], "At this λ, no number of directions is clearly above the average, and some are below "
                                  "it"),
    ([0.5, 0.51, 0.51, 0.51, 0.5], "At this λ, every number of directions is within the noise of the plain average")])
def test_what_a_curve_over_directions_is_called(mean, title):
    assert directions.finding_of_cart(np.array(mean), 0.5, IMAGES) == title


@pytest.mark.parametrize("mean, title", [
    ([0.1, 0.9, 0.5], "Task vectors from θ₀ gain when they are cut, too"),
    ([0.1, 0.5, 0.5], "Task vectors from θ₀ lose nothing when they are cut, and gain nothing"),
    ([0.1, 0.3, 0.5], "Task vectors from θ₀ only lose when they are cut"),
    ([0.9, 0.3, 0.5], "θ₀ is more accurate without any of these task vectors")])
def test_what_cutting_from_the_start_is_called(mean, title):
    assert directions.finding_of_task_arithmetic(np.array(mean), 0.0, IMAGES) == title


def test_the_bells_heights_are_the_sweeps_in_points(sweep, views):
    parts = overlap.permutations_of(sweep)
    assert list(parts) == [0, 0.25, 0.5, 0.75, 0.875, 0.95, 1]
    alt = views["overlap"].alt
    for share in (0.5, 1.0):
        height, error = (100 * function(parts[share]) for function in (readings.height, readings.error_of_height))
        assert f"{100 * share:g} % {height:+.1f} ± {2 * error:.1f}" in alt


@pytest.mark.parametrize("heights, title", [
    ([0, 0, 5, 9], "With permuted pixels, CART beats the average only where most are permuted"),
    ([0, 0, 0, 0], "However many pixels are permuted, CART gains nothing over the average"),
    ([5, 5, 5, 9], "CART beats the average, however many pixels are permuted"),
    ([0, 5, 0, 9], "CART beats the average for some shares of permuted pixels, not for others")])
def test_what_the_heights_are_called(heights, title):
    assert overlap.finding([0, 0.5, 0.75, 1], np.array(heights), np.full(4, 2.0)) == title


@pytest.mark.parametrize("case, head, title", [
    (peak.USUAL, 0, "CART reaches its best right behind the cliff in the singular values"),
    ("8 tasks", 1, "CART reaches its best well behind the cliff in the singular values"),
    ("60,000 images", 0, "These singular values have no cliff that would say where to cut")])
def test_where_cart_peaks_is_said_beside_the_cliff(case, head, title, views):
    sweep = experiment.peak.run("full", 0)
    part, head = sweep.sel(case=case), peak.HEADS[head]
    frame = views["peak"].draw(rank=10.0, case=case, head=head)
    assert frame.title == title and f"is best with {readings.plateau(part, head).said}." in frame.alt
    large = int(np.isfinite(frame.values["large"]).sum())
    assert large == min(round(part.large.item()), 16)


@pytest.mark.parametrize("more, title", [
    (1, "CART reaches its best before the cliff in the singular values"),
    (0, "CART reaches its best at the cliff, with exactly the large singular values kept"),
    (-1, "CART reaches its best right behind the cliff in the singular values"),
    (-peak_panels.NEAR - 1, "CART reaches its best well behind the cliff in the singular values")])
def test_at_the_cliff_means_that_exactly_the_large_singular_values_are_kept(more, title):
    """The spectrum is planted: so many more values are large than CART needs directions to begin to be at its best."""
    part, head = experiment.peak.run("full", 0).sel(case=peak.USUAL), peak.HEADS[0]
    large = readings.plateau(part, head).first + more
    sigma = xarray.zeros_like(part.sigma) + np.where(np.arange(part.sigma.shape[-1]) < large, 1.0, 0.1)
    planted = part.assign(sigma=sigma, large=part.large * 0 + large)
    assert peak_panels.finding(planted, head) == title


def test_who_is_ahead_at_its_best_stands_in_the_key(views):
    draw = views["peak"].draw
    grey = [draw(rank=10.0, case="8 tasks", head=head).key[1][1] for head in peak.HEADS]
    assert grey == ["grey curve: not centred, more accurate at its best",
                    "grey curve: not centred, less accurate at its best"]


def test_with_eight_tasks_of_digits_centring_helps_only_if_the_output_layer_is_left_whole(views, sets):
    cart, plain = centring.best_of(sets, centring.EIGHT, centring.WHOLE)
    assert cart - plain >= centring.CLEAR
    cart, plain = centring.best_of(sets, centring.EIGHT, centring.CUT)
    assert plain - cart >= 0.03
    view = views["centring"]
    titles = {head: view.draw(**view.values | {"head": head}).title for head in peak.HEADS}
    assert titles == {centring.CUT: OPENINGS["centring"],
                      centring.WHOLE: "At its best, truncation is more accurate with centring"}


@pytest.mark.parametrize("centred, plain, title", [
    (0.7, 0.6, "At its best, truncation is more accurate with centring"),
    (0.6, 0.7, "At its best, truncation is more accurate without centring"),
    (0.6, 0.601, "At its best, truncation is as accurate with centring as without")])
def test_who_is_ahead_with_and_without_centring(centred, plain, title):
    assert centring.finding(centred, plain, IMAGES) == title


def _mended(sweep, case, head, how, accuracy):
    """The sweep with one curve that is the same at every number of directions."""
    changed = sweep.copy(deep=True)
    changed.accuracy.loc[{"case": case, "head": head, "how": how}] = accuracy
    return changed


def test_the_reading_of_the_bell_says_only_what_the_numbers_carry(eight):
    cart, plain = centring.best_of(eight, several.CASE, centring.WHOLE)
    average = eight.average.item()
    assert cart - plain >= centring.CLEAR and cart - average >= 2 * centring.CLEAR
    text = centring.reading_of_the_bell(eight)._repr_html_()
    assert "needs both" in text and "With fewer than 9 directions, less than half of this gain is there." in text
    level = _mended(eight, several.CASE, centring.WHOLE, HOWS[1], cart)
    assert "needs both" not in centring.reading_of_the_bell(level)._repr_html_()
    flat = _mended(eight, several.CASE, centring.WHOLE, HOWS[0], average)
    text = centring.reading_of_the_bell(flat)._repr_html_()
    assert "Accuracies on these eight tasks" in text and "With fewer" not in text


def test_the_reading_of_the_output_layer_says_only_what_the_numbers_carry(sets):
    text = repr(centring.reading_of_the_output_layer(sets))
    assert "fell behind when it was cut" in centring.reading_of_the_output_layer(sets)._repr_html_()
    assert "only number of directions" not in text
    assert "Of the ten cases on this panel, CART is ahead in three and truncation without centring in five." in text
    behind = _mended(sets, centring.EIGHT, centring.WHOLE, HOWS[1], 0.9)
    assert "fell behind when it was cut" not in centring.reading_of_the_output_layer(behind)._repr_html_()
    ahead = _mended(sets, peak.USUAL, centring.WHOLE, HOWS[0], 0.9)
    assert "output layer whole, CART is ahead." in repr(centring.reading_of_the_output_layer(ahead))


def test_one_number_of_directions_without_centring_that_is_ahead_is_named(sets):
    cases = _mended(sets, centring.EIGHT, centring.CUT, HOWS[1], 0.5)
    cases.accuracy.loc[{"case": centring.EIGHT, "head": centring.CUT, "how": HOWS[1], "rank": 7.0}] = 0.7
    text = repr(centring.reading_of_the_output_layer(cases))
    assert "7 is the only number of directions at which truncation without centring beats CART’s best" in text


def test_where_the_gain_without_centring_comes_from_is_said_if_the_grey_line_shows_it(sets):
    text = centring.reading_of_the_grey_line(sets)._repr_html_()
    assert "comes from cutting the output layer" in text and "from 9 directions on" in text
    flat = _mended(sets, centring.EIGHT, centring.CUT, HOWS[1], 0.414)
    assert "comes from cutting" not in centring.reading_of_the_grey_line(flat)._repr_html_()


def test_who_is_ahead_of_cart_where_all_pixels_are_permuted(sweep):
    row = levels_of(readings.one(sweep, setting=bell.DISJOINT))
    text = overlap.reading_beside_the_others(sweep, 0.751)._repr_html_()
    assert f"CART has {100 * row['cart']:.0f} % (yours" in text and "output layer whole, had 75 %)" in text
    assert "but behind task arithmetic and truncation without centring" in text and "87.5 % permuted, too" in text
    assert f"task arithmetic with all directions {100 * row['arithmetic']:.0f} %" in text
    changed = sweep.copy(deep=True)
    changed.accuracy.loc[{"setting": bell.DISJOINT, "how": HOWS[1]}] = 0.5
    text = overlap.reading_beside_the_others(changed, 0.751)._repr_html_()
    assert "but behind" not in text and "too." not in text


@pytest.mark.parametrize("losses, title", [
    ([0.0, 0.1, 0.4], "The more pixels are permuted, the more averaging loses"),
    ([0.1, 0.0, 0.4], "Averaging loses most where most pixels are permuted"),
    ([0.1, 0.0, 0.1], "Averaging loses about as much however many pixels are permuted")])
def test_what_averaging_loses_is_called(losses, title):
    assert levels.finding(np.array(losses), IMAGES) == title


def test_the_short_readings_have_the_sweeps_numbers(sweep):
    storage = experiment.storage.run("full", 0)
    text = repr(costs.reading_of_a_few_directions(storage))
    assert f"the accuracy is {100 * storage.accuracy.sel(rank=0.02).mean().item():.0f} %" in text
    height = readings.height(readings.one(sweep, setting=bell.DISJOINT))
    assert f"and {100 * height:.0f} with all" in repr(overlap.reading_of_the_heights(sweep))


def test_a_table_says_in_which_rows_the_cliff_is_a_good_place_to_start():
    cases = parts.together(experiment.peak.run("full", 0), experiment.pixels.run("full", 0))
    page = peak_panels.reading_of_the_cliff(cases)
    assert "With the output layer cut, the cliff was a good place to start in some rows" in page.page
    assert "In the rows “4 tasks”, “8 tasks”, “5 digits” and “5 digits, 10 outputs”, CART begins" in page.text
    assert "In the row “standardised, lower rate”, which has a cliff, too, it does not." in page.text
    assert "rows without a cliff, CART begins to be at its best at the number of large values in one." in page.text
    rows = {line.partition(":")[0]: line for line in page.text.splitlines()[1:]}
    for chip, head, first in (("4 tasks", 0, 11), ("8 tasks", 1, 20), ("standardised, lower rate", 0, 7)):
        name = next(name for name, text in peak_panels.CHIPS.items() if text == chip)
        assert readings.plateau(cases.sel(case=name), peak.HEADS[head]).first == first
        assert f"output layer {('cut', 'whole')[head]} {first}" in rows[chip] and "cliff? yes" in rows[chip]
    for chip, large in (("10 digits, 5 outputs", 8), ("60,000 images", 16), ("standardised pixels", 15)):
        assert f"{chip}: large values {large}, cliff? no" in rows[chip]
    alone = peak_panels.reading_of_the_cliff(cases.sel(case=[peak.USUAL]))
    assert "in some rows" not in alone.page and "rows without a cliff" not in alone.text


def test_the_lesson_defines_the_cliff_as_the_view_does():
    text = (Path(__file__).parents[1] / "notebooks" / "08_cart.ipynb").read_text(encoding="utf-8")
    assert f"If the first small value has at most {peak_panels.CLIFF:g} of the height of the last large one" in text
    assert peak_panels.NEAR == 3 and "it means at most three directions more." in text


def test_the_reading_of_more_tasks_leads_with_what_follows_for_a_comparison():
    added = experiment.tasks.run("full", 0)
    kept = added.normalised.mean("subset").isel(count=-1)
    narrow, wide = (kept.sel(merged_by=name).item() for name in ("CART", "CART, tuned"))
    page = costs.reading_of_figure_7(added)
    assert "<b>A wide grid for λ and the rank brings CART far more than the source’s grid.</b>" in page.page
    assert f"CART keeps {narrow:.2f} of" in page.text and f"{wide:.2f} with the wide one." in page.text
    without = added.sel(merged_by=["average", "task arithmetic", "TIES", "CART"])
    page = costs.reading_of_figure_7(without)
    assert "<b>With all tasks, TIES keeps most.</b>" in page.page and "wide" not in page.text
    page = resnet.number_of_tasks(experiment.resnet.run_tasks("full", 0)).page
    assert "<b>With all tasks, no method keeps more than the plain average.</b>" in page
    assert "So measure the plain average before you choose a method." in page


def test_the_reading_of_the_resnets_says_first_whether_cart_gains():
    measured = experiment.resnet.run("full", 0)
    page = resnet.reading(measured)
    assert "<b>On these ResNets CART is no better than the average, beyond the noise.</b>" in page.page
    assert "which is within the noise" in page.text and page.text.count("accuracy 0.") == 5
    worse = measured.assign(average=measured.average - 0.2)
    assert "<b>On these ResNets CART beats the average.</b>" in resnet.reading(worse).page
    assert "<b>On these ResNets the average beats CART.</b>" in \
        resnet.reading(measured.assign(average=measured.average + 0.2)).page


def test_the_reading_of_storage_names_what_is_more_only_beyond_the_noise():
    storage = experiment.storage.run("full", 0)
    assert "<b>For the bytes of a mask, a few directions of each task keep more than a mask.</b>" in \
        costs.reading_of_storage(storage).page
    level = storage.assign(accuracy=storage.accuracy * 0 + 0.8, peer_accuracy=storage.peer_accuracy * 0 + 0.8)
    assert "are within the noise of the better mask.</b>" in costs.reading_of_storage(level).page
    nothing = level.assign(average=level.average * 0 + 0.8)
    assert "are not clearly worse than the better mask and not clearly better than the plain average.</b>" in \
        costs.reading_of_storage(nothing).page
    said = costs.reading_of_storage(nothing).text
    assert "+0.0 ±" in said and " points, less than two standard errors (±: one standard error)." in said
    of_resnets = resnet.storage(experiment.resnet.run_storage("full", 0)).text
    assert " points, just less than two standard errors (±: one standard error)." in of_resnets
    behind = storage.assign(accuracy=storage.accuracy * 0 + 0.5)
    assert "keep less than the better mask.</b>" in costs.reading_of_storage(behind).page


def test_the_best_number_of_directions_does_not_grow_with_the_width(views):
    widths = experiment.bell.run_widths("full", 0)
    tops = {value: width.top_of(readings.one(widths, width=value)) for value in (25, 200, 400, 800)}
    assert tops[25] is None and [tops[value].best for value in (200, 400, 800)] == [15, 13, 12]
    assert width.finding(tops, 25) == "In a layer this narrow, CART is within the noise of the average"
    assert "400 units: 13 (11 to 14)" in views["width"].alt
    of_shares = {value: readings.Plateau(value // 20, value // 20, value // 20) for value in (100, 200, 400)}
    assert width.growth(of_shares) == pytest.approx(1)
    assert width.finding(of_shares, 400) == "Wider layers need more directions"


@pytest.mark.parametrize("setting, layer, title", [
    (bell.DISJOINT, "layer 1", "Centring makes the tasks’ directions overlap more, not less"),
    (bell.DISJOINT, "output", "Centring makes the tasks’ directions overlap less"),
    ("0 % of the pixels permuted", "layer 1", "Centring hardly changes how much the tasks’ directions overlap")])
def test_what_centring_does_to_interference(setting, layer, title, sweep, views):
    frame = views["per_layer"].draw(rank=0.08, setting=setting, layer=layer, reading=READINGS[0])
    at_rank = readings.one(sweep, setting=setting).interference.sel(layer=layer, reading=READINGS[0], rank=0.08)
    centred, plain = (at_rank.sel(how=how).item() for how in HOWS)
    assert frame.title == title and f"centred {centred:.3f}, from θ₀ {plain:.3f}" in frame.alt
    assert max(frame.values["gain"]) == 1 and min(frame.values["gain"]) == 0


def test_the_walk_leaves_one_plane_and_loops_in_the_other(views):
    sweep, view = experiment.plane.run("full", 0), views["plane"]
    cells = np.array(view.frame.values["cells"])
    assert cells.size <= 1000 and cells.min() > sweep.path_loss.mean("task").min().item()
    on_its_own = view.draw(rank=0.03, plane=plane.PLANES[1], lam=4.0)
    assert on_its_own.title == "On the plane of its own path, CART’s way looks like a loop"
    walk = np.array(on_its_own.values["walk"])
    assert walk[:, 0] == pytest.approx(walk[:, -1], abs=1e-6) and np.isfinite(walk).all()
    assert f"loss {sweep.path_loss.sel(rank=0.03, lam=4.0).mean().item():.3f}" in on_its_own.alt


@pytest.mark.parametrize("rank, title", [
    (0.01, "So few directions a task keep less than a mask"),
    (0.02, "A few directions a task keep more than a mask of the same size"),
    (0.08, "More directions a task keep more than a mask, and take more room")])
def test_what_a_task_keeps_for_its_bytes(rank, title, views):
    sweep = experiment.storage.run("full", 0).sel(rank=rank)
    frame = views["storage"].draw(rank=rank, num_tasks=8)
    assert frame.title == title and f"accuracy {sweep.accuracy.mean().item():.3f} ±" in frame.alt
    total = sweep.shared_bytes.item() + 8 * sweep.task_bytes.item()
    assert frame.values["merged"] == [pytest.approx(total / (8 * sweep.model_bytes.item()))]


def test_the_predictions_are_asked_where_the_views_show_the_answer(sweep, eight, sets):
    guess = predict(bell.question(sweep))
    directions.directions(sweep, guess)
    part = readings.one(sweep, setting=bell.DISJOINT)
    truth = part.accuracy.sel(how=HOWS[0], part="test", lam=3.0, rank=0.03).mean().item()
    assert guess.truth == pytest.approx(truth) and guess.at["rank"] == 0.03
    guess = predict(levels.question(sweep))
    levels.levels(sweep, guess)
    assert guess.truth == pytest.approx(part.average.sel(part="test").mean().item()) and guess.at == {"share": 1.0}
    guess = predict(centring.question(eight))
    centring.bell(eight, guess)
    at_ten = eight.sel(case=several.CASE, head=peak.HEADS[1], how=HOWS[0], rank=10.0)
    assert guess.truth == pytest.approx(at_ten.accuracy.item()) and guess.at == {"rank": 10.0}
    guess = predict(centring.question_of_centring(sets))
    view = centring.centring(sets, guess)
    assert guess.truth == pytest.approx(centring.best_of(sets, "8 tasks", peak.HEADS[0])[1])
    assert guess.at == {"head": peak.HEADS[0], "case": "8 tasks"} == {name: view.values[name] for name in guess.at}
    guess = predict("By how many points?", low=-5, high=30, step=1)
    view = overlap.overlap(sweep, guess)
    guess.commit(10)
    assert view.values == {"share": 0.5} == guess.at
    half = readings.one(sweep, setting="50 % of the pixels permuted")
    assert guess.truth == pytest.approx(100 * readings.height(half))
    guess = predict("With how many?", low=0, high=16, step=1)
    view = peak_panels.peak(experiment.peak.run("full", 0), guess)
    assert guess.truth == 7 and view.values["case"] == peak.FEW_DIGITS
    assert [mark.along for mark in view.marks if mark.kind == "star"] == ["x"]
