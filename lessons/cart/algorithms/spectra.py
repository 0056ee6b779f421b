"""Sums of truncated task vectors for every rank, from singular value decompositions that are done once (CART, §4.1)."""
import functools
import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from lessons.merging.lowrank import factors, rank_of
from lessons.merging.search import Merges, anew
from lessons.merging.states import by_tensor, mean, task_vectors, wide
from toy_models.weights import State, average


def centred(states: Sequence[State]) -> list[State]:
    """τ̄_t = θ_t − θ_avg, the task vectors that start at the average; they sum to zero (CART, Eq. 3).

    Args:
        states: θ_1 … θ_T. Tensors that are not floating-point are carried over.
    """
    origin = average(states)
    return [{key: tensor - origin[key] if tensor.is_floating_point() else tensor.clone()
             for key, tensor in state.items()} for state in states]


def truncated(matrix: Float[Tensor, "m n"], rank: int) -> Float[Tensor, "m n"]:
    """SVD_k(A), the closest matrix of that rank in the Frobenius norm. Rank 0 is the zero matrix."""
    left, sigma, right = torch.linalg.svd(matrix, full_matrices=False)
    return left[:, :rank] * sigma[:rank] @ right[:rank]


def kept_rank(rank_ratio: float, shape: Sequence[int]) -> int:
    """k = ⌈γ · min(m, n)⌉ of a weight of that shape (CART, algorithm 1). A convolution (out, in, kh, kw) is a matrix
    (out, in·kh·kw), a bias a matrix of one column.

    Raises:
        ValueError: γ is not a share from 0 to 1.
    """
    if not 0 <= rank_ratio <= 1:
        raise ValueError(f"rank_ratio must be a share from 0 to 1, not {rank_ratio!r}")
    return rank_of(rank_ratio, min(shape[0], math.prod(shape[1:])) if len(shape) > 1 else 1, "ceil")


class Spectra:
    """Task vectors of several models, decomposed once: afterwards every rank and every λ costs a few small products.

    With `centre`, origin + λ·Σ SVD_k is CART; without, it is task arithmetic with truncated task vectors, θ₀ at rank 0
    (CART, Fig. 1).

    Args:
        base: θ₀.
        finetuned: θ_1 … θ_T.
        centre: measure the task vectors from the average instead of θ₀.

    Attributes:
        origin: the state dict that the task vectors start from: the average, or θ₀.
        matrices: {key: τ_t (tasks, m, n) in float32 or more} of what has two dimensions or more.
    """

    def __init__(self, base: State, finetuned: Sequence[State], centre: bool = True):
        self.origin = by_tensor(base, lambda key: mean(key, finetuned)) if centre else base
        floats = [key for key, tensor in base.items() if tensor.is_floating_point()]
        vectors = {key: task_vectors(key, self.origin, finetuned) for key in floats}
        self.matrices = {key: stack.flatten(2) for key, stack in vectors.items() if stack.ndim > 2}
        # a vector is a matrix of rank 1: whole from rank 1 on
        self._flat = {key: stack.sum(0) for key, stack in vectors.items() if stack.ndim <= 2}
        self._factors = {key: [factors(matrix, min(matrix.shape)) for matrix in stack]
                         for key, stack in self.matrices.items()}

    def total(self, key: str, rank_ratio: float) -> Float[Tensor, "..."]:
        """Σ_t SVD_k(τ_t) of one weight, in its shape, with k = `kept_rank`."""
        shape = self.origin[key].shape
        rank = kept_rank(rank_ratio, shape)
        if key in self._flat:
            return self._flat[key] if rank else torch.zeros_like(self._flat[key])
        if rank == min(self.matrices[key].shape[1:]):
            return self.matrices[key].sum(0, dtype=torch.float64).view(shape)
        left = torch.cat([left[:, :rank] for left, _ in self._factors[key]], 1)
        right = torch.cat([right[:rank] for _, right in self._factors[key]])
        return left.matmul(right).view(shape)

    def totals(self, rank_ratio: float) -> dict[str, Float[Tensor, "..."]]:
        """{key: Σ_t SVD_k(τ_t)} of every floating-point tensor."""
        return {key: self.total(key, rank_ratio) for key, tensor in self.origin.items() if tensor.is_floating_point()}

    def merged(self, scale: float, rank_ratio: float) -> State:
        """origin + λ · Σ_t SVD_k(τ_t), in the dtype of the weights."""
        return shifted(self.origin, self.totals(rank_ratio), scale)

    def singular_values(self, key: str) -> Float64[Tensor, "tasks r"]:
        """Of every task vector, r = min(m, n), largest first."""
        scaled = [right if left.shape[0] <= right.shape[1] else left.T for left, right in self._factors[key]]
        return torch.stack([rows.norm(dim=1) for rows in scaled])

    def rows(self, key: str) -> Float64[Tensor, "tasks r n"]:
        """Σ_t V_tᵀ of every task vector τ_t = U_t Σ_t V_tᵀ, r = min(m, n)."""
        return torch.stack([right if left.shape[0] <= right.shape[1] else left.norm(dim=0)[:, None] * right
                            for left, right in self._factors[key]])


def decomposed_once(base: State, finetuned: Sequence[State]) -> Merges:
    """As `search.anew`, but CART's task vectors are decomposed once for all ranks and λ."""
    others = anew(base, finetuned)
    spectra = functools.cache(lambda: Spectra(base, finetuned))

    def of(method, **parameters):
        if method != "cart":
            return others(method, **parameters)
        totals = spectra().totals(**parameters)
        return lambda scale: shifted(spectra().origin, totals, scale)

    return of


def shifted(origin: State, totals: dict[str, Float[Tensor, "..."]], scale: float) -> State:
    """origin + λ · totals, in the dtype of the weights; other tensors are carried over."""
    return by_tensor(origin, lambda key: wide(origin[key]) + scale * totals[key])
