"""Permuted MNIST: MNIST, or Fashion-MNIST, with the same pixels of every image changing places in the same way
(Goodfellow et al. 2014).
"""
from functools import lru_cache

import torch

from data import fashion_mnist, mnist
from data.types import Dataset, Source, checked_share, checked_whole, digest

PIXELS = 28 * 28
OF = {"mnist": mnist, "fashion_mnist": fashion_mnist}


def source(of: str = "mnist", permutation: int = 0, share: float = 1.0, size: int | None = None) -> Source:
    """Where the images come from; what changes places, and how many images are taken, if not all, are part of the text
    and the digest.
    """
    origin, permutation, share, size = _checked(of, permutation, share, size)
    text = origin.text
    parts = []
    if permutation and share:
        text += f", {share:.0%} of the pixels permuted (no. {permutation})"
        parts += ["permutation", permutation, "share", share]
    if size is not None:
        text += f", first {size:,} training images"
        parts += ["size", size]
    return Source(origin.kind, text, digest(origin.digest, *parts), origin.reason) if parts else origin


def load(split: str, of: str = "mnist", permutation: int = 0, share: float = 1.0, size: int | None = None) -> Dataset:
    """Images x (samples, 28, 28) in [0, 1], their pixels permuted, and labels y (samples,).

    Args:
        split: "train" or "test".
        of: whose images, "mnist" or "fashion_mnist".
        permutation: the number of the permutation; 0 leaves the images as they are.
        share: of the 784 pixels that change places among themselves, from 0 to 1; a larger share moves those of a
            smaller one and more.
        size: only the first `size` training images, or None for all; the test part stays whole.

    Raises:
        ValueError: an option that makes no sense, or fewer images than `size`.
    """
    origin = source(of, permutation, share, size)
    x, y = _whole(of, split, OF[of].source().digest)
    if split == "train" and size is not None:
        size = checked_whole("size", size, 1, len(x))
        x, y = x[:size], y[:size]
    return Dataset(permuted(x, permutation, share), y.clone(), origin)  # the caller may change what it gets


@lru_cache(maxsize=4)  # a training part takes 188 MB to keep and a third of a second to read
def _whole(of, split, digest):
    plain = OF[of].load(split)
    return plain.x, plain.y


def permuted(x: torch.Tensor, permutation: int, share: float = 1.0) -> torch.Tensor:
    """A copy of images x (samples, 28, 28) in which round(share · 784) pixels have changed places."""
    order = torch.arange(PIXELS)
    if permutation:
        generator = torch.Generator().manual_seed(permutation)
        places = torch.randperm(PIXELS, generator=generator)[:round(share * PIXELS)]
        order[places] = places[torch.randperm(len(places), generator=generator)]
    return x.flatten(1)[:, order].view_as(x)


def _checked(of, permutation, share, size):
    if of not in OF:
        raise ValueError(f"of must be one of {', '.join(OF)}, not {of!r}")
    return (OF[of].source(), checked_whole("permutation", permutation, 0, 2 ** 31 - 1), checked_share("share", share),
            size if size is None else checked_whole("size", size, 1))
