"""The mathematics of the chapter: task vectors, the two equations that carry their arithmetic over to features, and
stitching.
"""
from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from lessons.linearity.algorithms import Numbers, coef, cosine, own_distance
from toy_models import MLP, ResNet18, TinyViT, weights
from toy_models.weights import State


class TaskVector:
    """What finetuning did to the weights: τ = finetuned − base (Ilharco et al. 2023; CTL, §4.3).

    `0.5 * tau`, `-tau`, `tau_a + tau_b`, `tau_a - tau_b` and `sum([…])` are task vectors again;
    `base + 0.4 * (tau_a + tau_b)` is a state dict. Whole-number tensors (BatchNorm's counter) are no part of the
    vector: a result has those of the base. Nothing changes its arguments.

    Args:
        base: the state dict that finetuning began from.
        finetuned: the state dict that it ended with.

    Attributes:
        difference: τ as a state dict.

    Raises:
        ValueError: the two do not belong together, or one holds NaN; the message names the key.
    """
    __array_ufunc__ = None  # a number of numpy's leaves the multiplication to us

    def __init__(self, base: State, finetuned: State):
        self.difference = weights.subtract(finetuned, base)

    @classmethod
    def of(cls, difference: State) -> TaskVector:
        """The task vector with this difference, a state dict; it is copied."""
        tau = cls.__new__(cls)
        tau.difference = weights.scale(difference, 1.0)
        return tau

    def __add__(self, other):
        if isinstance(other, dict):
            return self.apply_to(other)
        if not isinstance(other, TaskVector):
            return NotImplemented
        return TaskVector.of(weights.add(self.difference, other.difference))

    def __radd__(self, other):
        return self if isinstance(other, int) and other == 0 else self.__add__(other)  # sum() begins with 0

    def __sub__(self, other):
        if not isinstance(other, TaskVector):
            return NotImplemented
        return TaskVector.of(weights.subtract(self.difference, other.difference))

    def __rsub__(self, other):
        return self.apply_to(other, -1.0) if isinstance(other, dict) else NotImplemented

    def __neg__(self):
        return -1.0 * self

    def __mul__(self, factor):
        if not isinstance(factor, numbers.Real) or isinstance(factor, bool):
            raise TypeError(f"a task vector can be multiplied by a number, not by a {type(factor).__name__}")
        return TaskVector.of(weights.scale(self.difference, factor))

    __rmul__ = __mul__

    def __truediv__(self, factor):
        raise TypeError("a task vector is not divided: multiply it, 0.5 * tau")

    def apply_to(self, base: State, scale: float = 1.0) -> State:
        """base + scale · τ, a new state dict; λ is `scale`.

        Raises:
            ValueError: base and τ do not belong together, or scale is no finite number.
        """
        return weights.add(base, weights.scale(self.difference, scale))

    def only(self, layers: str | Iterable[str] | Callable[[str], bool]) -> TaskVector:
        """The part of τ that lies in some layers; elsewhere it is zero.

        Args:
            layers: the name of a layer or several, `"layers.0"` or `["layers.0", "blocks.3"]`, or a function
                key -> bool.

        Raises:
            ValueError: there is no such layer; the message lists the keys.
        """
        if callable(layers):
            chosen = {key for key in self.difference if layers(key)}
        else:
            names = [layers] if isinstance(layers, str) else list(layers)
            chosen = {key for key in self.difference for name in names if _lies_in(key, name)}
            if unknown := [name for name in names if not any(_lies_in(key, name) for key in chosen)]:
                raise ValueError(f"there is no layer {', '.join(map(repr, unknown))}; the keys are: "
                                 f"{', '.join(list(self.difference)[:12])}")
        kept = {key for key, tensor in self.difference.items() if key in chosen or not tensor.is_floating_point()}
        return TaskVector.of({key: tensor if key in kept else torch.zeros_like(tensor)
                              for key, tensor in self.difference.items()})

    def dot(self, other: TaskVector) -> float:
        """⟨τ, other⟩ over all weights, in float64."""
        return weights.dot(self.difference, other.difference)

    def norm(self) -> float:
        """‖τ‖: how far finetuning went."""
        return weights.norm(self.difference)

    def cosine(self, other: TaskVector) -> float:
        """The cosine between two task vectors, in [−1, 1].

        Raises:
            ValueError: one of them is zero everywhere.
        """
        return weights.cosine(self.difference, other.difference)

    def __repr__(self):
        count = sum(tensor.numel() for tensor in self.difference.values() if tensor.is_floating_point())
        return f"TaskVector({count:,} weights, norm {self.norm():.3g})"


def _lies_in(key, layer):
    return key == layer or key.startswith(f"{layer}.")


def edited(base: State, finetuned: State, lam: float) -> State:
    """θ₀ + λτ: the base with a part of what finetuning did, or with its opposite where λ < 0 (CTL, §4.3)."""
    return base + lam * TaskVector(base, finetuned)


def cosines(vectors: Sequence[TaskVector]) -> Float64[Tensor, "tasks tasks"]:
    """The cosine between every two task vectors."""
    flat = torch.stack([weights.flatten(tau.difference).double() for tau in vectors])
    unit = flat / flat.norm(dim=1, keepdim=True)
    return unit @ unit.T


# -- Eq. 2, 3 and 4 --------------------------------------------------------------------------------

def cosine_arith(middle: Float[Tensor, "samples width"], a: Float[Tensor, "samples width"],
                 b: Float[Tensor, "samples width"]) -> Float64[Tensor, " samples"]:
    """The cosine between the edited network's features and the mean of those of its two ends, sample by sample (CTL,
    §4.3).

    The edited network has the weights θ₀ + ½(v_a + v_b), the ends θ₀ + v_a and θ₀ + v_b: it stands half-way between
    them. For Eq. 2 v_a = 2λτ_i and v_b = 2λτ_j; for Eq. 3 v_a = λτ_i and v_b = −λτ_i.
    """
    return cosine(middle, (a.double() + b.double()) / 2)


def halfway(features_middle: dict, features_a: dict, features_b: dict) -> dict[str, dict[str, Tensor]]:
    """What CTL's Figures 7 and 8 show, for Eq. 2 or Eq. 3: `cosine_arith` and coef, beside the baseline between the two
    ends.

    Args:
        features_middle, features_a, features_b: {layer: (samples, width)}.

    Returns:
        {layer: {"gap": 1 − cosine_arith, "coef", "base": 1 − cosine_base}}, each (samples,) in float64.
    """
    quantities = {}
    for layer, middle in features_middle.items():
        a = features_a[layer]
        b = features_b[layer]
        gap = 1 - cosine_arith(middle, a, b)
        quantities[layer] = {"gap": gap, "coef": coef(middle, (a + b) / 2), "base": own_distance(a, b)}
    return quantities


def relative_deviation(middle: Float[Tensor, "samples width"], a: Float[Tensor, "samples width"],
                       b: Float[Tensor, "samples width"]) -> float:
    """Root mean square length of f(middle) − ½f(a) − ½f(b), in units of that of f(middle)."""
    return ((middle - (a + b) / 2).norm() / middle.norm()).item()


def log_slope(x: Numbers, y: Numbers) -> float:
    """The exponent p of y ≈ c·x^p: the slope of the least-squares line through (log x, log y).

    Raises:
        ValueError: fewer than two points, or a value that is not above 0.
    """
    if len(x) != len(y) or len(x) < 2 or min(*x, *y) <= 0:
        raise ValueError("a slope on logarithmic axes needs at least two points with x and y above 0")
    u, v = ([math.log(value) for value in values] for values in (x, y))
    mean_u = sum(u) / len(u)
    mean_v = sum(v) / len(v)
    return sum((p - mean_u) * (q - mean_v) for p, q in zip(u, v)) / sum((p - mean_u) ** 2 for p in u)


def negated_in_features(at_base: Float[Tensor, "samples ..."],
                        at_finetuned: Float[Tensor, "samples ..."]) -> Float[Tensor, "samples ..."]:
    """f(θ₀) − Δ with Δ = f(θ₀ + λτ) − f(θ₀): the right-hand side of Eq. 4.

    Args:
        at_base, at_finetuned: features of θ₀ and of θ₀ + λτ.
    """
    return 2 * at_base - at_finetuned


# -- stitching -------------------------------------------------------------------------------------

def stitched(network: MLP | ResNet18 | TinyViT, layer: str,
             h: Float[Tensor, "samples ..."]) -> Float[Tensor, "samples classes"]:
    """The network's answer when its features at a layer are replaced: f^{L←(ℓ+1)}(θ; h) (CTL, §4.3).

    Args:
        network: whose layers behind `layer` are used.
        layer: one of `network.layer_names`.
        h: what is put in there: (samples, width), or (samples, channels, height, width) for a ResNet's block, (samples,
            places + 1, width) for a transformer's.

    Raises:
        ValueError: the network has no such layer.
    """
    if layer not in network.layer_names:
        raise ValueError(f"unknown layer {layer!r}: choose one of {', '.join(network.layer_names)}")
    behind = network.layer_names.index(layer) + 1
    if isinstance(network, ResNet18):
        for block in network.blocks[behind:]:
            h = block(h)
        return h if layer == "output" else network.head(h.mean((2, 3)))
    if isinstance(network, TinyViT):
        if layer == "output":
            return h
        for block in network.blocks[behind:]:
            h = block(h)
        return network.compared(h if layer == "pooled" else network.norm(h[:, 0]))
    for following in network.layers[behind:]:
        h = following(h)
        if following is not network.layers[-1]:
            h = F.relu(h)
    return h


# -- what a network still knows of a task -----------------------------------------------------------

def read_out(h: Float[Tensor, "samples width"], y: Int64[Tensor, " samples"], elsewhere: Float[Tensor, "others width"],
             strength: float = 1e-3, classes: int = 10) -> Int64[Tensor, " others"]:
    """A new last layer, fitted to features by ridge regression, and the classes that it gives to other samples.

    Features are made comparable first: mean 0 and standard deviation 1 on the samples it is fitted to.

    Args:
        h: features to fit to.
        y: their labels.
        elsewhere: features to answer for.
        strength: of the ridge, a share of the number of samples; more than 0.
        classes: how many there are.
    """
    mean = h.double().mean(0)
    scale = h.double().std(0) + 1e-6  # a unit that never changes says nothing
    units = ((features.double() - mean) / scale for features in (h, elsewhere))
    seen, asked = (torch.cat([unit, unit.new_ones(len(unit), 1)], 1) for unit in units)
    ridge = strength * len(h) * torch.eye(seen.shape[1], dtype=torch.float64)
    weight = torch.linalg.solve(seen.T @ seen + ridge, seen.T @ F.one_hot(y, classes).double())
    return (asked @ weight).argmax(1)


def classes_above(logits: Float[Tensor, "samples classes"],
                  y: Int64[Tensor, " samples"]) -> Int64[Tensor, " samples"]:
    """How many classes the network prefers to the right one: 0 where it answers rightly, classes − 1 where the right
    class comes last. By guessing: (classes − 1)/2 on average."""
    return (logits > logits.gather(1, y[:, None])).sum(1)


def shuffled(tau: TaskVector, seed: int) -> TaskVector:
    """A task vector with the same numbers, tensor by tensor, in other places: as long as τ, but it points nowhere."""
    generator = torch.Generator().manual_seed(seed)
    difference = {}
    for key, tensor in tau.difference.items():
        order = torch.randperm(tensor.numel(), generator=generator)
        difference[key] = tensor.flatten()[order].view_as(tensor)
    return TaskVector.of(difference)


def shares_of(lams: Numbers) -> Float64[Tensor, " models"]:
    """θ₀ + Σ λ_t τ_t as a combination of models: the share 1 − Σ λ_t of θ₀, then λ_t of every θ_t.

    The shares sum to 1, but where Σ λ_t > 1 or a λ_t is negative the first or that one is below 0: the point lies
    outside the models.
    """
    lams = torch.as_tensor(lams, dtype=torch.float64)
    return torch.cat([1 - lams.sum(0, keepdim=True), lams])
