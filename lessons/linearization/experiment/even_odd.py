"""Even or odd, squared error: the network and its tangent under the regularised step of LFT §2, full batches, all λ at
once. The tangent's walk is known in closed form."""
import torch

from lessons.linearization.algorithms import dynamics, kernel
from lessons.linearization.algorithms.tangent import Tangent, gap
from lessons.linearization.experiment import common
from lessons.linearization.experiment.common import Task

FASTEST = 0.5  # η·κ_max: the fastest direction of the tangent is learned in one step


def step_size(kappa: torch.Tensor) -> float:
    """η, by the kernel's largest eigenvalue."""
    return FASTEST / kappa.max().item()


def walks(task: Task, lams: torch.Tensor, eta: float, marks: list[int]) -> dict[int, torch.Tensor]:
    """The networks' weights after some steps, {step: (λ, parameters)}; `lams` is (λ, 1)."""
    theta = task.theta_0.repeat(len(lams), 1)
    thetas = {}
    for count in range(1, max(marks) + 1):
        gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)[1]
        theta = dynamics.step(theta, task.theta_0, gradient, eta, lams)
        if count in marks:
            thetas[count] = theta
    return thetas


def measure(task: Task, lams: tuple[float, ...], end: float, shares: tuple[float, ...],
            shown: int) -> dict[str, torch.Tensor]:
    """What `near.measure` says of one setting, {name: (λ, moment, …)}, with "eta" and "steps" (moment,)."""
    lam = torch.tensor(lams, dtype=torch.float64)[:, None]
    blocks = kernel.blocks(task.net, task.theta_0, task.x).sum(0)
    kappa, directions = torch.linalg.eigh(blocks)
    eta = step_size(kappa)
    marks = [max(1, round(share * end / eta)) for share in shares]
    tangents = {"train": Tangent(task.net, task.theta_0, task.x), "test": Tangent(task.net, task.theta_0, task.x_test)}
    starts = {name: tangent.at_start.outputs for name, tangent in tangents.items()}
    rho = directions.mT @ (starts["train"][:, 0] - task.y)
    across = kernel.blocks(task.net, task.theta_0, task.x_test, task.x).sum(0)
    moments = []
    thetas = walks(task, lam, eta, marks)
    for count in marks:
        theta = thetas[count]
        alpha = dynamics.linear_walk(kappa, rho, lam, eta, count) @ directions.mT
        linear = {"train": starts["train"] + (alpha @ blocks)[..., None],
                  "test": starts["test"] + (alpha @ across.mT)[..., None]}
        numbers = _compared(task, theta, tangents, linear, shown)
        numbers["linear_distance"] = ((alpha @ blocks) * alpha).sum(-1).clamp_min(0).sqrt()
        kernels = torch.stack([kernel.blocks(task.net, weights, task.x).sum(0) for weights in theta])
        numbers["kernel_change"] = (kernels - blocks).flatten(1).norm(dim=-1) / blocks.norm()
        moments.append(numbers)
    stacked = {name: torch.stack([moment[name] for moment in moments], 1) for name in moments[0]}
    return stacked | {"eta": torch.tensor(eta), "steps": torch.tensor(marks), "loss_0": rho.square().mean(),
                      "start_answer": starts["test"][:shown, 0],
                      "start_accuracy": common.accuracy(starts["test"][:, 0], task.y_test)}


def _compared(task, theta, tangents, linear, shown):
    """The networks θ (λ, parameters) beside the tangent at the same weights, and the tangent trained beside them."""
    numbers = {"distance": (theta - task.theta_0).norm(dim=-1)}
    of_points = {"train": (task.x, task.y), "test": (task.x_test, task.y_test)}
    for points, (x, y) in of_points.items():
        f, taylor, trained = task.net(theta, x), tangents[points](theta), linear[points]
        numbers[f"{points}_trained_gap"] = gap(f, trained)
        numbers[f"{points}_taylor_gap"] = gap(f, taylor)
        numbers[f"{points}_move"] = gap(f, tangents[points].at_start.outputs)
        if points == "train":
            numbers["loss"] = (f[..., 0] - y).square().mean(-1)
            numbers["linear_loss"] = (trained[..., 0] - y).square().mean(-1)
        else:
            for name, answers in (("network", f), ("trained", trained), ("taylor", taylor)):
                numbers[f"{name}_accuracy"] = common.accuracy(answers[..., 0], y)
                numbers[f"{name}_answer"] = answers[:, :shown, 0]
    return numbers
