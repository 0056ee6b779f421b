"""How a layer is widened by copies of its units."""
import torch
from torch import Tensor

from lessons.kit import plotting
from lessons.kit.page import minus, said
from lessons.kit.plotting import BLACK, GREEN, GREY, still


@still
def units(weight: Tensor, out: Tensor, copied: int = 1):
    """A few units before and after one of them is copied: the copy has the same incoming weights, and the unit and its
    copy have half of the outgoing weight each. The thicker a line, the larger its weight.

    Args:
        weight: (units, inputs); out: (units,), what an output takes from them; both are parts of a real network's.
        copied: which unit is copied.
    """
    rows = sorted([*range(len(weight)), copied])
    halved = torch.tensor([0.5 if unit == copied else 1.0 for unit in rows])
    fig, axes = plotting.figure(2, height=3.8, sharey=True)
    _network(axes[0], weight, out, [copied], "Before")
    _network(axes[1], weight[rows], out[rows] * halved, [copied, copied + 1], "After: the output is the same")
    alt = said("""Two drawings of a layer, with {inputs} inputs below and an output above. Left, {units} units; unit
                  {number} is green, and its outgoing weight is {before}. Right, unit {number} and its copy are green.
                  Both have the same incoming weights, and each has half of the outgoing weight, {after}.""",
               inputs=weight.shape[1], units=len(weight), number=copied + 1, before=_written(out[copied]),
               after=_written(out[copied] / 2))
    return plotting.show(fig, alt, f"{len(weight)} units of a real network, with {weight.shape[1]} of their inputs. "
                                   "The thicker a line, the larger its weight.")


def _written(weight):
    return minus(f"{float(weight):+.4f}")


def _network(ax, weight, out, green, title):
    """Inputs below, units, and an output above; the green units have their outgoing weight beside its line."""
    largest = float(torch.cat([weight.flatten(), out]).abs().max())
    bottom, middle = (torch.linspace(-end, end, count).tolist() for end, count in zip((1.2, 1.8), weight.T.shape))
    for unit, x in enumerate(middle):
        colour, layer = (GREEN, 2) if unit in green else (GREY, 1)
        for size, end, height in [(out[unit], 0.0, 2), *((size, end, 0) for size, end in zip(weight[unit], bottom))]:
            ax.plot([x, end], [1, height], color=colour, linewidth=0.5 + 4.5 * abs(float(size)) / largest, marker="",
                    zorder=layer)
        if unit in green:
            ax.text(0.72 * x, 1.28, _written(out[unit]), ha="center", va="center", fontsize=10, zorder=5,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})
        name = "copy" if unit in green[1:] else f"{unit + 1 - (unit > green[-1]) * (len(green) - 1)}"
        ax.text(x, 1, name, ha="center", va="center", fontsize=9, zorder=6, color="white" if unit in green else BLACK)
    for places, height, name in ((bottom, 0, "inputs"), (middle, 1, "units"), ([0.0], 2, "output")):
        colours = [GREEN if height == 1 and place in green else "white" for place in range(len(places))]
        ax.scatter(places, [height] * len(places), s=760 if height == 1 else 260, c=colours, edgecolors=BLACK,
                   linewidths=1.3, zorder=4)
        ax.text(-2.9, height, name, va="center")
    ax.set(xlim=(-2.9, 2.1), ylim=(-0.25, 2.25), title=title)
    ax.axis("off")


@still
def apart(moved: dict[str, float]):
    """How far copies are from their originals after training, for every way in which they share their outgoing weight.

    Args:
        moved: {way: distance, as a share of the originals' length}.
    """
    fig, ax = plotting.figure(width=6.4, height=2.2)
    ax.barh(list(moved), list(moved.values()), color=[GREY, GREEN])
    for place, share in enumerate(moved.values()):
        ax.annotate(f"{share:.1%}" if share > 1e-4 else "0", (share, place), xytext=(4, 0),
                    textcoords="offset points", va="center")
    plotting.in_percent(ax.xaxis)
    ax.set(xlabel="distance of copies from their originals, over these originals' length", ylabel="shares",
           xlim=(0, 1.25 * max(moved.values())))
    told = ", ".join(f"{way} shares: {share:.1e}" for way, share in moved.items())
    return plotting.show(fig, f"Distance of copies from their originals after training. {told}.")
