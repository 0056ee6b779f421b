"""What do pairs say about mixes of many models? (CTL, Lemma 2)"""
import itertools
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from torch import Tensor

from lessons.averaging import algorithms
from lessons.averaging.algorithms import Family
from lessons.averaging.experiment.features import MODELS
from lessons.averaging.experiment.models import TWENTY
from lessons.averaging.experiment.triples import PAIRS

KINDS = ("equal", "random")  # of shares


@dataclass(frozen=True)
class Mix:
    """Some of the twenty models, and their shares."""
    kind: str
    chosen: list[int]
    shares: Tensor


def measure(states: list[dict], x: Tensor, draws: int, seed: int) -> xarray.Dataset:
    """How far mixes of k models deviate from the mixed features, beside what the 190 half-way deviations predict:
    deviation, predicted, agreement, pair_deviation."""
    family = Family(states, x)
    layers = list(family.features)
    halfway = _Halfway(family)
    generator = torch.Generator().manual_seed(seed)
    sampler = np.random.default_rng(seed)
    orders = [torch.randperm(len(TWENTY), generator=generator).tolist() for _ in range(draws)]
    means = np.zeros((3, len(KINDS), len(MODELS), len(layers)))
    for order in orders:
        mixes = _mixes(order, sampler)
        predictions = halfway.predictions(mixes)
        for row, mix in enumerate(mixes):
            deviation, mixed = _deviation(family, mix)
            kind = KINDS.index(mix.kind)
            models = MODELS.index(len(mix.chosen))
            for place, layer in enumerate(layers):
                numbers = _compared(deviation[layer], predictions[layer][row], mixed[layer])
                means[:, kind, models, place] += numbers / draws
    variables = {"pair_deviation": ("layer", halfway.length)}
    for name, values in zip(("deviation", "predicted", "agreement"), means):
        variables[name] = ("kind", "models", "layer"), values
    return xarray.Dataset(variables, coords={"kind": list(KINDS), "models": list(MODELS), "layer": layers})


def _mixes(order, sampler):
    """For every k the first k models of an order, with equal and with random shares."""
    mixes = []
    for k in MODELS:
        random = torch.tensor(sampler.dirichlet(np.ones(k)), dtype=torch.float32)
        mixes.append(Mix("equal", order[:k], torch.full((k,), 1 / k)))
        mixes.append(Mix("random", order[:k], random))
    return mixes


class _Halfway:
    """The deviations half-way between the models of every pair, on all images.

    Attributes:
        deviations: {layer: (pair, samples, width)}.
        length: (layer,), in units of the mixed features' length, mean over the pairs.
    """

    def __init__(self, family):
        self.deviations = {}
        for layer, features in family.features.items():
            self.deviations[layer] = torch.empty(len(PAIRS), *features[0].shape)
        self.length = np.zeros(len(self.deviations))
        for row, pair in enumerate(PAIRS):
            deviation, mixed = _deviation(family, Mix("equal", list(pair), torch.tensor([0.5, 0.5])))
            for place, (layer, of_layer) in enumerate(self.deviations.items()):
                of_layer[row] = deviation[layer]
                self.length[place] += (deviation[layer].norm() / mixed[layer].norm()).item() / len(PAIRS)

    def predictions(self, mixes):
        """{layer: (mix, samples, width)}: `algorithms.predicted_from_pairs` for many mixes at once."""
        shares = torch.zeros(len(mixes), len(TWENTY))
        for row, mix in enumerate(mixes):
            shares[row, mix.chosen] = mix.shares
        first, second = torch.tensor(PAIRS).T
        products = 4 * shares[:, first] * shares[:, second]
        return {layer: torch.tensordot(products, deviations, 1) for layer, deviations in self.deviations.items()}


def _deviation(family, mix):
    """({layer: f(mix) − mixed features}, {layer: mixed features})."""
    average = family.average(mix.chosen, mix.shares)
    mixed = {}
    for layer, features in family.features.items():
        mixed[layer] = torch.einsum("k,ksw->sw", mix.shares, features[mix.chosen])
    return {layer: average[layer] - mixed[layer] for layer in mixed}, mixed


def _compared(deviation, prediction, mixed):
    """Length of a deviation and of its prediction, in units of the mixed features' length, and the cosine of both."""
    deviation = deviation.flatten()
    prediction = prediction.flatten()
    unit = mixed.norm()
    cosine = torch.dot(deviation, prediction) / (deviation.norm() * prediction.norm())
    return np.array([deviation.norm() / unit, prediction.norm() / unit, cosine])


def claim(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-9: the counterexample, and how the deviation grows with the number of models."""
    growth = sweep.deviation / sweep.pair_deviation
    equal = growth.sel(kind="equal")
    more = sweep.sel(models=slice(3, None))
    share = more.predicted / more.deviation
    return {**lemma_2_fails(),
            "growth_most": growth.max().item(),
            "growth_at_10": equal.sel(models=10).mean().item(),
            "growth_at_20": equal.sel(models=20).mean().item(),
            "agreement_least": more.agreement.min().item(),
            "predicted_share_least": share.min().item(),
            "predicted_share_most": share.max().item()}


def lemma_2_fails(steps: int = 21) -> dict[str, float]:
    """`algorithms.sleeping_unit` against Lemma 2.

    Returns:
        pairs_deviate: the largest deviation from CTL of any pair, in any layer, at any α; three_deviate: the largest,
        over the layers, in the middle of the three.
    """
    states = algorithms.sleeping_unit()

    def largest(chosen, shares):
        deviations = algorithms.deviation([states[i] for i in chosen], shares, torch.ones(1, 1))
        return max(value.abs().max().item() for value in deviations.values())

    pairs = []
    for pair in itertools.combinations(range(3), 2):
        pairs += [largest(pair, [alpha, 1 - alpha]) for alpha in np.linspace(0, 1, steps)]
    return {"pairs_deviate": max(pairs), "three_deviate": largest(range(3), [1 / 3] * 3)}
