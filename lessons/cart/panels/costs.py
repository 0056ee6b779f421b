"""CART-Indexing against masks; methods against the number of tasks."""
import math
from collections.abc import Sequence

import xarray

from lessons.cart.algorithms.costs import low_rank_bits, mask_bits, width_where_low_rank_wins
from lessons.cart.experiment import tasks
from lessons.cart.panels.parts import AVERAGE, OF_AVERAGE, OF_OWN, OWN, numbers_of, percent, titles
from lessons.kit import plotting
from lessons.kit.page import Markup, Page, paragraph, reading, said, table
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Look, cloud
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, still
from lessons.kit.sweep import caption, names
from lessons.merging.search import rests_on

KILO = 1000
MEGA = KILO ** 2
NUM_TASKS = (2, 4, 8, 14, 20, 40)
PEERS = (Look(ORANGE, "s"), Look(PURPLE, "D"))  # EMR and TALL masks
OF_METHOD = {"average": Look(GREEN, "o"), "task arithmetic": Look(ORANGE, "s"), "TIES": Look(PURPLE, "^"),
             "CART": Look(BLUE, "D")}
TUNED = ", tuned"


@panel
def storage(sweep: xarray.Dataset):
    """Left, accuracy against what a task needs on disk; right, the total for a number of tasks. Controls: rank,
    num_tasks."""
    ranks = numbers_of(sweep["rank"])
    size = sweep.task_bytes.values / KILO
    accuracy = sweep.accuracy.mean("task").values
    fig, (left, right) = plotting.figure(2, height=4.2, width_ratios=(5, 3.4))
    _draw_sizes(left, sweep)
    spot = cloud(left, Look(BLUE, "*"), markersize=16, markeredgecolor=BLACK)
    ways = ["CART-Indexing", *names(sweep.peer), "whole\nnetworks"]
    lowest = 0.7 * float(sweep.shared_bytes.min()) / MEGA
    highest = 1.6 * NUM_TASKS[-1] * float(sweep.model_bytes) / MEGA
    ticks = [tick for tick in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if lowest < tick < highest]
    right.set(xlabel="megabytes in all (logarithmic)", ylim=(len(ways) - 0.4, -0.6), xscale="log",
              xlim=(lowest, highest))
    right.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.set_yticks(range(len(ways)), ways)
    of_peers = []
    for peer in names(sweep.peer):
        part = sweep.sel(peer=peer)
        of_peers.append(f"{peer} {float(part.peer_task_bytes) / KILO:.1f} kB, accuracy "
                        f"{float(part.peer_accuracy.mean()):.3f}")
    points = _Totals(right, (Look(BLUE, "*"), *PEERS, Look(GREY, "o")))
    above = titles((left, right))

    def draw(rank, num_tasks):
        row = ranks.index(rank)
        spot.set_data([size[row]], [accuracy[row]])
        low = sweep.sel(rank=rank)
        peers = sweep.peer_shared_bytes + num_tasks * sweep.peer_task_bytes
        sizes = [low.shared_bytes + num_tasks * low.task_bytes, *peers.values, num_tasks * sweep.model_bytes]
        totals = [float(total) / KILO / KILO for total in sizes]
        points.set_values(totals)
        above[0].set_text(f"rank {percent(rank)}: {size[row]:.0f} kB, accuracy {accuracy[row]:.3f}")
        above[1].set_text(f"{num_tasks} tasks, rank {percent(rank)}")
        shown = (name.replace("\n", " ") for name in ways)
        return said("""CART-Indexing at rank {rank}: {size:.1f} kB a task, accuracy {accuracy:.3f}; {peers}; own
                       networks {own:.3f}, {model:.0f} kB. In all, {num_tasks} tasks: {totals}.""",
                    rank=percent(rank),
                    size=size[row],
                    accuracy=accuracy[row],
                    peers="; ".join(of_peers),
                    own=float(sweep.own.mean()),
                    model=float(sweep.model_bytes) / KILO,
                    num_tasks=num_tasks,
                    totals=", ".join(f"{name} {total:.2f} MB" for name, total in zip(shown, totals)))

    controls = {"rank": slider("rank", ranks, 0.08), "num_tasks": slider("number of tasks", list(NUM_TASKS), 8)}
    return controls, fig, draw, caption(sweep) + " Sizes of safetensors files, float32."


def _draw_sizes(ax, sweep):
    """What does not move on the left: accuracy against kilobytes a task."""
    size = sweep.task_bytes.values / KILO
    accuracy = sweep.accuracy.mean("task").values
    ax.plot(size, accuracy, color=BLUE, marker="o", markersize=4, label="CART-Indexing, by rank")
    for peer, look in zip(sweep.peer.values, PEERS):
        part = sweep.sel(peer=peer)
        ax.plot(part.peer_task_bytes / KILO, part.peer_accuracy.mean("task"), color=look.colour, marker=look.marker,
                markersize=9, linestyle="", label=str(peer))
    for value, look, label in ((sweep.own.mean(), OF_OWN, OWN), (sweep.average.mean(), OF_AVERAGE, AVERAGE)):
        ax.axhline(float(value), color=look.colour, linestyle=look.line, linewidth=1.4, marker="", label=label)
    ax.axvline(float(sweep.model_bytes) / KILO, color=GREY, linewidth=1, marker="", label="a whole network")
    lowest = min(0.3, float(sweep.average.mean()) - 0.05)
    ax.set(xscale="log", xlabel="kilobytes a task, in a file", ylabel=ACCURACY, ylim=(lowest, 1.02))
    marks = [mark for mark in (1, 3, 10, 30, 100, 300, 1000, 3000) if mark > 0.7 * size.min()]
    ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
    ax.minorticks_off()
    ax.legend(loc="lower right", frameon=True, facecolor="white", edgecolor="white", framealpha=0.9)


class _Totals:
    """A point a way to store the networks, on a logarithmic axis, with its value above it."""

    def __init__(self, ax, looks: Sequence[Look]):
        self._points = [cloud(ax, look, markersize=11, markeredgecolor=BLACK) for look in looks]
        above = {"ha": "center", "va": "bottom", "fontsize": 9.5, "animated": True}
        self._texts = [ax.text(1, place - 0.15, "", **above) for place in range(len(looks))]

    def set_values(self, totals: Sequence[float]) -> None:
        for place, (point, text, total) in enumerate(zip(self._points, self._texts, totals)):
            point.set_data([total], [place])
            text.set(x=total, text=f"{total:.2f}")


def bits_by_width(rank_ratio: float = 0.08, widths: Sequence[int] = (32, 100, 256, 1024, 4096),
                  fixed: int = 16) -> Page:
    """A table: bits a task of low-rank factors over bits of a mask for M × M matrices, at a share of the rank and at a
    rank that stays the same."""
    ranks = {f"k = {percent(rank_ratio)} of M": [math.ceil(rank_ratio * width) for width in widths],
             f"k = {fixed}": [fixed] * len(widths)}
    rows = []
    for name, of_widths in ranks.items():
        times = (low_rank_bits(width, width, rank) / mask_bits(width, width) for width, rank in zip(widths, of_widths))
        rows.append((name, *(f"{value:.2f}" for value in times)))
    before = Markup("<p><b>Low rank over mask, bits a task</b> (below 1 the low rank is smaller).</p>")
    after = paragraph(said("""With k = {fixed} low rank wins from M = {wins:,} on. With a share γ of the rank both grow
                              like M², and it wins where 64γ < 1, at any width or at none.""",
                           fixed=fixed, wins=width_where_low_rank_wins(fixed)))
    return table(("", *(f"M = {width:,}" for width in widths)), rows, before=before, after=after)


# -- the number of tasks ---------------------------------------------------------------------------

@still
def number_of_tasks(sweep: xarray.Dataset):
    """Fig. 7: normalised accuracy against the number of tasks, mean and standard error over subsets; left with the
    source's grids, right with λ tuned."""
    mean = sweep.normalised.mean("subset")
    error = tasks.standard_error(sweep).fillna(0)
    methods = names(sweep.merged_by)
    counts = sweep["count"].values
    groups = {"the source's grids": methods[:4]}
    if methods[4:]:
        groups["λ of the last two chosen from a wide grid"] = [methods[0], methods[2], *methods[4:]]
    fig, axes = plotting.figure(len(groups), height=4.3, sharey=True, squeeze=False)
    for ax, (title, shown) in zip(axes[0], groups.items()):
        for name in shown:
            look = OF_METHOD[name.removesuffix(TUNED)]
            ax.errorbar(counts, mean.sel(merged_by=name).values, error.sel(merged_by=name).values,
                        color=look.colour, marker=look.marker, capsize=3, label=name.removesuffix(TUNED))
        ax.set(xlabel="number of tasks", title=title, ylim=(0, 1.05), xticks=counts)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    axes[0, 0].set_ylabel("accuracy / own networks' accuracy")
    series = []
    for name in methods:
        values = zip(counts, mean.sel(merged_by=name).values, error.sel(merged_by=name).values)
        of_counts = ", ".join(f"{count} tasks {value:.3f} ± {spread:.3f}" for count, value, spread in values)
        series.append(f"{name}: {of_counts}")
    return plotting.show(fig, f"Normalised accuracy by number of tasks, with standard errors. {'; '.join(series)}.",
                         f"{caption(sweep)} {sampled(sweep)} {rests_on(sweep)}")


def sampled(sweep: xarray.Dataset) -> str:
    """How many subsets there are, how many the source's rule asks for, and how many were taken."""
    taken = sweep.normalised.isel(merged_by=0).notnull().sum("subset").values
    of_counts = []
    for count, some, possible, needed in zip(sweep["count"].values, taken, sweep.possible.values, sweep.needed.values):
        of_counts.append(f"{count} tasks {some} ({possible:,}; {needed:,})")
    return f"Subsets taken (possible; asked for by the rule at ε = 1 %): {', '.join(of_counts)}."


def reading_of_figure_7(sweep: xarray.Dataset) -> Page:
    """Who loses least as tasks are added, with this sweep's numbers."""
    mean = sweep.normalised.mean("subset")
    counts = sweep["count"].values
    few = counts[counts > 2][0]
    many = counts[-1]
    left = {name: mean.sel(merged_by=name, count=many).item() for name in names(mean.merged_by)}
    lost = {name: mean.sel(merged_by=name, count=few).item() - left[name] for name in names(mean.merged_by)}
    best = max(left, key=left.get)
    template = """From {few} to {many} tasks the share of the own networks' accuracy falls by {lost}. {least} loses
                  least, and at {many} tasks {best} keeps most, {most:.2f}. With the grids of the source's appendix D
                  (λ = 1 for CART, at most 0.3 for task arithmetic) CART keeps {cart:.2f}."""
    if sweep.sizes["subset"] > 1:
        template += """ Over subsets the standard deviation σ is {spread:.3f} at most; the source's rule has
                        {assumed:.2f}."""
    return reading("Choi et al.’s Figure 7, and ours", template,
                   few=few,
                   many=many,
                   lost=", ".join(f"{value:.2f} ({name})" for name, value in lost.items()),
                   least=min(lost, key=lost.get),
                   best=best,
                   most=left[best],
                   cart=left["CART"],
                   spread=sweep.normalised.std("subset").max().item(),
                   assumed=0.01 * sweep.needed.max().item() ** 0.5 / 1.96)


def reading_of_storage(sweep: xarray.Dataset) -> Page:
    """What CART-Indexing keeps at 8 % and at the size of a mask, with this sweep's numbers."""
    low = sweep.sel(rank=0.08)
    emr = sweep.sel(peer="EMR")
    mask = emr.peer_task_bytes.item()
    fits = sweep.sel(rank=sweep["rank"][sweep.task_bytes <= 1.1 * mask]).isel(rank=-1)
    model = float(sweep.model_bytes)
    more_shared = emr.peer_shared_bytes.item() - low.shared_bytes.item()
    more_a_task = low.task_bytes.item() - mask
    return reading("Choi et al.’s Tables 3 and 4, and ours",
                   """At 8 % rank CART-Indexing reads {low:.3f}, the own networks {own:.3f}, EMR {emr:.3f}, TALL masks
                      {tall:.3f}, and a task takes {times:.1f} times as many bytes as a mask. At {fits_rank}, where it
                      is the size of a mask, it reads {fits:.3f}. It shares {shared:.0f} model (the average), the masks
                      {shared_by_masks:.0f} (θ₀ and a vector): in all, 8 % rank is the smaller one up to {tasks:.0f}
                      tasks.""",
                   low=low.accuracy.mean().item(),
                   own=sweep.own.mean().item(),
                   emr=emr.peer_accuracy.mean().item(),
                   tall=sweep.peer_accuracy.sel(peer="TALL masks").mean().item(),
                   times=low.task_bytes.item() / mask,
                   fits_rank=percent(float(fits["rank"])),
                   fits=fits.accuracy.mean().item(),
                   shared=low.shared_bytes.item() / model,
                   shared_by_masks=emr.peer_shared_bytes.item() / model,
                   tasks=more_shared / more_a_task)
