"""Interference on one page: two tasks, one matrix of 4 × 5 weights, and TIES in its three steps.

A linear layer y = (W₀ + τ)x is finetuned on two tasks. A task sees only some of the five inputs. There its task vector
holds what it has learned; in the columns of inputs that it never sees, small leftovers that it does not need. What a
task loses by a merge can be read off the weights alone.
"""
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lessons.merging.sparse import floor_of
from toy_models import weights
from toy_models.weights import State

OUTPUTS, INPUTS = 4, 5
DENSITIES = tuple(tenth / 10 for tenth in range(11))
SEEN = {  # how many inputs both tasks see: those of A and those of B
    "one of five": ((0, 1, 2), (2, 3, 4)),
    "none": ((0, 1, 2), (3, 4)),
    "all five": (tuple(range(INPUTS)),) * 2,
}
AGREEMENTS = {"TIES: mean of the elected": "ties", "mean of both": "mean", "sum of both": "sum",
              "sum of both, λ at its best": "tuned sum"}
LEARNED, LEFTOVER = 2.0, 0.5  # standard deviations of the weights that a task needs and of those that it does not


@dataclass(frozen=True)
class Toy:
    """Two task vectors and what each task sees."""
    vectors: Tensor  # τ_A and τ_B, (2, outputs, inputs), with one decimal
    seen: Tensor  # {0, 1} (2, inputs), 1 where the task sees the input

    def errors(self, merged: Tensor) -> Tensor:
        """What the merge costs each task: Σ (merged − τ_t)² / Σ τ_t² over the columns of the inputs that it sees, (2,).

        For independent inputs of variance 1 that is the squared error of the outputs beside the finetuned layer's, as a
        share of what W₀ alone has: 0 is as good as the task's own layer, 1 as bad as W₀.
        """
        seen = self.seen[:, None]
        lost = ((merged - self.vectors).square() * seen).sum((1, 2))
        learned = (self.vectors.square() * seen).sum((1, 2))
        return lost / learned


def toy(shared: str = "one of five", seed: int = 70) -> Toy:
    """The toy, made up of random numbers; `shared`, a key of SEEN, says how many inputs both tasks see."""
    generator = torch.Generator().manual_seed(seed)
    seen = torch.zeros(2, INPUTS)
    for row, columns in zip(seen, SEEN[shared]):
        row[list(columns)] = 1.0
    drawn = torch.randn(2, OUTPUTS, INPUTS, generator=generator)
    vectors = drawn * (LEFTOVER + (LEARNED - LEFTOVER) * seen[:, None])
    rounded = (10 * vectors).round() / 10
    return Toy(torch.where(rounded == 0, 0.1, rounded), seen)


# -- the three steps -------------------------------------------------------------------------------

def trimmed(vector: Tensor, density: float) -> Tensor:
    """Step 1: keep the ⌊density · entries⌋ entries of largest magnitude, set the others to 0 (TIES, algorithm 1).

    Entries that tie with the smallest one kept stay too.

    Args:
        vector: a task vector of any shape.
        density: the share that is kept, from 0 to 1.
    """
    kept = floor_of(density, vector.numel())
    if kept == 0:
        return torch.zeros_like(vector)
    smallest = vector.abs().flatten().sort(descending=True).values[kept - 1]
    return torch.where(vector.abs() >= smallest, vector, 0.0)


def elected(stack: Tensor) -> Tensor:
    """Step 2: the sign that the tasks elect for every entry, that of their sum: (tasks, …) -> −1, 0 or 1 (…)."""
    return stack.sum(0).sign()


def mean_of_those(stack: Tensor) -> Tensor:
    """Step 3: for every entry the mean over the tasks whose entry has the elected sign: (tasks, …) -> (…); 0 where
    there is none."""
    chosen = stack * elected(stack) > 0
    return (stack * chosen).sum(0) / chosen.sum(0).clamp(min=1)


def merged(toy: Toy, density: float, agreement: str) -> tuple[Tensor, Tensor]:
    """Both task vectors trimmed, (2, outputs, inputs), and merged, (outputs, inputs).

    Args:
        toy: the two task vectors.
        density: the share of each that is kept.
        agreement: a value of AGREEMENTS.
    """
    stack = torch.stack([trimmed(vector, density) for vector in toy.vectors])
    if agreement == "tuned sum":
        total = stack.sum(0)
        return stack, best_scale(toy, total) * total
    return stack, _AGREED[agreement](stack)


_AGREED = {"ties": mean_of_those, "mean": lambda stack: stack.mean(0), "sum": lambda stack: stack.sum(0)}


def best_scale(toy: Toy, merged: Tensor) -> float:
    """The λ with which λ·merged costs both tasks least together: the minimum of a parabola."""
    weight = toy.seen[:, None] / (toy.vectors.square() * toy.seen[:, None]).sum((1, 2), keepdim=True)
    fits = (weight * merged * toy.vectors).sum()
    square = (weight * merged.square()).sum()
    return (fits / square).item() if square else 0.0


def draws(shared: str, count: int = 100) -> np.ndarray:
    """What four ways of merging cost in so many toys, drawn anew: (count, 4), mean of both tasks' errors.

    The columns: the plain average; the sum of both at its best λ; TIES at its best density; TIES at its best density
    and λ. The best are those for this toy, so each is the least that the method can cost.
    """
    losses = []
    for seed in range(count):
        made = toy(shared, seed)
        total = made.vectors.sum(0)
        ties = [merged(made, density, "ties")[1] for density in DENSITIES]
        scaled = [best_scale(made, vector) * vector for vector in ties]
        tried = ([total / 2], [best_scale(made, total) * total], ties, scaled)
        costs = [[made.errors(vector).mean().item() for vector in vectors] for vectors in tried]
        losses.append([min(of_way) for of_way in costs])
    return np.array(losses)


def conflicts(stack: Tensor) -> Tensor:
    """Where two tasks pull an entry in opposite directions: (2, …) -> boolean (…)."""
    return stack[0] * stack[1] < 0


# -- the other way out -----------------------------------------------------------------------------

def centred(finetuned: list[State]) -> list[State]:
    """θ_t − θ_avg for every model; they sum to zero (CART, Eq. 3).

    Args:
        finetuned: state dicts, one a task. Tensors that are not floating-point are carried over.
    """
    average = weights.average(finetuned)
    return [weights.subtract(state, average) for state in finetuned]
