"""The first epoch and the others: six tasks, checkpoints after 1, 2, 3, 4, 5, 10 and 20 epochs, their gradients and their merges (TVG, Fig. 2 and 3).

`run` trains (through the zoo), measures, and returns one xarray Dataset.
"""
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
import torch
import xarray

import data
from lessons.linearity.algorithms import evaluate
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import MLP, Architecture, Recipe, training, weights, zoo

DIGITS, FAR, SPIRALS = "digits to 90°", "digits to 180°", "Spirals"
EPOCHS = (1, 2, 3, 4, 5, 10, 20)
SHOWN = (1, 2, 5, 10, 20)  # for the slider
FIRST = 5  # the source's Figure 3 compares so many epochs
SCALES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)  # αT: 1 is the average
GD, SGD, ADAM = "full batch", "SGD", "Adam"


@dataclass(frozen=True)
class Family:
    """Six tasks: the data set, their angles, the network, the batch size, and how the network at 0° was pretrained (learning rate, epochs, options of its data)."""
    dataset: str
    angles: tuple[float, ...]
    widths: tuple[int, ...]
    batch: int
    pretraining: tuple


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured.

    Attributes:
        images: finetuning images of each task of Rotated MNIST, a multiple of the batch size; for choosing α at most 200 others.
        test: test samples of each task.
        optimisers, families: those compared; full batches come first.
    """
    images: int
    test: int
    optimisers: tuple[str, ...]
    families: tuple[str, ...]


FAMILIES = {DIGITS: Family("rotated_mnist", (15.0, 30.0, 45.0, 60.0, 75.0, 90.0), (784, 64, 64, 10), 32, (0.1, 3, {"size": 5000})),
            FAR: Family("rotated_mnist", (30.0, 60.0, 90.0, 120.0, 150.0, 180.0), (784, 64, 64, 10), 32, (0.1, 3, {"size": 5000})),
            SPIRALS: Family("spirals", (-50.0, -30.0, -10.0, 10.0, 30.0, 50.0), (2, 32, 32, 2), 125, (0.3, 100, {}))}
LR = {GD: 0.03, SGD: 0.1, ADAM: 0.001}
PROFILES = Profiles(quick=Settings(images=480, test=120, optimisers=(GD, SGD), families=(DIGITS, FAR)), full=Settings(images=960, test=1000, optimisers=(GD, SGD, ADAM), families=(DIGITS, FAR, SPIRALS)))
SECONDS = {"quick": 8, "full": 90}  # rough, on 2 cores, nothing cached
AFTER = 5000  # the pretraining digits come before


def start(name: str, seed: int = 0) -> Recipe:
    """The network that all finetuning of a family begins from."""
    family = FAMILIES[name]
    lr, epochs, options = family.pretraining
    return Recipe.on(family.dataset, Architecture.of("MLP", widths=family.widths), options={"angle": 0.0, **options}, lr=lr, epochs=epochs, batch_size=family.batch, seed=seed)


def recipes(profile: str, seed: int = 0) -> dict[tuple[str, str, float], list[Recipe]]:
    """{(family, SGD or Adam, angle): the recipes of its checkpoints}. A recipe with fewer epochs sees the same batches in the same order, so these are points of
    one training."""
    settings, found = PROFILES[profile], {}
    for name in settings.families:
        before, family = start(name, seed), FAMILIES[name]
        for angle in family.angles:  # one task after the other, so that every training set is turned once
            options = {"angle": angle} | ({"first": first_image(family, angle, settings), "size": settings.images} if name != SPIRALS else {})
            for optimiser in settings.optimisers[1:]:  # a few full-batch steps are taken faster than looked up
                how = {"lr": LR[optimiser], "batch_size": family.batch, "optimiser": "adam" if optimiser == ADAM else "sgd"}
                found[name, optimiser, angle] = [before.finetune(options=options, epochs=epochs, **how) for epochs in EPOCHS]
    return found


def full_batch(base: weights.State, x: torch.Tensor, y: torch.Tensor) -> list[weights.State]:
    """The network after so many steps of gradient descent on all samples, for every number in `EPOCHS`; an epoch is one step."""
    network, states = training.for_training(base), []
    for epoch in range(1, EPOCHS[-1] + 1):
        network.sgd_step(x, y, LR[GD])
        if epoch in EPOCHS:
            states.append(training.as_stored(network))
    return states


def first_image(family: Family, angle: float, settings: Settings) -> int:
    """Where a task's own digits begin: no two tasks share one, and none was pretrained on."""
    return AFTER + family.angles.index(angle) * settings.images


def missing(profile: str, seed: int = 0) -> int:
    """How many of the chapter's models are not in the zoo."""
    wanted = [recipe for one in recipes(profile, seed).values() for recipe in one] + [start(name, seed) for name in PROFILES[profile].families]
    return sum(not zoo.path_of(recipe).exists() for recipe in wanted)


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what `run` will have to do and about how long that takes on two cores."""
    count = missing(profile, seed)
    return f"{count} small MLPs have to be trained: about {SECONDS[profile]} s on two cores, once." if count else "All MLPs of this chapter are in the zoo: this takes seconds."


def prepare(profile: str, seed: int = 0) -> subprocess.Popen | None:
    """Have a second process train all this while the sections before are running; see `zoo.train_meanwhile`."""
    return zoo.train_meanwhile([recipe for one in recipes(profile, seed).values() for recipe in one])


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure.

    Returns:
        A Dataset over data, optimiser, and task: 6 ("task 1" …), epochs or scale where it says so, with
        share, share_moved (…, epoch: 5): of the first five epochs' gradient norms, the gradient on all training samples where the epoch begins, and what
        its steps add up to; alike, alike_moved (…, epoch, other): the cosine between those of two epochs;
        towards (…, epochs): the cosine between τ and −∇L at the start; norm (…, epochs): ‖τ‖;
        own (…, epochs): accuracy on the own task, own_loss;
        accuracy, loss (data, optimiser, epochs, scale): of θ_base + scale/T·Σ_t τ_t, mean over the six tasks' test samples; held (…): accuracy on held-out
        training samples, to choose the scale by;
        before (data): accuracy of θ_base; angle (data, task).
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    source = data.source("rotated_mnist", angle=FAMILIES[DIGITS].angles[0])
    ingredients = {"settings": asdict(settings), "recipes": [[recipe.key for recipe in one] for one in recipes(profile, seed).values()]}
    return cached("gradients-epochs", ingredients, lambda: measure(profile, seed, device).assign_attrs(
        source=source.text.split(",")[0] + (" and Spirals (generated)" if SPIRALS in settings.families else ""), source_kind=source.kind, dataset="MNIST", profile=profile, seed=seed,
        network="MLP 784–64–64–10" + (", on Spirals 2–32–32–2" if SPIRALS in settings.families else ""),
        images=f"{settings.images} training and {settings.test} test images of each of six tasks"))


@training.one_thread()
def measure(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    settings, wanted = PROFILES[profile], recipes(profile, seed)
    zoo.get_all([recipe for one in wanted.values() for recipe in one], device)
    parts = []
    for name in settings.families:
        family, base = FAMILIES[name], zoo.get(start(name, seed), device)
        sets = {part: [samples(name, angle, settings, part) for angle in family.angles] for part in ("train", "held", "test")}
        for optimiser in settings.optimisers:
            if optimiser == GD:
                states = [full_batch(base.state_dict(), x, y) for x, y in sets["train"]]
            else:
                states = [[network.state_dict() for network in zoo.get_all(wanted[name, optimiser, angle], device)] for angle in family.angles]
            part = xarray.merge([_gradients(base.state_dict(), states, sets["train"]), _merged(base.state_dict(), states, sets)])
            parts.append(part.assign(before=_accuracy(base, sets["test"])).expand_dims(data=[name], optimiser=[optimiser]))
    angles = xarray.DataArray([FAMILIES[name].angles for name in settings.families], dims=("data", "task"), coords={"data": list(settings.families)})
    return xarray.combine_by_coords(parts, join="outer", compat="no_conflicts").sel(data=list(settings.families), optimiser=list(settings.optimisers)).assign(angle=angles)


def samples(name: str, angle: float, settings: Settings, part: str) -> tuple[torch.Tensor, torch.Tensor]:
    """x and y of a task: its "train" samples, "held" ones, which are training samples that no finetuning saw, or "test"."""
    family = FAMILIES[name]
    if name == SPIRALS:  # generated: other points are another draw
        found = data.load(family.dataset, "test" if part == "test" else "train", angle=angle, **({"seed": 1} if part == "held" else {}))
        return (found.x, found.y) if part == "train" else (found.x[:settings.test], found.y[:settings.test])
    if part == "test":
        found = data.load(family.dataset, "test", angle=angle).spread(settings.test)
        return found.x.flatten(1), found.y
    beyond = AFTER + len(family.angles) * settings.images
    first, size = (first_image(family, angle, settings), settings.images) if part == "train" else (beyond, min(settings.images, 200))
    found = data.load(family.dataset, "train", angle=angle, first=first, size=size)
    return found.x.flatten(1), found.y


def gradient(state: weights.State, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """∇L on all samples, (parameters,) in float64: what one full-batch step of size 1 takes away."""
    network = training.for_training(state)
    before = weights.flatten(network.state_dict())
    network.sgd_step(x, y, 1.0)
    return before - weights.flatten(network.state_dict())


def _gradients(base, states, sets):
    """Norms and cosines of the first epochs' gradients, task by task."""
    rows = []
    for finetuned, (x, y) in zip(states, sets):
        points = [base, *finetuned]  # after 0, 1, 2, … epochs
        flat = torch.stack([weights.flatten(state) for state in points])
        whole = torch.stack([gradient(state, x, y) for state in points[:FIRST]])
        moved = (flat[:FIRST] - flat[1:FIRST + 1]).double()
        vectors = (flat[1:] - flat[0]).double()
        rows.append([value for part in (whole, moved) for value in (part.norm(dim=1) / part.norm(dim=1).sum(), _cosines(part))]
                    + [-(vectors @ whole[0]) / vectors.norm(dim=1) / whole[0].norm(), vectors.norm(dim=1)])
    dims = {"share": ("epoch",), "alike": ("epoch", "other"), "share_moved": ("epoch",), "alike_moved": ("epoch", "other"), "towards": ("epochs",), "norm": ("epochs",)}
    numbers = np.arange(1, FIRST + 1)
    return xarray.Dataset({name: (("task", *of), torch.stack(values).numpy()) for (name, of), values in zip(dims.items(), zip(*rows))},
                          coords={"task": [f"task {i}" for i in range(1, len(states) + 1)], "epoch": numbers, "other": numbers, "epochs": list(EPOCHS)})


def _cosines(vectors):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return unit @ unit.T


def _merged(base, states, sets):
    """Accuracies of the finetuned networks on their own tasks, and of their merges on all."""
    own = [[evaluate(MLP.from_state(state)(x), y) for state in finetuned] for finetuned, (x, y) in zip(states, sets["test"])]
    start, merged = weights.flatten(base), []
    for e in range(len(EPOCHS)):
        direction = torch.stack([weights.flatten(finetuned[e]) for finetuned in states]).mean(0) - start
        points = [start + scale * direction for scale in SCALES]
        merged.append([(*score, held) for score, (_, held) in zip(evaluate_all(points, base, sets["test"]), evaluate_all(points, base, sets["held"]))])
    values, own = np.array(merged), np.array(own)
    names = {"loss": 0, "accuracy": 1, "held": 2}
    return xarray.Dataset({name: (("epochs", "scale"), values[..., i]) for name, i in names.items()} |
                          {"own_loss": (("task", "epochs"), own[..., 0]), "own": (("task", "epochs"), own[..., 1])},
                          coords={"epochs": list(EPOCHS), "scale": list(SCALES), "task": [f"task {i}" for i in range(1, len(states) + 1)]})


def evaluate_all(points: Iterable[torch.Tensor], like: weights.State, sets) -> list[tuple[float, float]]:
    """Loss (nats) and accuracy over the samples of all tasks, of every vector of weights; one network takes them in turn, for making one takes longer
    than asking it."""
    x, y = torch.cat([x for x, _ in sets]), torch.cat([y for _, y in sets])
    network = MLP.from_state({key: tensor.clone() for key, tensor in like.items()})

    def scores(point):
        network.load_state_dict(weights.unflatten(point.to(x.dtype), like))
        return evaluate(network(x), y)

    return [scores(point) for point in points]


def _accuracy(network, sets):
    state = network.state_dict()
    return evaluate_all([weights.flatten(state)], state, sets)[0][1]


# -- claims --------------------------------------------------------------------------------------------------------------------

def chosen(sweep: xarray.Dataset) -> xarray.Dataset:
    """`accuracy` and `loss` of the merges, the scale chosen by the held-out samples, and that `scale`; (data, optimiser, epochs)."""
    best = sweep.held.idxmax("scale")
    return sweep[["accuracy", "loss"]].sel(scale=best).drop_vars("scale").assign(scale=best)


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind TVG-6, 7, 8 and 11, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"TVG-6": claim_6(sweep), "TVG-7": claim_7(sweep), "TVG-8": claim_8(sweep), "TVG-11": claim_11(sweep)}


def _keys(sweep):
    """(short name, optimiser) of those that were trained."""
    return [(key, name) for key, name in (("gd", GD), ("sgd", SGD), ("adam", ADAM)) if name in sweep.optimiser.values]


def _families(sweep):
    """(short name, family) of those that were trained."""
    return [(short, name) for short, name in (("digits", DIGITS), ("far", FAR), ("spirals", SPIRALS)) if name in sweep.data.values]


def claim_6(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-6: the first epoch's share of the gradient norm, mean over data and tasks, and in how many of the tasks it is the largest, by what its steps add up to and by the
    gradient where it begins."""
    found = {}
    for key, name in _keys(sweep):
        share, at_start = sweep.share_moved.sel(optimiser=name), sweep.share.sel(optimiser=name)
        found |= {f"{key}_first_share": share.sel(epoch=1).mean().item(), f"{key}_first_largest": (share.argmax("epoch") == 0).mean().item(),
                  f"{key}_first_largest_at_start": (at_start.argmax("epoch") == 0).mean().item()}
    return found


def claim_7(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-7: the cosine of the second to fifth epoch's gradient with the first's, mean and least over data and tasks; and of τ with the first gradient."""
    found = {}
    for key, name in _keys(sweep):
        here = sweep.sel(optimiser=name)
        later = here.alike_moved.sel(epoch=1, other=slice(2, None))
        found |= {f"{key}_cosine_mean": later.mean().item(), f"{key}_cosine_least": later.min().item(), f"{key}_towards_1": here.towards.sel(epochs=1).mean().item(),
                  f"{key}_towards_20": here.towards.sel(epochs=20).mean().item()}
    return found


def claim_8(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-8: accuracy of the merge after 1 and after 20 epochs, what is gained in between and from 5 on, and by the best of all; scale chosen on held-out samples; SGD and, where trained, Adam."""
    best, found = chosen(sweep).accuracy, {}
    for key, name in _keys(sweep)[1:]:
        for short, data in _families(sweep):
            here = best.sel(optimiser=name, data=data)
            one, five, twenty = (here.sel(epochs=number).item() for number in (1, 5, 20))
            values = {"1": one, "20": twenty, "20_over_1": twenty - one, "20_over_5": twenty - five, "best_over_20": here.max().item() - twenty}
            found |= {f"{short}_{key}_{number}": value for number, value in values.items()}
    return found


def claim_11(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-11: the correlation over epochs between own and merged accuracy, and how much each of the two gains from the fifth epoch to the twentieth."""
    best, own, found = chosen(sweep).accuracy, sweep.own.mean("task"), {}
    for key, name in _keys(sweep)[1:]:
        for short, data in _families(sweep):
            a, b = own.sel(optimiser=name, data=data), best.sel(optimiser=name, data=data)
            found |= {f"{short}_{key}_correlation": float(np.corrcoef(a, b)[0, 1]), f"{short}_{key}_own_gain": (a.sel(epochs=20) - a.sel(epochs=5)).item(),
                      f"{short}_{key}_merged_gain": (b.sel(epochs=20) - b.sel(epochs=5)).item()}
    return found
