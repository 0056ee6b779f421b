"""The pictures of the comparison: the search panel, bars and radar, and the tables of what was chosen and who is ahead
of whom."""
import html

import numpy as np
import xarray

from lessons.interference.experiment import IN_THE_LEDGER, NEIGHBOURS, results
from lessons.interference.experiment.searches import GRIDS, REPORTED, SEARCHED, SEARCHES, SOURCES, STORING, WIDE
from lessons.interference.panels.methods import LOOKS, OTHERS, title_of
from lessons.kit import claims, plotting
from lessons.kit.page import Page, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREY, PURPLE, RED, SKY
from lessons.kit.predict import guessed
from lessons.kit.sweep import caption, position
from lessons.merging import methods

SHARE = "accuracy, share of the single model's"
WORDS = {
    "density": "density",
    "mask_strength": "mask strength",
    "drop_rate": "drop rate",
    "rank_ratio": "rank ratio",
    "scale": "λ",
}
GRID_NAMES = {"all that was tried": WIDE, "the sources' grids": SOURCES}
TICKS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)


# -- panel (b): one method's parameters ------------------------------------------------------------

@panel
def search(sweep: xarray.Dataset):
    """Panel (b): normalised accuracy on held-out images against λ, one line a value of the other parameter; right, task
    by task. Controls: scale, place, method."""
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 4))
    tried = _Tried(sweep)
    scales = tried.scales
    lines = _Lines(left, tried)
    names = [str(task) for task in sweep.task.values]
    bars = _task_bars(right, names)
    titles = moving_titles((left, right))

    def draw(scale, place, method):
        of = tried.values[method]
        step = position(scales, scale, "λ")
        other = SEARCHES[method].other
        row = place if other else 0
        shown = np.nan_to_num(of[row, step])
        lines.show(of.mean(-1), row, scale)
        for bar, value in zip(bars, shown):
            bar.set_xdata([0, value])
        given = f"no other parameter (slider at {place + 1})"
        if other:
            given = f"{WORDS[other]} {SEARCHES[method].values[row]:g}"
        mean = of.mean(-1)[row, step]
        titles[0].set_text(f"{title_of(method)}, {given}")
        titles[1].set_text(f"λ = {scale:.2f}: mean {mean:.3f}")
        return said(
            """{method} on {suite}, {given}, λ = {scale:.2f}: accuracy on held-out images as a share of the single
               model's, mean {mean:.3f}, by task: {by_task}. The best of the method is {best}.""",
            method=title_of(method),
            suite=sweep.attrs["suite"],
            given=given,
            scale=scale,
            mean=mean,
            by_task="; ".join(f"{name} {value:.3f}" for name, value in zip(names, shown)),
            best=tried.best(method))

    text = caption(sweep) + " Thin lines: the other values of the method's other parameter."
    return _search_controls(tried), fig, draw, text


class _Tried:
    """What was tried of every method.

    Attributes:
        scales, places: the λ, and the places of the other parameters' values, that were tried of any method.
        values: {method: normalised accuracy (place, λ, task)}.
    """

    def __init__(self, sweep):
        tried = (sweep.tried / sweep.own_tried).transpose("searched", "place", "scale", "task")
        used = tried.notnull().all("task")
        self.scales = sweep.scale.values[used.any(("searched", "place")).values]
        self.places = np.flatnonzero(used.any(("searched", "scale")).values)
        self.values = {method: tried.sel(searched=method, scale=self.scales).values for method in SEARCHED}

    def best(self, method):
        """A method's best accuracy, and where it is, in words."""
        means = self.values[method].mean(-1)
        place, step = highest(means)
        search = SEARCHES[method]
        other = f"{WORDS[search.other]} {search.values[place]:g}, " if search.other else ""
        return f"{means[place, step]:.3f}, with {other}λ = {self.scales[step]:g}"


def highest(means: np.ndarray) -> tuple[int, int]:
    """Where a table with gaps is highest: (row, column)."""
    return np.unravel_index(np.nanargmax(means), means.shape)


class _Lines:
    """Left: mean accuracy against λ, a line a value of the other parameter, one of them bold."""

    def __init__(self, ax, tried):
        self.scales = tried.scales
        self.places = tried.places
        low = self.scales.min()
        high = self.scales.max()
        ticks = [tick for tick in TICKS if low <= tick <= high]
        ax.set(xscale="log", xlabel="λ (logarithmic)", ylabel=f"{SHARE}, mean", xlim=(low / 1.15, high * 1.15),
               ylim=(0, 1.02))
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        self.thin = [curve(ax, Look(SKY), linewidth=1.2) for _ in self.places]
        self.bold = curve(ax, Look(BLUE, "o"), "this value of the other parameter", markersize=4)
        self.best = cloud(ax, Look(RED, "*"), "best of the method", markersize=13)
        self.now = here(ax, 1)
        ax.legend(loc="upper left", fontsize=8.5)

    def show(self, means, row, scale):
        """One method's means (place, λ), with the row that is bold."""
        for line, place in zip(self.thin, self.places):
            line.set_data(self.scales, means[place])
        self.bold.set_data(self.scales, means[row])
        top = highest(means)
        self.best.set_data([self.scales[top[1]]], [means[top]])
        self.now.set_xdata([scale, scale])


def _task_bars(ax, names):
    """Right: a bar a task, lying; returns the bars."""
    rows = np.arange(len(names))
    ax.set(xlabel=SHARE, xlim=(0, 1.1), ylim=(len(rows) - 0.4, -0.6))
    ax.set_yticks(rows, names, fontsize=8 if len(rows) < 10 else 6.5)
    return [_lying_bar(ax, row, BLUE, width=90 / len(rows)) for row in rows]


def _lying_bar(ax, row, colour, width, **options):
    """A bar that starts at 0, moved by `set_xdata([0, x])`; `width` in points."""
    bar = curve(ax, Look(colour), linewidth=width, solid_capstyle="butt", **options)
    bar.set_data([0, 0], [row, row])
    return bar


def _search_controls(tried):
    scales = [float(scale) for scale in tried.scales]
    places = [int(place) for place in tried.places]
    middle = scales[len(scales) // 2]
    ties_first = sorted(SEARCHED, key=lambda name: name != "ties")
    return {"scale": slider("λ", scales, 1.0 if 1.0 in scales else middle),
            "place": slider("other parameter, value no.", {str(place + 1): place for place in places},
                            places[len(places) // 2]),
            "method": choice("method", {title_of(method): method for method in ties_first})}


# -- panel (c): bars and radar ---------------------------------------------------------------------

@panel
def bars_and_radar(sweeps: dict[str, xarray.Dataset], prediction=None):
    """Panel (c): every method's normalised accuracy on test images, mean over tasks and task by task; right, as CART's
    Figure 4. Controls: suite, grid.

    The prediction, what the average is worth on the suite of several data sets, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=5.4, width_ratios=(6, 5))
    bars = _Bars(left)
    asked = {"suite": "several"}
    radar = _Radar(right, most=max(sweep.sizes["task"] for sweep in sweeps.values()))
    titles = moving_titles((left, right))
    tables = {}
    for name, sweep in sweeps.items():
        for grid in GRIDS:
            tables[name, grid] = results.shares(sweep, grid).transpose("reported", "task").values
    if prediction:
        prediction.panel_answers(tables["several", WIDE][REPORTED.index("average")].mean(), asked)

    def draw(suite, grid):
        of = tables[suite, grid]
        title = sweeps[suite].attrs["suite"]
        chosen = "all that was tried" if grid == WIDE else "the sources' grids"
        means = dict(zip(REPORTED, of.mean(-1)))
        bars.show(of, guessed(prediction, asked, {"suite": suite}))
        radar.show(of, [str(task) for task in sweeps[suite].task.values])
        titles[0].set_text(title)
        titles[1].set_text(f"Chosen in {chosen}")
        return said(
            """{suite}, hyper-parameters chosen in {chosen}. Accuracy on test images as a share of the single model's,
               mean over tasks: {means}. The best single merged model is by {best}.""",
            suite=title,
            chosen=chosen,
            means="; ".join(f"{title_of(method)} {mean:.3f}" for method, mean in means.items()),
            best=title_of(max(SEARCHED, key=means.get)))

    suites = {sweeps[name].attrs["suite"]: name for name in sorted(sweeps, key=lambda name: name != "several")}
    controls = {"suite": choice("suite", suites), "grid": choice("hyper-parameters from", GRID_NAMES)}
    return controls, fig, draw, caption(sweeps)


class _Bars:
    """Left: a lying bar a method, its value, a dot a task, and the prediction's star on the average."""

    def __init__(self, ax):
        self.rows = {method: row for row, method in enumerate(reversed(REPORTED))}
        ax.set(xlabel=f"{SHARE} (dots: tasks)", xlim=(0, 1.1), ylim=(-0.7, len(self.rows) - 0.3))
        ax.set_yticks(list(self.rows.values()), [title_of(method) for method in self.rows])
        ax.axvline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        ax.axhline(len(STORING) - 0.5, color=GREY, linewidth=0.8, marker="")
        ax.text(0.01, len(STORING) - 0.55, "below: a model per task, extra storage", fontsize=8, color="#555555",
                va="top")
        self.bars = {}
        self.texts = {}
        for method, row in self.rows.items():
            colour = LOOKS[method].colour if method in LOOKS else OTHERS
            self.bars[method] = _lying_bar(ax, row, colour, width=13, alpha=0.75)
            self.texts[method] = ax.text(0.015, row, "", va="center", fontsize=8.5, fontweight="bold", animated=True)
        self.dots = cloud(ax, Look(BLACK, "o"), markersize=2.5)
        self.star = cloud(ax, Look(PURPLE, "*"), markersize=15, markeredgecolor=BLACK, zorder=5)

    def show(self, of, guess):
        """Shares (reported, task); guess: of the average, nan where none is to be drawn."""
        for method, shares in zip(REPORTED, of):
            self.bars[method].set_xdata([0, shares.mean()])
            self.texts[method].set_text(f"{shares.mean():.3f}")
        rows = np.repeat([self.rows[method] for method in REPORTED], of.shape[1])
        self.dots.set_data(of.ravel(), rows)
        self.star.set_data([guess], [self.rows["average"]])


class _Radar:
    """Right: a polygon a method of LOOKS, with a spoke a task, up to `most` of them."""

    def __init__(self, ax, most):
        ax.set(xlim=(-1.4, 1.4), ylim=(-1.6, 1.3), aspect="equal", anchor="N")
        ax.axis("off")
        for radius in (0.25, 0.5, 0.75, 1.0):
            _ring(ax, radius)
        self.polygons = {}
        for method, look in LOOKS.items():
            self.polygons[method] = curve(ax, look, title_of(method), markersize=3.5, linewidth=1.4)
        ax.legend(loc="lower center", ncols=3, fontsize=7.5, bbox_to_anchor=(0.5, -0.06))
        self.spokes = [curve(ax, Look("#cccccc"), linewidth=0.8) for _ in range(most)]
        self.labels = [ax.text(0, 0, "", ha="center", va="center", fontsize=7, animated=True) for _ in range(most)]

    def show(self, of, names):
        """Shares (reported, task), and the tasks' names."""
        angles = np.pi / 2 - 2 * np.pi * np.arange(len(names) + 1) / len(names)  # the first once more at the end
        self._place_spokes(names, angles)
        for method, polygon in self.polygons.items():
            shares = of[REPORTED.index(method)]
            radius = np.append(shares, shares[0])
            polygon.set_data(radius * np.cos(angles), radius * np.sin(angles))

    def _place_spokes(self, names, angles):
        for spoke, label in zip(self.spokes[len(names):], self.labels[len(names):]):
            spoke.set_data([], [])
            label.set_text("")
        for spoke, label, name, angle in zip(self.spokes, self.labels, names, angles):
            spoke.set_data([0, np.cos(angle)], [0, np.sin(angle)])
            label.set_text(name.replace(", permuted ", "\n").replace("split ", ""))
            label.set_position((1.2 * np.cos(angle), 1.17 * np.sin(angle)))


def _ring(ax, radius):
    """A circle around the centre, with its radius; the outermost is 1."""
    around = np.linspace(0, 2 * np.pi, 90)
    style = {"color": GREY, "linestyle": ":"} if radius == 1 else {"color": "#cccccc", "linestyle": "-"}
    ax.plot(radius * np.cos(around), radius * np.sin(around), linewidth=0.8, marker="", **style)
    ax.text(0, -radius, f"{radius:g}", fontsize=6.5, color="#777777", ha="center", va="bottom")


# -- tables ----------------------------------------------------------------------------------------

def chosen(sweeps: dict[str, xarray.Dataset]) -> Page:
    """A table: the hyper-parameters that held-out images chose, in all that was tried and in the sources' grids; a star
    marks the edge of what was tried."""
    head = ["method"]
    rows = {method: [title_of(method)] for method in SEARCHED}
    edges = []
    for sweep in sweeps.values():
        suite = sweep.attrs["suite"]
        head += [f"{suite}, {name}" for name in GRID_NAMES]
        for method in SEARCHED:
            at_edge = results.at_edge(sweep, method)
            rows[method] += [_values(sweep, method, WIDE, at_edge), _values(sweep, method, SOURCES, [])]
            if at_edge:
                edges.append(f"{title_of(method)} on {suite} ({', '.join(WORDS[name] for name in at_edge)})")
    note = "No method's best lies at the edge of what was tried."
    if edges:
        note = f"At the edge (*) of what was tried: {'; '.join(edges)}."
    return _table(head, rows.values(), f"{_widths(sweeps)} {note}")


def _values(sweep, method, grid, at_edge):
    """The chosen values in words, those at the edge with a star."""
    found = []
    for name, value in results.chosen(sweep, method, grid).items():
        star = "*" if name in at_edge else ""
        found.append(f"{WORDS[name]} {value:g}{star}")
    return ", ".join(found)


def _widths(sweeps):
    """How much the chosen λ differ between the methods."""
    parts = []
    for sweep in sweeps.values():
        scales = sweep.scale_chosen.sel(grid=WIDE)
        low = scales.min().item()
        high = scales.max().item()
        parts.append(f"on {sweep.attrs['suite']} from {low:g} to {high:g}, a factor of {high / low:.0f}")
    return f"The methods' λ, in all that was tried, run {'; '.join(parts)}."


PAIRS = (*NEIGHBOURS, ("cart", "task_arithmetic"), ("cart", "average"))


def order(sweeps: dict[str, xarray.Dataset]) -> Page:
    """A table: by how many points each method of Table 1 is ahead of the next, with confidence intervals over tasks,
    and what order was measured."""
    head = ["ahead by, in points"]
    rows = [[_minus(one, other)] for one, other in PAIRS]
    orders = []
    for sweep in sweeps.values():
        suite = sweep.attrs["suite"]
        head.append(suite)
        for row, (one, other) in zip(rows, PAIRS):
            row.append(_points(*results.difference(sweep, one, other)))
        orders.append(f"{suite}: {' > '.join(title_of(method) for method in results.order(sweep))}")
    note = said(
        """95 % intervals over tasks. Bold: the interval lies above 0, as Table 1 of CART says; struck: below 0.
           Measured order: {orders}.""",
        orders="; ".join(orders))
    return _table(head, rows, note)


def _minus(one, other):
    return f"{title_of(one)} − {title_of(other)}"


def _points(mean, half):
    """A lead and its interval in points; bold where it is above 0, struck where below."""
    text = f"{100 * mean:+.1f} ± {100 * half:.1f}"
    if mean > half:
        return f"<b>{text}</b>"
    return f"<s>{text}</s>" if mean < -half else text


def order_in_the_ledger() -> Page:
    """A table: the same leads over the ledger's seeds on the real data, with confidence intervals over seeds."""
    numbers = claims.measured().get("CART-8", {})
    leads = {}  # {(suite, one, other): one value a seed}
    for suite, name in IN_THE_LEDGER.items():
        for one, other in PAIRS:
            leads[suite, one, other] = numbers.get(f"{name}: {one} over {other}", [])
    suites = list(dict.fromkeys(suite for (suite, _, _), values in leads.items() if values))
    rows = []
    for one, other in PAIRS:
        rows.append([_minus(one, other), *(_over_seeds(leads[suite, one, other]) for suite in suites)])
    note = "The ledger has no numbers yet."
    if suites:
        note = "Mean over the ledger's seeds on the real data, with the 95 % interval over seeds."
    return _table(["ahead by, in points", *suites], rows, note)


def _over_seeds(values):
    if not values:
        return "–"
    if len(values) == 1:
        return f"{100 * values[0]:+.1f} (1 seed)"
    return _points(np.mean(values), results.interval(np.array(values)))


def _table(head, rows, note):
    found = table(list(map(html.escape, head)), rows, after=f"<p style='color:#555'>{html.escape(note)}</p>")
    return Page(f"{found.text}\n{note}", found.page)


def registry() -> Page:
    """A table of all methods: their formula, parameters with defaults, what they need, and their source."""
    head = ("name", "method", "in one line", "parameters", "needs", "source")
    rows = []
    lines = []
    for name, method in methods().items():
        parameters = ", ".join(map(_with_default, method.parameters)) or "none"
        needs = ", ".join(method.needs)
        cells = (name, method.title, method.says, parameters, needs, method.source)
        rows.append([html.escape(cell) for cell in cells])
        lines.append(f"{name}: {method.says} [{needs}]")
    return table(head, rows, "\n".join(lines), left=len(head))


def _with_default(parameter):
    return parameter.name if parameter.required else f"{parameter.name} = {parameter.default}"
