"""Exercises about files: their first bytes, q, k and v in one tensor, heads from text vectors, two published tables,
LoRA."""
import io
import json
import pickle

import torch
import torch.nn.functional as F

from lessons.checkpoints import heads, lora
from lessons.kit.exercise import Exercise, Wrong
from lessons.vit.algorithms import firstbytes, matrices

# -- cases -----------------------------------------------------------------------------------------


def _safetensors(length=0, size=4):
    """The bytes of a small safetensors file, its header filled up with spaces to a length."""
    entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    text = json.dumps({"weight": entry}).encode()
    text += b" " * (length - len(text))
    return len(text).to_bytes(8, "little") + text + bytes(size)


def _saved():
    buffer = io.BytesIO()
    torch.save({"weight": torch.ones(2)}, buffer)
    return buffer.getvalue()


def _files():
    """(first bytes, size) of files that are all called model.safetensors."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:2f31\nsize 349848328\n"
    page = b"\n  <!DOCTYPE html><html><title>Log in</title></html>"
    contents = [_safetensors(), _safetensors(0x280), _safetensors(0x480), _saved(), pickle.dumps({"weight": 1.0}, 2),
                pickle.dumps({"weight": 1.0}, 4), pointer, page, b'{"error": "Repository not found"}', b"",
                *map(_only_a_header, (2 ** 40, 9))]
    return [(content[:64], len(content)) for content in contents]


def _only_a_header(length):
    """A file that says its header has so many bytes, and has eight."""
    return length.to_bytes(8, "little") + b'{"a": 1}'


def _fused():
    """Checkpoints of two widths and depths with q, k and v in one tensor."""
    cases = []
    for width, blocks in ((4, 2), (6, 11)):
        shapes = {"token": (width,), "position": (3, width)}
        for block in range(blocks):
            shapes[f"blocks.{block}.attention.qkv.weight"] = (3 * width, width)
            shapes[f"blocks.{block}.attention.qkv.bias"] = (3 * width,)
            shapes[f"blocks.{block}.attention.out.weight"] = (width, width)
            shapes[f"blocks.{block}.mlp.into.weight"] = (3 * width, width)
        generator = torch.Generator().manual_seed(width)
        cases.append(({key: torch.randn(shape, generator=generator) for key, shape in shapes.items()},))
    return cases


def _sentences():
    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([1.0, 4.0, 0.3])
    return [(torch.tensor([[3.0, 0.0], [0.0, 1.0]]),),
            (lengths[:, None] * torch.randn(3, 5, generator=generator) + 1,),
            (torch.randn(1, 4, generator=generator),)]


def _factors():
    generator = torch.Generator().manual_seed(1)
    cases = []
    for rank, inputs, outputs, alpha, rslora in ((2, 5, 3, 4.0, False), (4, 6, 6, 16.0, False), (4, 3, 7, 8.0, True)):
        down, up = torch.randn(rank, inputs, generator=generator), torch.randn(outputs, rank, generator=generator)
        cases.append((down, up, alpha, rslora))
    return cases


# -- wrong answers with a family likeness ----------------------------------------------------------

def _first(rule):
    """An answer that looks at `rule` before anything else and otherwise says what is right."""
    return lambda first, size: rule(first, size) or firstbytes.told_by(first, size)


def _fits_the_whole_file(first, size):
    """The number is compared with the size of the whole file."""
    fits = first[8:9] == b"{" and int.from_bytes(first[:8], "little") <= size
    return "safetensors" if fits else firstbytes.told_by(first, size)


def _big_end_first(first, size):
    """Reads the number from the wrong end, so that what is safetensors is taken for what its first byte says."""
    kind = firstbytes.told_by(first, size)
    if kind != "safetensors" or int.from_bytes(first[:8], "big") < size:
        return kind
    return "pickle" if first[:1] == b"\x80" else "something else"


def _without(kind, instead):
    """An answer that knows every kind but one."""
    def answer(first, size):
        right = firstbytes.told_by(first, size)
        return instead if right == kind else right
    return answer


def _taken_apart(cut=lambda tensor: tensor.chunk(3), names=("q", "k", "v"), parts=("weight", "bias"), others=True,
                 fused=False):
    """An answer that cuts what is fused in its own way, names the pieces, and keeps or drops what else there is."""
    def answer(state):
        pieces = {}
        for key, tensor in state.items():
            joined = ".qkv." in key
            if joined and key.endswith(parts):
                pieces |= {key.replace(".qkv.", f".{name}."): part for name, part in zip(names, cut(tensor))}
            if (not joined and others) or (joined and (fused or (fused is None and not key.endswith(parts)))):
                pieces[key] = tensor
        return pieces
    return answer


def _first_block_alone(state):
    first = {key: tensor for key, tensor in state.items() if key.startswith("blocks.0.")}
    return {key: tensor for key, tensor in state.items() if key not in first} | separated(first)


def _changed(scale=lambda alpha, rank, rslora: alpha / (rank ** 0.5 if rslora else rank),
             product=lambda down, up: up @ down):
    return lambda down, up, alpha, rslora: scale(alpha, len(down), rslora) * product(down, up)


# -- the solutions that are shown ------------------------------------------------------------------

def told_by(first, size):
    length = int.from_bytes(first[:8], "little")
    if first[8:9] == b"{" and length <= size - 8:
        return "safetensors"
    if first.startswith((b"PK\x03\x04", b"\x80")):
        return "pickle"
    if first.startswith(b"version https://git-lfs"):
        return "pointer"
    return "page" if first.lstrip().startswith(b"<") else "something else"


def separated(state):
    separate = {}
    for key, tensor in state.items():
        if ".qkv." in key:
            for name, part in zip("qkv", tensor.chunk(3)):
                separate[key.replace(".qkv.", f".{name}.")] = part
        else:
            separate[key] = tensor
    return separate


def class_vector(vectors):
    mean = F.normalize(vectors, dim=-1).mean(0)
    return F.normalize(mean, dim=-1)


def delta_w(down, up, alpha, rslora):
    rank = len(down)
    scale = alpha / (rank ** 0.5 if rslora else rank)
    return scale * (up @ down)


# -- exercises -------------------------------------------------------------------------------------

EXERCISES = [
    Exercise(
        "13.1", "what kind of file is this?", 8, firstbytes.told_by,
        teaching=told_by,
        cases=_files,
        wrong=[
            Wrong(_first(lambda first, size: "pickle" if first[:1] == b"\x80" else None),
                  "You refuse a sound safetensors file: its first eight bytes are a number, and 0x280 = 640 begins "
                  "with the byte \\x80 as well. Test for safetensors first, by the number and the brace."),
            Wrong(_without("something else", "safetensors"),
                  "Not every other file is safetensors: an empty file and a server's error message are something else. "
                  "Ask for the brace at byte 8."),
            Wrong(lambda first, size: "safetensors",
                  "All of these files are called model.safetensors. A name proves nothing: look at the bytes."),
            Wrong(_without("pickle", "something else"),
                  "You name no pickle. There are two kinds: b\"PK\\x03\\x04\", the zip archive that torch.save writes, "
                  "and b\"\\x80\", a bare pickle."),
            Wrong(lambda first, size: "something else" if first.startswith(b"PK") else firstbytes.told_by(first, size),
                  "torch.save writes a zip archive, b\"PK\\x03\\x04\", and inside it lies a pickle."),
            Wrong(lambda first, size: "something else" if firstbytes.told_by(first, size) == "pickle"
                  and first[:1] == b"\x80" else firstbytes.told_by(first, size),
                  "A bare pickle, as torch.save wrote long ago, begins with b\"\\x80\" and its protocol's number."),
            Wrong(_without("page", "something else"),
                  "A web page begins with <, perhaps after spaces and line ends: strip these first."),
            Wrong(_without("pointer", "something else"),
                  "A Git-LFS pointer is a text of three lines: version https://git-lfs…, oid, size."),
            Wrong(lambda first, size: "safetensors" if b"{" in first else firstbytes.told_by(first, size),
                  "A brace anywhere is not enough: a server's error in JSON has one too. It must be byte 8, behind the "
                  "number."),
            Wrong(lambda first, size: "safetensors" if first[8:9] == b"{" else firstbytes.told_by(first, size),
                  "A brace at byte 8 is not enough: the number before it must fit into the file. A file that was "
                  "spoilt says that its header is longer than the file is."),
            Wrong(_fits_the_whole_file,
                  "The first eight bytes are not part of the header, so N is at most size − 8."),
            Wrong(_big_end_first,
                  "You read the number from the wrong end: safetensors writes the smallest byte first, \"little\"."),
        ],
        hints=["A safetensors file: eight bytes with a number N, the smallest byte first, then N bytes of JSON, which "
               "begin with {. So byte 8 is b\"{\", and N is at most size − 8.",
               "Only then look for b\"PK\\x03\\x04\" or b\"\\x80\" (pickle), b\"version https://git-lfs\" (pointer), "
               "and, after first.lstrip(), b\"<\" (page).",
               "length = int.from_bytes(first[:8], \"little\"); if first[8:9] == b\"{\" and length <= size - 8: …"],
        praise="You never opened it. That is the point: to look at a pickle by loading it is to run it."),

    Exercise(
        "13.2", "queries, keys and values, apart", 6, matrices.apart,
        teaching=separated,
        cases=_fused,
        wrong=[
            Wrong(_taken_apart(lambda tensor: tensor.chunk(3, -1)),
                  "You cut the columns in thirds. They stand one above the other: the first third of the rows is q."),
            Wrong(_taken_apart(lambda tensor: [tensor[place::3] for place in range(3)]),
                  "You took every third row. First come all rows of q, then all of k, then all of v."),
            Wrong(_taken_apart(names=("k", "q", "v")),
                  "Queries and keys are exchanged. Every shape fits, nothing complains, and the network is another."),
            Wrong(_taken_apart(names=("v", "k", "q")),
                  "Queries and values are exchanged. Every shape fits, nothing complains, and the network is another."),
            Wrong(_taken_apart(names=("v", "q", "k")),
                  "The thirds come in another order: q, then k, then v. Every shape fits all the same."),
            Wrong(_taken_apart(parts=("weight",), fused=None),
                  "The biases are fused too: `….qkv.bias` has 3·width numbers."),
            Wrong(_taken_apart(parts=("weight",)),
                  "The biases are gone: `….qkv.bias` has 3·width numbers, a third for each."),
            Wrong(_taken_apart(fused=True),
                  "The fused tensors are still there. A loader would call them keys too many."),
            Wrong(_taken_apart(others=False),
                  "All else has to stay, under its own name."),
            Wrong(_taken_apart(lambda tensor: [tensor] * 3),
                  "Each of the three got the whole tensor. Its rows have to be shared out."),
            Wrong(_taken_apart(lambda tensor: [part.t() for part in tensor.chunk(3)]),
                  "Do not transpose. A third of the rows is (width, width) already."),
            Wrong(_first_block_alone,
                  "That is block 0 alone. Go through all keys, and take apart every one with .qkv. in it, in every "
                  "block."),
            Wrong(_taken_apart(names=("q_proj", "k_proj", "v_proj")),
                  "These are the names of the library transformers. Here use q, k and v."),
        ],
        hints=["Go through state.items(). What has no .qkv. in its name goes over as it is.",
               "tensor.chunk(3) cuts the rows in three; it does the same with a bias.",
               "separate[key.replace(\".qkv.\", f\".{name}.\")] = part, for name and part in "
               "zip(\"qkv\", tensor.chunk(3))"],
        praise="No shape would have told you, had you exchanged q and k: both are (width, width). Only the numbers do, "
               "so compare what the network says before and after."),

    Exercise(
        "13.3", "what does a LoRA adapter add?", 6, lora.delta_w,
        teaching=delta_w,
        cases=_factors,
        wrong=[
            Wrong(_changed(lambda alpha, rank, rslora: 1.0),
                  "The scale is missing: the adapter was trained with α/r (or α/√r) in front of B·A."),
            Wrong(_changed(lambda alpha, rank, rslora: alpha),
                  "α alone is too much: it is divided by the rank, or by its root in rank-stabilised LoRA."),
            Wrong(_changed(lambda alpha, rank, rslora: alpha / rank),
                  "Right for plain LoRA. With rslora it is α/√r: rank-stabilised."),
            Wrong(_changed(lambda alpha, rank, rslora: alpha / rank ** 0.5),
                  "α/√r is rank-stabilised LoRA. Where rslora is False it is α/r."),
            Wrong(_changed(lambda alpha, rank, rslora: alpha / (rank if rslora else rank ** 0.5)),
                  "The two scales are exchanged: α/r without rslora, α/√r with it."),
            Wrong(_changed(lambda alpha, rank, rslora: rank / alpha),
                  "Upside down: α/r, not r/α."),
            Wrong(_changed(product=lambda down, up: (up @ down).T),
                  "Turned: a weight is (outputs, inputs), B·A with B (outputs, r) and A (r, inputs)."),
            Wrong(lambda down, up, alpha, rslora: (alpha / len(down)) * (up @ down) / up.shape[1] ** 0.5,
                  "You divided by √r once too often. The scale is α/r, or α/√r."),
            Wrong(_changed(lambda alpha, rank, rslora: alpha / rank, lambda down, up: up.sum(1)[:, None] * down.sum(0)),
                  "You summed over the rank before multiplying: ΔW would have rank 1. B·A sums the products."),
        ],
        hints=["ΔW = s·B·A. A is (r, inputs), B is (outputs, r).",
               "s = α/r; with rslora s = α/√r.",
               "(alpha / (rank ** 0.5 if rslora else rank)) * (up @ down)"],
        praise="ΔW is a task vector like any other, and its rank is at most r. A and B are not: any invertible M gives "
               "B·M⁻¹ and M·A, the same ΔW. So never average A's and B's apart.",
        tolerance=1e-5),

    Exercise(
        "13.4", "a class from its sentences", 5, heads.class_vector,
        teaching=class_vector,
        cases=_sentences,
        wrong=[
            Wrong(lambda vectors: F.normalize(vectors.mean(0), dim=-1),
                  "The long vectors outvote the short ones. Bring each sentence's to length 1 before the mean."),
            Wrong(lambda vectors: F.normalize(vectors, dim=-1).mean(0),
                  "A mean of unit vectors is shorter than 1, and a class whose sentences disagree would get smaller "
                  "logits. Normalise once more."),
            Wrong(lambda vectors: vectors.mean(0),
                  "Neither the sentences' vectors nor their mean have length 1. Normalise before the mean, and after."),
            Wrong(lambda vectors: F.normalize(F.normalize(vectors, dim=0).mean(0), dim=-1),
                  "dim=0 normalises over the sentences. A sentence's vector is a row: dim=-1."),
            Wrong(lambda vectors: F.normalize(F.normalize(vectors, dim=-1).mean(-1), dim=-1),
                  "You averaged within a sentence. The mean runs over the sentences: .mean(0)."),
            Wrong(lambda vectors: F.normalize(vectors, dim=-1),
                  "That is a direction a sentence. A class is one vector: their mean."),
            Wrong(lambda vectors: F.normalize(vectors[0], dim=-1),
                  "That is the first sentence alone. Average over all of them."),
            Wrong(lambda vectors: F.normalize(vectors, dim=-1).sum(0),
                  "Right direction, wrong length: a class with more sentences would win. Normalise the sum."),
            Wrong(lambda vectors: F.normalize(vectors, dim=-1).mean(0).softmax(-1),
                  "No softmax here: a head is a direction. The softmax runs over classes, once there is an image."),
        ],
        hints=["Logits are cosines times a number, so only directions count.",
               "Each row to length 1, then the mean over rows, and that to length 1 again.",
               "F.normalize(F.normalize(vectors, dim=-1).mean(0), dim=-1)"],
        praise="No weight was trained for this head, and finetuning never touched it. That is why CLIP's towers can be "
               "merged without asking what to do with the heads.",
        tolerance=1e-5),

    Exercise(
        "13.5", "which method is ahead?", 5, "d",
        wrong=[
            Wrong("a",
                  "Compare the rows of the single models first: 92.8 beside 90.5. The two merges do not stand on the "
                  "same models, so the difference of 1.2 may be theirs."),
            Wrong("b",
                  "Dividing by the single models turns the order round, 93.6 % beside 92.6 %, and that alone should "
                  "make you wary. A single model that knows its test images raises the divisor as well."),
            Wrong("c",
                  "That takes the DTD model's 97.98 % for skill. On validation images, which it has not seen, it has "
                  "78.55 %, as everybody's."),
            Wrong("e",
                  "On FusionBench's models TSV-M has 83.1, with single models at 90.3. CART's row has single models at "
                  "90.5: nearly, but nobody has run both on the same files. And reproductions differ by one or two "
                  "points."),
        ],
        hints=["Before you compare two merges, compare what they were made of: the row of the single models.",
               "How much higher must one of eight tasks be to lift the mean from 90.5 to 92.8 alone? (8 × 2.3 points.) "
               "Look at DTD.",
               "A model has 97.98 % on test images and 78.55 % on validation images. Which has it seen before?"],
        praise="First the single models, then the merges. The owners of those checkpoints say themselves that they "
               "split DTD differently."),
]
