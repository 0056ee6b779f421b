"""The source's four settings on ResNet-18 of width 16 and Split CIFAR-100, in profile "full" alone: it trains for some
minutes."""
from dataclasses import dataclass

import torch
import xarray

import data
from data.types import Source
from lessons import cast
from lessons.kit.experiment import Experiment, missing
from lessons.kit.profiles import Profiles
from lessons.linearity import algorithms as linearity
from lessons.pretraining.algorithms import matching
from lessons.pretraining.experiment import line
from lessons.pretraining.experiment.starts import BY_FEATURES, BY_WEIGHTS, PRETRAINED, SOURCE, STRANGERS
from lessons.suites import share_correct_among
from toy_models import Recipe, ResNet18, batchnorm, weights, zoo

PLAN = matching.resnet18_plan()
TASKS = (1, 2)  # the two splits
STATISTICS = ("interpolated", "estimated anew")


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    train_images: int  # of each task, on which activations are matched and statistics estimated


PROFILES = Profiles(quick=None, full=Settings(train_images=250))


def source() -> Source:
    """Where the images of both tasks come from."""
    return data.source(cast.SPLIT_CIFAR, splits=TASKS)


def recipes(seed: int = 0) -> dict[str, Recipe]:
    """Chapter 2's pretrained pair, and two strangers that see as many images in all: 20 passes over their own split."""
    finetuned = cast.split_resnets(seed, TASKS)
    made = {f"pretrained, split {task}": finetuned[task] for task in TASKS}
    for number, task in enumerate(TASKS):
        epochs = finetuned[task].epochs + finetuned[cast.PRETRAINING].epochs
        made[f"stranger, split {task}"] = cast.pretrained_resnet((task,), epochs=epochs,
                                                                 seed=seed + 80_000 + 1000 * number)
    return made


def steps(seed: int = 0) -> int:
    """How many training steps are missing."""
    wanted = missing(line.with_parents(recipes(seed).values()))
    return sum(recipe.epochs * -(-dict(recipe.options)["size"] // recipe.batch_size) for recipe in wanted)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Two ResNet-18s half-way, in the source's four settings: `half_way` of `recipes`."""
    return half_way(recipes(seed), settings.train_images, seed, device)


def half_way(wanted: dict[str, Recipe], train_images: int, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The numbers of any four recipes of ResNets that stand in the order of `recipes`.

    Returns:
        A Dataset over setting (4), statistics (2) and layer (9) with gap_*, coef_* (setting, statistics, layer), own_*
        (setting, layer), accuracy (setting, statistics), own_accuracy (model), and same_answers (setting): the largest
        difference between the logits of the second network and of what was made of it.
    """
    networks = zoo.get_all(list(wanted.values()), device)
    options = [dict(recipe.options) for recipe in wanted.values()][:2]
    splits = [of_task["splits"][0] for of_task in options]
    train, test = ([data.load(cast.SPLIT_CIFAR, part, splits=of_task["splits"]) for of_task in options]
                   for part in ("train", "test"))
    some = torch.cat([dataset.x[::max(1, len(dataset.y) // train_images)] for dataset in train])
    # batches for BatchNorm hold both tasks
    some_mixed = some[torch.randperm(len(some), generator=torch.Generator().manual_seed(seed))]
    normal_i, normal_j, a, b = networks
    matched = {BY_WEIGHTS: matching.weight_matching(a.state_dict(), b.state_dict(), PLAN, seed=seed).permutations,
               BY_FEATURES: matching.activation_matching(a, b, PLAN, some, 125)}
    pairs = {STRANGERS: (a, b), PRETRAINED: (normal_i, normal_j)}
    for how, permutations in matched.items():
        pairs[how] = a, ResNet18.from_state(matching.permute(b.state_dict(), PLAN, permutations))
    rows, differences = [], []
    for setting in SOURCE:
        i, j = pairs[setting]
        rows.append(_between(i, j, test, splits, some_mixed))
        before = normal_j if setting == PRETRAINED else b
        differences.append((j(some[:50]) - before(some[:50])).abs().max().item())
    accuracies = []
    for network, dataset, split in zip(networks, test * 2, splits * 2):
        accuracies.append(share_correct_among(_features(network, [dataset])["output"], dataset.y, split))
    sweep = xarray.concat(rows, xarray.DataArray(list(SOURCE), dims="setting", name="setting"))
    sweep = sweep.assign(own_accuracy=("model", accuracies), same_answers=("setting", differences))
    images = f"{sum(len(dataset.y) for dataset in test):,} test images"
    return sweep.assign_coords(model=list(wanted)).assign_attrs(images=images)


def _between(i, j, test, splits, some_mixed):
    """All numbers half-way between two networks, with inherited statistics of BatchNorm and with new ones."""
    inherited = ResNet18.from_state(weights.interpolate(i.state_dict(), j.state_dict(), 0.5))
    parts = []
    for middle in (inherited, batchnorm.reestimated(inherited, some_mixed)):
        line = linearity.along(_features, i.state_dict(), j.state_dict(), (0.5,), parts=(test,), ends=(i, j),
                               network=lambda state, alpha, middle=middle: middle,
                               also=lambda network, logits, alpha: {"accuracy": _accuracy(logits, test, splits)})
        parts.append(line.isel(alpha=0, drop=True).drop_vars("distance"))
    own = [name for name in parts[0] if name.startswith("own_")]
    statistics = xarray.DataArray(list(STATISTICS), dims="statistics", name="statistics")
    return xarray.concat([part.drop_vars(own) for part in parts], statistics).merge(parts[0][own])


def _features(network, test):
    """{layer: (samples, width)} on the images of all these tasks."""
    parts = [network.features(part) for dataset in test for part in dataset.x.split(250)]
    return {layer: torch.cat([part[layer] for part in parts]).flatten(1) for layer in parts[0]}


def _accuracy(logits, test, splits):
    """Mean over the tasks of the share correct among a task's own classes."""
    of_tasks = logits.split([len(dataset.y) for dataset in test])
    shares = [share_correct_among(part, dataset.y, split) for part, dataset, split in zip(of_tasks, test, splits)]
    return sum(shares) / len(shares)


RESNET = Experiment("pretraining_resnet", measure, PROFILES, source, "CIFAR-100",
                    recipes=lambda settings, seed: recipes(seed).values(), one_thread=False)
run = RESNET.run
