"""What the picture of chapter 9's deeper notebook says, beside what was computed."""
from lessons.sail.experiment import theory


def compare(page, said):
    """said: the alternative text of the panel, one step before the end of its slider."""
    sweep = theory.run("quick", 0)
    parameters = int(sweep.d[-2])
    assert f"{parameters} parameters" in said[0]
    assert f"bound is {float(sweep.worst.sel(d=parameters)):.3g}" in said[0]
