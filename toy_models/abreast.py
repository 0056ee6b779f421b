"""Many small MLPs of one architecture, trained abreast on the same batches: starts that are compared with each other.

Their weights are stacked, {key: (networks, …)}, in float64, and every step is one product for all of them. What fits
into a processor's cache together goes together (`groups`): measured, 31 networks 196–100–10 in one stack take twice as
long as in groups of four.
"""
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from data import threads
from toy_models import training, weights
from toy_models.mlp import threshold_backward
from toy_models.weights import State

Stack = dict[str, Tensor]
_NUMBERS = 200_000  # of float64, that a group's widest layer holds for one batch
_BETAS, _EPSILON = (0.9, 0.999), 1e-8  # torch's, for Adam


@dataclass(frozen=True)
class Moment:
    """Every network after some steps.

    Attributes:
        steps: how many were taken.
        loss: (networks,), mean cross-entropy (nats) on the batch that comes next.
        slope: (networks,), the length of its gradient.
        stack: the weights. They go on changing: keep a copy.
    """
    steps: int
    loss: Tensor
    slope: Tensor
    stack: Stack


def stacked(states: Sequence[State]) -> Stack:
    """State dicts of one architecture as one stack in float64; copies.

    Raises:
        ValueError: they do not belong together; the message names the key.
    """
    weights.check(*states)
    return {key: torch.stack([state[key].double() for state in states]) for key in states[0]}


def single(stack: Stack, number: int) -> State:
    """One network of a stack, as the zoo would keep it: float32 copies."""
    return {key: tensor[number].to(torch.float32, copy=True) for key, tensor in stack.items()}


def logits(stack: Stack, x: Tensor) -> Tensor:
    """What every network says: (networks, samples, classes); x is (samples, …)."""
    return _forward(stack, x.flatten(1).double())[-1]


def scores(stack: Stack, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy (nats) and accuracy of every network, each (networks,)."""
    loss, right = [], []
    for number in range(_count(stack)):
        threads.stop_if_asked()
        said = logits({key: tensor[number:number + 1] for key, tensor in stack.items()}, x)[0]
        loss.append(F.cross_entropy(said, y))
        right.append((said.argmax(1) == y).double().mean())
    return torch.stack(loss), torch.stack(right)


def descend(stack: Stack, batches: Iterable[tuple[Tensor, Tensor]], lr: float | Tensor,
            optimiser: str = "sgd") -> Iterator[Moment]:
    """Yield every moment before a step, from the first batch to the last, and take that step. The stack that is given
    stays as it is.

    Args:
        stack: the starts.
        batches: x (samples, …) and y (samples,).
        lr: the learning rate, or one a network, (networks,).
        optimiser: "sgd" or "adam".

    Raises:
        ValueError: another optimiser, or a learning rate too many.
    """
    stack = {key: tensor.clone() for key, tensor in stack.items()}
    lr = torch.as_tensor(lr, dtype=torch.float64)
    if lr.ndim and lr.shape != (_count(stack),):
        raise ValueError(f"lr must be one number, or one for each of {_count(stack)} networks, not {tuple(lr.shape)}")
    if optimiser not in ("sgd", "adam"):
        raise ValueError(f"unknown optimiser {optimiser!r}: choose sgd or adam")
    rule = _Adam(stack) if optimiser == "adam" else _sgd
    for number, (x, y) in enumerate(batches):
        threads.stop_if_asked()
        loss, gradient = slopes(stack, x, y)
        yield Moment(number, loss, length(gradient), stack)
        rule(stack, gradient, lr)


def length(stack: Stack) -> Tensor:
    """The Euclidean length of every network's vector, (networks,)."""
    return torch.stack([part.flatten(1).square().sum(1) for part in stack.values()]).sum(0).sqrt()


@torch.inference_mode()
def slopes(stack: Stack, x: Tensor, y: Tensor) -> tuple[Tensor, Stack]:
    """Every network's mean cross-entropy on a batch, (networks,), and its gradient, a stack."""
    h = _forward(stack, x.flatten(1).double())
    told = h.pop().log_softmax(2)
    labels = y.expand(len(told), -1)[..., None]
    loss = -told.gather(2, labels).mean((1, 2))
    delta = told.exp_().scatter_add_(2, labels, told.new_tensor(-1.0).expand(labels.shape)).div_(len(y))
    gradient = {}
    for layer in reversed(range(len(h))):
        gradient[f"layers.{layer}.weight"] = delta.transpose(1, 2) @ h[layer]
        gradient[f"layers.{layer}.bias"] = delta.sum(1)
        if layer:
            delta = threshold_backward(delta @ stack[f"layers.{layer}.weight"], h[layer], 0)
    return loss, gradient


def groups(stack: Stack, batch: int) -> list[Stack]:
    """The stack in pieces that fit into a processor's cache with a batch of so many samples."""
    widest = max(tensor.shape[-1] for tensor in stack.values())
    size = max(1, _NUMBERS // (batch * widest))
    return [{key: tensor[first:first + size] for key, tensor in stack.items()}
            for first in range(0, _count(stack), size)]


def in_groups(work: Callable[[Stack, slice], dict[str, Tensor]], stack: Stack, batch: int) -> dict[str, Tensor]:
    """work(group, which of the networks it holds) for all `groups`, on all cores; what it returns, {name: (networks in
    the group, …)}, put together again.
    """
    pieces = groups(stack, batch)
    sizes = [_count(piece) for piece in pieces]
    places = [slice(sum(sizes[:i]), sum(sizes[:i + 1])) for i in range(len(sizes))]
    with training.one_thread():
        parts = threads.side_by_side(lambda both: work(*both), list(zip(pieces, places)))
    return {name: torch.cat([one[name] for one in parts]) for name in parts[0]}


def batches(x: Tensor, y: Tensor, steps: int, size: int | None = 64,
            seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """So many batches, epoch after epoch in a new order each, which belongs to the seed; an epoch's last batch may be
    smaller. `size` None: all samples every time.
    """
    if size is None:
        return [(x, y)] * steps
    order = torch.Generator().manual_seed(seed)
    taken = []
    while len(taken) < steps:
        taken += torch.randperm(len(x), generator=order).split(size)
    return [(x[chosen], y[chosen]) for chosen in taken[:steps]]


def _count(stack):
    return len(next(iter(stack.values())))


def _forward(stack, x):
    """What goes into every layer, (networks, samples, inputs), and what comes out of the last."""
    last = len(stack) // 2 - 1
    h = [x.expand(_count(stack), *x.shape)]
    for layer in range(last + 1):
        out = torch.baddbmm(stack[f"layers.{layer}.bias"][:, None], h[-1],
                            stack[f"layers.{layer}.weight"].transpose(1, 2))
        h.append(out.relu_() if layer < last else out)
    return h


def _sgd(stack, gradient, lr):
    for key, part in gradient.items():
        stack[key] -= _for_each(lr, part) * part


class _Adam:
    """torch.optim.Adam with its defaults, for every network of a stack."""

    def __init__(self, stack):
        self._steps = 0
        self._mean = {key: torch.zeros_like(tensor) for key, tensor in stack.items()}
        self._square = {key: torch.zeros_like(tensor) for key, tensor in stack.items()}

    def __call__(self, stack, gradient, lr):
        self._steps += 1
        of_mean, of_square = (1 - beta ** self._steps for beta in _BETAS)
        for key, part in gradient.items():
            self._mean[key].lerp_(part, 1 - _BETAS[0])
            self._square[key].mul_(_BETAS[1]).addcmul_(part, part, value=1 - _BETAS[1])
            size = (self._square[key] / of_square).sqrt_().add_(_EPSILON)
            stack[key] -= _for_each(lr, part) * (self._mean[key] / of_mean) / size


def _for_each(lr, part):
    """The learning rates, ready to be multiplied with a stacked tensor."""
    return lr.reshape(-1, *[1] * (part.ndim - 1)) if lr.ndim else lr
