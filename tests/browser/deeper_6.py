"""What the pictures of the deeper notebook of chapter 6 say, beside what was measured."""
from lessons.gradients.experiment import bound, steps


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = steps.run("quick", 0)
    at = {"network": "tanh", "alpha": steps.AVERAGE, "k": 3, "loss": "cross-entropy", "data": "Spirals"}
    eta = float(sweep.eta[-2])
    part = sweep.sel(at).isel(eta=-2)
    of_terms = next(text for text in said if "the gap is" in text and f"η = {eta:.2g}" in text)
    assert f"After our term {float(part.missed / part.gap):.2%} of it remains" in of_terms
    bounds = bound.run("quick", 0)
    alpha = float(bounds.alpha[-2])
    C = bounds.sel(network="tanh", alpha=alpha).C.item()
    assert any(f"tanh network, α = {alpha:.2f}: measured ‖C‖ {C:.3g}." in text for text in said)
