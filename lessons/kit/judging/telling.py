"""Values and cases in words of limited length."""
import numbers

import numpy as np
import torch

LONGEST = 300   # characters that a message shows of an answer
FEW = 12        # numbers that it shows of a tensor
BYTES = 16  # of which a case shows the first ones


def shown(value, write=repr) -> str:
    """A value as text of limited length, also where it cannot be written."""
    try:
        text = write(value)
    except Exception:  # a whole number of thousands of digits, a __repr__ that fails
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def brief(value) -> str:
    """A value as a learner would write it: short tensors and lists in full, long ones by their shape."""
    return shown(value, _brief)


def _brief(value):
    if isinstance(value, (torch.Tensor, np.ndarray)):
        if value.size if isinstance(value, np.ndarray) else value.numel():
            count = int(np.prod(value.shape))
            return _numbers(value.tolist()) if count <= FEW else f"numbers of shape {tuple(value.shape)}"
        return f"nothing, of shape {tuple(value.shape)}"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, numbers.Number):
        return _numbers(value)
    if isinstance(value, bytes):
        return repr(value[:BYTES]) + (f" and {len(value) - BYTES} more bytes" if len(value) > BYTES else "")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_brief(one)}" for key, one in list(value.items())[:4]) \
            + (", …}" if len(value) > 4 else "}")
    if isinstance(value, (list, tuple)):
        inside = ", ".join(_brief(one) for one in value[:FEW]) + (", …" if len(value) > FEW else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if callable(value):
        return "a function"
    return f"a {type(value).__name__}"


def _numbers(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(_numbers, value)) + "]"
    if isinstance(value, bool):
        return repr(value)
    return f"{value:.6g}".replace("-", "−") if isinstance(value, numbers.Real) else repr(value)


def case_in_words(names: list[str], case: tuple) -> str:
    """The arguments of a case: "a = [1, 2, 4], alpha = 0.25"."""
    return ", ".join(f"{name} = {brief(value)}" for name, value in zip(names, case))


def size(value) -> int:
    """How much there is to read in a value; the smallest case is the one to show."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return int(np.prod(value.shape))
    if isinstance(value, dict):
        return sum(map(size, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(size, value))
    return 1
