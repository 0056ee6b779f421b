"""What the pictures of chapter 4 share."""
import numpy as np
import xarray

from lessons.kit import noise
from lessons.kit.plotting import GREY
from lessons.kit.sweep import caption
from lessons.kit.view import Axis

CHANCE = 0.1
OF_LAM = Axis("λ", 0, 1, ticks={0: "0", 0.2: "0.2", 0.4: "0.4", 0.6: "0.6", 0.8: "0.8", 1: "1"})


def with_error(sweep: xarray.Dataset) -> str:
    """The caption, and how sure an accuracy on one task is."""
    error = noise.error_of_share(0.5, int(sweep.attrs["test_images"]))
    sure = f"The standard error of an accuracy is at most {100 * error:.1f} points"
    return f"{caption(sweep)} {sure}; chance is {CHANCE:g}."


def only(values: np.ndarray, places: list[int]) -> np.ndarray:
    """Those at some places; the others are NaN."""
    return np.where(np.isin(np.arange(len(values)), places), values, np.nan)


def at_least(share: float) -> str:
    """A share in words."""
    return "all" if share == 1 else f"at least {share:.0%}"


def ordered(names) -> dict[str, str]:
    """A menu's {text: value}; the pair that the notebook speaks of first."""
    return {name: name for name in sorted(names, key=lambda name: name != "22.5° and 90°")}


def dotted(ax, height: float = CHANCE) -> None:
    """The line of chance, or of what is expected."""
    ax.axhline(height, color=GREY, linestyle=":", linewidth=1, marker="")


def grid(coordinate) -> list[float]:
    """The positions of a slider, from a sweep's coordinate."""
    return list(map(float, coordinate.values))
