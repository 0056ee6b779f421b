"""The pictures of chapter 1 that are about the MLP and its tasks; those of its gaps and lengths are in `lines`."""
import numpy as np
import torch
import xarray
from matplotlib.patches import Rectangle

import data
from lessons.kit import plotting
from lessons.kit.noise import error_of_share
from lessons.kit.page import Page, paragraph, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import ACCURACY, BLUE, GREEN, GREY, ORANGE, RED, still, themed
from lessons.kit.predict import Star
from lessons.kit.sweep import at, caption, position, warned
from lessons.linearity import algorithms
from lessons.linearity.algorithms import barrier
from lessons.linearity.experiment.mlp import lemma_1
from lessons.lines.panels import ALPHA, by_choice, controls
from toy_models import MLP, weights

LOSS = "loss: cross-entropy (nats)"
CHANCE = 0.1  # of ten classes


class _Side:
    """One quantity along the line: curves, an upright line at the slider's α, and a title, all of which move."""

    def __init__(self, ax, label, highest, looks):
        """looks: {name of a curve: (its label, its `Look`)}; curves without a marker are thinner."""
        ax.set(xlabel=ALPHA, ylabel=label, xlim=(-0.03, 1.03), ylim=(0, highest))
        self.curves = {}
        for name, (text, look) in looks.items():
            style = {"markevery": 5} if look.marker else {"linewidth": 1.4}
            self.curves[name] = curve(ax, look, text, **style)
        self._here = here(ax)
        self._title, = moving_titles((ax,))

    def set_values(self, alpha, title):
        """Where the slider stands, and what is said of it."""
        self._here.set_xdata([alpha, alpha])
        self._title.set_text(title)


# -- panel (a): loss and accuracy ------------------------------------------------------------------

_TASKS = {"i": ("task of θᵢ", Look(BLUE, "o")),
          "j": ("task of θⱼ", Look(ORANGE, "s")),
          "both": ("both together", Look(GREEN, "^")),
          "pretraining": ("pretraining task (0°)", Look(GREY, "D"))}
_CHORD = {"chord": ("straight line, both", Look(GREEN, "", ":"))}
_SPOKEN = {"i": "task i", "j": "task j", "both": "both together", "pretraining": "pretraining task"}


@panel
def along_the_line(sweep: xarray.Dataset, prediction=None):
    """Panel (a): loss and accuracy of the interpolated network for each task, with the straight line between the ends
    for both together.

    Controls: alpha, pair. The prediction, an accuracy on both tasks at α = 0.5, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=3.7)
    sides = {"loss": _Side(left, LOSS, 1.05 * float(sweep.loss.max()), _TASKS | _CHORD),
             "accuracy": _Side(right, ACCURACY, 1, _TASKS | _CHORD)}
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    _by_chance(right)
    asked = {"pair": sweep.attrs["opens_on"], "alpha": 0.5}
    star = Star(right, prediction, 0.5, at(sweep, **asked).accuracy.sel(task="both").item(), asked)
    lines = by_choice(sweep, "loss", "accuracy")
    lines = {pair: line.transpose("task", "alpha") for (pair, _), line in lines.items()}
    alphas = sweep.alpha.values

    def draw(alpha, pair):
        step = position(alphas, alpha)
        curves = {quantity: dict(zip(_TASKS, lines[pair][quantity].values)) for quantity in sides}
        for quantity, side in sides.items():
            of_task = curves[quantity]
            for task, along in of_task.items():
                side.curves[task].set_data(alphas, along)
            side.curves["chord"].set_data([0, 1], of_task["both"][[0, -1]])
            side.set_values(alpha, f"{quantity.capitalize()} on both at α = {alpha:.2f}: {of_task['both'][step]:.3f}")
        star.place(alpha=alpha, pair=pair)
        accuracy, loss = curves["accuracy"], curves["loss"]
        numbers = [f"{name} {accuracy[task][step]:.3f} (loss {loss[task][step]:.3f})" for task, name in _SPOKEN.items()]
        return said("""Loss and accuracy along the line between the networks finetuned on {pair}. At α = {alpha:.2f} the
                       accuracy is: {numbers}. The ends score {first:.3f} (α = 0) and {last:.3f} (α = 1) on both
                       together.""",
                    pair=pair, alpha=alpha, numbers=", ".join(numbers),
                    first=accuracy["both"][0], last=accuracy["both"][-1])

    return controls(sweep), fig, draw, _with_error(sweep, 2)


def _with_error(sweep, tasks):
    """The caption, and how sure the accuracies are: at most so many standard errors of so many tasks' images."""
    error = error_of_share(0.5, int(sweep.attrs["test_images"]))
    joined = error_of_share(0.5, tasks * int(sweep.attrs["test_images"]))
    both = f", on both tasks together {joined:.1%}" if tasks > 1 else ""
    return f"{caption(sweep)} Standard error of an accuracy: at most {error:.1%}{both}."


def _by_chance(ax):
    """Where an accuracy would lie by guessing."""
    ax.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1.2, marker="")
    ax.text(1.02, CHANCE + 0.015, "by chance", color="#666666", fontsize=9.5, ha="right")


# -- panel (d): linear in the weights, so linear in the outputs? -----------------------------------

_OF_TWO = {"mixed": ("mix of the two outputs", Look(ORANGE, "s", "--")),
           "start": ("network with mixed weights", Look(BLUE, "o"))}


@panel
def linear_in_the_weights(sweep: xarray.Dataset, prediction=None):
    """Panel (d): two networks that learned the same task; the interpolated network beside the mixed outputs, which
    linearity would give.

    Controls: alpha, start. The prediction, the accuracy half-way between two strangers, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=3.7)
    highest = float(max(sweep.start_loss.max(), sweep.mixed_loss.max()))
    sides = {"loss": _Side(left, LOSS, 1.08 * highest, _OF_TWO),
             "accuracy": _Side(right, ACCURACY, 1.02, _OF_TWO)}
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    _by_chance(right)
    asked = {"start": "two random starts", "alpha": 0.5}
    star = Star(right, prediction, 0.5, at(sweep, **asked).start_accuracy.item(), asked)
    variables = [f"{which}_{quantity}" for which in _OF_TWO for quantity in sides]
    lines = {str(start): sweep[variables].sel(start=start) for start in sweep.start.values}
    alphas = sweep.alpha.values

    def draw(alpha, start):
        line = lines[start]
        now = line.isel(alpha=position(alphas, alpha))
        for quantity, side in sides.items():
            for which in _OF_TWO:
                side.curves[which].set_data(alphas, line[f"{which}_{quantity}"].values)
            value = now[f"start_{quantity}"].item()
            side.set_values(alpha, f"{quantity.capitalize()} at α = {alpha:.2f}: {value:.3f}")
        star.place(alpha=alpha, start=start)
        return said("""Two networks trained on upright digits from {start}. At α = {alpha:.2f} the network with mixed
                       weights has accuracy {accuracy:.3f} and loss {loss:.3f}; mixing the outputs gives
                       {mixed_accuracy:.3f} and {mixed_loss:.3f}.""",
                    start=start, alpha=alpha, accuracy=now.start_accuracy.item(), loss=now.start_loss.item(),
                    mixed_accuracy=now.mixed_accuracy.item(), mixed_loss=now.mixed_loss.item())

    two = {"alpha": slider("α", [float(alpha) for alpha in alphas], 0.0),
           "start": choice("the two networks began from", sweep.start.values[::-1])}
    return two, fig, draw, _with_error(sweep, 1)


def rises(sweep: xarray.Dataset) -> Page:
    """Whether there is a hill: for every pair the barrier on one task and on both, and where the middle lies."""
    alphas = sweep.alpha.values
    rows = []
    for pair in sweep.pair.values:
        loss = sweep.loss.sel(pair=pair)
        both = loss.sel(task="both")
        ends = both.sel(alpha=[0.0, 1.0])
        of_one = max(barrier(loss.sel(task=task).values, alphas) for task in ("i", "j"))
        middle = both.sel(alpha=0.5).item()
        rows.append((pair, f"{of_one:.3f}", f"{barrier(both.values, alphas):.3f}", f"{ends.mean().item() - middle:.2f}",
                     f"{ends.min().item() - middle:.2f}"))
    strangers = barrier(sweep.start_loss.sel(start="two random starts").values, alphas)
    head = ("θᵢ and θⱼ finetuned on", "barrier, one task", "barrier, both tasks",
            "half-way: below the straight line by", "half-way: below the better end by")
    after = paragraph(f"For comparison, the barrier between two random starts: {strangers:.2f}. All in nats.")
    return table(head, rows, after=after)


@themed
def convex(network_i: MLP, network_j: MLP, test: data.types.Dataset):
    """Why mixing outputs makes no hill: the loss of one digit over the mix of two networks' outputs, its chord, and the
    loss of the networks with mixed weights. Of the first test images, the one whose loss bends most is shown."""
    x, y = test.x[:500], test.y[:500]
    outputs = [network(x) for network in (network_i, network_j)]
    alphas = np.linspace(0, 1, 41)
    mixed = np.array([_losses(algorithms.mix(*outputs, alpha), y) for alpha in alphas])
    image = (mixed[[0, -1]].mean(0) - mixed[len(alphas) // 2]).argmax()
    states = [network.state_dict() for network in (network_i, network_j)]
    marks = alphas[::5]
    between = [MLP.from_state(weights.interpolate(*states, float(alpha)))(x[image:image + 1]) for alpha in marks]
    own = [_losses(logits, y[image:image + 1]).item() for logits in between]
    fig, ax = plotting.figure(height=3.4, width=6.4)
    ax.plot([0, 1], mixed[[0, -1], image], color=GREY, linestyle=":", marker="", label="straight line between the ends")
    ax.plot(alphas, mixed[:, image], color=ORANGE, linestyle="--", marker="", label="mix of the two outputs")
    ax.plot(marks, own, color=BLUE, marker="o", linestyle="", label="network with mixed weights")
    ax.set(xlabel=ALPHA, ylabel=LOSS, ylim=(0, None), title="One digit: a convex loss lies below its chord")
    ax.legend()
    alt = said("""The loss of one digit over α. Ends {first:.2f} and {last:.2f}; half-way the straight line is at
                  {chord:.2f}, the mix of the outputs at {half:.2f}, the network with mixed weights at
                  {network:.2f}.""",
               first=mixed[0, image], last=mixed[-1, image], chord=mixed[[0, -1], image].mean(),
               half=mixed[len(alphas) // 2, image], network=own[len(own) // 2])
    warning = warned(test.source.kind, "MNIST")
    return plotting.show(fig, alt, f"{warning}Measured on {test.source.text}, one test image.")


def _losses(logits, y):
    """Cross-entropy, one number an image."""
    return torch.nn.functional.cross_entropy(logits, y, reduction="none").numpy()


def reading_of_lemma_1(seed: int = 0) -> Page:
    """Lemma 1 on networks that are linear in their weights by construction."""
    numbers = lemma_1(seed)
    return reading("Lemma 1 of Zhou et al., tried", """
        A network of the form θ·φ(x), with fixed random φ, is linear in its weights by construction. Of 200 random pairs
        of such networks with equal loss, none has a place between the ends with a higher loss: the nearest stays
        {equal:.3f} nats below them. With unequal losses the same holds of the straight line between the two: the
        nearest stays {chord:.3f} nats below it.""",
                   equal=-numbers["excess_equal_loss"], chord=-numbers["excess_over_chord"])


@still
def digits(sweep: xarray.Dataset):
    """The same test images at every angle: what the networks are given."""
    example = sweep.example.transpose("angle", "row", "image", "column")
    rows, height, columns, width = example.shape
    fig, ax = plotting.figure(height=4.4, width=7.4)
    ax.imshow(example.values.reshape(rows * height, columns * width), cmap="gray_r", vmin=0, vmax=1)
    ax.set_yticks((np.arange(rows) + 0.5) * height, [f"{angle:g}°" for angle in example.angle.values])
    ax.set(xticks=[], title="The same test images, turned")
    ax.grid(False)
    angles = ", ".join(f"{angle:g}" for angle in example.angle.values)
    alt = f"{columns} test images, each turned by {angles} degrees."
    return plotting.show(fig, alt, caption(sweep).split(";")[0] + ".")


# -- where CTL is missed most ---------------------------------------------------------------------

@still
def worst_places(sweep: xarray.Dataset):
    """Two maps over pairs and layers of the largest gap over α: the gap itself, and as a share of the ends' own
    distance."""
    import seaborn
    gap = sweep.gap_mean.max("alpha").transpose("layer", "pair")
    share = gap / sweep.own_mean.transpose("layer", "pair")
    fig, axes = plotting.figure(2, height=3.6, sharey=True)
    for ax, values, written, title in zip(axes, (gap, share), (".3f", ".1%"),
                                          ("Largest gap over α", "The same, as a share of the ends' own distance")):
        frame = values.to_pandas()
        seaborn.heatmap(frame, ax=ax, annot=True, fmt=written, cmap="cividis_r", cbar=False, linewidths=1,
                        annot_kws={"fontsize": 9.5})
        row, column = np.unravel_index(frame.values.argmax(), frame.shape)
        ax.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=RED, linewidth=3))
        ax.set(title=title, xlabel="", ylabel="")
        ax.set_xticks(np.arange(frame.shape[1]) + 0.5, frame.columns, rotation=30, ha="right")
        ax.tick_params(axis="y", labelrotation=0)
    pair, layer = algorithms.worst(sweep.gap_mean, sweep.own_mean)
    of_gap = gap.stack(place=("pair", "layer")).idxmax("place").item()
    alt = said("""Two maps of the largest gap over α, over pairs and layers. The gap itself is largest for {gap_pair} at
                  {gap_layer}, {most:.3f}. As a share of the ends' own distance it is largest for {pair} at {layer},
                  {share:.1%}.""",
               gap_pair=of_gap[0], gap_layer=of_gap[1], most=gap.max().item(), pair=pair, layer=layer,
               share=share.max().item())
    return plotting.show(fig, alt, caption(sweep) + " Framed: the largest.")
