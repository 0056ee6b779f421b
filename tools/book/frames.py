"""Panels and pictures as files beside the pages of the book.

A page that is opened from a folder may not fetch another file, but it may run one. So the state of a panel, with the
numbers of all settings, is a script that hands it to the page: `weightspace.take("01_linearity/panel-a", "…")`, whose
text is JSON, compressed by gzip, in base64. `site/_static/book.js` unpacks it.
"""
import base64
import gzip
import hashlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

# what view.js shows of a panel, and where it stands before a reader moves anything
_KEPT = ("spec", "frames", "positions", "typed")
_UNTOUCHED = {"guess": None, "shown": False, "ticked": []}
_EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*\Z")
_INLINE = re.compile(r'src="data:image/(svg\+xml|png|gif|jpeg);base64,([^"]+)"')
_ENDINGS = {"svg+xml": "svg"}


def write(path: Path, text: str | bytes) -> bool:
    """Write a file, unless it holds this already: what is as old as before is not built again.

    Returns:
        Whether it was written.
    """
    content = text.encode("utf-8") if isinstance(text, str) else text
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return True


@dataclass(frozen=True)
class Beside:
    """The folder of what lies beside the pages, as one page sees it.

    Attributes:
        folder: where the files are written.
        address: of this folder, from the page: "../data".
    """
    folder: Path
    address: str

    def panel(self, name: str, state: dict) -> str:
        """Write a panel's state as a script; returns its address.

        Args:
            name: of the page and the cell, "01_linearity/panel-a".
            state: of its widget, as an executed notebook keeps it.
        """
        untouched = {**{trait: state.get(trait, "") for trait in _KEPT}, **_UNTOUCHED}
        write(self.folder / f"{name}.js", f"weightspace.take({json.dumps(name)}, {json.dumps(packed(untouched))});\n")
        return f"{self.address}/{name}.js"

    def pictures(self, page: Markup) -> Markup:
        """HTML whose pictures lie in files of their own, each once, and are loaded when they come into sight."""
        def moved(match):
            content = base64.b64decode(match[2])
            name = f"pictures/{hashlib.sha256(content).hexdigest()[:16]}.{_ENDINGS.get(match[1], match[1])}"
            write(self.folder / name, content)
            return f'loading="lazy" src="{self.address}/{name}"'
        return Markup(_INLINE.sub(moved, page))


def packed(state: object) -> str:
    """What JSON can hold, compressed, as text; the same for the same state."""
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def unpacked(text: str) -> object:
    """What `packed` was given."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def missing(state: dict) -> int:
    """How many settings a panel has no numbers of: it was executed without `keep_all_settings`, or has too many."""
    settings = math.prod(len(control["texts"]) for control in state["spec"]["controls"])
    return max(0, settings - len(state["frames"]["frames"]))


def as_script(module: str) -> str:
    """The ES module of the views as a script, because a page that is opened from a folder may load no module. What it
    exports becomes properties of `weightspace`.

    Raises:
        ValueError: it does not end with what it exports.
    """
    exports = _EXPORTS.search(module)
    if not exports:
        raise ValueError("the module of the views must end with export{…}, as esbuild writes it")
    pairs = (pair.split(" as ") for pair in exports[1].split(","))
    given = ",".join(f"{name.strip()}:{inner.strip()}" for inner, name in pairs if name.strip() != "default")
    return f"globalThis.weightspace=(()=>{{{module[:exports.start()]}return{{{given}}}}})();\n"
