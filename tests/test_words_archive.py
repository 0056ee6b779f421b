"""What chapter 14 says of encoders of text, on the sweeps that the repository has (profile full, seed 0)."""
import numpy as np
import pytest

from lessons.lines.panels import CLOSE
from lessons.words.experiment import lines, merges, minilm, pretraining
from lessons.words.experiment.numbers import last_block, over_own
from lessons.words.panels import networks
from lessons.words.panels.bell import HELD_OUT, curve
from lessons.words.panels.networks import difference, is_more
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
