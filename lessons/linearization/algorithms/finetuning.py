"""Finetuning with mini-batches and cross-entropy, of a network or of its tangent, with the pull towards θ_0 that LFT §2
takes apart from the gradient (decoupled weight decay; towards θ_0 it is known as L2-SP, Li et al. 2018)."""
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from lessons.linearization.algorithms.dynamics import checked_pull
from lessons.linearization.algorithms.networks import Inputs, Net, Trace

SGD, ADAM = "SGD", "Adam"
_MEAN, _SQUARE, _EPS = 0.9, 0.999, 1e-8  # Adam's


@dataclass(frozen=True)
class Plan:
    """How finetuning goes, but for λ.

    Attributes:
        optimiser: SGD or ADAM.
        lr: η.
        passes: over the samples.
        batch: samples a step.
        seed: of the samples' order.
    """
    optimiser: str = SGD
    lr: float = 0.1
    passes: int = 1
    batch: int = 64
    seed: int = 0

    def steps(self, samples: int) -> int:
        """How many steps that makes."""
        return self.passes * -(-samples // self.batch)


def finetuned(net: Net, theta_0: Float[Tensor, " parameters"], x: Inputs, y: Int64[Tensor, " samples"], plan: Plan,
              lam: float = 0.0, linear: bool = False, marks: Sequence[int] = ()) -> dict[int, Tensor]:
    """The weights after some steps, {step: θ}; the last step is always among them.

    Args:
        x, y: samples and their labels.
        lam: λ of the pull, after every step: θ − θ_0 shrinks by 1 − λη.
        linear: whether the tangent is trained in the network's place.
        marks: steps after which the weights are kept.

    Raises:
        ValueError: λη is negative, or 2 or more, or the labels are not numbers of outputs.
    """
    checked_pull(lam, plan.lr)
    checked_labels(y, net.widths[-1])
    trace_of = _of_tangent(net, theta_0, x) if linear else lambda theta, some: net.trace(theta, x[some])
    one_hot = F.one_hot(y, net.widths[-1]).to(theta_0.dtype)
    theta, direction = theta_0.clone(), _direction(plan.optimiser, theta_0)
    at_marks, count = {}, 0
    order = torch.Generator().manual_seed(plan.seed)
    for _ in range(plan.passes):
        for some in torch.randperm(len(x), generator=order).split(plan.batch):
            trace = trace_of(theta, some)
            gradient = trace.back((trace.outputs.softmax(-1) - one_hot[some]) / len(some))
            count += 1
            theta.sub_(direction(gradient, count), alpha=plan.lr)
            theta.sub_(theta - theta_0, alpha=plan.lr * lam)
            if count in marks:
                at_marks[count] = theta.clone()
    return at_marks | {count: theta}


def _of_tangent(net, theta_0, x):
    """(θ, rows) -> the tangent's answers there, with θ_0's slopes and layers' inputs, which its gradient needs."""
    at_start = net.trace(theta_0, x)

    def trace(theta, some):
        rows = at_start.rows(some)
        return Trace(net, rows.weights, rows.inputs, rows.slopes, rows.outputs + rows.along(theta - theta_0))
    return trace


def _direction(optimiser, like):
    """(gradient, step's number) -> where to go, over the step size."""
    if optimiser == SGD:
        return lambda gradient, count: gradient
    mean, square = torch.zeros_like(like), torch.zeros_like(like)

    def adam(gradient, count):
        mean.lerp_(gradient, 1 - _MEAN)
        square.lerp_(gradient.square(), 1 - _SQUARE)
        size = (square / (1 - _SQUARE ** count)).sqrt() + _EPS
        return mean / (1 - _MEAN ** count) / size
    return adam


def checked_labels(y: Tensor, outputs: int) -> None:
    """Refuse labels that are not numbers of outputs.

    Raises:
        ValueError: as said.
    """
    if y.ndim != 1 or y.is_floating_point():
        raise ValueError(f"labels must be whole numbers, one a sample, not {y.dtype} of shape {tuple(y.shape)}")
    if y.min() < 0 or y.max() >= outputs:
        raise ValueError(f"labels must lie between 0 and {outputs - 1}, the network's outputs, and go from "
                         f"{y.min().item()} to {y.max().item()}")
