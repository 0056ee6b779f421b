"""What the pictures of chapter 2 say, beside what was measured."""
from lessons.linearity.experiment import resnet


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep, amounts = resnet.run("quick", 0), resnet.run_amounts("quick", 0)
    gap, coef, batchnorm, pretraining, answers = said
    assert all("α = 0.75" in text for text in said)
    here = resnet.at(sweep, pair="splits 1 and 2", alpha=0.75)
    own = here.sel(treatment="interpolated")
    for value in own.gap_mean.values:
        assert f"{value:.4f}" in gap
    for value in own.coef_median.values:
        assert f"{value:.2f}" in coef
    for treatment in resnet.TREATMENTS:
        assert f"{treatment}: accuracy {here.accuracy.sel(treatment=treatment).mean().item():.3f}" in batchnorm
    for amount in amounts.amount.values:
        part = resnet.at(amounts, treatment="interpolated", alpha=0.75, amount=amount)
        assert f"pretrained on {amount}" in pretraining and f"accuracy {part.accuracy.mean().item():.3f}" in pretraining
    assert f"with probability {own.confidence.sel(task='i').values[0]:.3f}" in answers
