"""The objects of chapter 8 themselves: permuted digits, the two origins of task vectors, and what truncation leaves
out."""
from collections.abc import Mapping, Sequence

import numpy as np
import xarray

import data
from data.permuted_mnist import permuted
from lessons.kit import drawings, plotting
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, still
from lessons.kit.sweep import caption

SHOWN = 5  # digits in a row
SHARES = (0.0, 0.5, 1.0)  # of the pixels
NETWORKS = ((0.9, 2.4), (2.6, 1.9), (2.5, 0.3))  # made up, in two dimensions; the pretrained one lies at 0
COLOURS = (BLUE, ORANGE, PURPLE)


@still
def permuted_digits(sweep: xarray.Dataset):
    """The same digits as two tasks have them, with none, half and all of the pixels permuted."""
    dataset = data.load("mnist", "train")
    x, y = dataset.x[:SHOWN], dataset.y[:SHOWN]
    fig, axes = plotting.figure(columns=2, rows=len(SHARES), height=3.6)
    for row, share in zip(axes, SHARES):
        for task, ax in enumerate(row, 1):
            drawings.images(ax, permuted(x, task, share), f"task {task}, {100 * share:g} % of the pixels permuted")
    labels = ", ".join(str(int(label)) for label in y)
    return plotting.show(fig, f"The digits {labels} as two tasks have them. With 0 % of the pixels permuted both "
                              "columns are alike, with 50 % noise lies over the digits, and with 100 % both columns "
                              "look like noise.",
                         f"{caption(sweep).split(';')[0]}.")


@still
def two_origins(networks: Sequence[tuple[float, float]] = NETWORKS):
    """A drawing of the task vectors of three made-up networks: left from θ₀, right from the average."""
    points = np.array(networks)
    origins = {"from θ₀": np.zeros(2), "from the average": points.mean(0)}
    fig, axes = plotting.figure(columns=2, height=2.7, sharex=True, sharey=True)
    for ax, (title, origin) in zip(axes, origins.items()):
        for number, (point, colour) in enumerate(zip(points, COLOURS), 1):
            drawings.arrow(ax, origin, point, colour, shrinkA=4, shrinkB=4)
            ax.plot(*point[:, None], color=colour, marker="o", markersize=8)
            ax.annotate(f"θ{'₁₂₃'[number - 1]}", point, xytext=(8, -3), textcoords="offset points", fontsize=12)
        for name, place, colour in (("θ₀", np.zeros(2), BLACK), ("average", points.mean(0), GREEN)):
            ax.plot(*place[:, None], color=colour, marker="s", markersize=7)
            ax.annotate(name, place, xytext=(-9, -15), textcoords="offset points", fontsize=11)
        ax.set_title(f"task vectors {title}")
        ax.set(xlim=(-0.6, 3.2), ylim=(-0.7, 2.8), aspect="equal")
        ax.axis("off")
    return plotting.show(fig, "A drawing of three networks in a plane. Left, three arrows lead from θ₀ to them, and "
                              "all point to the right. Right, three arrows lead from the average to them, and point in "
                              "different directions.", "A drawing, not a measurement.")


@still
def missing(shares: Mapping[int, float]):
    """How much of a matrix is missing when it is truncated.

    Args:
        shares: {directions kept: length of what is missing, as a share of the matrix's length}.
    """
    fig, ax = plotting.figure(height=2.9)
    ax.plot(list(shares), list(shares.values()), color=GREEN, marker="o")
    ax.set(xscale="log", xlabel="directions kept", ylabel="length of what is missing,\nas a share of the whole",
           ylim=(-0.03, 1))
    ax.set_xticks(list(shares), [str(count) for count in shares])
    ax.minorticks_off()
    plotting.in_percent(ax.yaxis)
    return plotting.show(fig, "Length of what is missing, as a share of the whole length, by directions kept: "
                              f"{', '.join(f'{count}: {share:.2f}' for count, share in shares.items())}.")


@still
def spectrum(sigma: Sequence[float]):
    """The largest singular values of a matrix, as bars."""
    fig, ax = plotting.figure(height=2.8)
    directions = range(1, len(sigma) + 1)
    ax.bar(directions, sigma, color=BLUE)
    ax.axhline(sigma[0] / 4, color=GREY, linestyle=":", marker="", label="a quarter of the largest")
    ax.set(xlabel="direction", ylabel="singular value", xticks=directions)
    ax.legend()
    listed = ", ".join(f"{value:.2f}" for value in sigma)
    return plotting.show(fig, f"Bars: the first singular values of the first layer's task vector, {listed}.")
