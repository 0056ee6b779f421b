"""Your own checkpoints, looked at layer by layer: one pass through base and finetuned, one tensor of every model in
memory at a time.
"""
import functools
import math
import timeit
from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from tqdm.auto import tqdm

from data.pinning import pinned
from lessons.checkpoints import vectors
from lessons.checkpoints.folders import DTYPES, config_of, entry_of
from lessons.checkpoints.naming import name_of
from lessons.checkpoints.together import UNRELATED, finite_task_vectors, together
from lessons.merging.states import wide
from toy_models.weights import State

SOME = 4096  # entries of a tensor by which two task vectors are told apart at a glance
FAR = 0.5  # ‖τ‖²/‖θ₀‖² up to which the cosine of θ₀ + τ and θ₀ is √½ at least, well above `UNRELATED`


def is_matrix(shape: Sequence[int]) -> bool:
    """Whether a tensor of that shape is decomposed: two dimensions or more, neither side 1 when it is read as (out,
    rest).
    """
    return len(shape) > 1 and shape[0] > 1 and math.prod(shape[1:]) > 1


@pinned()
def look(base: State, finetuned: Sequence[State], names: Sequence[str] = (), ratios: Sequence[float] = vectors.RATIOS,
         spectra: bool = True, progress: bool = True) -> xr.Dataset:
    """What task vectors are like, layer by layer.

    Args:
        base: θ₀: a checkpoint or any state dict.
        finetuned: θ_1 … θ_T.
        names: of the tasks; left out, of their files or folders.
        ratios: ranks, as shares of a matrix's shorter side.
        spectra: decompose the matrices too, which takes nearly all of the time.

    Returns:
        A Dataset over `layer` (the keys), `task`, `other` and `ratio`:
        size: numbers in the tensor. matrix: whether it is decomposed.
        base_norm: ‖θ₀‖. norm (layer, task): ‖τ_t‖. inner (layer, task, other): ⟨τ_t, τ_s⟩. cosine: from it.
        parent (task): cosine of the matrices of θ_t and θ₀.
        disagree, against (layer): sign conflicts, `vectors.Signs`. against_by_chance (layer): with signs at random.
        stable_rank (layer, task), energy (layer, task, ratio): ‖SVD_k(τ_t)‖²/‖τ_t‖².
        overlap (layer, ratio): row-space interference, mean over pairs.
        In `attrs`: "notes", sentences on what was found strange, and "trained_on", what the base's `config.json` says
        of it.

    Raises:
        CheckpointError: the models do not belong together, or a weight is NaN or infinite. Names file and key.
    """
    start, tuned, notes = together(base, finetuned)
    names = checked_names(names, finetuned)
    keys = [key for key in start if DTYPES[entry_of(start, key).dtype].is_floating_point]
    rows, turn = [], np.zeros((len(tuned), 3))
    with torch.no_grad():
        for key in tqdm(keys, unit="tensor", disable=not progress):
            stack = finite_task_vectors(key, start, tuned)
            rows.append(_one(stack, ratios, spectra))
            rows[-1]["base_norm"] = wide(start[key]).norm(dtype=torch.float64).item()
            if stack.ndim > 2:
                turn += _turn(wide(start[key]), stack)
    layers = _dataset(rows, keys, names, ratios, start, _parent(turn), notes, [name_of(state) for state in finetuned])
    return layers.assign_attrs(trained_on=_trained_on(base))


def _one(stack, ratios, spectra):
    """The numbers of one tensor's task vectors (tasks, …)."""
    conflict = vectors.signs(stack)
    numbers = {"inner": vectors.inner_products(stack).numpy(), "disagree": conflict.disagree,
               "against": conflict.against, "against_by_chance": vectors.by_chance(stack).against,
               "matrix": is_matrix(stack.shape[1:])}
    if spectra and numbers["matrix"]:
        rank = max(1, math.ceil(max(ratios) * min(stack[0].flatten(1).shape)))
        ours = [vectors.spectrum(matrix.flatten(1), rank) for matrix in stack]
        numbers["stable_rank"] = [vectors.stable_rank(spectrum.sigma) for spectrum in ours]
        numbers["energy"] = [vectors.energy(spectrum.sigma, ratios) for spectrum in ours]
        numbers["overlap"] = vectors.overlaps(ours, ratios)
    return numbers


def _turn(origin, stack):
    """(⟨θ₀, θ_t⟩, ‖θ₀‖², ‖θ_t‖²) of every task."""
    flat = origin.flatten().double()
    square = (flat @ flat).item()
    rows = []
    for vector in stack:
        change = vector.flatten().double()
        across = (flat @ change).item()
        rows.append([square + across, square, square + 2 * across + (change @ change).item()])
    return np.array(rows)


def _parent(turn):
    with np.errstate(invalid="ignore", divide="ignore"):
        return turn[:, 0] / np.sqrt(turn[:, 1] * turn[:, 2])


def _dataset(rows, keys, names, ratios, start, parent, notes, paths):
    tasks, shapes = len(names), [entry_of(start, key).shape for key in keys]
    inner = np.stack([row["inner"] for row in rows])

    def gathered(name, *shape):
        empty = np.full(shape, np.nan)
        return np.stack([np.asarray(row.get(name, empty), dtype=float) for row in rows])

    of_layer = ("base_norm", "disagree", "against", "against_by_chance")
    per_layer = {name: ("layer", gathered(name)) for name in of_layer}
    layers = xr.Dataset({
        "size": ("layer", [math.prod(shape) for shape in shapes]),
        "matrix": ("layer", [row["matrix"] for row in rows]), **per_layer,
        "norm": (("layer", "task"), np.sqrt(np.diagonal(inner, axis1=1, axis2=2))),
        "inner": (("layer", "task", "other"), inner),
        "cosine": (("layer", "task", "other"), vectors.cosines(torch.from_numpy(inner)).numpy()),
        "parent": ("task", parent),
        "stable_rank": (("layer", "task"), gathered("stable_rank", tasks)),
        "energy": (("layer", "task", "ratio"), gathered("energy", tasks, len(ratios))),
        "overlap": (("layer", "ratio"), gathered("overlap", len(ratios))),
    }, {"layer": keys, "task": list(names), "other": list(names), "ratio": list(ratios)})
    layers.attrs["notes"] = [*notes, *_strange(list(names), paths, parent, inner.sum(0))]
    return layers


def _strange(names, paths, parent, inner):
    """Sentences on models that are probably the wrong ones, from parent (task) and ⟨τ_t, τ_s⟩ (task, other)."""
    notes = []
    for place, (name, path) in enumerate(zip(names, paths)):
        if not inner[place, place]:
            notes.append(f"{name} ({path}) is the base itself: its task vector is zero. A copy that was never tuned?")
        elif parent[place] < UNRELATED:
            notes.append(f"{name} ({path}) does not match this base: the cosine of their matrices is "
                         f"{parent[place].item():.2f}, where a finetuned model has nearly 1. Its “task vector” is "
                         "the way between two strangers. It has another parent, its units are in another order, or its "
                         "tensors have wrong names, so do not merge it.")
    for i in range(len(inner)):
        for j in range(i):
            squared_distance = inner[i, i] + inner[j, j] - 2 * inner[i, j]  # ‖τ_i − τ_j‖²
            if inner[i, i] > 0 and squared_distance < 1e-9 * inner[i, i]:
                notes.append(f"{names[j]} and {names[i]} are the same model.")
    return notes


def strange(start: State, tuned: Sequence[State], names: Sequence[str]) -> list[str]:
    """Sentences on models that do not match the base, are the base itself or are there twice.

    Args:
        start, tuned: as `together` gives them.
        names: of the tasks.

    Raises:
        CheckpointError: a weight is NaN or infinite, or a file changed. Names the file.
    """
    inner, turn = np.zeros((len(tuned), len(tuned))), np.zeros((len(tuned), 3))
    with torch.no_grad():
        keys = [key for key in start if DTYPES[entry_of(start, key).dtype].is_floating_point]
        if _plainly_related(start, tuned, keys):
            return []
        for key in keys:
            stack = finite_task_vectors(key, start, tuned)
            inner += vectors.inner_products(stack).numpy()
            if stack.ndim > 2:
                turn += _turn(wide(start[key]), stack)
    return _strange(names, [name_of(state) for state in tuned], _parent(turn), inner)


def _plainly_related(start, tuned, keys):
    """Whether a quick look is enough to know that `_strange` would find nothing: with room to spare for the rounding of
    float32 each task vector is there, is so much shorter than θ₀ that it cannot turn it far, and differs from each
    other one in a few entries of every tensor. Where one is NaN or infinite, so is its length, and it is not enough.
    """
    tasks = len(tuned)
    lengths, lengths_of_matrices, squared_distances = np.zeros(tasks), np.zeros(1 + tasks), np.zeros((tasks, tasks))
    for key in keys:
        origin = wide(start[key]).flatten()
        rows, some = [origin.dot(origin).item()], []
        for state in tuned:
            vector = wide(state[key]).flatten() - origin
            rows.append(vector.dot(vector).item())
            some.append(vector[:SOME].clone())  # a view would keep all of it
        lengths += rows[1:]
        if len(entry_of(start, key).shape) > 1:
            lengths_of_matrices += rows
        some = torch.stack(some).double()
        squared_distances += (some[:, None] - some).square().sum(-1).cpu().numpy()
    origin, *moved = lengths_of_matrices
    np.fill_diagonal(squared_distances, np.inf)
    # the sine of the angle between θ₀ and θ₀ + τ is at most ‖τ‖/‖θ₀‖; squares below 1e-38 are lost
    return bool(np.isfinite(lengths).all() and lengths.min() > 1e-20 and origin > 1e-20
                and max(moved) < FAR * origin and (squared_distances > 1e-6 * lengths[:, None]).all())


def _trained_on(base):
    """What the base's `config.json` says of its data; the course's own networks do."""
    return str(config_of(base).get("trained_on", ""))


def checked_names(names: Sequence[str], finetuned: Sequence[State]) -> list[str]:
    """A name for every finetuned model, all different.

    Raises:
        ValueError: there are not as many names as models, or two are the same.
    """
    if not names:
        paths = [name_of(state) for state in finetuned]
        parts = [path.rstrip("/").removesuffix("/model.safetensors").split("/")[-1] for path in paths]
        names = [part.removesuffix(".safetensors") for part in parts]
        if len(set(names)) < len(names):
            names = [f"task {number}" for number in range(1, len(finetuned) + 1)]
    if len(names) != len(finetuned) or len(set(names)) < len(names):
        raise ValueError(f"names must be {len(finetuned)} different ones, one a finetuned model, not {list(names)}")
    return list(names)


def overall(layers: xr.Dataset) -> xr.Dataset:
    """The same over all layers: norm (task), cosine (task, other), relative (task) = ‖τ_t‖/‖θ₀‖."""
    inner = layers.inner.sum("layer")
    norm = np.sqrt(np.diagonal(inner.values))
    base = math.sqrt(float((layers.base_norm ** 2).sum()))
    return xr.Dataset({"norm": ("task", norm), "relative": ("task", norm / base),
                       "cosine": (("task", "other"), vectors.cosines(torch.from_numpy(inner.values)).numpy())},
                      {"task": layers.task, "other": layers.other})


def seconds_of(base: State, tasks: int) -> float:
    """How long `look` will take, roughly: one matrix of every shape is decomposed now, of random numbers."""
    shapes = {}
    for key in base:
        shape = entry_of(base, key).shape
        if is_matrix(shape) and DTYPES[entry_of(base, key).dtype].is_floating_point:
            flat = (shape[0], math.prod(shape[1:]))
            shapes[flat] = shapes.get(flat, 0) + 1
    total = 0.0
    for shape, count in shapes.items():
        matrix = torch.randn(shape)
        decompose = functools.partial(vectors.spectrum, matrix, max(1, min(shape) // 3))
        twice = timeit.repeat(decompose, number=1, repeat=2)
        total += count * min(twice)  # the first one starts threads
    return 1.3 * tasks * total  # the rest: reading, signs, pairs


DENSITIES = (0.05, 0.1, 0.2, 0.5, 1.0)
CROP = 32  # entries along a side of what is shown of a matrix


@pinned()
def layer(base: State, finetuned: Sequence[State], key: str, names: Sequence[str] = (), pair: tuple[int, int] = (0, 1),
          densities: Sequence[float] = DENSITIES, ratios: Sequence[float] = (*vectors.RATIOS, 1.0)) -> xr.Dataset:
    """One layer of two task vectors, trimmed and truncated on a grid: v_t = SVD_k(trim_d(τ_t)), for the panel that
    merges them as λ·(α·v_a + (1 − α)·v_b).

    Args:
        key: of a matrix.
        pair: which two of the finetuned models.

    Returns:
        piece (end, density, ratio, row, column): v_t's first 32 rows and columns. inner (end, density, ratio, task):
        ⟨v, τ_t⟩/‖τ_t‖², how much of every task's own vector is in it. gram (density, ratio, end, other_end): ⟨v, v'⟩.
        base_norm: ‖θ₀‖ of the layer. In `attrs`: the key, "sides" (rows, columns), and "trained_on" as in `look`.

    Raises:
        CheckpointError: the models do not belong together, or a weight is NaN or infinite.
        ValueError: there is no such key, it is not a matrix, or there are not two such models.
    """
    start, tuned, _ = together(base, finetuned)
    names = checked_names(names, finetuned)
    if key not in start or not is_matrix(start.entry(key).shape):
        there = f"{_matrices(start)[0]!r} is one" if _matrices(start) else "they have none"
        raise ValueError(f"{key!r} is no matrix of these models; {there}")
    if len(tuned) < 2:
        raise ValueError("two finetuned models are needed to merge a layer of two; there is one")
    if len(set(pair)) != 2 or not all(0 <= number < len(tuned) for number in pair):
        raise ValueError(f"pair must be two different numbers from 0 to {len(tuned) - 1}, not {pair!r}")
    with torch.no_grad():
        stack = finite_task_vectors(key, start, tuned).flatten(2).float()
        squares = stack.double().square().sum((1, 2))
        sizes = (len(densities), len(ratios))
        pieces = np.zeros((2, *sizes, min(CROP, stack.shape[1]), min(CROP, stack.shape[2])), np.float32)
        inner, gram = np.zeros((2, *sizes, len(tuned))), np.zeros((*sizes, 2, 2))
        for place, density in enumerate(densities):
            both = [vectors.truncations(vectors.trimmed(stack[number], density), ratios) for number in pair]
            for end, truncated in enumerate(both):
                pieces[end, place] = truncated[:, :CROP, :CROP].numpy()
                inner[end, place] = (torch.einsum("rmn,tmn->rt", truncated, stack).double() / squares).numpy()
            gram[place] = torch.einsum("ermn,frmn->ref", *[torch.stack(both)] * 2).numpy()
    ends = [names[number] for number in pair]
    return xr.Dataset({"piece": (("end", "density", "ratio", "row", "column"), pieces),
                       "inner": (("end", "density", "ratio", "task"), inner),
                       "gram": (("density", "ratio", "end", "other_end"), gram),
                       "base_norm": wide(start[key]).norm(dtype=torch.float64).item()},
                      {"end": ends, "other_end": ends, "density": list(densities), "ratio": list(ratios),
                       "task": names}, {"key": key, "sides": tuple(stack.shape[1:]), "trained_on": _trained_on(base)})


def _matrices(state):
    return [key for key in state if is_matrix(entry_of(state, key).shape)]
