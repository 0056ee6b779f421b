"""LoRA's kernel beside the whole one, against the rank (LFT-14): how near it is, what ridge regression predicts with
it, and whether a network that is tuned through it is more linear than one that is tuned whole. A ReLU network of four
layers, squared error as a sum; biases stay as they are."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from scipy import stats

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid
from lessons.linearization.algorithms import dynamics, kernel, lora
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.algorithms.tangent import gap
from lessons.linearization.experiment import common

RANKS = (1, 2, 4, 8, 16, 32, 64)
WHOLE = 0  # in the place of a rank: the whole matrices
ANGLE = 45.0
SIGMA = 1.0
GD_SHARE = 0.25  # η·κ_max of each kernel
LEFT = 0.2  # networks are compared when so much of R̃ is left
SHOWN_EIGENVALUES = 40


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    widths: tuple[int, ...]  # of the network
    n: int  # training samples
    test: int  # test images
    draws: int  # of A at every rank
    steps: int  # of training, at most
    images: int  # of pretraining
    pretraining: int  # steps of it


PIXELS = common.SIDE ** 2
PROFILES = Profiles(quick=Settings((PIXELS, 40, 40, 40, 1), 40, 300, draws=4, steps=300, images=1000, pretraining=200),
                    full=Settings((PIXELS, 100, 100, 100, 1), 100, 1000, draws=8, steps=1500, images=2000,
                                  pretraining=300))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over rank (WHOLE first) and draw (of A), with
        apart: ‖K_LoRA − K‖_F/‖K‖_F; cosine: of the two; kappa (…, number): eigenvalues, the largest first; condition,
        risk, accuracy: of ridge regression with σ = 1, on training samples and test images;
        and of the first two draws, trained until a fifth of R̃ is left, at most for so many steps: taylor, the Taylor
        gap over the move of the answers, on test images; left, the share of R̃; distance: of what is tuned; moved: of
        the matrices, ‖ΔW‖; steps; trained_accuracy.
    """
    net = Net(settings.widths, "ReLU")
    task = common.task(net, settings.n, ANGLE, seed, settings.test, images=settings.images, steps=settings.pretraining)
    K_whole = lora.full_blocks(net, task.theta_0, task.x).sum(0)
    ranks, draws = (WHOLE, *RANKS), range(settings.draws)
    rows = [_of_draw(task, rank, 1000 * seed + draw, K_whole, settings, tuned=draw < TRAINED)
            for rank in ranks for draw in draws]
    return on_grid(rows, rank=ranks, draw=draws).assign_attrs(
        images=f"{settings.n} training, {settings.test:,} test images",
        network=f"MLP {'–'.join(map(str, settings.widths))}, ReLU, float64")


TRAINED = 2  # draws of A with which a network is trained too
OF_A_NETWORK = ("taylor", "left", "distance", "moved", "steps", "trained_accuracy")  # `measure`'s numbers of it


def _of_draw(task, rank, seed, K_whole, settings, tuned):
    """`measure`'s numbers for one A."""
    A = lora.drawn(task.net, rank, seed) if rank else [torch.eye(width, dtype=torch.float64)
                                                      for width in task.net.widths[:-1]]
    K = lora.blocks(task.net, task.theta_0, task.x, A).sum(0)
    across = lora.blocks(task.net, task.theta_0, task.x_test, A, task.x).sum(0)
    f_0, f_test = (task.net(task.theta_0, x)[:, 0] for x in (task.x, task.x_test))
    kappa, shares = kernel.spectrum(K, task.y - f_0)
    answers = f_test + across @ kernel.solve(K, task.y, f_0, SIGMA)
    numbers = {"apart": ((K - K_whole).norm() / K_whole.norm()).item(),
               "cosine": ((K * K_whole).sum() / (K.norm() * K_whole.norm())).item(),
               "kappa": ("number", kappa.flip(0)[:SHOWN_EIGENVALUES].tolist()),
               "condition": kernel.condition(kappa, SIGMA).item(),
               "risk": kernel.risk(kappa, shares ** 2, SIGMA).item(),
               "accuracy": common.accuracy(answers, task.y_test).item()}
    eta = GD_SHARE / kappa.max().item()
    if tuned:
        network = trained(task, A, eta, settings.steps) if rank else trained_whole(task, eta, settings.steps)
        return numbers | {name: network[name] for name in OF_A_NETWORK}
    return numbers | dict.fromkeys(OF_A_NETWORK, np.nan)


def trained(task: common.Task, A_0: list[torch.Tensor], eta: float, most: int, freeze: bool = False) -> dict:
    """LoRA by gradient descent on A and B, with `freeze` on B alone, at most `most` steps, until a fifth of R̃ is left.

    Returns:
        `measure`'s numbers of a network, and A_moved, how far A went over its length.
    """
    A = A_0
    B = [torch.zeros(width, len(down), dtype=torch.float64) for width, down in zip(task.net.widths[1:], A)]
    start = dynamics.error(task.net, task.theta_0, task.x, task.y)
    for count in range(1, most + 1):  # noqa: B007  it is returned
        theta = lora.merged(task.net, task.theta_0, A, B)
        error, gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)
        if error <= LEFT * start:
            break
        of_A, of_B = lora.gradients(task.net, gradient, A, B)
        A = A if freeze else [down - eta * slope for down, slope in zip(A, of_A)]
        B = [up - eta * slope for up, slope in zip(B, of_B)]
    linear = lora.merged(task.net, task.theta_0, A_0, B) - task.theta_0  # what B·A is to first order in (A, B)
    of_A = sum((a - b).square().sum() for a, b in zip(A, A_0))
    square = of_A + sum(up.square().sum() for up in B)
    return bent(task, theta, linear) | {"left": (error / start).item(), "distance": square.sqrt().item(),
                                        "steps": float(count),
                                        "A_moved": (of_A / sum(down.square().sum() for down in A_0)).sqrt().item()}


def trained_whole(task: common.Task, eta: float, most: int) -> dict:
    """The matrices themselves by gradient descent, as `trained`; and theta, all weights after it."""
    mask = torch.cat([torch.cat([torch.ones(a * b), torch.zeros(b)])
                      for a, b in zip(task.net.widths, task.net.widths[1:])]).double()
    theta, start = task.theta_0, dynamics.error(task.net, task.theta_0, task.x, task.y)
    for count in range(1, most + 1):  # noqa: B007  it is returned
        error, gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)
        if error <= LEFT * start:
            break
        theta = theta - eta * gradient * mask
    step = theta - task.theta_0
    return bent(task, theta, step) | {"left": (error / start).item(), "distance": step.norm().item(),
                                      "steps": float(count), "theta": theta}


def bent(task: common.Task, theta: torch.Tensor, linear: torch.Tensor) -> dict[str, float]:
    """taylor, moved and trained_accuracy of a network θ; `linear` is its change of weights to first order in what was
    tuned, (parameters,)."""
    at_start = task.net.trace(task.theta_0, task.x_test)
    f = task.net(theta, task.x_test)
    taylor = gap(f, at_start.outputs + at_start.along(linear)) / gap(f, at_start.outputs)
    return {"taylor": taylor.item(), "moved": (theta - task.theta_0).norm().item(),
            "trained_accuracy": common.accuracy(f[:, 0], task.y_test).item()}


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind LFT-14: {claim: {number: value}}. What each means stands in claims.yaml."""
    mean = sweep.mean("draw")
    of_whole = mean.sel(rank=WHOLE)
    ranks = mean.sel(rank=list(RANKS))
    numbers = {"apart_power": float(np.polyfit(np.log(RANKS), np.log(ranks.apart), 1)[0]),
               "taylor_whole": float(of_whole.taylor), "accuracy_whole": float(of_whole.accuracy)}
    for rank in (RANKS[0], 4, RANKS[-1]):
        of_rank = mean.sel(rank=rank)
        numbers |= {f"apart_{rank}": float(of_rank.apart), f"cosine_{rank}": float(of_rank.cosine),
                    f"taylor_{rank}": float(of_rank.taylor),
                    f"taylor_{rank}_over_whole": float(of_rank.taylor / of_whole.taylor),
                    f"moved_{rank}": float(of_rank.moved / of_whole.moved), f"accuracy_{rank}": float(of_rank.accuracy),
                    f"left_{rank}": float(of_rank.left)}
    numbers["condition_order"] = float(stats.spearmanr(ranks.condition, ranks.risk).statistic)
    return {"LFT-14": numbers}


EXPERIMENT = Experiment("linearization-lora", measure, PROFILES, common.source, "MNIST", claims=claims)
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
