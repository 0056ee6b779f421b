"""What the picture of the deeper notebook on published tables says, beside what was measured."""
from lessons.vit.experiment import merges


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    negation, = said
    every = merges.run("quick", 0)
    away = float(every.lam.values[-2])
    own = float(every.negated.sel(width=64, lam=away, of="its own task").mean())
    assert f"with λ = {away:g} taken away, the accuracy on its own task is {own:.3f}" in negation
