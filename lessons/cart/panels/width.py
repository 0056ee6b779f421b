"""What becomes of the bell in narrower and wider networks."""
import numpy as np
import xarray

from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import chosen, envelope, normalised, one
from lessons.cart.panels.overlap import best_axis
from lessons.cart.panels.parts import AVERAGE, OF_AVERAGE, Ranks, by_rank, curves_of_hows, titles
from lessons.kit import plotting
from lessons.kit.noise import WIDE, error_of_share, told
from lessons.kit.page import Page, reading, table
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import here, level
from lessons.kit.plotting import BLUE, GREEN, MARKERS, ORANGE, RED
from lessons.kit.sweep import caption


@panel
def width(sweep: xarray.Dataset):
    """Left, the best accuracy at every number of kept directions, for one width; right, what each method loses, against
    width. Control: width."""
    widths = widths_of(sweep)
    parts = {value: one(sweep, width=value) for value in widths}
    envelopes = {value: [envelope(part, how).values for how in HOWS] for value, part in parts.items()}
    lost = lost_of(sweep)
    ranks = Ranks(sweep)
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 4))
    places = best_axis(left, ranks)
    curves = curves_of_hows(left)
    average = level(left, OF_AVERAGE, AVERAGE)
    fig.legend(handles=[*curves, average], loc="outside lower left", ncols=3)
    most = max(map(max, lost.values()))
    right.set(xscale="log", xlabel="units in the hidden layer", ylabel="share of the own networks' accuracy lost",
              ylim=(0, 1.35 * most))
    for (label, series), colour, marker in zip(lost.items(), (GREEN, ORANGE, RED, BLUE), MARKERS):
        right.errorbar(widths, series, WIDE * error_of_lost(sweep), color=colour, marker=marker, label=label, capsize=2,
                       elinewidth=1)
    right.set_xticks(widths, list(map(str, widths)))
    right.minorticks_off()
    right.legend(ncols=2, loc="upper left", columnspacing=0.8, handletextpad=0.4)
    at_width = here(right, widths[0])
    above = titles((left, right))

    def draw(width):
        for line, values in zip(curves, envelopes[width]):
            line.set_data(places, values)
        average.set_ydata([parts[width].average.sel(part="test").mean().item()] * 2)
        at_width.set_xdata([width, width])
        best = chosen(parts[width], HOWS[0]).attrs
        here_lost = {label: series[widths.index(width)] for label, series in lost.items()}
        above[0].set_text(f"{width} units: CART best with {ranks.said(best['rank'])}, λ = {best['lam']:g}")
        above[1].set_text(f"{AVERAGE} {here_lost[AVERAGE]:.2f}; CART {here_lost['CART']:.2f} lost")
        by_directions = by_rank(ranks, envelopes[width][0])
        methods = "; ".join(f"{label} {value:.3f}" for label, value in here_lost.items())
        return f"{width} hidden units. Mean accuracy by directions kept, centred: {by_directions}. Lost: {methods}."

    text = caption(sweep).replace(str(bell.WIDTH), "width") + " Bars: two standard errors, at most."
    return {"width": slider("hidden units", widths, widths[-1])}, fig, draw, text


def widths_of(sweep: xarray.Dataset) -> list[int]:
    """The widths of a sweep."""
    return [int(value) for value in sweep.width.values]


def lost_of(sweep: xarray.Dataset) -> dict[str, list[float]]:
    """{method: the share of the own networks' accuracy that is lost, one a width}."""
    return {label: [1 - value for value in series] for label, series in normalised(sweep).items()}


def error_of_lost(sweep: xarray.Dataset) -> float:
    """The standard error of such a share, at most: that of an accuracy of a half, over the lowest own accuracy."""
    images = sweep.sizes["task"] * int(sweep.attrs["test_images"])
    return error_of_share(0.5, images) / sweep.own.sel(part="test").mean("task").min().item()


def reading_of_the_widths(sweep: xarray.Dataset) -> Page:
    """A table: with how many directions CART is best, and what is lost, width by width."""
    lost = lost_of(sweep)
    ranks = Ranks(sweep)
    rows = []
    for row, width in enumerate(widths_of(sweep)):
        best = chosen(one(sweep, width=width), HOWS[0]).attrs["rank"]
        of_methods = (f"{series[row]:.3f}" for series in lost.values())
        share = f"{100 * min(1.0, best / width):.2g} %"
        rows.append((f"{width}", ranks.said(best).partition(" ")[0], share, *of_methods))
    head = ("hidden units", "CART best: directions", "of the rank", *(f"lost by {name}" for name in lost))
    return table(head, rows)


def reading_of_larger_models(sweep: xarray.Dataset) -> Page:
    """Which methods lose less in the widest network than in the narrowest."""
    error = np.hypot(1, 1) * error_of_lost(sweep)
    said = []
    for label, series in lost_of(sweep).items():
        less = series[0] - series[-1]
        said.append(f"{told(less, error)}: {label} loses {series[0]:.2f} and {series[-1]:.2f}")
    widths = widths_of(sweep)
    return reading("“All merging approaches gain from larger models” (Choi et al., §5.2)",
                   "With {narrow} units and with {wide}. {methods}.",
                   narrow=widths[0], wide=widths[-1], methods=". ".join(said))
