"""The panel of the chapter, rank × λ; when the bell appears; what becomes of it in wider networks."""
import numpy as np
import xarray

from lessons.cart.experiment import bell as experiment
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import MEASURES, chosen, envelope, height, normalised, one, rank_correlation
from lessons.cart.panels.parts import (
    AVERAGE,
    OF_AVERAGE,
    OF_HOW,
    OF_OWN,
    OF_TASK_ARITHMETIC,
    OWN,
    TASK_ARITHMETIC,
    by_rank,
    curves_of_hows,
    listed,
    numbers_of,
    percent,
    rank_axis,
    tasks_slider,
    titles,
)
from lessons.kit import plotting
from lessons.kit.noise import error_of_difference, told
from lessons.kit.page import Page, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, level
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position

MOST_TASKS = 8
DISJOINT = experiment.name_of(1.0)
# in the panel of the chapter, if measured
SHOWN = (DISJOINT, experiment.name_of(0.875), experiment.name_of(0.5), experiment.name_of(0.0), experiment.ROTATED,
         experiment.SEVERAL)
SHOWN_RANK, SHOWN_LAM = 0.03, 3.0  # where the panel opens, and what the prediction asks for
KINDS = {  # of networks in the overview: how they look, and what `_levels` calls them
    "pretrained": (Look(GREY, "X"), "base"),
    AVERAGE: (Look(GREEN, "o"), "average"),
    f"{TASK_ARITHMETIC}, full rank": (Look(ORANGE, "s"), "arithmetic"),
    "CART, best rank": (Look(BLUE, "^"), "cart"),
    OWN: (Look(BLACK, "|"), "own")}
LEVELS = {  # in the panels, by what `_levels` calls them
    "average": (OF_AVERAGE, AVERAGE),
    "arithmetic": (OF_TASK_ARITHMETIC, f"{TASK_ARITHMETIC}, full rank"),
    "own": (OF_OWN, OWN)}


@still
def overview(sweep: xarray.Dataset):
    """What is to be merged: for every set of tasks the accuracy of θ₀, of the average, of task arithmetic and CART at
    their best, and of the own networks."""
    fig, ax = plotting.figure(height=1.2 + 0.42 * sweep.sizes["setting"])
    names = _settings_of(sweep)
    places = np.arange(len(names))[::-1]
    rows = {name: _levels(one(sweep, setting=name)) for name in names}
    for label, (look, key) in KINDS.items():
        values = [row[key] for row in rows.values()]
        ax.plot(values, places, color=look.colour, marker=look.marker, markersize=9, linestyle="", label=label)
    ax.set(xlabel=ACCURACY, xlim=(0, 1.02), ylim=(-0.6, len(names) - 0.4))
    ax.set_yticks(places, names)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    sentences = []
    for name, row in rows.items():
        levels = ", ".join(f"{label} {row[key]:.3f}" for label, (_, key) in KINDS.items())
        sentences.append(f"{name}: {levels}")
    return plotting.show(fig, f"Mean accuracy over tasks. {'; '.join(sentences)}.",
                         caption(sweep) + " Rank and λ chosen on held-out images.")


def question(sweep: xarray.Dataset) -> str:
    """What is asked before the panel."""
    row = _levels(one(sweep, setting=DISJOINT))
    return said("""Four tasks, all pixels permuted. The own networks read {own:.2f}, their average {average:.2f}. CART
                   keeps <b>{rank}</b> of the rank, λ = {lam:g}. What mean accuracy does it have?""",
                own=row["own"], average=row["average"], rank=percent(SHOWN_RANK), lam=SHOWN_LAM)


_RANK_AND_LAM = """
    {setting}, {how}, λ = {lam:.2f}, rank {rank}: mean accuracy {mean:.3f}, by task {by_task}. Over all ranks it runs
    {over_ranks}. Average {average:.3f}, task arithmetic at full rank {arithmetic:.3f}, own networks {own:.3f}."""


@panel
def rank_and_lam(sweep: xarray.Dataset, prediction=None):
    """The panel of the chapter: accuracy against rank at one λ, drawn up to the rank chosen; right, task by task.
    Controls: rank, lam, how, setting.

    Of the chapter's sweep the sets of tasks in `SHOWN`, of another one, such as the ResNets', all. The prediction, the
    mean accuracy at `SHOWN_RANK` and `SHOWN_LAM` with all pixels permuted, is a star.
    """
    names = [name for name in SHOWN if name in sweep.setting.values] or _settings_of(sweep)
    parts = {name: one(sweep, setting=name) for name in names}
    levels = {name: _levels(part) for name, part in parts.items()}
    accuracies = {name: _accuracies(part) for name, part in parts.items()}
    ranks = numbers_of(sweep["rank"])
    lams = numbers_of(sweep.lam)
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 3))
    places = rank_axis(left, ranks)
    by_task = _ByTask(left, right, places)
    over_tasks = _Mean(left, places)
    lines = {key: level(left, look, label) for key, (look, label) in LEVELS.items()}
    at_rank = here(left, 0)
    star = _star_of_the_bell(left, prediction, parts, ranks)
    fig.legend(handles=[over_tasks.reached, *lines.values()], loc="outside lower center", ncols=4)
    above = titles((left, right))

    def draw(rank, lam, how, setting=names[0]):
        values = accuracies[setting][HOWS.index(how), position(lams, lam, "lam")]
        column = position(ranks, rank, "rank")
        mean = values.mean(1)
        over_tasks.show(mean, column, OF_HOW[how].colour)
        by_task.show(values, column, parts[setting].own.sel(part="test").values, OF_HOW[how].colour)
        for key, line in lines.items():
            line.set_ydata([levels[setting][key]] * 2)
        at_rank.set_xdata([column, column])
        star.place(rank=rank, lam=lam, how=how, setting=setting)
        above[0].set_text(f"{setting}: {how}, λ = {lam:g}")
        above[1].set_text(f"rank {percent(rank)}: mean {mean[column]:.3f}")
        where = {"setting": setting, "how": how, "lam": lam, "rank": percent(rank), "mean": mean[column]}
        return said(_RANK_AND_LAM, by_task=listed(values[column], 2), over_ranks=by_rank(ranks, mean), **where,
                    **levels[setting])

    text = caption(sweep) + " Task arithmetic at the λ that is best on held-out images."
    return _controls(ranks, lams, names), fig, draw, text


def _star_of_the_bell(ax, prediction, parts, ranks):
    """Where the prediction belongs, in the sweep that it was asked about."""
    asked = {"setting": DISJOINT, "how": HOWS[0], "lam": SHOWN_LAM, "rank": SHOWN_RANK}
    if not prediction:
        return Star(ax, None, 0, np.nan, asked)
    found = _accuracies(parts[DISJOINT])[0, position(numbers_of(parts[DISJOINT].lam), SHOWN_LAM, "lam")]
    place = position(ranks, SHOWN_RANK, "rank")
    return Star(ax, prediction, place, found[place].mean(), asked)


def _controls(ranks, lams, names):
    """Of `rank_and_lam`; a single set of tasks needs no choice."""
    controls = {"rank": slider("rank", ranks, SHOWN_RANK if SHOWN_RANK in ranks else ranks[1]),
                "lam": slider("λ", lams, SHOWN_LAM if SHOWN_LAM in lams else lams[-1]),
                "how": choice("task vectors", {name: name for name in HOWS})}
    if len(names) > 1:
        controls["setting"] = choice("tasks", {name: name for name in names})
    return controls


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


class _ByTask:
    """Left, a thin curve a task; right, a bar a task at the rank chosen, and a dash where its own network is."""

    def __init__(self, left, right, places):
        self._places = places
        self._curves = [curve(left, Look(GREY), linewidth=0.7, alpha=0.7) for _ in range(MOST_TASKS)]
        bar = {"linewidth": 13, "solid_capstyle": "butt"}
        self._bars = [curve(right, Look(BLUE), **bar) for _ in range(MOST_TASKS)]
        self._own = cloud(right, Look(BLACK, "_"), markersize=15)
        left.set(ylabel=ACCURACY, ylim=(0, 1.02))
        right.set(ylabel=ACCURACY, ylim=(0, 1.02), xlim=(0.4, MOST_TASKS + 0.6), xlabel="task",
                  xticks=range(1, MOST_TASKS + 1))

    def show(self, values: np.ndarray, column: int, own: np.ndarray, colour: str) -> None:
        """values: (ranks, tasks); own: (tasks,), at most `MOST_TASKS`."""
        tasks = values.shape[1]
        for task, (line, bar) in enumerate(zip(self._curves, self._bars)):
            if task < tasks:
                line.set_data(self._places, values[:, task])
                bar.set_data([task + 1] * 2, [0, values[column, task]])
            else:
                line.set_data([], [])
                bar.set_data([], [])
            bar.set_color(colour)
        self._own.set_data(np.arange(1, tasks + 1), own)


def _settings_of(sweep):
    return [str(name) for name in sweep.setting.values]


def _accuracies(part):
    """On test images, (how, lam, rank, task)."""
    return part.accuracy.sel(part="test").transpose("how", "lam", "rank", "task").values


def _levels(part):
    """Mean test accuracies of one set of tasks."""
    found = {name: part[name].sel(part="test").mean().item() for name in ("base", "average", "own")}
    found["arithmetic"] = chosen(part, HOWS[1], full_rank=True).accuracy.mean().item()
    found["truncated"] = chosen(part, HOWS[1]).accuracy.mean().item()
    found["cart"] = chosen(part, HOWS[0]).accuracy.mean().item()
    return found


def reading_of_figure_1(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 1 of CART and ours, with this sweep's numbers."""
    disjoint = one(sweep, setting=DISJOINT)
    row = _levels(disjoint)
    turned = _levels(one(sweep, setting=experiment.ROTATED))
    best = chosen(disjoint, HOWS[0]).attrs
    truncated = chosen(disjoint, HOWS[1]).attrs
    images = disjoint.sizes["task"] * int(sweep.attrs["test_images"])

    def told_of(more, less, least=0.0):
        return told(row[more] - row[less], error_of_difference(row[more], row[less], images), least)

    return reading("Figure 1 of CART, and ours",
                   """All pixels permuted. {bell}: CART at its best ({best_rank}, λ = {best_lam:g}) reads {cart:.3f},
                      the average {average:.3f}, and at both ends of the rank axis it is the average. {above}: that
                      CART is above task arithmetic, which at full rank and its best λ reads {arithmetic:.3f}. {only}:
                      that truncating task vectors from θ₀ only loses. At {truncated_rank}, λ = {truncated_lam:g}, they
                      read {truncated:.3f}. Rotations: CART {turned:.3f}, the average {turned_average:.3f}. λ is chosen
                      up to {most_lam:g} for both.""",
                   bell=told_of("cart", "average", 0.05),
                   best_rank=percent(best["rank"]),
                   best_lam=best["lam"],
                   above=told_of("cart", "arithmetic"),
                   only=told_of("arithmetic", "truncated"),
                   truncated_rank=percent(truncated["rank"]),
                   truncated_lam=truncated["lam"],
                   turned=turned["cart"],
                   turned_average=turned["average"],
                   most_lam=float(sweep.lam.max()),
                   **row)


# -- when the bell appears -------------------------------------------------------------------------

@panel
def overlap(sweep: xarray.Dataset, prediction=None):
    """Left, the best accuracy at every rank, for one set of tasks; right, the bell's height of all sets against a
    measure of interference. Controls: setting, measure.

    The prediction, the bell's height where half of the pixels are permuted, is a star on the right, where the first
    measure has that set of tasks.
    """
    names = _settings_of(sweep)
    parts = {name: one(sweep, setting=name) for name in names}
    levels = {name: _levels(part) for name, part in parts.items()}
    measures = _measures(parts)
    heights = [height(part) for part in parts.values()]
    envelopes = {name: _envelopes(part) for name, part in parts.items()}
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 4))
    places = _best_axis(left, numbers_of(sweep["rank"]))
    curves = curves_of_hows(left)
    lines = {key: level(left, *LEVELS[key]) for key in ("average", "own")}
    fig.legend(handles=[*curves, *lines.values()], loc="outside lower center", ncols=4)
    _heights_axes(right, heights)
    dots = cloud(right, Look(GREY, "o"))
    dot = cloud(right, Look(BLUE, "o"), markersize=11, markeredgecolor=BLACK)
    half = names.index(experiment.name_of(0.5))
    first = next(iter(measures))
    asked = {"setting": names[half], "measure": first}
    star = Star(right, prediction, measures[first][half], heights[half], asked)
    above = titles((left, right))

    def draw(setting, measure):
        for line, values in zip(curves, envelopes[setting]):
            line.set_data(places, values)
        for key, line in lines.items():
            line.set_ydata([levels[setting][key]] * 2)
        row = names.index(setting)
        values = measures[measure]
        dots.set_data(values, heights)
        dot.set_data([values[row]], [heights[row]])
        star.place(setting=setting, measure=measure)
        above[0].set_text(setting)
        above[1].set_text(f"interference {values[row]:.3f}, height {heights[row]:+.3f}")
        return _said_of_overlap(setting, measure, envelopes[setting], zip(names, values, heights))

    controls = {"setting": tasks_slider(names, DISJOINT),
                "measure": choice("interference", {label: label for label in MEASURES})}
    text = caption(sweep) + " λ chosen at every rank, and rank and λ for the height, on held-out images."
    return controls, fig, draw, text


def _said_of_overlap(setting, measure, best, sets):
    """best: accuracies by rank, centred and not; sets: (name, measured interference, height) of each."""
    centred, plain = map(listed, best)
    all_sets = "; ".join(f"{name} {value:.3f}, {high:+.3f}" for name, value, high in sets)
    return said("""{setting}. Mean accuracy by rank, centred {centred}; from θ₀ {plain}. {measure} and the bell's
                   height: {all_sets}.""",
                setting=setting, centred=centred, plain=plain, measure=measure, all_sets=all_sets)


def _measures(parts):
    """{measure: one value a set of tasks}."""
    return {label: [float(function(part)) for part in parts.values()] for label, function in MEASURES.items()}


def _envelopes(part):
    """The best accuracy at every rank, a row a kind of task vectors."""
    return [envelope(part, how).values for how in HOWS]


def _best_axis(ax, ranks):
    """Accuracy at the best λ against rank; returns the ranks' places."""
    ax.set(ylabel=f"{ACCURACY}, best λ", ylim=(0, 1.02))
    return rank_axis(ax, ranks)


def _heights_axes(ax, heights):
    lowest = min(-0.03, min(heights) - 0.02)
    highest = max(heights) * 1.35 + 0.02
    ax.set(xlim=(0, 1.05), ylim=(lowest, highest), xlabel="measured interference",
           ylabel="height of the bell above the average")
    ax.axhline(0, color=GREY, linewidth=0.8, marker="")


def reading_of_the_overlap(sweep: xarray.Dataset) -> Page:
    """A table: height of the bell and every measure of interference, for every set of tasks, and their rank
    correlations with the height."""
    parts = {name: one(sweep, setting=name) for name in _settings_of(sweep)}
    heights = [height(part) for part in parts.values()]
    measures = _measures(parts)
    correlations = {label: f"{rank_correlation(values, heights):.2f}" for label, values in measures.items()}
    rows = []
    for name, *values in zip(parts, heights, *measures.values()):
        rows.append((name, *(f"{value:.3f}" for value in values)))
    rows.append(("<i>rank correlation with the height</i>", "", *correlations.values()))
    text = "; ".join(f"{label}: rank correlation with the height {value}" for label, value in correlations.items())
    return table(("", "height", *measures), rows, text, after=f"<p style='color:#555'>{caption(sweep)}</p>")


@still
def predicted(sweep: xarray.Dataset):
    """Left, the rank that exercise 8.5 predicts and where CART is best; right, the planted model: what is missed at
    every rank, and the gain measured in layer 1."""
    part = one(sweep, setting=DISJOINT)
    ranks = numbers_of(sweep["rank"])
    rule = part.top.isel(layer=0).mean().item()
    accuracy = envelope(part, HOWS[0]).values
    gain = part.gain.sel(how=HOWS[0], lam=1.0).values
    fig, (left, right) = plotting.figure(2, height=3.7)
    for ax, values, label in ((left, accuracy, f"{ACCURACY}, best λ"), (right, gain, "gain in layer 1, λ = 1")):
        places = rank_axis(ax, ranks)
        ax.plot(places, values, color=BLUE, marker="o", markersize=5, label="CART")
        ax.axvline(np.interp(rule, ranks, places), color=PURPLE, linestyle="--", marker="",
                   label=f"predicted: {100 * rule:.1f} %")
        ax.set(ylabel=label, ylim=(0, 1.02))
        ax.legend(loc="upper right", fontsize=8.5)
    alt = said("""Predicted rank {rule:.1f} %. CART is most accurate at {best}, and the gain in layer 1 is largest at
                  {strongest}.""",
               rule=100 * rule, best=percent(ranks[accuracy.argmax()]), strongest=percent(ranks[gain.argmax()]))
    return plotting.show(fig, alt, said("""{caption} All pixels permuted; mean over the task vectors' own spectra, layer
                                           1.""", caption=caption(sweep)))


# -- wider networks --------------------------------------------------------------------------------

@panel
def width(sweep: xarray.Dataset):
    """Left, the best accuracy at every number of kept directions, for one width; right, what each method loses, against
    width. Control: width."""
    widths = [int(value) for value in sweep.width.values]
    parts = {value: one(sweep, width=value) for value in widths}
    envelopes = {value: _envelopes(part) for value, part in parts.items()}
    lost = _lost(sweep)
    ranks = numbers_of(sweep["rank"])
    fig, (left, right) = plotting.figure(2, height=4.0)
    places = _best_axis(left, ranks)
    curves = curves_of_hows(left)
    average = level(left, OF_AVERAGE, AVERAGE)
    left.legend(handles=[*curves, average], loc="lower left", fontsize=8.5)
    _draw_lost(right, widths, lost)
    at_width = here(right, widths[0])
    above = titles((left, right))

    def draw(width):
        for line, values in zip(curves, envelopes[width]):
            line.set_data(places, values)
        average.set_ydata([parts[width].average.sel(part="test").mean().item()] * 2)
        at_width.set_xdata([width, width])
        best = chosen(parts[width], HOWS[0]).attrs
        here_lost = {label: series[widths.index(width)] for label, series in lost.items()}
        above[0].set_text(f"{width} units: CART best at {percent(best['rank'])}, λ = {best['lam']:g}")
        above[1].set_text(f"{AVERAGE} {here_lost[AVERAGE]:.2f}; CART {here_lost['CART']:.2f} lost")
        return said("{width} hidden units. Mean accuracy by rank, centred: {accuracies}. Lost: {lost}.",
                    width=width, accuracies=by_rank(ranks, envelopes[width][0]),
                    lost="; ".join(f"{label} {value:.3f}" for label, value in here_lost.items()))

    text = caption(sweep).replace(str(experiment.WIDTH), "width")
    return {"width": slider("hidden units", widths, widths[-1])}, fig, draw, text


def _lost(sweep):
    """{method: the share of the own networks' accuracy that is lost, one a width}."""
    return {label: [1 - value for value in series] for label, series in normalised(sweep).items()}


def _draw_lost(ax, widths, lost):
    most = max(map(max, lost.values()))
    ax.set(xscale="log", xlabel="units in the hidden layer", ylabel="share of the own networks' accuracy lost",
           ylim=(0, 1.15 * most))
    for (label, series), colour, marker in zip(lost.items(), (GREEN, ORANGE, RED, BLUE), MARKERS):
        ax.plot(widths, series, color=colour, marker=marker, label=label)
    ax.set_xticks(widths, list(map(str, widths)))
    ax.minorticks_off()
    ax.legend(fontsize=8.5)


def reading_of_the_widths(sweep: xarray.Dataset) -> Page:
    """A table: where CART is best, as a share of the rank and as a number of directions, and what is lost, width by
    width."""
    lost = _lost(sweep)
    rows = []
    for row, width in enumerate(map(int, sweep.width.values)):
        part = one(sweep, width=width)
        best = chosen(part, HOWS[0]).attrs["rank"]
        predicted = part.top.isel(layer=0).mean().item() * width
        of_methods = (f"{series[row]:.3f}" for series in lost.values())
        rows.append((f"{width}", percent(best), f"{np.ceil(best * width):.0f}", f"{predicted:.1f}", *of_methods))
    head = ("hidden units", "CART best at", "directions", "predicted", *(f"lost by {name}" for name in lost))
    return table(head, rows)
