"""Spirals: two classes of points on two interleaved spiral arms in the plane, generated."""
import math

import torch

from data.types import Dataset, Source, checked_angle, checked_whole, digest

SAMPLES = {"train": 1000, "test": 1000}
TURNS, NOISE = 1.0, 0.04


def source(angle: float = 0.0, seed: int = 0) -> Source:
    """What is generated: two arms turned by `angle` degrees, drawn with `seed`."""
    angle = checked_angle(angle)
    seed = checked_whole("seed", seed, 0)
    points = digest("spirals", 2, SAMPLES, TURNS, NOISE, angle, seed)
    return Source("generated", f"Spirals, turned by {angle:g}°", points)


def load(split: str, angle: float = 0.0, seed: int = 0) -> Dataset:
    """Points x (samples, 2), mostly within the unit disc, and the arm y (samples,) in {0, 1} that each lies on.

    Args:
        split: "train" or "test": two draws from the same distribution.
        angle: degrees counter-clockwise by which both arms are turned.
        seed: of the draw.

    Raises:
        ValueError: the angle is not a finite number, or the seed not a whole one.
    """
    found = source(angle, seed)
    generator = torch.Generator().manual_seed(2 * seed + (split == "test"))
    n = SAMPLES[split]
    y = torch.arange(n) % 2
    radius = 0.1 + 0.9 * torch.rand(n, generator=generator, dtype=torch.float64).sqrt()
    phase = 2 * math.pi * TURNS * radius + math.pi * y + math.radians(angle)
    noise = torch.randn(n, 2, generator=generator, dtype=torch.float64)
    x = torch.stack([radius * phase.cos(), radius * phase.sin()], 1) + NOISE * noise
    return Dataset(x.to(torch.float32), y, found)  # float64 until here: float32 would differ between processors
