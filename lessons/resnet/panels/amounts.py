"""How much pretraining it takes."""
import numpy as np
import xarray

from lessons.kit.noise import Difference, with_reach
from lessons.kit.page import Markup, Page, paragraph, quiet, reading, said, table
from lessons.kit.sweep import at, caption, names
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, slider, view
from lessons.lines.numbers import SHOWN_ALPHAS
from lessons.resnet.panels.pairs import BLOCKS, CHANCE, STATISTICS, error_in_words, inner_alphas

TREATMENT = "re-estimated"  # of BatchNorm's statistics, unless another is asked for
ASKED = {"amount": "nothing", "treatment": TREATMENT, "alpha": 0.5}  # what the prediction is about
SAME_STEPS = ("1 split, 10 passes", "1 split, 20 passes", "10 splits, 2 passes")  # the last two are as many steps
MUCH = 0.15  # of a gap: a change of less is called none
_WORDS = """
    pretrained on {amount}: share of the distance between A and B {first:.3f} in block 1, {last:.3f} in block 8,
    accuracy of the midpoint {network:.3f}, mixed outputs {mixed:.3f}, A and B on their own tasks {ends:.3f}"""


@view
def pretraining(sweep: xarray.Dataset, prediction=None):
    """CTL against the amount of pretraining: left, the gap in block 8 as a share of the distance between A and B, with
    the middle half of the images; grey, in the other blocks. Right, the accuracy of the network half-way, of the mixed
    outputs, and of A and B on their own tasks.

    Controls: amount, treatment, alpha. The prediction, the share in block 8 without any pretraining, is a star.
    """
    amounts, images = names(sweep.amount), 2 * sweep.sizes["image"]
    scores = {treatment: _scores(sweep, treatment) for treatment in names(sweep.treatment)}
    if prediction:
        asked = at(sweep, layer=BLOCKS[-1], **ASKED)
        prediction.panel_answers(float(asked.gap_mean / asked.own_mean), ASKED)

    def draw(amount, treatment, alpha):
        part = at(sweep, treatment=treatment, alpha=alpha).sel(layer=list(BLOCKS)).transpose("layer", "amount", ...)
        share, low, high = (part[name].values / part.own_mean.values for name in ("gap_mean", "gap_low", "gap_high"))
        now = scores[treatment]
        values = dict(zip(BLOCKS, share)) | now | {"middle half": (low[-1], high[-1]), "chance": CHANCE,
                                                   "two standard errors": with_reach(now["network"], images)[1:]}
        told = "; ".join(said(_WORDS, amount=name, first=share[0, place], last=share[-1, place],
                              **{what: along[place] for what, along in now.items()})
                         for place, name in enumerate(amounts))
        alt = said("""CTL between splits 1 and 2 against the amount of pretraining at α = {alpha:.2f}, BatchNorm
                      statistics {treatment}: {told}.""", alpha=alpha, treatment=treatment, told=told)
        about = key(("merged", f"The network between A and B, which were pretrained on {amount}"),
                    ("", "grey, left: the other blocks"))
        return Frame(finding_of_amounts(amounts, share[-1]), alt, values, about)

    charts = _charts(sweep, amounts)
    return {"kicker": "Chapter 2: how much pretraining?", "charts": charts, "draw": draw,
            "controls": {"amount": slider("pretrained on", {amount: amount for amount in amounts}, ASKED["amount"],
                                          places=range(len(amounts))),
                         "treatment": chips("BatchNorm statistics", names(sweep.treatment), TREATMENT),
                         "alpha": inner_alphas()},
            "hides": [mark.name for chart in charts for mark in chart.marks if mark.parts and mark.name != "chance"],
            "caption": f"{_caption(sweep)} Shaded: left, the middle half of the images, right, two standard errors."}


def _charts(sweep, amounts):
    """Gap and accuracies over the amounts."""
    inside = sweep.sel(layer=list(BLOCKS), alpha=list(SHOWN_ALPHAS))
    highest = float((inside.gap_high / inside.own_mean).max())
    split = [amount.partition(",")[0].removesuffix(" splits") for amount in amounts]
    ticks = {place: "longer" if place and name == split[place - 1] else name for place, name in enumerate(split)}
    across = Axis("splits", -0.2, len(amounts) - 0.8, ticks=ticks)
    places = tuple(range(len(amounts)))
    left = Chart(across, Axis("gap, share of the distance from A to B", 0, 1.05 * highest, unit="percent"),
                 (*(Line(block, "other", x=places) for block in BLOCKS[:-1]), Band("middle half", "merged", x=places),
                  Line(BLOCKS[-1], "merged", BLOCKS[-1], x=places, dots=True, near=True),
                  Star("guess", "merged", x=(amounts.index(ASKED["amount"]),)), Handle("amount")))
    right = Chart(across, Axis("accuracy of the midpoint, both tasks", 0, 1, unit="percent"),
                  (Reference("chance", "chance", "chance"), Line("ends", "other", "A, B, own tasks", x=places),
                   Line("mixed", "single", "outputs mixed", x=places), Band("two standard errors", "merged", x=places),
                   Line("network", "merged", "weights mixed", x=places, dots=True), Handle("amount")))
    return [left, right]


def finding_of_amounts(amounts: list[str], gaps: np.ndarray) -> str:
    """Whether pretraining shrinks the gap, and whether more steps or more splits do, in one sentence.

    Args:
        gaps: (amounts,), in block 8, as shares of the distance between the ends; the first is without pretraining.
    """
    if gaps[1:].max() > (1 - MUCH) * gaps[0]:
        return "Not every pretraining shrinks the gap"
    if not set(SAME_STEPS) <= set(amounts):
        return "Pretraining shrinks the gap"
    once, twice, varied = (gaps[amounts.index(name)] for name in SAME_STEPS)
    if varied > (1 - MUCH) * twice:
        return "Pretraining shrinks the gap, but more splits shrink it no further than more steps"
    return "Pretraining shrinks the gap, and more splits shrink it further than more steps"


def _scores(sweep, treatment):
    """Accuracies over the amounts, both tasks together, of the half-way network, the mixed outputs, and the ends."""
    part = sweep.sel(treatment=treatment)
    half_way = part.sel(place="half-way")
    ends = [part.right.sel(place="θᵢ", task="i"), part.right.sel(place="θⱼ", task="j")]
    return {"network": half_way.right.astype(float).mean(["task", "image"]).values,
            "mixed": half_way.mixed_right.astype(float).mean(["task", "image"]).values,
            "ends": np.mean([end.astype(float).mean("image").values for end in ends], axis=0)}


def _caption(sweep):
    return f"{caption(sweep)} {error_in_words(sweep)}"


# -- in words --------------------------------------------------------------------------------------

def reading_of_pretraining(sweep: xarray.Dataset, treatment: str = TREATMENT) -> Page:
    """What the last amount of pretraining changes, beside none."""
    part = sweep.sel(treatment=treatment, alpha=0.5, layer=BLOCKS[-1])
    share = (part.gap_mean / part.own_mean).values
    smaller = share[-1] < (1 - MUCH) * share[0]
    return reading("With pretraining the gap is smaller" if smaller else "Does pretraining make the gap smaller?", """
        In the last block it is {first:.0%} of the distance between A and B without any pretraining, and {last:.0%}
        after pretraining on {amount}. The accuracy of the midpoint changes {compared}.""",
                   first=share[0], last=share[-1], amount=names(sweep.amount)[-1],
                   compared=_compared(sweep, treatment, 0, -1))


def reading_of_variety(sweep: xarray.Dataset, treatment: str = TREATMENT) -> Page:
    """More steps or more splits, in the last block, for a sweep that has `SAME_STEPS`."""
    part = sweep.sel(treatment=treatment, alpha=0.5, layer=BLOCKS[-1])
    places = [names(sweep.amount).index(name) for name in SAME_STEPS]
    once, twice, varied = (part.gap_mean / part.own_mean).values[places]
    gain = _change(sweep, treatment, *places[1:])
    variety = varied < (1 - MUCH) * min(once, twice) and abs(twice - once) <= MUCH * once and gain.value > 0
    return reading("More splits helped, and more steps on one split did not" if variety and gain.is_news else
                   "More steps or more variety?", """
        In the last block the gap is {once:.0%} of the distance between A and B after 10 passes over one split, and
        {twice:.0%} after twice as many. With these steps spread over ten splits it is {varied:.0%}, and the midpoint
        is {gain} points more accurate{doubt} than with all of them on one split. (One seed, statistics estimated
        anew.)""", once=once, twice=twice, varied=varied, gain=gain, doubt=gain.doubt())


def reading_of_amounts(sweep: xarray.Dataset, treatment: str = TREATMENT) -> Page:
    """What the amount of pretraining changes, with this sweep's numbers, half-way between the two networks."""
    part = sweep.sel(treatment=treatment, alpha=0.5)
    share = part.gap_mean / part.own_mean
    scores = _scores(sweep, treatment)
    head = ("pretrained on", "steps", "the endpoints, own tasks", "midpoint", "mixed outputs",
            "gap / distance, block 1", "gap / distance, block 8", "coef, block 8")
    rows = []
    for place, amount in enumerate(map(str, part.amount.values)):
        now = part.sel(amount=amount)
        of_amount = share.sel(amount=amount)
        rows.append((amount, f"{now.steps.item():,}", f"{scores['ends'][place]:.2f}", f"{scores['network'][place]:.2f}",
                     f"{scores['mixed'][place]:.2f}", f"{of_amount.sel(layer='block 1').item():.0%}",
                     f"{of_amount.sel(layer='block 8').item():.0%}",
                     f"{now.coef_mean.sel(layer='block 8').item():.2f}"))
    in_block_8 = share.sel(layer="block 8")
    verdict = said("""From the first row to the last, the gap in block 8 goes from {first:.0%} to {last:.0%} of the
                      distance between the endpoints, and the accuracy of the midpoint from {before:.2f} to {after:.2f}
                      ({verdict}).""",
                   first=in_block_8[0].item(), last=in_block_8[-1].item(), before=scores["network"][0],
                   after=scores["network"][-1], verdict=_compared(sweep, treatment, 0, -1))
    verdict += " " + _at_equal_steps(sweep, in_block_8.values, treatment)
    below = (f"All rows: splits 1 and 2, at the midpoint (α = ½), {STATISTICS[treatment]}{_ON[treatment]}. "
             f"{_caption(sweep)}")
    return table(head, rows, verdict.strip(), after=paragraph(verdict) + quiet(below))


_ON = {"interpolated": "", "batch": "",
       "re-estimated": " on training images of both tasks, in the endpoints as well"}  # what the statistics come from


def _change(sweep, treatment, first, second):
    """By how much the midpoint's accuracy changes from one amount of pretraining to another, image by image."""
    right = sweep.right.sel(treatment=treatment, place="half-way").transpose("amount", "task", "image").astype(float)
    return Difference.paired(right[second].values.ravel(), right[first].values.ravel())


def _compared(sweep, treatment, first, second):
    """Such a change in words."""
    change = _change(sweep, treatment, first, second)
    return f"by {change} points{change.doubt()}"


def _at_equal_steps(sweep, shares, treatment):
    """More steps or more variety: a sentence, or nothing where not all of the networks for that were pretrained."""
    amounts = {str(amount): place for place, amount in enumerate(sweep.amount.values)}
    if not amounts.keys() >= set(SAME_STEPS):
        return ""
    once, twice, varied = (amounts[name] for name in SAME_STEPS)
    return said(Markup("""
                   <b>More steps or more variety?</b> With twice the steps on the same split, block 8 goes from
                   {once:.0%} to {twice:.0%}, and the accuracy of the midpoint changes {longer}. With as many steps on
                   ten splits, none of them a finetuning task, it is {varied:.0%}, and compared with twice the steps the
                   accuracy changes {wider}."""),
                once=shares[once], twice=shares[twice], varied=shares[varied],
                longer=_compared(sweep, treatment, once, twice), wider=_compared(sweep, treatment, twice, varied))


def more_pretraining(sweep: xarray.Dataset | None):
    """The amounts that profile "full" measures, in every profile, where the repository or the profile has them."""
    if sweep is None:
        text = said("""Profile “full” also pretrains on 5, 10 and all 20 splits. What it measured is not in this copy
                       of the course. experiment.amounts.run("full") trains these eighteen networks of width 16
                       and measures them.""")
        return Page(text, Markup("<p><i>{}</i></p>").format(text))
    picture = pretraining(sweep).set(amount=names(sweep.amount)[-1])
    words = reading_of_variety(sweep)
    return Page(words.text, picture.still() + words.page)


def in_a_table(sweep: xarray.Dataset | None) -> Page:
    """The table of `reading_of_amounts` for profile "full", where the repository or the profile has it."""
    return more_pretraining(None) if sweep is None else reading_of_amounts(sweep)
