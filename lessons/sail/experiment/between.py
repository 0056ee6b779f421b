"""Units between neighbours, and a next layer or units that are fitted to the other (a control to SAIL, Eq. 8)."""
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

SOURCE, USUAL = "source", "interpolation"
ABOVE, UNITS = "next layer fitted", "units fitted"


@dataclass(frozen=True)
class Settings:
    """How much is tried."""
    orders: int = 1 + width.NUMBERINGS  # of the source's units, the first as trained


PROFILES = Profiles(quick=Settings(), full=Settings())


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The network that grows, of 64 units a hidden layer."""
    return width.recipes(settings, seed)[:1]


def widened(state: State, size: int, how: str) -> State:
    """A network with more hidden units that lie between neighbours, or whose next layer does.

    Args:
        how: `USUAL`, units and what the next layer takes from them are both interpolated, as SAIL proposes. `ABOVE`,
            the units are, and the next layer takes from them by the pseudo-inverse of the map that made them. `UNITS`,
            the next layer's weights are interpolated, and the units are made by the pseudo-inverse. In the last two,
            the network would compute what it did if it had no ReLUs.
    """
    maps = {}
    for name, old in units.sizes(state).items():
        made, used = resampling(old, size).made, resampling(old, size).used
        if how == ABOVE:
            used = torch.linalg.pinv(made).T.contiguous()
        elif how == UNITS:
            made = torch.linalg.pinv(used).T.contiguous()
        maps[name] = units.Map(made, used)
    return units.mapped(state, maps)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Widen the same network with its units in several orders.

    Returns:
        A Dataset over how (`SOURCE`, `USUAL`, `ABOVE`, `UNITS`) and order, with accuracy on 2,000 test images before
        any step.
    """
    source, test = zoo.get(recipes(settings, seed)[0]).state_dict(), digits.tested({})
    accuracies = []
    for order in range(settings.orders):
        other = width.renumbered(source, order)
        wide = abreast.stacked([widened(other, width.LARGE, how) for how in (USUAL, ABOVE, UNITS)])
        before = abreast.scores(abreast.stacked([other]), *test)[1].tolist()
        accuracies.append([*before, *abreast.scores(wide, *test)[1].tolist()])
    return xarray.Dataset({"accuracy": (("how", "order"), np.array(accuracies).T)},
                          {"how": [SOURCE, USUAL, ABOVE, UNITS]}, {"images": "2,000 test images"})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """SAIL-8: how far the worst order is below the source, in the usual way and with one side fitted to the other."""
    below = (sweep.accuracy.sel(how=SOURCE) - sweep.accuracy).max("order")
    names = {"between_lost": USUAL, "fitted_lost": ABOVE, "units_fitted_lost": UNITS}
    return {"SAIL-8": {name: float(below.sel(how=how)) for name, how in names.items()}}


EXPERIMENT = Experiment("sail-between", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLP 196–64–64–10 and 196–128–128–10", claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
