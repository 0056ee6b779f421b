"""Pictures that do not move: the tasks, what each network knows of them, task vectors as arrows, and what two exercises
give."""
import numpy as np
import seaborn
import xarray

from lessons.kit import drawings, plotting
from lessons.kit.page import Markup, Page, minus, said
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, still, themed
from lessons.kit.sweep import caption
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import ANGLES, EVALUATED, LAYERS
from lessons.task_arithmetic.panels.common import CHANCE, dotted

SHOWN = 3  # digits
ORIGIN = (0, 0)  # θ₀ in the drawings
TAU_A, TAU_B = np.array((2.0, 0.4)), np.array((0.7, 1.8))  # two arrows of the drawings
OUTSIDE = 0.5  # of the accuracy: up to it a network is said to know little
_ALT_OF_ARROWS = """
    Three drawings of θ₀ with arrows to the finetuned networks A and B. Half of each arrow, added, ends half-way between
    A and B. All of each ends far beyond both. The arrow to A, subtracted, ends on the other side of θ₀."""
_ALT_OF_DOUBLED = """
    Two drawings of θ₀, A and B with the two ends of Eq. 2 and the sum half-way between them. At λ = ½ the ends are A
    and B. At λ = 1 they are twice as far from θ₀."""


@still
def tasks(sweep: xarray.Dataset):
    """The same digits upright and turned by the eight angles."""
    turned, y = mlp.test_sets(40)
    _, first = np.unique(y.numpy(), return_index=True)
    shown = sorted(first)[:SHOWN]  # of different digits
    fig, axes = plotting.figure(len(EVALUATED), height=2.6)
    for ax, angle, x in zip(axes, EVALUATED, turned):
        drawings.images(ax, x[shown].flatten(0, 1)[None], f"{angle:g}°")
    digits = ", ".join(str(int(label)) for label in y[shown])
    alt = f"The digits {digits}, upright and turned by {', '.join(f'{angle:g}°' for angle in ANGLES)}."
    return plotting.show(fig, alt, caption(sweep).split(";")[0] + ". 0° is the pretraining task.")


@still
def knowledge(sweep: xarray.Dataset):
    """Accuracy of the pretrained and the eight finetuned networks on each of the nine tasks."""
    values = sweep.own.transpose("model", "task").values
    fig, ax = plotting.figure(height=4.6, width=6.4)
    seaborn.heatmap(values, ax=ax, vmin=0, vmax=1, cmap="cividis", cbar=False, annot=np.round(100 * values).astype(int),
                    fmt="d", annot_kws={"fontsize": 9.5})
    for text, value in zip(ax.texts, values.flat):  # more contrast than seaborn's own choice has
        text.set_color("white" if value < 0.55 else BLACK)
    places = np.arange(len(EVALUATED)) + 0.5
    ax.set_xticks(places, [f"{angle:g}" for angle in EVALUATED])
    ax.set_yticks(places, ["pretrained", *(f"{angle:g}" for angle in ANGLES)], rotation=0)
    ax.grid(False)
    ax.set(xlabel="task, in degrees", ylabel="network, by its angle", title="Accuracy in per cent")
    rows = ("; ".join(f"{angle:g}° {value:.2f}" for angle, value in zip(EVALUATED, row)) for row in values)
    alt = ". ".join(f"Network {name}: {row}" for name, row in zip(["pretrained", *map("{:g}°".format, ANGLES)], rows))
    return plotting.show(fig, f"Accuracy by task. {alt}.", caption(sweep) + f" Chance is {CHANCE:g}.")


def reading_of_knowledge(sweep: xarray.Dataset) -> Page:
    """What the networks know of their own task, of its neighbours, of those two steps away and of others; with
    this sweep's numbers."""
    values = sweep.own.transpose("model", "task").values
    finetuned = values[1:, 1:]
    steps = np.abs(np.subtract.outer(np.arange(len(ANGLES)), np.arange(len(ANGLES))))
    own_task, neighbour, two_away, far = (finetuned[where].mean() for where in (steps == 0, steps == 1, steps == 2,
                                                                                steps > 2))
    first, *others = values[0, 1:]
    text = said("""On average they are {own_task:.0%} accurate on their own task, {neighbour:.0%} on a neighbouring one,
                   {two_away:.0%} two steps away, and {far:.0%} three or more. The pretrained network is {first:.0%}
                   accurate on the task nearest to its own""",
                own_task=own_task, neighbour=neighbour, two_away=two_away, far=far, first=first)
    text += ", and right for less than half of the images of any other." if first > OUTSIDE > max(others) else "."
    if values[0, 3:].max() < 3 * CHANCE:
        text += f" So if an edited network knows a task of {ANGLES[2]:g}° or more, it has that from a task vector."
    title = "Each finetuned network knows its own task and its neighbours, and something of the tasks two steps away." \
        if own_task > neighbour > OUTSIDE > two_away > max(far, 3 * CHANCE) else "What the finetuned networks know."
    return Page(f"{title} {text}", Markup("<p><b>{}</b> {}</p>").format(title, text))


# -- arrows ----------------------------------------------------------------------------------------

def _plane(ax, title, networks, across=(-2.4, 3.3), up=(-0.9, 2.6)):
    """θ₀ and named points of the plane, {name: (place, colour)}."""
    for name, (place, colour) in {"θ₀": ((0, 0), BLACK), **networks}.items():
        ax.plot(*place, color=colour, marker="o", markersize=7, linestyle="")
        ax.annotate(name, place, (-4, -16) if name.startswith("θ") else (8, 2), textcoords="offset points",
                    color=colour, fontsize=11)
    ax.set(title=title, aspect="equal", xlim=across, ylim=up)
    ax.axis("off")


@themed
def arrows():
    """Task vectors as arrows: half of each of two, all of each, and one subtracted."""
    fig, (half, all_of_each, subtracted) = plotting.figure(3, height=2.2)
    for ax, lam, title in ((half, 0.5, "half of each, added"), (all_of_each, 1.0, "all of each, added")):
        ends = {"A": (TAU_A, BLUE), "B": (TAU_B, ORANGE), "sum": (lam * (TAU_A + TAU_B), GREEN)}
        _plane(ax, title, ends, across=(-0.8, 3.6))
        for end, colour in ends.values():
            drawings.arrow(ax, ORIGIN, end, colour)
    for end, start in ((TAU_A, TAU_A + TAU_B), (TAU_B, TAU_A + TAU_B)):
        all_of_each.plot(*zip(start, end), color=GREY, linestyle=":", linewidth=1.2, marker="")
    half.plot(*zip(TAU_A, TAU_B), color=GREY, linestyle=":", linewidth=1.2, marker="")
    _plane(subtracted, "A, subtracted", {"A": (TAU_A, BLUE), "θ₀ − τ": (-TAU_A, GREEN)})
    drawings.arrow(subtracted, ORIGIN, TAU_A, BLUE)
    drawings.arrow(subtracted, ORIGIN, -TAU_A, GREEN)
    return plotting.show(fig, said(_ALT_OF_ARROWS), "A drawing: the real weights have many thousand directions.")


@themed
def doubled():
    """The two networks whose midpoint is a sum of task vectors, for λ = ½ and λ = 1."""
    fig, axes = plotting.figure(2, height=2.8)
    for ax, lam, written in zip(axes, (0.5, 1.0), ("λ = ½", "λ = 1")):
        ends = 2 * lam * TAU_A, 2 * lam * TAU_B
        _plane(ax, written, {"A": (TAU_A, BLUE), "B": (TAU_B, ORANGE), "sum": ((ends[0] + ends[1]) / 2, GREEN)},
               across=(-0.6, 4.8), up=(-0.6, 3.9))
        for end, colour in zip(ends, (BLUE, ORANGE)):
            drawings.arrow(ax, ORIGIN, end, colour)
            ax.plot(*end, color=colour, marker="s", markersize=11, markerfacecolor="none", linestyle="")
        ax.plot(*zip(*ends), color=GREY, linestyle="--", linewidth=1.4, marker="")
    below = "A drawing. Squares: the networks on the right-hand side of Eq. 2. The sum is half-way between them."
    return plotting.show(fig, said(_ALT_OF_DOUBLED), below)


# -- what the learner's functions give -------------------------------------------------------------

@themed
def kept_lam(of_base: dict[int, float], accuracies: dict[int, float]):
    """Left, the share of θ₀ against the number of task vectors, for a λ that is kept; right, the accuracy.

    Args:
        of_base, accuracies: {number of task vectors: share of θ₀, accuracy on their tasks}.
    """
    fig, (left, right) = plotting.figure(2, height=3.0)
    names = [f"k = {k}" for k in of_base]
    for ax, values, colour in ((left, of_base, GREY), (right, accuracies, GREEN)):
        bars = ax.bar(names, list(values.values()), color=colour, width=0.6)
        ax.bar_label(bars, [minus(f"{value:.2f}") for value in values.values()], padding=2)
        ax.grid(axis="x", visible=False)
        ax.margins(y=0.2)
    left.axhline(0, color=BLACK, linewidth=1, marker="")
    left.set(title="Share of θ₀", ylabel="share")
    dotted(right)
    right.set(title="Accuracy on the tasks added", ylabel="accuracy", ylim=(0, 1.1))
    told = "; ".join(f"{k}: share of θ₀ {of_base[k]:.2f}, accuracy {accuracies[k]:.2f}" for k in of_base)
    return plotting.show(fig, f"By number of task vectors, with one λ for all: {told}.",
                         "The first k of the eight tasks, 2,000 test images a task. Dotted: chance.")


@themed
def gap_by_layer(shares: dict[tuple[float, str], float]):
    """The gap of Eq. 2 in each layer, as a share of the distance between its ends.

    Args:
        shares: {(λ, layer): share}.
    """
    lams = sorted({lam for lam, _ in shares})
    fig, axes = plotting.figure(len(lams), height=3.0, sharey=True)
    axes = np.atleast_1d(axes)
    for ax, lam in zip(axes, lams):
        bars = ax.bar(LAYERS, [shares[lam, layer] for layer in LAYERS], color=GREEN, width=0.6)
        ax.bar_label(bars, [f"{shares[lam, layer]:.1%}" for layer in LAYERS], padding=2)
        ax.grid(axis="x", visible=False)
        ax.margins(y=0.2)
        ax.set(title=f"λ = {lam:g}")
    plotting.in_percent(axes[0].yaxis)
    axes[0].set_ylabel("gap, share of the ends' distance")
    told = "; ".join(f"λ = {lam:g}, {layer} {share:.1%}" for (lam, layer), share in shares.items())
    return plotting.show(fig, f"Gap of Eq. 2 as a share of the distance between its ends. {told}.",
                         "Digits turned by 22.5° and 90°, 2,000 test images of each.")
