"""Rotated MNIST: MNIST with every digit turned by the same angle (Mirzadeh et al. 2021; CTL, B.1.1)."""
import math
from functools import lru_cache

import torch

from data import mnist, resampling
from data.types import Dataset, Source, checked_angle, checked_share, checked_whole, digest

_CHUNK = 250  # images rotated at once: what fits a processor's cache is fastest
_SHUFFLE_SEED = 60_000  # of which labels change places; a constant, since the option alone must say what the labels are


def source(angle: float = 0.0, first: int = 0, size: int | None = None, shuffled: float = 0.0) -> Source:
    """Where the digits come from; the angle, in degrees, the choice of images, if not all, and the share of shuffled
    labels, if any, are part of the text and the digest.
    """
    origin = _upright_or_turned(*_checked(angle, first, size))
    if shuffled := checked_share("shuffled", shuffled):
        text = f"{origin.text}, {shuffled:.0%} of the training labels shuffled"
        return Source(origin.kind, text, digest(origin.digest, "shuffled", shuffled), origin.reason)
    return origin


def _upright_or_turned(angle, first, size):
    origin = mnist.source()
    if (first, size) != (0, None):
        text = f"images {first:,}–{first + size - 1:,}" if size else f"images from {first:,} on"
        part = digest(origin.digest, "first", first, "size", size)
        origin = Source(origin.kind, f"{origin.text}, {text}", part, origin.reason)
    if angle == 0:
        return origin
    return Source(origin.kind, f"{origin.text}, turned by {angle:g}°", digest(origin.digest, angle), origin.reason)


def load(split: str, angle: float = 0.0, first: int = 0, size: int | None = None, shuffled: float = 0.0) -> Dataset:
    """Images x (samples, 28, 28) turned by `angle` degrees counter-clockwise about their centre, bilinear, black
    outside; labels y.

    Args:
        split: "train" or "test".
        angle: in degrees.
        first: the number, from 0, of the first image of this split that is taken.
        size: how many are taken from there on; None for all.
        shuffled: the share of the training labels, from 0 to 1, that are dealt out anew among the images that had them,
            always in the same way; about one in ten of them comes out right by chance. Test labels stay.

    Raises:
        ValueError: the angle is not a finite number; first or size is not a whole number, or there are not so many
            images; shuffled is not a share.
    """
    origin = source(angle, first, size, shuffled)
    angle, first, size = _checked(angle, first, size)
    plain = mnist.source().digest
    upright = (angle, first, size) == (0, 0, None)
    # test images take a tenth of a second to turn, and lessons that hold all of them need no second copy in memory
    turned = _turned if split == "train" else _turned.__wrapped__
    x, y = _upright(split, plain) if upright else turned(split, angle, first, size, plain)
    y = _shuffled(y, shuffled if split == "train" else 0)
    return Dataset(x.clone(), y, origin)  # the caller may change what it gets


def _shuffled(y, share):
    """A copy in which round(share · labels) labels have changed places; a larger share shuffles those of a smaller one
    and more.
    """
    generator = torch.Generator().manual_seed(_SHUFFLE_SEED)
    y = y.clone()
    places = torch.randperm(len(y), generator=generator)[:round(share * len(y))]
    y[places] = y[places[torch.randperm(len(places), generator=generator)]]
    return y


def _checked(angle, first, size):
    size = size if size is None else checked_whole("size", size, 1)
    return checked_angle(angle), checked_whole("first", first, 0), size


@lru_cache(maxsize=2)
def _upright(split, plain_digest):
    plain = mnist.load(split)
    return plain.x, plain.y


@lru_cache(maxsize=4)  # a turned training set takes 0.6–1.2 s to compute and 188 MB to keep
def _turned(split, angle, first, size, plain_digest):
    x, y = _upright(split, plain_digest)
    first = checked_whole("first", first, 0, len(x) - 1)
    end = first + checked_whole("size", len(x) - first if size is None else size, 1, len(x) - first)
    return rotate(x[first:end], angle) if angle else x[first:end], y[first:end]


def rotate(x: torch.Tensor, angle: float) -> torch.Tensor:
    """Turn images x (samples, height, width) by `angle` degrees counter-clockwise, bilinear, black outside."""
    turn = math.radians(checked_angle(angle))
    cos, sin = math.cos(turn), math.sin(turn)
    height, width = x.shape[1:]
    below = (torch.arange(height, dtype=torch.float64) - (height - 1) / 2)[:, None]
    right = torch.arange(width, dtype=torch.float64) - (width - 1) / 2
    rows = right * sin + below * cos + (height - 1) / 2
    columns = right * cos - below * sin + (width - 1) / 2
    return torch.cat([resampling.bilinear(chunk, rows, columns) for chunk in x.split(_CHUNK)])
