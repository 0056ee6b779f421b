"""Panel (b) and what belongs to it: Eq. 1 of CTL, the features of an average and the average of the features."""
import numpy as np
import xarray

from lessons.averaging.experiment.features import claim
from lessons.kit import plotting
from lessons.kit.page import Page, agrees, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, COLOURS, GREY, ORANGE, WithQuartiles, still, violin
from lessons.kit.sweep import at, caption, names

BASE, GAP = Look(ORANGE, "s"), Look(BLUE, "o")


@panel
def of_the_average(sweep: xarray.Dataset):
    """Panel (b): 1 − cosine to the average of the features beside the baseline, per layer; right, both against the
    number of models.

    Controls: models, layer (of the right-hand picture).
    """
    layers = names(sweep.layer)
    counts = list(map(int, sweep.models.values))
    by_models = {name: sweep[name].transpose("models", "layer").values for name in _NAMES}
    fig, (left, right) = plotting.figure(2, height=3.7)
    base, gap = _per_layer(left, sweep, layers)
    limits = 0.5 * float(sweep.gap_mean.min()), 2 * float(sweep.base_mean.max())
    right.set(xlabel="models in the average, k", ylabel="1 − cosine (logarithmic)", yscale="log", ylim=limits,
              xlim=(1.5, sweep.models.values[-1] + 0.5), xticks=range(2, 21, 3))
    curves = {"base_mean": curve(right, BASE, markersize=4), "gap_mean": curve(right, GAP, markersize=4)}
    upright = here(right, 2)
    titles = moving_titles((left, right))

    def draw(models, layer):
        row = counts.index(models)
        column = layers.index(layer)
        now = {name: values[row] for name, values in by_models.items()}
        base.set_values(now["base_mean"], now["base_low"], now["base_high"])
        gap.set_values(now["gap_mean"], now["gap_low"], now["gap_high"])
        for name, line in curves.items():
            line.set_data(counts, by_models[name][:, column])
        upright.set_xdata([models, models])
        titles[0].set_text(f"Averages of {models} models: gap at most {now['gap_mean'].max():.4f}")
        titles[1].set_text(f"{layer.capitalize()}: coef {now['coef_mean'][column]:.3f} at k = {models}")
        rows = zip(layers, now["gap_mean"], now["base_mean"], now["coef_mean"])
        per_layer = [f"{name} {row[0]:.4f} against {row[1]:.4f}, coef {row[2]:.3f}" for name, *row in rows]
        return f"1 − cosine per layer for averages of {models} models, gap against baseline: {'; '.join(per_layer)}."

    controls = {"models": slider("models in the average, k", counts, 3),
                "layer": choice("right-hand picture", layers[::-1])}
    below = " Markers: mean; bars: quartiles over the images, several random choices of models together."
    return controls, fig, draw, caption(sweep) + below


_NAMES = ("gap_mean", "gap_low", "gap_high", "base_mean", "base_low", "base_high", "coef_mean")


def _per_layer(ax, sweep, layers):
    """The baseline's and the gap's markers and bars."""
    places = np.arange(len(layers))
    ax.set(xlim=(-0.5, len(layers) - 0.5), yscale="log", ylim=_limits(sweep), ylabel="1 − cosine (logarithmic)")
    ax.set_xticks(places, layers)
    base = WithQuartiles(ax, places - 0.1, BASE.colour, BASE.marker, "from the average to a single model (baseline)")
    gap = WithQuartiles(ax, places + 0.1, GAP.colour, GAP.marker, "from the average to the mean of the features")
    ax.legend(loc="upper left")
    return base, gap


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
        base = WithQuartiles(left, places - 0.1, BASE.colour, BASE.marker, "1 − cosine_base", animated=False)
        base.set_values(of_count.base_mean, of_count.base_low, of_count.base_high)
        gap = WithQuartiles(left, places + 0.1, GAP.colour, GAP.marker, "1 − cosine_avg", animated=False)
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
    below = " Left: mean and quartiles over the images. Right: distribution over the images, line: median."
    return plotting.show(fig, alt, caption(sweep) + below)


def reading_of_figure_5(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 5, 6, 17 and 18 of CTL and ours, with this sweep's numbers."""
    numbers = claim(sweep)
    gap = sweep.gap_mean.mean("layer")
    two, twenty = (gap.sel(models=k).item() for k in (2, 20))
    return reading("What you should have seen", """{verdict}: for every number of models and in every layer the gap is
        at most {gap_most:.4f}, and nowhere more than {gap_over_base_most:.0%} of the baseline; coef runs from
        {coef_least:.3f} to {coef_most:.3f}. From 2 models to 20, ten times as many, the mean gap over the layers grows
        from {two:.5f} to {twenty:.5f}, {times:.1f} times. Zhou et al. show 5 and 10 models alone.""",
        verdict=agrees(numbers["gap_over_base_most"] < 0.15), two=two, twenty=twenty, times=twenty / two, **numbers)
