"""What the kernel at θ_0 predicts of finetuning the tangent: ridge regression beside training (LFT-7), and the training
error that is left, exactly and between the bounds of LFT, Theorem 5 (LFT-8)."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearization.algorithms import dynamics, kernel
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.experiment import common
from lessons.linearization.experiment.common import Task
from lessons.linearization.experiment.subsets import subsets

SIGMAS = tuple(float(10.0 ** (power / 2)) for power in range(-8, 13))  # 0.0001 to a million
LAM = 1.0  # of the tangents that are trained
SUM, MEAN = "sum", "mean"
LOSSES = (SUM, MEAN)
ANGLE = 45.0
MISTAKES = ("n forgotten", "½ forgotten", "f₀ forgotten", "as printed")
FINEST = 1e-13  # of the gradient's length at the start: there training stops
MOST_STEPS = 60_000


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    widths: tuple[int, ...]  # of the network whose layers are chosen
    n: int  # its training samples
    test: int  # test images
    small: tuple[int, int]  # width and training samples of the network whose tangent is trained to the end
    images: int  # of pretraining
    pretraining: int  # steps of it


PIXELS = common.SIDE ** 2
PROFILES = Profiles(quick=Settings((PIXELS, 40, 40, 40, 1), 40, 300, (12, 12), images=1000, pretraining=200),
                    full=Settings((PIXELS, 100, 100, 100, 1), 100, 1000, (20, 20), images=2000, pretraining=300))


def task_of(settings: Settings, seed: int) -> Task:
    """The network whose layers are chosen, and its task."""
    return common.task(Net(settings.widths, "ReLU"), settings.n, ANGLE, seed, settings.test, images=settings.images,
                       steps=settings.pretraining)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over subset (of layers, by number, those of `subsets.subsets`), with
        kappa, share (…, number): K's eigenvalues, ascending, and c², the squared residual in their directions;
        accuracy (…, sigma): on test images, of ridge regression; start_accuracy: of the network at θ_0;
        and of a small tangent that was trained to the end on the sum and on the mean of squares (loss):
        agrees: root mean square difference to ridge regression on test images; the same with each mistake
        (…, mistake); trained_steps; top, printed_top: mean training error where the target is the top eigenvector, and
        the lower bound that LFT, Theorem 5 prints for it.
    """
    task = task_of(settings, seed)
    variables = _of_subsets(task) | _of_training(settings, seed)
    coords = {"subset": range(len(variables["kappa"][1])), "number": range(settings.n), "sigma": list(SIGMAS),
              "loss": list(LOSSES), "mistake": list(MISTAKES)}
    return xarray.Dataset(variables, {name: list(values) for name, values in coords.items()},
                          {"images": f"{settings.n} training, {settings.test:,} test images",
                           "small_n": settings.small[1],
                           "network": f"MLP {'–'.join(map(str, settings.widths))}, ReLU, float64"})


def _of_subsets(task):
    """Spectra and accuracies of every subset of layers."""
    blocks, across = (kernel.blocks(task.net, task.theta_0, x, task.x) for x in (task.x, task.x_test))
    f_0, f_test = (task.net(task.theta_0, x)[:, 0] for x in (task.x, task.x_test))
    kappas, shares, accuracies = [], [], []
    for chosen in subsets(len(blocks)):
        K = kernel.of_layers(blocks, chosen)
        kappa, directions = torch.linalg.eigh(K)
        c = directions.mT @ (task.y - f_0)
        mixed = kernel.of_layers(across, chosen) @ directions
        answers = [f_test + mixed @ (c / (kappa.clamp_min(0) + sigma)) for sigma in SIGMAS]
        kappas.append(kappa.clamp_min(0).numpy())
        shares.append((c ** 2).numpy())
        accuracies.append(common.accuracy(torch.stack(answers), task.y_test).numpy())
    return {"kappa": (("subset", "number"), np.array(kappas)), "share": (("subset", "number"), np.array(shares)),
            "accuracy": (("subset", "sigma"), np.array(accuracies)),
            "start_accuracy": common.accuracy(f_test, task.y_test).item()}


# -- closed form beside training -------------------------------------------------------------------

def _of_training(settings, seed):
    """A small tangent, trained to the end."""
    width, n = settings.small
    task = common.task(Net((PIXELS, width, width, 1), "tanh"), n, ANGLE, seed, 200, images=settings.images,
                       steps=settings.pretraining)
    K = kernel.blocks(task.net, task.theta_0, task.x).sum(0)
    across = kernel.blocks(task.net, task.theta_0, task.x_test, task.x).sum(0)
    f_0, f_test = (task.net(task.theta_0, x)[:, 0] for x in (task.x, task.x_test))

    def ridge(sigma, target, start):
        return start + across @ kernel.solve(K, target, torch.zeros_like(target), sigma)

    agrees, mistaken, steps = [], [], []
    for loss in LOSSES:
        trained, count = trained_tangent(task, loss)
        sigma = LAM / 2 * (n if loss == MEAN else 1)
        answers = {"right": ridge(sigma, task.y - f_0, f_test),
                   "n forgotten": ridge(LAM / 2, task.y - f_0, f_test),
                   "½ forgotten": ridge(2 * sigma, task.y - f_0, f_test),
                   "f₀ forgotten": ridge(sigma, task.y, 0.0),
                   "as printed": ridge(LAM / 2, task.y, 0.0)}
        differences = {name: (answer - trained).square().mean().sqrt().item() for name, answer in answers.items()}
        agrees.append(differences["right"])
        mistaken.append([differences[name] for name in MISTAKES])
        steps.append(count)
    # LFT, Theorem 5 where its lower end is sharp: ỹ is the top eigenvector, and the risk a mean
    residual = torch.linalg.eigh(K).eigenvectors[:, -1]
    kappa, shares = kernel.spectrum(K, residual)
    low, _ = kernel.risk_bounds(kappa, residual.norm(), n * LAM / 2)
    return {"agrees": ("loss", agrees), "mistaken": (("loss", "mistake"), mistaken), "trained_steps": ("loss", steps),
            "top": kernel.risk(kappa, shares ** 2, n * LAM / 2).item() / n, "printed_top": low.item()}


def trained_tangent(task: Task, loss: str) -> tuple[torch.Tensor, int]:
    """The tangent's answers to test images after gradient descent with Nesterov's momentum to the end, and the steps
    that took.

    Args:
        loss: SUM or MEAN of squares, with penalty (λ/2)‖u‖², λ = 1.
    """
    scale = 1 / task.n if loss == MEAN else 1.0
    at_start, at_test = (task.net.trace(task.theta_0, x) for x in (task.x, task.x_test))
    first = at_start.outputs - task.y[:, None]
    kappa_max = torch.linalg.eigvalsh(kernel.blocks(task.net, task.theta_0, task.x).sum(0)).max().item()
    eta = 1 / (2 * scale * kappa_max + LAM)
    momentum = (1 - (eta * LAM) ** 0.5) / (1 + (eta * LAM) ** 0.5)
    u = ahead = torch.zeros_like(task.theta_0)
    begin = None
    for count in range(1, MOST_STEPS + 1):  # noqa: B007  it is returned
        gradient = 2 * scale * at_start.back(first + at_start.along(ahead)) + LAM * ahead
        length = gradient.norm().item()
        begin = begin or length
        u, before = ahead - eta * gradient, u
        ahead = u + momentum * (u - before)
        if length < FINEST * begin:
            break
    return (at_test.outputs + at_test.along(u))[:, 0], count


def trained_network(task: Task, steps: int = 1500) -> torch.Tensor:
    """The network's answers to test images after gradient descent on the mean of squares with the same penalty."""
    kappa_max = torch.linalg.eigvalsh(kernel.blocks(task.net, task.theta_0, task.x).sum(0)).max().item()
    eta, theta = 0.5 / (2 * kappa_max / task.n + LAM), task.theta_0
    for _ in range(steps):
        _, gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)
        theta = theta - eta * (gradient / task.n + LAM * (theta - task.theta_0))
    return task.net(theta, task.x_test)[:, 0]


# -- claims ----------------------------------------------------------------------------------------

WIDELY = 1e3  # a σ at which the bounds of Theorem 5 are near each other


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind LFT-7 and LFT-8: {claim: {number: value}}. What each means stands in claims.yaml."""
    mean, total = sweep.sel(loss=MEAN), sweep.sel(loss=SUM)
    numbers = {"sum_agrees": float(total.agrees), "mean_agrees": float(mean.agrees)}
    for short, name in zip(("n", "half", "start", "printed"), MISTAKES):
        numbers |= {f"mean_{short}": float(mean.mistaken.sel(mistake=name)),
                    f"sum_{short}": float(total.mistaken.sel(mistake=name))}
    return {"LFT-7": numbers, "LFT-8": claim_8(sweep)}


def claim_8(sweep: xarray.Dataset) -> dict[str, float]:
    """LFT-8: the exact sum beside both bounds, every subset of layers at σ = 1 and at a large one."""
    numbers, outside = {}, 0
    for short, sigma in (("one", 1.0), ("large", WIDELY)):
        ups, lows = [], []
        for subset in range(sweep.sizes["subset"]):
            kappa, shares = (torch.tensor(sweep[name].values[subset]) for name in ("kappa", "share"))
            exact = kernel.risk(kappa, shares, sigma)
            low, high = kernel.risk_bounds(kappa, shares.sum().sqrt(), sigma)
            outside += int(not low * (1 - 1e-9) <= exact <= high * (1 + 1e-9))
            ups.append((high / exact).item())
            lows.append((exact / low).item())
        numbers |= {f"upper_{short}": float(np.median(ups)), f"lower_{short}": float(np.median(lows))}
    kappa, shares = (torch.tensor(sweep[name].values[-1]) for name in ("kappa", "share"))
    n = float(len(kappa))
    wrong = kernel.risk(kappa, shares, n) / kernel.risk(kappa, shares, 1.0)
    return numbers | {"outside": outside, "top_ratio_over_n": float(sweep.printed_top / sweep.top) / (
        sweep.attrs["small_n"]), "n_forgotten": float(wrong), "top_share": float(shares[-1] / shares.sum()),
        "top_ten_share": float(shares[-10:].sum() / shares.sum())}


EXPERIMENT = Experiment("linearization-kernel", measure, PROFILES, common.source, "MNIST", claims=claims)
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
