"""Pretraining on shuffled labels: how much of cross-task linearity is knowledge, and how much is merely a common start
(CTL, B.3, Fig. 12)?

`run` trains (through the zoo), measures half-way between finetuned networks, and returns one xarray Dataset.
"""
import dataclasses
from dataclasses import dataclass

import xarray

import data
from lessons import cast
from lessons.kit.experiment import Experiment, Numbers
from lessons.kit.profiles import Profiles
from lessons.linearity import algorithms as linearity
from lessons.pretraining.algorithms import curvature
from lessons.pretraining.experiment import line
from lessons.pretraining.experiment.line import ANGLES
from toy_models import Recipe, weights, zoo

FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
PRETRAIN_IMAGES = 300  # few enough that the network can learn shuffled labels by heart
PRETRAIN_EPOCHS = 80
FINETUNE_IMAGES = 10_000
NORMAL, NOTHING, UNLEARNT = "normal", "nothing", "one epoch, all shuffled"
PAIRS = ("one task, two ways", "two tasks")
ROLES = ("start", "i", "other way", "other task")
# the same three finetunings in steps a tenth as long, below 2/λmax even at the sharpest start
GENTLY = ("i, gently", "other way, gently", "other task, gently")
SHORTER = 10  # times
GENTLE_PASSES = 5  # times as many


def fraction_name(fraction: float) -> str:
    """"shuffled 0.25": the start that was pretrained with this share of its labels shuffled."""
    return f"shuffled {fraction:g}"


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    test_images: int  # of each task, spread evenly over the test part
    train_images: int  # of each task, for curvature
    starts: tuple[str, ...]  # what networks are finetuned from


SHOWN = (*map(fraction_name, FRACTIONS[::2]), NORMAL, NOTHING)
PROFILES = Profiles(quick=Settings(test_images=1000, train_images=200, starts=SHOWN),
                    full=Settings(test_images=5000, train_images=500,
                                  starts=(*map(fraction_name, FRACTIONS), NORMAL, NOTHING, UNLEARNT)))


# -- models ----------------------------------------------------------------------------------------

def recipes(seed: int = 0) -> dict[str, dict[str, Recipe]]:
    """{start: {"start", "i", "other way", "other task"}}: what finetuning begins from, and three networks finetuned
    from it.

    "shuffled …": 80 passes over the first 300 upright digits; "normal": chapter 1's, one pass over all of them with
    true labels; "nothing": the random weights that all of them began from; "one epoch, all shuffled": like "normal"
    with every label shuffled. Finetuning: 45° twice, with different learning rates and batch sizes, and 90°;
    all three also "gently", with smaller learning rates and more passes.
    """
    task, other = ({"angle": angle, "size": FINETUNE_IMAGES} for angle in ANGLES)
    made = {}
    for name, start in start_recipes(seed).items():
        made[name] = {
            "start": start,
            "i": start.finetune(options=task, lr=0.1, epochs=2, batch_size=64, seed=seed + 60_000),
            "other way": start.finetune(options=task, lr=0.05, epochs=2, batch_size=32, seed=seed + 61_000),
            "other task": start.finetune(options=other, lr=0.1, epochs=2, batch_size=64, seed=seed + 62_000)}
        for role, gently in zip(ROLES[1:], GENTLY):
            usual = made[name][role]
            made[name][gently] = dataclasses.replace(usual, lr=usual.lr / SHORTER, epochs=GENTLE_PASSES * usual.epochs)
    return made


def start_recipes(seed: int = 0) -> dict[str, Recipe]:
    """{name: what finetuning begins from}; see `recipes`."""
    normal = line.common(seed)[0.0]
    few = {"angle": 0.0, "size": PRETRAIN_IMAGES}
    starts = {}
    for fraction in FRACTIONS:
        options = few | ({"shuffled": fraction} if fraction else {})
        starts[fraction_name(fraction)] = Recipe.on(line.DATASET, cast.MLP_100, options=options, lr=0.05,
                                                    epochs=PRETRAIN_EPOCHS, batch_size=16, seed=seed)
    nothing = Recipe.on(line.DATASET, cast.MLP_100, options=few, lr=0.1, epochs=0, seed=seed)
    unlearnt = Recipe.on(line.DATASET, cast.MLP_100, options={"angle": 0.0, "shuffled": 1.0}, lr=0.1,
                         epochs=normal.epochs, batch_size=64, seed=seed)
    return starts | {NORMAL: normal, NOTHING: nothing, UNLEARNT: unlearnt}


def all_recipes(starts: tuple[str, ...] = SHOWN, seed: int = 0) -> list[Recipe]:
    """The recipes of these starts in the order in which they are trained: one training set after the other."""
    made = recipes(seed)
    usual = [made[start][role] for role in ROLES for start in starts]
    return usual + [made[start][role] for role in GENTLY for start in gentle_starts(starts)]


def gentle_starts(starts: tuple[str, ...]) -> list[str]:
    """Those from which networks are also finetuned gently: learned by heart, and normal."""
    return [start for start in starts if start in (fraction_name(0), fraction_name(1), NORMAL)]


# -- the measurement -------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """What is half-way between the finetuned networks.

    Returns:
        A Dataset over start (5; 8 in "full"), pair (2) and layer with
        gap_*, coef_* (start, pair, layer), own_* (start, pair, layer), loss, accuracy, mixed_accuracy, distance
        (start, pair): half-way, on the test images of the pair's tasks, as `line.along` gives them;
        learnt (start): accuracy on the images and labels of the pretraining; knows (start): accuracy of the start on
        upright test digits;
        moved (start): ‖θ_0 − random start‖; own_accuracy (start, pair, end): of the two networks on their own task;
        curvature (start): λmax of the loss on training images of both tasks, at the start;
        along (start, pair): curvature of the pair's loss along the line between the two networks, half-way;
        gentle_gap (start, pair, layer), gentle_distance, gentle_accuracy (start, pair): after finetuning gently; NaN
        for starts from which it was not done;
        equal_gap (start, pair, layer): the gap when both are brought towards their start, or away from it, until they
        are as far apart as the pair from normal pretraining.
    """
    made = recipes(seed)
    zoo.get_all(all_recipes(settings.starts, seed), device)
    tests = {angle: line.test_images(angle, settings.test_images) for angle in (0.0, *ANGLES)}
    both = line.of_both(line.test_images, settings.test_images)
    train = line.of_both(line.train_images, settings.train_images)
    trains = line.train_images(ANGLES[0], 2 * settings.train_images), train  # of the one task, of both
    random = zoo.get(made[NOTHING]["start"], device).state_dict()
    normal = zoo.get_all([made[NORMAL][role] for role in ROLES[1:]], device)
    distances = {pair: _distance(normal[0], j) for pair, j in zip(PAIRS, normal[1:])}
    rows = []
    for name in settings.starts:
        start, *finetuned = zoo.get_all([made[name][role] for role in ROLES], device)
        pretraining = data.load(line.DATASET, "train", **dict(made[name]["start"].options))
        of_pairs = _pairs(finetuned, tests, both).merge(_explained(start, finetuned, tests, both, trains, distances))
        rows.append(of_pairs.assign(
            learnt=_accuracy(start, pretraining.x, pretraining.y),
            knows=_accuracy(start, *tests[0.0]),
            moved=weights.norm(weights.subtract(start.state_dict(), random)),
            curvature=curvature.spectrum(*curvature.of_network(start, curvature.cross_entropy(train[1]), train[0]),
                                         tolerance=0.03).norm))
        if name in gentle_starts(settings.starts):
            gentle = _pairs(zoo.get_all([made[name][role] for role in GENTLY], device), tests, both)
            rows[-1] = rows[-1].assign(gentle_gap=gentle.gap_mean, gentle_distance=gentle.distance,
                                       gentle_accuracy=gentle.own_accuracy.mean("end"))
    sweep = xarray.concat(rows, xarray.DataArray(list(settings.starts), dims="start", name="start"))
    return sweep.assign_attrs(line.measured_on(f"{len(both[1]):,} test images"))


def _pairs(finetuned, tests, both):
    """Half-way between the network "i" and each of the two others."""
    i, *others = finetuned
    rows = []
    for j, angle, images in zip(others, ANGLES, (tests[ANGLES[0]], both)):
        half_way = line.along(i.state_dict(), j.state_dict(), *images, (0.5,)).sel(alpha=0.5, drop=True)
        accuracies = [_accuracy(i, *tests[ANGLES[0]]), _accuracy(j, *tests[angle])]
        rows.append(half_way.assign(own_accuracy=("end", accuracies)))
    return xarray.concat(rows, xarray.DataArray(list(PAIRS), dims="pair", name="pair"))


def _explained(start, finetuned, tests, both, trains, distances):
    """What may explain a gap: the curvature along the line, and the gap at the distance of the normal pair."""
    i, *others = finetuned
    theta_0, theta_i = (weights.flatten(network.state_dict()) for network in (start, i))
    rows = []
    for pair, j, images, (x, y) in zip(PAIRS, others, (tests[ANGLES[0]], both), trains):
        f, _ = curvature.of_network(i, curvature.cross_entropy(y), x)
        theta_j = weights.flatten(j.state_dict())
        along = curvature.curvature_along(f, weights.mix(theta_i, theta_j, 0.5), theta_i - theta_j)
        scale = distances[pair] / _distance(i, j)
        ends = [weights.unflatten(theta_0 + scale * (theta - theta_0), i.state_dict()) for theta in (theta_i, theta_j)]
        equal = line.along(*ends, *images, (0.5,)).sel(alpha=0.5, drop=True)
        rows.append(xarray.Dataset({"along": along, "equal_gap": equal.gap_mean}))
    return xarray.concat(rows, xarray.DataArray(list(PAIRS), dims="pair", name="pair"))


def _distance(i, j):
    return weights.norm(weights.subtract(i.state_dict(), j.state_dict()))


def _accuracy(network, x, y):
    _, accuracy = linearity.evaluate(network(x), y)
    return accuracy


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> Numbers:
    """The numbers behind CTL-15, from one sweep. What each means stands in claims.yaml."""
    return {"CTL-15": claim_15(sweep)}


def claim_15(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-15: gap and coef, mean over layers, from shuffled, true, normal and no pretraining, for the source's kind of
    pair and for two tasks."""
    starts = {"shuffled": fraction_name(1), "true": fraction_name(0), "normal": NORMAL, "nothing": NOTHING}
    by_heart = list(map(fraction_name, fractions(sweep)))
    curved = sweep.curvature.sel(start=by_heart).mean() / sweep.curvature.sel(start=NORMAL)
    equal = sweep.equal_gap.mean("layer")
    numbers = {"shuffled_learnt": sweep.learnt.sel(start=starts["shuffled"]).item()}
    for name in ("shuffled", "true", "normal"):
        numbers[f"{name}_knows"] = sweep.knows.sel(start=starts[name]).item()
    numbers["by_heart_curvature_over_normal"] = curved.item()
    for pair, short in zip(PAIRS, ("one_task", "two_tasks")):
        of_pair = sweep.sel(pair=pair)
        gap = of_pair.gap_mean.mean("layer")
        coef = of_pair.coef_mean.mean("layer")
        numbers |= {f"{short}_{name}_gap": gap.sel(start=start).item() for name, start in starts.items()}
        numbers |= {f"{short}_{name}_over_normal": (gap.sel(start=starts[name]) / gap.sel(start=NORMAL)).item()
                    for name in ("shuffled", "true")}
        numbers |= {f"{short}_{name}_coef": coef.sel(start=start).item() for name, start in starts.items()}
        numbers[f"{short}_by_heart_gap"] = gap.sel(start=by_heart).mean().item()
        for name, start in starts.items():
            numbers |= {f"{short}_{name}_distance": of_pair.distance.sel(start=start).item(),
                        f"{short}_{name}_along": of_pair.along.sel(start=start).item(),
                        f"{short}_{name}_equal_ratio": (equal.sel(pair=pair, start=start)
                                                        / gap.sel(start=NORMAL)).item()}
        gentle = of_pair.gentle_gap.mean("layer")
        numbers |= {f"{short}_{name}_gentle_gap": gentle.sel(start=starts[name]).item()
                    for name in ("shuffled", "true", "normal")}
    if UNLEARNT in sweep.start:
        unlearnt = sweep.sel(start=UNLEARNT)
        numbers |= {"unlearnt_learnt": unlearnt.learnt.item(),
                    "unlearnt_moved": unlearnt.moved.item(),
                    "two_tasks_unlearnt_gap": unlearnt.gap_mean.sel(pair=PAIRS[1]).mean().item()}
    return numbers


def fractions(sweep: xarray.Dataset) -> list[float]:
    """The shares of shuffled labels that were measured: three in "quick", five in "full"."""
    return [fraction for fraction in FRACTIONS if fraction_name(fraction) in sweep.start]


def over_normal(sweep: xarray.Dataset, pair: str, start: str) -> float:
    """How many times as large the gap is, mean over the layers, as after normal pretraining."""
    gap = sweep.gap_mean.sel(pair=pair).mean("layer")
    return (gap.sel(start=start) / gap.sel(start=NORMAL)).item()


LABELS = Experiment("labels", measure, PROFILES, line.source, "MNIST",
                    recipes=lambda settings, seed: all_recipes(settings.starts, seed), claims=claims)
LEDGER = (LABELS,)
run = LABELS.run
