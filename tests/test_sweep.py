import importlib
import itertools
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

from data import imported, store
from lessons.kit import archive, kept, sweep
from lessons.kit.sweep import BINS, cached, names, on_grid, summarise

NAN = float("nan")
REPOSITORY = Path(store.__file__).parents[1]


def test_a_summary_leaves_out_samples_without_a_direction():
    summary = summarise({"gap": torch.tensor([0.0, NAN, 1.0, 2.0, 3.0, 4.0], dtype=torch.float64)})
    assert summary == {"gap_mean": 2.0, "gap_low": 1.0, "gap_high": 3.0}


def test_a_distribution_has_its_median_and_counts_what_lies_outside_in_the_outermost_bins():
    summary = summarise({"coef": torch.tensor([-3.0, 0.501, 0.502, 0.503, 7.0], dtype=torch.float64)}, ["coef"])
    assert summary["coef_median"] == 0.502
    counted = {int(place): int(summary["coef_count"][place]) for place in np.flatnonzero(summary["coef_count"])}
    assert counted == {0: 1, 50: 3, 149: 1}
    assert len(summary["coef_count"]) == len(BINS) - 1


def test_summaries_go_to_their_place_on_the_grid():
    generator = torch.Generator().manual_seed(0)
    grid = {"alpha": (0.0, 0.5, 1.0), "layer": ["layer 1", "output"]}
    samples = {}
    for place in itertools.product(*grid.values()):
        samples[place] = torch.rand(7, generator=generator, dtype=torch.float64)
    summaries = []
    for values in samples.values():
        summaries.append(summarise({"coef": values}, ["coef"]) | {"further": values.sum().item()})
    sweep = on_grid(summaries, **grid)
    assert sweep.coef_mean.dims == sweep.further.dims == ("alpha", "layer")
    assert sweep.coef_count.dims == ("alpha", "layer", "bin")
    for (alpha, layer), values in samples.items():
        here = sweep.sel(alpha=alpha, layer=layer)
        assert here.coef_mean.item() == pytest.approx(values.mean().item(), rel=1e-12)
        assert here.further.item() == values.sum().item()
        middle = here.bin[here.coef_count > 0].values
        assert all(np.abs(middle - value).min() <= 0.005 + 1e-12 for value in values.numpy())
        assert here.coef_count.sum() == 7


def test_without_a_distribution_there_are_no_bins():
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


@pytest.mark.fault("stored", "A bit of a stored sweep is another one, at every byte of the file",
                   answers="It is noticed, or changes no value")
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
                found = sweep.read(path)
        except store.Damaged:
            damaged += 1
        else:
            assert found.equals(first) and found.attrs == first.attrs, position
    assert damaged > len(whole) / 2


FULL = """
    import resource, sys, warnings
    import xarray
    from data import store
    from lessons.kit import kept, sweep
    from toy_models import Architecture, Recipe, zoo
    warnings.simplefilter("always")
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    measured, drawn = [], []

    def measure():
        measured.append(1)
        return xarray.Dataset({"a": ("x", range(2000))})

    def draw():
        drawn.append(1)
        return "p" * 5000

    recipe = Recipe.on("spirals", Architecture.of("MLP", widths=(2, 64, 64, 2)), lr=0.1, epochs=1)
    for _ in range(2):
        zoo.get(recipe, progress=False)
        found = sweep.cached("small", {}, measure, module="lessons.kit.noise")
        assert kept.kept(draw, found, (), ".html", draw) == "p" * 5000
    print(len(measured), len(drawn), found.a.sum().item())
"""


@pytest.mark.fault("full", "The disk is full when a model, a sweep and a figure are stored",
                   answers="They stay in the kernel's memory, and a warning says how much room there is")
def test_on_a_full_disk_what_was_trained_measured_and_drawn_stays_in_memory(start_python, quiet_store):
    """The limit on a file's size stands for the full disk: both are told when the bytes are written."""
    out, errors = start_python(FULL).communicate(timeout=60)
    assert out == "1 1 1999000\n", errors
    for folder in ("zoo", "sweeps", "figures"):
        assert errors.count(f"DataWarning: {quiet_store / folder} has no room for") == 1
        assert not [path.name for path in (quiet_store / folder).iterdir() if path.suffix != ".lock"]


@pytest.mark.fault("shared", "A folder that may not be written lacks a figure or a sweep",
                   answers="The figure is drawn, and the sweep is kept in the learner's own folder")
def test_what_a_closed_folder_lacks_is_drawn_and_not_kept_and_measured_and_kept_in_the_learner_s_own(
        quiet_store, tmp_path, close):
    close(quiet_store)
    with pytest.warns(store.DataWarning, match=f"^{quiet_store} cannot be written"):
        found = [cached("small", {}, lambda: xarray.Dataset({"a": 1.0})) for _ in range(2)]
    assert found[0].equals(found[1]) and len(list((tmp_path / "own/sweeps").glob("*.nc"))) == 1
    drawn = []

    def draw():
        drawn.append(1)
        return "<p></p>"

    with warnings.catch_warnings(action="error"):
        assert [kept.kept(draw, found[0], (), ".html", draw) for _ in range(2)] == ["<p></p>"] * 2
    assert len(drawn) == 2 and not (tmp_path / "own/figures").exists()


@pytest.mark.parametrize("what", ["folder", "fifo", "loop"])
@pytest.mark.fault("stored", "A folder, a pipe or a link to itself lies in the place of a sweep or figure",
                   answers="An error names it at once")
def test_what_is_no_file_in_a_sweep_s_or_a_figure_s_place_is_named_and_not_waited_for(tmp_path, what):
    path = tmp_path / "place"
    {"folder": path.mkdir, "fifo": lambda: os.mkfifo(path), "loop": lambda: path.symlink_to(path)}[what]()
    for read in (sweep.read, archive.read, kept._read):
        with pytest.raises(store.StoreError, match=f"^{path} is a .*Move it away"):
            read(path)


def test_what_is_no_fault_of_the_file_is_not_called_damage(quiet_store, monkeypatch):
    def failing(*_, **__):
        raise ImportError("No module named 'dask.base'")

    cached("small", {}, lambda: xarray.Dataset({"a": 1.0}))
    monkeypatch.setattr(xarray, "open_dataset", failing)
    with pytest.raises(ImportError, match="dask.base"):
        cached("small", {}, lambda: pytest.fail("measured again"))


def small():
    return xarray.Dataset({"a": ("x", [0.5, 2.0])})


OTHERS = {
    "an attribute more": lambda sweep: sweep.assign_attrs(more=1),
    "an array among its attributes": lambda sweep: sweep.assign_attrs(more=np.arange(3.0)),
    "another variable": lambda sweep: sweep.assign(b=("x", [1.0, 2.0])),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.fault("stored", "Another program writes a sweep again, with something more in it",
                   answers="Its digest does not match, so it is measured again")
def test_a_sweep_that_another_program_wrote_again_is_measured_again(quiet_store, other):
    first = cached("small", {}, small)
    path, = (quiet_store / "sweeps").glob("*.nc")
    other(sweep.read(path)).to_netcdf(path, engine="scipy")
    with pytest.warns(store.DataWarning, match="its digest does not match"):
        again = cached("small", {}, small)
    assert again.equals(first) and again.attrs == first.attrs


@pytest.mark.parametrize("begin", [b"\x89HDF\r\n\x1a\n", b"\x1f\x8b", b"\x80\x04\x95", b"CDF\x01" + b"\xff" * 12],
                         ids=["HDF5", "gzip", "pickle", "endless dimensions"])
@pytest.mark.fault("stored", "A sweep's file becomes HDF5, gzip, a pickle, or claims endless dimensions",
                   answers="The damage is named, and the sweep is measured again")
def test_a_sweep_s_file_of_another_kind_is_damaged(quiet_store, begin):
    first = cached("small", {}, small)
    path, = (quiet_store / "sweeps").glob("*.nc")
    path.write_bytes(begin + path.read_bytes()[len(begin):])
    with pytest.warns(store.DataWarning, match=f"{path} is damaged"):
        assert cached("small", {}, small).equals(first)


@pytest.mark.parametrize("time", [-10**8, 4 * 10**9], ids=["1966", "2096"])
@pytest.mark.fault("stored", "A file's time lies decades in the past or the future", answers="It is read")
def test_the_time_of_a_file_decides_nothing(quiet_store, time):
    first = cached("small", {}, small)
    path, = (quiet_store / "sweeps").glob("*.nc")
    os.utime(path, (time, time))
    assert cached("small", {}, lambda: pytest.fail("measured again")).equals(first)


@pytest.mark.fault("stored", "Bits of a stored figure are others, or its end is missing",
                   answers="It is noticed, so the figure is drawn again")
def test_a_flipped_bit_or_a_missing_end_of_a_kept_figure_is_noticed(tmp_path):
    kept._write("<p>ü 0.5</p>\n", tmp_path / "page")
    whole = (tmp_path / "page").read_bytes()
    flipped = [whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1:]
               for place in range(len(whole)) for bit in (1, 4, 128)]
    for content in [*flipped, *(whole[:end] for end in range(len(whole)))]:
        (tmp_path / "page").write_bytes(content)
        with pytest.raises(store.Damaged):
            kept._read(tmp_path / "page")


@pytest.mark.parametrize("name", ["../../evil", "/evil", "a/b", "a\\b", "..", ".hidden", ""])
@pytest.mark.fault("surroundings", "A sweep's name is a path that leads elsewhere",
                   answers="An error says what a name may be")
def test_a_sweep_s_name_leads_to_no_other_folder(name, quiet_store):
    with pytest.raises(ValueError, match="beginning of a file's name"):
        cached(name, {}, lambda: pytest.fail("measured"))
    assert not quiet_store.exists()


@pytest.mark.fault("stored", "A system writes other line ends", answers="A stored figure is read as it was written")
def test_a_page_is_sound_also_where_text_gets_other_line_ends(tmp_path, monkeypatch):
    def as_on_windows(path, text, **_):
        path.write_bytes(text.replace("\n", "\r\n").encode())

    monkeypatch.setattr(Path, "write_text", as_on_windows)
    kept._write("<p>é\n</p>\n", tmp_path / "page")
    assert kept._read(tmp_path / "page") == "<p>é\n</p>\n"


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


# -- the code behind a sweep ---------------------------------------------------------------------------------------

ROUNDS, EPOCHS = "lessons.gradients.experiment.rounds", "lessons.gradients.experiment.epochs"
TASKS, STORAGE = "lessons.task_arithmetic.experiment.mlp", "lessons.cart.experiment.resnet"
LINE = "lessons.linearity.experiment.mlp"
MEASURING = {ROUNDS, EPOCHS, TASKS, STORAGE, LINE}


@pytest.fixture
def changed_by(monkeypatch):
    """changed_by(module, old, new): whose key changes where the module's text is another one."""
    for name in MEASURING:
        importlib.import_module(name)
    before = {name: sweep.behind(name) for name in MEASURING}

    def changed_by(module, old, new):
        text = imported.text(module)
        assert old in text
        with monkeypatch.context() as patch:
            patch.setitem(imported._texts, module, text.replace(old, new, 1))
            return {name for name in MEASURING if sweep.behind(name) != before[name]}
    return changed_by


@pytest.mark.parametrize("module, old, new", [
    ("toy_models.batchnorm", "0.1", "0.2"), ("toy_models.weights", "return ", "return -"),
    ("data.rotated_mnist", "return ", "return -")])
@pytest.mark.fault("surroundings", "One character of code behind all sweeps changes", answers="All are measured anew")
def test_one_character_of_a_module_behind_all_sweeps_changes_every_key(changed_by, module, old, new):
    assert changed_by(module, old, new) == MEASURING


def test_one_character_of_a_module_behind_some_sweeps_changes_their_keys(changed_by):
    """Modules on which hand-written lists had been wrong."""
    assert changed_by("lessons.merging.sparse", "stack", "stacK") >= {ROUNDS, STORAGE}
    assert changed_by("lessons.merging.masks", "return", "raise ") >= {STORAGE}
    assert changed_by("lessons.linearity.algorithms.features", "return ", "return -") >= {EPOCHS, ROUNDS, TASKS, LINE}
    of_averaging = changed_by("lessons.averaging.algorithms", "return ", "return -")
    assert of_averaging >= {TASKS} and LINE not in of_averaging


@pytest.mark.parametrize("module, old, new", [
    ("lessons.linearity.panels.mlp", "return ", "return -"), ("lessons.kit.plotting", "return ", "return -"),
    (LINE, '"""', '"""Another word. ')])
def test_drawing_and_docstrings_change_no_key(changed_by, module, old, new):
    importlib.import_module(module)
    assert changed_by(module, old, new) == set()


LATER = """
import sys
from data import code
from lessons import thing

first = code.behind("lessons.thing")
assert "toy_models.race" not in sys.modules
import toy_models.race
assert code.behind("lessons.thing") == first
assert "toy_models.race" in code._reachable("lessons.thing", False)
"""


def course_with(tmp_path, thing):
    """A copy of the course with one module more, `lessons.thing`; returns the environment in which it is imported."""
    for room in ("data", "toy_models", "lessons"):
        ignored = shutil.ignore_patterns("cache", "__pycache__", "*.yaml", "*.nc")
        shutil.copytree(REPOSITORY / room, tmp_path / room, ignore=ignored)
    (tmp_path / "lessons" / "thing.py").write_text(thing)
    return os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.slow  # imports torch in a process of its own
def test_a_module_that_is_imported_when_it_is_needed_counts_before_it_is(tmp_path):
    environment = course_with(tmp_path, "def measure():\n    from toy_models import race\n    return race\n")
    subprocess.run([sys.executable, "-c", LATER], cwd=tmp_path, env=environment, check=True, timeout=120)


KERNEL = """
import json, pathlib, sys
from lessons import thing
from lessons.kit import sweep
from toy_models import mlp

def keys():
    return [sweep.behind("toy_models.mlp"), sweep.behind("lessons.thing"), thing.measure()]

first = keys()
for file, old, new in json.load(sys.stdin):
    text = pathlib.Path(file).read_text()
    assert old in text, file
    pathlib.Path(file).write_text(text.replace(old, new, 1))
print(json.dumps([first, keys()]))
"""
ON_DISK = [("toy_models/mlp.py", "relu_()", "relu()"), ("lessons/thing.py", "return 1", "return 2")]


@pytest.mark.slow  # imports torch in two processes
@pytest.mark.fault("surroundings", "The course is updated while a kernel runs",
                   answers="The kernel's numbers stay its own, and the next kernel measures anew")
def test_code_that_changes_on_disk_changes_the_key_of_the_next_process_and_not_of_a_running_kernel(tmp_path):
    environment = course_with(tmp_path, "def measure():\n    return 1\n")

    def run_kernel(*edits):
        done = subprocess.run([sys.executable, "-c", KERNEL], env=environment, cwd=tmp_path, input=json.dumps(edits),
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    before, after = run_kernel(*ON_DISK)
    assert before == after and before[2] == 1
    later, _ = run_kernel()
    assert later[2] == 2 and later[0] != before[0] and later[1] != before[1]


@pytest.mark.parametrize("change, back", [
    (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
    (lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None)),
    (lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True)),
    (lambda: torch.set_num_threads(torch.get_num_threads() + 1),
     lambda: torch.set_num_threads(torch.get_num_threads() - 1)),
    (lambda: torch.manual_seed(5), lambda: None)])
@pytest.mark.fault("surroundings", "A cell sets torch's default dtype, device, seed or threads, then measures",
                   answers="The numbers are the same, and the settings stay")
def test_what_a_cell_set_globally_reaches_no_measurement_and_stays_as_it_was(tmp_path, monkeypatch, change, back):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path))

    def state():
        return (torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(),
                torch.get_num_threads(), torch.initial_seed())

    def measured(n):
        seen = []

        def measure():
            seen.append((*state(), torch.rand(1, device="cpu").item()))
            return xarray.Dataset({"a": ("x", [1.0])})

        cached("small", {"n": n}, measure)
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


def test_names_along_a_dimension_are_plain_text():
    sweep = xarray.Dataset(coords={"pair": ["1 and 2", "1 and 3"], "alpha": [0.5]})
    assert names(sweep.pair) == ["1 and 2", "1 and 3"] and type(names(sweep.pair)[0]) is str
    assert names(sweep.alpha) == ["0.5"]


def test_arrays_on_a_grid_name_their_dimensions():
    rows = [{"accuracy": ("task", [alpha, -alpha]), "loss": 2 * alpha} for alpha in (0.0, 0.5)]
    sweep = on_grid(rows, alpha=(0.0, 0.5))
    assert sweep.accuracy.dims == ("alpha", "task") and sweep.accuracy.values.tolist() == [[0.0, -0.0], [0.5, -0.5]]
    assert sweep.loss.values.tolist() == [0.0, 1.0]
