"""The learner's diary: which lessons were opened, what checks and self-tests said, which guesses were committed.

It is a file of JSON lines in the learner's own store, `diary/NAME.jsonl`, which is only ever added to. Nothing of it
goes anywhere else. It has none of the learner's code, and of a wrong answer only what the course calls it.

`WEIGHTSPACE_DIARY=off` keeps none. Where that is not set, none is kept in tests, in CI, and in a notebook whose
`solved` is True; `WEIGHTSPACE_DIARY=on` keeps one in tests and CI too.

A line is written at once, at the end of the file, by one call of the system, so that two notebooks do not mix theirs.
(On NFS two machines can lose a line.) A line that is damaged is named and skipped. A diary with a line of a later
version is neither read nor written.
"""
import ast
import datetime
import getpass
import inspect
import json
import linecache
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pydantic

from data import store
from data.places import say_once
from lessons.kit import chapters

VERSION = 1
LARGEST = 20_000_000  # bytes of a diary that is read: of a hundred thousand lines
_ON = {"on", "1", "yes", "true"}  # of the variable; any other setting is off
_said_last: dict[tuple[str, str], dict] = {}  # what this kernel wrote last of a thing, which is not written twice
_opened: set[str] = set()  # ids whose notebook is noted


class Entry(pydantic.BaseModel, extra="ignore"):
    """One line.

    Attributes:
        v: the version of the diary's form.
        at: when it was written.
        what: "opened" a lesson, "check" of an exercise, "answer" to a self-test, "guess" committed; "export" is the
            first line of a copy.
        id: a notebook's stem, an exercise, a question, or a notebook and a cell: "01_linearity/guess"; of a copy the
            learner's name, or "".
        passed: whether a check passed, or an answer was right.
        mistake: what the course says of a known wrong answer; "" of any other.
        value, question: of a guess.
    """
    v: int = pydantic.Field(ge=1)
    at: pydantic.AwareDatetime
    what: Literal["opened", "check", "answer", "guess", "export"]
    id: str = pydantic.Field(max_length=200)
    passed: bool = False
    mistake: str = pydantic.Field("", max_length=2000)
    value: float | None = pydantic.Field(None, allow_inf_nan=False)
    question: str = pydantic.Field("", max_length=5000)


@dataclass(frozen=True)
class Read:
    """What a diary says.

    Attributes:
        entries: in their order.
        problems: what could not be read, each a sentence.
    """
    entries: Sequence[Entry] = ()
    problems: Sequence[str] = ()


def is_on() -> bool:
    """Whether a diary is kept now."""
    setting = os.environ.get("WEIGHTSPACE_DIARY", "").strip().lower()
    if setting and setting not in _ON:
        return False
    if getattr(sys.modules.get("__main__"), "solved", False) is True:  # the notebook's parameter
        return False
    return bool(setting) or not (os.environ.get("CI") or os.environ.get("PYTEST_CURRENT_TEST"))


def paths() -> list[Path]:
    """Where this learner's diary is: in the data folder, where that may be written, and in the learner's own. A shared
    store has none."""
    usual = store.root() / "diary" / f"{_whose()}.jsonl"
    return [place for place in store.places(usual) if not store.is_shared(place)]


def _whose():
    """The user's name, since a folder that a whole class writes holds several diaries."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run as a number that nobody has
        name = ""
    return re.sub(r"[^\w-]", "-", name) or "learner"


# -- writing -------------------------------------------------------------------------------------------------------

def checked(id: str, passed: bool, mistake: str = "") -> None:
    """Note what a check said."""
    _note("check", id, passed=passed, mistake=mistake)


def answered(id: str, right: bool) -> None:
    """Note that a choice of a self-test was pressed."""
    _note("answer", id, passed=right)


def guessed(id: str, value: float, question: str) -> None:
    """Note a prediction that was committed."""
    _note("guess", id, value=value, question=question)


def opened(id: str) -> None:
    """Note that a notebook is open, once in a kernel: the one that asks for this exercise, question or guess."""
    if is_on() and id not in _opened:
        _opened.add(id)
        if stem := stem_of(id):
            _note("opened", stem)


def stem_of(id: str) -> str:
    """The notebook that an id belongs to; "" where there is none."""
    for chapter in chapters.CHAPTERS:
        asks = chapter.asks
        if id == chapter.stem or id in asks.exercises or id in asks.questions or id in asks.guesses.values():
            return chapter.stem
    return ""


def call_of_predict(frame) -> str:
    """The cell of a notebook of the course in which a frame calls `predict`: "01_linearity/guess"; "" of any other
    call. The questions alone do not tell, because measured numbers stand in some."""
    places = inspect.getframeinfo(frame).positions
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        nodes = ast.walk(ast.parse(source))
    except (SyntaxError, ValueError):
        return ""
    calls = [ast.unparse(node) for node in nodes if isinstance(node, ast.Call) and places is not None and
             (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) ==
             (places.lineno, places.col_offset, places.end_lineno, places.end_col_offset)]
    known = {call: id for chapter in chapters.CHAPTERS for call, id in chapter.asks.guesses.items()}
    return known.get(calls[0], "") if calls else ""


def _note(what, id, **more):
    """Add a line. A lesson goes on whatever becomes of it."""
    if not is_on() or _said_last.get((what, id)) == more:
        return
    try:
        path = store.workplace("diary") / f"{_whose()}.jsonl"
        if any(_is_later(place) for place in paths()):
            return
        written = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        _append(path, json.dumps({"v": VERSION, "at": written, "what": what, "id": id, **more}))
        _said_last[what, id] = more
    except OSError as error:
        say_once("no diary", f"what you do is not noted in your diary, because {error}. The lessons work as before")


def _append(path, line):
    """One line more, in one call; behind a line that a full disk cut off, a new one is begun."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        size = os.fstat(file).st_size
        os.lseek(file, max(0, size - 1), os.SEEK_SET)
        begins = b"" if not size or os.read(file, 1) == b"\n" else b"\n"
        content = begins + line.encode() + b"\n"
        if os.write(file, content) < len(content):
            raise OSError(f"{path} has no room for another line")
    finally:
        os.close(file)


# -- reading -------------------------------------------------------------------------------------------------------

def read(path: Path | None = None) -> Read:
    """What the learner's diary says, or one that was exported to `path`.

    Raises:
        StoreError: the exported one is no file, is too large, or cannot be read.
    """
    if path is not None:
        return _read(path)
    diaries = []
    for place in paths():
        try:
            diaries.append(_read(place))
        except FileNotFoundError:
            continue
        except OSError as error:
            diaries.append(Read((), [f"{place} cannot be read: {error.strerror or error}."]))
    entries = [entry for diary in diaries for entry in diary.entries]
    if len(diaries) > 1:  # else they are in order, even where a clock was put back
        entries.sort(key=lambda entry: entry.at)
    return Read(entries, [problem for diary in diaries for problem in diary.problems])


def _read(path):
    if store.regular(path).stat().st_size > LARGEST:
        raise store.StoreError(f"{path} is too large to be a diary: more than {LARGEST:,} bytes.")
    if _is_later(path):
        return Read((), [f"{path} was written by a later version of the course, so it is left alone."])
    entries, damaged = [], []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entry = Entry.model_validate(json.loads(line))
            entries += [entry] if entry.what != "export" else []
        except (ValueError, RecursionError):  # also pydantic's error, and bytes that are no text
            damaged.append(str(number))
    if not damaged:
        return Read(entries)
    lines = f"line{'s' * (len(damaged) > 1)} {', '.join(damaged[:5])}{', …' * (len(damaged) > 5)}"
    return Read(entries, [f"Damaged and skipped: {lines} of {path}."])


def _is_later(path):
    """Whether a line of a diary says that a later version wrote it."""
    try:
        content = store.regular(path).read_bytes()
    except FileNotFoundError:
        return False
    return any(int(version) > VERSION for version in _VERSION.findall(content))


_VERSION = re.compile(rb'^\{"v": ?(\d{1,9})[,}]', re.MULTILINE)


def guess_before(id: str, question: str) -> float | None:
    """The last guess at this question; None where there is none, or where no diary is kept."""
    if not id or not is_on():
        return None
    wanted = ("guess", id, question)
    values = [entry.value for entry in read().entries if (entry.what, entry.id, entry.question) == wanted]
    return values[-1] if values else None


def forget() -> list[Path]:
    """Delete the diary; the files that were deleted.

    Raises:
        StoreError: a file cannot be deleted.
    """
    deleted = []
    for path in paths():
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise store.StoreError(f"{path} cannot be deleted: {error.strerror or error}.") from error
        deleted.append(path)
    _said_last.clear()
    _opened.clear()
    return deleted
