"""Split CIFAR-100: the 100 classes of CIFAR-100 cut into 20 splits of 5 consecutive classes (Mirzadeh et al. 2021; CTL,
B.1.1).
"""
from data import cifar100
from data.cifar100 import class_names, unnormalise  # noqa: F401  what a learner looks at, under the dataset's name
from data.types import Dataset, Source, checked_whole

SPLITS, CLASSES_PER_SPLIT = 20, 5


def source(splits=(0,), size: int | None = None) -> Source:
    """Where the images come from; the splits and the size are part of the text and the digest, the order of the splits
    is not.
    """
    splits = checked(splits)
    return cifar100.part_of(cifar100.found(), _named(splits), size, CLASSES_PER_SPLIT * len(splits))


def load(split: str, splits=(0,), size: int | None = None) -> Dataset:
    """Images x (samples, 3, 32, 32), normalised per channel, and labels y (samples,) in 0..99, in the file's order.

    Args:
        split: "train" (500 images a class) or "test" (100).
        splits: a tuple or list of distinct whole numbers from 0 to 19; split s has the classes 5s to 5s + 4.
        size: only the first `size` images, or None for all.

    Raises:
        ValueError: anything else, or fewer images than `size`; names the value.
    """
    where = source(splits, size)
    classes = [CLASSES_PER_SPLIT * s + c for s in checked(splits) for c in range(CLASSES_PER_SPLIT)]
    return Dataset(*cifar100.read(split, classes, size, where), where)


def checked(splits) -> tuple[int, ...]:
    """The splits, in ascending order.

    Raises:
        ValueError: not a tuple or list of distinct whole numbers from 0 to 19.
    """
    try:
        if isinstance(splits, (tuple, list)) and 0 < len(splits) == len(set(splits)):
            return tuple(sorted(checked_whole("each split", s, 0, SPLITS - 1) for s in splits))
    except (TypeError, ValueError):  # TypeError: something in it cannot even be compared
        pass
    raise ValueError(f"splits must be a tuple of distinct whole numbers from 0 to {SPLITS - 1}, for example (0,) or "
                     f"(0, 3), not {splits!r}")


def _named(splits):
    """(0, 5, 6, 7, 8) -> "splits 0, 5–8"."""
    runs = []
    for s in splits:
        if runs and s == runs[-1][1] + 1:
            runs[-1][1] = s
        else:
            runs.append([s, s])
    return f"split{'s' * (len(splits) > 1)} " + ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in runs)
