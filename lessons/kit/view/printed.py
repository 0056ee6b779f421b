"""A view on paper: matplotlib draws the same marks from the same numbers, for notebooks that are printed or saved."""
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, Normalize, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter

from lessons.kit import plotting
from lessons.kit.page import Markup
from lessons.kit.view.marks import Chart, Frame, Mark, rows_of

COLOURS = {"a": "#0A66B7", "b": "#B84A00", "merged": "#00775C", "single": "#1E2226", "chance": "#686E76",
           "other": "#8E8B84", "class1": "#4A7A00", "class2": "#9C2FA0"}
LETTERS = COLOURS | {"other": COLOURS["chance"]}  # a grey that is dark enough to be read
FORMS = {"a": "o", "b": "s", "merged": "D", "single": "", "chance": "", "other": "o", "class1": "o", "class2": "o"}
_STYLES = {"chance": ":", "single": "-"}
_USUAL_HEIGHT = 352  # px, in the page
_TITLE, _LABEL = 84, 84  # characters that fit above a picture: of its title, and of the names of vertical axes
_ABOVE = 0.3  # inches for the name of the vertical axis of a chart below another
_NAME = 12.0  # points from a name at the end of a line to the next
_AT_THE_END = "at the end"  # what such a name is found by
_COLUMNS, _LETTER = 108, 10  # letters of a monospaced text that fit beside each other, and their size in points
_END = 18  # of a name at an end of their scale
_MOST = 0.6  # of a role's colour behind a letter, as in the page's light theme
_MONOSPACED = "DejaVu Sans Mono"  # which matplotlib has
_HALO = (withStroke(linewidth=3, foreground="white"),)  # around a name that may lie on a dark map


def image(charts: Sequence[Chart], frame: Frame, caption: str = "", stacked: bool = False,
          stops: Mapping[str, Sequence[float]] | None = None) -> Markup:
    """Charts at one setting as an HTML image, with the frame's title above and its words as alternative text; beside
    or, if they are `stacked`, below each other. `stops` are the positions of a slider's settings on the x axis."""
    with plotting.drawing():
        if stacked:
            heights = [chart.height or _USUAL_HEIGHT for chart in charts]
            height = 3.8 * sum(heights) / _USUAL_HEIGHT + _ABOVE * (len(charts) - 1)
            fig, axes = plotting.figure(1, len(charts), height=height, squeeze=False, height_ratios=heights)
        else:
            fig, axes = plotting.figure(len(charts), height=3.8, squeeze=False)
        fig.suptitle(_in_lines(frame.title, _TITLE), x=0.01, ha="left", fontsize=12.5, fontweight="bold",
                     parse_math=False)  # a sentence that somebody typed may have dollars
        for ax, chart in zip(axes.flat, charts):
            _axes(ax, chart, _LABEL if stacked else _LABEL // len(charts))
            if chart.has_letters:
                _letters(ax, chart.marks[0], frame.values[chart.marks[0].name],
                         _COLUMNS if stacked else _COLUMNS // len(charts))
                continue
            positions = (stops or {}).get(chart.slider)
            for mark in chart.marks:
                if mark.parts:
                    rows = _drawable(_rows(frame.values[mark.name]), mark, chart.y)
                    _DRAWN[mark.kind](ax, chart, _placed(mark, positions, rows), rows)
            _keep_apart(ax)
        if frame.key:
            legend = fig.legend(handles=[_named(*item) for item in frame.key], loc="outside lower left",
                                ncols=1 if sum(len(text) for _, text in frame.key) > 110 else len(frame.key))
            for text in legend.get_texts():
                text.set_parse_math(False)  # a name may have dollars
        return plotting.image_tag(fig, frame.alt, caption)


def _in_lines(text, characters):
    """A text in lines of at most so many characters, with no break inside a word."""
    return textwrap.fill(text, characters, break_on_hyphens=False)


def _named(role, text):
    """One entry of the key."""
    form = {"color": COLOURS[role], "marker": FORMS[role]} if role else {"color": "none"}
    return Line2D([], [], linestyle="-" if role == "single" else "", label=text, **form)


def _rows(numbers):
    return np.atleast_2d(np.asarray(numbers, dtype=float))


def _drawable(rows, mark, axis):
    """NaN, a gap, where a logarithmic axis has no place for a number."""
    heights = mark.kind in ("line", "band", "points", "bars", "reference")
    return np.where(rows > 0, rows, np.nan) if heights and axis.kind == "log" else rows


def _axes(ax: Axes, chart: Chart, characters: int) -> None:
    """Names, ends and ticks. The name of the vertical axis stands above it, as in the page, in lines of so many
    characters."""
    ax.set_title(_in_lines(chart.y.label, characters), loc="left", fontsize="medium", fontweight="normal")
    ax.set_xlabel(chart.x.label)
    for axis, name in ((chart.x, "x"), (chart.y, "y")):
        ax.set(**{f"{name}lim": (axis.low, axis.high)})
        if axis.kind == "log":
            ax.set(**{f"{name}scale": "log"})
        which = getattr(ax, f"{name}axis")
        if axis.ticks:
            if axis.kind == "log":
                which.minorticks_off()
            which.set_ticks(list(axis.ticks), list(axis.ticks.values()))
        elif axis.unit == "percent":
            plotting.in_percent(which)


def _placed(mark, positions, rows):
    """A mark with places of its own, or else with those of the chart's slider, as in the page."""
    fits = positions is not None and len(positions) == rows.shape[1] and not getattr(mark, "x", True)
    return replace(mark, x=tuple(positions)) if fits else mark


def _x_of(chart, mark, count):
    """Where a mark has its values; one without places, in a chart without a slider, has them at evenly spaced ones."""
    return np.asarray(mark.x) if mark.x else np.linspace(chart.x.low, chart.x.high, count)


def _line(ax, chart, mark, rows):
    style = {"color": COLOURS[mark.role], "linestyle": "--" if mark.dashed else _STYLES.get(mark.role, "-"),
             "marker": FORMS[mark.role] if mark.dots else "", "linewidth": 1.2 if mark.role == "other" else 2.2}
    x = _x_of(chart, mark, rows.shape[1])
    ax.plot(x, rows[0], **style)
    finite = np.flatnonzero(np.isfinite(rows[0]))
    if mark.label and len(finite):
        _said_at_the_end(ax, mark, rows[0][finite[-1]])


def _said_at_the_end(ax, mark: Mark, y):
    """A mark's name right of the axes."""
    ax.annotate(mark.label, (1, y), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
                color=LETTERS[mark.role], va="center", fontsize=9.5, gid=_AT_THE_END)


def _keep_apart(ax):
    """Move names at the ends of lines up and down, as little as possible, until none stands on another."""
    names = sorted((text for text in ax.texts if text.get_gid() == _AT_THE_END), key=lambda text: text.xy[1])
    if not names:
        return
    gap = _NAME * ax.figure.dpi / 72 / ax.get_window_extent().height
    to_axes, left = ax.transData + ax.transAxes.inverted(), ax.get_xlim()[0]
    heights = [to_axes.transform((left, text.xy[1]))[1] for text in names]
    for text, height in zip(names, apart(heights, gap)):
        text.xy, text.xycoords = (1, height), "axes fraction"


def apart(heights: Sequence[float], gap: float) -> np.ndarray:
    """Places with at least this gap from each to the next, in the same order and as near to the heights as possible
    (least squares). None is above 1 or below 0, unless a height is.

    Args:
        heights: rising, shares of the height of the axes.
    """
    gaps = gap * np.arange(len(heights))
    groups: list[list[float]] = []  # that touch, by their heights without the gaps
    for height in np.asarray(heights) - gaps:
        groups.append([height])
        while len(groups) > 1 and np.mean(groups[-2]) > np.mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    places = np.concatenate([np.full(len(group), np.mean(group)) for group in groups])
    places = np.maximum(places, min(0.0, heights[0]))
    return np.minimum(places, max(1.0, heights[-1]) - gaps[-1]) + gaps


def _band(ax, chart, mark, rows):
    ax.fill_between(_x_of(chart, mark, rows.shape[1]), rows[0], rows[1], color=COLOURS[mark.role], alpha=0.18,
                    linewidth=0)


def _points(ax, chart, mark, rows):
    x = _x_of(chart, mark, rows.shape[1])
    if len(rows) == 3:
        ax.vlines(x, rows[1], rows[2], color=COLOURS[mark.role], linewidth=1.6)
    ax.plot(x, rows[0], color=COLOURS[mark.role], marker=FORMS[mark.role] or "o", linestyle="", label=mark.label)
    if mark.written:
        for place, value, top in zip(x, rows[0], rows[-1]):
            if np.isfinite(value):
                ax.annotate(chart.y.written(value), (place, top), xytext=(0, 6), textcoords="offset points",
                            ha="center", fontsize=9)


def _bars(ax, chart, mark, rows):
    x = _x_of(chart, mark, rows.shape[1])
    ax.bar(x, rows[0], width=0.6 if not mark.bare else 0.8, color=COLOURS[mark.role])
    if len(rows) == 3:
        ax.vlines(x, rows[1], rows[2], color="#1E2226", linewidth=1.4)
    if mark.bare:
        return
    for place, value in zip(x, rows[0]):
        if np.isfinite(value):
            ax.annotate(chart.y.written(value), (place, max(value, 0)), xytext=(0, 3), textcoords="offset points",
                        ha="center", fontsize=9)


def _reference(ax, chart, mark, rows):
    y = rows[0, 0]
    if np.isfinite(y):
        ax.axhline(y, color=COLOURS[mark.role], linestyle=_STYLES.get(mark.role, "-"), linewidth=1.2, marker="")
        _said_at_the_end(ax, mark, y)


def _path(ax, chart, mark, rows):
    ax.plot(*rows, color=COLOURS[mark.role], linewidth=2.2, marker="")
    if mark.label and rows.size:
        ax.annotate(mark.label, rows[:, -1], xytext=(4, 4), textcoords="offset points", fontsize=9.5,
                    path_effects=_HALO)


def _spots(ax, chart, mark, rows):
    ax.plot(*rows, color=COLOURS[mark.role], marker=FORMS[mark.role] or "o", linestyle="",
            markersize=3 if mark.small else 8, markeredgecolor="none" if mark.small else "white")
    for x, y, name in zip(*rows, mark.names):
        if np.isfinite([x, y]).all():
            ax.annotate(name, (x, y), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9.5,
                        path_effects=_HALO)


def _map(ax, chart, mark, rows):
    low, high = (len(mark.rows) - 0.5, -0.5) if mark.rows else (chart.y.low, chart.y.high)
    cells = ax.imshow(rows, aspect="auto", cmap="Purples", vmin=mark.low, vmax=mark.high, interpolation="nearest",
                      extent=(chart.x.low, chart.x.high, low, high), zorder=0)
    if mark.rows:
        ax.set_yticks(range(len(mark.rows)), mark.rows)
        ax.set_ylim(low, high)
    ax.grid(False)
    written = FuncFormatter(lambda value, _: chart.y.written(value)) if mark.rows else None
    ax.figure.colorbar(cells, ax=ax, shrink=0.8, format=written)


def _image(ax, chart, mark, rows):
    fading = LinearSegmentedColormap.from_list(mark.name, [COLOURS[mark.role] + opaque for opaque in ("00", "FF")])
    ax.imshow(rows, aspect="auto", cmap=fading, vmin=mark.low, vmax=mark.high, interpolation="nearest",
              extent=mark.extent, zorder=3)
    ax.set(xlim=(chart.x.low, chart.x.high), ylim=(chart.y.low, chart.y.high))


def _letters(ax, mark, numbers, columns):
    """A text in a grid of letters, `columns` in a line."""
    text, values = rows_of(mark, numbers)
    lines = broken(text, columns)
    height = 72 * ax.figure.get_figheight() * ax.get_position().height / (1.7 * _LETTER)  # in lines
    size = min(1, height / max(len(lines), 1)) * _LETTER
    for column, row, place in [(place - line.start, row, place) for row, line in enumerate(lines) for place in line]:
        value = values[place] or 0
        ax.add_patch(Rectangle((column, row + 0.08), 1, 0.84, color=_tint(value), linewidth=0))
        ax.hlines(row + (0.92 if value > 0 else 0.08), column, column + 1, color=_end_of(value), alpha=abs(value),
                  linewidth=1.5)
        ax.text(column + 0.5, row + 0.5, text[place].replace("\n", "¶"), ha="center", va="center_baseline",
                family=_MONOSPACED, fontsize=size, parse_math=False)
    ax.set(xlim=(0, columns), ylim=(max(len(lines), height), 0))
    ax.set_axis_off()
    tints = ScalarMappable(Normalize(-1, 1), ListedColormap([_tint(value) for value in np.linspace(-1, 1, 64)]))
    scale = ax.figure.colorbar(tints, ax=ax, location="bottom", shrink=0.3, aspect=30, ticks=(-1, 1))
    scale.ax.set_xticklabels([_in_lines(f"{value}: {end}", _END) for value, end in zip(("−1", "1"), mark.ends)],
                             parse_math=False)


def _end_of(value):
    """The colour of the role that a value is nearer to."""
    return COLOURS["a" if value > 0 else "b"]


def _tint(value):
    """The colour behind a letter, on which ink can be read."""
    return 1 - _MOST * abs(value) * (1 - np.array(to_rgb(_end_of(value))))


def broken(text: str, columns: int) -> list[range]:
    """A text in lines of at most so many letters, as the places of their letters: broken behind its line ends and
    behind spaces, and a word that is too long anywhere."""
    lines, start = [], 0
    while start < len(text):
        ends = text.find("\n", start, start + columns) + 1
        if not ends and len(text) - start > columns:
            ends = text.rfind(" ", start, start + columns) + 1
        lines.append(range(start, ends or min(start + columns, len(text))))
        start = lines[-1].stop
    return lines


_DRAWN = {"line": _line, "band": _band, "points": _points, "bars": _bars, "reference": _reference, "path": _path,
          "spots": _spots, "map": _map, "image": _image}
