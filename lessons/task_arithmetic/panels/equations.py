"""Eq. 2 and Eq. 3: panel (b), the source's Figure 7 redrawn from our measurement, and from which λ on they no longer
hold."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, agrees, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, COLOURS, GREY, MARKERS, ORANGE, WithQuartiles, still, violin
from lessons.kit.sweep import caption, position
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import LAYERS, NEGATIONS, PAIRS
from lessons.task_arithmetic.panels.common import dotted, grid, ordered

LOOKS = {layer: Look(colour, marker) for layer, colour, marker in zip(LAYERS, COLOURS, MARKERS)}
QUARTILES = ("mean", "low", "high")


# -- panel (b) -------------------------------------------------------------------------------------

@panel
def equations(sweep: xarray.Dataset):
    """Panel (b): 1 − cosine_arith beside 1 − cosine_base, per layer, with quartiles; right, the deviation against λ on
    logarithmic axes. Controls: lam, ends."""
    fig, (left, right) = plotting.figure(2, height=4.0)
    lams = grid(sweep.step)
    base, gap = _cosines(left, sweep)
    curves, at_lam = _deviations(right, sweep, lams)
    titles = moving_titles((left, right))
    names = [str(name) for name in sweep.ends.values]
    values = _by_ends(sweep, names)

    def draw(lam, ends):
        of = values[ends]
        row = position(lams, lam, "lam")
        now = {part: of[part][row] for part in of}
        base.set_values(*(now[f"base_{part}"] for part in QUARTILES))
        gap.set_values(*(now[f"gap_{part}"].clip(1e-9) for part in QUARTILES))
        for line, deviation in zip(curves, of["deviation"].T):
            line.set_data(lams, deviation)
        at_lam.set_xdata([lam, lam])
        ratio = now["gap_mean"] / now["base_mean"]
        coef = now["coef_mean"]
        titles[0].set_text(f"{ends}, λ = {lam:.2f}")
        titles[1].set_text(f"Gap at most {ratio.max():.1%} of baseline, coef {coef.min():.3f} to {coef.max():.3f}")
        return said("{equation} for {ends} at λ = {lam:.2f}. 1 − cosine, gap against baseline: {by_layer}.",
                    equation="Eq. 2" if ends in PAIRS else "Eq. 3", ends=ends, lam=lam, by_layer=_by_layer(now))

    controls = {"lam": slider("λ", lams, 0.4), "ends": choice("task vectors", ordered(names))}
    below = " Markers: mean; bars: quartiles over the images. Deviation: root mean square over the images."
    return controls, fig, draw, caption(sweep) + below


def _cosines(ax, sweep):
    """The left axes: baseline and gap, a place a layer."""
    places = np.arange(len(LAYERS))
    bottom = 0.3 * float(sweep.gap_mean.min())
    top = 30 * float(sweep.base_high.max())
    ax.set(xlim=(-0.5, len(LAYERS) - 0.5), ylim=(bottom, top), yscale="log", ylabel="1 − cosine (logarithmic)")
    ax.set_xticks(places, LAYERS)
    base = WithQuartiles(ax, places - 0.1, ORANGE, "s", "between the two ends (baseline)")
    gap = WithQuartiles(ax, places + 0.1, BLUE, "o", "from the edited network to the mean of the ends")
    ax.legend(loc="upper left")
    return base, gap


def _deviations(ax, sweep, lams):
    """The right axes: the deviation against λ, a curve a layer beside two slopes, and where the slider stands."""
    bottom = 0.6 * float(sweep.deviation.min())
    top = 2 * float(sweep.deviation.max())
    ax.set(xlabel="λ (logarithmic)", ylabel="deviation, share of the features' length", xscale="log", yscale="log",
           xlim=(0.045, 1.1), ylim=(bottom, top))
    ticks = [*lams[:3], 0.5, 1.0]
    ax.set_xticks(ticks, [f"{lam:g}" for lam in ticks])
    ax.minorticks_off()
    start = 0.5 * float(sweep.deviation.isel(step=0).mean())
    for power, style in ((1.5, ":"), (2, "--")):
        ax.plot([0.05, 0.3], [start, start * 6 ** power], color=GREY, linestyle=style, linewidth=1.2, marker="",
                label=f"slope {power:g}")
    curves = [curve(ax, look, layer, markersize=4, linewidth=1.5) for layer, look in LOOKS.items()]
    ax.legend(loc="upper left", ncols=2, fontsize=8.5)
    return curves, here(ax, 0.4)


def _by_ends(sweep, names):
    """{ends: {quantity: (steps, layers)}}: a slider's step then costs no selection in the whole sweep."""
    parts = [f"{name}_{part}" for name in ("gap", "base") for part in QUARTILES] + ["coef_mean", "deviation"]
    values = {}
    for name in names:
        here = sweep.sel(ends=name)
        values[name] = {part: here[part].transpose("step", "layer").values for part in parts}
    return values


def _by_layer(now):
    found = []
    for place, layer in enumerate(LAYERS):
        numbers = {name: now[name][place] for name in ("gap_mean", "base_mean", "coef_mean", "deviation")}
        found.append(said("""{layer} {gap_mean:.4f} against {base_mean:.4f}, coef {coef_mean:.3f}, deviation
                             {deviation:.4f}""", layer=layer, **numbers))
    return "; ".join(found)


# -- Figure 7 --------------------------------------------------------------------------------------

SUMS = [mlp.name_of(*pair) for pair in ((22.5, 45.0), (22.5, 90.0), (45.0, 135.0), (90.0, 180.0))]
OPPOSITES = [mlp.negation_of(angle) for angle in (22.5, 45.0, 90.0, 180.0)]


@still
def figure_7(sweep: xarray.Dataset, lams=(0.2, 0.4)):
    """Figures 7 and 8 of CTL at both readings of its λ: gap and baseline for four pairs and four negations, and the
    distribution of coef in the third layer."""
    fig, axes = plotting.figure(4, 2, height=6.2, sharey="row")
    third = sweep.sel(layer="layer 3")
    columns = [(names, lam) for names in (SUMS, OPPOSITES) for lam in lams]
    for (top, bottom), (names, lam) in zip(axes.T, columns):
        part = third.sel(ends=names, step=lam)
        _gaps(top, part)
        top.set(title=f"{'Addition' if names is SUMS else 'Negation'}, λ = {lam:g}", ylim=(0, 0.6))
        _lengths(bottom, part)
        short = [name.replace(" and its negative", "").replace(" and ", "\n") for name in names]
        for ax in (top, bottom):
            ax.set_xticks(np.arange(len(names)), short, fontsize=8)
    axes[0, 0].set_ylabel("1 − cosine, layer 3")
    axes[1, 0].set_ylabel("coef, layer 3")
    axes[0, 0].legend(loc="upper left")
    part = third.sel(ends=SUMS + OPPOSITES, step=list(lams))
    alt = said("""Layer 3. 1 − cosine_arith lies between {gap[0]:.4f} and {gap[1]:.4f}, the baseline between
                  {base[0]:.3f} and {base[1]:.3f}; the mean of coef between {coef[0]:.3f} and {coef[1]:.3f}.""",
               gap=_range(part.gap_mean), base=_range(part.base_mean), coef=_range(part.coef_mean))
    below = " Above: mean and quartiles over the images. Below: distribution over the images, line: median."
    return plotting.show(fig, alt, caption(sweep) + below)


def _range(values):
    return values.min().item(), values.max().item()


def _gaps(ax, part):
    """Baseline and gap with their quartiles, a place for each of the ends."""
    places = np.arange(part.sizes["ends"])
    base = WithQuartiles(ax, places - 0.13, GREY, "s", "baseline", animated=False)
    gap = WithQuartiles(ax, places + 0.13, BLUE, "o", "arith", animated=False)
    for shown, name in ((base, "base"), (gap, "gap")):
        shown.set_values(*(part[f"{name}_{quartile}"] for quartile in QUARTILES))


def _lengths(ax, part):
    """The distribution of coef, a place for each of the ends."""
    for place in range(part.sizes["ends"]):
        of = part.isel(ends=place)
        violin(ax, place, of.bin.values, of.coef_count.values, of.coef_median.item(), COLOURS[place], width=0.35)
    dotted(ax, 1)
    ax.set(ylim=(0.7, 1.2))


def reading_of_figure_7(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 7, 8 and 19 to 24 of CTL and ours, with this sweep's numbers."""
    adding = mlp.claim_10(sweep)
    negating = mlp.claim_11(sweep)
    most = max(adding["gap_over_base_at_0.4"], negating["gap_over_base_at_0.4"])
    return reading("Figures 7, 8 and 19 to 24 of CTL, and ours", """
        {agrees} at both readings of its λ. Eq. 2, all 28 pairs, every layer: {adding}. Eq. 3, all eight tasks:
        {negating}. Differs: the source reports λ = 0.4 alone and so cannot show where it ends: the edited network's
        features fall ever shorter of the mean of the ends' before they point elsewhere.""",
                   agrees=agrees(most < 0.2), adding=_at_three(adding), negating=_at_three(negating))


def _at_three(of):
    """What an equation comes to at three λ."""
    lams = ("0.2", "0.4", "1")
    return said("""at λ = 0.2 the gap is nowhere more than {gap[0]:.1%} of the baseline, at 0.4 {gap[1]:.1%}, at 1
                   {gap[2]:.0%}; the mean of coef is in every layer at least {coef[0]:.3f}, {coef[1]:.3f} and
                   {coef[2]:.2f}""",
                gap=[of[f"gap_over_base_at_{lam}"] for lam in lams],
                coef=[of[f"coef_at_{lam}"] for lam in lams])


# -- how it grows, and where it ends ---------------------------------------------------------------

def reading_of_the_slopes(sweep: xarray.Dataset) -> Page:
    """The exponents with which the deviation grows, per layer, for small λ."""
    lines = []
    for names, title in ((list(PAIRS), "Eq. 2"), (NEGATIONS, "Eq. 3")):
        slopes = mlp.exponents(sweep.sel(ends=names))
        lines.append(f"{title}: {', '.join(f'{layer} {slope:.2f}' for layer, slope in slopes.items())}")
    text = "; ".join(lines)
    return Page(text, f"<p><b>Measured exponents</b>, λ up to 0.2, mean over all pairs or tasks. {text}.</p>")


def where_it_ends(sweep: xarray.Dataset) -> Page:
    """A table: from which λ on Eq. 2 and Eq. 3 miss by more than a stated share, layer by layer."""
    found = mlp.limits(sweep)
    kinds = {"gap": f"gap over {mlp.SHARE:.0%} of the baseline", "coef": f"coef below {mlp.LENGTH:g}"}
    rows = []
    for equation in map(str, found.equation.values):
        for name, label in kinds.items():
            values = found[name].sel(equation=equation).values
            rows.append((f"{equation}, {label}", *("never" if np.isnan(value) else f"{value:g}" for value in values)))
    below = "<p style='color:#555'>The smallest λ of those measured; mean over all pairs or tasks.</p>"
    return table(("from which λ on", *LAYERS), rows, after=below)
