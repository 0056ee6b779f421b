"""How an answer is compared with the right one: type before shape before value, and never with an exception."""
import copy
import math
from dataclasses import dataclass

import numpy as np
import torch

from lessons.kit import surroundings

_LONGEST = 300  # characters that a message shows of an answer


@dataclass(frozen=True)
class Outcome:
    """What a function does with one case.

    Attributes:
        kind: "value", "nothing", "changed" (one of its arguments) or the name of an exception.
        value: what it returned.
        problem: a sentence about everything but a value.
    """
    kind: str
    value: object = None
    problem: str = ""


def outcome(function, case: tuple) -> Outcome:
    """Try a function on copies of a case's arguments."""
    arguments = copy.deepcopy(case)
    try:
        with surroundings.restored():  # the solution, run next, must find them too
            value = function(*arguments)
    except Exception as error:
        name = type(error).__name__
        return Outcome(name, None, f"Your function stopped with {name}: {shown(error, str)}")
    if not same(arguments, case, 0.0):
        return Outcome("changed", value, "Your function changed one of its arguments in place. The caller's tensors "
                                         "must stay as they are: make new ones.")
    if value is None or value is Ellipsis:
        return Outcome("nothing", None, "Your function returned nothing yet: end it with a return statement.")
    return Outcome("value", value)


def alike(a: Outcome, b: Outcome, tolerance: float) -> bool:
    """Whether two functions did the same with a case."""
    return a.kind == b.kind and (a.kind != "value" or same(a.value, b.value, tolerance))


def same(a, b, tolerance: float) -> bool:
    """Whether an answer is the right one, within a relative and absolute tolerance."""
    return not difference(a, b, tolerance)


def shown(value, write=repr) -> str:
    """A value as text of limited length, also where it cannot be written."""
    try:
        text = write(value)
    except Exception:  # a whole number of thousands of digits, a __repr__ that fails
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def difference(got, right, tolerance: float) -> str:
    """"" where the two are equal, else what differs, type before shape before value."""
    try:
        return _compared(got, right, tolerance)
    except Exception as error:  # an answer can be any object, and fail at whatever is asked of it
        return (f"Your answer, a {type(got).__name__}, cannot be compared with the right one: "
                f"that stopped with {type(error).__name__}.")


def _compared(got, right, tolerance):
    if isinstance(got, torch.Tensor) and (kind := _unusual(got)):
        return f"This should hold ordinary real numbers, but it is a {kind} tensor."
    if isinstance(right, torch.Tensor):
        return _of_tensors(got, right, tolerance)
    if isinstance(right, dict):
        return _of_dicts(got, right, tolerance)
    if isinstance(right, (tuple, list)):
        return _of_lists(got, right, tolerance)
    if isinstance(right, float):
        return _of_numbers(got, right, tolerance)
    if callable(getattr(right, "identical", None)):  # an xarray object
        return "" if right.identical(got) else "The data set is another one."
    if (type(got) is type(right) or isinstance(got, str)) and got == right:
        return ""
    return f"This should be {right!r} on one of the cases, but it is {shown(got)}."


def _unusual(tensor):
    """What kind of tensor it is, if it holds no numbers that can be compared; else ""."""
    kinds = {"complex": tensor.is_complex(),
             "meta": tensor.is_meta,
             "quantised": tensor.is_quantized,
             "nested": tensor.is_nested,
             "sparse": tensor.layout != torch.strided}
    return next((kind for kind, is_it in kinds.items() if is_it), "")


def _of_tensors(got, right, tolerance):
    if not isinstance(got, torch.Tensor):
        return f"This should be a tensor of shape {tuple(right.shape)}, but it is a {type(got).__name__}."
    if got.shape != right.shape:
        return f"The shape should be {tuple(right.shape)}, but it is {tuple(got.shape)}."
    if torch.allclose(got.double(), right.double(), rtol=tolerance, atol=tolerance, equal_nan=True):
        return ""
    apart = (got.double() - right.double()).abs().max()
    return f"The shape is right, the values are not: they differ by up to {apart:.3g}."


def _of_dicts(got, right, tolerance):
    if not isinstance(got, dict):
        return f"This should be a dict, but it is a {type(got).__name__}."
    if got.keys() != right.keys():
        theirs = shown(got, lambda keys: ", ".join(map(str, keys)))
        return f"The keys should be {', '.join(map(str, right))}, but they are {theirs}."
    for key in right:
        if problem := difference(got[key], right[key], tolerance):
            return f"At key {key!r}: {problem}"
    return ""


def _of_lists(got, right, tolerance):
    if not isinstance(got, (tuple, list)) or len(got) != len(right):
        return f"This should hold {len(right)} things, but it is {shown(got)}."
    return next((problem for a, b in zip(got, right) if (problem := difference(a, b, tolerance))), "")


def _of_numbers(got, right, tolerance):
    if np.iscomplexobj(got):  # float() would take the real part of numpy's
        return "This should be a real number, but it is a complex one."
    try:
        number = float(got)
    except (TypeError, ValueError):
        return f"This should be a number, but it is a {type(got).__name__}."
    except OverflowError:
        return f"The number should be {right:.6g} on one of the cases, but it is too large for a float."
    if math.isclose(number, right, rel_tol=tolerance, abs_tol=tolerance):
        return ""
    return f"The number should be {right:.6g} on one of the cases, but it is {number:.6g}."
