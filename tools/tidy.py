"""Whether the notebooks' files are as nbformat writes them and keep no outputs (`make lint`).

    python -m tools.tidy                  name those that are not; exit with 1 if there are any
    python -m tools.tidy --fix            write them so

A notebook that JupyterLab saved has its outputs in it and its keys in another order, and then every later change looks
larger than it is.
"""
import argparse
import sys
from pathlib import Path

import nbformat

FOLDER = Path(__file__).parent.parent / "notebooks"


def tidied(text: str) -> str:
    """A notebook's file without outputs and counts of executions, as nbformat writes it.

    Raises:
        nbformat.ValidationError: this is no notebook.
    """
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("execution", None)
    notebook.metadata.pop("widgets", None)
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Check, or with --fix write, all notebooks of the course. Returns how many were not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="write them")
    fix = parser.parse_args(arguments).fix
    wrong = 0
    for path in sorted(FOLDER.rglob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if (better := tidied(text)) != text:
            wrong += 1
            print(f"{path.relative_to(FOLDER.parent)} " + ("was written anew" if fix else
                  "keeps outputs or is not in nbformat's order; python -m tools.tidy --fix writes it so"))
            if fix:
                path.write_text(better, encoding="utf-8", newline="\n")
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(), 1))
