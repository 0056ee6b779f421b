"""Exercises about files, by themselves: chapter 11 is not in the table of chapters yet, whose tests hold the rest."""
import pytest

from lessons.kit import exercise
from lessons.vit import published
from lessons.vit.exercises.files import EXERCISES
from tests.natural import chapter_11_files as natural

OF = {one.id: one for one in EXERCISES}
KNOWN = [pytest.param(one, wrong, id=f"{one.id}-{number}")
         for one in EXERCISES for number, wrong in enumerate(one.wrong)]


@pytest.mark.parametrize("one", EXERCISES, ids=lambda one: one.id)
def test_solution_and_taught_lines_pass(one):
    assert exercise._judge(one, one.solution)[0]
    assert one.teaching is None or exercise._judge(one, one.teaching)[0]


@pytest.mark.parametrize("one, wrong", KNOWN)
def test_each_wrong_answer_gets_its_own_sentence(one, wrong):
    assert exercise._judge(one, wrong.answer) == (False, wrong.says)


@pytest.mark.parametrize("one", natural.WRONG, ids=lambda one: f"{one.id} {one.what}")
def test_an_answer_that_people_give_is_refused_with_a_sentence_that_helps(one):
    passed, message = exercise._judge(OF[one.id], one.answer)
    assert not passed and one.says in message


def test_seven_in_ten_get_such_a_sentence():
    assert sum(bool(one.says) for one in natural.WRONG) >= 0.7 * len(natural.WRONG)


@pytest.mark.parametrize("one", natural.RIGHT, ids=lambda one: f"{one.id} {one.what}")
def test_a_right_answer_in_another_dress_passes(one):
    assert exercise._judge(OF[one.id], one.answer)[0], exercise._judge(OF[one.id], one.answer)[1]


def test_published_figures_are_marked_and_add_up():
    for one in published.ALL:
        assert all(len(row) == len(one.columns) for row in one.rows.values())
        assert published.MARK in one.page().page and one.source.split(" (")[0] in repr(one.page())
        assert one.dataset().attrs["mark"] == published.MARK
    said = {"θ₀": 48.2, "single models": 90.3, "average": 66.5, "task arithmetic, λ 0.3": 68.0,
            "TIES 20 %, λ 0.3": 72.2, "AdaMerging, per layer": 82.6, "TSV-M": 83.1}  # the means that the source prints
    for row, mean in said.items():
        assert published.B32.mean(row) == pytest.approx(mean, abs=0.15), row
    assert published.SIX_TASKS.mean("θ₀") == pytest.approx(51.1, abs=0.05)
    assert published.SIX_TASKS.mean("single models") == pytest.approx(96.0, abs=0.05)


def test_dtd_alone_explains_the_two_tables():
    ours, theirs = (published.BEHIND[name] for name in ("TSV-M on FusionBench's models", "TSV-M's repository"))
    of_dtd = (theirs["DTD"] - ours["DTD"]) / 8
    assert of_dtd == pytest.approx(theirs["merged"] - ours["merged"], abs=0.2)
    of_single = (theirs["DTD, single"] - ours["DTD, single"]) / 8
    assert of_single == pytest.approx(theirs["single models"] - ours["single models"], abs=0.3)
    assert "not measured here" in published.behind().page
