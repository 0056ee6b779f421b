"""Slides of the lessons: which cells they are made of, and what their pages need."""
import re

import nbformat
import pytest

from lessons.kit.chapters import LESSONS
from tools import handouts, slides

MINUTE = "## In one minute\n\n* Line **one**, $x^2$.\n\n**In practice.** Use it."


def text(source, kind=""):
    return _typed(nbformat.v4.new_markdown_cell(source), kind)


def code(source, kind="", html="<p>shown</p>", folded=False):
    cell = nbformat.v4.new_code_cell(source, outputs=[nbformat.v4.new_output("display_data", {"text/html": html})])
    if folded:
        cell.metadata["jupyter"] = {"source_hidden": True}
    return _typed(cell, kind)


def _typed(cell, kind):
    if kind:
        cell.metadata["slideshow"] = {"slide_type": kind}
    return cell


LESSON = nbformat.v4.new_notebook(cells=[
    text("# 1 · A lesson\n\nWhy?\n\n**About 20 minutes**, no exercise.", "slide"), code("profile = 'quick'"),
    text("## A section (4 minutes)\n\nThe reason."), code("panels.first()", "slide", folded=True),
    text("What it shows."),
    code("check()", "fragment"), text("A secret.", "skip"), text("More to say.", "notes"),
    text("## Another (2 minutes, with the questions)"), code("x = panels.second()", "slide"), text(MINUTE, "slide")])


def sources(notebook):
    return [(cell.metadata["slideshow"]["slide_type"], cell.source) for cell in notebook.cells]


def test_a_deck_has_the_cells_that_are_slides_and_the_other_text_is_notes():
    assert sources(slides.deck(LESSON)) == [
        ("slide", "# 1 · A lesson\n\nWhy?"), ("notes", "**About 20 minutes**, no exercise."),
        ("slide", "## A section"), ("-", "panels.first()"), ("-", "check()"),
        ("notes", "## A section (4 minutes)\n\nThe reason.\n\nWhat it shows.\n\nMore to say."),
        ("slide", "## Another"), ("-", "x = panels.second()"), ("notes", "## Another (2 minutes, with the questions)"),
        ("slide", "## In one minute\n\n* Line **one**, $x^2$."), ("notes", "**In practice.** Use it.")]


def test_a_deck_leaves_the_lesson_as_it_was():
    before = nbformat.writes(LESSON)
    slides.to_slides(LESSON)
    assert nbformat.writes(LESSON) == before


def test_a_page_of_slides_fetches_nothing_and_hides_folded_code(tmp_path):
    page = slides.write("lesson", LESSON, tmp_path).read_text(encoding="utf-8")
    fetched = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]*)"', page)
    assert fetched and all((tmp_path / address).is_file() for address in fetched)
    assert "panels.first" not in page and "<math" in page and page.count("<p>shown</p>") == 3
    assert page.count("<section") == 2 * 4, "nbconvert puts every slide into a section of its own"


def test_a_slide_with_a_picture_has_no_code_and_no_printed_lines():
    cell = code("panels.first()", "slide", html='<img alt="" src="x"/>')
    cell.outputs.insert(0, nbformat.v4.new_output("stream", text="still open"))
    page = slides.to_slides(nbformat.v4.new_notebook(cells=[text("## A section"), cell]))
    assert '<img alt="" src="x"/>' in page and "panels.first" not in page and "still open" not in page
    assert cell.outputs[0].text == "still open", "the lesson stays as it was"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_has_about_ten_slides_and_one_picture_for_its_handout(lesson):
    cells = nbformat.read(lesson.notebook, as_version=4).cells
    shown = [cell.id for cell in cells if cell.metadata.get("slideshow", {}).get("slide_type") == "slide"]
    assert 10 <= len(shown) <= 12 and shown[0] == cells[0].id
    assert sum(handouts.TAG in cell.metadata.get("tags", []) for cell in cells) == 1


def test_a_notebook_without_slides_says_what_to_do():
    with pytest.raises(ValueError, match="give some the slide type"):
        slides.to_slides(nbformat.v4.new_notebook(cells=[text("# Nothing")]))
