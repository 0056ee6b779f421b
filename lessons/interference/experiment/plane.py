"""Task arithmetic and CART on one plane: θ₀ + a·(θ_avg − θ₀) + λ·Σ SVD_k(θ_t − θ_avg).

`a` is how far to go along what all tasks have in common, λ how much of what each has alone. Task arithmetic is the line
λ = 0, with a = λ_TA · T; CART is the line a = 1; the average is where they cross.
"""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.interference.experiment import comparison, results
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging import merge
from lessons.merging.search import Line, best, resting_on
from lessons.suites import Loaded, Suite
from toy_models.weights import State


@dataclass(frozen=True)
class Settings:
    """What is tried, and on how many images per task."""
    rank_ratios: tuple[float, ...]  # the rank ratios that are tried
    common: tuple[float, ...]  # the a that are tried; 1 is among them
    own: tuple[float, ...]  # the λ that are tried; 0 is among them
    held_out: int  # images a task
    test: int  # images a task


PROFILES = Profiles(
    quick=Settings(
        rank_ratios=(0.04, 0.16),
        common=(0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
        own=(0.0, 0.5, 1.0, 2.0, 3.0),
        held_out=comparison.QUICK.held_out,
        test=comparison.QUICK.test),
    full=Settings(
        rank_ratios=(0.02, 0.04, 0.08, 0.16, 0.32),
        common=(0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0),
        own=(0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0),
        held_out=comparison.FULL.held_out,
        test=comparison.FULL.test))
LINES = ("anywhere", "a = 1: CART", "λ = 0: task arithmetic")
COORDINATES = ("rank_ratio", "common", "own")


def point(base: State, average: State, own: State, common: float, scale: float) -> State:
    """θ₀ + a·(θ_avg − θ₀) + λ·own, for state dicts; whole-number tensors are those of the average.

    Args:
        base, average: θ₀ and θ_avg.
        own: Σ SVD_k(θ_t − θ_avg), floating-point keys only.
        common: a.
        scale: λ.
    """
    state = dict(average)
    for key, direction in own.items():
        state[key] = base[key] + common * (average[key] - base[key]) + scale * direction
    return state


def of_suite(suite: Suite, profiles: Profiles = PROFILES) -> Experiment:
    """The plane of a suite; see `measure`."""
    return comparison.on_suite(suite, "interference-plane",
                               lambda settings, seed, device: measure(suite, settings, device), profiles)


def run(suite: Suite, profile: str, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and look at the plane; from disk where that was done before. See `measure`."""
    return of_suite(suite).run(profile, seed, device)


def run_all(suites: dict[str, Suite], profile: str, seed: int = 0, device: str = "auto") -> dict[str, xarray.Dataset]:
    """`run` for the suites of MLPs."""
    return {name: run(suite, profile, seed, device) for name, suite in suites.items() if not suite.splits}


def measure(suite: Suite, settings: Settings, device: str = "auto") -> xarray.Dataset:
    """Look at every point of the grid, and at the best of the plane and of both lines.

    Returns:
        A Dataset with
        share (rank_ratio, common, own): normalised accuracy on held-out images, mean over tasks;
        best (line: 3, coordinate: 3): rank ratio, a and λ of the best on the whole plane and on both lines;
        test (line, task): its normalised accuracy on test images;
        single (task): that of the single models, not normalised.
    """
    some = suite.load(device, settings.held_out)
    many = suite.load(device, settings.test)
    average = merge("average", some.base, some.finetuned)
    own = {ratio: Line.of("cart", some.base, some.finetuned, rank_ratio=ratio).direction
           for ratio in settings.rank_ratios}
    single_held_out = some.own("held-out")
    single_test = many.own("test")

    def at(ratio, common, scale):
        return point(some.base, average, own[ratio], common, scale)

    def share(*where):
        return results.share_of(some.accuracy(at(*where), "held-out"), single_held_out).mean()

    grid = _on(settings, share)
    places = [line_of(grid, line) for line in LINES]
    return grid.assign(
        best=(("line", "coordinate"), places),
        test=(("line", "task"), [results.share_of(many.accuracy(at(*where), "test"), single_test) for where in places]),
        single=("task", single_test),
    ).assign_coords(line=list(LINES), coordinate=list(COORDINATES), task=suite.tasks).assign_attrs(
        images=f"{len(many.test[0][1]):,} test and {len(some.held_out[0][1]):,} held-out images a task",
        **resting_on(sum(len(y) for _, y in some.held_out)))


def _on(settings, share):
    """`share` on the whole grid: share(rank ratio, a, λ) -> normalised accuracy on held-out images, mean over tasks."""
    shares = np.zeros((len(settings.rank_ratios), len(settings.common), len(settings.own)))
    for k, i, j in np.ndindex(shares.shape):
        if settings.own[j] == 0 and k:
            shares[k, i, j] = shares[0, i, j]  # without an own part the rank does not matter
        else:
            shares[k, i, j] = share(settings.rank_ratios[k], settings.common[i], settings.own[j])
    coords = {"rank_ratio": list(settings.rank_ratios), "common": list(settings.common), "own": list(settings.own)}
    return xarray.Dataset({"share": (COORDINATES, shares)}, coords=coords)


def line_of(grid: xarray.Dataset, line: str) -> tuple[float, float, float]:
    """(rank ratio, a, λ) of the best held-out accuracy on a line, one of LINES."""
    share = grid.share
    if line == LINES[1]:
        share = share.where(grid.common == 1)
    elif line == LINES[2]:
        share = share.where(grid.own == 0)
    return tuple(map(float, best(share, *COORDINATES).values()))


@torch.no_grad()
def spreads(loaded: Loaded) -> dict[str, float]:
    """{task: how far the logits of the average spread around each image's mean logit, as a share of those of the task's
    own network}, on test images."""
    average = merge("average", loaded.base, loaded.finetuned)
    shares = {}
    for place, (task, (x, _)) in enumerate(zip(loaded.suite.tasks, loaded.test)):
        networks = (average, loaded.finetuned[place])
        logits = [loaded.forward(network, x, place) for network in networks]
        centred = [of_network - of_network.mean(1, keepdim=True) for of_network in logits]
        shares[task] = (centred[0].norm() / centred[1].norm()).item()
    return shares


def lead(sweep: xarray.Dataset) -> tuple[float, float, str]:
    """By how much the best of the plane is ahead of the better of both lines on test images, half the width of the 95 %
    interval over tasks, and which line that is, one of LINES."""
    means = sweep.test.mean("task")
    better = max(LINES[1:], key=lambda line: float(means.sel(line=line)))
    by_task = (sweep.test.sel(line=LINES[0]) - sweep.test.sel(line=better)).values
    return by_task.mean(), results.interval(by_task), better
