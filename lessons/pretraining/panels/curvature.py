"""The pictures of Theorem 1: one panel, the bound's slack, and the regression of CTL, B.2."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, COLOURS, GREY, MARKERS, ORANGE, RED, still
from lessons.kit.sweep import caption, position
from lessons.pretraining.experiment import curvature as experiment
from lessons.pretraining.experiment.curvature import FUNCTIONS

NAMES = {"loss": "the loss",
         "loss, smooth": "the loss, smooth ReLU",
         "logit": "the right class's logit",
         "logit, smooth": "the right class's logit, smooth ReLU"}
SECOND = Look(ORANGE, "^")
MEASURED = Look(BLUE, "o")
_PARTS = ("deviation", "second", "bound")
_DASHED = {"color": GREY, "linestyle": "--", "linewidth": 1.2, "marker": ""}  # where both sides are equal


# -- panel (d): both sides -------------------------------------------------------------------------

@panel
def both_sides(sweep: xarray.Dataset):
    """Panel (d): δ, the bound and the second-order term as the two networks are brought closer to their checkpoint.

    Controls: scale, function.
    """
    fig, (left, right) = plotting.figure(2, height=4.1, width_ratios=(4, 3))
    scales = sweep.scale.values
    curves = _sides(left, sweep)
    ratio = _ratio(right, scales)
    at_scale = [here(ax, 1) for ax in (left, right)]
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    titles = moving_titles((left, right))
    of = {}
    for name in FUNCTIONS:
        values = {part: sweep[f"scaled_{part}"].sel(function=name).values for part in _PARTS}
        of[name] = values | {"rest": values["deviation"] - values["second"]}

    def draw(scale, function):
        values = of[function]
        step = position(scales, scale, "scale")
        for name, one in curves.items():
            one.set_data(scales, np.abs(values[name]))
        ratios = values["deviation"] / values["second"]
        ratio.set_data(scales, ratios)
        for line in at_scale:
            line.set_xdata([scale, scale])
        delta, second, bound = abs(values["deviation"][step]), values["second"][step], values["bound"][step]
        titles[0].set_text(f"s = {_scale(scale)}: the bound is {bound / delta:,.0f} times δ")
        titles[1].set_text(f"Measured over second order: {ratios[step]:.2f}")
        return said("""f is {f}, scale {scale}: measured δ {delta:.3g}, second-order term {second:.3g}, bound
                       {bound:.3g}, {slack:,.0f} times δ. Measured over second order {ratio:.2f}; at the smallest scale
                       {last:.2f}.""", f=NAMES[function], scale=_scale(scale), delta=delta, second=second, bound=bound,
                    slack=bound / delta, ratio=ratios[step], last=ratios[-1])

    controls = {"scale": _scales(scales), "function": choice("f is", {NAMES[name]: name for name in FUNCTIONS})}
    largest = ", ".join(f"{value:.1f}" for value in sweep.function_largest.values)
    return controls, fig, draw, caption(sweep) + f" λmax {largest} for the four choices of f."


def _sides(ax, sweep):
    """{part of the theorem: its curve}."""
    scales = sweep.scale.values
    least = float(np.abs(sweep.scaled_deviation).min())
    ax.set(xscale="log", yscale="log", xlabel="scale s: networks at θ₀ + s·(θ − θ₀)",
           ylabel="how far f sags (units of f)", ylim=(least / 3, 5 * float(sweep.scaled_bound.max())),
           xlim=(scales.min() / 1.3, 1.3))
    looks = {"bound": (Look(GREY, "s"), "bound, ½α(1 − α)·λmax·‖d‖²"),
             "second": (SECOND, "second order, ½α(1 − α)·|dᵀHd|"),
             "deviation": (MEASURED, "measured, δ"),
             "rest": (Look(RED, "v"), "what the second order misses")}
    return {name: curve(ax, look, label, markersize=5, linewidth=1.5) for name, (look, label) in looks.items()}


def _ratio(ax, scales):
    """The curve of measured over second order."""
    ax.set(xscale="log", xlabel="scale s", ylabel="measured over second order", xlim=(scales.min() / 1.3, 1.3),
           ylim=(-3.2, 4.4))
    ax.axhline(1, color=GREY, linestyle=":", linewidth=1.2, marker="")
    return curve(ax, MEASURED)


def _scale(value):
    return "1" if value == 1 else f"1/{1 / value:.0f}"


def _scales(scales):
    return slider("scale s", {_scale(scale): float(scale) for scale in scales[::-1]}, 1.0)


# -- still figures ---------------------------------------------------------------------------------

@still
def slack(sweep: xarray.Dataset):
    """Left, δ of all pairs beside the bound; right, beside the second-order term at the checkpoint and half-way."""
    fig, (left, right) = plotting.figure(2, height=4.0)
    delta = np.abs(sweep.deviation.values)
    bound = experiment.predictors(sweep)["product"]
    times = bound / delta
    _beside_the_bound(left, sweep, bound, delta)
    left.set_title(f"The bound: median {np.median(times):.0f} times δ")
    _along_the_line(right, sweep)
    alt = said("""{pairs} pairs: the bound is {least:.1f} to {most:,.0f} times the measured δ, median {median:.0f}. The
                  second-order term along the line is, in the median, {start:.2f} times the measured value with the
                  Hessian at the checkpoint and {half_way:.2f} times with the Hessian half-way.""",
               pairs=sweep.sizes["pairs"], least=np.min(times), most=np.max(times), median=np.median(times),
               start=np.median(sweep.at_start / sweep.deviation), half_way=np.median(sweep.half_way / sweep.deviation))
    return plotting.show(fig, alt, caption(sweep) + " Dashed: both sides equal.")


def _beside_the_bound(ax, sweep, bound, delta):
    for number in range(sweep.sizes["which"]):
        mine = sweep.checkpoint.values == number
        label = f"checkpoint {number + 1}, λmax {sweep.largest.values[mine][0]:.0f}"
        ax.scatter(bound[mine], delta[mine], s=28, color=COLOURS[number], marker=MARKERS[number], label=label)
    ends = np.array([min(delta.min(), bound.min()) / 1.5, bound.max() * 1.5])
    ax.plot(ends, ends, **_DASHED)
    ax.set(xscale="log", yscale="log", xlabel="bound, ⅛·λmax·‖θᵢ − θⱼ‖² (nats)", ylabel="measured δ (nats)")
    ax.legend(fontsize=8)


def _along_the_line(ax, sweep):
    for values, look, label in ((sweep.at_start, SECOND, "Hessian at the checkpoint"),
                                (sweep.half_way, MEASURED, "Hessian half-way between the two")):
        ax.scatter(values, sweep.deviation, s=22, color=look.colour, marker=look.marker, alpha=0.8, label=label)
    low = float(min(sweep.at_start.min(), sweep.half_way.min(), 0))
    high = float(max(sweep.at_start.max(), sweep.half_way.max()))
    ax.plot([low, high], [low, high], **_DASHED)
    ax.set(xlabel="⅛·dᵀHd (nats)", ylabel="measured, with its sign (nats)",
           title="The curvature along the line itself")
    ax.legend(loc="lower right")


@still
def regressions(sweep: xarray.Dataset):
    """The three regressions of CTL, B.2, and a fourth: δ on the product, on λmax, on the squared distance, and on the
    curvature half-way."""
    fig, axes = plotting.figure(4, height=3.0, sharey=True)
    delta = np.abs(sweep.deviation.values)
    predictors = experiment.predictors(sweep)
    r2 = experiment.r2(sweep)
    labels = {"product": "⅛·λmax·‖d‖²", "largest": "λmax", "distance": "‖d‖²", "half_way": "⅛·|dᵀHd|, half-way"}
    for ax, (name, label) in zip(axes, labels.items()):
        for number in range(sweep.sizes["which"]):
            mine = sweep.checkpoint.values == number
            ax.scatter(predictors[name][mine], delta[mine], s=14, color=COLOURS[number], marker=MARKERS[number])
        ax.set(xlabel=label, title=f"R² = {r2[name]:.2f}", xlim=(0, None), ylim=(0, None))
    axes[0].set_ylabel("measured δ (nats)")
    each = ", ".join(f"{r2[name]:.3f} on {label}" for name, label in labels.items())
    alt = f"{sweep.sizes['pairs']} pairs from {sweep.sizes['which']} checkpoints. R² of the measured δ: {each}."
    return plotting.show(fig, alt, caption(sweep) + " One colour a checkpoint.")


# -- in words --------------------------------------------------------------------------------------

def reading_of_the_theorem(sweep: xarray.Dataset) -> Page:
    """How far apart both sides of Theorem 1 are, with this sweep's numbers."""
    of = {name.replace(", ", "_"): experiment.theorem(sweep, name) for name in FUNCTIONS}
    return reading("Both sides of Theorem 1", """
        For the two networks at their real distance the bound is {loss[slack]:.0f} times what is measured for the loss,
        and {logit[slack]:.0f} times for the logit. λmax is the curvature in the one worst direction; along the line
        between the two networks it is {loss[along]:.1%} and {logit[along]:.1%} of it. Even so the second-order term is
        only a rough guide at this distance: {loss[second]:.2f} and {logit[second]:.2f} of the measured value. Close to
        the checkpoint, at a scale of 1/64, it is {loss_smooth[second_near]:.2f} and {logit_smooth[second_near]:.2f} of
        it with a smooth ReLU; what it misses falls with the power {loss_smooth[rest_slope]:.1f} and
        {logit_smooth[rest_slope]:.1f} of the scale. With the real ReLU it is {loss[second_near]:.2f} and
        {logit[second_near]:.2f}, and what it misses falls with the power {loss[rest_slope]:.1f} and
        {logit[rest_slope]:.1f}, δ itself with {loss[deviation_slope]:.1f} and {logit[deviation_slope]:.1f}.""", **of)


def reading_of_the_regressions(sweep: xarray.Dataset) -> Page:
    """The source's three R² and ours, with this sweep's numbers."""
    of = experiment.claim_17(sweep)
    predictors = (("½α(1 − α)·λmax·‖d‖², the source's product", "0.903", "product"),
                  ("λmax", "0.782", "largest"),
                  ("‖d‖²", "0.839", "distance"),
                  ("½α(1 − α)·|dᵀHd|, H at the checkpoint", "–", "at_start"),
                  ("½α(1 − α)·|dᵀHd|, H half-way", "–", "half_way"))
    rows, lines = [], []
    for name, source, key in predictors:
        line = f"{name}: source {source}, here {of[f'{key}_r2']:.3f}"
        within = of.get(f"within_{key}_r2")
        inside = "–" if within is None else f"{within:.3f}"
        rows.append((name, source, f"{of[f'{key}_r2']:.3f}", inside))
        lines.append(line if within is None else f"{line}, within a checkpoint {inside}")
    head = ("δ predicted from", "R², source", "R², all pairs here", "R² within a checkpoint, mean")
    return table(head, rows, "; ".join(lines))
