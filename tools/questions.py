"""The self-tests' questions for other programs: `python -m tools.questions` (`make questions`) writes

* build/questions/weightspace.gift, which Moodle imports as multiple-choice questions (format GIFT), a category a
  chapter;
* build/questions/weightspace.txt, which Anki imports as cards (File, Import), tagged with their chapters.

Formats: https://docs.moodle.org/en/GIFT_format and https://docs.ankiweb.net/importing/text-files.html
"""
import argparse
from collections.abc import Iterable
from pathlib import Path

from lessons.kit.chapters import LESSONS, ROOT
from lessons.kit.page import Markup, bold, inline, paragraph
from lessons.kit.quiz import MARKS, Choice, Question, questions

FOLDER = ROOT / "build/questions"
_IN_GIFT = str.maketrans({sign: f"\\{sign}" for sign in "\\~=#{}:"})
_ANKI = ("#separator:tab", "#html:true", "#notetype:Basic", "#deck:Weightspace", "#guid column:1", "#tags column:4")


def chapter_of(question: Question) -> str:
    """Its chapter's number and title: "9 A head start"."""
    number = int(question.id.partition(".")[0])
    return next(f"{number} {one.title}" for one in LESSONS if int(one.number) == number)


def in_order() -> list[Question]:
    """All questions, from chapter 0 to the last."""
    def place(question):
        number, _, letter = question.id.partition(".")
        return int(number), letter

    return sorted(questions().values(), key=place)


def gift(asked: Iterable[Question]) -> str:
    """The questions in the format GIFT: the right choice begins with =, another one with ~, and what a choice is
    answered by stands behind its #."""
    blocks, category = [], None
    for question in asked:
        if (chapter := chapter_of(question)) != category:
            category = chapter
            blocks.append(f"$CATEGORY: $course$/top/Weightspace/{category.replace('/', '//')}")
        choices = "\n".join(f"  {'=' if choice.right else '~'}{_for_gift(inline(choice.text))}"
                            f"#{_for_gift(_answered(choice))}" for choice in question.choices)
        blocks.append(f"::{question.id}::[html]{_for_gift(inline(question.question))} {{\n{choices}\n}}")
    return "\n\n".join([*blocks, ""])


def _for_gift(html):
    """One line, in which no sign has a meaning of GIFT's."""
    return " ".join(html.split()).translate(_IN_GIFT)


def anki(asked: Iterable[Question]) -> str:
    """The questions as cards: the question and its choices in front, and behind them what every choice is answered by.
    Each has an id, so that a second import changes the cards that are there."""
    lines = []
    for question in asked:
        texts = Markup("").join(Markup("<li>{}</li>").format(inline(choice.text)) for choice in question.choices)
        front = Markup("{}<ol>{}</ol>").format(paragraph(inline(question.question)), texts)
        answers = Markup("").join(Markup("<li>{}</li>").format(_answered(choice)) for choice in question.choices)
        back = Markup("<ol>{}</ol>").format(answers)
        tags = f"weightspace::chapter-{question.id.partition('.')[0]}"
        fields = (f"weightspace-{question.id}", _quoted(front), _quoted(back), tags)
        lines.append("\t".join(fields))
    return "\n".join([*_ANKI, *lines, ""])


def _quoted(html):
    """A field in one line, in which a quotation mark does not end it."""
    one_line = " ".join(html.split())
    return '"' + one_line.replace('"', '""') + '"'


def _answered(choice: Choice) -> Markup:
    return bold(MARKS[choice.right][1]) + " " + inline(choice.answer)


def main(arguments: list[str] | None = None) -> None:
    """Write both files, and say where they are."""
    parser = argparse.ArgumentParser(prog="python -m tools.questions",
                                     description="Write the self-tests' questions for Moodle (GIFT) and for Anki.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where to (default: build/questions)")
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    asked = in_order()
    for name, text in (("weightspace.gift", gift(asked)), ("weightspace.txt", anki(asked))):
        (folder / name).write_text(text, encoding="utf-8")
        print(f"{folder / name}: {len(asked)} questions")


if __name__ == "__main__":
    main()
