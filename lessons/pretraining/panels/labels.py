"""The pictures of shuffled labels: one view, what explains it, and the source's Figure 12 redrawn from our
measurement."""
import numpy as np
import xarray
from matplotlib.ticker import LogLocator, NullFormatter

from lessons.kit import claims, plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Markup, Page, agrees, folded, minus, paragraph, reading, said, table
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, Look, still
from lessons.kit.sweep import caption, names
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, percent, slider, view
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
from lessons.pretraining.panels.starts import ABOUT, QUARTILES, half_way, name_axes

SHUFFLED = Look(RED, "s")
TRUE = Look(GREY, "^")  # by heart, with true labels
LOOKS = {NORMAL: Look(BLUE, "o", "--"), NOTHING: Look(GREEN, "D", ":")}
_LABELS = {NORMAL: "normal pretraining", NOTHING: "no pretraining, one random start"}


# -- panel (d): the share of shuffled labels -------------------------------------------------------

WORSE = 1.5  # times the gap from normal pretraining, from which it is called larger
_OF_PAIR = dict(zip(PAIRS, ("For one task", "For two tasks")))


@view
def shuffled(sweep: xarray.Dataset, prediction=None):
    """Panel (d): the gap half-way, mean over the layers, after learning images by heart with a share of their labels
    shuffled, beside normal pretraining and none; right, what these starts know of upright digits.

    Controls: fraction, pair. The prediction, the gap at fraction 1 for two tasks, is a star.
    """
    shares, starts = fractions(sweep), names(sweep.start)
    gaps, low, high = ({pair: dict(zip(starts, sweep[name].sel(pair=pair).mean("layer").values)) for pair in PAIRS}
                       for name in ("gap_mean", "gap_low", "gap_high"))
    learnt, knows = (dict(zip(starts, sweep[name].values)) for name in ("learnt", "knows"))
    asked = {"pair": PAIRS[1], "fraction": 1.0}
    if prediction:
        prediction.panel_answers(gaps[PAIRS[1]][fraction_name(1.0)], asked)

    def by_heart(of_starts):
        return np.array([of_starts[fraction_name(share)] for share in shares])

    def draw(fraction, pair):
        start, gap = fraction_name(fraction), gaps[pair]
        values = {"gap": by_heart(gap), "middle half": (by_heart(low[pair]), by_heart(high[pair])),
                  "normal": gap[NORMAL], "none": gap[NOTHING], "knows": by_heart(knows),
                  "normal knows": knows[NORMAL]}
        alt = said(_ALT, which=pair.capitalize(), fraction=fraction, images=PRETRAIN_IMAGES, learnt=learnt[start],
                   knows=knows[start], gap=gap[start], normal=gap[NORMAL], nothing=gap[NOTHING],
                   coef=sweep.coef_mean.sel(start=start, pair=pair).mean().item())
        about = key(("merged", f"{PRETRAIN_IMAGES} images by heart, {percent(fraction)} of the labels shuffled"),
                    ("", "grey: normal pretraining, and none"))
        return Frame(finding_of_starts(pair, by_heart(gap) / gap[NORMAL]), alt, values, about)

    return {"kicker": "Chapter 5: knowledge that means nothing",
            "tries": ("Move the slider to the left end, where all labels are true. Is the gap smaller there?",
                      "Compare the two grey lines in the first chart."),
            "charts": _charts(shares, sweep), "draw": draw,
            "controls": {"fraction": slider("shuffled", {percent(share): share for share in shares}, 1.0,
                                            words=lambda share: f"{percent(share)} shuffled",
                                            ends=[("", "true labels"), ("", "random labels")]),
                         "pair": chips("finetuned on", PAIRS[::-1])},
            "hides": ["gap", "middle half", "none", "knows"],
            "caption": caption(sweep) + " Band: mean over the layers of the quartiles over the images."}


_ALT = """
    {which}, {fraction:.2f} of the labels shuffled: the network learned {learnt:.0%} of its {images} pretraining images
    and classifies {knows:.0%} of upright test digits correctly. 1 − cosine half-way, mean over the layers: {gap:.4f};
    normal pretraining {normal:.4f}, no pretraining {nothing:.4f}. coef {coef:.3f}."""


def _charts(shares, sweep):
    """The gap, and the accuracy on upright digits, over the share of shuffled labels."""
    across = Axis("labels shuffled", 0, 1, ticks={share: percent(share) for share in shares})
    least = float(min(sweep[name].mean("layer").min() for name in ("gap_low", "gap_mean")))
    most = float(sweep.gap_high.mean("layer").max())
    powers = {10.0 ** power: f"{10.0 ** power:g}" for power in range(-6, 1) if least / 2 <= 10.0 ** power <= 6 * most}
    left = Chart(across, Axis("gap half-way: 1 − cosine", least / 2, 6 * most, "log", ticks=powers, digits=4),
                 (Reference("none", "other", "none"), Reference("normal", "other", "normal"),
                  Band("middle half", "merged", x=tuple(shares)),
                  Line("gap", "merged", "by heart", x=tuple(shares), dots=True, near=True),
                  Star("guess", "merged", x=(1.0,)), Handle("fraction")))
    right = Chart(across, Axis("the start’s accuracy on upright digits", 0, 1, unit="percent"),
                  (Reference("normal knows", "other", "normal"),
                   Line("knows", "merged", "by heart", x=tuple(shares), dots=True, bare=True), Handle("fraction")))
    return [left, right]


def finding_of_starts(pair: str, times: np.ndarray) -> str:
    """Whether images learned by heart leave a larger gap. times: (shares of shuffled labels,), rising, the gap over
    that from normal pretraining."""
    larger = times > WORSE
    random_alone = larger[-1] and not larger[0]
    if not larger.any():
        leave = "leave hardly a larger gap"
    elif larger.all():
        leave = "leave a larger gap, whatever their labels"
    else:
        leave = f"leave a larger gap with {'random' if random_alone else 'some'} labels, hardly with " \
                f"{'true ones' if random_alone else 'others'}"
    return f"{_OF_PAIR[pair]}, images learned by heart {leave}"


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
    last the gap at equal distance. Below, the rank correlation of the gap with the curvature along the line."""
    rows = {pair: [] for pair in PAIRS}
    for pair in PAIRS:
        for name in names(sweep.start):
            part = sweep.sel(start=name, pair=pair)
            rows[pair].append((name, f"{part.gap_mean.mean().item():.5f}", f"{part.curvature.item():.1f}",
                               minus(f"{part.along.item():+.2f}"), f"{part.distance.item():.2f}",
                               f"{part.equal_gap.mean().item():.5f}"))
    head = ("gap", Markup("λ<sub>max</sub> at the start"),
            "curvature along the line, half-way",
            "distance ‖θᵢ − θⱼ‖", "gap at the normal pair's distance")
    gap = sweep.gap_mean.mean("layer")
    ranks = [_rank_correlation(gap.sel(pair=pair), sweep.along.sel(pair=pair)) for pair in PAIRS]
    more = said("""Over the starts, the rank correlation of the gap with the curvature along the line is {} for one task
                   and {} for two tasks.""".format(*(minus(f"{rank:+.1f}") for rank in ranks)))
    return _by_pair(head, rows, paragraph(more))


def _by_pair(head, rows, after=""):
    """A table of the pairs that learned one task and, folded, the same of two tasks; the first column is headed by the
    pair."""
    single, double = (table((f"{pair}: pretraining", *head), of_pair) for pair, of_pair in rows.items())
    more = folded(f"The same for {list(rows)[1]}", double)
    return Page(f"{single.text}\n{more.text}", Markup("{}{}{}").format(single.page, after, more.page))


def _rank_correlation(*values):
    """Spearman's, of two lists of different numbers."""
    return np.corrcoef([np.argsort(np.argsort(of_one)) for of_one in values])[0, 1]


def gently(sweep: xarray.Dataset) -> Page:
    """The gap after finetuning in long steps and in short ones, as a table."""
    rows = {pair: [] for pair in PAIRS}
    for pair in PAIRS:
        for name in names(sweep.start):
            part = sweep.sel(start=name, pair=pair)
            if np.isfinite(part.gentle_distance):
                usual = f"{part.gap_mean.mean().item():.5f}", f"{part.distance.item():.2f}"
                gentle = f"{part.gentle_gap.mean().item():.5f}", f"{part.gentle_distance.item():.2f}"
                accuracy = f"{part.own_accuracy.mean().item():.3f}, {part.gentle_accuracy.item():.3f}"
                rows[pair].append((name, *usual, *gentle, accuracy))
    head = ("gap, usual steps", "distance", "gap, steps a tenth as long", "distance",
            "mean accuracy of the two networks on their own tasks, usual steps and short ones")
    return _by_pair(head, rows)


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
        ax.set(xscale="log", yscale="log", xlabel="distance between the weights of A and B", title=pair.capitalize())
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("gap: 1 − cosine, half-way")
    handles, starts_shown = axes[0].get_legend_handles_labels()
    once = dict(zip(starts_shown, handles))
    fig.legend(once.values(), once.keys(), loc="outside lower center", ncols=3)
    return plotting.show(fig, "; ".join(each) + ".",
                         caption(sweep) + " Hollow: moved until they are as far apart as the normal pair.")


# -- the lesson's readings, and the picture of short steps ------------------------------------------

_SHOWN = {"random": fraction_name(1), "true": fraction_name(0), "normal": NORMAL}
AS_ACCURATE = 0.02  # networks whose accuracies differ by less are about as accurate


def reading_of_by_heart(sweep: xarray.Dataset) -> Page:
    """For two tasks, the gap after images learned by heart, and after no pretraining, beside normal pretraining."""
    starts = _SHOWN | {"nothing": NOTHING}
    times = {name: labels.over_normal(sweep, PAIRS[1], start) for name, start in starts.items()}
    shares = (sweep.gap_mean / sweep.own_mean).sel(pair=PAIRS[1]).mean("layer")
    share = {name: shares.sel(start=start).item() for name, start in _SHOWN.items()}
    by_heart = np.array([labels.over_normal(sweep, PAIRS[1], fraction_name(share)) for share in fractions(sweep)])
    accuracy = sweep.own_accuracy.mean("end").sel(pair=PAIRS[1])
    untaught, normal = accuracy.sel(start=NOTHING).item(), accuracy.sel(start=NORMAL).item()
    less = ", but such networks were less accurate"
    alike = ("larger than" if times["nothing"] > ABOUT else "smaller than" if times["nothing"] < 1 / ABOUT
             else "about as large as")
    return reading(finding_of_starts(PAIRS[1], by_heart), f"""
        The gap was {{times[random]:.1f}} times that after normal pretraining if the labels were random, and
        {{times[true]:.1f}} times if they were true. {_over_the_seeds()} As a share of the distance between A’s and B’s
        features it was {{share[random]:.0%}} with random labels and {{share[true]:.0%}} with true ones, and
        {{share[normal]:.0%}} after normal pretraining. With no pretraining at all the gap was {alike} after normal
        pretraining{less if untaught < normal - AS_ACCURATE else ""}.""", times=times, share=share)


def _over_the_seeds():
    """What the ledger's seeds have in the mean, where random and true labels have about the same."""
    ratios = [np.array(claims.measured()["CTL-15"][f"two_tasks_{name}_over_normal"]) for name in ("shuffled", "true")]
    random, true = (f"{of_name.mean():.0f}" for of_name in ratios)
    if random != true or Difference.paired(*ratios).is_news:
        return ""
    seeds = "ten" if len(ratios[0]) == 10 else f"{len(ratios[0])}"
    return f"In the mean over {seeds} seeds it was about {random} times for both."


def removed_by_distance(sweep: xarray.Dataset, pair: str, start: str) -> float:
    """Which share of the gap beyond the normal pair's goes away at the normal pair's distance."""
    of_pair = sweep.sel(pair=pair)
    gap, equal = (of_pair[name].sel(start=start).mean().item() for name in ("gap_mean", "equal_gap"))
    return (gap - equal) / (gap - of_pair.gap_mean.sel(start=NORMAL).mean().item())


def reading_of_distance(sweep: xarray.Dataset) -> Page:
    """How much of the additional gap after images learned by heart goes away at the normal pair's distance."""
    removed = {pair: {name: removed_by_distance(sweep, pair, _SHOWN[name]) for name in ("random", "true")}
               for pair in PAIRS}
    single, double = removed.values()
    nearly_all, part = min(single.values()) > 0.9, 0.1 < min(double.values()) <= max(double.values()) < 0.9
    title = ("For one task nearly all of the additional gap goes away with the distance, for two tasks a part"
             if nearly_all and part else "How much of the gap goes with the distance?")
    of_one = sweep.sel(pair=PAIRS[0])
    left = (of_one.equal_gap.sel(start=_SHOWN["random"]).mean() / of_one.gap_mean.sel(start=NORMAL).mean()).item()
    still = f"For one task, random labels still had {left:.1f} times the normal gap there." if left > ABOUT else ""
    return reading(title, """
        At the distance of the normal pair, {single[random]:.0%} of the additional gap after random labels is gone for
        one task, and {single[true]:.0%} of that after true labels. For two tasks it is {double[random]:.0%} and
        {double[true]:.0%}. {still}""", single=single, double=double, still=still)


def reading_of_overshooting(sweep: xarray.Dataset) -> Page:
    """The learning rate times the curvature in the sharpest direction, at each start."""
    rate = labels.recipes(0)[NORMAL]["i"].lr
    products = {name: rate * sweep.curvature.sel(start=start).item()
                for name, start in (_SHOWN | {"nothing": NOTHING}).items()}
    far = min(products["random"], products["true"]) > max(2.0, 2 * products["normal"])
    also = (f"With η = {rate:g} the normal start is too sharp, too, but less so."
            if far and products["normal"] > 2 else "")
    gap = sweep.gap_mean.sel(pair=PAIRS[1]).mean("layer")
    other = ("On two tasks, true labels leave the larger gap all the same."
             if products["true"] < products["random"] and
             gap.sel(start=_SHOWN["true"]) > gap.sel(start=_SHOWN["random"]) else "")
    return reading("After images learned by heart, the first steps are far too long" if far
                   else "How long are the first steps?", """
        At the start, η times the largest curvature was {random:.1f} after random labels and {true:.1f} after true ones.
        After normal pretraining it was {normal:.1f}, and without any {nothing:.2f}. {also} {other}""",
                   also=also, other=other, **products)


@still
def short_steps(sweep: xarray.Dataset):
    """The gap for two tasks after finetuning in the usual steps and in short ones, from three starts."""
    of_pair = sweep.sel(pair=PAIRS[1])
    fig, ax = plotting.figure(width=6.8, height=3.4)
    looks = {"random": (SHUFFLED, "by heart, random labels"), "true": (TRUE, "by heart, true labels"),
             "normal": (LOOKS[NORMAL], "normal pretraining")}
    each = []
    for name, (look, label) in looks.items():
        gaps = [of_pair[steps].sel(start=_SHOWN[name]).mean().item() for steps in ("gap_mean", "gentle_gap")]
        ax.plot([0, 1], gaps, color=look.colour, marker=look.marker, markersize=8, linestyle=":", label=label)
        each.append(f"{label} {gaps[0]:.4f} and {gaps[1]:.4f}")
    ax.set(yscale="log", xlim=(-0.3, 1.3), ylabel="gap: 1 − cosine, half-way")
    ax.set_xticks([0, 1], ["usual steps",
                           f"1/{labels.SHORTER} of the learning rate,\n{labels.GENTLE_PASSES} times as many steps"])
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    ax.yaxis.set_minor_formatter("{x:g}")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
    return plotting.show(fig, f"Gap half-way for two tasks, in usual steps and in short ones: {'; '.join(each)}.",
                         f"{caption(sweep)} Two tasks, mean over the layers.")


def reading_of_short_steps(sweep: xarray.Dataset) -> Page:
    """What short steps do to the gap after images learned by heart, for two tasks."""
    of_pair = sweep.sel(pair=PAIRS[1], start=list(_SHOWN.values()))
    usual, gentle = (dict(zip(_SHOWN, of_pair[name].mean("layer").values)) for name in ("gap_mean", "gentle_gap"))
    lost = (of_pair.own_accuracy.mean("end") - of_pair.gentle_accuracy).max().item()
    more, still = ([gaps[name] - gaps["normal"] for name in ("random", "true")] for gaps in (usual, gentle))
    falls = all(gentle[name] < usual[name] for name in ("random", "true"))
    most = falls and all(before > 0 and after < before / 2 for before, after in zip(more, still))
    sharpest = labels.recipes(0)[NORMAL]["i"].lr / labels.SHORTER * of_pair.curvature.max().item()
    below = "At each of these starts, η times the largest curvature is now below 2." if sharpest < 2 else ""
    by_heart = of_pair.sel(start=[_SHOWN["random"], _SHOWN["true"]])
    closer = bool((by_heart.gentle_distance < by_heart.distance).all())
    as_accurate = "The networks became about as accurate as before." if lost < AS_ACCURATE else ""
    ends = "A and B ended closer to each other." if closer else ""
    larger = ("Normal pretraining had {normal:.4f} in short steps, so random labels still had the larger gap."
              if gentle["random"] > gentle["normal"] else "")
    return reading("Short steps remove most of the additional gap" if most
                   else "Short steps make the gap smaller" if gentle["random"] < usual["random"]
                   else "What short steps do", f"""
        After random labels the gap fell from {{random:.3f}} to {{random_gentle:.4f}}, and after true labels from
        {{true:.3f}} to {{true_gentle:.4f}}. {ends} {below} {as_accurate} {larger}""",
                   random=usual["random"], true=usual["true"], random_gentle=gentle["random"],
                   true_gentle=gentle["true"], normal=gentle["normal"])


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before the panel."""
    gap = sweep.gap_mean.sel(start=NORMAL, pair=PAIRS[1]).mean().item()
    return said("""Two tasks: after **normal** pretraining the gap half-way is {gap:.3f}, mean over the layers. How
                   large is it if the start has learned {images} images with random labels by heart?""",
                gap=gap, images=PRETRAIN_IMAGES)


def reading_of_figure_12(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 12 of CTL and ours, with this sweep's numbers."""
    starts = {"random": fraction_name(1), "true": fraction_name(0), "nothing": NOTHING}
    times = {name: [labels.over_normal(sweep, pair, start) for pair in PAIRS] for name, start in starts.items()}
    accuracy = sweep.own_accuracy.mean("end").sel(pair=PAIRS[1])
    untaught, normal = accuracy.sel(start=NOTHING).item(), accuracy.sel(start=NORMAL).item()
    state = "less accurate" if untaught < normal - AS_ACCURATE else "about as accurate"
    other = min(times["true"]) > ABOUT or max(times["nothing"]) < ABOUT
    so = "So a lack of common knowledge alone does not explain it here." if other else ""
    return reading("Figure 12 of CTL, and ours", Markup("""
        {agrees}: after pretraining on random labels the gap is {random[0]:.0f} times that after normal pretraining for
        one task learned in two ways, and {random[1]:.1f} times for two tasks. Not in the source: the same few images
        learned by heart with their <i>true</i> labels give {true[0]:.0f} and {true[1]:.1f} times. And with no
        pretraining at all, from one random start, it is {nothing[0]:.1f} and {nothing[1]:.1f} times, for networks that
        are {state} ({untaught:.2f} on their own task against {normal:.2f}). {so}"""),
        agrees=agrees(times["random"][0] > 2 and times["random"][1] > 1.5), **times,
        untaught=untaught, normal=normal, state=state, so=so)


def reading_of_the_seeds() -> Page:
    """The gaps after true labels and random ones learned by heart, over the ledger's seeds."""
    ledger = {name: np.array(values) for name, values in claims.measured()["CTL-15"].items()}
    single, double = ([ledger[f"{pair}_{name}_gap"] for name in ("true", "shuffled")] for pair in
                      ("one_task", "two_tasks"))
    leads = [Difference.paired(*gaps) for gaps in (single, double)]
    title = ("The order of true and random labels depends on the seed" if not any(lead.is_news for lead in leads)
             else "True and random labels on our seeds")
    return reading(title, """
        Over our {seeds} seeds, the mean gap for one task was {true:.3f} after true labels and {random:.3f} after random
        ones, a difference {doubt}. It was larger after true labels on {larger} seeds. For two tasks it was
        {true_of_two:.3f} and {random_of_two:.3f}, a difference {doubt_of_two}.""",
                   seeds=len(single[0]), larger=int((single[0] > single[1]).sum()),
                   true=single[0].mean(), random=single[1].mean(), true_of_two=double[0].mean(),
                   random_of_two=double[1].mean(), doubt=_noise(leads[0]), doubt_of_two=_noise(leads[1]))


def _noise(lead):
    """Whether a difference is beyond two standard errors."""
    return "beyond the noise" if lead.is_news else "within the noise"
