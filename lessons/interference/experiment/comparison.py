"""Every method of the registry on a suite: hyper-parameters chosen on held-out images, accuracy on test images as a
share of the single model's.

All methods that take a scale λ move along a straight line, origin + λ · direction, so that a method is merged once for
every value of its other parameter and then only looked at for every λ.
"""
import functools
from collections.abc import Callable

import numpy as np
import xarray

from lessons import suites
from lessons.interference.experiment import results
from lessons.interference.experiment.searches import GRIDS, REPORTED, SCALES, SEARCHES, SOURCES, STORING, WIDE, Settings
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging import merge
from lessons.merging.search import best, on_lines
from lessons.suites import Loaded, Suite

QUICK = Settings(held_out=400, test=1200, scales=(0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0), places=(1, 2, 3))
FULL = Settings(held_out=500, test=2000, scales=SCALES, places=(0, 1, 2, 3, 4))
RESNETS = Settings(held_out=40, test=120)
PROFILES = {"MLP": Profiles(quick=QUICK, full=FULL), "ResNet18": Profiles(full=RESNETS)}  # kind of network: profiles
SPLITS = {"split 8": 8, "split 14": 14, "split 20": 20}


# -- the suites ------------------------------------------------------------------------------------

def suites_of(profile: str, seed: int = 0) -> dict[str, Suite]:
    """{name: suite} of a profile.

    Raises:
        ValueError: there is no such profile.
    """
    return _MAKE[profile](seed)


def _quick(seed):
    """MLPs on a part of the images."""
    return {"rotated": suites.rotated(seed, size=20_000), "several": suites.several(seed, size=5_000, epochs=2)}


def _full(seed):
    resnets = {name: suites.split(count, seed) for name, count in SPLITS.items()}
    return {"rotated": suites.rotated(seed), "several": suites.several(seed), **resnets}


_MAKE = Profiles(quick=_quick, full=_full)


def on_suite(suite: Suite, name: str, measure: Callable[..., xarray.Dataset], profiles: Profiles) -> Experiment:
    """An experiment of the chapter on one suite of tasks; its sweep's attribute `suite` is the suite's title.

    Args:
        suite: the tasks and their networks.
        name: of the experiment.
        measure: (settings, seed, device) -> xarray.Dataset, written in the module that measures.
        profiles: {profile: settings}.
    """
    return Experiment(
        name, measure, profiles,
        source=lambda: suite.joint_source,
        dataset="CIFAR-100" if suite.splits else "MNIST",
        recipes=lambda settings, seed: suite.remade().all_recipes,  # the archive's are those of the official files
        one_thread=not suite.splits,
        attributes={"suite": suite.title})


# -- the measurement -------------------------------------------------------------------------------

def of_suite(suite: Suite, profiles: Profiles | None = None) -> Experiment:
    """The comparison on a suite: all methods are tried, and the chosen ones looked at. See `measure`.

    Args:
        suite: the tasks.
        profiles: {profile: settings}; None for those of the suite's kind of network.
    """
    return on_suite(suite, "interference", lambda settings, seed, device: measure(suite, settings, device),
                    profiles or PROFILES[suite.kind])


def run(suite: Suite, profile: str, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure; from disk where that was done before. See `measure`."""
    return of_suite(suite).run(profile, seed, device)


def run_all(suites: dict[str, Suite], profile: str, seed: int = 0, device: str = "auto") -> dict[str, xarray.Dataset]:
    """`run` for every suite. Each is kept by itself, so that an interrupted run goes on where it stopped."""
    return {name: run(suite, profile, seed, device) for name, suite in suites.items()}


def measure(suite: Suite, settings: Settings, device: str = "auto") -> xarray.Dataset:
    """All that is compared.

    Returns:
        A Dataset with
        tried (searched: 7, place: 5, scale, task): accuracy on held-out images, NaN where it was not tried (`searched`
        in `lessons.merging.search`);
        value (searched, place): of the method's other parameter;
        own_tried (task): of the single models on the same images;
        place_chosen, scale_chosen (grid: 2, searched: 7): the position of the best, by normalised accuracy, in all that
        was tried and in the sources' grid;
        accuracy (grid, reported: 11, task): on test images;
        own (task): of the single models; base (task): of the pretrained one.
    """
    some = suite.load(device, settings.held_out)
    many = suite.load(device, settings.test)
    tried = _tried(some, settings)
    chosen = {grid: best_of(tried, grid) for grid in GRIDS}
    images = f"{len(many.test[0][1]):,} test and {len(some.held_out[0][1]):,} held-out images a task"
    return tried.assign(
        place_chosen=(("grid", "searched"), [at["place"].values for at in chosen.values()]),
        scale_chosen=(("grid", "searched"), [at["scale"].values for at in chosen.values()]),
        accuracy=(("grid", "reported", "task"), _reported(many, chosen)),
        own=("task", many.own()),
        base=("task", many.accuracy(many.base)),
    ).assign_coords(grid=list(GRIDS), reported=list(REPORTED)).assign_attrs(images=images)


def _tried(loaded, settings):
    """What every method is worth on held-out images, wherever it is tried."""
    grids = {method: settings.grid_of(search) for method, search in SEARCHES.items()}
    tried = loaded.searched(grids, on_lines(loaded.base, loaded.finetuned), title=loaded.suite.title)
    every = tried.rename(held="tried").reindex(place=range(5), scale=list(SCALES))  # NaN where nothing was tried
    return every.assign(own_tried=("task", loaded.own("held-out")))


def _reported(loaded: Loaded, chosen) -> np.ndarray:
    """Accuracy on test images of every method at its best, {grid: `best_of`}: (grid, reported, task)."""
    @functools.cache
    def accuracy(method, **parameters):
        return loaded.accuracy(merge(method, loaded.base, loaded.finetuned, **parameters))

    def at_best(method, at):
        if method not in SEARCHES:
            return accuracy(method, **STORING.get(method, {}))
        place, scale = (at[name].sel(searched=method).item() for name in ("place", "scale"))
        return accuracy(method, scale=scale, **SEARCHES[method].at(place))

    return np.array([[at_best(method, at) for method in REPORTED] for at in chosen.values()])


def best_of(tried: xarray.Dataset, grid: str = WIDE) -> dict[str, xarray.DataArray]:
    """{"place", "scale": (searched)} of the highest normalised accuracy on held-out images, in all that was tried or in
    the sources' part of it; `grid` is one of GRIDS."""
    share = results.share_of(tried.tried, tried.own_tried).mean("task", skipna=False)
    if grid == SOURCES:
        parts = []  # NaN where the sources do not try it
        for method, search in SEARCHES.items():
            part = share.sel(searched=method)
            part = part.where(part.scale.isin(search.source_scales))
            values = tried.value.sel(searched=method)
            parts.append(part.where(values.isin(search.source_values)) if search.other else part)
        share = xarray.concat(parts, "searched")
    return best(share, "place", "scale")
