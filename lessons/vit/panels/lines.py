"""Panel (a): cross-task linearity in a small ViT, block by block; and what averaged features can still tell apart."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import still
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, view
from lessons.lines.panels import ALPHA_AXIS, CLOSE, in_words, share_of_a
from lessons.vit.experiment.lines import last_block
from lessons.vit.panels import widths
from lessons.vit.panels.widths import bound, difference, dots, reading_of_widest, widest

ALL = "all pairs"  # their mean, with the smallest and the largest
POOLED = {"pooled": "the class token"}  # what chapter 12's sweeps call "pooled"
MOST_CHIPS = 6
NEARLY, AT_MOST = 0.07, 0.2  # of the distance from A to B: the last block, and the worst place (CTL-18)
MOST_OF_IT = 0.5
_ALT = """
    {pair}{width}, α = {alpha:.2f}: how far the features are from the mix (gap, 1 − cos), as a share of the distance
    from A to B, and how far they reach along it (coef): {numbers}."""


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (a)."""
    own = float(sweep.own_mean.sel(width=widths.first(sweep), layer=last_block(sweep)).mean())
    return said("""In the last block, the features of two finetuned ViTs are {own:.2f} apart (1 − cos, mean over pairs).
                   Take the network half-way between them in weight space. How far are its features from the mix of
                   theirs? Say it in **per cent** of each pair's own distance, as a mean over the pairs. Chapter 2's
                   ResNet had about a quarter.""", own=own)


@view
def lines(sweep: xarray.Dataset, prediction=None):
    """Panel (a): the gap as a share of the distance between A and B, and coef, in one layer over α; grey, the other
    layers.

    Controls: alpha, layer, pair, and width where the sweep has several. The prediction, the share half-way in the last
    block, mean over pairs, in per cent, is a star.
    """
    parts = {int(width): sweep.sel(width=int(width)) for width in sweep.width.values}
    asked = widths.asked(sweep, alpha=0.5, layer=last_block(sweep), pair=ALL)
    if prediction:
        middle = sweep.sel(width=widths.first(sweep), alpha=0.5, layer=last_block(sweep))
        prediction.panel_answers(100 * float((middle.gap_mean / middle.own_mean).mean()), asked)
    about = between(parts)
    return about | {"kicker": "Chapter 12: between two finetuned ViTs",
                    "tries": ("Drag α.",
                              "Choose the layers one after the other. Which has the largest gap?"),
                    "controls": about["controls"] | widths.menu(sweep)}


def between(parts: dict[int | None, xarray.Dataset]) -> dict:
    """What a view of features between two networks is made of, but its kicker.

    Args:
        parts: {width: gap_… and coef_… (pair, alpha, layer), own_mean (pair, layer)}, of one width under None.
    """
    first, first_part = next(iter(parts.items()))
    layers, alphas, pairs = names(first_part.layer), first_part.alpha.values, [ALL, *names(first_part.pair)]
    called = [POOLED.get(layer, layer) for layer in layers]
    shares = {width: shares_of(part) for width, part in parts.items()}
    coefs = {width: part.coef_mean.transpose("pair", "layer", "alpha").values for width, part in parts.items()}
    coefs = {width: np.stack([values.mean(0), *values]) for width, values in coefs.items()}

    def draw(alpha, layer, pair, width=first):
        place, row, step = pairs.index(pair), layers.index(layer), position(alphas, alpha)
        (mean, low, high), coef = shares[width][:, place], coefs[width][place]
        values = {"this layer": mean[row], "spread": (low[row], high[row]), "near": 100 * CLOSE,
                  "coef": coef[row], "as long": 1.0}
        for name, gaps, lengths in zip(layers, mean, coef):
            is_shown = name == layer
            values |= {name: np.full(len(alphas), np.nan) if is_shown else gaps,
                       f"coef, {name}": np.full(len(alphas), np.nan) if is_shown else lengths}
        numbers = "; ".join(f"{name} {gaps[step]:.1f} %, coef {lengths[step]:.3f}"
                            for name, gaps, lengths in zip(called, mean, coef))
        alt = said(_ALT, pair="Mean over all pairs" if pair == ALL else pair, alpha=alpha, numbers=numbers,
                   width=f", width {width}" if width else "")
        band = "from the pair with the smallest gap to the largest" if pair == ALL else "middle half of the images"
        about = key(("", "A and B: mean over all pairs" if pair == ALL else f"A and B finetuned on {pair}"),
                    ("merged", f"The network between them in {in_words(called[row])}; band: {band}"),
                    ("", "grey: the other layers"))
        return Frame(finding_of_layers(called, mean, high if pair == ALL else None), alt, values, about)

    opens = last_block(first_part)
    few = {round(place) for place in np.linspace(0, len(layers) - 1, MOST_CHIPS)} | {layers.index(opens)}
    texts = {called[place].removeprefix("the "): layers[place] for place in sorted(few)}
    return {"charts": _charts(layers, shares, coefs), "draw": draw,
            "controls": {"alpha": share_of_a(alphas), "layer": chips("layer", texts, opens),
                         "pair": chips("A and B finetuned on", pairs, more=True)},
            "hides": ["this layer", "spread", "coef", *layers, *(f"coef, {layer}" for layer in layers)]}


def finding_of_layers(layers: list[str], gaps: np.ndarray, of_the_worst: np.ndarray | None = None) -> str:
    """In which layers the features point nearly in the direction of the mix.

    Args:
        gaps: (layers, α), in per cent of the distance between the ends.
        of_the_worst: the same of the pair with the largest gap, where `gaps` is a mean over pairs.
    """
    far = [name for name, gap in zip(layers, gaps) if gap.max() > 100 * CLOSE]
    if len(far) == len(layers):
        return "The features do not point in the direction of the mix, in any layer"
    near = "The features point nearly in the direction of the mix"
    if far:
        return f"{near}, but not in {in_words(far[0]) if len(far) == 1 else f'{len(far)} of the layers'}"
    is_for_all = of_the_worst is not None and of_the_worst.max() <= 100 * CLOSE
    return f"{near}, in every layer{' and for every pair' if is_for_all else ''}"


def shares_of(part: xarray.Dataset) -> np.ndarray:
    """(3, pairs, layers, α): the gap's mean, low and high end in per cent of the distance between A and B. The first of
    the pairs is the mean of all, with the pairs of the smallest and the largest gap; of the others the ends are the
    middle half of the images, where the sweep knows it."""
    distances = part.own_mean.transpose("pair", "layer").values[..., None]
    gaps = [part.get(name, part.gap_mean).transpose("pair", "layer", "alpha").values
            for name in ("gap_mean", "gap_low", "gap_high")]
    shares = 100 * np.maximum(np.stack(gaps) / distances, 0)
    of_all = np.stack([shares[0].mean(0), shares[0].min(0), shares[0].max(0)])
    return np.concatenate([of_all[:, None], shares], 1)


def _charts(layers, shares, coefs):
    """The gap and coef over α, on axes with room for all pairs and widths."""
    highest = max(float(values.max()) for values in shares.values())
    lengths = np.stack(list(coefs.values()))
    left = Chart(ALPHA_AXIS, Axis("gap, in % of the distance from A to B", 0, max(1.1 * highest, 110 * CLOSE), unit="%",
                                  digits=1),
                 (*(Line(layer, "other") for layer in layers), Reference("near", "chance", "called near"),
                  Band("spread", "merged"), Line("this layer", "merged", near=True), Star("guess", "merged", x=(0.5,)),
                  Handle("alpha")))
    right = Chart(ALPHA_AXIS, Axis("coef: how far along the mix", min(0.9, float(lengths.min()) - 0.02),
                                   max(1.2, float(lengths.max()) + 0.02), digits=2),
                  (*(Line(f"coef, {layer}", "other") for layer in layers), Reference("as long", "single", "as the mix"),
                   Line("coef", "merged", near=True), Handle("alpha")))
    return [left, right]


# -- tables and readings ---------------------------------------------------------------------------

def reading_of_the_share(sweep: xarray.Dataset) -> Page:
    """Does CTL hold? With this sweep's numbers."""
    middle = sweep.sel(alpha=0.5)
    share = middle.gap_mean / middle.own_mean
    last, most = share.sel(layer=last_block(sweep)).mean("pair"), share.max(("pair", "layer"))
    numbers = [said("""at width {width}, the gap in the last block is {last:.0%} of the distance from A to B on
                       average over the pairs, and {most:.0%} in the worst layer of the worst pair""", width=width,
                    last=float(last.sel(width=width)), most=float(most.sel(width=width)))
               for width in map(int, sweep.width)]
    holds = float(last.max()) <= NEARLY and float(most.max()) <= AT_MOST
    return reading("Half-way in weights is nearly half-way in features" if holds else "Half-way in weights", """
        At the middle, {listed}. In the direction of the mix, the features reach between {least:.2f} and {top:.2f} times
        as far as the mix itself (coef).""", listed="; ".join(numbers), least=float(middle.coef_mean.min()),
                   top=float(middle.coef_mean.max()))


@still
def averaged(sweep: xarray.Dataset):
    """Accuracy of eight networks averaged in three ways, beside each alone and θ₀."""
    return dots(sweep.averaged.mean("task"), ["each network alone", "weights averaged", "features averaged",
                                              "logits averaged", "θ₀"], int(sweep.attrs["test_images"]), caption(sweep))


def reading_of_the_compromise(sweep: xarray.Dataset) -> Page:
    """Is it averaging weights that costs accuracy, or averaging at all?"""
    alone, weights, features, logits, _ = widest(sweep).averaged.mean("task").values
    lost, regained = difference(sweep, alone, weights), difference(sweep, max(features, logits), weights)
    title = "What does averaging cost?"
    if lost.is_news and lost.value > 0:
        title = "Averaging features or logits instead loses more than half as much" \
            if regained.value < MOST_OF_IT * lost.value else "Averaging weights costs more than averaging features"
    return reading_of_widest(sweep, title, """
        Each network alone is {alone:.1%} accurate on its task, and the average of the weights {weights:.1%}. Averaging
        the features or the logits of all eight instead changes that by {regained} points at best{doubt}.""",
                             alone=alone, weights=weights, regained=regained, doubt=bound(regained))


def reading_of_the_average(sweep: xarray.Dataset) -> Page:
    """Are averaged weights worse than averaged features? And what is it that is lost?"""
    of_width = widest(sweep)
    alone, weights, features, answers, _ = of_width.averaged.mean("task").values
    apart = difference(sweep, features, weights)
    pooled = of_width.sel(layer="pooled")
    return reading_of_widest(sweep, "Eight at once", """
        The pooled features of the averaged weights are {gap:.3f} from the mean of those of all eight, while a network's
        own are {own:.3f} from it on its task. The accuracy is {features:.3f} with averaged features and {weights:.3f}
        with averaged weights, {apart} points apart{doubt}. With averaged logits it is {answers:.3f}, and of each
        network alone {alone:.3f}.""",
                   gap=float(pooled.all_gap), own=float(pooled.all_own), features=features, weights=weights,
                   apart=apart, doubt=apart.doubt(), answers=answers, alone=alone)


@still
def lengths(sweep: xarray.Dataset):
    """The gap half-way over the distance between A and B in the last block, for task vectors made shorter and longer; a
    line a width."""
    share = (sweep.long_gap / sweep.long_own).sel(layer=last_block(sweep))
    own, told = sweep.long_own.sel(layer=last_block(sweep)), []
    fig, ax = plotting.figure(height=3.0)
    for width in map(int, sweep.width.values):
        values = share.sel(width=width).values
        ax.plot(sweep.length.values, values, label=f"width {width}")
        for length, value in zip(sweep.length.values, values):
            ax.annotate(f"{value:.1%}", (length, value), (0, 6), textcoords="offset points", ha="right", fontsize=9)
        numbers = ", ".join(f"{length:g} times as long: distance {far:.3f}, share {value:.1%}" for length, far, value
                            in zip(sweep.length.values, own.sel(width=width).values, values))
        told.append(f"Width {width}, {numbers}")
    if len(sweep.width) > 1:
        ax.legend()
    ax.set(xscale="log", yscale="log", xlabel="task vectors, times their length (log)",
           ylabel="gap, share of the distance (log)")
    plotting.in_percent(ax.yaxis)
    ax.set_xticks(sweep.length.values, [f"{length:g}" for length in sweep.length.values])
    ax.minorticks_off()
    return plotting.show(fig, ". ".join(told) + ".", f"{caption(sweep)} Last block, half-way: the mean gap "
                         "over the mean distance of all pairs. The panel above has the mean over pairs of their own "
                         "shares.")
