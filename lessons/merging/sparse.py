"""TIES, DARE, DELLA and Model Breadcrumbs: θ₀ + λ · agree(drop(τ_1), …, drop(τ_T)).

They differ in two choices, each written once: which entries of a task vector are dropped (`largest`, `random`; with the
largest ones left out too, Breadcrumbs; with chances that depend on the magnitude, DELLA), and how the tasks agree on
what is left (`agreed`).
"""
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lessons.merging.registry import Needs, Scale, Seed, Share, method
from lessons.merging.states import PIECE, by_tensor, flat, in_pieces, task_vectors, wide
from toy_models.weights import State, must_fit

Agree = Literal["sum", "elected mean", "elected sum"]
Number = Literal["floor", "floor + 1", "at least one"]
OnTie = Literal["zero", "majority", "positive", "negative"]
FEW = 1 << 24  # entries of a task vector that are sorted in memory, 67 MB in float32; of more, bits are counted
LONG = 1 << 20  # entries that are counted in one step, 8 MB in passing
Drop = Callable[[str, Tensor], Tensor]  # (key, task vectors (tasks, …)) -> the same, the dropped set to 0 in place


def floor_of(share: float, count: int) -> int:
    """⌊share · count⌋, where 0.29 · 100 = 28.999999999999996 counts as 29."""
    return math.floor(share * count + 1e-9 * count)


# -- what to drop ----------------------------------------------------------------------------------

def bounds(magnitudes: Float[np.ndarray, "*rows entries"], density: float, outliers: float = 0.0,
           count: str = "floor") -> tuple[Float[np.ndarray, "*rows 1"], Float[np.ndarray, "*rows 1"]]:
    """The smallest and the largest magnitude that are kept when `density` of them are, the largest `outliers` left out.

    Entries of one magnitude stay or go together, so that the result does not depend on their order. Where nothing is
    kept, the smallest is infinite.

    Args:
        magnitudes: partly sorted in place.
        count: "floor" keeps ⌊density · entries⌋, "floor + 1" one more, "at least one" max(1, ⌊density · entries⌋);
            all three keep nothing at density 0.
    """
    nowhere = np.full((*magnitudes.shape[:-1], 1), np.inf)
    lowest, highest = _places(magnitudes.shape[-1], density, outliers, count)
    if lowest is None:
        return nowhere, nowhere
    # with one place at a time ten times as fast as kthvalue, topk or two places, sixty times as a sort
    magnitudes.partition(lowest, axis=-1)
    low = magnitudes[..., lowest, None].copy()
    if highest is None:
        return low, nowhere
    upper = magnitudes[..., lowest:]
    upper.partition(highest - lowest, axis=-1)
    return low, upper[..., highest - lowest, None].copy()


def _places(entries, density, outliers, count):
    """Where the smallest and the largest that are kept stand among the sorted; None where there is no limit."""
    kept = min(_number(floor_of(density, entries), count), entries) if density > 0 else 0
    above = min(floor_of(outliers, entries), entries - kept)
    return entries - kept - above if kept else None, entries - above - 1 if kept and above else None


def _number(floor, count):
    if count == "at least one":
        return max(1, floor)
    return floor + (count == "floor + 1")


def largest(base: State, finetuned: Sequence[State], density: float, trim: str, outliers: float = 0.0,
            count: str = "floor") -> Drop:
    """Keep the entries of largest magnitude, `density` of them, without the very largest, `outliers`.

    With `trim` "global" they are counted over the whole task vector, with "tensor" in every tensor, with "row" along
    its last dimension.
    """
    if density == 1 and not outliers:
        return lambda key, stack: stack
    if trim == "global":
        limits = [_bounds_of_all(base, state, density, outliers, count) for state in finetuned]
        return lambda key, stack: _keep(stack, flat(stack).split(1), limits)

    def drop(key, stack):
        if not stack.numel() or (trim == "row" and stack.ndim == 1):  # a single number is not a row: kept
            return stack
        groups = [vector.reshape(-1, vector.shape[-1] if trim == "row" else vector.numel()) for vector in stack]
        limits = [bounds(group.abs().cpu().numpy(), density, outliers, count) for group in groups]
        return _keep(stack, groups, limits)
    return drop


def random(drop_rate: float, rescale: str, seed: int, spread: float = 0.0) -> Drop:
    """Drop every entry with probability `drop_rate` and make up for it; with a spread, the smaller an entry is, the
    likelier it is dropped (`drop_rates`).

    The draws belong to seed, key and task, not to the drop rate: what is dropped at a low rate is dropped at a higher
    one too, and neither the order of the keys nor further tasks change them.
    """
    def drop(key, stack):
        seed_of_key = zlib.crc32(f"{seed} {key}".encode())  # torch looks at 32 bits of a seed
        generator = torch.Generator().manual_seed(seed_of_key)
        for vector in stack:
            before = vector.abs().sum() if rescale == "norm" else None
            rates = drop_rates(vector, drop_rate, spread) if spread else None
            for start in range(0, vector.numel(), PIECE):
                piece = vector.view(-1)[start:start + PIECE]
                rate = drop_rate if rates is None else rates.view(-1)[start:start + PIECE].cpu()
                piece *= (torch.rand(len(piece), generator=generator) >= rate).to(piece.device)
                if rescale == "rate" and rates is None and drop_rate < 1:
                    piece /= 1 - drop_rate
            if rescale == "rate" and rates is not None:
                vector /= torch.where(rates < 1, 1 - rates, 1)
            elif rescale == "norm" and (after := vector.abs().sum()) > 0:
                vector *= before / after
        return stack
    return drop


def drop_rates(vector: Float[Tensor, "*shape"], drop_rate: float, spread: float) -> Float[Tensor, "*shape"]:
    """The probability with which DELLA drops an entry: p_min + ε · r/n with p_min = p − ε/2, where r = 0, …, n − 1
    counts the n entries of a row from the largest magnitude to the smallest; below 0 and above 1 it is cut off.

    A row is the last dimension, and a single number is a row of one.

    Args:
        drop_rate: p.
        spread: ε.
    """
    if not vector.numel():
        return vector
    rows = vector.reshape(-1, vector.shape[-1] if vector.ndim else 1)
    ranks = rows.abs().argsort(dim=1, descending=True, stable=True).argsort(1).to(vector.dtype)
    return (ranks * (spread / rows.shape[1]) + (drop_rate - spread / 2)).clamp_(0, 1).view(vector.shape)


def _bounds_of_all(base, state, density, outliers, count):
    """`bounds` over the whole task vector, which need not fit into memory."""
    dtypes, entries = set(), 0
    for tensor in base.values():
        if tensor.is_floating_point():
            dtypes.add(tensor.dtype)
            entries += tensor.numel()
    widest = torch.float64 if torch.float64 in dtypes else torch.float32

    def magnitudes():
        for key, tensor in base.items():
            if tensor.is_floating_point():
                yield (wide(state[key]) - wide(tensor)).abs_().flatten().to("cpu", widest).numpy()

    if entries <= FEW:
        vector = torch.empty(entries, dtype=widest).numpy()
        start = 0
        for array in magnitudes():
            vector[start:start + len(array)] = array
            start += len(array)
        return bounds(vector, density, outliers, count)
    places = _places(entries, density, outliers, count)
    values = sorted_at(magnitudes, [place for place in places if place is not None])
    return tuple(np.array([np.inf if place is None else values[place]]) for place in places)


def sorted_at(numbers: Callable[[], Iterator[np.ndarray]], places: Sequence[int]) -> dict[int, np.floating]:
    """{place: the number that would stand there if all were sorted}, counted from 0, with one array at a time.

    Floats that are not negative are ordered as their bits are. So their bits are counted, sixteen at a time, and each
    count tells the next sixteen of the number: one pass through all for each, two in float32 and four in float64.

    Args:
        numbers: () -> arrays (entries,) of one dtype that hold all numbers, none of them negative.
    """
    dtype = next(numbers()).dtype
    # the bits so far, and the place among the numbers that begin with them
    prefixes = {place: (0, place) for place in places}
    for shift in range(8 * dtype.itemsize - 16, -1, -16):
        counts = {begin: np.zeros(1 << 16, np.int64) for begin, _ in prefixes.values()}
        for array in numbers():
            for piece in np.array_split(array.view(f"u{dtype.itemsize}"), len(array) // LONG + 1):
                begins = piece >> shift
                for begin, count in counts.items():
                    digits = begins[begins >> 16 == begin] & 0xFFFF
                    count += np.bincount(digits.astype(np.intp), minlength=1 << 16)
        for place, (begin, rank) in prefixes.items():
            digit = int(np.searchsorted(counts[begin].cumsum(), rank, side="right"))
            prefixes[place] = (begin << 16) | digit, rank - int(counts[begin][:digit].sum())
    # [()] of an array without dimensions is its number
    return {place: np.array(begin, f"u{dtype.itemsize}").view(dtype)[()]  # type: ignore[misc]
            for place, (begin, _) in prefixes.items()}


def _keep(stack, groups, limits):
    """Set to 0, in place, what is not within its limits; the groups (…, entries) are views of the tasks' vectors."""
    for group, limit in zip(groups, limits):
        low, high = (torch.from_numpy(edge).to(group) for edge in limit)
        for piece in group.split(PIECE, -1):
            magnitudes = piece.abs()
            piece *= (magnitudes >= low) & (magnitudes <= high)
    return stack


# -- how to agree ----------------------------------------------------------------------------------

def elected_sign(key: str, total: Float[Tensor, "*shape"], on_tie: str,
                 majority: float = 0.0) -> Float[Tensor, "*shape"]:
    """The sign that the tasks elect for every entry: that of their sum, as −1, 0 or 1.

    Args:
        key: what the sum belongs to, for the error where it does not fit its dtype: such a sum has no sign.
        total: Σ τ_t.
        on_tie: the sign of entries whose sum is exactly 0. See `ties`.
        majority: the sign that most entries of the whole vector have, where `on_tie` asks for it.
    """
    sign = must_fit(key, total).sign()
    if on_tie != "zero":
        of_majority = math.copysign(1.0, majority) if majority else -1.0
        fallback = {"positive": 1.0, "negative": -1.0, "majority": of_majority}[on_tie]
        sign[sign == 0] = fallback
    return sign


def agreed(key: str, stack: Float[Tensor, " tasks *shape"], agree: str, on_tie: str,
           majority: float = 0.0) -> Float[Tensor, "*shape"]:
    """One vector from those of all tasks.

    "sum" adds them. "elected mean" elects a sign for every entry and averages the tasks that have it; "elected sum"
    adds those.
    """
    def of_piece(stack):
        total = stack.sum(0)
        if agree == "sum":
            return total
        elected = stack * elected_sign(key, total, on_tie, majority) > 0
        total = (stack * elected).sum(0)
        return total / elected.sum(0).clamp_(min=1) if agree == "elected mean" else total
    return in_pieces(of_piece, flat(stack)).view(stack.shape[1:])


def merged_vectors(base: State, finetuned: Sequence[State], drop: Drop, agree: str,
                   on_tie: str) -> Callable[[str], Tensor]:
    """key -> agree(drop(τ_1), …, drop(τ_T)) of that key, in float32 or more."""
    def dropped(key):
        return drop(key, task_vectors(key, base, finetuned))

    majority = majority_sign(base, dropped) if on_tie == "majority" and agree != "sum" else 0.0
    return lambda key: agreed(key, dropped(key), agree, on_tie, majority)


def majority_sign(base: State, vectors: Callable[[str], Tensor]) -> float:
    """Σ sgn(Σ τ_t) over all entries: positive where most entries of the summed vector are. `vectors` gives (tasks, …)
    for a key.
    """
    return sum(must_fit(key, vectors(key).sum(0)).sign().double().sum().item()
               for key, tensor in base.items() if tensor.is_floating_point())


def _merged(base, finetuned, scale, drop, agree, on_tie):
    vector = merged_vectors(base, finetuned, drop, agree, on_tie)
    return by_tensor(base, lambda key: wide(base[key]) + scale * vector(key))


# -- the methods -----------------------------------------------------------------------------------

@method("TIES", source="Yadav et al. 2023, algorithm 1", needs=[Needs.WEIGHTS],
        drops="small entries, and those that lost the vote", combines="the mean of those that won")
def ties(base: State, finetuned: Sequence[State], *, scale: Scale = 1.0, density: Share = 0.2,
         trim: Literal["global", "tensor", "row"] = "global", count: Number = "floor",
         agree: Agree = "elected mean", on_tie: OnTie = "zero") -> State:
    """Trim, elect sign, merge: keep the largest entries of every τ_t, elect a sign for every entry, average the tasks
    that have it.

    Args:
        scale: λ.
        density: the share of entries that is kept.
        trim: what the share is counted over. "global" the whole task vector (the paper and its code), "tensor" every
            tensor (PEFT and mergekit), "row" the last dimension.
        count: how many entries a share is. "floor" ⌊density · n⌋ (the formula), "floor + 1" one more (the paper's
            code, which keeps all from the threshold on), "at least one" max(1, ⌊density · n⌋) (mergekit 0.1.5, of every
            tensor). density = 0 keeps none.
        agree: how the tasks agree. "elected mean" is TIES; "elected sum" adds instead (its code's "dis-sum", which
            Consensus uses), "sum" elects no sign.
        on_tie: the sign where the kept entries sum to exactly 0. "zero" none, so the entry is 0 (the formula
            sgn(Σ τ_t)); "majority" the sign that most entries of the whole vector have, negative if there is none (the
            paper's code); "positive" (mergekit); "negative".
    """
    return _merged(base, finetuned, scale, largest(base, finetuned, density, trim, 0.0, count), agree, on_tie)


@method("DARE", source="Yu et al. 2024, §3", needs=[Needs.WEIGHTS],
        drops="entries at random; the rest is made larger", combines="λ times their sum")
def dare(base: State, finetuned: Sequence[State], *, scale: Scale = 0.3, drop_rate: Share = 0.9, seed: Seed = 0,
         rescale: Literal["rate", "norm", "none"] = "rate", agree: Agree = "sum", on_tie: OnTie = "zero") -> State:
    """Drop and rescale: drop entries of τ_t at random, divide the rest by the share that is left, then add as task
    arithmetic does.

    Args:
        scale: λ.
        drop_rate: p, the probability that an entry is dropped. At 1 nothing is left and the result is `base`.
        seed: of the draws.
        rescale: what makes up for the dropped. "rate" divides by 1 − p (the paper and its code), "norm" restores every
            tensor's sum of magnitudes (mergekit), "none".
        agree: how the tasks agree. "sum" as in task arithmetic; "elected mean" as in TIES (mergekit's dare_ties);
            "elected sum".
        on_tie: see `ties`.
    """
    return _merged(base, finetuned, scale, random(drop_rate, rescale, seed), agree, on_tie)


@method("DELLA", source="Deep et al. 2024", needs=[Needs.WEIGHTS],
        drops="entries at random, small ones more often, and those that lost the vote",
        combines="the mean of those that won")
def della(base: State, finetuned: Sequence[State], *, scale: Scale = 1.0, drop_rate: Share = 0.5, spread: Share = 0.2,
          seed: Seed = 0, rescale: Literal["rate", "norm", "none"] = "rate", agree: Agree = "elected mean",
          on_tie: OnTie = "zero") -> State:
    """Drop entries of τ_t at random, small ones with a higher probability than large ones, divide the rest by the
    probability that they stay, and merge as TIES does.

    Args:
        scale: λ.
        drop_rate: p, the probability for the entry in the middle of its row, by magnitude.
        spread: ε. The probabilities of a row go from p − ε/2, for its largest entry, to nearly p + ε/2, cut off at 0
            and 1. mergekit's `epsilon` is half of it. At 0 every entry has p, as in DARE.
        seed: of the draws.
        rescale: what makes up for the dropped. "rate" divides every entry by 1 minus its own probability (the paper),
            "norm" restores every tensor's sum of magnitudes (mergekit), "none".
        agree: how the tasks agree. "elected mean" as in TIES (the paper); "sum" adds (mergekit's della_linear);
            "elected sum".
        on_tie: see `ties`.
    """
    return _merged(base, finetuned, scale, random(drop_rate, rescale, seed, spread), agree, on_tie)


@method("Model Breadcrumbs", short="Breadcrumbs", source="Davari and Belilovsky 2024, §3", needs=[Needs.WEIGHTS],
        drops="small entries, and the very largest", combines="λ times their sum")
def breadcrumbs(base: State, finetuned: Sequence[State], *, scale: Scale = 0.3, density: Share = 0.1,
                outliers: Share = 0.01, trim: Literal["tensor", "row", "global"] = "tensor", agree: Agree = "sum",
                on_tie: OnTie = "zero") -> State:
    """Drop the very largest entries of τ_t and, of the rest, the small ones; then add as task arithmetic does.

    Args:
        scale: λ.
        density: the share of entries that is kept in the end.
        outliers: the share of largest entries that is dropped first. Where density + outliers exceeds 1, fewer are
            dropped (mergekit).
        trim: what the shares are counted over. "tensor" every tensor (the paper's layers; mergekit), "row" the last
            dimension (the paper's code, where a vector is one row and a single number is kept), "global" the whole
            task vector.
        agree: how the tasks agree. "sum" as in task arithmetic; "elected mean" as in TIES (mergekit's
            breadcrumbs_ties); "elected sum".
        on_tie: see `ties`.
    """
    return _merged(base, finetuned, scale, largest(base, finetuned, density, trim, outliers), agree, on_tie)
