"""The bold one and the stranger: alone, and what they do to a triple."""
import xarray

from lessons.averaging.experiment.models import BOLD, OUTLIERS, STRANGER
from lessons.averaging.panels.triples import AVERAGE, ENSEMBLE
from lessons.kit import plotting
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import BLUE, GREY, PURPLE, RED, Look, still
from lessons.kit.sweep import caption

USUAL = "the twenty"
LOOKS = {USUAL: Look(BLUE, "o"), BOLD: Look(RED, "s"), STRANGER: Look(PURPLE, "^")}


def _triples(sweep):
    """{who: (accuracy of the averaged weights, of the ensemble)} for triples of the twenty, and with each outlier."""
    accuracies = {USUAL: (sweep.average_accuracy, sweep.ensemble_accuracy)}
    for who in OUTLIERS:
        part = sweep.sel(outlier=who)
        accuracies[who] = part.outlier_average, part.outlier_ensemble
    return accuracies


@still
def alone_and_in_triples(sweep: xarray.Dataset):
    """Left, the twenty-two models' accuracy and distance from the pretrained network; right, triples with and without
    an outlier."""
    fig, (left, right) = plotting.figure(2, height=3.9)
    places = {USUAL: slice(0, 20), BOLD: slice(20, 21), STRANGER: slice(21, 22)}
    for who, look in LOOKS.items():
        part = sweep.isel(model=places[who])
        left.scatter(part.distance, part.accuracy, s=45, color=look.colour, marker=look.marker, label=who)
    left.set(xlabel="distance of the weights from the pretrained network", ylabel="accuracy of the model alone",
             title="The models", xlim=(0, None))
    triples = _triples(sweep)
    for who, (average, ensemble) in triples.items():
        right.scatter(average, ensemble, s=10, color=LOOKS[who].colour, marker=LOOKS[who].marker, alpha=0.5,
                      linewidth=0, label=f"three of {who}" if who == USUAL else f"{who} and two of the twenty")
    left_end = float(min(average.min() for average, _ in triples.values())) - 0.02
    lower_end = min(0.75, float(sweep.ensemble_accuracy.min()) - 0.02)
    right.plot([0.83, 1], [0.83, 1], color=GREY, linestyle="--", linewidth=1.2, marker="")
    right.set(xlabel=AVERAGE, ylabel=ENSEMBLE, title="Their triples", xlim=(left_end, 1), ylim=(lower_end, 1))
    right.legend(loc="lower left", markerscale=2)
    left.legend(loc="lower right")
    outliers = []
    for who, place in OUTLIERS.items():
        average, ensemble = triples[who]
        outliers.append(said("""{who}: alone {alone:.3f} at distance {distance:.1f}, in a triple the average has
                                {average:.3f} and the ensemble {ensemble:.3f}""",
                             who=who, alone=sweep.accuracy[place].item(), distance=sweep.distance[place].item(),
                             average=average.mean().item(), ensemble=ensemble.mean().item()))
    near = sweep.distance[:20]
    average, ensemble = triples[USUAL]
    alt = said("""The twenty lie {nearest:.1f} to {farthest:.1f} from the pretrained network, in a triple the average
                  has {average:.3f} and the ensemble {ensemble:.3f}; {outliers}.""",
               nearest=near.min().item(), farthest=near.max().item(), average=average.mean().item(),
               ensemble=ensemble.mean().item(), outliers="; ".join(outliers))
    return plotting.show(fig, alt, caption(sweep) + " Dashed: both equally accurate.")


def reading_of_the_outliers(sweep: xarray.Dataset) -> Page:
    """What the bold one and the stranger are alone and what they do to a triple, with this sweep's numbers."""
    triples = _triples(sweep)
    average, ensemble = (values.mean().item() for values in triples[USUAL])
    alone = sweep.accuracy[:20]
    usual = sweep.distance[:20].mean()
    parts = []
    for who, place in OUTLIERS.items():
        averaged, asked = (values.mean().item() for values in triples[who])
        parts.append(said("""{who} reads {alone:.3f} alone and lies {times:.1f} times as far from the pretrained network
                             as the twenty do on average; a triple with it differs by {averaged:+.1f} points where
                             weights are averaged and by {asked:+.1f} where outputs are""",
                          who=who, alone=sweep.accuracy[place].item(), times=(sweep.distance[place] / usual).item(),
                          averaged=100 * (averaged - average), asked=100 * (asked - ensemble)))
    return reading("Two troublemakers", """The twenty read {least:.3f} to {most:.3f}, their triples {average:.3f} with
        averaged weights and {ensemble:.3f} as ensembles. Compared with them, {outliers}.""",
        least=alone.min().item(), most=alone.max().item(), average=average, ensemble=ensemble,
        outliers="; ".join(parts))
