"""How methods fare as tasks are added: subsets of permutations of MNIST, and of the 20 splits of CIFAR-100 (CART, Fig.
7 and app. D)."""
import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import xarray

from lessons.cart.algorithms import costs
from lessons.cart.algorithms.spectra import Spectra
from lessons.cart.experiment import bell
from lessons.merging import merge
from lessons import suites
from lessons.suites import PARTS, Loaded, Suite
from lessons.kit.profiles import Profiles
from toy_models import training

METHODS = {"average": [("average", {})],
           "task arithmetic": [("task_arithmetic", {"scale": scale}) for scale in (0.1, 0.2, 0.3)],
           "TIES": [("ties", {"scale": 1.0, "density": density}) for density in (0.05, 0.1, 0.2)],
           "CART": [("cart", {"scale": 1.0, "rank_ratio": rank}) for rank in (0.08, 0.12, 0.16)],
           "task arithmetic, tuned": [("task_arithmetic", {"scale": scale}) for scale in (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)],
           "CART, tuned": [("cart", {"scale": scale, "rank_ratio": rank}) for scale in (1.0, 2.0, 4.0) for rank in (0.03, 0.08, 0.16, 0.32)]}
SOURCE = tuple(METHODS)[:4]  # with the grids of app. D


@dataclass(frozen=True)
class Settings:
    """How many tasks there are, which numbers of them are merged, how many subsets of each number at most, and the
    methods."""
    num_tasks: int
    counts: tuple[int, ...]
    subsets: int
    methods: tuple[str, ...]
    images: int


PROFILES = Profiles(quick=Settings(6, (2, 4, 6), 2, tuple(METHODS), 80), full=Settings(8, (2, 3, 4, 5, 6, 7, 8), 5, tuple(METHODS), 250))


def subsets_of(num_tasks: int, count: int, most: int, seed: int) -> list[tuple[int, ...]]:
    """Up to `most` different subsets of that many tasks, drawn without replacement; all where there are fewer."""
    everything = math.comb(num_tasks, count)
    generator = random.Random(1000 * seed + count)
    if everything <= 10_000:
        return sorted(generator.sample(list(itertools.combinations(range(num_tasks), count)), min(most, everything)))
    return sorted({tuple(sorted(generator.sample(range(num_tasks), count))) for _ in range(most)})


def needed(own: np.ndarray, base: np.ndarray, count: int, margin: float = 0.01) -> int:
    """The source's sample size: a is the mean of the `count` lowest accuracies of θ₀, b that of the `count` highest of
    the networks themselves, over which it is divided as the performance is, by the own one; ε is a hundredth."""
    low, high = np.sort(base)[:count].mean(), np.sort(own)[-count:].mean()
    return costs.sample_size(low / high, 1.0, margin)


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Permutations of MNIST, all pixels permuted.

    Returns:
        A Dataset with normalised (count, subset, merged_by): accuracy over that of the tasks' own networks, mean over a
        subset's tasks, parameters chosen on held-out images, on test images, NaN where there are fewer subsets; picked
        (count, subset, merged_by): the number of the chosen parameters; needed (count): the source's sample size for ε
        = 1 %; possible (count): how many subsets there are.
    """
    settings, of = PROFILES[profile], bell.PROFILES[profile]
    suite = suites.permuted(settings.num_tasks, 1.0, seed, of.size, bell.WIDTH)
    return kept(suite, settings, seed, device).assign_attrs(bell.attributes(profile, seed, suite) | {"images": f"{of.size:,} training and {settings.images} test images a task"})


def kept(suite: Suite, settings: Settings, seed: int, device: str = "auto") -> xarray.Dataset:
    """`measure`, from disk if it is there; attributes for a caption are the caller's."""
    return bell.kept("cart-tasks", {"": suite}, asdict(settings) | {"seed": seed}, lambda: measure(suite, settings, seed, device))


def measure(suite: Suite, settings: Settings, seed: int, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    with training.one_thread():
        whole = suite.load(device, settings.images)
        own, base = whole.own(), whole.accuracy(whole.base)
        found = np.full((2, len(settings.counts), settings.subsets, len(settings.methods)), np.nan)
        for row, count in enumerate(settings.counts):
            for column, chosen in enumerate(subsets_of(settings.num_tasks, count, settings.subsets, seed)):
                some = part_of(suite, chosen).load(device, settings.images)
                found[:, row, column] = np.array([best(some, METHODS[name]) for name in settings.methods]).T
    counts = list(settings.counts)
    return xarray.Dataset({"normalised": (("count", "subset", "merged_by"), found[0]), "picked": (("count", "subset", "merged_by"), found[1]),
                           "needed": ("count", [needed(own, base, count) for count in counts]), "possible": ("count", [math.comb(settings.num_tasks, count) for count in counts])},
                          {"count": counts, "merged_by": list(settings.methods)})


def part_of(suite: Suite, chosen: Sequence[int]) -> Suite:
    """The suite of some of its tasks."""
    names = [suite.tasks[i] for i in chosen]
    return Suite(suite.title, suite.base, {name: suite.recipes[name] for name in names}, tuple(suite.splits[i] for i in chosen) if suite.splits else ())


def best(loaded: Loaded, candidates: list[tuple[str, dict]]) -> tuple[float, int]:
    """The normalised test accuracy of the candidate that is best on held-out images, mean over tasks, and its
    number."""
    # decomposed once for all candidates
    spectra = Spectra(loaded.base, loaded.finetuned) if candidates[0][0] == "cart" else None
    merged = [spectra.merged(**parameters) if spectra else merge(method, loaded.base, loaded.finetuned, **parameters) for method, parameters in candidates]
    scores = [loaded.accuracy(one, PARTS[0]).mean() for one in merged] if len(merged) > 1 else [0.0]
    number = int(np.argmax(scores))
    return loaded.normalised(merged[number], "test").mean(), number


def standard_error(sweep: xarray.Dataset) -> xarray.DataArray:
    """Of the mean over subsets, (count, merged_by); NaN where there is one subset."""
    many = sweep.normalised.notnull().sum("subset")
    return sweep.normalised.std("subset", ddof=1) / many ** 0.5 if sweep.sizes["subset"] > 1 else sweep.normalised.isel(subset=0) * np.nan
