"""The task, and the twenty-two networks that learned it."""
import re

import numpy as np
import xarray
from matplotlib.lines import Line2D

import data
from lessons.averaging.experiment.models import ANGLE, BOLD, OUTLIERS, STRANGER, TRAIN_IMAGES
from lessons.averaging.panels.outliers import LOOKS, USUAL
from lessons.kit import drawings, plotting
from lessons.kit.page import Page, half_up, reading, said
from lessons.kit.plotting import still
from lessons.kit.sweep import caption

SHOWN = 12  # images in a row
_EPOCHS = {1: "o", 2: "s", 3: "^", 4: "D"}  # a marker for each number of epochs
_HYPERS = re.compile(r"lr ([\d.]+), (\d) epoch")


@still
def digits(sweep: xarray.Dataset):
    """The first digits of the task, before and after they are turned: what the pretrained network learned from, and
    what it is finetuned on."""
    rows = {"Learned before: upright digits": 0.0, f"The task: digits turned by {ANGLE:g}°": ANGLE}
    fig, axes = plotting.figure(rows=len(rows), height=2.1)
    for ax, (title, angle) in zip(axes, rows.items()):
        shown = data.load("rotated_mnist", "train", angle=angle, size=SHOWN)
        drawings.images(ax, shown.x, title)
    labels = ", ".join(str(int(label)) for label in shown.y)
    below = f"{caption(sweep).split(';')[0]}. Here are {SHOWN} of the {TRAIN_IMAGES:,} digits of the task."
    return plotting.show(fig, f"Two rows of the same {SHOWN} digits, {labels}: upright above, and turned by {ANGLE:g} "
                              "degrees below.", below)


@still
def twenty_two(sweep: xarray.Dataset):
    """Every network's accuracy against its learning rate, with a marker for the number of epochs."""
    rates, epochs = np.array([_HYPERS.search(name).groups() for name in sweep.name.values.astype(str)], float).T
    accuracies = _accuracies(sweep)
    fig, ax = plotting.figure(width=7.4, height=3.6)
    colours = [LOOKS[USUAL].colour] * 20 + [LOOKS[who].colour for who in OUTLIERS]
    for rate, passes, accuracy, colour in zip(rates, epochs, accuracies, colours):
        ax.plot([rate], [accuracy], color=colour, marker=_EPOCHS[int(passes)], markersize=8, linestyle="")
    for who, place in OUTLIERS.items():
        ax.annotate(who, (rates[place], accuracies[place]), xytext=(10, 0), textcoords="offset points", va="center",
                    color=LOOKS[who].colour)
    ticks = [0.02, 0.05, 0.1, 0.3]
    ax.set(xscale="log", xlabel="learning rate (logarithmic)", ylabel="accuracy on test digits", xlim=(0.018, 0.6))
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    plotting.in_percent(ax.yaxis)
    markers = [Line2D([], [], color=plotting.GREY, marker=marker, linestyle="") for marker in _EPOCHS.values()]
    ax.legend(markers, [f"{passes} epoch{'s' * (passes > 1)}" for passes in _EPOCHS], loc="lower right")
    alt = said("""Accuracies of twenty-two networks against their learning rates. The twenty have {least:.3f} to
                  {most:.3f}, with learning rates from {low:g} to {high:g}; {bold_name} has {bold:.3f} at {bold_rate:g},
                  {stranger_name} {stranger:.3f} at {stranger_rate:g}.""",
               least=accuracies[:20].min(), most=accuracies[:20].max(), low=rates[:20].min(), high=rates[:20].max(),
               bold_name=BOLD, bold=accuracies[20], bold_rate=rates[20], stranger_name=STRANGER,
               stranger=accuracies[21], stranger_rate=rates[21])
    return plotting.show(fig, alt, caption(sweep))


def reading_of_the_two(sweep: xarray.Dataset) -> Page:
    """Whether the accuracies of the bold one and the stranger would give them away."""
    accuracies = _accuracies(sweep)
    twenty, two = accuracies[:20], accuracies[20:]
    numbers = {"least": twenty.min(), "most": twenty.max(), "bold": two[0], "stranger": two[1]}
    if (two >= numbers["least"]).all() and (two <= numbers["most"]).all():
        return reading("Their accuracies do not give the two away", """The twenty have {least:.1%} to {most:.1%}, and
            the bold one with {bold:.1%} and the stranger with {stranger:.1%} lie in between.""", **numbers)
    return reading("How accurate are they?", """The twenty have {least:.1%} to {most:.1%}, the bold one has {bold:.1%},
        and the stranger has {stranger:.1%}.""", **numbers)


def _accuracies(sweep):
    """Of the twenty-two, rounded as they are shown."""
    return np.array([half_up(accuracy) for accuracy in sweep.accuracy.values])
