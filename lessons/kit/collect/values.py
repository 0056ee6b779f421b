"""Values as JSON, from the process in which a learner's code ran to the one that decides. Nothing is pickled.

What a value is worth in a comparison goes over: numbers with all their digits, the dtype and shape of tensors and
arrays, the types of lists, tuples and dicts. Of any other object come over the name of its type and what it looks like.

`coded` runs among a learner's code, so what it writes may be anything. `decoded` believes nothing.
"""
import base64
import math
import numbers
import re
from decimal import Decimal

import numpy as np
import torch
import xarray

DEEPEST, LARGEST = 20, 1_000_000  # how deep values may lie in each other, and characters that one may take
MOST_KEYS = 2000  # of a dict or a set: keys can be chosen so that finding each takes as long as there are keys
_TEXT, _NAME = 300, re.compile(r"[^\W\d]\w{0,59}")
_DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128)}
_DIGITS = 4000  # Python reads whole numbers of 4300


class NotAValue(ValueError):
    """What should be a coded value is none."""


class _TooMuch(Exception):
    """A value is too deep or too large."""


# -- coding ------------------------------------------------------------------------------------------------------------

def coded(value: object) -> object:
    """The value as JSON has it."""
    try:
        return _coded(value, 0, [LARGEST])
    except _TooMuch:
        return _foreign(value, "too large to be sent")
    except Exception:  # an answer can be any object, and fail at whatever is asked of it
        return _foreign(value)


def _coded(value, depth, left):
    left[0] -= 8
    if depth > DEEPEST or left[0] < 0:
        raise _TooMuch
    for kind, code in _CODES:
        if isinstance(value, kind):
            return code(value, depth, left)
    return _object(value, depth, left)


def _plain(value, depth, left):
    return value


def _text(value, depth, left):
    left[0] -= len(value)
    if left[0] < 0:
        raise _TooMuch
    return str(value)


def _whole(value, depth, left):
    text = str(int(value)) if abs(int(value)) < 10 ** _DIGITS else ""
    left[0] -= len(text)
    return {"int": text} if text else _foreign(value)


def _real(value, depth, left):
    return {"float": float(value).hex()}


def _complex(value, depth, left):
    return {"complex": [value.real.hex(), value.imag.hex()]}


def _bytes(value, depth, left):
    left[0] -= 2 * len(value)
    return {"bytes": base64.b64encode(value).decode()} if left[0] >= 0 else _foreign(value)


def _range(value, depth, left):
    return {"range": [value.start, value.stop, value.step]} if max(map(abs, (
        value.start, value.stop))) < 2 ** 53 else _foreign(value)


def _several(value, depth, left):
    inside = [_coded(entry, depth + 1, left) for entry in value]
    return inside if isinstance(value, list) else {"tuple": inside}


def _set(value, depth, left):
    _few(value)
    return {"set": [_coded(entry, depth + 1, left) for entry in value]}


def _few(keys):
    if len(keys) > MOST_KEYS:
        raise _TooMuch


def _dict(value, depth, left):
    _few(value)
    return {"dict": [[_coded(key, depth + 1, left), _coded(entry, depth + 1, left)] for key, entry in value.items()]}


def _tensor(value, depth, left):
    name = str(value.dtype).removeprefix("torch.")
    unusual = value.is_meta or value.is_quantized or value.is_nested or value.layout != torch.strided
    if unusual or name not in _DTYPES:
        return _foreign(value)
    left[0] -= 2 * value.element_size() * value.numel()
    if left[0] < 0:
        raise _TooMuch
    flat = value.detach().cpu().resolve_conj().resolve_neg().contiguous().flatten()
    return {"tensor": [name, list(value.shape), _packed(flat.view(torch.uint8).numpy())]}


def _array(value, depth, left):
    left[0] -= 2 * value.nbytes
    if left[0] < 0:
        raise _TooMuch
    if value.dtype.kind not in "biufc":
        return _coded(value.item() if value.ndim == 0 else value.tolist(), depth + 1, left)
    little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    kind = "scalar" if isinstance(value, np.generic) else "array"
    return {kind: [little.dtype.str, list(value.shape), _packed(little)]}


def _data_array(value, depth, left):
    coordinates = [[str(name), list(map(str, along.dims)), _coded(along.values, depth + 1, left)]
                   for name, along in value.coords.items()]
    name = None if value.name is None else str(value.name)
    return {"data array": [list(map(str, value.dims)), _coded(value.values, depth + 1, left), coordinates, name]}


def _packed(array):
    return base64.b64encode(array.tobytes()).decode()


def _object(value, depth, left):
    if isinstance(value, (numbers.Real, Decimal)):
        return {"float": float(value).hex()}
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind in "biufc":
            return _array(array, depth, left)
    return _foreign(value)


_CODES = ((bool | type(None), _plain), (type(Ellipsis), lambda value, depth, left: {"ellipsis": 0}),
          (torch.Tensor, _tensor), (xarray.DataArray, _data_array), (str, _text), (np.ndarray | np.generic, _array),
          (int, _whole), (float, _real), (complex, _complex), (bytes, _bytes), (range, _range),
          (list | tuple, _several), (set | frozenset, _set), (dict, _dict))


def _foreign(value, text=None):
    name = type(value).__name__
    try:
        text = (repr(value) if text is None else text)[:_TEXT]
    except Exception:  # a __repr__ that fails
        text = "?"
    return {"foreign": [name if _NAME.fullmatch(name) else "object", text, callable(value),
                        callable(getattr(type(value), "__next__", None))]}


# -- decoding ----------------------------------------------------------------------------------------------------------

def decoded(code: object) -> object:
    """The value of which this is the JSON.

    Raises:
        NotAValue: of none.
    """
    try:
        return _decoded(code, 0)
    except NotAValue:
        raise
    except Exception as error:
        raise NotAValue(f"this is no value: {type(error).__name__}") from error


def _decoded(code, depth):
    if depth > 2 * DEEPEST:
        raise NotAValue("values lie too deep in each other")
    if code is None or isinstance(code, (bool, str)):
        return code
    if isinstance(code, list):
        return [_decoded(entry, depth + 1) for entry in code]
    if not isinstance(code, dict) or len(code) != 1:
        raise NotAValue("a value has one name")
    (name, inside), = code.items()
    if name not in _READ:
        raise NotAValue("there is no such kind of value")
    return _READ[name](inside, depth)


def _read_int(inside, depth):
    if not isinstance(inside, str) or not re.fullmatch(rf"-?[0-9]{{1,{_DIGITS}}}", inside):
        raise NotAValue("no whole number")
    return int(inside)


def _read_float(inside, depth):
    return float.fromhex(inside)


def _read_complex(inside, depth):
    real, imaginary = inside
    return complex(float.fromhex(real), float.fromhex(imaginary))


def _read_range(inside, depth):
    if len(inside) != 3 or not all(type(number) is int and abs(number) < 2 ** 53 for number in inside):
        raise NotAValue("no range")
    return range(*inside)


def _read_tuple(inside, depth):
    if not isinstance(inside, list):
        raise NotAValue("no tuple")
    return tuple(_decoded(entry, depth + 1) for entry in inside)


def _read_set(inside, depth):
    if len(inside) > MOST_KEYS:
        raise NotAValue("too many entries")
    return {_decoded(entry, depth + 1) for entry in inside}


def _read_dict(inside, depth):
    if len(inside) > MOST_KEYS:
        raise NotAValue("too many keys")
    return {_decoded(key, depth + 1): _decoded(entry, depth + 1) for key, entry in inside}


def _read_tensor(inside, depth):
    name, shape, text = inside
    dtype = _DTYPES[name]
    content = _unpacked(shape, text, dtype.itemsize)
    if not content:
        return torch.empty(shape, dtype=dtype)
    if dtype is torch.bool:
        return (torch.frombuffer(bytearray(content), dtype=torch.uint8) != 0).reshape(shape)
    return torch.frombuffer(bytearray(content), dtype=dtype).reshape(shape)


def _read_array(inside, depth):
    name, shape, text = inside
    dtype = np.dtype(name) if re.fullmatch(r"[<|][biufc][0-9]{1,2}", name) else None
    if dtype is None:
        raise NotAValue("no such array")
    content = _unpacked(shape, text, dtype.itemsize)
    if dtype.kind == "b":
        return (np.frombuffer(content, np.uint8) != 0).reshape(shape)
    return np.frombuffer(content, dtype).reshape(shape).copy()


def _read_scalar(inside, depth):
    return _read_array([inside[0], [], inside[2]], depth)[()]


def _read_data_array(inside, depth):
    dims, content, coordinates, name = inside
    if len(dims) > DEEPEST or not all(isinstance(text, str) for text in [*dims, "" if name is None else name]):
        raise NotAValue("no names of dimensions")
    return xarray.DataArray(np.asarray(_decoded(content, depth + 1)), dims=dims, name=name, coords={
        text: (along, np.asarray(_decoded(values, depth + 1))) for text, along, values in coordinates})


def _unpacked(shape, text, width):
    if len(shape) > DEEPEST or not all(type(size) is int and 0 <= size <= LARGEST for size in shape):
        raise NotAValue("no shape")
    content = base64.b64decode(text, validate=True)
    if len(content) != width * math.prod(shape):
        raise NotAValue("shape and content do not fit")
    return content


def _read_foreign(inside, depth):
    name, text, calls, steps = inside
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(text, str) or len(text) > _TEXT:
        raise NotAValue("no object")
    methods = {"__repr__": lambda self: text}
    methods |= {"__call__": _not_here} if calls is True else {}
    methods |= {"__next__": _not_here} if steps is True else {}
    return type(name, (), methods)()


def _not_here(self, *arguments, **named):
    raise TypeError("this object is in another process")


_READ = {"int": _read_int, "float": _read_float, "range": _read_range, "tuple": _read_tuple, "dict": _read_dict,
         "complex": _read_complex,
         "bytes": lambda inside, depth: base64.b64decode(inside, validate=True),
         "ellipsis": lambda inside, depth: ..., "tensor": _read_tensor, "array": _read_array, "scalar": _read_scalar,
         "data array": _read_data_array, "foreign": _read_foreign,
         "set": _read_set}
