"""What a truncated task vector is made of: how much of its own task gets through, how much of the others, and where the
large singular values end."""
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from lessons.merging.lowrank import factors

Vectors = Float[Tensor, "tasks m n"]
LARGE = 0.25  # of the largest singular value; where the spectrum has a cliff, any share near it counts the same


def let_through(vectors: Vectors, most: int) -> tuple[Float64[Tensor, " ranks"], Float64[Tensor, " ranks"]]:
    """How much of a task vector τ_t is in Σ_s SVD_k(τ̄_s), for k = 0 … most, in two parts that add up.

    A part is ⟨·, τ_t⟩/‖τ_t‖²: 1 would be all of it. At full rank the two add up to 0.

    Args:
        vectors: τ_t, one matrix a task.
        most: the largest k.

    Returns:
        (what SVD_k(τ̄_t) brings of its own τ_t; what the other tasks' SVD_k(τ̄_s) bring of it, which is negative, since
        each τ̄_s contains −τ_t/T), both means over tasks.
    """
    vectors = vectors.double()
    tasks = len(vectors)
    sizes = vectors.square().sum((1, 2))
    own = torch.zeros(most + 1, dtype=torch.float64)
    others = torch.zeros(most + 1, dtype=torch.float64)
    for here, matrix in enumerate(vectors - vectors.mean(0)):
        left, right = factors(matrix.float(), min(most, *matrix.shape))
        for there, vector in enumerate(vectors):
            of_direction = (left.T @ vector * right).sum(1) / sizes[there]
            part = torch.cat([of_direction.new_zeros(1), of_direction.cumsum(0)])
            part = torch.nn.functional.pad(part, (0, most + 1 - len(part)), value=part[-1].item())
            if here == there:
                own += part / tasks
            else:
                others += part / tasks
    return own, others


def large(sigma: Float[Tensor, " r"], share: float = LARGE) -> int:
    """How many singular values are above this share of the largest.

    Args:
        sigma: largest first.
    """
    return int((sigma > share * sigma[0]).sum())


def shared(vectors: Vectors, rank: int) -> tuple[float, float]:
    """How far the leading column spaces of the task vectors agree, and how far the row spaces do: mean over pairs of
    ‖UᵢᵀUⱼ‖²/k, 0 where they are orthogonal and 1 where they are the same.

    Args:
        vectors: τ_t, one matrix a task.
        rank: k, how many singular vectors span each space.
    """
    both = [factors(vector.float(), rank) for vector in vectors]
    columns = torch.stack([torch.linalg.qr(left).Q.T for left, _ in both])
    rows = torch.stack([torch.linalg.qr(right.T).Q.T for _, right in both])
    overlaps = []
    for spaces in (columns, rows):
        pairs = [(spaces[i] @ spaces[j].T).square().sum().item() / rank
                 for i in range(len(spaces)) for j in range(i)]
        overlaps.append(sum(pairs) / len(pairs))
    return overlaps[0], overlaps[1]
