"""When the bell appears: the best accuracy at every rank, and the bell's height against measures of interference."""
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
from lessons.cart.panels.bell import DISJOINT, LEVELS, levels_of, settings_of
from lessons.cart.panels.parts import Ranks, curves_of_hows, listed, tasks_slider, titles
from lessons.kit import plotting
from lessons.kit.noise import WIDE
from lessons.kit.page import Markup, Page, quiet, said, table
from lessons.kit.panel import choice, panel
from lessons.kit.panel.moving import Look, cloud, curve, level
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREY
from lessons.kit.predict import Star
from lessons.kit.sweep import caption
from lessons.merging.search import rests_on


@panel
def overlap(sweep: xarray.Dataset, prediction=None):
    """Left, the best accuracy at every rank, for one set of tasks; right, the bell's height of all sets against a
    measure of interference. Controls: setting, measure.

    The prediction, the bell's height where half of the pixels are permuted, is a star on the right, where the first
    measure has that set of tasks.
    """
    names = settings_of(sweep)
    parts = {name: one(sweep, setting=name) for name in names}
    levels = {name: levels_of(part) for name, part in parts.items()}
    measures = measures_of(parts)
    heights = [height(part) for part in parts.values()]
    envelopes = {name: [envelope(part, how).values for how in HOWS] for name, part in parts.items()}
    fig, (left, right) = plotting.figure(2, height=4.5, width_ratios=(5, 4))
    places = best_axis(left, Ranks(sweep))
    curves = curves_of_hows(left)
    lines = {key: level(left, *LEVELS[key]) for key in ("average", "own")}
    fig.legend(handles=[*curves, *lines.values()], loc="outside lower center", ncols=4)
    dots = _Dots(right, names, heights, [error_of_height(part) for part in parts.values()])
    half = names.index(bell.name_of(0.5))
    first = next(iter(measures))
    asked = {"setting": names[half], "measure": first}
    star = Star(right, prediction, measures[first][half], heights[half], asked)
    above = titles((left, right))

    def draw(setting, measure):
        for line, values in zip(curves, envelopes[setting]):
            line.set_data(places, values)
        for key, line in lines.items():
            line.set_ydata([levels[setting][key]] * 2)
        row = names.index(setting)
        values = measures[measure]
        dots.show(values, row)
        star.place(setting=setting, measure=measure)
        above[0].set_text(setting)
        above[1].set_text(f"measure {values[row]:.3f}, height {heights[row]:+.3f}")
        centred, plain = map(listed, envelopes[setting])
        all_sets = "; ".join(f"{name} {value:.3f}, {high:+.3f}" for name, value, high in zip(names, values, heights))
        return said("""{setting}. Mean accuracy by rank, centred {centred}; from θ₀ {plain}. {measure} and the bell's
                       height: {all_sets}.""",
                    setting=setting, centred=centred, plain=plain, measure=measure, all_sets=all_sets)

    controls = {"setting": tasks_slider(names, DISJOINT),
                "measure": choice("measure", list(MEASURES))}
    text = f"{caption(sweep)} λ chosen at every rank, and rank and λ for the height, on held-out images."
    return controls, fig, draw, f"{text} {rests_on(sweep)}"


class _Dots:
    """The bell's height of every set of tasks, named, with two standard errors; the set shown is filled."""

    def __init__(self, ax, names, heights, errors):
        self._heights = heights
        self._errors = errors
        lowest = min(-0.04, min(heights) - 0.04)
        highest = max(heights) * 1.25 + 0.04
        ax.set(xlim=(-0.02, 1.12), ylim=(lowest, highest), xlabel="the measure chosen above",
               ylabel="height of the bell above the average")
        ax.axhline(0, color=GREY, linewidth=0.8, marker="")
        self._bars = curve(ax, Look(GREY), linewidth=1.4)
        self._all = cloud(ax, Look(GREY, "o"))
        self._here = cloud(ax, Look(BLUE, "o"), markersize=11, markeredgecolor=BLACK)
        style = {"fontsize": 9.5, "animated": True, "va": "bottom", "ha": "center"}
        self._texts = [ax.text(0, 0, short(name), **style) for name in names]

    def show(self, values, row: int) -> None:
        """values: one a set of tasks; row: of the set that the slider shows."""
        bars = [(value, high - WIDE * error, high + WIDE * error)
                for value, high, error in zip(values, self._heights, self._errors)]
        self._bars.set_data(np.repeat(values, 3), np.ravel([(low, high, np.nan) for _, low, high in bars]))
        self._all.set_data(values, self._heights)
        self._here.set_data([values[row]], [self._heights[row]])
        for text, (value, _, high) in zip(self._texts, bars):
            text.set_position((value, high + 0.004))


def short(name: str) -> str:
    """A set of tasks in a word or two: "50 %", "rotations", "two data sets"."""
    if name == bell.ROTATED:
        return "rotations"
    return name.partition(" of the pixels")[0].partition(",")[0]


def measures_of(parts: dict[str, xarray.Dataset]) -> dict[str, list[float]]:
    """{measure: one value a set of tasks}."""
    return {label: [float(function(part)) for part in parts.values()] for label, function in MEASURES.items()}


def best_axis(ax, ranks: Ranks) -> np.ndarray:
    """Accuracy at the best λ against rank; returns the ranks' places."""
    ax.set(ylabel=f"{ACCURACY}, best λ", ylim=(0, 1.02))
    return ranks.axis(ax)


def reading_of_the_overlap(sweep: xarray.Dataset) -> Page:
    """A table: the bell's height with two standard errors and every measure of interference, for every set of tasks.

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
