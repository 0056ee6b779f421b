"""Why the gap grows from block to block, and falls back behind the last one."""
import xarray
from matplotlib.ticker import MultipleLocator

from lessons.kit import plotting
from lessons.kit.page import Page, capital, reading, said
from lessons.kit.plotting import BLACK, BLUE, GREEN, ORANGE, Look, still
from lessons.kit.sweep import caption
from lessons.resnet.experiment.causes import summary
from lessons.resnet.panels.pairs import STATISTICS

_LOOKS = {"share": ("the midpoint", Look(BLUE, "o")),
          "alone": ("one block alone, with the exact mix as its input", Look(ORANGE, "s")),
          "pooled": ("the midpoint, pixels averaged first", Look(GREEN, "^", "--"))}


@still
def growth(sweep: xarray.Dataset, treatment: str = "re-estimated"):
    """Per block, the gap as a share of the distance between the endpoints: as it is, and of the block alone; right, how
    much of the last block's gap remains when a block is given the exact mix."""
    means = {name: values.sel(treatment=treatment) for name, values in summary(sweep).items()}
    blocks = sweep.block.values
    fig, (left, right) = plotting.figure(2, height=4.0, width_ratios=(3, 2))
    _curves(left, means, ("share", "alone"), _highest(sweep, "share", "alone"))
    left.set(title="The gap, block by block")
    right.bar(blocks, means["left"], color=BLACK, width=0.6)
    for block, value in zip(blocks, means["left"].values):
        right.text(block, value + 0.01, f"{abs(value):.0%}", ha="center", va="bottom", fontsize=9.5)
    right.set(ylim=(0, 1.12), ylabel="what remains of the gap in block 8", title="After a repair of this block",
              xlabel="block", xticks=blocks)
    plotting.in_percent(right.yaxis)
    right.grid(False, axis="x")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    numbers = []
    for block in blocks:
        at_block = {name: abs(values.sel(block=block).item()) for name, values in means.items()}
        numbers.append(said("""block {block}: {share:.1%}, alone {alone:.1%}; repaired here, {left:.0%} of block 8's
                               gap remains""", block=block, **at_block))
    return plotting.show(fig, _told(treatment, numbers), _below(sweep, treatment))


@still
def pooled(sweep: xarray.Dataset, treatment: str = "re-estimated"):
    """Per block, the gap as a share of the distance between the endpoints: as it is, and with each channel averaged
    over its pixels."""
    means = {name: values.sel(treatment=treatment) for name, values in summary(sweep).items()}
    fig, ax = plotting.figure(height=3.4, width=7.2)
    _curves(ax, means, ("share", "pooled"), _highest(sweep, "share", "pooled"))
    ax.set(title="The gap with and without a mean over the pixels")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    numbers = [said("block {block}: {share:.1%}, with pixels averaged {pooled:.1%}", block=block,
                    **{name: means[name].sel(block=block).item() for name in ("share", "pooled")})
               for block in sweep.block.values]
    return plotting.show(fig, _told(treatment, numbers), _below(sweep, treatment))


def _highest(sweep, *names):
    """The largest value of some of `_LOOKS` under any treatment, so that the pictures of all treatments have one
    axis."""
    means = summary(sweep)
    return max(means[name].max().item() for name in names)


def _curves(ax, means, names, highest):
    """Draw some of `_LOOKS` over the blocks."""
    for name in names:
        label, look = _LOOKS[name]
        ax.plot(means[name].block, means[name], color=look.colour, marker=look.marker, linestyle=look.line, label=label)
    ax.set(ylabel="gap, share of the distance A to B", ylim=(0, 1.08 * highest), xlabel="block",
           xticks=means["share"].block)
    ax.yaxis.set_major_locator(MultipleLocator(0.05))
    plotting.in_percent(ax.yaxis)
    ax.grid(False, axis="x")


def _told(treatment, numbers):
    """An alternative text."""
    return (f"With {STATISTICS[treatment]}, the gap as a share of the distance between the endpoints, mean over the "
            f"pairs. {'; '.join(numbers)}.")


def _below(sweep, treatment):
    """A caption."""
    return f"{capital(STATISTICS[treatment])}. {caption(sweep)} At the midpoint, mean over the pairs."


def reading_of_blame(sweep: xarray.Dataset, treatment: str = "re-estimated") -> Page:
    """Whether a single block has the gap of the last one, and how much of it remains after a repair in the middle."""
    means = {name: values.sel(treatment=treatment) for name, values in summary(sweep).items()}
    alone, share = means["alone"], means["share"].sel(block=8).item()
    single = alone.max().item() < share / 2
    middle = means["left"].sel(block=4).item()
    later = " So most of it arises in the blocks after that." if middle > 0.5 else ""
    return reading("No single block is to blame" if single else "Does a single block explain the gap?", """
        Given the exact mix, a block by itself has a gap of {least:.0%} to {most:.0%} of the distance between the
        endpoints. In the last block of the midpoint the gap is {share:.0%}. If you repair block 4, {middle:.0%} of this
        gap remains.{later}""",
                   least=alone.min().item(), most=alone.max().item(), share=share, middle=middle, later=later)


def reading_of_pooling(sweep: xarray.Dataset, treatment: str = "re-estimated") -> Page:
    """Behind how many blocks a mean over the pixels makes the gap smaller."""
    share, averaged = (summary(sweep)[name].sel(treatment=treatment) for name in ("share", "pooled"))
    smaller = int((averaged < share).isel(block=slice(0, -1)).sum())
    helps = averaged.sel(block=8).item() < share.sel(block=8).item()
    return reading("The mean over the pixels makes the gap smaller" if helps else "What does the mean do?", """
        With {statistics}, it takes the gap in the last block from {share:.0%} to {averaged:.0%} of the distance between
        the endpoints, and it would make the gap smaller after {fewer} of the seven blocks before it, too. A possible
        reason is that the mean keeps what the pixels have in common, and lets their errors cancel.""",
                   statistics=STATISTICS[treatment], share=share.sel(block=8).item(),
                   averaged=averaged.sel(block=8).item(), fewer="all" if smaller == 7 else smaller)


def reading_of_growth(sweep: xarray.Dataset, treatment: str = "re-estimated") -> Page:
    """What a block misses by itself, what the network misses, and what repairs leave."""
    means = {name: values.sel(treatment=treatment) for name, values in summary(sweep).items()}
    share, total = means["share"].sel(block=8).item(), means["alone"].sum().item()
    lost = (" The sum need not equal the network’s gap. The distance between the endpoints differs from block to "
            "block, later blocks change the gap that they pass on, and 1 − cosine does not add up.") if total > share \
        else ""
    return reading("Every block adds a gap and passes on earlier ones", """
        With {statistics} and given the mix, a single block misses {least:.0%} to {most:.0%} of the distance between
        the endpoints. The network misses {share:.0%} in block 8, and all eight blocks by themselves add up to
        {total:.0%}.{lost} Repaired in block 4, the network still has {left_4:.0%} of block 8's gap, and repaired in
        block 7 {left_7:.0%}.""", statistics=STATISTICS[treatment], least=means["alone"].min().item(),
                   most=means["alone"].max().item(), share=share, total=total, lost=lost,
                   left_4=means["left"].sel(block=4).item(), left_7=means["left"].sel(block=7).item())


def reading_of_both_treatments(sweep: xarray.Dataset) -> Page:
    """How far apart the two treatments are, in the last block and in what single blocks miss."""
    means = summary(sweep)
    last = means["share"].sel(block=8)
    change = means["alone"].sel(treatment="interpolated") - means["alone"].sel(treatment="re-estimated")
    return reading("How much do the statistics change here?", """
        In block 8 the gap is {mixed:.0%} of the distance between the endpoints with interpolated statistics, and
        {anew:.0%} with new ones. What a single block misses by itself differs by at most {most:.1f} points between the
        two.""", mixed=last.sel(treatment="interpolated").item(), anew=last.sel(treatment="re-estimated").item(),
                   most=100 * abs(change).max().item())


def reading_of_kinks(sweep: xarray.Dataset) -> Page:
    """What frozen ReLUs say of a single block, however they are frozen."""
    means = summary(sweep)
    least, most = means["kinks_least"].min().item(), means["kinks_most"].max().item()
    says = ("kinks make the larger part in every block" if least > 0.5 else
            "kinks make the smaller part in every block" if most < 0.5 else
            "which of the two is larger depends on the block, or on the network that the ReLUs are frozen at")
    return reading("Kinks or curvature?", """
        Of what a block misses by itself, kinks make {least:.0%} to {most:.0%}, mean over the pairs, and curvature makes
        the rest. The range covers all blocks, interpolated and new statistics, and the three networks whose switches
        were used. So {says}.""",
        least=least, most=most, says=says)
