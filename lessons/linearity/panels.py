"""The pictures of chapter 1: four panels over its sweep, and the source's Figures 2, 3, 13 and 14 redrawn from our measurement."""
import numpy as np
import xarray
from matplotlib.ticker import PercentFormatter

from lessons import plotting
from lessons.exercise import Page
from lessons.linearity.experiment import SHOWN_ALPHAS, at, claim_2, claim_4
from lessons.panel import Panel, choice, slider
from lessons.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, themed
from lessons.sweep import drawn_once

ALPHA = "α (weight of θᵢ)"
FAR = "22.5° and 90°"  # the pair that panels open on: the tasks that are furthest apart


def caption(sweep: xarray.Dataset) -> str:
    """What a figure of this sweep was measured on; a stand-in is named first."""
    attrs = sweep.attrs
    warning = "Not MNIST! " if attrs["source_kind"] == "stand-in" else ""
    return (f"{warning}Measured on {attrs['source']}; MLP 784–100–100–100–10, profile {attrs['profile']}, seed {attrs['seed']}, "
            f"{attrs['samples']:,} test images a pair.")


def _by_pair(sweep, *names):
    """{pair: the named variables of it}: a slider's step then costs no selection in the whole sweep."""
    return {str(pair): sweep[list(names)].sel(pair=pair) for pair in sweep.pair.values}


def _step(alphas, alpha):
    """Position of α on the grid."""
    found = np.flatnonzero(np.isclose(alphas, alpha))
    if not len(found):
        raise ValueError(f"unknown alpha {alpha!r}: choose one of {', '.join(f'{value:g}' for value in alphas)}")
    return found[0]


def _controls(sweep, **first):
    pairs = {pair: pair for pair in sorted(map(str, sweep.pair.values), key=lambda pair: pair != FAR)}
    alphas = [float(alpha) for alpha in sweep.alpha.values]
    return first | {"alpha": slider("α", alphas, 0.5), "pair": choice("θᵢ and θⱼ finetuned on", pairs)}


# -- panel (a): loss and accuracy ----------------------------------------------------------------------------------------------

_TASKS = {"i": ("task of θᵢ", BLUE, "o"), "j": ("task of θⱼ", ORANGE, "s"),
          "both": ("both together", GREEN, "^"), "pretraining": ("pretraining task (0°)", GREY, "D")}

_SPOKEN = {"i": "task i", "j": "task j", "both": "both together", "pretraining": "pretraining task"}


@themed
def along_the_line(sweep: xarray.Dataset, prediction=None) -> Panel:
    """Panel (a): loss and accuracy of the interpolated network for each task, with the straight line between the ends for both together.

    Controls: alpha, pair. The prediction, an accuracy on both tasks at α = 0.5, is a star.
    """
    fig, axes = plotting.figure(2, height=3.7)
    curves = {}
    for ax, quantity, unit in zip(axes, ("loss", "accuracy"), ("cross-entropy (nats)", "share correct")):
        ax.set(xlabel=ALPHA, ylabel=f"{quantity}: {unit}", xlim=(-0.03, 1.03), ylim=(0, 1.05 * float(sweep[quantity].max())) if quantity == "loss" else (0, 1))
        for task, (label, colour, marker) in _TASKS.items():
            curves[quantity, task] = ax.plot([], [], color=colour, marker=marker, markevery=5, label=label, animated=True)[0]
        curves[quantity, "chord"] = ax.plot([], [], color=GREEN, linestyle=":", linewidth=1.4, marker="", label="straight line, both", animated=True)[0]
        curves[quantity, "here"] = ax.axvline(0.5, color=BLACK, linewidth=1, animated=True)
        curves[quantity, "title"] = ax.text(0, 1.03, "", transform=ax.transAxes, fontweight="bold", animated=True)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    star = _star(axes[1])
    lines = {pair: line.transpose("task", "alpha") for pair, line in _by_pair(sweep, "loss", "accuracy").items()}
    alphas = sweep.alpha.values

    def draw(alpha, pair):
        line, step = lines[pair], _step(alphas, alpha)
        values = {quantity: dict(zip(_TASKS, line[quantity].values)) for quantity in ("loss", "accuracy")}
        for quantity, by_task in values.items():
            for task, along in by_task.items():
                curves[quantity, task].set_data(alphas, along)
            curves[quantity, "chord"].set_data([0, 1], by_task["both"][[0, -1]])
            curves[quantity, "here"].set_xdata([alpha, alpha])
            curves[quantity, "title"].set_text(f"{quantity.capitalize()} on both at α = {alpha:.2f}: {by_task['both'][step]:.3f}")
        _place(star, prediction)
        said = ", ".join(f"{name} {values['accuracy'][task][step]:.3f} (loss {values['loss'][task][step]:.3f})" for task, name in _SPOKEN.items())
        ends = values["accuracy"]["both"]
        return (f"Loss and accuracy along the line between the networks finetuned on {pair}. At α = {alpha:.2f} the accuracy is: {said}. "
                f"The ends score {ends[0]:.3f} (α = 0) and {ends[-1]:.3f} (α = 1) on both together.")

    return Panel(_controls(sweep), fig, draw, caption(sweep), [prediction] if prediction else [])


# -- panel (b): the cosine gap -------------------------------------------------------------------------------------------------

@themed
def gap_per_layer(sweep: xarray.Dataset, prediction=None) -> Panel:
    """Panel (b): 1 − cos to the mixed features beside the ends' own distance, per layer, mean and quartiles; right, their ratio.

    Controls: alpha, pair. The prediction, the largest ratio over the layers, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=3.6, width_ratios=(3, 2))
    layers = list(map(str, sweep.layer.values))
    places = np.arange(len(layers))
    left.set(xlim=(-0.5, len(layers) - 0.5), ylim=(0, 1.05 * float(sweep.own_high.max())), ylabel="1 − cosine")
    left.set_xticks(places, layers)
    own = _with_quartiles(left, places - 0.1, ORANGE, "s", "between the two ends' own features")
    gap = _with_quartiles(left, places + 0.1, BLUE, "o", "from the network to the mixed features")
    left.legend(loc="upper left")
    inside = sweep.gap_mean.sel(alpha=slice(0.01, 0.99)) / sweep.own_mean
    right.set(xlim=(-0.5, len(layers) - 0.5), ylim=(0, max(0.3, 1.2 * float(inside.max()))), ylabel="gap, share of own distance")
    right.set_xticks(places, layers, fontsize=8.5)
    right.yaxis.set_major_formatter(PercentFormatter(1))
    bars = [right.plot([place, place], [0, 0], color=BLUE, linewidth=16, solid_capstyle="butt", marker="", animated=True)[0] for place in places]
    texts = [right.text(place, 0, "", ha="center", va="bottom", fontsize=9, animated=True) for place in places]
    star = _star(right, x=len(layers) - 1)
    titles = [ax.text(0, 1.03, "", transform=ax.transAxes, fontweight="bold", animated=True) for ax in (left, right)]

    lines = _by_pair(sweep, "own_mean", "own_low", "own_high", "gap_mean", "gap_low", "gap_high")

    def draw(alpha, pair):
        here = lines[pair].isel(alpha=_step(sweep.alpha.values, alpha))
        own.set_values(here.own_mean, here.own_low, here.own_high)
        gap.set_values(here.gap_mean, here.gap_low, here.gap_high)
        ratio = (here.gap_mean / here.own_mean).values.clip(0)
        for bar, text, place, value in zip(bars, texts, places, ratio):
            bar.set_ydata([0, value])
            text.set(y=value, text=f"{value:.1%}")
        titles[0].set_text(f"Cosine gap at α = {alpha:.2f}: at most {here.gap_mean.max().item():.3f}")
        titles[1].set_text("In units of the ends' distance")
        _place(star, prediction)
        numbers = "; ".join(f"{layer} {g:.4f} against {o:.3f}" for layer, g, o in zip(layers, here.gap_mean.values, here.own_mean.values))
        return f"1 − cosine per layer for {pair} at α = {alpha:.2f}, gap against the ends' own distance: {numbers}."

    return Panel(_controls(sweep), fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images.", [prediction] if prediction else [])


class _with_quartiles:
    """Markers with vertical bars from quartile to quartile."""

    def __init__(self, ax, places, colour, marker, label, animated=True):
        self.places = places
        self.bars = ax.vlines(places, 0, 0, color=colour, linewidth=1.6, animated=animated)
        self.markers = ax.plot(places, np.zeros(len(places)), color=colour, marker=marker, linestyle="", label=label, animated=animated)[0]

    def set_values(self, mean, low, high):
        self.markers.set_ydata(np.asarray(mean))
        self.bars.set_segments([[(place, a), (place, b)] for place, a, b in zip(self.places, np.asarray(low), np.asarray(high))])


# -- panel (c): coef -----------------------------------------------------------------------------------------------------------

@themed
def coef_per_layer(sweep: xarray.Dataset) -> Panel:
    """Panel (c): the distribution of coef over the images, per layer. Controls: alpha, pair."""
    layers = list(map(str, sweep.layer.values))
    fig, axes = plotting.figure(len(layers), height=3.0, sharey=True)
    edges = _edges(sweep)
    shapes, medians, texts = [], [], []
    for ax, layer, colour in zip(axes, layers, plotting.COLOURS):
        ax.set(title=layer, xlabel="coef", xlim=(0.7, 1.3), ylim=(0, 0.25))
        ax.axvline(1, color=GREY, linewidth=1, linestyle=":", marker="")
        shapes.append(ax.stairs(np.zeros(len(edges) - 1), edges, fill=True, color=colour, alpha=0.75, animated=True))
        medians.append(ax.axvline(1, color=BLACK, linewidth=1.2, marker="", animated=True))
        texts.append(ax.text(0.97, 0.95, "", transform=ax.transAxes, ha="right", va="top", fontsize=9, animated=True))
    axes[0].set_ylabel("share of images (cut at 0.25)")
    where = axes[-1].text(1, 1.03, "", transform=axes[-1].transAxes, ha="right", animated=True)

    lines = {pair: line.transpose("alpha", "layer", "bin") for pair, line in _by_pair(sweep, "coef_count", "coef_median").items()}
    close = np.abs(sweep.bin.values - 1) < 0.1

    def draw(alpha, pair):
        step = _step(sweep.alpha.values, alpha)
        counts, all_medians = lines[pair].coef_count.values[step], lines[pair].coef_median.values[step]
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

    return Panel(_controls(sweep), fig, draw, caption(sweep) + " Black: median. coef 1 means: exactly as long as the mixed features.")


def _edges(sweep):
    step = float(sweep.bin[1] - sweep.bin[0])
    return np.append(sweep.bin.values - step / 2, sweep.bin.values[-1] + step / 2)


# -- panel (d): linear in the weights, so linear in the outputs? ---------------------------------------------------------------

@themed
def linear_in_the_weights(sweep: xarray.Dataset, prediction=None) -> Panel:
    """Panel (d): two networks that learned the same task; the interpolated network beside the mixed outputs, which linearity would give.

    Controls: alpha, start. The prediction, the accuracy half-way between two strangers, is a star.
    """
    fig, axes = plotting.figure(2, height=3.7)
    curves = {}
    for ax, quantity, unit in zip(axes, ("loss", "accuracy"), ("cross-entropy (nats)", "share correct")):
        highest = float(max(sweep[f"start_{quantity}"].max(), sweep[f"mixed_{quantity}"].max()))
        ax.set(xlabel=ALPHA, ylabel=f"{quantity}: {unit}", xlim=(-0.03, 1.03), ylim=(0, 1.08 * highest) if quantity == "loss" else (0, 1.02))
        curves[quantity, "mixed"] = ax.plot([], [], color=ORANGE, linestyle="--", marker="s", markevery=5, label="mix of the two outputs", animated=True)[0]
        curves[quantity, "start"] = ax.plot([], [], color=BLUE, marker="o", markevery=5, label="network with mixed weights", animated=True)[0]
        curves[quantity, "here"] = ax.axvline(0.5, color=BLACK, linewidth=1, marker="", animated=True)
        curves[quantity, "title"] = ax.text(0, 1.03, "", transform=ax.transAxes, fontweight="bold", animated=True)
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    star = _star(axes[1])

    variables = [f"{which}_{quantity}" for which in ("start", "mixed") for quantity in ("loss", "accuracy")]
    lines = {str(start): sweep[variables].sel(start=start) for start in sweep.start.values}

    def draw(alpha, start):
        line = lines[start]
        here = line.isel(alpha=_step(sweep.alpha.values, alpha))
        for quantity in ("loss", "accuracy"):
            for which in ("start", "mixed"):
                curves[quantity, which].set_data(line.alpha.values, line[f"{which}_{quantity}"].values)
            curves[quantity, "here"].set_xdata([alpha, alpha])
            curves[quantity, "title"].set_text(f"{quantity.capitalize()} at α = {alpha:.2f}: {here[f'start_{quantity}'].item():.3f}")
        _place(star, prediction)
        return (f"Two networks trained on upright digits from {start}. At α = {alpha:.2f} the network with mixed weights has accuracy "
                f"{here.start_accuracy.item():.3f} and loss {here.start_loss.item():.3f}; mixing the outputs gives {here.mixed_accuracy.item():.3f} "
                f"and {here.mixed_loss.item():.3f}.")

    starts = {str(start): str(start) for start in sweep.start.values[::-1]}
    controls = {"alpha": slider("α", [float(alpha) for alpha in sweep.alpha.values], 0.0), "start": choice("the two networks began from", starts)}
    return Panel(controls, fig, draw, caption(sweep), [prediction] if prediction else [])


def _star(ax, x=0.5):
    return ax.plot([x], [0], color=PURPLE, marker="*", markersize=15, markeredgecolor=BLACK, linestyle="", zorder=5, animated=True)[0]


def _place(star, prediction):
    committed = prediction.committed if prediction else None
    star.set_ydata([np.nan if committed is None else committed])


# -- the source's figures, from our measurement --------------------------------------------------------------------------------

@drawn_once
@themed
def figure_13(sweep: xarray.Dataset, pairs=None, layers=None):
    """Figure 13 of CTL: 1 − cos to the mixed features at three α beside the ends' own distance, all pairs and layers. Fig. 2 is a part of it."""
    pairs, layers = _chosen(sweep, "pair", pairs), _chosen(sweep, "layer", layers)
    columns = min(3, len(pairs))
    fig, axes = plotting.figure(columns, -(-len(pairs) // columns), height=2.5 * -(-len(pairs) // columns) + 0.4, sharex=True, sharey=True, squeeze=False)
    places, highest = np.arange(len(layers)), sweep.own_high.sel(pair=pairs, layer=layers).max().item()
    for ax, pair in zip(axes.flat, pairs):
        part = at(sweep, pair=pair).sel(layer=layers)
        points = _with_quartiles(ax, places - 0.3, GREY, "s", "ends' own distance", animated=False)
        points.set_values(part.own_mean, part.own_low, part.own_high)
        for alpha, shift, colour, marker in zip(SHOWN_ALPHAS, (-0.1, 0.1, 0.3), (BLUE, RED, GREEN), ("o", "^", "D")):
            here = part.sel(alpha=alpha)
            points = _with_quartiles(ax, places + shift, colour, marker, f"gap, α = {alpha:g}", animated=False)
            points.set_values(here.gap_mean, here.gap_low, here.gap_high)
        ax.set(title=pair, ylim=(0, 1.05 * highest))
        ax.set_xticks(places, layers)
    for ax in axes[:, 0]:
        ax.set_ylabel("1 − cosine")
    axes.flat[0].legend(loc="upper left", fontsize=8)
    part = sweep.sel(pair=pairs, layer=layers)
    gaps = part.gap_mean.sel(alpha=list(SHOWN_ALPHAS))
    alt = (f"1 − cosine for {len(pairs)} pairs and {len(layers)} layers. The gap to the mixed features lies between {gaps.min().item():.4f} and "
           f"{gaps.max().item():.4f}, the ends' own distance between {part.own_mean.min().item():.3f} and {part.own_mean.max().item():.3f}.")
    return plotting.show(fig, alt, caption(sweep) + " Markers: mean; bars: quartiles over the images.")


@drawn_once
@themed
def figure_2(sweep: xarray.Dataset):
    """Figure 2 of CTL, its left half: three models' pairs, the last three layers."""
    return figure_13(sweep, list(sweep.pair.values[[0, 1, 3]]), list(sweep.layer.values[-3:]))


@drawn_once
@themed
def figure_14(sweep: xarray.Dataset, pairs=None, layers=None, alphas=SHOWN_ALPHAS):
    """Figure 14 of CTL: the distribution of coef, all pairs, all layers but the head, three α. Fig. 3 is a part of it."""
    pairs, layers = _chosen(sweep, "pair", pairs), _chosen(sweep, "layer", sweep.layer.values[:-1] if layers is None else layers)
    fig, axes = plotting.figure(1, len(layers), height=1.5 * len(layers) + 0.6, sharex=True, sharey=True, squeeze=False)
    for ax, layer in zip(axes[:, 0], layers):
        ax.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        for alpha, shift, colour in zip(alphas, np.linspace(-0.27, 0.27, len(alphas)) if len(alphas) > 1 else (0,), (BLUE, RED, GREEN)):
            for place, pair in enumerate(pairs):
                _violin(ax, place + shift, at(sweep, pair=pair, layer=layer, alpha=alpha), colour, f"α = {alpha:g}" if not place else None)
        ax.set(ylabel="coef", ylim=(0.7, 1.15), title=layer)
        ax.set_xticks(range(len(pairs)), pairs)
        ax.grid(False, axis="x")
    axes[0, 0].legend(ncols=len(alphas), loc="lower left")
    means = sweep.coef_mean.sel(pair=pairs, layer=layers, alpha=list(alphas))
    alt = (f"Distributions of coef for {len(pairs)} pairs and {len(layers)} layers at α = {', '.join(f'{alpha:g}' for alpha in alphas)}: their means lie "
           f"between {means.min().item():.3f} and {means.max().item():.3f}.")
    return plotting.show(fig, alt, caption(sweep) + " Width: share of the images; line: median; the three α stand left to right.")


def _violin(ax, place, here, colour, label, width=0.12):
    count = here.coef_count.values
    half = width * count / count.max()
    ax.fill_betweenx(here.bin.values, place - half, place + half, color=colour, alpha=0.75, linewidth=0, step="mid", label=label)
    ax.plot([place - width, place + width], [here.coef_median.item()] * 2, color=BLACK, linewidth=1.2, marker="")


@drawn_once
@themed
def figure_3(sweep: xarray.Dataset):
    """Figure 3 of CTL, its left half: three models' pairs, the last three layers before the output, α = 0.5."""
    return figure_14(sweep, list(sweep.pair.values[[0, 1, 3]]), alphas=(0.5,))


@drawn_once
@themed
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


@drawn_once
@themed
def digits(sweep: xarray.Dataset):
    """The same test images at every angle: what the networks are given."""
    example = sweep.example.transpose("angle", "row", "image", "column")
    rows, height, columns, width = example.shape
    fig, ax = plotting.figure(height=4.4, width=7.4)
    ax.imshow(example.values.reshape(rows * height, columns * width), cmap="gray_r", vmin=0, vmax=1)
    ax.set_yticks((np.arange(rows) + 0.5) * height, [f"{angle:g}°" for angle in example.angle.values])
    ax.set(xticks=[], title="The same test images, turned")
    ax.grid(False)
    angles = ", ".join(f"{angle:g}" for angle in example.angle.values)
    return plotting.show(fig, f"{columns} test images, each turned by {angles} degrees.", caption(sweep).split(";")[0] + ".")


def reading_of_the_gap(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 2 and 13 of CTL and ours, with this sweep's numbers."""
    of = claim_2(sweep)
    text = (f"{'Agrees' if of['gap_over_own_most'] < 0.1 else 'Does not agree here'}: at all pairs, layers and α shown, the gap is at most {of['gap_most']:.3f}, and nowhere more than "
            f"{of['gap_over_own_most']:.0%} of the two ends' own distance, which runs from {of['own_least']:.2f} to {of['own_most']:.2f}. Differs: the source says that the gap "
            f"approaches 0, with small error bars. Ours is small, but it has a pattern, highest half-way and for the tasks furthest apart; and from quartile to quartile it spreads over "
            f"{of['gap_spread']:.0%} of its mean, in the median over all places.")
    return Page(text, f"<p><b>Figures 2 and 13 of CTL, and ours.</b> {text}</p>")


def reading_of_coef(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 3 and 14 of CTL and ours, with this sweep's numbers."""
    of = claim_4(sweep)
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
