"""Fixtures of all tests. Each test gets an empty data folder and no network; who wants the official MNIST files asks for `real_data`."""
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import hypothesis
import pytest
import torch

from data import mnist, store

REPOSITORY = Path(__file__).parents[1]
REAL = Path(os.environ.get("WEIGHTSPACE_DATA") or REPOSITORY / "data/cache").expanduser().resolve()  # before any test changes it

hypothesis.settings.register_profile("course", deadline=None, derandomize=True, database=None, max_examples=50)
hypothesis.settings.load_profile("course")


@pytest.fixture(autouse=True)
def quiet_store(tmp_path, monkeypatch):
    """An empty data folder, which does not exist yet, and no network."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WEIGHTSPACE_OFFLINE", "1")
    monkeypatch.setattr(store, "_no_network", "")
    return tmp_path / "data"


@pytest.fixture(scope="session")
def standin_folder_session(tmp_path_factory):
    """One empty folder for the whole session, for models trained on the stand-in. Set WEIGHTSPACE_DATA to it yourself."""
    return tmp_path_factory.mktemp("standin")


@pytest.fixture(scope="session")
def real_folder_session(tmp_path_factory):
    """One folder for the whole session with links to the official MNIST files. Set WEIGHTSPACE_DATA to it yourself."""
    return _linked(tmp_path_factory.mktemp("real"))


@pytest.fixture
def real_data(quiet_store, monkeypatch):
    """A data folder of its own with links to the official MNIST files."""
    return _linked(quiet_store)


def _linked(folder):
    for file in (file for files in mnist.FILES.values() for file in files):
        if problem := store.wrong_with(REAL / file.path, file):
            pytest.skip(f"the official MNIST files are not in {REAL}: {file.path} {problem}")
        link = folder / file.path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(REAL / file.path)
    return folder


@pytest.fixture
def one_thread():
    """One thread for torch: beside another busy process, two threads make steps on tiny networks a hundred times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def start_python(monkeypatch):
    """start_python(code) -> a process that runs the code in the test's data folder; `.stdin` and `.stdout` are text pipes."""
    started = []
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def start(code):
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], cwd=REPOSITORY, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def start_together(start_python):
    """start_together(imports, code) runs the code in two processes, begun when both have done their imports, and waits for both."""
    def run(imports, code):
        script = f"{textwrap.dedent(imports)}\nprint('ready', flush=True)\ninput()\n{textwrap.dedent(code)}"
        processes = [start_python(script) for _ in range(2)]
        for process in processes:
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors

    return run
