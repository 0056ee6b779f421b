"""Markers: which condition of the ledger, or which test, carries a sentence that a learner reads.

A marker is an HTML comment at the end of a sentence's line, which no page shows:

    * At rank 0 CART *is* the average. <!-- holds: CART-1.largest_difference_at_the_ends -->
    * It keeps 95 %. <!-- holds: CART-12.ViT cart_indexing_kept_64; tests/test_cart.py::test_centred_sums_are_cart -->

After `holds:` stand names, parted by semicolons, since the name of a number may hold spaces, commas, colons and dots. A
name is one of these two:

* `CLAIM.number`, a condition: a number of lessons/*/claims.yaml that has bounds. The first dot ends the claim. All that
  follows is the number, letter for letter as the ledger writes it.
* `tests/FILE.py::test`, a test, which `def` defines in that file. The file is read and not imported.

`resolve` says what one name names; notebooks, cards and self-tests all ask it. A *take-away* is an item of the first
list under the heading "In one minute", a *card* a quotation whose first line begins with **“…”**: a myth and its
answer. `missing` lists those of a notebook without a marker, `unknown` the markers that name nothing.
"""
import ast
import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lessons.kit.chapters import ROOT
from lessons.kit.claims import Condition, ledger

PARTED = ";"
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_HOLDS = re.compile(r"\s*holds:(.*)", re.DOTALL)
_TEST = re.compile(r"tests/(?:\w+/)*\w+\.py::\w+")
_MINUTE = re.compile(r"^#+ In one minute", re.IGNORECASE)
_ITEM, _CARD = ("* ", "- "), "> **“"


class UnknownMarker(LookupError):
    """A marker names nothing. The message says what is near."""


@dataclass(frozen=True)
class NamedTest:
    """A test that a marker names.

    Attributes:
        path: of its file, from the root of the repository: "tests/test_cart.py".
        name: of its function.
    """
    path: str
    name: str


@dataclass(frozen=True)
class Statement:
    """A sentence that needs a marker.

    Attributes:
        cell: the id of its cell.
        kind: "take-away" or "card".
        text: its Markdown, with its markers.
    """
    cell: str
    kind: str
    text: str

    @property
    def beginning(self) -> str:
        """Its first words."""
        words = " ".join(_COMMENT.sub("", self.text).split())
        return words if len(words) <= 60 else words[:60] + "…"


def markers(text: str) -> list[str]:
    """The names in all markers of a text, in their order.

    Raises:
        UnknownMarker: a comment is no marker, or a marker has no name.
    """
    names = []
    for comment in _COMMENT.finditer(text):
        holds = _HOLDS.fullmatch(comment[1])
        listed = [name.strip() for name in holds[1].split(PARTED)] if holds and comment[0].endswith("-->") else []
        if not listed or not all(listed):
            raise UnknownMarker(f"{comment[0].strip()} is no marker; write <!-- holds: CTL-2.gap_mean --> or, with "
                                f"several names, <!-- holds: CTL-2.gap_mean{PARTED} tests/test_line.py::test_name -->")
        names += listed
    return names


def resolve(name: str) -> Condition | NamedTest:
    """What a name in a marker names.

    Raises:
        UnknownMarker: nothing, or a number without bounds; the message lists what is near.
    """
    return _test(name) if name.startswith("tests/") or "::" in name else _condition(name)


def _condition(name):
    id, _, number = name.partition(".")
    claim = ledger().get(id)
    if claim is None:
        raise UnknownMarker(f"{name!r}: the ledger has no claim {id!r}{_near(id, ledger())}")
    conditions = {condition.number: condition for condition in claim.conditions}
    if number in conditions:
        return conditions[number]
    if any(shown.number == number for shown in claim.shown):
        raise UnknownMarker(f"{name!r}: this number of {id} has no bounds, so it can carry no sentence"
                            f"{_near(number, conditions, f'{id}.')}")
    raise UnknownMarker(f"{name!r}: {id} has no condition {number!r}{_near(number, conditions, f'{id}.')}")


def _test(name):
    if not _TEST.fullmatch(name):
        raise UnknownMarker(f"{name!r}: a test is named as tests/test_line.py::test_name")
    path, _, function = name.partition("::")
    if not (ROOT / path).is_file():
        files = [file.relative_to(ROOT).as_posix() for file in sorted((ROOT / "tests").rglob("test_*.py"))]
        raise UnknownMarker(f"{name!r}: there is no file {path}{_near(path, files)}")
    tests = _tests(ROOT / path)
    if function not in tests:
        raise UnknownMarker(f"{name!r}: {path} defines no test {function!r}{_near(function, tests)}")
    return NamedTest(path, function)


@cache
def _tests(path):
    """The names of the tests that a file defines, at its top."""
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in statements if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def _near(name, known, before=""):
    """The rest of a sentence: what there is, the names that are like this one first."""
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or (list(known) if len(known) <= 5 else [])
    return f"; near are {', '.join(before + other for other in close)}" if close else ""


def statements(notebook: dict) -> list[Statement]:
    """The take-aways and cards of a notebook, in their order.

    Args:
        notebook: as its file holds it, read as JSON.
    """
    return [Statement(cell["id"], kind, text) for cell in _markdown(notebook) for kind, text in _blocks(_source(cell))]


def _markdown(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


def _source(cell):
    return "".join(cell["source"])


def _blocks(text) -> Iterator[tuple[str, str]]:
    """(kind, Markdown) of the take-aways and cards of one cell."""
    minute = False  # whether the list under "In one minute" may still come, or goes on
    block = None  # (kind, lines) of what goes on
    for line in [*text.splitlines(), ""]:
        if block and not _goes_on(block[0], line):
            yield block[0], "\n".join(block[1])
            block = None
            minute = minute and (not line.strip() or line.startswith(_ITEM))
        if block:
            block[1].append(line)
        elif line.startswith("#"):
            minute = bool(_MINUTE.match(line))
        elif line.startswith(_CARD):
            block = ("card", [line])
        elif minute and line.startswith(_ITEM):
            block = ("take-away", [line])
        elif line.startswith("**"):
            minute = False


def _goes_on(kind, line):
    """Whether a line belongs to the block that the line before it belongs to."""
    if kind == "card":
        return line.startswith(">") and not line.startswith(_CARD)
    return line.startswith("  ")


def missing(notebook: Path) -> list[str]:
    """The take-aways and cards of a notebook's file that have no marker, each in a line that says where it stands."""
    return [f"{notebook.stem}, cell {statement.cell}: this {statement.kind} has no marker: {statement.beginning}"
            for statement in statements(_read(notebook)) if not _COMMENT.search(statement.text)]


def unknown(notebook: Path) -> list[str]:
    """The markers of a notebook's file that name nothing, each in a line that says where it stands and what is near."""
    errors = []
    for cell in _markdown(_read(notebook)):
        try:
            names = markers(_source(cell))
        except UnknownMarker as error:
            errors.append(f"{notebook.stem}, cell {cell['id']}: {error}")
            continue
        errors += [f"{notebook.stem}, cell {cell['id']}: {error}" for error in map(_error, names) if error]
    return errors


def _error(name):
    try:
        resolve(name)
    except UnknownMarker as error:
        return str(error)
    return ""


def _read(notebook):
    return json.loads(notebook.read_text(encoding="utf-8"))
