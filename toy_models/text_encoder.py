"""A small transformer that reads sentences, is pretrained by guessing masked words (Devlin et al. 2019), and answers
for a sentence as a whole.
"""
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from data.sentences import ALL_CLASSES, PADDING
from data.types import checked_whole
from toy_models.transformer import Block, blocks_in, of_weights


class TextEncoder(nn.Module):
    """An encoder of sentences, and a head with the classes of all tasks side by side.

    Args:
        words: of the vocabulary.
        width: of the stream.
        blocks: how many.
        heads: of every attention; they divide the width.
        length: the longest sentence that it can read.
        num_classes: outputs.

    The state dict holds `embedding.weight` (words, width), `position` (length, width), `blocks.0.norm1.weight`,
    `blocks.0.attention.q.weight` (width, width), `….k…` without a bias, `….v…`, `….out…`, `blocks.0.mlp.into.weight`
    (4·width, width), `blocks.0.mlp.out.weight`, …, `norm.weight`, the biases, `guess` (words), the bias of the guesses,
    and `head.weight` (classes, width). Drawn in float64 and rounded, as MLP's.
    """

    def __init__(self, words: int = 8000, width: int = 64, blocks: int = 2, heads: int = 4, length: int = 32,
                 num_classes: int = ALL_CLASSES):
        super().__init__()
        width, heads = checked_whole("width", width, 1), checked_whole("heads", heads, 1)
        if width % heads:
            raise ValueError(f"heads must divide the width: {width} is no multiple of {heads}")
        words = checked_whole("words", words, 1)
        self.embedding = nn.Embedding(words, width, dtype=torch.float64)
        self.position = nn.Parameter(torch.empty(checked_whole("length", length, 1), width, dtype=torch.float64))
        blocks = checked_whole("blocks", blocks, 0)
        self.blocks = nn.ModuleList(Block(width, heads, key_bias=False) for _ in range(blocks))
        self.norm = nn.LayerNorm(width, dtype=torch.float64)
        self.guess = nn.Parameter(torch.zeros(words, dtype=torch.float64))
        self.head = nn.Linear(width, checked_whole("num_classes", num_classes, 1), dtype=torch.float64)
        nn.init.normal_(self.embedding.weight, std=0.05)
        nn.init.normal_(self.position, std=0.02)
        self.float()

    @classmethod
    def from_state(cls, state: dict[str, Tensor], heads: int = 4) -> "TextEncoder":
        """The network that has these weights. Nothing is copied: it shares the tensors' memory.

        Args:
            state: the weights.
            heads: of every attention; shapes do not tell it.

        Raises:
            ValueError: the keys or shapes are not a TextEncoder's.
        """
        def build(state):
            words, width = state["embedding.weight"].shape
            return cls(words, width, blocks_in(state), heads, len(state["position"]), len(state["head.weight"]))

        return of_weights(state, build, "TextEncoder")

    @property
    def layer_names(self) -> list[str]:
        """The keys of `features`, in depth order."""
        return ["embedding", *(f"block {i + 1}" for i in range(len(self.blocks))), "pooled", "output"]

    def streams(self, x: Float[Tensor, "samples length"]) -> list[Float[Tensor, "samples places width"]]:
        """The stream after the embedding and after every block, as long as the longest sentence, and normalised after
        the last.

        Args:
            x: numbers of words, `PADDING` behind the last.

        Raises:
            ValueError: x is no stack of sentences that it can read, or one of them has no word.
        """
        x = self._checked(x)
        is_word = x != PADDING
        h = [self.embedding(x) + self.position[:x.shape[1]]]
        for block in self.blocks:
            h.append(block(h[-1], is_word))
        return [*h, self.norm(h[-1])]

    def features(self, x: Float[Tensor, "samples length"]) -> dict[str, Float[Tensor, "samples ..."]]:
        """The mean over a sentence's words, without padding, of each of `streams`, (samples, width), the last of which
        is "pooled"; and "output", the logits (samples, classes).
        """
        features = {name: mean_of_words(h, x) for name, h in zip(self.layer_names, self.streams(x))}
        features["output"] = self.head(features["pooled"])
        return features

    def guesses(self, x: Float[Tensor, "samples length"],
                asked: Bool[Tensor, "samples length"]) -> Float[Tensor, "guesses words"]:
        """Logits of the words at the places that are asked about, row by row: the product of the normalised stream with
        every word's embedding, and a bias a word."""
        h = self.streams(x)[-1]
        return h[asked[:, :h.shape[1]]] @ self.embedding.weight.T + self.guess

    def forward(self, x: Float[Tensor, "samples length"]) -> Float[Tensor, "samples classes"]:
        """Logits."""
        return self.features(x)["output"]

    def _checked(self, x):
        """x as whole numbers, without the columns in which every sentence has ended."""
        if x.ndim != 2 or x.shape[1] > len(self.position):
            raise ValueError(f"sentences must be (samples, at most {len(self.position)} numbers of words), "
                             f"not {tuple(x.shape)}")
        numbers = x.long()
        ends = (numbers != PADDING).sum(1)
        if len(x) and not ends.min():
            raise ValueError(f"sentence {int(ends.argmin())} has no word: a sentence without one is one unknown word")
        return numbers[:, :int(ends.max()) if len(x) else 0]


def mean_of_words(h: Float[Tensor, "samples places width"],
                  x: Float[Tensor, "samples length"]) -> Float[Tensor, "samples width"]:
    """The mean of a stream over the words of each sentence, without padding.

    Args:
        h: the stream.
        x: numbers of words, of at least as many places.
    """
    is_word = (x[:, :h.shape[1]] != PADDING).to(h.dtype)
    return (h * is_word[..., None]).sum(1) / is_word.sum(1, keepdim=True)
