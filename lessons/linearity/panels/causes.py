"""Why the features of the midpoint are not the mix, in two pictures."""
import numpy as np
import xarray

from lessons.kit import drawings, plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, still, themed
from lessons.kit.sweep import caption, names
from lessons.linearity.experiment.causes import summary


@themed
def one_layer():
    """A drawing of the two steps from the mix of two layers' pre-activations to those of a layer with mixed weights."""
    fig, ax = plotting.figure(width=7.4, height=2.6)
    boxes = {"mixed input $\\bar{h}$": (0, 1, GREY), "real input $h_\\alpha$": (0, 0, GREEN),
             "mix of pre-activations $\\bar{z}$": (2.6, 2, GREY), "$W_\\alpha \\bar{h} + b_\\alpha$": (2.6, 1, BLACK),
             "real pre-activation $z_\\alpha$": (2.6, 0, GREEN)}
    for text, (x, y, colour) in boxes.items():
        ax.text(x, y, text, ha="center", va="center", bbox={"boxstyle": "round,pad=0.4", "fc": "white", "ec": colour})
    for y in (1, 0):
        drawings.arrow(ax, (0.6, y), (1.9, y))
        ax.text(1.25, y + 0.12, "layer with mixed weights", ha="center", color=BLACK)
    for y, text, colour in ((1.5, "the layer's own cross term", ORANGE), (0.5, "inherited from below", BLUE)):
        drawings.arrow(ax, (2.6, y + 0.23), (2.6, y - 0.23), colour)
        ax.text(2.75, y, text, va="center")
    ax.set(xlim=(-0.7, 4.3), ylim=(-0.45, 2.45))
    ax.axis("off")
    alt = said("""A layer with mixed weights. From the mix of A's and B's pre-activations, a first step leads to what
                  this layer makes of the mixed input, and adds the layer's own cross term. A second step leads to what
                  it makes of its real input, and adds what is inherited from below.""")
    return plotting.show(fig, alt)


@still
def causes(sweep: xarray.Dataset):
    """Left, the error of every layer, split into kinks and curvature. Right, what remains of the output's gap when
    a layer is made to hold the mixed features. Both are means over the pairs; black lines reach from the least pair to
    the most."""
    fig, (left, right) = plotting.figure(2, height=3.8)
    layers = names(sweep.layer)
    places = np.arange(len(layers))
    kinks = sweep.kinks.mean("pair").values
    left.bar(places, kinks, 0.62, color=BLUE, label="kinks: units on in some of the three networks only")
    left.bar(places, 1 - kinks, 0.62, bottom=kinks, color=ORANGE, hatch="//", edgecolor="white",
             label="curvature: products of layers")
    for place, share in zip(places, kinks):
        left.text(place, share / 2, f"{share:.0%}", color="white", ha="center", va="center", fontweight="bold")
    left.vlines(places + 0.22, sweep.kinks.min("pair"), sweep.kinks.max("pair"), color=BLACK, linewidth=1.5)
    left.set(title="Error of the features, by cause", ylim=(0, 1), ylabel="share of the error")
    left.set_xticks(places, layers)
    plotting.in_percent(left.yaxis)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=1)
    remaining = (sweep.repaired / sweep.gap.isel(layer=-1)).isel(layer=slice(None, -1))
    _left_over(right, remaining, layers[:-1])
    numbers = summary(sweep)
    alt = said("""Kinks make up {kinks_layer_2:.0%} of the error in layer 2, {kinks_layer_3:.0%} in layer 3 and
                  {kinks_output:.0%} at the output, on average over the pairs, and all of it in layer 1. With layer 1, 2
                  or 3 repaired, {left_after_layer_1:.0%}, {left_after_layer_2:.0%} or {left_after_layer_3:.0%} of the
                  output's gap remains.""", **numbers)
    return plotting.show(fig, alt, caption(sweep) + " Bars: mean over the six pairs; black: from the least pair to the "
                         "most.")


def _left_over(ax, remaining, layers):
    """What remains of the output's gap after a repair, by the layer that was repaired."""
    places = np.arange(len(layers) + 1)
    mean = [1.0, *remaining.mean("pair").values]
    ax.bar(places, mean, 0.62, color=GREEN)
    for place, share in zip(places, mean):
        ax.text(place - 0.02, share + 0.02, f"{share:.0%}", ha="right" if place else "center", va="bottom")
    ax.vlines(places[1:] + 0.12, remaining.min("pair"), remaining.max("pair"), color=BLACK, linewidth=1.5)
    ax.set(title="Repair one layer: what remains at the output", ylim=(0, 1.12), ylabel="share of the output's gap")
    ax.set_xticks(places, ["nothing", *layers])
    ax.set_xlabel("repaired: given the mixed features")
    plotting.in_percent(ax.yaxis)


def reading_of_causes(sweep: xarray.Dataset) -> Page:
    """What the left picture shows, and how much a layer inherits, with this sweep's numbers."""
    numbers = summary(sweep)
    always = (sweep.handed_on.isel(layer=slice(1, None)) > 0.5).all()
    more = "For every pair, each higher layer inherits more error than its own cross term adds." if always else ""
    output = sweep.kinks.isel(layer=-1)
    return reading("Where the error comes from", """
        In layer 1 kinks cause the whole error. Further up, with the midpoint’s switches, they are {kinks_layer_2:.0%}
        of it in layer 2, {kinks_layer_3:.0%} in layer 3 and {kinks_output:.0%} at the output, and curvature is the
        rest. (With A’s or B’s switches, the shares can differ.) These are means over the pairs; at the output the pairs
        range from {least:.0%} to {most:.0%}. The formula with the cross term splits the error in another way. By it,
        {handed_on_output:.0%} of the output's error was inherited from below, on average over the pairs. (This share
        is a projection, too. The sizes printed above are no shares.) This part holds kinks and cross terms of all
        layers below. {more}""",
                   more=more, least=output.min().item(), most=output.max().item(), **numbers)


def reading_of_repairs(sweep: xarray.Dataset) -> Page:
    """What the right picture shows, with this sweep's numbers."""
    numbers = summary(sweep)
    left = (sweep.repaired / sweep.gap.isel(layer=-1)).isel(layer=0)
    title = "Most of the output's gap is gone once layer 2 is repaired" if numbers["left_after_layer_2"] < 0.5 else \
        "What remains after a repair"
    return reading(title, """
        With layer 1 repaired, {left_after_layer_1:.0%} of the output's gap remains ({least:.0%} to {most:.0%},
        depending on the pair), with layer 2 repaired {left_after_layer_2:.0%}, and with layer 3 repaired
        {left_after_layer_3:.0%}.""", least=left.min().item(), most=left.max().item(), **numbers)
