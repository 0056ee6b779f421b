"""Split CIFAR-100, ResNet-18, and the lines between its finetuned versions: the second setting of CTL §4.1 and B.1.1.

`run` trains (through the zoo), measures along every line under three treatments of BatchNorm, and returns one xarray Dataset;
`run_amounts` does it for networks that were pretrained on more and more. The second time all of it comes from disk.
"""
import copy
import itertools
import time
from dataclasses import asdict, dataclass

import numpy as np
import torch
import xarray
from torch import Tensor
from tqdm.auto import tqdm

import data
from data import split_cifar100
from lessons.linearity import algorithms
from lessons.linearity.experiment import lines
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import at, cached, on_grid, summarise
from toy_models import Architecture, Recipe, ResNet18, batchnorm, training, weights, zoo

DATASET = "split_cifar100"
PRETRAINING, TASKS = 0, (1, 2, 3, 4)  # splits
CLASSES = 100  # one head for all splits; each task uses its own five outputs
TREATMENTS = {"interpolated": "running statistics, mixed like weights", "re-estimated": "estimated anew for each network",
              "batch": "those of the batch it is given"}
EXAMPLES = 4  # test images of every task that the sweep keeps, to look at


@dataclass(frozen=True)
class Amount:
    """How much a network is pretrained: on which splits, for how many passes, and on how many images of them (None: all)."""
    name: str
    splits: tuple[int, ...]
    epochs: int
    size: int | None = None


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured.

    Attributes:
        width: of the ResNet18.
        size: training images per task; None for all 2,500.
        pretraining_epochs, finetuning_epochs: passes over them.
        test_images: per task; there are 500.
        statistics_images: training images per task from which BatchNorm's statistics are estimated anew.
        amounts: how much the networks of `run_amounts` were pretrained; they have width 16, and are finetuned as those of `run`.
        tasks: the splits to finetune on.
        alphas: positions on each line.
    """
    width: int
    size: int | None
    pretraining_epochs: int
    finetuning_epochs: int
    test_images: int
    statistics_images: int
    amounts: tuple[Amount, ...] = ()
    tasks: tuple[int, ...] = TASKS
    alphas: tuple[float, ...] = (0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)


_OTHERS = (0, 5, 6, 7, 8, 9, 10, 11, 12, 13)  # ten splits, none of which is a finetuning task
_WHOLE = 2496  # images of a split: 39 batches of 64. The four that are left of its 2,500 would make a batch of their own; see `run_small_steps`
PROFILES = Profiles({
    "quick": Settings(width=16, size=1280, pretraining_epochs=4, finetuning_epochs=2, test_images=40, statistics_images=50,
                      alphas=(0.0, 0.25, 0.5, 0.75, 1.0), amounts=(Amount("nothing", (0,), 0, 1280), Amount("1 split, 4 passes", (0,), 4, 1280))),
    "width 16": Settings(width=16, size=_WHOLE, pretraining_epochs=10, finetuning_epochs=10, test_images=200, statistics_images=250,
                         alphas=(0.0, *lines.SHOWN_ALPHAS, 1.0)),
    "literal": Settings(width=16, size=None, pretraining_epochs=10, finetuning_epochs=10, test_images=200, statistics_images=250,
                         alphas=(0.0, *lines.SHOWN_ALPHAS, 1.0)),
    "full": Settings(width=64, size=_WHOLE, pretraining_epochs=10, finetuning_epochs=10, test_images=125, statistics_images=125, amounts=(
        Amount("nothing", (0,), 0, _WHOLE), Amount("1 split, 10 passes", (0,), 10, _WHOLE), Amount("1 split, 20 passes", (0,), 20, _WHOLE), Amount("5 splits, 4 passes", _OTHERS[:5], 4, 12_480),
        Amount("10 splits, 2 passes", _OTHERS, 2, 24_960), Amount("all 20 splits, 1 pass", tuple(range(20)), 1, 49_984))),
})
AMOUNTS_WIDTH, AMOUNTS_TASKS = 16, (1, 2)


def pair_name(task_i: int, task_j: int) -> str:
    """What a pair of finetuned models is called: "splits 1 and 2"; the first is θ_i."""
    return f"splits {task_i} and {task_j}"


def pairs(profile: str = "quick") -> dict[str, tuple[int, int]]:
    """{name: (split of θ_i, split of θ_j)}, all pairs of the profile's tasks."""
    return {pair_name(i, j): (i, j) for i, j in itertools.combinations(PROFILES[profile].tasks, 2)}


# -- models ----------------------------------------------------------------------------------------

def recipes(profile: str = "quick", seed: int = 0) -> dict[int, Recipe]:
    """{split: recipe}: the pretrained network under `PRETRAINING`, and one finetuned version of it for each of the profile's tasks."""
    settings = PROFILES[profile]
    pretrained = _pretraining(settings.width, (PRETRAINING,), settings.size, settings.pretraining_epochs, seed)
    return {PRETRAINING: pretrained, **{task: _finetuning(pretrained, task, settings) for task in settings.tasks}}


def amount_recipes(profile: str = "quick", seed: int = 0) -> dict[str, dict[int | None, Recipe]]:
    """{amount: {None: the pretrained network, split: finetuned on it}}, for the amounts of pretraining that the profile compares."""
    settings, made = PROFILES[profile], {}
    for amount in settings.amounts:
        pretrained = _pretraining(AMOUNTS_WIDTH, amount.splits, amount.size, amount.epochs, seed)
        made[amount.name] = {None: pretrained, **{task: _finetuning(pretrained, task, settings) for task in AMOUNTS_TASKS}}
    return made


def _options(splits, size):
    return {"splits": splits} if size is None else {"splits": splits, "size": size}


def _pretraining(width, splits, size, epochs, seed):
    return Recipe.on(DATASET, Architecture.of("ResNet18", width=width, num_classes=CLASSES), options=_options(splits, size), lr=0.05,
                     epochs=epochs, batch_size=64, seed=seed)


def _finetuning(pretrained, task, settings):
    return pretrained.finetune(options=_options((task,), settings.size), epochs=settings.finetuning_epochs)


def models(profile: str = "quick", seed: int = 0, device: str = "auto") -> dict[int, ResNet18]:
    """{split: network}: the pretrained one at `PRETRAINING` and the finetuned ones; trained now if they are not in the zoo."""
    made = recipes(profile, seed)
    return dict(zip(made, zoo.get_all(list(made.values()), device)))


def estimate(profile: str = "quick", seed: int = 0) -> str:
    """A sentence that says what `run` and `run_amounts` will have to do, and how long it takes at the speed of two training steps, measured now."""
    settings = PROFILES[profile]
    wanted = dict.fromkeys([*recipes(profile, seed).values(), *(recipe for group in amount_recipes(profile, seed).values() for recipe in group.values())])
    missing = [recipe for recipe in wanted if not zoo.path_of(recipe).exists()]
    if not missing:
        return "All models of this chapter are in the zoo: this takes seconds, or a few minutes where the sweep is not on disk."
    step = {width: seconds_per_step(width) for width in {dict(recipe.architecture.arguments)["width"] for recipe in missing}}
    train = sum(_steps(recipe) * step[dict(recipe.architecture.arguments)["width"]] for recipe in missing)
    images = len(pairs(profile)) * len(settings.alphas) * (3 * 2 * settings.test_images + 2 * settings.statistics_images)
    seconds = train + images / 64 / 3 * seconds_per_step(settings.width)  # a forward pass is a third of a step
    words = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    return (f"{len(missing)} of {len(wanted)} models have to be trained: about {words} on this machine, once. Each finished model is kept; "
            "after an interruption, run the cell again.")


def seconds_per_step(width: int, steps: int = 2) -> float:
    """Seconds of one training step of a ResNet18 on 64 images of this machine's CPU or GPU, measured on random images."""
    recipe = Recipe(Architecture.of("ResNet18", width=width, num_classes=5), DATASET, (), "", 0.05, 1)
    device = training.resolve("auto")
    with torch.random.fork_rng():
        network = recipe.architecture.build().to(device)
        x, y = torch.randn(64, 3, 32, 32, device=device), torch.arange(64, device=device) % 5
    step = training.stepper(network, recipe, torch.arange(5, device=device))
    step(x, y)
    start = time.perf_counter()
    for _ in range(steps):
        step(x, y)
    next(network.parameters()).sum().item()  # a GPU is done only now
    return (time.perf_counter() - start) / steps


# -- measuring -------------------------------------------------------------------------------------

def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure along all lines.

    Returns:
        A Dataset over treatment (3), pair (6), alpha (9), layer (9: eight blocks and the output), task (2), model (5) and bin (150) with
        gap_mean, gap_low, gap_high (treatment, pair, alpha, layer): 1 − cos to the mixed features, mean and quartiles over the test images of
        both tasks; own_mean, own_low, own_high (treatment, pair, layer): 1 − cos between the two ends;
        coef_mean, coef_median, coef_low, coef_high (treatment, pair, alpha, layer) and coef_count (…, bin);
        loss (nats), accuracy (treatment, pair, alpha, task): of tasks "i" and "j", each among its own five classes;
        mixed_accuracy (treatment, pair, alpha, task): of the mixed outputs, which CTL says the interpolated network has;
        distance (pair): ‖θ_i − θ_j‖ over weights and biases;
        own_accuracy (treatment, model): of each network on the test images of the task it was trained on last, model 0 is the pretrained one;
        example (task_number, image, row, column, channel): some test images in [0, 1], with example_label, and
        answer, confidence (treatment, pair, alpha, end, image): what the network says of the images of task i and j, and with what probability.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    made = recipes(profile, seed)
    ingredients = {"settings": asdict(settings), "recipes": [recipe.key for recipe in made.values()]}
    return cached("resnet", ingredients, lambda: _attributed(measure(profile, seed, device), profile, seed, settings.width, settings))


def _attributed(result, profile, seed, width, settings):
    source = data.source(DATASET, splits=(PRETRAINING, *settings.tasks))
    return result.assign_attrs(source=source.text, source_kind=source.kind, dataset="CIFAR-100", network=f"ResNet-18 of width {width}", profile=profile,
                               seed=seed, opens_on=pair_name(1, 2), images=f"{2 * settings.test_images:,} test images a pair")


def measure(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache; the lines are kept one by one."""
    settings, made, networks = PROFILES[profile], recipes(profile, seed), models(profile, seed, device)
    tests, trains = ({task: _images_of(task, part, size) for task in networks} for part, size in (("test", settings.test_images), ("train", settings.statistics_images)))
    found = [line(made[i], made[j], settings, device) for i, j in tqdm(pairs(profile).values(), desc="measuring", unit="pair")]
    own = [[_own_accuracy(network, tests[task], trains[task], treatment, task, device) for task, network in networks.items()] for treatment in TREATMENTS]
    return xarray.concat(found, xarray.DataArray(list(pairs(profile)), dims="pair", name="pair")).assign(
        own_accuracy=(("treatment", "model"), own),
        example=(("task_number", "image", "row", "column", "channel"),
                 torch.stack([split_cifar100.unnormalise(tests[task][0][:EXAMPLES]).movedim(1, -1) for task in settings.tasks]).numpy()),
        example_label=(("task_number", "image"), torch.stack([tests[task][1][:EXAMPLES] for task in settings.tasks]).numpy()),
        class_name=("label", split_cifar100.class_names()),
    ).assign_coords(model=list(networks), task_number=list(settings.tasks))


def run_amounts(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The line between splits 1 and 2 for networks of width 16 that were pretrained on more and more.

    Returns:
        As `run`, with dimension amount in the place of pair, and steps (amount): training steps of the pretraining; pretrained_accuracy
        (treatment, amount): on the test images of split 0, which is in every pretraining.
    """
    settings, made = PROFILES[profile], amount_recipes(profile, seed)
    ingredients = {"settings": asdict(settings), "recipes": [recipe.key for group in made.values() for recipe in group.values()]}
    return cached("amounts", ingredients, lambda: _attributed(measure_amounts(profile, seed, device), profile, seed, AMOUNTS_WIDTH, settings))


def measure_amounts(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run_amounts` without the cache."""
    settings, made = PROFILES[profile], amount_recipes(profile, seed)
    zoo.get_all([recipe for group in made.values() for recipe in group.values()], device)
    test, train = (_images_of(PRETRAINING, part, size) for part, size in (("test", settings.test_images), ("train", settings.statistics_images)))
    rows = []
    for group in tqdm(made.values(), desc="measuring", unit="amount"):
        pretrained = zoo.get(group[None], device)
        scores = [_own_accuracy(pretrained, test, train, treatment, PRETRAINING, device) for treatment in TREATMENTS]
        rows.append(line(*(group[task] for task in AMOUNTS_TASKS), settings, device).assign(pretrained_accuracy=("treatment", scores), steps=_steps(group[None])))
    return xarray.concat(rows, xarray.DataArray(list(made), dims="amount", name="amount"))


def _steps(recipe):
    """Training steps that the recipe takes."""
    options = dict(recipe.options)
    images = options.get("size") or 2500 * len(options["splits"])
    return recipe.epochs * -(-images // recipe.batch_size)


STEP_IMAGES, DRAWS = (2, 4, 8, 16, 32, 64), 5


def run_small_steps(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """What one more training step does to a finetuned network (split 1, width 16), by the number of images it is made on.

    Returns:
        A Dataset over images (6), draw (5) and treatment (2) with accuracy (treatment, images, draw) on the split's test images after the step, with the
        running statistics as they then are or with statistics estimated anew; accuracy_before (treatment); moved (images, draw): ‖Δθ‖ of the step.
    """
    settings = PROFILES[profile]
    recipe = next(group for group in amount_recipes(profile, seed).values() if group[None].epochs)[AMOUNTS_TASKS[0]]
    ingredients = {"settings": asdict(settings), "recipe": recipe.key}
    return cached("small-steps", ingredients, lambda: _attributed(measure_small_steps(recipe, settings, seed, device), profile, seed, AMOUNTS_WIDTH, settings).assign_attrs(
        images=f"{settings.test_images:,} test images"))


def measure_small_steps(recipe: Recipe, settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run_small_steps` without the cache."""
    task, network = AMOUNTS_TASKS[0], zoo.get(recipe, device)
    test, train = (_images_of(task, part, size) for part, size in (("test", settings.test_images), ("train", settings.statistics_images)))
    x, y = _images_of(task, "train", None)
    generator, treatments = torch.Generator().manual_seed(seed), ("interpolated", "re-estimated")
    accuracy, moved = np.zeros((len(treatments), len(STEP_IMAGES), DRAWS)), np.zeros((len(STEP_IMAGES), DRAWS))
    for place, draw in tqdm(list(itertools.product(range(len(STEP_IMAGES)), range(DRAWS))), desc="one step each", unit="step"):
        batch = torch.randperm(len(x), generator=generator)[:STEP_IMAGES[place]]
        stepped = copy.deepcopy(network).train().requires_grad_(True)
        training.stepper(stepped, recipe, y.unique())(x[batch], y[batch])
        accuracy[:, place, draw] = [_own_accuracy(stepped, test, train, treatment, task, device) for treatment in treatments]
        moved[place, draw] = weights.norm(weights.subtract(_weights_alone(stepped), _weights_alone(network)))
    before = [_own_accuracy(network, test, train, treatment, task, device) for treatment in treatments]
    return xarray.Dataset({"accuracy": (("treatment", "images", "draw"), accuracy), "moved": (("images", "draw"), moved), "accuracy_before": ("treatment", before)},
                          coords={"treatment": list(treatments), "images": list(STEP_IMAGES)})


def _images_of(task, part, size):
    """The first `size` images (samples, 3, 32, 32) and labels (samples,) of a split, in an order that mixes its classes."""
    dataset = data.load(DATASET, part, splits=(task,))
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))[:size]
    return dataset.x[order], dataset.y[order]


_PART = 50  # images of each task at once: a layer's features in float64 then stay small, and it is the batch of the treatment "batch"


def line(recipe_i: Recipe, recipe_j: Recipe, settings: Settings, device: str = "auto") -> xarray.Dataset:
    """All numbers of the line between two finetuned models, over treatment, alpha, layer, task and bin; kept on disk line by line."""
    ingredients = [recipe_i.key, recipe_j.key, settings.test_images, settings.statistics_images, settings.alphas]

    def measure_line():
        networks, tasks = zoo.get_all([recipe_i, recipe_j], device), [dict(recipe.options)["splits"][0] for recipe in (recipe_i, recipe_j)]
        tests, trains = ([_images_of(task, part, size) for task in tasks] for part, size in (("test", settings.test_images), ("train", settings.statistics_images)))
        found = [_along(networks, tasks, tests, torch.cat([x for x, _ in trains]), treatment, settings.alphas, device) for treatment in TREATMENTS]
        distance = weights.norm(weights.subtract(*map(_weights_alone, networks)))
        return xarray.concat(found, xarray.DataArray(list(TREATMENTS), dims="treatment", name="treatment")).assign(distance=distance)

    return cached("line", {"line": ingredients}, measure_line).drop_attrs()


def _along(ends, tasks, tests, statistics, treatment, alphas, device):
    """All numbers of one line under one treatment."""
    (x_i, y_i), (x_j, y_j) = tests
    device = training.resolve(device)
    states = [network.state_dict() for network in ends]
    networks = [treated(ResNet18.from_state(weights.interpolate(*states, alpha)), treatment, statistics, device) for alpha in alphas]
    end_j, end_i = networks[0], networks[-1]  # α is 0 and 1 there
    values, own, outputs, mixed = {}, {}, [[] for _ in alphas], [[] for _ in alphas]
    for parts in zip(x_i.split(_PART), x_j.split(_PART)):
        x = torch.cat(parts)
        features_i, features_j = ({layer: value.double() for layer, value in _flat(network.features(x.to(device))).items()} for network in (end_i, end_j))
        for layer in features_i:
            own.setdefault(layer, []).append(algorithms.own_distance(features_i[layer], features_j[layer]))
        for index, (alpha, network) in enumerate(zip(alphas, networks)):
            features = features_i if network is end_i else features_j if network is end_j else _flat(network.features(x.to(device)))
            outputs[index].append(features["output"].view(2, -1, CLASSES))
            mixed[index].append(algorithms.mix(features_i["output"], features_j["output"], alpha).view(2, -1, CLASSES))
            for layer, measured in algorithms.ctl(features, features_i, features_j, alpha).items():
                for name, value in measured.items():
                    values.setdefault((index, layer), {}).setdefault(name, []).append(value)
    layers = list(own)
    result = on_grid([summarise({name: torch.cat(parts) for name, parts in values[index, layer].items()}) for index in range(len(alphas)) for layer in layers],
                     alpha=alphas, layer=layers)
    scores = [[_score(torch.cat(parts, 1)[end], y, task) for end, (y, task) in enumerate(zip((y_i, y_j), tasks))] for parts in outputs]
    mixed_scores = [[_score(torch.cat(parts, 1)[end], y, task)[1] for end, (y, task) in enumerate(zip((y_i, y_j), tasks))] for parts in mixed]
    answers = [[_answers(torch.cat(parts, 1)[end][:EXAMPLES], task) for end, task in enumerate(tasks)] for parts in outputs]
    return result.merge(on_grid([summarise({"own": torch.cat(parts)}) for parts in own.values()], layer=layers)).assign(
        loss=(("alpha", "task"), [[loss for loss, _ in row] for row in scores]),
        accuracy=(("alpha", "task"), [[accuracy for _, accuracy in row] for row in scores]),
        mixed_accuracy=(("alpha", "task"), mixed_scores),
        answer=(("alpha", "task", "image"), [[answer for answer, _ in row] for row in answers]),
        confidence=(("alpha", "task", "image"), [[confidence for _, confidence in row] for row in answers]),
    ).assign_coords(task=["i", "j"])


def treated(network: ResNet18, treatment: str, x: Tensor, device: str = "cpu") -> torch.nn.Module:
    """A copy of the network, on the device, under one of `TREATMENTS` of BatchNorm; "re-estimated" uses the images x (samples, 3, 32, 32).

    Raises:
        ValueError: there is no such treatment.
    """
    if treatment not in TREATMENTS:
        raise ValueError(f"unknown treatment {treatment!r}: choose one of {', '.join(TREATMENTS)}")
    device = training.resolve(device)
    network = ResNet18.from_state({key: tensor.to(device, copy=True) for key, tensor in network.state_dict().items()})
    network = network.to(memory_format=training.fastest_format(network))
    if treatment == "re-estimated":
        return batchnorm.reestimated(network, x.to(device), 2 * _PART)
    return batchnorm.with_batch_statistics(network) if treatment == "batch" else network


def _flat(features):
    """Features as CTL compares them: one vector per image (LLFC's code flattens channels and pixels)."""
    return {layer: value.flatten(1).cpu() for layer, value in features.items()}


def _score(logits, y, task):
    """Loss and accuracy among the five classes of a split."""
    classes = _classes(task)
    return algorithms.evaluate(logits[:, classes], y - classes.start)


def _classes(task):
    return slice(split_cifar100.CLASSES_PER_SPLIT * task, split_cifar100.CLASSES_PER_SPLIT * (task + 1))


def _answers(logits, task):
    confidence, answer = logits[:, _classes(task)].softmax(1).max(1)
    return (answer + _classes(task).start).tolist(), confidence.tolist()


def _own_accuracy(network, test, train, treatment, task, device):
    network, device = treated(network, treatment, train[0], device), training.resolve(device)
    logits = torch.cat([network(x.to(device)).cpu() for x in test[0].split(2 * _PART)])
    return _score(logits, test[1], task)[1]


def _weights_alone(network):
    """The state dict without running statistics: they are measured, not learned."""
    return {name: parameter.detach() for name, parameter in network.named_parameters()}


# -- claims ----------------------------------------------------------------------------------------

LEDGER = {"quick": (0, 1, 2), "width 16": (0, 1, 2), "literal": (0,), "full": (0,)}  # profile: seeds that `make claims` measures


def by_depth(sweep: xarray.Dataset, treatment: str) -> dict[str, float]:
    """The numbers of one treatment, mean over pairs and the source's three α: the gap as a share of the ends' own distance and coef, by block;
    and the accuracy half-way, of the network and of the mixed outputs, mean over tasks and pairs."""
    part = at(sweep, treatment=treatment)
    inner = part.sel(alpha=list(lines.SHOWN_ALPHAS))
    share, coef, middle = (inner.gap_mean / part.own_mean).mean(["pair", "alpha"]), inner.coef_mean.mean(["pair", "alpha"]), part.sel(alpha=0.5)
    numbers = {}
    for layer, name in (("block 1", "block_1"), ("block 4", "block_4"), ("block 8", "block_8"), ("output", "output")):
        numbers |= {f"{name}_share": share.sel(layer=layer).item(), f"{name}_coef": coef.sel(layer=layer).item()}
    return numbers | {"accuracy_middle": middle.accuracy.mean().item(), "mixed_accuracy_middle": middle.mixed_accuracy.mean().item()}


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind CTL-3 and CTL-5, from one sweep; their names begin with its profile. What each means stands in claims.yaml."""
    profile = sweep.attrs["profile"]
    found, anew = by_depth(sweep, "interpolated"), by_depth(sweep, "re-estimated")
    own = at(sweep, treatment="interpolated").own_accuracy.isel(model=slice(1, None))
    gaps, lengths = {"own_accuracy_least": own.min().item(), "own_accuracy_mean": own.mean().item()}, {}
    for name, value in found.items():
        (lengths if name.endswith("coef") else gaps)[name] = value
    gaps["re-estimated block_8_share"] = anew["block_8_share"]
    lengths |= {f"re-estimated {name}": anew[name] for name in ("block_1_coef", "block_8_coef", "output_coef")}
    return {id: {f"{profile} {name}": value for name, value in numbers.items()} for id, numbers in (("CTL-3", gaps), ("CTL-5", lengths))}
