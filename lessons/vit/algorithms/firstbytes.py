"""Which kind of file begins like this? The rule that `checkpoints.opening` follows, in a few lines."""

KINDS = ("safetensors", "pickle", "pointer", "page", "something else")


def told_by(first: bytes, size: int) -> str:
    """One of `KINDS`, from a file's first bytes. The file's name is not asked, and nothing is loaded.

    Args:
        first: the first bytes of the file, 64 or all.
        size: of the whole file, in bytes.
    """
    length = int.from_bytes(first[:8], "little")
    if first[8:9] == b"{" and length <= size - 8:
        return "safetensors"
    if first.startswith((b"PK\x03\x04", b"\x80")):
        return "pickle"
    if first.startswith(b"version https://git-lfs"):
        return "pointer"
    return "page" if first.lstrip().startswith(b"<") else "something else"
