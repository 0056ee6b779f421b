"""Exercises about the small ViT: patches, attention, and what CART keeps of it."""
import math

import torch
import torch.nn.functional as F

from lessons.kit.exercise import Exercise, Wrong
from lessons.vit.algorithms import attention, matrices
from toy_models import tiny_vit

# -- cases -----------------------------------------------------------------------------------------


def _images():
    """Of other heights than widths, so that rows and columns cannot be mistaken for each other."""
    return [(torch.arange(float(count * height * width)).view(count, height, width), side)
            for count, height, width, side in ((1, 4, 6, 2), (2, 6, 4, 2), (3, 8, 12, 4), (2, 6, 9, 3))]


def _streams():
    generator = torch.Generator().manual_seed(0)
    cases = []
    for tokens, width, heads in ((5, 6, 2), (4, 8, 4), (3, 4, 1), (7, 12, 3)):
        parts = torch.randn(3, tokens, width, generator=generator, dtype=torch.float64)
        cases.append((*parts, heads))
    return cases


def _tensors():
    """Names and shapes as they stand in a checkpoint of width 64, and one share of the rank."""
    return [("position", (17, 64), 0.08), ("patch.weight", (64, 49), 0.08), ("head.weight", (20, 64), 0.5),
            ("blocks.0.attention.q.weight", (64, 64), 0.08), ("blocks.0.attention.q.bias", (64,), 0.08),
            ("blocks.1.attention.qkv.weight", (192, 64), 0.08), ("blocks.1.attention.qkv.bias", (192,), 0.16),
            ("blocks.2.mlp.into.weight", (256, 64), 0.12), ("blocks.2.mlp.out.weight", (64, 256), 0.16),
            ("blocks.3.mlp.out.bias", (64,), 1.0), ("blocks.3.norm1.weight", (64,), 0.32), ("token", (64,), 0.08)]


# -- wrong answers with a family likeness ----------------------------------------------------------

def _cut(x, side):
    return x.reshape(len(x), x.shape[1] // side, side, x.shape[2] // side, side)


def _ordered(*order):
    """Patches whose axes (sample, row, pixel's row, column, pixel's column) come in another order."""
    return lambda x, side: _cut(x, side).permute(*order).reshape(len(x), -1, side * side)


def _heads(part, heads):
    return part.unflatten(1, (heads, -1)).transpose(0, 1)


def _scores(q, k, heads, scale=None):
    q, k = _heads(q, heads), _heads(k, heads)
    return q @ k.transpose(1, 2) / (q.shape[2] ** 0.5 if scale is None else scale)


def _attended(scale=None, dim=2):
    """Attention with another scale, (width, heads) -> number, or a softmax along another dimension."""
    def answer(q, k, v, heads):
        scores = _scores(q, k, heads, scale and scale(q.shape[1], heads))
        return (torch.softmax(scores, dim) @ _heads(v, heads)).transpose(0, 1).flatten(1)
    return answer


def _unjoined(finish):
    """Attention whose heads, (heads, tokens, d), are put together otherwise."""
    return lambda q, k, v, heads: finish(torch.softmax(_scores(q, k, heads), 2) @ _heads(v, heads))


def _strided(q, k, v, heads):
    q, k, v = (part.unflatten(1, (-1, heads)).permute(2, 0, 1) for part in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).permute(1, 2, 0).flatten(1)


def _kept(chosen=lambda key, shape: len(shape) > 1 and _named(key), of=lambda key, shape: min(shape), rounded=math.ceil,
          otherwise=lambda shape: 0):
    def answer(key, shape, rank_ratio):
        return rounded(rank_ratio * of(key, shape)) if chosen(key, shape) else otherwise(shape)
    return answer


def _named(key):
    return "attention" in key or "mlp" in key


# -- the solutions that are shown ------------------------------------------------------------------

def to_patches(x, side):
    rows, columns = x.shape[1] // side, x.shape[2] // side
    cut = x.reshape(len(x), rows, side, columns, side)
    return cut.transpose(2, 3).reshape(len(x), rows * columns, side * side)


def attend(q, k, v, heads):
    q, k, v = (part.unflatten(1, (heads, -1)).transpose(0, 1) for part in (q, k, v))
    scores = q @ k.transpose(1, 2) / q.shape[2] ** 0.5
    return (scores.softmax(2) @ v).transpose(0, 1).flatten(1)


def directions(key, shape, rank_ratio):
    if len(shape) < 2 or not ("attention" in key or "mlp" in key):
        return 0
    return math.ceil(rank_ratio * min(shape))


# -- exercises -------------------------------------------------------------------------------------

_SCALED = "The scores are not scaled right: "

EXERCISES = [
    Exercise(
        "12.1", "an image in patches", 7, tiny_vit.patches,
        teaching=to_patches,
        cases=_images,
        wrong=[
            Wrong(_ordered(0, 1, 2, 3, 4),
                  "A reshape alone cuts every image into strips of neighbouring pixels in a row. Give the squares' "
                  "rows and columns axes of their own, and exchange two of them before you flatten."),
            Wrong(_ordered(0, 3, 1, 2, 4),
                  "The squares come column by column. As one reads: the first row of squares from left to right, then "
                  "the next row."),
            Wrong(_ordered(0, 1, 3, 4, 2),
                  "Within a square the pixels come column by column. They too are read row by row."),
            Wrong(_ordered(0, 3, 1, 4, 2),
                  "You have exchanged rows and columns of the whole image: squares and pixels come column by column."),
            Wrong(lambda x, side: _cut(x, side).permute(0, 1, 3, 2, 4).flatten(1, 2),
                  "Each square should be one row of numbers, (samples, patches, pixels): flatten the last two axes."),
            Wrong(lambda x, side: _cut(x, side).permute(0, 1, 3, 2, 4).flatten(3),
                  "Right squares, but the grid of squares is still a grid: a transformer wants one list of patches."),
            Wrong(lambda x, side: F.unfold(x[:, None], side).transpose(1, 2),
                  "Your squares overlap: unfold moves by one pixel unless you give it stride=side."),
            Wrong(lambda x, side: F.unfold(x[:, None], side, stride=side),
                  "The axes of patches and pixels are exchanged: unfold gives (samples, pixels, patches)."),
            Wrong(lambda x, side: torch.stack(list(to_patches(x, side).unbind(1))),
                  "Samples come first: (samples, patches, pixels)."),
            Wrong(lambda x, side: F.avg_pool2d(x[:, None], side).flatten(2).transpose(1, 2),
                  "You averaged each square. A patch keeps all its pixels; the matrix behind it decides what matters."),
        ],
        hints=["Five axes: sample, row of squares, row in the square, column of squares, column in the square.",
               "Which two have to be exchanged, so that a square's own two axes stand side by side at the end?",
               "x.reshape(len(x), rows, side, columns, side).transpose(2, 3).reshape(len(x), rows * columns, -1)"],
        praise="Sixteen patches an image. Multiplied by one matrix, they are what a convolution with stride gives, "
               "which is how CLIP keeps that matrix."),

    Exercise(
        "12.2", "attention with heads", 9, attention.attend,
        teaching=attend,
        cases=_streams,
        wrong=[
            Wrong(_attended(lambda width, heads: 1.0),
                  "The scores are not scaled: divide by √d, where d is how many numbers a head has."),
            Wrong(_attended(lambda width, heads: width ** 0.5),
                  "You divide by the root of the whole width. A score is a sum over one head's d numbers: √d."),
            Wrong(_attended(lambda width, heads: width / heads),
                  _SCALED + "divide by its root √d, not by d. A sum of d products of size 1 is about √d."),
            Wrong(_attended(lambda width, heads: heads ** 0.5),
                  _SCALED + "√d with d = width/heads, how many numbers a head has, not how many heads there are."),
            Wrong(_attended(dim=1),
                  "Your softmax runs over the queries. For each query the weights over all keys sum to 1: the last "
                  "axis."),
            Wrong(_attended(dim=0),
                  "Your softmax runs over the heads. For each query the weights over all keys sum to 1."),
            Wrong(lambda q, k, v, heads: (q @ k.T / (q.shape[1] / heads) ** 0.5).softmax(1) @ v,
                  "All numbers went into one product: that is one head. Split the width into `heads` blocks first."),
            Wrong(lambda q, k, v, heads: (q @ k.T / q.shape[1] ** 0.5).softmax(1) @ v,
                  "All numbers went into one product: that is a single head. Split the width into `heads` blocks "
                  "first."),
            Wrong(lambda q, k, v, heads: (_scores(q, k, heads) @ _heads(v, heads)).transpose(0, 1).flatten(1),
                  "There is no softmax: scores are not weights until they are positive and sum to 1."),
            Wrong(lambda q, k, v, heads: attend(k, q, v, heads),
                  "You have exchanged queries and keys: a row of q asks, the rows of k answer."),
            Wrong(_unjoined(lambda read: read),
                  "Put the heads side by side again: (tokens, width)."),
            Wrong(_unjoined(lambda read: read.mean(0)),
                  "You averaged the heads. They stand side by side: (tokens, width)."),
            Wrong(_unjoined(lambda read: read.sum(0)),
                  "You added the heads up. They stand side by side: (tokens, width)."),
            Wrong(_unjoined(lambda read: read.reshape(read.shape[1], -1)),
                  "Before you flatten, bring the heads behind the tokens: transpose(0, 1)."),
            Wrong(_strided,
                  "A head is a block of neighbouring numbers, unflatten(1, (heads, -1)). You took every heads-th one."),
            Wrong(lambda q, k, v, heads: F.scaled_dot_product_attention(
                *(_heads(part, heads) for part in (q, k, v)), is_causal=True).transpose(0, 1).flatten(1),
                "A token here may attend to every other. Only in language models a token may not attend to later "
                "ones."),
        ],
        hints=["Split each of q, k and v: z.unflatten(1, (heads, -1)).transpose(0, 1) is (heads, tokens, d).",
               "Scores q @ kᵀ/√d, a softmax along the last axis, then @ v.",
               "Back: .transpose(0, 1).flatten(1)"],
        praise="Here different tokens are multiplied with each other, q with k and the weights with v, and all of "
               "these depend on the network's weights and on the image. So it is not obvious that features should add "
               "up."),

    Exercise(
        "12.3", "what does CART keep?", 6, matrices.kept_by_name,
        teaching=directions,
        cases=_tensors,
        wrong=[
            Wrong(_kept(chosen=lambda key, shape: len(shape) > 1),
                  "That decides by the number of dimensions, as the course's own methods do. The released code asks "
                  "for names: positions, patches and heads have two dimensions, and are averaged."),
            Wrong(_kept(chosen=lambda key, shape: _named(key)),
                  "A bias has one dimension: it is no matrix, whatever its name."),
            Wrong(_kept(of=lambda key, shape: max(shape)),
                  "A matrix has only as many singular values as its smaller side is long."),
            Wrong(_kept(of=lambda key, shape: shape[0]),
                  "A matrix has only as many singular values as its smaller side is long, and that is not always the "
                  "first."),
            Wrong(_kept(of=lambda key, shape: shape[-1]),
                  "A matrix has only as many singular values as its smaller side is long, and that is not always the "
                  "last."),
            Wrong(_kept(rounded=int),
                  "Round up, as the paper does: ⌈γ·min(m, n)⌉. The released code rounds down, to at least one."),
            Wrong(_kept(rounded=round), "Round up, not to the nearest: ⌈γ·min(m, n)⌉."),
            Wrong(_kept(rounded=float), "Round up to a whole number: ⌈γ·min(m, n)⌉ directions."),
            Wrong(_kept(chosen=lambda key, shape: len(shape) > 1 and "attention" in key),
                  "The MLPs' matrices are truncated too."),
            Wrong(_kept(chosen=lambda key, shape: len(shape) > 1 and "mlp" in key),
                  "Attention's matrices are truncated too."),
            Wrong(_kept(of=lambda key, shape: (3 if "qkv" in key else 1) * min(shape)),
                  "Fused, q, k and v are one matrix, and share its directions: as many as one of them has alone."),
            Wrong(lambda key, shape, rank_ratio: (3 if "qkv" in key else 1) * directions(key, shape, rank_ratio),
                  "Fused, q, k and v are one matrix and share its directions. Nobody counts them three times."),
            Wrong(_kept(of=lambda key, shape: math.prod(shape)),
                  "That is a share of the entries. The rank is a share of the singular values, min(m, n)."),
            Wrong(_kept(otherwise=min), "What is not truncated is averaged: no direction of any task is kept."),
        ],
        hints=["Two conditions: a name with “attention” or “mlp” in it, and two dimensions or more. Else 0.",
               "A matrix (m, n) has min(m, n) singular values.",
               "math.ceil(rank_ratio * min(shape))"],
        praise="So with the same γ, q, k and v fused keep a third of the directions that they keep apart. Whether that "
               "shows is measured below."),
]
