"""Merged text encoders: CART at every rank and λ, and other methods with what held-out sentences choose."""
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import xarray

from data import threads
from lessons.cart.algorithms.spectra import Spectra
from lessons.kit.experiment import Experiment
from lessons.merging.search import Grid, Merges, anew, on_lines, resting_on, tuned
from lessons.suites import PARTS, Loaded
from lessons.vit.algorithms import matrices
from lessons.words.experiment import setting
from lessons.words.experiment.setting import Settings
from lessons.words.pretrained import Several
from toy_models.weights import State, norm, subtract

BY_NAME, BY_DIMENSION = "attention and MLP", "all matrices"
WAYS = {BY_NAME: matrices.by_name, BY_DIMENSION: matrices.by_dimension}  # which matrices CART truncates
GRIDS = {grid.method: grid for grid in (
    Grid("average"),
    Grid("task_arithmetic", (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)),
    Grid("ties", (0.5, 1.0, 1.5, 2.0, 3.0), "density", (0.1, 0.2, 0.4)),
    Grid("tsv", (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)))}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Everything is merged but the heads: every task answers with its own.

    Returns:
        A Dataset with
        accuracy (way: 2, part: 2, directions, lam, task): of CART that keeps so many directions of every matrix that
        the way truncates; at 0 it is the average, as it would be at all directions with λ = 1;
        test (reported, task): on test sentences, of the other methods with the parameters that held-out sentences
        chose, of the encoder without finetuning under the finetuned heads ("θ₀"), and of every task's own encoder
        ("single");
        held (searched, scale, place): on held-out sentences, mean over tasks, NaN where nothing was tried; value
        (searched, place): the other parameter;
        length (task): ‖τ_t‖/‖θ₀‖; cosine: of two task vectors, mean over pairs;
        majority (task): the share of the most frequent class among the test sentences.
    """
    loaded = setting.load(settings, seed, device)
    width = loaded.base["position"].shape[1]
    return measured(loaded, settings, width).assign_attrs(images=setting.sentences_of(settings))


def measured(loaded: Loaded | Several, settings: Settings, width: int,
             ways: Mapping[str, matrices.Chosen] = WAYS, searches: Mapping[str, Grid] = GRIDS) -> xarray.Dataset:
    """`measure` of encoders that are there.

    Args:
        loaded: the encoders.
        settings: how much is measured.
        width: how many directions a matrix has.
        ways: {name: (key, tensor) -> whether CART truncates it}.
        searches: what is tried of other methods.
    """
    spectra = Spectra(loaded.base, loaded.finetuned)
    grids = [of_grid(loaded, spectra, is_truncated, settings, width) for is_truncated in ways.values()]
    merges = once_a_method(loaded.base, loaded.finetuned)
    tried = loaded.searched(searches, merges, threads.side_by_side)
    candidates = [*tuned(tried, searches, merges).values(), loaded.base]
    test = [*threads.side_by_side(loaded.accuracy, candidates), loaded.own()]
    lengths, cosine = geometry(loaded.base, loaded.finetuned)
    most = [y.bincount().max().item() / len(y) for _, y in loaded.test]
    sets = {"accuracy": (("way", "part", "directions", "lam", "task"), np.array(grids)),
            "test": (("reported", "task"), np.array(test)),
            "held": tried.held.mean("task", skipna=False), "value": tried.value,
            "length": ("task", lengths), "cosine": cosine, "majority": ("task", most)}
    coords = {"way": list(ways), "part": list(PARTS), "directions": [0, *settings.directions],
              "lam": list(settings.lams), "reported": [*searches, "θ₀", "single"], "task": loaded.suite.tasks}
    attributes = resting_on(sum(len(y) for _, y in loaded.held_out)) | {"width": width}
    return xarray.Dataset(sets, coords, attributes)


def once_a_method(base: State, finetuned: Sequence[State]) -> Merges:
    """Merge twice for all λ of a method, and the average, which takes none, as it is."""
    lines, plainly = on_lines(base, finetuned), anew(base, finetuned)
    return lambda method, **parameters: (plainly if method == "average" else lines)(method, **parameters)


def of_grid(loaded: Loaded | Several, spectra: Spectra, is_truncated: matrices.Chosen, settings: Settings,
            width: int) -> np.ndarray:
    """Accuracy of CART (part: 2, directions and 0 before them, lams, tasks).

    Args:
        loaded: the encoders.
        spectra: of their centred task vectors.
        is_truncated: (key, tensor) -> whether CART truncates it; all else stays at the average.
        settings: the grid.
        width: how many directions a matrix has.
    """
    totals = [matrices.truncated_sum(spectra, count / width, is_truncated) for count in settings.directions]
    states = [spectra.origin] + [partial(matrices.moved, spectra.origin, total, lam)
                                 for total in totals for lam in settings.lams]
    seen = looked_at(loaded, states)
    average = np.repeat(seen[:, :1, None], len(settings.lams), 2)
    grid = seen[:, 1:].reshape(len(PARTS), len(settings.directions), len(settings.lams), -1)
    return np.concatenate([average, grid], 1)


def looked_at(loaded: Loaded | Several, states: Sequence) -> np.ndarray:
    """Accuracy (part: 2, states, tasks) of state dicts, or of functions that merge when they are looked at."""
    loaded.held_out, loaded.test  # once, before threads ask for them  # noqa: B018

    def on_both(state):
        merged = state() if callable(state) else state
        return [loaded.accuracy(merged, part) for part in PARTS]

    return np.array(threads.side_by_side(on_both, states)).swapaxes(0, 1)


def geometry(base: State, finetuned: Sequence[State]) -> tuple[np.ndarray, float]:
    """How long the task vectors are, as shares of ‖θ₀‖, (tasks,), and the cosine of two of them, mean over pairs."""
    vectors = [subtract(state, base) for state in finetuned]
    flat = np.array([np.concatenate([tensor.double().flatten() for tensor in vector.values()]) for vector in vectors])
    lengths = np.linalg.norm(flat, axis=1)
    cosines = flat @ flat.T / np.outer(lengths, lengths)
    return lengths / norm(base), cosines[~np.eye(len(flat), dtype=bool)].mean()


EXPERIMENT = Experiment("words-merges", measure, setting.PROFILES, setting.source, setting.DATASET,
                        recipes=setting.recipes)
run = EXPERIMENT.run
