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
import struct
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from tools.book import translating

# what view.js shows of a panel, and where it stands before a reader moves anything
_KEPT = ("spec", "frames", "positions", "typed")
_UNTOUCHED = {"guess": None, "shown": False, "ticked": []}
_EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*\Z")
_INLINE = re.compile(r'(?:width="(\d+)" )?(alt="[^"]*" )?src="data:image/(svg\+xml|png|gif|jpeg);base64,([^"]+)"')
_SIZE = re.compile(rb'<svg[^>]*\bviewBox="0 0 ([0-9.]+) ([0-9.]+)"')
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
        names: of the files that the page needs.
        say: what is made of every sentence of a panel (`translating`).
    """
    folder: Path
    address: str
    names: set[str] = field(default_factory=set)
    say: translating.Say = translating.ENGLISH

    def panel(self, name: str, state: dict) -> str:
        """Write a panel's state as a script; returns its address.

        Args:
            name: of the page and the cell, "01_linearity/panel-a".
            state: of its widget, as an executed notebook keeps it.
        """
        untouched = {**{trait: state.get(trait, "") for trait in _KEPT}, **_UNTOUCHED}
        return self.script(name, translating.said(untouched, self.say))

    def script(self, name: str, content: object) -> str:
        """Write what JSON can hold as a script that hands it to the page; returns its address."""
        self.names.add(f"{name}.js")
        write(self.folder / f"{name}.js", f"weightspace.take({json.dumps(name)}, {json.dumps(packed(content))});\n")
        return f"{self.address}/{name}.js"

    def pictures(self, page: Markup) -> Markup:
        """HTML whose pictures lie in files of their own, each once, and are loaded when they come into sight."""
        def moved(match):
            width, alt, kind, data = match.groups()
            content = base64.b64decode(data)
            name = f"pictures/{hashlib.sha256(content).hexdigest()[:16]}.{_ENDINGS.get(kind, kind)}"
            self.names.add(name)
            write(self.folder / name, content)
            room = f'width="{width}" height="{_height(content, int(width))}" ' if width else ""
            return f'{room}{alt or ""}loading="lazy" src="{self.address}/{name}"'
        return Markup(_INLINE.sub(moved, page))


def _height(content, width):
    """How high a picture is that is so wide, so that the page keeps room for it: an SVG of matplotlib says its size, a
    PNG too; of another half the width."""
    if size := _SIZE.search(content):
        return round(width * float(size[2]) / float(size[1]))
    if content.startswith(b"\x89PNG"):
        across, down = struct.unpack(">II", content[16:24])
        return round(width * down / across)
    return round(width / 2)


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
