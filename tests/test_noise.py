import math

import pytest
import torch

from lessons.kit.noise import error_of_difference, error_of_share, told


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
