"""Chapter 8's bell as a view: accuracy against the number of directions that are kept of every task vector."""
import numpy as np
import xarray

from lessons.cart.experiment.grid import HOWS
from lessons.cart.experiment.readings import one
from lessons.cart.panels.bell import CHANCE, DISJOINT, SHOWN, SHOWN_LAM, SHOWN_RANK, error_said, levels_of, settings_of
from lessons.cart.panels.parts import Ranks, by_rank, numbers_of
from lessons.kit.noise import WIDE, Difference, error_of_share
from lessons.kit.page import said
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Star, chips, key, slider, view
from lessons.merging.search import rests_on

LAMS = (0.3, 0.5, 1.0, 2.0, 3.0, 6.0)  # those that have a chip; the others are grey curves
NAMES = dict(zip(HOWS, ("CART", "task arithmetic")))


@view
def directions(sweep: xarray.Dataset, prediction=None):
    """Mean accuracy over the tasks against the directions kept, at one λ; grey, the same at the other λ.

    Controls: rank, lam, how, setting. The prediction, the mean accuracy at `SHOWN_RANK` and `SHOWN_LAM` with all pixels
    permuted, is a star.
    """
    ranks, lams = Ranks(sweep), numbers_of(sweep.lam)
    names = [name for name in SHOWN if name in sweep.setting.values] or settings_of(sweep)
    parts = {name: one(sweep, setting=name) for name in names}
    levels = {name: levels_of(part) for name, part in parts.items()}
    means = {name: part.accuracy.sel(part="test").mean("task").transpose("how", "lam", "rank").values
             for name, part in parts.items()}
    images = {name: part.sizes["task"] * int(sweep.attrs["test_images"]) for name, part in parts.items()}
    asked = {"setting": DISJOINT, "how": HOWS[0], "lam": SHOWN_LAM, "rank": SHOWN_RANK}
    if prediction:
        truth = means[DISJOINT][0, position(lams, SHOWN_LAM, "lam"), position(ranks.values, SHOWN_RANK, "rank")]
        prediction.panel_answers(truth, asked, "star")
    places = tuple(float(place) for place in range(len(ranks.values)))

    def draw(rank, lam, how, setting=names[0]):
        of_lams = means[setting][HOWS.index(how)]
        mean, column = of_lams[position(lams, lam, "lam")], position(ranks.values, rank, "rank")
        errors = np.array([WIDE * error_of_share(value, images[setting]) for value in mean])
        level = levels[setting]
        values = {f"λ = {other:g}": of_lams[position(lams, other, "lam")] for other in LAMS}
        values |= {"sure": (mean - errors, mean + errors), "mean": mean, "own": level["own"], "chance": CHANCE,
                   "arithmetic": level["arithmetic"], "average": level["average"]}
        alt = said("""{setting}, {how}, λ = {lam:g}, {rank} kept: mean accuracy {mean:.3f}; over all ranks {over_ranks}.
                      Average {average:.3f}, task arithmetic {arithmetic:.3f}, networks alone {own:.3f}.""",
                   setting=setting, how=how, lam=lam, rank=ranks.said(rank), mean=mean[column],
                   over_ranks=by_rank(ranks, mean), average=level["average"], arithmetic=level["arithmetic"],
                   own=level["own"])
        about = f"{parts[setting].sizes['task']} networks, merged; the strongest directions of each are kept"
        return Frame(finding(mean, level["average"], images[setting]), alt, values,
                     key(("merged", f"{NAMES[how]}: {about}"), ("", "grey: the same at other λ")))

    grey = [Line(f"λ = {lam:g}", "other", x=places) for lam in LAMS]
    chart = Chart(
        Axis("directions kept in layer 1", -0.3, len(places) - 0.7, kind="places",
             ticks={place: text for place, text in zip(places, ranks.texts) if place % 2 == 0}),
        Axis("mean accuracy over the tasks", 0, 1, unit="percent"),
        (*grey, Reference("own", "single", "each alone"), Reference("arithmetic", "other", "task arithmetic"),
         Reference("average", "other", "average"), Reference("chance", "chance", "chance"),
         Band("sure", "merged", x=places), Line("mean", "merged", "merged", x=places, dots=True),
         Star("guess", "merged", x=(places[position(ranks.values, SHOWN_RANK, "rank")],)), Handle("rank")))
    controls = {
        "rank": slider("directions kept", dict(zip(ranks.texts, ranks.values)), SHOWN_RANK, words=ranks.said,
                       ends=[("", "none: the average"), ("", "all of them")], places=places),
        "lam": chips("λ", {f"{lam:g}": lam for lam in LAMS}, SHOWN_LAM),
        "setting": chips("tasks", names, more=True),
        "how": chips("directions", {"from the average (CART)": HOWS[0], "from θ₀": HOWS[1]}, more=True)}
    return {"kicker": "Chapter 8: how many directions to keep", "charts": [chart], "draw": draw, "controls": controls,
            "hides": ["mean", "sure", *(line.name for line in grey)],
            "caption": f"{caption(sweep)} Task arithmetic at the λ that is best on held-out images. {rests_on(sweep)} "
                       f"{error_said(sweep)} Bands: two standard errors."}


def finding(mean: np.ndarray, average: float, images: int) -> str:
    """What the curve over all ranks shows, from none to all directions: a bell, a dip before it, or neither."""
    best = int(mean.argmax())
    gains = Difference.of(float(mean[best]), average, images)
    inside = 0 < best < len(mean) - 1
    if not (gains.value > 0 and gains.is_news):
        return "No number of directions gives more than the plain average"
    hurts = any((lost := Difference.of(float(value), average, images)).value < 0 and lost.is_news
                for value in mean[1:best])
    falls = Difference.of(float(mean[best]), float(mean[-1]), images)
    if not (inside and falls.is_news):
        return "The more directions, the better the merge"
    ends = Difference.of(float(mean[-1]), average, images)
    of_all = "all help" if ends.is_news and ends.value > 0 else "all hurt" if ends.is_news else "all give the average"
    few = "Too few directions hurt" if hurts else "No direction is too few"
    return f"{few}, {of_all}, the best number lies between"
