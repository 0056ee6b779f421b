"""Beyond full batches: which optimisers keep task arithmetic close to joint training, and which do not.

`run` measures in float64 and returns one xarray Dataset.
"""
from dataclasses import asdict

import torch
import xarray

import data
from lessons.gradients.algorithms import expansion, networks, optimisers
from lessons.gradients.algorithms.expansion import task_arithmetic, total
from lessons.gradients.algorithms.networks import loss_of
from lessons.gradients.experiment import common, steps
from lessons.gradients.experiment.common import DIGITS, Tasks
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import training

BATCHES, EPOCHS, ALPHA = 4, 2, 0.5
FULL, SAME, OTHER, MOMENTUM, ADAM = "full batch", "SGD, the same batches", "SGD, other batches", "full batch, momentum", "full batch, Adam"
RULES = {FULL: optimisers.plain, MOMENTUM: optimisers.momentum, SAME: optimisers.plain, OTHER: optimisers.plain, ADAM: optimisers.adam}
ETAS = Profiles(quick=tuple(10.0 ** (-4 + i / 2) for i in range(5)), full=tuple(10.0 ** (-4 + i / 4) for i in range(11)))


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Measure, on the CPU, whatever the device.

    Returns:
        A Dataset over optimiser: 5, step: 9 and eta, with
        gap, far: ‖θ_TA − θ_MT‖ and ‖θ_MT − θ_base‖; turn: 1 − cosine between θ_TA − θ_base and θ_MT − θ_base, which no α changes for θ_TA;
        away: 1 − cosine between τ_t and −∇L_t(θ_base), the gradient on all samples, mean over the tasks.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = steps.PROFILES[profile]
    source = data.source("rotated_mnist", angle=common.ANGLES[0])
    ingredients = {"settings": asdict(settings), "etas": ETAS[profile], "seed": seed, "data": source.digest}
    return cached("gradients-optimisers", ingredients, lambda: measure(settings.samples, ETAS[profile], seed).assign_attrs(
        source=f"{source.text.split(',')[0]} shrunk to 14×14", source_kind=source.kind, dataset="MNIST", profile=profile, seed=seed,
        network="tanh network 196–8–8–10, cross-entropy", images=f"{settings.samples} training images of each of four tasks, {BATCHES} batches"))


@training.one_thread()
def measure(samples: int, etas, seed: int = 0) -> xarray.Dataset:
    """`run` without the cache."""
    tasks = common.tasks(DIGITS, "tanh", "cross-entropy", samples, seed)
    parts = [of_optimiser(tasks, name, etas, seed) for name in RULES]
    return xarray.concat(parts, xarray.DataArray(list(RULES), dims="optimiser", name="optimiser"))


def of_optimiser(tasks: Tasks, name: str, etas, seed: int = 0) -> xarray.Dataset:
    """`run`'s numbers of one optimiser. Joint training takes the step size αη on the sum of the losses."""
    rule, count = RULES[name], BATCHES * EPOCHS
    theirs = batches(tasks, count, seed) if name in (SAME, OTHER) else [list(tasks.losses)] * count
    mine = batches(tasks, count, seed + 1) if name == OTHER else theirs
    down = torch.stack([-expansion.gradient(f, tasks.base) for f in tasks.losses])

    def numbers(eta):
        own = torch.stack([optimisers.path(rule, [losses[t] for losses in theirs], tasks.base, eta) for t in range(len(tasks.losses))])
        joint = optimisers.path(rule, [total(losses) for losses in mine], tasks.base, ALPHA * eta)
        gap = task_arithmetic(tasks.base, own, ALPHA) - joint
        cosine = torch.nn.functional.cosine_similarity
        return {"gap": gap.norm(dim=-1), "far": (joint - tasks.base).norm(dim=-1), "turn": 1 - cosine((own - tasks.base).sum(0), joint - tasks.base, dim=-1, eps=1e-30),
                "away": 1 - cosine(own - tasks.base, down[:, None], dim=-1, eps=1e-30).mean(0)}

    measured = torch.vmap(numbers)(torch.tensor(etas, dtype=torch.float64))
    return xarray.Dataset({key: (("eta", "step"), values[:, 1:].numpy()) for key, values in measured.items()}, coords={"eta": list(etas), "step": list(range(1, count + 1))})


def batches(tasks: Tasks, count: int, seed: int) -> list[list[networks.Function]]:
    """For every step, every task's loss on one batch; a new random order of its samples each epoch."""
    generator, found = torch.Generator().manual_seed(seed), []
    for _ in range(-(-count // BATCHES)):
        orders = [torch.randperm(len(y), generator=generator).chunk(BATCHES) for y in tasks.labels]
        found += [[loss_of(tasks.widths, tasks.activation, tasks.loss, x[order[b]], y[order[b]]) for x, y, order in zip(tasks.inputs, tasks.labels, orders)] for b in range(BATCHES)]
    return found[:count]


def numbers(sweep: xarray.Dataset) -> dict[str, float]:
    """With which power of η the gap falls, optimiser by optimiser, after two epochs and in the middle of the second; and how far Adam's direction is off."""
    end, tiny = int(sweep.step[-1]), dict(eta=slice(0, steps.TINY))
    powers = steps.slopes(sweep.gap)
    at = {"full_batch_power": (FULL, end), "momentum_power": (MOMENTUM, end), "same_power": (SAME, end), "other_power_middle": (OTHER, end - BATCHES // 2),
          "other_power_end": (OTHER, end), "adam_power": (ADAM, end)}
    return {name: powers.sel(optimiser=optimiser, step=step).item() for name, (optimiser, step) in at.items()} | {
        "adam_turn": sweep.turn.sel(optimiser=ADAM, step=end).isel(tiny).mean().item()}
