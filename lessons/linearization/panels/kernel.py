"""Panel (b): the training error that ridge regression leaves, as an area over the kernel's eigenvalues."""
import numpy as np
import torch
import xarray

from lessons.kit.page import Markup, Page, paragraph, reading, said, table
from lessons.kit.sweep import caption
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, slider, view
from lessons.linearization import experiment
from lessons.linearization.algorithms import kernel
from lessons.linearization.panels.flow import powers

LOSSES = {"sum of squares, σ = λ/2": "sum", "mean of squares, σ = nλ/2": "mean",
          "mean of squares, n forgotten": "forgotten"}
HALVES = tuple(float(10.0 ** (power / 2)) for power in range(-8, 13))  # λ/2
EDGES = np.linspace(0, 1, 241)  # places along the area
TIGHT = 0.1  # of the error: bounds that are nearer to each other are called close
SHIFTED = 1.2  # times as much error: a prediction that misses by less hardly misses
_ALT = """
    Layers tuned: {layers}; {loss}; λ/2 = {half:.3g}, so σ = {sigma:.3g}. Eigenvalues from {least:.3g} to {most:.4g}.
    {exact:.3g} of the training error is left, by Theorem 5 between {lower:.2g} and {upper:.2g}. Condition number
    κ(K + σI) {condition:.4g}. Accuracy on test images {accuracy:.3f}."""


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (b)."""
    kappa, shares = _of(sweep, _whole(sweep))
    right = kernel.risk(kappa, shares, float(len(kappa))) / shares.sum()
    return said("""All layers, mean of squares, λ/2 = 1, n = {n} samples. With σ = nλ/2 as it should be, {right:.0%} of
                   the training error is left. Somebody forgets the n and takes σ = λ/2. What **share of the training
                   error** do they expect to be left?""", n=len(kappa), right=float(right))


def answer(sweep: xarray.Dataset) -> float:
    """The truth behind `question`."""
    kappa, shares = _of(sweep, _whole(sweep))
    return float(kernel.risk(kappa, shares, 1.0) / shares.sum())


def _whole(sweep):
    """The number of the subset that holds all layers."""
    return sweep.sizes["subset"] - 1


@view
def ridge(sweep: xarray.Dataset, prediction=None):
    """Panel (b): left, what ridge regression leaves of every eigendirection, over its share of the squared residual, so
    that the area is the share of the training error that is left; right, that share against λ, between the two ends of
    LFT, Theorem 5, and where n is forgotten what is really left. Computed as the controls move.

    Controls: half (λ/2), subset (of layers), loss. The prediction, the error expected without n, is a star.
    """
    n, every_layer = sweep.sizes["number"], _whole(sweep)
    layers = int(np.log2(sweep.sizes["subset"] + 1))
    names = {"all": every_layer} | {f"layer {layer + 1}": layer for layer in range(layers)}  # single ones come first
    opens = {"half": 100.0, "subset": every_layer, "loss": "sum"}
    if prediction:
        opens = {"half": 1.0, "subset": every_layer, "loss": "forgotten"}
        prediction.panel_answers(answer(sweep), opens)

    def draw(half, subset, loss):
        kappa, shares = _of(sweep, subset)
        factor = n if loss == "mean" else 1
        sigmas = torch.tensor(HALVES, dtype=torch.float64)[:, None] * factor
        curves = _against(kappa, shares, sigmas)
        really = _against(kappa, shares, sigmas * n)["exact"] if loss == "forgotten" else np.full(len(HALVES), np.nan)
        place, sigma = HALVES.index(half), half * factor
        ends = {name: float(curve[place]) for name, curve in curves.items()}
        heights = heights_of(kappa, shares, sigma)
        values = {"area": (np.zeros(len(EDGES)), heights), "rim": heights, "with κ_min": ends["upper"],
                  "with κ_max": ends["lower"], "really": really, **curves}
        nearest = float(sweep.sigma[np.abs(np.log(sweep.sigma.values / sigma)).argmin()])
        said_of = {number: name for name, number in names.items()}, {name: text for text, name in LOSSES.items()}
        alt = said(_ALT, layers=said_of[0].get(subset), loss=said_of[1][loss], half=half, sigma=sigma,
                   least=float(kappa.min()), most=float(kappa.max()), condition=float(kernel.condition(kappa, sigma)),
                   accuracy=float(sweep.accuracy.isel(subset=subset).sel(sigma=nearest)), **ends)
        if loss == "forgotten":
            alt += " " + said("With the n, {really:.3g} is left.", really=really[place])
        told = "expected to be left, if the n is forgotten" if loss == "forgotten" else "left by ridge regression"
        return Frame(finding_of_ridge(ends, float(really[place])), alt, values,
                     key(("merged", f"Training error {told}: the area"),
                         ("", "grey: Theorem 5’s bounds, with the least and the largest κ everywhere"),
                         *([("single", "what is really left")] if loss == "forgotten" else [])))

    control = slider("λ/2", {_short(half): half for half in HALVES}, opens["half"], places=HALVES,
                     words=lambda half: f"λ/2 = {_short(half)}")
    return {"kicker": "Chapter 11: finetuning in one line",
            "tries": ("Move λ until half of the area is gone. Which directions are learned first?",
                      "Tune one layer alone, then another. Which one leaves most?",
                      "Under “More”, choose “mean of squares, n forgotten”."),
            "charts": _charts(), "draw": draw,
            "controls": {"half": control, "subset": chips("tuned", names),
                         "loss": chips("loss", LOSSES, opens["loss"], more=True)},
            "hides": ["area", "rim", "with κ_min", "with κ_max", "exact", "lower", "upper"],
            "caption": caption(sweep) + " Computed as you move."}


def _short(half):
    return f"{half:.2g}" if half < 100 else f"{half:,.0f}"


def _charts():
    """The area, and the share that is left against λ."""
    places = tuple(EDGES)
    left = Chart(Axis("share of the squared residual, large eigenvalues first", 0, 1, unit="percent"),
                 Axis("left of each direction: (σ/(σ + κ))²", 0, 1.05, unit="percent"),
                 (Reference("with κ_min", "other", "least κ"), Reference("with κ_max", "other", "largest κ"),
                  Band("area", "merged", x=places), Line("rim", "merged", x=places)))
    right = Chart(Axis("λ/2", HALVES[0], HALVES[-1], "log", ticks=powers(2 * HALVES[0], HALVES[-1], 2)),
                  Axis("share of the training error left", 0, 1.05, unit="percent", digits=1),
                  (Line("upper", "other", dashed=True), Line("lower", "other", dashed=True),
                   Line("really", "single", "really left"), Line("exact", "merged", near=True),
                   Star("guess", "merged", x=(1.0,)), Handle("half")))
    return [left, right]


def _of(sweep, subset):
    """κ and c² of a subset, ascending."""
    part = sweep.isel(subset=subset)
    return torch.tensor(part.kappa.values), torch.tensor(part.share.values)


def heights_of(kappa: torch.Tensor, shares: torch.Tensor, sigma: float) -> np.ndarray:
    """What is left at each of `EDGES`, of the direction that lies there; the largest eigenvalue to the left."""
    ends = (shares / shares.sum()).flip(0).cumsum(0).numpy()
    directions = np.searchsorted(ends, EDGES).clip(max=len(ends) - 1)
    return ((sigma / (sigma + kappa)) ** 2).flip(0).numpy()[directions]


def _against(kappa, shares, sigmas):
    """The share of the error left at every σ, and between which ends Theorem 5 puts it."""
    ends = {"lower": kappa.max(), "upper": kappa.min()}
    return {"exact": (kernel.risk(kappa, shares, sigmas) / shares.sum()).numpy(),
            **{name: ((sigmas / (sigmas + end)) ** 2)[:, 0].numpy() for name, end in ends.items()}}


def finding_of_ridge(ends: dict[str, float], really: float) -> str:
    """What a setting shows: how far the bounds lie apart, or what forgetting n does.

    Args:
        ends: "exact", "lower", "upper": shares of the training error.
        really: what is left with the n; NaN where it is not forgotten.
    """
    if np.isfinite(really):
        return "Forget the n, and you expect too little error to be left" if really > SHIFTED * ends["exact"] else \
            "At so strong a pull it hardly matters that the n is forgotten"
    if ends["upper"] - ends["lower"] < TIGHT:
        return "Here the extreme eigenvalues bound the error that is left closely"
    return "The extreme eigenvalues alone do not tell how much error is left"


# -- tables and a reading --------------------------------------------------------------------------

def closed_form_table(sweep: xarray.Dataset) -> Page:
    """How far ridge regression is from the tangent that was trained to the end: right, and with each mistake."""
    rows = []
    for loss in experiment.kernel.LOSSES:
        part = sweep.sel(loss=loss)
        rows.append((f"{loss} of squares", f"{float(part.agrees):.0e}",
                     *(f"{float(part.mistaken.sel(mistake=name)):.2g}" for name in experiment.kernel.MISTAKES)))
    head = ("difference of the answers, root mean square", "right", *experiment.kernel.MISTAKES)
    after = paragraph("Targets are ±1. A mistake that does not matter for a loss shows the right difference.")
    return table(head, rows, after=after)


def reading_of_the_bounds(sweep: xarray.Dataset) -> Page:
    """Theorem 5 with this sweep's numbers, all layers tuned."""
    kappa, shares = _of(sweep, _whole(sweep))
    total = shares.sum()
    low, high = kernel.risk_bounds(kappa, total.sqrt(), 1.0)
    exact = kernel.risk(kappa, shares, 1.0)
    return reading("How tight is Theorem 5?", Markup("""
        All layers, sum of squares, σ = 1: of {start:.0f} the exact sum leaves {exact:.3g}. The upper bound is
        {high:.0f} times that, the lower one {low:,.0f} times less. The extreme eigenvalues say little, because the
        target hardly lies there: {top:.1%} of ‖ỹ‖² is in the top direction, {ten:.0%} in the top ten. And on
        the small network of the table above, with {times:.0f} digits, where the target <i>is</i> the top eigenvector:
        the mean training error is {right:.2g}, and the bound printed for a mean, with σ = nλ/2, is {printed:.2g}. It
        is {times:.0f} times larger, because it lacks 1/n."""), start=float(total), exact=float(exact),
                   high=float(high / exact), low=float(exact / low), top=float(shares[-1] / total),
                   ten=float(shares[-10:].sum() / total), right=float(sweep.top), printed=float(sweep.printed_top),
                   times=float(sweep.printed_top / sweep.top))
