"""What two networks shared before they learned their tasks: nothing, a matching of their units, one random start, or
pretraining (CTL, B.3, Fig. 11).

`run` trains (through the zoo), matches, measures along every line, and returns one xarray Dataset.
"""
from dataclasses import dataclass

import numpy as np
import torch
import xarray
from torch import Tensor

from lessons import cast
from lessons.kit.experiment import Experiment, Numbers
from lessons.kit.profiles import Profiles
from lessons.linearity import algorithms as linearity
from lessons.pretraining.algorithms import matching
from lessons.pretraining.experiment import line
from lessons.pretraining.experiment.line import ANGLES
from toy_models import MLP, Recipe, zoo
from toy_models.weights import State

PLAN = matching.mlp_plan(len(dict(cast.MLP_100.arguments)["widths"]) - 1)

# -- the settings of the source, and three more
STRANGERS = "no matching"
BY_WEIGHTS = "weight matching"
BY_FEATURES = "activation matching"
ONE_START = "one random start"  # two epochs apart
PRETRAINED = "pretrained"  # one epoch apart
ONE_START_BRIEFLY = "one random start, one epoch apart"
PRETRAINED_LONGER = "pretrained, two epochs apart"
SOURCE = (STRANGERS, BY_WEIGHTS, BY_FEATURES, PRETRAINED)
SETTINGS = (STRANGERS, BY_WEIGHTS, BY_FEATURES, ONE_START, PRETRAINED)
EQUALLY_LONG = (ONE_START_BRIEFLY, PRETRAINED_LONGER)  # so that each kind of start is there for each time apart
HOWS = SETTINGS[:3]
ONE_EPOCH, TWO_EPOCHS = (ONE_START_BRIEFLY, PRETRAINED), (ONE_START, PRETRAINED_LONGER)

TOGETHER = {ONE_START: "a", PRETRAINED: "pretrained", ONE_START_BRIEFLY: "a, briefly",
            PRETRAINED_LONGER: "pretrained, longer"}
STRANGE = {"two tasks": ("a, 45°", "b, 90°"), "one task": ("a, 90°", "b, 90°")}  # from two random starts
PAIRS = tuple(STRANGE)
TREATMENTS = ("as it is", "repaired")
TRIALS = 5  # planted permutations


@dataclass(frozen=True)
class Settings:
    """How much is measured; training is the same in every profile."""
    test_images: int  # of each task, spread evenly over the test part
    train_images: int  # of each task, for activation matching and REPAIR
    alphas: tuple[float, ...]  # positions on a line


PROFILES = Profiles(
    quick=Settings(test_images=1000, train_images=200, alphas=tuple(round(i / 10, 2) for i in range(11))),
    full=Settings(test_images=5000, train_images=500, alphas=tuple(round(i / 20, 2) for i in range(21))))


# -- models ----------------------------------------------------------------------------------------

def recipes(seed: int = 0) -> dict[str, Recipe]:
    """Every model: "a" and "b" are two random starts.

    "pretrained", "a" and "b" see the same number of images: half of them upright where they are pretrained, all of them
    turned where they are not. So two pretrained ones are one epoch apart and two of "a" two. In "longer" and
    "briefly" it is the other way round.
    """
    before = line.common(seed)
    epoch = before[0.0].epochs
    made = {f"pretrained, {angle:g}°": before[angle] for angle in ANGLES}
    for name, number, angles in (("a", 50_000, ANGLES), ("b", 51_000, ANGLES[1:])):
        start = cast.pretrained_mlp(seed + number, epochs=0)
        for angle in angles:
            made[f"{name}, {angle:g}°"] = start.finetune(options={"angle": angle}, epochs=2 * epoch,
                                                         seed=start.seed + int(angle))
    for angle in ANGLES:
        longer = before[0.0].finetune(options={"angle": angle}, epochs=2 * epoch)
        briefly = made[f"a, {angle:g}°"].parent.finetune(options={"angle": angle}, epochs=epoch,
                                                         seed=made[f"a, {angle:g}°"].seed)
        made |= {f"pretrained, longer, {angle:g}°": longer, f"a, briefly, {angle:g}°": briefly}
    return made


def all_recipes(seed: int = 0) -> list[Recipe]:
    """Every model and every start, in the order in which they are trained: each training set is turned once."""
    return line.with_parents(sorted(recipes(seed).values(), key=_angle))


def _angle(recipe):
    """Of the digits that a network learned last."""
    return dict(recipe.options)["angle"]


# -- the measurement -------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Match, and measure along all lines.

    Returns:
        A Dataset with
        gap_*, coef_* (pair: 2, setting, treatment: 2, alpha, layer), own_* (pair, setting, layer), loss, accuracy,
        mixed_accuracy (pair, setting, treatment, alpha), distance (pair, setting): as `line.along` gives them, on the
        test images of the pair's tasks; where two networks of one task do not exist for a setting, NaN;
        correlation (how: 3, unit, partner, unit_layer): between the units of the two strangers, second network as it is
        and matched, times 100, rounded;
        own_accuracy (model): of every network on its own task, with name (model);
        same_answers (how): largest difference between the logits of B and of π(B);
        recovered (trial: 5): whether weight matching finds a random permutation of the pretrained network's units
        again.
    """
    made = recipes(seed)
    networks = all_networks(seed, device)
    tests = _of_pairs(line.test_images, settings.test_images)
    some = {pair: x for pair, (x, _) in _of_pairs(line.train_images, settings.train_images).items()}
    matched = {pair: permutations_between(networks[i], networks[j], some[pair], seed)
               for pair, (i, j) in STRANGE.items()}
    ends = {(pair, how): (networks[i].state_dict(), matching.permute(networks[j].state_dict(), PLAN, permutations))
            for pair, (i, j) in STRANGE.items() for how, permutations in matched[pair].items()}
    for setting, name in TOGETHER.items():
        ends["two tasks", setting] = tuple(networks[f"{name}, {angle:g}°"].state_dict() for angle in ANGLES)
    lines = []
    for (pair, setting), states in ends.items():
        both = _treated(states, tests[pair], some[pair], settings.alphas)
        lines.append(both.expand_dims(pair=[pair], setting=[setting]))
    measured = xarray.combine_by_coords(lines, join="outer", fill_value=float("nan"))
    measured = measured.sel(pair=list(PAIRS), setting=[*SETTINGS, *EQUALLY_LONG])
    x, _ = tests["two tasks"]
    accuracies = []
    for name, recipe in made.items():
        x_own, y_own = line.test_images(_angle(recipe), settings.test_images)
        accuracies.append(linearity.evaluate(networks[name](x_own), y_own)[1])
    measured = measured.merge(_of_matching(networks, ends, matched["two tasks"], x))
    measured = measured.assign(own_accuracy=("model", accuracies)).assign_coords(model=list(made))
    return measured.assign_attrs(line.measured_on(f"{len(x):,} test images"))


def all_networks(seed: int = 0, device: str = "auto") -> dict[str, MLP]:
    """{name: network} of `recipes`, trained now if they are not in the zoo."""
    made = recipes(seed)
    by_task = sorted(made, key=lambda name: _angle(made[name]))
    return dict(zip(by_task, zoo.get_all([made[name] for name in by_task], device)))


def _of_pairs(images, size):
    """{pair: images and labels of its tasks}."""
    return {"two tasks": line.of_both(images, size), "one task": images(ANGLES[1], size)}


def _treated(states, test, some, alphas):
    """`line.along` for the interpolated network as it is and repaired."""
    of_ends = [matching.before_relu(state, some) for state in states]

    def repair(state, alpha):
        return matching.repaired(state, *of_ends, alpha, some)

    both = [line.along(*states, *test, alphas, adjust) for adjust in (None, repair)]
    of_both_ends = [name for name in both[0] if "alpha" not in both[0][name].dims]  # REPAIR leaves the ends as they are
    inside = [part.drop_vars(of_both_ends) for part in both]
    treated = xarray.concat(inside, xarray.DataArray(list(TREATMENTS), dims="treatment", name="treatment"))
    return treated.merge(both[0][of_both_ends])


def _of_matching(networks, ends, matched, x):
    """How well the strangers' units match, what permuting changes, and whether planted permutations are found."""
    state_i, state_j = ends["two tasks", STRANGERS]
    permuted = [MLP.from_state(ends["two tasks", how][1]) for how in HOWS]
    same = [(MLP.from_state(state_j)(x) - network(x)).abs().max().item() for network in permuted]
    pretrained = networks[f"pretrained, {ANGLES[0]:g}°"].state_dict()
    recovered = [planted(pretrained, PLAN, trial) for trial in range(TRIALS)]
    correlation = _correlations(state_i, state_j, matched, x)
    return xarray.Dataset({"correlation": correlation, "same_answers": ("how", same),
                           "recovered": ("trial", recovered)}, coords={"how": list(HOWS)})


def permutations_between(network_a: MLP, network_b: MLP, x: Tensor, seed: int = 0) -> dict[str, matching.Permutations]:
    """{how: permutations of B's units}: none, by the weights, and by the features on training images x."""
    state_a = network_a.state_dict()
    state_b = network_b.state_dict()
    return {STRANGERS: matching.identity(state_b, PLAN),
            BY_WEIGHTS: matching.weight_matching(state_a, state_b, PLAN, seed=seed).permutations,
            BY_FEATURES: matching.activation_matching(network_a, network_b, PLAN, x)}


def planted(state: State, plan: matching.Plan, seed: int, restarts: int = 1) -> bool:
    """Whether weight matching undoes a random permutation of a network's units exactly."""
    secret = matching.random_permutations(state, plan, seed)
    match = matching.weight_matching(state, matching.permute(state, plan, secret), plan, restarts, seed)
    return all(torch.equal(secret[name][match.permutations[name]], torch.arange(len(secret[name]))) for name in secret)


def _correlations(state_i, state_j, matched_by, x):
    features_i = MLP.from_state(state_i).features(x)
    features_j = MLP.from_state(state_j).features(x)
    values = []
    for permutations in matched_by.values():
        for layer in PLAN.units:
            matched = features_j[layer][:, permutations[layer]]
            values.append((100 * matching.unit_correlation(features_i[layer], matched)).round().to(torch.int8).numpy())
    units = values[0].shape
    return xarray.DataArray(np.reshape(values, (len(matched_by), len(PLAN.units), *units)),
                            dims=("how", "unit_layer", "unit", "partner"),
                            coords={"how": list(matched_by), "unit_layer": list(PLAN.units)})


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> Numbers:
    """The numbers behind CTL-14, from one sweep. What each means stands in claims.yaml."""
    return {"CTL-14": claim_14(sweep)}


def barriers(sweep: xarray.Dataset) -> xarray.DataArray:
    """(pair, setting, treatment): how far the loss rises above the straight line between its ends (nats)."""
    def barrier(losses):
        return linearity.barrier(losses, sweep.alpha.values) if np.isfinite(losses[0]) else float("nan")

    return xarray.apply_ufunc(barrier, sweep.loss, input_core_dims=[["alpha"]], vectorize=True)


def claim_14(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-14: gap and coef in the hidden layers half-way, their share of the own distance, and the barrier, in every
    setting; what REPAIR does; the same for one task."""
    numbers = equally_long(sweep)
    for setting in SETTINGS:
        for name, value in _half_way(sweep, setting).items():
            numbers[f"{setting.replace(' ', '_')}_{name}"] = value
    rise = barriers(sweep)
    plain = rise.sel(treatment=TREATMENTS[0])
    matched = plain.sel(pair="one task", setting=[BY_WEIGHTS, BY_FEATURES])
    strangers = rise.sel(pair="two tasks", setting=STRANGERS)
    return numbers | {
        "strangers_barrier": strangers.sel(treatment=TREATMENTS[0]).item(),
        "strangers_repaired_barrier": strangers.sel(treatment=TREATMENTS[1]).item(),
        "one_task_strangers_barrier": plain.sel(pair="one task", setting=STRANGERS).item(),
        "one_task_matched_barrier": matched.max().item(),
        "planted_recovered": float(sweep.recovered.sum()),
        "same_answers_most": sweep.same_answers.max().item(),
        "own_accuracy_least": sweep.own_accuracy.min().item()}


def equally_long(sweep: xarray.Dataset) -> dict[str, float]:
    """What knowledge adds to a common start: the pair from one random start beside the pretrained one, apart for one
    epoch and for two. Gap, its share of the own distance, distance of the weights, and how many times as large the
    random start's gap and share are.
    """
    numbers = {}
    for epochs, settings in (("one_epoch", ONE_EPOCH), ("two_epochs", TWO_EPOCHS)):
        random, pretrained = (_half_way(sweep, setting) for setting in settings)
        for name, measured in (("random", random), ("pretrained", pretrained)):
            numbers |= {f"{epochs}_{name}_{number}": measured[number]
                        for number in ("gap", "share", "distance", "accuracy")}
        for number in ("gap", "share"):
            numbers[f"{epochs}_{number}_ratio"] = random[number] / pretrained[number]
    return numbers


def _half_way(sweep, setting):
    """What is half-way between the networks of two tasks; gap, coef and share in the hidden layers."""
    part = sweep.sel(pair="two tasks", setting=setting, alpha=0.5, treatment=TREATMENTS[0])
    hidden = part.sel(layer=sweep.layer.values[:-1])
    return {"gap": hidden.gap_mean.mean().item(),
            "coef": hidden.coef_mean.mean().item(),
            "share": (hidden.gap_mean / hidden.own_mean).mean().item(),
            "distance": part.distance.item(),
            "accuracy": part.accuracy.item()}


STARTS = Experiment("starts", measure, PROFILES, line.source, "MNIST",
                    recipes=lambda settings, seed: all_recipes(seed), claims=claims)
LEDGER = (STARTS,)
run = STARTS.run
