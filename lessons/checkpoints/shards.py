"""Safetensors files that are written tensor by tensor: one file, or shards with an index, as transformers reads
them.
"""
import contextlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from lessons.checkpoints.folders import INDEX, NAMES
from lessons.checkpoints.opening import BYTES, Entry

WEIGHTS = "model.safetensors"
INDEX_NAME = f"{WEIGHTS}{INDEX}"
UNITS = {"": 1, "B": 1, **{f"{letter}{last}": base ** power for last, base in (("B", 1000), ("IB", 1024))
                           for power, letter in enumerate("KMGT", 1)}}


class Writer:
    """A safetensors file whose tensors are written one by one, in the order of `keys`; none is kept in memory. Leaving
    the context says that all are there; after an error what was written does not matter.

    Attributes:
        keys: those of wide numbers first, so that each tensor begins at a multiple of its numbers' size: libraries that
            map files ask for that.
    """

    def __init__(self, path: Path, entries: Mapping[str, Entry], metadata: Mapping[str, str] | None = None):
        self.keys = sorted(entries, key=lambda key: -BYTES[entries[key].dtype])
        self._left = [(key, entries[key]) for key in reversed(self.keys)]
        header: dict[str, dict] = {"__metadata__": dict(metadata)} if metadata else {}
        place = 0
        for key in self.keys:
            end = place + bytes_of(entries[key])
            header[key] = {"dtype": entries[key].dtype, "shape": list(entries[key].shape),
                           "data_offsets": [place, end]}
            place = end
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)  # so that the tensors begin at a multiple of eight bytes
        self._file = open(path, "wb")  # noqa: SIM115  `close` closes it
        self._file.write(len(text).to_bytes(8, "little") + text)

    def add(self, tensor: Tensor) -> None:
        """The next tensor.

        Raises:
            ValueError: its dtype or shape is not what the header says.
        """
        key, entry = self._left.pop()
        if (NAMES.get(tensor.dtype), tuple(tensor.shape)) != (entry.dtype, entry.shape):
            raise ValueError(f"{key!r} is to be {entry.dtype} {entry.shape}, and {NAMES.get(tensor.dtype)} "
                             f"{tuple(tensor.shape)} came")
        if tensor.numel():
            self._file.write(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)

    def close(self) -> None:
        """All of it is on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def give_up(self) -> None:
        """Let go of the file; what is in it does not matter."""
        with contextlib.suppress(OSError):  # the disk may have no room for what is not written yet
            self._file.close()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind, error, trace) -> None:
        self.close() if kind is None else self.give_up()


def bytes_of(entry: Entry) -> int:
    """How many bytes a tensor takes."""
    return BYTES[entry.dtype] * math.prod(entry.shape)


def parsed_size(size: int | str) -> int:
    """Bytes, of a number or of a text such as "5GB" (10⁹ bytes each), "500 MB" or "2GiB" (2³⁰).

    Raises:
        ValueError: it is not such a size, or not above 0.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?(?:I?B)?)", str(size).strip().upper(), re.ASCII)
    unit = UNITS.get(match[2]) if match else None
    number = int(float(match[1]) * unit) if match and unit else 0
    if isinstance(size, bool) or not number:
        raise ValueError("a shard's size must be a number of bytes or a text such as \"5GB\" or \"500MB\", not "
                         f"{size!r}")
    return number


def planned(entries: Mapping[str, Entry], most: int | None = None) -> dict[str, dict[str, Entry]]:
    """{file name: its tensors}, in the order of the keys, under the names that transformers gives shards: a file is
    closed before it would exceed `most` bytes, and a tensor that is larger has a file of its own. None is one file.
    """
    most = most or sum(map(bytes_of, entries.values()))
    parts, room = [{}], most
    for key, entry in entries.items():
        if parts[-1] and bytes_of(entry) > room:
            parts.append({})
            room = most
        parts[-1][key] = entry
        room -= bytes_of(entry)
    if len(parts) == 1:
        return {WEIGHTS: parts[0]}
    stem, ending = WEIGHTS.split(".")
    return {f"{stem}-{number:05d}-of-{len(parts):05d}.{ending}": part for number, part in enumerate(parts, 1)}


def index_of(files: Mapping[str, Mapping[str, Entry]]) -> str:
    """What stands in `model.safetensors.index.json` beside shards: which key lies in which."""
    entries = [entry for part in files.values() for entry in part.values()]
    metadata = {"total_parameters": sum(math.prod(entry.shape) for entry in entries),
                "total_size": sum(map(bytes_of, entries))}
    listed = {key: name for name, part in files.items() for key in part}
    return json.dumps({"metadata": metadata, "weight_map": listed}, indent=2, sort_keys=True) + "\n"
