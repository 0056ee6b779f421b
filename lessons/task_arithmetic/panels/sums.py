"""Sums of task vectors: panel (a), how alike the vectors are, sums of many, analogies."""
import numpy as np
import seaborn
import xarray

from lessons.kit import plotting
from lessons.kit.noise import APART, Difference, with_reach
from lessons.kit.page import Markup, Page, minus, paragraph, said
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, still
from lessons.kit.sweep import caption, position
from lessons.kit.view import (
    Axis,
    Band,
    Bars,
    Chart,
    Frame,
    Handle,
    Line,
    Points,
    Reference,
    Star,
    chips,
    key,
    percent,
    slider,
    view,
)
from lessons.task_arithmetic.experiment.mlp import ANGLES, EDITS, EVALUATED, PAIRS, PARTS, QUADRUPLES
from lessons.task_arithmetic.panels.common import CHANCE, dotted, grid, only, with_error


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
                   {least:.2f}, so no two of these arrows oppose each other. The layers differ. In layer 1 half of
                   the pairs have a cosine below {first:.2f}. At the output half of them have one above {last:.2f}, an
                   angle of less than {degrees:.0f}°: those arrows agree more, but they are not parallel.""",
                all_near=means["all_near"], least=means["all"].min(), first=np.median(means["first"]),
                last=np.median(means["last"]), degrees=np.degrees(np.arccos(np.median(means["last"]))))
    return Page(text, paragraph(text))


# -- panel (a) -------------------------------------------------------------------------------------

TASKS = tuple(range(len(EVALUATED)))  # places on the axis of all tasks
SMALL = 0.25  # of a task vector: a λ up to it is called small
ASKED = {"edit": "22.5° and 90°", "lam": 0.5}  # what the prediction is about, and where the view opens
_ALT = """
    Accuracy of θ₀ + λ·(sum of the task vectors of {edit}) at λ = {lam:.2f}, by angle, 0° being the pretraining task:
    {by_angle}. Mean over the tasks added: {added:.3f}; the best of their networks has {alone:.3f}."""


@view
def edits(sweep: xarray.Dataset, prediction=None):
    """Panel (a): accuracy of θ₀ + λ·Σ τ against λ on the tasks added, beside the best of their networks; grey, on the
    others. Right, on every task at one λ, beside the network that learned this task. Controls: lam, edit.

    The prediction, the mean accuracy on both tasks of "22.5° and 90°" at λ = ½, is a star.
    """
    lams, images = grid(sweep.lam), int(sweep.attrs["test_images"])
    tables = {edit: sweep.accuracy.sel(edit=edit).transpose("lam", "task").values for edit in EDITS}
    added_to = {edit: [EVALUATED.index(angle) for angle in angles] for edit, angles in EDITS.items()}
    of_single = sweep.own.transpose("model", "task").values
    if prediction:
        row = position(lams, ASKED["lam"], "lam")
        prediction.panel_answers(tables[ASKED["edit"]][row, added_to[ASKED["edit"]]].mean(), ASKED)

    def draw(lam, edit):
        by_task, added = tables[edit], added_to[edit]
        at_lam, others = by_task[position(lams, lam, "lam")], [task for task in TASKS[1:] if task not in added]
        mean, alone = by_task[:, added].mean(1), of_single[np.ix_(added, added)].mean(1).max()
        values = {"tasks added": mean, "two standard errors": with_reach(mean, images * len(added))[1:],
                  "pretraining task": by_task[:, 0], "best network alone": alone, "chance": CHANCE,
                  "all other tasks": by_task[:, others].mean(1) if others else np.full(len(lams), np.nan),
                  "added": 100 * with_reach(only(at_lam, added), images), "guessing": 100 * CHANCE,
                  "other": 100 * with_reach(only(at_lam, [0, *others]), images),
                  "network trained on it": 100 * np.diagonal(of_single)}
        by_angle = "; ".join(f"{angle:g}° {value:.3f}" for angle, value in zip(EVALUATED, at_lam))
        alt = said(_ALT, edit=edit, lam=lam, by_angle=by_angle, added=at_lam[added].mean(), alone=alone)
        vectors, tasks = ("task vector", "on this task") if len(added) == 1 else ("task vectors", "on these tasks")
        return Frame(finding_of_sums(lams, mean, alone, len(added), images), alt, values,
                     key(("merged", f"The network with the {vectors} of {edit} added, {tasks}"),
                         ("", "grey: on the other tasks"), ("single", "networks that learned one task")))

    menu = sorted(EDITS, key=lambda edit: (edit != ASKED["edit"], len(EDITS[edit]) < 8))
    return {"kicker": "Chapter 4: adding and subtracting task vectors", "charts": _charts_of_edits(lams), "draw": draw,
            "tries": ("Move the slider to both ends. Where is the green line highest?",
                      "Choose “all eight”. Where is it highest now?",
                      "Choose a single task, and move the slider below 0. What happens to the grey lines?"),
            "controls": {"lam": slider("λ", {minus(f"{lam:g}"): lam for lam in lams}, ASKED["lam"],
                                       words=_words, ends=[("", "all subtracted"), ("", "all added")]),
                         "edit": chips("task vectors added", menu)},
            "hides": ["tasks added", "two standard errors", "pretraining task", "all other tasks", "added", "other"],
            "caption": f"{with_error(sweep)} Band and bars: two standard errors, {APART}."}


def _charts_of_edits(lams):
    """Accuracy over λ, and on every task."""
    left = Chart(Axis("λ", lams[0], lams[-1], ticks={-1: "−1", -0.5: "−0.5", 0: "0", 0.5: "0.5", 1: "1"}),
                 Axis("accuracy", 0, 1, unit="percent"),
                 (Reference("best network alone", "single", "best alone"), Reference("chance", "chance", "chance"),
                  Line("pretraining task", "other", "pretraining"), Line("all other tasks", "other", "other tasks"),
                  Band("two standard errors", "merged"), Line("tasks added", "merged", "tasks added", near=True),
                  Star("guess", "merged", x=(ASKED["lam"],)), Handle("lam")))
    right = Chart(Axis("angle of the task, in degrees", -0.6, len(TASKS) - 0.4, "places",
                       ticks={task: f"{angle:g}" for task, angle in zip(TASKS, EVALUATED)}),
                  Axis("accuracy on every task at this λ, in per cent", 0, 105,
                       ticks={share: f"{share}" for share in range(0, 101, 20)}),
                  (Reference("guessing", "chance", aside=True), Bars("added", "merged", x=TASKS),
                   Bars("other", "other", x=TASKS), Points("network trained on it", "single", x=TASKS)), height=352)
    return [left, right]


def _words(lam):
    """Where the slider stands."""
    if lam in (-1, 0, 1):
        return {-1: "all subtracted", 0: "nothing added", 1: "all added"}[lam]
    return f"{percent(abs(lam))} {'added' if lam > 0 else 'subtracted'}"


def finding_of_sums(lams: list[float], mean: np.ndarray, alone: float, count: int, images: int) -> str:
    """What the whole curve shows: of one task vector, what adding and subtracting it does to its task; of several,
    whether half of each of two, or the best part of each of more, serves all tasks better than one network alone does,
    and than all of each.

    Args:
        mean: (λ,) accuracy on the tasks added.
        alone: of the best of their networks, on the same tasks.
        count, images: of tasks added, and of images a task.
    """
    at_end, at_none = mean[-1], mean[position(lams, 0.0, "lam")]
    if count == 1:
        more, less = (Difference.of(at, at_none, images) for at in (at_end, mean[0]))
        adds = "Adding a task vector teaches its task" if more.is_news and more.value > 0 else \
            "Adding this task vector is not seen to help its task"
        return f"{adds}, subtracting it takes right answers away" if less.is_news and less.value < 0 else adds
    best = position(lams, 0.5, "lam") if count == 2 else int(mean.argmax())
    tasks = "both tasks" if count == 2 else "all the tasks"
    part = "Half of each task vector" if count == 2 else "A small part of each task vector" if lams[best] <= SMALL \
        else "The right part of each task vector"
    gain, excess = (Difference.of(mean[best], other, count * images) for other in (alone, at_end))
    if not (gain.is_news and gain.value > 0):
        return f"{part} is no better on {tasks} together than one network alone"
    too_much = ", all of each is too much" if excess.is_news and excess.value > 0 else ""
    return f"{part} makes one network for {tasks}{too_much}"


def reading_of_half(sweep: xarray.Dataset) -> Page:
    """What half of each of two task vectors makes, beside all of each and beside either network alone; with this
    sweep's numbers."""
    tasks = list(PAIRS[ASKED["edit"]])
    accuracy = sweep.accuracy.sel(edit=ASKED["edit"], task=tasks)
    of_halves, of_sum = (accuracy.sel(lam=lam).mean().item() for lam in (0.5, 1.0))
    of_a, of_b = (sweep.own.sel(model=angle, task=tasks).mean().item() for angle in tasks)
    images = 2 * int(sweep.attrs["test_images"])
    gains = [Difference.of(of_halves, accuracy, images) for accuracy in (of_sum, of_a, of_b)]
    title = "Half of each is better than all of each, and than either network alone." \
        if all(gain.is_news and gain.value > 0 for gain in gains) else \
        "Half of each, all of each, and one network alone."
    text = said("""On digits turned by 22.5° and 90° together, the network with half of each task vector is
                   {of_halves:.0%} accurate, and the one with all of each {of_sum:.0%}. A alone reaches {of_a:.0%} and
                   B alone {of_b:.0%}.""",
                of_halves=of_halves, of_sum=of_sum, of_a=of_a, of_b=of_b)
    if gains[1].value > 0 and gains[2].value > 0:
        text += " So averaging the weights does not average what the two networks can do."
    return Page(f"{title} {text}", Markup("<p><b>{}</b> {}</p>").format(title, text))


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
    below = f"{caption(sweep.assign_attrs(images=images))} Mean over every choice of k tasks out of eight; " \
            "λ chosen on these same images."
    return plotting.show(fig, f"Sums of k task vectors. {'; '.join(sentences)}.", below)


NAMED = (1, 2, 4, 8)  # of which the curve has a colour and a name
NEAR = 1.5  # times 1/k, or 1/k over it: as far a best λ is called near the plain average


def best_shares(sweep: xarray.Dataset) -> Page:
    """How the best λ for k task vectors falls, whether it is near 1/k, and what it reaches; with this sweep's
    numbers."""
    values = sweep.many.transpose("num_tasks", "many_lam").values
    counts = sweep.num_tasks.values
    best = sweep.many_lam.values[values.argmax(1)]
    times, reached = best * counts, values.max(1)
    title = "The more task vectors you add, the less of each you can add." \
        if (np.diff(best) <= 0).all() and best[-1] < best[0] else "The best λ by the number of task vectors."
    text = said("""Of those that we tried, the best λ was {two:g} for two tasks, {four:g} for four, and {eight:g} for
                   eight.""", two=best[1], four=best[3], eight=best[7])
    if times.min() >= 1 / NEAR and times.max() <= NEAR:
        text += " That is near 1/k, with which the sum is the plain average of the finetuned networks."
    at_best = said("Even at the best λ, the accuracy {goes} from {first:.0%} with one task to {last:.0%} with eight.",
                   goes="falls" if reached[-1] < reached[0] else "goes", first=reached[0], last=reached[-1])
    text = f"{text} {at_best}"
    return Page(f"{title} {text}", Markup("<p><b>{}</b> {}</p>").format(title, text))


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
