"""Panel (a) and what belongs to it: Figure 4 of CTL, one dot a triple, and what remains when the members are known."""
import numpy as np
import xarray

from lessons.averaging import algorithms
from lessons.averaging.experiment.triples import claim, explained, members_mean
from lessons.averaging.panels.points import Points, places_of
from lessons.kit import plotting
from lessons.kit.noise import error_of_share
from lessons.kit.page import Page, agrees, reading, said, table
from lessons.kit.panel import Panel, panel, slider
from lessons.kit.panel.moving import Look, cloud, curve, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, still
from lessons.kit.sweep import caption

AVERAGE, ENSEMBLE = "accuracy of the averaged weights", "accuracy of the logits ensemble"  # of axes

MEMBER, AVERAGED, TOGETHER = Look(GREY, "o"), Look(BLUE, "D"), Look(ORANGE, "s")
CHOSEN = Look(RED, "D")
GUESS = Look(PURPLE, line="-.")


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

    def texts(self):
        """What each dot is called."""
        texts = []
        for members, average, ensemble in zip(self.member, self.average, self.ensemble):
            names = "; ".join(self.names[i] for i in members)
            texts.append(f"{names}. Averaged weights {average:.4f}, ensemble {ensemble:.4f}")
        return texts

    def said(self, triple):
        """The n-th triple in words."""
        members = [f"{self.names[i]}, accuracy {self.accuracy[i]:.4f}" for i in self.member[triple - 1]]
        return said("""Triple {triple} of {count:,}, counted from the worst average: {members}. Averaged weights
                       {average:.4f}, logits ensemble {ensemble:.4f}. Over all triples the regression line has slope
                       {slope:.2f} and R² {r2:.3f}.""",
                    triple=triple, count=len(self), members="; ".join(members), average=self.average[triple - 1],
                    ensemble=self.ensemble[triple - 1], **self.line)


def all_triples(sweep: xarray.Dataset, prediction=None) -> Panel:
    """Panel (a): Figure 4 of CTL, one dot a triple; right, the members of the chosen one.

    Control: triple, its rank by the averaged weights' accuracy; clicking a dot moves it. The prediction, a slope, is a
    purple line.
    """
    shown = _all_triples(sweep, prediction)
    triples = _Triples(sweep)
    places = places_of(shown.figure.axes[0], triples.average, triples.ensemble)
    points = Points(places=places, texts=triples.texts())
    points.observe(lambda change: shown.set(triple=change["new"] + 1), "chosen")
    shown.children = [*shown.children, points]
    return shown


@panel
def _all_triples(sweep, prediction):
    triples = _Triples(sweep)
    fig, (left, right) = plotting.figure(2, height=4.6, width_ratios=(5, 4))
    ends = np.array([triples.average.min(), triples.average.max()])
    low = min(triples.average.min(), triples.ensemble.min()) - 0.005
    high = max(triples.average.max(), triples.ensemble.max()) + 0.005
    line = triples.line
    label = f"regression line: slope {line['slope']:.2f}, R² = {line['r2']:.3f}"
    left.scatter(triples.average, triples.ensemble, s=9, color=BLUE, alpha=0.45, linewidth=0)
    left.plot([low, high], [low, high], color=GREY, linestyle="--", linewidth=1.2, marker="", label="equal")
    left.plot(ends, line["slope"] * ends + line["intercept"], color=BLACK, marker="", linewidth=1.6, label=label)
    left.set(xlabel=AVERAGE, ylabel=ENSEMBLE, xlim=(low, high), ylim=(low, high), title=f"All {len(triples):,} triples")
    left.legend(loc="upper left")
    guess = curve(left, GUESS)
    if prediction:
        prediction.panel_answers(triples.line["slope"], mark="purple line")
    chosen = cloud(left, CHOSEN, markersize=9, markeredgecolor=BLACK)
    row_of_dots = _Members(right, float(sweep.accuracy[:20].min()) - 0.01, high + 0.01)
    title, = moving_titles((right,))

    def draw(triple):
        average = triples.average[triple - 1]
        ensemble = triples.ensemble[triple - 1]
        member = triples.member[triple - 1]
        names = [triples.names[i] for i in member]
        chosen.set_data([average], [ensemble])
        row_of_dots.set_values([*names, "their averaged weights", "their logits ensemble"],
                               [*triples.accuracy[member], average, ensemble])
        title.set_text(f"Triple {triple}, counted from the worst average")
        slope = prediction.committed if prediction else None
        if slope is None:
            guess.set_data([], [])
        else:
            guess.set_data(ends, triples.ensemble.mean() + slope * (ends - triples.average.mean()))
        return triples.said(triple)

    controls = {"triple": slider("triple", range(1, len(triples) + 1), len(triples) // 2)}
    error = 100 * error_of_share(triples.average.mean(), images_of(sweep))
    below = f" Standard error of an accuracy: {error:.1f} points. Rest the mouse on a dot for its models, or click it."
    return controls, fig, draw, caption(sweep) + below


class _Members:
    """Five named accuracies, one below the other: three members, their averaged weights, their logits ensemble."""

    def __init__(self, ax, low, high):
        ax.set(xlabel="accuracy: share correct", xlim=(low, high), ylim=(-0.5, 4.9), yticks=[])
        ax.grid(False, axis="y")
        self._rows = (4, 3, 2, 1, 0)
        self._dots = [cloud(ax, look, markersize=8) for look in (MEMBER, MEMBER, MEMBER, AVERAGED, TOGETHER)]
        style = {"transform": ax.transAxes, "fontsize": 9.5, "animated": True}
        self._texts = [ax.text(0.01, (row + 0.72) / 5.4, "", **style) for row in self._rows]

    def set_values(self, names, values):
        """One of each a row."""
        for row, dot, text, name, value in zip(self._rows, self._dots, self._texts, names, values):
            dot.set_data([value], [row])
            text.set_text(f"{name}: {value:.4f}")


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
    below = " Expected: from the members. A model takes part in 171 of the triples, so the dots are not independent."
    return plotting.show(fig, alt, caption(sweep) + below)


TAKEN_AWAY = {"nothing": "nothing",
              "members": "the mean accuracy of the three members",
              "members in full": "all that is known of the members: each accuracy, squares and products, distances",
              "other images": "all that, and averages and ensembles are measured on different images",
              "itself": "for comparison, the same way of combining with itself, on different images"}


def what_else(sweep: xarray.Dataset) -> Page:
    """R² between the two ways when more and more is taken away that both could follow, as a table."""
    r2 = explained(sweep)
    rows = [(text, f"{r2[name]:.2f}") for name, text in TAKEN_AWAY.items()]
    return table(("taken away", "R² of what is left"), rows)


def reading_of_what_else(sweep: xarray.Dataset) -> Page:
    """How much of the agreement is left when nothing is shared but the triple."""
    r2 = explained(sweep)
    if r2["other images"] > 0.9 * r2["itself"]:
        verdict = "So nearly all that is missing is the noise of the images, and not a difference between the two ways"
    else:
        verdict = "So a part of what is missing is a difference between the two ways"
    return reading("Do the two ways agree?", """They do, beyond the members. But {known:.2f} is too good: both were
        asked about the same images, and where luck with these helps the one it helps the other. On different images
        R² is {other:.2f}. Now compare with how well a way agrees with itself, on different images: {itself:.2f}.
        {verdict}.""",
        verdict=verdict, known=r2["members in full"], other=r2["other images"], itself=r2["itself"])


def reading_of_the_best(sweep: xarray.Dataset) -> Page:
    """Whether an average beats the best of its members, triple by triple."""
    numbers = claim(sweep)
    chance = 0.025
    verdict = "more than" if numbers["share_surely_above_best"] > 2 * chance else "about what"
    return reading("Is the average better than the best of its three?", """In {above:.0%} of the triples it seems so.
        By more than two standard errors it is in {surely:.1%}. By luck alone about {chance:.1%} would be, so this is
        {verdict} luck gives. What is sure is the mean: an average is {ahead:.1f} points above the mean of its
        members, and {behind:.1f} points below their ensemble.""",
        above=numbers["share_above_best"], surely=numbers["share_surely_above_best"], chance=chance, verdict=verdict,
        ahead=100 * numbers["average_over_members"], behind=100 * numbers["ensemble_over_average"])


def reading_of_figure_4(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figure 4 of CTL and ours, with this sweep's numbers."""
    numbers = claim(sweep)
    return reading("Figure 4 of Zhou et al., and ours", """{verdict}: the two accuracies correlate linearly,
        R² = {r2:.3f}, slope {slope:.2f}; without any one of the models R² is still at least
        {r2_least_without_one_model:.3f}. Differs, or is not said: in {share_average_below:.0%} of the triples the
        average is worse than the ensemble, by {behind:.1f} points on average over all, while it beats the mean of its
        members by {ahead:.1f}. Much of the correlation is the members' doing: their mean accuracy alone explains
        {r2_from_members:.0%} of the ensemble's variance. But with that taken away, R² of what remains is
        {r2_beyond_members:.2f}.""",
        verdict=agrees(numbers["r2"] > 0.9), behind=100 * numbers["ensemble_over_average"],
        ahead=100 * numbers["average_over_members"], **numbers)
