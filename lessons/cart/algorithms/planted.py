"""Why there is a bell, and where it peaks: tasks that have nothing in common, where everything can be written down."""
import torch
from jaxtyping import Float, Float64
from torch import Tensor


def predicted_rank(sigma: Float[Tensor, " r"], num_tasks: int) -> int:
    """The rank at which the bell should peak: how many singular values of a task vector are larger than the largest
    divided by T − 1.

    For tasks with orthogonal row and column spaces, τ̄_t = (1 − 1/T)·τ_t − 1/T·Σ_{s≠t} τ_s is already a singular value
    decomposition, of values (1 − 1/T)·σ(τ_t) and σ(τ_s)/T. Truncation takes the largest first: its own directions,
    until (1 − 1/T)·σ_k is no larger than the others' σ_1/T. What comes then takes away from the other tasks. With two
    tasks nothing can be gained: τ̄_1 = −τ̄_2 at every rank.

    Args:
        sigma: singular values of a task vector, largest first; those of all tasks are taken to be alike.
        num_tasks: T.

    Raises:
        ValueError: fewer than two tasks.
    """
    if num_tasks < 2:
        raise ValueError(f"num_tasks must be at least 2, not {num_tasks!r}: a single task vector has nothing to be "
                         "centred by")
    return int((sigma > sigma[0] / (num_tasks - 1)).sum())


def orthogonal_tasks(sigma: Float[Tensor, " r"], num_tasks: int) -> list[Float[Tensor, "Tr Tr"]]:
    """Task vectors with these singular values, (T·r, T·r), whose row and column spaces are orthogonal: blocks on a
    diagonal.
    """
    own = torch.diag(sigma)
    nothing = torch.zeros_like(own)
    return [torch.block_diag(*(own if place == task else nothing for place in range(num_tasks)))
            for task in range(num_tasks)]


Pair = Float64[Tensor, "2 rank size"]


def equal_and_orthogonal(rank: int = 3, size: int = 8) -> tuple[Pair, Pair]:
    """Σ Vᵀ of two equal task vectors, and of two with the same singular values and orthogonal row spaces."""
    sigma = torch.arange(rank, 0, -1, dtype=torch.float64)
    unit = torch.eye(size, dtype=torch.float64)
    one = sigma[:, None] * unit[:rank]
    other = sigma[:, None] * unit[rank:2 * rank]
    return torch.stack([one, one]), torch.stack([one, other])
