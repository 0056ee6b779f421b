"""Is it what pretrained weights have learned that makes finetuning more linear, or how long they are? Two controls
beside pretrained and random weights, each network when a fifth of its squared error is left, as in `causes`, and when
all of them have the same error."""
from dataclasses import replace

import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.linearization.algorithms import dynamics
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.experiment import causes, common
from lessons.linearization.experiment.common import PRETRAINED, RANDOM

AS_LONG, SHUFFLED = "random weights, as long as pretrained ones", "pretrained weights, shuffled within layers"
STARTS = (PRETRAINED, RANDOM, AS_LONG, SHUFFLED)


def starts_of(net: Net, pretrained: torch.Tensor, random: torch.Tensor, seed: int = 0) -> dict[str, torch.Tensor]:
    """{name: θ₀ (parameters,)}: pretrained and random weights; random ones whose layers have the pretrained layers'
    lengths; and pretrained ones whose entries stand in random places of their layer."""
    generator = torch.Generator().manual_seed(seed)
    pairs = list(zip(pretrained.split(net.sizes), random.split(net.sizes)))
    as_long = torch.cat([drawn * trained.norm() / drawn.norm() for trained, drawn in pairs])
    shuffled = torch.cat([trained[torch.randperm(len(trained), generator=generator)] for trained, _ in pairs])
    return dict(zip(STARTS, (pretrained, random, as_long, shuffled)))


def measure(settings: causes.Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over start (the names of `STARTS`) with taylor, the relative Taylor gap on test images when a fifth of
        R̃ is left; taylor_same, that gap when R̃ is as large as with the pretrained weights then; and length, of θ₀.
    """
    width, angle = settings.widths[1], settings.angles[1]
    net = Net((common.SIDE ** 2, width, width, 1), "tanh")
    task, plain = (common.task(net, settings.n, angle, seed, settings.test, start, settings.images,
                               settings.pretraining) for start in (PRETRAINED, RANDOM))
    starts = starts_of(net, task.theta_0, plain.theta_0, seed)
    target = causes.LEFT * dynamics.error(net, task.theta_0, task.x, task.y).item()
    gaps, same = ([causes.at_a_fifth(replace(task, theta_0=theta_0), 0.0, stop)["taylor"]
                   for theta_0 in starts.values()] for stop in (None, target))
    lengths = [theta_0.norm().item() for theta_0 in starts.values()]
    numbers = {"taylor": gaps, "taylor_same": same, "length": lengths}
    return xarray.Dataset({name: ("start", values) for name, values in numbers.items()}, {"start": list(starts)},
                          {"images": f"{settings.n} training, {settings.test:,} test images",
                           "network": f"an MLP 196–{width}–{width}–1, tanh, float64"})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers of LFT-11 that this experiment gives: {claim: {number: value}}. What each means stands in
    claims.yaml."""
    gaps, same, lengths = (sweep[name].to_series() for name in ("taylor", "taylor_same", "length"))
    return {"LFT-11": {
        "fifth_as_long_over_pretrained": float(gaps[AS_LONG] / gaps[PRETRAINED]),
        "fifth_shuffled_over_pretrained": float(gaps[SHUFFLED] / gaps[PRETRAINED]),
        "same_random_over_pretrained": float(same[RANDOM] / same[PRETRAINED]),
        "same_as_long_over_pretrained": float(same[AS_LONG] / same[PRETRAINED]),
        "same_shuffled_over_pretrained": float(same[SHUFFLED] / same[PRETRAINED]),
        "fifth_length_pretrained_over_random": float(lengths[PRETRAINED] / lengths[RANDOM])}}


EXPERIMENT = Experiment("linearization-lengths", measure, causes.PROFILES, common.source, "MNIST", claims=claims)
run = EXPERIMENT.run
