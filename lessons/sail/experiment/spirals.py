"""Two parents on Spirals, mixed with γ and trained on all points (SAIL, app. K, Fig. 8 and 9), beside random starts and
beside each parent alone."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray

import data
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.pretraining.algorithms import matching
from lessons.sail.algorithms import mixing
from toy_models import MLP, Architecture, Recipe, abreast, losses, zoo
from toy_models.weights import State

ARCHITECTURE = Architecture.of("MLP", widths=(2, 50, 2))
LR, EPOCHS, POINTS = 5e-3, 300, 400  # of the source; it gives each parent 40 % of the points
ARMS, SAMPLES, NOTHING = "one arm each", "a sample of both arms each", "nothing: two random networks"
ONE, TWO, MATCHED, PRETRAINED = "one start", "two starts", "two starts, matched", "one pretraining"
EVERY = 5  # epochs between those that are kept
RANDOM = 8  # random starts
STRANGER, OTHER_POINTS = 1000, 7  # seeds beside the first parent's, and of the points of pretraining


@dataclass(frozen=True)
class Setting:
    """What the parents learned, and what they had in common before."""
    parents: str
    start: str = ""

    def __str__(self):
        return f"{self.parents}; {self.start}" if self.start else self.parents


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    gammas: tuple[float, ...]  # shares of the first parent
    settings: tuple[Setting, ...]  # the pairs of parents


NO_PARENTS = Setting(NOTHING)
SOME = (Setting(ARMS, ONE), Setting(ARMS, TWO), Setting(SAMPLES, ONE), Setting(SAMPLES, TWO),
        Setting(SAMPLES, MATCHED), NO_PARENTS)
ALL = (*SOME[:2], Setting(ARMS, MATCHED), Setting(ARMS, PRETRAINED), *SOME[2:5], Setting(SAMPLES, PRETRAINED),
       NO_PARENTS)
GAMMAS_31 = tuple(round(-1 + i / 10, 1) for i in range(31))
PROFILES = Profiles(quick=Settings((-1.0, 0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 2.0), SOME),
                    full=Settings(GAMMAS_31, ALL))


# -- parents ---------------------------------------------------------------------------------------

def recipes_of(setting: Setting, seed: int = 0) -> tuple[Recipe, Recipe]:
    """The two parents' recipes; matched parents are those of two starts, before they are matched."""
    seeds = (seed, seed if setting.start in (ONE, PRETRAINED) else seed + STRANGER)
    if setting.parents == NOTHING:
        return tuple(_recipe({}, each, epochs=0) for each in seeds)
    parts = ({"arm": 0, "size": POINTS}, {"arm": 1, "size": POINTS})
    if setting.parents == SAMPLES:
        parts = ({"size": POINTS}, {"first": POINTS, "size": POINTS})
    if setting.start == PRETRAINED:
        return tuple(pretraining(seed).finetune(options={"seed": 0, **part}, epochs=EPOCHS) for part in parts)
    return tuple(_recipe(part, each) for part, each in zip(parts, seeds))


def pretraining(seed: int = 0) -> Recipe:
    """The network that two parents of one pretraining began from: a third of the epochs, on other points of both
    arms."""
    return _recipe({"seed": OTHER_POINTS}, seed, epochs=EPOCHS // 3)


def _recipe(options, seed, epochs=None):
    epochs = EPOCHS if epochs is None else epochs
    return Recipe.on("spirals", ARCHITECTURE, options=options, lr=LR, epochs=epochs, batch_size=None, optimiser="adam",
                     seed=seed, loss=losses.ALL_CLASSES)


def all_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network that the zoo keeps."""
    return [pretraining(seed)] + [recipe for setting in settings.settings for recipe in recipes_of(setting, seed)]


def parents(setting: Setting, seed: int = 0, device: str = "auto") -> list[State]:
    """θ₁ and θ₂ of a setting, trained now if they are not in the zoo."""
    first, second = (network.state_dict() for network in zoo.get_all(recipes_of(setting, seed), device))
    if setting.start == MATCHED:
        plan = matching.mlp_plan(2)
        second = matching.permute(second, plan, matching.weight_matching(first, second, plan).permutations)
    return [first, second]


def starts(pair: Sequence[State], gammas: Sequence[float]) -> list[State]:
    """θ^P for every γ."""
    return [mixing.proximal(pair, [gamma, 1 - gamma]) for gamma in gammas]


# -- training --------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Task:
    """The points that all starts are trained and tested on."""
    x: torch.Tensor
    y: torch.Tensor
    test_x: torch.Tensor
    test_y: torch.Tensor


def task() -> Task:
    """All points of Spirals, of which the parents saw parts."""
    train, test = (data.load("spirals", split) for split in ("train", "test"))
    return Task(train.x, train.y, test.x, test.y)


def trained(states: Sequence[State], task: Task) -> dict[str, np.ndarray]:
    """Full-batch Adam from every start: loss and slope (starts, kept epochs), the training loss and the length of its
    gradient; mean_loss, mean_slope (starts,), over all epochs; end (starts,), the loss at the end; accuracy (starts,
    kept epochs), on the test points.
    """
    each = [(task.x, task.y)] * (EPOCHS + 1)

    def work(group, which):
        looks = {name: [] for name in ("loss", "slope", "accuracy")}
        for moment in abreast.descend(group, each, LR, "adam"):
            looks["loss"].append(moment.loss)
            looks["slope"].append(moment.slope)
            if moment.steps % EVERY == 0:
                looks["accuracy"].append(abreast.scores(moment.stack, task.test_x, task.test_y)[1])
        return {name: torch.stack(values, 1) for name, values in looks.items()}

    looks = abreast.in_groups(work, abreast.stacked(states), len(task.y))
    loss, slope = looks["loss"].numpy(), looks["slope"].numpy()
    return {"loss": loss[:, ::EVERY], "slope": slope[:, ::EVERY], "accuracy": looks["accuracy"].numpy(),
            "mean_loss": loss[:, :-1].mean(1), "mean_slope": slope[:, :-1].mean(1), "end": loss[:, -1]}


# -- measuring -------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train from every γ of every setting, and from random starts.

    Returns:
        A Dataset over setting, gamma and epoch (0, 5, …, 300) with loss (nats, on all 1,000 points), slope (the length
        of its gradient), accuracy (on 1,000 test points); mean_loss, mean_slope, end (setting, gamma), over all epochs
        and at the last; random_loss, random_slope, random_accuracy (start: 8, epoch), random_mean, random_mean_slope,
        random_end (start), and before_… from the network of `pretraining`; weights (setting, parent: 2, number: 252),
        and apart, first_norm (setting): ‖θ₁ − θ₂‖ and ‖θ₁‖.
    """
    zoo.get_all(all_recipes(settings, seed), device)
    points = task()
    pairs = {setting: parents(setting, seed, device) for setting in settings.settings}
    mixes = [state for pair in pairs.values() for state in starts(pair, settings.gammas)]
    random = [_recipe({}, seed + 100 * (i + 1), epochs=0) for i in range(RANDOM)]
    beside = [network.state_dict() for network in zoo.get_all([*random, pretraining(seed)], device)]
    scores = trained([*mixes, *beside], points)
    shape = (len(settings.settings), len(settings.gammas))
    values = {}
    for name, array in scores.items():
        dims = ("epoch",) if array.ndim > 1 else ()
        values[name] = (("setting", "gamma", *dims), _short(array[:len(mixes)].reshape(*shape, *array.shape[1:])))
        values[f"random_{name}"] = (("start", *dims), _short(array[len(mixes):-1]))
        values[f"before_{name}"] = (dims, _short(array[-1]))
    flat = np.array([[np.concatenate([tensor.flatten().double().numpy() for tensor in state.values()])
                      for state in pair] for pair in pairs.values()])
    values |= {"weights": (("setting", "parent", "number"), _short(flat)),
               "apart": ("setting", np.linalg.norm(flat[:, 0] - flat[:, 1], axis=1)),
               "first_norm": ("setting", np.linalg.norm(flat[:, 0], axis=1))}
    coords = {"setting": [str(setting) for setting in settings.settings], "gamma": list(settings.gammas),
              "epoch": np.arange(0, EPOCHS + 1, EVERY)}
    return xarray.Dataset(values, coords, {"images": "1,000 training and 1,000 test points"})


def _short(array):
    return array.astype(np.float32)


def network_at(sweep: xarray.Dataset, setting: str, gamma: float) -> MLP:
    """θ^P of a kept sweep, before training."""
    first, second = sweep.weights.sel(setting=setting).values
    parts = torch.from_numpy(gamma * first + (1 - gamma) * second).split((100, 50, 100, 2))
    shapes = {"layers.0.weight": (50, 2), "layers.0.bias": (50,), "layers.1.weight": (2, 50), "layers.1.bias": (2,)}
    return MLP.from_state({key: part.reshape(shape) for part, (key, shape) in zip(parts, shapes.items())})


def relative(sweep: xarray.Dataset) -> xarray.DataArray:
    """The mean loss over training from every start, in units of the mean over the random starts."""
    return sweep.mean_loss / sweep.random_mean_loss.mean("start")


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind SAIL-10: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"SAIL-10": claim_10(sweep)}


def claim_10(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-10: mean loss and mean gradient over training in units of a random start's, with one arm each and with a
    sample of both arms each; and of two networks that learned nothing."""
    loss = relative(sweep)
    slope = sweep.mean_slope / sweep.random_mean_slope.mean("start")
    arms = [str(setting) for setting in SOME[:2]]
    ends = {"gamma": [0.0, 1.0]}

    def half(array, setting):
        return float(array.sel(setting=str(setting), gamma=0.5))
    one_start, two_starts, matched = (Setting(SAMPLES, start) for start in (ONE, TWO, MATCHED))
    numbers = {"arms_least": float(loss.sel(setting=arms).min()),
               "arms_half": max(half(loss, setting) for setting in arms),
               "arms_parent": float(loss.sel(setting=arms, **ends).min()),
               "arms_slope": min(half(slope, setting) for setting in arms),
               "samples_half": half(loss, one_start),
               "samples_slope": half(slope, one_start),
               "strangers_half": half(loss, two_starts),
               "matched_half": half(loss, matched),
               "samples_parent": float(loss.sel(setting=str(one_start), **ends).min()),
               "strangers_parent": float(loss.sel(setting=str(two_starts), **ends).min()),
               "nothing_half": half(loss, NO_PARENTS),
               "nothing_2": float(loss.sel(setting=str(NO_PARENTS), gamma=2.0))}
    inside = loss.sel(setting=str(one_start)).where((sweep.gamma >= 0) & (sweep.gamma <= 1))
    numbers["samples_best_over_parent"] = float(inside.min()) / numbers["samples_parent"]
    before = Setting(ARMS, PRETRAINED)
    if str(before) in sweep.setting.values:
        numbers |= {"pretrained_arms_half": half(loss, before),
                    "pretrained_arms_parent": float(loss.sel(setting=str(before), **ends).min()),
                    "pretrained_alone": float(sweep.before_mean_loss / sweep.random_mean_loss.mean("start"))}
    return numbers


def source() -> data.types.Source:
    """Where the points come from."""
    return data.source("spirals")


EXPERIMENT = Experiment("sail-spirals", measure, PROFILES, source, "Spirals", recipes=all_recipes, claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
