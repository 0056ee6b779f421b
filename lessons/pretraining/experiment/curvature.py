"""Theorem 1 of CTL measured: both of its sides, for two networks and for sixty pairs, in "quick" thirty (CTL, §5 and B.2).

`run` trains (through the zoo), measures, and returns one xarray Dataset.
"""
import itertools
from dataclasses import asdict

import numpy as np
import torch
import torch.nn.functional as F
import xarray

import data
from lessons.averaging.algorithms import regression
from lessons.linearity.experiment import mlp as chapter_1
from lessons.pretraining.algorithms import curvature
from lessons.pretraining.experiment import line
from lessons.pretraining.experiment.line import ANGLES, PROFILES
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import Recipe, training, weights, zoo

ANGLE, FINETUNE_IMAGES = 45.0, 3000
CHECKPOINTS = ((5000, 6, 0.1), (2000, 10, 0.1), (10_000, 2, 0.1), (10_000, 4, 0.05), (2000, 30, 0.1))  # images, passes, learning rate; chapter 1's comes before them
HOW_MANY = Profiles(quick=3, full=6)  # checkpoints, the first of these
FINETUNINGS = ((0.005, 2, 16), (0.01, 1, 16), (0.01, 4, 64), (0.02, 3, 32), (0.04, 2, 64))  # learning rate, passes, batch size: below 2/λmax, where SGD does not swing
SCALES = tuple(2.0 ** -k for k in range(11))
SHARPNESS = 20.0  # of the smooth stand-in for the ReLU
FUNCTIONS = ("loss", "loss, smooth", "logit", "logit, smooth")
PAIRS = list(itertools.combinations(range(len(FINETUNINGS)), 2))  # of every checkpoint's finetunings


def recipes(profile: str = "quick", seed: int = 0) -> list[list[Recipe]]:
    """For every checkpoint, its recipe and those of its five finetunings on the first 3,000 digits turned by 45°. The first checkpoint is chapter 1's."""
    first = line.common(seed)[0.0]
    starts = [first] + [Recipe.on("rotated_mnist", chapter_1.ARCHITECTURE, options={"angle": 0.0, "size": size}, lr=lr, epochs=epochs, batch_size=64, seed=seed + 70_000 + number)
                        for number, (size, epochs, lr) in enumerate(CHECKPOINTS[:HOW_MANY[profile] - 1])]
    return [[start] + [start.finetune(options={"angle": ANGLE, "size": FINETUNE_IMAGES}, lr=lr, epochs=epochs, batch_size=batch, seed=seed + 71_000 + 100 * number + i)
                       for i, (lr, epochs, batch) in enumerate(FINETUNINGS)] for number, start in enumerate(starts)]


def all_recipes(profile: str = "quick", seed: int = 0) -> list[Recipe]:
    """All checkpoints, their finetunings, and chapter 1's two networks, in the order in which they are trained."""
    made = recipes(profile, seed)
    return [one[0] for one in made] + [recipe for one in made for recipe in one[1:]] + [line.common(seed)[angle] for angle in ANGLES]


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure.

    Returns:
        A Dataset with
        checkpoint, distance_squared, largest, deviation, at_start, half_way (pairs: 10 a checkpoint): for f the loss on the finetuning images and α = ½: ‖θ_i − θ_j‖²,
        λmax at the checkpoint, the signed deviation, and α(1 − α)/2·dᵀHd with the Hessian at the checkpoint and half-way between the two;
        start_loss (which): f at every checkpoint; name (which);
        scaled_deviation, scaled_second, scaled_bound (function: 4, scale: 11): the three for the two networks that learned 45° and 90°, brought closer
        to their checkpoint, θ_0 + s·(θ − θ_0); for the loss and for the mean logit of the right class, as they are and with a smooth ReLU;
        function_largest (function): λmax; function_along (function): dᵀHd/‖d‖² between the two; length: ‖θ_i − θ_j‖.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    source = data.source("rotated_mnist", angle=ANGLE)
    ingredients = {"settings": asdict(settings), "recipes": [recipe.key for recipe in all_recipes(profile, seed)]}
    return cached("curvature", ingredients, lambda: measure(profile, seed, device).assign_attrs(
        source=source.text.split(",")[0], source_kind=source.kind, dataset="MNIST", network="MLP 784–100–100–100–10", profile=profile, seed=seed))


@training.one_thread()
def measure(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    settings = PROFILES[profile]
    zoo.get_all(all_recipes(profile, seed), device)
    return _pairs(profile, seed, device).merge(_scaled(profile, seed, device)).assign_attrs(images=f"{2 * settings.train_images:,} training images")


def _pairs(profile, seed, device):
    settings = PROFILES[profile]
    x, y = line.train_images(ANGLE, 2 * settings.train_images)
    rows, starts = [], []
    for number, wanted in enumerate(recipes(profile, seed)):
        start, *finetuned = zoo.get_all(wanted, device)
        f, theta_0 = curvature.of_network(start, curvature.cross_entropy(y), x)
        largest = curvature.spectrum(f, theta_0, tolerance=0.01).norm
        starts.append(f(theta_0).item())
        ends = [weights.flatten(network.state_dict()) for network in finetuned]
        bent = [curvature.hessian_vector_product(f, theta_0, end - theta_0) for end in ends]  # H is linear: five products serve ten pairs
        for i, j in PAIRS:
            apart, middle = ends[i] - ends[j], weights.mix(ends[i], ends[j], 0.5)
            rows.append((number, torch.dot(apart, apart).item(), largest, curvature.deviation(f, ends[i], ends[j], 0.5),
                         torch.dot(apart, bent[i] - bent[j]).item() / 8, curvature.second_order(f, middle, ends[i], ends[j], 0.5)))
    names = ("checkpoint", "distance_squared", "largest", "deviation", "at_start", "half_way")
    said = ["one pass over all images"] + [f"{epochs} passes over {size:,} images, lr {lr:g}" for size, epochs, lr in CHECKPOINTS[:len(starts) - 1]]
    return xarray.Dataset({name: ("pairs", np.array(column)) for name, column in zip(names, zip(*rows))} | {"start_loss": ("which", starts), "name": ("which", said)})


def smooth_forward(theta: torch.Tensor, like: dict, x: torch.Tensor) -> torch.Tensor:
    """The output (samples, classes) of the MLP with the weights θ and softplus(20·h)/20 in place of every ReLU: within 0.035 of it, and smooth."""
    state, h = weights.unflatten(theta, like), x.flatten(1)
    for layer in range(len(state) // 2):
        h = F.linear(h, state[f"layers.{layer}.weight"], state[f"layers.{layer}.bias"])
        h = F.softplus(h, beta=SHARPNESS) if layer < len(state) // 2 - 1 else h
    return h


def functions(network, x: torch.Tensor, y: torch.Tensor) -> dict[str, curvature.Function]:
    """{name in FUNCTIONS: θ ↦ a number}: the mean loss and the mean logit of the right class, of the network and of its smooth stand-in."""
    state = network.state_dict()
    measures = {"loss": curvature.cross_entropy(y), "logit": lambda logits: logits.gather(1, y[:, None]).mean()}
    found = {}
    for name, measure_ in measures.items():
        found[name] = curvature.of_network(network, measure_, x)[0]
        found[f"{name}, smooth"] = lambda theta, measure_=measure_: measure_(smooth_forward(theta, state, x))
    return {name: found[name] for name in FUNCTIONS}


def _scaled(profile, seed, device):
    """Theorem 1 for two networks brought ever closer to their checkpoint; in float64, since δ falls with the square of the scale."""
    settings = PROFILES[profile]
    start, *finetuned = (network.double() for network in zoo.get_all(list(line.common(seed).values()), device))
    x, y = line.of_both(line.train_images, settings.train_images)
    theta_0, theta_i, theta_j = (weights.flatten(network.state_dict()) for network in (start, *finetuned))
    apart, values, largest, along = theta_i - theta_j, [], [], []
    for f in functions(start, x.double(), y).values():
        largest.append(curvature.spectrum(f, theta_0, tolerance=0.01).norm)
        along.append(curvature.curvature_along(f, theta_0, apart))
        second = along[-1] * torch.dot(apart, apart).item() / 8
        values.append([(curvature.deviation(f, theta_0 + s * (theta_i - theta_0), theta_0 + s * (theta_j - theta_0), 0.5), s ** 2 * second,
                        s ** 2 * curvature.bound(largest[-1], theta_i, theta_j, 0.5)) for s in SCALES])
    names = ("scaled_deviation", "scaled_second", "scaled_bound")
    return xarray.Dataset({name: (("function", "scale"), column) for name, column in zip(names, np.moveaxis(np.array(values), -1, 0))} |
                          {"function_largest": ("function", largest), "function_along": ("function", along), "length": apart.norm().item()},
                          coords={"function": list(FUNCTIONS), "scale": list(SCALES)})


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind CTL-16 and CTL-17, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"CTL-16": claim_16(sweep), "CTL-17": claim_17(sweep)}


def theorem(sweep: xarray.Dataset, function: str) -> dict[str, float]:
    """Both sides of Theorem 1 for one f: bound over δ, second-order term over the signed deviation at scales 1 and 1/64, curvature along the line over λmax, and the powers of the
    scale with which δ and what the second order misses fall."""
    here = sweep.sel(function=function)
    ratio = here.scaled_second / here.scaled_deviation
    return {"slack": (here.scaled_bound / np.abs(here.scaled_deviation)).sel(scale=1).item(), "second": ratio.sel(scale=1).item(), "second_near": ratio.isel(scale=NEAR).item(),
            "along": (np.abs(here.function_along) / here.function_largest).item(), "deviation_slope": slope(np.abs(here.scaled_deviation)),
            "rest_slope": slope(np.abs(here.scaled_deviation - here.scaled_second))}


def claim_16(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-16: whether the bound holds and by how much, and whether the second order is all there is close to the checkpoint (scale 1/32 and less)."""
    slack = 0.125 * sweep.largest * sweep.distance_squared / np.abs(sweep.deviation)
    off = np.abs(sweep.scaled_deviation / sweep.scaled_second - 1).isel(scale=slice(NEAR - 1, None))
    return {"pairs_within_bound": (slack >= 1).mean().item(), "scaled_within_bound": float((np.abs(sweep.scaled_deviation) <= sweep.scaled_bound).mean()),
            "pairs_log_slack": float(np.log10(slack).median()), "loss_log_slack": float(np.log10(theorem(sweep, "loss")["slack"])), "logit_log_slack": float(np.log10(theorem(sweep, "logit")["slack"])),
            "along_over_largest_most": max(theorem(sweep, function)["along"] for function in FUNCTIONS),
            "smooth_near_right": (off.sel(function=[name for name in FUNCTIONS if "smooth" in name]) < 0.1).mean().item(),
            "relu_near_right": (off.sel(function=["loss", "logit"]) < 0.1).mean().item(),
            "start_over_deviation": (sweep.at_start / sweep.deviation).median().item(), "half_way_over_deviation": (sweep.half_way / sweep.deviation).median().item()}


NEAR = 6  # the scale 1/64


def slope(values: xarray.DataArray) -> float:
    """The exponent of the scale with which values fall: the slope between scales ¼ and 1/64 of their logarithms."""
    near, far = values.isel(scale=NEAR).item(), values.isel(scale=2).item()
    return float(np.log2(far / near) / (NEAR - 2))


def claim_17(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-17: R² of δ over all pairs on the product, on λmax, on the squared distance, and on the curvature along the line; within a checkpoint; in "full" the number of pairs."""
    pooled, within = r2(sweep), r2_within(sweep)
    return {f"{name}_r2": value for name, value in pooled.items()} | {f"within_{name}_r2": value for name, value in within.items()} | {
        "product_over_distance": pooled["product"] - pooled["distance"], "largest_spread": (sweep.largest.max() / sweep.largest.min()).item()} | ({"pairs": float(sweep.sizes["pairs"])} if sweep.sizes["which"] == HOW_MANY["full"] else {})


def predictors(sweep: xarray.Dataset) -> dict[str, np.ndarray]:
    """{name: (pairs,)}: what δ is predicted from."""
    return {"product": 0.125 * (sweep.largest * sweep.distance_squared).values, "largest": sweep.largest.values, "distance": sweep.distance_squared.values,
            "at_start": np.abs(sweep.at_start.values), "half_way": np.abs(sweep.half_way.values)}


def r2(sweep: xarray.Dataset) -> dict[str, float]:
    """R² of the regression of δ on every predictor, over all pairs."""
    return {name: regression(values, np.abs(sweep.deviation.values))["r2"] for name, values in predictors(sweep).items()}


def r2_within(sweep: xarray.Dataset) -> dict[str, float]:
    """The same inside one checkpoint, mean over the checkpoints. λmax is one number there, so it explains nothing, and the product is the distance."""
    delta, checkpoint = np.abs(sweep.deviation.values), sweep.checkpoint.values
    return {name: float(np.mean([regression(values[checkpoint == c], delta[checkpoint == c])["r2"] for c in np.unique(checkpoint)]))
            for name, values in predictors(sweep).items() if name not in ("product", "largest")}
