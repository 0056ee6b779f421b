"""Cross-task linearity in a small ViT: features between two networks, block by block, and of the average of eight; and
what eight averaged features can still tell apart."""
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
import xarray

from lessons.kit.sweep import names
from lessons.linearity.algorithms import along, coef, cosine, means
from lessons.merging import merge
from lessons.suites import Loaded, share_correct
from lessons.vit.experiment import setting
from lessons.vit.experiment.setting import PAIRS, Settings, in_threads
from toy_models.tiny_vit import TEMPERATURE
from toy_models.weights import State, add, scale, subtract

AVERAGED = ("weights", "features", "answers")
WHAT = ("single", *AVERAGED, "θ₀")
LENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of task vectors, in units of their own


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All widths, on the CPU.

    Returns:
        A Dataset with
        gap_…, coef_… (width, pair, alpha, layer) and own_… (width, pair, layer): as `lessons.kit.sweep.summarise` names
        them, of features on test images of both tasks, tokens × width flattened;
        all_gap, all_coef (width, layer): the same of the average of all eight against the mean of their features;
        all_own (width, layer): 1 − cos of a network's own features with that mean, on its own task;
        long_gap, long_own (width, length, layer): gap half-way and own distance, mean over pairs and images, of θ₀ + lτ
        instead of the networks themselves;
        averaged (width, what: 5, task): accuracy of the single networks, of averaged weights, of averaged pooled
        features, of averaged answers, and of θ₀.
    """
    sweeps = [measured(setting.load(settings, seed, width, device), settings) for width in settings.widths]
    made = xarray.concat(sweeps, xarray.DataArray(list(settings.widths), dims="width", name="width"))
    return made.assign_attrs(images=f"{settings.features} test images a task for features, {settings.images} for "
                                    "accuracies", test_images=made.sizes["task"] * settings.images)


def measured(loaded: Loaded, settings: Settings) -> xarray.Dataset:
    """One width."""
    images = [x[:settings.features] for x, _ in loaded.test]
    tasks = loaded.suite.tasks
    pairs = [f"{tasks[i]} and {tasks[j]}" for i, j in PAIRS]
    lines = in_threads(lambda pair: of_pair(loaded, images, pair, settings.alphas), PAIRS)
    sweep = xarray.concat(lines, xarray.DataArray(pairs, dims="pair", name="pair"))
    sweep = sweep.assign({name: ("layer", values) for name, values in of_all(loaded, images).items()})
    long_gap, long_own = of_lengths(loaded, images)
    sweep = sweep.assign(long_gap=(("length", "layer"), long_gap), long_own=(("length", "layer"), long_own))
    sweep = sweep.assign_coords(length=list(LENGTHS))
    return sweep.assign(averaged=(("what", "task"), averaged(loaded))).assign_coords(what=list(WHAT), task=tasks)


def of_pair(loaded: Loaded, images: list[torch.Tensor], pair: tuple[int, int],
            alphas: Sequence[float]) -> xarray.Dataset:
    """Gap and coef, summarised, for every α and layer, and the own distance for every layer."""
    ends = [loaded.finetuned[task] for task in pair]
    x = torch.cat([images[task] for task in pair])
    line = along(lambda state, x: features(loaded, state, x), *ends, alphas, parts=(x,))
    return line.drop_vars(["coef_count", "bin", "distance"])


def features(loaded: Loaded, state: State, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """{layer: (samples, numbers)}: tokens × width flattened."""
    return {layer: values.flatten(1) for layer, values in loaded.complete(state).features(x).items()}


def of_all(loaded: Loaded, images: list[torch.Tensor]) -> dict[str, np.ndarray]:
    """all_gap, all_coef and all_own of `measure`, each (layers,)."""
    x = torch.cat(images)
    own = torch.arange(len(images)).repeat_interleave(len(images[0]))
    merged = features(loaded, merge("average", loaded.base, loaded.finetuned), x)
    singles = [features(loaded, state, x) for state in loaded.finetuned]
    rows = []
    for layer, between in merged.items():
        of_tasks = torch.stack([single[layer].double() for single in singles])
        mean = of_tasks.mean(0)
        of_own = of_tasks[own, torch.arange(len(x))]
        rows.append([(1 - cosine(between, mean)).mean(), coef(between, mean).mean(), (1 - cosine(of_own, mean)).mean()])
    table = np.array(rows, dtype=float)
    return dict(zip(("all_gap", "all_coef", "all_own"), table.T))


def of_lengths(loaded: Loaded, images: list[torch.Tensor]) -> np.ndarray:
    """long_gap and long_own of `measure`, (2, lengths, layers)."""
    def at(length):
        rows = []
        for i, j in PAIRS:
            x = torch.cat([images[i], images[j]])
            ends = [longer(loaded.base, loaded.finetuned[task], length) for task in (i, j)]
            line = along(lambda state, x: features(loaded, state, x), *ends, (0.5,), parts=(x,), summary=means)
            rows.append([line.gap_mean.values[0], line.own_mean.values])
        return np.mean(rows, 0)

    return np.stack(in_threads(at, LENGTHS), 1)


def longer(base: State, finetuned: State, length: float) -> State:
    """θ₀ + l·τ; at l = 1 the finetuned weights to the last bit."""
    return finetuned if length == 1 else add(base, scale(subtract(finetuned, base), length))


def averaged(loaded: Loaded) -> np.ndarray:
    """Accuracy on test images, (what: 5, tasks)."""
    of_networks = in_threads(lambda state: said(loaded, state), loaded.finetuned)
    pooled, answers = (sum(parts) for parts in zip(*of_networks))
    head = F.normalize(loaded.base["head.weight"], dim=1)
    by_features = TEMPERATURE * F.normalize(pooled, dim=1) @ head.T
    average = merge("average", loaded.base, loaded.finetuned)
    return np.array([loaded.own(), loaded.accuracy(average), of_answers(loaded, by_features),
                     of_answers(loaded, answers), loaded.accuracy(loaded.base)])


def said(loaded: Loaded, state: State) -> tuple[torch.Tensor, torch.Tensor]:
    """Pooled features and answers on all test images."""
    network = loaded.complete(state)
    parts = []
    for x, _ in loaded.test:
        features = network.features(x)
        parts.append((features["pooled"], features["output"]))
    return tuple(torch.cat(layer) for layer in zip(*parts))


def of_answers(loaded: Loaded, logits: torch.Tensor) -> np.ndarray:
    """The share correct on every task, (tasks,), of logits (samples of all tasks, outputs)."""
    accuracies = []
    for task, some in enumerate(logits.split([len(y) for _, y in loaded.test])):
        first, last = loaded.suite.choices[task]
        accuracies.append(share_correct(some[:, first:last], loaded.test[task][1] - first))
    return np.array(accuracies)


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, float]:
    """The numbers behind CTL-18. What each means stands in claims.yaml."""
    middle = sweep.sel(alpha=0.5)
    share = middle.gap_mean / sweep.own_mean
    numbers = {}
    for width in map(int, sweep.width.values):
        last = share.sel(width=width, layer=last_block(sweep))
        own, weights, features_, answers, start = map(float, sweep.averaged.sel(width=width).mean("task").values)
        numbers |= {f"gap_over_own_last_block_{width}": float(last.mean()),
                    f"gap_over_own_most_{width}": float(share.sel(width=width).max()),
                    f"gap_output_{width}": float(middle.gap_mean.sel(width=width, layer="output").mean()),
                    f"own_output_{width}": float(sweep.own_mean.sel(width=width, layer="output").mean()),
                    f"coef_least_{width}": float(middle.coef_mean.sel(width=width).min()),
                    f"coef_most_{width}": float(middle.coef_mean.sel(width=width).max()),
                    f"gap_over_own_4_times_as_long_{width}": share_at_length(sweep.sel(width=width), 4.0),
                    f"all_gap_over_own_pooled_{width}": float((sweep.all_gap / sweep.all_own).sel(width=width,
                                                                                                 layer="pooled")),
                    f"weights_over_single_{width}": weights / own,
                    f"features_minus_weights_{width}": features_ - weights,
                    f"answers_minus_weights_{width}": answers - weights,
                    f"weights_minus_start_{width}": weights - start}
    return numbers


def share_at_length(sweep: xarray.Dataset, length: float) -> float:
    """Gap half-way over own distance in the last block, of one width, for task vectors so many times as long."""
    in_last_block = sweep.sel(length=length, layer=last_block(sweep))
    return float(in_last_block.long_gap / in_last_block.long_own)


def last_block(sweep: xarray.Dataset) -> str:
    """The name of the last block."""
    return [layer for layer in names(sweep.layer) if layer.startswith("block")][-1]


EXPERIMENT = setting.ByWidth("vit-lines", measure)
run = EXPERIMENT.run
