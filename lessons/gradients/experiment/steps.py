"""Task arithmetic and joint training, k full-batch steps from one start, in float64: the gap between them, and what the expansions say of it (TVG §2).

`run` measures and returns one xarray Dataset. Nothing is trained for longer than ten steps, so there is nothing for the zoo to keep.
"""
from dataclasses import asdict, dataclass

import numpy as np
import torch
import xarray

import data
from lessons.gradients.algorithms import expansion, networks
from lessons.gradients.algorithms.expansion import gradient, hessian_vector_product, order, task_arithmetic
from lessons.gradients.algorithms.networks import LOSSES
from lessons.gradients.experiment import common
from lessons.gradients.experiment.common import NETWORKS, SETTINGS, Tasks
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import training

STEPS = 10
KS = (1, 2, 3, 5, 10)
ALPHA = 0.5  # of four tasks: neither the average, 1/4, nor the sum
KINKS = 5  # for so many steps the samples that cross a kink are told apart
TINY = 3  # this many of the smallest step sizes show the order; above, higher orders mix in
ONE_STEP_ALPHAS = (-0.5, 0.25, 0.5, 1.0, 1.7)


@dataclass(frozen=True)
class Settings:
    """How much is measured.

    Attributes:
        samples: of each task.
        etas: step sizes.
    """
    samples: int
    etas: tuple[float, ...]


PROFILES = Profiles(quick=Settings(samples=60, etas=tuple(10.0 ** (-4 + i / 2) for i in range(6))),
                    full=Settings(samples=200, etas=tuple(10.0 ** (-4 + i / 4) for i in range(13))))


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Measure, on the CPU, whatever the device.

    Returns:
        A Dataset over data: 2, network: 3, loss: 2, k: 5 and eta, lengths being ‖·‖ over all weights, with
        gap: θ_TA − θ_MT; second: our second-order term; missed, missed_printed: what is left of the gap after taking away our or the printed term;
        cosine, cosine_printed: of the gap with the two terms, NaN where k = 1;
        lemma_first, lemma_second, lemma_printed: θ_t − θ_MT without the drift ηp, without drift and bending as we derive it, and as Lemma 1 prints it;
        mean over tasks;
        crossing, kinked, smooth (…, no `loss` missing; ReLU alone, k ≤ 5, else NaN): the share of (task, step, sample) that lie on two sides of a
        kink, and what these and all other samples add to `missed`, the Hessian applied to the true drift;
        one_step, one_vector (data, network, loss): after one step, the largest relative difference of θ_TA and θ_MT, and of τ_t and −η∇L_t.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    source = data.source("rotated_mnist", angle=common.ANGLES[0])
    ingredients = {"settings": asdict(settings), "seed": seed, "alpha": ALPHA, "data": source.digest}
    return cached("gradients-steps", ingredients, lambda: measure(settings, seed).assign_attrs(
        source=f"{source.text.split(',')[0]} shrunk to 14×14, and Spirals (generated)", source_kind=source.kind, dataset="MNIST", profile=profile, seed=seed,
        network="networks with two hidden layers of 8 units, float64", images=f"{settings.samples} training samples of each of four tasks"))


@training.one_thread()
def measure(settings: Settings, seed: int = 0) -> xarray.Dataset:
    """`run` without the cache."""
    parts = []
    for name in SETTINGS:
        for activation in NETWORKS:
            for loss in LOSSES:
                tasks = common.tasks(name, activation, loss, settings.samples, seed)
                part = expanded(tasks, settings.etas).assign(one_step(tasks))
                parts.append(part.expand_dims(data=[name], network=[activation], loss=[loss]))
    return xarray.combine_by_coords(parts, join="outer", compat="no_conflicts").sel(data=list(SETTINGS), network=list(NETWORKS), loss=list(LOSSES))


def expanded(tasks: Tasks, etas, alpha: float = ALPHA, steps: int = STEPS) -> xarray.Dataset:
    """`run`'s numbers of one network: every step size at once."""
    def lengths(eta):
        walk = common.walk(tasks, eta, alpha, steps)
        gap, ours, theirs = walk.gap, expansion.second_order(walk.bend, eta, alpha), expansion.printed(walk.bend, eta)
        first = walk.own - walk.joint - eta * walk.drift
        found = {"gap": gap, "second": ours, "missed": gap - ours, "missed_printed": gap - theirs,
                 "lemma_first": first, "lemma_second": first + eta ** 2 * walk.bend, "lemma_printed": first + eta ** 2 / 2 * walk.bend}
        found = {name: value.norm(dim=-1) for name, value in found.items()}
        found = {name: value.mean(0) if value.ndim == 2 else value for name, value in found.items()}
        cosines = {"cosine": _cosine(gap, ours), "cosine_printed": _cosine(gap, theirs)}
        return found | cosines | (kinks(tasks, walk.own, walk.joint, eta, alpha) if tasks.activation == "ReLU" else {})

    measured = torch.vmap(lengths)(torch.tensor(etas, dtype=torch.float64))
    values = {name: value[:, [k for k in KS if k <= steps]] for name, value in measured.items()}
    return xarray.Dataset({name: (("eta", "k"), value.numpy()) for name, value in values.items()}, coords={"eta": list(etas), "k": [k for k in KS if k <= steps]})


def _cosine(a, b):
    """Along the last dimension; NaN where one is zero, as after one step."""
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))


def kinks(tasks: Tasks, own: torch.Tensor, joint: torch.Tensor, eta, alpha: float) -> dict[str, torch.Tensor]:
    """What a Hessian misses of the gap, told apart by sample: those that lie on two sides of a kink for θ_t and θ_MT, and the others.

    Exactly, gap = −αη·Σ_t Σ_e [∇L_t(θ_t^(e)) − ∇L_t(θ_MT^(e))]; from every bracket ∇²L_t(θ_MT^(e))·(θ_t^(e) − θ_MT^(e)) is taken away.

    Args:
        own: the tasks' paths (T, steps + 1, parameters).
        joint: (steps + 1, parameters).

    Returns:
        {"crossing": share of the samples, mean over the steps so far, "kinked": length of what they add, "smooth": of the others}, each (steps + 1,), NaN
        beyond `KINKS` steps.
    """
    last = min(KINKS, len(joint) - 1)
    at, shares, parts = slice(1, last), 0.0, {"kinked": 0.0, "smooth": 0.0}
    for x, y, path in zip(tasks.inputs, tasks.labels, own):
        on_two_sides = torch.vmap(lambda a, b: networks.crossed(a, b, tasks.widths, x))(path[at], joint[at])
        shares = shares + on_two_sides.mean(1) / len(own)
        for name, counted in (("kinked", on_two_sides), ("smooth", 1 - on_two_sides)):
            parts[name] = parts[name] - alpha * eta * torch.vmap(lambda a, b, share: _beyond_hessian(_loss(tasks, x, y, share), a, b))(path[at], joint[at], counted)
    lengths = {name: values.cumsum(0).norm(dim=-1) for name, values in parts.items()} | {"crossing": shares.cumsum(0) / torch.arange(1, last)}
    before, beyond = joint.new_zeros(2), joint.new_full((len(joint) - last - 1,), float("nan"))
    return {name: torch.cat([before, values, beyond]) for name, values in lengths.items()}


def _loss(tasks, x, y, share):
    return networks.loss_of(tasks.widths, tasks.activation, tasks.loss, x, y, share)


def _beyond_hessian(f, a, b):
    """∇f(a) − ∇f(b) − ∇²f(b)·(a − b)."""
    return gradient(f, a) - gradient(f, b) - hessian_vector_product(f, b, a - b)


def one_step(tasks: Tasks, eta: float = 0.1) -> dict[str, float]:
    """TVG's Eq. 1 and Remark 1, over several α: the largest differences, as shares of ‖θ‖ and of ‖τ‖."""
    own = tasks.alone(tasks.base, eta, 1)[:, -1]
    gaps = [(task_arithmetic(tasks.base, own, alpha) - expansion.descend(expansion.total(tasks.losses), tasks.base, alpha * eta, 1)[-1]).norm() for alpha in ONE_STEP_ALPHAS]
    vectors = [((theta - tasks.base) + eta * gradient(f, tasks.base)).norm() / (theta - tasks.base).norm() for f, theta in zip(tasks.losses, own)]
    return {"one_step": (max(gaps) / tasks.base.norm()).item(), "one_vector": max(vectors).item()}


# -- claims ----------------------------------------------------------------------------------------

SMOOTH = [name for name in NETWORKS if name != "ReLU"]


def slopes(of: xarray.DataArray) -> xarray.DataArray:
    """The power of η with which a length falls, over the smallest step sizes; `eta` is gone."""
    first, last = of.isel(eta=0), of.isel(eta=TINY - 1)
    return xarray.apply_ufunc(lambda a, b: order(float(of.eta[0]), a, float(of.eta[TINY - 1]), b) if min(a, b) > 0 else np.nan, first, last, vectorize=True)


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind TVG-1 to TVG-4, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"TVG-1": {"apart_most": sweep.one_step.max().item()}, "TVG-2": {"apart_most": sweep.one_vector.max().item()},
            "TVG-3": claim_3(sweep), "TVG-4": claim_4(sweep)}


def claim_3(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-3: with which power of η the gap and what the two terms miss of it fall, on smooth networks; the terms' direction and length; and the ReLU's kinks."""
    smooth, tiny = sweep.sel(network=SMOOTH, k=[2, 3, 5]), dict(eta=slice(0, TINY))
    found = {}
    for name in ("gap", "missed", "missed_printed"):
        power = slopes(smooth[name])
        found |= {f"{name}_power_least": power.min().item(), f"{name}_power_most": power.max().item()}
    relu = sweep.sel(network="ReLU", k=5)
    share = relu.missed / relu.gap
    middle = dict(eta=slice(1e-3, 1.1e-2))
    return found | {"cosine_least": smooth.cosine.isel(tiny).min().item(), "cosine_printed_most": smooth.cosine_printed.isel(tiny).max().item(),
                    "printed_missed_over_gap": (smooth.missed_printed / smooth.gap).isel(tiny).mean().item(),
                    "relu_missed_over_gap": share.sel(middle).mean().item(), "relu_smooth_over_gap": (relu.smooth / relu.gap).sel(middle).max().item(),
                    "relu_crossing": relu.crossing.sel(middle).mean().item(), "relu_kinked_over_missed_median": (relu.kinked / relu.missed).sel(middle).median().item(),
                    "relu_without_crossing_missed_most": share.where(relu.crossing == 0).max().fillna(0).item()}


def claim_4(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-4: Lemma 1 with the drift alone, with the bending as we derive it, and as printed: the powers of η with which what is left falls."""
    smooth, found = sweep.sel(network=SMOOTH, k=[2, 3, 5]), {}
    for name in ("lemma_first", "lemma_second", "lemma_printed"):
        power = slopes(smooth[name])
        found |= {f"{name}_power_least": power.min().item(), f"{name}_power_most": power.max().item()}
    return found
