"""A store that several people read and nobody writes, `$WEIGHTSPACE_SHARED`, under each learner's own."""
import contextlib
import errno
import gzip
import hashlib
import os
import tempfile
import threading
import time
import warnings
from pathlib import Path

import filelock
import numpy as np
import pytest
import xarray

import data
from data import places, store
from lessons.kit import kept, sweep
from toy_models import Architecture, Recipe, training, zoo

CONTENT = bytes(range(256)) * 40
RECIPE = Recipe.on("spirals", Architecture.of("MLP", widths=(2, 8, 2)), lr=0.01, epochs=2, batch_size=None, seed=0)


def read(path):
    if not (text := path.read_text()).endswith("."):
        raise store.Damaged("no full stop")
    return text


def write(value, path):
    path.write_text(value)


def value(name, made=None):
    """What the store has under a name, or makes."""
    make = (lambda: made) if made else (lambda: pytest.fail("made"))
    return store.once(store.root() / name, make, read=read, write=write)


def lying(folder):
    """{file: (when it was written, what is in it)} of a folder, hidden files included."""
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
            for path in folder.rglob("*") if path.is_file()}


def own_names(folder):
    """The files of a folder, locks aside."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if path.is_file() and path.suffix != ".lock")


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A shared store, in which there is `old`."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "old").write_text("old.")
    monkeypatch.setenv("WEIGHTSPACE_SHARED", str(folder))
    return folder


@contextlib.contextmanager
def said():
    """The list of what the store says inside."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        texts = []
        yield texts
    texts += [str(warning.message) for warning in caught if issubclass(warning.category, store.DataWarning)]


def test_what_the_shared_store_has_is_used_and_what_it_lacks_goes_to_the_learner_s_own(theirs, quiet_store):
    before = lying(theirs)
    with warnings.catch_warnings(action="error"):
        assert value("old") == "old." and value("new", "new.") == "new." and value("new") == "new."
    assert lying(theirs) == before and own_names(quiet_store) == ["new"]
    assert store.has(quiet_store / "old") and store.where(quiet_store / "old") == theirs / "old"


def test_models_sweeps_and_figures_of_a_shared_store_are_not_made_again(tmp_path, quiet_store, monkeypatch):
    small = xarray.Dataset({"a": ("x", np.arange(5.0))}, attrs={"source": "none"})

    def use(drawn):
        state = zoo.get(RECIPE, progress=False).state_dict()
        measured = sweep.cached("small", {"n": 1}, lambda: small, module="data.types")
        return state, measured, kept.kept(use, measured, (), ".html", drawn)

    state, measured, _ = use(lambda: "<p>drawn</p>")
    quiet_store.rename(tmp_path / "shared")
    monkeypatch.setenv("WEIGHTSPACE_SHARED", str(tmp_path / "shared"))
    before = lying(tmp_path / "shared")
    for module, name in ((zoo, "train"), (sweep, "_undisturbed")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("made again"))
    with warnings.catch_warnings(action="error"):
        again, measured_again, page = use(lambda: pytest.fail("drawn again"))
    assert page == "<p>drawn</p>" and measured_again.equals(measured)
    assert all(bool((again[key] == state[key]).all()) for key in state)
    assert lying(tmp_path / "shared") == before and not quiet_store.exists()


def remote(*urls):
    digest = hashlib.md5(CONTENT).hexdigest()
    return store.RemoteFile("some/file", len(CONTENT), digest, hashlib.md5(gzip.compress(CONTENT, mtime=0)).hexdigest(),
                            urls)


def test_a_data_file_of_the_shared_store_is_checked_and_used(theirs, server):
    (theirs / "some").mkdir()
    (theirs / "some/file").write_bytes(CONTENT)
    file = remote(f"{server.url}/right.gz")
    assert store.fetch(file) == store.path_of(file) == theirs / "some/file" and not server.asked


def test_a_damaged_data_file_of_the_shared_store_is_named_and_left_and_fetched_to_one_s_own(theirs, quiet_store,
                                                                                            server):
    (theirs / "some").mkdir()
    (theirs / "some/file").write_bytes(CONTENT[:-1] + b"!")
    server.pages["/right.gz"] = gzip.compress(CONTENT, mtime=0)
    before = lying(theirs)
    with said() as texts:
        assert store.fetch(remote(f"{server.url}/right.gz")) == quiet_store / "some/file"
    assert len(texts) == 1 and f"{theirs / 'some/file'}, in the shared store, is not used: it has been" in texts[0]
    assert lying(theirs) == before


@pytest.mark.fault("shared", "A file of a shared store is damaged",
                   answers="It is named and left, and made in the learner's own folder")
def test_a_damaged_file_of_the_shared_store_is_named_and_left_and_made_in_one_s_own_once(theirs, quiet_store):
    (theirs / "old").write_text("mad")
    before = lying(theirs)
    with said() as texts:
        assert value("old", "made.") == "made."
    assert [text.startswith(f"{theirs / 'old'} is damaged (no full stop)") for text in texts] == [True]
    with warnings.catch_warnings(action="error"):
        assert value("old") == "made."
    assert lying(theirs) == before and own_names(quiet_store) == ["old"]


OTHER_USER = """
    import os, warnings
    from pathlib import Path
    from data import store
    shared = Path(os.environ["WEIGHTSPACE_SHARED"])
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    warnings.simplefilter("always")
    read, write = Path.read_text, lambda value, path: path.write_text(value)

    def ask(name):
        value = store.once(store.root() / name, lambda: f"made {name}.", read=read, write=write)
        print(value, flush=True)
"""


@pytest.fixture
def for_all(monkeypatch):
    """A folder that every user may look into, with a shared store for reading; tmp_path is for its user alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "shared").mkdir()
        for file in ("first", "second", "secret"):
            (folder / "shared" / file).write_text(f"{file}.")
        (folder / "shared" / "secret").chmod(0o600)
        (folder / "shared").chmod(0o555)
        monkeypatch.setenv("WEIGHTSPACE_SHARED", f"{folder}/shared")
        monkeypatch.setenv("WEIGHTSPACE_DATA", f"{folder}/mine")
        yield folder
        (folder / "shared").chmod(0o755)


needs_users = pytest.mark.skipif(not hasattr(os, "setuid") or os.getuid() != 0, reason="only root becomes another user")


@needs_users
@pytest.mark.fault("shared", "A file of another user's shared store is closed",
                   answers="It is named once and made in the learner's own folder")
def test_another_user_s_store_is_read_and_a_file_that_is_closed_is_named_once(for_all, start_python):
    before = lying(for_all / "shared")
    out, errors = start_python(OTHER_USER + """
    for name in ("first", "new", "secret", "secret", "new"):
        ask(name)
    """).communicate(timeout=60)
    assert out.splitlines() == ["first.", "made new.", "made secret.", "made secret.", "made new."], errors
    told = [line for line in errors.splitlines() if "DataWarning" in line]
    assert len(told) == 1 and "shared/secret, in the shared store, is not used: Permission denied" in told[0]
    assert lying(for_all / "shared") == before and own_names(for_all / "mine") == ["new", "secret"]


@needs_users
@pytest.mark.parametrize("leave", [lambda folder: folder.chmod(0o000), lambda folder: folder.rename(f"{folder}-gone"),
                                   lambda folder: [path.unlink() for path in folder.iterdir()]],
                         ids=["closed", "away", "an empty mount point"])
@pytest.mark.fault("shared", "A shared store is closed, moved away or unmounted while a kernel uses it",
                   answers="One warning says so, and all goes on without it")
def test_a_store_that_vanishes_while_a_process_uses_it_is_said_once_and_all_goes_on(for_all, start_python, leave):
    process = start_python(OTHER_USER + """
    ask("first")
    input()
    for name in ("second", "third", "fourth", "second"):
        ask(name)
    """)
    assert process.stdout.readline() == "first.\n", process.communicate()[1]
    leave(for_all / "shared")
    out, errors = process.communicate("go\n", timeout=60)
    assert out.splitlines() == ["made second.", "made third.", "made fourth.", "made second."], errors
    told = [line for line in errors.splitlines() if "DataWarning" in line]
    assert len(told) == 1 and f"the shared store {for_all / 'shared'} (WEIGHTSPACE_SHARED)" in told[0]
    assert own_names(for_all / "mine") == ["fourth", "second", "third"]
    if not (for_all / "shared").exists():
        (for_all / "shared-gone").rename(for_all / "shared")


@pytest.mark.fault("shared", "A shared store's disk gives errors for a while",
                   answers="It is left out and used again later")
def test_a_disk_that_gives_errors_is_said_once_left_out_for_a_while_and_used_again(theirs, monkeypatch):
    def refusing(file, *rest, opened=open, **options):
        if str(file).startswith(str(theirs)):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(file))
        return opened(file, *rest, **options)

    def listing(folder, listed=os.scandir):
        looks.append(folder)
        return refusing(folder, opened=listed)

    looks = []
    with monkeypatch.context() as patch, said() as texts:
        patch.setattr("builtins.open", refusing)
        patch.setattr(os, "scandir", listing)
        assert value("old", "made.") == "made." and value("more", "more.") == "more."
        assert len(looks) == 1, "it is not asked again and again"
    assert len(texts) == 1 and "cannot be looked into (Input/output error)" in texts[0]
    (theirs / "again").write_text("again.")
    assert not store.has(store.root() / "again")
    monkeypatch.setattr(places, "AGAIN", 0)
    assert value("again") == "again."


def test_a_shared_store_that_is_not_there_is_said_once(tmp_path, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_SHARED", str(tmp_path / "typo"))
    with said() as texts:
        assert value("first", "first.") == "first." and value("second", "second.") == "second."
    assert len(texts) == 1 and f"{tmp_path / 'typo'} (WEIGHTSPACE_SHARED) cannot be looked into (No such" in texts[0]
    assert not (tmp_path / "typo").exists()


def test_a_file_that_gives_errors_in_a_sound_store_is_named(theirs, monkeypatch):
    def broken(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    with said() as texts:
        made = store.once(store.root() / "old", lambda: "made.", read=broken, write=write)
    assert made == "made." and len(texts) == 1 and f"{theirs / 'old'}, in the shared store, is not used" in texts[0]


def test_a_data_set_that_goes_away_while_it_is_read_is_asked_for_again(theirs, monkeypatch):
    class Module:
        reads = 0

        @staticmethod
        def source():
            pytest.fail("not asked")

        @classmethod
        def load(cls, split):
            cls.reads += 1
            if cls.reads == 1:
                raise OSError(errno.EIO, "Input/output error")
            return split

    monkeypatch.setitem(data._MODULES, "mnist", Module)
    assert data.load("mnist", "test") == "test"
    monkeypatch.delenv("WEIGHTSPACE_SHARED")
    Module.reads = 0
    with pytest.raises(OSError, match="Input/output"):
        data.load("mnist", "test")


# -- with the other folders --------------------------------------------------------------------------------------------

def test_a_shared_store_that_is_also_the_data_folder_is_not_written(theirs, tmp_path, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(theirs))
    before = lying(theirs)
    with warnings.catch_warnings(action="error"):
        assert value("old") == "old." and value("new", "new.") == "new."
        assert store.workplace("checkpoints") == tmp_path / "own/checkpoints"
    assert lying(theirs) == before and own_names(tmp_path / "own") == ["new"]


def test_below_a_closed_data_folder_and_one_s_own_lies_the_shared_store(theirs, tmp_path, quiet_store, close):
    quiet_store.mkdir()
    (quiet_store / "middle").write_text("middle.")
    close(quiet_store)
    with said() as texts:
        assert [value("old"), value("middle"), value("new", "new.")] == ["old.", "middle.", "new."]
    assert len(texts) == 1 and texts[0].startswith(f"{quiet_store} cannot be written")
    assert own_names(tmp_path / "own") == ["new"]
    assert store.places(quiet_store / "x") == [tmp_path / "own/x", quiet_store / "x", theirs / "x"]


def test_a_learner_s_own_folder_may_lie_in_the_shared_store(theirs, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(theirs / "learners/me"))
    assert value("old") == "old." and value("new", "new.") == "new."
    assert own_names(theirs) == ["learners/me/new", "old"]


@pytest.mark.fault("shared", "Code tries to write to a shared store by its path", answers="It is refused")
def test_nothing_is_written_to_the_shared_store_by_another_way(theirs, tmp_path):
    (tmp_path / "link").symlink_to(theirs)
    before = lying(theirs)
    for folder in (theirs, theirs / "zoo", tmp_path / "link" / "zoo"):
        for call in (lambda folder=folder: store.writable(folder),
                     lambda folder=folder: store.lock(folder / "x").__enter__()):
            with pytest.raises(store.Closed, match="in the shared store .* never written"):
                call()
    assert lying(theirs) == before


def test_the_home_of_a_user_who_does_not_exist_is_a_store_error(monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_SHARED", "~nosuchuser/folder")
    with pytest.raises(store.StoreError, match="^WEIGHTSPACE_SHARED is '~nosuchuser/folder'"):
        store.shared()


# -- two at once, and locks ----------------------------------------------------------------------------------------

ONCE = """
    import time
    from data import store

    def make():
        with open(store.root() / "log", "a") as log:
            log.write("made\\n")
        time.sleep(0.3)
        return "made."

    def ask():
        return store.once(store.root() / "value", make, read=lambda path: path.read_text(),
                          write=lambda value, part: (part.write_text(value), time.sleep(0.1)))
"""


@pytest.mark.fault("shared", "Two kernels want what a shared store lacks", answers="It is made once")
def test_two_processes_make_what_the_shared_store_lacks_once_in_one_s_own(theirs, quiet_store, start_together):
    before = lying(theirs)
    start_together(ONCE, "assert ask() == 'made.'")
    assert (quiet_store / "log").read_text() == "made\n" and lying(theirs) == before


WITHOUT = """
    import contextlib, errno, filelock, warnings
    warnings.simplefilter("ignore")

    def granted(lock, **_):  # to everybody, as on NFS with local_lock and two machines
        return contextlib.nullcontext()

    def refused(lock, **_):
        raise OSError(errno.ENOLCK, "No locks available")

    filelock.FileLock.acquire = HOW
"""


@pytest.mark.parametrize("how", ["granted", "refused"])
@pytest.mark.fault("shared", "Locks keep nobody out, as on some network disks",
                   answers="Two processes may do work twice, and spoil nothing")
def test_where_a_lock_keeps_nobody_out_two_processes_spoil_nothing(quiet_store, start_together, how):
    start_together(ONCE + WITHOUT.replace("HOW", how), "for _ in range(3):\n    assert ask() == 'made.'")
    assert (quiet_store / "value").read_text() == "made." and own_names(quiet_store) == ["log", "value"]


@pytest.mark.fault("shared", "A disk has no locks",
                   answers="A warning says so, and the work is done once within a process")
def test_where_a_disk_has_no_locks_the_threads_of_a_process_wait_for_each_other(quiet_store, monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    def make():
        made.append(1)
        time.sleep(0.1)
        return "made."

    def ask():
        values.append(store.once(quiet_store / "value", make, read=read, write=write))

    made, values = [], []
    monkeypatch.setattr(filelock.FileLock, "acquire", refused)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    with said() as texts:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert values == ["made."] * 4 and len(made) == 1
    assert len(texts) == 1 and f"the file system of {quiet_store} has no locks" in texts[0]
    with pytest.raises(store.StoreError, match="has no locks"), store.lock(quiet_store / "value"):
        pytest.fail("what needs a lock is not done without")


@pytest.mark.fault("shared", "Another machine replaces a file while it is read (ESTALE)", answers="It is read again")
def test_a_file_that_another_machine_replaced_is_read_again(quiet_store):
    def stale(path):
        if errors:
            raise errors.pop()
        return read(path)

    errors = [OSError(errno.ESTALE, "Stale file handle")]
    quiet_store.mkdir()
    (quiet_store / "value").write_text("new.")
    with warnings.catch_warnings(action="error"):
        assert store.once(quiet_store / "value", lambda: pytest.fail("made"), read=stale, write=write) == "new."


def test_networks_with_convolutions_use_no_more_threads_than_a_container_has_cores(monkeypatch):
    monkeypatch.setattr(training, "_THREADS", 64)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # as a container's limit
    with training.all_threads():
        assert training.torch.get_num_threads() == 1
