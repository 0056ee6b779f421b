"""Tables: where sources and code differ, and what difference it makes."""
import xarray

from lessons.interference.experiment import results
from lessons.interference.experiment.choices import CHOICES
from lessons.interference.panels.comparison import WORDS
from lessons.interference.panels.methods import suite_of, title_of
from lessons.kit import page
from lessons.kit.sweep import caption

HEAD = ("method", "setting", "choice", "one way", "other way", "weights that differ", "distance", "accuracy, one way",
        "other way", "difference, in points")
SHORT_HEAD = ("method", "choice", "one way", "other way", "weights that differ", "difference in accuracy, in points")
OFTEN_MET = (("ties", "trim"), ("dare", "rescale"), ("dare", "seed"), ("cart", "rank_ratio"))  # method, parameter


def some(sweep: xarray.Dataset) -> page.Page:
    """How many choices change the accuracy by more than the noise, and a short table: those that do, and some that are
    often met in practice."""
    leads = [_difference(sweep.isel(choice=place)) for place in range(len(CHOICES))]
    rows = []
    for place, (choice, (lead, half)) in enumerate(zip(CHOICES, leads)):
        if abs(lead) > half or any(choice.method == method and name in choice.other[1] for method, name in OFTEN_MET):
            entries = f"{sweep.entries.isel(choice=place).item():.1%}"
            rows.append([title_of(choice.method), choice.what, choice.one[0], choice.other[0], entries,
                         _points(lead, half)])
    level = sum(abs(lead) <= half for lead, half in leads)
    first = finding(level, len(leads), sweep.sizes["task"])
    note = page.said(
        """{suite}. “Its code” is that of the method’s authors, and PEFT and mergekit are libraries. The L1 norm is the
           sum of the magnitudes. The difference in accuracy is other way − one way, with its 95 % interval over
           tasks; bold where it is beyond the noise. {measured}""",
        suite=page.capital(suite_of(sweep)), measured=caption(sweep))
    made = page.table(SHORT_HEAD, rows, left=4, before=first.page, after=page.quiet(note))
    return page.Page(f"{first.text}\n{made.text}\n{note}", made.page)


def finding(level: int, count: int, tasks: int) -> page.Page:
    """How many of the differences in accuracy are within the noise.

    Args:
        level: so many are.
        count: of all choices.
        tasks: over which the intervals are.
    """
    title = ("All differences in accuracy are within the noise" if level == count else
             "Most differences in accuracy are within the noise" if 2 * level > count else
             "Many differences in accuracy are beyond the noise")
    return page.reading(title, "With one choice made the other way, the accuracy stayed within the noise of these "
                               "{tasks} tasks for {level} of {count} choices.",
                        tasks=tasks, level=level, count=count)


def table(sweep: xarray.Dataset) -> page.Page:
    """Every choice done both ways: how many weights differ, how far the results lie apart, and what accuracy each
    has."""
    rows = []
    lines = []
    for place, choice in enumerate(CHOICES):
        difference = sweep.isel(choice=place)
        points = _points(*_difference(difference))
        one, other = f"{difference.one.mean().item():.3f}", f"{difference.other.mean().item():.3f}"
        entries = f"{difference.entries.item():.1%}"
        method, ways = title_of(choice.method), (choice.one[0], choice.other[0])
        setting = ", ".join(f"{WORDS[name]} {value:g}" for name, value in choice.given.items()) or "–"
        rows.append([method, setting, choice.what, *ways, entries, f"{difference.distance.item():.2g}", one, other,
                     points])
        lines.append(f"{method} ({setting}), {choice.what}: {ways[0]} {one}, {ways[1]} {other} "
                     f"({page.plain(points)} points); {entries} of the weights differ")
    note = page.said(
        """{suite}. The settings are fixed, not tuned, and differ between the rows, so compare accuracies within a row
           only. Distance: between both results, as a share of the first one's from θ₀. Accuracy: share of the single
           model's, mean over tasks. Difference: with its 95 % interval over tasks; bold where it is beyond the noise.
           “dis-sum” is what TIES’s code calls adding. {measured}""",
        suite=page.capital(suite_of(sweep)), measured=caption(sweep))
    return page.table(HEAD, rows, "\n".join(lines), left=5, after=page.quiet(note))


def _points(lead, half):
    """A difference and its interval in points; bold where it is beyond the noise."""
    points = page.minus(f"{100 * lead:+.1f} ± {100 * half:.1f}")
    return page.bold(points) if abs(lead) > half else points


def _difference(sweep):
    """The mean difference over tasks, and half the width of its 95 % interval."""
    by_task = (sweep.other - sweep.one).values
    return by_task.mean(), results.interval(by_task)
