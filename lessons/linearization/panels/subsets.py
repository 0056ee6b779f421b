"""Panel (e): what the kernel says of every subset of layers, and what training makes of it."""
import numpy as np
import xarray
from scipy import stats

from lessons.kit.noise import WIDE
from lessons.kit.page import Markup, Page, grid_table, minus, reading, said, table
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Spots, chips, key, slider, view
from lessons.linearization.experiment import subsets
from lessons.linearization.experiment.subsets import DEEP, NETS
from lessons.linearization.panels.flow import powers

MEASURES = {"condition number κ(K + σI)": "condition", "predicted training error": "risk",
            "smallest eigenvalue": "kappa_min", "number of weights": "weights"}
LEAST = 1e-6  # share of R̃ that is drawn
MOST_DOTS = 40  # subsets of which each has a large dot
_ALT = """
    {net} network, {measure}, σ = {sigma:g}, trained by {training}. Rank correlation with the training error that is
    left, over {count} subsets of layers: {order:+.2f}; chance alone reaches {reach:.2f}. Against σ it is {along}.
    Between {least:.2g} and {most:.2g} of the training error is left."""


@view
def every_subset(sweep: xarray.Dataset):
    """Panel (e): left, every subset of a network's layers as a dot, the training error that it ends with against its
    rank by what the kernel at θ_0 says; right, the rank correlation of the two against σ, for each thing that the
    kernel says.

    Controls: sigma, measure, net, training. Horizontal positions are ranks, so that only the order counts.
    """
    parts, nowhere = {net: subsets.only(sweep, net) for net in NETS}, np.full((2, 1), np.nan)
    orders = {(net, training): {measure: orders_of(part, measure, training) for measure in MEASURES.values()}
              for net, part in parts.items() for training in subsets.TRAININGS}
    texts = {measure: text for text, measure in MEASURES.items()}

    def draw(sigma, measure, net, training):
        part, order = parts[net], orders[net, training]
        left = np.maximum((part.loss.sel(training=training) / part.start).values, LEAST)
        ranked = (stats.rankdata(of_measure(part, measure, sigma)) - 1) / (len(left) - 1)
        reach = reach_of(len(left))
        is_cloud = len(left) > MOST_DOTS
        values = {"cloud": (ranked, left) if is_cloud else nowhere, "dots": nowhere if is_cloud else (ranked, left),
                  "none": 0, "chance": np.outer((-reach, reach), np.ones(len(subsets.SIGMAS)))}
        values |= {name: np.full(len(subsets.SIGMAS), np.nan) if name == measure else along
                   for name, along in order.items()}
        along = ", ".join(f"{number:g}: {value:+.2f}" for number, value in zip(subsets.SIGMAS, order[measure]))
        alt = said(_ALT, net=net, measure=texts[measure], sigma=sigma, training=training, count=len(left), along=along,
                   order=order[measure][position(subsets.SIGMAS, sigma)], reach=reach, least=left.min(),
                   most=left.max())
        return Frame(finding_of_orders(order[measure], len(left), measure), alt,
                     values | {"chosen": order[measure]},
                     key(("merged", f"A dot: tuning some of the layers. Order: {texts[measure]}"),
                         ("", "grey: the other orders; band: chance")))

    text = caption(sweep) + " Correlation: Spearman's, of ranks. Band: two standard errors of subsets drawn at random."
    return {"kicker": "Chapter 11: which layers to tune? What the kernel says before training",
            "tries": ("Move σ from left to right, and watch how the dots turn round.",
                      "Choose “predicted training error”, and move σ again."),
            "charts": _charts(),
            "draw": draw, "caption": text,
            "controls": {"sigma": slider("σ", {f"{sigma:g}": sigma for sigma in subsets.SIGMAS}, 1.0,
                                         words=lambda sigma: f"σ = {sigma:g}", places=subsets.SIGMAS,
                                         ends=[("", "weak ridge"), ("", "strong")]),
                         "measure": chips("by", MEASURES), "net": chips("network", NETS, DEEP, more=True),
                         "training": chips("trained by", subsets.TRAININGS, more=True)}}


def _charts():
    """The cloud, and correlations against σ."""
    left = Chart(Axis("subsets of layers in order", -0.02, 1.02, ticks={0: "smallest", 1: "largest"}),
                 Axis("remaining training error, share of that at θ₀", LEAST, 2, "log", ticks=powers(LEAST, 1, 2)),
                 (Spots("cloud", "merged", small=True), Spots("dots", "merged")))
    ends = subsets.SIGMAS[0], subsets.SIGMAS[-1]
    grey = {"risk": "predicted error", "condition": "condition number", "kappa_min": "smallest eigenvalue",
            "weights": "weights"}
    right = Chart(Axis("σ", *ends, "log", ticks=powers(2 * ends[0], ends[1], 2)),
                  Axis("rank correlation; above 0: a small κ trains further", -1, 1, digits=2),
                  (Band("chance", "chance"), Reference("none", "chance", aside=True),
                   *(Line(name, "other", text) for name, text in grey.items()),
                   Line("chosen", "merged", dots=True, near=True), Handle("sigma")))
    return [left, right]


def orders_of(part: xarray.Dataset, measure: str, training: str) -> np.ndarray:
    """(σ,) rank correlations of what the kernel says of a network's subsets with the training error left."""
    sigmas = subsets.SIGMAS if measure in ("condition", "risk") else subsets.SIGMAS[:1]  # the others have no σ
    orders = [subsets.order(part, measure, training, sigma) for sigma in sigmas]
    return np.broadcast_to(orders, len(subsets.SIGMAS)) if len(orders) == 1 else np.array(orders)


def reach_of(count: int) -> float:
    """How far chance alone takes a rank correlation of so many subsets: two standard errors."""
    return WIDE / np.sqrt(count - 1)


def finding_of_orders(orders: np.ndarray, count: int, measure: str) -> str:
    """What a measure of so many subsets tells of training: one way at every σ, another way at another σ, or nothing.
    orders: (σ,) rank correlations with the training error."""
    about = {"condition": "condition number", "risk": "predicted error", "kappa_min": "smallest eigenvalue",
             "weights": "number of weights"}[measure]
    up, down = orders > reach_of(count), orders < -reach_of(count)
    if up.any() and down.any():
        if up[0] and down[-1] and (np.diff(orders) <= reach_of(count)).all():
            return f"A small {about} is a good sign at a small σ and a bad one at a large σ"
        return f"Whether subsets with a small {about} train further or less far depends on σ"
    if up.all():
        return f"At every σ, subsets with a small {about} train further"
    if down.all():
        return f"Subsets with a large {about} train further" + (" at every σ" if measure == "condition" else "")
    if up.any():
        return f"At some σ, subsets with a small {about} train further; at others that is within the noise"
    if down.any():
        return f"At a large σ, subsets with a large {about} train further; at a small σ that is within the noise" \
            if down[-1] and not down[0] else f"At some σ, subsets with a large {about} train further"
    return f"What the {about} tells of training is within the noise"


def of_measure(part: xarray.Dataset, measure: str, sigma: float) -> np.ndarray:
    """What the kernel says of every subset of a network."""
    if measure == "condition":
        return subsets.condition(part, sigma).values
    return part.risk.sel(sigma=sigma).values if measure == "risk" else part[measure].values


# -- tables and readings ---------------------------------------------------------------------------

def signs_table(sweep: xarray.Dataset) -> Page:
    """Rank correlation of the condition number with the trained error, against σ, for both networks and three ways of
    training."""
    rows = []
    for name in NETS:
        part = subsets.only(sweep, name)
        for training in subsets.TRAININGS:
            orders = [subsets.order(part, "condition", training, sigma) for sigma in subsets.SIGMAS]
            rows.append((f"{name}, {training}", *(minus(f"{order:+.2f}") for order in orders)))
    head = ("κ(K + σI) with the trained error, σ =", *(f"{sigma:g}" for sigma in subsets.SIGMAS))
    return table(head, rows)


def reading_of_the_signs(sweep: xarray.Dataset) -> Page:
    """Why the sign turns, with this sweep's numbers."""
    numbers = subsets.claims(sweep)["LFT-12"]
    return reading("Does a higher condition number go with a higher loss?", Markup("""
        With σ = {small:g}, far below most smallest eigenvalues, yes: the rank correlation with Adam's training error is
        {wide_small:+.2f} for the wide network and {deep_small:+.2f} for the deep one. With σ = {large:g}, above them,
        it is {wide_large:+.2f} and {deep_large:+.2f}: the other way round. Nothing was trained anew, only σ changed.
        Where κ_min ≪ σ, κ(K + σI) is about 1 + κ_max/σ, so a <i>larger</i> kernel, which learns more, has the larger
        condition number. The training error that ridge regression predicts keeps its sign at every σ: its correlation
        with the errors by Adam, and by one step size for all, lies between {risk_least:+.2f} and {risk_most:+.2f}.
        Where each subset has a step size of its own, training takes another time for each, and it is at least
        {risk_own_least:+.2f}."""), small=subsets.SIGMAS[0], large=subsets.SIGMAS[6], **numbers)


def rules_table(sweep: xarray.Dataset) -> Page:
    """What share of the subsets of the same size train further than a rule's pick; 50 % is a pick at random."""
    of_nets = [sweep.better.sel(net=net, drop=True).assign_coords(rule=[f"{net}: {rule}" for rule in names(sweep.rule)])
               for net in NETS]
    return grid_table(xarray.concat(of_nets, "rule"), "{:.0%}", corner="better than the pick, of 1 to 4 layers")


def reading_of_the_rules(sweep: xarray.Dataset) -> Page:
    """The rules of the slides beside dull ones, with this sweep's numbers."""
    numbers = subsets.claims(sweep)["LFT-13"]
    return reading("Which rule picks well?", """
        On average over one to four layers, so many subsets of the same size trained further than the pick. Largest η:
        {wide_eta:.0%} on the wide network and {deep_eta:.0%} on the deep one; smallest κ: {wide_condition:.0%} and
        {deep_condition:.0%}; both together: {wide_both:.0%} and {deep_both:.0%}; most weights, without any kernel:
        {wide_weights:.0%} and {deep_weights:.0%}; the smallest predicted training error: {wide_risk:.0%} and
        {deep_risk:.0%}.""", **numbers)


def reading_of_adding(sweep: xarray.Dataset) -> Page:
    """Theorems 6 and 7 on real layers, with this sweep's numbers."""
    claims = subsets.claims(sweep)
    numbers, high = claims["LFT-9"] | claims["LFT-10"], claims["LFT-10"].get("printed_high_least", np.nan)
    said_by_it = "" if np.isnan(high) else said("""There its upper bound is at least {high:.1f}{never}.""", high=high,
                                                never=", so it never says that a layer helps" if high >= 1 else "")
    return reading("A layer is added", """
        {pairs:.0f} times a layer was added to a subset. By ridge regression with σ = 1, the root of the training error
        became {ratio_least:.2f} to {ratio_most:.3f} times as large. Trained by Adam, the error rose in
        {trained_rises:.0%} of the cases. Theorem 7 has a proof where its η is below 1, and that was so in
        {eta_below_1:.0%} of the cases. {said_by_it}""", said_by_it=said_by_it, **numbers)
