"""Theorem 1 of CTL measured: both of its sides, for two networks and for eighty pairs, in "quick" forty (CTL, §5 and
B.2).

`run` trains (through the zoo), measures, and returns one xarray Dataset.
"""
import itertools
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

from lessons import cast
from lessons.averaging.algorithms import regression
from lessons.kit.experiment import Experiment, Numbers
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid
from lessons.pretraining.algorithms import curvature
from lessons.pretraining.algorithms.predicting import interval, r2_draws
from lessons.pretraining.experiment import labels, line
from toy_models import Recipe, weights, zoo
from toy_models.weights import State

ANGLE = 45.0
FINETUNE_IMAGES = 3000
# those of `labels` that come first: their λmax are hundreds of times apart
LABELLED = {labels.NORMAL: "one pass over all images", labels.NOTHING: "none: random weights",
            labels.fraction_name(0): "300 images by heart", labels.fraction_name(1): "300 random labels by heart"}
# images, passes, learning rate, batch size, share of shuffled labels
CHECKPOINTS = ((300, 30, 0.05, 16, 1.0), (2000, 10, 0.1, 64, 0.0), (10_000, 4, 0.05, 64, 0.0),
               (1000, 40, 0.1, 64, 0.0))
# learning rate, passes, batch size
FINETUNINGS = ((0.005, 2, 16), (0.01, 1, 16), (0.01, 4, 64), (0.02, 3, 32), (0.04, 2, 64))
PAIRS = list(itertools.combinations(range(len(FINETUNINGS)), 2))  # of every checkpoint's finetunings
SCALES = tuple(2.0 ** -k for k in range(11))
NEAR = 6  # the scale 1/64
CLOSE = slice(5, 8)  # the scales 1/32, 1/64 and 1/128
SHARPNESS = 20.0  # of the smooth stand-in for the ReLU
FUNCTIONS = ("loss", "loss, smooth", "logit", "logit, smooth")


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    train_images: int  # of each of the two tasks, on which f is the mean; twice as many where there is one
    checkpoints: int  # those of `LABELLED`, and so many less four of `CHECKPOINTS`


PROFILES = Profiles(quick=Settings(train_images=500, checkpoints=4), full=Settings(train_images=1000, checkpoints=8))


# -- models ----------------------------------------------------------------------------------------

def recipes(checkpoints: int = 4, seed: int = 0) -> list[list[Recipe]]:
    """For every checkpoint, its recipe and those of its five finetunings on the first 3,000 digits turned by 45°. The
    first is chapter 1's, the second has learned nothing, the next two have learned 300 images by heart.
    """
    made = labels.start_recipes(seed)
    starts = [made[name] for name in LABELLED]
    for number, (size, epochs, lr, batch_size, shuffled) in enumerate(CHECKPOINTS[:checkpoints - len(LABELLED)]):
        options = {"angle": 0.0, "size": size} | ({"shuffled": shuffled} if shuffled else {})
        starts.append(Recipe.on(line.DATASET, cast.MLP_100, options=options, lr=lr, epochs=epochs,
                                batch_size=batch_size, seed=seed + 70_000 + number))
    task = {"angle": ANGLE, "size": FINETUNE_IMAGES}
    families = []
    for number, start in enumerate(starts):
        finetuned = [start.finetune(options=task, lr=lr, epochs=epochs, batch_size=batch_size,
                                    seed=seed + 71_000 + 100 * number + i)
                     for i, (lr, epochs, batch_size) in enumerate(FINETUNINGS)]
        families.append([start, *finetuned])
    return families


def all_recipes(checkpoints: int = 4, seed: int = 0) -> list[Recipe]:
    """All checkpoints, their finetunings, and chapter 1's two networks, in the order in which they are trained."""
    made = recipes(checkpoints, seed)
    common = line.common(seed)
    starts = [start for start, *_ in made]
    finetuned = [recipe for _, *others in made for recipe in others]
    return [*starts, *finetuned, *(common[angle] for angle in line.ANGLES)]


# -- the measurement -------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Both sides of Theorem 1.

    Returns:
        A Dataset with
        checkpoint, distance_squared, largest, deviation, at_start, half_way (pairs: 10 a checkpoint): for f the loss on
        the finetuning images and α = ½: ‖θ_i − θ_j‖², λmax at the checkpoint, the signed deviation, and α(1 − α)/2·dᵀHd
        with the Hessian at the checkpoint and half-way between the two;
        start_loss (which): f at every checkpoint; name (which);
        scaled_deviation, scaled_second, scaled_bound (function: 4, scale: 11): the three for the two networks that
        learned 45° and 90°, brought closer to their checkpoint, θ_0 + s·(θ − θ_0); for the loss and for the mean logit
        of the right class, as they are and with a smooth ReLU;
        function_largest (function): λmax; function_along (function): dᵀHd/‖d‖² between the two; length: ‖θ_i − θ_j‖.
    """
    zoo.get_all(all_recipes(settings.checkpoints, seed), device)
    sweep = _pairs(settings, seed, device).merge(_scaled(settings, seed, device))
    return sweep.assign_attrs(line.measured_on(f"{2 * settings.train_images:,} training images"))


def _pairs(settings, seed, device):
    x, y = line.train_images(ANGLE, 2 * settings.train_images)
    rows, start_loss = [], []
    for number, wanted in enumerate(recipes(settings.checkpoints, seed)):
        # float64: of two networks that hardly moved δ is smaller than what float32 rounds away
        start, *finetuned = (network.double() for network in zoo.get_all(wanted, device))
        f, theta_0 = curvature.of_network(start, curvature.cross_entropy(y), x.double())
        ends = [weights.flatten(network.state_dict()) for network in finetuned]
        start_loss.append(f(theta_0).item())
        rows += [{"checkpoint": number, **row} for row in _of_checkpoint(f, theta_0, ends)]
    names = list(LABELLED.values())
    for size, epochs, _, _, shuffled in CHECKPOINTS[:settings.checkpoints - len(LABELLED)]:
        names.append(f"{epochs} passes over {size:,} images{', random labels' * (shuffled > 0)}")
    columns = {name: ("pairs", np.array([row[name] for row in rows])) for name in rows[0]}
    return xarray.Dataset(columns | {"start_loss": ("which", start_loss), "name": ("which", names)})


def _of_checkpoint(f, theta_0, ends):
    """A row for each pair of networks that were finetuned from this checkpoint."""
    largest = curvature.spectrum(f, theta_0, tolerance=0.01).norm
    # H is linear: five products serve ten pairs
    bent = [curvature.hessian_vector_product(f, theta_0, end - theta_0) for end in ends]
    rows = []
    for i, j in PAIRS:
        step = ends[i] - ends[j]
        middle = weights.mix(ends[i], ends[j], 0.5)
        rows.append({"distance_squared": torch.dot(step, step).item(),
                     "largest": largest,
                     "deviation": curvature.deviation(f, ends[i], ends[j], 0.5),
                     "at_start": torch.dot(step, bent[i] - bent[j]).item() / 8,
                     "half_way": curvature.second_order(f, middle, ends[i], ends[j], 0.5)})
    return rows


def smooth_forward(theta: Tensor, like: State, x: Tensor) -> Tensor:
    """The output (samples, classes) of the MLP with the weights θ and softplus(20·h)/20 in place of every ReLU: within
    0.035 of it, and smooth."""
    state = weights.unflatten(theta, like)
    h = x.flatten(1)
    last = len(state) // 2 - 1
    for layer in range(last + 1):
        h = F.linear(h, state[f"layers.{layer}.weight"], state[f"layers.{layer}.bias"])
        h = F.softplus(h, beta=SHARPNESS) if layer < last else h
    return h


def functions(network: torch.nn.Module, x: Tensor, y: Tensor) -> dict[str, curvature.Function]:
    """{name in FUNCTIONS: θ ↦ a number}: the mean loss and the mean logit of the right class, of the network and of its
    smooth stand-in."""
    state = network.state_dict()
    loss = curvature.cross_entropy(y)

    def logit(logits):
        return logits.gather(1, y[:, None]).mean()

    return {"loss": curvature.of_network(network, loss, x)[0],
            "loss, smooth": lambda theta: loss(smooth_forward(theta, state, x)),
            "logit": curvature.of_network(network, logit, x)[0],
            "logit, smooth": lambda theta: logit(smooth_forward(theta, state, x))}


def in_hand(images: int, seed: int = 0, device: str = "auto") -> tuple[dict[str, curvature.Function], Tensor, Tensor,
                                                                      Tensor]:
    """({name in FUNCTIONS: θ ↦ a number}, θ_0, θ_i, θ_j) of chapter 1's network and the two that went on from it, on so
    many training images of each of their tasks; in float64, since δ falls with the square of the distance."""
    start, *finetuned = (network.double() for network in zoo.get_all(list(line.common(seed).values()), device))
    x, y = line.of_both(line.train_images, images)
    thetas = (weights.flatten(network.state_dict()) for network in (start, *finetuned))
    return functions(start, x.double(), y), *thetas


def _scaled(settings, seed, device):
    """Theorem 1 for two networks brought ever closer to their checkpoint."""
    of_both, theta_0, theta_i, theta_j = in_hand(settings.train_images, seed, device)
    step = theta_i - theta_j
    of_functions, scaled = [], []
    for f in of_both.values():
        largest = curvature.spectrum(f, theta_0, tolerance=0.01).norm
        along = curvature.curvature_along(f, theta_0, step)
        second = along * torch.dot(step, step).item() / 8
        bound = curvature.bound(largest, theta_i, theta_j, 0.5)
        of_functions.append({"function_largest": largest, "function_along": along})
        for s in SCALES:
            ends = [theta_0 + s * (theta - theta_0) for theta in (theta_i, theta_j)]
            scaled.append({"scaled_deviation": curvature.deviation(f, *ends, 0.5),
                           "scaled_second": s ** 2 * second,
                           "scaled_bound": s ** 2 * bound})
    both = on_grid(scaled, function=FUNCTIONS, scale=SCALES).merge(on_grid(of_functions, function=FUNCTIONS))
    return both.assign(length=step.norm().item())


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> Numbers:
    """The numbers behind CTL-16 and CTL-17, from one sweep. What each means stands in claims.yaml."""
    return {"CTL-16": claim_16(sweep), "CTL-17": claim_17(sweep)}


def theorem(sweep: xarray.Dataset, function: str) -> dict[str, float]:
    """Both sides of Theorem 1 for one f: bound over δ, second-order term over the signed deviation at scales 1 and
    1/64, |curvature along the line| over λmax; the curvature along the line by automatic differentiation at the
    checkpoint, and as it is measured close to it.
    """
    part = sweep.sel(function=function)
    ratio = part.scaled_second / part.scaled_deviation
    return {"slack": (part.scaled_bound / np.abs(part.scaled_deviation)).sel(scale=1).item(),
            "second": ratio.sel(scale=1).item(),
            "second_near": ratio.isel(scale=NEAR).item(),
            "along": (np.abs(part.function_along) / part.function_largest).item(),
            "derived": part.function_along.item(),
            "measured": bending(sweep, function).isel(scale=CLOSE).mean().item()}


def bending(sweep: xarray.Dataset, function: str) -> xarray.DataArray:
    """(scale): 8·δ/‖d‖² with δ's sign, the curvature along the line that a quadratic f with this δ would have; α = ½.
    """
    return 8 * sweep.scaled_deviation.sel(function=function) / (sweep.scale * sweep.length) ** 2


def exponents(values: xarray.DataArray) -> np.ndarray:
    """(scales − 1,): the local powers of the scale with which values fall, log₂(v(s)/v(s/2)); NaN where they change
    sign, which a power cannot do.
    """
    v = values.values
    ratio = v[:-1] / v[1:]
    return np.where(ratio > 0, np.log2(np.abs(ratio)), np.nan)


def claim_16(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-16: whether the bound holds and by how much, and whether the second order is all there is close to the
    checkpoint (scale 1/32 and less)."""
    slack = 0.125 * sweep.largest * sweep.distance_squared / np.abs(sweep.deviation)
    scaled_within = np.abs(sweep.scaled_deviation) <= sweep.scaled_bound
    theorems = {function: theorem(sweep, function) for function in FUNCTIONS}
    off = np.abs(sweep.scaled_deviation / sweep.scaled_second - 1).isel(scale=slice(NEAR - 1, None))
    right = off < 0.1
    smooth = [name for name in FUNCTIONS if "smooth" in name]
    return {"pairs_within_bound": (slack >= 1).mean().item(),
            "scaled_within_bound": float(scaled_within.mean()),
            "pairs_log_slack": float(np.log10(slack).median()),
            "loss_log_slack": float(np.log10(theorems["loss"]["slack"])),
            "logit_log_slack": float(np.log10(theorems["logit"]["slack"])),
            "along_over_largest_most": max(sides["along"] for sides in theorems.values()),
            "smooth_near_right": right.sel(function=smooth).mean().item(),
            "relu_near_right": right.sel(function=["loss", "logit"]).mean().item(),
            "start_over_deviation": (sweep.at_start / sweep.deviation).median().item(),
            "half_way_over_deviation": (sweep.half_way / sweep.deviation).median().item(),
            "half_way_close": close(sweep.half_way, sweep.deviation),
            "start_close": close(sweep.at_start, sweep.deviation),
            "loss_sign_changes": float(np.isnan(exponents(sweep.scaled_deviation.sel(function="loss"))).sum()),
            "loss_derived": theorems["loss"]["derived"],
            "loss_smooth_derived": theorems["loss, smooth"]["derived"],
            "loss_measured": theorems["loss"]["measured"]}


def close(values: xarray.DataArray, measured: xarray.DataArray) -> float:
    """The share of the pairs whose value is the measured one to within a quarter of that."""
    return (np.abs(values / measured - 1) <= 0.25).mean().item()


def claim_17(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-17: R² of δ over all pairs on the product, on λmax, on the squared distance, and on the curvature along the
    line, with the two ends of its interval; within a checkpoint; in "full" the number of pairs."""
    pooled = r2(sweep)
    numbers = {f"{name}_r2": value for name, value in pooled.items()}
    for name, (low, high) in r2_intervals(sweep).items():
        numbers |= {f"{name}_low": low, f"{name}_high": high}
    numbers |= {f"within_{name}_r2": value for name, value in r2_within(sweep).items()}
    numbers["product_over_distance"] = pooled["product"] - pooled["distance"]
    numbers["product_over_half_way"] = pooled["product"] - pooled["half_way"]
    numbers["half_way_over_distance"] = pooled["half_way"] - pooled["distance"]
    numbers["largest_spread"] = (sweep.largest.max() / sweep.largest.min()).item()
    if sweep.sizes["which"] == PROFILES["full"].checkpoints:
        numbers["pairs"] = float(sweep.sizes["pairs"])
    return numbers


def predictors(sweep: xarray.Dataset) -> dict[str, np.ndarray]:
    """{name: (pairs,)}: what δ is predicted from."""
    return {"product": 0.125 * (sweep.largest * sweep.distance_squared).values,
            "largest": sweep.largest.values,
            "distance": sweep.distance_squared.values,
            "at_start": np.abs(sweep.at_start.values),
            "half_way": np.abs(sweep.half_way.values)}


def r2(sweep: xarray.Dataset) -> dict[str, float]:
    """R² of the regression of δ on every predictor, over all pairs."""
    delta = np.abs(sweep.deviation.values)
    return {name: regression(values, delta)["r2"] for name, values in predictors(sweep).items()}


def r2_anew(sweep: xarray.Dataset) -> dict[str, np.ndarray]:
    """{name: (draws,)}: these R² with the checkpoints drawn anew, the same draws for every predictor."""
    delta = np.abs(sweep.deviation.values)
    return {name: r2_draws(values, delta, sweep.checkpoint.values) for name, values in predictors(sweep).items()}


def r2_intervals(sweep: xarray.Dataset) -> dict[str, tuple[float, float]]:
    """{name: where 95 % of them lie}; also of what product and half_way have over distance."""
    anew = r2_anew(sweep)
    differences = {f"{name}_over_distance": anew[name] - anew["distance"] for name in ("product", "half_way")}
    return {name: interval(draws) for name, draws in (anew | differences).items()}


def r2_within(sweep: xarray.Dataset) -> dict[str, float]:
    """The same inside one checkpoint, mean over the checkpoints.

    λmax is one number there, so it explains nothing, and the product is the distance.
    """
    delta = np.abs(sweep.deviation.values)
    inside = [sweep.checkpoint.values == number for number in np.unique(sweep.checkpoint.values)]
    means = {}
    for name, values in predictors(sweep).items():
        if name not in ("product", "largest"):
            means[name] = float(np.mean([regression(values[mine], delta[mine])["r2"] for mine in inside]))
    return means


CURVATURE = Experiment("curvature", measure, PROFILES, line.source, "MNIST",
                       recipes=lambda settings, seed: all_recipes(settings.checkpoints, seed), claims=claims)
LEDGER = (CURVATURE,)
run = CURVATURE.run
