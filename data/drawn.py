"""The stand-in for CIFAR-100: drawn shapes with textures, 100 classes of 32×32 colour images, as many of each as
CIFAR-100 has.

Class 5s + t is shape s of `SHAPES` with texture t of `TEXTURES`, so the five classes of a split of Split CIFAR-100
share a shape and differ in texture, as consecutive tasks differ in shape. Place, size, turn, colours, background and
noise vary. Each class is drawn when it is first asked for, with a generator of its own. Figures measured on it are
about it, not about CIFAR-100.
"""
import math
from functools import lru_cache

import torch

from data.types import Source, digest

TEXTURES = ("plain", "striped", "dotted", "checked", "outlined")
SIZE = (0.50, 0.80)  # the shape's radius, in half widths of the image
SHIFT = 0.20  # of its centre at most, in half widths of the image
TURN = 35.0  # degrees, at most
CONTRAST = (0.25, 0.80)  # between a texture's two colours, 1 is as drawn
NOISE = (0.02, 0.10)  # standard deviation of a pixel's noise
MEAN = (0.47555188, 0.47571837, 0.47559004)  # per channel, of the 50,000 training images
STD = (0.19232118, 0.19301674, 0.19331412)
_IMAGES = {"train": 500, "test": 100}  # a class
_VERSION = 1  # raise when anything is drawn differently: stored models of the old stand-in are then not used
_PIXEL = 2 / 32  # an image spans -1 … 1


def source(reason: str) -> Source:
    """The stand-in's source; `reason` says why the real thing is not there."""
    version = digest("drawn", _VERSION, tuple(SHAPES), TEXTURES, SIZE, SHIFT, TURN, CONTRAST, NOISE, _IMAGES)
    return Source("stand-in", "stand-in for CIFAR-100: drawn shapes and textures", version, reason)


def class_names() -> list[str]:
    """The names of the 100 classes, by label: "plain disc", "striped disc", …"""
    return [f"{texture} {shape}" for shape in SHAPES for texture in TEXTURES]


def pixels(split: str, classes, size: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels (samples, 3, 32, 32) in uint8 and labels (samples,) of some classes, in turn one image of each; the first
    `size`, or all.
    """
    x = torch.stack([_class(split, c) for c in classes], 1).flatten(0, 1)
    return x[:size], torch.tensor(list(classes)).repeat(_IMAGES[split])[:size]


@lru_cache(maxsize=50)  # 1.5 MB for a class of the training part
def _class(split, label):
    n = _IMAGES[split]
    generator = torch.Generator().manual_seed(2 * label + (split == "test"))
    shape = list(SHAPES.values())[label // len(TEXTURES)]
    texture = TEXTURES[label % len(TEXTURES)]

    def uniform(low, high, *size):
        return low + (high - low) * torch.rand(n, *(size or (1, 1)), generator=generator)

    axis = (torch.arange(32) + 0.5) * _PIXEL - 1
    right = axis.expand(1, 32, 32)
    up = -axis[:, None].expand(1, 32, 32)
    radius = uniform(*SIZE)
    angle = torch.deg2rad(uniform(-TURN, TURN))
    x = right - uniform(-SHIFT, SHIFT)
    y = up - uniform(-SHIFT, SHIFT)
    u = (x * angle.cos() + y * angle.sin()) / radius  # in the shape's own frame
    v = (y * angle.cos() - x * angle.sin()) / radius
    width = _PIXEL / radius  # of a pixel, there
    distance = shape(u, v)
    inside = _smooth(-distance / width)
    second = _texture(texture, u, v, distance, width, uniform)
    first_colour, behind, behind_too = (_colour(uniform) for _ in range(3))
    second_colour = first_colour + uniform(*CONTRAST, 1, 1, 1) * (_opposite(first_colour) - first_colour)
    direction = uniform(0, 2 * math.pi)
    # the background goes over from one colour to another
    along = ((right * direction.cos() + up * direction.sin()) / 2.8 + 0.5)[:, None]
    image = behind + along * (behind_too - behind)
    image = image + inside[:, None] * (first_colour + second[:, None] * (second_colour - first_colour) - image)
    image = image + uniform(*NOISE, 1, 1, 1) * torch.randn(n, 3, 32, 32, generator=generator)
    return image.mul_(255).round_().clamp_(0, 255).to(torch.uint8)


def _smooth(distance):
    """1 where a pixel lies inside, 0 where outside, between at the edge; `distance` in pixels, positive inside."""
    return (distance + 0.5).clamp(0, 1)


def _colour(uniform):
    """A bright or dark colour (images, 3, 1, 1) of any hue."""
    hue = uniform(0, 6, 1, 1, 1)
    saturation = uniform(0.2, 0.9, 1, 1, 1)
    value = uniform(0.35, 0.95, 1, 1, 1)
    wheel = (((hue + torch.tensor([0.0, 4.0, 2.0])[:, None, None]) % 6 - 3).abs() - 1).clamp(0, 1)
    return value * (1 - saturation + saturation * wheel)


def _opposite(colour):
    """Black or white, whichever is farther."""
    return (colour.mean(1, keepdim=True) < 0.5).to(colour.dtype).expand_as(colour)


def _texture(name, u, v, distance, width, uniform):
    """How much of the second colour (images, 32, 32) each place has; the shape spans about -1 … 1 and a pixel is
    `width` wide.
    """
    if name == "plain":
        return torch.zeros_like(u)
    if name == "outlined":
        return _smooth((distance + uniform(0.16, 0.26)) / width)
    period = uniform(0.28, 0.42) if name == "striped" else uniform(0.40, 0.55)
    along, across = (torch.pi * (w / period + uniform(0, 2)) for w in (u, v))
    steepness = period / (torch.pi * width)  # pixels a radian
    if name == "striped":
        return _smooth(along.sin() * steepness)
    if name == "checked":
        return _smooth(along.sin() * across.sin() * steepness)
    return _smooth((along.sin() ** 2 + across.sin() ** 2 - 1.35) * steepness)  # dotted


# -- shapes: (u, v) -> signed distance from the edge, negative inside; they fit the disc of radius 1 -------------------

def _disc(radius, x=0.0, y=0.0):
    return lambda u, v: torch.hypot(u - x, v - y) - radius


def _polygon(*corners):
    """The polygon with these corners (x, y)."""
    ends = list(zip(corners, corners[1:] + corners[:1]))

    def distance(u, v):
        nearest = torch.full_like(u, torch.inf)
        outside = torch.ones_like(u)
        for (ax, ay), (bx, by) in ends:
            dx, dy = bx - ax, by - ay
            x, y = u - ax, v - ay
            t = ((x * dx + y * dy) / (dx * dx + dy * dy)).clamp(0, 1)
            nearest = torch.minimum(nearest, (x - t * dx) ** 2 + (y - t * dy) ** 2)
            if dy:  # a ray to the right crosses this edge: once more inside or outside
                outside = torch.where(((v >= ay) != (v >= by)) & (x < y * (dx / dy)), -outside, outside)
        return outside * nearest.sqrt()

    return distance


def _regular(corners, inner=None):
    """A regular polygon standing on an edge or, with `inner`, a star whose inner corners lie at that radius."""
    count = corners * (2 if inner else 1)
    radii = [inner if inner and k % 2 else 1.0 for k in range(count)]
    angles = [2 * math.pi * k / count for k in range(count)]
    return _polygon(*((r * math.sin(angle), r * math.cos(angle)) for angle, r in zip(angles, radii)))


def _all_of(*shapes):
    return lambda u, v: torch.stack([shape(u, v) for shape in shapes]).amax(0)


def _any_of(*shapes):
    return lambda u, v: torch.stack([shape(u, v) for shape in shapes]).amin(0)


def _without(shape, hole):
    return lambda u, v: torch.maximum(shape(u, v), -hole(u, v))


def _box(x, y):
    return _polygon((-x, -y), (x, -y), (x, y), (-x, y))


SHAPES = {
    "disc": _disc(0.9),
    "ring": _without(_disc(0.95), _disc(0.45)),
    "half disc": lambda u, v: _all_of(_disc(1.0), lambda u, v: v)(u, v - 0.45),
    "crescent": _without(_disc(0.95), _disc(0.75, 0.5, 0.25)),
    "drop": _any_of(_disc(0.6, 0.0, -0.35), _polygon((0.0, 1.0), (-0.55, -0.12), (0.55, -0.12))),
    "heart": _any_of(_disc(0.5, -0.42, 0.3), _disc(0.5, 0.42, 0.3),
                     _polygon((-0.85, 0.05), (0.0, -0.95), (0.85, 0.05), (0.0, 0.6))),
    "flower": _any_of(*(_disc(0.42, 0.55 * math.sin(2 * math.pi * k / 5), 0.55 * math.cos(2 * math.pi * k / 5))
                        for k in range(5))),
    "triangle": _regular(3),
    "square": _box(0.75, 0.75),
    "frame": _without(_box(0.8, 0.8), _box(0.38, 0.38)),
    "diamond": _polygon((0.0, 1.0), (0.62, 0.0), (0.0, -1.0), (-0.62, 0.0)),
    "hexagon": _regular(6),
    "star": _regular(5, 0.45),
    "cross": _any_of(_box(0.95, 0.33), _box(0.33, 0.95)),
    "arrow": _polygon((0.0, 1.0), (0.8, 0.1), (0.35, 0.1), (0.35, -0.9), (-0.35, -0.9), (-0.35, 0.1), (-0.8, 0.1)),
    "chevron": _polygon((-0.9, -0.1), (0.0, 0.8), (0.9, -0.1), (0.9, -0.8), (0.0, 0.1), (-0.9, -0.8)),
    "hourglass": _polygon((-0.75, 0.95), (0.75, 0.95), (0.2, 0.0), (0.75, -0.95), (-0.75, -0.95), (-0.2, 0.0)),
    "letter L": _polygon((-0.7, 0.95), (-0.05, 0.95), (-0.05, -0.3), (0.75, -0.3), (0.75, -0.9), (-0.7, -0.9)),
    "letter T": _polygon((-0.9, 0.85), (0.9, 0.85), (0.9, 0.25), (0.33, 0.25), (0.33, -0.9), (-0.33, -0.9),
                         (-0.33, 0.25), (-0.9, 0.25)),
    "lens": _all_of(_disc(1.15, 0.0, 0.6), _disc(1.15, 0.0, -0.6)),
}
