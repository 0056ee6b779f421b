"""The folder that keeps files: datasets that were fetched, and whatever `once` made (trained models, sweeps).

It is `$WEIGHTSPACE_DATA`, or `data/cache` beside this file. Nothing in it is believed unread: datasets have published
digests, and what `once` stores is checked by the function that reads it. Every write goes to a temporary file first and
is renamed when complete; every write happens under a lock between processes.
"""
import contextlib
import gzip
import hashlib
import itertools
import logging
import os
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

from data.types import Source, digest

NETWORK_SECONDS = 5
_as_published = ContextVar("as_published", default=False)
_OWN_FOLDER = "set the environment variable WEIGHTSPACE_DATA to a folder of your own, then restart the kernel"


class StoreError(OSError):
    """The data folder, or a file in it, cannot be used."""


class Damaged(Exception):
    """A stored file is not what was written."""


class Unavailable(Exception):
    """A dataset's file is neither here nor to be had."""


class DataWarning(UserWarning):
    """Something about the data that the reader must know."""


@dataclass(frozen=True)
class RemoteFile:
    """A published file, to be had gzipped, as it is, or in a tar archive.

    Attributes:
        path: where it lies below `root()`; in a tar archive it has the same path.
        size: in bytes.
        md5: of the file.
        archive_md5: of its gzip archive, which the addresses give; "" where they give the file as it is.
        urls: where to get it; () where it is a member of `within`.
        within: the tar archive that holds it, itself a published file. It is fetched once for all its members, and
            stays: a member that is damaged or deleted comes back from it without a network.
    """
    path: str
    size: int
    md5: str
    archive_md5: str
    urls: tuple[str, ...]
    within: "RemoteFile | None" = None


def root() -> Path:
    """The data folder: `$WEIGHTSPACE_DATA`, or `data/cache` in this repository."""
    return Path(os.environ.get("WEIGHTSPACE_DATA") or Path(__file__).parent / "cache").expanduser()


# -- writing -----------------------------------------------------------------------------------------------------------

def writable(folder: Path) -> Path:
    """Create the folder if need be and return it.

    Raises:
        StoreError: it cannot be created or written; the message names it and says what to do.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise StoreError(f"cannot write to the data folder {folder}: {error.strerror or error}. Free some space or set "
                         "the environment variable WEIGHTSPACE_DATA to a folder that you can write to, then restart "
                         "the kernel.") from error


@contextlib.contextmanager
def _readable(path):
    """What is there but may not be read is neither missing nor damaged: a StoreError says what to do."""
    try:
        yield
    except PermissionError as error:
        raise StoreError(f"{path} may not be read: {error.strerror}. Let its owner run `chmod -R a+rX {root()}`, "
                         f"or {_OWN_FOLDER}.") from error


@contextlib.contextmanager
def lock(path: Path):
    """Hold a lock between processes for one file of the store; it dies with its process.

    Raises:
        StoreError: the folder cannot be written, or its file system or another user's lock file does not let us lock.
    """
    folder = writable(path.parent)
    file = folder / f".{path.name}.lock"
    mode = folder.stat().st_mode & 0o666  # who may write to the folder may lock in it, whatever umask the first one had
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(filelock.FileLock(file, mode=mode))
        except OSError as error:
            raise StoreError(f"cannot lock {path}: {file}: {error.strerror or error}. If another user left this lock, "
                             f"let its owner delete it while nobody uses the folder, or {_OWN_FOLDER}.") from error
        yield


@contextlib.contextmanager
def atomic(path: Path):
    """Yield a temporary path beside `path`; rename it to `path` if the block succeeds, remove it if not.

    Call with the lock held. The file gets an ordinary new file's mode; safetensors and pooch make theirs private.
    """
    # what is left over is of a process that was killed while it wrote: we hold the lock, so it is gone
    for leftover in path.parent.glob(f".{path.name}.*.part"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink(missing_ok=True)
    part = path.parent / f".{path.name}.{os.getpid()}.part"
    try:
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


def once(path: Path, make, *, read, write):
    """The value stored at `path`; made now if it is missing or damaged, by one process only while the others wait.

    Args:
        path: where the value is kept.
        make: () -> value. Takes as long as it takes.
        read: path -> value; raises FileNotFoundError or Damaged.
        write: (value, path) -> None.

    Raises:
        StoreError: the file is there but may not be read, or the folder cannot be written.
    """
    def stored(warn):
        try:
            with _readable(path), open(path, "rb"):  # safetensors would call a file that it may not open missing
                pass
            return read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Damaged as error:
            if warn:
                warnings.warn(f"{path} is damaged ({error}); it is made again", DataWarning, stacklevel=4)
            return None

    if (value := stored(warn=True)) is not None:
        return value
    with lock(path):
        if (value := stored(warn=False)) is not None:  # another process made it while we waited
            return value
        value = make()
        with atomic(path) as part:
            write(value, part)
        return value


# -- fetching ----------------------------------------------------------------------------------------------------------

def fetch(remote: RemoteFile) -> Path:
    """Path of a dataset's file whose digest is right: the one that is there, or else a download.

    Raises:
        Unavailable: missing or damaged here, and not to be had from the network; names the file and both reasons.
        StoreError: the data folder cannot be written, or the file is there but may not be read.
    """
    path = root() / remote.path
    if not (problem := wrong_with(path, remote)):
        return path
    try:
        if path in _given_up:
            raise Unavailable(_given_up[path])
        get = _getter(remote)  # asks the network before anything is written
        with lock(path):
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
                    os.replace(path, aside)
                    said = f"{path} {problem}; kept as {aside.name} and fetched again"
                    warnings.warn(said, DataWarning, stacklevel=2)
    except Unavailable as error:
        raise Unavailable(f"{path} {problem}, and {error}") from None
    return path


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
    """part -> None, which writes the file: from its tar archive, which is fetched first, or from those of its addresses
    that answer.
    """
    if remote.within:
        return partial(extract, remote, fetch(remote.within))
    return partial(download, remote, answering(remote.urls))


def wrong_with(path: Path, remote: RemoteFile) -> str:
    """What is wrong with the file, as the end of a sentence, or "" where nothing is.

    Raises:
        StoreError: it may not be read.
    """
    with _readable(path):
        try:
            found = path.stat()
        except PermissionError:
            raise
        except OSError:
            return "is missing"
        if found.st_size < remote.size:
            return f"is truncated ({found.st_size:,} of {remote.size:,} bytes)"
        if _md5(path, found.st_mtime_ns, found.st_size) != remote.md5:
            return "has been altered (its MD5 is not the published one)"
    return ""


@lru_cache(maxsize=64)
def _md5(path, mtime_ns, size):  # time and size are the cache's key: a file that changed is read again
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


_no_network = ""  # why the network was given up in this process: it is tried once
_given_up = {}  # path -> why its download failed: a file too is tried once


def answering(urls: tuple[str, ...]) -> list[str]:
    """Those of the addresses that answer within 5 seconds, asked all at once.

    Raises:
        Unavailable: none does. Where no host answered at all, the network is not tried again in this process.
    """
    global _no_network
    if os.environ.get("WEIGHTSPACE_OFFLINE"):
        raise Unavailable("the network is switched off (WEIGHTSPACE_OFFLINE)")
    if _no_network:
        raise Unavailable(_no_network)
    import requests
    answers = {}

    def ask(url):
        try:
            answers[url] = requests.head(url, timeout=NETWORK_SECONDS, allow_redirects=True).status_code
        except requests.RequestException as error:
            answers[url] = type(error).__name__

    # threads, since looking up a name cannot be given a limit
    threads = [threading.Thread(target=ask, args=(url,), daemon=True) for url in urls]
    end = time.monotonic() + NETWORK_SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    said = dict(answers)
    if good := [url for url in urls if said.get(url) == 200]:
        return good
    reason = "; ".join(f"{url.split('/')[2]} gave no answer within {NETWORK_SECONDS} s ({said.get(url, 'silence')})"
                       for url in urls)
    if not any(isinstance(answer, int) for answer in said.values()):
        _no_network = reason
    raise Unavailable(reason)


def download(remote: RemoteFile, urls: list[str], target: Path) -> None:
    """Download one file to `target`, unpacked, with a progress bar, checking the digest of the archive and of the file.

    Raises:
        Unavailable: no address gave the right bytes.
    """
    import pooch
    pooch.get_logger().setLevel(logging.WARNING)
    errors = []
    for url in urls:
        # `atomic` knows this name
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{target.stem}.", suffix=".part") as folder:
            try:
                came = pooch.retrieve(url, f"md5:{remote.archive_md5 or remote.md5}", path=folder,
                                      downloader=pooch.HTTPDownloader(progressbar=True, timeout=NETWORK_SECONDS))
                if remote.archive_md5:
                    with gzip.open(came) as packed, open(target, "wb") as unpacked:
                        shutil.copyfileobj(packed, unpacked)
                else:
                    os.replace(came, target)
            # requests' errors are OSErrors; a wrong digest is a ValueError
            except (OSError, ValueError, EOFError) as error:
                errors.append(f"{url}: {error}")
                continue
        if not (problem := wrong_with(target, remote)):
            return
        errors.append(f"{url}: what came {problem}")
    raise Unavailable(f"{remote.path} could not be fetched: {'; '.join(errors)}")


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
                    with tar.extractfile(member) as packed, open(target, "wb") as unpacked:
                        shutil.copyfileobj(packed, unpacked)
                    problem = wrong_with(target, remote)
                    break
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        problem = str(error)
    if problem:
        raise Unavailable(f"{remote.path} could not be taken from {archive}: {problem}")
