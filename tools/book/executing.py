"""Notebooks of the book, executed once, with the numbers of all settings of their panels."""
import time
from collections.abc import Iterable
from pathlib import Path

import nbformat
from tqdm import tqdm

from lessons.kit import notebooks
from lessons.kit.chapters import Chapter

PROFILES = notebooks.PROFILES
_MADE = "weightspace_book"  # in the metadata of an executed notebook: its profile
# In the kernel, behind the last cell. What it prints is left out with it.
_LAST = "from lessons.kit.view import keep_all_settings\nkeep_all_settings()"


def is_up_to_date(notebook: Path, executed: Path, profile: str) -> bool:
    """Whether a notebook was executed for the book, in this profile and as it is now. Code of the course that has
    changed since is not noticed: delete the executed notebook then."""
    if not executed.exists():
        return False
    before = nbformat.read(executed, as_version=4)
    return before.metadata.get(_MADE) == profile and _cells(before) == _cells(nbformat.read(notebook, as_version=4))


def _cells(notebook):
    return [(cell.cell_type, cell.id, cell.source) for cell in notebook.cells
            if "injected-parameters" not in cell.metadata.get("tags", [])]


def bring_up_to_date(wanted: Iterable[Chapter], folder: Path, profile: str) -> list[str]:
    """Execute the notebooks that were not executed yet, or are other ones now.

    Args:
        wanted: lines of the table of chapters.
        folder: for the executed notebooks.
        profile: "full" takes what the repository has measured (`data/measured`), and measures what it lacks.

    Returns:
        The stems of those that were executed.

    Raises:
        lessons.kit.notebooks.NotebookError, papermill.PapermillExecutionError: one did not run.
    """
    stale = [one for one in wanted if not is_up_to_date(one.notebook, folder / one.place, profile)]
    for one in (bar := tqdm(stale, unit="notebook", disable=not stale)):
        bar.set_description(one.stem)
        start = time.perf_counter()
        output = folder / one.place
        output.parent.mkdir(parents=True, exist_ok=True)
        part = output.with_name(f".{output.name}")  # so that one that failed is executed again
        executed = notebooks.execute(one.notebook, part, last=_LAST, profile=profile)
        executed.metadata[_MADE] = profile
        nbformat.write(executed, part)
        part.replace(output)
        tqdm.write(f"{one.stem}: {time.perf_counter() - start:.0f} s")
    return [one.stem for one in stale]
