"""What the pictures of chapter 7 say, beside what was measured."""
from lessons.interference.experiment import comparison, results


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    toy, search, race = said
    sweep = comparison.run(comparison.suites_of("quick")["several"], "quick", 0)
    ties = results.share_of(sweep.tried, sweep.own_tried).sel(searched="ties").mean("task")
    assert "Density 0.9" in toy and f"Its best is {ties.max().item():.3f}" in search
    average = results.shares(sweep).sel(reported="average")
    assert f"Average {average.mean().item():.3f} ({average.min().item():.3f})" in race
