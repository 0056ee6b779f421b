"""What the experiments share: chapter 1's networks, images of the two tasks, and the numbers along a line."""
from collections.abc import Callable, Iterable, Sequence

import torch
import xarray
from torch import Tensor

import data
from data.types import Source
from lessons import cast
from lessons.linearity import algorithms as linearity
from toy_models import MLP, Recipe
from toy_models.weights import State

DATASET = "rotated_mnist"
ANGLES = (45.0, 90.0)  # the two tasks of CTL, Figure 11


def source() -> Source:
    """Where the digits come from."""
    return data.source(DATASET, angle=0.0)


def measured_on(images: str) -> dict[str, str]:
    """What captions say of the data: how a stand-in was made is said once, where the chapter begins."""
    return {"source": source().text.partition(",")[0], "images": images}


def common(seed: int = 0) -> dict[float, Recipe]:
    """{0.0: chapter 1's pretrained network, 45.0, 90.0: the two finetuned from it}."""
    return cast.rotations(seed, ANGLES)


def with_parents(recipes: Iterable[Recipe]) -> list[Recipe]:
    """Recipes and those that they begin from, once each, parents first."""
    ordered = {}
    for recipe in recipes:
        if recipe.parent:
            ordered |= dict.fromkeys(with_parents([recipe.parent]))
        ordered[recipe] = None
    return list(ordered)


def test_images(angle: float, size: int) -> tuple[Tensor, Tensor]:
    """Images and labels, spread evenly over the test part: MNIST's first half is harder than its second."""
    dataset = data.load(DATASET, "test", angle=angle).spread(size)
    return dataset.x, dataset.y


def train_images(angle: float, size: int) -> tuple[Tensor, Tensor]:
    """The first training images and their labels."""
    dataset = data.load(DATASET, "train", angle=angle, size=size)
    return dataset.x, dataset.y


def of_both(images: Callable, size: int) -> tuple[Tensor, Tensor]:
    """`test_images` or `train_images` of the two tasks, one after the other."""
    x, y = zip(*(images(angle, size) for angle in ANGLES))
    return torch.cat(x), torch.cat(y)


def along(state_i: State, state_j: State, x: Tensor, y: Tensor, alphas: Sequence[float],
          adjust: Callable[[State, float], State] | None = None) -> xarray.Dataset:
    """CTL's numbers along the line between two MLPs.

    Args:
        x, y: test images and labels.
        alphas: weights of θ_i.
        adjust: (state, alpha) -> state, done to the interpolated weights before they are measured, for example REPAIR;
            None for nothing.

    Returns:
        A Dataset with gap_*, coef_* (alpha, layer), own_* (layer) as `lessons.kit.sweep.summarise` gives them; loss,
        accuracy, mixed_accuracy (alpha): of the interpolated network and of the mixed outputs; distance: ‖θ_i − θ_j‖.
    """
    ends = [MLP.from_state(state) for state in (state_i, state_j)]
    logits_i, logits_j = (end(x).double() for end in ends)

    def scores(network, logits, alpha):
        loss, accuracy = linearity.evaluate(logits, y)
        _, mixed = linearity.evaluate(linearity.mix(logits_i, logits_j, alpha), y)
        return {"loss": loss, "accuracy": accuracy, "mixed_accuracy": mixed}

    return linearity.along(MLP.features, state_i, state_j, alphas, parts=(x,), ends=ends, also=scores,
                           network=lambda state, alpha: MLP.from_state(adjust(state, alpha) if adjust else state))
