"""What several chapters draw in still pictures: images side by side, arrows, the two arms of Spirals, accuracies."""
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from lessons.kit import plotting
from lessons.kit.noise import with_reach
from lessons.kit.page import half_up
from lessons.kit.plotting import BLACK, GREY, themed
from lessons.kit.view.printed import COLOURS

ARMS = ((COLOURS["class1"], "o"), (COLOURS["class2"], "s"))  # colour and marker of each arm


def bare(ax: Axes, **settings) -> None:
    """Axes for a picture: without ticks, grid and frame; settings: of `Axes.set`."""
    ax.set(xticks=[], yticks=[], **settings)
    ax.grid(False)
    ax.spines[:].set_visible(False)


def images(ax: Axes, pictures, title: str = "", cmap: str = "gray_r", **settings) -> None:
    """Draw images side by side.

    Args:
        ax: the axes.
        pictures: (count, height, width) tensor or array, from 0 to 1.
        title: above them.
        cmap: a map of matplotlib's; by the usual one, 1 is black.
        settings: of `Axes.set`.
    """
    pictures = np.asarray(pictures)
    count, height, width = pictures.shape
    row = pictures.swapaxes(0, 1).reshape(height, count * width)
    ax.imshow(row, cmap=cmap, vmin=0, vmax=1)
    bare(ax, **settings)
    if title:
        ax.set_title(title, fontsize=10.5)


def arrow(ax: Axes, start: Sequence[float], end: Sequence[float], colour: str = GREY, **look) -> None:
    """Draw an arrow from one point to another; look: of matplotlib's `arrowprops`, such as linestyle and shrinkB."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0,
                                            "color": colour, **look})


def arms(ax: Axes, x: Tensor, y: Tensor, extent: float, every: int = 1, colours: Sequence[str] = (),
         size: float = 3.5) -> None:
    """Draw points of the two arms of Spirals, and show the plane around them.

    Args:
        ax: the axes.
        x: (samples, 2).
        y: (samples,), 0 or 1.
        extent: of the plane that is shown, to each side of the origin.
        every: 4 draws every fourth point of each arm.
        colours: of both arms, if not the course's.
        size: of the markers, in points.
    """
    for arm, (colour, marker) in enumerate(ARMS):
        ax.plot(*x[y == arm][::every].T.numpy(), color=colours[arm] if colours else colour, marker=marker, linestyle="",
                markersize=size)
    bare(ax, aspect="equal", xlim=(-extent, extent), ylim=(-extent, extent))


@themed
def accuracies(scores: Mapping[str, float], images: int, colours: Mapping[str, str] = MappingProxyType({}),
               title: str = "Accuracy", chance: float | None = None, asked: str = "test images"):
    """Accuracies as bars with their values and two standard errors.

    Args:
        scores: {what was tried: accuracy}, from above.
        images: on how many each was tried.
        colours: {what was tried: colour}; the others are grey.
        title: above the bars.
        chance: the accuracy of guessing, which is dotted; left out, there is no such line.
        asked: which images, for the caption.
    """
    names, values = list(scores), np.array(list(scores.values()), dtype=float)
    middle, low, high = with_reach(values, images)
    fig, ax = plotting.figure(height=0.42 * len(scores) + 0.9, width=7.6)
    ax.barh(names, values, xerr=(middle - low, high - middle), height=0.6, ecolor=BLACK,
            color=[colours.get(name, GREY) for name in names])
    for place, (value, end) in enumerate(zip(values, high)):
        ax.annotate(f"{half_up(value):.1%}", (end, place), xytext=(4, 0), textcoords="offset points", va="center",
                    fontsize=9.5)
    if chance is not None:
        ax.axvline(chance, color=GREY, linestyle=":", marker="")
    ax.set(xlim=(0, high.max() + 0.12), title=title)
    ax.invert_yaxis()
    plotting.in_percent(ax.xaxis)
    ax.grid(axis="y", visible=False)
    told = "; ".join(f"{name}: {half_up(value):.1%}" for name, value in zip(names, values))
    below = f"On {images:,} {asked}. Black lines: two standard errors." + (" Dotted: guessing." if chance else "")
    return plotting.show(fig, f"{title}. {told}.", below)
