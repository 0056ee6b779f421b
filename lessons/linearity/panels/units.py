"""Layer 1, unit by unit: one unit and its ReLU, one digit in three networks, and what two networks' units look for."""
import numpy as np
import torch
import xarray
from torch import Tensor

import data
from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, Look, cloud, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREY, ORANGE, RED, still, themed
from lessons.kit.sweep import at, caption, warned

ALPHAS = tuple(round(i / 20, 2) for i in range(21))
FINETUNED = "two finetuned networks"  # of the sweep's `two`
WHOSE = {FINETUNED: "finetuned on 22.5° and 90°, from one pretrained network",
         "two strangers": "strangers, from two random starts"}


def relu(z):
    """max(0, z), of numbers and of arrays."""
    return np.maximum(z, 0)


# -- one unit --------------------------------------------------------------------------------------

@still
def one_unit(sweep: xarray.Dataset):
    """Two units of layer 1 and their ReLU: one that is on in both networks, and one that is on in one of them alone.
    The straight line between the two ends is what a mix of features would give; the ReLU lies on it or below it."""
    z_i, z_j = at(sweep, two=FINETUNED).first_input.values.reshape(2, -1)  # every image's units in one row
    both = np.where((z_i > 0) & (z_j > 0), abs(z_i - z_j), 0).argmax()
    flips = np.minimum(relu(z_i), relu(-z_j)).argmax()
    fig, axes = plotting.figure(2, height=3.7, sharey=True)
    highest = 1.15 * max(z_i[both], z_j[both], z_i[flips])
    missed = [_draw_unit(ax, z_i[unit], z_j[unit], highest) for ax, unit in zip(axes, (both, flips))]
    axes[0].set(title="On in both networks: nothing is missed", ylabel="what it hands on: ReLU(z)")
    axes[1].set(title="On in one of them: too little comes out")
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    alt = said("""Two pictures of a ReLU over a unit's input z. Left, z is {on_i:.2f} in θ_i and {on_j:.2f} in θ_j: the
                  straight line between the two points lies on the ReLU, and half-way {kept:.2f} is missed. Right, z is
                  {flip_i:.2f} and {flip_j:.2f}: the line lies above the ReLU, and half-way {missed:.2f} is missed.""",
               on_i=z_i[both], on_j=z_j[both], kept=missed[0], flip_i=z_i[flips], flip_j=z_j[flips], missed=missed[1])
    return plotting.show(fig, alt, caption(sweep).split(";")[0] + "; two real units, each with one real digit.")


def _draw_unit(ax, z_i, z_j, highest):
    """One unit's ReLU, its two ends, and half-way between them; returns what is missed there."""
    middle = (z_i + z_j) / 2
    mixed = (relu(z_i) + relu(z_j)) / 2
    reach = 1.15 * max(abs(z_i), abs(z_j), highest / 1.15)
    ax.plot([-reach, 0, reach], [0, 0, reach], color=GREY, linewidth=3.5, marker="", label="ReLU", zorder=1)
    ax.plot([z_j, z_i], [relu(z_j), relu(z_i)], color=GREY, linewidth=1.3, linestyle="--", marker="", zorder=2)
    looks = (("θⱼ", z_j, relu(z_j), ORANGE, "s"), ("θᵢ", z_i, relu(z_i), BLUE, "o"),
             ("mix of the two, half-way", middle, mixed, GREY, "D"),
             ("network half-way", middle, relu(middle), BLACK, "^"))
    for label, x, y, colour, marker in looks:
        ax.plot([x], [y], color=colour, marker=marker, markersize=9, linestyle="", label=label, zorder=4)
    missed = mixed - relu(middle)
    if missed > 1e-6:
        ax.annotate("", (middle, relu(middle)), (middle, mixed), arrowprops={"arrowstyle": "<->", "color": RED})
        ax.text(middle - 0.04 * reach, 0.4 * mixed + 0.6 * relu(middle), "missed", color=RED, fontweight="bold",
                ha="right", va="center")
    ax.set(xlabel="what goes in: z = W·x + b", xlim=(-reach, reach), ylim=(-0.06 * highest, highest))
    return missed


# -- one digit, three networks ---------------------------------------------------------------------

@panel
def one_digit(sweep: xarray.Dataset):
    """One digit, and what the hundred units of layer 1 make of it in θ_i, in θ_j and in the network between them, which
    stands before the mix of the two. Units that are on in one of the two ends alone are marked.

    Controls: alpha, two (finetuned networks or strangers), digit.
    """
    first = sweep.first_input.transpose("two", "image", "end", "unit")
    highest = 1.05 * relu(first.values).max()
    fig, rows = plotting.figure(2, 3, height=6.2, width_ratios=(1, 6), sharey="col")
    for ax in rows[:, 0]:
        ax.set_axis_off()
    shown = rows[1, 0].imshow(np.ones((28, 28, 3)), interpolation="none", animated=True)
    axes = rows[:, 1]
    places = np.arange(first.sizes["unit"])
    looks = ((axes[0], BLUE, 4.2), (axes[2], ORANGE, 4.2), (axes[1], "#c4c4c4", 5.2), (axes[1], BLACK, 2.2))
    drawn = [Bars(ax, places, colour, width=width) for ax, colour, width in looks]
    marked = [cloud(ax, Look(RED, "v")) for ax in axes]
    for ax in axes:
        ax.set(xlim=(-1.5, len(places) + 0.5), ylim=(0, highest), xticks=[], ylabel="ReLU(z)")
    axes[2].set_xlabel("the units of layer 1, those with the largest input in θᵢ first; ▼ on in one network alone")
    titles = moving_titles(axes)
    titles[0].set_text("θᵢ")
    inputs = {str(two): at(first, two=two).values for two in first.two.values}

    def draw(alpha, two, digit):
        z_i, z_j = inputs[two][digit]
        order = np.argsort(-z_i, kind="stable")
        z_i, z_j = z_i[order], z_j[order]
        between = relu(alpha * z_i + (1 - alpha) * z_j)
        mix = alpha * relu(z_i) + (1 - alpha) * relu(z_j)
        flipped = z_i * z_j < 0
        for bars, values in zip(drawn, (relu(z_i), relu(z_j), mix, between)):
            bars.set_values(values)
        for marks, values in zip(marked, (relu(z_i), np.maximum(mix, between), relu(z_j))):
            marks.set_data(places[flipped], values[flipped] + 0.05 * highest)
        grey = 1 - at(sweep, angle=0.0).example.values[digit]
        shown.set_data(np.repeat(grey[..., None], 3, axis=2))
        missed = (mix - between).sum() / mix.sum()
        titles[1].set_text(f"Black: the network at α = {alpha:.2f}. Grey: the mix of the other two. "
                           f"Missed: {missed:.1%}")
        titles[2].set_text(f"θⱼ ({flipped.sum()} of {len(places)} units are on in one of the two alone)")
        return said("""What {count} units of layer 1 make of one digit, in two networks ({whose}) and at α = {alpha:.2f}
                       between them. {flipped} units are on in one of the two networks alone. There the network between
                       them lies below the mix, elsewhere on it; in all it misses {missed:.1%} of the mix.""",
                    count=len(places), whose=WHOSE[two], alpha=alpha, flipped=flipped.sum(), missed=missed)

    controls = {"alpha": slider("α", ALPHAS, 0.5),
                "two": choice("θᵢ and θⱼ are", {WHOSE[str(two)]: str(two) for two in first.two.values}),
                "digit": choice("digit", {f"number {image + 1}": image for image in range(first.sizes["image"])})}
    return controls, fig, draw, caption(sweep).split(";")[0] + "; layer 1 of the MLP, after the ReLU."


# -- what a unit looks for -------------------------------------------------------------------------

@themed
def what_a_unit_looks_for(pairs: dict[str, list], unit: int = 7):
    """The weights of one unit of layer 1, drawn as the image they weigh, in both networks of every pair.

    Args:
        pairs: {what they are: [θ_i, θ_j]}, MLPs on images of 28 × 28 pixels.
        unit: its number, from 0.

    Raises:
        ValueError: there is no such unit.
    """
    fig, rows = plotting.figure(2, len(pairs), height=2.5 * len(pairs) + 0.2, width=6.4, squeeze=False)
    alike, typical = {}, {}
    for row, (what, networks) in zip(rows, pairs.items()):
        weights = [_first_weights(network.state_dict(), unit) for network in networks]
        cosines = torch.nn.functional.cosine_similarity(*weights, dim=1)
        alike[what] = cosines[unit].item()
        typical[what] = cosines.median().item()
        for ax, weight, name in zip(row, weights, ("θᵢ", "θⱼ")):
            largest = weight[unit].abs().max().item()
            image = weight[unit].reshape(28, 28).numpy()
            ax.imshow(image, cmap="PuOr", vmin=-largest, vmax=largest, interpolation="none")
            ax.set(title=f"Unit {unit} of {name}", xticks=[], yticks=[])
            ax.grid(False)
        row[0].set_ylabel(f"{what}\ncosine {alike[what]:.2f}")
    numbers = "; ".join(f"{what} {value:.2f}" for what, value in alike.items())
    alt = f"The weights of unit {unit} as images. Cosine between the two networks of a pair: {numbers}."
    medians = ", ".join(f"{what} {value:.2f}" for what, value in typical.items())
    source = data.source("rotated_mnist", angle=0.0)
    below = said("""{warning}Networks trained on {source}. Purple: light here speaks for the unit; orange: against it.
                    Median cosine over all units: {medians}.""",
                 warning=warned(source.kind, "MNIST"), source=source.text, medians=medians)
    return plotting.show(fig, alt, below)


def _first_weights(state: dict[str, Tensor], unit: int) -> Tensor:
    """(units, pixels)"""
    weight = state["layers.0.weight"]
    if not isinstance(unit, int) or not 0 <= unit < len(weight):
        raise ValueError(f"layer 1 has the units 0 to {len(weight) - 1}, not {unit!r}")
    return weight
