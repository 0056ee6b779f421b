"""Panel (d): the rule that switches the regulariser on and off."""
import numpy as np
import xarray

from lessons.kit.page import Page, paragraph, reading, said, table
from lessons.kit.sweep import caption
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Star, chips, key, slider, view
from lessons.linearization.experiment import batches
from lessons.linearization.experiment.rule import CONSTANT, FROM_START, HARMLESS, NONE, PRINTED, STARTS
from lessons.linearization.panels.flow import powers

LABELS = {CONSTANT: "λ all the time", HARMLESS: "largest harmless λ", NONE: "no regulariser", PRINTED: "the rule"}
ROLES = {NONE: "single", PRINTED: "merged"}
LEAST = 1e-8  # R̃ that is drawn
MOST_STOPS = 41
FEW = 0.05  # of the steps: a rule that is on in fewer is hardly on
LITTLE = 0.1  # of the way: a rule whose end is nearer to that without a regulariser changes hardly anything
JUMP = 100 * LEAST  # a rise of R̃ that is seen
THROWN = 2.0  # times the error at the start: a rise of more throws it up
_ALT = """
    Start: {start}, λ = {lam:g}, time {moment:.2f}. The rule had the regulariser on in {on:.2%} of the steps from the
    second on. Training error: none {none_error:.3g}, constant {constant_error:.3g}, the rule {rule_error:.3g}, largest
    harmless {harmless_error:.3g}. Distance from θ₀: none {none_distance:.3f}, constant {constant_distance:.3f}, the
    rule {rule_distance:.3f}, largest harmless {harmless_distance:.3f}."""
_SHORT = {NONE: "none", CONSTANT: "constant", PRINTED: "rule", HARMLESS: "harmless"}


@view
def rules(sweep: xarray.Dataset, prediction=None):
    """Panel (d): along training, in which share of the steps the regulariser was on, the training error, and the
    distance from θ_0, under four rules.

    Controls: moment, start, lam. The prediction, in how many steps the rule is on from θ_0, is a star.
    """
    shown = sweep.isel(moment=slice(None, None, -(-sweep.sizes["moment"] // MOST_STOPS)))
    times, lams = ([float(value) for value in shown[name].values] for name in ("moment", "lam"))
    parts = {(start, lam): _lines(shown.sel(start=start, lam=lam)) for start in STARTS for lam in lams}
    asked = {"moment": times[-1], "start": FROM_START, "lam": lams[-1]}
    if prediction:
        prediction.panel_answers(float(sweep.first_on.sel(start=FROM_START, lam=lams[-1], rule=PRINTED)), asked)

    def draw(moment, start, lam):
        values, place = parts[start, lam], times.index(moment)
        numbers = {f"{short}_{what}": float(values[f"{rule} {what}"][place]) for rule, short in _SHORT.items()
                   for what in ("error", "distance")}
        return Frame(finding_of_the_rule(sweep.sel(start=start, lam=lam)),
                     said(_ALT, start=start, lam=lam, moment=moment, on=float(values[f"{PRINTED} on"][place]),
                          **numbers), values,
                     key(("merged", "The slides’ rule"), ("single", "No regulariser"),
                         ("", "grey: the largest λ that does no harm (exercise 11.5); dashed, λ all the time")))

    controls = {"moment": slider("time ηk", {f"{t:.2f}": t for t in times}, times[-1], places=times,
                                 words=lambda t: f"time {t:.2f}"),
                "start": chips("start", STARTS), "lam": chips("λ", {f"{lam:g}": lam for lam in lams}, lams[-1],
                                                              more=True)}
    return {"kicker": "Chapter 11: a regulariser that switches itself", "charts": _charts(times, shown), "draw": draw,
            "controls": controls, "stacked": True,
            "hides": [f"{PRINTED} {what}" for what in ("on", "error", "distance")],
            "caption": f"{caption(sweep)} Full batches, steps of 0.15/κ_max."}


def _lines(part):
    """What is drawn of one start and one λ, by name: of every rule the share of the steps from the second on in which
    it had the regulariser on, the error, and the distance."""
    count = np.maximum((part.moment / part.eta).values.round(), 1)
    values = {}
    for rule in LABELS:
        of_rule = part.sel(rule=rule)
        share = of_rule.share_on.values
        later = (share * (count + 1) - share[0]) / count
        values |= {f"{rule} on": np.append(later[1], later[1:]).clip(0, 1),
                   f"{rule} error": of_rule.error.values.clip(LEAST), f"{rule} distance": of_rule.distance.values}
    return values


def _charts(times, shown):
    """Three charts below each other, over time."""
    across = Axis("time", 0, times[-1])
    most = float(shown.error.max())
    axes = {"on": (Axis("steps so far with the regulariser on", 0, 1.05, unit="percent"), 160),
            "error": (Axis("training error R̃ = ‖r‖²", LEAST, 3 * most, "log", ticks=powers(LEAST, 3 * most, 4)), 170),
            "distance": (Axis("distance from θ₀", 0, 1.1 * float(shown.distance.max()), digits=2), 170)}
    charts = []
    for what, (axis, height) in axes.items():
        lines = [Line(f"{rule} {what}", ROLES.get(rule, "other"), "" if rule in ROLES else text, bare=True,
                      dashed=rule == CONSTANT, dots=rule == PRINTED) for rule, text in LABELS.items()]
        star = (Star("guess", "merged", x=(times[-1],)),) if what == "on" else ()
        charts.append(Chart(across, axis, (*lines, *star, Handle("moment")), height=height))
    return charts


def finding_of_the_rule(part: xarray.Dataset) -> str:
    """What the rule changes, of one start and one λ."""
    on, moved = (float(part[name].sel(rule=PRINTED)) for name in ("first_on", "apart"))
    constant = part.sel(rule=CONSTANT)
    if on == 0 and float(constant.rise) > THROWN * float(constant.error[0]):
        return "λ switched on late throws the error up, and the rule never switches it on"
    if on == 0:
        return "Here, with full batches and small steps, the rule is never on and changes nothing"
    if on >= FEW or moved >= LITTLE:
        return "From here the rule is on in some of the steps, and training ends elsewhere"
    jumps = float(part.rise.sel(rule=PRINTED)) > JUMP
    return "From here the rule is on in hardly any step, " + ("and the error jumps when it is" if jumps else
                                                              "and changes hardly anything")


# -- when it is on ---------------------------------------------------------------------------------

def when_table(sweep: xarray.Dataset) -> Page:
    """In which share of the steps the rule is on, and what it does; a row a way to train. The sweep is that of
    `experiment.batches`."""
    rows = [(way, f"{float(sweep.on.sel(way=way)):.1%}",
             *(f"{float(sweep[name].sel(way=way)):.3f}" for name in ("distance", "plain_distance", "error",
                                                                     "plain_error")))
            for way in sweep.way.values]
    head = ("from θ₀", "steps with the rule on", "distance, the rule", "distance, no pull", "share of the error left, "
            "the rule", "no pull")
    return table(head, rows, after=paragraph(f"{caption(sweep)} λ = {batches.LAM:g}."))


def reading_of_when(sweep: xarray.Dataset) -> Page:
    """Whether mini-batches switch the rule on, and what that costs."""
    part = {name: float(values.sel(way=batches.BATCHES)) for name, values in sweep.items()}
    if not part["on"]:
        return reading("With mini-batches", "On this seed the rule was never on with mini-batches either.")
    nearer = part["distance"] < 0.98 * part["plain_distance"]
    told = "The weights went about as far, and" if not nearer else \
        said("The weights stayed nearer, {distance:.2f} instead of {plain_distance:.2f}, and", **part)
    error = "larger" if part["error"] > part["plain_error"] else "no larger"
    by_all = float(sweep.on.sel(way=batches.BY_ALL))
    return reading("With mini-batches", """
        If each mini-batch decides by its own gradient, the rule was on in {on:.0%} of the steps. {told} the training
        error was {error} at the end than without it. If the gradient of all samples decides, as in Theorem 1, it was
        {by_all}.""", on=part["on"], told=told, error=error,
                   by_all="never on" if not by_all else said("on in {by_all:.1%} of them", by_all=by_all))
