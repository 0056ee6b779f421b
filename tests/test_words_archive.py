"""What chapter 14 says of encoders of text, on the sweeps that the repository has (profile full, seed 0)."""
import itertools

import numpy as np
import pytest

from lessons.kit.noise import Difference
from lessons.lines.panels import CLOSE
from lessons.words.experiment import heads, lines, longer, merges, minilm, numbers, parts, poets, pretraining, texts
from lessons.words.experiment.numbers import last_block, over_own
from lessons.words.panels import networks, pulls
from lessons.words.panels.bell import HELD_OUT, curve
from lessons.words.panels.networks import difference, is_more
from lessons.words.panels.parts import REST, WORDS, more
from lessons.words.panels.pretraining import METHODS, Kept

BOTH = pytest.mark.parametrize("merged", [merges, minilm], ids=["own", "MiniLM"])


def correct(sweep, reported):
    """Accuracies on test sentences (tasks,)."""
    return sweep.test.sel(reported=reported).values


@pytest.mark.parametrize("measured", [lines, minilm], ids=["own", "MiniLM"])
def test_half_way_the_features_of_both_encoders_are_near_the_mix_in_the_last_block(measured):
    sweep = measured.EXPERIMENT.archived()
    assert over_own(sweep.sel(alpha=0.5, layer=last_block(sweep))).mean() < CLOSE


@BOTH
def test_a_few_directions_are_ahead_of_the_average_in_both_encoders_and_more_are_not_better(merged):
    sweep = merged.EXPERIMENT.archived()
    count, cart = networks.sentences(sweep), curve(sweep, merges.BY_NAME, HELD_OUT)
    chosen = cart.test[cart.place]
    assert is_more(difference(chosen, correct(sweep, "average"), count))
    assert not is_more(difference(cart.test[-1], chosen, count)) and cart.shares[cart.place] < 0.3


@BOTH
def test_the_average_is_much_less_accurate_than_the_encoders_alone(merged):
    sweep = merged.EXPERIMENT.archived()
    assert correct(sweep, "single").mean() - correct(sweep, "average").mean() > 0.05


@pytest.mark.parametrize("method", METHODS)
def test_from_random_weights_merging_keeps_at_least_as_much_as_from_any_pretraining(method):
    sweep = pretraining.EXPERIMENT.archived()
    count = networks.sentences(sweep)
    shares = [Kept.of(*(correct(sweep.isel(amount=place), name) for name in (method, "single", "θ₀")), count)
              for place in range(sweep.sizes["amount"])]
    assert np.argmax([each.share for each in shares]) == 0
    assert all(shares[0].share - each.share > 2 * np.hypot(shares[0].error, each.error) for each in shares[1:])


def test_each_writer_is_better_on_its_own_text_than_half_way():
    means = poets.EXPERIMENT.archived().loss.mean("piece").transpose("text", "alpha")
    for text, end in zip(means, (1.0, 0.0)):
        assert text.sel(alpha=end) < text.sel(alpha=0.5)


def test_answers_in_words_do_not_merge_although_features_are_near_the_mix():
    sweep = texts.EXPERIMENT.archived()
    found = numbers.of_texts(sweep)
    assert found["CTL-18"]["gap over own, last block"] < CLOSE
    assert found["CTL-18"]["all eight: gap over own, last block"] < CLOSE
    kept = {name: value for name, value in found["CART-13"].items() if name.endswith(" kept of the gain")}
    assert len(kept) > 4 and all(value < 0.25 for name, value in kept.items() if not name.startswith("pairs"))
    assert found["CART-13"]["mean of logits over θ₀"] < 0.25 * found["CART-13"]["single over θ₀"]


def test_a_penalty_makes_finetuning_shorter_and_more_linear():
    found = numbers.of_heads(heads.EXPERIMENT.archived())["LFT-11"]
    assert found["steps at which the distance falls"] == 1 and found["steps at which the relative gap falls"] > 0.8
    assert all(found[f"{head} head: relative gap at 50"] < found[f"{head} head: relative gap at 0"]
               for head in ("new", "probe"))


def test_with_a_probed_head_the_largest_penalty_does_mostly_more_than_shortening():
    sweep = heads.EXPERIMENT.archived()
    smaller, larger = {}, {}
    for head in (heads.NEW, heads.PROBE):
        of_head = [part.sel(lam=pulls.LARGEST) for part in pulls.settings(sweep, (head,))]
        smaller[head], larger[head] = pulls.counted([pulls.less_bent(part.sel(path=heads.SCALED),
                                                                     part.sel(path=heads.PULLED)) for part in of_head])
    count = len(pulls.settings(sweep, (heads.PROBE,)))
    assert smaller[heads.PROBE] > count / 2 and larger[heads.PROBE] <= count / 6
    assert larger[heads.NEW] >= smaller[heads.NEW] > 0


def test_task_arithmetic_is_far_ahead_of_the_average_from_random_weights_and_not_on_minilm():
    ahead = [float((sweep.test.sel(reported="task_arithmetic") - sweep.test.sel(reported="average")).mean())
             for sweep in (pretraining.EXPERIMENT.archived().isel(amount=0), minilm.EXPERIMENT.archived())]
    assert ahead[0] > 0.1 and ahead[1] < 0.02


def test_in_our_encoder_cart_and_task_arithmetic_are_within_the_noise():
    sweep = merges.EXPERIMENT.archived()
    cart = curve(sweep, merges.BY_NAME, HELD_OUT)
    lead = difference(cart.test[cart.place], correct(sweep, "task_arithmetic"), networks.sentences(sweep))
    assert not lead.is_news


def test_from_random_weights_word_vectors_learn_more_and_more_of_it_is_kept():
    sweep = parts.EXPERIMENT.archived()
    random, count = sweep.sel(start="random weights"), networks.sentences(sweep)
    alone = [correct(random.sel(trained=trained), "single") for trained in (WORDS, REST)]
    assert is_more(difference(*alone, count))
    assert is_more(more(sweep, "random weights", "cart")) and not more(sweep, "pretrained", "cart").is_news
    assert all(is_more(more(sweep, "pretrained", method)) for method in ("ties", "task_arithmetic"))


def test_the_plain_average_keeps_no_more_from_random_weights():
    sweep = pretraining.EXPERIMENT.archived()
    count = networks.sentences(sweep)
    first, last = (Kept.of(*(correct(sweep.isel(amount=place), name) for name in ("average", "single", "θ₀")), count)
                   for place in (0, -1))
    assert first.share - last.share < 2 * np.hypot(first.error, last.error)


def test_after_the_longest_pretraining_cart_is_more_accurate_than_after_the_shortest():
    sweep = pretraining.EXPERIMENT.archived()
    count = networks.sentences(sweep)
    shortest, longest = (correct(sweep.isel(amount=place), "cart") for place in (1, -1))  # 0 is none
    assert is_more(difference(longest, shortest, count))


def test_longer_task_vectors_do_not_put_task_arithmetic_ahead_on_minilm():
    sweep = longer.EXPERIMENT.archived()
    lengths, count = sweep.length.mean("task").values, networks.sentences(sweep)
    assert lengths[1] > 1.5 * lengths[0] and lengths[2] > 3 * lengths[0]
    leads = {name: [difference(correct(part, name), correct(part, "average"), count)
                    for part in (sweep.isel(training=place) for place in range(3))]
             for name in ("task_arithmetic", "ties", "cart")}
    assert not any(lead.is_news for name in ("task_arithmetic", "ties") for lead in leads[name])
    assert all(map(is_more, leads["cart"]))
    assert not any(Difference(one.value - other.value, np.hypot(one.error, other.error)).is_news
                   for one, other in itertools.combinations(leads["cart"], 2)), "its lead is about the same"
    alone = [correct(sweep.isel(training=place), "single") for place in (0, 2)]
    assert is_more(difference(*alone, count)), "in larger steps the networks alone are no worse"


def test_random_weights_are_worse_than_the_most_frequent_answer():
    sweep, grid = pretraining.EXPERIMENT.archived(), merges.EXPERIMENT.archived()
    most, count = grid.majority.sel(task=sweep.task).values, networks.sentences(sweep)
    lead = [difference(most, correct(sweep.isel(amount=place), "θ₀"), count) for place in range(4)]
    assert [is_more(one) for one in lead] == [True, False, False, False]


def test_merged_from_random_weights_encoders_are_no_worse_than_after_pretraining():
    """But for the plain average. Each alone is as good, too, and the start itself is much worse."""
    sweep = pretraining.EXPERIMENT.archived()
    count = networks.sentences(sweep)
    lead = {name: difference(*(correct(sweep.isel(amount=place), name) for place in (0, -1)), count)
            for name in (*METHODS, "average", "single", "θ₀")}
    assert all(is_more(lead[name]) for name in ("tsv", "ties", "task_arithmetic"))
    assert not lead["cart"].is_news and not lead["single"].is_news
    assert all(lead[name].is_news and lead[name].value < -0.05 for name in ("average", "θ₀"))
