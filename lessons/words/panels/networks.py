"""What pictures of the text encoders share: a choice of networks, how many sentences a number rests on, and errors of
means over tasks."""
import re
from collections.abc import Mapping

import numpy as np
import xarray

from lessons.kit import sweep as sweeps
from lessons.kit.noise import WIDE, Difference
from lessons.kit.view import Control, chips

OWN, MINILM = "own encoder", "MiniLM"
_COUNTED = (r"([\d,]+) for accuracies", r"([\d,]+) test sentences")  # in the attribute "images"


def by_network(sweep: xarray.Dataset, minilm: xarray.Dataset | None) -> dict[str, xarray.Dataset]:
    """{name: its sweep}, of MiniLM where there is one."""
    return {OWN: sweep} if minilm is None else {OWN: sweep, MINILM: minilm}


def menu(networks: Mapping[str, object]) -> dict[str, Control]:
    """{"network": chips}; nothing where there is one network alone."""
    return {"network": chips("network", list(networks))} if len(networks) > 1 else {}


def asked(networks: Mapping[str, object], **settings) -> dict:
    """Where a view answers a prediction: `settings`, on the first network."""
    return settings | {name: next(iter(networks)) for name in menu(networks)}


def captions(networks: Mapping[str, xarray.Dataset]) -> str:
    """What every network was measured on, each once. They may be of several profiles, so each says its own."""
    return " ".join(dict.fromkeys(sweeps.caption(sweep) for sweep in networks.values()))


def sentences(sweep: xarray.Dataset) -> int:
    """How many test sentences a task an accuracy rests on, by the sweep's attribute `images`.

    Raises:
        ValueError: it does not say so.
    """
    for pattern in _COUNTED:
        if match := re.search(pattern, str(sweep.attrs.get("images", ""))):
            return int(match[1].replace(",", ""))
    raise ValueError("the sweep's attribute images must say “… test sentences” or “… for accuracies”, not "
                     f"{sweep.attrs.get('images')!r}")


def error_of_mean(accuracies: np.ndarray, count: int) -> np.ndarray:
    """The standard error of a mean over tasks, from the chance of each task's sentences alone.

    Args:
        accuracies: (…, tasks), each of sentences of its own.
        count: how many sentences a task.
    """
    accuracies = np.asarray(accuracies, dtype=float)
    return np.sqrt((accuracies * (1 - accuracies)).sum(-1) / count) / accuracies.shape[-1]


def difference(first: np.ndarray, second: np.ndarray, count: int) -> Difference:
    """By how much the first mean over tasks is larger, (tasks,) each. Both are of the same sentences, and sweeps do not
    keep which of them were right, so the error is that of independent ones: at most this."""
    errors = (error_of_mean(accuracies, count) for accuracies in (first, second))
    return Difference(float(np.mean(first) - np.mean(second)), float(np.hypot(*errors)))


def is_more(apart_by: Difference) -> bool:
    """Whether it is more than none, by more than the noise."""
    return apart_by.is_news and apart_by.value > 0


def around(accuracies: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(low, high): two standard errors around means over tasks; (…, tasks) as of `error_of_mean`."""
    mean, far = np.mean(accuracies, -1), WIDE * error_of_mean(accuracies, count)
    return mean - far, mean + far
