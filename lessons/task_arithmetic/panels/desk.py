"""Panel (e), the mixing desk: one fader a task vector."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, Look, cloud, moving_titles
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN, ORANGE
from lessons.kit.sweep import caption
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import ANGLES, EVALUATED
from lessons.task_arithmetic.panels.common import TASK_NAMES, dotted

SPACES = {"weights: θ₀ + Σ λτ": "weights", "outputs: f(θ₀) + Σ λ(f(θ₀ + τ) − f(θ₀))": "outputs"}
FADERS = tuple(round(i / 10, 1) for i in range(-5, 11))
COLOURS = (GREEN, *[BLUE] * len(ANGLES))


@panel
def mixing_desk(sweep: xarray.Dataset, networks: dict, tasks=ANGLES, faders=FADERS):
    """Panel (e): a fader λ for every task, and the accuracy on all nine; computed as it is moved. Controls: one a task,
    named "22.5" …, and space.

    All positions of eight faders are too many for a page of their own; for `save_html` choose two or three tasks and
    fewer positions.

    Args:
        sweep: has the images to compute on.
        networks: {angle: network} as `experiment.mlp.models` gives them.
        tasks: which task vectors get a fader.
        faders: the positions of each, with 0 among them.

    Raises:
        ValueError: an unknown task, or no position 0.
    """
    _check(tasks, faders)
    table = mlp.desk(sweep, networks)
    fig, ax = plotting.figure(height=3.7)
    places = np.arange(len(EVALUATED))
    _board(ax, places, table)
    bars = Bars(ax, places, BLUE, width=30)
    numbers = [ax.text(place, 1.0, "", ha="center", va="bottom", fontsize=8.5, animated=True) for place in places]
    knobs = _Knobs(ax, places[1:])
    title, = moving_titles((ax,))

    def draw(space, **lams):
        lams = dict(zip(tasks, lams.values()))
        logits = table.features(lams)["output"] if space == "weights" else table.in_features(lams)
        accuracy = table.accuracy(logits)
        bars.set_values(accuracy, COLOURS)
        for number, value in zip(numbers, accuracy):
            number.set_text(f"{value:.2f}")
        knobs.set_values([lams.get(angle, 0.0) for angle in ANGLES])
        title.set_text(_title(space, lams, accuracy))
        return _alt(space, lams, accuracy)

    below = caption(sweep.assign_attrs(images=f"{len(table.y)} test images a task, computed as you move"))
    return _controls(tasks, faders), fig, draw, below


def _check(tasks, faders):
    if unknown := [task for task in tasks if task not in ANGLES]:
        wrong = ", ".join(map(str, unknown))
        raise ValueError(f"there is no task vector for {wrong}: choose from {', '.join(map(str, ANGLES))}")
    if 0 not in faders:
        raise ValueError(f"faders must have a position 0, where a task vector is left out, not only {faders}")


def _controls(tasks, faders):
    start = 0.1 if 0.1 in faders else 0.0
    controls = {f"{angle:g}": slider(f"λ {angle:g}°", list(map(float, faders)), start) for angle in tasks}
    for control in controls.values():
        control.layout.width = "230px"
    return controls | {"space": choice("computed in", SPACES)}


def _board(ax, places, table):
    """What stands still: the tasks, chance, what the networks trained on them reach, and the faders' rails."""
    ax.set(ylabel=ACCURACY, ylim=(-0.62, 1.1), xlim=(-0.6, len(places) - 0.4), yticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_xticks(places, TASK_NAMES)
    dotted(ax)
    ax.axhline(0, color="#555555", linewidth=0.8, marker="")
    own = np.diagonal(table.own())
    ax.plot(places, own, color=BLACK, marker="_", markersize=26, linestyle="", label="network trained on it")
    ax.text(-0.2, -0.4, "λ:", fontsize=11, va="center")
    for place in places[1:]:
        ax.plot([place, place], [-0.55, -0.1], color="#cccccc", linewidth=3, marker="")
    ax.legend(loc="upper right", bbox_to_anchor=(1, 1.12))


class _Knobs:
    """The faders' knobs on their rails, with λ beside each."""

    def __init__(self, ax, places):
        self._places = places
        self._knobs = cloud(ax, Look(ORANGE, "s"), markersize=9, markeredgecolor=BLACK)
        self._texts = [ax.text(place + 0.13, 0, "", fontsize=8, va="center", animated=True) for place in places]

    def set_values(self, lams):
        """One λ a place."""
        heights = [-0.4 + 0.3 * lam for lam in lams]
        self._knobs.set_data(self._places, heights)
        for text, lam, height in zip(self._texts, lams, heights):
            text.set(y=height, text=f"{lam:.1f}")


def _title(space, lams, accuracy):
    return said("In {space}: Σ λ = {whole:.1f}, mean over the eight tasks {mean:.3f}, pretraining {before:.3f}",
                space=space, whole=sum(lams.values()), mean=accuracy[1:].mean(), before=accuracy[0])


def _alt(space, lams, accuracy):
    added = ", ".join(f"{angle:g}° {lam:.1f}" for angle, lam in lams.items() if lam) or "none"
    by_angle = "; ".join(f"{angle:g}° {value:.3f}" for angle, value in zip(EVALUATED, accuracy))
    return said("""Task vectors added with λ: {added}; computed in {space}. Accuracy by angle, 0° being the pretraining
                   task: {by_angle}.""", added=added, space=space, by_angle=by_angle)
