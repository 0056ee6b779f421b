"""Answers that people give to the exercises, a file a chapter, written from the task's text before its known wrong
answers were looked at; but for chapters 7 and 8, whose author had seen them.

The sentences that help were then written with these answers at hand. Answers of people who had seen no check are in
the files unseen_* and hurried_*.

`says` is a piece of the sentence that says what is wrong with the answer, as its author judged; "" where the check can
only show an input on which it fails. RIGHT are right answers in another dress; of one that is right on the exercise's
cases and stops on what the next cell gives it, `says` is a piece of what that cell says.
"""
import importlib
from dataclasses import dataclass
from pathlib import Path

FILES = sorted(Path(__file__).parent.glob("chapter_*.py"))
UNSEEN = [path for kind in ("unseen", "hurried") for path in sorted(Path(__file__).parent.glob(f"{kind}_*.py"))]


@dataclass(frozen=True)
class Natural:
    """One answer to the exercise `id`; `what` says in a few words what its author thought."""
    id: str
    what: str
    answer: object
    says: str = ""


def unseen() -> list[tuple]:
    """(exercise, what its author thought, answer, whether it is right) of people who had seen no check."""
    return [one for path in UNSEEN for one in importlib.import_module(f"tests.natural.{path.stem}").ANSWERS]


def answers() -> dict:
    """{chapter's number: the module with its WRONG and RIGHT}, of the chapters that have a file here."""
    return {path.stem.removeprefix("chapter_"): importlib.import_module(f"tests.natural.{path.stem}") for path in FILES}
