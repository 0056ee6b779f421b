import errno
import gzip
import hashlib
import os
import signal
import socket
import tempfile
import threading
import time
import warnings
from pathlib import Path

import filelock
import pytest

import data
from data import mnist, store

CONTENT = bytes(range(256)) * 40


def md5(content):
    return hashlib.md5(content).hexdigest()


ARCHIVE = gzip.compress(CONTENT, mtime=0)


def remote(*urls, archive=ARCHIVE):
    return store.RemoteFile("some/file", len(CONTENT), md5(CONTENT), md5(archive) if archive else "", urls)


def names(folder):
    """What lies in the folder, locks aside."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


@pytest.fixture
def server(server):
    server.pages |= {"/right.gz": gzip.compress(CONTENT, mtime=0), "/wrong.gz": gzip.compress(b"wrong", mtime=0),
                     "/page": b"<html>Please log in</html>", "/plain": CONTENT}
    return server


# -- fetching ----------------------------------------------------------------------------------------------------------

def test_a_missing_file_is_fetched_with_a_progress_bar(server, quiet_store, capsys):
    path = store.fetch(remote(f"{server.url}/right.gz"))
    assert path == quiet_store / "some/file" and path.read_bytes() == CONTENT and names(path.parent) == ["file"]
    assert "100%" in capsys.readouterr().err


def test_a_file_that_is_published_as_it_is_is_not_unpacked(server, quiet_store):
    path = store.fetch(remote(f"{server.url}/page", f"{server.url}/plain", archive=None))
    assert path.read_bytes() == CONTENT and names(path.parent) == ["file"]


def test_a_sound_file_is_not_fetched_again(server):
    file = remote(f"{server.url}/right.gz")
    store.fetch(file)
    server.asked.clear()
    assert store.fetch(file).read_bytes() == CONTENT and not server.asked


@pytest.mark.parametrize("damaged", [b"", CONTENT[:-1], CONTENT + b"x", b"x" + CONTENT[1:]],
                         ids=["empty", "truncated", "longer", "altered"])
@pytest.mark.fault("data", "A file is emptied, cut short, made longer or altered",
                   answers="The damage is named, the file is put aside, and a sound one is fetched")
def test_a_damaged_file_is_kept_aside_and_fetched_again(server, quiet_store, damaged):
    path = quiet_store / "some/file"
    path.parent.mkdir(parents=True)
    path.write_bytes(damaged)
    with pytest.warns(store.DataWarning, match=f"{path} .*kept as file.damaged"):
        store.fetch(remote(f"{server.url}/right.gz"))
    assert path.read_bytes() == CONTENT and (path.parent / "file.damaged").read_bytes() == damaged


def test_a_file_that_changes_after_it_was_read_is_noticed(server):
    file = remote(f"{server.url}/right.gz")
    store.fetch(file)
    path = store.fetch(file)  # found sound, which is remembered
    path.write_bytes(b"x" + CONTENT[1:])
    os.utime(path, (0, 0))  # the clock of a file system can be too coarse to tell two writes of one test apart
    with pytest.warns(store.DataWarning, match="altered"):
        assert store.fetch(file).read_bytes() == CONTENT


@pytest.mark.fault("data", "A file changes after it was checked, with the same size and time",
                   answers="It is checked again and refused")
def test_a_file_that_changes_is_noticed_also_where_its_time_is_set_back(server):
    path = store.fetch(file := remote(f"{server.url}/right.gz"))
    before = path.stat()
    time.sleep(0.02)  # coarser clocks than that would tell both writes the same
    path.write_bytes(b"x" + CONTENT[1:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "has been altered" in store.wrong_with(path, file)


@pytest.mark.parametrize("page", ["wrong.gz", "page", "empty.gz"])
@pytest.mark.fault("network", "A log-in page, another file or nothing comes instead of the file",
                   answers="It is refused by its digest, the address is named, and nothing is kept")
def test_wrong_bytes_leave_nothing_behind_and_the_address_is_named(server, quiet_store, page):
    server.pages["/empty.gz"] = b""
    with pytest.raises(store.Unavailable, match=f"some/file could not be fetched: {server.url}/{page}"):
        store.fetch(remote(f"{server.url}/{page}"))
    assert names(quiet_store / "some") == []


def test_an_archive_that_holds_another_file_is_not_believed(server, quiet_store):
    with pytest.raises(store.Unavailable, match="/wrong.gz: what came is truncated"):
        store.fetch(remote(f"{server.url}/wrong.gz", archive=server.pages["/wrong.gz"]))
    assert names(quiet_store / "some") == []


@pytest.mark.parametrize("archive", [ARCHIVE[:-20], b"no gzip at all"], ids=["cut off", "no gzip"])
@pytest.mark.fault("network", "An archive is cut off, or is none", answers="It is refused, and nothing is kept")
def test_an_archive_that_cannot_be_unpacked_leaves_nothing_behind(server, quiet_store, archive):
    server.pages["/broken.gz"] = archive
    with pytest.raises(store.Unavailable, match="/broken.gz"):
        store.fetch(remote(f"{server.url}/broken.gz", archive=archive))
    assert names(quiet_store / "some") == []


@pytest.mark.parametrize("first", ["wrong.gz", "page"])
@pytest.mark.fault("network", "The first of two addresses gives wrong bytes", answers="The second is tried")
def test_the_second_address_is_tried_when_the_first_gives_wrong_bytes(server, first):
    assert store.fetch(remote(f"{server.url}/{first}", f"{server.url}/right.gz")).read_bytes() == CONTENT
    assert server.asked[-2:] == [f"GET /{first}", "GET /right.gz"]


@pytest.mark.parametrize("first", ["dead", "not found"])
def test_the_second_address_is_tried_when_the_first_does_not_answer(server, dead_url, first):
    first = dead_url if first == "dead" else f"{server.url}/missing.gz"
    assert store.fetch(remote(first, f"{server.url}/right.gz")).read_bytes() == CONTENT


def test_both_addresses_are_named_when_neither_has_the_file(server):
    with pytest.raises(store.Unavailable) as raised:
        store.fetch(remote(f"{server.url}/wrong.gz", f"{server.url}/page"))
    assert "/wrong.gz" in str(raised.value) and "/page" in str(raised.value)


def test_a_failed_download_also_says_what_was_wrong_here(server, quiet_store):
    with pytest.raises(store.Unavailable, match="is missing"):
        store.fetch(remote(f"{server.url}/wrong.gz"))


def test_a_download_that_failed_is_not_tried_again_in_this_process(server):
    file = remote(f"{server.url}/page")
    with pytest.raises(store.Unavailable):
        store.fetch(file)
    server.asked.clear()
    with pytest.raises(store.Unavailable):
        store.fetch(file)
    assert not server.asked


@pytest.mark.parametrize("kind", ["dead_url", "silent_url"])
@pytest.mark.fault("network", "A server accepts a connection and never answers, or nobody listens",
                   answers="It is given up within seconds, and at once the next time")
def test_without_a_network_fetching_gives_up_in_seconds_and_then_at_once(network, quiet_store, request, kind):
    file = remote(request.getfixturevalue(kind))
    for seconds in (6.5, 2):
        start = time.monotonic()
        with pytest.raises(store.Unavailable, match=r"some/file is missing, and 127\.0\.0\.1:\d+ gave no answer"):
            store.fetch(file)
        assert time.monotonic() - start < seconds
    assert not quiet_store.exists()


@pytest.mark.fault("network", "The look-up of a server's name hangs", answers="It is given up within seconds")
def test_a_name_that_is_looked_up_for_long_is_given_up(network, monkeypatch):
    looked_up = threading.Event()
    monkeypatch.setattr(store, "NETWORK_SECONDS", 0.3)

    def look_up(*_, **__):
        looked_up.wait(60)
        raise socket.gaierror("not found")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    try:
        for seconds in (5, 0.2):
            start = time.monotonic()
            with pytest.raises(store.Unavailable, match="slow.example gave no answer within"):
                store.fetch(remote("http://slow.example/file.gz"))
            assert time.monotonic() - start < seconds
    finally:
        looked_up.set()


@pytest.mark.fault("network", "A server sends half of a file and then nothing",
                   answers="The next address is tried, and nothing of the half is kept")
def test_a_server_that_stops_in_the_middle_is_given_up_for_the_next_one(server, quiet_store, monkeypatch):
    monkeypatch.setattr(store, "NETWORK_SECONDS", 0.5)
    server.halves |= {"/stops", "/stops.too"}
    server.pages |= {"/stops": ARCHIVE, "/stops.too": ARCHIVE}
    with pytest.raises(store.Unavailable, match="/stops: .*Read timed out.*/stops.too: .*Read timed out"):
        store.fetch(remote(f"{server.url}/stops", f"{server.url}/stops.too"))
    assert names(quiet_store / "some") == []
    other = store.RemoteFile("another/file", len(CONTENT), md5(CONTENT), md5(ARCHIVE),
                             (f"{server.url}/stops", f"{server.url}/right.gz"))
    assert store.fetch(other).read_bytes() == CONTENT


@pytest.mark.fault("network", "Nobody listens at the address of a data set",
                   answers="A drawn stand-in is used, and its source says which file is missing and why")
def test_without_a_network_load_takes_the_stand_in(network, dead_url, monkeypatch):
    files = tuple(store.RemoteFile(file.path, file.size, file.md5, file.archive_md5, (dead_url,))
                  for file in mnist.FILES["train"])
    monkeypatch.setattr(mnist, "FILES", {"train": files})
    found = data.source("mnist")
    assert found.is_stand_in and "is missing" in found.reason and "gave no answer" in found.reason


@pytest.mark.fault("data", "A file is damaged and there is no network",
                   answers="The damage is named, and the file stays as it is")
def test_without_a_network_a_damaged_file_stays_as_it_is(network, quiet_store, dead_url):
    path = quiet_store / "some/file"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    with pytest.raises(store.Unavailable, match="is truncated"):
        store.fetch(remote(dead_url))
    assert path.read_bytes() == b"mine" and names(path.parent) == ["file"]


def test_switched_off_the_network_is_not_asked(server, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_OFFLINE", "1")
    with pytest.raises(store.Unavailable, match="WEIGHTSPACE_OFFLINE"):
        store.fetch(remote(f"{server.url}/right.gz"))
    assert not server.asked


@pytest.mark.fault("network", "A server refuses HEAD, and would answer GET", answers="The file itself is asked for")
def test_a_host_that_does_not_say_what_it_has_is_asked_for_the_file_itself(server):
    server.no_head.add("/right.gz")
    assert store.fetch(remote(f"{server.url}/right.gz")).read_bytes() == CONTENT
    assert server.asked[:2] == ["HEAD /right.gz", "GET /right.gz"]


@pytest.mark.fault("network", "One data set's server is dead, another's is not",
                   answers="Each file is asked of its own server, and the message names that one")
def test_a_dead_host_says_nothing_of_another_one(server, dead_url):
    dead = dead_url.split("/")[2]
    with pytest.raises(store.Unavailable, match=rf"{dead} gave no answer \(ConnectionError\)"):
        store.fetch(remote(dead_url))
    with pytest.raises(store.Unavailable) as raised:
        store.fetch(store.RemoteFile("another/file", 1, "", "", (f"{server.url}/nothing",)))
    assert dead not in str(raised.value) and f"{server.url.split('/')[2]} answered 404" in str(raised.value)
    assert store.fetch(remote(f"{server.url}/right.gz")).read_bytes() == CONTENT


@pytest.mark.parametrize("archive", [gzip.compress(CONTENT * 500, mtime=0), None], ids=["gzipped", "as it is"])
@pytest.mark.fault("network", "A server sends far more than the file has, also inside a gzip archive",
                   answers="The download stops at the size of the file")
def test_no_more_is_taken_than_the_file_has(server, quiet_store, archive):
    server.pages["/long"] = archive or CONTENT * 500
    told = f"/long: more came than the {len(CONTENT):,} bytes that the file has"
    with pytest.raises(store.Unavailable, match=told):
        store.download(remote(archive=archive), [f"{server.url}/long"], quiet_store.parent / "part")
    assert (quiet_store.parent / "part").stat().st_size <= len(CONTENT)


@pytest.mark.fault("data", "Only the gzip archive lies there",
                   answers="It is unpacked where its digest is the published one")
def test_the_archive_beside_a_missing_file_is_unpacked_where_it_is_the_published_one(server, quiet_store):
    (quiet_store / "some").mkdir(parents=True)
    (quiet_store / "some/file.gz").write_bytes(ARCHIVE)
    assert store.fetch(remote()).read_bytes() == CONTENT and not server.asked
    (quiet_store / "some/file").unlink()
    (quiet_store / "some/file.gz").write_bytes(gzip.compress(b"another", mtime=0))
    assert store.fetch(remote(f"{server.url}/right.gz")).read_bytes() == CONTENT and server.asked


@pytest.mark.parametrize("what, told", [("folder", "is a folder"), ("fifo", "is a FIFO"), ("loop", "is a link that")])
@pytest.mark.fault("data", "A folder, a pipe or a link to itself lies in a file's place",
                   answers="It is named, never waited for, and put aside")
def test_what_is_no_file_in_a_data_file_s_place_is_named_and_put_aside(server, quiet_store, what, told):
    path = put(quiet_store / "some/file", what)
    with pytest.raises(store.Unavailable, match=f"{path} {told}"):
        store.fetch(remote(f"{server.url}/nothing"))
    with warnings.catch_warnings(action="ignore"):
        assert store.fetch(remote(f"{server.url}/right.gz")).read_bytes() == CONTENT


def put(path, what):
    """Put something that is no file there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    {"folder": path.mkdir, "fifo": lambda: os.mkfifo(path), "loop": lambda: path.symlink_to(path)}[what]()
    return path


@pytest.mark.fault("data", "The machine gives out approved digests alone (FIPS)",
                   answers="Files are checked all the same")
def test_md5_is_asked_for_as_machines_with_approved_digests_alone_give_it(server, monkeypatch):
    def approved(*rest, usedforsecurity=True, made=hashlib.md5):
        if usedforsecurity:
            raise ValueError("[digital envelope routines] unsupported")
        return made(*rest, usedforsecurity=False)

    def named(name, *rest, made=hashlib.new, **options):
        return approved(*rest, **options) if name == "md5" else made(name, *rest, **options)

    file = remote(f"{server.url}/right.gz")
    monkeypatch.setattr(hashlib, "md5", approved)
    monkeypatch.setattr(hashlib, "new", named)
    assert store.fetch(file).read_bytes() == CONTENT and not store.wrong_with(store.path_of(file), file)


# -- the folders -------------------------------------------------------------------------------------------------------

@pytest.mark.fault("surroundings", "WEIGHTSPACE_DATA is relative, and the working directory changes",
                   answers="One folder is used, and a warning names it")
def test_a_relative_folder_is_that_in_which_it_was_used_first_and_said_once(tmp_path, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", f"relative/{tmp_path.name}")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.warns(store.DataWarning, match=f"WEIGHTSPACE_DATA is the relative path .* it is {tmp_path}/relative"):
        first = store.root()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with warnings.catch_warnings(action="error"):
        assert store.root() == first == tmp_path / "relative" / tmp_path.name


@pytest.mark.parametrize("variable, folder", [("WEIGHTSPACE_DATA", store.root), ("WEIGHTSPACE_OWN", store.own)])
@pytest.mark.fault("surroundings", "WEIGHTSPACE_DATA names the home of nobody", answers="An error names the variable")
def test_the_home_of_a_user_who_does_not_exist_is_a_store_error(variable, folder, monkeypatch):
    monkeypatch.setenv(variable, "~nosuchuser/folder")
    with pytest.raises(store.StoreError, match=f"^{variable} is '~nosuchuser/folder'"):
        folder()


def test_without_variables_the_learner_s_own_folder_lies_where_the_system_keeps_a_user_s_data(monkeypatch):
    monkeypatch.delenv("WEIGHTSPACE_OWN")
    assert store.own().is_absolute() and store.own().name == "weightspace"


def test_what_a_closed_folder_lacks_goes_to_the_learner_s_own_and_is_said_once(quiet_store, tmp_path, close):
    (quiet_store / "zoo").mkdir(parents=True)
    (quiet_store / "zoo/old").write_text("old.")
    close(quiet_store)
    with pytest.warns(store.DataWarning) as said:
        for name in ("first", "second"):
            made = store.once(quiet_store / "zoo" / name, lambda name=name: f"{name}.", read=read, write=write)
            assert made == f"{name}." and store.has(quiet_store / "zoo" / name)
    told, = (str(warning.message) for warning in said)
    assert told.startswith(f"{quiet_store} cannot be written (Permission denied)") and "WEIGHTSPACE_OWN" in told
    assert names(tmp_path / "own/zoo") == ["first", "second"] and names(quiet_store / "zoo") == ["old"]
    for name in ("old", "first", "second"):
        path = quiet_store / "zoo" / name
        assert store.once(path, lambda: pytest.fail("made again"), read=read, write=write) == f"{name}."


def test_what_is_damaged_in_a_closed_folder_is_made_again_in_the_learner_s_own_once(quiet_store, close):
    path = quiet_store / "value"
    quiet_store.mkdir()
    path.write_text("mad")
    close(quiet_store)
    with pytest.warns(store.DataWarning) as said:
        store.once(path, lambda: "made.", read=read, write=write)
    damaged, moved = (str(warning.message) for warning in said)
    assert damaged.startswith(f"{path} is damaged") and moved.startswith(f"{quiet_store} cannot be written")
    with warnings.catch_warnings(action="error"):
        assert store.once(path, lambda: pytest.fail("made again"), read=read, write=write) == "made."
    assert path.read_text() == "mad"


def test_where_the_learner_s_own_folder_is_closed_too_both_are_named(quiet_store, tmp_path, close):
    close(tmp_path)
    with pytest.raises(store.StoreError) as raised:
        store.once(quiet_store / "value", lambda: pytest.fail("made"), read=read, write=write)
    assert str(quiet_store) in str(raised.value) and str(tmp_path / "own") in str(raised.value)


def test_a_data_file_that_a_closed_folder_lacks_goes_to_the_learner_s_own(server, quiet_store, tmp_path, close):
    close(quiet_store)
    file = remote(f"{server.url}/right.gz")
    with warnings.catch_warnings(action="ignore"):
        path = store.fetch(file)
    assert path == store.path_of(file) == tmp_path / "own/some/file" and path.read_bytes() == CONTENT
    server.asked.clear()
    assert store.fetch(file) == path and not server.asked


def test_an_own_folder_that_may_not_be_looked_into_is_left_alone(quiet_store, tmp_path, monkeypatch):
    def refused(path, *rest, looked=os.stat, **options):
        if str(path).startswith(str(tmp_path / "own")):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return looked(path, *rest, **options)

    monkeypatch.setattr(os, "stat", refused)
    assert store.once(quiet_store / "value", lambda: "made.", read=read, write=write) == "made."
    assert store.places(quiet_store / "value") == [quiet_store / "value"]


CLOSED = """
    import os, stat, sys, warnings
    from pathlib import Path
    from data import store
    root = Path(os.environ["WEIGHTSPACE_DATA"])
    root.mkdir()
    (root / "old").write_text("old.")
    root.chmod(0o555)
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    warnings.simplefilter("always")
    read, write = Path.read_text, lambda value, path: path.write_text(value)
    for name in ("old", "new", "new"):
        print(store.once(root / name, lambda: f"made {name}.", read=read, write=write))
    print(sorted(path.name for path in root.iterdir()))
    print((store.own() / "new").read_text())
    store.once(root / "picture", lambda: print("drawn"), read=read, write=write, elsewhere=False)
    print(sorted(path.name for path in store.own().iterdir() if path.suffix != ".lock"))
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="this system has no users to become")
@pytest.mark.fault("shared", "Another user's data folder may be read and not written",
                   answers="What it lacks is made in the learner's own folder")
def test_another_user_s_folder_is_read_and_what_it_lacks_goes_to_one_s_own(start_python, monkeypatch):
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is for its user alone
        Path(folder).chmod(0o777)
        monkeypatch.setenv("WEIGHTSPACE_DATA", f"{folder}/shared")
        monkeypatch.setenv("WEIGHTSPACE_OWN", f"{folder}/own")
        out, errors = start_python(CLOSED).communicate(timeout=60)
        (Path(folder) / "shared").chmod(0o755)
    assert out.splitlines() == ["old.", "made new.", "made new.", "['old']", "made new.", "drawn", "['new']"], errors
    assert errors.count("DataWarning") == 1


# -- a full disk -------------------------------------------------------------------------------------------------------

class LikeSafetensors(Exception):
    """An error that tells the system's number in its text alone."""


FULL = [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EDQUOT, "Disk quota exceeded"),
        OSError(errno.EFBIG, "File too large"), LikeSafetensors("I/O error: No space left on device (os error 28)")]


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__ + str(getattr(error, "errno", "")))
@pytest.mark.fault("full", "The disk is full, told by each error that systems and libraries have for it",
                   answers="What was made stays in memory, and one warning says so")
def test_what_finds_no_room_stays_in_memory_and_is_said_once(tmp_path, error):
    def full(value, path):
        path.write_text("half")
        raise error

    told = rf"^{tmp_path} has no room for value .*[\d,]+ bytes are free.* WEIGHTSPACE_DATA .*memory"
    with pytest.warns(store.DataWarning, match=told):
        first = store.once(tmp_path / "value", lambda: ["made."], read=read, write=full)
    assert first == ["made."] and names(tmp_path) == [] and store.has(tmp_path / "value")
    first.append("changed by the learner")
    with warnings.catch_warnings(action="error"):
        assert store.once(tmp_path / "value", lambda: pytest.fail("again"), read=read, write=full) == ["made."]
        assert store.once(tmp_path / "second", lambda: "made too.", read=read, write=full) == "made too."
        # the learner made room
        store.once(tmp_path / "second", lambda: pytest.fail("again"), read=read, write=write)
    assert names(tmp_path) == ["second"] and (tmp_path / "second").read_text() == "made too."


@pytest.mark.fault("full", "There is no room even for a lock",
                   answers="What was made stays in memory, and one warning says so")
def test_a_disk_without_room_for_a_lock_is_full(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.warns(store.DataWarning, match="has no room"):
        assert store.once(tmp_path / "value", lambda: "made.", read=read, write=write) == "made."
    with pytest.raises(store.NoRoom, match=f"^{tmp_path} has no room"):
        store.writable(tmp_path)


@pytest.mark.parametrize("archive", [ARCHIVE, None], ids=["gzipped", "as it is"])
@pytest.mark.fault("full", "The disk is full during a download",
                   answers="An error says so, and no other data are taken")
def test_a_download_on_a_full_disk_is_no_stand_in(server, quiet_store, start_python, archive):
    page = "right.gz" if archive else "plain"
    process = start_python(f"""
    import resource
    from data import store
    file = store.{remote(f"{server.url}/{page}", archive=archive)!r}
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        store.official("digits", {{"train": [file]}}, lambda reason: print("stand-in:", reason))
    except store.NoRoom as error:
        print(error)
    """)
    out, errors = process.communicate(timeout=60)
    assert out.startswith(f"{quiet_store / 'some'} has no room for file (File too large; "), errors
    assert names(quiet_store / "some") == []


# -- writing -----------------------------------------------------------------------------------------------------------

def test_atomic_writes_the_file_under_its_name_when_it_is_complete(tmp_path):
    path = tmp_path / "value"
    path.write_text("old")
    with store.atomic(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and names(tmp_path) == ["value"]


@pytest.mark.fault("shared", "Files are written under three umasks",
                   answers="Each has the mode of an ordinary new file, so others can read what they should")
def test_atomic_gives_every_file_the_mode_of_an_ordinary_new_one(tmp_path, is_ordinary):
    with store.atomic(tmp_path / "value") as part:
        part.touch(0o600)
    assert is_ordinary(tmp_path / "value")


@pytest.mark.parametrize("archive", [gzip.compress(CONTENT, mtime=0), None], ids=["gzipped", "as it is"])
def test_a_download_has_the_mode_of_an_ordinary_new_file(server, is_ordinary, archive):
    path = store.fetch(remote(f"{server.url}/{'right.gz' if archive else 'plain'}", archive=archive))
    assert is_ordinary(path)


def test_a_block_that_writes_nothing_leaves_what_was_there(tmp_path):
    (tmp_path / "value").write_text("old")
    with pytest.raises(FileNotFoundError), store.atomic(tmp_path / "value"):
        pass
    assert names(tmp_path) == ["value"] and (tmp_path / "value").read_text() == "old"


@pytest.mark.parametrize("before", [[], ["value"]])
def test_an_error_while_writing_leaves_everything_as_it_was(tmp_path, before):
    path = tmp_path / "value"
    for name in before:
        (tmp_path / name).write_text("old")
    with pytest.raises(KeyboardInterrupt), store.atomic(path) as part:
        part.write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path) == before and all((tmp_path / name).read_text() == "old" for name in before)


def test_the_next_write_removes_what_a_killed_process_left(tmp_path):
    host = store.part_of(tmp_path / "value").name.split(".")[2]
    for name in (f".value.{host}.999999.part", ".value.999999.part", ".value.another-host.999999.part",
                 f".value.another-host.{os.getpid()}.part", f".value.{host}.{os.getppid()}.part",
                 f".value.{host}.part", f".another.{host}.999999.part", f".value.{host}.999999.partial"):
        (tmp_path / name).write_text("half")
    kept = [name for name in names(tmp_path) if name != f".value.{host}.999999.part"]
    with store.atomic(tmp_path / "value") as part:
        assert part.name == f".value.{host}.{os.getpid()}.part"
        part.write_text("whole")
    assert names(tmp_path) == [*kept, "value"] and len(kept) == 7


def test_of_several_threads_each_removes_only_what_it_or_the_dead_left(tmp_path):
    ours = store.part_of(tmp_path / "value", threads=True)
    assert ours.name.endswith(f".{os.getpid()}-{threading.get_ident()}.part")
    begin = ours.name.split(str(os.getpid()))[0]
    kept = [f"{begin}{os.getpid()}-1.part", f"{begin}{os.getppid()}-1.part", f"{begin}{os.getpid()}-.part",
            f"{begin}{os.getpid()}-a.part", f"{begin}999999-1-1.part",
            f"{begin.replace('.value.', '.another.')}999999-1.part"]
    for name in (*kept, ours.name, f"{begin}999999-1.part", f"{begin}{'9' * 40}.part"):
        (tmp_path / name).mkdir()
    store.clear_leftovers(tmp_path / "value")
    assert names(tmp_path) == sorted(kept)


@pytest.mark.parametrize("whose", ["a dead process", "this process"])
def test_the_next_write_removes_a_folder_that_was_left_in_the_middle(tmp_path, whose):
    part = store.part_of(tmp_path / "value")
    part = part if whose == "this process" else part.with_name(part.name.replace(str(os.getpid()), "999999"))
    part.mkdir()
    (part / "half").write_text("half")
    with store.atomic(tmp_path / "value") as part:
        part.write_text("whole")
    assert names(tmp_path) == ["value"]


@pytest.mark.parametrize("call", [
    lambda folder: store.writable(folder),
    lambda folder: store.lock(folder / "value").__enter__(),
    lambda folder: store.once(folder / "value", lambda: "x", read=read, write=write)])
def test_a_folder_that_cannot_be_written_is_named_with_the_variable_that_moves_it(tmp_path, call):
    (tmp_path / "a file").write_text("")  # root may write to any folder, but not below a file
    with pytest.raises(store.StoreError) as raised:
        call(tmp_path / "a file" / "folder")
    assert str(tmp_path / "a file" / "folder") in str(raised.value) and "WEIGHTSPACE_DATA" in str(raised.value)


@pytest.mark.parametrize("folder", ["x" * 300, os.devnull, os.path.join(os.devnull, "x")],
                         ids=["too long a name", "a device", "below a device"])
@pytest.mark.fault("surroundings", "WEIGHTSPACE_DATA is a device, or has too long a name",
                   answers="An error names the folder and the variable")
def test_what_can_be_no_folder_is_named(tmp_path, folder):
    with pytest.raises(store.StoreError, match=f"{folder}.*WEIGHTSPACE_DATA"):
        store.once(tmp_path / folder / "value", lambda: pytest.fail("made"), read=read, write=write)


def test_fetching_into_a_folder_that_cannot_be_written_is_a_store_error(server, tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "a file" / "folder"))
    with pytest.raises(store.StoreError, match="WEIGHTSPACE_DATA"):
        store.fetch(remote(f"{server.url}/right.gz"))


@pytest.mark.fault("data", "A file may not be read",
                   answers="An error says who has to run which command, and no other data are taken")
def test_a_data_file_that_may_not_be_read_is_neither_fetched_again_nor_replaced_by_a_stand_in(server, forbid):
    file = remote(f"{server.url}/right.gz")
    path = store.fetch(file)
    os.utime(path, (0, 0))  # its digest is not remembered
    server.asked.clear()
    forbid(path)
    for call in (lambda: store.fetch(file), lambda: store.official("digits", {"train": [file]}, pytest.fail)):
        with pytest.raises(store.StoreError, match="chmod -R a.rX .* or set .*WEIGHTSPACE_DATA") as raised:
            call()
        assert str(raised.value).startswith(f"{path} may not be read")
    assert not server.asked and names(path.parent) == ["file"]


def test_a_data_file_in_a_folder_that_may_not_be_looked_into_is_not_missing(quiet_store, monkeypatch):
    def refused(path, **_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "stat", refused)
    path = quiet_store / "some/file"
    told = f"^{path} may not be read, nor even looked for, since {path.parent} is closed to you"
    with pytest.raises(store.StoreError, match=told):
        store.fetch(remote())


def test_a_lock_that_another_user_left_is_named(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", "the lock")

    monkeypatch.setattr(filelock.FileLock, "acquire", refused)
    told = r"cannot lock .*/value: .*/\.value\.lock: Permission denied.* let its owner delete it .*WEIGHTSPACE_DATA"
    with pytest.raises(store.StoreError, match=told):
        store.once(tmp_path / "value", lambda: pytest.fail("made without a lock"), read=read, write=write)


@pytest.mark.parametrize("number, told", [
    (errno.ENOLCK, "has no locks"), (errno.EOPNOTSUPP, "has no locks"), (errno.EPERM, "another user left this lock"),
    (errno.EIO, "If it happens again")], ids=errno.errorcode.get)
@pytest.mark.fault("shared", "A lock cannot be taken, for one of four reasons",
                   answers="The error says what to do about that reason")
def test_the_advice_on_a_lock_is_that_for_what_happened(tmp_path, monkeypatch, number, told):
    def refused(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(filelock.FileLock, "acquire", refused)
    with pytest.raises(store.StoreError, match="cannot lock .*WEIGHTSPACE_DATA") as raised, \
            store.lock(tmp_path / "value"):
        pytest.fail("locked")
    assert [said for said in ("has no locks", "another user", "If it happens again") if said in str(raised.value)] == \
        [said for said in ("has no locks", "another user", "If it happens again") if said in told]


@pytest.mark.fault("killed", "The process that holds a lock is suspended, then killed",
                   answers="Who waits is told for which process, and goes on once it is gone")
def test_who_waits_for_a_stopped_process_is_told_for_whom(start_python, quiet_store, monkeypatch):
    process = start_python("""
    import time
    from data import store
    with store.lock(store.root() / "value"):
        print("locked", flush=True)
        time.sleep(600)
    """)
    assert process.stdout.readline() == "locked\n"
    process.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(store, "PATIENCE", 0.1)
    threading.Timer(1.5, process.kill).start()
    path, lock = quiet_store / "value", quiet_store / ".value.lock"
    told = rf"^{path} is waited for: process {process.pid} \(since \d+-.*, which is stopped: .* holds its lock {lock}$"
    with pytest.warns(store.DataWarning, match=told) as said:
        assert store.once(path, lambda: "made.", read=read, write=write) == "made."
    assert len(said) == 1


@pytest.mark.parametrize("note, told", [("", "another process"), ("elsewhere 7 0", "process 7 on elsewhere"),
                                        ("elsewhere 7 " + "9" * 30, "another process")])
def test_a_lock_says_of_its_holder_what_it_knows(tmp_path, note, told):
    (tmp_path / "lock").write_text(note)
    assert store._holder(tmp_path / "lock").startswith(told)


@pytest.mark.parametrize("folder, file", [(0o755, 0o644), (0o775, 0o664), (0o777, 0o666)])
@pytest.mark.fault("shared", "Several users share a folder", answers="Who may write there may lock there, too")
def test_who_may_write_to_a_folder_may_lock_in_it(tmp_path, is_ordinary, folder, file):
    tmp_path.chmod(folder)
    with store.lock(tmp_path / "value"):
        assert (tmp_path / ".value.lock").stat().st_mode & 0o777 == file


# -- once --------------------------------------------------------------------------------------------------------------

def read(path):
    if not path.exists():
        raise FileNotFoundError(path)
    if not (text := path.read_text()).endswith("."):
        raise store.Damaged("no full stop")
    return text


def write(value, path):
    path.write_text(value)


def test_once_makes_once_and_reads_after(tmp_path):
    made = []

    def make():
        made.append(1)
        return "made."

    values = [store.once(tmp_path / "new folder" / "value", make, read=read, write=write) for _ in range(3)]
    assert values == ["made."] * 3 and len(made) == 1


def test_once_makes_a_damaged_value_again_and_says_so(tmp_path):
    path = tmp_path / "value"
    path.write_text("mad")
    with pytest.warns(store.DataWarning, match=rf"{path} is damaged \(no full stop\)"):
        assert store.once(path, lambda: "made.", read=read, write=write) == "made."
    assert path.read_text() == "made."
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.once(path, lambda: "again.", read=read, write=write) == "made."


def test_once_says_only_once_that_a_value_is_damaged(tmp_path):
    (tmp_path / "value").write_text("mad")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store.once(tmp_path / "value", lambda: "made.", read=read, write=write)
    assert len(caught) == 1


@pytest.mark.fault("shared", "A stored file may not be read",
                   answers="It is not called damaged, and an error names the command for its owner")
def test_once_does_not_make_again_what_is_there_but_may_not_be_read(tmp_path, forbid):
    path = tmp_path / "value"
    path.write_text("made.")
    forbid(path)
    told = f"^{path} may not be read: Permission denied.*chmod -R a.rX .*WEIGHTSPACE_DATA"
    with pytest.raises(store.StoreError, match=told):
        store.once(path, lambda: pytest.fail("made again"), read=lambda path: pytest.fail("read"), write=write)
    assert names(tmp_path) == ["value"]


def test_once_stores_nothing_when_making_fails(tmp_path):
    def fail():
        raise ValueError("diverged")

    with pytest.raises(ValueError, match="diverged"):
        store.once(tmp_path / "value", fail, read=read, write=write)
    assert names(tmp_path) == []
    assert store.once(tmp_path / "value", lambda: "made.", read=read, write=write) == "made."


@pytest.mark.parametrize("what, told", [("folder", "is a folder"), ("fifo", "is a FIFO"), ("loop", "is a link that")])
def test_what_is_no_file_in_a_value_s_place_is_named_and_not_waited_for(tmp_path, what, told):
    path = put(tmp_path / "value", what)
    with pytest.raises(store.StoreError, match=f"^{path} {told}.*Move it away"):
        store.once(path, lambda: pytest.fail("made"), read=lambda path: pytest.fail("read"), write=write)


def test_a_device_in_a_file_s_place_is_named():
    with pytest.raises(store.StoreError, match=f"^{os.devnull} is a device"):
        store.regular(Path(os.devnull))


ONCE = """
    import os, time
    from data import store
    path = store.root() / "value"

    def read(path):
        return path.read_text()  # raises FileNotFoundError

    def make():
        with open(store.root() / "log", "a") as log:
            log.write("made\\n")
        time.sleep(0.5)
        return "made."
"""


@pytest.mark.fault("killed", "Two processes want the same thing at once",
                   answers="One makes it, and the other waits and reads it")
def test_two_processes_make_one_value_once(start_together, quiet_store):
    making = "assert store.once(path, make, read=read, write=lambda value, part: part.write_text(value)) == 'made.'"
    start_together(ONCE, making)
    assert (quiet_store / "log").read_text() == "made\n" and (quiet_store / "value").read_text() == "made."


@pytest.mark.fault("killed", "A process is killed while it writes what it made",
                   answers="No file has the final name, and the next writer removes what was left")
def test_a_process_killed_while_it_writes_leaves_no_file_and_no_lock(start_python, quiet_store):
    process = start_python(ONCE + """
    def write(value, part):
        part.write_text("mad")
        print("half-way", flush=True)
        time.sleep(600)

    store.once(path, make, read=read, write=write)
    """)
    assert process.stdout.readline() == "half-way\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    left, log = names(quiet_store)
    assert left.startswith(".value.") and left.endswith(f".{process.pid}.part") and log == "log"
    assert store.once(quiet_store / "value", lambda: "made.", read=read, write=write) == "made."
    assert names(quiet_store) == ["log", "value"]
