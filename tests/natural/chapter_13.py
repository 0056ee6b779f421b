"""Answers to the exercises of chapter 13: files, fused attention, LoRA, heads and tables. Those about fused attention
were written from the task's text before the known wrong answers were, the others after.
"""
import math
import struct

import numpy as np
import torch
import torch.nn.functional as F

from lessons.vit.algorithms import firstbytes
from tests.natural import Natural

# -- 13.1 told_by ----------------------------------------------------------------------------------


def header_fits(first, size):
    return first[8:9] == b"{" and int.from_bytes(first[:8], "little") <= size - 8


def magic_first(first, size):
    if first[:2] == b"PK" or first[:1] == b"\x80":
        return "pickle"
    if first[:7] == b"version":
        return "pointer"
    if b"<" in first[:10]:
        return "page"
    if header_fits(first, size):
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
    if len(first) > 8 and first[8] == ord("{") and header_fits(first, size):
        return "safetensors"
    if first[:2] == b"PK" or first[:1] == b"\x80":
        return "pickle"
    if first.startswith(b"version"):
        return "pointer"
    return "page" if first.startswith(b"<") else "something else"


def zip_is_no_pickle(first, size):
    if header_fits(first, size):
        return "safetensors"
    if first[:1] == b"\x80":
        return "pickle"
    if first.startswith(b"version"):
        return "pointer"
    return "page" if first.strip().startswith(b"<") else "something else"


def zip_alone(first, size):
    if header_fits(first, size):
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
    if header_fits(first, size):
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


# -- 13.2 separated --------------------------------------------------------------------------------

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


# -- 13.4 class_vector -----------------------------------------------------------------------------

def right_by_norms(vectors):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    total = unit.sum(0)
    return total / total.norm()


def max_in_place_of_mean(vectors):
    return F.normalize(F.normalize(vectors, dim=-1).amax(0), dim=-1)


# -- 13.3 delta_w ----------------------------------------------------------------------------------

def scaled(scale, product=lambda down, up: up @ down):
    return lambda down, up, alpha, rslora: scale(alpha, down.shape[0], rslora) * product(down, up)


def scale_of(alpha, rank, rslora):
    return alpha / math.sqrt(rank) if rslora else alpha / rank


def rank_of_inputs(down, up, alpha, rslora):
    return alpha / down.shape[1] * (up @ down)


WRONG = [
    Natural("13.1", "magic numbers first", magic_first, "You refuse a sound safetensors file"),
    Natural("13.1", "any brace", only_brace, "A brace anywhere is not enough"),
    Natural("13.1", "big end first", big_endian, "You read the number from the wrong end"),
    Natural("13.1", "page without stripping", no_strip, "A web page begins with <"),
    Natural("13.1", "zip is no pickle", zip_is_no_pickle, "torch.save writes a zip archive"),
    Natural("13.1", "zip alone", zip_alone, "A bare pickle, as torch.save wrote"),
    Natural("13.1", "the rest is safetensors", else_safetensors, "Not every other file is safetensors"),
    Natural("13.1", "no pointer", no_pointer, "A Git-LFS pointer is a text of three"),
    Natural("13.1", "no look at the number", lambda first, size: "safetensors" if first[8:9] == b"{" else "page"),
    Natural("13.1", "the brace alone", lambda first, size: "safetensors" if first[8:9] == b"{" else
            firstbytes.told_by(first, size), "the number before it must fit"),
    Natural("13.1", "by its name", lambda first, size: "safetensors", "A name proves nothing"),
    Natural("13.1", "by size", lambda first, size: "safetensors" if size > 100 else "pointer"),
    Natural("13.2", "columns in thirds", cut_by(lambda tensor: tensor.chunk(3, -1)), "You cut the columns"),
    Natural("13.2", "every third row", cut_by(lambda tensor: [tensor[i::3] for i in range(3)]),
            "You took every third row"),
    Natural("13.2", "reshaped to (width, 3, …)",
            cut_by(lambda tensor: tensor.reshape(-1, 3, *tensor.shape[1:]).unbind(1)), "You took every third row"),
    Natural("13.2", "keys first", cut_by(in_thirds, "kqv"), "Queries and keys are exchanged"),
    Natural("13.2", "values first", cut_by(in_thirds, "vqk"), "come in another order"),
    Natural("13.2", "biases left fused", cut_by(in_thirds, parts=("weight",)), "The biases are fused too"),
    Natural("13.2", "biases gone", biases_dropped, "The biases are gone"),
    Natural("13.2", "fused ones kept", fused_kept, "still there"),
    Natural("13.2", "the others gone", others_dropped, "All else has to stay"),
    Natural("13.2", "renamed alone", cut_by(lambda tensor: [tensor] * 3), "Each of the three got the whole tensor"),
    Natural("13.2", "turned", cut_by(lambda tensor: [third.t() for third in tensor.chunk(3)]), "Do not transpose"),
    Natural("13.2", "the first block alone", first_block_only, "every block"),
    Natural("13.2", "in place", taken_out_of_it, "changed"),
    Natural("13.2", "thirds by the last side", by_width),
    Natural("13.2", "a list of tensors", only_values),
    Natural("13.2", "names of transformers", before_the_dot, "These are the names of the library transformers"),
    Natural("13.4", "mean, then length", lambda v: v.mean(0) / v.mean(0).norm(), "The long vectors outvote"),
    Natural("13.4", "length, then mean", lambda v: (v / v.norm(dim=1, keepdim=True)).mean(0),
            "A mean of unit vectors is shorter"),
    Natural("13.4", "plain mean", lambda v: v.sum(0) / len(v), "Neither the sentences' vectors"),
    Natural("13.4", "wrong axis", lambda v: F.normalize(F.normalize(v, dim=0).mean(0), dim=0), "dim=0 normalises over"),
    Natural("13.4", "one sentence", lambda v: v[0] / v[0].norm(), "That is the first sentence alone"),
    Natural("13.4", "not averaged", lambda v: F.normalize(v, dim=1), "That is a direction a sentence"),
    Natural("13.4", "sum of unit vectors", lambda v: F.normalize(v, dim=1).sum(0), "Right direction, wrong length"),
    Natural("13.4", "largest entry", max_in_place_of_mean),
    Natural("13.5", "the larger number", "a", "Compare the rows of the single models first"),
    Natural("13.5", "normalised", "b", "Dividing by the single models turns"),
    Natural("13.5", "a better model", "c", "That takes the DTD model's"),
    Natural("13.5", "CART on other models", "e", "nobody has run both on the same files"),
    Natural("13.3", "no scale", scaled(lambda a, r, s: 1.0), "The scale is missing"),
    Natural("13.3", "α", scaled(lambda a, r, s: a), "α alone is too much"),
    Natural("13.3", "never √", scaled(lambda a, r, s: a / r), "Right for plain LoRA"),
    Natural("13.3", "always √", scaled(lambda a, r, s: a / math.sqrt(r)), "α/√r is rank-stabilised LoRA"),
    Natural("13.3", "exchanged", scaled(lambda a, r, s: a / r if s else a / math.sqrt(r)), "The two scales are"),
    Natural("13.3", "A·B", lambda down, up, alpha, rslora: scale_of(alpha, len(down), rslora) * (down.T @ up.T),
            "Turned: a weight is (outputs, inputs)"),
    Natural("13.3", "plain product the other way", lambda down, up, alpha, rslora: down @ up),
    Natural("13.3", "r over α", scaled(lambda a, r, s: r / a), "Upside down"),
    Natural("13.3", "divided by the inputs", rank_of_inputs),
    Natural("13.3", "√ of the quotient", scaled(lambda a, r, s: math.sqrt(a / r) if s else a / r)),
]

RIGHT = [
    Natural("13.1", "struct", right_by_struct),
    Natural("13.2", "chunk", cut_by(in_thirds)),
    Natural("13.2", "slices", by_slices),
    Natural("13.2", "reshaped to (3, …)", cut_by(lambda tensor: tensor.reshape(3, -1, *tensor.shape[1:]).unbind(0))),
    Natural("13.2", "numpy", cut_by(lambda tensor: map(torch.from_numpy, np.split(tensor.numpy(), 3)))),
    Natural("13.4", "norms", right_by_norms),
    Natural("13.4", "numpy", lambda v: right_by_norms(torch.from_numpy(np.asarray(v.double()))).float()),
    Natural("13.5", "capital", "D"), Natural("13.5", "in parentheses", "(d)"),
    Natural("13.3", "einsum", scaled(scale_of, lambda down, up: torch.einsum("or,ri->oi", up, down))),
    Natural("13.3", "α into B", lambda down, up, alpha, rslora: (scale_of(alpha, len(down), rslora) * up) @ down),
]
