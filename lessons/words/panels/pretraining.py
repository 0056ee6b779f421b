"""How well merged encoders do against how long their start was pretrained."""
from dataclasses import dataclass

import numpy as np
import xarray

from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import in_full_alone, said
from lessons.kit.sweep import caption, names
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, percent, slider, view
from lessons.merging.search import rests_on
from lessons.words.panels import networks
from lessons.words.panels.bell import title_of
from lessons.words.panels.networks import around, difference, error_of_mean, is_more

METHODS = ("cart", "tsv", "ties", "task_arithmetic")  # of which one is shown beside the average
LEAST_SHARE, MOST_SHARE = -0.5, 1.5  # of what finetuning gained: what is drawn
_ALT = """
    Start “{start}”, mean over {tasks} tasks: each network alone {single:.3f}, {method} {merged:.3f}, the average
    {average:.3f}, θ₀ under the finetuned heads {base:.3f}. Of what finetuning gained over θ₀, {method} keeps
    {kept_by_method}, the average {kept_by_average}. By start: {by_start}."""


@dataclass(frozen=True)
class Kept:
    """Which share of what finetuning gained a merged network has, (merged − θ₀)/(single − θ₀), with its standard error;
    NaN where finetuning is not seen to gain anything."""
    share: float
    error: float

    @classmethod
    def of(cls, merged: np.ndarray, single: np.ndarray, base: np.ndarray, count: int) -> "Kept":
        """Of test accuracies (tasks,) on so many sentences a task. The error is that of the three means, as if each
        were of sentences of its own, carried over to first order."""
        gain = difference(single, base, count)
        if not is_more(gain):
            return cls(float("nan"), float("nan"))
        share = float((np.mean(merged) - np.mean(base)) / gain.value)
        parts = [weight * error_of_mean(accuracies, count)
                 for weight, accuracies in ((1, merged), (share, single), (1 - share, base))]
        return cls(share, float(np.linalg.norm(parts) / gain.value))

    def __str__(self):
        return "an unknown share" if np.isnan(self.share) else f"{percent(self.share)} (± {percent(self.error)})"


@in_full_alone
@view
def pretraining(sweep: xarray.Dataset, prediction=None):
    """Left, accuracy of the single networks, of a merge and of the average, against the pretraining of their start,
    with θ₀ in grey; right, which share of what finetuning gained the merges keep, with a band of two standard errors.

    "Models add better" is told by that share, (merged − θ₀)/(single − θ₀), with θ₀ under the finetuned heads. The
    accuracy itself would not do, because a better start makes everything better. Nor would merged/single: where θ₀
    alone is already nearly as good as the single networks, a merge that threw all finetuning away would have a ratio
    near 1, and guessing would have a high one where all networks are hardly better than that. The share counts what
    finetuning added to θ₀ and nothing else, so a better start does not raise it by itself. Its price is a wide error
    where finetuning adds little, which is drawn. Where finetuning is not seen to add anything, the share is not shown.

    Args:
        sweep: as `experiment.pretraining` makes it: test (amount, reported, task), accuracies, from the start with the
            least pretraining to that with the most.

    Controls: start, method. The prediction, the place of the start from which the first method keeps the largest share,
    is an upright line.
    """
    starts, count = names(sweep.amount), networks.sentences(sweep)
    tests = {name: sweep.test.sel(reported=name).transpose("amount", "task").values
             for name in names(sweep.reported)}
    shown = [method for method in METHODS if method in tests]
    shares = {name: [Kept.of(*accuracies, count) for accuracies in zip(tests[name], tests["single"], tests["θ₀"])]
              for name in ("average", *shown)}
    if prediction:
        best = int(np.nanargmax([each.share for each in shares[shown[0]]]))
        prediction.panel_answers(best, {"start": starts[best], "method": shown[0]})

    def draw(start, method):
        step, merged = starts.index(start), tests[method]
        values = {"single": tests["single"].mean(1), "merged": merged.mean(1), "average": tests["average"].mean(1),
                  "θ₀": tests["θ₀"].mean(1), "sure": around(merged, count), "all": 1.0, "none": 0.0,
                  "share": _drawn(shares[method]), "share of the average": _drawn(shares["average"]),
                  "sure of the share": (_drawn(shares[method], -WIDE), _drawn(shares[method], WIDE))}
        by_start = "; ".join(f"{name}: alone {single:.3f}, {title_of(method)} {score:.3f}, share {share}" for
                             name, single, score, share in zip(starts, values["single"], values["merged"],
                                                               shares[method]))
        alt = said(_ALT, start=start, tasks=merged.shape[1], method=title_of(method), single=values["single"][step],
                   merged=values["merged"][step], average=values["average"][step], base=values["θ₀"][step],
                   kept_by_method=shares[method][step], kept_by_average=shares["average"][step], by_start=by_start)
        about = key(("single", "Each network alone"), ("merged", f"{title_of(method)}; dashed: the average"),
                    ("", "grey: θ₀ under the finetuned heads"))
        return Frame(finding_of_starts(step, shares[method]), alt, values, about)

    places = range(len(starts))
    return {"kicker": "Chapter 14: how long was the start pretrained?",
            "tries": ("Move the slider. Where is the merged network the best, and where is the largest part kept?",
                      "Choose another way to merge. Does it keep more?"),
            "charts": _charts(starts, tests, shares), "draw": draw,
            "hides": ["θ₀", "single", "sure", "average", "merged", "sure of the share", "share of the average",
                      "share"],
            "controls": {"start": slider("pretraining", {start: start for start in starts}, starts[-1], places=places),
                         "method": chips("merged by", {title_of(method): method for method in shown})},
            "caption": f"{caption(sweep)} {rests_on(sweep)} Here CART truncates all matrices. Bands: two standard "
                       "errors of the sentences, at most. Every start was trained once, so how much another seed would "
                       "change is not in them."}


def _drawn(shares, errors=0.0):
    """What the right chart shows of shares, or of their ends so many standard errors away."""
    return np.array([min(max(each.share + errors * each.error, LEAST_SHARE), MOST_SHARE) if each.share == each.share
                     else np.nan for each in shares])


def _charts(starts, tests, shares):
    """Accuracies, and the share that is kept, over the starts."""
    means = np.concatenate([accuracies.mean(1) for accuracies in tests.values()])
    across = Axis("pretraining of the start", -0.2, len(starts) - 0.8, "places", ticks=dict(enumerate(starts)))
    left = Chart(across, Axis("accuracy, mean over tasks", float(means.min()) - 0.03, float(means.max()) + 0.03,
                              unit="percent", digits=1),
                 (Line("θ₀", "other", "θ₀"), Line("single", "single", "each alone"), Band("sure", "merged"),
                  Line("average", "merged", "average", dashed=True), Line("merged", "merged", "merged", dots=True),
                  Handle("start")))
    ends = np.concatenate([_drawn(each, errors) for each in shares.values() for errors in (-WIDE, WIDE)])
    low, high = np.nanmin([*ends, 0.0]), np.nanmax([*ends, 1.0])
    right = Chart(across, Axis("kept of what finetuning gained", float(low) - 0.05, float(high) + 0.05, unit="percent"),
                  (Reference("all", "single", "all"), Reference("none", "other", "nothing"),
                   Band("sure of the share", "merged"), Line("share of the average", "merged", "average", dashed=True),
                   Line("share", "merged", "merged", dots=True), Star("guess", "merged", along="x"), Handle("start")))
    return [left, right]


def finding_of_starts(step: int, shares: list[Kept]) -> str:
    """From which start a merge keeps the largest part of what finetuning gained, beyond two standard errors.

    Args:
        step: which start.
        shares: of every start.
    """
    if np.isnan([each.share for each in shares]).any():
        return "Finetuning is not seen to gain anything, so nothing can be kept"
    best = int(np.argmax([each.share for each in shares]))
    less = [Difference(shares[best].share - each.share, float(np.hypot(shares[best].error, each.error)))
            for place, each in enumerate(shares) if place != best]
    if step == best:
        how = "the largest part of" if all(map(is_more, less)) else "as much as from any other start of"
        return f"From this start, merging keeps {how} what finetuning gained"
    behind = less[step - (step > best)]
    how = ("less", "than") if behind.is_news else ("about as much", "as")
    return f"From this start, merging keeps {how[0]} of what finetuning gained {how[1]} from the best start"
