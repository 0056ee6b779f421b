"""What chapter 5 talks about, drawn: how two networks begin, units in two orders, a plan, what units see, images with
shuffled labels, steps that are too long, and how accurate a midpoint is."""
from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

import data
from lessons.kit import drawings, plotting
from lessons.kit.page import capital
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, still, themed
from lessons.pretraining.algorithms import matching
from lessons.pretraining.experiment import labels, line

SIDE = 28  # pixels of a digit


def _image(ax, pixels, x, y, size, **settings):
    """An image of a digit, in the middle of a square of this size."""
    half = size / 2
    ax.imshow(pixels.reshape(SIDE, SIDE), extent=(x - half, x + half, y - half, y + half), zorder=3, **settings)


# -- how two networks begin ------------------------------------------------------------------------

_WAYS = {"strangers": "two sets of random weights", "one random start": "one set of random weights",
         "pretrained": "one set of pretrained weights"}


@themed
def three_ways():
    """The three ways in which networks A and B begin, as arrows from weights to weights, and a digit of each task."""
    fig, axes = plotting.figure(3, height=2.9)
    tasks = [line.test_images(angle, 10)[0][3] for angle in line.ANGLES]
    for ax, (way, words) in zip(axes, _WAYS.items()):
        starts = [(0.0, 0.7), (0.0, -0.7)] if way == "strangers" else [(0.0, 0.0)] * 2
        if way == "pretrained":
            drawings.arrow(ax, (0.0, 0.0), (0.9, 0.0), shrinkA=5, shrinkB=10)
            ax.text(0.42, 0.1, "upright", ha="center", va="bottom", fontsize=9)
            starts = [(0.9, 0.0)] * 2
        for name, start, end, pixels in zip("AB", starts, (0.7, -0.7), tasks):
            drawings.arrow(ax, start, (2.1, end), shrinkA=5, shrinkB=10)
            ax.scatter(2.1, end, s=240, color="white", edgecolors=BLACK, linewidths=1.3, zorder=4)
            ax.text(2.1, end, name, ha="center", va="center", fontsize=9.5, zorder=5)
            _image(ax, pixels, 2.75, end, 0.75, cmap="gray_r", vmin=0, vmax=1)
        for number, start in enumerate(dict.fromkeys(starts)):
            ax.scatter(*start, s=90, color=GREEN if way == "pretrained" else GREY, zorder=4)
            ax.annotate(f"random {number + 1}" if way == "strangers" else "", start, xytext=(0, -16),
                        textcoords="offset points", ha="center", fontsize=9)
        ax.scatter(0, 0, s=90 * (way != "strangers"), color=GREY, zorder=4)
        drawings.bare(ax, xlim=(-0.35, 3.2), ylim=(-1.25, 1.25), aspect="equal", title=capital(way), xlabel=words)
    each = "; ".join(f"{way}: {words}" for way, words in _WAYS.items())
    turned = " and ".join(f"{angle:g}°" for angle in line.ANGLES)
    return plotting.show(fig, f"Three drawings of two networks, A and B, that learn digits turned by {turned}. {each}.",
                         f"{line.measured_on('')['source']}. A learns digits turned by {turned.split()[0]}, B by "
                         f"{turned.split()[-1]}. Each arrow is training.")


# -- how accurate a midpoint is --------------------------------------------------------------------

LITTLE, MUCH = 0.03, 0.1  # of accuracy: a midpoint that loses less than the one is as good, than the other worse


def midpoint(ends: Mapping[str, float], middles: Mapping[str, float], images: int):
    """How accurate two networks and one or two midpoints are, as bars.

    Args:
        ends, middles: {name: accuracy}; of two midpoints, the second is that after matching.
        images: on which they were tried.
    """
    return drawings.accuracies(ends | middles, images, dict.fromkeys(middles, GREEN),
                               title=finding_of_a_midpoint(list(ends.values()), list(middles.values())),
                               asked=f"test images of {line.ANGLES[1]:g}°")


def finding_of_a_midpoint(ends: Sequence[float], middles: Sequence[float]) -> str:
    """What a midpoint loses of the accuracy of its ends, or what matching gives back of that. middles: the midpoint,
    and that after matching if there is one."""
    lost = min(ends) - middles[0]
    if len(middles) > 1 and lost > LITTLE:
        back = (middles[1] - middles[0]) / lost
        return ("Matching brings most of the accuracy back" if back > 0.5 else
                "Matching brings some of the accuracy back" if back > LITTLE else "Matching does not help here")
    return ("The midpoint is far less accurate than both ends" if lost > MUCH
            else "The midpoint is less accurate than both ends" if lost > LITTLE
            else "The midpoint is about as accurate as its ends")


# -- units in two orders, and a plan ---------------------------------------------------------------

_UNITS = (BLUE, ORANGE, PURPLE)


@themed
def two_orders():
    """A layer of three units and the same layer in another order: a unit takes its lines along, and nothing that an
    output computes has changed."""
    fig, axes = plotting.figure(2, height=3.0, sharey=True)
    for ax, order, title in zip(axes, ((0, 1, 2), (2, 0, 1)), ("A network", "The same network in another order")):
        inputs, units, outputs = (np.linspace(-width, width, count) for width, count in ((1.5, 4), (1, 3), (0.5, 2)))
        for place, unit in zip(units, order):
            for others, height in ((inputs, 0), (outputs, 2)):
                for number, other in enumerate(others):
                    thick = 0.8 + 1.1 * ((2 * unit + 3 * number + height) % 4)
                    ax.plot([place, other], [1, height], color=_UNITS[unit], linewidth=thick, marker="", alpha=0.75)
            ax.scatter(place, 1, s=560, color=_UNITS[unit], edgecolors=BLACK, zorder=4)
            ax.text(place, 1, f"{unit + 1}", ha="center", va="center", zorder=5, fontsize=11, weight="bold")
        for places, height in ((inputs, 0), (outputs, 2)):
            ax.scatter(places, [height] * len(places), s=220, color="white", edgecolors=BLACK, zorder=4)
        for height, name in enumerate(("inputs", "units", "outputs")):
            ax.text(-2.6, height, name, va="center")
        drawings.bare(ax, xlim=(-2.6, 1.8), ylim=(-0.3, 2.3), title=title)
    alt = ("Two drawings of a layer with three units between inputs and outputs. Left, the units are in the order 1, "
           "2, 3, and right in the order 3, 1, 2. Each keeps all its lines, below and above.")
    return plotting.show(fig, alt, "The thicker a line, the larger its weight.")


@themed
def plan(axes_of: Mapping[str, tuple], shapes: Mapping[str, Sequence[int]]):
    """A plan as a row of matrices: a side that a permutation acts on has its colour and its name, the others are grey.

    Args:
        axes_of: {parameter: the permutation, or None, of each axis}.
        shapes: {parameter: its shape}; parameters of one axis are not drawn.
    """
    weights = [key for key in axes_of if len(shapes[key]) == 2]
    permutations = dict.fromkeys(name for key in weights for name in axes_of[key] if name)
    colours = {None: GREY} | dict(zip(permutations, (BLUE, RED, GREEN, PURPLE, ORANGE)))
    fig, axes = plotting.figure(len(weights), height=2.7, squeeze=False)
    for ax, key in zip(axes[0], weights):
        rows, columns = axes_of[key]
        ax.fill_between([0, 1], 0, 1, color=GREY, alpha=0.15, linewidth=0)
        ax.plot([0, 0], [0, 1], color=colours[rows], linewidth=7, marker="", solid_capstyle="butt")
        ax.plot([0, 1], [1, 1], color=colours[columns], linewidth=7, marker="", solid_capstyle="butt")
        ax.text(-0.1, 0.5, f"rows: {rows}", rotation=90, ha="center", va="center", color=colours[rows])
        ax.text(0.5, 1.1, f"columns: {columns}", ha="center", va="center", color=colours[columns])
        ax.text(0.5, 0.5, f"{key}\n{' × '.join(map(str, shapes[key]))}", ha="center", va="center")
        drawings.bare(ax, xlim=(-0.2, 1.08), ylim=(-0.05, 1.2))
    told = "; ".join(f"{key}: rows {axes_of[key][0]}, columns {axes_of[key][1]}" for key in weights)
    return plotting.show(fig, f"The weights as rectangles. {told}.", "Sides of one colour must be permuted alike. Grey "
                                                                     "sides must stay as they are.")


# -- what units see --------------------------------------------------------------------------------

UNITS_SHOWN = 8


@still
def seen(x: Tensor, features_a: Tensor, features_b: Tensor, order: Tensor | None = None):
    """What the first units of two networks are on for: the mean image, weighted by how strongly a unit is on.

    Args:
        x: images, (samples, pixels).
        features_a, features_b: (samples, units), of one layer.
        order: (units,), the unit of B that is matched to each of A; left out, only B's own order is shown.
    """
    rows = {"A": features_a, "B": features_b} | ({} if order is None else {"B, matched": features_b[:, order]})
    fig, axes = plotting.figure(UNITS_SHOWN, len(rows), height=0.35 + 1.05 * len(rows), width=8.2)
    for of_row, first, (name, features) in zip(axes, (True, False, False), rows.items()):
        means = (features / features.sum(0).clamp_min(1e-12)).T @ x.flatten(1)
        for number, ax in enumerate(of_row):
            ax.imshow(means[number].reshape(SIDE, SIDE), cmap="Purples")
            drawings.bare(ax)
            if first:
                ax.set_title(f"{number + 1}", loc="center", fontsize=10)
        of_row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10.5)
    told = []
    for name, features in list(rows.items())[1:]:
        alike = matching.unit_correlation(features_a, features).diag()[:UNITS_SHOWN]
        told.append(f"{name}: {', '.join(f'{value:.2f}' for value in alike.tolist())}")
    alt = (f"Mean digits for the first {UNITS_SHOWN} units of layer 1 of A and of B. Correlation with the unit of A at "
           f"the same place, {'; '.join(told)}.")
    return plotting.show(fig, alt, f"Units 1 to {UNITS_SHOWN} of layer 1. Each image is the mean of {len(x):,} test "
                                   "digits, weighted by how strongly the unit is on.")


# -- labels, and steps -----------------------------------------------------------------------------

DIGITS_SHOWN = 10


@themed
def shuffled_labels():
    """Some of the images that a start learns by heart, with their true labels and with shuffled ones."""
    options = {"angle": 0.0, "size": labels.PRETRAIN_IMAGES}
    true, random = (data.load(line.DATASET, "train", **options, **more) for more in ({}, {"shuffled": 1.0}))
    fig, axes = plotting.figure(DIGITS_SHOWN, height=1.75)
    for ax, image, right, wrong in zip(axes, true.x, true.y.tolist(), random.y.tolist()):
        drawings.images(ax, image.reshape(1, SIDE, SIDE))
        drawings.bare(ax, xlabel=f"true {right}\nshuffled {wrong}")
    pairs = ", ".join(f"{right} and {wrong}" for right, wrong in
                      zip(true.y[:DIGITS_SHOWN].tolist(), random.y[:DIGITS_SHOWN].tolist()))
    return plotting.show(fig, f"{DIGITS_SHOWN} upright digits with their true and their shuffled labels: {pairs}.",
                         f"{line.measured_on('')['source']}. The first of {labels.PRETRAIN_IMAGES} images.")


@themed
def chords():
    """A function that is a parabola between A and B, and the straight line between its values there; then the same
    parabola with A and B at half the distance, where δ is a quarter."""
    fig, axes = plotting.figure(2, height=2.9, sharex=True, sharey=True)
    curve = np.linspace(-1.3, 1.3, 200)
    for ax, half in zip(axes, (1.0, 0.5)):
        ax.plot(curve, curve ** 2, color=GREY, marker="", linewidth=1.8)
        ax.plot([-half, half], [half ** 2] * 2, color=BLACK, linestyle="--", marker="o", linewidth=1.2)
        ax.plot([0, 0], [0, half ** 2], color=GREEN, marker="", linewidth=3)
        for name, place in (("A", -half), ("B", half)):
            ax.annotate(name, (place, half ** 2), xytext=(13 * np.sign(place), -4), textcoords="offset points",
                        ha="center")
        ax.annotate("δ", (0, half ** 2 / 2), xytext=(8, 0), textcoords="offset points", va="center", color=GREEN)
        drawings.bare(ax, title="A and B far apart" if half == 1 else "Half as far: δ is a quarter", xlabel="weights")
    alt = ("Two drawings of a parabola with a dashed straight line between its values at A and B. δ is the distance "
           "from this line down to the parabola at the midpoint. Right, A and B are half as far apart, and δ is a "
           "quarter.")
    return plotting.show(fig, alt, "Computed for a parabola.")


@themed
def steps_on_parabolas(products: Sequence[float] = (0.5, 1.5, 2.2), steps: int = 5):
    """Gradient descent on three parabolas, the flattest first.

    Args:
        products: learning rate times curvature; above 2 every step overshoots by more than it corrects.
        steps: how many are drawn.
    """
    fig, axes = plotting.figure(len(products), height=2.8)
    told = []
    for ax, product in zip(axes, products):
        places = (1 - product) ** np.arange(steps + 1.0)
        reach = 1.15 * np.abs(places).max()
        curve = np.linspace(-reach, reach, 200)
        ax.plot(curve, product * curve ** 2 / 2, color=GREY, marker="", linewidth=1.5)
        colour = GREEN if product < 2 else RED
        ax.plot(places, product * places ** 2 / 2, color=colour, marker="o", linewidth=1.2)
        ax.annotate("start", (1, product / 2), xytext=(10, -2), textcoords="offset points", color=colour)
        ends = "overshoots more and more" if product > 2 else "overshoots and settles" if product > 1 else "settles"
        drawings.bare(ax, title=f"η · curvature = {product:g}", xlabel=ends)
        told.append(f"{product:g}: {', '.join(f'{place:.2f}' for place in places)}")
    alt = ("Gradient descent on a parabola, for several values of η times its curvature. Places after each step, "
           f"{'; '.join(told)}.")
    return plotting.show(fig, alt, f"Computed: {steps} steps of gradient descent on each parabola.")

