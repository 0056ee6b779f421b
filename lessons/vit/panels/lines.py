"""Panel (a): cross-task linearity in a small ViT, block by block; and what averaged features can still tell apart."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, grid_table, paragraph, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, moving_titles
from lessons.kit.plotting import BLUE, GREEN, ORANGE, PURPLE, layer_ticks
from lessons.kit.sweep import caption, names
from lessons.vit.experiment.lines import last_block
from lessons.vit.panels import widths
from lessons.vit.panels.widths import difference, reading_of_widest, widest

GAP, OWN, COEF = Look(BLUE, "o"), Look(ORANGE, "s", "--"), Look(GREEN, "^")
FLOOR = 1e-5  # of the axis of gaps


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (a)."""
    own = float(sweep.own_mean.sel(width=widths.first(sweep), layer=last_block(sweep)).mean())
    return said("""In the last block, two finetuned ViTs' features are {own:.2f} apart (1 − cos, mean over pairs).
                   Half-way between them in weight space, how far is the network from half-way in features? Say it in
                   **per cent** of that distance. Chapter 2's ResNet had about a quarter.""", own=own)


BLOCKS = "block, class token, answers"  # the layers of a ViT, below an axis


@panel
def lines(sweep: xarray.Dataset, prediction=None):
    """Panel (a): left, the gap and the ends' own distance in every layer, right coef. Controls: alpha, pair, width."""
    first, layers = widths.first(sweep), names(sweep.layer)
    fig, (left, right) = plotting.figure(2, height=4.0)
    places = layer_ticks(left, layers, label=BLOCKS)
    layer_ticks(right, layers, label=BLOCKS)
    left.set(yscale="log", ylim=(FLOOR, 2), ylabel="1 − cos, mean over images (log)")
    right.set(ylim=(0.5, 1.5), ylabel="coef: length along the mixed features")
    right.axhline(1, color=plotting.GREY, linewidth=1)
    gap, own = curve(left, GAP, "gap to the mixed features"), curve(left, OWN, "the two ends' own distance")
    coef = curve(right, COEF, "coef")
    star = curve(left, Look(PURPLE, "*", ""), markersize=15)
    left.legend(loc="lower right")
    titles = moving_titles((left, right))
    last = layers.index(last_block(sweep))
    asked = widths.asked(sweep, alpha=0.5)
    if prediction:
        middle = sweep.sel(width=first, alpha=0.5)
        share = middle.gap_mean / middle.own_mean
        prediction.panel_answers(100 * float(share.isel(layer=last).mean()), asked)

    def draw(alpha, pair, width=first):
        of_pair = sweep.sel(width=width, pair=pair)
        gaps = of_pair.gap_mean.sel(alpha=alpha).values
        owns = of_pair.own_mean.values
        coefs = of_pair.coef_mean.sel(alpha=alpha).values
        gap.set_data(places, np.maximum(gaps, FLOOR))
        own.set_data(places, owns)
        coef.set_data(places, coefs)
        there = alpha == 0.5 and width == first
        guess = prediction.committed if prediction and there else None
        star.set_data([last] if guess else [], [max(FLOOR, guess / 100 * owns[last])] if guess else [])
        titles[0].set_text(said("α = {alpha:.2f}, block {n}: gap {gap:.4f}, own {own:.3f}", alpha=alpha, n=last + 1,
                                gap=gaps[last], own=owns[last]))
        titles[1].set_text(said("coef {least:.2f} to {most:.2f}", least=coefs.min(), most=coefs.max()))
        listed = "; ".join(f"{layer} gap {gap:.4f}, own {own:.3f}, coef {coef:.3f}"
                           for layer, gap, own, coef in zip(layers, gaps, owns, coefs))
        return f"{pair}, width {width}, α = {alpha:.2f}: {listed}."

    alphas = {f"{alpha:.2f}": alpha for alpha in map(float, sweep.alpha.values)}
    controls = {"alpha": slider("α", alphas, 0.5), "pair": choice("pair", sweep.pair.values)}
    return controls | widths.menu(sweep), fig, draw


# -- tables and readings ---------------------------------------------------------------------------

def reading_of_the_share(sweep: xarray.Dataset) -> Page:
    """Does CTL hold? With this sweep's numbers."""
    middle = sweep.sel(alpha=0.5)
    share = middle.gap_mean / middle.own_mean
    sentences = []
    for width in map(int, sweep.width.values):
        blocks = share.sel(width=width).mean("pair")
        last = float(blocks.sel(layer=last_block(sweep)))
        sentences.append(said("""Width {width}: {first:.1%} of the own distance is left in block 1, {last:.1%} in the
                                 last, {output:.1%} in the answers; the worst place of all pairs and layers has
                                 {most:.1%}; coef {least:.2f} to {top:.2f}.""",
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
