"""What the small ViT sees: an image cut into patches, and where its class token looks."""
import numpy as np
import torch
from matplotlib.patches import Rectangle
from torch import Tensor

from lessons.kit import drawings, plotting
from lessons.kit.page import said
from lessons.kit.plotting import GREEN, still
from lessons.kit.view import Axis, Bars, Chart, Frame, Map, Spots, chips, key, percent, view
from toy_models import tiny_vit

HALF, FEW = 0.5, 4  # of the attention, and on how many tokens it lies where a head looks at a few
MOST = 0.8  # of the attention: larger shares of a patch look alike
STEP = 15.0  # from a patch to the next in the drawing, of which it fills 13


@still
def cut(image: Tensor, side: int):
    """An image (height, width), the lines along which it is cut, and its patches in the order in which the network
    gets them, behind the class token."""
    patches = tiny_vit.patches(image[None], side)[0].unflatten(1, (side, side))
    height, width = image.shape
    rows, columns = height // side, width // side
    fig, ax = plotting.figure(height=2.6)
    scale = 58 / height  # the picture is 58 high
    ax.imshow(image, cmap="Greys", extent=(0, scale * width, 58, 0))
    for line in range(rows + 1):
        ax.plot([0, scale * width], [scale * side * line] * 2, color=GREEN, linewidth=1.5, marker="")
    for line in range(columns + 1):
        ax.plot([scale * side * line] * 2, [0, 58], color=GREEN, linewidth=1.5, marker="")
    left, half = scale * width + 24, (len(patches) + 1) // 2
    drawings.arrow(ax, (left - 20, 29), (left - 5, 29))
    ax.add_patch(_frame(left, 1))
    ax.text(left + 6.5, 7.5, "class\ntoken", ha="center", va="center", fontsize=9)
    for place, patch in enumerate(patches):
        x, y = left + STEP * (1 + place % half), 1 + 2 * STEP * (place // half)
        ax.imshow(patch, cmap="Greys", vmin=0, vmax=float(image.max()), extent=(x, x + 13, y + 13, y))
        ax.add_patch(_frame(x, y))
        ax.text(x + 6.5, y + 17, f"{place + 1}", ha="center", va="center")
        ax.text(scale * side * (place % columns) + 1, scale * side * (place // columns) + 1, f"{place + 1}",
                va="top", fontsize=7.5, color=GREEN, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    ax.set(xlim=(-1, left + STEP * (1 + half)), ylim=(60, -1), aspect="equal")
    ax.axis("off")
    alt = said("""A real digit of {height} × {width} pixels, cut by lines into {rows} × {columns} squares. Beside it the
                  {count} squares with their numbers, row by row, behind a box for the class token. {empty} of the
                  squares are empty.""", height=height, width=width, rows=rows, columns=columns, count=len(patches),
               empty=int((patches.amax((1, 2)) == 0).sum()))
    return plotting.show(fig, alt, f"{len(patches)} patches of {side} × {side} pixels, and the class token: what the "
                                   "network gets of one image.")


def _frame(x, y):
    """The frame around one token."""
    return Rectangle((x, y), 13, 13, fill=False, edgecolor=GREEN, linewidth=1.5)


@view
def class_token(network: tiny_vit.TinyViT, images: Tensor, labels: Tensor):
    """Where the class token looks: left, how much it attends to every patch, under the digit; right, the same shares
    with that of the class token itself, which add up to 1. Controls: head, block, image."""
    shares = shares_read(network, images)
    blocks, _, heads, _ = shares.shape
    size, side = images.shape[1], images.shape[1] // network.side
    clearest = int(shares[-1, 0, :, 1:].max(1).argmax())  # of the last block's heads, for the first image

    def draw(head, block, image):
        share = shares[block, image, head]
        row, column = np.nonzero(images[image].numpy() > 0.5)
        values = {"read": share[1:].reshape(side, side), "digit": (column + 0.5, size - row - 0.5), "share": share}
        alt = said("""Block {block}, head {head}, the digit {label}. Of the class token’s attention {itself} goes to the
                      class token; to the patches, row by row: {told}.""", block=block + 1, head=head + 1,
                   label=int(labels[image]), itself=percent(share[0]), told=", ".join(map(percent, share[1:])))
        return Frame(finding_of_looking(share), alt, values,
                     key(("", "Purple: how much the class token attends to a patch"), ("", "dots: the digit")))

    ticks = {size * (0.5 + place) / side: f"{place + 1}" for place in range(side)}
    picture = Chart(Axis("column of patches", 0, size, ticks=ticks),
                    Axis("row of patches", 0, size, ticks={size - middle: text for middle, text in ticks.items()},
                         unit="percent"),
                    (Map("read", "single", high=MOST), Spots("digit", "single", small=True)), height=392)
    places = {0: "class", **{place: f"{place}" for place in range(2, side * side + 1, 2)}}
    bars = Chart(Axis("token that it attends to: class token, patches", -1, side * side + 1, kind="places",
                      ticks=places),
                 Axis("share of the attention", 0, 1, unit="percent"),
                 (Bars("share", "single", x=tuple(range(side * side + 1)), bare=True),), height=392)
    return {"kicker": "Chapter 12: where the class token looks",
            "tries": ("Choose the heads one after the other. Do they look at the same patches?",
                      "Under “More”, choose other blocks and digits."),
            "charts": [picture, bars], "draw": draw,
            "controls": {"head": chips("head", {f"{head + 1}": head for head in range(heads)}, clearest),
                         "block": chips("block", {f"{block + 1}": block for block in range(blocks)}, blocks - 1,
                                        more=True),
                         "image": chips("digit", {f"{int(label)}": place for place, label in enumerate(labels)},
                                        more=True)},
            "caption": f"The pretrained ViT, test digits. Left, shares above {percent(MOST)} look alike."}


@torch.inference_mode()
def shares_read(network: tiny_vit.TinyViT, images: Tensor) -> np.ndarray:
    """(blocks, images, heads, tokens), softmax(qkᵀ/√d) of the class token: how much it attends to itself, which comes
    first, and to every patch."""
    h, shares = network.embedded(images), []
    for block in network.blocks:
        into, attention = block.norm1(h), block.attention
        q, k = (part(into).unflatten(-1, (attention.heads, -1)).transpose(1, 2) for part in (attention.q, attention.k))
        shares.append(torch.softmax(q[:, :, :1] @ k.mT / q.shape[-1] ** 0.5, -1)[:, :, 0])
        h = block(h)
    return torch.stack(shares).numpy()


def finding_of_looking(share: np.ndarray) -> str:
    """To how many tokens the class token attends; share: (tokens,), its own first."""
    if share.max() >= HALF:
        return f"Here the class token attends mostly to {'one patch' if share.argmax() else 'itself'}"
    few = np.sort(share)[::-1][:FEW].sum() >= HALF
    return f"Here the class token attends {'mostly to a few tokens' if few else 'a little to many patches'}"
