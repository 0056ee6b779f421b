"""Running the chapters without a person: papermill, and what papermill does not notice.

`python -m lessons.notebooks` executes all chapters and writes an HTML page beside each (`make notebooks`).
"""
import argparse
import sys
import time
from pathlib import Path

import nbformat
import papermill
from tqdm import tqdm

CHAPTERS = sorted((Path(__file__).parent.parent / "notebooks").glob("[0-9]*.ipynb"))
_BUDGETS = {"02_linearity_resnet": {"quick": 90, "full": 1500}, "03_averaging": {"quick": 30, "full": 300},
            "04_task_arithmetic": {"quick": 30, "full": 900}, "05_pretraining": {"quick": 30, "full": 900},
            "06_gradients": {"quick": 30, "full": 300}, "07_interference": {"quick": 30, "full": 2400}, "08_cart": {"quick": 90, "full": 2400}}
PROFILES = ("quick", "full")


def budget_seconds(chapter: str, profile: str) -> int:
    """How long a chapter may take on two cores with nothing cached."""
    return _BUDGETS.get(chapter, {"quick": 30, "full": 60})[profile]


class NotebookError(Exception):
    """A notebook did not run as it should."""


def execute(notebook: Path, output: Path, timeout: int | None = None, **parameters) -> nbformat.NotebookNode:
    """Run a notebook from top to bottom with papermill and return what it became; it is also written to `output`.

    Args:
        notebook: the chapter.
        output: where the executed notebook goes, also when a cell failed. It is written once, at the end: papermill would write it before and
            after every cell, which takes seconds.
        timeout: seconds for one cell; None for ten minutes or, where that is more, six times the chapter's budget: a machine without units for
            bfloat16 takes three times as long as the budgets say.
        parameters: values for the cell tagged "parameters".

    Raises:
        NotebookError: a parameter that the notebook does not have, no cell tagged "parameters", or an error that a widget hid.
        papermill.PapermillExecutionError: a cell failed.
    """
    known = papermill.inspect_notebook(str(notebook))
    if not known:
        raise NotebookError(f"{notebook.name} has no cell tagged \"parameters\"")
    if unknown := parameters.keys() - known.keys():
        raise NotebookError(f"{notebook.name} has no parameter {', '.join(map(repr, sorted(unknown)))}; it has: {', '.join(known)}")
    if timeout is None:
        timeout = max(600, 6 * budget_seconds(notebook.stem, parameters.get("profile", "quick")))
    papermill.execute_notebook(str(notebook), str(output), parameters, kernel_name="python3", progress_bar=False, cwd=str(notebook.parent),
                               request_save_on_cell_execute=False, execution_timeout=timeout, log_output=False)
    executed = nbformat.read(output, as_version=4)
    if errors := hidden_errors(executed):
        raise NotebookError(f"{notebook.name}: a widget hid an error:\n" + "\n".join(errors))
    return executed


def hidden_errors(notebook: nbformat.NotebookNode) -> list[str]:
    """Errors that no cell shows: in a panel's picture, or in an Output widget."""
    states = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    found = []
    for widget in states.values():
        state = widget.get("state", {})
        if state.get("_esm") and state.get("error"):
            found.append(state["error"])
        found += ["\n".join(output.get("traceback", [])) or output.get("evalue", "an error") for output in state.get("outputs", [])
                  if output.get("output_type") == "error"]
    return found


def to_html(notebook: nbformat.NotebookNode) -> str:
    """The executed notebook as a page that needs no network: widgets are shown as the still pictures they carry."""
    from nbconvert import HTMLExporter
    from traitlets.config import Config
    order = ["text/html", "text/markdown", "image/svg+xml", "image/png", "text/latex", "text/plain"]
    exporter = HTMLExporter(config=Config({"NbConvertBase": {"display_data_priority": order}}))
    return exporter.from_notebook_node(notebook)[0]


def main(arguments=None) -> int:
    """Execute all chapters and write NAME.ipynb and NAME.html for each."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/notebooks"))
    parser.add_argument("--profile", default="quick", choices=PROFILES)
    parser.add_argument("--solved", action="store_true")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for notebook in (bar := tqdm(CHAPTERS, unit="chapter")):
        bar.set_description(notebook.stem)
        start = time.perf_counter()
        executed = execute(notebook, options.out / notebook.name, profile=options.profile, solved=options.solved)
        (options.out / f"{notebook.stem}.html").write_text(to_html(executed), encoding="utf-8")
        tqdm.write(f"{notebook.stem}: {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
