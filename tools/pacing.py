"""How long an executed lesson is read before there is something to do or to look at. `python -m tools.pacing NOTEBOOK …`

A reading that waits for a guess is read once the guess is made, so its words count. Hints, solutions, tables, code and
the words inside a picture do not.
"""
import argparse
import re
from dataclasses import dataclass, field, fields
from pathlib import Path

import mistune
import nbformat
from bs4 import BeautifulSoup

from lessons.kit.predict import FOLDED

WIDGET = "application/vnd.jupyter.widget-view+json"
DOES = re.compile(r"\b(check|predict|quiz)\(")
HELPS = re.compile(r"\b(hint|solution)\(")
LIMITS = {"words": 3500, "minutes": 60, "without doing": 350, "without a picture": 400, "numbers in a reading": 6}
PICTURES_PER_1000_WORDS = 4


@dataclass
class Pace:
    """What a learner reads, does and looks at in one executed notebook.

    Attributes:
        words: of text cells and of what cells show.
        minutes: that the lesson announces; 0 where it announces none.
        pictures: cells that show one, panels among them.
        exercises: cells that check an answer.
        stretches: {"without doing" or "without a picture": (words of the longest stretch, the cell where it begins)}.
        numbers: (largest number of numbers in a reading, its cell).
    """
    words: int = 0
    minutes: int = 0
    pictures: int = 0
    exercises: int = 0
    stretches: dict = field(default_factory=lambda: {"without doing": (0, 0), "without a picture": (0, 0)})
    numbers: tuple[int, int] = (0, 0)

    def faults(self) -> list[str]:
        """A sentence for each limit that is exceeded."""
        found = [f"{getattr(self, name)} {name}, at most {LIMITS[name]}" for name in ("words", "minutes")
                 if getattr(self, name) > LIMITS[name]]
        found += [f"from cell {cell} on {count} words {name}, at most {LIMITS[name]}"
                  for name, (count, cell) in self.stretches.items() if count > LIMITS[name]]
        if self.numbers[0] > LIMITS["numbers in a reading"]:
            found.append("cell {1}: {0} numbers in a reading, at most {2}".format(*self.numbers,
                                                                                LIMITS["numbers in a reading"]))
        if 1000 * self.pictures < PICTURES_PER_1000_WORDS * self.words:
            found.append(f"{1000 * self.pictures / self.words:.1f} pictures per 1,000 words, "
                         f"at least {PICTURES_PER_1000_WORDS}")
        return found


def pace(notebook: nbformat.NotebookNode) -> Pace:
    """The pace of a notebook that was executed; cells are counted from 0."""
    whole = Pace()
    since = {name: (0, 0) for name in whole.stretches}
    for number, cell in enumerate(notebook.cells):
        if "added" in cell.metadata.get("tags", []):
            continue
        code = cell.cell_type == "code"
        texts, picture, panel = _shown(cell) if code else (_text_of(mistune.html(_without_formulas(cell.source))), False,
                                                           False)
        count = sum(len(_words(text)) for text in texts)
        whole.words += count
        whole.pictures += picture
        whole.exercises += code and "check(" in cell.source
        ends = {"without doing": panel or (code and DOES.search(cell.source)), "without a picture": picture}
        for name, end in ends.items():
            words, begins = since[name]
            stretch = (words + count, begins)
            whole.stretches[name] = max(whole.stretches[name], stretch)
            since[name] = (0, number + 1) if end else stretch
        if code:
            whole.numbers = max(whole.numbers, *((len(_numbers(text)), number) for text in texts), (0, 0))
    announced = re.search(r"\*\*(?:About )?(\d+) minutes", "\n".join(cell.source for cell in notebook.cells))
    whole.minutes = int(announced.group(1)) if announced else 0
    return whole


def _shown(cell):
    """(texts, is there a picture, is it a panel) of what a code cell shows."""
    if DOES.search(cell.source) or HELPS.search(cell.source):
        return [], False, False
    texts, picture, panel = [], False, False
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        page = BeautifulSoup(data.get("text/html", ""), "html.parser")
        figure = page.find(["img", "svg"]) is not None
        picture, panel = picture or figure, panel or (figure and WIDGET in data)
        if output.output_type == "stream":
            texts.append(output.text)
        elif not (figure and WIDGET in data):
            texts += _text_of(page)
    return texts, picture, panel


def _text_of(page):
    """The paragraphs of a page that are read: what a guess unfolds, but no other folded text, no table, no heading."""
    soup = page if isinstance(page, BeautifulSoup) else BeautifulSoup(page, "html.parser")
    for folded in soup.find_all("details"):
        summary = folded.find("summary")
        if summary and summary.get_text() == FOLDED:
            summary.decompose()
            folded.unwrap()
    for unread in soup(["details", "table", "svg", "style", "script", "pre", "code", "h1", "h2", "h3"]):
        unread.decompose()
    blocks = soup.find_all(["p", "li", "figcaption"]) or [soup]
    return [block.get_text(" ") for block in blocks if not block.find(["p", "li"])]


def _without_formulas(markdown):
    return re.sub(r"\$\$.*?\$\$|\$[^$]*\$", " ", markdown, flags=re.DOTALL)


def _words(text):
    return re.findall(r"[A-Za-zα-ωΑ-Ω][\w’'\-]*", text)


def _numbers(text):
    return re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", text)


def main() -> None:
    """Print a line for each notebook, and what exceeds the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="+", type=Path)
    for path in parser.parse_args().notebooks:
        found = pace(nbformat.read(path, as_version=4))
        print(path.stem, *(f"{one.name} {getattr(found, one.name)}" for one in fields(found)), sep=", ")
        print(*(f"  {fault}" for fault in found.faults()), sep="\n", end="\n" if found.faults() else "")


if __name__ == "__main__":
    main()
