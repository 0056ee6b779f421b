"""CLIP's heads: a class is the mean of what the text tower makes of sentences with its name, and an image belongs to
the class whose direction is nearest (Radford et al. 2021, §3.1). No head is trained.

Class names and sentences are FusionBench's (Tang et al. 2024), since the published accuracies were measured with them;
those of CIFAR are OpenAI's.
"""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from lessons.checkpoints.tokens import Words
from lessons.checkpoints.towers import Tower, text_pooled
from toy_models.weights import State

_LOOKS = ("", "blurry ", "black and white ", "low contrast ", "high contrast ", "bad ", "good ")
_SIZES = ("small ", "big ")
_CIFAR = tuple(f"a {look}photo of {article} {{}}." for article in ("a", "the") for look in _LOOKS) + tuple(
    f"a photo of {article} {size}{{}}." for article in ("a", "the") for size in _SIZES)
_NUMBER = ('a photo of the number: "{}".',)
_DIGITS = tuple("0123456789")


@dataclass(frozen=True)
class Labels:
    """What a task's classes are called.

    Attributes:
        classes: names, by label; () where the data set itself names them.
        templates: sentences with {} for the name.
        spelled: {official name: what the published figures were measured with}.
    """
    classes: tuple[str, ...]
    templates: tuple[str, ...]
    spelled: tuple[tuple[str, str], ...] = ()


LABELS: Mapping[str, Labels] = {
    "mnist": Labels(_DIGITS, _NUMBER),
    "svhn": Labels(_DIGITS, _NUMBER),
    "fashion_mnist": Labels(("T - shirt / top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
                             "Bag", "Ankle boot"), ("a photo of a {}.", "a photo of the {}.")),
    "kmnist": Labels(tuple("おきすつなはまやれを"), ("a photo of the character {}.",)),
    "cifar10": Labels(("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
                      _CIFAR),
    "cifar100": Labels((), _CIFAR, (("crab", "cra"),)),  # a slip in the list that the figures were measured with
}


def class_names(task: str, official: Sequence[str] = ()) -> tuple[str, ...]:
    """What a task's classes are called in its sentences.

    Args:
        official: the data set's own names, by label, where `LABELS` has none; with underscores for spaces, as in the
            list that the published figures were measured with.

    Raises:
        ValueError: the task is unknown, or its names are needed.
    """
    if task not in LABELS:
        raise ValueError(f"there are no class names for {task!r}; there are for {', '.join(LABELS)}")
    labels = LABELS[task]
    if not labels.classes and not official:
        raise ValueError(f"give the official names of {task}'s classes")
    spelled = dict(labels.spelled)
    return labels.classes or tuple(spelled.get(name, name).replace(" ", "_") for name in official)


def sentences(name: str, templates: Sequence[str]) -> list[str]:
    """Every template with a class's name in it."""
    return [template.replace("{}", name) for template in templates]


def class_vector(vectors: Float[Tensor, "sentences width"]) -> Float[Tensor, " width"]:
    """A class from its sentences' vectors: each to length 1, the mean, and that to length 1 again."""
    mean = F.normalize(vectors, dim=-1).mean(0)
    return F.normalize(mean, dim=-1)


def head(state: State, projection: Float[Tensor, "space width"], tower: Tower, tokenize: Words | Callable,
         classes: Sequence[str], templates: Sequence[str]) -> Float[Tensor, "classes space"]:
    """A task's head from the text tower: a `class_vector` a class.

    Args:
        state: of the text tower.
        projection: `text_projection.weight`.
    """
    vectors = []
    with torch.no_grad():
        for name in classes:
            tokens = tokenize(sentences(name, templates))
            vectors.append(class_vector(text_pooled(state, tokens, tower) @ projection.T))
    return torch.stack(vectors)


def logits(pooled: Float[Tensor, "samples width"], projection: Float[Tensor, "space width"],
           head: Float[Tensor, "classes space"], scale: float) -> Float[Tensor, "samples classes"]:
    """exp(scale)·cosine of each image with each class.

    Args:
        pooled: the vision tower's answers.
        projection: `visual_projection.weight`.
        scale: `logit_scale`, the logarithm of what the cosines are multiplied by.
    """
    images = F.normalize(pooled @ projection.T, dim=-1)
    return torch.as_tensor(scale).exp() * images @ head.T
