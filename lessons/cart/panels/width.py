"""What becomes of the bell in narrower and wider networks."""
import numpy as np
import xarray

from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import (
    Plateau,
    chosen,
    envelope,
    error_of_height,
    height,
    normalised,
    one,
    plateau,
)
from lessons.cart.panels.parts import Ranks, by_rank
from lessons.kit.noise import WIDE, error_of_share, told
from lessons.kit.page import Page, reading, said, table
from lessons.kit.sweep import caption
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Points, Reference, key, slider, view

TOP = 35  # directions, at the upper end of the axis
STAYS = 0.25  # the exponent of the width with which the best number of directions grows, at most, if it stays the same
_ALT = """
    {width} hidden units: CART is best with {best} directions, {accuracy:.3f}; average {average:.3f}, networks alone
    {own:.3f}. By directions kept {by_directions}. Over all widths, best with {all_widths}. Lost: {lost}."""


@view
def width(sweep: xarray.Dataset):
    """Left, with how many directions CART is best, against the width of the layer, with what is within two standard
    errors of the best, and dashed, what a fixed share of the width would be; right, CART's accuracy at every number of
    directions at one width, and at the others in grey. Control: width."""
    widths, lost, ranks = widths_of(sweep), lost_of(sweep), Ranks(sweep)
    parts = {value: one(sweep, width=value) for value in widths}
    curves = {value: envelope(part, HOWS[0]).values for value, part in parts.items()}
    tops = {value: top_of(part) for value, part in parts.items()}
    many = tuple(float(value) for value in np.geomspace(widths[0], widths[-1], 60))
    best, first, last = (np.array([getattr(top, name) if top else np.nan for top in tops.values()])
                         for name in ("best", "first", "last"))

    def draw(width):
        top, part = tops[width], parts[width].sel(part="test")
        share = np.array(many) * (top.best / width if top else np.nan)
        level = {"average": part.average.mean().item(), "own": part.own.mean().item()}
        others = {f"{value} units": curves[value] if value != width else np.full_like(curves[value], np.nan)
                  for value in widths}
        values = {"share": np.where(share <= TOP, share, np.nan), "range": (best, first, np.minimum(last, TOP)),
                  "best": best, "accuracy": curves[width], **level, **others}
        alt = said(_ALT, width=width, best=top.said if top else "no number of", accuracy=curves[width].max(),
                   by_directions=by_rank(ranks, curves[width]),
                   all_widths=", ".join(
                       f"{value} units: {best_of.said if best_of else 'none'}" for value, best_of in tops.items()),
                   lost="; ".join(f"{name} {series[widths.index(width)]:.3f}" for name, series in lost.items()),
                   **level)
        return Frame(finding(tops, width), alt, values,
                     key(("merged", "CART at this width"), ("", "grey: at other widths"),
                         ("", "dashed: if the best were a share of the width")))

    places = tuple(float(value) for value in widths)
    ticks = {value: f"{value:.0f}" for value in places}
    left = Chart(Axis("units in the hidden layer", 0.9 * places[0], 1.12 * places[-1], kind="log", ticks=ticks),
                 Axis("number of directions with which CART is best", 0, TOP),
                 (Line("share", "other", "a fixed share", x=many, dashed=True), Points("range", "merged", x=places),
                  Line("best", "merged", "directions", x=places), Handle("width")))
    grey = [Line(f"{value} units", "other", x=ranks.places) for value in widths]
    right = Chart(ranks.view_axis("directions kept in layer 1"),
                  Axis("mean accuracy at this width", 0, 1, unit="percent"),
                  (*grey, Reference("own", "single", "each alone"), Reference("average", "other", "average"),
                   Line("accuracy", "merged", "", x=ranks.places, dots=True)))
    opens = bell.WIDTH if bell.WIDTH in widths else widths[-1]
    control = slider("hidden units", {str(value): value for value in widths}, opens, places=places,
                     words=lambda value: f"{value} units", ends=[("", "narrow"), ("", "wide")])
    return {"kicker": "Chapter 8: a number of directions or a share",
            "tries": ("Move the slider. Where does the peak on the right go?",),
            "charts": [left, right], "draw": draw,
            "controls": {"width": control},
            "caption": caption(sweep).replace(str(bell.WIDTH), "width") + " λ chosen at every number of directions on "
                       "held-out images. Left, the number is the one with the best accuracy on test images; chosen on "
                       "held-out images it may be another. Bars: from the first to the last number, in a row, whose "
                       "accuracy is within two standard errors of the best."}


def top_of(part: xarray.Dataset) -> Plateau | None:
    """With how many directions CART is best at one width; None where it is not above the average."""
    if height(part) < WIDE * error_of_height(part):
        return None
    accuracy = envelope(part, HOWS[0]).drop_vars(["lam", "how", "part"], errors="ignore")
    images = part.sizes["task"] * int(part.attrs["test_images"])
    case = xarray.Dataset({"accuracy": accuracy.expand_dims(head=["cut"], how=[HOWS[0]]), "images": images})
    return plateau(case, "cut")


def growth(tops: dict[int, Plateau | None]) -> float:
    """The exponent p of the best number of directions ~ width^p: 0 if it stays the same, 1 if it is a fixed share. NaN
    where there are not two widths with a bell."""
    measured = [(width, top.best) for width, top in tops.items() if top]
    if len(measured) < 2:
        return float("nan")
    return float(np.polyfit(*np.log(np.array(measured, dtype=float)).T, 1)[0])


def finding(tops: dict[int, Plateau | None], width: int) -> str:
    """Whether wider layers need more directions, or that there is no bell at this width."""
    if tops[width] is None:
        return "In a layer this narrow, CART is within the noise of the average"
    power = growth(tops)
    if np.isnan(power):
        return "Only one width has a bell"
    return "Wider layers need no more directions" if power <= STAYS else "Wider layers need more directions"


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
    head = ("hidden units", "best, held-out: directions", "of the rank", *(f"lost by {name}" for name in lost))
    return table(head, rows)


def reading_of_larger_models(sweep: xarray.Dataset) -> Page:
    """Which methods lose less in the widest network than in the narrowest."""
    error = np.hypot(1, 1) * error_of_lost(sweep)
    sentences = []
    for label, series in lost_of(sweep).items():
        less = series[0] - series[-1]
        sentences.append(f"{told(less, error)}: {label} loses {series[0]:.2f} and {series[-1]:.2f}")
    widths = widths_of(sweep)
    return reading("“Model merging becomes increasingly effective with larger backbones” (Choi et al., §5.2)",
                   "With {narrow} units and with {wide}. {methods}.",
                   narrow=widths[0], wide=widths[-1], methods=". ".join(sentences))
