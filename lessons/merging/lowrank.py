"""Methods that look at singular values: CART, CART-Indexing and TSV-M, which truncate matrices, and Iso-C, which
makes their singular values equal. Other tensors are averaged.

A matrix is a tensor of two dimensions or more: a convolution (out, in, kh, kw) is read as (out, in·kh·kw).
"""
import math
from collections.abc import Sequence
from typing import Literal

import scipy.linalg
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from lessons.merging.registry import Needs, Scale, Share, method
from lessons.merging.sparse import floor_of
from lessons.merging.states import by_tensor, difference, mean, task_vectors, wide
from lessons.merging.storage import PerTask
from toy_models.weights import State, must_fit

Rounding = Literal["ceil", "floor"]
Convolutions = Literal["flatten", "average"]
Decomposition = Literal["auto", "gram", "svd"]
NEGLIGIBLE = 1e-12  # of the largest eigenvalue: what lies below is rounding


# -- matrices --------------------------------------------------------------------------------------

def is_matrix(tensor: Tensor, convolutions: str) -> bool:
    """The tensor is one to truncate: of two dimensions, or of more where `convolutions` is "flatten"."""
    return tensor.numel() > 0 and (tensor.ndim == 2 or (tensor.ndim > 2 and convolutions == "flatten"))


def rank_of(rank_ratio: float, full: int, rounding: str) -> int:
    """k, how many singular values of `full` are kept: ⌈ratio · full⌉, or max(1, ⌊ratio · full⌋) with "floor"; 0 at
    ratio 0 under both.

    0.07 · 100 = 7.000000000000001 counts as 7.
    """
    if rank_ratio == 0:
        return 0
    return max(1, math.ceil(rank_ratio * full - 1e-9 * full) if rounding == "ceil" else floor_of(rank_ratio, full))


def factors(matrix: Float[Tensor, "m n"], rank: int,
            decomposition: str = "auto") -> tuple[Float64[Tensor, "m k"], Float64[Tensor, "k n"]]:
    """The best approximation of that rank as two factors, SVD_k = left @ right.

    The singular vectors of the shorter side are orthonormal: the columns of `left` where m ≤ n, else the rows of
    `right`.

    Args:
        decomposition: "svd" a thin singular value decomposition; "gram" the eigenvectors of the smaller of A·Aᵀ and
            Aᵀ·A, two to four times as fast. Squaring costs half of the digits: in float64 eight are left, as many as
            float32 weights have. "auto" takes "gram" except for float64 weights.
    """
    if matrix.shape[0] > matrix.shape[1]:
        left, right = factors(matrix.T, rank, decomposition)
        return right.T, left.T
    if rank == 0:
        rows, columns = matrix.shape
        empty = matrix.new_zeros(rows, 0, dtype=torch.float64)
        return empty, matrix.new_zeros(0, columns, dtype=torch.float64)
    gram = decomposition == "gram" or (decomposition == "auto" and matrix.dtype != torch.float64)
    matrix = matrix.double()
    squares = matrix @ matrix.T if gram else None
    if squares is not None and squares.trace().isfinite():  # weights of 1e154 or more have no squares in float64
        left = leading_eigenvectors(squares, rank)
    else:
        left = torch.linalg.svd(matrix, full_matrices=False).U[:, :rank]
    return left, left.T @ matrix


def leading_eigenvectors(symmetric: Float64[Tensor, "n n"], rank: int) -> Float64[Tensor, "n k"]:
    """The eigenvectors of the `rank` largest eigenvalues, largest first."""
    size = len(symmetric)
    if 4 * rank <= size and symmetric.device.type == "cpu":  # a few alone are found twice as fast
        _, vectors = scipy.linalg.eigh(symmetric.numpy(), subset_by_index=(size - rank, size - 1))
        return torch.from_numpy(vectors[:, ::-1].copy())
    return torch.linalg.eigh(symmetric).eigenvectors.flip(1)[:, :rank]


def low_rank(matrix: Float[Tensor, "m n"], rank: int, decomposition: str = "auto") -> Float64[Tensor, "m n"]:
    """SVD_k(A), the best approximation of that rank. At full rank it is A itself."""
    if rank >= min(matrix.shape):
        return matrix.double()
    left, right = factors(matrix, rank, decomposition)
    return left @ right


def meant_pair(rows_i: Float[Tensor, "r n"], rows_j: Float[Tensor, "r n"]) -> Float[Tensor, " r"]:
    """How far two row spaces overlap, weighted by singular values, for k = 1 … r at once: ‖Σ̃_i Ṽ_i Ṽ_jᵀ Σ̃_j‖_F of the
    first k rows (CART, Eq. 5, as it must be meant).

    Args:
        rows_i, rows_j: Σ Vᵀ, the strongest row first; they are divided by their norm here.
    """
    inner = (rows_i / rows_i.norm()) @ (rows_j / rows_j.norm()).T
    return inner.square().cumsum(0).cumsum(1).diagonal().clamp(min=0).sqrt()


def whitening(gram: Float64[Tensor, "k k"]) -> Float64[Tensor, "k k"]:
    """G^(−½), which makes columns orthonormal with the least change: A·G^(−½) with G = AᵀA is A's polar factor (the
    orthogonal Procrustes problem).

    Directions that A does not have stay empty: of two equal columns each becomes 1/√2 of one direction.
    """
    values, vectors = torch.linalg.eigh(gram)
    return vectors * torch.where(values > NEGLIGIBLE * values.amax(), values, torch.inf).rsqrt() @ vectors.T


# -- TSV-M -----------------------------------------------------------------------------------------

@method("TSV-M", source="Gargiulo et al. 2025, algorithm 1", needs=[Needs.WEIGHTS],
        drops="small singular values", combines="singular vectors made orthogonal, then summed")
def tsv(base: State, finetuned: Sequence[State], *, scale: Scale = 1.0, convolutions: Convolutions = "flatten",
        decomposition: Decomposition = "auto") -> State:
    """Task singular vectors: the leading singular vectors of all tasks side by side, orthogonalised, and multiplied out
    again.

    Of every τ_t = U_t Σ_t V_tᵀ the first k = ⌊min(m, n)/T⌋ are kept, but at least one (the paper's code takes none
    where there are more tasks than singular values, and silently drops the matrix); U = [U_1 … U_T] and V likewise
    become their polar factors U⊥ and V⊥; the result is θ₀ + λ · U⊥ Σ V⊥ᵀ. Other tensors become θ₀ + λ · mean(τ_t).

    Args:
        scale: λ.
        convolutions: "flatten" reads (out, in, kh, kw) as (out, in·kh·kw), "average" treats convolutions as no matrices
            (the paper's code, which truncates tensors of two dimensions whose name does not hold "text_projection").
        decomposition: see `factors`.
    """
    def merged(key):
        origin = wide(base[key])
        if not is_matrix(origin, convolutions):
            return origin + scale * task_vectors(key, base, finetuned).mean(0)
        rows, columns = origin.flatten(1).shape
        rank = max(1, min(rows, columns) // len(finetuned))
        left = torch.empty(rows, len(finetuned) * rank, dtype=torch.float64, device=origin.device)
        right = torch.empty(len(finetuned) * rank, columns, dtype=torch.float64, device=origin.device)
        for number, state in enumerate(finetuned):
            block = slice(number * rank, (number + 1) * rank)
            left[:, block], right[block] = factors(difference(key, state, origin).flatten(1), rank, decomposition)
        must_fit(key, left.norm() * right.norm())  # what is squared below
        return whitened_sum(left, right, len(finetuned)).mul_(scale).view(origin.shape).add_(origin)
    return by_tensor(base, merged)


def whitened_sum(left: Float64[Tensor, "m Tk"], right: Float64[Tensor, "Tk n"],
                 num_tasks: int) -> Float64[Tensor, "m n"]:
    """U⊥ Σ V⊥ᵀ of `tsv`.

    Args:
        left, right: U Σ Vᵀ of every task as two `factors` of k columns and rows, side by side; the smaller holds
            singular vectors, the larger these times Σ.
        num_tasks: T.
    """
    if left.shape[0] > right.shape[1]:
        return whitened_sum(right.T, left.T, num_tasks).T.contiguous()
    sigma = right.norm(dim=1)
    of_task = sigma.view(num_tasks, -1)
    top = of_task.amax(1, keepdim=True).expand(of_task.shape).flatten()
    there = sigma > NEGLIGIBLE ** 0.5 * top  # a singular value of zero has no direction
    if not there.any():
        return left @ right
    left = left[:, there]
    sigma = sigma[there]
    right = right[there].div_(sigma[:, None])
    return left @ (whitening(left.T @ left) * sigma @ whitening(right @ right.T)) @ right


# -- Iso-C -----------------------------------------------------------------------------------------

@method("Iso-C", source="Marczak et al. 2025", needs=[Needs.WEIGHTS],
        drops="nothing", combines="their sum, its singular values made equal")
def isotropic(base: State, finetuned: Sequence[State], *, scale: Scale = 1.0, convolutions: Convolutions = "flatten",
              decomposition: Decomposition = "auto") -> State:
    """θ₀ + λ · σ̄ · U Vᵀ, where U Σ Vᵀ is the sum Σ τ_t and σ̄ the mean of its singular values; other tensors become
    θ₀ + λ · mean(τ_t).

    A direction that the sum does not have (a singular value of zero) stays empty. The paper's code gives it σ̄ too, in
    a direction that the decomposition happens to choose.

    Args:
        scale: λ, the paper's α.
        convolutions: "flatten" reads (out, in, kh, kw) as (out, in·kh·kw), "average" treats convolutions as no matrices
            (the paper's code, which takes tensors of two dimensions whose name does not hold "text_projection").
        decomposition: see `factors`.
    """
    def merged(key):
        origin = wide(base[key])
        vectors = task_vectors(key, base, finetuned)
        if not is_matrix(origin, convolutions):
            return origin + scale * vectors.mean(0)
        total = must_fit(key, vectors.sum(0)).flatten(1)
        return equalised(total, decomposition).mul_(scale).view(origin.shape).add_(origin)
    return by_tensor(base, merged)


def equalised(matrix: Float[Tensor, "m n"], decomposition: str = "auto") -> Float64[Tensor, "m n"]:
    """σ̄ · U Vᵀ of A = U Σ Vᵀ: all singular values become their mean, those that are zero stay."""
    if matrix.shape[0] > matrix.shape[1]:
        return equalised(matrix.T, decomposition).T.contiguous()
    largest = matrix.abs().amax().double()
    if largest == 0:
        return matrix.double()
    gram = decomposition == "gram" or (decomposition == "auto" and matrix.dtype != torch.float64)
    matrix = matrix.double() / largest  # so that its squares fit
    if gram:
        squares = matrix @ matrix.T
        sigma = torch.linalg.eigvalsh(squares).clamp(min=0).sqrt()
        return largest * sigma.mean() * (whitening(squares) @ matrix)
    left, sigma, right = torch.linalg.svd(matrix, full_matrices=False)
    there = sigma > NEGLIGIBLE * sigma[0]
    return largest * sigma.mean() * (left[:, there] @ right[there])


# -- CART ------------------------------------------------------------------------------------------

@method("CART", source="CART, Eq. 4 and algorithm 1", needs=[Needs.WEIGHTS],
        drops="small singular values, measured from the average", combines="the average plus λ times their sum")
def cart(base: State, finetuned: Sequence[State], *, scale: Scale = 1.0, rank_ratio: Share = 0.08,
         rounding: Rounding = "ceil", convolutions: Convolutions = "flatten",
         decomposition: Decomposition = "auto") -> State:
    """θ_avg + λ · Σ SVD_k(θ_t − θ_avg), matrix by matrix; other tensors become θ_avg.

    At full rank and at rank 0 it is the average for every λ, because the centred task vectors sum to zero.

    Args:
        scale: λ. The released settings are λ, rank ratio = 2.0, 0.12 (8 tasks), 1.5, 0.16 (14) and 1.9, 0.32 (20), not
            the paper's 8 %.
        rank_ratio: γ, the rank that is kept as a share of min(m, n); 0 keeps nothing.
        rounding: "ceil" k = ⌈γ · min(m, n)⌉ (the paper), "floor" k = max(1, ⌊γ · min(m, n)⌋) (its code).
        convolutions: "flatten" reads (out, in, kh, kw) as (out, in·kh·kw), "average" leaves convolutions at θ_avg. The
            paper has none. Its code truncates only weights with "attn" or "mlp" in their names, so that on an MLP or a
            CNN it is the average; here the number of dimensions decides.
        decomposition: see `factors`.
    """
    def merged(key):
        if not is_matrix(base[key], convolutions):
            return mean(key, finetuned)
        average = mean(key, finetuned)
        rank = rank_of(rank_ratio, min(average.flatten(1).shape), rounding)
        total = torch.zeros(average.flatten(1).shape, dtype=torch.float64, device=average.device)
        for state in finetuned:
            vector = difference(key, state, average).flatten(1)
            if rank < min(vector.shape):
                total.addmm_(*factors(vector, rank, decomposition))
            else:
                total += vector
        return total.mul_(scale).view(average.shape).add_(average)
    return by_tensor(base, merged)


@method("CART-Indexing", source="CART, app. C.2", needs=[Needs.STORAGE],
        drops="small singular values, measured from the average", combines="the average plus the task's own")
def cart_indexing(base: State, finetuned: Sequence[State], *, scale: Scale = 1.0, rank_ratio: Share = 0.08,
                  rounding: Rounding = "ceil", convolutions: Convolutions = "flatten",
                  vectors: Literal["own", "average"] = "own", decomposition: Decomposition = "auto") -> PerTask:
    """One model a task: θ_avg + λ · SVD_k(θ_t − θ_avg), with the two factors of every matrix stored per task.

    Shared is "average"; a task's extras hold "key left" (m, k) and "key right" (k, n) of every matrix, or where these
    are no smaller than the matrix, as at full rank, the truncated matrix as "key". What is stored has the dtype of the
    weights.

    Args:
        scale: λ, 1 in the paper; its code multiplies by the λ of CART.
        rank_ratio: see `cart`.
        rounding: see `cart`.
        convolutions: "flatten" reads (out, in, kh, kw) as (out, in·kh·kw); with "average" they are not matrices
            and follow `vectors`.
        vectors: of tensors that are not matrices. "own" stores θ_t − θ_avg of every task (the paper's code), "average"
            stores nothing and leaves θ_avg. At rank_ratio 0 its code drops these tensors too; that is "average".
        decomposition: see `factors`.
    """
    shared = {}
    extras = tuple({} for _ in finetuned)
    for key, tensor in base.items():
        if not tensor.is_floating_point():
            shared[key] = tensor.clone()
            continue
        average = mean(key, finetuned)
        shared[key] = must_fit(key, average.to(tensor.dtype))
        for extra, state in zip(extras, finetuned):
            vector = difference(key, state, average)
            if is_matrix(tensor, convolutions):
                parts = _stored(key, vector, rank_ratio, rounding, decomposition)
            else:
                parts = {key: vector} if vectors == "own" else {}
            for name, part in parts.items():
                extra[name] = must_fit(key, part.to(tensor.dtype))
    return PerTask({"average": shared}, extras, lambda shared, extra: _with_factors(shared["average"], extra, scale))


def _stored(key, vector, rank_ratio, rounding, decomposition):
    """{name: tensor}, what `cart_indexing` keeps of one task's matrix."""
    matrix = vector.flatten(1)
    rank = rank_of(rank_ratio, min(matrix.shape), rounding)
    if rank * sum(matrix.shape) < matrix.numel():
        left, right = factors(matrix, rank, decomposition)
        return {f"{key} left": left, f"{key} right": right}
    return {key: low_rank(matrix, rank, decomposition).reshape(vector.shape)}


def _with_factors(average, extra, scale):
    def rebuilt(key):
        if f"{key} left" in extra:
            product = extra[f"{key} left"].double() @ extra[f"{key} right"].double()
            return average[key].double() + scale * product.view(average[key].shape)
        return wide(average[key]) + scale * wide(extra[key]) if key in extra else average[key].clone()
    return by_tensor(average, rebuilt)
