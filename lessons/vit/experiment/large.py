"""A larger ViT for those who have a GPU: width 384, depth 6, Split CIFAR-100 in 20 groups, trained, merged and looked
at on the device. No other chapter and no test in CI needs it.

`python -m lessons.vit.experiment.large [--device auto] [--seeds 0 1 2]` says what there is to do and how long that
takes here, by a few timed steps, then begins.
"""
import argparse
import contextlib
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor, nn

import data
from data import split_cifar100
from lessons import suites
from lessons.cart.algorithms.spectra import Spectra
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity.algorithms import along, means
from lessons.merging import merge
from toy_models import training
from toy_models.tiny_vit import TEMPERATURE, Block, patches
from toy_models.weights import State

CHANNELS, SIDE, CLASSES = 3, 32, 100
DATASET = "split_cifar100"
PAIRS = 8  # of groups, between whose networks features are compared
SEARCHES = {  # method: (λ, its other parameter, values of that); CART has a grid of its own
    "average": ((1.0,), "", (0.0,)),
    "task_arithmetic": ((0.03, 0.05, 0.1, 0.2), "", (0.0,)),
    "ties": ((0.5, 1.0, 2.0), "density", (0.1, 0.4)),
    "tsv": ((0.25, 0.5, 0.75, 1.0), "", (0.0,)),
}


@dataclass(frozen=True)
class Settings:
    """How large, and how much is trained and looked at.

    Attributes:
        width, depth, heads, patch: of the ViT.
        groups: of five classes, each a task.
        epochs, lr: of pretraining on all groups.
        tuning_epochs, tuning_lr: of finetuning on one.
        size: training images a group, None for all.
        batch_size: of both.
        images: looked at, a group and part.
        ranks, lams: CART's grid.
    """
    width: int = 384
    depth: int = 6
    heads: int = 6
    patch: int = 4
    groups: int = 20
    epochs: int = 10
    lr: float = 1e-3
    tuning_epochs: int = 10
    tuning_lr: float = 1e-4
    size: int | None = None
    batch_size: int = 128
    images: int = 250
    ranks: tuple[float, ...] = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
    lams: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 3.0)


PROFILES = Profiles(full=Settings())


class ColourViT(nn.Module):
    """A `TinyViT` for colour images: a patch has the pixels of every channel.

    Args:
        settings: width, depth, heads and patch.

    The state dict's keys are `TinyViT`'s.
    """

    def __init__(self, settings: Settings):
        super().__init__()
        width = settings.width
        self.side = settings.patch
        self.patch = nn.Linear(CHANNELS * self.side ** 2, width)
        self.token = nn.Parameter(0.02 * torch.randn(width))
        self.position = nn.Parameter(0.02 * torch.randn((SIDE // self.side) ** 2 + 1, width))
        self.blocks = nn.ModuleList(Block(width, settings.heads) for _ in range(settings.depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES, bias=False)
        self.float()

    def embedded(self, x: Tensor) -> Tensor:
        """What goes into the first block, of images (samples, channels, height, width)."""
        cut = torch.cat([patches(channel, self.side) for channel in x.unbind(1)], 2)
        return torch.cat([self.token.expand(len(x), 1, -1), self.patch(cut)], 1) + self.position

    def features(self, x: Tensor) -> dict[str, Tensor]:
        """The stream after every block, (samples, places + 1, width); "pooled"; "output", the logits."""
        h = self.embedded(x)
        found = {}
        for number, block in enumerate(self.blocks, 1):
            h = found[f"block {number}"] = block(h)
        found["pooled"] = self.norm(h[:, 0])
        directions = F.normalize(self.head.weight, dim=1)
        found["output"] = TEMPERATURE * F.linear(F.normalize(found["pooled"], dim=1), directions)
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Logits (samples, classes)."""
        return self.features(x)["output"]


class Bench:
    """The network and the images of all groups on a device.

    Attributes:
        device: where everything is.
        settings: how much.
    """

    def __init__(self, settings: Settings, seed: int, device: str = "auto"):
        self.settings = settings
        self.device = training.resolve(device)
        self.seed = seed
        torch.manual_seed(seed)
        self.network = ColourViT(settings).to(self.device)
        self.groups = range(settings.groups)

    def images(self, group: int, part: str) -> tuple[Tensor, Tensor]:
        """x, y of a group: "train", "held-out" (even-numbered test images) or "test" (odd-numbered)."""
        if part == "train":
            whole = data.load(DATASET, "train", splits=(group,), size=self.settings.size)
            x, y = whole.x, whole.y
        else:
            whole = data.load(DATASET, "test", splits=(group,))
            first = suites.PARTS.index(part)
            x, y = whole.x[first::2][:self.settings.images], whole.y[first::2][:self.settings.images]
        return x.to(self.device), y.to(self.device)

    def mixed(self) -> contextlib.AbstractContextManager:
        """bfloat16 where the device is a GPU that has it; weights and optimiser stay in float32."""
        fast = self.device.type == "cuda" and training.trains_in_bfloat16(self.device)
        return torch.autocast(self.device.type, torch.bfloat16, enabled=fast)

    def trained(self, start: State, groups: Iterable[int], epochs: int, lr: float, frozen: bool) -> State:
        """The network after so many passes from these weights, with AdamW, warm-up and cosine; `frozen`: the head stays
        as it is."""
        parts = [self.images(group, "train") for group in groups]
        x, y = torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])
        self.network.load_state_dict(start)
        parameters = training.trained_part(self.network, ("head.",) if frozen else ())
        optimiser = torch.optim.AdamW(parameters, lr=lr)
        steps = epochs * math.ceil(len(x) / self.settings.batch_size)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: training.share_of_rate(step, steps))
        classes = y.unique()
        order = torch.Generator().manual_seed(self.seed)
        for _ in range(epochs):
            for batch in torch.randperm(len(x), generator=order).to(self.device).split(self.settings.batch_size):
                self.step(x[batch], torch.searchsorted(classes, y[batch]), classes, optimiser)
                schedule.step()
        return {key: tensor.detach().clone() for key, tensor in self.network.state_dict().items()}

    def step(self, x: Tensor, y: Tensor, classes: Tensor, optimiser: torch.optim.Optimizer) -> None:
        """One step of the optimiser on the cross-entropy among these classes."""
        optimiser.zero_grad()
        with self.mixed():
            logits = self.network(x)[:, classes]
        F.cross_entropy(logits.float(), y).backward()
        optimiser.step()

    @torch.no_grad()
    def accuracy(self, state: State, group: int, part: str = "test") -> float:
        """The share correct on a group, among its own five classes."""
        self.network.load_state_dict(state)
        x, y = self.images(group, part)
        with self.mixed():
            logits = torch.cat([self.network(some) for some in x.split(self.settings.batch_size)])
        return suites.share_correct_among(logits.float(), y, group)

    def accuracies(self, state: State, part: str = "test") -> list[float]:
        """Of every group."""
        return [self.accuracy(state, group, part) for group in self.groups]

    @torch.no_grad()
    def features(self, state: State, x: Tensor) -> dict[str, Tensor]:
        """{layer: (samples, numbers)} in float32."""
        self.network.load_state_dict(state)
        return {layer: found.flatten(1) for layer, found in self.network.features(x).items()}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train, merge and look.

    Returns:
        A Dataset with test (reported, group): accuracy of θ₀, of the single networks and of every method with what
        held-out images chose; chosen (searched, which: λ and other); cart (rank, lam): held-out accuracy; gap, own
        (layer): half-way, mean over pairs and test images; length (group): ‖τ‖/‖θ₀‖; seconds (stage).
    """
    bench = Bench(settings, seed, device)
    seconds = {}
    with timed(seconds, "pretraining", bench.device):
        start = {key: tensor.detach().clone() for key, tensor in bench.network.state_dict().items()}
        base = bench.trained(start, bench.groups, settings.epochs, settings.lr, frozen=False)
    with timed(seconds, "finetuning", bench.device):
        tuned = [bench.trained(base, [group], settings.tuning_epochs, settings.tuning_lr, frozen=True)
                 for group in bench.groups]
    rows = {"θ₀": bench.accuracies(base),
            "single": [bench.accuracy(state, group) for group, state in enumerate(tuned)]}
    with timed(seconds, "merging and looking", bench.device):
        found, chosen, grid = merged(bench, base, tuned)
    with timed(seconds, "linearity", bench.device):
        layers, gap, own = linearity(bench, tuned)
    sets = {"test": (("reported", "group"), np.array(list((rows | found).values()))),
            "chosen": (("searched", "which"), np.array(list(chosen.values()))), "cart": (("rank", "lam"), grid),
            "gap": ("layer", gap), "own": ("layer", own), "length": ("group", lengths(base, tuned)),
            "seconds": ("stage", list(seconds.values()))}
    return xarray.Dataset(sets, {"reported": [*rows, *found], "group": list(bench.groups), "searched": list(chosen),
                                 "which": ["λ", "other"], "rank": list(settings.ranks), "lam": list(settings.lams),
                                 "layer": layers, "stage": list(seconds)},
                          {"images": f"{settings.images} held-out and {settings.images} test images a group",
                           "test_images": settings.groups * settings.images, "device": named(bench.device)})


def merged(bench: Bench, base: State, tuned: list[State]) -> tuple[dict, dict, np.ndarray]:
    """{method: accuracies}, {method: (λ, other)} that held-out images chose, and CART's held-out grid (ranks, lams)."""
    settings = bench.settings
    found, chosen = {}, {}
    for method, (scales, name, values) in SEARCHES.items():
        places = [(scale, value) for value in values for scale in scales]

        def made(place, method=method, name=name):
            scale, value = place
            parameters = {} if method == "average" else {"scale": scale}
            return merge(method, base, tuned, **parameters, **({name: value} if name else {}))

        chosen[method] = max(places, key=lambda place: np.mean(bench.accuracies(made(place), "held-out")))
        found[method] = bench.accuracies(made(chosen[method]))
    spectra = Spectra(base, tuned)
    grid = [[np.mean(bench.accuracies(spectra.merged(lam, rank), "held-out")) for lam in settings.lams]
            for rank in settings.ranks]
    row, column = np.unravel_index(np.argmax(grid), (len(settings.ranks), len(settings.lams)))
    chosen["cart"] = (settings.lams[column], settings.ranks[row])
    found["cart"] = bench.accuracies(spectra.merged(*chosen["cart"]))
    return found, chosen, np.array(grid)


def linearity(bench: Bench, tuned: list[State]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """(layers, gap half-way (layers,), own distance (layers,))."""
    rows = []
    for i in range(min(PAIRS, len(tuned) - 1)):
        x = torch.cat([bench.images(group, "test")[0] for group in (i, i + 1)])
        line = along(bench.features, *tuned[i:i + 2], (0.5,), parts=(x,), summary=means)
        rows.append([line.gap_mean.values[0], line.own_mean.values])
    gap, own = np.mean(rows, 0)
    return list(map(str, line.layer.values)), gap, own


def lengths(base: State, tuned: list[State]) -> list[float]:
    """‖τ‖/‖θ₀‖ of every task."""
    whole = math.sqrt(sum(float(tensor.square().sum()) for tensor in base.values()))
    squares = [sum(float((state[key] - base[key]).square().sum()) for key in base) for state in tuned]
    return [math.sqrt(square) / whole for square in squares]


def named(device: torch.device) -> str:
    """The device, for captions."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"


@contextlib.contextmanager
def timed(seconds: dict[str, float], stage: str, device: torch.device):
    """Write how long the block took into `seconds`."""
    start = time.perf_counter()
    yield
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    seconds[stage] = time.perf_counter() - start


def estimate(settings: Settings, device: str = "auto", steps: int = 5,
             say: Callable[[str], None] = print) -> float:
    """Time a few steps on random images, and say how long a seed takes here; its seconds."""
    bench = Bench(settings, 0, device)
    classes = torch.arange(CLASSES, device=bench.device)
    optimiser = torch.optim.AdamW(bench.network.parameters(), lr=1e-9)
    x = torch.randn(settings.batch_size, CHANNELS, SIDE, SIDE, device=bench.device)
    y = torch.arange(settings.batch_size, device=bench.device) % CLASSES
    bench.step(x, y, classes, optimiser)  # the first one also loads kernels
    seconds = {}
    with timed(seconds, "steps", bench.device):
        for _ in range(steps):
            bench.step(x, y, classes, optimiser)
    an_image = seconds["steps"] / steps / settings.batch_size
    of_a_group = settings.size or 500 * split_cifar100.CLASSES_PER_SPLIT
    trained = settings.groups * of_a_group * (settings.epochs + settings.tuning_epochs)
    states = sum(len(scales) * len(values) for scales, _, values in SEARCHES.values())
    states += len(settings.ranks) * len(settings.lams) + 10
    looked = states * settings.groups * settings.images / 3  # a look has no backward pass
    found = an_image * (trained + looked)
    millions = sum(parameter.numel() for parameter in bench.network.parameters()) / 1e6
    say(f"A ViT of {millions:.1f} million parameters on {named(bench.device)}: {trained:,} training images a seed, "
        f"{1000 * an_image:.2f} ms each. A seed takes about {found / 60:.0f} minutes, with nothing kept between.")
    return found


EXPERIMENT = Experiment("vit-large", measure, PROFILES, lambda: data.source(DATASET, splits=tuple(range(20))),
                        "Split CIFAR-100", network="ViT of width 384 and depth 6", one_thread=False)
run = EXPERIMENT.run


def report(found: xarray.Dataset) -> str:
    """A sweep in a few lines."""
    means = ", ".join(f"{name} {float(found.test.sel(reported=name).mean()):.3f}" for name in found.reported.values)
    shares = found.gap / found.own
    last = ", ".join(f"{name} {float(shares.sel(layer=name)):.3f}" for name in found.layer.values)
    took = ", ".join(f"{name} {float(found.seconds.sel(stage=name)):.0f} s" for name in found.stage.values)
    return (f"{found.attrs['device']}: {means}; task vectors {float(found.length.mean()):.3f} of θ₀; "
            f"gap over own distance half-way: {last}; {took}")


def main(arguments=None) -> None:
    """Say how long it takes; then measure every seed and print it."""
    parser = argparse.ArgumentParser(prog="python -m lessons.vit.experiment.large", description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    asked = parser.parse_args(arguments)
    estimate(PROFILES["full"], asked.device)
    for seed in asked.seeds:
        print(f"seed {seed}: {report(run('full', seed, asked.device))}", flush=True)


if __name__ == "__main__":
    main()
