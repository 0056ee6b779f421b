"""docs/reliability.md has a row for every test that breaks something on purpose, and no other."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import reliability

TRIALS = reliability.trials()
ROW = re.compile(r"^\| (.+?) \| (.+?) \| (\[.+?\]\(.+?\)) \| (.+) \|$", re.MULTILINE)


def test_the_page_has_every_marked_test_and_no_other():
    text = reliability.PAGE.read_text(encoding="utf-8")
    rows = [row.groups() for row in ROW.finditer(text)]  # not the heads of tables, which link nothing
    listed = [row[:3] for row in rows]
    assert listed == [ROW.match(trial.row("x")).groups()[:3] for trial in TRIALS], "run `make reliability`"
    bad = [row for row in rows if row[3].startswith(("**failed", "**not run"))]
    assert not bad, "mend them, then run `make reliability`"
    assert text.endswith(reliability.TAIL) and text.startswith(reliability.HEAD)


def test_trials_are_told_in_two_sentences_that_fit_into_a_table():
    for text in (text for trial in TRIALS for text in (trial.done, trial.answers)):
        fits = len(text) <= 110 and text[0].isupper() and text[-1] != "." and not set(text) & set("|<>\n")
        assert fits, text


def test_reasons_name_no_folder_of_whoever_ran_the_tests(monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", "/home/me/store")
    said = f"not in {reliability.ROOT}/data/cache, nor in /home/me/store: a|b\n"
    assert reliability._without_paths(said) == "not in data/cache, nor in $WEIGHTSPACE_DATA: a b"
    monkeypatch.delenv("WEIGHTSPACE_DATA")
    assert reliability._without_paths("not in /home/me/store") == "not in /home/me/store"


def test_every_part_of_the_page_has_trials():
    assert {trial.part for trial in TRIALS} == set(reliability.PARTS)


MARKED = """
import pytest

@pytest.mark.fault("network", "A cable is cut", answers="Another is used")
@pytest.mark.parametrize("n", range(3))
def test_cable(n):
    if n == 2:
        pytest.skip("there is none")

@pytest.mark.fault("network", "A wall falls", answers="It holds")
def test_wall():
    assert 0

@pytest.mark.fault("data", "Windows are broken", answers="They are replaced")
@pytest.mark.skipif(True, reason="no windows here")
def test_windows():
    pass

@pytest.mark.fault("data", "Nobody runs this", answers="Nothing")
def test_nothing():
    pass
"""
RUNNING = """
import sys
import pytest
from pathlib import Path
from tools import reliability
reliability.ROOT = Path.cwd()
found, results = reliability.trials(), reliability.Results()
pytest.main(["-q", "-p", "no:cacheprovider", "-c", "pytest.ini", "-k", "not nothing", *sys.argv[1:]], plugins=[results])
Path("page").write_text(reliability.page(found, results, {"Day": "today"}), encoding="utf-8")
"""


@pytest.mark.slow  # runs pytest in a process of its own
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two"])
def test_the_page_says_how_each_trial_ended(tmp_path, workers):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_marked.py").write_text(MARKED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = fault: it breaks\n")
    root = str(Path(reliability.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r})\n{RUNNING}"
    subprocess.run([sys.executable, "-c", code, *workers], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    rows = [(row[1], row[4]) for row in ROW.finditer((tmp_path / "page").read_text(encoding="utf-8"))]
    assert rows == [("A cable is cut", "passed, 2 cases, 1 skipped: there is none"), ("A wall falls", "**failed**"),
                    ("Windows are broken", "**skipped**: no windows here"), ("Nobody runs this", "**not run**")]


@pytest.mark.parametrize("marker, says", [
    ("pytest.mark.fault('network', 'It falls')", "three plain texts"),
    ("pytest.mark.fault('network', name, answers='It stands')", "three plain texts"),
    ("pytest.mark.fault('moon', 'It falls', answers='It stands')", "there is no part 'moon'")])
def test_a_marker_that_says_something_else_is_refused(tmp_path, monkeypatch, marker, says):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text(f"@{marker}\ndef test_it(): pass\n")
    monkeypatch.setattr(reliability, "ROOT", tmp_path)
    with pytest.raises(ValueError, match=says):
        reliability.trials()
