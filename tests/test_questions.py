"""The questions for Moodle and for Anki, read back by the rules of these formats."""
import csv
import re

import pytest

from lessons.kit.quiz import Choice, Question
from tools import questions

ALL = questions.in_order()
QUESTION = re.compile(r"::(?P<id>.*?)::\[html\](?P<asked>.*?) (?<!\\)\{(?P<choices>.*?)(?<!\\)\}", re.DOTALL)
CHOICE = re.compile(r"^  (?P<sign>[=~])(?P<text>.*?)(?<!\\)#(?P<answer>.*)$", re.MULTILINE)
MADE_UP = Question(id="8.z", question="Is `{a: 1}` = $\\nabla f$, ~or #2?", file="nowhere.yaml", choices=[
    Choice(text="a \\ b: {c}", right=True, answer='She said "1 = 1".'), Choice(text="<b>", answer="#"),
    Choice(text="~", answer="=")])


def read_gift(text):
    """{id: (question, [(right, choice, answer)])} as Moodle reads the file: a sign behind a backslash is only a
    sign."""
    asked = {}
    for match in QUESTION.finditer(text):
        choices = [(choice["sign"] == "=", _plain(choice["text"]), _plain(choice["answer"]))
                   for choice in CHOICE.finditer(match["choices"])]
        asked[match["id"]] = _plain(match["asked"]), choices
    return asked


def _plain(text):
    assert not re.search(r"(?<!\\)[~=#{}:]", re.sub(r"\\\\", "", text)), f"a sign of GIFT's in {text!r}"
    return re.sub(r"\\([\\~=#{}:])", r"\1", text)


@pytest.mark.parametrize("asked", [ALL, [MADE_UP]], ids=["the course's", "with every sign"])
def test_moodle_finds_every_question_with_its_choices_and_their_answers(asked):
    read = read_gift(questions.gift(asked))
    assert list(read) == [question.id for question in asked]
    for question in asked:
        text, choices = read[question.id]
        assert text == " ".join(questions.inline(question.question).split())
        assert [right for right, _, _ in choices] == [choice.right for choice in question.choices]
        for (_, text, answer), choice in zip(choices, question.choices):
            assert text == " ".join(questions.inline(choice.text).split())
            assert answer.endswith(" ".join(questions.inline(choice.answer).split()))


@pytest.mark.parametrize("asked", [ALL, [MADE_UP]], ids=["the course's", "with every sign"])
def test_anki_finds_a_card_a_question(asked):
    lines = questions.anki(asked).splitlines()
    rows = list(csv.reader([line for line in lines if not line.startswith("#")], delimiter="\t"))
    assert [row[0] for row in rows] == [f"weightspace-{question.id}" for question in asked]
    for (_, front, back, tags), question in zip(rows, asked):
        assert all(str(questions.inline(choice.text)) in front for choice in question.choices)
        assert back.count("<li>") == len(question.choices) and back.count("Right.") >= 1
        assert not set(tags) & set(" \t")
    assert "#guid column:1" in lines, "a second import must change the cards, not double them"


def test_the_chapters_follow_each_other_and_each_is_a_category():
    numbers = [int(question.id.partition(".")[0]) for question in ALL]
    assert numbers == sorted(numbers)
    assert questions.gift(ALL).count("$CATEGORY: ") == len(set(numbers))


def test_the_command_writes_both_files_and_says_where(tmp_path, capsys):
    questions.main([str(tmp_path / "new" / "folder")])
    said = capsys.readouterr().out
    for name in ("weightspace.gift", "weightspace.txt"):
        assert (tmp_path / "new/folder" / name).read_text(encoding="utf-8")
        assert f"{name}: {len(ALL)} questions" in said
