"""AdaMerging: one λ per task, or per task and tensor, found by making the merged model's predictions on unlabelled
inputs certain.
"""
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from lessons.merging.lowrank import Convolutions, Decomposition, Rounding, is_matrix, low_rank, rank_of
from lessons.merging.registry import Count, Needs, Positive, Scale, Share, method
from lessons.merging.states import by_tensor, difference, mean, task_vectors, wide
from toy_models.weights import State, must_fit

Forward = Any  # Callable[[State, Tensor, int], Tensor], which `adapted_scales` checks itself
Batches = Any  # Sequence[Sequence[Tensor]], as well
STATISTICS = ("running_mean", "running_var")  # of BatchNorm: no gradient leads through them


def entropy(logits: Float[Tensor, "samples classes"]) -> Float[Tensor, ""]:
    """The mean Shannon entropy of the predictions, in nats: −1/n Σ_x Σ_c p(c|x) log p(c|x)."""
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()


def combined(origin: State, vectors: Mapping[str, Float[Tensor, "tasks ..."]],
             scales: Mapping[str, Float[Tensor, " tasks"]]) -> State:
    """origin + Σ_t λ_t · vector_t for every key of `vectors`, differentiable in λ; the other keys are those of
    `origin`.
    """
    def moved(key, tensor):
        return tensor + torch.einsum("t,t...->...", scales[key].to(tensor), vectors[key])
    return {key: moved(key, tensor) if key in vectors else tensor for key, tensor in origin.items()}


def plain(base: State, finetuned: Sequence[State]) -> tuple[State, State]:
    """What `adamerging` combines: θ₀ and {key: τ (tasks, …)}, floating-point keys only."""
    vectors = {key: must_fit(key, task_vectors(key, base, finetuned))
               for key, tensor in base.items() if tensor.is_floating_point()}
    return {key: wide(tensor) if key in vectors else tensor.clone() for key, tensor in base.items()}, vectors


def centred(base: State, finetuned: Sequence[State], rank_ratio: float, rounding: Rounding = "ceil",
            convolutions: Convolutions = "flatten", decomposition: Decomposition = "auto") -> tuple[State, State]:
    """What `adamerging_cart` combines: θ_avg and {key: SVD_k(θ_t − θ_avg) (tasks, …)}, floating-point keys only;
    arguments as for `cart`.
    """
    origin = {key: tensor.clone() for key, tensor in base.items()}
    vectors = {}
    for key, tensor in base.items():
        if tensor.is_floating_point():
            origin[key] = mean(key, finetuned)
            vectors[key] = torch.stack([difference(key, state, origin[key]) for state in finetuned])
            if is_matrix(tensor, convolutions):
                for vector in vectors[key]:
                    matrix = vector.flatten(1)
                    rank = rank_of(rank_ratio, min(matrix.shape), rounding)
                    vector.copy_(low_rank(matrix, rank, decomposition).view_as(vector))
    return origin, vectors


def adapted_scales(origin: State, vectors: State, forward: Forward, batches: Batches, per: str, start: float,
                   steps: int, lr: float, clamp: bool) -> tuple[dict[str, Float64[Tensor, " tasks"]], list[float]]:
    """Find λ by Adam on the entropy of the merged model's predictions, summed over tasks.

    Args:
        origin, vectors: as for `combined`.
        forward, batches, per, start, steps, lr, clamp: as for `adamerging`.

    Returns:
        {key: λ}, and the summed entropy before every step.

    Raises:
        ValueError: there are not inputs for every task, or an entropy is not finite.
    """
    tasks = len(next(iter(vectors.values())))
    _check_inputs(forward, batches, tasks)
    layers = len(vectors) if per == "layer" else 1
    raw = torch.full((tasks, layers), float(start), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([raw], lr=lr)
    entropies = []

    def scales():
        columns = (raw.clamp(0, 1) if clamp else raw).expand(tasks, len(vectors)).unbind(1)
        return dict(zip(vectors, columns))

    for step in range(steps):
        with torch.enable_grad():
            merged = combined(origin, vectors, scales())
            state = {key: tensor.detach() if key.endswith(STATISTICS) else tensor for key, tensor in merged.items()}
            loss: Tensor = sum(entropy(forward(state, of_task[step % len(of_task)], task))  # type: ignore[assignment]
                               for task, of_task in enumerate(batches))
        if not loss.isfinite():
            raise ValueError(f"the entropy is {loss.item()} after {step} steps: the merged model gives logits that are "
                             "not finite. Take a smaller start or lr.")
        (raw.grad,) = torch.autograd.grad(loss, [raw])
        optimiser.step()
        entropies.append(loss.item())
    return {key: column.detach() for key, column in scales().items()}, entropies


def _check_inputs(forward, batches, tasks):
    if not callable(forward):
        raise ValueError(f"forward must be a function (state dict, inputs, task) -> logits, not {forward!r}")
    lists = isinstance(batches, Sequence) and all(isinstance(of_task, Sequence) for of_task in batches)
    if not lists or len(batches) != tasks or not all(map(len, batches)):
        raise ValueError(f"batches must be {tasks} lists, one a task, each of at least one batch of inputs")


@method("AdaMerging", source="Yang et al. 2024, §3; CART, §5", needs=[Needs.INPUTS],
        drops="nothing", combines="a λ for every layer and task, found on unlabelled images")
def adamerging(base: State, finetuned: Sequence[State], *, forward: Forward, batches: Batches,
               per: Literal["layer", "task"] = "layer", start: Scale = 0.3, steps: Count = 500, lr: Positive = 0.001,
               clamp: bool = True) -> State:
    """θ₀ + Σ λ_t^l · τ_t^l, the λ found by minimising the entropy of the predictions on unlabelled inputs.

    Args:
        forward: (state dict, inputs, task) -> logits (samples, classes), differentiable in the state dict, say
            `lambda state, x, task: torch.func.functional_call(network, state, (x,))`.
        batches: unlabelled inputs, one sequence of batches a task; step i uses batch i of every task, from the first
            again after the last.
        per: "layer" one λ per task and tensor (what the paper calls layer-wise and its code does per parameter
            tensor), "task" one per task. A λ per layer of BatchNorm's running statistics stays at `start`: they have
            no gradient.
        start: λ before the first step.
        steps: how many; 0 gives task arithmetic with λ = start.
        lr: of Adam (the paper's code; CART's algorithm 2 writes plain gradient descent).
        clamp: keep every λ in [0, 1] (the paper's code).
    """
    return _adapted(base, *plain(base, finetuned), forward, batches, per, start, steps, lr, clamp)


@method("AdaMerging + CART", source="CART, Eq. 8 and algorithm 2", needs=[Needs.INPUTS],
        drops="as CART", combines="as AdaMerging")
def adamerging_cart(base: State, finetuned: Sequence[State], *, forward: Forward, batches: Batches,
                    rank_ratio: Share = 0.08, rounding: Rounding = "ceil", per: Literal["layer", "task"] = "layer",
                    start: Scale = 1.0, steps: Count = 500, lr: Positive = 0.001, clamp: bool = False,
                    convolutions: Convolutions = "flatten", decomposition: Decomposition = "auto") -> State:
    """θ_avg + Σ λ_t^l · SVD_k(θ_t^l − θ_avg^l), the λ found by minimising the entropy of the predictions on unlabelled
    inputs.

    Tensors that are not matrices enter untruncated, θ_t − θ_avg with a λ of their own; with equal λ these sum
    to zero, as in `cart`.

    Args:
        forward: see `adamerging`.
        batches: see `adamerging`.
        rank_ratio: see `cart`.
        rounding: see `cart`.
        per: see `adamerging`.
        start: λ before the first step; with steps = 0 the result is `cart` with this scale.
        steps: how many.
        lr: of Adam.
        clamp: keep every λ in [0, 1]; CART's own λ lie above 1.
        convolutions: see `cart`.
        decomposition: see `factors`.
    """
    origin, vectors = centred(base, finetuned, rank_ratio, rounding, convolutions, decomposition)
    return _adapted(base, origin, vectors, forward, batches, per, start, steps, lr, clamp)


def _adapted(base, origin, vectors, forward, batches, per, start, steps, lr, clamp):
    scales, _ = adapted_scales(origin, vectors, forward, batches, per, start, steps, lr, clamp)
    merged = combined(origin, vectors, scales)
    return by_tensor(base, lambda key: merged[key])
