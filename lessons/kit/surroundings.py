"""What a learner's function may set and must not leave behind: the state that torch, numpy and Python keep for the
whole process.
"""
import contextlib
import functools
import operator
import os
import random
import signal
import sys
import threading
import types
import warnings

import numpy as np
import torch

from data.pinning import SETTINGS, kept

_NAMES = ("torch's default dtype", "torch's default device", "the precision of float32 products")  # of SETTINGS

_OURS = ("lessons", "toy_models", "data")
_THEIRS = ("torch", "torch.linalg", "torch.special", "torch.fft", "torch.random", "torch.autograd",
           "torch.autograd.functional", "torch.func", "numpy", "numpy.linalg", "numpy.random", "math", "random",
           "builtins", "os")
_WITH_CLASSES = (*_OURS, "torch.nn", "torch.optim")  # these packages whole: what networks and training are made of
_PREFIXES = tuple(f"{name}." for name in _WITH_CLASSES)
_CONSTANTS = (bool, int, float, str, tuple, frozenset)
_DEEPEST = 2000  # calls inside calls, for which there is room on the stack whatever is called

# what else is asked for and set back: how to ask for it, and how to set it
_SWITCHES = {
    "whether torch must be deterministic": (
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        lambda before: torch.use_deterministic_algorithms(before[0], warn_only=before[1])),
    "Python's recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "what numpy does about overflow and division by 0": (np.geterr, lambda before: np.seterr(**before)),
    "torch's search for anomalies": (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda before: torch.autograd.set_detect_anomaly(*before)),
}


@contextlib.contextmanager
def restored(changed: list | None = None):
    """Whatever happens inside, an exception included, these are afterwards as they were before: what `data.pinning`
    lists of torch, its random state and number of threads, whether it must be deterministic, the random states of
    numpy and Python, the working directory, the environment, warnings' filters, the recursion limit, `sys.stdout` and
    `sys.stderr`, what an interrupt does, and every function and constant of the course, torch, numpy, `math`, `random`
    and `os`.

    Args:
        changed: a list that names, after the context, what had been set to something else. That random numbers were
            drawn is not named, that a seed was set is.

    Yields:
        That list.
    """
    threads = torch.get_num_threads()
    numpy_state = np.random.get_state()
    python_state = random.getstate()
    before = _settings()
    gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # to ask the others would start them
    changed = [] if changed is None else changed
    with _as_written(changed), kept(), torch.random.fork_rng(devices=gpus), contextlib.chdir(os.curdir), \
            _shallow(), _switches(changed), _environment(changed), _filters(changed), _streams(changed), \
            _interrupt(changed):
        try:
            yield changed
        finally:
            changed += [name for name, value in _settings().items() if before[name] != value]
            if torch.get_num_threads() != threads:
                torch.set_num_threads(threads)
            np.random.set_state(numpy_state)
            random.setstate(python_state)


def _settings():
    """{name: value} of what nobody sets by accident."""
    settings = {name: ask() for name, (ask, _, _) in zip(_NAMES, SETTINGS, strict=True)}
    return settings | {"torch's number of threads": torch.get_num_threads(),
                       "torch's seed": torch.initial_seed(),
                       "whether torch records gradients": torch.is_grad_enabled(),
                       "the working directory": os.getcwd()}


# -- each of them: a context that sets it back, and adds to `changed` what had been set to something else

@contextlib.contextmanager
def _switches(changed):
    before = {name: ask() for name, (ask, _) in _SWITCHES.items()}
    try:
        yield
    finally:
        for name, (ask, set_to) in _SWITCHES.items():
            if ask() != before[name]:
                set_to(before[name])
                changed.append(name)


@contextlib.contextmanager
def _shallow():
    """Python's recursion limit ends what calls itself for ever. Raised beyond the room that there is, it would not, and
    the process ends."""
    set_to, most = sys.setrecursionlimit, max(_DEEPEST, sys.getrecursionlimit())
    sys.setrecursionlimit = lambda limit: set_to(min(limit, most))
    try:
        yield
    finally:
        sys.setrecursionlimit = set_to


@contextlib.contextmanager
def _environment(changed):
    before, imported = dict(os.environ), len(sys.modules)
    try:
        yield
    finally:
        now = dict(os.environ)
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) == now.get(name):
                continue
            if name not in before and len(sys.modules) > imported and not name.startswith("WEIGHTSPACE_"):
                continue  # what is imported may set its own
            changed.append(f"the environment variable {name}")
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


@contextlib.contextmanager
def _filters(changed):
    filters, imported = list(warnings.filters), len(sys.modules)
    with warnings.catch_warnings():
        try:
            yield
        finally:
            if warnings.filters != filters and len(sys.modules) == imported:  # what is imported may bring its own
                changed.append("which warnings are shown")


@contextlib.contextmanager
def _streams(changed):
    before = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    try:
        yield
    finally:
        for name, stream in before.items():
            if getattr(sys, name) is not stream:
                setattr(sys, name, stream)
                changed.append(f"sys.{name}")


@contextlib.contextmanager
def _interrupt(changed):
    """Only Python's main thread may set it."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and before is not None and signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)
            changed.append("what an interrupt does")


# -- functions that were replaced by others ------------------------------------------------------------

@contextlib.contextmanager
def _as_written(changed):
    before, imported = [(home, dict(vars(home))) for home in _homes()], len(sys.modules)
    try:
        yield
    finally:
        more = len(sys.modules) > imported
        for home, names in before:
            changed += [f"{_name_of(home)}.{name}" for name in _set_back(home, names, more)]


def _homes():
    """The modules and classes whose functions and constants are everybody's."""
    return _homes_among(tuple(map(id, list(sys.modules.values()))))


@functools.lru_cache(1)  # every case of a check asks, and nothing was imported since
def _homes_among(imported):
    modules = [module for name, module in list(sys.modules.items())
               if (name in _THEIRS or _is_whole(name)) and isinstance(module, types.ModuleType)]
    classes = [one for module in modules if _is_whole(module.__name__) for one in list(vars(module).values())
               if isinstance(one, type) and _is_whole(one.__module__)]
    return [*modules, *dict.fromkeys([torch.Tensor, *classes])]


@functools.cache  # asked tens of thousands of times in a check
def _is_whole(name):
    return isinstance(name, str) and f"{name}.".startswith(_PREFIXES)


def _name_of(home):
    return home.__name__ if isinstance(home, types.ModuleType) else f"{home.__module__}.{home.__qualname__}"


def _set_back(home, before, imported):
    """The names in a module or class that were replaced or deleted, set back; and what hides an inherited function,
    taken away. Where something was `imported` meanwhile, a package may have replaced its own."""
    current = vars(home)
    if len(current) == len(before) and all(map(operator.is_, current.values(), before.values())):
        return []
    replaced = [name for name, value in before.items() if current.get(name) is not value and _is_fixed(name, value)
                and not (imported and name in current and _is_by_itself(home, current[name]))
                and not _is_wrapped_by_itself(home, value, current.get(name))]
    for name in replaced:
        setattr(home, name, before[name])
    hiding = [name for name in current.keys() - before.keys() if _hides(home, name)]
    for name in hiding:
        delattr(home, name)
    return replaced + hiding


def _is_fixed(name, value):
    """Functions and classes are, and public constants; a module may keep what it likes in a private name, and the
    streams are looked after elsewhere."""
    if name in ("stdout", "stderr", "_"):
        return False
    return callable(value) or isinstance(value, (types.ModuleType, property, staticmethod, classmethod)) \
        or not name.startswith("_") and isinstance(value, _CONSTANTS)


def _is_by_itself(home, value):
    package = home.__name__ if isinstance(home, types.ModuleType) else home.__module__
    return str(getattr(value, "__module__", "")).partition(".")[0] == package.partition(".")[0]


def _is_wrapped_by_itself(home, before, after):
    """torch wraps an optimiser's `step` when the first one of its class is made."""
    package = home.__name__ if isinstance(home, types.ModuleType) else home.__module__
    return getattr(after, "__wrapped__", None) is before \
        and str(getattr(after, "__globals__", {}).get("__name__")).partition(".")[0] == package.partition(".")[0]


def _hides(home, name):
    return isinstance(home, type) and any(callable(vars(base).get(name)) for base in home.__mro__[1:])
