"""A page of paper for every lesson."""
import nbformat
import pytest

from tools import handouts

PICTURE = '<p>Finding.</p><details><figure><img alt="two lines" src="data:image/svg+xml,x"/></figure></details>'


def lesson(picture=PICTURE, tags=("handout",), minute="## In one minute (2 minutes)\n\n* Line **one**."):
    output = nbformat.v4.new_output("display_data", {"text/html": picture})
    text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    return nbformat.v4.new_notebook(cells=[
        text("# 1 · A lesson\n\nWhy?\n\n**About 20 minutes**, no exercise."), code("x = 1"),
        code("panel", outputs=[output], metadata={"tags": list(tags)}), text("## A section\n\nLong."), text(minute)])


def test_a_handout_has_the_question_the_picture_and_what_was_learned():
    page = handouts.handout(lesson())
    assert all(words in page for words in ("1 · A lesson", "Why?", 'alt="two lines"', "<li>Line <strong>one</strong>."))
    assert not any(words in page for words in ("About 20 minutes", "Finding.", "Long.", "In one minute", "x = 1"))
    assert "@page { size: A4" in page


@pytest.mark.parametrize("wrong, why", [
    (lesson(tags=()), "0 have it"), (lesson(picture="<p>No picture.</p>"), "shows no picture"),
    (lesson(minute="## The end"), "no cell has the heading")])
def test_a_lesson_that_gives_no_handout_says_why(wrong, why):
    with pytest.raises(ValueError, match=why):
        handouts.handout(wrong)
