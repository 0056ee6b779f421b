"""Split CIFAR-100, ResNet-18, and the lines between its finetuned versions: the second setting of CTL §4.1 and B.1.1.

`run` trains (through the zoo), measures along every line under three treatments of BatchNorm, and returns one xarray
Dataset; `run_amounts` does it for networks that were pretrained on more and more; `run_small_steps` takes one more step
from a finetuned network. The second time all of it comes from disk.
"""
import copy
import functools
import itertools
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray
from tqdm.auto import tqdm

import data
from data import split_cifar100
from lessons import cast
from lessons.cast import PRETRAINING, SPLIT_CIFAR, TASKS, WHOLE
from lessons.kit import experiment
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import at
from lessons.linearity.algorithms import TREATMENTS
from lessons.linearity.experiment import lines, resnet_line
from lessons.linearity.experiment.resnet_line import EXAMPLES, images_of, own_accuracy, weights_alone
from toy_models import Architecture, Recipe, ResNet18, training, weights, zoo


@dataclass(frozen=True)
class Amount:
    """How much a network is pretrained: on which splits, for how many passes, and on how many images of them."""
    name: str
    splits: tuple[int, ...]
    epochs: int
    size: int


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured.

    Attributes:
        width: of the ResNet18.
        size: training images per task; None for all 2,500.
        pretraining_epochs, finetuning_epochs: passes over them.
        test_images: per task; there are 500.
        statistics_images: training images per task from which BatchNorm's statistics are estimated anew.
        alphas: positions on each line.
        amounts: how much the networks of `run_amounts` are pretrained; they are finetuned as those of `run`.
        amounts_width: of these networks, and of that of `run_small_steps`.
        step_images: on how many images `run_small_steps` takes one step.
        draws: of these images.
    """
    width: int
    size: int | None
    pretraining_epochs: int
    finetuning_epochs: int
    test_images: int
    statistics_images: int
    alphas: tuple[float, ...] = (0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
    amounts: tuple[Amount, ...] = ()
    amounts_width: int = cast.WIDTH
    step_images: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    draws: int = 5


_OTHERS = (0, 5, 6, 7, 8, 9, 10, 11, 12, 13)  # ten splits, none of which is a finetuning task
_QUICK = Settings(
    width=cast.WIDTH, size=1280, pretraining_epochs=4, finetuning_epochs=2, test_images=40, statistics_images=50,
    alphas=(0.0, *lines.SHOWN_ALPHAS, 1.0),
    amounts=(Amount("nothing", (0,), 0, 1280),
             Amount("1 split, 4 passes", (0,), 4, 1280)))
_FULL = Settings(
    width=64, size=WHOLE, pretraining_epochs=10, finetuning_epochs=10, test_images=125, statistics_images=125,
    amounts=(Amount("nothing", (0,), 0, WHOLE),
             Amount("1 split, 10 passes", (0,), 10, WHOLE),
             Amount("1 split, 20 passes", (0,), 20, WHOLE),
             Amount("5 splits, 4 passes", _OTHERS[:5], 4, 12_480),
             Amount("10 splits, 2 passes", _OTHERS, 2, 24_960),
             Amount("all 20 splits, 1 pass", tuple(range(20)), 1, 49_984)))
_WIDTH_16 = Settings(
    width=16, size=WHOLE, pretraining_epochs=10, finetuning_epochs=10, test_images=200, statistics_images=250,
    alphas=(0.0, *lines.SHOWN_ALPHAS, 1.0))
PROFILES = Profiles(quick=_QUICK, full=_FULL)
AMOUNTS_TASKS = (1, 2)


def pair_name(task_i: int, task_j: int) -> str:
    """What a pair of finetuned models is called: "splits 1 and 2"; the first is θ_i."""
    return f"splits {task_i} and {task_j}"


PAIRS = {pair_name(i, j): (i, j) for i, j in itertools.combinations(TASKS, 2)}


# -- models ----------------------------------------------------------------------------------------

def source() -> data.types.Source:
    """Where the photographs come from."""
    return data.source(SPLIT_CIFAR, splits=(PRETRAINING, *TASKS))


def recipes(settings: Settings, seed: int = 0) -> dict[int, Recipe]:
    """{split: recipe}: the pretrained network at `PRETRAINING`, and one finetuned version of it for each task."""
    pretrained = cast.pretrained_resnet((PRETRAINING,), settings.size, settings.pretraining_epochs, seed,
                                        settings.width)
    return {PRETRAINING: pretrained, **_finetuned(pretrained, TASKS, settings)}


def amount_recipes(settings: Settings, seed: int = 0) -> dict[str, dict[int | None, Recipe]]:
    """{amount: {None: the pretrained network, split: finetuned on it}}, for every amount of pretraining."""
    made = {}
    for amount in settings.amounts:
        pretrained = cast.pretrained_resnet(amount.splits, amount.size, amount.epochs, seed, settings.amounts_width)
        made[amount.name] = {None: pretrained, **_finetuned(pretrained, AMOUNTS_TASKS, settings)}
    return made


def all_amount_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The recipes of `amount_recipes` in one list."""
    return [recipe for group in amount_recipes(settings, seed).values() for recipe in group.values()]


def stepping_recipe(settings: Settings, seed: int = 0) -> Recipe:
    """The network from which `run_small_steps` takes a step: the first that was pretrained at all, finetuned."""
    groups = amount_recipes(settings, seed).values()
    return next(group for group in groups if group[None].epochs)[AMOUNTS_TASKS[0]]


def _finetuned(pretrained, tasks, settings):
    return {task: cast.finetuned_resnet(pretrained, task, settings.size, settings.finetuning_epochs) for task in tasks}


def models(settings: Settings, seed: int = 0, device: str = "auto") -> dict[int, ResNet18]:
    """{split: network}: the pretrained one at `PRETRAINING` and the finetuned ones; trained now if need be."""
    made = recipes(settings, seed)
    return dict(zip(made, zoo.get_all(list(made.values()), device)))


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, what the chapter will have to do, and how long that takes on this machine."""
    experiment.announce(source(), estimate(PROFILES[profile], seed))


def estimate(settings: Settings, seed: int = 0) -> str:
    """A sentence that says what `run` and `run_amounts` will have to do, and how long it takes at the speed of two
    training steps, measured now."""
    wanted = list(dict.fromkeys([*recipes(settings, seed).values(), *all_amount_recipes(settings, seed)]))
    missing = experiment.missing(wanted)
    if not missing:
        return ("All models of this chapter are in the zoo: this takes seconds, or a few minutes where the sweep is "
                "not on disk.")
    per_step = functools.cache(seconds_per_step)
    train = sum(_steps(recipe) * per_step(_width(recipe)) for recipe in missing)
    images_a_point = 3 * 2 * settings.test_images + 2 * settings.statistics_images
    images = len(PAIRS) * len(settings.alphas) * images_a_point
    seconds = train + images / 64 / 3 * per_step(settings.width)  # a forward pass is a third of a step
    words = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    return (f"{len(missing)} of {len(wanted)} models have to be trained: about {words} on this machine, once. "
            "Each finished model is kept; after an interruption, run the cell again.")


def seconds_per_step(width: int, steps: int = 2) -> float:
    """Seconds of one training step of a ResNet18 on 64 images of this machine's CPU or GPU, measured on random
    images."""
    recipe = Recipe(Architecture.of("ResNet18", width=width, num_classes=5), SPLIT_CIFAR, (), "", 0.05, 1)
    device = training.resolve("auto")
    with torch.random.fork_rng():
        network = recipe.architecture.build().to(device)
        x = torch.randn(64, 3, 32, 32, device=device)
    y = torch.arange(64, device=device) % 5
    step = training.stepper(network, recipe, torch.arange(5, device=device))
    step(x, y)
    start = time.perf_counter()
    for _ in range(steps):
        step(x, y)
    next(network.parameters()).sum().item()  # a GPU is done only now
    return (time.perf_counter() - start) / steps


def _width(recipe):
    return dict(recipe.architecture.arguments)["width"]


def _steps(recipe):
    """Training steps that the recipe takes."""
    options = dict(recipe.options)
    images = options.get("size") or 2500 * len(options["splits"])
    return recipe.epochs * -(-images // recipe.batch_size)


# -- the lines -------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All lines between the networks finetuned on splits 1 to 4.

    Returns:
        A Dataset over treatment (3), pair (6), alpha (9), layer (9: eight blocks and the output), task (2), model (5)
        and bin (150) with
        gap_mean, gap_low, gap_high (treatment, pair, alpha, layer): 1 − cos to the mixed features, mean and quartiles
        over the test images of both tasks;
        own_mean, own_low, own_high (treatment, pair, layer): 1 − cos between the two ends;
        coef_mean, coef_median, coef_low, coef_high (treatment, pair, alpha, layer) and coef_count (…, bin);
        loss (nats), accuracy (treatment, pair, alpha, task): of tasks "i" and "j", each among its own five classes;
        mixed_accuracy (treatment, pair, alpha, task): of the mixed outputs, which CTL says the interpolated network
        has;
        distance (pair): ‖θ_i − θ_j‖ over weights and biases;
        own_accuracy (treatment, model): of each network on the test images of the task it was trained on last, model 0
        is the pretrained one;
        example (task_number, image, row, column, channel): some test images in [0, 1], with example_label, and answer,
        confidence (treatment, pair, alpha, end, image): what the network says of the images of task i and j, and with
        what probability.
    """
    made = recipes(settings, seed)
    networks = models(settings, seed, device)
    tests = {task: images_of(task, "test", settings.test_images) for task in networks}
    trains = {task: images_of(task, "train", settings.statistics_images) for task in networks}
    found = []
    for i, j in tqdm(PAIRS.values(), desc="measuring", unit="pair"):
        found.append(line(made[i], made[j], settings, device))
    own = []
    for treatment in TREATMENTS:
        own.append([own_accuracy(network, treatment, task, tests[task], trains[task], device)
                    for task, network in networks.items()])
    found = xarray.concat(found, xarray.DataArray(list(PAIRS), dims="pair", name="pair"))
    found = found.assign(own_accuracy=(("treatment", "model"), own), **_examples(tests))
    found = found.assign_coords(model=list(networks), task_number=list(TASKS))
    return found.assign_attrs(images=f"{2 * settings.test_images:,} test images a pair")


def line(recipe_i: Recipe, recipe_j: Recipe, settings: Settings, device: str = "auto") -> xarray.Dataset:
    """All numbers of the line between two finetuned models, over treatment, alpha, layer, task and bin; kept on disk
    line by line."""
    return resnet_line.line(recipe_i, recipe_j, settings.test_images, settings.statistics_images, settings.alphas,
                            device)


def _examples(tests):
    """Some test images of every task, with their labels, and the names of all labels."""
    pictures = [split_cifar100.unnormalise(tests[task][0][:EXAMPLES]).movedim(1, -1) for task in TASKS]
    labels = [tests[task][1][:EXAMPLES] for task in TASKS]
    dims = ("task_number", "image", "row", "column", "channel")
    return {"example": (dims, torch.stack(pictures).numpy()),
            "example_label": (dims[:2], torch.stack(labels).numpy()),
            "class_name": ("label", split_cifar100.class_names())}


# -- how much pretraining --------------------------------------------------------------------------

def measure_amounts(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The line between splits 1 and 2 for networks that were pretrained on more and more.

    Returns:
        As `measure`, with dimension amount in the place of pair, and steps (amount): training steps of the pretraining;
        pretrained_accuracy (treatment, amount): on the test images of split 0, which is in every pretraining.
    """
    made = amount_recipes(settings, seed)
    zoo.get_all(all_amount_recipes(settings, seed), device)
    test = images_of(PRETRAINING, "test", settings.test_images)
    train = images_of(PRETRAINING, "train", settings.statistics_images)
    rows = []
    for group in tqdm(made.values(), desc="measuring", unit="amount"):
        pretrained = zoo.get(group[None], device)
        accuracy = [own_accuracy(pretrained, treatment, PRETRAINING, test, train, device) for treatment in TREATMENTS]
        ends = [group[task] for task in AMOUNTS_TASKS]
        found = line(*ends, settings, device)
        rows.append(found.assign(pretrained_accuracy=("treatment", accuracy), steps=_steps(group[None])))
    found = xarray.concat(rows, xarray.DataArray(list(made), dims="amount", name="amount"))
    return found.assign_attrs(images=f"{2 * settings.test_images:,} test images a pair")


# -- one more step ---------------------------------------------------------------------------------

def measure_small_steps(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """What one more training step does to a network finetuned on split 1, by the number of images it is made on.

    Returns:
        A Dataset over images (6), draw (5) and treatment (2) with accuracy (treatment, images, draw) on the split's
        test images after the step, with the running statistics as they then are or with statistics estimated anew;
        accuracy_before (treatment); moved (images, draw): ‖Δθ‖ of the step.
    """
    recipe = stepping_recipe(settings, seed)
    network = zoo.get(recipe, device)
    task = AMOUNTS_TASKS[0]
    test = images_of(task, "test", settings.test_images)
    train = images_of(task, "train", settings.statistics_images)
    x, y = images_of(task, "train", None)
    generator = torch.Generator().manual_seed(seed)
    treatments = ("interpolated", "re-estimated")

    def accuracies(network):
        return [own_accuracy(network, treatment, task, test, train, device) for treatment in treatments]

    accuracy = np.zeros((len(treatments), len(settings.step_images), settings.draws))
    moved = np.zeros((len(settings.step_images), settings.draws))
    places = list(itertools.product(range(len(settings.step_images)), range(settings.draws)))
    for place, draw in tqdm(places, desc="one step each", unit="step"):
        batch = torch.randperm(len(x), generator=generator)[:settings.step_images[place]]
        stepped = copy.deepcopy(network).train().requires_grad_(True)
        training.stepper(stepped, recipe, y.unique())(x[batch], y[batch])
        accuracy[:, place, draw] = accuracies(stepped)
        moved[place, draw] = weights.norm(weights.subtract(weights_alone(stepped), weights_alone(network)))
    found = xarray.Dataset({"accuracy": (("treatment", "images", "draw"), accuracy),
                            "moved": (("images", "draw"), moved),
                            "accuracy_before": ("treatment", accuracies(network))},
                           coords={"treatment": list(treatments), "images": list(settings.step_images)})
    return found.assign_attrs(images=f"{settings.test_images:,} test images")


# -- claims ----------------------------------------------------------------------------------------

def by_depth(sweep: xarray.Dataset, treatment: str) -> dict[str, float]:
    """The numbers of one treatment, mean over pairs and the source's three α: the gap as a share of the ends' own
    distance and coef, by block; and the accuracy half-way, of the network and of the mixed outputs, mean over tasks and
    pairs."""
    part = at(sweep, treatment=treatment)
    inner = part.sel(alpha=list(lines.SHOWN_ALPHAS))
    share = (inner.gap_mean / part.own_mean).mean(["pair", "alpha"])
    coef = inner.coef_mean.mean(["pair", "alpha"])
    middle = part.sel(alpha=0.5)
    numbers = {}
    for layer in ("block 1", "block 4", "block 8", "output"):
        name = layer.replace(" ", "_")
        numbers[f"{name}_share"] = share.sel(layer=layer).item()
        numbers[f"{name}_coef"] = coef.sel(layer=layer).item()
    return numbers | {"accuracy_middle": middle.accuracy.mean().item(),
                      "mixed_accuracy_middle": middle.mixed_accuracy.mean().item()}


def claims(sweep: xarray.Dataset, variant: str = "") -> dict[str, dict[str, float]]:
    """The numbers behind CTL-3 and CTL-5, from one sweep. What each means stands in claims.yaml.

    Args:
        sweep: of `measure`.
        variant: "width 16": what the numbers' names begin with; left out, the sweep's profile.
    """
    found = by_depth(sweep, "interpolated")
    anew = by_depth(sweep, "re-estimated")
    own = at(sweep, treatment="interpolated").own_accuracy.isel(model=slice(1, None))
    gaps = {"own_accuracy_least": own.min().item(), "own_accuracy_mean": own.mean().item()}
    lengths = {}
    for name, value in found.items():
        of_claim = lengths if name.endswith("coef") else gaps
        of_claim[name] = value
    gaps["re-estimated block_8_share"] = anew["block_8_share"]
    for name in ("block_1_coef", "block_8_coef", "output_coef"):
        lengths[f"re-estimated {name}"] = anew[name]
    variant = variant or sweep.attrs["profile"]
    return {"CTL-3": {f"{variant} {name}": value for name, value in gaps.items()},
            "CTL-5": {f"{variant} {name}": value for name, value in lengths.items()}}


# -- the experiments -------------------------------------------------------------------------------

def _all_recipes(settings, seed):
    return recipes(settings, seed).values()


_of_lines = functools.partial(Experiment, measure=measure, source=source, dataset="CIFAR-100", recipes=_all_recipes,
                              one_thread=False, attributes={"opens_on": pair_name(1, 2)})
RESNET = _of_lines("resnet", profiles=PROFILES, claims=claims, ledger={"quick": (0, 1, 2), "full": (0,)})
WIDTH_16 = _of_lines("resnet-width-16", profiles=Profiles(full=_WIDTH_16),
                     claims=functools.partial(claims, variant="width 16"), ledger={"full": (0, 1, 2)})
LITERAL = _of_lines("resnet-literal", profiles=Profiles(full=replace(_WIDTH_16, size=None)),
                    claims=functools.partial(claims, variant="literal"), ledger={"full": (0,)})
AMOUNTS = Experiment("amounts", measure_amounts, PROFILES, source, "CIFAR-100", all_amount_recipes, one_thread=False)
SMALL_STEPS = Experiment("small-steps", measure_small_steps, PROFILES, source, "CIFAR-100",
                         lambda settings, seed: [stepping_recipe(settings, seed)], one_thread=False)
LEDGER = (RESNET, WIDTH_16, LITERAL)
run = RESNET.run
run_amounts = AMOUNTS.run
run_small_steps = SMALL_STEPS.run
