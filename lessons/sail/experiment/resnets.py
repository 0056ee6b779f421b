"""ResNet-18 on Split CIFAR-100 (SAIL, Fig. 3, 5 and 6, supervised): two parents mixed for a third split, and one
network grown from width 16 to 32."""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import nn

import data
from lessons import cast
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.algorithms import mixing
from toy_models import Architecture, Recipe, ResNet18, batchnorm, growth, training, zoo
from toy_models.weights import State

PARENTS, TARGET, SOURCE = (1, 2), 3, 0  # splits
EPOCHS = {"mixed": 4, "grown": 3}
LR, BATCH = 0.05, 64
SCRATCH, BASE, FIRST, SECOND, HALF, STRANGERS = ("scratch", "pretrained network", "parent 1", "parent 2", "γ = ½",
                                                 "γ = ½, two pretrainings")
MIXED = (SCRATCH, BASE, FIRST, SECOND, HALF, STRANGERS)
SMALL = "not grown, width 16"
GROWN = {"Net2Wider": ("Net2Wider", {"shares": "drawn"}), "interpolation": ("interpolation", {}),
         "projection": ("projection", {})}
WIDE = (SMALL, "scratch", *GROWN)
STRANGER = 1000
ESTIMATED = 1000  # images for BatchNorm's statistics


@dataclass(frozen=True)
class Settings:
    """How many epochs the mixed and the grown networks are trained."""
    mixed: int = EPOCHS["mixed"]
    grown: int = EPOCHS["grown"]


PROFILES = Profiles(quick=None, full=Settings())


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The pretrained network, the two parents, and a parent from another pretraining."""
    base, other = (cast.pretrained_resnet(seed=each) for each in (seed, seed + STRANGER))
    return [base, *(cast.finetuned_resnet(base, split) for split in PARENTS), cast.finetuned_resnet(other, PARENTS[1])]


def mixtures(seed: int, device: str) -> dict[str, State]:
    """{name: where training on the target begins}."""
    base, first, second, stranger = (network.state_dict() for network in zoo.get_all(recipes(None, seed), device))
    return {SCRATCH: fresh(cast.WIDTH, seed), BASE: base, FIRST: first, SECOND: second,
            HALF: mixing.proximal([first, second], [0.5, 0.5]),
            STRANGERS: mixing.proximal([first, stranger], [0.5, 0.5])}


def grown(seed: int, device: str) -> dict[str, State]:
    """{name: the pretrained network at twice its width, and beside it}."""
    source = zoo.get(cast.pretrained_resnet(seed=seed), device).state_dict()
    found = {SMALL: source, "scratch": fresh(2 * cast.WIDTH, seed)}
    for name, (how, parameters) in GROWN.items():
        found[name] = growth.widen(source, growth.times(source, 2), how, **parameters)
    return found


def fresh(width: int, seed: int) -> State:
    """A ResNet that learned nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 2 * STRANGER)
        return ResNet18(width, cast.CLASSES).state_dict()


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train on from every start.

    Returns:
        A Dataset with loss, accuracy (start, epoch) on the target split's 500 test images, and grown_loss,
        grown_accuracy (how, wide_epoch) on those of the split that the source learned; among the split's own classes,
        BatchNorm's statistics estimated on 1,000 training images.
    """
    mixed = np.array([_trained(state, TARGET, settings.mixed, seed, device)
                      for state in mixtures(seed, device).values()])
    wide = np.array([_trained(state, SOURCE, settings.grown, seed, device) for state in grown(seed, device).values()])
    return xarray.Dataset(
        {"loss": (("start", "epoch"), mixed[..., 0]), "accuracy": (("start", "epoch"), mixed[..., 1]),
         "grown_loss": (("how", "wide_epoch"), wide[..., 0]), "grown_accuracy": (("how", "wide_epoch"), wide[..., 1])},
        {"start": list(MIXED), "epoch": np.arange(settings.mixed + 1), "how": list(WIDE),
         "wide_epoch": np.arange(settings.grown + 1)}, {"images": "2,496 training and 500 test images of a split"})


def _trained(state, split, epochs, seed, device):
    """[(loss, accuracy)] after every epoch on a split."""
    network = ResNet18.from_state({key: tensor.clone() for key, tensor in state.items()})
    sets = [data.load(cast.SPLIT_CIFAR, part, splits=(split,), **({"size": cast.WHOLE} if part == "train" else {}))
            for part in ("train", "test")]
    return [_looked(network, *sets) for _ in _epochs(network, sets[0], epochs, seed, device)]


def _epochs(network: nn.Module, train: data.Dataset, epochs: int, seed: int, device: str) -> Iterator[int]:
    """Train in place; yields before the first epoch and after each."""
    device = training.resolve(device)
    width = network.stem[0].out_channels
    recipe = Recipe(Architecture.of("ResNet18", width=width, num_classes=cast.CLASSES), cast.SPLIT_CIFAR, (), "", LR,
                    epochs, BATCH, seed=seed)
    network.requires_grad_(True).to(device)
    step = training.stepper(network, recipe, train.y.unique().to(device))
    order = torch.Generator().manual_seed(seed)
    x, y = train.x.to(device), train.y.to(device)
    yield 0
    for epoch in range(1, epochs + 1):
        network.train()
        for chosen in torch.randperm(len(x), generator=order).to(device).split(BATCH):
            step(x[chosen], y[chosen])
        yield epoch


@torch.no_grad()
def _looked(network, train, test) -> tuple[float, float]:
    """Loss (nats) and accuracy among the classes that occur."""
    classes = test.y.unique()
    device = next(network.parameters()).device
    ready = batchnorm.reestimated(network, train.x[:ESTIMATED].to(device))
    logits = torch.cat([ready(part.to(device)).float().cpu() for part in test.x.split(250)])[:, classes]
    labels = torch.searchsorted(classes, test.y)
    return F.cross_entropy(logits, labels).item(), (logits.argmax(1) == labels).double().mean().item()


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """What ResNets have to say to SAIL-12 and SAIL-8: {claim: {number: value}}."""
    return {"SAIL-12": claim_12(sweep), "SAIL-8": claim_8(sweep)}


def claim_12(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-12, supervised: accuracy on the target split after one epoch and at the end, of the average over the best of
    one network alone (a parent, or the pretrained one) and over scratch."""
    found = {}
    for name, epoch in (("1", 1), ("end", int(sweep.epoch[-1]))):
        now = sweep.accuracy.sel(epoch=epoch)
        single = float(now.sel(start=[BASE, FIRST, SECOND]).max())
        half = float(now.sel(start=HALF))
        found |= {f"half_{name}": half, f"half_over_single_{name}": half - single,
                  f"half_over_scratch_{name}": half - float(now.sel(start=SCRATCH)),
                  f"strangers_over_half_{name}": float(now.sel(start=STRANGERS)) - half}
    return found


def claim_8(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-8, ResNets from width 16 to 32: accuracy at once and at the end."""
    found = {}
    names = {"small": SMALL, "scratch": "scratch", "copies": "Net2Wider", "interpolation": "interpolation",
             "projection": "projection"}
    for name, how in names.items():
        part = sweep.grown_accuracy.sel(how=how)
        found |= {f"resnet_{name}_0": float(part[0]), f"resnet_{name}_end": float(part[-1])}
    return found


def source() -> data.types.Source:
    """Where the images come from."""
    return data.source(cast.SPLIT_CIFAR)


EXPERIMENT = Experiment("sail-resnets", measure, PROFILES, source, "CIFAR-100", recipes=recipes, one_thread=False,
                        claims=claims, ledger={"full": (0, 1, 2)})


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
    """Measured in "full"; in "quick" what the repository has, or None.

    Raises:
        ValueError: there is no such profile.
    """
    return EXPERIMENT.archived() if PROFILES[profile] is None else EXPERIMENT.run(profile, seed, device)
