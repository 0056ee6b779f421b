"""How far CTL reaches: the same measurement on clothes, and on digits with clothes."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, Look, still
from lessons.kit.sweep import caption
from lessons.linearity.experiment import mlp
from lessons.linearity.experiment.elsewhere import shares

EQUALLY_FAR = 0.03  # apart in weight space, as a share of the distance
MORE = 1.3  # times as large a share: the gap is plainly larger
LOOKS = {"digits": Look(BLUE, "o"), "clothes": Look(ORANGE, "s"), "digits and clothes": Look(GREEN, "^")}


@still
def elsewhere(sweep: xarray.Dataset):
    """For every pair the worst layer: left the largest gap as a share of the distance between the features of A and B,
    right coef at the midpoint, at its lowest in the hidden layers."""
    fig, (left, right) = plotting.figure(2, height=3.6, sharey=True)
    share, length = worst_of(sweep)
    rows = np.arange(sweep.sizes["pair"])[::-1]
    families = sweep.family.values
    for family, look in LOOKS.items():
        of_family = families == family
        for ax, values in ((left, share), (right, length)):
            ax.plot(values[of_family], rows[of_family], color=look.colour, marker=look.marker, markersize=8,
                    linestyle="", label=family)
    left.set(title="Largest gap, share of the distance", xlim=(0, 1.15 * share.max()))
    left.set_yticks(rows, [f"{pair} ({distance:.1f})" for pair, distance in zip(sweep.pair.values,
                                                                               sweep.distance.values)])
    plotting.in_percent(left.xaxis)
    right.axvline(1, color=GREY, linestyle=":", marker="")
    right.set(title="Shortest features, coef at the midpoint", xlim=(min(0.5, length.min() - 0.05), 1.05))
    alt = "; ".join(f"{pair}: {a:.0%} and {b:.2f}" for pair, a, b in zip(sweep.pair.values, share, length))
    alt = ("Largest gap over layers and three α, as a share of the distance from A to B, and least coef in a hidden "
           f"layer at α = ½. {alt}.")
    below = " In brackets: distance of the two networks in weight space."
    return plotting.show(fig, alt, caption(_on_both(sweep)) + below)


def _on_both(sweep):
    """The sweep with attributes that name the digits, too; if these are a stand-in, then they are said."""
    digits = mlp.source()
    stand_in = {"source_kind": digits.kind, "dataset": "MNIST"} if digits.is_stand_in else {}
    return sweep.assign_attrs(source=f"{digits.text} and {sweep.attrs['source']}", **stand_in)


def worst_of(sweep: xarray.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """For every pair the largest gap over own distance, over α and layers, and the least coef half-way in a hidden
    layer."""
    share = (sweep.gap_mean / sweep.own_mean).max(["alpha", "layer"]).values
    hidden = sweep.coef_mean.isel(layer=slice(None, -1))
    return share, hidden.sel(alpha=0.5).min("layer").values


def reading_of_elsewhere(sweep: xarray.Dataset) -> Page:
    """What the picture says, with this sweep's numbers."""
    _, length = worst_of(sweep)
    numbers = shares(sweep)
    least = {f"coef_{family.replace(' ', '_')}": length[sweep.family.values == family].min() for family in LOOKS}
    distance = sweep.distance
    return reading("How far it reaches", """
        In its worst place the gap is {share_digits:.0%} of the distance from A to B for rotated digits,
        {share_clothes:.0%} for rotated clothes and {share_digits_and_clothes:.0%} for digits with clothes. At the
        midpoint coef is as low as {coef_digits:.2f}, {coef_clothes:.2f} and {coef_digits_and_clothes:.2f} in a hidden
        layer. The two networks of a pair are {near:.1f} to {far:.1f} apart in weight space. {but}""",
                   **numbers, **least, near=distance.min().item(), far=distance.max().item(), but=_decides(sweep))


def _decides(sweep):
    """A sentence on pairs that are about equally far apart and have different gaps; "" where there are none."""
    share, _ = worst_of(sweep)
    distance, pairs = sweep.distance.values, sweep.pair.values
    equal = [(share[larger] / share[smaller], larger, smaller) for larger in range(len(pairs))
             for smaller in range(len(pairs)) if abs(distance[larger] / distance[smaller] - 1) < EQUALLY_FAR]
    ratio, larger, smaller = max(equal)
    if ratio < MORE:
        return ""
    return said("""The gap depends on more than that distance. “{larger}” and “{smaller}” are about equally far apart,
                   and the gap of the first is {ratio:.1f} times as large a share.""",
                larger=pairs[larger], smaller=pairs[smaller], ratio=ratio)
