"""What the pictures of chapter 2 say, beside what was measured."""
from lessons.kit.sweep import at
from lessons.resnet import experiment
from lessons.resnet.algorithms import TREATMENTS


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = experiment.pairs.run("quick", 0)
    amounts = experiment.amounts.run("quick", 0)
    of_steps = experiment.steps.run("quick", 0)
    steps, gap, coef, batchnorm, pretraining, answers = said
    assert all("α = 0.75" in text for text in (gap, coef, batchnorm, pretraining, answers))
    after = of_steps.right.sel(images=16, treatment="interpolated").astype(float)
    assert "training step on 16 images" in steps and f"{after.mean().item():.3f} with running statistics" in steps
    here = at(sweep, pair="splits 1 and 2", alpha=0.75)
    own = here.sel(treatment="interpolated")
    for value in own.gap_mean.values:
        assert f"{value:.4f}" in gap
    for value in own.coef_median.values:
        assert f"{value:.2f}" in coef
    for treatment in TREATMENTS:
        last = here.sel(treatment=treatment, layer="block 8")
        right = here.right.sel(treatment=treatment, place="half-way").astype(float).mean().item()
        assert f"{treatment}: gap {last.gap_mean.item():.3f}" in batchnorm
        assert f"accuracy half-way {right:.3f}" in batchnorm
    for amount in amounts.amount.values:
        part = at(amounts, treatment="interpolated", alpha=0.75, amount=amount)
        share = (part.gap_mean / part.own_mean).sel(layer="block 8").item()
        assert f"pretrained on {amount}" in pretraining and f"{share:.3f} in block 8" in pretraining
    assert f"with probability {own.confidence.sel(task='i').values[0]:.3f}" in answers
