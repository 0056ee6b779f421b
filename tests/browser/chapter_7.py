"""What the pictures of chapter 7 say, beside what was measured."""
from lessons.interference.experiment import comparison, results


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    toy, search, bars, plane, adapting = said
    sweep = comparison.run(comparison.suites_of("quick")["several"], "quick", 0)
    ties = results.share_of(sweep.tried, sweep.own_tried).sel(searched="ties").mean("task")
    assert f"The best of the method is {ties.max().item():.3f}" in search
    assert bars.startswith("Rotated MNIST")
