"""Panel (e), the table: six ways to begin, each with its own learning rate."""
import numpy as np
import xarray

from lessons.kit import noise, page, plotting
from lessons.kit.page import Page, quiet, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, Look, cloud, level, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY
from lessons.kit.predict import Star
from lessons.kit.sweep import caption
from lessons.sail.experiment import table
from lessons.sail.experiment.table import BEST, GREEDY, LIGO, NEAR, SAIL, SCRATCH, SEARCHED, STARTS, UNIFORM

COLOURS = {SCRATCH: GREY, BEST: GREEN, UNIFORM: ORANGE, GREEDY: SKY, SAIL: BLACK, SEARCHED: BLUE, LIGO: PURPLE}
NAMES = {SCRATCH: "scratch", BEST: "best\nparent", UNIFORM: "uniform\nsoup", GREEDY: "greedy\nsoup", SAIL: "SAIL",
         SEARCHED: "γ\nsearched", LIGO: "LiGO-\nlike"}
OWN = 0.0  # the menu's value for "each its own"
ASKED = {"set_up": NEAR.name, "steps": 100, "rate": OWN}


@panel
def beginnings(sweep: xarray.Dataset, prediction=None):
    """Panel (e): the loss on the target from every start after some steps; right, by how many points each is more
    accurate than the best parent alone, with the standard error.

    Controls: steps, set_up, rate (one for all, or each its own, chosen on held-out images). The prediction, by how many
    points SAIL's start is more accurate than the best parent after 100 steps, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.3, width_ratios=(6, 5))
    places = np.arange(len(STARTS))
    bars = Bars(left, places, BLACK, lambda value: "–" if np.isnan(value) else f"{value:.2f}", width=20, fontsize=9.5)
    bars.set_values([1] * len(STARTS), [COLOURS[name] for name in STARTS])
    near = level(left, Look(GREEN, "", "-.", ))
    points = cloud(right, Look(BLACK, "D"), markersize=7)
    spread = right.vlines(places, 0, 0, color=BLACK, linewidth=1.4, animated=True)
    _axes(left, right, places)
    parts = looked_up(sweep)
    first = parts[ASKED["rate"]].sel(set_up=ASKED["set_up"], steps=ASKED["steps"])
    truth = 100 * float(first.accuracy.sel(start=SAIL) - first.accuracy.sel(start=BEST))
    star = Star(right, prediction, STARTS.index(SAIL), truth, ASKED)
    titles = moving_titles((left, right))

    def draw(steps, set_up, rate):
        part = parts[rate].sel(set_up=set_up, steps=steps)
        losses = part.loss.sel(start=list(STARTS)).values
        bars.set_values(np.clip(losses, 0, 2.5), [COLOURS[name] for name in STARTS])
        near.set_ydata([float(part.loss.sel(start=BEST))] * 2)
        accuracy, best = part.accuracy.sel(start=list(STARTS)).values, float(part.accuracy.sel(start=BEST))
        ahead = 100 * (accuracy - best)
        error = [0 if np.isnan(share) else 100 * noise.error_of_difference(float(share), best, 2000)
                 for share in accuracy]
        points.set_data(places, np.clip(ahead, -24, 24))
        spread.set_segments([[(x, y - e), (x, y + e)] for x, y, e in zip(places, ahead, error)])
        star.place(steps=steps, set_up=set_up, rate=rate)
        texts = {"set_up": set_up, "steps": steps,
                 "how": "each with its own learning rate" if rate == OWN else f"learning rate {rate:g}",
                 "numbers": "; ".join(f"{name} {loss:.3f} ({_signed(points)} points)"
                                      for name, loss, points in zip(STARTS, losses, ahead) if not np.isnan(loss))}
        titles[0].set_text(said("{set_up}, {steps} steps", **texts))
        titles[1].set_text(texts["how"].capitalize())
        return said("""{set_up}, {steps} steps, {how}. Loss on the target, and accuracy over the best parent's:
                       {numbers}.""", **texts)

    rates = {"each its own": OWN} | {f"{float(rate):g}": float(rate) for rate in sweep.rate.values}
    controls = {"steps": slider("steps on the target", [int(steps) for steps in sweep.steps.values], 100),
                "set_up": choice("set-up", sweep.set_up.values),
                "rate": choice("learning rate", rates)}
    return controls, fig, draw, f"{caption(sweep)} {said(_REMARKS)}"


_REMARKS = """Bars end at 2.5. Lines: one standard error of a difference, at most. The LiGO-like start has no bar until
its maps are paid for."""


def _axes(left, right, places):
    """Names of the starts, limits and labels."""
    for ax in (left, right):
        ax.set_xticks(places, [NAMES[name] for name in STARTS], fontsize=9.5)
        ax.set_xlim(-0.6, len(STARTS) - 0.4)
    left.set(ylabel="loss on the target (nats)", ylim=(0, 2.6))
    right.set(ylabel="points more accurate than the best parent", ylim=(-25, 25))
    right.axhline(0, color=GREEN, linewidth=1.4, linestyle="-.", marker="")


def _signed(points):
    return f"{points:+.1f}".replace("-", "−")


def looked_up(sweep: xarray.Dataset) -> dict[float, xarray.Dataset]:
    """{learning rate, `OWN` for each its own: loss and accuracy (set_up, start, steps)}."""
    by_rate = {float(rate): sweep[["loss", "accuracy"]].sel(rate=rate) for rate in sweep.rate.values}
    return {OWN: table.chosen(sweep)[["loss", "accuracy"]]} | by_rate


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (e)."""
    part = table.chosen(sweep).sel(set_up=NEAR.name, steps=100)
    return said("""Three parents learned digits turned by −45°, 0° and 45°. The target is digits turned by 20°. After
                   100 steps, each start with the learning rate that suits it, scratch reads {scratch:.0%} of the test
                   digits. By how many **points** is SAIL's mixture more accurate than the best parent alone?""",
                scratch=float(part.accuracy.sel(start=SCRATCH)))


def bill(sweep: xarray.Dataset) -> Page:
    """What every start costs before its first step on the target."""
    steps = 474
    rows = [(SCRATCH, "–", "–", "–"), (BEST, "all of them, to choose one", "1 look at each", "–"),
            (UNIFORM, "all", "–", "–"), (GREEDY, "all", "1 look at each, and at each soup", "–"),
            (SAIL, "all, and their data", "–", "distances of all data sets"),
            (SEARCHED, "all", "66 looks with three parents, 31 with two", "–"),
            (LIGO, "one small one that learned all their data", "–", f"{table.MAP_STEPS} steps, counted")]
    return page.table(("start", "parents needed", "looks at 1,000 held-out images", "besides"), rows, left=4,
                      after=quiet(f"A parent took about {steps} steps. A look costs a seventh of an epoch's "
                                  "forward passes. Everybody's learning rate was tried at "
                                  f"{sweep.sizes['rate']} values: that bill is the same for all."))


def six(sweep: xarray.Dataset) -> Page:
    """The six set-ups of the chapter's question: SAIL's mixture against the near parent alone and against scratch."""
    rows = []
    for set_up, ratios in table.promises(sweep).items():
        rows.append((set_up, *(f"{ratios[f'parent_{steps}']:.2f}" for steps in table.LOOKS),
                     *(f"{ratios[f'scratch_{steps}']:.2f}" for steps in table.LOOKS)))
    whose = ("over the near parent's", "over scratch's")
    heads = [f"{other}, {steps} steps" for other in whose for steps in table.LOOKS]
    return page.table(("set-up: loss of SAIL's mixture", *heads), rows,
                      after=quiet(f"Below 1: SAIL's mixture is better. {caption(sweep)}"))


def reading_of_table_2(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Table 2 of SAIL and ours, with this sweep's numbers."""
    numbers = table.claim_11(sweep)
    return reading("Table 2 of the source, and ours", """
        Digits turned, one start, each start with its own learning rate. Before any step SAIL's mixture has
        {sail_0:.2f} nats, the greedy soup {greedy_0:.2f}, the uniform one {uniform_0:.2f}, the best parent alone
        {parent_0:.2f}. After 100 steps SAIL {sail_100:.3f}, greedy {greedy_100:.3f}, uniform {uniform_100:.3f}, best
        parent {parent_100:.3f}, scratch {scratch_100:.3f}; after 200, SAIL {sail_200:.3f}, best parent
        {parent_200:.3f}, scratch {scratch_200:.3f}.""", **numbers)
