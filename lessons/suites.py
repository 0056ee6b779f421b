"""Suites of tasks, a network finetuned on each of them, and the accuracy of anything merged from these.

Hyper-parameters are chosen on "held-out" images, the even-numbered ones of the test part, and figures are reported on
"test", the odd-numbered ones.
"""
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial, wraps

import numpy as np
import torch
import xarray
from torch import Tensor, nn
from torch.func import functional_call

import data
from data import medley, split_cifar100
from data.threads import stop_if_asked
from lessons import cast
from lessons.merging.search import Grid, Merges, searched
from lessons.merging.storage import PerTask
from toy_models import MLP, Architecture, Recipe, ResNet18, TextEncoder, TinyViT, batchnorm, losses, zoo
from toy_models.weights import State

PARTS = ("held-out", "test")
# looked at per task and part, where nothing else is said; of a text encoder sentences
IMAGES = {"MLP": 1000, "ResNet18": 100, "TinyViT": 200, "TextEncoder": 400}
STATISTICS_IMAGES = 30  # training images per task from which BatchNorm's statistics are estimated anew
FINETUNING_EPOCHS = 4  # of the ResNets
COPIES = 3  # permuted copies of each data set in `several`
NAMES = {"mnist": "digits", "fashion_mnist": "clothes"}
_BATCH = 250


@dataclass(frozen=True)
class Suite:
    """Tasks, and the recipes of a network that knows none of them in particular and of one finetuned on each.

    Attributes:
        title: what the suite is called.
        base: the pretrained network's recipe.
        recipes: {task: recipe}, finetuned from it.
        splits: the split of CIFAR-100 of every task; () where all tasks share one head.
        choices: of every task, the first of its outputs and the one behind its last, among which it chooses; () where
            each chooses among all, and where there are splits.
        apart: whether every task with such outputs has rows of its own in the head, which are then not merged. Splits
            always have.
        remake: () -> this suite with recipes on the data as they are when it is called; None where nobody knows how.
    """
    title: str
    base: Recipe
    recipes: dict[str, Recipe]
    splits: tuple[int, ...] = ()
    choices: tuple[tuple[int, int], ...] = ()
    apart: bool = False
    remake: Callable[[], "Suite"] | None = field(default=None, compare=False, repr=False)

    @property
    def tasks(self) -> list[str]:
        """Their names, in order."""
        return list(self.recipes)

    def part(self, numbers: Sequence[int]) -> "Suite":
        """The suite of the tasks with these numbers."""
        names = [self.tasks[number] for number in numbers]
        splits, choices = (tuple(of[number] for number in numbers) if of else () for of in (self.splits, self.choices))
        remake = (lambda: self.remade().part(numbers)) if self.remake else None
        recipes = {name: self.recipes[name] for name in names}
        return Suite(self.title, self.base, recipes, splits, choices, self.apart, remake)

    def remade(self) -> "Suite":
        """The suite as it would be made now: its recipes are on the data that are here, or, inside
        `data.store.as_published`, on the official files. A suite without `remake` is returned as it is."""
        return self.remake() if self.remake else self

    @property
    def source(self) -> data.types.Source:
        """What the tasks are made of; that of the last one."""
        recipe = list(self.recipes.values())[-1]
        return data.source(recipe.dataset, **dict(recipe.options))

    @property
    def sources(self) -> list[data.types.Source]:
        """The data sets that the tasks are made of, once each, whatever was done to their images."""
        sources = []
        for recipe in self.recipes.values():
            options = {name: value for name, value in recipe.options if name == "of"}
            if "angle" in dict(recipe.options):
                options["angle"] = 0.0
            if self.splits:
                options["splits"] = self.splits
            sources.append(data.source(recipe.dataset, **options))
        return list(dict.fromkeys(sources))

    @property
    def joint_source(self) -> data.types.Source:
        """All `sources` in one. If one of them is a stand-in, then the whole is called one, with that one's reason."""
        sources = self.sources
        if len(sources) == 1:
            return sources[0]
        named = next((source for source in sources if source.is_stand_in), sources[0])
        text = " and ".join(source.text for source in sources)
        digest = data.types.digest(*(source.digest for source in sources))
        return data.types.Source(named.kind, text, digest, named.reason)

    @property
    def has_heads(self) -> bool:
        """Whether every task has rows of its own in the head."""
        return bool(self.splits) or self.apart

    def outputs(self, task: int) -> slice:
        """Among which of the head's outputs a task chooses."""
        if self.splits:
            return outputs_of(self.splits[task])
        return slice(*self.choices[task]) if self.choices else slice(None)

    @property
    def all_recipes(self) -> list[Recipe]:
        """The pretrained network's recipe and those of the finetuned ones."""
        return [self.base, *self.recipes.values()]

    @property
    def kind(self) -> str:
        """Of the networks: "MLP", "ResNet18", "TinyViT" or "TextEncoder"."""
        return self.base.architecture.name

    def load(self, device: str = "auto", images: int | None = None) -> "Loaded":
        """The networks, trained now if they are not in the zoo, and the images to look at.

        Args:
            device: "auto", or torch's name of one.
            images: at most so many per task and part; None for those of `IMAGES`.
        """
        base, *finetuned = zoo.get_all(self.all_recipes, device)
        return Loaded(self, base, finetuned, images or IMAGES[self.kind])


class Loaded:
    """The networks of a suite, and what is needed to judge a merged one.

    Attributes:
        suite: where they come from.
        base, finetuned: state dicts of what is merged: the whole network, or without its head where every task has its
            own.
    """

    def __init__(self, suite: Suite, base: nn.Module, finetuned: Sequence[nn.Module], images: int):
        self.suite = suite
        self.images = images
        self.networks = finetuned
        self.network = base
        self.base = self._merged_part(base)
        self.finetuned = [self._merged_part(network) for network in finetuned]

    def accuracy(self, merged: State | PerTask, part: str = "test") -> np.ndarray:
        """The share correct on every task, (tasks,), of a merged state dict or of a `PerTask`.

        BatchNorm's statistics are estimated anew. Where an answer is not a number, it is wrong.
        """
        tasks = range(len(self.suite.tasks))
        if isinstance(merged, PerTask):
            networks = (self.complete(merged.model(task), [task]) for task in tasks)
            return np.array([self._correct(network, task, part) for task, network in enumerate(networks)])
        network = self.complete(merged)
        if not self.suite.splits:
            return self._correct_at_once(network, part)
        return np.array([self._correct(network, task, part) for task in tasks])

    def own(self, part: str = "test") -> np.ndarray:
        """The share correct of every task's own network, (tasks,)."""
        return np.array([self._correct(network, task, part) for task, network in enumerate(self.networks)])

    def normalised(self, merged: State | PerTask, part: str = "test") -> np.ndarray:
        """`accuracy` as a share of `own`, (tasks,)."""
        return self.accuracy(merged, part) / self.own(part)

    def searched(self, grids: Mapping[str, Grid], merges: Merges, each: Callable = map,
                 title: str = "") -> xarray.Dataset:
        """`search.searched` on these tasks, by accuracy on the held-out images."""
        examples = sum(len(y) for _, y in self.held_out)  # loads them, before threads ask for them
        return searched(partial(self.accuracy, part="held-out"), merges, grids, self.suite.tasks, examples, each, title)

    def complete(self, merged: State, statistics_of: Sequence[int] | None = None) -> nn.Module:
        """A network that can answer.

        Where tasks have their own heads, it has all heads side by side and new BatchNorm statistics.

        Args:
            merged: with the keys of `base`.
            statistics_of: the tasks whose training images the statistics are estimated on; None for all.
        """
        whole = self._with_heads(merged) if self.suite.has_heads else merged
        if self.suite.kind != "ResNet18":
            return _WITHOUT_STATISTICS[self.suite.kind].from_state(whole)
        network = ResNet18.from_state(whole)
        tasks = statistics_of or range(len(self.suite.tasks))
        images = torch.cat([self._statistics_images[task] for task in tasks])
        return batchnorm.reestimated(network, images, _BATCH)

    def forward(self, state: State, x: Tensor, task: int) -> Tensor:
        """Logits (samples, classes of the task), differentiable in the state dict.

        BatchNorm normalises with the batch.
        """
        network, weights = self.network, self._with_heads(state) if self.suite.has_heads else state
        if self.suite.kind == "ResNet18":
            network = batchnorm.with_batch_statistics(network)
            weights = {key: tensor for key, tensor in weights.items() if "running" not in key and "batches" not in key}
        return functional_call(network, weights, (x,))[:, self.suite.outputs(task)]

    def unlabelled(self, batch_size: int = 64, batches: int = 4) -> list[list[Tensor]]:
        """Held-out images without labels for test-time adaptation: for every task some batches."""
        return [list(x[:batch_size * batches].split(batch_size)) for x, _ in self.held_out]

    @cached_property
    def held_out(self) -> list[tuple[Tensor, Tensor]]:
        """[(images, labels) of every task], the even-numbered test images."""
        return [_half(recipe, 0, self.images) for recipe in self.suite.recipes.values()]

    @cached_property
    def test(self) -> list[tuple[Tensor, Tensor]]:
        """[(images, labels) of every task], the odd-numbered test images."""
        return [_half(recipe, 1, self.images) for recipe in self.suite.recipes.values()]

    def images_of(self, part: str) -> list[tuple[Tensor, Tensor]]:
        """`held_out` or `test`.

        Raises:
            ValueError: there is no such part.
        """
        if part not in PARTS:
            raise ValueError(f"unknown part {part!r}: choose one of {', '.join(PARTS)}")
        return self.held_out if part == "held-out" else self.test

    @torch.no_grad()
    def _correct(self, network, task, part):
        x, y = self.images_of(part)[task]
        return self._share_correct(torch.cat(_answers(network, x.split(_BATCH))), y, task)

    @torch.no_grad()
    def _correct_at_once(self, network, part):
        images = self.images_of(part)
        x = torch.cat([x for x, _ in images])
        whole = x.split(len(x) if self.suite.kind == "MLP" else _BATCH)
        of_task = torch.cat(_answers(network, whole)).split([len(y) for _, y in images])
        return np.array([self._share_correct(some, images[task][1], task) for task, some in enumerate(of_task)])

    def _share_correct(self, logits, y, task):
        """Among the task's own outputs."""
        outputs = self.suite.outputs(task)
        return share_correct(logits[:, outputs], y - (outputs.start or 0))

    def _merged_part(self, network):
        """Its state dict, without the head where every task has its own."""
        state = network.state_dict()
        return {key: tensor for key, tensor in state.items() if not (self.suite.has_heads and key.startswith("head."))}

    def _with_heads(self, merged):
        """A merged state dict with what it lacks: every task's own rows in the head."""
        return {key: merged.get(key, tensor) for key, tensor in self._whole_head.items()}

    @cached_property
    def _whole_head(self):
        """The base's state dict with every task's own rows in the head."""
        state = {key: tensor.clone() for key, tensor in self.network.state_dict().items()}
        for task, network in enumerate(self.networks):
            own, outputs = network.state_dict(), self.suite.outputs(task)
            for key in ("head.weight", "head.bias"):
                state[key][outputs] = own[key][outputs]
        return state

    @cached_property
    def _statistics_images(self):
        images = []
        for recipe in self.suite.recipes.values():
            training = data.load(recipe.dataset, "train", **dict(recipe.options))
            images.append(training.x[:STATISTICS_IMAGES].clone())
        return images


def _half(recipe, first, images):
    """Every second test image from the first or second on, `images` of them spread evenly, and their labels: MNIST's
    first half is harder than its second."""
    options = tuple((name, value) for name, value in recipe.options if name != "size")
    digest = data.source(recipe.dataset, **dict(options)).digest
    return _spread(recipe.dataset, options, first, images, digest)


# Eight tasks, two parts, two numbers of images. A chapter asks for them several times, and to turn or permute those of
# eight tasks takes a second.
@lru_cache(maxsize=32)
def _spread(dataset, options, first, images, digest):
    whole = data.load(dataset, "test", **dict(options))
    x = whole.x[first::2]
    y = whole.y[first::2]
    half = data.Dataset(x, y, whole.source).spread(images)
    return half.x.clone(), half.y.clone()


def share_correct(logits: Tensor, y: Tensor) -> float:
    """The share of samples whose largest logit is the right one. Where a logit is not a number, the answer is wrong.

    Args:
        logits: (samples, classes).
        y: labels (samples,).
    """
    return ((logits.argmax(1) == y) & logits.isfinite().all(1)).double().mean().item()


def outputs_of(split: int) -> slice:
    """Which of the head's hundred outputs belong to a split of CIFAR-100."""
    first = split_cifar100.CLASSES_PER_SPLIT * split
    return slice(first, first + split_cifar100.CLASSES_PER_SPLIT)


def share_correct_among(logits: Tensor, y: Tensor, split: int) -> float:
    """`share_correct` where a split of CIFAR-100 may choose among its own five classes alone.

    Args:
        logits: (samples, 100).
        y: labels (samples,), among all hundred classes.
    """
    outputs = outputs_of(split)
    return share_correct(logits[:, outputs], y - outputs.start)


def subsets_of(num_tasks: int, count: int, most: int, seed: int) -> list[tuple[int, ...]]:
    """Up to `most` different subsets of that many tasks, drawn without replacement; all where there are fewer."""
    everything = math.comb(num_tasks, count)
    generator = random.Random(1000 * seed + count)
    if everything > 10_000:
        return sorted({tuple(sorted(generator.sample(range(num_tasks), count))) for _ in range(most)})
    listed = list(itertools.combinations(range(num_tasks), count))
    return sorted(generator.sample(listed, min(most, everything)))


_WITHOUT_STATISTICS = {"MLP": MLP, "TinyViT": TinyViT, "TextEncoder": TextEncoder}


# -- the suites ------------------------------------------------------------------------------------

def _remakeable(make):
    """A maker of suites whose suites can be made again, with the same arguments."""
    @wraps(make)
    def made(*args, **kwargs):
        return replace(make(*args, **kwargs), remake=partial(made, *args, **kwargs))
    return made


@_remakeable
def rotated(seed: int = 0, size: int | None = None) -> Suite:
    """Rotated MNIST: chapter 4's eight angles, one head; with `size`, networks that have seen only so many images."""
    recipes = cast.rotations(seed)
    base = recipes.pop(0.0)
    if size is not None:
        base, recipes = _of_size(base, recipes, size)
    return Suite("Rotated MNIST", base, {f"{angle:g}°": recipe for angle, recipe in recipes.items()})


def _of_size(base, recipes, size):
    """The same recipes on the first `size` images."""
    smaller = Recipe.on(base.dataset, base.architecture, options={"angle": 0.0, "size": size}, lr=base.lr,
                        epochs=base.epochs, batch_size=base.batch_size, seed=base.seed)
    finetuned = {}
    for angle, recipe in recipes.items():
        options = {"angle": angle, "size": size}
        finetuned[angle] = smaller.finetune(options=options, epochs=recipe.epochs, lr=recipe.lr)
    return smaller, finetuned


@_remakeable
def permuted(num_tasks: int = 4, share: float = 1.0, seed: int = 0, size: int | None = None, width: int = 400,
             epochs: int = 1) -> Suite:
    """Permuted MNIST: on every task the same share of the pixels has changed places, another way each time; one head.

    Args:
        num_tasks: how many tasks.
        share: of the pixels; at 0 all tasks are MNIST itself, in another order of samples.
        seed: of the networks.
        size: training images a task, None for all.
        width: of the one hidden layer.
        epochs: of finetuning.
    """
    base = _on_mnist(seed, size, width)
    recipes = {}
    for number in range(1, num_tasks + 1):
        recipes[f"permutation {number}"] = _finetuned(base, "mnist", number, share, epochs, seed)
    return Suite(f"Permuted MNIST, {share:.0%} of the pixels", base, recipes)


@_remakeable
def several(seed: int = 0, size: int | None = None, width: int = 400, epochs: int = 1) -> Suite:
    """Several data sets: MNIST, Fashion-MNIST and three copies of each with permuted pixels; one head of ten
    outputs."""
    base = _on_mnist(seed, size, width)
    recipes = {}
    for number in range(COPIES + 1):
        copy = f", permuted ({number})" if number else ""
        for of, name in NAMES.items():
            recipes[f"{name}{copy}"] = _finetuned(base, of, number, 1.0, epochs, seed)
    return Suite("MNIST, Fashion-MNIST and permuted copies", base, recipes)


def _on_mnist(seed, size, width):
    options = {"size": size} if size else {}
    return Recipe.on("permuted_mnist", Architecture.of("MLP", widths=(784, width, 10)), options=options, lr=0.1,
                     epochs=2, batch_size=64, seed=seed)


def _finetuned(base, of, permutation, share, epochs, seed):
    """A seed of its own for every task: at share 0 tasks would else be trained alike to the last bit."""
    options = {"of": of, "permutation": permutation, "share": share}
    options |= {name: value for name, value in base.options if name == "size"}
    return base.finetune(options=options, epochs=epochs, seed=1000 * permutation + seed)


@_remakeable
def split(num_tasks: int | Sequence[int] = 8, seed: int = 0) -> Suite:
    """Split CIFAR-100: ResNet-18 of width 16, pretrained in one pass over all splits, finetuned on each of the first
    `num_tasks` splits, or on those that are named; own heads, so that the backbone is what is merged."""
    splits = tuple(range(num_tasks)) if isinstance(num_tasks, int) else tuple(num_tasks)
    base = cast.widely_pretrained_resnet(seed)
    recipes = {}
    for number in splits:
        recipes[f"split {number}"] = cast.finetuned_resnet(base, number, epochs=FINETUNING_EPOCHS)
    return Suite(f"Split CIFAR-100, {len(splits)} tasks", base, recipes, splits)


@_remakeable
def altered(width: int = 64, seed: int = 0, size: int = 3000, epochs: int = 3, lr: float = 3e-4) -> Suite:
    """Digits and clothes, each altered in four ways: small ViTs, pretrained on upright ones and a few of each task. The
    head stays as it was pretrained, as CLIP's does, and a task chooses among its own ten classes.

    Args:
        width: of the ViT.
        seed: of pretraining and finetuning.
        size: training images a task.
        epochs, lr: of finetuning.
    """
    base = cast.pretrained_vit(width, seed)
    recipes = {}
    for of, change in medley.TASKS:
        options = {"of": of, "change": change, "size": size}
        name = f"{NAMES[of]} {change}"
        recipes[name] = base.finetune("altered", options, lr=lr, epochs=epochs, frozen=("head.",), seed=seed)
    choices = tuple(data.altered.outputs(of) for of, _ in medley.TASKS)
    return Suite("eight altered tasks", base, recipes, choices=choices)


@_remakeable
def sentences(seed: int = 0, size: int = 1500, epochs: int = 3, tasks: Sequence[str] = data.sentences.TASKS,
              lr: float = 2e-3, pretraining: tuple[int, int | None] = (3, None), frozen: Sequence[str] = ()) -> Suite:
    """Tasks of sentences: small text encoders, pretrained by guessing masked words; own heads, so that what is merged
    is the encoder.

    Args:
        seed: of pretraining and finetuning.
        size: training sentences a task.
        epochs, lr: of finetuning.
        tasks: of `data.sentences.TASKS`.
        pretraining: passes over the sentences without labels, and how many of these; None for all.
        frozen: beginnings of the keys of what finetuning leaves as it is.
    """
    base = cast.pretrained_encoder(seed, *pretraining)
    recipes = {}
    for task in tasks:
        recipes[task] = base.finetune("sentences", {"task": task, "size": size}, lr=lr, epochs=epochs, batch_size=32,
                                      loss=losses.SEEN_CLASSES, seed=seed, frozen=tuple(frozen))
    choices = tuple(data.sentences.outputs(task) for task in tasks)
    return Suite(f"{len(tasks)} tasks of sentences", base, recipes, choices=choices, apart=True)


def _answers(network, parts):
    """What the network says to every part of the images."""
    said = []
    for some in parts:
        stop_if_asked()
        said.append(network(some))
    return said
