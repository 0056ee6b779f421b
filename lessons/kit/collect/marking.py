"""What each answer is worth: the course's own check, put to the values that came out of a learner's cell."""
import functools
import json
import os
import re
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from data.threads import cores, side_by_side
from lessons.kit import exercise as exercises
from lessons.kit.collect import nursery, submissions, values
from lessons.kit.judging.running import Outcome

PASSED, OPEN, MISTAKE, OTHER = "passed", "not answered", "mistake", "other"
SECONDS, MEMORY = 10, 1_000_000_000  # of computing, and bytes, that one answer has if nothing else is said


@dataclass(frozen=True)
class Mark:
    """What an answer to an exercise is worth.

    Attributes:
        exercise: "4.2".
        kind: PASSED, OPEN, MISTAKE (a known one), or OTHER.
        label: the sentence of the known mistake, or what else was the matter, the same for all who did the same.
        says: what the check says to the learner.
    """
    exercise: str
    kind: str
    label: str = ""
    says: str = ""


@dataclass(frozen=True)
class Row:
    """One file that was handed in.

    Attributes:
        path: of the file, from the folder.
        chapter: the name of the course's notebook; "" where it is none.
        marks: one an exercise, in the notebook's order.
        problem: why there are none.
        notes: what else is to be said.
    """
    path: str
    chapter: str = ""
    marks: tuple[Mark, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        """How many exercises were passed."""
        return sum(mark.kind == PASSED for mark in self.marks)


def collect(folder: Path, seconds: int = SECONDS, memory: int = MEMORY, at_once: int | None = None,
            on_layers: Callable[[list[str]], None] = lambda layers: None,
            on_done: Callable[[int, int], None] = lambda done, total: None) -> list[Row]:
    """Run the exercises of all notebooks in a folder.

    Args:
        folder: where the notebooks lie, also in folders of their own.
        seconds: of computing that one answer has.
        memory: bytes that one answer may use.
        at_once: how many cells run at the same time; None for one on every core.
        on_layers: is told what protects this machine, before anything is run.
        on_done: is told after every notebook how many are done, and of how many.

    Returns:
        A row for every file, by name.

    Raises:
        ValueError: there is no such folder, or no notebook in it. Unprotected: this machine cannot run other people's
        code in safety.
    """
    paths = submissions.files(folder)
    if not paths:
        raise ValueError(f"{folder} holds no notebook (.ipynb), nor does a folder in it.")
    with nursery.opened(folder, seconds, memory) as (running, layers):
        on_layers(layers)
        marker, done = _Marker(running), []
        return side_by_side(lambda path: marker.row(path, os.fspath(path.relative_to(folder))), paths,
                            at_once or cores(), lambda number: (done.append(number), on_done(len(done), len(paths))))


class _Marker:
    def __init__(self, running):
        self._running, self._turn = running, threading.Lock()
        self._loaded = set()

    def row(self, path, name) -> Row:
        try:
            cells = self._cells(path)
        except submissions.NoSubmission as problem:
            return Row(name, problem=str(problem))
        except Unreadable:
            return Row(name, problem="This is no notebook that can be read.")
        stem = submissions.chapter_of(cells)
        if not stem:
            return Row(name, problem="This holds no exercise of the course.")
        self._load(stem)
        belonging = list(submissions.cells_of(stem, cells))
        marks = tuple(self._mark(stem, these) for these in belonging)
        return Row(name, stem, marks, notes=tuple(these.note for these in belonging if these.note))

    def _cells(self, path):
        file = submissions.opened(path)
        try:
            ended = self._running.run("read", file)
        finally:
            os.close(file)
        return read_cells(ended)

    def _load(self, stem):
        with self._turn:
            if stem not in self._loaded:
                self._running.load(stem)
                for exercise in submissions.asked_in(stem):
                    _solved(exercise.id)
                self._loaded.add(stem)

    def _mark(self, stem, cells) -> Mark:
        if cells.source is None:
            return Mark(cells.asked.id, OPEN)
        job = {"exercise": cells.asked.id, "before": cells.before, "cell": cells.source, "name": cells.asked.name}
        with nursery.sealed(job) as source:
            ended = self._running.run("answer", source, stem)
        with self._turn:  # what the judge does to warnings holds for the whole process
            return mark(cells.asked.id, ended)


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Notebook(_Message):
    cells: list[Annotated[list[str], Field(min_length=2, max_length=2)]]
    problem: Annotated[str, StringConstraints(max_length=200)]


class _Begun(_Message):
    state: Literal["open", "value", "function", "failed"]
    value: Any = None
    kind: Annotated[str, StringConstraints(max_length=60)] = ""
    problem: Annotated[str, StringConstraints(max_length=5000)] = ""


class _Tried(_Message):
    kind: Annotated[str, StringConstraints(max_length=60)]
    value: Any
    problem: Annotated[str, StringConstraints(max_length=5000)]


class Unreadable(ValueError):
    """A cell wrote what it should not."""


def _message(kind, line):
    try:
        return kind.model_validate(json.loads(line))
    except (ValueError, RecursionError) as error:  # pydantic's ValidationError and json's are ValueErrors
        raise Unreadable(str(error)[:200]) from error


def read_cells(ended: nursery.Ended) -> list[tuple[str, str]]:
    """The id and source of every code cell, from what a cell wrote that read a notebook.

    Raises:
        NoSubmission: it is no notebook, or one that is too large.
    """
    if ended.why != "ended" or len(ended.lines) != 1:
        raise submissions.NoSubmission("This is no notebook that can be read: reading it took too long or too much.")
    notebook = _message(_Notebook, ended.lines[0])
    if notebook.problem:
        raise submissions.NoSubmission(f"This is {notebook.problem}.")
    return [(id, source) for id, source in notebook.cells]


@functools.cache
def _solved(id):
    """(exercise, its cases, what the known wrong answers do with them)."""
    exercise = exercises.find(id)
    cases = exercise.cases() if callable(exercise.solution) else []
    return exercise, cases, exercises.tried_mistakes(exercise, cases) if cases else []


def mark(id: str, ended: nursery.Ended) -> Mark:
    """What an answer is worth, from what its cell wrote, none of which is believed.

    Args:
        id: the exercise.
        ended: what the cell wrote, and how it ended.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about values that nobody here has chosen
            return _mark(id, ended)
    except (Unreadable, values.NotAValue):
        return Mark(id, OTHER, "Sent something that is no answer.", "What this answer sent back cannot be read.")
    except Exception as error:  # an answer can be anything, and the other rows are still wanted
        return Mark(id, OTHER, "Could not be judged.", f"Comparing this answer stopped with {type(error).__name__}.")


def _mark(id, ended):
    begun = _message(_Begun, ended.lines[0]) if ended.lines else None
    state = begun.state if begun else "function"
    if state == "open":
        return Mark(id, OPEN)
    if state == "failed":
        return Mark(id, OTHER, f"Stopped with {_type(begun.kind)}.", begun.problem)
    exercise, cases, mistakes = _solved(id)
    if state == "value":
        return _marked(id, _of_value(exercise, values.decoded(begun.value)))
    outcomes = [_outcome(_message(_Tried, line)) for line in ended.lines[1:len(cases) + 1]]
    if cases and len(outcomes) == len(cases) or outcomes and outcomes[-1].kind == "endless":
        return _marked(id, exercises.decided(exercise, cases, outcomes, mistakes))
    if outcomes and outcomes[-1].problem and ended.why == "ended":  # an interrupt, after which no case is tried
        return Mark(id, OTHER, f"Stopped with {_type(outcomes[-1].kind)}.", outcomes[-1].problem)
    return _cut_short(id, ended)


def _of_value(exercise, value):
    if callable(exercise.solution):
        return exercises.Verdict(False, exercises.no_function(value), kind="no function")
    return exercises.decided_value(exercise, value)


def _outcome(tried):
    if tried.kind == "value":
        return Outcome("value", values.decoded(tried.value))
    return Outcome(tried.kind, problem=tried.problem or "Your function gave no result.")


def _cut_short(id, ended):
    """Of an answer that did not get as far as its last case."""
    label, says = {
        "late": ("Did not end.", "This was still running when its time was over, so it was stopped."),
        "wrote too much": ("Gave back too much.", f"The result has more than {nursery.MOST // 1_000_000} MB."),
        "ended": ("Ended Python.", "This ended Python before it gave a result."),
    }.get(ended.why, (f"Crashed Python ({ended.why}).", f"This ended Python with {ended.why}."))
    return Mark(id, OTHER, label, says)


_LABELS = {"nothing": "Returned nothing.", "changed": "Changed one of its arguments.", "endless": "Did not end.",
           "fork": "Started a process.", "unfit": "Gave back something that does not fit.",
           "no function": "Is no function."}
_WHOLE = ("The shape should be", "This should be a", "This should hold", "These keys", "The keys should be")


def _marked(id, verdict):
    """The mark of a verdict; without the answer's own numbers, it has the same label for all who did the same."""
    if verdict.passed:
        return Mark(id, PASSED, says=verdict.says)
    if verdict.wrong:
        return Mark(id, MISTAKE, verdict.says, verdict.says)
    if verdict.kind != "value":
        return Mark(id, OTHER, _LABELS.get(verdict.kind, f"Stopped with {_type(verdict.kind)}."), verdict.says)
    problem = verdict.problem if verdict.problem.startswith(_WHOLE) else "Gave other values."
    return Mark(id, OTHER, verdict.relation or problem, verdict.says)


def _type(name):
    """The name of a type of exception, or what stands for one that is none."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else "an error"
