"""Row-space interference I(k) and reconstruction error R(k) of the task vectors of one weight matrix (CART, Eq. 5 and
7).

For τ_t = U_t Σ_t V_tᵀ, Σ̃_t are the singular values divided by ‖τ_t‖_F and Ṽ_t the first k right singular vectors as
rows, (k, n): the only shape with which Eq. 5 can be multiplied out.
"""
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from lessons.merging.lowrank import meant_pair


def printed_pair(sigma_i: Float[Tensor, " r"], sigma_j: Float[Tensor, " r"]) -> Float[Tensor, " r"]:
    """One term of I(k) as Eq. 5 prints it, ‖Ṽ_iᵀ Σ̃_i Σ̃_j Ṽ_j‖_F, for k = 1 … r: it is (Σ_{r≤k} σ̃_ir² σ̃_jr²)^½.

    The rows of Ṽ_i and Ṽ_j are orthonormal, and multiplying by such factors from outside changes no Frobenius norm. So
    the directions drop out.

    Args:
        sigma_i, sigma_j: singular values, largest first.
    """
    return (normalised(sigma_i) * normalised(sigma_j)).square().cumsum(0).sqrt()


def overlap(rows_i: Float[Tensor, "r n"], rows_j: Float[Tensor, "r n"], rank: int) -> float:
    """One term of I(k) as it must be meant, ‖Σ̃_i Ṽ_i Ṽ_jᵀ Σ̃_j‖_F: how far two row spaces overlap, weighted by
    singular values.

    At full rank it is ‖τ_i τ_jᵀ‖_F/(‖τ_i‖_F ‖τ_j‖_F): 0 where what one task vector reads from an input is invisible to
    the other.

    Args:
        rows_i, rows_j: Σ V, the rows of V orthonormal, the strongest first.
        rank: k.
    """
    inner = rows_i[:rank] @ rows_j[:rank].T
    return (inner.norm() / (rows_i.norm() * rows_j.norm())).item()


def normalised(sigma: Float[Tensor, " r"]) -> Float[Tensor, " r"]:
    """Singular values divided by their norm, which is ‖τ‖_F."""
    return sigma / sigma.norm()


def interference(rows: Float[Tensor, "tasks r n"], reading: str = "meant") -> Float[Tensor, " r"]:
    """I(k) for k = 1 … r: the terms of all ordered pairs of tasks added up (CART, Eq. 5).

    Args:
        rows: Σ_t V_tᵀ, the strongest row first, as `Spectra.rows` gives them.
        reading: "meant" or "printed".

    Raises:
        ValueError: another reading.
    """
    if reading not in ("meant", "printed"):
        raise ValueError(f"reading must be \"meant\" or \"printed\", not {reading!r}")
    sigmas = rows.norm(dim=2)
    total = torch.zeros(rows.shape[1], dtype=rows.dtype)
    for i in range(len(rows)):
        for j in range(i):
            total += 2 * (meant_pair(rows[i], rows[j]) if reading == "meant" else printed_pair(sigmas[i], sigmas[j]))
    return total


def reconstruction_error(sigmas: Float[Tensor, "tasks r"]) -> Float64[Tensor, " r+1"]:
    """R(k)/R(0) for k = 0 … r: Σ_t ‖τ_t − SVD_k(τ_t)‖_F² as a share of Σ_t ‖τ_t‖_F² (CART, Eq. 7).

    By Eckart and Young it is what the singular values behind the k-th hold: no truncation has to be carried out.

    Args:
        sigmas: largest first.
    """
    behind = sigmas.double().square().sum(0).flip(0).cumsum(0).flip(0)
    return torch.cat([behind, behind.new_zeros(1)]) / behind[0]
