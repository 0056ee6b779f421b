"""Attention of one image, without the four matrices around it."""
import torch
from jaxtyping import Float
from torch import Tensor


def attend(q: Float[Tensor, "places width"], k: Float[Tensor, "places width"], v: Float[Tensor, "places width"],
           heads: int) -> Float[Tensor, "places width"]:
    """What every place reads from all places, head by head: softmax(qkᵀ/√d)·v with d = width/heads (Vaswani et al.
    2017, Eq. 1).

    Args:
        q, k, v: what places ask for, are found by, and give; a head is a block of d neighbouring numbers of each.
        heads: how many; they divide the width.

    Raises:
        ValueError: they do not.
    """
    if q.shape[1] % heads:
        raise ValueError(f"heads must divide the width: {q.shape[1]} is no multiple of {heads}")
    q, k, v = (part.unflatten(1, (heads, -1)).transpose(0, 1) for part in (q, k, v))
    scores = q @ k.transpose(1, 2) / q.shape[2] ** 0.5
    return (torch.softmax(scores, 2) @ v).transpose(0, 1).flatten(1)
