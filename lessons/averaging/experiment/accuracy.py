"""The accuracy of any average and of any ensemble of some networks."""
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from lessons.averaging.algorithms import Family

HOW = ("average", "ensemble")
AT_ONCE = 2000  # images: what one layer computes on them stays in the processor's cache


class Accuracy:
    """What is right of the answers of some networks together, on the same labelled images.

    Args:
        states: the networks' state dicts.
        x: images (samples, …).
        y: labels (samples,).
        at_once: so many images are looked at together.
    """

    def __init__(self, states: Sequence[dict[str, Tensor]], x: Tensor, y: Tensor, at_once: int = AT_ONCE):
        self._parts = []
        for images, labels in zip(x.split(at_once), y.split(at_once)):
            self._parts.append((Family(states, images), labels))

    def of_average(self, chosen: Sequence[int], shares: Tensor | None = None) -> float:
        """The share correct of the network with the averaged weights of the chosen ones."""
        return self._correct(lambda family: family.average(chosen, shares)["output"])

    def of_ensemble(self, chosen: Sequence[int], shares: Tensor | None = None) -> float:
        """The share correct of the chosen ones' logits ensemble."""
        return self._correct(lambda family: family.ensemble(chosen, shares))

    def of(self, how: str, chosen: Sequence[int], shares: Tensor | None = None) -> float:
        """`of_average` or `of_ensemble`, as `HOW` names them."""
        return {"average": self.of_average, "ensemble": self.of_ensemble}[how](chosen, shares)

    def alone(self, model: int) -> float:
        """The share correct of one network."""
        return self.of_ensemble([model])

    def right(self, how: str, chosen: Sequence[int]) -> np.ndarray:
        """Which images are read right: (images,) of bool. With equal shares."""
        parts = []
        for family, y in self._parts:
            logits = family.average(chosen)["output"] if how == "average" else family.ensemble(chosen)
            parts.append((logits.argmax(1) == y).numpy())
        return np.concatenate(parts)

    def _correct(self, logits_of):
        right = 0
        total = 0
        for family, y in self._parts:
            right += (logits_of(family).argmax(1) == y).sum().item()
            total += len(y)
        return right / total
