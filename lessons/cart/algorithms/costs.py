"""What things cost: subsets to sample, bytes to keep (CART, app. C.2 and D)."""
import math

BITS = 32  # of a weight


def sample_size(low: float, high: float, margin: float) -> int:
    """m = ⌈(1.96 σ/ε)²⌉, how many subsets to draw for a mean that is within ε with 95 % confidence, with σ ≤ (b − a)/2
    (CART, Eq. 10 and 11).

    Args:
        low, high: a and b, bounds of the quantity whose mean is sought.
        margin: ε, in the same unit.

    Raises:
        ValueError: margin is not above 0 or high is below low.
    """
    if margin <= 0 or high < low:
        raise ValueError(f"margin must be above 0 and high at least low, not {margin!r}, {low!r} and {high!r}")
    return math.ceil((1.96 * (high - low) / 2 / margin) ** 2 - 1e-9)


def low_rank_bits(rows: int, columns: int, rank: int) -> int:
    """Bits of the two factors of one matrix, (m, k) and (k, n), at 32 bits a number; of the whole matrix where that is
    fewer.
    """
    return BITS * min(rank * (rows + columns), rows * columns)


def mask_bits(rows: int, columns: int) -> int:
    """Bits of a binary mask of one matrix."""
    return rows * columns


def width_where_low_rank_wins(rank: int) -> int:
    """The smallest M from which on the factors of an M × M matrix of that rank take fewer bits than its mask:
    32·2Mk < M² is M > 64k.

    This is for a rank that stays the same. With a *share* of the rank, k = γM, both sides grow like M², and the width
    drops out: 64γ < 1.
    """
    return 2 * BITS * rank + 1
