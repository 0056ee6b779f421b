"""What of the MLPs' story holds for the ResNets; a sentence where they were not measured."""
import functools

import numpy as np

from lessons.cart.experiment import resnet as experiment
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import chosen, height, one
from lessons.cart.panels import bell, costs
from lessons.cart.panels.parts import percent
from lessons.kit.page import Page, in_full_alone
from lessons.kit.panel import Panel


def _measured_only(function):
    """Decorator: nothing is shown where there is no sweep."""
    @functools.wraps(function)
    def inside(sweep):
        return Page("", "") if sweep is None else function(_named(sweep))
    return inside


def _named(sweep):
    """The sweep with a source that names the data set, not one of its splits."""
    return sweep.assign_attrs(source=sweep.attrs["source"].split(",")[0])


@in_full_alone
def split(sweep) -> Panel:
    """`bell.rank_and_lam` of the eight splits."""
    return bell.rank_and_lam(_named(sweep))


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
