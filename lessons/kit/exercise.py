"""Exercises: a task, a check that teaches, hints in steps, and the library's own function as the solution.

A chapter lists its exercises in its `exercises.py`, in EXERCISES. A wrong answer that people plausibly give is data: a
function that gives it, and the sentence that helps. The check runs the learner's function on a few cases; if it behaves
like the solution it passes, if it behaves like a known wrong answer it gets that one's sentence, and otherwise a
general one, shape before value.
"""
import copy
import functools
import html
import importlib
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lessons.kit import chapters, surroundings
from lessons.kit.judging import alike, difference, outcome, same, shown
from lessons.kit.page import Page

@dataclass(frozen=True)
class Wrong:
    """A plausible wrong answer, and what to say to who gives it."""
    answer: object
    says: str


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        id: "1.2": chapter and number.
        title: a few words.
        minutes: how long it takes someone who knows PyTorch.
        solution: the library's function, or the right value where the answer is not a function.
        wrong: at least three plausible wrong answers.
        hints: steps, each giving away a little more.
        cases: () -> argument tuples to try a function on. A wrong answer must differ from the solution on at least one
            of them.
        praise: what the learner now knows, said when the check passes.
        tolerance: relative and absolute, for numbers.
    """
    id: str
    title: str
    minutes: int
    solution: object
    wrong: Sequence[Wrong]
    hints: Sequence[str]
    praise: str
    cases: Callable[[], list[tuple]] = field(default=lambda: [()])
    tolerance: float = 1e-6


@dataclass(frozen=True)
class Result:
    """What a check says; it shows itself in a notebook."""
    exercise: Exercise
    passed: bool
    message: str

    def __repr__(self):
        return f"{'passed' if self.passed else 'not yet'} {self.exercise.id}: {self.message}"

    def _repr_html_(self):
        colour, mark = ("#009E73", "✓") if self.passed else ("#D55E00", "↻")
        title = html.escape(self.exercise.title) + ("" if self.exercise.title.endswith("?") else ".")
        head = f"<b>{mark} Exercise {self.exercise.id}, {title}</b>"
        style = f"border-left:5px solid {colour};padding:0.3em 0.8em"
        return f'<div role="status" style="{style}">{head} {html.escape(self.message)}</div>'


@functools.cache
def exercises() -> dict[str, Exercise]:
    """All exercises of all chapters by id."""
    return {exercise.id: exercise for one in chapters.CHAPTERS for exercise in _of(one)}


def _of(chapter):
    return importlib.import_module(chapter.exercises).EXERCISES


def find(id: str) -> Exercise:
    """The exercise with this id.

    Raises:
        ValueError: there is none.
    """
    number = str(id).split(".")[0]
    for chapter in chapters.CHAPTERS:
        if chapter.number == number:  # that chapter's alone: all of them take seconds to import
            for exercise in _of(chapter):
                if exercise.id == id:
                    return exercise
    raise ValueError(f"there is no exercise {id!r}; there are: {', '.join(exercises())}")


def check(id: str, answer, solved: bool = False) -> Result:
    """Say whether an answer is right, and if not, what to think about next.

    Args:
        id: the exercise, "1.2".
        answer: the learner's function or value. It is given copies, and what it sets for the whole process is set back,
            so it can spoil nothing.
        solved: check the library's own answer instead; notebooks that run unattended use this.
    """
    exercise = find(id)
    if solved:
        answer = exercise.solution
    with surroundings.restored():
        passed, message = _judge(exercise, answer)
    return Result(exercise, passed, message)


def hint(id: str) -> Page:
    """The hints of an exercise, folded: open one at a time."""
    steps = find(id).hints
    lines, folded = [], ""
    for number, step in enumerate(steps, 1):
        lines.append(f"Hint {number}: {step}")
        folded += f"<details><summary>Hint {number} of {len(steps)}</summary>{html.escape(step)}</details>"
    return Page("\n".join(lines), folded)


def solution(id: str) -> Page:
    """The library's own function, as it runs, folded; or the right value."""
    exercise = find(id)
    text = inspect.getsource(exercise.solution) if callable(exercise.solution) else repr(exercise.solution)
    text = textwrap.dedent(text)
    summary = f"Show the solution of {exercise.id}, {html.escape(exercise.title)}"
    return Page(text, f"<details><summary>{summary}</summary><pre>{html.escape(text)}</pre></details>")


# -- judging ---------------------------------------------------------------------------------------

def _judge(exercise, answer):
    if answer is None or answer is Ellipsis:
        return False, "Nothing here yet: write your answer in the cell above and run it again."
    if not callable(exercise.solution):
        return _judge_value(exercise, answer)
    if not callable(answer):
        kind = type(answer).__name__
        return False, f"This should be a function, but it is a {kind}: hand over its name without calling it."
    cases = exercise.cases()
    outcomes = [outcome(answer, case) for case in cases]
    expected = [exercise.solution(*copy.deepcopy(case)) for case in cases]
    problems = [here.problem or difference(here.value, right, exercise.tolerance)
                for here, right in zip(outcomes, expected)]
    if not any(problems):
        return True, exercise.praise
    for wrong in exercise.wrong:
        theirs = [outcome(wrong.answer, case) for case in cases]
        if all(alike(here, there, exercise.tolerance) for here, there in zip(outcomes, theirs)):
            return False, wrong.says
    return False, next(filter(None, problems))


def _judge_value(exercise, answer):
    if same(answer, exercise.solution, exercise.tolerance):
        return True, exercise.praise
    for wrong in exercise.wrong:
        if same(answer, wrong.answer, exercise.tolerance):
            return False, wrong.says
    if isinstance(exercise.solution, dict):  # too long to choose from, and among the options would stand the solution
        return False, difference(answer, exercise.solution, exercise.tolerance)
    options = sorted(map(repr, [exercise.solution, *(wrong.answer for wrong in exercise.wrong)]))
    return False, f"{shown(answer)} is not one of the answers: choose one of {', '.join(options)}."
