"""Why 1140 triples take seconds: what is shared."""
from lessons.kit.page import Page, reading


def reading_of_the_speed(speed: dict[str, float]) -> Page:
    """What sharing saves, counted and measured.

    Args:
        speed: as `speed_of_sharing` returns it.
    """
    first = 784 * 100
    behind = 2 * 100 * 100 + 100 * 10
    plain = 4 * (first + behind)
    return reading("What is shared", """A triple asks four networks about every image: three members for the ensemble,
        and their average. That makes {plain:,} multiplications. But the members' outputs are the same in every triple:
        compute them once. So are the products of their first layers, which only need to be averaged. What remains are
        {behind:,} multiplications behind the average's first layer, {counted:.0f} times fewer. Measured here, with
        the additions: {plainly:.4f} s a triple without sharing, {shared:.4f} s with it, {ratio:.0f} times as fast.
        Nothing is approximated.""",
        plain=plain, behind=behind, counted=plain / behind, plainly=speed["plain"], shared=speed["shared"],
        ratio=speed["ratio"])
