"""What chapter 14 measures on networks that write their answers, on ones small enough for a test."""
import numpy as np
import pytest
import torch

import data
from data import asked
from lessons.merging import merge
from lessons.suites import PARTS
from lessons.vit.algorithms import matrices
from lessons.words import asking
from lessons.words.experiment import negation, texts
from toy_models import Architecture, Recipe, TextToText, losses
from toy_models.weights import average, cosine, interpolate, norm, scale, subtract

TASKS = ("film", "question", "customer")
TINY = texts.Settings(tasks=TASKS, pretraining=640, size=320, epochs=3, held_out=12, test=24, taken=10, features=8)


def tiny_start(seed=0, size=640):
    architecture = Architecture.of("TextToText", width=16, blocks=1, heads=2)
    return Recipe.on("asked", architecture, options={"size": size, "length": asking.LENGTH, "labelled": 10}, lr=1e-2,
                     epochs=1, batch_size=32, optimiser="adam", loss=losses.WRITTEN_WORDS, seed=seed)


@pytest.fixture(scope="module")
def small(session_sweep):
    with session_sweep((asking, "start", tiny_start), (asking, "FINETUNING_LR", 5e-3)):
        yield texts.load(TINY)


@pytest.fixture(scope="module")
def sweep(small):
    return texts.measured(small, TINY)


def network(state):
    return TextToText.from_state(state)


# -- answers -----------------------------------------------------------------------------------------------------------

def test_an_answer_is_right_word_for_word(small, sweep):
    for task, state in enumerate(small.finetuned):
        x, y = small.test[task]
        said = network(state).answer(x, asked.LONGEST)
        expected = sum(asked.in_words(one) == asked.in_words(other) for one, other in zip(said, y))
        assert sweep.right.sel(way="written", reported="single").values[task] == expected
        assert small.right(state)[task] == expected
    assert 0 < expected < TINY.test, "otherwise the test could not fail"


def test_every_answer_is_of_one_kind_and_the_right_ones_are_the_tasks_own(small, sweep):
    assert (sweep.said.sum("kind") == TINY.test).all()
    assert (sweep.said.sel(kind=texts.SAID[0]) >= sweep.right.sel(way="written")).all()
    x, _ = small.test[0]
    said = [asked.in_words(row) for row in network(small.finetuned[1]).answer(x, asked.LONGEST)]
    as_words = {task: [asked.in_words(row) for row in asked.answers(task)] for task in TASKS}
    counts = texts.counted(small, network(small.finetuned[1]), 0)[2:]
    among = [sum(one in as_words["film"] for one in said),
             sum(one in as_words["question"] + as_words["customer"] for one in said)]
    assert counts.tolist() == [*among, TINY.test - sum(among)]


def test_the_likeliest_answer_has_the_highest_product_of_probabilities(small):
    one, (x, _) = network(small.base), small.test[1]
    answers = texts.answers_of(["question", "customer"])
    chosen = texts.likeliest(one, x[:3], answers)
    for row in range(3):
        totals = []
        for answer in answers:
            logs = one(x[row:row + 1], answer[None])[0].log_softmax(1)
            totals.append(sum(logs[place, word].item() for place, word in enumerate(answer.tolist()) if word))
        assert int(chosen[row]) == int(np.argmax(totals))
    assert len(answers) == 8


def test_who_chooses_says_an_answer_of_the_task(small, sweep):
    x, y = small.test[1]
    own = texts.answers_of(["question"])
    expected = int((own[texts.likeliest(network(small.base), x, own)] == y).all(1).sum())
    assert sweep.right.sel(way="chosen", reported="θ₀", task="question").item() == expected


def test_held_out_and_test_questions_are_other_ones(small):
    for task, name in enumerate(TASKS):
        whole = data.load("asked", "test", task=name, length=asking.LENGTH)
        even, odd = ({tuple(row.tolist()) for row in whole.x[first::2]} for first in (0, 1))
        held, test = ({tuple(row.tolist()) for row in small.of(part)[task][0]} for part in PARTS)
        assert held <= even and test <= odd and not held & test
        assert len(small.held_out[task][1]) == TINY.held_out and len(small.test[task][1]) == TINY.test


# -- merging -----------------------------------------------------------------------------------------------------------

def test_reported_merges_are_those_of_the_library(small, sweep):
    written = sweep.right.sel(way="written")
    assert written.sel(reported="average").values.tolist() == small.right(average(small.finetuned)).tolist()
    assert written.sel(reported="θ₀").values.tolist() == small.right(small.base).tolist()
    held = sweep.held.sel(searched="task_arithmetic", place=0).dropna("scale")
    best = float(held.scale[held.values.argmax()])
    state = merge("task_arithmetic", small.base, small.finetuned, scale=best)
    assert written.sel(reported="task_arithmetic").values.tolist() == small.right(state).tolist()
    assert held.sel(scale=best).item() == pytest.approx(small.share(state, PARTS[0]).mean())
    assert sweep.attrs["held_out"] == 3 * TINY.held_out and sweep.attrs["test"] == TINY.test


def test_cart_truncates_attention_and_mlps_and_averages_the_rest(small):
    merged = texts.truncated_by_name(small.base, small.finetuned)("cart", rank_ratio=1 / 16)(1.5)
    whole = merge("cart", small.base, small.finetuned, rank_ratio=1 / 16, scale=1.5)
    mean = average(small.finetuned)
    named = {key for key, tensor in small.base.items() if matrices.by_name(key, tensor)}
    assert len(named) == 2 * 6 + 4 and "decoder.blocks.0.cross_attention.q.weight" in named
    for key, tensor in merged.items():
        assert torch.allclose(tensor, (whole if key in named else mean)[key], atol=1e-6), key
    assert not torch.allclose(whole["embedding.weight"], mean["embedding.weight"], atol=1e-4)


def test_lengths_and_cosines_are_those_of_the_task_vectors(small, sweep):
    vectors = [subtract(state, small.base) for state in small.finetuned]
    assert sweep.length.values == pytest.approx([norm(vector) / norm(small.base) for vector in vectors])
    pairs = [cosine(vectors[i], vectors[j]) for i in range(3) for j in range(i)]
    assert float(sweep.cosine) == pytest.approx(np.mean(pairs))


# -- lines and negation ------------------------------------------------------------------------------------------------

def test_a_line_has_the_networks_at_its_ends_and_ctl_between_them(small, sweep):
    assert list(sweep.pair.values) == ["film and question", "film and customer"]
    assert list(sweep.layer.values) == ["encoder 1", "decoder 1", "output"]
    assert float(sweep.gap_mean.sel(alpha=[0.0, 1.0]).max()) < 1e-6
    own = sweep.right.sel(way="written", reported="single")
    for pair, other in (("film and question", "question"), ("film and customer", "customer")):
        ends = sweep.between.sel(pair=pair)
        assert ends.sel(alpha=1.0)[0] == own.sel(task="film") and ends.sel(alpha=0.0)[1] == own.sel(task=other)
    x = torch.cat([small.test[task][0][:TINY.features] for task in (0, 1)])
    pair = small.finetuned[:2]
    a, b, middle = (network(state).features(x)["decoder 1"].double() for state in (*pair, interpolate(*pair, 0.5)))
    expected = 1 - torch.cosine_similarity(middle, (a + b) / 2, dim=1).mean().item()
    seen = sweep.gap_mean.sel(pair="film and question", alpha=0.5, layer="decoder 1").item()
    assert seen == pytest.approx(expected, rel=1e-4)


def test_of_all_networks_the_average_is_compared_with_the_mean_of_their_features(small, sweep):
    x = [small.test[task][0][:TINY.features] for task in range(3)]
    each = [torch.cat([network(state).features(some)["encoder 1"] for some in x]).double() for state in small.finetuned]
    middle = torch.cat([network(average(small.finetuned)).features(some)["encoder 1"] for some in x]).double()
    mean = sum(each) / 3
    cosines = [torch.cosine_similarity(each[i], each[j], dim=1).mean().item() for i, j in ((0, 1), (0, 2), (1, 2))]
    seen = sweep.sel(layer="encoder 1")
    gap = 1 - torch.cosine_similarity(middle, mean, dim=1).mean().item()
    reach = ((middle * mean).sum(1) / mean.square().sum(1)).mean().item()
    assert seen.own_all.item() == pytest.approx(1 - np.mean(cosines), rel=1e-4)
    assert (seen.gap_all.item(), seen.coef_all.item()) == pytest.approx((gap, reach), rel=1e-4)


def test_a_chorus_says_the_word_with_the_highest_mean_of_logits(small, sweep):
    x, y = (part[:TINY.taken] for part in small.test[2])
    networks = [network(state) for state in small.finetuned]
    right = 0
    for one, wanted in zip(x, y):
        said = []
        for _ in range(asked.LONGEST):
            given = torch.tensor([[*said, 0]])
            said.append(int(sum(voice(one[None], given)[0, -1] for voice in networks).argmax()))
            if said[-1] == asked.END:
                break
        right += said == wanted[wanted > 0].tolist()
    assert sweep.outputs.sel(task="customer").item() == right == texts.in_chorus(networks, x, y)
    alone = [texts.in_chorus([voice], x, y) for voice in networks]
    assert alone == [small.right(state, most=TINY.taken)[2] for state in small.finetuned] and len(set(alone)) > 1


def test_what_is_taken_away_is_taken_from_the_start(small, sweep):
    assert sweep.negated.dims == ("lam", "taken", "task") and sweep.attrs["negated"] == TINY.taken
    start = small.right(small.base, most=TINY.taken).tolist()
    assert (sweep.negated.sel(lam=0.0).values == start).all()
    state = subtract(small.base, scale(subtract(small.finetuned[1], small.base), 0.5))
    expected = small.right(state, most=TINY.taken)
    assert sweep.negated.sel(lam=0.5, taken="question").values.tolist() == expected.tolist()
    seen = texts.forgetting(sweep)
    assert seen.own.sel(lam=0.5, taken="question").item() == pytest.approx(expected[1] / TINY.taken)
    assert seen.others.sel(lam=0.5, taken="question").item() == pytest.approx((expected[0] + expected[2]) / 20)


def test_a_task_vector_is_added_and_taken_away_in_features(small):
    sweep = negation.measure_texts(TINY)
    step = subtract(small.finetuned[1], small.base)
    x = small.test[1][0][:TINY.features]
    plus, minus, start = (network(state).features(x)["decoder 1"].double() for state in (
        small.finetuned[1], subtract(small.base, step), small.base))
    expected = 1 - torch.cosine_similarity(start, (plus + minus) / 2, dim=1).mean().item()
    assert sweep.gap_mean.sel(task="question", lam=1.0, layer="decoder 1").item() == pytest.approx(expected, abs=1e-6)


def test_the_mean_of_shares_has_the_error_of_counting():
    share, error = texts.mean_share([50, 100, 25], 100)
    assert share == pytest.approx(175 / 300)
    assert error == pytest.approx(((0.25 + 0 + 0.1875) / 100) ** 0.5 / 3)


# -- settings ----------------------------------------------------------------------------------------------------------

def test_quick_measures_nothing_and_full_chooses_on_200_and_reports_on_400():
    assert texts.PROFILES["quick"] is None
    full = texts.PROFILES["full"]
    assert full.held_out >= 200 and full.test >= 400 and max(full.held_out, full.test) <= data.sentences.TEST // 2
    assert full.taken <= full.test and full.features <= full.test and len(full.tasks) == 8
    assert all(set(pair) <= set(full.tasks) for pair in texts.PAIRS) and len(texts.PAIRS) == 6


def test_every_network_is_finetuned_from_one_start_by_the_same_loss():
    start, *others = texts.recipes(TINY, seed=3)
    assert [dict(recipe.options)["task"] for recipe in others] == list(TASKS)
    assert {recipe.parent for recipe in others} == {start} and {recipe.seed for recipe in (start, *others)} == {3}
    assert {recipe.loss for recipe in (start, *others)} == {losses.WRITTEN_WORDS}
    assert dict(start.options)["labelled"] == asked.LABELLED
