"""The loss of pretraining by masked words (Devlin et al. 2019)."""
import torch.nn.functional as F
from jaxtyping import Bool, Float, Real
from torch import Tensor


def masked_loss(logits: Float[Tensor, "sentences places words"], x: Real[Tensor, "sentences places"],
                hidden: Bool[Tensor, "sentences places"]) -> Float[Tensor, ""]:
    """Cross-entropy in nats of the words that were hidden, the mean over these alone. The places that the network could
    read do not count.

    Args:
        logits: of every word of the vocabulary at every place.
        x: numbers of the words that stand there, before some were hidden.
        hidden: where that is.

    Raises:
        ValueError: nothing is hidden.
    """
    if not hidden.any():
        raise ValueError("hidden must be True at some place: without a hidden word there is nothing to guess")
    return F.cross_entropy(logits[hidden], x[hidden].long())
