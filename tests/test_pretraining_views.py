"""What the views of chapter 5 say at their settings, beside the numbers of the archived full sweeps."""
import itertools
import re

import numpy as np
import pytest

from lessons.kit.predict import predict
from lessons.pretraining.experiment import curvature as theorem
from lessons.pretraining.experiment import labels, starts
from lessons.pretraining.panels import curvature
from lessons.pretraining.panels import labels as label_panels
from lessons.pretraining.panels import starts as start_panels


@pytest.fixture(scope="module")
def sweeps():
    return {module: module.run("full", 0) for module in (starts, labels, theorem)}


MADE = {"units": (start_panels.units, starts), "line": (start_panels.along_the_line, starts),
        "time": (start_panels.from_one_start, starts), "shuffled": (label_panels.shuffled, labels),
        "sides": (curvature.both_sides, theorem)}
OPENINGS = {
    "units": "Matched by activations, units at the same place are alike, but hardly any are twins",
    "line": "Matching lets strangers mix nearly as linearly as networks from one start",
    "time": "One epoch apart, networks from one random start mix at least as linearly as pretrained ones",
    "shuffled": "For two tasks, images learned by heart make a bad start, whatever their labels",
    "sides": "Near the checkpoint, autograd gets the sign of the loss’s curvature wrong"}


@pytest.fixture(scope="module")
def views(sweeps):
    return {name: made(sweeps[module]) for name, (made, module) in MADE.items()}


@pytest.mark.parametrize("name", OPENINGS)
def test_a_view_opens_where_its_finding_is_seen(name, views):
    view = views[name]
    assert view.title == OPENINGS[name]
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) == 1
    assert {mark.role for mark in view.marks} - {"other", "chance", "single"} == {"merged"}


@pytest.mark.parametrize("name", OPENINGS)
def test_titles_state_no_number_and_differ_by_chips_alone(name, views):
    view, titles = views[name], set()
    chips = {key: control.values for key, control in view.controls.items() if key != view.slider}
    stops = view.controls[view.slider].values[::5]
    for setting in itertools.product(*chips.values()):
        frames = [view.draw(**dict(zip(chips, setting)), **{view.slider: stop}) for stop in stops]
        assert len({frame.title for frame in frames}) == 1 and not re.search("[0-9]", frames[0].title)
        assert not any("nan" in frame.alt for frame in frames)
        titles.add(frames[0].title)
    assert len(titles) >= 2


@pytest.mark.parametrize("name, asked", [
    ("line", {"alpha": 0.5, "pair": "two tasks", "treatment": "as it is"}),
    ("time", {"alpha": 0.5, "apart": "one epoch"}),
    ("shuffled", {"fraction": 1.0, "pair": "two tasks"}), ("sides", {"scale": 1 / 64, "function": "loss"})])
def test_a_view_that_asks_hides_its_curves_and_its_star_stands_where_the_answer_is(name, asked, sweeps):
    made, module = MADE[name]
    guess = predict("How large?", low=0.002)
    view = made(sweeps[module], guess)
    assert guess.at == asked and set(asked) == set(view.controls)
    assert set(view.hides) >= {mark.name for mark in view.marks if mark.kind in ("line", "band")}
    chart, star = next((chart, mark) for chart in view.charts for mark in chart.marks if mark.kind == "star")
    curve = next(mark for mark in chart.marks if mark.kind == "line" and mark.role == "merged")
    place = (curve.x or view.controls[view.slider].at).index(star.x[0])
    assert view.frame.values[curve.name][place] == pytest.approx(guess.truth)


# -- the rules of the titles -----------------------------------------------------------------------

@pytest.mark.parametrize("mean, share_of_twins, title", [
    (0.0, 0, "In their own order, units at the same place show no likeness"),
    (0.3, 0, "In their own order, units at the same place are alike, but hardly any are twins"),
    (0.3, 0.2, "In their own order, units at the same place are alike, and some are twins"),
    (0.3, 0.6, "In their own order, units at the same place are alike, and most are twins")])
def test_what_units_at_the_same_place_are_called(mean, share_of_twins, title):
    partners = mean + np.tile([-0.2, 0.2], 50)
    partners[:round(100 * share_of_twins)] = 0.95
    assert start_panels.finding_of_units(starts.STRANGERS, partners) == title


def shares(strangers, matched, one_start):
    return {starts.STRANGERS: strangers, starts.BY_WEIGHTS: matched, starts.BY_FEATURES: matched,
            starts.ONE_START: one_start, starts.PRETRAINED: one_start}


@pytest.mark.parametrize("three, title", [
    ((0.3, 0.1, 0.09), "Matching lets strangers mix nearly as linearly as networks from one start"),
    ((0.3, 0.1, 0.05), "Matching lets strangers mix more linearly, but not as networks from one start"),
    ((0.1, 0.1, 0.05), "Matching by weights hardly lets strangers mix more linearly")])
def test_what_matching_does_to_two_tasks(three, title):
    assert start_panels.finding_of_matching("two tasks", "as it is", {}, shares(*three)) == title


@pytest.mark.parametrize("high, left, title", [
    (1.3, 0.1, "With REPAIR too, matching removes most of the barrier between strangers"),
    (1.3, 0.9, "With REPAIR too, matching removes a part of the barrier between strangers"),
    (1.3, 1.25, "With REPAIR too, matching removes hardly anything of the barrier between strangers"),
    (0.05, 0.0, "With REPAIR too, there is hardly a barrier between these strangers")])
def test_what_matching_does_to_a_barrier(high, left, title):
    assert start_panels.finding_of_matching("one task", "repaired", shares(high, left, 0), {}) == title


@pytest.mark.parametrize("ratios, mix", [
    ((1.0, 0.9), "about as linearly as"), ((1.0, 0.7), "at least as linearly as"), ((1.4, 1.0), "less linearly than"),
    ((1.4, 0.7), "more or less linearly, as one measures, than")])
def test_what_a_random_start_is_called_beside_a_pretrained_one(ratios, mix):
    title = f"Two epochs apart, networks from one random start mix {mix} pretrained ones"
    assert start_panels.finding_of_time("two epochs", ratios) == title


@pytest.mark.parametrize("times, makes", [
    ((7, 3, 3), "make a bad start, whatever their labels"), ((1, 1, 1.2), "make no bad start"),
    ((1, 1.2, 3), "make a bad start with random labels, not with true ones"),
    ((7, 1, 3), "make a bad start with some labels, not with others")])
def test_what_images_learned_by_heart_are_called(times, makes):
    title = f"For one task, images learned by heart {makes}"
    assert label_panels.finding_of_starts("one task, two ways", np.array(times)) == title


@pytest.mark.parametrize("function, derived, measured, title", [
    ("loss", 0.06, (-0.03, -0.04, -0.035), "gets the sign of the loss’s curvature wrong"),
    ("logit", 0.04, (0.06, 0.07, 0.065), "makes the logit’s curvature too small"),
    ("logit", 0.09, (0.06, 0.07, 0.065), "makes the logit’s curvature too large"),
    ("loss, smooth", -0.04, (-0.039, -0.04, -0.041), "has the loss’s curvature right with a smooth ReLU"),
    ("loss", 0.06, (-0.2, 0.3, 0.02), "cannot be told from the loss’s curvature")])
def test_what_automatic_differentiation_is_called(function, derived, measured, title):
    finding = curvature.finding_of_curvature(function, derived, np.array(measured))
    assert finding == f"Near the checkpoint, autograd {title}"


# -- what the charts show --------------------------------------------------------------------------

def test_what_lies_above_the_axis_of_the_gap_is_named_in_the_key(views):
    draw = views["line"].draw
    one, two = (draw(alpha=0.5, pair=pair, treatment="as it is") for pair in ("one task", "two tasks"))
    assert ("", "above the axis: strangers at the output") in one.key and len(two.key) == 2
    assert np.isnan(one.values[starts.STRANGERS][-1]) and np.isfinite(two.values[starts.STRANGERS]).all()


def test_the_start_with_true_labels_knows_digits_and_the_one_with_random_labels_does_not(sweeps, views):
    knows = views["shuffled"].frame.values["knows"]
    assert list(knows) == [sweeps[labels].knows.sel(start=labels.fraction_name(share)).item()
                           for share in labels.FRACTIONS]
    assert knows[0] > 0.7 and knows[-1] < 0.15


def test_the_curvature_is_shown_with_its_sign_and_sizes_without(sweeps, views):
    values, sweep = views["sides"].frame.values, sweeps[theorem]
    assert values["measured"] == pytest.approx(theorem.bending(sweep, "loss").values[::-1])
    assert values["δ"] == pytest.approx(np.abs(sweep.scaled_deviation.sel(function="loss").values[::-1]))
    assert views["sides"].controls["scale"].values[-1] == 1


def test_the_pairs_of_units_fall_from_the_best_to_the_worst(sweeps, views):
    frame = views["units"].draw(rank=1, how=starts.BY_WEIGHTS, layer="layer 2")
    table = sweeps[starts].correlation.sel(how=starts.BY_WEIGHTS, unit_layer="layer 2") / 100
    table = table.transpose("unit", "partner")
    assert frame.values["at its place"][0] == pytest.approx(np.diag(table).max())
    assert frame.values["best"][-1] == pytest.approx(table.values.max(1).min())
    assert np.array(frame.values["cells"]).shape == (30, 30)
