"""The store: files that were fetched or that `once` made (datasets, trained models, sweeps), read from several folders
and written to one.

`data/places.py` says which folders these are. Nothing in them is believed unread: datasets have published digests, and
what `once` stores is checked by the function that reads it. Every write goes to a temporary file first and is renamed
when complete; every write happens under a lock between processes.

The lock is the system's (flock, on Windows that of msvcrt). On NFS, Linux hands it to the server, unless the disk is
mounted with `nolock` or `local_lock`: then two machines can hold one lock. Nothing depends on that but work done twice.
What is written has the machine and the process in its name, is moved to its place in one step, and is checked when it
is read. Where a disk has no locks at all, `once` and `fetch` go on without, and say so.
"""
import contextlib
import copy
import errno
import hashlib
import itertools
import os
import platform
import re
import shutil
import stat
import tarfile
import tempfile
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import filelock
import psutil

from data.places import (
    DataWarning,
    StoreError,
    is_shared,
    own,
    own_place,
    pass_over,
    places,
    root,
    say_once,
    shared,
    where,
)
from data.threads import stop_if_asked
from data.types import Source, digest

NETWORK_SECONDS = 5
PATIENCE = 5  # seconds after which is told whom a lock is waited for
_as_published = ContextVar("as_published", default=False)
_OWN_FOLDER = "set the environment variable WEIGHTSPACE_DATA to a folder of your own, then restart the kernel"
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_LOCKLESS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
_HOST = re.sub(r"[^\w-]", "-", platform.node()) or "unknown"


class NoRoom(StoreError):
    """The disk is full."""


class Closed(StoreError):
    """The folder may be read but not written."""


class Damaged(Exception):
    """A stored file is not what was written."""


class Unavailable(Exception):
    """A dataset's file is not here and cannot be fetched."""


@dataclass(frozen=True)
class RemoteFile:
    """A published file, which is available gzipped, as it is, or in a tar archive.

    Attributes:
        path: where it lies below `root()`; in a tar archive it has the same path.
        size: in bytes.
        md5: of the file.
        archive_md5: of its gzip archive, which the addresses give; "" where they give the file as it is.
        urls: where to get it; () where it is a member of `within`.
        within: the tar archive that holds it, itself a published file. It is fetched once for all its members, and
            stays: a member that is damaged or deleted comes back from it without a network.
        sha256: of the file, where it was taken; "" where only the MD5 is published. Nobody can make another file with
            the same one.
    """
    path: str
    size: int
    md5: str
    archive_md5: str
    urls: tuple[str, ...]
    within: "RemoteFile | None" = None
    sha256: str = ""


def has(path: Path) -> bool:
    """Whether a file of the data folder is in one of its `places`, or was made and found no room on the disk."""
    return path in _unstored or where(path) is not None


def regular(path: Path) -> Path:
    """The path itself, where a file lies there, maybe behind links: to be asked before opening it.

    Raises:
        StoreError: a folder lies there, or something that would be waited for for ever, or a link to itself.
        FileNotFoundError: nothing lies there.
    """
    if what := instead_of_file(path):
        raise StoreError(f"{path} {what}, and a file belongs there. Move it away, then try again.")
    return path


_KINDS = ((stat.S_ISREG, ""), (stat.S_ISDIR, "is a folder"), (stat.S_ISFIFO, "is a FIFO (a pipe between processes)"),
          (stat.S_ISSOCK, "is a socket"), (lambda mode: True, "is a device"))


def instead_of_file(path: Path) -> str:
    """What lies there instead of a file, as the end of a sentence, or "" where it is a file, maybe behind links.

    Raises:
        OSError: nothing lies there, or it cannot be looked for.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "is a link that leads back to itself"
        raise
    return next(what for belongs, what in _KINDS if belongs(mode))


# -- writing -----------------------------------------------------------------------------------------------------------

def writable(folder: Path) -> Path:
    """Create the folder if need be and return it.

    Raises:
        StoreError: it cannot be created or written; the message names it and says what to do. It is `NoRoom` on a full
            disk, `Closed` where the folder may not be written, or is in the shared store, which nobody writes.
    """
    if is_shared(folder):
        raise Closed(f"{folder} is in the shared store ({shared()}), which is read and never written. Set the "
                     "environment variable WEIGHTSPACE_DATA to a folder of your own, then restart the kernel.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        if _is_full(error):
            raise _no_room(folder, "another file", error) from error
        kind = Closed if error.errno in _CLOSED else StoreError
        raise kind(f"cannot write to the data folder {folder}: {error.strerror or error}. Free some space or set "
                   "the environment variable WEIGHTSPACE_DATA to a folder that you can write to, then restart "
                   "the kernel.") from error


def _is_full(error):
    """Whether the disk is full. safetensors has an error of its own, which tells the system's in its text."""
    return _number(error) in _FULL


def _number(error):
    """The system's number of an error, or None."""
    match = re.search(r"\(os error (\d+)\)", str(error))
    return int(match[1]) if match else getattr(error, "errno", None)


def _no_room(folder, what, error):
    reason = os.strerror(_number(error))
    try:
        free = f"{shutil.disk_usage(folder).free:,} bytes are free"
    except OSError:
        free = "how much is free is not known"
    return NoRoom(f"{folder} has no room for {what} ({reason}; {free}). Delete what you do not need, or set the "
                  "environment variable WEIGHTSPACE_DATA to a folder on a larger disk, then restart the kernel.")


@contextlib.contextmanager
def _readable(path):
    """What is there but may not be read is neither missing nor damaged: a StoreError says what to do."""
    try:
        yield
    except PermissionError as error:
        raise StoreError(f"{path} may not be read{_whose_folder(path)}: {error.strerror}. Let its owner run "
                         f"`chmod -R a+rX {root()}`, or {_OWN_FOLDER}.") from error


def _whose_folder(path):
    """What is said of a file in a folder that keeps even the names in it to itself."""
    try:
        os.stat(path)
    except PermissionError:
        return f", nor even looked for, since {path.parent} is closed to you"
    except OSError:
        pass
    return ""


@contextlib.contextmanager
def lock(path: Path, needed: bool = True):
    """Hold a lock between processes for one file of the store; it dies with its process.

    Who waits for long is told in a warning for whom.

    Args:
        needed: if not, then where the file system has no locks, a warning says so once, and only the threads of this
            process wait for each other. For what is written with `atomic`, so that at worst it is made twice.

    Raises:
        StoreError: the folder cannot be written, or its file system or another user's lock file does not let us lock.
    """
    folder = writable(path.parent)
    file = folder / f".{path.name}.lock"
    mode = folder.stat().st_mode & 0o666  # who may write to the folder may lock in it, whatever umask the first one had
    with contextlib.ExitStack() as held:
        try:
            # a lock that is only a file that exists would outlive a process that is killed
            held.enter_context(_waited_for(filelock.FileLock(file, mode=mode, fallback_to_soft=False), path, file))
            _sign(file)
        except OSError as error:
            if _is_full(error):
                raise _no_room(folder, file.name, error) from error
            if needed or error.errno not in _LOCKLESS:
                raise StoreError(f"cannot lock {path}: {file}: {error.strerror or error}. "
                                 f"{_advice_on_locks(error.errno, folder)}") from error
            say_once(f"{folder} has no locks", f"the file system of {folder} has no locks ({error.strerror or error}). "
                     "The course goes on without them, but two notebooks at once may make the same thing twice")
            held.enter_context(_of_threads.setdefault(path, threading.Lock()))
        yield


_of_threads: dict[Path, threading.Lock] = {}  # for files where the file system has no locks


def _waited_for(held, path, file):
    """The lock, acquired."""
    start, told = time.monotonic(), False
    while True:
        stop_if_asked()
        try:
            return held.acquire(timeout=0.5)
        except filelock.Timeout:
            if not told and time.monotonic() - start > PATIENCE and (whom := _holder(file)) is not None:
                told = True
                warnings.warn(f"{path} is waited for: {whom} holds its lock {file}", DataWarning, stacklevel=5)


def _sign(file):
    """Write into a lock's file who holds it. Nobody depends on it: Windows, or a full disk, may not let us."""
    with contextlib.suppress(OSError), open(file, "r+", encoding="utf-8") as note:
        note.truncate()
        note.write(f"{_HOST} {os.getpid()} {time.time():.0f}\n")


def _holder(file):
    """Who holds a lock, since when, and what can be done, in words; None where it is another thread of this process."""
    try:
        host, pid, since = file.read_text(encoding="utf-8").split()
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(int(since)))
        pid = int(pid)
    except (OSError, ValueError, OverflowError):
        return "another process"
    if host != _HOST:
        return f"process {pid} on {host} (since {when})"
    if pid == os.getpid():
        return None
    try:
        stopped = psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        stopped = False
    advice = f", which is stopped: let it go on (`kill -CONT {pid}`) or end it (`kill -KILL {pid}`)" if stopped else ""
    return f"process {pid} (since {when}{advice})"


def _advice_on_locks(number, folder):
    if number in _LOCKLESS:
        return (f"The file system of {folder} has no locks, or its server gives none: set the environment variable "
                "WEIGHTSPACE_DATA to a folder on a disk of this machine, then restart the kernel.")
    if number in _CLOSED:
        return ("If another user left this lock, let its owner delete it while nobody uses the folder, or "
                f"{_OWN_FOLDER}.")
    return f"If it happens again, {_OWN_FOLDER}."


def part_of(path: Path, threads: bool = False) -> Path:
    """Where this process writes what will be `path`, a file or a folder: beside it, under a name that says whose it is.

    Args:
        threads: several threads may write `path` at once, because no lock is held. The name then says the thread too.
    """
    whose = f"{os.getpid()}-{threading.get_ident()}" if threads else os.getpid()
    return path.parent / f".{path.name}.{_HOST}.{whose}.part"


def clear_leftovers(path: Path) -> None:
    """Delete what processes of this machine that are no more left while they wrote `path`: files and folders named by
    `part_of`, also what this process or this thread left. What another thread writes stays. So does what other machines
    left, since from here nobody can tell who still writes.
    """
    begin = f".{path.name}.{_HOST}."
    for left in list(path.parent.iterdir()) if path.parent.is_dir() else ():
        whose = re.fullmatch(r"(\d+)(?:-(\d+))?\.part", left.name.removeprefix(begin), re.ASCII)
        if whose and left.name == f"{begin}{whose[0]}" and not _another_writes(*whose.groups()):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def _another_writes(pid, thread):
    """Whether these are the numbers of another process that still runs, or of another thread of this one."""
    if int(pid) == os.getpid():
        return thread not in (None, str(threading.get_ident()))
    return _lives(int(pid))


def _lives(pid):
    """Whether this is the number of a process that still runs."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, OverflowError):
        return False
    except psutil.Error:  # it is there but not ours to ask
        return True


@contextlib.contextmanager
def told_if_full(path: Path):
    """Inside, a disk that is full while `path` is written is told by its folder and name.

    Raises:
        NoRoom: the disk is full.
    """
    try:
        yield
    except Exception as error:
        if _is_full(error) and not isinstance(error, NoRoom):
            raise _no_room(path.parent, path.name, error) from error
        raise


@contextlib.contextmanager
def atomic(path: Path):
    """Yield a temporary path beside `path`; rename it to `path` if the block succeeds, remove it if not.

    Call with the lock held. The file gets an ordinary new file's mode; safetensors makes its private.

    Raises:
        NoRoom: the disk is full, also where the block finds that out.
    """
    clear_leftovers(path)
    part = part_of(path)
    try:
        with told_if_full(path):
            with open(part, "xb") as ordinary:  # its mode tells the umask; asking would set it, in all threads
                mode = stat.S_IMODE(os.fstat(ordinary.fileno()).st_mode)
            part.unlink()  # a block that writes nothing fails below
            yield part
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            if stat.S_IMODE(part.stat().st_mode) != mode:  # some file systems have one mode for all files
                part.chmod(mode)
            os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


_unstored = {}  # path -> the value that was made for it, where the disk had no room


def once(path: Path, make, *, read, write, elsewhere: bool = True):
    """The value stored at `path`; made now if it is missing or damaged, by one process only while the others wait.

    Where the disk has no room for it, a warning says so and the value stays in memory while this process lives.

    Args:
        path: where the value is kept, or, where this folder cannot be written, the learner's own one (`places`).
        make: () -> value. Takes as long as it takes.
        read: path -> value; raises FileNotFoundError or Damaged.
        write: (value, path) -> None.
        elsewhere: whether the learner's own folder is used. If not, nothing is kept where `path` cannot be written.

    Raises:
        StoreError: the file is there but may not be read, or is not a file, or no folder can be written.
    """
    if (value := _stored(path, read, warn=True)) is not None:
        return value
    with contextlib.ExitStack() as held:
        full = None
        try:
            place = _place(path, elsewhere)
            held.enter_context(lock(place, needed=False))
        except Closed:
            if elsewhere:
                raise
            return make()
        except NoRoom as error:
            full = error
        if (value := _stored(path, read, warn=False)) is not None:  # another process made it while we waited
            return value
        value = copy.deepcopy(_unstored[path]) if path in _unstored else make()
        try:
            if full:
                raise full
            with atomic(place) as part:
                write(value, part)
            _unstored.pop(path, None)
        except NoRoom as error:
            _unstored[path] = copy.deepcopy(value)  # a learner may change what is given
            say_once(f"{path.parent} is full", f"{error} What is made meanwhile stays in this kernel's memory. It is "
                      "stored when it is asked for again and there is room")
        return value


def _stored(path, read, warn):
    """The value from one of its places, or None. What is wrong in the shared store is named and passed over."""
    damaged = []
    for place in places(path):
        try:
            return _read_at(place, read)
        except Damaged as error:
            damaged.append(f"{place} is damaged ({error}); it is made again" + " in your own store" * is_shared(place))
        except OSError as error:
            if is_shared(place):
                pass_over(place, error)
            elif isinstance(error, StoreError):
                raise
            elif not isinstance(error, (FileNotFoundError, NotADirectoryError)):
                damaged.append(f"{place} cannot be read ({error.strerror or error}); it is made again")
    for message in damaged if warn else ():
        warnings.warn(message, DataWarning, stacklevel=4)
    return None


def _read_at(place, read):
    """The value at one place, read again where another machine put a new file there meanwhile, as NFS tells."""
    for is_last in (False, True):
        try:
            with _readable(place), open(regular(place), "rb"):  # safetensors would call it missing
                pass
            return read(place)
        except OSError as error:
            if is_last or error.errno != errno.ESTALE:
                raise


def _place(path, elsewhere=True):
    """Where a file of the data folder is written: as said, or, if that folder may not be written, the learner's own.

    Raises:
        StoreError: it cannot be written, nor can the learner's own one.
    """
    try:
        writable(path.parent)
    except Closed as error:
        mine = own_place(path)
        if mine in (None, path) or not elsewhere:
            raise
        try:
            writable(mine.parent)
        except StoreError as second:
            raise type(second)(f"{error} Your own folder {own()} cannot be written either: {second}") from second
        if not is_shared(path):  # of the shared store this is known
            say_once(f"{root()} is closed", f"{root()} cannot be written ({error.__cause__.strerror}), so what is "
                     f"missing there is kept in your own folder, {own()}. The environment variable WEIGHTSPACE_OWN "
                     "moves it")
        return mine
    return path


def workplace(name: str) -> Path:
    """The folder of this name in the data folder, made if need be; where that may not be written, in the learner's own.
    For what a notebook writes under names of its own.

    Raises:
        StoreError: neither can be written.
    """
    return _place(root() / name / "anything").parent


# -- fetching ----------------------------------------------------------------------------------------------------------

def fetch(remote: RemoteFile) -> Path:
    """Path of a dataset's file whose digest is right: the one that is there, or else a download.

    Raises:
        Unavailable: missing or damaged here, and not available from the network; names the file and both reasons.
        StoreError: the data folder cannot be written, or the disk is full, or the file is there but may not be read.
    """
    path = path_of(remote)
    if not (problem := wrong_with(path, remote)):
        return path
    try:
        if path in _given_up:
            raise Unavailable(_given_up[path])
        get = _getter(remote)  # asks the network before anything is written
        path = _place(root() / remote.path)
        with lock(path, needed=False):
            if not (problem := wrong_with(path, remote)):  # another process fetched it while we waited
                return path
            with atomic(path) as part:
                try:
                    get(part)
                except Unavailable as error:
                    _given_up[path] = str(error)
                    raise
                if path.exists():
                    aside = path.with_name(path.name + ".damaged")
                    with contextlib.suppress(FileNotFoundError):  # another machine put it aside
                        os.replace(path, aside)
                    message = f"{path} {problem}; kept as {aside.name} and fetched again"
                    warnings.warn(message, DataWarning, stacklevel=2)
    except Unavailable as error:
        raise Unavailable(f"{path} {problem}, and {error}") from None
    return path


def path_of(remote: RemoteFile) -> Path:
    """Where a dataset's file lies: in that of its `places` where it is right; in the data folder where it is nowhere.
    """
    path = root() / remote.path
    return next((place for place in places(path) if _is_right(place, remote)), path)


def _is_right(place, remote):
    """Whether the right file lies there; of the shared store, what is wrong with it is said once."""
    if not is_shared(place):
        return not wrong_with(place, remote)
    try:
        problem = wrong_with(place, remote)
        if problem:
            pass_over(place, FileNotFoundError() if problem == _MISSING else Damaged(f"it {problem}"))
    except OSError as error:
        pass_over(place, error)
        return False
    return not problem


def look_again() -> bool:
    """Forget which files were right, where there is a shared store, whose disk may have gone since; whether there is
    one."""
    _digest_at.cache_clear()
    return shared() is not None


def official(name: str, files: Mapping[str, Sequence[RemoteFile]], stand_in: Callable[[str], Source]) -> Source:
    """The source of a dataset's official files, fetched if need be; where they cannot be had, stand_in(reason)."""
    try:
        for file in () if _as_published.get() else itertools.chain(*files.values()):
            fetch(file)
    except Unavailable as error:
        return stand_in(str(error))
    digests = [file.md5 for file in itertools.chain(*files.values())]
    return Source("official", f"{name} (official files)", digest(*digests))


@contextlib.contextmanager
def as_published():
    """Inside, every dataset's source is that of its official files, whether they are here or not: what recipes would be
    with them. Nothing may be loaded inside."""
    token = _as_published.set(True)
    try:
        yield
    finally:
        _as_published.reset(token)


def _getter(remote):
    """part -> None, which writes the file: from its tar archive, which is fetched first, from its gzip archive where
    that lies beside it, or from those of its addresses that answer.
    """
    if remote.within:
        return partial(extract, remote, fetch(remote.within))
    for packed in places(root() / f"{remote.path}.gz") if remote.archive_md5 else ():
        with contextlib.suppress(OSError):  # the network has it too
            if os.path.isfile(packed) and _md5_of(packed) == remote.archive_md5:
                return partial(_unpack, remote, packed)
    return partial(download, remote, answering(remote.urls))


_MISSING = "is missing"


def wrong_with(path: Path, remote: RemoteFile) -> str:
    """What is wrong with the file, as the end of a sentence, or "" where nothing is.

    Raises:
        StoreError: it may not be read.
    """
    with _readable(path):
        try:
            if what := instead_of_file(path):
                return what
            status = path.stat()
        except PermissionError:
            raise
        except OSError:
            return _MISSING
        if status.st_size < remote.size:
            return f"is truncated ({status.st_size:,} of {remote.size:,} bytes)"
        if _md5_of(path) != remote.md5:
            return "has been altered (its MD5 is not the published one)"
        if remote.sha256 and _sha256_of(path) != remote.sha256:
            return "has been altered (its SHA-256 is not the one that the course knows)"
    return ""


def _md5_of(path):
    return _digest_of(path, _md5)


def _sha256_of(path):
    return _digest_of(path, hashlib.sha256)


def _digest_of(path, hasher):
    status = path.stat()
    return _digest_at(path, hasher, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)


@lru_cache(maxsize=64)
def _digest_at(path, hasher, *state):
    # the state is the cache's key: a file that changed is read again, also where its time was set back (`cp -p`)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, hasher).hexdigest()


def _md5():
    """A hasher that also machines with approved digests alone (FIPS) give out: it finds damage, it keeps no secret."""
    return hashlib.md5(usedforsecurity=False)


_silent = {}  # host -> why it was given up in this process: each is tried once
_given_up = {}  # path -> why its download failed: a file too is tried once


def answering(urls: tuple[str, ...]) -> list[str]:
    """Those of the addresses that answer within 5 seconds, asked all at once.

    Raises:
        Unavailable: none does. A host that did not answer is not tried again in this process.
    """
    if os.environ.get("WEIGHTSPACE_OFFLINE"):
        raise Unavailable("the network is switched off (WEIGHTSPACE_OFFLINE)")
    answers = {}

    def ask(url):
        answers[url] = _status(url)

    untried = [url for url in urls if _host(url) not in _silent]
    # threads, since looking up a name cannot be given a limit
    threads = [threading.Thread(target=ask, args=(url,), daemon=True) for url in untried]
    end = time.monotonic() + NETWORK_SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    in_time = dict(answers)  # a thread may still add to the other
    for url in untried:
        if not isinstance(answer := in_time.get(url, _SILENCE), int):
            _silent[_host(url)] = f"{_host(url)} {answer}"
    if good := [url for url in untried if in_time.get(url) == 200]:
        return good
    raise Unavailable("; ".join(_silent.get(_host(url)) or f"{_host(url)} answered {in_time[url]}" for url in urls))


_SILENCE = f"gave no answer within {NETWORK_SECONDS} s"
_NO_HEAD = (403, 405, 501)  # a host that does not want to be asked what it has can give it all the same


def _status(url):
    """The number with which an address answers, or in words that it does not."""
    import requests
    try:
        number = requests.head(url, timeout=NETWORK_SECONDS, allow_redirects=True).status_code
        if number in _NO_HEAD:
            with requests.get(url, timeout=NETWORK_SECONDS, stream=True) as answer:
                return answer.status_code
        return number
    except requests.Timeout:
        return _SILENCE
    except requests.RequestException as error:
        return f"gave no answer ({type(error).__name__})"


def _host(url):
    return url.split("/")[2]


def download(remote: RemoteFile, urls: list[str], target: Path) -> None:
    """Download one file to `target`, unpacked, with a progress bar, checking the digest of the archive and of the file.

    Raises:
        Unavailable: no address gave the right bytes.
        OSError: they cannot be written.
    """
    errors = []
    for url in urls:
        try:
            _stream(remote, url, target)
        # requests' errors are OSErrors
        except (OSError, ValueError, zlib.error) as error:
            if _is_full(error):
                raise
            errors.append(f"{url}: {error}")
        else:
            if not (problem := wrong_with(target, remote)):
                return
            errors.append(f"{url}: what came {problem}")
    raise Unavailable(f"{remote.path} could not be fetched: {'; '.join(errors)}")


def _stream(remote, url, target):
    """Write what comes from an address, unpacked on the way, and no more of it than the file has."""
    import requests
    from tqdm.auto import tqdm
    plain = {"Accept-Encoding": "identity"}  # the digest is that of the bytes as they were published
    with requests.get(url, headers=plain, stream=True, timeout=NETWORK_SECONDS) as answer:
        answer.raise_for_status()
        expected = int(answer.headers.get("Content-Length") or 0)
        with tqdm(total=expected or None, unit="B", unit_scale=True, desc=Path(remote.path).name) as bar:
            came = _written(remote, answer.iter_content(_CHUNK), target, bar.update)
    if came != (remote.archive_md5 or remote.md5):
        raise ValueError(f"what came has the MD5 {came}, not {remote.archive_md5 or remote.md5}")


def _unpack(remote, packed, target):
    """Write what a gzip archive beside the file holds."""
    with open(packed, "rb") as file:
        _written(remote, iter(partial(file.read, _CHUNK), b""), target, lambda count: None)


_CHUNK = 1 << 16  # bytes


def _written(remote, chunks, target, on_bytes):
    """Write chunks of a file or of its gzip archive as the file; the MD5 of what came.

    Raises:
        ValueError: the file has fewer bytes than come, or the archive ends too early.
    """
    hasher = _md5()
    unpacker = zlib.decompressobj(wbits=31) if remote.archive_md5 else None  # 31: gzip's header, the widest window
    size = 0
    with open(target, "wb") as file:
        for chunk in chunks:
            stop_if_asked()
            hasher.update(chunk)
            piece = unpacker.decompress(chunk) if unpacker else chunk
            size += len(piece)
            if remote.size and size > remote.size:
                raise ValueError(f"more came than the {remote.size:,} bytes that the file has")
            file.write(piece)
            on_bytes(len(chunk))
    if unpacker and not unpacker.eof:
        raise ValueError("the archive ends too early")
    return hasher.hexdigest()


def extract(remote: RemoteFile, archive: Path, target: Path) -> None:
    """Write one member of a tar archive to `target`, read as a stream: nothing else of the archive touches the disk.

    Raises:
        Unavailable: the archive has no such file, or cannot be read, or the file's digest is wrong.
    """
    problem = "it holds no such file"
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                if member.name == remote.path and member.isfile():
                    problem = f"there it has {member.size:,} bytes, not {remote.size:,}"
                    if member.size == remote.size:
                        packed = tar.extractfile(member)
                        assert packed is not None, "of a file there is one"
                        with packed, open(target, "wb") as unpacked:
                            shutil.copyfileobj(packed, unpacked)
                        problem = wrong_with(target, remote)
                    break
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        if _is_full(error):
            raise
        problem = str(error)
    if problem:
        raise Unavailable(f"{remote.path} could not be taken from {archive}: {problem}")
