"""What the comparison says: normalised accuracy, chosen hyper-parameters, and which method is better than which."""
import numpy as np
import xarray
from scipy.special import stdtrit
from torch import Tensor

from lessons.interference.experiment.searches import CLAIMED, SEARCHED, SEARCHES, TABLE_1, WIDE

LEARNED = 0.2  # a network that is less accurate has not learned its task: guessing among ten classes gives 0.1


def normalised(accuracy: Tensor, own: Tensor) -> Tensor:
    """Accuracy as a share of the single model's, mean over tasks (CART, Fig. 4).

    Args:
        accuracy: of one merged model on every task, (tasks,).
        own: of every task's own model, (tasks,).

    Returns:
        A scalar; 1 where merging costs nothing.
    """
    return (accuracy / own).mean()


def share_of(accuracy, own):
    """Accuracy as a share of the own network's, or of LEARNED where that network has not learned its task.

    So a share is a number always; `unlearned` counts the tasks where it means nothing.

    Args:
        accuracy, own: arrays that fit each other, the tasks last.
    """
    return accuracy / np.maximum(own, LEARNED)


def unlearned(own: np.ndarray) -> int:
    """On how many tasks the own network has not learned what it was trained on; own: its accuracy, (tasks,)."""
    return int((np.asarray(own) < LEARNED).sum())


def shares(sweep: xarray.Dataset, grid: str = WIDE) -> xarray.DataArray:
    """Accuracy on test images as a share of the single model's, (reported, task)."""
    return share_of(sweep.accuracy, sweep.own).sel(grid=grid)


def difference(sweep: xarray.Dataset, one: str, other: str, grid: str = WIDE) -> tuple[float, float]:
    """How much better one method is than another, and half the width of its 95 % confidence interval; in normalised
    accuracy.

    The interval is Student's for the mean of the paired differences, task by task: it says what other tasks of this
    kind could have given, not what other seeds could.
    """
    accuracies = shares(sweep, grid)
    by_task = (accuracies.sel(reported=one) - accuracies.sel(reported=other)).values
    return by_task.mean(), interval(by_task)


def interval(values: np.ndarray) -> float:
    """Half the width of Student's 95 % confidence interval for the mean of independent values."""
    return stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / len(values) ** 0.5


def chosen(sweep: xarray.Dataset, method: str, grid: str = WIDE) -> dict[str, float]:
    """{"scale": λ, its other parameter: value} that held-out images chose."""
    where = {"grid": grid, "searched": method}
    scale = float(sweep.scale_chosen.sel(where))
    return {"scale": scale, **SEARCHES[method].at(int(sweep.place_chosen.sel(where)))}


def at_edge(sweep: xarray.Dataset, method: str) -> list[str]:
    """The parameters whose chosen value is the smallest or largest that was tried, save where the method becomes
    another one there."""
    parameters = chosen(sweep, method)
    search = SEARCHES[method]
    tried = sweep.tried.sel(searched=method).notnull().all("task")
    edges = []
    scales = sweep.scale.values[tried.any("place").values]
    if parameters["scale"] in (scales.min(), scales.max()):
        edges.append("scale")
    if search.other:
        values = sweep.value.sel(searched=method).values[tried.any("scale").values]
        if parameters[search.other] in (values.min(), values.max()) and parameters[search.other] != search.end:
            edges.append(search.other)
    return edges


def leaders(sweep: xarray.Dataset, grid: str = WIDE) -> list[str]:
    """The single merged models among which no best one can be told, best first.

    That is, the 95 % interval of the best one's lead over each, task by task, holds 0.
    """
    mean = shares(sweep, grid).mean("task")
    ranked = sorted(SEARCHED, key=lambda method: -float(mean.sel(reported=method)))
    level = ranked[:1]
    for method in ranked[1:]:
        lead, half = difference(sweep, ranked[0], method, grid)
        if lead <= half:
            level.append(method)
    return level


def columns_ahead(one: str, other: str) -> int:
    """In how many of the six columns of Choi et al.'s Table 1 one method is ahead of another."""
    return sum(a > b for a, b in zip(TABLE_1[one], TABLE_1[other]))


def order(sweep: xarray.Dataset, grid: str = WIDE) -> list[str]:
    """The five methods of Choi et al.'s Table 1, best first, as measured."""
    mean = shares(sweep, grid).mean("task")
    return sorted(CLAIMED, key=lambda method: -float(mean.sel(reported=method)))
