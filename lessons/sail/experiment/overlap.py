"""What the parents' data have in common with each other (α) and with the target's (β), and the loss along γ after 50
steps (SAIL, Fig. 2c)."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.experiment import digits
from lessons.sail.experiment.digits import ONE, SECOND, THIRDS, TWO
from lessons.sail.experiment.gamma import GAMMAS_31
from toy_models import training
from toy_models.weights import State

IMAGES, EPOCHS = 2500, 8
STEPS = (0, 50)


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    overlaps: tuple[float, ...] = (0.0, 0.5, 1.0)  # of the parents' data, α and β
    gammas: tuple[float, ...] = GAMMAS_31  # shares of the first parent


PROFILES = Profiles(quick=Settings((0.0, 1.0), (0.0, 0.5, 1.0)), full=Settings())


def data_of(alpha: float, beta: float) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """D1 and D2, 2,500 images each: a share β of bright ones, no image twice; of the rest a share α is the same in
    both, half of it dark and half of medium brightness; the remainder is dark in D1 and of medium brightness in D2.
    """
    bright = round(beta * IMAGES)
    common = round(alpha * (IMAGES - bright))
    own = IMAGES - bright - common
    dark, middle, target = (digits.images({"third": third, "size": digits.IMAGES})
                            for third in ("dark", "middle", "bright"))
    half = common // 2
    shared = [(dark, 0, half), (middle, 0, common - half)]
    first = [(target, 0, bright), *shared, (dark, half, half + own)]
    second = [(target, IMAGES, IMAGES + bright), *shared, (middle, half + 1, half + 1 + own)]
    return [_joined(parts) for parts in (first, second)]


def _joined(parts):
    x = torch.cat([x[begin:end] for (x, _), begin, end in parts])
    y = torch.cat([y[begin:end] for (_, y), begin, end in parts])
    return x, y


def learned(x: torch.Tensor, y: torch.Tensor, seed: int) -> State:
    """A network that learned these images from random weights."""
    start, = digits.random_states(seed, 1)
    network = training.for_training(start)
    order = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(x), generator=order).split(digits.BATCH):
            network.sgd_step(x[batch], y[batch], digits.LR)
    return training.as_stored(network)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train the parents of every pair of overlaps, from one start and from two, and go on from every γ.

    Returns:
        A Dataset over alpha, beta (0, ½, 1), start, gamma and steps (0, 50) with loss (nats) and accuracy on bright
        test images; random_loss (steps).
    """
    parts = []
    target = digits.images({"third": "bright", "first": 2 * IMAGES, "size": 1500})
    for alpha in settings.overlaps:
        for beta in settings.overlaps:
            (x1, y1), (x2, y2) = data_of(alpha, beta)
            for start, second in ((ONE, seed), (TWO, seed + SECOND)):
                pair = learned(x1, y1, seed), learned(x2, y2, second)
                scores = digits.retrained(digits.along(*pair, settings.gammas), THIRDS, STEPS, seed=seed, train=target)
                values = {name: (("gamma", "steps"), array) for name, array in scores.items()}
                part = xarray.Dataset(values, {"gamma": list(settings.gammas), "steps": list(STEPS)})
                parts.append(part.expand_dims(alpha=[alpha], beta=[beta], start=[start]))
    random = digits.retrained(digits.random_states(seed, 3), THIRDS, STEPS, seed=seed, train=target)["loss"].mean(0)
    sweep = xarray.combine_by_coords(parts).assign(random_loss=("steps", random))
    return sweep.assign_attrs(images="2,500 training images of every parent, 1,500 of the target, 2,000 test images")


def bump(sweep: xarray.Dataset) -> xarray.DataArray:
    """By how much the loss half-way lies above the mean of its two ends."""
    return sweep.loss.sel(gamma=0.5) - sweep.loss.sel(gamma=[0.0, 1.0]).mean("gamma")


def lopsided(sweep: xarray.Dataset) -> xarray.DataArray:
    """By how much the first parent alone has more loss than the second."""
    return np.abs(sweep.loss.sel(gamma=1.0) - sweep.loss.sel(gamma=0.0))


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind SAIL-6: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"SAIL-6": claim_6(sweep)}


def claim_6(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-6: the rise half-way after 50 steps, least and most over all overlaps, from two starts and from one; how
    lopsided the curves are; and how far the best γ lies from the nearer end, from two starts."""
    rise = bump(sweep).sel(steps=50)
    one_start, two_starts = rise.sel(start=ONE), rise.sel(start=TWO)
    uneven = lopsided(sweep).sel(steps=50, start=ONE)
    return {"spike_least": float(two_starts.min()), "spike_most": float(two_starts.max()),
            "spike_at_once": float(bump(sweep).sel(steps=0, start=TWO).min()),
            "one_least": float(one_start.min()), "one_most": float(one_start.max()),
            "lopsided_00": float(uneven.sel(alpha=0.0, beta=0.0)),
            "lopsided_10": float(uneven.sel(alpha=1.0, beta=0.0)),
            "lopsided_01": float(uneven.sel(alpha=0.0, beta=1.0)),
            "lopsided_11": float(uneven.sel(alpha=1.0, beta=1.0))}


EXPERIMENT = Experiment("sail-overlap", measure, PROFILES, digits.source, "MNIST", network="MLP 196–100–10",
                        claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
shown = EXPERIMENT.shown  # quick tries only three γ in four pictures
