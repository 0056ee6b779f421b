"""A network and its tangent: one output along the way of finetuning, all outputs, how alike two samples are to the
gradient, and what one line predicts of finetuning."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lessons.kit import drawings, plotting
from lessons.kit.page import Markup, Page, minus, reading, said
from lessons.kit.plotting import BLACK, still
from lessons.kit.predict import Prediction
from lessons.kit.view import (
    Axis,
    Chart,
    Frame,
    Handle,
    Image,
    Line,
    Path,
    Reference,
    Spots,
    Star,
    chips,
    key,
    percent,
    slider,
    view,
)
from lessons.linearization.algorithms.networks import Net

SHARES = tuple(round(0.05 * step, 2) for step in range(21))  # of the way from θ_0
NOTHING = 1e-3  # of the way: what is enlarged where the slider stands at θ_0
PLACES = {"1/16": 1 / 16, "1/8": 1 / 8, "1/4": 1 / 4, "1/2": 1 / 2, "1": 1.0}  # of the way, for all outputs
AS_LARGE = 0.15  # of the movement: a gap at the end that is too large to call the network linear
KNOWS = 1.5  # times as large within a class: a kernel that knows the classes
EXACT = 1e-6  # outputs that differ by less are the same
HARDLY = 0.1  # of how far the output has moved: a tangent that misses less can hardly be told from the network


@view
def along(net: Net, theta_0: Tensor, theta: Tensor, x: Tensor, y: Tensor):
    """Left, the output for one image on the straight way from θ_0 to θ, and the line that touches it at θ_0; right, the
    part of it between θ_0 and the slider, enlarged. Controls: share (of the way), number (which image)."""
    change = theta - theta_0
    start, slope = (part.numpy() for part in torch.func.jvp(lambda there: net(there, x)[:, 0], (theta_0,), (change,)))

    def outputs(share):
        """Of the network and of its tangent, each (images, places), at every place up to a share of the way."""
        there = share * torch.tensor(SHARES, dtype=torch.float64)
        network = net(theta_0 + there[:, None] * change, x)[..., 0].T.numpy()
        return network, start[:, None] + slope[:, None] * there.numpy()

    curves, lines = outputs(1.0)
    order = np.abs(curves - lines)[:, -1].argsort()[::-1]
    numbers = order[[0, len(order) // 2, -1]].tolist()
    shown = np.stack([curves[numbers], lines[numbers]])
    low, high = min(shown.min(), -1), max(shown.max(), 1)

    def draw(share, number):
        curve, line, place = curves[number], lines[number], SHARES.index(share)
        moved, missed = abs(curve[place] - curve[0]), abs(curve[place] - line[place])
        parts = np.array([some[number] for some in outputs(share or NOTHING)])
        of_network, of_tangent = (parts - parts.min()) / np.ptp(parts)
        values = {"network": curve, "tangent": line, "target": float(y[number]), "digit": x[number].reshape(14, 14),
                  "network, enlarged": of_network, "tangent, enlarged": of_tangent}
        alt = said("""One digit, {share} of the way from θ₀: the network’s output is {output:.3f}, its tangent’s
                      {linear:.3f}. At θ₀ both are {start:.3f}, at the end {end:.3f} and {linear_end:.3f}; the target is
                      {target:+.0f}.""", share=percent(share), output=curve[place], linear=line[place], start=curve[0],
                   end=curve[-1], linear_end=line[-1], target=float(y[number]))
        title = "Here you can hardly tell the network from its tangent" if missed <= max(HARDLY * moved, 1e-9) else \
            "Here the network has clearly left its tangent"
        return Frame(title, alt, values, key(("merged", "The network’s output for this digit"),
                                             ("single", "its tangent: the straight line that touches it at θ₀"),
                                             ("", "dotted: the target")))

    middle, tall = (low + high) / 2, 0.12 * (high - low)
    way = Chart(Axis("share of the way", -0.24, 1, ticks={0: "θ₀", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1: "θ"}),
                Axis("output for one digit", low - 0.1, high + 0.1, digits=2),
                (Image("digit", "single", extent=(-0.23, -0.05, middle - tall, middle + tall)),
                 Reference("target", "chance"), Line("tangent", "single", "tangent", x=SHARES, dashed=True),
                 Line("network", "merged", "network", x=SHARES), Handle("share")))
    near = Chart(Axis("left chart, enlarged: from θ₀ to the slider", 0, 1, ticks={0: "θ₀", 1: "slider"}),
                 Axis("output for one digit, enlarged", -0.05, 1.05, ticks={-9: ""}),
                 (Line("tangent, enlarged", "single", "tangent", x=SHARES, dashed=True, bare=True, aside=True),
                  Line("network, enlarged", "merged", "network", x=SHARES, bare=True, aside=True)))
    bends = dict(zip(("strongest bend", "median bend", "weakest bend"), numbers))
    return {"kicker": "Chapter 11: a curve and its tangent", "charts": [way, near], "draw": draw,
            "controls": {"share": slider("share of the way", {percent(share): share for share in SHARES}, 1.0),
                         "number": chips("digit with the", bends)},
            "caption": f"The finetuned network of the cells above, one of its {len(y)} training digits."}


# -- all outputs -----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Way:
    """At `PLACES` between θ_0 and θ, over all samples: how far the outputs have moved since θ_0, and how far the
    tangent is from them."""
    moved: np.ndarray
    wrong: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """The relative Taylor gap."""
        return self.wrong / self.moved


def way(f: Callable, f_bar: Callable, theta_0: Tensor, theta: Tensor) -> Way:
    """Of a network and its tangent, each weights -> (samples,)."""
    places = [theta_0 + share * (theta - theta_0) for share in PLACES.values()]
    moved, wrong = zip(*((f(there) - f(theta_0), f(there) - f_bar(there)) for there in places))
    return Way(*(torch.stack(rows).norm(dim=1).numpy() for rows in (moved, wrong)))


def question(along_it: Way) -> str:
    """What the learner predicts before `gaps`."""
    return said("""After a quarter of the way, the tangent’s error is {quarter:.0%} of the movement, and after half of
                   it {half:.0%}. How large is it at the end, **as a share of the movement**?""",
                quarter=along_it.gap[-3], half=along_it.gap[-2])


@view
def gaps(along_it: Way, prediction: Prediction | None = None):
    """Left, how far all outputs have moved and how far the tangent is from them, with lines that grow twice and four
    times a doubling; right, the second over the first. Control: share (of the way). The prediction, the share at the
    end, is a star."""
    shares = list(PLACES.values())
    doublings = np.arange(len(shares))
    if prediction:
        prediction.panel_answers(along_it.gap[-1], {"share": 1.0})
    values = {"moved": along_it.moved, "wrong": along_it.wrong, "wrong so far": _but_the_last(along_it.wrong),
              "gap": along_it.gap, "gap so far": _but_the_last(along_it.gap),
              "twice": along_it.moved[0] * 2.0 ** doublings, "four times": along_it.wrong[0] * 4.0 ** doublings}
    title = "The tangent’s error grows faster than the movement" if (np.diff(along_it.gap) > 0).all() else \
        "The tangent’s error does not grow faster than the movement all the way"

    def draw(share):
        place = shares.index(share)
        alt = said("""{name} of the way: the outputs have moved by {moved:.3f}, and the tangent is wrong by {wrong:.3f},
                      which is {gap:.1%} of the movement.""", name=list(PLACES)[place], moved=along_it.moved[place],
                   wrong=along_it.wrong[place], gap=along_it.gap[place])
        return Frame(title, alt, values, key(("merged", "How far all outputs have moved since θ₀"),
                                             ("single", "how far the tangent is from them; right, as a share"),
                                             ("", "dashed: twice, and four times, as large per doubling")))

    ticks = {share: name for name, share in PLACES.items()}
    across = Axis("share of the way", 0.9 * shares[0], 1.1, "log", ticks=ticks)
    every = np.concatenate([values[name] for name in ("moved", "wrong", "twice", "four times")])
    left = Chart(across, Axis("distance over all outputs", 0.7 * every.min(), 1.4 * every.max(), "log", digits=3,
                              ticks={10.0 ** power: f"{10.0 ** power:g}" for power in range(-4, 3)
                                     if 0.7 * every.min() < 10.0 ** power < 1.4 * every.max()}),
                 (Line("twice", "other", "twice", dashed=True, bare=True, aside=True),
                  Line("four times", "other", "four times", dashed=True, bare=True, aside=True),
                  Line("wrong so far", "single", dots=True, aside=True, bare=True),
                  Line("wrong", "single", "tangent is wrong by", dots=True, near=True),
                  Line("moved", "merged", "outputs have moved", dots=True, near=True), Handle("share")))
    right = Chart(across, Axis("tangent’s error as a share of the movement", 0, 1, unit="percent"),
                  (Line("gap so far", "single", dots=True, aside=True, bare=True),
                   Line("gap", "single", "relative Taylor gap", dots=True, near=True),
                   Star("guess", "single", x=(1.0,)), Handle("share")))
    control = slider("share of the way", PLACES, 0.5, words=lambda share: f"{percent(share)} of the way", places=shares)
    return {"kicker": "Chapter 11: all outputs together",
            "tries": ("Move the slider, and compare the solid lines with the dashed. Which line grows like the way?",),
            "charts": [left, right], "draw": draw,
            "controls": {"share": control}, "hides": ["wrong", "gap"],
            "caption": "Computed from the cells above."}


def _but_the_last(numbers):
    return np.append(numbers[:-1], np.nan)


def reading_of_gaps(along_it: Way) -> Page:
    """Whether the tangent can still be trusted at the end, and how its error grew."""
    moved, wrong = (numbers[1:] / numbers[:-1] for numbers in (along_it.moved, along_it.wrong))
    end = float(along_it.gap[-1])
    verdict = "That is too much to call the network linear." if end >= AS_LARGE else "That is not much."
    sentences = [f"At the end of finetuning, the tangent’s error was {end:.0%} of the movement. {verdict}"]
    if (wrong[-2:] > moved[-2:]).all():
        sentences.append(said("""The error catches up because it grows faster. From a quarter to half of the way, the
            movement became {moved:.1f} times as large, but the error became {wrong:.1f} times as large.""",
                              moved=moved[-2], wrong=wrong[-2]))
    if 3.3 <= wrong[-2] <= 4.7:
        sentences.append("A factor near four is what you should expect, because the first term that the tangent leaves "
                         "out is quadratic.")
        if abs(wrong[-1] - 4) > 0.3:
            sentences.append(f"On the second half of the way the factor was {wrong[-1]:.1f}, so there the later terms "
                             "count too.")
    bold, *rest = sentences
    return Page(" ".join(sentences), Markup("<p><b>{}</b> {}</p>").format(bold, " ".join(rest)))


# -- one line --------------------------------------------------------------------------------------

@view
def fit(trained: Tensor, others: dict[str, Tensor]):
    """The outputs for test images of the tangent that was trained to the end, each beside that of something else.

    Args:
        trained: (images,) of the tangent.
        others: {what it is: (images,)}. Control: other, one of them.
    """
    every = torch.stack([trained, *others.values()])
    low, high = float(every.min()) - 0.1, float(every.max()) + 0.1

    def draw(other):
        largest = float((others[other] - trained).abs().max())
        title = f"The trained tangent and {other} give the same outputs" if largest < EXACT else \
            f"The trained tangent and {other} give different outputs"
        alt = said("""{count} test digits: the largest difference between the output of the trained tangent and that of
                      {other} is {largest:.2g}.""", count=len(trained), other=other, largest=largest)
        values = {"equal": ([low, high], [low, high]), "digits": (trained.numpy(), others[other].numpy())}
        return Frame(title, alt, values,
                     key(("merged", f"{len(trained)} test digits, a dot each"), ("", "grey: both outputs are equal")))

    chart = Chart(Axis("output of the tangent, trained to the end", low, high, digits=1),
                  Axis("output of what is chosen", low, high, digits=1),
                  (Path("equal", "other", aside=True), Spots("digits", "merged")))
    return {"kicker": "Chapter 11: finetuning in one line", "charts": [chart], "draw": draw,
            "controls": {"other": chips("compared with", list(others))}, "caption": "Computed from the cells above."}


def reading_of_fit(trained: Tensor, others: dict[str, Tensor]) -> Page:
    """Which of them are what training gives, and how far the others are from it."""
    largest = {name: float((other - trained).abs().max()) for name, other in others.items()}
    exact, inexact = ([name for name, far in largest.items() if (far < EXACT) is same] for same in (True, False))
    sentences = [f"For {name}, the largest difference was {largest[name]:.2f}." for name in inexact]
    if exact:
        sentences.insert(0, f"{exact[0].capitalize()} gave what training the tangent gave, up to rounding.")
    return reading("What does the formula predict?", " ".join(sentences))


@still
def digits(x: Tensor, y: Tensor):
    """The digits (samples, 196) that the network is finetuned on, with what it shall answer."""
    fig, axes = plotting.figure(len(x), height=1.3)
    for ax, image, target in zip(axes, x.unflatten(1, (14, 14)), y.tolist()):
        drawings.images(ax, image[None], minus(f"{target:+g}"))
    even = int((y > 0).sum())
    return plotting.show(fig, f"{len(x)} turned digits in a row, {even} even ones with +1 above them, "
                              f"{len(x) - even} odd ones with −1.")


@still
def matrix(K: Tensor, x: Tensor, y: Tensor):
    """The kernel K (samples, samples) with the digits (samples, 196) at its sides, even ones (y > 0) first."""
    order = torch.argsort(y, descending=True, stable=True)
    K, n, even = K[order][:, order], len(y), int((y > 0).sum())
    fig, ax = plotting.figure(height=5.0, width=6.4)
    largest = float(K.abs().max())
    cells = ax.imshow(K, cmap="PuOr" if K.min() < 0 else "Purples", vmin=-largest if K.min() < 0 else 0, vmax=largest)
    for place, image in enumerate(x[order].reshape(n, 14, 14)):
        ax.imshow(image, cmap="Greys", extent=(-1.6, -0.6, place + 0.45, place - 0.45))
        ax.imshow(image, cmap="Greys", extent=(place - 0.45, place + 0.45, -0.6, -1.6))
    for ends in ([even - 0.5] * 2, [-1.7, n - 0.5]), ([-1.7, n - 0.5], [even - 0.5] * 2):
        ax.plot(*ends, color=BLACK, linewidth=1.5, marker="")
    middles = {"even": (even - 1) / 2, "odd": (even + n - 1) / 2}
    ax.set(xlim=(-1.7, n - 0.5), ylim=(n - 0.5, -1.7), aspect="equal")
    ax.set_yticks(list(middles.values()), list(middles))
    ax.set_xticks(list(middles.values()), list(middles))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    fig.colorbar(cells, ax=ax, label="$K_{ij}$: inner product of two gradients")
    same = torch.outer(y[order], y[order]) > 0
    off = ~torch.eye(n, dtype=torch.bool)
    alt = said("""The kernel of {n} digits as a square of cells, {even} even digits first, then {odd} odd ones. Its
                  numbers are between {least:.3g} and {most:.3g}. Their mean is {diagonal:.3g} on the diagonal.
                  Elsewhere it is {alike:.3g} within a class and {unlike:.3g} between classes.""", n=n, even=even,
               odd=n - even, least=float(K.min()), most=float(K.max()), diagonal=float(K.diagonal().mean()),
               alike=float(K[same & off].mean()), unlike=float(K[~same].mean()))
    return plotting.show(fig, alt, f"The tangent kernel at θ₀ of the {n} digits that the network is finetuned on.")


def reading_of_matrix(K: Tensor, y: Tensor) -> Page:
    """Whether the kernel's numbers are larger within a class than between classes.

    Args:
        K: (samples, samples); y: (samples,), +1 or −1.
    """
    same, off = torch.outer(y, y) > 0, ~torch.eye(len(y), dtype=torch.bool)
    alike, unlike = float(K[same & off].mean()), float(K[~same].mean())
    title = "Before finetuning, this kernel hardly knows the classes" if alike < KNOWS * unlike else \
        "Before finetuning, this kernel tells the classes apart"
    return reading(title, """
        Off the diagonal, its mean is {alike:.1f} within a class and {unlike:.1f} between classes. On the diagonal it is
        {own:.1f}.""", alike=alike, unlike=unlike, own=float(K.diagonal().mean()))
