"""Fixtures of all tests.

Each test gets an empty data folder and no network; who wants the official files asks for `real_data` or `real_cifar`.
"""
import builtins
import contextlib
import errno
import http.server
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import hypothesis
import jaxtyping
import pytest

if os.environ.get("PYTEST_XDIST_WORKER"):  # two processes share the cores, second threads would take each other's time
    os.environ.setdefault("OMP_NUM_THREADS", "1")

REPOSITORY = Path(__file__).parents[1]
ALGORITHMS = [f"lessons.{path.parent.name}.algorithms" for path in (REPOSITORY / "lessons").glob("*/algorithms*")]
# before any of these is imported: in tests they hold the shapes and types in their signatures against what comes
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"  # a whole number is a float too
MOVED = [f"lessons.checkpoints.{name}" for name in ("towers", "vectors", "tokens", "heads", "images", "lora")]
jaxtyping.install_import_hook(["lessons.merging", *MOVED, *ALGORITHMS], CHECKER)

from data import cifar100, fashion_mnist, letters, mnist, sentences, store  # noqa: E402  torch reads the environment
from toy_models import training  # noqa: E402

# before any test changes it
REAL = Path(os.environ.get("WEIGHTSPACE_DATA") or REPOSITORY / "data/cache").expanduser().resolve()
os.environ["WEIGHTSPACE_OWN"] = os.path.join(os.devnull, "own")  # nothing of the developer's own is read
for variable in ("WEIGHTSPACE_SHARED", "WEIGHTSPACE_DIARY"):
    os.environ.pop(variable, None)

if threading.current_thread() is threading.main_thread():
    # a shell that starts tests in the background lets them ignore interrupts, and what they start would too
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("course", deadline=None, derandomize=True, database=None, max_examples=50)
hypothesis.settings.load_profile("course")


TRAINING = {"test_cifar100.py", "test_resnet.py", "test_suites.py", "test_zoo.py"}  # nearly every test of them does


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Quick tests first; at last the chapters, and the browser, which opens what they trained and measured.

    Where two processes share the files (`make test`), those with slow tests come first, so that both end together.
    """
    for item in items:
        if item.path.name in TRAINING or shares_or_starts(item):
            item.add_marker("slow")
    items.sort(key=lambda item: [item.get_closest_marker(name) is not None for name in ("browser", "timed", "slow")])
    if os.environ.get("PYTEST_XDIST_WORKER"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


def shares_or_starts(item):
    """Whether a test uses a fixture that tests share, as they do for what it trains, or one that starts processes."""
    known = item._fixtureinfo.name2fixturedefs
    ours = {name: found[-1] for name, found in known.items() if found[-1].baseid}
    return "start_python" in ours or any(fixture.scope != "function" for fixture in ours.values())


@pytest.fixture
def full_disk():
    """full_disk(room): a block in which no file can grow beyond so many bytes, as on a disk that is full."""
    resource = pytest.importorskip("resource", reason="Windows has no limits on files")

    @contextlib.contextmanager
    def full(room):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return full


@pytest.fixture(autouse=True)
def quiet_store(tmp_path, monkeypatch):
    """An empty data folder, which does not exist yet, and no network."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WEIGHTSPACE_OWN", str(tmp_path / "own"))
    monkeypatch.setenv("WEIGHTSPACE_OFFLINE", "1")
    monkeypatch.setattr(store, "_silent", {})
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


@pytest.fixture
def close(monkeypatch):
    """close(folder): nothing may be written below it from now on, as in another user's. (Root may write anywhere.)"""
    def close(folder):
        def refusing(*rest, dir=None, made=tempfile.TemporaryFile, **options):
            if Path(dir).is_relative_to(folder):
                raise PermissionError(errno.EACCES, "Permission denied", str(dir))
            return made(*rest, dir=dir, **options)

        monkeypatch.setattr(tempfile, "TemporaryFile", refusing)
    return close


@pytest.fixture(scope="session")
def standin_folder_session(tmp_path_factory):
    """One folder for the whole session, at first empty, for models trained on the stand-in.

    Set WEIGHTSPACE_DATA to it yourself, or let `session_sweep` do it.
    """
    return _of_the_session(tmp_path_factory, "standin")


def _of_the_session(tmp_path_factory, name):
    """A folder of all processes, in which one finds what another has trained; in $WEIGHTSPACE_LEFT, where that is set,
    it stays, so that the processes of `make test-browser` open what the one of `make test-timed` left."""
    above, alone = os.environ.get("WEIGHTSPACE_LEFT"), not os.environ.get("PYTEST_XDIST_WORKER")
    if not above and alone:
        return tmp_path_factory.mktemp(name)
    folder = Path(above or tmp_path_factory.getbasetemp().parent) / name
    if above and alone:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def session_sweep(standin_folder_session):
    """session_sweep(*smaller) -> a context in which less is trained and measured, for the fixtures that share a sweep.

    Inside it, models and sweeps are those of `standin_folder_session` and there is no network; each `smaller` is
    (mapping or module, name, value), set for as long. A fixture of a wider scope than one test cannot ask for
    `monkeypatch`; it says

        with session_sweep((mlp.PROFILES, "quick", SMALL), (mlp, "EPOCHS", 1)):
            yield mlp.run("quick", 0)
    """
    @contextlib.contextmanager
    def inside(*smaller):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
            patch.setenv("WEIGHTSPACE_OFFLINE", "1")
            for thing, name, value in smaller:
                (patch.setitem if isinstance(thing, dict) else patch.setattr)(thing, name, value)
            yield standin_folder_session
    return inside


@pytest.fixture(scope="session")
def real_folder_session(tmp_path_factory):
    """One folder for the whole session with links to the official MNIST files, and those of others where they are.

    Set WEIGHTSPACE_DATA to it yourself.
    """
    folder = _linked(_of_the_session(tmp_path_factory, "real"), mnist)
    for dataset in (fashion_mnist, cifar100, sentences, letters):
        if not _missing(dataset):
            _linked(folder, dataset)
    return folder


@pytest.fixture(scope="session")
def real_is_here():
    """Whether the official files of all data sets are there."""
    return not any(_missing(dataset) for dataset in (mnist, fashion_mnist, cifar100, sentences, letters))


@pytest.fixture(scope="session")
def chapters_folder_session(request, real_is_here):
    """The folder to which the chapters' tests give what each trained and measured.

    On the real data where all are here, else on the stand-in.
    """
    return request.getfixturevalue("real_folder_session" if real_is_here else "standin_folder_session")


@pytest.fixture
def real_data(quiet_store):
    """A data folder of its own with links to the official MNIST files."""
    return _linked(quiet_store, mnist)


@pytest.fixture
def real_fashion(quiet_store):
    """A data folder of its own with links to the official Fashion-MNIST files; the same as `real_data`'s."""
    return _linked(quiet_store, fashion_mnist)


@pytest.fixture
def real_cifar(quiet_store):
    """A data folder of its own with links to the official CIFAR-100 files; the same as `real_data`'s."""
    return _linked(quiet_store, cifar100)


@pytest.fixture
def real_sentences(quiet_store):
    """A data folder of its own with links to the files of NLTK's corpora, for sentences and for letters."""
    _linked(quiet_store, letters)
    return _linked(quiet_store, sentences)


def _linked(folder, dataset):
    if problem := _missing(dataset):
        pytest.skip(f"the official files are not in {REAL}: {problem}")
    for file in _files(dataset):
        link = folder / file.path
        link.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            link.symlink_to(REAL / file.path)
    return folder


def _missing(dataset):
    """Which official file is not there, sound, and what is wrong with it; "" where all are."""
    for file in _files(dataset):
        if problem := store.wrong_with(REAL / file.path, file):
            return f"{file.path} {problem}"
    return ""


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

    Of the pages in `.halves` it sends the first half, sets `.half_sent` and sends no more. What a page is like, but not
    the page itself, it does not tell of those in `.no_head` (405).
    """
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(f"{self.command} {self.path}")
            page = self.server.pages.get(self.path)
            refused = self.command == "HEAD" and self.path in self.server.no_head
            self.send_response(405 if refused else 200 if page is not None else 404)
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
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.asked, server.pages, server.halves, server.no_head = [], {}, set(), set()
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
    """As `toy_models.training.one_thread`.

    Beside another busy process, two threads make steps on tiny networks a hundred times slower.
    """
    with training.one_thread():
        yield


@pytest.fixture
def start_python(monkeypatch):
    """start_python(code) -> a process that runs it in the test's data folder; `.stdin` and `.stdout` are text pipes."""
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
    """start_together(imports, code) runs the code in two processes, begun when both have done their imports.

    It waits for both.
    """
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
