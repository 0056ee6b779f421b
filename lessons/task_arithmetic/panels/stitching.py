"""Stitching: panel (c), features averaged, and panel (d), features with Δ taken away; the source's Figures 9 and 10."""
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page
from lessons.kit.panel import choice, slider
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, position
from lessons.kit.panel import panel
from lessons.task_arithmetic import experiment as experiment_claims
from lessons.task_arithmetic.experiment.mlp import ANGLES, HOW, LAYERS, PAIRS
from lessons.task_arithmetic.panels.common import ACCURACY, CHANCE, agrees, at_least

_SORTS = tuple(zip((PURPLE, BLUE, ORANGE), ("D", "o", "s"), ("average of both", "θ₀ + λτᵢ alone", "θ₀ + λτⱼ alone")))


@panel
def stitching(sweep: xarray.Dataset):
    """Panel (c): Figure 9 of CTL, one dot a pair and kind of features; right, the mean over pairs against λ. Controls: lam, layer."""
    fig, (left, right) = plotting.figure(2, height=4.4)
    lams = list(map(float, sweep.step.values))
    left.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, marker="")
    left.set(xlabel="accuracy on task i", ylabel="accuracy on task j", xlim=(0, 1.02), ylim=(0, 1.02))
    dots = [left.plot([], [], color=colour, marker=marker, markersize=5, alpha=0.75, linestyle="", label=label, animated=True)[0] for colour, marker, label in _SORTS]
    right.set(xlabel="λ", ylabel=ACCURACY, xlim=(0, 1.03), ylim=(0, 1.02))
    styles = (("average of both, worse of two tasks", PURPLE, "D", "-"), ("one alone, its own task", BLUE, "o", "-"), ("one alone, the other task", BLUE, "o", ":"))
    curves = [right.plot([], [], color=colour, marker=marker, markersize=4, linestyle=style, label=label, animated=True)[0] for label, colour, marker, style in styles]
    here = right.axvline(1, color=BLACK, linewidth=1, marker="", animated=True)
    before = sweep.own.sel(model=0.0)
    left.plot([before.sel(task=i).item() for i, _ in PAIRS.values()], [before.sel(task=j).item() for _, j in PAIRS.values()], color=BLACK, marker="x", markersize=4, markeredgewidth=0.8,
              linestyle="", label="θ₀ itself")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right")
    titles = plotting.moving_titles((left, right))
    values = {layer: sweep.stitched.sel(layer=layer).transpose("step", "pair", "features", "two").values for layer in LAYERS}

    def draw(lam, layer):
        row, of = position(lams, lam, "lam"), values[layer]
        for dot, points in zip(dots, of[row].transpose(1, 2, 0)):
            dot.set_data(*points)
        worse, own, other = of[:, :, 0].min(-1).mean(1), (of[:, :, 1, 0] + of[:, :, 2, 1]).mean(1) / 2, (of[:, :, 1, 1] + of[:, :, 2, 0]).mean(1) / 2
        for curve, series in zip(curves, (worse, own, other)):
            curve.set_data(lams, series)
        here.set_xdata([lam, lam])
        titles[0].set_text(f"Put in at {layer}, λ = {lam:.2f}")
        titles[1].set_text(f"Means: average {worse[row]:.3f}, own {own[row]:.3f}, other {other[row]:.3f}")
        return (f"28 pairs, features put into the pretrained network at {layer}, λ = {lam:.2f}. Mean over pairs: with the average of both networks' features "
                f"{of[row, :, 0].mean():.3f}, and {worse[row]:.3f} on the worse of the two tasks; with one network's features {own[row]:.3f} on its own task and "
                f"{other[row]:.3f} on the other.")

    controls = {"lam": slider("λ", lams, 1.0), "layer": choice("put in at", {layer: layer for layer in ("layer 2", "layer 1", "layer 3", "output")})}
    return controls, fig, draw, caption(sweep) + " At the output nothing is left behind: the averaged features are the logits ensemble."


def reading_of_figure_9(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 9 of CTL and ours, with this sweep's numbers."""
    of = experiment_claims.claim_12(sweep)
    text = (f"{agrees(of['share_of_pairs_at_1'] > 0.9)} at λ = 1, put in at layer 2 or later: in {at_least(of['share_of_pairs_at_1'])} of the pairs the averaged features serve the worse of the two "
            f"tasks better than either network's own, {of['worse_with_average_at_1']:.3f} at least against {of['worse_with_one_at_1']:.3f} at most, mean over pairs. Differs: at λ = 0.4 "
            f"that holds for {of['share_of_pairs_at_0.4']:.0%} of the pairs in the worst of these layers ({of['worse_with_average_at_0.4']:.3f} against {of['worse_with_one_at_0.4']:.3f}), because so "
            f"little of a task vector has not yet taught the network anything to average; in layer 1 the average reads {of['layer_1_with_average_at_1']:.3f} even at λ = 1. And one network's features are not "
            "without any ability on the other task: neighbouring angles share it.")
    return Page(text, f"<p><b>Figure 9 of CTL, and ours.</b> {text}</p>")


@panel
def negation(sweep: xarray.Dataset, prediction=None):
    """Panel (d): Figure 10 of CTL, accuracy of the two stitched networks on the pretraining task and on the task taken away. Controls: lam, angle, layer.

    The prediction, the accuracy on the pretraining task of θ₀ − τ for 45°, is a star.
    """
    fig, ax = plotting.figure(height=4.0, width=7.2)
    lams = list(map(float, sweep.lam0.values))
    ax.set(xlabel="λ, of the task vector that is taken away", ylabel=ACCURACY, xlim=(-0.02, 1.04), ylim=(0, 1.02))
    ax.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    ax.text(1.03, CHANCE + 0.01, "chance", color="#666666", fontsize=8.5, ha="right")
    kinds = [(way, which) for which in ("pretraining", "i") for way in range(2)]
    curves = [ax.plot([], [], color=GREEN if which == "pretraining" else RED, marker="^" if which == "pretraining" else "o", markersize=5, linestyle="-" if way == 0 else "--",
                      markerfacecolor=None if way == 0 else "white", label=f"{'pretraining task' if which == 'pretraining' else 'task i'}, {HOW[way]}", animated=True)[0] for way, which in kinds]
    here = ax.axvline(0.4, color=BLACK, linewidth=1, marker="", animated=True)
    star = Star(ax, prediction, 1.0)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    title, = plotting.moving_titles((ax,))
    values = {(angle, layer): sweep.negated.sel(angle=angle, layer=layer).transpose("lam0", "how", "which").values for angle in ANGLES for layer in LAYERS}

    def draw(lam, angle, layer):
        row, of = position(lams, lam, "lam"), values[angle, layer]
        for curve, (way, which) in zip(curves, kinds):
            curve.set_data(lams, of[:, way, 0 if which == "pretraining" else 1])
        here.set_xdata([lam, lam])
        star.place()
        (features_before, features_task), (weights_before, weights_task) = of[row]
        title.set_text(f"{angle:g}° at {layer}, λ = {lam:.2f}: task {features_task:.3f} and {weights_task:.3f}, pretraining {features_before:.3f} and {weights_before:.3f}")
        return (f"The pretrained network with other features at {layer}; the task is {angle:g}°, λ = {lam:.2f}. Features minus Δ: pretraining task {features_before:.3f}, task i "
                f"{features_task:.3f}. Features of θ₀ − λτ: {weights_before:.3f} and {weights_task:.3f}. Untouched: {of[0, 0, 0]:.3f} and {of[0, 0, 1]:.3f}.")

    controls = {"lam": slider("λ", lams, 0.4), "angle": choice("task i", {f"{angle:g}°": angle for angle in sorted(ANGLES, key=lambda angle: angle != 45)}),
                "layer": choice("put in at", {layer: layer for layer in ("output", "layer 1", "layer 2", "layer 3")})}
    return controls, fig, draw, caption(sweep) + " At the output the dashed lines are θ₀ − λτ itself."


def reading_of_figure_10(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 10 of CTL and ours, with this sweep's numbers."""
    of = experiment_claims.claim_13(sweep)
    text = (f"Mean over the eight tasks, worst layer. Before: pretraining task {of['before_pretraining']:.3f}, task i {of['before_task']:.3f}. With Δ taken out of the features at λ = 1: "
            f"{of['features_pretraining_at_1']:.3f} and {of['features_task_at_1']:.3f}. {agrees(of['before_pretraining'] - of['features_pretraining_at_1'] < 0.12)}: the task goes, the pretraining task loses "
            f"{100 * (of['before_pretraining'] - of['features_pretraining_at_1']):.0f} points. "
            f"At λ = 0.5 it loses {100 * (of['before_pretraining'] - of['features_pretraining_at_0.5']):.0f}, and of "
            f"task i's accuracy {of['features_task_at_0.5'] / of['before_task']:.0%} is left. "
            f"With the features of θ₀ − λτ it is much the same up to λ = 0.5 ({of['weights_pretraining_at_0.5']:.3f} and {of['weights_task_at_0.5']:.3f}, against {of['features_pretraining_at_0.5']:.3f} and "
            f"{of['features_task_at_0.5']:.3f}). Differs: at λ = 1 the two are no longer similar; the pretraining task falls to {of['weights_pretraining_at_1']:.3f}. Mind also how little there was to forget. "
            f"Of 22.5°, where the pretrained network is good, {of['near_task_at_1']:.3f} of {of['near_task_before']:.3f} is left (layer 2).")
    return Page(text, f"<p><b>Figure 10 of CTL, and ours.</b> {text}</p>")
