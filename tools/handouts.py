"""A page of paper for every lesson: `python -m tools.handouts` (`make handouts`) writes build/handouts/NAME.html for
every lesson, or for those that it is given.

It has the lesson's question, the picture of the cell that is tagged `handout`, and what stands under "In one minute".
Printed from a browser it fills one page of A4.
"""
import re
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup

from lessons.kit import chapters, notebooks
from tools.lessons import for_each_lesson

FOLDER = chapters.ROOT / "build/handouts"
TAG = "handout"
_PRINT = """<style>
@page { size: A4; margin: 14mm; }
body.jp-Notebook { max-width: 182mm; margin: 0 auto; padding: 0; }
.jp-Cell { padding: 0; }
.jp-InputPrompt, .jp-OutputPrompt, .jp-Collapser, .folded-code, .anchor-link { display: none; }
.jp-RenderedHTMLCommon { font-size: 10pt; line-height: 1.3; }
.jp-OutputArea-output img, .jp-OutputArea-output svg { max-height: 85mm; width: 100%; object-fit: contain; }
</style>"""
_MINUTE = re.compile(r"^## In one minute[^\n]*\n(.*)", re.MULTILINE | re.DOTALL)


def handout(notebook: nbformat.NotebookNode) -> str:
    """The page of an executed lesson.

    Raises:
        ValueError: no cell, or more than one, is tagged `handout`; it shows no picture; or nothing stands under "In one
        minute".
    """
    tagged = [cell for cell in notebook.cells if TAG in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise ValueError(f"one cell of the notebook must have the tag {TAG!r}, {len(tagged)} have it")
    shown = (output.get("data", {}).get("text/html", "") for output in tagged[0].get("outputs", []))
    pictures = [picture for page in shown if (picture := BeautifulSoup(page, "html.parser").find(["figure", "img"]))]
    minute = next((found[1] for cell in notebook.cells if (found := _MINUTE.search(cell.source))), None)
    if not pictures or minute is None:
        raise ValueError(f"the cell tagged {TAG!r} shows no picture" if not pictures else
                         "no cell has the heading “In one minute”")
    title, *paragraphs = notebook.cells[0].source.split("\n\n")
    why = [paragraph for paragraph in paragraphs if not paragraph.startswith(("**About ", "In this lesson"))][:3]
    picture = nbformat.v4.new_output("display_data", {"text/html": str(pictures[0])})
    cells = [nbformat.v4.new_markdown_cell("\n\n".join([title, *why])),
             nbformat.v4.new_code_cell("", metadata=tagged[0].metadata, outputs=[picture]),
             nbformat.v4.new_markdown_cell(minute)]
    page = notebooks.to_html(nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata))
    return page.replace("</head>", f"{_PRINT}</head>", 1)


def write(name: str, notebook: nbformat.NotebookNode, folder: Path) -> Path:
    """Write the handout of an executed lesson."""
    path = folder / f"{name}.html"
    path.write_text(handout(notebook), encoding="utf-8")
    return path


def main(arguments: list[str] | None = None) -> None:
    """Execute lessons and write their handouts."""
    for_each_lesson("handouts", main.__doc__, FOLDER, write, arguments)


if __name__ == "__main__":
    main()
