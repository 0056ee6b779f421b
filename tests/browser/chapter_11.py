"""What the pictures of chapter 11 say, beside what was measured."""
from lessons.linearization.experiment import near
from lessons.linearization.experiment.near import EVEN_ODD


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = near.run("quick", 0)
    lam = float(sweep.lam.values[-2])
    at = sweep.sel(setting=EVEN_ODD, lam=lam, moment=1.0)
    assert any(f"λ = {lam:g}, after {int(at.steps)} steps: the network is {float(at.distance):.3f} away" in text
               for text in said)
    assert "95 % of the way from θ₀: the network’s output is " in said[0]
