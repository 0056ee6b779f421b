"""Markers name the condition of the ledger, or the test, that carries a sentence; no page shows them."""
import json
import re

import nbformat
import pytest

from lessons.kit import markers
from lessons.kit.chapters import CHAPTERS, ROOT
from lessons.kit.claims import ledger
from lessons.kit.markers import NamedTest, UnknownMarker, missing, resolve, statements, unknown
from lessons.kit.notebooks import to_html

NOTEBOOKS = [path for path in sorted((ROOT / "notebooks").rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
MARKED = [chapter.stem for chapter in CHAPTERS if chapter.stem != "13_published_tables"]
HERE = "tests/test_markers.py::test_a_marker_that_names_nothing_says_what_is_near"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_marker_of_a_notebook_names_something(notebook):
    assert unknown(notebook) == []


@pytest.mark.parametrize("name", MARKED)
def test_every_take_away_and_card_of_a_marked_notebook_has_a_marker(name):
    (notebook,) = [path for path in NOTEBOOKS if path.stem == name]
    assert statements(json.loads(notebook.read_text(encoding="utf-8")))
    assert missing(notebook) == []


def test_a_marker_holds_names_parted_by_semicolons():
    text = "A fact. <!-- holds: CTL-2.gap_mean; CART-8.several: cart over task_arithmetic -->\n* B <!--holds:A.b-->"
    assert markers.markers(text) == ["CTL-2.gap_mean", "CART-8.several: cart over task_arithmetic", "A.b"]
    assert markers.markers("No marker, and a < b -- c > d.") == []


@pytest.mark.parametrize("text", ["<!-- hold: CTL-2.gap_mean -->", "<!-- holds: -->", "<!-- holds: CTL-2.gap_mean; -->",
                                  "<!-- TODO -->", "a <!-- holds: CTL-2.gap_mean"])
def test_a_comment_that_is_no_marker_is_refused(text):
    with pytest.raises(UnknownMarker, match="is no marker; write <!-- holds: CTL-2.gap_mean -->"):
        markers.markers(text)


def test_every_condition_of_the_ledger_can_be_named():
    for id, claim in ledger().items():
        for condition in claim.conditions:
            (name,) = markers.markers(f"<!-- holds: {id}.{condition.number} -->")
            assert resolve(name) == condition


def test_a_test_is_named_by_its_file_and_function():
    assert resolve(HERE) == NamedTest(*HERE.split("::"))


@pytest.mark.parametrize("name, says", [
    ("CTL-2.gap_meen", "CTL-2 has no condition 'gap_meen'; near are CTL-2.gap_mean"),
    ("CTL-2", "CTL-2 has no condition ''"),
    ("CTL-2.own_least", "this number of CTL-2 has no bounds, so it can carry no sentence; near are CTL-2.own_most"),
    ("CTR-2.gap_mean", "the ledger has no claim 'CTR-2'; near are"),
    ("CART-13.x", "CART-13 has no condition 'x'"),
    ("tests/test_marker.py::test_x", "there is no file tests/test_marker.py; near are tests/test_markers.py"),
    (HERE + "s", f"defines no test '{HERE.split('::')[1]}s'; near are {HERE.split('::')[1]}"),
    ("tests/test_markers.py::HERE", "defines no test 'HERE'"),
    ("tests/test_markers.py", "a test is named as tests/test_line.py::test_name"),
    ("tests/../tests/test_markers.py::test_x", "a test is named as")])
def test_a_marker_that_names_nothing_says_what_is_near(name, says):
    with pytest.raises(UnknownMarker, match=re.escape(says)) as error:
        resolve(name)
    assert str(error.value).startswith(repr(name))


SUMMARY = """Before.

## In one minute (6 minutes)

* First, $a - b$. <!-- holds: CTL-2.gap_mean -->
* Second,
  over two lines.

* Third. <!-- holds: CTL-2.gap_men -->

**In practice.**

* *No take-away*."""
CARDS = """> **“A myth.”** No.
> It is not. <!-- holds: CTL-2.gap_mean -->

Between.

> **“Another.”** No.
> **“A third.”** No.

> **No card.** A remark."""


def notebook_of(folder, *texts):
    """A notebook's file with these Markdown cells, "text-0" and so on."""
    cells = [nbformat.v4.new_markdown_cell(text, id=f"text-{place}") for place, text in enumerate(texts)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "made_up.ipynb")
    return folder / "made_up.ipynb"


def test_take_aways_are_the_list_of_the_minute_and_cards_are_quoted_myths(tmp_path):
    path = notebook_of(tmp_path, CARDS, SUMMARY)
    listed = statements(json.loads(path.read_text(encoding="utf-8")))
    assert [(one.cell, one.kind, one.beginning) for one in listed] == [
        ("text-0", "card", "> **“A myth.”** No. > It is not."), ("text-0", "card", "> **“Another.”** No."),
        ("text-0", "card", "> **“A third.”** No."), ("text-1", "take-away", "* First, $a - b$."),
        ("text-1", "take-away", "* Second, over two lines."), ("text-1", "take-away", "* Third.")]


def test_what_has_no_marker_and_what_names_nothing_is_listed_with_its_place(tmp_path):
    path = notebook_of(tmp_path, CARDS, SUMMARY, "A sentence. <!-- holds: -->")
    assert missing(path) == [
        "made_up, cell text-0: this card has no marker: > **“Another.”** No.",
        "made_up, cell text-0: this card has no marker: > **“A third.”** No.",
        "made_up, cell text-1: this take-away has no marker: * Second, over two lines."]
    first, second = unknown(path)
    assert first.startswith("made_up, cell text-1: 'CTL-2.gap_men': CTL-2 has no condition 'gap_men'; near are CTL-2.")
    assert second.startswith("made_up, cell text-2: <!-- holds: --> is no marker")


def test_a_page_does_not_show_a_marker(tmp_path):
    path = notebook_of(tmp_path, SUMMARY, CARDS)
    with_markers = to_html(nbformat.read(path, as_version=4))
    plain = notebook_of(tmp_path, *(re.sub(" <!--.*?-->", "", text) for text in (SUMMARY, CARDS)))
    assert "holds: CTL-2.gap_mean -->" in with_markers
    without = re.sub(r" ?<!-- holds.*?-->", "", with_markers)
    assert without == to_html(nbformat.read(plain, as_version=4))
