"""CTL's numbers along the line between two networks of any kind."""
from collections.abc import Callable, Iterable, Sequence

import torch
import xarray
from torch import Tensor

from lessons.kit.sweep import on_grid, summarise
from lessons.linearity.algorithms.features import ctl, own_distance
from toy_models.weights import State, interpolate, norm, subtract


def interpolated(a: State, b: State, alpha: float) -> State:
    """α·a + (1 − α)·b of state dicts whose counters may have any name; they are a's (exercise 1.1)."""
    return with_counters(lambda floats: interpolate(*floats, alpha), [a, b])


def with_counters(function: Callable[[list[State]], State], states: Sequence[State]) -> State:
    """What a function makes of the floating-point tensors alone, and the whole numbers of the first state dict.

    `toy_models.weights` carries over BatchNorm's counter and refuses any other, which may be a quantised weight.
    """
    combined = function([{key: tensor for key, tensor in state.items() if tensor.is_floating_point()}
                         for state in states])
    return {key: combined[key] if key in combined else tensor.clone() for key, tensor in states[0].items()}


def summaries(quantities: dict[str, Tensor]) -> dict[str, float]:
    """name_mean, name_low, name_high of {name: (samples,)}; of "coef" also its median and distribution."""
    return summarise(quantities, distributions=["coef"])


def means(quantities: dict[str, Tensor]) -> dict[str, float]:
    """{name_mean: mean over the samples that have a direction (not NaN)}, of {name: (samples,)}."""
    return {f"{name}_mean": values.nanmean().item() for name, values in quantities.items()}


def along(features: Callable, state_i: State, state_j: State, alphas: Sequence[float], *, parts: Iterable = (None,),
          network: Callable = lambda state, alpha: state, ends: Sequence | None = None,
          also: Callable = lambda network, logits, alpha: {}, summary: Callable = summaries) -> xarray.Dataset:
    """CTL's numbers along the line between two networks: for every α and layer, the interpolated network's features
    beside the mixed features of the two ends (CTL, §4.1).

    Args:
        features: (network, part) -> {layer: (samples, width)} of a part of the images, in depth order, logits last.
        state_i, state_j: weights of the two ends; α is the weight of the first.
        alphas: where on the line is measured.
        parts: the images in parts, such as `x.split(2000)`, so that their features in float64 stay in the cache. Left
            out, `features` is called once a network, with None.
        network: (interpolated weights, alpha) -> what `features` is given of them: a module that holds them, or one
            whose BatchNorm statistics were estimated anew. Left out, the weights themselves.
        ends: what `features` is given of the two ends. Left out, `network` of their weights, at α = 1 and 0.
        also: (network, logits (samples, classes), alpha) -> further numbers of the network there, as `on_grid` joins
            them.
        summary: {"gap" or "coef" or "own": (samples,)} -> what is kept of them: `summaries`, or `means`.

    Returns:
        A Dataset with gap_*, coef_* (alpha, layer) and own_* (layer), as `summary` names them, distance (‖θ_i − θ_j‖),
        and over alpha what `also` gives.

    Raises:
        ValueError: the networks do not have the same layers, or their weights not the same keys and shapes.
    """
    parts = list(parts)
    ends = ends or (network(state_i, 1.0), network(state_j, 0.0))
    features_i, features_j = ([{layer: values.double() for layer, values in features(end, part).items()}
                               for part in parts] for end in ends)
    rows, others = [], []
    for alpha in alphas:
        between = network(interpolate(state_i, state_j, alpha), alpha)
        measured, logits = [], []
        for part, of_i, of_j in zip(parts, features_i, features_j):
            of_part = features(between, part)
            measured.append(ctl(of_part, of_i, of_j, alpha))
            logits.append(list(of_part.values())[-1])
        rows += map(summary, _joined(measured))
        others.append(also(between, torch.cat(logits), alpha))
    own = [{layer: {"own": own_distance(of_i[layer], of_j[layer])} for layer in of_i}
           for of_i, of_j in zip(features_i, features_j)]
    layers = list(own[0])
    lines = on_grid(rows, alpha=alphas, layer=layers).merge(on_grid(list(map(summary, _joined(own))), layer=layers))
    return lines.merge(on_grid(others, alpha=alphas)).assign(distance=norm(subtract(state_i, state_j)))


def _joined(parts):
    """For every layer {quantity: (samples,)} of all parts together, of one {layer: {quantity: (samples,)}} a part."""
    for layer, quantities in parts[0].items():
        yield {name: torch.cat([part[layer][name] for part in parts]) for name in quantities}
