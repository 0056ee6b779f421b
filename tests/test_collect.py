"""`python -m lessons.kit.collect`: which cells answer an exercise, what comes over from a cell, what the tables say,
and that every known mistake is named."""
import csv
import decimal
import fractions
import json
import os
import re
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray
from hypothesis import given
from hypothesis import strategies as st

from lessons.kit import chapters, exercise
from lessons.kit.chapters import ROOT
from lessons.kit.collect import __main__ as command
from lessons.kit.collect import marking, nursery, submissions, syscalls, tables, values
from lessons.kit.collect.marking import MISTAKE, OPEN, OTHER, PASSED, Mark, Row
from lessons.kit.exercise import find
from tests import planting

on_linux = pytest.mark.skipif(not syscalls.is_known(), reason="collect refuses to run here")


# -- values on their way -----------------------------------------------------------------------------------------------

def sent(value):
    """A value after its way from one process to the other."""
    return values.decoded(json.loads(json.dumps(values.coded(value))))


SIMPLE = [None, ..., True, 3, -10 ** 400, 0.1, float("inf"), 1 + 2j, "ä\ud800", b"\x00\xff", range(3, 9, 2), [1, [2.5]],
          (1, ()), {"a": (1,), 2: None}, {1, 2}, {"b"}, [], {}]


@pytest.mark.parametrize("value", SIMPLE, ids=repr)
def test_a_simple_value_comes_over_as_it_is(value):
    assert sent(value) == value and type(sent(value)) is type(value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
                    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside) | st.tuples(inside, inside)))
def test_whatever_is_made_of_simple_values_comes_over(value):
    assert sent(value) == value


TENSORS = [torch.tensor(1.5), torch.arange(6).reshape(2, 3), torch.ones(2, 3, dtype=torch.float64).T, torch.empty(0, 4),
           torch.tensor([True, False]), torch.tensor([1, 2], dtype=torch.bfloat16), torch.tensor([1 + 2j]),
           torch.tensor([float("nan"), float("inf")]), torch.ones(3, requires_grad=True), torch.ones(3).expand(2, 3),
           torch.nn.Parameter(torch.ones(2)), torch.ones(2, dtype=torch.complex64).conj()]


@pytest.mark.parametrize("value", TENSORS, ids=repr)
def test_a_tensor_comes_over_to_the_last_bit(value):
    there = sent(value)
    assert there.dtype == value.dtype and there.shape == value.shape
    torch.testing.assert_close(there, value.detach().resolve_conj(), rtol=0, atol=0, equal_nan=True)


ARRAYS = [np.float64(0.1), np.int8(-3), np.bool_(True), np.arange(4), np.ones((2, 3), ">f4"), np.array(2.5),
          np.array([True, False]), np.asfortranarray(np.arange(6.0).reshape(2, 3))]


@pytest.mark.parametrize("value", ARRAYS, ids=repr)
def test_an_array_comes_over_to_the_last_bit(value):
    there = sent(value)
    assert isinstance(there, np.ndarray) is isinstance(value, np.ndarray)
    np.testing.assert_array_equal(there, value)


def test_named_arrays_and_numbers_of_other_kinds_come_over():
    named = xarray.DataArray([[1.0, 2.0]], {"layer": ("layer", ["one", "two"])}, ("pair", "layer"), name="gap")
    assert sent(named).identical(named) and sent(named[0, 1]).identical(named[0, 1])
    assert sent(fractions.Fraction(1, 4)) == sent(decimal.Decimal("0.25")) == 0.25
    assert sent(OrderedDict(a=1)) == {"a": 1} and sent(np.array(["a"])) == ["a"]


class Mute:
    """Fails whatever is asked of it."""
    def __repr__(self):
        raise RuntimeError("no words")

    __float__ = __array__ = __len__ = __iter__ = __repr__


def endless_list():
    """A list in itself."""
    inside = []
    inside.append(inside)
    return inside


@pytest.mark.parametrize("value, name", [
    (Mute(), "Mute"), (type("a b", (), {})(), "object"), (10 ** 5000, "int"), (torch.ones(2).to_sparse(), "Tensor"),
    (torch.ones(2, device="meta"), "Tensor"), (dict.fromkeys(range(3000)), "dict"),
    (torch.ones(10 ** 7), "Tensor"), ("x" * 10 ** 7, "str"),
    (endless_list(), "list"), (len, "builtin_function_or_method"), (iter([1]), "list_iterator")],
    ids=lambda value: type(value).__name__)
def test_of_any_other_object_comes_over_what_it_is_called(value, name):
    there = sent(value)
    assert type(there).__name__ == name and len(repr(there)) <= 300
    assert callable(there) is callable(value) and hasattr(there, "__next__") is hasattr(value, "__next__")


@pytest.mark.parametrize("code", [
    1, 1.5, {}, {"a": 1, "b": 2}, {"pickle": "gASV"}, {"int": "1e5"}, {"int": 5}, {"int": "9" * 5000}, {"float": "x"},
    {"tensor": ["float32", [3], "AAAA"]}, {"tensor": ["float32", [-1], ""]}, {"tensor": ["object", [], ""]},
    {"tensor": ["float32", [10 ** 6] * 9, ""]}, {"tensor": 5}, {"array": ["|O", [1], "AAAAAAAAAAA="]},
    {"array": ["<f8", [True], "AAAAAAAAAAA="]}, {"foreign": ["a b", "", False, False]}, {"foreign": ["a", 5, 0, 0]},
    {"foreign": ["a", "x" * 400, False, False]}, {"dict": [[[1], 2]]}, {"dict": 5}, {"tuple": "ab"}, {"range": [0, 1]},
    {"range": [0, 10 ** 30, 1]}, {"bytes": "ä"}, {"set": [[1]]}, {"complex": ["1"]}, {"set": list("abc") * 1000},
    {"dict": [["a", None]] * 3000},
    {"data array": [["a"] * 50, [], [], None]}], ids=lambda code: str(code)[:60])
@pytest.mark.fault("collect", "The process that runs answers sends what is no value",
                   answers="It is refused, and nothing is unpickled")
def test_what_is_no_value_is_refused(code):
    with pytest.raises(values.NotAValue):
        values.decoded(code)


def test_values_in_each_other_too_deep_are_refused():
    code = []
    for _ in range(100):
        code = [code]
    with pytest.raises(values.NotAValue, match="deep"):
        values.decoded(code)


# -- a verdict from what a cell wrote ----------------------------------------------------------------------------------

def lines_of(id, answer):
    """What a cell writes for a function."""
    one = find(id)
    outcomes = [{"kind": outcome.kind, "value": values.coded(outcome.value), "problem": outcome.problem}
                for outcome in exercise.tried(one, answer, one.cases())]
    return [{"state": "function"}, *outcomes]


def marked(id, *lines, why="ended"):
    """The mark of a cell that wrote these lines of JSON."""
    written = tuple(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return marking.mark(id, nursery.Ended(written, why, 1.0))


def test_a_right_function_passes_and_a_known_mistake_is_named():
    one = find("0.1")
    assert marked("0.1", *lines_of("0.1", one.solution)).kind == PASSED
    assert marked("0.1", *lines_of("0.1", one.wrong[0].answer)) == Mark("0.1", MISTAKE, *[one.wrong[0].says] * 2)


RIGHT = lines_of("0.1", find("0.1").solution)


@pytest.mark.parametrize("lines, why, label", [
    ([], "ended", "Ended Python."), ([{"state": "function"}], "ended", "Ended Python."),
    (RIGHT[:-1], "ended", "Ended Python."), (RIGHT[:-1], "late", "Did not end."),
    (RIGHT[:-1], "wrote too much", "Gave back too much."), (RIGHT[:-1], "SIGSEGV", "Crashed Python (SIGSEGV)."),
    ([{"state": "passed"}], "ended", "no answer"), ([{"state": "function", "passed": True}], "ended", "no answer"),
    ([b"\xff\xfe"], "ended", "no answer"), ([b"[" * 100_000], "ended", "no answer"), ([b"null"], "ended", "no answer"),
    ([RIGHT[0], *[{"kind": "value", "value": 1, "problem": ""}] * 5], "ended", "no answer"),
    ([RIGHT[0], *[{"kind": "value", "value": None, "problem": ""}] * 5], "ended", "should be a tensor"),
    ([RIGHT[0], *[{"kind": "passed", "value": None, "problem": ""}] * 5], "ended", "Stopped with passed."),
    ([RIGHT[0], *[{"kind": "<b>", "value": None, "problem": ""}] * 5], "ended", "Stopped with an error."),
    ([RIGHT[0], {"kind": "x" * 1000, "value": None, "problem": ""}], "ended", "no answer"),
    ([{"state": "value", "value": {"int": "3"}}], "ended", "Is no function."),
    ([{"state": "failed", "kind": "NameError", "problem": "p"}], "ended", "Stopped with NameError.")])
@pytest.mark.fault("collect", "A cell replaces the check itself", answers="It is not believed")
def test_a_cell_is_not_believed(lines, why, label):
    there = marked("0.1", *lines, why=why)
    assert there.kind == OTHER and label in there.label


def test_what_follows_the_last_case_changes_nothing():
    wrong = lines_of("0.1", lambda a, b, alpha: a)
    assert marked("0.1", *wrong, *RIGHT[1:], {"state": "passed"}).kind != PASSED


def test_a_value_is_judged_and_three_dots_are_not_answered():
    assert marked("4.2", {"state": "value", "value": values.coded(0.5)}).kind == PASSED
    assert marked("1.6", {"state": "value", "value": "B."}).kind == PASSED
    assert marked("4.2", {"state": "value", "value": values.coded(1)}).kind == MISTAKE
    assert marked("4.2", {"state": "open"}) == Mark("4.2", OPEN)


@pytest.mark.parametrize("lines", [(), ("[]",), ('{"cells": [["a"]], "problem": ""}',), ("{", "{"),
                                   ('{"cells": [["a", 5]], "problem": ""}',)])
def test_what_no_reader_writes_is_no_notebook(lines):
    with pytest.raises((submissions.NoSubmission, marking.Unreadable)):
        marking.read_cells(nursery.Ended(tuple(line.encode() for line in lines), "ended", 0.0))


# -- which cell answers which exercise ---------------------------------------------------------------------------------

STEM = "04_task_arithmetic"


def cells_in(stem=STEM):
    """The id and source of every code cell of a course's notebook."""
    return [(cell["id"], "".join(cell["source"])) for cell in planting.course(stem)["cells"]
            if cell["cell_type"] == "code"]


def place_of(cells, id):
    """Where the cell with this id is."""
    return [name for name, _ in cells].index(id)


def of_exercise(cells, id):
    """What belongs to one exercise."""
    (there,) = [one for one in submissions.cells_of(STEM, cells) if one.asked.id == id]
    return there


@pytest.mark.parametrize("stem", [chapter.stem for chapter in chapters.CHAPTERS])
def test_every_exercise_of_a_notebook_is_found_there_and_not_answered(stem):
    checked = re.findall(r'check\("([\d.]+)"', "\n".join(source for _, source in cells_in(stem)))
    assert [one.id for one in submissions.asked_in(stem)] == checked != []
    assert all(one.source is None and not one.note for one in submissions.cells_of(stem, cells_in(stem)))
    assert submissions.chapter_of(cells_in(stem)) == stem


def test_an_answer_is_found_by_its_id_and_by_its_check_where_the_id_was_edited():
    cells = cells_in()
    place = place_of(cells, "exercise-4-2")
    cells[place] = ("exercise-4-2", "answer = 0.5\ncheck('4.2', answer)")
    there = of_exercise(cells, "4.2")
    assert there.source.startswith("answer = 0.5") and len(there.before) == place and not there.note
    cells[place] = ("mine", cells[place][1])
    there = of_exercise(cells, "4.2")
    assert there.source.startswith("answer = 0.5") and "another id" in there.note
    assert submissions.chapter_of([("", source) for _, source in cells]) == STEM, "ids can be lost"


def test_a_deleted_cell_is_said_and_an_empty_one_is_not_answered():
    cells = [cell for cell in cells_in() if cell[0] != "exercise-4-2"]
    assert of_exercise(cells, "4.2").source is None and "was deleted" in of_exercise(cells, "4.2").note
    cells = cells_in()
    cells[place_of(cells, "exercise-4-2")] = ("exercise-4-2", "  \n")
    assert of_exercise(cells, "4.2").source is None


def test_of_a_cell_that_was_copied_the_one_with_an_answer_counts():
    answered = ("exercise-4-2-copy", "answer = 0.5\n\ncheck(\"4.2\", answer)")
    assert of_exercise([*cells_in(), answered], "4.2").source == answered[1]


def test_no_exercise_no_chapter():
    assert submissions.chapter_of([("", "print(1)"), ("x", "check(4.2)")]) == ""


def test_files_are_found_in_folders_and_checkpoints_are_left_out(tmp_path):
    for name in ("b/x.ipynb", "a.ipynb", "b/.ipynb_checkpoints/x.ipynb", "b/c/Y.IPYNB", "b/n.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "round").symlink_to(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in submissions.files(tmp_path)] == [
        "a.ipynb", "b/c/Y.IPYNB", "b/x.ipynb"]
    with pytest.raises(ValueError, match="is no folder"):
        submissions.files(tmp_path / "gone")


# -- tables ------------------------------------------------------------------------------------------------------------

ROWS = [Row("anna/04_task_arithmetic.ipynb", STEM, (Mark("4.1", PASSED), Mark("4.2", MISTAKE, "S <b>", "S <b>")),
            notes=("A note.",)),
        Row("submitted/bo/hw/04.ipynb", STEM,
            (Mark("4.1", OTHER, "Stopped with E.", "=1"), Mark("4.2", MISTAKE, "S <b>", "S <b>"))),
        Row("submitted/bo/hw/more.ipynb", STEM, (Mark("4.1", PASSED), Mark("4.2", PASSED))),
        Row("+c.ipynb", problem="This is no notebook.")]


def test_a_summary_counts_and_names():
    first, second = tables.summaries(ROWS)[STEM]
    assert first.counts == {PASSED: 2, OPEN: 0, MISTAKE: 0, OTHER: 1} and first.others == [("Stopped with E.", 1)]
    assert second.mistakes == [("S <b>", 2)] and second.title == find("4.2").title


def test_the_text_and_the_page_say_it():
    text, page = tables.text(ROWS), tables.page(ROWS)
    for words in ("2 ✗ S <b>", "1 passed, 2 with a known mistake", "anna/04_task_arithmetic.ipynb: 1 of 2 passed",
                  "+c.ipynb: This is no notebook.", "A note."):
        assert words in text
    assert "S &lt;b&gt;" in page and "<b>" not in page and "This is no notebook." in page
    assert page.encode().startswith(tables.PAGE_BEGINS)


def test_the_spreadsheet_has_a_line_for_every_answer_and_no_formula():
    lines = list(csv.DictReader(tables.as_csv(ROWS).splitlines()))
    assert [(line["student"], line["exercise"], line["result"]) for line in lines] == [
        ("anna", "4.1", "passed"), ("anna", "4.2", "mistake"), ("bo", "4.1", "other"), ("bo", "4.2", "mistake"),
        ("bo", "4.1", "passed"), ("bo", "4.2", "passed"), ("'+c", "", "not marked")]
    assert lines[2]["message"] == "'=1" and lines[-1]["file"] == "'+c.ipynb"


@pytest.mark.parametrize("text, there", [
    ("=1", "'=1"), (" =1", "'=1"), ("\t=1", "'=1"), ("\n@x", "'@x"), ("＝1", "'＝1"), ("a=1", "a=1"), ("−1", "−1"),
    ("\x00=1", "\\x00=1"), ("a\u202eb", "a\\u202eb"), ("", ""), (5, 5)])
def test_what_a_spreadsheet_would_compute_is_made_text(text, there):
    assert tables.harmless(text) == there


def test_the_gradebook_has_nbgraders_columns_and_the_best_file_of_each_student():
    lines = list(csv.DictReader(tables.as_nbgrader(ROWS).splitlines()))
    assert [(line["assignment"], line["student_id"], line["score"], line["max_score"]) for line in lines] == [
        (STEM, "anna", "1.0", "2.0"), (STEM, "bo", "2.0", "2.0")]


# -- the command -------------------------------------------------------------------------------------------------------

def test_the_command_says_what_is_wrong_before_it_runs_anything(tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("a,b\n")
    for options, says in (((tmp_path / "gone",), "is no folder"), ((tmp_path,), "holds no notebook"),
                          ((tmp_path, "--csv", tmp_path / "mine.csv"), "did not write it"),
                          ((tmp_path, "--html", tmp_path / "a.ipynb"), "should end in .html"),
                          ((tmp_path, "--csv", tmp_path / "gone" / "a.csv"), "make it first"),
                          ((tmp_path, "--seconds", "0"), "whole number")):
        with pytest.raises(SystemExit) as left:
            command.main(list(map(str, options)))
        assert left.value.code == 2 and says in capsys.readouterr().err
    assert (tmp_path / "mine.csv").read_text() == "a,b\n"


def test_the_command_does_not_start_among_the_submissions(tmp_path, monkeypatch, capsys):
    """There, Python would import a submission that is called json.py."""
    (tmp_path / "anna").mkdir()
    monkeypatch.chdir(tmp_path / "anna")
    with pytest.raises(SystemExit):
        command.main([".."])
    assert "the course's own folder" in capsys.readouterr().err


def test_a_table_of_before_is_written_again(tmp_path):
    for name, (write, _, ending) in command._FILES.items():
        path = tmp_path / f"{name}{ending}"
        path.write_text(write(ROWS), encoding="utf-8")
        assert command._wrong_with(path, name) == ""


def test_elsewhere_than_on_linux_nothing_is_run_and_the_command_says_what_to_do(tmp_path, monkeypatch, capsys):
    planting.handed_in(tmp_path / "a.ipynb", STEM, {})
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert command.main([str(tmp_path), "--quiet"]) == 1
    assert "needs Linux" in capsys.readouterr().err


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_has_no_way_that_leads_outside(machine, monkeypatch):
    """The kernel refuses such a program, on the machine that it is for."""
    monkeypatch.setattr("platform.machine", lambda: machine)
    for may_open in (True, False):
        code = syscalls.program(1234, may_open)
        steps = [code[place:place + 8] for place in range(0, len(code), 8)]
        for place, step in enumerate(steps):
            kind, then, otherwise = int.from_bytes(step[:2], "little"), step[2], step[3]
            assert kind == 0x06 or kind & 7 != 5 or place + 1 + max(then, otherwise) < len(steps)
        assert steps[-1][:2] == b"\x06\x00"


def run_command(folder, *options):
    """The rows of the CSV of a run, {(file, exercise): row}."""
    written = folder.parent / "class.csv"
    call = [sys.executable, "-m", "lessons.kit.collect", str(folder), "--quiet", "--csv", str(written), *options]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    with written.open(encoding="utf-8", newline="") as file:
        return {(row["file"], row["exercise"]): row for row in csv.DictReader(file)}


def with_cells(path, stem, cells):
    """Write a course's notebook with these cells, {id: source}, the new ones behind the imports."""
    notebook = planting.course(stem)
    ids = [cell["id"] for cell in notebook["cells"]]
    for id in cells.keys() & set(ids):
        notebook["cells"][ids.index(id)]["source"] = cells[id]
    notebook["cells"][3:3] = [{"cell_type": "code", "id": id, "metadata": {}, "outputs": [], "execution_count": None,
                               "source": cells[id]} for id in cells if id not in ids]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


HELPER = """import numpy as np
SCALE = 2 / 2
half = lambda x: x / 2
def mix(a, b, t):
    return SCALE * (t * a + (1 - t) * b)"""
AS_LEARNERS_DO = {
    "helper": {"helper": HELPER, "exercise-0-1": "def between(a, b, alpha):\n    return mix(a, b, alpha)\n"
                                                 "check('0.1', between)"},
    "lambda": {"exercise-0-1": "check('0.1', lambda a, b, alpha: b + alpha * (a - b))"},
    "kept": {"exercise-0-1": "def between(a, b, t):\n    return t * a + (1 - t) * b\n"
                             "result = check(id='0.1', answer=between) if False else check('0.1', between)\nresult"},
    "no-check": {"exercise-0-1": "between = lambda a, b, t: t * a + (1 - t) * b"},
    "magic": {"exercise-0-1": "%time 1 + 1\n!ls\nbetween = lambda a, b, t: t * a + (1 - t) * b\ncheck('0.1', between)"},
    "tried-out": {"exercise-0-1": "def between(a, b, t):\n    return t * a + (1 - t) * b\n"
                                  "print(between(x_0, x_1, 0.5))\nbetween?\ncheck('0.1', between, solved=solved)"},
    "broken-before": {"helper": "what is this", "spirals": "1 / 0\nwhile True: pass",
                      "exercise-0-1": "between = lambda a, b, t: t * a + (1 - t) * b\ncheck('0.1', between)"},
    "own-import": {"look-around": "import numpy\nimport torch as t",
                   "exercise-0-1": "def between(a, b, s):\n    return t.lerp(b, a, s) + numpy.zeros(3).sum()\n"
                                   "check('0.1', between)"},
    "with-torch": {"exercise-0-1": "import sklearn.linear_model\n@torch.no_grad()\ndef between(a, b, t):\n"
                                   "    return nn.Identity()(t * a + (1 - t) * b)\ncheck('0.1', between)"},
}


@on_linux
@pytest.mark.slow  # starts processes
def test_what_learners_do_around_their_answer_does_no_harm(tmp_path):
    for name, cells in AS_LEARNERS_DO.items():
        with_cells(tmp_path / "in" / f"{name}.ipynb", "00_start_here", cells)
    with_cells(tmp_path / "in" / "solved.ipynb", "00_start_here", {"parameters": "solved = True"})
    with_cells(tmp_path / "in" / "dots.ipynb", "00_start_here", {"exercise-0-1": "def between(*a): ...\n"
                                                                                 "check('0.1', between)"})
    with_cells(tmp_path / "in" / "deleted.ipynb", "00_start_here", {"exercise-0-1": "check('0.1', between)"})
    rows = run_command(tmp_path / "in")
    assert {file: row["message"] for (file, _), row in rows.items() if row["result"] not in ("passed", OPEN)} == {}
    assert [file for (file, _), row in rows.items() if row["result"] == OPEN] == [
        "deleted.ipynb", "dots.ipynb", "solved.ipynb"]


# -- every known mistake is named --------------------------------------------------------------------------------------

def planted(folder: Path, numbers) -> dict[tuple[str, str], str]:
    """Write copies of every notebook of the course, with wrong answers in them: {(file, exercise): the sentence of the
    mistake}.

    Args:
        numbers: (number of wrong answers) -> those of them that are planted.
    """
    says = {}
    for stem in (chapter.stem for chapter in chapters.CHAPTERS):
        copies = {}
        for place in submissions.asked_in(stem):
            for copy, number in enumerate(numbers(len(find(place.id).wrong))):
                wrong = find(place.id).wrong[number]
                code, _ = planting.written(wrong.answer, place.name, f"find({place.id!r}).wrong[{number}].answer")
                copies.setdefault(copy, {})[place.id] = planting.cell_with(stem, place.id, code)
                says[f"{stem}/{copy:02}.ipynb", place.id] = tables.printable(wrong.says)
        for copy, answers in copies.items():
            planting.handed_in(folder / stem / f"{copy:02}.ipynb", stem, answers)
    return says


def unnamed(folder, numbers):
    """The planted mistakes that the command did not name, and how many were planted."""
    says = planted(folder, numbers)
    rows = run_command(folder, "--seconds", "60")
    return len(says), {key: rows[key]["message"] for key, sentence in says.items()
                       if (rows[key]["result"], rows[key]["what"]) != ("mistake", sentence)}


@on_linux
@pytest.mark.slow  # starts processes
def test_a_mistake_in_every_exercise_is_named(tmp_path):
    count, missed = unnamed(tmp_path / "in", lambda count: [count // 2])
    assert count == len(exercise.exercises()) and missed == {}


@on_linux
@pytest.mark.release  # five minutes
def test_every_known_mistake_of_every_exercise_is_named(tmp_path):
    count, missed = unnamed(tmp_path / "in", range)
    assert count == sum(len(one.wrong) for one in exercise.exercises().values()) and missed == {}


@on_linux
@pytest.mark.slow  # starts processes
def test_the_solution_of_every_exercise_passes(tmp_path):
    for stem in (chapter.stem for chapter in chapters.CHAPTERS):
        answers = {}
        for place in submissions.asked_in(stem):
            one = find(place.id)
            code = exercise.solution(place.id).text.rsplit("\nIn the library: ", 1)[0]
            if callable(one.solution):
                code += f"\n\n{place.name} = {(one.teaching or one.solution).__name__}"
            answers[place.id] = planting.cell_with(stem, place.id, code if callable(one.solution) else
                                                   f"{place.name} = {one.solution!r}")
        planting.handed_in(tmp_path / "in" / f"{stem}.ipynb", stem, answers)
    rows = run_command(tmp_path / "in")
    assert {key: row["message"] for key, row in rows.items() if row["result"] != "passed"} == {}
    assert len(rows) == len(exercise.exercises())
