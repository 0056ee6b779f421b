"""What one more training step on a few images does to a network."""
import numpy as np
import xarray

from lessons.kit.noise import WIDE, error_of_share
from lessons.kit.page import Page, reading, said
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
    with their mean and two standard errors of it; grey, the mean with new statistics. Right, the same dots over the
    length of the step.

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
             "before": before[0], "before, again": before[0], "chance": CHANCE, "all": (lengths.ravel(), after.ravel())}

    def draw(images):
        row = position(counts, images)
        lost = before[0] - after[row]
        alt = said(_ALT, images=images, draws=draws, running=mean[row], anew=anew[row].mean(), before=before[0],
                   anew_before=before[1], ruined=(lost > RUINED).sum(), length=lengths[row].mean())
        return Frame(finding_of_steps(lost, sweep.sizes["image"]), alt, still | {"here": (lengths[row], after[row])},
                     key(("a", f"Split 1’s network after one more step; a dot is one draw of {images} images"),
                         ("single", "before that step")))

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


def reading_of_steps(sweep: xarray.Dataset) -> Page:
    """What the step costs, and whether new statistics repair it, draw by draw."""
    few, many = costs(sweep, 4), costs(sweep, 64)
    unclear = few["draws"] - few["repair"] - few["worsen"]
    return reading("What you should have seen", """
        A step on 4 images costs {running:.0f} points on average, and more than two standard errors in {running_draws}
        of {draws} draws. An ordinary step on 64 {usual} points on average, and costs more than two standard errors in
        {usual_draws} of {draws} draws. Do new statistics repair the network? With new statistics before and after it,
        the step on 4 costs {anew:.0f} points on average. Compared with running ones, it costs less in {repair} of
        {draws} draws, more in {worsen}, and in {kept} the difference is within the noise.""",
        usual=f"{'costs' if many['running'] > 0 else 'gains'} {abs(many['running']):.1f}",
        usual_draws=many["running_draws"], kept=unclear, **few)
