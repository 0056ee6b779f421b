"""Task arithmetic and joint training, k full-batch steps from one start, in float64: the gap between them, and what
the expansions say of it (TVG §2).

Nothing is trained for longer than ten steps, so there is nothing for the zoo to keep.
"""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from data.types import Source
from lessons.gradients.algorithms import expansion, networks
from lessons.gradients.algorithms.expansion import gradient, hessian_vector_product, order, task_arithmetic
from lessons.gradients.algorithms.networks import LOSSES
from lessons.gradients.experiment import common
from lessons.gradients.experiment.common import NETWORKS, SETTINGS, Tasks
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles

STEPS = 10
KS = (1, 2, 3, 5, 10)
AVERAGE = 0.25  # 1/T of four tasks
TRAP = 0.5  # here ½ and α are one number, so a formula with the one in place of the other looks right
ALPHAS = (AVERAGE, TRAP)
KINKS = 5  # for so many steps the samples that cross a kink are told apart
TINY = 3  # this many of the smallest step sizes show the order; above, higher orders mix in
ONE_STEP_ALPHAS = (-0.5, 0.25, 0.5, 1.0, 1.7)


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    samples: int  # of each task
    etas: tuple[float, ...]  # step sizes


PROFILES = Profiles(quick=Settings(samples=60, etas=tuple(10.0 ** (-4 + i / 2) for i in range(6))),
                    full=Settings(samples=200, etas=tuple(10.0 ** (-4 + i / 4) for i in range(13))))


def source() -> Source:
    """Where digits and Spirals come from."""
    return common.digits_source(" shrunk to 14×14, and Spirals (generated)")


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over data: 2, network: 3, loss: 2, alpha: 2, k: 5 and eta, lengths being ‖·‖ over all weights, with
        gap: θ_TA − θ_MT; second, printed: our and the printed second-order term; missed, missed_printed,
        missed_flipped: what is left of the gap after taking away our term, the printed one, and the printed one with
        its sign turned round;
        cosine, cosine_printed: of the gap with the two terms, NaN where k = 1;
        lemma_first, lemma_second, lemma_printed: θ_t − θ_MT without the drift ηp, without drift and bending as we
        derive it, and as Lemma 1 prints it; mean over tasks;
        crossing, kinked, smooth (…, no `loss` missing; ReLU alone, k ≤ 5, else NaN): the share of (task, step, sample)
        that lie on two sides of a kink, and what these and all other samples add to `missed`, the Hessian applied to
        the true drift;
        one_step, one_vector (data, network, loss): after one step, the largest relative difference of θ_TA and θ_MT,
        and of τ_t and −η∇L_t.
    """
    parts = []
    for name in SETTINGS:
        for activation in NETWORKS:
            for loss in LOSSES:
                tasks = common.tasks(name, activation, loss, settings.samples, seed)
                part = expanded(tasks, settings.etas, ALPHAS).assign(one_step(tasks))
                parts.append(part.expand_dims(data=[name], network=[activation], loss=[loss]))
    sweep = xarray.combine_by_coords(parts, join="outer", compat="no_conflicts")
    sweep = sweep.sel(data=list(SETTINGS), network=list(NETWORKS), loss=list(LOSSES))
    return sweep.assign_attrs(images=f"{settings.samples} training samples of each of four tasks")


def expanded(tasks: Tasks, etas, alphas=(AVERAGE,), steps: int = STEPS) -> xarray.Dataset:
    """`measure`'s numbers of one network: every α and every step size at once."""
    def lengths(alpha):
        return torch.vmap(lambda eta: _lengths(tasks, eta, alpha, steps))(torch.tensor(etas, dtype=torch.float64))

    measured = torch.vmap(lengths)(torch.tensor(alphas, dtype=torch.float64))
    ks = [k for k in KS if k <= steps]
    values = {name: (("alpha", "eta", "k"), value[..., ks].numpy()) for name, value in measured.items()}
    return xarray.Dataset(values, coords={"alpha": list(alphas), "eta": list(etas), "k": ks})


def _lengths(tasks, eta, alpha, steps):
    """{name: (steps + 1,)} at one step size."""
    walk = common.walk(tasks, eta, alpha, steps)
    ours = expansion.second_order(walk.bend, eta, alpha)
    theirs = expansion.printed(walk.bend, eta)
    first = walk.own - walk.joint - eta * walk.drift
    of_all = {"gap": walk.gap,
              "second": ours,
              "printed": theirs,
              "missed": walk.gap - ours,
              "missed_printed": walk.gap - theirs,
              "missed_flipped": walk.gap + theirs}
    of_tasks = {"lemma_first": first,
                "lemma_second": first + eta ** 2 * walk.bend,
                "lemma_printed": first + eta ** 2 / 2 * walk.bend}
    lengths = {name: value.norm(dim=-1) for name, value in of_all.items()}
    lengths |= {name: value.norm(dim=-1).mean(0) for name, value in of_tasks.items()}
    lengths["cosine"] = _cosine(walk.gap, ours)
    lengths["cosine_printed"] = _cosine(walk.gap, theirs)
    if tasks.activation == "ReLU":
        lengths |= kinks(tasks, walk.own, walk.joint, eta, alpha)
    return lengths


def _cosine(a, b):
    """Along the last dimension; NaN where one is zero, as after one step."""
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))


# -- kinks -----------------------------------------------------------------------------------------

def kinks(tasks: Tasks, own: torch.Tensor, joint: torch.Tensor, eta, alpha: float) -> dict[str, torch.Tensor]:
    """What a Hessian misses of the gap, told apart by sample: those that lie on two sides of a kink for θ_t and θ_MT,
    and the others.

    Exactly, gap = −αη·Σ_t Σ_e [∇L_t(θ_t^(e)) − ∇L_t(θ_MT^(e))]; from every bracket
    ∇²L_t(θ_MT^(e))·(θ_t^(e) − θ_MT^(e)) is taken away.

    Args:
        own: the tasks' paths (T, steps + 1, parameters).
        joint: (steps + 1, parameters).

    Returns:
        {"crossing": share of the samples, mean over the steps so far, "kinked": length of what they add, "smooth": of
        the others}, each (steps + 1,), NaN beyond `KINKS` steps.
    """
    last = min(KINKS, len(joint) - 1)
    there = joint[1:last]
    shares = 0.0
    kinked = 0.0
    smooth = 0.0
    for x, y, path in zip(tasks.inputs, tasks.labels, own):
        places = path[1:last]
        crossed = torch.vmap(lambda a, b, x=x: networks.crossed(a, b, tasks.widths, x))(places, there)
        shares = shares + crossed.mean(1) / len(own)
        kinked = kinked - alpha * eta * _missed(tasks, x, y, places, there, crossed)
        smooth = smooth - alpha * eta * _missed(tasks, x, y, places, there, 1 - crossed)
    sums = {"kinked": kinked.cumsum(0).norm(dim=-1),
            "smooth": smooth.cumsum(0).norm(dim=-1),
            "crossing": shares.cumsum(0) / torch.arange(1, last)}
    before = joint.new_zeros(2)
    beyond = joint.new_full((len(joint) - last - 1,), float("nan"))
    return {name: torch.cat([before, values, beyond]) for name, values in sums.items()}


def _missed(tasks, x, y, places, there, counted):
    """∇f(a) − ∇f(b) − ∇²f(b)·(a − b) for every a of `places` and b of `there`, (steps, parameters), where f is the loss
    of the samples that `counted` (steps, samples) says."""
    def beyond_hessian(a, b, share):
        f = networks.loss_of(tasks.widths, tasks.activation, tasks.loss, x, y, share)
        return gradient(f, a) - gradient(f, b) - hessian_vector_product(f, b, a - b)
    return torch.vmap(beyond_hessian)(places, there, counted)


# -- one step --------------------------------------------------------------------------------------

def one_step(tasks: Tasks, eta: float = 0.1) -> dict[str, float]:
    """TVG's Eq. 1 and Remark 1, over several α: the largest differences, as shares of ‖θ‖ and of ‖τ‖."""
    own = tasks.alone(tasks.base, eta, 1)[:, -1]
    both = expansion.total(tasks.losses)
    gaps = []
    for alpha in ONE_STEP_ALPHAS:
        joint = expansion.descend(both, tasks.base, alpha * eta, 1)[-1]
        gaps.append((task_arithmetic(tasks.base, own, alpha) - joint).norm())
    differences = []
    for f, theta in zip(tasks.losses, own):
        tau = theta - tasks.base
        differences.append((tau + eta * gradient(f, tasks.base)).norm() / tau.norm())
    return {"one_step": (max(gaps) / tasks.base.norm()).item(), "one_vector": max(differences).item()}


# -- claims ----------------------------------------------------------------------------------------

SMOOTH = [name for name in NETWORKS if name != "ReLU"]


def slopes(lengths: xarray.DataArray) -> xarray.DataArray:
    """The power of η with which a length falls, over the smallest step sizes; `eta` is gone."""
    eta_first = float(lengths.eta[0])
    eta_last = float(lengths.eta[TINY - 1])

    def power(first, last):
        return order(eta_first, first, eta_last, last) if min(first, last) > 0 else np.nan

    return xarray.apply_ufunc(power, lengths.isel(eta=0), lengths.isel(eta=TINY - 1), vectorize=True)


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind TVG-1 to TVG-4: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"TVG-1": {"apart_most": sweep.one_step.max().item()},
            "TVG-2": {"apart_most": sweep.one_vector.max().item()},
            "TVG-3": claim_3(sweep),
            "TVG-4": claim_4(sweep)}


def claim_3(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-3: with which power of η the gap and what the terms miss of it fall, on smooth networks with α = ¼ and, for
    the printed term with its sign turned round, also with α = ½; the terms' direction and length; and the ReLU's
    kinks."""
    smooth = sweep.sel(network=SMOOTH, k=[2, 3, 5])
    average = smooth.sel(alpha=AVERAGE)
    trap = smooth.sel(alpha=TRAP)
    tiny = average.isel(eta=slice(0, TINY))
    length = (smooth.printed / smooth.gap).isel(eta=slice(0, TINY))
    powers = _powers(average, ("gap", "missed", "missed_printed", "missed_flipped"))
    powers |= {f"half_{name}": power for name, power in _powers(trap, ("missed", "missed_flipped")).items()}
    relu = sweep.sel(network="ReLU", k=5, alpha=AVERAGE)
    middle = middle_of_relu(sweep)
    uncrossed = (relu.missed / relu.gap).where(relu.crossing == 0)
    return powers | {"relu_missed_over_gap": (middle.missed / middle.gap).mean().item(),
                     "relu_smooth_over_gap": (middle.smooth / middle.gap).max().item(),
                     "relu_crossing": middle.crossing.mean().item(),
                     "relu_kinked_over_missed_median": (middle.kinked / middle.missed).median().item(),
                     "relu_without_crossing_missed_most": uncrossed.max().fillna(0).item(),
                     "cosine_least": tiny.cosine.min().item(),
                     "cosine_printed_most": tiny.cosine_printed.max().item(),
                     "printed_over_gap": length.sel(alpha=AVERAGE).mean().item(),
                     "half_printed_over_gap": length.sel(alpha=TRAP).mean().item()}


def middle_of_relu(sweep: xarray.Dataset) -> xarray.Dataset:
    """The ReLU networks after five steps of the middle sizes, α = ¼; over data, loss and eta."""
    return sweep.sel(network="ReLU", k=5, alpha=AVERAGE, eta=slice(1e-3, 1.1e-2))


def claim_4(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-4: Lemma 1 with the drift alone, with the bending as we derive it, and as printed: the powers of η with which
    what is left falls, with α = ¼."""
    smooth = sweep.sel(network=SMOOTH, k=[2, 3, 5], alpha=AVERAGE)
    return _powers(smooth, ("lemma_first", "lemma_second", "lemma_printed"))


def _powers(sweep, names):
    """The least and largest power of η with which each of these falls."""
    powers = {}
    for name in names:
        power = slopes(sweep[name])
        powers[f"{name}_power_least"] = power.min().item()
        powers[f"{name}_power_most"] = power.max().item()
    return powers


EXPERIMENT = Experiment("gradients-steps", measure, PROFILES, source, "MNIST", claims=claims,
                        network="networks with two hidden layers of 8 units, float64")
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
