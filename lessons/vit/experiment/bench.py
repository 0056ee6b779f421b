"""What `large` is trained and looked at on: a device, with bfloat16 where that has it, and the images of a group."""
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

import data
from lessons import suites
from lessons.kit.profiles import Profiles
from toy_models import training
from toy_models.colour_vit import ColourViT
from toy_models.weights import State

DATASET = "split_cifar100"


@dataclass(frozen=True)
class Settings:
    """How large, and how much is trained and looked at."""
    width: int = 384
    depth: int = 6
    heads: int = 6
    patch: int = 4  # side, in pixels
    groups: int = 20  # of five classes, each a task
    known: int = 20  # pretraining sees the first so many groups
    epochs: int = 10  # of pretraining on these
    lr: float = 1e-3
    tuning_epochs: int = 10  # of finetuning on one
    tuning_lr: float = 1e-4
    size: int | None = None  # training images a group, None for all
    batch_size: int = 128
    images: int = 250  # looked at, a group and part
    ranks: tuple[float, ...] = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64)  # CART's grid
    lams: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 3.0)


PROFILES = Profiles(full=Settings())


class Bench:
    """The network on a device, drawn with the seed, and what is done with it there. The network's weights are those
    that were last trained or looked at."""

    def __init__(self, settings: Settings, seed: int, device: str = "auto"):
        self.settings, self.seed, self.device = settings, seed, training.resolve(device)
        torch.manual_seed(seed)
        network = ColourViT(settings.width, settings.depth, settings.heads, settings.patch)
        self.network = network.to(self.device)

    @property
    def state(self) -> State:
        """A copy of the network's weights."""
        return {key: tensor.detach().clone() for key, tensor in self.network.state_dict().items()}

    def images(self, group: int, part: str) -> tuple[Tensor, Tensor]:
        """x, y of a group: "train", "held-out" (even-numbered test images) or "test" (odd-numbered)."""
        if part == "train":
            images = data.load(DATASET, "train", splits=(group,), size=self.settings.size)
            return images.x.to(self.device), images.y.to(self.device)
        images, every_second = data.load(DATASET, "test", splits=(group,)), slice(suites.PARTS.index(part), None, 2)
        x, y = (values[every_second][:self.settings.images] for values in (images.x, images.y))
        return x.to(self.device), y.to(self.device)

    def logits(self, x: Tensor) -> Tensor:
        """(samples, classes) in float32, from products in bfloat16 where the device is a GPU that has it; weights and
        optimiser stay in float32."""
        fast = self.device.type == "cuda" and training.trains_in_bfloat16(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=fast):
            logits = self.network(x)
        return logits.float()

    def trained(self, start: State, groups: Iterable[int], epochs: int, lr: float, frozen: bool) -> State:
        """The network after so many passes from these weights, with AdamW, warm-up and cosine; `frozen`: the head stays
        as it is."""
        x, y = (torch.cat(parts) for parts in zip(*(self.images(group, "train") for group in groups)))
        self.network.load_state_dict(start)
        optimiser = torch.optim.AdamW(training.trained_part(self.network, ("head.",) if frozen else ()), lr=lr)
        steps = epochs * math.ceil(len(x) / self.settings.batch_size)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: training.share_of_rate(step, steps))
        classes = y.unique()
        order = torch.Generator().manual_seed(self.seed)
        for _ in range(epochs):
            for batch in torch.randperm(len(x), generator=order).to(self.device).split(self.settings.batch_size):
                self.step(x[batch], torch.searchsorted(classes, y[batch]), classes, optimiser)
                schedule.step()
        return self.state

    def step(self, x: Tensor, y: Tensor, classes: Tensor, optimiser: torch.optim.Optimizer) -> None:
        """One step of the optimiser on the cross-entropy among these classes."""
        optimiser.zero_grad()
        F.cross_entropy(self.logits(x)[:, classes], y).backward()
        optimiser.step()

    @torch.no_grad()
    def accuracy(self, state: State, group: int, part: str = "test") -> float:
        """The share correct on a group, among its own five classes."""
        self.network.load_state_dict(state)
        x, y = self.images(group, part)
        logits = torch.cat([self.logits(batch) for batch in x.split(self.settings.batch_size)])
        return suites.share_correct_among(logits, y, group)

    def accuracies(self, state: State, part: str = "test") -> list[float]:
        """Of every group."""
        return [self.accuracy(state, group, part) for group in range(self.settings.groups)]

    @torch.no_grad()
    def features(self, state: State, x: Tensor) -> dict[str, Tensor]:
        """{layer: (samples, numbers)} in float32."""
        self.network.load_state_dict(state)
        return {layer: values.flatten(1) for layer, values in self.network.features(x).items()}

    def time(self) -> float:
        """Seconds on a clock, once the device has done all that it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def __str__(self) -> str:
        """The device, for captions."""
        on_gpu = self.device.type == "cuda"
        return torch.cuda.get_device_name(self.device) if on_gpu else f"{torch.get_num_threads()} CPU threads"
