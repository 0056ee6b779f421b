"""The pictures of chapter 3: five panels, and the source's Figures 4, 5, 6, 17 and 18 redrawn from our measurement."""
import anywidget
import matplotlib as mpl
import numpy as np
import torch
import torch.nn.functional as F
import traitlets
import xarray

from lessons.kit import plotting
from lessons.averaging import algorithms, experiment
from lessons.averaging.experiment import BOLD, GUESTS, KINDS, NOBODY, STRANGER, members_mean
from lessons.kit.page import Page, in_full_alone, table
from lessons.kit.panel import Panel, choice, slider
from lessons.kit.plotting import BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PURPLE, RED, WithQuartiles, violin
from lessons.kit.predict import Star
from lessons.kit.sweep import at, caption
from lessons.kit.panel import panel
from lessons.kit.plotting import still

AVERAGE, ENSEMBLE = "accuracy of the averaged weights", "accuracy of the logits ensemble"


# -- panel (a): all triples ------------------------------------------------------------------------

class Points(anywidget.AnyWidget):
    """Names for the dots of a panel's still picture: resting the mouse on one shows its text, a click chooses it.

    Traits: `places`, [[x, y], …] in shares of the picture's width and height, from its upper left corner; `texts`, one a dot; `chosen`, the number of
    the dot that was clicked.
    """
    _esm = """
    export default { render({ model, el }) {
      const NS = "http://www.w3.org/2000/svg", svg = document.createElementNS(NS, "svg");
      svg.setAttribute("class", "points");
      svg.setAttribute("aria-hidden", "true");  // the slider says the same
      svg.style.cssText = "position:absolute;inset:0;width:100%;height:100%";
      model.get("places").forEach(([x, y], index) => {
        const dot = document.createElementNS(NS, "circle"), title = document.createElementNS(NS, "title");
        for (const [name, value] of Object.entries({ cx: `${100 * x}%`, cy: `${100 * y}%`, r: 4, fill: "transparent" })) dot.setAttribute(name, value);
        title.textContent = model.get("texts")[index];
        dot.append(title);
        dot.addEventListener("click", () => { model.set("chosen", index); model.save_changes(); });
        svg.append(dot);
      });
      const attach = (triesLeft) => {
        const stage = el.closest(".weightspace-panel")?.querySelector(".stage");
        if (stage) stage.append(svg);
        else if (triesLeft) setTimeout(() => attach(triesLeft - 1), 100);
      };
      attach(30);
      return () => svg.remove();
    } };
    """
    places = traitlets.List().tag(sync=True)
    texts = traitlets.List().tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)


def _cloud(ax, average, ensemble, line, ends):
    """Figure 4's dots and lines; returns where its axes end."""
    low, high = min(average.min(), ensemble.min()) - 0.005, max(average.max(), ensemble.max()) + 0.005
    ax.scatter(average, ensemble, s=9, color=BLUE, alpha=0.45, linewidth=0)
    ax.plot([low, high], [low, high], color=GREY, linestyle="--", linewidth=1.2, marker="", label="equal")
    ax.plot(ends, line["slope"] * ends + line["intercept"], color=ORANGE, marker="", linewidth=1.6, label=f"regression line: slope {line['slope']:.2f}, R² = {line['r2']:.3f}")
    ax.set(xlabel=AVERAGE, ylabel=ENSEMBLE, xlim=(low, high), ylim=(low, high), title=f"All {len(average):,} triples")
    ax.legend(loc="upper left")
    return high


@panel
def all_triples(sweep: xarray.Dataset, prediction=None):
    """Panel (a): Figure 4 of CTL, one dot a triple; right, the members of the chosen one.

    Control: triple, its rank by the averaged weights' accuracy; clicking a dot moves it. The prediction, a slope, is a purple line.
    """
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(5, 4))
    average, ensemble = sweep.average_accuracy.values, sweep.ensemble_accuracy.values
    line = algorithms.regression(average, ensemble)
    ends = np.array([average.min(), average.max()])
    high = _cloud(left, average, ensemble, line, ends)
    guess = left.plot([], [], color=PURPLE, linestyle="-.", marker="", animated=True)[0]
    here = left.plot([], [], color=RED, marker="D", markersize=9, markeredgecolor=BLACK, linestyle="", animated=True)[0]
    rows = np.arange(5)[::-1]
    right.set(xlabel="accuracy: share correct", xlim=(float(sweep.accuracy[:20].min()) - 0.01, high + 0.01), ylim=(-0.5, 4.9), yticks=[])
    right.grid(False, axis="y")
    dots = [right.plot([], [], color=colour, marker=marker, markersize=8, linestyle="", animated=True)[0]
            for colour, marker in zip((GREY, GREY, GREY, RED, ORANGE), ("o", "o", "o", "D", "s"))]
    texts = [right.text(0.01, (row + 0.72) / 5.4, "", transform=right.transAxes, fontsize=9.5, animated=True) for row in rows]
    title, = plotting.moving_titles((right,))
    ranked, names, accuracy = np.argsort(average, kind="stable"), list(map(str, sweep.name.values)), sweep.accuracy.values
    member = sweep.member.values

    def draw(triple):
        chosen = ranked[triple - 1]
        here.set_data([average[chosen]], [ensemble[chosen]])
        values = [*accuracy[member[chosen]], average[chosen], ensemble[chosen]]
        for dot, text, row, value, name in zip(dots, texts, rows, values, [*(names[i] for i in member[chosen]), "their averaged weights", "their logits ensemble"]):
            dot.set_data([value], [row])
            text.set_text(f"{name}: {value:.4f}")
        title.set_text(f"Triple {triple}, counted from the worst average")
        slope = prediction.committed if prediction else None
        guess.set_data(*(([], []) if slope is None else (ends, ensemble.mean() + slope * (ends - average.mean()))))
        return (f"Triple {triple} of {len(ranked):,}, counted from the worst average: {'; '.join(f'{names[i]}, accuracy {accuracy[i]:.4f}' for i in member[chosen])}. "
                f"Averaged weights "
                f"{average[chosen]:.4f}, logits ensemble {ensemble[chosen]:.4f}. Over all triples the regression line has slope {line['slope']:.2f} and R² {line['r2']:.3f}.")

    panel = Panel({"triple": slider("triple", range(1, len(ranked) + 1), len(ranked) // 2)}, fig, draw, caption(sweep) + " Rest the mouse on a dot for its models, or click it.",
                  [prediction] if prediction else [])
    where = fig.transFigure.inverted().transform(left.transData.transform(np.column_stack([average, ensemble])[ranked]))
    texts_of = [f"{'; '.join(names[i] for i in member[chosen])}. Averaged weights {average[chosen]:.4f}, ensemble {ensemble[chosen]:.4f}" for chosen in ranked]
    points = Points(places=[[round(float(x), 4), round(float(1 - y), 4)] for x, y in where], texts=texts_of)
    points.observe(lambda change: panel.set(triple=change["new"] + 1), "chosen")
    panel.children = [*panel.children, points]
    return panel


@still
def what_remains(sweep: xarray.Dataset):
    """Left, how both accuracies follow the members' own; right, whether they still agree when what the members explain is taken away."""
    average, ensemble, own = sweep.average_accuracy.values, sweep.ensemble_accuracy.values, members_mean(sweep)
    fig, (left, right) = plotting.figure(2, height=3.8)
    for values, colour, marker, label in ((average, BLUE, "o", "averaged weights"), (ensemble, ORANGE, "s", "logits ensemble")):
        left.scatter(own, values, s=7, color=colour, marker=marker, alpha=0.4, linewidth=0, label=f"{label}, R² = {algorithms.regression(own, values)['r2']:.2f}")
    left.axline((own.mean(), own.mean()), slope=1, color=GREY, linestyle="--", linewidth=1.2)
    left.set(xlabel="mean accuracy of the three members alone", ylabel="accuracy", title="Good members, good triple")
    left.legend(loc="lower right", markerscale=2)
    rest = algorithms.without(average, own), algorithms.without(ensemble, own)
    line = algorithms.regression(*rest)
    right.scatter(*rest, s=9, color=GREEN, alpha=0.45, linewidth=0)
    right.axline((0, line["intercept"]), slope=line["slope"], color=BLACK, linewidth=1.2)
    right.set(xlabel="averaged weights: more than the members explain", ylabel="ensemble: more than they explain", title=f"What remains: R² = {line['r2']:.2f}")
    alt = (f"The mean accuracy of the three members explains {algorithms.regression(own, average)['r2']:.0%} of the variance of the averaged weights' accuracy and "
           f"{algorithms.regression(own, ensemble)['r2']:.0%} of the ensemble's. With that taken away, the two still agree with R² {line['r2']:.3f}, slope {line['slope']:.2f}.")
    return plotting.show(fig, alt, caption(sweep) + " One dot a triple; a model takes part in 171 of them, so the dots are not independent.")


_SORTS = ((BLUE, "o", "the twenty"), (RED, "s", BOLD), (PURPLE, "^", STRANGER))


@still
def triples_with_outliers(sweep: xarray.Dataset):
    """Left, the twenty-two models' accuracy and distance from the pretrained network; right, triples with and without an outlier."""
    fig, (left, right) = plotting.figure(2, height=3.9)
    parts = (slice(0, 20), slice(20, 21), slice(21, 22))
    for (colour, marker, label), part in zip(_SORTS, parts):
        left.scatter(sweep.distance[part], sweep.accuracy[part], s=45, color=colour, marker=marker, label=label)
    left.set(xlabel="distance of the weights from the pretrained network", ylabel="accuracy of the model alone", title="The models", xlim=(0, None))
    triples = [(sweep.average_accuracy, sweep.ensemble_accuracy), *((sweep.outlier_average.sel(outlier=who), sweep.outlier_ensemble.sel(outlier=who)) for who in (BOLD, STRANGER))]
    for (colour, marker, label), (average, ensemble) in zip(_SORTS, triples):
        right.scatter(average, ensemble, s=10, color=colour, marker=marker, alpha=0.5, linewidth=0,
                      label=f"three of {label}" if label == _SORTS[0][2] else f"{label} and two of the twenty")
    lowest = float(min(average.min() for average, _ in triples))
    right.plot([0.83, 1], [0.83, 1], color=GREY, linestyle="--", linewidth=1.2, marker="")
    right.set(xlabel=AVERAGE, ylabel=ENSEMBLE, title="Their triples", xlim=(lowest - 0.02, 1), ylim=(min(0.75, float(sweep.ensemble_accuracy.min()) - 0.02), 1))
    right.legend(loc="lower left", markerscale=2)
    left.legend(loc="lower right")
    said = "; ".join(f"{who}: alone {float(sweep.accuracy[20 + i]):.3f} at distance {float(sweep.distance[20 + i]):.1f}, in a triple the average has {float(average.mean()):.3f} and the ensemble "
                     f"{float(ensemble.mean()):.3f}" for i, (who, (average, ensemble)) in enumerate(zip((BOLD, STRANGER), triples[1:])))
    alt = (f"The twenty lie {float(sweep.distance[:20].min()):.1f} to {float(sweep.distance[:20].max()):.1f} from the pretrained network, in a triple "
           f"the average has {float(triples[0][0].mean()):.3f} and the ensemble {float(triples[0][1].mean()):.3f}; {said}.")
    return plotting.show(fig, alt, caption(sweep) + " Dashed: both equally accurate.")


# -- panel (b): Eq. 1 ------------------------------------------------------------------------------

@panel
def features_of_the_average(sweep: xarray.Dataset):
    """Panel (b): 1 − cosine to the average of the features beside the baseline, per layer; right, both against the number of models.

    Controls: models, layer (of the right-hand picture).
    """
    layers, counts = list(map(str, sweep.layer.values)), sweep.models.values
    fig, (left, right) = plotting.figure(2, height=3.7)
    places = np.arange(len(layers))
    highest = float(max(sweep.base_high.max(), sweep.gap_high.max()))
    left.set(xlim=(-0.5, len(layers) - 0.5), ylim=(0, 1.25 * highest), ylabel="1 − cosine")
    left.set_xticks(places, layers)
    base = WithQuartiles(left, places - 0.1, ORANGE, "s", "from the average to a single model (baseline)")
    gap = WithQuartiles(left, places + 0.1, BLUE, "o", "from the average to the mean of the features")
    left.legend(loc="upper left")
    right.set(xlabel="models in the average, k", ylabel="1 − cosine (logarithmic)", xlim=(1.5, counts[-1] + 0.5), yscale="log",
              ylim=(0.5 * float(sweep.gap_mean.min()), 2 * float(sweep.base_mean.max())), xticks=range(2, 21, 3))
    curves = [right.plot([], [], color=colour, marker=marker, markersize=4, animated=True)[0] for colour, marker in ((ORANGE, "s"), (BLUE, "o"))]
    here = right.axvline(2, color=BLACK, linewidth=1, marker="", animated=True)
    titles = plotting.moving_titles((left, right))
    values = {name: sweep[name].transpose("models", "layer").values for name in ("gap_mean", "gap_low", "gap_high", "base_mean", "base_low", "base_high", "coef_mean")}

    def draw(models, layer):
        row, column = list(counts).index(models), layers.index(layer)
        base.set_values(*(values[f"base_{part}"][row] for part in ("mean", "low", "high")))
        gap.set_values(*(values[f"gap_{part}"][row] for part in ("mean", "low", "high")))
        curves[0].set_data(counts, values["base_mean"][:, column])
        curves[1].set_data(counts, values["gap_mean"][:, column])
        here.set_xdata([models, models])
        titles[0].set_text(f"Averages of {models} models: gap at most {values['gap_mean'][row].max():.4f}")
        titles[1].set_text(f"{layer.capitalize()}: coef {values['coef_mean'][row, column]:.3f} at k = {models}")
        numbers = "; ".join(f"{name} {g:.4f} against {b:.4f}, coef {c:.3f}" for name, g, b, c in zip(layers, values["gap_mean"][row], values["base_mean"][row], values["coef_mean"][row]))
        return f"1 − cosine per layer for averages of {models} models, gap against baseline: {numbers}."

    controls = {"models": slider("models in the average, k", map(int, counts), 3), "layer": choice("right-hand picture", {layer: layer for layer in layers[::-1]})}
    return controls, fig, draw, caption(sweep) + " Markers: mean; bars: quartiles over the images, several random choices of models together."


@still
def figure_17(sweep: xarray.Dataset, models=(5, 10)):
    """Figures 17 and 18 of CTL (Fig. 5 and 6 are their last blocks): 1 − cosine beside the baseline, and the distribution of coef, per layer."""
    layers, places = list(map(str, sweep.layer.values)), np.arange(len(sweep.layer))
    fig, axes = plotting.figure(2, len(models), height=2.7 * len(models), squeeze=False, sharex=True, sharey="col")
    for (left, right), k in zip(axes, models):
        part = at(sweep, models=k)
        for shift, colour, marker, name, label in ((-0.1, GREY, "s", "base", "1 − cosine_base"), (0.1, BLUE, "o", "gap", "1 − cosine_avg")):
            WithQuartiles(left, places + shift, colour, marker, label, animated=False).set_values(part[f"{name}_mean"], part[f"{name}_low"], part[f"{name}_high"])
        for place, (layer, colour) in enumerate(zip(layers, COLOURS)):
            here = at(part, layer=layer)
            violin(right, place, here.bin.values, here.coef_count.values, here.coef_median.item(), colour, width=0.35)
        left.set(title=f"{k} models", ylabel="1 − cosine", ylim=(0, 1.3 * float(sweep.base_high.sel(models=list(models)).max())))
        right.axhline(1, color=GREY, linestyle=":", linewidth=1, marker="")
        right.set(title=f"{k} models", ylabel="coef", ylim=(0.85, 1.1))
        for ax in (left, right):
            ax.set_xticks(places, layers)
    axes[0, 0].legend(loc="upper left", ncols=2)
    part = sweep.sel(models=list(models))
    alt = (f"Averages of {' and '.join(map(str, models))} models, four layers. 1 − cosine_avg lies between {part.gap_mean.min().item():.4f} and "
           f"{part.gap_mean.max().item():.4f}, 1 − cosine_base between "
           f"{part.base_mean.min().item():.4f} and {part.base_mean.max().item():.4f}; the mean of coef between {part.coef_mean.min().item():.3f} and "
           f"{part.coef_mean.max().item():.3f}.")
    return plotting.show(fig, alt, caption(sweep) + " Left: mean and quartiles over the images. Right: distribution over the images, line: median.")


# -- panel (c): Lemma 2 ----------------------------------------------------------------------------

_KINDS = dict(zip(("equal shares", "random shares"), KINDS))


@panel
def deviation_against_models(sweep: xarray.Dataset, prediction=None):
    """Panel (c): how long the deviation of k models is, measured and predicted from pairs; right, in units of that of two models.

    Controls: models, layer, kind. The prediction, the growth from 2 to 20 models in the output layer, is a star.
    """
    layers, counts = list(map(str, sweep.layer.values)), sweep.models.values
    fig, (left, right) = plotting.figure(2, height=3.8)
    left.set(xlabel="models in the mix, k", ylabel="deviation, share of the features' length", xlim=(1.5, 20.5), ylim=(0, 1.25 * float(sweep.deviation.max())), xticks=range(2, 21, 3))
    measured = left.plot([], [], color=BLUE, marker="o", label="measured", animated=True)[0]
    predicted = left.plot([], [], color=ORANGE, marker="s", linestyle="--", markersize=5, label="predicted from pairs alone", animated=True)[0]
    left.legend(loc="upper left")
    right.set(xlabel="models in the mix, k", ylabel="in units of the half-way point of two", xlim=(1.5, 20.5), ylim=(0, 5.2), xticks=range(2, 21, 3))
    right.plot(counts, 2 * (1 - 1 / counts), color=GREY, linestyle=":", marker="", label="2·(1 − 1/k)")
    growth = [right.plot([], [], color=colour, marker=marker, markersize=4, linewidth=1.4, label=layer, animated=True)[0] for layer, colour, marker in zip(layers, COLOURS, MARKERS)]
    right.legend(loc="upper left", ncols=2)
    here = [ax.axvline(2, color=BLACK, linewidth=1, marker="", animated=True) for ax in (left, right)]
    star = Star(right, prediction, 20)
    titles = plotting.moving_titles((left, right))
    of = {kind: {name: sweep[name].sel(kind=kind).transpose("models", "layer").values for name in ("deviation", "predicted", "agreement")} for kind in KINDS}

    def draw(models, layer, kind):
        row, column, numbers = list(counts).index(models), layers.index(layer), of[kind]
        measured.set_data(counts, numbers["deviation"][:, column])
        predicted.set_data(counts, numbers["predicted"][:, column])
        ratio = numbers["deviation"] / sweep.pair_deviation.values
        for line, values in zip(growth, ratio.T):
            line.set_data(counts, values)
        for line in here:
            line.set_xdata([models, models])
        star.place()
        length, guess, cos = (numbers[name][row, column] for name in ("deviation", "predicted", "agreement"))
        titles[0].set_text(f"{layer.capitalize()}, k = {models}: {length:.4f}, predicted {guess:.4f}, cosine {cos:.3f}")
        titles[1].set_text(f"Growth at k = {models}: {ratio[row].min():.2f} to {ratio[row].max():.2f}")
        return (f"Deviation of mixes of {models} models with {kind} shares. In {layer} its length is {length:.4f} of the features', predicted from pairs {guess:.4f}, "
                f"cosine between the two {cos:.3f}. "
                f"In units of the half-way deviation of two models: {'; '.join(f'{name} {value:.2f}' for name, value in zip(layers, ratio[row]))}.")

    controls = {"models": slider("models in the mix, k", map(int, counts), 3), "layer": choice("left-hand picture", {layer: layer for layer in layers[::-1]}),
                "kind": choice("weights", _KINDS)}
    return controls, fig, draw, caption(sweep).replace("test images.", "test images, thinned out here.") + " Lengths over all images together, mean over random choices of models."


# -- panel (d): the triangle -----------------------------------------------------------------------

_HEIGHT = np.sqrt(3) / 2
_CORNERS = np.array([[0.5, _HEIGHT], [0.0, 0.0], [1.0, 0.0]])  # of the first, second and third model


def _pictures(values, norm, size=90):
    """(size, size, 4) colours over the triangle, from accuracies on the grid of the two sliders."""
    x, y = np.meshgrid(np.linspace(0, 1, size), np.linspace(0, _HEIGHT, size))
    first = y / _HEIGHT
    second = np.divide(1 - x - first / 2, 1 - first, out=np.full_like(x, 0.5), where=first < 1)
    inside = (x >= first / 2 - 0.005) & (x <= 1 - first / 2 + 0.005)
    grid = torch.tensor(values.transpose("first", "second").values)[None, None]
    places = torch.tensor(np.stack([second.clip(0, 1), first], -1))[None] * 2 - 1  # grid_sample counts from −1 to 1, columns first
    accuracy = F.grid_sample(grid, places, align_corners=True, padding_mode="border")[0, 0].numpy()  # bilinear between the measured points
    colours = mpl.colormaps["cividis"](norm(accuracy))
    colours[~inside, 3] = 0
    return colours


@panel
def triangle(sweep: xarray.Dataset):
    """Panel (d): accuracy over all mixes of three models, of averaged weights and of the ensemble. Controls: alpha (first model's share), rest, three."""
    fig, axes = plotting.figure(2, height=3.6)
    lowest, highest = (float(getattr(sweep[["triangle_average", "triangle_ensemble"]].to_dataarray(), which)()) for which in ("min", "max"))
    norm = mpl.colors.PowerNorm(2.5, lowest, highest)
    shown, spots, texts, corners = [], [], [], []
    for ax in axes:
        shown.append(ax.imshow(np.zeros((2, 2, 4)), origin="lower", extent=(0, 1, 0, _HEIGHT), interpolation="bilinear", animated=True))
        ax.set(xlim=(-0.2, 1.2), ylim=(-0.1, _HEIGHT + 0.1), aspect="equal")
        ax.set_axis_off()
        spots.append(ax.plot([], [], marker="o", markersize=11, color="white", markeredgecolor=BLACK, markeredgewidth=1.5, linestyle="", animated=True)[0])
        texts += plotting.moving_titles((ax,))
        corners.append([ax.text(*place, "", ha="center", va=va, fontsize=9.5, animated=True) for place, va in zip(_CORNERS + [[0, 0.03], [0, -0.03], [0, -0.03]], ("bottom", "top", "top"))])
    bar = fig.colorbar(mpl.cm.ScalarMappable(norm, "cividis"), ax=list(axes), pad=0.03, shrink=0.9, label="accuracy: share correct")
    bar.set_ticks([tick for tick in (0.5, 0.7, 0.8, 0.9, 0.95) if lowest <= tick <= highest])
    threes = list(map(str, sweep.three.values))
    names = [str(name).split(":")[0] for name in sweep.name.values]
    values = {three: [sweep[f"triangle_{how}"].sel(three=three) for how in ("average", "ensemble")] for three in threes}
    images = {three: [_pictures(part, norm) for part in parts] for three, parts in values.items()}
    grid = list(map(float, sweep.first.values))

    def draw(alpha, rest, three):
        shares = experiment.mix_of(alpha, rest).numpy()
        now = [float(part.values[grid.index(alpha), grid.index(rest)]) for part in values[three]]
        members = [names[i] for i in sweep.triangle_member.sel(three=three).values]
        for ax_image, spot, image in zip(shown, spots, images[three]):
            ax_image.set_data(image)
            spot.set_data(*(shares @ _CORNERS)[:, None])
        for written in corners:
            for text, name in zip(written, members):
                text.set_text(name)
        for text, what, value in zip(texts, ("Averaged weights", "Ensemble of outputs"), now):
            text.set_text(f"{what}: {value:.3f}  at α = {alpha:.2f}, rest {rest:.2f}")
        said = ", ".join(f"{share:.2f} of {name}" for share, name in zip(shares, members))
        return (f"Mix of {said} (α = {alpha:.2f}, {rest:.2f} of the rest): averaged weights {now[0]:.3f}, ensemble {now[1]:.3f}. Over the whole triangle the averaged "
                f"weights have at least "
                f"{float(values[three][0].min()):.3f}, the ensemble at least {float(values[three][1].min()):.3f}.")

    controls = {"alpha": slider("α, share of the model at the top", grid, grid[3]), "rest": slider("of the rest, to the left", grid, 0.5),
                "three": choice("three models", {three: three for three in threes})}
    return controls, fig, draw


# -- panel (e): soups ------------------------------------------------------------------------------

_SOUPS = {"uniform": ("uniform soup", BLUE, "o"), "greedy": ("greedy soup", GREEN, "^"), "soup_ensemble": ("logits ensemble of all k", ORANGE, "s"),
          "best_single": ("single model, best on held-out data", GREY, "D")}


@panel
def soups(sweep: xarray.Dataset, prediction=None):
    """Panel (e): test accuracy of soups of the k best models; right, the upper end again, larger. Controls: size, guest.

    The prediction, the uniform soup of the bold one and the two best, is a star.
    """
    fig, axes = plotting.figure(2, height=4.0)
    everything = sweep[list(_SOUPS)].to_dataarray()
    top = sweep[["greedy", "best_single", "soup_ensemble"]].sel(guest=NOBODY).to_dataarray()
    curves, here = {}, []
    for ax, low in zip(axes, (float(everything.min()) - 0.03, float(min(top.min(), sweep.uniform.sel(guest=NOBODY).min())) - 0.01)):
        ax.set(xlabel="models to choose from, k", ylabel="accuracy: share correct", xlim=(0.5, 20.5), ylim=(low, float(everything.max()) + 0.01), xticks=range(2, 21, 3))
        for name, (label, colour, marker) in _SOUPS.items():
            curves[ax, name] = ax.plot([], [], color=colour, marker=marker, markersize=4, linewidth=1.6, label=label, animated=True)[0]
        here.append(ax.axvline(2, color=BLACK, linewidth=1, marker="", animated=True))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    star = Star(axes[0], prediction, 3)
    titles = plotting.moving_titles(axes)
    sizes, of = list(map(int, sweep["size"].values)), {guest: sweep[[*_SOUPS, "greedy_size"]].sel(guest=guest) for guest in GUESTS}

    def draw(size, guest):
        row = sizes.index(size)
        values = {name: of[guest][name].values for name in (*_SOUPS, "greedy_size")}
        for (_, name), curve in curves.items():
            curve.set_data(sizes, values[name])
        for line in here:
            line.set_xdata([size, size])
        star.place()
        titles[0].set_text(f"k = {size}: uniform {values['uniform'][row]:.3f}, greedy {values['greedy'][row]:.3f}")
        titles[1].set_text(f"The upper end; greedy took {values['greedy_size'][row]:.0f} of {size}")
        who = f"the {size} best" if guest == NOBODY else f"the {size - 1} best and {guest}"
        return (f"Soups of {who}: uniform {values['uniform'][row]:.4f}, greedy {values['greedy'][row]:.4f} (it took {values['greedy_size'][row]:.0f}), logits ensemble "
                f"{values['soup_ensemble'][row]:.4f}, "
                f"the single model that held-out data chooses {values['best_single'][row]:.4f}.")

    controls = {"size": slider("models, k", map(int, sizes), 5), "guest": choice("throw in as the last of the k", {guest: guest for guest in GUESTS})}
    return controls, fig, draw, caption(sweep) + f" Chosen on {experiment.HELD_OUT_IMAGES:,} held-out training images."


# -- the ResNets -----------------------------------------------------------------------------------

@in_full_alone
@still
def resnets(sweep: xarray.Dataset | None):
    """The ten triples of ResNet-18s."""
    fig, (left, right) = plotting.figure(2, height=3.8)
    seen = sweep[["average_accuracy", "inherited_accuracy", "ensemble_accuracy"]].to_dataarray()
    low, high = float(seen.min()) - 0.02, float(seen.max()) + 0.02
    left.plot([low, high], [low, high], color=GREY, linestyle="--", linewidth=1.2, marker="")
    for name, colour, marker, label in (("average_accuracy", BLUE, "o", "statistics estimated again"), ("inherited_accuracy", RED, "^", "statistics averaged too")):
        left.scatter(sweep[name], sweep.ensemble_accuracy, color=colour, marker=marker, s=35, label=label)
    left.set(xlabel=AVERAGE, ylabel=ENSEMBLE, title="Ten triples of five ResNet-18s")
    left.legend(loc="best", title="BatchNorm of the average")
    layers, places = list(map(str, sweep.layer.values)), np.arange(len(sweep.layer))
    for name, shift, colour, marker, label in (("base", -0.1, ORANGE, "s", "baseline"), ("gap", 0.1, BLUE, "o", "to the mean of the features")):
        WithQuartiles(right, places + shift, colour, marker, label, animated=False).set_values(*(sweep[f"{name}_{part}"].mean("triple") for part in ("mean", "low", "high")))
    right.set(ylabel="1 − cosine", ylim=(0, 1.3 * float(sweep.base_high.mean("triple").max())), title="Eq. 1, averages of three")
    right.set_xticks(places, [layer.replace("block ", "") for layer in layers])
    right.set_xlabel("block")
    right.legend(loc="upper left")
    alt = (f"Five ResNets with accuracies {', '.join(f'{value:.3f}' for value in sweep.accuracy.values)}. Over ten triples the averaged weights have "
           f"{sweep.average_accuracy.mean().item():.3f} on average "
           f"({sweep.inherited_accuracy.mean().item():.3f} with averaged BatchNorm statistics), the ensemble {sweep.ensemble_accuracy.mean().item():.3f}. The gap runs from "
           f"{sweep.gap_mean.mean('triple').min().item():.3f} to "
           f"{sweep.gap_mean.mean('triple').max().item():.3f} over the layers, the baseline from {sweep.base_mean.mean('triple').min().item():.3f} to "
           f"{sweep.base_mean.mean('triple').max().item():.3f}.")
    return plotting.show(fig, alt, caption(sweep) + f" The five alone: {', '.join(f'{value:.2f}' for value in sweep.accuracy.values)}. "
                         "Right: mean over the triples of mean and quartiles over the images.")


# -- readings --------------------------------------------------------------------------------------

def reading_of_figure_4(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 4 of CTL and ours, with this sweep's numbers."""
    of = experiment.claim_7(sweep)
    agrees = "Agrees" if of["r2"] > 0.9 else "Does not agree here"
    text = (f"{agrees}: the two accuracies correlate linearly, R² = {of['r2']:.3f}, slope {of['slope']:.2f}; without any one of the models R² is still at least "
            f"{of['r2_least_without_one_model']:.3f}. Differs, or is not "
            f"said: in {of['share_average_below']:.0%} of the triples the average is worse than the ensemble, by {100 * of['ensemble_over_average']:.1f} points on average "
            f"over all, while it beats the mean of its members by "
            f"{100 * of['average_over_members']:.1f}. Much of the correlation is the members' doing: their mean accuracy alone explains {of['r2_from_members']:.0%} of the "
            f"ensemble's variance. But with that taken away, "
            f"R² of what remains is {of['r2_beyond_members']:.2f}.")
    return Page(text, f"<p><b>Figure 4 of CTL, and ours.</b> {text}</p>")


def reading_of_figure_5(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 5, 6, 17 and 18 of CTL and ours, with this sweep's numbers."""
    of, gap = experiment.claim_8(sweep), sweep.gap_mean.mean("layer")
    text = (f"{'Agrees' if of['gap_over_base_most'] < 0.15 else 'Does not agree here'}: for every number of models and in every layer the gap is at most "
            f"{of['gap_most']:.4f}, and nowhere more than {of['gap_over_base_most']:.0%} of the "
            f"baseline; coef runs from {of['coef_least']:.3f} to {of['coef_most']:.3f}. What the source, with one number of models a "
            f"figure, could not show: the mean gap over the layers is {gap.sel(models=2).item():.5f} for 2 models, {gap.sel(models=5).item():.5f} for 5 and "
            f"{gap.sel(models=20).item():.5f} for 20: ten times as many models, {(gap.sel(models=20) / gap.sel(models=2)).item():.1f} times the gap.")
    return Page(text, f"<p><b>Figures 5, 6, 17 and 18 of CTL, and ours.</b> {text}</p>")


def reading_of_the_outliers(sweep: xarray.Dataset) -> Page:
    """What the bold one and the stranger are alone and what they do to a triple, with this sweep's numbers."""
    alone, usual = sweep.accuracy[:20], sweep.distance[:20].mean()
    average, ensemble = sweep.average_accuracy.mean(), sweep.ensemble_accuracy.mean()
    parts = []
    for place, who in enumerate((BOLD, STRANGER), start=20):
        times = (sweep.distance[place] / usual).item()
        averaged = 100 * (sweep.outlier_average.sel(outlier=who).mean() - average).item()
        asked = 100 * (sweep.outlier_ensemble.sel(outlier=who).mean() - ensemble).item()
        parts.append(f"{who} reads {sweep.accuracy[place].item():.3f} alone and lies {times:.1f} times as far from the "
                     f"pretrained network as the twenty do on average; a triple with it differs by {averaged:+.1f} "
                     f"points where weights are averaged and by {asked:+.1f} where outputs are")
    text = (f"The twenty read {alone.min().item():.3f} to {alone.max().item():.3f}, their triples {average.item():.3f} "
            f"with averaged weights and {ensemble.item():.3f} as ensembles. Compared with them, {'; '.join(parts)}.")
    return Page(text, f"<p><b>Two troublemakers.</b> {text}</p>")


def reading_of_the_soups(sweep: xarray.Dataset) -> Page:
    """When the greedy soup is better than the uniform one, with this sweep's numbers."""
    alone = sweep.sel(guest=NOBODY)
    ahead = [int(k) for k in sweep["size"].values if alone.greedy.sel(size=k) < alone.uniform.sel(size=k)]
    other = f"it is the other way round for k = {', '.join(map(str, ahead))}" if ahead else "the two come close, but the greedy one is never behind"
    worst = {guest: sweep.sel(guest=guest).uniform.min().item() for guest in (BOLD, STRANGER)}
    least = {guest: sweep.sel(guest=guest).greedy.isel(size=slice(1, None)).min().item() for guest in (BOLD, STRANGER)}
    text = (f"Of all twenty, the uniform soup reads {alone.uniform.sel(size=20).item():.3f}, the greedy one {alone.greedy.sel(size=20).item():.3f}, the single model chosen "
            f"by held-out data "
            f"{alone.best_single.sel(size=20).item():.3f}. Without a guest and among few, {other}. "
            f"With {BOLD} the uniform soup falls to {worst[BOLD]:.3f}, with {STRANGER} to {worst[STRANGER]:.3f}; the greedy soup never falls below "
            f"{least[BOLD]:.3f} and {least[STRANGER]:.3f}, as soon as it has two to choose from.")
    return Page(text, f"<p><b>Which soup?</b> {text}</p>")


def counterexample() -> Page:
    """The three networks against Lemma 2, as a table of their second layer's unit along an edge and in the middle."""
    states, x = algorithms.sleeping_unit(), torch.ones(1, 1)
    rows = []
    mixes = {"model 1 alone": (1, 0, 0), "models 1 and 2, half each": (0.5, 0.5, 0), "models 1 and 3, a quarter and three": (0.25, 0, 0.75),
             "all three, a third each": (1 / 3, 1 / 3, 1 / 3)}
    for name, shares in mixes.items():
        given = 1 - 2 * sum(share ** 2 for share in shares)
        missed = max(value.abs().max().item() for value in algorithms.deviation(states, shares, x).values())
        rows.append((name, f"{given:+.3f}", f"{missed:.3f}"))
    text = "\n".join(f"{name}: the unit is given {given}, CTL is missed by {missed}" for name, given, missed in rows)
    return table(("mix", "what the unit is given, before its ReLU", "largest deviation from CTL, any layer"), rows, text)
