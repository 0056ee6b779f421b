"""Networks looked at together: any sum of task vectors on the images of all tasks."""
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lessons.averaging.algorithms import Family
from lessons.task_arithmetic.algorithms import shares_of
from toy_models import MLP


class Table:
    """The networks looked at on the same digits, turned by each of the angles; any θ₀ + Σ λ_t τ_t on them.

    θ₀ + Σ λ_t τ_t is (1 − Σ λ_t)·θ₀ + Σ λ_t·θ_t, so chapter 3's `Family` computes it, sharing the first layer's work.

    Args:
        networks: {angle: network}, the pretrained one first.
        turned: the same digits turned by each angle, as often (images, 28, 28).
        y: their labels (images,).
        outputs_alone: whether of the networks' own features only the outputs are kept. Then `base` has no others, and a
            desk needs half the memory.

    Attributes:
        angles: of the networks, and of the tasks; family: the networks on all images; y.
    """

    def __init__(self, networks: dict[float, MLP], turned: Sequence[Tensor], y: Tensor,
                 outputs_alone: bool = False):
        self.angles = list(networks)
        self.y = y
        self.family = Family([network.state_dict() for network in networks.values()], torch.cat(turned),
                             outputs_alone)

    def places(self, *angles: float) -> list[int]:
        """Which of the tasks these are."""
        return [self.angles.index(angle) for angle in angles]

    def features(self, lams: dict[float, float]) -> dict[str, Tensor]:
        """{layer: (tasks · images, width)} of θ₀ + Σ λ_t τ_t, for {angle: λ}."""
        return self.family.average([0, *self.places(*lams)], shares_of(list(lams.values())))

    def in_features(self, lams: dict[float, float]) -> Tensor:
        """f(θ₀) + Σ λ_t·(f(θ_t) − f(θ₀)) in the output layer, (tasks · images, classes).

        The same point, computed with outputs instead of weights.
        """
        return self.family.ensemble([0, *self.places(*lams)], shares_of(list(lams.values())))

    def base(self) -> dict[str, Tensor]:
        """{layer: (tasks · images, width)} of θ₀."""
        return {layer: feature[0] for layer, feature in self.family.features.items()}

    def accuracy(self, logits: Tensor) -> np.ndarray:
        """Share correct on each task, (tasks,), from logits (tasks · images, classes) of all or some tasks."""
        answers = logits.argmax(1).view(-1, len(self.y))
        return (answers == self.y).double().mean(1).numpy()

    def accuracy_of(self, lams: dict[float, float]) -> np.ndarray:
        """Share correct of θ₀ + Σ λ_t τ_t on each task, (tasks,)."""
        return self.accuracy(self.features(lams)["output"])

    def own(self) -> list[np.ndarray]:
        """Share correct of every network itself on each task, (tasks,) a network."""
        return [self.accuracy(logits) for logits in self.family.features["output"]]

    def of(self, values: Tensor, *angles: float) -> Tensor:
        """The rows of (tasks · images, …) that belong to the images of some tasks, one after the other."""
        parts = values.view(len(self.angles), -1, *values.shape[1:])
        return torch.cat([parts[place] for place in self.places(*angles)])
