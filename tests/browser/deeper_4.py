"""What the picture of chapter 4's deeper notebook says, beside what was measured."""
import pytest

from lessons.task_arithmetic.experiment import mlp as experiment


def compare(page, said):
    """said: the alternative text of the panel, one step before the end of its slider."""
    lam = float(experiment.POSITIVE[-2])
    at_lam = experiment.run("quick", 0).stitched.sel(step=lam, layer="layer 2")
    both = at_lam.sel(features=experiment.FEATURES[0])
    assert f"put into the pretrained network at layer 2, λ = {lam:.2f}" in said[0]
    shown = float(said[0].partition("both networks' features ")[2].partition(",")[0])
    assert shown == pytest.approx(both.mean().item(), abs=6e-4)
