"""The picture of the four settings on ResNet-18."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, in_full_alone
from lessons.linearity.panels.lines import layer_ticks
from lessons.kit.plotting import GREY
from lessons.pretraining.experiment.resnet import STATISTICS
from lessons.pretraining.experiment.starts import BY_FEATURES, BY_WEIGHTS, PRETRAINED, SOURCE, STRANGERS
from lessons.pretraining.panels.starts import LOOKS
from lessons.kit.sweep import caption
from lessons.kit.plotting import still


@in_full_alone
@still
def matched(sweep: xarray.Dataset | None):
    """The four settings per block."""
    fig, axes = plotting.figure(2, 2, height=5.6, sharex=True, sharey="row")
    layers = list(map(str, sweep.layer.values))
    places = np.arange(len(layers))
    for column, statistics in enumerate(STATISTICS):
        part = sweep.sel(statistics=statistics)
        for setting in SOURCE:
            colour, marker = LOOKS[setting]
            for row, values in ((0, part.gap_mean / part.own_mean), (1, part.coef_mean)):
                axes[row, column].plot(places, values.sel(setting=setting), color=colour, marker=marker, linewidth=1.4, label=setting)
        axes[0, column].set(title=f"Statistics {statistics}", ylim=(0, None))
        axes[1, column].axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        for ax in axes[:, column]:
            layer_ticks(ax, layers)
        axes[0, column].set_xlabel("")
    axes[0, 0].set_ylabel("gap, share of own distance")
    axes[1, 0].set_ylabel("coef")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    said = "; ".join(f"{setting}, statistics {statistics}: gap over own distance "
                     f"{(sweep.gap_mean / sweep.own_mean).sel(setting=setting, statistics=statistics).mean().item():.2f} on average over the blocks, "
                     f"accuracy {sweep.accuracy.sel(setting=setting, statistics=statistics).item():.2f}" for setting in SOURCE for statistics in STATISTICS)
    return plotting.show(fig, f"Half-way between two ResNet-18s. "
                              f"{said}.", caption(sweep) + f" Accuracy alone: {', '.join(f'{value:.2f}' for value in sweep.own_accuracy.values)}. Half-way, statistics "
                                                           f"estimated anew: "
                         + ", ".join(f"{setting} {sweep.accuracy.sel(setting=setting, statistics=STATISTICS[1]).item():.2f}" for setting in SOURCE) + ".")


def reading(sweep: xarray.Dataset | None) -> Page:
    """What the ResNets add, with this sweep's numbers."""
    if sweep is None:
        return Page("", "")
    share, accuracy = (sweep.gap_mean / sweep.own_mean).sel(statistics=STATISTICS[1]).mean("layer"), sweep.accuracy.sel(statistics=STATISTICS[1])
    gains = "brings little or nothing" if share.sel(setting=BY_WEIGHTS) > 0.9 * share.sel(setting=STRANGERS) else "helps"
    text = ("With statistics estimated anew, half-way, the mean gap over the blocks as a share of the own distance, and the accuracy: "
            + "; ".join(f"{setting} {share.sel(setting=setting).item():.2f} and {accuracy.sel(setting=setting).item():.2f}" for setting in SOURCE)
            + f". In so narrow a network matching by weights {gains}. Matching by activations has {(share.sel(setting=BY_FEATURES) / share.sel(setting=PRETRAINED)).item():.1f} times "
              "the gap of the pretrained pair.")
    return Page(text, f"<p><b>ResNet-18.</b> {text}</p>")
