"""Theorem 2 of CART on a linear model: task interference L ≤ n·(k₃·I + T(T − 1)·k₄·η)², and what its assumptions must
say for it to hold.

Models are matrices, y = (θ₀ + τ_t)x; the inputs of task t are x = V_t a + ε with ‖a‖ ≤ c·s_max and ‖ε‖ ≤ η.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from lessons.cart.algorithms.interference import interference

NEGLIGIBLE = 1e-9  # of the largest singular value: what lies below is rounding
Vectors = Sequence[Float[Tensor, "m n"]]
Inputs = Sequence[Float[Tensor, "_ n"]]


def task_interference(vectors: Vectors, inputs: Inputs) -> float:
    """L = Σ_t Σ_i ‖(θ₀ + Σ_s τ_s) x_ti − (θ₀ + τ_t) x_ti‖² = Σ_t Σ_i ‖Σ_{s≠t} τ_s x_ti‖²; θ₀ drops out.

    Args:
        vectors: τ_t, one a task.
        inputs: x_t (samples, n), one a task.
    """
    total = sum(vectors)
    return sum((x @ (total - own).T).square().sum().item() for own, x in zip(vectors, inputs))


@dataclass(frozen=True)
class Bound:
    """Both sides of Theorem 2: L, I and n·(k₃·I + T(T − 1)·k₄·η)²."""
    interference: float
    loss: float
    bound: float

    @property
    def holds(self) -> bool:
        """The bound is not below L, up to rounding."""
        return self.loss <= self.bound * (1 + 1e-9) + 1e-12


def theorem_2(vectors: Vectors, inputs: Inputs, c: float, eta: float, reading: str = "meant",
              rank: int | None = None) -> Bound:
    """Both sides of the theorem, with k₃ = s_max⁴·c·r/α² and k₄ = s_max, where s_max and α are the largest and smallest
    singular value of any τ_t that is not zero and r the largest rank.

    Args:
        vectors: τ_t.
        inputs: x_t (n_t, n); the theorem's n is the largest n_t.
        c, eta: of the assumption on the inputs.
        reading: of I, see `interference`.
        rank: k of I(k); None for all singular values.
    """
    _, sigma, right = torch.linalg.svd(torch.stack(list(vectors)).double(), full_matrices=False)
    there = sigma > NEGLIGIBLE * sigma.max()
    top = sigma.max().item()
    least = sigma[there].min().item()
    r = int(there.sum(1).max())
    tasks = len(vectors)
    left = interference((sigma * there)[..., None] * right, reading)[(rank or r) - 1].item()
    reach = top ** 4 * c * r / least ** 2 * left + tasks * (tasks - 1) * top * eta
    loss = task_interference([vector.double() for vector in vectors], [x.double() for x in inputs])
    return Bound(left, loss, max(map(len, inputs)) * reach ** 2)


def planted(overlap: float, tasks: int = 3, rank: int = 2, size: int = 24, least: float = 0.5, samples: int = 20,
            noise: float = 0.0, generator: torch.Generator | None = None,
            ) -> tuple[list[Float64[Tensor, "size size"]], list[Float64[Tensor, "samples size"]]]:
    """Task vectors τ_t with planted row spaces, and inputs x_t that lie in them.

    Every row space is spanned by √overlap times a common orthonormal basis plus √(1 − overlap) times one of its own: at
    0 the row spaces are orthogonal, at 1 they are the same one. Singular values are drawn from [least, 1]; inputs have
    ‖a‖ = 1 and ‖ε‖ = noise.

    Raises:
        ValueError: the space has too few dimensions for orthogonal row spaces, or overlap is no share.
    """
    if size < rank * (tasks + 1) or not 0 <= overlap <= 1:
        raise ValueError("overlap must be a share from 0 to 1 and size at least rank · (tasks + 1) = "
                         f"{rank * (tasks + 1)}, not {overlap!r} and {size}")
    generator = generator or torch.Generator().manual_seed(0)
    basis = _orthonormal(size, rank * (tasks + 1), generator).split(rank, 1)
    vectors = []
    inputs = []
    for own in basis[1:]:
        right = overlap ** 0.5 * basis[0] + (1 - overlap) ** 0.5 * own
        sigma = least + (1 - least) * torch.rand(rank, generator=generator, dtype=torch.float64)
        vectors.append(_orthonormal(size, rank, generator) * sigma @ right.T)
        inputs.append(_directions(samples, rank, generator) @ right.T + noise * _directions(samples, size, generator))
    return vectors, inputs


def counterexample(which: str) -> tuple[list[Tensor], list[Tensor], dict]:
    """Three tasks with which the theorem fails when it is read too literally: (τ_t, x_t, further arguments of
    `theorem_2`).

    Args:
        which: "square V": a has d entries, so V_t is the square matrix of the full decomposition, V_t a is any vector,
            and an input of task 1 may be what task 2 reads, though I = 0. "I(k)": k is smaller than the rank, the first
            k directions are orthogonal and those behind are not.

    Raises:
        ValueError: another name.
    """
    unit = torch.eye(6, dtype=torch.float64)
    apart = [torch.outer(unit[i], unit[i]) for i in range(3)]
    if which == "square V":
        return apart, [unit[1:2], unit[1:2], unit[2:3]], {"c": 1.0, "eta": 0.0}
    if which == "I(k)":
        common = 0.9 * torch.outer(unit[4], unit[3])
        return [vector + common for vector in apart], [unit[3:4]] * 3, {"c": 1.0, "eta": 0.0, "rank": 1}
    raise ValueError(f"there is no counterexample {which!r}; there are \"square V\" and \"I(k)\"")


def _orthonormal(rows, columns, generator):
    return torch.linalg.qr(torch.randn(rows, columns, generator=generator, dtype=torch.float64)).Q


def _directions(samples, size, generator):
    return torch.nn.functional.normalize(torch.randn(samples, size, generator=generator, dtype=torch.float64))
