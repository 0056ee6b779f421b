"""What the pictures of chapter 1 say, beside what was measured."""
from lessons.kit.sweep import at
from lessons.linearity.experiment import mlp


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = mlp.run("quick", 0)
    strangers, along, gap, coef = said
    assert all("α = 0.95" in text for text in said)
    here = at(sweep, pair=mlp.FAR, alpha=0.95)
    for task in ("i", "j", "both", "pretraining"):
        assert f"{here.accuracy.sel(task=task).item():.3f}" in along
    for value in here.gap_mean.values:
        assert f"{value:.4f}" in gap
    for value in here.coef_median.values:
        assert f"{value:.3f}" in coef
    assert f"{at(sweep, start='two random starts', alpha=0.95).start_accuracy.item():.3f}" in strangers
