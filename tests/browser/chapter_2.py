"""What the pictures of chapter 2 say, beside what was measured."""
from lessons.kit.sweep import at
from lessons.resnet import experiment
from lessons.resnet.algorithms import TREATMENTS
from lessons.resnet.panels.amounts import TREATMENT


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = experiment.pairs.run("quick", 0)
    amounts = experiment.amounts.run("quick", 0)
    gap, batchnorm, pretraining, answers = said
    assert all("α = 0.75" in text for text in (gap, answers))
    assert all("α = 0.50" in text for text in (batchnorm, pretraining))
    own = at(sweep, pair="splits 1 and 2", alpha=0.75, treatment="interpolated")
    for value in own.gap_mean.values:
        assert f"{value:.4f}" in gap
    half_way = at(sweep, pair="splits 1 and 2", alpha=0.5)
    for treatment in TREATMENTS:
        block = half_way.sel(treatment=treatment, layer="block 7")
        right = half_way.right.sel(treatment=treatment, place="half-way").astype(float).mean().item()
        assert f"{treatment}: gap {block.gap_mean.item():.3f}" in batchnorm
        assert f"accuracy of the midpoint {right:.3f}" in batchnorm
    for amount in amounts.amount.values:
        part = at(amounts, treatment=TREATMENT, alpha=0.5, amount=amount)
        share = (part.gap_mean / part.own_mean).sel(layer="block 8").item()
        assert f"pretrained on {amount}" in pretraining and f"{share:.3f} in block 8" in pretraining
    assert f" {own.confidence.sel(task='i').values[0]:.3f};" in answers
