"""The view of the chapter: accuracy against the number of directions that are kept of every task vector, above the
singular values of these directions."""
import numpy as np
import xarray

from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import one
from lessons.cart.panels.bell import CHANCE, DISJOINT, SHOWN, SHOWN_LAM, SHOWN_RANK, error_said, levels_of
from lessons.cart.panels.parts import Ranks, by_rank, listed, numbers_of
from lessons.kit.noise import Difference, reach
from lessons.kit.page import said
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Bars, Chart, Frame, Handle, Line, Reference, Star, chips, key, view
from lessons.merging.search import rests_on

LAMS = (0.3, 0.5, 1.0, 2.0, 3.0, 6.0)  # those that have a chip
NAMES = dict(zip(HOWS, ("CART", "task vectors from θ₀, cut")))
OTHER_LAMS, EACH_TASK = "the same at other λ", "each task alone"
GREY = tuple(f"grey line {number}" for number in range(1, 9))  # as many as the most tasks, or λ
_ALT = """
    {setting}, {how}, λ = {lam:g}, {rank} kept: mean accuracy {mean:.3f} ± {error:.3f}, by task {by_task}. Over all
    ranks {over_ranks}. Average {average:.3f}, task arithmetic at full rank {arithmetic:.3f}, networks alone {own:.3f}.
    The singular values of layer 1, by direction: {sigma}."""


@view
def directions(sweep: xarray.Dataset, prediction=None):
    """Above, the mean accuracy over the tasks against the directions kept, at one λ; grey, the same at the other λ, or
    the tasks one by one. Below, on the same axis, the singular values of the task vectors' first layer.

    Controls: rank, lam, setting, how, grey. The prediction, the mean accuracy at `SHOWN_RANK` and `SHOWN_LAM` with all
    pixels permuted, is a star. Sets of tasks whose networks are narrower are left out: this axis is not theirs.
    """
    ranks, lams = Ranks(sweep), numbers_of(sweep.lam)
    names = [name for name in SHOWN if name in sweep.setting.values]
    parts = {name: one(sweep, setting=name) for name in names}
    levels = {name: levels_of(part) for name, part in parts.items()}
    accuracies = {name: part.accuracy.sel(part="test").transpose("how", "lam", "rank", "task").values
                  for name, part in parts.items()}
    images = {name: part.sizes["task"] * int(sweep.attrs["test_images"]) for name, part in parts.items()}
    asks_about = {"setting": DISJOINT, "how": HOWS[0], "lam": SHOWN_LAM, "rank": SHOWN_RANK}
    if prediction:
        row, column = position(lams, SHOWN_LAM, "lam"), position(ranks.values, SHOWN_RANK, "rank")
        prediction.panel_answers(accuracies[DISJOINT][0, row, column].mean(), asks_about)

    def draw(rank, lam, setting=names[0], how=HOWS[0], grey=OTHER_LAMS):
        of_lams = accuracies[setting][HOWS.index(how)]  # (lam, rank, task)
        by_task = of_lams[position(lams, lam, "lam")]
        mean, column = by_task.mean(1), position(ranks.values, rank, "rank")
        errors = reach(mean, images[setting])
        sigma, level = parts[setting].sigma.sel(how=how).values, levels[setting]
        kept_bars, cut = ranks.bars(sigma, lambda count: count <= ranks.count(rank))
        beside = by_task.T if grey == EACH_TASK else [of_lams[position(lams, other, "lam")].mean(1) for other in LAMS]
        values = _padded(beside, len(mean)) | {
            "sure": (mean - errors, mean + errors), "mean": mean, "own": level["own"], "chance": CHANCE,
            "arithmetic": level["arithmetic"], "average": level["average"], "kept": kept_bars, "cut": cut}
        alt = said(_ALT, setting=setting, how=how, lam=lam, rank=ranks.said(rank), mean=mean[column],
                   error=errors[column], by_task=listed(by_task[column], 2), over_ranks=by_rank(ranks, mean),
                   average=level["average"], arithmetic=level["arithmetic"], own=level["own"],
                   sigma=listed(sigma[:16], 2))
        about = f"{NAMES[how]}: {by_task.shape[1]} networks merged, the strongest directions of each kept"
        finding = finding_of_cart if how == HOWS[0] else finding_of_task_arithmetic
        return Frame(finding(mean, level["average"], images[setting]), alt, values,
                     key(("merged", about), ("", f"grey: {grey}")))

    of_lam = chips("λ", {f"{lam:g}": lam for lam in LAMS if lam in lams}, SHOWN_LAM)
    controls = {"rank": ranks.view_slider(SHOWN_RANK), "lam": of_lam,
                "setting": chips("tasks", {_short(name): name for name in names}, more=True),
                "how": chips("task vectors", {"from the average (CART)": HOWS[0], "from θ₀": HOWS[1]}, more=True),
                "grey": chips("grey lines", (OTHER_LAMS, EACH_TASK), more=True)}
    return {"kicker": "Chapter 8: how many directions to keep",
            "tries": ("Move the slider. Where does the accuracy rise, and what do the bars do there?",
                      "Change λ. What stays the same, and what grows?",
                      "Under “More”, choose the task vectors from θ₀, with λ = 1. Do these only lose when cut?",
                      "Under “More”, choose the tasks whose pixels all stay in place. Where has the bell gone?"),
            "charts": _charts(sweep, ranks), "draw": draw,
            "controls": controls, "hides": ["mean", "sure", *GREY], "stacked": True,
            "caption": f"{caption(sweep)} Task arithmetic at the λ that is best on held-out images. {rests_on(sweep)} "
                       f"{error_said(sweep)} Bands: two standard errors."}


def _charts(sweep, ranks):
    """Accuracy, and below it the singular values."""
    places = ranks.places
    lines = [Line(name, "other", x=places) for name in GREY]
    levels = (Reference("own", "single", "each alone"), Reference("arithmetic", "other", "task arithmetic"),
              Reference("average", "other", "average"), Reference("chance", "chance", "chance"))
    asked_about = position(ranks.values, SHOWN_RANK, "rank")
    above = Chart(ranks.view_axis("directions kept in layer 1"),
                  Axis("mean accuracy over the tasks", 0, 1, unit="percent"),
                  (*lines, *levels, Band("sure", "merged", x=places),
                   Line("mean", "merged", "merged", x=places, dots=True, near=True),
                   Star("guess", "merged", x=(places[asked_about],)), Handle("rank")))
    most = 1.05 * float(sweep.sigma.max())
    below = Chart(ranks.view_axis("direction"), Axis("strength of each direction in layer 1 (singular value)", 0, most),
                  (Bars("kept", "merged", "kept", x=places, bare=True),
                   Bars("cut", "other", "cut off", x=places, bare=True),
                   Handle("rank")), height=150)
    return [above, below]


def _padded(rows, width):
    """The grey lines' numbers by name; lines that are not needed have none."""
    return {name: rows[place] if place < len(rows) else np.full(width, np.nan) for place, name in enumerate(GREY)}


def _short(name):
    """A set of tasks on a chip: "100 % of the pixels permuted" is long, but says what it is."""
    return name.replace(" permuted", "")


def finding_of_cart(mean: np.ndarray, average: float, images: int) -> str:
    """What the curve over all ranks shows, from none to all directions: a bell, a dip before it, or neither."""
    best = int(mean.argmax())
    gains = Difference.of(float(mean[best]), average, images)
    inside = 0 < best < len(mean) - 1
    if not (gains.value > 0 and gains.is_news):
        losses = [Difference.of(float(value), average, images) for value in mean]
        if any(loss.value < 0 and loss.is_news for loss in losses):
            return "At this λ, no number of directions is clearly above the average, and some are below it"
        return "At this λ, every number of directions is within the noise of the plain average"
    leads = [Difference.of(float(value), average, images) for value in mean[1:best]]
    signs = [np.sign(lead.value) if lead.is_news else 0 for lead in leads]
    falls = Difference.of(float(mean[best]), float(mean[-1]), images)
    if not (inside and falls.is_news):
        return "The more directions, the better the merge"
    ends = Difference.of(float(mean[-1]), average, images)
    of_all = "all help" if ends.is_news and ends.value > 0 else "all hurt" if ends.is_news else "all give the average"
    if -1 in signs:
        if next(filter(None, signs)) < 0:
            return f"Too few directions hurt, {of_all}, the best number lies between"
        first, *others = of_all.removeprefix("all ").split()
        return (f"Some numbers of directions hurt, keeping all of them {' '.join((f'{first}s', *others))}, the best "
                "number lies between")
    none = "None and" if of_all == "all give the average" else "No direction gives the average,"
    return f"{none} {of_all}, the best number lies between"


def finding_of_task_arithmetic(mean: np.ndarray, average: float, images: int) -> str:
    """Of task vectors from θ₀: whether some number of directions is better than all of them, which is task arithmetic,
    and none, which is θ₀; the average is not asked."""
    alone = Difference.of(float(mean[0]), float(mean[1:].max()), images)
    if alone.value > 0 and alone.is_news:
        return "θ₀ is more accurate without any of these task vectors"
    cut, uncut = mean[1:-1].max(), mean[-1]
    gains = Difference.of(float(cut), float(uncut), images)
    if not gains.is_news:
        return "Task vectors from θ₀ lose nothing when they are cut, and gain nothing"
    return "Task vectors from θ₀ gain when they are cut, too" if gains.value > 0 else \
        "Task vectors from θ₀ only lose when they are cut"
