"""The two plain methods that all others start from: the average and task arithmetic."""
from collections.abc import Sequence

from lessons.merging.registry import Needs, Scale, method
from lessons.merging.states import by_entry
from toy_models.weights import State


@method("Average", source="Wortsman et al. 2022; CART, Eq. 1", needs=[Needs.WEIGHTS],
        drops="nothing", combines="their mean", shows=True)
def average(base: State, finetuned: Sequence[State]) -> State:
    """θ_avg = 1/T · Σ θ_t. Of `base` only BatchNorm's counters are used."""
    return by_entry(base, finetuned, lambda origin, tuned: tuned.mean(0))


@method("Task arithmetic", source="Ilharco et al. 2023; CART, Eq. 2", needs=[Needs.WEIGHTS],
        drops="nothing", combines="λ times their sum", shows=True)
def task_arithmetic(base: State, finetuned: Sequence[State], *, scale: Scale = 0.3) -> State:
    """θ₀ + λ · Σ τ_t with τ_t = θ_t − θ₀.

    At λ = 1/T it is the average.

    Args:
        scale: λ. CART, app. D, searches 0.1, 0.2 and 0.3.
    """
    return by_entry(base, finetuned, lambda origin, tuned: origin + scale * (tuned - origin).sum(0))
