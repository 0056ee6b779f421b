"""Networks mixed with shares γ, and which shares are best by which distances (SAIL, Def. 1 and Thm. 3).

Convention: γ₁ is the share of the first parent; with two parents θ^P = γ·θ₁ + (1 − γ)·θ₂, as the course's
`interpolate`. γ may lie outside [0, 1]; shares sum to 1.
"""
import itertools
import math
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from toy_models import weights
from toy_models.weights import State

SUM = 1e-6  # by how much shares may miss 1


def proximal(parents: Sequence[State], shares: Iterable[float]) -> dict[str, Tensor]:
    """θ^P = Σ γᵢ·θᵢ for every floating-point tensor; counters are carried over from the first parent (SAIL, Def. 1).

    Raises:
        ValueError: the shares are not one a parent, or do not sum to 1; or the parents are of different architectures.
    """
    shares = [float(share) for share in shares]
    if len(shares) != len(parents) or not parents:
        raise ValueError(f"one share a parent is needed: there are {len(shares)} shares and {len(parents)} parents")
    if not all(map(math.isfinite, shares)) or abs(sum(shares) - 1) > SUM:
        raise ValueError(f"the shares γ must sum to 1, and {shares} sum to {sum(shares):g}")
    same_architecture(parents)
    mixed = {key: tensor.clone() for key, tensor in parents[0].items()}
    for key, tensor in parents[0].items():
        if tensor.is_floating_point():
            mixed[key] = sum(share * parent[key] for share, parent in zip(shares, parents))
    return mixed


def same_architecture(parents: Sequence[State]) -> None:
    """Parents can only be mixed where every tensor has its counterpart.

    Raises:
        ValueError: they are of different architectures; names the layer and the two sizes.
    """
    first = parents[0]
    for number, other in enumerate(parents[1:], 2):
        for key in [*first, *(key for key in other if key not in first)]:
            sizes = [tuple(state[key].shape) if key in state else "no such layer" for state in (first, other)]
            if sizes[0] != sizes[1]:
                raise ValueError(f"parents 1 and {number} are of different architectures: {key!r} is {sizes[0]} in the "
                                 f"one and {sizes[1]} in the other. Transform first, with toy_models.growth.")
    weights.check(*parents)


# -- two parents -----------------------------------------------------------------------------------

def nearest_share(d1: float, d2: float, d12: float) -> float:
    """The γ with which γ·θ₁ + (1 − γ)·θ₂ is nearest to θ*: (d₂² + d₁₂² − d₁²)/(2·d₁₂²) (SAIL, Eq. 11, with distances
    of parameters; it is the law of cosines).

    Args:
        d1, d2: ‖θ₁ − θ*‖ and ‖θ₂ − θ*‖.
        d12: ‖θ₁ − θ₂‖.

    Raises:
        ValueError: a distance is negative or not finite, or d12 is 0: then every γ gives the same network.
    """
    if not all(math.isfinite(d) and d >= 0 for d in (d1, d2, d12)):
        raise ValueError(f"distances must be finite and not negative, not {d1}, {d2}, {d12}")
    return share_of_squares(d1 ** 2, d2 ** 2, d12 ** 2)


def share_of_squares(s1: float, s2: float, s12: float) -> float:
    """`nearest_share` from squared distances, which an unbiased MMD² gives; it may be negative.

    Raises:
        ValueError: s12 is 0.
    """
    if s12 == 0:
        raise ValueError("the distance between the two parents is 0: every share gives the same network")
    return (s2 + s12 - s1) / (2 * s12)


def printed_share(d1: float, d2: float, d12: float) -> float:
    """Eq. 11 as SAIL's §4.4 and the beginning of its appendix E print it, with d₁ and d₂ exchanged: the share of the
    *other* parent.
    """
    return nearest_share(d2, d1, d12)


def distance_along(d1: float, d2: float, d12: float, share: float) -> float:
    """‖γ·θ₁ + (1 − γ)·θ₂ − θ*‖ from the three distances (Stewart's theorem)."""
    squared = share * d1 ** 2 + (1 - share) * d2 ** 2 - share * (1 - share) * d12 ** 2
    return math.sqrt(max(0.0, squared))


# -- many parents ----------------------------------------------------------------------------------

def inner_products(to_target: Float[Tensor, " n"], between: Float[Tensor, "m k"]) -> Float64[Tensor, "n n"]:
    """H_ij = d(i, *)² + d(j, *)² − d(i, j)², twice the inner products of θᵢ − θ* and θⱼ − θ* where d are distances
    between points (SAIL, Eq. 13).

    Args:
        to_target: d(i, *).
        between: d(i, j), 0 on the diagonal.

    Raises:
        ValueError: the shapes do not fit, a distance is negative or not finite, or `between` is not symmetric with a
            diagonal of 0.
    """
    to_target, between = to_target.double(), between.double()
    if between.shape != (len(to_target), len(to_target)):
        raise ValueError(f"{len(to_target)} distances to the target need {len(to_target)}×{len(to_target)} between the "
                         f"parents, not {tuple(between.shape)}")
    distances = torch.cat([to_target, between.flatten()])
    if not distances.isfinite().all() or (distances < 0).any():
        raise ValueError("distances must be finite and not negative")
    if not torch.allclose(between, between.T) or between.diagonal().any():
        raise ValueError("distances between parents must be symmetric, and 0 from a parent to itself")
    return to_target[:, None] ** 2 + to_target[None] ** 2 - between ** 2


def shares_of(H: Float[Tensor, "..."], otherwise: str = "") -> Float64[Tensor, " n"]:
    """γ = H⁻¹e/(eᵀH⁻¹e), which makes γᵀHγ smallest among shares that sum to 1, if H is positive definite (SAIL, Eq.
    12).

    Args:
        H: symmetric.
        otherwise: what to do where H is not positive definite: "simplex" takes `on_simplex`.

    Raises:
        ValueError: H is not symmetric; or not positive definite, and no way out was asked for: the formula then gives a
            saddle point, or divides by zero.
    """
    H = H.double()
    if H.ndim != 2 or H.shape[0] != H.shape[1] or not torch.allclose(H, H.T):
        raise ValueError(f"H must be a symmetric matrix, not {tuple(H.shape)}")
    if otherwise not in ("", "simplex"):
        raise ValueError(f"otherwise must be \"simplex\" or \"\", not {otherwise!r}")
    lowest = torch.linalg.eigvalsh(H)[0].item()
    if lowest > 1e-10 * H.abs().max().item():
        solved = torch.linalg.solve(H, torch.ones(len(H), dtype=torch.float64))
        return solved / solved.sum()
    if otherwise == "simplex":
        return on_simplex(H)
    raise ValueError(f"H ({len(H)}×{len(H)}) is not positive definite, its lowest eigenvalue is {lowest:.3g}: "
                     "H⁻¹e/(eᵀH⁻¹e) need not be a minimum there. Ask for otherwise=\"simplex\", shares that are not "
                     "negative.")


def on_simplex(H: Float[Tensor, "n n"]) -> Float64[Tensor, " n"]:
    """The shares, none negative and summing to 1, that make γᵀHγ smallest, for any symmetric H: every set of parents
    that are let in is tried, so this is for a handful.

    Raises:
        ValueError: more than 12 parents.
    """
    H = H.double()
    if len(H) > 12:
        raise ValueError(f"{len(H)} parents have too many subsets to try them all; at most 12")
    best, lowest = None, math.inf
    for size in range(1, len(H) + 1):
        for members in itertools.combinations(range(len(H)), size):
            shares = _inside(H, list(members))
            value = math.inf if shares is None else (shares @ H @ shares).item()
            if value < lowest - 1e-15:
                best, lowest = shares, value
    return best


def _inside(H, members):
    """Where γᵀHγ is stationary with these parents alone, if all their shares are positive there."""
    part = H[members][:, members]
    ones = torch.ones(len(members), dtype=torch.float64)
    corner = torch.zeros(1, 1, dtype=torch.float64)
    system = torch.cat([torch.cat([part, ones[:, None]], 1), torch.cat([ones[None], corner], 1)])
    right = torch.cat([0 * ones, torch.ones(1, dtype=torch.float64)])
    if torch.linalg.matrix_rank(system) < len(system):
        return None
    inside = torch.linalg.solve(system, right)[:-1]
    if (inside < -1e-12).any():
        return None
    shares = torch.zeros(len(H), dtype=torch.float64)
    shares[members] = inside.clamp(min=0)
    return shares
