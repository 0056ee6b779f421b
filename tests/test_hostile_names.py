"""Names from files, folders and paths never become elements of a page: quick, without a browser."""
import html
import json
import re

import nbformat
import pytest

from lessons.kit import notebooks
from lessons.kit.page import Markup, Page, folded, paragraph, plain, reading, said, table
from lessons.kit.predict import predict
from tests import hostile


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the cells of `hostile` know after the first of them."""
    return hostile.environment(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def shown(names, monkeypatch):
    """shown(expression) -> {MIME type: text} that a cell with it shows."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", names["DATA"])

    def shown(expression):
        thing = eval(expression, names)
        if type(thing).__name__ == "Markdown":
            return {"text/markdown": thing.data}
        if hasattr(thing, "_repr_html_"):
            return {"text/html": thing._repr_html_()}
        return {"text/html": thing._repr_mimebundle_()["text/html"]}
    return shown


@pytest.mark.parametrize("expression", hostile.SHOWN, ids=lambda text: text.split("(")[0] + str(len(text)))
@pytest.mark.fault("pages", "Names of tensors, files and folders are HTML with scripts",
                   answers="They are text in every output of a cell")
def test_no_name_becomes_an_element(shown, expression, tmp_path, names):
    names["OUT"] = str(tmp_path / hostile.evil("out"))
    output = nbformat.v4.new_output("display_data", shown(expression))
    page = notebooks.to_html(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])]))
    if "text/html" in output.data:
        assert hostile.Hostile(output.data["text/html"]).found == []
    assert hostile.Hostile(page).found == []
    assert "canary" in html.unescape(page) or "reading_of_regime" in expression, "the name is not shown at all"


def test_the_card_shows_names_as_they_are_written_one_row_a_file(shown, tmp_path, names):
    names["OUT"] = str(tmp_path / hostile.evil("out"))
    (text,) = shown(next(code for code in hostile.SHOWN if "card_of" in code)).values()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "canary" in line]
    assert len(rows) == 3 and all(line.count("|") == 5 for line in rows)
    assert not re.search(r"[<>$]|\]\(", text) and "# $" not in text
    assert hostile.evil("cola") in html.unescape(text)


@pytest.mark.fault("pages", "The same names come into the card of a merged model",
                   answers="The card has no HTML, links or formulas of them")
def test_the_cards_file_has_no_html_links_or_formulas_of_names(names, tmp_path):
    """Whoever publishes it has it read by other pages, which may not escape it."""
    writing, tasks = names["writing"], [names["TENSOR"], names["TASK"]]
    folder = writing.merge(tmp_path / "merged", "ties", names["base"], names["tuned"], tasks, density=0.2)
    text = (folder / writing.CARD).read_text(encoding="utf-8")
    assert not re.search(r"[<>$]|\]\(", text) and hostile.TENSOR in html.unescape(text)


@pytest.mark.fault("pages", "A card that somebody else wrote is shown",
                   answers="It is shown without its HTML, links, images and formulas")
def test_a_card_that_somebody_else_wrote_is_shown_without_its_html_links_images_and_formulas(names):
    """JupyterLab shows it as Markdown."""
    text = names["writing"].card_of(names["BASE"])
    assert not re.search(r"[<\[$]", text) and html.unescape(text) == hostile.CARD


def test_markdown_that_a_cell_shows_is_text_and_formulas_in_a_still_page():
    mermaid = f"```mermaid\n{hostile.evil('mermaid')}\n```"
    text = f"{hostile.CARD}\n\n{mermaid}\n\n![x](attachment:x) **bold** &lt;i&gt; $x_1$ $\\frac$ `a<b`\n\n$$\\frac$$"
    output = nbformat.v4.new_output("display_data", {"text/markdown": text})
    page = notebooks.to_html(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])]))
    assert hostile.Hostile(page).found == []
    assert "<strong>bold</strong> &lt;i&gt; <math><msub>" in page and r"$\frac$ <code>a&lt;b</code>" in page
    assert r"$$\frac$$" in page and hostile.evil("card") in html.unescape(page)


@pytest.mark.fault("pages", "The same names come into a panel that is saved as a page",
                   answers="The page can be read, and no script runs")
def test_an_exported_view_holds_frames_that_a_page_can_read(names, tmp_path):
    page = names["own"].by_layer(names["looked"]).save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert hostile.Hostile(page).found == []
    state = re.search(r'<script type="application/json" id="state">(.*?)</script>', page, re.S)[1]
    assert not set(state) & set("<>&")
    frames = json.loads(state)["frames"]["frames"].values()
    assert len(frames) > 1 and all("<!--<script>" in frame["alt"] for frame in frames)


def test_plain_text_is_escaped_and_html_is_not():
    found = table(["a<b", Markup("λ<sub>1</sub>")], [["<i>", Markup("<b>{}</b>").format("<s>")]], before="<p>")
    assert found._repr_html_() == (
        "&lt;p&gt;<table><tr><th style='text-align:left'>a&lt;b</th><th>λ<sub>1</sub></th></tr>"
        "<tr><td style='text-align:left'>&lt;i&gt;</td><td><b>&lt;s&gt;</b></td></tr></table>")
    assert repr(found) == "<i>: λ1 <s>"
    assert Page("x", "<b>")._repr_html_() == "&lt;b&gt;" and Page(Markup("<b>1 &lt; 2</b>"), "").text == "1 < 2"
    assert reading("<?", "{n:.1f} <", n=1)._repr_html_() == "<p><b>&lt;?</b> 1.0 &lt;</p>"
    marked = said(Markup("<b>{n:.1f}</b>\n  {name}"), n=1, name="<i>")
    assert isinstance(marked, Markup) and marked == "<b>1.0</b> &lt;i&gt;"
    assert not isinstance(said("{name}", name=Markup("<i>")), Markup)
    assert folded("<i>", Page("", paragraph("<")))._repr_html_() == (
        "<details><summary>&lt;i&gt;</summary><p>&lt;</p></details>")
    assert plain("<b>") == "<b>" and plain(Markup("<b>x</b>")) == "x"


def test_two_stars_make_a_question_bold_and_nothing_else_is_html():
    page = predict("Which share of **both <i>** at α * β?")._repr_html_()
    assert page == "<p><b>Your prediction.</b> Which share of <b>both &lt;i&gt;</b> at α * β?</p>"
