"""Is it the distance that spoils an average? A model is moved along its own task vector, nearer and farther."""
import itertools

import numpy as np
import torch
import xarray

from lessons.averaging.algorithms import Family
from lessons.averaging.experiment.models import BOLD, OUTLIERS
from lessons.linearity.algorithms import cosine
from toy_models import weights

OF_THE_TWENTY = "the best of the twenty"
WALKERS = (OF_THE_TWENTY, BOLD)
LENGTHS = (2.0, 4.0, 6.0, 8.0, 11.0, 14.0, 17.0, 20.0)  # distances from the pretrained network
PARTNERS = 5  # the next best of the twenty, all pairs of them
IMAGES = 2000  # at most


def measure(states: list[dict], start: dict, best: list[int], x: torch.Tensor, y: torch.Tensor) -> xarray.Dataset:
    """θ₀ + d·τ/‖τ‖ in triples with two of the best, mean over the pairs of these.

    τ is the walker's task vector: nothing changes but how far it went, neither the direction nor what it learned from.

    Args:
        states: of all 22 models.
        start: of the pretrained network.
        best: the twenty, the best on held-out data first; the first of them walks too.

    Returns:
        A Dataset with walk_alone, the walker's own accuracy; walk_average and walk_ensemble, accuracies of the triples;
        walk_gap, 1 − cosine between the outputs of the two; walk_apart, the root mean square of the distances between a
        triple's members; all (walker, length).
    """
    step = max(1, len(x) // IMAGES)
    partners = [states[i] for i in best[1:PARTNERS + 1]]
    rows = []
    for place in (best[0], OUTLIERS[BOLD]):
        walk = [_at(start, states[place], length) for length in LENGTHS]
        rows += _walked(walk, partners, x[::step], y[::step])
    shape = len(WALKERS), len(LENGTHS)
    variables = {name: (("walker", "length"), np.reshape([row[name] for row in rows], shape)) for name in rows[0]}
    return xarray.Dataset(variables, coords={"walker": list(WALKERS), "length": list(LENGTHS)})


def _at(start, state, length):
    """The state dict so far from the start, in the direction of another one."""
    step = weights.subtract(state, start)
    return weights.add(start, weights.scale(step, length / weights.norm(step)))


def _walked(walk, partners, x, y):
    """For every place of a walk: {number: mean over the pairs of partners}."""
    states = [*walk, *partners]
    family = Family(states, x)
    rows = []
    for place in range(len(walk)):
        of_pairs = []
        for pair in itertools.combinations(range(len(walk), len(states)), 2):
            chosen = [place, *pair]
            average = family.average(chosen)["output"]
            together = family.ensemble(chosen)
            squares = [weights.norm(weights.subtract(states[i], states[j])) ** 2
                       for i, j in itertools.combinations(chosen, 2)]
            of_pairs.append([_share(average, y), _share(together, y), (1 - cosine(average, together)).mean().item(),
                             np.sqrt(np.mean(squares))])
        means = dict(zip(("walk_average", "walk_ensemble", "walk_gap", "walk_apart"), np.mean(of_pairs, axis=0)))
        rows.append({"walk_alone": _share(family.features["output"][place], y), **means})
    return rows


def _share(logits, y):
    return (logits.argmax(1) == y).double().mean().item()


def claim(sweep: xarray.Dataset) -> dict[str, float]:
    """How far the outputs of averaged weights point away from the ensemble's, for the bold one pulled back as near as
    the twenty lie, for one of the twenty there, and for one of the twenty pushed as far as the bold one went."""
    gap = sweep.walk_gap
    near, far = 4.0, 20.0
    return {"gap_bold_at_4": gap.sel(walker=BOLD, length=near).item(),
            "gap_one_of_twenty_at_4": gap.sel(walker=OF_THE_TWENTY, length=near).item(),
            "gap_bold_at_20": gap.sel(walker=BOLD, length=far).item(),
            "gap_one_of_twenty_at_20": gap.sel(walker=OF_THE_TWENTY, length=far).item()}
