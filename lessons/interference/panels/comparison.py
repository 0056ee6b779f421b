"""The pictures of the comparison: the search panel, all methods side by side, the λ that were chosen, and the tables of
what was chosen and who is ahead of whom."""

import numpy as np
import xarray

from lessons.interference.experiment import IN_THE_LEDGER, NEIGHBOURS, results
from lessons.interference.experiment.searches import GRIDS, REPORTED, SEARCHED, SEARCHES, SOURCES, STORING, WIDE
from lessons.interference.panels.methods import LOOKS, OTHERS, title_of
from lessons.kit import claims, plotting
from lessons.kit.noise import error_of_share
from lessons.kit.page import Markup, Page, bold, folded, quiet, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, PURPLE, RED, SKY, still
from lessons.kit.predict import guessed
from lessons.kit.sweep import caption, names, position
from lessons.merging import methods
from lessons.merging.search import rests_on

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
def search(sweep: xarray.Dataset, prediction=None):
    """Panel (b): normalised accuracy on held-out images against λ, one line a value of the other parameter; right, task
    by task. Controls: scale, place, method.

    Task arithmetic with a small λ is the average, so the panel waits for the prediction that panel (c) answers.
    """
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(5, 4))
    tried = _Tried(sweep)
    scales = tried.scales
    lines = _Lines(left, tried)
    tasks = names(sweep.task)
    rows = np.arange(len(tasks))
    right.set(xlabel=SHARE, xlim=(0, 1.1), ylim=(len(rows) - 0.4, -0.6))
    right.set_yticks(rows, tasks, fontsize=9.5)
    bars = [_lying_bar(right, row, BLUE, width=90 / len(rows)) for row in rows]
    titles = moving_titles((left, right))

    def draw(scale, place, method):
        of_method = tried.values[method]
        step = position(scales, scale, "λ")
        other = SEARCHES[method].other
        row = place if other else 0
        shown = np.nan_to_num(of_method[row, step])
        lines.show(of_method.mean(-1), row, scale)
        for bar, value in zip(bars, shown):
            bar.set_xdata([0, value])
        given = "λ alone"
        if other:
            given = f"{WORDS[other]} {SEARCHES[method].values[row]:g}"
        mean = of_method.mean(-1)[row, step]
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
            by_task="; ".join(f"{name} {value:.3f}" for name, value in zip(tasks, shown)),
            best=tried.best(method))

    text = captioned(sweep) + " Thin lines: the other values of the method's other parameter."
    positions = [float(scale) for scale in scales]
    places = [int(place) for place in tried.places]
    ties_first = sorted(SEARCHED, key=lambda name: name != "ties")
    controls = {"scale": slider("λ", positions, 1.0 if 1.0 in positions else positions[len(positions) // 2]),
                "place": slider("its other parameter (1 lowest, 5 highest)",
                                {str(place + 1): place for place in places}, places[len(places) // 2]),
                "method": choice("method", {title_of(method): method for method in ties_first})}
    return controls, fig, draw, text


class _Tried:
    """What was tried of every method.

    Attributes:
        scales, places: the λ, and the places of the other parameters' values, that were tried of any method.
        values: {method: normalised accuracy (place, λ, task)}.
    """

    def __init__(self, sweep):
        tried = results.share_of(sweep.tried, sweep.own_tried).transpose("searched", "place", "scale", "task")
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
        ax.legend(loc="upper left")

    def show(self, means, row, scale):
        """One method's means (place, λ), with the row that is bold."""
        for line, place in zip(self.thin, self.places):
            line.set_data(self.scales, means[place])
        self.bold.set_data(self.scales, means[row])
        top = highest(means)
        self.best.set_data([self.scales[top[1]]], [means[top]])
        self.now.set_xdata([scale, scale])


def _lying_bar(ax, row, colour, width, **options):
    """A bar that starts at 0, moved by `set_xdata([0, x])`; `width` in points."""
    bar = curve(ax, Look(colour), linewidth=width, solid_capstyle="butt", **options)
    bar.set_data([0, 0], [row, row])
    return bar


# -- panel (c): all methods ------------------------------------------------------------------------

APART = 0.7  # rows between the single models and those that store something per task
OTHER_LABELS = {"dare": "DARE, Breadcrumbs", "emr": "a model per task"}


@panel
def bars_and_worst(sweeps: dict[str, xarray.Dataset], prediction=None):
    """Panel (c): every method's normalised accuracy on test images, mean over tasks and task by task; right, the mean
    against the worst task. Controls: suite, grid.

    The prediction, what the average is worth on the suite of several data sets, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=5.6, width_ratios=(6, 5))
    bars = _Bars(left)
    asked = {"suite": "several"}
    points = _MeanAndWorst(right)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    titles = moving_titles((left, right))
    tables = {}
    for name, sweep in sweeps.items():
        for grid in GRIDS:
            tables[name, grid] = results.shares(sweep, grid).transpose("reported", "task").values
    if prediction:
        prediction.panel_answers(tables["several", WIDE][REPORTED.index("average")].mean(), asked)

    def draw(suite, grid):
        accuracies = tables[suite, grid]
        title = sweeps[suite].attrs["suite"]
        chosen = "all that was tried" if grid == WIDE else "the sources' grids"
        bars.show(accuracies, guessed(prediction, asked, {"suite": suite}))
        points.show(accuracies)
        titles[0].set_text(title)
        titles[1].set_text(f"Chosen in {chosen}")
        means = dict(zip(REPORTED, accuracies.mean(-1)))
        return said(
            """{suite}, hyper-parameters chosen in {chosen}. Accuracy on test images as a share of the single model's,
               mean over tasks, in brackets the worst task: {means}. {best}""",
            suite=title,
            chosen=chosen,
            means="; ".join(f"{title_of(method)} {mean:.3f} ({accuracies[row].min():.3f})"
                            for row, (method, mean) in enumerate(means.items())),
            best=_best(sweeps[suite], grid))

    suites = {sweeps[name].attrs["suite"]: name for name in sorted(sweeps, key=lambda name: name != "several")}
    controls = {"suite": choice("suite", suites), "grid": choice("hyper-parameters from", GRID_NAMES)}
    return controls, fig, draw, captioned(sweeps)


def _best(sweep, grid):
    """Which single merged model is the best, if that can be told."""
    leaders = [title_of(method) for method in results.leaders(sweep, grid)]
    if len(leaders) == 1:
        return f"The best single merged model is by {leaders[0]}."
    return f"Which single merged model is the best cannot be told here: {', '.join(leaders)} are level."


def captioned(sweeps) -> str:
    """The caption of one sweep or of several, with the standard error of an accuracy, and a sentence about tasks that
    the networks have not learned."""
    several = sweeps if isinstance(sweeps, dict) else {"": sweeps}
    images = min(int(sweep.attrs["images"].split()[0].replace(",", "")) for sweep in several.values())
    error = said("Standard error of one task's accuracy: at most {error:.1f} points.",
                 error=100 * error_of_share(0.5, images))
    return " ".join(filter(None, [caption(sweeps), error, *map(not_learned, several.values())]))


def not_learned(sweep: xarray.Dataset) -> str:
    """A sentence about the tasks that the own networks have not learned; nothing where they have learned all."""
    count = results.unlearned(sweep.own.values)
    if not count:
        return ""
    return said(
        """On {count} of {all} tasks of {suite} the own network itself has not learned its task (its accuracy is below
           {least:g}); there accuracies are given as shares of {least:g}, and who is ahead means nothing.""",
        count=count,
        all=sweep.sizes["task"],
        suite=sweep.attrs["suite"],
        least=results.LEARNED)


class _Bars:
    """Left: a lying bar a method, its value, a dot a task, and the prediction's star on the average."""

    def __init__(self, ax):
        self.rows = {method: row - APART * (method in STORING) for row, method in enumerate(reversed(REPORTED))}
        ax.set(xlabel=f"{SHARE} (dots: tasks)", xlim=(0, 1.1), ylim=(-0.7 - APART, len(self.rows) - 0.3))
        ax.set_yticks(list(self.rows.values()), [title_of(method) for method in self.rows])
        ax.axvline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        ax.axhline(len(STORING) - 0.5, color=GREY, linewidth=0.8, marker="")
        ax.text(0.01, len(STORING) - 0.6, "below: a model per task, extra storage", fontsize=9.5, color="#555555",
                va="top")
        self.bars = {}
        self.texts = {}
        for method, row in self.rows.items():
            colour = LOOKS[method].colour if method in LOOKS else OTHERS
            self.bars[method] = _lying_bar(ax, row, colour, width=13, alpha=0.75)
            self.texts[method] = ax.text(0.015, row, "", va="center", fontsize=9.5, fontweight="bold", animated=True)
        self.dots = cloud(ax, Look(BLACK, "o"), markersize=3)
        self.star = cloud(ax, Look(PURPLE, "*"), markersize=15, markeredgecolor=BLACK, zorder=5)

    def show(self, accuracies, guess):
        """Shares (reported, task); guess: of the average, nan where none is to be drawn."""
        for method, shares in zip(REPORTED, accuracies):
            self.bars[method].set_xdata([0, shares.mean()])
            self.texts[method].set_text(f"{shares.mean():.3f}")
        rows = np.repeat([self.rows[method] for method in REPORTED], accuracies.shape[1])
        self.dots.set_data(accuracies.ravel(), rows)
        self.star.set_data([guess], [self.rows["average"]])


class _MeanAndWorst:
    """Right: a point a method, its mean over tasks and its worst task."""

    def __init__(self, ax):
        ax.set(xlabel="mean over tasks", ylabel="worst task", xlim=(0, 1.05), ylim=(0, 1.05))
        ax.plot([0, 1.05], [0, 1.05], color=GREY, linestyle=":", linewidth=1, marker="")
        self.points = {}
        for method in REPORTED:
            look = LOOKS.get(method, Look(OTHERS, "s" if method in STORING else "X"))
            label = title_of(method) if method in LOOKS else OTHER_LABELS.get(method)
            self.points[method] = cloud(ax, look, label, markersize=9)

    def show(self, accuracies):
        """Shares (reported, task)."""
        for method, shares in zip(REPORTED, accuracies):
            self.points[method].set_data([shares.mean()], [shares.min()])


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
    return _table(head, rows.values(), f"{_widths(sweeps)} {note} {rests_on(*sweeps.values())}")


def _values(sweep, method, grid, at_edge):
    """The chosen values in words, those at the edge with a star."""
    texts = []
    for name, value in results.chosen(sweep, method, grid).items():
        star = "*" if name in at_edge else ""
        texts.append(f"{WORDS[name]} {value:g}{star}")
    return ", ".join(texts)


def _widths(sweeps):
    """How much the chosen λ differ between the methods."""
    parts = []
    for sweep in sweeps.values():
        scales = sweep.scale_chosen.sel(grid=WIDE)
        low = scales.min().item()
        high = scales.max().item()
        parts.append(f"on {sweep.attrs['suite']} from {low:g} to {high:g}, a factor of {high / low:.0f}")
    return f"The methods' λ, in all that was tried, run {'; '.join(parts)}."


PAIRS = (*NEIGHBOURS, ("cart", "ties"), ("cart", "task_arithmetic"), ("cart", "average"))
COLUMNS = "Table 1: ahead in"


def order(sweeps: dict[str, xarray.Dataset]) -> Page:
    """A table: by how many points one method of Table 1 is ahead of another, with confidence intervals over tasks, in
    how many of the source's six columns it is, and among whom no best one can be told."""
    head = ["ahead by, in points", COLUMNS]
    rows = [_pair(one, other) for one, other in PAIRS]
    firsts = []
    for sweep in sweeps.values():
        suite = sweep.attrs["suite"]
        head.append(suite)
        for row, (one, other) in zip(rows, PAIRS):
            row.append(_points(*results.difference(sweep, one, other)))
        firsts.append(f"{suite}: {_best(sweep, WIDE)}")
    note = said(
        """With 95 % intervals over tasks. Bold: ahead. Struck through: behind. Plain: cannot be told here. {firsts}
           {caption}""",
        firsts=" ".join(firsts),
        caption=captioned(sweeps))
    return _table(head, rows, note)


def _pair(one, other):
    return [f"{title_of(one)} − {title_of(other)}", f"{results.columns_ahead(one, other)} of 6 columns"]


def _points(mean, half):
    """A lead and its interval in points; bold where it is above 0, struck where below."""
    text = f"{100 * mean:+.1f} ± {100 * half:.1f}"
    if mean > half:
        return bold(text)
    return Markup("<s>{}</s>").format(text) if mean < -half else text


SUITES = {
    "rotated": "Rotated MNIST",
    "several": "several data sets",
    "split 8": "CIFAR-100, 8 tasks",
    "split 14": "CIFAR-100, 14 tasks",
    "split 20": "CIFAR-100, 20 tasks",
}


def order_in_the_ledger(sources: bool = False) -> Page:
    """A table: the same leads over the ledger's seeds on the real data, with confidence intervals over seeds.

    Args:
        sources: with hyper-parameters from the sources' grids.
    """
    numbers = claims.measured().get("CART-8", {})
    grid = " in the sources' grids" if sources else ""
    leads = {}  # {(suite, one, other): one value a seed}
    for suite, name in IN_THE_LEDGER.items():
        for one, other in PAIRS:
            leads[suite, one, other] = numbers.get(f"{name}: {one} over {other}{grid}", [])
    known = {suite for (suite, _, _), values in leads.items() if values}
    suites = [suite for suite in SUITES if suite in known]
    rows = []
    for one, other in PAIRS:
        rows.append([*_pair(one, other), *(_over_seeds(leads[suite, one, other]) for suite in suites)])
    note = "The ledger has no numbers yet."
    if suites:
        counts = {suite: max(len(leads[suite, one, other]) for one, other in PAIRS) for suite in suites}
        note = said(
            """Mean over seeds on the real data ({seeds}), with the 95 % interval over seeds. Bold: ahead. Struck
               through: behind. Plain: cannot be told.""",
            seeds=", ".join(f"{SUITES[suite]}: {count}" for suite, count in counts.items()))
    return _table(["ahead by, in points", COLUMNS, *(SUITES[suite] for suite in suites)], rows, note)


def _over_seeds(values):
    if not values:
        return "–"
    if len(values) == 1:
        return f"{100 * values[0]:+.1f} (1 seed)"
    return _points(np.mean(values), results.interval(np.array(values)))


def _table(head, rows, note):
    made = table(head, rows, after=quiet(note))
    return Page(f"{made.text}\n{note}", made.page)


def registry() -> Page:
    """A table of all methods: what each drops, how it combines the rest, what it needs; folded, their formulas,
    parameters and sources."""
    rows = []
    lines = []
    details = []
    for name, method in methods().items():
        needs = ", ".join(method.needs)
        rows.append([method.title, method.drops, method.combines, needs])
        lines.append(f"{name}: drops {method.drops}; {method.combines} [{needs}]")
        parameters = ", ".join(parameter.name if parameter.required else f"{parameter.name} = {parameter.default}"
                               for parameter in method.parameters) or "none"
        details.append([name, method.says, parameters, method.source])
    more = folded("Formulas, parameters and sources",
                  table(("name", "in one line", "parameters", "source"), details, left=4))
    return table(("method", "drops", "puts together", "needs"), rows, "\n".join(lines), left=4,
                 after=more.page)


# -- λ of every method -----------------------------------------------------------------------------

SUITE_LOOKS = (Look(BLUE, "o"), Look(RED, "^"), Look(GREEN, "s"), Look(PURPLE, "D"), Look(BLACK, "v"))


@still
def chosen_scales(sweeps: dict[str, xarray.Dataset]):
    """The λ that held-out images chose, a row a method and a mark a suite; open where it is the last that was tried."""
    fig, ax = plotting.figure(height=3.6)
    rows = {method: row for row, method in enumerate(reversed(SEARCHED))}
    for sweep, look, shift in zip(sweeps.values(), SUITE_LOOKS, (0.15, -0.15, 0.3, -0.3, 0)):
        for method, row in rows.items():
            scale = results.chosen(sweep, method)["scale"]
            edge = "scale" in results.at_edge(sweep, method)
            ax.plot([scale], [row + shift], color=look.colour, marker=look.marker, linestyle="", markersize=9,
                    markerfacecolor="none" if edge else look.colour)
        ax.plot([], [], color=look.colour, marker=look.marker, linestyle="", label=sweep.attrs["suite"])
    ax.set_yticks(list(rows.values()), [title_of(method) for method in rows])
    ax.set(xscale="log", xlabel="λ chosen on held-out images (logarithmic)", ylim=(-0.6, len(rows) - 0.4))
    ax.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    ax.minorticks_off()
    fig.legend(loc="outside lower center", ncols=2)
    text = _widths(sweeps)
    return plotting.show(fig, text, f"{text} Open: the smallest or largest that was tried. {captioned(sweeps)}")
