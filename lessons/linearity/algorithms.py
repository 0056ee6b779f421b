"""The mathematics of the chapter: features along the line between two networks.

Features are (samples, width); one dict of them per network, {layer: features}, as `features` of a network gives them.
"""
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor, nn
from torch.linalg import vecdot

from data.types import checked_whole
from toy_models import ResNet18, batchnorm, training
from toy_models.weights import State, mix

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
    found = {}
    for layer, features in features_alpha.items():
        mixed = mix(features_i[layer].double(), features_j[layer].double(), alpha)
        found[layer] = {"gap": 1 - cosine(features, mixed), "coef": coef(features, mixed)}
    return found


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


# -- why the features are missed ---------------------------------------------------------------------

def cross_term(weight_i: Float[Tensor, "units width"], weight_j: Float[Tensor, "units width"],
               below_i: Float[Tensor, "samples width"], below_j: Float[Tensor, "samples width"],
               alpha: float) -> Float[Tensor, "samples units"]:
    """−α(1 − α)·(W_i − W_j)(h_i − h_j): what a layer with mixed weights adds by itself to the mix of the two layers'
    results, if the mix of the two features comes in.

    Args:
        weight_i, weight_j: of the layer.
        below_i, below_j: the features that enter it.
    """
    return -alpha * (1 - alpha) * F.linear(below_i - below_j, weight_i - weight_j)


def handed_on(weight_i: Float[Tensor, "units width"], weight_j: Float[Tensor, "units width"],
              below_i: Float[Tensor, "samples width"], below_j: Float[Tensor, "samples width"],
              below: Float[Tensor, "samples width"], alpha: float) -> Float[Tensor, "samples units"]:
    """W_α·(h − mix of h_i and h_j): what a layer hands on of that which the layers below have missed already.

    With `cross_term` it is all that the layer's input misses: z_α − (α·z_i + (1 − α)·z_j).

    Args:
        weight_i, weight_j: of the layer.
        below_i, below_j: the features that enter it in the two ends.
        below: those that enter it in the interpolated network itself.
    """
    return F.linear(below - mix(below_i, below_j, alpha), mix(weight_i, weight_j, alpha))


def inputs(state: State, x: Tensor, gates: Sequence[Tensor] | None = None) -> list[Float64[Tensor, "samples width"]]:
    """What goes into the units of every layer, z = W·h + b, in float64; the output's logits last.

    Args:
        state: of an MLP.
        x: (samples, …); everything behind the first dimension is flattened.
        gates: for every hidden layer (samples, width), whether a unit passes its z on. Left out, each passes it on
            where z > 0: a ReLU. With the gates of another network the ReLUs are frozen.

    Raises:
        ValueError: the state is not an MLP's.
    """
    if "layers.0.weight" not in state:
        raise ValueError(f"these are not the weights of an MLP; keys: {', '.join(state)}")
    h = x.flatten(1).double()
    found = []
    for layer in range(len(state) // 2):
        z = F.linear(h, state[f"layers.{layer}.weight"].double(), state[f"layers.{layer}.bias"].double())
        found.append(z)
        frozen = gates is not None and layer < len(gates)
        h = z * (gates[layer] if frozen else z > 0)
    return found


def gates_of(state: State, x: Tensor) -> list[Bool[Tensor, "samples width"]]:
    """Which units of every hidden layer are on, for every sample."""
    return [z > 0 for z in inputs(state, x)[:-1]]


def kinks_and_curvature(states: Sequence[State], shares: Sequence[float],
                        x: Tensor) -> dict[str, dict[str, Float64[Tensor, "samples width"]]]:
    """Why the features of Σ shares·θ are not Σ shares·(features of θ), layer by layer, split in two.

    The networks run once more with the ReLUs frozen: all with the gates of the mixed network. What is then still missed
    is curvature, since a network with fixed gates is a product of matrices. The rest is kinks: units that are on in one
    network and off in another.

    Args:
        states: of MLPs of one shape.
        shares: of each in the mix; they sum to 1. (α, 1 − α) for CTL.
        x: (samples, …).

    Returns:
        {layer: {"kinks", "curvature"}}, whose sum is what the mixed network's features are more than the mix.
    """
    mixed = {key: sum(share * state[key].double() for share, state in zip(shares, states)) for key in states[0]}
    gates = gates_of(mixed, x)
    own = _mix_of_features(states, shares, x)
    frozen = _mix_of_features(states, shares, x, gates)
    found = {}
    for layer, features in enumerate(_features(inputs(mixed, x), gates)):
        name = "output" if layer == len(gates) else f"layer {layer + 1}"
        found[name] = {"kinks": frozen[layer] - own[layer], "curvature": features - frozen[layer]}
    return found


def _mix_of_features(states, shares, x, gates=None):
    """Σ shares·(features), one (samples, width) for every layer."""
    networks = []
    for state in states:
        networks.append(_features(inputs(state, x, gates), gates or gates_of(state, x)))
    return [sum(share * features for share, features in zip(shares, of_layer)) for of_layer in zip(*networks)]


def _features(zs, gates):
    """What comes out of every layer: z where the gate is open; of the output all."""
    return [z * gate for z, gate in zip(zs, gates)] + [zs[-1]]


def part_of(part: Float[Tensor, "samples width"], whole: Float[Tensor, "samples width"]) -> float:
    """How much of `whole` a part of it makes: ⟨part, whole⟩/‖whole‖², over all samples together. Parts that sum to the
    whole get shares that sum to 1; a part that points the other way gets a negative one.
    """
    return ((part * whole).sum() / (whole * whole).sum()).item()


def from_layer(state: State, features: Float[Tensor, "samples width"],
               layer: int) -> Float64[Tensor, "samples classes"]:
    """The output of an MLP whose hidden layer `layer` (1 is the first) is made to hold these features.

    Raises:
        ValueError: there is no such hidden layer.
    """
    depth = len(state) // 2
    h = features.double()
    for above in range(checked_whole("layer", layer, 1, depth - 1), depth):
        z = F.linear(h, state[f"layers.{above}.weight"].double(), state[f"layers.{above}.bias"].double())
        h = F.relu(z)
    return z


def opposite_signs(weight_i: Float[Tensor, "units inputs"], bias_i: Float[Tensor, " units"],
                   weight_j: Float[Tensor, "units inputs"], bias_j: Float[Tensor, " units"],
                   x: Float[Tensor, "samples inputs"]) -> Float64[Tensor, " samples"]:
    """Share of first-layer units, per sample, whose input is positive in one network and negative in the other.

    Only there can the first layer miss the mix: its input W·x + b is exactly linear in the weights, and a ReLU is
    linear as long as both ends lie on the same side of zero.
    """
    before_i = F.linear(x, weight_i, bias_i)
    before_j = F.linear(x, weight_j, bias_j)
    return (before_i.sign() * before_j.sign() < 0).double().mean(1)


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
