"""ARCHITECTURE.md leads a newcomer from a cell to its picture, and lists rooms and files: what it names is there."""
import ast
import importlib
import inspect
import json
import re

import pytest

from lessons.kit import chapters
from lessons.kit.chapters import CHAPTERS, ROOT
from tools import guards, where

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def table(heading):
    """The rows of the first table under a heading, a list of cells each."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)[1]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[1:]]


def used(path, name):
    """What the code of that name uses: a notebook's cell, or a function, class, method or variable of a module. Names,
    attributes, and strings, which may be a file's name; of another file nothing.

    Raises:
        LookupError: there is no such name.
    """
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".ipynb"):
        cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(text)["cells"]}
        node = ast.parse(cells[name])
    elif path.endswith(".py"):
        node = ast.parse(text)
        for part in name.split("."):
            node = next((one for one in node.body if part in names(one)), None)
            if node is None:
                raise LookupError(f"{path} has no {name}")
    elif re.search(rf"\b{name}\b", text):
        return set()
    else:
        raise LookupError(f"{path} has no {name}")
    nodes = list(ast.walk(node))
    return {getattr(one, "attr", getattr(one, "id", None)) for one in nodes} | {
        one.value for one in nodes if isinstance(one, ast.Constant)}


def names(statement):
    """What a statement gives a name to."""
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return [getattr(statement, "name", "")]


TRACE = [[cell.strip("`") for cell in row[:3]] for row in table("One picture, from the cell to the screen")]


def test_the_trace_has_seven_stops():
    assert list(dict.fromkeys(stop for stop, _, _ in TRACE)) == list("1234567")


def test_every_name_of_the_trace_is_there_and_used_by_a_stop_before_it():
    before = set()
    for _, path, name in TRACE:
        uses = used(path, name)
        if not path.endswith(".ipynb"):  # that is where a learner begins
            wanted = name.rpartition(".")[2] if path.endswith(".py") else path.rpartition("/")[2]
            assert wanted in before, f"no stop before it uses {name} of {path}"
        before |= uses


@pytest.mark.parametrize("path, name", [
    ("notebooks/08_cart.ipynb", "gone"), ("lessons/cart/panels/bell.py", "gone"), ("lessons/suites.py", "Suite.gone"),
    ("lessons/kit/view/view.js", "gone"), ("lessons/gone.py", "run")])
def test_a_name_that_is_gone_is_noticed(path, name):
    with pytest.raises((LookupError, FileNotFoundError)):
        used(path, name)


def test_the_floors_list_every_room_of_the_lessons_and_no_other():
    lessons = ROOT / "lessons"
    modules = {*lessons.glob("*.py")} - {lessons / "__init__.py"}
    packages = {path.parent for path in lessons.glob("*/__init__.py")}
    chapters = {ROOT / chapter.package.replace(".", "/") for chapter in CHAPTERS}
    listed = [room.strip("`") for _, room, _ in table("Floors and rooms")]
    assert {ROOT / room for room in listed if room.startswith("lessons/")} == modules | packages - chapters
    assert {room for room in listed if "/" not in room} == {"notebooks", "site", "tools", "tests", "the chapters",
                                                            "toy_models", "data"}


def test_every_file_that_is_named_is_there():
    named = re.findall(r"`((?:data|toy_models|lessons|notebooks|site|tools|tests)/[\w/.]+)`", TEXT)
    assert len(named) > 30
    kept = {"data/cache"}  # made when something is fetched
    assert [path for path in named if path not in kept and not (ROOT / path).exists()] == []


def test_the_page_of_every_picture_is_that_of_the_notebooks():
    assert where.PAGE.read_text(encoding="utf-8") == where.page(), "run `make docs`"


def drawing(stem, cell):
    """What a cell draws."""
    (drawn,) = [drawn for drawn in where.drawings(chapters.chapter(stem).notebook) if drawn.cell == cell]
    return drawn


@pytest.mark.parametrize("stem, cell, drawn, measured", [
    ("08_cart", "panel-storage", "costs.storage", "storage.measure"),
    ("07_comparisons", "panel-d", "plane.common_and_own", "plane.measure")])
def test_a_picture_is_found_with_what_drew_and_measured_it(stem, cell, drawn, measured):
    one = drawing(stem, cell)
    functions = [one.draws, where.measuring(one.measured[0])]
    assert [f"{function.__module__.split('.')[-1]}.{function.__name__}" for function in functions] == [drawn, measured]


@pytest.mark.parametrize("stem, cell, says", [
    ("10_growing", "panel-g", "`measure`"),  # of two sweeps that one statement makes
    ("13_checkpoints", "own-layers", "[`look`](../lessons/checkpoints/looking.py) in `checkpoints/looking.py`, "
                                     "called in another cell (`own-look`)"),
    ("13_checkpoints", "own-layer", "[`layer`](../lessons/checkpoints/looking.py) in `checkpoints/looking.py`"),
    ("08_cart", "panel-peak", "`measure`"),  # what only arranges two sweeps has measured neither
    ("11_tangent", "panel-tangent", "other cells (`task`, `train-both`)"), ("06_gradients", "by-hand",
                                                                             "another cell (`mine-rounds-run`)"),
    ("07_interference", "mine-7-1", "the cell itself"), ("09_head_start", "panel-c", "the function that draws")])
def test_the_page_says_what_makes_the_numbers_of_a_picture(stem, cell, says):
    first, *_ = where.measures(drawing(stem, cell))
    assert first == says or says == "`measure`" and says in first


def test_what_gives_networks_alone_has_no_file_of_measurements():
    assert where.kept(drawing("07_interference", "tasks")) == []
    assert len(where.kept(drawing("07_comparisons", "panel-d"))) == 2


def test_a_test_guards_what_it_names_however_it_imports_it(tmp_path, monkeypatch):
    names = {"a": "from lessons.gradients.panels import steps\nsteps.gap, steps.gap",
             "b": "def f():\n    from lessons.gradients import panels\n    return panels.steps.gap",
             "c": "from lessons.linearity.panels import lines as of\nof.gap_per_layer",
             "d": "from lessons.gradients.panels.steps import gap\ngap",
             "e": "gap = steps = None\ngap, steps.gap",
             "f": "import lessons.lines.panels\nlessons.lines.panels.figure_2"}
    for name, text in names.items():
        (tmp_path / f"test_{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(guards, "TESTS", tmp_path)
    gap, gap_per_layer, figure_2 = (inspect.unwrap(getattr(importlib.import_module(module), name)) for module, name in (
        ("lessons.gradients.panels.steps", "gap"), ("lessons.lines.panels", "gap_per_layer"),
        ("lessons.lines.panels", "figure_2")))  # not imported by name, or this file would seem to guard them
    found = [[file.stem[-1] for file in guards.guarding([function], most=9)]
             for function in (gap, gap_per_layer, figure_2)]
    assert found == [["a", "b", "d"], ["c"], ["f"]]
    assert [file.stem[-1] for file in guards.guarding([figure_2, gap, gap_per_layer])] == ["a", "b"]
