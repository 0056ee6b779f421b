"""The pictures of shuffled labels: one panel, and the source's Figure 12 redrawn from our measurement."""
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, agrees, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, GREEN, GREY, RED, WithQuartiles, layer_ticks, still
from lessons.kit.predict import Star
from lessons.kit.sweep import caption
from lessons.pretraining.experiment import labels as experiment
from lessons.pretraining.experiment.labels import NORMAL, NOTHING, PAIRS, PRETRAIN_IMAGES, fraction_name, fractions
from lessons.pretraining.panels.starts import QUARTILES, half_way, name_axes

SHUFFLED = Look(RED, "s")
LOOKS = {NORMAL: Look(BLUE, "o", "--"), NOTHING: Look(GREEN, "D", ":")}
_LABELS = {NORMAL: "normal pretraining", NOTHING: "no pretraining, one random start"}


# -- panel (c): the share of shuffled labels -------------------------------------------------------

@panel
def shuffled(sweep: xarray.Dataset, prediction=None):
    """Panel (c): the gap per layer after pretraining with a share of shuffled labels; right, its mean over the layers
    against that share.

    Controls: fraction, pair. The prediction, the mean gap at fraction 1 for two tasks, is a star on the right.
    """
    fig, (left, right) = plotting.figure(2, height=4.2)
    shares = fractions(sweep)
    ours, points = _layers(left, sweep)
    means, flat, at_share = _means(right, sweep)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = moving_titles((left, right))
    of = {(str(start), str(pair)): sweep.sel(start=start, pair=pair)
          for start in sweep.start.values for pair in sweep.pair.values}
    gap = {which: one.gap_mean.mean().item() for which, one in of.items()}
    asked = {"pair": PAIRS[1], "fraction": 1.0}
    star = Star(right, prediction, 1.0, gap[fraction_name(1.0), PAIRS[1]], asked)

    def draw(fraction, pair):
        now = of[fraction_name(fraction), pair]
        ours.set_values(now.gap_mean, now.gap_low, now.gap_high)
        for name, point in points.items():
            other = of[name, pair]
            point.set_values(other.gap_mean, other.gap_low, other.gap_high)
            flat[name].set_data([0, 1], [gap[name, pair]] * 2)
        means.set_data(shares, [gap[fraction_name(share), pair] for share in shares])
        at_share.set_xdata([fraction, fraction])
        star.place(fraction=fraction, pair=pair)
        titles[0].set_text(f"{fraction:.0%} shuffled, {pair}")
        titles[1].set_text(f"Learned {now.learnt.item():.0%} by heart, reads {now.knows.item():.0%}")
        return _said(fraction, pair, now, gap)

    pairs = {PAIRS[1]: PAIRS[1], PAIRS[0]: PAIRS[0]}
    controls = {"fraction": slider("share of shuffled labels", shares, 1.0), "pair": choice("finetuned on", pairs)}
    return controls, fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images."


def _layers(ax, sweep):
    """The layers' gaps with quartiles: after shuffled labels, and {start: of the two others}."""
    places = layer_ticks(ax, list(map(str, sweep.layer.values)))
    ax.set(ylabel="1 − cosine, half-way", ylim=(0, 1.1 * float(sweep.gap_high.max())))
    points = {}
    for name, shift in ((NORMAL, 0), (NOTHING, 0.15)):
        look = LOOKS[name]
        points[name] = WithQuartiles(ax, places + shift, look.colour, look.marker, _LABELS[name])
    return WithQuartiles(ax, places - 0.15, SHUFFLED.colour, SHUFFLED.marker, "labels shuffled"), points


def _means(ax, sweep):
    """The curve over the shares, the others' levels, and where the slider stands."""
    highest = float(sweep.gap_mean.mean("layer").max())
    ax.set(xlabel="share of shuffled labels in pretraining", ylabel="1 − cosine, mean over the layers",
           xlim=(-0.05, 1.05), ylim=(0, 1.1 * highest))
    means = curve(ax, SHUFFLED, "labels shuffled")
    flat = {name: curve(ax, look, _LABELS[name], marker="") for name, look in LOOKS.items()}
    return means, flat, here(ax, 0)


def _said(fraction, pair, now, gap):
    return said("""{which}, {fraction:.2f} of the labels shuffled: the network learned {learnt:.0%} of its {images}
                   pretraining images and reads {knows:.0%} of upright test digits. 1 − cosine half-way, mean over
                   the layers: {gap:.4f}; normal pretraining {normal:.4f}, no pretraining {nothing:.4f}. coef
                   {coef:.3f}.""",
                which=pair.capitalize(), fraction=fraction, images=PRETRAIN_IMAGES,
                learnt=now.learnt.item(), knows=now.knows.item(), coef=now.coef_mean.mean().item(),
                gap=gap[fraction_name(fraction), pair], normal=gap[NORMAL, pair], nothing=gap[NOTHING, pair])


# -- the source's figure ---------------------------------------------------------------------------

@still
def figure_12(sweep: xarray.Dataset):
    """Figure 12 of CTL: 1 − cosine half-way and the distribution of coef, pretrained on shuffled labels and normally.

    Ours beside it: true labels learned by heart, and no pretraining.
    """
    shown = {fraction_name(1): (SHUFFLED, "random labels"),
             NORMAL: (LOOKS[NORMAL], "normal"),
             fraction_name(0): (Look(GREY, "^"), "same few images, true labels (ours)"),
             NOTHING: (LOOKS[NOTHING], "no pretraining (ours)")}
    part = sweep.sel(start=list(shown), pair=PAIRS[0])
    fig, (left, right) = plotting.figure(2, height=3.9)
    means = []
    for (start, (look, label)), shift in zip(shown.items(), (-0.27, -0.09, 0.09, 0.27)):
        one = part.sel(start=start)
        half_way(left, right, one, shift, look, label, width=0.08)
        means.append(f"{label} gap {one.gap_mean.mean().item():.4f}, coef {one.coef_mean.mean().item():.3f}")
    layers = list(map(str, sweep.layer.values))
    name_axes(left, right, layers, highest=float(part.gap_high.max()), coef=(0.5, 1.2))
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    alt = ("Half-way between two networks finetuned on one task in two ways, mean over the layers: "
           f"{'; '.join(means)}.")
    return plotting.show(fig, alt, caption(sweep) + QUARTILES)


# -- in words --------------------------------------------------------------------------------------

def what_was_learned(sweep: xarray.Dataset) -> Page:
    """What each start knew and how far it had gone, as a table."""
    rows, lines = [], []
    for name in map(str, sweep.start.values):
        start = sweep.sel(start=name)
        cells = (f"{start.learnt.item():.0%}", f"{start.knows.item():.0%}", f"{start.moved.item():.1f}",
                 f"{start.curvature.item():.1f}")
        rows.append((name, *cells))
        lines.append("{}: {} of its pretraining labels, {} of upright test digits, moved {}, λmax {}".format(*rows[-1]))
    head = ("pretraining", "its own labels right", "upright test digits right", "distance from the random start",
            "λ<sub>max</sub> of the new tasks' loss")
    return table(head, rows, "; ".join(lines))


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before the panel."""
    gap = sweep.gap_mean.sel(start=NORMAL, pair=PAIRS[1]).mean().item()
    return said("""Two tasks. After <b>normal</b> pretraining the gap, 1 − cosine, is {gap:.3f}, mean over the layers.
                   What is it when all labels of the pretraining were shuffled?""", gap=gap)


def reading_of_figure_12(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 12 of CTL and ours, with this sweep's numbers."""
    starts = {"random": fraction_name(1), "true": fraction_name(0), "nothing": NOTHING}
    times = {name: [experiment.over_normal(sweep, pair, start) for pair in PAIRS] for name, start in starts.items()}
    accuracy = sweep.own_accuracy.mean("end").sel(pair=PAIRS[1])
    by_heart = list(map(fraction_name, fractions(sweep)))
    curved = sweep.curvature.sel(start=by_heart) / sweep.curvature.sel(start=NORMAL)
    found = reading("Figure 12 of CTL, and ours", """
        {agrees}: after pretraining on random labels the gap is {random[0]:.0f} times that after normal pretraining for
        one task learned in two ways, and {random[1]:.1f} times for two tasks. Differs: the same few images learned by
        heart with their <i>true</i> labels give {true[0]:.0f} and {true[1]:.1f} times. And with no pretraining at all,
        from one random start, it is {nothing[0]:.1f} and {nothing[1]:.1f} times, for networks that are less accurate
        ({untaught:.2f} on their own task against {normal:.2f}). So a lack of common knowledge is not what hurts here. A
        start that learned something by heart does: there the loss of the new tasks is {least:.1f} to {most:.1f} times
        as sharply curved as at the normal one.""",
        agrees=agrees(times["random"][0] > 2 and times["random"][1] > 1.5), **times,
        untaught=accuracy.sel(start=NOTHING).item(), normal=accuracy.sel(start=NORMAL).item(),
        least=curved.min().item(), most=curved.max().item())
    return Page(found.text.replace("<i>", "").replace("</i>", ""), found.page)
