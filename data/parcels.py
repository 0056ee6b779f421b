"""What one machine sends to another: some words as JSON and some files as bytes, under one digest.

Nothing is pickled. The digest finds what was damaged on the way. It does not say who sent the parcel.
"""
import hashlib
import json
from collections.abc import Mapping

from data.store import Damaged

_MARK = b"weightspace parcel 1\n"


def packed(about: Mapping, files: Mapping[str, bytes] | None = None) -> bytes:
    """A parcel.

    Args:
        about: what JSON can hold.
        files: {name: content}.
    """
    files = files or {}
    head = {"about": dict(about), "files": [[name, len(content)] for name, content in files.items()]}
    text = json.dumps(head, sort_keys=True).encode() + b"\n"
    body = b"".join([text, *files.values()])
    return b"".join([_MARK, hashlib.sha256(body).hexdigest().encode(), b"\n", body])


def unpacked(parcel: bytes) -> tuple[dict, dict[str, bytes]]:
    """What `packed` was given.

    Raises:
        Damaged: this is no parcel, or not what was packed.
    """
    if not isinstance(parcel, bytes) or not parcel.startswith(_MARK):
        raise Damaged("it is no parcel of the course")
    digest, _, body = parcel[len(_MARK):].partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise Damaged("its digest does not match its contents")
    text, _, rest = body.partition(b"\n")
    try:
        head = json.loads(text)
        about, sizes = head["about"], [(str(name), int(size)) for name, size in head["files"]]
    except (ValueError, LookupError, TypeError) as error:
        raise Damaged(f"its first line is not readable: {error}") from None
    if not isinstance(about, dict) or min([0, *(size for _, size in sizes)]) < 0 \
            or sum(size for _, size in sizes) != len(rest):
        raise Damaged("its files are not as long as its first line says")
    files, start = {}, 0
    for name, size in sizes:
        files[name] = rest[start:start + size]
        start += size
    return about, files
