"""What the panels of chapter 14 say of sweeps that are made up, and of the same ones made to say the opposite."""
import itertools
import re

import numpy as np
import pytest
import xarray

from lessons.kit.noise import WIDE
from lessons.kit.predict import predict
from lessons.words.experiment.lines import RELATED, TAKEN
from lessons.words.experiment.merges import BY_DIMENSION, BY_NAME, GRIDS
from lessons.words.experiment.poets import WAYS
from lessons.words.panels import bell, costs, ctl, exchanged, forgetting, heads, networks, poets, pretraining

TASKS = ["film", "question", "customer"]
COUNT = 400
ATTRIBUTES = {"source": "sentences", "source_kind": "official", "dataset": "eight tasks of sentences",
              "network": "TextEncoder", "profile": "quick", "seed": 0,
              "images": f"{COUNT} held-out and {COUNT} test sentences a task"}
NEAR = "The features point nearly in the direction of the mix"


def every_frame(view):
    """The frames of all settings of a view."""
    places = itertools.product(*(range(len(control.values)) for control in view.controls.values()))
    return list(view.packed(list(places))["frames"].values())


def merged(curve=(0.5, 0.66, 0.5), average=0.5, directions=(0, 1, 8, 32), single=0.8, **attributes):
    """A sweep of merges: CART at λ = 1 with these accuracies at the directions behind 0, a little less at λ = 2."""
    values = np.array([average, *curve])
    accuracy = np.stack([values, values - 0.01], 1)[None, None, :, :, None] * np.ones((2, 2, 1, 1, len(TASKS)))
    reported = [*GRIDS, "θ₀", "single"]
    test = np.array([average, 0.55, 0.56, 0.67, 0.4, single])[:, None] * np.ones(len(TASKS))
    held = np.full((len(GRIDS), 1, 2), np.nan)
    held[:, 0] = [[0.5, np.nan], [0.4, 0.5], [0.6, 0.5], [0.4, 0.5]]
    value = np.full((len(GRIDS), 1), np.nan)
    value[2] = 0.2
    return xarray.Dataset(
        {"accuracy": (("way", "part", "directions", "lam", "task"), accuracy),
         "test": (("reported", "task"), test), "held": (("searched", "place", "scale"), held),
         "value": (("searched", "place"), value), "majority": ("task", [0.5, 0.2, 0.6])},
        {"way": [BY_NAME, BY_DIMENSION], "part": ["held-out", "test"], "directions": list(directions),
         "lam": [1.0, 2.0], "task": TASKS, "reported": reported, "searched": list(GRIDS), "place": [0],
         "scale": [1.0, 2.0]}, ATTRIBUTES | {"held_out": COUNT * len(TASKS), "width": 64} | attributes)


LAYERS = ("embedding", "block 1", "block 2", "pooled", "output")


def between(share=0.05, deeper=0.05, heads=((0.7, 0.5), (0.8, 0.6)), layers=LAYERS):
    """A sweep of lines: the gap half-way is `share` of the distance in the first block and `deeper` behind it; accuracy
    under its own and the other's head at every α."""
    alphas, pairs = np.array([0.0, 0.5, 1.0]), ["question and film", "customer and film", "customer and question"]
    of_layers = np.array([0.0, share, *[deeper] * (len(layers) - 2)])
    spread = np.array([0.9, 1.0, 1.1])
    gap = 0.5 * (4 * alphas * (1 - alphas))[None, :, None] * of_layers * spread[:, None, None]
    taken = np.zeros((len(TAKEN), len(TASKS), 2))
    taken[..., 0], taken[..., 1] = 0.6 - 0.3 * np.array(TAKEN)[:, None], 0.6
    return xarray.Dataset(
        {"gap_mean": (("pair", "alpha", "layer"), gap), "own_mean": (("pair", "layer"), np.full((3, len(layers)), 0.5)),
         "exchanged": (("alpha", "of", "head"), np.repeat(np.array(heads)[None], 3, 0)),
         "taken": (("taken_lam", "task", "effect"), taken), "majority": ("task", [0.5, 0.2, 0.6])},
        {"alpha": alphas, "pair": pairs, "layer": list(layers), "of": list(RELATED), "taken_lam": list(TAKEN),
         "task": TASKS, "head": ["its own", "the other's"], "effect": ["its own task", "the others"]},
        ATTRIBUTES | {"images": f"100 test sentences a task for features, {COUNT} for accuracies"})


def starts(merges_at=(0.5, 0.7), singles=(0.8, 0.8), bases=(0.4, 0.4)):
    """A sweep of starts with these accuracies of CART, the single networks and θ₀; TSV-M a little above CART."""
    rows = {"average": np.array(merges_at) - 0.05, "task_arithmetic": merges_at, "ties": merges_at,
            "tsv": np.array(merges_at) + 0.01, "cart": merges_at, "θ₀": bases, "single": singles}
    test = np.array(list(rows.values())).T[:, :, None] * np.ones(len(TASKS))
    return xarray.Dataset({"test": (("amount", "reported", "task"), test)},
                          {"amount": ["none", "all once"], "reported": list(rows), "task": TASKS}, ATTRIBUTES)


def tuned(new=(0.9, 0.88), probe=(0.3, 0.28), distance=((2.0, 1.0), (1.0, 0.5)), error=0.02, alone=None):
    """A sweep of heads with these relative gaps and distances at λ = 0 and 10; shortened without λ, the relative gap is
    `alone` with both heads, else as at λ = 0."""
    def everywhere(rows):
        rows = np.array(rows)[None, None, :, None, :]
        along = np.concatenate([rows, rows[..., [0, 0]]], 3)
        return ("task", "rank", "head", "path", "lam"), along * np.ones((2, 2, 1, 1, 1))

    dims, gap = everywhere(0.5 * np.array((new, probe)))
    if alone is not None:
        gap[:, :, :, 1, 1] = 0.5 * alone
    return xarray.Dataset({"distance": everywhere(distance), "gap": (dims, gap),
                           "move": everywhere(np.full((2, 2), 0.5)),
                           "relative_error": everywhere(np.full((2, 2), error)),
                           "accuracy": everywhere([(0.75, 0.7), (0.76, 0.76)])},
                          {"task": TASKS[:2], "rank": [0, 8], "head": [heads.NEW, heads.PROBE],
                           "path": [heads.PULLED, heads.SCALED], "lam": [0.0, 10.0]},
                          ATTRIBUTES | {"images": f"480 training and {COUNT} test sentences a task"})


def written(middle=(1.5, 1.5), ends=((1.4, 2.0), (2.0, 1.4)), beyond=(2.5, 2.5)):
    """A sweep of letters: losses on plays and presidents half-way, at α = 1 and 0, and beyond both ends."""
    alphas = [-0.5, 0.0, 0.5, 1.0, 1.5]
    means = np.array([beyond, ends[1], middle, ends[0], beyond])
    noise = np.random.default_rng(0).normal(0, 0.2, (2, 50)), np.random.default_rng(1).normal(0, 0.01, (5, 2, 50))
    loss = means[:, :, None] + noise[0] + noise[1]
    return xarray.Dataset({"loss": (("alpha", "text", "piece"), loss),
                           "mixed": (("way", "text", "piece"), loss[[2, 2]])},
                          {"alpha": alphas, "text": ["plays", "presidents"], "way": list(WAYS)},
                          ATTRIBUTES | {"images": "50 test pieces of 64 letters of each text"})


MINILM = {"directions": (0, 4, 31, 200), "width": 384, "network": "MiniLM"}
VIEWS = {"bell": lambda: bell.bell(merged()), "bell of two": lambda: bell.bell(merged(), merged(**MINILM)),
         "ctl": lambda: ctl.ctl(between()),
         "ctl of two": lambda: ctl.ctl(between(), between(layers=("embedding", "layer 1", "layer 2", "layer 3"))),
         "exchanged": lambda: exchanged.exchanged(between(), between()),
         "exchanged without guesses": lambda: exchanged.exchanged(between().drop_vars("majority")),
         "forgetting": lambda: forgetting.forgetting(between()),
         "pretraining": lambda: pretraining.pretraining(starts()), "heads": lambda: heads.heads(tuned()),
         "poets": lambda: poets.poets_loss(written())}


@pytest.mark.parametrize("name", VIEWS)
def test_every_setting_is_drawn_with_words_and_its_title_states_no_number(name):
    view = VIEWS[name]()
    for frame in every_frame(view):
        assert frame["title"] and not re.search("[0-9]", frame["title"]) and "nan" not in frame["alt"]
    assert "<img" in str(view.still())
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) <= 1
    assert view.kicker.startswith("Chapter 14") and len(view.tries) == 2


@pytest.mark.parametrize("make, sweeps, truth, where", [
    (ctl.ctl, (between(deeper=0.1), between()), 10.0, {"alpha": 0.5, "network": "own encoder"}),
    (ctl.ctl, (between(deeper=0.1),), 10.0, {"alpha": 0.5}),
    (bell.bell, (merged(),), 0.66, {"lam": bell.HELD_OUT, "way": BY_NAME}),
    (pretraining.pretraining, (starts(),), 1, {"start": "all once", "method": "cart"})])
def test_a_view_that_asks_first_knows_the_answer_and_shows_nothing_of_it(make, sweeps, truth, where):
    guess = predict("?", high=100)
    view = make(*sweeps, prediction=guess)
    assert guess.truth == pytest.approx(truth) and guess.at == where
    shown = {mark.name for chart in view.charts for mark in chart.marks if mark.kind not in ("star", "handle")}
    assert shown - set(view.hides) <= {"near", "alone", "average", "feet", "all", "none"}
    assert [mark.kind for chart in view.charts for mark in chart.marks].count("star") == 1


def test_the_question_of_the_bell_tells_what_lies_around_it():
    assert "right on 50 %, and each encoder alone on its own task on 80 %" in bell.question(merged())


@pytest.mark.parametrize("name", VIEWS)
def test_a_chart_has_at_most_three_coloured_lines(name):
    for chart in VIEWS[name]().charts:
        roles = [mark.role for mark in chart.marks if mark.kind == "line" and not mark.dashed]
        assert len({*roles} - {"other", "single", "chance"}) <= 3


# -- the bell ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("curve, title", [
    ((0.5, 0.66, 0.5), "CART beats the average, and is worse with the fewest and the most directions tried"),
    ((0.65, 0.66, 0.5), "CART beats the average, and is worse with the most directions tried"),
    ((0.5, 0.66, 0.65), "CART beats the average, and is worse with the fewest directions tried"),
    ((0.65, 0.66, 0.65), "CART beats the average, but how many directions are best is within the noise"),
    ((0.5, 0.51, 0.5), "CART is within the noise of the average"),
    ((0.3, 0.51, 0.5), "CART is within the noise of the average, and too few directions lose accuracy"),
    ((0.3, 0.35, 0.3), "CART is below the average here")])
def test_what_the_curve_of_cart_is_called(curve, title):
    assert bell.bell(merged(curve)).title == title


def test_a_gain_is_called_one_where_it_is_two_standard_errors():
    error = np.sqrt(2 * 0.25 / COUNT / len(TASKS))
    assert bell.bell(merged((0.5, 0.5 + 0.9 * WIDE * error, 0.5))).title == "CART is within the noise of the average"
    assert bell.bell(merged((0.5, 0.5 + 1.1 * WIDE * error, 0.5))).title.startswith("CART beats the average")


def test_directions_and_lambda_are_chosen_on_held_out_sentences_and_told_on_test():
    sweep = merged()
    sweep.accuracy.loc[{"part": "held-out", "directions": 32, "lam": 2.0}] = 0.9
    sweep.accuracy.loc[{"part": "test", "directions": 32, "lam": 2.0}] = 0.31
    cart = bell.curve(sweep, BY_NAME)
    assert cart.place == 2 and list(cart.lams) == [1.0, 1.0, 2.0] and cart.test[2] == pytest.approx(0.31)
    view = bell.bell(sweep)
    assert view.title == "CART is below the average here"
    assert view.frame.values["choice"] == ([50.0], [pytest.approx(0.31)])
    assert "Held-out sentences choose 50.0 %: 0.310" in view.alt
    assert view.set(lam=1.0).title.startswith("CART beats the average")


def test_networks_of_several_widths_have_shares_of_their_own():
    view = bell.bell(merged(), merged((0.5, 0.5, 0.5), **MINILM)).set(network=networks.MINILM)
    assert view.title == "CART is within the noise of the average"
    lines = {mark.name: mark for mark in view.marks if mark.kind == "line"}
    assert lines["CART, MiniLM"].x == pytest.approx((100 * 4 / 384, 100 * 31 / 384, 100 * 200 / 384))
    assert np.isnan(view.frame.values["CART, own encoder"]).all()
    assert "TextEncoder" in view.caption and "; MiniLM" in view.caption


def test_a_network_with_one_way_to_choose_matrices_is_shown_for_both():
    minilm = merged(**MINILM).sel(way=[BY_NAME])
    view = bell.bell(merged(), minilm).set(network=networks.MINILM, way=BY_DIMENSION)
    assert view.title == "CART beats the average, and is worse with the fewest and the most directions tried"


def test_the_table_has_every_method_with_errors_and_says_what_is_noise():
    lines = repr(bell.methods_table(merged())).splitlines()
    table = dict(line.split(": ", 1) for line in lines)
    assert table["always the most frequent class"].startswith("accuracy 43.3")
    assert table["TSV-M"] == "accuracy 67.0 ± 1.4, above the average +17.0 ± 2.0, chosen λ 2"
    assert table["TIES"].endswith("above the average +6.0 ± 2.0, chosen λ 1, density 0.2")
    assert table["CART, all matrices"].endswith("+16.0 ± 2.0, chosen λ 1, 12.5 % of the directions")
    assert table["average"].startswith("accuracy 50.0 ± 1.4, above the average –")
    weak = dict(line.split(": ", 1) for line in repr(bell.methods_table(merged(average=0.54))).splitlines())
    assert "+2.0 ± 2.0 (noise)" in weak["TIES"]


# -- along the line ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("share, deeper, title", [
    (0.05, 0.05, f"{NEAR}, in every layer and for every pair"),
    (0.02, 0.05, f"{NEAR}, in every layer and for every pair, least so in block 2"),
    (0.02, 0.145, f"{NEAR}, in every layer, least so in block 2"),
    (0.2, 0.05, f"{NEAR}, but not in block 1"), (0.05, 0.2, f"{NEAR}, but not in 3 of the layers")])
def test_what_the_layers_are_called(share, deeper, title):
    view = ctl.ctl(between(share, deeper))
    assert view.title.replace("3 of", "three of") == title.replace("3 of", "three of")
    assert view.set(alpha=1.0).title == "At an end the network is A or B itself"


def test_gaps_are_shares_of_the_distance_between_the_ends():
    view = ctl.ctl(between(0.05, 0.1))
    assert view.frame.values["mean of the pairs, own encoder"] == pytest.approx([0, 5, 10, 10, 10])
    assert view.frame.values["last block"] == pytest.approx([0, 10, 0])
    assert np.array(view.frame.values["pairs"])[:, 1] == pytest.approx([9, 11])
    assert "The pair with the largest share in any layer is customer and question, 11.0 % in block 2." in view.alt


def test_embeddings_that_stay_as_they_are_have_no_share():
    sweep = between()
    sweep.own_mean.loc[{"layer": "embedding"}] = 0
    view = ctl.ctl(sweep)
    assert view.title == f"{NEAR}, in every layer and for every pair"
    assert np.isnan(view.frame.values["mean of the pairs, own encoder"][0])
    assert "embedding" not in view.alt and "nan" not in view.alt


def test_layers_of_several_depths_share_an_axis():
    assert ctl.depths(["embedding", "block 1", "block 2", "pooled", "output"]) == pytest.approx([0, 0.5, 1, 1.5, 2])
    assert ctl.depths(["embedding", *(f"layer {number}" for number in range(1, 7))])[-1] == 1


@pytest.mark.parametrize("accuracies, title", [
    (((0.7, 0.5), (0.8, 0.6)), "Both tasks need their own head; no exchanged head is seen to beat guessing"),
    (((0.7, 0.6), (0.8, 0.72)), "Both tasks need their own head; both exchanged heads beat guessing"),
    (((0.7, 0.5), (0.68, 0.67)), "Film needs its own head, on customer the two are within the noise; on customer "
     "alone the exchanged head beats guessing"),
    (((0.7, 0.69), (0.68, 0.67)), "On both tasks the two heads are within the noise; both exchanged heads beat "
     "guessing"),
    (((0.5, 0.5), (0.6, 0.6)), "On both tasks the two heads are within the noise; no exchanged head is seen to beat "
     "guessing"),
    (((0.5, 0.7), (0.6, 0.6)), "On film the other task’s head is better; on film alone the exchanged head beats "
     "guessing")])
def test_what_exchanged_heads_are_called(accuracies, title):
    assert exchanged.exchanged(between(heads=accuracies)).title == title


def test_without_the_most_frequent_answer_nothing_is_said_of_guessing():
    view = exchanged.exchanged(between().drop_vars("majority"))
    assert view.title == "Both tasks need their own head" and "most frequent" not in view.alt
    assert view.frame.values["film, head of customer"] == pytest.approx([0.5] * 3)
    assert view.frame.values["customer, head of customer"] == pytest.approx([0.8] * 3)


# -- forgetting --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mine, others, title", [
    ((0.6, 0.3), (0.6, 0.6), "Question is worse without its vector, and the others are not seen to lose"),
    ((0.6, 0.3), (0.6, 0.5), "Question is worse without its vector; the others lose too, but less"),
    ((0.6, 0.5), (0.6, 0.5), "Question is worse without its vector; the others lose too, and which lose more is within "
     "the noise"),
    ((0.6, 0.5), (0.6, 0.3), "Question is worse without its vector; the others lose too, and more"),
    ((0.6, 0.6), (0.6, 0.3), "Question is not seen to lose without its vector, but the others are"),
    ((0.6, 0.59), (0.6, 0.6), "Question is not seen to lose without its vector, nor are the others"),
    ((0.6, 0.6), (0.6, 0.6), "With nothing taken away, this is θ₀ itself")])
def test_what_taking_a_task_away_is_called(mine, others, title):
    assert forgetting.finding_of_taking_away("question", mine, others, COUNT, COUNT * 2) == title


def test_what_is_lost_is_lost_from_the_start():
    view = forgetting.forgetting(between())
    assert view.values == {"lam": 1.0, "task": "question"}
    lost, rows = view.frame.values["each by its own"]
    assert lost == pytest.approx([30] * 3) and list(rows) == [2, 1, 0]
    assert "question 30.0" in view.alt and "accuracy on question 0.300 (θ₀ 0.600)" in view.alt
    assert view.set(lam=0.0).title == "With nothing taken away, this is θ₀ itself"


# -- starts, heads, letters --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("sweep, title", [
    (starts(), "From this start, merging keeps the largest part of what finetuning gained"),
    (starts((0.7, 0.5)), "From this start, merging keeps less of what finetuning gained than from the best start"),
    (starts((0.6, 0.61)), "From this start, merging keeps as much as from any other start of what finetuning gained"),
    (starts((0.61, 0.6)), "From this start, merging keeps about as much of what finetuning gained as from the best "
     "start"),
    (starts((0.5, 0.5), (0.8, 0.4), (0.4, 0.4)), "Finetuning is not seen to gain anything, so nothing can be kept")])
def test_what_pretraining_is_said_to_do(sweep, title):
    assert pretraining.pretraining(sweep).title == title


def test_a_better_start_alone_does_not_make_models_add_better():
    """All accuracies 0.15 higher: merged over single rises, the share of what finetuning gained does not."""
    view = pretraining.pretraining(starts((0.5, 0.65), (0.7, 0.85), (0.4, 0.55)))
    assert view.title == ("From this start, merging keeps about as much of what finetuning gained as from the best "
                          "start")
    assert view.frame.values["share"] == pytest.approx([1 / 3, 1 / 3])


def test_the_error_of_a_share_is_that_of_many_repetitions():
    generator, rates = np.random.default_rng(0), np.array([0.6, 0.8, 0.4])
    right = generator.binomial(COUNT, rates[:, None, None], (3, 4000, len(TASKS))) / COUNT
    merged_ones, singles, bases = right.mean(2)
    spread = ((merged_ones - bases) / (singles - bases)).std()
    kept = pretraining.Kept.of(*(np.full(len(TASKS), rate) for rate in rates), COUNT)
    assert kept.share == pytest.approx(0.5) and kept.error == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("sweep, title", [
    (tuned(), "λ makes the way shorter, but how straight it is depends more on the head"),
    (tuned((0.9, 0.3), (0.88, 0.3)), "λ makes the way shorter, and straighter; shortening alone does less"),
    (tuned((0.9, 0.3), (0.88, 0.3), alone=0.31), "λ makes the way shorter, and straighter; shortening alone does as "
     "much, within the noise"),
    (tuned((0.9, 0.3), (0.88, 0.3), alone=0.1), "λ makes the way shorter, and straighter; shortening alone does more"),
    (tuned((0.9, 0.3), (0.88, 0.4), alone=0.35), "λ makes the way shorter, and straighter; shortening alone does as "
     "much, within the noise"),
    (tuned((0.9, 0.2), (0.88, 0.35), alone=0.35), "λ makes the way shorter, and straighter; whether more "
     "than by shortening alone depends on the head"),
    (tuned((0.9, 0.88), (0.9, 0.3)), "λ makes the way shorter, but straighter with the probed head alone"),
    (tuned((0.9, 0.88), (0.9, 0.88)), "λ makes the way shorter, but is not seen to make it straighter"),
    (tuned(error=0.4), "λ makes the way shorter, but is not seen to make it straighter"),
    (tuned(distance=((1, 1), (1, 1))), "λ does not make the way shorter, but how straight it is depends more on the "
     "head"),
    (tuned((0.3, 0.28), (0.9, 0.88), ((2, 1), (1, 1))), "λ makes the way shorter with the new head alone, but is not "
     "seen to make it straighter"),
    (tuned((0.3, 0.1), (0.9, 0.7), ((1, 1), (1, 1))), "λ does not make the way shorter, but straighter; shortening "
     "alone does less"),
    (tuned((0.9, 0.9), (0.9, 0.9), ((1, 1), (1, 1))), "λ does not make the way shorter, nor straighter")])
def test_what_heads_are_called(sweep, title):
    assert heads.heads(sweep).title == title


def test_the_right_chart_shows_what_is_asked_for():
    view = heads.heads(tuned()).set(quantity="accuracy")
    assert view.frame.values["right, new"] == pytest.approx([0.75, 0.7])
    low, high = view.frame.values["sure, new"]
    assert (high - low)[0] == pytest.approx(2 * WIDE * np.sqrt(0.75 * 0.25 / COUNT))
    low, high = view.set(quantity="relative").frame.values["sure, probe"]
    assert (low, high) == (pytest.approx([0.26, 0.24]), pytest.approx([0.34, 0.32]))
    assert view.frame.values["as short, probe"] == pytest.approx([0.3, 0.3])
    assert "Probed head: distance 0.5, gap 0.14, relative gap 0.28 ± 0.02, accuracy 0.760" in view.alt


@pytest.mark.parametrize("middle, title", [
    ((1.5, 1.5), "On both texts together, this network is better than either end"),
    ((1.9, 1.9), "On both texts together, this network is worse than either end"),
    ((1.7, 1.7), "On both texts together, this network is within the noise of both ends")])
def test_what_the_network_between_two_writers_is_called(middle, title):
    assert poets.poets_loss(written(middle)).title == title


@pytest.mark.parametrize("ends, title", [
    (((1.4, 2.0), (2.2, 1.8)), "better than the end of presidents, within the noise of plays"),
    (((1.4, 1.6), (2.2, 1.2)), "worse than the end of plays, within the noise of presidents"),
    (((1.4, 1.6), (2.2, 1.6)), "better than the end of presidents, but worse than that of plays")])
def test_ends_that_are_not_equally_good_are_told_apart(ends, title):
    assert poets.poets_loss(written((1.7, 1.7), ends)).title == f"On both texts together, this network is {title}"


def test_ends_and_what_lies_beyond_them_are_compared_on_their_own_text():
    view = poets.poets_loss(written())
    assert view.set(alpha=1.0).title == view.set(alpha=0.0).title == "Each end is better on its own text"
    assert view.set(alpha=1.5).title == "Beyond the end, even plays are predicted worse"
    assert view.set(alpha=-0.5).title == "Beyond the end, even presidents are predicted worse"
    other = poets.poets_loss(written(ends=((2.0, 1.4), (1.4, 2.0)), beyond=(1.0, 1.0)))
    assert other.set(alpha=1.0).title == "That each end is better on its own text is within the noise"
    assert other.set(alpha=1.5).title == "Beyond the end, plays are predicted better still"


def test_the_mean_is_drawn_above_the_better_end_with_paired_errors():
    sweep = written(ends=((1.4, 2.0), (2.2, 1.8)))
    view = poets.poets_loss(sweep)
    difference = sweep.loss.sel(alpha=0.5) - sweep.loss.sel(alpha=1.0)
    above = view.frame.values["above"]
    assert above[2] == pytest.approx(float(difference.mean())) and above[3] == 0
    assert np.isnan(above[[0, 4]]).all()
    low, high = np.array(view.frame.values["sure of above"])
    errors = difference.std("piece", ddof=1) / np.sqrt(50)
    assert (high - low)[2] == pytest.approx(2 * WIDE * float(np.sqrt((errors ** 2).sum()) / 2))


# -- what they share ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("images, count", [("400 held-out and 1,500 test sentences a task", 1500),
                                           ("100 test sentences a task for features, 400 for accuracies", 400)])
def test_a_sweep_says_how_many_sentences_it_rests_on(images, count):
    assert networks.sentences(xarray.Dataset(attrs={"images": images})) == count


def test_a_sweep_that_does_not_say_how_many_sentences_is_refused():
    with pytest.raises(ValueError, match="the sweep's attribute images must say .*, not '50 pieces'"):
        networks.sentences(xarray.Dataset(attrs={"images": "50 pieces"}))


def test_the_error_of_a_mean_over_tasks_is_that_of_many_repetitions():
    generator, rates = np.random.default_rng(0), np.array([0.9, 0.5, 0.2])
    means = (generator.binomial(COUNT, rates, (4000, 3)) / COUNT).mean(1)
    assert networks.error_of_mean(rates, COUNT) == pytest.approx(means.std(), rel=0.05)


def test_the_cost_of_choosing_is_drawn_in_points_with_that_of_chance():
    page = costs.costs({60: 0.014, 400: 0.009}, at_random=0.018)._repr_html_()
    assert "60 sentences 1.4, 400 sentences 0.9; a rank at random 1.8" in page
    assert costs.finding_of_costs(0.014, 0.018).endswith("only a little better than chance")
    assert costs.finding_of_costs(0.005, 0.018).startswith("Choosing is better than chance")


@pytest.mark.parametrize("draw", [pretraining.pretraining, lambda sweep: pretraining.pretraining(sweep, None),
                                  forgetting.reading_of_forgetting])
def test_what_the_repository_lacks_is_said(draw):
    assert "Measured in profile “full” alone" in repr(draw(None))


def test_the_bell_stands_on_the_average_at_both_ends():
    view = bell.bell(merged(), merged(**MINILM))
    ticks = view.charts[0].x.ticks
    (nothing, everything), heights = view.frame.values["feet"]
    assert ticks[nothing] == "none" and ticks[everything] == "all" and heights == [0.5, 0.5]
