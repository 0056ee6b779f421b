"""A table: where sources and code differ, and what difference it makes."""
import xarray

from lessons.interference.experiment import results
from lessons.interference.experiment.choices import CHOICES
from lessons.interference.panels.methods import title_of
from lessons.kit import page
from lessons.kit.sweep import caption

HEAD = ("method", "choice", "one way", "other way", "weights that differ", "distance", "accuracy, one way", "other way",
        "difference, in points")


def table(sweep: xarray.Dataset) -> page.Page:
    """Every choice done both ways: how many weights differ, how far the results lie apart, and what accuracy each
    has."""
    rows = []
    lines = []
    for place, choice in enumerate(CHOICES):
        cells = _cells(choice, sweep.isel(choice=place))
        method, what, one_way, other_way, entries, _, one, other, points = cells
        shown = list(cells)
        apart, half = _difference(sweep.isel(choice=place))
        if abs(apart) > half:
            shown[-1] = page.bold(shown[-1])
        rows.append(shown)
        lines.append(f"{method}, {what}: {one_way} {one}, {other_way} {other} ({points} points); "
                     f"{entries} of the weights differ")
    note = page.said(
        """{suite}. Distance: between both results, as a share of the first one's from θ₀. Accuracy: share of the single
           model's, mean over tasks. Difference: with its 95 % interval over tasks; bold where it can be told from 0.
           {measured}""",
        suite=sweep.attrs["suite"], measured=caption(sweep))
    return page.table(HEAD, rows, "\n".join(lines), left=4, after=page.quiet(note))


def _cells(choice, difference):
    """One row of the table."""
    one = difference.one.mean().item()
    other = difference.other.mean().item()
    apart, half = _difference(difference)
    return (title_of(choice.method), choice.what, choice.one[0], choice.other[0], f"{difference.entries.item():.1%}",
            f"{difference.distance.item():.2g}", f"{one:.3f}", f"{other:.3f}", f"{100 * apart:+.1f} ± {100 * half:.1f}")


def _difference(sweep):
    """The mean difference over tasks, and half the width of its 95 % interval."""
    by_task = (sweep.other - sweep.one).values
    return by_task.mean(), results.interval(by_task)
