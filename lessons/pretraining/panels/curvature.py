"""The pictures of Theorem 1: one panel, the bound's slack, and the regression of CTL, B.2."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, table
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREY, MARKERS, ORANGE, RED
from lessons.pretraining.experiment import curvature as experiment
from lessons.pretraining.experiment.curvature import FUNCTIONS
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.kit.plotting import still

NAMES = {"loss": "the loss", "loss, smooth": "the loss, smooth ReLU", "logit": "the right class's logit", "logit, smooth": "the right class's logit, smooth ReLU"}


@panel
def both_sides(sweep: xarray.Dataset):
    """Panel (d): δ, the bound and the second-order term as the two networks are brought closer to their checkpoint. Controls: scale, function."""
    fig, (left, right) = plotting.figure(2, height=4.1, width_ratios=(4, 3))
    scales = sweep.scale.values
    least = float(np.abs(sweep.scaled_deviation).min())
    left.set(xscale="log", yscale="log", xlabel="scale s: networks at θ₀ + s·(θ − θ₀)", ylabel="how far f sags (units of f)", ylim=(least / 3, 5 * float(sweep.scaled_bound.max())),
             xlim=(scales.min() / 1.3, 1.3))
    looks = {"bound": (GREY, "s", "bound, ½α(1 − α)·λmax·‖d‖²"), "second": (ORANGE, "^", "second order, ½α(1 − α)·|dᵀHd|"), "deviation": (BLUE, "o", "measured, δ"),
             "rest": (RED, "v", "what the second order misses")}
    curves = {name: left.plot([], [], color=colour, marker=marker, markersize=5, linewidth=1.5, label=label, animated=True)[0] for name, (colour, marker, label) in looks.items()}
    here = left.axvline(1, color=BLACK, linewidth=1, marker="", animated=True)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    right.set(xscale="log", xlabel="scale s", ylabel="measured over second order", xlim=(scales.min() / 1.3, 1.3), ylim=(-3.2, 4.4))
    right.axhline(1, color=GREY, linestyle=":", linewidth=1.2, marker="")
    ratio = right.plot([], [], color=BLUE, marker="o", animated=True)[0]
    dot = right.axvline(1, color=BLACK, linewidth=1, marker="", animated=True)
    titles = plotting.moving_titles((left, right))
    of = {name: {part: sweep[f"scaled_{part}"].sel(function=name).values for part in ("deviation", "second", "bound")} for name in FUNCTIONS}

    def draw(scale, function):
        values, step = of[function], position(scales, scale, "scale")
        rest = values["deviation"] - values["second"]
        for name, curve in curves.items():
            curve.set_data(scales, np.abs(rest if name == "rest" else values[name]))
        ratios = values["deviation"] / values["second"]
        ratio.set_data(scales, ratios)
        for line in (here, dot):
            line.set_xdata([scale, scale])
        delta, second, bound = abs(values["deviation"][step]), values["second"][step], values["bound"][step]
        titles[0].set_text(f"s = {_scale(scale)}: the bound is {bound / delta:,.0f} times δ")
        titles[1].set_text(f"Measured over second order: {ratios[step]:.2f}")
        return (f"f is {NAMES[function]}, scale {_scale(scale)}: measured δ {delta:.3g}, second-order term {second:.3g}, bound {bound:.3g}, {bound / delta:,.0f} times "
                f"δ. Measured over second order "
                f"{ratios[step]:.2f}; at the smallest scale {ratios[-1]:.2f}.")

    controls = {"scale": _scales(scales), "function": choice("f is", {NAMES[name]: name for name in FUNCTIONS})}
    return controls, fig, draw, caption(sweep) + f" λmax {', '.join(f'{value:.1f}' for value in sweep.function_largest.values)} for the four choices of f."


def _scale(value):
    return "1" if value == 1 else f"1/{1 / value:.0f}"


def _scales(scales):
    control = slider("scale s", [float(scale) for scale in scales[::-1]], 1.0)
    control.options = [(_scale(value), value) for _, value in control.options]
    control.value = 1.0
    return control


@still
def slack(sweep: xarray.Dataset):
    """Left, δ of all pairs beside the bound; right, beside the second-order term at the checkpoint and half-way."""
    fig, (left, right) = plotting.figure(2, height=4.0)
    delta, bound = np.abs(sweep.deviation.values), 0.125 * (sweep.largest * sweep.distance_squared).values
    for number in range(sweep.sizes["which"]):
        mine = sweep.checkpoint.values == number
        left.scatter(bound[mine], delta[mine], s=28, color=COLOURS[number], marker=MARKERS[number], label=f"checkpoint {number + 1}, λmax "
            f"{sweep.largest.values[mine][0]:.0f}")
    ends = np.array([min(delta.min(), bound.min()) / 1.5, bound.max() * 1.5])
    left.plot(ends, ends, color=GREY, linestyle="--", linewidth=1.2, marker="")
    left.set(xscale="log", yscale="log", xlabel="bound, ⅛·λmax·‖θᵢ − θⱼ‖² (nats)", ylabel="measured δ (nats)", title=f"The bound: median {np.median(bound / delta):.0f} "
        f"times δ")
    left.legend(fontsize=8)
    for name, colour, marker, label in (("at_start", ORANGE, "^", "Hessian at the checkpoint"), ("half_way", BLUE, "o", "Hessian half-way between the two")):
        right.scatter(sweep[name], sweep.deviation, s=22, color=colour, marker=marker, alpha=0.8, label=label)
    low, high = float(min(sweep.at_start.min(), sweep.half_way.min(), 0)), float(max(sweep.at_start.max(), sweep.half_way.max()))
    right.plot([low, high], [low, high], color=GREY, linestyle="--", linewidth=1.2, marker="")
    right.set(xlabel="⅛·dᵀHd (nats)", ylabel="measured, with its sign (nats)", title="The curvature along the line itself")
    right.legend(loc="lower right")
    alt = (f"{sweep.sizes['pairs']} pairs: the bound is {np.min(bound / delta):.1f} to {np.max(bound / delta):,.0f} times the measured δ, median {np.median(bound / delta):.0f}. The "
           f"second-order term along the line is, in the median, "
           f"{np.median(sweep.at_start / sweep.deviation):.2f} times the measured value with the Hessian at the checkpoint and "
           f"{np.median(sweep.half_way / sweep.deviation):.2f} times with the Hessian half-way.")
    return plotting.show(fig, alt, caption(sweep) + " Dashed: both sides equal.")


@still
def regressions(sweep: xarray.Dataset):
    """The three regressions of CTL, B.2, and a fourth: δ on the product, on λmax, on the squared distance, and on the curvature half-way."""
    fig, axes = plotting.figure(4, height=3.0, sharey=True)
    delta, predictors, r2 = np.abs(sweep.deviation.values), experiment.predictors(sweep), experiment.r2(sweep)
    labels = {"product": "⅛·λmax·‖d‖²", "largest": "λmax", "distance": "‖d‖²", "half_way": "⅛·|dᵀHd|, half-way"}
    for ax, (name, label) in zip(axes, labels.items()):
        for number in range(sweep.sizes["which"]):
            mine = sweep.checkpoint.values == number
            ax.scatter(predictors[name][mine], delta[mine], s=14, color=COLOURS[number], marker=MARKERS[number])
        ax.set(xlabel=label, title=f"R² = {r2[name]:.2f}", xlim=(0, None), ylim=(0, None))
    axes[0].set_ylabel("measured δ (nats)")
    alt = f"{sweep.sizes['pairs']} pairs from {sweep.sizes['which']} checkpoints. R² of the measured δ: {', '.join(f'{r2[name]:.3f} on {label}' for name, label in labels.items())}."
    return plotting.show(fig, alt, caption(sweep) + " One colour a checkpoint.")


def reading_of_the_theorem(sweep: xarray.Dataset) -> Page:
    """How far apart both sides of Theorem 1 are, with this sweep's numbers."""
    loss, logit, loss_smooth, logit_smooth = (experiment.theorem(sweep, name) for name in ("loss", "logit", "loss, smooth", "logit, smooth"))
    text = (f"For the two networks at their real distance the bound is {loss['slack']:.0f} times what is measured for the loss, and {logit['slack']:.0f} times for the "
            f"logit. λmax is the curvature in the one worst "
            f"direction; along the line between the two networks it is {loss['along']:.1%} and {logit['along']:.1%} of it. Even so the second-order term is only a "
            f"rough guide at this distance: {loss['second']:.2f} and "
            f"{logit['second']:.2f} of the measured value. Close to the checkpoint, at a scale of 1/64, it is {loss_smooth['second_near']:.2f} and "
            f"{logit_smooth['second_near']:.2f} of it with a smooth ReLU; what it misses falls "
            f"with the power {loss_smooth['rest_slope']:.1f} and {logit_smooth['rest_slope']:.1f} of the scale. With the real ReLU it is {loss['second_near']:.2f} and "
            f"{logit['second_near']:.2f}, and what it misses falls with "
            f"the power {loss['rest_slope']:.1f} and {logit['rest_slope']:.1f}, δ itself with {loss['deviation_slope']:.1f} and {logit['deviation_slope']:.1f}.")
    return Page(text, f"<p><b>Both sides of Theorem 1.</b> {text}</p>")


def reading_of_the_regressions(sweep: xarray.Dataset) -> Page:
    """The source's three R² and ours, with this sweep's numbers."""
    of = experiment.claim_17(sweep)
    rows = (("½α(1 − α)·λmax·‖d‖², the source's "
             "product", "0.903", of["product_r2"], None), ("λmax", "0.782", of["largest_r2"], None), ("‖d‖²", "0.839", of["distance_r2"], of["within_distance_r2"]),
            ("½α(1 − α)·|dᵀHd|, H at the checkpoint", "–", of["at_start_r2"], of["within_at_start_r2"]), ("½α(1 − α)·|dᵀHd|, H half-way", "–", of["half_way_r2"], of["within_half_way_r2"]))
    text = "; ".join(f"{name}: source {source}, here "
                     f"{here:.3f}" + (f", within a checkpoint {within:.3f}" if within is not None else "") for name, source, here, within in rows)
    return table(("δ predicted from", "R², source", "R², all pairs here", "R² within a checkpoint, mean"),
                 [(name, source, f"{here:.3f}", "–" if within is None else f"{within:.3f}") for name, source, here, within in rows], text)
