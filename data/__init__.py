"""Datasets as tensors, each of which says what it really is.

`load(name, split, **options)` returns the tensors, `source(name, **options)` only what they are: a cheap look that
reads no image.
"""
import inspect

from data import imported  # noqa: I001  first, since it remembers what is imported after it
from data import (altered, asked, cifar10, cifar100, fashion_mnist, kmnist, letters, medley, mnist, permuted_mnist,
                  rotated_mnist, sentences, small_mnist, speeches, spirals, split_cifar100, store, svhn)
from data.pinning import pinned
from data.types import Dataset, Source

_MODULES = {"altered": altered, "asked": asked, "cifar10": cifar10, "cifar100": cifar100,
            "fashion_mnist": fashion_mnist, "kmnist": kmnist, "letters": letters, "medley": medley, "mnist": mnist,
            "permuted_mnist": permuted_mnist, "rotated_mnist": rotated_mnist, "sentences": sentences,
            "small_mnist": small_mnist, "speeches": speeches, "spirals": spirals, "split_cifar100": split_cifar100,
            "svhn": svhn}
SPLITS = ("train", "test")


def names() -> list[str]:
    """The datasets that `load` knows."""
    return sorted(_MODULES)


def load(name: str, split: str, **options) -> Dataset:
    """Load one split of a dataset.

    Args:
        name: one of `names()`.
        split: "train" or "test".
        options: what the dataset takes, for example `angle=22.5` (degrees, counter-clockwise) for "rotated_mnist" and
            `splits=(0, 3)` for "split_cifar100".

    Returns:
        A Dataset with `x` (samples, …) in float32, `y` (samples,) in int64 and `source`, which says whether this is the
        real thing.

    Raises:
        ValueError: unknown name, split or option, or an option that makes no sense.
    """
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}: choose one of {', '.join(SPLITS)}")
    module = _module(name, options)
    with pinned():
        try:
            return module.load(split, **options)
        except OSError:
            if not store.look_again():
                raise
        return module.load(split, **options)  # the shared store went away while it was read


def source(name: str, **options) -> Source:
    """What `load(name, …, **options)` would give: the official files, a stand-in or generated points, and a digest of
    it.
    """
    return _module(name, options).source(**options)


def _module(name, options):
    if name not in _MODULES:
        raise ValueError(f"unknown dataset {name!r}: choose one of {', '.join(names())}")
    known = list(inspect.signature(_MODULES[name].source).parameters)
    for option in options:
        if option not in known:
            raise ValueError(f"dataset {name!r} has no option {option!r}; it takes: {', '.join(known) or 'none'}")
    return _MODULES[name]
