"""Which files were handed in, and which cell of a notebook answers which exercise. Nothing here runs or parses them."""
import functools
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lessons.kit import chapters

LARGEST = 64_000_000  # bytes of a notebook: an executed one, with its panels, has a few million
MOST_FILES = 10_000
_LEFT_OUT = {".ipynb_checkpoints", ".git", "__MACOSX"}
_CHECK = r"""\bcheck\(\s*["']{}["']\s*,\s*(\w+)"""


class NoSubmission(ValueError):
    """This file cannot be a submission; the text says why."""


@dataclass(frozen=True)
class Asked:
    """An exercise, as the course's notebook has it.

    Attributes:
        id: "4.2".
        cell: the id of the cell that is to be filled in.
        source: what stands in it, and is no answer.
        name: what the answer is called there.
    """
    id: str
    cell: str
    source: str
    name: str


@dataclass(frozen=True)
class Cells:
    """What of a notebook belongs to one exercise.

    Attributes:
        asked: the exercise.
        source: of the cell that answers it; None where no cell does, or it stands there as the course has it.
        before: the sources of the cells before.
        note: what is to be said about where the cell was found; "" if it stands where it should.
    """
    asked: Asked
    source: str | None
    before: tuple[str, ...] = ()
    note: str = ""


def files(folder: Path) -> list[Path]:
    """Every notebook in a folder and the folders in it, by name. Links to folders are not followed.

    Raises:
        ValueError: there is no such folder, or there are too many files.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder. Name the folder that holds the notebooks.")
    notebooks = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        notebooks += [Path(place, name) for name in sorted(names) if name.lower().endswith(".ipynb")]
        notebooks += [Path(place, name) for name in folders if name.lower().endswith(".ipynb")]
        if len(notebooks) > MOST_FILES:
            raise ValueError(f"{folder} holds more than {MOST_FILES:,} notebooks. Name a smaller folder.")
    return sorted(notebooks)


def opened(path: Path) -> int:
    """The file, open to be read.

    Raises:
        NoSubmission: it is a link, a folder, a device, unreadable or too large.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        is_link = os.path.islink(path)
        raise NoSubmission("This is a link, which may lead to somebody else's file, so it is not followed." if is_link
                           else f"This cannot be opened: {error.strerror}.") from error
    state = os.fstat(file)
    problem = ("This is no file." if not stat.S_ISREG(state.st_mode) else
               f"This is larger than {LARGEST // 1_000_000} MB." if state.st_size > LARGEST else "")
    if problem:
        os.close(file)
        raise NoSubmission(problem)
    return file


@functools.cache
def asked_in(stem: str) -> tuple[Asked, ...]:
    """The exercises of the course's notebook of this name."""
    notebook = json.loads(chapters.chapter(stem).notebook.read_text(encoding="utf-8"))
    exercises = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        for id, name in re.findall(_CHECK.format(r"([\d.]+)"), source) if cell["cell_type"] == "code" else ():
            exercises.append(Asked(id, cell["id"], source, name))
    return tuple(exercises)


def chapter_of(cells: Sequence[tuple[str, str]]) -> str:
    """Of which notebook of the course most exercises are here; "" of none.

    Args:
        cells: the id and source of every code cell.
    """
    counts = {chapter.stem: sum(bool(_answering(exercise, cells)) for exercise in asked_in(chapter.stem))
              for chapter in chapters.CHAPTERS}
    stem = max(counts, key=counts.get)
    return stem if counts[stem] else ""


def _answering(exercise, cells):
    """The places of the cells that answer an exercise, the ones with its id first, the last one of each first."""
    check = re.compile(_CHECK.format(re.escape(exercise.id)).rpartition(r"\s*,")[0])
    named = [place for place, (id, _) in enumerate(cells) if id == exercise.cell]
    checked = [place for place, (id, source) in enumerate(cells) if id != exercise.cell and check.search(source)]
    return named[::-1] + checked[::-1]


def cells_of(stem: str, cells: Sequence[tuple[str, str]]) -> Iterator[Cells]:
    """What of a notebook belongs to each exercise of the course's notebook of this name.

    Args:
        cells: the id and source of every code cell.
    """
    for exercise in asked_in(stem):
        places = _answering(exercise, cells)
        begun = [place for place in places if not _is_untouched(cells[place][1], exercise)]
        if not begun:
            note = "" if places else f"The cell of exercise {exercise.id} was deleted."
            yield Cells(exercise, None, note=note)
            continue
        id, source = cells[begun[0]]
        note = "" if id == exercise.cell else f"Exercise {exercise.id} was found by its check: its cell has another id."
        yield Cells(exercise, source, tuple(text for _, text in cells[:begun[0]]), note)


def _is_untouched(source, exercise):
    return not source.strip() or " ".join(source.split()) == " ".join(exercise.source.split())
