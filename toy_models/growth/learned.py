"""Maps that are learned on the target's data before training begins, tied between neighbouring layers, as in LiGO (Wang
et al. 2023): W' = P·W·Qᵀ, where what makes a layer's units and what uses them are learned together."""
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from toy_models.growth.units import Map, mapped, sizes
from toy_models.growth.width import FLOAT, copies, padding, resampling
from toy_models.weights import State

BEGIN = ("copies", "interpolation", "projection", "padding")


def beginning(state: State, new: Mapping[str, int], begin: str, seed: int = 0) -> dict[str, Map]:
    """The maps from which learning begins.

    Raises:
        ValueError: another name than one of `BEGIN`.
    """
    if begin not in BEGIN:
        raise ValueError(f"begin must be one of {', '.join(BEGIN)}, not {begin!r}")
    generator = torch.Generator().manual_seed(seed)

    def random(old, size):
        made = torch.randn(size, old, generator=generator, dtype=FLOAT) / size ** 0.5
        return Map(made, made)
    make = {"copies": lambda old, size: copies(old, size, generator, shares="drawn"), "interpolation": resampling,
            "projection": random, "padding": padding}[begin]
    known = sizes(state)
    return {name: make(known[name], size) for name, size in new.items() if size != known[name]}


def learn(state: State, maps: Mapping[str, Map], loss: Callable[[dict[str, Tensor], object], Tensor],
          batches: Iterable[object], lr: float) -> dict[str, Tensor]:
    """The network, mapped by maps that were trained with Adam, a step a batch; its own weights stay as they are.

    Args:
        state: the source, in float64.
        maps: the beginning.
        loss: (the mapped network's state dict, batch) -> a number.
        batches: of the target's data.
        lr: Adam's learning rate.
    """
    learned = {name: Map(one.made.clone().requires_grad_(), one.used.clone().requires_grad_())
               for name, one in maps.items()}
    source = {key: tensor.detach().to(FLOAT) for key, tensor in state.items()}
    parameters = [matrix for one in learned.values() for matrix in (one.made, one.used)]
    optimiser = torch.optim.Adam(parameters, lr=lr)
    for batch in batches:
        optimiser.zero_grad()
        loss(mapped(source, learned), batch).backward()
        optimiser.step()
    done = {name: Map(one.made.detach(), one.used.detach()) for name, one in learned.items()}
    return {key: tensor.to(state[key].dtype) for key, tensor in mapped(source, done).items()}
