"""Self-tests: a question with choices, each of which is answered by a sentence, also a wrong one.

The questions stand in `lessons/<package>/questions.yaml`. A sentence that states a fact has a marker, `holds`, that
names a condition of the ledger ("SAIL-4.cost_mmd") or a test ("tests/test_sail.py::test_nearer_is_not_faster"). No
reader sees it; a test asks `check_markers` whether it names something.
"""
from functools import cache
from pathlib import Path

import anywidget
import pydantic
import traitlets
import yaml

from lessons.kit import diary, markers
from lessons.kit.page import Markup, Page, bold, folded, inline, paragraph
from lessons.kit.view.widget import MODULE, write_page

FOLDER = Path(__file__).parents[1]  # of the chapters, each with its questions.yaml
MARKS = {True: ("✓", "Right."), False: ("✗", "Not this one.")}  # a sign and words for right and wrong


class Choice(pydantic.BaseModel, extra="forbid"):
    """One answer that a learner can choose.

    Attributes:
        text: the choice, a line of Markdown as `page.inline` reads it.
        answer: the sentence that appears when it is chosen, likewise.
        right: whether it is the right one.
        holds: the conditions of the ledger and the tests that carry the sentence.
    """
    text: str
    answer: str
    right: bool = False
    holds: list[str] = []


class Question(pydantic.BaseModel, extra="forbid"):
    """A question, three or four choices, and one of them is right.

    Attributes:
        id: "9.a", the chapter and a letter.
        question: a line of Markdown.
        choices: in the order in which they are shown.
        file: where it stands.
    """
    id: str = pydantic.Field(pattern=r"^\d+\.[a-z]$")
    question: str
    choices: list[Choice] = pydantic.Field(min_length=3, max_length=4)
    file: Path

    @pydantic.field_validator("choices")
    @classmethod
    def _has_one_right_choice(cls, choices):
        if (count := sum(choice.right for choice in choices)) != 1:
            raise ValueError(f"exactly one choice is right, here {count} are")
        return choices


@cache
def questions() -> dict[str, Question]:
    """All questions by id, package after package, as they stand in their files.

    Raises:
        ValueError: an entry is not well formed, or an id stands twice; it names the file and the id.
    """
    known: dict[str, Question] = {}
    for path in sorted(FOLDER.glob("*/questions.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
            try:
                question = Question(**entry, file=path)
            except pydantic.ValidationError as error:
                raise ValueError(f"{path}, question {entry.get('id')!r}: {error}") from error
            if question.id in known:
                raise ValueError(f"{path}, question {question.id!r}: the id stands already in "
                                 f"{known[question.id].file}")
            known[question.id] = question
    return known


def check_markers() -> None:
    """Check that every marker of every question names a condition of the ledger or a test.

    Raises:
        ValueError: one names nothing; it names the file and the id.
    """
    for question in questions().values():
        for marker in (marker for choice in question.choices for marker in choice.holds):
            try:
                markers.resolve(marker)
            except markers.UnknownMarker as error:
                raise ValueError(f"{question.file}, question {question.id!r}: {error}") from error


class Quiz(anywidget.AnyWidget):
    """A question in the page. All that is shown is in its state, so it needs no kernel.

    Attributes:
        question: what it asks.
        chosen: the place of the choice that was pressed last, None before.
    """
    _esm = MODULE
    spec = traitlets.Dict().tag(sync=True)
    chosen = traitlets.Int(None, allow_none=True).tag(sync=True)

    def __init__(self, question: Question):
        self.question = question
        choices = []
        for choice in question.choices:
            sign, word = MARKS[choice.right]
            choices.append({"text": str(inline(choice.text)), "answer": str(inline(choice.answer)),
                            "right": choice.right, "sign": sign, "word": word})
        super().__init__(spec={"kind": "quiz", "kicker": f"Test yourself: question {question.id}",
                               "question": str(inline(question.question)), "choices": choices})

    def __repr__(self):
        choices = self.question.choices
        return "\n".join([f"Question {self.question.id}: {self.question.question}",
                          *(f"  {number}. {choice.text}" for number, choice in enumerate(choices, 1)), "Answers:",
                          *(f"  {number}. {' '.join(MARKS[choice.right])} {choice.answer}"
                            for number, choice in enumerate(choices, 1))])

    def still(self) -> Page:
        """The question where no script runs: every choice opens its sentence."""
        choices = [folded(inline(choice.text), Page(choice.answer, paragraph(_answered(choice))))
                   for choice in self.question.choices]
        title = f"{self.question.id} {self.question.question}"
        asked = paragraph(bold(inline(title)))
        return Page(repr(self), Markup("").join([asked, *(choice.page for choice in choices)]))

    def save_html(self, path) -> Path:
        """Write the question as one page that needs no kernel and no network.

        Raises:
            StoreError: its folder cannot be written, or the disk is full; a page that was there stays as it was.
        """
        return write_page(path, f"Question {self.question.id}", {"spec": self.spec, "chosen": self.chosen})

    def _repr_mimebundle_(self, **arguments):
        bundle = super()._repr_mimebundle_(**arguments)
        data = (bundle[0] if isinstance(bundle, tuple) else bundle) or {}
        return {**data, "text/plain": repr(self), "text/html": self.still()._repr_html_()}


def _answered(choice):
    """The sentence of a choice behind its mark."""
    return bold(" ".join(MARKS[choice.right])) + " " + inline(choice.answer)


def quiz(id: str) -> Quiz:
    """Ask the learner a question of a chapter's questions.yaml, such as quiz("9.a").

    Raises:
        ValueError: there is no such question; it lists those that there are.
    """
    if id not in questions():
        raise ValueError(f"there is no question {id!r}; there are: {', '.join(questions())}")
    diary.opened(id)
    shown = Quiz(questions()[id])
    shown.observe(_noted, "chosen")
    return shown


def _noted(change):
    """The learner's diary has whether the choice that was pressed was right."""
    question = change["owner"].question
    if change["new"] in range(len(question.choices)):
        diary.answered(question.id, question.choices[change["new"]].right)
