"""Chapter 1's line between two finetuned networks, as a view: accuracy of the interpolated network on both tasks."""
import xarray

from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import said
from lessons.kit.sweep import at, caption, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Points, Reference, Star, chips, key, percent, view
from lessons.lines.panels import ALPHA_AXIS, share_of_a

CHANCE = 0.1  # of ten digits
MARKS = {"i": "A", "j": "B", "both": "both"}  # task of the sweep: the mark's name


@view
def midpoint(sweep: xarray.Dataset, prediction=None):
    """Accuracy of the network between two that learned digits turned by different angles, on each task and on both.

    Controls: alpha, pair. The prediction, the accuracy on both tasks half-way, is a star.
    """
    alphas = sweep.alpha.values
    pairs = sorted(map(str, sweep.pair.values), key=lambda pair: pair != sweep.attrs["opens_on"])
    accuracies = {pair: {mark: at(sweep, pair=pair, task=task).accuracy.values for task, mark in MARKS.items()}
                  for pair in pairs}
    images = int(sweep.attrs["test_images"])
    asked = {"pair": sweep.attrs["opens_on"], "alpha": 0.5}
    if prediction:
        prediction.panel_answers(accuracies[asked["pair"]]["both"][position(alphas, 0.5)], asked, "star")

    def draw(alpha, pair):
        step, of_mark = position(alphas, alpha), accuracies[pair]
        angle_a, angle_b = pair.split(" and ")
        scores = {mark: values[step] for mark, values in of_mark.items()}
        ends = [of_mark["both"][0], of_mark["both"][-1]]
        values = {**of_mark, "chord": ends, "B alone": ends[:1], "A alone": ends[1:], "chance": CHANCE}
        alt = said("""α = {alpha:.2f}: accuracy {A:.3f} on the digits turned by {angle_a}, {B:.3f} on those turned by
                      {angle_b}, {both:.3f} on both together. Alone, B has {first:.3f} on both and A {last:.3f}.""",
                   alpha=alpha, angle_a=angle_a, angle_b=angle_b, first=ends[0], last=ends[1], **scores)
        names = key(("a", f"A learned digits turned by {angle_a}"), ("b", f"B learned digits turned by {angle_b}"),
                    ("merged", "Both tasks: all test images of A and of B"))
        return Frame(_finding(of_mark["both"], images), alt, values, names)

    chart = Chart(
        ALPHA_AXIS,
        Axis("accuracy", 0, 1, unit="percent"),
        (Line("chord", "merged", "", x=(0, 1), dashed=True), Reference("chance", "chance", "chance"),
         Line("A", "a", "task A"), Line("B", "b", "task B"), Line("both", "merged", "both tasks"),
         Points("B alone", "b", x=(0,)), Points("A alone", "a", x=(1,)), Star("guess", "merged", x=(0.5,)),
         Handle("alpha")))
    error = error_of_share(0.5, images)
    return {
        "kicker": "Chapter 1: along the line", "charts": [chart], "draw": draw,
        "controls": {"alpha": share_of_a(alphas), "pair": chips("A and B learned digits turned by", pairs)},
        "hides": ["A", "B", "both", "chord"],
        "caption": f"{caption(sweep)} Standard error of an accuracy: at most {percent(error, 1)}.",
    }


def _finding(both, images: int) -> str:
    """What the whole line shows: is its middle better on both tasks than each of the two networks?"""
    middle = Difference.of(both[len(both) // 2], max(both[0], both[-1]), 2 * images)
    if not middle.is_news:
        return "The midpoint of two specialists is as good on both tasks as one of them"
    return "The midpoint of two specialists is a generalist" if middle.value > 0 else \
        "The midpoint of two specialists is worse on both tasks than one of them"
