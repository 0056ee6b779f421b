"""Eq. 2 and Eq. 3: panel (b), the source's Figure 7 redrawn from our measurement, and from which λ on they no longer hold."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, table
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREY, MARKERS, ORANGE, WithQuartiles, violin
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still
from lessons.task_arithmetic import experiment as experiment_claims
from lessons.task_arithmetic.algorithms import log_slope
from lessons.task_arithmetic.experiment import mlp as experiment
from lessons.task_arithmetic.experiment.mlp import ANGLES, LAYERS, PAIRS
from lessons.task_arithmetic.panels.common import agrees, ordered


@panel
def equations(sweep: xarray.Dataset):
    """Panel (b): 1 − cosine_arith beside 1 − cosine_base, per layer, with quartiles; right, the deviation against λ on logarithmic axes. Controls: lam, ends."""
    fig, (left, right) = plotting.figure(2, height=4.0)
    lams, places = list(map(float, sweep.step.values)), np.arange(len(LAYERS))
    left.set(xlim=(-0.5, len(LAYERS) - 0.5), ylim=(0.3 * float(sweep.gap_mean.min()), 30 * float(sweep.base_high.max())), yscale="log", ylabel="1 − cosine (logarithmic)")
    left.set_xticks(places, LAYERS)
    base = WithQuartiles(left, places - 0.1, ORANGE, "s", "between the two ends (baseline)")
    gap = WithQuartiles(left, places + 0.1, BLUE, "o", "from the edited network to the mean of the ends")
    left.legend(loc="upper left")
    right.set(xlabel="λ (logarithmic)", ylabel="deviation, share of the features' length", xscale="log", yscale="log", xlim=(0.045, 1.1),
              ylim=(0.6 * float(sweep.deviation.min()), 2 * float(sweep.deviation.max())))
    right.set_xticks(lams[:3] + [0.5, 1.0], [f"{lam:g}" for lam in lams[:3] + [0.5, 1.0]])
    right.minorticks_off()
    start = float(sweep.deviation.isel(step=0).mean())
    for power, style in ((1.5, ":"), (2, "--")):
        right.plot([0.05, 0.3], [0.5 * start, 0.5 * start * 6 ** power], color=GREY, linestyle=style, linewidth=1.2, marker="", label=f"slope {power:g}")
    lines = [right.plot([], [], color=colour, marker=marker, markersize=4, linewidth=1.5, label=layer, animated=True)[0] for layer, colour, marker in zip(LAYERS, COLOURS, MARKERS)]
    right.legend(loc="upper left", ncols=2, fontsize=8.5)
    here = right.axvline(0.4, color=BLACK, linewidth=1, marker="", animated=True)
    titles = plotting.moving_titles((left, right))
    names = [str(name) for name in sweep.ends.values]
    parts = ("gap_mean", "gap_low", "gap_high", "base_mean", "base_low", "base_high", "coef_mean", "deviation")
    values = {name: {part: sweep[part].sel(ends=name).transpose("step", "layer").values for part in parts} for name in names}

    def draw(lam, ends):
        row, of = position(lams, lam, "lam"), values[ends]
        base.set_values(*(of[f"base_{part}"][row] for part in ("mean", "low", "high")))
        gap.set_values(*(of[f"gap_{part}"][row].clip(1e-9) for part in ("mean", "low", "high")))
        for line, deviation in zip(lines, of["deviation"].T):
            line.set_data(lams, deviation)
        here.set_xdata([lam, lam])
        ratio = of["gap_mean"][row] / of["base_mean"][row]
        titles[0].set_text(f"{ends}, λ = {lam:.2f}")
        titles[1].set_text(f"Gap at most {ratio.max():.1%} of baseline, coef {of['coef_mean'][row].min():.3f} to {of['coef_mean'][row].max():.3f}")
        said = "; ".join(f"{layer} {g:.4f} against {b:.4f}, coef {c:.3f}, deviation {d:.4f}" for layer, g, b, c, d in
                         zip(LAYERS, *(of[name][row] for name in ("gap_mean", "base_mean", "coef_mean", "deviation"))))
        return f"{'Eq. 2' if ends in PAIRS else 'Eq. 3'} for {ends} at λ = {lam:.2f}. 1 − cosine, gap against baseline: {said}."

    controls = {"lam": slider("λ", lams, 0.4), "ends": choice("task vectors", {name: name for name in ordered(names)})}
    return controls, fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images. Deviation: root mean square over the images."


@still
def figure_7(sweep: xarray.Dataset, lams=(0.2, 0.4)):
    """Figures 7 and 8 of CTL at both readings of its λ: gap and baseline for four pairs and four negations, and the distribution of coef in the third layer."""
    sums = [experiment.name_of(i, j) for i, j in ((22.5, 45.0), (22.5, 90.0), (45.0, 135.0), (90.0, 180.0))]
    negations = [experiment.negation_of(angle) for angle in (22.5, 45.0, 90.0, 180.0)]
    fig, axes = plotting.figure(4, 2, height=6.2, sharey="row")
    for column, (names, lam) in enumerate((names, lam) for names in (sums, negations) for lam in lams):
        top, bottom = axes[0, column], axes[1, column]
        places, part = np.arange(len(names)), sweep.sel(ends=names, step=lam, layer="layer 3")
        for shift, colour, marker, name, label in ((-0.13, GREY, "s", "base", "baseline"), (0.13, BLUE, "o", "gap", "arith")):
            WithQuartiles(top, places + shift, colour, marker, label, animated=False).set_values(part[f"{name}_mean"], part[f"{name}_low"], part[f"{name}_high"])
        top.set(title=f"{'Addition' if names is sums else 'Negation'}, λ = {lam:g}", ylim=(0, 0.6))
        for place, name in enumerate(names):
            here = part.sel(ends=name)
            violin(bottom, place, here.bin.values, here.coef_count.values, here.coef_median.item(), COLOURS[place], width=0.35)
        bottom.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        bottom.set(ylim=(0.7, 1.2))
        for ax in (top, bottom):
            ax.set_xticks(places, [name.replace(" and its negative", "").replace(" and ", "\n") for name in names], fontsize=8)
    axes[0, 0].set_ylabel("1 − cosine, layer 3")
    axes[1, 0].set_ylabel("coef, layer 3")
    axes[0, 0].legend(loc="upper left")
    part = sweep.sel(ends=sums + negations, step=list(lams), layer="layer 3")
    alt = (f"Layer 3. 1 − cosine_arith lies between {part.gap_mean.min().item():.4f} and {part.gap_mean.max().item():.4f}, the baseline between {part.base_mean.min().item():.3f} and "
           f"{part.base_mean.max().item():.3f}; the mean of coef between {part.coef_mean.min().item():.3f} and {part.coef_mean.max().item():.3f}.")
    return plotting.show(fig, alt, caption(sweep) + " Above: mean and quartiles over the images. Below: distribution over the images, line: median.")


def reading_of_figure_7(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 7, 8 and 19 to 24 of CTL and ours, with this sweep's numbers."""
    adding, negating = experiment_claims.claim_10(sweep), experiment_claims.claim_11(sweep)
    parts = [f"{title}: at λ = 0.2 the gap is nowhere more than {of['gap_over_base_at_0.2']:.1%} of the baseline, at 0.4 {of['gap_over_base_at_0.4']:.1%}, at 1 {of['gap_over_base_at_1']:.0%}; the "
             f"mean of coef is in every layer at least {of['coef_at_0.2']:.3f}, {of['coef_at_0.4']:.3f} and {of['coef_at_1']:.2f}"
             for title, of in (("Eq. 2, all 28 pairs, every layer", adding), ("Eq. 3, all eight tasks", negating))]
    text = (f"{agrees(max(adding['gap_over_base_at_0.4'], negating['gap_over_base_at_0.4']) < 0.2)} at both readings of its λ. {'. '.join(parts)}. Differs: the source reports λ = 0.4 alone and so "
            "cannot show where it ends: the edited network's features fall ever shorter of the mean of the ends' before they point elsewhere.")
    return Page(text, f"<p><b>Figures 7, 8 and 19 to 24 of CTL, and ours.</b> {text}</p>")


def reading_of_the_slopes(sweep: xarray.Dataset) -> Page:
    """The exponents with which the deviation grows, per layer, for small λ."""
    small = sweep.sel(step=slice(0, 0.2))
    lines = []
    for names, title in ((list(PAIRS), "Eq. 2"), ([experiment.negation_of(angle) for angle in ANGLES], "Eq. 3")):
        mean = small.deviation.sel(ends=names).mean("ends")
        slopes = {layer: log_slope(small.step.values, mean.sel(layer=layer).values) for layer in LAYERS}
        lines.append(f"{title}: {', '.join(f'{layer} {slope:.2f}' for layer, slope in slopes.items())}")
    text = "; ".join(lines)
    return Page(text, f"<p><b>Measured exponents</b>, λ up to 0.2, mean over all pairs or tasks. {text}.</p>")


def where_it_ends(sweep: xarray.Dataset) -> Page:
    """A table: from which λ on Eq. 2 and Eq. 3 miss by more than a stated share, layer by layer."""
    found = experiment_claims.limits(sweep)
    kinds = (("gap", f"gap over {experiment_claims.SHARE:.0%} of the baseline"), ("coef", f"coef below {experiment_claims.LENGTH:g}"))
    rows = [(f"{equation}, {label}", *("never" if np.isnan(value) else f"{value:g}" for value in found[name].sel(equation=equation).values)) for equation in map(str, found.equation.values) for name, label in kinds]
    return table(("from which λ on", *LAYERS), rows, after="<p style='color:#555'>The smallest λ of those measured; mean over all pairs or tasks.</p>")
