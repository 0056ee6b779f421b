"""Rotated MNIST: MNIST with every digit turned by the same angle (Mirzadeh et al. 2021; CTL, B.1.1)."""
from functools import lru_cache

import torch

from data import mnist
from data.types import Dataset, Source, checked_angle, digest

_CHUNK = 2000  # images rotated at once: the grid of 60,000 would need gigabytes


def source(angle: float = 0.0) -> Source:
    """Where the digits come from; the angle, in degrees, is part of the text and the digest."""
    angle = checked_angle(angle)
    found = mnist.source()
    if angle == 0:
        return found
    return Source(found.kind, f"{found.text}, turned by {angle:g}°", digest(found.digest, angle), found.reason)


def load(split: str, angle: float = 0.0) -> Dataset:
    """Images x (samples, 28, 28) turned by `angle` degrees counter-clockwise about their centre, bilinear, black outside; labels y.

    Raises:
        ValueError: the angle is not a finite number.
    """
    angle = checked_angle(angle)
    found = source(angle)
    x, y = _rotated(split, angle, found.digest)
    return Dataset(x.clone(), y.clone(), found)  # the caller may change what it gets


@lru_cache(maxsize=4)  # a turned training set takes 0.6–1.2 s to compute and 188 MB to keep
def _rotated(split, angle, _digest):
    if not angle:
        plain = mnist.load(split)
        return plain.x, plain.y
    x, y = _rotated(split, 0.0, mnist.source().digest)
    return rotate(x, angle), y


def rotate(x: torch.Tensor, angle: float) -> torch.Tensor:
    """Turn images x (samples, height, width) by `angle` degrees counter-clockwise, bilinear, black outside."""
    from data.vision import torchvision
    from torchvision.transforms.v2 import functional
    bilinear = torchvision.transforms.InterpolationMode.BILINEAR
    return torch.cat([functional.rotate(chunk[:, None], checked_angle(angle), interpolation=bilinear)[:, 0] for chunk in x.split(_CHUNK)])
