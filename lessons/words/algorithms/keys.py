"""Why keys need no bias: it changes all scores of a query alike, and the softmax of each query takes that out."""
from jaxtyping import Float
from torch import Tensor


def scores(q: Float[Tensor, "queries d"], k: Float[Tensor, "keys d"], b_q: Float[Tensor, " d"],
           b_k: Float[Tensor, " d"]) -> Float[Tensor, "queries keys"]:
    """(q + b_q)·(k + b_k)/√d of one head, before the softmax.

    Args:
        q, k: without their biases.
    """
    return (q + b_q) @ (k + b_k).T / q.shape[1] ** 0.5


def shift(q: Float[Tensor, "queries d"], k: Float[Tensor, "keys d"], b_q: Float[Tensor, " d"],
          b_k: Float[Tensor, " d"]) -> Float[Tensor, "queries keys"]:
    """By how much the keys' bias changes every score, (q + b_q)·b_k/√d: the same number for all keys. So the weights of
    attention do not change, and the gradient of b_k is 0 (but for rounding) whatever is trained.
    """
    return ((q + b_q) @ b_k / q.shape[1] ** 0.5)[:, None].repeat(1, len(k))
