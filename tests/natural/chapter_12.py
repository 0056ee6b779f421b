"""Answers to the exercises of chapter 12, about the small ViT, written from the tasks' texts before the known wrong
answers were.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.natural import Natural

# -- 12.1 to_patches -------------------------------------------------------------------------------


def viewed(x, side):
    return x.reshape(len(x), -1, side * side)


def axes_left(x, side):
    cut = x.reshape(len(x), x.shape[1] // side, side, x.shape[2] // side, side)
    return cut.flatten(1, 2).flatten(2).reshape(len(x), -1, side * side)


def columns_first(x, side):
    cut = x.reshape(len(x), x.shape[1] // side, side, x.shape[2] // side, side)
    return cut.permute(0, 3, 1, 2, 4).reshape(len(x), -1, side * side)


def pixels_by_column(x, side):
    cut = x.reshape(len(x), x.shape[1] // side, side, x.shape[2] // side, side)
    return cut.permute(0, 1, 3, 4, 2).reshape(len(x), -1, side * side)


def both_turned(x, side):
    return right_by_cut(x.transpose(1, 2), side)


def right_by_cut(x, side):
    cut = x.reshape(len(x), x.shape[1] // side, side, x.shape[2] // side, side)
    return cut.permute(0, 1, 3, 2, 4).reshape(len(x), -1, side * side)


def squares_kept(x, side):
    cut = x.reshape(len(x), x.shape[1] // side, side, x.shape[2] // side, side)
    return cut.permute(0, 1, 3, 2, 4).flatten(1, 2)


def grid_kept(x, side):
    cut = x.reshape(len(x), x.shape[1] // side, side, x.shape[2] // side, side)
    return cut.permute(0, 1, 3, 2, 4).flatten(3)


def every_place(x, side):
    return F.unfold(x[:, None], side).transpose(1, 2)


def pixels_before_places(x, side):
    return F.unfold(x[:, None], side, stride=side)


def first_row_only(x, side):
    return torch.stack([x[:, :side, c:c + side].flatten(1) for c in range(0, x.shape[2], side)], 1)


def averaged(x, side):
    return F.avg_pool2d(x[:, None], side).flatten(2).transpose(1, 2)


def square_grid(x, side):
    n = x.shape[1] // side
    cut = x.reshape(len(x), n, side, -1, side).permute(0, 1, 3, 2, 4)
    return cut.reshape(len(x), n * n, -1)


def by_loops(x, side):
    found = []
    for r in range(0, x.shape[1], side):
        for c in range(0, x.shape[2], side):
            found.append(x[:, r:r + side, c:c + side].flatten(1))
    return torch.stack(found, 1)


def loops_columns_outside(x, side):
    found = []
    for c in range(0, x.shape[2], side):
        for r in range(0, x.shape[1], side):
            found.append(x[:, r:r + side, c:c + side].flatten(1))
    return torch.stack(found, 1)


def stacked_in_front(x, side):
    return torch.stack(list(by_loops(x, side).unbind(1)))


def by_unfold(x, side):
    return F.unfold(x[:, None], side, stride=side).transpose(1, 2)


def by_tensor_unfold(x, side):
    return x.unfold(1, side, side).unfold(2, side, side).flatten(3).flatten(1, 2)


# -- 12.2 attend -----------------------------------------------------------------------------------

def split(z, heads):
    return z.unflatten(-1, (heads, -1)).transpose(0, 1)


def joined(z):
    return z.transpose(0, 1).flatten(1)


def attended(q, k, v, heads, scale=None, dim=-1):
    q, k, v = (split(z, heads) for z in (q, k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return joined((q @ k.transpose(-1, -2) * scale).softmax(dim) @ v)


def one_head(q, k, v, heads):
    return (q @ k.T / math.sqrt(q.shape[1] / heads)).softmax(1) @ v


def one_head_own_scale(q, k, v, heads):
    return (q @ k.T / math.sqrt(q.shape[1])).softmax(1) @ v


def whole_width_scale(q, k, v, heads):
    return attended(q, k, v, heads, q.shape[1] ** -0.5)


def scaled_twice(q, k, v, heads):
    return attended(q, k, v, heads, heads / q.shape[1])


def heads_scale(q, k, v, heads):
    return attended(q, k, v, heads, heads ** -0.5)


def no_softmax(q, k, v, heads):
    q, k, v = (split(z, heads) for z in (q, k, v))
    return joined(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 @ v)


def keys_ask(q, k, v, heads):
    return attended(k, q, v, heads)


def causal(q, k, v, heads):
    q, k, v = (split(z, heads) for z in (q, k, v))
    return joined(F.scaled_dot_product_attention(q, k, v, is_causal=True))


def not_joined(q, k, v, heads):
    q, k, v = (split(z, heads) for z in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v)


def mean_of_heads(q, k, v, heads):
    return not_joined(q, k, v, heads).mean(0)


def joined_wrongly(q, k, v, heads):
    return not_joined(q, k, v, heads).reshape(len(q), -1)


def split_by_columns(q, k, v, heads):
    q, k, v = (z.unflatten(-1, (-1, heads)).permute(2, 0, 1) for z in (q, k, v))
    read = F.scaled_dot_product_attention(q, k, v)
    return read.permute(1, 2, 0).flatten(1)


def looping(q, k, v, heads):
    size = q.shape[1] // heads
    found = []
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        weights = (q[:, own] @ k[:, own].T / math.sqrt(size)).softmax(1)
        found.append(weights @ v[:, own])
    return torch.cat(found, 1)


def by_torch(q, k, v, heads):
    return joined(F.scaled_dot_product_attention(*(split(z, heads) for z in (q, k, v))))


def by_exp(q, k, v, heads):
    q, k, v = (split(z, heads) for z in (q, k, v))
    weights = torch.exp(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5)
    return joined(weights / weights.sum(-1, keepdim=True) @ v)


# -- 12.3 directions -------------------------------------------------------------------------------

def named(key):
    return "attention" in key or "mlp" in key


WRONG = [
    Natural("12.1", "one reshape", viewed, "A reshape alone cuts every image into strips"),
    Natural("12.1", "axes not exchanged", axes_left, "A reshape alone cuts every image into strips"),
    Natural("12.1", "patches column by column", columns_first, "The squares come column by column"),
    Natural("12.1", "pixels column by column", pixels_by_column, "Within a square the pixels come column by column"),
    Natural("12.1", "images turned first", both_turned, "You have exchanged rows and columns of the whole image"),
    Natural("12.1", "squares not flattened", squares_kept, "Each square should be one row of numbers"),
    Natural("12.1", "rows and columns of patches kept", grid_kept, "Right squares, but the grid of squares is still"),
    Natural("12.1", "unfold without stride", every_place, "Your squares overlap"),
    Natural("12.1", "unfold, not transposed", pixels_before_places, "The axes of patches and pixels are exchanged"),
    Natural("12.1", "only the first row of squares", first_row_only),
    Natural("12.1", "the mean of every square", averaged, "You averaged each square"),
    Natural("12.1", "loops, columns outside", loops_columns_outside, "The squares come column by column"),
    Natural("12.1", "places in front of samples", stacked_in_front, "Samples come first"),
    Natural("12.1", "images too long for a square grid", square_grid),
    Natural("12.2", "no scale", lambda q, k, v, heads: attended(q, k, v, heads, 1.0), "The scores are not scaled"),
    Natural("12.2", "scale by the whole width", whole_width_scale, "by the root of the whole width"),
    Natural("12.2", "scale without a root", scaled_twice, "by its root"),
    Natural("12.2", "scale by heads", heads_scale),
    Natural("12.2", "softmax over the queries", lambda q, k, v, heads: attended(q, k, v, heads, dim=-2),
            "Your softmax runs over the queries"),
    Natural("12.2", "softmax over the heads", lambda q, k, v, heads: attended(q, k, v, heads, dim=0),
            "Your softmax runs over the heads"),
    Natural("12.2", "one head for all, a head's scale", one_head, "All numbers went into one product"),
    Natural("12.2", "one head for all", one_head_own_scale, "All numbers went into one product"),
    Natural("12.2", "no softmax", no_softmax, "There is no softmax"),
    Natural("12.2", "q and k exchanged", keys_ask, "You have exchanged queries and keys"),
    Natural("12.2", "causal", causal, "A token here may attend to every other"),
    Natural("12.2", "heads not joined", not_joined, "Put the heads side by side again"),
    Natural("12.2", "mean over heads", mean_of_heads, "You averaged the heads"),
    Natural("12.2", "joined without exchanging axes", joined_wrongly, "Before you flatten, bring the heads behind"),
    Natural("12.2", "every heads-th number is a head", split_by_columns, "A head is a block of neighbouring numbers"),
    Natural("12.2", "weights not applied",
            lambda q, k, v, heads: (split(q, heads) @ split(k, heads).transpose(1, 2)).softmax(-1),
            ""),
    Natural("12.3", "every matrix", lambda key, shape, g: math.ceil(g * min(shape)) if len(shape) > 1 else 0,
            "That decides by the number of dimensions"),
    Natural("12.3", "only by name", lambda key, shape, g: math.ceil(g * min(shape)) if named(key) else 0,
            "A bias has one dimension"),
    Natural("12.3", "the larger side", lambda key, shape, g: math.ceil(g * max(shape)) if named(key)
            and len(shape) > 1 else 0, "A matrix has only as many singular values as its smaller side"),
    Natural("12.3", "first side", lambda key, shape, g: math.ceil(g * shape[0]) if named(key) and len(shape) > 1 else 0,
            "A matrix has only as many singular values as its smaller side"),
    Natural("12.3", "rounded down", lambda key, shape, g: int(g * min(shape)) if named(key) and len(shape) > 1 else 0,
            "Round up"),
    Natural("12.3", "rounded", lambda key, shape, g: round(g * min(shape)) if named(key) and len(shape) > 1 else 0,
            "Round up"),
    Natural("12.3", "attention alone", lambda key, shape, g: math.ceil(g * min(shape)) if "attention" in key
            and len(shape) > 1 else 0, "The MLPs' matrices are truncated too"),
    Natural("12.3", "fused counts three times", lambda key, shape, g: (3 if "qkv" in key else 1)
            * math.ceil(g * min(shape)) if named(key) and len(shape) > 1 else 0, "Fused, q, k and v are one matrix"),
    Natural("12.3", "not rounded", lambda key, shape, g: g * min(shape) if named(key) and len(shape) > 1 else 0,
            "Round up"),
    Natural("12.3", "of all numbers", lambda key, shape, g: math.ceil(g * math.prod(shape)) if named(key)
            and len(shape) > 1 else 0, "That is a share of the entries"),
    Natural("12.3", "everything else whole", lambda key, shape, g: math.ceil(g * min(shape)) if named(key)
            and len(shape) > 1 else min(shape), "What is not truncated is averaged"),
    Natural("12.3", "True for kept", lambda key, shape, g: named(key) and len(shape) > 1, ""),
]

RIGHT = [
    Natural("12.1", "permute", right_by_cut),
    Natural("12.1", "loops", by_loops),
    Natural("12.1", "unfold of torch.nn.functional", by_unfold),
    Natural("12.1", "unfold of a tensor", by_tensor_unfold),
    Natural("12.2", "a loop over heads", looping),
    Natural("12.2", "torch's own", by_torch),
    Natural("12.2", "exp and sum", by_exp),
    Natural("12.2", "split and joined", attended),
    Natural("12.3", "numpy", lambda key, shape, g: int(np.ceil(g * min(shape))) if named(key)
            and len(shape) > 1 else 0),
    Natural("12.3", "negative floor", lambda key, shape, g: -int(-g * min(shape) // 1) if named(key)
            and len(shape) > 1 else 0),
]
