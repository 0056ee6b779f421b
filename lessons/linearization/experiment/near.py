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
from lessons.linearization.experiment import common, even_odd, ten
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
    """How much is measured.

    Attributes:
        lams: λ.
        width, n, end: of "even or odd": the two inner layers, training samples, and ηk at the end.
        images, pretraining: of its pretraining, images and steps.
        size, plans: of the ten digits: training images, and how each setting is trained.
        test: images that are looked at.
    """
    lams: tuple[float, ...]
    width: int
    n: int
    end: float
    images: int
    pretraining: int
    size: int
    plans: tuple[tuple[str, Plan], ...]
    test: int


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
            found = even_odd.measure(task, settings.lams, settings.end, SHARES, SHOWN)
        else:
            task = ten.task(TEN_ANGLE, settings.size, settings.test, seed, device)
            found = ten.measure(task, settings.lams, dict(settings.plans)[name], SHARES, SHOWN)
        parts.append(_dataset(found, settings.lams).expand_dims(setting=[name]))
    whole = xarray.concat(parts, "setting", data_vars="all", join="outer")
    return whole.assign_attrs(images=f"{settings.n} and {settings.size:,} training, {settings.test:,} test images")


def _dataset(found, lams):
    """One setting's numbers with named axes; what it does not have is NaN."""
    variables = {}
    for name in ("distance", "linear_distance", "loss", "linear_loss", "kernel_change", "kl",
                 *(f"{which}_accuracy" for which in ("network", "trained", "taylor"))):
        values = found[name].numpy() if name in found else np.full((len(lams), len(SHARES)), np.nan)
        variables[name] = (("lam", "moment"), values)
    for name in ("trained_gap", "taylor_gap", "move"):
        values = torch.stack([found[f"{points}_{name}"] for points in POINTS], -1).numpy()
        variables[name] = (("lam", "moment", "points"), values)
    for which in ("network", "trained", "taylor"):
        values = found[f"{which}_answer"].float().numpy()
        variables[f"{which}_answer"] = (("lam", "moment", "image"), values)
    variables |= {name: float(found[name]) for name in ("eta", "loss_0", "start_accuracy")}
    variables |= {"start_answer": ("image", found["start_answer"].float().numpy()),
                  "steps": ("moment", found["steps"].numpy())}
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
    """The relative gap of plain finetuning, λ = 0, at the moment when it has left so much of the training error,
    between the moments that were looked at; NaN where it never was there."""
    plain = sweep.sel(setting=setting, lam=0.0)
    shares = np.append(1.0, left(plain).values)
    gaps = np.append(0.0, relative(plain, gap, points).values)
    order = np.argsort(shares)
    return float(np.interp(share, shares[order], gaps[order], left=np.nan, right=np.nan))


EXPERIMENT = Experiment("linearization-near", measure, PROFILES, source, "MNIST", recipes=recipes,
                        network="MLPs 196–w–w–1 (tanh) and 784–100–100–100–10 (ReLU)")
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
