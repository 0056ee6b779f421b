"""Methods that look at the angle between models: SLERP, which turns one into the other, and Model Stock, which goes as
far towards the average as the task vectors agree.
"""
import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from lessons.merging.registry import Needs, Share, method
from lessons.merging.states import by_tensor, flat, task_vectors, wide
from toy_models.weights import State

PARALLEL = 0.9995  # |cos| from which on SLERP goes along the line, as in mergekit: the sine in its denominator is small


def directions(vectors: Float[Tensor, "vectors entries"]) -> Float64[Tensor, "vectors entries"]:
    """Each divided by its length; a vector of zeros stays one."""
    largest = vectors.double().abs().amax(1, keepdim=True)
    vectors = vectors / torch.where(largest > 0, largest, 1)  # so that squares neither overflow nor vanish
    return vectors / vectors.norm(dim=1, keepdim=True).clamp(min=1)  # a length is 0 now, or at least 1


@method("SLERP", source="Shoemake 1985; mergekit", needs=[Needs.WEIGHTS], models=2,
        drops="nothing", combines="two models along the arc between them")
def slerp(base: State, finetuned: Sequence[State], *, alpha: Share = 0.5) -> State:
    """(sin((1 − α)ω) · θ_1 + sin(αω) · θ_2) / sin ω for two models, where ω is the angle between them, tensor by
    tensor. Of `base` only BatchNorm's counters are used.

    Where the two are nearly parallel (|cos ω| > 0.9995), or one is zero, it is (1 − α) · θ_1 + α · θ_2.

    Args:
        alpha: α, mergekit's t: 0 is the first model, 1 the second.
    """
    def merged(key):
        first, second = (wide(state[key]) for state in finetuned)
        share_1, share_2 = arc_shares(first.flatten(), second.flatten(), alpha)
        return share_1 * first + share_2 * second
    return by_tensor(base, merged)


def arc_shares(first: Float[Tensor, " entries"], second: Float[Tensor, " entries"],
               alpha: float) -> tuple[float, float]:
    """What `slerp` multiplies the two with."""
    if not first.any() or not second.any():
        return 1 - alpha, alpha
    units = directions(torch.stack([first, second]))
    cosine = min(1.0, max(-1.0, (units[0] @ units[1]).item()))
    if abs(cosine) > PARALLEL:
        return 1 - alpha, alpha
    angle = math.acos(cosine)
    return math.sin((1 - alpha) * angle) / math.sin(angle), math.sin(alpha * angle) / math.sin(angle)


@method("Model Stock", source="Jang et al. 2024", needs=[Needs.WEIGHTS],
        drops="nothing", combines="their mean, shortened where they disagree")
def model_stock(base: State, finetuned: Sequence[State]) -> State:
    """θ₀ + t · mean(τ_t) with t = T cos ω / (1 + (T − 1) cos ω), tensor by tensor, where cos ω is the mean cosine of
    two task vectors. With one model t = 1.

    The paper derives t for models of one task, whose task vectors are equally long and at one angle. Where the mean
    cosine is negative, t is 0 here; mergekit leaves it negative.
    """
    def merged(key):
        vectors = task_vectors(key, base, finetuned)
        ratio = stock_ratio(flat(vectors)) if vectors.numel() else 0.0
        return wide(base[key]) + ratio * (vectors / len(vectors)).sum(0)
    return by_tensor(base, merged)


def stock_ratio(vectors: Float[Tensor, "tasks entries"]) -> float:
    """t of `model_stock`, from 0 to 1."""
    tasks = len(vectors)
    if tasks == 1:
        return 1.0
    units = directions(vectors)
    pairs = units @ units.T
    cosine = ((pairs.sum() - pairs.trace()) / (tasks * (tasks - 1))).clamp(0, 1).item()
    return tasks * cosine / (1 + (tasks - 1) * cosine)
