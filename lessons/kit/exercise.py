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
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from lessons.kit import chapters, surroundings
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
        return (f'<div role="status" style="border-left:5px solid {colour};padding:0.3em 0.8em"><b>{mark} Exercise {self.exercise.id}, '
                f'{html.escape(self.exercise.title)}{"" if self.exercise.title.endswith("?") else "."}</b> {html.escape(self.message)}</div>')


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
    folded = "".join(f"<details><summary>Hint {number} of {len(steps)}</summary>{html.escape(step)}</details>" for number, step in enumerate(steps, 1))
    return Page("\n".join(f"Hint {number}: {step}" for number, step in enumerate(steps, 1)), folded)


def solution(id: str) -> Page:
    """The library's own function, as it runs, folded; or the right value."""
    exercise = find(id)
    text = inspect.getsource(exercise.solution) if callable(exercise.solution) else repr(exercise.solution)
    text = textwrap.dedent(text)
    return Page(text, f"<details><summary>Show the solution of {exercise.id}, {html.escape(exercise.title)}</summary><pre>{html.escape(text)}</pre></details>")


# -- judging ---------------------------------------------------------------------------------------

def _judge(exercise, answer):
    if answer is None or answer is Ellipsis:
        return False, "Nothing here yet: write your answer in the cell above and run it again."
    if not callable(exercise.solution):
        return _judge_value(exercise, answer)
    if not callable(answer):
        return False, f"This should be a function, but it is a {type(answer).__name__}: hand over its name without calling it."
    cases = exercise.cases()
    outcomes = [_outcome(answer, case) for case in cases]
    expected = [exercise.solution(*copy.deepcopy(case)) for case in cases]
    problems = [outcome.problem or _difference(outcome.value, right, exercise.tolerance) for outcome, right in zip(outcomes, expected)]
    if not any(problems):
        return True, exercise.praise
    for wrong in exercise.wrong:
        theirs = [_outcome(wrong.answer, case) for case in cases]
        if all(a.kind == b.kind and (a.kind != "value" or _same(a.value, b.value, exercise.tolerance)) for a, b in zip(outcomes, theirs)):
            return False, wrong.says
    return False, next(filter(None, problems))


def _judge_value(exercise, answer):
    if _same(answer, exercise.solution, exercise.tolerance):
        return True, exercise.praise
    for wrong in exercise.wrong:
        if _same(answer, wrong.answer, exercise.tolerance):
            return False, wrong.says
    if isinstance(exercise.solution, dict):  # too long to choose from, and among the options would stand the solution
        return False, _difference(answer, exercise.solution, exercise.tolerance)
    options = sorted(map(repr, [exercise.solution, *(wrong.answer for wrong in exercise.wrong)]))
    return False, f"{_shown(answer)} is not one of the answers: choose one of {', '.join(options)}."


@dataclass(frozen=True)
class _Outcome:
    kind: str  # "value", "nothing", "changed" or the name of an exception
    value: object = None
    problem: str = ""


def _outcome(function, case):
    arguments = copy.deepcopy(case)
    try:
        with surroundings.restored():  # the solution, run next, must find them too
            value = function(*arguments)
    except Exception as error:
        return _Outcome(type(error).__name__, None, f"Your function stopped with {type(error).__name__}: {_shown(error, str)}")
    if not _same(arguments, case, 0.0):
        return _Outcome("changed", value, "Your function changed one of its arguments in place. The caller's tensors must stay as they are: make new ones.")
    if value is None or value is Ellipsis:
        return _Outcome("nothing", None, "Your function returned nothing yet: end it with a return statement.")
    return _Outcome("value", value)


def _same(a, b, tolerance):
    return not _difference(a, b, tolerance)


_LONGEST = 300  # characters that a message shows of an answer


def _shown(value, write=repr):
    """A value as text of limited length, also where it cannot be written."""
    try:
        text = write(value)
    except Exception:  # a whole number of thousands of digits, a __repr__ that fails
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _difference(got, right, tolerance):
    """"" where the two are equal, else what differs, type before shape before value. Never raises."""
    try:
        return _compared(got, right, tolerance)
    except Exception as error:  # an answer can be any object, and fail at whatever is asked of it
        return f"Your answer, a {type(got).__name__}, cannot be compared with the right one: that stopped with {type(error).__name__}."


def _unusual(tensor):
    """What kind of tensor it is, if it holds no numbers that can be compared; else ""."""
    kinds = {"complex": tensor.is_complex(), "meta": tensor.is_meta, "quantised": tensor.is_quantized, "nested": tensor.is_nested,
             "sparse": tensor.layout != torch.strided}
    return next((kind for kind, is_it in kinds.items() if is_it), "")


def _compared(got, right, tolerance):
    if isinstance(got, torch.Tensor) and (kind := _unusual(got)):
        return f"This should hold ordinary real numbers, but it is a {kind} tensor."
    if isinstance(right, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return f"This should be a tensor of shape {tuple(right.shape)}, but it is a {type(got).__name__}."
        if got.shape != right.shape:
            return f"The shape should be {tuple(right.shape)}, but it is {tuple(got.shape)}."
        if torch.allclose(got.double(), right.double(), rtol=tolerance, atol=tolerance, equal_nan=True):
            return ""
        return f"The shape is right, the values are not: they differ by up to {(got.double() - right.double()).abs().max():.3g}."
    if isinstance(right, dict):
        if not isinstance(got, dict):
            return f"This should be a dict, but it is a {type(got).__name__}."
        if got.keys() != right.keys():
            return f"The keys should be {', '.join(map(str, right))}, but they are {_shown(got, lambda keys: ', '.join(map(str, keys)))}."
        return next((f"At key {key!r}: {problem}" for key in right if (problem := _difference(got[key], right[key], tolerance))), "")
    if isinstance(right, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(right):
            return f"This should hold {len(right)} things, but it is {_shown(got)}."
        return next((problem for a, b in zip(got, right) if (problem := _difference(a, b, tolerance))), "")
    if isinstance(right, float):
        if np.iscomplexobj(got):  # float() would take the real part of numpy's
            return "This should be a real number, but it is a complex one."
        try:
            number = float(got)
        except (TypeError, ValueError):
            return f"This should be a number, but it is a {type(got).__name__}."
        except OverflowError:
            return f"The number should be {right:.6g} on one of the cases, but it is too large for a float."
        return "" if math.isclose(number, right, rel_tol=tolerance, abs_tol=tolerance) else f"The number should be {right:.6g} on one of the cases, but it is {number:.6g}."
    if callable(getattr(right, "identical", None)):  # an xarray object
        return "" if right.identical(got) else "The data set is another one."
    return "" if type(got) is type(right) and got == right or isinstance(got, str) and got == right else f"This should be {right!r} on one of the cases, but it is {_shown(got)}."
