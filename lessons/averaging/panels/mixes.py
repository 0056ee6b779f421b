"""Panel (c) and what belongs to it: Lemma 2 of CTL, what pairs say about many models."""
import xarray

from lessons.averaging.experiment.mixes import KINDS
from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLUE, COLOURS, GREY, MARKERS, ORANGE
from lessons.kit.predict import Star
from lessons.kit.sweep import caption, names

MEASURED, PREDICTED = Look(BLUE, "o"), Look(ORANGE, "s", "--")
_KINDS = dict(zip(("equal shares", "random shares"), KINDS))
_NAMES = ("deviation", "predicted", "agreement")


@panel
def deviation_against_models(sweep: xarray.Dataset, prediction=None):
    """Panel (c): how long the deviation of k models is, measured and predicted from pairs; right, in units of that of
    two models.

    Controls: models, layer, kind. The prediction, the growth from 2 to 20 models in the output layer, is a star.
    """
    layers = names(sweep.layer)
    counts = list(map(int, sweep.models.values))
    by_kind = {kind: {name: sweep[name].sel(kind=kind).transpose("models", "layer").values for name in _NAMES}
               for kind in KINDS}
    fig, (left, right) = plotting.figure(2, height=3.8)
    left.set(xlabel="models in the mix, k", ylabel="deviation, share of the features' length", xlim=(1.5, 20.5),
             ylim=(0, 1.25 * float(sweep.deviation.max())), xticks=range(2, 21, 3))
    measured = curve(left, MEASURED, "measured")
    predicted = curve(left, PREDICTED, "predicted from pairs alone", markersize=5)
    left.legend(loc="upper left")
    right.set(xlabel="models in the mix, k", ylabel="in units of the half-way point of two", xlim=(1.5, 20.5),
              ylim=(0, 5.2), xticks=range(2, 21, 3))
    quadratic = 2 * (1 - 1 / sweep.models.values)
    right.plot(counts, quadratic, color=GREY, linestyle=":", marker="", label="2·(1 − 1/k)")
    growth = [curve(right, Look(colour, marker), layer, markersize=4, linewidth=1.4)
              for layer, colour, marker in zip(layers, COLOURS, MARKERS)]
    right.legend(loc="upper left", ncols=2)
    uprights = [here(ax, 2) for ax in (left, right)]
    asked = {"layer": layers[-1], "kind": KINDS[0], "models": 20}
    truth = sweep.deviation.sel(asked) / sweep.pair_deviation.sel(layer=asked["layer"])
    star = Star(right, prediction, 20, truth.item(), asked)
    titles = moving_titles((left, right))

    def draw(models, layer, kind):
        row = counts.index(models)
        column = layers.index(layer)
        numbers = by_kind[kind]
        measured.set_data(counts, numbers["deviation"][:, column])
        predicted.set_data(counts, numbers["predicted"][:, column])
        ratio = numbers["deviation"] / sweep.pair_deviation.values
        for line, values in zip(growth, ratio.T):
            line.set_data(counts, values)
        for upright in uprights:
            upright.set_xdata([models, models])
        star.place(models=models, layer=layer, kind=kind)
        now = {name: values[row, column] for name, values in numbers.items()}
        text = "{name}, k = {models}: {deviation:.4f}, predicted {predicted:.4f}, cosine {agreement:.3f}"
        titles[0].set_text(text.format(name=layer.capitalize(), models=models, **now))
        titles[1].set_text(f"Growth at k = {models}: {ratio[row].min():.2f} to {ratio[row].max():.2f}")
        units = "; ".join(f"{name} {value:.2f}" for name, value in zip(layers, ratio[row]))
        return said("""Deviation of mixes of {models} models with {kind} shares. In {layer} its length is
                       {deviation:.4f} of the features', predicted from pairs {predicted:.4f}, cosine between the two
                       {agreement:.3f}. In units of the half-way deviation of two models: {units}.""",
                    models=models, kind=kind, layer=layer, units=units, **now)

    controls = {"models": slider("models in the mix, k", counts, 3),
                "layer": choice("left-hand picture", layers[::-1]),
                "kind": choice("weights", _KINDS)}
    thinned = caption(sweep).replace("test images.", "test images, thinned out here.")
    below = " Lengths over all images together, mean over random choices of models."
    return controls, fig, draw, thinned + below
