"""ResNet-18 for 32×32 images (He et al. 2016, with the stem of its CIFAR form: a 3×3 convolution, no pooling)."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from data.types import checked_whole


class _Block(nn.Module):
    """Two 3×3 convolutions with BatchNorm, and the input added before the last ReLU."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.shortcut(x))


class ResNet18(nn.Module):
    """Eight residual blocks in four stages of width, 2·width, 4·width and 8·width channels, a mean over the image, one
    linear layer.

    Args:
        width: channels of the first stage; 64 is ResNet-18 (11.2 million parameters), 16 has 0.7 million.
        num_classes: outputs.

    The state dict holds `stem.0.weight` (width, 3, 3, 3), `blocks.0.conv1.weight`, …, `head.weight` (classes, 8·width),
    `head.bias`, and for every BatchNorm `running_mean`, `running_var` and the whole number `num_batches_tracked`.
    """

    def __init__(self, width: int = 64, num_classes: int = 100):
        super().__init__()
        width = checked_whole("width", width, 1)
        num_classes = checked_whole("num_classes", num_classes, 1)
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
        self.blocks, inputs = nn.ModuleList(), width
        for stage in range(4):
            for stride in (1 if stage == 0 else 2, 1):
                self.blocks.append(_Block(inputs, width << stage, stride))
                inputs = width << stage
        self.head = nn.Linear(inputs, num_classes)

    @classmethod
    def from_state(cls, state: dict[str, Tensor]) -> "ResNet18":
        """The network that has these weights and running statistics. Nothing is copied: it shares the tensors' memory.

        Raises:
            ValueError: the keys or shapes are not a ResNet18's.
        """
        try:
            with torch.device("meta"):  # no weights are drawn, only to be replaced
                network = cls(state["stem.0.weight"].shape[0], state["head.weight"].shape[0])
            network.load_state_dict({key: tensor.detach() for key, tensor in state.items()}, assign=True)
        except (KeyError, RuntimeError) as error:
            keys = ", ".join(list(state)[:8])
            raise ValueError(f"these are not the weights of a ResNet18: {error}. Keys: {keys} …") from None
        return network.eval().requires_grad_(False)

    @property
    def layer_names(self) -> list[str]:
        """The keys of `features`, in depth order."""
        return [f"block {i + 1}" for i in range(len(self.blocks))] + ["output"]

    def features(self, x: Tensor) -> dict[str, Tensor]:
        """What every block gives, after its ReLU: {"block 1": (samples, width, 32, 32), …,
        "block 8": (samples, 8·width, 4, 4), "output": (samples, classes)}; the output has no ReLU. `x` is
        (samples, 3, 32, 32).

        Raises:
            ValueError: x has another shape.
        """
        if x.ndim != 4 or x.shape[1] != 3:
            raise ValueError(f"images must be (samples, 3, height, width), not {tuple(x.shape)}")
        h = F.relu(self.stem(x))
        features = {}
        for name, block in zip(self.layer_names, self.blocks):
            h = features[name] = block(h)
        features["output"] = self.head(h.mean((2, 3)))
        return features

    def forward(self, x: Tensor) -> Tensor:
        """The output layer: logits (samples, classes)."""
        return self.features(x)["output"]
