"""Slides of the lessons: `python -m tools.slides` (`make slides`) writes build/slides/NAME.html for every lesson, or
for those that it is given. They need no network.

A cell is a slide if its metadata say so: in JupyterLab, Property Inspector, Slide Type "Slide". A cell of another type
("Sub-Slide", "Fragment", "-") goes on the slide before it, "Notes" and all other text become the speaker's notes, which
the key S opens, and "Skip" leaves a cell out. A panel is shown as the still picture that its cell carries.
"""
import re
import shutil
from pathlib import Path

import nbformat
from nbconvert import SlidesExporter
from nbconvert.filters.markdown_mistune import MarkdownWithMath
from traitlets.config import Config

from lessons.kit import chapters, notebooks
from tools.lessons import for_each_lesson

FOLDER = chapters.ROOT / "build/slides"
_REVEAL = Path(__file__).parent / "reveal"  # reveal.js 4.6.1, https://revealjs.com, MIT; the theme is ours
_SIZE = {"reveal_width": "1280", "reveal_height": "720"}
# nbconvert's slides without what they fetch: require.js, jQuery, the widgets' manager, MathJax and mermaid
_PAGE = """
{%- extends "reveal/index.html.j2" -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block jupyter_widgets -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block input -%}
{%- if not cell.metadata.get("jupyter", {}).get("source_hidden") -%}{{ super() }}{%- endif -%}
{%- endblock -%}
{%- block footer_js -%}
<script src="{{ reveal_url_prefix }}/dist/reveal.js"></script>
<script src="{{ reveal_url_prefix }}/plugin/notes/notes.js"></script>
<script>Reveal.initialize({width: {{ reveal_width }}, height: {{ reveal_height }}, center: false, hash: true,
                           controls: true, slideNumber: true, transition: "none", plugins: [RevealNotes]});</script>
{%- endblock -%}
"""
_SLIDE, _ON, _NOTES, _SKIP = "slide", "-", "notes", "skip"
_ASIDE = ("**About ", "**In practice", "**Where it comes from", "**Next")  # paragraphs that are for the notes
_HEADING = re.compile(r"^##? +(.+?)(?: \(\d+ minutes?\b[^)]*\))? *$", re.MULTILINE)


def deck(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The slides of an executed lesson, as a notebook whose cells have slide types.

    A slide that has no heading gets that of its section. Text between a heading and the first slide of its section
    belongs to this slide's notes, other text to the notes of the slide before it. So do paragraphs on practice, sources
    and what is next.
    """
    slides, heading, before = [], "", []
    for cell in notebook.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type")
        text = cell.cell_type == "markdown"
        titles = _HEADING.findall(cell.source) if text else []
        if titles:
            heading, before = titles[-1], []
        if kind == _SLIDE:
            slides.append(([*_headed(cell, heading)], [*before, *_asides(cell)]))
            before = []
        elif kind in (_ON, "subslide", "fragment") and slides:
            slides[-1][0].append(cell)
        elif text and kind != _SKIP:
            (before if titles or before or not slides else slides[-1][1]).append(cell.source)
    whole = nbformat.v4.new_notebook(metadata=notebook.metadata)
    for cells, notes in slides:
        types = [_SLIDE] + [_ON] * (len(cells) - 1)
        whole.cells += [_typed(cell, kind) for cell, kind in zip(cells, types)]
        if notes:
            whole.cells.append(_typed(nbformat.v4.new_markdown_cell("\n\n".join(notes)), _NOTES))
    return whole


def _headed(cell, heading):
    """The cell, and before it the heading of its section if it has none."""
    if cell.cell_type == "code" or not _HEADING.search(cell.source):
        yield nbformat.v4.new_markdown_cell(f"## {heading}")
    yield cell


def _asides(cell):
    return [part for part in cell.source.split("\n\n") if cell.cell_type == "markdown" and part.startswith(_ASIDE)]


def _typed(cell, kind):
    """A copy of the cell with this slide type, without the minutes of a heading, without asides, and without code and
    printed lines above a picture."""
    cell = nbformat.from_dict(cell)
    cell.metadata = {**cell.metadata, "slideshow": {"slide_type": kind}}
    shown = "".join(output.get("data", {}).get("text/html", "") for output in cell.get("outputs", []))
    if "<img" in shown or "<svg" in shown:
        cell.metadata["jupyter"] = {"source_hidden": True}
        cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
    if cell.cell_type == "markdown" and kind != _NOTES:
        source = re.sub(r"^(#+ .*?) \(\d+ minutes?\b[^)]*\) *$", r"\1", cell.source, flags=re.MULTILINE)
        cell.source = "\n\n".join(part for part in source.split("\n\n") if not part.startswith(_ASIDE))
    return cell


def to_slides(notebook: nbformat.NotebookNode) -> str:
    """The page of a lesson's slides. It needs the folder `reveal` beside it.

    Raises:
        ValueError: no cell of the notebook is a slide.
    """
    slides = deck(notebook)
    if not slides.cells:
        raise ValueError("no cell of this notebook is a slide: give some the slide type “Slide”")
    exporter = SlidesExporter(config=Config({"NbConvertBase": {"display_data_priority": notebooks.SHOWN}}),
                              raw_template=_PAGE, reveal_url_prefix="reveal", reveal_theme="weightspace", **_SIZE)
    markdown = MarkdownWithMath(renderer=notebooks.Renderer(escape=False))
    exporter.register_filter("markdown2html", markdown.render)
    resources = {"metadata": {"name": notebooks.title(notebook)}}
    page, _ = exporter.from_notebook_node(notebooks.still(slides), resources)
    return page


def write(name: str, notebook: nbformat.NotebookNode, folder: Path) -> Path:
    """Write the slides of an executed lesson, and what they need beside them."""
    shutil.copytree(_REVEAL, folder / "reveal", dirs_exist_ok=True)
    path = folder / f"{name}.html"
    path.write_text(to_slides(notebook), encoding="utf-8")
    return path


def main(arguments: list[str] | None = None) -> None:
    """Execute lessons and write their slides."""
    for_each_lesson("slides", main.__doc__, FOLDER, write, arguments)
