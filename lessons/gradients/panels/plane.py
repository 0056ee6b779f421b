"""Panel (a), the plane: where the steps go."""
import numpy as np
import xarray

from lessons.gradients.experiment.plane import ALPHAS, ETAS, KS
from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from lessons.kit.sweep import caption

TASKS = {"task 1 alone": Look(GREEN, "^"), "task 2 alone": Look(PURPLE, "v")}
JOINT = Look(BLUE, "o")
ARITHMETIC = Look(ORANGE, "D")
APART = Look(RED, "o")


@panel
def walks(sweep: xarray.Dataset):
    """Panel (a): θ_1, θ_2, task arithmetic and joint training in the plane of the two gradients; right, how far the two
    are apart after every step.

    Controls: eta, alpha, k.
    """
    fig, (left, right) = plotting.figure(2, height=4.5, width_ratios=(6, 5))
    share = (sweep.apart / sweep.far.where(sweep.far > 0)).fillna(0)
    _map(left, sweep)
    most = float(share.max())
    right.set(xlabel="steps k", ylabel="distance of the two, as a share of the way", ylim=(-0.02 * most, 1.05 * most),
              xlim=(0.5, 10.5))
    own = [curve(left, look, label, markersize=4, linewidth=1.2) for label, look in TASKS.items()]
    joint = curve(left, JOINT, "joint training, step αη", markersize=4, linewidth=1.4)
    arithmetic = cloud(left, ARITHMETIC, "task arithmetic", markersize=9, markerfacecolor="none", markeredgewidth=2)
    distance = curve(right, APART)
    step = here(right, 1)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    titles = moving_titles((left, right))

    def draw(eta, alpha, k):
        part = sweep.sel(eta=eta, alpha=alpha)
        until = slice(0, k + 1)
        for line, path in zip(own, part.own.values):
            line.set_data(*path[until].T)
        joint.set_data(*part.joint.values[until].T)
        arithmetic.set_data(*part.arithmetic.values[[k]].T)
        shares = share.sel(eta=eta, alpha=alpha).values
        distance.set_data(np.arange(1, 11), shares[1:])
        step.set_xdata([k, k])
        numbers = _numbers(part.sel(step=k), eta, alpha, k, shares[k])
        titles[0].set_text(said("η = {eta:g}, α = {alpha:g}: loss {arithmetic_loss:.2f} and {joint_loss:.2f}",
                                **numbers))
        titles[1].set_text(said("After {k} step{s} of η = {eta:g}: {apart:.2g} apart", **numbers))
        return said("""Step size η = {eta:g}, α = {alpha:.2f}, {k} steps. Task arithmetic and joint training are
                       {apart:.2g} of the joint path's length apart. Sum of both losses {arithmetic_loss:.3f} with task
                       arithmetic, {joint_loss:.3f} with joint training. θ_TA lies at ({arithmetic_x:.2f},
                       {arithmetic_y:.2f}), θ_MT at ({joint_x:.2f}, {joint_y:.2f}) in the plane.""", **numbers)

    controls = {"eta": slider("step size η", list(ETAS), 0.4),
                "alpha": slider("α", list(ALPHAS), 0.5),
                "k": slider("steps k", list(KS), 1)}
    return controls, fig, draw, caption(sweep) + " Grey: lines of equal L₁ + L₂ in the plane."


def _map(ax, sweep):
    """Lines of equal L₁ + L₂ in the plane, the start, and the direction down."""
    levels = np.quantile(sweep["map"].values, np.linspace(0, 1, 14))
    ax.contour(sweep.horizontal, sweep.vertical, sweep["map"], levels=np.unique(levels), colors="#c9c9c9",
               linewidths=0.8)
    down = sweep.gradient.values
    end = down / np.hypot(*down) * 0.85 * float(sweep.vertical[-1])
    ax.annotate("", xy=end, xytext=(0, 0), arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.6})
    ax.set(xlabel="along −∇L₁ (weights)", ylabel="at right angles to it (weights)", aspect="equal")
    ax.grid(False)
    ax.plot([0], [0], color=BLACK, marker="X", linestyle="", markersize=8, label="start; arrow: −∇(L₁ + L₂)")


def _numbers(point, eta, alpha, k, distance):
    """What titles and alternative text say of one step."""
    numbers = {"eta": eta, "alpha": alpha, "k": k, "s": "s" * (k > 1), "apart": distance}
    for name in ("arithmetic", "joint"):
        numbers[f"{name}_loss"] = float(point[f"{name}_loss"])
        numbers[f"{name}_x"], numbers[f"{name}_y"] = point[name].values
    return numbers
