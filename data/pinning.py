"""What a notebook's cell set globally in torch stays out of what is loaded, trained and measured."""
import contextlib

import torch


def _set_device(device):
    torch.set_default_device(None if device == torch.device("cpu") else device)  # a set device costs time at every call


# what a cell can set for all of torch: how to ask for it, how to set it, and what torch starts with
SETTINGS = (
    (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    (torch.get_default_device, _set_device, torch.device("cpu")),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
)


@contextlib.contextmanager
def kept():
    """A context after which torch's `SETTINGS`, and whether it records gradients, are as they were before it."""
    before = [ask() for ask, _, _ in SETTINGS]
    with torch.set_grad_enabled(torch.is_grad_enabled()):
        try:
            yield
        finally:
            for (ask, set_to, _), value in zip(SETTINGS, before):
                if ask() != value:
                    set_to(value)


@contextlib.contextmanager
def pinned():
    """A context, or as `@pinned()` a decorator, in which torch is as it was when it started; afterwards it is as the
    learner had it.

    That is the default dtype and device, gradients (on), autocast (off) and the precision of float32 products. The
    random state is not among them: loaders, recipes and experiments have generators of their own.
    """
    with kept(), torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
        for _, set_to, start in SETTINGS:
            set_to(start)
        yield
