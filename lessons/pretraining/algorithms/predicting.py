"""How well one number predicts another, and how sure that is when the points come in families."""
import numpy as np
from jaxtyping import Float, Int


def r2_draws(x: Float[np.ndarray, " points"], y: Float[np.ndarray, " points"], family: Int[np.ndarray, " points"],
             draws: int = 1000, seed: int = 0) -> Float[np.ndarray, " draws"]:
    """R² when the families are drawn anew, as many as there are, with replacement: the bootstrap over clusters (Efron
    1979; Cameron, Gelbach and Miller 2008).

    Pairs of networks from one checkpoint resemble each other. Drawing the pairs one by one would take them for more
    than they are. Two predictors of the same points meet the same draws, so that their R² may be subtracted. The few
    draws that take one family alone are left out.

    Args:
        x, y: what predicts, and what is predicted.
        family: the number of each point's family.

    Raises:
        ValueError: there are fewer than two families.
    """
    names = np.unique(family)
    if len(names) < 2:
        raise ValueError("with one family there is nothing to draw: two are needed at least")
    x, y = ((values - values.mean()) / values.std() for values in (x, y))
    of_points = np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y])
    of_families = np.stack([of_points[:, family == name].sum(1) for name in names])  # (families, 6)
    generator = np.random.default_rng(seed)
    taken = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=draws)
    taken = taken[(taken > 0).sum(1) > 1]  # one family alone may have no spread, and is not a sample of families
    count, sum_x, sum_y, sum_xx, sum_yy, sum_xy = (taken @ of_families).T
    spread_x = sum_xx - sum_x ** 2 / count
    spread_y = sum_yy - sum_y ** 2 / count
    return (sum_xy - sum_x * sum_y / count) ** 2 / (spread_x * spread_y)


def interval(draws: Float[np.ndarray, " draws"]) -> tuple[float, float]:
    """Where the middle 95 % of draws lie."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)
