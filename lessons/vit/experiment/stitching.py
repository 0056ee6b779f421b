"""θ₀ given the features of others, Figures 9 and 10 of CTL on the small ViT: which features serve two tasks, and which
make it forget one?"""
import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import xarray
from torch import Tensor

import data
from data import altered
from lessons.kit.experiment import Experiment
from lessons.suites import Loaded, share_correct
from lessons.task_arithmetic.algorithms import edited, negated_in_features, stitched
from lessons.vit.experiment import setting
from lessons.vit.experiment.setting import FIRST, Settings, in_threads
from toy_models.weights import interpolate

SEEDS = (0, 1, 2, 3, 4, 5)  # of the ledger
LAMS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # the source's range, from 0.05 to 1
IMAGES = 200  # test images a task, and of upright digits and clothes each
GIVEN = ("average of both", "own alone", "the other's alone")
WAYS = ("features minus Δ", "features of θ₀ − λτ")
WHICH = ("its task", "upright images")
UPRIGHT = -1  # where their images stand behind those of the tasks


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The first width; features put in behind every block.

    Returns:
        A Dataset with
        both (lam, pair: 28, layer, given: 3, two): accuracy of θ₀ on the tasks of a pair, given the mean of the
        features of θ₀ + λτ_i and θ₀ + λτ_j, those of this task's network, or those of the other's;
        merged (lam, pair, two): that of the network half-way between these two, as it is;
        negated (lam, task, layer, way: 2, which: 2): accuracy of θ₀ on a task and on upright images, given its own
        features less Δ = f(θ₀ + λτ) − f(θ₀), or those of θ₀ − λτ;
        before (task, which): accuracy of θ₀ as it is.
    """
    loaded = setting.load(replace(settings, images=IMAGES), seed, settings.widths[0], device)
    base, tasks = loaded.complete(loaded.base), loaded.suite.tasks
    layers = [name for name in base.layer_names if name.startswith("block")]
    pairs = list(itertools.combinations(range(len(tasks)), 2))
    shown = [*loaded.test, upright()]
    rows = in_threads(lambda lam: at_lam(loaded, shown, pairs, layers, lam), LAMS)
    both, merged, less = (np.array(values) for values in zip(*rows))
    plain = [correct(base(x), y) for x, y in shown]
    before = [[accuracy, plain[-1]] for accuracy in plain[:-1]]
    return xarray.Dataset({"both": (("lam", "pair", "layer", "given", "two"), both),
                           "merged": (("lam", "pair", "two"), merged),
                           "negated": (("lam", "task", "layer", "way", "which"), less),
                           "before": (("task", "which"), np.array(before))},
                          {"lam": list(LAMS), "pair": [f"{tasks[i]} and {tasks[j]}" for i, j in pairs],
                           "layer": layers, "given": list(GIVEN), "task": tasks, "way": list(WAYS),
                           "which": list(WHICH)},
                          {"images": f"{IMAGES} test images a task, {2 * IMAGES} upright ones",
                           "test_images": IMAGES * len(tasks)})


def upright() -> tuple[Tensor, Tensor]:
    """Test images of digits and clothes as they are, and their labels: what θ₀ was pretrained on."""
    parts = [data.load("altered", "test", of=kind).spread(IMAGES) for kind in altered.OF]
    return torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts])


def at_lam(loaded: Loaded, shown: Sequence[tuple[Tensor, Tensor]], pairs: Sequence[tuple[int, int]],
           layers: Sequence[str], lam: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`both`, `merged` and `negated` of `measure` at one λ; `shown` are the tasks' images, then the upright ones."""
    base = loaded.complete(loaded.base)
    longer = [edited(loaded.base, state, lam) for state in loaded.finetuned]
    seen = [[loaded.complete(state).features(x) for x, _ in shown] for state in longer]

    def given(layer, h, task):
        return correct(stitched(base, layer, h), shown[task][1])

    both = np.empty((len(pairs), len(layers), len(GIVEN), 2))
    merged = np.empty((len(pairs), 2))
    for pair, (i, j) in enumerate(pairs):
        half = loaded.complete(interpolate(longer[i], longer[j], 0.5))
        for two, (task, other) in enumerate(((i, j), (j, i))):
            merged[pair, two] = correct(half(shown[task][0]), shown[task][1])
            for place, layer in enumerate(layers):
                own, others = seen[task][task][layer], seen[other][task][layer]
                both[pair, place, :, two] = [given(layer, h, task) for h in ((own + others) / 2, own, others)]
    return both, merged, negated(loaded, seen, shown, layers, lam)


def negated(loaded: Loaded, seen: Sequence[Sequence[dict[str, Tensor]]], shown: Sequence[tuple[Tensor, Tensor]],
            layers: Sequence[str], lam: float) -> np.ndarray:
    """`negated` of `measure` at one λ; `seen` are the features of every θ₀ + λτ on all that is `shown`."""
    base = loaded.complete(loaded.base)
    accuracies = np.empty((len(loaded.finetuned), len(layers), len(WAYS), len(WHICH)))
    for task, state in enumerate(loaded.finetuned):
        back = loaded.complete(edited(loaded.base, state, -lam))
        for which, images in enumerate((task, UPRIGHT)):
            x, y = shown[images]
            at_base, away = base.features(x), back.features(x)
            for place, layer in enumerate(layers):
                less = negated_in_features(at_base[layer], seen[task][images][layer])
                accuracies[task, place, :, which] = [correct(stitched(base, layer, h), y) for h in (less, away[layer])]
    return accuracies


def correct(logits: Tensor, y: Tensor) -> float:
    """The share correct where every image chooses among the ten classes of its own kind, digits or clothes."""
    of_kind = logits.unflatten(1, (-1, altered.CLASSES))[torch.arange(len(y)), y // altered.CLASSES]
    return share_correct(of_kind, y % altered.CLASSES)


# -- claims ----------------------------------------------------------------------------------------

LAYER = "block 3"  # of four, where the source has block 9 of twelve and block 19 of twenty-four


def worse_of_two(sweep: xarray.Dataset) -> xarray.Dataset:
    """Accuracy on the worse of a pair's two tasks, (lam, pair, layer): `average` of both networks' features, `one`
    network's, the better of the two for the pair; and `any_lam`, the better one with the best λ, (pair, layer)."""
    own, other = (sweep.both.sel(given=given) for given in GIVEN[1:])
    first = np.minimum(own.isel(two=0), other.isel(two=1))
    second = np.minimum(own.isel(two=1), other.isel(two=0))
    alone = np.maximum(first, second)
    average = sweep.both.sel(given=GIVEN[0]).min("two")
    parts = {"average": average, "one": alone, "any_lam": alone.max("lam")}
    return xarray.Dataset({name: part.drop_vars("given", errors="ignore") for name, part in parts.items()})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers of CTL-18 that the source's Figures 9 and 10 are about."""
    at = worse_of_two(sweep).sel(layer=LAYER)
    full, short = at.sel(lam=1.0), at.sel(lam=0.4)
    numbers = {"put in: share of pairs at 1": float((full.average > full.one).mean()),
               "put in: share of pairs at 0.4": float((short.average > short.one).mean()),
               "put in: worse with average at 1": float(full.average.mean()),
               "put in: worse with one at 1": float(full.one.mean()),
               "put in: average at 1 over one at any λ": float((full.average - at.any_lam).mean())}
    first = worse_of_two(sweep).sel(layer="block 1", lam=1.0)
    numbers["put in: share of pairs at 1, block 1"] = float((first.average > first.one).mean())
    left = sweep.negated.sel(layer=LAYER, lam=1.0).mean("task")
    for way, name in zip(WAYS, ("Δ", "τ")):
        task, upright_ = left.sel(way=way).values
        numbers |= {f"taken out, {name}: task at 1": float(task), f"taken out, {name}: upright at 1": float(upright_)}
    task, upright_ = sweep.before.mean("task").values
    numbers |= {"taken out: task before": float(task), "taken out: upright before": float(upright_)}
    return {"CTL-18": numbers}


EXPERIMENT = Experiment("vit-stitching", measure, setting.of_width(FIRST), setting.source, setting.DATASET,
                        recipes=setting.recipes, network=f"TinyViT of width {FIRST}", claims=claims,
                        ledger={"full": SEEDS}, long=True)
run = EXPERIMENT.run
