"""Methods that keep something for every task: what is shared, what is stored per task, and how both become a model
again.
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Bool, UInt8
from torch import Tensor

from data.types import checked_whole
from toy_models.weights import State


@dataclass(frozen=True)
class PerTask:
    """One model a task, stored together.

    Attributes:
        shared: {name: state dict}, stored once, say {"base": θ₀, "vector": τ}.
        extras: one dict of tensors a task: what must be stored besides.
        rebuild: (shared, one task's extras) -> that task's state dict.
    """

    shared: dict[str, State]
    extras: tuple[dict[str, Tensor], ...]
    rebuild: Callable[[dict[str, State], dict[str, Tensor]], State]

    def __len__(self) -> int:
        return len(self.extras)

    @no_type_check  # in tests too it is for this function to say what is wrong
    def model(self, task: int) -> State:
        """The state dict of a task, counted from 0; a new one with every call.

        Raises:
            ValueError: there is no such task.
        """
        task = checked_whole("task", task, 0, len(self) - 1)
        with torch.no_grad():
            return self.rebuild(self.shared, self.extras[task])

    def shared_bytes(self) -> int:
        """Bytes of what is stored once."""
        return sum(_bytes(state) for state in self.shared.values())

    def task_bytes(self, task: int) -> int:
        """Bytes of what is stored for one task besides."""
        return _bytes(self.extras[task])


def pack(mask: Bool[Tensor, "..."]) -> UInt8[Tensor, " bytes"]:
    """A boolean tensor as bits, eight to a byte: ⌈entries / 8⌉ bytes."""
    return torch.from_numpy(np.packbits(mask.flatten().cpu().numpy()))


def unpack(bits: UInt8[Tensor, " bytes"], shape: torch.Size) -> Bool[Tensor, "..."]:
    """The boolean tensor of that shape that `pack` made the bits of."""
    return torch.from_numpy(np.unpackbits(bits.numpy(), count=shape.numel()).astype(bool)).reshape(shape)


def _bytes(state):
    return sum(tensor.numel() * tensor.element_size() for tensor in state.values())
