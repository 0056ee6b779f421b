"""Fashion-MNIST (Xiao, Rasul and Vollgraf 2017), 60,000 + 10,000 grey pictures of clothes of 28×28 pixels in ten
classes, laid out as MNIST is; upright, or all turned by the same angle.
"""
from functools import lru_cache

import torch
import torch.nn.functional as F

from data import drawn, mnist, rotated_mnist, store
from data.types import Dataset, Source, checked_angle, digest

# the authors' repository, and the address that they publish, which has no https
_HOSTS = ("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
          "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/")


def _file(name, size, md5, archive_md5):
    urls = tuple(f"{host}{name}.gz" for host in _HOSTS)
    return store.RemoteFile(f"FashionMNIST/raw/{name}", size, md5, archive_md5, urls)


FILES = {
    "train": (_file("train-images-idx3-ubyte", 47_040_016,
                    "f4a8712d7a061bf5bd6d2ca38dc4d50a", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
              _file("train-labels-idx1-ubyte", 60_008,
                    "9018921c3c673c538a1fc5bad174d6f9", "25c81989df183df01b3e8a0aad5dffbe")),
    "test": (_file("t10k-images-idx3-ubyte", 7_840_016,
                   "8181f5470baa50b63fa0f6fddb340f0a", "bef4ecab320f06d8554ea6380940ec79"),
             _file("t10k-labels-idx1-ubyte", 10_008,
                   "15d484375f8d13e6eb1aabb0c3f46965", "bb300cfdad3c16e7a12a480ee83cd310")),
}
CLASSES = ("T-shirt or top", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
_DRAWN = tuple(range(0, 100, 10))  # labels of the drawn stand-in for CIFAR-100: plain shapes, every second one


def source(angle: float = 0.0) -> Source:
    """The official files, fetched if need be; drawn shapes, with the reason, where they cannot be had. An angle, in
    degrees, is part of the text and the digest.
    """
    origin = store.official("Fashion-MNIST", FILES, _stand_in)
    angle = checked_angle(angle)
    if not angle:
        return origin
    return Source(origin.kind, f"{origin.text}, turned by {angle:g}°", digest(origin.digest, angle), origin.reason)


def _stand_in(reason):
    version = digest(drawn.source("").digest, "grey", 3, _DRAWN)
    return Source("stand-in", "stand-in for Fashion-MNIST: drawn shapes, grey", version, reason)


def load(split: str, angle: float = 0.0) -> Dataset:
    """Images x (samples, 28, 28) in [0, 1] and labels y (samples,) of one split.

    Args:
        split: "train" or "test".
        angle: in degrees, counter-clockwise; they are turned as Rotated MNIST is.

    Raises:
        ValueError: the angle is not a finite number.
    """
    origin = source(angle)
    x, y = _grey(split) if origin.is_stand_in else mnist.read(*FILES[split])
    # copies: the caller may change what it gets
    return Dataset(rotated_mnist.rotate(x, angle) if angle else x.clone(), y.clone(), origin)


@lru_cache(maxsize=2)
def _grey(split):
    pixels, labels = drawn.pixels(split, _DRAWN)
    # float32 would end in other bits on other processors
    grey = pixels.to(torch.float64).div_(255).mean(1, keepdim=True)
    x = F.interpolate(grey, size=(28, 28), mode="bilinear", antialias=True)[:, 0].to(torch.float32)
    # drawn in turn one of each class, every second image would be of every second class
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(len(x)))
    return x[order], (labels // 10).to(torch.int64)[order]
