"""CART beside truncation without centring, direction by direction: a bell over the eight tasks of chapter 7, and what
becomes of bells if the output layer is cut, too."""
from dataclasses import replace

import numpy as np
import xarray

from lessons.cart.experiment import peak as experiment
from lessons.cart.experiment import several
from lessons.cart.experiment.grid import HOWS
from lessons.cart.panels.directions import finding_of_cart
from lessons.cart.panels.parts import COUNTS, Ranks, by_rank
from lessons.kit.noise import APART, Difference, reach
from lessons.kit.page import Page, capital, reading, said
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, view
from lessons.merging.search import rests_on

CUT, WHOLE = experiment.HEADS
EIGHT = "8 tasks"
ASKED = 10.0  # directions, of which the first question asks
CASES = {EIGHT: EIGHT, experiment.USUAL: "4 tasks", "3 tasks": "3 tasks",
         experiment.MANY_IMAGES: f"4 tasks, {experiment.MANY_IMAGES}",
         several.CASE: several.CASE}  # as the chips name them
CLEAR = 0.05  # a lead that the readings call one
_GREY = "grey curve: truncated without centring, λ at its best; straight grey lines: other merges"
_ALT = """
    {case}, {head}. With {rank}, CART has {centred:.3f} ± {error:.3f}, and truncation without centring {plain:.3f}. By
    directions kept, centred {of_centred}; not centred {of_plain}. Average {average:.3f}, task arithmetic with all
    directions {arithmetic:.3f}, networks alone {own:.3f}."""


def curves(sweep: xarray.Dataset, case: str, head: str) -> tuple[np.ndarray, np.ndarray]:
    """The accuracies of CART and of truncation without centring at every number of directions, λ at its best."""
    part = sweep.sel(case=case)
    centred, plain = (part.accuracy.sel(head=head, how=how).values for how in HOWS)
    return centred, plain


def best_of(sweep: xarray.Dataset, case: str, head: str) -> tuple[float, float]:
    """The accuracies of CART and of truncation without centring, each at its best number of directions."""
    centred, plain = curves(sweep, case, head)
    return float(centred.max()), float(plain[1:-1].max())


def in_percent(**shares: float) -> dict[str, float]:
    """The same numbers as per cent, for a sentence."""
    return {name: 100 * share for name, share in shares.items()}


@view
def bell(sweep: xarray.Dataset, prediction=None):
    """Accuracy of CART at every number of directions on the tasks of `several.measure`, output layer averaged; grey,
    truncation without centring. Control: rank. The prediction, CART's accuracy at `ASKED` directions, is a star."""
    ranks, part = Ranks(sweep), sweep.sel(case=several.CASE)
    centred, _ = curves(sweep, several.CASE, WHOLE)
    place = position(ranks.values, ASKED, "rank")
    if prediction:
        prediction.panel_answers(centred[place], {"rank": ASKED})

    def draw(rank):
        title = finding_of_cart(centred, part.average.item(), int(part.images))
        frame = _frame(sweep, rank, several.CASE, WHOLE, title)
        ties = part.ties.item()
        return replace(frame, alt=f"{frame.alt} TIES {ties:.3f}.", values=frame.values | {"ties": ties})

    tasks = "MNIST, Fashion-MNIST and three copies of each with their pixels permuted, as in chapter 7."
    return {"kicker": "Chapter 8: between none and all", "draw": draw,
            "charts": [_chart(ranks, Star("guess", "merged", x=(ranks.places[place],)),
                              Reference("ties", "other", "TIES"))],
            "controls": {"rank": ranks.view_slider(ASKED)}, "hides": ["centred", "sure", "plain"],
            "caption": f"{caption(sweep)} {tasks} The output layer is left whole; without centring it is θ₀ "
                       f"plus λ times the sum of the task vectors. {_measured(sweep)}"}


@view
def centring(sweep: xarray.Dataset, prediction=None):
    """The same with the output layer cut like the hidden one, and for other sets of tasks, those of `peak.measure` and
    of `several.measure` in one. Controls: rank, head, case. The prediction, the best accuracy of truncation without
    centring with the output layer cut, is a star."""
    ranks = Ranks(sweep)
    _, plain = curves(sweep, EIGHT, CUT)
    place = 1 + int(plain[1:-1].argmax())
    if prediction:
        prediction.panel_answers(plain[place], {"head": CUT, "case": EIGHT})

    def draw(rank, head, case):
        return _frame(sweep, rank, case, head, finding(*best_of(sweep, case, head), int(sweep.sel(case=case).images)))

    named = {text: name for name, text in CASES.items() if name in sweep.case.values}
    return {"kicker": "Chapter 8: with and without centring", "draw": draw,
            "charts": [_chart(ranks, Star("guess", "other", x=(ranks.places[place],)))],
            "controls": {"rank": ranks.view_slider(ranks.values[place]),
                         "head": chips("output layer", {"cut, too": CUT, "left whole": WHOLE}, CUT),
                         "case": chips("networks", named, EIGHT, more=True)},
            "hides": ["centred", "sure", "plain"],
            "caption": f"{caption(sweep)} Digits with all pixels permuted; digits and clothes as under the last panel. "
                       f"{_measured(sweep)}"}


def _frame(sweep, rank, case, head, title):
    ranks, part = Ranks(sweep), sweep.sel(case=case)
    centred, plain = curves(sweep, case, head)
    errors, place = reach(centred, int(part.images)), position(ranks.values, rank, "rank")
    levels = {"own": part.own.item(), "average": part.average.item(), "arithmetic": float(plain[-1])}
    alt = said(_ALT, case=capital(case), head=head, rank=ranks.said(rank), centred=centred[place], error=errors[place],
               plain=plain[place], of_centred=by_rank(ranks, centred), of_plain=by_rank(ranks, plain), **levels)
    values = {"sure": (centred - errors, centred + errors), "centred": centred, "plain": plain, **levels}
    return Frame(title, alt, values, key(("merged", "CART, λ at its best"),
                                         ("", _GREY)))


def _chart(ranks, star, *others):
    places = ranks.places
    return Chart(ranks.view_axis("directions kept in the hidden layer", tail=True),
                 Axis("mean accuracy over the tasks", 0, 1, unit="percent"),
                 (Reference("own", "single", "each alone"), Reference("arithmetic", "other", "task arithmetic"),
                  Reference("average", "other", "average"), Line("plain", "other", "not centred", x=places, near=True),
                  Band("sure", "merged", x=places), Line("centred", "merged", "CART", x=places, dots=True, near=True),
                  *others, star, Handle("rank")))


def _measured(sweep):
    return (f"λ chosen at every number of directions on held-out images. Task arithmetic: task vectors from θ₀ with "
            f"all directions. A best number of directions is best on the test images. {rests_on(sweep)} Band: two "
            f"standard errors, {APART}.")


def finding(centred: float, plain: float, images: int) -> str:
    """Which is ahead, each with its best number of directions."""
    lead = Difference.of(centred, plain, images)
    if not lead.is_news:
        return "At its best, truncation is as accurate with centring as without"
    return "At its best, truncation is more accurate with centring" if lead.value > 0 else \
        "At its best, truncation is more accurate without centring"


def question(sweep: xarray.Dataset) -> str:
    """What is asked before `bell`."""
    part = sweep.sel(case=several.CASE)
    return said("""Chapter 7’s eight tasks. The average is {average:.0f} % accurate, and the networks alone {own:.0f} %
                   on average. How accurate is CART when it keeps **{kept:.0f}** of the 400 directions?""",
                kept=ASKED, **in_percent(average=part.average.item(), own=part.own.item()))


def question_of_centring(sweep: xarray.Dataset) -> str:
    """What is asked before `centring`."""
    (cart, plain), (cart_cut, _) = best_of(sweep, EIGHT, WHOLE), best_of(sweep, EIGHT, CUT)
    return said("""Eight tasks of digits, all pixels permuted. With the output layer left whole, CART’s best is
                   {cart:.0f} %, and the best without centring {plain:.0f} %. Now the output layer is **cut, too**, and
                   CART’s best is {cart_cut:.0f} %. How accurate is truncation **without centring** at its best?""",
                **in_percent(cart=cart, plain=plain, cart_cut=cart_cut))


def reading_of_the_bell(sweep: xarray.Dataset) -> Page:
    """Whether the best lies between both ends, and whether it needs both centring and truncating."""
    part, ranks = sweep.sel(case=several.CASE), Ranks(sweep)
    centred, _ = curves(sweep, several.CASE, WHOLE)
    cart, plain = best_of(sweep, several.CASE, WHOLE)
    best, average = int(centred.argmax()), part.average.item()
    inside = 0 < best < len(centred) - 1 and cart - average >= 2 * CLEAR
    title, few = "Accuracies on these eight tasks", ""
    if inside:
        half = (centred > (average + cart) / 2).argmax()
        few = said("With fewer than {first}, less than half of this gain is there.",
                   first=ranks.said(ranks.values[half]))
        title = "The best accuracy lies between the ends"
        if cart - plain >= CLEAR:
            title += ", and on these tasks it needs both centring and truncating"
    return reading(title,
                   """With {kept}, CART has {cart:.0f} %. The average, which is what centring without truncating
                      gives, has {average:.0f} %. {few} Truncating without centring gives {plain:.0f} %
                      with its best number of directions, and task arithmetic, which does neither,
                      {arithmetic:.0f} %.""",
                   kept=ranks.said(ranks.values[best]), few=few,
                   **in_percent(cart=cart, average=average, plain=plain,
                                arithmetic=curves(sweep, several.CASE, WHOLE)[1][-1]))


def reading_of_the_output_layer(sweep: xarray.Dataset) -> Page:
    """Who is ahead on eight tasks with the output layer whole and cut, and whether that is so on other tasks."""
    (cart, plain), (cart_cut, plain_cut) = (best_of(sweep, EIGHT, head) for head in (WHOLE, CUT))
    images = int(sweep.sel(case=EIGHT).images)
    leads = [Difference.of(cart, plain, images), Difference.of(cart_cut, plain_cut, images)]
    turned = all(lead.is_news for lead in leads) and leads[0].value > 0 > leads[1].value
    title = "On these eight tasks, CART led with the output layer whole, and fell behind when it was cut, too" \
        if turned else "CART and truncation without centring on these eight tasks"
    return reading(title,
                   """Each has the number of directions that is best on the test images. With the output layer left
                      whole, CART has {cart:.0f} %, and without centring {plain:.0f} %. With the output layer cut, too,
                      CART has {cart_cut:.0f} %, and without centring {plain_cut:.0f} %. {only} {four} {cases}""",
                   only=_only_at(sweep), four=_with_four_tasks(sweep), cases=_of_all_cases(sweep),
                   **in_percent(cart=cart, plain=plain, cart_cut=cart_cut, plain_cut=plain_cut))


def _lead(sweep, case, head):
    """CART at its best minus truncation without centring at its best."""
    return Difference.of(*best_of(sweep, case, head), int(sweep.sel(case=case).images))


def _only_at(sweep):
    """One sentence, if truncation without centring is ahead of CART's best on eight tasks with the output layer cut at
    one number of directions alone."""
    ranks, images = Ranks(sweep), int(sweep.sel(case=EIGHT).images)
    centred, plain = curves(sweep, EIGHT, CUT)
    leads = [Difference.of(value, centred.max(), images) for value in plain[1:-1]]
    ahead = [place for place, lead in enumerate(leads, 1) if lead.is_news and lead.value > 0]
    if len(ahead) != 1:
        return ""
    return (f"{ranks.texts[ahead[0]]} is the only number of directions at which truncation without centring beats "
            "CART’s best by more than the noise.")


def _with_four_tasks(sweep):
    """Two sentences on four tasks, with the output layer whole and cut."""
    hows = []
    for head in (WHOLE, CUT):
        lead = _lead(sweep, experiment.USUAL, head)
        hows.append("the two are level within the noise" if not lead.is_news else
                    "CART is ahead" if lead.value > 0 else "truncation without centring is ahead")
    return f"With four tasks and the output layer whole, {hows[0]}. If it is cut, {hows[1]}."


def _of_all_cases(sweep):
    """One sentence on who is ahead in how many of the panel's cases."""
    leads = [_lead(sweep, case, head) for case in CASES if case in sweep.case.values for head in (WHOLE, CUT)]
    ahead, behind = (sum(lead.is_news and sign * lead.value > 0 for lead in leads) for sign in (1, -1))
    return (f"Of the {COUNTS[len(leads)]} cases on this panel, CART is ahead in {COUNTS[ahead]} and truncation without "
            f"centring in {COUNTS[behind]}.")


def reading_of_the_grey_line(sweep: xarray.Dataset) -> Page:
    """From which number of directions on truncation without centring is task arithmetic on eight tasks if the output
    layer is whole, and far above it if it is cut."""
    ranks, images = Ranks(sweep), int(sweep.sel(case=EIGHT).images)
    (_, uncut), (_, cut) = (curves(sweep, EIGHT, head) for head in (WHOLE, CUT))
    arithmetic = float(uncut[-1])
    both = [not Difference.of(level, arithmetic, images).is_news and above - arithmetic >= 2 * CLEAR
            for level, above in zip(uncut[:-1], cut[:-1])]
    first = len(both)
    while first > 1 and both[first - 1]:
        first -= 1
    if first == len(both):
        return reading("Task arithmetic on these eight tasks", "It has {all:.0f} %.", all=100 * arithmetic)
    least = np.floor(100 * float(cut[first:-1].min()))
    return reading("With more than a few directions, the gain without centring comes from cutting the output layer",
                   """Take eight tasks, and the line “not centred” from {first} on, but not with all of them. With the
                      output layer whole, it is level with task arithmetic, which has {all:.0f} %. With that layer cut,
                      it has at least {least:.0f} %.""",
                   first=ranks.said(ranks.values[first]), all=100 * arithmetic, least=least)
