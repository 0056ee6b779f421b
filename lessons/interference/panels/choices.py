"""A table: where sources and code differ, and what difference it makes."""
import html

import xarray

from lessons.kit import exercise
from lessons.interference.experiment import results
from lessons.interference.experiment.choices import CHOICES
from lessons.kit.sweep import caption


def table(sweep: xarray.Dataset) -> exercise.Page:
    """Every choice done both ways: how many weights differ, how far the results lie apart, and what accuracy each has."""
    rows, lines = [], []
    for choice, entries, distance, one, other in zip(CHOICES, *(sweep[name].values for name in ("entries", "distance", "one", "other"))):
        cells = (results.title_of(choice.method), choice.what, choice.one[0], choice.other[0], f"{entries:.1%}", f"{distance:.2g}", f"{one:.3f}", f"{other:.3f}", f"{100 * (other - one):+.1f}")
        rows.append(map(html.escape, cells))
        lines.append(f"{cells[0]}, {cells[1]}: {cells[2]} {cells[6]}, {cells[3]} {cells[7]} ({cells[8]} points); {cells[4]} of the weights differ")
    head = ("method", "choice", "one way", "other way", "weights that differ", "distance", "one", "other", "points")
    return exercise.table(head, rows, "\n".join(lines), left=4, after="<p style='color:#555'>"
                          f"{html.escape(sweep.attrs['suite'])}. Distance: between both results, as a share of the first one's from θ₀. One, other: normalised accuracy. {html.escape(caption(sweep))}</p>")
