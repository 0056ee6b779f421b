"""The questions of the self-tests: their files, their markers, and what is shown with a widget and without."""
import json
import re

import nbformat
import pytest

from lessons.kit import quiz as room
from lessons.kit.notebooks import to_html
from lessons.kit.page import inline, plain
from lessons.kit.quiz import quiz
from tests.test_notebooks_prose import typed

IDS = list(room.questions())
VIEW = "application/vnd.jupyter.widget-view+json"
MADE_UP = """
- id: 1.a
  question: "Is **1 < 2**?"
  choices:
    - {text: "Yes", right: true, answer: "Indeed, <b>.", holds: ["tests/test_quiz.py::test_markdown_in_a_line"]}
    - {text: "No", answer: "Count $n$ fingers.", holds: [SAIL-4.cost_mmd]}
    - {text: "Perhaps", answer: "It is certain."}
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """write(package, text) writes the questions of a package; no other questions are there."""
    monkeypatch.setattr(room, "FOLDER", tmp_path)
    room.questions.cache_clear()

    def write(package, text):
        (tmp_path / package).mkdir()
        (tmp_path / package / "questions.yaml").write_text(text, encoding="utf-8")
    yield write
    room.questions.cache_clear()


def test_every_marker_names_a_condition_of_the_ledger_or_a_test():
    room.check_markers()


def test_every_answer_that_is_no_advice_has_a_marker():
    """Those of chapters 9 to 13 that have none read off what their questions say."""
    without = [(question.id, choice.text) for question in room.questions().values() for choice in question.choices
               if not choice.holds and int(question.id.partition(".")[0]) > 8]
    assert without == [("11.g", "That does not follow. Look at other images, or at the Taylor gap."),
                       ("9.f", "For these steps, no mixture between A and B that you tried is a better start than the "
                               "better parent.")]


def test_an_answer_of_chapters_0_to_8_that_tells_what_was_measured_has_a_marker():
    """Many of them follow from a definition or from the question. What was seen "here", on "our" networks or in the
    past does not."""
    told = re.compile(r"\b(here|our|was|were|did)\b", re.IGNORECASE)
    without = [(question.id, choice.answer) for question in room.questions().values() for choice in question.choices
               if int(question.id.partition(".")[0]) <= 8 and not choice.holds and told.search(choice.answer)]
    assert without == []


TYPED = {  # id -> {number: why it may be typed}
    "1.d": {"0.01": "of the question"}, "2.d": {"0.87": "√(3/4)"}, "2.g": {"1.4": "√2"}, "4.e": {"1.5": "derived"},
    "6.e": {"factor of 2": "½ over ¼", "factor of T": "½ over 1/T, of two tasks"},
    "8.b": {"3": "12 of 400", "8": "the source's rank"}, "9.e": {"1.3": "of the question"}}


@pytest.mark.parametrize("id", IDS)
def test_no_measured_number_is_typed_in_an_answer(id):
    cells = [{"cell_type": "markdown", "id": id, "source": choice.answer} for choice in room.questions()[id].choices]
    assert typed({"cells": cells}, {id: TYPED.get(id, {})}) == []


def test_the_right_choice_is_not_always_at_the_same_place():
    places = [[choice.right for choice in question.choices].index(True) for question in room.questions().values()]
    assert len(set(places)) > 2


@pytest.mark.parametrize("marker", [
    "SAIL-4.half_way", "SAIL-4.mmd", "SAIL-99.mmd", "SAIL-4", "", "tests/test_growth.py::test_nothing",
    "tests/test_growth.py::mlp", "tests/test_gone.py::test_nothing", "tests::test_nothing"])
def test_a_marker_that_names_nothing_is_an_error_with_file_and_id(made_up, marker):
    made_up("one", MADE_UP.replace("SAIL-4.cost_mmd", json.dumps(marker)))
    says = re.escape(f"question '1.a': {marker!r}: ")  # behind it, what `markers.resolve` says
    with pytest.raises(ValueError, match=f"one/questions.yaml, {says}"):
        room.check_markers()


@pytest.mark.parametrize("old, new, says", [
    ('text: "No"', 'text: "No", right: true', "exactly one choice is right, here 2 are"),
    ("right: true, ", "", "exactly one choice is right, here 0 are"),
    ('    - {text: "Perhaps", answer: "It is certain."}', "", "at least 3"),
    ("id: 1.a", "id: one", "pattern"),
    ('text: "Perhaps"', 'text: "Perhaps", wrong: true', "Extra inputs"),
    ('question: "Is **1 < 2**?"', "", "Field required")])
def test_an_entry_that_is_not_well_formed_is_an_error_with_file_and_id(made_up, old, new, says):
    assert old in MADE_UP
    made_up("one", MADE_UP.replace(old, new))
    with pytest.raises(ValueError, match=f"one/questions.yaml, question '(1.a|one)': (.|\n)*{says}"):
        room.questions()


def test_an_id_that_stands_twice_is_an_error_with_both_files(made_up):
    made_up("one", MADE_UP)
    made_up("two", MADE_UP)
    with pytest.raises(ValueError, match="two/questions.yaml, question '1.a': .*already in .*one/questions.yaml"):
        room.questions()


def test_an_unknown_id_lists_those_that_there_are():
    with pytest.raises(ValueError, match=re.escape(f"no question '9.z'; there are: {', '.join(IDS)}")):
        quiz("9.z")


def test_a_made_up_question_is_well_formed_and_its_markers_name_something(made_up):
    made_up("one", MADE_UP)
    room.check_markers()
    assert list(room.questions()) == ["1.a"]


def test_right_and_wrong_differ_in_sign_and_in_words():
    marks = [[choice[name] for name in ("sign", "word")] for choice in quiz("9.b").spec["choices"]]
    assert marks == [["✗", "Not this one."], ["✓", "Right."], ["✗", "Not this one."]]


def test_a_file_without_questions_has_none(made_up):
    made_up("one", "# nothing yet\n")
    assert room.questions() == {}


def test_all_that_the_page_needs_is_in_the_state_and_markdown_is_escaped(made_up):
    made_up("one", MADE_UP)
    widget = quiz("1.a")
    spec = json.loads(json.dumps(widget.spec))
    assert spec["kind"] == "quiz" and spec["question"] == "Is <b>1 &lt; 2</b>?"
    assert [choice["right"] for choice in spec["choices"]] == [True, False, False]
    assert spec["choices"][0]["answer"] == "Indeed, &lt;b&gt;."
    assert spec["choices"][1]["answer"] == "Count <math><mi>n</mi></math> fingers."
    assert "holds" not in json.dumps(spec) and "SAIL" not in json.dumps(spec), "a marker is invisible"


def test_markdown_in_a_line():
    assert inline("a*b") == "a*b"
    assert inline("*i* and **b *i* b**") == "<i>i</i> and <b>b <i>i</i> b</b>"
    assert inline("`<a> **x**`") == "<code>&lt;a&gt; **x**</code>"
    assert inline("$\\gamma^*$ < 1").startswith("<math>") and plain(inline("$\\gamma^*$ < 1")) == "γ∗ < 1"


def test_where_no_widget_is_shown_there_is_text_and_what_opens_without_a_script(made_up):
    made_up("one", MADE_UP)
    bundle = quiz("1.a")._repr_mimebundle_()
    assert VIEW in bundle and str(quiz("1.a")) == bundle["text/plain"]
    assert bundle["text/plain"].splitlines() == [
        "Question 1.a: Is **1 < 2**?", "  1. Yes", "  2. No", "  3. Perhaps", "Answers:", "  1. ✓ Right. Indeed, <b>.",
        "  2. ✗ Not this one. Count $n$ fingers.", "  3. ✗ Not this one. It is certain."]
    assert bundle["text/html"].count("<details><summary>") == 3 and "SAIL" not in bundle["text/html"]
    assert "<summary>Yes</summary><p><b>✓ Right.</b> Indeed, &lt;b&gt;.</p>" in bundle["text/html"]


def test_the_pages_of_the_chapters_have_the_question():
    output = nbformat.v4.new_output("display_data", quiz("9.e")._repr_mimebundle_())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("quiz('9.e')", outputs=[output])])
    page = to_html(notebook)
    assert page.count("<details><summary>") == 3 and "γ* by MMD comes out as 1.3. Is that an error?" in page


def test_the_page_of_one_question_has_all_of_it(tmp_path):
    widget = quiz("9.a")
    page = widget.save_html(tmp_path / "question.html").read_text(encoding="utf-8")
    assert "<title>Question 9.a</title>" in page
    state = re.search('<script type="application/json" id="state">(.*?)</script>', page)[1]
    assert json.loads(state) == {"spec": widget.spec, "chosen": None}
