"""What the float64 experiments share: four tasks on Spirals or on small digits, three networks, two losses, and where
finetuning begins."""
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F

import data
from lessons.gradients.algorithms import expansion, networks
from lessons.gradients.algorithms.networks import Function

SPIRALS = "Spirals"
DIGITS = "Rotated MNIST"
ANGLES = (22.5, 45.0, 67.5, 90.0)  # the four tasks; finetuning begins from a network that learned 0°
NETWORKS = tuple(networks.ACTIVATIONS)
PRETRAINING_STEPS = 20


@dataclass(frozen=True)
class Setting:
    """One family of tasks: the data set's name in `data`, the network's widths, and the step size of pretraining."""
    dataset: str
    widths: tuple[int, ...]
    eta: float


SETTINGS = {SPIRALS: Setting("spirals", (2, 8, 8, 2), 0.3),
            DIGITS: Setting("rotated_mnist", (196, 8, 8, 10), 0.05)}


# -- sources ---------------------------------------------------------------------------------------

def digits_source(more: str = "") -> data.types.Source:
    """Where the digits come from, without the angle by which a task turns them; `more` goes on with the description."""
    source = data.source("rotated_mnist", angle=ANGLES[0])
    return replace(source, text=source.text.split(",")[0] + more)


def spirals_source(more: str) -> data.types.Source:
    """Where the Spirals come from; `more` says how they are turned."""
    source = data.source("spirals", angle=ANGLES[0])
    return replace(source, text=f"Spirals (generated), {more}")


# -- tasks -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Tasks:
    """Four tasks and a start.

    Attributes:
        widths, activation, loss: as `networks.loss_of` takes them.
        inputs, labels: per task, x (samples, inputs) in float64 and y (samples,).
        losses: per task, θ ↦ its mean loss.
        base: θ_base (parameters,).
    """
    widths: tuple[int, ...]
    activation: str
    loss: str
    inputs: tuple[torch.Tensor, ...]
    labels: tuple[torch.Tensor, ...]
    losses: tuple[Function, ...]
    base: torch.Tensor

    def alone(self, theta: torch.Tensor, eta, steps: int) -> torch.Tensor:
        """The path of every task alone, (T, steps + 1, parameters): `expansion.descend` of each, all at once."""
        def path(x, y):
            loss = networks.loss_of(self.widths, self.activation, self.loss, x, y)
            return expansion.descend(loss, theta, eta, steps)
        return torch.vmap(path)(torch.stack(self.inputs), torch.stack(self.labels))


def samples(name: str, angle: float, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The first training samples of a task, x (samples, inputs) in float64 and y; digits are shrunk to 14×14 by
    averaging squares of four pixels."""
    if name == SPIRALS:
        dataset = data.load("spirals", "train", angle=angle)
        return dataset.x[:size].double(), dataset.y[:size]
    dataset = data.load("rotated_mnist", "train", angle=angle, size=size)
    return F.avg_pool2d(dataset.x[:, None], 2).flatten(1).double(), dataset.y


def tasks(name: str, activation: str, loss: str, size: int, seed: int = 0,
          angles: Sequence[float] = ANGLES) -> Tasks:
    """The tasks of a family, and a network that took 20 full-batch steps on its first data, those at 0°.

    Args:
        name: SPIRALS or DIGITS.
        size: samples of each task.
        seed: of the random weights before pretraining.
    """
    setting = SETTINGS[name]
    inputs, labels = zip(*(samples(name, angle, size) for angle in angles))
    losses = tuple(networks.loss_of(setting.widths, activation, loss, x, y) for x, y in zip(inputs, labels))
    upright = networks.loss_of(setting.widths, activation, loss, *samples(name, 0.0, size))
    before = networks.initial(setting.widths, seed)
    base = expansion.descend(upright, before, setting.eta, PRETRAINING_STEPS)[-1]
    return Tasks(setting.widths, activation, loss, inputs, labels, losses, base)


# -- walks -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Walk:
    """k steps of every task alone and of all together, from one start.

    Attributes:
        own: θ_t^(e), (T, steps + 1, parameters).
        joint: θ_MT^(e), (steps + 1, parameters).
        gap: θ_TA^(e) − θ_MT^(e), like joint.
        drift, bend: p_t and s_t, like own: see `expansion`.
    """
    own: torch.Tensor
    joint: torch.Tensor
    gap: torch.Tensor
    drift: torch.Tensor
    bend: torch.Tensor


def walk(tasks: Tasks, eta, alpha: float, steps: int) -> Walk:
    """The walk with step size η alone and αη together; `eta` may be a tensor without dimensions."""
    own = tasks.alone(tasks.base, eta, steps)
    joint = expansion.descend(expansion.total(tasks.losses, alpha), tasks.base, eta, steps)
    gap = expansion.task_arithmetic(tasks.base, own, alpha) - joint
    return Walk(own, joint, gap, *expansion.bendings(tasks.losses, joint, alpha))
