import math

import numpy as np
import pytest
import torch

from lessons.kit.noise import WIDE, Difference, error_of_difference, error_of_share, reach, told, with_reach


def test_the_error_of_a_share_is_the_spread_of_draws():
    generator = torch.Generator().manual_seed(0)
    draws = (torch.rand(20_000, 120, generator=generator) < 0.7).double().mean(1)
    assert draws.std().item() == pytest.approx(error_of_share(0.7, 120), rel=0.03)


def test_the_error_of_a_difference_bounds_that_of_two_networks_on_the_same_images():
    generator = torch.Generator().manual_seed(0)
    hardness = torch.rand(20_000, 120, generator=generator)  # an image that is hard for one is hard for the other
    apart = (hardness < 0.7).double().mean(1) - (hardness < 0.6).double().mean(1)
    assert apart.std().item() < error_of_difference(0.7, 0.6, 120)


@pytest.mark.parametrize("apart, error, says", [
    (0.006, 0.02, "Cannot be told here"), (0.1, 0.02, "Agrees"), (-0.1, 0.02, "Does not agree here"),
    (-0.03, 0.02, "Cannot be told here"), (0.0, 0.0, "Does not agree here")])
def test_a_difference_within_two_errors_is_no_news(apart, error, says):
    assert told(apart, error) == says


def test_a_difference_can_be_asked_to_be_large():
    assert told(0.1, 0.01, least=0.05) == "Agrees"
    assert told(0.06, 0.01, least=0.05) == "Cannot be told here"


@pytest.mark.parametrize("share, images", [(1.2, 10), (-0.1, 10), (0.5, 0), (math.nan, 10)])
def test_what_is_no_share_is_refused(share, images):
    with pytest.raises(ValueError, match="lies between 0 and 1"):
        error_of_share(share, images)


def test_errors_reach_from_every_share_that_was_measured_to_either_side():
    shares = np.array([0.7, np.nan, 1.0])
    assert reach(shares, 120) == pytest.approx([WIDE * error_of_share(0.7, 120), np.nan, 0], nan_ok=True)
    mean, low, high = with_reach(shares, 120)
    assert high[0] - low[0] == pytest.approx(2 * reach([0.7], 120)[0]) and np.isnan(low[1]) and mean[2] == high[2] == 1
    with pytest.raises(ValueError, match="lies between 0 and 1"):
        reach([0.5, 1.2], 120)


def test_a_difference_knows_its_error_and_whether_it_is_news():
    lead = Difference.of(0.75, 0.70, 1000)
    assert lead.error == error_of_difference(0.75, 0.70, 1000) and lead.is_news and lead.doubt() == ""
    assert f"{lead:+.1f}" == "+5.0 ± 2.0" and f"{lead:.0f}" == "5 ± 2" and f"{lead}" == "+5.0 ± 2.0"
    behind = Difference(-0.011, 0.02)
    assert f"{behind:+.1f}" == "−1.1 ± 2.0" and not behind.is_news and behind.doubt() == ", which is within the noise"
    assert Difference(-0.5, 0.1).is_news, "a sure loss is news"
    assert Difference(0.1, 0.01).agrees(least=0.05) == "Agrees"


def test_a_paired_difference_has_the_error_of_its_spread():
    generator = torch.Generator().manual_seed(0)
    hard = torch.rand(4000, 100, generator=generator)
    right_a, right_b = hard < 0.7, hard < 0.65  # mostly the same images
    means = (right_a.double() - right_b.double()).mean(1)
    errors = [Difference.paired(a.numpy(), b.numpy()).error for a, b in zip(right_a, right_b)]
    assert sum(errors) / len(errors) == pytest.approx(means.std().item(), rel=0.05)
    with pytest.raises(ValueError, match="two or more pairs"):
        Difference.paired([1.0], [0.0])
