"""What the methods are tried on: suites of tasks, a network finetuned on each of them, and the accuracy of anything merged from these.

Hyper-parameters are chosen on "held-out" images, the even-numbered ones of the test part, and figures are reported on "test", the odd-numbered ones.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

import data
from data import split_cifar100
from lessons.linearity.experiment import resnet as chapter_2
from lessons.merging.storage import PerTask
from lessons.task_arithmetic.experiment import mlp as chapter_4
from toy_models import MLP, Architecture, Recipe, ResNet18, batchnorm, zoo
from toy_models.weights import State

PARTS = ("held-out", "test")
IMAGES = {"MLP": 1000, "ResNet18": 100}  # looked at per task and part, where nothing else is said
STATISTICS_IMAGES = 30  # training images per task from which BatchNorm's statistics are estimated anew
PRETRAINED_ON, FINETUNED_SIZE, FINETUNING_EPOCHS = "all 20 splits, 1 pass", 2496, 4  # of the ResNets; 2,496 is 39 whole batches, see chapter 2
COPIES = 3  # permuted copies of each data set in `several`
_BATCH = 250


@dataclass(frozen=True)
class Suite:
    """Tasks, and the recipes of a network that knows none of them in particular and of one finetuned on each.

    Attributes:
        title: what the suite is called.
        base: the pretrained network's recipe.
        recipes: {task: recipe}, finetuned from it.
        splits: the split of CIFAR-100 of every task; () where all tasks share one head.
    """
    title: str
    base: Recipe
    recipes: dict[str, Recipe]
    splits: tuple[int, ...] = ()

    @property
    def tasks(self) -> list[str]:
        """Their names, in order."""
        return list(self.recipes)

    @property
    def source(self) -> data.types.Source:
        """What the tasks are made of; that of the last one."""
        recipe = list(self.recipes.values())[-1]
        return data.source(recipe.dataset, **dict(recipe.options))

    def load(self, device: str = "auto", images: int | None = None) -> "Loaded":
        """The networks, trained now if they are not in the zoo, and the images to look at, at most `images` per task and part."""
        base, *finetuned = zoo.get_all([self.base, *self.recipes.values()], device)
        return Loaded(self, base, finetuned, images or IMAGES[self.base.architecture.name])


class Loaded:
    """The networks of a suite, and what is needed to judge a merged one.

    Attributes:
        suite: where they come from.
        base, finetuned: state dicts of what is merged: the whole network, or without its head where every task has its own.
    """

    def __init__(self, suite: Suite, base: nn.Module, finetuned: Sequence[nn.Module], images: int):
        self.suite, self.images, self.networks, self.network = suite, images, finetuned, base
        self.base, *self.finetuned = (self._merged_part(network.state_dict()) for network in (base, *finetuned))

    def accuracy(self, merged: State | PerTask, part: str = "test") -> np.ndarray:
        """The share correct on every task, (tasks,), of a merged state dict or of a `PerTask`; BatchNorm's statistics are estimated anew.

        Where an answer is not a number, it is wrong.
        """
        if isinstance(merged, PerTask):
            return np.array([self._correct(self.complete(merged.model(task), [task]), task, part) for task in range(len(self.suite.tasks))])
        if not self.suite.splits:
            return self._correct_at_once(self.complete(merged), part)
        network = self.complete(merged)
        return np.array([self._correct(network, task, part) for task in range(len(self.suite.tasks))])

    def own(self, part: str = "test") -> np.ndarray:
        """The share correct of every task's own network, (tasks,)."""
        return np.array([self._correct(network, task, part) for task, network in enumerate(self.networks)])

    def normalised(self, merged: State | PerTask, part: str = "test") -> np.ndarray:
        """`accuracy` as a share of `own`, (tasks,)."""
        return self.accuracy(merged, part) / self.own(part)

    def complete(self, merged: State, statistics_of: Sequence[int] | None = None) -> nn.Module:
        """A network that can answer: the merged part and, where tasks have their own heads, all heads side by side and new BatchNorm statistics.

        Args:
            merged: with the keys of `base`.
            statistics_of: the tasks whose training images the statistics are estimated on; None for all.
        """
        if not self.suite.splits:
            return MLP.from_state(merged)
        network = ResNet18.from_state({key: merged[key] if key in merged else tensor for key, tensor in self._whole_head.items()})
        return batchnorm.reestimated(network, torch.cat([self._statistics_images[i] for i in statistics_of or range(len(self.suite.tasks))]), _BATCH)

    def forward(self, state: State, x: Tensor, task: int) -> Tensor:
        """Logits (samples, classes of the task), differentiable in the state dict; BatchNorm normalises with the batch."""
        if not self.suite.splits:
            return functional_call(self.network, state, (x,))
        state = {key: state[key] if key in state else tensor for key, tensor in self._whole_head.items()}
        return functional_call(batchnorm.with_batch_statistics(self.network), {key: tensor for key, tensor in state.items() if "running" not in key and "batches" not in key},
                               (x,))[:, self._outputs(task)]

    def unlabelled(self, batch_size: int = 64, batches: int = 4) -> list[list[Tensor]]:
        """Held-out images without labels for test-time adaptation: for every task some batches."""
        return [list(x[:batch_size * batches].split(batch_size)) for x, _ in self.held_out]

    @cached_property
    def held_out(self) -> list[tuple[Tensor, Tensor]]:
        """[(images, labels) of every task], the even-numbered test images."""
        return [self._part(recipe, 0) for recipe in self.suite.recipes.values()]

    @cached_property
    def test(self) -> list[tuple[Tensor, Tensor]]:
        """[(images, labels) of every task], the odd-numbered test images."""
        return [self._part(recipe, 1) for recipe in self.suite.recipes.values()]

    def _part(self, recipe, first):
        """Every second test image from the first or second on, `images` of them spread evenly: MNIST's first half is harder than its second."""
        whole = data.load(recipe.dataset, "test", **{name: value for name, value in recipe.options if name != "size"})
        part = data.Dataset(whole.x[first::2], whole.y[first::2], whole.source).spread(self.images)
        return part.x.clone(), part.y.clone()

    def images_of(self, part: str) -> list[tuple[Tensor, Tensor]]:
        """`held_out` or `test`.

        Raises:
            ValueError: there is no such part.
        """
        if part not in PARTS:
            raise ValueError(f"unknown part {part!r}: choose one of {', '.join(PARTS)}")
        return self.held_out if part == "held-out" else self.test

    def _outputs(self, task):
        first = split_cifar100.CLASSES_PER_SPLIT * self.suite.splits[task]
        return slice(first, first + split_cifar100.CLASSES_PER_SPLIT)

    @torch.no_grad()
    def _correct(self, network, task, part):
        x, y = self.images_of(part)[task]
        logits = torch.cat([network(some) for some in x.split(_BATCH)])
        if self.suite.splits:
            logits, y = logits[:, self._outputs(task)], y - self._outputs(task).start
        return _share_correct(logits, y)

    @torch.no_grad()
    def _correct_at_once(self, network, part):
        images = self.images_of(part)
        logits = network(torch.cat([x for x, _ in images]))
        return np.array([_share_correct(some, y) for some, (_, y) in zip(logits.split([len(y) for _, y in images]), images)])

    def _merged_part(self, state):
        return {key: tensor for key, tensor in state.items() if not (self.suite.splits and key.startswith("head."))}

    @cached_property
    def _whole_head(self):
        """The base's state dict with every task's own rows in the head."""
        state = {key: tensor.clone() for key, tensor in self.network.state_dict().items()}
        for task, network in enumerate(self.networks):
            for key in ("head.weight", "head.bias"):
                state[key][self._outputs(task)] = network.state_dict()[key][self._outputs(task)]
        return state

    @cached_property
    def _statistics_images(self):
        return [data.load(recipe.dataset, "train", **dict(recipe.options)).x[:STATISTICS_IMAGES].clone() for recipe in self.suite.recipes.values()]


def _share_correct(logits, y):
    return ((logits.argmax(1) == y) & logits.isfinite().all(1)).double().mean().item()


# -- the suites ----------------------------------------------------------------------------------------------------------------

def rotated(seed: int = 0, size: int | None = None) -> Suite:
    """Rotated MNIST: chapter 4's eight angles, one head; with `size`, networks that have seen only so many images."""
    recipes = chapter_4.recipes(seed)
    base = recipes.pop(0.0)
    if size is not None:
        base = Recipe.on(base.dataset, base.architecture, lr=base.lr, epochs=base.epochs, batch_size=base.batch_size, seed=seed, options={"angle": 0.0, "size": size})
        recipes = {angle: base.finetune(options={"angle": angle, "size": size}, epochs=recipe.epochs, lr=recipe.lr) for angle, recipe in recipes.items()}
    return Suite("Rotated MNIST", base, {f"{angle:g}°": recipe for angle, recipe in recipes.items()})


def permuted(num_tasks: int = 4, share: float = 1.0, seed: int = 0, size: int | None = None, width: int = 400, epochs: int = 1) -> Suite:
    """Permuted MNIST: on every task the same share of the pixels has changed places, another way each time; one head.

    Args:
        num_tasks: how many tasks.
        share: of the pixels; at 0 all tasks are MNIST itself, in another order of samples.
        size: training images a task, None for all.
        width: of the one hidden layer.
        epochs: of finetuning.
    """
    base = _on_mnist(seed, size, width)
    return Suite(f"Permuted MNIST, {share:.0%} of the pixels", base, {f"permutation {i}": _finetuned(base, "mnist", i, share, epochs, seed) for i in range(1, num_tasks + 1)})


def several(seed: int = 0, size: int | None = None, width: int = 400, epochs: int = 1) -> Suite:
    """Several data sets: MNIST, Fashion-MNIST and three copies of each with permuted pixels; one head of ten outputs."""
    base = _on_mnist(seed, size, width)
    return Suite("MNIST, Fashion-MNIST and permuted copies", base, {
        f"{name}{f', permuted ({i})' if i else ''}": _finetuned(base, of, i, 1.0, epochs, seed) for i in range(COPIES + 1) for of, name in (("mnist", "digits"), ("fashion_mnist", "clothes"))})


def _on_mnist(seed, size, width):
    return Recipe.on("permuted_mnist", Architecture.of("MLP", widths=(784, width, 10)), lr=0.1, epochs=2, batch_size=64, seed=seed, options={"size": size} if size else {})


def _finetuned(base, of, permutation, share, epochs, seed):
    """A seed of its own for every task: at share 0 tasks would else be trained alike to the last bit."""
    options = {"of": of, "permutation": permutation, "share": share} | {name: value for name, value in base.options if name == "size"}
    return base.finetune(options=options, epochs=epochs, seed=1000 * permutation + seed)


def split(num_tasks: int | Sequence[int] = 8, seed: int = 0) -> Suite:
    """Split CIFAR-100: ResNet-18 of width 16, pretrained in one pass over all splits, finetuned on each of the first `num_tasks` splits, or on those
    that are named; own heads, so that the backbone is what is merged."""
    splits = tuple(range(num_tasks)) if isinstance(num_tasks, int) else tuple(num_tasks)
    base = chapter_2.amount_recipes("full", seed)[PRETRAINED_ON][None]
    return Suite(f"Split CIFAR-100, {len(splits)} tasks", base,
                 {f"split {i}": base.finetune(options={"splits": (i,), "size": FINETUNED_SIZE}, epochs=FINETUNING_EPOCHS) for i in splits}, splits)
