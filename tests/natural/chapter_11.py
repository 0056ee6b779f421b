"""Answers to the exercises of chapter 11. Those about the small ViT (11.1 to 11.3) and about fused attention (11.5)
were written from the tasks' texts before the known wrong answers were; those about files, heads, tables and LoRA after.
"""
import math
import struct

import numpy as np
import torch
import torch.nn.functional as F

from tests.natural import Natural

# -- 11.1 to_patches -------------------------------------------------------------------------------


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


# -- 11.2 attend -----------------------------------------------------------------------------------

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


# -- 11.3 directions -------------------------------------------------------------------------------

def named(key):
    return "attention" in key or "mlp" in key


# -- 11.4 told_by ----------------------------------------------------------------------------------


def magic_first(first, size):
    if first[:2] == b"PK" or first[:1] == b"\x80":
        return "pickle"
    if first[:7] == b"version":
        return "pointer"
    if b"<" in first[:10]:
        return "page"
    if first[8:9] == b"{":
        return "safetensors"
    return "something else"


def only_brace(first, size):
    if b"{" in first:
        return "safetensors"
    if first[:2] == b"PK" or first[:1] == b"\x80":
        return "pickle"
    if first.startswith(b"version"):
        return "pointer"
    return "page" if first.strip().startswith(b"<") else "something else"


def big_endian(first, size):
    if first[8:9] == b"{" and int.from_bytes(first[:8], "big") < size:
        return "safetensors"
    if first[:2] == b"PK" or first[:1] == b"\x80":
        return "pickle"
    if first.startswith(b"version"):
        return "pointer"
    return "page" if first.strip().startswith(b"<") else "something else"


def no_strip(first, size):
    if len(first) > 8 and first[8] == ord("{"):
        return "safetensors"
    if first[:2] == b"PK" or first[:1] == b"\x80":
        return "pickle"
    if first.startswith(b"version"):
        return "pointer"
    return "page" if first.startswith(b"<") else "something else"


def zip_is_no_pickle(first, size):
    if first[8:9] == b"{":
        return "safetensors"
    if first[:1] == b"\x80":
        return "pickle"
    if first.startswith(b"version"):
        return "pointer"
    return "page" if first.strip().startswith(b"<") else "something else"


def zip_alone(first, size):
    if first[8:9] == b"{":
        return "safetensors"
    if first[:2] == b"PK":
        return "pickle"
    if first.startswith(b"version"):
        return "pointer"
    return "page" if first.strip().startswith(b"<") else "something else"


def else_safetensors(first, size):
    if first[8:9] != b"{":
        if first[:2] == b"PK" or first[:1] == b"\x80":
            return "pickle"
        if first.startswith(b"version"):
            return "pointer"
        if first.strip().startswith(b"<"):
            return "page"
    return "safetensors"


def no_pointer(first, size):
    if first[8:9] == b"{":
        return "safetensors"
    if first[:2] == b"PK" or first[:1] == b"\x80":
        return "pickle"
    return "page" if first.strip().startswith(b"<") else "something else"


def right_by_struct(first, size):
    if len(first) >= 9 and first[8:9] == b"{" and struct.unpack("<Q", first[:8])[0] + 8 <= size:
        return "safetensors"
    for kind, starts in {"pickle": (b"PK", b"\x80"), "pointer": (b"version https://git-lfs",)}.items():
        if first.startswith(starts):
            return kind
    return "page" if first.strip()[:1] == b"<" else "something else"


# -- 11.5 separated --------------------------------------------------------------------------------

def cut_by(cut, names=("q", "k", "v"), parts=("weight", "bias")):
    """Takes apart what is fused, `cut(tensor)` in three; of weights or biases alone where `parts` says so."""
    def answer(state):
        found = {}
        for key, tensor in state.items():
            if ".qkv." in key and key.endswith(parts):
                found |= {key.replace("qkv", name): part for name, part in zip(names, cut(tensor))}
            else:
                found[key] = tensor
        return found
    return answer


def in_thirds(tensor):
    return tensor.chunk(3)


def fused_kept(state):
    return dict(state) | cut_by(in_thirds)(state)


def others_dropped(state):
    return {key: part for key, part in cut_by(in_thirds)(state).items() if key not in state}


def biases_dropped(state):
    return {key: part for key, part in cut_by(in_thirds, parts=("weight",))(state).items() if "qkv" not in key}


def first_block_only(state):
    found = dict(state)
    for part in ("weight", "bias"):
        fused = found.pop(f"blocks.0.attention.qkv.{part}")
        found |= {f"blocks.0.attention.{name}.{part}": third for name, third in zip("qkv", fused.chunk(3))}
    return found


def taken_out_of_it(state):
    for key in [key for key in state if ".qkv." in key]:
        for name, third in zip("qkv", state.pop(key).chunk(3)):
            state[key.replace("qkv", name)] = third
    return state


def by_width(state):
    found = {}
    for key, tensor in state.items():
        width = tensor.shape[-1]
        if ".qkv." in key:
            thirds = tensor[:width], tensor[width:2 * width], tensor[2 * width:]
            found |= {key.replace("qkv", name): third for name, third in zip("qkv", thirds)}
        else:
            found[key] = tensor
    return found


def only_values(state):
    return [part for key, part in cut_by(in_thirds)(state).items() if key not in state]


def before_the_dot(state):
    return cut_by(in_thirds, names=("q_proj", "k_proj", "v_proj"))(state)


def by_slices(state):
    found = {}
    for key, tensor in state.items():
        *front, module, kind = key.split(".") if "." in key else ("", "", key)
        if module != "qkv":
            found[key] = tensor
            continue
        rows = tensor.shape[0] // 3
        for number, name in enumerate("qkv"):
            found[".".join([*front, name, kind])] = tensor[number * rows:(number + 1) * rows].clone()
    return found


# -- 11.6 class_vector -----------------------------------------------------------------------------

def right_by_norms(vectors):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    total = unit.sum(0)
    return total / total.norm()


def max_in_place_of_mean(vectors):
    return F.normalize(F.normalize(vectors, dim=-1).amax(0), dim=-1)


# -- 11.8 delta_w ----------------------------------------------------------------------------------

def scaled(scale, product=lambda down, up: up @ down):
    return lambda down, up, alpha, rslora: scale(alpha, down.shape[0], rslora) * product(down, up)


def scale_of(alpha, rank, rslora):
    return alpha / math.sqrt(rank) if rslora else alpha / rank


def rank_of_inputs(down, up, alpha, rslora):
    return alpha / down.shape[1] * (up @ down)


WRONG = [
    Natural("11.1", "one reshape", viewed, "A reshape alone cuts every image into strips"),
    Natural("11.1", "axes not exchanged", axes_left, "A reshape alone cuts every image into strips"),
    Natural("11.1", "patches column by column", columns_first, "The squares come column by column"),
    Natural("11.1", "pixels column by column", pixels_by_column, "Within a square the pixels come column by column"),
    Natural("11.1", "images turned first", both_turned, "You have exchanged rows and columns of the whole image"),
    Natural("11.1", "squares not flattened", squares_kept, "Each square should be one row of numbers"),
    Natural("11.1", "rows and columns of patches kept", grid_kept, "Right squares, but the grid of squares is still"),
    Natural("11.1", "unfold without stride", every_place, "Your squares overlap"),
    Natural("11.1", "unfold, not transposed", pixels_before_places, "Places and pixels have changed places"),
    Natural("11.1", "only the first row of squares", first_row_only),
    Natural("11.1", "the mean of every square", averaged, "You averaged each square"),
    Natural("11.1", "loops, columns outside", loops_columns_outside, "The squares come column by column"),
    Natural("11.1", "places in front of samples", stacked_in_front, "Samples come first"),
    Natural("11.1", "images too long for a square grid", square_grid),
    Natural("11.2", "no scale", lambda q, k, v, heads: attended(q, k, v, heads, 1.0), "The scores are not scaled"),
    Natural("11.2", "scale by the whole width", whole_width_scale, "by the root of the whole width"),
    Natural("11.2", "scale without a root", scaled_twice, "by its root"),
    Natural("11.2", "scale by heads", heads_scale),
    Natural("11.2", "softmax over the queries", lambda q, k, v, heads: attended(q, k, v, heads, dim=-2),
            "Your softmax runs over the queries"),
    Natural("11.2", "softmax over the heads", lambda q, k, v, heads: attended(q, k, v, heads, dim=0),
            "Your softmax runs over the heads"),
    Natural("11.2", "one head for all, a head's scale", one_head, "All numbers went into one product"),
    Natural("11.2", "one head for all", one_head_own_scale, "All numbers went into one product"),
    Natural("11.2", "no softmax", no_softmax, "There is no softmax"),
    Natural("11.2", "q and k exchanged", keys_ask, "Queries and keys have changed places"),
    Natural("11.2", "causal", causal, "A place here may look at every other"),
    Natural("11.2", "heads not joined", not_joined, "Put the heads side by side again"),
    Natural("11.2", "mean over heads", mean_of_heads, "You averaged the heads"),
    Natural("11.2", "joined without exchanging axes", joined_wrongly, "Before you flatten, bring the heads behind"),
    Natural("11.2", "every heads-th number is a head", split_by_columns, "A head is a block of neighbouring numbers"),
    Natural("11.2", "weights not applied",
            lambda q, k, v, heads: (split(q, heads) @ split(k, heads).transpose(1, 2)).softmax(-1),
            ""),
    Natural("11.3", "every matrix", lambda key, shape, g: math.ceil(g * min(shape)) if len(shape) > 1 else 0,
            "That decides by dimensions"),
    Natural("11.3", "only by name", lambda key, shape, g: math.ceil(g * min(shape)) if named(key) else 0,
            "A bias has one dimension"),
    Natural("11.3", "the larger side", lambda key, shape, g: math.ceil(g * max(shape)) if named(key)
            and len(shape) > 1 else 0, "A matrix has only as many singular values as its smaller side"),
    Natural("11.3", "first side", lambda key, shape, g: math.ceil(g * shape[0]) if named(key) and len(shape) > 1 else 0,
            "A matrix has only as many singular values as its smaller side"),
    Natural("11.3", "rounded down", lambda key, shape, g: int(g * min(shape)) if named(key) and len(shape) > 1 else 0,
            "Round up"),
    Natural("11.3", "rounded", lambda key, shape, g: round(g * min(shape)) if named(key) and len(shape) > 1 else 0,
            "Round up"),
    Natural("11.3", "attention alone", lambda key, shape, g: math.ceil(g * min(shape)) if "attention" in key
            and len(shape) > 1 else 0, "The MLPs' matrices are truncated too"),
    Natural("11.3", "fused counts three times", lambda key, shape, g: (3 if "qkv" in key else 1)
            * math.ceil(g * min(shape)) if named(key) and len(shape) > 1 else 0, "Fused, q, k and v are one matrix"),
    Natural("11.3", "not rounded", lambda key, shape, g: g * min(shape) if named(key) and len(shape) > 1 else 0,
            "Round up"),
    Natural("11.3", "of all numbers", lambda key, shape, g: math.ceil(g * math.prod(shape)) if named(key)
            and len(shape) > 1 else 0, "That is a share of the entries"),
    Natural("11.3", "everything else whole", lambda key, shape, g: math.ceil(g * min(shape)) if named(key)
            and len(shape) > 1 else min(shape), "What is not truncated is averaged"),
    Natural("11.3", "True for kept", lambda key, shape, g: named(key) and len(shape) > 1, ""),
    Natural("11.4", "magic numbers first", magic_first, "You refuse a sound safetensors file"),
    Natural("11.4", "any brace", only_brace, "A brace anywhere is not enough"),
    Natural("11.4", "big end first", big_endian, "You read the number from the wrong end"),
    Natural("11.4", "page without stripping", no_strip, "A web page begins with <"),
    Natural("11.4", "zip is no pickle", zip_is_no_pickle, "torch.save writes a zip archive"),
    Natural("11.4", "zip alone", zip_alone, "A bare pickle, as torch.save wrote"),
    Natural("11.4", "the rest is safetensors", else_safetensors, "What you know nothing about is not"),
    Natural("11.4", "no pointer", no_pointer, "A Git-LFS pointer is a text of three"),
    Natural("11.4", "by its name", lambda first, size: "safetensors", "A name proves nothing"),
    Natural("11.4", "by size", lambda first, size: "safetensors" if size > 100 else "pointer"),
    Natural("11.5", "columns in thirds", cut_by(lambda tensor: tensor.chunk(3, -1)), "You cut the columns"),
    Natural("11.5", "every third row", cut_by(lambda tensor: [tensor[i::3] for i in range(3)]),
            "You took every third row"),
    Natural("11.5", "reshaped to (width, 3, …)",
            cut_by(lambda tensor: tensor.reshape(-1, 3, *tensor.shape[1:]).unbind(1)), "You took every third row"),
    Natural("11.5", "keys first", cut_by(in_thirds, "kqv"), "Queries and keys are exchanged"),
    Natural("11.5", "values first", cut_by(in_thirds, "vqk"), "come in another order"),
    Natural("11.5", "biases left fused", cut_by(in_thirds, parts=("weight",)), "The biases are fused too"),
    Natural("11.5", "biases gone", biases_dropped, "The biases are gone"),
    Natural("11.5", "fused ones kept", fused_kept, "still there"),
    Natural("11.5", "the others gone", others_dropped, "All else has to stay"),
    Natural("11.5", "renamed alone", cut_by(lambda tensor: [tensor] * 3), "Each of the three got the whole tensor"),
    Natural("11.5", "turned", cut_by(lambda tensor: [third.t() for third in tensor.chunk(3)]), "You turned them"),
    Natural("11.5", "the first block alone", first_block_only, "every block"),
    Natural("11.5", "in place", taken_out_of_it, "changed"),
    Natural("11.5", "thirds by the last side", by_width),
    Natural("11.5", "a list of tensors", only_values),
    Natural("11.5", "names of transformers", before_the_dot, "So transformers calls them"),
    Natural("11.6", "mean, then length", lambda v: v.mean(0) / v.mean(0).norm(), "The long vectors outvote"),
    Natural("11.6", "length, then mean", lambda v: (v / v.norm(dim=1, keepdim=True)).mean(0),
            "A mean of unit vectors is shorter"),
    Natural("11.6", "plain mean", lambda v: v.sum(0) / len(v), "Neither the sentences' vectors"),
    Natural("11.6", "wrong axis", lambda v: F.normalize(F.normalize(v, dim=0).mean(0), dim=0), "dim=0 normalises over"),
    Natural("11.6", "one sentence", lambda v: v[0] / v[0].norm(), "That is the first sentence alone"),
    Natural("11.6", "not averaged", lambda v: F.normalize(v, dim=1), "That is a direction a sentence"),
    Natural("11.6", "sum of unit vectors", lambda v: F.normalize(v, dim=1).sum(0), "Right direction, wrong length"),
    Natural("11.6", "largest entry", max_in_place_of_mean),
    Natural("11.7", "the larger number", "a", "Compare the rows of the single models first"),
    Natural("11.7", "normalised", "b", "Dividing by the single models turns"),
    Natural("11.7", "a better model", "c", "That takes the DTD model's"),
    Natural("11.7", "CART on other models", "e", "nobody has run both on the same files"),
    Natural("11.8", "no scale", scaled(lambda a, r, s: 1.0), "The scale is missing"),
    Natural("11.8", "α", scaled(lambda a, r, s: a), "α alone is too much"),
    Natural("11.8", "never √", scaled(lambda a, r, s: a / r), "Right for plain LoRA"),
    Natural("11.8", "always √", scaled(lambda a, r, s: a / math.sqrt(r)), "α/√r is rank-stabilised LoRA"),
    Natural("11.8", "exchanged", scaled(lambda a, r, s: a / r if s else a / math.sqrt(r)), "The two scales are"),
    Natural("11.8", "A·B", lambda down, up, alpha, rslora: scale_of(alpha, len(down), rslora) * (down.T @ up.T),
            "Turned: a weight is (outputs, inputs)"),
    Natural("11.8", "plain product the other way", lambda down, up, alpha, rslora: down @ up),
    Natural("11.8", "r over α", scaled(lambda a, r, s: r / a), "Upside down"),
    Natural("11.8", "divided by the inputs", rank_of_inputs),
    Natural("11.8", "√ of the quotient", scaled(lambda a, r, s: math.sqrt(a / r) if s else a / r)),
]

RIGHT = [
    Natural("11.1", "permute", right_by_cut),
    Natural("11.1", "loops", by_loops),
    Natural("11.1", "unfold of torch.nn.functional", by_unfold),
    Natural("11.1", "unfold of a tensor", by_tensor_unfold),
    Natural("11.2", "a loop over heads", looping),
    Natural("11.2", "torch's own", by_torch),
    Natural("11.2", "exp and sum", by_exp),
    Natural("11.2", "split and joined", attended),
    Natural("11.3", "numpy", lambda key, shape, g: int(np.ceil(g * min(shape))) if named(key)
            and len(shape) > 1 else 0),
    Natural("11.3", "negative floor", lambda key, shape, g: -int(-g * min(shape) // 1) if named(key)
            and len(shape) > 1 else 0),
    Natural("11.4", "struct", right_by_struct),
    Natural("11.5", "chunk", cut_by(in_thirds)),
    Natural("11.5", "slices", by_slices),
    Natural("11.5", "reshaped to (3, …)", cut_by(lambda tensor: tensor.reshape(3, -1, *tensor.shape[1:]).unbind(0))),
    Natural("11.5", "numpy", cut_by(lambda tensor: map(torch.from_numpy, np.split(tensor.numpy(), 3)))),
    Natural("11.6", "norms", right_by_norms),
    Natural("11.6", "numpy", lambda v: right_by_norms(torch.from_numpy(np.asarray(v.double()))).float()),
    Natural("11.7", "capital", "D"), Natural("11.7", "in parentheses", "(d)"),
    Natural("11.8", "einsum", scaled(scale_of, lambda down, up: torch.einsum("or,ri->oi", up, down))),
    Natural("11.8", "α into B", lambda down, up, alpha, rslora: (scale_of(alpha, len(down), rslora) * up) @ down),
]
