"""Panel (b): how the gap falls with the step size, and what is left of it without our term, without the printed
one, and without the printed one with its sign turned round."""
import numpy as np
import xarray

from lessons.gradients.experiment import steps
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said, table
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from lessons.kit.predict import guessed
from lessons.kit.sweep import caption, names

LOOKS = {"gap": (Look(BLACK, "o"), "the gap"),
         "missed": (Look(BLUE, "s"), "gap without our term"),
         "missed_printed": (Look(RED, "v"), "without the printed term"),
         "missed_flipped": (Look(SKY, "P", ":"), "without the printed term, sign turned round")}
KINKS = {"kinked": (Look(ORANGE, "^"), "samples across a kink"),
         "smooth": (Look(GREEN, "D"), "all other samples")}
GUESS = Look(PURPLE, "", "--")
_THIN = {"markersize": 5, "linewidth": 1.5}


@panel
def gap(sweep: xarray.Dataset, prediction=None):
    """Panel (b): the gap and what three terms leave of it, against η on logarithmic axes; right, as shares of the gap.

    Controls: k, alpha, network, loss, data. The prediction, the power of η with which the gap falls, is drawn as a line
    of that slope.
    """
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(6, 5))
    etas = sweep.eta.values
    _axes(left, right, etas)
    looks = LOOKS | KINKS
    lengths = {name: curve(left, look, LOOKS.get(name, (look, None))[1], **_THIN) for name, (look, _) in looks.items()}
    shares = {name: curve(right, look, **_THIN) for name, (look, _) in looks.items() if name != "gap"}
    guess = _Named(left, GUESS, "your slope")
    kinks = {name: _Named(right, look, label, side="right") for name, (look, label) in KINKS.items()}
    predicted_at = {"network": "tanh", "k": 3, "alpha": steps.AVERAGE}
    if prediction:
        slope = steps.slopes(sweep.isel(loss=0, data=0).sel(predicted_at).gap).item()  # as the panel opens
        prediction.panel_answers(slope, predicted_at, "dashed purple line")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    titles = moving_titles((left, right))

    def draw(k, alpha, network, loss, data):
        part = sweep.sel(k=k, network=network, loss=loss, data=data, alpha=alpha)
        for name in looks:
            values = _drawn(part, name)
            lengths[name].set_data(etas, values)
            if name in shares:
                shares[name].set_data(etas, values / part.gap.values)
            if name in kinks:
                kinks[name].show(etas, values / part.gap.values, line=False)
        power = guessed(prediction, predicted_at, {"network": network, "k": k, "alpha": alpha})
        guess.show(etas[:3], _line(part, power))
        titles[0].set_text(f"{network}, k = {k}, α = {alpha:g}: {_slopes_said(part) if k > 1 else 'rounding alone'}")
        titles[1].set_text(_right_title(part))
        return _described(part)

    controls = {"k": slider("steps k", list(steps.KS), 3),
                "alpha": choice("α", {f"{alpha:g}": alpha for alpha in map(float, sweep.alpha.values)}),
                "network": choice("network", ("tanh", "linear", "ReLU")),
                "loss": choice("loss", sweep.loss.values),
                "data": choice("tasks", sweep.data.values)}
    remarks = f" Four tasks. With ReLU, for k ≤ {steps.KINKS}: orange and green split what our term leaves."
    return controls, fig, draw, caption(sweep) + remarks


def _axes(left, right, etas):
    """Both logarithmic; a share of 1 is the gap itself."""
    for ax, label, span in ((left, "length over all weights", (1e-17, 1e2)), (right, "share of the gap", (1e-5, 20))):
        ax.set(xscale="log", yscale="log", xlabel="step size η", ylabel=label,
               xlim=(etas.min() / 1.4, etas.max() * 1.4), ylim=span)
    right.axhline(1, color=GREY, linestyle=":", linewidth=1.2, marker="")
    right.text(etas.min(), 0.7, "1: the gap itself", va="top", fontsize=9.5, color="#555555")


class _Named:
    """A line with its name beside its last point; nothing where it has none."""

    def __init__(self, ax, look, label, side="left"):
        self._line = curve(ax, look, linewidth=1.5)
        self._text = ax.text(0, 0, label, color=look.colour, fontsize=9.5, ha=side, va="top", animated=True)

    def show(self, x, y, line=True):
        """line: whether it is drawn too."""
        self._line.set_data(x, y if line else np.full(len(x), np.nan))
        there = np.flatnonzero(np.isfinite(y))
        self._text.set_visible(len(there) > 0)
        if len(there):
            self._text.set_position((x[there[-1]], y[there[-1]] * 0.6))


def _drawn(part, name):
    """A length against η, NaN where there is nothing to draw: after one step no term explains anything."""
    values = part[name].values
    shown = values > 1e-19
    if part.k == 1 and name != "gap":
        shown = np.zeros(len(values), dtype=bool)
    return np.where(shown, values, np.nan)


def _line(part, power):
    """A line of the predicted slope through the gap at the third step size; nan where nothing was predicted."""
    etas = part.eta.values
    if np.isnan(power):
        return np.full(3, np.nan)  # 1 to the power of nan would be 1
    return part.gap.values[2] * (etas[:3] / etas[2]) ** power


def _told_apart(part):
    """Whether the samples across a kink are told apart from the others."""
    return bool(part.network == "ReLU" and 1 < part.k <= steps.KINKS)


def _slopes_said(part):
    of_gap = steps.slopes(part.gap).item()
    of_missed = steps.slopes(part.missed).item()
    return f"slopes {of_gap:.2f}, {of_missed:.2f}"


def _right_title(part):
    if part.k == 1:
        return "One step: nothing to explain"
    if _told_apart(part):
        return f"Samples across a kink: {part.crossing.values[0]:.1%} to {part.crossing.values[-1]:.0%}"
    length = (part.printed / part.gap).values[0]
    signed = f"{part.cosine_printed.values[0]:.2f}".replace("-", "−")
    return f"Printed term: {length:.2f} gaps long, cosine {signed}"


def _described(part):
    """The alternative text."""
    k = part.k.item()
    where = f"{part['data'].item()}, {part.network.item()} network, {part['loss'].item()}, α = {part.alpha.item():.2f}"
    head = f"{where}, {k} step{'s' * (k > 1)}:"
    if k == 1:
        return said("""{head} task arithmetic and joint training are the same up to rounding, at most {most:.1g}
                       apart.""", head=head, most=part.gap.max().item())
    smallest = part.isel(eta=0)
    text = said("""{head} {slopes}. The gap's cosine with our term is {cosine:.4f} at the smallest step size, with the
                   printed term {cosine_printed:.4f}, which is {length:.2f} times as long. Our term misses {missed:.2g}
                   of the gap there, the printed one turned round {flipped:.2g}.""",
                head=head, slopes=_slopes_said(part), cosine=smallest.cosine.item(),
                cosine_printed=smallest.cosine_printed.item(), length=(smallest.printed / smallest.gap).item(),
                missed=(smallest.missed / smallest.gap).item(), flipped=(smallest.missed_flipped / smallest.gap).item())
    if not _told_apart(part):
        return text
    largest = part.isel(eta=-1)
    return said("""{text} {most:.1%} of the samples lie across a kink at η = {large:.2g}, {least:.2%} at
                   {small:.2g}.""", text=text, most=largest.crossing.item(), large=largest.eta.item(),
                least=smallest.crossing.item(), small=smallest.eta.item())


# -- a table and a reading -------------------------------------------------------------------------

def slopes_table(sweep: xarray.Dataset) -> Page:
    """With which powers of η the gap, and what is left of it, fall: smallest and largest over data, losses and
    k = 2, 3, 5, network by network and α by α."""
    columns = {"gap": "gap",
               "missed": "without our term",
               "missed_printed": "without the printed term",
               "missed_flipped": "without it, sign turned round"}
    rows = []
    for network in names(sweep.network):
        for alpha in map(float, sweep.alpha.values):
            part = sweep.sel(network=network, alpha=alpha, k=[2, 3, 5])
            rows.append((f"{network}, α = {alpha:g}", *(_span(steps.slopes(part[name])) for name in columns)))
    return table(("power of η", *columns.values()), rows)


def lemma_table(sweep: xarray.Dataset) -> Page:
    """The same for Lemma 1 at α = ¼."""
    columns = {"lemma_first": "the drift alone leaves",
               "lemma_second": "with our bending",
               "lemma_printed": "with the printed ½"}
    rows = []
    for network in steps.SMOOTH:
        part = sweep.sel(network=network, alpha=steps.AVERAGE, k=[2, 3, 5])
        rows.append((network, *(_span(steps.slopes(part[name])) for name in columns)))
    return table(("Lemma 1: power of η", *columns.values()), rows)


def _span(powers):
    low = f"{float(powers.min()):.2f}"
    high = f"{float(powers.max()):.2f}"
    return low if low == high else f"{low} to {high}"


def reading_of_the_kinks(sweep: xarray.Dataset) -> Page:
    """What the Hessian misses with ReLU, told apart by sample, with this sweep's numbers."""
    return reading("Which samples does the Hessian miss?", """
        With ReLU, α = ¼ and five steps, at step sizes between 0.001 and 0.01, our term misses
        {relu_missed_over_gap:.0%} of the gap, mean over data and losses. The samples that no kink separates add at most
        {relu_smooth_over_gap:.1%} of the gap. All the rest is the {relu_crossing:.1%} of (task, step, sample) for which
        some unit is on at θ_t and off at θ_MT, or the other way round: by themselves they make up
        {relu_kinked_over_missed_median:.0%} of what is missed (median). Where no sample at all crosses, our term misses
        at most {relu_without_crossing_missed_most:.2%}.""", **steps.claim_3(sweep))
