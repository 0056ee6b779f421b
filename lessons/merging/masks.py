"""Methods of binary masks: TALL masks and their Consensus, and EMR."""
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from lessons.merging.registry import Count, Needs, Positive, Scale, Share, method
from lessons.merging.sparse import Agree, Number, OnTie, elected_sign, largest, majority_sign, merged_vectors
from lessons.merging.states import PIECE, by_tensor, flat, in_pieces, task_vectors, wide
from lessons.merging.storage import PerTask, pack, unpack
from toy_models.weights import State, must_fit


def tall_mask(stack: Float[Tensor, " tasks *shape"], merged: Float[Tensor, "*shape"],
              mask_strength: float) -> Bool[Tensor, " tasks *shape"]:
    """Which entries matter to which task: |τ_t| > mask_strength · |τ_MTL − τ_t|.

    Args:
        stack: task vectors.
        merged: τ_MTL, the multi-task vector.
    """
    half = torch.sub(0.5 * merged, stack, alpha=0.5)  # the difference itself may not fit
    return stack.abs() > 2 * mask_strength * half.abs()


def _multi_task(base, finetuned, density, count, agree, on_tie) -> Callable[[str], Tensor]:
    return merged_vectors(base, finetuned, largest(base, finetuned, density, "global", 0.0, count), agree, on_tie)


@method("Consensus (TALL masks)", short="Consensus", source="Wang et al. 2024, §5", needs=[Needs.WEIGHTS],
        drops="entries that too few tasks need", combines="λ times their sum")
def consensus(base: State, finetuned: Sequence[State], *, scale: Scale = 0.3, mask_strength: Positive = 0.4,
              min_votes: Count = 2, density: Share = 1.0, count: Number = "floor", agree: Agree = "sum",
              on_tie: OnTie = "zero") -> State:
    """θ₀ + λ · m ∘ τ_MTL, where m keeps the entries that matter to at least `min_votes` tasks by their TALL masks.

    Args:
        scale: λ.
        mask_strength: λ_t of the masks |τ_t| > λ_t · |τ_MTL − τ_t|; the paper chooses it per task on held-out data
            among 0.2, …, 0.6. As in its code, the comparison is strict and τ_MTL is not yet scaled by λ.
        min_votes: 0 keeps every entry (task arithmetic), 1 drops what matters to no task ("catastrophic"), 2 also what
            matters to one alone ("selfish"); more than the number of tasks leaves `base`. An entry that T tasks change
            alike matters to none once T > 1 + 1/λ_t.
        density: the share of largest entries of every τ_t that goes into τ_MTL: 1 for Consensus task arithmetic, 0.2
            for Consensus TIES.
        count: see `ties`; the paper's code has "floor + 1".
        agree: how τ_MTL is made. "sum" for Consensus task arithmetic, "elected sum" for Consensus TIES; "elected
            mean".
        on_tie: see `ties`.
    """
    vector = _multi_task(base, finetuned, density, count, agree, on_tie)

    def elected(stack, multi):
        return multi * (tall_mask(stack, multi, mask_strength).sum(0) >= min_votes)

    def merged(key):
        multi = vector(key).flatten()
        voted = in_pieces(elected, flat(task_vectors(key, base, finetuned)), multi)
        return wide(base[key]) + scale * voted.view(base[key].shape)
    return by_tensor(base, merged)


@method("TALL masks", source="Wang et al. 2024, §4", needs=[Needs.STORAGE],
        drops="entries that a task does not need", combines="the sum, and a mask for every task")
def tall_masks(base: State, finetuned: Sequence[State], *, mask_strength: Positive = 0.4, density: Share = 1.0,
               count: Number = "floor", agree: Agree = "sum", on_tie: OnTie = "zero") -> PerTask:
    """One model a task from one shared vector: θ₀ + m_t ∘ τ_MTL, with a bit per weight and task stored.

    Shared are "base" and "vector"; a task's extras are its packed mask.

    Args:
        mask_strength: see `consensus`.
        density: see `consensus`; the paper's "TALL mask + TIES" has 0.2.
        count: see `ties`; the paper's code has "floor + 1".
        agree: see `consensus`; "TALL mask + TIES" has "elected sum".
        on_tie: see `ties`.
    """
    multi = _multi_task(base, finetuned, density, count, agree, on_tie)

    def mask_of(stack, merged):
        return tall_mask(stack, merged, mask_strength)

    vector = {}
    extras = tuple({} for _ in finetuned)
    for key, tensor in _floats(base):
        merged = multi(key)
        vector[key] = must_fit(key, merged.to(tensor.dtype))
        masks = in_pieces(mask_of, flat(task_vectors(key, base, finetuned)), merged.flatten())
        for extra, mask in zip(extras, masks):
            extra[key] = pack(mask)
    return PerTask({"base": _copy(base), "vector": vector}, extras, _masked)


@method("EMR", source="Huang et al. 2024, §3", needs=[Needs.STORAGE],
        drops="entries that lost the vote", combines="one vector, and a mask and a size for every task")
def emr(base: State, finetuned: Sequence[State], *, rescale: Literal["global", "tensor"] = "global",
        on_tie: OnTie = "zero") -> PerTask:
    """Elect, mask and rescale: one vector of the elected signs and largest magnitudes, and for every task a mask and
    one number.

    τ_uni has for every entry the sign of Σ τ_t and the largest magnitude of the τ_t that have this sign;
    M_t = [τ_t ∘ τ_uni > 0]; model t is θ₀ + λ_t · M_t ∘ τ_uni with λ_t = Σ |τ_t| / Σ |M_t ∘ τ_uni|. Shared are "base"
    and "vector"; a task's extras its packed mask and "λ".

    Args:
        rescale: the sums in λ_t. "global" runs over all entries (the paper), "tensor" adds the means of the tensors
            (its code), which gives biases the same say as matrices.
        on_tie: see `ties`. "zero" (the paper), "negative" (its code).
    """
    vector = {}
    extras = tuple({} for _ in finetuned)
    sums = torch.zeros(2, len(finetuned), dtype=torch.float64)
    majority = 0.0
    if on_tie == "majority":
        majority = majority_sign(base, lambda key: task_vectors(key, base, finetuned))
    for key, tensor in _floats(base):
        pieces = flat(task_vectors(key, base, finetuned)).split(PIECE, 1)
        unified, masks, parts = zip(*(_unified(key, piece, on_tie, majority) for piece in pieces))
        vector[key] = must_fit(key, torch.cat(unified).view(tensor.shape).to(tensor.dtype))
        for extra, mask in zip(extras, torch.cat(masks, 1)):
            extra[key] = pack(mask)
        sums += must_fit(key, sum(parts)).cpu() / (max(1, tensor.numel()) if rescale == "tensor" else 1)
    lengths, kept_lengths = sums
    # nothing is kept of a task vector that is zero
    factors = torch.where(kept_lengths > 0, lengths / kept_lengths, 0.0)
    for extra, factor in zip(extras, factors):
        extra["λ"] = factor.float()
    return PerTask({"base": _copy(base), "vector": vector}, extras, _masked)


def _unified(key, stack, on_tie, majority):
    """τ_uni, the masks M_t, and per task Σ |τ_t| and Σ |M_t ∘ τ_uni|, of task vectors (tasks, entries)."""
    sign = elected_sign(key, stack.sum(0), on_tie, majority)
    aligned = stack * sign
    masks = aligned > 0
    magnitude = aligned.amax(0).clamp_(min=0)
    lengths = stack.abs().sum(1, dtype=torch.float64)
    kept_lengths = (magnitude * masks).sum(1, dtype=torch.float64)
    return sign * magnitude, masks, torch.stack([lengths, kept_lengths])


def _masked(shared, extra):
    base = shared["base"]
    vector = shared["vector"]
    factor = extra.get("λ", torch.tensor(1.0)).item()

    def rebuilt(key):
        mask = unpack(extra[key], base[key].shape).to(base[key].device)
        return wide(base[key]) + factor * wide(vector[key]) * mask
    return by_tensor(base, rebuilt)


def _copy(base):
    return {key: tensor.detach().clone() for key, tensor in base.items()}


def _floats(base):
    return [(key, tensor) for key, tensor in base.items() if tensor.is_floating_point()]
