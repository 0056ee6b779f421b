"""Finetuned copies of the pretrained encoder all-MiniLM-L6-v2, one a task of sentences, and what is needed to judge a
merged one. The vectors of word pieces, positions and types stay as they are; the six layers are trained and merged, and
every task has a head of its own on the mean of a sentence's pieces.
"""
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial

import torch
import torch.nn.functional as F
import xarray
from jaxtyping import Float, Int
from safetensors.torch import save_file
from torch import Tensor

import data
from data import store, threads
from lessons.merging.search import Grid, Merges, searched
from lessons.suites import PARTS, share_correct
from lessons.words import minilm
from lessons.words.algorithms import bert
from lessons.words.algorithms.pieces import Pieces
from toy_models import zoo
from toy_models.training import share_of_rate
from toy_models.weights import State

MERGED = "encoder.layer."  # how the keys begin of what is trained and merged
HEAD = ("head.weight", "head.bias")
_BATCH = 50  # sentences of about one length that are read at once
_FORMAT = 1  # raise when training changes, so that weights of the old code are not taken for new ones


@dataclass(frozen=True)
class Training:
    """How a copy is finetuned.

    Attributes:
        size: training sentences a task, where there are as many.
        epochs: passes over them.
        lr: learning rate of the layers, with AdamW, a warm-up and a cosine.
        head_lr: learning rate of the head.
        batch_size: sentences a step.
        length: pieces of a sentence that are read.
    """
    size: int = 1000
    epochs: int = 2
    lr: float = 1e-4
    head_lr: float = 2e-3
    batch_size: int = 16
    length: int = 32


@dataclass(frozen=True)
class Tasks:
    """The names of tasks, and which of the heads' outputs are whose; all heads stand side by side."""
    tasks: list[str] = field(default_factory=list)

    def outputs(self, task: int) -> slice:
        """Among which of the outputs a task chooses."""
        before = sum(len(data.sentences.CLASSES[name]) for name in self.tasks[:task])
        return slice(before, before + len(data.sentences.CLASSES[self.tasks[task]]))


class Reader:
    """The encoder with some layers and all heads: sentences in, answers out.

    Args:
        state: embeddings and layers.
        head: weight (classes, width) and bias (classes,).
    """

    def __init__(self, state: State, head: tuple[Tensor, Tensor]):
        self.state = state
        self.head = head

    @torch.no_grad()
    def features(self, x: Int[Tensor, "sentences pieces"]) -> dict[str, Float[Tensor, "sentences numbers"]]:
        """"embedding", "layer 1", …, the mean over a sentence's pieces, and "output", the logits of all heads."""
        features = by_length(partial(bert.features, self.state, heads=minilm.HEADS), x)
        return features | {"output": F.linear(list(features.values())[-1], *self.head)}

    @torch.no_grad()
    def __call__(self, x: Int[Tensor, "sentences pieces"]) -> Float[Tensor, "sentences classes"]:
        """The logits of all heads."""
        read = by_length(lambda ids: {"last": bert.pooled(self.state, ids, minilm.HEADS)}, x)
        return F.linear(read["last"], *self.head)


class Several:
    """The encoder finetuned on several tasks, as `suites.Loaded` is for networks of the zoo.

    Args:
        tasks: of `data.sentences`.
        training: how each is finetuned.
        seed: of the heads and of the order of sentences.
        held_out, test: sentences that are looked at, a task.

    Attributes:
        suite: the tasks and their outputs.
        base, finetuned: state dicts of the layers.
        heads: (weight, bias) of every task.

    Raises:
        CheckpointError: the encoder is not here.
    """

    def __init__(self, tasks: Sequence[str], training: Training, seed: int, held_out: int, test: int):
        self.suite = Tasks(list(tasks))
        self.training = training
        self.counts = {"held-out": held_out, "test": test}
        self.pretrained, self.pieces = minilm.load()
        self.pretrained = {key: tensor.float() for key, tensor in self.pretrained.items()}
        self.base = {key: tensor for key, tensor in self.pretrained.items() if key.startswith(MERGED)}
        make = partial(finetuned, self.pretrained, self.pieces, training, seed)
        tuned = threads.side_by_side(make, self.suite.tasks)
        self.heads = [tuple(state.pop(key) for key in HEAD) for state in tuned]
        self.finetuned = tuned

    def complete(self, merged: State) -> Reader:
        """A network that can answer, with all heads."""
        weights, biases = zip(*self.heads)
        return Reader(self.pretrained | merged, (torch.cat(weights), torch.cat(biases)))

    def accuracy(self, merged: State, part: str = "test") -> list[float]:
        """The share correct on every task, (tasks,), under its own head."""
        network = self.complete(merged)
        return [self._correct(network, task, part) for task in range(len(self.suite.tasks))]

    def own(self, part: str = "test") -> list[float]:
        """The share correct of every task's own encoder, (tasks,)."""
        return [self._correct(self.complete(state), task, part) for task, state in enumerate(self.finetuned)]

    def searched(self, grids: Mapping[str, Grid], merges: Merges, each: Callable = map) -> xarray.Dataset:
        """`search.searched` on these tasks, by accuracy on the held-out sentences."""
        examples = sum(len(y) for _, y in self.held_out)
        return searched(partial(self.accuracy, part="held-out"), merges, grids, self.suite.tasks, examples, each)

    @cached_property
    def held_out(self) -> list[tuple[Tensor, Tensor]]:
        """[(numbers of pieces, labels among the outputs of all heads) of every task]."""
        return [self._read(task, 0) for task in range(len(self.suite.tasks))]

    @cached_property
    def test(self) -> list[tuple[Tensor, Tensor]]:
        """As `held_out`, of other sentences."""
        return [self._read(task, 1) for task in range(len(self.suite.tasks))]

    def _read(self, task, first):
        """Every second sentence of the test part, from the first or the second on, as `suites` divides images."""
        name = self.suite.tasks[task]
        rows = data.sentences.texts("test", name)[first::2][:self.counts[PARTS[first]]]
        x = self.pieces([text for text, _ in rows], self.training.length)
        return x, _labels(rows, name) + self.suite.outputs(task).start

    def _correct(self, network, task, part):
        x, y = (self.held_out if part == "held-out" else self.test)[task]
        outputs = self.suite.outputs(task)
        threads.stop_if_asked()
        return share_correct(network(x)[:, outputs], y - outputs.start)


def by_length(read: Callable, x: Int[Tensor, "sentences pieces"]) -> dict[str, Float[Tensor, "sentences ..."]]:
    """What is read of sentences, in batches of about one length, so that little padding is read.

    Args:
        read: rows of numbers -> {name: (rows, …)}.
        x: with padding, number 0, behind every sentence.
    """
    lengths = (x != 0).sum(1)
    order = lengths.argsort(stable=True)
    parts = []
    for rows in order.split(_BATCH):
        threads.stop_if_asked()
        parts.append(read(x[rows, :int(lengths[rows].max())]))
    back = order.argsort()
    return {name: torch.cat([part[name] for part in parts])[back] for name in parts[0]}


def _labels(rows, task):
    return torch.tensor([data.sentences.CLASSES[task].index(label) for _, label in rows])


# -- finetuning --------------------------------------------------------------------------------------------------------

def finetuned(pretrained: State, pieces: Pieces, training: Training, seed: int, task: str) -> dict[str, Tensor]:
    """The layers and the head after finetuning on a task, trained now if they are not kept.

    Args:
        pretrained: the pretrained encoder.
        pieces: its word pieces.
        training: how.
        seed: of the head and of the order of sentences.
        task: of `data.sentences`.
    """
    origin = data.source("sentences", task=task, size=training.size)
    made_of = data.types.digest(_FORMAT, minilm.WEIGHTS.sha256, origin.digest, str(asdict(training)), seed)
    path = store.root() / "minilm" / f"{made_of}.safetensors"
    return store.once(path, lambda: trained(pretrained, pieces, training, seed, task), read=partial(_kept, made_of),
                      write=lambda state, path: save_file(state, path, metadata={"made_of": made_of}))


def trained(pretrained: State, pieces: Pieces, training: Training, seed: int, task: str) -> dict[str, Tensor]:
    """As `finetuned`, trained now."""
    rows = data.sentences.texts("train", task, training.size)
    x, y = pieces([text for text, _ in rows], training.length), _labels(rows, task)
    generator = torch.Generator().manual_seed(seed)
    state = {key: tensor.clone().requires_grad_(key.startswith(MERGED)) for key, tensor in pretrained.items()}
    head = new_head(len(data.sentences.CLASSES[task]), pretrained, generator)
    groups = [{"params": [tensor for tensor in state.values() if tensor.requires_grad], "lr": training.lr},
              {"params": head, "lr": training.head_lr}]
    optimiser = torch.optim.AdamW(groups)
    steps = training.epochs * math.ceil(len(x) / training.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: share_of_rate(step, steps))
    for _ in range(training.epochs):
        for rows in torch.randperm(len(x), generator=generator).split(training.batch_size):
            threads.stop_if_asked()
            ids = x[rows, :int((x[rows] != pieces.pad).sum(1).max())]
            loss = F.cross_entropy(F.linear(bert.pooled(state, ids, minilm.HEADS), *head), y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    merged = {key: tensor.detach() for key, tensor in state.items() if tensor.requires_grad}
    return merged | {key: tensor.detach() for key, tensor in zip(HEAD, head)}


def new_head(classes: int, pretrained: State, generator: torch.Generator) -> list[Tensor]:
    """A weight (classes, width), drawn with standard deviation 0.02, and a bias of zeros (classes,), to be trained."""
    width = pretrained[bert.PIECES].shape[1]
    weight = 0.02 * torch.randn(classes, width, generator=generator)
    return [weight.requires_grad_(), torch.zeros(classes, requires_grad=True)]


def _kept(made_of, path):
    state, metadata = zoo.contents(path)
    if metadata.get("made_of") != made_of:
        raise store.Damaged("it was not made of what its name says")
    return state
