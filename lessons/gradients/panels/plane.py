"""Panel (a), the plane: where the steps go; and where a point lies on a map."""
import numpy as np
import xarray

from lessons.gradients.experiment.plane import ETAS
from lessons.kit.page import Page, reading, said
from lessons.kit.sweep import position
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Map, Path, Spots, chips, key, slider, view

ALPHAS = {"¼": 0.25, "½": 0.5, "1": 1.0, "1.5": 1.5}
ROUNDING = 1e-9  # of the joint way: two networks that are nearer are the same
FAR = 0.5  # of the joint way, at least, if the two networks are said to be far apart
WALKS = {"A": "a", "B": "b", "added": "merged", "joint": "single"}
_ALT = """
    Step size η = {eta:g}, α = {alpha:.2f}, {k} step{s}. The gap is {apart:.2g} of how far joint training went; with the
    other step sizes {others}. Sum of both losses {arithmetic_loss:.3f} with task arithmetic, {joint_loss:.3f} with
    joint training. θ_TA lies at ({arithmetic_x:.2f}, {arithmetic_y:.2f}), θ_MT at ({joint_x:.2f}, {joint_y:.2f}) in
    the plane."""


@view
def walks(sweep: xarray.Dataset):
    """Panel (a): the walks of A and B, each on its own task, of task arithmetic and of joint training in the plane of
    the two gradients, on the sum of both losses; right, how far the last two are apart after every step.

    Controls: k, eta, alpha.
    """
    share = (sweep.apart / sweep.far.where(sweep.far > 0)).fillna(0)
    steps = [int(step) for step in sweep.step.values[1:]]

    def draw(k, eta, alpha):
        part, shares = sweep.sel(eta=eta, alpha=alpha), share.sel(alpha=alpha).values[:, 1:]
        row_of_eta, step = position(ETAS, eta), position(steps, k)
        paths = dict(zip(WALKS, (*part.own.values, part.arithmetic.values, part.joint.values)))
        values = {"loss": sweep["map"].values[::-1], "start": on_map(sweep, np.zeros((1, 2)))}
        for name, path in paths.items():
            until = on_map(sweep, path[np.minimum(np.arange(len(path)), k)])
            values |= {f"walk of {name}": until, name: until[:, -1:]}
        for row, of_eta in zip(shares, ETAS):
            values[f"η = {of_eta:g}"] = np.full(len(steps), np.nan) if of_eta == eta else row
        numbers = _numbers(part.sel(step=k)) | {"eta": eta, "alpha": alpha, "k": k, "s": "s" * (k > 1)}
        others = ", ".join(f"η = {of_eta:g} {row[step]:.2g}" for row, of_eta in zip(shares, ETAS) if of_eta != eta)
        alt = said(_ALT, apart=shares[row_of_eta, step], others=others, **numbers)
        return Frame(finding_of_walks(shares[row_of_eta, step]), alt, values | {"distance": shares[row_of_eta]},
                     key(("a", "A: steps on task 1 alone"), ("b", "B: steps on task 2 alone"),
                         ("merged", "Task arithmetic: both task vectors added, times α"),
                         ("single", "Joint training: steps on both tasks at once")))

    return {"kicker": "Chapter 6: where the steps go",
            "tries": ("Move the slider back to one step.",
                      "Go on step by step, and look at both charts.",
                      "Try other step sizes and, under “More”, another α."),
            "charts": _charts(sweep, steps), "draw": draw,
            "controls": {"k": slider("steps k", steps, steps[-1], words=lambda k: f"{k} step{'s' * (k > 1)}"),
                         "eta": chips("step size η", {f"{eta:g}": eta for eta in ETAS}, 0.4),
                         "alpha": chips("α", ALPHAS, 0.5, more=True)}}


def _charts(sweep, steps):
    """The plane, and the distance over the steps with one line for every step size."""
    loss = sweep["map"].values
    scale = {"low": np.floor(10 * loss.min()) / 10, "high": np.ceil(10 * np.quantile(loss, 0.75)) / 10}
    plane = Chart(Axis("", 0, 1, ticks={0: ""}), Axis("sum of both losses", 0, 1, ticks={0: ""}),
                  (Map("loss", **scale), *(Path(f"walk of {name}", role) for name, role in WALKS.items()),
                   Spots("start", "other"),
                   *(Spots(name, role) for name, role in reversed(WALKS.items()))))
    distance = Chart(Axis("k", steps[0], steps[-1], ticks={k: f"{k}" for k in steps}),
                     Axis("gap, as a share of how far joint training went", 0, 1, unit="percent"),
                     (*(Line(f"η = {eta:g}", "other", f"η = {eta:g}") for eta in ETAS),
                      Line("distance", "merged", dots=True, near=True), Handle("k")))
    return [plane, distance]


def on_map(sweep: xarray.Dataset, points: np.ndarray) -> np.ndarray:
    """Where points of a plane lie on the sweep's map, whose sides run from 0 to 1.

    Args:
        sweep: its `horizontal` and `vertical` are the middles of the map's cells.
        points: (count, 2), in the same units.

    Returns:
        (2, count).
    """
    middles = sweep.horizontal.values, sweep.vertical.values
    return np.array([((points[:, axis] - middle[0]) / (middle[1] - middle[0]) + 0.5) / len(middle)
                     for axis, middle in enumerate(middles)])


def _numbers(point):
    """What the alternative text says of one step."""
    numbers = {}
    for name in ("arithmetic", "joint"):
        numbers[f"{name}_loss"] = float(point[f"{name}_loss"])
        numbers[f"{name}_x"], numbers[f"{name}_y"] = point[name].values
    return numbers


def finding_of_walks(share: float) -> str:
    """How far task arithmetic and joint training are apart, given as a share of the joint way, in one sentence."""
    if share < ROUNDING:
        return "After one step, task arithmetic is joint training exactly"
    if share < FAR:
        return "From the second step on, task arithmetic leaves joint training"
    return "Task arithmetic ends far from joint training"


def reading_of_walks(sweep: xarray.Dataset) -> Page:
    """Whether the gap was zero after one step, and how it depends on the step size after the last one."""
    share = (sweep.apart / sweep.far.where(sweep.far > 0)).fillna(0)
    last = share.sel(alpha=0.5).isel(step=-1)
    title = "After one step there was no gap, for any step size and any α that we tried" if \
        float(share.sel(step=1).max()) < ROUNDING else "Here there is a gap even after one step"
    text = said("""After {steps} steps with α = ½, the gap was {least:.0%} of how far joint training went
                   with the smallest step size, and {most:.0%} with the largest.""",
                steps=int(sweep.step[-1]), least=float(last[0]), most=float(last[-1]))
    if (np.diff(last.values) > 0).all():
        text += " So with equally many steps, the two stay closer if the steps are smaller."
    return reading(title, text)
