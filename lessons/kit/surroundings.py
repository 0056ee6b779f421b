"""What a learner's function may set and must not leave behind: the state that torch, numpy and Python keep for the
whole process."""
import contextlib
import os
import random

import numpy as np
import torch


@contextlib.contextmanager
def restored():
    """Whatever happens inside, an exception included, these are afterwards as they were before: torch's default dtype,
    default device, random state, grad mode and number of threads, the random states of numpy and Python, and the
    working directory.
    """
    dtype, device, threads = torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()
    numpy_state, python_state = np.random.get_state(), random.getstate()
    gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # to ask the others would start them
    with torch.random.fork_rng(devices=gpus), torch.set_grad_enabled(torch.is_grad_enabled()), contextlib.chdir(os.curdir):
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)
            if torch.get_default_device() != device:
                # "cpu" by name would slow every call of torch
                torch.set_default_device(None if device.type == "cpu" else device)
            if torch.get_num_threads() != threads:
                torch.set_num_threads(threads)
            np.random.set_state(numpy_state)
            random.setstate(python_state)
