"""How sure a measured accuracy is: standard errors, and what a reading may say of a difference.

A share p of n independent images has the standard error √(p(1 − p)/n). Two networks are tried on the same images and
mostly fail on the same ones, so the error of their difference, taken here as if the images were others, is at most
this.

Some tasks show the same digits, turned or permuted. A mean over them is counted as if every task showed images of its
own, because sweeps keep means and no single answers. Counted by digits, the error of such a mean is larger, up to √T
times with T tasks. That of a difference of two means was at most one and a half times as large, and often smaller
(`test_what_tasks_share_makes_errors_of_means_larger_and_hardly_those_of_differences`).
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

APART = "as if every task showed images of its own"  # how bands of means over tasks are counted, for captions
WIDE = 2.0  # standard errors that a difference must have to be news: about 95 % of what chance alone gives lies within


def error_of_share(share: float, images: int) -> float:
    """The standard error of a share of so many images.

    Raises:
        ValueError: the share does not lie between 0 and 1, or there are no images.
    """
    if not 0 <= share <= 1 or images < 1:
        raise ValueError(f"a share lies between 0 and 1 and needs at least one image, not {share!r} of {images!r}")
    return math.sqrt(share * (1 - share) / images)


def reach(shares: Sequence[float], images: int) -> np.ndarray:
    """How far `WIDE` standard errors reach from every share of so many images, to either side; NaN where a share is.

    Raises:
        ValueError: as of `error_of_share`.
    """
    shares = np.asarray(shares, dtype=float)
    errors = [math.nan if math.isnan(share) else error_of_share(share, images) for share in shares.flat]
    return WIDE * np.reshape(errors, shares.shape)


def with_reach(shares: Sequence[float], images: int) -> np.ndarray:
    """(3, …): shares, and what lies `reach` below and above them, as points and bars with errors take them."""
    far = reach(shares, images)
    return np.stack([shares, shares - far, shares + far])


def error_of_difference(a: float, b: float, images: int) -> float:
    """The standard error of the difference of two shares, at most, if both are of the same images."""
    return math.hypot(error_of_share(a, images), error_of_share(b, images))


@dataclass(frozen=True)
class Difference:
    """A difference of two shares, such as accuracies, with its standard error. It is news where it is at least `WIDE`
    standard errors away from none.

    Printed in points: f"{lead:+.1f}" is "+1.3 ± 0.4".

    Attributes:
        value: by how much the first is more; a share of 1.
        error: the standard error of that.
    """
    value: float
    error: float

    @classmethod
    def of(cls, a: float, b: float, images: int) -> "Difference":
        """a − b, two shares of the same images; the error is at most this (`error_of_difference`)."""
        return cls(a - b, error_of_difference(a, b, images))

    @classmethod
    def paired(cls, a: Sequence[float], b: Sequence[float]) -> "Difference":
        """The mean of a − b over pairs, such as images or seeds, with the error that their spread gives.

        Raises:
            ValueError: there are fewer than two pairs, or a and b are not equally many.
        """
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        if a.shape != b.shape or a.size < 2:
            raise ValueError(f"a paired difference needs two or more pairs, not {a.shape} and {b.shape}")
        return cls(float((a - b).mean()), float((a - b).std(ddof=1) / math.sqrt(a.size)))

    @property
    def is_news(self) -> bool:
        """Whether it is more than chance alone would give."""
        return abs(self.value) >= WIDE * self.error

    def doubt(self) -> str:
        """The end of a sentence about it: "" if it is news."""
        return "" if self.is_news else ", which is within the noise"

    def agrees(self, least: float = 0.0) -> str:
        """As `told`."""
        return told(self.value, self.error, least)

    def __format__(self, spec: str) -> str:
        number = format(100 * self.value, spec or "+.1f").replace("-", "−")
        return f"{number} ± {format(100 * self.error, (spec or '.1f').lstrip('+'))}"


def told(apart: float, error: float, least: float = 0.0) -> str:
    """How a reading begins that says "this is more than that".

    Args:
        apart: by how much it is more.
        error: the standard error of that.
        least: by how much it must be more for the sentence to be right.

    Returns:
        "Agrees", "Does not agree here", or, within two standard errors, "Cannot be told here".
    """
    if abs(apart - least) < WIDE * error:
        return "Cannot be told here"
    return "Agrees" if apart > least else "Does not agree here"
