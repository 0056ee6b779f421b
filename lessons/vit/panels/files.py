"""Tables about files: what opening a spoilt one says, and the names that three libraries give one tower."""
from collections.abc import Mapping
from pathlib import Path

from lessons.checkpoints import naming
from lessons.checkpoints.folders import Checkpoint
from lessons.kit.page import Markup, Page, paragraph, table
from lessons.vit.experiment import example


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
