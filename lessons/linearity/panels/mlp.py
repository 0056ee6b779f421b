"""The pictures of chapter 1 that are about the MLP and its tasks; those of its gaps and lengths are in `lines`."""
import numpy as np
import torch
import xarray
from matplotlib.patches import Rectangle

import data
from lessons.kit import plotting
from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import Page, paragraph, reading, said, table
from lessons.kit.plotting import BLACK, GREEN, GREY, RED, still, themed
from lessons.kit.sweep import at, caption, names, position, warned
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Points, Reference, Star, chips, key, view
from lessons.linearity import algorithms
from lessons.linearity.algorithms import barrier
from lessons.linearity.experiment.mlp import lemma_1
from lessons.lines.panels import ALPHA_AXIS, share_of_a
from toy_models import MLP, weights

LOSS = "loss: cross-entropy (nats)"
CHANCE = 0.1  # of ten classes


# -- linear in the weights, so linear in the outputs? ----------------------------------------------

MUCH = 0.1  # of accuracy: a loss of more spoils a network


@view
def linear_in_the_weights(sweep: xarray.Dataset, prediction=None):
    """Two networks that learned the same task: accuracy and loss of the network with mixed weights, and of the mixed
    outputs, which linearity would give.

    Controls: alpha, start. The prediction, the accuracy half-way between two strangers, is a star.
    """
    alphas, images = sweep.alpha.values, int(sweep.attrs["test_images"])
    starts = names(sweep.start)[::-1]
    lines, mixed = ({start: {quantity: at(sweep, start=start)[f"{which}_{quantity}"].values
                             for quantity in ("accuracy", "loss")} for start in starts} for which in ("start", "mixed"))
    asked = {"start": "two random starts", "alpha": 0.5}
    if prediction:
        prediction.panel_answers(lines[asked["start"]]["accuracy"][position(alphas, 0.5)], asked)

    def draw(alpha, start):
        weights_mixed, outputs_mixed, step = lines[start], mixed[start], position(alphas, alpha)
        accuracy, loss = weights_mixed["accuracy"], weights_mixed["loss"]
        values = {"weights": accuracy, "outputs": outputs_mixed["accuracy"], "B alone": accuracy[:1],
                  "A alone": accuracy[-1:], "chance": CHANCE, "loss of weights": loss,
                  "loss of outputs": outputs_mixed["loss"]}
        alt = said("""Two networks trained on upright digits from {start}. At α = {alpha:.2f} the network with mixed
                      weights has accuracy {accuracy:.3f} and loss {loss:.3f}; mixing the outputs gives
                      {mixed_accuracy:.3f} and {mixed_loss:.3f}.""",
                   start=start, alpha=alpha, accuracy=accuracy[step], loss=loss[step],
                   mixed_accuracy=outputs_mixed["accuracy"][step], mixed_loss=outputs_mixed["loss"][step])
        about = key(("merged", "Weights mixed: one network between A and B"),
                    ("single", "Outputs mixed: A and B both run"))
        return Frame(finding_of_mixing(start, accuracy, outputs_mixed["accuracy"], images), alt, values, about)

    highest = float(max(sweep.start_loss.max(), sweep.mixed_loss.max()))
    return {"kicker": "Chapter 1: are networks linear in their weights?", "charts": _mixing_charts(highest),
            "draw": draw, "controls": {"alpha": share_of_a(alphas), "start": chips("A and B began from", starts)},
            "hides": ["weights", "outputs", "loss of weights", "loss of outputs"],
            "caption": _with_error(sweep)}


def _mixing_charts(highest):
    """Accuracy, with the ends and the guess, and loss."""
    accuracy = Chart(
        ALPHA_AXIS, Axis("accuracy", 0, 1, unit="percent"),
        (Reference("chance", "chance", "chance"), Line("outputs", "single", "outputs"),
         Line("weights", "merged", "weights"), Points("B alone", "b", x=(0,)), Points("A alone", "a", x=(1,)),
         Star("guess", "merged", x=(0.5,)), Handle("alpha")))
    loss = Chart(ALPHA_AXIS, Axis("loss: cross-entropy, in nats", 0, 1.08 * highest, digits=2),
                 (Line("loss of outputs", "single", "outputs"), Line("loss of weights", "merged", near=True),
                  Handle("alpha")))
    return [accuracy, loss]


def finding_of_mixing(start: str, weights_mixed, outputs_mixed, images: int) -> str:
    """What becomes half-way of accuracy if one mixes the weights and not the outputs, in one sentence."""
    middle = len(weights_mixed) // 2
    gain = Difference.of(float(weights_mixed[middle]), float(outputs_mixed[middle]), images)
    if not gain.is_news:
        became = "is as good as mixing the outputs"
    elif gain.value > 0:
        became = "is better than mixing the outputs"
    else:
        became = "spoils the network" if gain.value < -MUCH else "costs some accuracy"
    return f"From {start}, mixing the weights {became}"


def _with_error(sweep):
    """The caption of what was measured on upright digits alone, and how sure the accuracies are."""
    images = int(sweep.attrs["test_images"])
    error = error_of_share(0.5, images)
    measured = caption(sweep.assign_attrs(images=f"{images:,} test images"))
    return f"{measured} Standard error of an accuracy: at most {100 * error:.1f} points."


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
    head = ("A and B finetuned on", "barrier, one task (the larger)", "barrier, both tasks",
            "midpoint, both tasks: below the straight line by", "midpoint, both tasks: below the better endpoint by")
    after = paragraph("For comparison, the barrier between two networks from different random initialisations, both "
                      f"trained on upright digits: {strangers:.2f}. All in nats.")
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
    ax.plot([0, 1], mixed[[0, -1], image], color=GREY, linestyle=":", marker="", label="straight line from B to A")
    ax.plot(alphas, mixed[:, image], color=BLACK, linestyle="--", marker="", label="mix of the two outputs")
    ax.plot(marks, own, color=GREEN, marker="D", linestyle="", label="network with mixed weights")
    ax.set(xlabel="α, the share of A", ylabel=LOSS, ylim=(0, None),
           title="One digit: a convex loss lies below the straight line")
    ax.legend()
    alt = said("""The loss of one digit over α. B {first:.2f}, A {last:.2f}; at the midpoint the straight line is at
                  {chord:.2f}, the mix of the outputs at {half:.2f}, the network with mixed weights at
                  {network:.2f}.""",
               first=mixed[0, image], last=mixed[-1, image], chord=mixed[[0, -1], image].mean(),
               half=mixed[len(alphas) // 2, image], network=own[len(own) // 2])
    warning = warned(test.source.kind, "MNIST")
    below = said("""{warning}Measured on {source}. Of {count} test images, the one whose loss bends most.""",
                 warning=warning, source=test.source.text, count=len(y))
    return plotting.show(fig, alt, below)


def _losses(logits, y):
    """Cross-entropy, one number an image."""
    return torch.nn.functional.cross_entropy(logits, y, reduction="none").numpy()


def reading_of_lemma_1(seed: int = 0) -> Page:
    """Lemma 1 on networks that are linear in their weights by construction."""
    numbers = lemma_1(seed)
    return reading("Lemma 1 of Zhou et al., tried", """
        A network of the form θ·φ(x), with fixed random φ, is linear in its weights by construction. Of 200 random pairs
        of such networks with equal loss, none has a higher loss at the 19 α tried between the ends: the nearest is
        {equal:.3f} nats below them. With unequal losses none is above the straight line between the two: the
        nearest is {chord:.3f} nats below it.""",
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
    """Two maps over pairs and layers of the largest gap over α: the gap itself, and as a share of the distance between
    the features of A and B."""
    import seaborn
    gap = sweep.gap_mean.max("alpha").transpose("layer", "pair")
    share = gap / sweep.own_mean.transpose("layer", "pair")
    fig, axes = plotting.figure(2, height=3.6, sharey=True)
    for ax, values, written, title in zip(axes, (gap, share), (".3f", ".1%"),
                                          ("Largest gap over α", "The same, as a share of the distance from A to B")):
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
                  {gap_layer}, {most:.3f}. As a share of the distance from A to B it is largest for {pair} at {layer},
                  {share:.1%}.""",
               gap_pair=of_gap[0], gap_layer=of_gap[1], most=gap.max().item(), pair=pair, layer=layer,
               share=share.max().item())
    return plotting.show(fig, alt, caption(sweep) + " Framed: the largest.")
