"""Task arithmetic and CART on one plane: θ₀ + a·(θ_avg − θ₀) + λ·Σ SVD_k(θ_t − θ_avg).

`a` is how far to go along what all tasks have in common, λ how much of what each has alone. Task arithmetic is the line λ = 0, with a = λ_TA · T;
CART is the line a = 1; the average is where they cross.
"""
from dataclasses import dataclass

import numpy as np
import xarray

from lessons.merging import merge
from lessons.interference.experiment.comparison import Line, attributes, settings_of
from lessons.suites import Suite
from lessons.kit.sweep import cached
from toy_models import training
from toy_models.weights import State


@dataclass(frozen=True)
class Grid:
    """What is tried: rank ratios, a, and λ; 1 must be among the a, and 0 among the λ."""
    rank_ratios: tuple[float, ...]
    common: tuple[float, ...]
    own: tuple[float, ...]


GRIDS = {"quick": Grid((0.04, 0.16), (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0), (0.0, 0.5, 1.0, 2.0, 3.0)),
         "full": Grid((0.02, 0.04, 0.08, 0.16, 0.32), (0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0), (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0))}
LINES = ("anywhere", "a = 1: CART", "λ = 0: task arithmetic")


def point(base: State, average: State, own: State, common: float, scale: float) -> State:
    """θ₀ + a·(θ_avg − θ₀) + λ·own, for state dicts; whole-number tensors are those of the average.

    Args:
        own: Σ SVD_k(θ_t − θ_avg), floating-point keys only.
        common: a.
        scale: λ.
    """
    return {key: base[key] + common * (tensor - base[key]) + scale * own[key] if key in own else tensor for key, tensor in average.items()}


def run(suite: Suite, profile: str, seed: int, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and look at the plane.

    Returns:
        A Dataset with
        share (rank_ratio, common, own): normalised accuracy on held-out images, mean over tasks;
        best (line: 3, coordinate: 3): rank ratio, a and λ of the best on the whole plane and on both lines; test (line): its normalised accuracy on test images.
        Attributes: those of `lessons.kit.sweep.caption`, and suite, its title.
    """
    settings, grid = settings_of(suite, profile), GRIDS[profile]
    ingredients = {"grid": [grid.rank_ratios, grid.common, grid.own], "images": [settings.held_out, settings.test],
                   "recipes": [recipe.key for recipe in (suite.base, *suite.recipes.values())]}
    return cached("merging-plane", ingredients, lambda: measure(suite, grid, settings.held_out, settings.test, device).assign_attrs(attributes(suite, profile, seed)))


def run_all(suites: dict[str, Suite], profile: str, seed: int, device: str = "auto") -> dict[str, xarray.Dataset]:
    """`run` for the suites of MLPs."""
    return {name: run(suite, profile, seed, device) for name, suite in suites.items() if not suite.splits}


@training.one_thread()
def measure(suite: Suite, grid: Grid, held_out: int, test: int, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    some, many = (suite.load(device, images) for images in (held_out, test))
    own, share = some.own("held-out"), np.zeros((len(grid.rank_ratios), len(grid.common), len(grid.own)))
    lines = {ratio: Line.of("cart", some.base, some.finetuned, rank_ratio=ratio) for ratio in grid.rank_ratios}
    average = merge("average", some.base, some.finetuned)
    for (k, ratio), (i, common), (j, scale) in ((a, b, c) for a in enumerate(grid.rank_ratios) for b in enumerate(grid.common) for c in enumerate(grid.own)):
        if scale == 0 and k:
            share[k, i, j] = share[0, i, j]  # without an own part the rank does not matter
        else:
            share[k, i, j] = (some.accuracy(point(some.base, average, lines[ratio].direction, common, scale), "held-out") / own).mean()
    found = xarray.Dataset({"share": (("rank_ratio", "common", "own"), share)}, coords={"rank_ratio": list(grid.rank_ratios), "common": list(grid.common), "own": list(grid.own)})
    best = [line_of(found, line) for line in LINES]
    at_best = [(many.accuracy(point(many.base, average, lines[ratio].direction, common, scale)) / many.own()).mean() for ratio, common, scale in best]
    return found.assign(best=(("line", "coordinate"), best), test=("line", at_best)).assign_coords(line=list(LINES), coordinate=["rank_ratio", "common", "own"]).assign_attrs(
        images=f"{len(many.test[0][1]):,} test and {len(some.held_out[0][1]):,} held-out images a task")


def line_of(found: xarray.Dataset, line: str) -> tuple[float, float, float]:
    """(rank ratio, a, λ) of the best held-out accuracy on a line, one of LINES."""
    share = found.share.where(found.common == 1) if line == LINES[1] else found.share.where(found.own == 0) if line == LINES[2] else found.share
    place = np.unravel_index(np.nanargmax(share.values), share.shape)
    return tuple(float(found[name][index]) for name, index in zip(share.dims, place))
