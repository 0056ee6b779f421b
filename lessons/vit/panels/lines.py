"""Panel (a): cross-task linearity in a small ViT, block by block; and what averaged features can still tell apart."""
import numpy as np
import xarray

from lessons.kit.page import Page, grid_table, paragraph, reading, said, table
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, view
from lessons.lines.panels import ALPHA_AXIS, CLOSE, in_words, share_of_a
from lessons.vit.experiment.lines import last_block
from lessons.vit.panels import widths
from lessons.vit.panels.widths import difference, reading_of_widest, widest

ALL = "all pairs"  # their mean, with the smallest and the largest
POOLED = {"pooled": "the class token"}  # what chapter 12's sweeps call "pooled"
MOST_CHIPS = 6
_ALT = """
    {pair}{width}, α = {alpha:.2f}: how far the features are from the mix (gap, 1 − cos), as a share of the distance
    from A to B, and how far they reach along it (coef): {numbers}."""


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (a)."""
    own = float(sweep.own_mean.sel(width=widths.first(sweep), layer=last_block(sweep)).mean())
    return said("""In the last block, the features of two finetuned ViTs are {own:.2f} apart (1 − cos, mean over pairs).
                   Take the network half-way between them in weight space. How far are its features from the mix of
                   theirs? Say it in **per cent** of that distance. Chapter 2's ResNet had about a quarter.""", own=own)


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
    sentences = []
    for width in map(int, sweep.width.values):
        blocks = share.sel(width=width).mean("pair")
        last = float(blocks.sel(layer=last_block(sweep)))
        sentences.append(said("""Width {width}: on average over the pairs the gap is {first:.1%} of the distance between
                                 A and B in block 1, {last:.1%} in the last block and {output:.1%} in the answers. At
                                 the worst place of all pairs and layers it is {most:.1%}. coef lies between {least:.2f}
                                 and {top:.2f}.""",
                              width=width, first=float(blocks[0]), last=last,
                              output=float(blocks.sel(layer="output")), most=float(share.sel(width=width).max()),
                              least=float(middle.coef_mean.sel(width=width).min()),
                              top=float(middle.coef_mean.sel(width=width).max())))
    return reading("Half-way between two tasks", "{listed}", listed=" ".join(sentences))


def averaged_table(sweep: xarray.Dataset) -> Page:
    """Accuracy of eight networks averaged in three ways, a row a width."""
    columns = ["each alone", "weights averaged", "features averaged", "answers averaged", "θ₀"]
    named = sweep.averaged.mean("task").assign_coords(width=[f"width {width}" for width in sweep.width.values],
                                                      what=columns)
    return grid_table(named, after=paragraph(caption(sweep)))


def reading_of_the_average(sweep: xarray.Dataset) -> Page:
    """Are averaged weights worse than averaged features? And what is it that is lost?"""
    of_width = widest(sweep)
    alone, weights, features, answers, _ = of_width.averaged.mean("task").values
    apart = difference(sweep, features, weights)
    pooled = of_width.sel(layer="pooled")
    return reading_of_widest(sweep, "Eight at once", """
        Averaged weights stay {gap:.3f} from the mean of the eight pooled features, while a network's own are
        {own:.3f} from it on its own task. Features averaged read {features:.3f}, weights averaged {weights:.3f}:
        {apart} points{doubt}; answers averaged {answers:.3f}. Each network alone reads
        {alone:.3f} on its own task.""",
                   gap=float(pooled.all_gap), own=float(pooled.all_own), features=features, weights=weights,
                   apart=apart, doubt=apart.doubt(), answers=answers, alone=alone)


def reading_of_enough(sweep: xarray.Dataset) -> Page:
    """Is linearity of features enough for a good merge?"""
    of_width = widest(sweep)
    alone, weights = (float(of_width.averaged.sel(what=name).mean("task")) for name in ("single", "weights"))
    lost = difference(sweep, alone, weights)
    return reading_of_widest(sweep, "Linear, so merging works?", """
        Averaged, the networks read {weights:.3f} where each alone reads {alone:.3f}: {lost:.1f} points
        are lost{doubt}.""", weights=weights, alone=alone, lost=lost, doubt=lost.doubt())


def lengths_table(sweep: xarray.Dataset) -> Page:
    """Gap half-way over own distance in the last block, for task vectors made shorter and longer; a row a width."""
    last = last_block(sweep)
    rows = []
    for width in map(int, sweep.width.values):
        gap, own = (sweep[name].sel(width=width, layer=last).values for name in ("long_gap", "long_own"))
        rows.append((f"width {width}, own distance", *(f"{value:.3f}" for value in own)))
        rows.append((f"width {width}, share left", *(f"{value:.1%}" for value in gap / own)))
    head = ["task vectors, times", *(f"{length:g}" for length in sweep.length.values)]
    return table(head, rows, after=paragraph(caption(sweep)))
