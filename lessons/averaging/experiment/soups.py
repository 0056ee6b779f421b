"""Which models should be averaged? Uniform and greedy soups, with and without a guest who does not fit in."""
import functools

import numpy as np
import xarray

from lessons.averaging import algorithms
from lessons.averaging.experiment.accuracy import Accuracy
from lessons.averaging.experiment.models import BOLD, OUTLIERS, TWENTY

NOBODY = "nobody"
GUESTS = (NOBODY, *OUTLIERS)
SOUPS = ("uniform", "greedy", "soup_ensemble")
BEST = "best_single"


def measure(accuracy: Accuracy, held_out: Accuracy, best: list[int]) -> xarray.Dataset:
    """For every guest and number of models: uniform soup, greedy soup, ensemble, and the single model that held-out
    data would choose.

    All four are asked about the same images, so how much more accurate a soup is than the single model is known far
    better than either accuracy: `*_gain` and `*_gain_error`, its standard error; `greedy_over_uniform` and its error.

    Args:
        accuracy: on test images.
        held_out: on held-out ones.
        best: the twenty models, the best on held-out data first.
    """
    soup_of = _Greedy(held_out)
    right_of = functools.cache(accuracy.right)
    sizes = [size + 1 for size in TWENTY]
    rows = []
    for guest in GUESTS:
        for size in sizes:
            candidates = best[:size] if guest == NOBODY else [*best[:size - 1], OUTLIERS[guest]]
            soup = soup_of(candidates)
            single = max(candidates, key=soup_of.alone)
            right = {"uniform": right_of("average", tuple(candidates)),
                     "greedy": right_of("average", tuple(sorted(soup))),
                     "soup_ensemble": right_of("ensemble", tuple(candidates)),
                     BEST: right_of("ensemble", (single,))}
            rows.append(_compared(right) | {"greedy_size": len(soup)})
    shape = len(GUESTS), len(sizes)
    variables = {name: (("guest", "size"), np.reshape([row[name] for row in rows], shape)) for name in rows[0]}
    return xarray.Dataset(variables, coords={"guest": list(GUESTS), "size": sizes})


def _compared(right):
    """Accuracies, and differences with their errors, from which images each reads right."""
    numbers = {name: images.mean() for name, images in right.items()}
    for name in SOUPS:
        numbers[f"{name}_gain"], numbers[f"{name}_gain_error"] = algorithms.paired(right[name], right[BEST])
    gain, error = algorithms.paired(right["greedy"], right["uniform"])
    return numbers | {"greedy_over_uniform": gain, "greedy_over_uniform_error": error}


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


def claim(sweep: xarray.Dataset) -> dict[str, float]:
    """What a soup is worth, in shares correct on the same test images, beside the best single model on held-out data.

    Not claimed by the source; the chapter's own sentences rest on these.
    """
    of_all = sweep.sel(guest=NOBODY, size=20)
    bold = sweep.sel(guest=BOLD, size=3)
    numbers = {f"{name}_gain": of_all[f"{name}_gain"].item() for name in SOUPS}
    return numbers | {"greedy_over_uniform": of_all.greedy_over_uniform.item(),
                      "uniform_gain_with_bold": bold.uniform_gain.item(),
                      "greedy_gain_with_bold": bold.greedy_gain.item()}
