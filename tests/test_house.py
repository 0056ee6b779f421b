"""The house itself: which room imports which, and files that must say the same."""
import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
ROOMS = ["data", "toy_models", "lessons"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RUNTIME = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
NEEDED = RUNTIME | {canonicalize_name(Requirement(line).name) for line in PROJECT["optional-dependencies"]["test"]}
PINNED = [line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split()]
PINS = {canonicalize_name(name): version for name, version in PINNED}
LEAST_PYTHON = PROJECT["requires-python"].removeprefix(">=")
CONDA_NAMES = {"pytorch": "torch", "playwright-python": "playwright"}
PYTHON_FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def test_conda_and_pip_install_the_same():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    by_pip = next(entry["pip"] for entry in listed if isinstance(entry, dict))
    assert "-e ." in by_pip
    # pip reads these lines from a file, where it takes no options such as --no-deps
    names = [Requirement(line).name for line in [*listed, *by_pip] if isinstance(line, str) and line != "-e ."]
    assert {CONDA_NAMES.get(name, name) for name in names} - {"python", "pip"} == NEEDED
    assert f"python{PROJECT['requires-python']}" in listed


def imported(folders):
    """{top-level name: a file that imports it, maybe inside a function}, without the standard library and the project itself."""
    found = {}
    for path in (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            found |= {name.split(".")[0]: path.relative_to(ROOT) for name in names}
    own = {*ROOMS, "tools", *(path.stem for path in (ROOT / "tests").rglob("*.py"))}
    return {name: path for name, path in found.items() if name not in own | sys.stdlib_module_names}


FOLDERS = {"course": (ROOMS, RUNTIME), "tests and tools": (["tests", "tools"], NEEDED)}


@pytest.mark.parametrize("folders, declared", FOLDERS.values(), ids=FOLDERS.keys())
def test_what_is_imported_is_declared(folders, declared):
    distributions = metadata.packages_distributions()
    undeclared = {}
    for name, path in imported(folders).items():
        candidates = distributions.get(name, ["a distribution that is not installed"])
        if declared.isdisjoint(map(canonicalize_name, candidates)):
            undeclared[name] = f"{path}, of {', '.join(candidates)}"
    assert not undeclared, "declare these in pyproject.toml, environment.yml and constraints.txt"


def test_every_dependency_is_pinned_exactly():
    assert NEEDED <= PINS.keys()
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in PINS.values())


def test_the_least_python_is_one_that_every_pin_accepts_and_is_said_everywhere():
    installed = {canonicalize_name(distribution.name): distribution for distribution in metadata.distributions()}
    for name in PINS.keys() & installed.keys():  # some are for one operating system alone
        accepted = installed[name].metadata["Requires-Python"] or ""
        assert LEAST_PYTHON in SpecifierSet(accepted), f"{name} needs Python {accepted}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"sys.version_info >= ({LEAST_PYTHON.replace('.', ', ')})" in makefile
    assert f"needs Python {LEAST_PYTHON} or newer" in makefile
    assert f"You need Python {LEAST_PYTHON} or newer" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("user, flags", [(0, ["--ip=127.0.0.1", "--allow-root"]), (1000, ["--ip=127.0.0.1"])])
def test_make_lab_serves_this_machine_alone_also_as_root(user, flags, tmp_path, monkeypatch):
    id = tmp_path / "id"
    id.write_text(f"#!/bin/sh\necho {user}\n")
    id.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    command = ["make", "-n", "--no-print-directory", "lab"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[-1].split()[1:] == ["-m", "jupyterlab", *flags, "notebooks/00_start_here.ipynb"]


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_git_ignores_environment_and_data_also_where_they_are_links(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    (tmp_path / "data").mkdir()
    for name in (".venv", "data/cache"):
        (tmp_path / name).symlink_to(tmp_path)
    command = ["git", "status", "--porcelain"]
    seen = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert seen.split() == ["??", ".gitignore"]


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
