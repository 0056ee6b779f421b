"""A merge from files to files, with a card that says what was merged, how, and of which files. One tensor of every
model is in memory at a time, and each is written as soon as it is made.
"""
import contextlib
import errno
import itertools
import json
import math
import os
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from data import store
from data.pinning import pinned
from lessons.checkpoints import looking, shards
from lessons.checkpoints.folders import DTYPES, NAMES, Checkpoint, Tensors, config_of, entry_of, of_home
from lessons.checkpoints.looking import checked_names
from lessons.checkpoints.naming import is_buffer, name_of
from lessons.checkpoints.opening import CheckpointError, Entry, sha256
from lessons.checkpoints.shards import WEIGHTS
from lessons.checkpoints.together import Cast, heads, together
from lessons.merging import merge_on_demand, methods
from toy_models.weights import FLOATS, State, mix

CARD = "README.md"
OUTPUT = {str(dtype).removeprefix("torch."): dtype for dtype in FLOATS}  # what a merge can be written in
# what tells texts and images to a model, beside the weights in Hugging Face's layout; no file of these is a program
VOCABULARY = ("tokenizer.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer.model", "spiece.model",
              "sentencepiece.bpe.model", "added_tokens.json")
BESIDE = (*VOCABULARY, "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "chat_template.json",
          "generation_config.json", "preprocessor_config.json", "processor_config.json",
          "video_preprocessor_config.json", "open_clip_config.json")
MEANS = ("average", "cart")  # methods that move from the mean, so that weights are shares of it


class StrangeModels(UserWarning):
    """The models that are merged may not belong together; the merge was made all the same."""


class Weighted(Tensors):
    """θ₀ + w·(θ_t − θ₀), each tensor made when it is asked for.

    Attributes:
        state: θ_t.
        base: θ₀.
        weight: w; at 1 it is θ_t to the last bit.
    """

    def __init__(self, state: State, base: State, weight: float):
        self.state = state
        self.base = base
        self.weight = weight
        self.shown = dict.fromkeys(state)

    def __getitem__(self, key: str) -> Tensor:
        tensor = self.state[key]
        return mix(tensor, self.base[key], self.weight) if tensor.is_floating_point() else tensor

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor, without reading it from a checkpoint."""
        return entry_of(self.state, key)

    @property
    def name(self) -> str:
        """The file or folder behind it."""
        return name_of(self.state)


@pinned()
def merge(folder: str | os.PathLike, method: str, base: State, finetuned: Sequence[State], names: Sequence[str] = (), *,
          weights: Sequence[float] | None = None, dtype: str | torch.dtype | None = None,
          shard_size: int | str | None = None, progress: bool = True, **parameters) -> Path:
    """Merge checkpoints into a folder in Hugging Face's layout: model.safetensors, or shards and their index; the
    base's config.json, and copies of the base's tokenizer, generation and preprocessor files (`BESIDE`); and a model
    card in README.md. The folder appears when all of it is written, or not at all.

    Args:
        folder: to be made; it must not exist yet.
        method: of `lessons.merging.methods()`.
        base, finetuned: checkpoints, adapters beside their base, or state dicts.
        names: of the tasks, for the card.
        weights: one number a finetuned model, by which its task vector is multiplied before the method sees it. Of the
            methods in `MEANS` they are divided by their mean: the average becomes Σ w_t θ_t / Σ w_t.
        dtype: of the weights that are written, "bfloat16" for one; left out, the widest of the models'. What is wider
            than the models is computed in that dtype too.
        shard_size: the most bytes of a file, "5GB" for one; left out, there is one file.
        progress: show a bar while tensors are merged and written.
        parameters: the method's own; what is left out takes its default.

    Raises:
        CheckpointError: the folder is there already, the models do not belong together, or a weight is NaN or infinite.
        ValueError: the method or a parameter is unknown, the method gives one model a task, or weights, dtype or the
            shards' size make no sense.
        StoreError: the folder cannot be written, or there is not enough room on the disk.

    Warns:
        StrangeModels: a model does not match the base, is the base itself or is there twice, has another
            tokenizer, or heads of tasks with other labels are merged. The card says the same.
    """
    folder = of_home(folder)
    if os.path.lexists(folder):
        raise _is_there(folder)
    if method in methods() and not methods()[method].gives_one_model:
        raise ValueError(f"{method} gives one model a task and stores something for each: call lessons.merging.merge "
                         "and write result.model(task).")
    start, tuned, notes = together(base, finetuned)
    names = checked_names(names, finetuned)
    factors = _factors(method, weights, len(tuned))
    entries = _written_as(start, dtype)
    files = shards.planned(entries, None if shard_size is None else shards.parsed_size(shard_size))
    beside = _beside(base)
    _check_room(folder, sum(map(shards.bytes_of, entries.values())) + sum(path.stat().st_size for path in beside))
    merged = _merged(method, start, tuned, factors, entries, [name_of(state) for state in (base, *finetuned)],
                     parameters)
    doubts = [*looking.strange(start, tuned, names), *heads(base, finetuned, start),
              *_other_vocabularies(beside, names, finetuned)]
    notes += [doubt for doubt in doubts if doubt not in notes]
    for doubt in doubts:
        warnings.warn(doubt, StrangeModels, stacklevel=3)
    with _whole(folder) as part:
        _write(part, merged, files, method, progress)
        _write_config(part, base, entries)
        copies = _copied(part, beside)
        settings = parameters | {f"weight of {name}": weight for name, weight in zip(names, weights or ())}
        text = card(method, settings, base, finetuned, names, notes, copies)
        (part / CARD).write_text(text, encoding="utf-8")
    return folder


def _factors(method, weights, tasks):
    """What every task vector is multiplied by; None where that is nothing."""
    if weights is None:
        return None
    numbers = [float(weight) for weight in weights if isinstance(weight, (int, float, np.number))]
    if len(numbers) != tasks or len(weights) != tasks or not all(map(math.isfinite, numbers)):
        raise ValueError(f"weights must be finite numbers, one for each of {tasks} finetuned models, not "
                         f"{list(weights)!r}")
    if method not in MEANS:
        return numbers
    if sum(numbers) <= 0:
        raise ValueError(f"weights of a mean must have a sum above 0, not {sum(numbers):g}")
    return [weight * tasks / sum(numbers) for weight in numbers]


def _written_as(start, dtype):
    """{key: dtype and shape} of the merged model."""
    name = str(dtype).removeprefix("torch.")
    if dtype is not None and name not in OUTPUT:
        raise ValueError(f"dtype must be one of {', '.join(OUTPUT)}, not {name!r}")
    entries = {key: entry_of(start, key) for key in start}
    return {key: Entry(NAMES[OUTPUT[name]], entry.shape) if dtype is not None and DTYPES[entry.dtype] in FLOATS
            else entry for key, entry in entries.items()}


def _merged(method, start, tuned, factors, entries, paths, parameters):
    """The merged model, whose tensors are made when they are asked for."""
    dtypes = {key: torch.promote_types(DTYPES[entry_of(start, key).dtype], DTYPES[entries[key].dtype]) for key in start}
    if factors is not None:  # half-precision numbers would be rounded once more
        dtypes = {key: torch.promote_types(dtype, torch.float32) if dtype in FLOATS else dtype
                  for key, dtype in dtypes.items()}
    start, *tuned = (Cast(state, dtypes, start) for state in (start, *tuned))
    if factors is not None:
        tuned = [Weighted(state, start, factor) for state, factor in zip(tuned, factors)]
    try:
        return merge_on_demand(method, start, tuned, **parameters)
    except ValueError as error:  # it counts the models, and the reader needs the file
        message = re.sub(r"state dict (\d+)", lambda match: paths[int(match[1]) - 1], str(error))
        if message == str(error):
            raise
        raise CheckpointError(message) from error


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
    except OSError as error:
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
               names: Sequence[str] = (), **options) -> Path:
    """`merge` into a folder that is not there yet, or the folder of an earlier merge where that is the same file by
    file: so a notebook that is run again leaves nothing new behind.

    Args:
        folder: where the first one goes; later ones that differ get -2, -3, … behind its name.
        options: what else `merge` takes, the method's parameters among them.
    """
    new = merge(unused(folder), method, base, finetuned, names, **options)
    earlier = itertools.takewhile(lambda path: path != new, _numbered(Path(folder).expanduser()))
    for old in earlier:
        if _contents(old) == _contents(new):
            shutil.rmtree(new)
            return old
    return new


def _numbered(folder):
    return itertools.chain([folder], (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2)))


def _contents(folder):
    """{file name: what tells it from others} of a merge's folder; {} where it is not one."""
    if not (folder / CARD).is_file():
        return {}
    return {path.name: sha256(path) if path.is_file() else "" for path in folder.iterdir()}


def unused(folder: str | os.PathLike) -> Path:
    """The folder itself, or with -2, -3, … behind its name the first that is not there yet."""
    return next(path for path in _numbered(Path(folder).expanduser()) if not path.exists())


def _check_room(folder, needed):
    there = next(parent for parent in folder.absolute().parents if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise store.StoreError(f"{folder} cannot be made: {there} is no folder that may be written.")
    free = shutil.disk_usage(there).free
    if needed > free:
        raise store.StoreError(f"{there} has no room for the merged model: {needed:,} bytes are needed, {free:,} are "
                               "free. Choose a folder on a larger disk.")


def _write(part, merged, files, method, progress):
    metadata = {"format": "pt", "merged_by": f"weightspace, {method}"}
    with tqdm(total=sum(map(len, files.values())), unit="tensor", disable=not progress) as bar:
        for name, entries in files.items():
            with shards.Writer(part / name, entries, metadata) as writer:
                for key in writer.keys:
                    writer.add(_rounded(key, merged[key], DTYPES[entries[key].dtype]))
                    bar.update()
    if len(files) > 1:
        (part / shards.INDEX_NAME).write_text(shards.index_of(files), encoding="utf-8")


def _rounded(key, tensor, dtype):
    if (rounded := tensor.to(dtype)) is not tensor and rounded.isinf().any():
        raise ValueError(f"{key!r} does not fit {dtype}: it holds numbers up to {tensor.abs().max():g}. Write bfloat16 "
                         "or float32.")
    return rounded


def _write_config(part, base, entries):
    config = dict(config_of(base))
    largest = max(entries.values(), key=lambda entry: math.prod(entry.shape))
    for key in config.keys() & {"dtype", "torch_dtype"}:
        config[key] = str(DTYPES[largest.dtype]).removeprefix("torch.")
    if config.keys() & {"architectures"} and _lacks_weights(base, entries):
        del config["architectures"]  # it would claim a head that is not there
    if config:
        (part / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


# -- files beside the weights ----------------------------------------------------------------------------------------

def _beside(state):
    """The files of `BESIDE` in the folder that a state dict's weights come from."""
    checkpoint = _checkpoint(state)
    if checkpoint is None:
        return []
    folder = checkpoint.path if checkpoint.path.is_dir() else checkpoint.path.parent
    return [folder / name for name in BESIDE if (folder / name).is_file()]


def _checkpoint(state):
    """The checkpoint behind a state dict, of an adapter its base's; None where it was made in memory."""
    while state is not None and not isinstance(state, Checkpoint):
        state = getattr(state, "state", None) or getattr(state, "base", None)
    return state


def _copied(part, beside):
    """[(folder, file, SHA-256)] of copies."""
    rows = []
    for path in beside:
        shutil.copyfile(path, part / path.name)
        rows.append((_short(path.parent), path.name, sha256(part / path.name)))
    return rows


def _other_vocabularies(beside, names, finetuned):
    """A sentence on every model whose own tokenizer is not the base's: its weights may mean other words."""
    ours = {path.name: sha256(path) for path in beside if path.name in VOCABULARY}
    notes = []
    for name, state in zip(names, finetuned):
        theirs = {path.name: path for path in _beside(state) if path.name in ours}
        if other := [file for file, path in theirs.items() if sha256(path) != ours[file]]:
            notes.append(f"{name} has another {' and another '.join(other)} than the base, whose copy lies beside the "
                         "merged model. If its words have other numbers, the merge mixes them up.")
    return notes


def _lacks_weights(base, merged):
    """Whether the base's files hold more weights than the merged model: a head was left out."""
    while isinstance(behind := getattr(base, "state", None) or getattr(base, "base", None), Mapping):
        base = behind
    return len([key for key in base if not is_buffer(key, entry_of(base, key).shape)]) > len(merged)


def card(method: str, parameters: dict, base: State, finetuned: Sequence[State], names: Sequence[str],
         notes: Sequence[str] = (), copies: Sequence[tuple[str, str, str]] = ()) -> str:
    """A model card in Markdown: the method with all its parameters, given or default, its source, and every file with
    its SHA-256.

    Args:
        copies: (folder, file, SHA-256) of what was copied from the base.
    """
    entry = methods()[method]
    settings = {**entry.defaults, **parameters}
    lines = ["---", "library_name: weightspace", *_head((base, *finetuned)), "tags: [merge]", "---", "",
             "# A merged model", "",
             f"Merged by *{entry.title}* ({entry.source}): {entry.says}", "",
             "| parameter | value |", "|---|---|", f"| method | `{method}` |"]
    lines += [f"| {_text(name)} | {_said(value)} |" for name, value in settings.items()]
    lines += ["", "| model | from | file | SHA-256 |", "|---|---|---|---|"]
    for name, state in (("base, θ₀", base), *zip(names, finetuned)):
        for path, file, digest in sources(state):
            lines.append(f"| {_text(name)} | {_text(path)} | {_text(file)} | `{digest}` |")
    lines += [f"| copied beside it | {_text(path)} | {_text(file)} | `{digest}` |" for path, file, digest in copies]
    if len(finetuned) == 2 and method.startswith("cart"):
        notes = [*notes, "Of two models CART gives the average whatever its rank is: the two centred task vectors are "
                         "each other's opposite and cancel."]
    if notes:
        lines += ["", *(f"- {_text(_with_names(note, (base, *finetuned)))}" for note in notes)]
    lines += ["", "Merged models inherit the licences of all that they were made from; this card does not know them."]
    return "\n".join(lines) + "\n"


def _head(states):
    """`base_model:` of the card's head: what the models are called on the hub, or their folders, as far as that is a
    name that the hub could have. It is read by programs, so no other text goes in.
    """
    called = dict.fromkeys(_repository(path) for state in states for path in _paths(state))
    fine = [name for name in called if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name, re.ASCII)]
    return ["base_model:", *(f"- {json.dumps(name)}" for name in fine)] if fine else []


def _repository(path):
    """The name of a repository on the hub where a path leads into the hub's cache, else that of the file or folder."""
    cached = [part for part in Path(path).parts if part.startswith("models--")]
    if cached:
        return cached[-1].removeprefix("models--").replace("--", "/", 1)
    return _short(path).removesuffix(".safetensors")


def card_of(folder: str | os.PathLike) -> str:
    """The card of a merged model in Markdown, to be shown: without what only programs read, without its title, of each
    digest the first digits. JupyterLab would run the scripts of a card that somebody else wrote, so HTML, links, images
    and formulas in it are read as text; the cards that are written here have none.
    """
    text = (Path(folder) / CARD).read_text(encoding="utf-8").split("# A merged model\n", 1)[-1].strip()
    text = re.sub(r"[<\[$]", lambda match: f"&#{ord(match[0])};", text)
    return re.sub(r"`([0-9a-f]{12})[0-9a-f]{52}`", r"`\1…`", text)


def _short(path):
    """A file or folder by name: the card is published, and it should not say where a file lay on one machine."""
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
    behind = [part for part in (getattr(state, name, None) for name in names) if part is not None]
    return [name_of(state), *(path for part in behind for path in _paths(part))]


def _said(value):
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (int, float, str, bool)):
        return type(value).__name__
    written = repr(value)
    return _text(written) if set(written) & set("`|<$") else f"`{written}`"


# what means something in Markdown, in a table or in JupyterLab's formulas; "_" alone where no letter is on both sides
_MEANING = re.compile(r"[&<>|`*\[\]!~$#\\]|(?<![^\W_])_|_(?![^\W_])|:(?=//)")


def _text(name):
    """A name from a file or a path in Markdown, on one line, where it is read as the text that it is."""
    return _MEANING.sub(lambda match: f"&#{ord(match[0])};", " ".join(str(name).split()))


def sources(state: State) -> list[tuple[str, str, str]]:
    """(name of the folder or file, file, SHA-256) of all that was read for a state dict; one row says so where that
    was no file.
    """
    behind = [getattr(state, attribute, None) for attribute in ("adapter", "state", "base")]
    rows = [row for part in behind if part is not None for row in sources(part)]
    if not rows and hasattr(state, "digests"):
        return [(_short(name_of(state)), file, digest) for file, digest in state.digests().items()]
    return rows or [(name_of(state), "in memory", "–")]

