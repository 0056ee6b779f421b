"""Panel (a): two parents on Spirals, mixed and trained on."""
import numpy as np
import xarray

import data
from lessons.kit.noise import WIDE
from lessons.kit.page import Page, reading, said, table
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
from lessons.sail.experiment import spirals
from lessons.sail.panels.parts import ENDS, GAMMA, minus
from lessons.start.algorithms import decision_map, grid

EXTENT, SIDE = 1.2, 48  # of the plane, and of its picture in pixels
ARMS = ("first arm", "second arm")
ASKED = {"setting": str(spirals.SOME[1]), "gamma": 0.5}
_SHORT = {spirals.ARMS: "one arm each", spirals.SAMPLES: "both arms", spirals.NOTHING: "nothing"}
_ALT = """
    Parents: {setting}. γ = {gamma:.2f}. Mean loss over training {loss:.2f} times that of random starts, which differ
    among each other by {spread:.2f} (standard deviation of {random}); the parents alone {a:.2f} (A) and {b:.2f} (B)
    times. Mean length of the gradient {slope:.2f} times. Accuracy on test points before training {before:.2f}, after
    {epochs} epochs {after:.3f}."""


@view
def starts(sweep: xarray.Dataset, prediction=None):
    """Panel (a): what the network at γ takes every point of the plane for before training; and along γ, its mean loss
    over the training that follows, in units of a random start's, with both parents alone. Grey: the mean length of the
    gradient.

    Controls: gamma, setting. The prediction, the mean loss half-way between parents of one arm each, is a star.
    """
    gammas, points = [float(gamma) for gamma in sweep.gamma.values], grid(SIDE, EXTENT)
    loss = spirals.relative(sweep)
    slope = sweep.mean_slope / sweep.random_mean_slope.mean("start")
    random = (sweep.random_mean_loss / sweep.random_mean_loss.mean("start")).values
    dots = _dots()
    if prediction:
        prediction.panel_answers(float(loss.sel(ASKED)), ASKED)

    def draw(gamma, setting):
        along = loss.sel(setting=setting).values
        second = decision_map(spirals.network_at(sweep, setting, gamma), points).numpy()[::-1]
        ends = {"B alone": ([0.0], [along[gammas.index(0.0)]]), "A alone": ([1.0], [along[gammas.index(1.0)]])}
        values = {"sees the second": second, "mixture": along, "random start": 1.0,
                  "random starts": ([random.min()] * 2, [random.max()] * 2),
                  "gradient": slope.sel(setting=setting).values} | ends | dots
        accuracy = sweep.accuracy.sel(setting=setting, gamma=gamma).values
        alt = said(_ALT, setting=setting, gamma=gamma, loss=along[gammas.index(gamma)], spread=random.std(ddof=1),
                   random=len(random), a=ends["A alone"][1][0], b=ends["B alone"][1][0], before=accuracy[0],
                   slope=float(slope.sel(setting=setting, gamma=gamma)), epochs=spirals.EPOCHS, after=accuracy[-1])
        return Frame(finding_of_starts(gammas, along, random), alt, values,
                     key(("merged", "The mixture as a start"), ("a", "A alone"), ("b", "B alone"),
                         ("class1", ARMS[0]), ("class2", ARMS[1]), ("", "grey line: mean length of its gradient")))

    texts = {_short(setting): setting for setting in shown(names(sweep.setting))}
    controls = {"gamma": slider("γ, the share of A", {minus(f"{gamma:g}"): gamma for gamma in gammas}, 0.5,
                                words=_words, ends=[("", "beyond B"), ("", "beyond A")], places=gammas),
                "setting": chips("each parent learned", texts, ASKED["setting"])}
    return {"kicker": "Chapter 9: a mixture to begin with", "charts": _charts(gammas, loss, slope), "draw": draw,
            "controls": controls, "hides": ["mixture", "gradient"],
            "caption": f"{caption(sweep)} Band: the range of {len(random)} random starts. Points: every eighth test "
                       "point. Mean loss over all epochs of training."}


def shown(settings: list[str]) -> list[str]:
    """The six pairs of parents that the view offers: those of profile quick, but in place of two random networks a pair
    with one pretraining where there is one."""
    pretrained = spirals.Setting(spirals.ARMS, spirals.PRETRAINED)
    last = pretrained if str(pretrained) in settings else spirals.NO_PARENTS
    return [str(setting) for setting in (*spirals.SOME[:-1], last)]


def _short(setting):
    """A pair of parents on a chip."""
    parents, _, start = setting.partition("; ")
    return f"{_SHORT[parents]}, {start}" if start else _SHORT[parents]


def _words(gamma):
    """Where the slider stands."""
    return {0.0: "B alone", 0.5: "half-way", 1.0: "A alone"}.get(gamma, minus(f"γ = {gamma:g}"))


def _dots():
    """Every eighth test point of every arm."""
    test = data.load("spirals", "test")
    return {arm: test.x[test.y == place][::8].T.numpy() for place, arm in enumerate(ARMS)}


def _charts(gammas, loss, slope):
    """The plane as the network sees it, and two curves along γ in units of a random start's."""
    plane = (-EXTENT, EXTENT, -EXTENT, EXTENT)
    left = Chart(Axis("", -EXTENT, EXTENT, ticks={0: ""}),
                 Axis("shaded: taken for the second arm, before training", -EXTENT, EXTENT, ticks={0: ""}),
                 (Image("sees the second", "class2", extent=plane, low=0, high=1.7),
                  *(Spots(arm, role, small=True, aside=True) for arm, role in zip(ARMS, ("class1", "class2")))))
    values = np.concatenate([array.values.ravel() for array in (loss, slope)])
    up = Axis("mean loss over training (random: 1)", float(0.7 * np.nanmin(values)),
              float(1.4 * np.nanmax(values)), "log", digits=2,
              ticks={tick: f"{tick:g}" for tick in (0.1, 0.3, 1, 3, 10)})
    right = Chart(GAMMA, up, (Band("random starts", "other", x=ENDS, aside=True),
                              Reference("random start", "other", "random start"), Line("gradient", "other"),
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
        at γ = ½ it is {arms_half:.2f} times, with a mean gradient {arms_slope:.2f} times as long, and a parent alone
        has {arms_parent:.1f} times. With a sample of both arms each, the average has {samples_half:.2f} times from one
        start, {strangers_half:.2f} from two, {matched_half:.2f} from two after matching; and one parent alone, which
        nobody mixed with anything, {samples_parent:.2f}.""", **numbers)
