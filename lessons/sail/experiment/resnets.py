"""ResNet-18s on photographs: parents of one split of CIFAR-100 each, mixed and trained on; one made wider, and a wide
one narrower (SAIL's supervised ResNets and its growth from 16 to 32 channels, in small)."""
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

import data
from lessons import cast
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.pretraining.algorithms import matching
from lessons.sail.algorithms import mixing
from toy_models import Recipe, ResNet18, batchnorm, growth, race, training, zoo
from toy_models.weights import State

SMALL, LARGE = cast.WIDTH, 2 * cast.WIDTH
KNOWN, NEW = (1, 2), (3, 4)  # splits: of the parents, one each, and of a task that neither knows
SIZE = 1280  # images of every parent
BATCH, LR, RATES = 16, 0.025, (0.0125, 0.025, 0.05)
STEPS, SIZED_STEPS = (0, 50, 100, 200), (0, 50, 100)
TRAIN, HELD, STATISTICS = 4000, 500, 250  # images of the target
AT_ONCE = 250  # images
SECOND = 1000
ONE, OWN, MATCHED, OTHER = "one start", "own starts", "own starts, matched", "another task"
GROW, SHRINK = f"grow {SMALL} → {LARGE}", f"shrink {LARGE} → {SMALL}"
PARENT, HALF, SCRATCH = "one parent", "half-way", "scratch"
SOURCE, COPIES, BETWEEN, PROJECTED, STRONGEST = "as it is", "Net2Wider", "interpolation", "projection", "strongest"
SET_UPS = {ONE: (PARENT, HALF), OWN: (PARENT, HALF), MATCHED: (HALF,), OTHER: (SCRATCH, PARENT, HALF),
           GROW: (SOURCE, COPIES, BETWEEN, PROJECTED, SCRATCH), SHRINK: (SOURCE, STRONGEST, BETWEEN)}
AT_FIRST_ALONE = ((GROW, PROJECTED), (SHRINK, SOURCE))  # these are looked at and not trained
STARTS = (SCRATCH, *(f"{set_up}: {start}" for set_up, starts in SET_UPS.items() for start in starts))


@dataclass(frozen=True)
class Settings:
    """After how many steps the networks are looked at."""
    steps: tuple[int, ...] = STEPS  # mixtures
    sized_steps: tuple[int, ...] = SIZED_STEPS  # networks of another width


PROFILES = Profiles(quick=None, full=Settings())


def recipes_of(set_up: str, seed: int = 0) -> list[Recipe]:
    """What is mixed, or brought to another width; from one start it is finetuned from a network of another split."""
    if set_up in (ONE, OTHER):
        pretrained = _recipe((cast.PRETRAINING,), 4, seed)
        return [pretrained.finetune(options=cast.options_of((split,), SIZE), epochs=3) for split in KNOWN]
    if set_up in (OWN, MATCHED):
        return [_recipe((split,), 5, seed + SECOND * number) for number, split in enumerate(KNOWN, 1)]
    return [_recipe(KNOWN, 4, seed) if set_up == GROW else _recipe(KNOWN, 3, seed, LARGE)]


def _recipe(splits, epochs, seed, width=SMALL):
    """In small batches, which give more steps for the time."""
    return replace(cast.pretrained_resnet(splits, SIZE, epochs, seed, width), lr=LR, batch_size=BATCH)


def all_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network that the zoo keeps."""
    return [recipe for set_up in (ONE, OWN, GROW, SHRINK) for recipe in recipes_of(set_up, seed)]


@dataclass(frozen=True)
class Images:
    """The images of some splits: to train on, to choose by, to estimate statistics on, and to test."""
    train: data.Dataset
    test: data.Dataset
    classes: Tensor

    @classmethod
    def of(cls, splits: Sequence[int]) -> "Images":
        """Ten classes; the training part in an order of its own."""
        train, test = (data.load(cast.SPLIT_CIFAR, part, splits=splits) for part in ("train", "test"))
        order = torch.randperm(len(train.y), generator=torch.Generator().manual_seed(0))
        return cls(replace(train, x=train.x[order], y=train.y[order]), test, test.y.unique())

    @property
    def held(self) -> tuple[Tensor, Tensor]:
        """Training images that nobody trains on."""
        return self.train.x[TRAIN:TRAIN + HELD], self.train.y[TRAIN:TRAIN + HELD]


def fresh(width: int, seed: int) -> State:
    """A ResNet-18 that learned nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 5 * SECOND)
        return ResNet18(width, cast.CLASSES).state_dict()


def states_of(set_up: str, images: Images, seed: int = 0, device: str = "auto") -> list[State]:
    """The parents, or the source; matched ones by what their channels say of the target's images."""
    networks = zoo.get_all(recipes_of(set_up, seed), device)
    states = [network.state_dict() for network in networks]
    if set_up == MATCHED:
        plan = matching.resnet18_plan()
        permutations = matching.activation_matching(*networks, plan, images.train.x[:STATISTICS], 125)
        states[1] = matching.permute(states[1], plan, permutations)
    return states


def starts_of(set_up: str, images: Images, seed: int = 0, device: str = "auto") -> dict[str, State]:
    """{name: a network to begin from}. One parent is that with the lower loss on held-out images."""
    states = states_of(set_up, images, seed, device)
    if set_up in (GROW, SHRINK):
        return {SOURCE: states[0]} | resized(states[0], set_up, seed)
    starts = {HALF: mixing.proximal(states, [0.5, 0.5])}
    if PARENT in SET_UPS[set_up]:
        losses = [_looked_at(ResNet18.from_state(state), *images.held, images)[0].mean() for state in states]
        starts[PARENT] = states[int(np.argmin(losses))]
    return starts | ({SCRATCH: fresh(SMALL, seed)} if set_up == OTHER else {})


def resized(state: State, direction: str, seed: int = 0) -> dict[str, State]:
    """{how: the source at the other width}; growing, with random weights at that width beside it."""
    new = growth.times(state, 2 if direction == GROW else 0.5)
    states = {BETWEEN: growth.widen(state, new, "interpolation")}
    if direction == SHRINK:
        return states | {STRONGEST: growth.widen(state, new, "selection")}
    states |= {COPIES: growth.widen(state, new, "Net2Wider", shares="drawn", seed=seed),
               PROJECTED: growth.widen(state, new, "projection", tied=True, seed=seed), SCRATCH: fresh(LARGE, seed)}
    return states


# -- measuring -------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Mix, grow, shrink, and train on.

    BatchNorm's statistics are estimated anew, on 250 training images of the target, at every look and for every start
    alike. The learning rate is 0.025 for all, but for scratch, which has the best of three by its held-out loss.

    Returns:
        A Dataset with loss (start, steps, image), in nats among the target's ten classes, and right, 0 or 1, on 1,000
        test images, NaN where there is none; inherited (start), the mean loss at once with the statistics as they were
        mixed or mapped; held (rate), scratch's loss at the end.
    """
    zoo.get_all(all_recipes(settings, seed), device)
    known = Images.of(KNOWN)
    by_rate = [_trained(fresh(SMALL, seed), known, settings.steps, seed, rate) for rate in RATES]
    held = [run["held"] for run in by_rate]
    rate = RATES[int(np.argmin(held))]
    looks = {SCRATCH: by_rate[int(np.argmin(held))]}
    for set_up, names in SET_UPS.items():
        images = Images.of(NEW) if set_up == OTHER else known
        steps = settings.sized_steps if set_up in (GROW, SHRINK) else settings.steps
        starts = starts_of(set_up, images, seed, device)
        for name in names:
            last = steps[:1] if (set_up, name) in AT_FIRST_ALONE else steps
            lr = rate if name == SCRATCH else LR
            looks[f"{set_up}: {name}"] = _trained(starts[name], images, last, seed, lr)
    table = {name: _padded([looks[start][name] for start in STARTS], len(settings.steps)) for name in ("loss", "right")}
    values = {name: (("start", "steps", "image"), array) for name, array in table.items()}
    values |= {"inherited": ("start", [looks[start]["inherited"] for start in STARTS]), "held": ("rate", held)}
    coords = {"start": list(STARTS), "steps": list(settings.steps), "rate": list(RATES)}
    return xarray.Dataset(values, coords, {"images": f"{TRAIN:,} training and 1,000 test images of ten classes"})


def _padded(parts, steps):
    """(starts, steps, images), NaN after a start's last look."""
    padded = np.full((len(parts), steps, parts[0].shape[1]), np.nan, np.float32)
    for i, part in enumerate(parts):
        padded[i, :len(part)] = part
    return padded


def _trained(state: State, images: Images, steps: Sequence[int], seed: int, lr: float) -> dict[str, object]:
    """{"loss", "right": (looks, test images), "held": loss at the end, "inherited": mean loss at once}."""
    network = ResNet18.from_state({key: tensor.clone() for key, tensor in state.items()}).requires_grad_(True)
    recipe = replace(recipes_of(GROW, seed)[0], lr=lr)
    step = training.stepper(network, recipe, images.classes)
    order = torch.Generator().manual_seed(seed)
    test = images.test.x, images.test.y
    inherited = _scores(network, *test, images.classes)[0].mean()

    def once():
        batch = torch.randint(TRAIN, (BATCH,), generator=order)
        network.train()
        step(images.train.x[batch], images.train.y[batch])

    looks = race.looks(once, steps, lambda: dict(zip(("loss", "right"), _looked_at(network, *test, images))))
    return looks | {"inherited": inherited, "held": _looked_at(network, *images.held, images)[0].mean()}


def _looked_at(network, x, y, images):
    """Loss and right, (images,) each, with statistics estimated anew on the target's training images."""
    ready = batchnorm.reestimated(network, images.train.x[:STATISTICS], 125)
    return _scores(ready, x, y, images.classes)


@torch.no_grad()
def _scores(network, x, y, classes):
    """Loss (nats) among some classes, and whether the right one is said, of every image."""
    network.eval()
    fast = training.trains_in_bfloat16("cpu")
    logits = []
    for part in x.split(AT_ONCE):
        part = part.contiguous(memory_format=training.fastest_format(network))
        with torch.autocast("cpu", torch.bfloat16, enabled=fast, cache_enabled=False):
            logits.append(network(part).float()[:, classes])
    logits = torch.cat(logits)
    wanted = torch.searchsorted(classes, y)
    return F.cross_entropy(logits, wanted, reduction="none").numpy(), (logits.argmax(1) == wanted).float().numpy()


# -- what it says ----------------------------------------------------------------------------------

# set-up: what half-way is compared with, one parent alone and a network that learned nothing
COMPARED = {ONE: (f"{ONE}: {PARENT}", SCRATCH), OWN: (f"{OWN}: {PARENT}", SCRATCH),
            MATCHED: (f"{OWN}: {PARENT}", SCRATCH), OTHER: (f"{OTHER}: {PARENT}", f"{OTHER}: {SCRATCH}")}


def apart(sweep: xarray.Dataset, start: str, other: str, steps: int) -> tuple[float, float]:
    """By how many nats the first start's loss is above the other's after so many steps, and the standard error of that,
    image by image."""
    loss = sweep.loss.sel(steps=steps).astype(float)
    above = (loss.sel(start=start) - loss.sel(start=other)).values
    return float(above.mean()), float(above.std() / np.sqrt(len(above)))


def claims(sweep: xarray.Dataset | None) -> dict[str, dict[str, float]]:
    """What ResNets have to say to SAIL-8, SAIL-11 and SAIL-12: {claim: {number: value}}; empty where it was not
    measured."""
    if sweep is None:
        return {}
    return {"SAIL-8": claim_8(sweep), "SAIL-11": claim_11(sweep), "SAIL-12": claim_12(sweep)}


def claim_8(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-8 on ResNets: loss over that of the source as it is, at once and at the end, of the wider ones; and of the
    narrower ones at once over that of the wide source, at the end over scratch's."""
    loss = sweep.loss.mean("image").astype(float)
    last = int(loss.sel(start=f"{GROW}: {SOURCE}").dropna("steps").steps[-1])
    source, wide = (loss.sel(start=f"{direction}: {SOURCE}") for direction in (GROW, SHRINK))
    numbers = {}
    for name, how in (("copies", COPIES), ("interpolation", BETWEEN), ("projection", PROJECTED), ("scratch", SCRATCH)):
        over = loss.sel(start=f"{GROW}: {how}") / source
        numbers |= {f"resnet_{name}_0": float(over.sel(steps=0)), f"resnet_{name}_end": float(over.sel(steps=last))}
    for name, how in (("strongest", STRONGEST), ("interpolation", BETWEEN)):
        narrow = loss.sel(start=f"{SHRINK}: {how}")
        end = narrow.sel(steps=last) / loss.sel(start=SCRATCH, steps=last)
        numbers |= {f"resnet_shrink_{name}_0": float(narrow[0] / wide[0]), f"resnet_shrink_{name}_end": float(end)}
    return {name: value for name, value in numbers.items() if np.isfinite(value)}


def claim_11(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-11 on ResNets: the loss half-way over that of one parent alone, by what the parents share."""
    loss = sweep.loss.mean("image").astype(float)
    numbers = {}
    for name, set_up in (("one", ONE), ("own", OWN), ("matched", MATCHED), ("other", OTHER)):
        over = loss.sel(start=f"{set_up}: {HALF}") / loss.sel(start=COMPARED[set_up][0])
        numbers |= {f"resnet_{name}_parent_{int(steps)}": float(over.sel(steps=steps)) for steps in over.steps.values}
    return numbers


def claim_12(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-12 on ResNets: the loss of half-way, and of one parent alone, over that of scratch."""
    loss = sweep.loss.mean("image").astype(float)
    numbers = {}
    for name, set_up in (("one", ONE), ("own", OWN), ("matched", MATCHED), ("other", OTHER)):
        parent, scratch = COMPARED[set_up]
        for who, start in (("half", f"{set_up}: {HALF}"), ("parent", parent)):
            over = loss.sel(start=start) / loss.sel(start=scratch)
            numbers |= {f"resnet_{name}_{who}_{int(steps)}": float(over.sel(steps=steps))
                        for steps in over.steps.values}
    return numbers


def source() -> data.types.Source:
    """Where the photographs come from."""
    return data.source(cast.SPLIT_CIFAR, splits=(cast.PRETRAINING, *KNOWN, *NEW))


EXPERIMENT = Experiment("sail-resnets", measure, PROFILES, source, "CIFAR-100", recipes=all_recipes,
                        network="ResNet-18 of width 16 and 32", one_thread=False, claims=claims,
                        ledger={"full": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
