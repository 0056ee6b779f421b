"""The panel of the chapter, rank × λ; when the bell appears; what becomes of it in wider networks."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.cart.experiment import bell as experiment
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import MEASURES, chosen, envelope, height, normalised, one, rank_correlation
from lessons.cart.panels.parts import ACCURACY, AVERAGE, OWN, TASK_ARITHMETIC, level, percent, rank_axis, tasks_slider, titles
from lessons.kit.page import Page, table
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still

MOST_TASKS = 8
# in the panel of the chapter, if measured
SHOWN = (experiment.name_of(1.0), experiment.name_of(0.875), experiment.name_of(0.5), experiment.name_of(0.0), experiment.ROTATED, experiment.SEVERAL)
SHOWN_RANK, SHOWN_LAM = 0.03, 3.0  # where the panel opens, and what the prediction asks for


@still
def overview(sweep: xarray.Dataset):
    """What is to be merged: for every set of tasks the accuracy of θ₀, of the average, of task arithmetic and CART at
    their best, and of the own networks."""
    fig, ax = plotting.figure(height=1.2 + 0.42 * sweep.sizes["setting"])
    names = [str(name) for name in sweep.setting.values]
    places = np.arange(len(names))[::-1]
    rows = {name: _levels(one(sweep, setting=name)) for name in names}
    kinds = (("pretrained", GREY, "X", "base"), (AVERAGE, GREEN, "o", "average"), (f"{TASK_ARITHMETIC}, full rank", ORANGE, "s", "arithmetic"), ("CART, best rank", BLUE, "^", "cart"),
             (OWN, BLACK, "|", "own"))
    for label, colour, marker, key in kinds:
        ax.plot([row[key] for row in rows.values()], places, color=colour, marker=marker, markersize=9, linestyle="", label=label)
    ax.set(xlabel=ACCURACY, xlim=(0, 1.02), ylim=(-0.6, len(names) - 0.4))
    ax.set_yticks(places, names)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    said = "; ".join(f"{name}: " + ", ".join(f"{label} {rows[name][key]:.3f}" for label, *_, key in kinds) for name in names)
    return plotting.show(fig, f"Mean accuracy over tasks. {said}.", caption(sweep) + " Rank and λ chosen on held-out images.")


def question(sweep: xarray.Dataset) -> str:
    """What is asked before the panel."""
    row = _levels(one(sweep, setting=experiment.name_of(1.0)))
    return (f"Four tasks, all pixels permuted. The own networks read {row['own']:.2f}, their average {row['average']:.2f}. CART keeps <b>{percent(SHOWN_RANK)}</b> of the rank, λ = {SHOWN_LAM:g}. "
            "What mean accuracy does it have?")


@panel
def rank_and_lam(sweep: xarray.Dataset, prediction=None):
    """The panel of the chapter: accuracy against rank at one λ, drawn up to the rank chosen; right, task by task.
    Controls: rank, lam, how, setting.

    Of the chapter's sweep the sets of tasks in `SHOWN`, of another one, such as the ResNets', all. The prediction, the
    mean accuracy at `SHOWN_RANK` and `SHOWN_LAM` with all pixels permuted, is a star.
    """
    names = [name for name in SHOWN if name in sweep.setting.values] or [str(name) for name in sweep.setting.values]
    parts = {name: one(sweep, setting=name) for name in names}
    ranks, lams = list(map(float, sweep["rank"].values)), list(map(float, sweep.lam.values))
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 3))
    places = rank_axis(left, ranks)
    left.set(ylabel=ACCURACY, ylim=(0, 1.02))
    right.set(ylabel=ACCURACY, ylim=(0, 1.02), xlim=(0.4, MOST_TASKS + 0.6), xlabel="task", xticks=range(1, MOST_TASKS + 1))
    tasks = [left.plot([], [], color=GREY, linewidth=0.7, marker="", alpha=0.7, animated=True)[0] for _ in range(MOST_TASKS)]
    ahead, curve = (left.plot([], [], color=BLUE, linewidth=width, marker=marker, markersize=4, label=label, animated=True)[0] for width, marker, label in ((1, "", None), (2.6, "o", "mean over tasks")))
    lines = [level(left, style, label, colour) for style, label, colour in (("--", AVERAGE, GREEN), ("-.", f"{TASK_ARITHMETIC}, full rank", ORANGE), (":", OWN, BLACK))]
    here = left.axvline(0, color=BLACK, linewidth=1, marker="", animated=True)
    star = Star(left, prediction, ranks.index(SHOWN_RANK) if SHOWN_RANK in ranks else 0)
    bars = [right.plot([], [], color=BLUE, linewidth=13, solid_capstyle="butt", marker="", animated=True)[0] for _ in range(MOST_TASKS)]
    own = right.plot([], [], color=BLACK, marker="_", markersize=15, linestyle="", animated=True)[0]
    fig.legend(handles=[curve, *lines], loc="outside lower center", ncols=4)
    moving = titles((left, right))
    levels = {name: _levels(part) for name, part in parts.items()}
    values = {name: part.accuracy.sel(part="test").transpose("how", "lam", "rank", "task").values for name, part in parts.items()}

    def draw(rank, lam, how, setting=names[0]):
        table, column = values[setting][HOWS.index(how), position(lams, lam, "lam")], position(ranks, rank, "rank")
        mean = table.mean(1)
        ahead.set_data(places, mean)
        curve.set_data(places[:column + 1], mean[:column + 1])
        for line in (ahead, curve):
            line.set_color(BLUE if how == HOWS[0] else RED)
        for task, (line, bar) in enumerate(zip(tasks, bars)):
            there = task < table.shape[1]
            line.set_data(*((places, table[:, task]) if there else ([], [])))
            bar.set_data(*(([task + 1] * 2, [0, table[column, task]]) if there else ([], [])))
            bar.set_color(BLUE if how == HOWS[0] else RED)
        average, arithmetic, single = (levels[setting][key] for key in ("average", "arithmetic", "own"))
        for line, value in zip(lines, (average, arithmetic, single)):
            line.set_ydata([value, value])
        own.set_data(np.arange(1, table.shape[1] + 1), parts[setting].own.sel(part="test").values)
        here.set_xdata([column, column])
        star.place()
        moving[0].set_text(f"{setting}: {how}, λ = {lam:g}")
        moving[1].set_text(f"rank {percent(rank)}: mean {mean[column]:.3f}")
        return (f"{setting}, {how}, λ = {lam:.2f}, rank {percent(rank)}: mean accuracy {mean[column]:.3f}, by task {', '.join(f'{value:.2f}' for value in table[column])}. Over all ranks "
                f"it runs {', '.join(f'{percent(r)} {value:.3f}' for r, value in zip(ranks, mean))}. Average {average:.3f}, task arithmetic at full rank {arithmetic:.3f}, own networks {single:.3f}.")

    controls = {"rank": slider("rank", ranks, SHOWN_RANK if SHOWN_RANK in ranks else ranks[1]), "lam": slider("λ", lams, SHOWN_LAM if SHOWN_LAM in lams else lams[-1]),
                "how": choice("task vectors", {name: name for name in HOWS})} | ({"setting": choice("tasks", {name: name for name in names})} if len(names) > 1 else {})
    return controls, fig, draw, caption(sweep) + " Task arithmetic at the λ that is best on held-out images."


def _levels(part):
    """Mean test accuracies of one set of tasks."""
    found = {name: part[name].sel(part="test").mean().item() for name in ("base", "average", "own")}
    return found | {"arithmetic": chosen(part, HOWS[1], full_rank=True).accuracy.mean().item(), "truncated": chosen(part, HOWS[1]).accuracy.mean().item(),
                    "cart": chosen(part, HOWS[0]).accuracy.mean().item()}


def _agrees(holds):
    return "Agrees" if holds else "Does not agree here"


def reading_of_figure_1(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 1 of CART and ours, with this sweep's numbers."""
    parts = {name: one(sweep, setting=name) for name in (experiment.name_of(1.0), experiment.ROTATED)}
    row, turned = (_levels(part) for part in parts.values())
    best, truncated = (chosen(parts[experiment.name_of(1.0)], how).attrs for how in HOWS)
    text = (f"All pixels permuted. {_agrees(row['cart'] > row['average'] + 0.05)}: CART at its best ({percent(best['rank'])}, λ = {best['lam']:g}) reads {row['cart']:.3f}, the average {row['average']:.3f}, and at "
            f"both ends of the rank axis it is the average. {_agrees(row['cart'] > row['arithmetic'])}: that CART is above task arithmetic, which at full rank and its best λ reads {row['arithmetic']:.3f}. "
            f"{_agrees(row['truncated'] <= row['arithmetic'])}: that truncating task vectors from θ₀ only loses. At {percent(truncated['rank'])}, λ = {truncated['lam']:g}, they read {row['truncated']:.3f}. "
            f"Rotations: CART {turned['cart']:.3f}, the average {turned['average']:.3f}. λ is chosen up to {float(sweep.lam.max()):g} for both.")
    return Page(text, f"<p><b>Figure 1 of CART, and ours.</b> {text}</p>")


# -- when the bell appears -------------------------------------------------------------------------

@panel
def overlap(sweep: xarray.Dataset, prediction=None):
    """Left, the best accuracy at every rank, for one set of tasks; right, the bell's height of all sets against a
    measure of interference. Controls: setting, measure.

    The prediction, the bell's height where half of the pixels are permuted, is a star on the right, where the first
    measure has that set of tasks.
    """
    names = [str(name) for name in sweep.setting.values]
    parts = {name: one(sweep, setting=name) for name in names}
    ranks = list(map(float, sweep["rank"].values))
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 4))
    places = rank_axis(left, ranks)
    left.set(ylabel=f"{ACCURACY}, best λ", ylim=(0, 1.02))
    curves = [left.plot([], [], color=colour, marker=marker, markersize=4, label=how, animated=True)[0] for how, colour, marker in zip(HOWS, (BLUE, RED), MARKERS)]
    lines = [level(left, style, label, colour) for style, label, colour in (("--", AVERAGE, GREEN), (":", OWN, BLACK))]
    fig.legend(handles=[*curves, *lines], loc="outside lower center", ncols=4)
    measures = {label: [float(function(part)) for part in parts.values()] for label, function in MEASURES.items()}
    heights = [height(part) for part in parts.values()]
    right.set(xlim=(0, 1.05), ylim=(min(-0.03, min(heights) - 0.02), max(heights) * 1.35 + 0.02), xlabel="measured interference", ylabel="height of the bell above the average")
    right.axhline(0, color=GREY, linewidth=0.8, marker="")
    dots = right.plot([], [], color=GREY, marker="o", linestyle="", animated=True)[0]
    dot = right.plot([], [], color=BLUE, marker="o", markersize=11, linestyle="", markeredgecolor=BLACK, animated=True)[0]
    star = Star(right, prediction, next(iter(measures.values()))[names.index(experiment.name_of(0.5))])
    moving = titles((left, right))
    envelopes = {name: [envelope(part, how).values for how in HOWS] for name, part in parts.items()}

    def draw(setting, measure):
        for curve, values in zip(curves, envelopes[setting]):
            curve.set_data(places, values)
        levels = parts[setting].sel(part="test")
        for line, value in zip(lines, (levels.average.mean(), levels.own.mean())):
            line.set_ydata([float(value)] * 2)
        row = names.index(setting)
        dots.set_data(measures[measure], heights)
        dot.set_data([measures[measure][row]], [heights[row]])
        star.place()
        moving[0].set_text(setting)
        moving[1].set_text(f"interference {measures[measure][row]:.3f}, height {heights[row]:+.3f}")
        said = "; ".join(f"{name} {value:.3f}, {high:+.3f}" for name, value, high in zip(names, measures[measure], heights))
        return (f"{setting}. Mean accuracy by rank, centred {', '.join(f'{value:.3f}' for value in envelopes[setting][0])}; from θ₀ {', '.join(f'{value:.3f}' for value in envelopes[setting][1])}. "
                f"{measure} and the bell's height: {said}.")

    controls = {"setting": tasks_slider(names, experiment.name_of(1.0)), "measure": choice("interference", {label: label for label in MEASURES})}
    return controls, fig, draw, caption(sweep) + " λ chosen at every rank, and rank and λ for the height, on held-out images."


def reading_of_the_overlap(sweep: xarray.Dataset) -> Page:
    """A table: height of the bell and every measure of interference, for every set of tasks, and their rank
    correlations with the height."""
    parts = {str(name): one(sweep, setting=name) for name in sweep.setting.values}
    heights = [height(part) for part in parts.values()]
    columns = {label: [float(function(part)) for part in parts.values()] for label, function in MEASURES.items()}
    correlations = {label: f"{rank_correlation(values, heights):.2f}" for label, values in columns.items()}
    rows = [(name, *(f"{value:.3f}" for value in values)) for name, *values in zip(parts, heights, *columns.values())] + [("<i>rank correlation with the height</i>", "", *correlations.values())]
    text = "; ".join(f"{label}: rank correlation with the height {value}" for label, value in correlations.items())
    return table(("", "height", *columns), rows, text, after=f"<p style='color:#555'>{caption(sweep)}</p>")


@still
def predicted(sweep: xarray.Dataset):
    """Left, the rank that exercise 8.5 predicts and where CART is best; right, the planted model: what is missed at
    every rank, and the gain measured in layer 1."""
    part = one(sweep, setting=experiment.name_of(1.0))
    ranks, rule = list(map(float, sweep["rank"].values)), part.top.isel(layer=0).mean().item()
    fig, (left, right) = plotting.figure(2, height=3.7)
    for ax, values, label in ((left, envelope(part, HOWS[0]).values, f"{ACCURACY}, best λ"), (right, part.gain.sel(how=HOWS[0], lam=1.0).values, "gain in layer 1, λ = 1")):
        places = rank_axis(ax, ranks)
        ax.plot(places, values, color=BLUE, marker="o", markersize=5, label="CART")
        ax.axvline(np.interp(rule, ranks, places), color=PURPLE, linestyle="--", marker="", label=f"predicted: {100 * rule:.1f} %")
        ax.set(ylabel=label, ylim=(0, 1.02))
        ax.legend(loc="upper right", fontsize=8.5)
    best = ranks[envelope(part, HOWS[0]).values.argmax()]
    strongest = ranks[part.gain.sel(how=HOWS[0], lam=1.0).values.argmax()]
    return plotting.show(fig, f"Predicted rank {100 * rule:.1f} %. CART is most accurate at {percent(best)}, and the gain in layer 1 is largest at {percent(strongest)}.",
                         caption(sweep) + " All pixels permuted; mean over the task vectors' own spectra, layer 1.")


# -- wider networks --------------------------------------------------------------------------------

@panel
def width(sweep: xarray.Dataset):
    """Left, the best accuracy at every number of kept directions, for one width; right, what each method loses, against
    width. Control: width."""
    widths = [int(value) for value in sweep.width.values]
    parts = {value: one(sweep, width=value) for value in widths}
    ranks = list(map(float, sweep["rank"].values))
    fig, (left, right) = plotting.figure(2, height=4.0)
    places = rank_axis(left, ranks)
    left.set(ylabel=f"{ACCURACY}, best λ", ylim=(0, 1.02))
    curves = [left.plot([], [], color=colour, marker=marker, markersize=4, label=how, animated=True)[0] for how, colour, marker in zip(HOWS, (BLUE, RED), MARKERS)]
    lines = [level(left, "--", AVERAGE, GREEN)]
    left.legend(handles=[*curves, *lines], loc="lower left", fontsize=8.5)
    lost = {label: [1 - value for value in series] for label, series in normalised(sweep).items()}
    right.set(xscale="log", xlabel="units in the hidden layer", ylabel="share of the own networks' accuracy lost", ylim=(0, 1.15 * max(map(max, lost.values()))))
    for (label, series), colour, marker in zip(lost.items(), (GREEN, ORANGE, RED, BLUE), MARKERS):
        right.plot(widths, series, color=colour, marker=marker, label=label)
    right.set_xticks(widths, list(map(str, widths)))
    right.minorticks_off()
    right.legend(fontsize=8.5)
    here = right.axvline(widths[0], color=BLACK, linewidth=1, marker="", animated=True)
    moving = titles((left, right))
    envelopes = {value: [envelope(part, how).values for how in HOWS] for value, part in parts.items()}

    def draw(width):
        part, row = parts[width], widths.index(width)
        for curve, values in zip(curves, envelopes[width]):
            curve.set_data(places, values)
        lines[0].set_ydata([part.average.sel(part="test").mean().item()] * 2)
        here.set_xdata([width, width])
        best = chosen(part, HOWS[0]).attrs
        moving[0].set_text(f"{width} units: CART best at {percent(best['rank'])}, λ = {best['lam']:g}")
        moving[1].set_text("; ".join(f"{label} {series[row]:.2f}" for label, series in lost.items() if label in (AVERAGE, "CART")) + " lost")
        return f"{width} hidden units. Mean accuracy by rank, centred: {', '.join(f'{percent(r)} {value:.3f}' for r, value in zip(ranks, envelopes[width][0]))}. Lost: " + "; ".join(
            f"{label} {series[row]:.3f}" for label, series in lost.items()) + "."

    return {"width": slider("hidden units", widths, widths[-1])}, fig, draw, caption(sweep).replace(str(experiment.WIDTH), "width")


def reading_of_the_widths(sweep: xarray.Dataset) -> Page:
    """A table: where CART is best, as a share of the rank and as a number of directions, and what is lost, width by
    width."""
    lost, rows = normalised(sweep), []
    for row, value in enumerate(map(int, sweep.width.values)):
        part = one(sweep, width=value)
        best = chosen(part, HOWS[0]).attrs["rank"]
        rows.append((f"{value}", percent(best), f"{np.ceil(best * value):.0f}", f"{part.top.isel(layer=0).mean().item() * value:.1f}", *(f"{1 - series[row]:.3f}" for series in lost.values())))
    head = ("hidden units", "CART best at", "directions", "predicted", *(f"lost by {name}" for name in lost))
    return table(head, rows)
