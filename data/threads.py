"""Work in several threads at once, which ends soon when the learner presses stop.

Python cannot end a thread from outside. So whatever takes long calls `stop_if_asked` now and then: training does at
every step.
"""
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import ContextVar

import torch

# of the pools that this thread works for
_flags: ContextVar[tuple[threading.Event, ...]] = ContextVar("flags", default=())


class Stopped(BaseException):
    """Nobody waits any more for what this thread makes. It is not an Exception, so `except Exception` lets it pass."""


def stop_if_asked() -> None:
    """Go on, unless the pool that this thread works for was stopped.

    Raises:
        Stopped: it was.
    """
    if any(flag.is_set() for flag in _flags.get()):
        raise Stopped


def cores() -> int:
    """How many cores this process may use: a container or a batch system can allow fewer than the machine has."""
    from joblib import cpu_count
    return cpu_count()


def side_by_side(function: Callable, items: Iterable, at_once: int | None = None,
                 on_done: Callable[[int], None] = lambda number: None) -> list:
    """[function(item), …], each in a thread in which torch uses one core.

    Where one of them fails, those that are at work are finished, and the others are not begun. Where this thread is
    interrupted, those at work end at their next `stop_if_asked`.

    Args:
        function: is called with every item.
        at_once: how many threads there are at most; None for one on every core.
        on_done: called in this thread with the number of an item that is done.

    Raises:
        Exception: the first one that function raised.
    """
    flag = threading.Event()
    flags = (*_flags.get(), flag)

    def work(item):
        _flags.set(flags)
        stop_if_asked()
        return function(item)

    pool = ThreadPoolExecutor(at_once or cores(), initializer=torch.set_num_threads, initargs=(1,))
    try:
        with pool:
            try:
                futures = [pool.submit(work, item) for item in items]
                for future in as_completed(futures):
                    future.result()
                    on_done(futures.index(future))
                return [future.result() for future in futures]
            except BaseException as error:
                if not isinstance(error, Exception):
                    flag.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        flag.set()  # a second interrupt can come while the threads are waited for
