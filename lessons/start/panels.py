"""The panel of chapter 0, and the table of what was found on this machine."""
import functools

import numpy as np
import torch
from matplotlib.colors import LinearSegmentedColormap

import data
from lessons.kit import drawings, plotting
from lessons.kit.noise import Difference
from lessons.kit.page import Markup, Page, reading, said
from lessons.kit.plotting import BLUE, ORANGE, themed
from lessons.kit.view import Axis, Chart, Frame, Handle, Image, Line, Points, Reference, Spots, Star, chips, key, view
from lessons.lines.panels import ALPHA_AXIS, share_of_a
from lessons.start import algorithms, experiment
from toy_models import MLP

TASKS = {"upright": "upright spirals", "i": "spirals turned by +45°", "j": "spirals turned by −45°"}
EXTENT = 1.2
CHANCE = 0.5  # of two arms
# degrees between units with one number, chosen on seeds 0 to 5, where one start gave 13 to 18 and two gave 62 to 125
ALIKE, UNLIKE = 30, 45
_ALT = """
    Decision map of the network at α = {alpha:.2f} between A and B, trained from {start}, with the points of {points}.
    Accuracy: A’s task {i:.3f}, upright spirals {upright:.3f}, B’s task {j:.3f}. On the upright spirals A alone has
    {a:.3f}, B alone {b:.3f}."""


@themed
def spirals():
    """The three tasks: the spirals as they are, and turned both ways."""
    fig, axes = plotting.figure(3, height=3.1)
    for ax, task in zip(axes, ("i", "upright", "j")):
        points = data.load("spirals", "test", angle=experiment.ANGLES[task])
        drawings.arms(ax, points.x, points.y, EXTENT, every=4)
        ax.set_title(TASKS[task].capitalize())
    alt = "Three pictures of two spiral arms: turned by +45°, upright, and turned by −45°."
    return plotting.show(fig, alt, "Computed here: test points of every task (generated).")


@themed
def predictions(network, test):
    """What a network predicts at every point of the plane, and the points of a task.

    Args:
        network: takes (samples, 2), gives logits (samples, 2).
        test: `data.load("spirals", …)`.
    """
    fig, ax = plotting.figure(height=3.4, width=4.2)
    with torch.no_grad():
        second = algorithms.decision_map(network, algorithms.grid(extent=EXTENT)).numpy()
        correct = algorithms.accuracy(network(test.x), test.y)
    colours = LinearSegmentedColormap.from_list("arms", [colour for colour, _ in drawings.ARMS])
    ax.imshow(second, origin="lower", extent=(-EXTENT, EXTENT) * 2, cmap=colours, alpha=0.35)
    drawings.arms(ax, test.x, test.y, EXTENT, every=4)
    alt = ("The plane in the colours of the arms that the network predicts, with the points of the task as dots: "
           f"{correct:.1%} of them lie on their own colour.")
    return plotting.show(fig, alt, f"Computed here: {len(test.x):,} test points (generated), every fourth is drawn.")


@themed
def line():
    """Two networks as two points, and the line between them."""
    fig, ax = plotting.figure(height=2.2, width=6)
    ax.plot([0, 1], [0, 1], color=plotting.GREY, marker="", zorder=1)
    for place, colour, marker, name in ((0, ORANGE, "s", "B, α = 0"), (0.5, plotting.GREEN, "D", "midpoint, α = ½"),
                                        (1, BLUE, "o", "A, α = 1")):
        ax.plot(place, place, color=colour, marker=marker, markersize=9)
        ax.annotate(name, (place, place), xytext=(12, -4), textcoords="offset points", va="top")
    ax.set(xlabel="one of the weights", ylabel="another weight", xticks=[], yticks=[], xlim=(-0.1, 1.35),
           ylim=(-0.35, 1.2))
    alt = "Two points, A and B, and the straight line between them. Half-way lies a third point, the midpoint."
    return plotting.show(fig, alt, "A drawing. The real space has as many axes as a network has weights and biases.")


@view
def decision_map(networks: dict, prediction=None):
    """The decision map of the network at α, and its accuracy on three spirals over α.

    Controls: alpha, start, points. The prediction, the accuracy on the upright spirals half-way between strangers, is a
    star.

    Args:
        networks: {start: (θ_i, θ_j)} as `experiment.ends` gives them; A is θ_i, B is θ_j.
    """
    sweep = experiment.run(networks)
    curves = {start: {task: sweep.accuracy.sel(start=start, task=task).values for task in TASKS} for start in networks}
    tests = {task: data.load("spirals", "test", angle=experiment.ANGLES[task]) for task in TASKS}
    dots = {task: [test.x[test.y == arm][::4].T.numpy() for arm in (0, 1)] for task, test in tests.items()}
    images, plane = len(tests["upright"].x), algorithms.grid(extent=EXTENT)
    asked = {"start": experiment.STARTS[1], "alpha": 0.5}
    opens_on = asked["start"] if prediction else None
    if prediction:
        prediction.panel_answers(curves[asked["start"]]["upright"][experiment.ALPHAS.index(0.5)], asked)

    @functools.cache
    def maps(start, alpha):
        second = algorithms.decision_map(experiment.between(networks[start], alpha), plane).numpy()[::-1]
        return 1 - second, second

    def draw(alpha, start, points):
        now, upright = curves[start], curves[start]["upright"]
        values = {"the first arm’s side": maps(start, alpha)[0], "the second arm’s side": maps(start, alpha)[1],
                  "first arm": dots[points][0], "second arm": dots[points][1], "chance": CHANCE, "task A": now["i"],
                  "task B": now["j"], "upright": upright, "A alone": upright[-1:], "B alone": upright[:1]}
        step = experiment.ALPHAS.index(alpha)
        alt = said(_ALT, alpha=alpha, start=start, points=TASKS[points], a=upright[-1], b=upright[0],
                   **{task: along[step] for task, along in now.items()})
        about = key(("a", f"A learned {TASKS['i']}"), ("b", f"B learned {TASKS['j']}"), ("class1", "first arm"),
                    ("class2", "second arm"))
        return Frame(finding(start, upright, images), alt, values, about)

    labels = {label: task for task, label in TASKS.items()}
    generated = sweep.attrs["source"].split(",")[0]
    return {"kicker": "Chapter 0: between two networks",
            "tries": ("With “one pretrained start”, go slowly from α = 1 to α = 0, and watch the green line.",
                      "Under “More”, show the points of A’s spirals at α = 1, and those of B’s at α = 0.",
                      "Choose “two random starts” and do the same."),
            "charts": _charts(float(sweep.accuracy.min()) - 0.05),
            "draw": draw, "controls": {"alpha": share_of_a(experiment.ALPHAS),
                                       "start": chips("A and B began from", list(networks), opens_on),
                                       "points": chips("points of", labels, more=True)},
            "hides": ["the first arm’s side", "the second arm’s side", "task A", "task B", "upright"],
            "caption": f"Computed here: {generated} (generated), MLP 2–32–32–2, {images:,} test points of every task."}


def _charts(lowest):
    """The plane as the network sees it, and accuracy over α."""
    plane = (-EXTENT, EXTENT) * 2
    low, high = 0.5, 1.8  # the sides stay pale enough for the dots
    left = Chart(Axis("", -EXTENT, EXTENT, ticks={-EXTENT: ""}),
                 Axis("predicted arm at every point", -EXTENT, EXTENT, ticks={-EXTENT: ""}),
                 (Image("the first arm’s side", "class1", extent=plane, low=low, high=high),
                  Image("the second arm’s side", "class2", extent=plane, low=low, high=high),
                  Spots("first arm", "class1", small=True), Spots("second arm", "class2", small=True)), height=430)
    right = Chart(ALPHA_AXIS, Axis("accuracy: share of the points classified correctly", lowest, 1, unit="percent"),
                  (Reference("chance", "chance", "chance"), Line("task A", "a", "task A"),
                   Line("task B", "b", "task B"), Line("upright", "merged", "upright"), Points("A alone", "a", x=(1,)),
                   Points("B alone", "b", x=(0,)), Star("guess", "merged", x=(0.5,)), Handle("alpha")), height=430)
    return [left, right]


def finding(start: str, upright: np.ndarray, images: int) -> str:
    """How accurate the midpoint, the network half-way, is on the upright spirals beside A and B alone, in one sentence.

    Args:
        upright: over α.
        images: test points.
    """
    half_way = float(upright[len(upright) // 2])
    over_best, over_worst = (Difference.of(half_way, float(end), images) for end in np.sort(upright[[-1, 0]])[::-1])
    if over_best.is_news and over_best.value > 0:
        beside = "beats A and B on upright spirals"
    elif over_worst.is_news and over_worst.value < 0:
        beside = "loses to A and B on upright spirals"
    else:
        beside = "is neither better nor worse than both A and B"
    return f"From {start}, the midpoint {beside}"


def what_you_saw(networks: dict, start: MLP) -> Page:
    """The prose of the chapter, with this run's numbers.

    Args:
        networks: {start: (θ_i, θ_j)}.
        start: the network after the 400 shared steps.
    """
    sweep, test = experiment.run(networks), data.load("spirals", "test", angle=experiment.ANGLES["upright"])
    shared, separate = (sweep.accuracy.sel(task="upright", start=name).values for name in experiment.STARTS)
    before, ends = algorithms.accuracy(start(test.x), test.y), shared[[0, -1]].mean()
    back = "So A and B forgot some of the upright spirals, and the midpoint has it back. " if \
        before > ends and _midpoint(shared) > ends else ""
    return reading(finding(experiment.STARTS[0], shared, len(test.x)), """
        Its accuracy is {shared:.2f}, and the mean of A and B is {shared_ends:.2f}. The pretrained network had
        {before:.2f}. {back}{second}. There the accuracy of the midpoint is {separate:.2f}, and the mean of A and B
        is {separate_ends:.2f}.
        """, shared=_midpoint(shared), shared_ends=ends, before=before, back=back,
        second=finding(experiment.STARTS[1], separate, len(test.x)), separate=_midpoint(separate),
        separate_ends=separate[[0, -1]].mean())


def reading_of_both_tasks(networks: dict, start: MLP) -> Page:
    """Whether the midpoint knows more of A's and B's tasks than the network from which both went on.

    Args:
        networks: {start: (θ_i, θ_j)}.
        start: the network after the 400 shared steps.
    """
    middle = experiment.run(networks).accuracy.sel(alpha=0.5, task=["i", "j"])
    (a, b), (far_a, far_b) = (middle.sel(start=name).values for name in experiment.STARTS)
    tests = [data.load("spirals", "test", angle=experiment.ANGLES[task]) for task in ("i", "j")]
    before = [algorithms.accuracy(start(test.x), test.y) for test in tests]
    gains = [Difference.of(half_way, known, len(test.x)) for half_way, known, test in zip((a, b), before, tests)]
    gained = any(gain.is_news and gain.value > 0 for gain in gains)
    return reading("Does the midpoint know more of both tasks than the start did?" if gained else
                   "Of A’s and B’s own tasks, the midpoint knows no more than the start did", """
        From one pretrained start it has {a:.2f} on A’s turned spirals and {b:.2f} on B’s, and the start had
        {before_a:.2f} and {before_b:.2f}. From two random starts it has {far_a:.2f} and {far_b:.2f}.
        """, a=a, b=b, before_a=before[0], before_b=before[1], far_a=far_a, far_b=far_b)


def _midpoint(along):
    return float(along[len(along) // 2])


@themed
def units(networks: dict):
    """The units of the first layer as points, the two weights of each: A's and B's, and a line between those with the
    same number."""
    fig, axes = plotting.figure(2, height=3.6, sharex=True, sharey=True)
    degrees = {start: algorithms.angles(*pair).median() for start, pair in networks.items()}
    for ax, (start, pair) in zip(axes, networks.items()):
        a, b = (network.layers[0].weight.detach().numpy() for network in pair)
        ax.plot(*np.stack([a, b], 1).T, color=plotting.GREY, marker="", linewidth=1, zorder=1)
        for points, colour, marker, name in ((a, BLUE, "o", "unit of A"), (b, ORANGE, "s", "unit of B")):
            ax.plot(*points.T, color=colour, marker=marker, linestyle="", markersize=5, label=name)
        ax.set(title=f"From {start}", xlabel="weight of the first coordinate", aspect="equal")
    axes[0].set_ylabel("weight of the second coordinate")
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.02, 1))
    said_of = ", and ".join(f"from {start} it is {angle:.0f}°" for start, angle in degrees.items())
    alt = ("Two planes with the units of the first layer as points, and lines between units of A and of B that have "
           f"the same number. The median angle between such units: {said_of}.")
    return plotting.show(fig, alt, f"Computed here: {len(a)} units of each network, trained on Spirals (generated).")


def reading_of_the_units(networks: dict) -> Page:
    """Whether units with the same number look into one direction."""
    shared, separate = (float(algorithms.angles(*networks[start]).median()) for start in experiment.STARTS)
    alike = shared < ALIKE and separate > UNLIKE
    title = ("Only from one start are units with the same number alike" if alike else
             "How far units with the same number point into different directions")
    return reading(title, """
        From one pretrained start, the angle between a unit of A and the unit of B with the same number is {shared:.0f}°
        (the median of all units). From two random starts it is {separate:.0f}°, and between two random directions you
        would expect 90°.
        """, shared=shared, separate=separate)


class Found:
    """What `experiment.look_around` found, as a small table; a stand-in stands out."""

    def __init__(self, found: dict[str, str]):
        self.found = found

    def __repr__(self):
        return "\n".join(f"{name}: {text}" for name, text in self.found.items())

    def _repr_html_(self):
        rows = [_row(name, text) for name, text in self.found.items()]
        advice = _ADVICE if self.found["data"].startswith("stand-in") else ""
        return str(Markup("<table>{}</table>{}").format(Markup("").join(rows), advice))


def _row(name, text):
    return Markup("<tr><th style='text-align:left'>{}</th><td style='text-align:left'>{}</td></tr>").format(name, text)


_ADVICE = said(Markup("""<p style='border-left:5px solid #D55E00;padding:0.3em 0.8em'><b>The real MNIST is not here.</b>
                  Everything works on the stand-in, and every figure says so; the numbers are then not those of MNIST.
                  With a network the files come by themselves; README.md, “The data, and working offline”,
                  says how to bring them.</p>"""))
