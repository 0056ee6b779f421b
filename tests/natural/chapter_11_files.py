"""Answers to the exercises of chapter 11 about files: first bytes, heads, two tables, LoRA. Their author had written
the known wrong answers before."""
import math
import struct

import numpy as np
import torch
import torch.nn.functional as F

from tests.natural import Natural

# -- 11.1 told_by --------------------------------------------------------------------------------------------------


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


# -- 11.5 class_vector ---------------------------------------------------------------------------------------------

def right_by_norms(vectors):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    total = unit.sum(0)
    return total / total.norm()


def max_in_place_of_mean(vectors):
    return F.normalize(F.normalize(vectors, dim=-1).amax(0), dim=-1)


# -- 11.7 delta_w --------------------------------------------------------------------------------------------------

def scaled(scale, product=lambda down, up: up @ down):
    return lambda down, up, alpha, rslora: scale(alpha, down.shape[0], rslora) * product(down, up)


def scale_of(alpha, rank, rslora):
    return alpha / math.sqrt(rank) if rslora else alpha / rank


def rank_of_inputs(down, up, alpha, rslora):
    return alpha / down.shape[1] * (up @ down)


WRONG = [
    Natural("11.1", "magic numbers first", magic_first, "You refuse a sound safetensors file"),
    Natural("11.1", "any brace", only_brace, "A brace anywhere is not enough"),
    Natural("11.1", "big end first", big_endian, "You read the number from the wrong end"),
    Natural("11.1", "page without stripping", no_strip, "A web page begins with <"),
    Natural("11.1", "zip is no pickle", zip_is_no_pickle, "torch.save writes a zip archive"),
    Natural("11.1", "zip alone", zip_alone, "A bare pickle, as torch.save wrote"),
    Natural("11.1", "the rest is safetensors", else_safetensors, "What you know nothing about is not"),
    Natural("11.1", "no pointer", no_pointer, "A Git-LFS pointer is a text of three"),
    Natural("11.1", "by its name", lambda first, size: "safetensors", "A name proves nothing"),
    Natural("11.1", "by size", lambda first, size: "safetensors" if size > 100 else "pointer"),
    Natural("11.5", "mean, then length", lambda v: v.mean(0) / v.mean(0).norm(), "The long vectors outvote"),
    Natural("11.5", "length, then mean", lambda v: (v / v.norm(dim=1, keepdim=True)).mean(0),
            "A mean of unit vectors is shorter"),
    Natural("11.5", "plain mean", lambda v: v.sum(0) / len(v), "Neither the sentences' vectors"),
    Natural("11.5", "wrong axis", lambda v: F.normalize(F.normalize(v, dim=0).mean(0), dim=0), "dim=0 normalises over"),
    Natural("11.5", "one sentence", lambda v: v[0] / v[0].norm(), "That is the first sentence alone"),
    Natural("11.5", "not averaged", lambda v: F.normalize(v, dim=1), "That is a direction a sentence"),
    Natural("11.5", "sum of unit vectors", lambda v: F.normalize(v, dim=1).sum(0), "Right direction, wrong length"),
    Natural("11.5", "largest entry", max_in_place_of_mean),
    Natural("11.6", "the larger number", "a", "Compare the rows of the single models first"),
    Natural("11.6", "normalised", "b", "Dividing by the single models turns"),
    Natural("11.6", "a better model", "c", "That takes the DTD model's"),
    Natural("11.6", "CART on other models", "e", "nobody has run both on the same files"),
    Natural("11.7", "no scale", scaled(lambda a, r, s: 1.0), "The scale is missing"),
    Natural("11.7", "α", scaled(lambda a, r, s: a), "α alone is too much"),
    Natural("11.7", "never √", scaled(lambda a, r, s: a / r), "Right for plain LoRA"),
    Natural("11.7", "always √", scaled(lambda a, r, s: a / math.sqrt(r)), "α/√r is rank-stabilised LoRA"),
    Natural("11.7", "exchanged", scaled(lambda a, r, s: a / r if s else a / math.sqrt(r)), "The two scales are"),
    Natural("11.7", "A·B", lambda down, up, alpha, rslora: scale_of(alpha, len(down), rslora) * (down.T @ up.T),
            "Turned: a weight is (outputs, inputs)"),
    Natural("11.7", "plain product the other way", lambda down, up, alpha, rslora: down @ up),
    Natural("11.7", "r over α", scaled(lambda a, r, s: r / a), "Upside down"),
    Natural("11.7", "divided by the inputs", rank_of_inputs),
    Natural("11.7", "√ of the quotient", scaled(lambda a, r, s: math.sqrt(a / r) if s else a / r)),
]

RIGHT = [
    Natural("11.1", "struct", right_by_struct),
    Natural("11.5", "norms", right_by_norms),
    Natural("11.5", "numpy", lambda v: right_by_norms(torch.from_numpy(np.asarray(v.double()))).float()),
    Natural("11.6", "capital", "D"), Natural("11.6", "in parentheses", "(d)"),
    Natural("11.7", "einsum", scaled(scale_of, lambda down, up: torch.einsum("or,ri->oi", up, down))),
    Natural("11.7", "α into B", lambda down, up, alpha, rslora: (scale_of(alpha, len(down), rslora) * up) @ down),
]
