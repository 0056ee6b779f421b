"""A residual multi-layer perceptron: every block adds something to what runs through."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from data.types import checked_whole


class _Block(nn.Module):
    """h + out(ReLU(into(h)))."""

    def __init__(self, width):
        super().__init__()
        self.into = nn.Linear(width, width, dtype=torch.float64)
        self.out = nn.Linear(width, width, dtype=torch.float64)

    def forward(self, h):
        return h + self.out(F.relu(self.into(h)))


class ResidualMLP(nn.Module):
    """A linear layer with a ReLU, then blocks h + V·ReLU(W·h + b) + c, then a linear layer.

    Args:
        inputs, outputs: units of the two ends.
        width: of the stream that runs through the blocks, and of each block inside.
        blocks: how many.

    The state dict holds `first.weight` (width, inputs), `blocks.0.into.weight`, `blocks.0.out.weight` (width, width)
    and so on, `head.weight` (outputs, width), each with its bias. Drawn in float64 and rounded, as MLP's.
    """

    def __init__(self, inputs: int, width: int, blocks: int, outputs: int):
        super().__init__()
        inputs, width, outputs = (checked_whole(name, value, 1) for name, value in
                                  (("inputs", inputs), ("width", width), ("outputs", outputs)))
        self.first = nn.Linear(inputs, width, dtype=torch.float64)
        self.blocks = nn.ModuleList(_Block(width) for _ in range(checked_whole("blocks", blocks, 0)))
        self.head = nn.Linear(width, outputs, dtype=torch.float64)
        self.float()

    def features(self, x: Tensor) -> dict[str, Tensor]:
        """What runs through after every block: {"first": (samples, width), "block 1": …, "output": (samples, outputs)}.

        `x` is (samples, …); everything behind the first dimension is flattened.
        """
        h = F.relu(self.first(x.flatten(1)))
        features = {"first": h}
        for number, block in enumerate(self.blocks, 1):
            h = features[f"block {number}"] = block(h)
        features["output"] = self.head(h)
        return features

    def forward(self, x: Tensor) -> Tensor:
        """The output layer: logits (samples, outputs)."""
        return self.features(x)["output"]
