"""Panel (g): is linearity why merging works? Four ways to add task vectors, and short ones beside them."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Markup, Page, paragraph, quiet, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import ACCURACY, BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from lessons.kit.sweep import caption, names
from lessons.linearization.experiment import merging
from lessons.linearization.experiment.merging import ARMS, BACK, LINEAR, NETWORK, POST_HOC, ROTATED, TEST
from lessons.merging.search import rests_on

LOOKS = {NETWORK: Look(BLUE, "o"), LINEAR: Look(ORANGE, "D"), POST_HOC: Look(SKY, "P", ":"),
         BACK: Look(RED, "v", ":")}
SHORT = Look(GREEN, "^", "--")
ABSOLUTE, NORMALISED = Look(BLACK, "o"), Look(PURPLE, "s", "--")


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (g)."""
    merged = merging.by_count(sweep).sel(family=ROTATED, count=2)
    return said("""Turned digits, two tasks at a time, α chosen on held-out images. Merged networks read {network:.1%}
                   right. By how many **points** more do merged tangents read?""",
                network=float(merged.accuracy.sel(arm=NETWORK)))


@panel
def arms(sweep: xarray.Dataset, prediction=None):
    """Panel (g): left, accuracy on all merged tasks against α, for task vectors of the network and of its tangent, in
    the network and in the tangent, and for a short one; right, every short one at its best α, as an accuracy and as a
    share of the single networks'. Controls: alpha, family, count, short."""
    shorts = [arm for arm in names(sweep.arm) if arm not in ARMS]
    places = np.arange(len(shorts) + 1)
    alphas = sweep.alpha.values
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(6, 5))
    left.set(xscale="log", xlabel="α (log scale)", ylabel=f"{ACCURACY}, all tasks merged", ylim=(0, 1),
             xlim=(0.95 * alphas.min(), 1.05 * alphas.max()))  # logarithmic since unrelated tangents take it far
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10) if alphas.min() <= tick <= alphas.max()]
    left.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    left.set_xticks([], minor=True)
    right.set(ylim=(0, 1.05), ylabel="at the best α", xlim=(-0.5, len(places) - 0.5))
    right.set_xticks(places, ["λ = 0", *shorts], rotation=45, ha="right")
    curves = {name: curve(left, look, name, markersize=4, linewidth=1.5) for name, look in LOOKS.items()}
    curves["short"] = curve(left, SHORT, "the short one", markersize=4, linewidth=1.5)
    line = here(left, 0.5)
    absolute, normalised = curve(right, ABSOLUTE, "accuracy"), curve(right, NORMALISED, "normalised accuracy")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2)
    right.legend(loc="lower left", handles=[absolute, normalised])
    best = merging.by_count(sweep)
    asked = {"family": ROTATED, "count": 2}
    if prediction:
        merged = best.accuracy.sel(asked)
        prediction.panel_answers(100 * float(merged.sel(arm=LINEAR) - merged.sel(arm=NETWORK)), asked, "purple star")
    star = left.plot([], [], color=PURPLE, marker="*", markersize=15, linestyle="", animated=True)[0]
    titles = moving_titles((left, right))

    def draw(alpha, family, count, short):
        groups = np.flatnonzero(sweep.tasks.values == count)
        accuracies = sweep.accuracy.sel(family=family, part=TEST).isel(group=groups).mean("group")
        for name, drawn in curves.items():
            drawn.set_data(alphas, accuracies.sel(arm=short if name == "short" else name))
        line.set_xdata([alpha, alpha])
        of_count = best.sel(family=family, count=count)
        order = [NETWORK, *shorts]
        absolute.set_data(places, of_count.accuracy.sel(arm=order))
        normalised.set_data(places, of_count.normalised.sel(arm=order))
        _guess(star, prediction, of_count, asked, {"family": family, "count": count})
        numbers = _numbers(sweep, accuracies, of_count, alpha, family, count, short)
        titles[0].set_text(said("Best α: network {network:.3f}, tangent {linear:.3f}", **numbers))
        titles[1].set_text(said("{short}: {accuracy:.2f}, normalised {share:.2f}", **numbers))
        return said("""{family}, {count} tasks merged, α = {alpha:.2f}: accuracy {network_here:.3f} with the networks'
                       τ, {linear_here:.3f} with the tangents', {post_here:.3f} with the networks' in the tangent,
                       {back_here:.3f} with the tangents' in the network. At the best α {network:.3f}, {linear:.3f},
                       {post:.3f}, {back:.3f}. Short vectors, {short}: {accuracy:.3f}, normalised {share:.3f}, since the
                       single networks read {single:.3f}; with λ = 0 {network:.3f}, normalised {network_share:.3f},
                       single {network_single:.3f}.""", **numbers)

    middle = min(alphas.tolist(), key=lambda alpha: abs(alpha - 0.5))
    controls = {"alpha": slider("α", {f"{alpha:.2f}": alpha for alpha in alphas.tolist()}, middle),
                "family": choice("tasks", merging.FAMILIES),
                "count": slider("tasks merged", [int(count) for count in best["count"].values], 2),
                "short": choice("short vector", shorts)}
    return controls, fig, draw


def _guess(star, prediction, of_count, asked, shown):
    """The guessed accuracy of merged tangents, at their best α."""
    committed = prediction.committed if prediction and asked == shown else None
    if committed is None:
        star.set_data([], [])
    else:
        guessed = float(of_count.accuracy.sel(arm=NETWORK)) + committed / 100
        star.set_data([float(of_count.alpha.sel(arm=LINEAR))], [guessed])


def _numbers(sweep, accuracies, of_count, alpha, family, count, short):
    numbers = {"alpha": alpha, "family": family, "count": count, "short": short,
               "accuracy": float(of_count.accuracy.sel(arm=short)), "share": float(of_count.normalised.sel(arm=short)),
               "single": float(sweep.single.sel(family=family, arm=short)),
               "network_single": float(sweep.single.sel(family=family, arm=NETWORK)),
               "network_share": float(of_count.normalised.sel(arm=NETWORK))}
    for key, arm in (("network", NETWORK), ("linear", LINEAR), ("post", POST_HOC), ("back", BACK)):
        numbers[key] = float(of_count.accuracy.sel(arm=arm))
        numbers[f"{key}_here"] = float(accuracies.sel(arm=arm, alpha=alpha))
    return numbers


# -- tables and readings ---------------------------------------------------------------------------

def arms_table(sweep: xarray.Dataset) -> Page:
    """Accuracy at the α that is best on held-out images: a row an arm, a column a number of tasks, both families."""
    best = merging.by_count(sweep)
    rows = []
    for arm in sweep.arm.values:
        cells = []
        for family in merging.FAMILIES:
            cells.append(f"{float(sweep.single.sel(family=family, arm=arm)):.3f}")
            cells += [f"{value:.3f}" for value in best.accuracy.sel(family=family, arm=arm).values]
        rows.append((arm, *cells))
    counts = [f"{count} tasks" for count in best["count"].values]
    head = ["", *(f"{name.split()[0]}: {what}" for name in merging.FAMILIES for what in ("alone", *counts))]
    return table(head, rows, after=paragraph(f"{caption(sweep)} {rests_on(sweep)}"))


def reading_of_merging(sweep: xarray.Dataset) -> Page:
    """Linear against short, on alike and on unrelated tasks, with this sweep's numbers."""
    parts = [_of_family(sweep, family) for family in merging.FAMILIES]
    return Page(" ".join(part.text for part in parts), Markup("").join(part.page for part in parts))


def reading_in_full(sweep: xarray.Dataset) -> Page:
    """The same of profile full, with eight tasks, as the repository keeps it; of this sweep where it keeps none."""
    known = merging.EXPERIMENT.archived("full")
    known = sweep if known is None else known
    words = reading_of_merging(known)
    return Page(f"{words.text}\n{caption(known)}", words.page + quiet(caption(known)))


def _of_family(sweep, family):
    best = merging.by_count(sweep).sel(family=family)
    most = int(best["count"].max())
    sentences = []
    for count in best["count"].values:
        accuracies = best.accuracy.sel(count=count)
        lead = Difference.of(float(accuracies.sel(arm=LINEAR)), float(accuracies.sel(arm=NETWORK)),
                             merging.images_of(sweep, count))
        sentences.append(f"{count} tasks {lead:+.1f} points{lead.doubt()}")
    accuracies = best.accuracy.sel(count=most)
    shorts = [arm for arm in sweep.arm.values if arm not in ARMS]
    top = max(shorts, key=lambda arm: float(accuracies.sel(arm=arm)))
    return reading(family, """
        Merged tangents against merged networks: {listed}. The best short vectors for {most} tasks are {top}:
        {gain:+.1f} points against the whole ones, although the single networks lose {loss:.1f} points.""",
                   listed="; ".join(sentences), most=most, top=top,
                   gain=100 * float(accuracies.sel(arm=top) - accuracies.sel(arm=NETWORK)),
                   loss=100 * float(sweep.single.sel(family=family, arm=NETWORK)
                                    - sweep.single.sel(family=family, arm=top)))
