"""I(k) and R(k), layer by layer; both sides of Theorem 2."""
import numpy as np
import xarray

from lessons.cart.experiment.bell import name_of
from lessons.cart.experiment.grid import HOWS, READINGS
from lessons.cart.experiment.readings import along_the_ranks, one, row_space
from lessons.cart.panels.overlap import short
from lessons.cart.panels.parts import Ranks, curves_of_hows, listed, tasks_slider, titles
from lessons.kit import page, plotting
from lessons.kit.page import Markup, Page, paragraph, quiet, said, table
from lessons.kit.panel import choice, panel
from lessons.kit.panel.moving import Look, curve
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, PURPLE, RED, still
from lessons.kit.sweep import caption, names

SHARES = {"R(k)": Look(GREY, "s"), "I(k)": Look(BLUE, "o")}  # of their largest
WITH_A_PEAK = {"gain in layer 1": Look(PURPLE, "v"), "accuracy": Look(GREEN, "^")}  # at λ = 1
OF_READING = dict(zip(READINGS, (Look(BLUE, "s"), Look(RED, "^"))))


@panel
def per_layer(sweep: xarray.Dataset):
    """Left, I(k) a pair of tasks, centred and not; in the middle, for centred task vectors R(k) and I(k) as shares of
    their largest; right, the first layer's gain and CART's accuracy at λ = 1. Controls: setting, layer, reading."""
    parts = {str(name): one(sweep, setting=name) for name in sweep.setting.values}
    fig, (left, middle, right) = plotting.figure(3, height=4.4)
    ranks = Ranks(sweep)
    for ax in (left, middle, right):
        places = ranks.axis(ax, every=4)
    left.set(ylabel="I(k), mean over pairs of tasks", ylim=(0, 1.25 * float(sweep.interference.max())))
    middle.set(ylabel="share of the largest", ylim=(0, 1.05))
    right.set(ylabel="gain; accuracy, λ = 1", ylim=(0, 1.05))
    curves = curves_of_hows(left)
    shares = [curve(middle, look, label, markersize=4) for label, look in SHARES.items()]
    peaked = [curve(right, look, label, markersize=4) for label, look in WITH_A_PEAK.items()]
    fig.legend(handles=[*curves, *shares, *peaked], loc="outside lower center", ncols=3)
    above = titles((left, middle, right))

    def draw(setting, layer, reading):
        part = parts[setting]
        values = part.interference.sel(layer=layer, reading=reading)
        centred, plain = (values.sel(how=how).values for how in HOWS)
        of_cart = part.sel(how=HOWS[0])
        error, gain = of_cart.error.sel(layer=layer).values, of_cart.gain.sel(lam=1.0).values
        accuracy = of_cart.accuracy.sel(part="test", lam=1.0).mean("task").values
        for lines, series in ((curves, (centred, plain)), (shares, (error, centred / centred.max())),
                              (peaked, (gain, accuracy))):
            for line, numbers in zip(lines, series):
                line.set_data(places, numbers)
        above[0].set_text(f"{layer}, as {reading}")
        above[1].set_text(f"at full rank: {centred[-1]:.3f}, {plain[-1]:.3f}")
        above[2].set_text(short(setting))
        return said("""{setting}, {layer}, I(k) as {reading}, by rank: centred {centred}; from θ₀ {plain}. R(k):
                       {error}. Gain in layer 1 at λ = 1: {gain}.""",
                    setting=setting, layer=layer, reading=reading, centred=listed(centred), plain=listed(plain),
                    error=listed(error), gain=listed(gain))

    first, *others = (names(part.layer) for part in parts.values())
    controls = {"setting": tasks_slider(list(parts), name_of(1.0)),
                "layer": choice("layer", [layer for layer in first if all(layer in layers for layers in others)]),
                "reading": choice("Eq. 5 as", READINGS)}
    return controls, fig, draw


def reading_of_figure_2(sweep: xarray.Dataset) -> Page:
    """I(8 %) a pair of tasks in layer 1, centred and not, in both readings, for every set of tasks."""
    rows = []
    lower = []
    for name in map(str, sweep.setting.values):
        part = one(sweep, setting=name)
        values = [row_space(part, how, reading) for reading in READINGS for how in HOWS]
        rows.append((name, *(f"{value:.3f}" for value in values)))
        if values[0] < values[1]:
            lower.append(name)
    head = ("", *(f"as {reading}, {how}" for reading in READINGS for how in ("centred", "from θ₀")))
    text = said("As meant, I(8 %) is lower when centred for {lower} of {all} sets of tasks{names}.",
                lower=len(lower), all=len(rows), names=f": {', '.join(lower)}" if lower else "")
    return table(head, rows, text, after=paragraph(text))


def reading_of_figure_3(sweep: xarray.Dataset) -> Page:
    """What goes with accuracy over the ranks: I(k), R(k), what the first layer misses, or its gain.

    A rank correlation over n ranks, if nothing went with anything, would have a standard deviation of 1/√(n − 1).
    """
    correlations = {str(name): along_the_ranks(one(sweep, setting=name)) for name in sweep.setting.values}
    measures = next(iter(correlations.values()))
    rows = [(name, *(f"{value:.2f}" for value in values.values())) for name, values in correlations.items()]
    ranks = sweep.sizes["rank"]
    title = said(Markup("""
        <p><b>Rank correlations with CART's accuracy, over {ranks} ranks, at λ = 1</b> (1: the two always go together;
        by chance alone, half of the time it would lie within ± {chance:.2f}, and nineteen times in twenty within
        ± {wide:.2f}).</p>"""),
                 ranks=ranks, chance=0.67 / (ranks - 1) ** 0.5, wide=1.96 / (ranks - 1) ** 0.5)
    return table(("", *measures), rows, before=title, after=quiet(caption(sweep)))


# -- Theorem 2 -------------------------------------------------------------------------------------

@still
def theorem(sweep: xarray.Dataset):
    """Both sides of Theorem 2 against the overlap of planted row spaces, and how far random tasks stay below the
    bound."""
    fig, (left, right) = plotting.figure(2, height=3.9)
    overlaps = sweep.overlap.values
    left.plot(overlaps, sweep.loss.clip(1e-6), color=BLACK, marker="o", markersize=4, label="task interference L")
    for reading, look in OF_READING.items():
        bound = sweep.bound.sel(reading=reading).clip(1e-6)
        left.plot(overlaps, bound, color=look.colour, marker=look.marker, markersize=4, label=f"bound, I as {reading}")
    left.set(yscale="log", xlabel="overlap of the row spaces (0 orthogonal, 1 the same)", ylabel="L and its bound",
             title="Three planted tasks", ylim=(1e-2, None))
    left.legend()
    bins = np.logspace(-6, 0.5, 30)
    for (reading, look), line in zip(OF_READING.items(), ("-", "--")):
        right.hist(sweep.ratio.sel(reading=reading).clip(bins[0]), bins, histtype="step", linewidth=2, linestyle=line,
                   color=look.colour, label=f"I as {reading}")
    right.axvline(1, color=BLACK, linestyle="--", linewidth=1.2, marker="")
    right.text(0.85, 0.95, "a counter-\nexample\nlies right", transform=right.get_xaxis_transform(), ha="right",
               va="top", fontsize=9.5)
    right.set(xscale="log", xlabel="L as a share of the bound", ylabel="random tasks",
              title="Assumptions as they must be meant")
    right.legend(loc="upper left")
    bounds = sweep.bound.isel(overlap=0)
    most = sweep.ratio.max("trial")
    trials = sweep.sizes["trial"]
    alt = said("""Left: at overlap 0, L is {loss:.2g} and the bound {meant:.2g} with I as meant, {printed:.3g} with I as
                  printed, which is the same at every overlap. Right: L over the bound for {trials} random tasks is at
                  most {most_meant:.3f} (meant) and {most_printed:.3f} (printed).""",
               loss=sweep.loss.values[0],
               meant=bounds.sel(reading="meant").item(),
               printed=bounds.sel(reading="printed").item(),
               trials=trials,
               most_meant=most.sel(reading="meant").item(),
               most_printed=most.sel(reading="printed").item())
    generated = sweep.assign_attrs(source="generated matrices (generated)", source_kind="generated",
                                   network="linear models", images=f"{trials} random sets of tasks")
    return plotting.show(fig, alt, caption(generated))


def reading_of_the_theorem(sweep: xarray.Dataset) -> Page:
    """Where Theorem 2 holds, where it fails, and what it says of a real layer, with this sweep's numbers."""
    square = sweep.literal.sel(which="square V")
    i_k = sweep.literal.sel(which="I(k)")
    return page.reading("Theorem 2 of Choi et al.",
                        """With V_t thin (one column a singular value that is not zero) and I at full rank, L was at
                           most {most:.2f} of the bound in {trials} trials: no counterexample. Read to the letter, a has
                           d entries, V_t is square, and V_t·a is any vector: then L = {square_loss:g} and the bound is
                           {square_bound:g}. With I(k) for k below the rank, which is what Figures 2 and 3 show:
                           L = {i_k_loss:.2f}, bound {i_k_bound:g}. And for the first layer of the MLPs above, whose
                           smallest singular values are tiny, the bound is {slack:.0e} times L: true, and no help.""",
                        most=sweep.ratio.max().item(),
                        trials=2 * sweep.sizes["trial"],
                        square_loss=square.sel(side="L").item(),
                        square_bound=square.sel(side="bound").item(),
                        i_k_loss=i_k.sel(side="L").item(),
                        i_k_bound=i_k.sel(side="bound").item(),
                        slack=sweep.slack.item())
