"""What the picture of chapter 5's deeper notebook says, beside what was measured."""
from lessons.pretraining.experiment import curvature


def compare(page, said):
    """said: the alternative text of the panel, one step before the end of its slider."""
    sweep = curvature.run("quick", 0)
    assert f"{abs(sweep.scaled_deviation.sel(function='loss').values[1]):.3g}" in said[0]
