"""Which parts of a transformer lose when eight networks are averaged: attention or the MLPs, early blocks or late
ones?"""
import numpy as np
import xarray

from lessons.merging import merge
from lessons.merging.storage import PerTask
from lessons.suites import Loaded
from lessons.vit.experiment import ranks, setting
from lessons.vit.experiment.setting import Settings
from toy_models.weights import State, norm, subtract


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All widths.

    Returns:
        A Dataset with
        alone, spoiled, rescued (width, place, task): accuracy on test images of θ₀ with this part of the task's own
        network; of the task's own network with this part of the average; of the average with this part of the task's
        own;
        squares (width, place): this part's share of the task vectors' squared length;
        base, average, single (width, task).
    """
    sweeps = [measured(setting.load(settings, seed, width, device)) for width in settings.widths]
    made = xarray.concat(sweeps, xarray.DataArray(list(settings.widths), dims="width", name="width"))
    return made.assign_attrs(images=setting.images_of(settings), test_images=made.sizes["task"] * settings.images)


def measured(loaded: Loaded) -> xarray.Dataset:
    """One width."""
    places = places_of(loaded.base)
    average = merge("average", loaded.base, loaded.finetuned)
    total = sum(norm(subtract(state, loaded.base)) ** 2 for state in loaded.finetuned)
    alone, spoiled, rescued, squares = [], [], [], []
    for keys in places.values():
        alone.append(with_own(loaded, loaded.base, keys))
        spoiled.append(with_own(loaded, average, loaded.base.keys() - keys))
        rescued.append(with_own(loaded, average, keys))
        part = {key: loaded.base[key] for key in keys}
        squares.append(sum(norm(subtract(chosen(state, keys), part)) ** 2 for state in loaded.finetuned) / total)
    of_tasks = {"alone": alone, "spoiled": spoiled, "rescued": rescued}
    sets = {name: (("place", "task"), np.array(values)) for name, values in of_tasks.items()}
    return xarray.Dataset(sets | {"squares": ("place", squares), "base": ("task", loaded.accuracy(loaded.base)),
                                  "average": ("task", loaded.accuracy(average)), "single": ("task", loaded.own())},
                          {"place": list(places), "task": loaded.suite.tasks})


def places_of(base: State) -> dict[str, set[str]]:
    """{place: its keys}: attention of all blocks, their MLPs, all else, then every block."""
    groups = {group: {key for key in base if ranks.group_of(key) == group} for group in ranks.GROUPS}
    blocks = sorted({int(key.split(".")[1]) for key in base if key.startswith("blocks.")})
    return groups | {f"block {block + 1}": {key for key in base if key.startswith(f"blocks.{block}.")}
                      for block in blocks}


def with_own(loaded: Loaded, state: State, keys: set[str]) -> np.ndarray:
    """Accuracy of this network with every task's own tensors in the place of these, (tasks,)."""
    extras = tuple(chosen(own, keys) for own in loaded.finetuned)
    return loaded.accuracy(PerTask({"rest": state}, extras, lambda shared, extra: shared["rest"] | extra))


def chosen(state: State, keys: set[str]) -> State:
    """These tensors alone, in the order of the state dict."""
    return {key: tensor for key, tensor in state.items() if key in keys}


EXPERIMENT = setting.ByWidth("vit-parts", measure)
run = EXPERIMENT.run
