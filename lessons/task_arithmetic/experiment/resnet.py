"""Task vectors of chapter 2's ResNet-18 of width 16 on Split CIFAR-100: an own head for every split, so that the
backbone is what is edited (CTL §4.3).

It takes minutes of training where no other chapter has trained these networks, so it is measured in "full" alone.
"""
import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from torch import Tensor
from tqdm.auto import tqdm

import data
from lessons import cast
from lessons.kit.experiment import Experiment, missing
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid, summarise
from lessons.resnet.algorithms import treated
from lessons.suites import outputs_of, share_correct_among
from lessons.task_arithmetic import algorithms
from lessons.task_arithmetic.algorithms import TaskVector
from toy_models import Recipe, ResNet18, zoo

SECONDS_A_STEP = 0.2  # rough, width 16, batch 64, two cores
MEASURING_SECONDS = 150
READINGS = (0.2, 0.4)  # of the source's λ; see `mlp`
# of chapter 2: statistics that went through the same arithmetic as the weights, or estimated anew
TREATMENTS = ("interpolated", "re-estimated")
BATCH = 100


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    test_images: int = 100  # per task
    statistics_images: int = 30  # training images per task from which BatchNorm's statistics are estimated anew
    lams: tuple[float, ...] = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0)  # λ of the sums
    steps: tuple[float, ...] = (*READINGS, 1.0)  # λ of Eq. 2 and 3


PROFILES = Profiles(quick=None, full=Settings())


def source() -> data.types.Source:
    """Where the images come from."""
    return data.source(cast.SPLIT_CIFAR, splits=(cast.PRETRAINING, *cast.TASKS))


def name_of(*splits: int) -> str:
    """What a sum of task vectors is called: "split 1", "splits 1 and 2", "all four"."""
    if len(splits) > 2:
        return "all four"
    return f"splits {splits[0]} and {splits[1]}" if len(splits) == 2 else f"split {splits[0]}"


def negation_of(split: int) -> str:
    """What Eq. 3 for one task vector is called: "split 1 and its negative"."""
    return f"{name_of(split)} and its negative"


def estimate(seed: int = 0) -> str:
    """A sentence that says what `run` will have to do and about how long that takes on two cores."""
    steps = 0
    for recipe in missing(cast.split_resnets(seed).values()):
        steps += recipe.epochs * math.ceil(dict(recipe.options)["size"] / recipe.batch_size)
    minutes = (steps * SECONDS_A_STEP + MEASURING_SECONDS) / 60
    return (f"The ResNets at the end: {steps:,} training steps and the measurement, about {minutes:.0f} minutes where "
            "nothing of it is on disk, once.")


# -- the measurement -------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`measured_of` chapter 2's networks of width 16."""
    return measured_of(cast.split_resnets(seed), settings, device)


def measured_of(recipes: dict[int, Recipe], settings: Settings, device: str = "auto") -> xarray.Dataset:
    """All numbers of any pretrained ResNet and versions of it that were finetuned on one split each.

    Args:
        recipes: {split: recipe}, the pretrained network first.

    Returns:
        A Dataset with
        accuracy (treatment: 2, edit: 11, lam: 7, task: 5): of θ₀ + λ·Σ τ in the backbone, on the pretraining task
        (split 0) and the four, each with its own head; NaN where it was not measured;
        negative (edit, lam): share of BatchNorm's channels whose running variance, carried through the arithmetic, is
        below 0;
        own (task): of the network trained on the task, with its own statistics;
        head_elsewhere: the most that finetuning moved a head's weight of another task;
        gap_*, base_*, coef_* (ends: 10, step: 3, layer: 8): Eq. 2 for six pairs and Eq. 3 for four tasks, statistics
        re-estimated;
        cosine (task_i, task_j).
    """
    networks = dict(zip(recipes, zoo.get_all(list(recipes.values()), device)))
    edited = Edited(networks, settings)
    sweeps = [_edits(edited, settings.lams), _alone(edited), _equations(edited, settings.steps)]
    return xarray.merge(sweeps).assign_attrs(images=f"{len(edited.tests[0][1]):,} test images a task")


class Edited:
    """Networks θ₀ + λ·Σ τ whose backbone is edited, and whose head has every task's own rows.

    Attributes:
        splits: of the pretraining task, first, and of the others.
        vectors: {split: TaskVector of the backbone}.
        head_elsewhere: the most that finetuning moved a head's weight of another task.
        own: the networks themselves.
        tests: [(images, labels) a task].
        statistics: training images of all tasks, for BatchNorm.
    """

    def __init__(self, networks: dict[int, ResNet18], settings: Settings):
        self.splits = list(networks)
        self.own = list(networks.values())
        self.base = self.own[0].state_dict()
        whole = {split: TaskVector(self.base, networks[split].state_dict()) for split in self.splits[1:]}
        self.vectors = {split: tau.only(lambda key: not key.startswith("head.")) for split, tau in whole.items()}
        # a head's rows of other tasks do not move, so each task's rows come from its own
        self.heads = sum(tau.only("head") for tau in whole.values())
        rows = {split: tau.difference["head.weight"] for split, tau in whole.items()}
        self.head_elsewhere = max(torch.cat([head[:outputs_of(split).start], head[outputs_of(split).stop:]]).abs().max()
                                  for split, head in rows.items()).item()
        self.tests = [_images(split, "test", settings.test_images) for split in self.splits]
        training = [_images(split, "train", settings.statistics_images) for split in self.splits]
        self.statistics = torch.cat([x for x, _ in training])

    def network(self, lams: dict[int, float], treatment: str = "re-estimated") -> ResNet18:
        """θ₀ + Σ λ_t τ_t, for {split: λ}, with BatchNorm statistics that went through the same arithmetic, or
        estimated anew on training images of all tasks."""
        tau = sum((lam * self.vectors[split] for split, lam in lams.items()), self.heads)
        return treated(ResNet18.from_state(tau.apply_to(self.base)), treatment, self.statistics)

    def accuracies(self, network: ResNet18) -> list[float]:
        """Share correct on every task, among its own five classes; 0.2 is chance. Where the network's answer is not a
        number, nothing is correct."""
        return [_accuracy(network, *test, split) for split, test in zip(self.splits, self.tests)]

    def images(self, splits) -> Tensor:
        """Test images of some tasks, one after the other."""
        return torch.cat([self.tests[self.splits.index(split)][0] for split in splits])


def _images(split, part, size):
    """Images and labels spread evenly over a split's part."""
    dataset = data.load(cast.SPLIT_CIFAR, part, splits=(split,)).spread(size)
    return dataset.x, dataset.y


def _accuracy(network, x, y, split):
    logits = torch.cat([network(part) for part in x.split(BATCH)])
    return share_correct_among(logits, y, split)


def below_zero(state: dict[str, Tensor]) -> float:
    """The share of BatchNorm's channels whose running variance is below 0."""
    variances = torch.cat([tensor for key, tensor in state.items() if key.endswith("running_var")])
    return (variances < 0).double().mean().item()


def _edits(edited, lams):
    """Sums are only added, single task vectors also subtracted."""
    tasks = edited.splits[1:]
    chosen = [*((split,) for split in tasks), *itertools.combinations(tasks, 2), tuple(tasks)]
    accuracy = np.full((len(TREATMENTS), len(chosen), len(lams), len(edited.splits)), np.nan)
    negative = np.full((len(chosen), len(lams)), np.nan)
    base = [edited.accuracies(edited.network({}, treatment)) for treatment in TREATMENTS]
    for row, splits in enumerate(tqdm(chosen, desc="measuring ResNets", unit="sum")):
        for place, lam in enumerate(lams):
            if lam == 0:
                accuracy[:, row, place] = base
            elif lam > 0 or len(splits) == 1:
                networks = [edited.network(dict.fromkeys(splits, lam), treatment) for treatment in TREATMENTS]
                accuracy[:, row, place] = [edited.accuracies(network) for network in networks]
                negative[row, place] = below_zero(networks[0].state_dict())
    return xarray.Dataset({"accuracy": (("treatment", "edit", "lam", "task"), accuracy),
                           "negative": (("edit", "lam"), negative)},
                          coords={"treatment": list(TREATMENTS), "edit": [name_of(*splits) for splits in chosen],
                                  "lam": list(lams), "task": edited.splits})


def _alone(edited):
    """What is measured of the networks and the task vectors themselves."""
    tasks = edited.splits[1:]
    own = []
    for network, test, split in zip(edited.own, edited.tests, edited.splits):
        own.append(_accuracy(network, *test, split))
    vectors = [edited.vectors[split].only(lambda key: "running" not in key) for split in tasks]
    return xarray.Dataset({"own": ("task", own),
                           "head_elsewhere": edited.head_elsewhere,
                           "cosine": (("task_i", "task_j"), algorithms.cosines(vectors).numpy())},
                          coords={"task": edited.splits, "task_i": tasks, "task_j": tasks})


def _equations(edited, steps):
    tasks = edited.splits[1:]
    layers = edited.own[0].layer_names[:-1]
    pairs = list(itertools.combinations(tasks, 2))
    base = edited.network({})
    summaries = []
    for lam in tqdm(steps, desc="ResNets, Eq. 2 and 3", unit="λ"):
        doubled = {split: edited.network({split: 2 * lam}) for split in tasks}
        for i, j in pairs:
            three = edited.network({i: lam, j: lam}), doubled[i], doubled[j]
            summaries += _halfway(three, edited.images((i, j)), layers)
        for split in tasks:
            three = base, edited.network({split: lam}), edited.network({split: -lam})
            summaries += _halfway(three, edited.images((split,)), layers)
    names = [*(name_of(*pair) for pair in pairs), *map(negation_of, tasks)]
    return on_grid(summaries, step=steps, ends=names, layer=layers)


def _halfway(networks, x, layers):
    """`algorithms.halfway` of three networks on the images, summarised, layer by layer."""
    parts = []
    for some in x.split(BATCH):
        three = []
        for network in networks:
            features = network.features(some)
            three.append({layer: features[layer].flatten(1) for layer in layers})
        parts.append(algorithms.halfway(*three))
    summaries = []
    for layer in layers:
        names = parts[0][layer]
        joined = {name: torch.cat([part[layer][name] for part in parts]) for name in names}
        summaries.append(summarise(joined, distributions=["coef"]))
    return summaries


# -- claims ----------------------------------------------------------------------------------------

NUMBERS = {  # of every claim
    "CTL-10": ("eq_2_block_1_at_0.2", "eq_2_block_8_at_0.2", "eq_2_block_1_at_0.4", "eq_2_block_8_at_0.4",
               "own", "two_at_0", "two_at_half", "two_at_one", "four_at_quarter", "four_at_half", "four_at_one",
               "four_at_one_carried_statistics", "variances_below_zero_four_at_one", "head_elsewhere"),
    "CTL-11": ("eq_3_block_1_at_0.2", "eq_3_block_8_at_0.2", "eq_3_block_1_at_0.4", "eq_3_block_8_at_0.4"),
    "CTL-13": ("pretraining_at_0", "pretraining_at_minus_half", "task_at_0", "task_at_minus_half",
               "pretraining_lost_at_minus_half", "task_lost_at_minus_half", "variances_below_zero_one_at_minus_one")}


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """What the ResNet says to the chapter's claims: {claim: {number: value}}, whose names begin with "ResNet". What
    each means stands in claims.yaml."""
    values = numbers(sweep) | {"four_at_half": four_at_half(sweep)}
    for which in ("pretraining", "task"):
        values[f"{which}_lost_at_minus_half"] = values[f"{which}_at_0"] - values[f"{which}_at_minus_half"]
    return {id: {f"ResNet {name}": values[name] for name in names} for id, names in NUMBERS.items()}


def numbers(sweep: xarray.Dataset) -> dict[str, float]:
    """What the chapter's claims come to on the ResNet, statistics re-estimated unless said: accuracies are means over
    pairs or tasks."""
    pretraining, *tasks = (int(task) for task in sweep.task.values)
    anew = sweep.accuracy.sel(treatment="re-estimated")
    carried = sweep.accuracy.sel(treatment="interpolated")
    pairs = {name_of(*pair): list(pair) for pair in itertools.combinations(tasks, 2)}
    four = {"all four": tasks}
    alone = {name_of(task): [task] for task in tasks}
    before = {name: [pretraining] for name in alone}
    return {"own": float(sweep.own.sel(task=tasks).mean()),
            "two_at_0": _mean(anew, pairs, 0.0),
            "two_at_half": _mean(anew, pairs, 0.5),
            "two_at_one": _mean(anew, pairs, 1.0),
            "four_at_quarter": _mean(anew, four, 0.25),
            "four_at_one": _mean(anew, four, 1.0),
            "four_at_one_carried_statistics": _mean(carried, four, 1.0),
            "variances_below_zero_four_at_one": float(sweep.negative.sel(edit="all four", lam=1.0)),
            "variances_below_zero_one_at_minus_one": float(sweep.negative.sel(edit=list(alone), lam=-1.0).mean()),
            "task_at_minus_half": _mean(anew, alone, -0.5),
            "task_at_0": _mean(anew, alone, 0.0),
            "pretraining_at_minus_half": _mean(anew, before, -0.5),
            "pretraining_at_0": _mean(anew, before, 0.0),
            "head_elsewhere": float(sweep.head_elsewhere),
            **_shares(sweep, "eq_2", list(pairs)),
            **_shares(sweep, "eq_3", list(map(negation_of, tasks)))}


def _mean(accuracy, edits, lam):
    """Mean accuracy at λ over {edit: tasks}."""
    return float(np.mean([accuracy.sel(edit=edit, lam=lam, task=tasks).mean() for edit, tasks in edits.items()]))


def _shares(sweep, name, ends):
    """The gap as a share of the baseline, in the first and the last block, mean over the ends."""
    ratio = (sweep.gap_mean / sweep.base_mean).sel(ends=ends)
    shares = {}
    for lam in READINGS:
        for layer in ("block 1", "block 8"):
            shares[f"{name}_{layer.replace(' ', '_')}_at_{lam:g}"] = float(ratio.sel(step=lam, layer=layer).mean())
    return shares


def four_at_half(sweep: xarray.Dataset) -> float:
    """The accuracy with all four task vectors at λ = ½, mean over the four tasks."""
    return _mean(sweep.accuracy.sel(treatment="re-estimated"), {"all four": sweep.task.values[1:]}, 0.5)


RESNETS = Experiment("task-arithmetic-resnets", measure, PROFILES, source, "CIFAR-100", claims=claims,
                     recipes=lambda settings, seed: cast.split_resnets(seed).values(),
                     ledger={"full": (0, 1, 2)}, one_thread=False, long=True)
run = RESNETS.run
