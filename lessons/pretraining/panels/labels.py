"""The pictures of shuffled labels: one panel, and the source's Figure 12 redrawn from our measurement."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, table
from lessons.linearity.panels.lines import layer_ticks
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, RED, WithQuartiles, violin
from lessons.kit.predict import Star
from lessons.pretraining.experiment import labels as experiment
from lessons.pretraining.experiment.labels import NORMAL, NOTHING, PAIRS, PRETRAIN_IMAGES, fraction_name, fractions
from lessons.kit.sweep import caption
from lessons.kit.panel import panel
from lessons.kit.plotting import still

_LINES = {NORMAL: (BLUE, "--", "o", "normal pretraining"), NOTHING: (GREEN, ":", "D", "no pretraining, one random start")}


@panel
def shuffled(sweep: xarray.Dataset, prediction=None):
    """Panel (c): the gap per layer after pretraining with a share of shuffled labels; right, its mean over the layers against that share.

    Controls: fraction, pair. The prediction, the mean gap at fraction 1 for two tasks, is a star on the right.
    """
    fig, (left, right) = plotting.figure(2, height=4.2)
    layers, shares = list(map(str, sweep.layer.values)), fractions(sweep)
    places = layer_ticks(left, layers)
    left.set(ylabel="1 − cosine, half-way", ylim=(0, 1.1 * float(sweep.gap_high.max())))
    points = {name: WithQuartiles(left, places + shift, colour, marker, label) for (name, (colour, _, marker, label)), shift in zip(_LINES.items(), (0, 0.15))}
    ours = WithQuartiles(left, places - 0.15, RED, "s", "labels shuffled")
    means = sweep.gap_mean.mean("layer")
    right.set(xlabel="share of shuffled labels in pretraining", ylabel="1 − cosine, mean over the layers", xlim=(-0.05, 1.05), ylim=(0, 1.1 * float(means.max())))
    curve = right.plot([], [], color=RED, marker="s", label="labels shuffled", animated=True)[0]
    flat = {name: right.plot([0, 1], [0, 0], color=colour, linestyle=style, marker="", label=label, animated=True)[0] for name, (colour, style, _, label) in _LINES.items()}
    here = right.axvline(0, color=BLACK, linewidth=1, marker="", animated=True)
    star = Star(right, prediction, 1.0)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = plotting.moving_titles((left, right))
    of = {(str(start), str(pair)): sweep.sel(start=start, pair=pair) for start in sweep.start.values for pair in sweep.pair.values}

    def draw(fraction, pair):
        now = of[fraction_name(fraction), pair]
        ours.set_values(now.gap_mean, now.gap_low, now.gap_high)
        for name, point in points.items():
            point.set_values(*(of[name, pair][f"gap_{part}"] for part in ("mean", "low", "high")))
            flat[name].set_ydata([float(of[name, pair].gap_mean.mean())] * 2)
        curve.set_data(shares, [float(of[fraction_name(share), pair].gap_mean.mean()) for share in shares])
        here.set_xdata([fraction, fraction])
        star.place()
        titles[0].set_text(f"{fraction:.0%} shuffled, {pair}")
        titles[1].set_text(f"Learned {now.learnt.item():.0%} by heart, reads {now.knows.item():.0%}")
        return (f"{pair.capitalize()}, {fraction:.2f} of the labels shuffled: the network learned {now.learnt.item():.0%} of its {PRETRAIN_IMAGES} pretraining images "
                f"and reads {now.knows.item():.0%} of "
                f"upright test digits. 1 − cosine half-way, mean over the layers: {now.gap_mean.mean().item():.4f}; normal pretraining "
                f"{of[NORMAL, pair].gap_mean.mean().item():.4f}, "
                f"no pretraining {of[NOTHING, pair].gap_mean.mean().item():.4f}. coef {now.coef_mean.mean().item():.3f}.")

    controls = {"fraction": slider("share of shuffled labels", shares, 1.0), "pair": choice("finetuned on", {PAIRS[1]: PAIRS[1], PAIRS[0]: PAIRS[0]})}
    return controls, fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images."


@still
def figure_12(sweep: xarray.Dataset):
    """Figure 12 of CTL: 1 − cosine half-way and the distribution of coef, pretrained on shuffled labels and normally.

    Ours beside it: true labels learned by heart, and no pretraining.
    """
    layers, pair = list(map(str, sweep.layer.values)), PAIRS[0]
    shown = {fraction_name(1): (RED, "s", "random labels"), NORMAL: (BLUE, "o", "normal"), fraction_name(0): (GREY, "^", "same few images, true labels (ours)"),
             NOTHING: (GREEN, "D", "no pretraining (ours)")}
    fig, (left, right) = plotting.figure(2, height=3.9)
    places = np.arange(len(layers))
    for (start, (colour, marker, label)), shift in zip(shown.items(), (-0.27, -0.09, 0.09, 0.27)):
        here = sweep.sel(start=start, pair=pair)
        WithQuartiles(left, places + shift, colour, marker, label, animated=False).set_values(here.gap_mean, here.gap_low, here.gap_high)
        for place, layer in zip(places, layers):
            one = here.sel(layer=layer)
            violin(right, place + shift, one.bin.values, one.coef_count.values, one.coef_median.item(), colour, width=0.08)
    left.set(ylabel="1 − cosine, half-way", ylim=(0, 1.08 * float(sweep.gap_high.sel(start=list(shown), pair=pair).max())), title="Direction")
    right.set(ylabel="coef, half-way", ylim=(0.5, 1.2), title="Length")
    right.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
    for ax in (left, right):
        layer_ticks(ax, layers)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    said = "; ".join(f"{label} gap {sweep.gap_mean.sel(start=start, pair=pair).mean().item():.4f}, coef "
                     f"{sweep.coef_mean.sel(start=start, pair=pair).mean().item():.3f}" for start, (_, _, label) in shown.items())
    return plotting.show(fig, f"Half-way between two networks finetuned on one task in two ways, mean over the layers: {said}.",
                         caption(sweep) + " Left: mean and quartiles over the images; right: distribution, line: median.")


def what_was_learned(sweep: xarray.Dataset) -> Page:
    """What each start knew and how far it had gone, as a table."""
    rows = [(str(start), *(float(sweep[name].sel(start=start)) for name in ("learnt", "knows", "moved", "curvature"))) for start in sweep.start.values]
    text = "; ".join(f"{name}: {learnt:.0%} of its pretraining labels, {knows:.0%} of upright test digits, moved {moved:.1f}, λmax "
                     f"{curvature:.1f}" for name, learnt, knows, moved, curvature in rows)
    return table(("pretraining", "its own labels right", "upright test digits right", "distance from the random start", "λ<sub>max</sub> of the new tasks' loss"),
                 [(name, f"{learnt:.0%}", f"{knows:.0%}", f"{moved:.1f}", f"{curvature:.1f}") for name, learnt, knows, moved, curvature in rows], text)


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before the panel."""
    gap = sweep.gap_mean.sel(start=NORMAL, pair=PAIRS[1]).mean().item()
    return (f"Two tasks. After <b>normal</b> pretraining the gap, 1 − cosine, is {gap:.3f}, mean over the layers. What is it when all labels of the pretraining were "
            f"shuffled?")


def reading_of_figure_12(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 12 of CTL and ours, with this sweep's numbers."""
    random, true, nothing = ([experiment.over_normal(sweep, pair, start) for pair in PAIRS] for start in (fraction_name(1), fraction_name(0), NOTHING))
    accuracy = sweep.own_accuracy.mean("end").sel(pair=PAIRS[1])
    by_heart = sweep.curvature.sel(start=list(map(fraction_name, fractions(sweep)))) / sweep.curvature.sel(start=NORMAL)
    text = (f"{'Agrees' if random[0] > 2 and random[1] > 1.5 else 'Does not agree here'}: after pretraining on random labels the gap is {random[0]:.0f} times that "
            f"after normal pretraining for one task learned in two "
            f"ways, and {random[1]:.1f} times for two tasks. Differs: the same few images learned by heart with their <i>true</i> labels give {true[0]:.0f} and "
            f"{true[1]:.1f} times. And with no pretraining at all, from one "
            f"random start, it is {nothing[0]:.1f} and {nothing[1]:.1f} times, for networks that are less accurate ({accuracy.sel(start=NOTHING).item():.2f} on their "
            f"own task against {accuracy.sel(start=NORMAL).item():.2f}). So a lack "
            "of common knowledge is not what hurts here. A start that learned something by heart does: there the loss "
            f"of the new tasks is {by_heart.min().item():.1f} to {by_heart.max().item():.1f} times as sharply curved "
            "as at the normal one.")
    plain = text.replace("<i>", "").replace("</i>", "")
    return Page(plain, f"<p><b>Figure 12 of CTL, and ours.</b> {text}</p>")
