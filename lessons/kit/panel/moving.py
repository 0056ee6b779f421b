"""What moves in a panel's figure, by name: a curve, an upright line where the slider stands, a level, bars, a cloud of
points.

Each is marked as animated, so that a slider's step draws it alone and not the whole figure.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lessons.kit.plotting import BLACK, moving_titles

__all__ = ["Bars", "Look", "cloud", "curve", "here", "level", "moving_titles"]


@dataclass(frozen=True)
class Look:
    """How a series looks in every figure of a chapter; colour and marker both, so that no meaning hangs on colour
    alone."""
    colour: str
    marker: str = ""
    line: str = "-"


def curve(ax, look: Look, label: str | None = None, **options):
    """A line with markers; move it by `set_data(x, y)`."""
    style = {"color": look.colour, "marker": look.marker, "linestyle": look.line, "label": label} | options
    return ax.plot([], [], animated=True, **style)[0]


def cloud(ax, look: Look, label: str | None = None, **options):
    """Points without a line; move them by `set_data(x, y)`."""
    return curve(ax, Look(look.colour, look.marker, ""), label, **options)


def here(ax, at: float = 0.5, **options):
    """The upright line where the slider stands; move it by `set_xdata([x, x])`."""
    style = {"color": BLACK, "linewidth": 1, "marker": ""} | options
    return ax.axvline(at, animated=True, **style)


def level(ax, look: Look, label: str | None = None, **options):
    """A horizontal line; move it by `set_ydata([y, y])`."""
    style = {"color": look.colour, "linestyle": look.line, "linewidth": 1.4, "marker": "", "label": label} | options
    return ax.axhline(0.5, animated=True, **style)


class Bars:
    """Bars that stand on zero, with their values written above them or, where they go down, above zero; `set_values`
    moves them."""

    def __init__(self, ax, places: Sequence[float], colour: str, written: Callable[[float], str] | None = None,
                 width: float = 13, fontsize: float = 9):
        """written: value -> text above the bar; None writes nothing. width: of a bar, in points."""
        style = {"color": colour, "linewidth": width, "solid_capstyle": "butt", "marker": "", "animated": True}
        self._bars = [ax.plot([place, place], [0, 0], **style)[0] for place in places]
        self._written = written
        above = {"ha": "center", "va": "bottom", "fontsize": fontsize, "animated": True}
        self._texts = [ax.text(place, 0, "", **above) for place in places] if written else []

    def set_values(self, values: Sequence[float], colours: Sequence[str] = ()) -> None:
        """One value a place, and, where bars change it, one colour."""
        for bar, value in zip(self._bars, values):
            bar.set_ydata([0, value])
        for bar, colour in zip(self._bars, colours):
            bar.set_color(colour)
        for text, value in zip(self._texts, values):
            text.set(y=0 if value < 0 else value, text=self._written(value))
