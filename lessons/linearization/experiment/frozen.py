"""Why LoRA bends a network more (a control to LFT-14): with A frozen B·A is linear in what is tuned, so a network that
is bent as much cannot owe that to the product; and the step of the whole matrices, made as long as LoRA's."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid
from lessons.linearization.algorithms import kernel
from lessons.linearization.algorithms import lora as low_rank
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.experiment import common, lora

RANKS = (1, 4, 16)
BOTH, ONLY_B, STRETCHED = "A and B", "B alone", "whole step, as long"
WAYS = (BOTH, ONLY_B, STRETCHED)


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    task: lora.Settings  # network, samples, pretraining and steps
    draws: int  # of A at every rank


PROFILES = Profiles(quick=Settings(lora.PROFILES["quick"], draws=1), full=Settings(lora.PROFILES["full"], draws=2))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over rank, draw (of A) and way (`BOTH` tuned, `ONLY_B`, or the step of the network that was tuned
        whole, made as long as that of `BOTH`), with
        taylor: the Taylor gap over the move of the answers, on test images; left: the share of R̃; moved: ‖ΔW‖;
        and A_moved (rank, draw): how far A went, over its length, where it is tuned;
        whole (): taylor of the network that was tuned whole; whole_moved: its ‖ΔW‖.
    """
    small = settings.task
    task = common.task(Net(small.widths, "ReLU"), small.n, lora.ANGLE, seed, small.test, images=small.images,
                       steps=small.pretraining)
    K = low_rank.full_blocks(task.net, task.theta_0, task.x).sum(0)
    finetuned = lora.trained_whole(task, _step_size(K), small.steps)
    step = finetuned["theta"] - task.theta_0
    rows = []
    for rank in RANKS:
        for draw in range(settings.draws):
            A = low_rank.drawn(task.net, rank, 1000 * seed + draw)
            eta = _step_size(low_rank.blocks(task.net, task.theta_0, task.x, A).sum(0))
            both = lora.trained(task, A, eta, small.steps)
            only_b = lora.trained(task, A, eta, small.steps, freeze=True)
            longer = step * both["moved"] / step.norm()
            stretched = lora.bent(task, task.theta_0 + longer, longer) | {"left": np.nan}
            of_ways = {name: ("way", [numbers[name] for numbers in (both, only_b, stretched)])
                       for name in ("taylor", "left", "moved")}
            rows.append(of_ways | {"A_moved": both["A_moved"]})
    sweep = on_grid(rows, rank=RANKS, draw=range(settings.draws)).assign_coords(way=list(WAYS))
    sweep["whole"], sweep["whole_moved"] = finetuned["taylor"], finetuned["moved"]
    return sweep.assign_attrs(images=f"{small.n} training, {small.test:,} test images",
                              network=f"MLP {'–'.join(map(str, small.widths))}, ReLU, float64")


def _step_size(K):
    return lora.GD_SHARE / kernel.spectrum(K, torch.ones(len(K), dtype=K.dtype))[0].max().item()


def learned(sweep: xarray.Dataset) -> xarray.Dataset:
    """The sweep with NaN at the ranks and draws with which a network ran out of steps."""
    return sweep.where((sweep.left.sel(way=[BOTH, ONLY_B]) <= 1.05 * lora.LEFT).all("way"))


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """LFT-14: over all ranks and draws with which both networks learned, the relative Taylor gap with A frozen over
    that with A tuned, geometric mean, least and most; the same mean of the gap of the whole step, made as long; and how
    far A moved at most."""
    both, alone, longer = (learned(sweep).taylor.sel(way=way, drop=True) for way in WAYS)
    frozen, stretched = alone / both, longer / both
    return {"LFT-14": {"frozen_over_tuned": float(np.exp(np.log(frozen).mean())),
                       "frozen_over_tuned_least": float(frozen.min()), "frozen_over_tuned_most": float(frozen.max()),
                       "stretched_over_tuned": float(np.exp(np.log(stretched).mean())),
                       "A_moved_most": float(sweep.A_moved.max())}}


EXPERIMENT = Experiment("linearization-frozen", measure, PROFILES, common.source, "MNIST", claims=claims,
                        ledger={"full": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run


def shown(profile: str, seed: int, device: str = "auto") -> xarray.Dataset:
    """The sweep of profile full that the repository has of this seed, because in quick many networks run out of steps;
    where it has none, that of the profile."""
    known = EXPERIMENT.archived("full", seed)
    return run(profile, seed, device) if known is None else known
