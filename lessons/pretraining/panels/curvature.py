"""The pictures of Theorem 1: one view, the bound's slack, and the regression of CTL, B.2."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Page, minus, paragraph, reading, said, table
from lessons.kit.plotting import COLOURS, GREY, MARKERS, Look, still
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, Star, chips, key, slider, view
from lessons.pretraining.algorithms.predicting import interval
from lessons.pretraining.experiment import curvature
from lessons.pretraining.experiment.curvature import FUNCTIONS

NAMES = {"loss": "the loss",
         "loss, smooth": "the loss, smooth ReLU",
         "logit": "the right class's logit",
         "logit, smooth": "the right class's logit, smooth ReLU"}
_PARTS = ("deviation", "second", "bound")
_DASHED = {"color": GREY, "linestyle": "--", "linewidth": 1.2, "marker": ""}  # where both sides are equal


# -- panel (e): both sides -------------------------------------------------------------------------

RIGHT = 0.1  # of a curvature: automatic differentiation that is off by less is right
_ALT = """
    f is {f}, scale {scale}: measured |δ| {delta:.3g}, f {sags} the straight line half-way, second-order term
    {second:.3g}, bound {bound:.3g}, {slack:,.0f} times |δ|. Curvature along the line {bending:+.3f}, by automatic
    differentiation at the checkpoint {derived:+.3f}."""


@view
def both_sides(sweep: xarray.Dataset, prediction=None):
    """Panel (e): the curvature along the line, with its sign, as the two networks are brought closer to their
    checkpoint, measured and by automatic differentiation; right, δ, the bound and the second-order term.

    Controls: scale, function. The prediction, the curvature of the loss measured close to the checkpoint, is a star.
    """
    scales = [float(scale) for scale in sweep.scale.values[::-1]]
    of_functions = {name: _of_function(sweep, name) for name in FUNCTIONS}
    asked = {"scale": scales[::-1][curvature.NEAR], "function": "loss"}
    if prediction:
        prediction.panel_answers(of_functions["loss"]["measured"][position(scales, asked["scale"])], asked)

    def draw(scale, function):
        lines, step = of_functions[function], position(scales, scale, "scale")
        values = {"straight": 0.0, "by autograd": lines["derived"], "measured": lines["measured"],
                  "bound": lines["bound"], "second order": np.abs(lines["second"]), "δ": np.abs(lines["deviation"])}
        deviation, second, bound = (lines[name][step] for name in _PARTS)
        alt = said(_ALT, f=NAMES[function], scale=_scale(scale), delta=abs(deviation), second=second, bound=bound,
                   sags="sags below" if deviation > 0 else "bulges above", slack=bound / abs(deviation),
                   bending=lines["measured"][step], derived=lines["derived"])
        return Frame(lines["finding"], alt, values,
                     key(("merged", f"Measured half-way between A and B; f is {NAMES[function]}"),
                         ("single", "By automatic differentiation (autograd), at the checkpoint")))

    control = slider("s", {_scale(scale): scale for scale in scales}, asked["scale"],
                     words=lambda scale: f"s = {_scale(scale)}",
                     ends=[("", "next to the checkpoint"), ("", "as trained")])
    largest = ", ".join(f"{value:.1f}" for value in sweep.function_largest.values)
    return {"kicker": "Chapter 5: curvature and distance",
            "tries": ("Move s to 1, where both networks stand as they were trained.",
                      "Choose “the loss, smooth ReLU”. Do the two agree now?"),
            "charts": _charts(scales, of_functions), "draw": draw,
            "controls": {"scale": control, "function": chips("f is", {NAMES[name]: name for name in FUNCTIONS})},
            "hides": ["measured", "δ", "bound", "second order"],
            "caption": f"{caption(sweep)} A and B stand at θ₀ + s·(θ − θ₀). λmax {largest} for the four choices of f."}


def _charts(scales, of_functions):
    """The curvature, and both sides of the theorem, over the scale."""
    across = Axis("s", scales[0], scales[-1], "log", ticks={scale: _scale(scale) for scale in scales[::-3]})
    bends = np.array([[*lines["measured"], lines["derived"]] for lines in of_functions.values()])
    room = 0.1 * np.ptp(bends)  # three times as much above, for the value of the highest point
    left = Chart(across, Axis("curvature along the line", min(bends.min(), 0) - room, bends.max() + 3 * room,
                              digits=3),
                 (Reference("straight", "other", ""), Reference("by autograd", "single", "by autograd"),
                  Line("measured", "merged", "measured", dots=True, near=True),
                  Star("guess", "merged", x=(scales[::-1][curvature.NEAR],)), Handle("scale")))
    sizes = np.abs([lines[name] for lines in of_functions.values() for name in _PARTS])
    low, high = np.floor(np.log10(sizes.min())), np.ceil(np.log10(sizes.max()))
    powers = {10.0 ** power: f"10{_raised(power)}" for power in np.arange(high, low - 1, -2)}
    right = Chart(across, Axis("size, in units of f", 10.0 ** low, 10.0 ** high, "log", ticks=powers),
                  (Line("bound", "other", "bound"), Line("second order", "single", "|second order|", dashed=True),
                   Line("δ", "merged", "measured |δ|", dots=True, bare=True), Handle("scale")))
    return [left, right]


def _raised(power):
    """A whole number as an exponent."""
    return f"{power:.0f}".translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def finding_of_curvature(function: str, derived: float, measured: np.ndarray) -> str:
    """What automatic differentiation at the checkpoint makes of the curvature along the line.

    Args:
        derived: what it gives.
        measured: at several scales close to the checkpoint.
    """
    smooth, whose = " with a smooth ReLU" * ("smooth" in function), f"the {function.partition(',')[0]}’s curvature"
    off = Difference.paired(measured, np.full(len(measured), derived))
    mean = float(np.mean(measured))
    if abs(off.value) < RIGHT * abs(derived):
        finds = f"has {whose} right"
    elif not off.is_news:
        finds = f"gets {whose} to within the noise"
    elif mean * derived < 0:
        finds = f"gets the sign of {whose} wrong"
    else:
        finds = f"makes {whose} too {'small' if abs(mean) > abs(derived) else 'large'}"
    return f"Near the checkpoint, autograd {finds}{smooth}"


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (e)."""
    derived = sweep.function_along.sel(function="loss").item()
    return said("""At the checkpoint, automatic differentiation gives the loss the curvature **{derived}** along the
                   line. Which curvature is measured close to it, at s = {scale}?""",
                derived=minus(f"{derived:+.3f}"), scale=_scale(sweep.scale.values[curvature.NEAR]))


def _of_function(sweep, name):
    """What the view shows of one f, from the smallest scale to 1: signed numbers, the curvatures, and the title."""
    signed = {part: sweep[f"scaled_{part}"].sel(function=name).values[::-1] for part in _PARTS}
    derived, measured = sweep.function_along.sel(function=name).item(), curvature.bending(sweep, name).values
    finding = finding_of_curvature(name, derived, measured[curvature.CLOSE])
    return signed | {"measured": measured[::-1], "derived": derived, "finding": finding}


def _scale(value):
    return "1" if value == 1 else f"1/{1 / value:.0f}"


# -- still figures ---------------------------------------------------------------------------------

@still
def slack(sweep: xarray.Dataset):
    """Left, δ of all pairs beside the bound; right, beside the second-order term at the checkpoint (hollow) and
    half-way (filled)."""
    fig, (left, right) = plotting.figure(2, height=4.8)
    times = curvature.predictors(sweep)["product"] / np.abs(sweep.deviation.values)
    _bounds(left, sweep)
    left.set_title(f"The bound: median {np.median(times):.0f} times |δ|")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2,
               title="both charts: pretraining, and the largest curvature at the checkpoint")
    _second_orders(right, sweep)
    alt = said("""{pairs} pairs: the bound is {least:.1f} to {most:,.0f} times the measured |δ|, median {median:.0f}.
                  The second-order term along the line, with its sign, is in the median {start:.2f} times δ with
                  the Hessian at the checkpoint and {half_way:.2f} times with the Hessian half-way.""",
               pairs=sweep.sizes["pairs"], least=np.min(times), most=np.max(times), median=np.median(times),
               start=np.median(sweep.at_start / sweep.deviation), half_way=np.median(sweep.half_way / sweep.deviation))
    return plotting.show(fig, alt, caption(sweep) + " Each mark is a pair of networks. Dashed: both sides equal. "
                                                    "Right: linear from −0.001 to 0.001, logarithmic beyond.")


def _bounds(ax, sweep):
    """δ of all pairs over the bound, marked by checkpoint."""
    delta, bound = np.abs(sweep.deviation.values), curvature.predictors(sweep)["product"]
    for number in range(sweep.sizes["which"]):
        mine, look = sweep.checkpoint.values == number, _look(number)
        label = f"{str(sweep.name.values[number])}, λmax {sweep.largest.values[mine][0]:.3g}"
        ax.scatter(bound[mine], delta[mine], s=28, color=look.colour, marker=look.marker, label=label)
    ends = np.array([min(delta.min(), bound.min()) / 1.5, bound.max() * 1.5])
    ax.plot(ends, ends, **_DASHED)
    ax.set(xscale="log", yscale="log", xlabel="bound, ⅛·λmax·‖θᵢ − θⱼ‖² (nats)", ylabel="measured |δ| (nats)")


def _second_orders(ax, sweep):
    """δ of all pairs over the second-order term, marked by checkpoint: hollow with its Hessian, filled half-way."""
    for values, filled, label in ((sweep.at_start.values, False, "hollow: Hessian at the checkpoint"),
                                  (sweep.half_way.values, True, "filled: Hessian half-way between the two")):
        for number in range(sweep.sizes["which"]):
            mine, look = sweep.checkpoint.values == number, _look(number)
            ax.scatter(values[mine], sweep.deviation.values[mine], s=24, marker=look.marker, edgecolors=look.colour,
                       facecolors=look.colour if filled else "none")
        ax.scatter([], [], s=24, edgecolors=GREY, facecolors=GREY if filled else "none", label=label)
    both = np.concatenate([sweep.at_start.values, sweep.half_way.values])
    line = np.linspace(min(both.min(), 0), both.max(), 500)
    ax.plot(line, line, **_DASHED)
    ax.set(xlabel="second-order term, ⅛·dᵀHd (nats)", ylabel="measured δ, with its sign (nats)",
           title="The curvature along the line itself")
    for scale in (ax.set_xscale, ax.set_yscale):  # from −0.001 to 0.001 linear, beyond it logarithmic
        scale("symlog", linthresh=1e-3)
    ax.legend(loc="upper left")


_BENT = {"product": "largest curvature", "at_start": "along the line, at the checkpoint",
         "half_way": "along the line, half-way"}


@still
def predicted(sweep: xarray.Dataset):
    """The size of δ of all pairs over what the formula gives, with three curvatures; hollow where it gets the sign
    wrong."""
    fig, axes = plotting.figure(3, height=4.2, sharex=True, sharey=True)
    delta, given = sweep.deviation.values, curvature.predictors(sweep)
    every = np.abs([delta, *(given[name] for name in _BENT)])
    ends = np.array([every.min() / 2, 2 * every.max()])
    told = []
    for ax, (name, title) in zip(axes, _BENT.items()):
        wrong = _sign_is_wrong(sweep, name)
        for number in range(sweep.sizes["which"]):
            look = _look(number)
            for of_kind, face in ((~wrong, look.colour), (wrong, "none")):
                mine = (sweep.checkpoint.values == number) & of_kind
                ax.plot(given[name][mine], np.abs(delta[mine]), color=look.colour, marker=look.marker, linestyle="",
                        markersize=6, markerfacecolor=face, label=str(sweep.name.values[number]) if mine.any() else "")
        ax.plot(ends, ends, **_DASHED)
        ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="⅛ · curvature · distance²", title=title)
        times = np.median(given[name] / np.abs(delta))
        told.append(f"{title}: {times:.2f} times the measured size in the median, sign wrong for {wrong.sum()}")
    axes[0].set_ylabel("measured size of δ (nats)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, title="pretraining")
    return plotting.show(fig, f"δ of {len(delta)} pairs over the formula's. {'; '.join(told)}.",
                         caption(sweep) + " Dashed: the formula is exact. Hollow: it gets the sign of δ wrong.")


def _sign_is_wrong(sweep, name):
    """(pairs,): whether the formula with this curvature has another sign than δ; of the largest curvature, which bounds
    the size alone, it is never said."""
    if name == "product":
        return np.zeros(sweep.sizes["pairs"], dtype=bool)
    return sweep[name].values * sweep.deviation.values < 0


def _after_random_labels(sweep):
    """(pairs,): whether a pair began from random labels learned by heart."""
    return np.array(["random labels" in str(name) for name in sweep.name.values])[sweep.checkpoint.values]


def _look(number):
    """Of a checkpoint; more than there are colours take another marker."""
    count = len(COLOURS)
    return Look(COLOURS[number % count], MARKERS[(number + number // count) % count])


@still
def regressions(sweep: xarray.Dataset):
    """The three regressions of CTL, B.2, and a fourth: δ on the product, on λmax, on the squared distance, and on the
    curvature half-way."""
    fig, axes = plotting.figure(2, 2, height=6.4, sharey=True)
    delta = np.abs(sweep.deviation.values)
    predictors = curvature.predictors(sweep)
    r2 = curvature.r2(sweep)
    sure = curvature.r2_intervals(sweep)
    labels = {"product": "⅛·λmax·‖d‖²", "largest": "λmax", "distance": "‖d‖²", "half_way": "⅛·|dᵀHd|, half-way"}
    for ax, (name, label) in zip(axes.flat, labels.items()):
        for number in range(sweep.sizes["which"]):
            mine = sweep.checkpoint.values == number
            look = _look(number)
            ax.scatter(predictors[name][mine], delta[mine], s=24, color=look.colour, marker=look.marker,
                       label=str(sweep.name.values[number]))
        low, high = sure[name]
        ax.set(xlabel=label, title=f"R² = {r2[name]:.2f} ({low:.2f} to {high:.2f})")
        ax.margins(0.06)
    for ax in axes[:, 0]:
        ax.set_ylabel("measured |δ| (nats)")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    each = []
    for name, label in labels.items():
        low, high = sure[name]
        each.append(f"{r2[name]:.3f} on {label} ({low:.2f} to {high:.2f})")
    alt = (f"{sweep.sizes['pairs']} pairs from {sweep.sizes['which']} checkpoints. R² of the measured |δ|: "
           f"{', '.join(each)}.")
    return plotting.show(fig, alt, caption(sweep) + " In brackets: where 95 % of R² lie when the checkpoints are drawn "
                                                    "anew.")


# -- in words --------------------------------------------------------------------------------------

_CLOSE = "mean over s = 1/32, 1/64 and 1/128"  # the scales of `curvature.CLOSE`


def both_in_numbers(sweep: xarray.Dataset) -> Page:
    """The curvature along the line by automatic differentiation and as measured, and the bound over |δ|, for every f,
    as a table."""
    rows = []
    for name in FUNCTIONS:
        numbers = curvature.theorem(sweep, name)
        signed = (f"{numbers['derived']:+.3f}", f"{numbers['measured']:+.3f}")
        rows.append((NAMES[name], *map(minus, signed), f"{numbers['slack']:,.0f}"))
    return table(("f is", "curvature along the line by autograd", f"measured, {_CLOSE}", "bound over |δ|, s = 1"), rows)


def ratios_in_numbers(sweep: xarray.Dataset) -> Page:
    """The curvature along the line over the largest one, and the second-order term over δ, for every f, as a table."""
    rows = []
    for name in FUNCTIONS:
        numbers = curvature.theorem(sweep, name)
        signed = (f"{numbers['second']:+.2f}", f"{numbers['second_near']:+.2f}")
        rows.append((NAMES[name], f"{numbers['along']:.1%}", *map(minus, signed)))
    return table(("f is", "|curvature along the line| over λmax, by autograd", "second-order term over δ, s = 1",
                  "the same, s = 1/64"), rows)


def how_fast(sweep: xarray.Dataset) -> Page:
    """The local exponents of δ: the power with which it falls from one scale to half of it."""
    scales = sweep.scale.values
    rows = []
    for name in FUNCTIONS:
        powers = curvature.exponents(sweep.scaled_deviation.sel(function=name))
        rows.append((NAMES[name], *("sign" if np.isnan(power) else f"{power:.1f}" for power in powers)))
    return table(("|δ| falls with the power, from s =", *map(_scale, scales[:-1])), rows)


def reading_of_a_pair(sweep: xarray.Dataset) -> Page:
    """How to read the marks of `slack`, with the pair whose bound is the most times its δ."""
    times = curvature.predictors(sweep)["product"] / np.abs(sweep.deviation.values)
    pair = sweep.isel(pairs=int(times.argmax()))
    bound, delta, start, half_way = (
        minus(np.format_float_positional(value, precision=2, fractional=False, trim="-"))
        for value in (times.max() * abs(pair.deviation.item()), abs(pair.deviation.item()), pair.at_start.item(),
                      pair.half_way.item()))
    return reading("How to read a mark", """
        Find the mark farthest below the dashed line in the left chart. It is a pair that began from “{name}”. Its bound
        is {bound} nats and its measured |δ| {delta} nats, so the bound is {times:,.0f} times |δ|. In the right chart
        this pair has two marks at one height. The hollow one is at {start} nats, where the Hessian is taken at the
        checkpoint, and the filled one at {half_way} nats, where it is taken half-way.""",
                   name=str(sweep.name.values[pair.checkpoint.item()]), bound=bound, delta=delta, times=times.max(),
                   start=start, half_way=half_way)


def reading_of_the_sign(sweep: xarray.Dataset) -> Page:
    """For how many pairs the second-order term half-way has another sign than δ, after random labels and else."""
    random, wrong = _after_random_labels(sweep), _sign_is_wrong(sweep, "half_way")
    title = ("After random labels even the sign is mostly wrong" if wrong[random].mean() > 0.5
             else "Does the term have the sign of δ?")
    return reading(title, """
        Half-way (filled marks), the second-order term and δ have opposite signs for {random} of the {of_random} pairs
        that began from random labels, and for {others} of the {of_others} other pairs. The regressions below cannot
        show this, because they use |δ|.""",
                   random=wrong[random].sum(), of_random=random.sum(), others=wrong[~random].sum(),
                   of_others=(~random).sum())


def reading_of_slack(sweep: xarray.Dataset) -> Page:
    """How well the curvature along the line and the largest curvature predict δ: by how much the formula with the
    largest is off, and R², which a constant factor leaves as it is."""
    r2, random = curvature.r2(sweep), _after_random_labels(sweep)
    others = curvature.r2(sweep.isel(pairs=~random))
    wrong = _sign_is_wrong(sweep, "half_way")[random].mean() > 0.5
    sign = "For most pairs after random labels, the curvature half-way gets even the sign wrong (hollow)." \
        if wrong else ""
    times = np.median(curvature.predictors(sweep)["product"] / np.abs(sweep.deviation.values))
    best = r2["half_way"] > max(r2["product"], r2["at_start"]) + RIGHT
    title = "The curvature along the line, half-way, predicts the size of δ best" if best else \
        "Which curvature predicts δ?"
    return reading(title, """
        With the largest curvature, the formula gives {times:.0f} times the size of δ in the median. R², the share
        of the variance of δ’s size that a straight-line fit explains, sees neither a constant factor nor a sign.
        Without the pairs after random labels, it was {others[half_way]:.0%} half-way, {others[at_start]:.0%} at the
        checkpoint, and {others[product]:.0%} with the largest curvature. With all pairs, it was {half_way:.0%}
        half-way, and at most {second:.0%} otherwise. {sign}""",
                   times=times, others=others, sign=sign, half_way=r2["half_way"],
                   second=max(r2["product"], r2["at_start"]))


def reading_of_the_theorem(sweep: xarray.Dataset) -> Page:
    """What automatic differentiation gives for the loss along the line, and what is measured there."""
    loss, smooth = (curvature.theorem(sweep, name) for name in FUNCTIONS[:2])
    close = curvature.bending(sweep, "loss").values[curvature.CLOSE]
    verdict = ("Its sign is within the noise." if not Difference.paired(close, np.zeros(len(close))).is_news
               else "The sign is wrong." if loss["derived"] * loss["measured"] < 0 else "The sign is right here.")
    there = sweep.scaled_deviation.sel(function="loss", scale=1).item() * loss["derived"]
    made_of_it = """For the networks as trained, δ has the sign that automatic differentiation gives. So the term of
                    exercise 5.6 has the right sign there, although it is made from a curvature at the checkpoint whose
                    sign is wrong close to the checkpoint.""" * (verdict.endswith("wrong.") and there > 0)
    derived, measured, stand_in = (minus(f"{value:+.3f}") for value in (loss["derived"], loss["measured"],
                                                                        smooth["derived"]))
    return reading("The loss along the line, close to the checkpoint", """
        Automatic differentiation gives {derived}. Measured is {measured}, in the mean over three values of s around
        1/64. {verdict} {made_of_it} For the smooth stand-in, in whose Hessian the kinks are short bends, automatic
        differentiation gives {stand_in}.""",
        verdict=verdict, made_of_it=made_of_it, derived=derived, measured=measured, stand_in=stand_in)


def reading_of_the_regressions(sweep: xarray.Dataset) -> Page:
    """The source's three R² and ours, with this sweep's numbers."""
    numbers = curvature.claim_17(sweep)
    predictors = (("½α(1 − α)·λmax·‖d‖², the source's product", "0.903", "product"),
                  ("λmax", "0.782", "largest"),
                  ("‖d‖²", "0.839", "distance"),
                  ("½α(1 − α)·|dᵀHd|, H at the checkpoint", "–", "at_start"),
                  ("½α(1 − α)·|dᵀHd|, H half-way", "–", "half_way"))
    rows, lines = [], []
    for name, source, short in predictors:
        within = numbers.get(f"within_{short}_r2")
        inside = "–" if within is None else f"{within:.3f}"
        ours = f"{numbers[f'{short}_r2']:.3f} ({numbers[f'{short}_low']:.2f} to {numbers[f'{short}_high']:.2f})"
        rows.append((name, source, ours, inside))
        line = f"{name}: source {source}, here {ours}"
        lines.append(line if within is None else f"{line}, within a checkpoint {inside}")
    head = ("|δ| predicted from", "R², source", "R², all pairs here (95 %, checkpoints drawn anew)",
            "R² within a checkpoint, mean")
    spread = said("""Within one checkpoint λmax is one number. It explains nothing there (–), and the product is the
                     squared distance times a constant (–, its R² is that of ‖d‖²). Between the checkpoints, the
                     largest λmax is {spread:,.0f} times the smallest.""", spread=numbers["largest_spread"])
    differences = _differences(sweep)
    return table(head, rows, f"{'; '.join(lines)}. {spread} {differences.text}",
                 after=paragraph(spread) + differences.page)


_COMPARED = {("product", "distance"): "the product minus ‖d‖² alone",
             ("half_way", "distance"): "dᵀHd half-way minus ‖d‖² alone",
             ("at_start", "product"): "dᵀHd at the checkpoint minus the product",
             ("half_way", "product"): "dᵀHd half-way minus the product"}


def _differences(sweep):
    """Which of two predictors predicts the size of δ better, as a table: the difference of their R² over all pairs, its
    interval, and whether this leaves out 0."""
    pooled, anew = curvature.r2(sweep), curvature.r2_anew(sweep)
    rows = []
    for (first, second), name in _COMPARED.items():
        low, high = interval(anew[first] - anew[second])
        verdict = "the first is higher" if low > 0 else "the first is lower" if high < 0 else "within the noise"
        rows.append((name, minus(f"{pooled[first] - pooled[second]:+.2f} ({low:+.2f} to {high:+.2f})"), verdict))
    return table(("difference of two R²", "all pairs here (95 %)", "verdict"), rows)
