"""CART-Indexing against masks; methods against the number of tasks."""
import math
from collections.abc import Sequence

import numpy as np
import xarray

from lessons.cart.algorithms.costs import low_rank_bits, mask_bits, width_where_low_rank_wins
from lessons.cart.algorithms.spectra import kept_rank
from lessons.cart.experiment import tasks
from lessons.cart.experiment.bell import WIDTH
from lessons.cart.experiment.storage import PEERS
from lessons.cart.panels.parts import numbers_of, percent
from lessons.kit import plotting
from lessons.kit.noise import APART, WIDE, Difference, reach
from lessons.kit.page import Markup, Page, capital, minus, paragraph, quiet, reading, said, table
from lessons.kit.plotting import BLUE, GREEN, ORANGE, PURPLE, Look, still
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import (
    Axis,
    Band,
    Bars,
    Chart,
    Frame,
    Handle,
    Line,
    Reference,
    Spots,
    chips,
    key,
    slider,
    view,
)
from lessons.merging.search import rests_on

KILO = 1000
MEGA = KILO ** 2
NUM_TASKS = (2, 4, 8, 14, 20, 40)
CLEAR = 0.1  # of the own networks' accuracy, at least, is far more
JUST = 1.75  # standard errors, at least, are just less than two
SAME_SIZE = 1.1  # times a mask's bytes, at most, is the same size
OF_METHOD = {"average": Look(GREEN, "o"), "task arithmetic": Look(ORANGE, "s"), "TIES": Look(PURPLE, "^"),
             "CART": Look(BLUE, "D")}
TUNED = ", tuned"
_GRIDS = ("The source’s grids for its Figure 7 (appendix D) have λ = 1 for CART, which it searches up to 3 elsewhere "
          "(appendix B), and at most 0.3 for task arithmetic.")
OF_WIDE_GRIDS = ("Right, task arithmetic has λ from a wide grid, and CART has λ and the rank from one; the average and "
                 "TIES are as on the left.")


_ALT = """
    CART-Indexing with {rank} of the rank: {size:.1f} kB a task, accuracy {accuracy:.3f} ± {error:.3f}; over all ranks
    {all_ranks}. {peers}; average {average:.3f}; networks alone {own:.3f}, {model:.0f} kB. In all, for {num_tasks}
    tasks: {totals}."""


@view
def storage(sweep: xarray.Dataset):
    """Left, accuracy against what every task needs in a file, by the directions kept, with the two methods that keep a
    mask a task; right, the bytes in all for a number of tasks, as a share of the whole networks'. Controls: rank,
    num_tasks."""
    ranks = [rank for rank in numbers_of(sweep["rank"]) if rank]
    with_any = sweep.sel(rank=ranks)
    sizes, accuracy = with_any.task_bytes.values / KILO, with_any.accuracy.mean("task").values
    masks = {name: sweep.sel(peer=name) for name in names(sweep.peer)}
    of_masks = {name: float(part.peer_accuracy.mean()) for name, part in masks.items()}
    level = {"average": float(sweep.average.mean()), "own": float(sweep.own.mean())}
    images, model = sweep.sizes["task"] * int(sweep.attrs["test_images"]), float(sweep.model_bytes)
    errors = reach(accuracy, images)
    ways = ["CART-Indexing", *masks, "networks one by one"]
    words = {rank: f"{percent(rank)} of the rank: {size:,.0f} kB" for rank, size in zip(ranks, sizes)}

    def draw(rank, num_tasks):
        low, row = with_any.sel(rank=rank), position(ranks, rank, "rank")
        of_peers = [float(part.peer_shared_bytes + num_tasks * part.peer_task_bytes) for part in masks.values()]
        totals = np.array([float(low.shared_bytes + num_tasks * low.task_bytes), *of_peers, num_tasks * model])
        shares = totals / totals[-1]
        values = {"sure": (accuracy - errors, accuracy + errors), "accuracy": accuracy, "own": level["own"],
                  **{name: ([float(part.peer_task_bytes) / KILO], [of_masks[name]]) for name, part in masks.items()},
                  "merged": [shares[0]], "masks": shares[1:-1], "whole": [1.0]}
        alt = said(_ALT, rank=percent(rank), size=sizes[row], accuracy=accuracy[row], error=errors[row],
                   all_ranks=", ".join(f"{size:.0f} kB: {value:.3f}" for size, value in zip(sizes, accuracy)),
                   peers="; ".join(f"{name} {float(part.peer_task_bytes) / KILO:.1f} kB, accuracy {of_masks[name]:.3f}"
                                   for name, part in masks.items()), model=model / KILO, num_tasks=num_tasks,
                   totals=", ".join(f"{name} {total / MEGA:.2f} MB" for name, total in zip(ways, totals)), **level)
        best = max(of_masks, key=of_masks.get)
        times = float(low.task_bytes) / float(masks[best].peer_task_bytes)
        return Frame(finding(accuracy[row], of_masks[best], times, images), alt, values,
                     key(("merged", "CART-Indexing: the average and some directions a task"),
                         ("", "grey: θ₀, a shared vector and a mask a task")))

    opens = min(ranks, key=lambda rank: abs(rank - 0.02))
    strength = PEERS["TALL masks"][1]["mask_strength"]
    controls = {"rank": slider("rank kept", {percent(rank): rank for rank in ranks}, opens,
                               places=tuple(map(float, sizes)), words=words.get, ends=[("", "few"), ("", "many")]),
                "num_tasks": chips("tasks in all", NUM_TASKS, 8)}
    return {"kicker": "Chapter 8: what every task costs", "draw": draw, "controls": controls,
            "charts": _charts(sizes, accuracy, level["own"], of_masks, sweep.sizes["task"]),
            "caption": f"{caption(sweep)} Sizes of safetensors files, float32. TALL masks with strength "
                       f"{strength:g}, not tuned. Band: two standard errors, {APART}."}


def _charts(sizes, accuracy, alone, of_masks, num_tasks):
    """Accuracy against bytes a task, and the bytes in all."""
    stops = tuple(map(float, sizes))
    ticks = {float(mark): f"{mark:,}" for mark in (10, 30, 100, 300, 1000, 3000) if stops[0] <= mark <= stops[-1] * 1.1}
    everywhere = (alone, *accuracy, *of_masks.values())
    low, high = np.floor(20 * min(everywhere)) / 20, min(1, np.ceil(20 * max(everywhere) + 0.4) / 20)
    left = Chart(Axis("kilobytes a task, in a file", 0.85 * stops[0], 1.1 * stops[-1], kind="log", ticks=ticks),
                 Axis(f"accuracy of {num_tasks} tasks, by kB a task", float(low), float(high), unit="percent"),
                 (Reference("own", "single", "each alone"), Band("sure", "merged", x=stops),
                  *(Spots(name, "other", names=(name,)) for name in of_masks),
                  Line("accuracy", "merged", "CART-Indexing", x=stops, dots=True), Handle("rank")))
    count = len(of_masks)
    ticks = dict(enumerate(("CART-Indexing", *(name.partition(" ")[0] for name in of_masks), "one by one")))
    right = Chart(Axis("", -0.6, count + 1.6, kind="places", ticks=ticks),
                  Axis("all bytes, as a share of storing every network", 0, 1.2, unit="percent"),
                  (Bars("merged", "merged", "CART-Indexing", x=(0,)),
                   Bars("masks", "other", "masks", x=tuple(range(1, count + 1))),
                   Bars("whole", "single", "networks one by one", x=(count + 1,))))
    return [left, right]


def finding(accuracy: float, of_mask: float, times: float, images: int) -> str:
    """What is kept of the single networks, beside what the better of the masks keeps.

    Args:
        accuracy: at the rank that is shown.
        times: as many bytes a task as a mask has.
    """
    difference = Difference.of(accuracy, of_mask, images)
    if not difference.is_news:
        return "A few directions a task keep as much as a mask"
    if difference.value < 0:
        return "So few directions a task keep less than a mask"
    if times <= SAME_SIZE:
        return "A few directions a task keep more than a mask of the same size"
    return "More directions a task keep more than a mask, and take more room"


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
    before = Markup("<p><b>Low rank over mask, bits a task</b> (below 1 the low rank is smaller; k is rounded up)."
                    "</p>")
    after = paragraph(said("""With k = {fixed} low rank wins from M = {wins:,} on. With a share γ of the rank both grow
                              like M², and it wins where 64γ < 1, at any width or at none.""",
                           fixed=fixed, wins=width_where_low_rank_wins(fixed)))
    return table(("", *(f"M = {width:,}" for width in widths)), rows, before=before, after=after)


# -- the number of tasks ---------------------------------------------------------------------------

@still
def number_of_tasks(sweep: xarray.Dataset):
    """Fig. 7: normalised accuracy against the number of tasks, mean and standard error over subsets; left with the
    source's grids, right with wide grids for two methods, if they were tried."""
    mean = sweep.normalised.mean("subset")
    error = tasks.standard_error(sweep)
    methods = names(sweep.merged_by)
    counts = sweep["count"].values
    groups = {"the source's grids": methods[:4]}
    if methods[4:]:
        groups["wide grids for task arithmetic and CART"] = [methods[0], methods[2], *methods[4:]]
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
        of_counts = ", ".join(f"{count} tasks {value:.3f} {'(one subset)' if np.isnan(spread) else f'± {spread:.3f}'}"
                              for count, value, spread in values)
        series.append(f"{name}: {of_counts}")
    return plotting.show(fig, f"Normalised accuracy by number of tasks, with standard errors. {'; '.join(series)}.",
                         f"{caption(sweep)} {sampled(sweep)} {OF_WIDE_GRIDS if methods[4:] else ''} Bars: one standard "
                         f"error. Where there is one subset, there is no bar. {rests_on(sweep)}")


def sampled(sweep: xarray.Dataset) -> str:
    """How many subsets there are, and over how many of them means are taken."""
    taken = sweep.normalised.isel(merged_by=0).notnull().sum("subset").values
    of_counts = []
    for count, some, possible in zip(sweep["count"].values, taken, sweep.possible.values):
        which = "the one set of all" if possible == 1 else f"{some} of the {possible:,} subsets of"
        of_counts.append(f"{which} {count} tasks")
    return f"Means over {', '.join(of_counts)}."


def reading_of_figure_7(sweep: xarray.Dataset) -> Page:
    """What the methods keep with all tasks, and what follows for a comparison; below it a table of what each keeps of
    few tasks and of all."""
    mean, error = sweep.normalised.mean("subset"), tasks.standard_error(sweep)
    counts = sweep["count"].values
    few, many = int(counts[counts > 2][0]), int(counts[-1])
    called = _with_their_grids(names(sweep.merged_by))
    shares = {name: mean.sel(merged_by=name, count=many).item() for name in called}
    lost = {name: mean.sel(merged_by=name, count=few).item() - shares[name] for name in called}
    title, sentence, so = _with_all_tasks(shares)
    least, most = min(lost, key=lost.get), max(shares, key=shares.get)
    doubt = _doubt_of_the_least(lost, error.sel(count=few))
    keeps = "it also keeps most" if least == most else f"{called[most]} keeps most"
    first = reading(title, """With all {many} tasks {sentence} Choi et al. find that CART loses least as tasks are
                              added. From the first column of the table to the second, {least} loses least{doubt}. With
                              all tasks{alone} {keeps}. That is so on these tasks alone: CART-11 of the ledger says how
                              other draws went. {so}""",
                    many=many, sentence=sentence, least=called[least], doubt=doubt, keeps=keeps, so=so,
                    alone=" (one subset, so no error is known)" if sweep.possible.values[-1] == 1 else "")
    rows = [(capital(called[name]), *(_kept_said(mean, error, name, count) for count in (few, many)),
             minus(f"{lost[name]:.2f}")) for name in called]
    head = ("share of the own networks’ accuracy", f"{few} tasks", f"{many} tasks", f"lost from {few} to {many} tasks")
    below = table(head, rows)
    note = _of_the_table(sweep)
    return Page(f"{_GRIDS}\n{first.text}\n{below.text}\n{note}",
                paragraph(_GRIDS) + first.page + below.page + (quiet(note) if note else ""))


def _with_their_grids(methods):
    """How the reading calls every method: with its grid, where two were tried."""
    called = {name: f"{name} with the source’s grid" if name + TUNED in methods else name for name in methods}
    wide = {name: f"{name.removesuffix(TUNED)} with the wide grid" for name in methods if name.endswith(TUNED)}
    return called | wide | {"average": "the average"}


def _with_all_tasks(shares):
    """What the methods keep with all tasks: a title, the end of a sentence, and what follows."""
    wide, best = shares.get("CART" + TUNED, 0.0), max(shares, key=shares.get)
    if wide > shares["CART"] + CLEAR:
        return ("A wide grid for λ and the rank brings CART far more than the source’s grid",
                said("""CART keeps {narrow:.2f} of the own networks’ accuracy with the source’s grid, where λ is 1, and
                        {wide:.2f} with the wide one.""", narrow=shares["CART"], wide=wide),
                "So choose λ and the rank on your own tasks before you compare methods.")
    name = "the average" if best == "average" else best.removesuffix(TUNED)
    sentence = f"{name} keeps {shares[best]:.2f} of the own networks’ accuracy"
    if best != "CART":
        sentence += f", and CART {shares['CART']:.2f} with the source’s grid"
    if best == "average":
        return ("With all tasks, no method keeps more than the plain average", f"{sentence}.",
                "So measure the plain average before you choose a method.")
    return (f"With all tasks, {name} keeps most", f"{sentence}.",
            "So compare methods on your own tasks before you choose one.")


def _doubt_of_the_least(lost, error):
    """What to add to the method that loses least: nothing if it is news. error: (merged_by,), with few tasks."""
    least, second = sorted(lost, key=lost.get)[:2]
    noise = WIDE * float(np.hypot(error.sel(merged_by=least), error.sel(merged_by=second)))
    if math.isnan(noise):
        return " (on one subset)"
    return ", but its lead over the next method is within the noise" if lost[second] - lost[least] < noise else ""


def _kept_said(mean, error, name, count):
    """A cell of the table: the mean over subsets, with its standard error if there is one."""
    value, spread = (part.sel(merged_by=name, count=count).item() for part in (mean, error))
    return f"{value:.2f}" if math.isnan(spread) else f"{value:.2f} ± {spread:.2f}"


def _of_the_table(sweep):
    """What stands below the table: the spread over subsets, if there are several."""
    if sweep.sizes["subset"] == 1:
        return ""
    return said("""±: one standard error of the mean over subsets, where there are several. Over the subsets drawn, the
                   standard deviation σ is {spread:.3f} at most. The bound of exercise 8.7 for σ is {assumed:.2f} at
                   most, if low is the mean of the lowest accuracies of θ₀ and high that of the highest own ones (the
                   source's appendix D), both as shares of the latter.""",
                spread=sweep.normalised.std("subset", ddof=1).max().item(),
                assumed=0.01 * sweep.needed.max().item() ** 0.5 / 1.96)


def reading_of_a_few_directions(sweep: xarray.Dataset) -> Page:
    """What CART-Indexing keeps of the single networks at the size of a mask, beside the better mask."""
    images = sweep.sizes["task"] * int(sweep.attrs["test_images"])
    masks = sweep.peer_accuracy.mean("task")
    mask = sweep.peer_task_bytes.sel(peer="EMR").item()
    fits = sweep.sel(rank=sweep["rank"][sweep.task_bytes <= SAME_SIZE * mask]).isel(rank=-1)
    accuracy, alone, of_mask = (float(value) for value in (fits.accuracy.mean(), sweep.own.mean(), masks.max()))
    loses, rank = Difference.of(alone, accuracy, images), float(fits["rank"])
    nearly = loses.value < 0.03
    title = "For the bytes of a mask, a few directions bring each network back" if not loses.is_news else \
        "For the bytes of a mask, a few directions nearly bring each network back" if nearly else \
        "What a few directions keep for the bytes of a mask"
    return reading(title,
                   """With {rank} of the rank ({few} of {width} directions), each task takes about the
                      bytes of a mask, and the accuracy is {kept:.0f} %. The single networks have {alone:.0f} %, and the
                      better of the masks {mask:.0f} %.""",
                   rank=percent(rank), few=kept_rank(rank, (WIDTH, WIDTH)), width=WIDTH, kept=100 * accuracy,
                   alone=100 * alone, mask=100 * of_mask)


def reading_of_storage(sweep: xarray.Dataset) -> Page:
    """CART-Indexing at the size of a mask beside the better mask, and up to how many tasks the source's 8 % is smaller
    in all; below it a table with 8 % and the masks."""
    low, mask = sweep.sel(rank=0.08), sweep.sel(peer="EMR")
    fits = sweep.sel(rank=sweep["rank"][sweep.task_bytes <= SAME_SIZE * mask.peer_task_bytes.item()]).isel(rank=-1)
    times = low.task_bytes.item() / mask.peer_task_bytes.item()
    saved = mask.peer_shared_bytes.item() - low.shared_bytes.item()
    masks = sweep.peer_accuracy.mean("task")
    images, average = sweep.sizes["task"] * int(sweep.attrs["test_images"]), sweep.average.mean().item()
    ahead = Difference.of(fits.accuracy.mean().item(), masks.max().item(), images)
    first = reading(f"For the bytes of a mask, a few directions of each task {_beside_a_mask(ahead, fits, images)}",
                    """At {fits_rank} of the rank a task takes about the bytes of a mask. There the accuracy of
                       CART-Indexing minus that of the better mask is {ahead} points{doubt} (±: one standard error).
                       {rest} With the 8 % of Choi et al. CART-Indexing is {beside}. There a task takes {times:.1f}
                       times as many bytes as a mask. But CART-Indexing shares one model (the average), and the masks
                       share two (θ₀ and a vector), so with this rank it is the smaller one in all up to {tasks} tasks.
                       So count all bytes for your number of tasks before you choose.""",
                    fits_rank=percent(float(fits["rank"])), ahead=ahead,
                    doubt=_how_far(ahead),
                    rest=_beside_the_average(fits, masks.max().item(), images),
                    beside=_beside_the_networks(low, images), times=times,
                    tasks=math.floor(saved / (low.task_bytes.item() - mask.peer_task_bytes.item())))
    ways = [(f"CART-Indexing, {percent(float(part['rank']))} of the rank", part.accuracy, part.task_bytes,
             part.shared_bytes) for part in (fits, low)]
    ways += [(name, part.peer_accuracy, part.peer_task_bytes, part.peer_shared_bytes)
             for name, part in ((name, sweep.sel(peer=name)) for name in names(sweep.peer))]
    rows = [(name, f"{accuracy.mean().item():.3f}", *(f"{size.item() / KILO:,.0f}" for size in sizes))
            for name, accuracy, *sizes in ways]
    rows.append(("the average", f"{average:.3f}", "0", f"{low.shared_bytes.item() / KILO:,.0f}"))
    rows.append(("the own networks", f"{sweep.own.mean().item():.3f}", f"{float(sweep.model_bytes) / KILO:,.0f}", "0"))
    below = table(("", "accuracy", "kB a task", "kB shared by all tasks"), rows)
    return Page(f"{first.text}\n{below.text}", first.page + below.page)


def _beside_a_mask(ahead, part, images):
    """What a few directions keep beside the better mask, and beside the average where neither can be told."""
    if ahead.is_news:
        return "keep more than a mask" if ahead.value > 0 else "keep less than the better mask"
    gains = Difference.of(part.accuracy.mean().item(), part.average.mean().item(), images)
    return "are within the noise of the better mask" if gains.is_news else \
        "are not clearly worse than the better mask and not clearly better than the plain average"


def _how_far(ahead):
    """The end of a sentence about a difference: "" if it is news."""
    if ahead.is_news:
        return ""
    return f", {'just ' if abs(ahead.value) > JUST * ahead.error else ''}less than two standard errors"


def _beside_the_networks(part, images):
    """Where the accuracy of CART-Indexing at one rank lies, beside the own networks and the average."""
    accuracy, own, average = (values.mean().item() for values in (part.accuracy, part.own, part.average))
    return f"{_where(accuracy, own, images)} the own networks and {_where(accuracy, average, images)} the average"


def _beside_the_average(part, of_mask, images):
    """A sentence: where CART-Indexing at one rank and the better mask lie, beside the average."""
    accuracy, average = part.accuracy.mean().item(), part.average.mean().item()
    low, mask = (_where(value, average, images) for value in (accuracy, of_mask))
    if low == mask:
        return f"Both are {low} the average."
    return f"CART-Indexing is {low} the average, and the mask is {mask} it."


def _where(a, b, images):
    """Where the accuracy a lies beside b."""
    ahead = Difference.of(a, b, images)
    return "within the noise of" if not ahead.is_news else "above" if ahead.value > 0 else "below"
