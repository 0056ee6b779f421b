"""A panel for a lecture hall: one of its axes alone, with letters that are read from the last row (`panel.big()`)."""
import math
import textwrap

from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text
from matplotlib.ticker import AutoLocator

from lessons.kit.plotting import TITLE, WIDTH

HALL = 20    # points
_MANY = 8    # texts on one of the axes: a number above each bar, say
_LINE = 46   # letters of HALL points that fit into a line


def alone(fig: Figure, axis: int) -> None:
    """Leave one of a figure's axes, with its colour bars, over the whole figure, and everything on it twice as large:
    for a hall."""
    kept_one = fig.axes[axis]
    _with_what_its_neighbours_say(kept_one)
    scales = [ax for ax in fig.axes if kept_one in getattr(ax, "_colorbar_info", {}).get("parents", [])]
    for scale in scales:  # a colour bar of several axes is this one's now
        scale._colorbar_info["parents"] = [kept_one]
    for other in [ax for ax in fig.axes if ax is not kept_one and ax not in scales]:
        fig.delaxes(other)
    kept_one.set_subplotspec(GridSpec(1, 1, figure=fig)[0])
    rows = _again_in_few_columns(fig, [*fig.legends, *filter(None, [kept_one.get_legend()])])
    fig.set_size_inches(WIDTH, 0.6 * WIDTH + 0.4 * max(rows - 1, 0))
    for text in fig.findobj(Text):
        text.set_fontsize(HALL)
    kept_one.tick_params(which="both", labelsize=HALL)  # of ticks that are not there yet
    if len(kept_one.texts) > _MANY:
        for text in kept_one.texts:
            text.set_fontsize(0.6 * HALL)
    _in_lines(kept_one)
    for scale in scales:
        _in_lines(scale)
    for locator in (kept_one.xaxis.get_major_locator(), kept_one.yaxis.get_major_locator()):
        if isinstance(locator, AutoLocator):
            locator.set_params(nbins=5)
    for line in kept_one.lines:
        line.set_linewidth(1.8 * line.get_linewidth())
        line.set_markersize(1.8 * line.get_markersize())


def _with_what_its_neighbours_say(ax):
    """The label and the numbers of an axis that only the first in a row or the last in a column of pictures has."""
    for of_x, siblings in ((True, ax.get_shared_x_axes()), (False, ax.get_shared_y_axes())):
        shared = siblings.get_siblings(ax)
        if len(shared) > 1:
            own, *others = [one.xaxis if of_x else one.yaxis for one in (ax, *shared)]
            label = next((other.get_label_text() for other in others if other.get_label_text()), "")
            own.set_label_text(own.get_label_text() or label)
            own.set_tick_params(**{"labelbottom" if of_x else "labelleft": True})


def _again_in_few_columns(fig, legends):
    """Make one legend of these, below the figure, in columns that large letters leave room for; returns its rows."""
    handles, labels, titles = [], [], []
    for legend in legends:
        handles += legend.legend_handles
        labels += [textwrap.fill(text.get_text(), _LINE) for text in legend.get_texts()]
        titles += filter(None, [legend.get_title().get_text()])
        legend.remove()
    if not labels:
        return 0
    columns = 2 if max(map(len, labels)) <= 20 else 1
    fig.legend(handles, labels, title="; ".join(titles) or None, loc="outside lower center", ncols=columns)
    return math.ceil(len(labels) / columns) + sum(label.count("\n") for label in labels) + bool(titles)


def _in_lines(ax):
    """Titles and labels go on in a second line where they would leave the picture. What a moving title will say is not
    known yet: it has room for two lines."""
    for text, letters in ((ax.xaxis.label, _LINE), (ax.yaxis.label, _LINE // 2), (ax.title, _LINE),
                          (ax._left_title, _LINE), (ax._right_title, _LINE)):
        text.set_text(textwrap.fill(text.get_text(), letters))
    above = [text for text in ax.texts if text.get_label() == TITLE
             or text.get_transform() == ax.transAxes and text.get_position()[1] > 1]
    for text in above:
        text.set(wrap=True, in_layout=False, verticalalignment="bottom", fontsize=HALL)
    if above and not ax.get_title("center"):
        ax.set_title(" \n ", loc="center", fontsize=HALL, pad=0.6 * HALL)
