"""A learner's function, tried on one case: whatever it does, the course goes on."""
import contextlib
import copy
import functools
import io
import os
import signal
import sys
import threading
from dataclasses import dataclass

from lessons.kit import surroundings
from lessons.kit.judging.telling import shown

SECONDS = 10.0  # of computing, that a function has for one case
PATIENCE = 6    # times as long by the clock: other programs may have the processor, and a function may wait for nothing
PRINTED = 20_000  # characters that one check shows of what a function prints


@dataclass(frozen=True)
class Outcome:
    """What a function does with one case.

    Attributes:
        kind: "value", "nothing", "changed" (one of its arguments), "endless" or the name of an exception.
        value: what it returned.
        problem: a sentence about everything but a value.
        left: what it set for the whole process, in words; it has been set back.
    """
    kind: str
    value: object = None
    problem: str = ""
    left: tuple[str, ...] = ()


class Unfit(ValueError):
    """What a function gave back cannot be compared; the text says what to give back."""


class _TooLong(BaseException):
    """No Exception, so that a learner's `except Exception` lets it pass."""


def outcome(function, case: tuple, same, printed: "Shown | None" = None, ours: bool = False) -> Outcome:
    """Try a function on copies of a case's arguments.

    Args:
        same: (a, b) -> whether two sets of arguments are the same.
        printed: what a whole check may show of what is printed; without it this case has an allowance of its own.
        ours: whether it is a function of the course, which sets nothing for the whole process. It is not watched.
    """
    arguments = copy.deepcopy(case)
    left, value = [], None
    try:
        with _watched(left, printed) if not ours else contextlib.nullcontext() as copies, limited(SECONDS):
            value = function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a generator's exit and a cancelled task's are no Exceptions
        kind, problem = _stopped(error)
    else:
        kind, problem = ("fork", _FORKED) if copies else _returned(value, same(arguments, case))
    return Outcome(kind, value, problem, tuple(left))


@contextlib.contextmanager
def _watched(left, printed):
    """The solution, run next, must find everything as it was."""
    with quieter(printed or Shown()), surroundings.restored(left), alone() as copies:
        yield copies


_FORKED = ("Your function started a copy of the notebook's Python (os.fork), which would have run the rest of the "
           "notebook too. The copy was ended at once: leave that call out.")


def _returned(value, unchanged):
    """(kind, problem) of a function that returned."""
    if not unchanged:
        return "changed", ("Your function changed one of its arguments in place. The caller's tensors must stay as "
                           "they are: make new ones.")
    if value is None or value is Ellipsis:
        return "nothing", "Your function returned nothing yet: end it with a return statement."
    return "value", ""


def _stopped(error):
    """(kind, problem) of a function that ended in an exception."""
    if isinstance(error, _TooLong):
        return "endless", (f"Your function was still running after {SECONDS:g} seconds and was stopped. Does one of "
                           "its loops ever end?")
    if isinstance(error, SystemExit):
        return "SystemExit", ("Your function called exit(), which would end the notebook's Python: give the result "
                              "back with return.")
    if isinstance(error, Unfit):
        return "unfit", f"What your function gives back does not fit: {error}"
    name = type(error).__name__
    return name, f"Your function stopped with {name}: {shown(error, str)}"


# -- what a function prints ----------------------------------------------------------------------------

class Shown:
    """How many characters may still be shown of what is printed."""

    def __init__(self, characters: int = PRINTED):
        self.most = self.left = characters

    @property
    def is_used_up(self) -> bool:
        """Whether more was printed than may be shown, and that was said."""
        return not self.most


class _Quieter(io.TextIOBase):
    """A stream that hands on to another what may still be shown, says once that it stops, and drops the rest."""

    def __init__(self, stream, printed):
        self._stream, self._printed = stream, printed

    def write(self, text):
        allowed = text[:self._printed.left]
        if allowed:
            self._stream.write(allowed)
        if len(allowed) < len(text) and self._printed.most:
            self._stream.write(f"\n[Your function prints more than {self._printed.most:,} characters. "
                               "The rest is not shown.]\n")
            self._printed.most = 0
        self._printed.left -= len(allowed)
        return len(text)

    def flush(self):
        self._stream.flush()

    def writable(self):
        return True

    @property
    def encoding(self):
        return getattr(self._stream, "encoding", "utf-8")

    def fileno(self):
        return self._stream.fileno()


@contextlib.contextmanager
def quieter(printed: Shown):
    """What is printed inside is shown as far as is allowed."""
    with contextlib.redirect_stdout(_Quieter(sys.stdout, printed)), \
            contextlib.redirect_stderr(_Quieter(sys.stderr, printed)):
        yield


# -- what would end or double the process --------------------------------------------------------------

_copies = []  # one list for each context that is open, with an entry for each copy that was forked inside


def _in_child():
    if _copies:
        os._exit(0)  # else it would run the rest of the notebook, with the kernel's own connections


def _in_parent():
    if _copies:
        _copies[-1].append("a copy")


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork either
    os.register_at_fork(after_in_child=_in_child, after_in_parent=_in_parent)


@contextlib.contextmanager
def alone():
    """A copy of the process that is forked inside ends at once, and IPython's exit is Python's own.

    Yields:
        A list that is empty as long as nothing was forked.
    """
    forked = []
    _copies.append(forked)
    try:
        with _plain_exit():
            yield forked
    finally:
        _copies.pop()


@contextlib.contextmanager
def _plain_exit():
    """In a notebook, exit() and quit() ask the kernel to end some moments later; inside, they raise SystemExit."""
    asked = sys.modules.get("IPython")
    shell = asked.get_ipython() if asked else None
    if shell is None:
        yield
        return

    def leave():
        raise SystemExit
    shell.ask_exit = leave  # in the instance, before the method of its class
    try:
        yield
    finally:
        del shell.ask_exit


@contextlib.contextmanager
def limited(seconds: float):
    """Python code inside is interrupted after so many seconds of computing, or `PATIENCE` times as many by the clock.

    Not in another thread, nor where there are no such signals.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number, frame):
        raise _TooLong
    timers = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, PATIENCE * seconds)}
    before = {name: signal.signal(name, stop) for name, _ in timers.values()}
    # and every second, for who catches everything in a loop
    left = {timer: signal.setitimer(timer, after, 1.0) for timer, (_, after) in timers.items()}
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0.0)
        for name, handler in before.items():
            signal.signal(name, handler)
        for timer, of_the_outer in left.items():  # a limit inside a limit
            signal.setitimer(timer, *of_the_outer)


def in_time(compute):
    """compute() -> value, or None where it takes longer than a function may take for one case."""
    try:
        with limited(SECONDS):
            return compute()
    except _TooLong:
        return None


def guarded(function, printed: Shown | None = None):
    """The function, after every call of which is set back what it changed for the whole process.

    Args:
        printed: what all its calls together may still show of what they print; None for everything.
    """
    def inside(*arguments, **named):
        with quieter(printed) if printed else contextlib.nullcontext(), surroundings.restored():
            return function(*arguments, **named)
    with contextlib.suppress(Exception):  # a callable that refuses to be asked for its name
        functools.update_wrapper(inside, function)
    return inside
