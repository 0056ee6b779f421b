"""What it costs to choose a setting of a merge, such as CART's rank, on few held-out sentences."""
from jaxtyping import Float, Int
from torch import Tensor


def cost_of_choosing(right: Float[Tensor, "ranks sentences"], test: Float[Tensor, " tested"],
                     draws: Int[Tensor, "draws count"]) -> float:
    """How much accuracy on the test part is lost against the rank that is best there, on average over draws of held-out
    sentences: every draw chooses the rank that is best on it, of equally good ones the first.

    Args:
        right: 1 where the merge of this rank is right about the held-out sentence, else 0.
        test: accuracy of every rank on the test part. Its largest entry is chosen on the test part itself, so the cost
            is a little too large where test sentences are few.
        draws: numbers of the sentences of each draw; with replacement they stand for other sentences of the same kind
            (Efron 1979).

    Raises:
        ValueError: `right` and `test` are not of the same ranks, or a draw is empty.
    """
    if test.shape != right.shape[:1]:
        raise ValueError(f"right has {len(right)} ranks, and test has the shape {tuple(test.shape)}: one number a rank")
    if not draws.numel():
        raise ValueError("draws must hold at least one sentence each")
    best_of_draw = right[:, draws].mean(2).argmax(0)
    return (test.max() - test[best_of_draw].mean()).item()
