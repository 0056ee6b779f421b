"""What two networks shared before they learned their tasks: nothing, a matching of their units, one random start, or pretraining (CTL, B.3, Fig. 11).

`run` trains (through the zoo), matches, measures along every line, and returns one xarray Dataset.
"""
from dataclasses import asdict

import torch
import xarray

import data
from lessons.linearity import algorithms as linearity
from lessons.linearity.experiment import mlp as chapter_1
from lessons.pretraining.algorithms import matching
from lessons.pretraining.experiment import line
from lessons.pretraining.experiment.line import ANGLES, PROFILES
from lessons.kit.sweep import cached
from toy_models import Recipe, training, zoo

PLAN = matching.mlp_plan(len(chapter_1.ARCHITECTURE.arguments[0][1]) - 1)
STRANGERS, BY_WEIGHTS, BY_FEATURES, ONE_START, PRETRAINED = "no matching", "weight matching", "activation matching", "one random start", "pretrained"
SOURCE = (STRANGERS, BY_WEIGHTS, BY_FEATURES, PRETRAINED)  # the four of the source
SETTINGS = (STRANGERS, BY_WEIGHTS, BY_FEATURES, ONE_START, PRETRAINED)
HOWS = SETTINGS[:3]
PAIRS = ("two tasks", "one task")
TREATMENTS = ("as it is", "repaired")


def recipes(seed: int = 0) -> dict[str, Recipe]:
    """Every model: "a" and "b" are two random starts. All networks see the same number of images: half of them upright where they are pretrained."""
    before = line.common(seed)
    starts = {name: Recipe.on("rotated_mnist", chapter_1.ARCHITECTURE, options={"angle": 0.0}, lr=0.1, epochs=0, batch_size=64, seed=seed + number)
              for name, number in (("a", 50_000), ("b", 51_000))}
    made = {f"pretrained, {angle:g}°": before[angle] for angle in ANGLES}
    for name, start in starts.items():
        for angle in ANGLES if name == "a" else ANGLES[1:]:
            made[f"{name}, {angle:g}°"] = start.finetune(options={"angle": angle}, epochs=2 * before[0.0].epochs, seed=start.seed + int(angle))
    return made


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing, match, and measure along all lines.

    Returns:
        A Dataset with
        gap_*, coef_* (pair: 2, setting, treatment: 2, alpha, layer), own_* (pair, setting, layer), loss, accuracy, mixed_accuracy (pair, setting,
        treatment, alpha), distance (pair, setting): as `line.along` gives them, on the test images of the pair's tasks; where two networks
        of one task do not exist for a setting, NaN;
        correlation (how: 3, unit, partner, unit_layer): between the units of the two strangers, second network as it is and matched, times 100, rounded;
        own_accuracy (model): of every network on its own task, with name (model);
        same_answers (how): largest difference between the logits of B and of π(B);
        recovered (trial: 5): whether weight matching finds a random permutation of the pretrained network's units again.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    source = data.source("rotated_mnist", angle=ANGLES[0])
    ingredients = {"settings": asdict(settings), "recipes": [recipe.key for recipe in recipes(seed).values()]}
    return cached("starts", ingredients, lambda: measure(profile, seed, device).assign_attrs(
        source=source.text.split(",")[0], source_kind=source.kind, dataset="MNIST", network="MLP 784–100–100–100–10", profile=profile, seed=seed))


@training.one_thread()
def measure(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    made, settings = recipes(seed), PROFILES[profile]
    by_task = sorted(made, key=lambda name: dict(made[name].options)["angle"])  # so that every training set is turned once
    networks = dict(zip(by_task, zoo.get_all([made[name] for name in by_task], device)))
    tests = {"two tasks": line.of_both(line.test_images, settings.test_images), "one task": line.test_images(ANGLES[1], settings.test_images)}
    some = {"two tasks": line.of_both(line.train_images, settings.train_images)[0], "one task": line.train_images(ANGLES[1], settings.train_images)[0]}
    parts, found = {}, {}
    for pair, (i, j) in {"two tasks": ("a, 45°", "b, 90°"), "one task": ("a, 90°", "b, 90°")}.items():
        found[pair] = permutations_between(networks[i], networks[j], some[pair], seed)
        for how, permutations in found[pair].items():
            parts[pair, how] = networks[i].state_dict(), matching.permute(networks[j].state_dict(), PLAN, permutations)
    for setting, name in ((ONE_START, "a"), (PRETRAINED, "pretrained")):
        parts["two tasks", setting] = tuple(networks[f"{name}, {angle:g}°"].state_dict() for angle in ANGLES)
    lines = []
    for (pair, setting), states in parts.items():
        of_ends = [matching.before_relu(state, some[pair]) for state in states]
        both = [line.along(*states, *tests[pair], settings.alphas, adjust)
                for adjust in (None, lambda state, alpha: matching.repaired(state, *of_ends, alpha, some[pair]))]
        ends = [name for name in both[0] if "alpha" not in both[0][name].dims]  # REPAIR leaves the two networks themselves as they are
        treated = xarray.concat([part.drop_vars(ends) for part in both], xarray.DataArray(list(TREATMENTS), dims="treatment", name="treatment"))
        lines.append(treated.merge(both[0][ends]).expand_dims(pair=[pair], setting=[setting]))
    measured = xarray.combine_by_coords(lines, join="outer", fill_value=float("nan")).sel(pair=list(PAIRS), setting=list(SETTINGS))
    states, x = parts["two tasks", STRANGERS], tests["two tasks"][0]
    own = {name: linearity.evaluate(network(line.test_images(dict(made[name].options)["angle"], settings.test_images)[0]),
                                    line.test_images(dict(made[name].options)["angle"], settings.test_images)[1])[1] for name, network in networks.items()}
    return measured.assign(correlation=_correlations(states, found["two tasks"], x), own_accuracy=("model", [own[name] for name in made])).assign(
        same_answers=("how", [_difference(states[1], parts["two tasks", how][1], x) for how in HOWS]),
        recovered=("trial", [planted(networks[f"pretrained, {ANGLES[0]:g}°"].state_dict(), PLAN, trial) for trial in range(TRIALS)])).assign_coords(
        how=list(HOWS), model=list(made)).assign_attrs(images=f"{len(x):,} test images")


def permutations_between(network_a, network_b, x: torch.Tensor, seed: int = 0) -> dict[str, matching.Permutations]:
    """{how: permutations of B's units}: none, by the weights, and by the features on training images x."""
    state_a, state_b = network_a.state_dict(), network_b.state_dict()
    return {STRANGERS: matching.identity(state_b, PLAN), BY_WEIGHTS: matching.weight_matching(state_a, state_b, PLAN, seed=seed).permutations,
            BY_FEATURES: matching.activation_matching(network_a, network_b, PLAN, x)}


TRIALS = 5


def planted(state, plan: matching.Plan, seed: int, restarts: int = 1) -> bool:
    """Whether weight matching undoes a random permutation of a network's units exactly."""
    secret = matching.random_permutations(state, plan, seed)
    found = matching.weight_matching(state, matching.permute(state, plan, secret), plan, restarts, seed).permutations
    return all(torch.equal(secret[name][found[name]], torch.arange(len(secret[name]))) for name in secret)


def _correlations(states, found, x):
    features_a, features_b = (chapter_1.MLP.from_state(state).features(x) for state in states)
    values = [[(100 * matching.unit_correlation(features_a[layer], features_b[layer][:, permutations[layer]])).round().to(torch.int8).numpy()
               for layer in PLAN.units] for permutations in found.values()]
    return xarray.DataArray(values, dims=("how", "unit_layer", "unit", "partner"), coords={"how": list(found), "unit_layer": list(PLAN.units)})


def _difference(state, permuted, x):
    return (chapter_1.MLP.from_state(state)(x) - chapter_1.MLP.from_state(permuted)(x)).abs().max().item()


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind CTL-14, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"CTL-14": claim_14(sweep)}


def shares(sweep: xarray.Dataset, pair: str = "two tasks") -> xarray.DataArray:
    """(setting, layer): the gap half-way between the two networks as a share of their own distance, statistics as they are."""
    return (sweep.gap_mean.sel(alpha=0.5, treatment=TREATMENTS[0]) / sweep.own_mean).sel(pair=pair)


def barriers(sweep: xarray.Dataset) -> xarray.DataArray:
    """(pair, setting, treatment): how far the loss rises above the straight line between its ends (nats)."""
    return xarray.apply_ufunc(lambda losses: linearity.barrier(losses, sweep.alpha.values) if losses[0] == losses[0] else float("nan"), sweep.loss,
                              input_core_dims=[["alpha"]], vectorize=True)


def claim_14(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-14: gap and coef in the hidden layers half-way, their share of the own distance, and the barrier, in every setting; what REPAIR does; the same for one task."""
    hidden, plain = sweep.sel(layer=sweep.layer.values[:-1]), barriers(sweep).sel(treatment=TREATMENTS[0])
    found = {}
    for setting in SETTINGS:
        name, here = setting.replace(" ", "_"), hidden.sel(pair="two tasks", setting=setting, alpha=0.5, treatment=TREATMENTS[0])
        found |= {f"{name}_gap": here.gap_mean.mean().item(), f"{name}_coef": here.coef_mean.mean().item(), f"{name}_share": shares(sweep).sel(setting=setting).mean().item(),
                  f"{name}_accuracy": sweep.accuracy.sel(pair="two tasks", setting=setting, alpha=0.5, treatment=TREATMENTS[0]).item()}
    return found | {"strangers_barrier": plain.sel(pair="two tasks", setting=STRANGERS).item(), "strangers_repaired_barrier": barriers(sweep).sel(pair="two tasks", setting=STRANGERS, treatment=TREATMENTS[1]).item(),
                    "one_task_strangers_barrier": plain.sel(pair="one task", setting=STRANGERS).item(), "one_task_matched_barrier": plain.sel(pair="one task", setting=[BY_WEIGHTS, BY_FEATURES]).max().item(),
                    "planted_recovered": float(sweep.recovered.sum()), "same_answers_most": sweep.same_answers.max().item(), "own_accuracy_least": sweep.own_accuracy.min().item()}
