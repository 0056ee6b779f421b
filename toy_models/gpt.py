"""A small GPT that reads and writes characters (Radford et al. 2019, in the small form of karpathy/nanoGPT)."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from data.types import checked_whole


class _Attention(nn.Module):
    """Causal self-attention with so many heads; a query, key and value of its own for each."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, dtype=torch.float64) for _ in range(4))

    def forward(self, h):
        q, k, v = (part(h).unflatten(-1, (self.heads, -1)).transpose(-2, -3)
                   for part in (self.query, self.key, self.value))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(-2, -3).flatten(-2))


class _Block(nn.Module):
    """Attention and two linear layers, each adding to the stream what it makes of the normalised stream."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, dtype=torch.float64)
        self.attention = _Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, dtype=torch.float64)
        self.into = nn.Linear(width, 4 * width, dtype=torch.float64)
        self.out = nn.Linear(4 * width, width, dtype=torch.float64)

    def forward(self, h):
        h = h + self.attention(self.norm1(h))
        return h + self.out(F.gelu(self.into(self.norm2(h))))


class CharacterGPT(nn.Module):
    """A decoder that predicts the next character.

    Args:
        characters: how many there are.
        width: of the stream.
        heads: of every attention; they divide the width.
        blocks: how many.
        context: the longest text that it can read.

    The state dict holds `embedding.weight` (characters, width), `position` (context, width), `blocks.0.norm1.weight`,
    `blocks.0.attention.query.weight` (width, width), …, `blocks.0.into.weight` (4·width, width), …, `norm.weight`,
    `head.weight` (characters, width) and the biases. Drawn in float64 and rounded, as MLP's.
    """

    def __init__(self, characters: int, width: int = 64, heads: int = 4, blocks: int = 2, context: int = 64):
        super().__init__()
        width, heads = checked_whole("width", width, 1), checked_whole("heads", heads, 1)
        if width % heads:
            raise ValueError(f"heads must divide the width: {width} is no multiple of {heads}")
        self.embedding = nn.Embedding(characters, width, dtype=torch.float64)
        self.position = nn.Parameter(torch.zeros(context, width, dtype=torch.float64))
        self.blocks = nn.ModuleList(_Block(width, heads) for _ in range(checked_whole("blocks", blocks, 0)))
        self.norm = nn.LayerNorm(width, dtype=torch.float64)
        self.head = nn.Linear(width, characters, dtype=torch.float64)
        for parameter in (self.embedding.weight, self.position):
            nn.init.normal_(parameter, std=0.02)
        self.float()

    def forward(self, x: Tensor) -> Tensor:
        """Logits (samples, places, characters) of the character after each place.

        Args:
            x: (samples, places), numbers of characters, whole or floating-point; at most `context` places.

        Raises:
            ValueError: x has more places than that.
        """
        if x.shape[-1] > len(self.position):
            raise ValueError(f"a text of {x.shape[-1]} characters is longer than the context of {len(self.position)}")
        h = self.embedding(x.long()) + self.position[:x.shape[-1]]
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))
