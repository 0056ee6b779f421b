"""CIFAR-100 (Krizhevsky 2009), 50,000 + 10,000 colour photographs of 32×32 pixels in 100 classes, from its official
binary version.

Each image is one coarse byte, one fine byte and 3072 pixels: the red, the green, the blue plane, each row by row.
Nothing is unpickled.
"""
import numpy as np
import torch

from data import drawn, store
from data.types import Dataset, Source, checked_whole, digest

_ARCHIVE = store.RemoteFile("cifar-100-binary.tar.gz", 168_513_733, "03b5dce01913d631647c71ecec9e9cb8", "",
                            ("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",))


def _file(name, size, md5):
    return store.RemoteFile(f"cifar-100-binary/{name}", size, md5, "", (), within=_ARCHIVE)


FILES = {
    "train": (_file("train.bin", 153_700_000, "6172c7755cfe09b2fe270c85cebc1b15"),),
    "test": (_file("test.bin", 30_740_000, "4499cfba6c016c1be1438163640a0898"),),
    "names": (_file("fine_label_names.txt", 725, "b517b835c830bc54413daa4cf904aad9"),
              _file("coarse_label_names.txt", 328, "50d7751bb0bc2085059b59e23eb6f789")),
}
CLASSES = 100
IMAGES_PER_CLASS = {"train": 500, "test": 100}
ROW = 2 + 3 * 32 * 32  # bytes an image
MEAN = (0.50707516, 0.48654887, 0.44091784)  # per channel, of the 50,000 training images
STD = (0.26733429, 0.25643846, 0.27615047)


def source(size: int | None = None) -> Source:
    """The official files, fetched if need be; the drawn stand-in, with the reason, where they cannot be had.

    Raises:
        ValueError: `size` is neither None nor a whole number of at least 1 and at most 50,000.
    """
    return part_of(found(), "", size, CLASSES)


def load(split: str, size: int | None = None) -> Dataset:
    """Images x (samples, 3, 32, 32), normalised per channel, and labels y (samples,) in 0..99 of one split, in the
    file's order.

    Args:
        split: "train" or "test".
        size: only the first `size` images, or None for all. The whole training part takes 614 MB.
    """
    where = source(size)
    return Dataset(*read(split, range(CLASSES), size, where), where)


def found() -> Source:
    """Whether the official files are there, whole; the source of the stand-in, with the reason, if not."""
    return store.official("CIFAR-100", FILES, drawn.source)


def part_of(origin: Source, name: str, size: int | None, classes: int) -> Source:
    """The source of the first `size` images (None: all) of `classes` classes; `name` says which ("": all 100) in the
    text, and to the digest.
    """
    if size is not None:
        size = checked_whole("size", size, 1, classes * IMAGES_PER_CLASS["train"])
    text = origin.text + (f", {name}" if name else "") + (f", first {size:,} images" if size else "")
    part = digest(origin.digest, name, size) if name or size else origin.digest
    return Source(origin.kind, text, part, origin.reason)


def read(split: str, classes, size: int | None, where: Source) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised images x and labels y of some classes, the first `size` of them (None: all), from the official files
    or drawn.

    Raises:
        ValueError: there are fewer than `size`.
    """
    if size is not None:
        size = checked_whole("size", size, 1, len(classes) * IMAGES_PER_CLASS[split])
    if where.is_stand_in:
        pixels, y = drawn.pixels(split, classes, size)
    else:
        pixels, y = rows(store.path_of(FILES[split][0]), classes, size)
    mean, std = _constants(where)
    return pixels.to(torch.float32).div_(255).sub_(mean).div_(std), y


def rows(path, classes, size: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels (samples, 3, 32, 32) in uint8 and fine labels (samples,) of some classes in a binary file; no other row's
    pixels are read.
    """
    file = np.memmap(path, dtype=np.uint8, mode="r").reshape(-1, ROW)
    fine = file[:, 1].astype(np.int64)
    which = np.flatnonzero(np.isin(fine, list(classes)))[:size]
    return torch.from_numpy(file[which, 2:].reshape(-1, 3, 32, 32)), torch.from_numpy(fine[which])


def class_names() -> list[str]:
    """The names of the 100 classes, by label: the official ones ("aquarium fish"), or the stand-in's ("striped disc").
    """
    if found().is_stand_in:
        return drawn.class_names()
    return store.path_of(FILES["names"][0]).read_text().replace("_", " ").split("\n")[:CLASSES]


def unnormalise(x: torch.Tensor) -> torch.Tensor:
    """Loaded images x (…, 3, height, width) as they look: in [0, 1]."""
    mean, std = _constants(found())
    return (x * std.to(x.device) + mean.to(x.device)).clamp(0, 1)


def channel_statistics(pixels: torch.Tensor) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each channel of pixels (samples, 3, 32, 32) in uint8, scaled to [0, 1]: how MEAN
    and STD were computed.
    """
    channels = [pixels[:, channel].flatten().int() for channel in range(3)]
    counts = torch.stack([torch.bincount(channel, minlength=256) for channel in channels]).double()
    values = torch.arange(256) / 255.0
    samples = counts[0].sum()
    mean = counts @ values.double() / samples
    return mean.tolist(), (counts @ values.double() ** 2 / samples - mean ** 2).sqrt().tolist()


def _constants(where):
    mean, std = (drawn.MEAN, drawn.STD) if where.is_stand_in else (MEAN, STD)
    return torch.tensor(mean)[:, None, None], torch.tensor(std)[:, None, None]
