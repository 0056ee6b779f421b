"""Two parents on Spirals: what each knows, and how their mixtures start training on all points."""
import numpy as np
import xarray
from matplotlib.colors import LinearSegmentedColormap

import data
from lessons.kit import plotting
from lessons.kit.noise import WIDE
from lessons.kit.page import Page, minus, reading, said, table
from lessons.kit.plotting import still
from lessons.kit.sweep import caption, names
from lessons.kit.view import (
    Axis,
    Band,
    Chart,
    Frame,
    Handle,
    Image,
    Line,
    Reference,
    Spots,
    Star,
    chips,
    key,
    slider,
    view,
)
from lessons.kit.view.printed import COLOURS
from lessons.sail.experiment import spirals
from lessons.sail.panels.parts import ENDS, GAMMA
from lessons.start.algorithms import decision_map, grid

EXTENT, SIDE = 1.2, 48  # of the plane, and of its picture in pixels
ARMS = ("class 1", "class 2")
PAIRS = {"one class each": spirals.Setting(spirals.ARMS, spirals.ONE),
         "both classes": spirals.Setting(spirals.SAMPLES, spirals.ONE)}
ASKED = {"setting": str(PAIRS["one class each"]), "gamma": 0.5}
CERTAIN = 0.05  # of probability: a network that gives the other class less everywhere has one answer
_CLASSES = (COLOURS["class1"], COLOURS["class2"])
_OF_CLASSES = LinearSegmentedColormap.from_list("classes", _CLASSES)
NO_GAIN, HELPS, HARMS = 0.95, 0.5, 1.5  # over the better parent's loss; and in units of a random start's
_ALT = """
    Parents: {setting}. γ = {gamma:.2f}. Mean loss over training {loss:.2f} times that of random starts, which differ
    among each other by {spread:.2f} (standard deviation of {random}); the parents alone {a:.2f} (A) and {b:.2f} (B)
    times. Accuracy on test points before training {before:.2f}, after {epochs} epochs {after:.3f}."""


@still
def what_parents_know(sweep: xarray.Dataset):
    """Three maps of the plane: what A takes every point for, which saw class 1 alone, what B does, which saw class 2
    alone, and the points of the task."""
    points, setting, extent = grid(SIDE, EXTENT), ASKED["setting"], (-EXTENT, EXTENT, -EXTENT, EXTENT)
    fig, axes = plotting.figure(3, height=3.6, sharey=True)
    told = []
    for ax, gamma, title in zip(axes, (1.0, 0.0, None), ("A, trained on class 1", "B, trained on class 2", "The task")):
        if gamma is not None:
            second = decision_map(spirals.network_at(sweep, setting, gamma), points).numpy()
            ax.imshow(second, cmap=_OF_CLASSES, vmin=0, vmax=1, origin="lower", extent=extent, alpha=0.3)
            told.append(f"{title}: the probability of class 2 lies between {second.min():.2f} and {second.max():.2f}")
        for (name, (x, y)), colour, inside in zip(_dots().items(), _CLASSES, (_CLASSES[0], "white")):
            ax.plot(x, y, linestyle="", marker="o", markersize=4, color=colour, label=name, markerfacecolor=inside)
        ax.set(title=title, xticks=[], yticks=[], aspect="equal")
    fig.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return plotting.show(fig, f"{'. '.join(told)}. The task: two spirals, each a class.", caption(sweep))


@view
def starts(sweep: xarray.Dataset, prediction=None):
    """What the network at γ takes every point of the plane for before training; and along γ, its mean loss over the
    training that follows, in units of a random start's, with both parents alone.

    Controls: gamma, setting. The prediction, the mean loss half-way between parents of one class each, is a star.
    """
    gammas, points = [float(gamma) for gamma in sweep.gamma.values], grid(SIDE, EXTENT)
    loss = spirals.relative(sweep)
    random = (sweep.random_mean_loss / sweep.random_mean_loss.mean("start")).values
    dots = _dots()
    if prediction:
        prediction.panel_answers(float(loss.sel(ASKED)), ASKED)

    def draw(gamma, setting):
        along = loss.sel(setting=setting).values
        second = decision_map(spirals.network_at(sweep, setting, gamma), points).numpy()[::-1]
        ends = {"B alone": ([0.0], [along[gammas.index(0.0)]]), "A alone": ([1.0], [along[gammas.index(1.0)]])}
        values = {"sees the second": second, "mixture": along, "random start": 1.0,
                  "random starts": ([random.min()] * 2, [random.max()] * 2)} | ends | dots
        accuracy = sweep.accuracy.sel(setting=setting, gamma=gamma).values
        alt = said(_ALT, setting=setting, gamma=gamma, loss=along[gammas.index(gamma)], spread=random.std(ddof=1),
                   random=len(random), a=ends["A alone"][1][0], b=ends["B alone"][1][0], before=accuracy[0],
                   epochs=spirals.EPOCHS, after=accuracy[-1])
        return Frame(finding_of_starts(gammas, along, random), alt, values,
                     key(("merged", "The mixture as a start"), ("a", "A alone"), ("b", "B alone"),
                         ("class1", ARMS[0]), ("class2", ARMS[1]), ("", "grey band: random starts")))

    texts = {text: str(setting) for text, setting in PAIRS.items()}
    controls = {"gamma": slider("γ, the share of A", {minus(f"{gamma:g}"): gamma for gamma in gammas}, 0.5,
                                words=_words, ends=[("", "beyond B"), ("", "beyond A")], places=gammas),
                "setting": chips("each parent saw", texts, ASKED["setting"])}
    return {"kicker": "Chapter 9: is any mixture a head start?",
            "tries": ("Drag the handle from B to A.",
                      "Choose “both classes”. Is any mixture better than the better parent?"),
            "charts": _charts(gammas, loss.sel(
                setting=list(texts.values()))), "draw": draw, "controls": controls, "hides": ["mixture"],
            "caption": f"{caption(sweep)} Band: the range of {len(random)} random starts. Points: every eighth test "
                       "point. Mean loss over all epochs of training."}


def _words(gamma):
    """Where the slider stands."""
    return {0.0: "B alone", 0.5: "half-way", 1.0: "A alone"}.get(gamma, minus(f"γ = {gamma:g}"))


def _dots():
    """Every eighth test point of every arm."""
    test = data.load("spirals", "test")
    return {arm: test.x[test.y == place][::8].T.numpy() for place, arm in enumerate(ARMS)}


def _charts(gammas, loss):
    """The plane as the network sees it, and a curve along γ in units of a random start's."""
    plane = (-EXTENT, EXTENT, -EXTENT, EXTENT)
    left = Chart(Axis("", -EXTENT, EXTENT, ticks={0: ""}),
                 Axis("shaded: taken for class 2, before training", -EXTENT, EXTENT, ticks={0: ""}),
                 (Image("sees the second", "class2", extent=plane, low=0, high=1.7),
                  *(Spots(arm, role, small=True, aside=True) for arm, role in zip(ARMS, ("class1", "class2")))))
    values = loss.values
    up = Axis("mean loss over training (random: 1)", float(0.7 * np.nanmin(values)),
              float(1.4 * np.nanmax(values)), "log", digits=2,
              ticks={tick: f"{tick:g}" for tick in (0.1, 0.3, 1, 3, 10)})
    right = Chart(GAMMA, up, (Band("random starts", "other", x=ENDS, aside=True),
                              Reference("random start", "other", "random start"),
                              Line("mixture", "merged", near=True, dots=len(gammas) < 12),
                              Spots("B alone", "b"), Spots("A alone", "a"),
                              Star("guess", "merged", x=(ASKED["gamma"],)), Handle("gamma")))
    return [left, right]


def finding_of_starts(gammas: list[float], along: np.ndarray, random: np.ndarray) -> str:
    """Whether mixtures between the parents are a better start than random weights, and than one parent alone, by more
    than random starts differ among each other.

    Args:
        gammas: shares of A; 0, ½ and 1 are among them.
        along: (gammas,), the mean loss over training, in units of a random start's.
        random: the same of every random start.
    """
    spread = float(random.std(ddof=1))
    between = np.array([loss for gamma, loss in zip(gammas, along) if 0 <= gamma <= 1])
    b, half, a = (along[gammas.index(share)] for share in (0.0, 0.5, 1.0))
    clearly = 1 - WIDE * spread * np.sqrt(1 + 1 / len(random))  # below it a loss is told from random starts
    doubt = WIDE * spread * np.sqrt(2)  # of two losses, as a share of them
    if between.max() < clearly:
        if half > (1 + doubt) * min(a, b):
            return "Every mixture between them beats a random start, but one parent alone beats half-way"
        if half < (1 - doubt) * min(a, b):
            return "Every mixture between them beats a random start, and half-way beats both parents"
        return "Every mixture between them beats a random start, and one parent alone does as well"
    if half < clearly:
        return "Their average is a better start than random weights, though a parent alone is not"
    if between.min() >= clearly:
        return "No mixture between these two is a better start than random weights"
    return "Some mixtures between these two are better starts than random weights, their average is not"


def reading_of_one_parent(sweep: xarray.Dataset) -> Page:
    """What the view shows: where the head start came from, and whether mixing added to it."""
    loss = spirals.relative(sweep)
    random = (sweep.random_mean_loss / sweep.random_mean_loss.mean("start")).values
    inside = loss.where((sweep.gamma >= 0) & (sweep.gamma <= 1), drop=True)
    ends = loss.sel(gamma=[0.0, 1.0]).min("gamma")
    (one, best_one), (both, best_both) = ((float(ends.sel(setting=str(setting))), float(inside.sel(setting=str(
        setting)).min())) for setting in PAIRS.values())
    added_nothing = both < HELPS and best_both >= NO_GAIN * both
    title = ("One parent alone had the whole head start, and mixing added nothing to it" if added_nothing
             else "A parent that knows the task is a good start")
    told = ["When the parents had seen both classes, starting from the better one alone gave only {both:.2f} times the "
            "loss that random weights gave,", "and no mixture was clearly better." if added_nothing
            else "and the best mixture {best_both:.2f} times.",
            "When they had seen one class each, even the best mixture gave {best_one:.2f} times that loss."]
    if best_one >= random.min():
        beside = "worse than all" if best_one > random.max() else "within the range of"
        told.append(f"That is {beside} single random initialisations, {{least:.2f}} to {{most:.2f}}.")
    if one >= HARMS:
        told.append("Each parent alone was far worse, at {one:.2f} or more.")
    return reading(title, " ".join(told), one=one, both=both, best_one=best_one, best_both=best_both,
                   least=random.min(), most=random.max())


def reading_of_certainty(sweep: xarray.Dataset) -> Page:
    """How sure parents of one class each are, on the whole map."""
    points = grid(SIDE, EXTENT)
    a, b = (decision_map(spirals.network_at(sweep, ASKED["setting"], gamma), points) for gamma in (1.0, 0.0))
    doubt = max(a.max().item(), 1 - b.min().item())
    title = "Each parent is certain of one class, everywhere" if doubt < CERTAIN else "No parent is certain everywhere"
    return reading(title, "The probability that it gives the other class is at most {doubt:.3f} on the whole map.",
                   doubt=doubt)


def summary(sweep: xarray.Dataset) -> Page:
    """A row for every pair of parents: the mean loss over training from each alone, from the average, and from the best
    γ, in units of a random start's."""
    loss = spirals.relative(sweep)
    rows = []
    for setting in names(sweep.setting):
        along = loss.sel(setting=setting)
        best = float(along.idxmin("gamma"))
        rows.append((setting, f"{float(along.sel(gamma=0.0)):.2f}", f"{float(along.sel(gamma=1.0)):.2f}",
                     f"{float(along.sel(gamma=0.5)):.2f}", f"{float(along.min()):.2f} (γ = {best:g})",
                     f"{float(sweep.apart.sel(setting=setting)):.1f}"))
    return table(("the parents learned", "B alone", "A alone", "γ = ½", "best γ", "‖A − B‖"), rows)


def reading_of_figure_8(sweep: xarray.Dataset) -> Page:
    """What agrees and what differs between Figures 8 and 9 of SAIL and ours, with this sweep's numbers."""
    numbers = spirals.claim_10(sweep)
    return reading("Figures 8 and 9 of the source, and ours", """
        With one arm each, as it is written: at no γ is the mean loss below {arms_least:.2f} times a random start's;
        at γ = ½ it is up to {arms_half:.2f} times, with a mean gradient at least {arms_slope:.2f} times as long, and a
        parent alone has {arms_parent:.1f} times. With a sample of both arms each, the average has {samples_half:.2f}
        times from one start, {strangers_half:.2f} from two, {matched_half:.2f} from two after matching; and one parent
        alone, which nobody mixed with anything, {samples_parent:.2f}.""", **numbers)
