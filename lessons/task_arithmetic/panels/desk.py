"""Panel (e), the mixing desk: one fader a task vector."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE
from lessons.kit.sweep import caption
from lessons.kit.panel import panel
from lessons.task_arithmetic.experiment import mlp as experiment
from lessons.task_arithmetic.experiment.mlp import ANGLES, EVALUATED
from lessons.task_arithmetic.panels.common import ACCURACY, CHANCE, TASK_NAMES

SPACES = {"weights: θ₀ + Σ λτ": "weights", "outputs: f(θ₀) + Σ λ(f(θ₀ + τ) − f(θ₀))": "outputs"}
FADERS = tuple(round(i / 10, 1) for i in range(-5, 11))


def _board(ax, places, table):
    """What stands still: the tasks, chance, what the networks trained on them reach, and the faders' rails."""
    ax.set(ylabel=ACCURACY, ylim=(-0.62, 1.1), xlim=(-0.6, len(places) - 0.4), yticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_xticks(places, TASK_NAMES)
    ax.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    ax.axhline(0, color="#555555", linewidth=0.8, marker="")
    ax.plot(places, [table.accuracy(one)[place] for place, one in enumerate(table.family.features["output"])], color=BLACK, marker="_", markersize=26, linestyle="", label="network trained on it")
    ax.text(-0.2, -0.4, "λ:", fontsize=11, va="center")
    for place in places[1:]:
        ax.plot([place, place], [-0.55, -0.1], color="#cccccc", linewidth=3, marker="")
    ax.legend(loc="upper right", bbox_to_anchor=(1, 1.12))


@panel
def mixing_desk(sweep: xarray.Dataset, networks: dict, tasks=ANGLES, faders=FADERS):
    """Panel (e): a fader λ for every task, and the accuracy on all nine; computed as it is moved. Controls: one a task, named "22.5" …, and space.

    All positions of eight faders are too many for a page of their own; for `save_html` choose two or three tasks and fewer positions.

    Args:
        sweep: has the images to compute on.
        networks: {angle: network} as `experiment.models` gives them.
        tasks: which task vectors get a fader.
        faders: the positions of each, with 0 among them.

    Raises:
        ValueError: an unknown task, or no position 0.
    """
    if unknown := [task for task in tasks if task not in ANGLES]:
        raise ValueError(f"there is no task vector for {', '.join(map(str, unknown))}: choose from {', '.join(map(str, ANGLES))}")
    if 0 not in faders:
        raise ValueError(f"faders must have a position 0, where a task vector is left out, not only {faders}")
    table = experiment.desk(sweep, networks)
    fig, ax = plotting.figure(height=3.7)
    places = np.arange(len(EVALUATED))
    _board(ax, places, table)
    bars = [ax.plot([place, place], [0, 0], color=GREEN if place == 0 else BLUE, linewidth=30, solid_capstyle="butt", marker="", animated=True)[0] for place in places]
    numbers = [ax.text(place, 1.0, "", ha="center", va="bottom", fontsize=8.5, animated=True) for place in places]
    knobs = ax.plot([], [], color=ORANGE, marker="s", markersize=9, markeredgecolor=BLACK, linestyle="", animated=True)[0]
    texts = [ax.text(place + 0.13, 0, "", fontsize=8, va="center", animated=True) for place in places[1:]]
    title, = plotting.moving_titles((ax,))

    def draw(space, **lams):
        lams = dict(zip(tasks, lams.values()))
        logits = table.features(lams)["output"] if space == "weights" else table.in_features(lams)
        accuracy = table.accuracy(logits)
        for bar, number, value in zip(bars, numbers, accuracy):
            bar.set_ydata([0, value])
            number.set_text(f"{value:.2f}")
        heights = [-0.4 + 0.3 * lams.get(angle, 0.0) for angle in ANGLES]
        knobs.set_data(places[1:], heights)
        for text_, angle, height in zip(texts, ANGLES, heights):
            text_.set(y=height, text=f"{lams.get(angle, 0.0):.1f}")
        title.set_text(f"In {space}: Σ λ = {sum(lams.values()):.1f}, mean over the eight tasks {accuracy[1:].mean():.3f}, pretraining {accuracy[0]:.3f}")
        said = ", ".join(f"{angle:g}° {lam:.1f}" for angle, lam in lams.items() if lam) or "none"
        return (f"Task vectors added with λ: {said}; computed in {space}. Accuracy by angle, 0° being the pretraining task: "
                f"{'; '.join(f'{angle:g}° {value:.3f}' for angle, value in zip(EVALUATED, accuracy))}.")

    controls = {f"{angle:g}": slider(f"λ {angle:g}°", list(map(float, faders)), 0.1 if 0.1 in faders else 0.0) for angle in tasks}
    for control in controls.values():
        control.layout.width = "230px"
    controls["space"] = choice("computed in", SPACES)
    return controls, fig, draw, caption(sweep.assign_attrs(images=f"{len(table.y)} test images a task, computed as you move"))
