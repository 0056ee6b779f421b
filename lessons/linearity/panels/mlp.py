"""The pictures of chapter 1 that are about the MLP and its tasks; those of its gaps and lengths are in `lines`."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.linearity.panels.lines import (  # noqa: F401  what the notebook shows, under one name
    ALPHA, by_choice, coef_per_layer, controls, figure_2, figure_3, figure_13, figure_14, gap_per_layer, reading_of_coef, reading_of_the_gap, worst_places)
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still


# -- panel (a): loss and accuracy ------------------------------------------------------------------

_TASKS = {"i": ("task of θᵢ", BLUE, "o"), "j": ("task of θⱼ", ORANGE, "s"),
          "both": ("both together", GREEN, "^"), "pretraining": ("pretraining task (0°)", GREY, "D")}

_SPOKEN = {"i": "task i", "j": "task j", "both": "both together", "pretraining": "pretraining task"}


@panel
def along_the_line(sweep: xarray.Dataset, prediction=None):
    """Panel (a): loss and accuracy of the interpolated network for each task, with the straight line between the ends for both together.

    Controls: alpha, pair. The prediction, an accuracy on both tasks at α = 0.5, is a star.
    """
    fig, axes = plotting.figure(2, height=3.7)
    curves = {}
    for ax, quantity, unit in zip(axes, ("loss", "accuracy"), ("cross-entropy (nats)", "share correct")):
        ax.set(xlabel=ALPHA, ylabel=f"{quantity}: {unit}", xlim=(-0.03, 1.03), ylim=(0, 1.05 * float(sweep[quantity].max())) if quantity == "loss" else (0, 1))
        for task, (label, colour, marker) in _TASKS.items():
            curves[quantity, task] = ax.plot([], [], color=colour, marker=marker, markevery=5, label=label, animated=True)[0]
        curves[quantity, "chord"] = ax.plot([], [], color=GREEN, linestyle=":", linewidth=1.4, marker="", label="straight line, both", animated=True)[0]
        curves[quantity, "here"] = ax.axvline(0.5, color=BLACK, linewidth=1, animated=True)
        curves[quantity, "title"], = plotting.moving_titles((ax,))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    star = Star(axes[1], prediction)
    lines = {pair: line.transpose("task", "alpha") for (pair, _), line in by_choice(sweep, "loss", "accuracy").items()}
    alphas = sweep.alpha.values

    def draw(alpha, pair):
        line, step = lines[pair], position(alphas, alpha)
        values = {quantity: dict(zip(_TASKS, line[quantity].values)) for quantity in ("loss", "accuracy")}
        for quantity, by_task in values.items():
            for task, along in by_task.items():
                curves[quantity, task].set_data(alphas, along)
            curves[quantity, "chord"].set_data([0, 1], by_task["both"][[0, -1]])
            curves[quantity, "here"].set_xdata([alpha, alpha])
            curves[quantity, "title"].set_text(f"{quantity.capitalize()} on both at α = {alpha:.2f}: {by_task['both'][step]:.3f}")
        star.place()
        said = ", ".join(f"{name} {values['accuracy'][task][step]:.3f} (loss {values['loss'][task][step]:.3f})" for task, name in _SPOKEN.items())
        ends = values["accuracy"]["both"]
        return (f"Loss and accuracy along the line between the networks finetuned on {pair}. At α = {alpha:.2f} the accuracy is: {said}. "
                f"The ends score {ends[0]:.3f} (α = 0) and {ends[-1]:.3f} (α = 1) on both together.")

    return controls(sweep), fig, draw


# -- panel (d): linear in the weights, so linear in the outputs? -----------------------------------

@panel
def linear_in_the_weights(sweep: xarray.Dataset, prediction=None):
    """Panel (d): two networks that learned the same task; the interpolated network beside the mixed outputs, which linearity would give.

    Controls: alpha, start. The prediction, the accuracy half-way between two strangers, is a star.
    """
    fig, axes = plotting.figure(2, height=3.7)
    curves = {}
    for ax, quantity, unit in zip(axes, ("loss", "accuracy"), ("cross-entropy (nats)", "share correct")):
        highest = float(max(sweep[f"start_{quantity}"].max(), sweep[f"mixed_{quantity}"].max()))
        ax.set(xlabel=ALPHA, ylabel=f"{quantity}: {unit}", xlim=(-0.03, 1.03), ylim=(0, 1.08 * highest) if quantity == "loss" else (0, 1.02))
        curves[quantity, "mixed"] = ax.plot([], [], color=ORANGE, linestyle="--", marker="s", markevery=5, label="mix of the two outputs", animated=True)[0]
        curves[quantity, "start"] = ax.plot([], [], color=BLUE, marker="o", markevery=5, label="network with mixed weights", animated=True)[0]
        curves[quantity, "here"] = ax.axvline(0.5, color=BLACK, linewidth=1, marker="", animated=True)
        curves[quantity, "title"], = plotting.moving_titles((ax,))
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    star = Star(axes[1], prediction)

    variables = [f"{which}_{quantity}" for which in ("start", "mixed") for quantity in ("loss", "accuracy")]
    lines = {str(start): sweep[variables].sel(start=start) for start in sweep.start.values}

    def draw(alpha, start):
        line = lines[start]
        here = line.isel(alpha=position(sweep.alpha.values, alpha))
        for quantity in ("loss", "accuracy"):
            for which in ("start", "mixed"):
                curves[quantity, which].set_data(line.alpha.values, line[f"{which}_{quantity}"].values)
            curves[quantity, "here"].set_xdata([alpha, alpha])
            curves[quantity, "title"].set_text(f"{quantity.capitalize()} at α = {alpha:.2f}: {here[f'start_{quantity}'].item():.3f}")
        star.place()
        return (f"Two networks trained on upright digits from {start}. At α = {alpha:.2f} the network with mixed weights has accuracy "
                f"{here.start_accuracy.item():.3f} and loss {here.start_loss.item():.3f}; mixing the outputs gives {here.mixed_accuracy.item():.3f} "
                f"and {here.mixed_loss.item():.3f}.")

    starts = {str(start): str(start) for start in sweep.start.values[::-1]}
    two = {"alpha": slider("α", [float(alpha) for alpha in sweep.alpha.values], 0.0), "start": choice("the two networks began from", starts)}
    return two, fig, draw


@still
def digits(sweep: xarray.Dataset):
    """The same test images at every angle: what the networks are given."""
    example = sweep.example.transpose("angle", "row", "image", "column")
    rows, height, columns, width = example.shape
    fig, ax = plotting.figure(height=4.4, width=7.4)
    ax.imshow(example.values.reshape(rows * height, columns * width), cmap="gray_r", vmin=0, vmax=1)
    ax.set_yticks((np.arange(rows) + 0.5) * height, [f"{angle:g}°" for angle in example.angle.values])
    ax.set(xticks=[], title="The same test images, turned")
    ax.grid(False)
    angles = ", ".join(f"{angle:g}" for angle in example.angle.values)
    return plotting.show(fig, f"{columns} test images, each turned by {angles} degrees.", caption(sweep).split(";")[0] + ".")


