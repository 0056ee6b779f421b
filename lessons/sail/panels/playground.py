"""Panel (b): a quadratic loss of two weights, computed while one looks: which share of two parents is best depends on
when one asks."""
import math

import numpy as np
import torch

from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.plotting import still
from lessons.kit.view import (
    Axis,
    Chart,
    Frame,
    Handle,
    Image,
    Line,
    Path,
    Reference,
    Spots,
    chips,
    key,
    slider,
    view,
)
from lessons.sail.algorithms import mixing, quadratic

CONDITIONS = (1, 2, 5, 20, 100)
STEPS = (0, 1, 2, 5, 10, 20, 50, 100)
ETA = 0.9
# errors of the two parents: along the steep direction, and along the flat one
PAIRS = {"one off along each direction": ((1.6, 0.25), (-0.2, 1.5)),
         "both on one side": ((1.8, 0.9), (0.5, 1.5)),
         "one much nearer": ((0.9, 0.5), (-1.9, 1.6))}
WIDE, HIGH = 3.2, 2.2  # how far the plane goes in both directions
SIDE = 64  # of its picture, in pixels
ALIKE = 0.02  # of γ: two shares that differ by less are called the same
_ALT = """
    Two parents, {pair}, condition κ = {condition}, T = {steps} step{s}. Nearest to the target at γ = {nearest:.2f},
    lowest loss now at {now:.2f}, lowest after {steps} step{s} at {later:.2f}. By numbers of steps the best γ is
    {along}."""


@view
def line_of_two():
    """Panel (b): the plane of two weights with the loss, two parents and the line through them, and on it the point
    nearest to the target and the start whose loss is lowest after T steps; right, the share of A of this start against
    T, beside the nearest point's.

    Controls: steps, condition, pair.
    """
    places = tuple(map(float, range(len(STEPS))))

    def draw(steps, condition, pair):
        a = quadratic.spectrum(2, condition)
        errors = [torch.tensor(error, dtype=torch.float64) for error in PAIRS[pair]]
        nearest, along = best_shares(*errors, a)
        now, later = along[0], along[STEPS.index(steps)]
        values = {"loss": _loss(condition), "line": _line(errors), "θ*": ([0.0], [0.0]),
                  "A": errors[0][:, None], "B": errors[1][:, None], "nearest": _points(errors, [nearest]).T,
                  "best": _points(errors, [later]).T, "share": along, "share of the nearest": nearest}
        alt = said(_ALT, pair=pair, condition=condition, steps=steps, s="" if steps == 1 else "s", nearest=nearest,
                   now=now, later=later, along=", ".join(f"{T}: {share:.2f}" for T, share in zip(STEPS, along)))
        return Frame(finding_of_shares(nearest, later, along), alt, values,
                     key(("a", "Parent A"), ("b", "Parent B"), ("merged", "Best start for T steps"),
                         ("single", "Nearest to the target θ*")))

    controls = {"steps": slider("steps T", dict(zip(map(str, STEPS), STEPS)), 0, places=places,
                                words=lambda steps: f"{steps} step{'' if steps == 1 else 's'}"),
                "condition": chips("condition κ", {str(condition): condition for condition in CONDITIONS}, 20),
                "pair": chips("the two parents", list(PAIRS), more=True)}
    return {"kicker": "Chapter 9: nearer is not faster",
            "tries": ("Move the slider from 0 steps to the right. Which way does the best start move?",
                      "Set κ to 1."),
            "charts": _charts(places), "draw": draw, "controls": controls,
            "caption": "Computed while you look: loss ½(e₁² + e₂²/κ), gradient descent with η = 0.9. Grey shade: the "
                       "logarithm of the loss."}


def _charts(places):
    """The plane, and the best share over the number of steps."""
    ticks = {-2: "−2", 0: "0", 2: "2"}
    shares = [share for condition in CONDITIONS for pair in PAIRS.values()
              for share in best_shares(*torch.tensor(pair, dtype=torch.float64), quadratic.spectrum(2, condition))[1]]
    plane = Chart(Axis("error along the steep direction", -WIDE, WIDE, ticks=ticks),
                  Axis("error along the flat one", -HIGH, HIGH, ticks=ticks),
                  (Image("loss", "other", extent=(-WIDE, WIDE, -HIGH, HIGH), low=-3, high=3), Path("line", "other"),
                   Spots("θ*", "other", names=("θ*",)), Spots("A", "a"), Spots("B", "b"),
                   Spots("nearest", "single", names=("nearest",)), Spots("best", "merged")))
    over_steps = Chart(Axis("steps T", -0.3, len(STEPS) - 0.7, "places",
                            ticks={place: str(steps) for place, steps in zip(places, STEPS)}),
                       Axis("γ of the start, the share of A", min(shares) - 0.1, max(shares) + 0.1, digits=2),
                       (Reference("share of the nearest", "single", "nearest"),
                        Line("share", "merged", "best", x=places, dots=True), Handle("steps")))
    return [plane, over_steps]


def best_shares(e1: torch.Tensor, e2: torch.Tensor, curvatures: torch.Tensor) -> tuple[float, np.ndarray]:
    """The γ of the point nearest to the target, and for every number of `STEPS` that of the lowest loss after them."""
    nearest = mixing.nearest_share(e1.norm().item(), e2.norm().item(), (e1 - e2).norm().item())
    return nearest, np.array([quadratic.best_share(e1, e2, curvatures, ETA, steps) for steps in STEPS])


def finding_of_shares(nearest: float, later: float, along: np.ndarray) -> str:
    """Whether the nearest point is the best start, after these steps and after others.

    Args:
        nearest: γ of the nearest point.
        later, along: γ of the best start after the steps that are shown, and after every number of them.
    """
    if np.abs(along - nearest).max() < ALIKE:
        return "The loss is equally steep on all sides, so the nearest point is the best start"
    if abs(later - nearest) < ALIKE:
        return "For this number of steps the nearest point is the best start, for others it is not"
    moves = "and which is best depends on the steps" if np.ptp(along) >= ALIKE else "however many steps follow"
    return f"The nearest point is not the best start, {moves}"


def _loss(condition):
    """The logarithm of the loss on the plane, its first row above."""
    x, y = np.meshgrid(np.linspace(-WIDE, WIDE, SIDE), np.linspace(HIGH, -HIGH, SIDE))
    return np.log10((x ** 2 + y ** 2 / condition) / 2 + 1e-12)


def _line(errors):
    """The line through both parents, as far as the plane goes."""
    points = _points(errors, np.linspace(-4, 5, 181)).T.numpy()
    return np.where(np.abs(points) <= [[WIDE], [HIGH]], points, np.nan)


def _points(errors, gammas):
    """γ·e₁ + (1 − γ)·e₂, (gammas, 2)."""
    gammas = torch.as_tensor(gammas, dtype=torch.float64)[:, None]
    return gammas * errors[0] + (1 - gammas) * errors[1]


@still
def of_twenty(shares: dict[int, float], nearest: float):
    """The share of A of the best start against the number of steps that follow, beside the nearest mixture's.

    Args:
        shares: {number of steps: γ of the best start}.
        nearest: γ of the nearest mixture.
    """
    fig, ax = plotting.figure(width=6.4, height=2.8)
    ax.axhline(nearest, color=plotting.GREY, marker="")
    ax.plot(range(len(shares)), list(shares.values()), color=plotting.GREEN, marker="D")
    ax.annotate("nearest", (len(shares) - 1, nearest), xytext=(0, 4), textcoords="offset points", ha="right")
    ax.set_xticks(range(len(shares)), list(map(str, shares)))
    ax.set(xlabel="steps T", ylabel="γ of the best start")
    told = ", ".join(f"{steps} steps: {share:.2f}" for steps, share in shares.items())
    return plotting.show(fig, f"γ of the nearest mixture: {nearest:.2f}. γ of the best start after {told}.")


@still
def triangle(sides: tuple[float, float, float], share: float):
    """Two parents, the solution, and the mixture that is nearest to it.

    Args:
        sides: from A to θ*, from B to θ*, from A to B.
        share: γ, the share of A in that mixture.

    Raises:
        ValueError: there is no triangle with these sides.
    """
    d_a, d_b, d_ab = sides
    if not (0 < min(sides) and 2 * max(sides) < sum(sides) < math.inf):  # so that NaN is refused too
        raise ValueError(f"d_a={d_a:g}, d_b={d_b:g} and d_ab={d_ab:g} are no triangle: each side must be above 0 and "
                         "shorter than the other two together")
    across = (d_b ** 2 + d_ab ** 2 - d_a ** 2) / (2 * d_ab)  # B lies at 0, and A to its right
    up, foot = (d_b ** 2 - across ** 2) ** 0.5, share * d_ab
    fig, ax = plotting.figure(width=6.4, height=2.8)
    ends = sorted([0.0, d_ab, foot])
    ax.plot([ends[0], ends[-1]], [0, 0], color=plotting.GREY, linestyle=":", marker="")
    ax.plot([0, d_ab], [0, 0], color=plotting.GREEN, marker="")
    for end in (0.0, d_ab):
        ax.plot([end, across], [0, up], color=plotting.GREY, linewidth=1.2, marker="")
    ax.plot([foot, across], [0, up], color=plotting.GREEN, linestyle="--", marker="")
    for name, x, y, colour, aside in (("A", d_ab, 0, plotting.BLUE, (10, -5)), ("B", 0, 0, plotting.ORANGE, (-18, -5)),
                                      ("θ*", across, up, plotting.BLACK, (10, -4))):
        ax.plot([x], [y], color=colour, marker="o", markersize=9)
        ax.annotate(name, (x, y), xytext=aside, textcoords="offset points", fontsize=12)
    ax.plot([foot], [0], color=plotting.GREEN, marker="D", markersize=8)
    ax.annotate(f"γ = {share:.2f}", (foot, 0), xytext=(0, -18), textcoords="offset points", ha="center")
    ax.set(aspect="equal", ylim=(-0.3 * max(up, 1.0), 1.15 * up))
    ax.margins(x=0.12)
    ax.axis("off")
    away = ((foot - across) ** 2 + up ** 2) ** 0.5
    return plotting.show(fig, f"A triangle: θ* is {d_a:g} from A and {d_b:g} from B, which are {d_ab:g} apart. On the "
                              f"line through A and B, γ = {share:.2f} is marked, which is {away:.2f} from θ*.")
