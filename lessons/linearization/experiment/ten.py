"""Ten digits, cross-entropy: chapter 1's pretrained MLP finetuned on turned digits, and its tangent beside it, by SGD
or Adam with the decoupled pull of LFT §2."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F

import data
from lessons import cast
from lessons.linearization.algorithms import finetuning
from lessons.linearization.algorithms.finetuning import Plan
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.algorithms.tangent import Tangent, gap
from toy_models import Recipe, weights, zoo

NET = Net((784, 100, 100, 100, 10), "ReLU")
BEHIND = 20_000  # images for finetuning lie behind these, or from the front where there are no more
LOOKED_AT = 500  # training samples on which losses and gaps are measured


@dataclass(frozen=True)
class Task:
    """What chapter 1's network is finetuned on and tried on; all in float64.

    Attributes:
        theta_0: its weights.
        x, y: training images, flat, and their digits.
        x_test, y_test: others.
    """
    theta_0: torch.Tensor
    x: torch.Tensor
    y: torch.Tensor
    x_test: torch.Tensor
    y_test: torch.Tensor


def recipe(seed: int) -> Recipe:
    """Of the network where finetuning starts."""
    return cast.pretrained_mlp(seed)


def task(angle: float, size: int, test: int, seed: int, device: str = "auto") -> Task:
    """Finetuning on `size` images turned by `angle`; another seed has another start and other images."""
    network = zoo.get_all([recipe(seed)], device)[0]
    first = size * (seed % 5)
    train = data.load("rotated_mnist", "train", angle=angle, first=first, size=size)
    tried = data.load("rotated_mnist", "test", angle=angle, first=0, size=test)
    theta_0 = weights.flatten(network.state_dict()).double()
    return Task(theta_0, train.x.flatten(1).double(), train.y, tried.x.flatten(1).double(), tried.y)


def measure(task: Task, lams: tuple[float, ...], plan: Plan, shares: tuple[float, ...],
            shown: int) -> dict[str, torch.Tensor]:
    """What `near.measure` says of one setting, {name: (λ, moment, …)}, with "eta" and "steps" (moment,)."""
    last = plan.steps(len(task.x))
    marks = [max(1, round(share * last)) for share in shares]
    points = {"train": (task.x[:LOOKED_AT], task.y[:LOOKED_AT]), "test": (task.x_test, task.y_test)}
    tangents = {name: Tangent(NET, task.theta_0, x) for name, (x, _) in points.items()}
    rows = []
    for lam in lams:
        thetas, linear = (finetuning.finetuned(NET, task.theta_0, task.x, task.y, plan, lam, linear, marks)
                          for linear in (False, True))
        rows.append([_compared(task, points, tangents, thetas[count], linear[count], shown) for count in marks])
    stacked = {name: torch.stack([torch.stack([moment[name] for moment in row]) for row in rows])
               for name in rows[0][0]}
    first = {name: tangent.at_start.outputs for name, tangent in tangents.items()}
    return stacked | {"eta": torch.tensor(plan.lr, dtype=torch.float64), "steps": torch.tensor(marks),
                      "loss_0": F.cross_entropy(first["train"], points["train"][1]),
                      "start_answer": of_digit(first["test"], task.y_test)[:shown],
                      "start_accuracy": (first["test"].argmax(1) == task.y_test).double().mean()}


def _compared(task, points, tangents, theta, linear_theta, shown):
    """One network beside the tangent at the same weights, and the tangent trained beside it."""
    numbers = {"distance": (theta - task.theta_0).norm(), "linear_distance": (linear_theta - task.theta_0).norm()}
    for name, (x, y) in points.items():
        tangent = tangents[name]
        answers = {"network": NET(theta, x), "trained": tangent(linear_theta), "taylor": tangent(theta)}
        numbers[f"{name}_trained_gap"] = gap(answers["network"], answers["trained"])
        numbers[f"{name}_taylor_gap"] = gap(answers["network"], answers["taylor"])
        numbers[f"{name}_move"] = gap(answers["network"], tangent.at_start.outputs)
        if name == "train":
            numbers["loss"] = F.cross_entropy(answers["network"], y)
            numbers["linear_loss"] = F.cross_entropy(answers["trained"], y)
            continue
        numbers["kl"] = divergence(answers["network"], answers["trained"])
        for which, logits in answers.items():
            numbers[f"{which}_accuracy"] = (logits.argmax(1) == y).double().mean()
            numbers[f"{which}_answer"] = of_digit(logits, y)[:shown]
    return numbers


def of_digit(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The right digit's logit, (samples,)."""
    return logits.gather(1, y[:, None])[:, 0]


def divergence(logits: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """KL(p‖q) in nats, mean over samples: p the first one's answer, q the other's."""
    log_p, log_q = logits.log_softmax(-1), other.log_softmax(-1)
    return (log_p.exp() * (log_p - log_q)).sum(-1).mean()
