"""How much a learner reads, does and sees in an executed notebook, and where a lesson exceeds its limits.

`python -m tools.pacing build/notebooks/*.ipynb` prints a line a notebook and then every place that is too long.

A reading counts as words, also where it waits for a guess. Hints, solutions, questions and their answers count as
something to do, and not as words. Tables, formulas and code are not counted as words.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import mistune
import nbformat
from bs4 import BeautifulSoup

WORDS = 3500  # of a lesson
WITHOUT_DOING = 350  # words in a row
WITHOUT_PICTURE = 400
PICTURES_PER_1000 = 4
NUMBERS = 6  # of a reading
_ASKS = re.compile(r"\b(check|predict|quiz)\(")
_FOLDED = re.compile(r"\b(hint|solution)\(")
_FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_MARKDOWN = mistune.create_markdown(escape=False, plugins=["table"])


@dataclass(frozen=True)
class Cell:
    """What a cell shows: words of running text, numbers of its longest reading, whether there is a picture, and whether
    there is something to do."""
    words: int = 0
    numbers: int = 0
    picture: bool = False
    doing: bool = False


@dataclass(frozen=True)
class Pace:
    """Of a whole notebook.

    Attributes:
        words: of its running text and its readings.
        pictures: panels, and pictures that do not move.
        faults: a sentence for each place that exceeds a limit, with the number of the cell where it begins.
    """
    words: int
    pictures: int
    faults: tuple[str, ...]

    @property
    def pictures_per_1000(self) -> float:
        return 1000 * self.pictures / max(self.words, 1)


def pace(notebook: nbformat.NotebookNode) -> Pace:
    """The pace of an executed notebook. Cells that are tagged `added` are left out."""
    cells = [_shown(cell) for cell in notebook.cells if "added" not in cell.metadata.get("tags", [])]
    faults = [f"cell {place}: {cell.numbers} numbers in a reading, at most {NUMBERS}"
              for place, cell in enumerate(cells) if cell.numbers > NUMBERS]
    faults += _stretches(cells, "something to do", WITHOUT_DOING, lambda cell: cell.doing)
    faults += _stretches(cells, "a picture", WITHOUT_PICTURE, lambda cell: cell.picture)
    whole = Pace(sum(cell.words for cell in cells), sum(cell.picture for cell in cells), ())
    if whole.words > WORDS:
        faults.append(f"{whole.words} words, at most {WORDS}")
    if whole.pictures_per_1000 < PICTURES_PER_1000:
        faults.append(f"{whole.pictures_per_1000:.1f} pictures per 1,000 words, at least {PICTURES_PER_1000}")
    return Pace(whole.words, whole.pictures, tuple(faults))


def _stretches(cells, what, limit, ends):
    """Where a learner reads for longer than the limit."""
    words, began = 0, 0
    for place, cell in enumerate([*cells, None]):
        if cell is None or ends(cell):
            if words > limit:
                yield f"cells {began} to {place - 1}: {words} words without {what}, at most {limit}"
            words, began = 0, place + 1
        else:
            words += cell.words


def _shown(cell):
    if cell.cell_type == "markdown":
        soup = BeautifulSoup(_MARKDOWN(_FORMULA.sub(" ", cell.source)), "html.parser")
        picture = soup.find(["img", "svg"]) is not None
        return Cell(_words(_running(soup, "details")), picture=picture)
    if _ASKS.search(cell.source):
        return Cell(doing=True)
    if _FOLDED.search(cell.source):
        return Cell()
    words = numbers = 0
    picture = panel = False
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        soup = BeautifulSoup(data.get("text/html", ""), "html.parser")
        drawn = soup.find(["img", "svg"]) is not None
        picture |= drawn or "image/png" in data
        panel |= drawn and "application/vnd.jupyter.widget-view+json" in data
        if not drawn or "application/vnd.jupyter.widget-view+json" not in data:
            text = _running(soup, "summary")
            words += _words(text)
        if not drawn or "<details" in data["text/html"]:
            numbers = max([numbers, *(len(_NUMBER.findall(part.get_text(" "))) for part in soup.select("p:has(> b)"))])
    return Cell(words, numbers, picture, panel)


def _running(soup, folded):
    for part in soup.find_all(["table", "pre", "code", "svg", "style", "script", folded]):
        part.decompose()
    for part in soup.select("details details"):
        part.decompose()
    return soup.get_text(" ")


def _words(text):
    return len(_WORD.findall(text))


def main(paths: list[str]) -> None:
    for path in paths:
        found = pace(nbformat.read(path, as_version=4))
        print(f"{Path(path).stem}: {found.words} words, {found.pictures} pictures, {found.pictures_per_1000:.1f} per "
              "1,000 words")
        for fault in found.faults:
            print(f"    {fault}")


if __name__ == "__main__":
    main(sys.argv[1:])
