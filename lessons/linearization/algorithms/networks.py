"""Small networks as functions of one vector of weights θ: what they answer, what a change u of the weights does to the
answers to first order (J·u), and back (Jᵀ·r). Both products are written out layer by layer; no J is made.

θ is laid out as `toy_models.weights.flatten` lays out an MLP's state dict: W_1, b_1, W_2, b_2, … It may have dimensions
in front, (…, parameters): so many networks at once.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

Weights = Float[Tensor, "... parameters"]
Outputs = Float[Tensor, "... samples outputs"]
Inputs = Float[Tensor, "samples inputs"]

# name: (φ, φ' as a function of φ's value)
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "tanh": (torch.tanh, lambda h: 1 - h * h),
    "ReLU": (torch.relu, lambda h: (h > 0).to(h.dtype)),
    "linear": (lambda z: z, torch.ones_like)}


@dataclass(frozen=True)
class Net:
    """A multi-layer perceptron without its weights.

    Attributes:
        widths: units of every layer, inputs first, outputs last.
        activation: "tanh", "ReLU" or "linear", between the layers.
    """
    widths: tuple[int, ...]
    activation: str = "tanh"

    def __post_init__(self):
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {self.activation!r}: choose one of {', '.join(ACTIVATIONS)}")

    @property
    def sizes(self) -> list[int]:
        """How many weights each layer has, biases included."""
        return [(a + 1) * b for a, b in zip(self.widths, self.widths[1:])]

    def layers(self, theta: Weights) -> list[tuple[Tensor, Tensor]]:
        """θ cut into (W_l (…, out, in), b_l (…, out)) of every layer.

        Raises:
            ValueError: θ has another number of entries than such a network has weights.
        """
        if theta.shape[-1] != sum(self.sizes):
            raise ValueError(f"theta must have {sum(self.sizes)} entries for the widths {self.widths}, "
                             f"not {theta.shape[-1]}")
        layers = []
        for part, a, b in zip(theta.split(self.sizes, -1), self.widths, self.widths[1:]):
            layers.append((part[..., :a * b].unflatten(-1, (b, a)), part[..., a * b:]))
        return layers

    def initial(self, seed: int = 0) -> Float[Tensor, " parameters"]:
        """Random weights, of variance 1/inputs in every layer, and biases 0; float64."""
        generator = torch.Generator().manual_seed(seed)
        parts = []
        for a, b in zip(self.widths, self.widths[1:]):
            drawn = torch.randn(b * a, generator=generator, dtype=torch.float64) / a ** 0.5
            parts += [drawn, drawn.new_zeros(b)]
        return torch.cat(parts)

    def __call__(self, theta: Weights, x: Inputs) -> Outputs:
        """The answers, (…, samples, outputs)."""
        return self.trace(theta, x).outputs

    def trace(self, theta: Weights, x: Inputs) -> "Trace":
        """The answers, and what is needed to differentiate them at θ."""
        activate, slope = ACTIVATIONS[self.activation]
        layers = self.layers(theta)
        inputs, slopes, h = [], [], x
        for number, (weight, bias) in enumerate(layers, 1):
            inputs.append(h)
            h = h @ weight.mT + bias.unsqueeze(-2)
            if number < len(layers):
                h = activate(h)
                slopes.append(slope(h))
        return Trace(self, [weight for weight, _ in layers], inputs, slopes, h)


@dataclass(frozen=True)
class Trace:
    """What one pass through a network leaves: all that its derivative at θ needs.

    Attributes:
        net: the network.
        weights: W_l of every layer.
        inputs: what each layer is given, h_0 = x, h_1, …: (…, samples, in).
        slopes: φ' at the inner units, (…, samples, width) each.
        outputs: f_θ(x), (…, samples, outputs).
    """
    net: Net
    weights: list[Tensor]
    inputs: list[Tensor]
    slopes: list[Tensor]
    outputs: Tensor

    def along(self, u: Weights) -> Outputs:
        """J·u: what a step u of the weights does to the answers, to first order.

        Layer by layer, dz_l = dW_l·h_(l−1) + db_l + W_l·dh_(l−1) and dh_l = φ'(z_l)∘dz_l.
        """
        dh = None
        for number, (dweight, dbias) in enumerate(self.net.layers(u)):
            dz = self.inputs[number] @ dweight.mT + dbias.unsqueeze(-2)
            if dh is not None:
                dz = dz + dh @ self.weights[number].mT
            dh = dz * self.slopes[number] if number < len(self.slopes) else dz
        return dh

    def back(self, r: Outputs) -> Weights:
        """Jᵀ·r: the gradient of ⟨r, f_θ(x)⟩ by the weights, as backpropagation gets it."""
        parts = []
        for delta, h in zip(reversed(self.deltas(r)), reversed(self.inputs)):
            parts += [delta.sum(-2), (delta.mT @ h).flatten(-2)]
        return torch.cat(parts[::-1], -1)

    def deltas(self, r: Outputs) -> list[Tensor]:
        """δ_l = ∂⟨r, f⟩/∂z_l of every layer, (…, samples, width) each."""
        deltas = [r]
        for weight, slope in zip(reversed(self.weights[1:]), reversed(self.slopes)):
            deltas.append((deltas[-1] @ weight) * slope)
        return deltas[::-1]

    def rows(self, some: Tensor) -> "Trace":
        """The same for some of the samples: their numbers, (samples,)."""
        def pick(h):
            return h.index_select(-2, some)
        return replace(self, inputs=[pick(h) for h in self.inputs], slopes=[pick(h) for h in self.slopes],
                       outputs=pick(self.outputs))


def jacobian(net: Net, theta: Float[Tensor, " parameters"],
             x: Inputs) -> Float[Tensor, "samples parameters"]:
    """J = ∇f_θ(x) of a network with one output, a row a sample: for few samples, where J itself is wanted."""
    return torch.func.vmap(torch.func.grad(lambda weights, one: net(weights, one[None])[0, 0]), (None, 0))(theta, x)


def by_layers(net: Net, chosen: Sequence[int]) -> Float[Tensor, " parameters"]:
    """1 where a weight belongs to one of the chosen layers, counted from 0, and 0 elsewhere.

    Raises:
        ValueError: no layer is chosen, or one that the network does not have.
    """
    checked_layers(chosen, len(net.sizes))
    return torch.cat([torch.full((size,), float(number in chosen), dtype=torch.float64)
                      for number, size in enumerate(net.sizes)])


def checked_layers(chosen: Sequence[int], count: int) -> None:
    """Refuse an empty choice of layers, and layers that do not exist.

    Raises:
        ValueError: as said.
    """
    if not len(chosen):
        raise ValueError("no layer is chosen: with nothing to tune there is no kernel. Choose at least one")
    if unknown := [number for number in chosen if not 0 <= number < count]:
        raise ValueError(f"there is no layer {', '.join(map(str, unknown))}: the network has {count}, "
                         f"0 to {count - 1}")
