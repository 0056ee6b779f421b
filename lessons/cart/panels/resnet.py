"""What of the MLPs' story holds for the ResNets; a sentence where they were not measured."""
import functools

import numpy as np
import xarray

from lessons.cart.experiment import resnet
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import chosen, one
from lessons.cart.panels import bell, costs, directions
from lessons.cart.panels.parts import Ranks, by_rank, numbers_of, percent
from lessons.kit import page
from lessons.kit.noise import Difference, reach
from lessons.kit.page import Markup, Page, in_full_alone, said
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, View, chips, key, view

OPENS_ON = 0.5  # λ


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
def split(sweep: xarray.Dataset) -> View:
    """The bell of the eight splits, if there is one: mean accuracy against the share of the rank that is kept."""
    return _split(_named(sweep))


@view
def _split(sweep):
    part, ranks, lams = one(sweep, setting=resnet.SETTING), Ranks(sweep), numbers_of(sweep.lam)
    level = bell.levels_of(part)
    images = part.sizes["task"] * resnet.EIGHT.images
    means = part.accuracy.sel(part="test").mean("task").transpose("how", "lam", "rank").values
    shown = {f"{lam:g}": lam for lam in lams if lam > lams[0]}

    def draw(rank, lam, how):
        of_lams = means[HOWS.index(how)]
        mean, column = of_lams[position(lams, lam, "lam")], position(ranks.values, rank, "rank")
        errors = reach(mean, images)
        values = {f"λ = {text}": of_lams[position(lams, other, "lam")] for text, other in shown.items()} | {
            "sure": (mean - errors, mean + errors), "mean": mean, "own": level["own"], "average": level["average"]}
        alt = said("""{how}, λ = {lam:g}, {rank} of the rank: mean accuracy {mean:.3f} ± {error:.3f}; by rank in per
                      cent {by_rank}. Average {average:.3f}, task arithmetic {arithmetic:.3f}, networks alone
                      {own:.3f}.""",
                   how=how, lam=lam, rank=ranks.said(rank), mean=mean[column], error=errors[column],
                   by_rank=by_rank(ranks, mean), **level)
        find = directions.finding_of_cart if how == HOWS[0] else directions.finding_of_task_arithmetic
        about = f"{directions.NAMES[how]}: {part.sizes['task']} ResNets merged, the strongest directions of each kept"
        return Frame(find(mean, level["average"], images), alt, values,
                     key(("merged", about), ("", "grey: the same at other λ")))

    places, opens = ranks.places, min(shown.values(), key=lambda lam: abs(lam - OPENS_ON))
    grey = [Line(f"λ = {text}", "other", x=places) for text in shown]
    lowest = np.floor(10 * min(level["average"], means[0].min())) / 10
    chart = Chart(ranks.view_axis("rank kept, %"),
                  Axis("mean accuracy over the splits", float(lowest), 0.8, unit="percent"),
                  (*grey, Reference("own", "single", "each alone"), Reference("average", "other", "average"),
                   Band("sure", "merged", x=places), Line("mean", "merged", "merged", x=places, dots=True, near=True),
                   Handle("rank")))
    controls = {"rank": ranks.view_slider(0.16), "lam": chips("λ", shown, opens),
                "how": chips("task vectors", {"from the average (CART)": HOWS[0], "from θ₀": HOWS[1]}, more=True)}
    return {"kicker": "Chapter 8: the same on ResNet-18", "charts": [chart], "draw": draw, "controls": controls,
            "caption": f"{caption(sweep)} Band: two standard errors."}


@_measured_only
def reading(sweep: xarray.Dataset) -> Page:
    """Is there a bell, and is interference lower when centred? With this sweep's numbers."""
    part = one(sweep, setting=resnet.SETTING)
    test = part.sel(part="test")
    best = chosen(part, HOWS[0])
    full_rank = chosen(part, HOWS[1], full_rank=True)
    truncated = chosen(part, HOWS[1])
    interference = part.interference.sel(reading="meant", rank=1.0)
    lead = Difference.of(best.accuracy.mean().item(), test.average.mean().item(),
                         part.sizes["task"] * resnet.EIGHT.images)
    lower = interference.sel(how=HOWS[0]) < interference.sel(how=HOWS[1])
    wins = lead.is_news and lead.value > 0
    title = "On these ResNets CART is no better than the average, beyond the noise" if not lead.is_news else \
        "On these ResNets CART beats the average" if wins else "On these ResNets the average beats CART"
    first = page.reading(title,
                         """On eight splits of CIFAR-100, CART at its best is {lead} points above the average{doubt} (±:
                            one standard error). Centring makes the interference I (at full rank, as meant) lower in
                            {lower} of {layers} layers.{so}""",
                         so=" So a lower I does not by itself mean that CART gains." if not wins and 2 * lower.sum() >
                         lower.size else "", lead=lead, doubt=lead.doubt(), lower=int(lower.sum()), layers=lower.size)
    rows = [("the single networks", test.own), ("average", test.average),
            (said("CART, {rank} of the rank, λ = {lam:g}", rank=percent(best.attrs["rank"]), lam=best.attrs["lam"]),
             best.accuracy),
            ("task arithmetic, full rank", full_rank.accuracy),
            (f"task arithmetic, {percent(truncated.attrs['rank'])} of the rank", truncated.accuracy)]
    below = page.table(("", "accuracy"), [(name, f"{accuracy.mean().item():.3f}") for name, accuracy in rows],
                       after=page.quiet("Ranks and λ are chosen on held-out images."))
    return Page(f"{first.text}\n{below.text}", first.page + below.page)


@_measured_only
def number_of_tasks(sweep: xarray.Dataset) -> Page:
    """`costs.number_of_tasks` of the splits, with its reading."""
    return Both(costs.number_of_tasks(sweep), costs.reading_of_figure_7(sweep))


@_measured_only
def storage(sweep: xarray.Dataset) -> Page:
    """`costs.reading_of_storage` of the splits."""
    return costs.reading_of_storage(sweep.assign_attrs(test_images=resnet.EIGHT.images))


class Both(Page):
    """A figure and a reading below it."""

    def __init__(self, figure, reading):
        super().__init__(repr(reading), Markup(figure.data) + reading.page)
