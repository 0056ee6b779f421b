import json
import re
from pathlib import Path

import pytest

from lessons import exercise
from lessons.exercise import CHAPTERS, Exercise, Wrong, check, exercises, hint, solution
from lessons.notebooks import CHAPTERS as NOTEBOOKS

ALL = list(exercises().values())
MUTANTS = [pytest.param(one, wrong, id=f"{one.id}-{number}") for one in ALL for number, wrong in enumerate(one.wrong)]


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.id)
def test_the_solution_passes(one):
    assert check(one.id, one.solution).passed
    assert check(one.id, None, solved=True).passed


@pytest.mark.parametrize("one, wrong", MUTANTS)
def test_each_wrong_answer_is_turned_down_with_its_own_message(one, wrong):
    result = check(one.id, wrong.answer)
    assert not result.passed and result.message == wrong.says


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.id)
def test_an_exercise_has_three_wrong_answers_hints_and_minutes(one):
    assert len(one.wrong) >= 3 and len({wrong.says for wrong in one.wrong}) == len(one.wrong)
    assert one.hints and one.minutes > 0
    assert one.title in repr(solution(one.id).page) and len(hint(one.id).text.splitlines()) == len(one.hints)


def headings(notebook: Path) -> list[str]:
    """Every line of a notebook's prose that is the heading of an exercise."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.findall(r"^#+ *exercise.*$", prose, flags=re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_headings_of_a_notebook_are_those_of_its_exercises(chapter):
    notebook = next(path for path in NOTEBOOKS if int(path.name[:2]) == int(chapter))
    assert headings(notebook) == [f"### Exercise {one.id} · {one.title} ({one.minutes} minutes)" for one in ALL if one.id.split(".")[0] == chapter]


@pytest.mark.parametrize("one", [one for one in ALL if callable(one.solution)], ids=lambda one: one.id)
def test_the_solution_shown_is_the_librarys_own_source(one):
    assert f"def {one.solution.__name__}(" in solution(one.id).text


@pytest.mark.parametrize("answer, says", [
    (None, "Nothing here yet"), (..., "Nothing here yet"), (3, "should be a function, but it is a int"),
    (lambda a, b, alpha: None, "returned nothing yet"), (lambda a, b, alpha: ..., "returned nothing yet"),
    (lambda a, b: a, "stopped with TypeError"), (lambda a, b, alpha: 1 / 0, "stopped with ZeroDivisionError"),
    (lambda a, b, alpha: a.numpy(), "should be a tensor of shape (3,), but it is a ndarray"),
    (lambda a, b, alpha: a[:2], "shape should be (3,), but it is (2,)"), (lambda a, b, alpha: 7 * a, "the values are not"),
    (lambda a, b, alpha: a.mul_(alpha).add_(b, alpha=1 - alpha), "changed one of its arguments"),
])
def test_the_check_says_type_before_shape_before_value(answer, says):
    result = check("0.1", answer)
    assert not result.passed and says in result.message


def test_an_unknown_exercise_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="no exercise '9.9'; there are: 0.1, 1.1"):
        check("9.9", None)


def test_a_check_never_raises_whatever_it_is_given():
    for one in ALL:
        for answer in (object(), "z", [], lambda *_: object(), lambda *_: "text", lambda *_: [1, 2, 3], lambda *_: {}):
            assert not check(one.id, answer).passed


def test_the_learners_function_cannot_spoil_the_cases():
    def spoil(a, b, alpha):
        a.zero_()
        return a
    check("0.1", spoil)
    assert check("0.1", exercise.find("0.1").solution).passed


def test_a_wrong_value_that_is_no_option_lists_the_options():
    assert "choose one of 'a', 'b', 'c', 'd'" in check("1.6", "e").message


def test_a_wrong_answer_that_is_right_on_every_case_would_be_noticed():
    """What test_each_wrong_answer… rests on: with cases that cannot tell, the check passes the mutant and that test fails."""
    blind = Exercise("x", "blind", 1, lambda a: a, wrong=[Wrong(lambda a: 0 * a, "no")], hints=[], praise="", cases=lambda: [(0.0,)])
    assert exercise._judge(blind, blind.wrong[0].answer)[0]
