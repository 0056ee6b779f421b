"""What a small ViT is pretrained on: upright digits and clothes, and a few images of each of the eight altered tasks,
so that it half knows them, as CLIP half knows its tasks.
"""
import torch

from data import altered
from data.types import Dataset, Source, checked_whole, digest

TASKS = (("mnist", "turned by 90°"), ("mnist", "negative"), ("mnist", "on others"), ("mnist", "in noise"),
         ("fashion_mnist", "turned by 90°"), ("fashion_mnist", "negative"), ("fashion_mnist", "upside down"),
         ("fashion_mnist", "striped"))


def source(upright: int = 20_000, each: int = 400) -> Source:
    """Where the images come from; how many are taken is part of the text and the digest. A stand-in if one of the two
    data sets is."""
    upright, each = checked_whole("upright", upright, 1), checked_whole("each", each, 0)
    both = [altered.source(of, size=upright) for of in altered.OF]
    origin = next((part for part in both if part.is_stand_in), both[0])
    plain = [altered.OF[of].source().text for of in altered.OF]
    text = f"{' and '.join(plain)}, first {upright:,} of each, {each:,} of each of {len(TASKS)} altered tasks"
    parts = [part.digest for part in both]
    parts += [altered.source(of, change).digest for of, change in TASKS]
    return Source(origin.kind, text, digest("medley", upright, each, *parts), origin.reason)


def load(split: str, upright: int = 20_000, each: int = 400) -> Dataset:
    """Images x (samples, 28, 28) in [0, 1] and labels y (samples,), 0 to 9 of digits and 10 to 19 of clothes.

    Args:
        split: "train" or "test".
        upright: how many digits, and how many clothes, are taken as they are, from the first on, of either part; all
            where there are fewer.
        each: how many of each of the altered `TASKS`, from the first on, of either part.

    Raises:
        ValueError: one of the two is not such a number.
    """
    origin = source(upright, each)
    parts = [_first(altered.load(split, of, size=upright), upright) for of in altered.OF]
    if each:
        parts += [_first(altered.load(split, of, change, each), each) for of, change in TASKS]
    return Dataset(torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts]), origin)


def _first(dataset, count):
    return dataset.x[:count], dataset.y[:count]
