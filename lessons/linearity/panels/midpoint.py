"""Chapter 1's line between two finetuned networks, as a view: accuracy and loss of the interpolated network."""
import xarray

from lessons.kit.noise import Difference, error_of_share
from lessons.kit.page import said
from lessons.kit.sweep import at, caption, position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Points, Reference, Star, chips, key, view
from lessons.lines.panels import ALPHA_AXIS, share_of_a

CHANCE = 0.1  # of ten digits
TASKS = {"i": ("A", "a", "task A"), "j": ("B", "b", "task B"), "both": ("both", "merged", "both tasks"),
         "pretraining": ("upright", "other", "upright digits")}  # task of the sweep: a mark's name, role and label
_ALT = """
    α = {alpha:.2f}: accuracy {A:.3f} on the digits turned by {angle_a}, {B:.3f} on those turned by {angle_b},
    {both:.3f} on both together, {upright:.3f} on the upright digits of pretraining; loss {loss_A:.3f}, {loss_B:.3f},
    {loss_both:.3f} and {loss_upright:.3f}. Alone, B has {first:.3f} on both and A {last:.3f}."""


@view
def midpoint(sweep: xarray.Dataset, prediction=None):
    """Accuracy and loss of the network between two that learned digits turned by different angles: on each task, on
    both together, and, in grey, on the upright digits on which both were pretrained. Dashed, the straight line between
    the ends, on both tasks.

    Controls: alpha, pair. The prediction, the accuracy on both tasks half-way, is a star.
    """
    alphas = sweep.alpha.values
    middle = position(alphas, 0.5)
    pairs = sorted(map(str, sweep.pair.values), key=lambda pair: pair != sweep.attrs["opens_on"])
    curves = {pair: {quantity: {mark: at(sweep, pair=pair, task=task)[quantity].values
                                for task, (mark, _, _) in TASKS.items()} for quantity in ("accuracy", "loss")}
              for pair in pairs}
    images = int(sweep.attrs["test_images"])
    asked = {"pair": sweep.attrs["opens_on"], "alpha": 0.5}
    if prediction:
        prediction.panel_answers(curves[asked["pair"]]["accuracy"]["both"][middle], asked)

    def draw(alpha, pair):
        step, accuracy, loss = position(alphas, alpha), *curves[pair].values()
        angle_a, angle_b = pair.split(" and ")
        ends = accuracy["both"][[0, -1]]
        values = {**accuracy, **{f"loss {mark}": along for mark, along in loss.items()}, "straight line": ends,
                  "loss straight line": loss["both"][[0, -1]], "B alone": ends[:1], "A alone": ends[1:],
                  "chance": CHANCE}
        alt = said(_ALT, alpha=alpha, angle_a=angle_a, angle_b=angle_b, first=ends[0], last=ends[1],
                   **{mark: along[step] for mark, along in accuracy.items()},
                   **{f"loss_{mark}": along[step] for mark, along in loss.items()})
        names = key(("a", f"A learned digits turned by {angle_a}"), ("b", f"B learned digits turned by {angle_b}"),
                    ("merged", "Both tasks: all test images of A and of B"))
        return Frame(_finding(accuracy["both"], middle, images), alt, values, names)

    error = error_of_share(0.5, images)
    return {
        "kicker": "Chapter 1: along the line", "charts": _charts(float(sweep.loss.max())), "draw": draw,
        "controls": {"alpha": share_of_a(alphas), "pair": chips("A and B learned digits turned by", pairs)},
        "hides": [f"{prefix}{mark}" for prefix in ("", "loss ")
                  for mark in ("straight line", *(name for name, _, _ in TASKS.values()))],
        "caption": f"{caption(sweep)} Standard error of an accuracy: at most {100 * error:.1f} points.",
    }


def _charts(highest):
    """Accuracy and loss over α; `highest` is the largest loss."""
    def lines(prefix):
        return [Line(f"{prefix}{mark}", role, label) for mark, role, label in TASKS.values()]

    accuracy = (Line("straight line", "merged", x=(0, 1), dashed=True), Reference("chance", "chance", "chance"),
                *lines(""), Points("B alone", "b", x=(0,)), Points("A alone", "a", x=(1,)),
                Star("guess", "merged", x=(0.5,)), Handle("alpha"))
    loss = (Line("loss straight line", "merged", x=(0, 1), dashed=True), *lines("loss "), Handle("alpha"))
    return [Chart(ALPHA_AXIS, Axis("accuracy", 0, 1, unit="percent"), accuracy),
            Chart(ALPHA_AXIS, Axis("loss: cross-entropy, in nats", 0, 1.05 * highest, digits=2), loss)]


def _finding(both, middle: int, images: int) -> str:
    """What the whole line shows: is its middle better on both tasks than each of the two networks?"""
    gain = Difference.of(both[middle], max(both[0], both[-1]), 2 * images)
    if not gain.is_news:
        return "On both tasks together, the midpoint is within the noise of the better of A and B"
    return "On both tasks together, the midpoint is better than A or B" if gain.value > 0 else \
        "On both tasks together, the midpoint is worse than the better of A and B"
