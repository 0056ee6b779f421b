"""Task arithmetic beside joint training, step by step, and what lies between the two (TVG, Theorem 1 and Lemma 1).

Weights are vectors θ (parameters,), a task is its loss θ ↦ a number, a path is (steps + 1, parameters) with θ_base
first. T is the number of tasks.
"""
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lessons.gradients.algorithms.networks import Function

Number = float | Tensor  # a tensor without dimensions where a function is mapped over many
Vector = Float[Tensor, " parameters"]
Path = Float[Tensor, "points parameters"]
Paths = Float[Tensor, "T points parameters"]


def gradient(f: Function, theta: Vector) -> Vector:
    """∇f(θ)."""
    return torch.func.grad(f)(theta)


def hessian_vector_product(f: Function, theta: Vector, vector: Vector) -> Vector:
    """∇²f(θ)·v: how fast the gradient changes when θ moves along v. No Hessian is made.

    Unlike chapter 5's, it can be mapped over many θ at once (`torch.vmap`).
    """
    return torch.func.jvp(torch.func.grad(f), (theta,), (vector,))[1]


def task_vector_of_one_step(f: Function, theta: Vector, eta: Number) -> Vector:
    """τ = −η·∇f(θ): what one full-batch step of gradient descent adds to θ (Zhou, Solombrino et al. 2025,
    Remark 1)."""
    return -eta * gradient(f, theta)


def descend(f: Function, theta: Vector, eta: Number, steps: int) -> Path:
    """The path (steps + 1, parameters) of gradient descent on f from θ with step size η; `eta` may be a tensor without
    dimensions.
    """
    path = [theta]
    for _ in range(steps):
        path.append(path[-1] + task_vector_of_one_step(f, path[-1], eta))
    return torch.stack(path)


def total(tasks: Sequence[Function], alpha: Number = 1.0) -> Function:
    """α·Σ_t L_t: descending it with step size η is joint training with step size αη."""
    return lambda theta: alpha * sum(f(theta) for f in tasks)


def task_arithmetic(theta_base: Float[Tensor, "... parameters"], finetuned: Float[Tensor, "T ... parameters"],
                    alpha: Number) -> Float[Tensor, "... parameters"]:
    """θ_base + α·Σ_t (θ_t − θ_base)."""
    return theta_base + alpha * (finetuned - theta_base).sum(0)


def mismatch(gradients: Float[Tensor, "T parameters"], alpha: Number) -> Float[Tensor, "T parameters"]:
    """r_t = α·Σ_t' ∇L_t' − ∇L_t of every task: how a step on task t alone differs from a joint step, over η (TVG,
    Eq. 6).

    Args:
        gradients: ∇L_t at one θ.
    """
    return alpha * gradients.sum(0) - gradients


def mismatches(tasks: Sequence[Function], path: Path, alpha: Number) -> Float[Tensor, "steps T parameters"]:
    """r_t at every point of a path but the last."""
    along = [torch.vmap(torch.func.grad(f))(path[:-1]) for f in tasks]  # every point of the path at once
    return torch.vmap(lambda gradients: mismatch(gradients, alpha))(torch.stack(along, 1))


def drift(r: Float[Tensor, "steps parameters"]) -> Float[Tensor, "steps+1 parameters"]:
    """p[k] = Σ_{m<k} r(θ_MT^(m)): how far a task has drifted from the joint path after k steps, over η, to first order.
    p[0] = 0.

    Args:
        r: one task's mismatches.
    """
    return torch.cat([torch.zeros_like(r[:1]), r.cumsum(0)])


def bending(f: Function, path: Path, p: Path, behind: int = 0) -> Path:
    """s[k] = Σ_{e=1}^{k−1} ∇²f(θ_MT^(e))·p[e]: what the drift does to a task's gradients, summed over k steps.
    s[0] = s[1] = 0.

    Args:
        path: of joint training.
        p: the task's `drift`.
        behind: take the Hessian so many steps earlier; TVG's Eq. 3 has it one step earlier, which is the same to this
            order.
    """
    if len(path) < 3:
        return torch.zeros_like(path)
    points = path[1 - behind:len(path) - 1 - behind]
    turned = torch.vmap(lambda theta, vector: hessian_vector_product(f, theta, vector))(points, p[1:-1])
    return torch.cat([torch.zeros_like(path[:2]), turned.cumsum(0)])


def bendings(tasks: Sequence[Function], path: Path, alpha: Number, behind: int = 0) -> tuple[Paths, Paths]:
    """`drift` and `bending` of every task along the joint path."""
    r = mismatches(tasks, path, alpha)
    drifts = torch.stack([drift(r[:, t]) for t in range(len(tasks))])
    return drifts, torch.stack([bending(f, path, p, behind) for f, p in zip(tasks, drifts)])


def second_order(s: Float[Tensor, "T *points parameters"], eta: Number,
                 alpha: Number) -> Float[Tensor, "*points parameters"]:
    """−α·η²·Σ_t s_t: the gap θ_TA − θ_MT up to O(η³), derived in the chapter.

    Args:
        s: the tasks' `bending`.
    """
    return -alpha * eta ** 2 * s.sum(0)


def printed(s: Float[Tensor, "T *points parameters"], eta: Number) -> Float[Tensor, "*points parameters"]:
    """+η²/2·C with C = Σ_t s_t: the same term as TVG prints it (Eq. 2, 3)."""
    return eta ** 2 / 2 * s.sum(0)


def order(eta_a: float, error_a: float, eta_b: float, error_b: float) -> float:
    """The p for which error ∝ η^p, from the errors (lengths, above 0) at two step sizes.

    Raises:
        ValueError: a number is not above 0, or both step sizes are the same.
    """
    values = torch.tensor([eta_a, error_a, eta_b, error_b], dtype=torch.float64)
    if not (values > 0).all() or eta_a == eta_b:
        raise ValueError("an order needs two different step sizes and two errors, all above 0")
    log = values.log()
    return ((log[3] - log[1]) / (log[2] - log[0])).item()
