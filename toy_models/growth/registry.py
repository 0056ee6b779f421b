"""The registry of width and depth transforms: each a named function on state dicts with its parameters and its
source."""
import inspect
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Transform:
    """One way to bring a network to another size.

    Attributes:
        name: what `widen` or `deepen` knows it by.
        axis: "width" or "depth".
        function: (state, sizes or layers, *, …) -> state.
        source: who describes it.
        keeps: whether the network computes the same afterwards, where it grows.
    """
    name: str
    axis: str
    function: Callable[..., dict[str, Tensor]]
    source: str
    keeps: bool

    @property
    def parameters(self) -> dict[str, object]:
        """{parameter: default}."""
        return {name: one.default for name, one in inspect.signature(self.function).parameters.items()
                if one.kind is one.KEYWORD_ONLY}

    @property
    def says(self) -> str:
        """What it does, in one sentence."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")


_KNOWN: dict[tuple[str, str], Transform] = {}


def transform(name: str, axis: str, source: str, keeps: bool = False):
    """Decorator: put a function into the registry."""
    def register(function):
        _KNOWN[axis, name] = Transform(name, axis, function, source, keeps)
        return function
    return register


def transforms(axis: str | None = None) -> list[Transform]:
    """All of them, or those of "width" or "depth"."""
    return [one for one in _KNOWN.values() if axis in (None, one.axis)]


def find(axis: str, name: str, parameters: dict) -> Transform:
    """The transform with this name.

    Raises:
        ValueError: there is none, or it has no such parameter; the message lists those that there are.
    """
    if (axis, name) not in _KNOWN:
        known = ", ".join(repr(one.name) for one in transforms(axis))
        raise ValueError(f"unknown {axis} transform {name!r}: choose one of {known}")
    method = _KNOWN[axis, name]
    for parameter in parameters:
        if parameter not in method.parameters:
            has = ", ".join(method.parameters) or "none"
            raise ValueError(f"{name!r} has no parameter {parameter!r}; it has: {has}")
    return method
