"""The ten triples of five ResNet-18s."""
import numpy as np
import xarray

from lessons.averaging.panels.features import BASE, GAP
from lessons.averaging.panels.triples import AVERAGE, ENSEMBLE, images_of
from lessons.kit import plotting
from lessons.kit.noise import error_of_share
from lessons.kit.page import Page, in_full_alone, paragraph, reading, said
from lessons.kit.plotting import BLUE, GREY, RED, WithQuartiles, still
from lessons.kit.sweep import caption


def introduction() -> Page:
    """What is asked of the ResNets."""
    text = said("""Chapter 2's pretrained ResNet-18 (width 16, split 0 of Split CIFAR-100), finetuned five times on
                   split 1 with different hyper-parameters: ten triples. An averaged network has never seen a batch, so
                   its BatchNorm statistics are estimated again on training images; beside it, what happens if they are
                   simply averaged like weights. Ten triples are too few for a correlation. So compare their level with
                   the five models alone, and the size of the gap with the MLP's.""")
    return Page(text, paragraph(text))


@in_full_alone
@still
def ten_triples(sweep: xarray.Dataset | None):
    """Left, averaged weights and logits ensembles with two kinds of BatchNorm statistics; right, Eq. 1 per block."""
    fig, (left, right) = plotting.figure(2, height=3.8)
    seen = sweep[["average_accuracy", "inherited_accuracy", "ensemble_accuracy"]].to_dataarray()
    low = float(seen.min()) - 0.02
    high = float(seen.max()) + 0.02
    left.plot([low, high], [low, high], color=GREY, linestyle="--", linewidth=1.2, marker="")
    left.scatter(sweep.average_accuracy, sweep.ensemble_accuracy, color=BLUE, marker="o", s=35,
                 label="statistics estimated again")
    left.scatter(sweep.inherited_accuracy, sweep.ensemble_accuracy, color=RED, marker="^", s=35,
                 label="statistics averaged too")
    left.set(xlabel=AVERAGE, ylabel=ENSEMBLE, title="Ten triples of five ResNet-18s")
    left.legend(loc="best", title="BatchNorm of the average")
    _gaps(right, sweep)
    gap = sweep.gap_mean.mean("triple")
    base = sweep.base_mean.mean("triple")
    alt = said("""Five ResNets with accuracies {alone}. Over ten triples the averaged weights have {average:.3f} on
                  average ({inherited:.3f} with averaged BatchNorm statistics), the ensemble {ensemble:.3f}. The gap
                  runs from {gap_least:.3f} to {gap_most:.3f} over the layers, the baseline from {base_least:.3f} to
                  {base_most:.3f}.""",
               alone=", ".join(f"{value:.3f}" for value in sweep.accuracy.values),
               average=sweep.average_accuracy.mean().item(), inherited=sweep.inherited_accuracy.mean().item(),
               ensemble=sweep.ensemble_accuracy.mean().item(), gap_least=gap.min().item(), gap_most=gap.max().item(),
               base_least=base.min().item(), base_most=base.max().item())
    alone = ", ".join(f"{value:.2f}" for value in sweep.accuracy.values)
    error = 100 * error_of_share(sweep.accuracy.mean().item(), images_of(sweep))
    spread = "Right: mean over the triples of mean and quartiles over the images."
    below = f" The five alone: {alone}, standard error {error:.1f} points. {spread}"
    return plotting.show(fig, alt, caption(sweep) + below)


def _gaps(ax, sweep):
    mean = sweep.drop_dims([name for name in sweep.dims if name not in ("triple", "layer")]).mean("triple")
    places = np.arange(len(sweep.layer))
    base = WithQuartiles(ax, places - 0.1, BASE.colour, BASE.marker, "baseline")
    base.set_values(mean.base_mean, mean.base_low, mean.base_high)
    gap = WithQuartiles(ax, places + 0.1, GAP.colour, GAP.marker, "to the mean of the features")
    gap.set_values(mean.gap_mean, mean.gap_low, mean.gap_high)
    least = 0.5 * float(mean.gap_low.where(mean.gap_low > 0).min())
    ax.set(ylabel="1 − cosine (logarithmic)", yscale="log", ylim=(least, 6 * float(mean.base_high.max())),
           title="Features, averages of three")
    ax.set_xticks(places, [str(layer).replace("block ", "") for layer in sweep.layer.values])
    ax.set_xlabel("block")
    ax.legend(loc="upper left")


def reading_of_the_level(sweep: xarray.Dataset | None) -> Page:
    """How accurate the ten triples are on average, beside the five models alone; nothing where none was measured."""
    if sweep is None:
        return Page("", "")
    average, ensemble = sweep.average_accuracy.mean().item(), sweep.ensemble_accuracy.mean().item()
    alone, best = sweep.accuracy.mean().item(), sweep.accuracy.max().item()
    return reading("How good are the triples?", """
        On average over the ten triples, averaged weights have {average:.1%}, and the ensembles have {ensemble:.1%}. The
        five alone have {alone:.1%} on average, and the best of them has {best:.1%}. (It was chosen on these images, so
        it probably looks a little too good. The standard error of one accuracy is {error:.1f} points.)""",
        average=average, ensemble=ensemble, alone=alone, best=best,
        error=100 * error_of_share(alone, images_of(sweep)))


def reading_of_the_gap(sweep: xarray.Dataset | None, mlps: xarray.Dataset) -> Page:
    """How large the gap of averages of three is in the ResNets and in the MLPs; nothing where no ResNet was measured.

    Args:
        sweep: of the ResNets.
        mlps: the chapter's sweep.
    """
    if sweep is None:
        return Page("", "")
    both = {"resnets": sweep[["gap_mean", "base_mean"]].mean("triple"),
            "mlps": mlps[["gap_mean", "base_mean"]].sel(models=3)}
    least, most, share = ({name: how(part) for name, part in both.items()} for how in (
        lambda part: part.gap_mean.min().item(), lambda part: part.gap_mean.max().item(),
        lambda part: (part.gap_mean / part.base_mean).max().item()))
    title = ("The ResNets’ largest gap is larger than the MLPs’, also as a share of the baseline"
             if most["resnets"] > most["mlps"] and share["resnets"] > share["mlps"] else "Which gap is larger?")
    return reading(title, """For averages of three, the ResNets’ gap is {least[resnets]:.4f} to {most[resnets]:.4f} over
        the blocks, and at most {share[resnets]:.0%} of the baseline there. That of the MLPs is {least[mlps]:.4f} to
        {most[mlps]:.4f} over the layers, and at most {share[mlps]:.0%} of the baseline.""",
                   least=least, most=most, share=share)
