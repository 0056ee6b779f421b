"""Every method of the registry on the eight tasks, all tuned alike, λ and one other parameter chosen on held-out
images; and task vectors taken away again."""
from functools import partial

import numpy as np
import xarray

from lessons.merging import merge
from lessons.merging.search import Grid, anew, best, tuned
from lessons.suites import Loaded
from lessons.vit.experiment import setting
from lessons.vit.experiment.setting import Settings, in_threads, looked_at
from toy_models.weights import State

ADDED = (0.05, 0.1, 0.15, 0.25, 0.4)  # λ of what adds up task vectors as task arithmetic does
WHOLE = (0.25, 0.5, 0.75, 1.0)  # of what brings its result to one task vector's length
GRIDS = {grid.method: grid for grid in (
    Grid("average"),
    Grid("task_arithmetic", ADDED),
    Grid("ties", WHOLE, "density", (0.1, 0.4)),
    Grid("consensus", ADDED, "mask_strength", (0.2, 0.4)),
    Grid("dare", ADDED, "drop_rate", (0.5, 0.9)),
    Grid("breadcrumbs", ADDED, "density", (0.1, 0.3)),
    Grid("tsv", WHOLE),
    Grid("cart", (1.0, 1.5, 2.0, 3.0), "rank_ratio", (0.08, 0.16, 0.32)))}
STORING = ("emr", "tall_masks", "cart_indexing")  # one model a task; as they are by default
NEGATED = (0.0, 0.5, 1.0, 1.5, 2.0)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All widths.

    Returns:
        A Dataset with
        held (width, searched, scale, other), on held-out images, mean over tasks, NaN where nothing was tried;
        test (width, reported, task): of every method with the λ and the parameter that held-out images chose, of
        methods that store a model a task, and of the single networks and θ₀;
        chosen (width, searched, which: λ and other);
        negated (width, lam, task, of: 2): accuracy of θ₀ − λτ_t on its own task, and on the others, mean;
        length (width, task): ‖τ_t‖/‖θ₀‖; cosine (width): of two task vectors, mean;
        kept (width, storing), task_bytes (width, storing): accuracy over the single network's, mean over tasks, and
        bytes that a task needs of its own.
    """
    sweeps = [measured(setting.load(settings, seed, width, device)) for width in settings.widths]
    made = xarray.concat(sweeps, xarray.DataArray(list(settings.widths), dims="width", name="width"))
    return made.assign_attrs(images=setting.images_of(settings), test_images=made.sizes["task"] * settings.images)


def measured(loaded: Loaded) -> xarray.Dataset:
    """One width."""
    merges = anew(loaded.base, loaded.finetuned)
    tried = loaded.searched(GRIDS, merges, in_threads)
    held = tried.held.mean("task", skipna=False)
    chosen = best(held, "place", "scale")
    other = tried.value.sel(place=chosen["place"]).fillna(0.0)
    stored = [merge(method, loaded.base, loaded.finetuned) for method in STORING]
    candidates = [*tuned(tried, GRIDS, merges).values(), *stored, loaded.base]
    test = [*looked_at(loaded, candidates, "test"), loaded.own()]
    sets = {"held": (("searched", "scale", "other"), held.transpose("searched", "scale", "place").values),
            "test": (("reported", "task"), np.array(test)),
            "chosen": (("searched", "which"), np.stack([chosen["scale"], other], 1)),
            "negated": (("lam", "task", "of"), negated(loaded)),
            "task_bytes": ("storing", [np.mean([net.task_bytes(task) for task in range(len(net))]) for net in stored]),
            "model_bytes": bytes_of(loaded.base)}
    sets |= geometry(loaded)
    return xarray.Dataset(sets, {"searched": list(GRIDS), "scale": tried.scale.values, "task": loaded.suite.tasks,
                                 "reported": [*GRIDS, *STORING, "θ₀", "single"], "which": ["λ", "other"],
                                 "lam": list(NEGATED), "of": ["its own task", "the others"],
                                 "storing": list(STORING)}, tried.attrs)


def negated(loaded: Loaded) -> np.ndarray:
    """`negated` of `measure`."""
    tasks = range(len(loaded.finetuned))
    less = [partial(merge, "task_arithmetic", loaded.base, [loaded.finetuned[task]], scale=-lam)
            for lam in NEGATED for task in tasks]
    seen = looked_at(loaded, less, "test").reshape(len(NEGATED), len(tasks), len(tasks))
    own = seen[:, tasks, tasks]
    others = (seen.sum(2) - own) / (len(tasks) - 1)
    return np.stack([own, others], 2)


def geometry(loaded: Loaded) -> dict[str, object]:
    """`length` and `cosine` of `measure`."""
    tasks = len(loaded.finetuned)
    products, square = np.zeros((tasks, tasks)), 0.0
    for key, tensor in loaded.base.items():
        start = tensor.double().flatten()
        vectors = np.stack([(state[key].double().flatten() - start).numpy() for state in loaded.finetuned])
        products += vectors @ vectors.T
        square += float(start @ start)
    lengths = np.sqrt(np.diag(products))
    cosines = products / np.outer(lengths, lengths)
    different = ~np.eye(tasks, dtype=bool)
    return {"length": ("task", lengths / square ** 0.5), "cosine": cosines[different].mean()}


def bytes_of(state: State) -> int:
    """Of the tensors alone."""
    return sum(tensor.numel() * tensor.element_size() for tensor in state.values())


EXPERIMENT = setting.ByWidth("vit-merges", measure)
run = EXPERIMENT.run
