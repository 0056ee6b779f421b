"""docs/where.md: for every picture of every notebook the cell that shows it, the function that draws it, the one that
measured its numbers, and where these are kept. `python -m tools.where` writes it (`make docs`).

The cells are read, and only their imports are executed.
"""
import ast
import functools
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lessons.kit import archive, sweep
from lessons.kit.chapters import CHAPTERS, ROOT
from lessons.kit.experiment import Experiment

PAGE = ROOT / "docs/where.md"
HEAD = """# Where every picture comes from

A line for every call of a notebook that draws:

* the line above the picture's title, by which you find it here;
* the cell by its id (JupyterLab shows it under the gear in the right side bar; in the file it stands as `"id"`);
* the function that draws: it names the marks, often in `_charts` beside it, gives the numbers of a setting, and may
  compute a ratio or a slope;
* the functions that choose the title, a sentence that states the finding; "the same" is the function that draws;
* the function that measured. Where it asks several questions, the file of this one is named too;
* the files in `data/measured`, in chapters 12 and 13 one for each width: profile full, seed 0. Other profiles,
  seeds and data are kept in `$WEIGHTSPACE_DATA/sweeps` under the same first name. Without a file, the numbers are made
  when the cell runs.

`make docs` writes this page from the notebooks.
"""


@dataclass(frozen=True)
class Drawing:
    """One call that draws, in a cell of a notebook.

    Attributes:
        cell: the cell's id.
        draws: the function behind the decorators.
        measured: what measured the sweep that it is given: experiments, several where each measures a part, or a
            function of a room of experiments.
    """
    cell: str
    draws: Callable
    measured: tuple


def drawings(notebook: Path) -> Iterator[Drawing]:
    """Every call of a `@view`, `@panel` or `@still` function of the lessons, in the notebook's order."""
    names: dict[str, object] = {}
    measured: dict[str, tuple] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        exec(compile(ast.Module(imports, []), notebook.name, "exec"), names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                measured[node.targets[0].id] = sources(node.value, names, measured)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            function = named(call.func, names)
            if hasattr(function, "__wrapped__") and draws(inspect.unwrap(function)):
                given = sources(call.args[0], names, measured) if call.args else ()
                yield Drawing(cell["id"], inspect.unwrap(function), given)


def draws(function: Callable) -> bool:
    """Whether it is decorated as one that makes a picture, or says that it gives a view."""
    source = inspect.getsource(function)
    return re.search(r"^@(\w+\.)?(still|view)$|^def .*-> View:$", source, re.MULTILINE) is not None


def sources(expression: ast.expr, names: dict, measured: dict) -> tuple:
    """What measured it: what stands behind the variables in it, and what it calls."""
    behind = []
    for node in ast.walk(expression):
        if isinstance(node, ast.Name):
            behind += measured.get(node.id, ())
        function = named(node.func, names) if isinstance(node, ast.Call) else None
        owner = getattr(function, "__self__", None)
        several = getattr(owner, "of", None)  # an experiment of which each width is one
        if isinstance(owner, Experiment):
            behind.append(owner)
        elif isinstance(several, dict):
            behind += several.values()
        elif "experiment" in getattr(function, "__module__", "").split("."):
            behind.append(function)
    return tuple(behind)


def named(node: ast.expr, names: dict):
    """What a dotted name stands for; None where it is another expression."""
    if isinstance(node, ast.Attribute):
        return getattr(named(node.value, names), node.attr, None)
    return names.get(node.id) if isinstance(node, ast.Name) else None


def link(function) -> str:
    """A function's name, as a link to its file."""
    path = Path(inspect.getsourcefile(inspect.unwrap(function))).relative_to(ROOT)
    return f"[`{function.__name__}`](../{path.as_posix()}) in `{path.relative_to('lessons').as_posix()}`"


def reached(function: Callable) -> dict[Callable, str]:
    """What a function names in its file, and what that names there: {function or class: its name}."""
    known = vars(inspect.getmodule(function))
    names, waiting = {function: function.__name__}, [function]
    while waiting:
        for name in re.findall(r"\b\w+\b", inspect.getsource(waiting.pop())):
            other = inspect.unwrap(known[name]) if callable(known.get(name)) else None
            if getattr(other, "__module__", "") == function.__module__ and other not in names:
                names[other] = name
                waiting.append(other)
    return names


def kicker(function: Callable) -> str:
    """The line above the title of a view, where its file writes it."""
    for part in reached(function):
        if written := re.search(r'"kicker": "([^"]+)"', inspect.getsource(part)):
            return written[1]
    return ""


def titles(function: Callable) -> list[str]:
    """The names of the functions that choose a view's title, which begin with `finding`."""
    return sorted(name for name in reached(function).values() if name.startswith("finding"))


def measures(drawing: Drawing) -> list[str]:
    """Links to what measured it: the functions, and the file of its question where they ask several."""
    links = []
    for measure in (getattr(one, "measure", one) for one in drawing.measured):
        links.append(link(measure))
        source = Path(inspect.getsourcefile(inspect.unwrap(measure)))
        part = source.with_name(Path(inspect.getsourcefile(drawing.draws)).name)
        if source.name == "__init__.py" and part.exists() and part != source:
            path = part.relative_to(ROOT / "lessons").as_posix()
            links.append(f"[`{path}`](../lessons/{path})")
    return list(dict.fromkeys(links))


@functools.cache
def archived() -> dict[str, list[str]]:
    """The files of the archive by the module that measured them."""
    files = {}
    for path in sorted(archive.FOLDER.glob("*.nc")):
        files.setdefault(sweep.read(path).attrs["module"], []).append(path.name)
    return files


def kept(drawing: Drawing) -> list[str]:
    """The files of the archive with its numbers."""
    files = []
    for one in drawing.measured:
        if not isinstance(one, Experiment):
            files += archived().get(one.__module__, [])
        elif (path := one.archived_at("full", 0)).exists():
            files.append(path.name)
    return list(dict.fromkeys(files))


def page() -> str:
    """The page as it should be."""
    lines = [HEAD]
    for chapter in CHAPTERS:
        lines += [f"## {chapter.place.removesuffix('.ipynb')}, `{chapter.package}`", "",
                  "| above the title | cell | drawn by | title by | measured by | kept (full, seed 0) |",
                  "|---|---|---|---|---|---|"]
        for drawing in {(one.cell, one.draws): one for one in drawings(chapter.notebook)}.values():
            above, chosen, files = kicker(drawing.draws), titles(drawing.draws), kept(drawing)
            cells = (above, f"`{drawing.cell}`", link(drawing.draws),
                     "<br>".join(f"`{name}`" for name in chosen) or ("the same" if above else ""),
                     "<br>".join(measures(drawing)) or "the cell itself", "<br>".join(f"`{name}`" for name in files))
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT), "written;", archive.FOLDER.relative_to(ROOT), "holds the sweeps")
