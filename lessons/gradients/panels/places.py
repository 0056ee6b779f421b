"""The four tasks, where each step computes its gradients, and the points that lie between two networks' kinks. Computed
at once, on Spirals in float64."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lessons.gradients.algorithms import expansion, networks
from lessons.gradients.experiment.common import ANGLES, Tasks
from lessons.gradients.experiment.plane import basis
from lessons.kit import drawings, plotting
from lessons.kit.page import Page, minus, reading, said
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, RED, still, themed

EXTENT = 1.15  # of the plane that is drawn, to each side of the origin
HALF = (0.4, 0.6)  # what is called about half
DIFFER = 0.1  # of the one step, at least, where two steps are said to differ


@still
def four_tasks(tasks: Tasks):
    """The points of every task, and how well the network does on them before finetuning."""
    fig, axes = plotting.figure(len(tasks.losses), height=2.8)
    losses = [f(tasks.base).item() for f in tasks.losses]
    for ax, x, y, angle, loss in zip(axes, tasks.inputs, tasks.labels, ANGLES, losses):
        drawings.arms(ax, x, y, EXTENT)
        ax.set(title=f"turned by {angle:g}°", xlabel=f"loss before finetuning {loss:.2f}")
    told = ", ".join(f"{angle:g}°, loss {loss:.2f}" for angle, loss in zip(ANGLES, losses))
    text = said("""Computed here: {points} training points of each task (generated). The network has widths {widths},
                   {activation} in the two hidden layers, no biases and {weights} weights.""",
                points=len(tasks.labels[0]), widths="–".join(map(str, tasks.widths)), activation=tasks.activation,
                weights=len(tasks.base))
    return plotting.show(fig, f"Two spiral arms, turned in four ways; before finetuning: {told}.", text)


# -- the second step -------------------------------------------------------------------------------

@dataclass(frozen=True)
class SecondStep:
    """Two tasks after one step, and the steps that follow, in the plane of their first two gradients.

    Attributes:
        own: (2, 2), where A and B are after one step; joint: (2,), where joint training is.
        at_own, at_joint: (2, 2), the next step on each task, by its gradient at the one place and at the other.
        lengths, lengths_at_joint: (2,), how long these are over all weights.
        farther_down: whether each network has a lower loss on its own task than joint training after one step.
        gap, way: over all weights, the gap after two steps, and how far joint training has gone.
        eta: the step size.
    """
    own: np.ndarray
    joint: np.ndarray
    at_own: np.ndarray
    at_joint: np.ndarray
    lengths: np.ndarray
    lengths_at_joint: np.ndarray
    farther_down: bool
    gap: float
    way: float
    eta: float


def second_step(tasks: Tasks, eta: float = 0.8) -> SecondStep:
    """The second step with two tasks, whose task vectors are averaged."""
    base, count = tasks.base, len(tasks.losses)
    walks = tasks.alone(base, eta, 2)
    joint = expansion.descend(expansion.total(tasks.losses, 1 / count), base, eta, 2)
    at_own = walks[:, 2] - walks[:, 1]
    at_joint = torch.stack([expansion.task_vector_of_one_step(f, joint[1], eta) for f in tasks.losses])
    axes = basis(torch.stack([-expansion.gradient(f, base) for f in tasks.losses]))
    placed = [(points @ axes.T).numpy() for points in (walks[:, 1] - base, joint[1] - base, at_own, at_joint)]
    lengths = [steps.norm(dim=1).numpy() for steps in (at_own, at_joint)]
    gap = expansion.task_arithmetic(base, walks[:, 2], 1 / count) - joint[2]
    farther_down = all(bool(f(theta) < f(joint[1])) for f, theta in zip(tasks.losses, walks[:, 1]))
    return SecondStep(*placed, *lengths, farther_down, gap.norm().item(), (joint[2] - base).norm().item(),
                      eta)


@still
def arrows(step: SecondStep):
    """Left, where A, B and joint training are after one step, with the next step on each task from its own place and
    from that of joint training; right, the same arrows from one point, and the mean of each pair."""
    fig, (left, right) = plotting.figure(2, height=2.4)
    left.plot(0, 0, color=GREY, marker="o", linestyle="")
    left.annotate("base", (0, 0), (6, -12), textcoords="offset points", color="#555555")
    for name, colour, place, at_own, at_joint in zip("AB", (BLUE, ORANGE), step.own, step.at_own, step.at_joint):
        left.plot(*place, color=colour, marker="o", linestyle="", zorder=4)
        left.annotate(name, place, (6, 6), textcoords="offset points", color=colour, weight="bold")
        for ax, starts in ((left, (place, step.joint)), (right, (np.zeros(2), np.zeros(2)))):
            _arrow(ax, starts[0], at_own, colour, "-")
            _arrow(ax, starts[1], at_joint, colour, "--")
    left.plot(*step.joint, color=BLACK, marker="o", linestyle="", zorder=4)
    left.annotate("joint", step.joint, (2, 7), textcoords="offset points", weight="bold")
    means = [steps.mean(0) for steps in (step.at_own, step.at_joint)]
    for (name, colour, marker), mean in zip((("task arithmetic", GREEN, "^"), ("joint training", BLACK, "o")), means):
        right.plot(*mean, color=colour, marker=marker, linestyle="", markersize=8, zorder=4, label=name)
    right.plot(*zip(*means), color=RED, linewidth=3, marker="", label="the gap")
    left.set_title("The second step on each task")
    right.set_title("The same arrows from one point")
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=3)
    for ax in (left, right):
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.margins(0.12)
    text = said("""Computed here: Spirals turned by 45° (A, blue) and −45° (B, orange), α = ½, η = {eta:g}. Drawn is
                   what lies in the plane of their two first gradients. Solid: with the gradient at A or B. Dashed:
                   with the gradient of the same loss at the place of joint training.""", eta=step.eta)
    return plotting.show(fig, _told(step), text)


def _arrow(ax, start, way, colour, line):
    drawings.arrow(ax, start, start + way, colour, linestyle=line, linewidth=2, zorder=3)
    ax.plot(*(start + way), alpha=0, marker="o")  # so that the axes reach there


def _told(step):
    return said("""Two drawings. Left, A, B and joint training after one step, and two arrows for each task: its next
                   step from its own place and from the place of joint training. For A they are {a:.3f} and
                   {a_joint:.3f} long, for B {b:.3f} and {b_joint:.3f}. Right, all four arrows from one point. The mean
                   of the own ones and the mean of the others do not meet: over all weights they are {gap:.3f}
                   apart.""",
                a=step.lengths[0], a_joint=step.lengths_at_joint[0], b=step.lengths[1],
                b_joint=step.lengths_at_joint[1], gap=step.gap)


def reading_of_the_arrows(step: SecondStep) -> Page:
    """How much the same loss asks for at the two places, and what that makes of the gap."""
    sentences = [said("""The second step on A’s task was {a:.2f} long with the gradient at A, and would have been
        {a_joint:.2f} long with the gradient of the same loss at the place of joint training. On B’s task these were
        {b:.2f} and {b_joint:.2f}.""", a=step.lengths[0], a_joint=step.lengths_at_joint[0], b=step.lengths[1],
                      b_joint=step.lengths_at_joint[1])]
    if step.farther_down and (step.lengths < step.lengths_at_joint).all():
        sentences.append("Each network already had a lower loss on its own task than joint training, and the gradient "
                         "of this loss was smaller at the network’s own place.")
    sentences.append(f"After two steps, the gap was {step.gap / step.way:.0%} of how far joint training went.")
    differ = (np.abs(step.lengths / step.lengths_at_joint - 1) >= DIFFER).all()
    title = "The same loss had different gradients at the two places" if differ else \
        "Here the two gradients of a loss are about equally long"
    return reading(title, " ".join(sentences))


@themed
def parabolas(curvatures=(0.5, 2.0), slope: float = 1.0, eta: float = 0.4):
    """Two tasks with one weight, L₁ = a/2·θ² + b·θ and L₂ = c/2·θ² − b·θ; two steps alone and together, α = ½."""
    theta = np.linspace(-1.3, 1.3, 200)
    alone, joint = np.zeros((2, 3)), np.zeros(3)
    signs = np.array([1.0, -1.0])
    for step in range(2):
        alone[:, step + 1] = alone[:, step] - eta * (np.array(curvatures) * alone[:, step] + slope * signs)
        joint[step + 1] = joint[step] - eta / 2 * sum(curvatures) * joint[step]
    fig, ax = plotting.figure(height=3.4, width=7.2)
    for name, colour, curvature, sign, walk in zip(("L₁", "L₂"), (BLUE, ORANGE), curvatures, signs, alone):
        ax.plot(theta, curvature / 2 * theta ** 2 + sign * slope * theta, color=colour, marker="", label=name)
        ax.plot(walk, curvature / 2 * walk ** 2 + sign * slope * walk, color=colour, marker="o", linestyle="")
    mean = alone[:, -1].mean()
    ax.plot(joint[-1], 0, color=BLACK, marker="o", linestyle="", label="joint training")
    ax.plot(mean, 0, color=GREEN, marker="^", linestyle="", markersize=9, label="average of the two")
    ax.set(xlabel="θ", ylabel="loss")
    ax.legend(loc="upper center")
    C = slope * (curvatures[1] - curvatures[0])
    text = minus(said("""Two steps of each task alone are dots on its parabola. Joint training has not moved from
                         {joint:.2f}, and the average is at {mean:.2f}. That is −αη²C = −½ · {eta_2:.2f} · {C:g}.""",
                      joint=joint[-1], mean=mean, eta_2=eta ** 2, C=C))
    numbers = f"a = {curvatures[0]:g}, c = {curvatures[1]:g}, b = {slope:g}, η = {eta:g}"
    return plotting.show(fig, f"Two parabolas with different curvature. {text}", f"Computed here: {numbers}. {text}")


# -- kinks -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Kinks:
    """After one step with some step size: (side, side) cells of the plane that lie across a kink, for a network on its
    own task and one trained jointly; and which of the task's points do."""
    eta: float
    cells: np.ndarray
    points: np.ndarray

    @property
    def share(self) -> float:
        """Of the disc with the points: what lies across a kink."""
        return float(self.cells[_disc(len(self.cells))].mean())


def kinks(tasks: Tasks, etas: tuple[float, ...] = (0.4, 0.2, 0.1), task: int = -1, side: int = 600) -> list[Kinks]:
    """What lies across a kink between one task's network and joint training after one step, for every step size."""
    middles = torch.tensor(_middles(side))
    plane = torch.stack(torch.meshgrid(middles, middles, indexing="xy"), -1).flatten(0, 1)
    across = []
    for eta in etas:
        tuned = tasks.alone(tasks.base, eta, 1)[task, 1]
        joint = expansion.descend(expansion.total(tasks.losses, 1 / len(tasks.losses)), tasks.base, eta, 1)[1]
        cells, points = (networks.crossed(tuned, joint, tasks.widths, x).bool().numpy()
                         for x in (plane, tasks.inputs[task]))
        across.append(Kinks(eta, cells.reshape(side, side), points))
    return across


def _middles(side):
    return EXTENT * (2 * (np.arange(side) + 0.5) / side - 1)


def _disc(side):
    """Which cells lie no farther from the origin than the spirals reach."""
    middles = _middles(side)
    return np.hypot(*np.meshgrid(middles, middles)) <= 1


@still
def between_kinks(across: list[Kinks], x: Tensor, y: Tensor):
    """The plane of one task's points: red where some unit is on in one network and off in the other."""
    fig, axes = plotting.figure(len(across), height=3.5)
    for ax, of_eta in zip(axes, across):
        red = np.where(of_eta.cells, 1.0, np.nan)
        ax.imshow(red, extent=(-EXTENT, EXTENT) * 2, origin="lower", cmap="Reds", vmin=0, vmax=1.6)
        drawings.arms(ax, x, y, EXTENT, colours=(GREY, GREY), size=3)
        ax.plot(*x[torch.tensor(of_eta.points)].T.numpy(), color=RED, marker="o", linestyle="", markersize=9,
                markerfacecolor="none", markeredgewidth=1.8)
        ax.set(title=f"η = {of_eta.eta:g}", xlabel=f"{int(of_eta.points.sum())} of {len(x)} points across a kink")
    told = "; ".join(f"η = {of_eta.eta:g}, {of_eta.share:.1%} of the disc and {int(of_eta.points.sum())} points"
                     for of_eta in across)
    text = said("""Computed here: Spirals turned by 90°, a ReLU network after one step. Red: some unit is on in only
                   one of two networks, that finetuned on this task and that trained on all tasks.""")
    return plotting.show(fig, f"The plane of a task’s {len(x)} points. What lies across a kink is red: {told}.", text)


def reading_of_between_kinks(across: list[Kinks]) -> Page:
    """How the area across a kink shrinks when the step size is halved."""
    shares = [of_eta.share for of_eta in across]
    ratios = [after / before for before, after in zip(shares, shares[1:]) if before]
    halves = len(ratios) == len(shares) - 1 and all(HALF[0] <= ratio <= HALF[1] for ratio in ratios)
    title = "With half the step size, about half as much of the plane lies across a kink" if halves else \
        "How much of the plane lies across a kink?"
    listed = ", then ".join(f"{share:.1%}" for share in shares)
    return reading(title, f"Of the disc that holds the points it was {listed}.")
