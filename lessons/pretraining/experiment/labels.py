"""Pretraining on shuffled labels: how much of cross-task linearity is knowledge, and how much is merely a common start (CTL, B.3, Fig. 12)?

`run` trains (through the zoo), measures half-way between finetuned networks, and returns one xarray Dataset.
"""
from dataclasses import asdict

import xarray

import data
from lessons.linearity import algorithms as linearity
from lessons.linearity.experiment import mlp as chapter_1
from lessons.pretraining.algorithms import curvature
from lessons.pretraining.experiment import line
from lessons.pretraining.experiment.line import ANGLES, PROFILES
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import MLP, Recipe, training, weights, zoo

FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
PRETRAIN_IMAGES, PRETRAIN_EPOCHS = 300, 80  # few enough that the network can learn shuffled labels by heart
FINETUNE_IMAGES = 10_000
NORMAL, NOTHING, UNLEARNT = "normal", "nothing", "one epoch, all shuffled"
PAIRS = ("one task, two ways", "two tasks")


def fraction_name(fraction: float) -> str:
    """"shuffled 0.25": the start that was pretrained with this share of its labels shuffled."""
    return f"shuffled {fraction:g}"


SHOWN = (*map(fraction_name, FRACTIONS[::2]), NORMAL, NOTHING)
STARTS = Profiles(quick=SHOWN, full=(*map(fraction_name, FRACTIONS), NORMAL, NOTHING, UNLEARNT))


def recipes(seed: int = 0) -> dict[str, dict[str, Recipe]]:
    """{start: {"start", "i", "other way", "other task"}}: what finetuning begins from, and three networks finetuned from it.

    "shuffled …": 80 passes over the first 300 upright digits; "normal": chapter 1's, one pass over all of them with true labels; "nothing": the random
    weights that all of them began from; "one epoch, all shuffled": like "normal" with every label shuffled. Finetuning: 45° twice, with different
    learning rates, passes and batch sizes, and 90°.
    """
    normal = line.common(seed)[0.0]
    few = {"angle": 0.0, "size": PRETRAIN_IMAGES}
    start = {fraction_name(f): Recipe.on("rotated_mnist", chapter_1.ARCHITECTURE, options=few | ({"shuffled": f} if f else {}), lr=0.05, epochs=PRETRAIN_EPOCHS, batch_size=16, seed=seed)
             for f in FRACTIONS}
    start |= {NORMAL: normal, NOTHING: Recipe.on("rotated_mnist", chapter_1.ARCHITECTURE, options=few, lr=0.1, epochs=0, seed=seed),
              UNLEARNT: Recipe.on("rotated_mnist", chapter_1.ARCHITECTURE, options={"angle": 0.0, "shuffled": 1.0}, lr=0.1, epochs=normal.epochs, batch_size=64, seed=seed)}
    task = {angle: {"angle": angle, "size": FINETUNE_IMAGES} for angle in ANGLES}
    return {name: {"start": one, "i": one.finetune(options=task[45.0], lr=0.1, epochs=2, batch_size=64, seed=seed + 60_000),
                   "other way": one.finetune(options=task[45.0], lr=0.05, epochs=2, batch_size=32, seed=seed + 61_000),
                   "other task": one.finetune(options=task[90.0], lr=0.1, epochs=2, batch_size=64, seed=seed + 62_000)} for name, one in start.items()}


ROLES = ("start", "i", "other way", "other task")


def all_recipes(profile: str = "quick", seed: int = 0) -> list[Recipe]:
    """The recipes of a profile's starts in the order in which they are trained: one training set after the other."""
    made = recipes(seed)
    return [made[start][role] for role in ROLES for start in STARTS[profile]]


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure half-way between the finetuned networks.

    Returns:
        A Dataset over start (5; 8 in "full"), pair (2) and layer with
        gap_*, coef_* (start, pair, layer), own_* (start, pair, layer), loss, accuracy, mixed_accuracy, distance (start, pair): half-way, on the test
        images of the pair's tasks, as `line.along` gives them;
        learnt (start): accuracy on the images and labels of the pretraining; knows (start): accuracy of the start on upright test digits;
        moved (start): ‖θ_0 − random start‖; own_accuracy (start, pair, end): of the two networks on their own task;
        curvature (start): λmax of the loss on training images of both tasks, at the start.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    source = data.source("rotated_mnist", angle=ANGLES[0])
    ingredients = {"settings": asdict(settings), "recipes": [recipe.key for recipe in all_recipes(profile, seed)]}
    return cached("labels", ingredients, lambda: measure(profile, seed, device).assign_attrs(
        source=source.text.split(",")[0], source_kind=source.kind, dataset="MNIST", network="MLP 784–100–100–100–10", profile=profile, seed=seed))


@training.one_thread()
def measure(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    made, settings, starts = recipes(seed), PROFILES[profile], STARTS[profile]
    zoo.get_all([made[start][role] for role in ROLES for start in starts], device)
    tests = {angle: line.test_images(angle, settings.test_images) for angle in (0.0, *ANGLES)}
    images = {PAIRS[0]: tests[45.0], PAIRS[1]: line.of_both(line.test_images, settings.test_images)}
    x, y = line.of_both(line.train_images, settings.train_images)
    random, rows = zoo.get(made[NOTHING]["start"], device).state_dict(), []
    for name in starts:
        start, i, other_way, other_task = zoo.get_all([made[name][role] for role in ROLES], device)
        learnt = data.load("rotated_mnist", "train", **dict(made[name]["start"].options))
        pairs = [line.along(i.state_dict(), j.state_dict(), *images[pair], (0.5,)).sel(alpha=0.5, drop=True).assign(
            own_accuracy=("end", [_accuracy(i, *tests[45.0]), _accuracy(j, *tests[angle])])) for pair, j, angle in zip(PAIRS, (other_way, other_task), ANGLES)]
        rows.append(xarray.concat(pairs, xarray.DataArray(list(PAIRS), dims="pair", name="pair")).assign(
            learnt=_accuracy(start, learnt.x, learnt.y), knows=_accuracy(start, *tests[0.0]), moved=weights.norm(weights.subtract(start.state_dict(), random)),
            curvature=curvature.spectrum(*curvature.of_network(start, curvature.cross_entropy(y), x), tolerance=0.03).norm))
    return xarray.concat(rows, xarray.DataArray(list(starts), dims="start", name="start")).assign_attrs(images=f"{len(images[PAIRS[1]][1]):,} test images")


def _accuracy(network: MLP, x, y) -> float:
    return linearity.evaluate(network(x), y)[1]


# -- claims ----------------------------------------------------------------------------------------

def shares(sweep: xarray.Dataset) -> xarray.DataArray:
    """(start, pair, layer): the gap half-way as a share of the two networks' own distance."""
    return sweep.gap_mean / sweep.own_mean


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind CTL-15, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"CTL-15": claim_15(sweep)}


def claim_15(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-15: gap and coef, mean over layers, from shuffled, true, normal and no pretraining, for the source's kind of pair and for two tasks."""
    true, random, by_heart = fraction_name(0), fraction_name(1), list(map(fraction_name, fractions(sweep)))
    found = {"shuffled_learnt": sweep.learnt.sel(start=random).item(), "shuffled_knows": sweep.knows.sel(start=random).item(), "true_knows": sweep.knows.sel(start=true).item(),
             "normal_knows": sweep.knows.sel(start=NORMAL).item(), "by_heart_curvature_over_normal": (sweep.curvature.sel(start=by_heart).mean() / sweep.curvature.sel(start=NORMAL)).item()}
    for pair, short in zip(PAIRS, ("one_task", "two_tasks")):
        gap, coef = (sweep[name].sel(pair=pair).mean("layer") for name in ("gap_mean", "coef_mean"))
        found |= {f"{short}_{name}_{what}": values.sel(start=start).item() for what, values in (("gap", gap), ("coef", coef))
                  for name, start in (("shuffled", random), ("true", true), ("normal", NORMAL), ("nothing", NOTHING))}
        found[f"{short}_by_heart_gap"] = gap.sel(start=by_heart).mean().item()
    if UNLEARNT in sweep.start:
        found |= {"unlearnt_learnt": sweep.learnt.sel(start=UNLEARNT).item(), "unlearnt_moved": sweep.moved.sel(start=UNLEARNT).item(),
                  "two_tasks_unlearnt_gap": sweep.gap_mean.sel(start=UNLEARNT, pair=PAIRS[1]).mean().item()}
    return found


def fractions(sweep: xarray.Dataset) -> list[float]:
    """The shares of shuffled labels that were measured: three in "quick", five in "full"."""
    return [fraction for fraction in FRACTIONS if fraction_name(fraction) in sweep.start]


def over_normal(sweep: xarray.Dataset, pair: str, start: str) -> float:
    """How many times as large the gap is, mean over the layers, as after normal pretraining."""
    gap = sweep.gap_mean.sel(pair=pair).mean("layer")
    return (gap.sel(start=start) / gap.sel(start=NORMAL)).item()
