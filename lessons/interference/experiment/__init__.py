"""The experiments: a `toy`; the `suites`; all methods on them (`comparison`, `results`); the `plane` of task arithmetic and CART; test-time `adaptation`;
and the `choices` in which sources and code differ. Here: the numbers that the ledger keeps.

Profiles "quick" and "full" are the MLP suites'; "ResNet" is Split CIFAR-100 with 8 tasks, "ResNet, more tasks" with 14 and 20, whose networks take minutes to
hours to train.
"""
import xarray

from lessons.interference.experiment import adaptation, comparison, plane, results
from lessons.interference.experiment.comparison import CLAIMED, GRIDS, REPORTED, Sweeps
from lessons.kit.profiles import SEEDS

OF_PROFILE = {"ResNet": ("split 8",), "ResNet, more tasks": ("split 14", "split 20")}  # suites that are measured for the ledger by themselves
LEDGER = {"full": SEEDS, "ResNet": (0, 1, 2), "ResNet, more tasks": (0, 1, 2)}  # profile: seeds that `make claims` measures
PAIRS = (*zip(CLAIMED, CLAIMED[1:]), ("cart", "task_arithmetic"), ("cart", "ties"), ("cart", "average"), ("tsv", "cart"))


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Measure, or look up, everything that the claims need.

    Returns:
        A Dataset with number (name): the values behind the claims, `name` beginning with the claim's id. Attributes: those of `lessons.kit.sweep.caption`.
    """
    whole = "full" if profile in OF_PROFILE else profile
    suites = {name: suite for name, suite in comparison.suites_of(whole, seed).items() if (name in OF_PROFILE[profile] if profile in OF_PROFILE else not suite.splits)}
    sweeps = Sweeps({name: comparison.run(suite, whole, seed, device) for name, suite in suites.items()})
    adapted = adaptation.run_all(suites, sweeps, whole, seed, device)
    if profile in OF_PROFILE:
        found = {claim: {f"{profile} {name}": value for name, value in values.items()} for claim, values in numbers(sweeps, adapted=adapted).items()}
    else:
        found = numbers(sweeps, plane.run_all(suites, profile, seed, device), adapted)
    names = [(f"{claim} {name}", value) for claim, values in found.items() for name, value in values.items()]
    return xarray.Dataset({"number": ("name", [value for _, value in names])}, coords={"name": [name for name, _ in names]}, attrs=sweeps.attrs | {"profile": profile})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind the chapter's claims: {claim: {number: value}}; those of the ResNets begin with their profile."""
    found = {}
    for name, value in zip(sweep.name.values, sweep.number.values):
        claim, _, number = str(name).partition(" ")
        found.setdefault(claim, {})[number] = float(value)
    return found


def numbers(sweeps: Sweeps, planes: dict[str, xarray.Dataset] | None = None, adapted: dict[str, xarray.Dataset] | None = None) -> dict[str, dict[str, float]]:
    """{claim: {number: value}}, all in normalised accuracy on test images, mean over tasks.

    CART-8: "suite: method", "suite: one over other" with hyper-parameters from all that was tried, the same with "in the sources' grids", and where the
    `plane` is given, where its best lies and by how much it exceeds the better of CART's and task arithmetic's lines. CART-9: each adapted method at
    first and in the end, its entropy, and the share of predictions on the most frequent class; the lead with CART also in units of half its 95 % confidence interval over tasks.
    """
    eight, nine = {}, {}
    for name, sweep in sweeps.items():
        means = {grid: results.shares(sweep, grid).mean("task") for grid in GRIDS}
        eight |= {f"{name}: {method}": means[GRIDS[0]].sel(reported=method).item() for method in REPORTED}
        for grid, said in zip(GRIDS, ("", " in the sources' grids")):
            eight |= {f"{name}: {one} over {other}{said}": (means[grid].sel(reported=one) - means[grid].sel(reported=other)).item() for one, other in PAIRS}
    for name, sweep in (planes or {}).items():
        anywhere, cart, plain = map(float, sweep.test.values)
        eight |= {f"{name}: plane": anywhere, f"{name}: plane over both lines": anywhere - max(cart, plain), f"{name}: best a": float(sweep.best[0, 1]), f"{name}: best λ": float(sweep.best[0, 2])}
    for name, sweep in (adapted or {}).items():
        means = sweep.accuracy.mean("task")
        for method in sweep.adapted.values:
            nine |= {f"{name}: {method}, {when}": means.sel(adapted=method).values[step] for when, step in (("at first", 0), ("in the end", -1))}
            nine |= {f"{name}: {method}, {what} {when}": sweep[what].sel(adapted=method).values[step] for what in ("entropy", "collapse") for when, step in (("at first", 0), ("in the end", -1))}
        nine[f"{name}: adamerging lost"] = nine[f"{name}: adamerging, at first"] - nine[f"{name}: adamerging, in the end"]
        leads = (sweep.accuracy.sel(adapted="adamerging_cart") - sweep.accuracy.sel(adapted="adamerging")).isel(step=-1).values
        nine |= {f"{name}: with CART over without": leads.mean(), f"{name}: with CART over without, in intervals": leads.mean() / results.interval(leads)}
    return {"CART-8": eight} | ({"CART-9": nine} if adapted else {})
