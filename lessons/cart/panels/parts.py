"""What the pictures share: an axis of ranks, titles that move, names, how a method looks."""
import numpy as np
from ipywidgets import SelectionSlider

from lessons.cart.experiment.grid import HOWS
from lessons.kit.panel import slider
from lessons.kit.panel.moving import Look, curve
from lessons.kit.plotting import BLACK, BLUE, GREEN, ORANGE, RED, moving_titles

AVERAGE, TASK_ARITHMETIC, OWN = "average", "task arithmetic", "own networks"
OF_HOW = dict(zip(HOWS, (Look(BLUE, "o"), Look(RED, "s"))))  # task vectors from the average, and from θ₀
# as levels
OF_AVERAGE, OF_TASK_ARITHMETIC, OF_OWN = Look(GREEN, line="--"), Look(ORANGE, line="-."), Look(BLACK, line=":")


def tasks_slider(names, value) -> SelectionSlider:
    """A slider over sets of tasks whose texts fit beside it."""
    return slider("tasks", {name.replace(" of the pixels", "").partition(",")[0]: name for name in names}, value)


def rank_axis(ax, ranks) -> np.ndarray:
    """An axis on which every measured rank ratio has the same room, labelled in per cent; returns their places."""
    places = np.arange(len(ranks))
    ax.set_xticks(places, [f"{100 * rank:g}" for rank in ranks], fontsize=8)
    ax.set(xlabel="rank kept, % of the full rank", xlim=(-0.4, len(ranks) - 0.6))
    return places


def numbers_of(coordinate) -> list[float]:
    """Of an axis of a sweep, such as its ranks."""
    return [float(value) for value in coordinate.values]


def curves_of_hows(ax) -> list:
    """A moving curve a kind of task vectors, in the order of `HOWS`."""
    return [curve(ax, look, how, markersize=4) for how, look in OF_HOW.items()]


def titles(axes):
    """One moving title an axis; the layout keeps room for a line, however long it gets."""
    for ax in axes:
        ax.set_title(" ")
    return moving_titles(axes, fontsize=9.5, in_layout=False)


def percent(rank) -> str:
    """A rank ratio for a reader: "4 %"."""
    return f"{100 * rank:g} %"


def listed(values, digits: int = 3) -> str:
    """Numbers for an alternative text: "0.123, 0.456"."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def by_rank(ranks, values) -> str:
    """Numbers a rank for an alternative text: "1 % 0.123, 4 % 0.456"."""
    return ", ".join(f"{percent(rank)} {value:.3f}" for rank, value in zip(ranks, values))
