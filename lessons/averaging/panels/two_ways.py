"""Averaged weights and averaged outputs, as drawings: the two ways, three networks, one digit, and the first layer."""
import numpy as np
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from lessons.averaging.panels.triples import AVERAGED, TOGETHER
from lessons.kit import drawings, plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import GREY, still, themed

_DOTS = 600  # of a scatter, so that a page can hold it
_MOST = 0.95  # of the dots lie within the axes
_EXACT = 1e-4  # between features: smaller differences come from rounding


@themed
def drawing():
    """The two ways to combine three networks, side by side."""
    fig, axes = plotting.figure(2, height=2.5)
    for ax, title in zip(axes, ("Average the weights: run one network", "Average the outputs: run three")):
        ax.set(xlim=(0, 10), ylim=(0.2, 3.8), title=title)
        ax.axis("off")
    left, right = axes
    for place in range(3):
        y = 3.2 - 1.2 * place
        _box(left, 1.1, y, f"θ{'₁₂₃'[place]}", GREY)
        drawings.arrow(left, (1.8, y), (3.6, 2))
        _box(right, 3.6, y, f"f(θ{'₁₂₃'[place]})", GREY)
        drawings.arrow(right, (1.4, 2), (2.6, y))
        drawings.arrow(right, (4.4, y), (6.8, 2))
    _box(left, 4.8, 2, "mean of θ", AVERAGED.colour, wide=2.2)
    drawings.arrow(left, (6.0, 2), (7.6, 2))
    left.text(6.8, 2.25, "image", ha="center", color=GREY)
    _box(left, 8.6, 2, "logits", AVERAGED.colour, wide=1.8)
    right.text(0.7, 2, "image", ha="center", va="center", color=GREY)
    _box(right, 8.4, 2, "mean of logits", TOGETHER.colour, wide=2.9)
    return plotting.show(fig, "Two drawings. Left: three sets of weights are averaged into one network, and the image "
                              "goes through this network. Right: the image goes through three networks, and their "
                              "logits are averaged.")


def _box(ax, x, y, text, colour, wide=1.3):
    """A rounded box with a text around (x, y)."""
    ax.add_patch(FancyBboxPatch((x - wide / 2, y - 0.3), wide, 0.6, boxstyle="round,pad=0.05", facecolor="white",
                                edgecolor=colour, linewidth=1.8))
    ax.text(x, y, text, ha="center", va="center")


def accuracies(alone: dict[str, float], average: float, images: int):
    """Accuracies of some networks and of their averaged weights.

    Args:
        alone: {a network's name: its accuracy}.
        average: of the averaged weights.
        images: on how many test images.
    """
    return drawings.accuracies(alone | {"averaged weights": average}, images, {"averaged weights": AVERAGED.colour})


@still
def one_digit(images: Tensor, single: Tensor, together: Tensor, average: Tensor):
    """The logits of the digit on which the networks' logits differ most: of each network, of their ensemble, and of the
    network with their averaged weights.

    Args:
        images: (samples, height, width), test images.
        single: (models, samples, classes), the networks' logits.
        together: (samples, classes), the ensemble's.
        average: (samples, classes), of the averaged weights.
    """
    place = int(single.var(0).sum(1).argmax())
    fig, (left, right) = plotting.figure(2, height=3.0, gridspec_kw={"width_ratios": [1, 3.2]})
    drawings.images(left, images[place][None], "The digit")
    classes = np.arange(single.shape[2])
    for offset, logits, look, name in ((-0.2, together, TOGETHER, "ensemble"), (0.2, average, AVERAGED, "averaged")):
        right.bar(classes + offset, logits[place], width=0.36, color=look.colour, label=name)
    for number, logits in enumerate(single[:, place]):
        right.plot(classes - 0.2, logits, color=GREY, marker="o", linestyle="", markersize=4, markeredgecolor="white",
                   label=None if number else "each network")
    right.axhline(0, color=GREY, linewidth=0.8, marker="")
    right.set(xlabel="class", ylabel="logit", title="Its ten logits")
    right.set_xticks(classes)
    right.legend(loc="lower right", ncols=3)
    told = "; ".join(f"{number}: {mixed:.1f} and {merged:.1f}" for number, (mixed, merged)
                     in enumerate(zip(together[place].tolist(), average[place].tolist())))
    return plotting.show(fig, "A digit, and for each class the logit of the ensemble and of the averaged weights. "
                              f"{told}.", "Of all test images above, this is the one on which the networks’ logits "
                                          "differ most. A dot is a single network.")


@still
def first_layer(yours: Tensor, real: Tensor, mean: Tensor):
    """The first layer's features of averaged weights, against those that come from what the single networks computed
    before their ReLU, and against the mean of the single networks' features.

    Args:
        yours: (samples, units), by `first_layer_of_average`.
        real: (samples, units), of the network that was built.
        mean: (samples, units), the mean of the single networks' features.
    """
    differ = (mean - real).abs() > _EXACT
    on = (mean > 0).flatten().nonzero()[:, 0]
    some = on[::max(1, len(on) // _DOTS)]
    high = float(np.quantile(mean.flatten()[some], _MOST))
    fig, axes = plotting.figure(2, height=3.8, sharey=True)
    for ax, given, name in zip(axes, (yours, mean), ("yours: average first, then the ReLU",
                                                     "ReLU first, then the average")):
        ax.plot([0, high], [0, high], color=GREY, linestyle="--", linewidth=1.2, marker="")
        ax.scatter(given.flatten()[some], real.flatten()[some], s=10, color=AVERAGED.colour, alpha=0.4, linewidth=0)
        ax.set(xlabel=name, xlim=(-0.03 * high, high), ylim=(-0.03 * high, high))
    axes[0].set(ylabel="feature of the averaged weights", title=_agrees(yours, real))
    axes[1].set(title=f"At {float(differ.double().mean()):.0%} of all pairs of unit and image they differ")
    alt = said("""Two scatter plots of features of the first layer. Left, yours differ from the real ones by at most
                  {exact:.0e}. Right, the mean of the features misses them by {missed:.1%} of their length; it is too
                  large at {above:.1%} of all pairs of unit and image, and too small at {below:.1%}.""",
               exact=float((yours - real).abs().max()), missed=missed(mean, real),
               above=float((mean > real + _EXACT).double().mean()),
               below=float((mean < real - _EXACT).double().mean()))
    return plotting.show(fig, alt, "A dot is one unit on one image, where it is on in at least one of the networks. "
                                   "Dashed: both are equal.")


def _agrees(yours, real):
    return "Yours are the real features" if float((yours - real).abs().max()) < _EXACT else "Yours differ from the real"


def missed(mean: Tensor, real: Tensor) -> float:
    """‖mean − real‖/‖real‖."""
    return float((mean - real).norm() / real.norm())


def reading_of_the_first_layer(real: Tensor, mean: Tensor) -> Page:
    """By how much the mean of the features misses the averaged weights' features, and where. Arguments as of
    `first_layer`."""
    above, below = (float(where.double().mean()) for where in (mean > real + _EXACT, mean < real - _EXACT))
    return reading("How wrong is it to take the ReLU first?", """The mean of the features misses the real ones by
        {missed:.0%} of their length. It is too large at {above:.0%} of all pairs of unit and image, and {nowhere}.""",
        missed=missed(mean, real), above=above,
        nowhere="nowhere too small" if below == 0 else f"too small at {below:.1%}")
