"""Stitching: panel (c), features averaged, and panel (d), features with Δ taken away; the source's Figures 9 and 10."""
import math

import numpy as np
import xarray

from lessons.kit.noise import WIDE, Difference, with_reach
from lessons.kit.page import Markup, Page, agrees, paragraph, quiet, reading, said, table
from lessons.kit.sweep import position
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Line,
    Points,
    Reference,
    Spots,
    Star,
    chips,
    key,
    percent,
    slider,
    view,
)
from lessons.lines.panels import in_words
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import ANGLES, LAYERS, PAIRS
from lessons.task_arithmetic.panels.common import CHANCE, OF_LAM, at_least, grid, with_error

KNOWN = 0.5  # accuracy: above it a task is said to be known well
COSTLY = 0.2  # of accuracy, that a loss is called much
MATTERS = 0.5  # of the way from the other task's accuracy to the own one's: from there on a task is called known
_ALT_OF_STITCHING = """
    28 pairs, features put into the pretrained network at {layer}, λ = {lam:.2f}. Mean over pairs: with the average of
    both networks' features {both:.3f}, and {worse:.3f} on the worse of the two tasks; with one network's features
    {own:.3f} on its own task and {other:.3f} on the other, and with those of the better one {single:.3f} on the worse
    of the two tasks. The pretrained network itself has {before:.3f}."""


# -- panel (c) -------------------------------------------------------------------------------------

@view
def stitching(sweep: xarray.Dataset):
    """Panel (c): Figure 9 of CTL, one dot a pair and kind of features; right, the mean over pairs against λ. Controls:
    lam, layer."""
    lams = grid(sweep.step)
    by_layer = {layer: sweep.stitched.sel(layer=layer).transpose("step", "features", "two", "pair").values
                for layer in LAYERS}
    pretrained = np.array([sweep.own.sel(model=0.0, task=list(tasks)).values for tasks in zip(*PAIRS.values())])

    def draw(lam, layer):
        both, of_a, of_b = by_layer[layer].swapaxes(0, 1)  # each (λ, two tasks, pairs)
        row, worse = position(lams, lam, "lam"), both.min(1)
        own_task, other_task = (of_a[:, 0] + of_b[:, 1]) / 2, (of_a[:, 1] + of_b[:, 0]) / 2  # (λ, pairs)
        alone = np.maximum(of_a.min(1), of_b.min(1))
        means = {"worse": worse.mean(1), "own": own_task.mean(1), "other": other_task.mean(1), "single": alone.mean(1)}
        spread = WIDE * worse.std(1, ddof=1) / math.sqrt(worse.shape[1])
        values = {"pretrained": pretrained, "A": of_a[row], "B": of_b[row], "average of both": both[row],
                  "equal": (0, 1), "average, worse task": means["worse"],
                  "two standard errors": (means["worse"] - spread, means["worse"] + spread),
                  "one network, own task": means["own"], "one network, worse task": means["single"],
                  "chance": CHANCE}
        alt = said(_ALT_OF_STITCHING, layer=in_words(layer), lam=lam, both=both[row].mean(), before=pretrained.mean(),
                   **{name: mean[row] for name, mean in means.items()})
        about = key(("a", "features of A alone"), ("b", "of B alone"), ("merged", "the average of both"),
                    ("", "a dot is a pair; grey: the pretrained network"))
        return Frame(finding_of_averages(worse[row], alone[row], own_task[row], other_task[row]), alt, values, about)

    return {"kicker": "Chapter 4: what averaged features are good for", "charts": _charts_of_stitching(lams),
            "draw": draw,
            "tries": ("Move the slider to small λ. What becomes of the green dots?",
                      "Choose layer 1."),
            "controls": {"lam": slider("λ", lams, 1.0, words=lambda lam: f"λ = {lam:g}"),
                         "layer": chips("features put in at", LAYERS, "layer 2")},
            "caption": f"{with_error(sweep)} Band: two standard errors over the pairs. At the output no layers follow: "
                       "the averaged features are the mean of the two outputs. Alone, worse task: of A and B, the one "
                       "that does better on the worse of the two tasks."}


def _charts_of_stitching(lams):
    """Both tasks' accuracies of every pair at one λ, and means over λ."""
    left = Chart(Axis("accuracy on the task of A", 0, 1, unit="percent"),
                 Axis("accuracy on the task of B", 0, 1, unit="percent"),
                 (Line("equal", "other", x=(0, 1), aside=True), Spots("pretrained", "other"), Spots("A", "a"),
                  Spots("B", "b"), Spots("average of both", "merged")), height=352)
    right = Chart(OF_LAM, Axis("accuracy, mean over pairs", 0, 1, unit="percent"),
                  (Reference("chance", "chance", "chance"),
                   Line("one network, worse task", "single", "alone, worse task", x=tuple(lams)),
                   Line("one network, own task", "single", "alone, own task", x=tuple(lams)),
                   Band("two standard errors", "merged", x=tuple(lams)),
                   Line("average, worse task", "merged", "average, worse task", x=tuple(lams)), Handle("lam")))
    return [left, right]


def finding_of_averages(worse: np.ndarray, alone: np.ndarray, own_task: np.ndarray, other_task: np.ndarray) -> str:
    """What averaged features are worth at one λ: whether the worse of two tasks gains by them, and whether it comes
    nearer to what one network's features reach on their own task than to what they reach on the other.

    Args:
        worse, alone: (pairs,) accuracy on the worse task, with the average and with the better of the two alone.
        own_task, other_task: (pairs,) accuracy of one network's features on its own task and on the other one.
    """
    gain = Difference.paired(worse, alone)
    known = worse.mean() >= other_task.mean() + MATTERS * (own_task.mean() - other_task.mean())
    if gain.is_news and gain.value > 0 and known:
        return "Averaged features know both tasks, one network’s own know only one"
    compared = "no better" if not gain.is_news else "a little better" if gain.value > 0 else "worse"
    return f"On the worse of two tasks, averaged features are {compared} than one network’s own"


def reading_of_figure_9(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 9 of Zhou et al. and ours, with this sweep's numbers."""
    numbers = mlp.claim_12(sweep)
    # its error is at most this, as if it were of one pair alone
    lead = Difference.of(numbers["worse_with_average_at_1"], numbers["worse_with_one_at_1"],
                         int(sweep.attrs["test_images"]))
    made = reading("Figure 9 of Zhou et al., and ours", """
        {told} at λ = 1, put in at layer 2 or later: in {share} of the pairs the averaged features serve the worse of
        the two tasks better than those of either network alone. Differs: at λ = 0.4 that holds for {small_share:.0%}
        of the pairs in the worst of these layers. Perhaps so little of a task vector gives the features too little of
        its task.""",
                   told=lead.agrees(),
                   share=at_least(numbers["share_of_pairs_at_1"]),
                   small_share=numbers["share_of_pairs_at_0.4"])
    after = said("""In layer 1 the average reaches only {first:.3f} at λ = 1. And one network's features have some
                    ability on the other task, perhaps because neighbouring angles share it.""",
                 first=numbers["layer_1_with_average_at_1"])
    rows = [(f"λ = {lam}", *(f"{numbers[f'worse_with_{features}_at_{lam}']:.3f}" for features in ("average", "one")))
            for lam in ("1", "0.4")]
    shown = table(("accuracy on the worse of the two tasks, mean over pairs", "averaged features, in their worst layer",
                   "the better of A and B alone, in its best layer"), rows, before=made.page,
                  after=quiet("Of layer 2 and all behind it. Each number is from a layer of its own.") +
                  paragraph(after))
    return Page(f"{made.text}\n{shown.text}\n{after}", shown.page)


# -- panel (d) -------------------------------------------------------------------------------------

ASKED = {"angle": 45.0, "layer": "output", "lam": 1.0}  # what the prediction is about
_ALT_OF_NEGATION = """
    The pretrained network with other features at {layer}; the task is {angle:g}°, λ = {lam:.2f}. Features minus Δ:
    pretraining task {f[0]:.3f}, task A {f[1]:.3f}. Features of θ₀ − λτ: {w[0]:.3f} and {w[1]:.3f}. Untouched:
    {before[0]:.3f} and {before[1]:.3f}."""


@view
def negation(sweep: xarray.Dataset, prediction=None):
    """Panel (d): Figure 10 of CTL, accuracy of the two stitched networks on the pretraining task and on the task taken
    away. Controls: lam, angle, layer.

    The prediction, the accuracy on the pretraining task of θ₀ − τ for 45°, is a star.
    """
    lams, images = grid(sweep.lam0), int(sweep.attrs["test_images"])
    by_choice = {(angle, layer): sweep.negated.sel(angle=angle, layer=layer).transpose("lam0", "how", "which").values
                 for angle in ANGLES for layer in LAYERS}
    if prediction:
        asked = by_choice[ASKED["angle"], ASKED["layer"]]
        prediction.panel_answers(asked[position(lams, ASKED["lam"], "lam"), 1, 0], ASKED)

    def draw(lam, angle, layer):
        accuracies, row = by_choice[angle, layer], position(lams, lam, "lam")
        values = {"chance": CHANCE, "guessing": CHANCE}
        for which, name in enumerate(TASKS_OF_NEGATION):
            values |= {f"Eq. 4, {name}": accuracies[:, 0, which], f"θ₀ − λτ, {name}": accuracies[:, 1, which],
                       f"two standard errors, {name}": with_reach(accuracies[:, 1, which], images)[1:],
                       f"untouched, {name}": accuracies[:1, 0, which]}
        features, negated = accuracies[row]
        alt = said(_ALT_OF_NEGATION, layer=in_words(layer), angle=angle, lam=lam, f=features, w=negated,
                   before=accuracies[0, 0])
        about = key(("", f"Task A: digits turned by {angle:g}°"), ("merged", "subtracted in the weights: θ₀ − λτ"),
                    ("single", "Eq. 4: features minus Δ"))
        return Frame(finding_of_negation(accuracies[-1], accuracies[0, 0], images), alt, values, about)

    return {"kicker": "Chapter 4: subtracting a task", "charts": _charts_of_negation(lams), "draw": draw,
            "tries": ("Move the slider from left to right. Which of the two tasks falls first?",
                      "Choose 22.5°, which the pretrained network knew. How much of it remains at the end?"),
            "controls": {"lam": slider("λ", lams, ASKED["lam"], words=lambda lam: f"{percent(lam)} taken away" if lam
                                       else "nothing taken away"),
                         "angle": chips("task A", {f"{angle:g}°": angle for angle in ANGLES}, ASKED["angle"]),
                         "layer": chips("features put in at", LAYERS, ASKED["layer"], more=True)},
            "hides": [f"{name}, {task}" for task in TASKS_OF_NEGATION
                      for name in ("Eq. 4", "θ₀ − λτ", "two standard errors")],
            "caption": f"{with_error(sweep)} Bands: two standard errors. At the output the green lines are θ₀ − λτ "
                       "itself."}


TASKS_OF_NEGATION = ("pretraining", "task A")


def _charts_of_negation(lams):
    """The pretraining task, and the task that is taken away."""
    charts = []
    for task, below in zip(TASKS_OF_NEGATION, ("chance", "guessing")):
        star = (Star("guess", "merged", x=(ASKED["lam"],)),) if task == "pretraining" else ()
        marks = (Reference(below, "chance", "chance" if star else ""), Points(f"untouched, {task}", "single", x=(0,)),
                 Line(f"Eq. 4, {task}", "single", "Eq. 4", x=tuple(lams)),
                 Band(f"two standard errors, {task}", "merged", x=tuple(lams)),
                 Line(f"θ₀ − λτ, {task}", "merged", "θ₀ − λτ", x=tuple(lams)), *star, Handle("lam"))
        about = "accuracy on upright digits (pretraining)" if star else "accuracy on task A, which is taken away"
        charts.append(Chart(OF_LAM, Axis(about, 0, 1, unit="percent"), marks))
    return charts


def finding_of_negation(at_end: np.ndarray, before: np.ndarray, images: int) -> str:
    """What taking away a whole task vector does: does it cost its task, and does it cost the pretraining task, more
    than Eq. 4 says?

    Args:
        at_end: (2, 2) at λ = 1, features minus Δ and features of θ₀ − λτ, each on the pretraining task and on its own.
        before: (2,) on both, untouched.
    """
    (by_equation, _), (pretraining, left) = at_end
    costs, lost, more = (Difference.of(a, b, images) for a, b in ((before[1], left), (before[0], pretraining),
                                                                  (by_equation, pretraining)))
    if not (costs.is_news and costs.value > 0):
        return "Subtracting this task vector does not cost its task"
    if not (lost.is_news and lost.value > 0):
        return "Subtracting a task vector costs its task alone"
    if more.is_news:
        how_much = "more" if more.value > 0 else "less"
        return f"Subtracting a task vector costs its task, and {how_much} of pretraining than Eq. 4 says"
    return "Subtracting a task vector costs its task and some of pretraining, as Eq. 4 says"


def reading_of_subtracting(sweep: xarray.Dataset) -> Page:
    """What subtracting half of a task vector, and all of it, costs its task and the pretraining task; means over the
    eight tasks, with this sweep's numbers."""
    of_weights = sweep.negated.sel(layer="output", how=mlp.HOW[1]).transpose("lam0", "which", "angle")
    by_task = [of_weights.sel(lam0=lam).values for lam in (0.0, 0.5, 1.0)]
    before, halved, at_one = (values.mean(1) for values in by_task)
    lowers, costs = (by_task[1][1] < by_task[0][1]).all(), before[0] - at_one[0] > COSTLY
    title = "Subtracting a task vector lowers its task, and all of it takes much of pretraining, too." \
        if lowers and costs else "What subtracting a task vector costs."
    text = said("""With half of a task vector subtracted, the accuracy on its task goes from {before:.0%} to
                   {halved:.0%}. With all of it, that on upright digits goes from {upright:.0%} to {at_one:.0%}. (These
                   are means over the eight tasks.)""",
                before=before[1], halved=halved[1], upright=before[0], at_one=at_one[0])
    first, *others = sweep.own.sel(model=0.0, task=list(ANGLES)).values
    near = of_weights.sel(lam0=1.0, which="i", angle=ANGLES[0]).item()
    if first > KNOWN > max(others) and near > 2 * CHANCE:
        text += " " + said("""On {angle:g}°, the one task that θ₀ knew well, the network is still {near:.0%} accurate
                              with all of it subtracted.""", angle=ANGLES[0], near=near)
    return Page(f"{title} {text}", Markup("<p><b>{}</b> {}</p>").format(title, text))


def reading_of_figure_10(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 10 of Zhou et al. and ours, with this sweep's numbers."""
    numbers = mlp.claim_13(sweep)
    images = int(sweep.attrs["test_images"])
    lost = Difference.of(numbers["features_pretraining_at_0.5"], numbers["weights_pretraining_at_0.5"], images)
    made = reading("Figure 10 of Zhou et al., and ours", """
        {agrees} about the task: with Δ taken out of the features at λ = 1, less than half of its accuracy is left
        (chance is {chance:g}), and more than half of the pretraining task’s. Differs: the source finds that the
        features of θ₀ − λτ do alike. Here, at λ = 1, the pretraining task keeps less with them."""
                   if _as_told(numbers, images) else "{agrees} about the task. The table has the numbers.",
                   agrees=agrees(numbers["features_task_at_1"] < 0.5 * numbers["before_task"]), chance=CHANCE)
    after = said("""At λ = 0.5, the pretraining task keeps {lost:.1f} points more with Δ taken out than with the
                    features of θ₀ − λτ{doubt}. (After ± is the standard error, at most.) Mind how little there was to
                    forget. On 22.5°, where the pretrained network is good, the accuracy falls from {near_before:.3f} to
                    {near:.3f} with Δ taken out at layer 2, λ = 1.""",
                 lost=lost, doubt=lost.doubt(), near=numbers["near_task_at_1"],
                 near_before=numbers["near_task_before"])
    ways = {"untouched": "before_{}"} | {f"{how}, λ = {lam}": f"{name}_{{}}_at_{lam}"
                                         for how, name in _WAYS.items() for lam in ("0.5", "1")}
    rows = [(way, *(f"{numbers[key.format(task)]:.3f}" for task in ("pretraining", "task")))
            for way, key in ways.items()]
    shown = table(("the network", "accuracy on the pretraining task", "on task i"), rows, before=made.page,
                  after=quiet(_WORST) + paragraph(after))
    return Page(f"{made.text}\n{shown.text}\n{after}", shown.page)


_WAYS = {"Δ taken out": "features", "features of θ₀ − λτ": "weights"}  # words: what numbers begin with
_WORST = "Means over eight tasks. Each number is from its own worst layer: the layer where the pretraining task " \
         "keeps least, or the one where task i keeps most."


def _as_told(numbers, images):
    """Whether taking Δ out of the features leaves most of the pretraining task, little of the task, and more of the
    pretraining task than the features of θ₀ − λτ leave."""
    remains = numbers["features_pretraining_at_1"]
    more = Difference.of(remains, numbers["weights_pretraining_at_1"], images)
    return (numbers["features_task_at_1"] < 0.5 * numbers["before_task"] and
            remains > 0.5 * numbers["before_pretraining"] and more.is_news and more.value > 0)
