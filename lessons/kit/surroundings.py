"""What a learner's function may set and must not leave behind: the state that torch, numpy and Python keep for the
whole process.
"""
import contextlib
import os
import random

import numpy as np
import torch

from data.pinning import SETTINGS, kept

_NAMES = ("torch's default dtype", "torch's default device", "the precision of float32 products")  # of SETTINGS


@contextlib.contextmanager
def restored():
    """Whatever happens inside, an exception included, these are afterwards as they were before: what `data.pinning`
    lists of torch, its random state and number of threads, the random states of numpy and Python, and the working
    directory.

    Yields:
        A list that names, after the context, what had been set to something else. That random numbers were drawn is
        not named, that a seed was set is.
    """
    threads = torch.get_num_threads()
    numpy_state = np.random.get_state()
    python_state = random.getstate()
    before = _settings()
    gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # to ask the others would start them
    changed = []
    with kept(), torch.random.fork_rng(devices=gpus), contextlib.chdir(os.curdir):
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
