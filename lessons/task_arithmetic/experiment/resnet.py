"""Task vectors of chapter 2's ResNet-18 of width 16 on Split CIFAR-100: an own head for every split, so that the backbone is what is edited (CTL §4.3).

It takes minutes of training where chapter 2 was not run in its profile "width 16", so the chapter measures it in "full" alone.
"""
import itertools

import numpy as np
import torch
import xarray
from torch import Tensor
from tqdm.auto import tqdm

import data
from data import split_cifar100
from lessons.linearity.experiment import resnet as chapter_2
from lessons.kit.sweep import cached, on_grid, summarise
from lessons.task_arithmetic import algorithms
from lessons.task_arithmetic.algorithms import TaskVector
from toy_models import Recipe, ResNet18, zoo

SECONDS_A_STEP = 0.2  # rough, width 16, batch 64, two cores
MEASURING_SECONDS = 150
TEST_IMAGES, STATISTICS_IMAGES = 100, 30  # per task
LAMS = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0)
STEPS = (0.2, 0.4, 1.0)  # λ of Eq. 2 and 3
TREATMENTS = ("interpolated", "re-estimated")  # of chapter 2: statistics that went through the same arithmetic as the weights, or estimated anew
BATCH = 100


def recipes(seed: int = 0) -> dict[int, Recipe]:
    """{split: recipe}: chapter 2's in its profile "width 16"; the pretrained network at split 0."""
    return chapter_2.recipes("width 16", seed)


def name_of(*splits: int) -> str:
    """What a sum of task vectors is called: "split 1", "splits 1 and 2", "all four"."""
    return f"split {splits[0]}" if len(splits) == 1 else "splits " + " and ".join(map(str, splits)) if len(splits) == 2 else "all four"


def estimate(seed: int = 0) -> str:
    """A sentence that says what `run` will have to do and about how long that takes on two cores."""
    missing = [recipe for recipe in recipes(seed).values() if not zoo.path_of(recipe).exists()]
    steps = sum(recipe.epochs * -(-dict(recipe.options)["size"] // recipe.batch_size) for recipe in missing)
    minutes = (steps * SECONDS_A_STEP + MEASURING_SECONDS) / 60
    return f"The ResNets at the end: {steps:,} training steps and the measurement, about {minutes:.0f} minutes where nothing of it is on disk, once."


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
    """Measure the ResNets in "full"; None in "quick".

    Returns:
        A Dataset with
        accuracy (treatment: 2, edit: 11, lam: 7, task: 5): of θ₀ + λ·Σ τ in the backbone, on the pretraining task (split 0) and the four, each
        with its own head; NaN where it was not measured; negative (edit, lam): share of BatchNorm's channels whose running variance, carried through the
        arithmetic, is below 0; own (task): of the network trained on the task, with its own statistics; head_elsewhere: the most that
        finetuning moved a head's weight of another task;
        gap_*, base_*, coef_* (ends: 10, step: 3, layer: 8): Eq. 2 for six pairs and Eq. 3 for four tasks, statistics re-estimated; cosine (task_i, task_j).
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    if profile == "quick":
        return None
    wanted = recipes(seed)
    source = data.source("split_cifar100", splits=tuple(wanted))
    settings = [TEST_IMAGES, STATISTICS_IMAGES, LAMS, STEPS]
    return cached("task-arithmetic-resnet", {"recipes": [recipe.key for recipe in wanted.values()], "settings": settings}, lambda: measure(wanted, device).assign_attrs(
        source=source.text, source_kind=source.kind, dataset="CIFAR-100", network="ResNet-18 of width 16", profile=profile, seed=seed))


def measure(wanted: dict[int, Recipe], device: str = "auto") -> xarray.Dataset:
    """`run` without the cache, for any pretrained ResNet (first) and versions of it that were finetuned on one split each."""
    networks = dict(zip(wanted, zoo.get_all(list(wanted.values()), device)))
    edited = Edited(networks)
    return xarray.merge([_edits(edited), _equations(edited)]).assign_attrs(images=f"{len(edited.tests[0][1]):,} test images a task")


class Edited:
    """Networks θ₀ + λ·Σ τ whose backbone is edited, and whose head has every task's own rows.

    Attributes:
        splits: of the pretraining task, first, and of the others; vectors: {split: TaskVector of the backbone}; tests: [(images, labels) a task].
    """

    def __init__(self, networks: dict[int, ResNet18]):
        self.splits, self.base = list(networks), next(iter(networks.values())).state_dict()
        whole = {split: TaskVector(self.base, networks[split].state_dict()) for split in self.splits[1:]}
        self.vectors = {split: tau.only(lambda key: not key.startswith("head.")) for split, tau in whole.items()}
        self.heads = sum(tau.only("head") for tau in whole.values())  # a head's rows of other tasks do not move, so each task's rows come from its own
        self.head_elsewhere = max(_others(tau.difference["head.weight"], split).abs().max().item() for split, tau in whole.items())
        self.own = list(networks.values())
        self.tests = [_images(split, "test", TEST_IMAGES) for split in self.splits]
        self.statistics = torch.cat([_images(split, "train", STATISTICS_IMAGES)[0] for split in self.splits])

    def network(self, lams: dict[int, float], treatment: str = "re-estimated") -> ResNet18:
        """θ₀ + Σ λ_t τ_t, for {split: λ}, with BatchNorm statistics that went through the same arithmetic, or estimated anew on training images of all tasks."""
        network = ResNet18.from_state(sum((lam * self.vectors[split] for split, lam in lams.items()), self.heads).apply_to(self.base))
        return chapter_2.treated(network, treatment, self.statistics)

    def accuracies(self, network: ResNet18) -> list[float]:
        """Share correct on every task, among its own five classes; 0.2 is chance. Where the network's answer is not a number, nothing is correct."""
        return [_accuracy(network, *test, split) for split, test in zip(self.splits, self.tests)]


def _images(split, part, size):
    """Images and labels spread evenly over a split's part."""
    dataset = data.load("split_cifar100", part, splits=(split,)).spread(size)
    return dataset.x, dataset.y


def _rows(split):
    return slice(split_cifar100.CLASSES_PER_SPLIT * split, split_cifar100.CLASSES_PER_SPLIT * (split + 1))


def _others(rows, split):
    return torch.cat([rows[:_rows(split).start], rows[_rows(split).stop:]])


def _accuracy(network, x, y, split):
    logits = torch.cat([network(part) for part in x.split(BATCH)])[:, _rows(split)]
    return ((logits.argmax(1) + _rows(split).start == y) & logits.isfinite().all(1)).double().mean().item()


def below_zero(state: dict[str, Tensor]) -> float:
    """The share of BatchNorm's channels whose running variance is below 0."""
    variances = torch.cat([tensor for key, tensor in state.items() if key.endswith("running_var")])
    return (variances < 0).double().mean().item()


def _edits(edited):
    tasks = edited.splits[1:]
    chosen = [*((split,) for split in tasks), *itertools.combinations(tasks, 2), tuple(tasks)]
    accuracy, negative = np.full((len(TREATMENTS), len(chosen), len(LAMS), len(edited.splits)), np.nan), np.full((len(chosen), len(LAMS)), np.nan)
    base = np.array([edited.accuracies(edited.network({}, treatment)) for treatment in TREATMENTS])
    for row, splits in enumerate(tqdm(chosen, desc="measuring ResNets", unit="sum")):
        for place, lam in enumerate(LAMS):
            if lam == 0:
                accuracy[:, row, place] = base
            elif lam > 0 or len(splits) == 1:  # sums are only added, single task vectors also subtracted
                lams = dict.fromkeys(splits, lam)
                accuracy[:, row, place] = [edited.accuracies(edited.network(lams, treatment)) for treatment in TREATMENTS]
                negative[row, place] = below_zero(edited.network(lams, "interpolated").state_dict())
    own = [_accuracy(network, *test, split) for network, test, split in zip(edited.own, edited.tests, edited.splits)]
    vectors = [edited.vectors[split].only(lambda key: "running" not in key) for split in tasks]
    return xarray.Dataset({"accuracy": (("treatment", "edit", "lam", "task"), accuracy), "negative": (("edit", "lam"), negative), "own": ("task", own),
                           "head_elsewhere": edited.head_elsewhere, "cosine": (("task_i", "task_j"), algorithms.cosines(vectors).numpy())},
                          coords={"treatment": list(TREATMENTS), "edit": [name_of(*splits) for splits in chosen], "lam": list(LAMS), "task": edited.splits, "task_i": tasks, "task_j": tasks})


def _equations(edited):
    tasks, found = edited.splits[1:], []
    ends = {name_of(*pair): pair for pair in itertools.combinations(tasks, 2)} | {f"{name_of(split)} and its negative": (split,) for split in tasks}
    layers = edited.own[0].layer_names[:-1]
    base = edited.network({})
    for lam in tqdm(STEPS, desc="ResNets, Eq. 2 and 3", unit="λ"):
        doubled = {split: edited.network({split: 2 * lam}) for split in tasks}
        for splits in ends.values():
            if len(splits) == 2:
                three = edited.network(dict.fromkeys(splits, lam)), *(doubled[split] for split in splits)
            else:
                three = base, edited.network({splits[0]: lam}), edited.network({splits[0]: -lam})
            x = torch.cat([edited.tests[edited.splits.index(split)][0] for split in splits])
            parts = [algorithms.halfway(*({layer: network_features[layer].flatten(1) for layer in layers} for network_features in (network.features(part) for network in three)))
                     for part in x.split(BATCH)]
            found += [summarise({name: torch.cat([part[layer][name] for part in parts]) for name in parts[0][layer]}) for layer in layers]
    return on_grid(found, step=STEPS, ends=list(ends), layer=layers)


def numbers(sweep: xarray.Dataset) -> dict[str, float]:
    """What the chapter's claims come to on the ResNet, statistics re-estimated unless said: accuracies are means over pairs or tasks."""
    tasks, pretraining = [int(task) for task in sweep.task.values[1:]], int(sweep.task.values[0])
    pairs = {name_of(*pair): list(pair) for pair in itertools.combinations(tasks, 2)}
    anew, carried = (sweep.accuracy.sel(treatment=treatment) for treatment in TREATMENTS[::-1])

    def mean(accuracy, edits, lam):
        return float(np.mean([accuracy.sel(edit=edit, lam=lam, task=task).mean() for edit, task in edits.items()]))

    alone = {name_of(task): [task] for task in tasks}
    before = {name: [pretraining] for name in alone}
    found = {"own": float(sweep.own.sel(task=tasks).mean()), "two_at_0": mean(anew, pairs, 0.0), "two_at_half": mean(anew, pairs, 0.5), "two_at_one": mean(anew, pairs, 1.0),
             "four_at_quarter": mean(anew, {"all four": tasks}, 0.25), "four_at_one": mean(anew, {"all four": tasks}, 1.0), "four_at_one_carried_statistics": mean(carried, {"all four": tasks}, 1.0),
             "variances_below_zero_four_at_one": float(sweep.negative.sel(edit="all four", lam=1.0)),
             "variances_below_zero_one_at_minus_one": float(sweep.negative.sel(edit=list(alone), lam=-1.0).mean()),
             "task_at_minus_half": mean(anew, alone, -0.5), "task_at_0": mean(anew, alone, 0.0),
             "pretraining_at_minus_half": mean(anew, before, -0.5), "pretraining_at_0": mean(anew, before, 0.0), "head_elsewhere": float(sweep.head_elsewhere)}
    ratio = sweep.gap_mean / sweep.base_mean
    for name, ends in (("eq_2", list(pairs)), ("eq_3", [f"{edit} and its negative" for edit in alone])):
        for lam in STEPS[:2]:
            for layer in ("block 1", "block 8"):
                found[f"{name}_{layer.replace(' ', '_')}_at_{lam:g}"] = float(ratio.sel(ends=ends, step=lam, layer=layer).mean())
    return found
