"""Panel (c) and what belongs to it: Lemma 2 of CTL, what pairs say about many models."""
import numpy as np
import xarray

from lessons.averaging.experiment.mixes import KINDS
from lessons.kit.page import Page, reading, said
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Spots, Star, chips, key, slider, view
from lessons.lines.panels import in_words

LEVEL = 1.15  # times as long for the most models as for half of them: less than that does not grow any more
WELL = 0.15  # of the deviation: a prediction that misses less nearly predicts it
_KINDS = dict(zip(("equal shares", "random shares"), KINDS))
_NAMES = ("deviation", "predicted", "agreement")
_ALT = """
    Deviation of mixes of {models} models with {kind} shares. In {layer} its length is {deviation:.4f} of the features',
    predicted from pairs {predicted:.4f}, cosine between the two {agreement:.3f}. In units of the half-way deviation of
    two models: {units}; predicted {in_units:.2f}; {bound:.2f} if nothing cancelled."""


@view
def deviation_against_models(sweep: xarray.Dataset, prediction=None):
    """Panel (c): how long the deviation of k models is in one layer, in units of that of two models half-way, measured
    and predicted from pairs; grey, the other layers.

    Controls: models, kind, layer. The prediction, the growth from 2 to 20 models in the output layer, is a star.
    """
    layers, counts = names(sweep.layer), [int(count) for count in sweep.models.values]
    by_kind = {kind: {name: sweep[name].sel(kind=kind).transpose("models", "layer").values for name in _NAMES}
               for kind in KINDS}
    unit = sweep.pair_deviation.values
    bound = 2 * (1 - 1 / sweep.models.values)
    asked = {"layer": layers[-1], "kind": KINDS[0], "models": counts[-1]}
    if prediction:
        prediction.panel_answers(by_kind[asked["kind"]]["deviation"][-1, -1] / unit[-1], asked)

    def draw(models, kind, layer):
        row, column, numbers = position(counts, models), layers.index(layer), by_kind[kind]
        measured, predicted = (numbers[name] / unit for name in ("deviation", "predicted"))
        values = {name: np.full(len(counts), np.nan) if name == layer else measured[:, place]
                  for place, name in enumerate(layers)}
        values |= {"measured": measured[:, column], "predicted from pairs": predicted[:, column],
                   "if nothing cancels": bound, "two models": ([2], [1])}
        units = "; ".join(f"{name} {value:.2f}" for name, value in zip(layers, measured[row]))
        alt = said(_ALT, models=models, kind=kind, layer=in_words(layer), units=units, bound=bound[row],
                   in_units=predicted[row, column], **{name: numbers[name][row, column] for name in _NAMES})
        about = key(("merged", f"Mixes of k models: what they miss in {in_words(layer)}"),
                    ("", "grey: the other layers"))
        return Frame(finding_of_growth(measured[:, column], predicted[:, column], bound), alt, values, about)

    return {"kicker": "Chapter 3: from pairs to many",
            "tries": ("Choose “random shares”. What changes?",),
            "charts": [_chart(layers, counts, by_kind, unit)], "draw": draw,
            "controls": {"models": slider("k, models in the mix", counts, counts[-1], words=lambda k: f"{k} models"),
                         "kind": chips("weights", _KINDS), "layer": chips("layer", layers, layers[-1], more=True)},
            "hides": ["measured", "predicted from pairs", "if nothing cancels", *layers],
            "caption": caption(sweep).replace("test images.", "test images, thinned out here.") +
            " Lengths over all images together, mean over random choices of models."}


def _chart(layers, counts, by_kind, unit):
    """Deviations against the number of models, on an axis with room for all layers and shares."""
    lengths = np.stack([numbers[name] / unit for numbers in by_kind.values() for name in ("deviation", "predicted")])
    axis = Axis("deviation (half-way between two models: 1)", min(0.9, float(lengths.min()) - 0.1),
                2.1, digits=2)
    return Chart(Axis("k", counts[0], counts[-1], ticks={k: f"{k}" for k in counts if k == 2 or k % 5 == 0}), axis,
                 (*(Line(layer, "other") for layer in layers),
                  Line("if nothing cancels", "chance", "if nothing cancels", dashed=True),
                  Line("predicted from pairs", "merged", "from pairs alone", dashed=True),
                  Line("measured", "merged", "measured", dots=True),
                  Spots("two models", "single", names=("half-way between two, mean of all pairs",)),
                  Star("guess", "merged", x=(counts[-1],)), Handle("models")))


def finding_of_growth(measured: np.ndarray, predicted: np.ndarray, bound: np.ndarray) -> str:
    """Whether the deviation stops growing with the number of models, below what pairs allow, and follows the pairs.
    All: (models,), in units of the half-way deviation of two models."""
    levels = measured[-1] < LEVEL * measured[len(measured) // 2] and (measured < bound[-1]).all()
    follows = (np.abs(predicted / measured - 1) < WELL).all()
    grows = "does not add up" if levels else "grows"
    if follows:
        told = "and pairs nearly foretell it" if levels else "nearly as pairs foretell"
    else:
        told = "but pairs do not foretell it"
    return f"The error {grows} from model to model, {told}"


def reading_of_the_growth(sweep: xarray.Dataset) -> Page:
    """Whether the deviation of twenty models is much longer than that of two half-way, in the output layer with equal
    shares."""
    measured, predicted, bound = _in_the_output(sweep)
    title, _, _ = finding_of_growth(measured, predicted, bound).partition(",")
    return reading(title, """In the output layer, the deviation of the average of twenty is
        {measured:.2f} times as long as that of two models half-way.""", measured=measured[-1])


def reading_of_the_prediction(sweep: xarray.Dataset) -> Page:
    """What pairs predict about the average of twenty, in the output layer with equal shares."""
    measured, predicted, bound = _in_the_output(sweep)
    well = (np.abs(predicted / measured - 1) < WELL).all()
    return reading("Pairs nearly foretell twenty" if well else "Pairs do not foretell twenty", """In the output layer,
        the average of twenty deviates {measured:.2f} times as much as two models half-way. From pairs alone it would be
        {predicted:.2f} times, and {bound:.2f} times if nothing cancelled.""",
        measured=measured[-1], predicted=predicted[-1], bound=bound[-1])


def _in_the_output(sweep):
    """(models,) each, in the output layer with equal shares and in units of the half-way deviation of two models: what
    was measured, what pairs predict, and what it would be if nothing cancelled."""
    output = sweep.sel(kind=KINDS[0]).isel(layer=-1)
    unit = output.pair_deviation.item()
    return output.deviation.values / unit, output.predicted.values / unit, 2 * (1 - 1 / sweep.models.values)
