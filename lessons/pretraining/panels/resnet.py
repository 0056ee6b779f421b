"""The picture of the four settings on ResNet-18."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, in_full_alone, reading
from lessons.kit.plotting import GREY, layer_ticks, still
from lessons.kit.sweep import caption, names
from lessons.pretraining.experiment.resnet import STATISTICS
from lessons.pretraining.experiment.starts import BY_FEATURES, BY_WEIGHTS, PRETRAINED, SOURCE, STRANGERS
from lessons.pretraining.panels.starts import LOOKS


@in_full_alone
@still
def matched(sweep: xarray.Dataset | None):
    """The four settings per block."""
    fig, axes = plotting.figure(2, 2, height=5.6, sharex=True, sharey="row")
    for (top, bottom), statistics in zip(axes.T, STATISTICS):
        part, layers = sweep.sel(statistics=statistics), names(sweep.layer)
        for setting in SOURCE:
            look = LOOKS[setting]
            for ax, values in ((top, part.gap_mean / part.own_mean), (bottom, part.coef_mean)):
                ax.plot(np.arange(len(layers)), values.sel(setting=setting), color=look.colour, marker=look.marker,
                        linewidth=1.4, label=setting)
        top.set(title=f"Statistics {statistics}", ylim=(0, None))
        bottom.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        for ax in (top, bottom):
            layer_ticks(ax, layers)
        top.set_xlabel("")
    axes[0, 0].set_ylabel("gap, share of A’s and B’s distance")
    axes[1, 0].set_ylabel("coef")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    share = (sweep.gap_mean / sweep.own_mean).mean("layer")
    each = []
    for setting in SOURCE:
        for statistics in STATISTICS:
            which = {"setting": setting, "statistics": statistics}
            each.append(f"{setting}, statistics {statistics}: gap over the distance between A’s and B’s features "
                        f"{share.sel(which).item():.2f} on average over the blocks, accuracy "
                        f"{sweep.accuracy.sel(which).item():.2f}")
    alone = ", ".join(f"{name} {value:.2f}" for name, value in zip(sweep.model.values, sweep.own_accuracy.values))
    anew = sweep.accuracy.sel(statistics=STATISTICS[1])
    half_way = ", ".join(f"{setting} {anew.sel(setting=setting).item():.2f}" for setting in SOURCE)
    return plotting.show(fig, f"Half-way between two ResNet-18s. {'; '.join(each)}.",
                         f"{caption(sweep)} Accuracy alone, on the own split, among its classes: {alone}. Half-way, "
                         f"statistics estimated anew: {half_way}.")


def reading_of_the_resnets(sweep: xarray.Dataset | None) -> Page:
    """What the ResNets add, with this sweep's numbers."""
    if sweep is None:
        return Page("", "")
    anew = sweep.sel(statistics=STATISTICS[1])
    share = (anew.gap_mean / anew.own_mean).mean("layer")
    little = share.sel(setting=BY_WEIGHTS) > 0.9 * share.sel(setting=STRANGERS)
    each = "; ".join(f"{setting} {share.sel(setting=setting).item():.2f} and "
                     f"{anew.accuracy.sel(setting=setting).item():.2f}" for setting in SOURCE)
    return reading("ResNet-18", """
        With statistics estimated anew, half-way, the mean gap over the blocks as a share of the distance between
        A’s and B’s features, and the mean accuracy on the two splits, each among its own classes: {each}. At this
        width, on this seed, matching by weights {gains}. Matching by activations has {times:.1f} times the share of the
        pretrained pair.""",
                   each=each, gains="brings little or nothing" if little else "helps",
                   times=(share.sel(setting=BY_FEATURES) / share.sel(setting=PRETRAINED)).item())
