"""How methods fare as tasks are added: subsets of permutations of MNIST, and of the 20 splits of CIFAR-100 (CART, Fig.
7 and app. D)."""
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray

from lessons import suites
from lessons.cart.algorithms import costs
from lessons.cart.algorithms.spectra import decomposed_once
from lessons.cart.experiment import bell
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging import search
from lessons.merging.search import Grid
from lessons.suites import Loaded, Suite
from toy_models import Recipe

GRIDS = {"average": Grid("average"),
         "task arithmetic": Grid("task_arithmetic", (0.1, 0.2, 0.3)),
         "TIES": Grid("ties", (1.0,), "density", (0.05, 0.1, 0.2)),
         "CART": Grid("cart", (1.0,), "rank_ratio", (0.08, 0.12, 0.16)),
         "task arithmetic, tuned": Grid("task_arithmetic", (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)),
         "CART, tuned": Grid("cart", (1.0, 2.0, 4.0), "rank_ratio", (0.03, 0.08, 0.16, 0.32))}
SOURCE = tuple(GRIDS)[:4]  # with the grids of app. D


@dataclass(frozen=True)
class Settings:
    """How much is merged."""
    num_tasks: int  # how many tasks there are
    counts: tuple[int, ...]  # how many of them are merged
    subsets: int  # how many choices of so many tasks, at most
    methods: tuple[str, ...]  # names in `GRIDS`
    images: int  # for the test, a task and part
    size: int | None = None  # training images a task; None for all


PROFILES = Profiles(
    quick=Settings(num_tasks=6, counts=(2, 4, 6), subsets=2, methods=tuple(GRIDS), images=300,
                   size=bell.PROFILES["quick"].size),
    full=Settings(num_tasks=8, counts=(2, 3, 4, 5, 6, 7, 8), subsets=5, methods=tuple(GRIDS), images=250,
                  size=bell.PROFILES["full"].size))


def needed(own: np.ndarray, base: np.ndarray, count: int, margin: float = 0.01) -> int:
    """The source's sample size: a is the mean of the `count` lowest accuracies of θ₀, b that of the `count` highest of
    the networks themselves, over which it is divided as the performance is, by the own one; ε is a hundredth."""
    low = np.sort(base)[:count].mean()
    high = np.sort(own)[-count:].mean()
    return costs.sample_size(low / high, 1.0, margin)


def permutations(settings: Settings, seed: int = 0) -> Suite:
    """Permutations of MNIST, all pixels permuted."""
    return suites.permuted(settings.num_tasks, 1.0, seed, settings.size, bell.WIDTH)


def permutations_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network of these."""
    return bell.recipes_of({"": permutations(settings, seed)})


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The permutations; returns what `measured` does."""
    suite = permutations(settings, seed)
    sweep = measured(suite, settings, seed, device)
    return sweep.assign_attrs(bell.about(suite, settings.size, settings.images))


def measured(suite: Suite, settings: Settings, seed: int, device: str = "auto") -> xarray.Dataset:
    """Subsets of the suite's tasks, merged by every method.

    Returns:
        A Dataset with
        normalised (count, subset, merged_by): accuracy over that of the tasks' own networks, mean over a subset's
        tasks, parameters chosen on held-out images, on test images, NaN where there are fewer subsets;
        picked (count, subset, merged_by): the number of the chosen parameters, the other one running fastest;
        needed (count): the source's sample size for ε = 1 %;
        possible (count): how many subsets there are.
    """
    whole = suite.load(device, settings.images)
    own = whole.own()
    base = whole.accuracy(whole.base)
    counts = list(settings.counts)
    accuracies = np.full((2, len(counts), settings.subsets, len(settings.methods)), np.nan)
    examples = []
    for row, count in enumerate(counts):
        for column, chosen in enumerate(suites.subsets_of(settings.num_tasks, count, settings.subsets, seed)):
            some = suite.part(chosen).load(device, settings.images)
            accuracies[:, row, column] = tuned(some, {name: GRIDS[name] for name in settings.methods})
            examples.append(sum(len(y) for _, y in some.held_out))
    dimensions = ("count", "subset", "merged_by")
    sets = {"normalised": (dimensions, accuracies[0]),
            "picked": (dimensions, accuracies[1]),
            "needed": ("count", [needed(own, base, count) for count in counts]),
            "possible": ("count", [math.comb(settings.num_tasks, count) for count in counts])}
    return xarray.Dataset(sets, {"count": counts, "merged_by": list(settings.methods)}, search.resting_on(*examples))


def tuned(loaded: Loaded, grids: Mapping[str, Grid]) -> tuple[list[float], list[int]]:
    """Of every grid, where it is best on held-out images: the normalised test accuracy, mean over tasks, and the number
    of the parameters."""
    merges = decomposed_once(loaded.base, loaded.finetuned)
    tried = loaded.searched(grids, merges)
    order = ("scale", "place")
    own = loaded.own()
    shares = [(loaded.accuracy(state) / own).mean() for state in search.tuned(tried, grids, merges, *order).values()]
    best = search.best(tried.held.mean("task", skipna=False), *order)
    numbers = [grid.scales.index(scale) * len(grid.tried) + place
               for grid, scale, place in zip(grids.values(), best["scale"].values, best["place"].values)]
    return shares, numbers


def standard_error(sweep: xarray.Dataset) -> xarray.DataArray:
    """Of the mean over subsets, (count, merged_by); NaN where there is one subset."""
    if sweep.sizes["subset"] == 1:
        return sweep.normalised.isel(subset=0) * np.nan
    many = sweep.normalised.notnull().sum("subset")
    return sweep.normalised.std("subset", ddof=1) / many ** 0.5


TASKS = Experiment("cart-tasks", measure, PROFILES, bell.source, "MNIST", recipes=permutations_recipes)
run = TASKS.run
