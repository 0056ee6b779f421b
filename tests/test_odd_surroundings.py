"""Where the course runs: folders, environments and files beside a notebook that nobody would choose."""
import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["data", "toy_models"])
@pytest.mark.fault("surroundings", "A file data.py or toy_models.py lies beside the notebook",
                   answers="It is named and not run, and the error says to rename it")
def test_a_file_that_hides_a_package_of_the_course_is_named_and_not_run(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("print('the foreign file ran')")
    code = f"import sys; sys.path.append({str(ROOT)!r}); import lessons"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert not done.stdout and done.returncode == 1
    assert last.startswith(f"ImportError: {tmp_path / name}.py hides the course's own package {name!r}")
    assert "Rename that file" in last


WORK = """
import warnings
warnings.simplefilter("error")
from lessons.kit import sweep
from toy_models import Architecture, Recipe, zoo
import xarray
from data import store

recipe = Recipe.on("spirals", Architecture.of("MLP", widths=(2, 8, 2)), lr=0.1, epochs=1)
for _ in range(2):
    zoo.get(recipe, progress=False)
    sweep.cached("small", {}, lambda: xarray.Dataset({"a": ("x", [1.0])}), module="lessons.kit.noise")
print(len(list((store.root() / "zoo").glob("*.safetensors"))), len(list((store.root() / "sweeps").glob("*.nc"))))
"""


@pytest.mark.slow  # imports torch in a process of its own
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.fault("surroundings", "There is no HOME and no locale, and the folder has blanks, quotes, ü, # and %",
                   answers="Models and sweeps are made and kept")
def test_without_a_home_or_a_locale_in_a_folder_with_every_odd_sign_models_and_sweeps_are_kept(tmp_path):
    course = tmp_path / "clone ü ' \" # % [x] $HOME"
    for room in ("data", "toy_models", "lessons"):
        ignored = shutil.ignore_patterns("cache", "__pycache__", "*.nc", "checkpoints")
        shutil.copytree(ROOT / room, course / room, ignore=ignored if room == "data" else
                        shutil.ignore_patterns("__pycache__"))
    environment = {key: value for key, value in os.environ.items() if key != "HOME" and not key.startswith("LC_")}
    environment |= {"LC_ALL": "C", "PYTHONPATH": str(course), "WEIGHTSPACE_DATA": str(course / "store ü ' # %"),
                    "PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": str(tmp_path / "matplotlib")}
    done = subprocess.run([sys.executable, "-c", WORK], cwd=course, env=environment, capture_output=True, text=True,
                          timeout=120)
    assert done.stdout == "1 1\n", done.stderr


# what runs code that a file holds, and where the course uses it: on text of its own, or on a learner's in its cage
RUNNING = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
CALLS = {"eval", "exec", "torch.load", "np.load", "numpy.load", "joblib.load", "yaml.unsafe_load", "yaml.full_load"}
ALLOWED = {
    "lessons/vit/exercises/files.py": {"pickle"},  # makes bytes that an exercise has to tell apart
    "lessons/kit/collect/nursery_process.py": {"exec"},
    "lessons/kit/collect/cell.py": {"exec", "eval"},
}


def _called(function):
    """"exec", "torch.load" or what else a call names; "" of anything longer."""
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return ""


def runs(tree):
    """Modules and calls of a file that could run what data hold."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in RUNNING)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in RUNNING:
            yield node.module
        elif isinstance(node, ast.Call) and (called := _called(node.func)) in CALLS:
            yield called


@pytest.mark.fault("surroundings", "All code of the course is searched for calls that run what a file holds",
                   answers="There is none but where learners' code is run on purpose")
def test_nothing_that_a_file_holds_is_unpickled_or_run():
    found = {}
    for path in (file for room in ("data", "toy_models", "lessons") for file in (ROOT / room).rglob("*.py")):
        if "cache" not in path.parts and (names := set(runs(ast.parse(path.read_text(encoding="utf-8"))))):
            found[path.relative_to(ROOT).as_posix()] = names
    assert found == ALLOWED
    assert set(runs(ast.parse("import pickle\nx = torch.load(f)\nnetwork.eval()"))) == {"pickle", "torch.load"}
