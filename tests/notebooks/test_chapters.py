"""Every chapter is executed from nothing, as a learner does: on the real data where they are, else on the stand-in.

One execution tells everything: the exercises are open, and cells at its end drive the panels and give every check the
library's answer. What it trained and measured then goes to the folder in which `full` and the browser's tests open it.
"""
import ast
import json
import re
import shutil
import time
from pathlib import Path

import nbformat
import pytest

from lessons.kit import chapters, notebooks
from lessons.kit.notebooks import CHAPTERS, NotebookError, execute, hidden_errors
from tools import handouts, slides
from tools.bench.epoch import mlp_epoch_seconds
from tools.pacing import pace

REPOSITORY = Path(__file__).parents[2]
NAMES = [chapter.stem for chapter in CHAPTERS]
# the repository has all sweeps of chapters 9 to 14; the others train ResNets for minutes, chapter 2 for up to 25: run
# these by hand
IN_FULL = [chapter.stem for chapter in chapters.CHAPTERS if chapter.full <= 90 or int(chapter.number) >= 9]
COMMITTED = [path for path in sorted((chapters.ROOT / "notebooks").rglob("*.ipynb"))
             if path.parent.name != ".ipynb_checkpoints"]
DEEPER = {one.stem for one in chapters.CHAPTERS if one.deeper}  # read after their lessons, and executed after them
PACED = [chapter.stem for chapter in chapters.LESSONS]
ALSO_ON_THE_STAND_IN = "01_linearity"  # where the real data are; the other chapters' stand-ins have tests of their own
SLACK = 2  # shared machines have bad minutes. `make bench` reports the figures themselves


FIXTURES = {"mnist": "real_data", "cifar": "real_cifar", "fashion": "real_fashion",
            "sentences": "real_sentences"}


def needs(name):
    """The fixtures that link the official files of a chapter; all give one and the same folder."""
    return [FIXTURES[dataset] for dataset in chapters.chapter(name).needs]


DRIVE = '''
import random
from lessons.kit.view import View
from lessons.kit.view.marks import rows_of
random.seed(0)

def picture(view):
    """What a view shows: the numbers of its frame, and where its handles stand."""
    values = view.frame.values
    handles = [view.values[chart.slider] for chart in view.charts if chart.slider]
    return repr([handles, *(rows_of(mark, values[mark.name]) for mark in view.marks if mark.parts)])

things = [thing for name, thing in globals().items() if not name.startswith("_")]
for view in [thing for thing in things if isinstance(thing, View)]:
    for name, control in view.controls.items():
        opening, frames = control.value, {}
        for value in [control.values[0], control.values[-1], *random.choices(control.values, k=5)]:
            control.value = value
            frames.setdefault(value, picture(view))
            assert picture(view) == frames[value], "the picture is not a function of its controls"
            if name == "alpha":
                assert f"{value:.2f}".replace("-", "−") in view.alt.replace("-", "−"), view.alt
        assert len(set(frames.values())) == len(frames) > 1, (name, "a control moved and the picture did not")
        control.value = opening  # elsewhere another control may have nothing to move: at α = 1 every coef is 1
    print("drove a view")
'''

GUESS = '''
from lessons.kit.predict import Prediction
for guess in [thing for thing in things if isinstance(thing, Prediction)]:
    views = [thing for thing in things if isinstance(thing, View) and thing.prediction is guess]
    assert views, "no view asks"
    assert all(view.spec["hides"] and view.guess is None for view in views), "a view shows the truth before the guess"
    guess.commit(guess.low)
    assert all(view.guess == guess.low for view in views)
    for view in views:
        assert all(view.values[name] == value for name, value in guess.at.items()), (view.values, guess.at)
'''

DRESS = f'''
import sys
sys.path.insert(0, {str(REPOSITORY)!r})
from tests.natural import dresses
'''


def dressed(notebook, number):
    """The notebook with right answers in another dress: before each cell that uses an answer stands one that gives it.
    At its end every natural right answer is tried in every dress on what these cells gave, and every exercise is open
    once more. And how many answers there are."""
    cells, given = [], []
    for cell in notebook.cells:
        answers = re.findall(r'mine\("([\d.]+)", (\w+)\)', cell.source) if cell.cell_type == "code" else []
        given += answers
        if answers:
            cells.append(added("\n".join(f'{name} = dresses.in_another_dress("{id}")' for id, name in answers)))
        cells.append(cell)
    natural = f"count, problems = dresses.problems({number!r})\nprint('natural answers:', count, *problems, sep='\\n')"
    still_open = "\n".join(f'assert mine("{id}", None) is dresses.find("{id}").solution' for id, _ in given)
    first = next(place for place, cell in enumerate(cells) if cell.cell_type == "code") + 1
    notebook.cells = [*cells[:first], added(DRESS), *cells[first:], added(natural), added(still_open)]
    return notebook, len(given)


def added(source):
    """A cell whose time is not the notebook's own."""
    return nbformat.v4.new_code_cell(source, metadata={"tags": ["added"]})


def check_cells(notebook):
    """The cells of a notebook that check an answer."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and "check(" in cell.source]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """run(name, folder, notebook=None, **parameters) -> (the chapter or this form of it, executed; its seconds,
    which are those without the cells that were `added`).

    The test is alone, so its notebook may have all cores, as a learner's has.
    """
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def run(name, folder, notebook=None, **parameters):
        monkeypatch.setenv("WEIGHTSPACE_DATA", str(folder))
        beside = tmp_path / "notebooks"  # a folder of its own: beside a folder `data`, Python would import that one
        beside.mkdir(exist_ok=True)
        source = beside / f"{name}.ipynb"
        nbformat.write(notebook or nbformat.read(chapters.chapter(name).notebook, as_version=4), source)
        start = time.monotonic()
        executed = execute(source, beside / f"{name}.executed.ipynb", **parameters)
        seconds = time.monotonic() - start
        return executed, seconds - sum(cell.metadata.papermill.duration for cell in executed.cells
                                       if "added" in cell.metadata.get("tags", []))
    return run


@pytest.fixture
def run_from_nothing(run):
    """run_from_nothing(name, folder) -> the executed notebook, after all that holds on whatever data was looked at."""
    def run_from_nothing(name, folder):
        notebook = nbformat.read(chapters.chapter(name).notebook, as_version=4)
        checked = [cell.source.splitlines()[-1] for cell in check_cells(notebook)]
        answered = [line.replace("solved=solved", "solved=True") for line in checked]
        notebook, mines = dressed(notebook, chapters.chapter(name).number)
        notebook.cells += map(added, [DRIVE, GUESS, *answered])
        executed, seconds = run(name, folder, notebook, profile="quick")
        texts = list(outputs_of(executed))
        assert sum(text.count("This cell runs your") for text in texts) == mines, "a right answer in another dress"
        assert sum(text.count("is still open") for text in texts) == mines
        (_, natural, *wrong), = (text.splitlines() for text in texts if text.startswith("natural answers:"))
        assert int(natural) > 0 and not wrong
        assert sum(text.count("drove a view") for text in texts) == chapters.chapter(name).panels
        checks = [text for text in texts if text.startswith(("passed ", "not yet "))]
        assert all(text.startswith("not yet ") for text in checks[:len(answered)]), checks
        assert all(text.startswith("passed ") for text in checks[len(answered):]), checks
        assert len(checks) == 2 * len(answered) > 0
        pictures = [page for page in outputs_of(executed, "text/html") if "<img" in page]
        assert pictures and all('alt="' in page and 'alt=""' not in page for page in pictures)
        if name in PACED:
            assert slides.to_slides(executed) and handouts.handout(executed), "or an error says what is missing"
        assert seconds < allowed_seconds(name, "quick")
        return executed
    return run_from_nothing


def keep(folder, session_folder):
    """What was trained and measured in a folder goes to the session's; links to official files are there already."""
    def links(path, names):
        return [name for name in names if (Path(path) / name).is_symlink()]

    shutil.copytree(folder, session_folder, dirs_exist_ok=True, ignore=links)


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


def captions_of(notebook):
    """The pages of the pictures that have captions."""
    return [page for page in outputs_of(notebook, "text/html") if "<figcaption" in page]


@pytest.mark.timed
@pytest.mark.parametrize("name", NAMES)
def test_runs_on_the_stand_in_and_says_so(name, run_from_nothing, tmp_path, standin_folder_session, real_is_here):
    if real_is_here and name != ALSO_ON_THE_STAND_IN:
        pytest.skip("the chapter is executed on the real data")
    executed = run_from_nothing(name, tmp_path / "nothing cached")
    keep(tmp_path / "nothing cached", standin_folder_session)
    assert "stand-in" in next(outputs_of(executed)), "the notebook's first output must name the stand-in"
    said = ("Not MNIST!", "Not Fashion-MNIST!", "Not MNIST and Fashion-MNIST!", "Not CIFAR-100!",
            "Not eight tasks of sentences!", "Not plays and speeches!", "generated", "Kept in the repository",
            "Measured on Spirals", "Computed ", "A drawing.")  # these have no stand-in
    assert captions_of(executed) and all(any(words in page for words in said) for page in captions_of(executed))


@pytest.mark.timed
@pytest.mark.real
@pytest.mark.parametrize("name", NAMES)
def test_runs_on_the_real_data_and_says_so(name, run_from_nothing, real_is_here, request):
    """From nothing: a data folder of its own, with the official files and no models. A deeper notebook finds what the
    lessons before it trained, as its reader does."""
    folder = [request.getfixturevalue(fixture) for fixture in needs(name)][0]
    if real_is_here and name in DEEPER:
        keep(request.getfixturevalue("real_folder_session"), folder)
    executed = run_from_nothing(name, folder)
    if real_is_here:
        keep(folder, request.getfixturevalue("real_folder_session"))
    said_by_real_data(executed)
    if name in PACED:  # here alone: captions are longer where they name a stand-in
        assert pace(executed).faults == ()


@pytest.mark.timed
@pytest.mark.real
@pytest.mark.parametrize("name", IN_FULL)
def test_runs_in_full_on_the_real_data(name, run, real_data, real_folder_session):
    """With the models that `quick` trained."""
    executed, seconds = run(name, real_folder_session, profile="full")
    said_by_real_data(executed)
    assert seconds < allowed_seconds(name, "full")


def said_by_real_data(executed):
    """Which data they are is said first, no caption names a stand-in, the verdicts stand, and no code of the course
    warns where a learner reads."""
    assert "(official files)" in next(outputs_of(executed))
    assert [text for text in outputs_of(executed) if re.search(r"lessons/\S+\.py:\d+: \w*Warning", text)] == []
    assert not any("stand-in" in page for page in captions_of(executed))
    assert not any("do not carry" in text for text in outputs_of(executed)), "the verdicts must stand on the real data"


def small(tmp_path, *cells, tag=True):
    """A notebook of a few cells."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    parameters = nbformat.v4.new_code_cell("profile = 'quick'", metadata={"tags": ["parameters"]} if tag else {})
    notebook.cells = [parameters, *map(nbformat.v4.new_code_cell, cells)]
    nbformat.write(notebook, tmp_path / "small.ipynb")
    return tmp_path / "small.ipynb"


def test_an_unknown_parameter_is_an_error(tmp_path):
    with pytest.raises(NotebookError, match="'alpha'"):
        execute(small(tmp_path), tmp_path / "out.ipynb", alpha=1)


def test_a_notebook_without_a_parameters_cell_is_an_error(tmp_path):
    with pytest.raises(NotebookError, match="no cell tagged"):
        execute(small(tmp_path, tag=False), tmp_path / "out.ipynb", profile="full")


HIDDEN_IN_AN_OUTPUT = """
import ipywidgets
out = ipywidgets.Output()
with out:
    raise RuntimeError("nobody sees this")
out
"""


@pytest.mark.slow  # starts kernels
def test_an_error_that_a_widget_hides_is_found(tmp_path):
    with pytest.raises(NotebookError, match="nobody sees this"):
        # where a cell has an Output widget, nbclient now and then misses that it has ended, until its time is up
        # (https://github.com/jupyter/nbclient/issues/312)
        execute(small(tmp_path, HIDDEN_IN_AN_OUTPUT), tmp_path / "out.ipynb", timeout=30)


@pytest.mark.slow  # starts a kernel
def test_a_kernel_says_nothing_in_the_terminal(tmp_path, capfd):
    execute(small(tmp_path, "print('in the notebook')"), tmp_path / "out.ipynb", timeout=30)
    assert "WARNING" not in capfd.readouterr().err


@pytest.mark.slow  # starts a kernel
def test_code_behind_the_last_cell_is_run_and_not_kept(tmp_path):
    last = f"open({str(tmp_path / 'seen')!r}, 'w').write(said)"
    executed = execute(small(tmp_path, "said = 'in the notebook'"), tmp_path / "out.ipynb", timeout=30, last=last)
    assert (tmp_path / "seen").read_text() == "in the notebook"
    for notebook in (executed, nbformat.read(tmp_path / "out.ipynb", as_version=4)):
        assert last not in [cell.source for cell in notebook.cells] and len(notebook.cells) == 2


@pytest.mark.slow  # starts a kernel
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


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_notebooks_are_written_as_nbformat_writes_them(path):
    """JupyterLab does; saving another one would change lines that nobody edited."""
    text = path.read_text(encoding="utf-8")
    assert text == f"{nbformat.writes(nbformat.read(path, as_version=4)).rstrip()}\n", \
        "nbformat.write(nbformat.read(path, as_version=4), path) writes it so, and so does JupyterLab"


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


@pytest.mark.parametrize("chapter", CHAPTERS, ids=NAMES)
def test_solved_changes_nothing_but_what_is_checked(chapter):
    """So that the same checks with solved=True, at the end of an execution, tell what a solved notebook would."""
    notebook = nbformat.read(chapter, as_version=4)
    for cell in check_cells(notebook):
        call = ast.parse(cell.source).body[-1].value
        assert ast.unparse(call).startswith("check(") and "\n" not in ast.get_source_segment(cell.source, call)
        assert [ast.unparse(keyword) for keyword in call.keywords] == ["solved=solved"]
    mentions = sum(cell.source.count("solved") for cell in notebook.cells if cell.cell_type == "code")
    assert mentions == 1 + 2 * len(check_cells(notebook)), "once among the parameters and twice in every check"
