"""The table of chapters: what is generated from it, and what it says of notebooks and pictures."""
import importlib

import pytest

from lessons.kit import chapters
from lessons.kit.chapters import CHAPTERS, ROOT


def test_every_notebook_is_a_chapter_and_every_chapter_has_its_notebook():
    assert sorted((ROOT / "notebooks").glob("*.ipynb")) == [chapter.notebook for chapter in CHAPTERS]


def test_the_readme_shows_the_table():
    assert (ROOT / "README.md").read_text(encoding="utf-8") == chapters.readme()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_exercises_carry_their_chapters_number(chapter):
    exercises = importlib.import_module(chapter.exercises).EXERCISES
    assert {exercise.id.split(".")[0] for exercise in exercises} == {chapter.number}


def test_an_unknown_chapter_is_named_with_those_that_there_are():
    with pytest.raises(ValueError, match="'13_more'.*00_start_here"):
        chapters.chapter("13_more")
