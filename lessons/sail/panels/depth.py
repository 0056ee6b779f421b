"""Panel (g): more layers."""
import numpy as np
import xarray

from lessons.kit import claims
from lessons.kit.noise import Difference, with_reach
from lessons.kit.page import Page, quiet, reading, said, table
from lessons.kit.sweep import caption, names
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Line,
    Reference,
    chips,
    key,
    slider,
    view,
)
from lessons.sail.experiment import depth, rows
from lessons.sail.experiment.depth import HE_SCRATCH, PLAIN, RESIDUAL, SCRATCH
from lessons.sail.experiment.digits import TEST

SILENT, SHUFFLED, ENDS = "silent", "interpolation, shuffled", "ends alone"
RANDOM = "random middle, He scale"
NEAR_CHANCE = 0.2  # of accuracy, of ten classes
CLEARLY = 0.05  # nats at once: a difference from which on the title says "lower"
LOSSES = (0.25, 7.0)  # nats, what is drawn
_ALT = """
    {network} network, from two layers to four. Interpolated layers whose rows sum to {row_sum:g} have loss {mixed:.3f}
    at once and accuracy {at_once:.3f}, after {last} steps accuracy {end:.3f}; loss at once by sum: {by_sum}. Layers
    that do nothing have loss {silent[0]:.3f} at once and accuracy {silent[1]:.3f} in the end; interpolated layers with
    their entries shuffled (rows sum to 1) {shuffled[0]:.3f} and {shuffled[1]:.3f}; the ends of the network with nothing
    between them {ends[0]:.3f} and {ends[1]:.3f}; scratch ends at {scratch:.3f}."""


def with_sum(row_sum: float) -> str:
    """As the sweep calls interpolation with rows of this sum."""
    return "interpolation" if row_sum == 1 else f"interpolation, rows sum to {row_sum:g}"


def sums(sweep: xarray.Dataset) -> list[float]:
    """The row sums that were tried."""
    return [row_sum for row_sum in depth.SUMS if with_sum(row_sum) in sweep.start.values]


@view
def layers(sweep: xarray.Dataset, scaled: xarray.Dataset | None = None):
    """Panel (g): the loss at once of interpolated layers against the sum of their rows, beside layers that do nothing,
    the same layers with their entries shuffled and the network's two ends alone; right, accuracy over the steps from
    the sum that is chosen, beside layers that do nothing and, in grey, controls that know less. With `scaled`, of
    `experiment.rows`, also the loss at once if the sum scales all weights of a residual block.

    Controls: row_sum, network.
    """
    tried, last = sums(sweep), int(sweep.steps[-1])
    grey = [start for start in (SCRATCH, HE_SCRATCH, ENDS, RANDOM) if start in sweep.start.values]
    of_whole = None if scaled is None else scaled.loss.sel(form=rows.WHOLE, steps=0, row_sum=slice(max(tried)))

    def draw(row_sum, network):
        loss = sweep.loss.sel(network=network).isel(steps=0)
        accuracy = sweep.accuracy.sel(network=network)
        mixed = accuracy.sel(start=with_sum(row_sum)).values
        by_sum = np.array([float(loss.sel(start=with_sum(total))) for total in tried])
        levels = {name: float(loss.sel(start=name)) for name in (SILENT, SHUFFLED, ENDS)}
        end = {name: float(accuracy.sel(start=name)[-1]) for name in (SILENT, SHUFFLED, ENDS, SCRATCH)}
        values = {"sums": by_sum, "mixed layers": mixed, "error": with_reach(mixed, TEST)[1:],
                  "does nothing": accuracy.sel(start=SILENT).values} | levels
        values |= {f"accuracy of {start}": accuracy.sel(start=start).values for start in grey}
        if of_whole is not None:
            values["whole blocks"] = of_whole.values if network == RESIDUAL else np.full(len(of_whole), np.nan)
        alt = said(_ALT, network=network, row_sum=row_sum, last=last, mixed=by_sum[tried.index(row_sum)],
                   at_once=mixed[0], end=mixed[-1], scratch=end[SCRATCH],
                   **{name: (levels[start], end[start])
                      for name, start in (("silent", SILENT), ("shuffled", SHUFFLED), ("ends", ENDS))},
                   by_sum=", ".join(f"{total:g}: {value:.3f}" for total, value in zip(tried, by_sum)))
        of_sums = np.array([accuracy.sel(start=with_sum(total)).values for total in tried])
        finding = finding_in_plain(of_sums[:, 0], mixed[-1], end[ENDS]) if network == PLAIN else \
            finding_in_residual(tried, by_sum, of_sums[:, -1])
        if of_whole is not None and network == RESIDUAL:
            alt += " If all weights of a block are multiplied, loss at once: " + ", ".join(
                f"{float(value.row_sum):g}: {float(value):.3f}" for value in of_whole) + "."
        what = "V and c" if network == RESIDUAL else "all weights"
        return Frame(finding, alt, values,
                     key(("merged", f"Layers mixed from the old ones, {what} times {row_sum:g}"),
                         ("single", "Layers that do nothing yet"), ("", "grey: layers without what was learned"),
                         *([("", "dashed, left: W and b multiplied, too")] if network == RESIDUAL and scaled is not None
                           else [])))

    controls = {"row_sum": slider("what weights are multiplied by", {f"{total:g}": total for total in tried}, 1.0,
                                  words=lambda total: f"multiplied by {total:g}", places=tried),
                "network": chips("network", (RESIDUAL, PLAIN))}
    return {"kicker": "Chapter 10: another depth",
            "tries": ("Move the slider. Where is the loss before training lowest? Is the accuracy best there?",
                      "Choose “plain” and look at the black line."),
            "charts": _charts(sweep, tried, grey, of_whole), "draw": draw,
            "controls": controls,
            "caption": f"{caption(sweep)} Band: two standard errors. Losses above {LOSSES[1]:g}, and what diverged, "
                       "are not drawn. In the residual network the number multiplies V and c of a new block, in "
                       "the plain one all weights of a new layer. Shuffled: as mixed layers, times 1."}


def _charts(sweep, tried, grey, of_whole):
    """The loss at once over the sum, and accuracy over the steps."""
    whole = () if of_whole is None else (Line("whole blocks", "other", "", x=tuple(of_whole.row_sum.values),
                                              bare=True, dashed=True),)
    left = Chart(Axis("what the new layers’ weights are multiplied by", 0.15, max(tried) + 0.1,
                      ticks={total: f"{total:g}" for total in tried}),
                 Axis("loss before any step, in nats", *LOSSES, "log", digits=2,
                      ticks={tick: f"{tick:g}" for tick in (0.3, 0.5, 1, 2, 5)}),
                 (Reference(SHUFFLED, "other", "shuffled"), Reference(ENDS, "other", "two ends alone"),
                  Reference(SILENT, "single", "does nothing"), *whole,
                  Line("sums", "merged", "mixed layers", x=tuple(tried), dots=True, near=True), Handle("row_sum")))
    places = tuple(map(float, range(len(sweep.steps))))
    named = {SCRATCH: "scratch", ENDS: "two ends alone", RANDOM: "random layers"}
    right = Chart(Axis("steps on new images", -0.3, len(places) - 0.7, "places",
                       ticks={place: str(int(steps)) for place, steps in zip(places, sweep.steps.values)}),
                  Axis("accuracy while it is trained", 0, 1, unit="percent"),
                  (*(Line(f"accuracy of {start}", "other", named.get(start, ""), x=places, bare=True,
                          dashed=start == ENDS) for start in grey),
                   Line("does nothing", "single", x=places), Band("error", "merged", x=places),
                   Line("mixed layers", "merged", "mixed layers", x=places, dots=True, bare=True)))
    return [left, right]


def finding_in_residual(tried: list[float], by_sum: np.ndarray, ends: np.ndarray) -> str:
    """Which sum of the rows begins best, and whether sums can be told apart in the end.

    Args:
        tried: sums; 1 is among them.
        by_sum: (sums,), the loss at once.
        ends: (sums,), the accuracy after the last step.
    """
    best = int(by_sum.argmin())
    lower = by_sum[tried.index(1.0)] - by_sum[best] > CLEARLY
    begin = f"{'Shorter' if tried[best] < 1 else 'Longer'} steps begin with a lower loss" if lower else \
        "No other length begins clearly better than steps as long as before"
    told = Difference.of(float(ends.max()), float(ends.min()), TEST).is_news
    link, end = ("but", "in the end no length is clearly more accurate") if not told else \
        ("and", "the lengths differ in the end, too")
    return f"{begin}, {link} {end}"


def finding_in_plain(at_once: np.ndarray, end: float, ends_alone: float) -> str:
    """Whether mixed layers begin near chance, whatever their sum, and how they end beside the network's two ends with
    nothing between them.

    Args:
        at_once: (sums,), accuracy before any step.
        end, ends_alone: accuracy after the last step, with the sum that is chosen and of the two ends alone.
    """
    lead = Difference.of(end, ends_alone, TEST)
    beside = "end within the noise of" if not lead.is_news else "end ahead of" if lead.value > 0 else "end behind"
    begin = "begin near chance" if at_once.max() < NEAR_CHANCE else "do not all begin near chance"
    return f"In the plain network mixed layers {begin}, and {beside} its two ends alone"


def at_a_glance(sweep: xarray.Dataset) -> Page:
    """A row for every start: accuracy at once, after twenty steps and at the end, plain and residual."""
    last = int(sweep.steps[-1])
    rows = []
    for start in names(sweep.start):
        cells = []
        for network in (PLAIN, RESIDUAL):
            part = sweep.accuracy.sel(network=network, start=start)
            cells += [f"{float(part.sel(steps=steps)):.3f}" for steps in (0, 20, last)]
        rows.append((start, *cells))
    looks = ("at once", "20 steps", f"{last} steps")
    heads = [f"{network}, {steps}" for network in (PLAIN, RESIDUAL) for steps in looks]
    return table(("start", *heads), rows, after=quiet(caption(sweep)))


def reading_of_rows(sweep: xarray.Dataset) -> Page:
    """The loss at once of a residual network whose new blocks are mixtures, by the length of their steps, beside blocks
    that do nothing."""
    numbers = depth.claim_9(sweep)
    on_seeds = claims.measured()["SAIL-9"]["residual_interpolation_0"]
    lower = numbers["residual_half_0"] < numbers["residual_interpolation_0"]
    title = ("Steps that are half as long begin with a lower loss" if lower else "Blocks that are mixtures")
    return reading(title, """
        With steps as long as before the loss at once was {residual_interpolation_0:.2f} ({least:.1f} to {most:.1f} on
        the ledger’s seeds), and with steps half as long {residual_half_0:.2f}. With blocks that do nothing yet it
        was {residual_silent_0:.2f}, and with nothing between the network's two ends {residual_ends_0:.2f}.""",
                   least=min(on_seeds), most=max(on_seeds), **numbers)


def by_sum(sweep: xarray.Dataset) -> Page:
    """A row for each form and number of steps: the loss with each sum. The sweep is that of `experiment.rows`."""
    cases = [(form, steps) for form in names(sweep.form) for steps in sweep.steps.values]
    return table(("scaled", "steps", *(f"{total:g}" for total in sweep.row_sum.values)),
                 [(form, str(steps), *(f"{value:.3f}" for value in sweep.loss.sel(form=form, steps=steps).values))
                  for form, steps in cases], after=quiet(f"{caption(sweep)} Loss in nats, by the sum of a row."))


def reading_of_scaling(sweep: xarray.Dataset) -> Page:
    """Which sum begins with the lowest loss if it scales a block's last layer alone, and if it scales all of it, and
    whether that sum is ahead in the end, on the ledger's seeds. The sweep is that of `experiment.rows`."""
    numbers = rows.claims(sweep)["SAIL-9"]
    behind = np.array(claims.measured()["SAIL-9"]["step_half_over_one_300"]) > 0
    title = ("Multiply all four, and the best number is larger" if numbers["best_apart_0"] > 0
             else "What the number multiplies")
    return reading(title, """
        With V and c alone, {step_best_0:g} began with the lowest loss of the numbers tried. With all four it was
        {whole_best_0:g}. After 300 steps of training, {behind} of {seeds} seeds of the ledger had a higher loss with ½
        (V and c alone) than with 1.""", behind=behind.sum(), seeds=len(behind), **numbers)


def reading_of_the_plain_network(sweep: xarray.Dataset) -> Page:
    """What averaged layers of a plain network are worth after training, beside random layers of the right size."""
    numbers = depth.claim_9(sweep)
    lead = Difference.of(numbers["plain_interpolation_100"], numbers["plain_he_100"], TEST)
    behind = not lead.is_news or lead.value < 0
    ledger = claims.measured()["SAIL-9"]
    leads = np.subtract(ledger["plain_interpolation_100"], ledger["plain_he_100"])
    title = ("Here averaged layers of a plain network end no better than random ones of He’s size" if behind
             else "Averaged layers of a plain network")
    return reading(title, """
        They began with a loss of {plain_interpolation_0:.2f}, where layers that do nothing had {plain_silent_0:.2f}.
        After {steps} steps they were ahead of random layers of the size that He et al. propose on {ahead} of the
        ledger’s {seeds} seeds.""", ahead=int((leads > 0).sum()), seeds=len(leads), steps=100, **numbers)


def reading_of_equation_9(sweep: xarray.Dataset) -> Page:
    """What SAIL says of its depth transform, and what ours do."""
    numbers = depth.claim_9(sweep)
    return reading("Eq. 9 of the source, tried", """
        Plain network, loss at once: layers that do nothing {plain_silent_0:.2f}, interpolation
        {plain_interpolation_0:.2f}, with its entries shuffled {plain_shuffled_0:.2f}; after 100 steps accuracy
        {plain_silent_100:.3f}, {plain_interpolation_100:.3f}, {plain_shuffled_100:.3f}, random layers of the right size
        {plain_he_100:.3f}, scratch {plain_scratch_100:.3f}. Residual network, loss at once: layers that do nothing
        {residual_silent_0:.2f}, rows that sum to ½ {residual_half_0:.2f}, to 1 {residual_interpolation_0:.2f}; the two
        ends alone {residual_ends_0:.2f}.""", **numbers)
