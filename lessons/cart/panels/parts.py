"""What the pictures share: an axis of ranks, titles that move, names."""
import numpy as np
from ipywidgets import SelectionSlider

from lessons.kit.panel import slider
from lessons.kit.plotting import GREY, moving_titles

ACCURACY = "accuracy: share correct"
AVERAGE, TASK_ARITHMETIC, OWN = "average", "task arithmetic", "own networks"


def tasks_slider(names, value) -> SelectionSlider:
    """A slider over sets of tasks whose texts fit beside it."""
    return slider("tasks", {name.replace(" of the pixels", "").partition(",")[0]: name for name in names}, value)


def rank_axis(ax, ranks) -> np.ndarray:
    """An axis on which every measured rank ratio has the same room, labelled in per cent; returns their places."""
    places = np.arange(len(ranks))
    ax.set_xticks(places, [f"{100 * rank:g}" for rank in ranks], fontsize=8)
    ax.set(xlabel="rank kept, % of the full rank", xlim=(-0.4, len(ranks) - 0.6))
    return places


def titles(axes):
    """One moving title an axis; the layout keeps room for a line, however long it gets."""
    for ax in axes:
        ax.set_title(" ")
    return moving_titles(axes, fontsize=9.5, in_layout=False)


def level(ax, style, label, colour=GREY):
    """A moving horizontal line."""
    return ax.axhline(0.5, color=colour, linestyle=style, linewidth=1.4, marker="", label=label, animated=True)


def percent(rank) -> str:
    """A rank ratio for a reader: "4 %"."""
    return f"{100 * rank:g} %"
