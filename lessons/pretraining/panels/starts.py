"""The pictures of the four settings, of matching and of the time apart: three views, and the source's Figure 11
redrawn from our measurement."""
import math

import numpy as np
import xarray

from lessons.kit import claims, plotting
from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import Page, agrees, capital, paragraph, reading, said, table
from lessons.kit.plotting import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    Look,
    WithQuartiles,
    layer_ticks,
    still,
    themed,
    violin,
)
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import (
    Axis,
    Chart,
    Frame,
    Handle,
    Line,
    Map,
    Reference,
    Spots,
    Star,
    chips,
    key,
    percent,
    slider,
    view,
)
from lessons.lines.panels import ALPHA_AXIS, share_of_a
from lessons.pretraining.experiment import starts
from lessons.pretraining.experiment.starts import (
    BY_FEATURES,
    BY_WEIGHTS,
    HOWS,
    ONE_EPOCH,
    ONE_START,
    PAIRS,
    PRETRAINED,
    SETTINGS,
    SOURCE,
    STRANGERS,
    TREATMENTS,
    TWO_EPOCHS,
)

LOOKS = {STRANGERS: Look(GREY, "s"), BY_WEIGHTS: Look(ORANGE, "^"), BY_FEATURES: Look(RED, "v"),
         ONE_START: Look(GREEN, "D"), PRETRAINED: Look(BLUE, "o")}
NAMES = {setting: setting for setting in SETTINGS} | {ONE_START: "one random start, two epochs apart",
                                                      PRETRAINED: "pretrained, one epoch apart"}
NEARLY = 1.5  # times the gap from one start: a pair that has less mixes nearly as linearly
ABOUT = 1.25  # times as large, or as small, is about the same: other seeds change these ratios by a fifth


# -- panel (a): one layer's units ------------------------------------------------------------------

FIRST = 30  # units shown of a layer: of all 100 the diagonal would be too thin to see
TWIN = 0.9  # the correlation from which two units are called twins
ORDERS = {STRANGERS: "in their own order", BY_WEIGHTS: "matched by weights", BY_FEATURES: "matched by activations"}


@view
def units(sweep: xarray.Dataset):
    """Panel (a): a map of the correlation of A's first 30 units with those of B, a stranger; right, the correlation of
    the first, fifth, tenth … best pair of units at one place and, in grey, in B's own order and of best matches.

    Controls: rank, how, layer.
    """
    layers, ranks = names(sweep.unit_layer), [1, *range(5, sweep.sizes["unit"] + 1, 5)]
    rows = np.array(ranks) - 1
    tables = {(how, layer): sweep.correlation.sel(how=how, unit_layer=layer).transpose("unit", "partner").values / 100
              for how in HOWS for layer in layers}

    def draw(rank, how, layer):
        table = tables[how, layer]
        partners, unmatched, best = np.diag(table), np.diag(tables[STRANGERS, layer]), table.max(1)
        falling = [np.sort(values)[::-1][rows] for values in (partners, unmatched, best)]
        values = {"cells": table[:FIRST, :FIRST], "twins": TWIN, "at its place": falling[0],
                  "own order": np.full(len(ranks), np.nan) if how == STRANGERS else falling[1], "best": falling[2]}
        alt = said("""{layer} with {how}: a unit of A correlates {mean:.2f} on average with the unit of B that stands at
                      its place; {above:.0%} of the units above 0.5, {twins:.0%} above {twin}. Pair {rank}, counted from
                      the best, has {here:.2f}. The best match anywhere has {best:.2f} on average.""",
                   layer=capital(layer), how=how, mean=partners.mean(), above=(partners > 0.5).mean(), rank=rank,
                   here=falling[0][ranks.index(rank)], twins=(partners > TWIN).mean(), twin=TWIN, best=best.mean())
        return Frame(finding_of_units(how, partners), alt, values,
                     key(("merged", f"Units at the same place, B’s {ORDERS[how]}"),
                         ("", "dashed: best match anywhere")))

    pairs = slider("pairs of units, the best first", ranks, ranks[len(ranks) // 2], words=lambda rank: f"pair {rank}",
                   ends=[("", "the best pair"), ("", "the worst")])
    return {"kicker": "Chapter 5: which unit is which?", "charts": _unit_charts(ranks), "draw": draw,
            "controls": {"rank": pairs,
                         "how": chips("B’s units are", {text: how for how, text in ORDERS.items()}, BY_FEATURES),
                         "layer": chips("layer", layers, more=True)},
            "caption": f"{caption(sweep)} A learned 45°, B 90°. The best match anywhere may be taken by several units."}


def _unit_charts(ranks):
    """The map of the first units, and the correlations at the same place, from the highest down."""
    shown = (1, 10, 20, 30)
    left = Chart(Axis("unit of B", 0.5, FIRST + 0.5, ticks={place: f"{place}" for place in shown}),
                 Axis("unit of A, correlation", 0.5, FIRST + 0.5,
                      ticks={FIRST + 1 - place: f"{place}" for place in shown}), (Map("cells", low=0.3, high=0.8),))
    right = Chart(Axis("pairs of units, the best first", ranks[0], ranks[-1],
                       ticks={rank: f"{rank}" for rank in ranks if rank == 1 or rank % 20 == 0}),
                  Axis("correlation of a pair", -0.7, 1, digits=2),
                  (Reference("twins", "chance", "twins"), Line("own order", "other", "own order"),
                   Line("best", "other", "best match", dashed=True),
                   Line("at its place", "merged", "same place", dots=True, near=True), Handle("rank")))
    return [left, right]


def finding_of_units(how: str, partners: np.ndarray) -> str:
    """Whether units at the same place are alike, and whether they are twins. partners: (units,), their correlations."""
    order, error = capital(ORDERS[how]), partners.std(ddof=1) / math.sqrt(len(partners))
    if partners.mean() < WIDE * error:
        return f"{order}, units at the same place show no likeness"
    share = (partners > TWIN).mean()
    twins = "most" if share > 0.5 else "hardly any" if share < 0.05 else "some"
    joined = "but" if share < 0.05 else "and"
    return f"{order}, units at the same place are alike on average, {joined} {twins} are twins"


# -- panel (b): the line ---------------------------------------------------------------------------

MOST_SHARE = 0.6  # of the distance between A and B, where the axis of the gap ends
MOST = 0.25  # of the strangers' barrier: where matching leaves less, it removes most of it
SMALL = 0.1  # nats: a barrier below it is hardly one
_LABELS = {STRANGERS: "strangers", BY_FEATURES: "by activations", ONE_START: "one random start",
           PRETRAINED: "pretrained", BY_WEIGHTS: "by weights"}


@view
def along_the_line(sweep: xarray.Dataset, prediction=None):
    """Panel (b): the loss along the line between strangers that were matched by weights and, in grey, in every other
    setting; right, per layer, the gap at α as a share of the distance between A and B.

    Controls: alpha, pair. The prediction, the share at the output for matched strangers, is a star.
    """
    alphas, order, plain = sweep.alpha.values, ("pair", "setting", "alpha"), sweep.sel(treatment=TREATMENTS[0])
    losses = plain.loss.transpose(*order).values
    shares = (plain.gap_mean / plain.own_mean).transpose(*order, "layer").values
    barriers = starts.barriers(plain).transpose(*order[:2]).values
    middle, matched = position(alphas, 0.5), SETTINGS.index(BY_WEIGHTS)
    if prediction:
        prediction.panel_answers(shares[0, matched, middle, -1], {"pair": PAIRS[0], "alpha": 0.5})
    findings = [finding_of_matching(pair, dict(zip(SETTINGS, barriers[p])),
                                    dict(zip(SETTINGS, shares[p, :, middle].mean(-1))))
                for p, pair in enumerate(PAIRS)]

    def draw(alpha, pair):
        step, p = position(alphas, alpha), PAIRS.index(pair)
        values, measured = {"half-way": ([0.5], [losses[p, SETTINGS.index(STRANGERS), middle]])}, []
        for s, setting in enumerate(SETTINGS):
            gaps = shares[p, s, step]
            values |= {f"loss, {setting}": losses[p, s], setting: np.where(gaps <= MOST_SHARE, gaps, np.nan)}
            if np.isfinite(losses[p, s]).all():
                written = ", ".join(f"{gap:.3f}" for gap in gaps)
                measured.append(f"{setting} {losses[p, s, step]:.3f}, highest above the straight line "
                                f"{barriers[p, s]:.3f}, gap {written}")
        alt = (f"Loss and gap (share of the distance between A and B, per layer) for {pair} at α = {alpha:.2f}: "
               f"{'; '.join(measured)}.")
        cut = [("", "above the axis: strangers at the output")] * bool((shares[p, :, step] > MOST_SHARE).any())
        about = key(("merged", "Strangers, matched by weights"), ("", "grey: other pairs"), *cut)
        return Frame(findings[p], alt, values, about)

    pairs = {"two tasks, 45° and 90°": PAIRS[0], "one task, 90° both": PAIRS[1]}
    return {"kicker": "Chapter 5: matching strangers",
            "tries": ("Choose “one task, 90° both”. How much of the barrier does matching remove?",
                      "Go back to two tasks, and compare the lines in the second chart. A low line is a small gap.",
                      "Find the line of one random start."),
            "charts": _line_charts(names(sweep.layer), losses), "draw": draw,
            "controls": {"alpha": share_of_a(alphas), "pair": chips("A and B learned", pairs)},
            "hides": [mark for setting in SETTINGS for mark in (setting, f"loss, {setting}")]}


def _line_charts(layers, losses):
    """The loss over α, and the gap over the layers."""
    left = Chart(ALPHA_AXIS, Axis("loss on the tasks, in nats", 0, 1.05 * float(np.nanmax(losses)), digits=2),
                 (*(Line(f"loss, {setting}", "other") for setting in _LABELS if setting != BY_WEIGHTS),
                  Spots("half-way", "other", names=("strangers",)),
                  Line(f"loss, {BY_WEIGHTS}", "merged", "matched", near=True), Handle("alpha")))
    places = tuple(range(len(layers)))
    right = Chart(Axis("", -0.2, len(layers) - 0.8, "places", ticks=dict(zip(places, layers))),
                  Axis("gap, share of the distance between A and B", 0, MOST_SHARE, unit="percent"),
                  (*(Line(setting, "merged" if setting == BY_WEIGHTS else "other", label, places, dots=True, bare=True)
                     for setting, label in _LABELS.items()), Star("guess", "merged", x=(places[-1],))))
    return [left, right]


def finding_of_matching(pair: str, barriers: dict[str, float], shares: dict[str, float]) -> str:
    """What matching does: to the barrier between strangers that learned one task; to the gap between strangers that
    learned two, beside networks from one start.

    Args:
        barriers: {setting: nats}.
        shares: {setting: the gap half-way, mean over the layers, as a share of the distance between the two}.
    """
    if pair == PAIRS[1]:
        high, left = barriers[STRANGERS], max(barriers[BY_WEIGHTS], barriers[BY_FEATURES])
        if high < SMALL:
            return "There is hardly a barrier between these strangers"
        removed = "most" if left < MOST * high else "a part" if left < high - SMALL else "hardly anything"
        return f"Matching removes {removed} of the barrier between strangers"
    if shares[BY_WEIGHTS] > shares[STRANGERS] / NEARLY:
        return "Matching by weights hardly lets strangers mix more linearly"
    one_start = min(shares[ONE_START], shares[PRETRAINED])
    as_well = "nearly as linearly as" if shares[BY_WEIGHTS] < NEARLY * one_start else "more linearly, but not as"
    return f"Matching lets strangers mix {as_well} networks from one start"


def question_of_matching(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (b)."""
    output = sweep.sel(setting=STRANGERS, pair=PAIRS[0], treatment=TREATMENTS[0], alpha=0.5).isel(layer=-1)
    return said("""Half-way between two strangers that learned {tasks} the gap in the **output** is {share} of the
                   distance between A’s and B’s outputs. What is it once B’s units are **matched by weights**?""",
                tasks=" and ".join(f"{angle:g}°" for angle in starts.ANGLES),
                share=percent((output.gap_mean / output.own_mean).item()))


def reading_of_matching(sweep: xarray.Dataset) -> Page:
    """What matching does to the barrier between strangers of one task, and to the gap in the output for two tasks."""
    rise = starts.barriers(sweep).sel(pair=PAIRS[1], treatment=TREATMENTS[0])
    barriers = {setting: rise.sel(setting=setting).item() for setting in HOWS}
    middle = sweep.sel(pair=PAIRS[0], treatment=TREATMENTS[0], alpha=0.5).isel(layer=-1)
    share = {name: (middle.gap_mean / middle.own_mean).sel(setting=setting).item()
             for name, setting in (("strangers", STRANGERS), ("matched", BY_WEIGHTS), ("one_start", ONE_START))}
    return reading(finding_of_matching(PAIRS[1], barriers, {}), """
        When both learned {task:g}°, the barrier was {before:.2f} nats, and {after:.2f} once their units were matched.
        With two tasks, the gap in the output was {strangers:.0%} of the distance between A’s and B’s outputs, and
        {matched:.0%} after matching by weights. Two networks from one random start had {one_start:.0%} without any
        matching.""",
                   task=starts.ANGLES[1], before=barriers[STRANGERS], after=max(barriers[BY_WEIGHTS],
                                                                                barriers[BY_FEATURES]), **share)


def with_repair(sweep: xarray.Dataset) -> Page:
    """What REPAIR does to the barrier of every pair, as a table."""
    rise, rows = starts.barriers(sweep), []
    for pair in PAIRS:
        for setting in SETTINGS:
            both = [rise.sel(pair=pair, setting=setting, treatment=treatment).item() for treatment in TREATMENTS]
            if np.isfinite(both).all():
                rows.append((pair, setting, *(f"{value:.3f}" for value in both)))
    return table(("A and B learned", "setting", "barrier (nats)", "barrier with REPAIR"), rows, left=2,
                 after=paragraph(_of_repair(rise)))


_NO_BARRIER = 0.0005  # nats: less is written as 0.000


def _of_repair(rise):
    """What REPAIR did to the barriers that there were, and to the highest of them."""
    before, after = (rise.sel(treatment=treatment).values.ravel() for treatment in TREATMENTS)
    there = np.isfinite(before) & np.isfinite(after) & (before > _NO_BARRIER)
    lowers = "REPAIR lowered every barrier that there was." if (after[there] < before[there]).all() else ""
    highest = int(np.nanargmax(np.where(there, before, np.nan))) if there.any() else 0
    falls = said("The highest went from {before:.3f} to {after:.3f} nats.", before=before[highest],
                 after=after[highest])
    return f"{lowers} {falls}".strip() if there.any() else "There was no barrier."


# -- panel (c): one start, equally long apart -------------------------------------------------------

TIMES = {"one epoch": ONE_EPOCH, "two epochs": TWO_EPOCHS}


@view
def from_one_start(sweep: xarray.Dataset, prediction=None):
    """Panel (c): the gap along the line, mean over the hidden layers, of two networks from one random start and, in
    grey, of two pretrained ones, equally long apart, and of strangers; right, as a share of the distance between them.

    Controls: alpha, apart. The prediction, the gap half-way from a random start, one epoch apart, is a star.
    """
    alphas = sweep.alpha.values
    hidden = sweep.sel(pair=PAIRS[0], treatment=TREATMENTS[0]).isel(layer=slice(None, -1))
    gap, share = ({setting: part.sel(setting=setting).mean("layer").values for setting in names(sweep.setting)}
                  for part in (hidden.gap_mean, hidden.gap_mean / hidden.own_mean))
    middle = position(alphas, 0.5)
    if prediction:
        prediction.panel_answers(gap[ONE_EPOCH[0]][middle], {"alpha": 0.5, "apart": "one epoch"})

    def draw(alpha, apart):
        step, of_three, values, numbers = position(alphas, alpha), (*TIMES[apart], STRANGERS), {}, {}
        for what, lines in (("gap", gap), ("share", share)):
            values |= {f"{what}, {name}": lines[setting] for name, setting in zip(_THREE, of_three)}
            values[f"{what} of strangers"] = [0.5], [lines[STRANGERS][middle]]
            numbers |= {f"{what}_{name}": lines[setting][step] for name, setting in zip(_THREE, of_three)}
        alt = said("""{apart} apart, α = {alpha:.2f}, mean over the hidden layers: gap {gap_random:.4f} from one random
                      start, {gap_pretrained:.4f} pretrained, {gap_strangers:.4f} strangers; as a share of the distance
                      between A and B {share_random:.3f}, {share_pretrained:.3f} and {share_strangers:.3f}.""",
                   apart=capital(apart), alpha=alpha, **numbers)
        random, pretrained = TIMES[apart]
        ratios = [lines[random][middle] / lines[pretrained][middle] for lines in (gap, share)]
        return Frame(finding_of_time(apart, ratios), alt, values,
                     key(("merged", f"From one random start, {apart} apart"), ("", f"grey: pretrained, {apart} apart")))

    charts = [_time_chart("gap", gap, Axis("gap: 1 − cosine, hidden layers", 0, _highest(gap), digits=3)),
              _time_chart("share", share, Axis("the same, share of the distance between A and B", 0, _highest(share),
                                               unit="percent"))]
    return {"kicker": "Chapter 5: knowledge, or one place to start from?", "charts": charts, "draw": draw,
            "controls": {"alpha": share_of_a(alphas), "apart": chips("finetuned apart for", list(TIMES))},
            "hides": [f"{what}, {name}" for what in ("gap", "share") for name in _THREE],
            "caption": f"{caption(sweep)} The strangers learned their tasks for two epochs, from two random starts."}


_THREE = ("random", "pretrained", "strangers")


def _highest(lines):
    """Where the axis of these lines ends."""
    return 1.15 * max(float(line.max()) for line in lines.values())


def _time_chart(what, lines, axis):
    """The gap, or its share, over α."""
    guess = (Star("guess", "merged", x=(0.5,)),) if what == "gap" else ()
    return Chart(ALPHA_AXIS, axis, (Line(f"{what}, strangers", "other"), Line(f"{what}, pretrained", "other"),
                                    Spots(f"{what} of strangers", "other", names=("strangers",)),
                                    Line(f"{what}, random", "merged", "random start"), *guess,
                                    Handle("alpha")))


def finding_of_time(apart: str, ratios) -> str:
    """How linearly networks from one random start mix, beside pretrained ones. ratios: of their gap, and of its share
    of the distance between A and B, to those of the pretrained pair."""
    if max(ratios) < ABOUT:
        mix = "about as linearly as" if min(ratios) > 1 / ABOUT else "at least as linearly as"
    else:
        mix = "less linearly than" if min(ratios) > 1 / ABOUT else "more or less linearly, as one measures, than"
    return f"{capital(apart)} apart, networks from one random start mix {mix} pretrained ones"


def question_of_time(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (c)."""
    numbers = starts.equally_long(sweep)
    return said("""Both pairs were apart for **one** epoch. Half-way between the pretrained pair the gap is {gap:.3f},
                   mean over the hidden layers. How large is it for the pair that shares only its **random** start?""",
                gap=numbers["one_epoch_pretrained_gap"])


def time_apart(sweep: xarray.Dataset) -> Page:
    """The four pairs with a common start, as a table."""
    numbers = starts.equally_long(sweep)
    rows = []
    for start, name in (("random", "one random start"), ("pretrained", "pretrained")):
        for apart in TIMES:
            key = f"{apart.replace(' ', '_')}_{start}"
            rows.append((name, apart, f"{numbers[f'{key}_distance']:.2f}", f"{numbers[f'{key}_gap']:.4f}",
                         f"{numbers[f'{key}_share']:.3f}", f"{numbers[f'{key}_accuracy']:.3f}"))
    head = ("start", "apart for", "distance ‖θᵢ − θⱼ‖", "gap, hidden layers",
            "gap as a share of the distance between A’s and B’s features", "accuracy half-way")
    return table(head, rows)


_RATIOS = {"gap": "gap, hidden layers", "share": "gap as a share of the distance between A’s and B’s features"}


def over_the_pretrained(sweep: xarray.Dataset) -> Page:
    """The gap from a random start, and its share of the distance, over those of the pretrained pair that was apart for
    equally long, in this sweep and in the mean over the ledger's seeds, as a table; and which of the four means differ
    from 1 beyond the noise."""
    numbers, ledger = starts.equally_long(sweep), claims.measured()["CTL-14"]
    rows, told = [], {"larger": [], "smaller": [], "the same": []}
    for what, name in _RATIOS.items():
        row = [name]
        for epochs in TIMES:
            key = f"{epochs.replace(' ', '_')}_{what}_ratio"
            ratios = np.array(ledger[key])
            lead = Difference.paired(ratios, np.ones(len(ratios)))
            row += [f"{numbers[key]:.2f}", f"{ratios.mean():.2f} ± {lead.error:.2f}"]
            told["the same" if not lead.is_news else "larger" if lead.value > 0 else "smaller"].append(
                f"the ratio of the {what}s after {epochs}")
        rows.append(row)
    beyond = [f"{' and '.join(which)} {'is' if len(which) == 1 else 'are'} {how} than 1 beyond the noise"
              for how, which in told.items() if which and how != "the same"]
    within = " and ".join(told["the same"])
    of_seeds = f"mean of our {len(ratios)} seeds ± standard error"
    head = ("random start over pretrained", *(f"{epochs} apart, {whose}" for epochs in TIMES
                                              for whose in (f"seed {sweep.seed}", of_seeds)))
    said_of_them = said("""In the mean over our seeds (profile full), {beyond}. {within}""",
                        beyond=" and ".join(beyond) or "none of the four differs from 1 beyond the noise",
                        within=f"For {within}, a difference from 1 is within the noise." * bool(beyond and within))
    return table(head, rows, after=paragraph(said_of_them))


def reading_of_time_apart(sweep: xarray.Dataset) -> Page:
    """What one finds who compares pairs that were apart for unequal times."""
    numbers = starts.equally_long(sweep)
    unfair = numbers["two_epochs_random_gap"] / numbers["one_epoch_pretrained_gap"]
    of_time = [numbers[f"two_epochs_{start}_gap"] / numbers[f"one_epoch_{start}_gap"] for start in
               ("random", "pretrained")]
    return reading("Unequally long apart", """
        Compare the gap from a random start after two epochs with the pretrained one after one instead, and you find
        {unfair:.2f} times, which {mixes}.""",
                   unfair=unfair, mixes="is mostly the time apart" if min(of_time) ** 2 > unfair > 1
                   else "mixes the start with the time apart")


def reading_of_one_start(sweep: xarray.Dataset) -> Page:
    """How linearly networks from one random start mix beside pretrained ones, equally long apart, and which midpoint is
    more accurate."""
    numbers = starts.equally_long(sweep)
    ratios = numbers["one_epoch_gap_ratio"], numbers["one_epoch_share_ratio"]
    more = Difference.of(numbers["one_epoch_pretrained_accuracy"], numbers["one_epoch_random_accuracy"],
                         int(sweep.images.split()[0].replace(",", "")))
    accurate = """After one epoch the pretrained midpoint was more accurate, {one_epoch_pretrained_accuracy:.0%} against
                  {one_epoch_random_accuracy:.0%}. But its networks had also seen twice as many images. For equally many
                  images it was {one_epoch_pretrained_accuracy:.0%} against {two_epochs_random_accuracy:.0%}."""
    than = ["smaller" if numbers[f"{time}_share_ratio"] < 1 else "larger" for time in ("one_epoch", "two_epochs")]
    both = "{0} both times" if than[0] == than[1] else "{0} after one epoch and {1} after two"
    return reading(finding_of_time("one epoch", ratios), f"""
        The gap from one random start was {{one_epoch_gap_ratio:.2f}} times the pretrained one after one epoch, and
        {{two_epochs_gap_ratio:.2f}} times after two. As a share of the distance between A’s and B’s features it was
        {both.format(*than)}.
        {accurate if more.is_news and more.value > 0 else ""}""", **numbers)


STRANGERS_LONG = "strangers, two epochs apart"


def gap_ratios() -> dict[str, np.ndarray]:
    """{pair: (seeds of the ledger,)}: how many times as large a pair's gap is as that of a pretrained pair that was
    apart for equally long."""
    ledger = {name: np.array(values) for name, values in claims.measured()["CTL-14"].items()}
    return {"one random start, one epoch apart": ledger["one_epoch_gap_ratio"],
            "one random start, two epochs apart": ledger["two_epochs_gap_ratio"],
            STRANGERS_LONG: ledger["no_matching_gap"] / ledger["two_epochs_pretrained_gap"]}


@themed
def on_the_seeds():
    """`gap_ratios`, a dot a seed of the ledger."""
    rows = gap_ratios()
    fig, ax = plotting.figure(width=7.2, height=2.4)
    for place, (name, ratios) in enumerate(rows.items()):
        ax.plot(ratios, [place] * len(ratios), color=GREEN if ONE_START in name else GREY, marker="o", linestyle="",
                alpha=0.7)
    ax.axvline(1, color=BLACK, linewidth=1, marker="")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set(xlabel="gap, in units of the pretrained pair’s", ylim=(len(rows) - 0.5, -0.5),
           xlim=(0, 1.08 * max(ratios.max() for ratios in rows.values())))
    ax.grid(axis="y", visible=False)
    each = "; ".join(f"{name}: {', '.join(f'{ratio:.2f}' for ratio in sorted(of_pair))}"
                     for name, of_pair in rows.items())
    return plotting.show(fig, f"Gap over that of the pretrained pair, by seeds. {each}.",
                         f"Kept in the repository: a dot for each of our {len(rows[STRANGERS_LONG])} seeds, profile "
                         "full, MNIST. At the black line the gap is that of the pretrained pair that was apart for "
                         "equally long.")


def reading_of_the_seeds() -> Page:
    """Whether the ledger's seeds tell a random start from a pretrained one."""
    brief, longer, strangers = gap_ratios().values()
    leads = {name: Difference.paired(ratios, np.ones(len(ratios))) for name, ratios in
             (("one epoch", brief), ("two epochs", longer))}
    told = [(f"{'larger' if lead.value > 0 else 'smaller'} in the mean" if lead.is_news
             else "no different within the noise") + f" after {name}" for name, lead in leads.items()]
    near = brief.mean() < ABOUT and strangers.min() > 2 * longer.max()
    least = math.floor(strangers.min())
    return reading("On ten seeds a shared random start was nearly as good" if near and len(brief) == 10
                   else "On our seeds", """
        Over {seeds} seeds, the gap from one random start was {told}. It was {brief:.2f} ± {brief_error:.2f} and
        {longer:.2f} ± {longer_error:.2f} times the pretrained one (mean ± standard error). Strangers had
        more than {least} times the pretrained gap.""", seeds=len(brief), told=" and ".join(told), least=least,
                   brief=brief.mean(), brief_error=leads["one epoch"].error, longer=longer.mean(),
                   longer_error=leads["two epochs"].error)


# -- the source's figure ---------------------------------------------------------------------------

@still
def figure_11(sweep: xarray.Dataset):
    """Figure 11 of CTL: 1 − cosine half-way and the distribution of coef, per hidden layer, in the source's four
    settings, and from one random start."""
    layers = names(sweep.layer[:-1])
    part = sweep.sel(pair=PAIRS[0], alpha=0.5, treatment=TREATMENTS[0], layer=layers)
    fig, (left, right) = plotting.figure(2, height=3.9)
    for setting, shift in zip(SETTINGS, (-0.3, -0.15, 0, 0.15, 0.3)):
        label = NAMES[setting] if setting in SOURCE else f"{NAMES[setting]} (ours)"
        half_way(left, right, part.sel(setting=setting), shift, LOOKS[setting], label, width=0.07)
    name_axes(left, right, layers, gap=(0, 1.08 * float(part.gap_high.max())), coef=(0, 1.3))
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    ranges = []
    for setting in SETTINGS:
        gap = part.gap_mean.sel(setting=setting)
        coef = part.coef_mean.sel(setting=setting)
        ranges.append(f"{setting} gap {gap.min().item():.3f} to {gap.max().item():.3f}, "
                      f"coef {coef.min().item():.2f} to {coef.max().item():.2f}")
    alt = f"Half-way between networks of two tasks, three hidden layers: {'; '.join(ranges)}."
    return plotting.show(fig, alt, caption(sweep) + QUARTILES)


QUARTILES = " Left: mean and quartiles over the images; right: distribution, line: median."


def half_way(left, right, sweep: xarray.Dataset, shift: float, look: Look, label: str, width: float) -> None:
    """One series of a figure like the source's Figures 11 and 12: left the gap of every layer with its quartiles, right
    the distribution of coef.

    Args:
        left, right: axes.
        sweep: over layer alone.
        shift: to the right of a layer's place.
        width: half of a distribution's.
    """
    places = np.arange(sweep.sizes["layer"]) + shift
    gap = WithQuartiles(left, places, look.colour, look.marker, label)
    gap.set_values(sweep.gap_mean, sweep.gap_low, sweep.gap_high)
    for number, place in enumerate(places):
        of_layer = sweep.isel(layer=number)
        violin(right, place, of_layer.bin.values, of_layer.coef_count.values, of_layer.coef_median.item(), look.colour,
               width=width)


def name_axes(left, right, layers: list[str], gap: tuple[float, float], coef: tuple[float, float]) -> None:
    """The axes of such a figure: `gap` and `coef` are their limits; a gap's axis that does not begin at 0 is
    logarithmic."""
    left.set(ylabel="gap: 1 − cosine, half-way", ylim=gap, yscale="log" if gap[0] else "linear", title="Direction")
    right.set(ylabel="coef, half-way", ylim=coef, title="Length")
    right.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    for ax in (left, right):
        layer_ticks(ax, layers)


def reading_of_figure_11(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 11 of CTL and ours, with this sweep's numbers."""
    numbers = starts.claim_14(sweep)
    ordered = numbers["no_matching_gap"] > numbers["weight_matching_gap"] > numbers["pretrained_gap"]
    agree = ordered and numbers["activation_matching_gap"] > numbers["pretrained_gap"]
    return reading("Figure 11 of Zhou et al., and ours", """
        {agrees}: the mean gap in the hidden layers is {no_matching_gap:.3f} for strangers, {weight_matching_gap:.3f}
        and {activation_matching_gap:.3f} after matching their weights or activations, {pretrained_gap:.3f} for the
        pretrained pair; coef is {no_matching_coef:.2f}, {weight_matching_coef:.2f},
        {activation_matching_coef:.2f} and {pretrained_coef:.2f}. But the pretrained pair was apart for one epoch, the
        others for two; after two it has {two_epochs_pretrained_gap:.3f}. Not in the source: two networks that began
        from the same random weights have {one_epoch_random_gap:.3f} after one epoch apart and
        {two_epochs_random_gap:.3f} after two.""", agrees=agrees(agree), **numbers)


def accuracies(sweep: xarray.Dataset) -> Page:
    """Accuracy of every network on its own task, as a table."""
    rows = [(str(name), f"{value:.3f}") for name, value in zip(sweep.model.values, sweep.own_accuracy.values)]
    text = "; ".join(f"{name} {value}" for name, value in rows)
    return table(("start, and the task it learned", "accuracy on that task"), rows, text)
