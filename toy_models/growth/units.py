"""Which axis of which parameter belongs to which units: what a change of width has to know of an architecture.

It is a table, as in Git Re-Basin (Ainsworth et al. 2023): growing, shrinking and learning maps read it, and none of
them knows an MLP from a ResNet.
"""
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from toy_models.weights import State


@dataclass(frozen=True)
class Axis:
    """One axis of a parameter.

    Attributes:
        units: the name of the units that stand along it.
        made: whether the parameter makes these units, or takes what they say.
    """
    units: str
    made: bool


Table = dict[str, tuple[Axis | None, ...]]


@dataclass(frozen=True)
class Map:
    """How units of the source become units of the target.

    Attributes:
        made: (new, old): a new unit's weights and bias are this mixture of the old units'.
        used: (new, old): what is taken from a new unit is this mixture of what was taken from the old ones.
    """
    made: Tensor
    used: Tensor

    @property
    def keeps(self) -> bool:
        """Whether every network with ReLUs, or another activation that acts on each unit alone, computes the same
        afterwards: every new unit that is listened to is a copy of an old one, and the shares of an old one's copies
        sum to 1.

        (A copy may also be a positive multiple where the activation is a ReLU; see `keeps_relu`.)
        """
        return self._keeps(lambda entries: (entries == 0) | (entries == 1))

    @property
    def keeps_relu(self) -> bool:
        """As `keeps`, for ReLUs alone: rows of `made` have at most one entry that is not 0, and that one is positive;
        or nobody listens to them."""
        return self._keeps(lambda entries: entries >= 0)

    def _keeps(self, may_be):
        heard = self.made[(self.used != 0).any(1)]
        single = ((heard != 0).sum(1) <= 1).all().item()
        whole = torch.eye(self.made.shape[1], dtype=self.made.dtype)
        return single and may_be(heard).all().item() and torch.allclose(self.used.T @ self.made, whole, atol=1e-6)


def table(state: State) -> Table:
    """The table of a network, known by its keys.

    Raises:
        ValueError: it is none of MLP, ResidualMLP, ResNet18, CharacterGPT.
    """
    for key, made in (("layers.0.weight", _mlp), ("first.weight", _residual), ("stem.0.weight", _resnet),
                      ("embedding.weight", _gpt)):
        if key in state:
            grown = made(state)
            if grown.keys() != state.keys():
                odd = sorted(grown.keys() ^ state.keys())[0]
                raise ValueError(f"{odd!r} is in one of network and table alone: which architecture is this?")
            return grown
    raise ValueError("no table for this architecture; there is one for MLP, ResidualMLP, ResNet18 and CharacterGPT. "
                     f"Keys: {', '.join(list(state)[:5])}")


def sizes(state: State) -> dict[str, int]:
    """{units: how many}, of all that may change."""
    widths = {}
    for key, axes in table(state).items():
        for axis, size in zip(axes, state[key].shape):
            if axis:
                widths[axis.units] = size
    return widths


def times(state: State, factor: float) -> dict[str, int]:
    """`sizes`, all so many times as large, for `growth.widen`."""
    return {name: round(factor * size) for name, size in sizes(state).items()}


def mapped(state: State, maps: Mapping[str, Map]) -> dict[str, Tensor]:
    """The network with its units mapped; units without a map stay.

    Raises:
        ValueError: a map does not fit; names the layer and both sizes.
    """
    known = sizes(state)
    for name, one in maps.items():
        if name not in known:
            raise ValueError(f"there are no units {name!r}; there are: {', '.join(known)}")
        if one.made.shape != one.used.shape or one.made.shape[1] != known[name]:
            raise ValueError(f"the map of {name!r} is made for {one.made.shape[1]} and {one.used.shape[1]} units, and "
                             f"there are {known[name]}")
    return {key: _moved(state[key], axes, maps) for key, axes in table(state).items()}


def _moved(tensor, axes, maps):
    moved = tensor.clone()
    for place, axis in enumerate(axes):
        if axis and axis.units in maps:
            one = maps[axis.units]
            matrix = (one.made if axis.made else one.used).to(moved.dtype)
            moved = torch.tensordot(matrix, moved, dims=([1], [place])).movedim(0, place)
    return moved.contiguous()


# -- the architectures -----------------------------------------------------------------------------

def _linear(name, made, used):
    """A linear layer's or a convolution's weight and bias; further axes stay."""
    return {f"{name}.weight": (_made(made), _used(used)), f"{name}.bias": (_made(made),)}


def _made(units):
    return Axis(units, True) if units else None


def _used(units):
    return Axis(units, False) if units else None


def _mlp(state):
    layers = len(state) // 2
    names = [None, *(f"layer {i}" for i in range(1, layers)), None]
    axes = {}
    for i in range(layers):
        axes |= _linear(f"layers.{i}", names[i + 1], names[i])
    return axes


def _blocks(state):
    return sorted({int(key.split(".")[1]) for key in state if key.startswith("blocks.")})


def _residual(state):
    axes = _linear("first", "stream", None)
    for i in _blocks(state):
        axes |= _linear(f"blocks.{i}.into", f"inside block {i + 1}", "stream")
        axes |= _linear(f"blocks.{i}.out", "stream", f"inside block {i + 1}")
    return axes | _linear("head", None, "stream")


def _gpt(state):
    stream = Axis("stream", True)
    axes = {"embedding.weight": (None, stream), "position": (None, stream)}
    for i in _blocks(state):
        block, heads, inside = f"blocks.{i}", f"heads of block {i + 1}", f"inside block {i + 1}"
        for norm in ("norm1", "norm2"):
            axes |= {f"{block}.{norm}.weight": (stream,), f"{block}.{norm}.bias": (stream,)}
        for part in ("query", "key", "value"):
            axes |= _linear(f"{block}.attention.{part}", heads, "stream")
        axes |= _linear(f"{block}.attention.out", "stream", heads)
        axes |= _linear(f"{block}.into", inside, "stream")
        axes |= _linear(f"{block}.out", "stream", inside)
    return axes | {"norm.weight": (stream,), "norm.bias": (stream,)} | _linear("head", None, "stream")


def _resnet(state):
    axes = _convolution("stem.0", "stage 1", None) | _batchnorm("stem.1", "stage 1")
    below = "stage 1"
    for i in _blocks(state):
        block, stage, inside = f"blocks.{i}", f"stage {i // 2 + 1}", f"inside block {i + 1}"
        axes |= _convolution(f"{block}.conv1", inside, below) | _batchnorm(f"{block}.bn1", inside)
        axes |= _convolution(f"{block}.conv2", stage, inside) | _batchnorm(f"{block}.bn2", stage)
        if f"{block}.shortcut.0.weight" in state:
            axes |= _convolution(f"{block}.shortcut.0", stage, below) | _batchnorm(f"{block}.shortcut.1", stage)
        below = stage
    return axes | _linear("head", None, below)


def _convolution(name, made, used):
    return {f"{name}.weight": (_made(made), _used(used), None, None)}


def _batchnorm(name, units):
    parts = ("weight", "bias", "running_mean", "running_var")
    return {f"{name}.{part}": (_made(units),) for part in parts} | {f"{name}.num_batches_tracked": ()}
