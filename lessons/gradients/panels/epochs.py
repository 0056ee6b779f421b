"""The pictures of trained networks: the first epoch, and panel (d), merging after 1 to 20 epochs."""
import numpy as np
import xarray

from lessons.gradients.experiment import epochs
from lessons.gradients.experiment.epochs import DIGITS, FAR, SGD, SHOWN, SPIRALS
from lessons.kit import plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Page, capital, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, level, moving_titles
from lessons.kit.plotting import BLUE, COLOURS, GREY, MARKERS, ORANGE, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, names

# -- the first epoch -------------------------------------------------------------------------------

REPORTED = 0.8  # the source's Figure 3b: cosines lie above


@still
def first_epoch(sweep: xarray.Dataset, data: str):
    """Figure 3 of TVG for one family, a line a task: above the epochs' shares of the gradient norm, below the cosine of
    every epoch's gradient with the first."""
    family = sweep.sel(data=data)
    optimisers = names(family.optimiser)
    fig, axes = plotting.figure(len(optimisers), 2, height=5.0, sharex=True, sharey="row")
    told = []
    for (above, below), name in zip(axes.T, optimisers):
        part = family.sel(optimiser=name)
        cosines = part.alike_moved.sel(epoch=1).rename(other="epoch", epoch="first")
        _per_task(above, part.share_moved)
        _per_task(below, cosines)
        above.set(title=name, ylim=(0, 1.05 * float(family.share_moved.max())))
        below.set(xlabel="epoch", ylim=(-0.1, 1.05), xticks=part.epoch)
        last = name == optimisers[-1]
        _line_at(above, 1 / len(part.epoch), "all epochs alike")
        _line_at(below, REPORTED, "the source: above this" if last else "")
        told.append(f"{name}: shares {_listed(part.share_moved.mean('task'))}, cosine with the first epoch "
                    f"{_listed(cosines.mean('task'))}")
    axes[0, 0].set_ylabel("share of the gradient norm")
    axes[1, 0].set_ylabel("cosine with the first epoch")
    alt = f"{data}, first five epochs, mean over six tasks. {'; '.join(told)}."
    return plotting.show(fig, alt, f"{caption(sweep)} {capital(data)}, one line a task.")


def _per_task(ax, values):
    """(task, epoch) against the epoch."""
    for of_task, colour, marker in zip(values.transpose("task", "epoch"), COLOURS, MARKERS):
        ax.plot(of_task.epoch, of_task, color=colour, marker=marker, linewidth=1.2, markersize=5)


def _line_at(ax, height, label):
    ax.axhline(height, color=GREY, linestyle=":", linewidth=1.4, marker="")
    ax.text(5.1, height, label, ha="right", va="bottom", fontsize=9.5, color="#555555")


def _listed(values):
    return ", ".join(f"{value:.2f}" for value in values.values)


def reading_of_figure_3(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 3 of TVG and ours, with this sweep's numbers."""
    by_claim = epochs.claims(sweep)
    numbers = by_claim["TVG-6"] | by_claim["TVG-7"]
    return reading("Figure 3 of Zhou, Solombrino et al., and ours", """
        With full batches the first of five epochs has {gd_first_share:.0%} of the gradient norm (a fifth would be 20%),
        the largest share in {gd_first_largest:.0%} of the tasks; the others have a cosine of {gd_cosine_mean:.2f} with
        it on average, {gd_cosine_least:.2f} at least. With SGD the first has {sgd_first_share:.0%}, the largest share
        in {sgd_first_largest:.0%} of the tasks; the others have a cosine of {sgd_cosine_mean:.2f} with it on average,
        {sgd_cosine_least:.2f} at least. If “the gradient of an epoch” means the gradient at the one point where it
        begins, the cosines with SGD are lower still, {sgd_cosine_mean_at_start:.2f} on average.""", **numbers)


# -- panel (d): how long to finetune ---------------------------------------------------------------

ENDS = {SHOWN[0]: (-0.035, -0.05), SHOWN[-1]: (0.0, 0.03)}  # written beside the path, so far from it
OTHERS = Look("#c9c9c9")
NOW = Look(BLUE, "o")
CHOSEN = Look(ORANGE, "D")
PATH = Look(GREY, ".")
CHANCE = {DIGITS: 0.1, FAR: 0.1, SPIRALS: 0.5}


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (d)."""
    part = sweep.sel(data=DIGITS, optimiser=SGD)
    return said("""Digits, SGD. After one epoch the six networks read {own:.2f} of their own tasks; the network before
                   finetuning read {before:.2f} of all six. How accurate on all six is their **merge**, at the best
                   scale?""", own=float(part.own.sel(epochs=1).mean()), before=float(part.before))


@panel
def merging(sweep: xarray.Dataset, prediction=None):
    """Panel (d): accuracy of the merged network against the scale, after so many epochs; right, own accuracy and merged
    accuracy of all epochs.

    Controls: epochs, optimiser, data. The prediction is a star: merged accuracy of one epoch of SGD on digits.
    """
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(6, 5))
    best = epochs.chosen(sweep)
    own = sweep.own.mean("task")
    against_scale = _AgainstScale(left)
    against_own = _AgainstOwn(right)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = moving_titles((left, right))
    predicted_at = {"data": DIGITS, "optimiser": SGD, "epochs": 1}
    star = Star(right, prediction, float(own.sel(predicted_at)), float(best.accuracy.sel(predicted_at)), predicted_at)

    def draw(epochs, optimiser, data):
        where = {"optimiser": optimiser, "data": data}
        part = sweep.sel(where)
        merged = best.sel(where)
        alone = own.sel(where)
        numbers = {"head": f"{data}, {optimiser}, {epochs} epoch{'s' * (epochs > 1)}:",
                   "epochs": epochs,
                   "own": float(alone.sel(epochs=epochs)),
                   "accuracy": float(merged.accuracy.sel(epochs=epochs)),
                   "scale": float(merged.scale.sel(epochs=epochs)),
                   "average": float(part.accuracy.sel(epochs=epochs, scale=1.0)),
                   "before": float(part.before)}
        against_scale.show(part.accuracy, numbers, CHANCE[data])
        against_own.show(alone, merged.accuracy, numbers)
        star.place(epochs=epochs, optimiser=optimiser, data=data)
        titles[0].set_text(said("{head} {accuracy:.2f}", **numbers))
        titles[1].set_text(said("Alone {own:.2f}, merged {accuracy:.2f} after {epochs}", **numbers))
        return said("""{head} the six networks read {own:.3f} of their own tasks, their merge {accuracy:.3f} of all six
                       at the scale {scale:.2f}, chosen on held-out samples; the average {average:.3f}. The network
                       before finetuning reads {before:.3f}.""", **numbers)

    optimisers = sorted(names(sweep.optimiser), key=lambda name: name != SGD)
    controls = {"epochs": slider("epochs", list(SHOWN), 1),
                "optimiser": choice("finetuned with", optimisers),
                "data": choice("tasks", sweep.data.values)}
    return controls, fig, draw


def _diamond(ax):
    """Where the chosen scale is."""
    return cloud(ax, CHOSEN, "scale chosen on held-out samples", markersize=10, markerfacecolor="none",
                 markeredgewidth=2)


class _AgainstScale:
    """Left: accuracy of the merge against its scale, after so many epochs and, in grey, after the other numbers."""

    def __init__(self, ax):
        ax.set(xlabel="scale αT (1 is the average)", ylabel="accuracy on all six tasks", ylim=(0, 1.02),
               xlim=(-0.05, 3.5))
        label = "after other numbers of epochs (at its end)"
        self.others = [curve(ax, OTHERS, "" if i else label, linewidth=1.2) for i in range(len(SHOWN))]
        self.numbers = [ax.text(0, 0, str(number), fontsize=9.5, va="center", color="#555555", animated=True)
                        for number in SHOWN]
        self.chance = level(ax, Look(GREY, line=":"))
        self.by_chance = ax.text(3.48, 0, "by chance", fontsize=9.5, ha="right", color="#555555", animated=True)
        self.now = curve(ax, NOW, "merged after so many epochs")
        self.chosen = _diamond(ax)

    def show(self, accuracy, numbers, chance):
        """accuracy: (epochs, scale); chance: what guessing gets."""
        ends = accuracy.sel(epochs=list(SHOWN)).isel(scale=-1).values
        heights = spread_out(ends, 0.042)
        for line, text, number, height in zip(self.others, self.numbers, SHOWN, heights):
            line.set_data(accuracy.scale, accuracy.sel(epochs=number))
            text.set_position((3.06, height))
        self.chance.set_ydata([chance, chance])
        self.by_chance.set_y(chance - 0.05)
        self.now.set_data(accuracy.scale, accuracy.sel(epochs=numbers["epochs"]))
        self.chosen.set_data([numbers["scale"]], [numbers["accuracy"]])


def spread_out(heights, least: float) -> np.ndarray:
    """Heights for labels: near those given, in their order, and at least `least` from each other."""
    placed = np.array(heights, dtype=float)
    order = np.argsort(placed)
    for below, above in zip(order, order[1:]):
        placed[above] = max(placed[above], placed[below] + least)
    return placed - (placed - heights).mean()


class _AgainstOwn:
    """Right: accuracy of the merge against that of the six networks by themselves, a path over the epochs."""

    def __init__(self, ax):
        ax.set(xlabel="accuracy of the six networks, own task", ylabel="accuracy of their merge, all tasks",
               ylim=(0.3, 1.02), xlim=(0.3, 1.02))
        ax.plot([0.3, 1], [0.3, 1], color=GREY, linestyle=":", linewidth=1.2, marker="")
        self.chosen = _diamond(ax)
        self.path = curve(ax, PATH, linewidth=1)
        self.numbers = {number: ax.text(0, 0, "", fontsize=9.5, animated=True) for number in ENDS}

    def show(self, alone, merged, numbers):
        """alone, merged: (epochs,)."""
        shown = list(SHOWN)
        self.path.set_data(alone.sel(epochs=shown), merged.sel(epochs=shown))
        self.chosen.set_data([numbers["own"]], [numbers["accuracy"]])
        for number, (across, up) in ENDS.items():
            place = float(alone.sel(epochs=number)) + across, float(merged.sel(epochs=number)) + up
            self.numbers[number].set(text=str(number), position=place)


def reading_of_figure_2(sweep: xarray.Dataset) -> Page:
    """The networks by themselves and their merges over the epochs; what the merge keeps of the networks' own gain from
    epoch 1 to 20, and the correlation of the two, all with all."""
    best = epochs.chosen(sweep).accuracy
    own = sweep.own.mean("task")
    rows = []
    for data in names(sweep.data):
        for optimiser in names(sweep.optimiser):
            selection = {"data": data, "optimiser": optimiser}
            name = f"{data}, {optimiser}"
            alone = own.sel(selection)
            merged = best.sel(selection)
            kept = float((merged[-1] - merged[0]) / (alone[-1] - alone[0]))
            together = float(np.corrcoef(alone, merged)[0, 1])
            before = f"{float(sweep.before.sel(selection)):.2f}"
            rows.append((f"{name}: alone", "", *_at_shown(alone), "", ""))
            rows.append((f"{name}: merged", before, *_at_shown(merged), f"{kept:.2f}", f"{together:.2f}"))
    head = ("accuracy after … epochs", "0", *map(str, SHOWN), "kept of the own gain, 1 to 20", "correlation")
    return table(head, rows)


def _at_shown(accuracy):
    return [f"{float(accuracy.sel(epochs=number)):.2f}" for number in SHOWN]


def does_one_epoch_do(sweep: xarray.Dataset) -> Page:
    """Is merging after one epoch as good as after twenty, and after five? With the standard error of each
    difference."""
    best = epochs.chosen(sweep).accuracy
    images = len(sweep.task) * epochs.PROFILES[sweep.attrs["profile"]].amounts.test
    sentences = []
    for data in (DIGITS, FAR):
        accuracies = best.sel(data=data, optimiser=SGD)
        gains = [_gain_said(accuracies, first, images) for first in (1, 5)]
        sentences.append(f"{capital(data)}, from epoch 1 to 20 the merge {gains[0]}; "
                         f"from epoch 5 to 20 it {gains[1]}.")
    return reading("Is one epoch enough?", " ".join(sentences))


def _gain_said(accuracy, first, images):
    """What the merge gains from an epoch to the last, and whether that is within the noise."""
    gain = Difference.of(float(accuracy.sel(epochs=epochs.EPOCHS[-1])), float(accuracy.sel(epochs=first)), images)
    signed = f"{gain.value:+.3f}".replace("-", "−")
    return f"{'gains' if gain.value >= 0 else 'loses'} {signed} ± {gain.error:.3f}{gain.doubt()}"
