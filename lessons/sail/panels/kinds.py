"""Other kinds of networks and of learning: a GPT, a flow, BYOL."""
import numpy as np
import xarray

from lessons.kit import noise, plotting
from lessons.kit.page import Page, in_full_alone, table
from lessons.kit.panel.moving import Look
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED, still
from lessons.kit.sweep import caption
from lessons.sail.experiment import byol, flow

STARTS = {"one start": Look(BLUE, "o"), "two starts": Look(ORANGE, "s"), "one run": Look(GREEN, "^")}
GROWN = {"parent as it is": Look(BLACK, "D"), "deeper, silent": Look(GREEN, "^"), "deeper, stacking": Look(PURPLE, "v"),
         "deeper, interpolation": Look(ORANGE, "s"), "deeper, interpolation, rows sum to ½": Look(BLUE, "o"),
         "deeper, equal shares": Look(RED, "P"), "deeper, scratch": Look(GREY, "X", "--")}


@in_full_alone
@still
def text(sweep: xarray.Dataset | None):
    """Left, the loss on later speeches along γ between two GPTs, at once and after training; right, one of them grown
    in depth."""
    fig, (left, right) = plotting.figure(2, height=5.0)
    told = []
    last = int(sweep.steps[-1])
    for start, look in STARTS.items():
        for steps, line in ((0, "-"), (last, ":")):
            part = sweep.loss.sel(start=start, steps=steps)
            left.plot(sweep.share, part, color=look.colour, marker=look.marker, linestyle=line,
                      label=f"{start}, {steps} steps")
            told.append(f"{start}, {steps} steps: {float(part.sel(share=0.5)):.2f} half-way")
    left.set(xlabel="γ", ylabel="loss (nats a character)", title="Two GPTs mixed")
    places = np.arange(len(sweep.steps))
    for how, look in GROWN.items():
        right.plot(places, sweep.grown.sel(how=how), color=look.colour, marker=look.marker, linestyle=look.line,
                   label=how)
    right.set_xticks(places, [str(int(steps)) for steps in sweep.steps.values])
    right.set(xlabel="steps on later speeches", title="One of them from two blocks to four")
    for ax in (left, right):
        ax.legend(fontsize=9.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return plotting.show(fig, f"Loss of mixed GPTs. {'; '.join(told)}.", caption(sweep))


@in_full_alone
@still
def points(sweep: xarray.Dataset | None):
    """The flow-matching loss over the steps, of averages and of a random start; and how far made points are from real
    ones."""
    fig, (left, right) = plotting.figure(2, height=3.8)
    places = np.arange(len(sweep.steps))
    told = []
    for pair, colour, marker in zip(map(str, sweep.pair.values), (*COLOURS[:4], GREY), MARKERS):
        part = sweep.sel(pair=pair, share=0.5)
        name = pair if pair == flow.RANDOM else f"γ = ½: {pair}"
        left.plot(places, part.loss, color=colour, marker=marker, label=name)
        right.plot(places, 1000 * part.mmd, color=colour, marker=marker)
        told.append(f"{name} {float(part.loss[0]):.2f} at once, {float(part.loss[-1]):.2f} at the end")
    alone = sweep.sel(pair=sweep.pair.values[0], share=0.0)
    left.plot(places, alone.loss, color=BLACK, linestyle=":", marker="", label="one parent alone")
    right.plot(places, 1000 * alone.mmd, color=BLACK, linestyle=":", marker="")
    for ax in (left, right):
        ax.set_xticks(places, [str(int(steps)) for steps in sweep.steps.values])
        ax.set_xlabel("steps on all points")
    left.set_ylabel("flow-matching loss")
    right.set_ylabel("1000 · MMD² from real points")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return plotting.show(fig, f"Flow-matching loss. {'; '.join(told)}.", caption(sweep))


@in_full_alone
def without_labels(sweep: xarray.Dataset | None) -> Page:
    """A row for every start of BYOL: accuracy by neighbours over the steps."""
    rows = [(str(name), *(f"{float(value):.3f}" for value in sweep.accuracy.sel(start=name)))
            for name in sweep.start.values]
    error = noise.error_of_difference(0.75, 0.75, byol.TEST)
    return table(("start", *(f"{int(steps)} steps" for steps in sweep.steps.values)), rows,
                 after=f"<p style='color:#555'>{caption(sweep)} Standard error of a difference: at most "
                       f"{100 * error:.1f} points.</p>")
