"""What counts as words, pictures and something to do, on small notebooks."""
import nbformat
import pytest

from tools import pacing
from tools.pacing import pace

WIDGET = "application/vnd.jupyter.widget-view+json"
IMAGE = '<img alt="a picture" src="data:image/svg+xml;base64,PHN2Zy8+">'


def code(source, *bundles):
    outputs = [nbformat.v4.new_output("display_data", data) for data in bundles]
    return nbformat.v4.new_code_cell(source, outputs=outputs)


PANEL = code("panel", {"text/html": f"<p>words of its own</p>{IMAGE}", WIDGET: {}})
STILL = code("still", {"text/html": f"<figure>{IMAGE}<figcaption>three words more</figcaption></figure>"})


def text(count):
    return nbformat.v4.new_markdown_cell(" ".join(["word"] * count))


def paced(*cells):
    return pace(nbformat.v4.new_notebook(cells=list(cells)))


def test_words_are_those_that_are_read_and_pictures_those_that_are_shown():
    prose = nbformat.v4.new_markdown_cell("# Two words\n\nThe sum $a + b$ of `x`.<!-- holds: A-1.b -->\n\n"
                                          "| a | b |\n|-|-|\n| c | d |")
    assert paced(prose).words == 5
    assert paced(PANEL, STILL, prose) == pace(nbformat.v4.new_notebook(cells=[PANEL, STILL, prose]))
    assert (paced(PANEL, STILL).pictures, paced(PANEL, STILL).words) == (2, 3)


def test_minutes_are_those_of_words_exercises_and_all_else():
    exercise = nbformat.v4.new_markdown_cell("### Exercise 1.1 · a name (7 minutes)\n\n$$a = b$$\n\nand $c$")
    guess = code("guess = predict('How much?')", {"text/html": "<p>a slider</p>"})
    table = code("a_table", {"text/html": "<table></table><details><summary>more</summary><table></table></details>"})
    notebook = nbformat.v4.new_notebook(cells=[PANEL, STILL, exercise, guess, table, text(130)])
    notebook.cells[0].outputs[0].data[WIDGET] = {"model_id": "a"}
    words = pace(notebook).words / pacing.WORDS_A_MINUTE
    assert pace(notebook).minutes - words == pytest.approx(7 + 4 * 2.5 / 60 + 2 * 0.6 + 0.7 + 0.7 + 0.5)
    spec = {"charts": [1], "controls": [1]}
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"a": {"state": {
        "spec": spec}}}}}
    assert pace(notebook).minutes - words == pytest.approx(7 + 4 * 2.5 / 60 + 3 + 0.6 + 0.7 + 0.7 + 0.5)
    notebook.cells[3].metadata["jupyter"] = {"source_hidden": True}
    assert pace(notebook).minutes - words == pytest.approx(7 + 3 * 2.5 / 60 + 3 + 0.6 + 0.7 + 0.7 + 0.5)


def test_a_reading_counts_also_while_it_waits_and_hints_and_answers_do_not():
    waiting = "<details><summary>Make your guess above first</summary><p><b>It is.</b> So be it.</p>{}</details>"
    folded = waiting.format("<details><summary>A table</summary><p>1 2 3 4 5 6 7 8</p></details>")
    assert paced(code("veil(guess, reading)", {"text/html": folded, WIDGET: {}})).words == 5
    hint = code("display(hint('9.1'))", {"text/html": "<details><summary>Hint</summary>So many words</details>"})
    assert paced(hint, code("quiz('9.a')", {"text/html": "A question of five words"})).words == 0


@pytest.mark.parametrize("between, ends", [(code("check('9.1', f)"), True), (code("quiz('9.a')"), True), (PANEL, True),
                                           (STILL, False), (code("display(hint('9.1'))"), False)])
def test_something_to_do_ends_a_stretch(between, ends):
    long = pacing.WITHOUT_DOING - 10
    faults = paced(text(long), between, text(long)).faults
    assert any("something to do" in fault for fault in faults) is not ends


def test_places_that_are_too_long_are_named():
    reading = code("reading", {"text/html": "<p><b>So many.</b> 1 and 2, 3.5, 40% and 5,000 ± 6 of 7.</p>"})
    faults = paced(PANEL, reading, text(pacing.WITHOUT_PICTURE), STILL).faults
    assert faults[0] == "cell 1: 7 numbers in a reading, at most 6"
    assert "cells 1 to 2: 405 words without a picture, at most 400" in faults
    assert any("pictures per 1,000" in fault for fault in paced(PANEL, text(300)).faults)
    assert f"{pacing.WORDS + 1} words, at most {pacing.WORDS}" in paced(text(pacing.WORDS + 1)).faults


def test_cells_that_a_test_added_do_not_count():
    added = code("print()", {"text/html": "<p>words</p>"})
    added.metadata["tags"] = ["added"]
    assert paced(added).words == 0


def test_the_command_prints_a_line_and_the_faults(tmp_path, capsys):
    nbformat.write(nbformat.v4.new_notebook(cells=[PANEL, text(300)]), tmp_path / "lesson.ipynb")
    pacing.main([str(tmp_path / "lesson.ipynb")])
    assert capsys.readouterr().out.splitlines() == ["lesson: 300 words, 1 pictures, 3.3 per 1,000 words, about 3 "
                                                    "minutes", "    3.3 pictures per 1,000 words, at least 4"]
