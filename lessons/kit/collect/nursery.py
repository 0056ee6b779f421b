"""The collecting process's end of the nursery: it asks for cells, reads what they write, and ends them in time."""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.threads import stop_if_asked
from lessons.kit.chapters import ROOT
from lessons.kit.collect import confining, syscalls
from lessons.kit.collect.nursery_process import MESSAGE

MOST = 16_000_000  # bytes that one cell may write
PATIENCE = 3  # times the seconds of computing, by the clock: an answer may wait for nothing, and others compute, too
# what the nursery keeps of this process's environment; it may hold keys of other programs
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "WEIGHTSPACE_DATA", "WEIGHTSPACE_OWN")


class Unprotected(RuntimeError):
    """This machine cannot run other people's code in safety, so nothing is run."""


class Broken(RuntimeError):
    """The nursery does not do what it should."""


@dataclass(frozen=True)
class Ended:
    """How a cell ended.

    Attributes:
        lines: what it wrote, in complete lines; it may be anything.
        why: "ended" by itself, "late" (its time of computing or by the clock was over), "wrote too much", or the name
            of the signal that ended it.
        seconds: of computing.
    """
    lines: tuple[bytes, ...]
    why: str
    seconds: float


class Nursery:
    """A nursery that runs. Several threads may ask it for cells.

    Args:
        limits: of every cell.
    """

    def __init__(self, limits: confining.Limits):
        self._limits, self._turn = limits, threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arguments = {"seconds": limits.seconds, "memory": limits.memory, "readable": limits.readable}
        path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment |= {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg",
                        "PYTHONDONTWRITEBYTECODE": "1", "WEIGHTSPACE_OFFLINE": "1"}
        command = [sys.executable, "-m", "lessons.kit.collect.nursery_process", str(theirs.fileno()),
                   json.dumps(arguments)]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  it is closed with the nursery
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, cwd="/",
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said,
                                         start_new_session=True)
        theirs.close()

    def close(self) -> None:
        """End the nursery and all cells in it."""
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._said.close()

    def _ask(self, files: Sequence[int] = (), **command) -> dict:
        try:
            with self._turn:
                socket.send_fds(self._control, [json.dumps(command).encode()], list(files))
                message = self._control.recv(MESSAGE)
        except OSError:
            message = b""
        reply = json.loads(message) if message else {"error": self._last_line()}
        if "error" in reply:
            raise Broken(f"The process that makes one for every answer says: {reply['error']}")
        return reply

    def _last_line(self):
        """What the nursery complained of before it ended."""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "nothing, it has ended")

    def load(self, chapter: str) -> None:
        """Import what this chapter's notebook imports."""
        self._ask(do="load", chapter=chapter)

    def run(self, kind: str, source: int, chapter: str = "") -> Ended:
        """Make a cell, wait until it has ended, and end it where it does not.

        Args:
            kind: "read" a notebook, "answer" an exercise, or "probe" the protection.
            source: an open file that it reads.
            chapter: the names it begins with.
        """
        reading, writing = os.pipe()
        try:
            try:
                pid = self._ask([source, writing], do="start", kind=kind, chapter=chapter)["pid"]
            finally:
                os.close(writing)
            try:
                content, why = _read(reading, PATIENCE * self._limits.seconds)
            finally:
                status = self._ask(do="end", pid=pid)
        finally:
            os.close(reading)
        if why == "ended":
            why = _why(status, self._limits.seconds)
        return Ended(tuple(content.split(b"\n")[:-1]), why, status["seconds"])


def _why(status, seconds):
    """Why a cell ended that did so before its time was over by the clock. It may have been killed in the moment before
    it would have ended by itself."""
    number = status["signal"]
    if number == signal.SIGXCPU or number == signal.SIGKILL and status["seconds"] >= seconds:
        return "late"  # the kernel's own signals, where the time of computing is over
    if number in (0, signal.SIGKILL):
        return "ended"
    return next((known.name for known in signal.Signals if known == number), f"signal {number}")  # not all have names


def _read(reading, seconds):
    """(what is written to a pipe until its end, why no more was read)."""
    deadline, content = time.monotonic() + seconds, bytearray()
    while True:
        stop_if_asked()
        left = deadline - time.monotonic()
        if left <= 0:
            return bytes(content), "late"
        if not select.select([reading], [], [], min(left, 0.2))[0]:
            continue
        piece = os.read(reading, 65536)
        if not piece:
            return bytes(content), "ended"
        content += piece
        if len(content) > MOST:
            return bytes(content), "wrote too much"


@contextlib.contextmanager
def sealed(job: dict) -> Iterator[int]:
    """A file in memory that holds this as JSON, and that nobody can change any more."""
    import fcntl  # Windows has none, and runs nothing
    file = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.write(file, json.dumps(job).encode())
        os.lseek(file, 0, os.SEEK_SET)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
        yield file
    finally:
        os.close(file)


@contextlib.contextmanager
def opened(folder: Path, seconds: int, memory: int) -> Iterator[tuple[Nursery, list[str]]]:
    """A nursery, and the layers of protection that its cells have, after one of them tried to break out.

    Args:
        folder: that of the submissions, which no cell may look into.
        seconds: of computing that an answer has.
        memory: bytes that it has.

    Raises:
        Unprotected: on this machine nothing protects from other people's code.
    """
    if not syscalls.is_known():
        raise Unprotected("Other people's code is run only where the kernel can hold it back, which needs Linux on "
                          "x86-64 or ARM64. On Windows use WSL 2, on macOS a Linux container.")
    nursery = Nursery(confining.Limits(seconds, memory, tuple(confining.readable(folder))))
    try:
        yield nursery, _probed(nursery, folder)
    finally:
        nursery.close()


def _probed(nursery, folder):
    try:
        with sealed({"folder": str(folder)}) as job:
            ended = nursery.run("probe", job)
    except Broken as error:
        raise Unprotected(f"Nothing was run, because the protection could not be set up. {error}") from error
    said = json.loads(ended.lines[0]) if ended.lines else {"unconfined": f"nothing ({ended.why})"}
    if "unconfined" in said:
        raise Unprotected(f"This kernel does not hold other people's code back, so nothing was run. It says: "
                          f"{said['unconfined']}.")
    if said["possible"]:
        raise Unprotected(f"On this machine a learner's code could {', '.join(said['possible'])}, so nothing was run.")
    return said["layers"]
