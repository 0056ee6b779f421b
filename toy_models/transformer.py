"""What transformers of images and of sentences share (Vaswani et al. 2017): blocks that normalise before each part, and
how a network is made of its weights."""
from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from toy_models.weights import State

Network = TypeVar("Network", bound=nn.Module)


def of_weights(state: State, build: Callable[[State], Network], name: str) -> Network:
    """The network that has these weights. Nothing is copied: it shares the tensors' memory.

    Args:
        state: the weights.
        build: state -> a network of their shapes, whose own weights are not drawn.
        name: of the kind of network, for errors.

    Raises:
        ValueError: the keys or shapes are not such a network's.
    """
    try:
        with torch.device("meta"):  # no weights are drawn, only to be replaced
            network = build(state)
        network.load_state_dict({key: tensor.detach() for key, tensor in state.items()}, assign=True)
    except (KeyError, RuntimeError, ValueError) as error:
        keys = ", ".join(list(state)[:6])
        raise ValueError(f"these are not the weights of a {name}: {error}. Keys: {keys} …") from None
    return network.eval().requires_grad_(False)


def blocks_in(state: State) -> int:
    """How many blocks these weights have."""
    return len({key.split(".")[1] for key in state if key.startswith("blocks.")})


class Attention(nn.Module):
    """Self-attention with so many heads; every place looks at every other.

    Args:
        width: of the stream.
        heads: they divide the width.
        key_bias: whether keys have a bias. It changes nothing, because it adds the same number to all scores of a
            query. So its gradient is rounding alone, and where it starts at 0, Adam's steps are made of rounding.
    """

    def __init__(self, width: int, heads: int, key_bias: bool = True):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=has_bias, dtype=torch.float64)
                                            for has_bias in (True, key_bias, True, True))

    def forward(self, h: Float[Tensor, "samples places width"],
                is_read: Bool[Tensor, "samples places"] | None = None) -> Float[Tensor, "samples places width"]:
        """What all heads read, put together again.

        Args:
            h: the stream, normalised.
            is_read: which places may be looked at; None for all.
        """
        q, k, v = (part(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        read = F.scaled_dot_product_attention(q, k, v, attn_mask=None if is_read is None else is_read[:, None, None])
        return self.out(read.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and two linear layers; each reads the normalised stream and adds to the stream.

    Args:
        width, heads, key_bias: as for `Attention`.
    """

    def __init__(self, width: int, heads: int, key_bias: bool = True):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, dtype=torch.float64)
        self.attention = Attention(width, heads, key_bias)
        self.norm2 = nn.LayerNorm(width, dtype=torch.float64)
        self.mlp = nn.ModuleDict({"into": nn.Linear(width, 4 * width, dtype=torch.float64),
                                  "out": nn.Linear(4 * width, width, dtype=torch.float64)})

    def forward(self, h: Float[Tensor, "samples places width"],
                is_read: Bool[Tensor, "samples places"] | None = None) -> Float[Tensor, "samples places width"]:
        """The stream after this block.

        Args:
            h: the stream before it.
            is_read: which places may be looked at; None for all.
        """
        h = h + self.attention(self.norm1(h), is_read)
        return h + self.mlp["out"](F.gelu(self.mlp["into"](self.norm2(h))))
