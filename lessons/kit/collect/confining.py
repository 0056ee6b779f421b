"""How a process gives up its rights, on Linux: what remains is to compute, to read Python's modules, and to write to
the pipe that it holds.

Only the kernel protects: Python code can be talked around by Python code. These are the layers:

* resource limits: computing time, memory, the number of open files, and no byte written to any file;
* a filter of system calls (`syscalls`), without which nothing runs here;
* Landlock: of all files it may read those of Python and of the course. Without Landlock it may open none at all;
* namespaces, where the system lets us make them: no network, processes that cannot name those outside, and no rights of
  root. A container without privileges and some distributions do not;
* no capabilities, so that root is an ordinary user.
"""
import contextlib
import ctypes
import os
import signal
import struct
import sys
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from lessons.kit.chapters import ROOT
from lessons.kit.collect import syscalls
from lessons.kit.collect.syscalls import CannotConfine

try:
    import resource
except ImportError:  # Windows, where nothing of this runs
    resource = None

FILES = 64  # that a process may have open at once
_PARENT_DEATH, _CAPABILITIES = 1, 0x20080522  # PR_SET_PDEATHSIG, _LINUX_CAPABILITY_VERSION_3
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every processor
_VERSION, _BENEATH = 1, 1  # LANDLOCK_CREATE_RULESET_VERSION, LANDLOCK_RULE_PATH_BENEATH
_READ = 1 << 2 | 1 << 3  # LANDLOCK_ACCESS_FS_READ_FILE, _READ_DIR
_ACCESS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # so many kinds of access to files a version knows; later ones as 5
_NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = 0x08000000, 0x10000000, 0x20000000, 0x40000000


@dataclass(frozen=True)
class Limits:
    """What one process may use.

    Attributes:
        seconds: of computing.
        memory: bytes, beyond what it has when it begins.
        readable: files and folders that it may read.
    """
    seconds: int
    memory: int
    readable: tuple[str, ...]


def readable(without: Path) -> list[str]:
    """What a process may read: Python, its packages, and the course's code. Not a folder that holds `without`, the
    submissions, nor one that holds the course."""
    packages = [folder for folder in sys.path if os.path.basename(folder) in ("site-packages", "dist-packages")]
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, *packages, "/usr/lib", "/lib", "/lib64",
              *(ROOT / name for name in ("lessons", "toy_models")), *(ROOT / "data").glob("*.py"),
              *(ROOT / "data").glob("*.txt")]
    closed = os.path.realpath(without), os.path.realpath(ROOT)
    return [place for place in dict.fromkeys(map(os.path.realpath, places))
            if os.path.exists(place) and not any(_is_in(path, place) for path in closed)]


def _is_in(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# -- namespaces: for the nursery, once -------------------------------------------------------------------------------

def new_namespaces() -> list[str]:
    """Put this process, which must have a single thread, into namespaces of its own, and its later children into a new
    one of processes.

    Returns:
        What was possible, in words; [] where the system does not allow it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_PID | _NEW_NET | _NEW_IPC):
        return []
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with contextlib.suppress(OSError):
            Path(f"/proc/self/{name}").write_text(text)
    return ["users", "processes", "network", "messages"]


def die_with_parent() -> None:
    """This process is killed when the one that made it ends, however it ends."""
    syscalls.prctl(_PARENT_DEATH, signal.SIGKILL)


# -- everything else: for every cell -----------------------------------------------------------------------------------

def confine(limits: Limits, keep: Container[int]) -> list[str]:
    """Give up all rights but those that are needed to compute. Nothing takes that back.

    Args:
        limits: what may be used.
        keep: the open files that stay open.

    Returns:
        The layers that hold now, in words.

    Raises:
        CannotConfine: a layer that is needed is not to be had.
    """
    os.setsid()
    die_with_parent()
    os.chdir("/")
    _close_all_but(keep)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory runs out, this one goes first
    _limit(limits)
    _drop_capabilities()
    has_landlock = _read_alone(limits.readable)
    syscalls.hold_to_the_list(may_open=has_landlock)
    return ["resource limits", "seccomp", *(["Landlock"] if has_landlock else [])]


def _close_all_but(keep):
    """Standard input, output and errors lead nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number not in keep:
            with contextlib.suppress(OSError):  # the one by which the list was read
                os.close(number)


def _limit(limits):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    wanted = {resource.RLIMIT_CPU: limits.seconds, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0,
              resource.RLIMIT_NOFILE: FILES, resource.RLIMIT_MEMLOCK: 0, resource.RLIMIT_MSGQUEUE: 0,
              resource.RLIMIT_AS: pages * resource.getpagesize() + limits.memory}
    for name, most in wanted.items():
        hard = most + (name == resource.RLIMIT_CPU)  # a second between the signal that can be caught and the other one
        already = resource.getrlimit(name)[1]
        hard = hard if already == resource.RLIM_INFINITY else min(hard, already)
        resource.setrlimit(name, (min(most, hard), hard))


def _drop_capabilities():
    header, none = struct.pack("=Ii", _CAPABILITIES, 0), bytes(24)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, none):
        raise CannotConfine(ctypes.get_errno(), "capabilities cannot be given up")


def _read_alone(places: Sequence[str]) -> bool:
    """Whether Landlock now holds this process to reading these."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    syscalls.prctl(syscalls.NO_NEW_PRIVILEGES, 1)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION))
    if version < 1:
        return False
    rights = [(1 << _ACCESS[min(version, 5)]) - 1, 0b11, 0b11]  # of files; of TCP; of signals and abstract sockets
    known = rights[:1 if version < 4 else 2 if version < 6 else 3]
    attributes = struct.pack(f"={len(known)}Q", *known)
    rules = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    if rules < 0:
        return False
    for place in places:
        _allow(libc, rules, place)
    held = libc.syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0)) == 0
    os.close(rules)
    return held


def _allow(libc, rules, place):
    with contextlib.suppress(OSError):  # what is not there needs no rule
        there = os.open(place, os.O_PATH | os.O_CLOEXEC)
        rights = _READ if os.path.isdir(place) else _READ & ~(1 << 3)
        libc.syscall(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_BENEATH), struct.pack("=Qi", rights, there),
                     ctypes.c_uint(0))
        os.close(there)
