"""What the chapter's pictures share: names of methods, and how sure a share is."""
import numpy as np
import xarray

from lessons.kit.noise import reach
from lessons.merging import methods


def title_of(method: str) -> str:
    """What papers call a method, in short."""
    return methods()[method].short


def inside(method: str) -> str:
    """The same inside a sentence."""
    title = title_of(method)
    return title.lower() if method in ("average", "task_arithmetic") else title


SEVERAL = "several data sets"
_IN_SHORT = {"MNIST, Fashion-MNIST and permuted copies": SEVERAL}  # what a suite is called: its name in tables


def suite_of(sweep: xarray.Dataset) -> str:
    """What the tables call a sweep's suite."""
    return _IN_SHORT.get(sweep.attrs["suite"], sweep.attrs["suite"])


def with_reach(shares, own: xarray.DataArray, images: int) -> np.ndarray:
    """(3, …): mean accuracies as shares of the own networks', and what lies two standard errors below and above them.

    Args:
        own: of every task's own network.
        images: of all tasks together.
    """
    shares, mean = np.asarray(shares, dtype=float), own.mean().item()
    far = reach(np.clip(shares * mean, 0, 1), images) / mean
    return np.stack([shares, shares - far, shares + far])
