"""Panel (e): what the kernel says of every subset of layers, and what training makes of it."""
import numpy as np
import xarray
from scipy import stats

from lessons.kit import plotting
from lessons.kit.page import Markup, Page, grid_table, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, moving_titles
from lessons.kit.plotting import BLUE, GREEN, ORANGE, RED
from lessons.kit.sweep import caption, names
from lessons.linearization.experiment import subsets
from lessons.linearization.experiment.subsets import NETS

MEASURES = {"condition number κ(K + σI)": "condition", "predicted training error": "risk",
            "smallest eigenvalue κ_min": "kappa_min", "number of weights": "weights"}
EVERY = Look(BLUE, "o")
PICKS = {"largest η": Look(ORANGE, "D"), "most weights": Look(GREEN, "^"), "smallest κ": Look(RED, "v")}
SPAN = {"condition": (0.7, 1e9), "risk": (1e-13, 2.0), "kappa_min": (1e-9, 1e3), "weights": (10, 1e5)}


@panel
def every_subset(sweep: xarray.Dataset):
    """Panel (e): every subset of the layers of two networks as a point, what the kernel at θ_0 says of it against the
    training error that it ends with; marked is what rules pick that may tune so many layers.

    Controls: sigma, measure, training, size. Horizontal positions are ranks, so that only the order counts.
    """
    fig, axes = plotting.figure(2, height=4.5, sharey=True)
    for ax in axes:
        ax.set(yscale="log", xlim=(-0.03, 1.03), ylim=(1e-6, 2.0), xticks=(0, 0.5, 1))
        ax.set_xlabel("rank of the subset, smallest to largest")
    axes[0].set_ylabel("share of R̃ left after training")
    dots = [cloud(ax, EVERY, "a subset of layers", markersize=4) for ax in axes]
    picks = [{name: cloud(ax, look, f"pick: {name}", markersize=11, markerfacecolor="none", markeredgewidth=2)
              for name, look in PICKS.items()} for ax in axes]
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    titles = moving_titles(axes)

    def draw(sigma, measure, training, size):
        told = []
        for name, dot, marks, title in zip(NETS, dots, picks, titles):
            part = subsets.only(sweep, name)
            values = of_measure(part, measure, sigma)
            left = np.maximum((part.loss.sel(training=training) / part.start).values, 1e-6)
            places = (stats.rankdata(values) - 1) / (len(values) - 1)
            dot.set_data(places, left)
            picked = _picked(sweep, part, name, size, sigma)
            for rule, mark in marks.items():
                mark.set_data(places[[picked[rule]]], left[[picked[rule]]])
            same_size = left[part["size"].values == part["size"].values[picked["most weights"]]]
            numbers = {"net": name, "order": stats.spearmanr(values, left).statistic, "best": same_size.min(),
                       "middle": np.median(same_size)}
            numbers |= {rule.split()[1]: left[number] for rule, number in picked.items()}
            title.set_text(said("{net}: correlation {order:+.2f}", **numbers))
            told.append(said("""{net}: rank correlation with the trained error {order:+.2f}. Share left: best of that
                                size {best:.3g}, median {middle:.3g}, largest η {η:.3g}, most weights {weights:.3g},
                                smallest κ {κ:.3g}.""", **numbers))
        head = {label: key for key, label in MEASURES.items()}[measure]
        return f"{head}, σ = {sigma:g}, {training}, {size} layers may be tuned. {' '.join(told)}"

    controls = {"sigma": slider("σ", {f"{sigma:g}": sigma for sigma in subsets.SIGMAS}, 1.0),
                "measure": choice("by", MEASURES),
                "training": choice("trained by", subsets.TRAININGS),
                "size": slider("layers", list(range(1, subsets.MOST_CHOSEN + 1)), 2)}
    return controls, fig, draw, caption(sweep) + " Correlation: Spearman's, of ranks."


def of_measure(part: xarray.Dataset, measure: str, sigma: float) -> np.ndarray:
    """What the kernel says of every subset of a network."""
    if measure == "condition":
        return subsets.condition(part, sigma).values
    return part.risk.sel(sigma=sigma).values if measure == "risk" else part[measure].values


def _picked(sweep, part, name, size, sigma):
    """{rule: number of the subset that it picks}; the smallest condition number is looked for among all of that size.
    """
    most = min(size, int(part["size"].max()))
    picks = {rule: int(sweep.picked.sel(net=name, rule=rule, chosen=most)) for rule in ("largest η", "most weights")}
    condition = subsets.condition(part, sigma).where(part["size"] == most, np.inf)
    return picks | {"smallest κ": int(np.argmin(condition.values))}


# -- tables and readings ---------------------------------------------------------------------------

def signs_table(sweep: xarray.Dataset) -> Page:
    """Rank correlation of the condition number with the trained error, against σ, for both networks and three ways of
    training."""
    rows = []
    for name in NETS:
        part = subsets.only(sweep, name)
        for training in subsets.TRAININGS:
            orders = [subsets.order(part, "condition", training, sigma) for sigma in subsets.SIGMAS]
            rows.append((f"{name}, {training}", *(f"{order:+.2f}".replace("-", "−") for order in orders)))
    head = ("κ(K + σI) with the trained error, σ =", *(f"{sigma:g}" for sigma in subsets.SIGMAS))
    return table(head, rows)


def reading_of_the_signs(sweep: xarray.Dataset) -> Page:
    """Why the sign turns, with this sweep's numbers."""
    numbers = subsets.claims(sweep)["LFT-12"]
    return reading("Does a higher condition number go with a higher loss?", Markup("""
        With σ = {small:g}, far below most smallest eigenvalues, yes: the rank correlation with Adam's training error is
        {wide_small:+.2f} for the wide network and {deep_small:+.2f} for the deep one. With σ = {large:g}, above them,
        it is {wide_large:+.2f} and {deep_large:+.2f}: the other way round. Nothing was trained anew, only σ changed.
        Where κ_min ≪ σ, κ(K + σI) is about κ_max/σ, so a <i>larger</i> kernel, which learns more, has the larger
        condition number. The training error that ridge regression predicts keeps its sign at every σ: its correlation
        with the errors by Adam, and by one step size for all, lies between {risk_least:+.2f} and {risk_most:+.2f}.
        Where each subset has a step size of its own, training takes another time for each, and it is at least
        {risk_own_least:+.2f}."""), small=subsets.SIGMAS[0], large=subsets.SIGMAS[6], **numbers)


def rules_table(sweep: xarray.Dataset) -> Page:
    """What share of the subsets of the same size train further than a rule's pick; 50 % is a pick at random."""
    of_nets = [sweep.better.sel(net=net, drop=True).assign_coords(rule=[f"{net}: {rule}" for rule in names(sweep.rule)])
               for net in NETS]
    return grid_table(xarray.concat(of_nets, "rule"), "{:.0%}", corner="better than the pick, of 1 to 4 layers")


def reading_of_the_rules(sweep: xarray.Dataset) -> Page:
    """The rules of the slides beside dull ones, with this sweep's numbers."""
    numbers = subsets.claims(sweep)["LFT-13"]
    return reading("Which rule picks well?", """
        On average over one to four layers, so many subsets of the same size trained further than the pick. Largest η:
        {wide_eta:.0%} on the wide network and {deep_eta:.0%} on the deep one; smallest κ: {wide_condition:.0%} and
        {deep_condition:.0%}; both together: {wide_both:.0%} and {deep_both:.0%}; most weights, without any kernel:
        {wide_weights:.0%} and {deep_weights:.0%}; the smallest predicted training error: {wide_risk:.0%} and
        {deep_risk:.0%}.""", **numbers)


def reading_of_adding(sweep: xarray.Dataset) -> Page:
    """Theorems 6 and 7 on real layers, with this sweep's numbers."""
    numbers = subsets.claims(sweep)
    return reading("A layer is added", Markup("""
        {pairs:.0f} times a layer was added to a subset. The printed η is at least {eta_least:.2f}; it is infinite in
        {eta_infinite:.0%} of the cases, where the layers had fewer weights than there are samples, and below 1, where
        Theorem 7 has a proof, in {eta_below_1:.0%}. η_σ is always finite, {eta_sigma_median:.1f} in the median.
        √(R̃₊/R̃) lay between {ratio_least:.2f} and {ratio_most:.3f}, always between the two ends of the tight theorem;
        where the printed one has a proof, its upper end was at least {printed_high_least:.1f}, so it never says that a
        layer helps. Trained by Adam, {trained_rises:.0%} of the errors rose with the layer. In two dimensions, with the
        worst target, the root of the training error <i>rises</i> to {worst:.3f} times for κ = {worst_kappa:g}, and the
        tight bound is {worst_bound:.3f}."""), **numbers["LFT-9"], **numbers["LFT-10"])
