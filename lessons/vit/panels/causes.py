"""What makes the gap of the small ViT small, beside controls that learned the same tasks; and which parts of the ViT
an average spoils."""
import numpy as np
import xarray
from matplotlib.ticker import MaxNLocator

from lessons.kit import plotting
from lessons.kit.page import Page, in_full_alone, paragraph, reading, said, table
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from lessons.kit.sweep import caption, names
from lessons.vit.experiment import causes
from lessons.vit.panels.widths import difference

LOOKS = {causes.VIT: (BLUE, "o", "-"), causes.ATTENTION: (GREEN, "^", "--"),
         causes.MLPS: (ORANGE, "s", "--"), causes.MLP: (BLACK, "D", "-"),
         causes.SMOOTH: (PURPLE, "P", "-"), causes.RESIDUAL: (RED, "X", "-"),
         causes.FIXED: (SKY, "v", "-")}
NAMES = {causes.VIT: "ViT", causes.ATTENTION: "ViT, attention's τ alone",
         causes.MLPS: "ViT, its MLPs' τ alone", causes.MLP: "MLP (ReLU)", causes.SMOOTH: "MLP with GELU",
         causes.RESIDUAL: "residual MLP with GELU", causes.FIXED: "ViT, fixed attention"}
NETWORKS = (causes.VIT, causes.FIXED, causes.MLP, causes.SMOOTH, causes.RESIDUAL)


@in_full_alone
@plotting.still
def at_equal(sweep: xarray.Dataset):
    """Gap half-way over own distance: left against the own distance, right against ‖lτ‖/‖θ₀‖; a line a kind of task
    vector, a point a length l."""
    fig, (left, right) = plotting.figure(2, height=4.2, sharey=True)
    left.set(xscale="log", yscale="log", xlabel="distance from A to B, 1 − cos (log)",
             ylabel="gap half-way, as a share of it (log)")
    right.set(xscale="log", xlabel="length of the task vectors, ‖lτ‖/‖θ₀‖ (log)")
    for kind, (colour, marker, line) in LOOKS.items():
        share = share_of(sweep, kind).values
        lengths = sweep.length.values * float(sweep.relative.sel(kind=kind))
        for ax, places in ((left, sweep.own.sel(kind=kind).values), (right, lengths)):
            ax.plot(places, share, color=colour, marker=marker, linestyle=line, markersize=5, label=NAMES[kind])
    for own in causes.EQUAL:
        left.axvline(own, color=GREY, linewidth=0.8, marker="")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=4)
    rows = []
    for kind in LOOKS:
        points = zip(sweep.own.sel(kind=kind).values, share_of(sweep, kind).values)
        listed = ", ".join(f"own {own:.3f} share {share:.3f}" for own, share in points)
        rows.append(f"{NAMES[kind]}: {listed}")
    return plotting.show(fig, ". ".join(rows) + ".", caption(sweep))


def share_of(sweep: xarray.Dataset, kind: str) -> xarray.DataArray:
    """Gap over own distance, (length,)."""
    of_kind = sweep.sel(kind=kind)
    return of_kind.gap / of_kind.own


@in_full_alone
@plotting.still
def equally_far(sweep: xarray.Dataset):
    """Gap half-way over the distance between the ends, of five kinds of networks: left, where features have moved
    equally far, right, where weights have."""
    fig, axes = plotting.figure(2, height=2.6, sharey=True)
    places, told = np.arange(len(NETWORKS))[::-1], []
    for ax, (title, shares) in zip(axes, _shares(sweep).items()):
        for place, kind in zip(places, NETWORKS):
            colour, marker, _ = LOOKS[kind]
            ax.plot(shares[kind], place, color=colour, marker=marker, linestyle="", markersize=8)
            ax.annotate(f"{shares[kind]:.1%}", (shares[kind], place), (9, -4), textcoords="offset points", fontsize=9)
        ax.set(title=title, xlabel="gap over distance from A to B", xlim=(0, 1.2 * np.nanmax(list(shares.values()))),
               ylim=(-0.5, len(NETWORKS) - 0.5))
        ax.xaxis.set_major_locator(MaxNLocator(5))
        plotting.in_percent(ax.xaxis)
        told.append(f"{title}: " + ", ".join(f"{NAMES[kind]} {share:.1%}" for kind, share in shares.items()))
    axes[0].set_yticks(places, [NAMES[kind] for kind in NETWORKS])
    return plotting.show(fig, ". ".join(told) + ".", f"{caption(sweep)} Features are those of the last block, all "
                         "tokens, or of the last hidden layer. Between two measured lengths the gap is interpolated.")


def _shares(sweep):
    """{what has moved equally far: {kind: share}}."""
    at = {"Features have moved equally far": ("own", causes.EQUAL[0]),
          "Weights have moved equally far": ("relative", float(sweep.relative.sel(kind=causes.MLP)))}
    return {title: {kind: causes.share_at(sweep, kind, *where) for kind in NETWORKS} for title, where in at.items()}


@in_full_alone
def reading_of_equally_far(sweep: xarray.Dataset) -> Page:
    """Are the ViTs straighter than the MLPs? With this sweep's numbers."""
    features, weights = _shares(sweep).values()
    vits, mlps = (causes.VIT, causes.FIXED), (causes.MLP, causes.SMOOTH, causes.RESIDUAL)
    title = "Which network is straighter?"
    if max(features[kind] for kind in vits) < min(features[kind] for kind in mlps) \
            and weights[causes.VIT] > max(weights[kind] for kind in mlps):
        title = "Both ViTs bend less than the MLPs where features moved equally far, but the ViT more where weights did"
    return reading(title, """
        Where features have moved equally far (A and B are {own:g} apart), the gap is {vit:.1%} of the distance for the
        ViT and {mlp:.1%} for the MLP with ReLUs. Where weights have moved equally far ({length:.1%} of θ₀'s length, as
        in the MLP with ReLUs), it is {vit_weights:.1%} and {mlp_weights:.1%}.""",
                   own=causes.EQUAL[0], length=float(sweep.relative.sel(kind=causes.MLP)), vit=features[causes.VIT],
                   mlp=features[causes.MLP], vit_weights=weights[causes.VIT], mlp_weights=weights[causes.MLP])


@in_full_alone
def reading_of_the_causes(sweep: xarray.Dataset) -> Page:
    """Is it the architecture, or how far the networks went? With this sweep's numbers."""
    middle, length = causes.EQUAL[1], float(sweep.relative.sel(kind=causes.MLP))
    far = {kind: causes.share_at(sweep, kind, "own", middle) for kind in NETWORKS}
    long = {kind: causes.share_at(sweep, kind, "relative", length) for kind in NETWORKS}
    return reading("How far have the features moved, and how far the weights?", """
        Where the features of A and B are equally far apart, at a distance of {middle:g}, the gap is {vit:.1%} of that
        distance in the ViT, {fixed:.1%} in the ViT with fixed attention, and {mlp:.1%} in the MLP with ReLUs. Where
        the task vectors are equally long as a share of θ₀'s length, as that MLP's were, it is {vit_long:.1%} in the
        ViT and {mlp_long:.1%} in the MLP. The picture also has the other networks and the parts of the ViT.""",
                   middle=middle, vit=far[causes.VIT], fixed=far[causes.FIXED], mlp=far[causes.MLP],
                   vit_long=long[causes.VIT], mlp_long=long[causes.MLP])


@in_full_alone
def parts_table(sweep: xarray.Dataset) -> Page:
    """Accuracy where one part of each network is averaged (spoilt), where the average has this part of each network
    (mended), and where θ₀ has (alone); a row a part, of the first width."""
    mean = sweep.isel(width=0).mean("task")
    rows = [[place, f"{float(mean.squares.sel(place=place)):.0%}",
             *(f"{float(mean[name].sel(place=place)):.3f}" for name in ("spoiled", "rescued", "alone"))]
            for place in names(sweep.place)]
    head = ["part", "of ‖τ‖²", "spoilt", "mended", "alone"]
    ends = paragraph(said("Accuracy: each network alone {single:.3f}, the average {average:.3f}, θ₀ {base:.3f}.",
                          single=float(mean.single), average=float(mean.average), base=float(mean.base)))
    return table(head, rows, before=ends, after=paragraph(caption(sweep)))


@in_full_alone
def reading_of_the_parts(sweep: xarray.Dataset) -> Page:
    """Which block suffers most, and do the parts' losses add up? With this sweep's numbers."""
    mean = sweep.isel(width=0).mean("task")
    lost = {place: float(mean.single - mean.spoiled.sel(place=place)) for place in names(sweep.place)}
    blocks = {name: value for name, value in lost.items() if name.startswith("block")}
    most, least = max(blocks, key=blocks.get), min(blocks, key=blocks.get)
    apart = difference(sweep, *(float(mean.spoiled.sel(place=place)) for place in (least, most)))
    return reading("What does averaging spoil?", """
        {most} alone costs {high:.1f} points, {least} {low:.1f}: {apart:.1f} apart{doubt}. The {count}
        blocks, each averaged alone, cost {sum:.1f} together, and all else {rest:.1f}; the whole network at once costs
        {whole:.1f}. Attention alone costs {attention:.1f},
        the MLPs {mlp:.1f}.""", most=f"Averaging {most}", least=least, high=100 * blocks[most],
                   low=100 * blocks[least], apart=apart, doubt=apart.doubt(), count=len(blocks),
                   rest=100 * lost["all else"], sum=100 * sum(blocks.values()),
                   whole=100 * float(mean.single - mean.average), attention=100 * lost["attention"],
                   mlp=100 * lost["MLP"])
