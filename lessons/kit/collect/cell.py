"""What happens in a cell: a process that has given up its rights reads a notebook, or runs one learner's answer.

What it writes is lines of JSON, which the collecting process believes nothing of.
"""
import ast
import contextlib
import errno
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator

import torch
from IPython.core.inputtransformer2 import TransformerManager

from lessons.kit import exercise as exercises
from lessons.kit.collect import submissions, values

MOST_CELLS, MOST_CODE, LONGEST_ID = 1000, 400_000, 64  # of a notebook: cells, characters of code, characters of an id
LONGEST = 600  # characters of a sentence
_SHOWS = {"check", "hint", "solution", "display", "quiz"}  # calls that only show something

Send = Callable[[dict], None]


# -- reading a notebook ------------------------------------------------------------------------------------------------

def read(file: int, send: Send) -> None:
    """Send the code cells of the notebook that this open file holds: {"cells": [[id, source], …]}, or {"problem": what
    is the matter}."""
    problem, cells = "", []
    try:
        with os.fdopen(os.dup(file), "rb") as opened:
            notebook = json.load(opened)
        cells = [[_id_of(cell), _source_of(cell)] for cell in notebook["cells"] if cell.get("cell_type") == "code"]
    except MemoryError:
        problem = "too large to be read"
    except Exception:  # whatever lies in a file
        problem = "no notebook"
    if not problem and (len(cells) > MOST_CELLS or sum(len(source) for _, source in cells) > MOST_CODE):
        problem, cells = f"more than {MOST_CELLS:,} cells or {MOST_CODE:,} characters of code", []
    send({"cells": [] if problem else cells, "problem": problem})


def _id_of(cell):
    """Colab keeps it among the metadata."""
    metadata = cell.get("metadata")
    name = cell.get("id") or (metadata.get("id") if isinstance(metadata, dict) else None)
    return name if isinstance(name, str) and len(name) <= LONGEST_ID and name.isprintable() else ""


def _source_of(cell):
    source = cell.get("source", "")
    text = source if isinstance(source, str) else "".join(map(str, source))
    return text.encode("utf-8", "backslashreplace").decode()  # half a letter, which JSON can hold


def warm_up(chapter: str) -> None:
    """Run the course's solutions of a notebook's exercises once, so that cells find imported what is imported late."""
    torch.set_num_threads(1)  # a copy of a process has one thread alone
    for place in submissions.asked_in(chapter):
        exercise = exercises.find(place.id)
        if callable(exercise.solution):
            list(exercises.tried(exercise, exercise.solution, exercise.cases()))


# -- running an answer -------------------------------------------------------------------------------------------------

def answer(job: dict, names: dict, send: Send) -> None:
    """Run a learner's answer: first what it is, then a line for every case.

    Args:
        job: "exercise", its id; "before", the sources of the cells before; "cell", the source of the exercise's own;
            "name", what the course calls the answer.
        names: what the course's own cells import and set.
        send: writes a line.
    """
    exercise = exercises.find(job["exercise"])
    cases = exercise.cases() if callable(exercise.solution) else []  # before any code of the learner runs
    names = {"__name__": "__main__", "display": lambda *shown, **named: None, **names}
    for source in job["before"]:
        _define(source, names)
    given, problem = _given(job, names)
    if problem:
        send({"state": "failed", **problem})
    elif not exercises.is_begun(given):
        send({"state": "open"})
    elif not callable(given) or not cases:
        send({"state": "value", "value": values.coded(given)})
    else:
        send({"state": "function"})
        try:
            for outcome in exercises.tried(exercise, given, cases):
                is_value = outcome.kind == "value"
                send({"kind": outcome.kind[:60], "value": values.coded(outcome.value) if is_value else None,
                      "problem": _short(outcome.problem)})
        except BaseException as error:  # an interrupt, which a check lets pass
            send({**_stopped(error), "value": None})


def _short(text):
    return text[:LONGEST].encode("utf-8", "backslashreplace").decode()


def _statements(source) -> list[ast.stmt]:
    """A cell's statements, also of one with IPython's own signs.

    Raises:
        SyntaxError: it is no Python.
    """
    try:
        return ast.parse(source).body
    except SyntaxError:
        return ast.parse(TransformerManager().transform_cell(source)).body


def _define(source, names):
    """Run what of an earlier cell only defines something: imports, functions, classes, constants. An experiment would
    take its time, and most answers do not need it."""
    try:
        statements = _statements(source)
    except Exception:  # a cell that is no Python; it says so where it is an answer
        return
    for statement in statements:
        if _only_defines(statement):
            with contextlib.suppress(BaseException):
                _run(statement, names)


def _only_defines(statement):
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)):
        return True
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    value = statement.value
    calls = any(isinstance(node, (ast.Call, ast.Await)) for node in ast.walk(value))
    return isinstance(value, ast.Lambda) or not calls


def _run(statement, names):
    code = compile(ast.Module([statement], []), "the cell", "exec", dont_inherit=True)
    exec(code, names)  # the one place where a learner's code runs; see `confining`


def _given(job, names):
    """(what the exercise's cell hands to its check, {}), or (None, what is the matter)."""
    try:
        statements = _statements(job["cell"])
    except BaseException as error:  # parsing what is nested too deep, too
        return None, _stopped(error)
    first = None
    for statement in statements:
        if _only_shows(statement):
            continue
        try:
            _run(statement, names)
        except BaseException as error:  # a line that needs an experiment; the answer may be right all the same
            first = first or error
    return _handed_over(statements, job, names, first)


def _handed_over(statements, job, names, first):
    expression = next(_checked(statements, job["exercise"]), None) or ast.Name(job["name"], ast.Load())
    try:
        code = compile(ast.fix_missing_locations(ast.Expression(expression)), "the check", "eval", dont_inherit=True)
        return eval(code, names), {}
    except NameError as error:
        if isinstance(expression, ast.Name) and expression.id not in names:
            return (None, _stopped(first)) if first else (None, {})
        return None, _stopped(error)
    except BaseException as error:
        return None, _stopped(first or error)


def _checked(statements, id) -> Iterator[ast.expr]:
    """What is handed to this exercise's check, the last call first."""
    for statement in reversed(statements):
        for node in ast.walk(statement):
            if _is_call(node, {"check"}) and node.args and getattr(node.args[0], "value", None) == id:
                yield from node.args[1:2]
                yield from (keyword.value for keyword in node.keywords if keyword.arg == "answer")


def _is_call(node, names):
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names


def _only_shows(statement):
    return isinstance(statement, (ast.Expr, ast.Assign)) and _is_call(statement.value, _SHOWS)


def _stopped(error):
    try:
        text = str(error)
    except BaseException:  # an error that cannot be written
        text = ""
    name = type(error).__name__
    return {"kind": name[:60], "problem": _short(f"The cell stopped with {name}: {text}")}


# -- trying what must be impossible ------------------------------------------------------------------------------------

def probe(job: dict, layers: list[str], send: Send) -> None:
    """Try to break out, in the ways that nobody may be left: {"layers": what holds, "possible": what was not refused}.

    Args:
        job: "folder", that of the submissions.
    """
    attempts = {"start a process": os.fork, "open a socket": socket.socket,
                "write a file": lambda: os.open("/tmp/of-a-cell", os.O_WRONLY | os.O_CREAT, 0o600),
                "look into the folder": lambda: os.listdir(job["folder"]),
                "delete a file": lambda: os.unlink("/tmp/of-a-cell-that-is-not-there"),
                "end its parent": lambda: os.kill(os.getppid(), 0),
                "run a program": lambda: os.execv(sys.executable, ["python", "-c", ""])}
    possible = [what for what, attempt in attempts.items() if not _refused(attempt)]
    send({"layers": layers, "possible": possible})


def _refused(attempt):
    try:
        result = attempt()
    except OSError as error:
        return error.errno in (errno.EPERM, errno.EACCES)
    if attempt is os.fork and result == 0:
        os._exit(0)
    return False
