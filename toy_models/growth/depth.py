"""Other depths: how a stack of layers of one shape becomes longer, or shorter.

The stack of an MLP are its square hidden layers; that of a ResidualMLP and of a CharacterGPT are its blocks.
"""
import re
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from data.types import checked_whole
from toy_models.growth.registry import find, transform
from toy_models.weights import State

FLOAT = torch.float64
_LAST = re.compile(r"(^|\.)out\.(weight|bias)$")  # of a block: what is added to the stream


def deepen(state: State, layers: int, how: str, **parameters) -> dict[str, Tensor]:
    """The network with so many layers in its stack.

    Args:
        how: the name of a depth transform.
        parameters: of that transform.

    Raises:
        ValueError: no such transform or parameter, or the network has no stack.
    """
    method = find("depth", how, parameters)
    return method.function(state, checked_whole("layers", layers, 1), **parameters)


def stack_of(state: State) -> list[dict[str, Tensor]]:
    """The layers of the stack, each {name within the layer: tensor}.

    Raises:
        ValueError: the network has no stack, or its layers differ in shape; names the layer and the sizes.
    """
    prefix, numbers = _place(state)
    stack = [{key[len(f"{prefix}{i}."):]: tensor for key, tensor in state.items() if key.startswith(f"{prefix}{i}.")}
             for i in numbers]
    for number, layer in enumerate(stack[1:], 1):
        for name, tensor in layer.items():
            if tensor.shape != stack[0][name].shape:
                here, first = f"{prefix}{numbers[number]}.{name}", f"{prefix}{numbers[0]}.{name}"
                raise ValueError(f"{here} is {tuple(tensor.shape)}, {first} is {tuple(stack[0][name].shape)}: only "
                                 "layers of one shape can be mixed")
    return stack


def with_stack(state: State, layers: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The network with these layers in place of its stack; what comes after is numbered anew."""
    prefix, numbers = _place(state)
    pattern = re.compile(rf"{re.escape(prefix)}(\d+)\.")
    before, after = {}, {}
    for key, tensor in state.items():
        number = pattern.match(key)
        if number and int(number[1]) in numbers:
            continue
        if number and int(number[1]) > numbers[-1]:
            moved = int(number[1]) + len(layers) - len(numbers)
            after[f"{prefix}{moved}.{key[number.end():]}"] = tensor.clone()
        elif before.keys() and prefix != "layers." and key.startswith(("norm.", "head.")):
            after[key] = tensor.clone()
        else:
            before[key] = tensor.clone()
    inside = {f"{prefix}{numbers[0] + i}.{name}": tensor.clone()
              for i, layer in enumerate(layers) for name, tensor in layer.items()}
    return before | inside | after


def _place(state):
    """The stack's prefix and the numbers of its layers."""
    if "layers.0.weight" in state:
        numbers = list(range(1, len(state) // 2 - 1))
        prefix = "layers."
    else:
        numbers = sorted({int(key.split(".")[1]) for key in state if key.startswith("blocks.")})
        prefix = "blocks."
    if not numbers or "stem.0.weight" in state:
        raise ValueError("this network has no stack of layers of one shape: give an MLP with two hidden layers or "
                         "more, a ResidualMLP or a CharacterGPT")
    return prefix, numbers


# -- mixtures of layers: SAIL, Eq. 9 ---------------------------------------------------------------

def mixed(state: State, matrix: Tensor, row_sum: float = 1.0) -> dict[str, Tensor]:
    """Layer k of the new stack is Σ_i matrix[k, i]·(layer i of the old one).

    Args:
        matrix: (new layers, old layers).
        row_sum: what each row should sum to, if its own sum is 1. In a residual network a block is a step: its last
            layer is multiplied by this, so that the step is. In a plain one all weights of the layer are.

    Raises:
        ValueError: the matrix does not fit the stack; gives both sizes.
    """
    layers = stack_of(state)
    if matrix.ndim != 2 or matrix.shape[1] != len(layers):
        raise ValueError(f"the matrix mixes {matrix.shape[-1]} layers, and the stack has {len(layers)}")
    plain = _place(state)[0] == "layers."
    stack = []
    for row in matrix.to(FLOAT):
        layer = {}
        for name in layers[0]:
            whole = sum(share.item() * one[name].to(FLOAT) for share, one in zip(row, layers))
            if plain or _LAST.search(name):
                whole = row_sum * whole
            layer[name] = whole.to(layers[0][name].dtype)
        stack.append(layer)
    return with_stack(state, stack)


def interpolating(old: int, new: int) -> Tensor:
    """(new, old): layers read off between their neighbours; the first stays first, the last last."""
    if old == 1:
        return torch.ones(new, 1, dtype=FLOAT)
    whole = torch.eye(old, dtype=FLOAT)[None]
    return F.interpolate(whole, size=new, mode="linear", align_corners=True)[0].T.contiguous()


@transform("interpolation", "depth", "SAIL, Eq. 9")
def interpolation(state: State, layers: int, *, row_sum: float = 1.0) -> dict[str, Tensor]:
    """New layers lie between their neighbours."""
    return mixed(state, interpolating(len(stack_of(state)), layers), row_sum)


@transform("equal shares", "depth", "SAIL, F.2: where its softmax begins")
def equal_shares(state: State, layers: int, *, row_sum: float = 1.0) -> dict[str, Tensor]:
    """Every new layer is the mean of all old ones."""
    old = len(stack_of(state))
    return mixed(state, torch.full((layers, old), 1 / old, dtype=FLOAT), row_sum)


@transform("stacking", "depth", "Gong et al. 2019 (StackBERT)")
def stacking(state: State, layers: int, *, row_sum: float = 1.0) -> dict[str, Tensor]:
    """The whole stack, and again from its beginning."""
    old = len(stack_of(state))
    return mixed(state, F.one_hot(torch.arange(layers) % old, old).to(FLOAT), row_sum)


# -- layers that do nothing yet, and controls ------------------------------------------------------

@transform("silent", "depth", "Chen et al. 2016 (Net2Deeper); Shen et al. 2022", keeps=True)
def silent(state: State, layers: int) -> dict[str, Tensor]:
    """After every old layer, new ones that do nothing: the identity in an MLP, where a ReLU leaves alone what went
    through one; in a residual network a copy of the block whose last layer is 0.
    """
    old = stack_of(state)
    if layers < len(old):
        raise ValueError(f"'silent' can only make more layers, and {len(old)} are to become {layers}")
    plain = _place(state)[0] == "layers."
    stack = []
    for number, layer in enumerate(old):
        stack.append(layer)
        further = layers * (number + 1) // len(old) - layers * number // len(old) - 1
        stack += [_doing_nothing(layer, plain)] * further
    return with_stack(state, stack)


def _doing_nothing(layer, plain):
    if plain:
        weight = torch.eye(len(layer["bias"]), dtype=layer["weight"].dtype)
        return {"weight": weight, "bias": torch.zeros_like(layer["bias"])}
    return {name: torch.zeros_like(tensor) if _LAST.search(name) else tensor for name, tensor in layer.items()}


@transform("ends alone", "depth", "a control")
def ends_alone(state: State, layers: int) -> dict[str, Tensor]:
    """Nothing but layers that do nothing: what stands before and after the stack is left alone."""
    layer = _doing_nothing(stack_of(state)[0], _place(state)[0] == "layers.")
    return with_stack(state, [layer] * layers)


@transform("shuffled", "depth", "a control")
def shuffled(state: State, layers: int, *, row_sum: float = 1.0, seed: int = 0) -> dict[str, Tensor]:
    """As interpolation, with the entries of every tensor in random places: what is left is how large they are."""
    generator = torch.Generator().manual_seed(seed)
    grown = interpolation(state, layers, row_sum=row_sum)
    stack = [{name: tensor.flatten()[torch.randperm(tensor.numel(), generator=generator)].reshape(tensor.shape)
              for name, tensor in layer.items()} for layer in stack_of(grown)]
    return with_stack(state, stack)


@transform("fresh middle", "depth", "a control")
def fresh_middle(state: State, layers: int, *, scale: str = "He", seed: int = 0) -> dict[str, Tensor]:
    """Random layers in place of the whole stack; only what stands before and after it stays.

    Args:
        scale: "He", of variance 2/inputs, which keeps a signal's size behind ReLUs (He et al. 2015), or "torch",
            torch's default, a third of 1/inputs.
    """
    if scale not in ("He", "torch"):
        raise ValueError(f"scale must be 'He' or 'torch', not {scale!r}")
    generator = torch.Generator().manual_seed(seed)

    def drawn(tensor):
        if tensor.ndim == 1:
            return torch.zeros_like(tensor)
        spread = ((2 if scale == "He" else 1 / 3) / tensor.shape[1]) ** 0.5
        return (spread * torch.randn(tensor.shape, generator=generator, dtype=FLOAT)).to(tensor.dtype)
    pattern = stack_of(state)[0]
    return with_stack(state, [{name: drawn(tensor) for name, tensor in pattern.items()} for _ in range(layers)])
