"""Panel (c): task vectors added up and taken away; and a table of all methods."""
import numpy as np
import xarray

from lessons.kit.noise import APART, Difference, with_reach
from lessons.kit.page import Page, paragraph, said, table
from lessons.kit.plotting import still
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Spots, chips, key, slider, view
from lessons.merging import methods
from lessons.merging.search import rests_on
from lessons.vit.experiment import merges
from lessons.vit.panels import widths
from lessons.vit.panels.widths import bound, difference, dots, reading_of_widest, widest

ALL = "mean over all eight"
LITTLE = 0.25  # of what averaging loses: a gain below it is called small
MOST = 0.5  # of what averaging loses: more than this is most of it
CHANCE = 0.1  # of ten classes
NETWORKS = {"θ₀": "θ₀", "single": "each alone"}  # what is reported beside the methods
TABLE_1 = ("cart", "consensus", "ties", "task_arithmetic", "average")  # the source's order
_ALT = """
    Width {width}, {task}: with λ = {lam:g} taken away, the accuracy on its own task is {own:.3f} (θ₀ {own_before:.3f}),
    on the other seven {others:.3f} (θ₀ {others_before:.3f}). Points that the other seven lose, by the task that is
    taken away: {lost}."""


def title_of(reported: str) -> str:
    """What papers call a method, in short; or what a network beside the methods is called."""
    return NETWORKS.get(reported) or methods()[reported].short


@view
def negation(sweep: xarray.Dataset):
    """Panel (c): accuracy of θ₀ − λτ on the task of τ and on the other seven, against λ; and what the other seven lose
    at a λ, for every τ. A press on one of these chooses it. Controls: lam, task, and width where there are several."""
    lams, tasks = list(map(float, sweep.lam.values)), [ALL, *names(sweep.task)]
    images, rows = int(sweep.attrs["test_images"]) // (len(tasks) - 1), np.arange(len(tasks))[::-1]
    first, tables = widths.first(sweep), {}  # (task, of, λ), the mean first
    for width in map(int, sweep.width.values):
        each = sweep.negated.sel(width=width).transpose("task", "of", "lam").values
        tables[width] = np.concatenate([each.mean(0, keepdims=True), each])

    def draw(lam, task, width=first):
        table_of, row, step = tables[width], tasks.index(task), position(lams, lam, "lam")
        own, others = table_of[row]
        counts = images * (len(tasks) - 1 if task == ALL else 1), images * (len(tasks) - 2)
        lost = 100 * (table_of[:, 1, 0] - table_of[:, 1, step])
        marked = np.where(np.arange(len(tasks)) == row, lost, np.nan)
        values = {"own": own, "others": others, "chance": CHANCE, "each": (lost, rows), "chosen": (marked, rows),
                  "own, two standard errors": with_reach(own, counts[0])[1:],
                  "others, two standard errors": with_reach(others, counts[1])[1:]}
        alt = said(_ALT, width=width, task=task, lam=lam, own=own[step], own_before=own[0], others=others[step],
                   others_before=others[0], lost=", ".join(f"{name} {value:.1f}" for name, value in zip(tasks, lost)))
        whose = "one task vector, mean over all eight" if task == ALL else f"the task vector of {task}"
        about = key(("merged", f"θ₀ without {whose}, on its own task"), ("", "dashed: on the other seven"))
        finding = finding_of_taking_away((own[0], own[step]), (others[0], others[step]), *counts)
        return Frame(finding, alt, values, about)

    controls = {"lam": slider("λ", {f"{lam:g}": lam for lam in lams}, 1.0, words=lambda lam: f"λ = {lam:g} taken away",
                              ends=[("", "θ₀"), ("", "twice")]),
                "task": chips("task taken away", tasks, more=True)}
    return {"kicker": "Chapter 12: forgetting one task",
            "tries": ("Move λ.",
                      "Press on a dot to see its curves."),
            "charts": _charts(lams, tasks, tables), "draw": draw,
            "controls": controls | widths.menu(sweep),
            "caption": f"{caption(sweep)} Bands: two standard errors, {APART}."}


def _charts(lams, tasks, tables):
    """Accuracy over λ, and what the other seven lose for every task, with room for every λ and width."""
    every = np.stack(list(tables.values()))
    lost = 100 * (every[:, :, 1, :1] - every[:, :, 1])
    left = Chart(Axis("λ", lams[0], lams[-1], ticks={lam: f"{lam:g}" for lam in lams}),
                 Axis("accuracy", 0, 1.1 * float(every.max()), unit="percent"),
                 (Reference("chance", "chance", "chance"), Band("others, two standard errors", "merged"),
                  Band("own, two standard errors", "merged"),
                  Line("others", "merged", "the other seven", dashed=True),
                  Line("own", "merged", "its own task"), Handle("lam")))
    right = Chart(Axis("points that the other seven lose", min(-1, 1.1 * float(lost.min())), 1.1 * float(lost.max())),
                  Axis("by the task that is taken away, at this λ", -0.7, len(tasks) - 0.3, ticks={-1: ""}),
                  (Spots("each", "other", names=tuple(tasks), picks=("task",)), Spots("chosen", "merged")))
    return [left, right]


def finding_of_taking_away(own: tuple[float, float], others: tuple[float, float], images: int,
                           images_of_others: int) -> str:
    """What taking a task vector away costs its task and the others.

    Args:
        own, others: accuracy of θ₀ and of θ₀ − λτ, on the task and on the others.
        images, images_of_others: that these are of.
    """
    if own == (own[0],) * 2 and others == (others[0],) * 2:
        return "With nothing taken away, this is θ₀ itself"
    less, above = Difference.of(own[0], own[1], images), Difference.of(own[1], CHANCE, images)
    loses = less.is_news and less.value > 0
    if loses and not (above.is_news and above.value > 0):
        forgotten = "The task taken away is forgotten"
    else:
        forgotten = "The task taken away is partly forgotten" if loses else "The task taken away is not seen to suffer"
    of_others = Difference.of(others[0], others[1], images_of_others)
    if of_others.is_news and of_others.value > 0:
        return f"{forgotten}, {'and' if loses else 'but'} the others lose accuracy too"
    return f"{forgotten}, the others are not seen to lose"


# -- tables and readings ---------------------------------------------------------------------------

@still
def methods_as_dots(sweep: xarray.Dataset):
    """Test accuracy of every method, mean over tasks."""
    reported = sweep.test.mean("task").transpose("width", "reported")
    return dots(reported, [title_of(name) for name in names(sweep.reported)], int(sweep.attrs["test_images"]),
                f"{caption(sweep)} {rests_on(sweep)}")


def reading_of_methods(sweep: xarray.Dataset) -> Page:
    """How far does one network of all eight get, and how far one network a task?"""
    score = dict(zip(names(sweep.reported), map(float, widest(sweep).test.mean("task").values)))
    one = {name: value for name, value in score.items() if name not in (*NETWORKS, *names(sweep.storing))}
    best, stored = max(one, key=one.get), max(names(sweep.storing), key=score.get)
    gain = difference(sweep, score[best], score["average"])
    small = gain.value < LITTLE * (score["single"] - score["average"])
    regained = score[stored] - score["average"] > MOST * (score["single"] - score["average"])
    title = "What do the methods recover?"
    if small and regained:
        title = "One network of all eight stays near the average, but storing something for each task recovers most"
    return reading_of_widest(sweep, title, """
        The single network with the highest accuracy on these test images is by {best}, {gain} points above the
        average{doubt}. {stored}, which stores
        something for every task, is {accuracy:.1%} accurate, and each network alone {single:.1%}.""",
                             best=title_of(best), gain=gain, doubt=bound(gain), stored=title_of(stored),
                             accuracy=score[stored], single=score["single"])


def methods_table(sweep: xarray.Dataset) -> Page:
    """Test accuracy of every method, its λ and other parameter as held-out images chose them; a row a method."""
    rows = []
    for method in names(sweep.reported):
        cells = []
        for width in sweep.width.values:
            parameters = ""
            if method in merges.GRIDS and method != "average":
                scale, other = map(float, sweep.chosen.sel(width=width, searched=method).values)
                parameters = f"{scale:g}, {other:g}" if merges.GRIDS[method].other else f"{scale:g}"
            cells += [f"{float(sweep.test.sel(width=width, reported=method).mean()):.3f}", parameters]
        rows.append((title_of(method), *cells))
    head = ["", *(title for width in sweep.width.values for title in (f"width {int(width)}", "λ, other"))]
    return table(head, rows, after=paragraph(f"{caption(sweep)} {rests_on(sweep)}"))


def reading_of_table_1(sweep: xarray.Dataset) -> Page:
    """Is CART ahead of the four that its source compares it with, and what of TSV-M?"""
    accuracies = widest(sweep).test.mean("task")
    score = {method: float(accuracies.sel(reported=method)) for method in (*TABLE_1, "tsv", "θ₀", "single")}
    second = max(TABLE_1[1:], key=score.get)
    lead = difference(sweep, score["cart"], score[second])
    ahead = difference(sweep, score["tsv"], score["cart"])
    return reading_of_widest(sweep, "Is CART first?", """
        {told}: {cart:.3f} against {second:.3f} for {name}, the best of the other four, {lead}
        points. TSV-M, which the paper does not compare, has {tsv:.3f}, {ahead:+.1f} points against CART{doubt}. θ₀
        has {start:.3f}, and each network alone {single:.3f}.""", told=lead.agrees(), cart=score["cart"],
                   second=score[second], name=title_of(second), lead=lead, tsv=score["tsv"], ahead=100 * ahead.value,
                   doubt=ahead.doubt(), start=score["θ₀"], single=score["single"])


def reading_of_storing(sweep: xarray.Dataset) -> Page:
    """What does one model a task cost, in bytes, and what does it keep?"""
    of_width = widest(sweep)
    alone = float(of_width.test.sel(reported="single").mean())
    parts = []
    for method in names(of_width.storing):
        kept = float(of_width.test.sel(reported=method).mean()) / alone
        share = float(of_width.task_bytes.sel(storing=method) / of_width.model_bytes)
        parts.append(said("{kept:.1%} is kept by {name}, with {share:.1%} of a network's bytes a task",
                          name=title_of(method), kept=kept, share=share))
    return reading_of_widest(sweep, "One model a task", "Of each network’s accuracy alone, {listed}.",
                             listed="; ".join(parts))


def reading_of_negation(sweep: xarray.Dataset) -> Page:
    """Does taking a task vector away forget its task alone?"""
    of_width = widest(sweep).sel(lam=1.0)
    start = widest(sweep).sel(lam=0.0)
    lost = (start.negated - of_width.negated).mean("task")
    own, others = (float(lost.sel(of=name)) for name in ("its own task", "the others"))
    return reading_of_widest(sweep, "Forgetting one task", """
        With λ = 1 the task itself loses {own:.1f} points, mean over tasks, and the other seven {others:.1f}. A task
        vector here is {least:.1%} to {most:.1%} as long as θ₀; two of them have a cosine of {cosine:.3f}, mean over
        pairs.""",
                   own=100 * own, others=100 * others, least=float(of_width.length.min()),
                   most=float(of_width.length.max()), cosine=float(of_width.cosine))
