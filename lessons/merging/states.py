"""What every method does with state dicts: check them, walk through them tensor by tensor, and give the result the
dtype of the input.

Only one key's tensors are held at a time, so that state dicts can be read from files as they are needed (`StateFile`),
and a result can be written as it is made (`on_demand`).
"""
import contextlib
import contextvars
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import no_type_check

import torch
from jaxtyping import Float
from safetensors import safe_open
from torch import Tensor

from toy_models import weights
from toy_models.weights import State

WIDE = (torch.float32, torch.float64)  # what is computed in
PIECE = 1 << 15  # entries: with eight tasks in float32, 1 MB


class StateFile(Mapping):
    """A state dict in a safetensors file whose tensors are read when they are asked for, each time anew.

    Every function of this package takes it in place of a dict. A merge then holds its result and one key's tensors of
    all models. A file that was written since it was opened is not read on (ValueError): it is mapped, and a mapped file
    that is cut short kills the process.
    """

    def __init__(self, path: str | os.PathLike):
        self._path = path
        self._known = self._identity()
        self._file = safe_open(path, framework="pt")
        self._keys = dict.fromkeys(self._file.keys())

    def __getitem__(self, key: str) -> Tensor:
        if key not in self._keys:
            raise KeyError(key)
        if self._identity() != self._known:
            raise ValueError(f"{self._path} has changed since it was opened. Open it again when nobody writes it.")
        return self._file.get_tensor(key).clone()  # in memory of its own, whatever becomes of the file

    def _identity(self):
        found = os.stat(self._path)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


@no_type_check  # in tests too it is for this function to say what is wrong
def check_states(base: State, finetuned: Sequence[State]) -> None:
    """Refuse what cannot be merged.

    Raises:
        ValueError: `finetuned` is not a sequence of state dicts or is empty, a state dict holds something else than
            weights or no weights at all, keys, shapes or dtypes differ from those of `base`, or a weight is NaN or
            infinite. The message counts `base` as state dict 1 and names the key.
    """
    _check_list(finetuned)
    states = (base, *finetuned)
    for number, (state, totals) in enumerate(zip(states, weights.sums(*states)), 1):
        for key, total in totals.items():
            if not math.isfinite(total) and state[key].isinf().any():  # the sum is the quick look
                raise ValueError(f"{key!r} of state dict {number} holds an infinite weight: that model's training "
                                 "diverged. Train it again with a lower learning rate.")


def _check_list(finetuned):
    if isinstance(finetuned, (Mapping, str)) or not isinstance(finetuned, Sequence):
        raise ValueError(f"finetuned must be a list of state dicts, one a task, not {type(finetuned).__name__}")
    if not finetuned:
        raise ValueError("there is nothing to merge: finetuned holds no state dict, give at least one")


@no_type_check
def checked_by_result(base: State, finetuned: Sequence[State], function: Callable[[], State]) -> State:
    """function(), refused as `check_states` does, for a method of whose models each entry is in the result: a NaN or
    infinite one shows there, where `by_tensor` looks for it anyway, and the numbers of all models are read once. Inside
    `on_demand` there is no result yet, so all is looked at first.
    """
    if _ON_DEMAND.get():
        check_states(base, finetuned)
        return function()
    _check_list(finetuned)
    weights.sums(base, *finetuned, summed=False)
    (totals,) = weights.sums(base)  # of which the average uses nothing
    if not all(map(math.isfinite, totals.values())):
        check_states(base, finetuned)
    try:
        return function()
    except ValueError as error:
        refused = error
    check_states(base, finetuned)
    raise refused


def wide(tensor: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The tensor in the dtype that is computed in: float64 stays, everything else becomes float32."""
    return tensor.detach().to(torch.float64 if tensor.dtype == torch.float64 else torch.float32)


class OnDemand(Mapping):
    """What `by_tensor` gives inside `on_demand`: a tensor is made when it is asked for, each time anew."""

    def __init__(self, base: State, function: Callable[[str], Tensor]):
        self._base = base
        self._function = function

    @torch.no_grad()
    def __getitem__(self, key: str) -> Tensor:
        tensor = self._base[key]
        if not tensor.is_floating_point():
            return tensor.clone()
        return weights.must_fit(key, self._function(key).to(tensor.dtype))

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)


_ON_DEMAND = contextvars.ContextVar("on demand", default=False)


@contextlib.contextmanager
def on_demand() -> Iterator[None]:
    """Inside, what a method gives need not fit into memory: its tensors are made when they are asked for."""
    before = _ON_DEMAND.set(True)
    try:
        yield
    finally:
        _ON_DEMAND.reset(before)


def by_tensor(base: State, function: Callable[[str], Tensor]) -> State:
    """{key: function(key)} for the floating-point tensors, in the dtype of `base`; the others are carried over from
    `base`.

    The largest comes first: the memory that it needed in passing serves all others. The other way round each would need
    a larger piece.

    Raises:
        ValueError: a result does not fit the dtype. Inside `on_demand` it is raised where the tensor is asked for.
    """
    made = OnDemand(base, function)
    if _ON_DEMAND.get():
        return made
    tensors = {key: made[key] for key in sorted(base, key=lambda key: base[key].numel(), reverse=True)}
    return {key: tensors[key] for key in base}


def by_entry(base: State, finetuned: Sequence[State], function: Callable[[Tensor, Tensor], Tensor]) -> State:
    """As `by_tensor`, for a function (origin (entries,), tuned (tasks, entries)) -> (entries,) that treats every entry
    by itself.

    It is given pieces that fit the processor's cache, in float32 or more, and may change them: they are copies.
    """
    def whole(key):
        origin = base[key].detach().flatten()
        tuned = [state[key].detach().flatten() for state in finetuned]
        result = torch.empty_like(origin)
        if not len(result):
            return result.view(base[key].shape)
        for into, piece, *pieces in zip(*(tensor.split(PIECE) for tensor in (result, origin, *tuned))):
            if piece.dtype not in WIDE:
                piece, *pieces = map(wide, (piece, *pieces))
            into.copy_(function(piece.clone(), torch.stack(pieces)))
        return result.view(base[key].shape)
    return by_tensor(base, whole)


def in_pieces(function: Callable[..., Tensor], *stacks: Tensor) -> Tensor:
    """function(*stacks) for a function that treats every entry by itself, computed in pieces that fit the processor's
    cache.

    Args:
        function: tensors (…, entries) -> one tensor (…, entries).
        stacks: the tensors.
    """
    pieces = zip(*(stack.split(PIECE, -1) for stack in stacks))
    return torch.cat([function(*together) for together in pieces], -1)


def flat(stack: Float[Tensor, " tasks *shape"]) -> Float[Tensor, "tasks entries"]:
    """Task vectors as a view with one dimension for all entries; a single number is one entry."""
    return stack.view(len(stack), stack[0].numel())


def task_vectors(key: str, base: State, finetuned: Sequence[State]) -> Float[Tensor, "tasks ..."]:
    """τ_t = θ_t − θ₀ of one key, stacked, in float32 or more."""
    origin = wide(base[key])
    stack = torch.empty(len(finetuned), *origin.shape, dtype=origin.dtype, device=origin.device)
    for row, state in zip(stack, finetuned):
        torch.sub(wide(state[key]), origin, out=row)
    return stack


def difference(key: str, state: State, origin: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """θ_t − origin of one key, in float32 or more.

    Raises:
        ValueError: it does not fit that dtype, so that it cannot be decomposed.
    """
    return weights.must_fit(key, wide(state[key]) - origin)


def mean(key: str, finetuned: Sequence[State]) -> Float[Tensor, "..."]:
    """θ_avg of one key, in float32 or more."""
    total = wide(finetuned[0][key]).clone()
    for state in finetuned[1:]:
        total += state[key].detach()
    return total.div_(len(finetuned))
