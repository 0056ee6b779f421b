"""LoRA's change of a matrix: ΔW = s·B·A with A (r, in) and B (out, r), s = α/r, or α/√r in rank-stabilised LoRA (Hu et
al. 2022; Kalajdzievski 2023). What adds up is ΔW; A and B apart mean nothing, since (B·M⁻¹)(M·A) is the same ΔW.
"""
import math

import torch
from jaxtyping import Float
from torch import Tensor


def scaling(alpha: float, rank: int, rslora: bool = False) -> float:
    """s, what B·A is multiplied by: α/r, or α/√r.

    Raises:
        ValueError: the rank is not above 0.
    """
    if rank < 1:
        raise ValueError(f"the rank must be a whole number above 0, not {rank!r}")
    return alpha / (math.sqrt(rank) if rslora else rank)


def change(down: Float[Tensor, " r *inputs"], up: Float[Tensor, " outputs _ *ones"], scale: float,
           turned: bool = False) -> Float[Tensor, "..."]:
    """ΔW = scale·B·A in float32 or more.

    Args:
        down: A, (r, in), of a convolution (r, in, kh, kw).
        up: B, (out, r), of a convolution (out, r, 1, 1).
        turned: the weight is stored as (in, out), as GPT-2's Conv1D does (`fan_in_fan_out` in PEFT).

    Returns:
        (out, in), or with `turned` (in, out), of a convolution (out, in, kh, kw).

    Raises:
        ValueError: A and B do not have the same rank.
    """
    if up.shape[1] != len(down):
        raise ValueError(f"A has rank {len(down)} and B rank {up.shape[1]}: they are not of one adapter")
    wide = torch.float64 if down.dtype == torch.float64 else torch.float32
    product = scale * (up.flatten(1).to(wide) @ down.flatten(1).to(wide))
    if turned:
        return product.T.contiguous()
    return product.view(len(up), *down.shape[1:])


def summed(downs: list[Tensor], ups: list[Tensor], scales: list[float]) -> tuple[Tensor, Tensor]:
    """Several adapters as one of the rank of all together: A stacked, B side by side, with the scales in B.

    So Σ s_t·B_t·A_t is an adapter too, of rank Σ r_t: that is how adapters are added without a full matrix.

    Returns:
        (A, B) whose product is the sum.
    """
    return torch.cat(downs), torch.cat([scale * up for scale, up in zip(scales, ups)], 1)


def delta_w(down: Float[Tensor, " r inputs"], up: Float[Tensor, " outputs _"], alpha: float,
            rslora: bool) -> Float[Tensor, "outputs inputs"]:
    """ΔW of a plain matrix: `change` with the scale of `scaling`."""
    return change(down, up, scaling(alpha, len(down), rslora))
