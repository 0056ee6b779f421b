"""How far two data sets are apart: total variation and maximum mean discrepancy, as SAIL uses them in place of
distances of parameters."""
from collections import Counter
from collections.abc import Callable

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

A, B = Float[Tensor, "n features"], Float[Tensor, "m features"]  # two samples
Kernel = Callable[[Tensor, Tensor], Tensor]  # (a, features), (b, features) -> (a, b)


# -- total variation -------------------------------------------------------------------------------

def total_variation(p: Float[Tensor, " outcomes"], q: Float[Tensor, " outcomes"]) -> float:
    """½·Σ|p − q| of two distributions over the same outcomes."""
    return (p.double() - q.double()).abs().sum().item() / 2


def empirical_total_variation(a: A, b: B) -> float:
    """The total variation between two samples, each taken as a distribution with equal weight on its points (SAIL, app.
    D). Only points that occur in both can make it less than 1.

    Raises:
        ValueError: a sample is empty.
    """
    _not_empty(a, b)
    p, q = (Counter(row.tobytes() for row in (sample.double() + 0.0).contiguous().numpy()) for sample in (a, b))
    shared = sum(min(count / len(a), q[row] / len(b)) for row, count in p.items())
    return 1.0 - shared


# -- maximum mean discrepancy ----------------------------------------------------------------------

def gaussian(bandwidth: float) -> Kernel:
    """The kernel exp(−‖x − y‖²/(2·bandwidth²)).

    Raises:
        ValueError: the bandwidth is not positive.
    """
    if not bandwidth > 0:
        raise ValueError(f"the bandwidth must be above 0, not {bandwidth!r}: with 0 every point is like itself alone, "
                         "and all samples are equally far apart")

    def kernel(a, b):
        return torch.exp(-torch.cdist(a.double(), b.double()).square() / (2 * bandwidth ** 2))
    return kernel


def median_distance(a: A, most: int = 500) -> float:
    """The median distance between points of a sample, the usual bandwidth; of the first `most` points.

    Raises:
        ValueError: the sample has fewer than two points.
    """
    if len(a) < 2:
        raise ValueError(f"the median distance needs at least two points, and there are {len(a)}")
    some = a[:most].double()
    distances = torch.cdist(some, some)
    return distances[~torch.eye(len(some), dtype=torch.bool)].median().item()


def biased_mmd(within_a: Float[Tensor, "a a"], within_b: Float[Tensor, "b b"],
               between: Float[Tensor, "a b"]) -> float:
    """MMD² of two samples from their kernel matrices, never negative (Gretton et al. 2012, Eq. 5): the mean of k within
    a, plus that within b, minus twice that between them. A point's kernel with itself counts.

    Raises:
        ValueError: a sample is empty.
    """
    _not_empty(within_a, within_b)
    return (within_a.double().mean() + within_b.double().mean() - 2 * between.double().mean()).item()


def unbiased_mmd(within_a: Float[Tensor, "a a"], within_b: Float[Tensor, "b b"],
                 between: Float[Tensor, "a b"]) -> float:
    """MMD² of two samples without bias (Gretton et al. 2012, Eq. 3): as `biased_mmd`, but the means within a sample
    leave out every point's kernel with itself. It may be negative.

    Raises:
        ValueError: a sample has fewer than two points.
    """
    for within in (within_a, within_b):
        if len(within) < 2:
            raise ValueError(f"the unbiased MMD² needs at least two points a sample, and one has {len(within)}")
    def others(within):
        within = within.double()
        return (within.sum() - within.diagonal().sum()) / (len(within) * (len(within) - 1))
    return (others(within_a) + others(within_b) - 2 * between.double().mean()).item()


def squared_mmd(a: A, b: B, kernel: Kernel, unbiased: bool = True,
                labels_a: Int64[Tensor, " n"] | None = None, labels_b: Int64[Tensor, " m"] | None = None) -> float:
    """MMD² between two samples.

    Args:
        kernel: of two points.
        labels_a, labels_b: where given, points of different labels have the kernel 0: then the distance is one of
            points with their labels.

    Raises:
        ValueError: a sample is empty.
    """
    _not_empty(a, b)
    matrices = []
    for (x, of_x), (y, of_y) in (((a, labels_a), (a, labels_a)), ((b, labels_b), (b, labels_b)),
                                 ((a, labels_a), (b, labels_b))):
        matrix = kernel(x, y)
        if of_x is not None:
            matrix = matrix * (of_x[:, None] == of_y[None])
        matrices.append(matrix)
    return (unbiased_mmd if unbiased else biased_mmd)(*matrices)


def _not_empty(a, b):
    if not len(a) or not len(b):
        raise ValueError(f"there is nothing to compare: the samples have {len(a)} and {len(b)} points")


# -- Gaussians and linear discriminants (SAIL, app. E) ---------------------------------------------

def lda_direction(difference: Float[Tensor, " d"], covariance: Float[Tensor, "d d"]) -> Float64[Tensor, " d"]:
    """The parameters of linear discriminant analysis, Σ⁻¹·(difference of the two class means)."""
    return torch.linalg.solve(covariance.double(), difference.double())


def mahalanobis(difference: Float[Tensor, " d"], covariance: Float[Tensor, "d d"]) -> float:
    """√(aᵀΣ⁻¹a)."""
    difference = difference.double()
    return (difference @ torch.linalg.solve(covariance.double(), difference)).sqrt().item()


def gaussian_total_variation(delta: float) -> float:
    """The total variation between N(μ, Σ) and N(μ', Σ) at Mahalanobis distance Δ: 2·Φ(Δ/2) − 1. (SAIL's Lemma 2 has
    Δ/2, which is above 1 from Δ = 2 on.)"""
    return torch.special.erf(torch.tensor(delta / 2 ** 1.5, dtype=torch.float64)).item()
