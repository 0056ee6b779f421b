"""The first recipes of CONTRIBUTING.md, followed word for word: what their blocks say goes into a copy of the
repository, and then their commands run there."""
import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap

import nbformat
import pytest

from lessons.kit.chapters import ROOT

# heading: the notebook that shows what was added, what it then says, and which of its cells are needed for that. The
# others take a minute, and the tests of the notebooks run them.
RECIPES = {
    "A merging method": ("07_interference", "half_way: drops nothing; a part of the way to their mean",
                         ["parameters", "imports", "registry"]),
    "An exercise": ("deeper/04_exponents", "passed 4.8", ["parameters", "imports", "exercise-4-8", "help-4-8"]),
    "A chapter": ("90_midpoint", "passed 90.1", ["parameters", "imports", "panel", "exercise-90-1", "help-90-1"]),
}
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}  # JupyterLab's own


def blocks(title):
    """[(language, text)] of the code blocks under a heading of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
    found = re.findall(r"^ *```(\w+)\n(.*?)^ *```$", section, re.MULTILINE | re.DOTALL)
    return [(language, textwrap.dedent(block)) for language, block in found]


def put(folder, block):
    """Put a block where its first line says: "# a/file.py, at the end"."""
    first, _, body = block.partition("\n")
    path, where = re.fullmatch(r"# (\S+), (.+)", first).groups()
    file = folder / path
    if where == "a new file":
        assert not file.exists(), f"{path} is there already"
        file.parent.mkdir(exist_ok=True)
        if file.suffix == ".ipynb":
            nbformat.write(nbformat.v4.new_notebook(cells=cells(body), metadata={"kernelspec": KERNEL}), file)
        else:
            file.write_text(body, encoding="utf-8")
    elif behind := re.fullmatch("behind the cell (.+)", where):
        notebook = nbformat.read(file, as_version=4)
        place = [cell.id for cell in notebook.cells].index(behind[1])
        notebook.cells[place + 1:place + 1] = cells(body)
        nbformat.write(notebook, file)
    else:
        file.write_text(changed(file.read_text(encoding="utf-8"), where, body), encoding="utf-8")


def changed(text, where, body):
    """The text of a file with a block in its place: "at the end", "last in NAME" or "instead of: TEXT"."""
    if where == "at the end":
        return text + body
    if old := re.fullmatch("instead of: (.+)", where):
        assert text.count(old[1]) == 1, f"{old[1]!r} stands there {text.count(old[1])} times"
        return text.replace(old[1], body.strip())
    name = re.fullmatch(r"last in (\w+)", where)[1]
    (node,) = (node for node in ast.parse(text).body if isinstance(node, ast.Assign) and node.targets[0].id == name)
    lines = text.splitlines(keepends=True)
    last = lines[node.end_lineno - 1]
    if last.strip() in ("]", ")"):
        lines.insert(node.end_lineno - 1, body)
    else:
        lines[node.end_lineno - 1] = f"{last.rstrip()[:-1]}, {body.strip()}{last.rstrip()[-1]}\n"
    return "".join(lines)


def cells(text):
    """The cells of a notebook that is written as text: "# %% name", "# %% [markdown] name"."""
    found = []
    for part in re.split("^# %% ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        markdown, name, tags = re.fullmatch(r"(\[markdown\] )?([\w-]+)(?: tags=(\[.+\]))?", head).groups()
        metadata = {"tags": json.loads(tags)} if tags else {}
        if markdown:
            body = re.sub("^# ?", "", body, flags=re.MULTILINE)
        new = nbformat.v4.new_markdown_cell if markdown else nbformat.v4.new_code_cell
        found.append(new(body.strip("\n"), id=name, metadata=metadata))
    return found


def shorten(file, wanted):
    """Leave only these code cells in a notebook."""
    notebook = nbformat.read(file, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "markdown" or cell.id in wanted]
    assert {cell.id for cell in notebook.cells} >= set(wanted)
    nbformat.write(notebook, file)


def outputs(notebook):
    """All plain text that an executed notebook shows."""
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in shown)


@pytest.fixture
def copy(tmp_path):
    """A copy of the repository, without what is hidden, fetched or built."""
    def left_out(folder, names):
        return [name for name in names if name.startswith(".") or name in ("build", "cache", "__pycache__")]

    return shutil.copytree(ROOT, tmp_path / "copy", ignore=left_out)


@pytest.mark.slow  # each starts pytest and a kernel: half a minute
@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_works_word_for_word(title, copy, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(copy))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    commands = []
    for language, block in blocks(title):
        if language == "sh":
            commands += block.splitlines()
        else:
            put(copy, block)
    stem, says, wanted = RECIPES[title]
    for command in commands:
        if "lessons.kit.notebooks" in command:
            shorten(copy / "notebooks" / f"{stem}.ipynb", wanted)
        words = [sys.executable if word == "python" else word for word in shlex.split(command)]
        done = subprocess.run(words, cwd=copy, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-2000:]}"
    assert says in outputs(nbformat.read(copy / "build" / "notebooks" / f"{stem}.ipynb", as_version=4))


@pytest.mark.parametrize("text, where, expected", [
    ("a\n", "at the end", "a\nnew\n"), ("x = [1, 2]\n", "last in x", "x = [1, 2, new]\n"),
    ("x = [\n    1,\n]\ny = 2\n", "last in x", "x = [\n    1,\nnew\n]\ny = 2\n"),
    ("a b\n", "instead of: a b", "new\n")])
def test_a_block_goes_where_its_first_line_says(text, where, expected):
    assert changed(text, where, "new\n") == expected


@pytest.mark.parametrize("where", ["instead of: gone", "instead of: twice", "last in GONE", "somewhere"])
def test_a_place_that_is_not_there_is_an_error(where):
    with pytest.raises((AssertionError, TypeError, ValueError)):
        changed("twice = twice\n", where, "new\n")
