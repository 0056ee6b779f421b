"""How probable is it that pretrained parameters are nearer to the target's than random ones (SAIL, Thm. 1)?

X = ‖θ₁ − θ*‖² and Y = ‖θ_rand − θ*‖² with θ_rand ~ N(0, I) in d dimensions: Y is noncentral χ² with mean d + ‖θ*‖².
"""
import numpy as np
from jaxtyping import Float
from scipy import stats

Numbers = Float[np.ndarray, "..."]


def not_nearer(x: Numbers | float, alpha: float, d: int, target: float = 0.0) -> Numbers:
    """Pr(X ≥ α·Y) for a fixed X: the probability that Y is at most X/α.

    Args:
        x: X.
        alpha: in (0, 1).
        d: number of parameters.
        target: ‖θ*‖².

    Raises:
        ValueError: α or d makes no sense.
    """
    _checked(alpha, d)
    return np.asarray(stats.ncx2.cdf(np.asarray(x, float) / alpha, d, target) if target else
                      stats.chi2.cdf(np.asarray(x, float) / alpha, d))


def bound(mean_x: Numbers | float, alpha: float, d: int, target: float = 0.0) -> Numbers:
    """E[X]/(α·(d + ‖θ*‖²)): what SAIL's appendix A has Pr(X ≥ α·Y) be at most.

    Its proof takes Markov's inequality with the random α·Y in place of a constant. The statement holds for d ≥ 2 all
    the same: Y's density is log-concave there, so its hazard rate never falls, so Pr(Y ≤ t) ≤ 1 − exp(−t/E[Y]) ≤ t/E[Y]
    up to the mean, and beyond it the bound is above 1. For d = 1 it fails.
    """
    _checked(alpha, d)
    return np.asarray(np.asarray(mean_x, float) / (alpha * (d + target)))


def worst(d: int, target: float = 0.0, shares: Numbers | None = None) -> float:
    """The largest Pr(Y ≤ t) over t/E[Y], for t from a millionth of E[Y] up to E[Y]: above 1, the bound does not
    hold."""
    shares = np.logspace(-6, 0, 601) if shares is None else shares
    mean = d + target
    return float((not_nearer(shares * mean, 1 - 1e-12, d, target) / shares).max())


def _checked(alpha, d):
    if not 0 < alpha < 1:
        raise ValueError(f"α must lie between 0 and 1, not {alpha!r}")
    if d < 1 or int(d) != d:
        raise ValueError(f"d must be a whole number of at least 1, not {d!r}")
