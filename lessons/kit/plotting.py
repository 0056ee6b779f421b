"""One look for every figure that matplotlib draws, and how it reaches the page.

Colours are Okabe and Ito's (2008), told apart also by colour-blind eyes; a marker goes with each, so that no meaning
hangs on colour alone.
"""
import base64
import contextlib
import functools
import inspect
import io
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from lessons.kit.kept import kept
from lessons.kit.page import Markup, minus

BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
RED, PURPLE, SKY = "#D55E00", "#CC79A7", "#56B4E9"
BLACK, GREY = "#1a1a1a", "#8a8a8a"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
WIDTH = 9.6  # inches: the width of a JupyterLab cell on a laptop
ACCURACY = "accuracy: share correct"

THEME = {
    "figure.facecolor": "white", "axes.facecolor": "white", "savefig.facecolor": "white",
    "font.family": ["DejaVu Sans", "sans-serif"], "font.size": 10.5,
    "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.labelsize": 10.5,
    "xtick.labelsize": 9.5, "ytick.labelsize": 9.5, "legend.fontsize": 9.5, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#555555", "axes.linewidth": 0.8,
    "axes.grid": True, "grid.color": "#e4e4e4", "grid.linewidth": 0.8, "axes.axisbelow": True,
    "axes.prop_cycle": mpl.cycler(color=COLOURS, marker=MARKERS),
    "lines.linewidth": 2.0, "lines.markersize": 6, "svg.fonttype": "path", "svg.hashsalt": "weightspace",
}


# matplotlib's defaults below the course's look, so that nothing that the learner has set is left
_SETTINGS = {name: value for name, value in mpl.rcParamsDefault.items() if name != "backend"} | THEME
_ONE_AT_A_TIME = threading.RLock()
_inside = []  # an entry for each `drawing` that set matplotlib's settings; whoever looks holds the lock


@dataclass(frozen=True)
class Look:
    """How a series looks in every figure of a chapter; colour and marker both, so that no meaning hangs on colour
    alone."""
    colour: str
    marker: str = ""
    line: str = "-"


@contextlib.contextmanager
def drawing(settings: dict | None = None):
    """Whatever moves or draws a figure of the course does so inside: it has the course's look, whatever the learner has
    set in matplotlib, and only one thread of the process is inside at a time.

    matplotlib's settings belong to the whole process, and a cell and a page's messages can run on different threads.
    Never await inside: a thread that holds the lock may enter again, so another coroutine of the
    same thread would come in.

    Args:
        settings: {name: value} of matplotlib's that differ here from the course's look.
    """
    with _ONE_AT_A_TIME:
        if _inside and not settings:  # this thread is, since it holds the lock; to set everything takes milliseconds
            yield
            return
        with mpl.rc_context(_SETTINGS | (settings or {})):
            _inside.append(True)
            try:
                yield
            finally:
                _inside.pop()


def themed(function):
    """Decorator: the function runs inside `drawing`. matplotlib's settings outside stay as they are."""
    @functools.wraps(function)
    def inside(*arguments, **options):
        with drawing():
            return function(*arguments, **options)
    return inside


def still(function):
    """Decorator for (sweep, *arguments) -> `show`'s HTML: themed, kept on disk, and shown again while sweep, arguments
    and code stay the same."""
    @themed  # outside of `kept`: all who draw take first this lock and then that of the file
    @functools.wraps(function)
    def inside(sweep, *arguments, **options):
        from IPython.display import HTML
        asked = (arguments, options)
        return HTML(kept(function, sweep, asked, ".html", lambda: function(sweep, *arguments, **options).data))
    return inside


def figure(columns: int = 1, rows: int = 1, height: float = 3.4, width: float = WIDTH, **options):
    """A figure and its axes, as `Figure.subplots` gives them, without pyplot and its global state. What is drawn on
    them has the course's look, also where a notebook's cell draws, outside of a `themed` function."""
    with _ONE_AT_A_TIME:
        of_a_cell = not _inside
        with drawing():
            kind, kind_of_axes = (_FigureOfACell, _AxesOfACell) if of_a_cell else (Figure, Axes)
            fig = kind(figsize=(width, height), layout="constrained")
            FigureCanvasAgg(fig)
            return fig, fig.subplots(rows, columns, **{"subplot_kw": {"axes_class": kind_of_axes}} | options)


def _themed_methods(kind):
    """A class of matplotlib's whose methods run inside `drawing`."""
    of_a_cell = type(f"{kind.__name__}OfACell", (kind,), {})
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            setattr(of_a_cell, name, themed(method))  # now: when a class is made, matplotlib gives it a `set`
    return of_a_cell


_FigureOfACell, _AxesOfACell = _themed_methods(Figure), _themed_methods(Axes)


def layer_ticks(ax, layers, words: Mapping[str, str] = MappingProxyType({"output": "out"}),
                label: str = "block") -> np.ndarray:
    """Name the layers below an axis, blocks by number; returns their places.

    Args:
        words: {layer: a shorter name} for what follows the blocks.
        label: of the axis, where there are blocks.
    """
    places = np.arange(len(layers))
    if layers[0].startswith("block"):
        ax.set_xticks(places, [words.get(layer, layer.removeprefix("block ")) for layer in layers])
        ax.set_xlabel(label)
    else:
        ax.set_xticks(places, layers, fontsize=8.5 if len(layers) > 3 else None)
    ax.set_xlim(-0.5, len(layers) - 0.5)
    return places


def in_percent(axis) -> None:
    """Write shares below or beside an axis as per cent, with no more digits than they need."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: minus(f"{round(100 * share, 9) + 0.0:g} %")))


def show(fig: Figure, alt: str, caption: str = ""):
    """A still figure as an HTML image with alternative text: JupyterLab and nbconvert both keep that, and drop a plain
    figure's.

    Args:
        fig: the figure.
        alt: what it shows, in words and numbers, for those who do not see it.
        caption: printed below; say there which data were used.
    """
    from IPython.display import HTML
    return HTML(image_tag(fig, alt, caption))


def image_tag(fig: Figure, alt: str, caption: str = "") -> Markup:
    """The HTML of `show`."""
    return svg_tag(_svg(fig), fig.get_figwidth(), alt, caption)


def svg_tag(svg: str, width: float, alt: str, caption: str = "") -> Markup:
    """An HTML image of an SVG, `width` inches wide.

    Raises:
        ValueError: there is no alternative text.
    """
    if not alt.strip():
        raise ValueError("a figure needs alternative text: say what it shows")
    data = base64.b64encode(svg.encode()).decode()
    below = Markup('<figcaption style="opacity:0.75;font-size:90%">{}</figcaption>').format(caption) if caption else ""
    image = Markup('<img style="max-width:100%" width="{:.0f}" alt="{}" src="data:image/svg+xml;base64,{}">')
    return Markup('<figure style="margin:0.4em 0">{}{}</figure>').format(image.format(width * 96, alt, data), below)


class WithQuartiles:
    """Markers at given places with vertical bars from quartile to quartile; `set_values` moves them."""

    def __init__(self, ax, places, colour, marker, label):
        self.places = places
        # until `set_values` at 1, which a logarithmic axis can hold
        self.bars = ax.vlines(places, 1, 1, color=colour, linewidth=1.6)
        self.markers = ax.plot(places, np.ones(len(places)), color=colour, marker=marker, linestyle="", label=label)[0]

    def set_values(self, mean, low, high):
        """Means and quartiles, one of each a place."""
        self.markers.set_ydata(np.asarray(mean))
        quartiles = zip(self.places, np.asarray(low), np.asarray(high))
        self.bars.set_segments([[(place, a), (place, b)] for place, a, b in quartiles])


def violin(ax, place, bins, count, median, colour, label=None, width=0.12):
    """A distribution standing upright at `place`: `count` (bins,) at the bins' middles, with a line at the median."""
    half = width * count / count.max()
    ax.fill_betweenx(bins, place - half, place + half, color=colour, alpha=0.75, linewidth=0, step="mid", label=label)
    ax.plot([place - width, place + width], [median] * 2, color=BLACK, linewidth=1.2, marker="")


_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def _svg(fig):
    buffer = io.StringIO()
    with drawing():
        fig.savefig(buffer, format="svg", metadata=_NO_METADATA)
    return _element(buffer.getvalue())


_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def _element(document):
    """The <svg> element of an SVG document, without the XML declaration that HTML cannot hold. A name may have
    characters that XML cannot hold, and one of them would take the whole picture away."""
    return _NO_XML.sub("�", document[document.index("<svg"):])
