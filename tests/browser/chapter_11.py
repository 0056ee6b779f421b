"""What the pictures of chapter 11 say, beside what was measured."""
from lessons.linearization.experiment import merging, near
from lessons.linearization.experiment.near import EVEN_ODD


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    assert "95 % of the way from θ₀: the network’s output is " in said[0]
    assert "1/2 of the way: the outputs have moved by " in said[1]
    sweep = near.run("quick", 0)
    lam = float(sweep.lam.values[-2])
    at = sweep.sel(setting=EVEN_ODD, lam=lam, moment=1.0)
    assert f"λ = {lam:g}, after {int(at.steps)} steps: the network is {float(at.distance):.3f} away" in said[2]
    assert "test digits: the largest difference between the output of the trained tangent and that of " in said[3]
    alpha = float(merging.shown("quick", 0).alpha.values[-2])
    assert f"tasks merged, α = {alpha:.2f}: accuracy " in said[4]
