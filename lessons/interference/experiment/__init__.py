"""The experiments: a `toy`; all methods on suites of tasks (`searches`, `comparison`, `results`, and those outside
the race, `unraced`); the `plane` of task arithmetic and CART; test-time `adaptation`; and the `choices` in which
sources and code differ. Here: what the notebook says first, and the numbers that the ledger keeps.

Every measurement but the toy's is an Experiment on one suite. "quick" and "full" have both suites of MLPs, "full" also
Split CIFAR-100 with 8, 14 and 20 tasks, whose ResNets take minutes to hours to train.
"""
import xarray

from lessons.interference.experiment import adaptation, choices, comparison, plane, results, searches, toy, unraced
from lessons.interference.experiment.comparison import suites_of
from lessons.interference.experiment.searches import CLAIMED, GRIDS, REPORTED, SOURCES, WIDE
from lessons.kit import experiment
from lessons.kit.experiment import Collection, Numbers
from lessons.kit.profiles import SEEDS
from lessons.suites import Suite

# Rough, on one core: everything that the chapter measures on a suite, and a network's training.
SECONDS = {"quick": {"MLP": 20}, "full": {"MLP": 70, "ResNet18": 160}}
LOADED = "several"  # the suite whose networks the notebooks merge in their cells
TRAINING_SECONDS = {"quick": {"MLP": 0.45}, "full": {"MLP": 1.5, "ResNet18": 35}}


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, and how long the chapter takes."""
    suites = suites_of(profile, seed)
    experiment.announce(sources(suites), estimate(suites, profile, seed))


def sources(suites: dict[str, Suite]) -> str:
    """Which data the suites are made of; a stand-in is named."""
    return "; ".join(dict.fromkeys(str(source) for suite in suites.values() for source in suite.sources))


def estimate(suites: dict[str, Suite], profile: str, seed: int = 0) -> str:
    """A sentence that says what the chapter will have to train and measure on its suites, and about how long that
    takes. Of suites whose sweeps are there it needs the networks of `LOADED` alone."""
    to_measure = {name: suite for name, suite in suites.items()
                  if experiment.to_measure(_experiments(suite), profile, seed)}
    to_train = {}  # suites share networks
    for name, suite in suites.items():
        if name in to_measure or name == LOADED:
            to_train |= dict.fromkeys(experiment.missing(suite.all_recipes), TRAINING_SECONDS[profile][suite.kind])
    if not to_measure and not to_train:
        return experiment.ALL_THERE
    seconds = sum(to_train.values()) + sum(SECONDS[profile][suite.kind] for suite in to_measure.values())
    time = f"about {f'{seconds / 60:.0f} minutes' if seconds > 90 else f'{seconds:.0f} s'}, once."
    networks = "All networks of this chapter are in the zoo"
    if to_train:
        networks = f"{len(to_train)} networks have to be trained"
    if not to_measure:
        return f"{networks}: {time}"
    return f"{networks}; with the measurements, where they are not on disk yet, {time}"


def _experiments(suite):
    """Those of a suite that say whether it is measured; the others start from what the comparison chose."""
    of_mlps = [plane.of_suite(suite), unraced.of_suite(suite)] if suite.kind == "MLP" else []
    return [comparison.of_suite(suite), *of_mlps]


# -- the numbers behind the claims -----------------------------------------------------------------

NEIGHBOURS = tuple(zip(CLAIMED, CLAIMED[1:]))
PAIRS = (*NEIGHBOURS, ("cart", "task_arithmetic"), ("cart", "ties"), ("cart", "average"), ("tsv", "cart"))
WHEN = {"at first": 0, "in the end": -1}


def numbers(sweeps: dict[str, xarray.Dataset], planes: dict[str, xarray.Dataset] | None = None,
            adapted: dict[str, xarray.Dataset] | None = None) -> Numbers:
    """{claim: {number: value}}, all in normalised accuracy on test images, mean over tasks.

    CART-8: "suite: method", "suite: one over other" with hyper-parameters from all that was tried, the same with "in
    the sources' grids", and where the `plane` is given, where its best lies and by how much it exceeds the better of
    CART's and task arithmetic's lines. CART-9: each adapted method at first and in the end, its entropy, and the share
    of predictions on the most frequent class; the lead with CART also in units of half its 95 % confidence interval
    over tasks.
    """
    eight = {}
    for name, sweep in sweeps.items():
        eight |= _compared(name, sweep)
    for name, sweep in (planes or {}).items():
        anywhere, cart, plain = map(float, sweep.test.mean("task").values)
        _, common, scale = map(float, sweep.best.values[0])
        eight |= {f"{name}: plane": anywhere,
                  f"{name}: plane over both lines": anywhere - max(cart, plain),
                  f"{name}: best a": common,
                  f"{name}: best λ": scale}
    nine = {}
    for name, sweep in (adapted or {}).items():
        nine |= _adapted(name, sweep)
    return {"CART-8": eight, "CART-9": nine} if nine else {"CART-8": eight}


def _compared(name, sweep):
    means = {grid: results.shares(sweep, grid).mean("task") for grid in GRIDS}
    numbers = {f"{name}: {method}": means[WIDE].sel(reported=method).item() for method in REPORTED}
    for grid, said in ((WIDE, ""), (SOURCES, " in the sources' grids")):
        for one, other in PAIRS:
            lead = means[grid].sel(reported=one) - means[grid].sel(reported=other)
            numbers[f"{name}: {one} over {other}{said}"] = lead.item()
    return numbers


def _adapted(name, sweep):
    numbers = {}
    for method in map(str, sweep.adapted.values):
        of_method = sweep.sel(adapted=method)
        curves = {"": of_method.accuracy.mean("task"), "entropy ": of_method.entropy, "collapse ": of_method.collapse}
        for what, curve in curves.items():
            for when, step in WHEN.items():
                numbers[f"{name}: {method}, {what}{when}"] = curve.values[step]
    first, last = (numbers[f"{name}: adamerging, {when}"] for when in WHEN)
    numbers[f"{name}: adamerging lost"] = first - last
    within = sweep.accuracy.sel(adapted="adamerging", step=adaptation.within_reach(sweep)).mean().item()
    numbers[f"{name}: lost while λ moved as far as the source's can"] = first - within
    ends = sweep.accuracy.isel(step=-1)
    leads = (ends.sel(adapted="adamerging_cart") - ends.sel(adapted="adamerging")).values
    numbers[f"{name}: with CART over without"] = leads.mean()
    numbers[f"{name}: with CART over without, in intervals"] = leads.mean() / results.interval(leads)
    return numbers


# -- the ledger ------------------------------------------------------------------------------------

IN_THE_LEDGER = {  # suite: what the ledger's numbers of it begin with
    "split 8": "ResNet split 8",
    "split 14": "ResNet, more tasks split 14",
    "split 20": "ResNet, more tasks split 20",
    "rotated": "rotated",
    "several": "several",
}


def _collection(name, of_suites, seeds, long=False):
    """The numbers of some suites together."""
    def chosen(profile, seed):
        suites = suites_of(profile, seed)
        return {suite: suites[suite] for suite in of_suites}

    def measure(profile="full", seed=0, device="auto"):
        suites = chosen(profile, seed)
        sweeps = comparison.run_all(suites, profile, seed, device)
        planes = plane.run_all(suites, profile, seed, device)
        adapted = adaptation.run_all(suites, sweeps, profile, seed, device)
        return numbers(_renamed(sweeps), _renamed(planes), _renamed(adapted))

    def all_sources():
        return [source for suite in chosen("full", 0).values() for source in suite.sources]

    return Collection(name, all_sources, measure, ledger={"full": seeds}, long=long)


def _renamed(sweeps):
    return {IN_THE_LEDGER[name]: sweep for name, sweep in sweeps.items()}


LEDGER = (
    _collection("interference", ("rotated", "several"), SEEDS),
    _collection("interference-resnets", ("split 8",), (0, 1, 2), long=True),
    _collection("interference-more-tasks", ("split 14", "split 20"), (0, 1, 2), long=True),
)
