"""The methods of the race and those outside it, tuned on held-out images where they have something to tune."""
import functools
from collections.abc import Iterable

import numpy as np
import xarray

from lessons.interference.experiment import results
from lessons.interference.experiment.searches import STORING
from lessons.interference.panels.comparison import BORDER, SUITES, captioned, level_with, rows_of
from lessons.interference.panels.methods import inside, suite_of, title_of
from lessons.kit.page import said
from lessons.kit.view import Axis, Chart, Frame, Path, Spots, chips, key, slider, view
from lessons.merging import methods
from lessons.merging.registry import Needs

MOST = 1.3  # of a single network's accuracy: where the axis ends, if no interval reaches further
_ALT = """
    {suite}. Accuracy on test images as a share of the single networks', mean over tasks, with half of the 95 % interval
    of its difference from {method}: {means}. Within the noise of {method}: {level}."""


@view
def at_best(sweeps: dict[str, xarray.Dataset]):
    """Mean normalised accuracy on test images, a row a method; a bar, the 95 % interval over tasks of its difference
    from the method that the slider chooses.

    Controls: method, suite.

    Where a single network has not learned its task, its accuracy being below `results.LEARNED`, merged accuracies are
    shares of `results.LEARNED`. The caption says so, and the title calls no method the best.

    Args:
        sweeps: {suite: from `unraced.together`}, each of two tasks at least.

    Raises:
        ValueError: a suite has one task, over which there is no interval.
    """
    for name, sweep in sweeps.items():
        if sweep.sizes["task"] < 2:
            raise ValueError(f"{name} has one task, but a 95 % interval over tasks needs two at least: take more tasks "
                             "into the suite")
    order = sorted(sweeps, key=lambda name: name != "several")
    rows = rows_of(results.shares(sweeps[order[0]]).mean("task"))
    tables = {name: results.shares(sweeps[name]).sel(reported=list(rows)).transpose(..., "task").values
              for name in order}
    places = np.array(list(rows.values()))
    ends, across = (-0.7, places.max() + 0.7), reaching(tables.values())

    @functools.cache
    def title(suite):
        return finding(sweeps[suite])

    def draw(method, suite):
        shares, row = tables[suite], list(rows).index(method)
        means, level = shares.mean(-1), level_with(shares, row)
        halves = np.array([results.interval(by_task) for by_task in shares - shares[row]])
        values = {_bar(name): ([mean - half, mean + half], [place] * 2)
                  for (name, place), mean, half in zip(rows.items(), means, halves)}
        values |= {"methods": (means, places), "within the noise": (np.where(level, means, np.nan), places),
                   "chosen": ([means[row]] * 2, ends), "networks alone": ([1, 1], ends),
                   "storage": (across, [BORDER] * 2)}
        alt = said(_ALT, suite=suite_of(sweeps[suite]), method=inside(method),
                   means="; ".join(f"{title_of(name)} {mean:.3f} ± {half:.3f}"
                                   for name, mean, half in zip(rows, means, halves)),
                   level=", ".join(title_of(name) for name, is_level in zip(rows, level)
                                   if is_level and name != method) or "none")
        about = key(("merged", f"{title_of(method)}, and methods that differ from it within the noise"),
                    ("single", "the single networks (100 %)"),
                    ("", "* looks at inputs of every task, without their labels"),
                    ("", "below the line: a model per task, with extra storage"))
        return Frame(title(suite), alt, values, about)

    return {"kicker": "Chapter 7: more methods", "charts": [_chart(rows, across, ends)], "draw": draw,
            "controls": {"method": slider("method", {title_of(method): method for method in rows}, "average",
                                          ends=[("", "lowest row"), ("", "top row")]),
                         "suite": chips("tasks", {SUITES.get(name, name): name for name in order})},
            "caption": f"{captioned(sweeps)} Parameters: the best on held-out images; with extra storage, the "
                       "library’s defaults. Bars: the 95 % interval over tasks of the difference from the chosen "
                       "method."}


def reaching(tables: Iterable[np.ndarray]) -> tuple[float, float]:
    """From where to where the axis goes: from 0 to `MOST`, or further where an interval does.

    Args:
        tables: of every suite, (methods, tasks).
    """
    ends = [0.0, MOST]
    for shares in tables:
        for reference in shares:
            means, halves = shares.mean(-1), np.array([results.interval(by_task) for by_task in shares - reference])
            ends += [end for end in (*(means - halves), *(means + halves)) if np.isfinite(end)]
    return min(ends), max(ends)


def _chart(rows, across, ends):
    named = {row: title_of(method) + "*" * (Needs.INPUTS in methods()[method].needs) for method, row in rows.items()}
    shares = {share: f"{100 * share:.0f} %" for share in (0, 0.25, 0.5, 0.75, 1)}
    return Chart(Axis("accuracy, share of the single networks’", *across, ticks=shares, unit="percent"),
                 Axis("", *ends, kind="places", ticks=named),
                 (Path("networks alone", "single"), Path("storage", "chance"), Path("chosen", "merged"),
                  *(Path(_bar(method), "other") for method in rows), Spots("methods", "other", picks=("method",)),
                  Spots("within the noise", "merged")), height=520)


def _bar(method):
    return f"interval of {method}"


def finding(sweep: xarray.Dataset) -> str:
    """Which merged network is first, if that is more than the noise and all own networks have learned their tasks."""
    if results.unlearned(sweep.own.values):
        return "Some of the finetuned networks have not learned their own tasks, so no method is called the best"
    shares = results.shares(sweep)
    single = shares.sel(reported=[name for name in shares.reported.values if name not in STORING])
    best = int(single.mean("task").argmax("reported"))
    if level_with(single.transpose(..., "task").values, best).sum() > 1:
        return "Which method gives the best merged network is within the noise"
    method = str(single.reported.values[best])
    looks = ", which looks at inputs," if Needs.INPUTS in methods()[method].needs else ""
    return f"{title_of(method)}{looks} gives the best merged network"
