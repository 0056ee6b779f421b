"""Panel (c): task vectors added up and taken away; and a table of all methods."""
import xarray

from lessons.kit import plotting
from lessons.kit.page import Page, paragraph, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, here, level, moving_titles
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREY, ORANGE, SKY
from lessons.kit.sweep import caption, names
from lessons.merging import methods
from lessons.merging.search import rests_on
from lessons.vit.experiment import merges
from lessons.vit.panels import widths
from lessons.vit.panels.widths import difference, reading_of_widest, widest

OWN, OTHERS, START = Look(BLUE, "o"), Look(ORANGE, "s", "--"), Look(GREY, "", "-.")
ALL = "mean over all eight"
NETWORKS = {"θ₀": "θ₀", "single": "each alone"}  # what is reported beside the methods
TABLE_1 = ("cart", "consensus", "ties", "task_arithmetic", "average")  # the source's order


def title_of(reported: str) -> str:
    """What papers call a method, in short; or what a network beside the methods is called."""
    return NETWORKS.get(reported) or methods()[reported].short


@panel
def negation(sweep: xarray.Dataset):
    """Panel (c): left, θ₀ − λτ on its own task and on the others against λ, right, every task at a λ. Controls: lam,
    task, width."""
    first, lams = widths.first(sweep), list(map(float, sweep.lam.values))
    fig, (left, right) = plotting.figure(2, height=4.2)
    left.set(xlabel="λ, how much is taken away", ylabel=ACCURACY, xlim=(0, lams[-1] * 1.02), ylim=(0, 1))
    left.axhline(0.1, color=BLACK, linewidth=0.8, linestyle=":")
    left.annotate("chance", (lams[-1], 0.1), ha="right", va="bottom", fontsize=9.5)
    right.set(xlabel="on its own task", ylabel="on the other seven, mean", xlim=(0, 1), ylim=(0, 1))
    own, others = curve(left, OWN, "on its own task"), curve(left, OTHERS, "on the other seven, mean")
    start = level(left, START, "θ₀, all tasks")
    line = here(left, 1.0)
    left.legend(loc="upper right")
    before, after = cloud(right, Look(SKY, "o"), "θ₀"), cloud(right, Look(BLUE, "D"), "θ₀ − λτ, each of eight")
    right.legend(loc="lower right")
    titles = moving_titles((left, right))

    def draw(lam, task, width=first):
        negated = sweep.negated.sel(width=width)
        accuracies = negated.mean("task") if task == ALL else negated.sel(task=task)
        curves = [accuracies.sel(of=name).values for name in ("its own task", "the others")]
        own.set_data(lams, curves[0])
        others.set_data(lams, curves[1])
        line.set_xdata([lam, lam])
        of_start = float(sweep.test.sel(width=width, reported="θ₀").mean())
        start.set_ydata([of_start, of_start])
        for points, where in ((before, 0.0), (after, lam)):
            points.set_data(*(negated.sel(lam=where, of=name).values for name in ("its own task", "the others")))
        place = lams.index(lam)
        numbers = {"task": task, "lam": lam, "own": curves[0][place], "others": curves[1][place],
                   "own_before": curves[0][0], "others_before": curves[1][0], "width": width}
        titles[0].set_text(said("λ = {lam:g}: own {own:.2f}, others {others:.2f}", **numbers))
        titles[1].set_text("every task taken away alone")
        return said("""Width {width}, {task}: with λ = {lam:g} taken away, its own task is read at {own:.3f} (θ₀
                       {own_before:.3f}), the others at {others:.3f} (θ₀ {others_before:.3f}).""", **numbers)

    controls = {"lam": slider("λ", {f"{lam:g}": lam for lam in lams}, 1.0),
                "task": choice("task", [ALL, *names(sweep.task)])}
    return controls | widths.menu(sweep), fig, draw


# -- tables and readings ---------------------------------------------------------------------------

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
        points. TSV-M, which the source leaves out, reads {tsv:.3f}, {ahead:+.1f} against CART{doubt}. θ₀ reads
        {start:.3f}, each alone {single:.3f}.""", told=lead.agrees(), cart=score["cart"], second=score[second],
                   name=title_of(second), lead=lead, tsv=score["tsv"], ahead=100 * ahead.value, doubt=ahead.doubt(),
                   start=score["θ₀"], single=score["single"])


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
    return reading_of_widest(sweep, "One model a task", "Of what each network reads alone, {listed}.",
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
