"""Which models should be averaged? Uniform and greedy soups, with and without a guest who does not fit in."""
import functools

import numpy as np
import xarray

from lessons.averaging import algorithms
from lessons.averaging.experiment.accuracy import Accuracy
from lessons.averaging.experiment.models import OUTLIERS, TWENTY

NOBODY = "nobody"
GUESTS = (NOBODY, *OUTLIERS)
NUMBERS = ("uniform", "greedy", "soup_ensemble", "best_single", "greedy_size")


def measure(accuracy: Accuracy, held_out: Accuracy, best: list[int]) -> xarray.Dataset:
    """For every guest and number of models: uniform soup, greedy soup, ensemble, and the single model that held-out
    data would choose.

    Args:
        accuracy: on test images.
        held_out: on held-out ones.
        best: the twenty models, the best on held-out data first.
    """
    soup_of = _Greedy(held_out)
    sizes = [size + 1 for size in TWENTY]
    table = np.zeros((len(NUMBERS), len(GUESTS), len(sizes)))
    for row, guest in enumerate(GUESTS):
        for column, size in enumerate(sizes):
            candidates = best[:size] if guest == NOBODY else [*best[:size - 1], OUTLIERS[guest]]
            soup = soup_of(candidates)
            single = max(candidates, key=soup_of.alone)
            table[:, row, column] = (accuracy.of_average(candidates),
                                     accuracy.of_average(soup),
                                     accuracy.of_ensemble(candidates),
                                     accuracy.alone(single),
                                     len(soup))
    found = {name: (("guest", "size"), values) for name, values in zip(NUMBERS, table)}
    return xarray.Dataset(found, coords={"guest": list(GUESTS), "size": sizes})


class _Greedy:
    """Greedy soups by held-out accuracy, of which each is computed once."""

    def __init__(self, held_out):
        self.alone = functools.cache(held_out.alone)
        self._of_average = held_out.of_average
        self._known = {}  # by the set of models: in which order they came makes no difference

    def __call__(self, candidates):
        """The models that a greedy soup of these takes."""
        def accuracy_of(places):
            return self._accuracy([candidates[place] for place in places])

        taken = algorithms.greedy_soup([self.alone(model) for model in candidates], accuracy_of)
        return [candidates[place] for place in taken]

    def _accuracy(self, chosen):
        key = frozenset(chosen)
        if key not in self._known:
            self._known[key] = self._of_average(chosen)
        return self._known[key]
