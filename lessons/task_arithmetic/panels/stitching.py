"""Stitching: panel (c), features averaged, and panel (d), features with Δ taken away; the source's Figures 9 and 10."""
import xarray

from lessons.kit import plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Page, agrees, reading, said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, moving_titles
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from lessons.kit.predict import Star
from lessons.kit.sweep import position
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import ANGLES, HOW, LAYERS, PAIRS
from lessons.task_arithmetic.panels.common import CHANCE, at_least, dotted, grid, with_error

FEATURES = {"average of both": Look(PURPLE, "D"),
            "θ₀ + λτᵢ alone": Look(BLUE, "o"),
            "θ₀ + λτⱼ alone": Look(ORANGE, "s")}
MEANS = {"average of both, worse of two tasks": Look(PURPLE, "D"),
         "one alone, its own task": Look(BLUE, "o"),
         "one alone, the other task": Look(BLUE, "o", ":")}


# -- panel (c) -------------------------------------------------------------------------------------

@panel
def stitching(sweep: xarray.Dataset):
    """Panel (c): Figure 9 of CTL, one dot a pair and kind of features; right, the mean over pairs against λ. Controls:
    lam, layer."""
    fig, (left, right) = plotting.figure(2, height=4.4)
    lams = grid(sweep.step)
    left.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, marker="")
    left.set(xlabel="accuracy on task i", ylabel="accuracy on task j", xlim=(0, 1.02), ylim=(0, 1.02))
    dotted(left)
    left.axvline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    dots = [cloud(left, look, label, markersize=5, alpha=0.75) for label, look in FEATURES.items()]
    right.set(xlabel="λ", ylabel=ACCURACY, xlim=(0, 1.03), ylim=(0, 1.02))
    dotted(right)
    curves = [curve(right, look, label, markersize=4) for label, look in MEANS.items()]
    at_lam = here(right, 1)
    of_base = sweep.own.sel(model=0.0)
    of_i = [of_base.sel(task=i).item() for i, _ in PAIRS.values()]
    of_j = [of_base.sel(task=j).item() for _, j in PAIRS.values()]
    left.plot(of_i, of_j, color=BLACK, marker="x", markersize=4, markeredgewidth=0.8, linestyle="", label="θ₀ itself")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right")
    titles = moving_titles((left, right))
    values = {}
    for layer in LAYERS:
        values[layer] = sweep.stitched.sel(layer=layer).transpose("step", "pair", "features", "two").values

    def draw(lam, layer):
        row = position(lams, lam, "lam")
        accuracies = values[layer]
        for dot, points in zip(dots, accuracies[row].transpose(1, 2, 0)):
            dot.set_data(*points)
        worse = accuracies[:, :, 0].min(-1).mean(1)
        own = (accuracies[:, :, 1, 0] + accuracies[:, :, 2, 1]).mean(1) / 2
        other = (accuracies[:, :, 1, 1] + accuracies[:, :, 2, 0]).mean(1) / 2
        for line, series in zip(curves, (worse, own, other)):
            line.set_data(lams, series)
        at_lam.set_xdata([lam, lam])
        means = {"worse": worse[row], "own": own[row], "other": other[row]}
        titles[0].set_text(f"Put in at {layer}, λ = {lam:.2f}")
        titles[1].set_text(said("Means: average {worse:.3f}, own {own:.3f}, other {other:.3f}", **means))
        return said("""28 pairs, features put into the pretrained network at {layer}, λ = {lam:.2f}. Mean over pairs:
                       with the average of both networks' features {both:.3f}, and {worse:.3f} on the worse of the two
                       tasks; with one network's features {own:.3f} on its own task and {other:.3f} on the other.""",
                    layer=layer, lam=lam, both=accuracies[row, :, 0].mean(), **means)

    controls = {"lam": slider("λ", lams, 1.0), "layer": _layers("layer 2", "layer 1", "layer 3", "output")}
    below = " At the output no layers follow: the averaged features are the mean of the two answers."
    return controls, fig, draw, with_error(sweep) + below


def _layers(*names):
    """The menu of layers."""
    return choice("put in at", names)


def reading_of_figure_9(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 9 of Zhou et al. and ours, with this sweep's numbers."""
    numbers = mlp.claim_12(sweep)
    # its error is at most this, as if it were of one pair alone
    lead = Difference.of(numbers["worse_with_average_at_1"], numbers["worse_with_one_at_1"],
                         int(sweep.attrs["test_images"]))
    return reading("Figure 9 of Zhou et al., and ours", """
        {told} at λ = 1, put in at layer 2 or later: in {share} of the pairs the averaged features serve the worse of
        the two tasks better than either network's own, {both:.3f} at least against {one:.3f} at most, mean over pairs.
        Differs: at λ = 0.4 that holds for {small_share:.0%} of the pairs in the worst of these layers ({small_both:.3f}
        against {small_one:.3f}), because so little of a task vector has not yet taught the network anything to average;
        in layer 1 the average reads {first:.3f} even at λ = 1. And one network's features are not without any ability
        on the other task: neighbouring angles share it.""",
                   told=lead.agrees(),
                   share=at_least(numbers["share_of_pairs_at_1"]),
                   both=numbers["worse_with_average_at_1"],
                   one=numbers["worse_with_one_at_1"],
                   small_share=numbers["share_of_pairs_at_0.4"],
                   small_both=numbers["worse_with_average_at_0.4"],
                   small_one=numbers["worse_with_one_at_0.4"],
                   first=numbers["layer_1_with_average_at_1"])


# -- panel (d) -------------------------------------------------------------------------------------

@panel
def negation(sweep: xarray.Dataset, prediction=None):
    """Panel (d): Figure 10 of CTL, accuracy of the two stitched networks on the pretraining task and on the task taken
    away. Controls: lam, angle, layer.

    The prediction, the accuracy on the pretraining task of θ₀ − τ for 45°, is a star.
    """
    fig, ax = plotting.figure(height=4.0, width=7.2)
    lams = grid(sweep.lam0)
    ax.set(xlabel="λ, of the task vector that is taken away", ylabel=ACCURACY, xlim=(-0.02, 1.04), ylim=(0, 1.02))
    dotted(ax)
    ax.text(1.03, CHANCE + 0.01, "chance", color="#666666", fontsize=9.5, ha="right")
    curves = {}
    for which, (task, colour, marker) in enumerate((("pretraining task", GREEN, "^"), ("task i", RED, "o"))):
        for way, (line, filling) in enumerate((("-", None), ("--", "white"))):
            curves[way, which] = curve(ax, Look(colour, marker, line), f"{task}, {HOW[way]}", markersize=5,
                                       markerfacecolor=filling)
    at_lam = here(ax, 0.4)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    title, = moving_titles((ax,))
    values = {}
    for angle in ANGLES:
        for layer in LAYERS:
            part = sweep.negated.sel(angle=angle, layer=layer)
            values[angle, layer] = part.transpose("lam0", "how", "which").values
    asked = {"angle": 45.0, "layer": "output", "lam": 1.0}
    star = Star(ax, prediction, 1.0, values[45.0, "output"][position(lams, 1.0, "lam"), 1, 0], asked)

    def draw(lam, angle, layer):
        accuracies = values[angle, layer]
        for (way, which), line in curves.items():
            line.set_data(lams, accuracies[:, way, which])
        at_lam.set_xdata([lam, lam])
        star.place(lam=lam, angle=angle, layer=layer)
        features, negated = accuracies[position(lams, lam, "lam")]
        title.set_text(said("""{angle:g}° at {layer}, λ = {lam:.2f}: task {f[1]:.3f} and {w[1]:.3f}, pretraining
                               {f[0]:.3f} and {w[0]:.3f}""", angle=angle, layer=layer, lam=lam, f=features, w=negated))
        return said("""The pretrained network with other features at {layer}; the task is {angle:g}°, λ = {lam:.2f}.
                       Features minus Δ: pretraining task {f[0]:.3f}, task i {f[1]:.3f}. Features of θ₀ − λτ: {w[0]:.3f}
                       and {w[1]:.3f}. Untouched: {before[0]:.3f} and {before[1]:.3f}.""",
                    layer=layer, angle=angle, lam=lam, f=features, w=negated, before=accuracies[0, 0])

    angles = {f"{angle:g}°": angle for angle in sorted(ANGLES, key=lambda angle: angle != 45)}
    controls = {"lam": slider("λ", lams, 0.4), "angle": choice("task i", angles),
                "layer": _layers("output", "layer 1", "layer 2", "layer 3")}
    return controls, fig, draw, with_error(sweep) + " At the output the dashed lines are θ₀ − λτ itself."


def reading_of_figure_10(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 10 of Zhou et al. and ours, with this sweep's numbers."""
    numbers = mlp.claim_13(sweep)
    before = numbers["before_pretraining"]
    lost = Difference.of(numbers["features_pretraining_at_0.5"], numbers["weights_pretraining_at_0.5"],
                         int(sweep.attrs["test_images"]))
    return reading("Figure 10 of Zhou et al., and ours", """
        Mean over the eight tasks, worst layer. Untouched, the pretraining task reads {before:.3f} and task i
        {before_task:.3f}. {agrees}: with Δ taken out of the features at λ = 1 the task goes, to {whole_task:.3f}, and
        the pretraining task keeps {whole:.3f}. Do the features of θ₀ − λτ do alike? At λ = 0.5 the pretraining task
        keeps {weights:.3f}, against {half:.3f}: a difference of {lost} points{doubt}. At λ = 1 it falls to
        {fallen:.3f}. Mind how little there was to forget. Of 22.5°, where the pretrained network is good, {near:.3f} of
        {near_before:.3f} is left (layer 2).""",
                   before=before,
                   before_task=numbers["before_task"],
                   whole=numbers["features_pretraining_at_1"],
                   whole_task=numbers["features_task_at_1"],
                   agrees=agrees(numbers["features_task_at_1"] < 0.5 * numbers["before_task"]),
                   lost=lost, doubt=lost.doubt(),
                   weights=numbers["weights_pretraining_at_0.5"],
                   half=numbers["features_pretraining_at_0.5"],
                   fallen=numbers["weights_pretraining_at_1"],
                   near=numbers["near_task_at_1"],
                   near_before=numbers["near_task_before"])
