"""CART at many ranks from one pass: every matrix is decomposed once, and Σ_t SVD_k(θ_t − θ_avg) goes to one file a
rank. Every λ is then θ_avg + λ·total, two tensors at a time.

`lessons.cart`'s `Spectra` keeps both factors of every matrix in memory: 8 GB for eight ViT-B/32. This holds one matrix
of every task.
"""
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from tqdm.auto import tqdm

from data import store
from data.pinning import pinned
from lessons.checkpoints import folders
from lessons.checkpoints.folders import NAMES, Tensors, entry_of
from lessons.checkpoints.opening import Entry
from lessons.checkpoints.shards import Writer
from lessons.checkpoints.together import together
from lessons.merging.lowrank import factors, is_matrix, rank_of
from lessons.merging.states import difference, mean
from toy_models.weights import State

AVERAGE = "average.safetensors"


def file_of(ratio: float) -> str:
    """The file that holds the sums of a rank ratio."""
    return f"total_{ratio:g}.safetensors"


@pinned()
def write(folder: str | os.PathLike, base: State, finetuned: Sequence[State], ratios: Sequence[float],
          progress: bool = True) -> Path:
    """Write θ_avg and, for every ratio, Σ_t SVD_k(θ_t − θ_avg) of every matrix; other tensors are in the average
    alone.

    Args:
        folder: where the files go; those that are there are written anew.
        ratios: of k to the shorter side, below 1 (at full rank the sum is zero).

    Raises:
        StoreError: the folder cannot be written, or the disk is full. Files that were there before stay as they were.
    """
    start, tuned, _ = together(base, finetuned)
    folder = store.writable(Path(folder).expanduser())
    shapes = {key: entry_of(start, key).shape for key in start}
    matrices = {key: shape for key, shape in shapes.items() if _truncated(shape)}
    files = [folder / name for name in (AVERAGE, *map(file_of, ratios))]
    with contextlib.ExitStack() as held:
        writers = [_begun(file, shapes if file.name == AVERAGE else matrices, held) for file in files]
        with torch.no_grad(), store.told_if_full(folder / "the sums of CART"):
            for key in tqdm(shapes, unit="tensor", disable=not progress):
                average = mean(key, tuned)
                writers[0].add(average.float())
                if key in matrices:
                    for writer, total in zip(writers[1:], sums(key, average, tuned, ratios)):
                        writer.add(total)
            for writer in writers:
                writer.close()
        for file in files:
            os.replace(store.part_of(file, threads=True), file)
    return folder


def _begun(file, shapes, held):
    """The writer of a file that gets its name later; when `held` ends, nothing half-written is left."""
    store.clear_leftovers(file)
    part = store.part_of(file, threads=True)
    held.callback(part.unlink, missing_ok=True)
    with store.told_if_full(file):
        writer = Writer(part, {key: Entry(NAMES[torch.float32], tuple(shape)) for key, shape in shapes.items()})
    held.callback(writer.give_up)
    return writer


def _truncated(shape):
    return is_matrix(torch.empty(shape, device="meta"), "flatten")


def sums(key: str, average: Tensor, finetuned: Sequence[State], ratios: Sequence[float]) -> Tensor:
    """Σ_t SVD_k(θ_t − θ_avg) of one matrix at every ratio: (ratios, *shape)."""
    rows, columns = average.flatten(1).shape
    ranks = [rank_of(ratio, min(rows, columns), "ceil") for ratio in ratios]
    total = torch.zeros(len(ratios), rows, columns)
    for state in finetuned:
        left, right = factors(difference(key, state, average).flatten(1), max(ranks))
        done, sofar = 0, torch.zeros(rows, columns, dtype=torch.float64)
        for place in sorted(range(len(ranks)), key=ranks.__getitem__):
            rank = ranks[place]
            sofar += left[:, done:rank] @ right[done:rank]
            total[place] += sofar
            done = rank
    return total.view(len(ratios), *average.shape)


class Cart(Tensors):
    """θ_avg + λ·Σ_t SVD_k(θ_t − θ_avg), from the files that `write` made; tensors are made when they are asked for.

    Attributes:
        scale: λ.
    """

    def __init__(self, folder: str | os.PathLike, ratio: float, scale: float):
        folder = Path(folder).expanduser()
        self.average = folders.opened(folder / AVERAGE)
        self.total = folders.opened(folder / file_of(ratio))
        self.scale = scale
        self.shown = self.average.entries

    def __getitem__(self, key: str) -> Tensor:
        average = self.average[key]
        return average + self.scale * self.total[key] if key in self.total else average

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor."""
        return Entry(NAMES[torch.float32], self.average.entries[key].shape)
