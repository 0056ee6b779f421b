"""A learner's function, tried on one case: whatever it does, the course goes on."""
import contextlib
import copy
import signal
import threading
from dataclasses import dataclass

from lessons.kit import surroundings
from lessons.kit.judging.telling import shown

SECONDS = 10.0  # of computing, that a function has for one case
PATIENCE = 6    # times as long by the clock: other programs may have the processor, and a function may wait for nothing


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


class _TooLong(BaseException):
    """No Exception, so that a learner's `except Exception` lets it pass."""


def outcome(function, case: tuple, same) -> Outcome:
    """Try a function on copies of a case's arguments.

    Args:
        same: (a, b) -> whether two sets of arguments are the same.
    """
    arguments = copy.deepcopy(case)
    try:
        with surroundings.restored() as left, limited(SECONDS):  # the solution, run next, must find them as they were
            value = function(*arguments)
    except _TooLong:
        return Outcome("endless", None, f"Your function was still running after {SECONDS:g} seconds and was stopped. "
                                        "Does one of its loops ever end?")
    except SystemExit:
        return Outcome("SystemExit", None, "Your function called exit(), which would end the notebook's Python: give "
                                           "the result back with return.")
    except Exception as error:
        name = type(error).__name__
        return Outcome(name, None, f"Your function stopped with {name}: {shown(error, str)}")
    if not same(arguments, case):
        return Outcome("changed", value, "Your function changed one of its arguments in place. The caller's tensors "
                                         "must stay as they are: make new ones.")
    if value is None or value is Ellipsis:
        return Outcome("nothing", None, "Your function returned nothing yet: end it with a return statement.")
    return Outcome("value", value, left=tuple(left))


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
    for timer, (_, after) in timers.items():
        signal.setitimer(timer, after, 1.0)  # and every second, for who catches everything in a loop
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0.0)
        for name, handler in before.items():
            signal.signal(name, handler)
