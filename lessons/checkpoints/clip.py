"""CLIP from files: θ₀ with its heads, finetuned vision towers, their merges, and how many images each gets right."""
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from safetensors.torch import save_file
from torch import Tensor

from data import store
from data.pinning import pinned
from data.types import digest
from lessons.checkpoints import folders, heads, images, naming, towers
from lessons.checkpoints.opening import CheckpointError
from lessons.checkpoints.together import together
from lessons.checkpoints.tokens import Words
from lessons.checkpoints.towers import Tower
from toy_models import zoo
from toy_models.weights import State

BATCH = 64
OFFICIAL_NAMES = ("cifar100",)  # tasks whose class names the data set itself has


@dataclass(frozen=True)
class Suite:
    """θ₀ and finetuned vision towers with everything that turns an image into a class.

    Attributes:
        tower: their sizes.
        base: θ₀'s vision tower.
        finetuned: {task: its tower}, with the same keys, shapes and dtypes.
        projection: `visual_projection.weight`, of θ₀; finetuning leaves it as it is.
        scale: `logit_scale`.
        heads: {task: (classes, space)}.
        notes: what was found strange on the way.
    """
    tower: Tower
    base: State
    finetuned: Mapping[str, State]
    projection: Tensor
    scale: float
    heads: Mapping[str, Tensor]
    notes: tuple[str, ...] = ()


def opened(base: str | Path, finetuned: Mapping[str, str | Path], tasks: Mapping[str, Sequence[str]] | None = None,
           expect: str | Tower | None = None) -> Suite:
    """A suite from files or folders, of any of the libraries.

    Args:
        base: θ₀'s folder: both towers, and beside them merges.txt and vocab.json, from which heads are made once and
            kept (`kept_head`).
        finetuned: {task: file or folder}.
        tasks: {task: official class names}, where `heads.LABELS` needs them.
        expect: "ViT-B/32", say.

    Raises:
        CheckpointError, ValueError: a file or the tokenizer cannot be used; names file and key.
    """
    checkpoint = folders.opened(base)
    start = naming.vision_tower(checkpoint, expect)
    tuned = {task: naming.vision_tower(folders.opened(path), start.tower) for task, path in finetuned.items()}
    shown, all_tuned, notes = together(start, list(tuned.values()))
    both = naming.projections(checkpoint)
    if "logit_scale" not in both:
        raise CheckpointError(f"{checkpoint.path} has no logit_scale: it is not the whole CLIP.")
    made = {task: kept_head(checkpoint, task, (tasks or {}).get(task, ())) for task in finetuned}
    assert start.tower is not None, "`vision_tower` knows it"
    return Suite(start.tower, shown, dict(zip(tuned, all_tuned)), both["visual_projection.weight"].float(),
                 both["logit_scale"].item(), made, tuple(notes))


# -- heads ---------------------------------------------------------------------------------------------------------

def head_path(task: str, made_of: str) -> Path:
    """Where a task's head is kept, 20 kB for ten classes; of another text tower or other names it is another file."""
    return store.root() / "checkpoints" / "heads" / f"{task}-{digest(made_of)}.safetensors"


def kept_head(checkpoint: folders.Checkpoint, task: str, official: Sequence[str] = ()) -> Tensor:
    """A task's head (classes, space), from disk if it was made of the same text tower and names, else made now.

    Args:
        checkpoint: of the whole CLIP, in a folder with merges.txt and vocab.json.
        official: see `heads.class_names`.
    """
    names = heads.class_names(task, official)
    templates = heads.LABELS[task].templates
    made_of = "\n".join([*checkpoint.digests().values(), *names, *templates])

    def make():
        folder = checkpoint.path if checkpoint.path.is_dir() else checkpoint.path.parent
        text = naming.text_tower(checkpoint)
        state = {key: tensor.float() for key, tensor in text.items()}
        projection = naming.projections(checkpoint)["text_projection.weight"].float()
        with pinned():
            return heads.head(state, projection, text.tower, Words.read(folder), names, templates)

    return store.once(head_path(task, made_of), make, read=lambda path: _read_head(path, made_of),
                      write=lambda head, path: save_file({"head": head}, path, metadata={"made_of": made_of}))


def _read_head(path, made_of):
    state, metadata = zoo.contents(path)
    if metadata.get("made_of") != made_of or "head" not in state:
        raise store.Damaged("it was not made of what its name says")
    return state["head"]


# -- accuracy ------------------------------------------------------------------------------------------------------

def in_memory(state: State, device: str | torch.device = "cpu") -> State:
    """A state dict read once, in float32, on the device where it is used."""
    return {key: tensor.to(device, torch.float32) for key, tensor in state.items()}


def _precision(device, mixed):
    """Half precision for the products of a pass, where it is asked for: bfloat16 has float32's range."""
    return torch.autocast(torch.device(device).type, torch.bfloat16, enabled=mixed)


def batches(x: Tensor, tower: Tower, device: str | torch.device = "cpu", size: int = BATCH) -> Iterator[Tensor]:
    """Images as the tower takes them, batch by batch, on the device."""
    for part in x.split(size):
        yield images.prepared(part, tower.image).to(device)


@pinned()
def accuracy(suite: Suite, state: State, task: str, x: Tensor, y: Tensor, device: str | torch.device = "cpu",
             mixed: bool = False) -> float:
    """The share of images that a vision tower gets right with a task's head.

    Args:
        state: the tower's weights, on the device already where many tasks are asked (`in_memory`).
        x, y: images as `images.prepared` takes them, and labels.
        mixed: products in bfloat16: three times as fast where the processor can, and the features' cosine with those
            of float32 stays above 0.9999.
    """
    right = 0
    with torch.no_grad():
        for part, labels in zip(batches(x, suite.tower, device), y.split(BATCH)):
            with _precision(device, mixed):
                pooled = towers.pooled(state, part, suite.tower)
            logits = heads.logits(pooled.float().cpu(), suite.projection, suite.heads[task], suite.scale)
            right += int((logits.argmax(1) == labels).sum())
    return right / len(y)


def table(suite: Suite, models: Mapping[str, State | Callable[[], State]], data: Mapping[str, tuple[Tensor, Tensor]],
          device: str | torch.device = "cpu", mixed: bool = False) -> xr.DataArray:
    """Accuracy of every model on every task.

    Args:
        models: {name: state dict, or a function that gives one, so that one at a time is in memory}.
        data: {task: (images, labels)}.

    Returns:
        (model, task), with the number of images a task in `attrs`.
    """
    accuracies = np.empty((len(models), len(data)))
    for row, model in enumerate(models.values()):
        state = in_memory(model() if callable(model) else model, device)
        for column, (task, (x, y)) in enumerate(data.items()):
            accuracies[row, column] = accuracy(suite, state, task, x, y, device, mixed)
    return xr.DataArray(accuracies, {"model": list(models), "task": list(data)}, ("model", "task"),
                        attrs={"images": [len(y) for _, y in data.values()]})


def forward(suite: Suite) -> Callable[[State, Tensor, int], Tensor]:
    """What AdaMerging asks: (state dict, prepared images, task's number) -> logits, differentiable in the state."""
    of_task = list(suite.heads.values())

    def answer(state, x, task):
        pooled = towers.pooled(state, x, suite.tower)
        return heads.logits(pooled, suite.projection.to(pooled), of_task[task].to(pooled), suite.scale)
    return answer
