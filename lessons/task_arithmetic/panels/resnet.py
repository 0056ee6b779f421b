"""The ResNets at the end of the chapter."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Markup, Page, in_full_alone, paragraph, said, table
from lessons.kit.plotting import ACCURACY, BLUE, GREEN, ORANGE, RED, Look, still
from lessons.kit.sweep import caption, names
from lessons.task_arithmetic.experiment import resnet
from lessons.task_arithmetic.panels.common import dotted

CHANCE = 0.2
TWO, FOUR = Look(BLUE, "o"), Look(ORANGE, "s")
BEFORE, TASK = Look(GREEN, "^"), Look(RED, "o")
STATISTICS = {"interpolated": ("carried", "--", "white"), "re-estimated": ("anew", "-", None)}  # said, line, filling


@in_full_alone
@still
def resnets(sweep: xarray.Dataset | None):
    """Sums and negations of the ResNet's task vectors."""
    fig, axes = plotting.figure(3, height=5.2)
    splits = list(sweep.task.values[1:])
    pairs = [edit for edit in names(sweep.edit) if " and " in edit]
    for treatment in resnet.TREATMENTS:
        accuracy = sweep.accuracy.sel(treatment=treatment)
        _sums(axes[0], accuracy.sel(lam=slice(0, None)), pairs, splits, *STATISTICS[treatment])
        _one(axes[1], accuracy, splits, *STATISTICS[treatment])
    titles = ("Sums of two and of four", "One task vector")
    for ax, title, label in zip(axes, titles, ("accuracy on the tasks added", ACCURACY)):
        dotted(ax, CHANCE)
        ax.set(xlabel="λ", ylabel=label, ylim=(0, 1.15), yticks=np.linspace(0, 1, 6), title=title)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
    _shares(axes[2], sweep, pairs, splits)
    words = "; ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in resnet.numbers(sweep).items())
    own = ", ".join(f"{value:.2f}" for value in sweep.own.values)
    below = (f" The networks trained on each task: {own}. “Carried”: BatchNorm's statistics went through the same "
             "arithmetic as the weights; “anew”: estimated again. Chance is 0.2.")
    return plotting.show(fig, f"ResNet-18, task vectors of four splits. {words}.", caption(sweep) + below)


def _sums(ax, accuracy, pairs, splits, statistics, line, filling):
    """Accuracy of sums on the tasks added, against λ."""
    of_two = []
    for edit in pairs:
        tasks = [int(word) for word in edit.split() if word.isdigit()]
        of_two.append(accuracy.sel(edit=edit, task=tasks).mean("task").values)
    two = np.mean(of_two, 0)
    four = accuracy.sel(edit="all four", task=splits).mean("task")
    for values, look, label in ((two, TWO, "two, on both"), (four, FOUR, "all four")):
        ax.plot(accuracy.lam, values, color=look.colour, marker=look.marker, linestyle=line, markerfacecolor=filling,
                label=f"{label}, {statistics}")


def _one(ax, accuracy, splits, statistics, line, filling):
    """Accuracy with one task vector, on the pretraining task and on its own, against λ."""
    pretraining = accuracy.task.values[0]
    alone = {split: accuracy.sel(edit=resnet.name_of(split)) for split in splits}
    before = np.mean([accuracies.sel(task=pretraining).values for accuracies in alone.values()], 0)
    task = np.mean([accuracies.sel(task=split).values for split, accuracies in alone.items()], 0)
    for values, look, label in ((before, BEFORE, "pretraining task"), (task, TASK, "task i")):
        ax.plot(accuracy.lam, values, color=look.colour, marker=look.marker, linestyle=line, markerfacecolor=filling,
                label=f"{label}, {statistics}")


def _shares(ax, sweep, pairs, splits):
    """The gap of both equations as a share of the baseline, block by block."""
    places = np.arange(len(sweep.layer))
    ratio = sweep.gap_mean / sweep.base_mean
    for name, ends, look in (("Eq. 2", pairs, TWO), ("Eq. 3", list(map(resnet.negation_of, splits)), BEFORE)):
        mean = ratio.sel(ends=ends).mean("ends")
        for lam, line in ((0.2, "-"), (0.4, "--"), (1.0, ":")):
            ax.plot(places, mean.sel(step=lam), color=look.colour, marker=look.marker, markersize=4, linestyle=line,
                    label=f"{name}, λ = {lam:g}")
    ax.set(xlabel="block", ylabel="gap, share of the baseline", ylim=(0, None), title="Eq. 2 and 3")
    ax.set_xticks(places, [str(layer).replace("block ", "") for layer in sweep.layer.values])
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def reading_of_the_resnets(sweep: xarray.Dataset | None) -> Page:
    """What of the MLP's story holds for the ResNet, with this sweep's numbers; nothing in "quick"."""
    if sweep is None:
        return Page("", "")
    numbers = resnet.numbers(sweep)
    images = int(sweep.attrs["images"].split()[0].replace(",", ""))
    added = Difference.of(numbers["two_at_half"], numbers["two_at_0"], images)
    taken = Difference.of(numbers["task_at_0"], numbers["task_at_minus_half"], images)
    holds = all(difference.is_news and difference.value > 0 for difference in (added, taken))
    title = "On the ResNet, two added task vectors help both tasks, and a subtracted one hurts its own." if holds \
        else "The ResNet."
    depth = said("""The gap of Eq. 2 depends on depth: at λ = 0.4, the gap is {first:.0%} of the baseline in block 1 and
                    {last:.0%} in block 8. The table has accuracies, with statistics estimated anew.""",
                 first=numbers["eq_2_block_1_at_0.4"], last=numbers["eq_2_block_8_at_0.4"])
    below = said("""A running variance that goes through the arithmetic can come out below zero. With all four task
                    vectors at λ = 1, {four:.1%} of the channels’ do, and with one at −1, {one:.1%}. A single such
                    channel makes all outputs NaN. The accuracy is then {carried:.3f}, but {anew:.3f} with statistics
                    estimated anew.""",
                 four=numbers["variances_below_zero_four_at_one"],
                 one=numbers["variances_below_zero_one_at_minus_one"],
                 carried=numbers["four_at_one_carried_statistics"], anew=numbers["four_at_one"])
    made = table(("edit, and asked on", "pretrained backbone", "edited", "networks trained on each task"),
                 _edited(numbers, resnet.four_at_half(sweep)),
                 before=Markup("<p><b>{}</b> {}</p>").format(title, depth), after=paragraph(below))
    return Page(f"{title} {depth}\n{made.text}\n{below}", made.page)


def _edited(numbers, four_at_half):
    """Rows of the table: accuracy before and after an edit, and of the networks that were trained on the tasks."""
    before, single = numbers["two_at_0"], numbers["own"]
    rows = [("two task vectors at λ = ½, both tasks", before, numbers["two_at_half"], single),
            ("four at λ = ¼, all four tasks", before, numbers["four_at_quarter"], single),
            ("four at λ = ½, all four tasks", before, four_at_half, single),
            ("one at λ = −½, its task", numbers["task_at_0"], numbers["task_at_minus_half"], single),
            ("one at λ = −½, the pretraining task", numbers["pretraining_at_0"], numbers["pretraining_at_minus_half"],
             None)]
    return [(name, *("–" if value is None else f"{value:.3f}" for value in values)) for name, *values in rows]
