"""Panel (e): one budget spent in one merge or in many small ones."""
import numpy as np
import xarray

from lessons.gradients.experiment import epochs, rounds
from lessons.gradients.experiment.epochs import DIGITS, SGD
from lessons.gradients.experiment.rounds import BUDGET, METHODS, SPENT
from lessons.gradients.panels.epochs import images_of
from lessons.gradients.panels.plane import on_map
from lessons.kit import plotting
from lessons.kit.noise import APART, Difference, reach, with_reach
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import BLACK, GREEN, ORANGE, PURPLE, RED, still
from lessons.kit.sweep import caption, names
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Line,
    Map,
    Path,
    Reference,
    Spots,
    Star,
    chips,
    key,
    slider,
    view,
)
from lessons.merging.search import rests_on

_ALT = """
    {rounds} of finetuning and averaging with {whole} epochs of each task in all: accuracy {end:.3f} ± {sure:.3f} at the
    end; {all_rounds}. One merge after {budget} epoch{s}: {once}. Joint training ends at {joint:.3f}. The map's two
    components carry {first:.0%} and {second:.0%} of the variance."""

NAMES = {1: "one", 2: "two", 5: "five", 10: "ten"}  # numbers of rounds


@view
def many_merges(sweep: xarray.Dataset, prediction=None, methods=METHODS):
    """Panel (e): accuracy after the whole budget against the number of rounds, beside single merges; right, the merged
    networks in the plane of their two principal components, on the loss of all tasks.

    Args:
        methods: of the single merges. If there is more than the average, a control says after how many epochs.

    Controls: rounds, budget (epochs of each task before the single merges). The prediction, the accuracy after ten
    rounds, is a star.
    """
    others = [name for name in methods if name != "average"]
    counts, images = [int(number) for number in sweep.rounds.values], images_of(sweep, rounds)
    ends, joint = sweep.accuracy.sel(scale=1.0).isel(spent=-1).values, sweep.joint_accuracy.values[-1]
    asked = {"rounds": counts[-1]}
    if prediction:
        prediction.panel_answers(ends[-1], asked)
    place = {(name, int(spent)): point for name, spent, point in
             zip(names(sweep.name), sweep.point_spent.values, on_map(sweep, sweep.place.values).T)}
    loss, start = sweep["map"].values[::-1], place["pretrained", 0]

    def draw(rounds, budget=BUDGET):
        row = counts.index(rounds)
        path = [start, *(point for (name, _), point in place.items() if name == f"{rounds} rounds")]
        once = {name: sweep.how_accuracy.sel(how=name, budget=budget).item() for name in methods}
        values = {"many": ends, "once": ([1], ends[:1]), "sure": with_reach(ends, images)[1:],
                  "joint": joint, "loss": loss, "path": np.transpose(path), "end": path[-1][:, None],
                  "start": start[:, None], "joint there": place["joint", BUDGET][:, None]}
        values |= {name: ([1], [once[name]]) for name in others}
        values |= {f"{name} there": place[name, budget][:, None] for name in methods}
        first, second = sweep.explained.values
        alt = said(_ALT, rounds=_words(rounds), whole=BUDGET, end=ends[row], sure=reach(ends[row], images), joint=joint,
                   all_rounds=", ".join(f"{count} {end:.3f}" for count, end in zip(counts, ends)), budget=budget,
                   s="s" * (budget > 1), once=", ".join(f"{name} {accuracy:.3f}" for name, accuracy in once.items()),
                   first=first, second=second)
        return Frame(finding_of_rounds(rounds, ends[row], ends[0], joint, images), alt, values,
                     key(("merged", "Finetune, average, repeat"), ("single", "Joint training"),
                         ("", "grey: one merge, by four methods" if others else "grey, right: one average at the end")))

    after = {"budget": chips("single merges after epochs", {f"{spent}": spent for spent in SPENT}, BUDGET)}
    return {"kicker": "Chapter 6: how often to merge", "charts": _charts(sweep, counts, methods), "draw": draw,
            "controls": {"rounds": slider("rounds", counts, counts[-1], words=_words), **(after if others else {})},
            "hides": ["many", "sure", "joint", *others, "path", "end", "joint there"],
            "caption": f"{caption(sweep)} Every round merges with α = 1/T. Band: two standard errors, {APART}."}


def _charts(sweep, counts, methods):
    """Accuracy over the rounds, and the plane."""
    low, high = float(sweep.how_accuracy.min()), max(float(sweep.joint_accuracy.max()), float(sweep.accuracy.max()))
    left = Chart(Axis("rounds", counts[0], counts[-1], "log", {count: f"{count}" for count in counts}),
                 Axis("accuracy on all six tasks", low - 0.03, high + 0.03, unit="percent"),
                 (Reference("joint", "single", "joint"),
                  *(Spots(name, "other", names=(name,)) for name in methods if name != "average"),
                  Spots("once", "merged"), Band("sure", "merged"), Line("many", "merged", dots=True, near=True),
                  Star("guess", "merged", x=(counts[-1],)), Handle("rounds")))
    loss = sweep["map"].values
    scale = {"low": np.floor(10 * loss.min()) / 10, "high": np.ceil(10 * np.quantile(loss, 0.9)) / 10}
    right = Chart(Axis("", 0, 1, ticks={0: ""}), Axis("loss on all six tasks", 0, 1, ticks={0: ""}),
                  (Map("loss", **scale), Path("path", "merged"), Spots("start", "other", names=("pretrained",)),
                   *(Spots(f"{name} there", "other", names=(name,)) for name in methods),
                   Spots("joint there", "single"), Spots("end", "merged")))
    return [left, right]


def _words(count):
    """So many rounds."""
    return f"{count} round{'s' * (count > 1)}"


def finding_of_rounds(rounds: int, end: float, once: float, joint: float, images: int) -> str:
    """How far so many rounds come between one merge and joint training, in one sentence. Accuracies, on so many
    images."""
    gain, behind = Difference.of(end, once, images), Difference.of(joint, end, images)
    if rounds == 1:
        return "Merged once, the networks stay behind joint training" if behind.is_news and behind.value > 0 else \
            "One merge is as good as joint training, within the noise"
    if not (gain.is_news and gain.value > 0):
        return "So many rounds are no better than one merge, within the noise"
    if behind.is_news and behind.value > 0:
        return "Merged more than once, the networks come closer to joint training"
    return "Merged often, the networks are as good as joint training, within the noise"


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (e)."""
    once = float(sweep.how_accuracy.sel(how="average", budget=BUDGET))
    return said("""Six networks are finetuned for ten epochs and averaged once. The average has accuracy {once:.2f} on
                   all six tasks. Now average after every single epoch and go on from the average, ten times. How
                   accurate is the last average?""", once=once)


def reading_of_many_merges(sweep: xarray.Dataset, trained: xarray.Dataset | None = None) -> Page:
    """What more rounds gain at one budget, and how far the last average is from joint training.

    Args:
        trained: the sweep of `experiment.epochs`, for one merge at its best scale after as many epochs.
    """
    ends, images = sweep.accuracy.sel(scale=1.0).isel(spent=-1).values, images_of(sweep, rounds)
    joint = float(sweep.joint_accuracy[-1])
    gain, behind = Difference.of(ends[-1], ends[0], images), Difference.of(joint, ends[-1], images)
    title = "For the same number of epochs, many small merges were better than one" if gain.is_news and gain.value > 0 \
        else "Are many small merges better than one?"
    sentences = [said("""Merged once, the six networks made one with an accuracy of {once:.0%}, and merged ten times
        {many:.0%}.""", once=ends[0], many=ends[-1])]
    if (np.diff(ends) > 0).all():
        sentences.append(_risen(sweep.rounds.values, ends, images))
    if trained is not None:
        scaled = epochs.chosen(trained).accuracy.sel(data=DIGITS, optimiser=SGD, epochs=BUDGET)
        sentences.append(f"One merge at its best scale had {float(scaled):.0%} in the last section.")
    doubt = "the difference is within the noise" if not behind.is_news else \
        f"that is {'more' if behind.value > 0 else 'less'} than ten rounds had"
    sentences.append(f"Joint training had {joint:.0%}, and {doubt}.")
    return reading(title, " ".join(sentences))


def _risen(counts, ends, images):
    """That the accuracy rose with every number of rounds, and between which numbers that is within the noise."""
    steps = zip(zip(counts, counts[1:]), zip(ends, ends[1:]))
    doubtful = [f"from {NAMES[int(few)]} to {NAMES[int(many)]}" for (few, many), (before, after) in steps
                if not Difference.of(after, before, images).is_news]
    doubt = f", though {' and '.join(doubtful)} within the noise" if doubtful else ""
    return f"The accuracy rose with every number of rounds that we tried{doubt}."


@still
def by_hand(distances: dict[int, float]):
    """How far the merged network is from joint training, against the number of merges: {merges: distance}."""
    fig, ax = plotting.figure(height=3.0, width=6.4)
    ax.plot(range(len(distances)), list(distances.values()), color=GREEN, marker="^")
    ax.set_xticks(range(len(distances)), [f"{count}" for count in distances])
    ax.set(xlabel="merges during the same number of steps", ylabel="distance to joint training", ylim=(0, None))
    told = ", ".join(f"{count} {distance:.2g}" for count, distance in distances.items())
    return plotting.show(fig, f"Distance to joint training by the number of merges: {told}.",
                         "Computed by the cell above, on four tasks of Spirals. Horizontal axis not to scale.")


# -- one basin? ------------------------------------------------------------------------------------

_LINES = dict(zip(rounds.PAIRS, ((BLACK, "o", "-"), (GREEN, "^", "-"), (ORANGE, "v", "-"), (RED, "D", "-"),
                                 (PURPLE, "P", ":"))))  # colour, marker, line
_LENGTHS = {rounds.GIVEN: "scales as in the panel", rounds.CHOSEN: "scales chosen on held-out images"}


@still
def lines(sweep: xarray.Dataset):
    """The loss on the line between two merges, at the lengths of the panel and at those that held-out images prefer;
    beside two merges whose networks began from different pretrained networks."""
    fig, axes = plotting.figure(2, height=4.0, sharey=True)
    told = []
    for ax, lengths in zip(axes, names(sweep.lengths)):
        for pair, (colour, marker, style) in _LINES.items():
            name = rounds.pair_name(*pair)
            loss = sweep.line.sel(lengths=lengths, pair=name)
            ax.plot(loss.along, loss, color=colour, marker=marker, linestyle=style, markersize=5, linewidth=1.5,
                    label=name)
            told.append(f"{name}, {lengths}, highest {float(loss.max()):.2f}")
        ax.set(xlabel="share of the second", title=_LENGTHS[lengths])
    axes[0].set_ylabel("loss on all six tasks (nats)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    chosen = ", ".join(f"{how} {float(value):g}" for how, value in zip(sweep.how.values, sweep.chosen.values))
    remarks = said("""The loss on the line between two merges, on {some} test images a task. Scales chosen, where 1 is
                      that of the panel: {chosen}.""", some=rounds.SOME, chosen=chosen)
    return plotting.show(fig, f"Loss on lines between merges: {'; '.join(told)}.",
                         f"{caption(sweep)} {remarks} {rests_on(sweep)}")


def reading_of_figure_4(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 4 of TVG and ours, with this sweep's numbers."""
    numbers = rounds.claim_10(sweep)
    barriers = [numbers[f"{prefix}{pair}_barrier"] for prefix in ("", "chosen_")
                for pair in ("ties_breadcrumbs", "ties_average", "breadcrumbs_average", "dare_average")]
    return reading("Figure 4 of Zhou, Solombrino et al., and ours", """
        In units of the average's distance from the pretrained network, after ten epochs: TIES and Breadcrumbs lie
        {ties_breadcrumbs:.2f} apart, with scales chosen on held-out images {chosen_ties_breadcrumbs:.2f}; the cosine of
        their task vectors, {ties_breadcrumbs_cosine:.2f}, does not depend on the scale. DARE lies {dare_nearest:.2f}
        from the nearest. But on none of these lines does the loss rise above the straight line between its ends by more
        than {most:.2f} nats; between averages of two different pretrained networks it rises by {strangers_barrier:.2f}.
        The path of ten small steps ends at a loss of {path_loss:.2f}, and joint training at {joint_loss:.2f}. The best
        single merge has {best_of_all:.2f}: the least of all four methods, at the panel's scales after any number of
        epochs there, or after ten at any scale tried. These losses are on all test images, and those of the picture on
        fewer.""",
                   most=max(barriers), best_of_all=min(numbers["best_single_loss"], numbers["best_scaled_loss"]),
                   **numbers)
