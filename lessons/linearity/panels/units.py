"""Layer 1, unit by unit: one unit and its ReLU, one digit in three networks, and what two networks' units look for."""
import numpy as np
import torch
import xarray
from torch import Tensor

import data
from lessons.kit import plotting
from lessons.kit.page import minus, said
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, RED, still, themed
from lessons.kit.sweep import at, caption, names, warned
from lessons.kit.view import Axis, Bars, Chart, Frame, Handle, Image, Line, Reference, chips, key, view
from lessons.lines.panels import ALPHA_AXIS, share_of_a

ALPHAS = tuple(round(i / 20, 2) for i in range(21))
FINETUNED = "two finetuned networks"  # of the sweep's `two`
WHOSE = {FINETUNED: "finetuned on 22.5° and 90°, from one pretrained network",
         "two strangers": "strangers, from two random starts"}
SHORT = {FINETUNED: "finetuned on 22.5° and 90°", "two strangers": "strangers"}
_BELOW = "There the network between them lies below the mix, elsewhere on it; in all it misses {missed:.1%} of the mix."


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
    axes[0].set(title="On in both networks: nothing is missed", ylabel="output: ReLU(z)")
    axes[1].set(title="On in one of them: too little comes out")
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    alt = said("""Two pictures of a ReLU over a unit's pre-activation z. Left, z is {on_i:.2f} in A and {on_j:.2f} in B.
                  The straight line between the two points lies on the ReLU, and at the midpoint {kept:.2f} is missed.
                  Right, z is {flip_i:.2f} and {flip_j:.2f}. The line lies above the ReLU, and at the midpoint
                  {missed:.2f} is missed.""",
               on_i=z_i[both], on_j=z_j[both], kept=missed[0], flip_i=z_i[flips], flip_j=z_j[flips], missed=missed[1])
    return plotting.show(fig, alt, caption(sweep).split(";")[0] + "; two real units, each with one real digit.")


def _draw_unit(ax, z_i, z_j, highest):
    """One unit's ReLU, its two ends, and half-way between them; returns what is missed there."""
    middle = (z_i + z_j) / 2
    mixed = (relu(z_i) + relu(z_j)) / 2
    reach = 1.15 * max(abs(z_i), abs(z_j), highest / 1.15)
    ax.plot([-reach, 0, reach], [0, 0, reach], color=GREY, linewidth=3.5, marker="", label="ReLU", zorder=1)
    ax.plot([z_j, z_i], [relu(z_j), relu(z_i)], color=GREY, linewidth=1.3, linestyle="--", marker="", zorder=2)
    looks = (("B", z_j, relu(z_j), ORANGE, "s"), ("A", z_i, relu(z_i), BLUE, "o"),
             ("average of A's and B's output", middle, mixed, GREY, "D"),
             ("the midpoint's own output", middle, relu(middle), GREEN, "^"))
    for label, x, y, colour, marker in looks:
        ax.plot([x], [y], color=colour, marker=marker, markersize=9, linestyle="", label=label, zorder=4)
    missed = mixed - relu(middle)
    if missed > 1e-6:
        ax.annotate("", (middle, relu(middle)), (middle, mixed), arrowprops={"arrowstyle": "<->", "color": RED})
        ax.text(middle - 0.04 * reach, 0.4 * mixed + 0.6 * relu(middle), "missed", color=RED, fontweight="bold",
                ha="right", va="center")
    ax.set(xlabel="pre-activation: z = W·x + b", xlim=(-reach, reach), ylim=(-0.06 * highest, highest))
    return missed


# -- one digit, three networks ---------------------------------------------------------------------

CLEARLY = 1.25  # times as much: what strangers miss, where the title says that it is more
NOTHING = 0.005  # of the mix


@view
def one_digit(sweep: xarray.Dataset):
    """One digit, and what the hundred units of layer 1 make of it in the network between A and B, beside the mix of
    what they make of it in A and in B. Units that are on in one of the two alone have its colour.

    Controls: alpha, two (finetuned networks or strangers), digit.
    """
    first = sweep.first_input.transpose("two", "image", "end", "unit")
    pairs = names(first.two)
    layers = {two: [_Layer(*inputs) for inputs in at(first, two=two).values] for two in pairs}
    digits = range(first.sizes["image"])
    count = max(layer.on for of_pair in layers.values() for layer in of_pair)
    examples = at(sweep, angle=0.0).example.values

    def draw(alpha, two, digit):
        layer = layers[two][digit]
        between, mix = layer.between(alpha), layer.mix(alpha)
        missed = 1 - between.sum() / mix.sum()
        heights = mix[:count] / layer.largest
        values = {"digit": examples[digit], "mix": 1, "network": layer.kept, "units": between[:count] / layer.largest,
                  "A": np.where(layer.in_one[:count] == 1, heights, np.nan),
                  "B": np.where(layer.in_one[:count] == -1, heights, np.nan)}
        values |= {f"digit {other + 1}": layers[two][other].kept if other != digit else np.full(len(ALPHAS), np.nan)
                   for other in digits}
        alt = said("""What layer 1 makes of one digit, in two networks ({whose}) and at α = {alpha:.2f} between them. Of
                      its {count} units, {on} are on in A, in B or in both, and only these have bars. {flipped} units
                      are on in one of the two networks alone. {below}""",
                   count=len(mix), on=layer.on, whose=WHOSE[two], alpha=alpha, flipped=layer.flipped,
                   below=said(_BELOW, missed=missed) if 0 < alpha < 1 else "This is one of the two networks itself.")
        about = key(("merged", "The network between A and B"), ("a", "Missing: units that are on in A alone"),
                    ("b", "Missing: units that are on in B alone"), ("", "grey: the other digits"))
        others = {name: layers[name][digit].missed for name in pairs if name != two}
        return Frame(finding_of_units(two, missed, layer.missed, others), alt, values, about)

    return {"kicker": "Chapter 1: layer 1, unit by unit",
            "tries": ("Move the slider.",
                      "Choose “strangers”. What changes?"),
            "charts": _unit_charts(layers, count), "draw": draw,
            "controls": {"alpha": share_of_a(ALPHAS),
                         "two": chips("A and B are", {SHORT[two]: two for two in pairs}),
                         "digit": chips("test image", {f"{image + 1}": image for image in digits}, more=True)},
            "caption": f"{caption(sweep).split(';')[0]}; layer 1 of the MLP, after the ReLU. "
                       "Units that are on in both networks come first, then those on in A alone, then in B alone."}


class _Layer:
    """What the units of layer 1 make of one image in two networks. First come the units that are on in both, then
    those on in A alone, in B alone, in none.

    Args:
        z_a, z_b: (units,), what goes into the units' ReLU.

    Attributes:
        in_one: (units,), 1 where a unit is on in A alone, −1 in B alone, 0 elsewhere.
        flipped: how many are on in one alone; on: how many in one or both.
        largest: what any unit passes on in A or in B, at most.
        kept: for every α of `ALPHAS` what the network between passes on, as a share of the mix.
        missed: the share that it does not, half-way.
    """

    def __init__(self, z_a, z_b):
        rank = np.select([(z_a > 0) & (z_b > 0), z_a > 0, z_b > 0], [0, 1, 2], 3)
        order = np.lexsort((-np.maximum(z_a, z_b), rank))
        self._a, self._b = z_a[order], z_b[order]
        self.in_one = np.select([rank[order] == 1, rank[order] == 2], [1, -1], 0)
        self.flipped, self.on = int((z_a * z_b < 0).sum()), int((rank < 3).sum())
        self.largest = max(z_a.max(), z_b.max())
        self.kept = np.array([self.between(alpha).sum() / self.mix(alpha).sum() for alpha in ALPHAS])
        self.missed = 1 - self.kept[len(ALPHAS) // 2]

    def between(self, alpha):
        """(units,), what the network between the two passes on."""
        return relu(alpha * self._a + (1 - alpha) * self._b)

    def mix(self, alpha):
        """(units,), the mix of what the two pass on."""
        return alpha * relu(self._a) + (1 - alpha) * relu(self._b)


def _unit_charts(layers, count):
    """The share of the mix over α, with the digit in its corner, and the units at the slider's α."""
    every = [layer for of_pair in layers.values() for layer in of_pair]
    lowest = min(layer.kept.min() for layer in every) - 0.08
    side = (1.03 - lowest) / 4
    grey = [Line(f"digit {image + 1}", "other") for image in range(len(every) // len(layers))]
    left = Chart(ALPHA_AXIS, Axis("output of layer 1, share of the mix", lowest, 1.03, unit="percent"),
                 (*grey, Image("digit", "single", extent=(0.01, 0.21, lowest + 0.1 * side, lowest + 1.1 * side)),
                  Reference("mix", "single", "mix"), Line("network", "merged", near=True), Handle("alpha")))
    places = tuple(range(count))
    right = Chart(Axis("units of layer 1", -0.5, count - 0.5),
                  Axis("output of each unit, share of the largest", 0, 1, unit="percent"),
                  (Bars("A", "a", x=places, bare=True), Bars("B", "b", x=places, bare=True),
                   Bars("units", "merged", x=places, bare=True)))
    return [left, right]


def finding_of_units(two: str, missed: float, half_way: float, others: dict[str, float]) -> str:
    """What the picture shows, in one sentence.

    Args:
        two: the networks shown.
        missed: of the mix, at the slider's α.
        half_way: of the mix, half-way.
        others: the same as `half_way` between other networks, of the same digit.
    """
    if missed < NOTHING:
        return "Where the network is A or B itself, nothing is missing"
    if two != FINETUNED and half_way > CLEARLY * others[FINETUNED]:
        return "Between strangers more units are on in one network alone, and more is missing"
    return "Between A and B, only units that are on in one network alone lose something"


# -- what a unit looks for -------------------------------------------------------------------------

@themed
def what_a_unit_looks_for(pairs: dict[str, list], unit: int = 0):
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
        cosines = cosines_of_units(networks)
        alike[what] = cosines[unit].item()
        typical[what] = cosines.median().item()
        for ax, weight, name in zip(row, weights, "AB"):
            largest = weight[unit].abs().max().item()
            image = weight[unit].reshape(28, 28).numpy()
            ax.imshow(image, cmap="PuOr", vmin=-largest, vmax=largest, interpolation="none")
            ax.set(title=f"Unit {unit} of network {name}", xticks=[], yticks=[])
            ax.grid(False)
        row[0].set_ylabel(minus(f"{what}\ncosine {alike[what]:.2f}"))
    numbers = minus("; ".join(f"{what} {value:.2f}" for what, value in alike.items()))
    alt = f"The weights of unit {unit} as images. Cosine between the two networks of a pair: {numbers}."
    medians = minus(", ".join(f"{what} {value:.2f}" for what, value in typical.items()))
    source = data.source("rotated_mnist", angle=0.0)
    below = said("""{warning}Networks trained on {source}. Purple: ink here speaks for the unit; orange: against it.
                    Median cosine over all units: {medians}.""",
                 warning=warned(source.kind, "MNIST"), source=source.text, medians=medians)
    return plotting.show(fig, alt, below)


def cosines_of_units(networks: list) -> Tensor:
    """The cosine between the weights of each unit of layer 1 in two MLPs, (units,)."""
    weights = [network.state_dict()["layers.0.weight"] for network in networks]
    return torch.nn.functional.cosine_similarity(*weights, dim=1)


def _first_weights(state: dict[str, Tensor], unit: int) -> Tensor:
    """(units, pixels)"""
    weight = state["layers.0.weight"]
    if not isinstance(unit, int) or not 0 <= unit < len(weight):
        raise ValueError(f"layer 1 has the units 0 to {len(weight) - 1}, not {unit!r}")
    return weight
