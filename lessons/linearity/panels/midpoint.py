"""Chapter 1's line between two finetuned networks, as a view: accuracy of the interpolated network on both tasks."""
import xarray

from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import said
from lessons.kit.sweep import at, caption, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, Star, chips, key, percent, slider, view

CHANCE = 0.1  # of ten digits
MARKS = {"i": "A", "j": "B", "both": "both"}  # task of the sweep: the mark's name


@view
def midpoint(sweep: xarray.Dataset, prediction=None):
    """Accuracy of the network between two that learned digits turned by different angles, on each task and on both.

    Controls: alpha, pair. The prediction, the accuracy on both tasks half-way, is a star.
    """
    alphas = [float(alpha) for alpha in sweep.alpha.values]
    pairs = sorted(map(str, sweep.pair.values), key=lambda pair: pair != sweep.attrs["opens_on"])
    accuracies = {pair: {mark: at(sweep, pair=pair, task=task).accuracy.values for task, mark in MARKS.items()}
                  for pair in pairs}
    images = int(sweep.attrs["test_images"])
    about = {"pair": sweep.attrs["opens_on"], "alpha": 0.5}
    if prediction:
        prediction.panel_answers(accuracies[about["pair"]]["both"][position(alphas, 0.5)], about, "star")

    def draw(alpha, pair):
        step, of_mark = position(alphas, alpha), accuracies[pair]
        angle_a, angle_b = pair.split(" and ")
        values = {**of_mark, "chord": [of_mark["both"][0], of_mark["both"][-1]], "chance": CHANCE}
        alt = said("""α = {alpha:.2f}: accuracy {A:.3f} on the digits turned by {angle_a}, {B:.3f} on those turned by
                      {angle_b}, {both:.3f} on both together. Alone, B has {first:.3f} on both and A {last:.3f}.""",
                   alpha=alpha, angle_a=angle_a, angle_b=angle_b, first=of_mark["both"][0], last=of_mark["both"][-1],
                   **{mark: accuracy[step] for mark, accuracy in of_mark.items()})
        names = key(("a", f"A learned digits turned by {angle_a}"), ("b", f"B learned digits turned by {angle_b}"),
                    ("merged", "Both tasks: all test images of A and of B"))
        return Frame(_finding(of_mark["both"], images), alt, values, names)

    chart = Chart(
        Axis("α", 0, 1, ticks={0: "0", 0.25: "0.25", 0.5: "0.5", 0.75: "0.75", 1: "1"}),
        Axis("accuracy", 0, 1, unit="percent"),
        (Line("chord", "merged", "", x=(0, 1), dashed=True), Reference("chance", "chance", "chance"),
         Line("A", "a", "task A"), Line("B", "b", "task B"), Line("both", "merged", "both tasks"),
         Star("guess", "merged", x=(0.5,)), Handle("alpha")))
    error = error_of_share(0.5, images)
    return {
        "kicker": "Chapter 1: along the line", "charts": [chart], "draw": draw,
        "controls": {"alpha": slider("α, the share of A", alphas, 0.5, words=_words, ends=[("b", "B alone"),
                                                                                            ("a", "A alone")]),
                     "pair": chips("digits turned by", pairs)},
        "hides": ["A", "B", "both", "chord"],
        "caption": f"{caption(sweep)} Standard error of an accuracy: at most {percent(error, 1)}.",
    }


def _words(alpha: float) -> str:
    """Where the slider stands, in words."""
    if alpha in (0, 1):
        return "A alone" if alpha else "B alone"
    return "halfway" if alpha == 0.5 else f"{alpha:.0%} A"


def _finding(both, images: int) -> str:
    """What the whole line shows: is its middle better on both tasks than each of the two networks?"""
    middle = Difference.of(both[len(both) // 2], max(both[0], both[-1]), 2 * images)
    if not middle.is_news:
        return "The midpoint of two specialists is as good on both tasks as one of them"
    return "The midpoint of two specialists is a generalist" if middle.value > 0 else \
        "The midpoint of two specialists is worse on both tasks than one of them"
