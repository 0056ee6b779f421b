"""What a sweep says: the best rank and λ, the bell's height, measures of interference, and which of them go with it."""
from dataclasses import dataclass

import numpy as np
import scipy.stats
import xarray

from lessons.cart.experiment.grid import HOWS
from lessons.kit.noise import WIDE, Difference, error_of_difference
from lessons.kit.sweep import at
from lessons.merging import search

LOW_RANK = 0.08  # the source's


def one(sweep: xarray.Dataset, **where) -> xarray.Dataset:
    """One suite out of a sweep over several, without the tasks and layers that only the others have."""
    part = at(sweep, **where)
    tasks = ~part.own.isnull().all("part").values
    layers = ~part.error.isnull().all(["how", "rank"]).values
    return part.isel(task=tasks, layer=layers)


def chosen(sweep: xarray.Dataset, how: str, full_rank: bool = False) -> xarray.Dataset:
    """The rank and λ with the best mean accuracy on held-out images, as attributes, and there, on test images, accuracy
    (task).

    Args:
        sweep: of one suite.
        how: one of `HOWS`.
        full_rank: choose λ alone.
    """
    part = sweep.accuracy.sel(how=how)
    if full_rank:
        part = part.isel(rank=[-1])
    best = search.best(part.sel(part="held-out").mean("task"), "rank", "lam")
    where = {name: value.item() for name, value in best.items()}
    return xarray.Dataset({"accuracy": part.sel(part="test", **where, drop=True)}, attrs=where)


def envelope(sweep: xarray.Dataset, how: str) -> xarray.DataArray:
    """The mean test accuracy at every rank, (rank,), each with the λ that is best on held-out images."""
    mean = sweep.accuracy.sel(how=how).mean("task")
    return mean.sel(part="test").sel(search.best(mean.sel(part="held-out"), "lam"))


def height(sweep: xarray.Dataset) -> float:
    """The bell's height: the mean test accuracy of CART, rank and λ chosen on held-out images, above that of the
    average."""
    return (chosen(sweep, HOWS[0]).accuracy - sweep.average.sel(part="test")).mean().item()


def error_of_height(sweep: xarray.Dataset) -> float:
    """The standard error of `height`, at most."""
    best = chosen(sweep, HOWS[0]).accuracy.mean().item()
    average = sweep.average.sel(part="test").mean().item()
    return error_of_difference(best, average, sweep.sizes["task"] * int(sweep.attrs["test_images"]))


@dataclass(frozen=True)
class Plateau:
    """Where CART is best: the number of directions, and the first and last in an unbroken row around it whose accuracy
    is within two standard errors of the best."""
    first: int
    best: int
    last: int

    @property
    def said(self) -> str:
        """For a table: "12 (11 to 14)"."""
        return f"{self.best}" if self.first == self.last else f"{self.best} ({self.first} to {self.last})"


def plateau(case: xarray.Dataset, head: str, how: str = HOWS[0]) -> Plateau:
    """Of one case of `peak.measure`, among those that keep anything and not all."""
    part = case.accuracy.sel(head=head, how=how).isel(rank=slice(1, -1))
    counts = part["rank"].values.astype(int)
    accuracy = part.values
    best = int(accuracy.argmax())
    level = [accuracy[best] - value <= WIDE * error_of_difference(accuracy[best], value, int(case.images))
             for value in accuracy]
    first = best
    last = best
    while first > 0 and level[first - 1]:
        first -= 1
    while last < len(level) - 1 and level[last + 1]:
        last += 1
    return Plateau(int(counts[first]), int(counts[best]), int(counts[last]))


def centred_over_truncated(case: xarray.Dataset, head: str) -> list[Difference]:
    """Accuracy of CART minus that of task vectors from θ₀ cut alike, at every rank of one case of `peak.measure`, λ at
    its best for each."""
    centred, plain = (case.accuracy.sel(head=head, how=how).values for how in HOWS)
    return [Difference.of(a, b, int(case.images)) for a, b in zip(centred, plain)]


def normalised(sweep: xarray.Dataset) -> dict[str, list[float]]:
    """{method: accuracy over that of the own networks, mean over tasks, one a width}, rank and λ chosen on held-out
    images."""
    shares = {}
    for value in sweep.width.values:
        part = one(sweep, width=value)
        own = part.own.sel(part="test")
        accuracies = {"average": part.average.sel(part="test"),
                      "task arithmetic": chosen(part, HOWS[1], full_rank=True).accuracy,
                      "task arithmetic, truncated": chosen(part, HOWS[1]).accuracy,
                      "CART": chosen(part, HOWS[0]).accuracy}
        for label, accuracy in accuracies.items():
            shares.setdefault(label, []).append((accuracy / own).mean().item())
    return shares


def row_space(sweep: xarray.Dataset, how: str, reading: str, rank: float = LOW_RANK) -> float:
    """I(k) a pair of tasks in the first layer."""
    return sweep.interference.isel(layer=0).sel(how=how, reading=reading, rank=rank).item()


def lost_by_the_average(sweep: xarray.Dataset) -> float:
    """The mean test accuracy of the own networks above that of the average."""
    return (sweep.own - sweep.average).sel(part="test").mean().item()


MEASURES = {"own accuracy − average's": lost_by_the_average}


def rank_correlation(x, y) -> float:
    """Spearman's: 1 where y always rises with x."""
    return float(scipy.stats.spearmanr(x, y).statistic)


def along_the_ranks(sweep: xarray.Dataset, lam: float = 1.0) -> dict[str, float]:
    """How CART's accuracy goes with measures over the ranks of one suite, at one λ: rank correlations with −I(k) as
    meant and −R(k) of the first layer, with minus what that layer misses, and with its gain."""
    centred = sweep.sel(how=HOWS[0])
    accuracy = centred.accuracy.sel(part="test", lam=lam).mean("task").values
    first = centred.isel(layer=0)
    measures = {"low I(k)": -first.interference.sel(reading="meant"),
                "low R(k)": -first.error,
                "little missed": -centred.missed.sel(lam=lam),
                "much gain": centred.gain.sel(lam=lam)}
    by_measure = {}
    for name, values in measures.items():
        by_measure[name] = rank_correlation(np.round(values.values, 6), accuracy)
    return by_measure
