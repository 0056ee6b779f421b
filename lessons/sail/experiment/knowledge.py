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
        A Dataset over case, start (`RANDOM`, `PARENT`, `SHUFFLED`) and steps (0, 50, 100, 200), with loss (nats) and
        accuracy on the target's test images, means over random initialisations and shuffles. The better parent has the
        lower loss after 50 steps.
    """
    zoo.get_all(recipes(settings, seed), device)
    parts = []
    for case in CASES:
        made = digits.recipes_of(case, digits.ONE, seed)
        parents = [zoo.get(made[role]).state_dict() for role in ("first", "second")]
        of_parents = digits.retrained(parents, case, seed=seed)
        better = int(of_parents["loss"][:, digits.STEPS.index(AFTER)].argmin())
        states = [*digits.random_states(seed, settings.fresh),
                  *(shuffled(parents[better], seed + number) for number in range(settings.shuffles))]
        values = {}
        for name, scores in digits.retrained(states, case, seed=seed).items():
            rows = scores[:settings.fresh].mean(0), of_parents[name][better], scores[settings.fresh:].mean(0)
            values[name] = (("start", "steps"), np.stack(rows))
        parts.append(xarray.Dataset(values, {"start": [RANDOM, PARENT, SHUFFLED], "steps": list(digits.STEPS)}))
    sweep = xarray.concat(parts, xarray.DataArray([case.name for case in CASES], dims="case", name="case"))
    return sweep.assign_attrs(images="5,000 training images of every parent and of the target, 2,000 test images")


def share_without_knowledge(sweep: xarray.Dataset) -> xarray.DataArray:
    """Which share of the better parent's gain over random weights its shuffled weights have: (case, steps)."""
    loss = sweep.loss
    return (loss.sel(start=RANDOM) - loss.sel(start=SHUFFLED)) / (loss.sel(start=RANDOM) - loss.sel(start=PARENT))


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """SAIL-5: that share after 50 steps, by brightness and by digits; and before any step the loss of shuffled weights
    over that of random ones."""
    share = share_without_knowledge(sweep).sel(steps=AFTER)
    first = (sweep.loss.sel(start=SHUFFLED) / sweep.loss.sel(start=RANDOM)).sel(steps=0)
    names = {"brightness": digits.THIRDS.name, "digits": digits.HALVES.name}
    numbers = {f"unknowing_{name}_{AFTER}": float(share.sel(case=case)) for name, case in names.items()}
    return {"SAIL-5": numbers | {f"unknowing_{name}_0": float(first.sel(case=case)) for name, case in names.items()}}


EXPERIMENT = Experiment("sail-knowledge", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLP 196–100–10", claims=claims, ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
