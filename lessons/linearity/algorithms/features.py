"""What CTL speaks of: features of an interpolated network beside the mixed features of its two ends, and the barrier.

Features are (samples, width); one dict of them per network, {layer: features}, as `features` of a network gives them.
"""
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float64, Int64
from torch import Tensor
from torch.linalg import vecdot

from toy_models.weights import mix

Numbers = Sequence[float] | np.ndarray | Tensor


def cosine(a: Tensor, b: Tensor) -> Float64[Tensor, " samples"]:
    """The cosine between a and b, sample by sample, in float64 and with its sign (CTL, §4.1).

    Args:
        a, b: features (samples, width).

    Returns:
        In [−1, 1]; NaN where a sample's features are zero in one of them and so have no direction.

    Raises:
        ValueError: the shapes differ, or there is no sample.
    """
    a, b = _pair(a, b)
    return vecdot(a, b) / (a.norm(dim=1) * b.norm(dim=1))


def coef(a: Tensor, b: Tensor) -> Float64[Tensor, " samples"]:
    """The length of a's projection on b in units of b: ‖a‖·cos(a, b)/‖b‖ = ⟨a, b⟩/‖b‖² (CTL, §4.1).

    Args:
        a, b: features (samples, width).

    Returns:
        1 where a reaches exactly as far along b as b does, NaN where b is zero.

    Raises:
        ValueError: the shapes differ, or there is no sample.
    """
    a, b = _pair(a, b)
    return vecdot(a, b) / vecdot(b, b)


def cosine_gap(features_alpha: Float[Tensor, "samples width"], features_i: Float[Tensor, "samples width"],
               features_j: Float[Tensor, "samples width"], alpha: float) -> Float64[Tensor, " samples"]:
    """1 − cos between the interpolated network's features and the mixed features, sample by sample: 0 is LLFC (CTL,
    Def. 2, Fig. 2).

    Args:
        features_alpha: of the network with weights α·θ_i + (1 − α)·θ_j.
        features_i, features_j: of its two ends.
        alpha: the weight of θ_i.

    Returns:
        From 0 (same direction) to 2 (opposite).
    """
    return 1 - cosine(features_alpha, mix(features_i.double(), features_j.double(), alpha))


def own_distance(features_i: Float[Tensor, "samples width"],
                 features_j: Float[Tensor, "samples width"]) -> Float64[Tensor, " samples"]:
    """1 − cos between the two ends' features, sample by sample: the baseline that the cosine gap is compared with (CTL,
    Fig. 2).
    """
    return 1 - cosine(features_i, features_j)


def ctl(features_alpha: dict, features_i: dict, features_j: dict, alpha: float) -> dict[str, dict[str, Tensor]]:
    """What CTL speaks of, for every layer: {layer: {"gap": `cosine_gap`, "coef": `coef` along the mixed features}},
    each (samples,) in float64.

    CTL holds where the gap is near 0, far below `own_distance`, and coef is near 1 (CTL, §4.1).

    Raises:
        ValueError: the three do not have the same layers.
    """
    if not features_alpha.keys() == features_i.keys() == features_j.keys():
        raise ValueError(f"the three networks must have the same layers, not {list(features_alpha)}, "
                         f"{list(features_i)} and {list(features_j)}")
    quantities = {}
    for layer, features in features_alpha.items():
        mixed = mix(features_i[layer].double(), features_j[layer].double(), alpha)
        quantities[layer] = {"gap": 1 - cosine(features, mixed), "coef": coef(features, mixed)}
    return quantities


def barrier(losses: Numbers, alphas: Numbers) -> float:
    """How far the loss along the line rises above the straight line between its ends, at its highest:
    max_α L(θ_α) − [α·L(θ_i) + (1 − α)·L(θ_j)].

    With the ends included it is never negative; 0 means no barrier (Frankle et al. 2020, as CTL §3 follows them).

    Args:
        losses: L(θ_α), (grid,), at `alphas`.
        alphas: (grid,), with 0 first (that is θ_j) and 1 last (θ_i).

    Raises:
        ValueError: the two do not have the same length, or the ends are not there.
    """
    losses = torch.tensor([float(value) for value in losses], dtype=torch.float64)
    alphas = torch.tensor([float(value) for value in alphas], dtype=torch.float64)
    if losses.shape != alphas.shape or len(alphas) < 2:
        raise ValueError("losses and alphas must be two lists of the same length, at least 2, not "
                         f"{tuple(losses.shape)} and {tuple(alphas.shape)}")
    if alphas[0] != 0 or alphas[-1] != 1:
        raise ValueError(f"alphas must go from 0 to 1, not from {alphas[0]:g} to {alphas[-1]:g}: the barrier is "
                         "measured against both ends")
    return (losses - mix(losses[-1], losses[0], alphas)).max().item()


def worst(gap, own) -> tuple[str, str]:
    """The pair and layer where the gap is the largest share of the ends' own distance.

    Args:
        gap: xarray.DataArray over (pair, alpha, layer), the mean over samples.
        own: xarray.DataArray over (pair, layer), likewise.

    Returns:
        (pair, layer), by the largest share at any α.
    """
    share = (gap / own).max("alpha").stack(place=("pair", "layer"))
    pair, layer = share.idxmax("place").item()
    return pair, layer


def evaluate(logits: Float[Tensor, "samples classes"], y: Int64[Tensor, " samples"]) -> tuple[float, float]:
    """Mean cross-entropy (nats) and accuracy (share of 1) of logits against labels y.

    Raises:
        ValueError: there is no sample.
    """
    if not len(y):
        raise ValueError("the evaluation set is empty: there is no sample to measure on")
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).double().mean().item()


def _pair(a, b):
    if a.shape != b.shape:
        raise ValueError("both features must have the same shape (samples, width), not "
                         f"{tuple(a.shape)} and {tuple(b.shape)}")
    if a.ndim != 2:
        raise ValueError(f"features must be (samples, width), not {tuple(a.shape)}: flatten everything behind the "
                         "first dimension")
    if not len(a):
        raise ValueError("the evaluation set is empty: there is no sample to measure on")
    return a.double(), b.double()
