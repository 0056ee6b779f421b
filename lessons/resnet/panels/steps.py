"""What one more training step on a few images does to a network."""
import numpy as np
import xarray

from lessons.kit.noise import WIDE, error_of_share
from lessons.kit.page import Markup, Page, minus, said, table
from lessons.kit.sweep import caption, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, Spots, Star, key, percent, slider, view
from lessons.resnet.experiment.steps import costs
from lessons.resnet.panels.pairs import CHANCE

RUINED = 0.1  # of accuracy: a network that loses more in one step is ruined
ASKED = {"images": 4}  # what the prediction is about, and where the view opens
_LENGTHS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10)
_ALT = """
    Accuracy after one more training step on {images} images, mean over {draws} draws: {running:.3f} with running
    statistics, {anew:.3f} with new ones; before the step {before:.3f} and {anew_before:.3f}. In {ruined} draws it falls
    by more than 10 points. The mean length of the step is {length:.3f}."""


@view
def small_steps(sweep: xarray.Dataset, prediction=None):
    """What one training step on so many images does: left, accuracy after it over the number of images, a dot a draw,
    with their mean and two standard errors of it; grey, the mean with new statistics, and what it is before the step.
    Right, the same dots over the length of the step.

    Control: images. The prediction, the mean accuracy after a step on four with running statistics, is a star.
    """
    counts = [int(count) for count in sweep.images.values]
    after, anew = sweep.right.astype(float).mean("image").transpose("treatment", "images", "draw").values
    before = sweep.right_before.astype(float).mean("image").values
    mean, draws = after.mean(1), after.shape[1]
    far = WIDE * after.std(1, ddof=1) / np.sqrt(draws)
    lengths = sweep.moved.transpose("images", "draw").values
    if prediction:
        prediction.panel_answers(mean[position(counts, ASKED["images"])], ASKED)
    still = {"draws": (np.repeat(counts, draws), after.ravel()), "after the step": mean,
             "two standard errors": (mean - far, mean + far), "with new statistics": anew.mean(1),
             "before": before[0], "before, with new statistics": before[1], "before, again": before[0],
             "chance": CHANCE, "all": (lengths.ravel(), after.ravel())}

    def draw(images):
        row = position(counts, images)
        lost = before[0] - after[row]
        alt = said(_ALT, images=images, draws=draws, running=mean[row], anew=anew[row].mean(), before=before[0],
                   anew_before=before[1], ruined=(lost > RUINED).sum(), length=lengths[row].mean())
        return Frame(finding_of_steps(lost, sweep.sizes["image"]), alt, still | {"here": (lengths[row], after[row])},
                     key(("a", f"A dot: split 1’s network after one more step, on one draw of {images} images"),
                         ("single", "before that step"),
                         ("", "grey, left: with new statistics, the mean after the step; straight: before it")))

    error = percent(error_of_share(0.5, sweep.sizes["image"]), 1)
    control = slider("images in the step", counts, ASKED["images"], words=lambda count: f"{count} images")
    return {"kicker": "Chapter 2: the last batch", "charts": _charts(counts, lengths), "draw": draw,
            "controls": {"images": control}, "hides": [name for name in (*still, "here") if name not in _KNOWN],
            "caption": f"{caption(sweep)} Standard error of one accuracy: at most {error}."}


_KNOWN = ("before", "before, again", "chance")  # before the guess


def _charts(counts, lengths):
    """Accuracy over the number of images, and over the length of the step."""
    up = Axis("accuracy on its own task", 0, 1, unit="percent")
    ticks = {count: f"{count}" for count in counts}
    left = Chart(Axis("images", 0.8 * counts[0], 1.25 * counts[-1], "log", ticks=ticks), up,
                 (Reference("chance", "chance", "chance"), Reference("before", "single", "before"),
                  Reference("before, with new statistics", "other", aside=True),
                  Line("with new statistics", "other", "new statistics"), Band("two standard errors", "a"),
                  Spots("draws", "a", small=True), Line("after the step", "a", dots=True, near=True),
                  Star("guess", "a", x=(ASKED["images"],)), Handle("images")))
    low, high = 0.7 * lengths.min(), 1.4 * lengths.max()
    ticks = {length: f"{length:g}" for length in _LENGTHS if low < length < high}
    right = Chart(Axis("length of the step, ‖Δθ‖", low, high, "log", ticks=ticks), up,
                  (Reference("before, again", "single", aside=True), Spots("all", "other", small=True),
                   Spots("here", "a")))
    return [left, right]


def finding_of_steps(lost: np.ndarray, images: int) -> str:
    """What one more step on so many images costs, in one sentence.

    Args:
        lost: (draws,), accuracy before the step minus accuracy after it.
        images: test images on which each was measured.
    """
    ruined = (lost > RUINED).mean()
    if ruined:
        often = "ruins the network" if ruined == 1 else "usually ruins the network" if ruined > 0.5 else \
            "can ruin the network"
        return f"One more step on {'so few' if ruined > 0.5 else 'this many'} images {often}"
    of_draws, of_images = lost.std(ddof=1) / np.sqrt(len(lost)), error_of_share(0.5, images)
    if abs(lost.mean()) < WIDE * np.hypot(of_draws, of_images):
        return "After one more step on this many images, the mean change is within the noise"
    return f"One more step on this many images {'costs' if lost.mean() > 0 else 'gains'} a little accuracy"


def question(sweep: xarray.Dataset) -> str:
    """What is asked before the panel is shown."""
    before = sweep.right_before.sel(treatment="interpolated").astype(float).mean().item()
    return (f"The network finetuned on split 1 classifies {before:.0%} of the test images of this task correctly. It "
            f"takes **one more** training step with the usual learning rate, on **{ASKED['images']}** images of its "
            "own task. What accuracy does it have afterwards? (Guessing gives one in five.)")


def reading_of_steps(sweep: xarray.Dataset) -> Page:
    """Whether new statistics repair what the step costs, and a table of what steps on 4 and on 64 images cost."""
    few, many = costs(sweep, 4), costs(sweep, 64)
    words = said("""With new statistics before and after it, the step on four images costs {anew:.1f} points on
                    average. Compared with running ones, it costs less in {repair} of {draws} draws and more in
                    {worsen}. In the others the difference is within the noise.{stale}""", stale=_stale(many), **few)
    rows = [(f"{images} images", _points(cost["running"]), f"{cost['running_draws']} of {cost['draws']}",
             _points(cost["anew"])) for images, cost in ((4, few), (64, many))]
    title = "Do new statistics repair the network?"
    made = table(("a step on", "costs (− is a gain), running statistics",
                  "draws in which it costs more than two standard errors",
                  "costs (− is a gain), new statistics before and after"), rows,
                 before=Markup("<p><b>{}</b> {} {}</p>").format(title, _repaired(few), words))
    return Page(f"{_repaired(few)} {words}\n{made.text}", made.page)


def _points(cost):
    """A cost in points, which is negative where accuracy rises."""
    return minus(f"{cost:.1f} points")


def _repaired(cost):
    """Whether new statistics repair the damage of a step, in a few words."""
    if cost["running"] < 100 * RUINED:
        return "There is little to repair."
    if not cost["repair"]:
        return "No."
    return "For the most part." if cost["anew"] < cost["running"] / 2 else "In part at most."


def _stale(cost):
    """Where an ordinary step gains accuracy with running statistics alone: a sentence, or nothing."""
    if not (cost["running"] < 0 <= cost["anew"] and 2 * cost["worsen"] > cost["draws"]):
        return ""
    return " " + said("""An ordinary step on 64 images gains {gain:.1f} points with running statistics, but with new
                          ones before and after it there is no gain.""", gain=-cost["running"])
