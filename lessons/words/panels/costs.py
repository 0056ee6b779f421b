"""What it costs to choose a rank on few sentences."""
from collections.abc import Mapping

from lessons.kit import plotting
from lessons.kit.plotting import BLUE, GREY, still
from lessons.kit.sweep import warned
from lessons.words.experiment import setting

LITTLE = 0.7  # of what a rank at random loses: who loses more chooses only a little better


def finding_of_costs(lost: float, at_random: float) -> str:
    """What choosing on the fewest sentences costs, compared with a rank that is drawn at random; both are shares."""
    return "On the fewest sentences, choosing is only a little better than chance" if lost > LITTLE * at_random else \
        "Choosing is better than chance, also on the fewest sentences"


@still
def costs(lost: Mapping[int, float], at_random: float):
    """The accuracy that is lost, in points, by the number of sentences that a rank is chosen on.

    Args:
        lost: {number of sentences: accuracy that is lost on average}, shares.
        at_random: the same of a rank that is drawn at random.
    """
    fig, ax = plotting.figure(height=2.6)
    places, points = range(len(lost)), [100 * value for value in lost.values()]
    ax.plot(places, points, color=BLUE, marker="o")
    ax.axhline(100 * at_random, color=GREY, linestyle="--")
    ax.annotate("a rank at random", (places[-1], 100 * at_random), (0, 4), textcoords="offset points", ha="right")
    for place, value in zip(places, points):
        ax.annotate(f"{value:.1f}", (place, value), (0, 7), textcoords="offset points", ha="center")
    ax.set_xticks(places, [f"{count:,}" for count in lost])
    ax.set(xlabel="held-out sentences, all tasks together", ylabel="points lost",
           ylim=(0, 1.25 * max(*points, 100 * at_random)), title=finding_of_costs([*lost.values()][0], at_random))
    told = ", ".join(f"{count} sentences {value:.1f}" for count, value in zip(lost, points))
    about = f"{warned(setting.source().kind, setting.DATASET)}Computed as the mean over 1,000 draws."
    return plotting.show(fig, f"Points lost: {told}; a rank at random {100 * at_random:.1f}.", about)
