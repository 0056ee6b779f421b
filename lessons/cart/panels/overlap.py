"""When the bell appears: its height against the share of the pixels that are permuted, and what the average loses."""
import numpy as np
import xarray

from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import (
    MEASURES,
    envelope,
    error_of_height,
    height,
    one,
    rank_correlation,
)
from lessons.cart.panels.bell import DISJOINT, levels_of, settings_of
from lessons.cart.panels.parts import Ranks, by_rank, percent
from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import Markup, Page, minus, quiet, reading, said, table
from lessons.kit.sweep import caption
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, key, slider, view
from lessons.merging.search import rests_on

_ALT = """
    {setting}: the best accuracy of CART is {high:+.1f} points above that of the average, ± {error:.1f}. Over all shares
    of permuted pixels: {heights}. Mean accuracy by directions kept, λ at its best, centred {centred}; from θ₀ {plain}.
    Average {average:.3f}, networks alone {own:.3f}."""


@view
def overlap(sweep: xarray.Dataset, prediction=None):
    """Left, how far the best of CART is above the average, against the share of the pixels that are permuted; right,
    the best accuracy at every number of directions, for the share that the slider shows.

    Control: share. The prediction, the height with half of the pixels permuted in points, is a star. Sets of tasks that
    are no permutations are in the table (`reading_of_the_overlap`).
    """
    parts = permutations_of(sweep)
    heights, errors = heights_of(parts)
    envelopes = {share: [envelope(part, how).values for how in HOWS] for share, part in parts.items()}
    levels = {share: levels_of(part) for share, part in parts.items()}
    ranks, shares = Ranks(sweep), list(parts)
    if prediction:
        prediction.panel_answers(heights[shares.index(0.5)], {"share": 0.5})

    def draw(share):
        row, (centred, plain), level = shares.index(share), envelopes[share], levels[share]
        values = {"height": heights, "sure": (heights - errors, heights + errors), "none": 0.0, "centred": centred,
                  "plain": plain, "average": level["average"], "own": level["own"]}
        of_shares = ", ".join(f"{percent(share_there)} {high:+.1f} ± {error:.1f}"
                              for share_there, high, error in zip(shares, heights, errors))
        alt = said(_ALT, setting=bell.name_of(share), high=heights[row], error=errors[row], heights=of_shares,
                   centred=by_rank(ranks, centred), plain=by_rank(ranks, plain), **level)
        return Frame(finding(shares, heights, errors), alt, values,
                     key(("merged", "CART, its best number of directions and λ"),
                         ("", "grey: the average, and truncation without centring")))

    places = ranks.places
    low, high = min(-5.0, float((heights - errors).min())), float(5 * np.ceil((heights + errors).max() / 5))
    left = Chart(Axis("pixels permuted", 0, 1, ticks={tick: f"{100 * tick:.0f} %" for tick in (0, 0.25, 0.5, 0.75, 1)}),
                 Axis("CART above the average, in points", low, high, unit="points"),
                 (Reference("none", "other", ""), Band("sure", "merged", x=tuple(shares)),
                  Line("height", "merged", "CART gains", x=tuple(shares), dots=True, near=True),
                  Star("guess", "merged", x=(0.5,)), Handle("share")))
    right = Chart(ranks.view_axis("directions kept in the hidden layer"),
                  Axis("mean accuracy at this share of permuted pixels", 0, 1, unit="percent"),
                  (Reference("own", "single", "each alone"), Reference("average", "other", "average"),
                   Line("plain", "other", "not centred", x=places), Line("centred", "merged", "", x=places, dots=True)))
    text = f"{caption(sweep)} λ chosen at every rank, and rank and λ for the height, on held-out images."
    opens = share_of(DISJOINT)
    control = slider("pixels permuted", {percent(share_there): share_there for share_there in shares}, opens,
                     words=lambda share_there: f"{percent(share_there)} of the pixels", places=shares,
                     ends=[("", "the same inputs"), ("", "other inputs")])
    return {"kicker": "Chapter 8: when there is a bell", "charts": [left, right], "draw": draw,
            "controls": {"share": control}, "hides": ["height", "sure", "centred", "plain", "average"],
            "caption": f"{text} {rests_on(sweep)} Band: two standard errors, at most."}


def share_of(name: str) -> float | None:
    """The share of the pixels that is permuted in a set of tasks; None where it is another kind of tasks."""
    number, of_pixels, _ = name.partition(" % of the pixels")
    return float(number) / 100 if of_pixels else None


def permutations_of(sweep: xarray.Dataset) -> dict[float, xarray.Dataset]:
    """{share of permuted pixels: that part of the sweep}, from none to all."""
    names = [name for name in settings_of(sweep) if share_of(name) is not None]
    return {share_of(name): one(sweep, setting=name) for name in sorted(names, key=share_of)}


def heights_of(parts: dict[float, xarray.Dataset]) -> tuple[np.ndarray, np.ndarray]:
    """The bell's height of every set of tasks, and two standard errors of it, both in points."""
    return (100 * np.array([height(part) for part in parts.values()]),
            100 * WIDE * np.array([error_of_height(part) for part in parts.values()]))


def finding(shares, heights: np.ndarray, errors: np.ndarray) -> str:
    """From which share of permuted pixels on CART is above the average by more than the noise.

    Args:
        shares: of the pixels, rising.
        heights, errors: as `heights_of` gives them.
    """
    with_a_bell = [share for share, high, error in zip(shares, heights, errors) if high >= error]
    if not with_a_bell:
        return "However many pixels are permuted, CART gains nothing over the average"
    if len(with_a_bell) == len(shares):
        return "CART beats the average, however many pixels are permuted"
    if min(with_a_bell) > 0.5 and with_a_bell == [share for share in shares if share >= min(with_a_bell)]:
        return "With permuted pixels, CART beats the average only where most are permuted"
    return "CART beats the average for some shares of permuted pixels, not for others"


def reading_of_the_heights(sweep: xarray.Dataset) -> Page:
    """What CART gains over the average with half, most and all of the pixels permuted, and for rotations."""
    parts = permutations_of(sweep)
    heights, errors = heights_of(parts)
    shares = list(parts)
    turned = 100 * height(one(sweep, setting=bell.ROTATED))
    between = heights[shares.index(0.5)] < turned < heights[shares.index(1.0)]
    of_shares = {share: minus(f"{round(heights[shares.index(share)])}") for share in (0.5, 0.875, 1.0)}
    return reading(finding(shares, heights, errors),
                   """In points, it gains {half} with half of the pixels permuted, {most} with 87.5 % of them and {all}
                      with all. (Two standard errors are at most {error:.0f} points.) {turned}""",
                   half=of_shares[0.5], most=of_shares[0.875], all=of_shares[1.0],
                   error=np.ceil(max(errors)),
                   turned=said("""On eight tasks of digits, turned by eight angles, it gains {turned:.0f}
                                  points.""", turned=turned) if between else "")


def reading_beside_the_others(sweep: xarray.Dataset, of_learner: float) -> Page:
    """CART beside task arithmetic and truncation without centring, where all pixels are permuted, and whether both are
    ahead of it there and with 87.5 %.

    Args:
        of_learner: the accuracy of the learner's own CART on these networks, output layer whole.
    """
    parts = permutations_of(sweep)
    row = levels_of(parts[1.0])
    behind = _is_behind_both(parts[1.0])
    title = "CART is above the average, but behind task arithmetic and truncation without centring" if behind else \
        "CART, task arithmetic and truncation without centring"
    same = behind and _is_behind_both(parts[0.875])
    return reading(title,
                   """With all pixels permuted, CART has {cart:.0f} % (yours under exercise 8.2, with the output layer
                      whole, had {of_learner:.0f} %), task arithmetic with all directions {arithmetic:.0f} %, and
                      truncation without centring {truncated:.0f} %. {same}""",
                   **{name: 100 * row[name] for name in ("cart", "arithmetic", "truncated")},
                   of_learner=100 * of_learner,
                   same="Both are ahead with 87.5 % permuted, too." if same else "")


def _is_behind_both(part):
    """Whether task arithmetic and truncation without centring are ahead of CART by more than the noise."""
    row, images = levels_of(part), part.sizes["task"] * int(part.attrs["test_images"])
    leads = [Difference.of(row[name], row["cart"], images) for name in ("arithmetic", "truncated")]
    return all(lead.is_news and lead.value > 0 for lead in leads)


def measures_of(parts: dict[str, xarray.Dataset]) -> dict[str, list[float]]:
    """{measure: one value a set of tasks}."""
    return {label: [float(function(part)) for part in parts.values()] for label, function in MEASURES.items()}


def reading_of_the_overlap(sweep: xarray.Dataset) -> Page:
    """A table: the bell's height with two standard errors and what the average loses, for every set of tasks.

    The rank correlations below it say over how many sets they are: over five, two sets that change places move one by
    up to 0.4.
    """
    parts = {name: one(sweep, setting=name) for name in settings_of(sweep)}
    heights = [height(part) for part in parts.values()]
    measures = measures_of(parts)
    correlations = {label: f"{rank_correlation(values, heights):.1f}" for label, values in measures.items()}
    rows = []
    for (name, part), high, *values in zip(parts.items(), heights, *measures.values()):
        rows.append((name, f"{high:+.3f} ± {WIDE * error_of_height(part):.3f}", *(f"{value:.3f}" for value in values)))
    last = Markup("<i>rank correlation with the height, over {} sets</i>").format(len(parts))
    rows.append((last, "", *correlations.values()))
    text = "; ".join(f"{label}: rank correlation with the height {value}" for label, value in correlations.items())
    after = quiet(said("""± two standard errors, at most. A rank correlation over {sets} sets is no more than a hint.
                          {caption}""", sets=len(parts), caption=caption(sweep)))
    return table(("", "height", *measures), rows, text, after=after)
