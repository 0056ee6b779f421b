"""A merge from files to a file, with a card that says what was merged, how, and of which files."""
import contextlib
import errno
import hashlib
import itertools
import json
import os
import re
import shutil
import stat
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from data import store
from data.pinning import pinned
from lessons.merging import methods
from lessons.merging import merge as merge_states
from lessons.vit.checkpoints.folders import config_of, entry_of
from lessons.vit.checkpoints import looking
from lessons.vit.checkpoints.looking import checked_names
from lessons.vit.checkpoints.naming import is_buffer, name_of
from lessons.vit.checkpoints.opening import BYTES, CheckpointError, header, sha256
from lessons.vit.checkpoints.together import heads, together
from toy_models.weights import State

WEIGHTS, CARD = "model.safetensors", "README.md"


class StrangeModels(UserWarning):
    """The models that are merged may not belong together; the merge was made all the same."""


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
        CheckpointError: the folder is there already, the models do not belong together, or a weight is NaN or infinite.
        ValueError: the method or a parameter is unknown, or the method gives one model a task.
        StoreError: the folder cannot be written, or there is not enough room on the disk.

    Warns:
        StrangeModels: a model does not descend from the base, is the base itself or is there twice, or heads of tasks
            with other labels are merged. The card says the same.
    """
    folder = Path(folder).expanduser()
    if folder.exists():
        raise _is_there(folder)
    if method in methods() and not methods()[method].gives_one_model:
        raise ValueError(f"{method} gives one model a task and stores something for each: call lessons.merging.merge "
                         "and write result.model(task).")
    start, tuned, notes = together(base, finetuned)
    names = checked_names(names, finetuned)
    _check_room(folder, start)
    try:
        merged = merge_states(method, start, tuned, **parameters)
    except ValueError as error:  # it counts the models; whoever reads it wants the file
        paths = [name_of(state) for state in (base, *finetuned)]
        said = re.sub(r"state dict (\d+)", lambda found: paths[int(found[1]) - 1], str(error))
        if said == str(error):
            raise
        raise CheckpointError(said) from error
    doubts = [*looking.strange(start, tuned, names), *heads(base, finetuned, start)]
    text = card(method, parameters, base, finetuned, names, [*notes, *(one for one in doubts if one not in notes)])
    for doubt in doubts:
        warnings.warn(doubt, StrangeModels, stacklevel=3)
    with _whole(folder) as part:
        _write(part, merged, method, base, text)
    return folder


@contextlib.contextmanager
def _whole(folder):
    """A folder beside it that takes its name when the block succeeds; nothing is left where it does not."""
    part = store.part_of(folder, threads=True)
    made = [parent for parent in folder.absolute().parents if not parent.exists()]
    try:
        store.clear_leftovers(folder)
        part.mkdir(parents=True)
        yield part
        if folder.exists():  # where it is empty, os.replace would take its place
            raise _is_there(folder)
        os.replace(part, folder)
    except (OSError, SafetensorError) as error:
        if folder.exists() and getattr(error, "errno", None) in (errno.ENOTEMPTY, errno.EEXIST):
            raise _is_there(folder) from error
        raise store.StoreError(f"{folder} cannot be written: {getattr(error, 'strerror', None) or error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()  # which only an empty folder lets happen


def _is_there(folder):
    return CheckpointError(f"{folder} is there already, and nothing is overwritten. Choose another folder.")


def merge_once(folder: str | os.PathLike, method: str, base: State, finetuned: Sequence[State],
               names: Sequence[str] = (), **parameters) -> Path:
    """`merge` into a folder that is not there yet, or the folder of an earlier merge where that is the same file by
    file: so a notebook that is run again leaves nothing new behind.

    Args:
        folder: where the first one goes; later ones that differ get -2, -3, … behind its name.
    """
    new = merge(unused(folder), method, base, finetuned, names, **parameters)
    earlier = itertools.takewhile(lambda path: path != new, _numbered(Path(folder).expanduser()))
    for old in earlier:
        if _contents(old) == _contents(new):
            shutil.rmtree(new)
            return old
    return new


def _numbered(folder):
    return itertools.chain([folder], (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2)))


def _contents(folder):
    """{file name: what tells it from others} of a merge's folder; {} where it is none."""
    if not (folder / WEIGHTS).is_file():
        return {}
    found = {path.name: sha256(path) if path.is_file() else "" for path in folder.iterdir()}
    front = header(folder / WEIGHTS)  # safetensors writes the metadata in any order, so they are compared as a dict
    with open(folder / WEIGHTS, "rb") as file:
        file.seek(min(start for start, _ in front.places.values()))
        return found | {WEIGHTS: (front, hashlib.file_digest(file, "sha256").hexdigest())}


def unused(folder: str | os.PathLike) -> Path:
    """The folder itself, or with -2, -3, … behind its name the first that is not there yet."""
    return next(path for path in _numbered(Path(folder).expanduser()) if not path.exists())


def _check_room(folder, start):
    there = next(parent for parent in folder.absolute().parents if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise store.StoreError(f"{folder} cannot be made: {there} is no folder that may be written.")
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
    (part / WEIGHTS).chmod(stat.S_IMODE((part / CARD).stat().st_mode))  # safetensors makes its files private
    config = dict(config_of(base))
    largest = max(merged.values(), key=torch.Tensor.numel)
    for key in config.keys() & {"dtype", "torch_dtype"}:
        config[key] = str(largest.dtype).removeprefix("torch.")
    if config.keys() & {"architectures"} and _lacks_weights(base, merged):
        del config["architectures"]  # it would claim a head that is not there
    if config:
        (part / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def _lacks_weights(base, merged):
    """Whether the base's files hold more weights than the merged model: a head was left out."""
    while isinstance(behind := getattr(base, "state", None) or getattr(base, "base", None), Mapping):
        base = behind
    return len([key for key in base if not is_buffer(key, entry_of(base, key).shape)]) > len(merged)


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
    lines += [f"| {_text(name)} | {_said(value)} |" for name, value in settings.items()]
    lines += ["", "| model | from | file | SHA-256 |", "|---|---|---|---|"]
    for name, state in (("base, θ₀", base), *zip(names, finetuned)):
        for path, file, digest in sources(state):
            lines.append(f"| {_text(name)} | {_text(path)} | {_text(file)} | `{digest}` |")
    if len(finetuned) == 2 and method.startswith("cart"):
        notes = [*notes, "Of two models CART gives the average whatever its rank is: the two centred task vectors are "
                         "each other's opposite and cancel."]
    if notes:
        lines += ["", *(f"- {_text(_with_names(note, (base, *finetuned)))}" for note in notes)]
    lines += ["", "Merged models inherit the licences of all that they were made from; this card does not know them."]
    return "\n".join(lines) + "\n"


def card_of(folder: str | os.PathLike) -> str:
    """The card of a merged model in Markdown, to be shown: without what only programs read, without its title, of each
    digest the first digits. JupyterLab would run the scripts of a card that somebody else wrote, so HTML, links, images
    and formulas in it are read as text; the cards that are written here have none.
    """
    text = (Path(folder) / CARD).read_text(encoding="utf-8").split("# A merged model\n", 1)[-1].strip()
    text = re.sub(r"[<\[$]", lambda found: f"&#{ord(found[0])};", text)
    return re.sub(r"`([0-9a-f]{12})[0-9a-f]{52}`", r"`\1…`", text)


def _short(path):
    """A file or folder by name: the card is published, and where it lay on one machine is nobody's business."""
    path = Path(os.path.abspath(path))  # a file in the present folder has a folder too
    return path.parent.name if path.suffix == ".safetensors" and path.name == WEIGHTS else path.name


def _with_names(note, states):
    """A note without paths; a name without a folder before it is none."""
    paths = {path for state in states for path in _paths(state) if Path(path).name != path}
    for path in sorted(paths, key=len, reverse=True):
        note = note.replace(path, _short(path))
    return note


def _paths(state):
    names = ("adapter", "state", "base", "tensors")
    behind = [one for one in (getattr(state, name, None) for name in names) if one is not None]
    return [name_of(state), *(path for one in behind for path in _paths(one))]


def _said(value):
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (int, float, str, bool)):
        return type(value).__name__
    told = repr(value)
    return _text(told) if set(told) & set("`|<$") else f"`{told}`"


# what means something in Markdown, in a table or in JupyterLab's formulas; "_" alone where no letter is on both sides
_MEANING = re.compile(r"[&<>|`*\[\]!~$#\\]|(?<![^\W_])_|_(?![^\W_])|:(?=//)")


def _text(name):
    """A name from a file or a path in Markdown, on one line, where it is read as the text that it is."""
    return _MEANING.sub(lambda found: f"&#{ord(found[0])};", " ".join(str(name).split()))


def sources(state: State) -> list[tuple[str, str, str]]:
    """(name of the folder or file, file, SHA-256) of all that was read for a state dict; one row says so where that
    was no file.
    """
    behind = [getattr(state, attribute, None) for attribute in ("adapter", "state", "base")]
    found = [row for one in behind if one is not None for row in sources(one)]
    if not found and hasattr(state, "digests"):
        return [(_short(name_of(state)), file, digest) for file, digest in state.digests().items()]
    return found or [(name_of(state), "in memory", "–")]

