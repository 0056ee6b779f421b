"""A merge from files to a file, with a card that says what was merged, how, and of which files."""
import itertools
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file

from data import store
from data.pinning import pinned
from lessons.merging import methods
from lessons.merging import merge as merge_states
from lessons.vit.checkpoints.folders import entry_of
from lessons.vit.checkpoints.looking import checked_names
from lessons.vit.checkpoints.naming import name_of
from lessons.vit.checkpoints.opening import BYTES, CheckpointError
from lessons.vit.checkpoints.together import together
from toy_models.weights import State

WEIGHTS, CARD = "model.safetensors", "README.md"


@pinned()
def merge(folder: str | os.PathLike, method: str, base: State, finetuned: Sequence[State], names: Sequence[str] = (),
          **parameters) -> Path:
    """Merge checkpoints into a folder in Hugging Face's layout: model.safetensors, the base's config.json, and a model
    card in README.md. The folder appears when all of it is written, or not at all.

    Args:
        folder: to be made; it must not exist yet.
        method: of `lessons.merging.methods()`.
        base, finetuned: checkpoints, adapters beside their base, or state dicts.
        names: of the tasks, for the card.
        parameters: the method's own; what is left out takes its default.

    Raises:
        CheckpointError: the folder is there already, or the models do not belong together.
        ValueError: the method or a parameter is unknown, or the method gives one model a task.
        StoreError: there is not enough room on the disk.
    """
    folder = Path(folder).expanduser()
    if folder.exists():
        raise CheckpointError(f"{folder} is there already, and nothing is overwritten. Choose another folder.")
    if method in methods() and not methods()[method].gives_one_model:
        raise ValueError(f"{method} gives one model a task and stores something for each: call lessons.merging.merge "
                         "and write result.model(task).")
    start, tuned, notes = together(base, finetuned)
    names = checked_names(names, finetuned)
    _check_room(folder, start)
    merged = merge_states(method, start, tuned, **parameters)
    text = card(method, parameters, base, finetuned, names, notes)
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    part.mkdir(parents=True)
    try:
        _write(part, merged, method, base, text)
        os.replace(part, folder)
    except OSError as error:
        raise store.StoreError(f"{folder} cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def unused(folder: str | os.PathLike) -> Path:
    """The folder itself, or with -2, -3, … behind its name the first that is not there yet."""
    folder = Path(folder).expanduser()
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([folder], numbered) if not path.exists())


def _check_room(folder, start):
    there = next(parent for parent in folder.absolute().parents if parent.exists())
    needed = sum(BYTES[entry.dtype] * torch.Size(entry.shape).numel()
                 for entry in (entry_of(start, key) for key in start))
    free = shutil.disk_usage(there).free
    if needed > free:
        raise store.StoreError(f"{there} has no room for the merged model: {needed:,} bytes are needed, {free:,} are "
                               "free. Choose a folder on a larger disk.")


def _write(part, merged, method, base, text):
    state = {key: tensor.contiguous() for key, tensor in merged.items()}
    save_file(state, part / WEIGHTS, metadata={"format": "pt", "merged_by": f"weightspace, {method}"})
    (part / CARD).write_text(text, encoding="utf-8")
    config = getattr(base, "config", None) or getattr(getattr(base, "state", None), "config", None)
    if config:
        (part / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def card(method: str, parameters: dict, base: State, finetuned: Sequence[State], names: Sequence[str],
         notes: Sequence[str] = ()) -> str:
    """A model card in Markdown: the method with all its parameters, given or default, its source, and every file with
    its SHA-256.
    """
    entry = methods()[method]
    settings = {**entry.defaults, **parameters}
    lines = ["---", "library_name: weightspace", "tags: [merge]", "---", "", "# A merged model", "",
             f"Merged by *{entry.title}* ({entry.source}): {entry.says}", "",
             "| parameter | value |", "|---|---|", f"| method | `{method}` |"]
    lines += [f"| {name} | {_said(value)} |" for name, value in settings.items()]
    lines += ["", "| model | from | file | SHA-256 |", "|---|---|---|---|"]
    for name, state in (("base, θ₀", base), *zip(names, finetuned)):
        for file, digest in digests(state).items():
            lines.append(f"| {name} | {name_of(state)} | {file} | `{digest}` |")
    if notes:
        lines += ["", *(f"- {note}" for note in notes)]
    lines += ["", "Merged models inherit the licences of all that they were made from; this card does not know them."]
    return "\n".join(lines) + "\n"


def card_of(folder: str | os.PathLike) -> str:
    """The card of a merged model in Markdown, without what only programs read and without its title."""
    text = (Path(folder) / CARD).read_text(encoding="utf-8")
    return text.split("# A merged model\n", 1)[-1].strip()


def _said(value):
    return f"`{value!r}`" if isinstance(value, (int, float, str, bool)) else type(value).__name__


def digests(state: State) -> dict[str, str]:
    """{file: SHA-256} of what a state dict was read from; {"in memory": ""} where it was not read from files."""
    found = {}
    for attribute in ("adapter", "state", "base"):
        behind = getattr(state, attribute, None)
        if behind is not None:
            found |= digests(behind)
    if not found and hasattr(state, "digests"):
        return state.digests()
    return found or {"in memory": "–"}

