"""A task vector taken away from the pretrained text encoder: what its own task loses, and what the others lose."""
import numpy as np
import xarray

from lessons.kit.noise import Difference, with_reach
from lessons.kit.page import Page, capital, in_full_alone, reading, said
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Spots, chips, key, slider, view
from lessons.words.panels import networks
from lessons.words.panels.networks import is_more

EFFECTS = ("its own task", "the others")  # as the sweep calls them
OPENS = "question"  # where it is there
_ALT = """
    θ₀ − λτ with τ of {task}, λ = {lam:g}: accuracy on {task} {mine:.3f} (θ₀ {mine_before:.3f}), mean of the other
    {others_count} tasks {others:.3f} (θ₀ {others_before:.3f}). Points that a task loses by its own vector: {lost}; that
    the others lose by it: {lost_others}."""


@view
def forgetting(sweep: xarray.Dataset):
    """Left, accuracy of θ₀ − λτ_t on its own task and on the others against λ; right, the points that both lose at
    this λ, for every task. A press on one of these chooses it. The sweep is that of `experiment.lines`.

    Controls: lam, task.
    """
    lams, tasks = list(map(float, sweep.taken_lam.values)), names(sweep.task)
    count = networks.sentences(sweep)
    curves = sweep.taken.sel(effect=list(EFFECTS)).transpose("task", "effect", "taken_lam").values
    lost, rows = 100 * (curves[:, :, :1] - curves), np.arange(len(tasks))[::-1]

    def draw(lam, task):
        row, step = tasks.index(task), position(lams, lam, "lam")
        mine, others = curves[row]
        counts = count, count * (len(tasks) - 1)
        is_shown = rows == rows[row]
        values = {"mine": mine, "others": others, "sure of mine": with_reach(mine, counts[0])[1:],
                  "sure of others": with_reach(others, counts[1])[1:],
                  "each by its own": (lost[:, 0, step], rows), "the others by it": (lost[:, 1, step], rows),
                  "this task": (np.where(is_shown, lost[:, 0, step], np.nan), rows)}
        listed = (", ".join(f"{name} {value:.1f}" for name, value in zip(tasks, lost[:, effect, step]))
                  for effect in range(2))
        alt = said(_ALT, task=task, lam=lam, mine=mine[step], mine_before=mine[0], others=others[step],
                   others_before=others[0], others_count=len(tasks) - 1,
                   **dict(zip(("lost", "lost_others"), listed)))
        about = key(("merged", f"θ₀ without the task vector of {task}, on {task}"), ("", "grey: on the others"),
                    ("", "right: what each task loses by its own vector; small dots: what the others lose by it"))
        finding = finding_of_taking_away(task, (mine[0], mine[step]), (others[0], others[step]), *counts)
        return Frame(finding, alt, values, about)

    controls = {"lam": slider("λ", {f"{lam:g}": lam for lam in lams}, 1.0 if 1.0 in lams else lams[-1],
                              words=lambda lam: f"λ = {lam:g} taken away", ends=[("", "θ₀"), ("", "")]),
                "task": chips("task taken away", tasks, OPENS if OPENS in tasks else tasks[0])}
    return {"kicker": "Chapter 14: forgetting one task",
            "tries": ("Move λ. Does the task fall faster than the others?", "Choose another task."),
            "charts": _charts(lams, tasks, curves, lost), "draw": draw, "controls": controls,
            "caption": f"{caption(sweep)} Bands: two standard errors."}


def _charts(lams, tasks, curves, lost):
    """Accuracy over λ, and what is lost for every task, with room for every λ and task."""
    high = 1.1 * float(curves.max())
    left = Chart(Axis("λ", lams[0], lams[-1], ticks={lam: f"{lam:g}" for lam in lams}),
                 Axis("accuracy", 0, high, unit="percent"),
                 (Band("sure of others", "other"), Band("sure of mine", "merged"),
                  Line("others", "other", "the others"), Line("mine", "merged", "this task"), Handle("lam")))
    right = Chart(Axis("points of accuracy lost at this λ", min(-2, 1.1 * float(lost.min())), 1.1 * float(lost.max())),
                  Axis("points lost, by the task that is taken away", -0.7, len(tasks) - 0.3,
                       ticks={len(tasks) - 1 - row: task for row, task in enumerate(tasks)}),
                   (Spots("the others by it", "other", small=True), Spots("each by its own", "other", picks=("task",)),
                   Spots("this task", "merged")))
    return [left, right]


def finding_of_taking_away(task: str, mine: tuple[float, float], others: tuple[float, float], count: int,
                           count_of_others: int) -> str:
    """What taking a task vector away costs its task and the others, each beyond two standard errors.

    Args:
        mine, others: accuracy of θ₀ and of θ₀ − λτ, on the task and on the others.
        count, count_of_others: sentences that these are of.
    """
    if mine[0] == mine[1] and others[0] == others[1]:
        return "With nothing taken away, this is θ₀ itself"
    loss, side = Difference.of(*mine, count), Difference.of(*others, count_of_others)
    more = Difference(loss.value - side.value, float(np.hypot(loss.error, side.error)))
    if not is_more(loss):
        also = "but the others are" if is_more(side) else "nor are the others"
        return f"{capital(task)} is not seen to lose without its vector, {also}"
    if not is_more(side):
        return f"{capital(task)} is worse without its vector, and the others are not seen to lose"
    much = "but less" if is_more(more) else "and more" if more.is_news else "and which lose more is within the noise"
    return f"{capital(task)} is worse without its vector; the others lose too, {much}"


HALF = 0.5  # of a task vector, which is what the readings take away


@in_full_alone
def reading_of_forgetting(sweep: xarray.Dataset) -> Page:
    """How many tasks lose without half of their task vector, and how many of them alone?

    Args:
        sweep: as of `forgetting`; its `taken_lam` has 0 and ½.
    """
    count, tasks = networks.sentences(sweep), names(sweep.task)
    curves = sweep.taken.sel(effect=list(EFFECTS)).transpose("effect", "task", "taken_lam").values
    places = [position(sweep.taken_lam.values, lam, "lam") for lam in (0.0, HALF)]
    counts, of_tasks = (count, count * (len(tasks) - 1)), {}
    for row, task in enumerate(tasks):
        of_tasks[task] = [Difference.of(*curves[effect, row, places], counts[effect]) for effect in range(2)]
    losing = [task for task, (loss, _) in of_tasks.items() if is_more(loss)]
    alone = [task for task in losing if not is_more(of_tasks[task][1])]
    shown = OPENS if OPENS in tasks else tasks[0]
    loss, side = of_tasks[shown]
    title = "No task is seen to lose without half of its vector" if not losing else \
        "Only one task falls while the others, in the mean, are not seen to" if len(alone) == 1 < len(losing) else \
        "Tasks fall while the others, in the mean, are not seen to" if len(alone) == len(losing) else \
        "Some tasks fall while the others, in the mean, are not seen to" if alone else "No task falls alone"
    return reading(title, """
        Less half of their own task vector, {losing} of {count} tasks lose accuracy beyond the noise, and with {alone}
        of these the others, in the mean, are not seen to lose. Without half of its vector, {shown} loses {loss:.1f}
        points{doubt}. {told}""", losing=len(losing), count=len(tasks), alone=len(alone), shown=shown, loss=loss,
                   doubt=loss.doubt(), told=_of_others(side))


def _of_others(side):
    """What the other tasks lose with the one that is shown."""
    if is_more(side):
        return "The others lose accuracy too."
    return "The others are better without it." if side.is_news else "The others are not seen to change."
