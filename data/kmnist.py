"""Kuzushiji-MNIST (Clanuwat et al. 2018), 60,000 + 10,000 cursive Japanese characters of 28×28 pixels in ten classes;
CC BY-SA 4.0. Its files stay gzipped, since digests are published of the archives alone.
"""
import gzip

import numpy as np
import torch

from data import drawn, store
from data.types import Dataset, Source, digest

_HOST = "https://codh.rois.ac.jp/kmnist/dataset/kmnist/"
NOT_PUBLISHED = 0  # bytes: the digest alone tells


def _file(name, md5):
    return store.RemoteFile(f"KMNIST/raw/{name}.gz", NOT_PUBLISHED, md5, "", (f"{_HOST}{name}.gz",))


FILES = {
    "train": (_file("train-images-idx3-ubyte", "bdb82020997e1d708af4cf47b453dcf7"),
              _file("train-labels-idx1-ubyte", "e144d726b3acfaa3e44228e80efcd344")),
    "test": (_file("t10k-images-idx3-ubyte", "5c965bf0a639b31b8f53240b1b52f4d7"),
             _file("t10k-labels-idx1-ubyte", "7320c461ea6c1c855c0b718fb2a4b134")),
}
CLASSES = tuple("おきすつなはまやれを")
_DRAWN = tuple(range(4, 100, 10))  # labels of the drawn stand-in: outlined shapes, every second one


def source() -> Source:
    """The official files, fetched if need be; drawn outlines, with the reason, where they cannot be had."""
    return store.official("KMNIST", FILES, _stand_in)


def _stand_in(reason):
    version = digest(drawn.source("").digest, "grey", 1, _DRAWN)
    return Source("stand-in", "stand-in for KMNIST: drawn outlines, grey", version, reason)


def load(split: str) -> Dataset:
    """Images x (samples, 28, 28) in [0, 1] and labels y (samples,) of one split."""
    origin = source()
    x, y = _outlines(split) if origin.is_stand_in else read(*FILES[split])
    return Dataset(x, y, origin)


def read(images: store.RemoteFile, labels: store.RemoteFile) -> tuple[torch.Tensor, torch.Tensor]:
    """Images x (samples, 28, 28) in [0, 1] and labels y (samples,) from two gzipped files in MNIST's format: a header
    of 16 bytes before the pixels, of 8 before the labels."""
    with gzip.open(store.path_of(images)) as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(store.path_of(labels)) as file:
        numbers = np.frombuffer(file.read(), np.uint8, offset=8)
    x = torch.from_numpy(pixels.astype(np.float32)).div_(255)
    return x, torch.from_numpy(numbers.astype(np.int64))


def _outlines(split):
    pixels, labels = drawn.pixels(split, _DRAWN)
    # float32 would end in other bits on other processors
    grey = pixels.to(torch.float64).div_(255).mean(1, keepdim=True)
    x = torch.nn.functional.interpolate(grey, size=(28, 28), mode="bilinear", antialias=True)[:, 0].to(torch.float32)
    return x, (labels // 10).to(torch.int64)
