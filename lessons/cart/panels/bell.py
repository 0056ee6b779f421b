"""The panel of the chapter: accuracy against the number of directions kept, beside the task vectors' spectrum."""
import numpy as np
import xarray

from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import chosen, one
from lessons.cart.panels.parts import (
    AVERAGE,
    OF_AVERAGE,
    OF_HOW,
    OF_OWN,
    OF_TASK_ARITHMETIC,
    OWN,
    TASK_ARITHMETIC,
    Ranks,
    by_rank,
    listed,
    numbers_of,
    titles,
    upright,
)
from lessons.kit import plotting
from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import Page, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, level
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN, GREY, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position
from lessons.merging.search import rests_on

MOST_TASKS = 8
DISJOINT = bell.name_of(1.0)
# in the panel of the chapter, if measured; not the half, which is asked for later
SHOWN = (DISJOINT, bell.name_of(0.875), bell.name_of(0.0), bell.SEVERAL)
CHANCE = 0.1  # of ten digits
SHOWN_RANK, SHOWN_LAM = 0.03, 3.0  # where the panel opens, and what the prediction asks for
KINDS = {  # of networks in the overview: how they look, and what `levels_of` calls them
    "pretrained": (Look(GREY, "X"), "base"),
    AVERAGE: (Look(GREEN, "o"), "average"),
    OWN: (Look(BLACK, "|"), "own")}
LEVELS = {  # in the panels, by what `levels_of` calls them
    "average": (OF_AVERAGE, AVERAGE),
    "arithmetic": (OF_TASK_ARITHMETIC, f"{TASK_ARITHMETIC}, full rank"),
    "own": (OF_OWN, OWN)}


@still
def overview(sweep: xarray.Dataset):
    """What is to be merged: for every set of tasks the accuracy of θ₀, of the average and of the own networks."""
    fig, ax = plotting.figure(height=1.2 + 0.42 * sweep.sizes["setting"])
    names = settings_of(sweep)
    places = np.arange(len(names))[::-1]
    rows = {name: levels_of(one(sweep, setting=name)) for name in names}
    for label, (look, key) in KINDS.items():
        values = [row[key] for row in rows.values()]
        ax.plot(values, places, color=look.colour, marker=look.marker, markersize=9, linestyle="", label=label)
    ax.axvline(CHANCE, color=GREY, linestyle=":", linewidth=1.2, marker="", label="by chance")
    ax.set(xlabel=ACCURACY, xlim=(0, 1.02), ylim=(-0.6, len(names) - 0.4))
    ax.set_yticks(places, names)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    sentences = []
    for name, row in rows.items():
        levels = ", ".join(f"{label} {row[key]:.3f}" for label, (_, key) in KINDS.items())
        sentences.append(f"{name}: {levels}")
    return plotting.show(fig, f"Mean accuracy over tasks. {'; '.join(sentences)}.",
                         f"{caption(sweep)} {error_said(sweep)}")


def error_said(sweep: xarray.Dataset) -> str:
    """For captions: how sure the mean accuracy over four tasks is at most."""
    images = 4 * int(sweep.attrs["test_images"])
    return said("One standard error of a mean over four tasks is at most {points:.1f} points.",
                points=100 * error_of_share(0.5, images))


def question(sweep: xarray.Dataset) -> str:
    """What is asked before the view."""
    return said("""{tasks} networks learned digits, each with its pixels in another order. CART keeps the **{kept}** of
                   each that are strongest, with λ = {lam:g}. How accurate is the merged network, over all tasks?""",
                tasks=one(sweep, setting=DISJOINT).sizes["task"], kept=Ranks(sweep).said(SHOWN_RANK), lam=SHOWN_LAM)


_RANK_AND_LAM = """
    {setting}, {how}, λ = {lam:.2f}, {rank} kept: mean accuracy {mean:.3f}, by task {by_task}. Over all ranks it runs
    {over_ranks}. Average {average:.3f}, task arithmetic at full rank {arithmetic:.3f}, own networks {own:.3f}."""


@panel
def rank_and_lam(sweep: xarray.Dataset, prediction=None):
    """The panel of the chapter: accuracy against the directions kept at one λ, drawn up to the rank chosen; below it,
    where there is one layer to speak of, the singular values of its task vectors on the same axis; right, task by task.
    Controls: rank, lam, how, setting.

    Of the chapter's sweep the sets of tasks in `SHOWN`, of another one, such as the ResNets', all. The prediction, the
    mean accuracy at `SHOWN_RANK` and `SHOWN_LAM` with all pixels permuted, is a star.
    """
    names = [name for name in SHOWN if name in sweep.setting.values] or settings_of(sweep)
    parts = {name: one(sweep, setting=name) for name in names}
    levels = {name: levels_of(part) for name, part in parts.items()}
    accuracies = {name: _accuracies(part) for name, part in parts.items()}
    ranks = Ranks(sweep)
    lams = numbers_of(sweep.lam)
    fig, left, below, right = _axes("sigma" in sweep)
    places = ranks.axis(left, label=below is None)
    spectrum = _Spectrum(below, ranks, sweep) if below else None
    by_task = _ByTask(left, right, places)
    over_tasks = _Mean(left, places)
    lines = {key: level(left, look, label) for key, (look, label) in LEVELS.items()}
    at_rank = here(left, 0)
    star = _star_of_the_bell(left, prediction, parts, ranks)
    fig.legend(handles=[over_tasks.reached, *lines.values()], loc="outside lower center", ncols=4)
    above = titles((left, right))

    def draw(rank, lam, how, setting=names[0]):
        values = accuracies[setting][HOWS.index(how), position(lams, lam, "lam")]
        column = position(ranks.values, rank, "rank")
        mean = values.mean(1)
        over_tasks.show(mean, column, OF_HOW[how].colour)
        by_task.show(values, column, parts[setting].own.sel(part="test").values, OF_HOW[how].colour)
        if spectrum:
            spectrum.show(parts[setting].sigma.sel(how=how).values, column, OF_HOW[how].colour)
        for key, line in lines.items():
            line.set_ydata([levels[setting][key]] * 2)
        at_rank.set_xdata([column, column])
        star.place(rank=rank, lam=lam, how=how, setting=setting)
        above[0].set_text(f"{setting}: {how}, λ = {lam:g}")
        above[1].set_text(f"{ranks.said(rank)}: mean {mean[column]:.3f}")
        where = {"setting": setting, "how": how, "lam": lam, "rank": ranks.said(rank), "mean": mean[column]}
        return said(_RANK_AND_LAM, by_task=listed(values[column], 2), over_ranks=by_rank(ranks, mean), **where,
                    **levels[setting])

    text = f"{caption(sweep)} Task arithmetic at the λ that is best on held-out images. {rests_on(sweep)}"
    controls = {"rank": ranks.slider(SHOWN_RANK if SHOWN_RANK in ranks.values else ranks.values[1]),
                "lam": slider("λ", lams, SHOWN_LAM if SHOWN_LAM in lams else lams[-1]),
                "how": choice("task vectors", HOWS)}
    if len(names) > 1:
        controls["setting"] = choice("tasks", names)
    return controls, fig, draw, text


def _axes(with_spectrum):
    """A figure, its axes for accuracy and, below it, for the spectrum (or None), and the one on the right."""
    if not with_spectrum:
        fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 3))
        return fig, left, None, right
    fig, axes = plotting.figure(2, rows=2, height=5.8, width_ratios=(5, 2.4), height_ratios=(5, 3))
    column = axes[0, 1].get_gridspec()[:, 1]
    for ax in axes[:, 1]:
        ax.remove()
    return fig, axes[0, 0], axes[1, 0], fig.add_subplot(column)


def _star_of_the_bell(ax, prediction, parts, ranks):
    """Where the prediction belongs, in the sweep that it was asked about."""
    asked = {"setting": DISJOINT, "how": HOWS[0], "lam": SHOWN_LAM, "rank": SHOWN_RANK}
    if not prediction:
        return Star(ax, None, 0, np.nan, asked)
    accuracies = _accuracies(parts[DISJOINT])[0, position(numbers_of(parts[DISJOINT].lam), SHOWN_LAM, "lam")]
    place = position(ranks.values, SHOWN_RANK, "rank")
    return Star(ax, prediction, place, accuracies[place].mean(), asked)


class _Mean:
    """The mean over tasks: thin over all ranks, thick up to the one chosen."""

    def __init__(self, ax, places):
        self._places = places
        self._ahead = curve(ax, Look(BLUE), linewidth=1)
        self.reached = curve(ax, Look(BLUE, "o"), "mean over tasks", linewidth=2.6, markersize=4)

    def show(self, mean: np.ndarray, column: int, colour: str) -> None:
        """mean: (ranks,)."""
        self._ahead.set_data(self._places, mean)
        self.reached.set_data(self._places[:column + 1], mean[:column + 1])
        for line in (self._ahead, self.reached):
            line.set_color(colour)


class _Spectrum:
    """The singular values of layer 1 under the accuracies: those that are kept broad, those that are cut thin."""

    def __init__(self, ax, ranks, sweep):
        self._counts = [ranks.count(rank) for rank in ranks.values]
        ranks.axis(ax)
        bars = {"solid_capstyle": "butt"}
        self._cut = curve(ax, Look(GREY), "cut off", linewidth=2.5, **bars)
        self._kept = curve(ax, Look(BLUE), "kept", linewidth=9, **bars)
        ax.set(ylabel="singular value\nin layer 1", ylim=(0, 1.08 * float(sweep.sigma.max())))
        ax.legend(handles=[self._kept, self._cut], loc="upper right", ncols=2)

    def show(self, sigma: np.ndarray, column: int, colour: str) -> None:
        """sigma: (directions,), largest first; a bar stands where the axis names its number."""
        bars = [(place, sigma[count - 1]) for place, count in enumerate(self._counts) if 1 <= count <= len(sigma)]
        self._kept.set_data(*upright([bar for bar in bars if bar[0] <= column]))
        self._cut.set_data(*upright([bar for bar in bars if bar[0] > column]))
        self._kept.set_color(colour)


class _ByTask:
    """Left, a thin curve a task; right, a bar a task at the rank chosen, and a dash where its own network is. However
    many tasks there are, they fill the axis."""

    def __init__(self, left, right, places):
        self._places = places
        self._curves = [curve(left, Look(GREY), linewidth=0.7, alpha=0.7) for _ in range(MOST_TASKS)]
        bar = {"linewidth": 13, "solid_capstyle": "butt"}
        self._bars = [curve(right, Look(BLUE), **bar) for _ in range(MOST_TASKS)]
        self._own = cloud(right, Look(BLACK, "_"), markersize=15)
        below = {"ha": "center", "va": "top", "animated": True, "fontsize": 9.5}
        self._names = [right.text(0, -0.02, "", transform=right.get_xaxis_transform(), **below)
                       for _ in range(MOST_TASKS)]
        left.set(ylabel=ACCURACY, ylim=(0, 1.02))
        right.set(ylabel=ACCURACY, ylim=(0, 1.02), xlim=(0, 1), xlabel="task", xticks=[])
        right.xaxis.labelpad = 16

    def show(self, values: np.ndarray, column: int, own: np.ndarray, colour: str) -> None:
        """values: (ranks, tasks); own: (tasks,), at most `MOST_TASKS`."""
        tasks = values.shape[1]
        spread = (np.arange(tasks) + 0.5) / tasks
        for task, (line, bar, name) in enumerate(zip(self._curves, self._bars, self._names)):
            there = task < tasks
            line.set_data(self._places if there else [], values[:, task] if there else [])
            bar.set_data([spread[task]] * 2 if there else [], [0, values[column, task]] if there else [])
            bar.set_color(colour)
            name.set(x=spread[task] if there else 0, text=str(task + 1) if there else "")
        self._own.set_data(spread, own)


def settings_of(sweep: xarray.Dataset) -> list[str]:
    """The sets of tasks of a sweep, by name."""
    return [str(name) for name in sweep.setting.values]


def _accuracies(part):
    """On test images, (how, lam, rank, task)."""
    return part.accuracy.sel(part="test").transpose("how", "lam", "rank", "task").values


def levels_of(part: xarray.Dataset) -> dict[str, float]:
    """Mean test accuracies of one set of tasks: of θ₀, the average, the own networks, task arithmetic at full rank and
    truncated, and CART, each at its best on held-out images."""
    levels = {name: part[name].sel(part="test").mean().item() for name in ("base", "average", "own")}
    levels["arithmetic"] = chosen(part, HOWS[1], full_rank=True).accuracy.mean().item()
    levels["truncated"] = chosen(part, HOWS[1]).accuracy.mean().item()
    levels["cart"] = chosen(part, HOWS[0]).accuracy.mean().item()
    return levels


def reading_of_figure_1(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 1 of CART and ours, with this sweep's numbers."""
    disjoint = one(sweep, setting=DISJOINT)
    row = levels_of(disjoint)
    turned = levels_of(one(sweep, setting=bell.ROTATED))
    best = chosen(disjoint, HOWS[0]).attrs
    truncated = chosen(disjoint, HOWS[1]).attrs
    images = disjoint.sizes["task"] * int(sweep.attrs["test_images"])
    ranks = Ranks(sweep)

    def told_of(more, less, least=0.0):
        return Difference.of(row[more], row[less], images).agrees(least)

    return reading("Choi et al.’s Figure 1, and ours",
                   """All pixels permuted. {bell}: CART at its best ({best_rank}, λ = {best_lam:g}) reads {cart:.3f},
                      the average {average:.3f}, and at both ends of the rank axis it is the average. {above}: that
                      CART is above task arithmetic, which at full rank and its best λ reads {arithmetic:.3f}. {only}:
                      that truncating task vectors from θ₀ only loses. At {truncated_rank}, λ = {truncated_lam:g}, they
                      read {truncated:.3f}. Rotations: CART {turned:.3f}, the average {turned_average:.3f}. λ is chosen
                      up to {most_lam:g} for both.""",
                   bell=told_of("cart", "average", 0.05),
                   best_rank=ranks.said(best["rank"]),
                   best_lam=best["lam"],
                   above=told_of("cart", "arithmetic"),
                   only=told_of("arithmetic", "truncated"),
                   truncated_rank=ranks.said(truncated["rank"]),
                   truncated_lam=truncated["lam"],
                   turned=turned["cart"],
                   turned_average=turned["average"],
                   most_lam=float(sweep.lam.max()),
                   **row)


def reading_of_the_needle(sweep: xarray.Dataset) -> Page:
    """What the axis with its widening steps hides: how narrow the bell is, and that it begins with a loss."""
    part = one(sweep, setting=DISJOINT)
    ranks = Ranks(sweep)
    images = part.sizes["task"] * int(sweep.attrs["test_images"])
    average = part.average.sel(part="test").mean().item()
    mean = part.accuracy.sel(how=HOWS[0], part="test", lam=SHOWN_LAM).mean("task").values
    half = [rank for rank, value in zip(ranks.values, mean) if value - average > (mean.max() - average) / 2]
    lost = []
    for rank, value in zip(ranks.values, mean):
        behind = Difference.of(average, value, images)
        if behind.value > 0 and behind.is_news:
            lost.append(ranks.texts[position(ranks.values, rank, "rank")])
    below = f"With {', '.join(lost)} directions it is below the average." if lost else \
        "At no rank is it below the average by more than two standard errors."
    return reading(f"λ = {SHOWN_LAM:g}, all pixels permuted",
                   """Of the bell more than half its height is there from {first} to {last} of {all} directions, which
                      is {share:.1f} % of a linear axis: a needle. {below}""",
                   first=ranks.count(half[0]),
                   last=ranks.said(half[-1]).partition(" ")[0],
                   all=ranks.count(1.0),
                   share=100 * (half[-1] - half[0]),
                   below=below)
