"""Rotated MNIST, an MLP, and the lines between its finetuned versions: the setting of CTL §4.1 and B.1.1.

`run` trains (through the zoo), measures along every line, and returns one xarray Dataset; the second time all of it comes from disk.
"""
import itertools
from dataclasses import asdict, dataclass

import torch
import xarray
from tqdm.auto import tqdm

import data
from lessons.linearity import algorithms
from lessons.linearity.experiment import lines
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import at, cached, on_grid, summarise
from toy_models import MLP, Architecture, Recipe, weights, zoo

ARCHITECTURE = Architecture.of("MLP", widths=(784, 100, 100, 100, 10))
ANGLES = (22.5, 45.0, 67.5, 90.0)
ALPHAS = tuple(round(i / 20, 2) for i in range(21))  # the slider's grid
SECONDS = {"quick": 20, "full": 45}  # rough, on 2 cores, nothing cached


@dataclass(frozen=True)
class Settings:
    """How much is measured; training is the source's own in every profile.

    Attributes:
        test_images: per task; the source's 10,000 in "full".
        alphas: positions on each line.
    """
    test_images: int
    alphas: tuple[float, ...] = ALPHAS


PROFILES = Profiles(quick=Settings(test_images=2000), full=Settings(test_images=10_000))


def pair_name(angle_i: float, angle_j: float) -> str:
    """What a pair of finetuned models is called: "22.5° and 90°"; the first is θ_i."""
    return f"{angle_i:g}° and {angle_j:g}°"


FAR = pair_name(22.5, 90.0)  # the tasks that are furthest apart
PAIRS = {pair_name(i, j): (i, j) for i, j in itertools.combinations(ANGLES, 2)}


def recipes(seed: int = 0) -> dict[str, Recipe | dict]:
    """Every model of the chapter.

    "pretrained": one epoch on upright MNIST; "finetuned": {angle: one more epoch on digits turned by it}; "same_task": two more epochs on
    upright digits, each in its own order of samples; "strangers": two networks that began from different random weights and each saw
    upright digits for two epochs. On the stand-in, which is a third of MNIST, an epoch is three passes, so that the number of steps is that
    of the source.
    """
    source = data.source("rotated_mnist", angle=0.0)
    epoch = 3 if source.is_stand_in else 1
    pretrained = Recipe.on("rotated_mnist", ARCHITECTURE, options={"angle": 0.0}, lr=0.1, epochs=epoch, batch_size=64, seed=seed)
    stranger = Recipe.on("rotated_mnist", ARCHITECTURE, options={"angle": 0.0}, lr=0.1, epochs=epoch, batch_size=64, seed=seed + 1000)
    return {"pretrained": pretrained,
            "finetuned": {angle: pretrained.finetune(options={"angle": angle}) for angle in ANGLES},
            "same_task": [pretrained.finetune(seed=seed + 2000), pretrained.finetune(seed=seed + 3000)],
            "strangers": [pretrained.finetune(seed=seed + 2000), stranger.finetune(seed=seed + 3000)]}


def all_recipes(seed: int = 0) -> list[Recipe]:
    """The recipes of `recipes`, once each, in one list."""
    made = recipes(seed)
    return list(dict.fromkeys([made["pretrained"], *made["same_task"], *made["strangers"], *made["finetuned"].values()]))


def models(seed: int = 0, device: str = "auto") -> dict[float, MLP]:
    """{angle: network}: the pretrained one at 0.0 and the four that were finetuned; trained now if they are not in the zoo."""
    made = recipes(seed)
    wanted = [made["pretrained"], *made["finetuned"].values()]
    return dict(zip((0.0, *ANGLES), zoo.get_all(wanted, device)))


def example_images(sweep: xarray.Dataset, angle: float = 0.0) -> torch.Tensor:
    """The test images of one angle that the sweep keeps, (8, 28, 28): enough to try things on without loading the data set."""
    return torch.tensor(at(sweep, angle=angle).example.values)


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what `run` will have to do and about how long that takes on two cores."""
    PROFILES[profile]  # an error where there is no such profile
    missing = sum(not zoo.path_of(recipe).exists() for recipe in all_recipes(seed))
    if not missing:
        return "All models of this chapter are in the zoo: this takes seconds."
    return f"{missing} of {len(all_recipes(seed))} models have to be trained: about {SECONDS[profile]} s on two cores, once."


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure along all lines.

    Returns:
        A Dataset over pair (6), alpha (21), layer (4), task (4) and bin (150) with
        gap_mean, gap_low, gap_high (pair, alpha, layer): 1 − cos to the mixed features, mean and quartiles over the samples of both tasks;
        own_mean, own_low, own_high (pair, layer): 1 − cos between the two ends;
        coef_mean, coef_median, coef_low, coef_high (pair, alpha, layer), and coef_count (pair, alpha, layer, bin): samples per bin;
        loss (nats), accuracy (pair, alpha, task): tasks are "i", "j", "both" and "pretraining";
        distance (pair): ‖θ_i − θ_j‖; opposite (pair): share of first-layer units with opposite signs;
        start_loss, start_accuracy, mixed_loss, mixed_accuracy (start, alpha): two networks of the same task, from one pretrained start or
        as strangers; of the interpolated network, and of the mixed outputs;
        example (angle, image, row, column): some test images.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    source = data.source("rotated_mnist", angle=0.0)
    ingredients = {"settings": asdict(settings), "recipes": [recipe.key for recipe in all_recipes(seed)]}
    return cached("linearity", ingredients, lambda: measure(settings, seed, device).assign_attrs(
        source=source.text, source_kind=source.kind, dataset="MNIST", network="MLP 784–100–100–100–10",
        profile=profile, seed=seed, opens_on=FAR))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    zoo.get_all(all_recipes(seed), device)
    networks = models(seed, device)
    tests = {angle: _test_set(angle, settings.test_images) for angle in networks}
    lines = [_along(networks, tests, *angles, settings.alphas) for angles in tqdm(PAIRS.values(), desc="measuring", unit="pair")]
    starts = [_same_task(zoo.get_all(recipes(seed)[name], device), tests[0.0], settings.alphas) for name in STARTS.values()]
    example = xarray.DataArray(torch.stack([x[:EXAMPLES] for x, _ in tests.values()]).numpy(), dims=("angle", "image", "row", "column"),
                               coords={"angle": list(tests)})
    return xarray.concat(lines, xarray.DataArray(list(PAIRS), dims="pair", name="pair")).merge(
        xarray.concat(starts, xarray.DataArray(list(STARTS), dims="start", name="start"))).assign(example=example).assign_attrs(
        images=f"{2 * len(tests[0.0][1]):,} test images a pair")


EXAMPLES = 8  # test images of every angle that the sweep keeps, to look at
STARTS = {"one pretrained start": "same_task", "two random starts": "strangers"}


def _test_set(angle, size):
    dataset = data.load("rotated_mnist", "test", angle=angle)
    return dataset.x[:size], dataset.y[:size]


def _along(networks, tests, angle_i, angle_j, alphas):
    """All numbers of one pair."""
    state_i, state_j = (networks[angle].state_dict() for angle in (angle_i, angle_j))
    x, y = torch.cat([tests[angle_i][0], tests[angle_j][0]]), torch.cat([tests[angle_i][1], tests[angle_j][1]])
    x_before, y_before = tests[0.0]
    parts = [(part, *({layer: feature.double() for layer, feature in networks[angle].features(part).items()} for angle in (angle_i, angle_j)))
             for part in x.split(_PART)]
    half = len(y) // 2
    found, scores = [], []
    for alpha in alphas:
        network = MLP.from_state(weights.interpolate(state_i, state_j, alpha))
        logits, measured = _measured(network, parts, alpha)
        scores.append([algorithms.evaluate(*both) for both in ((logits[:half], y[:half]), (logits[half:], y[half:]), (logits, y), (network(x_before), y_before))])
        found += [summarise(values) for values in measured.values()]
    own = [summarise({"own": torch.cat([algorithms.own_distance(features_i[layer], features_j[layer]) for _, features_i, features_j in parts])}) for layer in measured]
    first = [state[f"layers.0.{part}"] for state in (state_i, state_j) for part in ("weight", "bias")]
    return on_grid(found, alpha=alphas, layer=list(measured)).merge(on_grid(own, layer=list(measured))).assign(
        loss=(("alpha", "task"), [[loss for loss, _ in row] for row in scores]), accuracy=(("alpha", "task"), [[accuracy for _, accuracy in row] for row in scores]),
        distance=weights.norm(weights.subtract(state_i, state_j)),
        opposite=algorithms.opposite_signs(*first, x.flatten(1)).mean().item()).assign_coords(task=["i", "j", "both", "pretraining"])


_PART = 2000  # images at once, so that a layer's features in float64 stay in the processor's cache: twice as fast as all at once


def _measured(network, parts, alpha):
    """Logits (samples, classes), and what `algorithms.ctl` says of all samples, part by part."""
    logits, measured = [], []
    for x, features_i, features_j in parts:
        features = network.features(x)
        logits.append(features["output"])
        measured.append(algorithms.ctl(features, features_i, features_j, alpha))
    return torch.cat(logits), {layer: {name: torch.cat([part[layer][name] for part in measured]) for name in measured[0][layer]} for layer in measured[0]}


def _same_task(pair, test, alphas):
    """Loss and accuracy of the interpolated network, and of the mixed outputs, for two networks that learned the same task."""
    x, y = test
    states, outputs = [network.state_dict() for network in pair], [network(x) for network in pair]
    scores = []
    for alpha in alphas:
        network = MLP.from_state(weights.interpolate(*states, alpha))
        scores.append((*algorithms.evaluate(network(x), y), *algorithms.evaluate(algorithms.mix(*outputs, alpha), y)))
    names = ("start_loss", "start_accuracy", "mixed_loss", "mixed_accuracy")
    return xarray.Dataset({name: ("alpha", list(column)) for name, column in zip(names, zip(*scores))}, coords={"alpha": list(alphas)})


# -- claims --------------------------------------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind the chapter's claims, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"CTL-1": claim_1(sweep), "CTL-2": lines.gaps(sweep), "CTL-4": lines.lengths(sweep), "CTL-6": lemma_1(int(sweep.attrs["seed"]))}


def claim_1(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-1: how far from constant the loss is along the lines, and the barriers."""
    alphas = sweep.alpha.values

    def barriers(loss, *dims):
        return [algorithms.barrier(curve, alphas) for curve in loss.transpose(*dims, "alpha").values.reshape(-1, len(alphas))]

    one, both = sweep.loss.sel(task=["i", "j"]), sweep.loss.sel(task="both")
    ratio = one.max("alpha") / one.min("alpha")
    strangers, same_task = (barriers(sweep.start_loss.sel(start=start))[0] for start in ("two random starts", "one pretrained start"))
    return {"loss_ratio_least": ratio.min().item(), "loss_ratio_most": ratio.max().item(),
            "barrier_one_task": max(barriers(one, "pair", "task")), "barrier_both": max(barriers(both, "pair")),
            "middle_gain_least": (both.sel(alpha=[0.0, 1.0]).min("alpha") - both.sel(alpha=0.5)).min().item(),
            "barrier_strangers": strangers, "barrier_same_task": same_task}


def lemma_1(seed: int = 0, trials: int = 200, samples: int = 64, width: int = 12, classes: int = 5) -> dict[str, float]:
    """Lemma 1 on networks that are exactly linear in their weights, f(θ; x) = θ·φ(x), with cross-entropy (CTL, Lemma 1, claim CTL-6).

    θ_i is random; θ_j is another random matrix, scaled until it has the same loss.

    Returns:
        excess_equal_loss: the most, over all trials and all α strictly between 0 and 1, by which the loss exceeds that of the ends
            (nats); the lemma says at most 0.
        excess_over_chord: the same over the straight line between the ends' losses, for θ_j as drawn, with another loss than θ_i.
    """
    generator = torch.Generator().manual_seed(seed)
    phi = torch.randn(trials, samples, width, generator=generator, dtype=torch.float64)
    y = torch.randint(classes, (trials, samples), generator=generator)
    theta_i, theta_j = torch.randn(2, trials, width, classes, generator=generator, dtype=torch.float64)

    def loss(theta):  # (trials, width, classes) -> (trials,)
        return torch.nn.functional.cross_entropy((phi @ theta).transpose(1, 2), y, reduction="none").mean(1)

    def excess(other, bound):
        return max((loss(algorithms.mix(theta_i, other, alpha)) - bound(alpha)).max().item() for alpha in ALPHAS[1:-1])

    loss_i, loss_j = loss(theta_i), loss(theta_j)
    scaled = theta_j * _scale_to(lambda factor: loss(factor[:, None, None] * theta_j), loss_i)[:, None, None]
    return {"excess_equal_loss": excess(scaled, lambda alpha: loss_i),
            "excess_over_chord": excess(theta_j, lambda alpha: algorithms.mix(loss_i, loss_j, alpha))}


def _scale_to(loss_at, target):
    """The factors (trials,) with loss_at(factors) = target, by bisection; along a random direction the loss rises once it is past its minimum."""
    low, high = torch.zeros_like(target), torch.full_like(target, 64.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = loss_at(middle) < target
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return high
