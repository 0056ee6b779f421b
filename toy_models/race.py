"""Train on, and look after so many steps: how starts are compared with each other."""
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from toy_models import abreast
from toy_models.weights import State

Batch = tuple[Tensor, Tensor]


def looks(step: Callable[[], object], steps: Sequence[int], at: Callable[[], Mapping[str, object]]
          ) -> dict[str, np.ndarray]:
    """Train and look: {name: (looks, …)} of the numbers that are measured after so many steps.

    Args:
        step: takes one step of training. It is called `steps[-1]` times.
        steps: after how many steps to look, in ascending order; 0 is before the first one.
        at: () -> {name: a number or an array}, what is measured of the network as it is then.

    Raises:
        ValueError: `steps` is empty, not in ascending order, or begins below 0.
    """
    if not steps or list(steps) != sorted(set(steps)) or steps[0] < 0:
        raise ValueError(f"steps must be whole numbers from 0 on, in ascending order, not {tuple(steps)}")
    measured = []
    for number in range(steps[-1] + 1):
        if number in steps:
            measured.append(at())
        if number < steps[-1]:
            step()
    return {name: np.stack([np.asarray(one[name]) for one in measured]) for name in measured[0]}


def of_mlps(states: Sequence[State], batches: Sequence[Batch], steps: Sequence[int], sets: Mapping[str, Batch],
            lr: float | Tensor, optimiser: str = "sgd", size: int = 64) -> dict[str, np.ndarray]:
    """`looks` at MLPs that are trained abreast, in float64: {"loss" (nats), "accuracy"}, (starts, looks) each, of every
    set of images.

    Args:
        states: the starts, of one architecture.
        batches: `steps[-1] + 1` at least, the same for all starts; nobody trains on the last one.
        steps: after how many steps to look.
        sets: {prefix: (x, y)} to look at; the results' names begin with the prefix.
        lr: one learning rate, or one for every start, (starts,).
        optimiser: "sgd" or "adam".
        size: of the largest batch; it decides which networks are trained together (`abreast.groups`).
    """
    def work(group, which):
        moments = abreast.descend(group, batches, lr[which] if isinstance(lr, Tensor) and lr.ndim else lr, optimiser)
        stack = next(moments).stack  # it goes on changing

        def at():
            scores = {prefix: abreast.scores(stack, *images) for prefix, images in sets.items()}
            return {f"{prefix}{name}": value for prefix, pair in scores.items()
                    for name, value in zip(("loss", "accuracy"), pair)}

        return {name: torch.from_numpy(values.T) for name, values in looks(lambda: next(moments), steps, at).items()}

    return {name: tensor.numpy() for name, tensor in abreast.in_groups(work, abreast.stacked(states), size).items()}
