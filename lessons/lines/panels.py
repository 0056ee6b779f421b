"""The pictures of any sweep over pairs, α and layers: two views, and Figures 2, 3, 13 and 14 of Zhou et al. redrawn
from our measurement."""
import numpy as np
import xarray

from lessons.kit import claims, plotting, view
from lessons.kit.page import Page, agrees, capital, reading, said
from lessons.kit.plotting import BLUE, GREEN, GREY, RED, WithQuartiles, still, violin
from lessons.kit.sweep import at, caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Map, Reference, Star, chips, key
from lessons.lines.numbers import SHOWN_ALPHAS, gaps, lengths

ALPHA = "α (weight of θᵢ)"
ALPHA_AXIS = Axis("α", 0, 1, ticks={0: "0", 0.25: "0.25", 0.5: "0.5", 0.75: "0.75", 1: "1"})
MOST_SHOWN = 0.25  # of the images, in one bin of a distribution
CLOSE = 0.15  # of the ends' distance: a gap below it is called close, as the ledger does (CTL-2)


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


def said_of(treatment: str | None) -> str:
    """The treatment of BatchNorm as the end of a phrase; "" where there is none."""
    return f", BatchNorm statistics {treatment}" if treatment else ""


def share_of_a(alphas, value: float = 0.5) -> view.Control:
    """A view's slider over α, the share of A in the network between A and B."""
    return view.slider("α, the share of A", [float(alpha) for alpha in alphas], value, words=_words,
                       ends=[("b", "B alone"), ("a", "A alone")])


def _words(alpha):
    """Where the slider stands."""
    if alpha in (0, 1):
        return "A alone" if alpha else "B alone"
    return "halfway" if alpha == 0.5 else f"{alpha:.0%} A"


def in_words(layer: str) -> str:
    """A layer's name inside a sentence: "layer 1", "the output"."""
    if layer == "pooled":
        return "the mean over pixels"
    return f"the {layer}" if "output" in layer else layer


def _view_controls(sweep, layer):
    """The controls alpha, layer and pair of a view, and treatment where the sweep has several."""
    pairs = sorted(names(sweep.pair), key=lambda pair: pair != sweep.attrs["opens_on"])
    handles = {"alpha": share_of_a(sweep.alpha.values), "layer": chips("layer", names(sweep.layer), layer),
               "pair": chips("A and B finetuned on", pairs, more=True)}
    if "treatment" in sweep.dims:
        handles["treatment"] = chips("BatchNorm statistics", names(sweep.treatment), more=True)
    return handles


# -- the cosine gap --------------------------------------------------------------------------------

@view.view
def gap_per_layer(sweep: xarray.Dataset, prediction=None):
    """1 − cos to the mixed features as a share of the ends' own distance: a map over layers and α, and one layer over α
    with the middle half of the images.

    Controls: alpha, layer, pair, and treatment where the sweep has it. The prediction, the share half-way in the layer
    that the sweep's attribute `asked_layer` names, else in the last one, is a star.
    """
    layers, alphas = names(sweep.layer), sweep.alpha.values
    asked_layer = sweep.attrs.get("asked_layer", layers[-1])
    lines = by_choice(sweep, "own_mean", "gap_mean", "gap_low", "gap_high")
    shares = {choice: _shares(line, alphas) for choice, line in lines.items()}
    if prediction:
        place = {"alpha": 0.5, "layer": asked_layer, "pair": sweep.attrs["opens_on"]}
        if "treatment" in sweep.dims:
            place["treatment"] = names(sweep.treatment)[0]
        mean = shares[place["pair"], place.get("treatment")][0]
        prediction.panel_answers(mean[layers.index(asked_layer), position(alphas, 0.5)], place)

    def draw(alpha, layer, pair, treatment=None):
        line, row = lines[pair, treatment], layers.index(layer)
        mean, low, high = shares[pair, treatment]
        values = {"map": mean, "middle half": (low[row], high[row])}
        values |= {name: np.full(len(alphas), np.nan) if name == layer else mean[place]
                   for place, name in enumerate(layers)}
        step = position(alphas, alpha)
        gaps_of_layers, distances = line.gap_mean.isel(alpha=step).values, line.own_mean.values
        numbers = "; ".join(f"{name} {gap:.4f} against {distance:.3f}"
                            for name, gap, distance in zip(layers, gaps_of_layers, distances))
        alt = said("""1 − cosine per layer for {pair} at α = {alpha:.2f}{treated}, gap against the distance between A
                      and B: {numbers}. In {layer} the gap is {share:.1%} of that distance.""",
                   pair=pair, alpha=alpha, treated=said_of(treatment), numbers=numbers, layer=in_words(layer),
                   share=mean[row, step])
        about = key(("", f"A and B were finetuned on {pair}"),
                    ("merged", f"{capital(in_words(layer))}, with the middle half of the images"),
                    ("", "grey: the other layers"))
        return Frame(finding_of_gaps(layers, mean, low, high), alt, values | {"this layer": mean[row]}, about)

    charts = _gap_charts(layers, alphas, shares.values())
    return {"kicker": "Layer by layer: do the features point in the direction of the mix?", "charts": charts,
            "draw": draw, "controls": _view_controls(sweep, asked_layer),
            "hides": ["map", "this layer", "middle half", *layers],
            "caption": f"{caption(sweep)} 100 % is the distance between A and B; this course calls a gap below "
                       f"{CLOSE:.0%} of it near."}


def _shares(line, alphas):
    """(3, layers, α): the gap's mean and quartiles as shares of the distance between the two ends."""
    distances = line.own_mean.values[:, None]
    gap_parts = [line[name].transpose("layer", "alpha").values for name in ("gap_mean", "gap_low", "gap_high")]
    return np.maximum(np.stack(gap_parts) / distances, 0)


def _gap_charts(layers, alphas, shares):
    """The map and the chart of one layer, with axes on which all pairs have room."""
    half = 0.5 * float(alphas[1] - alphas[0])
    inside = np.stack(list(shares))  # (choices, 3, layers, α)
    digits = 0 if inside.max() > 0.3 else 1
    cells = Map("map", "merged", rows=tuple(layers), high=float(inside[:, 0].max()))
    left = Chart(Axis("α", -half, 1 + half, ticks=ALPHA_AXIS.ticks),
                 Axis("gap, share of the distance from A to B", 0, 1, unit="percent"), (cells, Handle("alpha")))
    grey = [Line(layer, "other") for layer in layers]
    right = Chart(ALPHA_AXIS, Axis("gap in one layer", 0, 1.15 * float(inside.max()), unit="percent", digits=digits),
                  (*grey, Band("middle half", "merged"), Line("this layer", "merged", near=True),
                   Star("guess", "merged", x=(0.5,)), Handle("alpha")))
    return [left, right]


def finding_of_gaps(layers: list[str], mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """What the map shows, in one sentence: gaps that are small everywhere, in some layers, or nowhere.

    Args:
        mean, low, high: (layers, α), gaps as shares of the distance between the ends; mean and quartiles over images.
    """
    most, step = mean.max(1), mean.argmax(1)
    least, worst = int(most.argmin()), int(most.argmax())
    nearest, furthest = in_words(layers[least]), in_words(layers[worst])
    far = [name for name, gap in zip(layers, most) if gap > CLOSE]
    if len(far) == len(layers):
        return "The features do not point in the direction of the mix, in any layer"
    near = "The features point nearly in the direction of the mix"
    if far:
        return f"{near} in {nearest}, but not in {furthest}"
    if low[worst, step[worst]] > high[least, step[least]]:
        return f"{near}, best in {nearest}, worst in {furthest}"
    return f"{near}, in every layer"


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


# -- coef ------------------------------------------------------------------------------------------

@view.view
def coef_per_layer(sweep: xarray.Dataset):
    """How far the features reach along the mix, in units of its length: coef over α, and its distribution over the
    images in one layer.

    Controls: alpha, layer, pair.
    """
    layers, alphas, bins = names(sweep.layer), sweep.alpha.values, sweep.bin.values
    lines = by_choice(sweep, "coef_count", "coef_median", "coef_low", "coef_high")
    lines = {pair: line.transpose("layer", "alpha", "bin") for (pair, _), line in lines.items()}
    close = np.abs(bins - 1) < 0.1
    shown = (bins > 0.7) & (bins < 1.3)

    def draw(alpha, layer, pair):
        line, row, step = lines[pair], layers.index(layer), position(alphas, alpha)
        medians, counts = line.coef_median.values, line.coef_count.values[:, step]
        shares = counts / counts.sum(1, keepdims=True)
        values = {name: np.full(len(alphas), np.nan) if name == layer else medians[place]
                  for place, name in enumerate(layers)}
        images = shares[row, shown].clip(max=MOST_SHOWN)
        values |= {"this layer": medians[row], "mix": 1,
                   "middle half": (line.coef_low.values[row], line.coef_high.values[row]), "images": images,
                   "area": (0 * images, images), "one": (0, MOST_SHOWN)}
        numbers = "; ".join(f"{name} median {median:.3f}, {share[close].sum():.0%} of images within 0.1 of 1"
                            for name, median, share in zip(layers, medians[:, step], shares))
        longer = shares[row, bins > 1.01].sum()  # a coef of exactly 1 lies in the bin below
        alt = said("""How far the features reach along the mix, in units of its length (coef), per layer for {pair} at
                      α = {alpha:.2f}: {numbers}. In {layer}, {longer:.0%} of the images have a coef above 1.01.""",
                   pair=pair, alpha=alpha, numbers=numbers, layer=in_words(layer), longer=longer)
        about = key(("", f"A and B were finetuned on {pair}"),
                    ("merged", f"{capital(in_words(layer))}, with the middle half of the images"),
                    ("", "grey: the other layers"))
        quartiles = [line[name].values for name in ("coef_low", "coef_median", "coef_high")]
        finding = finding_of_lengths(layers, *quartiles) if layer != layers[-1] else \
            finding_of_output_lengths(*(part[-1] for part in quartiles))
        return Frame(finding, alt, values, about)

    charts = _coef_charts(layers, sweep, bins[shown])
    return {"kicker": "Layer by layer: how far the features reach along the mix", "charts": charts, "draw": draw,
            "controls": _view_controls(sweep, layers[1]),
            "caption": f"{caption(sweep)} coef 1 means that the features reach along the mix exactly as far as it is "
                       "long."}


def _coef_charts(layers, sweep, bins):
    """coef over α, and the share of images at every coef (bins: their middles)."""
    lowest, highest = float(sweep.coef_low.min()), float(sweep.coef_high.max())
    left = Chart(ALPHA_AXIS, Axis("coef: how far along the mix", lowest - 0.02, max(highest, 1) + 0.02, digits=2),
                 (*(Line(layer, "other") for layer in layers), Reference("mix", "single"),
                  Band("middle half", "merged"), Line("this layer", "merged", near=True), Handle("alpha")))
    places = tuple(map(float, bins))
    right = Chart(Axis("coef of one image", 0.7, 1.3, ticks={0.8: "0.8", 0.9: "0.9", 1: "1, as the mix", 1.1: "1.1",
                                                                    1.2: "1.2"}),
                  Axis(f"share of the images (cut at {MOST_SHOWN:.0%})", 0, MOST_SHOWN, unit="percent"),
                  (Line("one", "single", x=(1, 1), aside=True), Band("area", "merged", x=places, aside=True),
                   Line("images", "merged", x=places)))
    return [left, right]


def finding_of_lengths(layers: list[str], low: np.ndarray, median: np.ndarray, high: np.ndarray) -> str:
    """What coef shows of the hidden layers, in one sentence: are most images' features too short, and where most?

    Args:
        layers: the last of them is the output.
        low, median, high: (layers, α), quartiles over the images.
    """
    inner = slice(1, median.shape[1] - 1)
    hidden = [part[:-1, inner] for part in (low, median, high)]
    short = [name for name, largest in zip(layers, hidden[2].max(1)) if largest < 1]
    if not short:
        return "In no hidden layer do most images' features come out too short"
    where = "every hidden layer" if len(short) == len(layers) - 1 else " and ".join(short)
    middle = median.shape[1] // 2
    deepest = median[:-1].argmin(1)
    most = ", most of all half-way" if (abs(deepest - middle) <= middle // 4).all() else ""
    return f"In {where}, most images' features come out too short{most}"


def finding_of_output_lengths(low: np.ndarray, median: np.ndarray, high: np.ndarray) -> str:
    """The same of the output, for which nothing forbids a coef above 1. low, median, high: (α,), quartiles."""
    low, median, high = (part[1:-1] for part in (low, median, high))
    if high.max() < 1:
        return "Most images' outputs come out too short"
    if low.min() > 1:
        return "Most images' outputs come out too long"
    return "The output comes out too short for some images and too long for others"


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
        points = WithQuartiles(ax, places - 0.3, GREY, "s", "distance between A and B")
        points.set_values(part.own_mean, part.own_low, part.own_high)
        styles = ((-0.1, BLUE, "o"), (0.1, RED, "^"), (0.3, GREEN, "D"))
        for alpha, (shift, colour, marker) in zip(SHOWN_ALPHAS, styles):
            at_alpha = part.sel(alpha=alpha)
            points = WithQuartiles(ax, places + shift, colour, marker, f"gap, α = {alpha:g}")
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
                  {least:.4f} and {most:.4f}, the distance between A and B between {own_least:.3f} and
                  {own_most:.3f}.""",
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
    below = " Width: share of the images, compared with the widest place of the same shape; line: median."
    if len(alphas) > 1:
        below += " α grows from left to right."
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
    off = abs(sweep.alpha[sweep.gap_mean.argmax("alpha")] - 0.5).max().item()
    step = float(sweep.alpha[1] - sweep.alpha[0])
    where = f"Of all {sweep.sizes['alpha']} α measured, it is always largest at or next to the midpoint." \
        if off < 1.5 * step else ""
    return reading("The gap", """
        {verdict} with Zhou et al., whose gaps “consistently approach 0”: for all pairs and layers, at the three α of
        their figures, ours is at most {gap_most:.3f}, and nowhere more than {gap_over_own_most:.0%} of the distance
        between A and B, which runs from {own_least:.2f} to {own_most:.2f}. {where}""",
                   verdict=agrees(holds), where=where, **numbers)


def reading_of_coef(sweep: xarray.Dataset) -> Page:
    """What coef is in the hidden layers, and what Zhou et al. say of it, with this sweep's numbers."""
    numbers = lengths(sweep)
    verdict = agrees(numbers["coef_least"] > 0.85 and numbers["coef_most"] < 1.15)
    if verdict == agrees(True) and numbers["coef_most"] < 1:
        verdict += " in part"
    return reading("The length (coef)", """
        {verdict} with Zhou et al., who call coef close to 1. Over all pairs, the hidden layers and α = ¼, ½ and ¾ (the
        figure shows a part of these), coef is {coef_mean:.2f} on average, and {share_within_10_percent:.0%} of the
        images lie within 0.1 of 1. At the midpoints, the fewest do for {pair} in {layer}: {least:.0%}. The means over
        the images run from {coef_least:.3f} to {coef_most:.3f}, so on average the features come out {length}.""",
                   verdict=verdict, **_least_near(sweep), length=_too(numbers), **numbers)


def _too(numbers):
    """How long features are on average, in words."""
    if numbers["coef_most"] < 1:
        return "too short"
    return "too long" if numbers["coef_least"] > 1 else "too short in some places and too long in others"


def _least_near(sweep):
    """The pair and hidden layer in which the fewest images have a coef within 0.1 of 1 half-way, and their share."""
    counts = sweep.coef_count.sel(alpha=0.5).isel(layer=slice(None, -1))
    near = (counts.sel(bin=slice(0.9, 1.1)).sum("bin") / counts.sum("bin")).stack(place=("pair", "layer"))
    pair, layer = near.idxmin("place").item()
    return {"least": near.min().item(), "pair": pair, "layer": in_words(layer)}


def _chosen(sweep, name, wanted):
    """The pairs or layers to draw, all where none are named; an error where one is unknown."""
    values = list(map(str, sweep[name].values if wanted is None else wanted))
    for value in values:
        at(sweep, **{name: value})
    return values
