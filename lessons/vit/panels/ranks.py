"""Panel (b): CART's rank and λ on eight tasks, and which tensors it truncates."""
import numpy as np
import xarray

from lessons.kit.noise import WIDE, Difference, error_of_difference
from lessons.kit.page import Page, reading, said
from lessons.kit.plotting import still
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Spots, Star, chips, key, slider, view
from lessons.merging.search import best, rests_on
from lessons.vit.experiment.ranks import ATTENTION, BY_DIMENSION, BY_NAME, FUSED, GROUPS, MLP, chosen
from lessons.vit.panels import widths
from lessons.vit.panels.widths import difference, dots, reading_of_widest, widest

LITTLE = 0.25  # of the way from the average to the single networks: a gain below it is called little
_ALT = """
    {setting}λ = {lam:g}. By rank {by_rank}. The average has an accuracy of {average:.3f}, each network alone {own:.3f},
    θ₀ {base:.3f}. At rank {rank:g}: {by_task}."""


def best_of(sweep: xarray.Dataset) -> dict[str, float]:
    """CART at the rank and λ that held-out images choose, of one width: rank, lam, accuracy, average, height (test)."""
    rank, lam = chosen(sweep)
    test = sweep.sel(part="test")
    accuracy = float(test.accuracy.sel(rank=rank, lam=lam).mean())
    average = float(test.average.mean())
    return {"rank": rank, "lam": lam, "accuracy": accuracy, "average": average, "height": accuracy - average}


def question(sweep: xarray.Dataset) -> str:
    """What the learner predicts before panel (b)."""
    average = float(sweep.average.sel(part="test", width=int(sweep.width[0])).mean())
    return said("""The average of the eight networks has an accuracy of {average:.1%}. CART's rank and λ are chosen on
                   held-out images. How many **points** above the average is it then? (On eight tasks with CLIP's
                   ViT-B/32, the paper reports nineteen.)""",
                average=average)


@view
def ranks(sweep: xarray.Dataset, prediction=None):
    """Panel (b): how far CART is above the average against the rank at a λ, and for every task at a rank.

    Controls: rank, lam, and width where the sweep has several. The prediction, the height in points at the rank and λ
    that held-out images choose, is a star.
    """
    known = best_of(sweep.isel(width=0))
    if prediction:
        prediction.panel_answers(100 * known["height"], widths.asked(sweep, lam=known["lam"], rank=known["rank"]))
    parts = {int(width): sweep.sel(width=int(width), part="test") for width in sweep.width.values}
    about = bell({width: part.transpose("rank", "lam", "task", ...) for width, part in parts.items()},
                 int(sweep.attrs["test_images"]), known["rank"], known["lam"])
    return about | {"kicker": "Chapter 12: CART on eight tasks",
                    "tries": ("Drag the rank from one end to the other. Does any rank gain more than the error band?",
                              "Choose another λ."),
                    "controls": about["controls"] | widths.menu(sweep),
                    "caption": f"{caption(sweep)} {rests_on(sweep)} Bands: two standard errors of the difference."}


def bell(parts: dict[int | None, xarray.Dataset], images: int, opens_rank: float, opens_lam: float) -> dict:
    """What a view of CART beside the average is made of, but its kicker and caption.

    Args:
        parts: {width: accuracy (rank, lam, task), average, own and base (task)}, of one width under None.
        images: that the mean over tasks is of.
    """
    first, first_part = next(iter(parts.items()))
    ratios, lams = (list(map(float, first_part[name].values)) for name in ("rank", "lam"))
    tasks = names(first_part.task)
    rows = np.arange(len(tasks))[::-1]
    of_one_task = 100 * WIDE * error_of_difference(0.5, 0.5, images // len(tasks))

    def draw(rank, lam, width=first):
        part, place, column = parts[width], position(ratios, rank, "rank"), position(lams, lam, "lam")
        accuracy = part.accuracy.values[:, column]
        means, average, own = accuracy.mean(1), float(part.average.mean()), float(part.own.mean())
        gain = 100 * (means - average)
        sure = 100 * WIDE * np.array([error_of_difference(mean, average, images) for mean in means])
        by_task = ", ".join(f"{task} {value:.2f}" for task, value in zip(tasks, accuracy[place]))
        alt = said(_ALT, setting=f"Width {width}, " if width else "", lam=lam, rank=rank, by_task=by_task, own=own,
                   by_rank=", ".join(f"{value:g}: {mean:.3f}" for value, mean in zip(ratios, means)),
                   average=average, base=float(part.base.mean()))
        values = {"CART": gain, "sure": (gain - sure, gain + sure), "the average": 0 * gain,
                  "alone": 100 * (own - average), "noise": ((-0.7, -0.7), (len(tasks) - 0.3,) * 2),
                  "tasks": (100 * (accuracy[place] - part.average.values), rows)}
        about = key(("merged", f"CART with {_kept(rank)}, λ = {lam:g}"), ("single", "each network alone"),
                    ("", "grey band: within the noise of one task"))
        return Frame(finding_of_bell(means, average, own, images), alt, values, about)

    ends = [("", "no direction"), ("", "all")] if (ratios[0], ratios[-1]) == (0, 1) else ()
    controls = {"rank": slider("rank", {f"{100 * value:g}": value for value in ratios}, opens_rank, words=_kept,
                               places=range(len(ratios)), ends=ends),
                "lam": chips("λ", {f"{lam:g}": lam for lam in lams}, opens_lam)}
    return {"charts": _charts(parts.values(), ratios, tasks, of_one_task, opens_rank), "draw": draw,
            "controls": controls, "hides": ["CART", "sure", "the average", "noise", "tasks"]}


def _kept(rank):
    """How much of every matrix CART keeps, in words."""
    return {0: "no direction", 1: "all directions"}.get(rank, f"{100 * rank:g} % of the directions")


def _charts(parts, ranks_of, tasks, of_one_task, opens_rank):
    """The mean over the rank, and every task, in points above the average; with room for every λ and width."""
    means = [100 * (part[name].mean("task") - part.average.mean()) for part in parts for name in ("accuracy", "own")]
    low, high = min(float(mean.min()) for mean in means), max(float(mean.max()) for mean in means)
    each = [100 * (part.accuracy - part.average) for part in parts]
    places = tuple(map(float, range(len(ranks_of))))
    left = Chart(Axis("rank, in % of what a matrix has", -0.3, len(ranks_of) - 0.7, "places",
                      ticks={place: f"{100 * rank:g}" for place, rank in zip(places, ranks_of)}),
                 Axis("points above the average", 1.1 * low - 2, 1.1 * high, unit="points", digits=1),
                 (Line("the average", "other", "average", x=places), Reference("alone", "single", "each alone"),
                  Band("sure", "merged", x=places), Line("CART", "merged", x=places, dots=True, near=True),
                  Star("guess", "merged", x=(places[ranks_of.index(opens_rank)],)), Handle("rank")))
    worst = min(-of_one_task, *(float(values.min()) for values in each))
    most = max(of_one_task, *(float(values.max()) for values in each))
    right = Chart(Axis("points above the average, task by task", 1.1 * worst, 1.1 * most),
                  Axis("every task at this rank", -0.7, len(tasks) - 0.3, ticks={-1: ""}),
                  (Band("noise", "other", x=(-of_one_task, of_one_task)),
                   Spots("tasks", "merged", names=tuple(tasks))))
    return [left, right]


def finding_of_bell(means: np.ndarray, average: float, own: float, images: int) -> str:
    """Whether CART's best rank is above the average by more than the noise, and whether other ranks are below it.

    Args:
        means: (rank,), accuracies of CART at one λ, ranks rising.
        average, own: accuracies of the average, and of every network on its own task.
        images: that each of these is of.
    """
    gain, loss = (Difference.of(float(value), average, images) for value in (means.max(), means.min()))
    loses = loss.is_news and loss.value < 0
    amount = "too few" if means.argmin() < means.argmax() else "too many"
    if gain.is_news and gain.value > 0:
        much = "a little" if gain.value < LITTLE * (own - average) else "much"
        gained = f"The best rank gains {much} over the average"
        return f"{gained}, {amount} directions lose" if loses else gained
    return f"No rank is seen to beat the average, and {amount} directions lose" if loses else \
        "Every rank is within the noise of the average"


# -- tables and readings ---------------------------------------------------------------------------

def reading_of_the_bell(sweep: xarray.Dataset) -> Page:
    """How high is the bell, and where is its peak? With this sweep's numbers."""
    sentences, heights = [], []
    for width in map(int, sweep.width.values):
        numbers = best_of(sweep.sel(width=width))
        heights.append(difference(sweep, numbers["accuracy"], numbers["average"]))
        sentences.append(said("""At width {width}, it keeps {percent:g} % of the directions, and is {points:+.1f}
                                 points above the average{doubt}.""", width=width, percent=100 * numbers["rank"],
                              points=100 * heights[-1].value, doubt=heights[-1].doubt()))
    sure = [height.is_news and height.value > 0 for height in heights]
    title = "CART beats the average" if all(sure) else "Here CART does not clearly beat the average" \
        if not any(sure) else "CART’s gain depends on the width"
    if all(sure):
        sentences.append("Both are more than two standard errors." if len(sure) == 2 else
                         "That is more than two standard errors.")
    return reading(title, "{listed}", listed=" ".join(sentences))


def best_way(accuracies: xarray.Dataset) -> float:
    """Test accuracy of one way at the rank and λ that held-out images choose."""
    best_there = best(accuracies.sel(part="held-out").mean("task"), "way_rank", "way_lam")
    return float(accuracies.sel(part="test").sel(best_there).mean())


@still
def ways(sweep: xarray.Dataset):
    """Test accuracy of every way to choose matrices, tuned alike, and of the average."""
    scores = [[best_way(sweep.ways.sel(width=width, way=way)) for way in names(sweep.way)]
              + [float(sweep.average.sel(width=width, part="test").mean())] for width in sweep.width.values]
    return dots(xarray.DataArray(scores, {"width": sweep.width.values}, ("width", "way")),
                [*names(sweep.way), "the average"], int(sweep.attrs["test_images"]),
                f"{caption(sweep)} {rests_on(sweep)}")


def reading_of_the_parts(sweep: xarray.Dataset) -> Page:
    """Where does a finetuned network keep what it learned: in attention or in the MLPs?"""
    of_width = widest(sweep)
    own = float(of_width.own.sel(part="test").mean())
    base = float(of_width.base.sel(part="test").mean())
    alone = of_width.alone.mean("task")
    gained = max(own - base, 1e-9)
    attention, mlp, rest = (float((alone.sel(group=group) - base) / gained) for group in GROUPS)
    return reading_of_widest(sweep, "Attention or MLP?", """
        Give θ₀ one part of a task's own vector and nothing else. Of what the whole vector gains, attention alone gains
        {attention:.0%}, the MLPs alone {mlp:.0%}, all else {rest:.0%}. Together that is {total:.0%}{more}.""",
                   attention=attention, mlp=mlp, rest=rest, total=attention + mlp + rest,
                   more=": such gains do not add up" if attention + mlp + rest > 1 else "")


def reading_of_the_ways(sweep: xarray.Dataset) -> Page:
    """Does it matter which tensors count as matrices?"""
    of_width = widest(sweep)
    scores = {way: best_way(of_width.ways.sel(way=way)) for way in names(sweep.way)}
    same = [scores[way] for way in (BY_DIMENSION, BY_NAME, FUSED)]
    apart = difference(sweep, max(same), min(same))
    shares = dict(zip(names(of_width.group), map(float, of_width.squares.values)))
    return reading_of_widest(sweep, "By name, by shape, or fused?", """
        The three accuracies lie within {apart:.1f} points{doubt}. Attention's matrices hold
        {attention:.0%} of the centred task vectors' squared length, the MLPs' {mlp:.0%}; truncated and added alone,
        attention gives {only_attention:.3f}, the MLPs {only_mlp:.3f}.""",
                   apart=100 * apart.value, doubt=apart.doubt(), attention=shares["attention"],
                   mlp=shares["MLP"], only_attention=scores[ATTENTION], only_mlp=scores[MLP])
