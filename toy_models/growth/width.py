"""Other widths: how a network's units become more, or fewer."""
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from data.types import checked_whole
from toy_models.growth.registry import find, transform
from toy_models.growth.units import Map, mapped, sizes, table
from toy_models.weights import State

FLOAT = torch.float64


def widen(state: State, new: Mapping[str, int], how: str, **parameters) -> dict[str, Tensor]:
    """The network with so many units: {units: how many}; `growth.sizes` says which there are. Units that are not named
    stay as many.

    Args:
        how: the name of a width transform.
        parameters: of that transform.

    Raises:
        ValueError: no such transform, parameter or units; or it cannot make fewer, or more, of them.
    """
    method = find("width", how, parameters)
    known = sizes(state)
    for name, size in new.items():
        if name not in known:
            raise ValueError(f"there are no units {name!r}; there are: {', '.join(known)}")
        checked_whole(f"the number of units of {name!r}", size, 1)
    return method.function(state, {name: size for name, size in new.items() if size != known[name]}, **parameters)


def _each(state, new, make):
    """One map for all of the units, made by make(old, new)."""
    known = sizes(state)
    return mapped(state, {name: make(known[name], size) for name, size in new.items()})


def _only(how, old, new, more):
    if (new > old) != more:
        raise ValueError(f"{how!r} can only make {'more' if more else 'fewer'} units, and {old} are to become {new}")


# -- copies and zeros: what keeps the function -----------------------------------------------------

def copies(old: int, new: int, generator: Generator, copied: str = "in turn", shares: str = "equal") -> Map:
    """Every old unit, then copies; see `net2wider`."""
    _only("Net2Wider", old, new, more=True)
    if copied not in ("in turn", "at random") or shares not in ("equal", "drawn"):
        raise ValueError("copied must be 'in turn' or 'at random', shares 'equal' or 'drawn', not "
                         f"{copied!r} and {shares!r}")
    further = torch.arange(old, new) % old
    if copied == "at random":
        further = torch.randint(old, (new - old,), generator=generator)
    made = F.one_hot(torch.cat([torch.arange(old), further]), old).to(FLOAT)
    used = made.clone()
    if shares == "drawn":
        used *= 0.2 + torch.rand(new, 1, generator=generator, dtype=FLOAT)
    return Map(made, used / used.sum(0))


@transform("Net2Wider", "width", "Chen et al. 2016", keeps=True)
def net2wider(state: State, new: Mapping[str, int], *, copied: str = "in turn", shares: str = "equal",
              seed: int = 0) -> dict[str, Tensor]:
    """New units are copies of old ones, and what is taken from an old one is shared among its copies.

    Args:
        copied: which: "in turn", or "at random", as in the paper.
        shares: "equal", or "drawn" at random. Copies with equal shares get the same gradients and stay copies for ever.
    """
    generator = torch.Generator().manual_seed(seed)
    return _each(state, new, lambda a, b: copies(a, b, generator, copied, shares))


def padding(old: int, new: int) -> Map:
    """Every old unit, then units that say nothing and are not listened to."""
    _only("zero padding", old, new, more=True)
    made = torch.eye(new, old, dtype=FLOAT)
    return Map(made, made)


@transform("zero padding", "width", "SAIL, F.1, with the singular vectors as W", keeps=True)
def zero_padding(state: State, new: Mapping[str, int]) -> dict[str, Tensor]:
    """New units have no weights, coming or going: behind a ReLU they get no gradient either."""
    return _each(state, new, padding)


@transform("fresh units", "width", "a control", keeps=False)
def fresh_units(state: State, new: Mapping[str, int], *, outgoing: str = "fresh", seed: int = 0) -> dict[str, Tensor]:
    """New units with random weights, as a new layer would have them.

    Args:
        outgoing: "fresh", or "zero": nobody listens to them yet, and the network computes what it did.
    """
    if outgoing not in ("fresh", "zero"):
        raise ValueError(f"outgoing must be 'fresh' or 'zero', not {outgoing!r}")
    generator = torch.Generator().manual_seed(seed)
    grown = zero_padding(state, new)
    for key, axes in table(state).items():
        old, tensor = state[key], grown[key]
        if old.shape != tensor.shape and old.is_floating_point():
            _fill(tensor, old.shape, axes, outgoing, generator)
    return grown


def _fill(tensor, old, axes, outgoing, generator):
    """Draw what the new units weigh, in place, as torch draws a new layer: uniform within 1/√(inputs)."""
    if tensor.ndim == 1:
        return  # a bias of 0, or BatchNorm's, which zero padding left at 0
    inputs = tensor[0].numel()
    drawn = (2 * torch.rand(tensor.shape, generator=generator, dtype=FLOAT) - 1) / inputs ** 0.5
    for place, axis in enumerate(axes):
        if axis and (axis.made or outgoing == "fresh"):
            part = (slice(None),) * place + (slice(old[place], None),)
            tensor[part] = drawn[part].to(tensor.dtype)
    if outgoing == "zero":
        for place, axis in enumerate(axes):
            if axis and not axis.made:
                tensor[(slice(None),) * place + (slice(old[place], None),)] = 0


# -- mixtures: SAIL, Eq. 8 -------------------------------------------------------------------------

def resampling(old: int, new: int) -> Map:
    """Units read off between their neighbours along the layer, as a picture is made larger or smaller."""
    made = F.interpolate(torch.eye(old, dtype=FLOAT)[None], size=new, mode="linear")[0].T.contiguous()
    return Map(made, made * old / new)


@transform("interpolation", "width", "SAIL, §4.1")
def interpolation(state: State, new: Mapping[str, int]) -> dict[str, Tensor]:
    """New units lie between neighbours in the order in which the units happen to stand."""
    return _each(state, new, resampling)


@transform("projection", "width", "SAIL, §4.1")
def projection(state: State, new: Mapping[str, int], *, tied: bool = False, seed: int = 0) -> dict[str, Tensor]:
    """New units are random mixtures of old ones.

    Args:
        tied: whether the next layer takes from the new units by the same mixtures; else, as Eq. 8 is written, every
            layer has its own.
    """
    generator = torch.Generator().manual_seed(seed)

    def drawn(old, new):
        return torch.randn(new, old, generator=generator, dtype=FLOAT) / new ** 0.5

    def mixtures(old, new):
        made = drawn(old, new)
        return Map(made, made if tied else drawn(old, new))
    return _each(state, new, mixtures)


@transform("SVD", "width", "SAIL, F.1")
def svd(state: State, new: Mapping[str, int], *, begin: str = "at random", seed: int = 0) -> dict[str, Tensor]:
    """Each layer's singular values between two new matrices, W_out·Σ·W_inᵀ; biases are padded or cut.

    Args:
        begin: the two matrices: "at random", as printed, or with the "singular vectors", padded or cut.
    """
    if begin not in ("at random", "singular vectors"):
        raise ValueError(f"begin must be 'at random' or 'singular vectors', not {begin!r}")
    generator = torch.Generator().manual_seed(seed)

    def made(vectors, size):
        if begin == "singular vectors":
            return vectors[:size] if size <= len(vectors) else F.pad(vectors, (0, 0, 0, size - len(vectors)))
        return torch.randn(size, vectors.shape[1], generator=generator, dtype=FLOAT) / size ** 0.5

    grown = {}
    for key, axes in table(state).items():
        shape = [new.get(axis.units, size) if axis else size for axis, size in zip(axes, state[key].shape)]
        tensor = state[key]
        if tensor.ndim == 1 and list(tensor.shape) != shape:
            tensor = F.pad(tensor, (0, shape[0] - len(tensor)))  # a negative padding cuts
        elif tensor.ndim == 2 and list(tensor.shape) != shape:
            left, values, right = torch.linalg.svd(tensor.to(FLOAT), full_matrices=False)
            rank = min(*shape, len(values))
            outer, inner = made(left[:, :rank], shape[0]), made(right[:rank].T, shape[1])
            tensor = ((outer * values[:rank]) @ inner.T).to(tensor.dtype)
        elif tensor.ndim > 2:
            raise ValueError(f"{key!r} has {tensor.ndim} axes: F.1 is about matrices, give a network without "
                             "convolutions")
        grown[key] = tensor.clone()
    return grown


# -- fewer units -----------------------------------------------------------------------------------

@transform("selection", "width", "Xu et al. 2024; magnitude pruning")
def selection(state: State, new: Mapping[str, int], *, which: str = "strongest", louder: bool = False,
              seed: int = 0) -> dict[str, Tensor]:
    """Some of the units, as they are.

    Args:
        which: the "strongest", by the length of what comes in times that of what goes out, the "first", or some "at
            random".
        louder: whether what is taken from them is made larger by old/new.
    """
    if which not in ("strongest", "first", "at random"):
        raise ValueError(f"which must be 'strongest', 'first' or 'at random', not {which!r}")
    generator = torch.Generator().manual_seed(seed)
    known = sizes(state)
    maps = {}
    for name, size in new.items():
        _only("selection", known[name], size, more=False)
        order = torch.arange(known[name])
        if which == "at random":
            order = torch.randperm(known[name], generator=generator)
        elif which == "strongest":
            order = strength(state, name).argsort(descending=True, stable=True)
        made = F.one_hot(order[:size].sort().values, known[name]).to(FLOAT)
        maps[name] = Map(made, made * known[name] / size if louder else made)
    return mapped(state, maps)


def strength(state: State, units: str) -> Tensor:
    """For every one of the units: the length of the weights that make it times that of those that use it."""
    squares = {made: torch.zeros((), dtype=FLOAT) for made in (True, False)}
    for key, axes in table(state).items():
        for place, axis in enumerate(axes):
            if axis and axis.units == units and state[key].ndim > 1:
                rows = state[key].to(FLOAT).movedim(place, 0).flatten(1)
                squares[axis.made] = squares[axis.made] + rows.square().sum(1)
    return (squares[True] * squares[False]).sqrt()
