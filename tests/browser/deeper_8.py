"""What the first picture of chapter 8's deeper notebook says, beside what was measured."""
import re

from lessons.cart.experiment import bell


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = bell.run("quick", 0)
    told = said[0].partition(". ")[2]  # behind the title
    setting, how = told.split(", λ")[0].rsplit(", ", 1)
    lam = float(re.search(r"λ = ([\d.]+)", said[0])[1])
    mean = sweep.accuracy.sel(setting=setting, how=how, lam=lam, part="test").isel(rank=-2).mean("task").item()
    assert f"mean accuracy {mean:.3f}" in said[0]
