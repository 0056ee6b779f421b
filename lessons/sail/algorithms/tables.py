"""Reading a table of percentages: how many questions it can be about, and which differences are news."""
import math
from collections.abc import Sequence


def fits(percentages: Sequence[float], questions: int, digits: int = 2) -> int:
    """How many of the printed percentages are a whole number of right answers out of so many questions, rounded to so
    many digits.

    Raises:
        ValueError: there are no questions.
    """
    if questions < 1:
        raise ValueError(f"there must be at least one question, not {questions!r}")
    fitting = 0
    for percentage in percentages:
        right = round(percentage * questions / 100)
        fitting += abs(100 * right / questions - percentage) <= 0.5 * 10 ** -digits + 1e-9
    return fitting


def smallest_fitting(percentages: Sequence[float], digits: int = 2, most: int = 2000) -> int | None:
    """The smallest number of questions that all percentages fit; None if there is none up to `most`."""
    for questions in range(1, most + 1):
        if fits(percentages, questions, digits) == len(percentages):
            return questions
    return None


def error_of_percentages(a: float, b: float, questions: int) -> float:
    """The standard error of the difference of two percentages, both of so many questions, in percentage points: of two
    models whose mistakes have nothing to do with each other.

    Raises:
        ValueError: there are no questions, or a percentage lies outside 0 to 100.
    """
    if questions < 1 or not all(0 <= p <= 100 for p in (a, b)):
        raise ValueError(f"percentages lie between 0 and 100 and need at least one question, not {a}, {b} of "
                         f"{questions}")
    return math.sqrt((a * (100 - a) + b * (100 - b)) / questions)


# SAIL, Table 2: accuracy in per cent
TABLE_2 = {"PIQA": {"scratch": 51.96, "LiGO": 52.29, "uniform soup": 54.80, "greedy soup": 57.73, "SAIL": 61.92},
           "HellaSwag": {"scratch": 24.87, "LiGO": 25.33, "uniform soup": 25.25, "greedy soup": 27.65, "SAIL": 34.48},
           "Winogrande": {"scratch": 51.14, "LiGO": 50.20, "uniform soup": 50.51, "greedy soup": 52.09, "SAIL": 52.96},
           "SciQ": {"scratch": 22.10, "LiGO": 23.90, "uniform soup": 51.90, "greedy soup": 59.70, "SAIL": 70.30},
           "ARC-Easy": {"scratch": 27.54, "LiGO": 29.65, "uniform soup": 27.19, "greedy soup": 34.91, "SAIL": 42.63},
           "COPA": {"scratch": 58.00, "LiGO": 55.00, "uniform soup": 57.00, "greedy soup": 51.00, "SAIL": 63.00}}
# OLMo-1B (Groeneveld et al. 2024) at the end of its training, as its maker reports it: accuracy in per cent
FINISHED = {"PIQA": 73.7, "HellaSwag": 62.5, "Winogrande": 58.9, "SciQ": 88.1, "ARC-Easy": 58.1}
SAID = {"PIQA": 1500, "HellaSwag": 10_000, "Winogrande": 8000, "SciQ": 1384, "ARC-Easy": 1366, "COPA": 500}  # I.2
CHANCE = {"PIQA": 50, "HellaSwag": 25, "Winogrande": 50, "SciQ": 25, "ARC-Easy": 25, "COPA": 50}
