"""Panel (e): one budget spent in one merge or in many small ones."""
import numpy as np
import xarray

from lessons.gradients.experiment import rounds as experiment
from lessons.gradients.experiment.rounds import BUDGET, SPENT
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY
from lessons.kit.sweep import caption

METHODS = {"average": Look(BLUE, "o"),
           "TIES": Look(GREEN, "^"),
           "Breadcrumbs": Look(ORANGE, "v"),
           "DARE": Look(RED, "D")}
PATH = Look(BLACK, "s")
_LARGE = {"markersize": 9, "markeredgecolor": "white"}
_JOINT = {"color": SKY, "marker": "P", "markersize": 10, "markeredgecolor": BLACK, "linestyle": ""}


@panel
def many_merges(sweep: xarray.Dataset):
    """Panel (e): merged networks in the plane of their two principal components, on the loss of all tasks; right,
    accuracy against the budget spent.

    Controls: rounds, budget (epochs of each task before the single merges).
    """
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(6, 5))
    plain = sweep.accuracy.sel(scale=1.0)
    _landscape(fig, left, sweep)
    path = curve(left, PATH, "finetune, merge, repeat", markersize=4, linewidth=1.6)
    places = {name: cloud(left, look, name, **_LARGE) for name, look in METHODS.items()}
    together = (sweep.name == "joint") & (sweep.point_spent == BUDGET)
    left.plot(*sweep.place.values[together].T, label="joint training", **_JOINT)
    accuracies = {name: cloud(right, look, name, **_LARGE) for name, look in METHODS.items()}
    _budget_axis(right, sweep, plain)
    line = curve(right, PATH, markersize=5, linewidth=1.6)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=7)
    titles = moving_titles((left, right))

    def draw(rounds, budget):
        now = plain.sel(rounds=rounds).dropna("spent")
        path.set_data(*_way(sweep, f"{rounds} rounds").T)
        line.set_data(now.spent, now)
        once = {name: float(sweep.how_accuracy.sel(how=name, budget=budget)) for name in METHODS}
        for name, accuracy in once.items():
            places[name].set_data(*_place(sweep, name, budget).T)
            accuracies[name].set_data([budget], [accuracy])
        at = _numbers(sweep, rounds, budget, float(now[-1]), once)
        titles[0].set_text(said("{rounds}; one merge after {budget}", **at))
        titles[1].set_text(said("{end:.2f} after {rounds}, average {average:.2f}", **at))
        return said("""{rounds} of finetuning and averaging with {whole} epochs of each task in all: accuracy {end:.3f}
                       at the end. One merge after {budget} epochs: {once}. Joint training ends at
                       {joint:.3f}.""", **at)

    controls = {"rounds": slider("rounds", [int(number) for number in sweep.rounds.values], 1),
                "budget": slider("single merges after epochs", list(SPENT), 10)}
    remarks = "Every round merges with α = 1/T. Grey squares: the end for every number of rounds."
    return controls, fig, draw, f"{caption(sweep)} {remarks}"


def _numbers(sweep, rounds, budget, end, once):
    """What is said above the two pictures and in words."""
    return {"rounds": f"{rounds} round{'s' * (rounds > 1)}",
            "budget": budget,
            "whole": BUDGET,
            "end": end,
            "joint": float(sweep.joint_accuracy[-1]),
            "average": once["average"],
            "once": ", ".join(f"{name} {accuracy:.3f}" for name, accuracy in once.items())}


def _place(sweep, name, spent):
    """Where a merge lies in the plane, (1, 2)."""
    return sweep.place.values[(sweep.name.values == name) & (sweep.point_spent.values == spent)]


def _way(sweep, name):
    """The pretrained network and the merges of so many rounds, (rounds + 1, 2)."""
    return np.vstack([sweep.place.values[0], sweep.place.values[sweep.name.values == name]])


def _landscape(fig, ax, sweep):
    """The loss on all tasks in the plane of the two components, and the pretrained network."""
    levels = np.quantile(sweep["map"].values, np.linspace(0, 1, 12))
    filled = ax.contourf(sweep.horizontal, sweep.vertical, sweep["map"], levels=np.unique(levels), cmap="Greys",
                         alpha=0.5)
    fig.colorbar(filled, ax=ax, shrink=0.85, label="loss on all six tasks (nats)", format="%.2f")
    first, second = sweep.explained.values
    ax.set(xlabel=f"first component ({first:.0%} of the variance)", ylabel=f"second ({second:.0%})")
    ax.grid(False)
    ax.plot(*sweep.place.values[0], color=BLACK, marker="X", markersize=9, linestyle="", label="pretrained")


def _budget_axis(ax, sweep, plain):
    """Joint training, and where every number of rounds ends."""
    lowest = 0.9 * float(sweep.how_accuracy.min())
    highest = 1.03 * float(sweep.joint_accuracy.max())
    ax.set(xlabel="epochs of finetuning spent on each task", ylabel="accuracy on all six tasks", xlim=(-0.3, 10.5),
           ylim=(lowest, highest))
    ax.plot(sweep.epoch, sweep.joint_accuracy, color=SKY, marker="P", markersize=4, linewidth=1.2)
    ends = plain.isel(spent=-1)
    ax.plot([BUDGET] * len(ends), ends, color=GREY, marker="s", markersize=5, linestyle="")


def reading_of_figure_4(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 4 of TVG and ours, with this sweep's numbers."""
    return reading("Figure 4 of TVG, and ours", """
        In units of the average's distance from the pretrained network, after ten epochs: TIES and Breadcrumbs lie
        {ties_breadcrumbs:.2f} apart, TIES and the average {ties_average:.2f}, Breadcrumbs and the average
        {breadcrumbs_average:.2f}; DARE lies {dare_nearest:.2f} from the nearest of the three. Its loss is
        {dare_loss:.2f} all the same, the average's {average_loss:.2f}: a random direction is long, and matters little
        to the function. The path of ten small steps ends at {path_loss:.2f}, the best single merge has
        {best_single_loss:.2f}, joint training {joint_loss:.2f}.""", **experiment.claim_10(sweep))
