"""Do a base and its finetuned models belong together? Checked from their headers, before a tensor is read."""
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from lessons.checkpoints.folders import DTYPES, NAMES, Tensors, config_of, entry_of
from lessons.checkpoints.naming import Renamed, is_buffer, name_of, renamed
from lessons.checkpoints.opening import CheckpointError, Entry
from lessons.merging.states import task_vectors
from toy_models.weights import COUNTER, FLOATS, State

UNRELATED = 0.5  # cosine of two models' matrices: a finetuned one has above 0.99 with its parent, a stranger about 0
QUANTISED = ("I8", "U8", "I32", "F8_E4M3", "F8_E5M2")  # four bits are packed into whole numbers of 32
SOME = 3  # keys that a message names
OLD_WORDS = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}  # of BERT's first files
HEADS = {"classifier", "score", "qa_outputs", "head", "heads"}  # parts of the keys of a layer that predicts labels
HERE = "lessons.checkpoints"


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


def together(base: State, finetuned: Sequence[State]) -> tuple[Cast, list[Cast], list[str]]:
    """The base and the finetuned models with the same keys, shapes and dtypes, ready for `merge`.

    Buffers that are no weights (`position_ids`, GPT-2's masks) are left out; BatchNorm's counters stay. Old names
    (`LayerNorm.gamma`) become new ones, and where one file has a prefix before its keys that the base has not, or the
    other way round, the base's names are taken. Where dtypes differ, each tensor is read in the widest that any of them
    has: float16 beside bfloat16 becomes float32.

    Args:
        base: θ₀, a checkpoint or any state dict.
        finetuned: θ_1 … θ_T.

    Returns:
        (base, finetuned, notes): notes are sentences on what was done or left out.

    Raises:
        CheckpointError: the models are not in a list, keys are missing, extra or renamed, shapes differ, or a
            tensor is not a weight (quantised, whole numbers). Names file and key.
    """
    _check_models(base, finetuned)
    given = [base, *finetuned]
    models, notes = _alike(given)
    weights = [_weights(state) for state in models]
    for state, entries in zip(models, weights):
        _check_kinds(state, entries)
    for state, entries in zip(models[1:], weights[1:]):
        _check_same(models, weights, state, entries)
    dtypes = {key: _widest([entries[key] for entries in weights]) for key in weights[0]}
    shown = [Cast(state, dtypes, weights[0]) for state in models]
    notes += [note for state in given for note in _left_out(state)]
    return shown[0], shown[1:], [*notes, *_notes(models, weights, dtypes), *heads(base, finetuned, weights[0])]


def _weights(state):
    entries = {key: entry_of(state, key) for key in state}
    return {key: entry for key, entry in entries.items() if not is_buffer(key, entry.shape)}


def _alike(given):
    """(the models under the base's names, what was renamed)."""
    models, notes = [], []
    for state in given:
        if any(key.endswith(tuple(OLD_WORDS)) for key in state):
            state = renamed(state, words=OLD_WORDS)
            notes.append(f"{name_of(state)} has the old names LayerNorm.gamma and LayerNorm.beta: they are read as "
                         "LayerNorm.weight and LayerNorm.bias.")
        if models:
            ours, theirs = _weights(models[0]), _weights(state)
            if prefix := _prefix(theirs, ours):
                state = renamed(state, remove=prefix)
                notes.append(f"{name_of(state)} has {prefix!r} before its keys: it is read without.")
            elif prefix := _prefix(ours, theirs):
                state = renamed(state, add=prefix)
                notes.append(f"{name_of(state)} has no {prefix!r} before its keys: it is read as if it had.")
        models.append(state)
    return models, notes


def _prefix(longer, shorter):
    """What stands before most keys of one model that the other has without it; "" where there is none or more than one,
    as before the two towers of CLIP.
    """
    counts = Counter()
    lacking = shorter.keys() - longer.keys()
    for key in longer.keys() - shorter.keys():
        parts = key.split(".")
        for place in range(1, len(parts)):
            bare = ".".join(parts[place:])
            if bare in lacking and longer[key].shape == shorter[bare].shape:
                counts[".".join(parts[:place]) + "."] += 1
    (best, most), (_, next_best) = (*counts.most_common(2), ("", 0), ("", 0))[:2]
    return best if 2 * most >= min(len(longer), len(shorter)) and 2 * next_best < most else ""


def _left_out(state):
    """A sentence on every `Without` that stands behind a state dict."""
    behind = [getattr(state, name, None) for name in ("state", "base")]
    notes = [note for part in behind if isinstance(part, Mapping) for note in _left_out(part)]
    if isinstance(state, Without) and (left := [key for key in state.state if key not in state.shown]):
        notes.append(f"{name_of(state)}: {_some(left)} {'were' if len(left) > 1 else 'was'} left out on request.")
    return notes


def heads(base: State, finetuned: Sequence[State], keys: Iterable[str]) -> list[str]:
    """A sentence on a head for labels among the keys, unless the files' `config.json` say that all tasks have the same
    labels.
    """
    head_keys = [key for key in keys if HEADS & set(key.split(".")[:-1])]
    configs = [config_of(state) for state in finetuned]
    labels = [config.get("id2label") or config.get("trained_on") for config in configs]
    if not head_keys or len(finetuned) < 2 or (labels[0] and all(label == labels[0] for label in labels)):
        return []
    known = "whose labels differ" if all(labels) else "of which no config.json says that they have the same labels"
    return [f"{_some(head_keys)} {'are' if len(head_keys) > 1 else 'is'} a head for labels and merged like all the "
            f"rest, from {len(finetuned)} models {known}. If the tasks differ, leave it out: "
            f"{_without(_starts(head_keys, keys))}"]


def _check_models(base, finetuned):
    """Refuse anything but a state dict and a list of state dicts."""
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
                    f"Leave it out of all models: {_without([_stored(state, key)])}")
            raise CheckpointError(f"{name_of(state)}: {key!r} is {entry.dtype}, and such numbers are no weights that "
                                  f"can be added. {hint}")
    if not entries:
        raise CheckpointError(f"{name_of(state)} holds no weights.")


def _check_same(models, weights, state, entries):
    base, wanted = models[0], weights[0]
    missing = sorted(wanted.keys() - entries.keys())
    extra = sorted(entries.keys() - wanted.keys())
    if missing or extra:
        differences = [f"lacks {_some(missing)}"] if missing else []
        differences += [f"has {_some(extra)} besides"] if extra else []
        raise CheckpointError(f"{name_of(state)} does not fit {name_of(base)}: it {' and '.join(differences)}. "
                              f"{_hint(models, weights, missing, extra)}")
    for key, entry in entries.items():
        if entry.shape != wanted[key].shape:
            raise CheckpointError(f"{key!r} has shape {entry.shape} in {name_of(state)} and {wanted[key].shape} in "
                                  f"{name_of(base)}. {_hint(models, weights, [], [])}")


def _hint(models, weights, missing, extra):
    """What to write where keys differ: what is left out of all models, or how keys are renamed, or either."""
    common = [key for key, entry in weights[0].items() if all(
        key in other and other[key].shape == entry.shape for other in weights[1:])]
    if 2 * len(common) < min(map(len, weights)):
        return f"Both must come from one architecture. If only the names differ, {_renaming(missing, extra)}"
    odd = {_stored(state, key) for state, entries in zip(models, weights) for key in entries.keys() - set(common)}
    kept = {_stored(state, key) for state in models for key in common}
    without = ("Leave out what is not, a head of another task for one, and merge again: "
               f"{_without(_starts(odd, kept))}")
    if missing and _shapes(weights, missing) == _shapes(weights, extra):
        return (f"The rest of their keys is the same, and these have the same shapes. If only their names differ, "
                f"{_renaming(missing, extra)} If they mean something else: {without[0].lower()}{without[1:]}")
    return f"The rest of their keys is the same. {without}"


def _shapes(weights, keys):
    """The shapes that keys have in whichever model has them, in order."""
    return sorted(next(entries[key].shape for entries in weights if key in entries) for key in keys)


def _renaming(missing, extra):
    """How keys are renamed, with the first ones that differ for an example."""
    clip = " For towers of CLIP, `naming.vision_tower` does it." if any("vis" in key for key in missing + extra) else ""
    example = f"renamed(model, words={{{extra[0]!r}: {missing[0]!r}}})" if missing and extra else (
        "renamed(model, remove='model.')")
    return (f"rename keys: `from {HERE} import renamed`, then `{example}`; it also takes remove=… and add=… for what "
            f"stands before the keys, and words of keys between dots.{clip}")


def _stored(state, key):
    """A key as the model that was given has it."""
    while isinstance(state, Renamed):
        key, state = state.places[key].key, state.state
    return key


def _starts(odd, rest):
    """The shortest beginnings of keys, up to a dot, that all the odd ones have and none of those that are kept."""
    shortest = set()
    others = [key for key in rest if key not in set(odd)]
    for key in odd:
        parts = key.split(".")
        starts = [".".join(parts[:place]) + "." for place in range(1, len(parts))] + [key]
        shortest.add(next((start for start in starts if not any(other.startswith(start) for other in others)), key))
    return sorted(shortest)


def _without(starts):
    """What a reader can copy and run to leave keys out of all models."""
    listed = ", ".join(map(repr, starts[:10])) + (", …" if len(starts) > 10 else "")
    return (f"`from {HERE} import Without`, then `base = Without(base, {listed})` and `finetuned = "
            f"[Without(model, {listed}) for model in finetuned]`.")


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
        if left := [key for key in state if key not in entries]:
            what = "are no weights and are" if len(left) > 1 else "is no weight and is"
            notes.append(f"{name_of(state)}: {_some(left)} {what} left out.")
        notes += _told(state)
    return notes


def _told(state):
    """What was told of a model when it was opened, an adapter beside another base than its own for one."""
    notes = list(getattr(state, "notes", ()))
    behind = getattr(state, "state", None)
    return notes if behind is None else notes + _told(behind)


def finite_task_vectors(key: str, base: State, finetuned: Sequence[State]) -> Tensor:
    """`task_vectors` of one key, (tasks, …).

    Raises:
        CheckpointError: a weight is NaN or infinite. Names file and key.
    """
    stack = task_vectors(key, base, finetuned)
    if not math.isfinite(stack.sum().item()) and not stack.isfinite().all():  # the sum is the quick look
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
