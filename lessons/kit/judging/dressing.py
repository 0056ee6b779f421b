"""A right answer in the dress of the library's own.

The check takes a list, an array or a number with a graph for the tensor that it is worth. The next cell wants what the
library's function gives. What that is can be learned from the exercise's cases, so the library's function need not run
on what the next cell hands over.
"""
import copy
import functools
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lessons.kit.judging.telling import shown


@dataclass(frozen=True)
class Dress:
    """What the library's results are.

    Attributes:
        kind: torch.Tensor, dict, list, tuple, bool, int, float or str; Callable of a function, which gives tensors;
            None where the cases differ or give anything else. Then a result is left as it is.
        inside: the dress of the values of a dict, by key, or of the entries of a list or tuple, by place.
        rest: the dress of keys and places that no case has; None where the known ones differ.
        dtypes: of a tensor, the dtypes that the cases gave.
        follows: of a tensor, where its dtype comes from: "key" (the argument's tensor of the same name, or without one
            what comes next), "arguments" (what their floating-point tensors have together) or "" (always the same).
    """
    kind: type | None
    inside: tuple[tuple[object, "Dress"], ...] = ()
    rest: "Dress | None" = None
    dtypes: tuple[torch.dtype, ...] = ()
    follows: str = ""


_SCALARS = ((bool, (bool, np.bool_)), (int, numbers.Integral), (float, numbers.Real), (str, str))
_NOTHING = Dress(None)
_OF_FUNCTIONS = Dress(torch.Tensor, follows="arguments")  # what a function gives that is a result


def learned(results: Sequence, arguments: Sequence[tuple]) -> Dress:
    """The dress that the library's results have in common, one result a case.

    Args:
        results: what the library's function gave on each case.
        arguments: the cases.
    """
    return _common(results, [_Given(case) for case in arguments], None)


def dressed(value, dress: Dress, arguments: tuple = ()):
    """A right result in this dress: the same numbers, without a graph that the arguments do not have.

    Raises:
        TypeError, ValueError, RuntimeError: it cannot be brought into it.
    """
    return _dressed(value, dress, _Given(arguments), None)


def wrapped(function: Callable, dress: Dress, instead: Callable, tell: Callable[[str], None] = print) -> Callable:
    """The function, whose results are brought into the dress.

    Args:
        instead: runs, on the same arguments, where the function stops with an error, as one can that is right on the
            exercise's cases alone, or where its result cannot be brought into the dress; `tell` says so, once.
    """
    told = []

    def replaced(problem, arguments, named):
        if not told:
            told.append(tell(f"{problem}, so the course's own function runs."))
        return instead(*arguments, **named)

    def inside(*arguments, **named):
        try:
            result = function(*arguments, **named)
        except (Exception, SystemExit) as error:
            stops = f"stops with {type(error).__name__} ({shown(error, str)})"
            return replaced(f"On what this cell gives it, your function {stops}", arguments, named)
        if dress.kind is Callable and callable(result):
            return wrapped(result, _OF_FUNCTIONS, lambda *more: instead(*arguments, **named)(*more), tell)
        try:
            return dressed(result, dress, (*arguments, *named.values()))
        except Exception as error:  # a result can be any object, and fail at whatever is asked of it
            problem = (f"Your function's result, a {type(result).__name__}, cannot be brought into the form that this "
                       f"cell needs ({type(error).__name__})")
            return replaced(problem, arguments, named)
    try:
        return functools.wraps(function)(inside)
    except Exception:  # a callable that refuses to be asked for its name
        return inside


# -- arguments ---------------------------------------------------------------------------------------

class _Given:
    """What a call's arguments say about dtype, device, keys and graphs."""

    def __init__(self, arguments):
        self.arguments = arguments

    @functools.cached_property
    def tensors(self) -> list[torch.Tensor]:
        return list(_tensors(self.arguments))

    @functools.cached_property
    def dicts(self) -> list[dict]:
        return list(_dicts(self.arguments))

    @functools.cached_property
    def dtype(self):
        """What the floating-point tensors among them have together; None without any."""
        floats = [tensor.dtype for tensor in self.tensors if tensor.is_floating_point()]
        return functools.reduce(torch.promote_types, floats) if floats else None

    def at(self, key):
        """The dtype of the first tensor of this name; None without one."""
        dtypes = [one[key].dtype for one in self.dicts if isinstance(one.get(key), torch.Tensor)]
        return dtypes[0] if dtypes else None

    @functools.cached_property
    def device(self):
        return self.tensors[0].device if self.tensors else torch.device("cpu")

    @functools.cached_property
    def has_graph(self) -> bool:
        return any(tensor.requires_grad for tensor in self.tensors)


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    for one in _entries_of(value):
        yield from _tensors(one)


def _dicts(value):
    if isinstance(value, dict):
        yield value
    for one in _entries_of(value):
        yield from _dicts(one)


def _entries_of(value):
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


# -- learning ----------------------------------------------------------------------------------------

def _common(results, given, key):
    """The dress of these results, which stand at the name `key` if they come from a dict."""
    kinds = {_kind(one) for one in results}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is torch.Tensor:
        dtypes = [one.dtype for one in results]
        return Dress(kind, dtypes=tuple(dict.fromkeys(dtypes)), follows=_followed(dtypes, given, key))
    if kind not in (dict, list, tuple):
        return Dress(kind)
    entries = {}
    for one, where in zip(results, given):
        for name, entry in one.items() if kind is dict else enumerate(one):
            entries.setdefault(name, []).append((entry, where))
    inside = {name: _common([one for one, _ in dresses], [where for _, where in dresses], name if kind is dict else key)
              for name, dresses in entries.items()}
    return Dress(kind, tuple(inside.items()), _rest(inside.values()))


def _kind(value):
    if isinstance(value, torch.Tensor):
        return torch.Tensor
    for kind in (dict, list, tuple):
        if isinstance(value, kind):
            return kind
    kind = next((kind for kind, known in _SCALARS if isinstance(value, known)), None)
    return Callable if kind is None and callable(value) else kind


def _rest(dresses):
    """The dress of a key or place that no case has, from the dresses of those that a case has; None if they differ."""
    for simpler in (_plainly, _loosely):
        alike = set(map(simpler, dresses))
        if len(alike) == 1:
            return alike.pop()
    return None


def _plainly(dress):
    return Dress(torch.Tensor, follows="key") if dress.follows else dress


def _loosely(dress):
    """What remains where entries differ in dtypes or keys: a tensor follows its key, a dict holds what all hold."""
    if dress.kind is torch.Tensor:
        return Dress(torch.Tensor, follows="key")
    if dress.kind in (dict, list, tuple):
        return Dress(dress.kind, rest=_rest([one for _, one in dress.inside]))
    return dress


def _followed(dtypes, given, key):
    if key is not None and all(one.at(key) == dtype for one, dtype in zip(given, dtypes)):
        return "key"
    if all(one.dtype == dtype for one, dtype in zip(given, dtypes)):
        return "arguments"
    return ""


# -- dressing ----------------------------------------------------------------------------------------

def _dressed(value, dress, given, key):
    if dress.kind is torch.Tensor:
        return _tensor(value, _dtype(dress, given, key), given)
    if dress.kind is dict:
        return _dict(value, dress, given)
    if dress.kind in (list, tuple):
        inside = dict(dress.inside)
        return dress.kind(_dressed(one, inside.get(place, dress.rest) or _NOTHING, given, key)
                          for place, one in enumerate(value))
    if dress.kind is Callable:
        raise TypeError("not a function")
    return _scalar(value, dress.kind) if dress.kind else value


def _dtype(dress, given, key):
    """The dtype that the library's tensor would have; None where that is not known."""
    dtype = given.at(key) if dress.follows == "key" else None
    if dtype is None and dress.follows:
        dtype = given.dtype
    return dtype or (dress.dtypes[0] if len(dress.dtypes) == 1 else None)


def _tensor(value, dtype, given):
    if isinstance(value, (list, tuple)):
        value = torch.stack([_tensor(one, None, given) for one in value]) if value else torch.empty(0)
    elif not isinstance(value, torch.Tensor):
        value = torch.as_tensor(np.array(value))
    if isinstance(value, torch.nn.Parameter) or value.requires_grad and not given.has_graph:
        value = value.detach()
    if dtype is not None and value.dtype != dtype:
        value = (value if dtype.is_floating_point or not value.is_floating_point() else value.round()).to(dtype)
    return value if value.device == given.device else value.to(given.device)


def _dict(value, dress, given):
    inside = dict(dress.inside)
    order = next((one for one in [*given.dicts, inside] if one.keys() == value.keys()), value)
    return {key: _dressed(value[key], inside.get(key, dress.rest) or _NOTHING, given, key) for key in order}


def _scalar(value, kind):
    if kind is str:
        return str(value.item() if hasattr(value, "item") else value)
    if isinstance(value, torch.Tensor):
        value = value.detach()
    elif isinstance(value, np.ndarray):
        value = value.item()
    return round(float(value)) if kind is int and not isinstance(value, numbers.Integral) else kind(value)


def of_function(exercise) -> Dress:
    """The dress of what an exercise's solution gives on the exercise's cases."""
    cases = exercise.cases()
    return learned([exercise.solution(*copy.deepcopy(case)) for case in cases], cases)
