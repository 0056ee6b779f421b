"""Steps other than plain gradient descent, as pure rules: (gradient, memory) -> (direction, memory). θ then moves by
−η·direction.
"""
from collections.abc import Sequence

import torch

from lessons.gradients.algorithms.expansion import Number, Path, Vector, gradient
from lessons.gradients.algorithms.networks import Function


def plain(g: Vector, memory: tuple) -> tuple[Vector, tuple]:
    """Gradient descent; on mini-batches SGD."""
    return g, memory


def momentum(g: Vector, memory: tuple, beta: float = 0.9) -> tuple[Vector, tuple]:
    """Heavy ball: the direction is g plus β times the last direction."""
    direction = g + beta * memory[0] if memory else g
    return direction, (direction,)


def adam(g: Vector, memory: tuple, beta_1: float = 0.9, beta_2: float = 0.999,
         epsilon: float = 1e-8) -> tuple[Vector, tuple]:
    """Adam (Kingma and Ba 2015): running means of g and g², corrected for their start at 0."""
    first, second, step = memory or (torch.zeros_like(g), torch.zeros_like(g), 0)
    first = beta_1 * first + (1 - beta_1) * g
    second = beta_2 * second + (1 - beta_2) * g ** 2
    step += 1
    direction = first / (1 - beta_1 ** step) / ((second / (1 - beta_2 ** step)).sqrt() + epsilon)
    return direction, (first, second, step)


def path(rule, losses: Sequence[Function], theta: Vector, eta: Number) -> Path:
    """The path (steps + 1, parameters) of one step on each of the losses, in their order: mini-batches, or one loss
    again and again.
    """
    points = [theta]
    memory = ()
    for f in losses:
        direction, memory = rule(gradient(f, points[-1]), memory)
        points.append(points[-1] - eta * direction)
    return torch.stack(points)
