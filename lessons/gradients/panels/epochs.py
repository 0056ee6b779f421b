"""The pictures of trained networks: the first epoch, and panel (d), merging after 1 to 20 epochs."""
import numpy as np
import xarray

from lessons.gradients.experiment import epochs as experiment
from lessons.gradients.experiment.epochs import DIGITS, SGD, SHOWN
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, moving_titles
from lessons.kit.plotting import BLUE, COLOURS, GREY, MARKERS, ORANGE, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption


# -- the first epoch -------------------------------------------------------------------------------

@still
def first_epoch(sweep: xarray.Dataset, data: str):
    """Figure 3 of TVG for one family: the epochs' shares of the gradient norm, task by task; the cosines between the
    epochs' gradients, mean over tasks."""
    here = sweep.sel(data=data)
    optimisers = list(map(str, here.optimiser.values))
    fig, axes = plotting.figure(2 * len(optimisers), height=3.3, width_ratios=(4, 3) * len(optimisers))
    told = []
    for (left, right), name in zip(axes.reshape(-1, 2), optimisers):
        part = here.sel(optimiser=name)
        alike = part.alike_moved.mean("task")
        _shares(left, part, name, 1.05 * float(here.share_moved.max()))
        _alike(right, alike)
        told.append(f"{name}: shares {_listed(part.share_moved.mean('task'))}, cosine with the first epoch "
                    f"{_listed(alike[0])}")
    axes[0].set_ylabel("share of the gradient norm")
    fig.colorbar(axes[-1].collections[0], ax=axes[-1], shrink=0.8, label="cosine, mean over tasks")
    alt = f"{data}, first five epochs, mean over six tasks. {'; '.join(told)}."
    return plotting.show(fig, alt, f"{caption(sweep)} {data[0].upper()}{data[1:]}, one line a task.")


def _shares(ax, part, name, highest):
    """Every epoch's share of the gradient norm, a line a task."""
    for values, colour, marker in zip(part.share_moved, COLOURS, MARKERS):
        ax.plot(part.epoch, values, color=colour, marker=marker, linewidth=1.2, markersize=5)
    ax.set(ylim=(0, highest), xlabel="epoch", title=name, xticks=part.epoch)


def _alike(ax, alike):
    """The cosines between the epochs' gradients; those with the first in numbers."""
    import seaborn  # takes a second, and nothing else here needs it
    numbers = np.full(alike.shape, "", dtype=object)
    numbers[0] = [f"{value:.1f}" for value in alike.values[0]]
    epochs = alike.epoch.values
    seaborn.heatmap(alike.values, ax=ax, vmin=-1, vmax=1, cmap="RdBu_r", cbar=False, square=True, annot=numbers, fmt="",
                    annot_kws={"fontsize": 7.5}, xticklabels=epochs, yticklabels=epochs)
    ax.set(xlabel="epoch")
    ax.tick_params(axis="y", labelrotation=0)


def _listed(values):
    return ", ".join(f"{value:.2f}" for value in values.values)


def reading_of_figure_3(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 3 of TVG and ours, with this sweep's numbers."""
    of = experiment.claims(sweep)
    numbers = of["TVG-6"] | of["TVG-7"]
    return reading("Figure 3 of TVG, and ours", """
        With full batches the first of five epochs has {gd_first_share:.0%} of the gradient norm (a fifth would be 20%),
        the largest share in {gd_first_largest:.0%} of the tasks; the others have a cosine of {gd_cosine_mean:.2f} with
        it on average, {gd_cosine_least:.2f} at least. With SGD the first of five epochs has {sgd_first_share:.0%} of
        the gradient norm (a fifth would be 20%), the largest share in {sgd_first_largest:.0%} of the tasks; the others
        have a cosine of {sgd_cosine_mean:.2f} with it on average, {sgd_cosine_least:.2f} at least.""", **numbers)


# -- panel (d): how long to finetune ---------------------------------------------------------------

ENDS = {SHOWN[0]: (-0.035, -0.05), SHOWN[-1]: (0.0, 0.03)}  # written beside the path, so far from it
OTHERS = Look("#c9c9c9")
NOW = Look(BLUE, "o")
CHOSEN = Look(ORANGE, "D")
PATH = Look(GREY, ".")


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (d)."""
    here = sweep.sel(data=DIGITS, optimiser=SGD)
    return said("""Digits, SGD. After one epoch the six networks read {own:.2f} of their own tasks; the network before
                   finetuning read {before:.2f} of all six. How accurate on all six is their <b>merge</b>, at the best
                   scale?""", own=float(here.own.sel(epochs=1).mean()), before=float(here.before))


@panel
def merging(sweep: xarray.Dataset, prediction=None):
    """Panel (d): accuracy of the merged network against the scale, after so many epochs; right, own accuracy and merged
    accuracy of all epochs.

    Controls: epochs, optimiser, data. The prediction is a star: merged accuracy of one epoch of SGD on digits.
    """
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(6, 5))
    best = experiment.chosen(sweep)
    own = sweep.own.mean("task")
    against_scale = _AgainstScale(left)
    against_own = _AgainstOwn(right)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = moving_titles((left, right))
    asked = {"data": DIGITS, "optimiser": SGD, "epochs": 1}
    star = Star(right, prediction, float(own.sel(asked)), float(best.accuracy.sel(asked)), asked)

    def draw(epochs, optimiser, data):
        where = {"optimiser": optimiser, "data": data}
        now = sweep.sel(where)
        merged = best.sel(where)
        alone = own.sel(where)
        at = {"head": f"{data}, {optimiser}, {epochs} epoch{'s' * (epochs > 1)}:",
              "epochs": epochs,
              "own": float(alone.sel(epochs=epochs)),
              "accuracy": float(merged.accuracy.sel(epochs=epochs)),
              "scale": float(merged.scale.sel(epochs=epochs)),
              "average": float(now.accuracy.sel(epochs=epochs, scale=1.0)),
              "before": float(now.before)}
        against_scale.show(now.accuracy, at)
        against_own.show(alone, merged.accuracy, at)
        star.place(epochs=epochs, optimiser=optimiser, data=data)
        titles[0].set_text(said("{head} {accuracy:.2f}", **at))
        titles[1].set_text(said("Alone {own:.2f}, merged {accuracy:.2f} after {epochs}", **at))
        return said("""{head} the six networks read {own:.3f} of their own tasks, their merge {accuracy:.3f} of all six
                       at the scale {scale:.2f}, chosen on held-out samples; the average {average:.3f}. The network
                       before finetuning reads {before:.3f}.""", **at)

    optimisers = sorted(map(str, sweep.optimiser.values), key=lambda name: name != SGD)
    controls = {"epochs": slider("epochs", list(SHOWN), 1),
                "optimiser": choice("finetuned with", {name: name for name in optimisers}),
                "data": choice("tasks", {name: name for name in map(str, sweep.data.values)})}
    return controls, fig, draw


def _diamond(ax):
    """Where the chosen scale is."""
    return cloud(ax, CHOSEN, "scale chosen on held-out samples", markersize=10, markerfacecolor="none",
                 markeredgewidth=2)


class _AgainstScale:
    """Left: accuracy of the merge against its scale, after so many epochs and, in grey, after the other numbers."""

    def __init__(self, ax):
        ax.set(xlabel="scale αT (1 is the average)", ylabel="accuracy on all six tasks", ylim=(0, 1.02),
               xlim=(-0.05, 3.05))
        label = "after other numbers of epochs"
        self.others = [curve(ax, OTHERS, "" if i else label, linewidth=1.2) for i in range(len(SHOWN))]
        self.now = curve(ax, NOW, "merged after so many epochs")
        self.chosen = _diamond(ax)

    def show(self, accuracy, at):
        """accuracy: (epochs, scale)."""
        for line, number in zip(self.others, SHOWN):
            line.set_data(accuracy.scale, accuracy.sel(epochs=number))
        self.now.set_data(accuracy.scale, accuracy.sel(epochs=at["epochs"]))
        self.chosen.set_data([at["scale"]], [at["accuracy"]])


class _AgainstOwn:
    """Right: accuracy of the merge against that of the six networks by themselves, a path over the epochs."""

    def __init__(self, ax):
        ax.set(xlabel="accuracy of the six networks, own task", ylabel="accuracy of their merge, all tasks",
               ylim=(0.3, 1.02), xlim=(0.3, 1.02))
        ax.plot([0.3, 1], [0.3, 1], color=GREY, linestyle=":", linewidth=1.2, marker="")
        self.chosen = _diamond(ax)
        self.path = curve(ax, PATH, linewidth=1)
        self.numbers = {number: ax.text(0, 0, "", fontsize=9, animated=True) for number in ENDS}

    def show(self, alone, merged, at):
        """alone, merged: (epochs,)."""
        shown = list(SHOWN)
        self.path.set_data(alone.sel(epochs=shown), merged.sel(epochs=shown))
        self.chosen.set_data([at["own"]], [at["accuracy"]])
        for number, (across, up) in ENDS.items():
            place = float(alone.sel(epochs=number)) + across, float(merged.sel(epochs=number)) + up
            self.numbers[number].set(text=str(number), position=place)


def reading_of_figure_2(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 2 of TVG and ours, with this sweep's numbers."""
    best = experiment.chosen(sweep).accuracy
    own = sweep.own.mean("task")
    rows = []
    for data in map(str, sweep.data.values):
        for optimiser in map(str, sweep.optimiser.values):
            here = {"data": data, "optimiser": optimiser}
            ends = [of.sel(**here, epochs=number) for of in (own, best) for number in (1, 20)]
            accuracies = [f"{float(value):.3f}" for value in (sweep.before.sel(here), *ends)]
            rows.append((f"{data}, {optimiser}", *accuracies, f"{float(best.sel(here).idxmax('epochs')):.0f}"))
    head = ("tasks, optimiser", "before", "alone, 1 epoch", "alone, 20 epochs", "merged, 1 epoch", "merged, 20 epochs",
            "best merged after")
    return table(head, rows)
