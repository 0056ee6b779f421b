"""SVHN (Netzer et al. 2011), 73,257 + 26,032 house numbers of 32×32 pixels in colour, a digit in the middle of each;
for non-commercial use. Read from the MATLAB 5 files of its authors; nothing is unpickled.
"""
import numpy as np
import torch

from data import digits, store
from data.types import Dataset, Source, checked_whole, digest

_HOST = "http://ufldl.stanford.edu/housenumbers/"
NOT_PUBLISHED = 0  # bytes: the digest alone tells
_VERSION = 1  # raise when the stand-in is painted differently


def _file(name, md5):
    return store.RemoteFile(f"SVHN/{name}", NOT_PUBLISHED, md5, "", (f"{_HOST}{name}",))


FILES = {"train": (_file("train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"),),
         "test": (_file("test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"),)}


def source(size: int | None = None) -> Source:
    """The official files, fetched if need be; painted digits, with the reason, where they cannot be had.

    Raises:
        ValueError: `size` is neither None nor a whole number of at least 1.
    """
    origin = store.official("SVHN", FILES, _stand_in)
    if size is None:
        return origin
    size = checked_whole("size", size, 1)
    return Source(origin.kind, f"{origin.text}, first {size:,} images", digest(origin.digest, size), origin.reason)


def _stand_in(reason):
    version = digest(digits.source("").digest, "painted", _VERSION)
    return Source("stand-in", "stand-in for SVHN: scikit-learn's digits, painted", version, reason)


def load(split: str, size: int | None = None) -> Dataset:
    """Images x (samples, 3, 32, 32) in [0, 1] and labels y (samples,), the digits 0 to 9, of one split.

    Args:
        split: "train" or "test".
        size: only the first `size` images, or None for all. The whole training part takes 900 MB.
    """
    origin = source(size)
    pixels, y = _painted(split) if origin.is_stand_in else read(FILES[split][0])
    return Dataset(pixels[:size].to(torch.float32).div_(255), y[:size].clone(), origin)


def read(file: store.RemoteFile) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels (samples, 3, 32, 32) in uint8 and labels (samples,) from a file in which an image is (32, 32, 3), the
    images are the last axis, and a zero is called 10."""
    from scipy.io import loadmat
    content = loadmat(store.path_of(file), variable_names=("X", "y"))
    pixels = np.ascontiguousarray(content["X"].transpose(3, 2, 0, 1))
    return torch.from_numpy(pixels), torch.from_numpy(content["y"][:, 0].astype(np.int64) % 10)


def _painted(split):
    """Digits in one colour on another, each pair drawn anew; pixels in uint8."""
    plain = digits.load(split, digits.source(""))
    generator = torch.Generator().manual_seed(len(split))
    two = torch.randint(0, 256, (len(plain), 2, 3, 1, 1), generator=generator).to(torch.float64)
    ink = torch.nn.functional.pad(plain.x.to(torch.float64), (2, 2, 2, 2))[:, None]
    parts = zip(ink.split(2000), two.split(2000))
    pixels = [(part * colours[:, 0] + (1 - part) * colours[:, 1]).round().to(torch.uint8) for part, colours in parts]
    return torch.cat(pixels), plain.y
