"""How an answer is compared with the right one: type before shape before value, and never with an exception.

Equal values may come in another dress: 1000.0 or np.int64(1000) for 1000, a list or an array for a tensor, a stacked
tensor for a tuple of tensors, a number in a tensor without dimensions. Text is no number.
"""
import math
import numbers

import numpy as np
import torch

from lessons.kit.judging.telling import FEW, brief, shown

FEW_KEYS = 8  # that a message lists


def same(a, b, tolerance: float) -> bool:
    """Whether an answer is the right one, within a relative and absolute tolerance."""
    return not difference(a, b, tolerance)


def difference(got, right, tolerance: float) -> str:
    """"" where the two are equal, else what differs, type before shape before value."""
    try:
        return _compared(got, right, tolerance)
    except Exception as error:  # an answer can be any object, and fail at whatever is asked of it
        return (f"Your answer, a {type(got).__name__}, cannot be compared with the right one: "
                f"that stopped with {type(error).__name__}.")


def has_nan(value) -> bool:
    """Whether a number, or one in a tensor or an array, is nan."""
    try:
        tensor = _as_tensor(value)
        return tensor is not None and bool(tensor.isnan().any())
    except Exception:  # an answer can be any object, and fail at whatever is asked of it
        return False


def letter(answer) -> str:
    """A choice among letters, as it was meant: "(B)", "b." and " b" are "b"."""
    return answer.strip(" \n\t().:'\"").lower() if isinstance(answer, str) else ""


def _compared(got, right, tolerance):
    if isinstance(got, torch.Tensor) and (kind := _unusual(got)):
        return f"This should hold ordinary real numbers, but it is a {kind} tensor."
    if isinstance(right, torch.Tensor):
        return _of_tensors(got, right, tolerance)
    if isinstance(right, dict):
        return _of_dicts(got, right, tolerance)
    if isinstance(right, (tuple, list)):
        return _of_lists(got, right, tolerance)
    if isinstance(right, bool):
        return _of_truths(got, right)
    if isinstance(right, numbers.Real):
        return _of_numbers(got, right, tolerance)
    if callable(getattr(right, "identical", None)):  # an xarray object
        return "" if right.identical(got) else "The data set is another one."
    if isinstance(right, str):
        got = _plain(got)
        return "" if isinstance(got, str) and got == right else f"This should be {right!r}, but it is {shown(got)}."
    return "" if type(got) is type(right) and got == right else f"This should be {right!r}, but it is {shown(got)}."


def _unusual(tensor):
    """What kind of tensor it is, if it holds no numbers that can be compared; else ""."""
    kinds = {"complex": tensor.is_complex(),
             "meta": tensor.is_meta,
             "quantised": tensor.is_quantized,
             "nested": tensor.is_nested,
             "sparse": tensor.layout != torch.strided}
    return next((kind for kind, is_it in kinds.items() if is_it), "")


def _plain(value):
    """The Python value of an array without dimensions (torch's, numpy's, xarray's); anything else as it is."""
    is_one = getattr(value, "shape", None) == () and callable(getattr(value, "item", None))
    return value.item() if is_one else value


def _of_tensors(got, right, tolerance):
    tensor = _as_tensor(got)
    if tensor is None:
        return f"This should be a tensor of shape {tuple(right.shape)}, but it is a {type(got).__name__}."
    if tensor.is_complex():
        return "This should hold ordinary real numbers, but it is complex."
    if tensor.shape != right.shape:
        return f"The shape should be {tuple(right.shape)}, but it is {tuple(tensor.shape)}."
    got, right = tensor.detach().cpu().double(), right.detach().cpu().double()
    if torch.allclose(got, right, rtol=tolerance, atol=tolerance, equal_nan=True):
        return ""
    if got.isnan().any() and not right.isnan().any():
        return f"{int(got.isnan().sum())} of the {got.numel()} numbers are nan: 0/0, or the root of a negative number?"
    if right.numel() <= FEW:
        return f"The result should be {brief(right)}, but it is {brief(got)}."
    apart = (got - right).abs().nan_to_num(posinf=math.inf)
    place = np.unravel_index(int(apart.argmax()), apart.shape)
    where = ", ".join(map(str, place))
    asked, yours = (brief(one[place].item()) for one in (right, got))
    return f"The shape is right, the values are not: at [{where}] it should be {asked}, but it is {yours}."


def _as_tensor(value):
    """A tensor of the same numbers, from what holds numbers; None from anything else."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, torch.Tensor) for one in value):
        return torch.stack([one.detach() for one in value])
    array = np.asarray(value)
    return torch.as_tensor(array.copy()) if array.dtype.kind in "biufc" else None


def _of_dicts(got, right, tolerance):
    if not isinstance(got, dict):
        return f"This should be a dict, but it is a {type(got).__name__}."
    if got.keys() != right.keys():
        return _of_keys(got, right)
    for key in right:
        if problem := difference(got[key], right[key], tolerance):
            return f"At key {key!r}: {problem}"
    return ""


def _of_keys(got, right):
    """All keys where they are few, else what is missing or too much."""
    if len(right) <= FEW_KEYS:
        return f"The keys should be {_listed(right)}, but they are {_listed(got)}."
    missing = [key for key in right if key not in got]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        yours = _listed(got) or "none"
        return f"These keys are missing: {_listed(missing[:3])}{more}. Yours are: {yours}."
    return f"These keys are too many: {_listed([key for key in got if key not in right])}."


def _listed(keys):
    return shown(keys, lambda names: ", ".join(map(str, names)))


def _of_lists(got, right, tolerance):
    if callable(getattr(got, "__next__", None)):
        asked, yours = type(right).__name__, type(got).__name__
        return f"This should be a {asked}, but it is a {yours}, which can be read only once: make a {asked} of it."
    entries = _entries(got)
    if entries is None or len(entries) != len(right):
        return f"This should hold {len(right)} things, but it is {_held(got, entries)}."
    return next((problem for a, b in zip(entries, right) if (problem := difference(a, b, tolerance))), "")


def _held(value, entries):
    """An answer, and how many things it holds."""
    if getattr(value, "shape", None) == ():  # of torch, numpy or xarray
        return f"one, {shown(_plain(value))}"
    if entries is not None:
        return f"{shown(value)}, {len(entries)} things"
    return f"a {type(value).__name__} of shape {tuple(value.shape)}" if hasattr(value, "shape") else shown(value)


def _entries(value):
    """The entries of a list, a tuple or an array; None of anything else."""
    if isinstance(value, (tuple, list)):
        return list(value)
    if isinstance(value, (torch.Tensor, np.ndarray)) and value.ndim:
        return list(value)
    return None


def _of_truths(got, right):
    got = _plain(got)
    if not isinstance(got, bool):
        return f"This should be True or False, but it is {shown(got)}."
    return "" if got == right else f"This should be {right}, but it is {got}."


def _of_numbers(got, right, tolerance):
    if isinstance(got, torch.Tensor):
        got = got.detach()  # numpy refuses a number that has its graph
    if np.iscomplexobj(got):  # float() would take the real part of numpy's
        return "This should be a real number, but it is a complex one."
    got = got.item() if isinstance(got, np.ndarray) and got.size == 1 else _plain(got)
    if isinstance(got, (str, bytes)):
        return f"This should be a number, but it is text, {shown(got)}."
    try:
        number = float(got)
    except (TypeError, ValueError):
        return f"This should be a number, but it is a {type(got).__name__}."
    except OverflowError:
        return f"The number should be {brief(right)}, but it is too large for a float."
    relative = 0 if isinstance(right, numbers.Integral) else tolerance  # a whole number may be rounded, not another one
    if math.isclose(number, right, rel_tol=relative, abs_tol=tolerance):
        return ""
    asked, yours = brief(right), brief(number)
    return f"The number should be {asked}, but it is {repr(number) if asked == yours else yours}."
