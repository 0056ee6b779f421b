"""Panel (g): more layers."""
import numpy as np
import xarray
from matplotlib.ticker import FixedLocator

from lessons.kit import plotting
from lessons.kit.page import Page, quiet, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, level, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from lessons.kit.sweep import caption, names
from lessons.sail.experiment import depth
from lessons.sail.experiment.depth import PLAIN, RESIDUAL, SCRATCH

CHOSEN, SILENT, FRESH = Look(BLACK, "D"), Look(GREEN, "^"), Look(GREY, "", "--")
SUMS, SHUFFLED, ENDS = Look(ORANGE, "s"), Look(RED, "", ":"), Look(PURPLE, "", "-.")


def with_sum(row_sum: float) -> str:
    """As the sweep calls interpolation with rows of this sum."""
    return "interpolation" if row_sum == 1 else f"interpolation, rows sum to {row_sum:g}"


def sums(sweep: xarray.Dataset) -> list[float]:
    """The row sums that were tried."""
    return [row_sum for row_sum in depth.SUMS if with_sum(row_sum) in sweep.start.values]


@panel
def layers(sweep: xarray.Dataset):
    """Panel (g): the loss over the steps from the start that is chosen, beside layers that do nothing and scratch;
    right, the loss at once of interpolated layers against the sum of their rows, beside the same with its entries
    shuffled and beside the two ends of the network alone.

    Controls: row_sum, network, start.
    """
    fig, (left, right) = plotting.figure(2, height=4.1, width_ratios=(6, 5))
    steps = np.arange(len(sweep.steps))
    lines = {"chosen": curve(left, CHOSEN, "the start chosen"), "silent": curve(left, SILENT, "layers that do nothing"),
             "scratch": curve(left, FRESH, "scratch")}
    looks = [str(int(step)) for step in sweep.steps.values]
    left.set_xticks(steps, looks)
    left.set(xlabel="steps on new images", ylabel="loss (nats, log scale)", yscale="log", ylim=(0.2, 9),
             xlim=(-0.3, len(looks) - 0.7))
    tried = sums(sweep)
    of_sums = curve(right, SUMS, "interpolation")
    levels = {"silent": level(right, Look(GREEN, "", "-")),
              "interpolation, shuffled": level(right, SHUFFLED, "its entries shuffled"),
              "ends alone": level(right, ENDS, "the ends alone")}
    upright = here(right, 1, color=BLUE)
    right.set(xlabel="sum of a row of D", ylabel="loss at once (nats, log scale)", yscale="log", ylim=(0.2, 9),
              xlim=(0.15, 1.35))
    _ticks_and_legend(fig, left, right)
    titles = moving_titles((left, right))

    def draw(row_sum, network, start):
        loss = sweep.loss.sel(network=network)
        name = with_sum(row_sum) if start == "interpolation" else start
        for which, drawn in (("chosen", name), ("silent", "silent"), ("scratch", SCRATCH)):
            lines[which].set_data(steps, loss.sel(start=drawn))
        at_once = loss.isel(steps=0)
        of_sums.set_data(tried, [float(at_once.sel(start=with_sum(total))) for total in tried])
        for control, line in levels.items():
            line.set_ydata([float(at_once.sel(start=control))] * 2)
        upright.set_xdata([row_sum, row_sum])
        numbers = {"network": network, "name": name, "row_sum": row_sum} | _numbers(loss, name, row_sum)
        titles[0].set_text(said("{name}", **numbers))
        titles[1].set_text(said("Rows sum to {row_sum:g}: {mixed:.2f}", **numbers))
        return said("""{network} network, from two layers to four. {name}: loss {at_once:.3f} at once and {end:.3f}
                       after {last} steps. Layers that do nothing {silent:.3f} at once. Interpolated layers whose rows
                       sum to {row_sum:g} have {mixed:.3f} at once, with their entries shuffled (rows sum to 1)
                       {shuffled:.3f}; the ends of the network with nothing between them {ends:.3f}.""", **numbers)

    menu = [name for name in names(sweep.start) if "rows sum" not in name and name != SCRATCH]
    controls = {"row_sum": slider("sum of D's rows", tried, 1.0),
                "network": choice("network", (RESIDUAL, PLAIN)),
                "start": choice("start", sorted(menu, key=lambda name: name != "interpolation"))}
    return controls, fig, draw, f"{caption(sweep)} Losses above 9, and of training that diverged, are not drawn."


def _ticks_and_legend(fig, *axes):
    """Plain numbers on logarithmic axes, and one legend for all."""
    handles, labels = [], []
    for ax in axes:
        ax.yaxis.set_major_locator(FixedLocator([0.3, 0.5, 1, 2, 5]))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_locator(FixedLocator([]))
        of_axis = ax.get_legend_handles_labels()
        handles += of_axis[0]
        labels += of_axis[1]
    fig.legend(handles, labels, loc="outside lower center", ncols=3)


def _numbers(loss, name, row_sum):
    """What the alternative text says of losses (start, steps)."""
    at_once = loss.isel(steps=0)
    return {"at_once": float(at_once.sel(start=name)), "last": int(loss.steps[-1]),
            "end": float(loss.sel(start=name)[-1]), "silent": float(at_once.sel(start="silent")),
            "mixed": float(at_once.sel(start=with_sum(row_sum))),
            "shuffled": float(at_once.sel(start="interpolation, shuffled")),
            "ends": float(at_once.sel(start="ends alone"))}


def at_a_glance(sweep: xarray.Dataset) -> Page:
    """A row for every start: accuracy at once, after twenty steps and at the end, plain and residual."""
    last = int(sweep.steps[-1])
    rows = []
    for start in names(sweep.start):
        cells = []
        for network in (PLAIN, RESIDUAL):
            part = sweep.accuracy.sel(network=network, start=start)
            cells += [f"{float(part.sel(steps=steps)):.3f}" for steps in (0, 20, last)]
        rows.append((start, *cells))
    looks = ("at once", "20 steps", f"{last} steps")
    heads = [f"{network}, {steps}" for network in (PLAIN, RESIDUAL) for steps in looks]
    return table(("start", *heads), rows, after=quiet(caption(sweep)))


def reading_of_equation_9(sweep: xarray.Dataset) -> Page:
    """What SAIL says of its depth transform, and what ours do."""
    numbers = depth.claim_9(sweep)
    return reading("Eq. 9 of the source, tried", """
        Plain network, loss at once: layers that do nothing {plain_silent_0:.2f}, interpolation
        {plain_interpolation_0:.2f}, with its entries shuffled {plain_shuffled_0:.2f}; after 100 steps accuracy
        {plain_silent_100:.3f}, {plain_interpolation_100:.3f}, {plain_shuffled_100:.3f}, random layers of the right size
        {plain_he_100:.3f}, scratch {plain_scratch_100:.3f}. Residual network, loss at once: layers that do nothing
        {residual_silent_0:.2f}, rows that sum to ½ {residual_half_0:.2f}, to 1 {residual_interpolation_0:.2f}; the two
        ends alone {residual_ends_0:.2f}.""", **numbers)
