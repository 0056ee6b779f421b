"""The panel of chapter 0, and the table of what was found on this machine."""
import matplotlib as mpl
import numpy as np

import data
from lessons.kit import plotting
from lessons.kit.chapters import CHAPTERS
from lessons.kit.page import Markup, Page, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, themed
from lessons.kit.predict import Star
from lessons.start import algorithms, experiment

TASKS = {"i": "task i: spirals turned by +45°", "between": "upright spirals", "j": "task j: spirals turned by −45°"}
LOOKS = {"i": Look(BLUE, "o"), "between": Look(GREEN, "^"), "j": Look(ORANGE, "s")}
ARMS = (Look(BLUE, "o"), Look(ORANGE, "s"))
COLOURS = mpl.colors.LinearSegmentedColormap.from_list("arms", ["#8dbfe0", "#fafafa", "#f6cf7d"])
EXTENT = 1.2
CHANCE = 0.5  # of two arms


@themed
def spirals():
    """The three tasks: the spirals as they are, and turned both ways."""
    fig, axes = plotting.figure(3, height=3.1)
    for ax, (task, title) in zip(axes, TASKS.items()):
        points = data.load("spirals", "test", angle=experiment.ANGLES[task])
        for arm, look in enumerate(ARMS):
            ax.plot(*points.x[points.y == arm][::4].T.numpy(), color=look.colour, marker=look.marker, linestyle="",
                    markersize=3.5)
        ax.set(title=title.partition(": ")[2].capitalize() or title.capitalize(), xticks=[], yticks=[], aspect="equal",
               xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT))
    alt = "Three pictures of two spiral arms: turned by +45°, upright, and turned by −45°."
    return plotting.show(fig, alt, "Computed here: test points of every task (generated).")


@panel
def decision_map(networks: dict, prediction=None):
    """The decision map of the interpolated network beside its accuracy on three spirals.

    Controls: alpha, start, points. The prediction, the accuracy on the upright spirals half-way between strangers, is a
    star.

    Args:
        networks: {start: (θ_i, θ_j)} as `experiment.ends` gives them.
    """
    sweep = experiment.run(networks)
    fig, (left, right) = plotting.figure(2, height=4.4, width_ratios=(4, 5))
    chart = _Map(left)
    lines = _curves(right)
    right.text(0.99, CHANCE + 0.01, "by chance", color="#666666", fontsize=9.5, ha="right")
    upright = here(right)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=3, fontsize=9)
    titles = moving_titles((left, right))
    accuracy = {start: sweep.accuracy.sel(start=start).transpose("task", "alpha").values for start in networks}
    asked = {"start": experiment.STARTS[1], "alpha": 0.5}
    star = Star(right, prediction, 0.5, sweep.accuracy.sel(task="between", **asked).item(), asked)

    def draw(alpha, start, points):
        chart.show(experiment.between(networks[start], alpha), points)
        for line, values in zip(lines, accuracy[start]):
            line.set_data(experiment.ALPHAS, values)
        upright.set_xdata([alpha, alpha])
        star.place(alpha=alpha, start=start)
        now = dict(zip(TASKS, accuracy[start][:, experiment.ALPHAS.index(alpha)]))
        titles[0].set_text(f"What the network at α = {alpha:.2f} thinks")
        text = "Correct: task i {i:.2f}, upright {between:.2f}, task j {j:.2f}"
        titles[1].set_text(text.format(**now))
        return _said(alpha, start, points, now)

    controls = {"alpha": slider("α", experiment.ALPHAS, 0.5),
                "start": choice("the two networks began from", {start: start for start in networks}),
                "points": choice("show the points of", {label: task for task, label in TASKS.items()})}
    generated = sweep.attrs["source"].split(",")[0]
    return controls, fig, draw, f"Computed here: {generated} (generated), MLP 2–32–32–2."


class _Map:
    """What a network thinks of every point of the plane, with the points of one task."""

    def __init__(self, ax):
        self._grid = algorithms.grid(extent=EXTENT)
        self._tests = {task: data.load("spirals", "test", angle=angle) for task, angle in experiment.ANGLES.items()}
        self._image = ax.imshow(np.zeros((72, 72, 3)), origin="lower", extent=(-EXTENT, EXTENT) * 2,
                                interpolation="none", animated=True)
        white = {"markersize": 4, "markeredgecolor": "white", "markeredgewidth": 0.5}
        self._arms = [cloud(ax, look, **white) for look in ARMS]
        ax.set(xlabel="x₁", ylabel="x₂", xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT))
        ax.grid(False)

    def show(self, network, points):
        """points: the task of which every sixth point is shown."""
        probability = algorithms.decision_map(network, self._grid).numpy()
        self._image.set_data(COLOURS(probability)[..., :3])
        test = self._tests[points]
        for arm, dots in enumerate(self._arms):
            dots.set_data(*test.x[test.y == arm][::6].T.numpy())


def _curves(ax):
    """One for each task."""
    ax.set(xlabel="α (weight of θᵢ)", ylabel="accuracy: share correct", xlim=(-0.03, 1.03), ylim=(0, 1.03))
    ax.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1.2, marker="")
    return [curve(ax, LOOKS[task], label, markevery=10) for task, label in TASKS.items()]


def _said(alpha, start, points, accuracy):
    return said("""Decision map of the network with weights {alpha:.2f}·θ_i + {rest:.2f}·θ_j, trained from {start}, with
                   the points of {points}. Accuracy: task i {i:.3f}, upright spirals {between:.3f}, task j {j:.3f}.""",
                alpha=alpha, rest=1 - alpha, start=start, points=TASKS[points], **accuracy)


def what_you_saw(networks: dict) -> Page:
    """The prose of the chapter, with this run's numbers."""
    accuracy = experiment.run(networks).accuracy.sel(task="between")
    numbers = {}
    for name, start in zip(("shared", "apart"), experiment.STARTS):
        along = accuracy.sel(start=start)
        numbers[name] = along.sel(alpha=0.5).item()
        numbers[f"{name}_ends"] = along.sel(alpha=[0.0, 1.0]).mean().item()
    return reading("Half-way, on the upright spirals", """
        From one pretrained start: {shared:.2f} correct, where the two ends alone have {shared_ends:.2f} on average.
        From two random starts: {apart:.2f}, where the two ends alone have {apart_ends:.2f}. A coin has 0.50. All four
        networks had the same lessons. One pair had the first part of them in common, the other each for itself.
        """, **numbers)


def course() -> Page:
    """The map of the course: every chapter, how long it takes, what one knows afterwards."""
    rows = []
    for one in CHAPTERS:
        link = Markup('<a href="{}">{}</a>').format(one.notebook.name, one.stem.partition("_")[2].replace("_", " "))
        rows.append((one.number, link, f"{one.minutes}\N{NO-BREAK SPACE}min", one.teaches))
    return table(("", "chapter", "time", "what you will know"), rows, left=4)


class Found:
    """What `experiment.look_around` found, as a small table; a stand-in stands out."""

    def __init__(self, found: dict[str, str]):
        self.found = found

    def __repr__(self):
        return "\n".join(f"{name}: {text}" for name, text in self.found.items())

    def _repr_html_(self):
        rows = [_row(name, text) for name, text in self.found.items()]
        advice = _ADVICE if self.found["data"].startswith("stand-in") else ""
        return str(Markup("<table>{}</table>{}").format(Markup("").join(rows), advice))


def _row(name, text):
    return Markup("<tr><th style='text-align:left'>{}</th><td style='text-align:left'>{}</td></tr>").format(name, text)


_ADVICE = said(Markup("""<p style='border-left:5px solid #D55E00;padding:0.3em 0.8em'><b>The real MNIST is not here.</b>
                  Everything works on the stand-in, and every figure says so; the numbers are then not those of MNIST.
                  With a network the files come by themselves; README.md, “Offline”, says how to bring them.</p>"""))
