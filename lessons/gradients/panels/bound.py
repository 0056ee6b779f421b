"""Panel (c): the bound of Theorem 2 against the truth."""
import numpy as np
import xarray

from lessons.gradients.experiment import bound
from lessons.gradients.experiment.common import ANGLES
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, PURPLE, RED
from lessons.kit.sweep import caption, position

LOOKS = {"C": (Look(BLACK, "o"), "measured, ‖C‖"),
         "printed": (Look(RED, "v"), "theorem, |αT − 1|"),
         "appendix": (Look(PURPLE, "P", ":"), "its proof, |α(T + 1) − 1|"),
         "triangle": (Look(GREEN, "^"), "6.6 a, α(T − 1) + |1 − α|"),
         "tight": (Look(BLUE, "s"), "6.6 b, max(1, |αT − 1|)")}
BOUNDS = [name for name in LOOKS if name != "C"]
LOWEST = 0.1  # ratio of a bound to the truth that is shown
_THIN = {"markersize": 5, "linewidth": 1.5}


@panel
def against_alpha(sweep: xarray.Dataset):
    """Panel (c): the length of C and four versions of Theorem 2's bound against α; right, how many times the bound is
    the truth. Controls: alpha, network, known."""
    fig, (left, right) = plotting.figure(2, height=4.4)
    alphas = sweep.alpha.values
    floor = 0.3 * float(sweep.C.min())
    _axes(left, right, sweep, floor)
    curves = {name: curve(left, look, label, **_THIN) for name, (look, label) in LOOKS.items()}
    ratios = {name: curve(right, LOOKS[name][0], **_THIN) for name in BOUNDS}
    lines = [here(ax, 0) for ax in (left, right)]
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = moving_titles((left, right))

    def draw(alpha, network, known):
        part = sweep.sel(network=network, known=known)
        for name, line in curves.items():
            line.set_data(alphas, np.maximum(part[name].values, floor))
        for name, line in ratios.items():
            line.set_data(alphas, np.maximum(part[name].values / part.C.values, LOWEST))
        for line in lines:
            line.set_xdata([alpha, alpha])
        numbers = _numbers(part.isel(alpha=position(alphas, alpha)))
        titles[0].set_text(said("{network}, α = {alpha:.2f}: ‖C‖ = {C:.3g}", network=network, alpha=alpha, **numbers))
        titles[1].set_text(said("Theorem {printed_times}, tight bound {tight_times}", **numbers))
        return said("""{network} network, α = {alpha:.2f}, {known}: measured ‖C‖ {C:.3g}, the theorem's bound
                       {printed:.3g}, {printed_times}, its proof's {appendix:.3g}, {appendix_times}, by the triangle
                       inequality {triangle:.3g}, {triangle_times}, the tight one {tight:.3g}, {tight_times}. H is
                       {hessian:.3g} and G {gradient:.3g}.""", network=network, alpha=alpha, known=known, **numbers)

    known = {"measured": bound.MEASURED,
             "from the norms, as printed": bound.AS_PRINTED,
             "from the norms, corrected": bound.AS_CORRECTED}
    controls = {"alpha": slider("α", [float(alpha) for alpha in alphas], 0.25),
                "network": choice("network", ("tanh", "linear", "ReLU")),
                "known": choice("H and G", known)}
    remarks = said("""T = {tasks}, k = {steps}, η = {eta:g}. Dotted: α = 1/(T + 1), 1/T, 2/T. At the lower edge: 0.""",
                   tasks=len(ANGLES), steps=bound.STEPS, eta=bound.ETA)
    return controls, fig, draw, f"{caption(sweep)} {remarks}"


def _axes(left, right, sweep, floor):
    """Lengths to the left, ratios to the right, both against α; below a ratio of 1 there is no bound."""
    last = sweep.alpha.values.max()
    for ax, label, low, high in ((left, "length over η²", floor, sweep.triangle),
                                 (right, "bound over measured length", LOWEST, sweep.triangle / sweep.C)):
        ax.set(yscale="log", xlabel="α", ylabel=label, xlim=(0, last * 1.03), ylim=(low, 2 * float(high.max())))
    right.axhspan(LOWEST, 1, color=RED, alpha=0.12, linewidth=0)
    right.text(last, 0.45, "no bound here", ha="right", fontsize=9.5, color=RED)
    tasks = len(ANGLES)
    for ax in (left, right):
        for place in (1 / (tasks + 1), 1 / tasks, 2 / tasks):
            ax.axvline(place, color=GREY, linestyle=":", linewidth=1.2, marker="")


def _numbers(point):
    """What titles and alternative text say of one α."""
    numbers = {name: float(point[name]) for name in ("C", *BOUNDS, "hessian", "gradient")}
    for name in BOUNDS:
        numbers[f"{name}_times"] = _times(numbers[name] / numbers["C"])
    return numbers


def _times(ratio):
    if ratio >= 10:
        return f"{ratio:,.0f}×"
    return f"{ratio:.1f}×" if ratio >= 0.05 else "0×"


def reading_of_the_bound(sweep: xarray.Dataset) -> Page:
    """Where both printed versions fail, and how loose the others are, with this sweep's numbers."""
    numbers = bound.claims(sweep)["TVG-5"]
    return reading("How loose?", """
        On the smooth networks, H and G measured. At α = 1/T the theorem's bound is {printed_at_average:.2g} and ‖C‖ at
        least {C_at_average:.2g}; at α = 1/(T + 1) the proof's is {appendix_at_its_zero:.2g} and ‖C‖ at least
        {C_at_its_zero:.2g}. Over all α they lie below the truth in {printed_violated_share:.0%} and
        {appendix_violated_share:.0%} of the cases. The tight bound is {tight_over_C_least:.1f} times the truth at least
        and {tight_over_C_median:.1f} times in the median; at α = 1/T it is {tight_over_C_at_average:.0f} times the
        truth, where the triangle inequality gives {triangle_over_C_at_average:.0f}. From α = 2/T on it is the theorem's
        own. With H and G from the layers' norms it grows to about {by_norms:,.0f} times. As printed, the norms' bound
        of H is {printed_network_linear:.2g} for a linear network, whose Hessian has the norm {hessian_linear:.2g}.""",
                   by_norms=10 ** numbers["network_over_C_log_median"], **numbers)
