"""A velocity network: it says where a point of the plane is to move, so that noise becomes data (Lipman et al.
2023)."""
import torch
from torch import Tensor

from data.types import checked_whole
from toy_models.mlp import MLP


class VelocityNetwork(MLP):
    """An MLP from a point of the plane and a time in [0, 1] to a velocity there.

    Args:
        hidden: units of the hidden layers.
    """

    def __init__(self, hidden=(64, 64)):
        super().__init__((3, *hidden, 2))

    @torch.no_grad()
    def sample(self, noise: Tensor, steps: int = 50) -> Tensor:
        """Points (samples, 2), carried along the velocity from noise (samples, 2) by so many Euler steps."""
        steps = checked_whole("steps", steps, 1)
        points = noise.clone()
        for step in range(steps):
            time = torch.full((len(points), 1), step / steps, dtype=points.dtype)
            points += self(torch.cat([points, time], 1)) / steps
        return points
