"""MNIST (LeCun, Cortes and Burges), 60,000 + 10,000 handwritten digits of 28×28 pixels, as torchvision lays its files
out.
"""
import math

import numpy as np
import torch

from data import digits, store
from data.types import Dataset, Source

_HOSTS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")


def _file(name, size, md5, archive_md5):
    return store.RemoteFile(f"MNIST/raw/{name}", size, md5, archive_md5, tuple(f"{host}{name}.gz" for host in _HOSTS))


FILES = {
    "train": (_file("train-images-idx3-ubyte", 47_040_016,
                    "6bbc9ace898e44ae57da46a324031adb", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
              _file("train-labels-idx1-ubyte", 60_008,
                    "a25bea736e30d166cdddb491f175f624", "d53e105ee54ea40749a09fcbcd1e9432")),
    "test": (_file("t10k-images-idx3-ubyte", 7_840_016,
                   "2646ac647ad5339dbf082846283269ea", "9fb629c4189551a2d022fa330f9573f3"),
             _file("t10k-labels-idx1-ubyte", 10_008,
                   "27ae3e4e09519cfbb04c329615203637", "ec29112dd5afa0611ce80d1b7f02629c")),
}


def source() -> Source:
    """The official files, fetched if need be; the digits stand-in, with the reason, where they cannot be had."""
    return store.official("MNIST", FILES, digits.source)


def load(split: str) -> Dataset:
    """Images x (samples, 28, 28) in [0, 1] and labels y (samples,) of one split."""
    origin = source()
    if origin.is_stand_in:
        return digits.load(split, origin)
    return Dataset(*read(*FILES[split]), origin)


def read(images: store.RemoteFile, labels: store.RemoteFile) -> tuple[torch.Tensor, torch.Tensor]:
    """Images x (samples, 28, 28) in [0, 1] and labels y (samples,) from two files of the data folder in MNIST's format.

    These are the very files that were checked. torchvision's reader gives the same tensors, and takes 80 MB of memory
    in every kernel that imports it.
    """
    return (torch.from_numpy(_idx(images, 3)).to(torch.float32).div_(255),
            torch.from_numpy(_idx(labels, 1)).to(torch.int64))


def _idx(file, axes):
    """The bytes of a file in MNIST's format IDX: two zeros, 8 for bytes, how many axes, the length of each as a 32-bit
    number, its most significant byte first, and then the values.

    Raises:
        ValueError: it is none; names it.
    """
    with open(store.path_of(file), "rb") as opened:
        content = np.fromfile(opened, dtype=np.uint8)
    start = 4 + 4 * axes
    shape = content[4:start].view(">i4") if len(content) >= start else ()
    if content[:4].tolist() != [0, 0, 8, axes] or len(content) != start + math.prod(map(int, shape)):
        raise ValueError(f"{file.path} does not hold bytes along {axes} axes in the format IDX. Delete it from the "
                         "data folder, so that it is fetched again.")
    return content[start:].reshape(shape)
