"""What task vectors of one tensor have to do with each other: lengths, angles, signs, spectra and row spaces. Each
matrix is decomposed once.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from lessons.merging.lowrank import factors, meant_pair, rank_of
from lessons.merging.sparse import bounds
from lessons.merging.states import PIECE, flat

RATIOS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)  # ranks kept, as shares of the shorter side


def inner_products(stack: Float[Tensor, " tasks *shape"]) -> Float64[Tensor, "tasks tasks"]:
    """⟨τ_i, τ_j⟩ for all pairs, in float64."""
    total = torch.zeros(len(stack), len(stack), dtype=torch.float64)
    for piece in flat(stack).split(8 * PIECE, 1):
        wide = piece.double()
        total += (wide @ wide.T).cpu()
    return total


def cosines(inner: Float64[Tensor, "*some tasks tasks"]) -> Float64[Tensor, "*some tasks tasks"]:
    """Cosines from inner products; NaN with a vector of length 0, which has no direction."""
    lengths = inner.diagonal(dim1=-2, dim2=-1).sqrt()
    quotients = inner / (lengths[..., :, None] * lengths[..., None, :])
    return torch.where(quotients.isfinite(), quotients.clamp(-1, 1), torch.nan)


@dataclass(frozen=True)
class Signs:
    """How far tasks agree on where an entry should go.

    Attributes:
        disagree: the share of entries, among those that at least two tasks change, that some push up and some down.
        against: Σ|τ_t| that points against the elected sign sgn(Σ τ_t), as a share of all Σ|τ_t|: what TIES leaves out
            when it elects signs. 0 where all agree, ½ at most; NaN where nothing has moved.
    """
    disagree: float
    against: float


def signs(stack: Float[Tensor, " tasks *shape"]) -> Signs:
    """Sign conflicts of task vectors."""
    changed = disagree = 0
    against = total = 0.0
    for piece in flat(stack).split(PIECE, 1):
        up, down = (piece > 0).sum(0), (piece < 0).sum(0)
        changed += int((up + down > 1).sum())
        disagree += int(((up > 0) & (down > 0)).sum())
        size = piece.abs().sum(0, dtype=torch.float64)
        total += float(size.sum())
        against += float((size - piece.sum(0, dtype=torch.float64).abs()).sum() / 2)
    return Signs(disagree / changed if changed else 0.0, against / total if total else float("nan"))


def by_chance(stack: Float[Tensor, " tasks *shape"], most: int = 100_000) -> Signs:
    """`signs` of the same magnitudes with signs drawn at random: of tasks that do not agree on where an entry goes, but
    move the same entries, as far as these do. Of more entries than `most`, evenly spaced ones are looked at.
    """
    entries = flat(stack)
    some = entries[:, ::max(1, math.ceil(entries.shape[1] / most))]
    coins = torch.randint(2, some.shape, generator=torch.Generator().manual_seed(0), device="cpu").to(some.device)
    return signs(some * (2 * coins - 1))


@dataclass(frozen=True)
class Spectrum:
    """A matrix's singular values, and the strongest of its right singular vectors.

    Attributes:
        sigma: all of them, largest first.
        rows: Σ Vᵀ of the leading ones, (kept, n).
    """
    sigma: Float64[Tensor, " r"]
    rows: Float[Tensor, "kept n"]


def spectrum(matrix: Float[Tensor, "m n"], kept: int) -> Spectrum:
    """Singular values and leading rows Σ Vᵀ, from the eigenvectors of the smaller of A·Aᵀ and Aᵀ·A.

    Squaring costs half of the digits: in float64 eight are left, as many as float32 weights have.
    """
    wide = matrix.double()
    tall = len(wide) > wide.shape[1]
    values, vectors = torch.linalg.eigh(wide.T @ wide if tall else wide @ wide.T)
    sigma = values.flip(0).clamp(min=0).sqrt()
    leading = vectors.flip(1)[:, :kept]
    rows = sigma[:kept, None] * leading.T if tall else leading.T @ wide
    return Spectrum(sigma, rows.float())


def energy(sigma: Float64[Tensor, " r"], ratios: Sequence[float]) -> list[float]:
    """‖SVD_k(A)‖²/‖A‖² for k = ⌈ratio · r⌉; NaN of a zero matrix."""
    squares = sigma.square().cumsum(0)
    return [(squares[max(0, rank_of(ratio, len(sigma), "ceil") - 1)] / squares[-1]).item() for ratio in ratios]


def stable_rank(sigma: Float64[Tensor, " r"]) -> float:
    """‖A‖_F²/σ₁²: how many equally strong directions the matrix would have; NaN of a zero matrix."""
    return (sigma.square().sum() / sigma[0].square()).item()


def overlaps(spectra: Sequence[Spectrum], ratios: Sequence[float]) -> list[float]:
    """Row-space interference at every ratio: the mean over pairs of ‖Σ̃_i Ṽ_i Ṽ_jᵀ Σ̃_j‖_F (CART, Eq. 5, as it must be
    meant; CART sums over ordered pairs). Singular values are divided by ‖τ‖_F, over all of them.

    Zero matrices, which have no rows, are left out; NaN where fewer than two are left.
    """
    there = [spectrum for spectrum in spectra if spectrum.sigma[0] > 0]
    ranks = [rank_of(ratio, len(spectra[0].sigma), "ceil") for ratio in ratios]
    total = torch.zeros(len(ratios), dtype=torch.float64)
    pairs = 0
    for i, spectrum in enumerate(there):
        for other in there[:i]:
            # meant_pair divides by the norm of the rows that it is given, here not all of them
            share = spectrum.rows.norm() * other.rows.norm() / (spectrum.sigma.norm() * other.sigma.norm())
            by_rank = meant_pair(spectrum.rows, other.rows) * share
            total += torch.stack([by_rank[rank - 1] for rank in ranks]).double()
            pairs += 1
    return (total / pairs).tolist() if pairs else [float("nan")] * len(ratios)


def trimmed(vector: Float[Tensor, "*shape"], density: float) -> Float[Tensor, "*shape"]:
    """The entries of largest magnitude, `density` of them, and 0 elsewhere: TIES's first step, in one tensor."""
    if density == 1:
        return vector.clone()
    low, _ = bounds(vector.abs().flatten().numpy().copy(), density)
    return vector * (vector.abs() >= float(low[0]))


def truncations(matrix: Float[Tensor, "m n"], ratios: Sequence[float]) -> Float[Tensor, "ratios m n"]:
    """SVD_k for every ratio of k to the shorter side, from one decomposition; ratio 1 is the matrix itself."""
    size = min(matrix.shape)
    ranks = [rank_of(ratio, size, "ceil") for ratio in ratios]
    left, right = factors(matrix, max([rank for rank in ranks if rank < size], default=0))
    truncated = [matrix if rank >= size else (left[:, :rank] @ right[:rank]).float() for rank in ranks]
    return torch.stack(truncated)
