"""Panel (b): CART's rank and λ on eight tasks, and which tensors it truncates."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, paragraph, reading, said, table
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Bars, Look, curve, level, moving_titles
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREY, ORANGE, PURPLE
from lessons.kit.sweep import caption, names
from lessons.merging.search import best, rests_on
from lessons.vit.experiment.ranks import ATTENTION, BY_DIMENSION, BY_NAME, FUSED, GROUPS, MLP, chosen
from lessons.vit.panels import widths
from lessons.vit.panels.widths import difference, reading_of_widest, widest

CART = Look(BLUE, "o")
BESIDE = -0.36  # where a mark stands that would hide a bar's number
LEVELS = {"average": Look(ORANGE, "", "--"), "each alone": Look(BLACK, "", ":"), "θ₀": Look(GREY, "", "-.")}


def best_of(sweep: xarray.Dataset) -> dict[str, float]:
    """CART at the rank and λ that held-out images choose, of one width: rank, lam, accuracy, average, height (test)."""
    rank, lam = chosen(sweep)
    test = sweep.sel(part="test")
    accuracy = float(test.accuracy.sel(rank=rank, lam=lam).mean())
    average = float(test.average.mean())
    return {"rank": rank, "lam": lam, "accuracy": accuracy, "average": average, "height": accuracy - average}


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (b)."""
    average = float(sweep.average.sel(part="test", width=int(sweep.width[0])).mean())
    return said("""The average of the eight networks reads {average:.1%}. CART's rank and λ are chosen on held-out
                   images. How many **points** above the average is it then? (With CLIP, the source has
                   nineteen.)""",
                average=average)


@panel
def ranks(sweep: xarray.Dataset, prediction=None):
    """Panel (b): left accuracy against rank at a λ, right every task at a rank. Controls: lam, rank, width."""
    values, tasks = list(map(float, sweep["rank"].values)), names(sweep.task)
    fig, (left, right) = plotting.figure(2, height=4.4)
    left.set(ylim=(0, 1), ylabel=f"{ACCURACY}, eight tasks", xlabel="rank, share of what a matrix has")
    left.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    right.set(ylim=(0, 1.08), xlim=(-0.6, len(tasks) - 0.4), ylabel=ACCURACY)
    right.set_xticks(range(len(tasks)), tasks, rotation=45, ha="right")
    curve_of, mark = curve(left, CART, "CART"), curve(left, Look(BLACK, "o", ""), markersize=10, fillstyle="none")
    levels = [level(left, look, name) for name, look in LEVELS.items()]
    bars = Bars(right, range(len(tasks)), BLUE, "{:.2f}".format)
    marks = (curve(right, Look(BLACK, "_", ""), "right: each alone", markersize=16),
             curve(right, Look(ORANGE, "D", ""), "right: average", markersize=6))
    star = curve(left, Look(PURPLE, "*", ""), markersize=15)
    named = zip(left.get_legend_handles_labels(), right.get_legend_handles_labels())
    fig.legend(*(ours + theirs for ours, theirs in named), loc="outside lower left", ncols=3)
    titles = moving_titles((left, right))
    first, known = widths.first(sweep), best_of(sweep.isel(width=0))
    asked = widths.asked(sweep, lam=known["lam"], rank=known["rank"])
    if prediction:
        prediction.panel_answers(100 * known["height"], asked)

    def draw(lam, rank, width=first):
        of_width = sweep.sel(width=width, part="test")
        means = of_width.accuracy.sel(lam=lam).mean("task").values
        of_tasks = of_width.accuracy.sel(lam=lam, rank=rank).values
        curve_of.set_data(range(len(values)), means)
        place = values.index(rank)
        mark.set_data([place], [means[place]])
        heights = [float(of_width[name].mean()) for name in ("average", "own", "base")]  # as in LEVELS
        for line, height in zip(levels, heights):
            line.set_ydata([height, height])
        bars.set_values(of_tasks)
        marks[0].set_data(range(len(tasks)), of_width.own.values)
        marks[1].set_data(BESIDE + np.arange(len(tasks)), of_width.average.values)
        there = prediction and (lam, rank, width) == (known["lam"], known["rank"], first)
        shown = prediction.committed if there else None
        star.set_data([] if shown is None else [place], [] if shown is None else [heights[0] + shown / 100])
        numbers = {"lam": lam, "rank": rank, "mean": means[place], "average": heights[0], "own": heights[1],
                   "base": heights[2], "width": width}
        titles[0].set_text(said("λ = {lam:g}: {mean:.3f} at rank {rank:g}", **numbers))
        titles[1].set_text(said("average {average:.3f}, alone {own:.3f}", **numbers))
        by_rank = ", ".join(f"{value:g}: {mean:.3f}" for value, mean in zip(values, means))
        by_task = ", ".join(f"{task} {value:.2f}" for task, value in zip(tasks, of_tasks))
        return said("""Width {width}, λ = {lam:g}. By rank {by_rank}. The average reads {average:.3f}, each alone
                       {own:.3f}, θ₀ {base:.3f}. At rank {rank:g}: {by_task}.""", by_rank=by_rank, by_task=by_task,
                    **numbers)

    controls = {"lam": slider("λ", {f"{lam:g}": lam for lam in map(float, sweep.lam.values)}, known["lam"]),
                "rank": slider("rank", {f"{value:g}": value for value in values}, known["rank"])}
    return controls | widths.menu(sweep), fig, draw


# -- tables and readings ---------------------------------------------------------------------------

def reading_of_the_bell(sweep: xarray.Dataset) -> Page:
    """How high is the bell, and where is its peak? With this sweep's numbers."""
    sentences = []
    for width in map(int, sweep.width.values):
        numbers = best_of(sweep.sel(width=width))
        height = difference(sweep, numbers["accuracy"], numbers["average"])
        sentences.append(said("""Width {width}: {accuracy:.3f} at rank {rank:g} and λ = {lam:g}, {points} points against
                                 the average{doubt}.""", width=width, points=height, doubt=height.doubt(), **numbers))
    return reading("A bell?", "{listed}", listed=" ".join(sentences))


def best_way(accuracies: xarray.Dataset) -> float:
    """Test accuracy of one way at the rank and λ that held-out images choose."""
    best_there = best(accuracies.sel(part="held-out").mean("task"), "way_rank", "way_lam")
    return float(accuracies.sel(part="test").sel(best_there).mean())


def ways_table(sweep: xarray.Dataset) -> Page:
    """Test accuracy of every way to choose matrices, tuned alike, a row a way, a column a width."""
    rows = []
    for way in names(sweep.way):
        rows.append((way, *(f"{best_way(sweep.ways.sel(width=width, way=way)):.3f}" for width in sweep.width.values)))
    rows.append(("nothing truncated: the average", *(f"{float(sweep.average.sel(width=width, part='test').mean()):.3f}"
                                                   for width in sweep.width.values)))
    return table(["which matrices", *(f"accuracy, width {int(width)}" for width in sweep.width.values)], rows,
                 after=paragraph(f"{caption(sweep)} {rests_on(sweep)}"))


def reading_of_the_parts(sweep: xarray.Dataset) -> Page:
    """Where does a finetuned network keep what it learned: in attention or in the MLPs?"""
    of_width = widest(sweep)
    own = float(of_width.own.sel(part="test").mean())
    base = float(of_width.base.sel(part="test").mean())
    alone = of_width.alone.mean("task")
    gained = max(own - base, 1e-9)
    attention, mlp, rest = (float((alone.sel(group=group) - base) / gained) for group in GROUPS)
    return reading_of_widest(sweep, "Attention or MLP?", """
        Give θ₀ one part of a task's own vector and nothing else. Of what the whole vector gains, attention alone gains
        {attention:.0%}, the MLPs alone {mlp:.0%}, all else {rest:.0%}. Together that is {total:.0%}{more}.""",
                   attention=attention, mlp=mlp, rest=rest, total=attention + mlp + rest,
                   more=": in part they do the same" if attention + mlp + rest > 1 else "")


def reading_of_the_ways(sweep: xarray.Dataset) -> Page:
    """Does it matter which tensors count as matrices?"""
    of_width = widest(sweep)
    scores = {way: best_way(of_width.ways.sel(way=way)) for way in names(sweep.way)}
    same = [scores[way] for way in (BY_DIMENSION, BY_NAME, FUSED)]
    apart = difference(sweep, max(same), min(same))
    shares = dict(zip(names(of_width.group), map(float, of_width.squares.values)))
    return reading_of_widest(sweep, "By name, by dimension, fused", """
        The three lie within {apart:.1f} points{doubt}. Attention's matrices hold
        {attention:.0%} of the centred task vectors' squared length, the MLPs' {mlp:.0%}; truncated and added alone,
        attention gives {only_attention:.3f}, the MLPs {only_mlp:.3f}.""",
                   apart=apart, doubt=apart.doubt(), attention=shares["attention"],
                   mlp=shares["MLP"], only_attention=scores[ATTENTION], only_mlp=scores[MLP])
