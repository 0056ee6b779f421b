"""Running the chapters without a person: papermill, and what papermill does not notice.

`python -m lessons.kit.notebooks` executes all chapters, or those that it is given, and writes an HTML page beside each,
with pages of what they link to (`make notebooks`).
"""
import argparse
import contextlib
import copy
import html
import os
import re
import sys
import time
from pathlib import Path

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from tqdm import tqdm
from traitlets.config import Config

from lessons.kit import chapters
from lessons.kit.formulas import FormulaError, mathml

CHAPTERS = [chapter.notebook for chapter in chapters.CHAPTERS]
PROFILES = ("quick", "full")
# what the chapters link to, besides each other, and the pages to which the index of claims leads
DOCUMENTS = ("CLAIMS.md", "docs/glossary.md", "docs/which-method.md",
             *(f"docs/claims/{path.name}" for path in sorted((chapters.ROOT / "docs" / "claims").glob("*.md"))))
# A kernel warns that it talks to this process without encryption. Both are on this machine.
_QUIET = ["--IPKernelApp.log_level=ERROR"]


def budget(chapter: str, profile: str) -> int:
    """How long a chapter may take with nothing kept, in epochs of chapter 1's MLP (see `chapters.Chapter`); of another
    notebook what most chapters may."""
    known = {one.stem: one for one in chapters.CHAPTERS}
    return getattr(known.get(chapter, chapters.Chapter), profile)


_BUSY = 120  # seconds for a cell's output to come after the cell: on a busy machine the usual four are too few


class NotebookError(Exception):
    """A notebook did not run as it should."""


def execute(notebook: Path, output: Path, timeout: int | None = None, last: str = "",
            **parameters) -> nbformat.NotebookNode:
    """Run a notebook from top to bottom with papermill and return what it became; it is also written to `output`.

    Args:
        notebook: the chapter.
        output: where the executed notebook goes, also when a cell failed. It is written once, at the end: papermill
            would write it before and after every cell, which takes seconds.
        timeout: seconds for one cell; None for ten minutes or, where that is more, six times the chapter's budget: a
            machine without units for bfloat16 takes three times as long as the budgets say.
        last: code that is run behind the last cell; what is written and returned does not have it.
        parameters: values for the cell tagged "parameters".

    Raises:
        NotebookError: a parameter that the notebook does not have, no cell tagged "parameters", an error that a widget
        hid, a cell that took too long, or a kernel that died. papermill.PapermillExecutionError: a cell failed.
    """
    known = papermill.inspect_notebook(str(notebook))
    if not known:
        raise NotebookError(f"{notebook.name} has no cell tagged \"parameters\"")
    if unknown := parameters.keys() - known.keys():
        names = ", ".join(map(repr, sorted(unknown)))
        raise NotebookError(f"{notebook.name} has no parameter {names}; it has: {', '.join(known)}")
    if timeout is None:
        timeout = max(600, 10 * budget(notebook.stem, parameters.get("profile", "quick")))
    source = nbformat.read(notebook, as_version=4)
    if last:
        source.cells.append(nbformat.v4.new_code_cell(last))
    try:
        with _without_diary():
            papermill.execute_notebook(source, str(output), parameters, kernel_name="python3", progress_bar=False,
                                       cwd=str(notebook.parent), request_save_on_cell_execute=False,
                                       execution_timeout=timeout, iopub_timeout=_BUSY, log_output=False,
                                       extra_arguments=_QUIET)
    except (CellTimeoutError, DeadKernelError) as error:
        raise NotebookError(f"{notebook.name}: {error}") from error
    executed = nbformat.read(output, as_version=4)
    if last:
        executed.cells.pop()
        nbformat.write(executed, output)
    if errors := hidden_errors(executed):
        raise NotebookError(f"{notebook.name}: a widget hid an error:\n" + "\n".join(errors))
    return executed


@contextlib.contextmanager
def _without_diary():
    """Kernels that are started inside keep no diary, since no learner sits before them."""
    before = os.environ.get("WEIGHTSPACE_DIARY")
    os.environ["WEIGHTSPACE_DIARY"] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ["WEIGHTSPACE_DIARY"]
        else:
            os.environ["WEIGHTSPACE_DIARY"] = before


def hidden_errors(notebook: nbformat.NotebookNode) -> list[str]:
    """Errors that no cell shows, because an Output widget took them."""
    states = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    errors = []
    for widget in states.values():
        for output in widget.get("state", {}).get("outputs", []):
            if output.get("output_type") == "error":
                errors.append("\n".join(output.get("traceback", [])) or output.get("evalue", "an error"))
    return errors


# of a cell's output a page takes the first that is there
SHOWN = ["text/html", "image/svg+xml", "image/png", "text/plain"]
_VIEW = "application/vnd.jupyter.widget-view+json"
# nbconvert's page without what it fetches: require.js, the widgets' manager, MathJax and mermaid.
# Of the fonts the first that is there is taken; macOS, Windows and most Linuxes have one that can draw formulas.
_PAGE = """
{%- extends "lab/index.html.j2" -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block jupyter_widgets -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block input -%}
{%- if cell.metadata.get("jupyter", {}).get("source_hidden") -%}
<details class="folded-code"><summary>Code</summary>{{ super() }}</details>
{%- else -%}{{ super() }}{%- endif -%}
{%- endblock -%}
{%- block html_head_css -%}
<style>
math { font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", "DejaVu Math TeX Gyre", math; }
math mtext { font-family: serif; }
math .boxed { border: 1px solid; padding: 0.5em; }
.folded-code > summary { color: #595959; font-size: 0.85em; cursor: pointer; }
.jp-Notebook pre { white-space: pre-wrap; overflow-wrap: anywhere; }
</style>
{%- endblock -%}
"""


class Renderer(IPythonRenderer):
    """Markdown with its formulas as MathML."""

    def inline_math(self, body):
        return mathml(body)

    def block_math(self, body):
        return mathml(body, display=True)

    def latex_environment(self, name, body):
        return mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", display=True)


class _Shown(Renderer):
    """Markdown that a cell shows, such as a card that came with a file. Nobody here wrote it: its HTML is shown as text
    and its images as their words, its links lead to no script, and a formula that has no MathML stays LaTeX.
    """

    def __init__(self):
        super().__init__(escape=True, allow_harmful_protocols=False)

    def text(self, text):
        return html.escape(html.unescape(text))

    def image(self, text, url, title=None):
        return text

    def block_mermaidjs(self, code):
        return self.block_code(code)

    def inline_math(self, body):
        return self._formula(body, "$")

    def block_math(self, body):
        return self._formula(body, "$$")

    def latex_environment(self, name, body):
        return self._formula(rf"\begin{{{name}}}{body}\end{{{name}}}", "")

    def _formula(self, formula, sign):
        try:
            return mathml(formula, display=sign != "$")
        except FormulaError:
            return html.escape(f"{sign}{formula}{sign}")


# Links to other places than files beside the page have a colon: https://…
_LINK = re.compile(r'(<a\b[^>]*?\bhref="[^":#]+)\.(?:ipynb|md)(?=["#])')


def to_html(notebook: nbformat.NotebookNode) -> str:
    """The notebook as a page without network or script: formulas are MathML, widgets the still pictures they carry,
    and Markdown that a cell shows can run nothing.

    Its title is the notebook's first heading. Where the notebook links to another notebook or to a Markdown file, the
    page links to the page NAME.html in the same place.

    Raises:
        FormulaError: a formula cannot be shown.
    """
    exporter = HTMLExporter(config=Config({"NbConvertBase": {"display_data_priority": SHOWN}}), raw_template=_PAGE)
    markdown = MarkdownWithMath(renderer=Renderer(escape=False))
    exporter.register_filter("markdown2html", markdown.render)
    resources = {"metadata": {"name": title(notebook)}}
    page, _ = exporter.from_notebook_node(still(notebook), resources)
    return _LINK.sub(r"\1.html", page)


def document(text: str) -> str:
    """A Markdown file as a page in the chapters' dress.

    Args:
        text: what stands in the file.

    Raises:
        FormulaError: a formula cannot be shown.
    """
    return to_html(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]))


def title(notebook: nbformat.NotebookNode) -> str:
    """The first heading."""
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = re.search(r"^#+ +(.+?) *$", prose, re.MULTILINE)
    return heading[1] if heading else "Weightspace"


def still(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy without what only a widget's script can show: its state, and progress bars, whose text stays at 0 %.
    Markdown that a cell shows is HTML in it, and harmless.
    """
    shown = copy.deepcopy(notebook)
    shown.metadata.pop("widgets", None)
    for cell in shown.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs
                            if _VIEW not in output.get("data", {}) or "text/html" in output.data]
            for data in (output.data for output in cell.outputs if "text/markdown" in output.get("data", {})):
                data.setdefault("text/html", MarkdownWithMath(renderer=_Shown()).render(data["text/markdown"]))
    return shown


def write_documents(out: Path) -> None:
    """Write pages of the documents that the chapters link to, where links from `out`/notebooks find them."""
    for name in DOCUMENTS:
        page = (out / name).with_suffix(".html")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(document((chapters.ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")


def main(arguments=None) -> int:
    """Execute chapters and write notebooks/NAME.ipynb and notebooks/NAME.html for each, and the pages that they
    link to."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="such as 06_gradients; none: all of them")
    parser.add_argument("--out", type=Path, default=Path("build"), help="the folder for notebooks/ and docs/")
    parser.add_argument("--profile", default="quick", choices=PROFILES)
    parser.add_argument("--solved", action="store_true")
    options = parser.parse_args(arguments)
    try:
        chosen = [chapters.chapter(name).notebook for name in options.chapters] or CHAPTERS
    except ValueError as error:
        parser.error(str(error))
    write_documents(options.out)
    folder = options.out / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in (bar := tqdm(chosen, unit="chapter")):
        bar.set_description(notebook.stem)
        start = time.perf_counter()
        output = folder / notebook.relative_to(chapters.ROOT / "notebooks")
        output.parent.mkdir(exist_ok=True)
        executed = execute(notebook, output, profile=options.profile, solved=options.solved)
        output.with_suffix(".html").write_text(to_html(executed), encoding="utf-8")
        tqdm.write(f"{notebook.stem}: {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
