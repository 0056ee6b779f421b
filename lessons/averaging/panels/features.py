"""Panel (b) and what belongs to it: Eq. 1 of CTL, the features of an average and the average of the features."""
import numpy as np
import xarray

from lessons.averaging.experiment.features import claim
from lessons.kit import plotting
from lessons.kit.page import Page, agrees, reading, said
from lessons.kit.plotting import BLUE, COLOURS, GREY, ORANGE, Look, WithQuartiles, still, violin
from lessons.kit.sweep import at, caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Points, chips, key, slider, view
from lessons.lines.panels import in_words

BASE, GAP = Look(ORANGE, "s"), Look(BLUE, "o")  # of the still figures
CLOSE = 0.15  # of the baseline: a gap below it is called near, as the ledger does (CTL-8)
_OF_MEAN, _OF_SINGLE = "to the mean", "to single models"


@view
def of_the_average(sweep: xarray.Dataset):
    """How far an average's features point away from the mean of the features, and, as the baseline, from those of
    single models: left, in one layer against the number of models; right, in every layer.

    Controls: models, layer (of the left-hand chart).
    """
    layers, counts = names(sweep.layer), [int(count) for count in sweep.models.values]
    numbers = {name: sweep[name].transpose("models", "layer").values for name in _NAMES}
    finding = finding_of_features(layers, numbers["gap_mean"], numbers["base_mean"])
    lowest, highest = float(sweep.gap_low.where(sweep.gap_low > 0).min()), float(sweep.base_high.max())

    def draw(models, layer):
        row, column = position(counts, models), layers.index(layer)
        values = {}
        for part, name in (("gap", _OF_MEAN), ("base", _OF_SINGLE)):
            mean, low, high = (numbers[f"{part}_{what}"] for what in ("mean", "low", "high"))
            low = np.maximum(low, lowest)
            values |= {name: mean[:, column], f"middle half {name}": (low[:, column], high[:, column]),
                       f"average, {name}": (mean[row], low[row], high[row])}
        gap, base, coef = (numbers[name][row] for name in ("gap_mean", "base_mean", "coef_mean"))
        per_layer = "; ".join(f"{name} {to_mean:.4f} against {to_single:.4f}, coef {length:.3f}"
                              for name, to_mean, to_single, length in zip(layers, gap, base, coef))
        alt = f"1 − cosine per layer for averages of {models} models, gap against baseline: {per_layer}."
        about = key(("merged", "From the average to the mean of the features"),
                    ("single", "From the average to single models: the baseline"),
                    ("", f"left: {in_words(layer)}"))
        return Frame(finding, alt, values, about)

    controls = {"models": slider("k, models in the average", counts, 10, words=lambda count: f"{count} models"),
                "layer": chips("layer", layers, layers[-1])}
    below = " Bands and bars: the middle half of the images, over several random choices of models together."
    return {"kicker": "Chapter 3: the features of an average", "draw": draw, "controls": controls,
            "charts": _charts(layers, counts, 0.8 * lowest, 1.25 * highest), "caption": caption(sweep) + below}


_NAMES = ("gap_mean", "gap_low", "gap_high", "base_mean", "base_low", "base_high", "coef_mean")


def _charts(layers, counts, lowest, highest):
    """One layer against the number of models, and every layer, on the same logarithmic axis."""
    ticks = {tick: f"{tick:g}" for tick in (0.0001, 0.001, 0.01, 0.1) if lowest < tick < highest}
    in_one, in_every = (Axis(f"1 − cosine in {where} (log; lower is closer)", lowest, highest, kind="log", digits=4,
                             ticks=ticks)
                        for where in ("one layer", "every layer"))
    roles = {_OF_SINGLE: "single", _OF_MEAN: "merged"}
    bands = [Band(f"middle half {name}", role) for name, role in roles.items()]
    lines = [Line(name, role, name) for name, role in roles.items()]
    left = Chart(Axis("k", counts[0], counts[-1], ticks={count: f"{count}" for count in counts if count % 5 == 0}),
                 in_one, (*bands, *lines, Handle("models")))
    places = tuple(map(float, range(len(layers))))
    right = Chart(Axis("", -0.5, len(layers) - 0.5, kind="places", ticks=dict(enumerate(layers))), in_every,
                  tuple(Points(f"average, {name}", role, x=places) for name, role in roles.items()))
    return [left, right]


def finding_of_features(layers: list[str], gap: np.ndarray, base: np.ndarray) -> str:
    """Where Eq. 1 holds, for every number of models. gap, base: (models, layers), 1 − cosine."""
    most = (gap / base).max(0)
    near = [in_words(name) for name, share in zip(layers, most) if share < CLOSE]
    if len(near) == len(layers):
        return "Averaged weights have nearly the averaged features, in every layer"
    if not near:
        return "Averaged weights do not have the averaged features, in any layer"
    return f"Averaged weights have nearly the averaged features in {' and '.join(near)}, not in every layer"


def _limits(sweep):
    """Of a logarithmic axis for gaps and baselines, with room for a legend."""
    return 0.5 * float(sweep.gap_low.where(sweep.gap_low > 0).min()), 6 * float(sweep.base_high.max())


@still
def figure_17(sweep: xarray.Dataset, models=(5, 10)):
    """Figures 17 and 18 of CTL (Fig. 5 and 6 are their last blocks): 1 − cosine beside the baseline, and the
    distribution of coef, per layer."""
    layers = names(sweep.layer)
    part = sweep.sel(models=list(models))
    fig, axes = plotting.figure(2, len(models), height=2.7 * len(models), squeeze=False, sharex=True, sharey="col")
    for (left, right), k in zip(axes, models):
        of_count = at(sweep, models=k)
        places = np.arange(len(of_count.layer))
        base = WithQuartiles(left, places - 0.1, BASE.colour, BASE.marker, "1 − cosine_base")
        base.set_values(of_count.base_mean, of_count.base_low, of_count.base_high)
        gap = WithQuartiles(left, places + 0.1, GAP.colour, GAP.marker, "1 − cosine_avg")
        gap.set_values(of_count.gap_mean, of_count.gap_low, of_count.gap_high)
        left.set(title=f"{k} models", ylabel="1 − cosine (logarithmic)", ylim=_limits(part), yscale="log")
        for place, (layer, colour) in enumerate(zip(layers, COLOURS)):
            of_layer = at(of_count, layer=layer)
            count = of_layer.coef_count.values
            violin(right, place, of_layer.bin.values, count, of_layer.coef_median.item(), colour, width=0.35)
        right.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        right.set(title=f"{k} models", ylabel="coef", ylim=(0.85, 1.1))
        for ax in (left, right):
            ax.set_xticks(np.arange(len(layers)), layers)
    axes[0, 0].legend(loc="upper left", ncols=2)
    alt = said("""Averages of {numbers} models, four layers. 1 − cosine_avg lies between {gap_least:.4f} and
                  {gap_most:.4f}, 1 − cosine_base between {base_least:.4f} and {base_most:.4f}; the mean of coef between
                  {coef_least:.3f} and {coef_most:.3f}.""",
               numbers=" and ".join(map(str, models)),
               gap_least=part.gap_mean.min().item(), gap_most=part.gap_mean.max().item(),
               base_least=part.base_mean.min().item(), base_most=part.base_mean.max().item(),
               coef_least=part.coef_mean.min().item(), coef_most=part.coef_mean.max().item())
    below = " Left: mean and quartiles over images and random orders. Right: distribution over the images, " \
            "line: median."
    return plotting.show(fig, alt, caption(sweep) + below)


def reading_of_figure_5(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 5, 6, 17 and 18 of CTL and ours, with this sweep's numbers."""
    numbers = claim(sweep)
    gap = sweep.gap_mean.mean("layer")
    two, twenty = (gap.sel(models=k).item() for k in (2, 20))
    return reading("What you should have seen", """{verdict}: for every number of models and in every layer the mean gap
        is at most {gap_most:.4f}, and nowhere more than {gap_over_base_most:.0%} of the baseline; the mean coef runs
        from {coef_least:.3f} to {coef_most:.3f}. Averaged over the layers, the gap is {two:.5f} for 2 models and
        {twenty:.5f} for 20. Our few random orders do not show how it depends on the number of models. Zhou et al. show
        only 5 and 10 models.""",
        verdict=agrees(numbers["gap_over_base_most"] < CLOSE), two=two, twenty=twenty, **numbers)


def reading_of_equation_1(sweep: xarray.Dataset) -> Page:
    """Whether averaged weights have the averaged features, for every number of models and in every layer."""
    numbers = claim(sweep)
    near = numbers["gap_over_base_most"] < CLOSE
    title = ("Averaged weights have nearly the averaged features, in every layer" if near else
             "Averaged weights do not have the averaged features in every layer")
    return reading(title, """For every number of models, the gap was at most {most:.0%} of the baseline, and
        the mean coef (chapter 1) was within {length:.1%} of 1. Our few random choices do not show how the gap depends
        on the number of models.""",
        most=numbers["gap_over_base_most"],
        length=max(1 - numbers["coef_least"], numbers["coef_most"] - 1))
