"""How much a channel varies in two networks, and in the network between them."""
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from lessons.kit import plotting
from lessons.kit.page import Page, reading
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, themed

LAST = "blocks.7.bn2"  # the last BatchNorm layer before an output of a block
SHOWN = ("stem.1", "blocks.3.bn2", LAST)
NAMES = {"stem.1": "the stem", "blocks.3.bn2": "block 4", LAST: "block 8"}
LESS = 0.9  # of a variance: one that is smaller is called clearly smaller


@themed
def one_channel(seen: list[Mapping[str, Tensor]], statistics: Callable):
    """The distribution of one channel of the last block, in A, in B and at their midpoint. It is the one whose
    correlation between A and B is the median of the block.

    Args:
        seen: {layer: what enters it} of A, of B and of the midpoint.
        statistics: gives (mean, variance) of every channel.
    """
    inputs = [layers[LAST] for layers in seen]
    rho = correlations(*inputs[:2])
    channel = median_channel(rho)
    variances = [float(torch.as_tensor(statistics(given)[1])[channel]) for given in inputs]
    values = [given[:, channel].flatten().numpy() for given in inputs]
    low, high = np.quantile(np.concatenate(values), (0.001, 0.999))
    fig, ax = plotting.figure(height=3.0, width=8.2)
    looks = (("A", BLUE, "-"), ("B", ORANGE, "--"), ("midpoint", GREEN, "-"))
    for (name, colour, line), numbers, variance in zip(looks, values, variances):
        share, edges = np.histogram(numbers, np.linspace(low, high, 50), density=True)
        ax.plot((edges[1:] + edges[:-1]) / 2, share, color=colour, linestyle=line, marker="",
                label=f"{name}: variance {variance:.3g}")
    ax.set(xlabel="value of the channel, before BatchNorm", ylabel="how often", yticks=[], title=finding(*variances))
    ax.legend()
    told = ", ".join(f"{name} {variance:.3g}" for (name, *_), variance in zip(looks, variances))
    return plotting.show(fig, f"Distributions of one channel. Variances: {told}.",
                         f"One channel of block 8, over 200 training images and all pixels. Its correlation between A "
                         f"and B is {rho[channel]:.2f}, the median of this layer.")


def finding(a: float, b: float, midpoint: float) -> str:
    """The variance of a channel at the midpoint beside those of A and of B, in one sentence."""
    if midpoint < min(a, b):
        return "At the midpoint this channel varies less than in A and in B"
    return "At the midpoint this channel varies " + ("more than in A and in B" if midpoint > max(a, b) else
                                                     "less than in one of A and B, but not in both")


def median_channel(rho: Tensor) -> int:
    """The channel whose correlation between A and B is the median."""
    return int(rho.argsort()[len(rho) // 2])


def correlations(a: Tensor, b: Tensor) -> Tensor:
    """(channels,): the correlation of every channel of two tensors (samples, channels, height, width)."""
    pairs = zip(*(given.double().transpose(0, 1).flatten(1) for given in (a, b)))
    return torch.stack([torch.stack(both).corrcoef()[0, 1] for both in pairs])


def collected(seen: list[Mapping[str, Tensor]], mixed_variance: Callable) -> dict[str, dict[str, Tensor]]:
    """{layer: what is said of the variance of each channel at the midpoint}: "predicted" from the variances and the
    correlation ("rho") of A and B, "interpolated", their mean, and "measured".

    Args:
        seen: {layer: what enters it} of A, of B and of the midpoint.
        mixed_variance: of (var_i, var_j, correlation, alpha).
    """
    layers = {}
    for layer in seen[0]:
        rho = correlations(*(inputs[layer] for inputs in seen[:2]))
        a, b, midpoint = (inputs[layer].double().var((0, 2, 3)) for inputs in seen)
        predicted = [float(mixed_variance(*channel, 0.5)) for channel in zip(a.tolist(), b.tolist(), rho.tolist())]
        layers[layer] = {"predicted": torch.tensor(predicted, dtype=torch.float64), "interpolated": (a + b) / 2,
                         "measured": midpoint, "rho": rho}
    return layers


@themed
def variances(layers: Mapping[str, Mapping[str, Tensor]]):
    """Measured against predicted and against interpolated variances in three layers; layers: of `collected`."""
    fig, axes = plotting.figure(3, height=3.6)
    for ax, layer in zip(axes, SHOWN):
        parts = layers[layer]
        ax.loglog(parts["predicted"], parts["measured"], "o", color=BLUE, label="your prediction")
        ax.loglog(parts["interpolated"], parts["measured"], "x", color=ORANGE, label="interpolated")
        ends = [float(parts["measured"].min()), float(parts["interpolated"].max())]
        ax.plot(ends, ends, color=GREY, linestyle=":", marker="")
        ax.set(title=f"{NAMES[layer]}: ρ is {parts['rho'].median():.2f}", xlabel="variance, as predicted",
               ylabel="variance, measured")
        ax.tick_params(axis="x", which="minor", labelbottom=False)  # they would overlap
    axes[0].legend(loc="upper left")
    told = "; ".join(f"{NAMES[layer]}: median correlation {layers[layer]['rho'].median():.2f}, measured over "
                     f"interpolated {_ratio(layers[layer], 'measured'):.2f}, predicted over interpolated "
                     f"{_ratio(layers[layer], 'predicted'):.2f}" for layer in SHOWN)
    return plotting.show(fig, f"{told}.", "Each mark is a channel. On the dotted line the variance is what was "
                                          "predicted. ρ: the median over the channels.")


@themed
def by_layer(layers: Mapping[str, Mapping[str, Tensor]]):
    """The median variance of the midpoint over the interpolated one, measured and predicted, and the median
    correlation, for every BatchNorm layer; layers: of `collected`."""
    fig, ax = plotting.figure(height=3.4)
    series = {"measured": [_ratio(parts, "measured") for parts in layers.values()],
              "predicted": [_ratio(parts, "predicted") for parts in layers.values()],
              "correlation ρ": [float(parts["rho"].median()) for parts in layers.values()]}
    for (name, values), colour, marker in zip(series.items(), (GREEN, BLUE, GREY), ("o", "^", "")):
        ax.plot(values, color=colour, marker=marker, linestyle=":" if name == "correlation ρ" else "-", label=name)
    ax.set_xticks(range(len(layers)), [name.removeprefix("blocks.") for name in layers], rotation=60)
    ax.set(ylim=(None, 1.03), ylabel="variance over interpolated", xlabel="BatchNorm layer (block, counted from 0)")
    ax.legend()
    rows = list(zip(layers, *series.values()))
    ends = {"first": rows[0], "last": rows[-1], "least": min(rows, key=lambda row: row[1]),
            "largest": max(rows, key=lambda row: row[1])}
    told = "; ".join(f"{which}, {layer}: {measured:.2f} measured, {predicted:.2f} predicted, ρ {rho:.2f}"
                     for which, (layer, measured, predicted, rho) in ends.items())
    alt = f"Variances at the midpoint over interpolated ones, {len(rows)} layers. {told}."
    return plotting.show(fig, alt, "Medians over channels.")


def _ratio(parts, name):
    """The median over the channels of one variance over the interpolated one."""
    return float((parts[name] / parts["interpolated"]).median())


def reading_of_variances(layers: Mapping[str, Mapping[str, Tensor]]) -> Page:
    """Whether interpolated variances are too large in the last block, and whether the prediction comes closer."""
    stem, last = layers["stem.1"], layers[LAST]
    missed = [(last[name] / last["measured"]).log().abs() for name in ("predicted", "interpolated")]
    closer = float((missed[0] < missed[1]).double().mean())
    large = _ratio(last, "measured") < LESS
    exact = bool(torch.allclose(stem["predicted"], stem["measured"], rtol=1e-3))
    first = "In the stem your formula is exact, because a convolution is linear in its weights. " if exact else ""
    return reading("In block 8 the interpolated variances are too large" if large else "Which one is closer?", """
        {first}At the second BatchNorm layer of block 8 the measured variance is {measured:.0%} of the interpolated one
        (median over the channels), and your formula predicts {predicted:.0%}. It comes closer than interpolating in
        {closer:.0%} of the channels.""", first=first, measured=_ratio(last, "measured"),
                   predicted=_ratio(last, "predicted"), closer=closer)


def reading_of_one_channel(layers: Mapping[str, Mapping[str, Tensor]]) -> Page:
    """What the formula predicts for the channel that `one_channel` draws; layers: of `collected`."""
    last = layers[LAST]
    channel = median_channel(last["rho"])
    predicted, measured = (float(last[name][channel]) for name in ("predicted", "measured"))
    misses = not LESS <= predicted / measured <= 1 / LESS
    return reading("For a single channel the formula can miss" if misses else "And a single channel?", """
        For the channel above, your formula predicts the variance {predicted:.3g}, and {measured:.3g} was measured.
        """, predicted=predicted, measured=measured)
