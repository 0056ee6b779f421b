"""At least seven in ten answers that people give get a sentence that says what is wrong; no right one is refused."""
import functools

import pytest

from lessons.kit.chapters import LESSONS
from lessons.kit.exercise import check, exercises, find
from tests.natural import answers, unseen

tried_on_every_case = pytest.mark.slow  # a thousand answers

ANSWERS = answers()
WRONG = [pytest.param(one, id=f"{one.id} {one.what}") for of_chapter in ANSWERS.values() for one in of_chapter.WRONG]
RIGHT = [pytest.param(one, id=f"{one.id} {one.what}") for of_chapter in ANSWERS.values() for one in of_chapter.RIGHT]


@pytest.mark.parametrize("number", [lesson.number for lesson in LESSONS])
def test_every_exercise_has_answers_that_people_give(number):
    file = f"tests/natural/chapter_{number}.py"
    assert number in ANSWERS, f"write {file} with WRONG and RIGHT answers, as CONTRIBUTING.md says under “An exercise”"
    for id in (id for id in exercises() if id.split(".")[0] == number):
        assert id in {one.id for one in ANSWERS[number].WRONG}, f"add wrong answers to exercise {id} to WRONG in {file}"


def test_every_file_of_answers_has_its_chapter():
    assert ANSWERS.keys() <= {lesson.number for lesson in LESSONS}


@tried_on_every_case
@pytest.mark.parametrize("one", WRONG)
def test_a_wrong_answer_is_refused_with_the_sentence_that_its_author_found_helpful(one):
    result = check(one.id, one.answer)
    assert not result.passed and one.says in result.message


@tried_on_every_case
@pytest.mark.parametrize("one", RIGHT)
def test_a_right_answer_in_another_dress_passes(one):
    assert check(one.id, one.answer).passed, check(one.id, one.answer).message


@tried_on_every_case
@pytest.mark.parametrize("number", ANSWERS)
def test_seven_in_ten_wrong_answers_get_a_sentence_that_helps(number):
    wrong = ANSWERS[number].WRONG
    asked = {one.id for one in wrong}
    assert asked == {id for id in exercises() if id.split(".")[0] == number}
    assert len(wrong) >= (40 if len(asked) > 1 else 15)
    assert len({(one.id, one.what) for one in wrong}) == len(wrong)
    assert sum(bool(one.says) for one in wrong) >= 0.7 * len(wrong)


UNSEEN = unseen()
ROUNDED = [("8.4", "ceiling as minus the floor of minus, shape by numpy"),  # right, but for 0.07 * 100 in Python
           ("8.4", "floor division of the negative number, turned again"),
           ("8.4", "flatten a tensor of this shape, and ceil by a negative floor division")]


@functools.cache
def judged(place):
    """What the check says to one of `UNSEEN`."""
    id, _, answer, _ = UNSEEN[place]
    return check(id, answer)


@pytest.mark.parametrize("id", sorted({one[0] for one in UNSEEN}))
def test_answers_of_somebody_who_had_not_seen_the_checks_are_told_apart(id):
    for place, (of, thought, _, is_right) in enumerate(UNSEEN):
        if of == id:
            assert judged(place).passed == (is_right and (id, thought) not in ROUNDED), thought


@tried_on_every_case
def test_seven_in_ten_of_them_get_a_sentence_of_the_exercises_own():
    wrong = [(one[0], judged(place).message) for place, one in enumerate(UNSEEN) if not one[3]]
    told = [any(known.says in message for known in find(id).wrong) for id, message in wrong]
    assert len(wrong) >= 100 and sum(told) >= 0.7 * len(told)
