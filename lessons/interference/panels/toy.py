"""The toy that fits on a page: two task vectors, trimmed, their signs elected, merged, and what that costs each task."""
import functools

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from lessons.kit import plotting
from lessons.interference.experiment import toy as experiment
from lessons.interference.experiment.toy import AGREEMENTS, DENSITIES, INPUTS, OUTPUTS, SEEN
from lessons.kit.panel import Panel, choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, RED, themed
from lessons.kit.sweep import position

LARGEST = 5.0  # the weight that gets the full colour
_SIGNS = LinearSegmentedColormap.from_list("signs", [ORANGE, "white", BLUE])


def _square(row, column):
    low, high = -0.44, 0.44
    return [(column + low, row + low), (column + high, row + low), (column + high, row + high), (column + low, row + high), (column + low, row + low)]


@functools.cache
def _number(value):
    """The outline of a number around (0, 0), in points. Sixty texts take matplotlib 80 ms, sixty outlines a few."""
    if value == 0:
        return Path([(0, 0)])
    path = TextPath((0, 0), f"{value:.1f}".replace("-", "−"), size=9)
    return path.transformed(Affine2D().translate(-path.get_extents().width / 2, -3.3))


class _Matrix:
    """A matrix of small numbers, blue above 0 and orange below, grey where an entry was cut; some entries framed. With `signs`, + and − in place of numbers."""

    def __init__(self, ax, title, signs=False):
        ax.set(title=title, xlim=(-0.5, INPUTS - 0.5), ylim=(OUTPUTS - 0.5, -0.5))
        self.image = ax.imshow(np.zeros((OUTPUTS, INPUTS)), cmap=_SIGNS, vmin=-LARGEST, vmax=LARGEST, aspect="auto", animated=True)
        places = [(j, i) for i, j in np.ndindex(OUTPUTS, INPUTS)]
        self.numbers = PathCollection([], offsets=places, offset_transform=ax.transData, linewidths=0, animated=True)
        self.numbers.set_transform(Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans)
        ax.add_collection(self.numbers, autolim=False)
        self.signs = signs
        self.marks = [ax.plot([], [], linestyle="", marker=marker, color=BLACK, markersize=8, animated=True)[0] for marker in "+_"] if signs else []
        self.frames = LineCollection([], colors=RED, linewidths=2.2, animated=True)
        ax.add_collection(self.frames, autolim=False)
        ax.set_xticks(range(INPUTS), [f"$x_{i + 1}$" for i in range(INPUTS)])
        ax.set_yticks([])
        ax.grid(False)
        ax.tick_params(length=0)
        self.below = ax.text(0.5, -0.2, "", transform=ax.transAxes, ha="center", va="top", fontsize=9, animated=True)

    def set_values(self, values, framed, cut=None, below=""):
        """Show `values`, and in grey those of `cut` where `values` has 0; frame the entries of the boolean `framed`."""
        self.image.set_data(values)
        if not self.signs:
            shown = np.where(values == 0, values if cut is None else cut, values).ravel()
            self.numbers.set_paths([_number(round(float(value), 1)) for value in shown])
            self.numbers.set_facecolors(["#b0b0b0" if not value else "white" if value > 0.7 * LARGEST else BLACK for value in values.flat])
        for mark, sign in zip(self.marks, (1, -1)):
            mark.set_data(*np.argwhere(values * sign > 0).T[::-1])
        self.frames.set_segments([_square(i, j) for i, j in np.argwhere(framed)])
        self.below.set_text(below)


@themed
def interference() -> Panel:
    """Panel (a): τ_A and τ_B trimmed, the elected signs, the merged vector; below, what the merge costs each task. Controls: density, how, shared."""
    fig, axes = plotting.figure(4, 2, height=5.8, height_ratios=(4, 4))
    matrices = [_Matrix(ax, name, signs=name == "elected sign") for ax, name in zip(axes[0], ("task A", "task B", "elected sign", "merged"))]
    below = fig.add_subplot(axes[1, 0].get_gridspec()[1, :])
    for ax in axes[1]:
        ax.remove()
    below.set(xlabel="density: share of every task vector that is kept", ylabel="error (1: $W_0$)", xlim=(-0.02, 1.02), ylim=(0, 1.4))
    below.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    curves = [below.plot([], [], color=colour, marker=marker, markersize=4, label=label, animated=True)[0]
              for label, colour, marker in (("task A", BLUE, "o"), ("task B", ORANGE, "s"), ("mean of both", GREEN, "^"))]
    plain = below.plot([], [], color=GREY, linestyle="--", marker="", linewidth=1.5, label="mean of both, plain average", animated=True)[0]
    fig.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    here = below.axvline(0, color=BLACK, linewidth=1, marker="", animated=True)
    title, = plotting.moving_titles((below,))
    toys = {shared: experiment.toy(shared) for shared in SEEN}
    errors = {(shared, how): np.array([toy.errors(experiment.merged(toy, density, how)[1]).numpy() for density in DENSITIES])
              for shared, toy in toys.items() for how in AGREEMENTS.values()}

    def draw(density, how, shared):
        toy, row, both = toys[shared], position(DENSITIES, density, "density"), errors[shared, how]
        stack, merged = experiment.merged(toy, density, how)
        clash, label = experiment.conflicts(stack).numpy(), next(text for text, value in AGREEMENTS.items() if value == how)
        for matrix, values, vector, name, seen in zip(matrices, stack.numpy(), toy.vectors.numpy(), "AB", toy.seen.numpy()):
            matrix.set_values(values, clash, vector, f"sees {', '.join(f'$x_{i + 1}$' for i in np.flatnonzero(seen))}")
        matrices[2].set_values(experiment.elected(stack).numpy() * LARGEST / 2, clash, below=f"conflicts, framed: {clash.sum()}")
        matrices[3].set_values(merged.numpy(), clash, below=label)
        for curve, values in zip(curves, (*both.T, both.mean(1))):
            curve.set_data(DENSITIES, values)
        average = errors[shared, "mean"][-1].mean()
        plain.set_data([0, 1], [average, average])
        here.set_xdata([density, density])
        title.set_text(f"Density {density:.1f}: error {both[row, 0]:.2f} on A, {both[row, 1]:.2f} on B, mean {both[row].mean():.2f}")
        return (f"Inputs that both tasks see: {shared}. Density {density:.1f}, {label}: {clash.sum()} sign conflicts among {OUTPUTS * INPUTS} entries. Error on task A {both[row, 0]:.2f}, on task B "
                f"{both[row, 1]:.2f}, mean {both[row].mean():.2f}; plain average {average:.2f}; the lowest mean over all densities is {both.mean(1).min():.2f}, at {DENSITIES[both.mean(1).argmin()]:.1f}.")

    controls = {"density": slider("density", list(DENSITIES), 1.0), "how": choice("merge by", AGREEMENTS), "shared": choice("inputs that both see", {shared: shared for shared in SEEN})}
    return Panel(controls, fig, draw, "Numbers generated for this page. Blue: above 0, orange: below. Framed: the two tasks pull in opposite directions. Grey: cut by the trimming.")
