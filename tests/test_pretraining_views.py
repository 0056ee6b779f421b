"""What the views of chapter 5 say at their settings, beside the numbers of the archived full sweeps."""
import itertools
import re

import numpy as np
import pytest
import torch

from lessons.kit import claims
from lessons.kit.noise import Difference
from lessons.kit.predict import predict
from lessons.pretraining.experiment import curvature as theorem
from lessons.pretraining.experiment import labels, starts
from lessons.pretraining.panels import curvature, drawings
from lessons.pretraining.panels import labels as label_panels
from lessons.pretraining.panels import starts as start_panels


@pytest.fixture(scope="module")
def sweeps():
    return {module: module.run("full", 0) for module in (starts, labels, theorem)}


MADE = {"units": (start_panels.units, starts), "line": (start_panels.along_the_line, starts),
        "time": (start_panels.from_one_start, starts), "shuffled": (label_panels.shuffled, labels),
        "sides": (curvature.both_sides, theorem)}
OPENINGS = {
    "units": "Matched by activations, units at the same place are alike on average, but hardly any are twins",
    "line": "Matching lets strangers mix nearly as linearly as networks from one start",
    "time": "One epoch apart, networks from one random start mix at least as linearly as pretrained ones",
    "shuffled": "For two tasks, images learned by heart leave a larger gap, whatever their labels",
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
    ("line", {"alpha": 0.5, "pair": "two tasks"}),
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
    (0.3, 0, "In their own order, units at the same place are alike on average, but hardly any are twins"),
    (0.3, 0.2, "In their own order, units at the same place are alike on average, and some are twins"),
    (0.3, 0.6, "In their own order, units at the same place are alike on average, and most are twins")])
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
    assert start_panels.finding_of_matching("two tasks", {}, shares(*three)) == title


@pytest.mark.parametrize("high, left, title", [
    (1.3, 0.1, "Matching removes most of the barrier between strangers"),
    (1.3, 0.9, "Matching removes a part of the barrier between strangers"),
    (1.3, 1.25, "Matching removes hardly anything of the barrier between strangers"),
    (0.05, 0.0, "There is hardly a barrier between these strangers")])
def test_what_matching_does_to_a_barrier(high, left, title):
    assert start_panels.finding_of_matching("one task", shares(high, left, 0), {}) == title


@pytest.mark.parametrize("ratios, mix", [
    ((1.0, 0.9), "about as linearly as"), ((1.0, 0.7), "at least as linearly as"), ((1.4, 1.0), "less linearly than"),
    ((1.4, 0.7), "more or less linearly, as one measures, than")])
def test_what_a_random_start_is_called_beside_a_pretrained_one(ratios, mix):
    title = f"Two epochs apart, networks from one random start mix {mix} pretrained ones"
    assert start_panels.finding_of_time("two epochs", ratios) == title


@pytest.mark.parametrize("times, leave", [
    ((7, 3, 3), "leave a larger gap, whatever their labels"), ((1, 1, 1.2), "leave hardly a larger gap"),
    ((1, 1.2, 3), "leave a larger gap with random labels, hardly with true ones"),
    ((7, 1, 3), "leave a larger gap with some labels, hardly with others")])
def test_what_images_learned_by_heart_are_called(times, leave):
    title = f"For one task, images learned by heart {leave}"
    assert label_panels.finding_of_starts("one task, two ways", np.array(times)) == title


@pytest.mark.parametrize("function, derived, measured, title", [
    ("loss", 0.06, (-0.03, -0.04, -0.035), "gets the sign of the loss’s curvature wrong"),
    ("logit", 0.04, (0.06, 0.07, 0.065), "makes the logit’s curvature too small"),
    ("logit", 0.09, (0.06, 0.07, 0.065), "makes the logit’s curvature too large"),
    ("loss, smooth", -0.04, (-0.039, -0.04, -0.041), "has the loss’s curvature right with a smooth ReLU"),
    ("loss", 0.06, (-0.2, 0.3, 0.02), "gets the loss’s curvature to within the noise")])
def test_what_automatic_differentiation_is_called(function, derived, measured, title):
    finding = curvature.finding_of_curvature(function, derived, np.array(measured))
    assert finding == f"Near the checkpoint, autograd {title}"


# -- what the charts show --------------------------------------------------------------------------

def test_what_lies_above_the_axis_of_the_gap_is_named_in_the_key(views):
    draw = views["line"].draw
    one, two = (draw(alpha=0.5, pair=pair) for pair in ("one task", "two tasks"))
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


# -- what the lesson says of the ledger's seeds ----------------------------------------------------

@pytest.fixture(scope="module")
def ledger():
    """ledger(claim, number) -> (seeds,)"""
    return lambda claim, number: np.array(claims.measured()[claim][number])


def test_on_the_ledgers_seeds_matching_removes_most_of_the_barrier(ledger):
    left, before = (ledger("CTL-14", f"one_task_{name}_barrier") for name in ("matched", "strangers"))
    assert len(left) >= 10 and (left < start_panels.MOST * before).all()


def test_on_the_ledgers_seeds_pairs_that_are_apart_for_longer_are_further_apart(ledger):
    for start in ("random", "pretrained"):
        brief, longer = (ledger("CTL-14", f"{time}_{start}_distance") for time in ("one_epoch", "two_epochs"))
        assert (longer > 1.1 * brief).all()


def test_on_the_ledgers_seeds_a_random_start_has_more_gap_after_two_epochs_and_no_larger_share_of_the_distance(ledger):
    lead = {}
    for name in ("one_epoch_gap", "two_epochs_gap", "one_epoch_share", "two_epochs_share"):
        ratios = ledger("CTL-14", f"{name}_ratio")
        lead[name] = Difference.paired(ratios, np.ones(len(ratios)))
    assert not lead["one_epoch_gap"].is_news and not lead["two_epochs_share"].is_news
    assert lead["two_epochs_gap"].is_news and lead["two_epochs_gap"].value > 0
    assert lead["one_epoch_share"].is_news and lead["one_epoch_share"].value < 0


def test_four_ratios_over_the_pretrained_pair_are_a_table_and_told_beyond_the_noise(sweeps, ledger, monkeypatch):
    page, of = start_panels.over_the_pretrained(sweeps[starts]), starts.equally_long(sweeps[starts])
    shares = ledger("CTL-14", "two_epochs_share_ratio")
    error = shares.std(ddof=1) / len(shares) ** 0.5
    told = f"two epochs apart, seed 0 {of['two_epochs_share_ratio']:.2f}, two epochs apart, mean of our {len(shares)} "
    assert told + f"seeds ± standard error {shares.mean():.2f} ± {error:.2f}" in page.text
    words = " ".join(str(page.page).split())
    assert ("the ratio of the gaps after two epochs is larger than 1 beyond the noise and the ratio of the shares "
            "after one epoch is smaller than 1 beyond the noise. For the ratio of the gaps after one epoch and the "
            "ratio of the shares after two epochs, a difference") in words
    same = {"CTL-14": {f"{time}_{what}_ratio": (0.9, 1.1) for time in ("one_epoch", "two_epochs")
                       for what in ("gap", "share")}}
    monkeypatch.setattr(start_panels.claims, "measured", lambda: same)
    words = str(start_panels.over_the_pretrained(sweeps[starts]).page)
    assert "none of the four differs from 1 beyond the noise" in words and "For the" not in words


def test_on_the_ledgers_seeds_the_pretrained_midpoint_is_more_accurate_after_two_epochs_and_mostly_after_one(ledger):
    for time, share in (("two_epochs", 1), ("one_epoch", 0.9)):
        random, pretrained = (ledger("CTL-14", f"{time}_{start}_accuracy") for start in ("random", "pretrained"))
        assert (pretrained > random).mean() >= share
        assert time == "one_epoch" or (pretrained - random)[0] < 0.02  # seed 0


def test_on_the_ledgers_seeds_a_part_of_the_pretrained_midpoints_accuracy_comes_from_more_images(ledger):
    pretrained, brief, longer = (ledger("CTL-14", f"{name}_accuracy") for name in
                                 ("one_epoch_pretrained", "one_epoch_random", "two_epochs_random"))
    at_equal_time, at_equal_images = (Difference.paired(pretrained, random) for random in (brief, longer))
    assert Difference.paired(longer, brief).is_news and at_equal_time.is_news
    assert 0 < at_equal_images.value < at_equal_time.value


def test_on_the_ledgers_seeds_one_pass_over_random_labels_teaches_nothing(ledger):
    assert ledger("CTL-15", "unlearnt_learnt").max() < 0.12, "the share of the most frequent label"


def test_on_the_ledgers_seeds_short_steps_help_after_true_labels_and_less_after_random_ones(ledger):
    usual, gentle = ({start: ledger("CTL-15", f"two_tasks_{start}_{what}") for start in ("shuffled", "true", "normal")}
                     for what in ("gap", "gentle_gap"))
    assert (gentle["true"] < usual["normal"]).all() and (gentle["true"] < usual["true"]).all()
    assert ((usual["shuffled"] - gentle["shuffled"]) > 0.5 * (usual["shuffled"] - usual["normal"])).all(), "mostly"
    assert (gentle["shuffled"] > gentle["normal"]).all() and (gentle["shuffled"] < usual["shuffled"]).all()


def test_on_the_ledgers_seeds_short_steps_take_most_of_the_additional_gap_away(ledger):
    for start in ("shuffled", "true"):
        usual, short = (ledger("CTL-15", f"two_tasks_{start}_{what}") - ledger("CTL-15", f"two_tasks_normal_{what}")
                        for what in ("gap", "gentle_gap"))
        assert (usual > 0).all() and (short < usual / 2).all()


def test_the_order_of_true_and_random_labels_is_told_from_the_ledgers_seeds(ledger):
    true, random = (ledger("CTL-15", f"one_task_{name}_gap") for name in ("true", "shuffled"))
    told = label_panels.reading_of_the_seeds().text
    assert f"{true.mean():.3f} after true labels and {random.mean():.3f} after random ones" in told
    assert f"larger after true labels on {(true > random).sum()} seeds" in told


def test_on_the_ledgers_seeds_an_additional_gap_remains_at_the_normal_distance(ledger):
    for name in ("one_task_shuffled", "two_tasks_shuffled", "two_tasks_true"):
        assert ledger("CTL-15", f"{name}_equal_ratio").min() > 1.25


def test_in_short_steps_the_largest_curvature_allows_the_step_at_every_start(sweeps):
    rate = labels.recipes(0)[labels.NORMAL]["i, gently"].lr
    assert (rate * sweeps[labels].curvature < 2).all()


def test_the_curvature_half_way_fails_after_random_labels_alone(sweeps):
    sweep = sweeps[theorem]
    random = curvature._after_random_labels(sweep)
    assert theorem.r2(sweep.isel(pairs=~random))["half_way"] > max(0.9, theorem.r2(sweep)["half_way"])
    near = [theorem.close(sweep.half_way[of_kind], sweep.deviation[of_kind]) for of_kind in (random, ~random)]
    assert near[0] < 0.25 and near[1] > 0.9


def test_the_curvature_along_the_line_predicts_better_half_way_and_need_not_at_the_checkpoint(sweeps, ledger):
    r2 = theorem.r2(sweeps[theorem])
    assert r2["at_start"] < r2["product"] < r2["half_way"]
    assert (ledger("CTL-17", "half_way_r2") > ledger("CTL-17", "product_r2")).all()


def test_of_two_predictors_one_is_better_where_the_interval_of_the_difference_leaves_out_0(sweeps, monkeypatch):
    anew = {name: np.zeros(100) for name in theorem.predictors(sweeps[theorem])}
    monkeypatch.setattr(theorem, "r2_anew", lambda sweep: anew)
    for shift, verdict in ((0.0, "within the noise"), (0.3, "the first is higher"), (-0.3, "the first is lower")):
        anew["at_start"] = np.full(100, shift)
        lines = curvature.reading_of_the_regressions(sweeps[theorem]).text.splitlines()
        line, = (line for line in lines if line.startswith("dᵀHd at the checkpoint minus the product: "))
        assert line.endswith(f"verdict {verdict}")


def test_the_second_order_term_of_the_loss_is_too_small_for_the_networks_as_trained(sweeps):
    assert 0 < theorem.theorem(sweeps[theorem], "loss")["second"] < 0.75


def test_the_sign_is_told_for_pairs_after_random_labels_and_for_others(sweeps):
    sweep = sweeps[theorem].copy(deep=True)
    random = curvature._after_random_labels(sweep)
    sweep["half_way"][:] = np.where(random, -1, 1) * sweep.deviation
    told = curvature.reading_of_the_sign(sweep)
    assert f"opposite signs for {random.sum()} of the {random.sum()} pairs" in told.text
    assert f"and for 0 of the {(~random).sum()} other pairs" in told.text and "even the sign" in str(told.page)


def test_on_the_ledgers_seeds_activation_matching_reaches_the_gap_of_pretrained_pairs_that_are_apart_as_long(ledger):
    ratios = ledger("CTL-14", "activation_matching_gap") / ledger("CTL-14", "two_epochs_pretrained_gap")
    assert abs(ratios.mean() - 1) < ratios.std(ddof=1) / len(ratios) ** 0.5
    by_weights = ledger("CTL-14", "weight_matching_gap") / ledger("CTL-14", "two_epochs_pretrained_gap")
    assert (by_weights > 1).all()


def test_on_most_of_the_ledgers_seeds_multiplying_by_the_largest_curvature_makes_the_prediction_worse(ledger):
    assert (ledger("CTL-17", "product_over_distance") < 0).mean() >= 0.8


# -- the lesson's readings and pictures ------------------------------------------------------------

@pytest.mark.parametrize("ends, middles, title", [
    ((0.95, 0.96), (0.68,), "The midpoint is far less accurate than both ends"),
    ((0.95, 0.96), (0.9,), "The midpoint is less accurate than both ends"),
    ((0.95, 0.96), (0.94,), "The midpoint is about as accurate as its ends"),
    ((0.95, 0.96), (0.68, 0.94), "Matching brings most of the accuracy back"),
    ((0.95, 0.96), (0.68, 0.75), "Matching brings some of the accuracy back"),
    ((0.95, 0.96), (0.68, 0.68), "Matching does not help here"),
    ((0.95, 0.96), (0.94, 0.95), "The midpoint is about as accurate as its ends")])
def test_what_a_midpoint_is_called(ends, middles, title):
    assert drawings.finding_of_a_midpoint(ends, middles) == title


def test_a_reading_of_one_seed_says_what_the_shares_and_equally_many_images_say(sweeps):
    text = start_panels.reading_of_one_start(sweeps[starts]).text
    of = starts.equally_long(sweeps[starts])
    assert "it was smaller both times" in text and max(of["one_epoch_share_ratio"], of["two_epochs_share_ratio"]) < 1
    assert f"against {of['two_epochs_random_accuracy']:.0%}." in text
    sweep = sweeps[starts].copy(deep=True)
    sweep["own_mean"].loc[{"setting": starts.ONE_START}] /= 2
    assert "it was smaller after one epoch and larger after two" in start_panels.reading_of_one_start(sweep).text


def test_the_ledgers_mean_is_told_where_random_and_true_labels_have_about_the_same(sweeps, ledger):
    random, true = (ledger("CTL-15", f"two_tasks_{name}_over_normal").mean() for name in ("shuffled", "true"))
    text = label_panels.reading_of_by_heart(sweeps[labels]).text
    assert f"{random:.0f}" == f"{true:.0f}" and f"over ten seeds it was about {random:.0f} times for both" in text


def test_short_steps_are_said_to_be_short_enough_only_where_they_are(sweeps):
    sweep = sweeps[labels].copy(deep=True)
    below = "η times the largest curvature is now below 2"
    assert below in label_panels.reading_of_short_steps(sweep).text
    sweep["curvature"][:] = 250.0
    assert below not in label_panels.reading_of_short_steps(sweep).text


def test_short_steps_are_said_to_leave_the_two_closer_only_where_they_do(sweeps):
    sweep, told = sweeps[labels].copy(deep=True), "A and B ended closer to each other."
    assert told in label_panels.reading_of_short_steps(sweep).text
    sweep["gentle_distance"][:] = 2 * sweep.distance
    assert told not in label_panels.reading_of_short_steps(sweep).text


def test_a_wrong_sign_after_random_labels_is_told_where_most_pairs_have_it(sweeps):
    sweep, told = sweeps[theorem].copy(deep=True), "gets even the sign wrong"
    text = curvature.reading_of_slack(sweep).text
    times = np.median(theorem.predictors(sweep)["product"] / np.abs(sweep.deviation.values))
    assert told not in text and f"gives {times:.0f} times the size of δ in the median" in text
    sweep["half_way"][:] = -sweep.half_way
    assert told in curvature.reading_of_slack(sweep).text


READINGS = {start_panels.reading_of_matching: starts, start_panels.reading_of_one_start: starts,
            label_panels.reading_of_by_heart: labels, label_panels.reading_of_distance: labels,
            label_panels.reading_of_overshooting: labels, label_panels.reading_of_short_steps: labels,
            curvature.reading_of_slack: theorem}


@pytest.mark.parametrize("read", READINGS, ids=lambda read: read.__name__)
def test_a_reading_of_the_lesson_has_a_finding_and_at_most_six_numbers(read, sweeps):
    page = read(sweeps[READINGS[read]])
    finding, text = re.fullmatch("<p><b>(.*?)</b>(.*)</p>", str(page.page), flags=re.DOTALL).groups()
    assert not finding.endswith("?") and len(re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", text)) <= 6
    assert "nan" not in text


def test_readings_say_no_more_than_their_numbers_allow(sweeps):
    sweep = sweeps[labels].copy(deep=True)
    sweep["gap_mean"][:], sweep["gentle_gap"][:], sweep["equal_gap"][:] = 0.02, 0.03, 0.01
    sweep["gap_mean"].loc[{"start": labels.NORMAL}] = 0.01
    sweep["curvature"][:] = 5.0
    assert "What short steps do" in str(label_panels.reading_of_short_steps(sweep).page)
    assert "How much of the gap goes with the distance?" in str(label_panels.reading_of_distance(sweep).page)
    assert "How long are the first steps?" in str(label_panels.reading_of_overshooting(sweep).page)
    sweep = sweeps[starts].copy(deep=True)
    sweep["accuracy"][:] = 0.8
    assert "more accurate" not in start_panels.reading_of_one_start(sweep).text


def test_the_rank_correlation_and_the_time_apart_are_told_as_they_are(sweeps):
    sweep = sweeps[labels].copy(deep=True)
    sweep["along"][:] = sweep.gap_mean.mean("layer")
    assert "is +1.0 for one task and +1.0 for two tasks." in str(label_panels.suspects(sweep).page)
    sweep["along"][:] = -sweep.along
    assert "is −1.0 for one task and −1.0 for two tasks." in str(label_panels.suspects(sweep).page)
    sweep = sweeps[starts].copy(deep=True)
    assert "is mostly the time apart" in start_panels.reading_of_time_apart(sweep).text
    sweep["gap_mean"].loc[{"setting": [starts.ONE_START, starts.ONE_START_BRIEFLY]}] *= 3
    assert "mixes the start with the time apart" in start_panels.reading_of_time_apart(sweep).text


def test_a_wrong_sign_close_to_the_checkpoint_is_told_where_it_is_beyond_the_noise(sweeps):
    sweep = sweeps[theorem].copy(deep=True)
    text, lucky = curvature.reading_of_the_theorem(sweep).text, "has the right sign there, although"
    assert "The sign is wrong." in text and lucky in text
    sweep["scaled_deviation"].loc[{"function": "loss", "scale": 1.0}] *= -1
    text = curvature.reading_of_the_theorem(sweep).text
    assert "The sign is wrong." in text and lucky not in text
    sweep["scaled_deviation"].loc[{"function": "loss", "scale": 2.0 ** -6}] *= -2
    assert "Its sign is within the noise." in curvature.reading_of_the_theorem(sweep).text
    sweep["function_along"][:] = -sweep.function_along
    sweep["scaled_deviation"] = sweeps[theorem].scaled_deviation
    text = curvature.reading_of_the_theorem(sweep).text
    assert "The sign is right here." in text and lucky not in text


def test_the_seeds_are_told_as_they_are():
    ratios = start_panels.gap_ratios()
    assert len({len(of_pair) for of_pair in ratios.values()}) == 1
    text = start_panels.reading_of_the_seeds().text
    least = min(ratios["strangers, two epochs apart"])
    assert f"Strangers had more than {int(least)} times the pretrained gap" in text and int(least) < least
    assert "no different within the noise after one epoch and larger in the mean after two epochs" in text
    assert f"{max(ratios['strangers, two epochs apart']):.2f}" in start_panels.on_the_seeds().data


def test_drawings_say_what_they_draw():
    assert "a quarter" in drawings.chords().data
    assert "-1.20" in drawings.steps_on_parabolas().data and "3, 1, 2" in drawings.two_orders().data
    shapes = {"a.weight": (3, 4), "a.bias": (3,), "b.weight": (2, 3)}
    axes = {"a.weight": ["hidden", None], "a.bias": ["hidden"], "b.weight": (None, "hidden")}
    told = "a.weight: rows hidden, columns None; b.weight: rows None, columns hidden"
    assert told in drawings.plan(axes, shapes).data


def test_what_units_see_has_the_correlations_of_the_pairs_at_one_place():
    x = torch.rand(50, 784, generator=torch.Generator().manual_seed(0))
    features = torch.rand(50, 9, generator=torch.Generator().manual_seed(1))
    order = torch.arange(8, -1, -1)
    told = drawings.seen(x, features, features[:, order], order).data
    assert "B, matched: 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00" in told
