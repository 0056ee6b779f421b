"""The pictures of test-time adaptation."""
import numpy as np
import xarray

from lessons.interference.experiment import IN_THE_LEDGER, results
from lessons.interference.experiment.adaptation import ADAPTED, REACH, at_the_border, within_reach
from lessons.interference.panels.methods import title_of
from lessons.kit import claims, page, plotting
from lessons.kit.noise import told
from lessons.kit.page import Page, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, GREEN, ORANGE, PURPLE
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position

ENTROPY = Look(ORANGE, "^")
ACCURACY = Look(BLUE, "o")
COLLAPSE = Look(GREEN, "s")
OTHER = Look(PURPLE, line=":")


@panel
def adapting(sweep: xarray.Dataset, prediction=None):
    """Panel (e): entropy, accuracy and collapse against the step; right, how far λ has moved in the end, per layer and
    task. Controls: step, method.

    The prediction, the accuracy of AdaMerging after the last step, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(5, 4))
    steps = sweep.step.values
    curves = _Curves(left, sweep)
    asked = {"method": "adamerging", "step": int(steps[-1])}
    star = Star(left, prediction, steps[-1], curves.accuracy[list(ADAPTED).index("adamerging"), -1], asked)
    now = here(left, 0)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    moved = (sweep.lam - sweep.start).transpose("adapted", "layer", "task").values
    most = np.abs(moved).max()
    images = {}
    for method, table in zip(ADAPTED, moved):
        images[method] = right.imshow(table, aspect="auto", cmap="PuOr", vmin=-most, vmax=most, animated=True)
    tasks = [str(task).replace("permuted ", "") for task in sweep.task.values]
    layers = [str(layer).replace("layers.", "") for layer in sweep.layer.values]
    right.set_xticks(range(len(tasks)), tasks, rotation=60, ha="right", fontsize=9.5)
    right.set_yticks(range(len(layers)), layers, fontsize=9.5)
    right.grid(False)
    fig.colorbar(images["adamerging"], ax=right, label="how far λ has moved in the end")
    titles = moving_titles((left, right))
    methods = list(ADAPTED)

    def draw(step, method):
        row = methods.index(method)
        place = position(steps, step, "step")
        curves.show(row)
        now.set_xdata([step, step])
        star.place(step=step, method=method)
        for name, image in images.items():
            image.set_visible(name == method)
        entropy = curves.entropy[row, place]
        accuracy = curves.accuracy[row, place]
        titles[0].set_text(f"Step {step}: entropy {entropy:.2f}, accuracy {accuracy:.3f}")
        titles[1].set_text(f"{title_of(method)}: λ began at {float(sweep.start[row]):g}")
        return _alt(sweep, curves, row, place)

    controls = {"step": slider("step", [int(step) for step in steps], 0),
                "method": choice("method", {title_of(method): method for method in methods})}
    return controls, fig, draw, caption(sweep) + " Ten classes: evenly spread predictions put 10 % on each."


class _Curves:
    """Left: entropy, accuracy and collapse of one method against the step, and the accuracy of the other.

    Attributes:
        entropy, accuracy, collapse: (adapted, step); accuracy is the mean over tasks.
    """

    def __init__(self, ax, sweep):
        self.steps = sweep.step.values
        self.entropy = sweep.entropy.transpose("adapted", "step").values
        self.accuracy = sweep.accuracy.transpose("adapted", "step", "task").values.mean(-1)
        self.collapse = sweep.collapse.transpose("adapted", "step").values
        last = self.steps[-1]
        ax.set(xlabel="step", ylabel="share; entropy in nats", xlim=(-0.02 * last, 1.02 * last),
               ylim=(0, max(1.02, 1.1 * self.entropy.max())))
        self._of_entropy = curve(ax, ENTROPY, "entropy of the predictions (nats)", markersize=4)
        self._of_accuracy = curve(ax, ACCURACY, "accuracy, share of the single model's", markersize=4)
        self._of_collapse = curve(ax, COLLAPSE, "predictions on the most frequent class", markersize=4)
        self._other = curve(ax, OTHER, "accuracy of the other method", linewidth=1.8)

    def show(self, row):
        """The method in this row of `adapted`."""
        self._of_entropy.set_data(self.steps, self.entropy[row])
        self._of_accuracy.set_data(self.steps, self.accuracy[row])
        self._of_collapse.set_data(self.steps, self.collapse[row])
        self._other.set_data(self.steps, self.accuracy[1 - row])


def _alt(sweep, curves, row, place):
    """What the panel shows of one method at one step."""
    lam = sweep.lam.isel(adapted=row)
    return said(
        """{method} on {suite}, step {step} of {last}: entropy {entropy:.3f} nats (at first {entropy_first:.3f}),
           accuracy {accuracy:.3f} of the single model's (at first {accuracy_first:.3f}, in the end {accuracy_last:.3f};
           the other method ends at {other_last:.3f}); {collapse:.0%} of the predictions fall on a task's most frequent
           class. λ in the end between {lowest:.2f} and {highest:.2f}, from {start:g}.""",
        method=title_of(list(ADAPTED)[row]),
        suite=sweep.attrs["suite"],
        step=curves.steps[place],
        last=curves.steps[-1],
        entropy=curves.entropy[row, place],
        entropy_first=curves.entropy[row, 0],
        accuracy=curves.accuracy[row, place],
        accuracy_first=curves.accuracy[row, 0],
        accuracy_last=curves.accuracy[row, -1],
        other_last=curves.accuracy[1 - row, -1],
        collapse=curves.collapse[row, place],
        lowest=lam.min().item(),
        highest=lam.max().item(),
        start=float(sweep.start[row]))


def reading(sweeps: dict[str, xarray.Dataset]) -> Page:
    """What adaptation did to entropy and to accuracy, with these sweeps' numbers."""
    parts = []
    for sweep in sweeps.values():
        both = "; ".join(_what_happened(sweep, method) for method in ADAPTED)
        ends = sweep.accuracy.isel(step=-1)
        lead = (ends.sel(adapted="adamerging_cart") - ends.sel(adapted="adamerging")).values
        half = results.interval(lead)
        parts.append(said(
            """On {suite}: {both}. That it ends higher with CART's vectors: {verdict} ({lead:+.3f} ± {half:.3f}, 95 %
               over tasks). {on_the_way}""",
            suite=sweep.attrs["suite"], both=both, verdict=told(lead.mean(), half / 2).lower(), lead=lead.mean(),
            half=half, on_the_way=_on_the_way(sweep)))
    return page.reading("What adaptation did", "{text}", text=" ".join(parts))


def _what_happened(sweep, method):
    of_method = sweep.sel(adapted=method)
    entropy = of_method.entropy.values
    accuracy = of_method.accuracy.mean("task").values
    change = (of_method.accuracy.isel(step=-1) - of_method.accuracy.isel(step=0)).values
    return said(
        """{method} takes the entropy from {entropy_first:.2f} to {entropy_last:.2f} nats and the accuracy from
           {accuracy_first:.3f} to {accuracy_last:.3f}, a change of {change:+.3f} ± {half:.3f} (highest on the way:
           {highest:.3f})""",
        change=change.mean(),
        half=results.interval(change),
        method=title_of(method),
        entropy_first=entropy[0],
        entropy_last=entropy[-1],
        accuracy_first=accuracy[0],
        accuracy_last=accuracy[-1],
        highest=accuracy.max())


def _on_the_way(sweep):
    """Whether the longer way explains the fall."""
    of_method = sweep.sel(adapted="adamerging")
    step = within_reach(sweep)
    mean = of_method.accuracy.mean("task")
    return said(
        """By step {step}, when no λ can have moved by more than about {reach:g}, as far as in the sources' 500 steps of
           0.001, AdaMerging has gone from {first:.3f} to {then:.3f}. In the end {border:.0%} of its λ are at 0 or 1,
           where they are held; CART's are free.""",
        step=step,
        reach=REACH,
        first=mean.sel(step=0).item(),
        then=mean.sel(step=step).item(),
        border=at_the_border(sweep))


# -- the ledger ------------------------------------------------------------------------------------

HEAD = ("", "accuracy at first, share of the single models'", "entropy, change in nats",
        "accuracy, change in points", "predictions on the most frequent class, in the end")


def in_the_ledger() -> Page:
    """A table: what adaptation did over the ledger's seeds on the real data, and how far ahead CART's ends."""
    numbers = claims.measured().get("CART-9", {})
    suites = [name for name in IN_THE_LEDGER.values() if f"{name}: with CART over without" in numbers]
    rows = [_row(numbers, suite, method) for suite in suites for method in ADAPTED]
    note = "The ledger has no numbers yet."
    if suites:
        note = said(
            """AdaMerging + CART ends ahead of AdaMerging by (below 0: behind): {leads}. In the table stand the smallest
               and the largest value over the ledger's seeds, on the real data.""",
            leads="; ".join(_lead(numbers, suite) for suite in suites))
    made = page.table(HEAD, rows, after=page.quiet(note))
    return Page(f"{made.text}\n{note}", made.page)


def _row(numbers, suite, method):
    """What adaptation did on one suite with one method."""
    def by_seed(what):
        return np.array(numbers[f"{suite}: {method}, {what}"])

    entropy = by_seed("entropy in the end") - by_seed("entropy at first")
    accuracy = by_seed("in the end") - by_seed("at first")
    return (f"{suite}, {title_of(method)}",
            _span(by_seed("at first"), ".3f"),
            _span(entropy, "+.2f"),
            _span(100 * accuracy, "+.1f"),
            _span(by_seed("collapse in the end"), ".0%"))


def _lead(numbers, suite):
    """By how much AdaMerging + CART ends ahead on one suite."""
    lead = 100 * np.array(numbers[f"{suite}: with CART over without"])
    intervals = np.abs(numbers[f"{suite}: with CART over without, in intervals"])
    surely = (intervals > 1).sum()
    seeds = len(lead)
    half = results.interval(lead) if seeds > 1 else np.inf
    verdict = told(lead.mean(), half / 2).lower()
    return (f"on {suite} {_span(lead, '+.1f')} points, mean {lead.mean():+.1f} ± {half:.1f} over {seeds} seeds "
            f"(that it is ahead: {verdict}; over the tasks of one seed, {surely} of {seeds} tell it from 0)")


def _span(values, form):
    """The smallest and the largest value, or one number where they look the same."""
    low = f"{min(values):{form}}"
    high = f"{max(values):{form}}"
    return low if low == high else f"{low} … {high}"
