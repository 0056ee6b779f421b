"""Notebooks as learners hand them in: the course's own, with answers in the cells of the exercises."""
import ast
import copy
import inspect
import json
import linecache
from pathlib import Path

from lessons.kit import chapters
from lessons.kit.collect import submissions


def course(stem: str) -> dict:
    """The course's notebook of this name."""
    return json.loads(chapters.chapter(stem).notebook.read_text(encoding="utf-8"))


def handed_in(path: Path, stem: str, answers: dict[str, str]) -> Path:
    """Write a copy of a course's notebook.

    Args:
        path: where.
        stem: which.
        answers: {id of an exercise: the code that stands in its cell}; the others stay as they are.
    """
    notebook = copy.deepcopy(course(stem))
    places = {exercise.cell: exercise.id for exercise in submissions.asked_in(stem)}
    for cell in notebook["cells"]:
        if places.get(cell["id"]) in answers:
            cell["source"] = answers[places[cell["id"]]].splitlines(keepends=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def name_of(stem: str, id: str) -> str:
    """What the answer to an exercise is called in the notebook."""
    return next(exercise.name for exercise in submissions.asked_in(stem) if exercise.id == id)


def cell_with(stem: str, id: str, code: str) -> str:
    """The cell of an exercise, with this code in it and the check at its end."""
    return f'{code}\n\n\ncheck("{id}", {name_of(stem, id)}, solved=solved)\n'


def written(answer: object, name: str, otherwise: str) -> tuple[str, bool]:
    """An answer of the course as code that gives it this name, and whether that is the answer's own text.

    Args:
        answer: a value or a function. A function without a closure is written with its own text, behind the names of
            its module.
        otherwise: an expression that finds it in the course, where it has no text of its own.
    """
    if not callable(answer):
        return f"{name} = {answer!r}", True
    text = _text_of(answer)
    if text is None or name in answer.__code__.co_names:  # in the notebook, the name is the learner's own function
        return f"from lessons.kit.exercise import find\n{name} = {otherwise}", False
    names = (f"import importlib\nglobals().update({{name: value for name, value in vars(importlib.import_module("
             f"{answer.__module__!r})).items() if not name.startswith('__')}})\n")
    if text.startswith("def "):
        return f"{names}{text}\n{name} = {answer.__name__}", True
    return f"{names}{name} = ({text})", True


def _text_of(function):
    if not inspect.isfunction(function) or hasattr(function, "__wrapped__"):
        return None
    code = function.__code__
    if code.co_freevars or function.__defaults__:
        return None
    source = "".join(linecache.getlines(code.co_filename))
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Lambda, ast.FunctionDef))]
    for node in nodes:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        if first != code.co_firstlineno or isinstance(node, ast.FunctionDef) and (
                node.name != function.__name__ or node.decorator_list or node.col_offset):
            continue
        text = ast.get_source_segment(source, node)
        if isinstance(node, ast.FunctionDef) or _same(text, code):
            return text
    return None


def _same(text, code):
    """Whether the text of a lambda is that of this code: several may stand in one line."""
    mine = compile(f"({text})", "text", "eval").co_consts[0]
    return [getattr(mine, name) for name in _ALIKE] == [getattr(code, name) for name in _ALIKE] \
        and [type(one) for one in mine.co_consts] == [type(one) for one in code.co_consts] \
        and [one for one in mine.co_consts if not inspect.iscode(one)] == [
            one for one in code.co_consts if not inspect.iscode(one)]


_ALIKE = ("co_code", "co_names", "co_varnames", "co_freevars")
