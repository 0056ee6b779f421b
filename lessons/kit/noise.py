"""How sure a measured accuracy is: standard errors, and what a reading may say of a difference.

A share p of n independent images has the standard error √(p(1 − p)/n). Two networks are tried on the same images and
mostly fail on the same ones, so the error of their difference, taken here as if the images were others, is at most
this.
"""
import math

WIDE = 2.0  # standard errors that a difference must have to be news: about 95 % of what chance alone gives lies within


def error_of_share(share: float, images: int) -> float:
    """The standard error of a share of so many images.

    Raises:
        ValueError: the share does not lie between 0 and 1, or there are no images.
    """
    if not 0 <= share <= 1 or images < 1:
        raise ValueError(f"a share lies between 0 and 1 and needs at least one image, not {share!r} of {images!r}")
    return math.sqrt(share * (1 - share) / images)


def error_of_difference(a: float, b: float, images: int) -> float:
    """The standard error of the difference of two shares, at most, if both are of the same images."""
    return math.hypot(error_of_share(a, images), error_of_share(b, images))


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
