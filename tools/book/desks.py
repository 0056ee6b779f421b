"""Networks that a page of the book computes itself: chapter 4's nine at a mixing desk, and chapter 8's, of whose task
vectors a reader keeps as many directions as they like. Their settings are too many to be listed.

Each is a mapping that JSON can hold: weights in float16 and pixels as bytes, both in base64. `site/_static/desk.js`
reads them.
"""
import base64
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

import data
from data.permuted_mnist import PIXELS, permuted
from lessons.cart.algorithms.spectra import Spectra
from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import FIRST
from lessons.merging.lowrank import factors
from lessons.task_arithmetic.experiment import mlp
from toy_models.weights import State

IMAGES = 200  # a task, spread over the test part: the standard error of one accuracy is at most 3.5 points
MOST_DIRECTIONS = 32  # of layer 1 that can be kept in the page; so many and more leave one of ten in the output layer


def as_halves(*tensors: Tensor) -> str:
    """All their numbers, one tensor after the other, in float16.

    Raises:
        ValueError: a number is too large for float16, or not finite.
    """
    halves = torch.cat([tensor.detach().cpu().flatten() for tensor in tensors]).half()
    if not halves.isfinite().all():
        raise ValueError("a weight is too large for float16, or not finite")
    return _text(halves.numpy())


def as_pixels(x: Tensor) -> str:
    """Images in [0, 1] as one byte a pixel."""
    return _text((255 * x).round().to(torch.uint8).numpy())


def _text(array: np.ndarray) -> str:
    return base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def mixing(states: Mapping[float, State], x: Tensor, y: Tensor, source: str) -> dict:
    """Chapter 4's desk: the pretrained network and those finetuned on turned digits.

    Args:
        states: {angle: state dict of an MLP}, the pretrained one first.
        x: upright images (images, height, width); the page turns them. y: their labels (images,).
        source: what the images are, for the reader.
    """
    first = next(iter(states.values()))
    weights = [tensor for key, tensor in first.items() if key.endswith("weight")]
    return {"kind": "mixing", "source": source, "angles": list(states), "side": x.shape[-1],
            "widths": [weights[0].shape[1], *(weight.shape[0] for weight in weights)],
            "networks": [as_halves(*state.values()) for state in states.values()],
            "pixels": as_pixels(x), "labels": y.tolist()}


def directions(base: State, finetuned: Mapping[str, State], orders: Sequence[Tensor], x: Tensor, y: Tensor,
               own: Sequence[float], source: str) -> dict:
    """Chapter 8's: an MLP with one hidden layer, finetuned on digits whose pixels change places.

    Args:
        base: θ₀. finetuned: {task: state dict}.
        orders: of every task, which pixel of the digit stands where (pixels,).
        x: digits as they are (images, height, width). y: their labels.
        own: every finetuned network's accuracy on its task with these images, a share.
        source: what the images are.
    """
    states = list(finetuned.values())
    ways = {"from the average (CART)": Spectra(base, states), "from θ₀": Spectra(base, states, centre=False)}
    hidden, pixels = base[FIRST].shape
    most = min(MOST_DIRECTIONS, hidden, pixels)
    return {"kind": "directions", "source": source, "tasks": list(finetuned), "most": most,
            "widths": [pixels, hidden, len(base["layers.1.bias"])],
            "ways": {name: _way(spectra, most) for name, spectra in ways.items()},
            "orders": [order.tolist() for order in orders], "pixels": as_pixels(x), "labels": y.tolist(),
            "own": [float(share) for share in own]}


def _way(spectra, most):
    """The origin of the task vectors, and the strongest directions of their sum's first layer, task by task within a
    direction. Of the other weights the sum at these ranks is the same for every count from 1 on."""
    full = min(spectra.origin[FIRST].shape)
    least, last = (spectra.totals(count / full) for count in (1, most))
    others = [key for key in last if key != FIRST]
    if any(not torch.equal(least[key], last[key]) for key in others):
        raise ValueError(f"the weights behind layer 1 change between 1 and {most} directions of layer 1")
    parts = [factors(matrix, most) for matrix in spectra.matrices[FIRST]]
    left = torch.stack([columns for columns, _ in parts], 2)  # (units, directions, tasks)
    right = torch.stack([rows for _, rows in parts], 1)  # (directions, tasks, pixels)
    return {"origin": as_halves(*spectra.origin.values()), "rest": as_halves(*(last[key] for key in others)),
            "left": as_halves(left), "right": as_halves(right)}


def made(seed: int = 0) -> dict[str, dict]:
    """{name: desk} with the course's networks, which are trained now if they are not in the zoo."""
    test = data.load("rotated_mnist", "test", angle=0.0).spread(IMAGES)
    states = {angle: network.state_dict() for angle, network in mlp.models(seed).items()}
    suite = bell.permuted(bell.PROFILES["full"], seed)
    loaded = suite.load(images=IMAGES)
    orders = [_order(recipe) for recipe in suite.recipes.values()]
    x, y = loaded.test[0]
    digits = x.flatten(1)[:, orders[0].argsort()].view_as(x)
    finetuned = dict(zip(suite.recipes, loaded.finetuned))
    return {"mixing": mixing(states, test.x, test.y, test.source.text),
            "directions": directions(loaded.base, finetuned, orders, digits, y, loaded.own(), bell.source().text)}


def _order(recipe):
    """Which pixel of a digit stands where in the images that a network of chapter 8 was finetuned on."""
    options = dict(recipe.options)
    return permuted(torch.arange(PIXELS).view(1, 28, 28), options["permutation"], options["share"]).flatten()
