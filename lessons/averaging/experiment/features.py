"""Are the features of an average the average of the features, for 2 to 20 models? (CTL, Eq. 1, Figures 5, 6, 17, 18)"""
import torch
import xarray

from lessons.averaging import algorithms
from lessons.averaging.algorithms import Family
from lessons.averaging.experiment.accuracy import AT_ONCE
from lessons.averaging.experiment.models import TWENTY
from lessons.kit.sweep import on_grid, summarise

MODELS = range(2, len(TWENTY) + 1)


def measure(states: list[dict], x: torch.Tensor, orders: int, seed: int) -> xarray.Dataset:
    """`algorithms.along_an_order` for several random orders, part by part of the images, described over all of them
    together: gap_*, base_*, coef_*."""
    generator = torch.Generator().manual_seed(seed)
    families = [Family(states, part) for part in x.split(AT_ONCE)]
    values = {}  # (models, layer) -> quantity -> tensors
    for _ in range(orders):
        order = torch.randperm(len(TWENTY), generator=generator).tolist()
        for family in families:
            for k, layers in algorithms.along_an_order(family, order):
                for layer, numbers in layers.items():
                    for name, value in numbers.items():
                        values.setdefault((k, layer), {}).setdefault(name, []).append(value)
    layers = list(families[0].features)
    summaries = []
    for k in MODELS:
        for layer in layers:
            joined = {name: torch.cat(parts) for name, parts in values[k, layer].items()}
            summaries.append(summarise(joined, distributions=["coef"]))
    return on_grid(summaries, models=MODELS, layer=layers)


def claim(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-8: the cosine gap of averages of 2 to 20 models, beside the baseline, and coef."""
    gap = sweep.gap_mean
    base = sweep.base_mean
    coef = sweep.coef_mean
    return {"gap_mean": gap.mean().item(),
            "gap_most": gap.max().item(),
            "base_least": base.min().item(),
            "base_most": base.max().item(),
            "gap_over_base_most": (gap / base).max().item(),
            "coef_least": coef.min().item(),
            "coef_most": coef.max().item()}
