"""Why the features of an interpolated network are not the mix of its ends' features: which layer, and which part of it.

Features are (samples, width).
"""
from collections.abc import Sequence

import torch.nn.functional as F
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from data.types import checked_whole
from toy_models.weights import State, mix


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
    entering = []
    for layer in range(len(state) // 2):
        z = F.linear(h, state[f"layers.{layer}.weight"].double(), state[f"layers.{layer}.bias"].double())
        entering.append(z)
        frozen = gates is not None and layer < len(gates)
        h = z * (gates[layer] if frozen else z > 0)
    return entering


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
    parts = {}
    for layer, features in enumerate(_features(inputs(mixed, x), gates)):
        name = "output" if layer == len(gates) else f"layer {layer + 1}"
        parts[name] = {"kinks": frozen[layer] - own[layer], "curvature": features - frozen[layer]}
    return parts


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
