"""A state dict as a vector: the algebra that every chapter is written in.

State dicts are plain dict[str, Tensor]. Nothing changes its arguments, and no result shares memory with them. Integer tensors (BatchNorm's
counter) are not part of the vector: they are carried over from the first argument. Two state dicts that do not belong together (keys,
shapes or dtypes differ, or a NaN is in one) are a ValueError that names the key.
"""
import math
import numbers
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

State = dict[str, Tensor]


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
        warnings.warn(f"alpha = {alpha:g} lies outside [0, 1]: this extrapolates beyond the two models", ExtrapolationWarning, stacklevel=2)
    check(a, b)
    if alpha in (0, 1):  # exact at the ends also where a − b would overflow
        return {key: tensor.clone() for key, tensor in (a if alpha else a | {key: b[key] for key in _float_keys(b)}).items()}
    return {key: mix(a[key], b[key], alpha) if a[key].is_floating_point() else a[key].clone() for key in a}


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
    return _combine(lambda *tensors: torch.einsum("k,k...->...", shares.to(tensors[0].dtype), torch.stack(tensors)), *states)


def dot(a: State, b: State) -> float:
    """⟨a, b⟩ over all floating-point tensors, in float64."""
    check(a, b)
    return sum(torch.dot(a[key].flatten().double(), b[key].flatten().double()).item() for key in _float_keys(a))


def norm(a: State) -> float:
    """The Euclidean length, in float64."""
    return math.sqrt(dot(a, a))


def cosine(a: State, b: State) -> float:
    """⟨a, b⟩ / (‖a‖·‖b‖).

    Raises:
        ValueError: one of them is the zero vector, which has no direction.
    """
    length = norm(a) * norm(b)
    if length == 0:
        raise ValueError("the cosine with a zero vector is not defined: one of the state dicts is zero everywhere")
    return max(-1.0, min(1.0, dot(a, b) / length))  # rounding alone could lead just outside


def flatten(a: State) -> Tensor:
    """All floating-point tensors as one vector (parameters,), in the dict's order."""
    check(a)
    return torch.cat([a[key].flatten() for key in _float_keys(a)])


def unflatten(vector: Tensor, like: State) -> State:
    """The state dict with `like`'s keys, shapes and integer tensors whose `flatten` is `vector`.

    Raises:
        ValueError: the vector's length is not that of `flatten(like)`.
    """
    keys = _float_keys(like)
    sizes = [like[key].numel() for key in keys]
    if vector.shape != (sum(sizes),):
        raise ValueError(f"the vector must have shape ({sum(sizes)},) to fill these keys, not {tuple(vector.shape)}")
    parts = dict(zip(keys, vector.split(sizes)))
    return {key: parts[key].reshape(tensor.shape).to(tensor.dtype, copy=True) if key in parts else tensor.clone() for key, tensor in like.items()}


def check(*states: State) -> None:
    """Whether state dicts belong together: keys, shapes and dtypes are the same, and nothing is NaN.

    Raises:
        ValueError: they do not; the message names the key.
    """
    first = states[0]
    for number, state in enumerate(states, 1):
        if different := first.keys() ^ state.keys():
            raise ValueError(f"state dict {number} has other keys than the first: {', '.join(sorted(different)[:5])}. Both must come from one architecture.")
        for key, tensor in state.items():
            if tensor.shape != first[key].shape:
                raise ValueError(f"{key!r} has shape {tuple(tensor.shape)} in state dict {number} and {tuple(first[key].shape)} in the first. "
                                 "Both must come from one architecture.")
            if tensor.dtype != first[key].dtype:
                raise ValueError(f"{key!r} is {tensor.dtype} in state dict {number} and {first[key].dtype} in the first. Convert one of them with .to(…).")
            if tensor.is_floating_point() and tensor.sum().isnan() and tensor.isnan().any():  # the sum is ten times as fast, but inf − inf is NaN too
                raise ValueError(f"{key!r} of state dict {number} holds NaN: that model's training diverged. Train it again with a lower learning rate.")


def _combine(function, *states):
    """Apply a function to the floating-point tensors of all state dicts, key by key; carry the others from the first."""
    check(*states)
    floats = set(_float_keys(states[0]))
    return {key: function(*(state[key] for state in states)) if key in floats else tensor.clone() for key, tensor in states[0].items()}


def _float_keys(state):
    return [key for key, tensor in state.items() if tensor.is_floating_point()]


def _finite(name, value):
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return float(value)


def _convex(shares, count):
    shares = torch.as_tensor(shares, dtype=torch.float64)
    if shares.shape != (count,) or not shares.isfinite().all() or (shares < 0).any() or abs(shares.sum().item() - 1) > 1e-6:
        raise ValueError(f"shares must be {count} numbers, none negative, that sum to 1, not {shares.tolist()}")
    return shares
