"""The mathematics of the chapter: averages of many networks, what they have to do with ensembles, and soups.

Shares are the weights of a convex combination: none negative, summing to 1; where they are left out they are equal.
"""
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Float64
from torch import Tensor
from torch.linalg import vecdot

from lessons.linearity.algorithms import Numbers, coef, cosine, with_counters
from toy_models import MLP, weights


def average(states: Sequence[weights.State], shares: Sequence[float]) -> weights.State:
    """Σ shares_i · states_i of state dicts whose counters may have any name; they are the first's (exercise 3.1)."""
    return with_counters(lambda floats: weights.average(floats, shares), states)


def ensemble(logits: Float[Tensor, "models samples classes"],
             shares: Float[Tensor, " models"] | None = None) -> Float[Tensor, "samples classes"]:
    """The logits ensemble: Σ shares_i · f(θ_i), the models' outputs averaged before anything is decided (CTL, §4.2).

    Args:
        shares: None for equal ones.
    """
    return logits.mean(0) if shares is None else torch.einsum("k,ksc->sc", shares.to(logits.dtype), logits)


def first_layer_of_average(before: Float[Tensor, "models samples units"]) -> Float[Tensor, "samples units"]:
    """The first layer's features of the network with averaged weights, from what the single networks computed before
    their ReLU.

    W·x + b is linear in (W, b), so averaging it is the same as averaging the weights; the ReLU comes after.

    Args:
        before: W₁x + b₁ of every network.
    """
    return F.relu(before.mean(0))


class Family:
    """MLPs of one shape, all looked at on the same images. What does not depend on a choice of them is computed once.

    Args:
        states: the networks' state dicts.
        x: images (samples, …).
        outputs_alone: whether of the single networks' features only those of the output layer are kept, which take a
            thirtieth of the memory of all.

    Attributes:
        features: {layer: (models, samples, width)} of the single networks, of all layers or of the output layer.
        before: (models, samples, units), their W₁x + b₁.
    """

    def __init__(self, states: Sequence[dict[str, Tensor]], x: Float[Tensor, "samples ..."],
                 outputs_alone: bool = False):
        layers = range(len(states[0]) // 2)
        self._weights = [torch.stack([state[f"layers.{i}.weight"] for state in states]) for i in layers]
        self._biases = [torch.stack([state[f"layers.{i}.bias"] for state in states]) for i in layers]
        first = zip(self._weights[0], self._biases[0])
        self.before = torch.stack([F.linear(x.flatten(1), weight, bias) for weight, bias in first])
        self._layers = list(MLP.from_state(states[0]).features(x[:1]))
        layers_to_keep = ["output"] if outputs_alone else self._layers
        of_networks = (MLP.from_state(state).features(x) for state in states)
        single = [{layer: features[layer] for layer in layers_to_keep} for features in of_networks]
        self.features = {layer: torch.stack([features[layer] for features in single]) for layer in layers_to_keep}

    def average(self, chosen: Sequence[int], shares: Tensor | None = None) -> dict[str, Float[Tensor, "samples width"]]:
        """{layer: features} of the network with the averaged weights of the chosen ones.

        Exact: the first layer's W·x + b is the average of the stored ones (`first_layer_of_average`), which saves four
        fifths of the arithmetic for images of 784 pixels and layers of 100 units; from the second layer on the weights
        are averaged and applied.
        """
        chosen = list(chosen)
        average = {}
        h = _mean(self.before, chosen, shares)
        for i, layer in enumerate(self._layers):
            if i:
                h = F.linear(h, _mean(self._weights[i], chosen, shares), _mean(self._biases[i], chosen, shares))
            h = average[layer] = h if layer == "output" else F.relu(h)
        return average

    def ensemble(self, chosen: Sequence[int], shares: Tensor | None = None) -> Float[Tensor, "samples classes"]:
        """The logits ensemble of the chosen networks, from the stored outputs."""
        return _mean(self.features["output"], list(chosen), shares)


def _mean(stacked, chosen, shares):
    if shares is None:
        shares = torch.full((len(chosen),), 1 / len(chosen))
    result = stacked[chosen[0]] * float(shares[0])
    for index, share in zip(chosen[1:], shares[1:]):  # no copy of the chosen ones is made
        result.add_(stacked[index], alpha=float(share))
    return result


# -- Eq. 1 -----------------------------------------------------------------------------------------

def cosine_avg(average: Float[Tensor, "samples width"],
               features: Float[Tensor, "models samples width"]) -> Float64[Tensor, " samples"]:
    """The cosine between the averaged network's features and the average of the features, sample by sample (CTL, Eq. 1,
    §4.2).

    Args:
        average: features of the network with averaged weights.
        features: of the single networks.
    """
    return cosine(average, features.double().mean(0))


def cosine_base(average: Float[Tensor, "samples width"],
                features: Float[Tensor, "models samples width"]) -> Float64[Tensor, " samples"]:
    """The baseline: the cosine between the averaged network's features and those of a single one, averaged over these
    (CTL, §4.2).

    Arguments as for `cosine_avg`.
    """
    return torch.stack([cosine(average, single) for single in features]).mean(0)


def along_an_order(family: Family, order: Sequence[int]):
    """Yield (k, {layer: {"gap", "base", "coef"}}) for the first 2, 3, … networks of an order: 1 − `cosine_avg`,
    1 − `cosine_base`, coef.

    Both averages over models are sums, so each step adds one network to the sums of the step before: Σ f_i for the
    average of features, and Σ f_i/‖f_i‖ for the baseline, which is ⟨f, Σ f_i/‖f_i‖⟩/(k·‖f‖).
    """
    shapes = {layer: feature[0].shape for layer, feature in family.features.items()}
    totals = {layer: torch.zeros(shape, dtype=torch.float64) for layer, shape in shapes.items()}
    directions = {layer: torch.zeros(shape, dtype=torch.float64) for layer, shape in shapes.items()}
    for k, model in enumerate(order, 1):
        for layer, feature in family.features.items():
            of_model = feature[model].double()
            totals[layer].add_(of_model)
            directions[layer].add_(of_model / of_model.norm(dim=1, keepdim=True))
        if k == 1:
            continue
        quantities = {}
        for layer, feature in family.average(order[:k]).items():
            average = feature.double()
            gap = 1 - cosine(average, totals[layer])
            base = 1 - vecdot(average, directions[layer]) / (k * average.norm(dim=1))
            quantities[layer] = {"gap": gap, "base": base, "coef": coef(average, totals[layer] / k)}
        yield k, quantities


# -- Lemma 2 ---------------------------------------------------------------------------------------

def predicted_from_pairs(halfway: Float[Tensor, "k k ..."], shares: Float[Tensor, " k"]) -> Float[Tensor, "..."]:
    """What the deviations half-way between pairs say about any mix: Σ_{i<j} 4·α_i·α_j·m_ij, exact where f is quadratic.

    The deviation of a mix is f(Σ α_i θ_i) − Σ α_i f(θ_i). Expanded around the mix, its first-order terms cancel and the
    second-order ones are −½ Σ_{i<j} α_i α_j (θ_i − θ_j)ᵀ∇²f (θ_i − θ_j). Half-way between two models α_i·α_j is ¼,
    hence the 4.

    Args:
        halfway: m_ij, the deviation half-way between models i and j, symmetric.
        shares: α.
    """
    k = len(shares)
    return sum(4 * shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(i + 1, k))


def sleeping_unit() -> list[dict[str, Tensor]]:
    """Three networks, MLP((1, 3, 1, 1)) for the input x = 1, against Lemma 2: every pair satisfies CTL exactly, the
    three together do not.

    In the mix α the first layer holds α itself, and the second layer's unit is given 1 − 2·Σ α_i². Between two models
    that is −(2α − 1)², never positive: the unit sleeps. In the middle of the three it is ⅓: it wakes.
    """
    return [{
        "layers.0.weight": unit[:, None], "layers.0.bias": torch.zeros(3),
        "layers.1.weight": (1 - 2 * unit)[None], "layers.1.bias": torch.zeros(1),
        "layers.2.weight": torch.ones(1, 1), "layers.2.bias": torch.zeros(1),
    } for unit in torch.eye(3)]


def deviation(states: Sequence[dict[str, Tensor]], shares: Numbers,
              x: Float[Tensor, "samples ..."]) -> dict[str, Float[Tensor, "samples width"]]:
    """{layer: f(Σ α_i θ_i) − Σ α_i f(θ_i)} of MLPs, computed without any short cut."""
    single = [MLP.from_state(state).features(x) for state in states]
    mixed = MLP.from_state(weights.average(states, shares)).features(x)
    mean = {layer: sum(share * features[layer] for share, features in zip(shares, single)) for layer in mixed}
    return {layer: mixed[layer] - mean[layer] for layer in mixed}


# -- correlation -----------------------------------------------------------------------------------

def regression(x: Float[np.ndarray, " points"], y: Float[np.ndarray, " points"]) -> dict[str, float]:
    """The least-squares line y ≈ slope·x + intercept, and r2, the share of y's variance that it explains.

    Raises:
        ValueError: x or y is constant, or there are fewer than three points.
    """
    if len(x) < 3 or np.std(x) == 0 or np.std(y) == 0:
        raise ValueError("a regression line needs at least three points that differ in x and in y")
    slope, intercept = np.polyfit(x, y, 1)
    return {"slope": float(slope), "intercept": float(intercept), "r2": float(np.corrcoef(x, y)[0, 1] ** 2)}


def without(y: Float[np.ndarray, " points"], known: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    """What is left of y when the best linear prediction from `known` is taken away: the residuals of that regression.
    """
    line = regression(known, y)
    return y - line["slope"] * known - line["intercept"]


def remains(y: Float[np.ndarray, " points"], known: Float[np.ndarray, "points numbers"]
            ) -> Float[np.ndarray, " points"]:
    """As `without`, when several numbers are known of every point."""
    known = (known - known.mean(0)) / known.std(0)  # squares beside what they are squares of need good conditions
    inputs = np.column_stack([np.ones(len(y)), known])
    return y - inputs @ np.linalg.lstsq(inputs, y, rcond=None)[0]


def paired(a: Bool[np.ndarray, " images"], b: Bool[np.ndarray, " images"]) -> tuple[float, float]:
    """By how much the first network is more accurate than the second, and the standard error of that.

    Both were asked about the same images. Where they agree nothing is added to the error: only the images count that
    one of them reads right and the other wrong.

    Args:
        a, b: which images each of them reads right.
    """
    difference = a.astype(float) - b.astype(float)
    return float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))


# -- soups -----------------------------------------------------------------------------------------

def greedy_soup(held_out: Sequence[float], accuracy_of: Callable[[list[int]], float]) -> list[int]:
    """Which models a greedy soup takes (Wortsman et al. 2022, recipe 1).

    The models are tried from the best on; one is added if the average with it is at least as accurate as the soup so
    far.

    Args:
        held_out: accuracy of every model on held-out data.
        accuracy_of: (models) -> accuracy of the average of these models, on the same held-out data.

    Returns:
        The models taken, in the order in which they were.
    """
    first, *others = sorted(range(len(held_out)), key=lambda model: -held_out[model])
    soup = [first]
    best = held_out[first]
    for model in others:
        accuracy = accuracy_of([*soup, model])
        if accuracy >= best:
            soup = [*soup, model]
            best = accuracy
    return soup
