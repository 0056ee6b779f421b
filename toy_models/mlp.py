"""The multi-layer perceptron of the first chapters."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

threshold_backward = torch.ops.aten.threshold_backward  # (gradient, output, 0): the ReLU's backward pass


class MLP(nn.Module):
    """Linear layers with a ReLU between them.

    Args:
        widths: units per layer, input first and output last: (784, 100, 100, 100, 10) is the network of CTL, B.1.1.

    The weights are float32, drawn in float64 and rounded: torch's float32 draws end in other bits on other processors.
    The state dict holds `layers.0.weight` (100, 784), `layers.0.bias` (100,), `layers.1.weight` and so on.
    """

    def __init__(self, widths):
        super().__init__()
        if len(widths) < 2 or any(not isinstance(width, int) or width < 1 for width in widths):
            raise ValueError(f"widths must be at least two positive whole numbers, not {tuple(widths)!r}")
        self.layers = nn.ModuleList(nn.Linear(a, b, dtype=torch.float64) for a, b in zip(widths, widths[1:]))
        self.float()

    @classmethod
    def from_state(cls, state: dict[str, Tensor]) -> "MLP":
        """The network that has these weights. Nothing is copied: it shares the tensors' memory.

        Raises:
            ValueError: the keys or shapes are not an MLP's.
        """
        try:
            shapes = [state[f"layers.{i}.weight"].shape for i in range(len(state) // 2)]
            with torch.device("meta"):  # no weights are drawn, only to be replaced
                network = cls([shapes[0][1], *(shape[0] for shape in shapes)])
            network.load_state_dict({key: tensor.detach() for key, tensor in state.items()}, assign=True)
        except (KeyError, IndexError, RuntimeError) as error:
            raise ValueError(f"these are not the weights of an MLP: {error}. Keys: {', '.join(state)}") from None
        return network.requires_grad_(False)

    @property
    def layer_names(self) -> list[str]:
        """The keys of `features`, in depth order."""
        return [f"layer {i + 1}" for i in range(len(self.layers) - 1)] + ["output"]

    def features(self, x: Tensor) -> dict[str, Tensor]:
        """What every layer computes: {"layer 1": (samples, width), …, "output": (samples, classes)}, after the ReLU;
        the output has none.

        `x` is (samples, …); everything behind the first dimension is flattened.
        """
        h = x.flatten(1)
        features = {}
        for name, layer in zip(self.layer_names, self.layers):
            h = layer(h) if name == "output" else F.relu(layer(h))
            features[name] = h
        return features

    def forward(self, x: Tensor) -> Tensor:
        """The output layer: logits (samples, classes)."""
        return self.features(x)["output"]

    @torch.inference_mode()
    def sgd_step(self, x: Tensor, y: Tensor, lr: float) -> None:
        """One step of gradient descent on the mean cross-entropy of a batch x (samples, inputs), y (samples,), in
        place.

        It is computed in the weights' dtype, whatever x is in.

        The backward pass is written out: for networks this small, building and walking autograd's graph costs more time
        than the arithmetic. A test compares it with autograd.
        """
        # looked up once: a module's attributes and slices take time
        layers = [(layer.weight, layer.bias) for layer in self.layers]
        x = x.to(layers[0][0].dtype)
        h = [x]
        for weight, bias in layers[:-1]:
            h.append(torch.addmm(bias, h[-1], weight.t()).relu_())
        weight, bias = layers[-1]
        delta = torch.addmm(bias, h[-1], weight.t()).softmax(1)  # ∂loss/∂logits is softmax − one-hot
        delta.scatter_(1, y[:, None], -1, reduce="add")
        ones = x.new_ones(len(x))
        step = -lr / len(x)
        for (weight, bias), below in zip(reversed(layers), reversed(h)):
            # before the weight changes
            delta_below = threshold_backward(delta @ weight, below, 0) if below is not x else None
            weight.addmm_(delta.t(), below, alpha=step)
            bias.addmv_(delta.t(), ones, alpha=step)
            delta = delta_below  # type: ignore[assignment]  # None after the last, where the loop ends
