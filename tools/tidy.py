"""Whether the notebooks' files are as nbformat writes them, keep no outputs, and fold code that only shows something
(`make lint`).

    python -m tools.tidy                  name those that are not; exit with 1 if there are any
    python -m tools.tidy --fix            write them so

A notebook that JupyterLab saved has its outputs in it and its keys in another order, and then every later change looks
larger than it is. In some chapters, a cell that only calls a panel, a reading, a guess, a question or a hint hides its
code. A learner sees what it shows, and opens the code by a click.
"""
import argparse
import ast
import re
import sys
from pathlib import Path

import nbformat

FOLDER = Path(__file__).parent.parent / "notebooks"
FOLDED = {3, *range(9, 15)}  # the chapters
_SHOW = {"display", "folded", "hint", "predict", "quiz", "solution", "veil"}


def only_shows(source: str, panels: set[str]) -> bool:
    """Whether code only calls what shows something, and keeps the result at most.

    Args:
        source: of a cell.
        panels: names of modules of panels.
    """
    tree = ast.parse(source)
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return bool(calls) and all(isinstance(line, (ast.Expr, ast.Assign)) for line in tree.body) and all(
        _first_name(call) in panels | _SHOW for call in calls)


def _first_name(function):
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else None


def _panels(cells):
    """The names under which a notebook has imported modules of panels."""
    names = set()
    for cell in cells:
        for line in ast.parse(cell.source).body if cell.cell_type == "code" else ():
            if isinstance(line, ast.ImportFrom):
                inside = "panels" in str(line.module).split(".")
                names |= {alias.asname or alias.name for alias in line.names if inside or alias.name == "panels"}
    return names


def tidied(text: str, folds: bool = False) -> str:
    """A notebook's file without outputs and counts of executions, as nbformat writes it.

    Args:
        folds: whether cells that only show something hide their code; else nothing is changed about that.

    Raises:
        nbformat.ValidationError: this is no notebook.
    """
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    panels = _panels(notebook.cells) if folds else set()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("execution", None)
            if folds:
                _fold(cell, only_shows(cell.source, panels))
    notebook.metadata.pop("widgets", None)
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def _fold(cell, folded):
    """Fold the code of a cell, or unfold it."""
    if folded:
        cell.metadata["jupyter"] = {**cell.metadata.get("jupyter", {}), "source_hidden": True}
    elif cell.metadata.get("jupyter", {}).pop("source_hidden", None) is not None and not cell.metadata["jupyter"]:
        del cell.metadata["jupyter"]


def main(arguments: list[str] | None = None) -> int:
    """Check, or with --fix write, all notebooks of the course. Returns how many were not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="write them")
    fix = parser.parse_args(arguments).fix
    wrong = 0
    for path in sorted(FOLDER.rglob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        number = re.match(r"(\d+)_", path.name)
        if (better := tidied(text, bool(number) and int(number[1]) in FOLDED)) != text:
            wrong += 1
            print(f"{path.relative_to(FOLDER.parent)} " + ("was written anew" if fix else
                  "keeps outputs, folds other code than it should or is not in nbformat's order; "
                  "python -m tools.tidy --fix writes it so"))
            if fix:
                path.write_text(better, encoding="utf-8", newline="\n")
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(), 1))
