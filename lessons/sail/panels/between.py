"""Units between neighbours and a next layer between neighbours, both, and with one fitted to the other."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, still
from lessons.kit.sweep import caption
from lessons.sail.experiment import between

LITTLE = 1 / 3  # of what is lost in the usual way, below which the title says why it was lost


@still
def orders(sweep: xarray.Dataset):
    """Accuracy before any step, a dot for each order of the same network's units."""
    rows = {between.UNITS: ("units fitted to the next layer", BLUE, "^"),
            between.ABOVE: ("next layer fitted to the units", GREEN, "o"),
            between.USUAL: ("both between neighbours", ORANGE, "s")}
    fig, ax = plotting.figure(width=7.4, height=2.8)
    source, told = float(sweep.accuracy.sel(how=between.SOURCE)[0]), []
    ax.axvline(source, color=GREY, marker="")
    for place, (how, (title, colour, marker)) in enumerate(rows.items()):
        accuracy = sweep.accuracy.sel(how=how).values
        aside = np.linspace(-0.18, 0.18, len(accuracy))
        ax.plot(accuracy, place + aside, color=colour, marker=marker, linestyle="", alpha=0.7)
        told.append(f"{title}: {accuracy.min():.3f} to {accuracy.max():.3f}")
    ax.annotate("before it grew", (source, 2.45), xytext=(-5, 0), textcoords="offset points", ha="right", va="center")
    ax.set_yticks(range(len(rows)), [title for title, _, _ in rows.values()])
    ax.set(xlabel=plotting.ACCURACY, ylim=(-0.5, 2.7))
    ax.grid(axis="y", visible=False)
    return plotting.show(fig, f"Accuracy before any step, over {sweep.sizes['order']} orders of the units. "
                              f"{'; '.join(told)}. Before it grew the network has {source:.3f}.",
                         f"{caption(sweep)} A dot for each of {sweep.sizes['order']} orders of the units.")


def reading_of_fitting(sweep: xarray.Dataset) -> Page:
    """What interpolation loses, and what is lost when one of its two sides is fitted to the other."""
    usual, above, units = (sweep.accuracy.sel(how=how).values for how in (between.USUAL, between.ABOVE, between.UNITS))
    source = float(sweep.accuracy.sel(how=between.SOURCE)[0])
    worst = min(above.min(), units.min())
    title = ("New units and next layer did not fit each other" if source - worst <= LITTLE * (source - usual.min())
             else "New units, and a next layer that fits them")
    return reading(title, """
        With both between neighbours, the accuracy was between {low:.1%} and {high:.1%} in these orders. If either was
        fitted to the other, the worst was {worst:.1%}. Before it grew, the network had {source:.1%}.""",
                   low=usual.min(), high=usual.max(), worst=worst, source=source)
