"""The measurements behind `goals.table`, those of lessons excepted, which the part `chapters` makes."""
import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from lessons.checkpoints.towers import B32, Tower
from lessons.merging import merge
from tools.bench import checkpoints, peers
from tools.bench.epoch import BATCH, OPERATIONS, WIDTHS
from tools.bench.goals import Figure, pairs, timed
from toy_models import MLP, ResNet18
from toy_models import training as training_rules

SHARD = 100_000_000  # bytes
SAMPLES = 6_400  # of an epoch, to measure it in less time
AGREE = 1e-4  # of the largest entry, between two decompositions
# shapes of one block of a transformer 384 wide
BLOCK = {**{f"{name}.weight": (384, 384) for name in ("q", "k", "v", "out")},
         "fc1.weight": (1536, 384), "fc2.weight": (384, 1536)}


@training_rules.one_thread()
def goals(tower: Tower = B32, repeats: int = 5) -> dict[str, Figure]:
    """The goals of merging and training, in one thread and in alternating pairs; about six minutes.

    Args:
        tower: of the merges from files.
        repeats: pairs of a merge in memory; of the slow methods and from files there are three.
    """
    figures: dict[str, Figure] = {}
    for width, methods, turns in ((64, ("average", "task_arithmetic"), repeats),
                                  (32, ("ties", "dare", "breadcrumbs"), 3)):
        base, *tuned = _random({key: tensor.shape for key, tensor in ResNet18(width, 100).state_dict().items()
                                if tensor.is_floating_point()})
        for method in methods:
            ours = functools.partial(_seconds, method, base, tuned)
            figures[method] = pairs(ours, peers.in_memory(method, base, tuned), turns)
    figures |= _decompositions() | {"epoch": _epoch(repeats)}
    with tempfile.TemporaryDirectory() as folder:
        checkpoints.write(Path(folder), tower)
        figures |= _files(Path(folder))
    return figures


def _random(shapes: Mapping[str, tuple[int, ...]]) -> list[dict[str, Tensor]]:
    """A base and `checkpoints.TASKS` finetuned models."""
    generator = torch.Generator().manual_seed(0)
    base = {key: 0.1 * torch.randn(shape, generator=generator) for key, shape in shapes.items()}
    return [base, *({key: tensor + 0.01 * torch.randn(tensor.shape, generator=generator)
                     for key, tensor in base.items()} for _ in range(checkpoints.TASKS))]


def _seconds(method, base, tuned, **parameters):
    return timed(lambda: merge(method, base, tuned, **parameters))


def _decompositions():
    """CART and TSV-M beside the same with a thin SVD."""
    base, *tuned = _random(BLOCK)
    figures = {}
    for method in ("cart", "tsv"):
        both = [merge(method, base, tuned, decomposition=how) for how in ("auto", "svd")]
        off = max(((one - other).abs().amax() / other.abs().amax()).item()
                  for one, other in zip(*(state.values() for state in both)))
        ours, slow = (functools.partial(_seconds, method, base, tuned, decomposition=how) for how in ("auto", "svd"))
        figures[method] = pairs(ours, {"SVD": slow}, 3)
        figures[method].said += f"; results differ by {off:.0e} of the largest entry"
        if off > AGREE:
            figures[method] = Figure(said=f"the results differ by {off:.0e}, so their times are not compared")
    return figures


def _epoch(repeats):
    """Steps of an epoch beside its first layer's product, repeated until it has as many operations."""
    network = MLP(WIDTHS).double()
    x, y = torch.rand(SAMPLES, WIDTHS[0]), torch.randint(WIDTHS[-1], (SAMPLES,))
    batch, weight = x[:BATCH].double(), torch.rand(WIDTHS[1], WIDTHS[0], dtype=torch.float64)
    times = round(OPERATIONS * SAMPLES / 60_000 / (2 * BATCH * WIDTHS[0] * WIDTHS[1]))

    def epoch():
        for rows in torch.randperm(SAMPLES).split(BATCH):
            network.sgd_step(x.index_select(0, rows), y.index_select(0, rows), 0.1)

    def products():
        for _ in range(times):
            batch @ weight.t()

    return pairs(lambda: timed(epoch), {"product": lambda: timed(products)}, repeats)


def _files(folder):
    """Merges from files beside mergekit's, and their memory."""
    figures = {}
    for method in ("average", "task_arithmetic"):
        run = functools.partial(peers.from_files, method=method, folder=folder)
        theirs = {"mergekit": functools.partial(run, "mergekit")} if "mergekit" in peers.installed() else {}
        figures[f"{method} files"] = pairs(functools.partial(run, "ours"), theirs, 3)
    if not checkpoints.STATUS.exists():
        return figures | {"memory": Figure(said="there is no /proc on this system")}
    peaks = {}
    for method in ("average", "task_arithmetic", "ties"):
        command = [sys.executable, "-m", "tools.bench.checkpoints", method, str(folder), str(SHARD)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        peaks[method] = json.loads(said.splitlines()[-1])[1]
    said = ", ".join(f"{method} {peak / 1e6:.0f} MB" for method, peak in peaks.items())
    return figures | {"memory": Figure([max(peaks.values()) / (2 * SHARD)], said=said)}
