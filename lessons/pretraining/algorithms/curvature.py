"""The curvature of a function of the weights, and what it has to do with linearity (CTL, Theorem 1).

A function f takes one vector θ (parameters,) and returns a number; `of_network` makes one of a network. Nothing here
ever holds a Hessian, which has parameters² entries: it is known by what it does to a vector.
"""
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor
from torch.func import functional_call

from toy_models import weights

Function = Callable[[Tensor], Tensor]
Vector = Float[Tensor, " parameters"]


def of_network(network: torch.nn.Module, measure: Callable[[Tensor], Tensor],
               x: Float[Tensor, "samples ..."]) -> tuple[Function, Vector]:
    """(θ ↦ measure(network with the weights θ, on x), the network's own θ).

    Args:
        measure: logits (samples, classes) -> a number.
        x: images.
    """
    state = {key: tensor.detach() for key, tensor in network.state_dict().items()}

    def f(theta):
        return measure(functional_call(network, weights.unflatten(theta, state), (x,)))
    return f, weights.flatten(state)


def cross_entropy(y: Int64[Tensor, " samples"]) -> Callable[[Tensor], Tensor]:
    """logits (samples, classes) -> mean cross-entropy (nats) against y."""
    return lambda logits: F.cross_entropy(logits, y)


def hessian_vector_product(f: Function, theta: Vector, vector: Vector) -> Vector:
    """∇²f(θ)·v without the Hessian: the gradient of ⟨∇f(θ), v⟩ (Pearlmutter 1994). A test compares it with
    `torch.func.hessian`.
    """
    theta = theta.detach().requires_grad_()
    slope, = torch.autograd.grad(f(theta), theta, create_graph=True)
    if not slope.requires_grad:  # f is linear
        return torch.zeros_like(vector)
    return torch.autograd.grad(slope, theta, vector)[0]


def power_iteration(product: Callable[[Tensor], Tensor], start: Float[Tensor, " n"], steps: int) -> float:
    """The largest absolute eigenvalue of a symmetric operator, by applying it again and again to a vector of length 1.

    Simple and slow: the error shrinks by the ratio of the two largest eigenvalues (squared) a step. `lanczos` uses the
    same products better.

    Args:
        product: v (n,) -> the operator applied to v.
        steps: products, at least 1.
    """
    vector = start / start.norm()
    for _ in range(steps):
        applied = product(vector)
        length = applied.norm()
        vector = applied / length
    return length.item()


@dataclass(frozen=True)
class Spectrum:
    """What Lanczos' method says of a symmetric operator's ends: `lowest` and `highest` eigenvalue, `norm` = the larger
    of their absolute values, the number of operator applications `steps`, and an `error`: some eigenvalue lies this
    close to ±norm.
    """
    lowest: float
    highest: float
    norm: float
    steps: int
    error: float


def lanczos(product: Callable[[Tensor], Tensor], start: Float[Tensor, " n"], most_steps: int = 100,
            tolerance: float = 1e-3) -> Spectrum:
    """The extreme eigenvalues of a symmetric operator that is known by its products (Lanczos 1950), with full
    re-orthogonalisation.

    Args:
        product: v (n,) -> the operator applied to v.
        start: any vector with a share of every eigenvector, for example a random one.
        most_steps: stop after so many products.
        tolerance: stop as soon as the error is this share of the norm.

    Raises:
        ValueError: the start is zero, or a product is not finite.
    """
    if not start.norm() > 0:
        raise ValueError("Lanczos' method needs a start that is not zero")
    basis = [start / start.norm()]
    diagonal = []
    beside = []
    for step in range(1, min(most_steps, len(start)) + 1):  # noqa: B007  how many there were is part of the result
        w = product(basis[-1])
        if not w.isfinite().all():
            raise ValueError("a product with the operator is not finite")
        diagonal.append(torch.dot(w, basis[-1]).item())
        for _ in range(2):  # once is not enough in floating point
            w = w - torch.stack(basis).T @ (torch.stack(basis) @ w)
        length = w.norm().item()
        off = torch.tensor(beside, dtype=torch.float64)
        middle = torch.tensor(diagonal, dtype=torch.float64)
        tridiagonal = torch.diag(middle) + torch.diag(off, 1) + torch.diag(off, -1)
        values, vectors = torch.linalg.eigh(tridiagonal)
        largest = values.abs().argmax()
        norm = values[largest].abs().item()
        error = length * vectors[-1, largest].abs().item()
        if error <= tolerance * norm or length == 0:
            break
        beside.append(length)
        basis.append(w / length)
    return Spectrum(values[0].item(), values[-1].item(), norm, step, error)


def spectrum(f: Function, theta: Vector, seed: int = 0, **options) -> Spectrum:
    """The extreme eigenvalues of ∇²f(θ). Theorem 1's λmax is `norm`: the proof bounds dᵀHd by ‖H‖‖d‖², so the largest
    *absolute* value counts.
    """
    start = torch.randn(len(theta), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(theta.dtype)
    return lanczos(lambda vector: hessian_vector_product(f, theta, vector), start, **options)


# -- Theorem 1 -------------------------------------------------------------------------------------

def deviation(f: Function, theta_i: Vector, theta_j: Vector, alpha: float) -> float:
    """α·f(θ_i) + (1 − α)·f(θ_j) − f(α·θ_i + (1 − α)·θ_j): how far f sags below the straight line; δ is its absolute
    value (CTL, Theorem 1).
    """
    return (alpha * f(theta_i) + (1 - alpha) * f(theta_j) - f(weights.mix(theta_i, theta_j, alpha))).item()


def second_order(f: Function, theta_0: Vector, theta_i: Vector, theta_j: Vector, alpha: float) -> float:
    """α(1 − α)/2 · (θ_i − θ_j)ᵀ∇²f(θ_0)(θ_i − θ_j): what `deviation` is where f is quadratic, exactly."""
    step = theta_i - theta_j
    return alpha * (1 - alpha) / 2 * torch.dot(step, hessian_vector_product(f, theta_0, step)).item()


def bound(largest: float, theta_i: Vector, theta_j: Vector, alpha: float) -> float:
    """α(1 − α)/2 · λmax · ‖θ_i − θ_j‖²: Theorem 1's bound without its unknown term E."""
    return alpha * (1 - alpha) / 2 * largest * torch.dot(theta_i - theta_j, theta_i - theta_j).item()


def curvature_along(f: Function, theta_0: Vector, direction: Vector) -> float:
    """dᵀ∇²f(θ_0)d / ‖d‖²: the curvature in one direction, never above λmax in absolute value."""
    bent = torch.dot(direction, hessian_vector_product(f, theta_0, direction))
    return (bent / torch.dot(direction, direction)).item()
