"""Panel (b): how the gap falls with the step size, and what two terms leave of it."""
import numpy as np
import xarray

from lessons.gradients.experiment import steps as experiment
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED
from lessons.kit.predict import guessed
from lessons.kit.sweep import caption

LOOKS = {"gap": (Look(BLACK, "o"), "the gap θ_TA − θ_MT"),
         "missed_printed": (Look(RED, "v"), "gap without the printed term"),
         "missed": (Look(BLUE, "s"), "gap without our term"),
         "kinked": (Look(ORANGE, "^"), "of that: samples across a kink"),
         "smooth": (Look(GREEN, "D"), "of that: all others")}
GUESS = Look(PURPLE, "*", "--")
_THIN = {"markersize": 5, "linewidth": 1.5}


@panel
def gap(sweep: xarray.Dataset, prediction=None):
    """Panel (b): the gap and what two terms leave of it, against η on logarithmic axes; right, as shares of the gap.

    Controls: k, network, loss, data. The prediction, the power of η with which the gap falls, is drawn as a line of
    that slope.
    """
    fig, (left, right) = plotting.figure(2, height=4.4, width_ratios=(6, 5))
    etas = sweep.eta.values
    for ax, label, span in ((left, "length ‖·‖ over all weights", (1e-17, 1e2)),
                            (right, "share of the gap", (1e-5, 10))):
        ax.set(xscale="log", yscale="log", xlabel="step size η", ylabel=label,
               xlim=(etas.min() / 1.4, etas.max() * 1.4), ylim=span)
    right.axhline(1, color=GREY, linestyle=":", linewidth=1.2, marker="")
    lengths = {name: curve(left, look, label, **_THIN) for name, (look, label) in LOOKS.items()}
    shares = {name: curve(right, look, label, **_THIN) for name, (look, label) in LOOKS.items()}
    guess = curve(left, GUESS, "your slope", linewidth=1.5, markersize=9)
    asked = {"network": "tanh", "k": 3}
    if prediction:
        prediction.panel_answers(_asked_slope(sweep, asked), asked, "dashed purple line")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    titles = moving_titles((left, right))

    def draw(k, network, loss, data):
        now = sweep.sel(k=k, network=network, loss=loss, data=data)
        for name in LOOKS:
            values = _drawn(now, name)
            lengths[name].set_data(etas, values)
            explained = k > 1 and name != "gap"
            shares[name].set_data(etas, values / now.gap.values if explained else np.full(len(etas), np.nan))
        guess.set_data(etas[:3], _line(now, guessed(prediction, asked, {"network": network, "k": k})))
        titles[0].set_text(f"{data}, {network}, k = {k}: {_slopes_said(now) if k > 1 else 'rounding alone'}")
        titles[1].set_text(_right_title(now))
        return _described(now)

    controls = {"k": slider("steps k", list(experiment.KS), 3),
                "network": choice("network", {name: name for name in ("tanh", "linear", "ReLU")}),
                "loss": choice("loss", {name: name for name in map(str, sweep.loss.values)}),
                "data": choice("tasks", {name: name for name in map(str, sweep.data.values)})}
    remarks = f" α = {experiment.ALPHA:g}. The kinks are told apart for k ≤ {experiment.KINKS}."
    return controls, fig, draw, caption(sweep) + remarks


def _drawn(now, name):
    """A length against η, NaN where there is nothing to draw: after one step no term explains anything."""
    values = now[name].values
    shown = values > 1e-19
    if now.k == 1 and name != "gap":
        shown = np.zeros(len(values), dtype=bool)
    return np.where(shown, values, np.nan)


def _asked_slope(sweep, asked):
    """What the prediction is about, in the setting that the panel opens with."""
    first = sweep.isel(loss=0, data=0)
    return experiment.slopes(first.sel(asked).gap).item()


def _line(now, power):
    """A line of the predicted slope through the gap at the third step size."""
    etas = now.eta.values
    return now.gap.values[2] * (etas[:3] / etas[2]) ** power


def _told_apart(now):
    """Whether the samples across a kink are."""
    return now.network == "ReLU" and now.k <= experiment.KINKS


def _slopes_said(now):
    of_gap = experiment.slopes(now.gap).item()
    of_missed = experiment.slopes(now.missed).item()
    return f"slopes {of_gap:.2f} and {of_missed:.2f}"


def _right_title(now):
    if now.k == 1:
        return "One step: nothing to explain"
    if _told_apart(now):
        return f"Samples across a kink: {now.crossing.values[0]:.1%} to {now.crossing.values[-1]:.0%}"
    signed = f"{now.cosine_printed.values[0]:.3f}".replace("-", "−")
    return f"Cosine of gap and printed term: {signed}"


def _described(now):
    """The alternative text."""
    k = now.k.item()
    head = f"{now['data'].item()}, {now.network.item()} network, {now['loss'].item()}, {k} step{'s' * (k > 1)}:"
    if k == 1:
        return said("""{head} task arithmetic and joint training are the same up to rounding, at most {most:.1g}
                       apart.""", head=head, most=now.gap.max().item())
    smallest = now.isel(eta=0)
    text = said("""{head} {slopes}. The gap's cosine with our term is {cosine:.4f} at the smallest step size, with the
                   printed term {cosine_printed:.4f}. Our term misses {missed:.2g} of the gap there.""",
                head=head, slopes=_slopes_said(now), cosine=smallest.cosine.item(),
                cosine_printed=smallest.cosine_printed.item(), missed=(smallest.missed / smallest.gap).item())
    if not _told_apart(now):
        return text
    largest = now.isel(eta=-1)
    return said("""{text} {most:.1%} of the samples lie across a kink at η = {large:.2g}, {least:.2%} at
                   {small:.2g}.""", text=text, most=largest.crossing.item(), large=largest.eta.item(),
                least=smallest.crossing.item(), small=smallest.eta.item())


# -- a table and a reading -------------------------------------------------------------------------

def slopes_table(sweep: xarray.Dataset) -> Page:
    """With which powers of η the gap, and what is left of it, fall: smallest and largest over data, losses and
    k = 2, 3, 5, network by network."""
    names = {"gap": "gap",
             "missed": "gap without our term",
             "missed_printed": "gap without the printed term",
             "lemma_second": "Lemma 1, our term",
             "lemma_printed": "Lemma 1, printed term"}
    rows = []
    for network in map(str, sweep.network.values):
        part = sweep.sel(network=network, k=[2, 3, 5])
        rows.append((network, *(_span(experiment.slopes(part[name])) for name in names)))
    return table(("power of η", *names.values()), rows)


def _span(powers):
    low = f"{float(powers.min()):.2f}"
    high = f"{float(powers.max()):.2f}"
    return low if low == high else f"{low} to {high}"


def reading_of_the_kinks(sweep: xarray.Dataset) -> Page:
    """What the Hessian misses with ReLU, told apart by sample, with this sweep's numbers."""
    return reading("Who is it that the Hessian misses?", """
        With ReLU and five steps, at step sizes between 0.001 and 0.01, our term misses {relu_missed_over_gap:.0%} of
        the gap, mean over data and losses. The samples that no kink separates add at most {relu_smooth_over_gap:.1%} of
        the gap. All the rest is the {relu_crossing:.1%} of (task, step, sample) for which some unit is on at θ_t and
        off at θ_MT, or the other way round: by themselves they make up {relu_kinked_over_missed_median:.0%} of what is
        missed (median). Where no sample at all crosses, our term misses at most
        {relu_without_crossing_missed_most:.2%}.""", **experiment.claim_3(sweep))
