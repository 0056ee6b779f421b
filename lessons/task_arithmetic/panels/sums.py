"""Sums of task vectors: panel (a), how alike the vectors are, sums of many, analogies."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still
from lessons.task_arithmetic.experiment import mlp as experiment
from lessons.task_arithmetic.experiment.mlp import ANGLES, EDITS, EVALUATED, PAIRS
from lessons.task_arithmetic.panels.common import ACCURACY, CHANCE, TASK_NAMES, ordered


@still
def heat_map(sweep: xarray.Dataset):
    """The cosine between every two task vectors, over all weights and in the first and the last layer alone."""
    parts = [experiment.PARTS[0], "layer 1", "output"]
    fig, axes = plotting.figure(len(parts), height=3.6, sharey=True)
    names = [f"{angle:g}" for angle in ANGLES]
    for ax, part in zip(axes, parts):
        values = sweep.cosine.sel(part=part).values
        image = ax.imshow(values, cmap="cividis", vmin=0, vmax=1)
        for i, j in np.ndindex(*values.shape):
            ax.text(j, i, f"{values[i, j]:.2f}".lstrip("0"), ha="center", va="center", fontsize=6.5, color="white" if values[i, j] < 0.55 else BLACK)
        ax.set(title=part, xlabel="angle of task j (degrees)")
        ax.set_xticks(range(len(names)), names, fontsize=7, rotation=45)
        ax.set_yticks(range(len(names)), names, fontsize=7)
        ax.grid(False)
    axes[0].set_ylabel("angle of task i (degrees)")
    fig.colorbar(image, ax=list(axes), label="cosine of τᵢ and τⱼ", shrink=0.8)
    values = sweep.cosine.sel(part=parts[0]).values
    steps = "; ".join(f"{22.5 * d:g}° apart {np.diagonal(values, d).mean():.2f}" for d in range(1, 8))
    alt = f"Cosine between the eight task vectors, mean over pairs: {steps}. Their lengths run from {sweep.norm.min().item():.2f} to {sweep.norm.max().item():.2f}."
    return plotting.show(fig, alt, caption(sweep))


@panel
def edits(sweep: xarray.Dataset, prediction=None):
    """Panel (a): accuracy of θ₀ + λ·Σ τ against λ; right, on every task at one λ. Controls: lam, edit.

    The prediction, the mean accuracy on both tasks of "22.5° and 90°" at λ = ½, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.2, width_ratios=(5, 4))
    lams, places = list(map(float, sweep.lam.values)), np.arange(len(EVALUATED))
    left.set(xlabel="λ", ylabel=ACCURACY, xlim=(-1.03, 1.03), ylim=(0, 1.02))
    left.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    labels = (("the tasks added", BLUE, "o"), ("pretraining task", GREEN, "^"), ("all other tasks", GREY, "s"))
    curves = [left.plot([], [], color=colour, marker=marker, markersize=4, label=label, animated=True)[0] for label, colour, marker in labels]
    here = left.axvline(0, color=BLACK, linewidth=1, marker="", animated=True)
    star = Star(left, prediction, 0.5)
    right.set(ylabel=ACCURACY, ylim=(0, 1.02), xlim=(-0.6, len(places) - 0.4))
    right.set_xticks(places, TASK_NAMES, fontsize=7.5)
    right.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    own = np.diagonal(sweep.own.values)
    right.plot(places, own, color=BLACK, marker="_", markersize=13, linestyle="", label="network trained on it")
    handles = [part for ax in (left, right) for part in ax.get_legend_handles_labels()[0]]
    fig.legend(handles, [handle.get_label() for handle in handles], loc="outside lower center", ncols=4)
    bars = [right.plot([place, place], [0, 0], color=BLUE, linewidth=15, solid_capstyle="butt", marker="", animated=True)[0] for place in places]
    titles = plotting.moving_titles((left, right))
    values = {edit: sweep.accuracy.sel(edit=edit).transpose("lam", "task").values for edit in EDITS}

    def draw(lam, edit):
        table, row, added = values[edit], position(lams, lam, "lam"), [EVALUATED.index(angle) for angle in EDITS[edit]]
        others = [task for task in range(1, len(EVALUATED)) if task not in added]
        for curve, columns in zip(curves, (added, [0], others)):
            curve.set_data(*((lams, table[:, columns].mean(1)) if columns else ([], [])))
        here.set_xdata([lam, lam])
        for task, (bar, value) in enumerate(zip(bars, table[row])):
            bar.set_ydata([0, value])
            bar.set_color(GREEN if task == 0 else BLUE if task in added else GREY)
        star.place()
        titles[0].set_text(f"θ₀ + λ·(sum of {edit})")
        titles[1].set_text(f"λ = {lam:.2f}: added {table[row][added].mean():.3f}, pretraining {table[row][0]:.3f}")
        said = "; ".join(f"{angle:g}° {value:.3f}" for angle, value in zip(EVALUATED, table[row]))
        return f"Accuracy of θ₀ + λ·(sum of the task vectors of {edit}) at λ = {lam:.2f}, by angle, 0° being the pretraining task: {said}."

    controls = {"lam": slider("λ", lams, 0.5), "edit": choice("task vectors", {edit: edit for edit in ordered(EDITS)})}
    return controls, fig, draw


def misconception(sweep: xarray.Dataset) -> Page:
    """“Adding two task vectors averages the two models' abilities”, with this sweep's numbers."""
    name, (i, j) = "22.5° and 90°", PAIRS["22.5° and 90°"]
    own = sweep.own
    abilities = np.mean([[own.sel(model=model, task=task).item() for task in (i, j)] for model in (i, j)])
    halved, whole = (sweep.accuracy.sel(edit=name, lam=lam, task=[i, j]).mean().item() for lam in (0.5, 1.0))
    text = (f"Adding two task vectors averages the two models' abilities. No, and twice no. First, the sum θ₀ + (τᵢ + τⱼ) is not the average of the two models; that is θ₀ + ½(τᵢ + τⱼ). For {name} "
            f"the two read {whole:.3f} and {halved:.3f}, mean over both tasks. Second, what is averaged at λ = ½, nearly and in every layer, is the features, not the abilities: the two models' accuracies average to "
            f"{abilities:.3f}. An answer is the largest of ten numbers, and where one model is sure and the other undecided, the average of the numbers sides with the sure one.")
    return Page(text, f"<div style='border-left:5px solid #E69F00;padding:0.3em 0.8em'><b>A misconception.</b> “{text.split('. ')[0]}.” {'. '.join(text.split('. ')[1:])}</div>")


@still
def many(sweep: xarray.Dataset):
    """Left, accuracy against λ for sums of 1 to 8 task vectors; right, the best λ against the number of tasks, beside 1/k, and what it reaches."""
    fig, (left, right) = plotting.figure(2, height=3.9)
    counts, lams, values = sweep.num_tasks.values, sweep.many_lam.values, sweep.many.transpose("num_tasks", "many_lam").values
    best = lams[values.argmax(1)]
    colours = plotting.mpl.colormaps["viridis"](np.linspace(0, 0.9, len(counts)))
    for k, curve, colour in zip(counts, values, colours):
        left.plot(lams, curve, color=colour, marker="", label=f"{k}")
        left.plot([lams[curve.argmax()]], [curve.max()], color=colour, marker="o", linestyle="")
    left.set(xlabel="λ", ylabel="accuracy on the tasks added", ylim=(0, 1.02), title="Sums of k task vectors")
    left.legend(title="k", ncols=2, fontsize=8)
    right.plot(counts, best, color=BLUE, marker="o", label="best λ of those tried")
    right.plot(counts, 1 / counts, color=GREY, linestyle="--", marker="", label="1/k: the plain average")
    right.plot(counts, values.max(1), color=GREEN, marker="^", label="accuracy at the best λ")
    right.set(xlabel="task vectors added, k", ylim=(0, 1.02), title="Where the best λ lies", xticks=counts)
    right.legend(loc="upper right")
    said = "; ".join(f"k = {k}: best at λ = {lam:g}, accuracy {value:.3f}" for k, lam, value in zip(counts, best, values.max(1)))
    return plotting.show(fig, f"Sums of k task vectors. {said}.", caption(sweep) + " Mean over several choices of k tasks out of eight.")


@still
def analogies(sweep: xarray.Dataset):
    """Accuracy on angle d of θ₀ + λ·(τ_c + τ_b − τ_a), beside θ₀ + τ_c, which never saw d either, and the network that learned d."""
    fig, axes = plotting.figure(len(experiment.QUADRUPLES), height=2.9, sharey=True)
    said = []
    for ax, (name, (a, b, c, d)) in zip(axes, experiment.QUADRUPLES.items()):
        curve = sweep.analogy.sel(quadruple=name)
        nearest, learned, base = (sweep.own.sel(model=model, task=d).item() for model in (c, d, 0.0))
        ax.plot(sweep.step, curve, color=BLUE, marker="o", markersize=4, label="analogy")
        for value, colour, style, label in ((learned, BLACK, "-", "learned d"), (nearest, ORANGE, "--", "θ₀ + τ_c"), (base, GREY, ":", "θ₀")):
            ax.axhline(value, color=colour, linestyle=style, linewidth=1.4, marker="", label=label)
        ax.set(title=f"d = {d:g}°", xlabel="λ", ylim=(0, 1.02), xticks=(0, 0.5, 1))
        said.append(f"{d:g}° from {name}: at most {float(curve.max()):.3f}, θ₀ + τ_c {nearest:.3f}, learned {learned:.3f}")
    axes[0].set_ylabel("accuracy on angle d")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return plotting.show(fig, f"Analogies between angles. {'; '.join(said)}.", caption(sweep))
