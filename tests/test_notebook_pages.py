"""The pages that `make notebooks` writes: they need no network and no script."""
import copy
import functools
import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

import nbformat
import pytest
from bs4 import BeautifulSoup

from lessons.kit import chapters, notebooks
from lessons.kit.formulas import FormulaError, mathml
from lessons.kit.notebooks import CHAPTERS, to_html, write_documents
from lessons.kit.progress import progress

VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"


class Read(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.fetched, self.links, self.anchors = [], [], [], [], {""}
        self.prose, self.formulas, self.styles, self.title = "", "", "", ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.fetched += [attributes[name] for name in ("src", "srcset", "poster", "xlink:href") if name in attributes]
        self.fetched += [attributes["href"]] if tag != "a" and "href" in attributes else []
        self.links += [attributes["href"]] if tag == "a" and "href" in attributes else []
        self.anchors |= {attributes["id"]} if "id" in attributes else set()
        self.open += [tag] if tag in ("math", "style", "pre", "code", "title") else []

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, text):
        if "style" in self.open:
            self.styles += text
        elif "title" in self.open:
            self.title += text
        elif "math" in self.open:
            self.formulas += text
        elif not self.open:
            self.prose += text


@functools.cache
def page_of(chapter):
    """The page of a chapter that was not executed. Chapter 0 has the one output with links: the course's map."""
    notebook = nbformat.read(chapter, as_version=4)
    for cell in notebook.cells:
        if cell.id == "course":
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": progress()._repr_html_()})]
    return Read(to_html(notebook))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """{where `make notebooks` writes a page: what a browser finds in it}."""
    folder = tmp_path_factory.mktemp("site")
    write_documents(folder)
    documents = {path: Read(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    return documents | {folder / "notebooks" / one.place.replace(".ipynb", ".html"): page_of(one.notebook)
                        for one in chapters.CHAPTERS}


def dead_links(page, site):
    """The links of a page of the site that lead nowhere: to no page of the site, or to no place in it."""
    dead = []
    for link in site[page].links:
        parts = urlsplit(link)
        target = (page.parent / parts.path).resolve() if parts.path else page
        if not parts.scheme and (target not in site or parts.fragment not in site[target].anchors):
            dead.append(link)
    return dead


def test_every_link_of_every_page_leads_to_a_page_or_to_the_internet(site):
    assert {page.name: dead for page in site if (dead := dead_links(page, site))} == {}
    links = [link for page in site.values() for link in page.links]
    assert all(link.startswith(("https://", "#")) or ".html" in link for link in links)
    assert links.count("09_head_start.html") >= 2, "the course's map and chapter 8 link to it"


def test_make_notebooks_writes_the_pages_there(site, tmp_path, monkeypatch):
    """Nothing is executed here."""
    monkeypatch.setattr(notebooks, "CHAPTERS", CHAPTERS[:1])
    monkeypatch.setattr(notebooks, "execute", lambda chapter, output, **options: nbformat.read(chapter, as_version=4))
    assert notebooks.main(["--out", str(tmp_path)]) == 0
    root = next(page for page in site if page.name == "CLAIMS.html").parent
    expected = {page.relative_to(root) for page in site if page.stem not in [path.stem for path in CHAPTERS[1:]]}
    assert {page.relative_to(tmp_path) for page in tmp_path.rglob("*.html")} == expected


def test_single_chapters_can_be_made(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(notebooks, "write_documents", lambda folder: None)
    monkeypatch.setattr(notebooks, "execute", lambda chapter, output, **options: nbformat.v4.new_notebook())
    assert notebooks.main(["06_gradients", "--out", str(tmp_path)]) == 0
    assert [page.name for page in tmp_path.rglob("*.html")] == ["06_gradients.html"]
    with pytest.raises(SystemExit):
        notebooks.main(["6"])
    assert "there is no chapter '6'" in capsys.readouterr().err


@pytest.mark.parametrize("source, link", [
    ("[there](../docs/none.md)", "../docs/none.html"), ("[there](#Nowhere)", "#Nowhere"),
    ("[there](12_text.ipynb#Here)", "12_text.html#Here")])
def test_a_dead_link_is_noticed(source, link, tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(source)])
    page = tmp_path / "page.html"
    assert dead_links(page, {page: Read(to_html(notebook))}) == [link]


def test_links_to_other_sites_and_code_stay_as_they_are():
    text = "[a notebook](https://github.com/who/what/x.ipynb) and `<a href=\"x.ipynb\">`"
    page = to_html(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]))
    assert "https://github.com/who/what/x.ipynb" in Read(page).links and "x.html" not in page


def test_a_page_has_its_first_headings_title(site):
    titles = {page.name: read.title for page, read in site.items()}
    assert titles["00_start_here.html"] == "0 · Start here" and titles["glossary.html"] == "Glossary"
    assert len(set(titles.values())) == len(site) == len(chapters.CHAPTERS) + len(notebooks.DOCUMENTS)
    heading = nbformat.v4.new_markdown_cell("Some words\n\n## <script>alert(1)</script> & more")
    assert "<script>" not in to_html(nbformat.v4.new_notebook(cells=[heading])).partition("</title>")[0]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_chapters_page_fetches_nothing_and_shows_every_formula(chapter):
    notebook = nbformat.read(chapter, as_version=4)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    formulas = re.findall(r"\$\$.+?\$\$|\$[^$]+\$", prose, re.DOTALL)
    page = page_of(chapter)
    assert formulas and page.tags.count("math") == len(formulas)
    assert "$" not in page.prose and "\\" not in page.formulas
    assert "script" not in page.tags
    assert not [address for address in page.fetched if not address.startswith("data:")]
    assert not re.findall(r"@import|url\((?!['\"]?data:)", page.styles)


def test_a_page_shows_widgets_as_their_stills_and_no_progress_bar():
    still = {VIEW: {"model_id": "1"}, "text/html": "<figure>the panel, still</figure>", "text/plain": "Panel()"}
    bar = {VIEW: {"model_id": "2"}, "text/plain": "  0%|          | 0/9 [00:00<?, ?epoch/s]"}
    state = {"state": {}, "version_major": 2, "version_minor": 0}
    notebook = nbformat.v4.new_notebook(metadata={"widgets": {STATE: state}})
    outputs = [nbformat.v4.new_output("display_data", data) for data in (still, bar)]
    notebook.cells = [nbformat.v4.new_code_cell("panel", outputs=outputs)]
    before = copy.deepcopy(notebook)
    page = to_html(notebook)
    assert "the panel, still" in page and "0/9" not in page
    assert "script" not in Read(page).tags
    assert notebook == before


def test_code_that_a_notebook_folds_is_folded_on_its_page():
    cells = [nbformat.v4.new_code_cell("1 + 1", metadata={"jupyter": {"source_hidden": True}}),
             nbformat.v4.new_code_cell("2 + 2")]
    page = BeautifulSoup(to_html(nbformat.v4.new_notebook(cells=cells)), "html.parser")
    folded, = page.select("details.folded-code")
    assert not folded.has_attr("open") and "1+1" in folded.text.replace(" ", "")
    assert "2+2" not in folded.text.replace(" ", "") and "2+2" in page.text.replace(" ", "")


def test_a_prime_is_text_since_fonts_disagree_about_its_height():
    assert mathml("k'+1") == "<math><mrow><mi>k</mi><mtext>′</mtext></mrow><mo>+</mo><mn>1</mn></math>"


def test_a_large_bracket_with_an_index_stays_large():
    bracket = '<mo minsize="1.2em" maxsize="1.2em">)</mo>'
    index = '<msup><mspace height="0.85em" depth="0.35em" /><mn>2</mn></msup>'
    assert f"<mrow>{bracket}{index}</mrow>" in mathml(r"\big(k\big)^2")


def test_a_box_is_drawn_by_the_page_and_an_equation_keeps_its_number():
    assert mathml(r"\boxed{x}", display=True) == '<math display="block"><mrow class="boxed"><mi>x</mi></mrow></math>'
    for equation in (r"x . \tag{Eq. 2}", r"\begin{align}x &= y \tag{Eq. 2}\end{align}"):
        assert "<mtext>(Eq. 2)</mtext>" in mathml(equation, display=True)


@pytest.mark.parametrize("formula", [r"\nosuch x", r"\frac12}", "a & b"])
def test_latex_that_cannot_be_shown_is_named(formula):
    with pytest.raises(FormulaError, match=re.escape(repr(formula))):
        mathml(formula)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"Here is ${formula}$.")])
    with pytest.raises(FormulaError, match=re.escape(repr(formula))):
        to_html(notebook)
