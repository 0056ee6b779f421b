"""I(k) and R(k), layer by layer; both sides of Theorem 2."""
import numpy as np
import xarray

from lessons.kit import plotting
from lessons.cart.experiment.bell import name_of
from lessons.cart.experiment.grid import HOWS, READINGS
from lessons.cart.experiment.readings import along_the_ranks, one, row_space
from lessons.cart.panels.parts import rank_axis, tasks_slider, titles
from lessons.kit.page import Page, table
from lessons.kit.panel import choice
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, MARKERS, PURPLE, RED
from lessons.kit.sweep import caption
from lessons.kit.panel import panel
from lessons.kit.plotting import still


@panel
def per_layer(sweep: xarray.Dataset):
    """Left, I(k) a pair of tasks, centred and not; right, for centred task vectors R(k) and I(k) as shares of their
    largest, with the first layer's gain and CART's accuracy at λ = 1. Controls: setting, layer, reading."""
    names = [str(name) for name in sweep.setting.values]
    parts = {name: one(sweep, setting=name) for name in names}
    layers = [str(layer) for layer in sweep.layer.values if all(layer in part.layer.values for part in parts.values())]
    ranks = list(map(float, sweep["rank"].values))
    fig, (left, right) = plotting.figure(2, height=4.2)
    places = rank_axis(left, ranks)
    rank_axis(right, ranks)
    left.set(ylabel="I(k), mean over pairs of tasks", ylim=(0, 1.1 * float(sweep.interference.max())))
    right.set(ylabel="share of the largest; gain; accuracy", ylim=(0, 1.05))
    curves = [left.plot([], [], color=colour, marker=marker, markersize=4, label=how, animated=True)[0] for how, colour, marker in zip(HOWS, (BLUE, RED), MARKERS)]
    left.legend(handles=curves, loc="upper left", fontsize=8.5)
    labels = (("R(k)", GREY, "s"), ("I(k)", BLUE, "o"), ("gain in layer 1, λ = 1", PURPLE, "v"), ("accuracy, λ = 1", GREEN, "^"))
    lines = [right.plot([], [], color=colour, marker=marker, markersize=4, label=label, animated=True)[0] for label, colour, marker in labels]
    fig.legend(handles=lines, loc="outside lower right", ncols=4)
    moving = titles((left, right))

    def draw(setting, layer, reading):
        part = parts[setting]
        values = part.interference.sel(layer=layer, reading=reading)
        for curve, how in zip(curves, HOWS):
            curve.set_data(places, values.sel(how=how).values)
        error, here = part.error.sel(how=HOWS[0], layer=layer).values, values.sel(how=HOWS[0]).values
        gain, accuracy = part.gain.sel(how=HOWS[0], lam=1.0).values, part.accuracy.sel(how=HOWS[0], part="test", lam=1.0).mean("task").values
        for line, series in zip(lines, (error, here / here.max(), gain, accuracy)):
            line.set_data(places, series)
        at_full = values.isel(rank=-1)
        moving[0].set_text(f"{setting}, {layer}, as {reading}")
        moving[1].set_text(f"centred {at_full.sel(how=HOWS[0]):.3f}, from θ₀ {at_full.sel(how=HOWS[1]):.3f} at full rank")
        return (f"{setting}, {layer}, I(k) as {reading}, by rank: centred {', '.join(f'{value:.3f}' for value in here)}; from θ₀ {', '.join(f'{value:.3f}' for value in values.sel(how=HOWS[1]).values)}. "
                f"R(k): {', '.join(f'{value:.3f}' for value in error)}. Gain in layer 1 at λ = 1: {', '.join(f'{value:.3f}' for value in gain)}.")

    controls = {"setting": tasks_slider(names, name_of(1.0)), "layer": choice("layer", {layer: layer for layer in layers}),
                "reading": choice("Eq. 5 as", {reading: reading for reading in READINGS})}
    return controls, fig, draw


def reading_of_figure_2(sweep: xarray.Dataset) -> Page:
    """I(8 %) a pair of tasks in layer 1, centred and not, in both readings, for every set of tasks."""
    rows = []
    for name in map(str, sweep.setting.values):
        part = one(sweep, setting=name)
        rows.append((name, *(row_space(part, how, reading) for reading in READINGS for how in HOWS)))
    head = ("", *(f"as {reading}, {how}" for reading in READINGS for how in ("centred", "from θ₀")))
    lower = [row[0] for row in rows if row[1] < row[2]]
    text = f"As meant, I(8 %) is lower when centred for {len(lower)} of {len(rows)} sets of tasks{': ' + ', '.join(lower) if lower else ''}."
    return table(head, [(name, *(f"{value:.3f}" for value in values)) for name, *values in rows], text, after=f"<p>{text}</p>")


def reading_of_figure_3(sweep: xarray.Dataset) -> Page:
    """What goes with accuracy over the ranks: I(k), R(k), what the first layer misses, or its gain."""
    found = {str(name): along_the_ranks(one(sweep, setting=name)) for name in sweep.setting.values}
    return table(("", *next(iter(found.values()))), [(name, *(f"{value:.2f}" for value in values.values())) for name, values in found.items()],
                 before="<p><b>Rank correlations with CART's accuracy, over the ranks, at λ = 1</b> (1: the two always go together).</p>", after=f"<p style='color:#555'>{caption(sweep)}</p>")


@still
def theorem(sweep: xarray.Dataset):
    """Both sides of Theorem 2 against the overlap of planted row spaces, and how far random tasks stay below the
    bound."""
    fig, (left, right) = plotting.figure(2, height=3.9)
    x = sweep.overlap.values
    left.plot(x, sweep.loss.clip(1e-6), color=BLACK, marker="o", markersize=4, label="task interference L")
    for reading, colour, marker in zip(READINGS, (BLUE, RED), ("s", "^")):
        left.plot(x, sweep.bound.sel(reading=reading).clip(1e-6), color=colour, marker=marker, markersize=4, label=f"bound, I as {reading}")
    left.set(yscale="log", xlabel="overlap of the row spaces (0 orthogonal, 1 the same)", ylabel="L and its bound", title="Three planted tasks", ylim=(1e-2, None))
    left.legend(fontsize=8.5)
    bins = np.logspace(-6, 0.5, 30)
    for reading, colour in zip(READINGS, (BLUE, RED)):
        right.hist(sweep.ratio.sel(reading=reading).clip(bins[0]), bins, color=colour, alpha=0.6, label=f"I as {reading}")
    right.axvline(1, color=BLACK, linestyle="--", linewidth=1.2, marker="")
    right.text(0.85, 0.95, "a counter-\nexample\nlies right", transform=right.get_xaxis_transform(), ha="right", va="top", fontsize=8)
    right.set(xscale="log", xlabel="L as a share of the bound", ylabel="random tasks", title="Assumptions as they must be meant")
    right.legend(fontsize=8.5, loc="upper left")
    most = sweep.ratio.max("trial").values
    alt = (f"Left: at overlap 0, L is {sweep.loss.values[0]:.2g} and the bound {sweep.bound.sel(reading='meant').values[0]:.2g} with I as meant, {sweep.bound.sel(reading='printed').values[0]:.3g} with I as printed, which "
           f"is the same at every overlap. Right: L over the bound for {sweep.sizes['trial']} random tasks is at most {most[0]:.3f} (meant) and {most[1]:.3f} (printed).")
    return plotting.show(fig, alt, caption(sweep.assign_attrs(source="generated matrices (generated)", source_kind="generated", network="linear models", images=f"{sweep.sizes['trial']} random sets of tasks")))


def reading_of_the_theorem(sweep: xarray.Dataset) -> Page:
    """Where Theorem 2 holds, where it fails, and what it says of a real layer, with this sweep's numbers."""
    literal = {str(which): sweep.literal.sel(which=which).values.tolist() for which in sweep.which.values}
    text = (f"With V_t thin (one column a singular value that is not zero) and I at full rank, L was at most {sweep.ratio.max().item():.2f} of the bound in {2 * sweep.sizes['trial']} trials: no counterexample. "
            f"Read to the letter, a has d entries, V_t is square, and V_t·a is any vector: then L = {literal['square V'][0]:g} and the bound is {literal['square V'][1]:g}. With I(k) for k below the rank, "
            f"which is what Figures 2 and 3 show: L = {literal['I(k)'][0]:.2f}, bound {literal['I(k)'][1]:g}. And for the first layer of the MLPs above, whose smallest singular values are tiny, the bound is "
            f"{sweep.slack.item():.0e} times L: true, and no help.")
    return Page(text, f"<p><b>Theorem 2.</b> {text}</p>")
