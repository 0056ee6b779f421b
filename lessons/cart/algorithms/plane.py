"""The plane on which some weights spread most: the finetuned ones, or those that a path goes through (CART, §5.3 and
Fig. 5).
"""
from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from toy_models import weights
from toy_models.weights import State


class Plane:
    """Through a centre, along the first two principal components of some state dicts.

    Args:
        states: at least three, so that there are two components.
        centre: the state dict through which the plane goes; None for their average.

    Attributes:
        centre: as a vector (parameters,), in float64.
        axes: (2, parameters), orthonormal.
        explained: the share of the states' variance that each component holds (2,).

    Raises:
        ValueError: fewer than three state dicts.
    """

    def __init__(self, states: Sequence[State], centre: State | None = None):
        if len(states) < 3:
            raise ValueError(f"two principal components need at least three models, not {len(states)}")
        self._like = states[0]
        vectors = torch.stack([weights.flatten(state).double() for state in states])
        self.centre = vectors.mean(0) if centre is None else weights.flatten(centre).double()
        vectors = vectors - vectors.mean(0)
        # of a matrix of a few rows this is its decomposition, at a tenth of the price
        variance, sides = torch.linalg.eigh(vectors @ vectors.T)
        self.axes = torch.nn.functional.normalize(sides.T[[-1, -2]] @ vectors)
        self.explained = variance[[-1, -2]] / variance.sum()

    def place(self, state: State) -> Float64[Tensor, "2"]:
        """The coordinates of the point of the plane that is closest to a state dict."""
        return self.axes @ (weights.flatten(state).double() - self.centre)

    def at(self, place: Float[Tensor, "2"]) -> State:
        """The state dict at some coordinates."""
        return weights.unflatten(self.centre + place.to(self.axes) @ self.axes, self._like)

    def inside(self, state: State) -> float:
        """Which share of the squared distance from the centre lies in the plane; NaN at the centre itself."""
        step = weights.flatten(state).double() - self.centre
        return ((self.axes @ step).square().sum() / step.square().sum()).item() if step.norm() > 1e-4 else float("nan")
