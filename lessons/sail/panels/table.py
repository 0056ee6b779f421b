"""Panel (e), the table: six ways to begin, each with its own learning rate."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray

from lessons.kit import noise, page, plotting
from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import Page, capital, quiet, reading, said
from lessons.kit.plotting import BLACK, GREY, still
from lessons.kit.sweep import caption, names
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Line,
    Points,
    Reference,
    Star,
    chips,
    key,
    slider,
    view,
)
from lessons.sail.algorithms import tables
from lessons.sail.experiment import table
from lessons.sail.experiment.digits import TEST
from lessons.sail.experiment.table import BEST, GREEDY, LIGO, NEAR, SAIL, SCRATCH, SEARCHED, STARTS, UNIFORM

OWN = 0.0  # the value of "each its own"
ASKED = {"set_up": NEAR.name, "steps": 100, "rate": OWN}
OTHERS = tuple(start for start in STARTS if start not in (SAIL, BEST))
_PLACES = (SCRATCH, UNIFORM, GREEDY, SAIL, SEARCHED, LIGO)  # of the right chart
_TICKS = {SCRATCH: "scratch", UNIFORM: "soup", GREEDY: "greedy", SAIL: "SAIL", SEARCHED: "best γ", LIGO: "LiGO"}
GUESSES = (-10.0, 10.0)  # points, what a learner may predict
_ROWS_AFTER = (0, 50, 200)  # steps, in the table of ratios
_FIRST = (table.NEAR, table.STRANGERS, table.OTHER, table.HALVES, table.ONE_RUN, table.FEW, table.ALIGNED, table.BIGGER)
_WHOSE = {table.NEAR: "parents of turned digits, one initialisation",
          table.STRANGERS: "the same, each parent from an initialisation of its own",
          table.ALIGNED: "the same, and their units matched",
          table.BIGGER: "parents of turned digits, widened from 50 units",
          table.OTHER: "parents of clothes (Fashion-MNIST)", table.HALVES: "parents of digits 0–4 and of digits 5–9",
          table.BRIGHT: "parents of darker digits", table.FAR: "parents of turned digits, target turned farther (75°)",
          table.ONE_RUN: "parents are checkpoints of one run",
          table.FEW: "parents of turned digits, 50 labelled images of the target"}
_SHORT = {table.NEAR: "parents of turned digits", table.HALVES: "parents of different digits"}
_ALT = "{set_up}, {steps} steps, {how}. Loss on the target, and accuracy over the best parent's: {numbers}."


@view
def beginnings(sweep: xarray.Dataset, prediction=None):
    """Panel (e): accuracy on the target over the steps from SAIL's mixture, from the best parent alone and, in grey,
    from every other start; right, by how many points each is more accurate than the best parent, with two standard
    errors.

    Controls: steps, set_up, rate (one for all, or each its own, chosen on held-out images). The prediction, by how many
    points SAIL's start is more accurate than the best parent after 100 steps, is a star.
    """
    steps_values = [int(steps) for steps in sweep.steps.values]
    parts = looked_up(sweep)
    if prediction:
        first = parts[ASKED["rate"]].sel(set_up=ASKED["set_up"], steps=ASKED["steps"])
        prediction.panel_answers(100 * float(first.accuracy.sel(start=SAIL) - first.accuracy.sel(start=BEST)), ASKED)

    curves = {(rate, str(set_up)): {name: {start: part[name].sel(set_up=set_up, start=start).values for start in STARTS}
                                    for name in ("loss", "accuracy")}
              for rate, part in parts.items() for set_up in sweep.set_up.values}

    offered = shown(names(sweep.set_up))
    room = _room([curves[OWN, set_up]["accuracy"] for set_up in offered], steps_values)

    def draw(steps, set_up, rate):
        loss, over = curves[rate, set_up].values()
        place = steps_values.index(steps)
        leads = {start: Difference.of(float(over[start][place]), float(over[BEST][place]), TEST)
                 for start in STARTS if np.isfinite(loss[start][place])}
        cut = [_TICKS[start] for start, lead in leads.items() if not room.holds(100 * lead.value)]
        inside = {start: np.where(accuracy < room.floor, np.nan, accuracy) for start, accuracy in over.items()}
        below = [_TICKS.get(start, start) for start, accuracy in over.items() if (accuracy < room.floor).any()]
        values = inside | {"sure": noise.with_reach(inside[SAIL], TEST)[1:].clip(room.floor), "none": 0.0,
                           "SAIL ahead": _bars(leads, [SAIL], room), "others ahead": _bars(leads, OTHERS, room)}
        numbers = "; ".join(f"{start} {loss[start][place]:.3f} ({lead} points)" for start, lead in leads.items())
        alt = said(_ALT, set_up=set_up, steps=steps, numbers=numbers,
                   how="each with its own learning rate" if rate == OWN else f"learning rate {rate:g}")
        over_scratch = Difference.of(float(over[SAIL][place]), float(over[SCRATCH][place]), TEST)
        return Frame(finding_of_starts(leads[SAIL], over_scratch), alt, values,
                     key(("merged", "SAIL’s mixture"), ("single", "Best parent alone"),
                         ("", "grey: scratch, soups, searched, LiGO-like"),
                         *([("", f"begin below the left axis: {', '.join(below)}")] if below else []),
                         *([("", f"off the right axis: {', '.join(cut)}")] if cut else [])))

    rates = list(map(float, sweep.rate.values))
    tried = [rate for rate in sorted({rates[0], rates[len(rates) // 2], rates[-1]}) if not _as_chosen(curves, rate)]
    controls = {"steps": slider("steps on the target", dict(zip(map(str, steps_values), steps_values)), ASKED["steps"],
                                words=lambda steps: f"after {steps} steps", places=steps_values),
                "set_up": chips("set-up", offered),
                "rate": chips("learning rate", {"each its own": OWN} | {f"{rate:g}": rate for rate in tried},
                              more=True)}
    return {"kicker": "Chapter 9: what is it worth?", "charts": _charts(steps_values, room), "draw": draw,
            "controls": controls, "hides": [SAIL, "sure", "SAIL ahead", "others ahead", *OTHERS],
            "caption": f"{caption(sweep)} Band and bars: two standard errors over the test images, "
                       "at most; another order of training would add to them. The LiGO-like start has no point "
                       "until its maps are paid for."}


def _as_chosen(curves, rate):
    """Whether all starts have chosen this learning rate in every set-up, so that it shows nothing new."""
    return all(np.array_equal(losses, curves[OWN, set_up]["loss"][start], equal_nan=True)
               for (of_rate, set_up), both in curves.items() if of_rate == rate
               for start, losses in both["loss"].items())


def shown(set_ups: list[str]) -> list[str]:
    """The six set-ups that the view offers, the usual one first."""
    return [set_up.name for set_up in _FIRST if set_up.name in set_ups][:6]


@dataclass(frozen=True)
class _Room:
    """What the two charts have room for: accuracies from `floor` to `top`, leads from `low` to `high` points."""
    floor: float
    top: float
    low: float
    high: float

    def holds(self, lead):
        """Whether a lead of so many points lies on the right axis."""
        return self.low <= lead <= self.high


def _room(accuracies, steps_values):
    """The axes that fit what is shown where each start has its own learning rate. Left: all accuracies after the first
    steps, because before them scratch only guesses. Right: the leads of SAIL's mixture over the best parent, those of
    scratch from the steps on at which the panel opens, with their bars, and what may be predicted.

    Args:
        accuracies: of every set-up that can be chosen, {start: (steps,)}.
    """
    later = np.concatenate([curves[start][1:] for curves in accuracies for start in STARTS])
    leads = [Difference.of(float(ahead), float(parent), TEST) for curves in accuracies for start in (SAIL, SCRATCH)
             for steps, ahead, parent in zip(steps_values, curves[start], curves[BEST])
             if start == SAIL or steps >= ASKED["steps"]]
    ends = [100 * (lead.value + sign * WIDE * lead.error) for lead in leads for sign in (-1, 1)]
    return _Room(max(0.0, float(np.nanmin(later)) - 0.03), min(1.0, float(np.nanmax(later)) + 0.03),
                 1.05 * min(*GUESSES, *ends), 1.05 * max(*GUESSES, *ends))


def _bars(leads, starts, room):
    """Leads of these starts in points with two standard errors, one value a place of the right chart."""
    rows = np.full((3, len(_PLACES)), np.nan)
    for place, start in enumerate(_PLACES):
        if start in starts and start in leads:
            lead = leads[start]
            rows[:, place] = 100 * (lead.value + WIDE * lead.error * np.array([0, -1, 1]))
    inside = (room.low <= rows[0]) & (rows[0] <= room.high)
    return np.where(inside, rows.clip(room.low, room.high), np.nan)


def _charts(steps_values, room):
    """Accuracy over the steps, and leads over the best parent."""
    steps = tuple(map(float, steps_values))
    left = Chart(Axis("steps", 0, steps[-1]), Axis("accuracy on the target", room.floor, room.top, unit="percent"),
                 (*(Line(start, "other", "scratch" if start == SCRATCH else "", x=steps) for start in OTHERS),
                  Band("sure", "merged", x=steps), Line(BEST, "single", "best parent", x=steps),
                  Line(SAIL, "merged", "SAIL", x=steps, dots=True, near=True), Handle("steps")))
    places = tuple(map(float, range(len(_PLACES))))
    right = Chart(Axis("", -0.5, len(_PLACES) - 0.5, "places",
                       ticks={place: _TICKS[start] for place, start in zip(places, _PLACES)}),
                  Axis("points above the best parent at these steps", room.low, room.high, digits=1),
                  (Reference("none", "single"), Points("others ahead", "other", x=places),
                   Points("SAIL ahead", "merged", x=places, written=True),
                   Star("guess", "merged", x=(places[_PLACES.index(SAIL)],))))
    return [left, right]


def finding_of_starts(over_parent: Difference, over_scratch: Difference) -> str:
    """How accurate SAIL's mixture is beside the best parent alone and beside scratch."""
    ways = ["is within the noise of" if not lead.is_news else "is ahead of" if lead.value > 0 else "is behind"
            for lead in (over_parent, over_scratch)]
    beside, scratch = ways
    if beside == scratch:
        link = {"is within the noise of": "and of", "is ahead of": "and of", "is behind": "and"}[beside]
        return f"SAIL’s mixture {beside} the best parent alone {link} scratch"
    return f"SAIL’s mixture {beside} the best parent alone, {'but' if 'behind' in scratch else 'and'} {scratch} scratch"


def looked_up(sweep: xarray.Dataset) -> dict[float, xarray.Dataset]:
    """{learning rate, `OWN` for each its own: loss and accuracy (set_up, start, steps)}."""
    by_rate = {float(rate): sweep[["loss", "accuracy"]].sel(rate=rate) for rate in sweep.rate.values}
    return {OWN: table.chosen(sweep)[["loss", "accuracy"]]} | by_rate


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (e)."""
    part = table.chosen(sweep).sel(set_up=NEAR.name, steps=100)
    return said("""Three parents learned digits turned by −45°, 0° and 45°. The target is digits turned by 20°. Each
                   start has its own learning rate. After 100 steps, scratch is {scratch:.0%} accurate. By how many
                   **points** is SAIL's mixture more accurate than the best parent alone?""",
                scratch=float(part.accuracy.sel(start=SCRATCH)))


@still
def lead(sweep: xarray.Dataset):
    """By how many points SAIL's mixture is more accurate than the best parent alone and than scratch, over the steps,
    with two standard errors: for parents of turned digits, and for parents of different digits."""
    fig, axes = plotting.figure(2, height=3.4, sharey=True)
    told = []
    for ax, set_up in zip(axes, (table.NEAR, table.HALVES)):
        part = table.chosen(sweep).accuracy.sel(set_up=set_up.name)
        for place, (rival, title, colour, marker) in enumerate(((BEST, "over the best parent", BLACK, "o"),
                                                                (SCRATCH, "over scratch", GREY, "s"))):
            drawn = part.isel(steps=slice(int(rival == SCRATCH), None))
            leads = [Difference.of(float(there.sel(start=SAIL)), float(there.sel(start=rival)), TEST)
                     for there in drawn.transpose("steps", ...)]
            places = np.arange(len(part.steps))[-len(leads):] + 0.08 * place
            ax.errorbar(places, [100 * ahead.value for ahead in leads], [100 * WIDE * ahead.error for ahead in leads],
                        color=colour, marker=marker, label=title, capsize=3)
            told.append(f"{set_up.name}, {title}: " + ", ".join(
                f"{int(steps)} steps {ahead}" for steps, ahead in zip(drawn.steps.values, leads)))
        ax.axhline(0, color=GREY, linewidth=1, marker="")
        ax.set_xticks(np.arange(len(part.steps)), [str(int(steps)) for steps in part.steps.values])
        ax.set(xlabel="steps on the target", title=capital(_SHORT[set_up]))
    axes[0].set_ylabel("lead of SAIL’s mixture, points")
    axes[0].legend()
    alt = f"Lead of SAIL's mixture in points of accuracy, with one standard error. {'; '.join(told)}."
    return plotting.show(fig, alt, f"{caption(sweep)} Bars: two standard errors over the test images, at most. Each "
                                   "start has its own learning rate. Scratch knows nothing before the first step, and "
                                   "is not drawn there.")


def bill(sweep: xarray.Dataset) -> Page:
    """What every start costs before its first step on the target."""
    steps = 474
    rows = [(SCRATCH, "–", "–", "–"), (BEST, "all of them, to choose one", "1 look at each", "–"),
            (UNIFORM, "all", "–", "–"), (GREEDY, "all", "1 look at each, and at each soup", "–"),
            (SAIL, "all, and their data", "–", "distances of all data sets"),
            (SEARCHED, "all", "66 looks with three parents, 31 with two", "–"),
            (LIGO, "one small one that learned all their data", "–", f"{table.MAP_STEPS} steps, counted")]
    return page.table(("start", "parents needed", "looks at 1,000 held-out images", "besides"), rows, left=4,
                      after=quiet(f"A parent took about {steps} steps. A look costs a fifth of the forward passes of "
                                  "a parent's epoch. Everybody's learning rate was tried at "
                                  f"{sweep.sizes['rate']} values: that bill is the same for all."))


def loss_ratios(sweep: xarray.Dataset) -> Page:
    """A row for every kind of parents that was tried: the loss from SAIL's mixture over that from the best parent
    alone, and over that from scratch, before the first step and later."""
    whose, rows = {set_up.name: text for set_up, text in _WHOSE.items()}, []
    for set_up, ratios in table.promises(sweep).items():
        rows.append((whose.get(set_up, set_up), *(f"{ratios[f'{rival}_{steps}']:.2f}"
                                                  for rival in ("parent", "scratch") for steps in _ROWS_AFTER)))
    heads = [f"÷ {rival}, {steps} steps" for rival in ("best parent", "scratch") for steps in _ROWS_AFTER]
    return page.table(("which parents are mixed", *heads), rows, after=quiet(
        "Each number is the loss from SAIL's mixture, divided by the loss from the best parent alone or from scratch, "
        f"after as many steps. Below 1 the mixture has the lower loss. {caption(sweep)}"))


def printed_percentages(how_many_fit: Callable[[Sequence[float], int], int]) -> Page:
    """A row for every test of SAIL's Table 2: how many of its percentages fit the stated number of questions, the
    smallest number that all fit, and what is printed beside guessing and beside the finished OLMo-1B.

    Args:
        how_many_fit: (percentages, questions) -> how many of them fit, the learner's exercise 9.6.
    """
    rows = []
    for name, accuracies in tables.TABLE_2.items():
        stated, percentages = tables.SAID[name], list(accuracies.values())
        fitting, smallest = how_many_fit([*percentages], stated), tables.smallest_fitting(percentages)
        questions = stated if fitting == len(percentages) else smallest or stated
        rival = max(value for start, value in accuracies.items() if start != "SAIL")
        error = tables.error_of_percentages(accuracies["SAIL"], rival, questions)
        rows.append((name, f"{stated:,}", f"{fitting} of {len(percentages)}", smallest or "above 2,000",
                     tables.CHANCE[name], *(f"{accuracies[start]:.1f}" for start in ("scratch", "LiGO", "SAIL")),
                     f"{accuracies['SAIL'] - rival:.1f} ± {error:.1f}", tables.FINISHED.get(name, "not looked up")))
    heads = ("test", "questions, as stated", "percentages that fit", "smallest number that all fit", "guessing",
             "scratch", "LiGO", "SAIL", "its lead over the best other", "finished OLMo-1B")
    return page.table(heads, rows, after=quiet("SAIL, Table 2 and app. I.2; the last column as the maker of OLMo-1B "
                                               "reports it. Accuracies in per cent."))


def reading_of_the_lead(sweep: xarray.Dataset) -> Page:
    """By how many points the mixture is more accurate than the best parent, at once and later, with one standard
    error."""
    part = table.chosen(sweep).accuracy.sel(set_up=NEAR.name)

    at_once, later = (Difference.of(*(float(part.sel(steps=steps, start=start)) for start in (SAIL, BEST)), TEST)
                      for steps in (0, ASKED["steps"]))
    soon = at_once.is_news and at_once.value > 0 and not later.is_news
    title = ("The mixture is ahead before the first step, and one parent soon does as well" if soon
             else "The mixture and the best parent alone")
    return reading(title, """
        Before any step the mixture's lead over the best parent alone was {at_once} points{doubt}. After {steps} steps
        it was {later} points{later_doubt}. (± is one standard error.)""", steps=ASKED["steps"],
                   at_once=at_once, later=later, doubt=at_once.doubt(), later_doubt=later.doubt())


def reading_of_table_2(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Table 2 of SAIL and ours, with this sweep's numbers."""
    numbers = table.claim_11(sweep)
    return reading("Table 2 of the source, and ours", """
        Digits turned, one start, each start with its own learning rate. Before any step SAIL's mixture has
        {sail_0:.2f} nats, the greedy soup {greedy_0:.2f}, the uniform one {uniform_0:.2f}, the best parent alone
        {parent_0:.2f}. After 100 steps SAIL {sail_100:.3f}, greedy {greedy_100:.3f}, uniform {uniform_100:.3f}, best
        parent {parent_100:.3f}, scratch {scratch_100:.3f}; after 200, SAIL {sail_200:.3f}, best parent
        {parent_200:.3f}, scratch {scratch_200:.3f}.""", **numbers)
