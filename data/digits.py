"""The stand-in for MNIST: scikit-learn's 1,797 handwritten digits of 8×8 pixels, enlarged to 28×28 and jittered.

The first 1,437 digits make the training part, the last 360 the test part, so no digit is in both. Each is shown several
times, moved, turned and scaled a little each time: 20,000 and 4,000 images. Like MNIST in kind, but coarser and less
varied: figures measured on it are about it, not about MNIST.
"""
from functools import lru_cache

import torch
import torch.nn.functional as F

from data.types import Dataset, Source, digest

TRAIN_DIGITS, COPIES_TO = 1437, {"train": 20_000, "test": 4_000}
TURN, SCALE, SHIFT = 8.0, 0.10, 0.10  # at most: degrees, relative, share of the image's half width
_VERSION = 2  # raise when `load` draws anything differently: stored models of the old stand-in are then not used


def source(reason: str) -> Source:
    """The stand-in's source; `reason` says why the real thing is not there."""
    return Source("stand-in", "stand-in for MNIST: scikit-learn's 8×8 digits, enlarged and jittered",
                  digest("digits", _VERSION, TRAIN_DIGITS, COPIES_TO, TURN, SCALE, SHIFT), reason)


def load(split: str, origin: Source) -> Dataset:
    """Images x (samples, 28, 28) in [0, 1] and labels y (samples,)."""
    x, y = _drawn(split)
    return Dataset(x.clone(), y.clone(), origin)  # the caller may change what it gets


@lru_cache(maxsize=2)
def _drawn(split):
    from sklearn.datasets import load_digits
    bunch = load_digits()
    part = slice(None, TRAIN_DIGITS) if split == "train" else slice(TRAIN_DIGITS, None)
    # in float64, rounded at the end: float32 would differ between processors
    x = torch.tensor(bunch.images[part] / 16, dtype=torch.float64)
    y = torch.tensor(bunch.target[part], dtype=torch.int64)
    x = F.interpolate(x[:, None], size=(20, 20), mode="bilinear")
    x = F.pad(x, (4, 4, 4, 4))  # MNIST too is a 20×20 digit in a 28×28 frame
    generator = torch.Generator().manual_seed(len(split))
    which = torch.arange(COPIES_TO[split]) % len(x)
    return _jittered(x, which, generator)[:, 0], y[which]


def _jittered(x, which, generator):
    drawn = torch.rand(4, len(which), generator=generator, dtype=x.dtype)
    turn, scale, *shift = (2 * drawn - 1) * torch.tensor([TURN, SCALE, SHIFT, SHIFT], dtype=x.dtype)[:, None]
    turn = torch.deg2rad(turn)
    rows = [torch.stack([turn.cos(), -turn.sin(), shift[0]], 1), torch.stack([turn.sin(), turn.cos(), shift[1]], 1)]
    ones = torch.ones(len(which), 1, 1, dtype=x.dtype)
    matrices = torch.stack(rows, 1) * torch.cat([(1 + scale)[:, None, None].expand(-1, 1, 2), ones], 2)
    parts = zip(which.split(2000), matrices.split(2000))
    return torch.cat([_moved(x[part], matrix) for part, matrix in parts])


def _moved(x, matrices):
    grid = F.affine_grid(matrices, (len(x), 1, 28, 28), align_corners=False)
    return F.grid_sample(x, grid, align_corners=False).to(torch.float32)
