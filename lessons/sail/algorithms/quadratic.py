"""Gradient descent on a quadratic loss ½·Σ aᵢ·eᵢ², where everything has a formula: which start is nearer, lower, faster
(SAIL, Thm. 2), and which share of two parents is best after T steps.

An error e = θ − θ* is (…, d), in the coordinates of the curvatures a (d,). A step multiplies eᵢ by 1 − η·aᵢ.
"""
import torch
from jaxtyping import Float, Float64
from torch import Tensor

Errors = Float[Tensor, "*starts d"]
Curvatures = Float[Tensor, " d"]
Losses = Float[Tensor, "*starts"]


def after(errors: Errors, curvatures: Curvatures, eta: float, steps: int) -> Float64[Tensor, "*starts d"]:
    """The errors after so many steps of gradient descent with step size η."""
    return errors.double() * (1 - eta * curvatures.double()) ** steps


def loss(errors: Errors, curvatures: Curvatures) -> Float64[Tensor, "*starts"]:
    """½·Σ aᵢ·eᵢ²."""
    return (curvatures.double() * errors.double() ** 2).sum(-1) / 2


def loss_after(errors: Errors, curvatures: Curvatures, eta: float, steps: int) -> Float64[Tensor, "*starts"]:
    """The loss after so many steps."""
    return loss(after(errors, curvatures, eta, steps), curvatures)


def rate_bound(first_loss: Losses, mu: float, eta: float, steps: int) -> Losses:
    """(1 − η·μ)ᵀ·first loss: what the loss is at most after T steps, μ the smallest curvature (SAIL, Eq. 6)."""
    return (1 - eta * mu) ** steps * first_loss


def distance_bound(distance: Losses, largest: float) -> Losses:
    """L/2·distance²: what the loss is at most, L the largest curvature (SAIL, Eq. 7)."""
    return largest / 2 * distance ** 2


def best_share(error_1: Float[Tensor, " d"], error_2: Float[Tensor, " d"], curvatures: Curvatures, eta: float,
               steps: int) -> float:
    """The γ with which γ·θ₁ + (1 − γ)·θ₂ has the lowest loss after so many steps: ⟨e₂ − e₁, e₂⟩/‖e₁ − e₂‖², inner
    products weighted by aᵢ·(1 − η·aᵢ)²ᵀ.

    Raises:
        ValueError: the two parents are equal in all that is still felt after so many steps.
    """
    a = curvatures.double()
    weight = a * (1 - eta * a) ** (2 * steps)
    e1, e2 = error_1.double(), error_2.double()
    squared_length = (weight * (e1 - e2) ** 2).sum()
    if squared_length == 0:
        raise ValueError("after so many steps both parents give the same: every share is best")
    return ((weight * (e2 - e1) * e2).sum() / squared_length).item()


def spectrum(d: int, condition: float) -> Float64[Tensor, " d"]:
    """d curvatures from 1 down to 1/condition, equally spaced on a logarithmic scale.

    Raises:
        ValueError: the condition is below 1.
    """
    if condition < 1:
        raise ValueError(f"the condition is the largest curvature over the smallest, at least 1, not {condition!r}")
    return torch.logspace(0, -torch.log10(torch.tensor(float(condition))).item(), d, dtype=torch.float64)
