"""What the experiments share: profiles, test images, and the numbers along the line between two MLPs."""
from dataclasses import dataclass

import torch
import xarray

import data
from lessons.linearity import algorithms as linearity
from lessons.linearity.experiment import mlp as chapter_1
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid, summarise
from toy_models import MLP, Recipe, weights, zoo
from toy_models.weights import State

ANGLES = (45.0, 90.0)  # the two tasks of CTL, Figure 11


@dataclass(frozen=True)
class Settings:
    """How much is measured; training is the same in every profile.

    Attributes:
        test_images: of each task, spread evenly over the test part.
        train_images: training images for activation matching, REPAIR and curvature, of each task.
        alphas: positions on a line.
    """
    test_images: int
    train_images: int
    alphas: tuple[float, ...]


PROFILES = Profiles(quick=Settings(test_images=500, train_images=200, alphas=tuple(round(i / 10, 2) for i in range(11))),
                    full=Settings(test_images=5000, train_images=500, alphas=tuple(round(i / 20, 2) for i in range(21))))


def common(seed: int = 0) -> dict[float, Recipe]:
    """{0.0: chapter 1's pretrained network, 45.0, 90.0: the two finetuned from it}."""
    made = chapter_1.recipes(seed)
    return {0.0: made["pretrained"], **{angle: made["finetuned"][angle] for angle in ANGLES}}


def test_images(angle: float, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and labels, spread evenly over the test part: MNIST's first half is harder than its second."""
    dataset = data.load("rotated_mnist", "test", angle=angle).spread(size)
    return dataset.x, dataset.y


def train_images(angle: float, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The first training images and their labels."""
    dataset = data.load("rotated_mnist", "train", angle=angle, size=size)
    return dataset.x, dataset.y


def of_both(images, size: int, angles=ANGLES) -> tuple[torch.Tensor, torch.Tensor]:
    """`test_images` or `train_images` of several tasks, one after the other."""
    x, y = zip(*(images(angle, size) for angle in angles))
    return torch.cat(x), torch.cat(y)


def along(state_i: State, state_j: State, x: torch.Tensor, y: torch.Tensor, alphas, adjust=None) -> xarray.Dataset:
    """CTL's numbers along the line between two MLPs.

    Args:
        x, y: test images and labels.
        alphas: weights of θ_i.
        adjust: (state, alpha) -> state, done to the interpolated weights before they are measured, for example REPAIR; None for nothing.

    Returns:
        A Dataset with gap_*, coef_* (alpha, layer), own_* (layer) as `lessons.kit.sweep.summarise` gives them; loss, accuracy, mixed_accuracy (alpha): of the
        interpolated network and of the mixed outputs; distance: ‖θ_i − θ_j‖.
    """
    ends = [{layer: feature.double() for layer, feature in MLP.from_state(state).features(x).items()} for state in (state_i, state_j)]
    layers, found, scores = list(ends[0]), [], []
    for alpha in alphas:
        state = weights.interpolate(state_i, state_j, alpha)
        features = MLP.from_state(adjust(state, alpha) if adjust else state).features(x)
        mixed = linearity.mix(ends[0]["output"], ends[1]["output"], alpha)
        scores.append((*linearity.evaluate(features["output"], y), linearity.evaluate(mixed, y)[1]))
        found += [summarise(values) for values in linearity.ctl(features, *ends, alpha).values()]
    own = [summarise({"own": linearity.own_distance(ends[0][layer], ends[1][layer])}) for layer in layers]
    return on_grid(found, alpha=alphas, layer=layers).merge(on_grid(own, layer=layers)).assign(
        {name: ("alpha", list(column)) for name, column in zip(("loss", "accuracy", "mixed_accuracy"), zip(*scores))}).assign(
        distance=weights.norm(weights.subtract(state_i, state_j)))


def missing(recipes) -> int:
    """How many of these models and their parents are not in the zoo."""
    chain = set()
    for recipe in recipes:
        while recipe:
            chain.add(recipe)
            recipe = recipe.parent
    return sum(not zoo.path_of(recipe).exists() for recipe in chain)
