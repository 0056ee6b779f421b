"""Which files of tests/ guard a function that draws or chooses a title: those that name it.

The tests are read, and only their imports of panels are executed.
"""
import ast
import functools
import inspect
import types
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from lessons.kit.chapters import ROOT

TESTS = ROOT / "tests"


def guarding(functions: Iterable[Callable], most: int = 2) -> list[Path]:
    """The test files that name any of the functions, which are those behind the decorators: first those that name more
    of them, then those that name them more often."""
    ranks = {}
    for file in sorted(TESTS.glob("test_*.py")):
        counts = [count for function in functions if (count := functions_in(file)[function])]
        if counts:
            ranks[file] = (-len(counts), -sum(counts))
    return sorted(ranks, key=ranks.get)[:most]


@functools.cache
def functions_in(file: Path) -> Counter[Callable]:
    """How often a file names each function of the rooms of panels, by its own name or as `module.function`."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    names: dict[str, object] = {}
    exec(compile(ast.Module([node for node in nodes if _of_panels(node)], []), file.name, "exec"), names)
    things = (_named(node, names) for node in nodes)
    return Counter(inspect.unwrap(thing) for thing in things if inspect.isfunction(thing))


def _of_panels(node):
    """Whether it imports a room of panels, or from one."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return False
    dotted = ".".join([getattr(node, "module", None) or "", *(alias.name for alias in node.names)])
    return "lessons" in dotted.split(".") and "panels" in dotted.split(".")


def _named(node, names):
    """What a name stands for, or one with dots behind modules; None where it is another expression."""
    if isinstance(node, ast.Attribute):
        module = _named(node.value, names)
        return getattr(module, node.attr, None) if isinstance(module, types.ModuleType) else None
    return names.get(node.id) if isinstance(node, ast.Name) else None
