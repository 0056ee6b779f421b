"""A class on JupyterHub: a learner's folder, the shared store, simulated students, and what goes wrong."""
import contextlib
import hashlib
import os
import subprocess
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
import requests
from traitlets.config.loader import PyFileConfigLoader

from lessons.kit import chapters
from tools import lab
from tools.hub import __main__ as hub
from tools.hub import class_folder, faults, learner, measure, student, students

LESSON = "00_start_here"
PLACE = f"notebooks/{LESSON}.ipynb"


# -- a learner's folder --------------------------------------------------------------------------------------------

@pytest.fixture
def course(tmp_path, monkeypatch):
    """A small course, in place of the repository."""
    root = tmp_path / "course"
    for name, text in {"notebooks/a.ipynb": "one", "notebooks/deeper/b.ipynb": "two", "docs/c.md": "three",
                       "README.md": "four", "notebooks/.ipynb_checkpoints/a.ipynb": "no", "lessons/d.py": "no"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(learner, "ROOT", root)
    return root


def lying(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*")
            if path.is_file() and path.name != learner.GIVEN}


def test_a_learner_gets_notebooks_and_what_they_link_to(course, tmp_path):
    assert learner.give(tmp_path / "mine") == []
    assert lying(tmp_path / "mine") == {"notebooks/a.ipynb": "one", "notebooks/deeper/b.ipynb": "two",
                                        "docs/c.md": "three", "README.md": "four"}


def test_what_a_learner_changed_stays_and_what_they_did_not_change_is_brought_up_to_date(course, tmp_path):
    mine = tmp_path / "mine"
    learner.give(mine)
    (mine / "notebooks/a.ipynb").write_text("my answer")
    (mine / "docs/c.md").unlink()
    (mine / "notebooks/new.ipynb").write_text("mine")
    assert learner.give(mine) == [], "the course has nothing newer"
    (course / "notebooks/a.ipynb").write_text("one, corrected")
    (course / "notebooks/deeper/b.ipynb").write_text("two, corrected")
    for _ in range(2):
        assert learner.give(mine) == ["notebooks/a.ipynb"]
        assert lying(mine) == {"notebooks/a.ipynb": "my answer", "notebooks/deeper/b.ipynb": "two, corrected",
                               "docs/c.md": "three", "README.md": "four", "notebooks/new.ipynb": "mine"}


@pytest.mark.parametrize("note", [None, "[]", "{", '{"README.md": 3}'], ids=["gone", "list", "cut", "number"])
def test_without_a_note_of_what_was_given_nothing_is_replaced(course, tmp_path, note):
    mine = tmp_path / "mine"
    learner.give(mine)
    (mine / learner.GIVEN).unlink() if note is None else (mine / learner.GIVEN).write_text(note)
    (course / "README.md").write_text("newer")
    assert learner.give(mine) == ["README.md"]
    assert lying(mine)["README.md"] == "four"


def test_a_folder_or_a_link_in_the_place_of_a_file_stays(course, tmp_path):
    mine, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    (mine / "README.md").mkdir(parents=True)
    (mine / "docs").mkdir()
    (mine / "docs/c.md").symlink_to(elsewhere)
    (mine / "notebooks").mkdir()
    (mine / "notebooks/a.ipynb").symlink_to(tmp_path / "nowhere")
    learner.give(mine)
    assert elsewhere.read_text() == "theirs" and (mine / "README.md").is_dir() and (mine / "docs/c.md").is_symlink()
    assert not (tmp_path / "nowhere").exists()


def test_on_a_full_disk_what_is_there_stays_whole(course, tmp_path, full_disk):
    mine = tmp_path / "mine"
    learner.give(mine)
    (course / "README.md").write_text("newer " * 1000)
    with full_disk(1000), pytest.raises(OSError):
        learner.give(mine)
    assert lying(mine)["README.md"] == "four"
    assert not list(mine.rglob("*.part"))


def test_the_whole_course_is_given_and_nothing_of_its_code(tmp_path):
    learner.give(tmp_path)
    given = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {f"notebooks/{one.place}" for one in chapters.CHAPTERS} < given
    assert not [name for name in given if name.endswith((".py", ".nc", ".safetensors"))]


# -- the class's folder --------------------------------------------------------------------------------------------

def test_a_teacher_s_store_is_copied_without_diary_and_locks_and_replaces_nothing(tmp_path):
    theirs, shared = tmp_path / "theirs", tmp_path / "shared"
    for name in ("zoo/a", "zoo/b", "zoo/.a.lock", "diary/me.jsonl", "MNIST/raw/c"):
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_text(name)
    (shared / "zoo").mkdir(parents=True)
    (shared / "zoo/b").write_text("older")
    assert class_folder.copy_store(theirs, shared) == 2
    assert {path.relative_to(shared).as_posix(): path.read_text() for path in shared.rglob("*") if path.is_file()} == \
        {"zoo/a": "zoo/a", "zoo/b": "older", "MNIST/raw/c": "MNIST/raw/c"}
    assert class_folder.copy_store(tmp_path / "nowhere", shared) == 0


def test_a_shared_store_is_closed_and_opened_and_links_in_it_are_left(tmp_path):
    outside, shared = tmp_path / "outside", tmp_path / "shared"
    outside.write_text("")
    (shared / "zoo").mkdir(parents=True)
    (shared / "zoo/a").write_text("")
    (shared / "zoo/link").symlink_to(outside)
    before = outside.stat().st_mode
    class_folder.let_write(shared, False)
    assert not (shared.stat().st_mode | (shared / "zoo/a").stat().st_mode) & 0o222
    assert outside.stat().st_mode == before
    class_folder.let_write(shared, True)
    assert (shared / "zoo/a").stat().st_mode & 0o200


def test_password_and_token_are_for_their_owner_alone_and_new_at_every_start(tmp_path):
    starts = [class_folder.new_start(tmp_path / "shared") for _ in range(2)]
    for start in starts:
        file = start.write(tmp_path)
        assert file.stat().st_mode & 0o777 == 0o600 and class_folder.Start.read(tmp_path) == start
    assert starts[0].password != starts[1].password and starts[0].token != starts[1].token
    ports = {start.hub_port for start in starts} | {start.proxy_port for start in starts}
    assert len(ports) == 4


def test_a_learner_s_kernels_have_one_thread_and_sockets_of_short_paths_and_take_no_ports(tmp_path, monkeypatch):
    """With two threads in each of 30 kernels a lesson did not end, and with ports one of 30 kernels took another's."""
    class_folder.new_start(tmp_path / "shared").write(tmp_path)
    for name, value in (("WEIGHTSPACE_CLASS", str(tmp_path)), ("WEIGHTSPACE_PROXY", "proxy")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spawners = PyFileConfigLoader("jupyterhub_config.py", path=str(Path(hub.__file__).parent)).load_config().Spawner
    assert spawners.environment["OMP_NUM_THREADS"] == "1" and "--KernelManager.transport=ipc" in spawners.args
    one = SimpleNamespace(environment=dict(spawners.environment))
    spawners.pre_spawn_hook(one)
    folder = Path(one.environment["JUPYTER_RUNTIME_DIR"])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(str(folder / f"kernel-{uuid.uuid4()}-ipc-5")) <= 107
    spawners.post_stop_hook(one)
    assert not folder.exists() and "JUPYTER_RUNTIME_DIR" not in one.environment


def test_without_a_hub_students_are_told_what_to_do(tmp_path, capsys):
    with pytest.raises(SystemExit):
        students.main(["--folder", str(tmp_path)])
    assert "make hub" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, says", [(["0"], "name 1 or more"), (["1", "99_none"], "99_none")])
def test_a_class_that_cannot_be_is_refused(arguments, says, tmp_path, capsys):
    class_folder.new_start(tmp_path).write(tmp_path)
    with pytest.raises(SystemExit):
        students.main([*arguments, "--folder", str(tmp_path)])
    assert says in capsys.readouterr().err


def test_the_class_s_folder_may_not_be_in_the_repository(monkeypatch, capsys):
    monkeypatch.setattr(hub, "missing", lambda: "")
    with pytest.raises(SystemExit):
        hub.main(["--folder", str(chapters.ROOT / "build/class")])
    assert "in the repository" in capsys.readouterr().err


def test_without_the_proxy_make_hub_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(class_folder, "proxy", lambda: None)
    with pytest.raises(SystemExit):
        hub.main([])
    assert "is not installed" in capsys.readouterr().err


# -- what learners cost --------------------------------------------------------------------------------------------

@pytest.mark.skipif(not psutil.LINUX, reason="PSS can be read on Linux alone")
def test_memory_and_time_are_those_of_the_learner_s_processes():
    code = "import time; held = bytes(80_000_000); block = bytearray(b'1' * 80_000_000); print(1, flush=True); input()"
    process = subprocess.Popen([sys.executable, "-c", code, "ipykernel_launcher"], stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE, env={**os.environ, "JUPYTERHUB_USER": "somebody-here"})
    try:
        process.stdout.readline()
        found = measure.costs(["somebody-here", "nobody-here"])
    finally:
        process.communicate("\n")
    (cost,) = found.values()
    assert cost.running == 1 and cost.server == 0 and 80 < cost.kernels < 300 and cost.kernel_seconds > 0
    assert "somebody-here" in measure.table(found, Path("/nowhere"))


def test_a_report_names_the_errors():
    trial = students.Trial(ran={"a": student.Ran(3, 2.0), "b": student.Ran(1, 4.0, ["cell 7: ValueError: no"])},
                           arrived={"a": 1.0, "b": 2.0}, trained={"a": 0, "b": 2}, costs={"a": measure.Cost(100, 500)})
    said = students.report(trial)
    assert "2 students, 4 cells" in said and "1 errors" in said and "trained anew: 2" in said
    assert "b: cell 7: ValueError: no" in said and "500.0" in said


# -- a hub ---------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def running(tmp_path_factory, chapters_folder_session):
    """(what was started, the class's folder) of a hub whose shared store has what lesson 0 trains."""
    if problem := hub.missing():
        pytest.skip(problem)
    folder = tmp_path_factory.mktemp("class")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(chapters_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        patch.delenv("OMP_NUM_THREADS", raising=False)
        patch.delenv("WEIGHTSPACE_OWN", raising=False)
        hub.fill(folder / "shared", [LESSON])
        class_folder.let_write(folder / "shared", False)
        with open(folder / "hub.log", "w") as log:
            process = hub.start(folder, folder / "shared", 0, log)
            try:
                start = class_folder.Start.read(folder)
                lab.wait_for(f"{start.url}/hub/health", process)
                yield start, folder
            finally:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(30)
                class_folder.let_write(folder / "shared", True)


@pytest.mark.timed
def test_students_run_a_lesson_at_once_and_train_nothing(running):
    start, folder = running
    browsers = 0 if lab.missing() else 1
    trial = students.together(start, folder, 3, LESSON, browsers)
    assert trial.errors == []
    assert set(trial.trained.values()) == {0} and trial.new_in_shared == []
    assert len({ran.cells for ran in trial.ran.values()}) == 1
    if psutil.LINUX:
        assert all(cost.memory > 100 for cost in trial.costs.values()) and trial.most > 300
    mine = folder / "learners/student02/weightspace" / PLACE
    saved = nbformat.read(mine, as_version=4)
    assert any(cell.get("outputs") for cell in saved.cells)
    # the next start leaves the learner's work alone
    before = hashlib.sha256(mine.read_bytes()).hexdigest()
    one = student.Student(start, "student02")
    one.leave()
    one.arrive()
    assert hashlib.sha256(mine.read_bytes()).hexdigest() == before
    # what is set for a class holds in the kernel
    with one.kernel() as run:
        said = run("import os, data; print(os.environ['WEIGHTSPACE_SHARED'], data.store.root(), sep='\\n')")
    assert said[-1]["content"]["text"].split() == [start.shared, str(folder / "learners/student02/store")]


@pytest.mark.timed
def test_what_goes_wrong_for_one_student_costs_nobody_else_anything(running):
    start, folder = running
    assert faults.all_of_them(start, folder, ["student01", "student02"]) == {
        "a kernel killed in training": "", "a full disk": "", "the shared store unplugged": ""}


@pytest.mark.timed
def test_a_stranger_gets_in_neither_without_the_password_nor_under_a_path_for_a_name(running):
    start, folder = running
    for name, password in (("eve", "guess"), ("../eve", start.password)):
        session = requests.Session()
        session.trust_env = False
        session.get(f"{start.url}/hub/login", timeout=30)
        session.post(f"{start.url}/hub/login", timeout=30,
                     data={"username": name, "password": password, "_xsrf": session.cookies.get("_xsrf", path="/hub/")})
        assert session.get(f"{start.url}/hub/home", timeout=30).url.startswith(f"{start.url}/hub/login")
    assert not (folder / "eve").exists() and not (folder / "learners/eve").exists()
