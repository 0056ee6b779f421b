"""Rotated MNIST, an MLP, and the lines between its finetuned versions: the setting of CTL §4.1 and B.1.1.

`run` trains (through the zoo), measures along every line, and returns one xarray Dataset; the second time all of it
comes from disk.
"""
import itertools
from dataclasses import dataclass

import torch
import xarray
from tqdm.auto import tqdm

import data
from lessons import cast
from lessons.kit import experiment
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity import algorithms
from lessons.linearity.experiment import elsewhere
from lessons.lines import numbers as lines
from toy_models import MLP, weights, zoo

ANGLES = cast.ANGLES[:4]
ALPHAS = tuple(round(i / 20, 2) for i in range(21))  # the slider's grid
SECONDS = {"quick": 35, "full": 80}  # rough, on 2 cores, nothing kept


@dataclass(frozen=True)
class Settings:
    """How much is measured; training is the source's own in every profile."""
    test_images: int  # per task; the source's 10,000 in "full"
    alphas: tuple[float, ...] = ALPHAS  # positions on each line


PROFILES = Profiles(quick=Settings(test_images=2000), full=Settings(test_images=10_000))


def pair_name(angle_i: float, angle_j: float) -> str:
    """What a pair of finetuned models is called: "22.5° and 90°"; the first is θ_i."""
    return f"{angle_i:g}° and {angle_j:g}°"


FAR = pair_name(22.5, 90.0)  # the tasks that are furthest apart
PAIRS = {pair_name(i, j): (i, j) for i, j in itertools.combinations(ANGLES, 2)}


# -- models ----------------------------------------------------------------------------------------

def source() -> data.types.Source:
    """Where the digits come from."""
    return data.source("rotated_mnist", angle=0.0)


recipes = cast.linearity_mlps
all_recipes = cast.all_linearity_mlps


def models(seed: int = 0, device: str = "auto") -> dict[float, MLP]:
    """{angle: network}: the pretrained one at 0.0 and the four that were finetuned; trained now if need be."""
    made = recipes(seed)
    wanted = [made["pretrained"], *made["finetuned"].values()]
    return dict(zip((0.0, *ANGLES), zoo.get_all(wanted, device)))


def pair(which: str, seed: int = 0, device: str = "auto") -> list[MLP]:
    """[θ_i, θ_j] of the same task: "same_task", from one pretrained start, or "strangers"."""
    return zoo.get_all(recipes(seed)[which], device)


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, and what `run` will have to do."""
    PROFILES[profile]  # an error where there is no such profile
    wanted = all_recipes(seed) + elsewhere.all_recipes(seed=seed)
    experiment.announce(source(), elsewhere.source(), experiment.estimate(wanted, SECONDS[profile], "models"))


# -- the measurement -------------------------------------------------------------------------------

EXAMPLES = 8  # test images of every angle that the sweep keeps, to look at
STARTS = {"one pretrained start": "same_task", "two random starts": "strangers"}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All numbers of the chapter.

    Returns:
        A Dataset over pair (6), alpha (21), layer (4), task (4) and bin (150) with
        gap_mean, gap_low, gap_high (pair, alpha, layer): 1 − cos to the mixed features, mean and quartiles over the
        samples of both tasks;
        own_mean, own_low, own_high (pair, layer): 1 − cos between the two ends;
        coef_mean, coef_median, coef_low, coef_high (pair, alpha, layer), and coef_count (pair, alpha, layer, bin):
        samples per bin;
        loss (nats), accuracy (pair, alpha, task): tasks are "i", "j", "both" and "pretraining";
        distance (pair): ‖θ_i − θ_j‖; opposite (pair): share of first-layer units with opposite signs;
        start_loss, start_accuracy, mixed_loss, mixed_accuracy (start, alpha): two networks of the same task, from one
        pretrained start or as strangers; of the interpolated network, and of the mixed outputs;
        example (angle, image, row, column): some test images;
        first_input (two, end, image, unit): what goes into the units of layer 1 in both ends of two lines, with
        upright images.
    """
    zoo.get_all(all_recipes(seed), device)
    networks = models(seed, device)
    tests = {angle: _test_set(angle, settings.test_images) for angle in networks}
    pairs = []
    for angles in tqdm(PAIRS.values(), desc="measuring", unit="pair"):
        pairs.append(_along(networks, tests, *angles, settings.alphas))
    starts = []
    for name in STARTS.values():
        starts.append(_same_task(zoo.get_all(recipes(seed)[name], device), tests[0.0], settings.alphas))
    examples = torch.stack([x[:EXAMPLES] for x, _ in tests.values()])
    example = xarray.DataArray(examples.numpy(), dims=("angle", "image", "row", "column"),
                               coords={"angle": list(tests)})
    sweep = xarray.concat(pairs, xarray.DataArray(list(PAIRS), dims="pair", name="pair"))
    sweep = sweep.merge(xarray.concat(starts, xarray.DataArray(list(STARTS), dims="start", name="start")))
    test_images = len(tests[0.0][1])
    seen = {"two finetuned networks": [networks[22.5], networks[90.0]],
            "two strangers": zoo.get_all(recipes(seed)["strangers"], device)}
    upright = tests[0.0][0][:EXAMPLES]
    first = [torch.stack([algorithms.inputs(network.state_dict(), upright)[0] for network in pair])
             for pair in seen.values()]
    first_input = xarray.DataArray(torch.stack(first).numpy(), dims=("two", "end", "image", "unit"),
                                   coords={"two": list(seen), "end": ["i", "j"]})
    sweep = sweep.assign(example=example, first_input=first_input)
    return sweep.assign_attrs(images=f"{2 * test_images:,} test images a pair", test_images=test_images)


def _test_set(angle, size):
    dataset = data.load("rotated_mnist", "test", angle=angle)
    return dataset.x[:size], dataset.y[:size]


def _along(networks, tests, angle_i, angle_j, alphas):
    """All numbers of one pair."""
    states = [networks[angle].state_dict() for angle in (angle_i, angle_j)]
    half = len(tests[angle_i][1])
    x, y = (torch.cat(two) for two in zip(tests[angle_i], tests[angle_j]))
    x_before, y_before = tests[0.0]

    def scores(network, logits, alpha):
        tasks = ((logits[:half], y[:half]), (logits[half:], y[half:]), (logits, y), (network(x_before), y_before))
        loss, accuracy = zip(*(algorithms.evaluate(*task) for task in tasks))
        return {"loss": ("task", loss), "accuracy": ("task", accuracy)}

    line = algorithms.along(MLP.features, *states, alphas, parts=x.split(_PART), also=scores,
                            network=lambda state, alpha: MLP.from_state(state))
    first = [state[f"layers.0.{part}"] for state in states for part in ("weight", "bias")]
    opposite = algorithms.opposite_signs(*first, x.flatten(1)).mean().item()
    return line.assign_coords(task=["i", "j", "both", "pretraining"]).assign(opposite=opposite)


_PART = 2000  # images at once, so that a layer's features in float64 stay in the cache: twice as fast as all at once


def _same_task(pair, test, alphas):
    """Loss and accuracy of the interpolated network, and of the mixed outputs, for two networks of the same task."""
    x, y = test
    states = [network.state_dict() for network in pair]
    outputs = [network(x) for network in pair]
    scores = []
    for alpha in alphas:
        network = MLP.from_state(weights.interpolate(*states, alpha))
        mixed = algorithms.mix(*outputs, alpha)
        scores.append((*algorithms.evaluate(network(x), y), *algorithms.evaluate(mixed, y)))
    names = ("start_loss", "start_accuracy", "mixed_loss", "mixed_accuracy")
    columns = {name: ("alpha", list(column)) for name, column in zip(names, zip(*scores))}
    return xarray.Dataset(columns, coords={"alpha": list(alphas)})


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind the chapter's claims: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"CTL-1": claim_1(sweep), "CTL-2": lines.gaps(sweep), "CTL-4": lines.lengths(sweep),
            "CTL-6": lemma_1(int(sweep.attrs["seed"]))}


def claim_1(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-1: how far from constant the loss is along the lines, and the barriers."""
    alphas = sweep.alpha.values

    def barriers(loss, *dims):
        curves = loss.transpose(*dims, "alpha").values.reshape(-1, len(alphas))
        return [algorithms.barrier(curve, alphas) for curve in curves]

    single = sweep.loss.sel(task=["i", "j"])
    both = sweep.loss.sel(task="both")
    ratio = single.max("alpha") / single.min("alpha")
    middle_gain = both.sel(alpha=[0.0, 1.0]).min("alpha") - both.sel(alpha=0.5)
    return {"loss_ratio_least": ratio.min().item(), "loss_ratio_most": ratio.max().item(),
            "barrier_one_task": max(barriers(single, "pair", "task")), "barrier_both": max(barriers(both, "pair")),
            "middle_gain_least": middle_gain.min().item(),
            "barrier_strangers": barriers(sweep.start_loss.sel(start="two random starts"))[0],
            "barrier_same_task": barriers(sweep.start_loss.sel(start="one pretrained start"))[0]}


def lemma_1(seed: int = 0, trials: int = 200, samples: int = 64, width: int = 12,
            classes: int = 5) -> dict[str, float]:
    """CTL's Lemma 1 on networks that are exactly linear in their weights, f(θ; x) = θ·φ(x), with cross-entropy (CTL-6).

    θ_i is random; θ_j is another random matrix, scaled until it has the same loss.

    Returns:
        excess_equal_loss: the most, over all trials and all α strictly between 0 and 1, by which the loss exceeds that
            of the ends (nats); the lemma says at most 0.
        excess_over_chord: the same over the straight line between the ends' losses, for θ_j as drawn, with another
            loss than θ_i.
    """
    generator = torch.Generator().manual_seed(seed)
    phi = torch.randn(trials, samples, width, generator=generator, dtype=torch.float64)
    y = torch.randint(classes, (trials, samples), generator=generator)
    theta_i, theta_j = torch.randn(2, trials, width, classes, generator=generator, dtype=torch.float64)

    def loss(theta):  # (trials, width, classes) -> (trials,)
        logits = (phi @ theta).transpose(1, 2)
        return torch.nn.functional.cross_entropy(logits, y, reduction="none").mean(1)

    def excess(other, bound):
        return max((loss(algorithms.mix(theta_i, other, alpha)) - bound(alpha)).max().item() for alpha in ALPHAS[1:-1])

    loss_i = loss(theta_i)
    loss_j = loss(theta_j)
    # by bisection: along a random direction the loss rises once it is past its minimum
    low = torch.zeros_like(loss_i)
    factors = torch.full_like(loss_i, 64.0)
    for _ in range(60):
        middle = (low + factors) / 2
        below = loss(middle[:, None, None] * theta_j) < loss_i
        low = torch.where(below, middle, low)
        factors = torch.where(below, factors, middle)
    scaled = factors[:, None, None] * theta_j
    return {"excess_equal_loss": excess(scaled, lambda alpha: loss_i),
            "excess_over_chord": excess(theta_j, lambda alpha: algorithms.mix(loss_i, loss_j, alpha))}


LINE = Experiment("linearity", measure, PROFILES, source, "MNIST", recipes=lambda settings, seed: all_recipes(seed),
                  claims=claims, one_thread=False, attributes={"opens_on": FAR})
LEDGER = (LINE,)
run = LINE.run
