"""A checkpoint as Hugging Face lays it out: one safetensors file, or a folder with one file or with shards and an
index, and a `config.json` beside them. Tensors are read when they are asked for.
"""
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from data import store
from lessons.checkpoints import opening
from lessons.checkpoints.opening import CheckpointError, Entry
from toy_models.weights import State

INDEX = ".index.json"
WEIGHTS = ("model.safetensors", "diffusion_pytorch_model.safetensors", "open_clip_model.safetensors")
ADAPTER = "adapter_model.safetensors"
DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
          "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
          "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "U16": torch.uint16, "U32": torch.uint32,
          "U64": torch.uint64}


class Tensors(Mapping):
    """A state dict that reads a tensor when it is asked for; which keys there are is known without reading any.

    A class of this kind sets `shown`, a dict with these keys, and defines `__getitem__` and `entry`.
    """
    shown: Mapping

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor."""
        raise NotImplementedError

    def __contains__(self, key: object) -> bool:
        return key in self.shown

    def __iter__(self) -> Iterator[str]:
        return iter(self.shown)

    def __len__(self) -> int:
        return len(self.shown)


class Checkpoint(Tensors):
    """The tensors of one model in one or more safetensors files, read when they are asked for, each time anew.

    It can stand wherever a state dict can. A file that was written, cut short or replaced since it was opened is not
    read on: the next tensor or digest that is asked for raises a CheckpointError, so the digest is always that of the
    bytes that were read.

    Attributes:
        path: the file or folder that was opened.
        files: the files that hold the tensors.
        entries: {key: dtype and shape}, from the headers: no tensor is read for them.
        config: what `config.json` says; {} where there is none.
        metadata: what the files' writer noted.
    """

    def __init__(self, path: str | os.PathLike, files: list[Path], config: Mapping | None = None):
        self.path = Path(path)
        self.files = files
        self.config = dict(config or {})
        self.entries: dict[str, Entry] = {}
        self.shown = self.entries
        self.metadata: dict[str, str] = {}
        self._file_of, self._known = {}, {}
        for file in files:
            known = _known(file)
            header = opening.header(file)
            if twice := sorted(header.entries.keys() & self.entries.keys()):
                raise CheckpointError(f"{file} holds {twice[0]!r}, which {self._file_of[twice[0]][0]} holds as well. "
                                      "Shards of two models in one folder?")
            self.entries.update(header.entries)
            self.metadata |= header.metadata
            self._file_of |= {key: (file, *header.places[key]) for key in header.entries}
            self._known[file] = known

    def __getitem__(self, key: str) -> Tensor:
        file, start, size = self._file_of[key]
        dtype, shape = DTYPES[self.entries[key].dtype], self.entries[key].shape
        if not size:
            return torch.empty(shape, dtype=dtype)
        content = opening.read(file, start, size, self._known[file])
        return torch.frombuffer(content, dtype=dtype).reshape(shape)

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor."""
        return self.entries[key]

    def __repr__(self):
        return f"Checkpoint({str(self.path)!r}, {len(self)} tensors)"

    def digests(self) -> dict[str, str]:
        """{file name: SHA-256} of all its files, as they were when they were opened.

        Raises:
            CheckpointError: a file has changed since. Names it.
        """
        return {file.name: opening.sha256(file, self._known[file]) for file in self.files}


def _known(file):
    shown = os.fsencode(file).decode("utf-8", "replace")
    if shown != str(file):
        raise CheckpointError(f"{shown}: this path is not UTF-8, and no message could show it. Rename the file or "
                              "folder with the strange letter.")
    return opening.identity(file)


def opened(path: str | os.PathLike) -> Checkpoint:
    """Open a checkpoint: a safetensors file, or a folder in Hugging Face's layout.

    Raises:
        CheckpointError: there is none, a file is not a safetensors file (a pickle is not opened), a shard is missing or
            half-downloaded, or the index contradicts the shards. Names file and key.
    """
    path = of_home(path)
    if path.name == ADAPTER:
        raise CheckpointError(_no_model(path.parent))
    if not os.path.isdir(path):  # False too where a path cannot be one, 256 letters for one
        return Checkpoint(path, [path], _json(path.parent / "config.json", optional=True))
    try:
        names = sorted(file.name for file in path.iterdir())
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    config = _json(path / "config.json", optional=True)
    for name in WEIGHTS:  # a whole file goes before shards of another time, as in transformers
        if (path / name).exists():
            return Checkpoint(path, [path / name], config)
    indices = [f"{name}{INDEX}" for name in WEIGHTS] + [name for name in names if name.endswith(f".safetensors{INDEX}")]
    if there := [name for name in indices if name in names]:
        return _sharded(path, path / there[0], config)
    raise CheckpointError(_nothing_in(path, names))


def of_home(path: str | os.PathLike) -> Path:
    """A path, of a home where it begins with ~, and with a name: "." and ".." have none to be told by.

    Raises:
        CheckpointError: it is empty, or there is no such home.
    """
    if not os.fspath(path):
        raise CheckpointError("the path is empty: give a file or a folder, or . for this folder.")
    try:
        found = Path(os.fspath(path)).expanduser()
        return found if found.name not in ("", "..") else Path(os.path.abspath(found))
    except RuntimeError as error:
        raise CheckpointError(f"{path} cannot be read: {error} Write the path without ~.") from error


def _nothing_in(path, names):
    names = [name for name in names if not name.startswith(".")]
    if ADAPTER in names:
        return _no_model(path)
    if broken := [name for name in names if name.endswith(".safetensors") and not (path / name).exists()]:
        return (f"{path / broken[0]} is a link to {os.readlink(path / broken[0])}, which is not there. Download the "
                "model again, or copy the files instead of the links.")
    if pickles := [name for name in names if name.endswith((".bin", ".pt", ".pth", ".ckpt"))]:
        return (f"{path} has no safetensors file; {pickles[0]} is a pickle and is not opened. Take a revision of the "
                "repository that has model.safetensors, often refs/pr/….")
    if quantised := [name for name in names if name.endswith(".gguf")]:
        return (f"{path} has no safetensors file; {quantised[0]} is a GGUF file, as llama.cpp reads. Take the same "
                "model as .safetensors.")
    if runs := [name for name in names if re.fullmatch(r"checkpoint-\d+", name)]:
        last = max(runs, key=lambda name: int(name.removeprefix("checkpoint-")))
        return (f"{path} is a folder of training runs: {', '.join(runs[:5])}. Open one of them, the "
                f"last for one: {path / last}")
    if files := [name for name in names if name.endswith(".safetensors")]:
        several = f"{len(files)} safetensors files" if len(files) > 1 else "one safetensors file"
        return f"{path} has {several} by another name: give the file itself, {path / files[0]}"
    there = f"it holds {', '.join(names[:5])}" if names else "it is empty"
    return f"{path} holds no checkpoint: no model.safetensors and no model.safetensors.index.json; {there}."


def _no_model(path):
    return (f"{path} holds a LoRA adapter, no whole model: what it adds to a base. Open it with "
            "`adapters.opened(folder)` and put it beside its base: `adapters.Adapted(base, adapter)`.")


def _sharded(folder, index, config):
    """A checkpoint from shards, each of which must hold just what the index says."""
    listed = _json(index).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()) or not listed:
        raise CheckpointError(f"{index} is no index of shards: it has no “weight_map”. Download it again.")
    names = sorted(set(listed.values()))
    if outside := [name for name in names if Path(name).name != name or name in ("", "..")]:
        raise CheckpointError(f"{index} names a shard outside its folder, {outside[0]!r}, which is not opened.")
    for name in names:
        if not os.path.exists(folder / name):  # False too where a name cannot be one, 256 letters for one
            keys = [key for key, shard in listed.items() if shard == name]
            raise CheckpointError(f"{folder / name} is missing: {index.name} names it for {len(keys)} tensors, among "
                                  f"them {keys[0]!r}. Download it into the same folder.")
    checkpoint = Checkpoint(folder, [folder / name for name in names], config)
    for key, name in listed.items():
        if key not in checkpoint:
            raise CheckpointError(f"{folder / name} does not hold {key!r}, which {index.name} says it does. The shards "
                                  "are not of one download.")
        if checkpoint._file_of[key][0].name != name:
            raise CheckpointError(f"{key!r} lies in {checkpoint._file_of[key][0]}, where {index.name} says {name}. The "
                                  "shards are not of one download.")
    if extra := sorted(checkpoint.keys() - listed.keys()):
        raise CheckpointError(f"{checkpoint._file_of[extra[0]][0]} holds {extra[0]!r}, of which {index.name} does not "
                              "know. The shards are not of one download.")
    return checkpoint


def _json(path, optional=False):
    """What a JSON file says; {} where there is none and it is optional."""
    try:
        content = json.loads(store.regular(path).read_text(encoding="utf-8"))
    except store.StoreError as error:
        raise CheckpointError(str(error)) from error
    except OSError as error:
        if optional and isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return {}
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}. Download it again.") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} should hold a JSON object, but it holds a {type(content).__name__}.")
    return content


def entry_of(state: Mapping[str, Tensor], key: str) -> Entry:
    """Dtype and shape of a tensor of any state dict; of a checkpoint none is read for it."""
    if isinstance(state, Tensors):
        return state.entry(key)
    tensor = state[key]
    return Entry(NAMES.get(tensor.dtype, str(tensor.dtype)), tuple(tensor.shape))


def config_of(state: State) -> Mapping:
    """What the `config.json` says of the model behind a state dict; {} where there is none."""
    for behind in (state, getattr(state, "state", None), getattr(state, "base", None)):
        if isinstance(config := getattr(behind, "config", None), Mapping):
            return config
        if behind is not None and behind is not state:
            return config_of(behind)
    return {}


NAMES = {dtype: name for name, dtype in DTYPES.items()}
