"""Sums of task vectors: panel (a), how alike the vectors are, sums of many, analogies."""
import numpy as np
import seaborn
import xarray

from lessons.kit import plotting
from lessons.kit.page import Markup, Page, paragraph, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, Look, curve, here, moving_titles
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN, GREY, ORANGE, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position
from lessons.task_arithmetic.experiment.mlp import ANGLES, EDITS, EVALUATED, PAIRS, PARTS, QUADRUPLES
from lessons.task_arithmetic.panels.common import CHANCE, TASK_NAMES, dotted, grid, ordered, with_error


@still
def heat_map(sweep: xarray.Dataset):
    """The cosine between every two task vectors, over all weights and in the first and the last layer alone."""
    parts = [PARTS[0], "layer 1", "output"]
    fig, axes = plotting.figure(len(parts), height=4.2, sharey=True)
    for ax, part in zip(axes, parts):
        values = sweep.cosine.sel(part=part).values
        written = np.vectorize(lambda value: "1" if value > 0.995 else f"{value:.2f}".lstrip("0"))(values)
        seaborn.heatmap(values, ax=ax, vmin=0, vmax=1, cmap="cividis", cbar=False, square=True, annot=written, fmt="",
                        annot_kws={"fontsize": 9.5})
        for text, value in zip(ax.texts, values.flat):  # more contrast than seaborn's own choice has
            text.set_color("white" if value < 0.55 else BLACK)
        angles = [f"{angle:g}" for angle in ANGLES]
        ax.set_xticks(np.arange(len(angles)) + 0.5, angles, rotation=90)
        ax.set_yticks(np.arange(len(angles)) + 0.5, angles, rotation=0)
        ax.grid(False)
        ax.set(title=part, xlabel="angle of task j (degrees)")
    axes[0].set_ylabel("angle of task i (degrees)")
    values = sweep.cosine.sel(part=parts[0]).values
    steps = "; ".join(f"{22.5 * d:g}° apart {np.diagonal(values, d).mean():.2f}" for d in range(1, 8))
    alt = said("""Cosine between the eight task vectors, mean over pairs: {steps}. Their lengths run from {least:.2f} to
                  {most:.2f}.""", steps=steps, least=sweep.norm.min().item(), most=sweep.norm.max().item())
    return plotting.show(fig, alt, caption(sweep))


def reading_of_the_heat_map(sweep: xarray.Dataset) -> Page:
    """How much the arrows agree, near and far, in the first layer and in the last; with this sweep's numbers."""
    means = {}
    for name, part in (("all", PARTS[0]), ("first", "layer 1"), ("last", "output")):
        values = sweep.cosine.sel(part=part).values
        means[name] = values[np.triu_indices(len(ANGLES), 1)]
        means[f"{name}_near"] = np.diagonal(values, 1).mean()
    text = said("""Neighbours share much, as their digits do: {all_near:.2f} on average. The least of all cosines is
                   {least:.2f}, so no two of these arrows oppose each other. The layers differ. In layer 1 the arrows
                   depend on the angle, and half of the pairs have a cosine below {first:.2f}. At the output half of
                   them have one above {last:.2f}, an angle of less than {degrees:.0f}°: those arrows agree more, but
                   they are not parallel.""",
                all_near=means["all_near"], least=means["all"].min(), first=np.median(means["first"]),
                last=np.median(means["last"]), degrees=np.degrees(np.arccos(np.median(means["last"]))))
    return Page(text, paragraph(text))


# -- panel (a) -------------------------------------------------------------------------------------

@panel
def edits(sweep: xarray.Dataset, prediction=None):
    """Panel (a): accuracy of θ₀ + λ·Σ τ against λ; right, on every task at one λ. Controls: lam, edit.

    The prediction, the mean accuracy on both tasks of "22.5° and 90°" at λ = ½, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.2, width_ratios=(5, 4))
    lams = grid(sweep.lam)
    left.set(xlabel="λ", ylabel=ACCURACY, xlim=(-1.03, 1.03), ylim=(0, 1.02))
    dotted(left)
    looks = {"the tasks added": Look(BLUE, "o"),
             "pretraining task": Look(GREEN, "^"),
             "all other tasks": Look(GREY, "s")}
    curves = [curve(left, look, label, markersize=4) for label, look in looks.items()]
    at_lam = here(left, 0)
    places = np.arange(len(EVALUATED))
    right.set(ylabel=ACCURACY, ylim=(0, 1.02), xlim=(-0.6, len(places) - 0.4))
    right.set_xticks(places, TASK_NAMES)
    dotted(right)
    right.plot(places, np.diagonal(sweep.own.values), color=BLACK, marker="_", markersize=13, linestyle="",
               label="network trained on it")
    bars = Bars(right, places, BLUE, width=15)
    handles = [part for ax in (left, right) for part in ax.get_legend_handles_labels()[0]]
    fig.legend(handles, [handle.get_label() for handle in handles], loc="outside lower center", ncols=4)
    titles = moving_titles((left, right))
    values = {edit: sweep.accuracy.sel(edit=edit).transpose("lam", "task").values for edit in EDITS}
    asked = {"edit": "22.5° and 90°", "lam": 0.5}
    truth = values[asked["edit"]][position(lams, 0.5, "lam")][[EVALUATED.index(22.5), EVALUATED.index(90.0)]].mean()
    star = Star(left, prediction, 0.5, truth, asked)

    def draw(lam, edit):
        table = values[edit]
        now = table[position(lams, lam, "lam")]
        added = [EVALUATED.index(angle) for angle in EDITS[edit]]
        others = [task for task in range(1, len(EVALUATED)) if task not in added]
        for line, tasks in zip(curves, (added, [0], others)):
            line.set_data(lams if tasks else [], table[:, tasks].mean(1) if tasks else [])
        at_lam.set_xdata([lam, lam])
        bars.set_values(now, [GREEN, *(BLUE if task in added else GREY for task in range(1, len(now)))])
        star.place(lam=lam, edit=edit)
        titles[0].set_text(f"θ₀ + λ·(sum of {edit})")
        titles[1].set_text(f"λ = {lam:.2f}: added {now[added].mean():.3f}, pretraining {now[0]:.3f}")
        by_angle = "; ".join(f"{angle:g}° {value:.3f}" for angle, value in zip(EVALUATED, now))
        return said("""Accuracy of θ₀ + λ·(sum of the task vectors of {edit}) at λ = {lam:.2f}, by angle, 0° being the
                       pretraining task: {by_angle}.""", edit=edit, lam=lam, by_angle=by_angle)

    controls = {"lam": slider("λ", lams, 0.5), "edit": choice("task vectors", ordered(EDITS))}
    return controls, fig, draw, with_error(sweep)


def misconception(sweep: xarray.Dataset) -> Page:
    """“Adding two task vectors averages the two models' abilities”, with this sweep's numbers."""
    name = "22.5° and 90°"
    tasks = list(PAIRS[name])
    accuracy = sweep.accuracy.sel(edit=name, task=tasks)
    wrong = "Adding two task vectors averages the two models' abilities."
    right = said("""No, and twice no. First, the sum θ₀ + (τᵢ + τⱼ) is not the average of the two models; that is
                    θ₀ + ½(τᵢ + τⱼ). For {name} the two read {whole:.3f} and {halved:.3f}, mean over both tasks. Second,
                    what is averaged at λ = ½, nearly and in every layer, is the features, not the abilities: the two
                    models' accuracies average to {abilities:.3f}. An answer is the largest of ten numbers, and where
                    one model is sure and the other undecided, the average of the numbers sides with the sure one.""",
                 name=name, whole=accuracy.sel(lam=1.0).mean().item(), halved=accuracy.sel(lam=0.5).mean().item(),
                 abilities=sweep.own.sel(model=tasks, task=tasks).mean().item())
    template = Markup("<div style='border-left:5px solid #E69F00;padding:0.3em 0.8em'>"
                      "<b>A misconception.</b> “{}” {}</div>")
    return Page(f"{wrong} {right}", template.format(wrong, right))


# -- sums of many, analogies -----------------------------------------------------------------------

@still
def many(sweep: xarray.Dataset):
    """Left, accuracy against λ for sums of 1 to 8 task vectors, with the best λ of each marked; right, the best λ
    against the number of tasks, beside 1/k."""
    fig, (left, right) = plotting.figure(2, height=4.0)
    counts = sweep.num_tasks.values
    lams = sweep.many_lam.values
    values = sweep.many.transpose("num_tasks", "many_lam").values
    best = lams[values.argmax(1)]
    for k, line in zip(counts, values):
        colour = dict(zip(NAMED, (BLACK, BLUE, GREEN, ORANGE))).get(k, "#c4c4c4")
        left.plot(lams, line, color=colour, marker="", linewidth=2 if k in NAMED else 1, zorder=3 if k in NAMED else 2)
        left.plot([lams[line.argmax()]], [line.max()], color=colour, marker="o", linestyle="", zorder=4)
        if k in NAMED:
            left.text(1.02, line[-1], f"k = {k}", va="center", fontsize=9.5, color=colour)
    dotted(left, CHANCE)
    left.set(xlabel="λ", ylabel="accuracy on the tasks added", ylim=(0, 1.02), xlim=(0, 1.15),
             title="Sums of k task vectors")
    right.plot(counts, best, color=BLUE, marker="o", label="best λ of those tried")
    right.plot(counts, 1 / counts, color=GREY, linestyle="--", marker="", label="1/k: the plain average")
    right.set(xlabel="task vectors added, k", ylabel="λ", ylim=(0, 1.05), title="Where the best λ lies", xticks=counts)
    right.legend(loc="upper right")
    sentences = []
    for k, lam, value in zip(counts, best, values.max(1)):
        sentences.append(f"k = {k}: best at λ = {lam:g}, accuracy {value:.3f}")
    images = f"{sweep.attrs['many_images']:,} test images a task"
    below = f"{caption(sweep.assign_attrs(images=images))} Mean over every choice of k tasks out of eight."
    return plotting.show(fig, f"Sums of k task vectors. {'; '.join(sentences)}.", below)


NAMED = (1, 2, 4, 8)  # of which the curve has a colour and a name


def best_shares(sweep: xarray.Dataset) -> Page:
    """What the best λ for k task vectors comes to, in units of 1/k, and what it reaches; with this sweep's numbers."""
    values = sweep.many.transpose("num_tasks", "many_lam").values
    counts = sweep.num_tasks.values
    best = sweep.many_lam.values[values.argmax(1)]
    times = best * counts
    reached = values.max(1)
    text = said("""The best λ for two tasks is {two:g}, for four {four:g}, for eight {eight:g}. In units of 1/k that is
                   between {least:.2f} and {most:.2f}: near the plain average. The accuracy that it reaches falls from
                   {first:.2f} with one task to {last:.2f} with eight.""",
                two=best[1], four=best[3], eight=best[7], least=times.min(), most=times.max(),
                first=reached[0], last=reached[-1])
    return Page(text, paragraph(text))


@still
def analogies(sweep: xarray.Dataset):
    """Accuracy on angle d of θ₀ + λ·(τ_c + τ_b − τ_a), beside θ₀ + τ_c, which never saw d either, and the network that
    learned d."""
    fig, axes = plotting.figure(len(QUADRUPLES), height=3.2, sharey=True)
    sentences = []
    for ax, (name, (_, _, c, d)) in zip(axes, QUADRUPLES.items()):
        line = sweep.analogy.sel(quadruple=name)
        nearest, learned, base = (sweep.own.sel(model=model, task=d).item() for model in (c, d, 0.0))
        ax.plot(sweep.step, line, color=BLUE, marker="o", markersize=4, label="analogy")
        levels = ((learned, BLACK, "-", "learned d"), (nearest, ORANGE, "--", "θ₀ + τ_c"), (base, GREY, "-.", "θ₀"))
        for value, colour, style, label in levels:
            ax.axhline(value, color=colour, linestyle=style, linewidth=1.4, marker="", label=label)
        dotted(ax)
        ax.set(title=f"d = {d:g}°", xlabel="λ", ylim=(0, 1.02), xticks=(0, 0.5, 1))
        most = float(line.max())
        sentences.append(f"{d:g}° from {name}: at most {most:.3f}, θ₀ + τ_c {nearest:.3f}, learned {learned:.3f}")
    axes[0].set_ylabel("accuracy on angle d")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return plotting.show(fig, f"Analogies between angles. {'; '.join(sentences)}.", with_error(sweep))
