"""The pictures of chapter 4: five panels, and the source's Figures 7 to 10 redrawn from our measurement."""
import numpy as np
import xarray

from lessons import plotting
from lessons.exercise import Page
from lessons.panel import Panel, choice, slider
from lessons.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED, WithQuartiles, themed, violin
from lessons.predict import Star
from lessons.sweep import background_once, caption, drawn_once, position
from lessons.task_arithmetic.algorithms import log_slope
from lessons.task_arithmetic import experiment as experiment_claims
from lessons.task_arithmetic.experiment import mlp as experiment, resnet
from lessons.task_arithmetic.experiment.mlp import ANGLES, EDITS, EVALUATED, HOW, LAYERS, PAIRS

ACCURACY = "accuracy: share correct"
CHANCE = 0.1
TASK_NAMES = ["pre-\ntraining", *(f"{angle:g}°" for angle in ANGLES)]


def _titles(axes):
    return [ax.text(0, 1.03, "", transform=ax.transAxes, fontweight="bold", animated=True) for ax in axes]


# -- the vectors ---------------------------------------------------------------------------------------------------------------

@drawn_once
@themed
def heat_map(sweep: xarray.Dataset):
    """The cosine between every two task vectors, over all weights and in the first and the last layer alone."""
    parts = [experiment.PARTS[0], "layer 1", "output"]
    fig, axes = plotting.figure(len(parts), height=3.6, sharey=True)
    names = [f"{angle:g}" for angle in ANGLES]
    for ax, part in zip(axes, parts):
        values = sweep.cosine.sel(part=part).values
        image = ax.imshow(values, cmap="cividis", vmin=0, vmax=1)
        for i, j in np.ndindex(*values.shape):
            ax.text(j, i, f"{values[i, j]:.2f}".lstrip("0"), ha="center", va="center", fontsize=6.5, color="white" if values[i, j] < 0.55 else BLACK)
        ax.set(title=part, xlabel="angle of task j (degrees)")
        ax.set_xticks(range(len(names)), names, fontsize=7, rotation=45)
        ax.set_yticks(range(len(names)), names, fontsize=7)
        ax.grid(False)
    axes[0].set_ylabel("angle of task i (degrees)")
    fig.colorbar(image, ax=list(axes), label="cosine of τᵢ and τⱼ", shrink=0.8)
    values = sweep.cosine.sel(part=parts[0]).values
    steps = "; ".join(f"{22.5 * d:g}° apart {np.diagonal(values, d).mean():.2f}" for d in range(1, 8))
    alt = f"Cosine between the eight task vectors, mean over pairs: {steps}. Their lengths run from {sweep.norm.min().item():.2f} to {sweep.norm.max().item():.2f}."
    return plotting.show(fig, alt, caption(sweep))


# -- panel (a): edits ----------------------------------------------------------------------------------------------------------

@background_once
@themed
def edits(sweep: xarray.Dataset, prediction=None) -> Panel:
    """Panel (a): accuracy of θ₀ + λ·Σ τ against λ; right, on every task at one λ. Controls: lam, edit.

    The prediction, the mean accuracy on both tasks of "22.5° and 90°" at λ = ½, is a star.
    """
    fig, (left, right) = plotting.figure(2, height=4.2, width_ratios=(5, 4))
    lams, places = list(map(float, sweep.lam.values)), np.arange(len(EVALUATED))
    left.set(xlabel="λ", ylabel=ACCURACY, xlim=(-1.03, 1.03), ylim=(0, 1.02))
    left.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    labels = (("the tasks added", BLUE, "o"), ("pretraining task", GREEN, "^"), ("all other tasks", GREY, "s"))
    curves = [left.plot([], [], color=colour, marker=marker, markersize=4, label=label, animated=True)[0] for label, colour, marker in labels]
    here = left.axvline(0, color=BLACK, linewidth=1, marker="", animated=True)
    star = Star(left, prediction, 0.5)
    right.set(ylabel=ACCURACY, ylim=(0, 1.02), xlim=(-0.6, len(places) - 0.4))
    right.set_xticks(places, TASK_NAMES, fontsize=7.5)
    right.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    own = np.diagonal(sweep.own.values)
    right.plot(places, own, color=BLACK, marker="_", markersize=13, linestyle="", label="network trained on it")
    handles = [part for ax in (left, right) for part in ax.get_legend_handles_labels()[0]]
    fig.legend(handles, [handle.get_label() for handle in handles], loc="outside lower center", ncols=4)
    bars = [right.plot([place, place], [0, 0], color=BLUE, linewidth=15, solid_capstyle="butt", marker="", animated=True)[0] for place in places]
    titles = _titles((left, right))
    values = {edit: sweep.accuracy.sel(edit=edit).transpose("lam", "task").values for edit in EDITS}

    def draw(lam, edit):
        table, row, added = values[edit], position(lams, lam, "lam"), [EVALUATED.index(angle) for angle in EDITS[edit]]
        others = [task for task in range(1, len(EVALUATED)) if task not in added]
        for curve, columns in zip(curves, (added, [0], others)):
            curve.set_data(*((lams, table[:, columns].mean(1)) if columns else ([], [])))
        here.set_xdata([lam, lam])
        for task, (bar, value) in enumerate(zip(bars, table[row])):
            bar.set_ydata([0, value])
            bar.set_color(GREEN if task == 0 else BLUE if task in added else GREY)
        star.place()
        titles[0].set_text(f"θ₀ + λ·(sum of {edit})")
        titles[1].set_text(f"λ = {lam:.2f}: added {table[row][added].mean():.3f}, pretraining {table[row][0]:.3f}")
        said = "; ".join(f"{angle:g}° {value:.3f}" for angle, value in zip(EVALUATED, table[row]))
        return f"Accuracy of θ₀ + λ·(sum of the task vectors of {edit}) at λ = {lam:.2f}, by angle, 0° being the pretraining task: {said}."

    controls = {"lam": slider("λ", lams, 0.5), "edit": choice("task vectors", {edit: edit for edit in _ordered(EDITS)})}
    return Panel(controls, fig, draw, caption(sweep), [prediction] if prediction else [])


def _ordered(names):
    """The pair that the notebook speaks of first."""
    return sorted(names, key=lambda name: name != "22.5° and 90°")


# -- panel (b): Eq. 2 and Eq. 3 ------------------------------------------------------------------------------------------------

@background_once
@themed
def equations(sweep: xarray.Dataset) -> Panel:
    """Panel (b): 1 − cosine_arith beside 1 − cosine_base, per layer, with quartiles; right, the deviation against λ on logarithmic axes. Controls: lam, ends."""
    fig, (left, right) = plotting.figure(2, height=4.0)
    lams, places = list(map(float, sweep.step.values)), np.arange(len(LAYERS))
    left.set(xlim=(-0.5, len(LAYERS) - 0.5), ylim=(0.3 * float(sweep.gap_mean.min()), 30 * float(sweep.base_high.max())), yscale="log", ylabel="1 − cosine (logarithmic)")
    left.set_xticks(places, LAYERS)
    base = WithQuartiles(left, places - 0.1, ORANGE, "s", "between the two ends (baseline)")
    gap = WithQuartiles(left, places + 0.1, BLUE, "o", "from the edited network to the mean of the ends")
    left.legend(loc="upper left")
    right.set(xlabel="λ (logarithmic)", ylabel="deviation, share of the features' length", xscale="log", yscale="log", xlim=(0.045, 1.1),
              ylim=(0.6 * float(sweep.deviation.min()), 2 * float(sweep.deviation.max())))
    right.set_xticks(lams[:3] + [0.5, 1.0], [f"{lam:g}" for lam in lams[:3] + [0.5, 1.0]])
    right.minorticks_off()
    start = float(sweep.deviation.isel(step=0).mean())
    for power, style in ((1.5, ":"), (2, "--")):
        right.plot([0.05, 0.3], [0.5 * start, 0.5 * start * 6 ** power], color=GREY, linestyle=style, linewidth=1.2, marker="", label=f"slope {power:g}")
    lines = [right.plot([], [], color=colour, marker=marker, markersize=4, linewidth=1.5, label=layer, animated=True)[0] for layer, colour, marker in zip(LAYERS, COLOURS, MARKERS)]
    right.legend(loc="upper left", ncols=2, fontsize=8.5)
    here = right.axvline(0.4, color=BLACK, linewidth=1, marker="", animated=True)
    titles = _titles((left, right))
    names = [str(name) for name in sweep.ends.values]
    parts = ("gap_mean", "gap_low", "gap_high", "base_mean", "base_low", "base_high", "coef_mean", "deviation")
    values = {name: {part: sweep[part].sel(ends=name).transpose("step", "layer").values for part in parts} for name in names}

    def draw(lam, ends):
        row, of = position(lams, lam, "lam"), values[ends]
        base.set_values(*(of[f"base_{part}"][row] for part in ("mean", "low", "high")))
        gap.set_values(*(of[f"gap_{part}"][row].clip(1e-9) for part in ("mean", "low", "high")))
        for line, deviation in zip(lines, of["deviation"].T):
            line.set_data(lams, deviation)
        here.set_xdata([lam, lam])
        ratio = of["gap_mean"][row] / of["base_mean"][row]
        titles[0].set_text(f"{ends}, λ = {lam:.2f}")
        titles[1].set_text(f"Gap at most {ratio.max():.1%} of baseline, coef {of['coef_mean'][row].min():.3f} to {of['coef_mean'][row].max():.3f}")
        said = "; ".join(f"{layer} {g:.4f} against {b:.4f}, coef {c:.3f}, deviation {d:.4f}" for layer, g, b, c, d in
                         zip(LAYERS, *(of[name][row] for name in ("gap_mean", "base_mean", "coef_mean", "deviation"))))
        return f"{'Eq. 2' if ends in PAIRS else 'Eq. 3'} for {ends} at λ = {lam:.2f}. 1 − cosine, gap against baseline: {said}."

    controls = {"lam": slider("λ", lams, 0.4), "ends": choice("task vectors", {name: name for name in _ordered(names)})}
    return Panel(controls, fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images. Deviation: root mean square over the images.")


@drawn_once
@themed
def figure_7(sweep: xarray.Dataset, lams=(0.2, 0.4)):
    """Figures 7 and 8 of CTL at both readings of its λ: gap and baseline for four pairs and four negations, and the distribution of coef in the third layer."""
    sums = [experiment.name_of(i, j) for i, j in ((22.5, 45.0), (22.5, 90.0), (45.0, 135.0), (90.0, 180.0))]
    negations = [experiment.negation_of(angle) for angle in (22.5, 45.0, 90.0, 180.0)]
    fig, axes = plotting.figure(4, 2, height=6.2, sharey="row")
    for column, (names, lam) in enumerate((names, lam) for names in (sums, negations) for lam in lams):
        top, bottom = axes[0, column], axes[1, column]
        places, part = np.arange(len(names)), sweep.sel(ends=names, step=lam, layer="layer 3")
        for shift, colour, marker, name, label in ((-0.13, GREY, "s", "base", "baseline"), (0.13, BLUE, "o", "gap", "arith")):
            WithQuartiles(top, places + shift, colour, marker, label, animated=False).set_values(part[f"{name}_mean"], part[f"{name}_low"], part[f"{name}_high"])
        top.set(title=f"{'Addition' if names is sums else 'Negation'}, λ = {lam:g}", ylim=(0, 0.6))
        for place, name in enumerate(names):
            here = part.sel(ends=name)
            violin(bottom, place, here.bin.values, here.coef_count.values, here.coef_median.item(), COLOURS[place], width=0.35)
        bottom.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        bottom.set(ylim=(0.7, 1.2))
        for ax in (top, bottom):
            ax.set_xticks(places, [name.replace(" and its negative", "").replace(" and ", "\n") for name in names], fontsize=8)
    axes[0, 0].set_ylabel("1 − cosine, layer 3")
    axes[1, 0].set_ylabel("coef, layer 3")
    axes[0, 0].legend(loc="upper left")
    part = sweep.sel(ends=sums + negations, step=list(lams), layer="layer 3")
    alt = (f"Layer 3. 1 − cosine_arith lies between {part.gap_mean.min().item():.4f} and {part.gap_mean.max().item():.4f}, the baseline between {part.base_mean.min().item():.3f} and "
           f"{part.base_mean.max().item():.3f}; the mean of coef between {part.coef_mean.min().item():.3f} and {part.coef_mean.max().item():.3f}.")
    return plotting.show(fig, alt, caption(sweep) + " Above: mean and quartiles over the images. Below: distribution over the images, line: median.")


# -- panel (c): stitching with sums --------------------------------------------------------------------------------------------

_SORTS = tuple(zip((PURPLE, BLUE, ORANGE), ("D", "o", "s"), ("average of both", "θ₀ + λτᵢ alone", "θ₀ + λτⱼ alone")))


@background_once
@themed
def stitching(sweep: xarray.Dataset) -> Panel:
    """Panel (c): Figure 9 of CTL, one dot a pair and kind of features; right, the mean over pairs against λ. Controls: lam, layer."""
    fig, (left, right) = plotting.figure(2, height=4.4)
    lams = list(map(float, sweep.step.values))
    left.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, marker="")
    left.set(xlabel="accuracy on task i", ylabel="accuracy on task j", xlim=(0, 1.02), ylim=(0, 1.02))
    dots = [left.plot([], [], color=colour, marker=marker, markersize=5, alpha=0.75, linestyle="", label=label, animated=True)[0] for colour, marker, label in _SORTS]
    right.set(xlabel="λ", ylabel=ACCURACY, xlim=(0, 1.03), ylim=(0, 1.02))
    styles = (("average of both, worse of two tasks", PURPLE, "D", "-"), ("one alone, its own task", BLUE, "o", "-"), ("one alone, the other task", BLUE, "o", ":"))
    curves = [right.plot([], [], color=colour, marker=marker, markersize=4, linestyle=style, label=label, animated=True)[0] for label, colour, marker, style in styles]
    here = right.axvline(1, color=BLACK, linewidth=1, marker="", animated=True)
    before = sweep.own.sel(model=0.0)
    left.plot([before.sel(task=i).item() for i, _ in PAIRS.values()], [before.sel(task=j).item() for _, j in PAIRS.values()], color=BLACK, marker="x", markersize=4, markeredgewidth=0.8,
              linestyle="", label="θ₀ itself")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right")
    titles = _titles((left, right))
    values = {layer: sweep.stitched.sel(layer=layer).transpose("step", "pair", "features", "two").values for layer in LAYERS}

    def draw(lam, layer):
        row, of = position(lams, lam, "lam"), values[layer]
        for dot, points in zip(dots, of[row].transpose(1, 2, 0)):
            dot.set_data(*points)
        worse, own, other = of[:, :, 0].min(-1).mean(1), (of[:, :, 1, 0] + of[:, :, 2, 1]).mean(1) / 2, (of[:, :, 1, 1] + of[:, :, 2, 0]).mean(1) / 2
        for curve, series in zip(curves, (worse, own, other)):
            curve.set_data(lams, series)
        here.set_xdata([lam, lam])
        titles[0].set_text(f"Put in at {layer}, λ = {lam:.2f}")
        titles[1].set_text(f"Means: average {worse[row]:.3f}, own {own[row]:.3f}, other {other[row]:.3f}")
        return (f"28 pairs, features put into the pretrained network at {layer}, λ = {lam:.2f}. Mean over pairs: with the average of both networks' features "
                f"{of[row, :, 0].mean():.3f}, and {worse[row]:.3f} on the worse of the two tasks; with one network's features {own[row]:.3f} on its own task and "
                f"{other[row]:.3f} on the other.")

    controls = {"lam": slider("λ", lams, 1.0), "layer": choice("put in at", {layer: layer for layer in ("layer 2", "layer 1", "layer 3", "output")})}
    return Panel(controls, fig, draw, caption(sweep) + " At the output nothing is left behind: the averaged features are the logits ensemble.")


# -- panel (d): stitching with Δ taken away ------------------------------------------------------------------------------------

@background_once
@themed
def negation(sweep: xarray.Dataset, prediction=None) -> Panel:
    """Panel (d): Figure 10 of CTL, accuracy of the two stitched networks on the pretraining task and on the task taken away. Controls: lam, angle, layer.

    The prediction, the accuracy on the pretraining task of θ₀ − τ for 45°, is a star.
    """
    fig, ax = plotting.figure(height=4.0, width=7.2)
    lams = list(map(float, sweep.lam0.values))
    ax.set(xlabel="λ, of the task vector that is taken away", ylabel=ACCURACY, xlim=(-0.02, 1.04), ylim=(0, 1.02))
    ax.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    ax.text(1.03, CHANCE + 0.01, "chance", color="#666666", fontsize=8.5, ha="right")
    kinds = [(way, which) for which in ("pretraining", "i") for way in range(2)]
    curves = [ax.plot([], [], color=GREEN if which == "pretraining" else RED, marker="^" if which == "pretraining" else "o", markersize=5, linestyle="-" if way == 0 else "--",
                      markerfacecolor=None if way == 0 else "white", label=f"{'pretraining task' if which == 'pretraining' else 'task i'}, {HOW[way]}", animated=True)[0] for way, which in kinds]
    here = ax.axvline(0.4, color=BLACK, linewidth=1, marker="", animated=True)
    star = Star(ax, prediction, 1.0)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    title, = _titles((ax,))
    values = {(angle, layer): sweep.negated.sel(angle=angle, layer=layer).transpose("lam0", "how", "which").values for angle in ANGLES for layer in LAYERS}

    def draw(lam, angle, layer):
        row, of = position(lams, lam, "lam"), values[angle, layer]
        for curve, (way, which) in zip(curves, kinds):
            curve.set_data(lams, of[:, way, 0 if which == "pretraining" else 1])
        here.set_xdata([lam, lam])
        star.place()
        (features_before, features_task), (weights_before, weights_task) = of[row]
        title.set_text(f"{angle:g}° at {layer}, λ = {lam:.2f}: task {features_task:.3f} and {weights_task:.3f}, pretraining {features_before:.3f} and {weights_before:.3f}")
        return (f"The pretrained network with other features at {layer}; the task is {angle:g}°, λ = {lam:.2f}. Features minus Δ: pretraining task {features_before:.3f}, task i "
                f"{features_task:.3f}. Features of θ₀ − λτ: {weights_before:.3f} and {weights_task:.3f}. Untouched: {of[0, 0, 0]:.3f} and {of[0, 0, 1]:.3f}.")

    controls = {"lam": slider("λ", lams, 0.4), "angle": choice("task i", {f"{angle:g}°": angle for angle in sorted(ANGLES, key=lambda angle: angle != 45)}),
                "layer": choice("put in at", {layer: layer for layer in ("output", "layer 1", "layer 2", "layer 3")})}
    return Panel(controls, fig, draw, caption(sweep) + " At the output the dashed lines are θ₀ − λτ itself.", [prediction] if prediction else [])


# -- many tasks ----------------------------------------------------------------------------------------------------------------

@drawn_once
@themed
def many(sweep: xarray.Dataset):
    """Left, accuracy against λ for sums of 1 to 8 task vectors; right, the best λ against the number of tasks, beside 1/k, and what it reaches."""
    fig, (left, right) = plotting.figure(2, height=3.9)
    counts, lams, values = sweep.num_tasks.values, sweep.many_lam.values, sweep.many.transpose("num_tasks", "many_lam").values
    best = lams[values.argmax(1)]
    colours = plotting.mpl.colormaps["viridis"](np.linspace(0, 0.9, len(counts)))
    for k, curve, colour in zip(counts, values, colours):
        left.plot(lams, curve, color=colour, marker="", label=f"{k}")
        left.plot([lams[curve.argmax()]], [curve.max()], color=colour, marker="o", linestyle="")
    left.set(xlabel="λ", ylabel="accuracy on the tasks added", ylim=(0, 1.02), title="Sums of k task vectors")
    left.legend(title="k", ncols=2, fontsize=8)
    right.plot(counts, best, color=BLUE, marker="o", label="best λ of those tried")
    right.plot(counts, 1 / counts, color=GREY, linestyle="--", marker="", label="1/k: the plain average")
    right.plot(counts, values.max(1), color=GREEN, marker="^", label="accuracy at the best λ")
    right.set(xlabel="task vectors added, k", ylim=(0, 1.02), title="Where the best λ lies", xticks=counts)
    right.legend(loc="upper right")
    said = "; ".join(f"k = {k}: best at λ = {lam:g}, accuracy {value:.3f}" for k, lam, value in zip(counts, best, values.max(1)))
    return plotting.show(fig, f"Sums of k task vectors. {said}.", caption(sweep) + " Mean over several choices of k tasks out of eight.")


@drawn_once
@themed
def analogies(sweep: xarray.Dataset):
    """Accuracy on angle d of θ₀ + λ·(τ_c + τ_b − τ_a), beside θ₀ + τ_c, which never saw d either, and the network that learned d."""
    fig, axes = plotting.figure(len(experiment.QUADRUPLES), height=2.9, sharey=True)
    said = []
    for ax, (name, (a, b, c, d)) in zip(axes, experiment.QUADRUPLES.items()):
        curve = sweep.analogy.sel(quadruple=name)
        nearest, learned, base = (sweep.own.sel(model=model, task=d).item() for model in (c, d, 0.0))
        ax.plot(sweep.step, curve, color=BLUE, marker="o", markersize=4, label="analogy")
        for value, colour, style, label in ((learned, BLACK, "-", "learned d"), (nearest, ORANGE, "--", "θ₀ + τ_c"), (base, GREY, ":", "θ₀")):
            ax.axhline(value, color=colour, linestyle=style, linewidth=1.4, marker="", label=label)
        ax.set(title=f"d = {d:g}°", xlabel="λ", ylim=(0, 1.02), xticks=(0, 0.5, 1))
        said.append(f"{d:g}° from {name}: at most {float(curve.max()):.3f}, θ₀ + τ_c {nearest:.3f}, learned {learned:.3f}")
    axes[0].set_ylabel("accuracy on angle d")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return plotting.show(fig, f"Analogies between angles. {'; '.join(said)}.", caption(sweep))


# -- panel (e): the mixing desk ------------------------------------------------------------------------------------------------

SPACES = {"weights: θ₀ + Σ λτ": "weights", "outputs: f(θ₀) + Σ λ(f(θ₀ + τ) − f(θ₀))": "outputs"}
FADERS = tuple(round(i / 10, 1) for i in range(-5, 11))


@background_once
@themed
def mixing_desk(sweep: xarray.Dataset, networks: dict, tasks=ANGLES, faders=FADERS) -> Panel:
    """Panel (e): a fader λ for every task, and the accuracy on all nine; computed as it is moved. Controls: one a task, named "22.5" …, and space.

    All positions of eight faders are too many for a page of their own; for `save_html` choose two or three tasks and fewer positions.

    Args:
        sweep: has the images to compute on.
        networks: {angle: network} as `experiment.models` gives them.
        tasks: which task vectors get a fader.
        faders: the positions of each, with 0 among them.

    Raises:
        ValueError: an unknown task, or no position 0.
    """
    if unknown := [task for task in tasks if task not in ANGLES]:
        raise ValueError(f"there is no task vector for {', '.join(map(str, unknown))}: choose from {', '.join(map(str, ANGLES))}")
    if 0 not in faders:
        raise ValueError(f"faders must have a position 0, where a task vector is left out, not only {faders}")
    table = experiment.desk(sweep, networks)
    fig, ax = plotting.figure(height=3.7)
    places = np.arange(len(EVALUATED))
    ax.set(ylabel=ACCURACY, ylim=(-0.62, 1.1), xlim=(-0.6, len(places) - 0.4), yticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_xticks(places, TASK_NAMES)
    ax.axhline(CHANCE, color=GREY, linestyle=":", linewidth=1, marker="")
    ax.axhline(0, color="#555555", linewidth=0.8, marker="")
    ax.plot(places, [table.accuracy(one)[place] for place, one in enumerate(table.family.features["output"])], color=BLACK, marker="_", markersize=26, linestyle="", label="network trained on it")
    ax.text(-0.2, -0.4, "λ:", fontsize=11, va="center")
    for place in places[1:]:
        ax.plot([place, place], [-0.55, -0.1], color="#cccccc", linewidth=3, marker="")
    ax.legend(loc="upper right", bbox_to_anchor=(1, 1.12))
    bars = [ax.plot([place, place], [0, 0], color=GREEN if place == 0 else BLUE, linewidth=30, solid_capstyle="butt", marker="", animated=True)[0] for place in places]
    numbers = [ax.text(place, 1.0, "", ha="center", va="bottom", fontsize=8.5, animated=True) for place in places]
    knobs = ax.plot([], [], color=ORANGE, marker="s", markersize=9, markeredgecolor=BLACK, linestyle="", animated=True)[0]
    texts = [ax.text(place + 0.13, 0, "", fontsize=8, va="center", animated=True) for place in places[1:]]
    title, = _titles((ax,))

    def draw(space, **lams):
        lams = dict(zip(tasks, lams.values()))
        logits = table.features(lams)["output"] if space == "weights" else table.in_features(lams)
        accuracy = table.accuracy(logits)
        for bar, number, value in zip(bars, numbers, accuracy):
            bar.set_ydata([0, value])
            number.set_text(f"{value:.2f}")
        heights = [-0.4 + 0.3 * lams.get(angle, 0.0) for angle in ANGLES]
        knobs.set_data(places[1:], heights)
        for text_, angle, height in zip(texts, ANGLES, heights):
            text_.set(y=height, text=f"{lams.get(angle, 0.0):.1f}")
        title.set_text(f"In {space}: Σ λ = {sum(lams.values()):.1f}, mean over the eight tasks {accuracy[1:].mean():.3f}, pretraining {accuracy[0]:.3f}")
        said = ", ".join(f"{angle:g}° {lam:.1f}" for angle, lam in lams.items() if lam) or "none"
        return (f"Task vectors added with λ: {said}; computed in {space}. Accuracy by angle, 0° being the pretraining task: "
                f"{'; '.join(f'{angle:g}° {value:.3f}' for angle, value in zip(EVALUATED, accuracy))}.")

    controls = {f"{angle:g}": slider(f"λ {angle:g}°", list(map(float, faders)), 0.1 if 0.1 in faders else 0.0) for angle in tasks}
    for control in controls.values():
        control.layout.width = "230px"
    controls["space"] = choice("computed in", SPACES)
    return Panel(controls, fig, draw, caption(sweep.assign_attrs(images=f"{len(table.y)} test images a task, computed as you move")))


# -- the ResNets ---------------------------------------------------------------------------------------------------------------

def resnets(sweep: xarray.Dataset | None):
    """Sums and negations of the ResNet's task vectors, or, where they were not measured, a sentence that says how to."""
    if sweep is None:
        text = "Measured in profile “full” alone, because it trains convolutional networks for some minutes. Set profile = \"full\" in the first cell and run the notebook again."
        return Page(text, f"<p><i>{text}</i></p>")
    return _resnets(sweep)


@drawn_once
@themed
def _resnets(sweep):
    fig, axes = plotting.figure(3, height=3.9)
    positive = sweep.sel(lam=slice(0, None))
    sums, splits = [str(edit) for edit in sweep.edit.values if " and " in str(edit)], list(sweep.task.values[1:])
    for treatment, style, said in zip(resnet.TREATMENTS, ("--", "-"), ("carried", "anew")):
        part = positive.sel(treatment=treatment)
        two = np.mean([part.accuracy.sel(edit=edit, task=[int(word) for word in edit.split() if word.isdigit()]).mean("task").values for edit in sums], 0)
        all_four = part.accuracy.sel(edit="all four", task=splits).mean("task")
        for values, colour, marker, label in ((two, BLUE, "o", "two, on both"), (all_four, ORANGE, "s", "all four")):
            axes[0].plot(positive.lam, values, color=colour, marker=marker, linestyle=style, markerfacecolor="white" if style == "--" else None, label=f"{label}, {said}")
        one = sweep.sel(treatment=treatment)
        for which, colour, marker, label in ((0, GREEN, "^", "pretraining task"), (1, RED, "o", "task i")):
            values = np.mean([one.accuracy.sel(edit=resnet.name_of(split), task=split if which else sweep.task.values[0]).values for split in splits], 0)
            axes[1].plot(sweep.lam, values, color=colour, marker=marker, linestyle=style, markerfacecolor="white" if style == "--" else None, label=f"{label}, {said}")
    for ax, title, label in zip(axes, ("Sums of two and of four", "One task vector"), ("accuracy on the tasks added", ACCURACY)):
        ax.axhline(0.2, color=GREY, linestyle=":", linewidth=1, marker="")
        ax.set(xlabel="λ", ylabel=label, ylim=(0, 1.15), yticks=np.linspace(0, 1, 6), title=title)
        ax.legend(fontsize=7.5, loc="upper left")
    places, shown = np.arange(len(sweep.layer)), {"Eq. 2": (sums, BLUE, "o"), "Eq. 3": ([f"split {split} and its negative" for split in splits], GREEN, "^")}
    for name, (ends, colour, marker) in shown.items():
        ratio = (sweep.gap_mean / sweep.base_mean).sel(ends=ends).mean("ends")
        for lam, style in ((0.2, "-"), (0.4, "--"), (1.0, ":")):
            axes[2].plot(places, ratio.sel(step=lam), color=colour, marker=marker, markersize=4, linestyle=style, label=f"{name}, λ = {lam:g}")
    axes[2].set(xlabel="block", ylabel="gap, share of the baseline", ylim=(0, None), title="Eq. 2 and 3")
    axes[2].set_xticks(places, [str(layer).replace("block ", "") for layer in sweep.layer.values])
    axes[2].legend(fontsize=7, loc="upper left")
    of = resnet.numbers(sweep)
    words = "; ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in of.items())
    return plotting.show(fig, f"ResNet-18, task vectors of four splits. {words}.", caption(sweep) + f" The networks trained on each task: {', '.join(f'{value:.2f}' for value in sweep.own.values)}. "
                         "“Carried”: BatchNorm's statistics went through the same arithmetic as the weights; “anew”: estimated again. Chance is 0.2.")


# -- readings ------------------------------------------------------------------------------------------------------------------

def misconception(sweep: xarray.Dataset) -> Page:
    """“Adding two task vectors averages the two models' abilities”, with this sweep's numbers."""
    name, (i, j) = "22.5° and 90°", PAIRS["22.5° and 90°"]
    own = sweep.own
    abilities = np.mean([[own.sel(model=model, task=task).item() for task in (i, j)] for model in (i, j)])
    halved, whole = (sweep.accuracy.sel(edit=name, lam=lam, task=[i, j]).mean().item() for lam in (0.5, 1.0))
    text = (f"Adding two task vectors averages the two models' abilities. No, and twice no. First, the sum θ₀ + (τᵢ + τⱼ) is not the average of the two models; that is θ₀ + ½(τᵢ + τⱼ). For {name} "
            f"the two read {whole:.3f} and {halved:.3f}, mean over both tasks. Second, what is averaged at λ = ½, nearly and in every layer, is the features, not the abilities: the two models' accuracies average to "
            f"{abilities:.3f}. An answer is the largest of ten numbers, and where one model is sure and the other undecided, the average of the numbers sides with the sure one.")
    return Page(text, f"<div style='border-left:5px solid #E69F00;padding:0.3em 0.8em'><b>A misconception.</b> “{text.split('. ')[0]}.” {'. '.join(text.split('. ')[1:])}</div>")


def reading_of_the_slopes(sweep: xarray.Dataset) -> Page:
    """The exponents with which the deviation grows, per layer, for small λ."""
    small = sweep.sel(step=slice(0, 0.2))
    lines = []
    for names, title in ((list(PAIRS), "Eq. 2"), ([experiment.negation_of(angle) for angle in ANGLES], "Eq. 3")):
        mean = small.deviation.sel(ends=names).mean("ends")
        slopes = {layer: log_slope(small.step.values, mean.sel(layer=layer).values) for layer in LAYERS}
        lines.append(f"{title}: {', '.join(f'{layer} {slope:.2f}' for layer, slope in slopes.items())}")
    text = "; ".join(lines)
    return Page(text, f"<p><b>Measured exponents</b>, λ up to 0.2, mean over all pairs or tasks. {text}.</p>")


def _agrees(holds):
    return "Agrees" if holds else "Does not agree here"


def reading_of_figure_7(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 7, 8 and 19 to 24 of CTL and ours, with this sweep's numbers."""
    adding, negating = experiment_claims.claim_10(sweep), experiment_claims.claim_11(sweep)
    parts = [f"{title}: at λ = 0.2 the gap is nowhere more than {of['gap_over_base_at_0.2']:.1%} of the baseline, at 0.4 {of['gap_over_base_at_0.4']:.1%}, at 1 {of['gap_over_base_at_1']:.0%}; the "
             f"mean of coef is in every layer at least {of['coef_at_0.2']:.3f}, {of['coef_at_0.4']:.3f} and {of['coef_at_1']:.2f}"
             for title, of in (("Eq. 2, all 28 pairs, every layer", adding), ("Eq. 3, all eight tasks", negating))]
    text = (f"{_agrees(max(adding['gap_over_base_at_0.4'], negating['gap_over_base_at_0.4']) < 0.2)} at both readings of its λ. {'. '.join(parts)}. Differs: the source reports λ = 0.4 alone and so "
            "cannot show where it ends: the edited network's features fall ever shorter of the mean of the ends' before they point elsewhere.")
    return Page(text, f"<p><b>Figures 7, 8 and 19 to 24 of CTL, and ours.</b> {text}</p>")


def _at_least(share):
    return "all" if share == 1 else f"at least {share:.0%}"


def where_it_ends(sweep: xarray.Dataset) -> Page:
    """A table: from which λ on Eq. 2 and Eq. 3 miss by more than a stated share, layer by layer."""
    found = experiment_claims.limits(sweep)
    kinds = (("gap", f"gap over {experiment_claims.SHARE:.0%} of the baseline"), ("coef", f"coef below {experiment_claims.LENGTH:g}"))
    rows = [(f"{equation}, {label}", *("never" if np.isnan(value) else f"{value:g}" for value in found[name].sel(equation=equation).values)) for equation in map(str, found.equation.values) for name, label in kinds]
    head = ("from which λ on", *LAYERS)
    cells = "".join(f"<tr><td style='text-align:left'>{row[0]}</td>{''.join(f'<td>{value}</td>' for value in row[1:])}</tr>" for row in rows)
    text = "\n".join(", ".join(f"{name} {value}" if number else value for number, (name, value) in enumerate(zip(head, row))) for row in rows)
    return Page(text, f"<table><tr>{''.join(f'<th>{name}</th>' for name in head)}</tr>{cells}</table><p style='color:#555'>The smallest λ of those measured; mean over all pairs or tasks.</p>")


def reading_of_figure_9(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 9 of CTL and ours, with this sweep's numbers."""
    of = experiment_claims.claim_12(sweep)
    text = (f"{_agrees(of['share_of_pairs_at_1'] > 0.9)} at λ = 1, put in at layer 2 or later: in {_at_least(of['share_of_pairs_at_1'])} of the pairs the averaged features serve the worse of the two "
            f"tasks better than either network's own, {of['worse_with_average_at_1']:.3f} at least against {of['worse_with_one_at_1']:.3f} at most, mean over pairs. Differs: at λ = 0.4 "
            f"that holds for {of['share_of_pairs_at_0.4']:.0%} of the pairs in the worst of these layers ({of['worse_with_average_at_0.4']:.3f} against {of['worse_with_one_at_0.4']:.3f}), because so "
            f"little of a task vector has not yet taught the network anything to average; in layer 1 the average reads {of['layer_1_with_average_at_1']:.3f} even at λ = 1. And one network's features are not "
            "without any ability on the other task: neighbouring angles share it.")
    return Page(text, f"<p><b>Figure 9 of CTL, and ours.</b> {text}</p>")


def reading_of_figure_10(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 10 of CTL and ours, with this sweep's numbers."""
    of = experiment_claims.claim_13(sweep)
    text = (f"Mean over the eight tasks, worst layer. Before: pretraining task {of['before_pretraining']:.3f}, task i {of['before_task']:.3f}. With Δ taken out of the features at λ = 1: "
            f"{of['features_pretraining_at_1']:.3f} and {of['features_task_at_1']:.3f}. {_agrees(of['before_pretraining'] - of['features_pretraining_at_1'] < 0.12)}: the task goes, the pretraining task loses "
            f"{100 * (of['before_pretraining'] - of['features_pretraining_at_1']):.0f} points. With the features of θ₀ − λτ it is much the same up to λ = 0.5 ({of['weights_pretraining_at_0.5']:.3f} and {of['weights_task_at_0.5']:.3f}, against {of['features_pretraining_at_0.5']:.3f} and "
            f"{of['features_task_at_0.5']:.3f}). Differs: at λ = 1 the two are no longer similar; the pretraining task falls to {of['weights_pretraining_at_1']:.3f}. Mind also how little there was to forget. "
            f"Of 22.5°, where the pretrained network is good, {of['near_task_at_1']:.3f} of {of['near_task_before']:.3f} is left (layer 2).")
    return Page(text, f"<p><b>Figure 10 of CTL, and ours.</b> {text}</p>")


def reading_of_the_resnets(sweep: xarray.Dataset | None) -> Page:
    """What of the MLP's story holds for the ResNet, with this sweep's numbers; nothing in "quick"."""
    if sweep is None:
        return Page("", "")
    of = resnet.numbers(sweep)
    text = (f"Two task vectors at λ = ½ read {of['two_at_half']:.3f} on both tasks, against {of['two_at_0']:.3f} of the pretrained backbone and {of['own']:.3f} of the networks themselves; four "
            f"at ¼ {of['four_at_quarter']:.3f} and at ½ {experiment_claims.four_at_half(sweep):.3f}. Subtracting one (λ = −½) takes its task from {of['task_at_0']:.3f} to {of['task_at_minus_half']:.3f} and the pretraining task from "
            f"{of['pretraining_at_0']:.3f} to {of['pretraining_at_minus_half']:.3f}. Eq. 2 at λ = 0.2: the gap is {of['eq_2_block_1_at_0.2']:.0%} of the baseline in block 1 and {of['eq_2_block_8_at_0.2']:.0%} in "
            f"block 8, at λ = 0.4 {of['eq_2_block_1_at_0.4']:.0%} and {of['eq_2_block_8_at_0.4']:.0%}. A running variance that goes through the arithmetic can come out below zero: with all four task vectors at "
            f"λ = 1 {of['variances_below_zero_four_at_one']:.1%} of the channels' do, and with one at −1 {of['variances_below_zero_one_at_minus_one']:.1%}. A single one makes every answer not a number: "
            f"accuracy {of['four_at_one_carried_statistics']:.3f}, with statistics estimated anew {of['four_at_one']:.3f}.")
    return Page(text, f"<p><b>The ResNet.</b> {text}</p>")
