"""CLIP's six tasks: what was measured here, if the files are at hand, beside what others published."""
import numpy as np
import xarray

from lessons.checkpoints import published
from lessons.kit import plotting
from lessons.kit.page import Markup, Page, paragraph, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Bars, Look, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREY, ORANGE
from lessons.kit.sweep import caption, names


def table_beside(sweep: xarray.Dataset | None) -> Page:
    """Every model on the six tasks, in per cent, beside the published figures; these alone where nothing was
    measured."""
    if sweep is None:
        return published.SIX_TASKS.page()
    theirs = dict(zip(published.SIX_TASKS.columns, published.SIX_TASKS.rows["θ₀"]))
    singles = dict(zip(published.SIX_TASKS.columns, published.SIX_TASKS.rows["single models"]))
    rows = []
    for name in sweep.model.values:
        cells = []
        for task in sweep.task.values:
            ours = 100 * float(sweep.accuracy.sel(model=name, task=task))
            beside = theirs[task] if name == "θ₀" else singles[task] if name == f"single: {task}" else None
            cells.append(f"{ours:.1f}" + (Markup(" <i>({:.1f})</i>").format(beside) if beside is not None else ""))
        rows.append([name, *cells, f"{100 * float(sweep.accuracy.sel(model=name).mean()):.1f}"])
    before = said(Markup("""<p><b>CLIP, six tasks.</b> In per cent, {images}; in italics what is <i>{mark}</i>
                            ({source}).</p>"""),
                  images=sweep.attrs["images"], mark=published.MARK.lower(), source=published.FUSION)
    return table(["", *sweep.task.values, "mean"], rows, before=before)


ROWS = {"θ₀": "θ₀", "single": "single models", "average": "average", "task_arithmetic": "task arithmetic",
        "ties": "TIES", "consensus": "Consensus", "cart": "CART"}  # ours: CART's Table 1


def beside_small(merges: xarray.Dataset) -> Page:
    """CART's table of CLIP's eight tasks as published, and the small ViT's eight as measured here; and how far each
    method comes from θ₀ to the single models."""
    column = published.CART_TABLE.columns.index("8 tasks")
    clip = {ours: published.CART_TABLE.rows[theirs][column] for ours, theirs in ROWS.items()}
    mean = merges.test.sel(width=int(merges.width[-1])).mean("task")
    small = {ours: 100 * float(mean.sel(reported=ours)) for ours in ROWS}
    rows = []
    for ours, name in ROWS.items():
        cells = [f"{clip[ours]:.1f}", f"{_way(clip, ours):.0%}", f"{small[ours]:.1f}", f"{_way(small, ours):.0%}"]
        rows.append([name, *cells])
    head = ["", "CLIP", "of the way", f"TinyViT, width {int(merges.width[-1])}", "of the way"]
    before = said(Markup("""<p><b>Eight tasks each.</b> In per cent. CLIP: <i>{mark}</i> ({source}). TinyViT: other
                            tasks, measured here.</p>"""),
                  mark=published.MARK.lower(), source=published.CART_TABLE.source)
    return table(head, rows, before=before, after=paragraph(caption(merges)))


def _way(score, name):
    """How far from θ₀ to the single models."""
    return (score[name] - score["θ₀"]) / (score["single"] - score["θ₀"])


def reading_of_difference(sweep: xarray.Dataset | None) -> Page:
    """How far θ₀ and the single models are from their published accuracies."""
    if sweep is None:
        text = "Measured only where CLIP's checkpoints are at hand; what is published stands above."
        return Page(text, Markup("<p><i>{}</i></p>").format(text))
    ours, theirs = [], []
    for column, task in enumerate(published.SIX_TASKS.columns):
        for model, row in (("θ₀", "θ₀"), (f"single: {task}", "single models")):
            ours.append(100 * float(sweep.accuracy.sel(model=model, task=task)))
            theirs.append(published.SIX_TASKS.rows[row][column])
    differences = np.abs(np.array(ours) - theirs)
    count = int(sweep.attrs["images"].split()[0].replace(",", ""))
    error = 100 * (0.25 / count) ** 0.5
    return reading("Are these the models that others measured?", """
        θ₀ and the single models are {mean:.1f} points from the published figures on average, {most:.1f} at most; with
        {count} images a task one figure has a standard error of up to {error:.1f} points.""",
                   mean=differences.mean(), most=differences.max(), count=count, error=error)


@panel
def line(sweep: xarray.Dataset):
    """Between two finetuned towers: how far the class token of α·θ_a + (1 − α)·θ_b is from the mixture of both towers'
    after every block, beside how far the two are apart. Controls: pair, α."""
    layers = names(sweep.layer)
    places = np.arange(len(layers))
    fig, (left, right) = plotting.figure(2, height=4.2)
    gap = curve(left, Look(BLUE, "o"), "gap to the mixture", markersize=5)
    own = curve(left, Look(GREY, "s", "--"), "the two ends' own distance", markersize=5)
    coef = curve(right, Look(ORANGE, "^"), "length along the mixture", markersize=5)
    least = max(1e-7, 0.5 * float(sweep.gap_mean.where(sweep.gap_mean > 1e-7).min()))
    left.set(yscale="log", ylim=(least, 2), ylabel="1 − cosine")
    right.set(ylim=(0.5, 1.1), ylabel="coef")
    right.axhline(1, color=BLACK, linewidth=0.8, marker="")
    for ax in (left, right):
        ax.set(xlabel="block; last the pooled token", xlim=(-0.5, len(layers) - 0.5), xticks=places[::2],
               xticklabels=[name.removeprefix("block ") for name in layers[::2]])
        ax.legend(loc="lower right")
    titles = moving_titles((left, right))

    def draw(pair, alpha):
        of_pair = sweep.sel(pair=pair)
        gaps, coefs = (of_pair[name].sel(alpha=alpha).values for name in ("gap_mean", "coef_mean"))
        gap.set_data(places, np.maximum(gaps, least))
        own.set_data(places, of_pair.own_mean.values)
        coef.set_data(places, coefs)
        titles[0].set_text(f"{pair}, α = {alpha:g}")
        titles[1].set_text(f"coef {coefs[-1]:.3f} at the end")
        return said("""{pair} at α = {alpha:g}: after the last norm the gap is {gap:.2g}, the two ends are {own:.2g}
                       apart, coef {coef:.3f}.""", pair=pair, alpha=alpha, gap=gaps[-1],
                    own=float(of_pair.own_mean[-1]), coef=coefs[-1])

    controls = {"pair": choice("pair", sweep.pair.values),
                "alpha": slider("α", [float(alpha) for alpha in sweep.alpha.values], 0.5)}
    return controls, fig, draw


@panel
def bell(sweep: xarray.Dataset):
    """CART on CLIP: accuracy of every task, and their mean over ranks for the λ that is chosen. Controls: rank, λ."""
    tasks = names(sweep.task)
    ratios, lams = list(map(float, sweep.ratio.values)), list(map(float, sweep.lam.values))
    fig, (left, right) = plotting.figure(2, height=4.2)
    bars = Bars(left, range(len(tasks)), BLUE, "{:.2f}".format)
    left.set(ylim=(0, 1.1), ylabel=plotting.ACCURACY, xticks=range(len(tasks)), xlim=(-0.6, len(tasks) - 0.4))
    left.set_xticklabels(tasks, rotation=30, ha="right")
    line = right.plot(range(len(ratios)), np.zeros(len(ratios)), color=BLUE, marker="o", animated=True)[0]
    average = float(sweep.accuracy.sel(model="average").mean())
    right.axhline(average, color=GREY, linestyle="--", linewidth=1.4, marker="", label="average of the weights")
    mark = right.axvline(0, color=BLACK, linewidth=1, marker="", animated=True)
    right.set(ylim=(0, 1), ylabel="mean over tasks", xlabel="rank that is kept", xticks=range(len(ratios)),
              xticklabels=[f"{100 * ratio:g} %" for ratio in ratios])
    right.legend(loc="lower left")
    titles = moving_titles((left, right))
    values = sweep.bell.values

    def draw(ratio, lam):
        row, column = ratios.index(ratio), lams.index(lam)
        bars.set_values(values[row, column])
        line.set_ydata(values[:, column].mean(1))
        mark.set_xdata([row, row])
        mean = values[row, column].mean()
        titles[0].set_text(f"Rank {100 * ratio:g} %, λ = {lam:g}")
        titles[1].set_text(f"Mean {mean:.3f}, average {average:.3f}")
        return said("CART at rank {rank:g} % and λ = {lam:g}: mean {mean:.3f}, the average has {average:.3f}. {tasks}.",
                    rank=100 * ratio, lam=lam, mean=mean, average=average,
                    tasks=", ".join(f"{task} {value:.2f}" for task, value in zip(tasks, values[row, column])))

    controls = {"ratio": slider("rank", {f"{100 * ratio:g} %": ratio for ratio in ratios}, ratios[len(ratios) // 2]),
                "lam": slider("λ", lams, lams[len(lams) // 2])}
    return controls, fig, draw
