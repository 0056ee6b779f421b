"""Every link of notebooks, README and documents leads somewhere, where `make lab` serves them and on a host of code."""
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from lessons.kit.chapters import CHAPTERS, ROOT
from lessons.kit.progress import progress
from tools import lab

NOTEBOOKS = [chapter.notebook for chapter in CHAPTERS]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


class Links(HTMLParser):
    """Addresses of the links and pictures in a piece of HTML."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src")]


def prose_of(path):
    """The Markdown of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells if cell.cell_type == "markdown")


def links_of(prose):
    """Where a piece of Markdown links to; links from a heading to itself are the renderer's own."""
    prose = re.sub(r"^#+ ", "", prose, flags=re.MULTILINE)
    return Links(markdown2html_mistune(prose)).found


def anchors_of(path):
    """The places in a file to which a link may point: its headings, as JupyterLab calls them."""
    return {"", *(heading.replace(" ", "-") for heading in re.findall(r"^#+ +(.+?) *$", prose_of(path), re.MULTILINE))}


def dead_links(place, links, root):
    """Those of a page's links that lead nowhere: out of the folder that is served, to no file, or to no place in it."""
    dead = []
    for link in links:
        parts = urlsplit(link)
        path, fragment = unquote(parts.path), unquote(parts.fragment)
        target = (place.parent / path).resolve() if path else place
        if parts.scheme == "https":
            continue
        if not (target.is_relative_to(root) and target.exists() and (not fragment or fragment in anchors_of(target))):
            dead.append(link)
    return dead


@pytest.fixture(scope="module")
def served():
    """The folder that `make lab` serves."""
    option, = (option for option in lab.options(ROOT) if option.startswith("--ServerApp.root_dir="))
    return Path(option.partition("=")[2])


@pytest.mark.parametrize("path", [*NOTEBOOKS, *DOCUMENTS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_that_jupyterlab_serves(path, served):
    assert dead_links(path, links_of(prose_of(path)), served) == []


def test_the_map_of_the_course_links_to_every_chapter(served):
    links = Links(progress()._repr_html_()).found
    assert links == [chapter.place for chapter in CHAPTERS]
    assert dead_links(NOTEBOOKS[0], links, served) == []


def test_every_chapter_links_to_others_and_the_readme_to_all():
    for notebook in NOTEBOOKS:
        assert any(not urlsplit(link).scheme for link in links_of(prose_of(notebook))), notebook.name
    readme = links_of(prose_of(ROOT / "README.md"))
    assert {f"notebooks/{chapter.place}" for chapter in CHAPTERS} < set(readme)


@pytest.mark.parametrize("link", ["../docs/none.md", "../../outside.md", "#Nowhere", "01_linearity.ipynb#Nowhere"])
def test_a_dead_link_is_noticed(link):
    assert dead_links(NOTEBOOKS[0], links_of(f"See [there]({link})."), ROOT) == [link]


def test_where_notebooks_alone_are_served_the_glossary_is_dead():
    """As it was once."""
    assert "../docs/glossary.md" in dead_links(NOTEBOOKS[0], links_of(prose_of(NOTEBOOKS[0])), ROOT / "notebooks")


def test_a_link_to_a_heading_is_found():
    assert dead_links(NOTEBOOKS[0], ["#Symbols", "01_linearity.ipynb"], ROOT) == []
