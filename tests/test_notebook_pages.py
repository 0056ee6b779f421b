"""The pages that `make notebooks` writes: they need no network and no script."""
import copy
import re
from html.parser import HTMLParser

import nbformat
import pytest

from lessons.kit.notebooks import CHAPTERS, NotebookError, mathml, to_html

VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"


class Read(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.fetched = [], [], []
        self.prose, self.formulas, self.styles = "", "", ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.fetched += [attributes[name] for name in ("src", "srcset", "poster", "xlink:href") if name in attributes]
        self.fetched += [attributes["href"]] if tag != "a" and "href" in attributes else []
        self.open += [tag] if tag in ("math", "style", "pre", "code") else []

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, text):
        if "style" in self.open:
            self.styles += text
        elif "math" in self.open:
            self.formulas += text
        elif not self.open:
            self.prose += text


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_chapters_page_fetches_nothing_and_shows_every_formula(chapter):
    notebook = nbformat.read(chapter, as_version=4)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    formulas = re.findall(r"\$\$.+?\$\$|\$[^$]+\$", prose, re.DOTALL)
    page = Read(to_html(notebook))
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
    with pytest.raises(NotebookError, match=re.escape(repr(formula))):
        mathml(formula)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"Here is ${formula}$.")])
    with pytest.raises(NotebookError, match=re.escape(repr(formula))):
        to_html(notebook)
