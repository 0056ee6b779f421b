"""A small vision transformer (Dosovitskiy et al. 2021) for images of one channel, built as CLIP's image encoder is
(Radford et al. 2021), with queries, keys and values apart.
"""
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from data.types import checked_whole
from toy_models.transformer import Block, blocks_in, of_weights

TEMPERATURE = 16.0  # of the cosines that are the logits


def patches(x: Float[Tensor, "samples height width"], side: int) -> Float[Tensor, "samples places pixels"]:
    """Images cut into squares of side × side pixels, row by row; the pixels of a square row by row too.

    Raises:
        ValueError: x is no stack of images, or its squares do not fill it.
    """
    if x.ndim != 3 or x.shape[1] % side or x.shape[2] % side:
        raise ValueError(f"images must be (samples, height, width) with sides that are multiples of {side}, "
                         f"not {tuple(x.shape)}")
    rows, columns = x.shape[1] // side, x.shape[2] // side
    cut = x.reshape(len(x), rows, side, columns, side)
    return cut.transpose(2, 3).reshape(len(x), rows * columns, side * side)


class TinyViT(nn.Module):
    """An encoder of images, and a head that compares what it says with one direction a class.

    Args:
        width: of the stream.
        depth: how many blocks.
        heads: of every attention; they divide the width.
        patch: side of the squares that an image is cut into; it divides `size`.
        size: side of an image.
        num_classes: outputs.

    The state dict holds `token` (width), `position` (places + 1, width), `patch.weight` (width, patch²),
    `blocks.0.norm1.weight`, `blocks.0.attention.q.weight` (width, width), `….k…`, `….v…`, `….out…`,
    `blocks.0.mlp.into.weight` (4·width, width), `blocks.0.mlp.out.weight`, …, `norm.weight`, the biases, and
    `head.weight` (classes, width). Drawn in float64 and rounded, as MLP's. Patches are multiplied by a matrix, not
    convolved, so that it is trained in float64.
    """

    def __init__(self, width: int = 64, depth: int = 4, heads: int = 4, patch: int = 7, size: int = 28,
                 num_classes: int = 20):
        super().__init__()
        width, heads = checked_whole("width", width, 1), checked_whole("heads", heads, 1)
        patch, size = checked_whole("patch", patch, 1), checked_whole("size", size, 1)
        if width % heads:
            raise ValueError(f"heads must divide the width: {width} is no multiple of {heads}")
        if size % patch:
            raise ValueError(f"patch must divide the size: {size} is no multiple of {patch}")
        places = (size // patch) ** 2
        self.patch = nn.Linear(patch ** 2, width, dtype=torch.float64)
        self.token = nn.Parameter(torch.empty(width, dtype=torch.float64))
        self.position = nn.Parameter(torch.empty(places + 1, width, dtype=torch.float64))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(checked_whole("depth", depth, 0)))
        self.norm = nn.LayerNorm(width, dtype=torch.float64)
        self.head = nn.Linear(width, checked_whole("num_classes", num_classes, 1), bias=False, dtype=torch.float64)
        for parameter in (self.token, self.position):
            nn.init.normal_(parameter, std=0.02)
        self.float()

    @classmethod
    def from_state(cls, state: dict[str, Tensor], heads: int = 4) -> "TinyViT":
        """The network that has these weights. Nothing is copied: it shares the tensors' memory.

        Args:
            state: the weights.
            heads: of every attention; shapes do not tell it.

        Raises:
            ValueError: the keys or shapes are not a TinyViT's.
        """
        def build(state):
            width, pixels = state["patch.weight"].shape
            side, places = round(pixels ** 0.5), len(state["position"]) - 1
            classes = len(state["head.weight"])
            return cls(width, blocks_in(state), heads, side, side * round(places ** 0.5), classes)

        return of_weights(state, build, "TinyViT")

    @property
    def side(self) -> int:
        """Of a patch, in pixels."""
        return round(self.patch.in_features ** 0.5)

    @property
    def layer_names(self) -> list[str]:
        """The keys of `features`, in depth order."""
        return [f"block {i + 1}" for i in range(len(self.blocks))] + ["pooled", "output"]

    def embedded(self, x: Float[Tensor, "samples height width"]) -> Float[Tensor, "samples places width"]:
        """What goes into the first block: the class token, then the patches, each with its position."""
        seen = self.patch(patches(x, self.side))
        token = self.token.expand(len(x), 1, -1)
        return torch.cat([token, seen], 1) + self.position

    def features(self, x: Float[Tensor, "samples height width"]) -> dict[str, Float[Tensor, "samples ..."]]:
        """The stream after every block, (samples, places + 1, width), the class token first; "pooled", the normalised
        class token (samples, width); "output", the logits (samples, classes).

        Raises:
            ValueError: the images have another shape.
        """
        h = self.embedded(x)
        features = {}
        for name, block in zip(self.layer_names, self.blocks):
            h = features[name] = block(h)
        features["pooled"] = self.norm(h[:, 0])
        features["output"] = self.compared(features["pooled"])
        return features

    def compared(self, pooled: Float[Tensor, "samples width"]) -> Float[Tensor, "samples classes"]:
        """The logits of pooled features: `TEMPERATURE` times the cosine with every class's direction."""
        return TEMPERATURE * F.normalize(pooled, dim=1) @ F.normalize(self.head.weight, dim=1).T

    def forward(self, x: Float[Tensor, "samples height width"]) -> Float[Tensor, "samples classes"]:
        """Logits."""
        return self.features(x)["output"]
