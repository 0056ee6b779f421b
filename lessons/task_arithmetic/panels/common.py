"""What the pictures of chapter 4 share."""
from lessons.task_arithmetic.experiment.mlp import ANGLES

ACCURACY = "accuracy: share correct"
CHANCE = 0.1
TASK_NAMES = ["pre-\ntraining", *(f"{angle:g}°" for angle in ANGLES)]


def agrees(holds: bool) -> str:
    """How a reading of one of the source's figures begins."""
    return "Agrees" if holds else "Does not agree here"


def at_least(share: float) -> str:
    """A share in words."""
    return "all" if share == 1 else f"at least {share:.0%}"


def ordered(names) -> list:
    """The pair that the notebook speaks of first."""
    return sorted(names, key=lambda name: name != "22.5° and 90°")
