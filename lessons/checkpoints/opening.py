"""Is this file what its name says? Its first bytes tell, before anything in it is believed; nothing is ever unpickled.

A safetensors file is eight bytes that hold a number N, N bytes of JSON (every tensor's name, dtype, shape and place),
and the tensors' bytes, one after the other, to the end of the file (format: github.com/huggingface/safetensors).
"""
import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from data import store

LARGEST_HEADER = 100_000_000  # bytes; the safetensors library allows no more either
MOST_TENSORS = 100_000  # in one file; the largest models have a few thousand
MOST_SIDES = 64  # dimensions of a tensor of PyTorch
BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1,
         "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "U32": 4, "U64": 8}
_CONVERT = ("on a machine without anything important, load it with torch.load(…, "
            "weights_only=True) and write it anew with safetensors.torch.save_file, or take the same model as "
            ".safetensors")
_PICKLE = f"It is refused and was not opened: a pickle can run any program on this machine. What to do: {_CONVERT}."

# (first bytes, what such a file is, what to do)
OTHERS = (
    (b"PK\x03\x04", "a zip archive, as torch.save writes: a pickle inside", _PICKLE),
    (b"version https://git-lfs", "a Git-LFS pointer: three lines of text in the place of the file",
     "Run `git lfs pull` in the repository that it came from, or download the file itself."),
    (b"\x1f\x8b", "a gzip archive", "Unpack it first."),
    (b"GGUF", "a GGUF file, as llama.cpp reads", "Take the same model as .safetensors."),
    (b"\x89HDF", "an HDF5 file, as Keras writes", "Take the same model as .safetensors."),
    (b"\x93NUMPY", "one NumPy array", "A checkpoint has a name for every tensor: write it with "
     "safetensors.numpy.save_file."),
    (b"{", "JSON text", "It may be an error that a server sent in the file's place, or an index of shards: give the "
     "folder that holds it."),
    (b"[", "JSON text", "It may be an error that a server sent in the file's place."),
)


class CheckpointError(ValueError):
    """A file or folder cannot be used as a checkpoint; the message names it and says what to do."""


@dataclass(frozen=True)
class Entry:
    """What a header says of one tensor: dtype as safetensors writes it ("F32"), and shape."""
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Header:
    """What stands at the front of a safetensors file.

    Attributes:
        entries: {name: Entry}.
        metadata: what its writer noted, text to text.
        places: {name: (where its bytes begin in the file, how many they are)}.
    """
    entries: Mapping[str, Entry]
    metadata: Mapping[str, str]
    places: Mapping[str, tuple[int, int]]


def kind(first: bytes) -> tuple[str, str]:
    """What a file is that is not a safetensors file, by its first bytes, and what to do about it.

    Args:
        first: at least 300 bytes, or the whole file.
    """
    if not first:
        return "empty", "Download it again."
    if first.startswith(b"PK\x03\x04") and b".npy" in first[:300]:
        return "an .npz archive, as NumPy writes", "Write its arrays with safetensors.numpy.save_file."
    for start, what, advice in OTHERS:
        if first.startswith(start):
            return what, advice
    if first[0] == 0x80 and first[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle, whatever its name is", _PICKLE
    if first[257:262] == b"ustar":
        return "a tar archive", "Unpack it first; what torch.save wrote long ago holds pickles and is refused."
    if first.lstrip()[:1] == b"<":
        return "a web page", ("Whoever downloaded it was sent a page in the file's place, often a request to log in. "
                              "Download the file itself.")
    return f"no safetensors file: it begins with {first[:12]!r}", f"If it is a pickle by an old protocol: {_CONVERT}."


def header(path: str | os.PathLike) -> Header:
    """The header of a safetensors file, checked against the file's size.

    Raises:
        CheckpointError: it is not a safetensors file, or its header or its size cannot be right. Names the file.
    """
    path = Path(path)
    size = _size(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            first = file.read(512)
            length = int.from_bytes(first[:8], "little")
            if first[8:9] != b"{" or length > min(LARGEST_HEADER, size):
                raise CheckpointError(f"{path} {_refusal(first, length, size)}")
            file.seek(8)
            text = file.read(length)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    if len(text) < length:
        raise CheckpointError(f"{path} is truncated: it ends inside its header, {size:,} bytes. Download it again.")
    if (count := text.count(b'"data_offsets"')) > MOST_TENSORS:
        raise CheckpointError(f"{path} has a header of {count:,} tensors, where {MOST_TENSORS:,} is the most that is "
                              "read here. Such a file is damaged or made to do harm; download it again.")
    fields = _parsed(path, text)
    _check_places(path, fields, size - 8 - length)
    entries = {name: Entry(entry["dtype"], tuple(entry["shape"])) for name, entry in fields.items()
               if name != "__metadata__"}
    places = {name: (8 + length + fields[name]["data_offsets"][0], fields[name]["data_offsets"][1]
                     - fields[name]["data_offsets"][0]) for name in entries}
    return Header(entries, fields.get("__metadata__") or {}, places)


def _size(path):
    return _status(path).st_size


def _status(path):
    """What the system says of an ordinary file; anything else is refused before it is opened, since a pipe would wait
    for ever.
    """
    try:
        what = store.instead_of_file(path)
        status = None if what else os.stat(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}. Is the path right?"
                              f"{_hub_hint(path)}") from error
    if what:
        raise CheckpointError(f"{path} {what}, where a safetensors file is due. Give the path of the model's file, or "
                              "of the folder that holds it.")
    return status


def _hub_hint(path):
    """What to do about a path that looks like a name on the hub, or like an address."""
    text = os.fspath(path)
    if re.match(r"(https?|hf):/", text):
        return " An address is not opened: download the model first, and give its folder on this machine."
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", text) and not text.endswith(".safetensors") and text[0] not in "./":
        return (f" If it is the name of a model on the hub, download it first: `huggingface_hub.snapshot_download("
                f"{text!r})` gives the folder to open.")
    return ""


def _refusal(first, length, size):
    """Why a file is refused that does not begin as safetensors files do: a number that fits, then a brace."""
    what, advice = kind(first)
    if first[8:9] != b"{" or not what.startswith("no safetensors"):  # a pickle's ninth byte may be a brace too
        return f"is {what}. {advice}"
    if length <= LARGEST_HEADER:
        return f"is truncated: its header alone takes {length:,} bytes, the file has {size:,}. Download it again."
    return (f"has a header of absurd size: {length:,} bytes, where {LARGEST_HEADER:,} is the most that is allowed. "
            "Such a file is damaged or made to do harm; download it again.")


def _check_entry(name, entry):
    """Refuse what a header says of a tensor if it cannot be: a ValueError, KeyError or TypeError says why."""
    start, end = entry["data_offsets"]
    sizes = [*entry["shape"], start, end]
    if not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise ValueError(f"the entry of {name!r} makes no sense: {str(entry)[:80]}")
    if len(entry["shape"]) > MOST_SIDES:
        raise ValueError(f"{name!r} has {len(entry['shape'])} dimensions, and PyTorch knows at most {MOST_SIDES}")


def _parsed(path, text):
    def once(pairs):
        name, times = Counter(name for name, _ in pairs).most_common(1)[0] if pairs else ("", 0)
        if times > 1:
            raise ValueError(f"{name!r} stands in it twice")
        return dict(pairs)

    unread = []
    try:
        fields = json.loads(text, object_pairs_hook=once)
        notes = fields.get("__metadata__") or {}
        if not isinstance(notes, dict) or not all(isinstance(note, str) for note in notes.values()):
            raise ValueError("its __metadata__ must map text to text")
        for name, entry in fields.items():
            name.encode()  # half a surrogate pair is not text
            if name != "__metadata__":
                _check_entry(name, entry)
                if entry["dtype"] not in BYTES:
                    unread.append(f"{name!r} is {str(entry['dtype'])[:20]}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{path} has a header that cannot be read: {error}. The file is damaged; download it "
                              "again.") from error
    if unread:
        raise CheckpointError(f"{path}: {unread[0]}, and such numbers are not read here. A quantised model? Take the "
                              "one that it was made from.")
    return fields


def _check_places(path, fields, room):
    """The tensors must fill the rest of the file, one after the other, each with as many bytes as its shape asks."""
    places = sorted((entry["data_offsets"], name) for name, entry in fields.items() if name != "__metadata__")
    expected = 0
    for (start, end), name in places:
        needed = math.prod(fields[name]["shape"]) * BYTES[fields[name]["dtype"]]
        if start != expected or end - start != needed:
            raise CheckpointError(f"{path} has a header that contradicts itself at {name!r}: {end - start:,} bytes at "
                                  f"{start:,}, where {needed:,} at {expected:,} are due. Download it again.")
        expected = end
    if expected > room:
        raise CheckpointError(f"{path} is truncated: its tensors take {expected:,} bytes, and {room:,} are there. "
                              "A download that stopped half-way? Download it again.")
    if expected < room:
        raise CheckpointError(f"{path} has {room - expected:,} bytes behind its last tensor, which should not be "
                              "there. Download it again.")


Identity = tuple[int, int, int, int, int]  # device, inode, size in bytes, times of the last changes in nanoseconds


def identity(path: str | os.PathLike) -> Identity:
    """What changes when a file is written, cut short or replaced, though its name stays.

    Raises:
        CheckpointError: there is no ordinary file. Names the path.
    """
    return _identity(_status(path))


def _identity(status):
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def read(path: str | os.PathLike, start: int, size: int, known: Identity) -> UInt8[np.ndarray, " size"]:
    """A part of a file that is still the file that it was, byte by byte. It is read and not mapped, because a mapped
    file that is cut short kills the process.

    Args:
        start: where the part begins, in bytes.
        size: of the part, in bytes.
        known: the file's identity when it was opened.

    Raises:
        CheckpointError: the file was written, cut short, replaced or deleted since. Names it.
    """
    _check_unchanged(path, _status(path), known)
    content = np.empty(size, np.uint8)  # a bytearray would be filled with zeros first, at a third of the speed
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(start)
            done, view = 0, memoryview(content)  # type: ignore[arg-type]
            while done < size and (count := file.readinto(view[done:])):
                done += count
            _check_unchanged(path, os.fstat(file.fileno()), known)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    if done < size:
        raise CheckpointError(f"{path} ends after {start + done:,} bytes, where {start + size:,} are due. "
                              "Download it again.")
    return content


def _check_unchanged(path, status, known):
    if _identity(status) != known:
        was = f": it had {known[2]:,} bytes and has {status.st_size:,}" if status.st_size != known[2] else ""
        raise CheckpointError(f"{path} has changed since it was opened{was}. Wait until nobody writes it, then open it "
                              "again.")


def sha256(path: str | os.PathLike, known: Identity | None = None) -> str:
    """The file's SHA-256 in 64 hexadecimal digits; of a file that did not change it is remembered.

    Args:
        known: the file's identity when it was opened; None takes the file as it is now.

    Raises:
        CheckpointError: the file is no longer the one that was opened, or it changed while it was read. Names it.
    """
    status = _status(path)
    _check_unchanged(path, status, known or _identity(status))
    return _sha256(os.fspath(path), _identity(status))


@lru_cache(maxsize=256)
def _sha256(path, known):  # the identity is the cache's key: a file that changed is read again
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        _check_unchanged(path, os.fstat(file.fileno()), known)
    return digest


def verify(path: str | os.PathLike, digest: str, size: int | None = None) -> None:
    """Whether a file is the one that was published: the only way to notice a flipped bit, which safetensors does not.

    Args:
        digest: its SHA-256.
        size: in bytes, where that is known.

    Raises:
        CheckpointError: it is another; names the file and what differs.
    """
    actual_size = _size(Path(path))
    if size is not None and actual_size != size:
        short = " A download that stopped half-way?" if actual_size < size else ""
        raise CheckpointError(f"{path} has {actual_size:,} bytes, the published file {size:,}.{short} Delete it and "
                              "fetch it again.")
    if (actual := sha256(path)) != digest:
        raise CheckpointError(f"{path} has the SHA-256 {actual[:12]}…, the published file {digest[:12]}…: it is "
                              "another file, or a bit in it has flipped. Delete it and fetch it again.")
