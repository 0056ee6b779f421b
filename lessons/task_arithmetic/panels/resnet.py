"""The ResNets at the end of the chapter."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, in_full_alone
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, RED
from lessons.kit.sweep import caption
from lessons.kit.plotting import still
from lessons.task_arithmetic import experiment as experiment_claims
from lessons.task_arithmetic.experiment import resnet
from lessons.task_arithmetic.panels.common import ACCURACY


@in_full_alone
@still
def resnets(sweep: xarray.Dataset | None):
    """Sums and negations of the ResNet's task vectors."""
    fig, axes = plotting.figure(3, height=3.9)
    positive = sweep.sel(lam=slice(0, None))
    sums, splits = [str(edit) for edit in sweep.edit.values if " and " in str(edit)], list(sweep.task.values[1:])
    for treatment, style, said in zip(resnet.TREATMENTS, ("--", "-"), ("carried", "anew")):
        part = positive.sel(treatment=treatment)
        two = np.mean([part.accuracy.sel(edit=edit, task=[int(word) for word in edit.split() if word.isdigit()]).mean("task").values for edit in sums], 0)
        all_four = part.accuracy.sel(edit="all four", task=splits).mean("task")
        for values, colour, marker, label in ((two, BLUE, "o", "two, on both"), (all_four, ORANGE, "s", "all four")):
            axes[0].plot(positive.lam, values, color=colour, marker=marker, linestyle=style, markerfacecolor="white" if style == "--" else None, label=f"{label}, {said}")
        one = sweep.sel(treatment=treatment)
        for which, colour, marker, label in ((0, GREEN, "^", "pretraining task"), (1, RED, "o", "task i")):
            values = np.mean([one.accuracy.sel(edit=resnet.name_of(split), task=split if which else sweep.task.values[0]).values for split in splits], 0)
            axes[1].plot(sweep.lam, values, color=colour, marker=marker, linestyle=style, markerfacecolor="white" if style == "--" else None, label=f"{label}, {said}")
    for ax, title, label in zip(axes, ("Sums of two and of four", "One task vector"), ("accuracy on the tasks added", ACCURACY)):
        ax.axhline(0.2, color=GREY, linestyle=":", linewidth=1, marker="")
        ax.set(xlabel="λ", ylabel=label, ylim=(0, 1.15), yticks=np.linspace(0, 1, 6), title=title)
        ax.legend(fontsize=7.5, loc="upper left")
    places, shown = np.arange(len(sweep.layer)), {"Eq. 2": (sums, BLUE, "o"), "Eq. 3": ([f"split {split} and its negative" for split in splits], GREEN, "^")}
    for name, (ends, colour, marker) in shown.items():
        ratio = (sweep.gap_mean / sweep.base_mean).sel(ends=ends).mean("ends")
        for lam, style in ((0.2, "-"), (0.4, "--"), (1.0, ":")):
            axes[2].plot(places, ratio.sel(step=lam), color=colour, marker=marker, markersize=4, linestyle=style, label=f"{name}, λ = {lam:g}")
    axes[2].set(xlabel="block", ylabel="gap, share of the baseline", ylim=(0, None), title="Eq. 2 and 3")
    axes[2].set_xticks(places, [str(layer).replace("block ", "") for layer in sweep.layer.values])
    axes[2].legend(fontsize=7, loc="upper left")
    of = resnet.numbers(sweep)
    words = "; ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in of.items())
    return plotting.show(fig, f"ResNet-18, task vectors of four splits. {words}.", caption(sweep) + f" The networks trained on each task: {', '.join(f'{value:.2f}' for value in sweep.own.values)}. "
                         "“Carried”: BatchNorm's statistics went through the same arithmetic as the weights; “anew”: estimated again. Chance is 0.2.")


def reading_of_the_resnets(sweep: xarray.Dataset | None) -> Page:
    """What of the MLP's story holds for the ResNet, with this sweep's numbers; nothing in "quick"."""
    if sweep is None:
        return Page("", "")
    of = resnet.numbers(sweep)
    text = (f"Two task vectors at λ = ½ read {of['two_at_half']:.3f} on both tasks, against {of['two_at_0']:.3f} of the pretrained backbone and {of['own']:.3f} of the networks themselves; four "
            f"at ¼ {of['four_at_quarter']:.3f} and at ½ {experiment_claims.four_at_half(sweep):.3f}. Subtracting one (λ = −½) takes its task from {of['task_at_0']:.3f} to {of['task_at_minus_half']:.3f} and the pretraining task from "
            f"{of['pretraining_at_0']:.3f} to {of['pretraining_at_minus_half']:.3f}. Eq. 2 at λ = 0.2: the gap is {of['eq_2_block_1_at_0.2']:.0%} of the baseline in block 1 and {of['eq_2_block_8_at_0.2']:.0%} in "
            f"block 8, at λ = 0.4 {of['eq_2_block_1_at_0.4']:.0%} and {of['eq_2_block_8_at_0.4']:.0%}. A running variance that goes through the arithmetic can come out below zero: with all four task vectors at "
            f"λ = 1 {of['variances_below_zero_four_at_one']:.1%} of the channels' do, and with one at −1 {of['variances_below_zero_one_at_minus_one']:.1%}. A single one makes every answer not a number: "
            f"accuracy {of['four_at_one_carried_statistics']:.3f}, with statistics estimated anew {of['four_at_one']:.3f}.")
    return Page(text, f"<p><b>The ResNet.</b> {text}</p>")
