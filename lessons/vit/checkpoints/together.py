"""Do a base and its finetuned models belong together? Checked from their headers, before a tensor is read."""
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from lessons.merging.states import task_vectors
from lessons.vit.checkpoints.folders import DTYPES, NAMES, Tensors, entry_of
from lessons.vit.checkpoints.naming import BUFFERS, name_of
from lessons.vit.checkpoints.opening import CheckpointError, Entry
from toy_models.weights import COUNTER, FLOATS, State

UNRELATED = 0.5  # cosine of two models' matrices: a finetuned one has above 0.99 with its parent, a stranger about 0
QUANTISED = ("I8", "U8", "I32", "F8_E4M3", "F8_E5M2")  # four bits are packed into whole numbers of 32
SOME = 3  # keys that a message names


class Cast(Tensors):
    """A state dict whose floating-point tensors are read in another dtype; nothing behind it is changed.

    Attributes:
        state: what is behind it.
        dtype: of its floating-point tensors.
        shown: the keys that are shown.
    """

    def __init__(self, state: State, dtype: torch.dtype | Mapping[str, torch.dtype], shown: Iterable[str]):
        self.state = state
        self.dtype = dtype
        self.shown = dict.fromkeys(shown)

    def __getitem__(self, key: str) -> Tensor:
        if key not in self.shown:
            raise KeyError(key)
        return self.state[key].to(self._dtype_of(key))

    def _dtype_of(self, key):
        return self.dtype[key] if isinstance(self.dtype, Mapping) else self.dtype

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor, without reading it from a checkpoint."""
        return Entry(NAMES[self._dtype_of(key)], entry_of(self.state, key).shape)

    @property
    def name(self) -> str:
        """The file or folder behind it."""
        return name_of(self.state)


def together(base: State, finetuned: Sequence[State]) -> tuple[State, list[State], list[str]]:
    """The base and the finetuned models with the same keys, shapes and dtypes, ready for `merge`.

    Buffers that are no weights (`position_ids`) are left out; BatchNorm's counters stay. Where dtypes differ, each
    tensor is read in the widest that any of them has: float16 beside bfloat16 becomes float32.

    Args:
        base: θ₀, a checkpoint or any state dict.
        finetuned: θ_1 … θ_T.

    Returns:
        (base, finetuned, notes): notes are sentences on what was done or left out.

    Raises:
        CheckpointError: what is given is no list of models, keys are missing, extra or renamed, shapes differ, or a
            tensor is no weight (quantised, whole numbers). Names file and key.
    """
    _check_models(base, finetuned)
    models = [base, *finetuned]
    weights = [{key: entry_of(state, key) for key in state if not key.endswith(BUFFERS)} for state in models]
    for state, entries in zip(models, weights):
        _check_kinds(state, entries)
    for state, entries in zip(finetuned, weights[1:]):
        _check_same(base, weights[0], state, entries)
    dtypes = {key: _widest([entries[key] for entries in weights]) for key in weights[0]}
    shown = [Cast(state, dtypes, weights[0]) for state in models]
    return shown[0], shown[1:], _notes(models, weights, dtypes)


def _check_models(base, finetuned):
    """A state dict and a list of such, and not what stands for one."""
    if isinstance(finetuned, (Mapping, str)) or not isinstance(finetuned, Sequence):
        raise CheckpointError(f"finetuned must be a list of models, not a {type(finetuned).__name__}. One model: "
                              "[model]; a dict of models: list(models.values()).")
    if not finetuned:
        raise CheckpointError("there is nothing beside the base: give at least one finetuned model")
    for state in (base, *finetuned):
        if isinstance(state, Mapping):
            continue
        hint = ("Put the adapter beside its base: adapters.Adapted(base, adapter)." if hasattr(state, "pairs") else
                "Open a file or folder with folders.opened(path).")
        raise CheckpointError(f"{str(state)[:200]} is no state dict, but of type {type(state).__name__}. {hint}")


def _widest(entries):
    widest = DTYPES[entries[0].dtype]
    for entry in entries[1:]:
        widest = torch.promote_types(widest, DTYPES[entry.dtype])
    return widest


def _check_kinds(state, entries):
    for key, entry in entries.items():
        if DTYPES.get(entry.dtype) not in FLOATS and not key.endswith(COUNTER):
            hint = ("A quantised model? Take the one that it was made from." if entry.dtype in QUANTISED else
                    f"Leave it out of all models: `Without(model, {key!r})`.")
            raise CheckpointError(f"{name_of(state)}: {key!r} is {entry.dtype}, and such numbers are no weights that "
                                  f"can be added. {hint}")
    if not entries:
        raise CheckpointError(f"{name_of(state)} holds no weights.")


def _check_same(base, wanted, state, entries):
    missing = sorted(wanted.keys() - entries.keys())
    extra = sorted(entries.keys() - wanted.keys())
    if missing or extra:
        said = [f"lacks {_some(missing)}"] if missing else []
        said += [f"has {_some(extra)} besides"] if extra else []
        hint = _renamed_hint(missing, extra)
        raise CheckpointError(f"{name_of(state)} does not fit {name_of(base)}: it {' and '.join(said)}. {hint}")
    for key, entry in entries.items():
        if entry.shape != wanted[key].shape:
            raise CheckpointError(f"{key!r} has shape {entry.shape} in {name_of(state)} and {wanted[key].shape} in "
                                  f"{name_of(base)}. Both must come from one architecture; a head of another task is "
                                  "left out by `Without`.")


def _renamed_hint(missing, extra):
    """What may be behind keys that differ: a prefix alone, or a head."""
    if prefix := _prefix(missing, set(extra)) or _prefix(extra, set(missing)):
        return (f"One of them has {prefix!r} before its keys: the same model under other names? For CLIP "
                "`naming.vision_tower` brings both to one.")
    return "Both must come from one architecture and one library; tensors that only one has are left out by `Without`."


def _prefix(longer, shorter):
    """What stands before the first of the longer keys that is else one of the shorter; "" where none is."""
    for key in longer:
        parts = key.split(".")
        for place in range(1, len(parts)):
            if ".".join(parts[place:]) in shorter:
                return ".".join(parts[:place]) + "."
    return ""


def _some(keys):
    return ", ".join(map(repr, keys[:SOME])) + (f" and {len(keys) - SOME} more" if len(keys) > SOME else "")


def _notes(models, weights, dtypes):
    notes = []
    for state, entries in zip(models, weights):
        widened = [key for key, entry in entries.items() if DTYPES[entry.dtype] != dtypes[key]]
        if widened:
            narrow = " and ".join(sorted({entries[key].dtype for key in widened}))
            widest = " and ".join(sorted({NAMES[dtypes[key]] for key in widened}))
            notes.append(f"{name_of(state)} holds {narrow}: it is read as {widest}, with the digits that it has.")
        if left := [key for key in state if key.endswith(BUFFERS)]:
            notes.append(f"{name_of(state)}: {left[0]!r} is no weight and is left out.")
        notes += _told(state)
    return notes


def _told(state):
    """What was told of a model when it was opened, an adapter beside another base than its own for one."""
    found = list(getattr(state, "notes", ()))
    behind = getattr(state, "state", None)
    return found if behind is None else found + _told(behind)


def finite_task_vectors(key: str, base: State, finetuned: Sequence[State]) -> Tensor:
    """`task_vectors` of one key, (tasks, …).

    Raises:
        CheckpointError: a weight is NaN or infinite. Names file and key.
    """
    stack = task_vectors(key, base, finetuned)
    if not stack.isfinite().all():
        for state in (base, *finetuned):
            if not state[key].isfinite().all():
                raise CheckpointError(f"{name_of(state)}: {key!r} holds NaN or infinite weights. Its training "
                                      "diverged, or a narrower dtype could not hold them: take another revision.")
    return stack


class Without(Tensors):
    """A state dict without some of its keys, a task's own head for one.

    Attributes:
        state: what is behind it.
        starts: what the keys begin with that are left out.
    """

    def __init__(self, state: State, *starts: str):
        self.state = state
        self.starts = starts
        self.shown = dict.fromkeys(key for key in state if not key.startswith(starts))

    def __getitem__(self, key: str) -> Tensor:
        if key not in self.shown:
            raise KeyError(key)
        return self.state[key]

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor, without reading it from a checkpoint."""
        return entry_of(self.state, key)

    @property
    def name(self) -> str:
        """The file or folder behind it."""
        return name_of(self.state)
