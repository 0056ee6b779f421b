import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray

from data import store
from lessons.kit import sweep
from lessons.kit.sweep import COEF_BINS, cached, on_grid, summarise

NAN = float("nan")
REPOSITORY = Path(store.__file__).parents[1]


def test_a_summary_leaves_out_samples_without_a_direction():
    summary = summarise({"gap": torch.tensor([0.0, NAN, 1.0, 2.0, 3.0, 4.0], dtype=torch.float64)})
    assert summary == {"gap_mean": 2.0, "gap_low": 1.0, "gap_high": 3.0}


def test_coef_also_gets_its_median_and_its_distribution_with_what_lies_outside_in_the_outermost_bins():
    summary = summarise({"coef": torch.tensor([-3.0, 0.501, 0.502, 0.503, 7.0], dtype=torch.float64)})
    assert summary["coef_median"] == 0.502
    assert {int(place): int(summary["coef_count"][place]) for place in np.flatnonzero(summary["coef_count"])} == {0: 1, 50: 3, 149: 1}
    assert len(summary["coef_count"]) == len(COEF_BINS) - 1


def test_summaries_go_to_their_place_on_the_grid():
    generator, alphas, layers = torch.Generator().manual_seed(0), (0.0, 0.5, 1.0), ["layer 1", "output"]
    samples = {(alpha, layer): torch.rand(7, generator=generator, dtype=torch.float64) for alpha in alphas for layer in layers}
    sweep = on_grid([summarise({"coef": values}) | {"further": values.sum().item()} for values in samples.values()], alpha=alphas, layer=layers)
    assert sweep.coef_mean.dims == sweep.further.dims == ("alpha", "layer") and sweep.coef_count.dims == ("alpha", "layer", "bin")
    for (alpha, layer), values in samples.items():
        here = sweep.sel(alpha=alpha, layer=layer)
        assert here.coef_mean.item() == pytest.approx(values.mean().item(), rel=1e-12) and here.further.item() == values.sum().item()
        middle = here.bin[here.coef_count > 0].values
        assert all(np.abs(middle - value).min() <= 0.005 + 1e-12 for value in values.numpy()) and here.coef_count.sum() == 7


def test_without_coef_there_are_no_bins():
    assert "bin" not in on_grid([summarise({"gap": torch.ones(2, dtype=torch.float64)})] * 2, layer=["a", "b"]).coords


def test_a_grid_of_another_size_is_an_error():
    with pytest.raises(ValueError, match="reshape"):
        on_grid([summarise({"gap": torch.ones(2, dtype=torch.float64)})] * 3, layer=["a", "b"])


def test_a_sweep_s_file_has_the_mode_of_an_ordinary_new_one(quiet_store, is_ordinary):
    cached("small", {}, lambda: xarray.Dataset({"a": 1.0}))
    path, = (quiet_store / "sweeps").glob("*.nc")
    assert is_ordinary(path)


def test_a_sweep_that_may_not_be_read_is_not_called_damaged(quiet_store, forbid):
    cached("small", {}, lambda: xarray.Dataset({"a": 1.0}))
    path, = (quiet_store / "sweeps").glob("*.nc")
    forbid(path)
    with pytest.raises(store.StoreError, match=f"^{path} may not be read"):
        cached("small", {}, lambda: pytest.fail("measured again"))


def test_a_flipped_bit_anywhere_in_a_sweep_is_damage_or_changes_no_value(quiet_store):
    first = cached("small", {}, lambda: xarray.Dataset({"a": ("x", [0.5, 2.0])}))
    path, = (quiet_store / "sweeps").glob("*.nc")
    whole = path.read_bytes()
    damaged = 0
    for position in range(len(whole)):
        flipped = bytes([whole[position] ^ 4])  # makes text of numbers too
        path.write_bytes(whole[:position] + flipped + whole[position + 1:])
        try:
            with warnings.catch_warnings(action="ignore"):
                found = sweep._read(path)
        except store.Damaged:
            damaged += 1
        else:
            assert found.equals(first) and found.attrs == first.attrs, position
    assert damaged > len(whole) / 2


def test_a_page_is_sound_also_where_text_gets_other_line_ends(tmp_path, monkeypatch):
    def as_on_windows(path, text, **_):
        path.write_bytes(text.replace("\n", "\r\n").encode())

    monkeypatch.setattr(Path, "write_text", as_on_windows)
    sweep._write_page("<p>é\n</p>\n", tmp_path / "page")
    assert sweep._read_page(tmp_path / "page") == "<p>é\n</p>\n"


def test_a_damaged_sweep_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path))
    small = xarray.Dataset({"a": ("x", np.arange(50.0))}, coords={"x": list(range(50))}, attrs={"source": "none"})
    first = cached("small", {"n": 1}, lambda: small)
    path, = (tmp_path / "sweeps").glob("*.nc")
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1:])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            again = cached("small", {"n": 1}, lambda: small)
        assert again.equals(first), position
        if any(issubclass(warning.category, store.DataWarning) for warning in said):
            assert path.read_bytes() == whole or cached("small", {"n": 1}, lambda: None).equals(first)


# -- the code behind a sweep ---------------------------------------------------------------------------------------------------

@pytest.fixture
def copied_tree(tmp_path):
    """The course's code in a folder of its own."""
    for room in ("data", "toy_models", "lessons"):
        shutil.copytree(REPOSITORY / room, tmp_path / room, ignore=shutil.ignore_patterns("cache", "__pycache__", "*.yaml", "*.nc"))
    return tmp_path


def run_in(folder, code, *lines):
    """What the code prints, as JSON, in a process that imports the copied course; it is sent lines to read."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=folder, input="\n".join(lines), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


KEYS = """
import importlib, json, pathlib, sys
names = sys.stdin.read().split()
for name in names:
    importlib.import_module(name)
from lessons.kit import sweep
changes = json.loads(pathlib.Path("changes.json").read_text())
from data import imported
found = {"as it is": {name: sweep.behind(name) for name in names}}
for file, (old, new) in changes.items():
    module = file.removesuffix(".py").replace("/", ".")
    text = imported.text(module)
    assert text.count(old) >= 1, (file, old)
    imported._texts[module] = text.replace(old, new, 1)
    sweep._read_code.cache_clear()
    found[file] = {name: sweep.behind(name) for name in names}
    imported._texts[module] = text
print(json.dumps(found))
"""
ROUNDS, EPOCHS, TASKS = "lessons.gradients.experiment.rounds", "lessons.gradients.experiment.epochs", "lessons.task_arithmetic.experiment.mlp"
STORAGE, LINE = "lessons.cart.experiment.resnet", "lessons.linearity.experiment.mlp"


def test_one_character_of_any_module_behind_a_sweep_changes_its_key(copied_tree):
    """The modules on which hand-written lists had been wrong, and one of every other room; comments, docstrings and drawing do not count."""
    changes = {
        "lessons/merging/sparse.py": ("stack", "stacK"),
        "lessons/merging/masks.py": ("return", "raise "),
        "lessons/linearity/algorithms.py": ("return ", "return -"),
        "lessons/averaging/algorithms.py": ("return ", "return -"),
        "toy_models/batchnorm.py": ("0.1", "0.2"),
        "toy_models/weights.py": ("return ", "return -"),
        "data/rotated_mnist.py": ("return ", "return -"),
        "lessons/linearity/panels/mlp.py": ("return ", "return -"),
        "lessons/kit/plotting.py": ("return ", "return -"),
        "lessons/linearity/experiment/mlp.py": ('"""', '"""Another word. '),
    }
    (copied_tree / "changes.json").write_text(json.dumps(changes))
    names = (ROUNDS, EPOCHS, TASKS, STORAGE, LINE)
    found = run_in(copied_tree, KEYS, *names, "lessons.linearity.panels.mlp")
    was = found["as it is"]
    changed = {file: {name for name in names if keys[name] != was[name]} for file, keys in found.items()}
    assert changed["lessons/merging/sparse.py"] >= {ROUNDS, STORAGE}
    assert changed["lessons/merging/masks.py"] >= {STORAGE}
    assert changed["lessons/linearity/algorithms.py"] >= {EPOCHS, ROUNDS, TASKS, LINE}
    assert changed["lessons/averaging/algorithms.py"] >= {TASKS} and LINE not in changed["lessons/averaging/algorithms.py"]
    for everywhere in ("toy_models/batchnorm.py", "toy_models/weights.py", "data/rotated_mnist.py"):
        assert changed[everywhere] == set(names)
    for nowhere in ("lessons/linearity/panels/mlp.py", "lessons/kit/plotting.py", "lessons/linearity/experiment/mlp.py"):
        assert changed[nowhere] == set()


def test_one_character_changed_on_disk_changes_the_key_of_the_next_process(copied_tree):
    code = "import json; from lessons.kit import sweep; import lessons.linearity.experiment.mlp as m; print(json.dumps(sweep.behind(m.__name__)))"
    first = run_in(copied_tree, code)
    path = copied_tree / "toy_models" / "mlp.py"
    path.write_text(path.read_text().replace("relu_()", "relu()", 1))
    assert run_in(copied_tree, code) != first


def test_code_that_changes_on_disk_under_a_running_kernel_keeps_the_key_of_what_runs(copied_tree):
    (copied_tree / "lessons" / "thing.py").write_text("def measure():\n    return 1\n")
    code = """
import json, pathlib
from lessons import thing
from lessons.kit import sweep
pathlib.Path("lessons/thing.py").write_text("def measure():\\n    return 2\\n")
print(json.dumps([sweep.behind("lessons.thing"), thing.measure()]))
"""
    (key, measured), (later, then) = run_in(copied_tree, code), run_in(copied_tree, code)
    assert (measured, then) == (1, 2) and key != later


@pytest.mark.parametrize("change, back", [
    (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
    (lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None)),
    (lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True)),
    (lambda: torch.set_num_threads(torch.get_num_threads() + 1), lambda: torch.set_num_threads(torch.get_num_threads() - 1)),
    (lambda: torch.manual_seed(5), lambda: None)])
def test_what_a_cell_set_globally_reaches_no_measurement_and_stays_as_it_was(tmp_path, monkeypatch, change, back):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path))

    def state():
        return (torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(), torch.get_num_threads(), torch.initial_seed())

    def measured(n):
        seen = []
        cached("small", {"n": n}, lambda: seen.append((*state(), torch.rand(1, device="cpu").item())) or xarray.Dataset({"a": ("x", [1.0])}))
        return seen[0]

    plain = measured(1)
    change()
    try:
        before = state()
        assert before != plain[:-1], "the change must be one that a measurement could see"
        assert measured(2) == plain
        assert state() == before
    finally:
        back()
