"""The network as a drawing, who knows which split, and the rows of the head that nobody trained."""
from collections.abc import Mapping

import numpy as np
import torch
import xarray
from torch import Tensor

from lessons.kit import drawings, plotting
from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import Page, reading
from lessons.kit.plotting import BLUE, GREY, ORANGE, still, themed
from lessons.kit.sweep import caption
from lessons.resnet.experiment.pairs import PAIRS
from lessons.resnet.panels.pairs import CHANCE
from toy_models import ResNet18

GUESSES = 0.05  # of accuracy: a network that is this near to chance is said to guess
CLASSES = 5  # of a split


# -- the network -----------------------------------------------------------------------------------

@themed
def network_in_boxes(network: ResNet18):
    """What the blocks of a network give for one image, as boxes: as high as the picture, and as wide as the root of the
    number of channels. The last box is the head, with a row for each class."""
    *blocks, (_, outputs) = network.features(torch.zeros(1, 3, 32, 32)).items()
    boxes = [("image", 32, 3)] + [(name, feature.shape[2], feature.shape[1]) for name, feature in blocks]
    fig, ax = plotting.figure(height=2.7)
    left, told = 0.0, []
    for name, pixels, channels in boxes:
        wide = 0.45 * channels ** 0.5
        ax.bar(left, pixels, wide, -pixels / 2, align="edge", color=GREY if name == "image" else BLUE, alpha=0.75)
        ax.text(left + wide / 2, pixels / 2 + 1, f"{channels}", ha="center", va="bottom", fontsize=9.5)
        ax.text(left + wide / 2, -19, name.removeprefix("block "), ha="center", va="top", fontsize=9.5)
        left += wide + 1.2
        told.append(f"{name}: {channels} channels of {pixels} × {pixels} pixels")
    rows, trained = outputs.shape[1], CLASSES
    ax.bar(left, 32, 1.5, -16, align="edge", color=GREY, alpha=0.4)
    ax.bar(left, 32 * trained / rows, 1.5, 16 - 64 * trained / rows, align="edge", color=ORANGE)
    ax.text(left + 0.75, -19, "head", ha="center", va="top", fontsize=9.5)
    ax.set(xlim=(-0.5, left + 2), ylim=(-24, 21))
    ax.axis("off")
    alt = f"{'; '.join(told)}; then the head with {rows} rows, of which a split uses {trained}, drawn in orange."
    below = f"""The eight blocks of this ResNet-18. The height of a box is that of the feature maps, and the number
                above it says how many channels there are. At the end is the head with {rows} rows, one for each class,
                and in orange those of the classes of split 1."""
    return plotting.show(fig, alt, " ".join(below.split()))


# -- accuracies ------------------------------------------------------------------------------------

def of_networks(sweep: xarray.Dataset) -> np.ndarray:
    """(networks, splits): how accurate every finetuned network is on every finetuning split, if it chooses among the
    split's five classes."""
    right = sweep.right.sel(treatment="interpolated").astype(float).mean("image")
    splits = [int(split) for split in sweep.task_number.values]
    scores = np.empty((len(splits), len(splits)))
    for pair, both in PAIRS.items():
        for place, network in zip(("θᵢ", "θⱼ"), both):
            for task, split in zip("ij", both):
                scores[splits.index(network), splits.index(split)] = right.sel(pair=pair, place=place, task=task)
    return scores


@still
def who_knows_what(sweep: xarray.Dataset):
    """The accuracies of `of_networks` as a map."""
    scores, splits = of_networks(sweep), [int(split) for split in sweep.task_number.values]
    fig, ax = plotting.figure(height=3.0, width=6.4)
    ax.imshow(scores, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in np.ndindex(*scores.shape):
        score = scores[row, column]
        ax.text(column, row, f"{score:.0%}", ha="center", va="center", color="white" if score > 0.55 else "black")
    ax.set_xticks(range(len(splits)), [f"split {split}" for split in splits])
    ax.set_yticks(range(len(splits)), [f"finetuned on split {split}" for split in splits])
    ax.set_title("Accuracy on the test images of")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    told = [f"finetuned on split {splits[row]}, on split {splits[column]}: {scores[row, column]:.0%}"
            for row, column in np.ndindex(*scores.shape)]
    of_split = sweep.assign_attrs(images=f"accuracies on {sweep.sizes['image']:,} images a split")
    below = f"{caption(of_split)} Each network chooses among the five classes of the image’s split."
    return plotting.show(fig, f"Accuracies of four networks on four splits. {'; '.join(told)}.", below)


def reading_of_knowing(sweep: xarray.Dataset) -> Page:
    """Whether the networks know more than the split that they learned last."""
    scores = of_networks(sweep)
    others = ~np.eye(len(scores), dtype=bool)
    learned, elsewhere = scores.diagonal().mean(), scores[others].mean()
    guesses = abs(elsewhere - CHANCE) < GUESSES and scores.diagonal().min() > scores[others].max()
    return reading("On the other splits, accuracy is near chance on average" if guesses else
                   "Accuracy on its own split and on the others", """
        On the split that it was finetuned on, a network classifies {learned:.0%} of the test images correctly, on
        average over the four. On the other splits the average is {elsewhere:.0%}, and single ones lie between
        {least:.0%} and {most:.0%}. Guessing gives {chance:.0%}.""", learned=learned, elsewhere=elsewhere,
                   least=scores[others].min(), most=scores[others].max(), chance=CHANCE)


# -- the rows of the head --------------------------------------------------------------------------

@themed
def rows(moved: Mapping[int, Tensor]):
    """How far finetuning on each split has moved every row of the head.

    Args:
        moved: {split: (classes,)}.
    """
    fig, ax = plotting.figure(height=2.6)
    for (split, distances), colour, hatch in zip(moved.items(), (BLUE, ORANGE), ("", "///")):
        ax.bar(range(len(distances)), distances, color=colour, hatch=hatch, width=1,
               label=f"finetuned on split {split}")
    ax.set(xlabel="row of the head (class)", ylabel="how far it moved", xlim=(-1, 100))
    ax.legend()
    told = [f"finetuned on split {split}: rows {', '.join(map(str, distances.nonzero().flatten().tolist()))}"
            for split, distances in moved.items()]
    return plotting.show(fig, f"Bars at the rows of the head that have moved. {'; '.join(told)}.")


def reading_of_the_rows(moved: Mapping[int, Tensor]) -> Page:
    """Which rows of the head finetuning has moved."""
    few = all(distances.nonzero().flatten().tolist() == list(range(CLASSES * split, CLASSES * (split + 1)))
              for split, distances in moved.items())
    counts = [int((distances > 0).sum()) for distances in moved.values()]
    return reading("Only the rows of the split’s own classes have moved" if few else "Which rows have moved?", """
        Of the {rows} rows, finetuning has moved {counts}. The loss compares the split’s five outputs alone, so the
        other rows get no gradient.""", rows=len(next(iter(moved.values()))),
                   counts=" and ".join(f"{count} (split {split})" for split, count in zip(moved, counts)))


def accuracies(scores: Mapping[str, float], images: int, what: str):
    """`drawings.accuracies` on a split of five classes.

    Args:
        scores: {what was asked: accuracy}.
        images: how many each was asked about.
        what: the title.
    """
    return drawings.accuracies(scores, images, dict.fromkeys(scores, BLUE), title=what, chance=CHANCE)


def reading_of_forgetting(scores: Mapping[str, float], images: int) -> Page:
    """Whether the finetuned networks know less of split 0 than the pretrained one, and more than nothing.

    Args:
        scores: accuracies on split 0, with the key "only pretrained"; all others are of finetuned networks.
        images: how many each was asked about.
    """
    before = scores["only pretrained"]
    finetuned = [score for name, score in scores.items() if name != "only pretrained"]
    lost = [Difference.of(before, score, images) for score in finetuned]
    above = [Difference(score - CHANCE, error_of_share(score, images)) for score in finetuned]
    less, known = (all(gain.is_news and gain.value > 0 for gain in gains) for gains in (lost, above))
    return reading("They know less of it than before, but more than nothing" if less and known else
                   "How much do they still know?", """
        The pretrained network classifies {before:.0%} of the test images of split 0 correctly. The finetuned ones
        classify between {least:.0%} and {most:.0%} correctly, and guessing gives {chance:.0%}.""", before=before,
                   least=min(finetuned), most=max(finetuned), chance=CHANCE)


def reading_of_features(scores: Mapping[str, float], images: int) -> Page:
    """What the features know of split 2, where no row of the head is asked.

    Args:
        scores: accuracies of nearest class means, with the keys "network 2", "network 1" and "an untrained network".
        images: how many each was asked about.
    """
    learned, other, nothing = (scores[name] for name in ("network 2", "network 1", "an untrained network"))
    lead = Difference.of(other, nothing, images)
    knows = lead.is_news and lead.value > 0
    return reading("These features are more useful than untrained ones" if knows else "What do the features know?", """
        Asked this way, network 1 classifies {other:.0%} of the test images of split 2 correctly. For network 2, which
        has learned this split, it is {learned:.0%}, and for an untrained network {nothing:.0%}.""", other=other,
                   learned=learned, nothing=nothing)
