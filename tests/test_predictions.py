"""What tells the answer of a prediction waits for the guess: in JupyterLab, where the page does not have it before,
and folded in a saved notebook, where no kernel can tell whether a guess was made."""
import ast
import json
import math
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
import torch

from lessons.kit import chapters, plotting
from lessons.kit.chapters import CHAPTERS
from lessons.kit.notebooks import to_html
from lessons.kit.page import Markup, Page, folded
from lessons.kit.predict import FOLDED, predict, veil
from lessons.linearity.experiment import mlp
from lessons.linearity.panels import lines

VIEW = "application/vnd.jupyter.widget-view+json"


class Open(HTMLParser):
    """What a reader of a page sees before opening anything, alternative texts included."""

    def __init__(self, page):
        super().__init__()
        self.seen, self._closed, self._summary = "", 0, False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "details":
            assert "open" not in attributes
            self._closed += 1
        self._summary = tag == "summary"
        self.handle_data(attributes.get("alt") or "")

    def handle_endtag(self, tag):
        self._closed -= tag == "details"
        self._summary = False

    def handle_data(self, text):
        if not self._closed or self._closed == 1 and self._summary:
            self.seen += text


def a_reading():
    return Page("measured: 0.74", Markup("<p>measured: <b>0.74</b></p>"))


def test_a_reading_is_not_in_the_page_before_the_guess_and_is_there_after_it():
    guess = predict("how much?")
    waiting = veil(guess, a_reading())
    assert "0.74" not in str(waiting.get_state()) and "Make your guess" in waiting.page
    guess.commit(0.5)
    assert waiting.page == "<p>measured: <b>0.74</b></p>"


def test_who_asks_to_see_the_truth_without_a_guess_sees_the_reading_too():
    guess = predict("how much?")
    waiting = veil(guess, a_reading())
    guess.show_anyway()
    assert "0.74" in waiting.page


def test_a_saved_reading_is_folded_and_says_why():
    bundle = veil(predict("how much?"), a_reading())._repr_mimebundle_()
    assert VIEW in bundle and "0.74" in bundle["text/html"] and "0.74" not in bundle["text/plain"]
    assert Open(bundle["text/html"]).seen == FOLDED


def test_a_reading_that_is_shown_after_the_guess_is_open():
    guess = predict("how much?")
    guess.commit(0.5)
    bundle = veil(guess, a_reading())._repr_mimebundle_()
    assert "0.74" in Open(bundle["text/html"]).seen and bundle["text/plain"] == "measured: 0.74"


def test_a_figure_keeps_its_alternative_text_and_what_a_cell_would_print_is_text():
    fig, ax = plotting.figure()
    guess = predict("how much?")
    waiting = veil(guess, plotting.show(fig, "a line at 0.74"), "<b> 0.74", folded("All", a_reading()))
    still = waiting._repr_mimebundle_()["text/html"]
    assert 'alt="a line at 0.74"' in still and "&lt;b&gt; 0.74" in still and "0.74" not in Open(still).seen
    guess.commit(0.5)
    assert 'alt="a line at 0.74"' in waiting.page and "<pre>&lt;b&gt; 0.74</pre>" in waiting.page


def test_what_cannot_wait_is_refused():
    with pytest.raises(TypeError, match="needs the prediction first.*Page"):
        veil(a_reading(), predict("how much?"))
    with pytest.raises(TypeError, match="text, pages and still figures, not float"):
        veil(predict("how much?"), 0.74)


def test_what_lies_outside_of_a_question_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1, not 2"):
        predict("how much?").commit(2)
    with pytest.raises(ValueError, match="low < high"):
        predict("how much?", low=1, high=0)


@pytest.mark.parametrize("given", ["0.5", math.inf, math.nan, None, [0.5], 0.5j, torch.zeros(2), torch.zeros(99)])
def test_what_is_no_finite_number_is_neither_a_guess_nor_an_end(given):
    guess = predict("how much?")
    with pytest.raises(ValueError, match="the prediction must be a number between 0 and 1, not "):
        guess.commit(given)
    assert guess.hides
    for ends in ({"low": given}, {"high": given}, {"step": given}):
        with pytest.raises(ValueError, match=f"finite numbers low < high.*{next(iter(ends))}="):
            predict("how much?", **ends)


def test_one_number_in_a_tensor_is_a_guess_and_a_guess_is_no_question():
    guess = predict("how much?", np.float32(0), 1)
    guess.commit(torch.tensor(0.5))
    assert guess.committed == 0.5
    with pytest.raises(ValueError, match="needs its question first, as a text, not 0.7. You make your guess in"):
        predict(0.7)


def test_an_executed_notebook_tells_no_answer_before_a_fold_is_opened():
    """With the panel and the reading of chapter 1, whose sweep lies in the repository."""
    sweep = mlp.run("full", 0)
    guess = predict("how large is the gap?", high=0.3)
    shown = [lines.gap_per_layer(sweep, guess), veil(guess, lines.reading_of_the_gap(sweep))]
    outputs = [nbformat.v4.new_output("display_data", one._repr_mimebundle_()) for one in shown]
    cell = nbformat.v4.new_code_cell("guess", outputs=outputs)
    page = to_html(nbformat.v4.new_notebook(cells=[cell]))
    told = str(lines.reading_of_the_gap(sweep))
    assert told in page.replace("&amp;", "&")
    seen = Open(page).seen
    assert seen.count(FOLDED) == 2 and told not in seen and "gap against" not in seen
    assert seen.count("Your prediction. how large is the gap?") == 1, "the view asks, and no widget beside it"


def test_a_guess_of_an_earlier_day_is_where_the_view_begins_and_tells_nothing():
    guess = predict("how large is the gap?", high=0.3)
    guess.before = 0.2
    view = lines.gap_per_layer(mlp.run("full", 0), guess)
    assert view.spec["prediction"]["before"] == 0.2 and view.guess is None and not view.shown and guess.hides
    assert "before" not in lines.gap_per_layer(mlp.run("full", 0), predict("?", high=0.3)).spec["prediction"]


# -- the chapters ----------------------------------------------------------------------------------

NOT_THE_ANSWER = {  # what is shown after a question in the same section and tells something else
    ("00_start_here", "units"): "pictures of weights",
    ("01_linearity", "unit-7"): "pictures of weights",
    ("03_pairs", "counterexample-picture"): "other networks",
    ("04_task_arithmetic", "mine-4-3"): "other sums, with another λ",
    ("14_words", "mine-14-4"): "what choosing costs, not how good CART is",
}


def names_of(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def panel_rooms(cells):
    """The names under which a notebook has modules of panels."""
    found = set()
    for node in (node for cell in cells for node in ast.walk(cell)):
        if isinstance(node, ast.ImportFrom):
            inside = "panels" in node.module
            found |= {name.asname or name.name for name in node.names if inside or name.name == "panels"}
    return found


def told_too_early(notebook):
    """The ids of the cells that show something of the panels after a question, in its section, and do not wait."""
    cells = [(cell, "".join(cell["source"])) for cell in notebook["cells"]]
    code = {cell["id"]: ast.parse(source) for cell, source in cells if cell["cell_type"] == "code"}
    rooms, guesses, asked, early = panel_rooms(code.values()), set(), set(), []
    for cell, source in cells:
        if cell["cell_type"] == "markdown":
            if source.startswith(("## ", "### ")) and not source.startswith("### Exercise"):
                asked = set()
            continue
        tree = code[cell["id"]]
        assigned = [line for line in tree.body if isinstance(line, ast.Assign)]
        made = {line.targets[0].id for line in assigned if "predict" in names_of(line)}
        waits = names_of(tree) & (guesses | made)
        asked |= waits
        guesses |= made
        if asked and not waits and names_of(tree) & rooms:
            early.append(cell["id"])
    return early


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_whatever_a_section_shows_after_its_question_waits_for_the_guess(chapter):
    early = told_too_early(json.loads(chapter.notebook.read_text(encoding="utf-8")))
    allowed = [cell for stem, cell in NOT_THE_ANSWER if stem == chapter.stem]
    assert early == [cell for cell in early if cell in allowed], "veil(guess, …) these, or say why they tell nothing"
    assert sorted(early) == sorted(allowed), "an exception that is none"


ELSEWHERE = [  # tells an answer too, from a learner's own code or in a later section
    ("00_start_here", "what-you-saw"), ("02_statistics", "one-step"),
    ("02_linearity_resnet", "half-way-accuracies"), ("03_averaging", "suspect-picture"), ("08_cart", "mine-8-2"),
    ("11_theorems", "mine-11-4")]


@pytest.mark.parametrize("stem, cell", ELSEWHERE)
def test_what_tells_the_answer_by_other_means_waits_too(stem, cell):
    notebook = json.loads(chapters.chapter(stem).notebook.read_text(encoding="utf-8"))
    source = next("".join(one["source"]) for one in notebook["cells"] if one["id"] == cell)
    *before, last = ast.parse(source).body
    assert last.value.func.id == "veil" and "print" not in names_of(ast.Module(before, []))
