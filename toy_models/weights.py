"""A state dict as a vector: the algebra that every chapter is written in.

State dicts are plain dict[str, Tensor]. Nothing changes its arguments, and no result shares memory with them.
BatchNorm's counter, a whole number, is not part of the vector: it is carried over from the first argument.
A ValueError that names the key is raised for two state dicts that do not belong together (keys, shapes or dtypes
differ, or a NaN is in one), for a tensor that is no weight (any other whole number, complex, quantised, sparse, …),
and for a result that does not fit its dtype.
"""
import math
import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

State = Mapping[str, Tensor]  # a dict, or what reads like one
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COUNTER = "num_batches_tracked"  # torch's name for the one whole number in a network: the batches that BatchNorm saw


class ExtrapolationWarning(UserWarning):
    """α lies outside [0, 1]: the result is beyond the two models, not between them."""


def mix(a: Tensor, b: Tensor, alpha: float) -> Tensor:
    """α·a + (1 − α)·b, elementwise: exactly a at α = 1 and exactly b at α = 0."""
    return torch.lerp(b, a, alpha)  # b + α·(a − b) in one step, and exact at both ends


def interpolate(a: State, b: State, alpha: float) -> State:
    """α·a + (1 − α)·b for every floating-point tensor: exactly `a` at α = 1 and exactly `b` at α = 0 (CTL, §3).

    α outside [0, 1] is allowed and said to be extrapolation.
    """
    alpha = _finite("alpha", alpha)
    if not 0 <= alpha <= 1:
        warnings.warn(f"alpha = {alpha:g} lies outside [0, 1]: this extrapolates beyond the two models",
                      ExtrapolationWarning, stacklevel=2)
    if alpha in (0, 1):  # exact at the ends also where a − b would overflow
        return _combine(lambda p, q: (p if alpha else q).clone(), a, b)
    return _combine(lambda p, q: mix(p, q, alpha), a, b)


def add(a: State, b: State) -> State:
    """a + b."""
    return _combine(torch.add, a, b)


def subtract(a: State, b: State) -> State:
    """a − b."""
    return _combine(torch.sub, a, b)


def scale(a: State, factor: float) -> State:
    """factor · a."""
    factor = _finite("factor", factor)
    return _combine(lambda p: p * factor, a)


def average(states: Sequence[State], shares: Sequence[float] | Tensor | None = None) -> State:
    """The mean of one or more state dicts; with `shares`, their convex combination Σ shares_i · states_i.

    Raises:
        ValueError: there is no state dict, or the shares are not one a state dict, none negative, summing to 1.
    """
    if not states:
        raise ValueError("the average of no state dicts is not defined: give at least one")
    if shares is None:
        return _combine(lambda *tensors: torch.stack(tensors).mean(0), *states)
    shares = _convex(shares, len(states))
    def mixed(*tensors):
        return torch.einsum("k,k...->...", shares.to(tensors[0].dtype), torch.stack(tensors))
    return _combine(mixed, *states)


def dot(a: State, b: State) -> float:
    """⟨a, b⟩ over all floating-point tensors, in float64."""
    check(a, b)
    total = 0.0
    for key in _float_keys(a):
        product = torch.dot(a[key].flatten().double(), b[key].flatten().double())
        total += must_fit(key, product, a[key], b[key]).item()
    return total


def norm(a: State) -> float:
    """The Euclidean length, in float64."""
    return math.sqrt(dot(a, a))


def cosine(a: State, b: State) -> float:
    """⟨a, b⟩ / (‖a‖·‖b‖).

    Raises:
        ValueError: one of them is the zero vector or infinite, which has no direction.
    """
    length = norm(a) * norm(b)
    if not math.isfinite(length):
        raise ValueError("the cosine with an infinite vector is not defined: a state dict holds an infinite weight")
    if length == 0:
        raise ValueError("the cosine with a zero vector is not defined: one of the state dicts is zero everywhere")
    return max(-1.0, min(1.0, dot(a, b) / length))  # rounding alone could lead just outside


def flatten(a: State) -> Tensor:
    """All floating-point tensors as one vector (parameters,), in the dict's order."""
    check(a)
    return torch.cat([a[key].flatten() for key in _float_keys(a)])


def unflatten(vector: Tensor, like: State) -> State:
    """The state dict with `like`'s keys, shapes and dtypes, and its counters, whose `flatten` is `vector`.

    Raises:
        ValueError: the vector's length is not that of `flatten(like)`, or a number does not fit its key's dtype.
    """
    _check_kinds(1, like, summed=False)
    keys = _float_keys(like)
    sizes = [like[key].numel() for key in keys]
    if vector.shape != (sum(sizes),):
        raise ValueError(f"the vector must have shape ({sum(sizes)},) to fill these keys, not {tuple(vector.shape)}")
    filled = {key: tensor.clone() for key, tensor in like.items()}
    for key, part in zip(keys, vector.split(sizes)):
        filled[key] = must_fit(key, part.reshape(like[key].shape).to(like[key].dtype, copy=True), part)
    return filled


def check(*states: State) -> None:
    """Whether state dicts hold weights and belong together: keys, shapes and dtypes are the same, nothing is NaN.

    Raises:
        ValueError: they do not; the message names the key.
    """
    sums(*states)


def sums(*states: State, summed: bool = True) -> list[dict[str, float]]:
    """`check`, which asks for every tensor once, since it may lie in a file: {key: the sum of its entries, 0 of a
    counter} of every state dict. A sum that is finite has finite entries; another may come of large ones.

    Args:
        summed: False looks at no number, so that all sums are 0 and a NaN is not found.

    Raises:
        ValueError: as `check`.
    """
    seen = [_check_kinds(number, state, summed) for number, state in enumerate(states, 1)]
    first = seen[0]
    for number, (state, ours) in enumerate(zip(states, seen), 1):
        if different := first.keys() ^ ours.keys():
            raise ValueError(f"state dict {number} has other keys than the first: {', '.join(sorted(different)[:5])}. "
                             "Both must come from one architecture.")
        for key, (shape, dtype, total) in ours.items():
            if shape != first[key].shape:
                raise ValueError(f"{key!r} has shape {tuple(shape)} in state dict {number} and "
                                 f"{tuple(first[key].shape)} in the first. Both must come from one architecture.")
            if dtype != first[key].dtype:
                raise ValueError(f"{key!r} is {dtype} in state dict {number} and {first[key].dtype} in the "
                                 "first. Convert one of them with .to(…).")
            # the sum is ten times as fast, but inf − inf is NaN too
            if math.isnan(total) and state[key].isnan().any():
                raise ValueError(f"{key!r} of state dict {number} holds NaN: that model's training diverged. Train it "
                                 "again with a lower learning rate.")
    return [{key: one.total for key, one in ours.items()} for ours in seen]


def must_fit(key: str, result: Tensor, *given: Tensor) -> Tensor:
    """The result, which is finite unless a tensor that it was made of is not.

    Raises:
        ValueError: it overflowed; the message names the key and the dtype.
    """
    if not _finite_tensor(result) and all(map(_finite_tensor, given)):
        wider = {torch.float16: "float32", torch.bfloat16: "float64", torch.float32: "float64"}.get(result.dtype)
        advice = "Take a smaller scale, or smaller weights."
        if wider:
            advice = f"Convert all models with .to(torch.{wider}) first, or take a smaller scale."
        raise ValueError(f"{key!r} overflows: the result, or a step on the way to it, does not fit {result.dtype}. "
                         f"{advice}")
    return result


def _finite_tensor(tensor):
    """Neither infinite nor NaN anywhere, found without a copy."""
    # a finite sum has finite terms; any other may come of large terms alone
    return math.isfinite(tensor.sum().item()) or all(math.isfinite(extreme.item()) for extreme in tensor.aminmax())


class _Seen(NamedTuple):
    """What is kept of a tensor that was looked at once."""
    shape: torch.Size
    dtype: torch.dtype
    total: float


def _check_kinds(number, state, summed=True):
    """{key: `_Seen`}, where all of them are weights or counters."""
    if not isinstance(state, Mapping) or not all(isinstance(key, str) for key in state):
        raise ValueError(f"state dict {number} must be a dict of tensors, not {type(state).__name__}. "
                         "For a network, give network.state_dict().")
    seen, weights = {}, 0
    for key, value in state.items():
        if is_weight := _is_weight(value):
            weights += 1
        else:
            _check_counter(f"{key!r} of state dict {number}", key, value, state)
        seen[key] = _Seen(value.shape, value.dtype, value.detach().sum().item() if is_weight and summed else 0.0)
    if not weights:
        raise ValueError(f"state dict {number} holds no weights: none of its {len(state)} tensors is floating-point. "
                         "Was the right file loaded?")
    return seen


def _is_weight(value):
    return isinstance(value, Tensor) and value.dtype in FLOATS and value.layout is torch.strided and not value.is_meta


def _check_counter(name, key, value, state):
    """Refuse a value, no weight, that is not BatchNorm's counter either; say what it is and what to do."""
    if not isinstance(value, Tensor):
        instead = "Take it out of all state dicts."
        if inner := [key for key, value in state.items() if isinstance(value, Mapping)]:
            instead = f"If this is a checkpoint, give its inner dict, checkpoint[{inner[0]!r}]."
        elif type(value).__module__ == "numpy":
            instead = "Convert it with torch.from_numpy(…)."
        raise ValueError(f"{name} is a {type(value).__name__}, not a tensor. {instead}")
    if value.is_meta:
        raise ValueError(f"{name} is on the meta device and has no values. Load the weights into it first.")
    if value.layout is not torch.strided:
        raise ValueError(f"{name} has the layout {value.layout}. Convert it with .to_dense().")
    if value.is_quantized:
        raise ValueError(f"{name} is quantised, {value.dtype}. Convert it with .dequantize().")
    if value.is_complex():
        raise ValueError(f"{name} is {value.dtype}, and complex weights cannot be merged. "
                         "Split them into real numbers with torch.view_as_real(…).")
    if value.is_floating_point():
        raise ValueError(f"{name} is {value.dtype}, which torch cannot calculate with. "
                         "Convert it with .to(torch.float32), and multiply by its scale if it has one.")
    if value.dtype == torch.bool or not key.endswith(COUNTER):
        raise ValueError(f"{name} is {value.dtype}. Whole numbers are no weights: only BatchNorm's {COUNTER} is "
                         "carried over. If these are quantised weights, convert with .to(torch.float32) and multiply "
                         "by their scale; else take it out of all state dicts, and put it back into the result.")


def _combine(function, *states):
    """Apply a function to the floating-point tensors of all state dicts, key by key; carry the others from the first.
    """
    check(*states)
    combined = {}
    for key, tensor in states[0].items():
        if tensor.is_floating_point():
            given = [state[key] for state in states]
            combined[key] = must_fit(key, function(*given), *given)
        else:
            combined[key] = tensor.clone()
    return combined


def _float_keys(state):
    return [key for key, tensor in state.items() if tensor.is_floating_point()]


def _finite(name, value):
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return float(value)


def _convex(shares, count):
    shares = torch.as_tensor(shares, dtype=torch.float64)
    sensible = shares.shape == (count,) and shares.isfinite().all() and not (shares < 0).any()
    if not sensible or abs(shares.sum().item() - 1) > 1e-6:
        raise ValueError(f"shares must be {count} numbers, none negative, that sum to 1, not {shares.tolist()}")
    return shares
