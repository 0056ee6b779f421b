"""Every method of the registry on the eight tasks, all tuned alike, λ and one other parameter chosen on held-out
images; and task vectors taken away again."""
from functools import partial

import numpy as np
import xarray

from lessons.merging import merge
from lessons.suites import Loaded
from lessons.vit.experiment import setting
from lessons.vit.experiment.setting import Settings, looked_at
from toy_models.weights import State

ADDED = (0.05, 0.1, 0.15, 0.25, 0.4)  # λ of what adds up task vectors as task arithmetic does
WHOLE = (0.25, 0.5, 0.75, 1.0)  # of what brings its result to one task vector's length
SEARCHES = {  # method: (λ, its other parameter, values of that)
    "average": ((1.0,), "", (0.0,)),
    "task_arithmetic": (ADDED, "", (0.0,)),
    "ties": (WHOLE, "density", (0.1, 0.4)),
    "consensus": (ADDED, "mask_strength", (0.2, 0.4)),
    "dare": (ADDED, "drop_rate", (0.5, 0.9)),
    "breadcrumbs": (ADDED, "density", (0.1, 0.3)),
    "tsv": (WHOLE, "", (0.0,)),
    "cart": ((1.0, 1.5, 2.0, 3.0), "rank_ratio", (0.08, 0.16, 0.32)),
}
STORING = ("emr", "tall_masks", "cart_indexing")  # one model a task; as they are by default
NEGATED = (0.0, 0.5, 1.0, 1.5, 2.0)
MOST = max(len(values) for _, _, values in SEARCHES.values())  # values of another parameter


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
    found = [measured(setting.load(settings, seed, width, device)) for width in settings.widths]
    made = xarray.concat(found, xarray.DataArray(list(settings.widths), dims="width", name="width"))
    return made.assign_attrs(images=setting.images_of(settings), test_images=made.sizes["task"] * settings.images)


def measured(loaded: Loaded) -> xarray.Dataset:
    """One width."""
    scales = sorted({scale for tried, _, _ in SEARCHES.values() for scale in tried})
    held = np.full((len(SEARCHES), len(scales), MOST), np.nan)
    best, chosen = [], []
    for row, (method, (tried, _, values)) in enumerate(SEARCHES.items()):
        places = [(scale, number) for number in range(len(values)) for scale in tried]
        candidates = [partial(merged_by, loaded, method, scale, values[number]) for scale, number in places]
        score = looked_at(loaded, candidates, "held-out").mean(1)
        for (scale, number), one in zip(places, score):
            held[row, scales.index(scale), number] = one
        top = int(np.argmax(score))
        best.append(candidates[top])
        chosen.append([places[top][0], values[places[top][1]]])
    stored = [merge(method, loaded.base, loaded.finetuned) for method in STORING]
    test = [*looked_at(loaded, [*best, *stored, loaded.base], "test"), loaded.own()]
    sets = {"held": (("searched", "scale", "other"), held), "test": (("reported", "task"), np.array(test)),
            "chosen": (("searched", "which"), np.array(chosen)), "negated": (("lam", "task", "of"), negated(loaded)),
            "task_bytes": ("storing", [np.mean([one.task_bytes(task) for task in range(len(one))]) for one in stored]),
            "model_bytes": bytes_of(loaded.base)}
    sets |= geometry(loaded)
    return xarray.Dataset(sets, {"searched": list(SEARCHES), "scale": scales, "task": loaded.suite.tasks,
                                 "reported": [*SEARCHES, *STORING, "θ₀", "single"], "which": ["λ", "other"],
                                 "lam": list(NEGATED), "of": ["its own task", "the others"],
                                 "storing": list(STORING)})


def merged_by(loaded: Loaded, method: str, scale: float, other: float) -> State:
    """The method's merge with this λ and this value of its other parameter, where it has them."""
    name = SEARCHES[method][1]
    parameters = {"scale": scale} if method != "average" else {}
    return merge(method, loaded.base, loaded.finetuned, **parameters, **({name: other} if name else {}))


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
    apart = ~np.eye(tasks, dtype=bool)
    return {"length": ("task", lengths / square ** 0.5), "cosine": cosines[apart].mean()}


def bytes_of(state: State) -> int:
    """Of the tensors alone."""
    return sum(tensor.numel() * tensor.element_size() for tensor in state.values())


EXPERIMENT = setting.ByWidth("vit-merges", measure)
run = EXPERIMENT.run
