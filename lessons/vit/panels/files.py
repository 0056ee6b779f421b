"""About files: the bytes of one, what opening a spoilt one says, and the names that three libraries give one tower."""
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.patches import Rectangle

from lessons.checkpoints import naming, opening
from lessons.checkpoints.folders import Checkpoint
from lessons.kit import plotting
from lessons.kit.page import Markup, Page, paragraph, said, table
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
        ax.text(4 * place + 2, 5.72, f"{number:.5f}".replace("-", "−"), ha="center", va="center", fontsize=9,
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
    return plotting.show(fig, alt, "Left of each row stands the place of its first byte. The byte 20 is a space.")


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
    return table(["transformers from 5.6 on, and ours", "open_clip", "timm"], rows, left=3)


def contents(checkpoint: Checkpoint, most: int = 8) -> Page:
    """The first entries of a checkpoint's header: name, dtype, shape."""
    rows = [[Markup("<code>{}</code>").format(key), entry.dtype, "×".join(map(str, entry.shape)) or "one number"]
            for key, entry in list(checkpoint.entries.items())[:most]]
    after = paragraph(f"… and {len(checkpoint) - most} more") if len(checkpoint) > most else ""
    return table(["tensor", "dtype", "shape"], rows, after=after)
