"""Views of your own checkpoints: every matrix's task vectors, and one layer's merge, cut to few numbers."""
import functools
import re
from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray
from torch import Tensor

from lessons.checkpoints.looking import overall
from lessons.kit import plotting
from lessons.kit.page import Markup, Page, reading, said, table
from lessons.kit.plotting import still
from lessons.kit.sweep import names
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Image, Line, chips, key, percent, slider, view
from lessons.kit.view.widget import MOST_FRAMES
from lessons.merging.lowrank import rank_of

ALL = "mean of all tasks"
MORE = 0.1  # of what lies against the elected sign by chance: a smaller difference from it is hardly one
NEARLY = 0.8  # of the matrices: more are nearly all
MOST_TICKS = 14
WRITTEN = 60  # cells of a map, in which numbers can be read
SIDE = 24  # rows and columns of a matrix that are drawn
APART = 0.02  # of a task's own vector: two ways that keep so much more or less differ
MERGES = {"the sum": (2.0, 0.5), "the average": (1.0, 0.5), "A alone": (1.0, 1.0), "B alone": (1.0, 0.0)}  # λ and α
_OF_LAYERS = """
    Matrix {number} of {matrices}, {name}, {task}: ‖τ‖/‖θ₀‖ is {length}. Of the magnitudes {against} point against the
    elected sign, {chance} were signs random. At rank {ratio:g} % the leading directions hold {held} of the squared
    length, and row spaces overlap by {overlap}. All matrices: ‖τ‖/‖θ₀‖ from {low} to {high}, largest in {longest}. On
    average the cosine is {cosine}, {mean_against} point against the elected sign, {mean_chance} were signs random, the
    leading directions hold {mean_held}, and row spaces overlap by {mean_overlap}."""
_OF_ONE = """
    {key}: λ·(α·A + (1 − α)·B) at λ = {lam:g}, α = {alpha:.2f}, density {density:g} and rank {rank:g} %. A: {a}. B: {b}.
    Share of every task's own vector in it: {told}. The change is {length:.3g} of the layer's length. Shares of A
    and B by numbers kept: in directions {by_rank}; in entries alone {by_density}."""

_COUNTED = ("Numbers kept: k·(m + n) for k directions of an m×n matrix; of entries their count, without the places "
            "where they stand.")


@view
def by_layer(sweep: xarray.Dataset):
    """Every layer's task vectors, matrices alone, from above: how long they are; how much of them points against the
    elected sign, beside chance; how much of their squared length the leading directions hold, and how far their row
    spaces overlap. Controls: matrix, ratio (the rank), task.

    Raises:
        ValueError: there is no matrix.
    """
    if not sweep.matrix.any():
        raise ValueError("these models have no matrix, and this picture is of matrices")
    matrices = sweep.isel(layer=_in_order(sweep))
    keys, tasks, ratios = names(matrices.layer), [ALL, *names(sweep.task)], list(map(float, sweep.ratio.values))
    relative = matrices.norm / matrices.base_norm
    relative = relative.where(np.isfinite(relative))
    against, chance = matrices.against.values, matrices.against_by_chance.values
    spread, cosines = (relative.min("task").values, relative.max("task").values), _mean_cosine(matrices)

    @functools.cache
    def of(task, ratio):
        lengths, held = ((each.mean("task") if task == ALL else each.sel(task=task)).values
                         for each in (relative, matrices.energy.sel(ratio=ratio)))
        values = {"length": lengths, "all tasks": spread, "against": against, "by chance": chance, "held": held,
                  "overlap": matrices.overlap.sel(ratio=ratio).values}
        known = {f"mean_{name}": _written(_mean_of_known(values[name])) for name in ("against", "held", "overlap")}
        known |= {"mean_chance": _written(_mean_of_known(chance)), "cosine": _written(_mean_of_known(cosines)),
                  "longest": keys[_largest(lengths)], "low": _written(np.nanmin(lengths), ".2g"),
                  "high": _written(np.nanmax(lengths), ".2g")}
        return values, known, finding_of_task_vectors(against, chance, held, len(tasks) - 1)

    def draw(matrix, ratio, task):
        values, known, finding = of(task, ratio)
        at_the_stop = {name: _written(values[name][matrix - 1]) for name in ("against", "held", "overlap")}
        alt = said(_OF_LAYERS, number=matrix, matrices=len(keys), name=keys[matrix - 1], task=task, ratio=100 * ratio,
                   length=_written(values["length"][matrix - 1], ".2g"), chance=_written(chance[matrix - 1]),
                   **at_the_stop, **known)
        about = key(("", f"Matrix {matrix}: {keys[matrix - 1]}"), ("merged", f"Task vectors: {task}"),
                    ("", "band: from the shortest to the longest task vector"))
        return Frame(finding, alt, values, about)

    every = -(-len(keys) * len(tasks) * len(ratios) // MOST_FRAMES)  # so that a saved page can hold all settings
    stops, longest = range(1, len(keys) + 1, every), 1 + _largest(relative.mean("task").values)
    handles = {"matrix": slider("matrix", stops, min(stops, key=lambda stop: abs(stop - longest)),
                                words="matrix {}".format),
               "ratio": chips("rank kept", {f"{100 * ratio:g} %": ratio for ratio in ratios},
                              ratios[len(ratios) // 2]),
               "task": chips("task", tasks, more=True)}
    words = f"{sweep.sizes['layer']} tensors, {int(sweep['size'].sum()):,} numbers; {', '.join(names(sweep.task))}."
    if (matrices.norm == 0).all("task").any():
        words += " A curve has a gap at a matrix that no model moved."
    return {"kicker": "Chapter 13: task vectors, matrix by matrix",
            "tries": ("Drag the handle to a peak, and look at the charts below it.",),
            "draw": draw, "controls": handles, "stacked": True,
            "charts": _charts_by_layer(len(keys), relative.values, np.stack([against, chance])),
            "caption": f"{_whose(sweep)}: {words}"}


def _written(value, spec=".3f"):
    """A number for an alternative text; "unknown" where it is none, as of a matrix that nobody moved."""
    return format(float(value), spec) if np.isfinite(value) else "unknown"


def _largest(values):
    """Where the largest of the numbers that are known stands."""
    return int(np.nan_to_num(values, nan=-np.inf).argmax())


def _charts_by_layer(count, relative, conflict):
    """Lengths, signs and leading directions over the matrices."""
    x, moved = tuple(range(1, count + 1)), relative[relative > 0]
    across = Axis("matrix", 0.5, count + 0.5, ticks={number: f"{number}" for number in x[::-(-count // MOST_TICKS)]})
    low, high = (0.8 * float(moved.min()), 1.25 * float(moved.max())) if moved.size else (1e-6, 1.0)
    signs = 1.25 * float(np.nanmax(conflict, initial=0.2))
    return [Chart(across, Axis("length, as a share of the base’s", low, high, "log", ticks=_ticks(low, high), digits=3),
                  (Band("all tasks", "merged", x=x), Line("length", "merged", x=x, dots=True, near=True),
                   Handle("matrix")), height=190),
            Chart(across, Axis("share of the change against the elected sign", 0, signs, unit="percent", digits=1),
                  (Line("by chance", "chance", "by chance", x=x), Line("against", "merged", x=x, dots=True, near=True),
                   Handle("matrix")), height=190),
            Chart(across, Axis("squared length that the leading directions hold", 0, 1.05, unit="percent"),
                  (Line("overlap", "other", "row spaces overlap", x=x),
                   Line("held", "merged", x=x, dots=True, near=True), Handle("matrix")), height=190)]


def _ticks(low, high):
    """1, 2 and 5 times every power of ten between the ends of a logarithmic axis, or the powers alone if it is long."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [10.0 ** power * times for power in powers for times in ((1, 2, 5) if len(powers) < 5 else (1,))]
    return {tick: f"{tick:g}" for tick in ticks if low <= tick <= high}


def finding_of_task_vectors(against: np.ndarray, chance: np.ndarray, energies: np.ndarray, tasks: int) -> str:
    """Whether tasks agree on signs more than chance would, and whether the leading directions hold most of them.

    Args:
        against, chance: (matrices,), the share of all magnitudes that points against the elected sign, measured and
            with random signs.
        energies: (matrices,), the share of the squared length in the leading directions. NaN where nothing moved.
        tasks: how many.
    """
    known = energies[np.isfinite(energies)]
    if not len(known):
        return "No model moved any matrix of its base"
    most = float(np.mean(known > 0.5))
    which = "every matrix’s" if most == 1 else "nearly every matrix’s" if most > NEARLY else "some matrices’"
    held = f"leading directions hold {f'most of {which}' if most else 'less than half of any matrix’s'} change"
    compared = chance > 0
    if tasks == 1 or not compared.any():
        return f"The {held}"
    fewer = float(np.mean(1 - against[compared] / chance[compared]))
    agree = "more than by chance" if fewer > MORE else "less than by chance" if fewer < -MORE else \
        "hardly more than by chance" if fewer > 0 else "no more than by chance"
    return f"Signs agree {agree}, {held}"


def _mean_cosine(matrices):
    """The mean cosine of two tasks' vectors, a layer; NaN where fewer than two tasks moved it."""
    pairs = np.tril_indices(matrices.sizes["task"], -1)
    each = matrices.cosine.values[:, pairs[0], pairs[1]]
    return np.array([_mean_of_known(row) for row in each])


def _mean_of_known(values):
    """The mean without what was not moved and has no angle; NaN where none is known."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _in_order(sweep):
    """Where the matrices are, block 2 before block 10."""
    parts = [[(int(part), "") if part.isdigit() else (-1, part) for part in key.split(".")]
             for key in sweep.layer.values]
    return [place for place in sorted(range(len(parts)), key=parts.__getitem__) if sweep.matrix.values[place]]


def _whose(sweep):
    """How a caption begins: whose checkpoints these are."""
    trained_on = sweep.attrs["trained_on"]
    return f"The course's networks as files, trained on {trained_on}" if trained_on else "Your own checkpoints"


@view
def one_layer(sweep: xarray.Dataset):
    """A layer's merge, λ·(α·v_a + (1 − α)·v_b) with v = SVD_k(trim_d(τ)): its first rows and columns, and how much of
    every task's own vector is in it, against how many numbers the k directions take; dashed, as many of the largest
    entries. Controls: ratio (the rank), merge (λ and α), density."""
    (a, b), tasks = names(sweep.end), names(sweep.task)
    both, others = [tasks.index(a), tasks.index(b)], [task for task in tasks if task not in (a, b)]
    densities, ratios = (list(map(float, sweep[name].values)) for name in ("density", "ratio"))
    inner, pieces = (sweep[name].transpose("end", "density", "ratio", ...).values for name in ("inner", "piece"))
    sizes = sizes_of(ratios, sweep.attrs["sides"])
    places = sorted({size: place for place, size in reversed(list(enumerate(sizes)))}.values())  # one rank a size
    sizes, uncut = [sizes[place] for place in places], ratios.index(max(ratios))

    def draw(ratio, merge, density):
        (lam, alpha), row, column = MERGES[merge], densities.index(density), ratios.index(ratio)
        weights = lam * np.array([alpha, 1 - alpha])
        shares = np.einsum("e,edrt->drt", weights, inner)
        along, by_entries = shares[row, places], shares[:, uncut]
        values = {"change": np.abs(np.einsum("e,emn->mn", weights, pieces[:, row, column])),
                  **{f"of {task}": along[:, tasks.index(task)] for task in others}}
        for name, place in zip("AB", both):
            values |= {name: along[:, place], f"{name} by entries": by_entries[:, place]}
        square = weights @ sweep.gram.values[row, column] @ weights
        alt = said(_OF_ONE, key=sweep.attrs["key"], lam=lam, alpha=alpha, a=a, b=b, density=density, rank=100 * ratio,
                   told=", ".join(f"{task} {share:.2f}" for task, share in zip(tasks, shares[row, column])),
                   length=max(0.0, square) ** 0.5 / (sweep.base_norm.item() or np.nan),
                   by_rank=_listed(sizes, along[:, both]), by_density=_listed(densities, by_entries[:, both]))
        by_directions, by_entries = ({name: some[:, place] / weight for name, place, weight in zip("AB", both, weights)
                                      if weight} for some in (along, by_entries))
        finding = finding_of_keeping(sizes, by_directions, densities, by_entries, density < max(densities))
        about = key(("", f"Layer: {sweep.attrs['key']}"), ("a", f"A: {a}"), ("b", f"B: {b}"),
                    ("", "dashed: as many of the largest entries"), ("", "grey: the other tasks"))
        return Frame(finding, alt, values, about)

    stops = {f"{100 * size:.3g} %": ratios[place] for size, place in zip(sizes, places)}
    counted = {ratio: size for size, ratio in stops.items()}
    handles = {"ratio": slider("numbers kept", stops, ratios[places[len(places) // 2]], places=sizes,
                               words=lambda ratio: f"{100 * ratio:g} % of the directions: {counted[ratio]} of numbers"),
               "merge": chips("merge", list(MERGES)),
               "density": chips("entries kept before", {percent(density): density for density in densities},
                                max(densities), more=True)}
    return {"kicker": "Chapter 13: one layer, two tasks",
            "tries": ("Drag the handle. Which keeps more of A and B, directions or entries?",),
            "draw": draw, "controls": handles,
            "charts": _charts_of_one(sweep, sizes, densities, others),
            "caption": f"{_whose(sweep)}: {sweep.attrs['key']} of {a} and {b}. {_COUNTED}"}


def _listed(sizes, shares):
    """What is kept of A and of B at every size, for an alternative text."""
    return ", ".join(f"{percent(size)}: {of_a:.2f} and {of_b:.2f}" for size, (of_a, of_b) in zip(sizes, shares))


def sizes_of(ratios: list[float], sides: tuple[int, int]) -> list[float]:
    """How many numbers the directions of each rank take, as a share of the matrix's own; never more than these."""
    rows, columns = map(int, sides)
    ranks = [rank_of(ratio, min(rows, columns), "ceil") for ratio in ratios]
    return [min(1.0, rank * (rows + columns) / (rows * columns)) for rank in ranks]


def _charts_of_one(sweep, sizes, densities, others):
    """The change as an image, and the shares of the tasks' own vectors."""
    rows, columns = sweep.piece.shape[-2:]
    largest = float(np.quantile(np.abs(sweep.piece.sel(density=max(densities), ratio=sweep.ratio.max())), 0.99)) or 1.0
    image = Chart(Axis("column", 0, columns, ticks={0.5: "1", columns - 0.5: f"{columns}"}),
                  Axis(f"size of the change, first {rows} rows", 0, rows, ticks={-1: ""}),
                  (Image("change", "merged", extent=(0, columns, 0, rows), high=largest),))
    inner = sweep.inner.transpose("end", ...).values
    shares = np.stack([inner[0], inner[1], inner.sum(0)])
    least = 0.9 * min(*sizes, *densities)
    ticks = {tick: f"{100 * tick:g} %" for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1) if tick > least}
    over = Chart(Axis("numbers kept, share of the matrix", least, 1.1, "log", ticks=ticks),
                 Axis("share of the task’s own vector", float(np.nanmin(shares, initial=0)) - 0.1,
                      1.1 * float(np.nanmax(shares, initial=1)), unit="percent"),
                 (*(Line(f"of {task}", "other", x=sizes) for task in others),
                  Line("A by entries", "a", x=tuple(densities), dashed=True),
                  Line("B by entries", "b", x=tuple(densities), dashed=True),
                  Line("A", "a", "A", x=sizes, dots=True), Line("B", "b", "B", x=sizes, dots=True), Handle("ratio")))
    return [image, over]


def finding_of_keeping(sizes: Sequence[float], by_directions: dict[str, np.ndarray], densities: Sequence[float],
                       by_entries: dict[str, np.ndarray], trimmed: bool) -> str:
    """What keeps more of a task vector, its strongest directions or as many numbers in its largest entries.

    Args:
        sizes: of the directions, as shares of the matrix's numbers.
        by_directions: {"A" and "B", or one of them: the share of its own vector that is left at every size}.
        densities, by_entries: the same of entries.
        trimmed: whether the directions are those of vectors of which small entries were dropped before.
    """
    sizes, whose = np.array(sizes), " and ".join(by_directions)
    inside = (sizes >= min(densities)) & (sizes < 1)
    differences = np.array([directions[inside] - np.interp(np.log(sizes[inside]), np.log(densities), by_entries[name])
                            for name, directions in by_directions.items()])
    if np.isnan(differences).any():
        return "A model did not move this layer, so nothing of it can be kept"
    if not inside.any():
        return f"Nothing of {whose} is lost before directions or entries are dropped"
    first = "With small entries dropped first, directions keep" if trimmed else "At equal size, strong directions keep"
    if (differences > APART).all() or (differences < -APART).all():
        return f"{first} {'more' if differences.max() > APART else 'less'} of {whose} than large entries"
    if (np.abs(differences) <= APART).all():
        return f"{first} about as much of {whose} as large entries"
    return f"Neither directions nor entries always keep more of {whose}"


@still
def map_of_lengths(sweep: xarray.Dataset):
    """‖τ‖/‖θ₀‖ of every matrix, mean over tasks: a row a block, a column a kind of matrix. Matrices outside of blocks
    are left out, unless there are no others."""
    relative = (sweep.norm / sweep.base_norm).mean("task").where(sweep.matrix & (sweep.base_norm > 0))
    cells = {}
    for layer in names(sweep.layer):
        parts = re.search(r"(?:^|\.)(\d+)\.(.+)$", layer)
        block, kind = (int(parts[1]), parts[2].removesuffix(".weight")) if parts else (-1, layer)
        value = float(relative.sel(layer=layer))
        if np.isfinite(value):
            cells[block, kind] = value
    if any(block >= 0 for block, _ in cells):
        cells = {place: value for place, value in cells.items() if place[0] >= 0}
    blocks, kinds = sorted({block for block, _ in cells}), list(dict.fromkeys(kind for _, kind in cells))
    grid = np.array([[cells.get((block, kind), np.nan) for kind in kinds] for block in blocks])
    fig, ax = plotting.figure(height=1.4 + 0.32 * len(blocks))
    image = ax.imshow(grid, cmap="Greens", vmin=0, aspect="auto")
    if grid.size <= WRITTEN:
        for (block, kind), value in cells.items():
            dark = value > 0.6 * np.nanmax(grid)
            ax.text(kinds.index(kind), blocks.index(block), f"{value:.1%}", ha="center", va="center", fontsize=9,
                    color="white" if dark else "black")
    ax.set_xticks(range(len(kinds)), kinds, rotation=20 if len(kinds) > 4 else 0, ha="right", parse_math=False)
    ax.set_yticks(range(len(blocks)), [f"{block}" if block >= 0 else "" for block in blocks])
    ax.set_ylabel("block")
    ax.grid(False)
    fig.colorbar(image, label="‖τ‖/‖θ₀‖")
    told = ", ".join(f"{block}.{kind} {value:.1%}" for (block, kind), value in cells.items())
    return plotting.show(fig, f"Length of the task vectors over that of θ₀: {told}.",
                         f"{_whose(sweep)}. Mean over tasks.")


@still
def products(matrices: Mapping[str, Tensor]):
    """The first rows and columns of several matrices, all on one scale."""
    fig, axes = plotting.figure(len(matrices), height=2.7)
    high = float(torch.stack([matrix[:SIDE, :SIDE].abs().max() for matrix in matrices.values()]).max())
    for ax, (name, matrix) in zip(axes, matrices.items()):
        ax.imshow(matrix[:SIDE, :SIDE].numpy(), cmap="PuOr", vmin=-high, vmax=high)
        ax.set(title=name, xticks=[], yticks=[])
    lengths = ", ".join(f"{name} {float(matrix.norm()):.3g}" for name, matrix in matrices.items())
    return plotting.show(fig, f"Lengths of the whole matrices: {lengths}.",
                         f"First {SIDE} rows and columns. Purple is positive, orange negative.")


def summary(sweep: xarray.Dataset) -> Page:
    """A line a task: length, cosine with the others, cosine of θ_t with θ₀; and below, what was found strange."""
    tasks = overall(sweep)
    rows = []
    for place, name in enumerate(sweep.task.values):
        others = np.delete(tasks.cosine.values[place], place)
        known = others[np.isfinite(others)]  # a copy of the base has no angles
        mean, largest = (f"{known.mean():.3f}", f"{known.max():.3f}") if len(known) else ("–", "–")
        rows.append([name, f"{float(tasks.norm[place]):.3g}", f"{float(tasks.relative[place]):.4f}", mean, largest,
                     f"{float(sweep.parent[place]):.4f}"])
    head = ["task", "‖τ‖", "‖τ‖/‖θ₀‖", "mean cosine with others", "largest", "cosine of θ and θ₀, matrices"]
    notes = Markup("").join(Markup("<p><b>Mind:</b> {}</p>").format(note) for note in sweep.attrs["notes"])
    return table(head, rows, after=notes)


def reading_of_regime(sweep: xarray.Dataset) -> Page:
    """Whether these task vectors are as short and as upright to each other as CLIP's."""
    together = overall(sweep)
    pairs = together.cosine.values[np.tril_indices(together.sizes["task"], -1)]
    pairs = pairs[np.isfinite(pairs)]
    between = said("between {least:.2f} and {most:.2f}", least=pairs.min(), most=pairs.max()) if len(pairs) else ""
    cosines = f", and their cosines with each other lie {between}" if between else ""
    return reading("What kind of task vectors are these?", """
        Their length is {low:.3f} to {high:.3f} of θ₀'s{cosines}. Vectors nearly at right angles do not cancel each
        other as a whole, although many of their entries have opposite signs. Whether their sum is any good is another
        question, because the task vectors of the course’s networks merge badly.""",
                   low=float(together.relative.min()), high=float(together.relative.max()), cosines=cosines)
