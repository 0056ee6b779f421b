"""What training makes smaller, by name: a part of every recipe.

A loss asks a network something about a batch (`ask`) and compares what it says with what is wanted (`measure`).
"""
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from data.sentences import MASK

SEEN_CLASSES, ALL_CLASSES = "seen classes", "all classes"
NEXT_CHARACTER, FLOW_MATCHING, TWO_VIEWS = "next character", "flow matching", "two views"
MASKED_WORDS, WRITTEN_WORDS = "masked words", "written words"
MASKED = 0.15  # the share of words that are hidden (Devlin et al. 2019)

Ask = Callable[[nn.Module, Tensor, Tensor, Generator], tuple[Tensor, Tensor]]
Measure = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Loss:
    """One way to train.

    Attributes:
        ask: (network, x, y, generator) -> (outputs, what they should be); whatever it draws comes from the generator.
        measure: (outputs, what they should be) -> the mean over the samples, a number.
    """
    ask: Ask
    measure: Measure


def of(name: str, classes: Tensor) -> Loss:
    """The loss of this name.

    Args:
        name: one of `names()`.
        classes: (classes,), those that occur in the training part, in ascending order; `SEEN_CLASSES` needs them.

    Raises:
        ValueError: there is no such loss.
    """
    checked(name)
    ask, measure = _LOSSES[name]
    return Loss(ask, measure or masked(classes))


def names() -> list[str]:
    """The losses that a recipe may name."""
    return list(_LOSSES)


def checked(name: str) -> str:
    """The name.

    Raises:
        ValueError: there is no such loss.
    """
    if name not in _LOSSES:
        raise ValueError(f"unknown loss {name!r}: choose one of {', '.join(names())}")
    return name


def masked(classes: Tensor) -> Measure:
    """(logits (samples, outputs), labels (samples,)) -> mean cross-entropy (nats) among the given classes alone; all
    labels must be among them.

    Args:
        classes: (classes,), in ascending order.
    """
    def loss(logits, y):
        if len(classes) == logits.shape[1]:
            return F.cross_entropy(logits, y)
        return F.cross_entropy(logits[:, classes], torch.searchsorted(classes, y))

    return loss


def flow(x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """What a velocity network is asked about points x (samples, d), and what it should say (Lipman et al. 2023): the
    inputs (samples, d + 1), a place on the straight way from noise to the point, and the time there; and the way's
    velocity (samples, d).
    """
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x)
    time = torch.rand(len(x), 1, generator=generator, dtype=torch.float64).to(x)
    return torch.cat([(1 - time) * noise + time * x, time], 1), x - noise


def _labels(network, x, y, generator):
    return network(x), y


def _characters(network, x, y, generator):
    return network(x).flatten(0, 1), y.flatten()


def _velocities(network, x, y, generator):
    inputs, velocity = flow(x, generator)
    return network(inputs), velocity


def _views(network, x, y, generator):
    return network.compare_views(x, generator)


def hidden(x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """Sentences x (samples, length) of which words are hidden, each with probability `MASKED`: the numbers with `MASK`
    in their places; and where that is, (samples, length). Unknown words and padding are never hidden. If no word was
    drawn, then the first known one is hidden.

    Raises:
        ValueError: there is no known word.
    """
    known = x > MASK
    drawn = (torch.rand(x.shape, generator=generator, dtype=torch.float64).to(x.device) < MASKED) & known
    if not drawn.any():
        if not known.any():
            raise ValueError("no sentence has a known word, so none can be hidden and guessed")
        drawn.view(-1)[known.flatten().nonzero()[0]] = True
    return torch.where(drawn, MASK, x), drawn


def _words(network, x, y, generator):
    seen, drawn = hidden(x, generator)
    return network.guesses(seen, drawn), x[drawn].long()


def _answers(network, x, y, generator):
    return network.written(x, y)


def unlike(a: Tensor, b: Tensor) -> Tensor:
    """2 − 2·cos(a, b), the mean over samples: what BYOL makes smaller (Grill et al. 2020, Eq. 2)."""
    return 2 - 2 * F.cosine_similarity(a, b, dim=1).mean()


_LOSSES = {SEEN_CLASSES: (_labels, None),
           ALL_CLASSES: (_labels, F.cross_entropy),
           NEXT_CHARACTER: (_characters, F.cross_entropy),
           FLOW_MATCHING: (_velocities, F.mse_loss),
           TWO_VIEWS: (_views, unlike),
           MASKED_WORDS: (_words, F.cross_entropy),
           WRITTEN_WORDS: (_answers, F.cross_entropy)}
