"""Small networks as functions of one vector of weights θ (parameters,), in float64: without biases, as in the source's
Theorem 2.

A loss is a function θ ↦ a number. All of it is built on torch.func, so that it can be differentiated twice and mapped
over many θ at once.
"""
import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

Function = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"linear": lambda h: h, "tanh": torch.tanh, "ReLU": torch.relu}
# sup |φ'| and sup |φ''|, the latter away from kinks
SLOPES = {"linear": (1.0, 0.0), "tanh": (1.0, 4 / (3 * math.sqrt(3))), "ReLU": (1.0, 0.0)}
LOSSES = ("cross-entropy", "squared error")


def matrices(theta: Tensor, widths: Sequence[int]) -> list[Tensor]:
    """θ cut into the weight matrices W_1 … W_L, (out, in) each.

    Raises:
        ValueError: θ does not have as many entries as such a network has weights.
    """
    sizes = [a * b for a, b in zip(widths, widths[1:])]
    if theta.shape != (sum(sizes),):
        raise ValueError(f"theta must have shape ({sum(sizes)},) for the widths {tuple(widths)}, not "
                         f"{tuple(theta.shape)}")
    return [part.view(b, a) for part, a, b in zip(theta.split(sizes), widths, widths[1:])]


def hidden(theta: Tensor, widths: Sequence[int], activation: str,
           x: Float[Tensor, "samples inputs"]) -> list[Float[Tensor, "samples _"]]:
    """W_l·a_(l−1) of every layer, before the activation, (samples, width) each; the last are the outputs."""
    if activation not in ACTIVATIONS:
        raise ValueError(f"unknown activation {activation!r}: choose one of {', '.join(ACTIVATIONS)}")
    layers = []
    for weight in matrices(theta, widths):
        x = (ACTIVATIONS[activation](layers[-1]) if layers else x) @ weight.T
        layers.append(x)
    return layers


def sample_losses(outputs: Float[Tensor, "samples classes"], y: Int64[Tensor, " samples"],
                  loss: str) -> Float[Tensor, " samples"]:
    """The loss of every sample: cross-entropy in nats, or half the squared distance to the one-hot label."""
    if loss not in LOSSES:
        raise ValueError(f"unknown loss {loss!r}: choose one of {', '.join(LOSSES)}")
    wanted = (y[:, None] == torch.arange(outputs.shape[1])).to(outputs.dtype)
    if loss == "squared error":
        return ((outputs - wanted) ** 2).sum(1) / 2
    return torch.logsumexp(outputs, 1) - (outputs * wanted).sum(1)


def loss_of(widths: Sequence[int], activation: str, loss: str, x: Float[Tensor, "samples inputs"],
            y: Int64[Tensor, " samples"], share: Float[Tensor, " samples"] | None = None) -> Function:
    """θ ↦ the mean loss of a network on x, y.

    Args:
        share: the part of every sample's loss that counts, for example 0 or 1; None for all. The mean is over all
            samples.
    """
    def f(theta):
        each = sample_losses(hidden(theta, widths, activation, x)[-1], y, loss)
        return each.mean() if share is None else (share * each).mean()
    return f


def initial(widths: Sequence[int], seed: int = 0) -> Float64[Tensor, " parameters"]:
    """Random weights θ, each of variance 1/inputs of its layer."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randn(b * a, generator=generator, dtype=torch.float64) / math.sqrt(a)
             for a, b in zip(widths, widths[1:])]
    return torch.cat(drawn)


def crossed(theta_a: Float[Tensor, " parameters"], theta_b: Float[Tensor, " parameters"], widths: Sequence[int],
            x: Float[Tensor, "samples inputs"]) -> Float[Tensor, " samples"]:
    """Which samples lie on two sides of some ReLU's kink: a hidden unit is on for them at one θ and off at the other;
    0 or 1.
    """
    at_a, at_b = (hidden(theta, widths, "ReLU", x)[:-1] for theta in (theta_a, theta_b))
    return torch.stack([((a > 0) != (b > 0)).any(1) for a, b in zip(at_a, at_b)]).any(0).to(x.dtype)
