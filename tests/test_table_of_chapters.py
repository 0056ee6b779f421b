"""The table of chapters: what is generated from it, and what it says of notebooks and pictures."""
import importlib
import json
import re

import pytest
from PIL import Image

from lessons.kit import chapters, claims
from lessons.kit.chapters import CHAPTERS, LESSONS, ROOT


def test_every_notebook_is_in_the_table_and_every_line_of_the_table_has_its_notebook():
    there = {path for path in (ROOT / "notebooks").rglob("*.ipynb") if path.parent.name != ".ipynb_checkpoints"}
    assert there == {chapter.notebook for chapter in CHAPTERS}


def test_every_lesson_has_a_number_of_its_own_and_a_deeper_notebook_follows_the_lesson_with_its_number():
    numbers = [int(lesson.number) for lesson in LESSONS]
    assert numbers == sorted(set(numbers))
    for before, one in zip(CHAPTERS, CHAPTERS[1:]):
        assert not one.deeper or (before.number, before.package) == (one.number, one.package)


def test_the_readme_shows_the_table():
    assert (ROOT / "README.md").read_text(encoding="utf-8") == chapters.readme()


NUMBERS = "no one two three four five six seven eight nine ten".split()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_chapter_takes_as_long_as_its_sections_and_says_so_with_the_number_of_its_exercises(chapter):
    number = len(re.findall(r"^### Exercise ", "\n\n".join(chapters.read_markdown(chapter.notebook)), re.MULTILINE))
    exercises = f"{NUMBERS[number]} exercise{'s' if number > 1 else ''}"
    assert f"**About {chapter.minutes} minutes**, {exercises}." in chapters.read_markdown(chapter.notebook)[0]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_exercises_take_no_longer_than_their_section(chapter):
    sections = re.split("^(?=## )", "\n\n".join(chapters.read_markdown(chapter.notebook)), flags=re.MULTILINE)
    for heading, _, text in (section.partition("\n") for section in sections[1:]):
        exercises = sum(map(int, re.findall(r"^### Exercise .*\((\d+) minutes?\)$", text, flags=re.MULTILINE)))
        said = re.search(r"\((\d+) minutes?\b", heading)
        assert exercises <= (int(said[1]) if said else 0), heading


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_chapter_has_as_many_panels_as_its_line_of_the_table_says(chapter):
    cells = json.loads(chapter.notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    always = [line for line in re.findall(r"^panel(?:_\w+)? = .*$", code, re.MULTILINE) if " if " not in line]
    assert len(always) == chapter.panels  # one that is drawn only where weights were fetched does not count


def test_minutes_of_sections_are_added_up_to_the_nearest_five(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    text = "## A (4 minutes)\n\n### Exercise 90.1 · not counted (9 minutes)\n## B (9 minutes, with the questions)\n## C"
    cells = [{"cell_type": "markdown", "source": [text]}, {"cell_type": "code", "source": ["## D (30 minutes)"]}]
    (tmp_path / "notebooks/90_more.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    assert chapters.Chapter("90_more", "lessons.more", teaches="", slider="", panels=0).minutes == 15


@pytest.mark.parametrize("package", sorted({lesson.package for lesson in LESSONS}))
def test_exercises_carry_the_number_of_a_lesson_of_their_package(package):
    exercises = importlib.import_module(f"{package}.exercises").EXERCISES
    numbers = {exercise.id.split(".")[0] for exercise in exercises}
    assert numbers == {lesson.number for lesson in LESSONS if lesson.package == package}


def test_an_unknown_chapter_is_named_with_those_that_there_are():
    with pytest.raises(ValueError, match="'90_more'.*00_start_here"):
        chapters.chapter("90_more")


def test_the_readme_shows_one_moving_picture_and_links_to_the_others():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", readme)
    with Image.open(ROOT / picture) as opened:
        assert opened.is_animated
    assert readme.index(f"]({picture})") < readme.index("\n## "), "it stands at the top"
    assert "(docs/gallery.md)" in readme


def test_the_readme_begins_with_a_clone_and_make_lab():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^## Start\n.*?^```\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    clone, into, lab = lines.splitlines()
    assert clone.startswith("git clone ") and into == f"cd {clone.split()[-1]}" and lab == "make lab"


def test_the_readme_says_of_the_first_start_what_make_lab_says():
    """Both tell what was measured once: bytes to download, bytes on disk, seconds."""
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    said = re.search(r"downloaded (\S+) MB, took (\S+) seconds and filled (\S+) GB", " ".join(readme.split()))
    megabytes, seconds, on_disk = said.groups()
    assert f"a download of {megabytes} MB, {on_disk} GB on disk and {seconds} seconds on two cores" in makefile


def test_the_readme_names_every_source_with_its_address():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([A-Z]+) \| (.+) \|", readme, re.MULTILINE))
    assert rows.keys() == claims.sources().keys()
    for key, row in rows.items():
        assert re.match(r"\w[^*]+\*.+\*.*\]\(https://", row), f"{key} has no authors, no title or no address"


def test_the_table_says_which_data_a_chapter_needs_and_which_chapters_take_longer_to_run():
    rows = {row.split("[")[1].split()[0]: row for row in chapters.readme_table().splitlines() if row.startswith("| [")}
    assert "| CIFAR-100 |" in rows["2"]
    assert "| MNIST, Fashion-MNIST; in `full` also CIFAR-100 |" in rows["7"]
    slow = re.search(r"that of chapters ([\d, ]+ and \d+)\s", chapters.readme_table())[1]
    assert re.findall(r"\d+", slow) == [lesson.number for lesson in LESSONS if lesson.quick > 90]
