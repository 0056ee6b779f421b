"""CART against the share of directions that it keeps, beside the average, the single networks and other methods."""
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray

from lessons.kit.noise import WIDE
from lessons.kit.page import Page, quiet, said, table
from lessons.kit.sweep import caption, names
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Line,
    Path,
    Reference,
    Spots,
    Star,
    chips,
    key,
    percent,
    slider,
    view,
)
from lessons.merging import methods
from lessons.merging.search import best, rests_on
from lessons.words.experiment.merges import GRIDS
from lessons.words.panels import networks
from lessons.words.panels.networks import OWN, around, difference, error_of_mean, is_more

HELD_OUT = "chosen on held-out sentences"  # in the place of a λ: every number of directions has its own
ORDER = ("θ₀", "average", "task_arithmetic", "ties", "tsv", "cart", "single")  # from below
_NAMES = {"θ₀": "θ₀", "average": "average", "task_arithmetic": "task arithmetic", "single": "each alone"}
_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
_ALL = 100  # per cent of the directions, with which CART is the average again
_ALT = """
    {network}, λ {lam}. CART's accuracy, mean over {tasks} tasks, by the share of directions kept: {curve}. Held-out
    sentences choose {kept_share}: {cart:.3f}, {gain} points from the average. Others: {others}. An accuracy has a
    standard error of up to {error:.1f} points."""


def title_of(reported: str) -> str:
    """What a method, or a network beside them, is called."""
    return _NAMES.get(reported) or methods()[reported].short


@dataclass(frozen=True)
class Curve:
    """CART at one λ, or at the λ that held-out sentences choose for every number of directions.

    Attributes:
        shares: (places,), how many of a matrix's directions are kept, rising.
        lams: (places,).
        test: (places, tasks), accuracy on test sentences.
        place: the number of directions that held-out sentences choose.
    """
    shares: np.ndarray
    lams: np.ndarray
    test: np.ndarray
    place: int


def curve(sweep: xarray.Dataset, way: str, lam: float | str = HELD_OUT) -> Curve:
    """CART of one way to choose matrices, or of the only one that the sweep has; without the place of no direction,
    which is the average."""
    way = way if way in sweep.way else names(sweep.way)[0]
    accuracy = sweep.accuracy.sel(way=way, directions=sweep.directions > 0)
    lams = sweep.lam.values if lam == HELD_OUT else np.array([lam])
    grids = accuracy.sel(lam=lams).transpose("part", "directions", "lam", "task")
    held = grids.sel(part="held-out").mean("task").values
    columns, rows = held.argmax(1), np.arange(len(held))
    return Curve(accuracy.directions.values / int(sweep.attrs["width"]), lams[columns],
                 grids.sel(part="test").values[rows, columns], int(held.max(1).argmax()))


def scores(sweep: xarray.Dataset, cart: Curve) -> dict[str, np.ndarray]:
    """{reported: test accuracies (tasks,)} in `ORDER`, CART at the directions that held-out sentences choose."""
    reported = {name: sweep.test.sel(reported=name).values for name in names(sweep.reported)}
    reported["cart"] = cart.test[cart.place]
    return {name: reported[name] for name in ORDER if name in reported}


def question(sweep: xarray.Dataset) -> str:
    """What the learner is asked before `bell`."""
    average, alone = (float(sweep.test.sel(reported=name).mean()) for name in ("average", "single"))
    return (f"On test sentences, mean over tasks, the average of all encoders is right on {percent(average)}, and each "
            f"encoder alone on its own task on {percent(alone)}. How accurate is CART, if held-out sentences choose λ "
            "and how many directions it keeps?")


@view
def bell(sweep: xarray.Dataset, minilm: xarray.Dataset | None = None, prediction=None):
    """Left, CART's accuracy against the share of directions kept, with a band of two standard errors of its difference
    to the average; right, every method with two standard errors of its own.

    Args:
        sweep, minilm: of `experiment.merges`, and of `experiment.minilm`, where it was measured.

    Controls: lam, of CART, also as held-out sentences choose it; network, where there are two; way, which matrices
    CART truncates. The prediction, the accuracy with the directions that held-out sentences choose, is a star.
    """
    sweeps = networks.by_network(sweep, minilm)
    lams = [lam for lam in map(float, sweep.lam.values) if all(lam in each.lam.values for each in sweeps.values())]
    stops, ways = [HELD_OUT, *lams], names(sweep.way)
    curves = {(network, way, lam): curve(each, way, lam) for network, each in sweeps.items() for way in ways
              for lam in stops}
    opens = curves[OWN, ways[0], HELD_OUT]
    nothing = _none([100 * each.shares.min() for each in curves.values()])
    if prediction:
        prediction.panel_answers(opens.test[opens.place].mean(), networks.asked(sweeps, lam=HELD_OUT, way=ways[0]))

    def draw(lam, way, network=OWN):
        shown, cart = sweeps[network], curves[network, way, lam]
        count, results = networks.sentences(shown), scores(shown, cart)
        average, means = results["average"], cart.test.mean(1)
        far = np.array([WIDE * difference(each, average, count).error for each in cart.test])
        feet = [nothing, _ALL], [average.mean()] * 2
        values = {"alone": results["single"].mean(), "average": average.mean(), "feet": feet,
                  "choice": ([100 * cart.shares[cart.place]], [means[cart.place]])}
        for name in sweeps:
            is_shown = name == network
            empty = np.full(len(curves[name, way, lam].shares), np.nan)
            values |= {_line(name): means if is_shown else empty,
                       _band(name): (means - far, means + far) if is_shown else (empty, empty)}
        alt = said(_ALT, network=network.capitalize() if network == OWN else network, lam=_lam(lam), tasks=len(average),
                   curve=", ".join(f"{percent(share, 1)} {mean:.3f}" for share, mean in zip(cart.shares, means)),
                   kept_share=percent(cart.shares[cart.place], 1), cart=means[cart.place],
                   gain=difference(cart.test[cart.place], average, count), error=100 * error_of_mean(average, count),
                   others=", ".join(f"{title_of(name)} {each.mean():.3f}" for name, each in results.items()
                                    if name != "cart"))
        about = key(("merged", f"CART, λ {_lam(lam)}"), ("single", "Each network alone"),
                    ("", "large: the number that held-out sentences choose; ends: the average"))
        return Frame(finding_of_bell(cart, average, count), alt, values | _rows(results, count), about)

    handles = {"lam": slider("λ of CART", {stop if stop == HELD_OUT else f"{stop:g}": stop for stop in stops}, HELD_OUT,
                             words=lambda lam: f"λ {_lam(lam)}", ends=[("", "λ chosen"), ("", f"λ = {lams[-1]:g}")]
                             if lams else ())}
    return {"kicker": "Chapter 14: CART on text encoders",
            "tries": ("Where does the band lie above the grey line, so that CART is ahead by more than the noise?",
                      "Move λ. Does the best share of directions move with it?"),
            "charts": _charts(sweeps, curves, 100 * opens.shares[opens.place]), "draw": draw,
            "hides": ["choice", *map(_line, sweeps), *map(_band, sweeps), *(f"score of {name}" for name in ORDER),
                      *(f"error of {name}" for name in ORDER)],
            "controls": handles | networks.menu(sweeps) | {"way": chips("matrices that CART truncates", ways,
                                                                         more=True)},
            "caption": f"{networks.captions(sweeps)} {rests_on(*sweeps.values())} Band: two standard errors of the "
                       "difference to the average, bars: of one accuracy. Both are upper limits."}


def _lam(lam):
    return lam if lam == HELD_OUT else f"= {lam:g}"


def _line(network):
    return f"CART, {network}"


def _band(network):
    return f"sure, {network}"


def _none(shares):
    """Where "no direction" is drawn on an axis in per cent that has no 0."""
    return 0.5 * float(np.min(shares))


def _ticks(low, high):
    between = {tick: f"{tick:g} %" for tick in _TICKS if 4 * low < tick < _ALL / 1.9}
    return {low / 0.8: "none"} | between | {_ALL: "all"}


def _rows(results: Mapping[str, np.ndarray], count: int) -> dict[str, tuple]:
    """What the right chart draws: a dot and a bar of two standard errors for every method."""
    values = {}
    for row, name in enumerate(ORDER):
        accuracies = results.get(name, np.array([np.nan]))
        values |= {f"score of {name}": ([accuracies.mean()], [row]),
                   f"error of {name}": (around(accuracies, count), (row, row))}
    return values


def _role(reported):
    return {"cart": "merged", "single": "single"}.get(reported, "other")


def _charts(sweeps, curves, asked):
    """The curve over the shares, and the methods, on axes with room for every λ and network; the guess at one share."""
    tests = [each.test.sel(reported=names(each.reported)).mean("task").values for each in sweeps.values()]
    tops, averages = zip(*((float(each.test.sel(reported="single").mean()),
                            float(each.test.sel(reported="average").mean())) for each in sweeps.values()))
    means = np.concatenate([each.test.mean(1) for each in curves.values()])
    shares = 100 * np.concatenate([each.shares for each in curves.values()])
    low, high = min(means.min(), *averages) - 0.03, max(means.max(), *tops) + 0.02
    x_of = {network: tuple(100 * each.shares) for (network, _, _), each in curves.items()}
    ends = 0.8 * _none(shares), 1.2 * _ALL
    left = Chart(Axis("directions kept (log)", *ends, "log",
                      ticks=_ticks(*ends)),
                 Axis("accuracy, mean over tasks", low, high, unit="percent", digits=1),
                 (Reference("alone", "single", "each alone"), Reference("average", "other", "average"),
                  *(Band(_band(network), "merged", x=x) for network, x in x_of.items()),
                  *(Line(_line(network), "merged", x=x, dots=True) for network, x in x_of.items()),
                  Spots("feet", "other"), Spots("choice", "merged"), Star("guess", "merged", x=(asked,))))
    lowest, highest = min(map(np.min, tests)), max(map(np.max, tests))
    right = Chart(Axis("accuracy, mean over tasks", lowest - 0.03, highest + 0.03, unit="percent"),
                  Axis("every method, with two standard errors", -0.6, len(ORDER) - 0.4,
                       ticks={row: title_of(name) for row, name in enumerate(ORDER)}),
                  (*(Path(f"error of {name}", _role(name), aside=True) for name in ORDER),
                   *(Spots(f"score of {name}", _role(name)) for name in ORDER)))
    return [left, right]


def finding_of_bell(cart: Curve, average: np.ndarray, count: int) -> str:
    """Whether CART is above the average at the share of directions that held-out sentences choose, and whether it is
    worse at the ends of the curve, each by two standard errors.

    Args:
        average: its test accuracies (tasks,).
        count: test sentences a task.
    """
    few, peak, many = (cart.test[place] for place in (0, cart.place, -1))
    gain = difference(peak, average, count)
    if not gain.is_news:
        costs = is_more(difference(average, few, count))
        return f"CART is within the noise of the average{', and too few directions lose accuracy' if costs else ''}"
    if gain.value < 0:
        return "CART is below the average here"
    lost = [name for name, end in (("fewest", few), ("most", many)) if is_more(difference(peak, end, count))]
    if not lost:
        return "CART beats the average, but how many directions are best is within the noise"
    return f"CART beats the average, and is worse with the {' and the '.join(lost)} directions tried"


# -- tables ------------------------------------------------------------------------------------------------------------

def methods_table(sweep: xarray.Dataset) -> Page:
    """Every method: its test accuracy, what held-out sentences chose, and by how much it is above the average, with
    standard errors in points; CART for each way to choose matrices. The sweep is that of `experiment.merges` or
    `experiment.minilm`."""
    count, average = networks.sentences(sweep), sweep.test.sel(reported="average").values
    entries = [(title_of(name), sweep.test.sel(reported=name).values, _parameters(sweep, name))
               for name in ORDER if name in sweep.reported]
    for way in names(sweep.way):
        cart = curve(sweep, way)
        entries.insert(-1, (f"CART, {way}", cart.test[cart.place],
                            f"λ {cart.lams[cart.place]:g}, {percent(cart.shares[cart.place], 1)} of the directions"))
    rows = []
    for name, accuracies, parameters in entries:
        lead = difference(accuracies, average, count)
        above = "–" if accuracies is average or name == "average" else f"{lead}{'' if lead.is_news else ' (noise)'}"
        rows.append((name, f"{100 * accuracies.mean():.1f} ± {100 * error_of_mean(accuracies, count):.1f}", above,
                     parameters))
    most = sweep.majority.values
    rows.insert(0, ("always the most frequent class", f"{100 * most.mean():.1f}", "", ""))
    after = quiet(said("""{caption} {rests} In per cent, mean over tasks, ± one standard error, at most. Noise: less
                          than two of them.""",
                       caption=caption(sweep), rests=rests_on(sweep)))
    return table(("", "accuracy", "above the average", "chosen"), rows, after=after)


def _parameters(sweep, reported):
    """λ, and the other parameter, that held-out sentences chose; "" where a method has none."""
    if reported not in GRIDS or reported == "average":
        return ""
    held = sweep.held.sel(searched=reported)
    place = best(held, "place", "scale")
    words = f"λ {float(place['scale']):g}"
    if name := GRIDS[reported].other:
        words += f", {name} {float(sweep.value.sel(searched=reported, place=place['place'])):g}"
    return words
