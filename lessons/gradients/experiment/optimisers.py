"""Beyond full batches: which optimisers keep task arithmetic close to joint training, and which do not. In float64."""
from dataclasses import dataclass

import torch
import xarray
from torch.nn.functional import cosine_similarity

from data.types import Source
from lessons.gradients.algorithms import expansion, networks, optimisers
from lessons.gradients.algorithms.expansion import task_arithmetic, total
from lessons.gradients.algorithms.networks import loss_of
from lessons.gradients.experiment import common, steps
from lessons.gradients.experiment.common import DIGITS, Tasks
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles

BATCHES = 4
EPOCHS = 2
ALPHA = 0.5
FULL = "full batch"
SAME = "SGD, the same batches"
OTHER = "SGD, other batches"
MOMENTUM = "full batch, momentum"
ADAM = "full batch, Adam"
RULES = {FULL: optimisers.plain, MOMENTUM: optimisers.momentum, SAME: optimisers.plain, OTHER: optimisers.plain,
         ADAM: optimisers.adam}


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    samples: int  # of each task
    etas: tuple[float, ...]  # step sizes


PROFILES = Profiles(quick=Settings(samples=60, etas=tuple(10.0 ** (-4 + i / 2) for i in range(5))),
                    full=Settings(samples=200, etas=tuple(10.0 ** (-4 + i / 4) for i in range(11))))


def source() -> Source:
    """Where the digits come from."""
    return common.digits_source(" shrunk to 14×14")


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over optimiser: 5, step: 9 and eta, with
        gap, far: ‖θ_TA − θ_MT‖ and ‖θ_MT − θ_base‖; turn: 1 − cosine between θ_TA − θ_base and θ_MT − θ_base, which
        no α changes for θ_TA;
        away: 1 − cosine between τ_t and −∇L_t(θ_base), the gradient on all samples, mean over the tasks.
    """
    tasks = common.tasks(DIGITS, "tanh", "cross-entropy", settings.samples, seed)
    parts = [of_optimiser(tasks, name, settings.etas, seed) for name in RULES]
    sweep = xarray.concat(parts, xarray.DataArray(list(RULES), dims="optimiser", name="optimiser"))
    images = f"{settings.samples} training images of each of four tasks, {BATCHES} batches"
    return sweep.assign_attrs(images=images)


def of_optimiser(tasks: Tasks, name: str, etas, seed: int = 0) -> xarray.Dataset:
    """`measure`'s numbers of one optimiser. Joint training takes the step size αη on the sum of the losses."""
    rule = RULES[name]
    count = BATCHES * EPOCHS
    theirs = batches(tasks, count, seed) if name in (SAME, OTHER) else [list(tasks.losses)] * count
    mine = batches(tasks, count, seed + 1) if name == OTHER else theirs
    sums = [total(losses) for losses in mine]
    down = torch.stack([-expansion.gradient(f, tasks.base) for f in tasks.losses])

    def lengths(eta):
        paths = [optimisers.path(rule, losses, tasks.base, eta) for losses in zip(*theirs)]
        ways = torch.stack(paths) - tasks.base
        joint = optimisers.path(rule, sums, tasks.base, ALPHA * eta)
        gap = task_arithmetic(tasks.base, torch.stack(paths), ALPHA) - joint
        turn = 1 - cosine_similarity(ways.sum(0), joint - tasks.base, dim=-1, eps=1e-30)
        away = 1 - cosine_similarity(ways, down[:, None], dim=-1, eps=1e-30).mean(0)
        return {"gap": gap.norm(dim=-1), "far": (joint - tasks.base).norm(dim=-1), "turn": turn, "away": away}

    measured = torch.vmap(lengths)(torch.tensor(etas, dtype=torch.float64))
    values = {key: (("eta", "step"), value[:, 1:].numpy()) for key, value in measured.items()}
    return xarray.Dataset(values, coords={"eta": list(etas), "step": list(range(1, count + 1))})


def batches(tasks: Tasks, count: int, seed: int) -> list[list[networks.Function]]:
    """For every step, every task's loss on one batch; a new random order of its samples each epoch."""
    generator = torch.Generator().manual_seed(seed)
    losses = []
    for _ in range(-(-count // BATCHES)):
        orders = [torch.randperm(len(y), generator=generator).chunk(BATCHES) for y in tasks.labels]
        for step in zip(*orders):
            losses.append([loss_of(tasks.widths, tasks.activation, tasks.loss, x[batch], y[batch])
                           for x, y, batch in zip(tasks.inputs, tasks.labels, step)])
    return losses[:count]


def numbers(sweep: xarray.Dataset) -> dict[str, float]:
    """With which power of η the gap falls, optimiser by optimiser, after two epochs and in the middle of the second;
    and how far Adam's direction is off."""
    end = int(sweep.step[-1])
    middle = end - BATCHES // 2
    powers = steps.slopes(sweep.gap)
    places = {"full_batch_power": (FULL, end),
              "momentum_power": (MOMENTUM, end),
              "same_power": (SAME, end),
              "other_power_middle": (OTHER, middle),
              "other_power_end": (OTHER, end),
              "adam_power": (ADAM, end)}
    values = {name: powers.sel(optimiser=rule, step=step).item() for name, (rule, step) in places.items()}
    turn = sweep.turn.sel(optimiser=ADAM, step=end)
    return values | {"adam_turn": turn.isel(eta=slice(0, steps.TINY)).mean().item()}


EXPERIMENT = Experiment("gradients-optimisers", measure, PROFILES, source, "MNIST",
                        network="tanh network 196–8–8–10, cross-entropy")
run = EXPERIMENT.run
