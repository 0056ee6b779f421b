"""What tools do that make something of every executed lesson."""
import argparse
from collections.abc import Callable
from pathlib import Path

import nbformat
from tqdm import tqdm

from lessons.kit import chapters, notebooks


def for_each_lesson(name: str, what: str, folder: Path,
                    write: Callable[[str, nbformat.NotebookNode, Path], object],
                    arguments: list[str] | None = None) -> None:
    """Execute the lessons that a command line names, or all of them, and hand each to `write`.

    Args:
        name: of the tool: "slides" for `python -m tools.slides`.
        what: it does, for its help.
        folder: where to, unless the command line says another one.
        write: of (a lesson's stem, the executed lesson, the folder).
        arguments: of the command line; left out, those of the process.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tools.{name}", description=what)
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="such as 08_cart; none: all of them")
    parser.add_argument("--out", type=Path, default=folder, help=f"the folder (default: build/{name})")
    options = parser.parse_args(arguments)
    try:
        chosen = [chapters.chapter(stem) for stem in options.lessons] or chapters.LESSONS
    except ValueError as error:
        parser.error(str(error))
    options.out.mkdir(parents=True, exist_ok=True)
    for one in (bar := tqdm(chosen, unit="lesson")):
        bar.set_description(one.stem)
        executed = notebooks.execute(one.notebook, options.out / f"{one.stem}.ipynb", profile="quick")
        write(one.stem, executed, options.out)
