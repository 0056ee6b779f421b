"""CLIP's six tasks: what was measured here, if the files are at hand, beside what others published."""
import numpy as np
import xarray

from lessons.checkpoints import published
from lessons.kit.page import Markup, Page, paragraph, reading, said, table
from lessons.kit.sweep import caption, names
from lessons.kit.view import view
from lessons.vit.panels import lines, ranks


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
    count = images_of(sweep)
    error = 100 * (0.25 / count) ** 0.5
    return reading("Are these the models that others measured?", """
        θ₀ and the single models are {mean:.1f} points from the published figures on average, {most:.1f} at most; with
        {count} images a task one figure has a standard error of up to {error:.1f} points.""",
                   mean=differences.mean(), most=differences.max(), count=count, error=error)


@view
def line(sweep: xarray.Dataset):
    """Between two finetuned towers: `lines.between`, of the class token after every block. Controls: alpha, layer,
    pair."""
    return lines.between({None: sweep}) | {"kicker": "Chapter 13: between two of CLIP's towers", "hides": ()}


@view
def bell(sweep: xarray.Dataset):
    """CART on CLIP beside the average: `ranks.bell`. Controls: rank, lam."""
    of_model = sweep.accuracy.sel
    own = [float(of_model(model=f"single: {task}", task=task)) for task in names(sweep.task)]
    part = xarray.Dataset({"accuracy": sweep.bell.rename(ratio="rank"), "average": of_model(model="average", drop=True),
                           "base": of_model(model="θ₀", drop=True), "own": ("task", own)})
    ratios, lams = (list(map(float, sweep[name].values)) for name in ("ratio", "lam"))
    about = ranks.bell({None: part}, images_of(sweep) * len(own), ratios[len(ratios) // 2], lams[len(lams) // 2])
    return about | {"kicker": "Chapter 13: CART on CLIP", "hides": ()}


def images_of(sweep: xarray.Dataset) -> int:
    """How many test images a task was measured on."""
    return int(sweep.attrs["images"].split()[0].replace(",", ""))
