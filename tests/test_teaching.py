"""docs/teaching.md: every lesson has its plans, the minutes add up, and what the page names is there."""
import json
import re

import pytest

from lessons.kit.chapters import CHAPTERS, LESSONS, ROOT

PAGE = (ROOT / "docs/teaching.md").read_text(encoding="utf-8")
DEEPER = {f"deeper/{one.stem}": one for one in CHAPTERS if one.deeper}
NUMBERS = {int(one.number): one for one in LESSONS}
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.stem)


def section(title):
    """What stands under a heading of the page."""
    parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))[title]


def rows_of(text):
    """The rows of the tables of a text: lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def plans(lesson):
    """{minutes: rows} of a lesson's plans: a row with bold minutes is the head of one."""
    found = {}
    for minutes, cells, todo in rows_of(section(f"{lesson.number} · {lesson.title}")):
        if head := re.fullmatch(r"\*\*(\d+) minutes\*\*", minutes):
            rows = found[int(head[1])] = []
            assert (cells, todo) == ("cells", "what to do")
        else:
            rows.append((int(minutes), cells, todo))
    return found


def ids_of(chapter):
    """The ids of a notebook's cells, in their order."""
    return [cell["id"] for cell in json.loads(chapter.notebook.read_text(encoding="utf-8"))["cells"]]


def source_of(chapter):
    """All of a notebook's cells as one text."""
    cells = json.loads(chapter.notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


def numbers_in(text):
    """The whole numbers that a text names."""
    return [int(number) for number in re.findall(r"\d+", text)]


def needs(lesson):
    """The numbers of the lessons that a lesson says, in its first cell, one needs."""
    sentence = re.search(r"You need[^.]*\.", source_of(lesson).partition("profile =")[0])
    return set(numbers_in(sentence[0])) if sentence else set()


def the_map():
    """{number of a lesson: the other cells of its row in the map}."""
    rows = [row for row in rows_of(section("What needs what")) if row[0].startswith("[")]
    return {numbers_in(first)[0]: others for first, *others in rows}


@each_lesson
def test_a_lesson_has_a_short_and_a_long_plan_whose_minutes_add_up(lesson):
    assert list(plans(lesson)) == ([20, 45] if lesson.number == "0" else [45, 90])
    for promised, rows in plans(lesson).items():
        assert sum(minutes for minutes, _, _ in rows) == promised
        assert all(todo for _, _, todo in rows)


@each_lesson
def test_the_cells_of_a_plan_are_in_the_notebook_and_in_its_order(lesson):
    for rows in plans(lesson).values():
        for _, cells, _ in rows:
            first, *others = names = re.findall(r"`([^`]+)`", cells)
            ids, names = (ids_of(DEEPER[first]), others) if first in DEEPER else (ids_of(lesson), names)
            places = [ids.index(name) for name in names]
            assert names and places == sorted(set(places)), f"not in the order of the notebook: {cells}"


@each_lesson
def test_what_people_get_wrong_is_a_wrong_answer_of_the_lesson(lesson):
    items = re.findall(r"^\* \*\*(\S+)\*\* (.*)$", section(f"{lesson.number} · {lesson.title}"), re.MULTILINE)
    assert 2 <= len(items) <= 4
    for number, text in items:
        call = "check" if number.partition(".")[2].isdigit() else "quiz"
        assert f'{call}("{number}"' in source_of(lesson), f"{lesson.stem} has no {number}"
        assert re.search(r" \*Say:\* .+\.$", text), f"{number} has no sentence that helps"


@each_lesson
def test_the_exercises_and_questions_that_a_plan_names_are_in_the_lesson(lesson):
    for rows in plans(lesson).values():
        named = {name for _, _, todo in rows for name in re.findall(rf"\b{lesson.number}\.[\da-z]\b", todo)}
        asked = set(re.findall(r'(?:check|quiz)\("([^"]+)"', source_of(lesson)))
        assert named <= asked, f"not in {lesson.stem}: {sorted(named - asked)}"


@each_lesson
def test_the_map_says_what_a_lesson_needs_and_how_long_it_takes(lesson):
    number = int(lesson.number)
    needed, needed_by, minutes = the_map()[number]
    assert set(numbers_in(needed)) == needs(lesson)
    assert set(numbers_in(needed_by)) == {other for other, one in NUMBERS.items() if number in needs(one)}
    assert int(minutes) == lesson.minutes


def test_on_every_route_a_lesson_comes_after_what_it_needs_and_the_minutes_add_up():
    routes = [row for row in rows_of(section("What needs what")) if len(row) == 4 and "," in row[1]]
    routes = [row for row in routes if not row[0].startswith("[")]
    assert len(routes) >= 3
    for name, lessons, minutes, _ in routes:
        taken = numbers_in(lessons)
        assert int(minutes) == sum(NUMBERS[number].minutes for number in taken), name
        for place, number in enumerate(taken):
            assert needs(NUMBERS[number]) <= set(taken[:place]), f"{name}: lesson {number} comes too early"


def test_the_targets_that_the_page_names_are_in_the_makefile():
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", "".join(re.findall(r"`[^`]+`", PAGE))))
    assert {"lab", "slides", "handouts", "questions"} <= named <= made
