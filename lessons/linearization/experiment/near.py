"""Stay near, and finetuning becomes linear? λ pulls towards θ_0; measured is how far finetuning then goes, and how far
its answers are from the tangent's (LFT-11), on two tasks and by three ways of training."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

import data
from data.types import Source
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearization.algorithms.finetuning import ADAM, SGD, Plan
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.experiment import causes, common, even_odd, lengths, ten
from toy_models import Recipe

LAMS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)  # the source's
EVEN_ODD, FROM_RANDOM = "even or odd", "even or odd, from random weights"
TEN_SGD, TEN_ADAM = "ten digits, SGD", "ten digits, Adam"
SETTINGS = (EVEN_ODD, FROM_RANDOM, TEN_SGD, TEN_ADAM)
STARTS = {EVEN_ODD: common.PRETRAINED, FROM_RANDOM: common.RANDOM}
OPTIMISERS = {TEN_SGD: SGD, TEN_ADAM: ADAM}
POINTS, GAPS = ("test", "train"), ("taylor", "trained")
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of the way to the end of training
EVEN_ODD_ANGLE, TEN_ANGLE = 45.0, 90.0
SHOWN = 80  # test images whose answers are drawn
STILL = 1e-9  # answers that have moved by less have not moved


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    lams: tuple[float, ...]  # λ
    width: int  # of the two inner layers, for "even or odd"
    n: int  # training samples of "even or odd"
    end: float  # ηk at the end of "even or odd"
    images: int  # of the pretraining of "even or odd"
    pretraining: int  # steps of it
    size: int  # training images of the ten digits
    plans: tuple[tuple[str, Plan], ...]  # how each setting of the ten digits is trained
    test: int  # images that are looked at


PROFILES = Profiles(
    quick=Settings(lams=(0.0, 0.5, 2.0, 10.0, 50.0), width=40, n=30, end=0.5, images=1000, pretraining=200, size=1280,
                   plans=((TEN_SGD, Plan(SGD, 0.02, 5)), (TEN_ADAM, Plan(ADAM, 1e-3, 3))), test=600),
    full=Settings(lams=LAMS, width=80, n=50, end=1.0, images=2000, pretraining=300, size=3000,
                  plans=((TEN_SGD, Plan(SGD, 0.02, 10)), (TEN_ADAM, Plan(ADAM, 1e-3, 5))), test=2000))


def source() -> Source:
    """Where the digits come from, without the angles by which tasks turn them."""
    return data.source("rotated_mnist", angle=0.0)


def recipes(settings: Settings, seed: int) -> list[Recipe]:
    """The network of the ten digits; the others are trained in the experiment."""
    return [ten.recipe(seed)]


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over setting, lam, moment (shares of the training's steps) and, where named, points and image:
        distance, linear_distance: ‖θ − θ_0‖ of the network and of the tangent that was trained beside it;
        loss, linear_loss: mean squared error or cross-entropy (nats) on training samples; loss_0 (setting);
        trained_gap, taylor_gap, move (…, points): the two gaps, and how far the answers have moved since θ_0, root mean
        squares over samples;
        kernel_change: ‖k_t − k_0‖/‖k_0‖, even or odd alone; kl: KL(f‖f̄_θ̄) in nats, ten digits alone;
        network_accuracy, trained_accuracy, taylor_accuracy: on test images;
        network_answer, trained_answer, taylor_answer (…, image): to the first test images, of the right digit where
        there are ten;
        start_answer (setting, image), start_accuracy (setting): the same at θ_0;
        eta, steps (setting[, moment]): the step size, and after how many steps.
    """
    parts = []
    for name in SETTINGS:
        if name in STARTS:
            net = Net((common.SIDE ** 2, settings.width, settings.width, 1), "tanh")
            task = common.task(net, settings.n, EVEN_ODD_ANGLE, seed, settings.test, STARTS[name], settings.images,
                               settings.pretraining)
            numbers = even_odd.measure(task, settings.lams, settings.end, SHARES, SHOWN)
        else:
            task = ten.task(TEN_ANGLE, settings.size, settings.test, seed, device)
            numbers = ten.measure(task, settings.lams, dict(settings.plans)[name], SHARES, SHOWN)
        parts.append(_dataset(numbers, settings.lams).expand_dims(setting=[name]))
    sweep = xarray.concat(parts, "setting", data_vars="all", join="outer")
    return sweep.assign_attrs(images=f"{settings.n} and {settings.size:,} training, {settings.test:,} test images")


def _dataset(numbers, lams):
    """One setting's numbers with named axes; what it does not have is NaN."""
    variables = {}
    for name in ("distance", "linear_distance", "loss", "linear_loss", "kernel_change", "kl",
                 *(f"{which}_accuracy" for which in ("network", "trained", "taylor"))):
        values = numbers[name].numpy() if name in numbers else np.full((len(lams), len(SHARES)), np.nan)
        variables[name] = (("lam", "moment"), values)
    for name in ("trained_gap", "taylor_gap", "move"):
        values = torch.stack([numbers[f"{points}_{name}"] for points in POINTS], -1).numpy()
        variables[name] = (("lam", "moment", "points"), values)
    for which in ("network", "trained", "taylor"):
        values = numbers[f"{which}_answer"].float().numpy()
        variables[f"{which}_answer"] = (("lam", "moment", "image"), values)
    variables |= {name: float(numbers[name]) for name in ("eta", "loss_0", "start_accuracy")}
    variables |= {"start_answer": ("image", numbers["start_answer"].float().numpy()),
                  "steps": ("moment", numbers["steps"].numpy())}
    return xarray.Dataset(variables, {"lam": list(lams), "moment": list(SHARES), "points": list(POINTS)})


# -- what is read off ------------------------------------------------------------------------------

def relative(sweep: xarray.Dataset, gap: str = "taylor", points: str = "test") -> xarray.DataArray:
    """A gap over how far the answers have moved, (setting, lam, moment); NaN where nothing has moved."""
    there = sweep.sel(points=points)
    return (there[f"{gap}_gap"] / there.move).where(there.move > STILL)


def left(sweep: xarray.Dataset) -> xarray.DataArray:
    """The share of the training error at θ_0 that is left, (setting, lam, moment): ‖r‖/‖r_0‖ of the squared error, the
    loss over the loss at θ_0 of the cross-entropy."""
    share = sweep.loss / sweep.loss_0
    return xarray.where(sweep.setting.isin(list(STARTS)), share ** 0.5, share)


def stopped_early(sweep: xarray.Dataset, setting: str, share: float, gap: str = "taylor",
                  points: str = "test") -> float:
    """The relative gap of plain finetuning, λ = 0, when this share of the training error is left, interpolated between
    the moments that were measured; NaN where that share is outside them."""
    plain = sweep.sel(setting=setting, lam=0.0)
    return _between_moments(share, np.append(1.0, left(plain).values),
                            np.append(0.0, relative(plain, gap, points).values))


def accuracy_stopped_early(sweep: xarray.Dataset, setting: str, share: float) -> float:
    """The test accuracy of plain finetuning at that moment, in the same way."""
    plain = sweep.sel(setting=setting, lam=0.0)
    return _between_moments(share, left(plain).values, plain.network_accuracy.values)


def _between_moments(share, shares, values):
    """Read off between measured shares of the error; NaN outside them."""
    order = np.argsort(shares)
    return float(np.interp(share, shares[order], values[order], left=np.nan, right=np.nan))


# -- claims ----------------------------------------------------------------------------------------

# the slides' table: λ, and per data set distance, gap, KL and accuracy
REPORTED = {
    "CoLA": {"distance": (0.280, 0.350, 0.404, 0.5263, 0.6148, 0.6946, 0.8223, 0.960),
             "gap": (1.06, 1.12, 1.39, 1.25, 1.27, 1.32, 1.28, 1.47),
             "kl": (0.1060, 0.1377, 0.200, 0.1613, 0.1788, 0.1961, 0.1599, 0.210),
             "accuracy": (0.7459, 0.7957, 0.8044, 0.7938, 0.8024, 0.8015, 0.8015, 0.7967)},
    "SST-2": {"distance": (0.292, 0.336, 0.369, 0.424, 0.520, 0.700, 1.589, 2.519),
              "gap": (1.712, 2.303, 2.635, 2.957, 3.217, 3.331, 3.397, 2.791),
              "kl": (0.320, 0.433, 0.476, 0.517, 0.545, 0.560, 0.578, 0.540),
              "accuracy": (0.893, 0.912, 0.915, 0.924, 0.928, 0.930, 0.924, 0.916)}}
WEAK, STRONG = 0.5, (2.0, 5.0, 10.0)  # λ that cost little accuracy of the ten digits, and much


def wrong_way(values) -> int:
    """Of all pairs of numbers, listed from the smallest λ to the largest, those of which the later is the larger:
    wrong where a number should fall with λ."""
    return sum(later > earlier for place, earlier in enumerate(values) for later in values[place + 1:])


def beside_stopping(sweep: xarray.Dataset, setting: str, lam: float, gap: str = "taylor") -> float:
    """The relative gap with λ minus that of plain finetuning, stopped early with as much training error left."""
    last = sweep.sel(setting=setting, lam=lam).isel(moment=-1)
    share = float(left(sweep).sel(setting=setting, lam=lam).isel(moment=-1))
    pulled = float(relative(last, gap))
    return pulled - stopped_early(sweep, setting, share, gap)


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind LFT-11 that this experiment gives: {claim: {number: value}}. What each means stands in
    claims.yaml; more come from `causes`."""
    end = sweep.isel(moment=-1)
    numbers = {}
    for short, setting in (("sgd", TEN_SGD), ("adam", TEN_ADAM), ("square", EVEN_ODD)):
        last = end.sel(setting=setting, points="test")
        numbers[f"{short}_distance_wrong"] = wrong_way(last.distance.values)
        numbers |= {f"{short}_{gap}_wrong": wrong_way(last[f"{gap}_gap"].values) for gap in GAPS}
        for gap in GAPS:
            rel = relative(end, gap).sel(setting=setting)
            numbers[f"{short}_{gap}_0"] = float(rel.sel(lam=0.0))
            if short != "sgd":  # there λη is 1 at λ = 50
                numbers[f"{short}_{gap}_50_over_0"] = float(rel.sel(lam=50.0) / rel.sel(lam=0.0))
        numbers[f"{short}_accuracy_0"] = float(last.network_accuracy.sel(lam=0.0))
        if short != "square" and len(last.lam) == len(LAMS):  # of all pairs of the source's λ
            numbers[f"{short}_kl_wrong"] = wrong_way(last.kl.values)
    return {"LFT-11": numbers | _of_ten(sweep) | _of_square(sweep)}


def _of_ten(sweep):
    """Ten digits by SGD: what the relative gap falls by, and what that costs."""
    rel = {gap: relative(sweep, gap).sel(setting=TEN_SGD).isel(moment=-1) for gap in GAPS}
    accuracy = sweep.network_accuracy.sel(setting=TEN_SGD).isel(moment=-1)
    numbers = {"sgd_accuracy_10": float(accuracy.sel(lam=10.0)), "sgd_accuracy_weak": float(accuracy.sel(lam=WEAK))}
    for gap in GAPS:
        numbers[f"sgd_{gap}_weak"] = float(rel[gap].sel(lam=WEAK))
        numbers[f"sgd_{gap}_10"] = float(rel[gap].sel(lam=10.0))
        numbers[f"sgd_{gap}_beside_stopping_weak"] = beside_stopping(sweep, TEN_SGD, WEAK, gap)
        numbers[f"sgd_{gap}_beside_stopping_strong"] = float(np.mean([
            beside_stopping(sweep, TEN_SGD, lam, gap) for lam in STRONG if lam in sweep.lam.values]))
    linear = sweep.trained_accuracy.sel(setting=TEN_SGD).isel(moment=-1)
    return numbers | {"sgd_tangent_minus_network_0": float((linear - accuracy).sel(lam=0.0))}


def _of_square(sweep):
    """Even or odd, trained to the end: the hump."""
    rel = relative(sweep).sel(setting=EVEN_ODD).isel(moment=-1)
    trained = sweep.trained_gap.sel(setting=EVEN_ODD, points="train").isel(moment=-1)
    others = [float(lam) for lam in rel.lam.values if lam > 0]
    change = sweep.kernel_change.isel(moment=-1).sel(lam=0.0)
    return {"square_taylor_most_over_0": float(rel.max() / rel.sel(lam=0.0)),
            "square_hump_over_0": float(trained.max() / trained.sel(lam=0.0)),
            "square_hump_at": float(trained.idxmax("lam")),
            "square_beside_stopping": float(np.nanmean([beside_stopping(sweep, EVEN_ODD, lam) for lam in others])),
            "kernel_change_pretrained": float(change.sel(setting=EVEN_ODD)),
            "kernel_change_random": float(change.sel(setting=FROM_RANDOM))}


EXPERIMENT = Experiment("linearization-near", measure, PROFILES, source, "MNIST", recipes=recipes, claims=claims,
                        network="MLPs 196–w–w–1 (tanh) and 784–100–100–100–10 (ReLU)")
LEDGER = (EXPERIMENT, causes.EXPERIMENT, lengths.EXPERIMENT)
run = EXPERIMENT.run
