"""Panel (c): the bound of Theorem 2 against the truth."""
from dataclasses import replace

import numpy as np
import xarray

from lessons.gradients.experiment import bound
from lessons.gradients.experiment.common import ANGLES
from lessons.kit.page import Markup, Page, said, table
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, chips, key, slider, view

LINES = {"appendix": Line("appendix", "other", dashed=True),
         "triangle": Line("triangle", "other"),
         "printed": Line("printed", "single", "theorem", dots=True),
         "tight": Line("tight", "merged", "6.6 b", dots=True, near=True)}
SMOOTH = ("linear", "tanh")
NORMS = {"as printed": bound.AS_PRINTED, "corrected": bound.AS_CORRECTED}
LOWEST = 0.04  # ratio of a bound to the truth that is shown
TICKS = {0.1: "0.1", 0.25: "¼", 0.5: "½", 1: "1", 2: "2"}
_ALT = """
    {network} network, α = {alpha:.2f}: measured ‖C‖ {C:.3g}. With H {hessian:.3g} and G {gradient:.3g} measured, the
    theorem's bound is {printed:.3g}, {printed_times}, its proof's {appendix:.3g}, {appendix_times}, that of 6.6 a
    {triangle:.3g}, {triangle_times}, that of 6.6 b {tight:.3g}, {tight_times}. With H and G from the layers' norms,
    {how}, these are {by_norms}."""


@view
def against_alpha(sweep: xarray.Dataset):
    """Panel (c): how many times the length of C four versions of Theorem 2's bound are, against α; left, with H and G
    measured; right, with H and G from the layers' norms. Controls: alpha, network, known.
    """
    alphas = [float(alpha) for alpha in sweep.alpha.values]
    ratios = sweep[list(LINES)] / sweep.C

    def draw(alpha, network, known):
        point = sweep.sel(network=network).isel(alpha=position(alphas, alpha))
        values = {"C": 1.0, "C by norms": 1.0}
        for name in LINES:
            of_network = ratios[name].sel(network=network)
            for line, how in ((name, bound.MEASURED), (f"{name} by norms", known)):
                values[line] = np.maximum(of_network.sel(known=how).values, LOWEST)
        measured, by_norms = _numbers(point.sel(known=bound.MEASURED)), _numbers(point.sel(known=known))
        how = next(text for text, name in NORMS.items() if name == known)
        told = ", ".join(by_norms[f"{name}_times"] for name in ("printed", "appendix", "triangle", "tight"))
        alt = said(_ALT, network=network, alpha=alpha, how=how, by_norms=told, **measured)
        return Frame(finding_of_bounds(measured, by_norms, network), alt, values,
                     key(("single", "The theorem’s bound"), ("merged", "The bound of exercise 6.6 b"),
                         ("", "grey: 6.6 a; dashed: the theorem’s proof"),
                         ("", "dotted: ‖C‖, as measured; below it is no bound")))

    text = said("T = {tasks}, k = {steps}, η = {eta:g}. At the lower edge: 0.", tasks=len(ANGLES), steps=bound.STEPS,
                eta=bound.ETA)
    return {"kicker": "Chapter 6: a bound and the truth", "charts": _charts(alphas, ratios), "draw": draw,
            "controls": {"alpha": slider("α", {f"{alpha:g}": alpha for alpha in alphas}, 0.25, words=_words,
                                         ends=[("", f"{alphas[0]:g}"), ("", f"{alphas[-1]:g}")]),
                         "network": chips("network", ("tanh", "linear", "ReLU")),
                         "known": chips("H and G by the norms", NORMS, bound.AS_CORRECTED, more=True)},
            "caption": f"{caption(sweep)} {text}"}


def _charts(alphas, ratios):
    """The bounds over the measured length, on logarithmic axes."""
    across = Axis("α", alphas[0], alphas[-1], "log", {tick: text for tick, text in TICKS.items() if tick <= alphas[-1]})
    charts = []
    for suffix, known, label, digits in (("", [bound.MEASURED], "measured", 1),
                                         (" by norms", list(NORMS.values()), "by the norms", 0)):
        highest = 1.5 * max(float(ratios[name].sel(known=known).max()) for name in LINES)
        ticks = {10.0 ** power: f"{10.0 ** power:,g}" for power in range(-1, 6) if 10.0 ** power < highest}
        up = Axis(f"bound / ‖C‖, H and G {label}", LOWEST, highest, "log", ticks, "×", digits)
        lines = [replace(line, name=f"{name}{suffix}") for name, line in LINES.items()]
        charts.append(Chart(across, up, (Reference(f"C{suffix}", "chance", aside=True), *lines, Handle("alpha"))))
    return charts


def _words(alpha):
    """Where the slider stands."""
    return {1 / len(ANGLES): "1/T, the average"}.get(alpha, _named(alpha) or f"α = {alpha:g}")


def _named(alpha):
    """An α in terms of T, if it is one of three."""
    tasks = len(ANGLES)
    return {1 / (tasks + 1): "1/(T + 1)", 1 / tasks: "1/T", 2 / tasks: "2/T"}.get(alpha)


def _numbers(point):
    """What titles and alternative text say of one α."""
    numbers = {name: float(point[name]) for name in ("C", *LINES, "hessian", "gradient")}
    return numbers | {f"{name}_times": _times(numbers[name] / numbers["C"]) for name in LINES}


def _times(ratio):
    if ratio >= 10:
        return f"{ratio:,.0f}×"
    return f"{ratio:.1f}×" if ratio >= 0.05 else "0×"


def finding_of_bounds(measured: dict[str, float], by_norms: dict[str, float], network: str = "") -> str:
    """Which version bounds the length of C at one α, in one sentence.

    Args:
        measured: "C" and the bounds by name, with H and G measured.
        by_norms: the same, with H and G from the norms.
        network: for ReLU alone the source prints another bound of H, which is not measured here.
    """
    length = measured["C"]
    if by_norms["tight"] < length:
        return "The printed bound of H for general activations is zero here; for ReLU the source has another" if \
            network == "ReLU" else "With H from the printed norms every bound is zero, and C is not"
    if measured["printed"] < length:
        return f"At this α the theorem’s bound is {'below the truth' if measured['printed'] else 'zero, and C is not'}"
    if measured["appendix"] < length:
        return "At this α the theorem’s bound holds, and that of its proof does not"
    if measured["printed"] > 0.999 * measured["tight"]:
        return "For so large an α the theorem’s bound is the best there is"
    return "At this α the theorem’s bound holds, but nothing guarantees it"


def reading_of_the_bound(sweep: xarray.Dataset) -> Page:
    """A table: where both printed versions fail, and how loose the others are; below it, what the norms give."""
    numbers = bound.claims(sweep)["TVG-5"]
    smooth = sweep.sel(network=list(SMOOTH))
    measured = smooth.sel(known=bound.MEASURED)
    none = "none" if numbers["tight_over_C_least"] >= 1 else "some"
    rows = [
        ("theorem", said("{printed_at_average:.2g} at α = 1/T, where ‖C‖ is at least {C_at_average:.2g}", **numbers),
         f"{numbers['printed_violated_share']:.0%}", ""),
        ("its proof", said("{appendix_at_its_zero:.2g} at α = 1/(T + 1), where ‖C‖ is at least {C_at_its_zero:.2g}",
                           **numbers), f"{numbers['appendix_violated_share']:.0%}", ""),
        *((name, _loosest(measured[short] / measured.C), none, f"{numbers[f'{short}_over_C_median']:.1f} times ‖C‖")
          for name, short in (("6.6 a, triangle inequality", "triangle"), ("6.6 b, tight", "tight")))]
    by_norms = smooth.tight.sel(known=bound.AS_CORRECTED) / smooth.C
    below = said("""From α = 2/T on the bound of 6.6 b is the theorem's own. With H and G from the layers'
                    norms, corrected, it is about {median:,.0f} times ‖C‖ in the median over these cases, and at most
                    {most}. With H and G bounded as printed, the theorem's bound is {printed_network_linear:.2g} at
                    every α for a linear network, whose H is {hessian_linear:.2g}.""",
                 median=10 ** numbers["network_over_C_log_median"], most=_loosest(by_norms), **numbers)
    before = Markup("<p><b>How loose?</b> A case is a {} network at one of {} values of α.</p>").format(
        " or ".join(SMOOTH), measured.sizes["alpha"])
    return table(("bound, H and G measured", "where it is worst", "cases below ‖C‖", "median of the cases"), rows,
                 left=2, before=before, after=Markup("<p>{}</p>").format(below))


def _loosest(ratio):
    """How many times ‖C‖ a bound is at most, and in which case."""
    case = ratio.isel(ratio.argmax(...))
    alpha = float(case.alpha)
    return f"{float(case):,.0f} times ‖C‖ at α = {_named(alpha) or f'{alpha:g}'}, {case.network.item()} network"
