"""Theorem 2 of TVG: how long the second-order term can be. As printed, and with what its proof really gives."""
import math
from collections.abc import Sequence

import torch

from lessons.gradients.algorithms.expansion import mismatch


def printed_bound(alpha: float, num_tasks: int, steps: int, hessian: float, gradient: float) -> float:
    """T·k(k − 1)/2·|αT − 1|·H·G for the source's C after k steps (TVG, Theorem 2 with h = k − 2). It is 0 at α = 1/T.
    """
    return num_tasks * steps * (steps - 1) / 2 * abs(alpha * num_tasks - 1) * hessian * gradient


def appendix_bound(alpha: float, num_tasks: int, steps: int, hessian: float, gradient: float) -> float:
    """T·k(k − 1)/2·|α(T + 1) − 1|·H·G: the same bound as the proof in the appendix ends it (TVG, Eq. 24 and 25). It is
    0 at α = 1/(T + 1).
    """
    return num_tasks * steps * (steps - 1) / 2 * abs(alpha * (num_tasks + 1) - 1) * hessian * gradient


def corrected_bound(alpha: float, num_tasks: int, steps: int, hessian: float, gradient: float) -> float:
    """T·k(k − 1)/2·(α(T − 1) + |1 − α|)·H·G: the triangle inequality applied to r_t = α·Σ_{t'≠t} ∇L_t' − (1 − α)·∇L_t,
    one task at a time.

    Args:
        alpha: at least 0.
        num_tasks, steps: T and k.
        hessian: H, the largest ‖∇²L_t‖ along the joint path.
        gradient: G, the largest ‖∇L_t‖ there.
    """
    return num_tasks * steps * (steps - 1) / 2 * (alpha * (num_tasks - 1) + abs(1 - alpha)) * hessian * gradient


def tight_bound(alpha: float, num_tasks: int, steps: int, hessian: float, gradient: float) -> float:
    """T·k(k − 1)/2·max(1, |αT − 1|)·H·G: the least that H and G alone allow.

    With S = Σ_t ∇L_t, Σ_t ‖αS − ∇L_t‖² = Σ_t ‖∇L_t‖² − α(2 − αT)·‖S‖². That is at most T·G² up to α = 2/T and
    T·G²·(αT − 1)² above, and Σ_t ‖r_t‖ is at most √T times its root. Gradients that cancel reach the first, equal ones
    the second.

    Args:
        alpha: at least 0.
        num_tasks: T, at least 2; one task's gradient cannot cancel.
        steps, hessian, gradient: as in `corrected_bound`.
    """
    return num_tasks * steps * (steps - 1) / 2 * max(1, abs(alpha * num_tasks - 1)) * hessian * gradient


def longest(alpha: float, num_tasks: int, size: int = 8, steps: int = 500, seed: int = 0) -> float:
    """The largest mean ‖r_t‖ over the tasks that was found among gradients of length 1, by ascent from a random start:
    what the factor of G in a bound must reach at least.

    Args:
        size: entries of a gradient.
    """
    generator = torch.Generator().manual_seed(seed)
    gradients = torch.randn(num_tasks, size, generator=generator, dtype=torch.float64)
    for step in range(steps):
        gradients = gradients / gradients.norm(dim=1, keepdim=True)
        r = mismatch(gradients, alpha)
        ways = r / r.norm(dim=1, keepdim=True).clamp_min(1e-12)
        gradients = gradients + (1 - step / steps) * mismatch(ways, alpha)  # mismatch is linear, and its own transpose
    return mismatch(gradients / gradients.norm(dim=1, keepdim=True), alpha).norm(dim=1).mean().item()


def printed_gradient_bound(norms: Sequence[float], reach: float, beta: float) -> float:
    """√2·M_x·Π·β^(L−1) with Π the product of all ‖W_l‖ (TVG, Theorem 2)."""
    return math.sqrt(2) * reach * math.prod(norms) * beta ** (len(norms) - 1)


def gradient_bound(norms: Sequence[float], reach: float, beta: float) -> float:
    """√2·M_x·β^(L−1)·√(Σ_l Π_{j≠l} ‖W_j‖²): a layer's own weights are no factor of the derivative by them, and the
    layers add up.

    Args:
        norms: the spectral norms ‖W_1‖ … ‖W_L‖.
        reach: M_x, the longest input.
        beta: the largest slope of the activation, which is 0 at 0.
    """
    others = [math.prod(norms[:l] + norms[l + 1:]) for l in range(len(norms))]
    return math.sqrt(2) * reach * beta ** (len(norms) - 1) * math.sqrt(sum(product ** 2 for product in others))


def printed_hessian_bound(norms: Sequence[float], reach: float, beta: float, gamma: float) -> float:
    """2·γ·M_x²·Π²·β^(2L−2) (TVG, Theorem 2): 0 for a linear network, whose Hessian is not."""
    return 2 * gamma * reach ** 2 * math.prod(norms) ** 2 * beta ** (2 * len(norms) - 2)


def hessian_bound(norms: Sequence[float], reach: float, beta: float, gamma: float) -> float:
    """½·J² + √2·D: a bound of the cross-entropy's Hessian away from kinks, J and D bounding the network's first and
    second derivative.

    Along a direction of length 1 in the weights, h = W·a gives |dh| ≤ |dW|·|a| + ‖W‖·|da| and
    |d²h| ≤ 2|dW|·|da| + ‖W‖·|d²a|; behind the activation |da| ≤ β|dh| and |d²a| ≤ γ|dh|² + β|d²h|. Every layer's |dW|
    is taken as 1, which is more than there is. ½ is the largest eigenvalue of diag(p) − ppᵀ, √2 the longest
    p − one-hot.
    """
    a, first, second = reach, 0.0, 0.0
    for number, norm in enumerate(norms):
        first, second, a = a + norm * first, 2 * first + norm * second, norm * a
        if number < len(norms) - 1:
            a, first, second = beta * a, beta * first, gamma * first ** 2 + beta * second
    return (gradient_bound(norms, reach, beta) ** 2 / 2) / 2 + math.sqrt(2) * second
