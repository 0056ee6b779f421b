"""The four settings on ResNet-18 of width 16 and Split CIFAR-100, in profile "full" alone: it trains for some minutes."""

import torch
import xarray

import data
from lessons.linearity import algorithms as linearity
from lessons.linearity.experiment import resnet as chapter_2
from lessons.pretraining.algorithms import matching
from lessons.pretraining.experiment import line
from lessons.pretraining.experiment.starts import BY_FEATURES, BY_WEIGHTS, PRETRAINED, SOURCE, STRANGERS
from lessons.kit.sweep import cached, on_grid, summarise
from toy_models import Recipe, ResNet18, batchnorm, weights, zoo

PLAN = matching.resnet18_plan()
TASKS, CLASSES, MATCHED_ON = (1, 2), 5, 250  # the two splits; classes of one; training images of each on which activations are matched and statistics estimated
STATISTICS = ("interpolated", "estimated anew")


def recipes(seed: int = 0) -> dict[str, Recipe]:
    """Chapter 2's pretrained pair, and two strangers that see as many images in all: 20 passes over their own split."""
    finetuned = chapter_2.recipes("width 16", seed)
    made = {f"pretrained, split {task}": finetuned[task] for task in TASKS}
    for number, task in enumerate(TASKS):
        one = finetuned[task]
        made[f"stranger, split {task}"] = Recipe.on(one.dataset, one.architecture, options=dict(one.options), lr=one.lr, epochs=one.epochs + one.parent.epochs, batch_size=one.batch_size,
                                                    seed=seed + 80_000 + 1000 * number)
    return made


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
    """Two ResNet-18s half-way, in the source's four settings; None in "quick".

    Returns:
        A Dataset over setting (4), statistics (2) and layer (9) with gap_*, coef_* (setting, statistics, layer), own_* (setting, layer), accuracy (setting, statistics),
        own_accuracy (model), and same_answers (setting): the largest difference between the logits of the second network and of what was made of it.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    line.PROFILES[profile]  # an error where there is no such profile
    if profile != "full":
        return None
    source, wanted = data.source("split_cifar100", splits=TASKS), recipes(seed)
    return cached("pretraining_resnet", {"recipes": [recipe.key for recipe in wanted.values()]}, lambda: measure(wanted, seed, device).assign_attrs(
        source=source.text, source_kind=source.kind, dataset="CIFAR-100", network="ResNet-18 of width 16", profile=profile, seed=seed))


def steps(seed: int = 0) -> int:
    """How many training steps are missing."""
    chain = {step for recipe in recipes(seed).values() for step in (recipe.parent, recipe) if step}
    return sum(recipe.epochs * -(-dict(recipe.options)["size"] // recipe.batch_size) for recipe in chain if not zoo.path_of(recipe).exists())


def measure(wanted: dict[str, Recipe], seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache, for any four recipes of ResNets named as in `recipes`."""
    networks = dict(zip(wanted, zoo.get_all(list(wanted.values()), device)))
    tasks = [dict(recipe.options)["splits"] for recipe in wanted.values()][:2]
    train, test = ([data.load(chapter_2.DATASET, part, splits=splits) for splits in tasks] for part in ("train", "test"))
    some = torch.cat([one.x[::max(1, len(one.y) // MATCHED_ON)] for one in train])
    some_mixed = some[torch.randperm(len(some), generator=torch.Generator().manual_seed(seed))]  # batches for BatchNorm hold both tasks
    names = list(wanted)
    normal, (a, b) = [networks[name] for name in names[:2]], [networks[name] for name in names[2:]]
    found = {BY_WEIGHTS: matching.weight_matching(a.state_dict(), b.state_dict(), PLAN, seed=seed).permutations, BY_FEATURES: matching.activation_matching(a, b, PLAN, some, 125)}
    pairs = {STRANGERS: (a, b), **{how: (a, ResNet18.from_state(matching.permute(b.state_dict(), PLAN, permutations))) for how, permutations in found.items()}, PRETRAINED: tuple(normal)}
    rows, differences = [], []
    for setting in SOURCE:
        i, j = pairs[setting]
        inherited = ResNet18.from_state(weights.interpolate(i.state_dict(), j.state_dict(), 0.5))
        ends, parts = [_features(network, test) for network in (i, j)], []
        layers = list(ends[0])
        for middle in (inherited, batchnorm.reestimated(inherited, some_mixed)):
            features = _features(middle, test)
            rights = [(features["output"][part][:, first:first + CLASSES].argmax(1) + first == one.y).double().mean().item()
                      for part, first, one in zip(_slices(test), [CLASSES * splits[0] for splits in tasks], test)]
            parts.append(on_grid([summarise(values) for values in linearity.ctl(features, *ends, 0.5).values()], layer=layers).assign(accuracy=sum(rights) / 2))
        own = on_grid([summarise({"own": linearity.own_distance(ends[0][layer], ends[1][layer])}) for layer in layers], layer=layers)
        rows.append(xarray.concat(parts, xarray.DataArray(list(STATISTICS), dims="statistics", name="statistics")).merge(own))
        differences.append((j(some[:50]) - (normal[1] if setting == PRETRAINED else b)(some[:50])).abs().max().item())
    own = [_own_accuracy(network, one, CLASSES * splits[0]) for (network, one, splits) in zip((*normal, a, b), test * 2, tasks * 2)]
    return xarray.concat(rows, xarray.DataArray(list(SOURCE), dims="setting", name="setting")).assign(own_accuracy=("model", own), same_answers=("setting", differences)).assign_coords(
        model=names).assign_attrs(images=f"{sum(len(one.y) for one in test):,} test images")


def _slices(test):
    first = len(test[0].y)
    return slice(0, first), slice(first, None)


def _features(network, test):
    parts = [network.features(part) for one in test for part in one.x.split(250)]
    return {layer: torch.cat([part[layer] for part in parts]).flatten(1) for layer in parts[0]}


def _own_accuracy(network, test, first):
    logits = torch.cat([network(part) for part in test.x.split(250)])
    return (logits[:, first:first + CLASSES].argmax(1) + first == test.y).double().mean().item()
