"""Split CIFAR-100, ResNet-18, and the lines between its finetuned versions: the second setting of CTL §4.1 and B.1.1.

`run` trains (through the zoo), measures along every line under three treatments of BatchNorm, and returns one xarray
Dataset; the second time it comes from disk. The recipes of all that the chapter trains stand here, too.
"""
import functools
import itertools
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray
from torch import Tensor, nn
from tqdm.auto import tqdm

import data
from data import split_cifar100
from lessons import cast
from lessons.cast import PRETRAINING, SPLIT_CIFAR, TASKS, WHOLE
from lessons.kit import experiment
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import at
from lessons.lines import numbers as lines
from lessons.resnet.algorithms import TREATMENTS
from lessons.resnet.experiment import line
from lessons.resnet.experiment.line import EXAMPLES, HUNDRED, POOLED, TEN, Images, images_of, own_right
from toy_models import Architecture, Recipe, ResNet18, training, zoo


@dataclass(frozen=True)
class Amount:
    """How much a network is pretrained: on which splits, for how many passes, and on how many images of them."""
    name: str
    splits: tuple[int, ...]
    epochs: int
    size: int


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    width: int  # of the ResNet18s
    size: int | None  # training images per task; None for all 2,500
    pretraining_epochs: int  # passes over them
    finetuning_epochs: int  # passes over them
    feature_images: int  # test images per task whose features are compared, in whole batches of 50
    test_images: int  # per task, for accuracies; there are 500
    statistics_images: int  # training images per task from which BatchNorm's statistics are estimated anew
    alphas: tuple[float, ...] = (0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)  # positions on each line
    # how much the networks of `amounts.run` are pretrained; they are finetuned as those of `run`
    amounts: tuple[Amount, ...] = ()
    amounts_width: int = cast.WIDTH  # of these networks, and of that of `steps.run`
    step_images: tuple[int, ...] = (2, 4, 8, 16, 32, 64)  # on how many images `steps.run` takes one step
    draws: int = 10  # of these images


_OTHERS = (0, 5, 6, 7, 8, 9, 10, 11, 12, 13)  # ten splits, none of which is a finetuning task
_QUICK = Settings(
    width=cast.WIDTH, size=1280, pretraining_epochs=4, finetuning_epochs=2, feature_images=50, test_images=500,
    statistics_images=100, alphas=(0.0, *lines.SHOWN_ALPHAS, 1.0), step_images=(4, 16, 64), draws=6,
    amounts=(Amount("nothing", (0,), 0, 1280),
             Amount("1 split, 4 passes", (0,), 4, 1280)))
_FULL = Settings(
    width=cast.WIDTH, size=WHOLE, pretraining_epochs=10, finetuning_epochs=10, feature_images=100, test_images=500,
    statistics_images=250, alphas=(0.0, *lines.SHOWN_ALPHAS, 1.0),
    amounts=(Amount("nothing", (0,), 0, WHOLE),
             Amount("1 split, 10 passes", (0,), 10, WHOLE),
             Amount("1 split, 20 passes", (0,), 20, WHOLE),
             Amount("5 splits, 4 passes", _OTHERS[:5], 4, 12_480),
             Amount("10 splits, 2 passes", _OTHERS, 2, 24_960),
             Amount("all 20 splits, 1 pass", tuple(range(20)), 1, 49_984)))
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
    """The network from which `steps.run` takes a step: the first that was pretrained at all, finetuned."""
    groups = amount_recipes(settings, seed).values()
    return next(group for group in groups if group[None].epochs)[AMOUNTS_TASKS[0]]


def _finetuned(pretrained, tasks, settings):
    return {task: cast.finetuned_resnet(pretrained, task, settings.size, settings.finetuning_epochs) for task in tasks}


def models(settings: Settings, seed: int = 0, device: str = "auto") -> dict[int, ResNet18]:
    """{split: network}: the pretrained one at `PRETRAINING` and the finetuned ones; trained now if need be."""
    made = recipes(settings, seed)
    return dict(zip(made, zoo.get_all(list(made.values()), device)))


def networks(profile: str = "quick", seed: int = 0, device: str = "auto") -> dict[int, ResNet18]:
    """`models` of a profile: networks to hold in one's hands."""
    return models(PROFILES[profile], seed, device)


def batchnorm_inputs(network: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """What enters every BatchNorm layer when the network is given x: {its name: (samples, channels, height, width)}."""
    inputs, hooks = {}, []
    for name, layer in network.named_modules():
        if isinstance(layer, nn.BatchNorm2d):
            hooks.append(layer.register_forward_pre_hook(lambda _, given, name=name: inputs.update({name: given[0]})))
    network(x)
    for hook in hooks:
        hook.remove()
    return inputs


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Say which data there are, what the chapter will have to do, and how long that takes on this machine."""
    experiment.announce(source(), estimate(PROFILES[profile], seed))


def estimate(settings: Settings, seed: int = 0) -> str:
    """A sentence that says what `run` and `amounts.run` will have to do, and how long it takes at the speed of two
    training steps, measured now."""
    wanted = list(dict.fromkeys([*recipes(settings, seed).values(), *all_amount_recipes(settings, seed)]))
    missing = experiment.missing(wanted)
    if not missing:
        return ("All models of this chapter are in the zoo: this takes seconds, or a few minutes where the sweep is "
                "not on disk.")
    per_step = functools.cache(seconds_per_step)
    train = sum(steps_of(recipe) * per_step(dict(recipe.architecture.arguments)["width"]) for recipe in missing)
    asked = len(line.PLACES) * settings.test_images + len(settings.alphas) * settings.feature_images
    images = (len(PAIRS) + len(settings.amounts)) * 3 * 2 * asked
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


def steps_of(recipe: Recipe) -> int:
    """Training steps that the recipe takes."""
    options = dict(recipe.options)
    images = options.get("size") or 2500 * len(options["splits"])
    return recipe.epochs * -(-images // recipe.batch_size)


# -- the lines -------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All lines between the networks finetuned on splits 1 to 4.

    Returns:
        A Dataset over treatment (3), pair (6), alpha, layer (11: eight blocks, "pooled", "10 outputs" and
        "100 outputs"), place (3: the two ends and half-way), task (2), image (500), model (5) and bin (150) with
        gap_mean, gap_low, gap_high (treatment, pair, alpha, layer): 1 − cos to the mixed features, mean and quartiles
        over test images of both tasks;
        own_mean, own_low, own_high (treatment, pair, layer): 1 − cos between the two ends;
        coef_mean, coef_median, coef_low, coef_high (treatment, pair, alpha, layer) and coef_count (…, bin);
        right (treatment, pair, place, task, image): which test images of tasks "i" and "j" the network there calls by
        their name, choosing among the task's own five classes, 0 or 1; mixed_right: what the two ends' outputs, mixed,
        say, which is what the network there would say if CTL were exact;
        control_right (pair, control, task, image): the same half-way with other statistics or rows, see
        `line`;
        distance (pair): ‖θ_i − θ_j‖ over weights and biases;
        own_right (treatment, model, image): of each network on the task it was trained on last; model 0 is the
        pretrained one. "re-estimated" is then on images of this task alone;
        example (task_number, picture, row, column, channel): some test images in [0, 1], with example_label, and
        answer, confidence (treatment, pair, alpha, task, picture): what the network says of those of task i and j, and
        with what probability.
    """
    made = recipes(settings, seed)
    networks = models(settings, seed, device)
    tests = {task: images_of(task, "test", settings.test_images) for task in networks}
    trains = {task: images_of(task, "train", settings.statistics_images) for task in networks}
    lines = []
    for i, j in tqdm(PAIRS.values(), desc="measuring", unit="pair"):
        lines.append(of_two(made[i], made[j], settings, device))
    own = []
    for treatment in TREATMENTS:
        own.append([own_right(network, treatment, task, tests[task], trains[task], device)
                    for task, network in networks.items()])
    lines = xarray.concat(lines, xarray.DataArray(list(PAIRS), dims="pair", name="pair"))
    pictures = [split_cifar100.unnormalise(tests[task][0][:EXAMPLES]).movedim(1, -1) for task in TASKS]
    labels = [tests[task][1][:EXAMPLES] for task in TASKS]
    dims = ("task_number", "picture", "row", "column", "channel")
    lines = lines.assign(own_right=(("treatment", "model", "image"), np.array(own)),
                         example=(dims, torch.stack(pictures).numpy()),
                         example_label=(dims[:2], torch.stack(labels).numpy()),
                         class_name=("label", split_cifar100.class_names()))
    lines = lines.assign_coords(model=list(networks), task_number=list(TASKS))
    return lines.assign_attrs(images=said_of_images(settings, lines))


def said_of_images(settings: Settings, sweep: xarray.Dataset) -> str:
    """On how many images the features and the accuracies of a line were measured, for captions."""
    shown = f"{2 * settings.feature_images:,} test images a pair"
    return f"{shown}, accuracies on {2 * sweep.sizes['image']:,}"


def of_two(recipe_i: Recipe, recipe_j: Recipe, settings: Settings, device: str = "auto") -> xarray.Dataset:
    """All numbers of the line between two finetuned models, over treatment, alpha, layer, place, task and bin; kept on
    disk line by line."""
    images = Images(settings.feature_images, settings.test_images, settings.statistics_images)
    return line.line(recipe_i, recipe_j, images, settings.alphas, device)


# -- how sure -------------------------------------------------------------------------------------

def paired(right_a: Tensor, right_b: Tensor) -> tuple[float, float]:
    """By how much the first network is more accurate than the second on the same images, and the standard error of
    that: the standard deviation of the difference, image by image, over the root of their number.

    Args:
        right_a, right_b: (images,), which of them each calls by their name, true and false or 1 and 0.
    """
    difference = torch.as_tensor(right_a).double() - torch.as_tensor(right_b).double()
    return difference.mean().item(), (difference.std(unbiased=False) / len(difference) ** 0.5).item()


def over_images(right: xarray.DataArray) -> tuple[float, float]:
    """The mean of a number per test image, and its standard error. Each image of a split counts once, with its mean
    over the pairs that it was shown to: which networks there are is not what the error is about.

    Args:
        right: over pair, task ("i", "j") and image; other dimensions are averaged. Such as 1 where an image was called
            by its name, or the difference of two of these, which is then a paired comparison.
    """
    others = [name for name in right.dims if name not in ("pair", "task", "image")]
    right = right.astype(float).mean(others).transpose("pair", "task", "image")
    of_split = {}
    for pair, both in zip(map(str, right.pair.values), right.values):
        for split, values in zip(PAIRS[pair], both):
            of_split.setdefault(split, []).append(values)
    of_image = np.concatenate([np.mean(values, axis=0) for values in of_split.values()])
    return float(of_image.mean()), float(of_image.std() / np.sqrt(len(of_image)))


def comparisons(sweep: xarray.Dataset) -> dict[str, tuple[float, float]]:
    """Paired differences of accuracies, mean over pairs and tasks, and their standard errors.

    Half-way: "anew" is what statistics estimated anew gain over interpolated ones, "batch" what those of the batch gain
    over the former, "fresh ends" what is gained where the ends' statistics are estimated anew before they are
    interpolated, and "rest" what estimating anew gains over that; "own rows" is what each task's own rows of the head
    gain over mixed ones; "mixed" and "mixed anew" are by how much the mixed outputs are ahead of the network. At the
    ends: "ends" is what statistics estimated anew gain on their own tasks.
    """
    half_way = sweep.sel(place="half-way")
    interpolated, anew, batch = (half_way.right.sel(treatment=treatment) for treatment in TREATMENTS)
    fresh, rows = (sweep.control_right.sel(control=control)
                   for control in (line.FRESH_ENDS, line.OWN_ROWS))
    mixed, mixed_anew, _ = (half_way.mixed_right.sel(treatment=treatment) for treatment in TREATMENTS)
    pairs = {"anew": (anew, interpolated), "batch": (batch, anew), "fresh ends": (fresh, interpolated),
             "rest": (anew, fresh), "own rows": (rows, anew), "mixed": (mixed, interpolated),
             "mixed anew": (mixed_anew, anew)}
    differences = {name: over_images(a.astype(float) - b) for name, (a, b) in pairs.items()}
    own = sweep.own_right.isel(model=slice(1, None)).astype(float)
    anew, running = (own.sel(treatment=name).values.ravel() for name in ("re-estimated", "interpolated"))
    return differences | {"ends": paired(anew, running)}


def half_way(sweep: xarray.Dataset) -> dict[str, tuple[Tensor, Tensor]]:
    """{pair: (with statistics estimated anew, with interpolated ones)}: which test images of both tasks the network
    half-way names right, bool (2 · images,)."""
    right = sweep.right.sel(place="half-way").astype(bool)
    return {str(pair): tuple(torch.tensor(right.sel(pair=pair, treatment=treatment).values.ravel())
                             for treatment in ("re-estimated", "interpolated"))
            for pair in sweep.pair.values}


def accuracies(sweep: xarray.Dataset) -> dict[str, tuple[float, float]]:
    """Half-way accuracies, mean over pairs and tasks, and their standard errors: of the network under every treatment
    of BatchNorm, and, as "mixed …", of the ends' outputs, mixed."""
    half_way = sweep.sel(place="half-way")
    means = {}
    for treatment in TREATMENTS:
        means[treatment] = over_images(half_way.right.sel(treatment=treatment))
        means[f"mixed {treatment}"] = over_images(half_way.mixed_right.sel(treatment=treatment))
    return means


def by_depth(sweep: xarray.Dataset, treatment: str) -> dict[str, float]:
    """The numbers of one treatment, mean over pairs and the source's three α: the gap as a share of the ends' own
    distance and coef, by block and behind the blocks; and the accuracy half-way, of the network and of the mixed
    outputs, mean over tasks and pairs."""
    part = at(sweep, treatment=treatment)
    inner = part.sel(alpha=list(lines.SHOWN_ALPHAS))
    share = (inner.gap_mean / part.own_mean).mean(["pair", "alpha"])
    coef = inner.coef_mean.mean(["pair", "alpha"])
    numbers = {}
    for layer, name in _NAMES.items():
        numbers[f"{name}_share"] = share.sel(layer=layer).item()
        numbers[f"{name}_coef"] = coef.sel(layer=layer).item()
    middle = part.sel(place="half-way")
    return numbers | {"accuracy_middle": middle.right.mean().item(),
                      "mixed_accuracy_middle": middle.mixed_right.mean().item()}


_NAMES = {"block 1": "block_1", "block 4": "block_4", "block 8": "block_8", POOLED: "pooled", TEN: "ten_outputs",
          HUNDRED: "output"}


def claims(sweep: xarray.Dataset, variant: str = "") -> dict[str, dict[str, float]]:
    """The numbers behind CTL-3 and CTL-5, from one sweep. What each means stands in claims.yaml.

    Args:
        sweep: of `measure`.
        variant: "literal": what the numbers' names begin with; left out, the sweep's profile.
    """
    shares = by_depth(sweep, "interpolated")
    anew = by_depth(sweep, "re-estimated")
    own = at(sweep, treatment="interpolated").own_right.isel(model=slice(1, None)).mean("image")
    gaps = {"own_accuracy_least": own.min().item(), "own_accuracy_mean": own.mean().item()}
    lengths = {}
    for name, value in shares.items():
        of_claim = lengths if name.endswith("coef") else gaps
        of_claim[name] = value
    compared = comparisons(sweep)
    for name in ("mixed", "mixed anew", "anew", "ends", "own rows"):
        gaps[f"gain of {name}"], gaps[f"error of {name}"] = compared[name]
    for name in ("block_8_share", "pooled_share", "ten_outputs_share", "accuracy_middle"):
        gaps[f"re-estimated {name}"] = anew[name]
    for name in ("block_1_coef", "block_8_coef", "ten_outputs_coef", "output_coef"):
        lengths[f"re-estimated {name}"] = anew[name]
    variant = variant or sweep.attrs["profile"]
    return {"CTL-3": {f"{variant} {name}": value for name, value in gaps.items()},
            "CTL-5": {f"{variant} {name}": value for name, value in lengths.items()}}


# -- the experiments -------------------------------------------------------------------------------

def _all_recipes(settings, seed):
    return recipes(settings, seed).values()


_of_lines = functools.partial(Experiment, measure=measure, source=source, dataset="CIFAR-100", recipes=_all_recipes,
                              one_thread=False, long=True,
                              attributes={"opens_on": pair_name(1, 2), "asked_layer": "block 8"})
RESNET = _of_lines("resnet", profiles=PROFILES, claims=claims,
                   ledger={"quick": (0, 1, 2), "full": (0, 1, 2)})
LITERAL = _of_lines("resnet-literal", profiles=Profiles(full=replace(_FULL, size=None)),
                    claims=functools.partial(claims, variant="literal"), ledger={"full": (0,)})
LEDGER = (RESNET, LITERAL)
run = RESNET.run
in_full = RESNET.in_full
