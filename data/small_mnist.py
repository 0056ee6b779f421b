"""MNIST or Fashion-MNIST at 14×14 pixels, each the mean of a square of four: all images or a part of them, so that
hundreds of networks can be trained on it while someone reads.
"""
from functools import lru_cache

import torch
import torch.nn.functional as F

from data import fashion_mnist, mnist, rotated_mnist
from data.types import Dataset, Source, checked_angle, checked_whole, digest

OF = {"mnist": mnist, "fashion_mnist": fashion_mnist}
THIRDS = ("dark", "middle", "bright")


def source(of: str = "mnist", third: str | None = None, classes: tuple[int, ...] | None = None, angle: float = 0.0,
           first: int = 0, size: int | None = None) -> Source:
    """Where the images come from; whatever part of them is taken is in the text and the digest."""
    origin, third, classes, angle, first, size = _checked(of, third, classes, angle, first, size)
    text = f"{origin.text}, 14×14 pixels"
    if third:
        text += f", the {third} third"
    if classes:
        text += f", classes {', '.join(map(str, classes))}"
    if (first, size) != (0, None):
        text += f", images {first:,}–{first + size - 1:,}" if size else f", images from {first:,} on"
    if angle:
        text += f", turned by {angle:g}°"
    part = digest(origin.digest, "14x14", third, classes, angle, first, size)
    return Source(origin.kind, text, part, origin.reason)


def load(split: str, of: str = "mnist", third: str | None = None, classes: tuple[int, ...] | None = None,
         angle: float = 0.0, first: int = 0, size: int | None = None) -> Dataset:
    """Images x (samples, 14, 14) in [0, 1] and labels y (samples,) of one split.

    Args:
        split: "train" or "test".
        of: whose images, "mnist" or "fashion_mnist".
        third: "dark", "middle" or "bright": of the split's images, sorted by their mean brightness; None for all.
        classes: labels; only images of these are taken, before the thirds are made. None for all.
        angle: degrees by which all are turned, counter-clockwise, before they are made smaller.
        first: the number, from 0, of the first image of that part that is taken, in the file's order.
        size: how many are taken from there on; None for all.

    Raises:
        ValueError: an option that makes no sense, or there are not so many images.
    """
    origin = source(of, third, classes, angle, first, size)
    _, third, classes, angle, first, size = _checked(of, third, classes, angle, first, size)
    x, y = _whole(of, split, OF[of].source().digest)
    numbers = _chosen(x, y, third, classes)
    first = checked_whole("first", first, 0, len(numbers) - 1)
    end = first + checked_whole("size", len(numbers) - first if size is None else size, 1, len(numbers) - first)
    x = x[numbers[first:end]]
    if angle:
        x = rotated_mnist.rotate(x, angle)
    return Dataset(smaller(x), y[numbers[first:end]], origin)


def smaller(x: torch.Tensor) -> torch.Tensor:
    """Images (samples, 28, 28) with every square of four pixels averaged: (samples, 14, 14)."""
    return F.avg_pool2d(x[:, None], 2)[:, 0]


def _chosen(x, y, third, classes):
    """The numbers of the images that are taken, in the file's order."""
    numbers = torch.arange(len(y))
    if classes:
        numbers = numbers[torch.isin(y, torch.tensor(classes))]
    if third:
        brightness = (255 * x[numbers]).round().long().sum((1, 2))  # whole numbers: the same order on every processor
        order = brightness.argsort(stable=True)
        place = THIRDS.index(third)
        numbers = numbers[order[len(order) * place // 3:len(order) * (place + 1) // 3].sort().values]
    return numbers


@lru_cache(maxsize=4)  # a training part takes 188 MB to keep and a third of a second to read
def _whole(of, split, plain_digest):
    plain = OF[of].load(split)
    return plain.x, plain.y


def _checked(of, third, classes, angle, first, size):
    if of not in OF:
        raise ValueError(f"of must be one of {', '.join(OF)}, not {of!r}")
    if third not in (None, *THIRDS):
        raise ValueError(f"third must be one of {', '.join(THIRDS)}, or None for all images, not {third!r}")
    if classes is not None:
        if not isinstance(classes, (tuple, list)) or not classes or len(set(classes)) < len(classes):
            raise ValueError(f"classes must be a tuple of distinct labels, not {classes!r}")
        classes = tuple(sorted(checked_whole("each class", label, 0, 9) for label in classes))
    size = size if size is None else checked_whole("size", size, 1)
    return OF[of].source(), third, classes, checked_angle(angle), checked_whole("first", first, 0), size
