"""The pictures of the comparison: the search panel, bars and radar, and the tables of what was chosen and who is ahead of whom."""
import html

import numpy as np
import xarray

from lessons.kit import claims, plotting
from lessons.kit.page import Page, table
from lessons.merging import methods
from lessons.interference.experiment import results
from lessons.interference.experiment.comparison import CLAIMED, GRIDS, REPORTED, SEARCHED, SEARCHES, STORING, Sweeps
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel

SHARE = "accuracy, share of the single model's"
WORDS = {"density": "density", "mask_strength": "mask strength", "drop_rate": "drop rate", "rank_ratio": "rank ratio", "scale": "λ"}
RADAR = {"average": (GREY, "o"), "task_arithmetic": (BLUE, "s"), "ties": (ORANGE, "^"), "consensus": (GREEN, "D"), "cart": (RED, "v"), "tsv": (PURPLE, "P")}
GRID_NAMES = {"all that was tried": GRIDS[0], "the sources' grids": GRIDS[1]}


# -- panel (b): one method's parameters ------------------------------------------------------------

@panel
def search(sweep: xarray.Dataset):
    """Panel (b): normalised accuracy on held-out images against λ, one line a value of the other parameter; right, task by task. Controls: scale, place, method."""
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 4))
    tried = (sweep.tried / sweep.own_tried).transpose("searched", "place", "scale", "task")
    used = tried.notnull().all("task")
    scales, places = sweep.scale.values[used.any(("searched", "place")).values], np.flatnonzero(used.any(("searched", "scale")).values)
    values = {method: tried.sel(searched=method, scale=scales).values for method in SEARCHED}
    left.set(xscale="log", xlabel="λ (logarithmic)", ylabel=f"{SHARE}, mean", xlim=(scales.min() / 1.15, scales.max() * 1.15), ylim=(0, 1.02))
    ticks = [tick for tick in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0) if scales.min() <= tick <= scales.max()]
    left.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    left.minorticks_off()
    lines = [left.plot([], [], color=SKY, marker="", linewidth=1.2, animated=True)[0] for _ in places]
    bold = left.plot([], [], color=BLUE, marker="o", markersize=4, label="this value of the other parameter", animated=True)[0]
    best = left.plot([], [], color=RED, marker="*", markersize=13, linestyle="", label="best of the method", animated=True)[0]
    here = left.axvline(1, color=BLACK, linewidth=1, marker="", animated=True)
    left.legend(loc="upper left", fontsize=8.5)
    names, rows = [str(task) for task in sweep.task.values], np.arange(sweep.sizes["task"])
    right.set(xlabel=SHARE, xlim=(0, 1.1), ylim=(len(rows) - 0.4, -0.6))
    right.set_yticks(rows, names, fontsize=8 if len(rows) < 10 else 6.5)
    bars = [right.plot([0, 0], [row, row], color=BLUE, linewidth=90 / len(rows), solid_capstyle="butt", marker="", animated=True)[0] for row in rows]
    titles = plotting.moving_titles((left, right))

    def draw(scale, place, method):
        of, step, has_other = values[method], position(scales, scale, "λ"), SEARCHES[method].other
        row, means = place if has_other else 0, of.mean(-1)
        for line, other in zip(lines, places):
            line.set_data(scales, means[other])
        bold.set_data(scales, means[row])
        top = np.unravel_index(np.nanargmax(means), means.shape)
        best.set_data([scales[top[1]]], [means[top]])
        here.set_xdata([scale, scale])
        shown = np.nan_to_num(of[row, step])
        for bar, value in zip(bars, shown):
            bar.set_xdata([0, value])
        other = f"{WORDS[has_other]} {SEARCHES[method].values[row]:g}" if has_other else f"no other parameter (slider at {place + 1})"
        titles[0].set_text(f"{results.title_of(method)}, {other}")
        titles[1].set_text(f"λ = {scale:.2f}: mean {means[row, step]:.3f}")
        tops = f"{WORDS[has_other]} {SEARCHES[method].values[top[0]]:g}, " if has_other else ""
        said = "; ".join(f"{name} {value:.3f}" for name, value in zip(names, shown))
        return (f"{results.title_of(method)} on {sweep.attrs['suite']}, {other}, λ = {scale:.2f}: accuracy on held-out images as a share of the single model's, mean {means[row, step]:.3f}, by "
                f"task: {said}. The best of the method is {means[top]:.3f}, with {tops}λ = {scales[top[1]]:g}.")

    start = 1.0 if 1.0 in scales else float(scales[len(scales) // 2])
    controls = {"scale": slider("λ", [float(scale) for scale in scales], start), "place": slider("other parameter, value no.", {str(place + 1): int(place) for place in places}, int(places[len(places) // 2])),
                "method": choice("method", {results.title_of(method): method for method in sorted(SEARCHED, key=lambda name: name != "ties")})}
    return controls, fig, draw, caption(sweep) + " Thin lines: the other values of the method's other parameter."


# -- panel (c): bars and radar ---------------------------------------------------------------------

@panel
def bars_and_radar(sweeps: Sweeps, prediction=None):
    """Panel (c): every method's normalised accuracy on test images, mean over tasks and task by task; right, as CART's Figure 4. Controls: suite, grid.

    The prediction, what the average is worth on the suite of several data sets, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=5.4, width_ratios=(6, 5))
    rows = {method: row for row, method in enumerate(reversed(REPORTED))}
    left.set(xlabel=f"{SHARE} (dots: tasks)", xlim=(0, 1.1), ylim=(-0.7, len(rows) - 0.3))
    left.set_yticks(list(rows.values()), [results.title_of(method) for method in rows])
    left.axvline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    left.axhline(len(STORING) - 0.5, color=GREY, linewidth=0.8, marker="")
    left.text(0.01, len(STORING) - 0.55, "below: a model per task, extra storage", fontsize=8, color="#555555", va="top")
    bars = {method: left.plot([0, 0], [row, row], color=RADAR.get(method, (SKY, ""))[0], linewidth=13, alpha=0.75, solid_capstyle="butt", marker="", animated=True)[0] for method, row in rows.items()}
    dots = left.plot([], [], color=BLACK, marker="o", markersize=2.5, linestyle="", animated=True)[0]
    means = {method: left.text(0.015, row, "", va="center", fontsize=8.5, fontweight="bold", animated=True) for method, row in rows.items()}
    star = left.plot([], [], color=PURPLE, marker="*", markersize=15, markeredgecolor=BLACK, linestyle="", zorder=5, animated=True)[0]
    polygons, place_spokes = _spider(right, max(sweep.sizes["task"] for sweep in sweeps.values()))
    titles = plotting.moving_titles((left, right))
    table = {(name, grid): results.shares(sweep, grid).transpose("reported", "task").values for name, sweep in sweeps.items() for grid in GRIDS}
    suites = {sweep.attrs["suite"]: name for name, sweep in sweeps.items()}

    def draw(suite, grid):
        of, names = table[suite, grid], [str(task) for task in sweeps[suite].task.values]
        for method, row in rows.items():
            value = of[REPORTED.index(method)].mean()
            bars[method].set_xdata([0, value])
            means[method].set_text(f"{value:.3f}")
        dots.set_data(of.ravel(), np.repeat([rows[method] for method in REPORTED], of.shape[1]))
        guess = prediction.committed if prediction and suite == "several" else None
        star.set_data(*([], []) if guess is None else ([guess], [rows["average"]]))
        angles = place_spokes(names)
        for method, polygon in polygons.items():
            radius = np.append(of[REPORTED.index(method)], of[REPORTED.index(method), 0])
            polygon.set_data(radius * np.cos(angles), radius * np.sin(angles))
        best = max(SEARCHED, key=lambda method: of[REPORTED.index(method)].mean())
        chosen = "all that was tried" if grid == GRIDS[0] else "the sources' grids"
        titles[0].set_text(f"{sweeps[suite].attrs['suite']}")
        titles[1].set_text(f"Chosen in {chosen}")
        said = "; ".join(f"{results.title_of(method)} {of[REPORTED.index(method)].mean():.3f}" for method in REPORTED)
        return (f"{sweeps[suite].attrs['suite']}, hyper-parameters chosen in {chosen}. Accuracy on test images as a share of the single model's, mean over tasks: {said}. "
                f"The best single merged model is by {results.title_of(best)}.")

    names = list(suites.items())
    controls = {"suite": choice("suite", dict(sorted(names, key=lambda item: item[1] != "several"))), "grid": choice("hyper-parameters from", GRID_NAMES)}
    return controls, fig, draw, caption(sweeps)


def _spider(ax, most):
    """Rings; {method of RADAR: a line}; and a function that places up to `most` named spokes and returns their angles, the first once more at the end."""
    ax.set(xlim=(-1.4, 1.4), ylim=(-1.6, 1.3), aspect="equal", anchor="N")
    ax.axis("off")
    round_ = np.linspace(0, 2 * np.pi, 90)
    for ring in (0.25, 0.5, 0.75, 1.0):
        ax.plot(ring * np.cos(round_), ring * np.sin(round_), color="#cccccc" if ring < 1 else GREY, linewidth=0.8, linestyle="-" if ring < 1 else ":", marker="")
        ax.text(0, -ring, f"{ring:g}", fontsize=6.5, color="#777777", ha="center", va="bottom")
    lines = {method: ax.plot([], [], color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=results.title_of(method), animated=True)[0] for method, (colour, marker) in RADAR.items()}
    ax.legend(loc="lower center", ncols=3, fontsize=7.5, bbox_to_anchor=(0.5, -0.06))
    spokes = [ax.plot([], [], color="#cccccc", linewidth=0.8, marker="", animated=True)[0] for _ in range(most)]
    labels = [ax.text(0, 0, "", ha="center", va="center", fontsize=7, animated=True) for _ in range(most)]

    def place_spokes(names):
        angles = np.pi / 2 - 2 * np.pi * np.arange(len(names) + 1) / len(names)
        for spoke, label in zip(spokes[len(names):], labels[len(names):]):
            spoke.set_data([], [])
            label.set_text("")
        for spoke, label, name, angle in zip(spokes, labels, names, angles):
            spoke.set_data([0, np.cos(angle)], [0, np.sin(angle)])
            label.set_text(name.replace(", permuted ", "\n").replace("split ", ""))
            label.set_position((1.2 * np.cos(angle), 1.17 * np.sin(angle)))
        return angles

    return lines, place_spokes


# -- tables ----------------------------------------------------------------------------------------

def chosen(sweeps: Sweeps) -> Page:
    """A table: the hyper-parameters that held-out images chose, in all that was tried and in the sources' grids; a star marks the edge of what was tried."""
    head = ("method", *(f"{sweep.attrs['suite']}, {name}" for sweep in sweeps.values() for name in GRID_NAMES))
    rows = [(results.title_of(method), *(_values(sweep, method, grid) for sweep in sweeps.values() for grid in GRIDS)) for method in SEARCHED]
    edges = [f"{results.title_of(method)} on {sweep.attrs['suite']} ({', '.join(WORDS[name] for name in found)})" for sweep in sweeps.values() for method in SEARCHED
             if (found := results.at_edge(sweep, method))]
    note = f"At the edge (*) of what was tried: {'; '.join(edges)}." if edges else "No method's best lies at the edge of what was tried."
    return _table(head, rows, f"{_widths(sweeps)} {note}")


def _widths(sweeps):
    """How much the chosen λ differ between the methods."""
    parts = []
    for sweep in sweeps.values():
        scales = sweep.scale_chosen.sel(grid=GRIDS[0])
        low, high = scales.min().item(), scales.max().item()
        parts.append(f"on {sweep.attrs['suite']} from {low:g} to {high:g}, a factor of {high / low:.0f}")
    return f"The methods' λ, in all that was tried, run {'; '.join(parts)}."


def _values(sweep, method, grid):
    edges = results.at_edge(sweep, method) if grid == GRIDS[0] else []
    return ", ".join(f"{WORDS[name]} {value:g}{'*' if name in edges else ''}" for name, value in results.chosen(sweep, method, grid).items())


PAIRS = tuple(zip(CLAIMED, CLAIMED[1:])) + (("cart", "task_arithmetic"), ("cart", "average"))


def order(sweeps: Sweeps) -> Page:
    """A table: by how many points each method of Table 1 is ahead of the next, with confidence intervals over tasks, and what order was measured."""
    head = ("ahead by, in points", *(f"{sweep.attrs['suite']}" for sweep in sweeps.values()))
    rows = [(f"{results.title_of(one)} − {results.title_of(other)}", *(_points(*results.difference(sweep, one, other)) for sweep in sweeps.values())) for one, other in PAIRS]
    orders = [f"{sweep.attrs['suite']}: {' > '.join(results.title_of(method) for method in results.order(sweep))}" for sweep in sweeps.values()]
    return _table(head, rows, f"95 % intervals over tasks. Bold: the interval lies above 0, as Table 1 of CART says; struck: below 0. Measured order: {'; '.join(orders)}.")


def _points(mean, half):
    text = f"{100 * mean:+.1f} ± {100 * half:.1f}"
    return f"<b>{text}</b>" if mean > half else f"<s>{text}</s>" if mean < -half else text


def order_in_the_ledger() -> Page:
    """A table: the same leads over the ledger's seeds on the real data, with confidence intervals over seeds."""
    numbers, rows = {name.rpartition(", more tasks ")[2].removeprefix("ResNet "): values for name, values in claims.measured().get("CART-8", {}).items()}, []
    suites = list(dict.fromkeys(name.split(":")[0] for name in numbers))
    for one, other in PAIRS:
        found = [numbers.get(f"{suite}: {one} over {other}", []) for suite in suites]
        rows.append((f"{results.title_of(one)} − {results.title_of(other)}", *("–" if not values else _points(np.mean(values), results.interval(np.array(values))) if len(values) > 1
                                                                                    else f"{100 * values[0]:+.1f} (1 seed)" for values in found)))
    note = "Mean over the ledger's seeds on the real data, with the 95 % interval over seeds." if suites else "The ledger has no numbers yet."
    return _table(("ahead by, in points", *suites), rows, note)


def _table(head, rows, note):
    found = table(list(map(html.escape, head)), rows, after=f"<p style='color:#555'>{html.escape(note)}</p>")
    return Page(f"{found.text}\n{note}", found.page)


def registry() -> Page:
    """A table of all methods: their formula, parameters with defaults, what they need, and their source."""
    head = ("name", "method", "in one line", "parameters", "needs", "source")
    rows = [(name, method.title, method.says, ", ".join(f"{parameter.name}{'' if parameter.required else f' = {parameter.default}'}" for parameter in method.parameters) or "none",
             ", ".join(method.needs), method.source) for name, method in methods().items()]
    return table(head, [map(html.escape, map(str, row)) for row in rows], "\n".join(f"{row[0]}: {row[2]} [{row[4]}]" for row in rows), left=len(head))
