"""The pictures of the comparison: the search panel, all methods side by side, the λ that were chosen, and the tables of
what was chosen and who is ahead of whom."""
import functools

import numpy as np
import xarray

from lessons.interference.experiment import IN_THE_LEDGER, NEIGHBOURS, results
from lessons.interference.experiment.searches import GRIDS, REPORTED, SEARCHED, SEARCHES, SOURCES, STORING, WIDE
from lessons.interference.panels.methods import SEVERAL, inside, suite_of, title_of, with_reach
from lessons.kit import claims, noise, plotting
from lessons.kit.noise import error_of_share
from lessons.kit.page import Markup, Page, bold, capital, quiet, said, table
from lessons.kit.plotting import BLACK, BLUE, GREEN, PURPLE, RED, Look, still
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Path, Spots, Star, chips, key, slider, view
from lessons.merging.search import rests_on

WORDS = {
    "density": "density",
    "mask_strength": "mask strength",
    "drop_rate": "drop rate",
    "rank_ratio": "rank ratio",
    "scale": "λ",
}
GRID_NAMES = {"all that was tried": WIDE, "the sources' grids": SOURCES}
TICKS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
SUITES = {
    "rotated": "Rotated MNIST",
    "several": SEVERAL,
    "split 8": "CIFAR-100, 8 tasks",
    "split 14": "CIFAR-100, 14 tasks",
    "split 20": "CIFAR-100, 20 tasks",
}


# -- panel (b): one method's parameters ------------------------------------------------------------

CLEARLY = 0.1  # of its best accuracy: a method that loses more with another λ is clearly worse with it
OTHERS, VALUES = "other methods", "other values of its parameter"  # what the grey lines are
_GREY_LINES = len(SEARCHED) - 2  # at most, beside the method and the one whose λ suits it least
_ALT_OF_SEARCH = """
    {method} on {suite}, λ = {scale:.2f}: mean accuracy on held-out images as a share of the single networks', {given}
    {mean:.3f} ± {error:.3f}. Its best is {best}. With the λ that is best for {other} it has {there:.3f}. The best λ of
    every method: {scales}."""


@view
def search(sweep: xarray.Dataset):
    """Panel (b): mean normalised accuracy on held-out images against λ, of one method at the best value of its other
    parameter; grey, the other methods at theirs, or its other values. Controls: scale, method, grey."""
    tried = _Tried(sweep)
    scales = [float(scale) for scale in tried.scales]
    nothing = np.full(len(scales), np.nan)

    def draw(scale, method, grey):
        row, top = highest(tried.means[method])
        mean, low, high = tried.sure(method)
        step, (other, there) = position(scales, scale, "λ"), tried.elsewhere(method)
        values = {"this method": mean, "two standard errors": (low, high), "best": ([scales[top]], [mean[top]])}
        at_best = {name: tried.means[name][highest(tried.means[name])[0]] for name in SEARCHED}
        values |= {title_of(name): at_best[name] if name == other else nothing for name in SEARCHED}
        grey_lines = [at_best[name] for name in SEARCHED if name not in (method, other)] if grey == OTHERS else \
            [means for place, means in enumerate(tried.means[method]) if place != row]
        values |= {f"grey line {line + 1}": grey_lines[line] if line < len(grey_lines) else nothing
                   for line in range(_GREY_LINES)}
        its = scales[highest(tried.means[other])[1]]
        values |= {"λ of the other": ([its, its], [0, np.nanmax(at_best[other])]),
                   "best of the other": ([its], [np.nanmax(at_best[other])])}
        given = tried.given(method, row)
        alt = said(_ALT_OF_SEARCH, method=title_of(method), suite=sweep.attrs["suite"], scale=scale, mean=mean[step],
                   given=f"with {given}" if given else "", error=(high - mean)[step], best=tried.best(method),
                   other=title_of(other), there=there,
                   scales=", ".join(f"{title_of(name)} {scales[highest(tried.means[name])[1]]:g}" for name in SEARCHED))
        about = key(("merged", f"{title_of(method)}{f' with {given}, its best' if given else ''}"),
                    ("", f"dotted: the best λ of {inside(other)}; thin grey: {grey}"))
        return Frame(finding_of_scales(method, other, mean[top], there, (high - mean)[top]), alt,
                     values, about)

    words = {f"{scale:g}": scale for scale in scales}
    ties_first = sorted(SEARCHED, key=lambda name: name != "ties")
    controls = {"scale": slider("λ", words, 1.0 if 1.0 in scales else scales[len(scales) // 2],
                                words=lambda scale: f"λ = {scale:g}", places=scales),
                "method": chips("method", {title_of(method): method for method in ties_first}),
                "grey": chips("grey lines", (OTHERS, VALUES), more=True)}
    return {"kicker": "Chapter 7: one method’s parameters", "charts": [_chart_of_search(scales, tried)], "draw": draw,
            "controls": controls,
            "caption": f"{captioned(sweep, held_out=True)} Band: two standard errors, {noise.APART}."}


def _chart_of_search(scales, tried):
    """Accuracy over λ, with the other methods or the other values in grey."""
    low, high = scales[0] / 1.1, scales[-1] * 1.1
    across = Axis("λ", low, high, kind="log", ticks={tick: f"{tick:g}" for tick in TICKS if low <= tick <= high})
    best = max(float(np.nanmax(means)) for means in tried.means.values())
    grey = tuple(Line(f"grey line {line + 1}", "other", x=tuple(scales)) for line in range(_GREY_LINES))
    return Chart(across, Axis("mean accuracy, share of the single networks’", 0, 1.15 * best, unit="percent"),
                 (*grey, *(Line(title_of(name), "other", title_of(name), x=tuple(scales)) for name in SEARCHED),
                  Path("λ of the other", "chance"), Spots("best of the other", "chance"),
                  Band("two standard errors", "merged", x=tuple(scales)),
                  Line("this method", "merged", x=tuple(scales), dots=True, near=True), Spots("best", "merged"),
                  Handle("scale")))


def finding_of_scales(method: str, other: str, best: float, there: float, error: float) -> str:
    """Whether a method can do with the λ of another one.

    Args:
        best: what it has with its own λ; there: with the λ that is best for `other`, the one that suits it least.
        error: two standard errors of the former.
    """
    loss = best - there
    if loss < 2 ** 0.5 * error:
        return f"{title_of(method)} loses nothing beyond the noise with any other method’s λ"
    how_much = "clearly" if loss > CLEARLY * best else "a little"
    return f"With the λ that suits {inside(other)}, {inside(method)} is {how_much} worse"


class _Tried:
    """What was tried of every method.

    Attributes:
        scales: the λ that were tried of any method.
        means: {method: normalised accuracy (place, λ), mean over tasks}, the places those of its other parameter's
            values; NaN where it was not tried.
    """

    def __init__(self, sweep):
        tried = results.share_of(sweep.tried, sweep.own_tried).mean("task", skipna=False)
        used = tried.notnull().any(("searched", "place")).values
        self.scales = sweep.scale.values[used]
        self.means = {method: tried.sel(searched=method).transpose("place", "scale").values[:, used]
                      for method in SEARCHED}
        self._own, self._images = sweep.own_tried, int(sweep.attrs["held_out"])

    def sure(self, method):
        """(3, λ): a method at the best value of its other parameter, and two standard errors below and above."""
        return with_reach(self.means[method][highest(self.means[method])[0]], self._own, self._images)

    def elsewhere(self, method):
        """The other method whose best λ suits this one least, and what it has there."""
        mean = self.sure(method)[0]
        there = {other: mean[highest(self.means[other])[1]] for other in SEARCHED if other != method}
        return min(there.items(), key=lambda item: item[1])

    def given(self, method, place):
        """The other parameter's value at a place, in words; "" where the method has none."""
        other = SEARCHES[method].other
        return f"{WORDS[other]} {SEARCHES[method].values[place]:g}" if other else ""

    def best(self, method):
        """A method's best accuracy, and where it is, in words."""
        place, step = highest(self.means[method])
        given = self.given(method, place)
        return f"{self.means[method][place, step]:.3f}, with {f'{given}, ' if given else ''}λ = {self.scales[step]:g}"


def highest(means: np.ndarray) -> tuple[int, int]:
    """Where a table with gaps is highest: (row, column)."""
    return np.unravel_index(np.nanargmax(means), means.shape)


# -- panel (c): all methods ------------------------------------------------------------------------

APART = 0.7  # rows between the single models and those that store something per task
BORDER = len(STORING) - 1 + (1 + APART) / 2
_ENDS = (-0.7, len(REPORTED) - 0.3 + APART)
MOST = 1.12  # of a single network's accuracy: where the axis ends
_ALT_OF_RACE = """
    {suite}, hyper-parameters chosen in {chosen}. Accuracy on test images as a share of the single networks', mean over
    tasks, in brackets the worst task: {means}. {best} Within the noise of {method}: {level}."""


@view
def bars_and_worst(sweeps: dict[str, xarray.Dataset], prediction=None):
    """Panel (c): every method's normalised accuracy on test images, a row a method: the mean over tasks, and a dot a
    task; green, the method that the slider chooses and those that cannot be told from it.

    Controls: method, suite, grid.

    The prediction, what the average keeps on the worst task of the suite of several data sets, is an upright line.
    """
    order = sorted(sweeps, key=lambda name: name != "several")
    rows = rows_of(results.shares(sweeps[order[0]]).mean("task"))
    tables = {(name, grid): results.shares(sweeps[name], grid).sel(reported=list(rows)).transpose(..., "task").values
              for name in order for grid in GRIDS}
    of_rows, most = np.array(list(rows.values())), max(len(table[0]) for table in tables.values())
    if prediction:
        of_average = tables["several", WIDE][list(rows).index("average")]
        prediction.panel_answers(of_average.min(), {"suite": "several", "grid": WIDE})

    @functools.cache
    def findings(suite, grid):
        return finding_of_race(sweeps[suite], grid), _best(sweeps[suite], grid)

    def draw(method, suite, grid):
        shares, chosen, (finding, best) = tables[suite, grid], list(rows).index(method), findings(suite, grid)
        means, level = shares.mean(-1), level_with(shares, chosen)
        each = np.full((2, len(rows), most), np.nan)
        each[:, :, :shares.shape[1]] = shares, np.broadcast_to(of_rows[:, None], shares.shape)
        values = {"tasks": each.reshape(2, -1), "its tasks": each[:, chosen], "methods": (means, of_rows),
                  "within the noise": (np.where(level, means, np.nan), of_rows),
                  "chosen": ([0, means[chosen]], [of_rows[chosen]] * 2),
                  "networks alone": ([1, 1], _ENDS), "storage": ([0, MOST], [BORDER] * 2)}
        alt = said(_ALT_OF_RACE, suite=sweeps[suite].attrs["suite"], best=best, method=title_of(method),
                   chosen="all that was tried" if grid == WIDE else "the sources' grids",
                   means="; ".join(f"{title_of(name)} {mean:.3f} ({least:.3f})"
                                   for name, mean, least in zip(rows, means, shares.min(-1))),
                   level=", ".join(title_of(name) for name, is_level in zip(rows, level)
                                   if is_level and name != method) or "none")
        about = key(("merged", f"{title_of(method)}, and methods that differ from it within the noise"),
                    ("", "large: mean over tasks; small dots: the tasks"),
                    ("", "below the line: a model per task, with extra storage"))
        return Frame(finding, alt, values, about)

    controls = {"method": slider("method", {title_of(method): method for method in rows}, "cart",
                                 ends=[("", "lowest row"), ("", "top row")]),
                "suite": chips("tasks", {SUITES.get(name, name): name for name in order}),
                "grid": chips("hyper-parameters from", GRID_NAMES, more=True)}
    return {"kicker": "Chapter 7: the race", "charts": [_chart_of_race(rows)], "draw": draw, "controls": controls,
            "hides": ["tasks", "its tasks", "methods", "within the noise", "chosen", "networks alone"],
            "caption": f"{captioned(sweeps)} Within the noise: the 95 % interval of the difference over tasks holds 0."}


def rows_of(means: xarray.DataArray) -> dict[str, float]:
    """{method: its row}, from below: first those that store something per task, then the others, by their means."""
    names = map(str, means.reported.values)
    ranked = sorted(names, key=lambda method: (method not in STORING, means.sel(reported=method).item()))
    return {method: row + APART * (method not in STORING) for row, method in enumerate(ranked)}


def _chart_of_race(rows):
    """Methods in rows over their accuracies."""
    named = {row: title_of(method) for method, row in rows.items()}
    shares = {share: f"{100 * share:.0f} %" for share in (0, 0.25, 0.5, 0.75, 1)}
    return Chart(Axis("accuracy, share of the single networks’", 0, MOST, ticks=shares, unit="percent"),
                 Axis("", *_ENDS, kind="places", ticks=named),
                 (Path("networks alone", "single"), Path("storage", "chance"), Path("chosen", "merged"),
                  Spots("tasks", "other", small=True), Spots("its tasks", "merged", small=True),
                  Spots("methods", "other", picks=("method",)), Spots("within the noise", "merged"),
                  Star("guess", "merged", along="x")), height=440)


def level_with(shares: np.ndarray, chosen: int) -> np.ndarray:
    """Which methods cannot be told from one: the 95 % interval of the difference over tasks holds 0. shares: (methods,
    tasks)."""
    differences = shares - shares[chosen]
    return np.array([abs(by_task.mean()) <= results.interval(by_task) for by_task in differences])


def finding_of_race(sweep: xarray.Dataset, grid: str) -> str:
    """Whether single merged models beat the plain average, and whether one of them is the best, by intervals over
    tasks."""
    leads = [results.difference(sweep, method, "average", grid) for method in SEARCHED]
    ahead, behind = (sum(sign * lead > half for lead, half in leads) for sign in (1, -1))
    if not ahead:
        return "No method beats the plain average" if behind else \
            "All methods are within the noise of the plain average"
    if ahead == 1:
        return "Only one method beats the plain average by more than the noise"
    how_many = f"{'All' if ahead == len(leads) else 'Some'} methods beat"
    leaders = results.leaders(sweep, grid)
    if len(leaders) == 1:
        return f"{how_many} the plain average, and {title_of(leaders[0])} is the best of them"
    return f"{how_many} the plain average, but which one is first is within the noise"


def _best(sweep, grid):
    """Which single merged model is the best, if that can be told."""
    leaders = [title_of(method) for method in results.leaders(sweep, grid)]
    if len(leaders) == 1:
        return f"Of the race’s {len(SEARCHED)} methods with a λ, {leaders[0]} is the best."
    first, *others = leaders
    return (f"Of the race’s {len(SEARCHED)} methods with a λ, {first} has the highest mean; of these, within the noise "
            f"of it: {', '.join(others)}.")


def captioned(sweeps, held_out: bool = False) -> str:
    """The caption of one sweep or of several, with the standard error of an accuracy, on test images or on held-out
    ones, and a sentence about tasks that the networks have not learned."""
    several = sweeps if isinstance(sweeps, dict) else {"": sweeps}
    images = min(int(sweep.attrs["held_out"]) // sweep.sizes["task"] if held_out else
                 int(sweep.attrs["images"].split()[0].replace(",", "")) for sweep in several.values())
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
        suite=suite_of(sweep),
        least=results.LEARNED)


# -- tables ----------------------------------------------------------------------------------------

def chosen(sweeps: dict[str, xarray.Dataset]) -> Page:
    """A table: the hyper-parameters that held-out images chose, in all that was tried and in the sources' grids; a star
    marks the edge of what was tried."""
    head = ["method"]
    rows = {method: [title_of(method)] for method in SEARCHED}
    edges = False
    for sweep in sweeps.values():
        suite = suite_of(sweep)
        head += [f"{suite}, {name}" for name in GRID_NAMES]
        for method in SEARCHED:
            at_edge = results.at_edge(sweep, method)
            rows[method] += [_values(sweep, method, WIDE, at_edge), _values(sweep, method, SOURCES, [])]
            edges = edges or bool(at_edge)
    note = "* The smallest or largest value that was tried, so a better one may lie beyond." if edges else \
        "No method's best lies at the edge of what was tried."
    note += " The columns of the sources' grids have no stars, because many of these grids have a single value."
    return _table(head, rows.values(), f"{_widths(sweeps)} {note} {rests_on(*sweeps.values())}")


def _values(sweep, method, grid, at_edge):
    """The chosen values in words, those at the edge with a star."""
    texts = []
    for name, value in results.chosen(sweep, method, grid).items():
        star = "*" if name in at_edge else ""
        texts.append(f"{WORDS[name]} {value:g}{star}")
    return ", ".join(texts)


def _widths(sweeps):
    """How much the chosen λ differ between the methods, and how many methods could share one."""
    parts, shared = [], []
    for sweep in sweeps.values():
        scales = sweep.scale_chosen.sel(grid=WIDE)
        low = scales.min().item()
        high = scales.max().item()
        parts.append(f"between {low:g} and {high:g} on {suite_of(sweep)}")
        scale, count = shared_scale(sweep)
        shared.append(f"{count} on {suite_of(sweep)} (λ = {scale:g})")
    return f"Of all that was tried, held-out images chose a λ {' and '.join(parts)}, depending on the method. With " \
           f"one λ for all {len(SEARCHED)} methods (the other parameter as at its best), at most " \
           f"{' and '.join(shared)} stay at their own best, within the noise of the held-out images."


def shared_scale(sweep: xarray.Dataset) -> tuple[float, int]:
    """The λ at which most methods, each with the other parameter's value of its own best, are within the noise of the
    held-out images of their best, and how many are."""
    tried = _Tried(sweep)
    level = np.zeros(len(tried.scales), int)
    for mean, low, _ in map(tried.sure, SEARCHED):
        top = np.nanargmax(mean)
        level += mean[top] - mean < 2 ** 0.5 * (mean - low)[top]
    return float(tried.scales[level.argmax()]), int(level.max())


PAIRS = (*NEIGHBOURS, ("ties", "average"), ("cart", "ties"), ("cart", "task_arithmetic"), ("cart", "average"))
COLUMNS = "Table 1: ahead in"


def order(sweeps: dict[str, xarray.Dataset]) -> Page:
    """A table: by how many points one method of Table 1 is ahead of another, with confidence intervals over tasks, in
    how many of the source's six columns it is, and among whom no best one can be told."""
    head = ["ahead by, in points", COLUMNS]
    rows = [_pair(one, other) for one, other in PAIRS]
    firsts = []
    for sweep in sweeps.values():
        suite = suite_of(sweep)
        head.append(suite)
        for row, (one, other) in zip(rows, PAIRS):
            row.append(_points(*results.difference(sweep, one, other)))
        firsts.append(f"{capital(suite)}: {_best(sweep, WIDE)}")
    note = said(
        """With 95 % intervals over tasks. Bold: ahead. Struck through: behind. Plain: within the noise. {firsts}
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
            leads[suite, one, other] = _leads(numbers, name, one, other, grid)
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
               through: behind. Plain: within the noise.{same}""",
            same=_same_as_average(leads),
            seeds=", ".join(f"{SUITES[suite]}: {count}" for suite, count in counts.items()))
    return _table(["ahead by, in points", COLUMNS, *(SUITES[suite] for suite in suites)], rows, note)


def _leads(numbers, name, method, rival, grid):
    """The ledger's leads on one suite, one value a seed; where it has none, their sum by way of task arithmetic."""
    through = [numbers.get(f"{name}: {a} over {b}{grid}", []) for a, b in
               ((method, "task_arithmetic"), ("task_arithmetic", rival))]
    return numbers.get(f"{name}: {method} over {rival}{grid}") or [sum(by_seed) for by_seed in zip(*through)]


def _same_as_average(leads):
    """A sentence about the suites where task arithmetic is as accurate as the average on every seed; "" if there are
    none."""
    same = [SUITES[suite] for suite in SUITES
            if len(values := leads.get((suite, "task_arithmetic", "average"), [])) > 1 and not any(values)]
    return f" On {' and on '.join(same)}, task arithmetic and the average have the same accuracy on every seed, as " \
           "they must where held-out images choose λ = 1/T, which gives the average." if same else ""


def _over_seeds(values):
    if not values:
        return "–"
    if len(values) == 1:
        return f"{100 * values[0]:+.1f} (1 seed)"
    return _points(np.mean(values), results.interval(np.array(values)))


def _table(head, rows, note):
    made = table(head, rows, after=quiet(note))
    return Page(f"{made.text}\n{note}", made.page)


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
        ax.plot([], [], color=look.colour, marker=look.marker, linestyle="", label=suite_of(sweep))
    ax.set_yticks(list(rows.values()), [title_of(method) for method in rows])
    ax.set(xscale="log", xlabel="λ chosen on held-out images (logarithmic)", ylim=(-0.6, len(rows) - 0.4))
    ax.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    ax.minorticks_off()
    fig.legend(loc="outside lower center", ncols=2)
    text = _widths(sweeps)
    return plotting.show(fig, text, f"{text} Open: the smallest or largest that was tried. {captioned(sweeps)}")
