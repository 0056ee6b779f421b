"""Merged networks that read a question in words and write the answer: what the merges keep, features between two of
them and between all, and a task vector taken away."""
import re

import numpy as np
import xarray

from lessons.kit.noise import Difference
from lessons.kit.page import Page, capital, in_full_alone, minus, quiet, reading, said, table
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Chart, Frame, Line, Reference, key, percent, view
from lessons.lines.panels import CLOSE, share_of_a
from lessons.merging.search import rests_on
from lessons.words.experiment.texts import SAID, WAYS
from lessons.words.panels import forgetting
from lessons.words.panels.bell import ORDER, title_of
from lessons.words.panels.networks import difference, error_of_mean, is_more
from lessons.words.panels.pretraining import Kept

WRITTEN, CHOSEN = WAYS
HALFWAY = 0.5
REACHES = 0.1  # how far coef may be from 1, for features to reach about as far as the mix
_ALT = """
    α = {alpha:.2f}, the share of A. Mean over {pairs} pairs, gap (1 − cos) as a share of the distance from A to B:
    {shares}; coef: {lengths}. The pair with the largest share in any layer is {pair}, {most:.1f} % in {layer}. The
    average of all {count} networks, beside the mean of their features, as a share of the mean distance between two:
    {all_shares}; coef: {all_lengths}."""


def shares_right(sweep: xarray.Dataset, reported: str, way: str = WRITTEN) -> np.ndarray:
    """(tasks,): the share of the test questions that a network, or every task's own, answers right.

    Args:
        sweep: of `experiment.texts`, here and everywhere in this module.
        reported: as the sweep names it.
        way: one of `WAYS`.
    """
    return sweep.right.sel(way=way, reported=reported).values / int(sweep.attrs["test"])


def kept(sweep: xarray.Dataset, reported: str) -> Kept:
    """Which share of what finetuning gained a merge of all networks has."""
    return Kept.of(*(shares_right(sweep, name) for name in (reported, "single", "θ₀")), int(sweep.attrs["test"]))


# -- merging -----------------------------------------------------------------------------------------------------------

@in_full_alone
def methods_table(sweep: xarray.Dataset) -> Page:
    """Every method: its share of right answers, by how much that is above θ₀, what it keeps of what finetuning gained,
    the share right where it may only choose among the task's own answers, and how many of its answers are of another
    task, or of none."""
    count, base = int(sweep.attrs["test"]), shares_right(sweep, "θ₀")
    rows = [("always the most frequent answer", _mean(sweep.majority.values / count, count), "", "", "", "", "")]
    for name in (name for name in ORDER if name in sweep.reported):
        right, said_by = shares_right(sweep, name), sweep.said.sel(reported=name).sum("task") / count
        lead, is_base = difference(right, base, count), name == "θ₀"
        share = "–" if is_base else minus(str(kept(sweep, name)))
        others = [f"{100 * float(said_by.sel(kind=kind)) / len(right):.1f}" for kind in SAID[1:]]
        above = "–" if is_base else f"{lead}{'' if lead.is_news else ' (noise)'}"
        rows.append((title_of(name), _mean(right, count), above, share,
                     f"{100 * shares_right(sweep, name, CHOSEN).mean():.1f}", *others))
    head = ("", "right", "above θ₀", "kept", "right, if it chooses", *SAID[1:])
    after = quiet(said("""{caption} {rests} In per cent, mean over tasks, after ± one standard error, at most. Kept:
                          (merged − θ₀)/(each alone − θ₀). If it chooses: among the task’s own answers, by their
                          probabilities.""", caption=caption(sweep), rests=rests_on(sweep)))
    return table(head, rows, after=after)


def _mean(shares, count):
    return f"{100 * shares.mean():.1f} ± {100 * error_of_mean(shares, count):.1f}"


def _tasks(pair):
    return re.split(" and ", pair)


def kept_by_pairs(sweep: xarray.Dataset) -> Kept:
    """Which share of what finetuning gained the midpoints of two networks have, on the two tasks, all pairs together.

    A task may be in several pairs. Its questions are the same in all, so its part of the error counts once, as if all
    its midpoints failed on the same ones.
    """
    count, tasks = int(sweep.attrs["test"]), names(sweep.task)
    half = sweep.between.sel(alpha=HALFWAY) / count
    midpoints = [(task, float(half.sel(pair=pair).values[end])) for pair in names(sweep.pair)
                 for end, task in enumerate(_tasks(pair))]
    weights = np.array([sum(name == task for name, _ in midpoints) for task in tasks]) / len(midpoints)
    means = [np.mean([share for name, share in midpoints if name == task] or [0.0]) for task in tasks]
    merged, single, base = (_weighted(shares, weights, count) for shares in
                            (np.array(means), shares_right(sweep, "single"), shares_right(sweep, "θ₀")))
    gain = Difference(single[0] - base[0], float(np.hypot(single[1], base[1])))
    if not is_more(gain):
        return Kept(float("nan"), float("nan"))
    share = (merged[0] - base[0]) / gain.value
    parts = merged[1], share * single[1], (1 - share) * base[1]
    return Kept(share, float(np.linalg.norm(parts) / gain.value))


def shares_of_pairs(sweep: xarray.Dataset) -> list[float]:
    """As `kept_by_pairs`, of every pair alone."""
    half, kept_shares = sweep.between.sel(alpha=HALFWAY) / int(sweep.attrs["test"]), []
    for pair in names(sweep.pair):
        places = [names(sweep.task).index(task) for task in _tasks(pair)]
        single, base = (shares_right(sweep, name)[places].mean() for name in ("single", "θ₀"))
        kept_shares.append(float((half.sel(pair=pair).mean() - base) / (single - base)))
    return kept_shares


def _weighted(shares, weights, count):
    """A weighted mean over tasks, and its standard error."""
    return float(weights @ shares), float(np.sqrt((weights ** 2 * shares * (1 - shares)).sum() / count))


@in_full_alone
def reading_of_merging(sweep: xarray.Dataset) -> Page:
    """How much of what finetuning gained do merges of all networks keep, and how much do midpoints of two?"""
    base, count = shares_right(sweep, "θ₀"), int(sweep.attrs["test"])
    merges = [name for name in ORDER if name in sweep.reported and name not in ("θ₀", "single")]
    leads = {name: difference(shares_right(sweep, name), base, count) for name in merges}
    best = max(merges, key=lambda name: leads[name].value)
    ahead = [name for name in merges if is_more(leads[name])]
    gain = difference(shares_right(sweep, "single"), base, count)
    pairs, of_each, all_of_them = kept_by_pairs(sweep), shares_of_pairs(sweep), kept(sweep, "average")
    more = Difference(pairs.share - all_of_them.share, float(np.hypot(pairs.error, all_of_them.error)))
    title = f"{_who(ahead, merges)} of all networks is seen to write more right answers than θ₀"
    if is_more(more):
        title += ", but midpoints of two keep more"
    told = said("Half-way between two networks, {low} to {high} of the gain is kept, with wide errors.",
                low=minus(percent(min(of_each))), high=percent(max(of_each))) if pairs.share == pairs.share else \
        "So what is kept of it is not known."
    return reading(title, """
        Over θ₀, finetuning gains {gain:+.1f} points on each network’s own task. The best merge of all, {best}, gains
        {lead:+.1f}{doubt}. {told}""", gain=gain, best=title_of(best), lead=leads[best], doubt=leads[best].doubt(),
                   told=told)


def _who(ahead, merges):
    """How a title begins that says which merges are ahead."""
    return "No merge" if not ahead else "Every merge" if len(ahead) == len(merges) else \
        f"The {title_of(ahead[0])}" if ahead == ["average"] else \
        capital(title_of(ahead[0])) if len(ahead) == 1 else "More than one merge"


# -- CTL ---------------------------------------------------------------------------------------------------------------

def called(layer: str) -> str:
    """A layer's name, as a learner knows it."""
    return "logits" if layer == "output" else layer


@in_full_alone
@view
def between(sweep: xarray.Dataset):
    """Over the layers, left the gap as a share of the distance between A and B, right coef; a grey line for every pair,
    their mean, and, dashed, the average of all networks beside the mean of their features.

    Control: alpha.
    """
    alphas, pairs, layers = sweep.alpha.values, names(sweep.pair), names(sweep.layer)
    gaps = sweep.gap_mean.transpose("pair", "layer", "alpha").values
    shares = 100 * np.maximum(gaps, 0) / sweep.own_mean.transpose("pair", "layer").values[..., None]
    lengths = sweep.coef_mean.transpose("pair", "layer", "alpha").values
    of_all = 100 * share_of_all(sweep), sweep.coef_all.values

    def draw(alpha):
        step = position(alphas, alpha)
        values = {"near": 100 * CLOSE, "as far": 1.0}
        for side, lines, together in (("gap", shares, of_all[0]), ("coef", lengths, of_all[1])):
            values |= {f"{side}: {pair}": line for pair, line in zip(pairs, lines[:, :, step])}
            values |= {f"{side}, mean": lines[:, :, step].mean(0), f"{side}, all": together}
        pair, layer = np.unravel_index(shares[:, :, step].argmax(), shares.shape[:2])
        alt = said(_ALT, alpha=alpha, pairs=len(pairs), count=sweep.sizes["task"], pair=pairs[pair],
                   most=shares[pair, layer, step], layer=called(layers[layer]),
                   shares=_listed(layers, shares[:, :, step].mean(0), "{:.1f} %"), all_shares=_listed(
                       layers, of_all[0], "{:.1f} %"), lengths=_listed(layers, lengths[:, :, step].mean(0), "{:.3f}"),
                   all_lengths=_listed(layers, of_all[1], "{:.3f}"))
        about = key(("merged", "The network between A and B, mean over pairs"), ("", "grey: every pair"),
                    ("", "dashed: the average of all networks"))
        return Frame(finding_of_between(shares[:, :, step], lengths[:, :, step], of_all[0]), alt, values, about)

    return {"kicker": "Chapter 14: between networks that answer in words",
            "tries": ("Drag α. Where between A and B is the gap largest?",
                      "Compare the dashed line with the green one. Is the average of all much farther from the mix?"),
            "charts": _charts(layers, pairs, shares, lengths, of_all), "draw": draw,
            "controls": {"alpha": share_of_a(alphas)},
            "caption": f"{caption(sweep)} Encoder: mean over the text’s words; decoder and logits: where the answer’s "
                       f"first word is written. This course calls a gap below {CLOSE:.0%} of the distance near."}


def share_of_all(sweep: xarray.Dataset) -> np.ndarray:
    """(layers,): how far the average of all networks is from the mean of their features, over the mean distance between
    two of them."""
    return np.maximum(sweep.gap_all.values, 0) / sweep.own_all.values


def _listed(layers, numbers, template):
    return ", ".join(f"{called(layer)} {template.format(number)}" for layer, number in zip(layers, numbers))


def _charts(layers, pairs, shares, lengths, of_all):
    """The gap and coef over the layers, with room for every α."""
    places = tuple(range(len(layers)))
    ticks = {place: called(layer).replace("coder", "c.") for place, layer in zip(places, layers)}
    across = Axis("layer of the encoder, of the decoder", -0.3, len(layers) - 0.7, "places", ticks=ticks)

    def marks(side):
        return (*(Line(f"{side}: {pair}", "other", x=places, aside=True) for pair in pairs),
                Line(f"{side}, all", "merged", "average of all", x=places, dashed=True),
                Line(f"{side}, mean", "merged", "mean of the pairs", x=places, dots=True))

    high = max(1.1 * float(max(shares.max(), of_all[0].max())), 110 * CLOSE)
    ends = np.concatenate([lengths.ravel(), of_all[1], [1.0]])
    return [Chart(across, Axis("gap, in % of the distance from A to B", 0, high, unit="%", digits=1),
                  (Reference("near", "chance", "called near"), *marks("gap"))),
            Chart(across, Axis("coef: how far along the mix", float(ends.min()) - 0.02, float(ends.max()) + 0.02,
                               digits=2), (Reference("as far", "chance", "as the mix"), *marks("coef")))]


def finding_of_between(shares: np.ndarray, lengths: np.ndarray, of_all: np.ndarray) -> str:
    """Whether the features point nearly in the direction of the mix and reach about as far, and whether those of the
    average of all networks point in the direction of their mean.

    Args:
        shares, lengths: (pairs, layers), the gap in per cent of the distance between the ends, and coef.
        of_all: (layers,), of the average of all, in per cent of the mean distance.
    """
    if shares.max() < 1e-3:
        return "At an end the network is A or B itself"
    near = shares.mean(0) <= 100 * CLOSE
    if not near.any():
        return "The features do not point in the direction of the mix, in any layer"
    told = "The features point nearly in the direction of the mix"
    if not near.all():
        return f"{told}, but not in every layer"
    told += ", in every layer"
    if (np.abs(lengths.mean(0) - 1) <= REACHES).all():
        told += ", and reach about as far"
    return f"{told}, also at the average of all" if (of_all <= 100 * CLOSE).all() else \
        f"{told}, but not at the average of all"


@in_full_alone
def reading_of_failing(sweep: xarray.Dataset) -> Page:
    """Does CTL hold where merging fails, and would the mean of all networks' logits answer better than the average of
    their weights?"""
    half, count = position(sweep.alpha.values, HALFWAY), int(sweep.attrs["negated"])
    pairs = (np.maximum(sweep.gap_mean.isel(alpha=half), 0) / sweep.own_mean).mean("pair")
    holds = max(float(pairs.max()), float(share_of_all(sweep).max())) <= CLOSE
    outputs, average = sweep.outputs.values / count, shares_right(sweep, "average")
    ahead = Difference(float(outputs.mean() - average.mean()), float(np.hypot(
        error_of_mean(outputs, count), error_of_mean(average, int(sweep.attrs["test"])))))
    fails = not is_more(difference(average, shares_right(sweep, "θ₀"), int(sweep.attrs["test"]))) or \
        kept(sweep, "average").share < 0.5
    title = ("CTL holds" if holds else "CTL does not hold in every layer") + (
        ", and the average still fails" if holds and fails else "")
    told = "The mean of all networks’ logits is not seen to answer better either" if not is_more(ahead) else \
        "The mean of all networks’ logits answers better"
    return reading(title, """
        Half-way between two networks the gap is at most {pairs:.1%} of their distance, mean over pairs, in the layer
        where it is largest, and at the average of all {all_shares:.1%} of the mean distance. {told}: it is {ahead:+.1f}
        points from the average of the weights{doubt}. {therefore}""",
                   pairs=float(pairs.max()), all_shares=float(share_of_all(sweep).max()), told=told, ahead=ahead,
                   doubt=ahead.doubt(), therefore=_THEREFORE if holds and fails and not is_more(ahead) else "")


_THEREFORE = "So the mean of the networks’ logits fails, too, and not only the average of their weights."


# -- negation ----------------------------------------------------------------------------------------------------------

def as_taken(sweep: xarray.Dataset) -> xarray.Dataset:
    """What was taken away, in the form of `experiment.lines`: taken (taken_lam, task, effect), shares right."""
    tasks, count = names(sweep.taken), int(sweep.attrs["negated"])
    shares = sweep.negated.transpose("lam", "taken", "task").values / count
    itself = shares[:, range(len(tasks)), range(len(tasks))]
    both = np.stack([itself, (shares.sum(2) - itself) / (len(tasks) - 1)], 2)
    return xarray.Dataset({"taken": (("taken_lam", "task", "effect"), both)},
                          {"taken_lam": sweep.lam.values, "task": tasks, "effect": list(forgetting.EFFECTS)},
                          sweep.attrs | {"images": f"{count} test sentences a task"})


@in_full_alone
@view
def negation(sweep: xarray.Dataset):
    """As `forgetting.forgetting`, of answers that are written.

    Controls: lam, task.
    """
    about = forgetting.forgetting.__wrapped__(as_taken(sweep))
    return about | {"kicker": "Chapter 14: forgetting a task that is answered in words"}


@in_full_alone
def reading_of_negation(sweep: xarray.Dataset) -> Page:
    """Which tasks lose without half of their task vector, and which of them alone?"""
    return forgetting.reading_of_forgetting(as_taken(sweep))
