"""The arithmetic of networks in a page: `python -m tools.book.kernel` compiles site/_static/kernel.wat into kernel.js.

The bytes stand in kernel.js as text, because a page that is opened from a folder may not fetch them. They are kept in
the repository, so that whoever makes the book needs no compiler.
"""
import base64
import re
from pathlib import Path

from lessons.kit.chapters import ROOT

SOURCE = ROOT / "site/_static/kernel.wat"
SCRIPT = ROOT / "site/_static/kernel.js"
_BYTES = re.compile(r'(const BYTES = ")[^"]*(")')


def compiled(source: Path = SOURCE) -> bytes:
    """The WebAssembly module of a file of its text format.

    Raises:
        ImportError: the compiler is missing. wasmtime.WasmtimeError: the text is wrong.
    """
    import wasmtime  # an extra of those who test: the book is made without it
    return wasmtime.wat2wasm(source.read_text(encoding="utf-8"))


def kept(script: Path = SCRIPT) -> bytes:
    """The module that stands in a script.

    Raises:
        ValueError: none does.
    """
    found = _BYTES.search(script.read_text(encoding="utf-8"))
    if not found:
        raise ValueError(f'{script} must have a line `const BYTES = "…"`')
    return base64.b64decode(found[0].split('"')[1])


def main() -> int:
    """Write the compiled module into kernel.js."""
    text = base64.b64encode(compiled()).decode("ascii")
    SCRIPT.write_text(_BYTES.sub(rf"\g<1>{text}\g<2>", SCRIPT.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
