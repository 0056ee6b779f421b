"""What the course promises of its speed and memory, and one table that says what was measured beside each goal.

Every figure is a ratio, or a size, of one run. Ratios come from alternating pairs: ours, theirs, theirs, ours. What is
divided is processor time, because machines are shared; the ratio of seconds on the clock stands beside it.
"""
import contextlib
import io
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Times = tuple[float, float]  # seconds of the processor, seconds on the clock


@dataclass(frozen=True)
class Goal:
    """One promise.

    Attributes:
        what: is measured.
        against: what it is divided by; "" where it is a size of its own.
        most: the largest value that keeps it.
        part: of `python -m tools.bench` that measures it; "" where none does.
        takes: what it would take to keep it, for the case that it is missed, or how to measure it.
        unit: of the figure and of `most`.
    """
    what: str
    against: str
    most: float
    part: str
    takes: str = ""
    unit: str = "×"


_FASTEST = "the fastest peer"
_SVD = "a thin SVD in float64, the same result to 1e-4"
_DIGESTS = ("The SHA-256 of every file, which the card lists, takes longer than a peer's whole average; the check for "
            "NaN and for strangers reads all once more. It would take a faster digest, or one pass for all of it.")
GOALS = {
    "average": Goal("average, in memory", _FASTEST, 1.1, "goals",
                    "One look at every number for NaN, and a mean in pieces whose order of sums is fixed: a running "
                    "sum is faster and changes last bits."),
    "task_arithmetic": Goal("task arithmetic, in memory", _FASTEST, 1.1, "goals"),
    "average files": Goal("average, from files to a file", _FASTEST, 1.1, "goals", _DIGESTS),
    "task_arithmetic files": Goal("task arithmetic, from files to a file", _FASTEST, 1.1, "goals", _DIGESTS),
    "ties": Goal("TIES, in memory", _FASTEST, 0.25, "goals",
                 "Nearly half of it finds the threshold of every tensor. Runs gave 0.15 to 0.27 of the fastest peer."),
    "dare": Goal("DARE, in memory", _FASTEST, 0.5, "goals",
                 "Nearly all of it is drawing: one number an entry from a generator of the key's own, so that neither "
                 "the order of keys nor more tasks change a draw. Another generator changes every draw."),
    "breadcrumbs": Goal("Breadcrumbs, in memory", _FASTEST, 0.5, "goals"),
    "cart": Goal("CART, in memory", _SVD, 0.25, "goals",
                 "Most of it is the eigenvectors of the small Gram matrix, in float64. A randomised decomposition, or "
                 "another solver for each size, is faster and changes last bits."),
    "tsv": Goal("TSV-M, in memory", _SVD, 0.25, "goals",
                "As CART, and two more eigendecompositions make the singular vectors of all tasks orthogonal."),
    "memory": Goal("memory of a merge from files, the most of average, task arithmetic and TIES",
                   "two models' share of a shard of 100 MB", 1.0, "goals",
                   "Runs of TIES took 150 to 240 MB, so one run does not tell. The average takes 120 MB."),
    "epoch": Goal("epoch of chapter 1's MLP", "its arithmetic at the rate of its own batch product", 1.0, "goals",
                  "Of a batch of 64 the smaller layers' products reach less than the first one's rate; copying the "
                  "batch comes on top. Compiled code for all of a step would do it."),
    "second": Goal("second opening of a lesson, the slowest, kernel and all", "", 3.0, "chapters", unit=" s",
                   takes="Imports take most of it: fewer of them before the first cell."),
    "nothing": Goal("main line in quick with nothing kept", "", 400, "chapters", unit=" epochs of the MLP"),
    "suite": Goal("test suite", "processor time at commit 685c6b7", 0.6, "", "time make test, here and in "
                  "`git worktree add ../then 685c6b7`; user + sys of the one over the other"),
}
PEERS = ("mergekit", "fusion_bench")


@dataclass
class Figure:
    """What was measured for one goal.

    Attributes:
        values: one a pair or a run; empty where there was nothing to measure against.
        clock: the same by the clock; empty where there is none.
        peer: who was divided by.
        said: why there are no values, or what else was seen.
    """
    values: Sequence[float] = ()
    clock: Sequence[float] = ()
    peer: str = ""
    said: str = ""


def timed(function: Callable[[], object]) -> Times:
    """Seconds of the processor and on the clock of one call; what it prints is swallowed."""
    with contextlib.redirect_stdout(io.StringIO()):
        clock, processor = time.perf_counter(), time.process_time()
        function()
        return time.process_time() - processor, time.perf_counter() - clock


def pairs(ours: Callable[[], Times], theirs: Mapping[str, Callable[[], Times]], repeats: int = 5) -> Figure:
    """Ours against the fastest of theirs, in alternating order.

    Args:
        ours, theirs: each call measures once.
        repeats: so many pairs, behind one of each that does not count.
    """
    if not theirs:
        return Figure(said="not installed")
    runs, times = {"": ours, **theirs}, {name: [] for name in ("", *theirs)}
    for turn in range(1 + repeats):
        for name in sorted(runs, reverse=turn % 2 == 1):
            times[name].append(runs[name]())
    counted = {name: list(zip(*of[1:])) for name, of in times.items()}
    fastest = min(theirs, key=lambda name: statistics.median(counted[name][0]))
    by_processor, by_clock = ([a / b for a, b in zip(mine, other)]
                              for mine, other in zip(counted[""], counted[fastest]))
    took = ", ".join(f"{name or 'ours'} {_seconds(statistics.median(of[0]))}" for name, of in counted.items())
    return Figure(by_processor, by_clock, fastest, took)


def _seconds(number):
    return f"{number:.2f} s" if number >= 1 else f"{1000 * number:.0f} ms"


def table(figures: Mapping[str, Figure]) -> str:
    """All goals in Markdown, with what was measured beside each; below it, what is missed and what it would take."""
    lines = [f"Load of this machine: {_load()}. Ratios of processor time: median (lowest to highest); then by the "
             "clock.", "", "| what | against | measured | goal | by the clock | |", "|---|---|---|---|---|---|"]
    missed = []
    for key, goal in GOALS.items():
        figure = figures.get(key, Figure(said=f"part {goal.part} was not run" if goal.part else goal.takes))
        if not figure.values:
            lines.append(f"| {goal.what} | {goal.against or '–'} | not measured here: {figure.said} | "
                         f"≤ {goal.most:g}{goal.unit} | | – |")
            continue
        kept = statistics.median(figure.values) <= goal.most
        against = goal.against + (f": {figure.peer}" if figure.peer else "")
        lines.append(f"| {goal.what} | {against or '–'} | {_spread(figure.values, goal.unit)} | "
                     f"≤ {goal.most:g}{goal.unit} | {_spread(figure.clock, goal.unit) if figure.clock else ''} | "
                     f"{'kept' if kept else 'missed'} |")
        if not kept:
            missed.append(f"* Missed: {goal.what}. {goal.takes or 'No cause is known: profile it.'}")
    lines += ["", *missed] if missed else []
    seen = [f"* {GOALS[key].what}: {figure.said}." for key, figure in figures.items() if figure.values and figure.said]
    return "\n".join([*lines, *(["", "What ratios were made of (medians):", *seen] if seen else [])])


def _spread(values, unit):
    if len(values) == 1:
        return f"{values[0]:.2f}{unit}"
    return f"{statistics.median(values):.2f}{unit} ({min(values):.2f} to {max(values):.2f})"


def _load():
    if not hasattr(os, "getloadavg"):  # Windows
        return "unknown"
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
