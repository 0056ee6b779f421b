"""The house itself: which room imports which, and files that must say the same."""
import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ROOMS = ["data", "toy_models", "lessons"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = {re.split(r"[<>=~ ]", name)[0] for name in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]}
CONDA_NAMES = {"pytorch": "torch"}
PYTHON_FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def test_conda_and_pip_install_the_same():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    names = {re.split(r"[<>=]", name)[0] for name in listed if isinstance(name, str)}
    assert {CONDA_NAMES.get(name, name) for name in names} - {"python", "pip"} == NEEDED
    assert f"python{PROJECT['requires-python']}" in listed


def test_every_dependency_is_pinned_exactly():
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    pins = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    assert NEEDED <= pins.keys()
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pins.values())


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_rooms_below_it(path):
    here = ROOMS.index(path.relative_to(ROOT).parts[0])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] not in ROOMS[here + 1:], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_things_have_docstrings(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{path.name}: {node.name}"


def test_the_readme_names_every_notebook_and_shows_pictures_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert notebook.name in text
    for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text):
        assert (ROOT / picture).exists(), picture
