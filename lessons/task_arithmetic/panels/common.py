"""What the pictures of chapter 4 share."""
from lessons.kit.plotting import GREY
from lessons.task_arithmetic.experiment.mlp import ANGLES

CHANCE = 0.1
TASK_NAMES = ["pre-\ntraining", *(f"{angle:g}°" for angle in ANGLES)]


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
