"""Which code runs when a function of a module does, as a digest: a kept sweep is found by it, and two machines compare
it.
"""
import ast
import functools
import hashlib

from data import imported

# rooms that no number depends on
DRAWING = {"view", "panels", "plotting", "page", "kept", "predict", "exercise", "exercises", "chapters", "claims",
           "notebooks", "formulas", "quiz", "diary", "progress", "votes", "collect"}


def behind(module: str, drawing: bool = False) -> str:
    """A digest of the code that runs when a function of this module does: the module and every module of the course
    that it imports, directly or through others, as they were imported. Comments, docstrings and layout do not count.

    Args:
        module: its full name, for example "lessons.linearity.experiment.mlp".
        drawing: whether the rooms that draw (`DRAWING`) count too.
    """
    hasher = hashlib.sha256()
    for name in sorted(_reachable(module, drawing)):
        hasher.update(f"{name} {_read_code(imported.text(name))[1]}\n".encode())
    return hasher.hexdigest()[:20]


def _reachable(module, drawing):
    """The names of the module and of all that it imports, now or when one of its functions is called."""
    reached, todo = set(), [module]
    while todo:
        name = todo.pop()
        if name in reached or not (drawing or DRAWING.isdisjoint(name.split("."))):
            continue
        text = imported.text(name)
        if text is not None:
            reached.add(name)
            todo += _read_code(text)[0]
    return reached


@functools.cache
def _read_code(text):
    """The modules of the course that a source names in its import statements, wherever they stand, and its syntax tree
    as text."""
    tree = ast.parse(text)
    named, words, todo = set(), [], [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            words.append(str(len(node)))
            todo += node
        elif not isinstance(node, ast.AST):
            words.append(repr(node))
        else:
            named |= _named(node)
            words.append(type(node).__name__)
            todo += _fields(node)
    packages = {full.rsplit(".", count)[0] for full in named for count in range(1, full.count(".") + 1)}
    return sorted(full for full in named | packages if full.partition(".")[0] in imported.ROOMS), " ".join(words)


def _named(node):
    """What an import statement names: modules, and what is imported from them, which may be modules too."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return set()


def _fields(node):
    """The parts of a syntax tree's node: no docstring, and nothing that is empty, since new versions of Python add such
    fields."""
    fields = {field: value for field, value in ast.iter_fields(node) if value is not None and value != []}
    if isinstance(node, _DOCUMENTED) and _is_text(node.body[:1]):
        fields["body"] = node.body[1:]
    return [part for pair in fields.items() for part in pair]


def _is_text(statements):
    """Whether these are one string that nothing is done with."""
    constants = [one.value for one in statements if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)]
    return [type(constant.value) for constant in constants] == [str]


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
