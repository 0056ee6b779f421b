"""MNIST (LeCun, Cortes and Burges), 60,000 + 10,000 handwritten digits of 28×28 pixels, as torchvision lays its files
out.
"""
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

    These are the very files that were checked; torchvision's dataset would prefer an old `processed/*.pt` beside them.
    """
    from data.vision import torchvision
    idx = torchvision.datasets.mnist
    x = idx.read_image_file(store.path_of(images)).to(torch.float32).div_(255)
    return x, idx.read_label_file(store.path_of(labels))
