"""Chapter 1's pretrained MLP, finetuned on eight rotations of MNIST, and all that can be done with the eight task
vectors (CTL §4.3).

`run` trains (through the zoo), measures, and returns one xarray Dataset; the second time all of it comes from disk.
"""
import itertools
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from torch import Tensor
from tqdm.auto import tqdm

import data
from data.rotated_mnist import rotate
from lessons import cast
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid, summarise
from lessons.task_arithmetic import algorithms
from lessons.task_arithmetic.algorithms import TaskVector
from lessons.task_arithmetic.experiment.table import Table
from toy_models import MLP, Recipe, zoo

ANGLES = cast.ANGLES  # the first four are chapter 1's
EVALUATED = (0.0, *ANGLES)  # the pretraining task, then the eight
LAMS = tuple(round(i / 10, 2) for i in range(-10, 11))  # of the panels
POSITIVE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # for Eq. 2, 3 and stitching, where the source has this range
FROM_ZERO = (0.0, *POSITIVE)
MANY_LAMS = (*(round(i / 20, 2) for i in range(9)),  # closer where sums of many need it
             *(round(i / 10, 2) for i in range(5, 11)))


@dataclass(frozen=True)
class Settings:
    """How much is measured; training is the same in every profile."""
    # per task, spread evenly over the test part. 1,200 leave an accuracy a standard error of at most 1.5 points
    test_images: int
    feature_images: int  # per task, for Eq. 2 and Eq. 3
    # per task, for sums of k tasks; every choice of k out of eight is tried, so that a mean is over many networks
    many_images: int


PROFILES = Profiles(quick=Settings(test_images=1200, feature_images=150, many_images=200),
                    full=Settings(test_images=2000, feature_images=2000, many_images=1000))
SECONDS = Profiles(quick=60, full=180)  # rough, on 2 cores, nothing kept
DESK_IMAGES = 1200  # per task, at the mixing desk


# -- names -----------------------------------------------------------------------------------------

def name_of(*angles: float) -> str:
    """What a sum of task vectors is called: "22.5°", "22.5° and 90°", "all eight"."""
    if len(angles) == len(ANGLES):
        return "all eight"
    return " and ".join(f"{angle:g}°" for angle in angles)


def negation_of(angle: float) -> str:
    """What Eq. 3 for one task vector is called: "90° and its negative"."""
    return f"{angle:g}° and its negative"


PAIRS = {name_of(i, j): (i, j) for i, j in itertools.combinations(ANGLES, 2)}
EDITS = {name_of(angle): (angle,) for angle in ANGLES} | PAIRS | {name_of(*ANGLES): ANGLES}
NEGATIONS = [negation_of(angle) for angle in ANGLES]
LAYERS = ("layer 1", "layer 2", "layer 3", "output")
PARTS = ("all weights", *LAYERS)
FEATURES = ("average of both", "of θ₀ + λτᵢ alone", "of θ₀ + λτⱼ alone")
HOW = ("features of θ₀ minus Δ", "features of θ₀ − λτ")
QUADRUPLES = {f"{c:g}° + ({b:g}° − {a:g}°)": (a, b, c, d)
              for a, b, c, d in zip(ANGLES, ANGLES[1:], ANGLES[2:], ANGLES[3:])}


# -- the models ------------------------------------------------------------------------------------

def source() -> data.types.Source:
    """Where the digits come from."""
    return data.source("rotated_mnist", angle=0.0)


def recipes(seed: int = 0) -> dict[float, Recipe]:
    """{angle: recipe}: chapter 1's pretrained network at 0.0, and one more epoch from there on digits turned by each
    of the eight angles."""
    return cast.rotations(seed, ANGLES)


def models(seed: int = 0, device: str = "auto") -> dict[float, MLP]:
    """{angle: network}: the pretrained one at 0.0 and the eight finetuned ones; trained now if they are not in the
    zoo."""
    made = recipes(seed)
    return dict(zip(made, zoo.get_all(list(made.values()), device)))


def task_vectors(networks: dict[float, MLP]) -> dict[float, TaskVector]:
    """{angle: τ} of the finetuned networks."""
    base = networks[0.0].state_dict()
    return {angle: TaskVector(base, networks[angle].state_dict()) for angle in ANGLES}


def test_sets(size: int) -> tuple[list[Tensor], Tensor]:
    """Test images turned by each of the nine angles, (images, 28, 28) each, and their labels.

    They are spread evenly over the test part, since MNIST's first half is harder than its second, and only these are
    turned.
    """
    upright = data.load("rotated_mnist", "test", angle=0.0).spread(size)
    return [rotate(upright.x, angle) for angle in EVALUATED], upright.y


# -- the measurement -------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All numbers of the chapter.

    Returns:
        A Dataset with
        accuracy (edit: 37, lam: 21, task: 9): of θ₀ + λ·(sum of the edit's task vectors), on the pretraining task (0°)
        and the eight;
        own (model: 9, task): of the pretrained and the finetuned networks alone;
        norm (angle: 8): ‖τ‖;
        cosine (part: 5, angle, other): between task vectors, over all weights and layer by layer;
        gap_*, base_*, coef_* (ends: 36, step: 9, layer: 4), as `lessons.kit.sweep.summarise` gives them, and deviation:
        Eq. 2 for 28 pairs on the images of both tasks, Eq. 3 for eight negations on those of their own; `step` is λ;
        stitched (pair: 28, step, layer, features: 3, two): accuracy on tasks i and j of the pretrained network that is
        given the average of the features of θ₀ + λτ_i and θ₀ + λτ_j, or those of one of them; "output" is the ensemble;
        negated (angle, lam0: 10, layer, how: 2, two): accuracy on the pretraining task and task i of the pretrained
        network given the features minus Δ, or those of θ₀ − λτ_i;
        many (num_tasks: 8, many_lam: 15): accuracy of sums of k task vectors on those k tasks, mean over all choices of
        k tasks;
        analogy (quadruple: 5, step): accuracy on angle d of θ₀ + λ·(τ_c + τ_b − τ_a), for four angles in equal steps.
    """
    networks = models(seed, device)
    pretrained = networks[0.0]
    table = Table(networks, *test_sets(settings.test_images))
    parts = [_edits(table),
             _vectors(networks),
             _equations(Table(networks, *test_sets(settings.feature_images))),
             _stitching(table, pretrained),
             _negation(table, pretrained),
             _many(networks, *test_sets(settings.many_images)),
             _analogies(table)]
    return xarray.merge(parts).assign_attrs(images=f"{len(table.y):,} test images a task", test_images=len(table.y),
                                            feature_images=settings.feature_images,
                                            many_images=settings.many_images)


def desk(networks: dict[float, MLP], images: int = DESK_IMAGES) -> Table:
    """The networks on test images: few enough to look at any mixture while a fader moves."""
    return Table(networks, *test_sets(images), outputs_alone=True)


class Singles:
    """Sums of task vectors, looked at on the tasks alone that they are made of."""

    def __init__(self, networks, turned, y):
        self._angles = list(networks)
        self._states = [network.state_dict() for network in networks.values()]
        self._before = Table(networks, turned, y).family.before  # (models, tasks · images, units)
        self._y = y

    def accuracy(self, angles: tuple[float, ...], lam: float) -> float:
        """Mean share correct of θ₀ + λ·Σ τ on the tasks of these angles."""
        places = [self._angles.index(angle) for angle in angles]
        models = [0, *places]
        shares = algorithms.shares_of([lam] * len(places)).float()
        rows = torch.cat([torch.arange(place * len(self._y), (place + 1) * len(self._y)) for place in places])
        h = torch.einsum("m,msu->su", shares, self._before[models][:, rows])
        for layer in range(1, len(LAYERS)):
            weight, bias = (self._mixed(f"layers.{layer}.{part}", models, shares) for part in ("weight", "bias"))
            h = torch.nn.functional.linear(h.relu(), weight, bias)
        return (h.argmax(1) == self._y.repeat(len(places))).double().mean().item()

    def _mixed(self, key, models, shares):
        return sum(float(share) * self._states[model][key] for share, model in zip(shares, models))


def _edits(table):
    values = []
    for angles in tqdm(EDITS.values(), desc="measuring sums", unit="sum"):
        values.append([table.accuracy_of(dict.fromkeys(angles, lam)) for lam in LAMS])
    return xarray.Dataset({"accuracy": (("edit", "lam", "task"), values),
                           "own": (("model", "task"), table.own())},
                          coords={"edit": list(EDITS), "lam": list(LAMS),
                                  "task": list(EVALUATED), "model": list(EVALUATED)})


def _vectors(networks):
    vectors = list(task_vectors(networks).values())
    parts = [vectors]
    for i in range(len(LAYERS)):
        parts.append([tau.only(f"layers.{i}") for tau in vectors])
    cosines = [algorithms.cosines(part).numpy() for part in parts]
    return xarray.Dataset({"norm": ("angle", [tau.norm() for tau in vectors]),
                           "cosine": (("part", "angle", "other"), cosines)},
                          coords={"angle": list(ANGLES), "other": list(ANGLES), "part": list(PARTS)})


def _ends(table, lam):
    """Eq. 2 for every pair, then Eq. 3 for every task.

    Yields:
        (tasks whose images count, (middle, one end, other end)), features of each.
    """
    doubled = {angle: table.features({angle: 2 * lam}) for angle in ANGLES}
    for i, j in PAIRS.values():
        yield (i, j), (table.features({i: lam, j: lam}), doubled[i], doubled[j])
    for angle in ANGLES:
        plus = table.features({angle: lam})
        minus = table.features({angle: -lam})
        yield (angle,), (table.base(), plus, minus)


def _equations(table):
    summaries = []
    for lam in tqdm(POSITIVE, desc="measuring Eq. 2 and 3", unit="λ"):
        for tasks, networks in _ends(table, lam):
            three = []
            for features in networks:
                three.append({layer: table.of(feature, *tasks) for layer, feature in features.items()})
            for layer, values in algorithms.halfway(*three).items():
                deviation = algorithms.relative_deviation(*(features[layer] for features in three))
                summaries.append(summarise(values, distributions=["coef"]) | {"deviation": deviation})
    return on_grid(summaries, step=POSITIVE, ends=[*PAIRS, *NEGATIONS], layer=LAYERS)


def _stitching(table, pretrained):
    """Fig. 9 of CTL: which features the pretrained network is given, and what it makes of the images of both tasks."""
    result = np.zeros((len(PAIRS), len(POSITIVE), len(LAYERS), len(FEATURES), 2))
    for step, lam in enumerate(tqdm(POSITIVE, desc="stitching", unit="λ")):
        single = {angle: table.features({angle: lam}) for angle in ANGLES}
        for place, layer in enumerate(LAYERS):
            at_layer = {angle: features[layer] for angle, features in single.items()}
            result[:, step, place] = _stitched_at(table, pretrained, layer, at_layer)
    return xarray.Dataset({"stitched": (("pair", "step", "layer", "features", "two"), result)},
                          coords={"pair": list(PAIRS), "step": list(POSITIVE), "layer": list(LAYERS),
                                  "features": list(FEATURES), "two": ["i", "j"]})


def _stitched_at(table, pretrained, layer, single):
    """(pairs, features: 3, two): accuracies of the pretrained network that is given features at one layer.

    Args:
        single: {angle: features of θ₀ + λτ at that layer}.
    """
    alone = {}
    for angle, h in single.items():
        alone[angle] = table.accuracy(algorithms.stitched(pretrained, layer, h))
    accuracies = []
    for i, j in PAIRS.values():
        average = table.of(single[i] + single[j], i, j) / 2
        both = table.accuracy(algorithms.stitched(pretrained, layer, average))
        where = table.places(i, j)
        accuracies.append([both, alone[i][where], alone[j][where]])
    return accuracies


def _negation(table, pretrained):
    """Fig. 10 of CTL: the pretrained network with a task's Δ taken out of its features, and with the features of
    θ₀ − λτ."""
    result = np.zeros((len(ANGLES), len(FROM_ZERO), len(LAYERS), len(HOW), 2))
    base = table.base()
    for row, angle in enumerate(ANGLES):
        for step, lam in enumerate(FROM_ZERO):
            plus = table.features({angle: lam})
            minus = table.features({angle: -lam})
            for place, layer in enumerate(LAYERS):
                mirrored = algorithms.negated_in_features(base[layer], plus[layer])
                for way, h in enumerate((mirrored, minus[layer])):
                    logits = algorithms.stitched(pretrained, layer, table.of(h, 0.0, angle))
                    result[row, step, place, way] = table.accuracy(logits)
    return xarray.Dataset({"negated": (("angle", "lam0", "layer", "how", "which"), result)},
                          coords={"angle": list(ANGLES), "lam0": list(FROM_ZERO), "layer": list(LAYERS),
                                  "how": list(HOW), "which": ["pretraining", "i"]})


def _many(networks, turned, y):
    """Sums of 1, 2, … 8 task vectors, on the tasks they are made of; every choice of tasks."""
    single = Singles(networks, turned, y)
    counts = range(1, len(ANGLES) + 1)
    values = np.zeros((len(counts), len(MANY_LAMS)))
    for row, k in enumerate(tqdm(counts, desc="sums of k", unit="k")):
        every = list(itertools.combinations(ANGLES, k))
        for place, lam in enumerate(MANY_LAMS):
            values[row, place] = np.mean([single.accuracy(angles, lam) for angles in every])
    return xarray.Dataset({"many": (("num_tasks", "many_lam"), values)},
                          coords={"num_tasks": list(counts), "many_lam": list(MANY_LAMS)})


def _analogies(table):
    """a is to b as c is to d: four angles in equal steps."""
    values = []
    for a, b, c, d in QUADRUPLES.values():
        place, = table.places(d)
        values.append([table.accuracy_of({c: lam, b: lam, a: -lam})[place] for lam in POSITIVE])
    return xarray.Dataset({"analogy": (("quadruple", "step"), values)},
                          coords={"quadruple": list(QUADRUPLES), "step": list(POSITIVE)})


# -- claims ----------------------------------------------------------------------------------------

# λ = 0.4 of the source's figures: the sum's coefficient by its definition of cosine_arith, and by Eq. 2
READINGS = (0.2, 0.4)
SHARE, LENGTH = 0.05, 0.9  # from when on an equation is said to hold no longer: gap over baseline, and coef
DEEP = ("layer 2", "layer 3", "output")  # where averaged features are said to serve both tasks


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind the chapter's claims: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"CTL-10": claim_10(sweep),
            "CTL-11": claim_11(sweep),
            "CTL-12": claim_12(sweep),
            "CTL-13": claim_13(sweep)}


def exponents(part: xarray.Dataset) -> dict[str, float]:
    """{layer: the power of λ with which the deviation grows}, for λ up to 0.2, mean over the ends of this part."""
    small = part.deviation.sel(step=slice(0, 0.2)).mean("ends")
    slopes = {}
    for layer in map(str, small.layer.values):
        slopes[layer] = algorithms.log_slope(small.step.values, small.sel(layer=layer).values)
    return slopes


def _equation(part):
    """What Eq. 2 and Eq. 3 have in common: how large the gap is beside the baseline, how short the features, and how
    the deviation grows."""
    ratio = part.gap_mean / part.base_mean
    numbers = {"base_least": part.base_mean.sel(step=READINGS[0]).min().item()}
    for lam in (*READINGS, 1.0):
        numbers[f"gap_over_base_at_{lam:g}"] = ratio.sel(step=lam).max().item()
        numbers[f"coef_at_{lam:g}"] = part.coef_mean.sel(step=lam).mean("ends").min().item()
    slopes = list(exponents(part).values())
    return numbers | {"exponent_layer_1": slopes[0], "exponent_deepest": slopes[-1]}


def limits(sweep: xarray.Dataset) -> xarray.Dataset:
    """The smallest measured λ at which, in a layer and on average over pairs or tasks, the gap exceeds a twentieth of
    the baseline, and coef falls below 0.9.

    Returns:
        A Dataset with gap and coef (equation: 2, layer), NaN where that does not happen up to λ = 1.
    """
    limits_of = []
    for names in (list(PAIRS), NEGATIONS):
        part = sweep.sel(ends=names)
        beyond = {"gap": (part.gap_mean / part.base_mean).mean("ends") > SHARE,
                  "coef": part.coef_mean.mean("ends") < LENGTH}
        first = {name: sweep.step.where(where).min("step") for name, where in beyond.items()}
        limits_of.append(xarray.Dataset(first))
    return xarray.concat(limits_of, xarray.DataArray(["Eq. 2", "Eq. 3"], dims="equation", name="equation"))


def claim_10(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-10: Eq. 2 at three λ, and what the sum is worth on both tasks."""
    own = sum(sweep.own.sel(model=angle, task=angle).item() for angle in ANGLES) / len(ANGLES)
    eight = sweep.many.sel(num_tasks=len(ANGLES))
    return _equation(sweep.sel(ends=list(PAIRS))) | {
        "own": own,
        "two_at_half": _of_two(sweep, 0.5),
        "two_at_one": _of_two(sweep, 1.0),
        "eight_best": eight.max().item(),
        "eight_best_lam": eight.idxmax("many_lam").item(),
        "eight_before": eight.sel(many_lam=0).item()}


def _of_two(sweep, lam):
    """Accuracy of the sum of two task vectors on both tasks, mean over pairs."""
    values = []
    for name, tasks in PAIRS.items():
        values.append(sweep.accuracy.sel(edit=name, lam=lam, task=list(tasks)).mean().item())
    return sum(values) / len(values)


def claim_11(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-11: Eq. 3 at three λ."""
    return _equation(sweep.sel(ends=NEGATIONS))


def claim_12(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-12: the worse of two tasks with averaged features, and with the better of the two single ones."""
    worse = sweep.stitched.min("two")
    both = worse.sel(features=FEATURES[0])
    alone = worse.sel(features=list(FEATURES[1:])).max("features")
    numbers = {}
    for lam in (0.4, 1.0):
        deep = {"step": lam, "layer": list(DEEP)}
        better = (both > alone).sel(deep)
        numbers |= {f"worse_with_average_at_{lam:g}": both.sel(deep).mean("pair").min().item(),
                    f"worse_with_one_at_{lam:g}": alone.sel(deep).mean("pair").max().item(),
                    f"share_of_pairs_at_{lam:g}": better.mean("pair").min().item()}
    whole = sweep.stitched.sel(step=1.0, layer=list(DEEP))
    own = (whole.sel(features=FEATURES[1], two="i") + whole.sel(features=FEATURES[2], two="j")) / 2
    first = {"step": 1.0, "layer": "layer 1"}
    return numbers | {"one_on_its_own_at_1": own.mean("pair").min().item(),
                      "layer_1_with_average_at_1": both.sel(first).mean().item(),
                      "layer_1_share_of_pairs_at_1": (both > alone).sel(first).mean().item()}


def claim_13(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-13: what negation costs on the pretraining task and on the task, in features and in weights."""
    mean = sweep.negated.mean("angle")
    before = sweep.negated.isel(lam0=0)
    numbers = {"before_pretraining": before.sel(which="pretraining").mean().item(),
               "before_task": before.sel(which="i").mean().item()}
    for lam in (0.5, 1.0):
        for how, name in zip(HOW, ("features", "weights")):
            accuracies = mean.sel(lam0=lam, how=how)
            numbers |= {f"{name}_pretraining_at_{lam:g}": accuracies.sel(which="pretraining").min().item(),
                        f"{name}_task_at_{lam:g}": accuracies.sel(which="i").max().item()}
    near = sweep.negated.sel(angle=22.5, which="i", how=HOW[0], layer="layer 2")
    return numbers | {"near_task_before": near.sel(lam0=0).item(),
                      "near_task_at_1": near.sel(lam0=1.0).item()}


TASK_VECTORS = Experiment("task-arithmetic", measure, PROFILES, source, "MNIST", claims=claims,
                          recipes=lambda settings, seed: recipes(seed).values())
run = TASK_VECTORS.run
