"""Which folders the store has, and in which of them a file is looked for.

The learner's own store is the folder that is written: `$WEIGHTSPACE_DATA`, or `data/cache` beside this file. Where that
one may not be written, it is `$WEIGHTSPACE_OWN`, or the system's place for a user's data (`~/.local/share/weightspace`
on Linux). Below it may lie the store of a class, `$WEIGHTSPACE_SHARED`, which is read and never written, not even a
lock. All are read, the learner's own first. A shared store that can no longer be looked into, such as a network disk
that is gone, is left out: a warning says so once, and what it would have given is made in the learner's own.
"""
import os
import time
import warnings
from functools import lru_cache
from pathlib import Path

import platformdirs

# seconds for which a shared store that was gone is not asked again, since a network disk may take minutes to answer
AGAIN = 300
_gone: dict[Path, float] = {}  # shared store -> when it was found to be gone, by the clock of `time.monotonic`
_said = set()  # what is said once in a process


class StoreError(OSError):
    """The data folder, or a file in it, cannot be used."""


class DataWarning(UserWarning):
    """Something about the data that the reader must know."""


def root() -> Path:
    """The data folder: `$WEIGHTSPACE_DATA`, or `data/cache` in this repository. What is in a store is named by its
    place below this one, wherever it is (`places`).

    Raises:
        StoreError: the variable begins with the home of a user who does not exist.
    """
    return _folder("WEIGHTSPACE_DATA") or Path(__file__).parent / "cache"


def own() -> Path:
    """The learner's own folder, for what a data folder that cannot be written lacks: `$WEIGHTSPACE_OWN`, or the
    system's place for a user's data. It need not exist.

    Raises:
        StoreError: the variable begins with the home of a user who does not exist.
    """
    usual = platformdirs.user_data_path("weightspace", appauthor=False)
    return _folder("WEIGHTSPACE_OWN") or (usual if usual.is_absolute() else root())  # there may be no home


def shared() -> Path | None:
    """The store that several people read and nobody writes, `$WEIGHTSPACE_SHARED`; None where there is none.

    Raises:
        StoreError: the variable begins with the home of a user who does not exist.
    """
    return _folder("WEIGHTSPACE_SHARED")


def _folder(variable):
    """The folder that an environment variable names, or None."""
    text = os.environ.get(variable)
    return _absolute(variable, text) if text else None


@lru_cache(maxsize=64)
def _absolute(variable, text):
    """A relative path is that of the folder in which it was used first, wherever the notebook goes to later."""
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise StoreError(f"{variable} is {text!r}: {error} Set it to the whole path of a folder, then restart the "
                         "kernel.") from None
    if not path.is_absolute():
        path = path.absolute()
        warnings.warn(f"{variable} is the relative path {text!r}: in this kernel it is {path}. Set it to a whole path, "
                      "so that every notebook finds the same folder", DataWarning, stacklevel=5)
    return path


def places(path: Path) -> list[Path]:
    """Where a file of the data folder is looked for, in this order: below the learner's own folder, where it is said to
    be, below the shared store. A path that is not in the data folder has no other place."""
    if not path.is_relative_to(root()):
        return [path]
    theirs = shared()
    below = [] if theirs is None or _rests(theirs) else [theirs / path.relative_to(root())]
    mine = own_place(path)
    return list(dict.fromkeys([*([] if mine is None else [mine]), path, *below]))


def own_place(path: Path) -> Path | None:
    """Where a file of the data folder is below the learner's own folder; None where that folder may not be looked into,
    or the path is of another folder."""
    try:
        mine = own() / path.relative_to(root())
        os.stat(own())
    except (ValueError, PermissionError):  # the path belongs to another folder, or the learner's own one is not theirs
        return None
    except OSError:  # it is not there yet
        pass
    return mine


def where(path: Path) -> Path | None:
    """Where a file or folder of the data folder lies, the first of its `places`; None where it lies in none."""
    for place in places(path):
        if os.path.exists(place):
            return place
        if is_shared(place):
            shared_is_gone()
    return None


def is_shared(path: Path) -> bool:
    """Whether a path lies in the shared store, and not in a learner's own that lies in it."""
    theirs = shared()
    if theirs is None or not _within(path, theirs):
        return False
    return not any(_within(mine, theirs) and not _within(theirs, mine) and _within(path, mine)
                   for mine in (root(), own()))


def _within(path, folder):
    """Whether a path lies in a folder, whatever links lead there."""
    return path.is_relative_to(folder) or Path(os.path.realpath(path)).is_relative_to(_real(folder))


@lru_cache(maxsize=64)  # a network disk that is gone is not asked at every write
def _real(folder):
    return os.path.realpath(folder)


def _rests(folder):
    """Whether a shared store was gone a moment ago, and is not asked yet again."""
    return folder in _gone and time.monotonic() - _gone[folder] < AGAIN


def shared_is_gone() -> bool:
    """Whether there is a shared store and it cannot be looked into, or nothing is in it; a warning says so once. To be
    asked where a file of it is not found or not read. It is then left out for some minutes."""
    folder = shared()
    if folder is None:
        return False
    if not _rests(folder) and (problem := _problem_of(folder)):
        _gone[folder] = time.monotonic()
        say_once(f"{folder} is gone", f"the shared store {folder} (WEIGHTSPACE_SHARED) {problem}. What it would have "
                 "given is made again and kept in your own store. If it comes back, it is used again")
    return _rests(folder)


def _problem_of(folder):
    """Why nothing can be had from a folder, as the end of a sentence; "" where something lies in it."""
    try:
        with os.scandir(folder) as entries:
            return "" if next(entries, None) else "is empty"
    except OSError as error:
        return f"cannot be looked into ({error.strerror or error})"


def pass_over(place: Path, error: Exception) -> None:
    """Say, once, that a file of the shared store cannot be used; where the whole store is gone, that is said instead.
    """
    if not shared_is_gone() and not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        cause = error.__cause__ or error
        why = getattr(cause, "strerror", None) or cause
        say_once(f"{place} {why}", f"{place}, in the shared store, is not used: {why}. What it would have given comes "
                 "to your own store. Tell whoever looks after the shared one")


def say_once(key: str, message: str) -> None:
    """Warn, the first time in this process."""
    if key not in _said:
        _said.add(key)
        warnings.warn(message, DataWarning, stacklevel=5)
