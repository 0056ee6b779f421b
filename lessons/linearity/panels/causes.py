"""Why the half-way network misses the mix, in two pictures."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import BLACK, BLUE, GREEN, ORANGE, still
from lessons.kit.sweep import caption, names
from lessons.linearity.experiment.causes import summary


@still
def causes(sweep: xarray.Dataset):
    """Left, what is missed in every layer, split into kinks and curvature. Right, what is left of the output's gap when
    a layer is made to hold the mixed features. Both are means over the pairs; black lines reach from the least pair to
    the most."""
    fig, (left, right) = plotting.figure(2, height=3.8)
    layers = names(sweep.layer)
    places = np.arange(len(layers))
    kinks = sweep.kinks.mean("pair").values
    left.bar(places, kinks, 0.62, color=BLUE, label="kinks: units on in one network alone")
    left.bar(places, 1 - kinks, 0.62, bottom=kinks, color=ORANGE, hatch="//", edgecolor="white",
             label="curvature: products of layers")
    for place, share in zip(places, kinks):
        left.text(place, share / 2, f"{share:.0%}", color="white", ha="center", va="center", fontweight="bold")
    left.vlines(places + 0.22, sweep.kinks.min("pair"), sweep.kinks.max("pair"), color=BLACK, linewidth=1.5)
    left.set(title="What is missed, by cause", ylim=(0, 1), ylabel="share of what is missed")
    left.set_xticks(places, layers)
    plotting.in_percent(left.yaxis)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=1)
    remaining = (sweep.repaired / sweep.gap.isel(layer=-1)).isel(layer=slice(None, -1))
    _left_over(right, remaining, layers[:-1])
    numbers = summary(sweep)
    alt = said("""Of what is missed, kinks make {kinks_layer_2:.0%} in layer 2, {kinks_layer_3:.0%} in layer 3 and
                  {kinks_output:.0%} at the output, on average over the pairs; all of it in layer 1. With layer 1, 2 or
                  3 repaired, {left_after_layer_1:.0%}, {left_after_layer_2:.0%} or {left_after_layer_3:.0%} of the
                  output's gap is left.""", **numbers)
    return plotting.show(fig, alt, caption(sweep) + " Bars: mean over six pairs; black: least and most of them.")


def _left_over(ax, remaining, layers):
    """What is left of the output's gap after a repair, by the layer that was repaired."""
    places = np.arange(len(layers) + 1)
    mean = [1.0, *remaining.mean("pair").values]
    ax.bar(places, mean, 0.62, color=GREEN)
    for place, share in zip(places, mean):
        ax.text(place - 0.02, share + 0.02, f"{share:.0%}", ha="right" if place else "center", va="bottom")
    ax.vlines(places[1:] + 0.12, remaining.min("pair"), remaining.max("pair"), color=BLACK, linewidth=1.5)
    ax.set(title="Repair one layer: what is left at the output", ylim=(0, 1.12), ylabel="share of the output's gap")
    ax.set_xticks(places, ["nothing", *layers])
    ax.set_xlabel("repaired: given the mixed features")
    plotting.in_percent(ax.yaxis)


def reading_of_causes(sweep: xarray.Dataset) -> Page:
    """What the two pictures say, with this sweep's numbers."""
    return reading("What was measured", """
        In layer 1 all that is missed comes from kinks. Higher up, kinks make {kinks_layer_2:.0%} of it in layer 2,
        {kinks_layer_3:.0%} in layer 3 and {kinks_output:.0%} at the output, on average over the pairs; the rest is
        curvature. And a layer adds less by itself than it receives: of what the output layer's input misses,
        {handed_on_output:.0%} was missed below. With layer 2 repaired, {left_after_layer_2:.0%} of the output's gap is
        left, with layer 3 repaired {left_after_layer_3:.0%}.""", **summary(sweep))
