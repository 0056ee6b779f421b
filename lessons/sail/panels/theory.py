"""Panel (c), and the pages about the theorems."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, grid_table, quiet, reading, said, table
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, GREY, RED
from lessons.kit.sweep import caption, names
from lessons.sail.experiment import theory

NEARER, BOUND = Look(BLUE, "o"), Look(RED, "", "--")


@panel
def theorem_1(sweep: xarray.Dataset):
    """Panel (c): the probability that a random start is at least as near to the target as a pretrained one, against
    what the appendix says that it is at most; and the ratio of the two.

    Controls: d, the number of parameters.
    """
    fig, (left, right) = plotting.figure(2, height=3.8)
    probability = curve(left, NEARER, "Pr(Y ≤ t)", markevery=10, markersize=5)
    left.plot(sweep.share, sweep.share, color=RED, linestyle="--", marker="", label="the bound, t/E[Y]")
    left.set(xscale="log", yscale="log", xlabel="t/E[Y]: how near the pretrained one is (log scale)",
             ylabel="probability (log scale)", ylim=(1e-5, 2), xlim=(1e-4, 1))
    left.legend(loc="lower right")
    dims = sweep.d.values
    right.plot(np.arange(len(dims)), sweep.worst, color=BLUE, marker="o", label="θ* = 0")
    right.plot(np.arange(len(dims)), sweep.worst_off, color=GREY, marker="s", linestyle="--", label="‖θ*‖² = 2")
    right.axhline(1, color=RED, linestyle="--", linewidth=1.2, marker="")
    right.set(yscale="log", xlabel="number of parameters d", ylabel="largest Pr over its bound (log scale)")
    right.set_xticks(np.arange(len(dims)), [str(d) for d in dims])
    right.legend(loc="upper right")
    upright = here(right, 0)
    titles = moving_titles((left, right))

    def draw(d):
        probability.set_data(sweep.share, sweep.nearer.sel(d=d).clip(1e-12))
        place = list(dims).index(d)
        upright.set_xdata([place, place])
        worst = float(sweep.worst.sel(d=d))
        numbers = {"d": d, "worst": worst, "s": "" if d == 1 else "s",
                   "hundredth": float(np.interp(0.01, sweep.share, sweep.nearer.sel(d=d)))}
        titles[0].set_text(said("d = {d}: at t = E[Y]/100 it is {hundredth:.2g}", **numbers))
        titles[1].set_text(said("Largest ratio: {worst:.3g}", **numbers))
        return said("""{d} parameter{s}. Where the pretrained parameters are at a hundredth of the random ones' mean
                       squared distance, a random start is as near with probability {hundredth:.2g}; the bound says at
                       most 0.01. The largest ratio of probability and bound is {worst:.3g}.""", **numbers)

    controls = {"d": slider("parameters d", [int(d) for d in dims], 1)}
    return controls, fig, draw, "Computed here: Y is χ² with d degrees of freedom, exactly."


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
        by {tv_100:.2f} at κ = 100 (medians); as printed by {printed_1:.2f} and {printed_100:.2f}. The parent with the
        smaller distance of data gets the larger share in {heavier_1:.0%} of the draws at κ = 1 and in
        {heavier_100:.0%} at κ = 100. And of H made of squared total variations of five random distributions
        {indefinite:.0%} are indefinite, {saddle:.0%} so that the “minimum” is a saddle.""", **numbers)


def reading_of_theorem_4(sweep: xarray.Dataset) -> Page:
    """The empirical total variation of two samples of one distribution."""
    distances = sweep.tv.assign_coords(size=[f"{int(size):,} points" for size in sweep["size"].values])
    return grid_table(distances, corner="two samples of the same", after=quiet(caption(sweep)))
