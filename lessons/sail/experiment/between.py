"""Units between neighbours: whether the units or the next layer lose what the network knew (a control to SAIL, Eq. 8).
"""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.experiment import digits, width
from toy_models import Recipe, abreast, zoo
from toy_models.growth import units
from toy_models.growth.width import resampling
from toy_models.weights import State

SOURCE, USUAL, FITTED = "source", "interpolation", "interpolation, fitted above"


@dataclass(frozen=True)
class Settings:
    """How much is tried."""
    orders: int = 1 + width.NUMBERINGS  # of the source's units, the first as trained


PROFILES = Profiles(quick=Settings(), full=Settings())


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The network that grows, of 64 units a hidden layer."""
    return width.recipes(settings, seed)[:1]


def widened(state: State, size: int, fitted: bool) -> State:
    """A network of three layers whose hidden units are interpolated between neighbours.

    Args:
        fitted: each next layer takes from the new units by the pseudo-inverse of the map that made them, so without the
            ReLU the network would compute what it did; else by interpolation, too, as SAIL proposes.
    """
    maps = {}
    for name, old in units.sizes(state).items():
        between = resampling(old, size)
        taken = torch.linalg.pinv(between.made).T.contiguous() if fitted else between.used
        maps[name] = units.Map(between.made, taken)
    return units.mapped(state, maps)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Widen the same network with its units in several orders.

    Returns:
        A Dataset over how (`SOURCE`, `USUAL`, `FITTED`) and order, with accuracy on 2,000 test images, before any step.
    """
    source, test = zoo.get(recipes(settings, seed)[0]).state_dict(), digits.tested({})
    accuracies = []
    for order in range(settings.orders):
        other = width.renumbered(source, order)
        wide = abreast.stacked([widened(other, width.LARGE, fitted) for fitted in (False, True)])
        accuracies.append([*abreast.scores(abreast.stacked([other]), *test)[1].tolist(),
                           *abreast.scores(wide, *test)[1].tolist()])
    return xarray.Dataset({"accuracy": (("how", "order"), np.array(accuracies).T)}, {"how": [SOURCE, USUAL, FITTED]},
                          {"images": "2,000 test images"})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """SAIL-8: how far the worst order is below the source, in the usual way and fitted above."""
    below = sweep.accuracy.sel(how=SOURCE) - sweep.accuracy
    return {"SAIL-8": {"between_lost": float(below.sel(how=USUAL).max()),
                       "fitted_lost": float(below.sel(how=FITTED).max())}}


EXPERIMENT = Experiment("sail-between", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLP 196–64–64–10 and 196–128–128–10", claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
