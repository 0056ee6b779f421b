"""CIFAR-10 (Krizhevsky 2009), 50,000 + 10,000 colour photographs of 32×32 pixels in ten classes, from its official
binary version: a label byte and 3072 pixels an image, the red, the green, the blue plane. Nothing is unpickled.

The digest of the archive is published, those of its members are not: so images are read from the archive itself.
"""
import tarfile

import numpy as np
import torch

from data import drawn, store
from data.types import Dataset, Source, checked_whole, digest

ARCHIVE = store.RemoteFile("cifar-10-binary.tar.gz", 170_052_171, "c32a1d4ab5d03f1284b67883e8d87530", "",
                           ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",))
FILES = {"train": (ARCHIVE,), "test": (ARCHIVE,)}
MEMBERS = {"train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)), "test": ("test_batch.bin",)}
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ROW = 1 + 3 * 32 * 32  # bytes an image
_DRAWN = tuple(range(1, 100, 10))  # labels of the drawn stand-in: striped shapes, every second one


def source(size: int | None = None) -> Source:
    """The official archive, fetched if need be; drawn shapes, with the reason, where it cannot be had.

    Raises:
        ValueError: `size` is neither None nor a whole number of at least 1.
    """
    origin = store.official("CIFAR-10", {"archive": (ARCHIVE,)}, _stand_in)
    if size is None:
        return origin
    size = checked_whole("size", size, 1)
    return Source(origin.kind, f"{origin.text}, first {size:,} images", digest(origin.digest, size), origin.reason)


def _stand_in(reason):
    version = digest(drawn.source("").digest, "colour", 1, _DRAWN)
    return Source("stand-in", "stand-in for CIFAR-10: drawn striped shapes", version, reason)


def load(split: str, size: int | None = None) -> Dataset:
    """Images x (samples, 3, 32, 32) in [0, 1] and labels y (samples,) of one split, in the files' order.

    Args:
        split: "train" or "test".
        size: only the first `size` images, or None for all. The whole training part takes 614 MB.
    """
    origin = source(size)
    if origin.is_stand_in:
        pixels, labels = drawn.pixels(split, _DRAWN, size)
        y = labels // 10
    else:
        pixels, y = read(split, size)
    return Dataset(pixels.to(torch.float32).div_(255), y.to(torch.int64), origin)


def read(split: str, size: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels (samples, 3, 32, 32) in uint8 and labels (samples,) from the archive, read as a stream: nothing of it is
    written to the disk."""
    parts = {}
    with tarfile.open(store.path_of(ARCHIVE), "r|*") as tar:
        for member in tar:
            name = member.name.rpartition("/")[2]
            if name in MEMBERS[split] and member.isfile():
                packed = tar.extractfile(member)
                assert packed is not None, "of a file there is one"
                parts[name] = np.frombuffer(packed.read(), np.uint8).reshape(-1, ROW)
    rows = np.concatenate([parts[name] for name in MEMBERS[split]])[:size]
    return torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).copy()), torch.from_numpy(rows[:, 0].astype(np.int64))
