"""What the pictures of chapter 4 share."""
from lessons.task_arithmetic.experiment.mlp import ANGLES

ACCURACY = "accuracy: share correct"
CHANCE = 0.1
TASK_NAMES = ["pre-\ntraining", *(f"{angle:g}°" for angle in ANGLES)]


def empty_titles(axes) -> list:
    """An empty title above each of the axes that a panel writes anew whenever it draws."""
    return [ax.text(0, 1.03, "", transform=ax.transAxes, fontweight="bold", animated=True) for ax in axes]


def agrees(holds: bool) -> str:
    """How a reading of one of the source's figures begins."""
    return "Agrees" if holds else "Does not agree here"


def at_least(share: float) -> str:
    """A share in words."""
    return "all" if share == 1 else f"at least {share:.0%}"


def ordered(names) -> list:
    """The pair that the notebook speaks of first."""
    return sorted(names, key=lambda name: name != "22.5° and 90°")
