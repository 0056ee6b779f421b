"""What the picture of chapter 3's deeper notebook says, beside what was measured."""
from lessons.averaging import experiment


def compare(page, said):
    """said: the alternative text of the panel, one step before the end of its slider."""
    here = experiment.run("quick", 0).sel(kind="equal", models=19, layer="output")
    assert f"predicted from pairs {here.predicted.item():.4f}" in said[0]
    assert f"output {(here.deviation / here.pair_deviation).item():.2f}; predicted" in said[0]
