"""Panel (f): more units, or fewer."""
import numpy as np
import xarray

from lessons.kit import claims, plotting
from lessons.kit.noise import Difference, with_reach
from lessons.kit.page import Page, capital, quiet, reading, said, table
from lessons.kit.plotting import themed
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Line,
    Star,
    chips,
    key,
    slider,
    view,
)
from lessons.sail.experiment import width
from lessons.sail.experiment.digits import TEST
from lessons.sail.experiment.width import GROW, RENUMBERED, SCRATCH, SHRINK

BETWEEN, LEARNED, COPIES = "interpolation", "learned from Net2Wider", "Net2Wider"
NEAR_CHANCE = 0.2  # of accuracy, of ten classes
ASKED = {"setting": f"{BETWEEN}, {GROW}", "numbering": 0}
_MAPS = {f"{BETWEEN}, {GROW}": ("between neighbours", GROW, BETWEEN),
         f"fresh units, {GROW}": ("fresh units", GROW, "fresh units"),
         f"projection, {GROW}": ("a random projection", GROW, "projection"),
         f"SVD as printed, {GROW}": ("the SVD as printed", GROW, "SVD as printed"),
         f"{LEARNED}, {GROW}": ("learned maps", GROW, LEARNED),
         f"{BETWEEN}, {SHRINK}": ("shrink: between neighbours", SHRINK, BETWEEN)}
_ALT = """
    {direction}, {how}, trained by {optimiser}: accuracy {at_once:.3f} at once and {end:.3f} after {last} steps; {whole}
    {whole_end:.3f}, scratch {scratch:.3f}, the source {source:.3f}. With the source's units in order {numbering},
    {whole} gives {kept:.3f} at once and interpolation {mixed:.3f}; over these {orders} orders
    interpolation gives {least:.3f} to {most:.3f}."""


def settings(sweep: xarray.Dataset) -> dict[str, tuple[str, str, str]]:
    """{text of the menu: (direction, map, optimiser)} of all that were trained."""
    menu = {}
    several = sweep.sizes["optimiser"] > 1
    for direction in names(sweep.direction):
        for optimiser in names(sweep.optimiser):
            for how in names(sweep.how):
                part = sweep.loss.sel(direction=direction, optimiser=optimiser, how=how)
                if part.notnull().all() and how != SCRATCH:
                    text = f"{how}, {direction}" + (f", {optimiser}" if several else "")
                    menu[text] = (direction, how, optimiser)
    return menu


@view
def maps(sweep: xarray.Dataset, prediction=None):
    """Panel (f): accuracy at once of interpolation and of a map that keeps whole units, when the source's units are
    numbered anew; right, accuracy over the steps on new images with one map, beside the map that keeps whole units and
    scratch.

    Controls: numbering, setting (the map), optimiser where there are several. The prediction, interpolation's accuracy
    at once, is a star.
    """
    orders, last = list(range(sweep.sizes["numbering"])), int(sweep.steps[-1])
    optimisers = names(sweep.optimiser)
    if prediction:
        first = sweep.accuracy.sel(direction=GROW, how=BETWEEN, optimiser=optimisers[0])
        prediction.panel_answers(float(first.isel(steps=0)), ASKED)

    def draw(numbering, setting, optimiser=optimisers[0]):
        text, direction, how = _MAPS[setting]
        part = sweep.accuracy.sel(direction=direction, optimiser=optimiser)
        copying = RENUMBERED[direction][0]
        mapped, of_units, scratch = (part.sel(how=name).values for name in (how, copying, SCRATCH))
        of_orders = sweep.numbering_accuracy.sel(direction=direction).values
        source = float(sweep.source.sel(direction=direction))
        values = {"whole units": of_orders[0], "between neighbours": of_orders[1],
                  "error of orders": with_reach(of_orders[1], TEST)[1:], "whole": of_units, "this map": mapped,
                  "error": with_reach(mapped, TEST)[1:], "scratch": scratch}
        alt = said(_ALT, direction=direction, how=how, optimiser=optimiser, at_once=mapped[0], end=mapped[-1],
                   last=last, whole=copying, whole_end=of_units[-1], scratch=scratch[-1], source=source,
                   numbering=numbering, kept=of_orders[0, position(orders, numbering)],
                   mixed=of_orders[1, position(orders, numbering)], least=of_orders[1].min(), most=of_orders[1].max(),
                   orders=len(orders))
        about = key(("merged", f"{capital(how)}, {direction}"), ("single", f"Whole units: {copying}"),
                    *([("", "its maps were learned by Adam")] if how == LEARNED else []))
        finding = finding_of_orders(*of_orders) if how == BETWEEN else finding_of_a_map(text, mapped, of_units)
        return Frame(finding, alt, values, about)

    known = settings(sweep).values()
    offered = {text.removeprefix("a ").removeprefix("the "): setting
               for setting, (text, *where) in _MAPS.items() if (*where, optimisers[0]) in known}
    controls = {"numbering": slider("numbering of the source’s units", {str(order): order for order in orders}, 0,
                                    words=lambda order: f"order {order}" if order else "as trained"),
                "setting": chips("new units", offered)}
    if len(optimisers) > 1:
        controls["optimiser"] = chips("trained by", optimisers, more=True)
    return {"kicker": "Chapter 10: another width",
            "tries": ("Move the slider. Which of the two curves changes?",
                      "Choose another way. How does it go on in the right chart?"),
            "charts": _charts(sweep, orders), "draw": draw, "controls": controls,
            "hides": ["between neighbours", "error of orders", "this map", "error"],
            "caption": f"{caption(sweep)} {said(_REMARKS)}"}


_REMARKS = """Whole units: Net2Wider where the network grows, the strongest units where it shrinks. Numbering 0 is as
trained; all orders compute the same. Bands: two standard errors. Scratch has torch's usual initial weights and the same
learning rate as the others."""


def _charts(sweep, orders):
    """Accuracy at once over the numberings, and accuracy over the steps."""
    ticks = {order: str(order) for order in orders[::5]}
    left = Chart(Axis("numbering", -0.5, orders[-1] + 0.5, "places", ticks=ticks),
                 Axis("accuracy before any step", 0.2, 1, unit="percent"),
                 (Line("whole units", "single", "whole units"), Band("error of orders", "merged"),
                  Line("between neighbours", "merged", "between neighbours", dots=True),
                  Star("guess", "merged", x=(0.0,)), Handle("numbering")))
    places = tuple(map(float, range(len(sweep.steps))))
    ticks = {place: str(int(steps)) for place, steps in zip(places, sweep.steps.values)}
    right = Chart(Axis("steps on new images", -0.3, len(places) - 0.7, "places", ticks=ticks),
                  Axis("accuracy while it is trained", 0, 1, unit="percent"),
                  (Line("scratch", "other", "scratch", x=places),
                   Line("whole", "single", "whole units", x=places), Band("error", "merged", x=places),
                   Line("this map", "merged", "this way", x=places, dots=True)))
    return [left, right]


def finding_of_orders(of_units: np.ndarray, mixed: np.ndarray) -> str:
    """What numbering the units anew does to interpolation, and to a map of whole units. Both: (numberings,), accuracy
    at once."""
    changes = [Difference.of(float(row.max()), float(row.min()), TEST).is_news for row in (of_units, mixed)]
    if changes == [False, True]:
        return "Number the units anew: whole units give the same, units between neighbours do not"
    if changes == [True, True]:
        return "Numbering the units anew changes what any of these maps gives"
    return "Numbering the units anew changes nothing beyond the noise"


def finding_of_a_map(how: str, mapped: np.ndarray, of_units: np.ndarray) -> str:
    """How a network that a map made begins and ends, beside one of whole units.

    Args:
        how: the map, in words.
        mapped, of_units: (steps,), the accuracy with it and with whole units.
    """
    began, ended = [_beside(Difference.of(float(mapped[step]), float(of_units[step]), TEST)) for step in (0, -1)]
    if mapped[0] < NEAR_CHANCE:
        began = "near chance"
    if began == ended:
        return f"With {how} the network begins and ends {began}"
    low = ("near chance", "behind whole units")
    link = "and" if ended == "ahead of whole units" or (began in low and ended in low) else "but"
    return f"With {how} the network begins {began}, {link} ends {ended}"


def _beside(lead):
    """A difference to whole units in words."""
    if not lead.is_news:
        return "within the noise of whole units"
    return "ahead of whole units" if lead.value > 0 else "behind whole units"


def at_a_glance(sweep: xarray.Dataset) -> Page:
    """A row for every map: accuracy at once, after twenty steps and at the end."""
    last = int(sweep.steps[-1])
    rows = []
    for text, (direction, how, optimiser) in settings(sweep).items():
        part = sweep.accuracy.sel(direction=direction, how=how, optimiser=optimiser)
        rows.append((text, *(f"{float(part.sel(steps=steps)):.3f}" for steps in (0, 20, last))))
    return table(("map", "at once", "20 steps", f"{last} steps"), rows,
                 after=quiet(caption(sweep)))


def reading_of_orders(sweep: xarray.Dataset) -> Page:
    """What copies and interpolation keep at once, and what interpolation keeps of the same network in other orders."""
    numbers = width.claim_8(sweep)
    spread = numbers["orders_high"] - numbers["orders_low"]
    title = ("Units have no neighbours" if spread > numbers["copies_0"] - numbers["orders_high"]
             else "Copies, and what lies between neighbours")
    return reading(title, """
        With copies the network was {copies_0:.0%} accurate at once. With units between neighbours it was
        {interpolation_0:.0%} accurate. When the same network's units were numbered in twenty other orders, this number
        lay between {orders_low:.0%} and {orders_high:.0%}. With a random projection it was {projection_0:.0%}.
        """, **numbers)


@themed
def on_the_seeds():
    """After 100 steps, by how many points other starts are more accurate than copies, a dot a seed of the ledger."""
    ledger = claims.measured()["SAIL-8"]
    rows = {"fresh random units": "fresh", "interpolation": "interpolation", "random projection": "projection",
            "random matrices of its size": "random_projection_norms"}
    fig, ax = plotting.figure(width=6.4, height=2.6)
    told = []
    for place, (title, name) in enumerate(reversed(rows.items())):
        leads = 100 * np.subtract(ledger[f"{name}_100"], ledger["copies_100"])
        colour = plotting.GREY if name.startswith("random_") else plotting.GREEN
        ax.plot(leads, [place] * len(leads), color=colour, marker="o", linestyle="", alpha=0.7)
        told.append(f"{title}: {', '.join(f'{lead:+.1f}' for lead in sorted(leads))}")
    ax.axvline(0, color=plotting.BLACK, linewidth=1, marker="")
    ax.annotate("copies", (0, len(rows) - 0.55), xytext=(4, 0), textcoords="offset points", va="center")
    ax.set_yticks(range(len(rows)), list(reversed(rows)))
    ax.set(xlabel="accuracy after 100 steps, in points above that of copies", ylim=(-0.5, len(rows) - 0.3))
    ax.grid(axis="y", visible=False)
    return plotting.show(fig, f"Points above copies after 100 steps, by seeds. {'; '.join(told)}.",
                         "Kept in the repository: a dot for each seed of the ledger, profile quick, MNIST.")


def beside_random(sweep: xarray.Dataset) -> Page:
    """Accuracy with random maps, and with random matrices of the same size in place of what they made: a row each. The
    sweep is that of `experiment.random_maps`."""
    accuracy = sweep.accuracy.mean("draw")
    rows = [(how, *(f"{float(value):.3f}" for value in accuracy.sel(how=how))) for how in names(sweep.how)]
    draws = sweep.sizes["draw"]
    return table(("grown by", *(f"{steps} steps" if steps else "at once" for steps in sweep.steps.values)), rows,
                 after=quiet(f"{caption(sweep)} {f'Mean of {draws} draws' if draws > 1 else 'One draw'}."))


def reading_of_the_end(sweep: xarray.Dataset) -> Page:
    """How accurate the grown networks are after a hundred steps, beside scratch."""
    numbers = width.claim_8(sweep)
    ledger = claims.measured()["SAIL-8"]
    leads, fresh = (100 * np.subtract(ledger[how], ledger[other]) for how, other in (
        ("copies_100", "interpolation_100"), ("fresh_100", "copies_100")))
    lead = Difference.of(numbers["copies_100"], numbers["interpolation_100"], TEST)
    title = ("After a hundred steps the difference is small" if not lead.is_news
             else "After a hundred steps copies are still ahead" if lead.value > 0
             else "After a hundred steps copies are behind")
    return reading(title, """
        Copies were then {copies_100:.1%} accurate. On the ledger’s seeds they were {low:+.1f} to {high:+.1f} points
        from interpolation, and fresh random units were {least:+.1f} to {most:+.1f} points from copies.""",
                   low=leads.min(), high=leads.max(), least=fresh.min(), most=fresh.max(), **numbers)


def reading_of_equation_8(sweep: xarray.Dataset) -> Page:
    """What SAIL says of its width transforms, and what ours do."""
    numbers = width.claim_8(sweep)
    return reading("Eq. 8 of the source, tried", """
        Growing, accuracy at once: copies {copies_0:.2f}, as the source network has; interpolation
        {interpolation_0:.2f}; random projection {projection_0:.2f}; from the SVD as printed {svd_0:.2f}; with the
        singular vectors {vectors_0:.2f}. After 100 steps: copies {copies_100:.3f}, interpolation
        {interpolation_100:.3f}, projection {projection_100:.3f}, SVD as printed {svd_100:.3f}, scratch
        {scratch_100:.3f}. Numbered in twenty other orders, interpolation of the same network gives between
        {orders_low:.2f} and {orders_high:.2f} at once.""", **numbers)
