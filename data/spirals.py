"""Spirals: two classes of points on two interleaved spiral arms in the plane, generated."""
import math

import torch

from data.types import Dataset, Source, checked_angle, checked_whole, digest

SAMPLES = {"train": 1000, "test": 1000}
TURNS, NOISE = 1.0, 0.04


def source(angle: float = 0.0, seed: int = 0, arm: int | None = None, first: int = 0,
           size: int | None = None) -> Source:
    """What is generated: two arms turned by `angle` degrees, drawn with `seed`; the part of them that is taken, if not
    all, is in the text and the digest.
    """
    angle, seed, arm, first, size = _checked(angle, seed, arm, first, size)
    points = digest("spirals", 2, SAMPLES, TURNS, NOISE, angle, seed)
    text = f"Spirals, turned by {angle:g}°"
    if (arm, first, size) != (None, 0, None):
        whose = "points" if arm is None else f"points of arm {arm}"
        text += f", {whose} {first:,}–{first + size - 1:,}" if size else f", {whose} from {first:,} on"
        points = digest(points, "arm", arm, "first", first, "size", size)
    return Source("generated", text, points)


def load(split: str, angle: float = 0.0, seed: int = 0, arm: int | None = None, first: int = 0,
         size: int | None = None) -> Dataset:
    """Points x (samples, 2), mostly within the unit disc, and the arm y (samples,) in {0, 1} that each lies on.

    Args:
        split: "train" or "test": two draws from the same distribution.
        angle: degrees counter-clockwise by which both arms are turned.
        seed: of the draw.
        arm: 0 or 1: the points of that arm alone; None for both.
        first: the number, from 0, of the first of these points that is taken.
        size: how many are taken from there on; None for all.

    Raises:
        ValueError: the angle is not a finite number, one of the others is not a whole one, or there are not so many
            points.
    """
    origin = source(angle, seed, arm, first, size)
    angle, seed, arm, first, size = _checked(angle, seed, arm, first, size)
    generator = torch.Generator().manual_seed(2 * seed + (split == "test"))
    n = SAMPLES[split]
    y = torch.arange(n) % 2
    radius = 0.1 + 0.9 * torch.rand(n, generator=generator, dtype=torch.float64).sqrt()
    phase = 2 * math.pi * TURNS * radius + math.pi * y + math.radians(angle)
    noise = torch.randn(n, 2, generator=generator, dtype=torch.float64)
    x = torch.stack([radius * phase.cos(), radius * phase.sin()], 1) + NOISE * noise
    x = x.to(torch.float32)  # float64 until here: float32 would differ between processors
    if arm is not None:
        x, y = x[y == arm], y[y == arm]
    first = checked_whole("first", first, 0, len(y) - 1)
    end = first + checked_whole("size", len(y) - first if size is None else size, 1, len(y) - first)
    return Dataset(x[first:end].clone(), y[first:end].clone(), origin)


def _checked(angle, seed, arm, first, size):
    arm = arm if arm is None else checked_whole("arm", arm, 0, 1)
    size = size if size is None else checked_whole("size", size, 1)
    return checked_angle(angle), checked_whole("seed", seed, 0), arm, checked_whole("first", first, 0), size
