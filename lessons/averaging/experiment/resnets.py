"""The same questions asked of five ResNet-18s, in profile "full" alone."""
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray
from torch import Tensor, nn
from tqdm.auto import tqdm

import data
from data.types import Source
from lessons import cast
from lessons.averaging import algorithms
from lessons.averaging.experiment.models import name_of
from lessons.kit.experiment import Experiment, missing
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid, summarise
from lessons.linearity.algorithms import coef
from lessons.suites import share_correct_among
from toy_models import Recipe, ResNet18, batchnorm, weights, zoo

TASK = 1  # a split
SECONDS_A_STEP = 0.2  # rough, width 16, batch 64, two cores
HYPERS = ((0.02, 5, 64), (0.03, 4, 64), (0.05, 4, 64), (0.08, 3, 64), (0.05, 4, 128))  # learning rate, epochs, batch
AT_ONCE = 250  # images


@dataclass(frozen=True)
class Settings:
    """How much is looked at."""
    statistics_images: int  # training images from which an averaged network's BatchNorm statistics are estimated again


PROFILES = Profiles(quick=None, full=Settings(statistics_images=750))


def source() -> Source:
    """Where the pictures come from."""
    return data.source(cast.SPLIT_CIFAR, splits=(TASK,))


def recipes(seed: int = 0) -> list[Recipe]:
    """Five finetunings on split 1 of Split CIFAR-100 of chapter 2's pretrained ResNet-18 of width 16, which learned
    split 0 for ten epochs."""
    first = cast.split_resnets(seed)[TASK]
    made = []
    for number, (lr, epochs, batch) in enumerate(HYPERS, 1):
        made.append(replace(first, lr=lr, epochs=epochs, batch_size=batch, seed=seed + 10_000 * number))
    return made


def estimate(seed: int = 0) -> str:
    """A sentence that says how much has to be trained for `run` in "full"."""
    wanted = recipes(seed)
    steps = 0
    for recipe in missing([wanted[0].parent, *wanted]):
        steps += recipe.epochs * math.ceil(dict(recipe.options)["size"] / recipe.batch_size)
    if not steps:
        return "So are the ResNets."
    minutes = steps * SECONDS_A_STEP / 60
    return f"The ResNets at the end need {steps:,} training steps: about {minutes:.0f} minutes, once."


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`of_recipes` for the chapter's five networks."""
    return of_recipes(recipes(seed), settings.statistics_images, device)


def of_recipes(wanted: list[Recipe], statistics_images: int, device: str = "auto") -> xarray.Dataset:
    """All triples of some ResNets that were finetuned on one split.

    Returns:
        A Dataset with name, accuracy (model); member (triple, place), average_accuracy, ensemble_accuracy,
        inherited_accuracy (triple): the last with the members' BatchNorm statistics averaged like weights, the first
        with statistics estimated again; gap_*, base_*, coef_* (triple, layer).
    """
    looks = _Looks(wanted[0], statistics_images)
    networks = zoo.get_all(wanted, device)
    single = [looks.features(network) for network in networks]
    layers = list(single[0])
    triples = list(itertools.combinations(range(len(wanted)), 3))
    columns = {"average_accuracy": [], "ensemble_accuracy": [], "inherited_accuracy": []}
    described = []
    for triple in tqdm(triples, desc="measuring ResNets", unit="triple"):
        inherited = ResNet18.from_state(weights.average([networks[i].state_dict() for i in triple]))
        features = looks.features(inherited)
        members = {layer: torch.stack([single[i][layer] for i in triple]) for layer in layers}
        columns["average_accuracy"].append(looks.correct(features["output"]))
        columns["ensemble_accuracy"].append(looks.correct(algorithms.ensemble(members["output"])))
        columns["inherited_accuracy"].append(looks.correct(inherited(looks.x)))
        for layer in layers:
            eq_1 = {"gap": 1 - algorithms.cosine_avg(features[layer], members[layer]),
                    "base": 1 - algorithms.cosine_base(features[layer], members[layer]),
                    "coef": coef(features[layer], members[layer].mean(0))}
            described.append(summarise(eq_1, distributions=["coef"]))
    sweep = on_grid(described, triple=range(len(triples)), layer=layers)
    sweep = sweep.assign({name: ("triple", column) for name, column in columns.items()})
    names = [name_of(recipe, number) for number, recipe in enumerate(wanted, 1)]
    alone = [looks.correct(features["output"]) for features in single]
    sweep = sweep.assign(name=("model", names), accuracy=("model", alone),
                         member=(("triple", "place"), np.array(triples)))
    return sweep.assign_attrs(images=f"{len(looks.y):,} test images")


class _Looks:
    """What networks of one split say of its test images, with BatchNorm statistics estimated anew."""

    def __init__(self, recipe, statistics_images):
        options = dict(recipe.options)
        train = data.load(recipe.dataset, "train", splits=options["splits"])
        test = data.load(recipe.dataset, "test", splits=options["splits"])
        self.split, = options["splits"]
        self.x = test.x
        self.y = test.y
        self._statistics = train.x[::max(1, len(train.y) // statistics_images)]

    def features(self, network: nn.Module) -> dict[str, Tensor]:
        """{layer: (samples, width)}."""
        ready = batchnorm.reestimated(network, self._statistics)
        parts = [ready.features(part) for part in self.x.split(AT_ONCE)]
        return {layer: torch.cat([part[layer] for part in parts]).flatten(1) for layer in parts[0]}

    def correct(self, logits: Tensor) -> float:
        """The share correct among the split's classes."""
        return share_correct_among(logits, self.y, self.split)


RESNETS = Experiment("averaging_resnets", measure, PROFILES, source, "CIFAR-100",
                     recipes=lambda settings, seed: recipes(seed), one_thread=False)
run = RESNETS.run
