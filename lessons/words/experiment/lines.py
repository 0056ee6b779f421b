"""The line between two finetuned text encoders: features layer by layer (CTL), accuracy on both tasks with each one's
head, and with the heads exchanged; and a task vector taken away again."""
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
import xarray

from data import threads
from lessons.kit.experiment import Experiment
from lessons.linearity.algorithms import along
from lessons.merging import merge
from lessons.suites import Loaded, share_correct
from lessons.words.experiment import setting
from lessons.words.experiment.setting import Settings
from lessons.words.pretrained import Several
from toy_models.weights import State, interpolate

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
RELATED = ("film", "customer")  # both ask whether somebody liked something, with the same two answers in this order
TAKEN = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)  # λ of what is taken away


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Everything on test sentences.

    Returns:
        A Dataset with
        gap_…, coef_… (pair, alpha, layer), own_… (pair, layer), distance (pair): as `along` names them, of features
        that are means over the words, "output" the logits of all heads; of every pair of tasks;
        exchanged (alpha, of: 2, head: 2): accuracy between the encoders of `RELATED`, α that of the first, on the
        sentences of each, under its own head and under the other's;
        taken (taken_lam, task, effect: 2): accuracy of θ₀ − λτ_t on its own task, and mean over the others.
    """
    sweep = measured(setting.load(settings, seed, device), settings)
    return sweep.assign_attrs(
        images=f"{settings.features} test sentences a task for features, {settings.sentences} for accuracies")


def measured(loaded: Loaded | Several, settings: Settings, lams: Sequence[float] = TAKEN) -> xarray.Dataset:
    """`measure` of encoders that are there.

    Args:
        loaded: the encoders.
        settings: how much is measured.
        lams: λ of what is taken away, 0 first.
    """
    tasks = loaded.suite.tasks
    places = [(i, j) for i in range(len(tasks)) for j in range(i)]
    lines = threads.side_by_side(partial(of_pair, loaded, settings.features), places)
    names = xarray.DataArray([f"{tasks[i]} and {tasks[j]}" for i, j in places], dims="pair", name="pair")
    sweep = xarray.concat(lines, names)
    return sweep.assign(exchanged=(("alpha", "of", "head"), exchanged(loaded)),
                        taken=(("taken_lam", "task", "effect"), taken(loaded, lams))).assign_coords(
        of=list(RELATED), head=["its own", "the other's"], taken_lam=list(lams), task=tasks,
        effect=["its own task", "the others"])


def of_pair(loaded: Loaded | Several, count: int, pair: tuple[int, int]) -> xarray.Dataset:
    """Gap, coef and own distance between two encoders, on so many sentences of both tasks."""
    x = torch.cat([loaded.test[task][0][:count] for task in pair])
    ends = [loaded.finetuned[task] for task in pair]
    line = along(lambda state, x: loaded.complete(state).features(x), *ends, ALPHAS, parts=(x,))
    return line.drop_vars(["coef_count", "bin"])


def exchanged(loaded: Loaded | Several) -> np.ndarray:
    """`exchanged` of `measure`."""
    places = [loaded.suite.tasks.index(task) for task in RELATED]
    ends = [loaded.finetuned[place] for place in places]
    table = np.empty((len(ALPHAS), 2, 2))
    for row, alpha in enumerate(ALPHAS):
        network = loaded.complete(interpolate(*ends, alpha))
        for column, place in enumerate(places):
            table[row, column] = under_both_heads(loaded, network, place, places[1 - column])
    return table


@torch.no_grad()
def under_both_heads(loaded: Loaded | Several, network: Callable, task: int, other: int) -> tuple[float, float]:
    """The share correct on a task's test sentences, under its own head and under another task's, whose answers mean the
    same in the same order."""
    x, y = loaded.test[task]
    logits = network(x)
    y = y - loaded.suite.outputs(task).start
    return tuple(share_correct(logits[:, loaded.suite.outputs(whose)], y) for whose in (task, other))


def taken(loaded: Loaded | Several, lams: Sequence[float] = TAKEN) -> np.ndarray:
    """`taken` of `measure`."""
    tasks = range(len(loaded.finetuned))
    less = [partial(without, loaded, task, lam) for lam in lams if lam for task in tasks]
    all_there, *seen = threads.side_by_side(lambda make: loaded.accuracy(make()), [lambda: loaded.base, *less])
    seen = np.array([all_there] * len(tasks) * lams.count(0.0) + seen).reshape(len(lams), len(tasks), len(tasks))
    of_task = seen[:, tasks, tasks]
    return np.stack([of_task, (seen.sum(2) - of_task) / (len(tasks) - 1)], 2)


def without(loaded: Loaded | Several, task: int, lam: float) -> State:
    """θ₀ − λτ_t."""
    return merge("task_arithmetic", loaded.base, [loaded.finetuned[task]], scale=-lam)


EXPERIMENT = Experiment("words-lines", measure, setting.PROFILES, setting.source, setting.DATASET,
                        recipes=setting.recipes)
run = EXPERIMENT.run
