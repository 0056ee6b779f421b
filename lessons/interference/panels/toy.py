"""The toy that fits on a page: two task vectors, trimmed, their signs elected, merged, and what that costs each
task."""
import functools

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from lessons.interference.experiment import toy
from lessons.interference.experiment.toy import AGREEMENTS, DENSITIES, INPUTS, OUTPUTS, SEEN
from lessons.kit import plotting
from lessons.kit.noise import told
from lessons.kit.page import Page, bold, paragraph, quiet, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, RED
from lessons.kit.sweep import position

LARGEST = 5.0  # the weight that gets the full colour
CUT = "#b0b0b0"  # the colour of an entry that was trimmed
TASK_A = Look(BLUE, "o")
TASK_B = Look(ORANGE, "s")
BOTH = Look(GREEN, "^")
PLAIN = Look(GREY, line="--")
TUNED = Look(BLACK, line=":")
LIGHT = "#f0b48c"  # orange, light enough that a red frame on it is seen
_SIGNS = LinearSegmentedColormap.from_list("signs", [LIGHT, "white", BLUE])


def _square(row, column):
    corners = ((-0.44, -0.44), (0.44, -0.44), (0.44, 0.44), (-0.44, 0.44), (-0.44, -0.44))
    return [(column + x, row + y) for x, y in corners]


@functools.cache
def _number(value):
    """The outline of a number around (0, 0), in points. Sixty texts take matplotlib 80 ms, sixty outlines a few."""
    if value == 0:
        return Path([(0, 0)])
    path = TextPath((0, 0), f"{value:.1f}".replace("-", "−"), size=9)
    return path.transformed(Affine2D().translate(-path.get_extents().width / 2, -3.3))


class _Matrix:
    """A matrix of small numbers, blue above 0 and orange below, grey where an entry was cut; some entries framed. With
    `signs`, + and − in place of numbers."""

    def __init__(self, ax, title, signs=False):
        ax.set(title=title, xlim=(-0.5, INPUTS - 0.5), ylim=(OUTPUTS - 0.5, -0.5))
        self.image = ax.imshow(np.zeros((OUTPUTS, INPUTS)), cmap=_SIGNS, vmin=-LARGEST, vmax=LARGEST, aspect="auto",
                               animated=True)
        places = [(j, i) for i, j in np.ndindex(OUTPUTS, INPUTS)]
        self.numbers = PathCollection([], offsets=places, offset_transform=ax.transData, linewidths=0, animated=True)
        self.numbers.set_transform(Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans)
        ax.add_collection(self.numbers, autolim=False)
        self.signs = signs
        self.marks = [cloud(ax, Look(BLACK, marker), markersize=8) for marker in "+_"] if signs else []
        self.frames = LineCollection([], colors=RED, linewidths=2.2, animated=True)
        ax.add_collection(self.frames, autolim=False)
        ax.set_xticks(range(INPUTS), [f"$x_{i + 1}$" for i in range(INPUTS)])
        ax.set_yticks([])
        ax.grid(False)
        ax.tick_params(length=0)
        self.below = ax.text(0.5, -0.2, "", transform=ax.transAxes, ha="center", va="top", fontsize=9.5, animated=True)

    def set_values(self, values, framed, cut=None, below=""):
        """Show `values`, and in grey those of `cut` where `values` has 0; frame the entries of the boolean `framed`."""
        self.image.set_data(values)
        if not self.signs:
            shown = np.where(values == 0, values if cut is None else cut, values).ravel()
            self.numbers.set_paths([_number(round(float(value), 1)) for value in shown])
            self.numbers.set_facecolors([_colour(value) for value in values.flat])
        for mark, sign in zip(self.marks, (1, -1)):
            mark.set_data(*np.argwhere(values * sign > 0).T[::-1])
        self.frames.set_segments([_square(i, j) for i, j in np.argwhere(framed)])
        self.below.set_text(below)


def _colour(value):
    """Of an entry's number."""
    if not value:
        return CUT
    return "white" if value > 0.7 * LARGEST else BLACK


class _Errors:
    """Below: both tasks' errors and their mean against the density, and the plain average's."""

    def __init__(self, ax):
        ax.set(xlabel="density: share of every task vector that is kept", ylabel="error (1: $W_0$)",
               xlim=(-0.02, 1.02), ylim=(0, 1.4))
        ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        looks = {"task A": TASK_A, "task B": TASK_B, "mean of both": BOTH}
        self.curves = [curve(ax, look, label, markersize=4) for label, look in looks.items()]
        self.plain = curve(ax, PLAIN, "plain average", linewidth=1.5)
        self.tuned = curve(ax, TUNED, "plain sum, λ at its best", linewidth=1.5)
        self.now = here(ax, 0)

    def show(self, both, average, tuned, density):
        """Errors (density, task), the mean errors of the plain average and of the sum at its best λ, and where the
        slider stands."""
        for line, values in zip(self.curves, (*both.T, both.mean(1))):
            line.set_data(DENSITIES, values)
        self.plain.set_data([0, 1], [average, average])
        self.tuned.set_data([0, 1], [tuned, tuned])
        self.now.set_xdata([density, density])


@panel
def interference():
    """Panel (a): τ_A and τ_B trimmed, the elected signs, the merged vector; below, what the merge costs each task.
    Controls: density, how, shared."""
    fig, axes = plotting.figure(4, 2, height=5.8, height_ratios=(4, 4))
    titles = ("task A", "task B", "elected sign", "merged")
    matrices = [_Matrix(ax, title, signs=title == "elected sign") for ax, title in zip(axes[0], titles)]
    below = fig.add_subplot(axes[1, 0].get_gridspec()[1, :])
    for ax in axes[1]:
        ax.remove()
    curves = _Errors(below)
    fig.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    title, = moving_titles((below,))
    toys = {shared: toy.toy(shared) for shared in SEEN}
    errors = {(shared, how): _errors(toys[shared], how) for shared in SEEN for how in AGREEMENTS.values()}

    def draw(density, how, shared):
        both = errors[shared, how]
        row = position(DENSITIES, density, "density")
        average = errors[shared, "mean"][-1].mean()
        tuned = errors[shared, "tuned sum"][-1].mean()
        label = next(text for text, value in AGREEMENTS.items() if value == how)
        stack, merged = toy.merged(toys[shared], density, how)
        clash = toy.conflicts(stack).numpy()
        for task in range(2):
            columns = ", ".join(f"$x_{i + 1}$" for i in np.flatnonzero(toys[shared].seen[task].numpy()))
            matrices[task].set_values(stack[task].numpy(), clash, toys[shared].vectors[task].numpy(), f"sees {columns}")
        signs = toy.elected(stack).numpy() * LARGEST / 2
        matrices[2].set_values(signs, clash, below=f"conflicts, framed: {clash.sum()}")
        matrices[3].set_values(merged.numpy(), clash, below=label)
        clashes = clash.sum()
        curves.show(both, average, tuned, density)
        values = {"density": density, "a": both[row, 0], "b": both[row, 1], "mean": both[row].mean()}
        title.set_text("Density {density:.1f}: error {a:.2f} on A, {b:.2f} on B, mean {mean:.2f}".format(**values))
        return said(
            """Inputs that both tasks see: {shared}. Density {density:.1f}, {label}: {clashes} sign conflicts among
               {entries} entries. Error on task A {a:.2f}, on task B {b:.2f}, mean {mean:.2f}; plain average
               {average:.2f}, sum of both at its best λ {tuned:.2f}; the lowest mean over all densities is {lowest:.2f},
               at {at:.1f}.""",
            shared=shared, label=label, clashes=clashes,
            entries=OUTPUTS * INPUTS,
            average=average,
            tuned=tuned,
            lowest=both.mean(1).min(),
            at=DENSITIES[both.mean(1).argmin()],
            **values)

    controls = {"density": slider("density", list(DENSITIES), 1.0), "how": choice("merge by", AGREEMENTS),
                "shared": choice("inputs that both see", list(SEEN))}
    return controls, fig, draw, CAPTION


CAPTION = said("""Numbers generated for this page. Blue: above 0, orange: below. Framed: the two tasks pull in opposite
                  directions. Grey: cut by the trimming.""")


def _errors(task_vectors, how):
    """What a way of merging costs both tasks, (density, task)."""
    return np.array([task_vectors.errors(toy.merged(task_vectors, density, how)[1]).numpy() for density in DENSITIES])


# -- other numbers ---------------------------------------------------------------------------------

HEAD = ("inputs that both see", "plain average", "plain sum, λ at its best", "TIES, density at its best",
        "TIES, density and λ at their best", "TIES beats the average in",
        "TIES is better than the plain sum, both tuned")


def reading_of_the_draws(count: int = 100) -> Page:
    """A table: what merging costs over many toys with other numbers, each method at its best."""
    rows = [_over_draws(shared, toy.draws(shared, count)) for shared in SEEN]
    note = quiet(f"Mean error over {count} toys with other numbers; 1 is W₀, 0 the task's own layer.")
    return table(HEAD, rows, before=paragraph(bold("Was it the draw?")), after=note)


def _over_draws(shared, costs):
    """One row: the mean costs, and whether TIES is ahead."""
    average, tuned_sum, ties, tuned_ties = costs.T
    lead = tuned_sum - tuned_ties
    verdict = told(lead.mean(), lead.std(ddof=1) / len(lead) ** 0.5)
    means = (f"{column.mean():.3f}" for column in costs.T)
    return (shared, *means, f"{(ties < average).mean():.0%} of the toys",
            f"{verdict} ({lead.mean():+.3f} on average)")
