"""What the scalar experiments share: small digits, even or odd as ±1, and networks that learned to tell them apart on
upright digits before they are finetuned on turned ones."""
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
import torch.nn.functional as F

import data
from data.types import Source
from lessons.linearization.algorithms import kernel
from lessons.linearization.algorithms.dynamics import error_and_gradient
from lessons.linearization.algorithms.networks import Net

SIDE = 14  # pixels, after averaging squares of four
PRETRAINED, RANDOM = "pretrained", "random weights"
BEFORE = 2000  # the first images are for pretraining, those behind for finetuning
APART = 400  # another seed finetunes on other images
SEEDS_APART = 20  # and after so many seeds the images come round again: the stand-in has only 20,000
LR = 3e-3  # of pretraining, by Adam


@dataclass(frozen=True)
class Task:
    """A network, where finetuning starts, and what it is finetuned and tried on; all in float64.

    Attributes:
        net: the network, with one output.
        theta_0: where finetuning starts, (parameters,).
        x, y: training samples (n, 196) and their targets ±1 (n,).
        x_test, y_test: others, that are looked at.
    """
    net: Net
    theta_0: torch.Tensor
    x: torch.Tensor
    y: torch.Tensor
    x_test: torch.Tensor
    y_test: torch.Tensor

    @property
    def n(self) -> int:
        """How many training samples there are."""
        return len(self.y)


def source() -> Source:
    """Where the digits come from, without the angle by which a task turns them."""
    upright = data.source("rotated_mnist", angle=0.0)
    return replace(upright, text=f"{upright.text.split(',')[0]}, digits shrunk to 14×14, even or odd")


def digits(angle: float, first: int, size: int, part: str = "train") -> tuple[torch.Tensor, torch.Tensor]:
    """x (size, 196) in float64, and y (size,): +1 where the digit is even, −1 where it is odd."""
    dataset = data.load("rotated_mnist", part, angle=angle, first=first, size=size)
    x = F.avg_pool2d(dataset.x[:, None], 2).flatten(1).double()
    return x, 1.0 - 2.0 * (dataset.y % 2).double()


def task(net: Net, n: int, angle: float, seed: int, test: int = 300, start: str = PRETRAINED, images: int = BEFORE,
         steps: int = 300) -> Task:
    """Finetuning on n digits turned by `angle`, from a network that learned upright ones, or from random weights.

    Args:
        seed: of the random weights, and of which digits are finetuned on.
        test: images that are looked at.
        images, steps: of pretraining.
    """
    theta_0 = pretrained(net, seed, images, steps) if start == PRETRAINED else net.initial(seed)
    x, y = digits(angle, BEFORE + APART * (seed % SEEDS_APART), n)
    x_test, y_test = digits(angle, 0, test, "test")
    return Task(net, theta_0.float().double(), x, y, x_test, y_test)


def pretrained(net: Net, seed: int, images: int, steps: int) -> torch.Tensor:
    """Weights after so many full-batch steps of Adam on the mean squared error of upright digits.

    Rounded to float32, as the zoo rounds: what processors compute differently lies far below that.
    """
    return _pretrained(net, seed, images, steps, source().digest).clone()


@lru_cache(maxsize=32)
def _pretrained(net, seed, images, steps, digest):
    x, y = digits(0.0, 0, images)
    theta = net.initial(seed)
    mean, square = torch.zeros_like(theta), torch.zeros_like(theta)
    for count in range(1, steps + 1):
        gradient = error_and_gradient(net, theta, x, y)[1] / images
        mean = mean.lerp(gradient, 0.1)
        square = square.lerp(gradient.square(), 0.001)
        size = (square / (1 - 0.999 ** count)).sqrt() + 1e-8
        theta = theta - LR * mean / (1 - 0.9 ** count) / size
    return theta.float().double()


def step_size(task: Task, share: float) -> float:
    """η = share/κ_max: a share of the step with which the tangent's fastest direction would be learned twice over."""
    K = kernel.blocks(task.net, task.theta_0, task.x).sum(0)
    return share / torch.linalg.eigvalsh(K).max().item()


def accuracy(answers: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The share whose sign is right, (…); answers (…, samples), y (samples,)."""
    return (answers.sign() == y).double().mean(-1)
