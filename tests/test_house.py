"""The house itself: which room imports which, and files that must say the same."""
import ast
import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import nbformat
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from lessons.kit.chapters import CHAPTERS as TABLE
from tests.natural import Natural
from tools import lab, lock, tidy

ROOT = Path(__file__).parent.parent
ROOMS = ["data", "toy_models", "lessons"]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, BUILD = PYPROJECT["project"], PYPROJECT["build-system"]["requires"]
RUNTIME = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
NEEDED = RUNTIME | {canonicalize_name(Requirement(line).name) for line in PROJECT["optional-dependencies"]["test"]}
FOR_A_CLUSTER = {canonicalize_name(Requirement(line).name) for line in PROJECT["optional-dependencies"]["cluster"]}
FOR_THE_HUB = {canonicalize_name(Requirement(line).name) for line in PROJECT["optional-dependencies"]["hub"]}
FOR_THE_BOOK = {canonicalize_name(Requirement(line).name) for line in PROJECT["optional-dependencies"]["site"]}
LOCK = {path.name: lock.entries(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "lock").glob("*.txt"))}
PINS = {name: re.match(r"[^=]+==([^\s;]+)", entry)[1] for part in LOCK.values() for name, entry in part.items()}
LEAST_PYTHON = PROJECT["requires-python"].removeprefix(">=")
NUMBERS_DEPEND_ON = ("numpy", "pillow", "scikit-learn", "scipy", "torch", "torchvision")
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


def test_conda_and_pip_have_the_same_versions_of_what_numbers_depend_on():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    pinned = [Requirement(line) for line in listed if isinstance(line, str) and "==" in line]
    versions = {CONDA_NAMES.get(one.name, one.name): str(one.specifier).removeprefix("==") for one in pinned}
    assert versions == {name: PINS[name] for name in NUMBERS_DEPEND_ON}


@functools.cache
def tree(path):
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(folders):
    """{top-level name: a file that imports it, maybe inside a function}, of other projects alone."""
    found = {}
    for path in (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            found |= {name.split(".")[0]: path.relative_to(ROOT) for name in names}
    own = {*ROOMS, "tools", "tests", *(path.stem for path in (ROOT / "tests").rglob("*.py"))}
    return {name: path for name, path in found.items() if name not in own | sys.stdlib_module_names}


FOLDERS = {"course": (ROOMS, RUNTIME | FOR_A_CLUSTER), "tests and tools": (["tests", "tools"], NEEDED)}


@pytest.mark.parametrize("folders, declared", FOLDERS.values(), ids=FOLDERS.keys())
def test_what_is_imported_is_declared(folders, declared):
    distributions = metadata.packages_distributions()
    undeclared = {}
    for name, path in imported(folders).items():
        candidates = distributions.get(name, ["a distribution that is not installed"])
        if declared.isdisjoint(map(canonicalize_name, candidates)):
            undeclared[name] = f"{path}, of {', '.join(candidates)}"
    assert not undeclared, "declare these in pyproject.toml and environment.yml, and run make lock"


def test_only_who_asks_for_a_cluster_imports_what_it_needs():
    """Learners do not install it."""
    importing = {path.relative_to(ROOT).as_posix() for path in PYTHON_FILES for node in tree(path).body
                 if isinstance(node, ast.Import | ast.ImportFrom)
                 and "distributed" in {name.partition(".")[0] for name in names_imported(node)}}
    assert importing == set(), "import it in the function that needs it, as data/cluster.py does"
    inside = {path.relative_to(ROOT).as_posix() for path in PYTHON_FILES if "distributed" in
              {name.partition(".")[0] for name in names_imported(tree(path))}}
    assert inside == {"data/cluster.py"}


@pytest.mark.parametrize("line", [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values()), *BUILD])
def test_the_lock_has_a_version_that_pyproject_admits(line):
    requirement = Requirement(line)
    assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)]), "run make lock"


def test_a_learner_installs_what_the_course_needs_and_no_test_tools():
    assert RUNTIME <= LOCK["course.txt"].keys() | LOCK["torch.txt"].keys()
    assert FOR_THE_BOOK <= LOCK["site.txt"].keys()
    assert FOR_A_CLUSTER <= LOCK["cluster.txt"].keys() and not LOCK["cluster.txt"].keys() & LOCK["course.txt"].keys()
    assert FOR_THE_HUB <= LOCK["hub.txt"].keys()
    assert NEEDED - RUNTIME - LOCK["course.txt"].keys() <= (LOCK["tests.txt"].keys() | LOCK["cluster.txt"].keys()
                                                            | LOCK["hub.txt"].keys())
    beside = LOCK["site.txt"] | LOCK["hub.txt"]
    twice = beside.keys() & LOCK["cluster.txt"].keys()  # installed one without the other
    assert sum(map(len, LOCK.values())) == len(PINS) + len(twice), "each other package stands in one file"
    assert all(beside[name] == LOCK["cluster.txt"][name] for name in twice)


def test_the_lock_has_digests_of_everything_but_pytorch_and_names_no_index():
    locked = LOCK["course.txt"] | LOCK["site.txt"] | LOCK["cluster.txt"] | LOCK["hub.txt"] | LOCK["tests.txt"]
    for name, entry in locked.items():
        for version in re.split(r"^(?=[a-z0-9])", entry, flags=re.MULTILINE)[1:]:  # one for some versions of Python
            first, *digests = version.split(" \\\n")
            assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [^:]+)?", first), name
            assert digests and all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}\n?", line) for line in digests), name
    assert LOCK["torch.txt"].keys() == set(lock.TORCH)
    for part in lock.HEADS:
        assert not re.search(r"://|index-url|find-links", (ROOT / "lock" / part).read_text(encoding="utf-8"))


def test_a_version_for_every_python_is_kept():
    both = "sphinx==9.0 ; python_version < '3.12' \\\n    --hash=sha256:00\nsphinx==9.2 ; python_version >= '3.12' \\\n"
    assert lock.entries(f"{both}    --hash=sha256:11\n") == {"sphinx": f"{both}    --hash=sha256:11\n"}


def test_cuda_and_pytorch_are_kept_out_of_what_is_checked_by_digest():
    compiled = "numpy==2.4.6 \\\n    --hash=sha256:00\ntorch==2.13.0 ; python_version > '3' \\\n    --hash=sha256:11\n"
    more = "nvidia-cublas==13.1 ; sys_platform == 'linux' \\\n    --hash=sha256:22\n"
    rest = ("torchvision==0.28.0 \\\n    --hash=sha256:33\nruff==0.17 \\\n    --hash=sha256:44\n"
            "sphinx==9 \\\n    --hash=sha256:55\ndask==2026 \\\n    --hash=sha256:66\n"
            "zipp==4 \\\n    --hash=sha256:77\njupyterhub==6 \\\n    --hash=sha256:88\n")
    course = {"numpy", "torch", "torchvision", "nvidia-cublas"}
    written = lock.files(lock.entries(compiled + more + rest), course, {*course, "sphinx", "zipp"},
                         {*course, "dask", "zipp"}, {*course, "jupyterhub", "zipp"})
    assert {name: text.removeprefix(lock.HEADS[name]) for name, text in written.items()} == {
        "course.txt": "numpy==2.4.6 \\\n    --hash=sha256:00\n", "tests.txt": "ruff==0.17 \\\n    --hash=sha256:44\n",
        "site.txt": "sphinx==9 \\\n    --hash=sha256:55\nzipp==4 \\\n    --hash=sha256:77\n",
        "cluster.txt": "dask==2026 \\\n    --hash=sha256:66\nzipp==4 \\\n    --hash=sha256:77\n",
        "hub.txt": "jupyterhub==6 \\\n    --hash=sha256:88\n",
        "torch.txt": "torch==2.13.0\ntorchvision==0.28.0\n"}


def test_the_least_python_is_one_that_every_pin_accepts_and_is_said_everywhere():
    installed = {canonicalize_name(distribution.name): distribution for distribution in metadata.distributions()}
    for name in PINS.keys() & installed.keys():  # some are for one operating system alone
        accepted = installed[name].metadata.get("Requires-Python") or ""  # not every package says it
        assert LEAST_PYTHON in SpecifierSet(accepted), f"{name} needs Python {accepted}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"sys.version_info >= ({LEAST_PYTHON.replace('.', ', ')})" in makefile
    assert f"needs Python {LEAST_PYTHON} or newer" in makefile
    assert f"You need Python {LEAST_PYTHON} or newer" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("user, flags", [(0, ["--ip=127.0.0.1", "--allow-root"]), (1000, ["--ip=127.0.0.1"])])
@pytest.mark.fault("surroundings", "JupyterLab is started with make lab, also as root",
                   answers="It serves this machine alone")
def test_jupyterlab_serves_this_machine_alone_also_as_root(user, flags, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: user, raising=False)
    assert lab.options(ROOT)[:-4] == flags and lab.settings(ROOT) == lab.options(ROOT)[1:]


def test_jupyterlab_serves_the_repository_opens_chapter_0_and_fetches_nothing_by_itself(monkeypatch):
    started = []
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", started.extend)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/mine")
    lab.main(["--no-browser"])
    assert started[-2:] == ["--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb", "--no-browser"]
    assert {f"--ServerApp.root_dir={ROOT}", "--LabApp.news_url=None", "--LabApp.extension_manager=readonly",
            "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate"} < set(started)
    ours, *others = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    defaults = json.loads((Path(ours) / "labconfig/default_setting_overrides.json").read_text(encoding="utf-8"))
    assert defaults["@jupyterlab/apputils-extension:notification"] == {"checkForUpdates": False, "fetchNews": "false"}
    assert others == ["/mine"]


def test_in_a_container_jupyterlab_serves_the_address_that_the_container_names(monkeypatch):
    started = []
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", started.extend)
    command = re.search(r"^CMD (.+)$", (ROOT / ".binder/Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    lab.main(json.loads(command[1])[3:])
    assert [option for option in started if "ip=" in option] == ["--ip=0.0.0.0"]


ALL_STAMPS = [".ready", ".ready-for-site", ".ready-for-cluster", ".ready-for-hub", ".ready-for-tests"]
MAKE_RUNS = """#!/bin/sh
echo "$@" >> {log}
case "$*" in {fails}) exit 1;; esac
"""


def made(tmp_path, *targets, stamps=(), fails="nothing"):
    """What `make` runs as Python for `targets` in an environment with these stamps: (exit status, a line a command,
    what it says)."""
    log, python = tmp_path / "log", tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(MAKE_RUNS.format(log=log, fails=fails))
    python.chmod(0o755)
    for stamp in stamps:
        (tmp_path / stamp).touch()
    command = ["make", "-j2", *targets, f"VENV={tmp_path}", f"PYTHON={python}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, log.read_text().splitlines(), done.stdout


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_lab_says_what_it_downloads_and_installs_no_test_tools(tmp_path):
    _, lines, said = made(tmp_path, "lab")
    installed = [line for line in lines if "pip install" in line]
    assert [line.split()[-1] for line in installed] == ["lock/course.txt", "lock/torch.txt", "."]
    assert "--require-hashes" in installed[0] and "--no-deps" in installed[0]
    assert lines[-1] == "-m tools.lab"
    first = said.index("pip install")
    assert "download of" in said[:first] and "on disk" in said[:first] and "seconds" in said[:first]


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("target", ["test-shared", "test-timed", "test-browser", "quick", "bench", "screenshots"])
def test_what_needs_the_test_tools_installs_them(target, tmp_path):
    _, lines, _ = made(tmp_path, target, stamps=ALL_STAMPS[:-1])
    assert lines[0] == "-m pip install -q --no-deps --require-hashes -r lock/tests.txt" and "pip" not in lines[2]


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_the_book_installs_sphinx_and_no_test_tools(tmp_path):
    _, lines, _ = made(tmp_path, "site", stamps=[".ready"])
    (installed,) = (line for line in lines if "pip" in line)
    assert installed == "-m pip install -q --no-deps --require-hashes -r lock/site.txt"
    assert lines[-1] == "-m tools.book"


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("target, command", [("claims", "lessons.kit.claims"),
                                             ("spread", "lessons.kit.claims spread --profile quick")])
def test_many_machines_need_more_packages_and_one_does_not(target, command, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "many").mkdir()
    _, lines, _ = made(tmp_path / "one", target, stamps=[".ready"])
    assert lines == [f"-m {command}"]
    _, lines, _ = made(tmp_path / "many", target, "CLUSTER=tcp://here:1", stamps=[".ready"])
    assert lines[0] == "-m pip install -q --no-deps --require-hashes -r lock/cluster.txt"
    assert lines[-1] == f"-m {command} --cluster tcp://here:1"


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("target, modules", [
    ("lint", ["ruff check .", "tools.tidy", "mypy"]),
    ("docs", ["lessons.kit.chapters", "lessons.kit.claims --page", "tools.pictures", "tools.where", "tools.scale"])])
def test_make_runs_every_part(target, modules, tmp_path):
    _, lines, _ = made(tmp_path, target, stamps=ALL_STAMPS)
    assert lines == [f"-m {module}" for module in modules]


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_help_names_what_there_is(tmp_path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"^make ([a-z]+) ", said, flags=re.MULTILINE))
    parts = {"test-shared", "test-timed", "test-browser", "ruff", "tidy", "types", "environment", "site-environment",
             "cluster-environment", "hub-environment", "test-environment", "help"}
    (targets,) = re.findall(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)
    assert named == set(targets.split()) - parts


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


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("fails", ["nothing", "*loadfile*", "*-m?timed*", "*-m?browser*"])
def test_make_test_runs_all_parts_and_fails_where_one_does(fails, tmp_path):
    status, lines, _ = made(tmp_path, "test", stamps=ALL_STAMPS, fails=fails)
    shared = "-m pytest -n 2 --dist loadfile --no-loadscope-reorder -m not timed and not release"
    browser = "-m pytest -n 2 --dist worksteal -m browser and not release"
    assert lines == [shared, "-m pytest -m timed and not browser", browser]
    assert (status == 0) is (fails == "nothing")


# -- arrows between rooms ------------------------------------------------------------------------------------------

PACKAGES = {chapter.stem[:2]: chapter.package.removeprefix("lessons.") for chapter in TABLE}
CHAPTERS = list(dict.fromkeys(PACKAGES.values()))
FLOORS = ["data", "toy_models", "lessons.kit", "shared", "chapter", "outside"]


def floor_of(module):
    """On which floor a module of ours stands, and of which chapter it is or None; None where it is not ours."""
    top, second = (module.split(".") + [""])[:2]
    if top == "lessons" and second in CHAPTERS:
        return FLOORS.index("chapter"), second
    if top == "lessons":
        return FLOORS.index("lessons.kit" if second == "kit" else "shared"), None
    if top in ("tools", "tests", "notebooks"):
        return FLOORS.index("outside"), None
    return (FLOORS.index(top), None) if top in FLOORS else None


def against_the_arrows(here, module):
    """Whether a module, here = (floor, chapter), may not import another: notebooks → chapters → cast, suites,
    checkpoints, merging → kit → toy_models → data, and of another chapter its algorithms alone, where it is an earlier
    one."""
    there = floor_of(module)
    if there is None or there[1] is None or here[1] is None:
        return there is not None and there[0] > here[0]
    if there[1] == here[1]:
        return False
    return module.split(".")[2:3] != ["algorithms"] or CHAPTERS.index(there[1]) > CHAPTERS.index(here[1])


def names_imported(code):
    """What import statements name, wherever they stand: modules, and things in them, with full names."""
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources():
    """(name, floor and chapter, syntax tree) of every module of the course and every cell of a notebook."""
    for path in PYTHON_FILES:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        yield name, floor_of(name), tree(path)
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                yield path.stem, (FLOORS.index("chapter"), PACKAGES[path.name[:2]]), ast.parse("".join(cell["source"]))


def test_arrows_point_one_way():
    found = set()
    for name, here, code in sources():
        wrong = [module for module in names_imported(code) if against_the_arrows(here, module)]
        found |= {f"{name} -> {'.'.join(module.split('.')[:3])}" for module in wrong}
    assert found == set(), "imports against the arrows"


@pytest.mark.parametrize("importing, imported, wrong", [
    ("data.store", "toy_models.mlp", True), ("toy_models.mlp", "data.store", False),
    ("lessons.kit.sweep", "lessons.suites", True), ("lessons.kit.sweep", "lessons.start.panels", True),
    ("lessons.merging.sparse", "lessons.kit.sweep", False), ("lessons.suites", "lessons.cart.algorithms", True),
    ("lessons.checkpoints.clip", "lessons.merging", False), ("lessons.kit.page", "lessons.checkpoints", True),
    ("lessons.checkpoints.clip", "lessons.linearity.algorithms", True),
    ("lessons.cart.panels", "lessons.cart.experiment", False), ("lessons.cart.panels", "lessons.suites", False),
    ("lessons.averaging.experiment", "lessons.linearity.algorithms.coef", False),
    ("lessons.averaging.experiment", "lessons.linearity.experiment.mlp", True),
    ("lessons.linearity.experiment", "lessons.averaging.algorithms", True),
    ("lessons.cart.panels", "tools.lab", True), ("lessons.cart.panels", "numpy", False)])
def test_an_import_against_the_arrows_is_noticed(importing, imported, wrong):
    assert against_the_arrows(floor_of(importing), imported) is wrong


def test_every_package_of_the_lessons_is_known():
    packages = {path.parent.name for path in (ROOT / "lessons").glob("*/__init__.py")}
    assert packages == {*CHAPTERS, "kit", "merging", "checkpoints", "lines"}


# -- how it is written ---------------------------------------------------------------------------------------------

def test_public_things_have_docstrings():
    """But for what stands in exercises: a learner's lines, shown as a solution."""
    found = []
    for path in PYTHON_FILES:
        for node in tree(path).body if "exercises" not in path.with_suffix("").parts else ():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                found += [] if ast.get_docstring(node) else [f"{path.relative_to(ROOT)}: {node.name}"]
    assert not found


def test_ruff_finds_nothing():
    command = [sys.executable, "-m", "ruff", "check", "--quiet", "--no-cache", "--output-format", "concise", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow  # reads torch's types, which takes 20 s; a second run takes two, since build/mypy keeps what was read
def test_the_type_checker_finds_nothing():
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_that_are_checked_are_those_of_the_shared_rooms():
    checked = PYPROJECT["tool"]["mypy"]["files"]
    assert {"data", "toy_models", "lessons/merging"} < set(checked) and all((ROOT / path).is_dir() for path in checked)
    assert any(path.endswith("/checkpoints") for path in checked)


def test_the_notebooks_are_as_nbformat_writes_them_and_keep_no_outputs(capsys):
    assert tidy.main([]) == 0, capsys.readouterr().out


def test_a_notebook_with_outputs_or_in_another_order_is_noticed_and_mended(monkeypatch, tmp_path, capsys):
    cell = nbformat.v4.new_code_cell("1 + 1", id="one", execution_count=3, outputs=[nbformat.v4.new_output("stream")])
    book = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {}})
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(tidy, "FOLDER", tmp_path / "notebooks")
    path = tmp_path / "notebooks" / "a.ipynb"
    path.write_text(json.dumps(dict(reversed(book.items()))), encoding="utf-8")
    assert tidy.main([]) == 1 and "notebooks/a.ipynb keeps outputs" in capsys.readouterr().out
    assert tidy.main(["--fix"]) == 1 and tidy.main([]) == 0
    (mended,) = nbformat.read(path, as_version=4).cells
    assert (mended.source, mended.outputs, mended.execution_count, mended.id) == ("1 + 1", [], None, "one")


FOLDED = """
from lessons.kit.predict import predict, veil
from lessons.sail import experiment, panels
from lessons.vit.panels import lines as drawn
""", ["panel_a = panels.gamma.along(sweep, guess)\npanel_a", "veil(guess, panels.gamma.reading(sweep))",
      "guess = predict('How large?', low=0.0)\nguess", "drawn.lines(line)", "quiz('9.a')"]
OPEN = ["sweep = experiment.gamma.run(profile)\npanels.gamma.along(sweep)",
        "panels.gamma.along(sweep, mine('9.3', share))", "x = 3",
        "for _ in range(3):\n    display(panels.gamma.along(sweep))", "def f():\n    ...\n\n\ncheck('9.1', f)"]


def test_code_that_only_shows_something_is_folded_and_no_other():
    imports, folded = FOLDED
    cells = [nbformat.v4.new_code_cell(source) for source in (imports, *folded, *OPEN)]
    cells[-1].metadata["jupyter"] = {"source_hidden": True}
    text = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    mended = nbformat.reads(tidy.tidied(text), as_version=4).cells
    hidden = [cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in mended]
    assert hidden == [False] + [True] * len(folded) + [False] * len(OPEN)


def test_what_is_checked_before_a_commit_are_parts_of_make_lint():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert local["repo"] == "local"
    (parts,) = re.findall(r"^lint: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for hook in local["hooks"]:
        *_, part = hook["entry"].split()
        assert hook["language"] == "system" and part in parts.split() and hook["pass_filenames"] is False


def test_one_helper_starts_threads_and_counts_cores():
    asked = {path.relative_to(ROOT).as_posix() for path in PYTHON_FILES for node in ast.walk(tree(path))
             if isinstance(node, ast.Attribute | ast.Name | ast.alias)
             and {"ThreadPoolExecutor", "cpu_count"} & {getattr(node, field, "") for field in ("attr", "id", "name")}}
    assert asked == {"data/threads.py"}, "use data.threads: an interrupt ends its work, and containers count"


def test_no_function_has_more_than_60_lines():
    """Without its docstring; functions inside it count."""
    found = []
    for path in [*PYTHON_FILES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "tools").rglob("*.py"))]:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef):
                first = node.body[0]
                documented = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) else 0
                if (lines := node.end_lineno - node.lineno + 1 - documented) > 60:
                    found.append(f"{path.relative_to(ROOT)}: {node.name} has {lines}")
    assert not found


# Words that say nothing of what they hold, and in how many functions each is a local name. They may only become fewer.
VAGUE = {"found": 5, "one": 58, "own": 81, "now": 15, "of": 22, "chosen": 55,
         "at": 11, "here": 10, "asked": 48, "apart": 18, "whole": 16, "kept": 20}


def locals_of(function):
    """The names that a function assigns or is given; those of functions inside it count too."""
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {argument.arg for argument in function.args.args}


def test_vague_names_become_fewer():
    """Call a thing what it is: accuracies, gaps, files, mask. Whoever removes some lowers the number above."""
    functions = [locals_of(node) for path in PYTHON_FILES for node in ast.walk(tree(path))
                 if isinstance(node, ast.FunctionDef)]
    counted = {name: sum(name in names for names in functions) for name in VAGUE}
    assert {name: count for name, count in counted.items() if count > VAGUE[name]} == {}
    assert {name: count for name, count in counted.items() if count < VAGUE[name] - 20} == {}, "lower these numbers"


def test_html_names_no_colour_for_letters():
    """Captions would vanish in a dark theme; `opacity` makes a paler shade of whatever colour the theme has."""
    pattern = re.compile(r"""style=(["'])(?:(?!\1).)*(?<!-)color:""")
    assert pattern.search("<p style='margin:0;color:#555'>") and not pattern.search("<p style='border-color:#555'>")
    files = [*(ROOT / "lessons").rglob("*.py"), *(ROOT / "notebooks").rglob("*.ipynb")]
    wrong = [str(path.relative_to(ROOT)) for path in files if pattern.search(path.read_text(encoding="utf-8"))]
    assert wrong == []


ELEMENT = re.compile(r"</?[a-z][a-z0-9]*(\s[^<>]*(/?>|$)|/?>)|&#?\w+;")
# what only looks like HTML: nbconvert's own template, the end of an SVG, the end of a word in CLIP's vocabulary, groups
# in a regular expression, and the one place that makes two stars bold in a question that it has escaped
NO_HTML = {"lessons/kit/notebooks.py", "lessons/kit/plotting.py: </svg>", "lessons/checkpoints/tokens.py: </w>",
           "lessons/checkpoints/adapters.py", "lessons/kit/predict.py: <b>\\1</b>"}


def html_in_plain_strings(code):
    """Literals with elements or entities of HTML in them that are no `Markup(…)`; an f-string cannot be one."""
    fine = {id(argument) for node in ast.walk(code) if isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "Markup" for argument in node.args}
    for node in ast.walk(code):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            fine.add(id(node.body[0].value))
    for node in ast.walk(code):
        plain = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in fine
        if plain and ELEMENT.search(node.value):
            yield node.value


def test_html_is_a_markup_wherever_it_is_written():
    """So that what is put into it is escaped; a plain string with an element in it would show the element's name."""
    found = []
    for name, _, code in sources():
        path = f"{name.replace('.', '/')}.py"
        if name.startswith("lessons.") or "." not in name:
            found += [f"{path}: {text}" for text in html_in_plain_strings(code)
                      if not {path, f"{path}: {text}"} & NO_HTML]
    assert found == [], "text becomes HTML in lessons/kit/page.py alone; write Markup(…).format(…)"


@pytest.mark.parametrize("line, wrong", [
    ('f"<p>{text}</p>"', True), ('f"<b title={text}>x"', True), ('"<b>x</b>"', True), ('"a &nbsp; b"', True),
    ('Markup(f"<p>{text}</p>")', True), ('Markup("<p>{}</p>").format(text)', False), ('"a < b > c"', False),
    ('said(Markup("<b>{n}</b>"), n=1)', False), ('"<b>" + text', True)])
def test_html_in_a_plain_string_is_noticed(line, wrong):
    assert bool(list(html_in_plain_strings(ast.parse(f"x = {line}")))) is wrong


# HTML that is finished: a figure's, a page's, a formula's, a template that is a Markup, and a question that is escaped
# there
FINISHED = {"lessons/kit/page.py: part._repr_html_()", "lessons/kit/page.py: words",
            "lessons/kit/page.py: mathml(formula)",
            "lessons/kit/predict.py: re.sub('\\\\*\\\\*(.+?)\\\\*\\\\*', '<b>\\\\1</b>', str(escape(question)))",
            "lessons/resnet/panels/amounts.py: picture.data", "lessons/cart/panels/resnet.py: figure.data"}


def given_to_markup(code):
    """What is made a `Markup` and is no constant, as code."""
    for node in ast.walk(code):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Markup":
            yield from (ast.unparse(argument) for argument in node.args if not isinstance(argument, ast.Constant))


def test_a_name_is_never_made_a_markup():
    """What is a Markup is not escaped any more."""
    found = set()
    for name, _, code in sources():
        found |= {f"{name.replace('.', '/')}.py: {text}" for text in given_to_markup(code)}
    assert found <= FINISHED, "a Markup is a constant; what is put into it goes through .format(…)"
    code = ast.parse("Markup(name), page.Markup(f'{name}'), Markup('<b>{}</b>').format(name)")
    assert list(given_to_markup(code)) == ["name", "f'{name}'"]


def test_the_readme_shows_pictures_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text):
        assert (ROOT / picture).exists(), picture


def test_the_version_is_the_same_wherever_it_stands():
    """pyproject.toml has it; the page of changes begins with it, and whoever cites the course finds it."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## ([0-9.]+), (\S+)", changes, flags=re.MULTILINE)
    assert newest.groups() == (PROJECT["version"], str(citation["date-released"]))
    assert citation["version"] == PROJECT["version"]


def test_the_form_for_a_wrong_answer_asks_for_what_a_natural_answer_needs():
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/wrong-answer.yaml").read_text(encoding="utf-8"))
    asked = {part["id"]: part for part in form["body"] if "id" in part}
    assert {field.name for field in dataclasses.fields(Natural)} <= asked.keys()
    assert all(asked[name]["validations"]["required"] for name in ("id", "what", "answer"))
    # GitHub refuses a form whose texts are something else, as an unquoted No or 4.2 would be
    texts = [*asked["right"]["attributes"]["options"], asked["id"]["attributes"]["placeholder"]]
    assert all(isinstance(text, str) for text in texts)
