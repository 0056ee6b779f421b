"""What of the MLPs' story holds for the ResNets; a sentence where they were not measured."""
import functools

import numpy as np

from lessons import plotting
from lessons.cart.experiment import resnet as experiment
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import chosen, height, one
from lessons.cart.panels import costs
from lessons.cart.panels.parts import ACCURACY, AVERAGE, OWN, percent, rank_axis
from lessons.exercise import Page
from lessons.plotting import BLACK, COLOURS, GREEN, MARKERS, themed
from lessons.sweep import caption, drawn_once


def _measured_only(function):
    """Decorator: nothing is shown where there is no sweep."""
    @functools.wraps(function)
    def inside(sweep):
        return Page("", "") if sweep is None else function(_named(sweep))
    return inside


def _named(sweep):
    """The sweep with a source that names the data set, not one of its splits."""
    return sweep.assign_attrs(source=sweep.attrs["source"].split(",")[0])


def split(sweep):
    """Accuracy against rank for every λ, centred and from θ₀; in "quick" a sentence that says how to get it."""
    if sweep is None:
        text = f"Measured in profile “full” alone, because it trains convolutional networks. Set profile = \"full\" in the first cell and run the notebook again. {experiment.estimate()}"
        return Page(text, f"<p><i>{text}</i></p>")
    return _split(_named(sweep))


@drawn_once
@themed
def _split(sweep):
    part = one(sweep, setting=experiment.SETTING)
    fig, axes = plotting.figure(2, height=4.0, sharey=True)
    test, ranks = part.sel(part="test"), list(map(float, part["rank"].values))
    shown = {HOWS[0]: (0.5, 1.0, 1.5, 2.0), HOWS[1]: (0.1, 0.2, 0.3, 0.5)}
    for ax, (how, lams) in zip(axes, shown.items()):
        places = rank_axis(ax, ranks)
        for lam, colour, marker in zip(lams, COLOURS, MARKERS):
            ax.plot(places, test.accuracy.sel(how=how, lam=lam).mean("task"), color=colour, marker=marker, markersize=4, label=f"λ = {lam:g}")
        for value, style, colour, label in ((test.average, "--", GREEN, AVERAGE), (test.own, ":", BLACK, OWN)):
            ax.axhline(value.mean().item(), color=colour, linestyle=style, linewidth=1.4, marker="", label=label)
        ax.set(title=how, ylim=(0.15, 1))
        ax.legend(fontsize=8, ncols=2, loc="lower right")
    axes[0].set_ylabel(ACCURACY)
    said = "; ".join(f"{how}, λ = {lam:g}: {', '.join(f'{value:.3f}' for value in test.accuracy.sel(how=how, lam=lam).mean('task').values)}" for how, lams in shown.items() for lam in lams)
    return plotting.show(fig, f"Mean accuracy over eight splits by rank ({', '.join(map(percent, ranks))}). {said}. Average {test.average.mean().item():.3f}, own networks {test.own.mean().item():.3f}.", caption(sweep))


@_measured_only
def reading(sweep) -> Page:
    """Is there a bell, and is interference lower when centred? With this sweep's numbers."""
    part = one(sweep, setting=experiment.SETTING)
    test, best, whole, truncated = part.sel(part="test"), chosen(part, HOWS[0]), chosen(part, HOWS[1], True), chosen(part, HOWS[1])
    full = part.interference.sel(reading="meant", rank=1.0)
    lower = (full.sel(how=HOWS[0]) < full.sel(how=HOWS[1])).values
    text = (f"The own networks read {test.own.mean().item():.3f}, the average {test.average.mean().item():.3f}, CART at its best ({percent(best.attrs['rank'])}, λ = {best.attrs['lam']:g}, chosen on held-out images) "
            f"{best.accuracy.mean().item():.3f}: a bell {height(part):+.3f} high. Task arithmetic at full rank {whole.accuracy.mean().item():.3f}, truncated to {percent(truncated.attrs['rank'])} {truncated.accuracy.mean().item():.3f}. "
            f"I at full rank, as meant, is lower when centred in {int(np.sum(lower))} of {len(lower)} layers.")
    return Page(text, f"<p><b>Split CIFAR-100, eight tasks.</b> {text}</p>")


@_measured_only
def number_of_tasks(sweep):
    """`costs.number_of_tasks` of the splits, with its reading."""
    return Both(costs.number_of_tasks(sweep), costs.reading_of_figure_7(sweep))


@_measured_only
def storage(sweep) -> Page:
    """`costs.reading_of_storage` of the splits."""
    return costs.reading_of_storage(sweep)


class Both(Page):
    """A figure and a reading below it."""

    def __init__(self, figure, reading):
        super().__init__(repr(reading), figure.data + reading.page)
