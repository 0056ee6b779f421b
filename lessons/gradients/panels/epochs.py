"""The pictures of trained networks: the first epoch, merging after 1 to 20 epochs, and one budget spent in many small merges."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, table
from lessons.gradients.experiment import epochs as experiment, rounds as rounds_experiment
from lessons.gradients.experiment.epochs import SHOWN
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, RED, SKY
from lessons.kit.predict import Star
from lessons.kit.sweep import caption
from lessons.kit.panel import panel
from lessons.kit.plotting import still


# -- the first epoch -------------------------------------------------------------------------------

@still
def first_epoch(sweep: xarray.Dataset, data: str):
    """Figure 3 of TVG for one family: the epochs' shares of the gradient norm, task by task; the cosines between the epochs' gradients, mean over tasks."""
    here = sweep.sel(data=data)
    optimisers, said = list(map(str, here.optimiser.values)), []
    fig, axes = plotting.figure(2 * len(optimisers), height=3.3, width_ratios=(4, 3) * len(optimisers))
    for (bars, heat), name in zip(axes.reshape(-1, 2), optimisers):
        part = here.sel(optimiser=name)
        for number, (colour, marker) in enumerate(list(zip(COLOURS, MARKERS))[:part.sizes["task"]]):
            bars.plot(part.epoch, part.share_moved[number], color=colour, marker=marker, linewidth=1.2, markersize=5)
        bars.set(ylim=(0, 1.05 * float(here.share_moved.max())), xlabel="epoch", title=name, xticks=part.epoch)
        picture = heat.imshow(part.alike_moved.mean("task"), vmin=-1, vmax=1, cmap="RdBu_r", extent=(0.5, 5.5, 5.5, 0.5))
        heat.set(xlabel="epoch", xticks=part.epoch, yticks=part.epoch)
        heat.grid(False)
        for i in range(len(part.epoch)):
            value = float(part.alike_moved.mean("task")[0, i])
            heat.text(i + 1, 1, f"{value:.1f}", ha="center", va="center", fontsize=7.5, color="white" if abs(value) > 0.6 else BLACK)
        said.append(f"{name}: shares {', '.join(f'{value:.2f}' for value in part.share_moved.mean('task').values)}, cosine with the first epoch "
                    f"{', '.join(f'{value:.2f}' for value in part.alike_moved.mean('task')[0].values)}")
    axes[0].set_ylabel("share of the gradient norm")
    fig.colorbar(picture, ax=axes[-1], shrink=0.8, label="cosine, mean over tasks")
    return plotting.show(fig, f"{data}, first five epochs, mean over six tasks. {'; '.join(said)}.", caption(sweep) + f" {data[0].upper() + data[1:]}, one line a task.")


def reading_of_figure_3(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 3 of TVG and ours, with this sweep's numbers."""
    of, parts = experiment.claims(sweep), []
    for key, says in (("gd", "full batches"), ("sgd", "SGD")):
        share, cosine = of["TVG-6"], of["TVG-7"]
        parts.append(f"With {says} the first of five epochs has {share[f'{key}_first_share']:.0%} of the gradient norm (a fifth would be 20%), the largest share in "
                     f"{share[f'{key}_first_largest']:.0%} of the tasks; the others have a cosine of {cosine[f'{key}_cosine_mean']:.2f} with it on average, {cosine[f'{key}_cosine_least']:.2f} at least")
    text = ". ".join(parts) + "."
    return Page(text, f"<p><b>Figure 3 of TVG, and ours.</b> {text}</p>")


# -- panel (d): how long to finetune ---------------------------------------------------------------

ENDS = (SHOWN[0], SHOWN[-1])
_DIAMOND = {"color": ORANGE, "marker": "D", "markersize": 10, "markerfacecolor": "none", "markeredgewidth": 2, "linestyle": "", "animated": True}


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (d)."""
    here = sweep.sel(data=experiment.DIGITS, optimiser=experiment.SGD)
    return (f"Digits, SGD. After one epoch the six networks read {float(here.own.sel(epochs=1).mean()):.2f} of their own tasks; the network before finetuning read {float(here.before):.2f} of all six. "
            "How accurate on all six is their <b>merge</b>, at the best scale?")


@panel
def merging(sweep: xarray.Dataset, prediction=None):
    """Panel (d): accuracy of the merged network against the scale, after so many epochs; right, own accuracy and merged accuracy of all epochs.

    Controls: epochs, optimiser, data. The prediction is a star: merged accuracy of one epoch of SGD on digits.
    """
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(6, 5))
    left.set(xlabel="scale αT (1 is the average)", ylabel="accuracy on all six tasks", ylim=(0, 1.02), xlim=(-0.05, 3.05))
    right.set(xlabel="accuracy of the six networks, own task", ylabel="accuracy of their merge, all tasks", ylim=(0.3, 1.02), xlim=(0.3, 1.02))
    right.plot([0.3, 1], [0.3, 1], color=GREY, linestyle=":", linewidth=1.2, marker="")
    others = [left.plot([], [], color="#c9c9c9", marker="", linewidth=1.2, animated=True, label="" if i else "after other numbers of epochs")[0] for i in range(len(SHOWN))]
    curve = left.plot([], [], color=BLUE, marker="o", animated=True, label="merged after so many epochs")[0]
    at_best, dot = (ax.plot([], [], label="scale chosen on held-out samples", **_DIAMOND)[0] for ax in (left, right))
    path = right.plot([], [], color=GREY, marker=".", linewidth=1, animated=True)[0]
    numbers = [right.text(0, 0, "", fontsize=9, animated=True) for _ in ENDS]
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = plotting.moving_titles((left, right))
    best, own = experiment.chosen(sweep), sweep.own.mean("task")
    star = Star(right, prediction, float(own.sel(data=experiment.DIGITS, optimiser=experiment.SGD, epochs=1)))

    def draw(epochs, optimiser, data):
        now, merged, alone = (of.sel(optimiser=optimiser, data=data) for of in (sweep, best, own))
        for line, number in zip(others, SHOWN):
            line.set_data(now.scale, now.accuracy.sel(epochs=number))
        curve.set_data(now.scale, now.accuracy.sel(epochs=epochs))
        accuracy, scale, by_itself = (float(of.sel(epochs=epochs)) for of in (merged.accuracy, merged.scale, alone))
        at_best.set_data([scale], [accuracy])
        path.set_data(alone.sel(epochs=list(SHOWN)), merged.accuracy.sel(epochs=list(SHOWN)))
        dot.set_data([by_itself], [accuracy])
        for text, number, (across, up) in zip(numbers, ENDS, ((-0.035, -0.05), (0.0, 0.03))):
            text.set(text=str(number), position=(float(alone.sel(epochs=number)) + across, float(merged.accuracy.sel(epochs=number)) + up))
        star.place()
        head = f"{data}, {optimiser}, {epochs} epoch{'s' * (epochs > 1)}: "
        titles[0].set_text(f"{head}{accuracy:.2f}")
        titles[1].set_text(f"Alone {by_itself:.2f}, merged {accuracy:.2f} after {epochs}")
        return (f"{head}the six networks read {by_itself:.3f} of their own tasks, their merge {accuracy:.3f} of all six at the scale {scale:.2f}, chosen on held-out samples; "
                f"the average {float(now.accuracy.sel(epochs=epochs, scale=1.0)):.3f}. The network before finetuning reads {float(now.before):.3f}.")

    optimisers = sorted(map(str, sweep.optimiser.values), key=lambda name: name != experiment.SGD)
    controls = {"epochs": slider("epochs", list(SHOWN), 1), "optimiser": _choice("finetuned with", optimisers), "data": _choice("tasks", map(str, sweep.data.values))}
    return controls, fig, draw


def _choice(label, names):
    return choice(label, {name: name for name in names})


def reading_of_figure_2(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 2 of TVG and ours, with this sweep's numbers."""
    best, own = experiment.chosen(sweep), sweep.own.mean("task")
    rows = []
    for data in map(str, sweep.data.values):
        for optimiser in map(str, sweep.optimiser.values):
            here = dict(data=data, optimiser=optimiser)
            values = [[float(of.sel(**here, epochs=number)) for number in (1, 20)] for of in (own, best.accuracy)]
            rows.append((f"{data}, {optimiser}", f"{float(sweep.before.sel(here)):.3f}", *(f"{value:.3f}" for pair in values for value in pair), f"{float(best.accuracy.sel(here).idxmax('epochs')):.0f}"))
    return table(("tasks, optimiser", "before", "alone, 1 epoch", "alone, 20 epochs", "merged, 1 epoch", "merged, 20 epochs", "best merged after"), rows)


# -- panel (e): many small merges ------------------------------------------------------------------

METHOD_LOOKS = {"average": (BLUE, "o"), "TIES": (GREEN, "^"), "Breadcrumbs": (ORANGE, "v"), "DARE": (RED, "D")}


@panel
def rounds(sweep: xarray.Dataset):
    """Panel (e): merged networks in the plane of their two principal components, on the loss of all tasks; right, accuracy against the budget spent.

    Controls: rounds, budget (epochs of each task before the single merges).
    """
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(6, 5))
    _landscape(fig, left, sweep)
    start = sweep.place.values[0]
    left.plot(*start, color=BLACK, marker="X", markersize=9, linestyle="", label="pretrained")
    path = left.plot([], [], color=BLACK, marker="s", markersize=4, linewidth=1.6, label="finetune, merge, repeat", animated=True)[0]
    points, marks = ({name: ax.plot([], [], color=colour, marker=marker, markersize=9, markeredgecolor="white", linestyle="", label=name, animated=True)[0]
                      for name, (colour, marker) in METHOD_LOOKS.items()} for ax in (left, right))
    left.plot(*sweep.place.values[(sweep.name == "joint") & (sweep.point_spent == rounds_experiment.BUDGET)].T, color=SKY, marker="P", markersize=10, markeredgecolor=BLACK, linestyle="",
              label="joint training")
    right.set(xlabel="epochs of finetuning spent on each task", ylabel="accuracy on all six tasks", xlim=(-0.3, 10.5),
              ylim=(0.9 * float(sweep.how_accuracy.min()), 1.03 * float(sweep.joint_accuracy.max())))
    right.plot(sweep.epoch, sweep.joint_accuracy, color=SKY, marker="P", markersize=4, linewidth=1.2)
    plain = sweep.accuracy.sel(scale=1.0)
    right.plot([rounds_experiment.BUDGET] * sweep.sizes["rounds"], plain.isel(spent=-1), color=GREY, marker="s", markersize=5, linestyle="")
    curve = right.plot([], [], color=BLACK, marker="s", markersize=5, linewidth=1.6, animated=True)[0]
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=7)
    titles = plotting.moving_titles((left, right))

    def draw(rounds, budget):
        line = np.vstack([start, sweep.place.values[sweep.name.values == f"{rounds} rounds"]])
        path.set_data(*line.T)
        for name in METHOD_LOOKS:
            points[name].set_data(*sweep.place.values[(sweep.name.values == name) & (sweep.point_spent.values == budget)].T)
            marks[name].set_data([budget], [float(sweep.how_accuracy.sel(how=name, budget=budget))])
        now = plain.sel(rounds=rounds).dropna("spent")
        curve.set_data(now.spent, now)
        said = ", ".join(f"{name} {float(sweep.how_accuracy.sel(how=name, budget=budget)):.3f}" for name in METHOD_LOOKS)
        titles[0].set_text(f"{rounds} round{'s' * (rounds > 1)}; one merge after {budget}")
        titles[1].set_text(f"{float(now[-1]):.2f} after {rounds} round{'s' * (rounds > 1)}, average {float(sweep.how_accuracy.sel(how='average', budget=budget)):.2f}")
        return (f"{rounds} round{'s' * (rounds > 1)} of finetuning and averaging with {rounds_experiment.BUDGET} epochs of each task in all: accuracy {float(now[-1]):.3f} at the end. "
                f"One merge after {budget} epochs: {said}. Joint training ends at {float(sweep.joint_accuracy[-1]):.3f}.")

    controls = {"rounds": slider("rounds", [int(number) for number in sweep.rounds.values], 1), "budget": slider("single merges after epochs", list(rounds_experiment.SPENT), 10)}
    return controls, fig, draw, caption(sweep) + " Every round merges with α = 1/T. Grey squares: the end for every number of rounds."


def _landscape(fig, ax, sweep):
    """The loss on all tasks in the plane of the two components."""
    levels = np.quantile(sweep["map"].values, np.linspace(0, 1, 12))
    filled = ax.contourf(sweep.horizontal, sweep.vertical, sweep["map"], levels=np.unique(levels), cmap="Greys", alpha=0.5)
    fig.colorbar(filled, ax=ax, shrink=0.85, label="loss on all six tasks (nats)", format="%.2f")
    ax.set(xlabel=f"first component ({float(sweep.explained[0]):.0%} of the variance)", ylabel=f"second ({float(sweep.explained[1]):.0%})")
    ax.grid(False)


def reading_of_figure_4(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 4 of TVG and ours, with this sweep's numbers."""
    of = rounds_experiment.claim_10(sweep)
    text = (f"In units of the average's distance from the pretrained network, after ten epochs: TIES and Breadcrumbs lie {of['ties_breadcrumbs']:.2f} apart, TIES and the average "
            f"{of['ties_average']:.2f}, Breadcrumbs and the average {of['breadcrumbs_average']:.2f}; DARE lies {of['dare_nearest']:.2f} from the nearest of the three. Its loss is {of['dare_loss']:.2f} "
            f"all the same, the average's {of['average_loss']:.2f}: a random direction is long, and matters little to the function. The path of ten small steps ends at {of['path_loss']:.2f}, "
            f"the best single merge has {of['best_single_loss']:.2f}, joint training {of['joint_loss']:.2f}.")
    return Page(text, f"<p><b>Figure 4 of TVG, and ours.</b> {text}</p>")
