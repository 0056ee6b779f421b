"""What chapter 14 measures, on encoders small enough for a test."""
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import data
from lessons import cast, suites
from lessons.kit import archive
from lessons.merging import merge
from lessons.words import experiment, letters
from lessons.words.experiment import lines, merges, negation, poets, setting
from toy_models import Architecture, Recipe, TextEncoder, losses, weights, zoo

TINY = setting.Settings(tasks=("film", "question", "customer"), size=96, epochs=1, sentences=20, features=10,
                        directions=(1, 8), lams=(1.0, 2.0))


def tiny_encoder(seed=0, epochs=1, size=64):
    architecture = Architecture.of("TextEncoder", words=8000, width=8, blocks=1)
    return Recipe.on("sentences", architecture, options={"size": size or 64}, lr=1e-2, epochs=epochs, optimiser="adam",
                     loss=losses.MASKED_WORDS, seed=seed)


@pytest.fixture(scope="module")
def small(session_sweep):
    with session_sweep((cast, "pretrained_encoder", tiny_encoder)):
        yield setting.load(TINY)


@pytest.fixture(scope="module")
def sweep(small):
    return merges.measured(small, TINY, width=8)


@pytest.fixture(scope="module")
def line(small):
    return lines.measured(small, TINY)


def test_a_task_has_its_own_rows_in_the_head_and_the_rest_is_merged(small):
    assert small.suite.has_heads and not small.suite.splits
    assert not any(key.startswith("head.") for state in (small.base, *small.finetuned) for key in state)
    whole = small.complete(weights.average(small.finetuned)).state_dict()
    for task, network in enumerate(small.networks):
        outputs = small.suite.outputs(task)
        assert outputs == slice(*data.sentences.outputs(TINY.tasks[task]))
        for key in ("head.weight", "head.bias"):
            assert torch.equal(whole[key][outputs], network.state_dict()[key][outputs])


def test_an_encoder_under_all_heads_has_its_own_accuracy(small):
    for task, state in enumerate(small.finetuned):
        for part in suites.PARTS:
            assert small.accuracy(state, part)[task] == small.own(part)[task]
    x, y = small.test[1]
    first, last = data.sentences.outputs("question")
    right = (small.networks[1](x)[:, first:last].argmax(1) == y - first).double().mean().item()
    assert small.own()[1] == right


def test_a_part_of_the_suite_keeps_its_heads(small):
    one = small.suite.part([1]).load(images=20)
    assert one.suite.has_heads and one.own() == small.own()[1]


def test_the_logits_of_a_task_are_differentiable_in_what_is_merged(small):
    state = {key: tensor.clone().requires_grad_() for key, tensor in small.finetuned[0].items()}
    x, _ = small.test[0]
    logits = small.forward(state, x, 0)
    assert torch.allclose(logits, small.networks[0](x)[:, :2], atol=1e-5)
    logits.square().sum().backward()
    assert state["embedding.weight"].grad.abs().max() > 0


def test_finetuning_leaves_the_bias_of_the_guesses_alone(small):
    assert all(torch.equal(state["guess"], small.base["guess"]) for state in small.finetuned)


def test_cart_with_nothing_and_with_everything_kept_is_the_average(small, sweep):
    average = small.accuracy(weights.average(small.finetuned))
    for way in merges.WAYS:
        for directions in (0, 8):
            seen = sweep.accuracy.sel(way=way, part="test", directions=directions, lam=1.0)
            assert seen.values == pytest.approx(average), (way, directions)
    assert sweep.test.sel(reported="average").values == pytest.approx(average)


def test_a_place_of_the_grid_is_cart_of_the_library(small, sweep):
    state = merge("cart", small.base, small.finetuned, rank_ratio=1 / 8, scale=2.0)
    seen = sweep.accuracy.sel(way=merges.BY_DIMENSION, part="held-out", directions=1, lam=2.0).values
    assert seen == pytest.approx(small.accuracy(state, "held-out"))


def test_lengths_and_cosines_are_those_of_the_task_vectors(small, sweep):
    vectors = [weights.subtract(state, small.base) for state in small.finetuned]
    assert sweep.length.values == pytest.approx([weights.norm(vector) / weights.norm(small.base) for vector in vectors])
    pairs = [weights.cosine(vectors[i], vectors[j]) for i in range(3) for j in range(i)]
    assert float(sweep.cosine) == pytest.approx(np.mean(pairs))


def test_the_ends_of_a_line_are_the_encoders_and_all_pairs_are_there(small, line):
    assert list(line.pair.values) == ["question and film", "customer and film", "customer and question"]
    assert float(line.gap_mean.sel(alpha=[0.0, 1.0]).max()) < 1e-6
    assert np.allclose(line.coef_mean.sel(alpha=[0.0, 1.0]), 1, atol=1e-6)
    assert list(line.layer.values) == ["embedding", "block 1", "pooled", "output"]
    x = torch.cat([small.test[task][0][:TINY.features] for task in (1, 0)])
    states = [small.finetuned[1], small.finetuned[0]]
    ends, middle = ([small.complete(state).features(x)["pooled"].double() for state in some]
                    for some in (states, [weights.average(states)]))
    expected = 1 - torch.cosine_similarity(middle[0], sum(ends) / 2, dim=1).mean().item()
    assert line.gap_mean.sel(pair="question and film", alpha=0.5, layer="pooled").item() == pytest.approx(expected)


def test_heads_are_exchanged_between_related_tasks(small, line):
    assert {data.sentences.CLASSES[task] for task in lines.RELATED} == {("bad", "good"), ("complaint", "praise")}
    seen = line.exchanged
    for alpha, task in ((1.0, "film"), (0.0, "customer")):
        own = small.own()[TINY.tasks.index(task)]
        assert seen.sel(alpha=alpha, of=task, head="its own").item() == own
    x, y = small.test[0]
    first, last = data.sentences.outputs("customer")
    logits = small.complete(small.finetuned[0])(x)[:, first:last]
    assert seen.sel(alpha=1.0, of="film", head="the other's").item() == suites.share_correct(logits, y)


def test_what_is_taken_away_is_measured_on_its_task_and_on_the_others(small, line):
    base = small.accuracy(small.base)
    assert line.taken.sel(taken_lam=0.0, effect="its own task").values == pytest.approx(base)
    less = small.accuracy(merge("task_arithmetic", small.base, [small.finetuned[1]], scale=-1.5))
    seen = line.taken.sel(taken_lam=1.5, task="question")
    assert seen.values == pytest.approx([less[1], (less[0] + less[2]) / 2])


def test_losses_between_the_writers_are_those_of_their_weights_and_outputs():
    sweep = poets.measure(poets.Settings(pieces=12, alphas=(0.0, 0.5, 1.0)))
    ends = [zoo.get(letters.of_text(kind), "cpu") for kind in letters.ENDS]
    pieces = data.load("letters", "test", of="presidents", context=letters.CONTEXT).spread(12)
    for network, alpha in zip(ends, (1.0, 0.0)):
        expected = F.cross_entropy(network(pieces.x).flatten(0, 1), pieces.y.flatten()).item()
        assert float(sweep.loss.sel(alpha=alpha, text="presidents").mean()) == pytest.approx(expected, abs=1e-5)
    both = torch.stack([network(pieces.x[3:4]) for network in ends])
    log = both.softmax(-1).mean(0).log()[0]
    expected = -log[torch.arange(letters.CONTEXT), pieces.y[3]].mean().item()
    seen = sweep.mixed.sel(way="mean of probabilities", text="presidents").values[3]
    assert seen == pytest.approx(expected, abs=1e-5)
    assert 0.1 < float(sweep.length.min()) < 0.3 and 0 < float(sweep.cosine) < 1


def test_a_gain_is_paired_over_pieces():
    sweep = poets.measure(poets.Settings(pieces=12, alphas=(0.0, 1.0)))
    gain, error = poets.gain(sweep, 1.0, 0.0)
    apart = (sweep.loss.sel(alpha=0.0) - sweep.loss.sel(alpha=1.0)).values
    assert gain == pytest.approx(apart.mean())
    assert error == pytest.approx(np.sqrt(sum(text.var(ddof=1) / 12 for text in apart)) / 2)
    assert poets.gain(sweep, 0.0, 1.0)[0] == pytest.approx(-gain)


def test_a_task_vector_is_added_and_taken_away(small):
    sweep = negation.measure(TINY)
    assert list(sweep.task.values) == list(TINY.tasks) and list(sweep.layer.values)[-1] == "output"
    step = weights.scale(weights.subtract(small.finetuned[2], small.base), 0.4)
    x = small.test[2][0][:TINY.features]
    ends = [small.complete(make(small.base, step)).features(x)["block 1"].double()
            for make in (weights.add, weights.subtract)]
    own = 1 - torch.cosine_similarity(*ends, dim=1).mean().item()
    assert sweep.own_mean.sel(task="customer", lam=0.4, layer="block 1").item() == pytest.approx(own, abs=1e-9)
    assert sweep.distance.sel(task="customer", lam=0.4).item() == pytest.approx(2 * weights.norm(step))


def test_what_was_chosen_says_on_how_many_sentences(sweep):
    assert sweep.attrs["held_out"] == 3 * TINY.sentences and "20 held-out" in setting.sentences_of(TINY)
    assert np.isnan(sweep.held.sel(searched="average", scale=0.1)).all()
    assert ((sweep.majority > 0.1) & (sweep.majority < 1)).all()


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_both_profiles_choose_on_200_sentences_a_task_and_report_on_400(profile):
    settings = setting.PROFILES[profile]
    assert settings.sentences >= 400 and settings.sentences <= data.sentences.TEST // 2
    assert set(settings.tasks) <= set(data.sentences.TASKS)


@pytest.fixture
def announced(monkeypatch, capsys):
    """What is said of a seed whose recipes the zoo lacks as far as `missing` says so."""
    def of(missing, measured=False, real=True):
        monkeypatch.setattr(experiment.experiment, "missing", lambda recipes: [one for one in recipes if missing(one)])
        monkeypatch.setattr(experiment.experiment, "to_measure", lambda experiments, profile, seed: not measured)
        if not real:
            monkeypatch.setattr(archive, "FOLDER", archive.FOLDER / "elsewhere")
        experiment.announce("quick", 1)
        return capsys.readouterr().out
    return of


@pytest.mark.parametrize("missing, says", [
    (lambda recipe: True, r"7 of 7 encoders .* about 990 s"),
    (lambda recipe: recipe.parent is not None, r"6 of 7 encoders .* about 90 s"),
    (lambda recipe: False, r"All encoders are there, and are measured: about 30 s")])
def test_what_is_announced_counts_pretraining_and_measuring(announced, missing, says):
    told = announced(missing)
    assert re.search(says, told) and "MiniLM" not in told


def test_it_is_announced_where_nothing_is_to_do_and_where_the_measurement_of_minilm_is_missing(announced):
    assert "opens in seconds" in announced(lambda recipe: False, measured=True)
    assert "`git checkout data/measured`" in announced(lambda recipe: False, real=False)


def test_recipes_are_those_of_the_suite(small):
    settings = replace(TINY, tasks=("film",))
    assert [recipe.loss for recipe in setting.recipes(settings)] == [losses.MASKED_WORDS, losses.SEEN_CLASSES]
    assert isinstance(small.complete(small.base), TextEncoder)
