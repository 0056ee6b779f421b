"""Both sides of Theorem 2 on planted subspaces, a search for counterexamples, and the bound on a real weight matrix
(CART, app. A)."""

import numpy as np
import torch
import xarray

from lessons.cart.algorithms import theorem
from lessons.cart.algorithms.theorem import Bound, planted, theorem_2
from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import FIRST, READINGS
from lessons.merging.states import task_vectors
from lessons.kit.profiles import Profiles
from toy_models import training

OVERLAPS = tuple(round(0.05 * i, 2) for i in range(21))
TRIALS = Profiles(quick=40, full=1000)
COUNTEREXAMPLES = ("square V", "I(k)")


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Returns a Dataset with
    loss (overlap) and, over reading: 2 as well, interference and bound: L, I and the bound for three planted tasks of
    rank 2; ratio (reading, trial): L over the bound for random tasks that satisfy the assumptions; above 1 would be a
    counterexample; literal (which: 2, side: 2): L and the bound for `theorem.counterexample`; real (side: 2), slack:
    the same for the first layer of the MLPs with all pixels permuted, and the bound over L.
    """
    settings, suite = bell.PROFILES[profile], bell.permuted(profile, seed)
    return bell.kept("cart-theorem", {"": suite}, {"overlaps": OVERLAPS, "trials": TRIALS[profile], "seed": seed},
                     lambda: measure(suite.load(device, settings.test_images), TRIALS[profile], seed).assign_attrs(bell.attributes(profile, seed, suite)))


@training.one_thread()
def measure(loaded, trials: int, seed: int) -> xarray.Dataset:
    """`run` without the cache."""
    sides = [[theorem_2(*planted(overlap, generator=_generator(seed)), c=2.0, eta=0.0, reading=reading) for overlap in OVERLAPS] for reading in READINGS]
    literal = []
    for which in COUNTEREXAMPLES:
        vectors, inputs, others = theorem.counterexample(which)
        literal.append(_both(theorem_2(vectors, inputs, **others)))
    real = on_real(loaded)
    return xarray.Dataset({"loss": ("overlap", [side.loss for side in sides[0]]), "bound": (("reading", "overlap"), [[side.bound for side in row] for row in sides]),
                           "interference": (("reading", "overlap"), [[side.interference for side in row] for row in sides]),
                           "ratio": (("reading", "trial"), [search(trials, seed, reading) for reading in READINGS]), "literal": (("which", "side"), literal),
                           "real": ("side", _both(real)), "slack": real.bound / real.loss},
                          {"overlap": list(OVERLAPS), "reading": list(READINGS), "which": list(COUNTEREXAMPLES), "side": ["L", "bound"]})


def search(trials: int, seed: int, reading: str) -> np.ndarray:
    """L over the bound of random tasks: 3 to 6 of them, ranks 1 to 3, any overlap, singular values from 0.05 to 1, with
    and without noise, (trials,)."""
    generator, found = _generator(seed), []

    def draw(low, high):
        return low + (high - low) * torch.rand((), generator=generator).item()

    for _ in range(trials):
        tasks, rank, noise = int(draw(3, 7)), int(draw(1, 4)), draw(0, 0.3) * (draw(0, 1) > 0.5)
        least = draw(0.05, 1)
        vectors, inputs = planted(draw(0, 1), tasks, rank, 30, least, 5, noise, generator)
        top = max(torch.linalg.matrix_norm(vector, 2).item() for vector in vectors)
        side = theorem_2(vectors, inputs, c=1 / top, eta=noise, reading=reading)  # ‖a‖ = 1 = c·s_max
        found.append(side.loss / side.bound)
    return np.array(found)


def on_real(loaded) -> Bound:
    """The theorem's two sides for the first layer of real networks. The row space of a task vector is all that its
    inputs have here, so that ε = 0; c is the longest input over s_max."""
    vectors = list(task_vectors(FIRST, loaded.base, loaded.finetuned))
    inputs = [x.flatten(1) for x, _ in loaded.held_out]
    top = max(torch.linalg.matrix_norm(vector, 2).item() for vector in vectors)
    return theorem_2(vectors, inputs, c=max(x.norm(dim=1).max().item() for x in inputs) / top, eta=0.0)


def _both(side: Bound):
    return [side.loss, side.bound]


def _generator(seed):
    return torch.Generator().manual_seed(seed)
