"""The pictures of any sweep over pairs, α and layers: two panels, and the source's Figures 2, 3, 13 and 14 redrawn from our measurement."""
import numpy as np
import xarray
from matplotlib.ticker import PercentFormatter

from lessons.kit import claims, plotting
from lessons.kit.page import Page
from lessons.linearity.experiment.lines import SHOWN_ALPHAS, gaps, lengths
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, RED, WithQuartiles, violin
from lessons.kit.predict import Star
from lessons.kit.sweep import at, caption, edges, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still

ALPHA = "α (weight of θᵢ)"


def by_choice(sweep: xarray.Dataset, *names) -> dict[tuple, xarray.Dataset]:
    """{(pair, treatment of BatchNorm, None where the sweep has none): the named variables}: a slider's step then costs no selection in the whole sweep."""
    treatments = sweep.treatment.values if "treatment" in sweep.dims else [None]
    part = sweep[list(names)]
    return {(str(pair), treatment and str(treatment)): part.sel(pair=pair, **({"treatment": treatment} if treatment else {}))
            for pair in sweep.pair.values for treatment in treatments}


def controls(sweep: xarray.Dataset) -> dict:
    """The controls alpha and pair, and treatment where the sweep has several; the pair that its attribute `opens_on` names comes first."""
    pairs = {pair: pair for pair in sorted(map(str, sweep.pair.values), key=lambda pair: pair != sweep.attrs["opens_on"])}
    found = {"alpha": slider("α", [float(alpha) for alpha in sweep.alpha.values], 0.5), "pair": choice("θᵢ and θⱼ finetuned on", pairs)}
    return found | ({"treatment": treatments(sweep)} if "treatment" in sweep.dims else {})


def treatments(sweep: xarray.Dataset):
    """The choice between the sweep's treatments of BatchNorm."""
    return choice("BatchNorm statistics", {str(treatment): str(treatment) for treatment in sweep.treatment.values})


def layer_ticks(ax, layers) -> np.ndarray:
    """Name the layers below an axis, blocks by number; returns their places."""
    places = np.arange(len(layers))
    if layers[0].startswith("block"):
        ax.set_xticks(places, [layer.removeprefix("block ").replace("output", "out") for layer in layers])
        ax.set_xlabel("block")
    else:
        ax.set_xticks(places, layers, fontsize=8.5 if len(layers) > 3 else None)
    ax.set_xlim(-0.5, len(layers) - 0.5)
    return places


# -- panel (b): the cosine gap ---------------------------------------------------------------------

@panel
def gap_per_layer(sweep: xarray.Dataset, prediction=None):
    """Panel (b): 1 − cos to the mixed features beside the ends' own distance, per layer, mean and quartiles; right, their ratio.

    Controls: alpha, pair, and treatment where the sweep has it. The prediction, the output layer's ratio over the layers, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=3.6, width_ratios=(3, 2))
    layers = list(map(str, sweep.layer.values))
    places = layer_ticks(left, layers)
    left.set(ylim=(0, 1.05 * float(sweep.own_high.max())), ylabel="1 − cosine")
    own = WithQuartiles(left, places - 0.1, ORANGE, "s", "between the two ends' own features")
    gap = WithQuartiles(left, places + 0.1, BLUE, "o", "from the network to the mixed features")
    left.legend(loc="upper left")
    inside = sweep.gap_mean.sel(alpha=slice(0.01, 0.99)) / sweep.own_mean
    layer_ticks(right, layers)
    right.set(ylim=(0, max(0.3, 1.2 * float(inside.max()))), ylabel="gap, share of own distance")
    right.yaxis.set_major_formatter(PercentFormatter(1))
    bars = [right.plot([place, place], [0, 0], color=BLUE, linewidth=min(16, 72 / len(layers)), solid_capstyle="butt", marker="", animated=True)[0] for place in places]
    texts = [right.text(place, 0, "", ha="center", va="bottom", fontsize=9 if len(layers) < 6 else 7, animated=True) for place in places]
    star = Star(right, prediction, len(layers) - 1)
    titles = plotting.moving_titles((left, right))

    lines = by_choice(sweep, "own_mean", "own_low", "own_high", "gap_mean", "gap_low", "gap_high")

    def draw(alpha, pair, treatment=None):
        here = lines[pair, treatment].isel(alpha=position(sweep.alpha.values, alpha))
        own.set_values(here.own_mean, here.own_low, here.own_high)
        gap.set_values(here.gap_mean, here.gap_low, here.gap_high)
        ratio = (here.gap_mean / here.own_mean).values.clip(0)
        for bar, text, place, value in zip(bars, texts, places, ratio):
            bar.set_ydata([0, value])
            text.set(y=value, text=f"{value:.1%}")
        titles[0].set_text(f"Cosine gap, {pair}, α = {alpha:.2f}: at most {here.gap_mean.max().item():.3f}")
        titles[1].set_text("In units of the ends' distance")
        star.place()
        numbers = "; ".join(f"{layer} {g:.4f} against {o:.3f}" for layer, g, o in zip(layers, here.gap_mean.values, here.own_mean.values))
        return f"1 − cosine per layer for {pair} at α = {alpha:.2f}{said_of(treatment)}, gap against the ends' own distance: {numbers}."

    return controls(sweep), fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images."


def said_of(treatment: str | None) -> str:
    """The treatment of BatchNorm as the end of a phrase; "" where there is none."""
    return f", BatchNorm statistics {treatment}" if treatment else ""


# -- panel (c): coef -------------------------------------------------------------------------------

@panel
def coef_per_layer(sweep: xarray.Dataset):
    """Panel (c): the distribution of coef over the images, per layer. Controls: alpha, pair."""
    layers = list(map(str, sweep.layer.values))
    fig, axes = plotting.figure(len(layers), height=3.0, sharey=True)
    bins = edges(sweep)
    shapes, medians, texts = [], [], []
    for ax, layer, colour in zip(axes, layers, plotting.COLOURS):
        ax.set(title=layer, xlabel="coef", xlim=(0.7, 1.3), ylim=(0, 0.25))
        ax.axvline(1, color=GREY, linewidth=1, linestyle=":", marker="")
        shapes.append(ax.stairs(np.zeros(len(bins) - 1), bins, fill=True, color=colour, alpha=0.75, animated=True))
        medians.append(ax.axvline(1, color=BLACK, linewidth=1.2, marker="", animated=True))
        texts.append(ax.text(0.97, 0.95, "", transform=ax.transAxes, ha="right", va="top", fontsize=9, animated=True))
    axes[0].set_ylabel("share of images (cut at 0.25)")
    where = axes[-1].text(1, 1.03, "", transform=axes[-1].transAxes, ha="right", animated=True)

    lines = {place: line.transpose("alpha", "layer", "bin") for place, line in by_choice(sweep, "coef_count", "coef_median").items()}
    close = np.abs(sweep.bin.values - 1) < 0.1

    def draw(alpha, pair):
        step = position(sweep.alpha.values, alpha)
        counts, all_medians = lines[pair, None].coef_count.values[step], lines[pair, None].coef_median.values[step]
        where.set_text(f"α = {alpha:.2f}")
        said = []
        for index, layer in enumerate(layers):
            share, median = counts[index] / counts[index].sum(), all_medians[index]
            near = share[close].sum()
            shapes[index].set_data(share)
            medians[index].set_xdata([median, median])
            texts[index].set_text(f"median {median:.3f}\n{near:.0%} in 1 ± 0.1")
            said.append(f"{layer} median {median:.3f}, {near:.0%} of images within 0.1 of 1")
        return f"Distribution of coef per layer for {pair} at α = {alpha:.2f}: {'; '.join(said)}."

    return controls(sweep), fig, draw, caption(sweep) + " Black: median. coef 1 means: exactly as long as the mixed features."


# -- the source's figures, from our measurement ----------------------------------------------------

@still
def figure_13(sweep: xarray.Dataset, pairs=None, layers=None):
    """Figure 13 of CTL: 1 − cos to the mixed features at three α beside the ends' own distance, all pairs and layers. Fig. 2 is a part of it."""
    pairs, layers = _chosen(sweep, "pair", pairs), _chosen(sweep, "layer", layers)
    columns = min(3, len(pairs))
    fig, axes = plotting.figure(columns, -(-len(pairs) // columns), height=2.5 * -(-len(pairs) // columns) + 0.4, sharex=True, sharey=True, squeeze=False)
    places, highest = np.arange(len(layers)), sweep.own_high.sel(pair=pairs, layer=layers).max().item()
    for ax, pair in zip(axes.flat, pairs):
        part = at(sweep, pair=pair).sel(layer=layers)
        points = WithQuartiles(ax, places - 0.3, GREY, "s", "ends' own distance", animated=False)
        points.set_values(part.own_mean, part.own_low, part.own_high)
        for alpha, shift, colour, marker in zip(SHOWN_ALPHAS, (-0.1, 0.1, 0.3), (BLUE, RED, GREEN), ("o", "^", "D")):
            here = part.sel(alpha=alpha)
            points = WithQuartiles(ax, places + shift, colour, marker, f"gap, α = {alpha:g}", animated=False)
            points.set_values(here.gap_mean, here.gap_low, here.gap_high)
        ax.set(title=pair, ylim=(0, 1.05 * highest))
        layer_ticks(ax, layers)
    for ax in axes[:, 0]:
        ax.set_ylabel("1 − cosine")
    axes.flat[0].legend(loc="upper left", fontsize=8)
    part = sweep.sel(pair=pairs, layer=layers)
    gaps = part.gap_mean.sel(alpha=list(SHOWN_ALPHAS))
    alt = (f"1 − cosine for {len(pairs)} pairs and {len(layers)} layers. The gap to the mixed features lies between {gaps.min().item():.4f} and "
           f"{gaps.max().item():.4f}, the ends' own distance between {part.own_mean.min().item():.3f} and {part.own_mean.max().item():.3f}.")
    return plotting.show(fig, alt, caption(sweep) + " Markers: mean; bars: quartiles over the images.")


@still
def figure_2(sweep: xarray.Dataset):
    """Figure 2 of CTL, its left half: three models' pairs, the last three layers."""
    return figure_13(sweep, list(sweep.pair.values[[0, 1, 3]]), list(sweep.layer.values[-3:]))


@still
def figure_14(sweep: xarray.Dataset, pairs=None, layers=None, alphas=SHOWN_ALPHAS):
    """Figure 14 of CTL: the distribution of coef, all pairs, all layers but the head, three α. Fig. 3 is a part of it."""
    pairs, layers = _chosen(sweep, "pair", pairs), _chosen(sweep, "layer", sweep.layer.values[:-1] if layers is None else layers)
    fig, axes = plotting.figure(1, len(layers), height=1.5 * len(layers) + 0.6, sharex=True, sharey=True, squeeze=False)
    for ax, layer in zip(axes[:, 0], layers):
        ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        for alpha, shift, colour in zip(alphas, np.linspace(-0.27, 0.27, len(alphas)) if len(alphas) > 1 else (0,), (BLUE, RED, GREEN)):
            for place, pair in enumerate(pairs):
                here = at(sweep, pair=pair, layer=layer, alpha=alpha)
                violin(ax, place + shift, here.bin.values, here.coef_count.values, here.coef_median.item(), colour, f"α = {alpha:g}" if not place else None)
        ax.set(ylabel="coef", ylim=(0.7, 1.15), title=layer)
        ax.set_xticks(range(len(pairs)), pairs)
        ax.grid(False, axis="x")
    axes[0, 0].legend(ncols=len(alphas), loc="lower left")
    means = sweep.coef_mean.sel(pair=pairs, layer=layers, alpha=list(alphas))
    alt = (f"Distributions of coef for {len(pairs)} pairs and {len(layers)} layers at α = {', '.join(f'{alpha:g}' for alpha in alphas)}: their means lie "
           f"between {means.min().item():.3f} and {means.max().item():.3f}.")
    return plotting.show(fig, alt, caption(sweep) + " Width: share of the images; line: median; the three α stand left to right.")


@still
def figure_3(sweep: xarray.Dataset):
    """Figure 3 of CTL, its left half: three models' pairs, the last three layers before the output, α = 0.5."""
    return figure_14(sweep, list(sweep.pair.values[[0, 1, 3]]), alphas=(0.5,))


@still
def worst_places(sweep: xarray.Dataset):
    """A map of the largest gap over α, for every pair and layer, with the pairs' feature and weight distances: where is CTL worst?"""
    import seaborn
    gap = sweep.gap_mean.max("alpha").transpose("layer", "pair")
    fig, (left, right) = plotting.figure(2, height=3.4, width_ratios=(3, 2))
    seaborn.heatmap(gap.to_pandas(), ax=left, annot=True, fmt=".3f", cmap="cividis_r", cbar_kws={"label": "largest gap over α"}, linewidths=1)
    left.set(title="Where the gap is largest", xlabel="", ylabel="")
    left.tick_params(axis="x", labelrotation=30)
    output = sweep.isel(layer=-1)
    for values, label, colour, marker in ((output.own_mean / output.own_mean.max(), "distance of outputs", ORANGE, "s"),
                                          (sweep.distance / sweep.distance.max(), "distance of weights", BLUE, "o")):
        right.plot(values, gap.isel(layer=-1), linestyle="", marker=marker, color=colour, label=label)
    right.set(title="Output layer, one point a pair", xlabel="distance of the two ends, largest = 1", ylabel="largest gap over α", ylim=(0, None))
    right.legend(loc="upper left")
    pair, layer = max(((p, l) for p in gap.pair.values for l in gap.layer.values), key=lambda place: gap.sel(pair=place[0], layer=place[1]).item())
    alt = (f"The largest gap is {gap.max().item():.3f}, for {pair} at {layer}; the smallest of these maxima is {gap.min().item():.4f}. "
           f"Over the six pairs the output layer's gap correlates {_correlation(output.own_mean, gap.isel(layer=-1)):.2f} with the distance of the "
           f"outputs and {_correlation(sweep.distance, gap.isel(layer=-1)):.2f} with the distance of the weights.")
    return plotting.show(fig, alt, caption(sweep))


def reading_of_the_gap(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 2 and 13 of CTL and ours, with this sweep's numbers."""
    of = gaps(sweep)
    agrees = claims.condition("CTL-2", "gap_over_own_most").holds(of["gap_over_own_most"])
    text = (f"{'Agrees' if agrees else 'Does not agree here'}: at all pairs, layers and α shown, the gap is at most {of['gap_most']:.3f}, and nowhere more than "
            f"{of['gap_over_own_most']:.0%} of the two ends' own distance, which runs from {of['own_least']:.2f} to {of['own_most']:.2f}. Differs: the source says that the gap "
            f"approaches 0, with small error bars. Ours is small, but it has a pattern, highest half-way and for the tasks furthest apart; and from quartile to quartile it spreads over "
            f"{of['gap_spread']:.0%} of its mean, in the median over all places.")
    return Page(text, f"<p><b>Figures 2 and 13 of CTL, and ours.</b> {text}</p>")


def reading_of_coef(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 3 and 14 of CTL and ours, with this sweep's numbers."""
    of = lengths(sweep)
    text = (f"{'Agrees' if of['coef_least'] > 0.85 and of['coef_most'] < 1.15 else 'Does not agree here'}: coef is near 1, {of['coef_mean']:.2f} on average over the hidden layers, and "
            f"{of['share_within_10_percent']:.0%} of the images lie within 0.1 of 1. Differs: it is not centred on 1. The means run from {of['coef_least']:.3f} to {of['coef_most']:.3f}: "
            "the interpolated network's features are a little too short, most of all half-way between tasks that are far apart.")
    return Page(text, f"<p><b>Figures 3 and 14 of CTL, and ours.</b> {text}</p>")


def _correlation(a, b):
    return float(np.corrcoef(a, b)[0, 1])


def _chosen(sweep, name, wanted):
    values = list(map(str, sweep[name].values if wanted is None else wanted))
    for value in values:
        at(sweep, **{name: value})
    return values
