"""A small transformer that reads a text and writes one, of T5's shape (Raffel et al. 2020): an encoder, and a decoder
that writes word by word."""
from collections.abc import Callable
from functools import lru_cache

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn

from data.asked import END, NUMBERS
from data.sentences import PADDING
from data.types import checked_whole
from toy_models.transformer import of_weights
from toy_models.weights import State

BUCKETS, FURTHEST = 32, 128  # of distances between places, as T5 has them
Stream = Float[Tensor, "samples places width"]


class TextToText(nn.Module):
    """An encoder and a decoder with the same words. Nothing has a bias but the scores of attention, which get one for
    the distance between two places; streams are divided by their root mean square before each part. As in T5, except
    that scores are divided by the root of a head's width and logits are not scaled: that is a matter of how the weights
    are drawn.

    Args:
        words: of the vocabulary, with the numbers that are no words.
        width: of both streams.
        blocks: of the encoder, and as many of the decoder.
        heads: of every attention; they divide the width.

    The state dict holds `embedding.weight` (words, width), which also gives the logits; `encoder.relative` (32, heads),
    a bias for every bucket of distances; `encoder.blocks.0.norm1.weight` (width), `encoder.blocks.0.attention.q.weight`
    (width, width), `….k…`, `….v…`, `….out…`, `encoder.blocks.0.norm2.weight`, `encoder.blocks.0.mlp.into.weight`
    (4·width, width), `encoder.blocks.0.mlp.out.weight`, …, `encoder.norm.weight`; and the same of `decoder`, whose
    blocks also have `norm3.weight` and `cross_attention.q.weight`, …, which reads what the encoder gives. Drawn in
    float64 and rounded, as MLP's.
    """

    def __init__(self, words: int = NUMBERS, width: int = 64, blocks: int = 2, heads: int = 4):
        super().__init__()
        width, heads = checked_whole("width", width, 1), checked_whole("heads", heads, 1)
        if width % heads:
            raise ValueError(f"heads must divide the width: {width} is no multiple of {heads}")
        blocks = checked_whole("blocks", blocks, 0)
        self.embedding = nn.Embedding(checked_whole("words", words, END + 1), width, dtype=torch.float64)
        self.encoder = _Stack(width, heads, blocks, writes=False)
        self.decoder = _Stack(width, heads, blocks, writes=True)
        nn.init.normal_(self.embedding.weight, std=0.05)
        self.float()

    @classmethod
    def from_state(cls, state: State) -> "TextToText":
        """The network that has these weights. Nothing is copied: it shares the tensors' memory.

        Raises:
            ValueError: the keys or shapes are not a TextToText's.
        """
        def build(state):
            words, width = state["embedding.weight"].shape
            blocks = {key.split(".")[2] for key in state if key.startswith("encoder.blocks.")}
            return cls(words, width, len(blocks), state["encoder.relative"].shape[1])

        return of_weights(state, build, "TextToText")

    @property
    def layer_names(self) -> list[str]:
        """The keys of `features`, in depth order."""
        return [*(f"{side} {i + 1}" for side in ("encoder", "decoder") for i in range(len(self.encoder.blocks))),
                "output"]

    def features(self, x: Float[Tensor, "samples length"]) -> dict[str, Float[Tensor, "samples ..."]]:
        """After every block of the encoder the mean over a text's words, without padding; after every block of the
        decoder the stream at its first place (samples, width), as CTL, B.1.2, has them of T5; and "output", the logits
        of an answer's first word (samples, words).
        """
        x = _checked(x)
        read = self._read(x)
        is_word = (x != PADDING).to(read[-1].dtype)[..., None]
        means = [(h * is_word).sum(1) / is_word.sum(1) for h in read[:-1]]
        written = self._write(x, read[-1], x.new_full((len(x), 1), PADDING))
        return dict(zip(self.layer_names, [*means, *(h[:, 0] for h in written[:-1]), self._logits(written[-1][:, 0])]))

    def forward(self, x: Float[Tensor, "samples length"],
                y: Int64[Tensor, "samples places"]) -> Float[Tensor, "samples places words"]:
        """Logits of every word of an answer, for which the words before it are given.

        Args:
            x: numbers of words, `PADDING` behind the last.
            y: numbers of the answers' words, `PADDING` behind the last.

        Raises:
            ValueError: x is no stack of texts, or one of them has no word.
        """
        return self._logits(self._decoded(x, y))

    def written(self, x: Float[Tensor, "samples length"],
                y: Int64[Tensor, "samples places"]) -> tuple[Float[Tensor, "written words"], Int64[Tensor, " written"]]:
        """The same logits where the answers have words and not padding, row by row; and these words' numbers."""
        y = y[:, (y != PADDING).any(0)]
        is_word = y != PADDING
        return self._logits(self._decoded(x, y)[is_word]), y[is_word]

    @torch.no_grad()
    def answer(self, x: Float[Tensor, "samples length"], length: int) -> Int64[Tensor, "samples {length}"]:
        """What the network writes: at every place the likeliest word after those before it, up to `END`, and `PADDING`
        behind it.

        Args:
            x: as for `forward`.
            length: of an answer at most, with its end.
        """
        x = _checked(x)
        memory = self._read(x)[-1]
        return greedy(lambda said: self._logits(self._write(x, memory, said)[-1][:, -1]), len(x), length)

    def _decoded(self, x, y):
        """The decoder's normalised stream; it begins with padding, as T5's, and then reads each answer but its last
        word."""
        x = _checked(x)
        return self._write(x, self._read(x)[-1], F.pad(y, (1, -1), value=PADDING))[-1]

    def _read(self, x):
        """The encoder's streams, normalised after the last."""
        is_hidden = torch.zeros(x.shape, dtype=self.embedding.weight.dtype).masked_fill(x == PADDING, -torch.inf)
        return self.encoder(self.embedding(x), is_hidden[:, None, None])

    def _write(self, x, memory, said):
        """The decoder's streams, normalised after the last, for answers that begin so."""
        is_hidden = torch.zeros(x.shape, dtype=memory.dtype).masked_fill(x == PADDING, -torch.inf)
        later = torch.full((said.shape[1],) * 2, -torch.inf, dtype=memory.dtype).triu(1)
        return self.decoder(self.embedding(said), later, memory, is_hidden[:, None, None])

    def _logits(self, h):
        return h @ self.embedding.weight.T


@torch.no_grad()
def greedy(logits: Callable[[Tensor], Tensor], count: int, length: int) -> Int64[Tensor, "{count} {length}"]:
    """The likeliest word after those before it, up to `END`, and `PADDING` behind it.

    Args:
        logits: what was written so far (count, places), padding first -> logits of the next word (count, words).
        count: how many answers.
        length: of an answer at most, with its end.
    """
    said = torch.full((count, 1 + checked_whole("length", length, 1)), PADDING)
    writes = torch.ones(count, dtype=torch.bool)
    for place in range(1, said.shape[1]):
        likeliest = logits(said[:, :place]).argmax(1)
        said[:, place] = likeliest.where(writes, PADDING)
        writes &= likeliest != END
        if not writes.any():
            break
    return said[:, 1:]


class _Stack(nn.Module):
    """Blocks, a bias for every bucket of distances that they share, and a norm behind them."""

    def __init__(self, width, heads, blocks, writes):
        super().__init__()
        self.writes = writes
        self.relative = nn.Parameter(torch.empty(BUCKETS, heads, dtype=torch.float64))
        self.blocks = nn.ModuleList(_Block(width, heads, writes) for _ in range(blocks))
        self.norm = _norm(width)
        nn.init.normal_(self.relative, std=0.1)

    def forward(self, h, hidden, memory=None, hidden_memory=None):
        """Streams: the first after the first block, the last normalised.

        Args:
            h: the stream.
            hidden: what is added to scores: −∞ where a place may not be looked at, 0 where it may.
            memory, hidden_memory: the same of the encoder, for a decoder.
        """
        places = _buckets(h.shape[1], not self.writes)
        bias = self.relative[places].permute(2, 0, 1) + hidden
        streams = []
        for block in self.blocks:
            h = block(h, bias, memory, hidden_memory)
            streams.append(h)
        return [*streams, self.norm(h)]


class _Block(nn.Module):
    """Attention, in a decoder attention to what the encoder gives, and two linear layers; each reads the normalised
    stream and adds to the stream."""

    def __init__(self, width, heads, writes):
        super().__init__()
        self.norm1, self.attention, self.norm2 = _norm(width), _Attention(width, heads), _norm(width)
        if writes:
            self.cross_attention, self.norm3 = _Attention(width, heads), _norm(width)
        self.mlp = nn.ModuleDict({"into": _linear(width, 4 * width), "out": _linear(4 * width, width)})

    def forward(self, h, bias, memory, hidden_memory):
        normalised = self.norm1(h)
        h = h + self.attention(normalised, normalised, bias)
        before_mlp = self.norm2
        if memory is not None:
            h = h + self.cross_attention(self.norm2(h), memory, hidden_memory)
            before_mlp = self.norm3
        return h + self.mlp["out"](F.relu(self.mlp["into"](before_mlp(h))))


class _Attention(nn.Module):
    """Attention of one stream to another, or to itself, with a bias added to the scores and none elsewhere."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (_linear(width, width) for _ in range(4))

    def forward(self, h, read, bias):
        q, k, v = (part(stream).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part, stream in ((self.q, h), (self.k, read), (self.v, read)))
        return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2))


def bucket(distance: Int[Tensor, "..."], both_ways: bool) -> Int64[Tensor, "..."]:
    """The bucket, 0 to 31, of a distance: the place that is looked at less the place that looks (T5's released code).

    Half of the buckets are for one distance each; the others widen, evenly in the logarithm, up to `FURTHEST`, and the
    last has all that is further.

    Args:
        distance: negative towards the text's beginning.
        both_ways: places behind have as many buckets of their own, in the encoder; in the decoder they count as 0.
    """
    count = BUCKETS // 2 if both_ways else BUCKETS
    first = torch.where(distance > 0, count, 0) if both_ways else 0
    far = distance.abs() if both_ways else (-distance).clamp(min=0)
    exact = count // 2
    wide = exact + (far.clamp(min=1).double() / exact).log2() / _LOG_OF[exact] * (count - exact)
    return first + torch.where(far < exact, far, wide.long().clamp(max=count - 1))


_LOG_OF = {exact: torch.tensor(FURTHEST / exact, dtype=torch.float64).log2() for exact in (BUCKETS // 4, BUCKETS // 2)}


@lru_cache(maxsize=64)
def _buckets(places, both_ways):
    """(places that look, places that are looked at)"""
    place = torch.arange(places)
    return bucket(place - place[:, None], both_ways)


def _norm(width):
    return nn.RMSNorm(width, eps=1e-6, dtype=torch.float64)


def _linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False, dtype=torch.float64)


def _checked(x):
    """x as whole numbers, without the columns in which every text has ended."""
    if x.ndim != 2:
        raise ValueError(f"texts must be (samples, numbers of words), not {tuple(x.shape)}")
    numbers = x.long()
    ends = (numbers != PADDING).sum(1)
    if len(x) and not ends.min():
        raise ValueError(f"text {int(ends.argmin())} has no word: a text without one is one unknown word")
    return numbers[:, :int(ends.max()) if len(x) else 0]
