"""Panel (e): one budget spent in one merge or in many small ones."""
import numpy as np
import xarray

from lessons.gradients.experiment import rounds
from lessons.gradients.experiment.rounds import BUDGET, SPENT
from lessons.gradients.panels.epochs import spread_out
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, names
from lessons.merging.search import rests_on

METHODS = {"average": Look(BLUE, "o"),
           "TIES": Look(GREEN, "^"),
           "Breadcrumbs": Look(ORANGE, "v"),
           "DARE": Look(RED, "D")}
BESIDE = dict(zip(METHODS, (-0.45, -0.15, 0.15, 0.45)))  # epochs: so that no mark hides another
PATH = Look(BLACK, "s")
_LARGE = {"markersize": 9, "markeredgecolor": "white"}
_JOINT = {"color": SKY, "marker": "P", "markersize": 10, "markeredgecolor": BLACK, "linestyle": ""}


@panel
def many_merges(sweep: xarray.Dataset, prediction=None):
    """Panel (e): merged networks in the plane of their two principal components, on the loss of all tasks; right,
    accuracy against the budget spent.

    Controls: rounds, budget (epochs of each task before the single merges). The prediction, the accuracy after ten
    rounds, is a star.
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
    predicted_at = {"rounds": int(sweep.rounds[-1])}
    star = Star(right, prediction, BUDGET, float(plain.sel(predicted_at).isel(spent=-1)), predicted_at)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=7)
    titles = moving_titles((left, right))

    def draw(rounds, budget):
        after_rounds = plain.sel(rounds=rounds).dropna("spent")
        places_of_merges = sweep.place.values[sweep.name.values == f"{rounds} rounds"]
        path.set_data(*np.vstack([sweep.place.values[0], places_of_merges]).T)  # from the pretrained network on
        line.set_data(after_rounds.spent, after_rounds)
        once = {name: float(sweep.how_accuracy.sel(how=name, budget=budget)) for name in METHODS}
        for name, accuracy in once.items():
            merge = (sweep.name.values == name) & (sweep.point_spent.values == budget)
            places[name].set_data(*sweep.place.values[merge].T)
            accuracies[name].set_data([budget + BESIDE[name]], [accuracy])
        star.place(rounds=rounds)
        numbers = {"rounds": f"{rounds} round{'s' * (rounds > 1)}", "budget": budget, "whole": BUDGET,
                   "end": float(after_rounds[-1]), "joint": float(sweep.joint_accuracy[-1]),
                   "average": once["average"],
                   "once": ", ".join(f"{name} {accuracy:.3f}" for name, accuracy in once.items())}
        titles[0].set_text(said("{rounds}; one merge after {budget}", **numbers))
        titles[1].set_text(said("{end:.2f} after {rounds}, average {average:.2f}", **numbers))
        return said("""{rounds} of finetuning and averaging with {whole} epochs of each task in all: accuracy {end:.3f}
                       at the end. One merge after {budget} epochs: {once}. Joint training ends at
                       {joint:.3f}.""", **numbers)

    controls = {"rounds": slider("rounds", [int(number) for number in sweep.rounds.values], 1),
                "budget": slider("single merges after epochs", list(SPENT), 10)}
    remarks = said("""Every round merges with α = 1/T. Grey squares, right: the end for that number of rounds. The
                      single merges stand beside each other at one number of epochs.""")
    return controls, fig, draw, f"{caption(sweep)} {remarks}"


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
    ax.set(xlabel="epochs of finetuning spent on each task", ylabel="accuracy on all six tasks", xlim=(-0.3, 11.4),
           ylim=(lowest, highest))
    ax.plot(sweep.epoch, sweep.joint_accuracy, color=SKY, marker="P", markersize=4, linewidth=1.2)
    ends = plain.isel(spent=-1)
    ax.plot([BUDGET + 0.75] * len(ends), ends, color=GREY, marker="s", markersize=5, linestyle="")
    for number, end in zip(sweep.rounds.values, spread_out(ends.values, 0.04 * (highest - lowest))):
        ax.text(BUDGET + 0.95, end, str(number), fontsize=9.5, va="center", color="#555555")


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (e)."""
    once = float(sweep.how_accuracy.sel(how="average", budget=BUDGET))
    return said("""Ten epochs of each task. Spent at once and then averaged, they read {once:.2f} of all six tasks. Now
                   average after every single epoch and go on from the average, ten times. How much does the last
                   average read?""", once=once)


# -- one basin? ------------------------------------------------------------------------------------

_LINES = dict(zip(rounds.PAIRS, (Look(BLACK, "o"), Look(GREEN, "^"), Look(ORANGE, "v"), Look(RED, "D"),
                                     Look(PURPLE, "P", ":"))))


_LENGTHS = {rounds.GIVEN: "scales as in the panel", rounds.CHOSEN: "scales chosen on held-out images"}


@still
def lines(sweep: xarray.Dataset):
    """The loss on the line between two merges, at the lengths of the panel and at those that held-out images prefer;
    beside two merges whose networks began from different pretrained networks."""
    fig, axes = plotting.figure(2, height=4.0, sharey=True)
    told = []
    for ax, lengths in zip(axes, names(sweep.lengths)):
        for pair, look in _LINES.items():
            name = rounds.pair_name(*pair)
            loss = sweep.line.sel(lengths=lengths, pair=name)
            ax.plot(loss.along, loss, color=look.colour, marker=look.marker, linestyle=look.line, markersize=5,
                    linewidth=1.5, label=name)
            told.append(f"{name}, {lengths}, highest {float(loss.max()):.2f}")
        ax.set(xlabel="share of the second", title=_LENGTHS[lengths])
    axes[0].set_ylabel("loss on all six tasks (nats)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    chosen = ", ".join(f"{how} {float(value):g}" for how, value in zip(sweep.how.values, sweep.chosen.values))
    remarks = said("""The loss on the line between two merges, on {some} test images a task. Chosen lengths, 1 being
                      those of the panel: {chosen}.""", some=rounds.SOME, chosen=chosen)
    return plotting.show(fig, f"Loss on lines between merges: {'; '.join(told)}.",
                         f"{caption(sweep)} {remarks} {rests_on(sweep)}")


def reading_of_figure_4(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 4 of TVG and ours, with this sweep's numbers."""
    numbers = rounds.claim_10(sweep)
    barriers = [numbers[f"{prefix}{pair}_barrier"] for prefix in ("", "chosen_")
                for pair in ("ties_breadcrumbs", "ties_average", "breadcrumbs_average", "dare_average")]
    return reading("Figure 4 of Zhou, Solombrino et al., and ours", """
        In units of the average's distance from the pretrained network, after ten epochs: TIES and Breadcrumbs lie
        {ties_breadcrumbs:.2f} apart, with scales chosen on held-out images {chosen_ties_breadcrumbs:.2f}; the cosine of
        their ways, {ties_breadcrumbs_cosine:.2f}, does not depend on the scale. DARE lies {dare_nearest:.2f} from the
        nearest. But on none of these lines does the loss rise above the straight line between its ends by more than
        {most:.2f} nats; between averages of two different pretrained networks it rises by {strangers_barrier:.2f}. The
        path of ten small steps ends at a loss of {path_loss:.2f}, the best single merge has {best_of_all:.2f}, joint
        training {joint_loss:.2f}.""",
                   most=max(barriers), best_of_all=min(numbers["best_single_loss"], numbers["best_scaled_loss"]),
                   **numbers)
