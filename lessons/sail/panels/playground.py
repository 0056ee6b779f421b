"""Panel (b): a quadratic loss of two weights, computed while one looks: which share of two parents is best depends on
when one asks."""
import numpy as np
import torch

from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, level, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED
from lessons.sail.algorithms import mixing, quadratic

CONDITIONS = (1, 2, 5, 10, 20, 50, 100)
STEPS = (0, 1, 2, 5, 10, 20, 50, 100)
ETA = 0.9
# errors of the two parents: along the steep direction, and along the flat one
PAIRS = {"one off along each direction": ((1.6, 0.25), (-0.2, 1.5)),
         "both on one side": ((1.8, 0.9), (0.5, 1.5)),
         "one much nearer": ((0.9, 0.5), (-1.9, 1.6))}
GAMMAS = np.linspace(-1, 2, 121)
SIDE = np.linspace(-2.2, 2.2, 48)
FIRST, SECOND, TARGET = Look(GREEN, "^"), Look(PURPLE, "v"), Look(BLACK, "X")
NEAREST, NOW, LATER = Look(ORANGE, "s"), Look(BLUE, "o"), Look(RED, "D")


@panel
def line_of_two():
    """Panel (b): two parents and the target in the plane of two weights, and on the line between the parents the point
    nearest to the target, the one with the lowest loss, and the one whose loss is lowest after T steps; right, the loss
    after T steps along γ.

    Controls: condition, steps, pair.
    """
    fig, (left, right) = plotting.figure(2, height=4.4, width_ratios=(5, 6))
    image = _plane_of_errors(left)
    through = curve(left, Look(BLACK), linewidth=1)
    names = ("θ₁", "θ₂", "θ*", "nearest to θ*", "lowest loss now", "lowest after T steps")
    marks = [cloud(left, look, name, markersize=9) for look, name in zip(_LOOKS, names)]
    losses = curve(right, Look(BLACK), "loss after T steps")
    lines = [here(right, color=look.colour, linewidth=1.6, linestyle=style)
             for look, style in ((NEAREST, ":"), (NOW, "--"), (LATER, "-"))]
    start = level(right, Look(PURPLE, "", "--"), "the better parent alone")
    right.set(yscale="log", xlabel="γ (share of θ₁)", ylabel="loss after T steps (log scale)", xlim=(-1, 2),
              ylim=(1e-9, 10))
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6)
    titles = moving_titles((left, right))

    def draw(condition, steps, pair):
        a = quadratic.spectrum(2, condition)
        e1, e2 = (torch.tensor(error, dtype=torch.float64) for error in PAIRS[pair])
        shares = best_shares(e1, e2, a, steps)
        x, y = np.meshgrid(SIDE, SIDE)
        image.set_data(np.log10((float(a[0]) * x ** 2 + float(a[1]) * y ** 2) / 2 + 1e-12))
        through.set_data(*_points(e1, e2, GAMMAS[[0, -1]]).T)
        on_line = _points(e1, e2, np.array(shares))
        for mark, point in zip(marks, (e1, e2, torch.zeros(2), *on_line)):
            mark.set_data([float(point[0])], [float(point[1])])
        values = quadratic.loss_after(_points(e1, e2, GAMMAS), a, ETA, steps).clamp(min=1e-12)
        losses.set_data(GAMMAS, values)
        for line, share in zip(lines, shares):
            line.set_xdata([share, share])
        start.set_ydata([quadratic.loss_after(torch.stack([e1, e2]), a, ETA, steps).min().clamp(min=1e-12)] * 2)
        numbers = {"condition": condition, "steps": steps, "nearest": shares[0], "now": shares[1], "later": shares[2],
                   "pair": pair, "s": "" if steps == 1 else "s"}
        titles[0].set_text(said("κ = {condition}: nearest γ = {nearest:.2f}", **numbers))
        titles[1].set_text(said("Best after {steps} step{s}: γ = {later:.2f}", **numbers))
        return said("""Two parents, {pair}, condition κ = {condition}, T = {steps} step{s}. Nearest to the target at
                       γ = {nearest:.2f}, lowest loss now at {now:.2f}, lowest after {steps} step{s} at
                       {later:.2f}.""", **numbers)

    controls = {"condition": slider("condition κ", list(CONDITIONS), 20),
                "steps": slider("steps T", list(STEPS), 0),
                "pair": choice("the two parents", PAIRS.keys())}
    return controls, fig, draw, said(_REMARKS)


_REMARKS = """Computed while you look: loss ½(e₁² + e₂²/κ), gradient descent with η = 0.9. The darker, the higher the
loss. Lines right: orange dotted, nearest; blue dashed, lowest now; red, lowest after T steps; purple dashed, level, the
better parent alone."""


def _plane_of_errors(ax):
    """The two weights' plane, as a picture of the loss."""
    image = ax.imshow(np.zeros((48, 48)), origin="lower", extent=(-2.2, 2.2) * 2, cmap="Greys", vmin=-4, vmax=1,
                      alpha=0.7, animated=True)
    ax.set(xlabel="error along the steep direction", ylabel="error along the flat one", xlim=(-2.2, 2.2),
           ylim=(-2.2, 2.2), aspect="equal")
    ax.grid(False)
    return image


_LOOKS = (FIRST, SECOND, TARGET, NEAREST, NOW, LATER)


def best_shares(e1: torch.Tensor, e2: torch.Tensor, curvatures: torch.Tensor, steps: int) -> tuple[float, float, float]:
    """The γ of the point nearest to the target, of the lowest loss now, and of the lowest after so many steps."""
    nearest = mixing.nearest_share(e1.norm().item(), e2.norm().item(), (e1 - e2).norm().item())
    at_once, later = (quadratic.best_share(e1, e2, curvatures, ETA, after) for after in (0, steps))
    return nearest, at_once, later


def _points(e1, e2, gammas):
    """γ·e₁ + (1 − γ)·e₂, (gammas, 2)."""
    gammas = torch.as_tensor(gammas, dtype=torch.float64)[:, None]
    return gammas * e1 + (1 - gammas) * e2
