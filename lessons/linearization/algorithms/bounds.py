"""The bounds of LFT §3, as printed and as they hold: how far finetuning goes (Theorem 2), how far it ends from the
tangent that was trained beside it (Theorem 3), and the λ that keeps it in a ball (Theorem 4).

L1 bounds ‖J‖ (so it is a Lipschitz constant of f on the samples) and L2 bounds ‖∇²f‖ (of ∇f), along the path;
`initial` is ‖r_0‖, `current` is ‖r_t‖, the lengths of the residual f − y over all samples. λ and t are numbers or
tensors.
"""
import torch
from torch import Tensor

Number = float | Tensor


def elapsed(lam: Number, t: Number) -> Tensor:
    """∫₀ᵗ e^(−λ(t−s)) ds = (1 − e^(−λt))/λ, which is t for λ = 0."""
    lam, t = (torch.as_tensor(value, dtype=torch.float64) for value in (lam, t))
    return torch.where(lam > 0, -torch.expm1(-lam * t) / lam.clamp_min(1e-300), t)


def distance_printed(L1: Number, current: Number, lam: Number, t: Number) -> Tensor:
    """2·L1·‖r_t‖·(1 − e^(−λt))/λ (LFT, Theorem 2 as printed): with the error at time t. It tends to 0 for λ = 0, where
    ‖u‖ does not."""
    return 2 * L1 * current * elapsed(lam, t)


def distance_proved(L1: Number, initial: Number, lam: Number, t: Number) -> Tensor:
    """2·L1·‖r_0‖·(1 − e^(−λt))/λ: what the proof of Theorem 2 gives, with the error at the start."""
    return 2 * L1 * initial * elapsed(lam, t)


def distance_by_energy(initial: Number, lam: Number, current: Number = 0.0) -> Tensor:
    """√(2(‖r_0‖² − ‖r_t‖²)/λ), at most ‖r_0‖·√(2/λ): since R̃ + (λ/2)‖u‖² never rises. Infinite for λ = 0.

    Args:
        current: ‖r_t‖; left out, 0, which always holds.
    """
    initial, current, lam = (torch.as_tensor(value, dtype=torch.float64) for value in (initial, current, lam))
    return (2 * (initial ** 2 - current ** 2).clamp_min(0) / lam).sqrt()


def gap_printed(L1: Number, L2: Number, initial: Number, lam: Number, t: Number) -> Tensor:
    """b·(t − (1 − e^(−λt))/λ) with b = 2L1²‖r_0‖(4L2‖r_0‖/λ + 1) (LFT, Theorem 3): it grows with t for ever, and is
    not 0 for a linear network, whose gap is. NaN for λ = 0, where the formula has no value."""
    lam, t = (torch.as_tensor(value, dtype=torch.float64) for value in (lam, t))
    b = 2 * L1 ** 2 * initial * (4 * L2 * initial / lam + 1)
    return torch.where(lam > 0, b * (t - elapsed(lam, t)), torch.nan)


def gap_right(L1: Number, L2: Number, initial: Number, lam: Number, t: Number, farthest: Number) -> Tensor:
    """(1 − e^(−λt))/λ·(4L1L2D‖r_0‖ + ½λL2D²): Theorem 3 with the tangent's own pull kept. 0 for a linear network.

    Args:
        farthest: D, any bound of ‖u‖ up to time t.
    """
    lam = torch.as_tensor(lam, dtype=torch.float64)
    return elapsed(lam, t) * (4 * L1 * L2 * farthest * initial + lam * L2 * farthest ** 2 / 2)


def gap_inside(L1: Number, L2: Number, initial: Number, lam: Number, t: Number) -> Tensor:
    """∫₀ᵗ e^(−λ(t−s))·(4L1L2D(s)‖r_0‖ + ½λL2D(s)²) ds: `gap_right` with what bounds ‖u‖ at time s left inside the
    integral, D(s) = min(2L1‖r_0‖(1 − e^(−λs))/λ, ‖r_0‖√(2/λ)). NaN for λ = 0, which it does not need."""
    initial, lam, t = (torch.as_tensor(value, dtype=torch.float64) for value in (initial, lam, t))
    slope, most = 2 * L1 * initial, distance_by_energy(initial, lam)
    fills = lam * most / slope  # the share of its limit at which the first bound of ‖u‖ reaches the second
    until = torch.where(fills < 1, -torch.log1p(-fills.clamp_max(1 - 1e-16)) / lam, torch.inf).minimum(t)
    faded, x = (lam * (until - t)).exp() / lam, lam * until
    grows = slope / lam * faded * (-torch.expm1(-x) - x * (-x).exp())  # ∫ e^(−λ(t−s))·D(s) ds until then
    squares = (slope / lam) ** 2 * faded * (-torch.expm1(-2 * x) - 2 * x * (-x).exp())  # and of D(s)²
    after = elapsed(lam, t - until)
    return 4 * L1 * L2 * initial * (grows + most * after) + lam * L2 / 2 * (squares + most ** 2 * after)


def gap_trivial(current: Number, linear: Number) -> Number:
    """‖r_t‖ + ‖r̄_t‖: two models that both answer nearly right answer nearly alike."""
    return current + linear


def threshold(L1: Number, initial: Number, radius: Number) -> Number:
    """λ_0 = 2‖r_0‖L1/r: from there on ‖u‖ ≤ r for ever (LFT, Theorem 4)."""
    return 2 * initial * L1 / radius


def threshold_by_energy(initial: Number, radius: Number) -> Number:
    """2‖r_0‖²/r²: the same promise, from `distance_by_energy`; the smaller one where ‖r_0‖ < L1·r."""
    return 2 * initial ** 2 / radius ** 2


def share_kept(L1: Number, initial: Number, radius: Number) -> Number:
    """1/(1 + L1·r/‖r_0‖): at λ_0 the tangent keeps at least this share of its error, however long it is trained.

    λ_0/(λ_0 + 2κ_max) with κ_max ≤ L1².
    """
    return 1 / (1 + L1 * radius / initial)
