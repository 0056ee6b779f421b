"""Every chapter is executed as CI, a teacher and a learner would: on the stand-in and on the real data, quick and full, with and without solutions."""
import json
import shutil
import time

import nbformat
import pytest

from tools.bench.epoch import mlp_epoch_seconds
from lessons.kit import notebooks
from lessons.kit.notebooks import CHAPTERS, NotebookError, execute, hidden_errors

NAMES = [chapter.stem for chapter in CHAPTERS]
PANELS = {"00_start_here": 1, "01_linearity": 4, "02_linearity_resnet": 5, "03_averaging": 5, "04_task_arithmetic": 5, "05_pretraining": 4, "06_gradients": 5, "07_interference": 5, "08_cart": 6}
TOO_LONG = {(name, "full") for name in NAMES if name >= "02"}  # train ResNets for minutes, chapter 2 for up to 25, without bfloat16 units more: run by hand
NEEDS = {"02_linearity_resnet": ["real_cifar"]} | {name: ["real_data", "real_cifar", "real_fashion"] for name in NAMES if name >= "03"}  # fixtures that give one and the same folder
BOTH_CORES = ("02_linearity_resnet",)  # trains ResNets in quick; beside another notebook it takes half as long again
SLACK = 2  # shared machines have bad minutes. `make bench` reports the figures themselves

DRIVE = '''
import random
from lessons.kit.panel import Panel, settings_of
random.seed(0)
for panel in [thing for name, thing in list(globals().items()) if isinstance(thing, Panel) and not name.startswith("_")]:
    for name, control in panel.controls.items():
        settings, frames = settings_of(control), {}
        for value in [settings[0], settings[-1], *random.choices(settings, k=5)]:
            control.value = value
            frames.setdefault(value, panel.picture.frame["marks"])
            assert panel.picture.frame["marks"] == frames[value], "the picture is not a function of its controls"
            assert not panel.picture.error
            if name == "alpha":
                assert f"{value:.2f}" in panel.alt, panel.alt
        assert len(set(frames.values())) == len(frames) > 1, (name, "a control moved and the picture did not")
    print("drove a panel")
'''


@pytest.fixture
def run(tmp_path, monkeypatch, request):
    """run(name, folder, **parameters) -> (executed notebook, seconds). A test marked `timed` is alone, so its notebook may have all cores, as a learner's has."""
    if request.node.get_closest_marker("timed"):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def run(name, folder, extra="", **parameters):
        monkeypatch.setenv("WEIGHTSPACE_DATA", str(folder))
        source = next(chapter for chapter in CHAPTERS if chapter.stem == name)
        if extra:
            notebook = nbformat.read(source, as_version=4)
            notebook.cells.append(nbformat.v4.new_code_cell(extra))
            source = tmp_path / source.name
            nbformat.write(notebook, source)
        start = time.monotonic()
        executed = execute(source, tmp_path / f"{name}.executed.ipynb", **parameters)
        return executed, time.monotonic() - start
    return run


def allowed_seconds(name, profile):
    """The chapter's budget in seconds of this machine in this minute, with some slack."""
    return SLACK * notebooks.budget(name, profile) * mlp_epoch_seconds(samples=6000)


def outputs_of(notebook, kind="text/plain"):
    """The text of every output of one kind, and printed text, in order."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                yield output.text
            elif kind in output.get("data", {}):
                yield output.data[kind]


def checks_of(notebook):
    return [text for text in outputs_of(notebook) if text.startswith(("passed ", "not yet "))]


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.timed] if name in BOTH_CORES else []) for name in NAMES])
def test_runs_on_the_stand_in_within_its_budget_says_so_and_every_control_moves_its_picture(name, run, tmp_path, standin_folder_session):
    """From nothing; what was trained and measured then goes to the folder that the other tests use."""
    executed, seconds = run(name, tmp_path / "nothing cached", extra=DRIVE, profile="quick")
    shutil.copytree(tmp_path / "nothing cached", standin_folder_session, dirs_exist_ok=True)
    texts = list(outputs_of(executed))
    assert sum(text.count("drove a panel") for text in texts) == PANELS[name]
    assert all(text.startswith("not yet") for text in checks_of(executed)) and checks_of(executed)
    assert seconds < allowed_seconds(name, "quick")
    assert "stand-in" in next(outputs_of(executed)), "the notebook's first output must name the stand-in"
    captions = [page for page in outputs_of(executed, "text/html") if "<figcaption" in page]
    assert captions and all("Not MNIST!" in page or "Not CIFAR-100!" in page or "generated" in page for page in captions)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_check_passes_when_the_library_answers(name, run, standin_folder_session, real_is_here):
    """On the stand-in; where the real data are here, the next test looks at the checks."""
    if real_is_here:
        pytest.skip("the checks are looked at on the real data")
    executed, _ = run(name, standin_folder_session, profile="quick", solved=True)
    assert all(text.startswith("passed") for text in checks_of(executed)) and checks_of(executed), checks_of(executed)


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("name, profile", [pytest.param(name, profile, marks=[pytest.mark.timed] if profile == "quick" else []) for name in NAMES for profile in notebooks.PROFILES
                                           if (name, profile) not in TOO_LONG])
def test_runs_on_the_real_data_within_its_budget(name, profile, run, request):
    """`quick` from nothing, with the library's answers to the exercises: each test has a data folder of its own, with the official files and no models.
    `full` shares a folder with the test that measures the ledger again, so that what takes minutes is trained once."""
    folder = [request.getfixturevalue(fixture) for fixture in NEEDS.get(name, ["real_data"])][0]
    if profile == "full":
        folder = request.getfixturevalue("real_folder_session")
    executed, seconds = run(name, folder, profile=profile, solved=profile == "quick")
    assert "(official files)" in next(outputs_of(executed))
    assert profile == "full" or all(text.startswith("passed") for text in checks_of(executed)) and checks_of(executed), checks_of(executed)
    assert not any("stand-in" in page for page in outputs_of(executed, "text/html") if "<figcaption" in page)
    assert not any("do not carry" in text for text in outputs_of(executed)), "the verdicts must stand on the real data"
    assert seconds < allowed_seconds(name, profile)


def test_every_picture_has_alternative_text(run, standin_folder_session):
    executed, _ = run("00_start_here", standin_folder_session)
    pages = [page for page in outputs_of(executed, "text/html") if "<img" in page]
    assert pages and all('alt="' in page and 'alt=""' not in page for page in pages)


def small(tmp_path, *cells, tag=True):
    """A notebook of a few cells."""
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
    notebook.cells = [nbformat.v4.new_code_cell("profile = 'quick'", metadata={"tags": ["parameters"]} if tag else {}), *map(nbformat.v4.new_code_cell, cells)]
    nbformat.write(notebook, tmp_path / "small.ipynb")
    return tmp_path / "small.ipynb"


def test_an_unknown_parameter_is_an_error(tmp_path):
    with pytest.raises(NotebookError, match="'alpha'"):
        execute(small(tmp_path), tmp_path / "out.ipynb", alpha=1)


def test_a_notebook_without_a_parameters_cell_is_an_error(tmp_path):
    with pytest.raises(NotebookError, match="no cell tagged"):
        execute(small(tmp_path, tag=False), tmp_path / "out.ipynb", profile="full")


HIDDEN_IN_A_PANEL = """
import contextlib
from lessons.kit import plotting
from lessons.kit.panel import Panel, slider
fig, ax = plotting.figure()
line, = ax.plot([0, 1], [0, 1], animated=True)
def draw(alpha):
    if alpha > 0.5:
        raise RuntimeError("nobody sees this")
    return "a line"
panel = Panel({"alpha": slider("α", [0.0, 1.0], 0.0)}, fig, draw)
with contextlib.suppress(RuntimeError):
    panel.controls["alpha"].value = 1.0
"""
HIDDEN_IN_AN_OUTPUT = """
import ipywidgets
out = ipywidgets.Output()
with out:
    raise RuntimeError("nobody sees this")
out
"""


@pytest.mark.parametrize("code", [HIDDEN_IN_A_PANEL, HIDDEN_IN_AN_OUTPUT], ids=["panel", "output widget"])
def test_an_error_that_a_widget_hides_is_found(code, tmp_path):
    with pytest.raises(NotebookError, match="nobody sees this"):
        execute(small(tmp_path, code), tmp_path / "out.ipynb")


def test_a_cell_that_takes_too_long_is_stopped(tmp_path):
    with pytest.raises(Exception, match="(?i)timed? ?out"):
        execute(small(tmp_path, "import time; time.sleep(60)"), tmp_path / "out.ipynb", timeout=2)


def test_no_hidden_errors_in_a_notebook_without_widgets():
    assert hidden_errors(nbformat.v4.new_notebook()) == []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=NAMES)
def test_committed_notebooks_are_stripped_and_their_cells_have_names(chapter):
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code), "stored outputs"
    assert "widgets" not in notebook["metadata"]
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) and all(id.replace("-", "").isalnum() and len(id) > 2 for id in ids)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=NAMES)
def test_the_first_code_cell_holds_the_parameters(chapter):
    first = next(cell for cell in nbformat.read(chapter, as_version=4).cells if cell.cell_type == "code")
    assert "parameters" in first.metadata.tags
    assert first.source.split() == 'profile = "quick" seed = 0 device = "auto" solved = False'.split()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=NAMES)
def test_cells_are_short_and_use_no_machinery(chapter):
    for cell in nbformat.read(chapter, as_version=4).cells:
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= 12, cell.id
            assert "sys.path" not in cell.source and not cell.source.startswith("%")
