"""Which part of the weights what adds up was learned in: word vectors alone, or all but these."""
import numpy as np
import xarray

from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import Page, in_full_alone, minus, quiet, reading, said, table
from lessons.kit.sweep import caption, names
from lessons.kit.view import Axis, Chart, Frame, Points, Reference, chips, key, view
from lessons.merging.search import rests_on
from lessons.words.experiment.parts import FROZEN
from lessons.words.panels import networks
from lessons.words.panels.bell import title_of
from lessons.words.panels.networks import difference, error_of_mean, is_more
from lessons.words.panels.pretraining import LEAST_SHARE, METHODS, MOST_SHARE, Kept

WHOLE, WORDS, REST = FROZEN  # as the sweep calls what is finetuned
SIMPLEST = "task_arithmetic"  # of the methods, the one that the readings give numbers of
_ALT = """
    From {start}, merged by {method}, kept of what finetuning gained over θ₀: {kept}. Accuracy, mean over {tasks} tasks,
    each network alone and merged: {accuracies}."""


def kept(sweep: xarray.Dataset, start: str, trained: str, method: str) -> Kept:
    """Which share of what finetuning this part gained a merge has."""
    test, count = sweep.test.sel(start=start, trained=trained), networks.sentences(sweep)
    return Kept.of(*(test.sel(reported=name).values for name in (method, "single", "θ₀")), count)


def more(sweep: xarray.Dataset, start: str, method: str) -> Difference:
    """By how much more of the gain is kept where word vectors alone were finetuned than where all but these were. The
    error is that of sentences of their own; NaN where a gain is not seen."""
    first, second = (kept(sweep, start, trained, method) for trained in (WORDS, REST))
    return Difference(first.share - second.share, float(np.hypot(first.error, second.error)))


@in_full_alone
def parts_table(sweep: xarray.Dataset) -> Page:
    """Every start and finetuned part: each network alone, the average and the merges, and which share of what
    finetuning gained task arithmetic keeps. The sweep is that of `experiment.parts`."""
    count, rows = networks.sentences(sweep), []
    reported = ("θ₀", "single", "average", *METHODS[::-1])
    for start in names(sweep.start):
        for trained in names(sweep.trained):
            test = sweep.test.sel(start=start, trained=trained)
            means = [f"{100 * float(test.sel(reported=name).mean()):.1f}" for name in reported]
            rows.append((start, trained, *means, minus(str(kept(sweep, start, trained, SIMPLEST)))))
    most = max(error_of_mean(row, count) for row in sweep.test.transpose(..., "task").values.reshape(
        -1, sweep.sizes["task"]))
    after = quiet(said("""{caption} {rests} Accuracy in per cent, mean over tasks, with a standard error of at most
                          {error:.1f}. The last column is (merged − θ₀)/(each alone − θ₀), with one standard error.""",
                       caption=caption(sweep), rests=rests_on(sweep), error=100 * most))
    head = ("start", "finetuned", *map(title_of, reported), f"{title_of(SIMPLEST)} keeps")
    return table(head, rows, after=after, left=2)


@in_full_alone
def kept_table(sweep: xarray.Dataset, method: str = METHODS[0]) -> Page:
    """As `parts_table`, of one way to merge: what is finetuned, each network alone, and what merging keeps."""
    alone = 100 * sweep.test.sel(reported="single").mean("task")
    rows = [(start, trained, f"{float(alone.sel(start=start, trained=trained)):.1f}",
             minus(str(kept(sweep, start, trained, method))))
            for start in names(sweep.start) for trained in names(sweep.trained)]
    after = quiet(said("""{caption} {rests} Accuracy in per cent, mean over tasks, ± one standard error. CART truncates
                          all matrices here. Pretrained is all sentences, three times.""",
                       caption=caption(sweep), rests=rests_on(sweep)))
    return table(("start", "finetuned", "each alone", f"{title_of(method)} keeps"), rows, after=after, left=2)


@in_full_alone
@view
def parts(sweep: xarray.Dataset):
    """Which share of what finetuning gained a merge keeps, with two standard errors, a point for each finetuned part.

    Args:
        sweep: of `experiment.parts`.

    Controls: method; start.
    """
    starts, trained = names(sweep.start), names(sweep.trained)
    shares = {(start, method): [kept(sweep, start, part, method) for part in trained]
              for start in starts for method in METHODS}

    def draw(method, start):
        drawn = shares[start, method]
        values = {part: _point(each) for part, each in zip(trained, drawn)} | {"all": 1.0, "nothing": 0.0}
        test = sweep.test.sel(start=start).mean("task")
        accuracies = "; ".join(said("{part} {single:.3f} and {merged:.3f}", part=part,
                                    single=float(test.sel(trained=part, reported="single")),
                                    merged=float(test.sel(trained=part, reported=method))) for part in trained)
        alt = said(_ALT, start=start, method=title_of(method), tasks=sweep.sizes["task"], accuracies=accuracies,
                   kept="; ".join(f"{part} {each}" for part, each in zip(trained, drawn)))
        about = key(("merged", f"From {start}, merged by {title_of(method)}"), ("", "lines: two standard errors"))
        return Frame(finding_of_parts(more(sweep, start, method)), alt, values, about)

    methods = {title_of(method): method for method in METHODS}
    return {"kicker": "Chapter 14: which weights add up?",
            "tries": ("Compare the two green points. Do their lines overlap?",
                      "Choose another start, and other ways to merge. Is it the same?"),
            "charts": _charts(trained, shares.values()), "draw": draw,
            "controls": {"method": chips("merged by", methods, SIMPLEST), "start": chips("start", starts, more=True)},
            "caption": f"{caption(sweep)} {rests_on(sweep)} Lines: two standard errors of the sentences, at most. "
                       "Every setting was trained once."}


def _point(share: Kept) -> tuple:
    """(y, low, high) of one point, cut where the chart ends."""
    ends = [share.share + errors * share.error for errors in (0, -WIDE, WIDE)]
    return tuple([float(np.clip(end, LEAST_SHARE, MOST_SHARE))] if end == end else [np.nan] for end in ends)


def _charts(trained, shares):
    """One chart with room for every start and method."""
    ends = np.array([_point(each) for shown in shares for each in shown])
    low, high = np.nanmin([ends[np.isfinite(ends)].min(initial=0), 0]), ends[np.isfinite(ends)].max(initial=1)
    across = Axis("finetuned", -0.6, len(trained) - 0.4, "places", ticks=dict(enumerate(trained)))
    points = (Points(part, "merged" if place else "other", x=(place,), written=True)
              for place, part in enumerate(trained))
    return [Chart(across, Axis("kept of what finetuning gained", float(low) - 0.05 * (low < 0), float(high) + 0.1,
                               unit="percent"), (Reference("all", "single", "all of it"),
                                     Reference("nothing", "other", "nothing"), *points))]


def finding_of_parts(lead: Difference) -> str:
    """Whether what word vectors learn alone adds up better than what all else learns, beyond two standard errors.

    Args:
        lead: by how much more of the gain is kept with word vectors alone; NaN where a gain is not seen.
    """
    if np.isnan(lead.value):
        return "Finetuning is not seen to gain anything, so nothing can be kept"
    if not lead.is_news:
        return "Whether word vectors alone add up better than the rest is within the noise"
    better, worse = ("word vectors", "the rest") if lead.value > 0 else ("the rest", "word vectors")
    return f"What {better} learned adds up better than what {worse} learned"


_TITLES = {(True, False): "Where a difference is seen, word vectors add up better than the rest alone",
           (False, True): "Where a difference is seen, the rest alone adds up better than word vectors",
           (False, False): "Which part adds up better is within the noise",
           (True, True): "Which part adds up better depends on the start and the method"}  # better, worse


@in_full_alone
def reading_of_parts(sweep: xarray.Dataset) -> Page:
    """Does what word vectors learn alone add up better, over all starts and methods? And is one better off with them
    alone?"""
    tried = [more(sweep, start, method) for start in names(sweep.start) for method in METHODS]
    better, worse = sum(map(is_more, tried)), sum(lead.is_news and lead.value < 0 for lead in tried)
    title = _TITLES[better > 0, worse > 0]
    return reading(title, """
        We tried {count} settings, each a start with a way to merge. Word vectors alone keep more of what finetuning
        gained than all other weights in {better} of them, and less in {worse}, beyond two standard errors. {merged}""",
                   count=len(tried), better=better, worse=worse, merged=_of_pretrained(sweep))


def _of_pretrained(sweep):
    """What finetuning word vectors alone changes in task arithmetic and in each network, from the last start."""
    start, count = names(sweep.start)[-1], networks.sentences(sweep)
    rows = {name: [sweep.test.sel(start=start, trained=trained, reported=name).values for trained in (WORDS, WHOLE)]
            for name in (SIMPLEST, "single")}
    merged, alone = (difference(*rows[name], count) for name in (SIMPLEST, "single"))
    told = "is not seen to change" if not alone.is_news else f"is {'better' if alone.value > 0 else 'worse'}"
    return said("""From the start “{start}”, finetuning word vectors alone in place of all weights changes {method} by
                   {merged:+.1f} points{doubt}, and each network alone {told}.""", start=start, merged=merged,
                method=title_of(SIMPLEST), doubt=merged.doubt(), told=told)
