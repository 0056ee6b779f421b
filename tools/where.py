"""docs/where.md: for every picture of every notebook the cell that shows it, the function that draws it, the one that
measured its numbers, the tests that guard it, and where the numbers are kept. `python -m tools.where` writes it
(`make docs`).

The cells are read, and only their imports are executed.
"""
import ast
import functools
import inspect
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lessons.kit import archive, sweep
from lessons.kit.chapters import CHAPTERS, ROOT, Chapter
from lessons.kit.experiment import Experiment
from tools import guards

PAGE = ROOT / "docs/where.md"
NOT_COMPUTING = {"kit", "experiment", "exercises"}  # rooms
HEAD = """# Where every picture comes from

Every row is a call of a notebook that draws. If you know a picture by its title, search for the title's first words:
`grep -rn "^def\\|Signs agree" lessons/*/panels* | grep -B1 "Signs agree"` prints the function that chooses it, and
that function's name stands on this page. The columns say:

* **above the title**: the small line above the picture's title, by which you find the picture here; below it the file
  of the picture, if [the gallery](gallery.md) shows it;
* **cell**: the cell by its id (JupyterLab shows it under the gear in the right side bar; in the file it stands as
  `"id"`);
* **drawn by**: the function that draws. It names the marks, often in `_charts` beside it, gives the numbers of a
  setting, and may compute a ratio or a slope;
* **title by**: the functions that choose the title, a sentence that states the finding. "The same" is the function that
  draws;
* **measured by**: the function that measured. If a function measures for several pictures, the second link is the file
  that holds this picture's part; other further links are functions that contributed. Where no experiment measured the
  numbers, this column says what makes them: a function that a cell calls, the code of a cell, or the function that
  draws;
* **guarded by**: the files in `tests` that name the function that draws, or one that chooses the title. If there are
  more than two, only the two are listed that name these functions most. Where this column is empty, no file names them,
  but `tests/notebooks` executes every notebook;
* **kept**: the files in `data/measured` that hold its numbers, which were measured in profile full with seed 0.
  Chapters 12 and 13 have a file for each width of the network, chapter 7 one for each suite of tasks. Where this column
  is empty, the numbers are made when the cell runs. Numbers of other profiles, seeds and data lie in
  `$WEIGHTSPACE_DATA/sweeps`, in files whose names begin in the same way.

`make docs` writes this page from the notebooks.
"""


@dataclass(frozen=True)
class Variable:
    """What is known of a notebook's variable.

    Attributes:
        cell: the cell that made it last, by its id.
        measured: the experiments behind it.
        called: the functions of the lessons whose value it is, which belong to no experiment.
    """
    cell: str
    measured: tuple = ()
    called: tuple = ()


@dataclass(frozen=True)
class Drawing:
    """One call that draws, in a cell of a notebook.

    Attributes:
        cell: the cell's id.
        draws: the function behind the decorators.
        measured: what measured the sweep that it is given: experiments, several where each measures a part, or a
            function of a room of experiments.
        called: {function of the lessons, of no experiment, whose value it is given: the cell that calls it}.
        made_in: the cells that made what it is given; empty where nothing is given.
        panel: which of the notebook's panels it is, from 0; None for other pictures.
    """
    cell: str
    draws: Callable
    measured: tuple
    called: Mapping[Callable, str]
    made_in: tuple[str, ...]
    panel: int | None


def drawings(notebook: Path) -> Iterator[Drawing]:
    """Every call of a `@view`, `@panel` or `@still` function of the lessons, in the notebook's order."""
    names: dict[str, object] = {}
    variables: dict[str, Variable] = {}
    panels = itertools.count()
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        exec(compile(ast.Module(imports, []), notebook.name, "exec"), names)
        for variable, value in assigned(tree):
            known = value and made(value, cell["id"], names, variables)
            variables[variable] = known or Variable(cell["id"])
        kept = [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and is_panel(node.targets[0])]
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            function = named(call.func, names)
            if hasattr(function, "__wrapped__") and draws(inspect.unwrap(function)):
                panel = next(panels) if call in kept else None
                yield Drawing(cell["id"], inspect.unwrap(function), *given(call, cell["id"], names, variables), panel)


def draws(function: Callable) -> bool:
    """Whether it is decorated as one that makes a picture, or says that it gives a view."""
    source = inspect.getsource(function)
    return re.search(r"^@(\w+\.)?(still|view)$|^def .*-> View:$", source, re.MULTILINE) is not None


def is_panel(target: ast.expr) -> bool:
    """Whether a name is that of a panel, which the table of chapters counts."""
    return isinstance(target, ast.Name) and re.fullmatch(r"panel(_\w+)?", target.id) is not None


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """The variables of a cell, each with its value; None where several take one value apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from _pairs(node.targets[0], node.value)


def _pairs(target, value):
    """The names in a target, each with its value; of several names, each with its own if that is a call."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        alike = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
        values = value.elts if alike else [None] * len(target.elts)
        for part, its in zip(target.elts, values, strict=True):
            yield from _pairs(part, its if isinstance(its, ast.Call) else None)


def made(expression: ast.expr, cell: str, names: dict, variables: dict[str, Variable]) -> Variable:
    """What is known of an expression in a cell: a variable's own, if it is one."""
    if isinstance(expression, ast.Name) and expression.id in variables:
        return variables[expression.id]
    inner = getattr(expression, "elt", getattr(expression, "value", expression))  # of a comprehension
    function = named(inner.func, names) if isinstance(inner, ast.Call) else None
    behind = sources(expression, names, variables)
    if computes(function) and not any(map(gives_sweep, behind)):  # else it arranges what was measured
        return Variable(cell, called=(function,))
    return Variable(cell, behind)


def computes(function) -> bool:
    """Whether it is a function of the lessons that may make numbers and belongs to no experiment."""
    if not inspect.isfunction(function) or draws(inspect.unwrap(function)):
        return False
    rooms = function.__module__.split(".")
    return rooms[0] == "lessons" and not NOT_COMPUTING.intersection(rooms)


def gives_sweep(source) -> bool:
    """Whether it is an experiment, or a function that returns sweeps; others return networks, or a number."""
    if isinstance(source, Experiment):
        return True
    return "Dataset" in str(inspect.signature(inspect.unwrap(source)).return_annotation)


def given(call: ast.Call, cell: str, names: dict, variables: dict[str, Variable]) -> tuple:
    """What a drawing says of what it is given: what measured it and which functions made it, of the first argument; and
    the cells that made any."""
    first = made(call.args[0], cell, names, variables) if call.args else Variable(cell)
    inside = [node for argument in call.args for node in ast.walk(argument)]
    used = [variables[node.id].cell for node in inside if isinstance(node, ast.Name) and node.id in variables]
    anew = [cell for node in inside if isinstance(node, ast.Call)]
    return first.measured, dict.fromkeys(first.called, first.cell), tuple(dict.fromkeys(used + anew))


def sources(expression: ast.expr, names: dict, variables: dict[str, Variable]) -> tuple:
    """What measured it: what stands behind the variables in it, and what it calls."""
    behind = []
    for node in ast.walk(expression):
        if isinstance(node, ast.Name) and node.id in variables:
            behind += variables[node.id].measured
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


@functools.cache
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


def titles(function: Callable) -> dict[Callable, str]:
    """The functions that choose a view's title, whose names begin with `finding`: {function: its name}."""
    return {other: name for other, name in reached(function).items() if name.startswith("finding")}


def guards_of(function: Callable) -> list[str]:
    """Links to the test files that name it, or a function that chooses its title."""
    files = guards.guarding([function, *titles(function)])
    return [f"[`{file.name}`](../{file.relative_to(ROOT).as_posix()})" for file in files]


def pictured(chapter: Chapter) -> dict[str, Drawing]:
    """The drawing behind each of a chapter's pictures in the gallery: {name of the picture: drawing}."""
    panels = {drawing.panel: drawing for drawing in drawings(chapter.notebook)}
    return {name: panels[panel] for panel, name in chapter.pictures.items()}


def section(chapter: Chapter) -> str:
    """The heading of a notebook in the page, which is also the address of its section."""
    return chapter.stem


def measures(drawing: Drawing) -> list[str]:
    """Links to what measured it: the functions, and the file of its question where they ask several. Where nothing
    measured it, what made its numbers."""
    links = []
    sweeps = [one for one in drawing.measured if gives_sweep(one)]
    for measure in map(measuring, sweeps or drawing.measured):
        links.append(link(measure))
        source = Path(inspect.getsourcefile(inspect.unwrap(measure)))
        part = source.with_name(Path(inspect.getsourcefile(drawing.draws)).name)
        if source.name == "__init__.py" and part.exists() and part != source:
            path = part.relative_to(ROOT / "lessons").as_posix()
            links.append(f"[`{path}`](../lessons/{path})")
    for function, cell in drawing.called.items():
        links.append(link(function) + (f", called in another cell (`{cell}`)" if cell != drawing.cell else ""))
    return list(dict.fromkeys(links)) or [maker(drawing)]


def measuring(experiment: Experiment | Callable) -> Callable:
    """The function that measures: of an experiment, or beside a function that only runs it for several suites."""
    if isinstance(experiment, Experiment):
        return experiment.measure
    beside = getattr(inspect.getmodule(experiment), "measure", None)
    return beside if experiment.__name__.startswith("run") and beside else experiment


def maker(drawing: Drawing) -> str:
    """The cells that make the numbers of a picture that nothing measured, or the function that draws it."""
    if not drawing.made_in:
        return "the function that draws"
    if drawing.cell in drawing.made_in:
        return "the cell itself"
    cells = ", ".join(f"`{cell}`" for cell in drawing.made_in)
    return f"another cell ({cells})" if len(drawing.made_in) == 1 else f"other cells ({cells})"


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
    for one in filter(gives_sweep, drawing.measured):
        if not isinstance(one, Experiment):
            files += archived().get(one.__module__, [])
        elif (path := one.archived_at("full", 0)).exists():
            files.append(path.name)
    return list(dict.fromkeys(files))


def page() -> str:
    """The page as it should be."""
    lines = [HEAD]
    for chapter in CHAPTERS:
        lines += [f"## {section(chapter)}", "",
                  f"[{chapter.place}](../notebooks/{chapter.place}), with the code in `{chapter.package}`", "",
                  "| above the title | cell | drawn by | title by | measured by | guarded by | kept (full, seed 0) |",
                  "|---|---|---|---|---|---|---|"]
        for drawing in {(one.cell, one.draws): one for one in drawings(chapter.notebook)}.values():
            lines.append(f"| {' | '.join(row(drawing, chapter))} |")
        lines.append("")
    return "\n".join(lines)


def row(drawing: Drawing, chapter: Chapter) -> tuple[str, ...]:
    """The cells of the row of a drawing."""
    above, chosen, files = kicker(drawing.draws), sorted(titles(drawing.draws).values()), kept(drawing)
    picture = chapter.pictures.get(drawing.panel)
    shown = f"<br>[`{picture}.png`]({picture}.png)" if picture else ""
    return (above + shown, f"`{drawing.cell}`", link(drawing.draws),
            "<br>".join(f"`{name}`" for name in chosen) or ("the same" if above else ""),
            "<br>".join(measures(drawing)), "<br>".join(guards_of(drawing.draws)),
            "<br>".join(f"`{name}`" for name in files))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT), "written;", archive.FOLDER.relative_to(ROOT), "holds the sweeps")
