"""What the experiments share: chapter 1's networks, images of the two tasks, and the numbers along a line."""
from collections.abc import Callable, Iterable, Sequence

import torch
import xarray
from torch import Tensor

import data
from data.types import Source
from lessons import cast
from lessons.kit.sweep import on_grid, summarise
from lessons.linearity import algorithms as linearity
from toy_models import MLP, Recipe, weights
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
    found = {}
    for recipe in recipes:
        if recipe.parent:
            found |= dict.fromkeys(with_parents([recipe.parent]))
        found[recipe] = None
    return list(found)


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
    end_i, end_j = (_features(state, x) for state in (state_i, state_j))
    found, scores = [], []
    for alpha in alphas:
        state = weights.interpolate(state_i, state_j, alpha)
        features = MLP.from_state(adjust(state, alpha) if adjust else state).features(x)
        for values in linearity.ctl(features, end_i, end_j, alpha).values():
            found.append(summarise(values, distributions=["coef"]))
        loss, accuracy = linearity.evaluate(features["output"], y)
        _, mixed = linearity.evaluate(linearity.mix(end_i["output"], end_j["output"], alpha), y)
        scores.append({"loss": loss, "accuracy": accuracy, "mixed_accuracy": mixed})
    layers = list(end_i)
    own = [summarise({"own": linearity.own_distance(end_i[layer], end_j[layer])}) for layer in layers]
    measured = on_grid(found, alpha=alphas, layer=layers).merge(on_grid(own, layer=layers))
    distance = weights.norm(weights.subtract(state_i, state_j))
    return measured.merge(on_grid(scores, alpha=alphas)).assign(distance=distance)


def _features(state, x):
    """{layer: (samples, width)} in float64."""
    return {layer: feature.double() for layer, feature in MLP.from_state(state).features(x).items()}
