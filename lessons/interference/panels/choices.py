"""A table: where sources and code differ, and what difference it makes."""
import xarray

from lessons.interference.experiment import results
from lessons.interference.experiment.choices import CHOICES
from lessons.interference.panels.comparison import WORDS
from lessons.interference.panels.methods import suite_of, title_of
from lessons.kit import page
from lessons.kit.sweep import caption

HEAD = ("method", "setting", "choice", "one way", "other way", "weights that differ", "distance", "accuracy, one way",
        "other way", "difference, in points")


def table(sweep: xarray.Dataset) -> page.Page:
    """Every choice done both ways: how many weights differ, how far the results lie apart, and what accuracy each
    has."""
    rows = []
    lines = []
    for place, choice in enumerate(CHOICES):
        difference = sweep.isel(choice=place)
        lead, half = _difference(difference)
        one, other = f"{difference.one.mean().item():.3f}", f"{difference.other.mean().item():.3f}"
        entries, points = f"{difference.entries.item():.1%}", f"{100 * lead:+.1f} ± {100 * half:.1f}"
        method, ways = title_of(choice.method), (choice.one[0], choice.other[0])
        setting = ", ".join(f"{WORDS[name]} {value:g}" for name, value in choice.given.items()) or "–"
        rows.append([method, setting, choice.what, *ways, entries, f"{difference.distance.item():.2g}", one, other,
                     page.bold(points) if abs(lead) > half else points])
        lines.append(f"{method} ({setting}), {choice.what}: {ways[0]} {one}, {ways[1]} {other} ({points} points); "
                     f"{entries} of the weights differ")
    note = page.said(
        """{suite}. The settings are fixed, not tuned, and differ between the rows, so compare accuracies within a row
           only. Distance: between both results, as a share of the first one's from θ₀. Accuracy: share of the single
           model's, mean over tasks. Difference: with its 95 % interval over tasks; bold where it can be told from 0.
           {measured}""",
        suite=page.capital(suite_of(sweep)), measured=caption(sweep))
    return page.table(HEAD, rows, "\n".join(lines), left=5, after=page.quiet(note))


def _difference(sweep):
    """The mean difference over tasks, and half the width of its 95 % interval."""
    by_task = (sweep.other - sweep.one).values
    return by_task.mean(), results.interval(by_task)
