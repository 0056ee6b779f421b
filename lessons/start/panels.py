"""The panel of chapter 0, and the table of what was found on this machine."""
import html

import matplotlib as mpl
import numpy as np

import data
from lessons.kit import plotting
from lessons.kit.panel import Panel, choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, themed
from lessons.start import algorithms, experiment

_TASKS = {"i": ("task i: spirals turned by +45°", BLUE, "o"), "between": ("upright spirals", GREEN, "^"), "j": ("task j: spirals turned by −45°", ORANGE, "s")}
_COLOURS = mpl.colors.LinearSegmentedColormap.from_list("arms", ["#8dbfe0", "#fafafa", "#f6cf7d"])
EXTENT = 1.2


@themed
def decision_map(networks: dict, prediction=None) -> Panel:
    """The decision map of the interpolated network beside its accuracy on three spirals.

    Controls: alpha, start, points. The prediction, the accuracy on the upright spirals half-way between strangers, is a star.

    Args:
        networks: {start: (θ_i, θ_j)} as `experiment.ends` gives them.
    """
    sweep = experiment.run(networks)
    fig, (left, right) = plotting.figure(2, height=4.4, width_ratios=(4, 5))
    grid, tests = algorithms.grid(extent=EXTENT), {task: data.load("spirals", "test", angle=angle) for task, angle in experiment.ANGLES.items()}
    image = left.imshow(np.zeros((72, 72, 3)), origin="lower", extent=(-EXTENT, EXTENT) * 2, interpolation="none", animated=True)
    arms = [left.plot([], [], linestyle="", marker=marker, markersize=4, color=colour, markeredgecolor="white", markeredgewidth=0.5, animated=True)[0]
            for colour, marker in ((BLUE, "o"), (ORANGE, "s"))]
    left.set(xlabel="x₁", ylabel="x₂", xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT))
    left.grid(False)
    right.set(xlabel="α (weight of θᵢ)", ylabel="accuracy: share correct", xlim=(-0.03, 1.03), ylim=(0, 1.03))
    lines = {task: right.plot([], [], color=colour, marker=marker, markevery=10, label=label, animated=True)[0] for task, (label, colour, marker) in _TASKS.items()}
    here = right.axvline(0.5, color=BLACK, linewidth=1, marker="", animated=True)
    star = right.plot([0.5], [0], color=PURPLE, marker="*", markersize=15, markeredgecolor=BLACK, linestyle="", animated=True)[0]
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=3, fontsize=9)
    titles = plotting.moving_titles((left, right))
    curves = {start: sweep.accuracy.sel(start=start).transpose("task", "alpha").values for start in networks}

    def draw(alpha, start, points):
        network = experiment.between(networks[start], alpha)
        image.set_data(_COLOURS(algorithms.decision_map(network, grid).numpy())[..., :3])
        test = tests[points]
        for arm, line in enumerate(arms):
            line.set_data(*test.x[test.y == arm][::6].T.numpy())
        for task, values in zip(lines, curves[start]):
            lines[task].set_data(experiment.ALPHAS, values)
        here.set_xdata([alpha, alpha])
        star.set_ydata([np.nan if prediction is None or prediction.committed is None else prediction.committed])
        now = dict(zip(lines, curves[start][:, experiment.ALPHAS.index(alpha)]))
        titles[0].set_text(f"What the network at α = {alpha:.2f} thinks")
        titles[1].set_text(f"Correct: task i {now['i']:.2f}, upright {now['between']:.2f}, task j {now['j']:.2f}")
        return _alt(alpha, start, points, now)

    controls = {"alpha": slider("α", experiment.ALPHAS, 1.0), "start": choice("the two networks began from", {start: start for start in networks}),
                "points": choice("show the points of", {label: task for task, (label, *_) in _TASKS.items()})}
    return Panel(controls, fig, draw, f"Computed here: {sweep.attrs['source'].split(',')[0]} (generated), MLP 2–32–32–2.", [prediction] if prediction else [])


def _alt(alpha, start, points, accuracy):
    return (f"Decision map of the network with weights {alpha:.2f}·θ_i + {1 - alpha:.2f}·θ_j, trained from {start}, with the points of {_TASKS[points][0]}. "
            f"Accuracy: task i {accuracy['i']:.3f}, upright spirals {accuracy['between']:.3f}, task j {accuracy['j']:.3f}.")


class Found:
    """What `experiment.look_around` found, as a small table; a stand-in stands out."""

    def __init__(self, found: dict[str, str]):
        self.found = found

    def __repr__(self):
        return "\n".join(f"{name}: {text}" for name, text in self.found.items())

    def _repr_html_(self):
        stand_in = self.found["data"].startswith("stand-in")
        advice = ("<p style='border-left:5px solid #D55E00;padding:0.3em 0.8em'><b>The real MNIST is not here.</b> Everything works on the stand-in, and every figure "
                  "says so; the numbers are then not those of MNIST. With a network the files come by themselves; README.md, “Offline”, says how to bring them.</p>" if stand_in else "")
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>{html.escape(text)}</td></tr>" for name, text in self.found.items())
        return f"<table>{rows}</table>{advice}"
