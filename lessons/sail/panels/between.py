"""Units between neighbours, with the next layer between neighbours, too, and fitted to them."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading
from lessons.kit.plotting import GREEN, GREY, ORANGE, still
from lessons.kit.sweep import caption
from lessons.sail.experiment import between

NEARLY_ALL = 0.03  # of accuracy, what may be lost where the title says that the new units were good


@still
def orders(sweep: xarray.Dataset):
    """Accuracy before any step, a dot for each order of the same network's units."""
    rows = {between.FITTED: ("fitted", GREEN, "o"), between.USUAL: ("between neighbours, too", ORANGE, "s")}
    fig, ax = plotting.figure(width=6.4, height=2.5)
    source, told = float(sweep.accuracy.sel(how=between.SOURCE)[0]), []
    ax.axvline(source, color=GREY, marker="")
    for place, (how, (title, colour, marker)) in enumerate(rows.items()):
        accuracy = sweep.accuracy.sel(how=how).values
        aside = np.linspace(-0.18, 0.18, len(accuracy))
        ax.plot(accuracy, place + aside, color=colour, marker=marker, linestyle="", alpha=0.7)
        told.append(f"{title}: {accuracy.min():.3f} to {accuracy.max():.3f}")
    ax.annotate("before it grew", (source, 1.45), xytext=(-5, 0), textcoords="offset points", ha="right", va="center")
    ax.set_yticks(range(len(rows)), [title for title, _, _ in rows.values()])
    ax.set(xlabel=plotting.ACCURACY, ylabel="weights of the next layer", ylim=(-0.5, 1.7))
    ax.grid(axis="y", visible=False)
    return plotting.show(fig, f"Accuracy before any step, over {sweep.sizes['order']} orders of the units. Weights of "
                              f"the next layer {'; '.join(told)}. Before it grew the network has {source:.3f}.",
                         f"{caption(sweep)} A dot for each of {sweep.sizes['order']} orders of the units.")


def reading_of_the_next_layer(sweep: xarray.Dataset) -> Page:
    """What interpolated units lose, with the next layer interpolated and fitted."""
    usual, fitted = (sweep.accuracy.sel(how=how).values for how in (between.USUAL, between.FITTED))
    source = float(sweep.accuracy.sel(how=between.SOURCE)[0])
    title = ("The new units were good, and the next layer did not fit them" if source - fitted.min() <= NEARLY_ALL
             < source - usual.min() else "New units, and a next layer that fits them")
    return reading(title, """
        With weights of the next layer that lie between neighbours, too, the accuracy was between {low:.0%} and
        {high:.0%}. With fitted ones it was between {fitted_low:.0%} and {fitted_high:.0%}, in the same orders. Before
        it grew, the network had {source:.0%}.""", low=usual.min(), high=usual.max(), fitted_low=fitted.min(),
                   fitted_high=fitted.max(), source=source)
