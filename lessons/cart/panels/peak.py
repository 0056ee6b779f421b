"""Where the bell peaks: planted tasks, where the rule holds, and real ones, where the spectrum and the output layer
decide."""
import numpy as np
import torch
import xarray

from lessons.cart.algorithms import parts as algorithms
from lessons.cart.algorithms import planted
from lessons.cart.experiment import peak as experiment
from lessons.cart.experiment import pixels
from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import centred_over_truncated, plateau
from lessons.cart.panels.parts import COUNTS, Ranks, by_rank, listed
from lessons.kit import plotting
from lessons.kit.noise import APART, Difference, reach
from lessons.kit.page import Markup, Page, bold, capital, paragraph, quiet, reading, said, table
from lessons.kit.plotting import BLACK, BLUE, PURPLE, RED, Look, still
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Bars, Chart, Frame, Handle, Line, Reference, Star, chips, key, view
from lessons.merging.search import rests_on

CHIPS = {experiment.USUAL: "4 tasks", "8 tasks": "8 tasks", experiment.FEW_DIGITS: "5 digits",
         "5 digits, 10 outputs": "5 digits, 10 outputs", "10 digits, 5 outputs": "10 digits, 5 outputs",
         experiment.MANY_IMAGES: experiment.MANY_IMAGES, pixels.STANDARDISED: pixels.STANDARDISED,
         pixels.SLOWER: "standardised, lower rate"}  # the cases of the view, as its chips name them
CLIFF = 0.6  # of the height of the last large singular value, at most, is the next, if there is a cliff
NO_CLIFF = "These singular values have no cliff that would say where to cut"
NEAR = 3  # directions behind the cliff, at most: right behind it
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
    ranks = Ranks(sweep)
    sentences = []
    for ax, name, both in zip(axes, ("planted: nothing shared", "the networks of the panel"),
                              (planted_parts, real_parts)):
        places = ranks.axis(ax, len(counts))
        together = both[0] + both[1]
        for (label, look), values in zip(PARTS.items(), (*both, together)):
            ax.plot(places, values, color=look.colour, marker=look.marker, markersize=4, label=label)
        ax.axvline(np.interp(rule, counts, places), color=BLACK, linestyle="--", linewidth=1.2, marker="",
                   label="rule of 8.5")
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


_ALT = """
    {case}, {head}. CART with {rank}: {mean:.3f} ± {error:.3f}; it is best with {best}. By directions kept, centred
    {centred}; from θ₀ {plain}. Singular values above a quarter of the largest: {large:.0f}, of {sigma}. Average
    {average:.3f}, networks alone {own:.3f}."""


@view
def peak(sweep: xarray.Dataset, prediction=None):
    """Above, CART's accuracy at every number of directions, λ at its best, and that of task vectors from θ₀ in grey;
    below, on the same axis, the singular values of a task vector from θ₀.

    Controls: rank, case, head. The prediction, with how many directions CART on five digits first reaches its best, is
    an upright line. The cases that have no chip are in the table (`reading_of_the_cases`).
    """
    cases = [name for name in CHIPS if name in sweep.case.values]
    parts = {name: sweep.sel(case=name) for name in cases}
    ranks = Ranks(sweep)
    opens = experiment.FEW_DIGITS if experiment.FEW_DIGITS in cases else cases[0]
    if prediction:
        first = plateau(parts[experiment.FEW_DIGITS], experiment.HEADS[0]).first
        prediction.panel_answers(first, {"case": experiment.FEW_DIGITS, "head": experiment.HEADS[0]})

    def draw(rank, case, head):
        part = parts[case]
        centred, plain = (part.accuracy.sel(head=head, how=how).values for how in HOWS)
        errors = reach(centred, int(part.images))
        sigma, column = part.sigma.sel(how=HOWS[1]).values, position(ranks.values, rank, "rank")
        large, small = ranks.bars(sigma / sigma[0], lambda count: count <= round(part.large.item()))
        values = {"sure": (centred - errors, centred + errors), "centred": centred, "plain": plain, "large": large,
                  "small": small, "border": algorithms.LARGE, "own": part.own.item(),
                  "average": part.average.item()}
        alt = said(_ALT, case=case, head=head, rank=ranks.said(rank), mean=centred[column], error=errors[column],
                   best=plateau(part, head).said, centred=by_rank(ranks, centred), plain=by_rank(ranks, plain),
                   large=part.large.item(), sigma=listed(sigma[:16], 2), average=part.average.item(),
                   own=part.own.item())
        beside = f"grey curve: not centred, {compared(plain, centred, int(part.images))} at its best"
        return Frame(finding(part, head), alt, values, key(("merged", "CART, λ at its best"), ("", beside)))

    controls = {"rank": ranks.view_slider(10.0),
                "case": chips("networks", {CHIPS[name]: name for name in cases}, opens),
                "head": chips("output layer", {"cut like the others": experiment.HEADS[0],
                                               "left whole": experiment.HEADS[1]}, more=True)}
    return {"kicker": "Chapter 8: where the bell peaks",
            "tries": ("Choose 60,000 images, which makes the training longer. What becomes of the cliff?",
                      "Choose standardised pixels. Does the lower rate bring the cliff back?"),
            "charts": _charts(sweep, ranks), "draw": draw,
            "controls": controls, "hides": ["centred", "sure", "plain"], "stacked": True,
            "caption": f"{caption(sweep)} λ chosen at every rank on held-out images. {rests_on(sweep)} Bars: singular "
                       f"values of the first layer's task vectors from θ₀, mean over the tasks. Standardised: the "
                       f"pixels minus {pixels.MEAN}, over {pixels.SPREAD}. The learning rate is {experiment.LR}, the "
                       f"lower one {pixels.LOW}. Band: two standard errors, {APART}."}


def _charts(sweep, ranks):
    """Accuracy, and below it the singular values."""
    places = ranks.places
    above = Chart(ranks.view_axis("directions kept in the hidden layer", tail=True),
                  Axis("mean accuracy over the tasks", 0, 1, unit="percent"),
                  (Reference("own", "single", "each alone"), Reference("average", "other", "average"),
                   Line("plain", "other", "not centred", x=places), Band("sure", "merged", x=places),
                   Line("centred", "merged", "CART", x=places, dots=True, near=True), Star("guess", along="x"),
                   Handle("rank")))
    below = Chart(ranks.view_axis("direction", tail=True),
                  Axis("singular value, of the largest", 0, 1, unit="percent"),
                  (Bars("large", "single", "large", x=places, bare=True),
                   Bars("small", "other", "small", x=places, bare=True),
                   Reference("border", "other", "of the largest"),
                   Handle("rank")),
                  height=160)
    return [above, below]


def compared(plain: np.ndarray, centred: np.ndarray, images: int) -> str:
    """Task vectors from θ₀ against CART, each with its best number of directions, in two words."""
    ahead = Difference.of(float(plain.max()), float(centred.max()), images)
    if not ahead.is_news:
        return "as accurate"
    return "more accurate" if ahead.value > 0 else "less accurate"


def behind_the_cliff(part: xarray.Dataset, head: str) -> int | None:
    """How many directions behind the cliff in the singular values CART first reaches its best; None without a cliff.
    There is one if, behind the last value that is above a quarter of the largest, the next has at most `CLIFF` of its
    height.

    Args:
        part: one case of the sweep.
    """
    sigma, large = part.sigma.sel(how=HOWS[1]).values, round(part.large.item())
    if large >= len(sigma) or sigma[large] > CLIFF * sigma[large - 1]:
        return None
    return plateau(part, head).first - large


def finding(part: xarray.Dataset, head: str) -> str:
    """Where CART first reaches its best, beside the cliff. At the cliff means that exactly the large singular values
    are kept.

    Args:
        part: one case of the sweep.
    """
    behind = behind_the_cliff(part, head)
    if behind is None:
        return NO_CLIFF
    if behind < 0:
        return "CART reaches its best before the cliff in the singular values"
    if behind == 0:
        return "CART reaches its best at the cliff, with exactly the large singular values kept"
    if behind <= NEAR:
        return "CART reaches its best right behind the cliff in the singular values"
    return "CART reaches its best well behind the cliff in the singular values"


def reading_of_the_cases(sweep: xarray.Dataset) -> Page:
    """A table: for every case how many singular values are above a quarter of the largest, what exercise 8.5 predicts,
    and with how many directions CART is best."""
    rows = []
    for name in map(str, sweep.case.values):
        part = sweep.sel(case=name)
        tops = [plateau(part, head) for head in experiment.HEADS]
        cliff = " (no cliff)" if behind_the_cliff(part, experiment.HEADS[0]) is None else ""
        rows.append((name, f"{part.large.item():.0f}{cliff}", f"{part.rule.item():.0f}", *(top.said for top in tops)))
    head = ("", "number of large singular values", "rule of 8.5",
            *(f"directions with which CART is best, {head}" for head in experiment.HEADS))
    after = quiet(said("In brackets: what lies within two standard errors of the best. {caption}",
                       caption=caption(sweep)))
    return table(head, rows, after=after)


def reading_of_the_cliff(sweep: xarray.Dataset) -> Page:
    """In which of the view's cases the cliff is a good place to start, with the output layer cut; below it a table of
    all of them, with where CART begins to be at its best for both ways to treat the output layer."""
    head = experiment.HEADS[0]
    cases = {name: sweep.sel(case=name) for name in CHIPS if name in sweep.case.values}
    behind = {name: behind_the_cliff(part, head) for name, part in cases.items()}
    near = [f"“{CHIPS[name]}”" for name, count in behind.items() if count is not None and 0 <= count <= NEAR]
    far = [f"“{CHIPS[name]}”" for name, count in behind.items() if count is not None and not 0 <= count <= NEAR]
    title = "With the output layer cut, the cliff was a good place to start in some rows" \
        if 0 < len(near) < len(cases) else "The cliff, and where CART begins to be at its best"
    first = reading(title, "{near} {far} {none}",
                    near=f"In the row{'s' * (len(near) > 1)} {_in_a_row(near)}, CART begins to be at its best at the "
                    "cliff or right behind it." if near else "",
                    far=_far_from_it(far, near),
                    none=_without_a_cliff([part for name, part in cases.items() if behind[name] is None], head))
    rows = [(CHIPS[name], f"{part.large.item():.0f}", "no" if behind[name] is None else "yes",
             *(plateau(part, which).first for which in experiment.HEADS)) for name, part in cases.items()]
    below = table(("networks", "large values", "cliff?",
                   *(f"CART begins to be at its best at, output layer {which}" for which in ("cut", "whole"))), rows)
    return Page(f"{first.text}\n{below.text}", first.page + below.page)


def _far_from_it(far, near):
    """One sentence on the cases with a cliff in which CART begins to be at its best elsewhere."""
    if not far:
        return ""
    rows = f"In the row{'s' * (len(far) > 1)} {_in_a_row(far)}, which {'have' if len(far) > 1 else 'has'} a cliff"
    return f"{rows}, too, it does not." if near else f"{rows}, CART begins to be at its best before it or well behind."


def _without_a_cliff(parts, head):
    """One sentence on the cases without a cliff: in how many CART begins to be at its best at the number of large
    values."""
    if len(parts) < 2:
        return ""
    hits = sum(plateau(part, head).first == round(part.large.item()) for part in parts)
    return (f"Of the {COUNTS[len(parts)]} rows without a cliff, CART begins to be at its best at the number of large "
            f"values in {COUNTS[hits]}.")


def _in_a_row(names):
    """Names in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


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


def _told(lead, more, less, level):
    """Which of three phrases a difference asks for."""
    if not lead.is_news:
        return level
    return more if lead.value > 0 else less


def reading_of_the_best(sweep: xarray.Dataset) -> Page:
    """CART at its best, and task vectors from θ₀ at theirs, whole and cut, for both ways to treat the output layer."""
    part = sweep.sel(case=experiment.USUAL)
    images = int(part.images)
    sentences = []
    for head in experiment.HEADS:
        centred, plain = (part.accuracy.sel(head=head, how=how).values for how in HOWS)
        ahead = Difference.of(plain.max(), centred.max(), images)
        gains = Difference.of(plain[1:-1].max(), plain[-1], images)
        sentences.append(said(Markup("""
            <b>{head}</b>: CART {centred:.3f}, from θ₀ {plain:.3f} at its best and {all:.3f} with all directions. {how}
            the centring out, and {cutting} task vectors from θ₀."""),
                              head=capital(head), centred=centred.max(), plain=plain.max(), all=plain[-1],
                              how=_told(ahead, "It is better to leave", "It is worse to leave",
                                        "It makes no difference beyond the noise to leave"),
                              cutting=_told(gains, "cutting helps", "cutting harms",
                                            "cutting changes nothing beyond the noise for")))
    return reading("Does centring help, and does cutting?", Markup("{text}"), text=Markup(" ").join(sentences))
