"""Panel (b): the training error that ridge regression leaves, as an area under the kernel's eigenvalues."""
import numpy as np
import torch
import xarray
from matplotlib.patches import Polygon

from lessons.kit import plotting
from lessons.kit.page import Markup, Page, paragraph, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, level, moving_titles
from lessons.kit.plotting import BLUE, GREEN, RED, SKY
from lessons.kit.predict import guessed
from lessons.kit.sweep import caption
from lessons.linearization import experiment
from lessons.linearization.algorithms import kernel
from lessons.linearization.experiment.subsets import subsets

LOSSES = {"sum of squares: σ = λ/2": "sum", "mean of squares: σ = nλ/2": "mean",
          "mean of squares, n forgotten": "forgotten"}
TRUE = Look(plotting.PURPLE, "", ":")
EXACT, UPPER, LOWER = Look(BLUE), Look(RED, "", "--"), Look(GREEN, "", "-.")
HALVES = tuple(float(10.0 ** (power / 4)) for power in range(-16, 25))  # λ/2
LEAST = 1e-9  # share of the error that is drawn


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (b)."""
    return said("""All layers, mean of squares, λ/2 = 1, n = {n} samples. Somebody forgets the n and takes σ = λ/2. By
                   what **power of ten** is the training error that they predict too small?""",
                n=sweep.sizes["number"])


def answer(sweep: xarray.Dataset) -> float:
    """The truth behind `question`, a power of ten."""
    kappa, shares = _of(sweep, _whole(sweep))
    right, forgotten = (kernel.risk(kappa, shares, sigma) for sigma in (float(len(kappa)), 1.0))
    return float(torch.log10(right / forgotten))


def _whole(sweep):
    """The number of the subset that holds all layers."""
    return sweep.sizes["subset"] - 1


@panel
def ridge(sweep: xarray.Dataset, prediction=None):
    """Panel (b): every eigendirection of the kernel as a bar, as wide as its share of the squared residual and as high
    as what ridge regression leaves of it, so that the area is the share of the training error that is left; right, that
    share against λ, between the two ends of LFT, Theorem 5, and where n is forgotten what is really left. Computed as
    the sliders move.

    Controls: half (λ/2), subset (of layers), loss.
    """
    fig, (left, right) = plotting.figure(2, height=4.5, width_ratios=(5, 6))
    n = sweep.sizes["number"]
    area = left.add_patch(Polygon(np.zeros((3, 2)), facecolor=SKY, edgecolor=BLUE, linewidth=1.2, animated=True))
    ends = {"upper": level(left, UPPER, "Theorem 5: κ_min everywhere"),
            "lower": level(left, LOWER, "Theorem 5: κ_max everywhere")}
    curves = {"exact": curve(right, EXACT, "exactly: the blue area"), "upper": curve(right, UPPER),
              "lower": curve(right, LOWER)}
    truth = curve(right, TRUE, "where n is forgotten: what is really left")
    place = here(right, 1.0)
    mistaken = curve(right, Look(plotting.PURPLE, "*"), markersize=14, linestyle="")
    left.set(xlim=(0, 1), ylim=(0, 1.03), xlabel="share of the squared residual, large eigenvalues first",
             ylabel="left of it: (σ/(σ + κ))²")
    right.set(xscale="log", yscale="log", xlim=(HALVES[0], HALVES[-1]), ylim=(LEAST, 2), xlabel="λ/2",
              ylabel="share of the training error left")
    handles = [*ends.values(), curves["exact"], truth]
    fig.legend(handles, [handle.get_label() for handle in handles], loc="outside lower center", ncols=2)
    titles = moving_titles((left, right))
    asked = {"half": 1.0, "subset": _whole(sweep), "loss": "forgotten"}
    if prediction:
        prediction.panel_answers(answer(sweep), asked)

    def draw(half, subset, loss):
        kappa, shares = _of(sweep, subset)
        factor = n if loss == "mean" else 1
        numbers = _numbers(sweep, kappa, shares, half, subset, loss, factor)
        area.set_xy(_staircase(kappa, shares, half * factor))
        for name, line in ends.items():
            line.set_ydata([numbers[name]] * 2)
        sigmas = torch.tensor(HALVES, dtype=torch.float64)[:, None] * factor
        for name, values in _against(kappa, shares, sigmas).items():
            curves[name].set_data(HALVES, values.clamp_min(LEAST))
        really = kernel.risk(kappa, shares, sigmas * n) / shares.sum() if loss == "forgotten" else sigmas[:, 0] * np.nan
        truth.set_data(HALVES, really.clamp_min(LEAST))
        place.set_xdata([half, half])
        power = guessed(prediction, asked, {"half": half, "subset": subset, "loss": loss})
        mistaken.set_data([half], [numbers["exact"] * 10 ** power])
        titles[0].set_text(said("σ = {sigma:.3g}: {exact:.3g} of the error left", **numbers))
        titles[1].set_text(said("Bounds {lower:.2g} and {upper:.2g}, κ = {condition:.3g}", **numbers))
        return said("""Layers tuned: {layers}; {loss}; λ/2 = {half:.3g}, so σ = {sigma:.3g}. Eigenvalues from
                       {least:.3g} to {most:.4g}. {exact:.3g} of the training error is left, by Theorem 5 between
                       {lower:.2g} and {upper:.2g}. Condition number κ(K + σI) {condition:.4g}. Accuracy on test images
                       {accuracy:.3f}.""", **numbers)

    halves = {f"{half:.2g}" if 1e-3 <= half < 1e4 else f"{half:.0e}": half for half in HALVES}
    controls = {"half": slider("λ/2", halves, 100.0),
                "subset": choice("layers tuned", _subset_names(sweep)),
                "loss": choice("loss", LOSSES)}
    controls["subset"].value = _whole(sweep)
    return controls, fig, draw, caption(sweep) + " Computed as you move."


def _subset_names(sweep):
    """{"1, 3": number}: layers are counted from 1 for readers."""
    count = int(np.log2(sweep.sizes["subset"] + 1))
    names = {}
    for number, chosen in enumerate(subsets(count)):
        names["all" if len(chosen) == count else ", ".join(str(layer + 1) for layer in chosen)] = number
    return names


def _of(sweep, subset):
    """κ and c² of a subset, ascending."""
    part = sweep.isel(subset=subset)
    return torch.tensor(part.kappa.values), torch.tensor(part.share.values)


def _staircase(kappa, shares, sigma):
    """The corners of the area, (…, 2): the largest eigenvalue to the left."""
    heights = ((sigma / (sigma + kappa)) ** 2).flip(0).numpy()
    edges = np.append(0.0, (shares / shares.sum()).flip(0).cumsum(0).numpy())
    x = np.repeat(edges, 2)[1:-1]
    y = np.repeat(heights, 2)
    return np.stack([np.concatenate([[0.0], x, [edges[-1]]]), np.concatenate([[0.0], y, [0.0]])], 1)


def _against(kappa, shares, sigmas):
    """The exact share left and both bounds against σ (…, 1)."""
    total = shares.sum()
    return {"exact": kernel.risk(kappa, shares, sigmas) / total,
            "upper": ((sigmas / (sigmas + kappa.min())) ** 2)[:, 0],
            "lower": ((sigmas / (sigmas + kappa.max())) ** 2)[:, 0]}


def _numbers(sweep, kappa, shares, half, subset, loss, factor):
    """What titles and alternative text say."""
    sigma = half * factor
    length = shares.sum().sqrt()
    low, high = kernel.risk_bounds(kappa, length, sigma)
    nearest = float(sweep.sigma[np.abs(np.log(sweep.sigma.values / sigma)).argmin()])
    names = {number: name for name, number in _subset_names(sweep).items()}
    labels = {name: label for label, name in LOSSES.items()}
    return {"half": half, "sigma": sigma, "layers": names[subset], "loss": labels[loss],
            "exact": float(kernel.risk(kappa, shares, sigma) / length ** 2), "lower": float(low / length ** 2),
            "upper": float(high / length ** 2), "condition": float(kernel.condition(kappa, sigma)),
            "most": float(kappa.max()), "least": float(kappa.min()),
            "accuracy": float(sweep.accuracy.isel(subset=subset).sel(sigma=nearest))}


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
        target hardly lies there: {top:.1%} of ‖ỹ‖² is in the top direction, {ten:.0%} in the top ten. Where the target
        <i>is</i> the top eigenvector, the mean training error is {right:.2g}, and the bound printed for a mean,
        {printed:.2g}, is {times:.0f} times larger: it lacks 1/n."""), start=float(total), exact=float(exact),
                   high=float(high / exact), low=float(exact / low), top=float(shares[-1] / total),
                   ten=float(shares[-10:].sum() / total), right=float(sweep.top), printed=float(sweep.printed_top),
                   times=float(sweep.printed_top / sweep.top))
