"""How much of a parent's gain needs what it knows: the same numbers at random places (a control to SAIL, Fig. 2b)."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.experiment import digits
from toy_models import Recipe, zoo
from toy_models.weights import State

CASES = (digits.THIRDS, digits.HALVES)
RANDOM, PARENT, SHUFFLED = "random weights", "better parent", "better parent, shuffled"
AFTER = 50  # steps, when the better parent is chosen


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    shuffles: int = 4  # of the better parent's weights
    fresh: int = 3  # random initialisations
    rates: tuple[float, ...] = (digits.LR, 0.3, 0.6, 1.0)  # learning rates, first that of the other pictures


PROFILES = Profiles(quick=Settings(), full=Settings())


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Both parents of every case, which share an initialisation."""
    made = [digits.recipes_of(case, digits.ONE, seed) for case in CASES]
    return [recipe for of_case in made for role, recipe in of_case.items() if role != "target"]


def shuffled(state: State, seed: int) -> State:
    """A network with the same numbers, those of each weight matrix and bias at random places in it: as long as before,
    and it knows nothing."""
    generator = torch.Generator().manual_seed(seed)
    return {key: tensor.flatten()[torch.randperm(tensor.numel(), generator=generator)].view_as(tensor)
            for key, tensor in state.items()}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train on the target from random weights, from the better parent, and from its shuffled weights.

    Returns:
        A Dataset over case, rate, start (`RANDOM`, `PARENT`, `SHUFFLED`) and steps (0, 50, 100, 200), with loss (nats)
        and accuracy on the target's test images, means over random initialisations and shuffles. The better parent has
        the lower loss after 50 steps at the first rate.
    """
    zoo.get_all(recipes(settings, seed), device)
    parts = []
    for case in CASES:
        made = digits.recipes_of(case, digits.ONE, seed)
        parents = [zoo.get(made[role]).state_dict() for role in ("first", "second")]
        first = digits.retrained(parents, case, seed=seed, lr=settings.rates[0])["loss"]
        better = parents[int(first[:, digits.STEPS.index(AFTER)].argmin())]
        states = [better, *digits.random_states(seed, settings.fresh),
                  *(shuffled(better, seed + number) for number in range(settings.shuffles))]
        scores = [digits.retrained(states, case, seed=seed, lr=rate) for rate in settings.rates]
        values = {}
        for name in ("loss", "accuracy"):
            rows = [_means(at_rate[name], settings.fresh) for at_rate in scores]
            values[name] = (("rate", "start", "steps"), np.stack(rows))
        parts.append(xarray.Dataset(values, {"rate": list(settings.rates), "start": [RANDOM, PARENT, SHUFFLED],
                                             "steps": list(digits.STEPS)}))
    sweep = xarray.concat(parts, xarray.DataArray([case.name for case in CASES], dims="case", name="case"))
    return sweep.assign_attrs(images="5,000 training images of every parent and of the target, 2,000 test images")


def _means(scores, fresh):
    """One parent, so many random networks and then shuffles -> random, parent, shuffled."""
    return np.stack([scores[1:1 + fresh].mean(0), scores[0], scores[1 + fresh:].mean(0)])


def share_without_knowledge(loss: xarray.DataArray) -> xarray.DataArray:
    """Which share of the better parent's gain over random weights its shuffled weights have; losses over start."""
    return (loss.sel(start=RANDOM) - loss.sel(start=SHUFFLED)) / (loss.sel(start=RANDOM) - loss.sel(start=PARENT))


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """SAIL-5: that share after 50 steps at the first rate, by brightness and by digits; before any step the loss of
    shuffled weights over that of random ones; and the losses of shuffled and random weights over the parent's after 50
    steps, each at its best rate."""
    later, at_once = (sweep.loss.sel(steps=steps) for steps in (AFTER, 0))
    usual, own = share_without_knowledge(later.isel(rate=0)), later.min("rate")
    first = (at_once.sel(start=SHUFFLED) / at_once.sel(start=RANDOM)).isel(rate=0)
    numbers = {}
    for name, case in (("brightness", digits.THIRDS.name), ("digits", digits.HALVES.name)):
        numbers |= {f"unknowing_{name}_{AFTER}": float(usual.sel(case=case)),
                    f"unknowing_{name}_0": float(first.sel(case=case))}
        numbers |= {f"own_rates_{name}_{start.split()[-1]}": float(own.sel(case=case, start=start)
                                                                   / own.sel(case=case, start=PARENT))
                    for start in (SHUFFLED, RANDOM)}
    return {"SAIL-5": numbers}


EXPERIMENT = Experiment("sail-knowledge", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLP 196–100–10", claims=claims, ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
