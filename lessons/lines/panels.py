"""The pictures of any sweep over pairs, α and layers: two panels, and Figures 2, 3, 13 and 14 of Zhou et al. redrawn
from our measurement."""
import numpy as np
import xarray
from matplotlib.ticker import PercentFormatter

from lessons.kit import claims, plotting
from lessons.kit.page import Page, agrees, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, here, moving_titles
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, RED, WithQuartiles, still, violin
from lessons.kit.predict import Star
from lessons.kit.sweep import at, caption, edges, position
from lessons.lines.numbers import SHOWN_ALPHAS, gaps, lengths

ALPHA = "α (weight of θᵢ)"


def by_choice(sweep: xarray.Dataset, *names) -> dict[tuple, xarray.Dataset]:
    """{(pair, treatment of BatchNorm, None where the sweep has none): the named variables}: a slider's step then costs
    no selection in the whole sweep."""
    part = sweep[list(names)]
    parts = {}
    for pair in map(str, sweep.pair.values):
        of_pair = part.sel(pair=pair)
        if "treatment" not in sweep.dims:
            parts[pair, None] = of_pair
            continue
        for treatment in map(str, sweep.treatment.values):
            parts[pair, treatment] = of_pair.sel(treatment=treatment)
    return parts


def controls(sweep: xarray.Dataset) -> dict:
    """The controls alpha and pair, and treatment where the sweep has several; the pair that its attribute `opens_on`
    names comes first."""
    pairs = sorted(map(str, sweep.pair.values), key=lambda pair: pair != sweep.attrs["opens_on"])
    handles = {"alpha": slider("α", [float(alpha) for alpha in sweep.alpha.values], 0.5),
               "pair": choice("θᵢ and θⱼ finetuned on", pairs)}
    return handles | ({"treatment": treatments(sweep)} if "treatment" in sweep.dims else {})


def treatments(sweep: xarray.Dataset):
    """The choice between the sweep's treatments of BatchNorm."""
    return choice("BatchNorm statistics", sweep.treatment.values)


def said_of(treatment: str | None) -> str:
    """The treatment of BatchNorm as the end of a phrase; "" where there is none."""
    return f", BatchNorm statistics {treatment}" if treatment else ""


# -- panel (b): the cosine gap ---------------------------------------------------------------------

@panel
def gap_per_layer(sweep: xarray.Dataset, prediction=None):
    """Panel (b): 1 − cos to the mixed features beside the ends' own distance, per layer, mean and quartiles; right,
    their ratio.

    Controls: alpha, pair, and treatment where the sweep has it. The prediction, the ratio in the layer that the sweep's
    attribute `asked_layer` names, else in the last one, is a star.
    """
    layers = list(map(str, sweep.layer.values))
    fig, (left, right) = plotting.figure(2, height=3.6, width_ratios=(3, 2) if len(layers) < 6 else (1, 1))
    places = _layers(left, layers)
    _gap_axis(left, sweep)
    own = WithQuartiles(left, places - 0.1, ORANGE, "s", "between the two ends' own features")
    gap = WithQuartiles(left, places + 0.1, BLUE, "o", "from the network to the mixed features")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    inside = sweep.gap_mean.sel(alpha=slice(0.01, 0.99)) / sweep.own_mean
    places = _layers(right, layers)
    right.set(ylim=(0, max(0.3, 1.2 * float(inside.max()))), ylabel="gap, share of own distance")
    right.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    written = "{:.1%}" if len(layers) < 6 else "{:.0%}"
    bars = Bars(right, places, BLUE, written.format, width=min(16, 140 / len(layers)), fontsize=9.5)
    asked_layer = layers.index(sweep.attrs.get("asked_layer", layers[-1]))
    star = Star(right, prediction, asked_layer, *_asked(sweep, asked_layer))
    titles = moving_titles((left, right))
    lines = by_choice(sweep, "own_mean", "own_low", "own_high", "gap_mean", "gap_low", "gap_high")

    def draw(alpha, pair, treatment=None):
        now = lines[pair, treatment].isel(alpha=position(sweep.alpha.values, alpha))
        own.set_values(*_drawn(now.own_mean, now.own_low, now.own_high))
        gap.set_values(*_drawn(now.gap_mean, now.gap_low, now.gap_high))
        bars.set_values((now.gap_mean / now.own_mean).values.clip(0))
        titles[0].set_text(f"Cosine gap, {pair}, α = {alpha:.2f}: at most {now.gap_mean.max().item():.3f}")
        titles[1].set_text("In units of the ends' distance")
        star.place(alpha=alpha, pair=pair, treatment=treatment)
        both = zip(layers, now.gap_mean.values, now.own_mean.values)
        numbers = "; ".join(f"{layer} {of_mix:.4f} against {of_ends:.3f}" for layer, of_mix, of_ends in both)
        return said("""1 − cosine per layer for {pair} at α = {alpha:.2f}{treated}, gap against the ends' own distance:
                       {numbers}.""", pair=pair, alpha=alpha, treated=said_of(treatment), numbers=numbers)

    return controls(sweep), fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images."


def _drawn(*values):
    """Numbers that a logarithmic axis can hold."""
    return [np.maximum(value, _LEAST / 10) for value in values]


def _asked(sweep, layer):
    """What the prediction is about, the ratio half-way in a layer (its place), and where the panel shows it."""
    asked = {"pair": sweep.attrs["opens_on"], "alpha": 0.5}
    if "treatment" in sweep.dims:
        asked["treatment"] = str(sweep.treatment.values[0])
    part = at(sweep, **asked)
    return (part.gap_mean / part.own_mean).values[layer], asked


_LEAST = 1e-5  # what is drawn of gaps: at both ends of a line they are 0, which has no place on a logarithmic axis


def _gap_axis(ax, sweep):
    """A logarithmic axis for gaps that lie far below the ends' own distance."""
    inside = sweep.gap_low.sel(alpha=list(SHOWN_ALPHAS))
    lowest = max(_LEAST, 0.3 * float(inside.quantile(0.05)))
    ax.set(yscale="log", ylim=(lowest, 2 * float(sweep.own_high.max())), ylabel="1 − cosine (log scale)")


_HEAD = {"pooled": "\nmean", "10 outputs": "10", "100 outputs": "100"}  # what chapter 2 measures behind the blocks


def layer_ticks(ax, layers) -> np.ndarray:
    """Name the layers below an axis, blocks by number and what follows them in short; returns their places."""
    if "pooled" in layers:
        return plotting.layer_ticks(ax, layers, _HEAD, "block; mean over pixels; 10, 100 outputs")
    return plotting.layer_ticks(ax, layers)


def _layers(ax, layers):
    """`layer_ticks` in letters that can be read from the back of a room."""
    places = layer_ticks(ax, layers)
    if not layers[0].startswith("block"):
        ax.tick_params(axis="x", labelsize=9.5)
    return places


# -- panel (c): coef -------------------------------------------------------------------------------

@panel
def coef_per_layer(sweep: xarray.Dataset):
    """Panel (c): the distribution of coef over the images, per layer. Controls: alpha, pair."""
    layers = list(map(str, sweep.layer.values))
    fig, axes = plotting.figure(len(layers), height=3.0, sharey=True)
    bins = edges(sweep)
    shapes = [_Distribution(ax, layer, bins, colour) for ax, layer, colour in zip(axes, layers, plotting.COLOURS)]
    axes[0].set_ylabel("share of images (cut at 0.25)")
    where = axes[-1].text(1, 1.03, "", transform=axes[-1].transAxes, ha="right", animated=True)
    lines = by_choice(sweep, "coef_count", "coef_median")
    lines = {pair: line.transpose("alpha", "layer", "bin") for (pair, _), line in lines.items()}
    close = np.abs(sweep.bin.values - 1) < 0.1

    def draw(alpha, pair):
        now = lines[pair].isel(alpha=position(sweep.alpha.values, alpha))
        where.set_text(f"α = {alpha:.2f}")
        numbers = []
        for shape, layer, count, median in zip(shapes, layers, now.coef_count.values, now.coef_median.values):
            share = count / count.sum()
            near = share[close].sum()
            shape.set_values(share, median, near)
            numbers.append(f"{layer} median {median:.3f}, {near:.0%} of images within 0.1 of 1")
        return f"Distribution of coef per layer for {pair} at α = {alpha:.2f}: {'; '.join(numbers)}."

    below = " Black: median. coef 1 means: exactly as long as the mixed features."
    return controls(sweep), fig, draw, caption(sweep) + below


class _Distribution:
    """A layer's distribution of coef, its median as an upright line, and both in numbers."""

    def __init__(self, ax, layer, bins, colour):
        ax.set(title=layer, xlabel="coef", xlim=(0.7, 1.3), ylim=(0, 0.25))
        ax.axvline(1, color=GREY, linewidth=1, linestyle=":", marker="")
        self._shape = ax.stairs(np.zeros(len(bins) - 1), bins, fill=True, color=colour, alpha=0.75, animated=True)
        self._median = here(ax, 1, linewidth=1.2)
        self._text = ax.text(0.97, 0.95, "", transform=ax.transAxes, ha="right", va="top", fontsize=9.5,
                             animated=True)

    def set_values(self, share, median, near):
        """The share of images in every bin, their median, and the share within 0.1 of 1."""
        self._shape.set_data(share)
        self._median.set_xdata([median, median])
        self._text.set_text(f"median {median:.3f}\n{near:.0%} in 1 ± 0.1")


# -- the figures of Zhou et al., from our measurement ----------------------------------------------

@still
def figure_13(sweep: xarray.Dataset, pairs=None, layers=None):
    """Figure 13 of Zhou et al.: 1 − cos to the mixed features at three α beside the ends' own distance, all pairs and
    layers. Fig. 2 is a part of it."""
    pairs = _chosen(sweep, "pair", pairs)
    layers = _chosen(sweep, "layer", layers)
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    fig, axes = plotting.figure(columns, rows, height=2.5 * rows + 0.4, sharex=True, sharey=True, squeeze=False)
    for ax, pair in zip(axes.flat, pairs):
        _layers(ax, layers)
        _gap_axis(ax, sweep)
        part = at(sweep, pair=pair).sel(layer=layers)
        places = np.arange(part.sizes["layer"])
        points = WithQuartiles(ax, places - 0.3, GREY, "s", "ends' own distance", animated=False)
        points.set_values(part.own_mean, part.own_low, part.own_high)
        styles = ((-0.1, BLUE, "o"), (0.1, RED, "^"), (0.3, GREEN, "D"))
        for alpha, (shift, colour, marker) in zip(SHOWN_ALPHAS, styles):
            at_alpha = part.sel(alpha=alpha)
            points = WithQuartiles(ax, places + shift, colour, marker, f"gap, α = {alpha:g}", animated=False)
            points.set_values(at_alpha.gap_mean, at_alpha.gap_low, at_alpha.gap_high)
        ax.set(title=pair)
        if columns > 1 and len(layers) > 6:
            ax.set_xlabel("block; then mean, outputs" if ax in axes[-1] else "")
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
    fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    part = sweep.sel(pair=pairs, layer=layers)
    gap = part.gap_mean.sel(alpha=list(SHOWN_ALPHAS))
    own = part.own_mean
    alt = said("""1 − cosine for {pairs} pairs and {layers} layers. The gap to the mixed features lies between
                  {least:.4f} and {most:.4f}, the ends' own distance between {own_least:.3f} and {own_most:.3f}.""",
               pairs=len(pairs), layers=len(layers), least=gap.min().item(), most=gap.max().item(),
               own_least=own.min().item(), own_most=own.max().item())
    return plotting.show(fig, alt, caption(sweep) + " Markers: mean; bars: quartiles over the images.")


@still
def figure_2(sweep: xarray.Dataset):
    """Figure 2 of Zhou et al., its left half: three models' pairs, the last three layers."""
    return figure_13(sweep, list(sweep.pair.values[[0, 1, 3]]), list(sweep.layer.values[-3:]))


@still
def figure_14(sweep: xarray.Dataset, pairs=None, layers=None, alphas=SHOWN_ALPHAS):
    """Figure 14 of Zhou et al.: the distribution of coef, all pairs, all layers but the head, three α. Fig. 3 is a
    part of it."""
    pairs = _chosen(sweep, "pair", pairs)
    layers = _chosen(sweep, "layer", sweep.layer.values[:-1] if layers is None else layers)
    fig, axes = plotting.figure(1, len(layers), height=1.6 * len(layers) + 0.6, sharex=True, squeeze=False)
    for ax, layer in zip(axes[:, 0], layers):
        ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        shifts = np.linspace(-0.27, 0.27, len(alphas)) if len(alphas) > 1 else (0,)
        for alpha, shift, colour in zip(alphas, shifts, (BLUE, RED, GREEN)):
            for place, pair in enumerate(pairs):
                shown = at(sweep, layer=layer, pair=pair, alpha=alpha)
                label = None if place else f"α = {alpha:g}"
                violin(ax, place + shift, shown.bin.values, shown.coef_count.values, shown.coef_median.item(), colour,
                       label)
        ax.set(ylabel="coef", ylim=_span(sweep, layer), title=layer)
        ax.set_xticks(range(len(pairs)), pairs)
        ax.grid(False, axis="x")
    if len(alphas) > 1:
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(alphas))
    means = sweep.coef_mean.sel(pair=pairs, layer=layers, alpha=list(alphas))
    alt = said("""Distributions of coef for {pairs} pairs and {layers} layers at α = {alphas}: their means lie between
                  {least:.3f} and {most:.3f}.""",
               pairs=len(pairs), layers=len(layers), alphas=", ".join(f"{alpha:g}" for alpha in alphas),
               least=means.min().item(), most=means.max().item())
    below = " Width: share of the images; line: median; the three α stand left to right."
    return plotting.show(fig, alt, caption(sweep) + below)


def _span(sweep, layer):
    """From where to where a layer's coef lie at the three α, but for one image in a hundred on either side."""
    dims = [name for name in sweep.coef_count.dims if name != "bin"]
    now = at(sweep, layer=layer).coef_count.sel(alpha=list(SHOWN_ALPHAS))
    below = (now.sum([name for name in dims if name != "layer"]).cumsum("bin") / now.sum()).values
    lowest = sweep.bin.values[np.searchsorted(below, 0.01)]
    highest = sweep.bin.values[np.searchsorted(below, 0.99)]
    return min(lowest, 0.97) - 0.02, max(highest, 1.0) + 0.02


@still
def figure_3(sweep: xarray.Dataset):
    """Figure 3 of Zhou et al., its left half: three models' pairs, the last three layers before the output, α = 0.5."""
    return figure_14(sweep, list(sweep.pair.values[[0, 1, 3]]), alphas=(0.5,))


def reading_of_the_gap(sweep: xarray.Dataset) -> Page:
    """What the gap is everywhere, and what Zhou et al. say of it, with this sweep's numbers."""
    numbers = gaps(sweep)
    holds = claims.condition("CTL-2", "gap_over_own_most").holds(numbers["gap_over_own_most"])
    return reading("What you should have seen", """
        {verdict} with Zhou et al., who call the gap close to 0: at all pairs, layers and α shown it is at most
        {gap_most:.3f}, and nowhere more than {gap_over_own_most:.0%} of the two ends' own distance, which runs from
        {own_least:.2f} to {own_most:.2f}. It is largest half-way.""", verdict=agrees(holds), **numbers)


def reading_of_coef(sweep: xarray.Dataset) -> Page:
    """What coef is in the hidden layers, and what Zhou et al. say of it, with this sweep's numbers."""
    numbers = lengths(sweep)
    holds = numbers["coef_least"] > 0.85 and numbers["coef_most"] < 1.15
    return reading("What you should have seen", """
        {verdict} with Zhou et al., who call coef close to 1: in the hidden layers it is {coef_mean:.2f} on average, and
        {share_within_10_percent:.0%} of the images lie within 0.1 of 1. But 1 is not its centre. The means over the
        images run from {coef_least:.3f} to {coef_most:.3f}: the features come out a little too short, most of all
        half-way between tasks that are far apart.""", verdict=agrees(holds), **numbers)


def _chosen(sweep, name, wanted):
    """The pairs or layers to draw, all where none are named; an error where one is unknown."""
    values = list(map(str, sweep[name].values if wanted is None else wanted))
    for value in values:
        at(sweep, **{name: value})
    return values
