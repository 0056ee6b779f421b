"""Panel (d): all mixes of three models."""
import numpy as np
import xarray

from lessons.averaging.experiment.models import BOLD
from lessons.averaging.experiment.triangle import mix_of
from lessons.averaging.panels.triples import images_of
from lessons.kit import plotting
from lessons.kit.noise import Difference, with_reach
from lessons.kit.page import Page, half_up, reading, said
from lessons.kit.plotting import themed
from lessons.kit.sweep import caption, position
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Line,
    Map,
    Points,
    Spots,
    Star,
    chips,
    key,
    percent,
    slider,
    view,
)

DEEP = 20.0  # points lost, at which the scale of the map ends
_STEPS = 3  # columns of the map from one measured mix to the next
_WAYS = {"averaged weights": ("triangle_average", "merged"), "ensemble": ("triangle_ensemble", "single")}
_ALT = """
    Mix of {mix} (α = {alpha:.2f}, {rest:.2f} of the rest): averaged weights {average:.3f}, ensemble {ensemble:.3f}, so
    averaging the weights loses {lost:.1f} points. Over the whole triangle the averaged weights have at least
    {average_least:.3f}, the ensemble at least {ensemble_least:.3f}, and the most that is lost is {most:.1f} points."""


@view
def mixes_of_three(sweep: xarray.Dataset, prediction=None):
    """Panel (d): accuracy of mixes of three models, of averaged weights and of the ensemble; left, along the first
    model's share; right, over the triangle of all mixes, how many points averaged weights lose beside the ensemble.

    Controls: alpha (first model's share), three, rest; a press in the triangle sets alpha and rest. The prediction, the
    average of the bold one and the two best, is a star.
    """
    threes = sorted(map(str, sweep.three.values), key=lambda three: BOLD not in three)  # the bold one first
    grid = [float(share) for share in sweep.first.values]
    names = [str(name).split(":")[0] for name in sweep.name.values]
    members = {three: [names[i] for i in sweep.triangle_member.sel(three=three).values] for three in threes}
    numbers = {three: {way: sweep[name].sel(three=three).transpose("first", "second").values
                       for way, (name, _) in _WAYS.items()} for three in threes}
    lost = {three: 100 * (ways["ensemble"] - ways["averaged weights"]) for three, ways in numbers.items()}
    maps = {three: _map(points, grid) for three, points in lost.items()}
    images, places = images_of(sweep), _places(grid)
    findings = {three: finding_of_mixes(*ways.values(), images) for three, ways in numbers.items()}
    asked = {"alpha": grid[len(grid) // 3], "rest": 0.5, "three": threes[0]}
    if prediction:
        row, column = position(grid, asked["alpha"]), position(grid, 0.5)
        prediction.panel_answers(numbers[threes[0]]["averaged weights"][row, column], asked)

    def draw(alpha, three, rest):
        row, column, ways = position(grid, alpha), position(grid, rest), numbers[three]
        values = {"points lost": maps[three], "mixes": places,
                  "the first alone": ways["ensemble"][-1, [column]], "here": places[:, [row * len(grid) + column]]}
        for way in _WAYS:
            along, *sure = with_reach(ways[way][:, column], images)
            values |= {way: along, f"{way}, two standard errors": sure}
        values |= {f"models of {other}": _CORNERS if other == three else np.full((2, 3), np.nan) for other in threes}
        shares = mix_of(alpha, rest).numpy()
        average, ensemble = ways.values()
        alt = said(_ALT, mix=", ".join(f"{share:.2f} of {name}" for share, name in zip(shares, members[three])),
                   alpha=alpha, rest=rest, lost=lost[three][row, column], most=lost[three].max(),
                   average=half_up(average[row, column]), ensemble=half_up(ensemble[row, column]),
                   average_least=half_up(average.min()), ensemble_least=half_up(ensemble.min()))
        about = key(("merged", "Averaged weights of {} (the first), {} and {}".format(*members[three])),
                    ("single", "Ensemble with the same shares"))
        return Frame(findings[three], alt, values, about)

    rests = {_rest_in_words(rest): rest for rest in grid}
    controls = {"alpha": slider("α, share of the first model", grid, asked["alpha"], words=_words,
                                ends=[("", "without the first"), ("", "the first alone")]),
                "three": chips("mix", {_short(three): three for three in threes}),
                "rest": chips("of the rest, to the second", rests, 0.5, more=True)}
    return {"kicker": "Chapter 3: mixes of three",
            "tries": ("Drag the diamond in the triangle.",
                      "Choose “the three best”. Why is the triangle pale?",
                      "Choose “the stranger and the two best”."),
            "draw": draw, "controls": controls,
            "charts": _charts(grid, numbers, members),
            "caption": f"{caption(sweep)} Bands: two standard errors. The map's scale ends at {DEEP:.0f} points; "
                       "where more are lost, it looks the same.",
            "hides": ["points lost", *_WAYS, *(f"{way}, two standard errors" for way in _WAYS)]}


_CORNERS = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, -0.5]])  # of the first, second and third model


def _short(three):
    """On a chip: "the three furthest apart"."""
    return three.replace(" of the twenty", "").replace(" that lie", "")


def _words(alpha):
    """Where the slider stands."""
    return f"{percent(alpha)} of the first"


def _rest_in_words(rest):
    return {0.0: "none", 0.5: "half", 1.0: "all"}.get(rest, f"{rest:.0%}")


def _places(grid):
    """(2, mixes): where in the triangle the mixes lie, of which `rest` runs fastest."""
    first, second = np.meshgrid(grid, grid, indexing="ij")
    return np.stack([first, (1 - first) * (second - 0.5)]).reshape(2, -1)


def _map(lost, grid):
    """(rows, columns) of the triangle on its side, in between straight from measured mix to mix; NaN outside.

    Args:
        lost: (first, second), at the measured mixes.
    """
    size = _STEPS * (len(grid) - 1) + 1
    columns = np.linspace(0, 1, size)
    cells = np.full((size, size), np.nan)
    heights = 0.5 - columns  # from above
    for place, first in enumerate(columns):
        of_column = [np.interp(first, grid, of_rest) for of_rest in lost.T]
        inside = np.abs(heights) <= (1 - first) / 2 + 1e-9
        rest = 0.5 + heights[inside] / max(1 - first, 1e-9)
        cells[inside, place] = np.interp(rest, grid, of_column)
    return cells


def _charts(grid, numbers, members):
    """Accuracies along the first model's share, and the triangle of all mixes."""
    lowest = min(float(along.min()) for ways in numbers.values() for along in ways.values())
    ticks = {0: "0", 0.25: "0.25", 0.5: "0.5", 0.75: "0.75", 1: "1"}
    bands = [Band(f"{way}, two standard errors", role) for way, (_, role) in _WAYS.items()]
    left = Chart(Axis("α", 0, 1, ticks=ticks), Axis("accuracy", max(0, lowest - 0.03), 1, unit="percent"),
                 (*bands, *(Line(way, role, way) for way, (_, role) in _WAYS.items()),
                  Points("the first alone", "single", x=(1,)),
                  Star("guess", "merged", x=(grid[len(grid) // 3],)), Handle("alpha")))
    half = 0.5 / (_STEPS * (len(grid) - 1))
    corners = [Spots(f"models of {three}", "single", names=tuple(names)) for three, names in members.items()]
    right = Chart(Axis("α", -half, 1 + half, ticks=ticks),
                  Axis("points lost by averaging", -0.5 - half, 0.5 + half, ticks={0: ""}),
                  (Map("points lost", "merged", high=DEEP, aside=True),
                   Spots("mixes", "other", small=True, picks=("alpha", "rest")), *corners, Spots("here", "merged")))
    return [left, right]


def finding_of_mixes(average: np.ndarray, ensemble: np.ndarray, images: int) -> str:
    """Whether averaged weights lose beside the ensemble where they lose most, and whether either is worse there than
    the worst of the three alone, which would be a hole. Both: (first, second), accuracies."""
    worst = np.unravel_index((ensemble - average).argmax(), average.shape)
    lost = Difference.of(float(ensemble[worst]), float(average[worst]), images)
    if not (lost.is_news and lost.value > 0):
        return "No mix of these weights is surely worse than the ensemble"
    alone = float(min(average[-1, 0], average[0, 0], average[0, -1]))
    holes = [Difference.of(float(accuracies), alone, images) for accuracies in (average[worst], ensemble.min())]
    of_average, of_ensemble = (hole.is_news and hole.value < 0 for hole in holes)
    if of_average and not of_ensemble:
        return "Mixing these weights digs a hole, an ensemble of the same three has none"
    return "Mixing these weights is worse than an ensemble of the same three"


def reading_of_the_mixes(sweep: xarray.Dataset) -> Page:
    """What the average of the bold one and the two best is worth beside their ensemble, and what the three best lose at
    most."""
    images = images_of(sweep)
    bold, best = (sweep.sel(three=three) for three in ("the bold one and the two best", "the three best of the twenty"))
    third = bold.isel(first=len(sweep.first) // 3).sel(second=0.5)
    average, ensemble = third.triangle_average.item(), third.triangle_ensemble.item()
    lost = Difference.of(ensemble, average, images)
    alone = min(float(bold.triangle_average[place]) for place in ((-1, 0), (0, 0), (0, -1)))
    hole = Difference.of(average, alone, images)
    worse = "The bold one spoils the average, but not the ensemble" if lost.is_news and lost.value > 0 else \
        "Does the bold one spoil the average?"
    deep = hole.is_news and hole.value < 0
    below = ", although each of the three alone has at least {alone:.1%}" if deep else ""
    most = float((best.triangle_ensemble - best.triangle_average).max())
    return reading(worse, "With a third of each, averaged weights have {average:.1%}" + below + """. The ensemble of the
        same three has {ensemble:.1%}. With the three best of the twenty, no mix of weights was more than {most:.1f}
        points below the ensemble.""",
                   average=half_up(average), ensemble=half_up(ensemble), alone=half_up(alone), most=100 * most)


@themed
def sleeping():
    """The counterexample to Lemma 2 (`algorithms.sleeping_unit`): where in the triangle of all mixes its unit is on."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75 ** 0.5]])
    grid = np.array([(i, j, 60 - i - j) for i in range(61) for j in range(61 - i)]) / 60
    given = 1 - 2 * (grid ** 2).sum(1)
    x, y = (grid @ corners).T
    fig, ax = plotting.figure(width=5.2, height=3.8)
    colours = ax.tricontourf(x, y, np.maximum(given, 0), levels=np.linspace(0, 1 / 3, 9), cmap="Purples")
    ax.tricontour(x, y, given, levels=[0], colors=[plotting.RED])
    ax.plot(*corners[[0, 1, 2, 0]].T, color=plotting.GREY, linewidth=1.2, marker="")
    for place, (name, aside) in enumerate(zip("123", ((-12, -6), (6, -6), (-3, 6)))):
        ax.annotate(name, corners[place], xytext=aside, textcoords="offset points", fontsize=12)
    ax.set(aspect="equal", title="Output of the mix")
    ax.margins(0.08)
    ax.axis("off")
    fig.colorbar(colours, ax=ax, format="%.2f")
    share = np.pi / 27 ** 0.5  # of a circle that touches the edges: π/(3·√3)
    return plotting.show(fig, f"A triangle of all mixes of three networks. The output is 0 on its edges and in its "
                              f"corners, above 0 in a circle that touches the edges, in {share:.0%} of the triangle, "
                              "and ⅓ in the middle.",
                         "Computed. Inside the orange line the unit is on. The mix of the outputs is 0 everywhere.")
