"""Where the bell peaks: planted tasks, where the rule holds, and real ones, where the spectrum and the output layer
decide."""
import numpy as np
import torch
import xarray

from lessons.cart.algorithms import parts as algorithms
from lessons.cart.algorithms import planted
from lessons.cart.experiment import peak as experiment
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import centred_over_truncated, plateau
from lessons.cart.panels.overlap import best_axis
from lessons.cart.panels.parts import (
    AVERAGE,
    OF_AVERAGE,
    OF_OWN,
    OWN,
    Ranks,
    by_rank,
    curves_of_hows,
    titles,
    upright,
)
from lessons.kit import plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Markup, Page, bold, paragraph, quiet, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, level
from lessons.kit.plotting import BLACK, BLUE, GREY, PURPLE, RED, still
from lessons.kit.predict import guessed
from lessons.kit.sweep import caption, names
from lessons.merging.search import rests_on

PARTS = {"its own": Look(BLUE, "o"), "the others, with a minus": Look(RED, "s"), "sum": Look(PURPLE, "v")}


@still
def let_through(sweep: xarray.Dataset):
    """How much of a task vector gets through truncation, its own and what the others take away: left planted tasks that
    share nothing, with the spectrum of real ones; right the real ones."""
    part = sweep.sel(case=experiment.USUAL)
    tasks = experiment.CASES[experiment.USUAL].num_tasks
    counts = [int(value) for value in sweep["rank"].values[:-1]]
    sigma = torch.from_numpy(part.sigma.sel(how=HOWS[1]).values)
    of_planted = algorithms.let_through(torch.stack(planted.orthogonal_tasks(sigma, tasks)), counts[-1])
    planted_parts = [part[counts].numpy() for part in of_planted]
    real_parts = [part[name].values[:-1] for name in ("brought", "taken")]
    rule = planted.predicted_rank(sigma, tasks)
    fig, axes = plotting.figure(2, height=4.3, sharey=True)
    ranks = Ranks(sweep.isel(rank=slice(0, -1)))
    sentences = []
    for ax, name, both in zip(axes, ("planted: nothing shared", "the networks of the panel"),
                              (planted_parts, real_parts)):
        places = ranks.axis(ax, every=4)
        together = both[0] + both[1]
        for (label, look), values in zip(PARTS.items(), (*both, together)):
            ax.plot(places, values, color=look.colour, marker=look.marker, markersize=4, label=label)
        rule_place = np.interp(rule, [ranks.count(rank) for rank in ranks.values], places)
        ax.axvline(rule_place, color=BLACK, linestyle="--", linewidth=1.2, marker="", label="rule of 8.5")
        ax.set_title(name)
        best = counts[int(np.argmax(together))]
        sentences.append(f"{name}: the sum is largest with {best} directions, {together.max():.2f}")
    axes[0].set_ylabel("share of a task vector let through")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return plotting.show(fig, f"Rule of exercise 8.5: {rule} directions. {'; '.join(sentences)}.",
                         said("{caption} Layer 1. Left, the singular values are those of the networks at the right.",
                              caption=caption(sweep)))


def reading_of_the_spaces(sweep: xarray.Dataset) -> Page:
    """Why the rule does not apply to the networks: which spaces the tasks share."""
    part = sweep.sel(case=experiment.USUAL)
    return reading("What the rule takes for granted, measured",
                   """Of the leading {large:.0f} directions in layer 1 the tasks share {rows:.0%} of the row spaces
                      (what they read from the input) and {columns:.0%} of the column spaces (which units they write
                      to). The rule needs 0 for both.""",
                   large=part.large.item(), rows=part.rows.item(), columns=part.columns.item())


@panel
def peak(sweep: xarray.Dataset, prediction=None):
    """Above, the accuracy at every number of directions, λ at its best, centred and not, with the average and the own
    networks; below, the spectrum of the task vectors from θ₀. Controls: case, head.

    The prediction, with how many directions CART on five digits first reaches its best, is an upright dashed line.
    """
    parts = {name: sweep.sel(case=name) for name in names(sweep.case)}
    ranks = Ranks(sweep)
    fig, (top, below) = plotting.figure(rows=2, height=6.0, height_ratios=(5, 3), sharex=False)
    places = best_axis(top, ranks)
    top.set_xlabel("")
    curves = curves_of_hows(top)
    lines = {"average": level(top, OF_AVERAGE, AVERAGE), "own": level(top, OF_OWN, OWN)}
    spectrum = _Spectrum(below, ranks, sweep)
    guess = _Guess(top, prediction, parts, ranks)
    fig.legend(handles=[*curves, *lines.values()], loc="outside lower center", ncols=4)
    above = titles((top, below))

    def draw(case, head):
        part = parts[case]
        accuracy = part.accuracy.sel(head=head)
        for line, how in zip(curves, HOWS):
            line.set_data(places, accuracy.sel(how=how).values)
        for key, line in lines.items():
            line.set_ydata([part[key].item()] * 2)
        centred = accuracy.sel(how=HOWS[0]).values
        top_of = plateau(part, head)
        spectrum.show(part.sigma.sel(how=HOWS[1]).values, round(part.large.item()))
        guess.place(case=case, head=head)
        above[0].set_text(f"{case}, {head}: CART best with {top_of.said}: {centred.max():.3f}")
        above[1].set_text(f"a task vector’s spectrum: {part.large.item():.0f} above a quarter of the largest")
        return said("""{case}, {head}. Accuracy by directions kept, centred {centred}; from θ₀ {plain}. CART is best
                       with {best}. Singular values above a quarter of the largest: {large:.0f}. Average {average:.3f},
                       own networks {own:.3f}.""",
                    case=case, head=head, centred=by_rank(ranks, centred),
                    plain=by_rank(ranks, accuracy.sel(how=HOWS[1]).values), best=top_of.said,
                    large=part.large.item(), average=part.average.item(), own=part.own.item())

    controls = {"case": slider("tasks", {name: name for name in parts}, experiment.USUAL),
                "head": choice("output layer", experiment.HEADS)}
    return controls, fig, draw, f"{caption(sweep)} λ chosen at every rank on held-out images. {rests_on(sweep)}"


class _Guess:
    """The prediction, an upright line; the answer is where CART on five digits, the output layer cut, first cannot be
    told from its best."""

    def __init__(self, ax, prediction, parts, ranks):
        self._prediction = prediction
        self._at = {"case": experiment.FEW_DIGITS, "head": experiment.HEADS[0]}
        self._counts = [ranks.count(rank) for rank in ranks.values]
        self._line = here(ax, np.nan, color=PURPLE, linestyle="--", linewidth=2.5)
        if prediction:
            first = plateau(parts[experiment.FEW_DIGITS], experiment.HEADS[0]).first
            prediction.panel_answers(first, self._at, mark="purple dashed line")

    def place(self, **controls) -> None:
        """Where the guess stands on the axis of `Ranks`."""
        count = guessed(self._prediction, self._at, controls)
        self._line.set_xdata([np.interp(count, self._counts, np.arange(len(self._counts)))] * 2)


class _Spectrum:
    """Singular values as bars: the large ones broad, the others thin, and a line at a quarter of the largest."""

    def __init__(self, ax, ranks, sweep):
        self._counts = [ranks.count(rank) for rank in ranks.values]
        ranks.axis(ax)
        bars = {"solid_capstyle": "butt"}
        self._small = curve(ax, Look(GREY), "the others", linewidth=4, **bars)
        self._large = curve(ax, Look(RED), "large", linewidth=12, **bars)
        self._border = level(ax, Look(BLACK, line="--"), "a quarter of the largest")
        ax.set(ylabel="singular value\nin layer 1", ylim=(0, 1.08 * float(sweep.sigma.max())))
        ax.legend(handles=[self._large, self._small, self._border], loc="upper right", ncols=3)

    def show(self, sigma: np.ndarray, large: int) -> None:
        """sigma: (directions,), largest first; large: how many of them are."""
        self._border.set_ydata([algorithms.LARGE * sigma[0]] * 2)
        bars = [(place, sigma[count - 1], count) for place, count in enumerate(self._counts)
                if 1 <= count <= len(sigma)]
        self._large.set_data(*upright([bar[:2] for bar in bars if bar[2] <= large]))
        self._small.set_data(*upright([bar[:2] for bar in bars if bar[2] > large]))


def reading_of_the_cases(sweep: xarray.Dataset) -> Page:
    """A table: for every case how many singular values are above a quarter of the largest, what exercise 8.5 predicts,
    and with how many directions CART is best."""
    rows = []
    for name in map(str, sweep.case.values):
        part = sweep.sel(case=name)
        tops = [plateau(part, head) for head in experiment.HEADS]
        rows.append((name, f"{part.large.item():.0f}", f"{part.rule.item():.0f}", *(top.said for top in tops)))
    head = ("", "large singular values", "rule of 8.5", *(f"CART best, {head}" for head in experiment.HEADS))
    after = quiet(said("""In brackets: what cannot be told from the best, that is, lies within two standard errors of
                          it. {caption}""", caption=caption(sweep)))
    return table(head, rows, after=after)


def reading_of_centring(sweep: xarray.Dataset) -> Page:
    """A table: CART minus task vectors from θ₀ cut to the same number of directions, with two standard errors, and
    which is ahead, for both ways to treat the output layer; of the chapter's tasks."""
    part = sweep.sel(case=experiment.USUAL)
    ranks = Ranks(sweep)
    rows = []
    for head in experiment.HEADS:
        cells = []
        for lead in centred_over_truncated(part, head):
            cell = f"{lead.value:+.3f}"
            cells.append(bold(cell) if lead.is_news else cell)
        rows.append((head, *cells))
    shown = [place for place, rank in enumerate(ranks.values) if ranks.count(rank) in (2, 4, 6, 8, 10, 12, 16, 32, 64)]
    head = ("directions", *(ranks.texts[place] for place in shown))
    rows = [(row[0], *(row[1 + place] for place in shown)) for row in rows]
    return table(head, rows, before=paragraph(bold("Accuracy of CART minus that of task vectors from θ₀, cut alike")),
                 after=quiet(said("λ at its best for each. Bold: more than two standard errors. {caption}",
                                  caption=caption(sweep))))


def reading_of_the_best(sweep: xarray.Dataset) -> Page:
    """CART at its best, and task vectors from θ₀ at theirs, whole and cut, for both ways to treat the output layer."""
    part = sweep.sel(case=experiment.USUAL)
    images = int(part.images)
    sentences = []
    for head in experiment.HEADS:
        centred, plain = (part.accuracy.sel(head=head, how=how).values for how in HOWS)
        ahead = Difference.of(plain.max(), centred.max(), images).agrees()
        gains = Difference.of(plain[1:-1].max(), plain[-1], images).agrees()
        sentences.append(said(Markup("""
            <b>{head}</b>: CART {centred:.3f}, from θ₀ {plain:.3f} at its best and {all:.3f} with all directions.
            {ahead}: that leaving the centring out is better. {gains}: that cutting helps task vectors from θ₀."""),
                              head=f"{head[0].upper()}{head[1:]}", centred=centred.max(), plain=plain.max(),
                              all=plain[-1], ahead=ahead, gains=gains))
    return reading("Does centring help, and does cutting?", Markup("{text}"), text=Markup(" ").join(sentences))
