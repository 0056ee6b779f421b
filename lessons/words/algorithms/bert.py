"""BERT's encoder in plain torch, as functions of a state dict (Devlin et al. 2019): word pieces in, a vector out. A
layer is *post-norm*: what attention or the MLP gives is added to the stream, and then the sum is normalised.

Keys are those of the official files, with or without "bert." in front. What a file holds besides, a pooler or the head
that it was trained with, is not looked at.
"""
import re
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from data.types import checked_whole
from toy_models.weights import State

EPSILON = 1e-12  # of every layer norm
PREFIX = "bert."
PIECES, PLACES, TYPES = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type"))
ANY = -1  # a side of a tensor that the other tensors do not fix


def linear(state: State, name: str, x: Float[Tensor, "... n"]) -> Float[Tensor, "... m"]:
    """W·x + b with the weight and bias of that name."""
    return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def norm(state: State, name: str, x: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
    """Layer norm with the weight and bias of that name."""
    return F.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"], EPSILON)


def embedded(state: State, ids: Int[Tensor, "texts pieces"]) -> Float[Tensor, "texts pieces width"]:
    """What the first layer is given: every piece's vector and its position's, and that of the first sentence's type,
    added up and normalised.
    """
    h = F.embedding(ids, state[PIECES]) + state[PLACES][:ids.shape[1]] + state[TYPES][0]
    return norm(state, "embeddings.LayerNorm", h)


def attention(state: State, name: str, h: Float[Tensor, "texts pieces width"], mask: Bool[Tensor, "texts pieces"],
              heads: int) -> Float[Tensor, "texts pieces width"]:
    """softmax(QKᵀ/√d)·V in every head of d = width/heads. No piece looks at padding.

    Args:
        mask: True where a piece is, False where a row is filled.
    """
    queries, keys, values = (linear(state, f"{name}.{part}", h).unflatten(2, (heads, -1)).transpose(1, 2)
                             for part in ("query", "key", "value"))
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5  # (texts, heads, pieces that look, pieces that are looked at)
    weights = scores.masked_fill(~mask[:, None, None], float("-inf")).softmax(-1)
    return (weights @ values).transpose(1, 2).flatten(2)


def layer(state: State, number: int, h: Float[Tensor, "texts pieces width"], mask: Bool[Tensor, "texts pieces"],
          heads: int) -> Float[Tensor, "texts pieces width"]:
    """norm(h + attention(h)), then norm(h + MLP(h))."""
    name = f"encoder.layer.{number}"
    mixed = linear(state, f"{name}.attention.output.dense", attention(state, f"{name}.attention.self", h, mask, heads))
    h = norm(state, f"{name}.attention.output.LayerNorm", h + mixed)
    inner = F.gelu(linear(state, f"{name}.intermediate.dense", h))
    return norm(state, f"{name}.output.LayerNorm", h + linear(state, f"{name}.output.dense", inner))


def stream(state: State, ids: Int[Tensor, "texts pieces"], heads: int,
           pad: int = 0) -> Iterator[tuple[str, Float[Tensor, "texts pieces width"]]]:
    """("embedding", h), then ("layer 1", h), … in depth order, with a vector for every piece, padding included.

    Args:
        heads: of every attention; no key or shape says how many.
        pad: the number that fills short rows.

    Raises:
        ValueError: see `checked` and `checked_ids`.
    """
    state = checked(state, heads)
    mask = checked_ids(state, ids, pad)
    h = embedded(state, ids)
    yield "embedding", h
    for number in range(depth(state)):
        h = layer(state, number, h, mask, heads)
        yield f"layer {number + 1}", h


def mean(h: Float[Tensor, "texts pieces width"], mask: Bool[Tensor, "texts pieces"]) -> Float[Tensor, "texts width"]:
    """The mean over a text's pieces; padding does not count."""
    return h.masked_fill(~mask[..., None], 0).sum(1) / mask.sum(1, keepdim=True)


def features(state: State, ids: Int[Tensor, "texts pieces"], heads: int,
             pad: int = 0) -> dict[str, Float[Tensor, "texts width"]]:
    """{"embedding": …, "layer 1": …, …}, in depth order: the mean over every text's pieces, [CLS] and [SEP] among them.

    Args:
        ids: as `Pieces` writes them.
        heads, pad: see `stream`.

    Raises:
        ValueError: a key is missing or has another shape or dtype; `heads` does not divide the width; `ids` are no
            rows of numbers that the encoder knows.
    """
    return {name: mean(h, ids != pad) for name, h in stream(state, ids, heads, pad)}


def pooled(state: State, ids: Int[Tensor, "texts pieces"], heads: int, pad: int = 0) -> Float[Tensor, "texts width"]:
    """The last of the `features`: a text's vector. Sentence encoders compare such vectors by their cosine."""
    for _, h in stream(state, ids, heads, pad):
        last = h
    return mean(last, ids != pad)


# -- what can be wrong -------------------------------------------------------------------------------------------------

def depth(state: State) -> int:
    """How many layers the keys tell of, at least one."""
    numbers = [int(match[1]) for key in state if (match := re.match(r"encoder\.layer\.(\d{1,4})\.", key))]
    return max(numbers, default=0) + 1


def shapes(width: int, mlp: int, layers: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """(key, shape) of all that the forward pass reads.

    Args:
        mlp: units between an MLP's two matrices.
    """
    for table in (PIECES, PLACES, TYPES):
        yield table, (ANY, width)
    norms, matrices = ["embeddings.LayerNorm"], []
    for number in range(layers):
        name = f"encoder.layer.{number}"
        matrices += [(f"{name}.attention.self.{part}", (width, width)) for part in ("query", "key", "value")]
        matrices += [(f"{name}.attention.output.dense", (width, width)), (f"{name}.intermediate.dense", (mlp, width)),
                     (f"{name}.output.dense", (width, mlp))]
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
    for name, shape in [*((name, (width,)) for name in norms), *matrices]:
        yield f"{name}.weight", shape
        yield f"{name}.bias", shape[:1]


def checked(state: State, heads: int) -> dict[str, Tensor]:
    """The state dict with keys that begin as in the official file.

    Raises:
        ValueError: a key is missing, or has another shape or dtype, or `heads` does not divide the width. Names it.
    """
    prefix = PREFIX if f"{PREFIX}{PIECES}" in state else ""
    plain = {key.removeprefix(prefix): tensor for key, tensor in state.items() if key.startswith(prefix)}
    _check(plain, prefix, PIECES, (ANY, ANY))
    width, dtype = plain[PIECES].shape[1], plain[PIECES].dtype
    first = "encoder.layer.0.intermediate.dense.weight"
    _check(plain, prefix, first, (ANY, width))
    for key, shape in shapes(width, len(plain[first]), depth(plain)):
        _check(plain, prefix, key, shape)
        if plain[key].dtype != dtype or not dtype.is_floating_point:
            raise ValueError(f"{prefix}{key} is {plain[key].dtype} and {prefix}{PIECES} is {dtype}: all must be of one "
                             "floating-point dtype")
    if width % checked_whole("heads", heads, 1):
        raise ValueError(f"heads must divide the width: {width} is no multiple of {heads}")
    return plain


def _check(state, prefix, key, wanted):
    if key not in state:
        names = ", ".join(list(state)[:4]) or "none"
        raise ValueError(f"{prefix}{key} is missing: these are not all the weights of a BERT encoder. Keys: {names} …")
    shape = tuple(state[key].shape)
    if len(shape) != len(wanted) or not all(side and due in (ANY, side) for side, due in zip(shape, wanted)):
        due = str(wanted).replace(str(ANY), "any")
        raise ValueError(f"{prefix}{key} has the shape {shape}, where {due} is due")


def checked_ids(state: State, ids: Int[Tensor, "texts pieces"], pad: int) -> Bool[Tensor, "texts pieces"]:
    """True where a piece is, False where a row is filled.

    Raises:
        ValueError: `ids` are no rows of whole numbers; a number is not one of the vocabulary; a row is longer than the
            encoder's positions, or has no piece at all.
    """
    if ids.ndim != 2 or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"ids must be whole numbers (texts, pieces), not {ids.dtype} of shape {tuple(ids.shape)}")
    vocabulary, places = len(state[PIECES]), len(state[PLACES])
    if ids.shape[1] > places:
        raise ValueError(f"the texts have {ids.shape[1]:,} pieces, and the encoder knows {places:,} positions: cut the "
                         f"texts to length={places}")
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < vocabulary:
        raise ValueError(f"ids must be from 0 to {vocabulary - 1:,}, not from {int(ids.min()):,} to "
                         f"{int(ids.max()):,}: are vocabulary and weights of one model?")
    mask = ids != pad
    if not mask.any(1).all():
        raise ValueError(f"ids[{int(mask.any(1).int().argmin())}] has no piece, only what fills a row ({pad})")
    return mask
