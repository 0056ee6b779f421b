"""Panel (a) and what belongs to it: Figure 4 of CTL, one dot a triple, and what remains when the members are known."""
import math

import numpy as np
import xarray

from lessons.averaging import algorithms
from lessons.averaging.experiment.triples import claim, explained, members_mean
from lessons.kit import plotting
from lessons.kit.noise import WIDE, error_of_share, with_reach
from lessons.kit.page import Page, agrees, minus, reading, said, table
from lessons.kit.plotting import BLACK, GREEN, GREY, Look, still
from lessons.kit.sweep import caption
from lessons.kit.view import Axis, Chart, Frame, Path, Points, Spots, Star, key, percent, slider, view

AVERAGE, ENSEMBLE = "accuracy of the averaged weights", "accuracy of the logits ensemble"  # of axes

AVERAGED, TOGETHER = Look(GREEN, "D"), Look(BLACK, "s")  # in still figures, with the colours of the panels
TIGHT, LOOSE = 0.9, 0.5  # R² of a line, as the reading asks of CTL-7, and of hardly one
RARELY = 0.1  # of the triples
BY_CHANCE = math.erfc(WIDE / math.sqrt(2)) / 2  # of differences that are none, this share lies so many errors above 0
NEAR = 0.9  # of how well a way agrees with itself on other images: from there on it agrees hardly better
LIKE_ONE = 0.1  # how far a slope may be from 1 to be called so


def images_of(sweep: xarray.Dataset) -> int:
    """On how many test images the triples were measured."""
    return int(sweep.attrs["images"].split()[0].replace(",", ""))


class _Triples:
    """All triples of a sweep, counted from the worst average."""

    def __init__(self, sweep):
        average = sweep.average_accuracy.values
        order = np.argsort(average, kind="stable")
        self.average = average[order]
        self.ensemble = sweep.ensemble_accuracy.values[order]
        self.member = sweep.member.values[order]
        self.names = list(map(str, sweep.name.values))
        self.accuracy = sweep.accuracy.values
        self.line = algorithms.regression(average, sweep.ensemble_accuracy.values)

    def __len__(self):
        return len(self.average)

    def said(self, triple):
        """The n-th triple in words."""
        members = [f"{self.names[i]}, accuracy {self.accuracy[i]:.4f}" for i in self.member[triple - 1]]
        return said("""Triple {triple} of {count:,}, counted from the worst average: {members}. Averaged weights
                       {average:.4f}, logits ensemble {ensemble:.4f}. Over all triples the regression line has slope
                       {slope:.2f} and R² {r2:.3f}.""",
                    triple=triple, count=len(self), members="; ".join(members), average=self.average[triple - 1],
                    ensemble=self.ensemble[triple - 1], **self.line)


@view
def all_triples(sweep: xarray.Dataset, prediction=None):
    """Panel (a): Figure 4 of CTL, one dot a triple, in points around the mean of all; right, the members of the chosen
    one, their average and their ensemble.

    Control: triple, its rank by the averaged weights' accuracy; a press on a dot chooses it. The prediction, a slope,
    is a star, one point better than the mean.
    """
    triples = _Triples(sweep)
    centre = np.array([[triples.average.mean()], [triples.ensemble.mean()]])
    cloud = 100 * (np.array([triples.average, triples.ensemble]) - centre)
    ends = cloud[0, [0, -1]]
    regression = ends, triples.line["slope"] * ends
    equal = 100 * (np.array([triples.average[[0, -1]]] * 2) - centre)
    mean = [0], [0]
    finding, images = finding_of_triples(triples.line), images_of(sweep)
    if prediction:
        prediction.panel_answers(triples.line["slope"])

    def draw(triple):
        place = triple - 1
        of_members = np.sort(triples.accuracy[triples.member[place]])
        values = {"triples": cloud, "regression line": regression, "equally accurate": equal, "mean": mean,
                  "chosen": cloud[:, [place]], "members": with_reach(of_members, images),
                  "averaged weights": with_reach(triples.average[[place]], images),
                  "ensemble": with_reach(triples.ensemble[[place]], images)}
        who = "; ".join(triples.names[i] for i in triples.member[place])
        about = key(("merged", "Averaged weights of three models"), ("single", "Ensemble of the three"),
                    ("", "left, black line: regression; dotted: equally accurate"), ("", who))
        return Frame(finding, triples.said(triple), values, about)

    middle = len(triples) // 2
    controls = {"triple": slider("triple, from the worst average", range(1, len(triples) + 1), middle, places=cloud[0],
                                 words=lambda triple: f"triple {triple:,} of {len(triples):,}",
                                 ends=[("", "worst average"), ("", "best average")])}
    error = 100 * error_of_share(triples.average.mean(), images)
    below = f" Standard error of an accuracy: {error:.1f} points; bars: two of them."
    return {"kicker": "Chapter 3: two ways to combine three models", "draw": draw, "controls": controls,
            "charts": _charts(triples, cloud, centre, float(sweep.accuracy[:20].min())),
            "hides": ["triples", "regression line", "equally accurate", "chosen", *_SHOWN],
            "caption": caption(sweep) + below}


_SHOWN = {"members": ("other", (0, 1, 2)), "averaged weights": ("merged", (3,)), "ensemble": ("single", (4,))}


def _charts(triples, cloud, centre, least):
    """The cloud of all triples, and the accuracies of one; `least` is the lowest of a single model."""
    (low_x, low_y), (high_x, high_y) = cloud.min(1) - 0.4, cloud.max(1) + 0.4
    shares = np.arange(0, 1.001, 0.02)
    (ticks_x, ticks_y) = ({float(100 * (share - mean)): percent(share) for share in shares} for mean in centre[:, 0])
    left = Chart(Axis(AVERAGE, low_x, high_x, ticks=_between(low_x, high_x, ticks_x)),
                 Axis(ENSEMBLE, low_y, high_y, unit="points", digits=2, ticks=_between(low_y, high_y, ticks_y)),
                 (Path("equally accurate", "chance"), Path("regression line", "single"),
                  Spots("triples", "merged", small=True, picks=("triple",)),
                  Spots("mean", "single", names=("mean",)), Spots("chosen", "merged"), Star("guess", "merged", x=(1,))))
    names = {0: "worst", 1: "middle", 2: "best", 3: "weights", 4: "outputs"}
    high = max(triples.average.max(), triples.ensemble.max(), triples.accuracy[:20].max()) + 0.02
    right = Chart(Axis("the three models, and their averages", -0.5, 4.5, kind="places", ticks=names),
                  Axis("accuracy of this triple", least - 0.02, high, unit="percent", digits=1),
                  tuple(Points(name, role, x=x, written=True) for name, (role, x) in _SHOWN.items()))
    return [left, right]


def _between(low, high, ticks):
    """Those ticks that lie on an axis."""
    return {place: text for place, text in ticks.items() if low <= place <= high}


def finding_of_triples(line: dict[str, float]) -> str:
    """What the cloud shows. line: slope and r2 of the regression of ensembles on averages."""
    if line["r2"] < LOOSE:
        return "The averaged weights of a triple tell little about its ensemble"
    if line["slope"] < 0:
        return "The better the averaged weights of a triple, the worse its ensemble"
    better = "The better the averaged weights of a triple, the better its ensemble"
    if line["r2"] < TIGHT:
        return f"{better}, more or less"
    return f"{better}, point for point" if abs(line["slope"] - 1) < LIKE_ONE else better


@still
def what_remains(sweep: xarray.Dataset):
    """Left and middle, how both accuracies follow the members' own; right, whether they still agree when what the
    members explain is taken away."""
    average = sweep.average_accuracy.values
    ensemble = sweep.ensemble_accuracy.values
    own = members_mean(sweep)
    explained = [algorithms.regression(own, values)["r2"] for values in (average, ensemble)]
    fig, (left, middle, right) = plotting.figure(3, height=3.6)
    series = (left, average, AVERAGED, "averaged weights"), (middle, ensemble, TOGETHER, "logits ensemble")
    for (ax, values, look, name), r2 in zip(series, explained):
        ax.scatter(own, values, s=7, color=look.colour, marker=look.marker, alpha=0.4, linewidth=0)
        ax.axline((own.mean(), own.mean()), slope=1, color=GREY, linestyle="--", linewidth=1.2)
        ax.set(xlabel="mean of the members alone", ylabel=f"accuracy, {name}", title=f"Members: R² = {r2:.2f}")
    average, ensemble = algorithms.without(average, own), algorithms.without(ensemble, own)
    line = algorithms.regression(average, ensemble)
    right.scatter(average, ensemble, s=9, color=GREEN, alpha=0.45, linewidth=0)
    right.axline((0, line["intercept"]), slope=line["slope"], color=BLACK, linewidth=1.2)
    right.set(xlabel="average: better than expected", ylabel="ensemble: better than expected",
              title=f"What remains: R² = {line['r2']:.2f}")
    alt = said("""The mean accuracy of the three members explains {of_average:.0%} of the variance of the averaged
                  weights' accuracy and {of_ensemble:.0%} of the ensemble's. With that taken away, the two still agree
                  with R² {r2:.3f}, slope {slope:.2f}.""",
               of_average=explained[0], of_ensemble=explained[1], **line)
    below = " Dashed: as accurate as the members’ mean (y = x); the regression on it, which is taken away, is not " \
            "drawn. Black: regression. Expected: from the members’ mean accuracy."
    return plotting.show(fig, alt, caption(sweep) + below)


TAKEN_AWAY = {"nothing": "nothing",
              "members": "the mean accuracy of the three members",
              "members in full": "each member’s accuracy, with squares and products, and how far apart the three lie",
              "other images": "all this; averages on one half of the images, and ensembles on the other",
              "itself": "all this; averages on one half, and averages on the other; the same with ensembles "
                        "(mean of the two)"}


def what_else(sweep: xarray.Dataset) -> Page:
    """R² between the two ways when more and more is taken away that both could follow, as a table."""
    r2 = explained(sweep)
    rows = [(text, f"{r2[name]:.2f}") for name, text in TAKEN_AWAY.items()]
    return table(("taken away", "R² of what remains"), rows)


def reading_of_what_else(sweep: xarray.Dataset) -> Page:
    """How much of the agreement is left when nothing is shared but the triple."""
    r2 = explained(sweep)
    known, other, itself = (round(r2[name], 2) for name in ("members in full", "other images", "itself"))
    luck = "The {known:.2f} may be partly luck, because both were measured on the same images"
    sounds = "That sounds small. But if" if other < 0.5 else "If"
    larger = "not larger" if itself <= other else "hardly larger" if other > NEAR * itself else "larger"
    if larger != "larger" and 1 - itself > 0.8 * (1 - other):
        verdict = """So {other:.2f} is nearly all that these images can show. What is missing to 1 is mostly the noise
                     of the images, and not a difference between the two ways"""
    elif larger != "larger":
        verdict = "So {other:.2f} is nearly all that these images can show"
    else:
        verdict = "So a part of what is missing to 1 is a difference between the two ways"
    return reading("Do the two ways agree?", luck + """. With the averages on one half of the images and the ensembles
        on the other, R² is {other:.2f}. {sounds} you compare averages with averages on the other half, or
        ensembles with ensembles, R² is {larger}: {itself:.2f}, the mean of the two. """ + verdict + ".",
        known=known, other=other, itself=itself, sounds=sounds, larger=larger)


def reading_of_the_best(sweep: xarray.Dataset) -> Page:
    """Whether an average beats the best of its members, triple by triple."""
    numbers = claim(sweep)
    surely = numbers["share_surely_above_best"]
    behind = (sweep.above_best < -WIDE * sweep.above_best_error).mean().item()
    rarely = "Averaging three networks rarely beats the best of them here." if surely < RARELY and behind > 0.5 else ""
    noise = f"""Of two equally accurate networks, a given one would come out clearly ahead in about {BY_CHANCE:.1%} of
                comparisons. So these few do not show that an average was really better.""" \
        if 0 < surely < 2 * BY_CHANCE else ""
    return reading("Is the average better than the best of its three?", """In {above:.0%} of the triples it was. It was
        clearly ahead (by more than two standard errors) in {surely:.1%}, and clearly behind in {behind:.0%}. """ +
        f"{noise} {rarely}",
        above=numbers["share_above_best"], surely=surely, behind=behind)


@still
def differences(sweep: xarray.Dataset):
    """Over all triples, by how many points the ensemble is more accurate than the averaged weights, and by how many
    these are more accurate than the mean of their members: two histograms on one axis."""
    average = sweep.average_accuracy.values
    series = ("averaged weights above the mean of their members", 100 * (average - members_mean(sweep)), AVERAGED), \
             ("ensemble above averaged weights", 100 * (sweep.ensemble_accuracy.values - average), TOGETHER)
    low, high = (end(float(end(points)) for _, points, _ in series) for end in (min, max))
    fig, axes = plotting.figure(rows=2, height=3.9, width=7.4, sharex=True)
    told = []
    for ax, (name, points, look) in zip(axes, series):
        ax.hist(points, bins=np.arange(np.floor(4 * low), np.ceil(4 * high) + 1) / 4, color=look.colour)
        ax.axvline(0, color=GREY, linestyle="--", linewidth=1.2, marker="")
        ax.axvline(points.mean(), color=BLACK, linewidth=1.6, marker="")
        ax.annotate(minus(f"mean {points.mean():+.1f}"), (points.mean(), ax.get_ylim()[1]), xytext=(5, -11),
                    textcoords="offset points")
        ax.set(title=name.capitalize(), ylabel="triples")
        told.append(said("{name}, mean {mean:+.2f}, from {least:+.2f} to {most:+.2f}", name=name, mean=points.mean(),
                         least=points.min(), most=points.max()))
    axes[-1].set_xlabel("points of accuracy")
    return plotting.show(fig, f"Two histograms over {len(average):,} triples, in points: {'; '.join(told)}.",
                         caption(sweep))


SMALL = 0.5  # points: a difference between averages and ensembles that is called small


def reading_of_the_two_ways(sweep: xarray.Dataset) -> Page:
    """Whether averaged weights keep up with the ensemble, over all triples, and whether combining pays."""
    numbers = claim(sweep)
    ahead, behind = (100 * numbers[name] for name in ("average_over_members", "ensemble_over_average"))
    if abs(behind) < SMALL < ahead:
        title = "Averaged weights were nearly as good as the ensemble"
    elif behind >= SMALL:
        title = "The ensemble was ahead of averaged weights"
    else:
        title = "What does combining give?"
    return reading(title, """On average over the triples, averaged weights were {ahead:.1f} points above the mean of
        their members, and {behind:.1f} points {below} the ensemble. The ensemble was the better one in
        {share:.0%} of the triples.""",
        ahead=ahead, behind=abs(behind), below="below" if behind >= 0 else "above",
        share=numbers["share_average_below"])


def reading_of_figure_4(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 4 of CTL and ours, with this sweep's numbers."""
    numbers = claim(sweep)
    return reading("Figure 4 of Zhou et al., and ours", """{verdict}: the two accuracies correlate linearly,
        R² = {r2:.3f}, slope {slope:.2f}; without any one of the models R² is still at least
        {r2_least_without_one_model:.3f}. Differs, or is not said: in {share_average_below:.0%} of the triples the
        average is worse than the ensemble, by {behind:.1f} points on average over all, while it beats the mean of its
        members by {ahead:.1f}.""",
        verdict=agrees(numbers["r2"] > 0.9), behind=100 * numbers["ensemble_over_average"],
        ahead=100 * numbers["average_over_members"], **numbers)


def reading_of_what_remains(sweep: xarray.Dataset) -> Page:
    """Whether the two ways still agree when the members' mean accuracy is taken away from both."""
    numbers = claim(sweep)
    beyond = numbers["r2_beyond_members"]
    title = "They agree beyond the members’ mean accuracy" if beyond > LOOSE else "What remains?"
    return reading(title, """The members' mean accuracy alone explains {own:.0%} of the variance of the ensemble's
        accuracy. With that taken away from both, R² of what remains is {beyond:.2f}.""",
        own=numbers["r2_from_members"], beyond=beyond)
