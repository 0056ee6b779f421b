"""Fixtures of all tests. Each test gets an empty data folder and no network; who wants the official files asks for
`real_data` or `real_cifar`.
"""
import builtins
import errno
import http.server
import os
import re
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import filelock
import hypothesis
import jaxtyping
import pytest

if os.environ.get("PYTEST_XDIST_WORKER"):  # two processes share the cores: second threads would take each other's time
    os.environ.setdefault("OMP_NUM_THREADS", "1")

REPOSITORY = Path(__file__).parents[1]
ALGORITHMS = [f"lessons.{path.parent.name}.algorithms" for path in (REPOSITORY / "lessons").glob("*/algorithms*")]
# before any of these is imported: in tests they hold the shapes and types in their signatures against what comes
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"  # a whole number is a float too
jaxtyping.install_import_hook(["lessons.merging", *ALGORITHMS], CHECKER)

from data import cifar100, fashion_mnist, mnist, store  # noqa: E402  torch reads the environment
from toy_models import training  # noqa: E402

# before any test changes it
REAL = Path(os.environ.get("WEIGHTSPACE_DATA") or REPOSITORY / "data/cache").expanduser().resolve()

hypothesis.settings.register_profile("course", deadline=None, derandomize=True, database=None, max_examples=50)
hypothesis.settings.load_profile("course")


def pytest_collection_modifyitems(items):
    """Quick tests first, then the notebooks, then the browser, which opens chapters that the notebooks' tests have already trained and measured.

    Where two processes share the work (`make test`), what takes longest comes first, so that both end together: chapters, then files with slow tests.
    """
    items.sort(key=lambda item: (item.get_closest_marker("slow") is not None, item.get_closest_marker("browser") is not None))
    if os.environ.get("PYTEST_XDIST_WORKER"):
        slow = {group_of(item.nodeid) for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: (not group_of(item.nodeid).startswith("chapter"), group_of(item.nodeid) not in slow))


def group_of(nodeid):
    """What stays in one process: a chapter, whose later tests open what the first has trained, or the rest of a file."""
    chapter = re.search(r"\[(\d\d)_|::test_chapter_(\d+)_", nodeid)
    return f"chapter {int(chapter[1] or chapter[2])}" if chapter else nodeid.split("::")[0]


def pytest_xdist_make_scheduler(config, log):
    """Tests are shared out by `group_of`: the groups that pytest-xdist itself knows do not work with pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class ByChapter(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    return ByChapter(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A test marked `timed` has the machine to itself: the other process of `make test` waits between two of its tests."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    turn = filelock.ReadWriteLock(item.config.cache.mkdir("turn") / "turn.lock")
    with turn.write_lock() if item.get_closest_marker("timed") else turn.read_lock():
        return (yield)


@pytest.fixture(autouse=True)
def quiet_store(tmp_path, monkeypatch):
    """An empty data folder, which does not exist yet, and no network."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WEIGHTSPACE_OFFLINE", "1")
    monkeypatch.setattr(store, "_no_network", "")
    return tmp_path / "data"


@pytest.fixture(params=[0o022, 0o027, 0o077], ids="umask {:03o}".format)
def is_ordinary(request):
    """is_ordinary(path): whether a file has the mode of an ordinary new file. The test runs under several umasks."""
    before = os.umask(request.param)
    yield lambda path: path.stat().st_mode & 0o777 == 0o666 & ~request.param
    os.umask(before)


@pytest.fixture
def forbid(monkeypatch):
    """forbid(path): the file may not be opened from now on, as another user's of mode 600. (Root may open any file.)"""
    def forbid(path):
        def refusing(file, *rest, opened=builtins.open, **options):
            if os.fspath(path) == file or path == file:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return opened(file, *rest, **options)

        monkeypatch.setattr(builtins, "open", refusing)
    return forbid


@pytest.fixture(scope="session")
def standin_folder_session(tmp_path_factory):
    """One folder for the whole session, at first empty, for models trained on the stand-in. Set WEIGHTSPACE_DATA to it yourself."""
    return tmp_path_factory.mktemp("standin")


@pytest.fixture(scope="session")
def real_folder_session(tmp_path_factory):
    """One folder for the whole session with links to the official MNIST files, and those of the other data sets where they are. Set WEIGHTSPACE_DATA to it."""
    folder = _linked(tmp_path_factory.mktemp("real"), mnist)
    for dataset in (fashion_mnist, cifar100):
        if not _missing(dataset):
            _linked(folder, dataset)
    return folder


@pytest.fixture(scope="session")
def real_is_here():
    """Whether the official files of all data sets are there."""
    return not any(_missing(dataset) for dataset in (mnist, fashion_mnist, cifar100))


@pytest.fixture
def real_data(quiet_store):
    """A data folder of its own with links to the official MNIST files."""
    return _linked(quiet_store, mnist)


@pytest.fixture
def real_fashion(quiet_store):
    """A data folder of its own with links to the official Fashion-MNIST files; the same as `real_data` gives, where a test asks for both."""
    return _linked(quiet_store, fashion_mnist)


@pytest.fixture
def real_cifar(quiet_store):
    """A data folder of its own with links to the official CIFAR-100 files; the same as `real_data` gives, where a test asks for both."""
    return _linked(quiet_store, cifar100)


def _linked(folder, dataset):
    if problem := _missing(dataset):
        pytest.skip(f"the official files are not in {REAL}: {problem}")
    for file in _files(dataset):
        link = folder / file.path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(REAL / file.path)
    return folder


def _missing(dataset):
    """Which official file is not there, sound, and what is wrong with it; "" where all are."""
    return next((f"{file.path} {problem}" for file in _files(dataset) if (problem := store.wrong_with(REAL / file.path, file))), "")


def _files(dataset):
    return [file for files in dataset.FILES.values() for file in files]


@pytest.fixture
def network(monkeypatch):
    """The network is switched on; proxies are not asked for 127.0.0.1."""
    monkeypatch.delenv("WEIGHTSPACE_OFFLINE")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server(network):
    """A web server on 127.0.0.1: `.url`, `.pages` {path: bytes} to fill, and `.asked`, what was asked for.

    Of the pages in `.halves` it sends the first half, sets `.half_sent` and sends no more.
    """
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(f"{self.command} {self.path}")
            page = self.server.pages.get(self.path)
            self.send_response(200 if page is not None else 404)
            self.send_header("Content-Length", str(len(page or b"")))
            self.end_headers()
            if page and self.command == "GET":
                if self.path in self.server.halves:
                    self.wfile.write(page[:len(page) // 2])
                    self.server.half_sent.set()
                    self.server.closing.wait()
                else:
                    self.wfile.write(page)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url, server.asked, server.pages, server.halves = f"http://127.0.0.1:{server.server_port}", [], {}, set()
    server.half_sent, server.closing = threading.Event(), threading.Event()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def dead_url():
    """An address that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return f"http://127.0.0.1:{port}/file.gz"


@pytest.fixture
def silent_url():
    """The address of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/file.gz"


@pytest.fixture
def one_thread():
    """As `toy_models.training.one_thread`: beside another busy process, two threads make steps on tiny networks a hundred times slower."""
    with training.one_thread():
        yield


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
