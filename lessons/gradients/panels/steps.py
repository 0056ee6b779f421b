"""Panel (b) shows what remains of the gap after the formula, which is our term, and the power of the step size with
which that falls. In the deeper notebook it shows the same after the paper's term, and after the paper's term with its
sign turned round."""
import functools

import numpy as np
import xarray

from lessons.gradients.experiment import steps
from lessons.gradients.experiment.common import DIGITS
from lessons.kit.page import Page, quiet, reading, said, table
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, Star, chips, key, slider, view

REMAINS = ("missed", "missed_printed", "missed_flipped")
SHARES, POWERS = (1e-5, 20.0), (0.0, 4.5)  # the axes' ends; what lies beyond is not drawn
SECOND = 0.1  # a power that is nearer to 2 is called the second
FEW = 0.1  # of what is missed, at most, is next to nothing
THIRD = 0.25  # a power that is nearer to 3 is called the third
KINK = 0.05  # of the gap, at least, if the samples across a kink are said to take part of it
LITTLE = 0.05  # of the gap, or of what is missed
MUCH = 0.5  # of the gap
CALLED = {DIGITS: "digits"}
CHIPS = {"network": ("tanh", "linear", "ReLU"), "alpha": {"¼": steps.AVERAGE, "½": steps.TRAP},
         "k": {f"{k}": k for k in steps.KS if k > 1}}
_ALT = """
    {data}, {network} network, {loss}, α = {alpha:.2f}, {k} steps of η = {eta:.2g}: the gap is {gap:.2g} long. After
    our term {missed:.2%} of it remains, after the paper’s {missed_printed:.0%}, and after the paper’s with its sign
    turned round {missed_flipped:.2%}. The paper’s term has the cosine {cosine_printed:.3f} with the gap. Over the
    smallest step sizes the lengths of what they leave fall with the powers {powers}, the gap with {of_gap:.2f}."""
_ALT_OF_OURS = """
    {data}, {network} network, {loss}, α = {alpha:.2f}, {k} steps of η = {eta:.2g}: the gap is {gap:.2g} long. After
    the formula {missed:.2%} of it remains. Over the smallest step sizes the gap falls with the power {of_gap:.2f}, and
    what remains with {of_missed:.2f}."""
_OF_RELU = f"grey: without the samples across a kink; powers above {POWERS[1]:g} are not drawn"
_SPLIT = """
    {text} Of the samples {crossing:.2%} lie across a kink. Of what {ours} leaves they make up {kinked:.2%} of the
    gap, all others {smooth:.2%}."""


@view
def term(sweep: xarray.Dataset, prediction=None):
    """Panel (b) of the lesson. The left chart shows which share of the gap the formula leaves, against η. The right one
    shows the power of η with which the gap and what remains fall. Both are for α = ¼, cross-entropy and Spirals.

    Controls: eta, network, k. The prediction is the power of the gap, which the chart marks with a star.
    """
    etas, asked = _etas(sweep), _asked(sweep)
    fixed = {name: asked[name] for name in ("alpha", "loss", "data")}
    if prediction:
        prediction.panel_answers(steps.slopes(sweep.sel(asked).gap).item(),
                                 {name: asked[name] for name in ("network", "k")})
    measured = functools.cache(lambda **where: _Measured(sweep.sel(fixed | where), with_printed=False))

    def draw(eta, **where):
        part = measured(**where)
        return Frame(part.finding, part.described(position(etas, eta, "eta")), part.values,
                     key(("single", "The gap between task arithmetic and joint training"),
                         ("merged", "What remains of it when you subtract the formula"),
                         *([("", _OF_RELU)] if where["network"] == "ReLU" and where["k"] <= steps.KINKS else [])))

    return {"kicker": "Chapter 6: a formula for the gap", "charts": _charts(etas, with_printed=False), "draw": draw,
            "controls": {"eta": _slider(etas), "network": chips("network", CHIPS["network"], asked["network"]),
                         "k": chips("k", CHIPS["k"], asked["k"], more=True)},
            "hides": ["power of gap", "power of missed"], "caption": f"{caption(sweep)} Spirals, α = ¼, cross-entropy."}


@view
def gap(sweep: xarray.Dataset):
    """Panel (b) of the deeper notebook. The left chart shows which share of the gap each of three terms leaves, against
    η. The right one shows the power of η with which the lengths of the gap and of what they leave fall.

    Controls: eta, network, alpha, k, loss, data.
    """
    etas, asked = _etas(sweep), _asked(sweep)
    measured = functools.cache(lambda **where: _Measured(sweep.sel(where)))

    def draw(eta, **where):
        part = measured(**where)
        return Frame(part.finding, part.described(position(etas, eta, "eta")), part.values,
                     key(("single", "The gap, task arithmetic to joint training"),
                         ("merged", "What remains after our term"), ("", "grey: after the paper’s term")))

    controls = {name: chips({"alpha": "α"}.get(name, name), options, asked[name], more=name != "network")
                for name, options in CHIPS.items()}
    remarks = f" Four tasks. With ReLU, for k ≤ {steps.KINKS}, what our term leaves is split by samples."
    return {"kicker": "Chapter 6: between the sum of task vectors and joint training",
            "tries": ("Choose “tanh” and “linear” and, under “More”, both losses, both families and all k.",
                      "Set α from ¼ to ½. Where does the dashed line go?",
                      "Move η to its right end.",
                      "Choose “ReLU”. Something is wrong there."),
            "charts": _charts(etas), "draw": draw,
            "controls": {"eta": _slider(etas), **controls, "loss": chips("loss", names(sweep["loss"]), more=True),
                         "data": chips("tasks", names(sweep["data"]), more=True)}, "caption": caption(sweep) + remarks}


def _etas(sweep):
    return [float(eta) for eta in sweep.eta.values]


def _asked(sweep):
    """The setting of the question, where both panels open."""
    return {"network": "tanh", "alpha": steps.AVERAGE, "k": 3, "loss": names(sweep["loss"])[0],
            "data": names(sweep["data"])[0]}


def _slider(etas):
    return slider("η", {f"{eta:.2g}": eta for eta in etas}, etas[position(etas, 0.01, "eta")],
                  words=lambda eta: f"step size η = {eta:.2g}", ends=[("", f"{etas[0]:.2g}"), ("", f"{etas[-1]:.2g}")])


def _charts(etas, with_printed=True):
    """Shares of the gap, and powers of η."""
    across = Axis("η", etas[0], etas[-1], "log",
                  {10.0 ** power: f"{10.0 ** power:g}" for power in range(-3, 0) if 10.0 ** power <= etas[-1] * 1.001})
    shares = Axis("share of the gap that remains", *SHARES, "log", {1e-4: "0.01 %", 1e-2: "1 %", 1: "100 %"}, "percent",
                  digits=2)
    of_the_paper = (Line("missed_flipped", "other", "its sign turned", dashed=True),
                    Line("missed_printed", "other", "the paper’s term")) if with_printed else ()
    ours = _name(with_printed)
    remains = ours if with_printed else "remains"
    left = Chart(across, shares, (
        Reference("the gap", "single", aside=True), Line("smooth", "other", "without kinks"), *of_the_paper,
        Line("missed", "merged", remains, dots=True), Handle("eta")))
    their_powers = (Line("power of missed_flipped", "other", dashed=True),
                    Line("power of missed_printed", "other")) if with_printed else ()
    powers = Axis("power of η with which each falls", *POWERS, digits=2)
    stars = () if with_printed else (Star("guess", "single", x=(etas[0],)),)
    right = Chart(across, powers, (
        *their_powers, Line("power of missed", "merged", f"after {ours}", dots=True),
        Line("power of gap", "single", "the gap"), *stars, Handle("eta")))
    return [left, right]


def _name(with_printed):
    """How the second-order term is called. The lesson has no other beside it, so there it is "the formula"."""
    return "our term" if with_printed else "the formula"


class _Measured:
    """One setting of everything but η, with the paper's terms or without.

    Attributes:
        finding: what the charts show.
        values: the numbers of the charts' marks, in which what lies beyond an axis is missing.
    """

    def __init__(self, part: xarray.Dataset, with_printed: bool = True):
        lengths = {name: part[name].values for name in ("gap", *REMAINS, "kinked", "smooth")}
        self._lengths = lengths
        self._shares = {name: length / lengths["gap"] for name, length in lengths.items()}
        self._where = {name: part[name].item() for name in ("data", "network", "loss", "alpha", "k")}
        self._etas, self._cosines, self._crossing = part.eta.values, part.cosine_printed.values, part.crossing.values
        self._orders = {name: steps.slopes(part[name]).item() for name in ("gap", *REMAINS)}
        self._alt, self._ours = _ALT if with_printed else _ALT_OF_OURS, _name(with_printed)
        self.finding = finding_of_terms(self._shares, self._orders, with_printed)
        shown = REMAINS if with_printed else REMAINS[:1]
        self.values = {name: _inside(self._shares[name], SHARES) for name in (*shown, "smooth")} | {"the gap": 1.0}
        for name in ("gap", *shown):
            self.values[f"power of {name}"] = _inside(_powers(self._etas, lengths[name]), POWERS)

    def described(self, place: int) -> str:
        """The alternative text at one of the step sizes."""
        shares = {name: share[place] for name, share in self._shares.items() if name != "gap"}
        powers = ", ".join(f"{self._orders[name]:.2f}" for name in REMAINS)
        text = said(self._alt, eta=self._etas[place], of_gap=self._orders["gap"], of_missed=self._orders["missed"],
                    powers=powers, gap=self._lengths["gap"][place], cosine_printed=self._cosines[place], **self._where,
                    **shares)
        if not np.isfinite(shares["smooth"]):
            return text
        return said(_SPLIT, text=text, ours=self._ours, crossing=self._crossing[place], **shares)


def _powers(etas, lengths):
    """(η,): the power of η with which a length falls around every step size. It is NaN where a length is 0."""
    return np.gradient(np.log(np.where(lengths > 0, lengths, np.nan)), np.log(etas))


def _inside(values, ends):
    return np.where((values >= ends[0]) & (values <= ends[1]), values, np.nan)


def finding_of_terms(shares: dict[str, np.ndarray], orders: dict[str, float], with_printed: bool = True) -> str:
    """Which term explains the gap, in one sentence.

    Args:
        shares: {name: (η,)}, as shares of the gap, of what each term leaves, and of what the samples across a kink and
            all others add. The last two are NaN where these samples were not told apart.
        orders: the powers of η with which what the terms leave falls, over the smallest step sizes.
        with_printed: whether the paper's term is shown.
    """
    ours = _name(with_printed)
    across = np.nan_to_num(shares["kinked"])
    if (across[across > np.nan_to_num(shares["smooth"])] >= KINK).any():
        return f"Where samples cross a kink, {ours} misses part of the gap"
    if abs(orders["missed"] - 3) > THIRD:
        return f"Even for small steps {ours} leaves much of the gap" if shares["missed"][0] > LITTLE else \
            f"Only for the smallest steps does {ours} explain the gap"
    if with_printed and abs(orders["missed_flipped"] - 3) <= THIRD:
        return "At this α the paper’s term passes the test too, once its sign is turned round"
    if with_printed and (shares["missed_printed"] > 1).all():
        return f"For small steps {ours} explains the gap, the paper’s makes it longer"
    return f"For small steps {ours} explains the gap"


# -- a table and a reading -------------------------------------------------------------------------

def slopes_table(sweep: xarray.Dataset) -> Page:
    """The powers of η with which the gap and what is left of it fall. Each cell gives the smallest and the largest over
    data, losses and k = 2, 3, 5. Every network has a row for every α."""
    columns = {"gap": "gap",
               "missed": "without our term",
               "missed_printed": "without the printed term",
               "missed_flipped": "without it, sign turned round"}
    rows = []
    for network in names(sweep.network):
        for alpha in map(float, sweep.alpha.values):
            part = sweep.sel(network=network, alpha=alpha, k=[2, 3, 5])
            rows.append((f"{network}, α = {alpha:g}", *(_span(steps.slopes(part[name])) for name in columns)))
    return table(("power of η", *columns.values()), rows, after=quiet(_why_relu_scatters(sweep)))


def _why_relu_scatters(sweep):
    """The powers with ReLU, apart for the cases in which some sample lies across a kink and those in which none
    does."""
    relu = sweep.sel(network="ReLU", k=[2, 3, 5])
    crossing = relu.crossing.isel(eta=[0, steps.TINY - 1])
    gap, missed = steps.slopes(relu.gap), steps.slopes(relu.missed)
    crossed = (crossing > 0).any("eta")
    sentences = [said("""A power is taken between two step sizes, {least:g} and {most:g}. With ReLU, in {calm} of {all}
        cases (data, loss, α and k) no sample lies across a kink at either.""", calm=int((~crossed).sum()),
                      all=crossed.size, least=crossing.eta.values[0], most=crossing.eta.values[-1])]
    for which, opening in ((~crossed, "There"), (crossed, f"In the others at most {float(crossing.max()):.1%} of the "
                                                          "samples do. There")):
        if which.any():
            sentences.append(f"{opening} the gap falls with a power of {_span(gap.where(which))}, and what our term "
                             f"leaves with one of {_span(missed.where(which))}.")
    return " ".join(sentences)


def lemma_table(sweep: xarray.Dataset) -> Page:
    """The same for Lemma 1 at α = ¼."""
    columns = {"lemma_first": "the drift alone leaves",
               "lemma_second": "with our bending",
               "lemma_printed": "with the printed ½"}
    rows = []
    for network in steps.SMOOTH:
        part = sweep.sel(network=network, alpha=steps.AVERAGE, k=[2, 3, 5])
        rows.append((network, *(_span(steps.slopes(part[name])) for name in columns)))
    return table(("Lemma 1: power of η", *columns.values()), rows)


def _span(powers):
    low = f"{float(powers.min()):.2f}"
    high = f"{float(powers.max()):.2f}"
    return low if low == high else f"{low} to {high}"


def reading_of_the_powers(sweep: xarray.Dataset) -> Page:
    """What halving η does to the gap and to what the formula leaves of it, over both smooth networks, both losses and
    both data sets."""
    numbers = steps.claim_3(sweep)
    powers = numbers["gap_power_least"], numbers["gap_power_most"]
    title = "Half the step size gives a quarter of the gap, in smooth networks and for small steps" if \
        all(abs(power - 2) <= SECOND for power in powers) else "How fast does the gap fall?"
    sentences = [said("""With tanh or linear units, on both data sets and with both losses (cross-entropy and squared
        error), it fell with a power of η between {gap_power_least:.2f} and {gap_power_most:.2f}.""", **numbers)]
    if numbers["missed_power_least"] >= 3 - THIRD:
        sentences.append(said("""What remains when you subtract the formula fell at least with the power
            {missed_power_least:.2f}, so the formula misses nothing of second order.""", **numbers))
    return reading(title, " ".join(sentences))


def reading_of_what_kinks_add(sweep: xarray.Dataset) -> Page:
    """How much of the gap the formula misses with ReLU, on average and where it is least and most, and how much of that
    the samples across a kink add."""
    numbers = steps.claim_3(sweep)
    middle = steps.middle_of_relu(sweep)
    missed = (middle.missed / middle.gap).mean("eta").to_series().sort_values()
    least, most = missed.iloc[0], missed.iloc[-1]
    much = "can miss much" if most >= MUCH else "misses part"
    title = f"With ReLU, the formula {much} of the gap, and nearly all of that comes from samples across a kink" if \
        numbers["relu_missed_over_gap"] >= KINK and numbers["relu_smooth_over_gap"] <= LITTLE and \
        abs(numbers["relu_kinked_over_missed_median"] - 1) <= LITTLE else "How much does the formula miss with ReLU?"
    where_least, where_most = (_setting(*missed.index[place]) for place in (0, -1))
    return reading(title, """
        With five steps of a medium size, it missed {relu_missed_over_gap:.0%} of the gap on average over both data
        sets and losses, from {least:.0%} on {where_least} to {most:.0%} on {where_most}. The samples across no kink
        added at most {relu_smooth_over_gap:.1%} of the gap, and those across one were only {relu_crossing:.1%} of
        all.""",
                   least=least, most=most, where_least=where_least, where_most=where_most, **numbers)


def _setting(data, loss):
    """As a sentence names it."""
    return f"{CALLED.get(data, data)} with {loss}"


def reading_of_the_kinks(sweep: xarray.Dataset) -> Page:
    """What the Hessian misses with ReLU, told apart by sample, with this sweep's numbers."""
    numbers, middle = steps.claim_3(sweep), steps.middle_of_relu(sweep)
    missed = middle.missed / middle.gap
    crossed = middle.crossing > 0
    uncrossed = sweep.crossing.sel(network="ReLU", k=steps.KINKS, alpha=steps.AVERAGE) == 0
    alone = "At every step size some sample crosses."
    if uncrossed.any():
        alone = said("""Where no sample lies across a kink, our term misses at most
                        {relu_without_crossing_missed_most:.2%}.""", **numbers)
    title = "Which samples does the Hessian miss?"
    if numbers["relu_smooth_over_gap"] < FEW * numbers["relu_missed_over_gap"]:
        title = "What the Hessian misses comes from the samples across a kink"
    first = reading(title, """
        With ReLU, α = ¼ and five steps, our term misses {relu_missed_over_gap:.0%} of the gap, in the mean over data,
        losses and step sizes between 0.001 and 0.01. The samples that no kink separates add at most
        {relu_smooth_over_gap:.1%} of the gap. All the rest comes from the samples across a kink, for which some unit is
        on at θ_t and off at θ_MT, or the other way round. In the mean over tasks and steps they are
        {relu_crossing:.1%} of the samples. {alone}""",
                    alone=alone, **numbers)
    spread = said("""What our term misses differs between data, losses and step sizes, from {least:.0%} to {most:.0%} of
                     the gap. Where
                     samples lie across a kink, they alone make up {kinked:.0%} of what is missed (median).""",
                  least=missed.min().item(), most=missed.max().item(),
                  kinked=(middle.kinked / middle.missed).where(crossed).median().item())
    return Page(f"{first.text}\n{spread}", first.page + quiet(spread))
