"""CART-Indexing against masks; methods against the number of tasks."""
import xarray

from lessons.kit import plotting
from lessons.cart.algorithms.costs import low_rank_bits, mask_bits, width_where_low_rank_wins
from lessons.cart.experiment import tasks as experiment
from lessons.cart.panels.parts import ACCURACY, AVERAGE, OWN, percent, titles
from lessons.kit.page import Page, table
from lessons.kit.panel import slider
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PURPLE
from lessons.kit.sweep import caption
from lessons.kit.panel import panel
from lessons.kit.plotting import still

KILO = 1000
NUM_TASKS = (2, 4, 8, 14, 20, 40)


@panel
def storage(sweep: xarray.Dataset):
    """Left, accuracy against what a task needs on disk; right, the total for a number of tasks. Controls: rank,
    num_tasks."""
    ranks = list(map(float, sweep["rank"].values))
    fig, (left, right) = plotting.figure(2, height=4.2, width_ratios=(5, 4))
    size, accuracy = sweep.task_bytes.values / KILO, sweep.accuracy.mean("task").values
    left.plot(size, accuracy, color=BLUE, marker="o", markersize=4, label="CART-Indexing, by rank")
    for peer, colour, marker in zip(sweep.peer.values, (ORANGE, PURPLE), ("s", "D")):
        left.plot(sweep.peer_task_bytes.sel(peer=peer) / KILO, sweep.peer_accuracy.sel(peer=peer).mean("task"), color=colour, marker=marker, markersize=9, linestyle="", label=str(peer))
    for value, style, label, colour in ((sweep.own.mean(), ":", OWN, BLACK), (sweep.average.mean(), "--", AVERAGE, GREEN)):
        left.axhline(float(value), color=colour, linestyle=style, linewidth=1.4, marker="", label=label)
    left.axvline(float(sweep.model_bytes) / KILO, color=GREY, linewidth=1, marker="", label="a whole network")
    left.set(xscale="log", xlabel="kilobytes a task, in a file", ylabel=ACCURACY, ylim=(min(0.3, float(sweep.average.mean()) - 0.05), 1.02))
    marks = [mark for mark in (1, 3, 10, 30, 100, 300, 1000, 3000) if mark > 0.7 * size.min()]
    left.set_xticks(marks, [f"{mark:g}" for mark in marks])
    left.minorticks_off()
    left.legend(fontsize=8, loc="lower right", frameon=True, facecolor="white", edgecolor="white", framealpha=0.9)
    spot = left.plot([], [], color=BLUE, marker="*", markersize=16, markeredgecolor=BLACK, linestyle="", animated=True)[0]
    lowest, highest = 0.7 * float(sweep.shared_bytes.min()) / KILO ** 2, 1.6 * NUM_TASKS[-1] * float(sweep.model_bytes) / KILO ** 2
    ticks = [tick for tick in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if lowest < tick < highest]
    names = ["CART-Indexing", *map(str, sweep.peer.values), "whole\nnetworks"]
    right.set(ylabel="megabytes in all (logarithmic)", xlim=(-0.6, len(names) - 0.4), yscale="log", ylim=(lowest, highest))
    right.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.set_xticks(range(len(names)), names, fontsize=8)
    bars = [right.plot([], [], color=colour, linewidth=36, solid_capstyle="butt", marker="", animated=True)[0] for colour in (BLUE, ORANGE, PURPLE, GREY)]
    texts = [right.text(place, 1, "", ha="center", va="bottom", fontsize=8.5, animated=True) for place in range(len(names))]
    moving = titles((left, right))

    def draw(rank, num_tasks):
        row, here = ranks.index(rank), sweep.sel(rank=rank)
        spot.set_data([size[row]], [accuracy[row]])
        totals = [here.shared_bytes + num_tasks * here.task_bytes, *(sweep.peer_shared_bytes + num_tasks * sweep.peer_task_bytes).values, num_tasks * sweep.model_bytes]
        totals = [float(total) / KILO / KILO for total in totals]
        for place, (bar, text, total) in enumerate(zip(bars, texts, totals)):
            bar.set_data([place, place], [1e-6, total])
            text.set(y=total, text=f"{total:.2f}")
        moving[0].set_text(f"rank {percent(rank)}: {size[row]:.0f} kB, accuracy {accuracy[row]:.3f}")
        moving[1].set_text(f"{num_tasks} tasks, rank {percent(rank)}")
        peers = "; ".join(f"{peer} {float(sweep.peer_task_bytes.sel(peer=peer)) / KILO:.1f} kB, accuracy {float(sweep.peer_accuracy.sel(peer=peer).mean()):.3f}" for peer in sweep.peer.values)
        return (f"CART-Indexing at rank {percent(rank)}: {size[row]:.1f} kB a task, accuracy {accuracy[row]:.3f}; {peers}; own networks {float(sweep.own.mean()):.3f}, {float(sweep.model_bytes) / KILO:.0f} kB. "
                f"In all, {num_tasks} tasks: {', '.join(f'{name} {total:.2f} MB'.replace(chr(10), ' ') for name, total in zip(names, totals))}.")

    controls = {"rank": slider("rank", ranks, 0.08), "num_tasks": slider("number of tasks", list(NUM_TASKS), 8)}
    return controls, fig, draw, caption(sweep) + " Sizes of safetensors files, float32."


def bits_by_width(rank_ratio: float = 0.08, widths=(32, 100, 256, 1024, 4096), fixed: int = 16) -> Page:
    """A table: bits a task of low-rank factors over bits of a mask for M × M matrices, at a share of the rank and at a
    rank that stays the same."""
    def times(width, rank):
        return low_rank_bits(width, width, rank) / mask_bits(width, width)
    rows = [(f"k = {percent(rank_ratio)} of M", [times(width, -int(-rank_ratio * width // 1)) for width in widths]), (f"k = {fixed}", [times(width, fixed) for width in widths])]
    return table(("", *(f"M = {width:,}" for width in widths)), [(name, *(f"{value:.2f}" for value in values)) for name, values in rows],
                 before="<p><b>Low rank over mask, bits a task</b> (below 1 the low rank is smaller).</p>",
                 after=f"<p>With k = {fixed} low rank wins from M = {width_where_low_rank_wins(fixed):,} on. With a share γ of the rank both grow like M², and it wins where 64γ &lt; 1, at any width or at none.</p>")


@still
def number_of_tasks(sweep: xarray.Dataset):
    """Fig. 7: normalised accuracy against the number of tasks, mean and standard error over subsets; left with the
    source's grids, right with λ tuned."""
    mean, error = sweep.normalised.mean("subset"), experiment.standard_error(sweep).fillna(0)
    names = list(map(str, sweep.merged_by.values))
    groups = [("the source's grids", names[:4])] + ([("λ chosen from a wide grid", [names[0], *names[4:]])] if names[4:] else [])
    fig, axes = plotting.figure(len(groups), height=4.1, sharey=True, squeeze=False)
    for ax, (title, shown) in zip(axes[0], groups):
        for name in shown:
            index = names.index(name)
            ax.errorbar(sweep["count"].values, mean.sel(merged_by=name).values, error.sel(merged_by=name).values, color=COLOURS[index % 6], marker=MARKERS[index % 6], capsize=3, label=name)
        ax.set(xlabel="number of tasks", title=title, ylim=(0, 1.05))
        ax.legend(fontsize=8.5, loc="lower left")
    axes[0, 0].set_ylabel("accuracy / own networks' accuracy")
    said = "; ".join(f"{name}: " + ", ".join(f"{count} tasks {mean.sel(merged_by=name, count=count).item():.3f} ± {error.sel(merged_by=name, count=count).item():.3f}" for count in sweep["count"].values) for name in names)
    return plotting.show(fig, f"Normalised accuracy by number of tasks, with standard errors. {said}.", caption(sweep) + " " + sampled(sweep))


def sampled(sweep: xarray.Dataset) -> str:
    """How many subsets there are, how many the source's rule asks for, and how many were taken."""
    taken = sweep.normalised.isel(merged_by=0).notnull().sum("subset").values
    return "Subsets taken (possible; asked for by the rule at ε = 1 %): " + ", ".join(
        f"{count} tasks {some} ({possible:,}; {needed:,})" for count, some, possible, needed in zip(sweep["count"].values, taken, sweep.possible.values, sweep.needed.values)) + "."


def reading_of_figure_7(sweep: xarray.Dataset) -> Page:
    """Who loses least as tasks are added, with this sweep's numbers."""
    mean, counts = sweep.normalised.mean("subset"), sweep["count"].values
    few, many = counts[counts > 2][0], counts[-1]
    lost = {str(name): (mean.sel(merged_by=name, count=few) - mean.sel(merged_by=name, count=many)).item() for name in mean.merged_by.values}
    left = {name: mean.sel(merged_by=name, count=many).item() for name in lost}
    best, least = max(left, key=left.get), min(lost, key=lost.get)
    text = (f"From {few} to {many} tasks the share of the own networks' accuracy falls by " + ", ".join(f"{value:.2f} ({name})" for name, value in lost.items())
            + f". {least} loses least, and at {many} tasks {best} keeps most, {left[best]:.2f}. With the grids of the source's appendix D (λ = 1 for CART, at most 0.3 for task arithmetic) CART keeps {left['CART']:.2f}.")
    if sweep.sizes["subset"] > 1:
        spread, assumed = sweep.normalised.std("subset").max().item(), 0.01 * sweep.needed.max().item() ** 0.5 / 1.96
        text += f" Over subsets the standard deviation σ is {spread:.3f} at most; the source's rule has {assumed:.2f}."
    return Page(text, f"<p><b>Figure 7 of CART, and ours.</b> {text}</p>")


def reading_of_storage(sweep: xarray.Dataset) -> Page:
    """What CART-Indexing keeps at 8 % and at the size of a mask, with this sweep's numbers."""
    low, mask = sweep.sel(rank=0.08), sweep.peer_task_bytes.sel(peer="EMR").item()
    fits = sweep.sel(rank=sweep["rank"][sweep.task_bytes <= 1.1 * mask]).isel(rank=-1)
    shares = [float(value) / float(sweep.model_bytes) for value in (low.shared_bytes, sweep.peer_shared_bytes.sel(peer="EMR"))]
    text = (f"At 8 % rank CART-Indexing reads {low.accuracy.mean().item():.3f}, the own networks {sweep.own.mean().item():.3f}, EMR {sweep.peer_accuracy.sel(peer='EMR').mean().item():.3f}, TALL masks "
            f"{sweep.peer_accuracy.sel(peer='TALL masks').mean().item():.3f}, and a task takes {low.task_bytes.item() / mask:.1f} times as many bytes as a mask. At {percent(float(fits['rank']))}, where it is the size of a mask, it reads "
            f"{fits.accuracy.mean().item():.3f}. It shares {shares[0]:.0f} model (the average), the masks {shares[1]:.0f} (θ₀ and a vector): in all, 8 % rank is the smaller one up to "
            f"{(sweep.peer_shared_bytes.sel(peer='EMR').item() - low.shared_bytes.item()) / (low.task_bytes.item() - mask):.0f} tasks.")
    return Page(text, f"<p><b>Tables 3 and 4 of CART, and ours.</b> {text}</p>")
