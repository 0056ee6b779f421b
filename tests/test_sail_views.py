"""What the views of chapters 9 and 10 say at all settings of the archived full sweeps, and the rules of titles."""
import itertools
import math
import re

import numpy as np
import pytest
import torch
import xarray

from lessons.kit import claims
from lessons.kit.noise import Difference
from lessons.kit.predict import predict
from lessons.kit.view.marks import ROLES
from lessons.sail import experiment
from lessons.sail.experiment import digits, table
from lessons.sail.experiment.width import GROW, SHRINK
from lessons.sail.panels import copies, depth, gamma, playground, rates, spirals, theory, width
from lessons.sail.panels import table as table_panels

MADE = {"spirals": spirals.starts, "gamma": gamma.along, "table": table_panels.beginnings, "width": width.maps,
        "theory": theory.theorem_1, "depth": depth.layers}
OPENINGS = {
    "spirals": "No mixture between these two is a better start than random weights",
    "gamma": "One parent alone has nearly all that the best mixture gains over random weights",
    "table": "SAIL’s mixture is within the noise of the best parent alone, and is ahead of scratch",
    "width": "Number the units anew: whole units give the same, units between neighbours do not",
    "theory": "With one parameter the claim is wrong: a random start is near far more often than it allows",
    "depth": "Shorter steps begin with a lower loss, but in the end no length is clearly more accurate",
    "playground": "The nearest point is not the best start, and which is best depends on the steps"}


@pytest.fixture(scope="module")
def sweeps():
    return {name: getattr(experiment, name).run("full", 0) for name in MADE}


@pytest.fixture(scope="module")
def views(sweeps):
    """All seven, as they open without a prediction."""
    return {name: made(sweeps[name]) for name, made in MADE.items()} | {"playground": playground.line_of_two()}


@pytest.mark.parametrize("name", OPENINGS)
def test_a_view_opens_where_its_finding_is_seen(name, views):
    view = views[name]
    assert view.title == OPENINGS[name]
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) <= 1
    assert all(len(control.texts) <= 6 for control in view.controls.values() if control.kind == "chips")
    assert all(mark.role in ROLES for mark in view.marks) and view.slider


@pytest.mark.parametrize("name", [name for name in OPENINGS if name != "spirals"])
def test_titles_state_no_number_and_alts_no_gap_at_any_setting(name, views):
    view = views[name]
    for values in itertools.product(*(control.values for control in view.controls.values())):
        frame = view.draw(**dict(zip(view.controls, values)))
        assert not re.search(r"[0-9]", frame.title) and "nan" not in frame.alt


@pytest.mark.parametrize("along, title", [
    ([2.5, 1.2, 2.5], OPENINGS["spirals"]),
    ([2.5, 1.0, 2.5], OPENINGS["spirals"]),
    ([1.4, 0.5, 1.4], "Their average is a better start than random weights, though a parent alone is not"),
    ([0.1, 0.3, 0.1], "Every mixture between them beats a random start, but one parent alone beats half-way"),
    ([0.3, 0.1, 0.3], "Every mixture between them beats a random start, and half-way beats both parents"),
    ([0.1, 0.1, 0.1], "Every mixture between them beats a random start, and one parent alone does as well"),
    ([0.1, 1.0, 2.0], "Some mixtures between these two are better starts than random weights, their average is not")])
def test_what_a_pair_on_spirals_is_called(along, title):
    random = np.array([0.95, 1.05, 0.95, 1.05])
    along = np.array([0.01, *along, 0.01])  # what lies beyond them does not count
    assert spirals.finding_of_starts([-1.0, 0.0, 0.5, 1.0, 2.0], along, random) == title


def test_the_plane_shows_what_the_network_takes_points_for(views):
    view = views["spirals"]
    frame = view.draw(gamma=1.0, setting=str(spirals.PAIRS["both classes"]))
    cells = np.array(frame.values["sees the second"])
    assert cells.shape == (spirals.SIDE, spirals.SIDE) and cells.min() < 0.1 and cells.max() > 0.9


def pair(loss, accuracy):
    """One case and start, at γ = −1, 0, ½, 1, 2, after 50 steps; and three random starts, one nat above 0."""
    sweep = xarray.Dataset({name: (("gamma", "steps"), np.array(values)[:, None])
                            for name, values in (("loss", loss), ("accuracy", accuracy))},
                           {"gamma": [-1.0, 0.0, 0.5, 1.0, 2.0], "steps": [50]})
    return sweep, xarray.DataArray(np.array([[0.98], [1.0], [1.02]]), dims=("again", "steps"), coords={"steps": [50]})


@pytest.mark.parametrize("loss, accuracy, title", [
    ([0.5, 0.2, 0.19, 0.4, 0.6], [0.9] * 5, OPENINGS["gamma"]),
    ([1.2, 0.98, 1.2, 0.99, 1.2], [0.1] * 5, "No mixture of these two is a clearly better start than random weights"),
    ([0.9, 0.8, 0.2, 0.8, 0.9], [0.1, 0.1, 0.5, 0.1, 0.1], "Between the parents lie better starts than either of them"),
    ([0.2, 0.8, 0.9, 0.8, 0.3], [0.5, 0.1, 0.1, 0.1, 0.5], "Beyond the parents lie better starts than either of them"),
    ([0.2, 0.8, 0.3, 0.8, 0.3], [0.5, 0.1, 0.4, 0.1, 0.5],
     "Between the parents and beyond them lie better starts than either of them"),
    ([0.9, 0.8, 0.6, 0.8, 0.9], [0.1] * 5,
     "The best mixture has a lower loss than either parent, but is as accurate within the noise")])
def test_what_mixtures_add_to_a_parent(loss, accuracy, title):
    assert gamma.finding_of_gamma(*pair(loss, accuracy), 50)[0] == title


def test_no_share_is_drawn_of_a_gain_that_is_within_the_noise(views):
    frame = views["gamma"].draw(steps=0, pair=f"{digits.THIRDS.name}; {digits.NOTHING}")
    assert np.isnan(frame.values["share"][0]) and np.isfinite(frame.values["share"][1:]).all()
    assert "0: the gain is within the noise, 50: 0.01" in frame.alt


@pytest.mark.parametrize("over_parent, over_scratch, title", [
    (0.1, 0.1, "SAIL’s mixture is ahead of the best parent alone and of scratch"),
    (0.0, 0.0, "SAIL’s mixture is within the noise of the best parent alone and of scratch"),
    (-0.1, -0.1, "SAIL’s mixture is behind the best parent alone and scratch"),
    (0.0, 0.1, OPENINGS["table"]),
    (0.1, -0.1, "SAIL’s mixture is ahead of the best parent alone, but is behind scratch")])
def test_how_sails_mixture_is_placed(over_parent, over_scratch, title):
    assert table_panels.finding_of_starts(Difference(over_parent, 0.01), Difference(over_scratch, 0.01)) == title


def test_leads_have_two_standard_errors_and_what_is_far_off_is_named(views):
    frame = views["table"].draw(steps=0, set_up=table.NEAR.name, rate=table_panels.OWN)
    lead, low, high = np.array(frame.values["SAIL ahead"])[:, 3]
    assert lead == pytest.approx(9.25, abs=0.1) and 2 < high - lead < 3 and high - lead == pytest.approx(lead - low)
    assert ("", "off the right axis: scratch") in frame.key
    assert not any("off the right axis" in text for _, text in views["table"].frame.key)


@pytest.mark.parametrize("accuracies, title", [
    ([0.1, 0.9], "With fresh units the network begins near chance, but ends within the noise of whole units"),
    ([0.9, 0.9], "With fresh units the network begins and ends within the noise of whole units"),
    ([0.8, 0.8], "With fresh units the network begins and ends behind whole units"),
    ([0.9, 0.95],
     "With fresh units the network begins within the noise of whole units, and ends ahead of whole units")])
def test_how_a_map_begins_and_ends(accuracies, title):
    assert width.finding_of_a_map("fresh units", np.array(accuracies), np.array([0.9, 0.9])) == title


def test_what_numbering_the_units_anew_changes(views):
    same, other = np.full(3, 0.9), np.array([0.9, 0.7, 0.8])
    assert width.finding_of_orders(same, other) == OPENINGS["width"]
    assert width.finding_of_orders(other, other) == "Numbering the units anew changes what any of these maps gives"
    assert width.finding_of_orders(same, same) == "Numbering the units anew changes nothing beyond the noise"
    assert views["width"].draw(numbering=3, setting=f"interpolation, {SHRINK}").title == OPENINGS["width"]


def test_where_sums_of_rows_matter():
    say = depth.finding_in_residual
    assert say([0.5, 1.0], np.array([0.3, 0.5]), np.array([0.9, 0.9])) == OPENINGS["depth"]
    assert say([0.5, 1.0], np.array([0.5, 0.5]), np.array([0.5, 0.9])) == \
        "No other length begins clearly better than steps as long as before, and the lengths differ in the end, too"
    plain = "In the plain network mixed layers begin near chance, and"
    assert depth.finding_in_plain(np.array([0.1]), 0.8, 0.9) == f"{plain} end behind its two ends alone"
    assert depth.finding_in_plain(np.array([0.1]), 0.9, 0.9) == \
        f"{plain} end within the noise of its two ends alone"


def test_when_the_nearest_point_is_the_best_start():
    moving = np.array([0.1, 0.5, 1.2])
    assert playground.finding_of_shares(0.5, 0.1, moving) == OPENINGS["playground"]
    assert playground.finding_of_shares(0.5, 0.5, moving).startswith("For this number of steps the nearest point is")
    assert playground.finding_of_shares(0.5, 0.5, np.full(3, 0.5)).endswith("so the nearest point is the best start")
    assert playground.finding_of_shares(0.5, 0.9, np.full(3, 0.9)).endswith("however many steps follow")


def test_the_predictions_are_asked_where_the_views_show_the_answer_and_hide_it(sweeps):
    of_arms = float(experiment.spirals.relative(sweeps["spirals"]).sel(spirals.ASKED))
    of_thirds = gamma.gain_shares(gamma.pairs(sweeps["gamma"])[gamma.ASKED["pair"]], sweeps["gamma"])[1]
    at_once = float(sweeps["width"].numbering_accuracy.sel(direction=GROW)[1, 0])
    accuracy = table.chosen(sweeps["table"]).accuracy.sel(set_up=table.NEAR.name, steps=100)
    lead = 100 * float(accuracy.sel(start=table.SAIL) - accuracy.sel(start=table.BEST))
    for name, truth, mark in (("spirals", of_arms, "mixture"), ("gamma", of_thirds, "share"),
                              ("width", at_once, "between neighbours"), ("table", lead, "SAIL ahead")):
        guess = predict("How much?", low=-10, high=10)
        view = MADE[name](sweeps[name], prediction=guess)
        assert guess.truth == pytest.approx(truth) and mark in view.hides, name
        assert [mark.kind for mark in view.marks].count("star") == 1


def test_the_nearest_mixture_is_marked_by_the_learners_function_and_called_what_it_is(sweeps):
    view = gamma.nearest(sweeps["gamma"], lambda d_a, d_b, d_ab: 0.31)
    assert view.frame.values["nearest"][0] == [0.3], "the measured mixture that is closest to what it says"
    assert "Nearest, by your function, is γ = 0.31" in view.alt
    a, b, apart = gamma.sides(sweeps["gamma"].sel(case=digits.THIRDS.name, start=digits.TWO))
    assert 0 < apart < a + b and a < b + apart
    numbers = {"stop_loss": 1.0, "a_loss": 1.5, "b_loss": 0.4, "lowest": 0.4}
    assert gamma.finding_of_the_nearest(numbers) == "The nearest mixture has a higher loss than the better parent alone"
    assert "also the best one" in gamma.finding_of_the_nearest(numbers | {"b_loss": 1.2, "lowest": 0.95})
    assert "not the best one" in gamma.finding_of_the_nearest(numbers | {"b_loss": 1.2, "lowest": 0.5})


def test_the_right_chart_of_what_mixing_adds_is_drawn_by_the_learners_function(sweeps):
    view = gamma.along(sweeps["gamma"], lambda random, parent, best: 0.25)
    assert set(np.array(view.frame.values["share"]).ravel()) == {0.25}


@pytest.mark.parametrize("reads", ["reading_of_one_parent", "reading_of_certainty"])
def test_readings_on_spirals_state_what_was_measured(sweeps, reads):
    page = getattr(spirals, reads)(sweeps["spirals"]).page
    assert "One parent alone had the whole head start" in page or "Each parent is certain of one class" in page


def test_the_drawing_of_copied_units_says_what_they_pass_on():
    weight, out = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([0.3, -0.5, 0.2])
    page = copies.units(weight, out).data
    assert "with 4 inputs below and an output above. Left, 3 units; unit 2 is green" in page
    assert "its outgoing weight is −0.5000." in page and "half of the outgoing weight, −0.2500." in page


def test_the_best_mixture_moves_unless_all_directions_are_alike():
    panel = playground.line_of_two()
    for condition, moves in ((1, False), (20, True)):
        panel.set(condition=condition)
        shares = {round(float(share), 6) for share in panel.frame.values["share"]}
        assert (len(shares) > 1) is moves


def test_a_triangle_has_its_foot_where_it_is_told_and_other_lengths_are_none():
    assert "γ = 0.64 is marked, which is 2.40 from θ*" in playground.triangle((3.0, 4.0, 5.0), 0.64).data
    assert "γ = -0.62" in playground.triangle((5.0, 1.5, 4.0), -0.62).data
    for sides in ((1.0, 1.0, 3.0), (0.0, 1.0, 1.0), (3.0, 1.0, 1.0)):
        with pytest.raises(ValueError, match="no triangle"):
            playground.triangle(sides, 0.5)


def test_on_the_ledgers_seeds_shuffled_weights_have_most_of_a_parents_gain_after_fifty_steps_and_none_before():
    """The bounds were set on seeds 0 to 5. On seeds 20 to 29, which nobody had used, they held, too."""
    ledger = claims.measured()["SAIL-5"]
    for what in ("brightness", "digits"):
        assert min(ledger[f"unknowing_{what}_50"]) >= 0.55 and min(ledger[f"unknowing_{what}_0"]) >= 0.95


def test_leads_over_copies_on_the_ledgers_seeds_are_drawn_and_told():
    ledger = claims.measured()["SAIL-8"]
    fresh = sorted(100 * np.subtract(ledger["fresh_100"], ledger["copies_100"]))
    assert f"fresh random units: {', '.join(f'{lead:+.1f}' for lead in fresh)}" in width.on_the_seeds().data
    told = width.reading_of_the_end(experiment.width.run("full", 0)).text
    assert f"fresh random units were {fresh[0]:+.1f} to {fresh[-1]:+.1f} points from copies" in told


def test_what_interpolation_loses_and_leads_over_scratch_on_the_ledgers_seeds():
    """The bounds were set on seeds 0 to 5. On seeds 20 to 29, which nobody had used, they held, too."""
    lost, fitted, units, one_rate, larger, own_rates = (np.array(claims.measured()["SAIL-8"][number]) for number in (
        "between_lost", "fitted_lost", "units_fitted_lost", "lead_one_rate", "lead_larger", "lead_own_rates"))
    assert (lost >= 0.08).all() and (fitted <= 0.05).all() and (units <= 0.08).all()
    assert (one_rate >= 0.2).all() and (larger <= 0.15).all() and (own_rates <= 0.15).all()


def test_silent_blocks_and_mixtures_end_alike_on_the_ledgers_seeds():
    ledger = claims.measured()["SAIL-9"]
    ahead = np.subtract(ledger["residual_interpolation_100"], ledger["residual_silent_100"])
    assert abs(ahead.mean()) < 2 * ahead.std(ddof=1) / len(ahead) ** 0.5


def test_what_random_maps_have_beyond_the_size_of_their_weights_on_the_ledgers_seeds():
    """The bounds were set on seeds 0 to 5."""
    ahead, by_outputs, first, svd = (np.array(claims.measured()["SAIL-8"][f"random_{number}"]) for number in (
        "projection_ahead_norms_20", "projection_ahead_outputs_20", "projection_ahead_first_20",
        "svd_ahead_norms_100"))
    assert (ahead >= 0.12).all() and (0.05 <= by_outputs).all() and (by_outputs < ahead).all()
    assert (first <= 0.12).all() and (svd <= 0.03).all()


def test_the_best_sum_at_once_is_larger_if_it_scales_a_whole_block_on_the_ledgers_seeds():
    """The bound was set on seeds 0 to 5."""
    assert min(claims.measured()["SAIL-9"]["best_apart_0"]) >= 0.05


def test_after_300_steps_a_half_is_behind_one_and_its_root_is_not_on_all_seeds():
    ledger = claims.measured()["SAIL-9"]
    for name in ("step_half_over_one_300", "whole_half_over_one_300", "whole_root_over_one_300"):
        assert len(ledger[name]) == 6 and all(0 < value < 0.1 for value in ledger[name]), name
    root = np.subtract(ledger["step_half_over_one_300"], ledger["step_half_over_root_300"])
    assert min(root) < 0 < max(root)


def test_parents_of_different_digits_lead_for_a_hundred_steps_on_the_ledgers_seeds():
    ledger = claims.measured()["SAIL-11"]
    assert len(ledger["halves_parent_100"]) == 6 and max(ledger["halves_parent_100"]) < 0.99


@pytest.mark.parametrize("parents", ["same", "other"])
def test_after_200_steps_no_mixture_of_turned_digits_leads_on_all_of_the_ledgers_seeds(parents):
    ratios = claims.measured()["SAIL-11"][f"{parents}_parent_200"]
    assert len(ratios) == 6 and min(ratios) < 1 < max(ratios)


@pytest.mark.parametrize("sides", [(3.0, 4.0, math.nan), (math.nan, 4.0, 5.0), (3.0, math.inf, math.inf),
                                   (3.0, 4.0, 7.0), (0.0, 4.0, 4.0), (-3.0, 4.0, 5.0)])
def test_no_triangle_is_refused_in_a_sentence(sides):
    with pytest.raises(ValueError, match="are no triangle"):
        playground.triangle(sides, 0.5)


@pytest.mark.parametrize("lead, words", [(0.04, "4 points behind"), (0.008, "1 point behind"),
                                         (-0.003, "level with copies"), (-0.02, "2 points ahead")])
def test_scratch_is_behind_level_or_ahead(lead, words):
    accuracy = np.zeros((4, 6, 1))
    sweep = xarray.Dataset({"accuracy": (("how", "rate", "order"), accuracy)},
                           {"how": list(experiment.rates.STARTS), "rate": list(experiment.rates.Settings().rates)})
    sweep.accuracy.loc[{"how": experiment.rates.COPIES}] = 0.5
    sweep.accuracy.loc[{"how": experiment.rates.LARGER}] = 0.5 - lead
    text = rates.reading_of_rates(sweep).text
    assert f"scratch was {words} at" in text and f"it was {words}." in text
