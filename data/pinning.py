"""What a notebook's cell set globally in torch stays out of what is loaded, trained and measured."""
import contextlib

import torch


@contextlib.contextmanager
def pinned():
    """A context, or as `@pinned()` a decorator, in which torch is as it was when it started; afterwards it is as the learner had it.

    That is the default dtype and device, gradients (on), autocast (off) and the precision of float32 products. The random state is not
    among them: loaders, recipes and experiments have generators of their own.
    """
    dtype, device, precision = torch.get_default_dtype(), torch.get_default_device(), torch.get_float32_matmul_precision()
    with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
        try:
            _set(torch.float32, torch.device("cpu"), "highest")
            yield
        finally:
            _set(dtype, device, precision)


def _set(dtype, device, precision):
    torch.set_default_dtype(dtype)
    torch.set_default_device(None if device == torch.device("cpu") else device)  # a set device costs time at every call
    torch.set_float32_matmul_precision(precision)
