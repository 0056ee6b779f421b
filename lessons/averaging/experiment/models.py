"""The networks: twenty finetunings of one pretrained MLP on one task, and two that do not fit in; the images they are
judged on."""
from dataclasses import replace

import torch

import data
from data.types import Dataset, Source
from lessons import cast
from toy_models import MLP, Recipe, zoo

ANGLE = 45.0
TRAIN_IMAGES = 10_000
HELD_OUT_IMAGES = 5_000
LEARNING_RATES = tuple(float(f"{0.02 * 5 ** (i / 19):.2g}") for i in range(20))  # 0.02 to 0.1, even on a log scale
EPOCHS = (1, 2, 3, 4) * 5
BATCH_SIZES = (32,) * 7 + (64,) * 7 + (128,) * 6

TWENTY = range(20)  # places of the twenty among all networks
BOLD, STRANGER = "the bold one", "the stranger"
OUTLIERS = {BOLD: 20, STRANGER: 21}  # and of the two others


def source() -> Source:
    """Where the digits come from."""
    return data.source("rotated_mnist", angle=ANGLE)


def recipes(seed: int = 0) -> dict[str, Recipe | list[Recipe]]:
    """Every model of the chapter.

    "pretrained": chapter 1's, one epoch on upright MNIST; "finetuned": 20 from there, on the first 10,000 digits turned
    by 45°, each with its own learning rate, epochs, batch size and order of images, drawn by the seed; "the bold one":
    the same with three times the largest learning rate; "the stranger": the same task, but from chapter 1's other
    pretrained network, which began from other random weights.
    """
    generator = torch.Generator().manual_seed(seed)
    epochs = _shuffled(EPOCHS, generator)
    batch_sizes = _shuffled(BATCH_SIZES, generator)
    before = cast.linearity_mlps(seed)
    pretrained = before["pretrained"]
    other = before["strangers"][1].parent
    task = {"options": {"angle": ANGLE, "size": TRAIN_IMAGES}}
    first = pretrained.finetune(**task)  # reads the data's digest once
    finetuned = []
    for number, (lr, passes, batch) in enumerate(zip(LEARNING_RATES, epochs, batch_sizes), 1):
        finetuned.append(replace(first, lr=lr, epochs=passes, batch_size=batch, seed=seed + 10_000 * number))
    return {"pretrained": pretrained,
            "finetuned": finetuned,
            BOLD: replace(first, lr=0.3, epochs=3, batch_size=16, seed=seed + 300_000),
            STRANGER: other.finetune(lr=0.1, epochs=2, batch_size=32, seed=seed + 400_000, **task)}


def _shuffled(values, generator):
    return [values[i] for i in torch.randperm(len(values), generator=generator).tolist()]


def all_recipes(seed: int = 0) -> list[Recipe]:
    """The 22 finetuned models' recipes: the twenty, the bold one, the stranger."""
    made = recipes(seed)
    return [*made["finetuned"], made[BOLD], made[STRANGER]]


def name_of(recipe: Recipe, number: int) -> str:
    """"model 7: lr 0.05, 3 epochs, batch 64"; the 21st and 22nd are the bold one and the stranger."""
    who = f"model {number}" if number <= len(TWENTY) else list(OUTLIERS)[number - 21]
    passes = f"{recipe.epochs} epoch{'s' * (recipe.epochs > 1)}"
    return f"{who}: lr {recipe.lr:g}, {passes}, batch {recipe.batch_size}"


def networks(seed: int = 0, device: str = "auto") -> list[MLP]:
    """The 22 finetuned networks, trained now if they are not in the zoo."""
    return zoo.get_all(all_recipes(seed), device)


def test_images(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and labels of the task, spread evenly over the test part: MNIST's first half is harder than its second."""
    dataset = data.load("rotated_mnist", "test", angle=ANGLE).spread(size)
    return dataset.x, dataset.y


def held_out() -> Dataset:
    """Training images on which no model was finetuned; the pretrained one has seen them upright."""
    return data.load("rotated_mnist", "train", angle=ANGLE, first=TRAIN_IMAGES, size=HELD_OUT_IMAGES)
