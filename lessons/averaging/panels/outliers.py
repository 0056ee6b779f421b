"""The bold one and the stranger: alone, and what they do to a triple."""
from collections.abc import Sequence

import numpy as np
import xarray

from lessons.averaging.experiment.models import BOLD, OUTLIERS, STRANGER
from lessons.averaging.panels.triples import AVERAGE, ENSEMBLE
from lessons.kit import drawings, plotting
from lessons.kit.page import Page, half_up, minus, reading, said, table
from lessons.kit.plotting import BLUE, GREY, PURPLE, RED, Look, still, themed
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
    """What the bold one and the stranger are alone and what they do to a triple: a finding, and a table."""
    triples = {who: [values.mean().item() for values in both] for who, both in _triples(sweep).items()}
    usual = triples[USUAL]
    away = sweep.distance[:20].mean()
    rows = [(f"{USUAL}, on average", f"{sweep.accuracy[:20].mean().item():.1%}", "1.0",
             *(f"{accuracy:.1%}" for accuracy in usual))]
    for who, place in OUTLIERS.items():
        rows.append((who, f"{half_up(sweep.accuracy[place].item()):.1%}",
                     f"{(sweep.distance[place] / away).item():.1f}",
                     *(minus(f"{accuracy:.1%} ({100 * (accuracy - than):+.1f})")
                       for accuracy, than in zip(triples[who], usual))))
    spoils = all(triples[who][0] < usual[0] and triples[who][1] >= usual[1] for who in OUTLIERS)
    told = reading("Two troublemakers" if spoils else "What do the two do to a triple?", """{finding} In brackets:
        by how many points triples of this model and two of the twenty are on average more (+) or less (−) accurate than
        triples of the twenty (computed before rounding).""",
        finding="Averages lose with either of them, and ensembles do not." if spoils else "")
    page = table(("", "alone", "distance from the pretrained network, in units of the twenty’s mean",
                  "triples: averaged weights", "triples: ensemble"), rows, before=told.page)
    return Page(f"{told.text}\n{page.text}", page.page)


_PLACES = {USUAL: slice(0, 20), BOLD: slice(20, 21), STRANGER: slice(21, 22)}


@themed
def suspects(distance: Sequence[float], lost: Sequence[float]):
    """What each of the twenty-two costs the average of a triple, against its distance from the pretrained network.

    Args:
        distance: of the weights.
        lost: by how many points the average is less accurate than the ensemble of the same three.
    """
    fig, ax = plotting.figure(width=7.4, height=3.4)
    for who, places in _PLACES.items():
        look = LOOKS[who]
        ax.scatter(distance[places], lost[places], s=45, color=look.colour, marker=look.marker, label=who)
    ax.axhline(0, color=GREY, linestyle="--", linewidth=1.2, marker="")
    ax.set(xlabel="distance of the weights from the pretrained network", ylabel="points below the ensemble",
           xlim=(0, None), title="A triple of this network and two of the best")
    ax.legend(loc="upper left")
    return plotting.show(fig, f"Twenty models lose at most {max(lost[:20]):.1f} points, "
                              f"the bold one {lost[20]:.1f}, the stranger {lost[21]:.1f}.",
                         "How much less accurate the averaged weights are than the ensemble.")


@themed
def arrows(distance: Sequence[float], cosine: Sequence[float]):
    """The steps from the pretrained network to all twenty-two, as arrows of their true length; the angle to the step of
    the best of the twenty is true, too.

    Args:
        distance: the lengths of the steps.
        cosine: of each with the step of the best of the twenty.
    """
    angles = np.arccos(np.clip(cosine, -1, 1))
    angles[1::2] *= -1  # to the other side, so that they do not hide each other
    across, up = np.array(distance) * np.sin(angles), np.array(distance) * np.cos(angles)
    fig, ax = plotting.figure(width=7.4, height=2.7)
    for who, places in _PLACES.items():
        for end in zip(across[places], up[places]):
            drawings.arrow(ax, (0, 0), end, LOOKS[who].colour, mutation_scale=8)
        ax.annotate(who, (across[places].mean(), up[places].max()), xytext=(0, 8), textcoords="offset points",
                    ha="center", color=LOOKS[who].colour)
    ax.plot([0], [0], color="black", marker="o")
    ax.annotate("pretrained", (0, 0), xytext=(0, -16), textcoords="offset points", ha="center")
    far = max(distance)
    ax.set(xlim=(-1.15 * far, 1.15 * far), ylim=(min(up.min(), 0) - 0.15 * far, up.max() + 0.15 * far),
           aspect="equal", xlabel="distance in weights")
    least, most = np.sort(np.array(cosine)[:20])[[0, -2]]
    alt = said("""Arrows from the pretrained network. Those of the twenty are {nearest:.1f} to {farthest:.1f} long and
                  have cosines of {least:.2f} to {most:.2f} with the best one's; the bold one's is {bold:.1f} long with
                  {bold_cosine:.2f}, the stranger's {stranger:.1f} with {stranger_cosine:.2f}.""",
               nearest=min(distance[:20]), farthest=max(distance[:20]), least=least, most=most, bold=distance[20],
               bold_cosine=cosine[20], stranger=distance[21], stranger_cosine=cosine[21])
    return plotting.show(fig, alt,
                         "Lengths are true, and so is every angle to the arrow of the best of the twenty, which points "
                         "straight up. Other angles are not, because the space has many more than two dimensions.")


def reading_of_the_suspects(distance: Sequence[float], lost: Sequence[float]) -> Page:
    """Whether the distances give away the two that spoil an average. Arguments as of `suspects`."""
    gives_away = min(distance[20:]) > max(distance[:20]) and min(lost[20:]) > max(lost[:20])
    return reading("The distance gives the two away" if gives_away else "Does the distance give the two away?",
                   """The bold one lies at distance {bold:.0f} from the pretrained network, and its average is
        {bold_lost:.1f} points below the ensemble. The stranger lies at distance {stranger:.0f}, and its average is
        {stranger_lost:.1f} points below. The twenty lie at most {farthest:.1f} away, and their averages are at
        most {most:.1f} points below.""",
                   bold=distance[20], bold_lost=lost[20], stranger=distance[21], stranger_lost=lost[21],
                   farthest=max(distance[:20]), most=max(lost[:20]))


def reading_of_the_arrows(cosine: Sequence[float]) -> Page:
    """Whether the twenty went in much the same direction, and the two others elsewhere. Argument as of `arrows`."""
    least, most = np.sort(np.array(cosine)[:20])[[0, -2]]
    numbers = {"least": least, "most": most, "bold": cosine[20], "stranger": cosine[21]}
    title = "The two went elsewhere" if max(cosine[20:]) < least else "Where did they go?"
    return reading(title, """The steps of the other nineteen have cosines of {least:.2f} to {most:.2f} with the
        step of the best network. For the bold one the cosine is {bold:.2f}, and for the stranger {stranger:.2f}.""",
        **numbers)
