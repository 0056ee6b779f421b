"""Figures 9 and 10 of Zhou et al. on the small ViT: θ₀ given the features of others."""
import xarray

from lessons.kit.noise import Difference
from lessons.kit.page import Page, agrees, in_full_alone, paragraph, reading, table
from lessons.kit.sweep import caption, names
from lessons.vit.experiment import stitching
from lessons.vit.experiment.stitching import LAYER, WAYS, WHICH
from lessons.vit.panels.widths import difference

AT = (1.0, 0.4)


@in_full_alone
def put_in_table(sweep: xarray.Dataset) -> Page:
    """Accuracy of θ₀ on the worse of two tasks, by the features that it is given; a row a block."""
    accuracies = stitching.worse_of_two(sweep)
    rows = []
    for layer in names(accuracies.layer):
        cells = []
        for lam in AT:
            part = accuracies.sel(layer=layer, lam=lam)
            cells += [f"{float(part.average.mean()):.3f}", f"{float(part.one.mean()):.3f}",
                      f"{float((part.average > part.one).mean()):.0%}"]
        rows.append((layer, *cells))
    head = ["put in behind", *(f"λ = {lam:g}: {title}" for lam in AT
                               for title in ("mean of both", "better one alone", "pairs in which the mean is better"))]
    return table(head, rows, before=paragraph("Accuracy of θ₀ on the worse of two tasks, mean over pairs, given "
                                              "features of their networks θ₀ + λτ:"), after=paragraph(caption(sweep)))


@in_full_alone
def reading_of_figure_9(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 9 of Zhou et al. and ours, with this sweep's numbers."""
    numbers = stitching.claims(sweep)["CTL-18"]
    both, single = numbers["put in: worse with average at 1"], numbers["put in: worse with one at 1"]
    half = sweep.merged.sel(lam=1.0).min("two").mean()
    alone = sweep.both.sel(given=stitching.GIVEN[1], layer=LAYER).mean(("pair", "two"))
    return reading("Figure 9 of Zhou et al., and ours", """
        {told} at λ = 1, put in behind {layer} (the paper's is as far in): with the mean of two networks' features θ₀
        has an accuracy of {both:.3f} on the worse of both tasks, with the better of the two alone at {one:.3f}; the
        mean is better in {share:.0%} of the 28 pairs. Differs: at λ = 0.4, where a network's own features give
        {own:.3f} on its task and not {own_whole:.3f}, it is in {small:.0%}. Not in the
        paper: at λ = 1 behind block 1 it is better in {first:.0%}.
        Is λ = 1 merely bad for a single network? With the best λ for each pair the mean is {any_lam:+.1f} points ahead
        of it. The weights half-way, without anything put in, give {half:.3f}.""",
                   told=difference(sweep, both, single).agrees(), layer=LAYER, both=both, one=single,
                   share=numbers["put in: share of pairs at 1"], small=numbers["put in: share of pairs at 0.4"],
                   first=numbers["put in: share of pairs at 1, block 1"], half=float(half),
                   own=float(alone.sel(lam=0.4)), own_whole=float(alone.sel(lam=1.0)),
                   any_lam=100 * numbers["put in: average at 1 over one at any λ"])


@in_full_alone
def taken_out_table(sweep: xarray.Dataset) -> Page:
    """Accuracy of θ₀ on a task and on upright images when the task is taken out of its features behind block 3; a row a
    λ."""
    mean = sweep.negated.sel(layer=LAYER).mean("task")
    before = [f"{float(sweep.before.mean('task').sel(which=which)):.3f}" for which in WHICH]
    rows = [("0", *before, *before)]
    for lam in map(float, mean.lam.values):
        rows.append((f"{lam:g}", *(f"{float(mean.sel(lam=lam, way=way, which=which)):.3f}"
                                   for way in WAYS for which in WHICH)))
    return table(["λ", *(f"{way}: {which}" for way in WAYS for which in WHICH)], rows,
                 before=paragraph(f"Accuracy of θ₀ with a task taken out of its features behind {LAYER}, mean over "
                                  "tasks:"),
                 after=paragraph(caption(sweep)))


@in_full_alone
def reading_of_figure_10(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 10 of Zhou et al. and ours, with this sweep's numbers."""
    numbers = stitching.claims(sweep)["CTL-18"]
    task, before = numbers["taken out, Δ: task at 1"], numbers["taken out: task before"]
    kept, tau_kept = numbers["taken out, Δ: upright at 1"], numbers["taken out, τ: upright at 1"]
    apart = Difference.of(max(kept, tau_kept), min(kept, tau_kept), 2 * stitching.IMAGES)
    return reading("Figure 10 of Zhou et al., and ours", """
        {agrees}: with Δ taken out of the features behind {layer}, λ = 1, a task falls from {before:.3f} to {task:.3f}
        (chance is 0.1), and upright images, which θ₀ was pretrained on, from {upright:.3f} to {kept:.3f}. With the
        features of θ₀ − λτ in their place these are {tau:.3f} and {tau_kept:.3f}. So the task goes both ways. The
        paper calls the two ways similar. Here the second costs the upright images {apart:.1f} points {side}{doubt}.""",
                   agrees=agrees(task < before / 2), layer=LAYER, before=before, task=task,
                   upright=numbers["taken out: upright before"], kept=kept, tau=numbers["taken out, τ: task at 1"],
                   tau_kept=tau_kept, apart=apart, side="more" if kept >= tau_kept else "less", doubt=apart.doubt())
