"""LoRA and the kernel: every matrix W gets W + B·A with A (rank, in) random and B (out, rank) 0, and A and B are tuned
(Hu et al. 2022). At the start only B counts."""
import torch
from jaxtyping import Float
from torch import Tensor

from lessons.linearization.algorithms.networks import Inputs, Net


def drawn(net: Net, rank: int, seed: int = 0) -> list[Float[Tensor, "rank inputs"]]:
    """A of every layer, entries of variance 1/rank, so that E[AᵀA] = I; a layer with fewer inputs than `rank` has as
    many rows as inputs.

    Raises:
        ValueError: the rank is not a whole number above 0.
    """
    if not isinstance(rank, int) or rank < 1:
        raise ValueError(f"the rank must be a whole number above 0, not {rank!r}")
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(rank, width, generator=generator, dtype=torch.float64) / rank ** 0.5
            for width in net.widths[:-1]]


def blocks(net: Net, theta: Float[Tensor, " parameters"], x: Inputs, A: list[Tensor],
           other: Float[Tensor, "others inputs"] | None = None) -> Float[Tensor, "layers samples _"]:
    """Every layer's part of LoRA's kernel at the start: (δδᵀ)∘(hAᵀAhᵀ). No biases are tuned.

    B = 0, so that the derivative by A is 0, and that by B is δ·(Ah)ᵀ.
    """
    parts = []
    at_x = net.trace(theta, x)
    at_other = at_x if other is None else net.trace(theta, other)
    deltas, others = (trace.deltas(torch.ones_like(trace.outputs)) for trace in (at_x, at_other))
    for delta, delta_b, h, h_b, down in zip(deltas, others, at_x.inputs, at_other.inputs, A):
        parts.append((delta @ delta_b.mT) * ((h @ down.mT) @ (h_b @ down.mT).mT))
    return torch.stack(parts)


def full_blocks(net: Net, theta: Float[Tensor, " parameters"], x: Inputs,
                other: Float[Tensor, "others inputs"] | None = None) -> Float[Tensor, "layers samples _"]:
    """The same for the whole matrices, without biases: what LoRA's kernel is on average over A, (δδᵀ)∘(hhᵀ)."""
    return blocks(net, theta, x, [torch.eye(width, dtype=theta.dtype) for width in net.widths[:-1]], other)


def merged(net: Net, theta: Tensor, A: list[Tensor], B: list[Tensor]) -> Tensor:
    """θ with W + B·A in every layer: (…, parameters)."""
    parts = []
    for (weight, bias), down, up in zip(net.layers(theta), A, B):
        changed = weight + up @ down
        parts += [changed.flatten(-2), bias.expand(*changed.shape[:-2], bias.shape[-1])]
    return torch.cat(parts, -1)


def gradients(net: Net, gradient: Tensor, A: list[Tensor], B: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The gradients by every A and B from that by θ: ∂/∂A = BᵀG and ∂/∂B = GAᵀ, G being that by the matrix."""
    of_A, of_B = [], []
    for (G, _), down, up in zip(net.layers(gradient), A, B):
        of_A.append(up.mT @ G)
        of_B.append(G @ down.mT)
    return of_A, of_B
