"""What does make finetuning linear? Width, pretraining, the task's distance and λ, one at a time, each network at the
moment when a fifth of the squared error is left, so that all have learned as much."""
from dataclasses import dataclass

import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearization.algorithms import dynamics, kernel
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.algorithms.tangent import Tangent, gap
from lessons.linearization.experiment import common
from lessons.linearization.experiment.common import PRETRAINED, RANDOM

LEFT = 0.2  # of R̃
SHARE = 0.25  # η·κ_max
MOST_STEPS = 6000
NUMBERS = ("taylor", "trained", "kernel_change", "distance", "move", "steps", "left")


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    widths: tuple[int, int, int]  # of both inner layers; the middle one in all comparisons but that of widths
    n: int  # training samples
    test: int  # test images
    angles: tuple[float, float, float]  # by which the digits are turned; the middle one likewise
    lams: tuple[float, ...]  # λ
    images: int  # of pretraining
    pretraining: int  # steps of it


PROFILES = Profiles(
    quick=Settings((12, 40, 80), 30, 300, (15.0, 45.0, 90.0), (2.0, 10.0), images=1000, pretraining=200),
    full=Settings((20, 80, 200), 50, 1000, (15.0, 45.0, 90.0), (2.0, 10.0), images=2000, pretraining=300))


def cases(settings: Settings) -> dict[str, tuple[int, str, float, float]]:
    """{what differs from the middle case: (width, start, angle, λ)}."""
    _, width, _ = settings.widths
    _, angle, _ = settings.angles
    networks = {f"width {other}": (other, PRETRAINED, angle, 0.0) for other in settings.widths}
    networks |= {f"width {other}, random weights": (other, RANDOM, angle, 0.0) for other in settings.widths}
    others = [other for other in settings.angles if other != angle]
    networks |= {f"turned by {other:g}°": (width, PRETRAINED, other, 0.0) for other in others}
    return networks | {f"λ = {lam:g}": (width, PRETRAINED, angle, lam) for lam in settings.lams}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over case (the names of `cases`), at the moment when a fifth of R̃ is left, with taylor, trained: both
        gaps over the move of the answers to test images; kernel_change; distance; move; steps; left: the share of R̃.
    """
    rows = []
    for width, start, angle, lam in cases(settings).values():
        net = Net((common.SIDE ** 2, width, width, 1), "tanh")
        task = common.task(net, settings.n, angle, seed, settings.test, start, settings.images, settings.pretraining)
        rows.append(at_a_fifth(task, lam))
    variables = {name: ("case", [row[name] for row in rows]) for name in NUMBERS}
    return xarray.Dataset(variables, {"case": list(cases(settings))},
                          {"images": f"{settings.n} training, {settings.test:,} test images",
                           "network": "MLPs 196–w–w–1, tanh, float64"})


def at_a_fifth(task: common.Task, lam: float, target: float | None = None) -> dict[str, float]:
    """The numbers of one network when a fifth of its R̃ is left, or when R̃ is no more than `target`; its tangent has
    taken as many steps."""
    K = kernel.blocks(task.net, task.theta_0, task.x).sum(0)
    kappa, directions = torch.linalg.eigh(K)
    eta = SHARE / kappa.max().item()
    theta, start = task.theta_0, dynamics.error(task.net, task.theta_0, task.x, task.y)
    target, count = LEFT * start if target is None else target, 0
    while True:
        error, gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)
        if error <= target or count == MOST_STEPS:
            break
        theta = dynamics.step(theta, task.theta_0, gradient, eta, lam)
        count += 1
    rho = directions.mT @ (task.net(task.theta_0, task.x)[:, 0] - task.y)
    alpha = dynamics.linear_walk(kappa, rho, lam, eta, count) @ directions.mT
    tangent = Tangent(task.net, task.theta_0, task.x_test)
    across = kernel.blocks(task.net, task.theta_0, task.x_test, task.x).sum(0)
    f, first = task.net(theta, task.x_test), tangent.at_start.outputs
    move = gap(f, first)
    K_after = kernel.blocks(task.net, theta, task.x).sum(0)
    numbers = {"taylor": gap(f, tangent(theta)) / move, "trained": gap(f, first + (across @ alpha)[:, None]) / move,
               "kernel_change": (K_after - K).norm() / K.norm(), "distance": (theta - task.theta_0).norm(),
               "move": move, "left": error / start}
    return {name: value.item() for name, value in numbers.items()} | {"steps": float(count)}


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind LFT-11 that this experiment gives: {claim: {number: value}}. What each means stands in
    claims.yaml."""
    taylor = sweep.taylor.to_series()
    widths = [name for name in taylor.index if name.startswith("width") and "random" not in name]
    plain = taylor[widths[1]]
    random = taylor[[f"{name}, random weights" for name in widths]].to_numpy()
    pulled = taylor[[name for name in taylor.index if name.startswith("λ")]].to_numpy()
    change = sweep.kernel_change.to_series()
    return {"LFT-11": {
        "fifth_plain": float(plain), "fifth_wide_over_narrow": float(taylor[widths[2]] / taylor[widths[0]]),
        "fifth_random_over_pretrained": float((random / taylor[widths].to_numpy()).mean()),
        "fifth_pulled_over_plain_least": float((pulled / plain).min()),
        "fifth_pulled_over_plain_most": float((pulled / plain).max()),
        "fifth_change_random_over_pretrained": float(change[f"{widths[1]}, random weights"] / change[widths[1]])}}


EXPERIMENT = Experiment("linearization-causes", measure, PROFILES, common.source, "MNIST", claims=claims)
run = EXPERIMENT.run
