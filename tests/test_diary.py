"""The learner's diary, and the map of the course that fills."""
import json
import os
import re
import sys
import warnings
from html.parser import HTMLParser

import nbformat
import pytest
import torch

from data import places, store
from lessons.kit import diary, notebooks, quiz
from lessons.kit.chapters import CHAPTERS, LESSONS, chapter
from lessons.kit.exercise import check, exercises, find
from lessons.kit.predict import predict
from lessons.kit.progress import WORD, progress


@pytest.fixture
def kept(monkeypatch):
    """A diary is kept, also in tests. What is given reads it as a list of dicts."""
    monkeypatch.setenv("WEIGHTSPACE_DIARY", "on")
    monkeypatch.setattr(places, "_said", set())
    monkeypatch.setattr(diary, "_said_last", {})
    monkeypatch.setattr(diary, "_opened", set())
    return lambda: [json.loads(line) for path in diary.paths() if path.exists()
                    for line in path.read_bytes().splitlines() if line]


def the_file():
    path, = (path for path in diary.paths() if path.exists())
    return path


def between(a, b, alpha):
    return alpha * a + (1 - alpha) * b


# -- what is noted -----------------------------------------------------------------------------------------------------

def test_checks_are_noted_with_what_the_course_says_of_a_known_mistake(kept):
    secret = "what the learner wrote"
    check("0.1", lambda a, b, alpha: (a + b) / 2)
    check("0.1", lambda a, b, alpha: (a.sum(), secret))
    check("0.1", between)
    first, *checks = kept()
    assert (first["what"], first["id"]) == ("opened", "00_start_here")
    assert [(line["what"], line["id"], line["passed"]) for line in checks] == [
        ("check", "0.1", False), ("check", "0.1", False), ("check", "0.1", True)]
    assert [line["mistake"] for line in checks] == [
        "That is the half-way point, whatever α is. Give a the share α and b the rest.", "", ""]
    assert secret not in the_file().read_text()


def test_what_is_not_begun_is_no_check_and_the_same_answer_again_is_not_noted_twice(kept):
    def dots(a, b, alpha):
        ...

    for answer in (dots, None, between, between):
        check("0.1", answer)
    assert [line["what"] for line in kept()] == ["opened", "check"]


def test_every_known_mistake_of_the_course_is_named(kept):
    exercise = find("0.1")
    for wrong in exercise.wrong:
        check("0.1", wrong.answer)
        assert kept()[-1]["mistake"] == wrong.says


def test_a_choice_of_a_self_test_is_noted_when_it_is_pressed(kept):
    shown = quiz.quiz("0.a")
    right = [choice.right for choice in shown.question.choices].index(True)
    for chosen in ((right + 1) % 3, right, None, 99, right):
        shown.chosen = chosen
    assert [(line["what"], line["id"], line["passed"]) for line in kept()[1:]] == [
        ("answer", "0.a", False), ("answer", "0.a", True)]


IN_A_CELL = """
    import json, os
    os.environ["WEIGHTSPACE_DIARY"] = "on"
    from IPython.core.interactiveshell import InteractiveShell
    from lessons.kit.chapters import chapter
    shell = InteractiveShell.instance()

    def run(stem, cell):
        cells = json.loads(chapter(stem).notebook.read_text(encoding="utf-8"))["cells"]
        source, = ("".join(one["source"]) for one in cells if one["id"] == cell)
        return shell.run_cell(source).raise_error()

    shell.run_cell("from lessons.kit.predict import predict")
"""


def test_a_guess_is_noted_and_comes_back_as_a_draft_that_tells_nothing(kept, start_python):
    """In the notebooks' own cells, as IPython runs them: one with its question written out, one with a measured
    one."""
    guess = """
    run("00_start_here", "guess")
    shell.user_ns["guess"].commit(0.25)
    shell.run_cell("class panels:\\n    class bell:\\n        question = staticmethod(lambda grid: f'{grid} points?')")
    shell.run_cell("grid = 7\\nguess_b = predict(panels.bell.question(grid))")
    shell.run_cell("bell, grid = panels.bell, 7\\nguess_c = predict(bell.question(grid))\\nguess_c.commit(0.5)")
    """
    again = """
    run("00_start_here", "guess")
    guess = shell.user_ns["guess"]
    print(guess.before, guess.committed, guess.hides)
    shell.run_cell("from lessons.kit.predict import predict")
    shell.run_cell("class bell:\\n    question = staticmethod(lambda grid: f'{grid} points?')")
    for grid in (7, 8):
        shell.run_cell(f"grid = {grid}\\nguess_c = predict(bell.question(grid))")
        print(shell.user_ns["guess_c"].before)
    """
    _, errors = start_python(IN_A_CELL + guess).communicate(timeout=60)
    guesses = [(line["id"], line["value"]) for line in kept() if line["what"] == "guess"]
    assert guesses == [("00_start_here/guess", 0.25), ("14_words/bell-guess", 0.5)], errors
    out, errors = start_python(IN_A_CELL + again).communicate(timeout=60)
    assert [line for line in out.splitlines() if "Out[" not in line] == ["0.25 None True", "0.5", "None"], errors


def test_a_guess_outside_of_a_notebook_of_the_course_is_not_noted(kept):
    guess = predict("how much?")
    guess.commit(0.5)
    assert kept() == [] and guess.before is None


def test_what_notebooks_ask_is_all_of_the_course():
    asked = [one.asks for one in CHAPTERS]
    assert sorted(id for asks in asked for id in asks.exercises) == sorted(exercises())
    assert sorted(id for asks in asked for id in asks.questions) == sorted(quiz.questions())
    calls = [call for asks in asked for call in asks.guesses]
    cells = [id for asks in asked for id in asks.guesses.values()]
    assert len(set(calls)) == len(calls) and len(set(cells)) == len(cells) > 40
    written = [cell.source for one in CHAPTERS for cell in nbformat.read(one.notebook, as_version=4).cells
               if cell.cell_type == "code"]
    assert len(cells) == sum(len(re.findall(r"(?<!def )\bpredict\(", source)) for source in written)


# -- where none is kept ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("variables", [
    {}, {"CI": "true", "PYTEST_CURRENT_TEST": ""}, {"WEIGHTSPACE_DIARY": "off"}, {"WEIGHTSPACE_DIARY": "0"},
    {"WEIGHTSPACE_DIARY": "offf"}], ids=str)
def test_in_tests_in_ci_and_where_it_is_switched_off_there_is_none(variables, monkeypatch, quiet_store):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    check("0.1", between)
    quiz.quiz("0.a").chosen = 0
    assert not quiet_store.exists() and "svg" not in progress()._repr_html_()


def test_a_learner_s_own_kernel_keeps_one(monkeypatch):
    for name in ("CI", "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)
    assert diary.is_on()


def test_solved_notebooks_keep_none(kept, monkeypatch):
    check("0.1", None, solved=True)
    monkeypatch.setattr(sys.modules["__main__"], "solved", True, raising=False)
    check("0.1", between)
    assert kept() == []


def test_notebooks_that_run_by_themselves_keep_none(kept, tmp_path):
    cells = [nbformat.v4.new_code_cell("profile = 'quick'", metadata={"tags": ["parameters"]}),
             nbformat.v4.new_code_cell("import os\nprint(os.environ['WEIGHTSPACE_DIARY'])")]
    kernel = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), tmp_path / "a.ipynb")
    executed = notebooks.execute(tmp_path / "a.ipynb", tmp_path / "b.ipynb", profile="quick")
    assert executed.cells[-1].outputs[0].text == "off\n" and os.environ["WEIGHTSPACE_DIARY"] == "on"


# -- the file ----------------------------------------------------------------------------------------------------------

@pytest.mark.fault("killed", "Two notebooks write to a learner's diary at once", answers="No line is lost")
def test_two_notebooks_at_once_lose_no_line(kept, start_together):
    start_together("""
    import os
    os.environ["WEIGHTSPACE_DIARY"] = "on"
    from lessons.kit import diary
    """, """
    for number in range(200):
        diary.guessed(f"{os.getpid()}-{number}", float(number), "how much? " * 20)
    """)
    lines = kept()
    assert len({line["id"] for line in lines}) == len(lines) == 400 and not diary.read().problems


def test_only_its_learner_may_read_it(kept):
    check("0.1", between)
    assert the_file().stat().st_mode & 0o077 == 0 or sys.platform == "win32"


DAMAGE = [b"\x00\xff\xfe", b"{", b"[]", b"null", b'{"v": 1}', b"[" * 100_000, b"9" * 10_000,
          b'{"v": 1, "at": "yesterday", "what": "check", "id": "0.1"}',
          b'{"v": 1, "at": "2026-01-01T00:00:00+00:00", "what": "guess", "id": "x", "value": NaN}',
          b'{"v": 1, "at": "2026-01-01T00:00:00", "what": "check", "id": "0.1"}']


@pytest.mark.parametrize("line", DAMAGE, ids=lambda line: repr(line[:30]))
@pytest.mark.fault("stored", "A line of a learner's diary is damaged",
                   answers="It is skipped and named, and the others are read")
def test_a_damaged_line_is_skipped_and_named(kept, line):
    check("0.1", lambda a, b, alpha: a)
    with open(the_file(), "ab") as file:
        file.write(line)  # and no end of a line: the next one must not be lost with it
    check("0.1", between)
    known = diary.read()
    assert [entry.passed for entry in known.entries] == [False, False, True]
    assert known.problems == [f"Damaged and skipped: line 3 of {the_file()}."]
    assert f"line 3 of {the_file()}" in progress().text


def test_a_diary_of_a_later_version_is_left_alone(kept):
    check("0.1", between)
    with open(the_file(), "ab") as file:
        file.write(b'{"v": 2, "new": "form"}\n')
    before = the_file().read_bytes()
    check("0.1", lambda a, b, alpha: a)
    assert the_file().read_bytes() == before and not diary.read().entries
    assert "written by a later version of the course, so it is left alone" in progress().text
    with pytest.raises(store.StoreError, match="later version"):
        progress().export(the_file().with_name("copy"))


def test_what_a_learner_types_is_no_later_version(kept):
    diary.guessed("00_start_here/guess", 0.5, '\n{"v": 7, "what": "?"}')
    assert len(diary.read().entries) == 1


@pytest.mark.parametrize("what", ["folder", "fifo"])
def test_something_else_in_its_place_stops_no_lesson(kept, what):
    path = diary.paths()[-1]
    path.parent.mkdir(parents=True)
    path.mkdir() if what == "folder" else os.mkfifo(path)
    with pytest.warns(store.DataWarning, match=f"not noted in your diary, because {path} is a"):
        assert check("0.1", between).passed
    assert f"{path} is a" in progress().text


@pytest.mark.fault("full", "The disk is full when the diary is written",
                   answers="The lesson goes on, and one warning says so")
def test_a_full_disk_stops_no_lesson_and_is_said_once(kept, full_disk):
    check("0.1", lambda a, b, alpha: a)
    size = the_file().stat().st_size
    with full_disk(size + 20), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert check("0.1", between).passed and check("0.1", between).passed
    assert [str(one.message)[:45] for one in said] == ["what you do is not noted in your diary, becau"]
    check("0.1", between)
    assert [entry.passed for entry in diary.read().entries] == [False, False, True]


def test_folders_that_may_not_be_written_stop_no_lesson(kept, tmp_path, close):
    close(tmp_path)
    with pytest.warns(store.DataWarning, match="not noted in your diary"):
        assert check("0.1", between).passed
    assert kept() == [] and "still empty" in progress().text


def test_where_the_data_folder_is_closed_it_is_in_one_s_own_and_never_in_a_shared_store(kept, quiet_store, tmp_path,
                                                                                        close, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_SHARED", str(tmp_path / "shared"))
    check("0.1", lambda a, b, alpha: a)
    assert the_file().is_relative_to(quiet_store)
    close(quiet_store)
    with warnings.catch_warnings(action="ignore"):
        check("0.1", between)
    assert [path.is_relative_to(tmp_path / "own") for path in diary.paths() if path.exists()] == [True, False]
    assert sorted(entry.passed for entry in diary.read().entries) == [False, False, True]
    assert not (tmp_path / "shared").exists()


def test_two_users_of_one_folder_have_a_diary_each(kept, monkeypatch):
    for name in ("ada", "../../alan"):
        monkeypatch.setattr("getpass.getuser", lambda name=name: name)
        diary._said_last.clear()
        diary.checked("0.1", True)
        assert len(diary.read().entries) == 1
    assert sorted(path.name for path in the_file().parent.iterdir()) == ["------alan.jsonl", "ada.jsonl"]


def test_an_answer_cannot_switch_the_diary_off_by_accident(kept):
    def spoiling(a, b, alpha):
        os.environ["WEIGHTSPACE_DIARY"] = "off"
        torch.set_default_dtype(torch.float64)
        return between(a, b, alpha)

    check("0.1", spoiling)
    assert kept()[-1]["passed"] is True


# -- the map -----------------------------------------------------------------------------------------------------------

class Seen(HTMLParser):
    """Links, labels of drawings, and the rows of a page."""

    def __init__(self, page):
        super().__init__()
        self.links, self.labels, self.rows, self.unnamed = [], [], [], 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "svg" and "aria-hidden" not in attributes:
            assert attributes["role"] == "img"
            self.labels.append(attributes["aria-label"])
            self.unnamed += not attributes["aria-label"]
        if tag == "tr":
            self.rows.append("")

    def handle_data(self, text):
        if self.rows:
            self.rows[-1] += text


def test_the_map_has_every_notebook_and_nothing_filled_where_no_diary_is_kept():
    page = progress()
    seen = Seen(page._repr_html_())
    assert seen.links == [one.place for one in CHAPTERS] and seen.labels == []
    assert "diary" not in page._repr_html_() and "done" not in seen.rows[0]


def test_the_map_fills(kept):
    empty = Seen(progress()._repr_html_())
    assert len(empty.labels) == 2 * len(CHAPTERS) and not empty.unnamed
    check("1.1", find("1.1").solution)
    check("1.2", lambda *_: None)
    for id in chapter("01_linearity").asks.guesses.values():
        diary.guessed(id, 0.5, "?")
    quiz.quiz("1.a").chosen = 0
    page = progress()
    done = page.chapters["01_linearity"]
    right = quiz.questions()["1.a"].choices[0].right
    assert done.is_opened and not page.chapters["00_start_here"].is_opened
    assert done.counts("exercises") == (1, len(done.asked["exercises"]))
    assert done.counts("guesses") == (3, 3) and done.counts("questions")[0] == right
    words = ("1 of 3 exercises passed, 3 of 3 predictions made, "
             f"{int(right)} of 6 self-test questions answered correctly")
    assert words in Seen(page._repr_html_()).labels and words in page.text
    assert f"lesson 1, {done.share:.0%} done" in Seen(page._repr_html_()).labels


def test_it_says_where_to_go_on(kept):
    assert progress().text.startswith("The map is still empty")
    check("3.1", find("3.1").solution)
    page = progress()
    first, title = Seen(page._repr_html_()).links[0], chapter("03_averaging").title
    assert page.text.startswith(f"Go on with lesson 3, {title}, at exercise 3.2. So far: 1 of ")
    place, _, heading = first.partition("#")
    assert place == "03_averaging.ipynb" and heading.startswith("Exercise-3.2-")


def do_all(stem):
    """Note that all of a notebook is done."""
    asks = chapter(stem).asks
    for id in asks.exercises:
        diary.checked(id, True)
    for id in asks.guesses.values():
        diary.guessed(id, 0.5, "?")
    for id in asks.questions:
        diary.answered(id, True)


def test_behind_a_lesson_that_is_done_comes_the_next_and_at_the_end_nothing(kept):
    do_all("00_start_here")
    assert progress().text.startswith("Go on with lesson 1, ")
    for one in LESSONS:
        do_all(one.stem)
    assert progress().text.startswith("You have done the whole course. So far: ")


def test_names_of_an_older_or_a_newer_course_are_passed_over(kept):
    for id in ("99.1", "55_gone", "00_start_here/gone"):
        diary.checked(id, True)
    assert progress().text.startswith("The map is still empty")


# -- export and delete -------------------------------------------------------------------------------------------------

def test_a_copy_for_a_teacher_says_the_same_and_replaces_nothing(kept, tmp_path, monkeypatch):
    check("0.1", lambda a, b, alpha: (a + b) / 2)
    check("0.1", between)
    copy = progress().export(tmp_path / "ada.jsonl", name="Ada <b>L</b>")
    head, *lines = map(json.loads, copy.read_text(encoding="utf-8").splitlines())
    assert (head["what"], head["id"]) == ("export", "Ada <b>L</b>") and len(lines) == 3
    with pytest.raises(store.StoreError, match="is there already. Choose another name, such as .*ada-2.jsonl"):
        progress().export(copy)
    with pytest.raises(store.StoreError, match="copy.jsonl cannot be written: .*Choose a folder"):
        progress().export(copy / "copy.jsonl")
    monkeypatch.setenv("WEIGHTSPACE_DIARY", "off")  # a teacher's
    theirs = progress(copy)
    assert theirs.chapters["00_start_here"].counts("exercises") == (1, 1) and "<b>L" not in theirs._repr_html_()
    assert "delete" not in theirs._repr_html_()


def test_an_export_that_is_no_diary_is_told_or_passed_over(kept, tmp_path, monkeypatch):
    path = tmp_path / "<img src=x>.jsonl"
    path.write_text("<script>alert(1)</script>\n")
    assert "<script" not in progress(path)._repr_html_() and "<img" not in progress(path)._repr_html_()
    monkeypatch.setattr(diary, "LARGEST", 10)
    with pytest.raises(store.StoreError, match="too large to be a diary"):
        progress(path)
    with pytest.raises(store.StoreError, match="is a folder"):
        progress(tmp_path)


def test_it_is_deleted_for_a_clear_word_alone(kept):
    check("0.1", between)
    for word in ("", "yes", "delete"):
        told = progress().delete(word)
        assert f'delete("{WORD}")' in told.text and "all 2 lines" in told.text and the_file().exists()
    assert "Deleted: " in progress().delete(WORD).text and kept() == []
    assert "There is no diary" in progress().delete(WORD).text
    check("0.1", between)
    assert [line["what"] for line in kept()] == ["opened", "check"]
