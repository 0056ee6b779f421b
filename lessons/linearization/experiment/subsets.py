"""All subsets of the layers of two networks, tuned: what the kernel at θ_0 says of each, and what training makes of it
(LFT-9, 10, 12 and 13). A wide network of four layers and a deep one of eight, ReLU, squared error as a sum."""
import itertools
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from scipy import stats

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearization.algorithms import adding, choosing, dynamics, kernel, networks
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.experiment import common
from lessons.linearization.experiment.common import Task

WIDE, DEEP = "wide", "deep"
NETS = (WIDE, DEEP)
ADAM, OWN, SAME = "Adam", "GD, own step", "GD, one step for all"
TRAININGS = (ADAM, OWN, SAME)
SIGMA = 1.0
SIGMAS = tuple(10.0 ** power for power in range(-4, 5))
GD_SHARE = 0.25  # η·κ_max, of each subset's own kernel or of the whole one's
CHUNK = 32  # subsets that are trained at once
MOST_CHOSEN = 4
ANGLE = 45.0


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    widths: tuple[tuple[int, ...], tuple[int, ...]]  # of both networks
    n: int  # training samples of both
    adam: tuple[int, float]  # steps and learning rate
    gd: int  # steps
    images: int  # of pretraining
    pretraining: int  # steps of it


PIXELS = common.SIDE ** 2
PROFILES = Profiles(
    quick=Settings(((PIXELS, 40, 40, 40, 1), (PIXELS, *[16] * 5, 1)), 30, (60, 3e-3), 50, images=1000, pretraining=200),
    full=Settings(((PIXELS, 100, 100, 100, 1), (PIXELS, *[32] * 7, 1)), 80, (150, 1.5e-3), 100, images=2000,
                  pretraining=300))


def subsets(layers: int) -> list[tuple[int, ...]]:
    """All sets of at least one layer, small ones first."""
    return [chosen for size in range(1, layers + 1) for chosen in itertools.combinations(range(layers), size)]


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over net and subset (by number, those of `subsets`; NaN beyond the last), with
        size: layers; weights; kappa_max, kappa_min, trace: of K; risk (…, sigma): R̃ in closed form;
        loss (…, training): R̃ after training; start: R̃ before;
        over net, rule and chosen (layers): better, the share of the subsets of that size that Adam trains further than
        the rule's pick, and picked, its number;
        over net and pair (a subset and a layer added): eta, eta_sigma, ratio: √(R̃₊/R̃), penalised: the penalised
        optimum's ratio; trained: that of R̃ after training by Adam; low, high: between which `adding.ratio_bounds` puts
        the ratio; printed_low, printed_high: the same by LFT, Theorem 7, NaN where η ≥ 1.
    """
    parts = []
    for name, widths in zip(NETS, settings.widths):
        net = Net(widths, "ReLU")
        task = common.task(net, settings.n, ANGLE, seed, test=10, images=settings.images, steps=settings.pretraining)
        parts.append(of_network(task, settings).expand_dims(net=[name]))
    sweep = xarray.concat(parts, "net", join="outer")
    return sweep.assign_attrs(images=f"{settings.n} training images, every subset of layers",
                              network=" and ".join(f"MLP {'–'.join(map(str, widths))}" for widths in settings.widths))


def of_network(task: Task, settings: Settings) -> xarray.Dataset:
    """`measure`'s numbers of one network."""
    blocks = kernel.blocks(task.net, task.theta_0, task.x)
    residual = task.y - task.net(task.theta_0, task.x)[:, 0]
    every = subsets(len(blocks))
    variables = _of_kernels(blocks, residual, every)
    variables["size"] = ("subset", [len(chosen) for chosen in every])
    variables["weights"] = ("subset", [sum(task.net.sizes[layer] for layer in chosen) for chosen in every])
    variables["loss"] = (("subset", "training"), _trained(task, settings, every, variables["kappa_max"][1]))
    variables["start"] = residual.square().sum().item()
    adam = dict(zip(every, variables["loss"][1][:, 0]))
    variables |= _of_rules(task, blocks, residual, adam)
    variables |= _of_pairs(blocks, residual, adam)
    coords = {"subset": range(len(every)), "pair": range(len(variables["eta"][1])), "sigma": list(SIGMAS),
              "training": list(TRAININGS),
              "rule": list(choosing.SCORES),
              "chosen": range(1, MOST_CHOSEN + 1)}
    return xarray.Dataset(variables, {name: list(values) for name, values in coords.items()})


def _of_kernels(blocks, residual, every):
    """What every subset's kernel says."""
    sigmas = torch.tensor(SIGMAS, dtype=torch.float64)[:, None]
    rows = []
    for chosen in every:
        kappa, shares = kernel.spectrum(kernel.of_layers(blocks, chosen), residual)
        rows.append((kappa.max().item(), kappa.min().item(), kappa.sum().item(),
                     kernel.risk(kappa, shares ** 2, sigmas).tolist()))
    largest, least, trace, risks = zip(*rows)
    return {"kappa_max": ("subset", list(largest)), "kappa_min": ("subset", list(least)),
            "trace": ("subset", list(trace)), "risk": (("subset", "sigma"), list(risks))}


# -- training --------------------------------------------------------------------------------------

def _trained(task, settings, every, kappa_max):
    """R̃ after training every subset in the three ways, (subsets, 3)."""
    masks = torch.stack([networks.by_layers(task.net, chosen) for chosen in every])
    etas = GD_SHARE / torch.tensor(kappa_max, dtype=torch.float64)[:, None]
    same = etas.min().expand_as(etas)
    losses = []
    for some in torch.arange(len(every)).split(CHUNK):
        ends = (adam(task, masks[some], *settings.adam),
                descended(task, masks[some], settings.gd, etas[some]),
                descended(task, masks[some], settings.gd, same[some]))
        losses.append(torch.stack([dynamics.error(task.net, end, task.x, task.y) for end in ends], 1))
    return torch.cat(losses).numpy()


def adam(task: Task, masks: torch.Tensor, steps: int, lr: float) -> torch.Tensor:
    """Weights (subsets, parameters) after full-batch steps of Adam, of those weights alone where a mask is 1."""
    theta = task.theta_0.repeat(len(masks), 1)
    mean, square = torch.zeros_like(theta), torch.zeros_like(theta)
    for count in range(1, steps + 1):
        gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)[1] * masks
        mean = mean.lerp(gradient, 0.1)
        square = square.lerp(gradient.square(), 0.001)
        size = (square / (1 - 0.999 ** count)).sqrt() + 1e-8
        theta = theta - lr / (1 - 0.9 ** count) * mean / size
    return theta


def descended(task: Task, masks: torch.Tensor, steps: int, eta: torch.Tensor) -> torch.Tensor:
    """The same by gradient descent, every subset with its own step size (subsets, 1)."""
    theta = task.theta_0.repeat(len(masks), 1)
    for _ in range(steps):
        theta = theta - eta * dynamics.error_and_gradient(task.net, theta, task.x, task.y)[1] * masks
    return theta


# -- rules, and layers added -----------------------------------------------------------------------

def _of_rules(task, blocks, residual, losses):
    """`better` and `picked` of every rule."""
    better, picked = [], []
    numbers = {chosen: number for number, chosen in enumerate(losses)}
    for score in choosing.SCORES.values():
        order = choosing.chosen(score, blocks, residual, SIGMA, task.net.sizes)
        sets = [tuple(sorted(order[:size])) for size in range(1, MOST_CHOSEN + 1)]
        picked.append([numbers[chosen] for chosen in sets])
        better.append([])
        for chosen in sets:  # NaN where there is no other of its size
            others = [loss for other, loss in losses.items() if len(other) == len(chosen) and other != chosen]
            better[-1].append(float(np.mean([loss < losses[chosen] for loss in others])) if others else float("nan"))
    return {"better": (("rule", "chosen"), better), "picked": (("rule", "chosen"), picked)}


def _of_pairs(blocks, residual, losses):
    """What happens to the kernel, the risk and the trained error when one layer is added to a subset.

    Args:
        losses: {subset: R̃ after training by Adam}.
    """
    rows = []
    for chosen in losses:
        K = kernel.of_layers(blocks, chosen)
        kappa, shares = kernel.spectrum(K, residual)
        condition = kernel.condition(kappa, SIGMA).item()
        before = kernel.penalised(kappa, shares ** 2, SIGMA)
        for layer in set(range(len(blocks))) - set(chosen):
            eta_sigma = adding.relative_size(K, blocks[layer], SIGMA)
            kappa_after, shares_after = kernel.spectrum(K + blocks[layer], residual)
            rows.append({"eta": adding.relative_size(K, blocks[layer]), "eta_sigma": eta_sigma,
                         "ratio": adding.ratio(K, blocks[layer], residual, SIGMA),
                         "penalised": (kernel.penalised(kappa_after, shares_after ** 2, SIGMA) / before).item(),
                         "trained": losses[tuple(sorted((*chosen, layer)))] / losses[chosen],
                         **dict(zip(("low", "high"), adding.ratio_bounds(condition, eta_sigma))),
                         **dict(zip(("printed_low", "printed_high"),
                                    adding.ratio_printed(K, blocks[layer], SIGMA)))})
    return {name: ("pair", [row[name] for row in rows]) for name in rows[0]}


# -- what is read off ------------------------------------------------------------------------------

def only(sweep: xarray.Dataset, net: str) -> xarray.Dataset:
    """One network's subsets: the other one may have more."""
    part = sweep.sel(net=net)
    return part.isel(subset=np.flatnonzero(np.isfinite(part.kappa_max.values)))


def pairs(sweep: xarray.Dataset, net: str) -> xarray.Dataset:
    """One network's pairs of a subset and a layer added."""
    part = sweep.sel(net=net)
    return part.isel(pair=np.flatnonzero(np.isfinite(part.ratio.values)))


def condition(part: xarray.Dataset, sigma: float) -> xarray.DataArray:
    """κ(K + σI) of every subset."""
    return (part.kappa_max + sigma) / (part.kappa_min.clip(min=0) + sigma)


def order(part: xarray.Dataset, measure: str, training: str, sigma: float = SIGMA) -> float:
    """Spearman's rank correlation of what the kernel says of every subset with the training error that it ends with.

    Args:
        part: one network's, from `only`.
        measure: "condition", "risk", "kappa_min", "trace" or "weights".
    """
    values = {"condition": lambda: condition(part, sigma), "risk": lambda: part.risk.sel(sigma=sigma)}
    known = values.get(measure, lambda: part[measure])()
    return float(stats.spearmanr(known, part.loss.sel(training=training)).statistic)


# -- claims ----------------------------------------------------------------------------------------

SMALL, LARGE = SIGMAS[0], SIGMAS[6]  # below most smallest eigenvalues, and above
WORST_KAPPA = 100.0
RANDOM_KERNELS = 300


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind LFT-9, 10, 12 and 13: {claim: {number: value}}. What each means stands in claims.yaml."""
    every = [pairs(sweep, net) for net in NETS]
    return {"LFT-9": claim_9(every), "LFT-10": claim_10(every), "LFT-12": claim_12(sweep), "LFT-13": claim_13(sweep)}


def claim_9(every: list[xarray.Dataset]) -> dict[str, float]:
    """LFT-9: Theorem 6 on random kernels, and how large η is for real layers."""
    eta = np.concatenate([part.eta.values for part in every])
    eta_sigma = np.concatenate([part.eta_sigma.values for part in every])
    violated, tighter = 0, []
    generator = torch.Generator().manual_seed(0)
    for _ in range(RANDOM_KERNELS):
        roots = [torch.randn(6, 6, generator=generator, dtype=torch.float64) for _ in range(2)]
        kernel_, added = (root @ root.mT + 0.05 * torch.eye(6, dtype=torch.float64) for root in roots)
        printed, below, eigenvalues, above = adding.eigenvalues_between(kernel_, 0.3 * added)
        slack = 1e-9 * eigenvalues.max()
        outside = (eigenvalues < below - slack) | (eigenvalues > above + slack) | (eigenvalues < printed - slack)
        violated += int(outside.any())
        tighter.append((below / printed.clamp_min(1e-12) >= 1).all().item())
    return {"violated": violated, "left_end_tighter": float(np.mean(tighter)), "pairs": float(len(eta)),
            "eta_least": float(eta.min()), "eta_median": float(np.median(eta)),
            "eta_infinite": float(np.isinf(eta).mean()), "eta_below_1": float((eta < 1).mean()),
            "eta_sigma_least": float(eta_sigma.min()), "eta_sigma_median": float(np.median(eta_sigma)),
            "eta_sigma_most": float(eta_sigma.max())}


def claim_10(every: list[xarray.Dataset]) -> dict[str, float]:
    """LFT-10: both theorems about the ratio, on real layers and in the worst case."""
    ratio, low, high, printed_low, printed_high, penalised = (
        np.concatenate([part[name].values for part in every])
        for name in ("ratio", "low", "high", "printed_low", "printed_high", "penalised"))
    proved = np.isfinite(printed_high)
    kernel_, added, residual, sigma = adding.worst_case(WORST_KAPPA)
    return {"ratio_least": float(ratio.min()), "ratio_most": float(ratio.max()),
            "penalised_most": float(penalised.max()),
            "trained_rises": float(np.mean(np.concatenate([part.trained.values for part in every]) > 1)),
            "tight_violated": float(((ratio < low * (1 - 1e-9)) | (ratio > high)).mean()),
            "printed_violated": float(((ratio < printed_low) | (ratio > printed_high))[proved].sum()),
            "printed_high_least": float(printed_high[proved].min()) if proved.any() else float("nan"),
            "worst": adding.ratio(kernel_, added, residual, sigma), "worst_kappa": WORST_KAPPA,
            "worst_bound": adding.ratio_bounds(WORST_KAPPA, 1.0)[1]}


def claim_12(sweep: xarray.Dataset) -> dict[str, float]:
    """LFT-12: rank correlations with the trained error, by Adam and over all trainings."""
    numbers = {}
    risks, own = [], []
    for short, net in (("wide", WIDE), ("deep", DEEP)):
        part = only(sweep, net)
        for name, sigma in (("small", SMALL), ("one", SIGMA), ("large", LARGE)):
            numbers[f"{short}_{name}"] = order(part, "condition", ADAM, sigma)
        for sigma in (SMALL, SIGMA, LARGE):
            risks += [order(part, "risk", training, sigma) for training in (ADAM, SAME)]
            own.append(order(part, "risk", OWN, sigma))
        numbers |= {f"{short}_{name}": order(part, name, ADAM) for name in ("kappa_min", "weights", "trace")}
        numbers[f"{short}_small_least"] = min(order(part, "condition", training, SMALL) for training in TRAININGS)
        numbers[f"{short}_large_most"] = max(order(part, "condition", training, LARGE) for training in TRAININGS)
    return numbers | {"risk_least": min(risks), "risk_most": max(risks), "risk_own_least": min(own)}


def claim_13(sweep: xarray.Dataset) -> dict[str, float]:
    """LFT-13: what share of the subsets of one, two, three or four layers train further than a rule's pick, mean."""
    names = {"largest η": "eta", "smallest κ": "condition", "largest η/κ": "both", "smallest risk": "risk",
             "largest trace": "trace", "most weights": "weights"}
    numbers = {}
    for short, net in (("wide", WIDE), ("deep", DEEP)):
        for rule, name in names.items():
            numbers[f"{short}_{name}"] = float(sweep.better.sel(net=net, rule=rule).mean())
    return numbers


EXPERIMENT = Experiment("linearization-subsets", measure, PROFILES, common.source, "MNIST", claims=claims)
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
