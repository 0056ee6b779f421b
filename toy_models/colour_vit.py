"""A vision transformer for colour images, built of `TinyViT`'s blocks, at sizes that are trained on a GPU."""
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from toy_models.tiny_vit import TEMPERATURE, patches
from toy_models.transformer import Block


class ColourViT(nn.Module):
    """A `TinyViT` for colour images: a patch has the pixels of every channel.

    Args:
        width: of the stream.
        depth: how many blocks.
        heads: of every attention; they divide the width.
        patch: side of the squares that an image is cut into; it divides `size`.
        size: side of an image.
        channels: of an image.
        num_classes: outputs.

    The state dict's keys are `TinyViT`'s; `patch.weight` is (width, channels·patch²), one channel's pixels after
    another's.
    """

    def __init__(self, width: int = 384, depth: int = 6, heads: int = 6, patch: int = 4, size: int = 32,
                 channels: int = 3, num_classes: int = 100):
        super().__init__()
        if width % heads or size % patch:
            raise ValueError(f"heads must divide the width and patch the size: {heads} and {width}, {patch} and {size}")
        self.side = patch
        self.patch = nn.Linear(channels * patch ** 2, width)
        self.token = nn.Parameter(0.02 * torch.randn(width))
        self.position = nn.Parameter(0.02 * torch.randn((size // patch) ** 2 + 1, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, num_classes, bias=False)
        self.float()

    def embedded(self, x: Float[Tensor, "samples channels height width"]) -> Float[Tensor, "samples places width"]:
        """What goes into the first block: the class token, then the patches, each with its position.

        Raises:
            ValueError: the squares do not fill the images.
        """
        cut = torch.cat([patches(channel, self.side) for channel in x.unbind(1)], 2)
        return torch.cat([self.token.expand(len(x), 1, -1), self.patch(cut)], 1) + self.position

    def features(self, x: Float[Tensor, "samples channels height width"]) -> dict[str, Float[Tensor, "samples ..."]]:
        """The stream after every block, (samples, places + 1, width), the class token first; "pooled", the normalised
        class token (samples, width); "output", the logits (samples, classes)."""
        h = self.embedded(x)
        features = {}
        for number, block in enumerate(self.blocks, 1):
            h = features[f"block {number}"] = block(h)
        features["pooled"] = self.norm(h[:, 0])
        directions = F.normalize(self.head.weight, dim=1)
        features["output"] = TEMPERATURE * F.linear(F.normalize(features["pooled"], dim=1), directions)
        return features

    def forward(self, x: Float[Tensor, "samples channels height width"]) -> Float[Tensor, "samples classes"]:
        """Logits."""
        return self.features(x)["output"]
