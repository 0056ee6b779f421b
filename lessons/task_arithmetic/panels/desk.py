"""Panel (e), the mixing desk: one fader a task vector."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, moving_titles
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import ANGLES, EVALUATED
from lessons.task_arithmetic.panels.common import TASK_NAMES, dotted, with_error

SPACES = {"weights: θ₀ + Σ λτ": "weights", "outputs: f(θ₀) + Σ λ(f(θ₀ + τ) − f(θ₀))": "outputs"}
FADERS = tuple(round(i / 20, 2) for i in range(-10, 21))
START = 0.15  # about where eight task vectors serve best
COLOURS = (GREEN, *[BLUE] * len(ANGLES))


@panel
def mixing_desk(sweep: xarray.Dataset, networks: dict, tasks=ANGLES, faders=FADERS):
    """Panel (e): a fader λ for every task, and the accuracy on all nine; computed as it is moved. Controls: one a task,
    named "22.5" …, and space.

    All positions of eight faders are too many for a page of their own; for `save_html` choose two or three tasks and
    fewer positions.

    Args:
        sweep: says which data these are.
        networks: {angle: network} as `experiment.mlp.models` gives them.
        tasks: which task vectors get a fader.
        faders: the positions of each, with 0 among them.

    Raises:
        ValueError: an unknown task, or no position 0.
    """
    _check(tasks, faders)
    table = mlp.desk(networks)
    fig, ax = plotting.figure(height=3.7)
    places = np.arange(len(EVALUATED))
    ax.set(ylabel=ACCURACY, ylim=(0, 1.1), xlim=(-0.6, len(places) - 0.4), yticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_xticks(places, TASK_NAMES)
    dotted(ax)
    ax.axhline(0, color="#555555", linewidth=0.8, marker="")
    own = np.diagonal(table.own())
    ax.plot(places, own, color=BLACK, marker="_", markersize=26, linestyle="", label="network trained on it")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1.0))
    bars = Bars(ax, places, BLUE, width=30)
    numbers = [ax.text(place, 1.0, "", ha="center", va="bottom", fontsize=10, animated=True) for place in places]
    title, = moving_titles((ax,))

    def draw(space, **lams):
        lams = dict(zip(tasks, lams.values()))
        logits = table.features(lams)["output"] if space == "weights" else table.in_features(lams)
        accuracy = table.accuracy(logits)
        bars.set_values(accuracy, COLOURS)
        for number, value in zip(numbers, accuracy):
            number.set_text(f"{value:.2f}")
        title.set_text(f"In {space}: Σ λ = {sum(lams.values()):.2f}, mean over the eight tasks "
                       f"{accuracy[1:].mean():.3f}, pretraining {accuracy[0]:.3f}")
        added = ", ".join(f"{angle:g}° {lam:.2f}" for angle, lam in lams.items() if lam) or "none"
        by_angle = "; ".join(f"{angle:g}° {value:.3f}" for angle, value in zip(EVALUATED, accuracy))
        return said("""Task vectors added with λ: {added}; computed in {space}. Accuracy by angle, 0° being the
                       pretraining task: {by_angle}.""", added=added, space=space, by_angle=by_angle)

    images = {"images": f"{len(table.y):,} test images a task, computed as you move", "test_images": len(table.y)}
    below = with_error(sweep.assign_attrs(images))
    start = START if START in faders else 0.0
    controls = {f"{angle:g}": slider(f"λ {angle:g}°", list(map(float, faders)), start) for angle in tasks}
    for control in controls.values():
        control.layout.width = "230px"
    return controls | {"space": choice("computed in", SPACES)}, fig, draw, below


def _check(tasks, faders):
    if unknown := [task for task in tasks if task not in ANGLES]:
        wrong = ", ".join(map(str, unknown))
        raise ValueError(f"there is no task vector for {wrong}: choose from {', '.join(map(str, ANGLES))}")
    if 0 not in faders:
        raise ValueError(f"faders must have a position 0, where a task vector is left out, not only {faders}")
