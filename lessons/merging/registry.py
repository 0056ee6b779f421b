"""The registry: a method is a named, typed thing with its parameters and its source.

`@method(title, source, needs, drops, combines)` registers a function and makes it check its arguments. Name, defaults
and types are read from the signature, the text of a parameter from the docstring's `Args`: nothing is written down
twice.
"""
import functools
import inspect
import math
import numbers
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, no_type_check

import torch

from lessons.merging.states import check_states, checked_by_result, on_demand
from lessons.merging.storage import PerTask
from toy_models.weights import State

REQUIRED = inspect.Parameter.empty


class Needs(StrEnum):
    """What a method needs besides the state dicts of `base` and `finetuned`."""

    WEIGHTS = "only weights"
    INPUTS = "unlabelled inputs"
    STORAGE = "extra storage per task"


@dataclass(frozen=True)
class Range:
    """The numbers that a parameter may take, both ends included."""

    low: float = -math.inf
    high: float = math.inf

    def __str__(self):
        if math.isinf(self.high):
            return "finite" if math.isinf(self.low) else f"at least {self.low:g}"
        return f"from {self.low:g} to {self.high:g}"


Scale = Annotated[float, Range()]
Positive = Annotated[float, Range(low=0)]
Share = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(low=0)]
Seed = Annotated[int, Range(0, 2**31 - 1)]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method: what it is called, what it may be, and what it is where nothing is said.

    Attributes:
        kind: float, int or bool; object for anything that is not a number (a function, batches).
        range: the numbers allowed, where kind is float or int.
        choices: the words allowed, where there are such.
        says: what it means.
    """

    name: str
    default: Any
    kind: type
    range: Range
    choices: tuple[str, ...]
    says: str

    @property
    def required(self) -> bool:
        """There is no default: it must be given."""
        return self.default is REQUIRED

    def check(self, value: Any) -> Any:
        """The value, if it is allowed.

        Raises:
            ValueError: it is not; the message names the parameter and what is allowed.
        """
        if self.choices:
            allowed = isinstance(value, str) and value in self.choices
            wanted = " or ".join(repr(choice) for choice in self.choices)
        elif self.kind is bool:
            allowed = isinstance(value, bool)
            wanted = "True or False"
        elif self.kind in (int, float):
            kind = numbers.Integral if self.kind is int else numbers.Real
            of_kind = isinstance(value, kind) and not isinstance(value, bool)
            allowed = of_kind and math.isfinite(value) and self.range.low <= value <= self.range.high
            wanted = f"a {'whole ' if self.kind is int else ''}number, {self.range}"
        else:
            return value
        if not allowed:
            raise ValueError(f"{self.name} must be {wanted}, not {value!r}")
        return value


@dataclass(frozen=True)
class Method:
    """A merging method.

    Attributes:
        name: what `merge` knows it by.
        title: what papers call it.
        short: the same where there is little room, as beside a picture's axis.
        function: (base, finetuned, **parameters) -> what it gives: a state dict, or a `PerTask` where it needs storage
            per task.
        parameters: in the order of the signature.
        source: the paper.
        needs: what must be there.
        drops: what it leaves out of the task vectors, for the table of methods.
        combines: how it puts the rest together, for the same table.
        models: how many finetuned models it merges; None where any number will do.
        says: the docstring's first paragraph, the method in one formula.
    """

    name: str
    title: str
    short: str
    function: Callable[..., State | PerTask]
    parameters: tuple[Parameter, ...]
    source: str
    needs: tuple[Needs, ...]
    drops: str
    combines: str
    models: int | None
    says: str

    @property
    def defaults(self) -> dict[str, Any]:
        """{parameter: its default} for those that have one."""
        return {parameter.name: parameter.default for parameter in self.parameters if not parameter.required}

    @property
    def gives_one_model(self) -> bool:
        """The result is one state dict for all tasks; otherwise a `PerTask`."""
        return Needs.STORAGE not in self.needs

    def check(self, given: dict[str, Any]) -> None:
        """Refuse parameters that the method does not have, or values that they cannot take.

        Raises:
            ValueError: one is unknown, missing or out of its range.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"{self.name} has no parameter {unknown[0]!r}; it has {', '.join(known) or 'none'}")
        required = [parameter.name for parameter in self.parameters if parameter.required]
        if missing := [name for name in required if name not in given]:
            raise ValueError(f"{self.name} needs {' and '.join(missing)}")
        for name, value in given.items():
            known[name].check(value)


_METHODS: dict[str, Method] = {}


def methods() -> dict[str, Method]:
    """Every method by its name, the plain ones first."""
    return dict(_METHODS)


@no_type_check  # in tests too it is for `check_states` to say what is wrong
def merge(method: str, base: State, finetuned: Sequence[State], **parameters) -> State | PerTask:
    """Merge finetuned models with the method of that name.

    Every floating-point tensor is merged like a weight, BatchNorm's running statistics too: re-estimate these
    afterwards (`toy_models.batchnorm`), for nothing keeps an extrapolated variance positive. Its counter is carried
    over from `base`. Half-precision weights are computed with in float32, and nothing that is given is changed.

    Args:
        method: a key of `methods()`.
        base: θ₀, the state dict that all were finetuned from.
        finetuned: θ_1 … θ_T, one state dict a task.
        parameters: the method's own; what is left out takes its default.

    Returns:
        A state dict with the keys, shapes and dtypes of `base`; a `PerTask` where the method stores something for every
        task.

    Raises:
        ValueError: there is no such method or parameter, a value is out of its range, the state dicts do not belong
            together, a tensor is not a weight (another whole number, complex, quantised, float8, sparse, …), or the
            result does not fit its dtype.
    """
    if method not in _METHODS:
        raise ValueError(f"there is no merging method {method!r}; there are {', '.join(_METHODS)}")
    return _METHODS[method].function(base, finetuned, **parameters)


def merge_on_demand(method: str, base: State, finetuned: Sequence[State], **parameters) -> State | PerTask:
    """As `merge`, for a model that need not fit into memory: each tensor is made when it is asked for, each time anew,
    and where it does not fit its dtype the ValueError comes then.
    """
    with on_demand():
        return merge(method, base, finetuned, **parameters)


def method(title: str, *, source: str, needs: Sequence[Needs], drops: str, combines: str, short: str = "",
           models: int | None = None, shows: bool = False):
    """Register a function (base, finetuned, *, parameters) as a merging method, and make it check what it is given.

    Args:
        title, source, needs, drops, combines, models: as in `Method`.
        short: as in `Method`; left out, it is the title.
        shows: whether a NaN or infinite entry of any finetuned model makes one of the result, whatever the parameters
            are.
    """
    def register(function):
        texts = _argument_texts(function)
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = tuple(_parameter(parameter, hints[name], texts.get(name, ""))
                           for name, parameter in inspect.signature(function).parameters.items()
                           if parameter.kind is parameter.KEYWORD_ONLY)
        says = " ".join(inspect.getdoc(function).split("\n\n")[0].splitlines())

        @functools.wraps(function)
        @torch.no_grad()
        def checked(base, finetuned, **given):
            entry.check(given)
            if shows:
                return checked_by_result(base, finetuned, lambda: function(base, finetuned, **given))
            check_states(base, finetuned)
            if models is not None and len(finetuned) != models:
                raise ValueError(f"{entry.name} merges {models} finetuned models, not {len(finetuned)}")
            return function(base, finetuned, **given)

        entry = Method(function.__name__, title, short or title, checked, parameters, source, tuple(needs), drops,
                       combines, models, says)
        _METHODS[entry.name] = entry
        return checked
    return register


def _parameter(parameter, hint, text):
    limits = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Range)), Range())
    plain = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    choices = typing.get_args(plain) if typing.get_origin(plain) is Literal else ()
    kind = str if choices else plain if plain in (float, int, bool) else object
    return Parameter(parameter.name, parameter.default, kind, limits, choices, text)


def _argument_texts(function):
    """{parameter: text} from the docstring's `Args`."""
    texts = {}
    name = None
    inside = False
    for line in (inspect.getdoc(function) or "").splitlines():
        if not line.startswith(" "):
            inside = line == "Args:" or (inside and not line)
        elif inside and not line.startswith("     "):
            name, _, text = line.strip().partition(": ")
            texts[name] = text
        elif inside and name:
            texts[name] += " " + line.strip()
    return texts
