"""How much a learner reads, does and sees in an executed notebook, and where a lesson exceeds its limits.

`python -m tools.pacing build/notebooks/*.ipynb` prints a line a notebook and then every place that is too long.

A reading counts as words, also where it waits for a guess. Hints, solutions, questions and their answers count as
something to do, and not as words. Tables, formulas and code are not counted as words.

How long a notebook takes is an estimate: its words at 130 a minute, the minutes that exercises' headings name, and
`MINUTES` for all else. It is not a limit, because nobody has timed learners.
"""
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import mistune
import nbformat
from bs4 import BeautifulSoup

WORDS = 3500  # of a lesson
WITHOUT_DOING = 350  # words in a row
WITHOUT_PICTURE = 400
PICTURES_PER_1000 = 4
NUMBERS = 6  # of a reading
WORDS_A_MINUTE = 130
MINUTES = {"lines of code": 2.5 / 60, "panels": 3.0, "still pictures": 0.6, "tables": 0.7, "guesses": 0.7,
           "formulas": 0.5}  # for one of each; lines that are shown, and formulas in a line of their own
_EXERCISE = re.compile(r"^### Exercise [^\n]*\((\d+) minutes?\)", re.MULTILINE)
_DISPLAYED = re.compile(r"\$\$.*?\$\$", re.DOTALL)
_WIDGET = "application/vnd.jupyter.widget-view+json"
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
        minutes: an estimate of how long a learner takes.
    """
    words: int
    pictures: int
    faults: tuple[str, ...]
    minutes: float

    @property
    def pictures_per_1000(self) -> float:
        return 1000 * self.pictures / max(self.words, 1)


def pace(notebook: nbformat.NotebookNode) -> Pace:
    """The pace of an executed notebook. Cells that are tagged `added` are left out."""
    given = [cell for cell in notebook.cells if "added" not in cell.metadata.get("tags", [])]
    cells = [_shown(cell) for cell in given]
    faults = [f"cell {place}: {cell.numbers} numbers in a reading, at most {NUMBERS}"
              for place, cell in enumerate(cells) if cell.numbers > NUMBERS]
    faults += _stretches(cells, "something to do", WITHOUT_DOING, lambda cell: cell.doing)
    faults += _stretches(cells, "a picture", WITHOUT_PICTURE, lambda cell: cell.picture)
    words = sum(cell.words for cell in cells)
    whole = Pace(words, sum(cell.picture for cell in cells), (), words / WORDS_A_MINUTE + _besides(given, notebook))
    if whole.words > WORDS:
        faults.append(f"{whole.words} words, at most {WORDS}")
    if whole.pictures_per_1000 < PICTURES_PER_1000:
        faults.append(f"{whole.pictures_per_1000:.1f} pictures per 1,000 words, at least {PICTURES_PER_1000}")
    return replace(whole, faults=tuple(faults))


def _besides(cells, notebook):
    """Minutes for all but the words."""
    prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    codes = [cell for cell in cells if cell.cell_type == "code"]
    shown = [cell for cell in codes if not cell.metadata.get("jupyter", {}).get("source_hidden")]
    pages = [BeautifulSoup(output.get("data", {}).get("text/html", ""), "html.parser")
             for cell in codes if not _FOLDED.search(cell.source) for output in cell.get("outputs", [])]
    panels = sum(_is_panel(cell, notebook) for cell in codes)
    counts = {"lines of code": sum(bool(line.strip()) for cell in shown for line in cell.source.splitlines()),
              "panels": panels,
              "still pictures": sum(_shown(cell).picture for cell in cells) - panels,
              "tables": sum(not part.find_parent("details") for page in pages for part in page.find_all("table")),
              "guesses": sum("predict(" in cell.source for cell in codes),
              "formulas": len(_DISPLAYED.findall(prose))}
    exercises = sum(map(int, _EXERCISE.findall(prose)))
    return exercises + sum(MINUTES[what] * count for what, count in counts.items())


def _is_panel(cell, notebook):
    """Whether a cell shows a picture with controls."""
    widgets = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    views = [output["data"][_WIDGET].get("model_id") for output in cell.get("outputs", [])
             if _WIDGET in output.get("data", {})]
    specs = [widgets.get(view, {}).get("state", {}).get("spec", {}) for view in views]
    return any(spec.get("controls") and spec.get("charts") for spec in specs)


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
        panel |= drawn and _WIDGET in data
        if not drawn or _WIDGET not in data:
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
              f"1,000 words, about {found.minutes:.0f} minutes")
        for fault in found.faults:
            print(f"    {fault}")


if __name__ == "__main__":
    main(sys.argv[1:])
