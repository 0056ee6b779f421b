"""The methods outside the race on a suite of MLPs, tuned on held-out images as those in it: DELLA, Iso-C and Model
Stock, which need only weights, and Fisher merging and RegMean, which look at each task's held-out images without their
labels.

SLERP is left out because it merges two networks, and AdaMerging because `adaptation` has it. Fisher merging's floor is
not tuned.
"""
import numpy as np
import xarray

from lessons.interference.experiment import comparison, results
from lessons.interference.experiment.searches import SCALES, WIDE
from lessons.kit.experiment import Collection, Experiment, Numbers
from lessons.kit.profiles import SEEDS, Profiles
from lessons.merging import merge, search
from lessons.merging.search import Grid, Merges
from lessons.merging.weighted import fisher_information, input_products
from lessons.suites import Loaded, Suite

GRIDS = {"della": Grid("della", SCALES, "drop_rate", (0.1, 0.3, 0.5, 0.7, 0.9)),
         "isotropic": Grid("isotropic", SCALES),
         "model_stock": Grid("model_stock"),
         "fisher": Grid("fisher"),
         "regmean": Grid("regmean", other="off_diagonal", values=(0.0, 0.5, 0.9, 0.99, 1.0))}
UNRACED = tuple(GRIDS)
PROFILES = Profiles(quick=comparison.QUICK, full=comparison.FULL)


def of_suite(suite: Suite, profiles: Profiles = PROFILES) -> Experiment:
    """The methods of `UNRACED` on a suite of MLPs. See `measure`."""
    return comparison.on_suite(suite, "interference-unraced", lambda settings, seed, device:
                               measure(suite, settings, device), profiles)


def run_all(suites: dict[str, Suite], profile: str, seed: int = 0, device: str = "auto") -> dict[str, xarray.Dataset]:
    """`measure` for every suite of MLPs; from disk where that was done before."""
    return {name: of_suite(suite).run(profile, seed, device) for name, suite in suites.items() if suite.kind == "MLP"}


def measure(suite: Suite, settings: comparison.Settings, device: str = "auto") -> xarray.Dataset:
    """Every method where it is best on held-out images.

    Returns:
        A Dataset with
        accuracy (reported: 5, task): on test images;
        scale, value (reported): the λ and the other parameter that held-out images chose, NaN where there is none;
        own, average (task): of the single models and of the average on test images.
    """
    some, many = suite.load(device, settings.held_out), suite.load(device, settings.test)
    merges = merges_of(some)
    tried = some.searched(grids_of(settings), merges, title=f"{suite.title}, outside the race")
    share = results.share_of(tried.held, xarray.DataArray(some.own("held-out"), dims="task"))
    best = search.best(share.mean("task", skipna=False), "place", "scale")
    scales = best["scale"].where(best["scale"].searched.isin(("della", "isotropic")))
    values = tried.value.sel(place=best["place"]).drop_vars("place")
    accuracies = [many.accuracy(merges(name, **GRIDS[name].at(int(best["place"].sel(searched=name))))(
        float(best["scale"].sel(searched=name)))) for name in UNRACED]
    images = f"{len(many.test[0][1]):,} test and {len(some.held_out[0][1]):,} held-out images a task"
    return xarray.Dataset({"accuracy": (("reported", "task"), np.array(accuracies)),
                           "scale": ("reported", scales.values), "value": ("reported", values.values),
                           "own": ("task", many.own()),
                           "average": ("task", many.accuracy(merge("average", many.base, many.finetuned)))},
                          {"reported": list(UNRACED), "task": list(suite.tasks)},
                          {**tried.attrs, "images": images})


def grids_of(settings: comparison.Settings) -> dict[str, Grid]:
    """What is tried of each: the λ and places of the race where a profile names them."""
    return {name: Grid(name, settings.scales if len(grid.scales) > 1 and settings.scales else grid.scales, grid.other,
                       grid.values, settings.places if grid.other else None) for name, grid in GRIDS.items()}


def merges_of(loaded: Loaded) -> Merges:
    """How each is merged; what Fisher merging and RegMean need is measured on the tasks' held-out images, once."""
    lines = search.on_lines(loaded.base, loaded.finetuned)
    networks = list(zip(loaded.networks, (x for x, _ in loaded.held_out), strict=True))
    given = {"fisher": {"information": [fisher_information(network, x) for network, x in networks]},
             "regmean": {"products": [input_products(network, x) for network, x in networks]}}

    def of(method, **parameters):
        if len(GRIDS[method].scales) > 1:
            return lines(method, **parameters)
        merged = merge(method, loaded.base, loaded.finetuned, **given.get(method, {}), **parameters)
        return lambda scale: merged
    return of


def together(raced: xarray.Dataset, others: xarray.Dataset) -> xarray.Dataset:
    """The accuracies of all methods in one Dataset like that of `comparison.measure`, those of the race with what was
    best in all that was tried.

    Args:
        raced: from `comparison.measure`; its attributes stay.
        others: from `measure`, of the same suite, profile and seed.

    Raises:
        ValueError: the sweeps differ in one of these, or in their tasks.
    """
    for what in ("suite", "profile", "seed"):
        first, second = (sweep.attrs.get(what) for sweep in (raced, others))
        if first != second:
            raise ValueError(f"both sweeps must be of the same suite, profile and seed, but the {what} of the first is "
                             f"{first}, and that of the second is {second}")
    tasks = [sweep.task.values.tolist() for sweep in (raced, others)]
    if tasks[0] != tasks[1]:
        raise ValueError(f"both sweeps must be of the same tasks, but the first has {', '.join(map(str, tasks[0]))}, "
                         f"and the second has {', '.join(map(str, tasks[1]))}")
    accuracy = xarray.concat([raced.accuracy.sel(grid=[WIDE]), others.accuracy.expand_dims(grid=[WIDE])], "reported")
    return xarray.Dataset({"accuracy": accuracy, "own": raced.own}, attrs=raced.attrs)


# -- the ledger ------------------------------------------------------------------------------------

def numbers(sweeps: dict[str, xarray.Dataset]) -> Numbers:
    """CART-8: "suite: method over average", in normalised accuracy on test images, mean over tasks."""
    leads = {}
    for name, sweep in sweeps.items():
        over = results.share_of(sweep.accuracy - sweep.average, sweep.own).mean("task")
        leads |= {f"{name}: {method} over average": over.sel(reported=method).item() for method in UNRACED}
    return {"CART-8": leads}


def _suites(profile, seed=0):
    return {name: suite for name, suite in comparison.suites_of(profile, seed).items() if suite.kind == "MLP"}


def _sources():
    return [source for suite in _suites("full").values() for source in suite.sources]


def _measured(profile="full", seed=0, device="auto"):
    return numbers(run_all(_suites(profile, seed), profile, seed, device))


LEDGER = (Collection("interference-unraced", _sources, _measured, ledger={"full": SEEDS}),)
