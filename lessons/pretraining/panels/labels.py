"""The pictures of shuffled labels: one panel, what explains it, and the source's Figure 12 redrawn from our
measurement."""
import numpy as np
import xarray
from matplotlib.ticker import LogLocator, NullFormatter

from lessons.kit import plotting
from lessons.kit.page import Markup, Page, agrees, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, WithQuartiles, layer_ticks, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, names
from lessons.pretraining.experiment import labels
from lessons.pretraining.experiment.labels import (
    NORMAL,
    NOTHING,
    PAIRS,
    PRETRAIN_IMAGES,
    UNLEARNT,
    fraction_name,
    fractions,
)
from lessons.pretraining.panels.starts import QUARTILES, half_way, name_axes

SHUFFLED = Look(RED, "s")
TRUE = Look(GREY, "^")  # by heart, with true labels
LOOKS = {NORMAL: Look(BLUE, "o", "--"), NOTHING: Look(GREEN, "D", ":")}
_LABELS = {NORMAL: "normal pretraining", NOTHING: "no pretraining, one random start"}


# -- panel (d): the share of shuffled labels -------------------------------------------------------

@panel
def shuffled(sweep: xarray.Dataset, prediction=None):
    """Panel (d): the gap per layer after pretraining with a share of shuffled labels; right, its mean over the layers
    against that share.

    Controls: fraction, pair. The prediction, the mean gap at fraction 1 for two tasks, is a star on the right.
    """
    fig, (left, right) = plotting.figure(2, height=4.2)
    shares = fractions(sweep)
    places = layer_ticks(left, names(sweep.layer))
    left.set(ylabel="gap: 1 − cosine, half-way", yscale="log",
             ylim=(float(sweep.gap_mean.min()) / 3, 2 * float(sweep.gap_high.max())))
    points = {name: WithQuartiles(left, places + shift, LOOKS[name].colour, LOOKS[name].marker, _LABELS[name])
              for name, shift in ((NORMAL, 0), (NOTHING, 0.15))}
    ours = WithQuartiles(left, places - 0.15, SHUFFLED.colour, SHUFFLED.marker, "labels shuffled")
    mean = sweep.gap_mean.mean("layer")
    right.set(xlabel="share of shuffled labels in pretraining", ylabel="gap, mean over the layers", yscale="log",
              xlim=(-0.05, 1.05), ylim=(float(mean.min()) / 2, 2 * float(mean.max())))
    means = curve(right, SHUFFLED, "labels shuffled")
    flat = {name: curve(right, look, _LABELS[name], marker="") for name, look in LOOKS.items()}
    at_share = here(right, 0)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = moving_titles((left, right))
    parts = {(str(start), str(pair)): sweep.sel(start=start, pair=pair)
             for start in sweep.start.values for pair in sweep.pair.values}
    gap = {which: part.gap_mean.mean().item() for which, part in parts.items()}
    asked = {"pair": PAIRS[1], "fraction": 1.0}
    star = Star(right, prediction, 1.0, gap[fraction_name(1.0), PAIRS[1]], asked)

    def draw(fraction, pair):
        part = parts[fraction_name(fraction), pair]
        ours.set_values(part.gap_mean, part.gap_low, part.gap_high)
        for name, point in points.items():
            other = parts[name, pair]
            point.set_values(other.gap_mean, other.gap_low, other.gap_high)
            flat[name].set_data([0, 1], [gap[name, pair]] * 2)
        means.set_data(shares, [gap[fraction_name(share), pair] for share in shares])
        at_share.set_xdata([fraction, fraction])
        star.place(fraction=fraction, pair=pair)
        titles[0].set_text(f"{fraction:.0%} shuffled, {pair}")
        titles[1].set_text(f"Learned {part.learnt.item():.0%} by heart, reads {part.knows.item():.0%}")
        return said("""{which}, {fraction:.2f} of the labels shuffled: the network learned {learnt:.0%} of its {images}
                       pretraining images and reads {knows:.0%} of upright test digits. 1 − cosine half-way, mean
                       over the layers: {gap:.4f}; normal pretraining {normal:.4f}, no pretraining {nothing:.4f}. coef
                       {coef:.3f}.""",
                    which=pair.capitalize(), fraction=fraction, images=PRETRAIN_IMAGES,
                    learnt=part.learnt.item(), knows=part.knows.item(), coef=part.coef_mean.mean().item(),
                    gap=gap[fraction_name(fraction), pair], normal=gap[NORMAL, pair], nothing=gap[NOTHING, pair])

    controls = {"fraction": slider("share of shuffled labels", shares, 1.0),
                "pair": choice("finetuned on", PAIRS[::-1])}
    return controls, fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images."


# -- the source's figure ---------------------------------------------------------------------------

@still
def figure_12(sweep: xarray.Dataset):
    """Figure 12 of CTL: 1 − cosine half-way and the distribution of coef, pretrained on shuffled labels and normally.

    Ours beside it: true labels learned by heart, and no pretraining.
    """
    shown = {fraction_name(1): (SHUFFLED, "random labels"),
             NORMAL: (LOOKS[NORMAL], "normal"),
             fraction_name(0): (TRUE, "same few images, true labels (ours)"),
             NOTHING: (LOOKS[NOTHING], "no pretraining (ours)")}
    part = sweep.sel(start=list(shown), pair=PAIRS[0])
    fig, (left, right) = plotting.figure(2, height=3.9)
    means = []
    for (start, (look, label)), shift in zip(shown.items(), (-0.27, -0.09, 0.09, 0.27)):
        of_start = part.sel(start=start)
        half_way(left, right, of_start, shift, look, label, width=0.08)
        means.append(f"{label} gap {of_start.gap_mean.mean().item():.4f}, coef {of_start.coef_mean.mean().item():.3f}")
    layers = names(sweep.layer)
    gaps = float(part.gap_mean.min()) / 3, 1.5 * float(part.gap_high.max())
    name_axes(left, right, layers, gap=gaps, coef=(0.2, 1.2))
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    alt = ("Half-way between two networks finetuned on one task in two ways, mean over the layers: "
           f"{'; '.join(means)}.")
    return plotting.show(fig, alt, caption(sweep) + QUARTILES)


# -- in words --------------------------------------------------------------------------------------

def what_was_learned(sweep: xarray.Dataset) -> Page:
    """What each start knew and how far it had gone, as a table."""
    rows, lines = [], []
    for name in names(sweep.start):
        start = sweep.sel(start=name)
        cells = (f"{start.learnt.item():.0%}", f"{start.knows.item():.0%}", f"{start.moved.item():.1f}")
        rows.append((name, *cells))
        lines.append("{}: {} of its pretraining labels, {} of upright test digits, moved {}".format(*rows[-1]))
    head = ("pretraining", "its own labels right", "upright test digits right", "distance from the random start")
    return table(head, rows, "; ".join(lines))


def suspects(sweep: xarray.Dataset) -> Page:
    """For every start and pair the gap, and what might explain it: curvature at the start and along the line, distance;
    last the gap at equal distance."""
    rows = []
    for pair in PAIRS:
        for name in names(sweep.start):
            part = sweep.sel(start=name, pair=pair)
            rows.append((pair, name, f"{part.gap_mean.mean().item():.5f}", f"{part.curvature.item():.1f}",
                         f"{part.along.item():+.2f}", f"{part.distance.item():.2f}",
                         f"{part.equal_gap.mean().item():.5f}"))
    head = ("finetuned on", "pretraining", "gap", Markup("λ<sub>max</sub> at the start"),
            "curvature along the line, half-way",
            "distance ‖θᵢ − θⱼ‖", "gap at the normal pair's distance")
    return table(head, rows, left=2)


def gently(sweep: xarray.Dataset) -> Page:
    """The gap after finetuning in long steps and in short ones, as a table."""
    rows = []
    for pair in PAIRS:
        for name in names(sweep.start):
            part = sweep.sel(start=name, pair=pair)
            if np.isfinite(part.gentle_distance):
                usual = f"{part.gap_mean.mean().item():.5f}", f"{part.distance.item():.2f}"
                gentle = f"{part.gentle_gap.mean().item():.5f}", f"{part.gentle_distance.item():.2f}"
                accuracy = f"{part.own_accuracy.mean().item():.3f}, {part.gentle_accuracy.item():.3f}"
                rows.append((pair, name, *usual, *gentle, accuracy))
    head = ("finetuned on", "pretraining", "gap, usual steps", "distance", "gap, steps a tenth as long", "distance",
            "accuracy on the own task, both")
    return table(head, rows, left=2)


def _look_and_label(name):
    """Of a start in the figure of distances."""
    known = {fraction_name(0): (TRUE, "by heart, true labels"),
             fraction_name(1): (SHUFFLED, "by heart, random labels"),
             UNLEARNT: (Look(PURPLE, "P"), "random labels, not learned")}
    known |= {name: (look, _LABELS[name]) for name, look in LOOKS.items()}
    return known.get(name, (Look(ORANGE, "v"), "by heart, partly shuffled"))


@still
def gap_against_distance(sweep: xarray.Dataset):
    """Gap against the distance of the two networks, for every start and pair; a line leads to the gap that they have at
    the normal pair's distance."""
    fig, axes = plotting.figure(2, height=4.2, sharey=True)
    each = []
    for ax, pair in zip(axes, PAIRS):
        of_pair = sweep.sel(pair=pair)
        normal = of_pair.distance.sel(start=NORMAL).item()
        for name in names(of_pair.start):
            of_start = of_pair.sel(start=name)
            look, label = _look_and_label(name)
            gaps = of_start.gap_mean.mean().item(), of_start.equal_gap.mean().item()
            distances = of_start.distance.item(), normal
            ax.plot(distances, gaps, color=look.colour, linestyle=":", marker="", linewidth=1.4)
            ax.plot(*zip((distances[0], gaps[0])), color=look.colour, marker=look.marker, linestyle="", label=label,
                    markersize=8)
            ax.plot(normal, gaps[1], color=look.colour, marker=look.marker, linestyle="", markersize=8,
                    markerfacecolor="white")
            each.append(f"{pair}, {name}: distance {distances[0]:.2f}, gap {gaps[0]:.4f}; at distance {normal:.2f} "
                        f"{gaps[1]:.4f}")
        ax.set(xscale="log", yscale="log", xlabel="distance of the two networks, ‖θᵢ − θⱼ‖", title=pair.capitalize())
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("gap: 1 − cosine, half-way")
    handles, starts_shown = axes[0].get_legend_handles_labels()
    once = dict(zip(starts_shown, handles))
    fig.legend(once.values(), once.keys(), loc="outside lower center", ncols=3)
    return plotting.show(fig, "; ".join(each) + ".",
                         caption(sweep) + " Hollow: both networks moved along their way until they are as far apart as "
                                          "the normal pair.")


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before the panel."""
    gap = sweep.gap_mean.sel(start=NORMAL, pair=PAIRS[1]).mean().item()
    return said("""Two tasks. After **normal** pretraining the gap, 1 − cosine, is {gap:.3f}, mean over the layers.
                   What is it when all labels of the pretraining were shuffled?""", gap=gap)


def reading_of_figure_12(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 12 of CTL and ours, with this sweep's numbers."""
    starts = {"random": fraction_name(1), "true": fraction_name(0), "nothing": NOTHING}
    times = {name: [labels.over_normal(sweep, pair, start) for pair in PAIRS] for name, start in starts.items()}
    accuracy = sweep.own_accuracy.mean("end").sel(pair=PAIRS[1])
    return reading("Figure 12 of CTL, and ours", Markup("""
        {agrees}: after pretraining on random labels the gap is {random[0]:.0f} times that after normal pretraining for
        one task learned in two ways, and {random[1]:.1f} times for two tasks. Differs: the same few images learned by
        heart with their <i>true</i> labels give {true[0]:.0f} and {true[1]:.1f} times. And with no pretraining at all,
        from one random start, it is {nothing[0]:.1f} and {nothing[1]:.1f} times, for networks that are less accurate
        ({untaught:.2f} on their own task against {normal:.2f}). So a lack of common knowledge is not what hurts
        here."""),
        agrees=agrees(times["random"][0] > 2 and times["random"][1] > 1.5), **times,
        untaught=accuracy.sel(start=NOTHING).item(), normal=accuracy.sel(start=NORMAL).item())
