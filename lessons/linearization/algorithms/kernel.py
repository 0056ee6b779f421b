"""The neural tangent kernel K = JJᵀ of a network with one output, layer by layer, and what ridge regression with it
predicts of finetuning (LFT §4)."""
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lessons.linearization.algorithms.networks import Inputs, Net, Trace, checked_layers

Kernel = Float[Tensor, "n n"]
Vector = Float[Tensor, " n"]
MOST_BYTES = 10 ** 9  # that the blocks of a kernel may take; more is refused before anything is made


def layer_kernel(delta: Float[Tensor, "n out"], h: Float[Tensor, "n inputs"],
                 delta_b: Float[Tensor, "m out"] | None = None,
                 h_b: Float[Tensor, "m inputs"] | None = None) -> Float[Tensor, "n m"]:
    """One layer's part of the kernel, (δδᵀ)∘(hhᵀ + 1): the 1 is the bias's.

    The gradient by W_l of one answer is δ·hᵀ, an outer product, and ⟨δhᵀ, δ'h'ᵀ⟩ = ⟨δ, δ'⟩·⟨h, h'⟩.

    Args:
        delta: ∂f/∂z_l of every sample.
        h: the layer's input.
        delta_b, h_b: of other samples; left out, the same ones.
    """
    other_delta = delta if delta_b is None else delta_b
    other_h = h if h_b is None else h_b
    return (delta @ other_delta.mT) * (h @ other_h.mT + 1)


def blocks(net: Net, theta: Float[Tensor, " parameters"], x: Inputs,
           other: Float[Tensor, "others inputs"] | None = None) -> Float[Tensor, "layers samples _"]:
    """Every layer's part of the kernel between samples x and `other`, or x itself. K is their sum.

    Raises:
        ValueError: the network has more than one output, or the blocks need more than a gigabyte; the message says how
            many samples fit.
    """
    if net.widths[-1] != 1:
        raise ValueError(f"this kernel is that of a network with one output, and this one has {net.widths[-1]}: take "
                         "one logit, or a network with a scalar target")
    checked_size(len(net.sizes), len(x), len(x if other is None else other))
    of_x = _deltas_and_inputs(net.trace(theta, x))
    of_other = of_x if other is None else _deltas_and_inputs(net.trace(theta, other))
    return torch.stack([layer_kernel(*layer, *other_layer) for layer, other_layer in zip(of_x, of_other)])


def _deltas_and_inputs(trace: Trace):
    deltas = trace.deltas(torch.ones_like(trace.outputs))
    return list(zip(deltas, trace.inputs))


def checked_size(layers: int, n: int, m: int) -> None:
    """Refuse a kernel that is too large.

    Raises:
        ValueError: its blocks need more than `MOST_BYTES`; the message says how many samples fit.
    """
    needed = 8 * (layers + 2) * n * m  # the products on the way need two more
    if needed > MOST_BYTES:
        fit = int((MOST_BYTES / (8 * (layers + 2))) ** 0.5)
        fewer = fit if n == m else int(MOST_BYTES / (8 * (layers + 2) * min(n, m)))
        raise ValueError(f"the kernel's {layers} blocks of {n:,} × {m:,} need {needed / 1e9:.1f} GB, at most "
                         f"{MOST_BYTES / 1e9:g} are allowed: {fewer:,} samples fit. Or use `product`, which makes no "
                         "block whole")


def product(net: Net, theta: Float[Tensor, " parameters"], x: Inputs, v: Vector, rows: int = 1000,
            chosen: Sequence[int] | None = None) -> Vector:
    """K·v without K: so many rows of it at a time, for more samples than a kernel fits.

    Args:
        chosen: the layers that are tuned, counted from 0; None for all.
    """
    factors = _deltas_and_inputs(net.trace(theta, x))
    numbers = range(len(factors)) if chosen is None else chosen
    checked_layers(numbers, len(factors))
    parts = []
    for some in torch.arange(len(x)).split(rows):
        parts.append(sum(layer_kernel(factors[l][0][some], factors[l][1][some], *factors[l]) @ v for l in numbers))
    return torch.cat(parts)


def of_layers(parts: Float[Tensor, "layers n m"], chosen: Sequence[int]) -> Float[Tensor, "n m"]:
    """The kernel when only some layers are tuned: the sum of their blocks.

    Args:
        chosen: their numbers, from 0.

    Raises:
        ValueError: none is chosen, or one that does not exist.
    """
    checked_layers(chosen, len(parts))
    return parts[list(chosen)].sum(0)


# -- ridge regression ------------------------------------------------------------------------------

def coefficients(kernel: Tensor, y: Tensor, f_0: Tensor, lam: float) -> Vector:
    """α = (K + n·λ/2·I)⁻¹(y − f_0): where finetuning the tangent ends on the *mean* squared error with penalty
    (λ/2)‖u‖². Its answers are f_0(x) + K(x, x*)·α (LFT §4; the slides lose n and f_0).

    Args:
        kernel: K (n, n).
        y, f_0: (n,).

    Raises:
        ValueError: λ < 0, or K is not symmetric, or y and f_0 are not one number a sample.
    """
    return solve(kernel, y, f_0, len(kernel) * lam / 2)


def solve(kernel: Tensor, y: Tensor, f_0: Tensor, sigma: float) -> Vector:
    """α = (K + σI)⁻¹(y − f_0). σ is λ/2 for the sum of squared errors and n·λ/2 for their mean.

    Args, Raises: as `coefficients`.
    """
    checked(kernel, sigma)
    for name, labels in (("y", y), ("f_0", f_0)):
        if labels.shape != (len(kernel),):
            raise ValueError(f"{name} must hold one number a sample, shape ({len(kernel)},), not "
                             f"{tuple(labels.shape)}: this kernel is that of one output")
    eye = torch.eye(len(kernel), dtype=kernel.dtype)
    return torch.linalg.solve(kernel + sigma * eye, y - f_0)


def checked(kernel: Tensor, sigma: float = 0.0) -> None:
    """Refuse a matrix that is not a kernel, and a negative ridge.

    Raises:
        ValueError: K is not square, not symmetric or not finite; σ < 0.
    """
    if not sigma >= 0:
        raise ValueError(f"σ must not be negative, and it is {sigma!r}: it is a penalty's weight, and below 0 there "
                         "may be no minimum")
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1]:
        raise ValueError(f"a kernel is square, and this has the shape {tuple(kernel.shape)}")
    if not kernel.isfinite().all():
        raise ValueError("the kernel holds numbers that are not finite: did the network's training diverge?")
    asymmetry = (kernel - kernel.mT).abs().max().item()
    if asymmetry > 1e-6 * kernel.abs().max().item():
        raise ValueError("a kernel is symmetric, and this one is not: K and its transpose differ by up to "
                         f"{asymmetry:.2g}. Is it K(x, x') of two different sets of samples?")


def spectrum(kernel: Kernel, residual: Vector) -> tuple[Vector, Vector]:
    """(κ, c): K's eigenvalues, ascending, and the target in its eigendirections, c = Uᵀ(y − f_0).

    Raises:
        ValueError: K is not symmetric.
    """
    checked(kernel)
    kappa, directions = torch.linalg.eigh(kernel)
    return kappa.clamp_min(0), directions.mT @ residual


def risk(kappa: Vector, shares: Vector, sigma: float | Tensor) -> Tensor:
    """R̃ = Σ_i (σ/(σ + κ_i))²·c_i²: the training error that is left, exactly.

    A sum over samples; the mean is 1/n of it.

    Args:
        shares: c_i².
        sigma: a number, or a tensor (…, 1) for many at once.
    """
    return ((sigma / (sigma + kappa)) ** 2 * shares).sum(-1)


def risk_bounds(kappa: Vector, length: Tensor, sigma: float) -> tuple[Tensor, Tensor]:
    """(σ‖ỹ‖/(σ + κ_max))² and (σ‖ỹ‖/(σ + κ_min))², between which `risk` lies (LFT, Theorem 5, for the sum).

    Args:
        length: ‖ỹ‖, of the residual y − f_0.
    """
    return (sigma * length / (sigma + kappa.max())) ** 2, (sigma * length / (sigma + kappa.min())) ** 2


def penalised(kappa: Vector, shares: Vector, sigma: float | Tensor) -> Tensor:
    """Σ_i σ/(σ + κ_i)·c_i² = σ·ỹᵀ(K + σI)⁻¹ỹ: the least value of R̃ + σ‖u‖²."""
    return (sigma / (sigma + kappa) * shares).sum(-1)


def condition(kappa: Vector, sigma: float) -> Tensor:
    """κ(K + σI) = (κ_max + σ)/(κ_min + σ), the “regularised condition number” (LFT, after Theorem 5)."""
    return (kappa.max() + sigma) / (kappa.min() + sigma)
