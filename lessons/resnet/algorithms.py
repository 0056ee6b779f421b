"""The mathematics of chapter 2: what BatchNorm normalises with, and what becomes of it between two networks."""
from jaxtyping import Float
from torch import Tensor, nn

from data.types import checked_whole
from toy_models import ResNet18, batchnorm, training


def last_batch(images: int, batch_size: int) -> int:
    """How many images the last batch of a pass over a data set holds.

    Raises:
        ValueError: one of them is not a positive whole number.
    """
    images = checked_whole("images", images, 1)
    batch_size = checked_whole("batch_size", batch_size, 1)
    return images % batch_size or batch_size


def channel_statistics(h: Tensor) -> tuple[Float[Tensor, " channels"], Float[Tensor, " channels"]]:
    """Mean and variance of every channel, over all samples and pixels together: what BatchNorm normalises with in
    training.

    Args:
        h: (samples, channels, height, width).

    Returns:
        The variance is the biased one (divided by the count), as BatchNorm's.

    Raises:
        ValueError: h has another shape.
    """
    if h.ndim != 4:
        raise ValueError(f"h must be (samples, channels, height, width), not {tuple(h.shape)}")
    return h.mean((0, 2, 3)), h.var((0, 2, 3), unbiased=False)


def normalise(h: Float[Tensor, "samples channels height width"], mean: Float[Tensor, " channels"],
              var: Float[Tensor, " channels"], eps: float = 1e-5) -> Float[Tensor, "samples channels height width"]:
    """(h − mean)/√(var + eps), channel by channel: BatchNorm without its learned scale and shift."""
    return (h - mean[:, None, None]) / (var[:, None, None] + eps).sqrt()


def mixed_variance(var_i: float, var_j: float, correlation: float, alpha: float) -> float:
    """The variance of α·a + (1 − α)·b, where a and b have variances var_i and var_j and the given correlation.

    For equal variances and α = ½ it is (1 + correlation)/2 of them, while the mix of the two variances stays what they
    are: the reason why interpolated running statistics no longer fit an interpolated network whose channels have
    drifted apart (Jordan et al. 2023, REPAIR).
    """
    own = alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j
    return own + 2 * alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5


TREATMENTS = {"interpolated": "running statistics, mixed like weights",
              "re-estimated": "estimated anew for each network",
              "batch": "those of the batch it is given"}  # of BatchNorm
BATCH = 100  # images at once where statistics are estimated


def treated(network: ResNet18, treatment: str, x: Tensor, device: str = "cpu") -> nn.Module:
    """A copy of the network, on the device, under one of `TREATMENTS` of BatchNorm.

    Args:
        network: the one to copy.
        treatment: its name.
        x: images (samples, 3, 32, 32) on which "re-estimated" estimates the statistics.
        device: for the copy.

    Raises:
        ValueError: there is no such treatment.
    """
    if treatment not in TREATMENTS:
        raise ValueError(f"unknown treatment {treatment!r}: choose one of {', '.join(TREATMENTS)}")
    device = training.resolve(device)
    state = {key: tensor.to(device, copy=True) for key, tensor in network.state_dict().items()}
    network = ResNet18.from_state(state)
    network = network.to(memory_format=training.fastest_format(network))
    if treatment == "re-estimated":
        return batchnorm.reestimated(network, x.to(device), BATCH)
    if treatment == "batch":
        return batchnorm.with_batch_statistics(network)
    return network
