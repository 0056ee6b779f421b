"""What a learner's function may set and must not leave behind: the state that torch, numpy and Python keep for the
whole process.
"""
import contextlib
import os
import random

import numpy as np
import torch

from data.pinning import kept


@contextlib.contextmanager
def restored():
    """Whatever happens inside, an exception included, these are afterwards as they were before: what `data.pinning`
    lists of torch, its random state and number of threads, the random states of numpy and Python, and the working
    directory.
    """
    threads = torch.get_num_threads()
    numpy_state = np.random.get_state()
    python_state = random.getstate()
    gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # to ask the others would start them
    with kept(), torch.random.fork_rng(devices=gpus), contextlib.chdir(os.curdir):
        try:
            yield
        finally:
            if torch.get_num_threads() != threads:
                torch.set_num_threads(threads)
            np.random.set_state(numpy_state)
            random.setstate(python_state)
