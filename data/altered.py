"""Eight tasks that a network of upright digits and clothes half knows: MNIST and Fashion-MNIST, turned, negative, in
noise, behind stripes.

Everything is exact arithmetic on the images as they are, so the same bits come out on every processor.
"""
from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from data import fashion_mnist, mnist
from data.types import Dataset, Source, checked_whole, digest

OF = {"mnist": mnist, "fashion_mnist": fashion_mnist}
OTHER = {"mnist": "fashion_mnist", "fashion_mnist": "mnist"}
CLASSES = 10  # of each; the labels of clothes come behind those of digits
STRIPE = 4  # rows in a stripe
_NOISE_SEED = {"train": 28_001, "test": 28_002}


def outputs(of: str) -> tuple[int, int]:
    """The first label of these images, and the one behind the last."""
    first = CLASSES * (of == "fashion_mnist")
    return first, first + CLASSES


def source(of: str = "mnist", change: str = "none", size: int | None = None) -> Source:
    """Where the images come from; what was done to them, and how many are taken, are part of the text and the
    digest."""
    of, change, size = _checked(of, change, size)
    origin = OF[of].source()
    text = origin.text
    parts = [origin.digest, "altered", change, "size", size]
    if change != "none":
        text += f", {change}"
    if size is not None:
        text += f", first {size:,} training images"
    kind, reason = origin.kind, origin.reason
    if change == "on others":
        other = OF[OTHER[of]].source()
        parts.append(other.digest)
        if other.is_stand_in:
            kind, reason = other.kind, other.reason
    return Source(kind, text, digest(*parts), reason)


def load(split: str, of: str = "mnist", change: str = "none", size: int | None = None) -> Dataset:
    """Images x (samples, 28, 28) in [0, 1], and labels y (samples,): 0 to 9 of digits, 10 to 19 of clothes.

    Args:
        split: "train" or "test".
        of: whose images, "mnist" or "fashion_mnist".
        change: one of `CHANGES`.
        size: the first so many training images, or all where there are fewer; None for all. The test part stays whole.

    Raises:
        ValueError: an option that makes no sense.
    """
    origin = source(of, change, size)
    x, y = _whole(of, split, OF[of].source().digest)
    if split == "train" and size is not None:
        x, y = x[:size], y[:size]
    return Dataset(CHANGES[change](x, of, split), y + outputs(of)[0], origin)


def _on_the_other(x, kind, split):
    other, _ = _whole(OTHER[kind], split, OF[OTHER[kind]].source().digest)
    return (x - other[torch.arange(len(x)) % len(other)]).abs()


def _in_noise(x, kind, split):
    """Half the image, half noise of 256 grey levels; the noise of the first images is the same for any number."""
    generator = torch.Generator().manual_seed(_NOISE_SEED[split])
    noise = torch.randint(256, x.shape, generator=generator)
    return (x + noise.to(torch.float32) / 255) / 2


def _striped(x, kind, split):
    stripes = (torch.arange(x.shape[1]) // STRIPE % 2).to(torch.float32)
    return (x - stripes[:, None]).abs()


CHANGES: dict[str, Callable[[Tensor, str, str], Tensor]] = {
    "none": lambda x, of, split: x.clone(),  # the caller may change what it gets
    "turned by 90°": lambda x, of, split: torch.rot90(x, 1, (1, 2)).contiguous(),
    "negative": lambda x, of, split: 1 - x,
    "upside down": lambda x, of, split: torch.rot90(x, 2, (1, 2)).contiguous(),
    "on others": _on_the_other,  # absolute difference: digits on clothes, clothes on digits
    "in noise": _in_noise,
    "striped": _striped,  # every second stripe of rows is negative
}


@lru_cache(maxsize=4)  # a training part takes 188 MB to keep and a third of a second to read
def _whole(of, split, plain_digest):
    plain = OF[of].load(split)
    return plain.x, plain.y


def _checked(of, change, size):
    if of not in OF:
        raise ValueError(f"of must be one of {', '.join(OF)}, not {of!r}")
    if change not in CHANGES:
        raise ValueError(f"change must be one of {', '.join(CHANGES)}, not {change!r}")
    return of, change, size if size is None else checked_whole("size", size, 1)
