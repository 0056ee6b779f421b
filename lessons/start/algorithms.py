"""What a network of the plane predicts at every point of it, and how alike the units of two networks are."""
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn


def grid(pixels: int = 72, extent: float = 1.2) -> Float[Tensor, "points 2"]:
    """The centres of pixels × pixels squares that tile [−extent, extent]², row by row from below."""
    if pixels < 1 or extent <= 0:
        raise ValueError(f"a grid needs at least one pixel and a positive extent, not {pixels} and {extent}")
    edge = (torch.arange(pixels) + 0.5) / pixels * 2 * extent - extent
    y, x = torch.meshgrid(edge, edge, indexing="ij")
    return torch.stack([x.flatten(), y.flatten()], 1)


def decision_map(network: nn.Module, points: Float[Tensor, "points 2"]) -> Float[Tensor, "pixels pixels"]:
    """The probability of class 1 at every point.

    Args:
        network: takes (samples, 2), gives logits (samples, 2).
        points: as `grid` makes them.
    """
    side = round(len(points) ** 0.5)
    return network(points).softmax(1)[:, 1].reshape(side, side)


def angles(a: nn.Module, b: nn.Module) -> Float[Tensor, " units"]:
    """Between unit k of the first layer of one network and unit k of another, in degrees: of their weights, without the
    bias.

    Args:
        a, b: networks whose first layer is `layers[0]`, linear and equally wide.
    """
    first, second = (network.layers[0].weight.detach().double() for network in (a, b))
    cosine = nn.functional.cosine_similarity(first, second, dim=1)
    return cosine.clamp(-1, 1).arccos().rad2deg()


def accuracy(logits: Float[Tensor, "samples classes"], y: Int64[Tensor, " samples"]) -> float:
    """Share of samples, in [0, 1], whose largest logit is that of their label.

    Raises:
        ValueError: there is no sample.
    """
    if not len(y):
        raise ValueError("the evaluation set is empty: there is no sample to measure on")
    return (logits.argmax(1) == y).double().mean().item()
