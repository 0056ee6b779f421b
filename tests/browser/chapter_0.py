"""What the pictures of chapter 0 say, beside what was measured."""
from lessons.start import experiment


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    networks = experiment.ends()
    expected = experiment.run(networks).accuracy.sel(start=experiment.STARTS[1], alpha=0.95)
    assert "at α = 0.95" in said[0]
    for value in expected.values:
        assert f"{value:.3f}" in said[0]
