"""Both sides of Theorem 2 on planted subspaces, a search for counterexamples, and the bound on a real weight matrix
(CART, app. A)."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.cart.algorithms import theorem
from lessons.cart.algorithms.theorem import Bound, planted, theorem_2
from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import FIRST, READINGS
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging.states import task_vectors
from lessons.suites import Loaded

OVERLAPS = tuple(round(0.05 * i, 2) for i in range(21))
COUNTEREXAMPLES = ("square V", "I(k)")


@dataclass(frozen=True)
class Settings:
    """The networks of the bell, the random tasks among which a counterexample is looked for, and the overlaps of the
    planted ones."""
    bell: bell.Settings
    trials: int
    overlaps: tuple[float, ...] = OVERLAPS


PROFILES = Profiles(quick=Settings(bell.PROFILES["quick"], trials=40),
                    full=Settings(bell.PROFILES["full"], trials=1000))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Returns a Dataset with
    loss (overlap) and, over reading: 2 as well, interference and bound: L, I and the bound for three planted tasks of
    rank 2; ratio (reading, trial): L over the bound for random tasks that satisfy the assumptions; above 1 would be a
    counterexample; literal (which: 2, side: 2): L and the bound for `theorem.counterexample`; real (side: 2), slack:
    the same for the first layer of the MLPs with all pixels permuted, and the bound over L.
    """
    suite = bell.permuted(settings.bell, seed)
    images = settings.bell.test_images
    real = on_real(suite.load(device, images))
    sets = on_planted(settings.overlaps, seed)
    sets["ratio"] = (("reading", "trial"), [search(settings.trials, seed, reading) for reading in READINGS])
    sets["literal"] = (("which", "side"), [_both(to_the_letter(which)) for which in COUNTEREXAMPLES])
    sets["real"] = ("side", _both(real))
    sets["slack"] = real.bound / real.loss
    measured = xarray.Dataset(sets, {"overlap": list(settings.overlaps), "reading": list(READINGS),
                                     "which": list(COUNTEREXAMPLES), "side": ["L", "bound"]})
    return measured.assign_attrs(bell.about(suite, settings.bell.size, images))


def on_planted(overlaps: tuple[float, ...], seed: int) -> dict[str, tuple]:
    """loss, interference and bound of `measure`."""
    sides = {reading: [theorem_2(*planted(overlap, generator=_generator(seed)), c=2.0, eta=0.0, reading=reading)
                       for overlap in overlaps] for reading in READINGS}
    bounds = [[side.bound for side in row] for row in sides.values()]
    interferences = [[side.interference for side in row] for row in sides.values()]
    return {"loss": ("overlap", [side.loss for side in sides[READINGS[0]]]),
            "bound": (("reading", "overlap"), bounds),
            "interference": (("reading", "overlap"), interferences)}


def to_the_letter(which: str) -> Bound:
    """The theorem's two sides for a counterexample to its letter."""
    vectors, inputs, others = theorem.counterexample(which)
    return theorem_2(vectors, inputs, **others)


def search(trials: int, seed: int, reading: str) -> np.ndarray:
    """L over the bound of random tasks: 3 to 6 of them, ranks 1 to 3, any overlap, singular values from 0.05 to 1, with
    and without noise, (trials,)."""
    generator = _generator(seed)
    draws = []

    def draw(low, high):
        return low + (high - low) * torch.rand((), generator=generator).item()

    for _ in range(trials):
        tasks = int(draw(3, 7))
        rank = int(draw(1, 4))
        noise = draw(0, 0.3) * (draw(0, 1) > 0.5)
        least = draw(0.05, 1)
        vectors, inputs = planted(draw(0, 1), tasks, rank, 30, least, 5, noise, generator)
        top = _largest(vectors)
        side = theorem_2(vectors, inputs, c=1 / top, eta=noise, reading=reading)  # ‖a‖ = 1 = c·s_max
        draws.append(side.loss / side.bound)
    return np.array(draws)


def on_real(loaded: Loaded) -> Bound:
    """The theorem's two sides for the first layer of real networks. The row space of a task vector is all that its
    inputs have here, so that ε = 0; c is the longest input over s_max."""
    vectors = list(task_vectors(FIRST, loaded.base, loaded.finetuned))
    inputs = [x.flatten(1) for x, _ in loaded.held_out]
    longest = max(x.norm(dim=1).max().item() for x in inputs)
    return theorem_2(vectors, inputs, c=longest / _largest(vectors), eta=0.0)


def _largest(vectors):
    """s_max, the largest singular value of any task vector."""
    return max(torch.linalg.matrix_norm(vector, 2).item() for vector in vectors)


def _both(side: Bound):
    return [side.loss, side.bound]


def _generator(seed):
    return torch.Generator().manual_seed(seed)


THEOREM = Experiment("cart-theorem", measure, PROFILES, bell.source, "MNIST",
                     recipes=lambda settings, seed: bell.permuted_recipes(settings.bell, seed))
run = THEOREM.run
