"""How finetuning moves: the regularised step, its limit, and the rule that switches the regulariser on and off (LFT §3,
Lemma 3 and Theorem 1).

R̃(θ) = ‖f_θ(x*) − y*‖² is a sum over the n samples, r = f_θ(x*) − y*, u = θ − θ_0, and g = ∇R̃ = 2Jᵀr. The penalty is
(λ/2)‖u‖².
"""
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from lessons.linearization.algorithms.networks import Inputs, Net, Weights

Number = float | Tensor


def error(net: Net, theta: Weights, x: Inputs, y: Float[Tensor, " samples"]) -> Float[Tensor, "..."]:
    """R̃ = ‖f_θ(x) − y‖² of a network with one output: a sum over samples."""
    return (net(theta, x).squeeze(-1) - y).square().sum(-1)


def error_and_gradient(net: Net, theta: Weights, x: Inputs,
                       y: Float[Tensor, " samples"]) -> tuple[Float[Tensor, "..."], Weights]:
    """R̃ and ∇R̃ = 2Jᵀr of a network with one output."""
    trace = net.trace(theta, x)
    r = trace.outputs - y[:, None]
    return r.square().sum((-2, -1)), trace.back(2 * r)


def pulled(gradient: Weights, u: Weights) -> Float[Tensor, "..."]:
    """s = ⟨∇R̃, θ − θ_0⟩, by whose sign the rule decides."""
    return (gradient * u).sum(-1)


def rule(gradient: Weights, u: Weights) -> Tensor:
    """Whether the rule has the regulariser on: where s = ⟨∇R̃, θ − θ_0⟩ ≥ 0, that is, where plain gradient descent is
    already on its way back to θ_0 (LFT, Theorem 1)."""
    return pulled(gradient, u) >= 0


def largest_harmless(lam: Number, gradient: Weights, u: Weights) -> Tensor:
    """The largest λ_t ≤ λ for which R̃ does not rise: λ where s ≥ 0, else min(λ, ‖g‖²/(−s)).

    From dR̃/dt = −‖g‖² − λ_t·s, which is at most 0 as long as λ_t·(−s) ≤ ‖g‖².
    """
    s = pulled(gradient, u)
    lam = torch.as_tensor(lam, dtype=s.dtype)
    allowed = gradient.square().sum(-1) / (-s).clamp_min(torch.finfo(s.dtype).tiny)
    return torch.where(s >= 0, lam, lam.minimum(allowed))


def step(theta: Weights, theta_0: Weights, gradient: Weights, eta: float, lam: Number) -> Weights:
    """θ̃ = θ − η·∇R̃, then θ̃ − λη·(θ̃ − θ_0): the step of LFT §2, where weight decay towards θ_0 is decoupled from the
    gradient.

    Args:
        lam: λ; one a run where it is a tensor, (…, 1).

    Raises:
        ValueError: λη is not between 0 and 2: at 1 every step ends in θ_0, above 1 it jumps over it, and from 2 on it
            ends farther away on the other side than it began.
    """
    checked_pull(lam, eta)
    moved = theta - eta * gradient
    return moved - eta * lam * (moved - theta_0)


def checked_pull(lam: Number, eta: float) -> None:
    """Refuse a λη with which the pull does not bring θ nearer to θ_0.

    Raises:
        ValueError: λη < 0 or λη ≥ 2.
    """
    least, largest = (eta * bound.item() for bound in torch.as_tensor(lam).aminmax())
    if least < 0 or largest >= 2:
        raise ValueError(f"λη must be at least 0 and less than 2, not {least if least < 0 else largest:g}: what is "
                         f"left of θ − θ_0 after a step is 1 − λη of it. With η = {eta:g}, λ may be up to {2 / eta:g}")


def flow(field: Callable[[Weights], Weights], theta: Weights, times: list[float], h: float) -> list[Weights]:
    """The solution of dθ/dt = field(θ) at the given times, by steps of at most h of Runge and Kutta's method of fourth
    order.

    Args:
        times: ascending, from 0 on.
    """
    states, time = [], 0.0
    for until in times:
        count = max(0, -int((time - until) / h // 1)) if until > time else 0
        for _ in range(count):
            theta = runge_kutta(field, theta, (until - time) / count)
        states.append(theta)
        time = until
    return states


def runge_kutta(field: Callable[[Weights], Weights], theta: Weights, h: float) -> Weights:
    """One step of the classical method of fourth order."""
    first = field(theta)
    second = field(theta + h / 2 * first)
    third = field(theta + h / 2 * second)
    fourth = field(theta + h * third)
    return theta + h / 6 * (first + 2 * second + 2 * third + fourth)


def regularised(net: Net, theta_0: Float[Tensor, " parameters"], x: Inputs, y: Float[Tensor, " samples"],
                lam: Number) -> Callable[[Weights], Weights]:
    """θ ↦ −∇R̃ − λ(θ − θ_0): what the steps become for η → 0 (LFT, Lemma 3)."""
    return lambda theta: -error_and_gradient(net, theta, x, y)[1] - lam * (theta - theta_0)


def linear_flow(kappa: Float[Tensor, " n"], rho: Float[Tensor, " n"], lam: Number,
                t: Number) -> Float[Tensor, "... n"]:
    """How far the tangent has come by time t, in closed form: ū = J_0ᵀ·U·a.

    In the eigendirections of K = J_0J_0ᵀ the flow splits into da/dt = −(2κ + λ)·a − 2ρ.

    Args:
        kappa: eigenvalues κ of K.
        rho: Uᵀ·r_0, the first residual in the eigendirections.
        lam, t: numbers, or tensors (…, 1).

    Returns:
        a.
    """
    rate = 2 * kappa + lam
    t = torch.as_tensor(t, dtype=kappa.dtype)
    # (1 − e^(−rate·t))/rate, also where the rate is 0
    grown = torch.where(rate * t > 1e-12, -torch.expm1(-rate * t) / rate.clamp_min(1e-300), t + 0 * rate)
    return -2 * rho * grown


def linear_walk(kappa: Float[Tensor, " n"], rho: Float[Tensor, " n"], lam: Number, eta: float,
                steps: int) -> Float[Tensor, "... n"]:
    """The same after some of the steps of `step` in place of a time: a → (1 − λη)(a − 2η(ρ + κa)) from 0.

    In every eigendirection that is a geometric series with the factor (1 − λη)(1 − 2ηκ).

    Raises:
        ValueError: λη is negative, or 2 or more (`checked_pull`).
    """
    checked_pull(lam, eta)
    left = (1 - eta * torch.as_tensor(lam, dtype=kappa.dtype))
    factor = left * (1 - 2 * eta * kappa)
    first = -2 * eta * left * rho
    grown = torch.where((1 - factor).abs() > 1e-12, (1 - factor ** steps) / (1 - factor), steps + 0 * factor)
    return first * grown
