"""CART on a small ViT: rank × λ, and which tensors it truncates."""
from functools import partial

import numpy as np
import xarray

from lessons.cart.algorithms.spectra import Spectra
from lessons.merging.search import best, resting_on
from lessons.merging.storage import PerTask
from lessons.suites import PARTS, Loaded
from lessons.vit.algorithms import matrices
from lessons.vit.experiment import setting
from lessons.vit.experiment.setting import Settings, in_threads, looked_at

BY_DIMENSION, BY_NAME, FUSED = "by dimension", "by name", "by dimension, q k v as one"
ATTENTION, MLP = "attention alone", "MLP alone"
WAYS = {BY_DIMENSION: matrices.by_dimension, BY_NAME: matrices.by_name, FUSED: matrices.by_dimension,
        ATTENTION: matrices.of_attention, MLP: matrices.of_mlp}

GROUPS = ("attention", "MLP", "all else")


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All widths.

    Returns:
        A Dataset with
        accuracy (width, part: 2, rank, lam, task): of CART, every matrix by its dimensions; ranks 0 and 1 are the
        average;
        ways (width, way: 5, part, way_rank, way_lam, task): other ways to choose matrices;
        average, own, base (width, part, task);
        squares (width, group: 3): the share of the centred task vectors' squared length in attention's matrices, in the
        MLPs' and in all else;
        alone (width, group, task): accuracy of θ₀ with only that part of a task's own vector, on test images.
    """
    sweeps = [measured(setting.load(settings, seed, width, device), settings) for width in settings.widths]
    made = xarray.concat(sweeps, xarray.DataArray(list(settings.widths), dims="width", name="width"))
    return made.assign_attrs(images=setting.images_of(settings), test_images=made.sizes["task"] * settings.images)


def measured(loaded: Loaded, settings: Settings) -> xarray.Dataset:
    """One width."""
    spectra = Spectra(loaded.base, loaded.finetuned)
    as_one = Spectra(matrices.fused(loaded.base), [matrices.fused(state) for state in loaded.finetuned])
    grid = of_grid(loaded, spectra, matrices.by_dimension, settings.ranks, settings.lams)
    ends = looked_at_parts(loaded, [spectra.origin])[:, :1, None]
    ends = np.repeat(ends, len(settings.lams), 2)
    ways = [of_grid(loaded, as_one if way == FUSED else spectra, is_matrix, settings.way_ranks, settings.way_lams)
            for way, is_matrix in WAYS.items()]
    sets = {"accuracy": (("part", "rank", "lam", "task"), np.concatenate([ends, grid, ends], 1)),
            "ways": (("way", "part", "way_rank", "way_lam", "task"), np.array(ways)),
            "average": (("part", "task"), ends[:, 0, 0]),
            "base": (("part", "task"), looked_at_parts(loaded, [loaded.base])[:, 0]),
            "own": (("part", "task"), np.array([loaded.own(part) for part in PARTS])),
            "squares": ("group", squares(spectra)), "alone": (("group", "task"), parts_alone(loaded))}
    return xarray.Dataset(sets, {"part": list(PARTS), "rank": [0.0, *settings.ranks, 1.0], "lam": list(settings.lams),
                                 "way": list(WAYS), "way_rank": list(settings.way_ranks),
                                 "way_lam": list(settings.way_lams), "task": loaded.suite.tasks,
                                 "group": list(GROUPS)},
                          resting_on(sum(len(y) for _, y in loaded.held_out)))


def of_grid(loaded: Loaded, spectra: Spectra, chosen: matrices.Chosen, ranks, lams) -> np.ndarray:
    """Accuracy (part: 2, ranks, lams, tasks)."""
    states = []
    for total in in_threads(lambda rank: matrices.truncated_sum(spectra, rank, chosen), ranks):
        states += [partial(apart, spectra.origin, total, lam) for lam in lams]
    seen = looked_at_parts(loaded, states)
    return seen.reshape(len(PARTS), len(ranks), len(lams), -1)


def apart(origin, total, lam):
    """origin + λ·total, with q, k and v apart."""
    return matrices.apart(matrices.moved(origin, total, lam))


def looked_at_parts(loaded: Loaded, states) -> np.ndarray:
    """Accuracy (part: 2, states, tasks)."""
    return np.array([looked_at(loaded, states, part) for part in PARTS])


def group_of(key: str) -> str:
    """Which of `GROUPS` a tensor belongs to, with its biases."""
    return GROUPS[0] if "attention" in key else GROUPS[1] if "mlp" in key else GROUPS[2]


def parts_alone(loaded: Loaded) -> np.ndarray:
    """`alone` of `measure`."""
    accuracies = []
    for group in GROUPS:
        extras = tuple({key: tensor for key, tensor in state.items() if group_of(key) == group}
                       for state in loaded.finetuned)
        grafted = PerTask({"base": loaded.base}, extras, lambda shared, extra: shared["base"] | extra)
        accuracies.append(loaded.accuracy(grafted))
    return np.array(accuracies)


def squares(spectra: Spectra) -> np.ndarray:
    """`squares` of `measure`."""
    total = np.zeros(len(GROUPS))
    for key, stack in spectra.matrices.items():
        total[GROUPS.index(group_of(key))] += stack.double().square().sum().item()
    return total / total.sum()


def chosen(sweep: xarray.Dataset) -> tuple[float, float]:
    """(rank, λ) that held-out images choose, of one width."""
    return tuple(map(float, best(sweep.accuracy.sel(part=PARTS[0]).mean("task"), "rank", "lam").values()))


EXPERIMENT = setting.ByWidth("vit-ranks", measure)
run = EXPERIMENT.run
shown = EXPERIMENT.shown  # in quick no gain of CART is seen above the noise
