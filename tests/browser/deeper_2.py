"""What the pictures of chapter 2's deeper notebook say, beside what was measured."""
from lessons.kit.sweep import at
from lessons.resnet import experiment


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    steps, coef = said
    after = experiment.steps.run("quick", 0).right.sel(images=16, treatment="interpolated").astype(float)
    assert "training step on 16 images" in steps and f"{after.mean().item():.3f} with running statistics" in steps
    half_way = at(experiment.pairs.run("quick", 0), pair="splits 1 and 2", alpha=0.5, treatment="interpolated")
    assert "α = 0.50" in coef
    for value in half_way.coef_median.values:
        assert f"{value:.2f}" in coef
