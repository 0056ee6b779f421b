"""torchvision, importable also beside a torch without its compiled operators.

A CPU-only torch next to a torchvision that was built for CUDA fails on import with "operator torchvision::nms does not
exist" (pytorch/vision issues 9077 and 9085). The course uses no detection operator, so it is enough to declare the two
that are asked for.
"""
import sys

import torch

try:
    import torchvision
except RuntimeError as error:
    if "torchvision::" not in str(error):
        raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    _library = torch.library.Library("torchvision", "FRAGMENT")  # kept alive: the declarations go with it
    for _operator in ("nms", "qnms"):
        _library.define(f"{_operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

__all__ = ["torchvision"]
