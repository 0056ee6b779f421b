"""Chapter 1's pretrained MLP, finetuned on eight rotations of MNIST, and all that can be done with the eight task vectors (CTL §4.3).

`run` trains (through the zoo), measures, and returns one xarray Dataset; the second time all of it comes from disk.
"""
import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
import xarray
from torch import Tensor
from tqdm.auto import tqdm

import data
from data.rotated_mnist import rotate
from lessons.averaging.algorithms import Family
from lessons.linearity.experiment import mlp as chapter_1
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached, on_grid, summarise
from lessons.task_arithmetic import algorithms
from lessons.task_arithmetic.algorithms import TaskVector, shares_of
from toy_models import MLP, Recipe, training, zoo

ANGLES = tuple(22.5 * i for i in range(1, 9))  # the first four are chapter 1's
EVALUATED = (0.0, *ANGLES)  # the pretraining task, then the eight
LAMS = tuple(round(i / 10, 2) for i in range(-10, 11))  # of the panels
POSITIVE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # for Eq. 2, 3 and stitching, the source's range for the latter
MANY_LAMS = (*(round(i / 20, 2) for i in range(9)), *(round(i / 10, 2) for i in range(5, 11)))  # closer where sums of many need it
SECONDS = {"quick": 25, "full": 100}  # rough, on 2 cores, nothing cached


@dataclass(frozen=True)
class Settings:
    """How much is measured; training is the same in every profile.

    Attributes:
        test_images: per task, spread evenly over the test part.
        subsets: how many choices of k tasks out of eight are added up, for every k.
    """
    test_images: int
    subsets: int


PROFILES = Profiles(quick=Settings(test_images=150, subsets=2), full=Settings(test_images=2000, subsets=8))


def name_of(*angles: float) -> str:
    """What a sum of task vectors is called: "22.5°", "22.5° and 90°", "all eight"."""
    return "all eight" if len(angles) == len(ANGLES) else " and ".join(f"{angle:g}°" for angle in angles)


def negation_of(angle: float) -> str:
    """What Eq. 3 for one task vector is called: "90° and its negative"."""
    return f"{angle:g}° and its negative"


PAIRS = {name_of(i, j): (i, j) for i, j in itertools.combinations(ANGLES, 2)}
EDITS = {name_of(angle): (angle,) for angle in ANGLES} | PAIRS | {name_of(*ANGLES): ANGLES}
LAYERS = ("layer 1", "layer 2", "layer 3", "output")


# -- the models ----------------------------------------------------------------------------------------------------------------

def recipes(seed: int = 0) -> dict[float, Recipe]:
    """{angle: recipe}: chapter 1's pretrained network at 0.0, and one more epoch from there on digits turned by each of the eight angles."""
    pretrained = chapter_1.recipes(seed)["pretrained"]
    return {0.0: pretrained, **{angle: pretrained.finetune(options={"angle": angle}) for angle in ANGLES}}


def models(seed: int = 0, device: str = "auto") -> dict[float, MLP]:
    """{angle: network}: the pretrained one at 0.0 and the eight finetuned ones; trained now if they are not in the zoo."""
    made = recipes(seed)
    return dict(zip(made, zoo.get_all(list(made.values()), device)))


def task_vectors(networks: dict[float, MLP]) -> dict[float, TaskVector]:
    """{angle: τ} of the finetuned networks."""
    base = networks[0.0].state_dict()
    return {angle: TaskVector(base, networks[angle].state_dict()) for angle in ANGLES}


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what `run` will have to do and about how long that takes on two cores."""
    PROFILES[profile]  # an error where there is no such profile
    wanted = list(recipes(seed).values())
    missing = sum(not zoo.path_of(recipe).exists() for recipe in wanted)
    return f"{missing} of {len(wanted)} MLPs have to be trained: about {SECONDS[profile]} s on two cores, once." if missing else "All MLPs of this chapter are in the zoo: this takes seconds."


# -- the measurement -----------------------------------------------------------------------------------------------------------

def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure everything.

    Returns:
        A Dataset with
        accuracy (edit: 37, lam: 21, task: 9): of θ₀ + λ·(sum of the edit's task vectors), on the pretraining task (0°) and the eight;
        own (model: 9, task): of the pretrained and the finetuned networks alone; norm (angle: 8): ‖τ‖; cosine (part: 5, angle, other): between
        task vectors, over all weights and layer by layer;
        gap_*, base_*, coef_* (ends: 36, step: 9, layer: 4), as `lessons.kit.sweep.summarise` gives them, and deviation: Eq. 2 for 28 pairs on the images
        of both tasks, Eq. 3 for eight negations on those of their own; `step` is λ;
        stitched (pair: 28, step, layer, features: 3, two): accuracy on tasks i and j of the pretrained network that is given the average of the
        features of θ₀ + λτ_i and θ₀ + λτ_j, or those of one of them; "output" is the ensemble;
        negated (angle, lam0: 10, layer, how: 2, two): accuracy on the pretraining task and task i of the pretrained network given the features
        minus Δ, or those of θ₀ − λτ_i;
        many (num_tasks: 8, many_lam: 15): accuracy of sums of k task vectors on those k tasks, mean over choices of k;
        desk_image (task, image: 100, row, column), desk_label (image): test images in 256 shades, for what is computed live;
        analogy (quadruple: 5, step): accuracy on angle d of θ₀ + λ·(τ_c + τ_b − τ_a), for four angles in equal steps.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    source = data.source("rotated_mnist", angle=0.0)
    ingredients = {"settings": asdict(settings), "recipes": [recipe.key for recipe in recipes(seed).values()]}
    return cached("task-arithmetic", ingredients, lambda: measure(settings, seed, device).assign_attrs(
        source=source.text, source_kind=source.kind, dataset="MNIST", network="MLP 784–100–100–100–10", profile=profile, seed=seed))


@training.one_thread()
def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    networks = models(seed, device)
    table = Table(networks, *test_sets(settings.test_images))
    return xarray.merge([_edits(table), _vectors(networks), _equations(table), _stitching(table, networks[0.0]), _negation(table, networks[0.0]),
                         _many(table, settings.subsets, seed), _analogies(table), _desk_images()]).assign_attrs(images=f"{len(table.y):,} test images a task")


class Table:
    """The nine networks looked at on the same digits, turned by each of the nine angles; any θ₀ + Σ λ_t τ_t on them.

    θ₀ + Σ λ_t τ_t is (1 − Σ λ_t)·θ₀ + Σ λ_t·θ_t, so chapter 3's `Family` computes it, sharing the first layer's work.

    Args:
        networks: {angle: network} as `models` gives them.
        turned: the same digits turned by each angle, nine times (images, 28, 28).
        y: their labels (images,).

    Attributes:
        family: the networks on all images, the pretrained one first; y.
    """

    def __init__(self, networks: dict[float, MLP], turned: Sequence[Tensor], y: Tensor):
        self.y = y
        self.family = Family([networks[angle].state_dict() for angle in EVALUATED], torch.cat(turned))

    def features(self, lams: dict[float, float]) -> dict[str, Tensor]:
        """{layer: (9 · images, width)} of θ₀ + Σ λ_t τ_t, for {angle: λ}."""
        return self.family.average([0, *(EVALUATED.index(angle) for angle in lams)], shares_of(list(lams.values())))

    def in_features(self, lams: dict[float, float]) -> Tensor:
        """f(θ₀) + Σ λ_t·(f(θ_t) − f(θ₀)) in the output layer, (9 · images, classes): the same point, computed with outputs instead of weights."""
        return self.family.ensemble([0, *(EVALUATED.index(angle) for angle in lams)], shares_of(list(lams.values())))

    def accuracy(self, logits: Tensor) -> np.ndarray:
        """Share correct on each of the nine tasks, (9,), from logits (9 · images, classes)."""
        return (logits.argmax(1).view(len(EVALUATED), -1) == self.y).double().mean(1).numpy()

    def of(self, values: Tensor, *angles: float) -> Tensor:
        """The rows of (9 · images, …) that belong to the images of some tasks, one after the other."""
        parts = values.view(len(EVALUATED), -1, *values.shape[1:])
        return torch.cat([parts[EVALUATED.index(angle)] for angle in angles])


def test_sets(size: int) -> tuple[list[Tensor], Tensor]:
    """Test images turned by each of the nine angles, (images, 28, 28) each, and their labels. They are spread evenly over the test part, since MNIST's
    first half is harder than its second, and only these are turned."""
    upright = data.load("rotated_mnist", "test", angle=0.0).spread(size)
    return [rotate(upright.x, angle) for angle in EVALUATED], upright.y


DESK_IMAGES = 100  # that the sweep keeps of every task


def _desk_images():
    turned, y = test_sets(DESK_IMAGES)
    return xarray.Dataset({"desk_image": (("task", "image", "row", "column"), (torch.stack(turned) * 255).round().to(torch.int16).numpy()), "desk_label": ("image", y.numpy())})


def desk(sweep: xarray.Dataset, networks: dict[float, MLP]) -> Table:
    """The networks on the images that the sweep keeps: few enough to look at any mixture while a fader moves."""
    return Table(networks, [torch.tensor(images) / 255 for images in sweep.desk_image.values.astype("float32")], torch.tensor(sweep.desk_label.values.astype("int64")))


def _edits(table):
    values = [[table.accuracy(table.features(dict.fromkeys(angles, lam))["output"]) for lam in LAMS] for angles in tqdm(EDITS.values(), desc="measuring sums", unit="sum")]
    own = [table.accuracy(one) for one in table.family.features["output"]]
    return xarray.Dataset({"accuracy": (("edit", "lam", "task"), values), "own": (("model", "task"), own)},
                          coords={"edit": list(EDITS), "lam": list(LAMS), "task": list(EVALUATED), "model": list(EVALUATED)})


PARTS = ("all weights", *LAYERS)


def _vectors(networks):
    vectors = list(task_vectors(networks).values())
    parts = [vectors, *([tau.only(f"layers.{i}") for tau in vectors] for i in range(len(LAYERS)))]
    return xarray.Dataset({"norm": ("angle", [tau.norm() for tau in vectors]), "cosine": (("part", "angle", "other"), [algorithms.cosines(part).numpy() for part in parts])},
                          coords={"angle": list(ANGLES), "other": list(ANGLES), "part": list(PARTS)})


def _ends(table, lam):
    """Yield (name, tasks whose images count, middle, one end, other end) of Eq. 2 for every pair and Eq. 3 for every task; features of each."""
    doubled = {angle: table.features({angle: 2 * lam}) for angle in ANGLES}
    for name, (i, j) in PAIRS.items():
        yield name, (i, j), table.features({i: lam, j: lam}), doubled[i], doubled[j]
    base = {layer: feature[0] for layer, feature in table.family.features.items()}
    for angle in ANGLES:
        yield negation_of(angle), (angle,), base, table.features({angle: lam}), table.features({angle: -lam})


def _equations(table):
    found = []
    for lam in tqdm(POSITIVE, desc="measuring Eq. 2 and 3", unit="λ"):
        for _, tasks, *three in _ends(table, lam):
            three = [{layer: table.of(feature, *tasks) for layer, feature in features.items()} for features in three]
            for layer, values in algorithms.halfway(*three).items():
                found.append(summarise(values) | {"deviation": algorithms.relative_deviation(*(features[layer] for features in three))})
    return on_grid(found, step=POSITIVE, ends=[*PAIRS, *map(negation_of, ANGLES)], layer=LAYERS)


FEATURES = ("average of both", "of θ₀ + λτᵢ alone", "of θ₀ + λτⱼ alone")


def _stitching(table, pretrained):
    """Fig. 9 of CTL: which features the pretrained network is given, and what it makes of the images of both tasks."""
    result = np.zeros((len(PAIRS), len(POSITIVE), len(LAYERS), len(FEATURES), 2))
    for step, lam in enumerate(tqdm(POSITIVE, desc="stitching", unit="λ")):
        single = {angle: table.features({angle: lam}) for angle in ANGLES}
        for place, layer in enumerate(LAYERS):
            alone = {angle: table.accuracy(algorithms.stitched(pretrained, layer, single[angle][layer])) for angle in ANGLES}
            for row, (i, j) in enumerate(PAIRS.values()):
                where = [EVALUATED.index(i), EVALUATED.index(j)]
                logits = algorithms.stitched(pretrained, layer, table.of(single[i][layer] + single[j][layer], i, j) / 2)
                result[row, step, place] = [(logits.argmax(1).view(2, -1) == table.y).double().mean(1).tolist(), alone[i][where], alone[j][where]]
    return xarray.Dataset({"stitched": (("pair", "step", "layer", "features", "two"), result)},
                          coords={"pair": list(PAIRS), "step": list(POSITIVE), "layer": list(LAYERS), "features": list(FEATURES), "two": ["i", "j"]})


HOW = ("features of θ₀ minus Δ", "features of θ₀ − λτ")
FROM_ZERO = (0.0, *POSITIVE)


def _negation(table, pretrained):
    """Fig. 10 of CTL: the pretrained network with a task's Δ taken out of its features, and with the features of θ₀ − λτ."""
    result = np.zeros((len(ANGLES), len(FROM_ZERO), len(LAYERS), len(HOW), 2))
    base = {layer: feature[0] for layer, feature in table.family.features.items()}
    for row, angle in enumerate(ANGLES):
        for step, lam in enumerate(FROM_ZERO):
            plus, minus = table.features({angle: lam}), table.features({angle: -lam})
            for place, layer in enumerate(LAYERS):
                for way, h in enumerate((algorithms.negated_in_features(base[layer], plus[layer]), minus[layer])):
                    logits = algorithms.stitched(pretrained, layer, table.of(h, 0.0, angle))
                    result[row, step, place, way] = (logits.argmax(1).view(2, -1) == table.y).double().mean(1)
    return xarray.Dataset({"negated": (("angle", "lam0", "layer", "how", "which"), result)},
                          coords={"angle": list(ANGLES), "lam0": list(FROM_ZERO), "layer": list(LAYERS), "how": list(HOW), "which": ["pretraining", "i"]})


def _many(table, subsets, seed):
    """Sums of 1, 2, … 8 task vectors, on the tasks they are made of."""
    generator, values = np.random.default_rng(seed), np.zeros((len(ANGLES), len(MANY_LAMS)))
    for k in range(1, len(ANGLES) + 1):
        every = list(itertools.combinations(ANGLES, k))
        chosen = [every[i] for i in generator.permutation(len(every))[:subsets]]
        for place, lam in enumerate(MANY_LAMS):
            values[k - 1, place] = np.mean([table.accuracy(table.features(dict.fromkeys(angles, lam))["output"])[[EVALUATED.index(angle) for angle in angles]].mean() for angles in chosen])
    return xarray.Dataset({"many": (("num_tasks", "many_lam"), values)}, coords={"num_tasks": list(range(1, len(ANGLES) + 1)), "many_lam": list(MANY_LAMS)})


QUADRUPLES = {f"{c:g}° + ({b:g}° − {a:g}°)": (a, b, c, d) for a, b, c, d in zip(ANGLES, ANGLES[1:], ANGLES[2:], ANGLES[3:])}


def _analogies(table):
    """a is to b as c is to d: four angles in equal steps."""
    values = [[table.accuracy(table.features({c: lam, b: lam, a: -lam})["output"])[EVALUATED.index(d)] for lam in POSITIVE] for a, b, c, d in QUADRUPLES.values()]
    return xarray.Dataset({"analogy": (("quadruple", "step"), values)}, coords={"quadruple": list(QUADRUPLES), "step": list(POSITIVE)})
