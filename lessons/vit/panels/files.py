"""About files: the bytes of one, what opening a spoilt one says, and the names that three libraries give one tower."""
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.patches import Rectangle
from torch import Tensor

from lessons.checkpoints import naming, opening
from lessons.checkpoints.folders import Checkpoint
from lessons.kit import plotting
from lessons.kit.page import Markup, Page, minus, paragraph, said, table
from lessons.kit.plotting import GREY, still
from lessons.vit.experiment import example

WIDE = 16  # bytes in a row of the drawing
PALE = ("#dcdcdc", "#ddd0f0", "#bfe6da")  # length, header, tensors: under black letters


@still
def bytes_of(path: Path):
    """The bytes of a safetensors file of float32 in hex, where its parts meet: the length of the header, the header
    with its letters, and the first numbers of the first tensor."""
    places = opening.header(path).places
    first = min(places, key=places.get)
    data = places[first][0]
    with open(path, "rb") as file:
        content = file.read(data + WIDE)
    numbers = np.frombuffer(content[data:], "<f4")
    fig, ax = plotting.figure(height=4.4)
    for row, start in enumerate((0, WIDE, 2 * WIDE, None, data - WIDE, data)):
        if start is None:
            ax.text(WIDE / 2, row + 0.5, "…", ha="center", va="center", fontsize=14)
            continue
        ax.text(-0.3, row + 0.5, f"{start:,}", ha="right", va="center", fontsize=9, color=GREY)
        for column, byte in enumerate(content[start:start + WIDE]):
            part = (start + column >= 8) + (start + column >= data)
            ax.add_patch(Rectangle((column, row + 0.05), 1, 0.9, facecolor=PALE[part], edgecolor="white"))
            ax.text(column + 0.5, row + 0.33, f"{byte:02x}", ha="center", va="center", family="DejaVu Sans Mono")
            letter = chr(byte) if part == 1 else ""
            ax.text(column + 0.5, row + 0.72, letter, ha="center", va="center", fontsize=9, fontweight="bold")
    for place, number in enumerate(numbers):
        ax.text(4 * place + 2, 5.72, minus(f"{number:.5f}"), ha="center", va="center", fontsize=9,
                fontweight="bold")
    names = {0.5: f"header length, 8 bytes:\nN = {data - 8:,}", 2.5: "header, N bytes:\nJSON, letter by letter",
             5.5: f"tensors: here {first},\n4 bytes for each number"}
    for part, (y, text) in enumerate(names.items()):
        ax.text(WIDE + 0.4, y, text, va="center", bbox={"facecolor": PALE[part], "edgecolor": "none", "pad": 4})
    ax.set(xlim=(-2, WIDE + 7), ylim=(6.1, -0.1))
    ax.axis("off")
    alt = said("""Rows of {wide} bytes in hex, in three colours. The first 8 bytes, {length}, are the length of the
                  header, N = {N:,}. The next N bytes are letters of JSON and begin with {begin}. From byte {data:,} on,
                  every 4 bytes are a number of the tensor {first}: {numbers}.""", wide=WIDE, N=data - 8, data=data,
               length=content[:8].hex(" "), begin=content[8:3 * WIDE].decode(), first=first,
               numbers=", ".join(map("{:.5f}".format, numbers)))
    return plotting.show(fig, alt, "To the left of each row is the position of its first byte. The byte 20 is a space.")


@still
def compared(paths: Mapping[str, Path], last: bool = False):
    """The first bytes of several files in hex, or the last ones, with those coloured that differ from the first file's;
    below each byte its letter, if it has one."""
    fig, ax = plotting.figure(height=0.5 + 0.5 * len(paths))
    contents = {name: path.read_bytes()[-WIDE if last else 0:][:WIDE] for name, path in paths.items()}
    sound = next(iter(contents.values()))
    for row, (name, content) in enumerate(contents.items()):
        ax.text(-0.3, row + 0.5, name, ha="right", va="center", fontsize=9)
        for column, byte in enumerate(content):
            colour = PALE[2] if byte == sound[column] else "#ffd9a0"
            ax.add_patch(Rectangle((column, row + 0.05), 1, 0.9, facecolor=colour, edgecolor="white"))
            ax.text(column + 0.5, row + 0.33, f"{byte:02x}", ha="center", va="center", family="DejaVu Sans Mono")
            letter = chr(byte) if not last and 32 < byte < 127 else ""
            ax.text(column + 0.5, row + 0.74, letter, ha="center", va="center", fontsize=8, parse_math=False)
    ax.set(xlim=(-7, WIDE), ylim=(len(contents), 0))
    ax.axis("off")
    told = "; ".join(f"{name}: {content.hex(' ')}" for name, content in contents.items())
    return plotting.show(fig, f"{'Last' if last else 'First'} bytes. {told}.",
                         "Orange: bytes that differ from those of the first file.")


@still
def three_in_one(fused: Tensor, key: str):
    """A matrix that holds queries, keys and values one above the other."""
    fig, ax = plotting.figure(height=3.6)
    rows, columns = fused.shape
    high = float(fused.abs().quantile(0.99))
    ax.imshow(fused.numpy(), cmap="PuOr", vmin=-high, vmax=high, extent=(0, columns, rows, 0))
    for part, name in enumerate(("q, queries", "k, keys", "v, values")):
        ax.axhline(part * rows / 3, color="black", linewidth=1.5, marker="")
        ax.text(columns + 3, (part + 0.5) * rows / 3, name, va="center")
    ax.set(yticks=[0, rows // 3, 2 * rows // 3, rows], xticks=[0, columns], ylabel="row", xlabel="column")
    ax.grid(False)
    return plotting.show(fig, f"{key}, {rows} × {columns}: rows 0 to {rows // 3 - 1} are queries, the next {rows // 3} "
                              "keys, the last values.", f"{key} of θ₀. Purple is positive, orange negative.")


def said_of_spoilt(folders: Mapping[str, Path]) -> Page:
    """What opening each of some folders says."""
    rows = [[what, example.said_of(folder)] for what, folder in folders.items()]
    return table(["model.safetensors is", "and opening it says"], rows, left=2)


def names_of_a_block() -> Page:
    """The table of names that the loader reads: one block's weights, and the embeddings."""
    rows = []
    for row in (*naming.OF_VISION, *naming.IN_BLOCK):
        ours, *theirs = (name.format(p="weight") for name in row)
        shown = [name.replace("[0]", " (first third)").replace("[1]", " (second)").replace("[2]", " (last)")
                 for name in theirs]
        rows.append([Markup("<code>{}</code>").format(name) for name in (ours, *shown)])
    return table(["transformers from 5.6 on, and our CLIP loader", "open_clip", "timm"], rows, left=3)


def contents(checkpoint: Checkpoint, most: int = 8) -> Page:
    """The first entries of a checkpoint's header: name, dtype, shape."""
    rows = [[Markup("<code>{}</code>").format(key), entry.dtype, "×".join(map(str, entry.shape)) or "one number"]
            for key, entry in list(checkpoint.entries.items())[:most]]
    after = paragraph(f"… and {len(checkpoint) - most} more") if len(checkpoint) > most else ""
    return table(["tensor", "dtype", "shape"], rows, after=after)
