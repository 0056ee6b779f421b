"""Why the gap grows from block to block, half-way between two ResNets, and why it falls back behind the last one.

Two operations on the half-way network. One block alone is given the exact mix of what enters it in the two ends: what
it misses then, it misses by itself. And a block's output is replaced by the exact mix: what is then left at the last
block began above it. Within one block chapter 1's frozen ReLUs tell kinks from curvature; through all seventeen ReLUs
at once they do not, since the frozen networks are then far from what they were.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from torch import Tensor, nn
from tqdm.auto import tqdm

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity import algorithms
from lessons.resnet.algorithms import treated
from lessons.resnet.experiment import pairs
from lessons.resnet.experiment.line import images_of
from toy_models import ResNet18, training, weights

ALPHA = 0.5
TREATMENTS = ("interpolated", "re-estimated")
GATES = ("half-way", "θᵢ", "θⱼ")  # of which network the ReLUs are frozen at


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    lines: pairs.Settings  # the networks between which this is measured
    test_images: int  # per task


PROFILES = Profiles(quick=Settings(pairs.PROFILES["quick"], 15), full=Settings(pairs.PROFILES["full"], 50))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All numbers, half-way between two networks, on test images of both tasks.

    Returns:
        A Dataset over treatment (2), pair (6) and block (8) with
        gap, own: 1 − cos to the mixed features, and between the ends; pooled_gap, pooled_own: the same where every
        channel is averaged over its pixels first;
        alone: the gap of the block by itself, given the exact mix of what enters it;
        kinks (…, gates): the share of what it misses alone that is due to units which are on in one end and off in the
        other (`algorithms.part_of`); the rest is curvature;
        repaired: the gap in block 8 when this block's output is replaced by the exact mix.
    """
    networks = pairs.models(settings.lines, seed, device)
    rows = []
    for i, j in tqdm(pairs.PAIRS.values(), desc="taking apart", unit="pair"):
        x = torch.cat([images_of(task, "test", settings.test_images)[0] for task in (i, j)])
        seen = torch.cat([images_of(task, "train", settings.lines.statistics_images)[0] for task in (i, j)])
        states = [networks[task].state_dict() for task in (i, j)]
        three = [*map(ResNet18.from_state, states), ResNet18.from_state(weights.interpolate(*states, ALPHA))]
        for treatment in TREATMENTS:
            shown = [treated(network, treatment, seen, device) for network in three]
            rows.append(of_pair(*shown, x.to(training.resolve(device))))
    grid = (len(pairs.PAIRS), len(TREATMENTS), len(rows[0]["gap"]))
    variables = {name: (("pair", "treatment", "block", "gates")[:np.ndim(rows[0][name]) + 2],
                        np.reshape([row[name] for row in rows], (*grid, *np.shape(rows[0][name])[1:])))
             for name in rows[0]}
    coords = {"pair": list(pairs.PAIRS), "treatment": list(TREATMENTS), "block": range(1, grid[-1] + 1),
              "gates": list(GATES)}
    return xarray.Dataset(variables, coords).assign_attrs(images=f"{2 * settings.test_images:,} test images a pair")


@torch.no_grad()
def of_pair(network_i: ResNet18, network_j: ResNet18, middle: ResNet18, x: Tensor) -> dict[str, list]:
    """The numbers of one pair, as `measure` says: for each name a list over the blocks.

    Args:
        network_i, network_j: the two ends.
        middle: the network half-way.
        x: images (samples, 3, 32, 32).
    """
    h_i, h_j, h = (_through_all(network, x) for network in (network_i, network_j, middle))
    mixed = [algorithms.mix(a, b, ALPHA) for a, b in zip(h_i, h_j)]
    numbers = {name: [] for name in ("gap", "own", "pooled_gap", "pooled_own", "alone", "kinks", "repaired")}
    for number, blocks in enumerate(zip(network_i.blocks, network_j.blocks, middle.blocks)):
        before, after = number, number + 1
        numbers["gap"].append(_apart(h[after], mixed[after]))
        numbers["own"].append(_apart(h_i[after], h_j[after]))
        numbers["pooled_gap"].append(_apart(*(some.mean((2, 3)) for some in (h[after], mixed[after]))))
        numbers["pooled_own"].append(_apart(*(some.mean((2, 3)) for some in (h_i[after], h_j[after]))))
        alone, _ = through(blocks[-1], mixed[before])
        numbers["alone"].append(_apart(alone, mixed[after]))
        numbers["kinks"].append(_kinks(blocks, (h_i[before], h_j[before], mixed[before]), alone - mixed[after]))
        repaired = mixed[after]
        for block in middle.blocks[after:]:
            repaired, _ = through(block, repaired)
        numbers["repaired"].append(_apart(repaired, mixed[-1]))
    return numbers


def through(block: nn.Module, h: Tensor, gates: Sequence[Tensor] | None = None) -> tuple[Tensor, list[Tensor]]:
    """What a residual block makes of h (samples, channels, height, width), and its two ReLUs' gates: where they let
    their input pass.

    Args:
        gates: left out, a ReLU lets pass what is above 0. With the gates of another network the ReLUs are frozen.
    """
    inner = block.bn1(block.conv1(h))
    first = inner > 0 if gates is None else gates[0]
    outer = block.bn2(block.conv2(inner * first)) + block.shortcut(h)
    second = outer > 0 if gates is None else gates[1]
    return outer * second, [first, second]


def _through_all(network, x):
    """What enters block 1, and what every block gives."""
    entering = [torch.relu(network.stem(x))]
    for block in network.blocks:
        entering.append(through(block, entering[-1])[0])
    return entering


def _kinks(blocks, entering, missed):
    """The share of kinks in what a block misses by itself, its ReLUs frozen at each of three networks.

    blocks, entering: of θᵢ, of θⱼ and of the half-way network, which is given the mix.
    """
    gates = [through(block, h)[1] for block, h in zip(blocks, entering)]
    kinks = []
    for frozen_at in (gates[-1], *gates[:-1]):
        frozen_i, frozen_j, frozen = (through(block, h, frozen_at)[0] for block, h in zip(blocks, entering))
        curvature = frozen - algorithms.mix(frozen_i, frozen_j, ALPHA)
        kinks.append(1 - algorithms.part_of(*(some.flatten(1).double() for some in (curvature, missed))))
    return kinks


def _apart(a, b):
    """1 − cos, image by image, on average."""
    return (1 - algorithms.cosine(a.flatten(1), b.flatten(1))).nanmean().item()


def summary(sweep: xarray.Dataset) -> dict[str, xarray.DataArray]:
    """What the chapter says of the causes, mean over pairs, per treatment and block: the gap as a share of the ends'
    own distance, as it is ("share"), of the block alone ("alone") and where pixels are averaged ("pooled"); the share
    of block 8's gap that is left when a block is repaired ("left"); and the share of kinks, the least and the most that
    the three ways of freezing give ("kinks_least", "kinks_most")."""
    of_pairs = {"share": sweep.gap / sweep.own, "alone": sweep.alone / sweep.own,
                "pooled": sweep.pooled_gap / sweep.pooled_own, "left": sweep.repaired / sweep.gap.isel(block=-1)}
    kinks = sweep.kinks.mean("pair")
    means = {name: values.mean("pair") for name, values in of_pairs.items()}
    return means | {"kinks_least": kinks.min("gates"), "kinks_most": kinks.max("gates")}


CAUSES = Experiment("resnet-causes", measure, PROFILES, pairs.source, "CIFAR-100", one_thread=False,
                    recipes=lambda settings, seed: pairs.recipes(settings.lines, seed).values())
run = CAUSES.run
