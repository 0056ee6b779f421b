"""What of the MLPs' story holds for the ResNets; a sentence where they were not measured."""
import functools

import xarray

from lessons.cart.experiment import resnet
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import chosen, height, one
from lessons.cart.panels import bell, costs
from lessons.cart.panels.parts import percent
from lessons.kit import page
from lessons.kit.page import Markup, Page, in_full_alone
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
def split(sweep: xarray.Dataset) -> Panel:
    """`bell.rank_and_lam` of the eight splits."""
    return bell.rank_and_lam(_named(sweep))


@_measured_only
def reading(sweep: xarray.Dataset) -> Page:
    """Is there a bell, and is interference lower when centred? With this sweep's numbers."""
    part = one(sweep, setting=resnet.SETTING)
    test = part.sel(part="test")
    best = chosen(part, HOWS[0])
    full_rank = chosen(part, HOWS[1], full_rank=True)
    truncated = chosen(part, HOWS[1])
    interference = part.interference.sel(reading="meant", rank=1.0)
    lower = interference.sel(how=HOWS[0]) < interference.sel(how=HOWS[1])
    return page.reading("Split CIFAR-100, eight tasks",
                        """The own networks read {own:.3f}, the average {average:.3f}, CART at its best ({best_rank},
                           λ = {best_lam:g}, chosen on held-out images) {best:.3f}: a bell {height:+.3f} high. Task
                           arithmetic at full rank {full_rank:.3f}, truncated to {truncated_rank} {truncated:.3f}. I at
                           full rank, as meant, is lower when centred in {lower} of {layers} layers.""",
                        own=test.own.mean().item(),
                        average=test.average.mean().item(),
                        best_rank=percent(best.attrs["rank"]),
                        best_lam=best.attrs["lam"],
                        best=best.accuracy.mean().item(),
                        height=height(part),
                        full_rank=full_rank.accuracy.mean().item(),
                        truncated_rank=percent(truncated.attrs["rank"]),
                        truncated=truncated.accuracy.mean().item(),
                        lower=int(lower.sum()),
                        layers=lower.size)


@_measured_only
def number_of_tasks(sweep: xarray.Dataset) -> Page:
    """`costs.number_of_tasks` of the splits, with its reading."""
    return Both(costs.number_of_tasks(sweep), costs.reading_of_figure_7(sweep))


@_measured_only
def storage(sweep: xarray.Dataset) -> Page:
    """`costs.reading_of_storage` of the splits."""
    return costs.reading_of_storage(sweep)


class Both(Page):
    """A figure and a reading below it."""

    def __init__(self, figure, reading):
        super().__init__(repr(reading), Markup(figure.data) + reading.page)
