"""The first epoch and the others: six tasks, checkpoints after 1, 2, 3, 4, 5, 10 and 20 epochs, their gradients and
their merges (TVG, Fig. 2 and 3). What is trained is kept in the zoo."""
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
import xarray

import data
from lessons.gradients.experiment import common
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity.algorithms import evaluate
from lessons.merging import search
from toy_models import MLP, Architecture, Recipe, training, weights, zoo

DIGITS = "digits to 90°"
FAR = "digits to 180°"
SPIRALS = "Spirals"
EPOCHS = (1, 2, 3, 4, 5, 10, 20)
SHOWN = (1, 2, 5, 10, 20)  # for the slider
FIRST = 5  # the source's Figure 3 compares so many epochs
SCALES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)  # αT: 1 is the average
GD = "full batch"
SGD = "SGD"
ADAM = "Adam"
LR = {GD: 0.03, SGD: 0.1, ADAM: 0.001}
SECONDS = {"quick": 8, "full": 90}  # rough, on 2 cores, nothing cached
AFTER = 5000  # the pretraining digits come before
MOST_HELD = 200


# -- how much --------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Amounts:
    """How many samples a task has."""
    images: int  # for finetuning on Rotated MNIST, a multiple of the batch size; for choosing α at most 200 others
    test: int  # of its test part


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    amounts: Amounts  # of samples
    optimisers: tuple[str, ...]  # those compared; full batches come first
    families: tuple[str, ...]  # those compared


AMOUNTS = Profiles(quick=Amounts(images=480, test=500), full=Amounts(images=960, test=1000))
PROFILES = Profiles(quick=Settings(AMOUNTS["quick"], optimisers=(GD, SGD), families=(DIGITS, FAR)),
                    full=Settings(AMOUNTS["full"], optimisers=(GD, SGD, ADAM), families=(DIGITS, FAR, SPIRALS)))


# -- tasks -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Family:
    """Six tasks.

    Attributes:
        dataset, angles: their data.
        widths: of the network.
        batch: size of one.
        pretraining: of the network at 0°: learning rate, epochs, options of its data.
    """
    dataset: str
    angles: tuple[float, ...]
    widths: tuple[int, ...]
    batch: int
    pretraining: tuple


_ON_DIGITS = {"dataset": "rotated_mnist", "widths": (784, 64, 64, 10), "batch": 32,
              "pretraining": (0.1, 3, {"size": 5000})}
FAMILIES = {DIGITS: Family(angles=(15.0, 30.0, 45.0, 60.0, 75.0, 90.0), **_ON_DIGITS),
            FAR: Family(angles=(30.0, 60.0, 90.0, 120.0, 150.0, 180.0), **_ON_DIGITS),
            SPIRALS: Family("spirals", (-50.0, -30.0, -10.0, 10.0, 30.0, 50.0), (2, 32, 32, 2), 125, (0.3, 100, {}))}


def first_image(family: Family, angle: float, images: int) -> int:
    """Where a task's own digits begin, `images` a task: no two tasks share one, and none was pretrained on."""
    return AFTER + family.angles.index(angle) * images


def samples(name: str, angle: float, amounts: Amounts, part: str) -> tuple[torch.Tensor, torch.Tensor]:
    """x and y of a task: its "train" samples, "held" ones, which are training samples that no finetuning saw, or
    "test"."""
    family = FAMILIES[name]
    images = amounts.images
    if name == SPIRALS:
        return _of_spirals(angle, amounts, part)
    if part == "test":
        dataset = data.load(family.dataset, "test", angle=angle).spread(amounts.test)
        return dataset.x.flatten(1), dataset.y
    if part == "train":
        options = {"first": first_image(family, angle, images), "size": images}
    else:
        options = {"first": AFTER + len(family.angles) * images, "size": min(images, MOST_HELD)}
    dataset = data.load(family.dataset, "train", angle=angle, **options)
    return dataset.x.flatten(1), dataset.y


def _of_spirals(angle, amounts, part):
    """Spirals are generated: other points are another draw."""
    if part == "train":
        dataset = data.load("spirals", "train", angle=angle)
        return dataset.x, dataset.y
    options = {"seed": 1} if part == "held" else {}
    dataset = data.load("spirals", "test" if part == "test" else "train", angle=angle, **options)
    return dataset.x[:amounts.test], dataset.y[:amounts.test]


def all_samples(name: str, amounts: Amounts) -> dict[str, list[tuple[torch.Tensor, torch.Tensor]]]:
    """{"train", "held", "test": [`samples` of every task]}."""
    parts = ("train", "held", "test")
    return {part: [samples(name, angle, amounts, part) for angle in FAMILIES[name].angles] for part in parts}


# -- models ----------------------------------------------------------------------------------------

def start(name: str, seed: int = 0) -> Recipe:
    """The network that all finetuning of a family begins from."""
    family = FAMILIES[name]
    lr, epochs, options = family.pretraining
    return Recipe.on(family.dataset, Architecture.of("MLP", widths=family.widths), options={"angle": 0.0, **options},
                     lr=lr, epochs=epochs, batch_size=family.batch, seed=seed)


def recipes(settings: Settings, seed: int = 0) -> dict[tuple[str, str, float], list[Recipe]]:
    """{(family, SGD or Adam, angle): the recipes of its checkpoints}. A recipe with fewer epochs sees the same batches
    in the same order, so these are points of one training."""
    checkpoints = {}
    for name in settings.families:
        before = start(name, seed)
        family = FAMILIES[name]
        for angle in family.angles:  # one task after the other, so that every training set is turned once
            options = {"angle": angle}
            if name != SPIRALS:
                images = settings.amounts.images
                options |= {"first": first_image(family, angle, images), "size": images}
            for optimiser in settings.optimisers[1:]:  # a few full-batch steps are taken faster than looked up
                rule = "adam" if optimiser == ADAM else "sgd"
                how = {"lr": LR[optimiser], "batch_size": family.batch, "optimiser": rule}
                checkpoints[name, optimiser, angle] = [before.finetune(options=options, epochs=epochs, **how)
                                                       for epochs in EPOCHS]
    return checkpoints


def all_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network of the chapter that the zoo keeps."""
    checkpoints = [recipe for of_task in recipes(settings, seed).values() for recipe in of_task]
    return checkpoints + [start(name, seed) for name in settings.families]


def full_batch(base: weights.State, x: torch.Tensor, y: torch.Tensor) -> list[weights.State]:
    """The network after so many steps of gradient descent on all samples, for every number in `EPOCHS`; an epoch is
    one step."""
    network = training.for_training(base)
    states = []
    for epoch in range(1, EPOCHS[-1] + 1):
        network.sgd_step(x, y, LR[GD])
        if epoch in EPOCHS:
            states.append(training.as_stored(network))
    return states


# -- measuring -------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure.

    Returns:
        A Dataset over data, optimiser, and task: 6 ("task 1" …), epochs or scale where it says so, with
        share, share_moved (…, epoch: 5): of the first five epochs' gradient norms, the gradient on all training samples
        where the epoch begins, and what its steps add up to; alike, alike_moved (…, epoch, other): the cosine between
        those of two epochs;
        towards (…, epochs): the cosine between τ and −∇L at the start; norm (…, epochs): ‖τ‖;
        own (…, epochs): accuracy on the own task, own_loss;
        accuracy, loss (data, optimiser, epochs, scale): of θ_base + scale/T·Σ_t τ_t, mean over the six tasks' test
        samples; held (…): accuracy on held-out training samples, to choose the scale by;
        before (data): accuracy of θ_base; angle (data, task).
    """
    zoo.get_all(all_recipes(settings, seed), device)
    parts, held = [], []
    for name in settings.families:
        base = zoo.get(start(name, seed), device).state_dict()
        sets = all_samples(name, settings.amounts)
        for optimiser in settings.optimisers:
            states = _checkpoints(settings, seed, device, name, optimiser, base, sets["train"])
            part = _gradients(base, states, sets["train"]).merge(_merged(base, states, sets))
            before = evaluate_all([weights.flatten(base)], base, sets["test"])[0][1]
            held.append(sum(len(y) for _, y in sets["held"]))
            parts.append(part.assign(before=before).expand_dims(data=[name], optimiser=[optimiser]))
    families = list(settings.families)
    sweep = xarray.combine_by_coords(parts, join="outer", compat="no_conflicts")
    sweep = sweep.sel(data=families, optimiser=list(settings.optimisers))
    angles = xarray.DataArray([FAMILIES[name].angles for name in families], dims=("data", "task"),
                              coords={"data": families})
    spirals = SPIRALS in settings.families
    about = {"source": common.digits_source(" and Spirals (generated)" if spirals else "").text,
             "network": "MLP 784–64–64–10" + (", on Spirals 2–32–32–2" if spirals else ""),
             "images": images_said(settings.amounts), **search.resting_on(*held)}  # it differs from profile to profile
    return sweep.assign(angle=angles).assign_attrs(about)


def images_said(amounts: Amounts) -> str:
    """For captions: how many samples there were."""
    return f"{amounts.images} training and {amounts.test} test images of each of six tasks"


def _checkpoints(settings, seed, device, name, optimiser, base, train):
    """[[state dict after so many epochs] of every task]."""
    if optimiser == GD:
        return [full_batch(base, x, y) for x, y in train]
    wanted = recipes(settings, seed)
    states = []
    for angle in FAMILIES[name].angles:
        networks = zoo.get_all(wanted[name, optimiser, angle], device)
        states.append([network.state_dict() for network in networks])
    return states


def gradient(state: weights.State, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """∇L on all samples, (parameters,) in float64: what one full-batch step of size 1 takes away."""
    network = training.for_training(state)
    before = weights.flatten(network.state_dict())
    network.sgd_step(x, y, 1.0)
    return before - weights.flatten(network.state_dict())


def _gradients(base, states, sets):
    """Norms and cosines of the first epochs' gradients, task by task."""
    tasks = [_of_task(base, finetuned, x, y) for finetuned, (x, y) in zip(states, sets)]
    dims = {"share": ("epoch",), "alike": ("epoch", "other"),
            "share_moved": ("epoch",), "alike_moved": ("epoch", "other"),
            "towards": ("epochs",), "norm": ("epochs",)}
    values = {}
    for name, others in dims.items():
        values[name] = (("task", *others), torch.stack([task[name] for task in tasks]).numpy())
    numbers = np.arange(1, FIRST + 1)
    coords = {"task": _names(states), "epoch": numbers, "other": numbers, "epochs": list(EPOCHS)}
    return xarray.Dataset(values, coords)


def _of_task(base, finetuned, x, y):
    """`_gradients` of one task, {name: tensor}."""
    points = [base, *finetuned]  # after 0, 1, 2, … epochs
    flat = torch.stack([weights.flatten(state) for state in points])
    gradients = torch.stack([gradient(state, x, y) for state in points[:FIRST]])
    moved = (flat[:FIRST] - flat[1:FIRST + 1]).double()
    vectors = (flat[1:] - flat[0]).double()
    towards = -(vectors @ gradients[0]) / vectors.norm(dim=1) / gradients[0].norm()
    return {"share": _shares(gradients), "alike": _cosines(gradients),
            "share_moved": _shares(moved), "alike_moved": _cosines(moved),
            "towards": towards, "norm": vectors.norm(dim=1)}


def _names(states):
    return [f"task {i}" for i in range(1, len(states) + 1)]


def _shares(vectors):
    lengths = vectors.norm(dim=1)
    return lengths / lengths.sum()


def _cosines(vectors):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return unit @ unit.T


def _merged(base, states, sets):
    """Accuracies of the finetuned networks on their own tasks, and of their merges on all."""
    own = np.array([[evaluate(MLP.from_state(state)(x), y) for state in finetuned]
                    for finetuned, (x, y) in zip(states, sets["test"])])
    before = weights.flatten(base)
    test = []
    held = []
    for together in zip(*states):
        direction = torch.stack([weights.flatten(state) for state in together]).mean(0) - before
        points = [before + scale * direction for scale in SCALES]
        test.append(evaluate_all(points, base, sets["test"]))
        held.append(evaluate_all(points, base, sets["held"]))
    test = np.array(test)
    held = np.array(held)
    values = {"loss": (("epochs", "scale"), test[..., 0]),
              "accuracy": (("epochs", "scale"), test[..., 1]),
              "held": (("epochs", "scale"), held[..., 1]),
              "own_loss": (("task", "epochs"), own[..., 0]),
              "own": (("task", "epochs"), own[..., 1])}
    return xarray.Dataset(values, coords={"epochs": list(EPOCHS), "scale": list(SCALES), "task": _names(states)})


def evaluate_all(points: Iterable[torch.Tensor], like: weights.State, sets) -> list[tuple[float, float]]:
    """Loss (nats) and accuracy over the samples of all tasks, of every vector of weights; one network takes them in
    turn, because making a network takes longer than evaluating it."""
    x = torch.cat([x for x, _ in sets])
    y = torch.cat([y for _, y in sets])
    network = MLP.from_state({key: tensor.clone() for key, tensor in like.items()})

    def scores(point):
        network.load_state_dict(weights.unflatten(point.to(x.dtype), like))
        return evaluate(network(x), y)

    return [scores(point) for point in points]


# -- claims ----------------------------------------------------------------------------------------

def chosen(sweep: xarray.Dataset) -> xarray.Dataset:
    """`accuracy` and `loss` of the merges, the scale chosen by the held-out samples, and that `scale`; (data,
    optimiser, epochs)."""
    return sweep[["accuracy", "loss"]].sel(search.best(sweep.held, "scale")).reset_coords("scale")


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind TVG-6, 7, 8 and 11: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"TVG-6": claim_6(sweep), "TVG-7": claim_7(sweep), "TVG-8": claim_8(sweep), "TVG-11": claim_11(sweep)}


_OPTIMISERS = {"gd": GD, "sgd": SGD, "adam": ADAM}
_DATA = {"digits": DIGITS, "far": FAR, "spirals": SPIRALS}


def _optimisers(sweep):
    """(short name, the sweep's part) of those that were trained."""
    return [(key, sweep.sel(optimiser=name)) for key, name in _OPTIMISERS.items() if name in sweep.optimiser.values]


def _pairs(sweep):
    """("digits_sgd", selection) of all data and all optimisers but full batches that were trained."""
    pairs = []
    for key, optimiser in list(_OPTIMISERS.items())[1:]:
        for short, name in _DATA.items():
            if optimiser in sweep.optimiser.values and name in sweep.data.values:
                pairs.append((f"{short}_{key}", {"optimiser": optimiser, "data": name}))
    return pairs


def claim_6(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-6: the first epoch's share of the gradient norm, mean over data and tasks, and in how many of the tasks it is
    the largest, by what its steps add up to and by the gradient where it begins."""
    numbers = {}
    for key, part in _optimisers(sweep):
        first_largest = part.share_moved.argmax("epoch") == 0
        largest_at_start = part.share.argmax("epoch") == 0
        numbers |= {f"{key}_first_share": part.share_moved.sel(epoch=1).mean().item(),
                    f"{key}_first_largest": first_largest.mean().item(),
                    f"{key}_first_largest_at_start": largest_at_start.mean().item()}
    return numbers


def claim_7(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-7: the cosine of the second to fifth epoch's gradient with the first's, mean and least over data and tasks,
    by what an epoch's steps add up to and by the gradient where it begins; and of τ with the first gradient."""
    numbers = {}
    for key, part in _optimisers(sweep):
        later = part.alike_moved.sel(epoch=1, other=slice(2, None))
        at_start = part.alike.sel(epoch=1, other=slice(2, None))
        numbers |= {f"{key}_cosine_mean": later.mean().item(),
                    f"{key}_cosine_least": later.min().item(),
                    f"{key}_cosine_mean_at_start": at_start.mean().item(),
                    f"{key}_towards_1": part.towards.sel(epochs=1).mean().item(),
                    f"{key}_towards_20": part.towards.sel(epochs=20).mean().item()}
    return numbers


def claim_8(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-8: accuracy of the merge after 1 and after 20 epochs, what is gained in between, up to 5 and from 5 on, and
    which share of the whole gain the first epoch brings; scale chosen on held-out samples; SGD and, where trained,
    Adam."""
    best = chosen(sweep).accuracy
    numbers = {}
    for pair, where in _pairs(sweep):
        accuracies = best.sel(where)
        before = sweep.before.sel(where).item()
        first, five, twenty = (accuracies.sel(epochs=number).item() for number in (1, 5, 20))
        numbers |= {f"{pair}_1": first,
                    f"{pair}_20": twenty,
                    f"{pair}_20_over_1": twenty - first,
                    f"{pair}_5_over_1": five - first,
                    f"{pair}_20_over_5": twenty - five,
                    f"{pair}_first_share": (first - before) / (twenty - before)}
    return numbers


def claim_11(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-11, all data and optimisers on one window, epoch 1 to 20: the correlation over the epochs between own and
    merged accuracy, how much the networks gain by themselves, and which share of that the merge keeps; and both gains
    from the fifth epoch on."""
    best = chosen(sweep).accuracy
    own = sweep.own.mean("task")
    numbers = {}
    for pair, where in _pairs(sweep):
        alone = own.sel(where)
        merged = best.sel(where)
        numbers |= {f"{pair}_correlation": float(np.corrcoef(alone, merged)[0, 1]),
                    f"{pair}_own_gain": _gain(alone, 1),
                    f"{pair}_kept": _gain(merged, 1) / _gain(alone, 1),
                    f"{pair}_own_gain_from_5": _gain(alone, 5),
                    f"{pair}_merged_gain_from_5": _gain(merged, 5)}
    return numbers


def _gain(accuracy, first):
    """From the epoch `first` to the last."""
    return (accuracy.sel(epochs=EPOCHS[-1]) - accuracy.sel(epochs=first)).item()


EXPERIMENT = Experiment("gradients-epochs", measure, PROFILES, common.digits_source, "MNIST", recipes=all_recipes,
                        claims=claims)
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
