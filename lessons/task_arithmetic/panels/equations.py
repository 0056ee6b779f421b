"""Eq. 2 and Eq. 3: panel (b), the source's Figure 7 redrawn from our measurement, and from which λ on they no longer
hold. Why they miss is in `causes`."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, agrees, quiet, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, COLOURS, GREY, MARKERS, ORANGE, WithQuartiles, still, violin
from lessons.kit.sweep import caption, names, position
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import LAYERS, PAIRS
from lessons.task_arithmetic.panels.common import dotted, grid, ordered

LOOKS = {layer: Look(colour, marker) for layer, colour, marker in zip(LAYERS, COLOURS, MARKERS)}
QUARTILES = ("mean", "low", "high")


# -- panel (b) -------------------------------------------------------------------------------------

@panel
def equations(sweep: xarray.Dataset):
    """Panel (b): 1 − cosine_arith beside 1 − cosine_base, per layer, with quartiles; right, coef against λ. Controls:
    lam, ends."""
    fig, (left, right) = plotting.figure(2, height=4.2)
    lams = grid(sweep.step)
    places = np.arange(len(LAYERS))
    left.set(xlim=(-0.5, len(LAYERS) - 0.5), ylim=(1e-5, 2), yscale="log", ylabel="1 − cosine (logarithmic)")
    left.set_xticks(places, LAYERS)
    base = WithQuartiles(left, places - 0.1, ORANGE, "s", "between the two ends (baseline)")
    gap = WithQuartiles(left, places + 0.1, BLUE, "o", "edited network to the mean of the ends (gap)")
    right.set(xlabel="λ", ylabel="coef: length beside the mean of the ends", xlim=(0, 1.03),
              ylim=(float(sweep.coef_mean.min()) - 0.05, 1.08))
    dotted(right, 1)
    curves = [curve(right, look, layer, markersize=4, linewidth=1.5) for layer, look in LOOKS.items()]
    at_lam = here(right, 0.4)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower left")
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    titles = moving_titles((left, right))
    parts = [f"{name}_{quantity}" for name in ("gap", "base") for quantity in QUARTILES] + ["coef_mean", "deviation"]
    values = {}  # (steps, layers): a slider's step then costs no selection in the whole sweep
    for name in names(sweep.ends):
        part = sweep.sel(ends=name)
        values[name] = {quantity: part[quantity].transpose("step", "layer").values for quantity in parts}

    def draw(lam, ends):
        of_ends = values[ends]
        row = position(lams, lam, "lam")
        now = {part: of_ends[part][row] for part in of_ends}
        base.set_values(*(now[f"base_{part}"] for part in QUARTILES))
        gap.set_values(*(now[f"gap_{part}"].clip(FLOOR) for part in QUARTILES))
        for line, lengths in zip(curves, of_ends["coef_mean"].T):
            line.set_data(lams, lengths)
        at_lam.set_xdata([lam, lam])
        ratio = now["gap_mean"] / now["base_mean"]
        coef = now["coef_mean"]
        titles[0].set_text(f"{ends}, λ = {lam:.2f}: at most {ratio.max():.1%}")
        titles[1].set_text(f"coef {coef.min():.3f} to {coef.max():.3f}")
        return said("{equation} for {ends} at λ = {lam:.2f}. 1 − cosine, gap against baseline: {by_layer}.",
                    equation="Eq. 2" if ends in PAIRS else "Eq. 3", ends=ends, lam=lam, by_layer=_by_layer(now))

    controls = {"lam": slider("λ", lams, 0.4), "ends": choice("task vectors", ordered(values))}
    below = " Markers: mean; bars: quartiles over the images. Percentage: the largest gap as a share of its baseline."
    return controls, fig, draw, caption(_of_features(sweep)) + below


FLOOR = 1e-6  # a quartile of 0 has no place on a logarithmic axis


def _of_features(sweep):
    """The sweep, saying on how many images the features were measured."""
    return sweep.assign_attrs(images=f"{sweep.attrs['feature_images']:,} test images a task")


def _by_layer(now):
    texts = []
    for place, layer in enumerate(LAYERS):
        numbers = {name: now[name][place] for name in ("gap_mean", "base_mean", "coef_mean", "deviation")}
        texts.append(said("""{layer} {gap_mean:.4f} against {base_mean:.4f}, coef {coef_mean:.3f}, deviation
                             {deviation:.4f}""", layer=layer, **numbers))
    return "; ".join(texts)


# -- Figure 7 --------------------------------------------------------------------------------------

SUMS = [mlp.name_of(*pair) for pair in ((22.5, 45.0), (22.5, 90.0), (45.0, 135.0), (90.0, 180.0))]
OPPOSITES = [mlp.negation_of(angle) for angle in (22.5, 45.0, 90.0, 180.0)]


@still
def figure_7(sweep: xarray.Dataset, lams=(0.2, 0.4)):
    """Figures 7 and 8 of CTL at both readings of its λ: gap and baseline for four pairs and four negations, and the
    distribution of coef in the third layer."""
    fig, axes = plotting.figure(4, 2, height=6.2, sharey="row")
    third = sweep.sel(layer="layer 3")
    columns = [(ends, lam) for ends in (SUMS, OPPOSITES) for lam in lams]
    for (top, bottom), (ends, lam) in zip(axes.T, columns):
        part = third.sel(ends=ends, step=lam)
        places = np.arange(part.sizes["ends"])
        base = WithQuartiles(top, places - 0.13, GREY, "s", "baseline", animated=False)
        gap = WithQuartiles(top, places + 0.13, BLUE, "o", "arith", animated=False)
        for markers, name in ((base, "base"), (gap, "gap")):
            markers.set_values(*(part[f"{name}_{quartile}"] for quartile in QUARTILES))
        top.set(title=f"{'Addition' if ends is SUMS else 'Negation'}, λ = {lam:g}", yscale="log", ylim=(1e-4, 2))
        for place in range(part.sizes["ends"]):
            of_end = part.isel(ends=place)
            violin(bottom, place, of_end.bin.values, of_end.coef_count.values, of_end.coef_median.item(),
                   COLOURS[place], width=0.35)
        dotted(bottom, 1)
        bottom.set(ylim=(0.7, 1.2))
        short = [name.replace(" and its negative", "").replace(" and ", "\n") for name in ends]
        for ax in (top, bottom):
            ax.set_xticks(places, short)
    axes[0, 0].set_ylabel("1 − cosine, layer 3 (log)")
    axes[1, 0].set_ylabel("coef, layer 3")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    part = third.sel(ends=SUMS + OPPOSITES, step=list(lams))
    alt = said("""Layer 3. 1 − cosine_arith lies between {gap[0]:.4f} and {gap[1]:.4f}, the baseline between
                  {base[0]:.3f} and {base[1]:.3f}; the mean of coef between {coef[0]:.3f} and {coef[1]:.3f}.""",
               gap=_range(part.gap_mean), base=_range(part.base_mean), coef=_range(part.coef_mean))
    below = " Above: mean and quartiles over the images. Below: distribution over the images, line: median."
    return plotting.show(fig, alt, caption(_of_features(sweep)) + below)


def _range(values):
    return values.min().item(), values.max().item()


def reading_of_figure_7(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 7, 8 and 19 to 24 of Zhou et al. and ours, with this sweep's
    numbers."""
    adding = mlp.claim_10(sweep)
    negating = mlp.claim_11(sweep)
    most = max(adding["gap_over_base_at_0.4"], negating["gap_over_base_at_0.4"])
    return reading("Figures 7, 8 and 19 to 24 of Zhou et al., and ours", """
        {agrees} at both readings of its λ. Eq. 2, all 28 pairs, every layer: {adding}. Eq. 3, all eight tasks:
        {negating}. Differs: the source reports λ = 0.4 alone and so cannot show where it ends: the edited network's
        features fall ever shorter of the mean of the ends' before they point elsewhere.""",
                   agrees=agrees(most < 0.2), adding=_at_three(adding), negating=_at_three(negating))


def _at_three(numbers):
    """What an equation comes to at three λ."""
    lams = ("0.2", "0.4", "1")
    return said("""at λ = 0.2 the gap is nowhere more than {gap[0]:.1%} of the baseline, at 0.4 {gap[1]:.1%}, at 1
                   {gap[2]:.0%}; the mean of coef is in every layer at least {coef[0]:.3f}, {coef[1]:.3f} and
                   {coef[2]:.2f}""",
                gap=[numbers[f"gap_over_base_at_{lam}"] for lam in lams],
                coef=[numbers[f"coef_at_{lam}"] for lam in lams])


# -- where it ends --------------------------------------------------------------------------------

def where_it_ends(sweep: xarray.Dataset) -> Page:
    """A table: from which λ on Eq. 2 and Eq. 3 miss by more than a stated share, layer by layer."""
    limits = mlp.limits(sweep)
    kinds = {"gap": f"gap over {mlp.SHARE:.0%} of the baseline", "coef": f"coef below {mlp.LENGTH:g}"}
    rows = []
    for equation in map(str, limits.equation.values):
        for name, label in kinds.items():
            values = limits[name].sel(equation=equation).values
            rows.append((f"{equation}, {label}", *("never" if np.isnan(value) else f"{value:g}" for value in values)))
    below = quiet("The smallest λ of those measured; mean over all pairs or tasks.")
    return table(("from which λ on", *LAYERS), rows, after=below)
