"""Panel (e), the mixing desk: several task vectors added and one subtracted, in the weights and in the outputs."""
import functools

import numpy as np
import xarray

from lessons.kit.noise import APART, Difference, with_reach
from lessons.kit.page import said
from lessons.kit.sweep import position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Points, Reference, chips, key, slider, view
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import ANGLES, EVALUATED
from lessons.task_arithmetic.panels.common import CHANCE, OF_LAM, only, with_error

LAMS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
OPENS = 0.15  # about where eight task vectors serve best
SETS = {"all eight": ANGLES, "every second": (45.0, 90.0, 135.0, 180.0), "22.5° and 45°": (22.5, 45.0),
        "22.5° and 90°": (22.5, 90.0)}
TASKS = tuple(range(len(EVALUATED)))  # places on the axis of all tasks
_ALT = """
    Task vectors added with λ = {lam:.2f}: {added}; subtracted: {subtracted}. Mean accuracy on the tasks added, mixed in
    the weights: {weights:.3f}; in the outputs: {outputs:.3f}. Accuracy by angle, 0° being the pretraining task, mixed
    in the outputs: {in_outputs}; mixed in the weights: {in_weights}."""


@view
def mixing_desk(sweep: xarray.Dataset, networks: dict):
    """Panel (e): accuracy of θ₀ + λ·(a sum of task vectors, less one) against λ on the tasks added, on the pretraining
    task and on the task subtracted, beside the same mix of the networks' outputs; right, on every task at one λ.
    Computed when a choice is made. Controls: lam, added, subtracted.

    Args:
        sweep: says which data these are.
        networks: {angle: network} as `experiment.mlp.models` gives them.
    """
    table = mlp.desk(networks)
    images = len(table.y)

    @functools.cache
    def mixed(added, subtracted):
        """(weights and outputs: 2, λ, task): accuracy."""
        both = []
        for lam in LAMS:
            lams = lams_of(added, subtracted, lam)
            both.append([table.accuracy_of(lams), table.accuracy(table.in_features(lams))])
        return np.array(both).swapaxes(0, 1)

    def draw(lam, added, subtracted):
        weights, outputs = mixed(added, subtracted)
        row, gone = position(LAMS, lam, "lam"), np.isin(EVALUATED, [subtracted])
        places = [EVALUATED.index(angle) for angle in SETS[added] if angle != subtracted]
        mean, of_outputs = (accuracy[:, places].mean(1) for accuracy in (weights, outputs))
        of_subtracted = weights[:, gone].sum(1) if gone.any() else np.full(len(LAMS), np.nan)
        others = [task for task in TASKS if task not in places]
        values = {"in weights": mean, "two standard errors": with_reach(mean, images * len(places))[1:],
                  "in outputs": of_outputs, "pretraining task": weights[:, 0], "task subtracted": of_subtracted,
                  "chance": CHANCE, "guessing": CHANCE, "outputs": outputs[row],
                  "added": with_reach(only(weights[row], places), images),
                  "other": with_reach(only(weights[row], others), images)}
        in_weights, in_outputs = ("; ".join(f"{angle:g}° {value:.3f}" for angle, value in zip(EVALUATED, at_lam))
                                  for at_lam in (weights[row], outputs[row]))
        alt = said(_ALT, lam=lam, added=added, subtracted=f"{subtracted:g}°" if subtracted else "none",
                   weights=mean[row], outputs=of_outputs[row], in_weights=in_weights, in_outputs=in_outputs)
        about = key(("merged", "One network, mixed in the weights: on the tasks added"),
                    ("single", "All networks run, mixed in the outputs"), ("", "grey: on other tasks"))
        return Frame(finding_of_mixing(mean, of_outputs, of_subtracted, images, len(places)), alt, values, about)

    controls = {"lam": slider("λ", LAMS, OPENS, words=lambda lam: f"λ = {lam:g}"),
                "added": chips("task vectors added", list(SETS)),
                "subtracted": chips("task vector subtracted",
                                    {"none": None} | {f"{angle:g}°": angle for angle in ANGLES}, more=True)}
    text = {"images": f"{images:,} test images a task, computed as you choose", "test_images": images}
    return {"kicker": "Chapter 4: the mixing desk", "charts": _charts(), "draw": draw, "controls": controls,
            "tries": ("Find the λ at which one network serves all eight tasks best. Is it the best one for two tasks?",
                      "Find two tasks for which the weights do as well as the outputs.",
                      "Under “More”, subtract 180° so that its accuracy falls and upright digits stay good."),
            "caption": f"{with_error(sweep.assign_attrs(text))} Band and bars: two standard errors, {APART}."}


def lams_of(added: str, subtracted: float | None, lam: float) -> dict[float, float]:
    """{angle: λ} of one mix; a task vector that is subtracted is not added."""
    return {angle: lam for angle in SETS[added] if angle != subtracted} | ({subtracted: -lam} if subtracted else {})


def _charts():
    """Over λ, and every task."""
    left = Chart(OF_LAM, Axis("accuracy", 0, 1, unit="percent"),
                 (Reference("chance", "chance", "chance"), Line("pretraining task", "other", "pretraining", x=LAMS),
                  Line("task subtracted", "other", "task subtracted", x=LAMS, dashed=True),
                  Band("two standard errors", "merged", x=LAMS), Line("in outputs", "single", "in outputs", x=LAMS),
                  Line("in weights", "merged", "in weights", x=LAMS), Handle("lam")))
    right = Chart(Axis("angle of the task, in degrees", -0.6, len(TASKS) - 0.4, "places",
                       ticks={task: f"{EVALUATED[task]:g}" for task in TASKS[::2]}),
                  Axis("accuracy on every task at this λ", 0, 1, unit="percent"),
                  (Reference("guessing", "chance", aside=True), Line("outputs", "single", x=TASKS),
                   Points("other", "other", x=TASKS), Points("added", "merged", x=TASKS)))
    return [left, right]


def finding_of_mixing(weights: np.ndarray, outputs: np.ndarray, subtracted: np.ndarray, images: int, count: int) -> str:
    """Whether one network with the best λ serves the tasks added as well as a mix of all networks' outputs with its
    best λ, and whether the task subtracted gets worse at that λ.

    Args:
        weights, outputs, subtracted: (λ,) accuracy, rising from λ = 0; the last NaN where nothing is subtracted.
        images, count: of a task, and tasks added.
    """
    best = int(weights.argmax())
    lead = Difference.of(weights[best], outputs.max(), images * count)
    compared = "is within the noise of" if not lead.is_news else "beats" if lead.value > 0 else "falls short of"
    first = f"One network {compared} the mix of all networks’ outputs"
    if np.isnan(subtracted).any():
        return first
    lost = Difference.of(subtracted[0], subtracted[best], images)
    return f"{first}, and the task subtracted {'gets' if lost.is_news and lost.value > 0 else 'does not get'} worse"
