"""All mixes of three models, a triangle: for three that suit each other, and for three that do not."""
import numpy as np
import torch
import xarray

from lessons.averaging.experiment.accuracy import HOW, Accuracy
from lessons.averaging.experiment.models import BOLD, OUTLIERS, STRANGER
from lessons.averaging.experiment.triples import TRIPLES


def measure(accuracy: Accuracy, spread: xarray.DataArray, best: list[int], steps: int) -> xarray.Dataset:
    """triangle_member, triangle_average, triangle_ensemble.

    Args:
        accuracy: of mixes.
        spread: (triple,), as `triples.measure` gives it.
        best: the twenty models, the best on held-out data first.
        steps: positions of each slider.
    """
    far = TRIPLES[spread.values.argmax()]
    threes = {"the three best of the twenty": best[:3],
              "the three of the twenty that lie furthest apart": list(far),
              "the bold one and the two best": [OUTLIERS[BOLD], *best[:2]],
              "the stranger and the two best": [OUTLIERS[STRANGER], *best[:2]]}
    grid = np.linspace(0, 1, steps).round(4)
    variables = {"triangle_member": (("three", "place"), list(threes.values()))}
    for how in HOW:
        values = [[[accuracy.of(how, three, mix_of(first, second)) for second in grid] for first in grid]
                  for three in threes.values()]
        variables[f"triangle_{how}"] = ("three", "first", "second"), values
    return xarray.Dataset(variables, coords={"three": list(threes), "first": grid, "second": grid})


def mix_of(first: float, second: float) -> torch.Tensor:
    """The three shares that the triangle's two sliders mean: the first model's, and the second's share of the rest."""
    return torch.tensor([first, (1 - first) * second, (1 - first) * (1 - second)], dtype=torch.float64)
