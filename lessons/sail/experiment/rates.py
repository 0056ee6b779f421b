"""A wider network from each start, trained at several learning rates: how much of a lead over scratch is left when each
start has the rate that suits it, or when scratch begins from larger weights (a control to SAIL, Eq. 8)."""
from dataclasses import dataclass

import numpy as np
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.experiment import digits, width
from toy_models import Recipe, abreast, race

COPIES, BETWEEN = "Net2Wider", "interpolation"
LARGER = "scratch, larger weights"
STARTS = (width.SCRATCH, LARGER, COPIES, BETWEEN)
HE = 6 ** 0.5  # times torch's usual weights: variance 2/inputs for 1/(3·inputs), as He et al. 2015 propose for ReLUs
STEPS = 100


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    rates: tuple[float, ...] = (0.1, 0.2, 0.4, 0.6, 0.8, 1.2)
    orders: int = 3  # of the training images


PROFILES = Profiles(quick=Settings(), full=Settings())


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The network that grows, of 64 units a hidden layer."""
    return width.recipes(settings, seed)[:1]


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Grow 64 units to 128, and train 100 steps of SGD at each rate.

    Returns:
        A Dataset over how (`STARTS`), rate and order (of the training images), with accuracy on 2,000 test images
        after 100 steps.
    """
    starts = width.starts_of(width.GROW, seed, STARTS)
    starts[LARGER] = {key: tensor * (HE if key.endswith("weight") else 1.0)
                      for key, tensor in starts[width.SCRATCH].items()}
    images = digits.images({"first": width.FIRST, "size": width.SIZE})
    test = digits.tested({})
    accuracies = np.empty((len(STARTS), len(settings.rates), settings.orders))
    for order in range(settings.orders):
        batches = abreast.batches(*images, STEPS + 1, digits.BATCH, seed + digits.SECOND * order)
        for place, rate in enumerate(settings.rates):
            looks = race.of_mlps([starts[how] for how in STARTS], batches, (0, STEPS), {"": test}, rate)
            accuracies[:, place, order] = looks["accuracy"][:, -1]
    return xarray.Dataset({"accuracy": (("how", "rate", "order"), accuracies)},
                          {"how": list(STARTS), "rate": list(settings.rates)},
                          {"images": "8,000 training images that the source did not see, 2,000 test images"})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """SAIL-8: how far copies are ahead of scratch at the rate of the other numbers, with usual and with larger first
    weights, and when each has the rate that is best for it; mean over the orders."""
    accuracy = sweep.accuracy.mean("order")
    ahead = accuracy.sel(how=COPIES) - accuracy
    best = accuracy.max("rate")
    return {"SAIL-8": {"lead_one_rate": float(ahead.sel(how=width.SCRATCH, rate=width.LR[width.SGD])),
                       "lead_larger": float(ahead.sel(how=LARGER, rate=width.LR[width.SGD])),
                       "lead_own_rates": float(best.sel(how=COPIES) - best.sel(how=width.SCRATCH)),
                       "lead_both": float(best.sel(how=COPIES) - best.sel(how=LARGER))}}


EXPERIMENT = Experiment("sail-rates", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLP 196–64–64–10 and 196–128–128–10", claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
