"""Which layers to tune: rules that look at the kernel at θ_0 alone (LFT §5), each building a set layer by layer."""
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lessons.linearization.algorithms import adding
from lessons.linearization.algorithms.kernel import Kernel, Vector, condition, risk, spectrum

# (kernel of the layers so far, block of the candidate, residual, σ, weights of the candidate) -> larger is better
Score = Callable[[Kernel, Kernel, Vector, float, int], float]


def _eta(kernel, block, residual, sigma, weights):
    return adding.relative_size(kernel, block, sigma)


def _condition(kernel, block, residual, sigma, weights):
    return -condition(torch.linalg.eigvalsh(kernel + block).clamp_min(0), sigma).item()


def _risk(kernel, block, residual, sigma, weights):
    kappa, shares = spectrum(kernel + block, residual)
    return -risk(kappa, shares ** 2, sigma).item()


SCORES: dict[str, Score] = {
    "largest η": _eta,
    "smallest κ": _condition,
    "largest η/κ": lambda *given: -_eta(*given) / _condition(*given),
    "smallest risk": _risk,
    "largest trace": lambda kernel, block, residual, sigma, weights: block.trace().item(),
    "most weights": lambda kernel, block, residual, sigma, weights: weights}


def chosen(score: Score, blocks: Float[Tensor, "layers n n"], residual: Vector, sigma: float,
           weights: Sequence[int]) -> list[int]:
    """All layers in the order in which a rule takes them, one by one; of equals it takes the earlier.

    Args:
        blocks: every layer's part of the kernel.
        residual: y − f_0.
        sigma: σ.
        weights: how many weights each layer has.
    """
    order, kernel = [], torch.zeros_like(blocks[0])
    while len(order) < len(blocks):
        left = [layer for layer in range(len(blocks)) if layer not in order]
        best = max(left, key=lambda layer: (score(kernel, blocks[layer], residual, sigma, weights[layer]), -layer))
        order.append(best)
        kernel = kernel + blocks[best]
    return order
