"""How merges fare as tasks are added; and as finetuning goes on."""
import numpy as np
import xarray

from lessons import suites
from lessons.cart.algorithms.spectra import decomposed_once
from lessons.kit.experiment import Experiment
from lessons.merging import search
from lessons.merging.search import Grid, resting_on
from lessons.suites import Loaded, Suite
from lessons.vit.experiment import setting
from lessons.vit.experiment.setting import FIRST, Settings, in_threads
from toy_models import Recipe

METHODS = ("average", "task arithmetic", "TIES", "TSV-M", "CART")
SUBSETS = 3  # of each number of tasks, at most
PASSES = (1, 3)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All widths.

    Returns:
        A Dataset with
        kept (width, count, subset, merged_by): accuracy over that of the tasks' own networks, mean over a subset's
        tasks, parameters chosen on held-out images, on test images; NaN where there are fewer subsets.
    """
    sweeps = [of_width(settings, seed, width, device) for width in settings.widths]
    made = xarray.concat(sweeps, xarray.DataArray(list(settings.widths), dims="width", name="width"))
    fewest, most = settings.images * min(settings.counts), settings.images * max(settings.counts)
    return made.assign_attrs(images=setting.images_of(settings), **resting_on(fewest, most))


def of_width(settings: Settings, seed: int, width: int, device: str = "auto") -> xarray.Dataset:
    """One width."""
    suite = setting.suite(settings, seed, width)
    kept = np.full((len(settings.counts), SUBSETS, len(METHODS)), np.nan)
    for row, count in enumerate(settings.counts):
        for column, subset in enumerate(suites.subsets_of(len(suite.tasks), count, SUBSETS, seed)):
            loaded = suite.part(subset).load(device, settings.images)
            own = loaded.own()
            kept[row, column] = [float((accuracy / own).mean()) for accuracy in tuned(loaded).values()]
    return xarray.Dataset({"kept": (("count", "subset", "merged_by"), kept)},
                          {"count": list(settings.counts), "merged_by": list(METHODS)})


def tuned(loaded: Loaded) -> dict[str, np.ndarray]:
    """{method: accuracy (tasks,) on test images}, λ and one other parameter chosen on held-out images. λ is given
    for as many tasks as there are: task arithmetic's are shares of 1/T."""
    tasks = len(loaded.finetuned)
    grids = {"average": Grid("average"),
             "task arithmetic": Grid("task_arithmetic", tuple(share / tasks for share in (0.5, 0.75, 1.0, 1.5, 2.0))),
             "TIES": Grid("ties", (0.4, 0.7, 1.0), "density", (0.1, 0.4)),
             "TSV-M": Grid("tsv", (0.4, 0.6, 0.8, 1.0)),
             "CART": Grid("cart", (1.0, 1.5, 2.0), "rank_ratio", (0.08, 0.16, 0.32))}
    merges = decomposed_once(loaded.base, loaded.finetuned)
    tried = loaded.searched(grids, merges, in_threads)
    return {name: loaded.accuracy(state, "test") for name, state in search.tuned(tried, grids, merges).items()}


EXPERIMENT = setting.ByWidth("vit-counts", measure)
run = EXPERIMENT.run


# -- finetuning that goes on -----------------------------------------------------------------------

def suite_after(settings: Settings, seed: int, passes: int) -> Suite:
    """The eight tasks of the first width, after so many passes."""
    return suites.altered(settings.widths[0], seed, settings.size, passes)


def recipes_of_passes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network of `measure_passes`."""
    return [recipe for passes in PASSES for recipe in suite_after(settings, seed, passes).all_recipes]


def measure_passes(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The first width; each number of passes is a training of its own, since the learning rate falls to 0 at its end.

    Returns:
        A Dataset with merged (passes, merged_by, task) and single (passes, task): accuracy on test images, parameters
        chosen on held-out images; base (task).
    """
    merged, single = [], []
    for passes in PASSES:
        loaded = suite_after(settings, seed, passes).load(device, settings.images)
        merged.append(list(tuned(loaded).values()))
        single.append(loaded.own())
    held_out = resting_on(settings.images * len(loaded.finetuned))
    return xarray.Dataset({"merged": (("passes", "merged_by", "task"), np.array(merged)),
                           "single": (("passes", "task"), np.array(single)),
                           "base": ("task", loaded.accuracy(loaded.base))},
                          {"passes": list(PASSES), "merged_by": list(METHODS), "task": loaded.suite.tasks},
                          {"images": setting.images_of(settings), **held_out})


OF_PASSES = Experiment("vit-passes", measure_passes, setting.of_width(FIRST), setting.source, setting.DATASET,
                       recipes=recipes_of_passes, network=f"TinyViT of width {FIRST}")
run_passes = OF_PASSES.run
