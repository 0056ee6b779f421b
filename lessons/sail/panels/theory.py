"""Panel (c), and the pages about the theorems."""
import numpy as np
import xarray

from lessons.kit.page import Page, grid_table, quiet, reading, said, table
from lessons.kit.sweep import caption, names
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, key, slider, view
from lessons.sail.experiment import theory

HIGHER = 1e-6  # what a ratio of probability and bound may exceed 1 by and still be rounding
LEAST = 1e-5  # the smallest probability that is drawn
WITH_ROOM = 0.9  # such a ratio, at most, where the title says that there is room
_WORDS = {2: "two", 3: "three", 10: "ten", 100: "a hundred"}
_ALT = """
    {d} parameter{s}. Where the pretrained parameters are at a hundredth of the random ones' mean squared distance, a
    random start is as near with probability {hundredth:.2g}; the bound is 0.01 there. From a millionth of that mean on,
    the largest ratio of probability and bound is {worst:.3g}. By numbers of parameters it is {ratios}."""


@view
def theorem_1(sweep: xarray.Dataset):
    """Panel (c): the largest ratio of a probability and what the appendix bounds it by, against the number of
    parameters; right, the probability that a random start is at least as near to the target as a pretrained one, beside
    the bound. Control: d, the number of parameters.
    """
    dims, shares = [int(d) for d in sweep.d.values], sweep.share.values
    places = tuple(map(float, range(len(dims))))

    def draw(d):
        worst, nearer = sweep.worst.values, sweep.nearer.sel(d=d).values
        values = {"ratio": worst, "off": sweep.worst_off.values, "the bound": 1.0, "bound": shares,
                  "probability": np.where(nearer >= LEAST, nearer, np.nan)}
        alt = said(_ALT, d=d, s="" if d == 1 else "s", hundredth=np.interp(0.01, shares, nearer),
                   worst=worst[dims.index(d)],
                   ratios=", ".join(f"{number}: {ratio:.3g}" for number, ratio in zip(dims, worst)))
        return Frame(finding_of_theorem_1(d, worst[dims.index(d)]), alt, values,
                     key(("merged", "How likely a random start is at least as near to θ*"),
                         ("single", "What the appendix says it is at most"), ("", "grey: θ* elsewhere, ‖θ*‖² = 2")))

    decades = {10.0 ** power: f"{10.0 ** power:g}" for power in range(-4, 1)}
    left = Chart(Axis("parameters d", -0.3, len(dims) - 0.7, "places",
                      ticks={place: str(d) for place, d in zip(places, dims)}),
                 Axis("probability over its bound, at most", 0.3, 2 * float(sweep.worst.max()), "log", digits=1,
                      ticks={ratio: str(ratio) for ratio in (1, 10, 100, 1000)}),
                 (Reference("the bound", "single", "the bound"), Line("off", "other", x=places),
                  Line("ratio", "merged", x=places, dots=True, near=True), Handle("d")))
    right = Chart(Axis("pretrained distance² over the random mean", shares[0], shares[-1], "log",
                       ticks=decades),
                  Axis("probability that a random start is as near", LEAST, 1, "log", ticks=decades),
                  (Line("bound", "single", "the bound", x=tuple(shares), bare=True),
                   Line("probability", "merged", "exactly", x=tuple(shares), bare=True)))
    control = slider("parameters d", {str(d): d for d in dims}, dims[0],
                     words=lambda d: f"{d} parameter" + ("" if d == 1 else "s"), places=places)
    return {"kicker": "Chapter 9: is near likely?", "charts": [left, right], "draw": draw, "controls": {"d": control},
            "caption": "Computed here: Y is χ² with d degrees of freedom, which holds exactly for θ* = 0."}


def finding_of_theorem_1(d: int, worst: float) -> str:
    """Whether the bound holds for so many parameters. worst: the largest ratio of the probability and the bound."""
    who = "With one parameter" if d == 1 else f"With {_WORDS.get(d, 'many')} parameters"
    if worst > 1 + HIGHER:
        return f"{who} the claim is wrong: a random start is near far more often than it allows"
    if worst > WITH_ROOM:
        return f"{who} the claim holds, with no room to spare"
    return f"{who} the claim holds, with room to spare"


def rules(sweep: xarray.Dataset) -> Page:
    """How far each rule's γ lies from that of the nearest point, and what that costs."""
    rows = []
    for rule in names(sweep.rule):
        cells = []
        for condition in sweep.condition.values:
            part = sweep.sel(rule=rule, condition=condition)
            cells += [f"{float(part.missed):.2f}", f"{float(part.cost):.2f}"]
        rows.append((rule, *cells))
    heads = [f"κ = {condition:g}: {what}" for condition in sweep.condition.values for what in ("off by", "distance²")]
    after = quiet(f"Computed here: medians over {sweep.attrs['images']}; three linear discriminants of "
                  f"{theory.FEATURES} features.")
    return table(("distances of", *heads), rows, after=after)


def reading_of_theorem_2(sweep: xarray.Dataset) -> Page:
    """What Theorem 2 says, tried on random quadratics."""
    numbers = theory.claim_2(sweep)
    return reading("Theorem 2 on random quadratics", """
        Both inequalities hold in {rate_holds:.0%} and {distance_holds:.0%} of the draws. But “nearer” is not “faster”:
        of two random starts the nearer one has the higher loss at once in {slower_now:.0%} of the draws at κ = 100,
        and after a hundred steps in {slower_later:.0%}. At κ = 1 it never happens.""", **numbers)


def reading_of_theorem_3(sweep: xarray.Dataset) -> Page:
    """What Theorem 3 says, tried on linear discriminants and on random distributions."""
    numbers = theory.claim_3(sweep)
    return reading("Theorem 3 on linear models", """
        With distances of parameters the formula is exact. The nearest γ lies outside [0, 1] in {outside_1:.0%} of the
        draws at κ = 1 and in {outside_100:.0%} at κ = 100. With total variations it is off by {tv_1:.2f} at κ = 1 and
        by {tv_100:.2f} at κ = 100 (medians); the formula of §4.4, whose terms are exchanged, with distances of
        parameters by {printed_1:.2f} and {printed_100:.2f}. In the truly nearest mixture, the parent with the
        smaller distance of data has the larger share in {heavier_1:.0%} of the draws at κ = 1 and in {heavier_100:.0%}
        at κ = 100.""", **numbers)


def reading_of_many_parents(sweep: xarray.Dataset) -> Page:
    """What becomes of Eq. 12 with squared total variations of random distributions."""
    return reading("Eq. 12 on random distributions", """
        Of the matrices H made of squared total variations of five random distributions {indefinite:.0%} are indefinite.
        In {saddle:.0%} of all draws Eq. 12 then gives a saddle, and in {saddle_within:.1%} a saddle whose shares are
        all positive, as the source asks.""", **theory.claim_3(sweep))


def reading_of_theorem_4(sweep: xarray.Dataset) -> Page:
    """The empirical total variation of two samples of one distribution."""
    distances = sweep.tv.assign_coords(size=[f"{int(size):,} points" for size in sweep["size"].values])
    return grid_table(distances, corner="two samples of the same", after=quiet(caption(sweep)))
