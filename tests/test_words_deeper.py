"""What the notebook for readers of the papers says of language, of sweeps that are made up, and of the same ones made
to say the opposite."""
import re

import numpy as np
import pytest
import xarray

from lessons.kit.noise import WIDE, Difference
from lessons.words.experiment import longer
from lessons.words.experiment.heads import LONG, NEW, PROBE, PULLED, SCALED
from lessons.words.experiment.parts import FROZEN, STARTS
from lessons.words.experiment.texts import GRIDS, SAID, WAYS, forgetting
from lessons.words.panels import forgetting as taking
from lessons.words.panels import papers, parts, pulls, texts
from tests import test_words_panels as made_up
from tests.test_words_panels import ATTRIBUTES, COUNT, TASKS, every_frame

LAYERS = ["encoder 1", "decoder 1", "output"]
PAIRS = ["film and question", "film and customer"]
LAMS = [0.0, 0.25, 0.5, 1.0]


def written(merges=0.5, single=0.7, base=0.5, halfway=0.6, share=0.02, of_all=0.03, outputs=0.5, lost=(0.3, 0.0)):
    """A sweep of texts: every merge is right on this share; midpoints of two on `halfway`; gaps half-way are `share` of
    the distance, `of_all` at the average of all; without half of its vector a task loses this, and the others that."""
    reported = ["θ₀", *GRIDS, "single"]
    right = np.array([base, *[merges] * len(GRIDS), single])[None, :, None] * np.ones((2, 1, len(TASKS)))
    said_by = np.array([0.9, 0.06, 0.04])[:, None, None] * np.ones((1, len(reported), len(TASKS)))
    alphas = np.array([0.0, 0.5, 1.0])
    gap = 0.5 * share * (4 * alphas * (1 - alphas))[None, :, None] * np.ones((2, 1, len(LAYERS)))
    losses = np.full((len(TASKS), len(TASKS)), lost[1]) + np.eye(len(TASKS)) * (lost[0] - lost[1])
    negated = base - np.array(LAMS)[:, None, None] / 0.5 * losses
    counts = {"right": (("way", "reported", "task"), np.round(COUNT * right)),
              "said": (("kind", "reported", "task"), np.round(COUNT * said_by)),
              "majority": ("task", [200, 100, 240]), "outputs": ("task", np.round(200 * outputs * np.ones(3))),
              "between": (("pair", "alpha", "end"), np.full((2, 3, 2), round(COUNT * halfway))),
              "negated": (("lam", "taken", "task"), np.round(200 * negated).clip(0))}
    features = {"gap_mean": (("pair", "alpha", "layer"), gap), "coef_mean": (("pair", "alpha", "layer"), 1 + 0 * gap),
                "own_mean": (("pair", "layer"), np.full((2, 3), 0.5)), "gap_all": ("layer", [0.5 * of_all] * 3),
                "own_all": ("layer", [0.5] * 3), "coef_all": ("layer", [1.0] * 3),
                "length": ("task", [0.1] * 3), "cosine": 0.25}
    attributes = {"test": COUNT, "negated": 200, "held_out": 600,
                  "images": f"200 held-out and {COUNT} test sentences a task, 100 for features"}
    return xarray.Dataset(counts | features, {"way": list(WAYS), "reported": reported, "task": TASKS, "pair": PAIRS,
                                              "kind": list(SAID), "alpha": alphas, "layer": LAYERS, "lam": LAMS,
                                              "taken": TASKS}, ATTRIBUTES | attributes)


def in_parts(words=0.65, rest=0.55, single=0.7, base=0.5):
    """A sweep of parts: all merges from word vectors alone, from the rest, and from all weights between them."""
    reported = ["average", "task_arithmetic", "ties", "tsv", "cart", "θ₀", "single"]
    rows = [[[merges] * 5 + [base, single] for merges in ((words + rest) / 2, words, rest)]] * len(STARTS)
    return xarray.Dataset(
        {"test": (("start", "trained", "reported", "task"), np.array(rows)[..., None] * np.ones(len(TASKS))),
         "length": (("start", "trained", "task"), np.full((2, 3, 3), 0.1)),
         "cosine": (("start", "trained"), np.full((2, 3), 0.1))},
        {"start": list(STARTS), "trained": list(FROZEN), "reported": reported, "task": TASKS},
        ATTRIBUTES | {"held_out": COUNT})


def pulled(new=(0.9, 0.5), probe=(0.4, 0.2), shortened=0.3, distances=(2.0, 1.0), ranks=(0, 8), long=0.4, error=0.01,
           accuracy=(0.7, 0.7)):
    """A sweep of heads: relative gaps at λ = 0 and 50 with a new and a probed head, and without λ but as short; the new
    head goes `distances[0]` far at λ = 0, the probed one `distances[1]`, both half as far at 50."""
    shape = (2, len(ranks), 3, 2, 2)  # task, rank, head, path, lam
    gaps, far = np.full(shape, np.nan), np.full(shape, np.nan)
    for place, (relative, distance) in enumerate(((new, distances[0]), (probe, distances[1]))):
        gaps[:, :, place] = [relative, (relative[0], shortened)]
        far[:, :, place] = [distance, distance / 2]
    gaps[:, :, 2, :, 0], far[:, :, 2, :, 0] = long, 1.0
    dims = ("task", "rank", "head", "path", "lam")
    same = {name: (dims, 0.3 * np.ones(shape)) for name in ("kl", "linear_accuracy", "product_gap")}
    return xarray.Dataset(
        {"gap": (dims, gaps * far), "move": (dims, far), "distance": (dims, far),
         "accuracy": (dims, np.array(accuracy) * np.ones(shape)), "relative_error": (dims, np.full(shape, error)),
         "start_accuracy": (("task", "head"), np.full((2, 3), 0.5)), **same},
        {"task": TASKS[:2], "rank": list(ranks), "head": [NEW, PROBE, LONG], "path": [PULLED, SCALED],
         "lam": [0.0, 50.0]}, ATTRIBUTES | {"images": f"480 training and {COUNT} test sentences a task"})


def numbers_of(page):
    return re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", repr(page))


READINGS = {
    "merging": lambda: texts.reading_of_merging(written()), "failing": lambda: texts.reading_of_failing(written()),
    "negation": lambda: texts.reading_of_negation(written()), "parts": lambda: parts.reading_of_parts(in_parts()),
    "forgetting": lambda: taking.reading_of_forgetting(made_up.between()),
    "lambda": lambda: pulls.reading_of_lambda(pulled()), "cost": lambda: pulls.reading_of_the_cost(pulled()),
    "head": lambda: pulls.reading_of_the_head(pulled()), "length": lambda: pulls.reading_of_the_length(pulled()),
    "lora": lambda: pulls.reading_of_lora(pulled()),
    "task arithmetic": lambda: papers.reading_of_task_arithmetic(made_merges(0.5), written=written())}


def title_of(page):
    return re.search("<b>(.*?)[.?]?</b>", page._repr_html_())[1]


@pytest.mark.parametrize("name", READINGS)
def test_a_reading_has_at_most_six_numbers_and_all_are_known(name):
    page = READINGS[name]()
    assert len(numbers_of(page)) <= 6 and "nan" not in repr(page) and "  " not in repr(page)
    assert not re.search("[0-9]", title_of(page))


@pytest.mark.parametrize("draw", [
    texts.methods_table, texts.reading_of_merging, texts.between, texts.reading_of_failing, texts.negation,
    texts.reading_of_negation, parts.parts_table, parts.parts, parts.reading_of_parts, pulls.lambda_table])
def test_without_a_sweep_it_is_said_how_to_get_one(draw):
    assert 'Set profile = "full"' in repr(draw(None))


# -- text to text ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("numbers, title", [
    ({}, "No merge of all networks is seen to write more right answers than θ₀, but midpoints of two keep more"),
    ({"halfway": 0.5}, "No merge of all networks is seen to write more right answers than θ₀"),
    ({"merges": 0.6}, "Every merge of all networks is seen to write more right answers than θ₀"),
    ({"merges": 0.4, "halfway": 0.4}, "No merge of all networks is seen to write more right answers than θ₀")])
def test_what_merging_all_is_said_to_keep(numbers, title):
    assert title_of(texts.reading_of_merging(written(**numbers))) == title


def test_where_finetuning_gains_nothing_nothing_is_said_to_be_kept():
    page = texts.reading_of_merging(written(single=0.5))
    assert "So what is kept of it is not known" in repr(page) and "Half-way" not in repr(page)


def test_midpoints_keep_a_share_of_what_the_two_tasks_gained():
    kept = texts.kept_by_pairs(written())
    assert kept.share == pytest.approx(0.5)
    weights = np.array([2, 1, 1]) / 4  # film is in both pairs
    errors = [np.sqrt((weights ** 2 * share * (1 - share)).sum() / COUNT) for share in (0.6, 0.7, 0.5)]
    assert kept.error == pytest.approx(np.linalg.norm([errors[0], errors[1] / 2, errors[2] / 2]) / 0.2)


def test_the_table_of_methods_compares_with_the_start_and_says_what_is_noise():
    rows = dict(line.split(": ", 1) for line in repr(texts.methods_table(written(merges=0.51))).splitlines())
    assert rows["each alone"].startswith("right 70.0 ± 1.3, above θ₀ +20.0 ± 2.0, kept 100 %")
    assert "(noise)" in rows["TIES"] and rows["θ₀"].startswith("right 50.0 ± 1.4, above θ₀ –, kept –")
    assert rows["TIES"].endswith(f"{SAID[1]} 6.0, {SAID[2]} 4.0")


@pytest.mark.parametrize("numbers, title", [
    ({}, "The features point nearly in the direction of the mix, in every layer, and reach about as far, also at the "
     "average of all"),
    ({"of_all": 0.3}, "The features point nearly in the direction of the mix, in every layer, and reach about as far, "
     "but not at the average of all"),
    ({"share": 0.3}, "The features do not point in the direction of the mix, in any layer")])
def test_what_the_layers_between_two_networks_are_called(numbers, title):
    view = texts.between(written(**numbers))
    assert view.title == title
    assert view.set(alpha=1.0).title == "At an end the network is A or B itself"


def test_gaps_are_drawn_as_shares_of_the_distance_and_layers_by_name():
    view = texts.between(written(share=0.05, of_all=0.1))
    assert view.frame.values["gap, mean"] == pytest.approx([5, 5, 5])
    assert view.frame.values["gap, all"] == pytest.approx([10, 10, 10])
    assert "logits 5.0 %" in view.alt and "output" not in view.alt


def test_features_that_are_too_short_are_not_said_to_reach_as_far():
    sweep = written()
    sweep["coef_mean"] = 0.8 * sweep.coef_mean
    assert texts.between(sweep).title.endswith("in every layer, also at the average of all")


@pytest.mark.parametrize("numbers, title, therefore", [
    ({}, "CTL holds, and the average still fails", True),
    ({"outputs": 0.65}, "CTL holds, and the average still fails", False),
    ({"merges": 0.65}, "CTL holds", False), ({"share": 0.3}, "CTL does not hold in every layer", False)])
def test_what_fails_where_features_are_linear(numbers, title, therefore):
    page = texts.reading_of_failing(written(**numbers))
    assert title_of(page) == title and ("the mean of the networks’ logits fails, too" in repr(page)) is therefore
    assert ("is not seen to answer better either" in repr(page)) is (numbers != {"outputs": 0.65})


def test_what_is_taken_away_is_what_the_experiment_reads_off():
    sweep = written(lost=(0.3, 0.05))
    ours, theirs = texts.as_taken(sweep), forgetting(sweep)
    for effect, name in zip(taking.EFFECTS, ("own", "others")):
        assert np.allclose(ours.taken.sel(effect=effect).values, theirs[name].transpose("lam", "taken").values)


@pytest.mark.parametrize("lost, title", [
    ((0.3, 0.0), "Tasks fall while the others, in the mean, are not seen to"), ((0.3, 0.2), "No task falls alone"),
    ((0.0, 0.0), "No task is seen to lose without half of its vector")])
def test_which_tasks_can_be_taken_away(lost, title):
    assert title_of(texts.reading_of_negation(written(lost=lost))) == title
    view = texts.negation(written(lost=lost))
    assert view.kicker.endswith("in words") and view.values == {"lam": 1.0, "task": "question"}


# -- parts -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("numbers, title, reading", [
    ({}, "What word vectors learned adds up better than what the rest learned",
     "Where a difference is seen, word vectors add up better than the rest alone"),
    ({"words": 0.55, "rest": 0.65}, "What the rest learned adds up better than what word vectors learned",
     "Where a difference is seen, the rest alone adds up better than word vectors"),
    ({"words": 0.6, "rest": 0.6}, "Whether word vectors alone add up better than the rest is within the noise",
     "Which part adds up better is within the noise"),
    ({"single": 0.5}, "Finetuning is not seen to gain anything, so nothing can be kept",
     "Which part adds up better is within the noise")])
def test_which_part_adds_up(numbers, title, reading):
    sweep = in_parts(**numbers)
    assert parts.parts(sweep).title == title and title_of(parts.reading_of_parts(sweep)) == reading


def test_starts_that_differ_are_not_said_to_agree():
    sweep = in_parts()
    sweep["test"] = xarray.concat([sweep.test.isel(start=[0]), in_parts(0.55, 0.65).test.isel(start=[1])], "start")
    assert title_of(parts.reading_of_parts(sweep)) == "Which part adds up better depends on the start and the method"


def test_the_points_and_the_table_of_parts_show_the_same_shares():
    sweep = in_parts()
    values = parts.parts(sweep).frame.values
    assert [values[part][0] for part in FROZEN] == [[pytest.approx(0.5)], [pytest.approx(0.75)], [pytest.approx(0.25)]]
    low, high = values["word vectors alone"][1:]
    assert high[0] - low[0] == pytest.approx(2 * WIDE * parts.kept(sweep, "pretrained", "word vectors alone",
                                                                   "task_arithmetic").error)
    lines = repr(parts.parts_table(sweep)).splitlines()
    assert len(lines) == 6 and "word vectors alone, θ₀ 50.0, each alone 70.0" in lines[1] and "75 %" in lines[1]


# -- λ, heads, LoRA ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("numbers, title, told", [
    ({}, "λ makes finetuning shorter, and the relative gap smaller at every step", "depends on the setting"),
    ({"shortened": 0.6}, "λ makes finetuning shorter, and the relative gap smaller at every step",
     "So λ does more than shorten"),
    ({"shortened": 0.1}, "λ makes finetuning shorter, and the relative gap smaller at every step",
     "the way that is only shortened is less bent"),
    ({"probe": (0.4, 0.5)}, "λ does not make the relative gap smaller at every step", "only shortened is less bent")])
def test_what_the_pull_is_said_to_do(numbers, title, told):
    page = pulls.reading_of_lambda(pulled(**numbers))
    assert title_of(page) == title and told in repr(page)


@pytest.mark.parametrize("accuracy, title", [
    ((0.7, 0.7), "That the largest λ costs accuracy is within the noise"),
    ((0.7, 0.5), "The largest λ costs accuracy"),
    ((0.5, 0.7), "That the largest λ costs accuracy is within the noise")])
def test_what_the_pull_costs(accuracy, title):
    assert title_of(pulls.reading_of_the_cost(pulled(accuracy=accuracy))) == title


def test_heads_are_compared_at_the_end_and_where_both_have_gone_equally_far():
    page = pulls.reading_of_the_head(pulled(new=(0.9, 0.5), shortened=0.3))
    assert title_of(page) == "With a new head finetuning bends more in every setting, but it goes farther, too"
    assert "larger with a new head in 4 of 4 settings" in repr(page) and "2.0 times as far" in repr(page)
    assert "equally far, it is larger in 0, and smaller in 4" in repr(page)  # 0.3 there against the probe's 0.4
    same = pulls.reading_of_the_head(pulled(distances=(1.0, 1.0)))
    assert title_of(same) == "With a new head finetuning bends more in every setting"
    assert "it is larger in 4, and smaller in 0" in repr(same)
    assert title_of(pulls.reading_of_the_head(pulled(error=1.0))).endswith("is within the noise")


def test_the_relative_gap_on_the_way_is_interpolated_and_unknown_beyond_it():
    (part, *_) = pulls.settings(pulled())
    assert pulls.along_the_way(part, "distance", 1.0) == pytest.approx((0.3, 0.01))
    assert pulls.along_the_way(part, "distance", 1.5)[0] == pytest.approx(0.6)
    assert pulls.along_the_way(part, "distance", 0.5)[0] == pytest.approx(0.15)
    assert np.isnan(pulls.along_the_way(part, "distance", 2.5)[0])


@pytest.mark.parametrize("numbers, title", [
    ({}, "A drawn head as long as the probe is not seen to be more bent than it"),
    ({"long": 0.9}, "A drawn head as long as the probe is more bent than it"),
    ({"ranks": (8,)}, "A drawn head as long as the probe is not seen to be more bent than it")])
def test_what_the_length_of_a_head_does(numbers, title):
    assert title_of(pulls.reading_of_the_length(pulled(**numbers))) == title


def test_a_sweep_without_long_heads_or_with_one_rank_alone_says_so():
    small = pulled(ranks=(8,)).sel(head=[NEW, PROBE])
    assert title_of(pulls.reading_of_the_length(small)) == "A head drawn at random was not made as long here"
    assert "nothing is compared" in repr(pulls.reading_of_lora(small))


@pytest.mark.parametrize("factor, title", [
    (0.5, "LoRA bends finetuning less than tuning all weights"),
    (1.5, "LoRA bends finetuning more than tuning all weights"),
    (1.0, "Whether LoRA bends finetuning more is within the noise")])
def test_lora_is_compared_with_all_weights(factor, title):
    sweep = pulled()
    sweep["gap"] = sweep.gap * xarray.where(sweep["rank"] == 8, factor, 1.0)
    assert title_of(pulls.reading_of_lora(sweep)) == title


def test_tables_of_heads_have_a_row_for_every_setting():
    assert len(repr(pulls.lambda_table(pulled())).splitlines()) == 4
    assert len(repr(pulls.heads_table(pulled())).splitlines()) == 2 * 3
    rows = repr(pulls.beside_the_slides(pulled(accuracy=(0.7, 0.6)))).splitlines()
    first = "slides: RoBERTa, SST-2: distance 0.116, gap 0.613, KL 0.593, relative gap –, accuracy, points −2.3"
    assert rows[0] == first
    assert rows[2].startswith("here: film, new head: distance 0.500, gap 0.278, KL 1.000, relative gap 0.556")
    assert rows[2].endswith("−10.0 ± 3.4") and len(rows) == 2 + 4


# -- the papers --------------------------------------------------------------------------------------------------------

def test_table_2_adds_up_to_the_means_that_the_source_prints():
    means = {"single models": 85.56, "average": 51.34, "task arithmetic": 66.65, "TIES": 64.04, "CART": 70.78}
    for row, mean in means.items():
        assert papers.GLUE.mean(row) == pytest.approx(mean, abs=0.01), row


@pytest.mark.parametrize("own, merges, title", [
    (0.5, 0.5, "Task arithmetic is ahead of the average in some of these networks"),
    (0.55, 0.5, "Task arithmetic is not seen to be ahead of the average in any of these networks")])
def test_where_task_arithmetic_is_ahead(own, merges, title):
    page = papers.reading_of_task_arithmetic(made_merges(own), written=written(merges=merges))
    assert title_of(page) == title and "15.3 points ahead" in repr(page)
    assert ("Where it is most ahead, task vectors are" in repr(page)) is (own == 0.5)


def made_merges(average):
    """As the other tests make them, with length and cosine."""
    sweep = made_up.merged(average=average)
    return sweep.assign(length=("task", [0.05] * 3), cosine=0.1)


def test_where_it_is_most_ahead_the_vectors_are_compared_with_the_others():
    short = papers.reading_of_task_arithmetic(made_merges(0.5), written=written())
    assert "task vectors are the least alike of these" in repr(short)
    both = papers.reading_of_task_arithmetic(made_merges(0.5).assign(length=("task", [0.3] * 3)), written=written())
    assert "task vectors are the longest and the least alike of these" in repr(both)
    other = made_merges(0.5).assign(cosine=0.5)
    assert "neither the longest nor the least alike" in repr(papers.reading_of_task_arithmetic(other,
                                                                                              written=written()))


def test_minilm_finetuned_longer_has_rows_behind_it():
    reported = ["average", "task_arithmetic", "ties", "tsv", "cart", "θ₀", "single"]
    trainings, tasks = list(longer.TRAININGS), ["a", "b"]
    rows = xarray.Dataset({"test": (("training", "reported", "task"), np.full((3, 7, 2), 0.6)),
                           "length": (("training", "task"), np.full((3, 2), 0.02)), "cosine": ("training", [0.1] * 3)},
                          {"training": trainings, "reported": reported, "task": tasks},
                          made_merges(0.5).attrs)
    lines = repr(papers.ahead_table(made_merges(0.5), made_merges(0.5), longer=rows)).splitlines()
    assert [line.partition(":")[0] for line in lines[1:5]] == [
        "MiniLM", *(f"MiniLM, {training}" for training in trainings[1:]), "own encoder"]


def test_every_network_has_a_row_beside_the_published_one():
    lines = repr(papers.ahead_table(made_merges(0.5), made_merges(0.5), None, in_parts(), written())).splitlines()
    assert lines[0].startswith("RoBERTa on GLUE (published, not measured here): average 51.3, task arithmetic above it "
                               "+15.3, TIES above it +12.7, TSV-M above it –, CART above it +19.4")
    assert len(lines) == 1 + 2 + 2 * 2 + 1 and lines[-1].endswith("‖τ‖/‖θ₀‖ 0.100, cos 0.250")


# -- views -------------------------------------------------------------------------------------------------------------

VIEWS = {"between": lambda: texts.between(written()), "negation": lambda: texts.negation(written()),
         "parts": lambda: parts.parts(in_parts())}


@pytest.mark.parametrize("name", VIEWS)
def test_every_setting_is_drawn_with_words_and_its_title_states_no_number(name):
    view = VIEWS[name]()
    for frame in every_frame(view):
        assert frame["title"] and not re.search("[0-9]", frame["title"]) and "nan" not in frame["alt"]
    assert "<img" in str(view.still()) and view.kicker.startswith("Chapter 14") and len(view.tries) == 2


def test_a_lead_within_its_error_is_no_finding():
    assert parts.finding_of_parts(Difference(0.1, 0.06)).endswith("within the noise")
    assert not parts.finding_of_parts(Difference(0.13, 0.06)).endswith("within the noise")
