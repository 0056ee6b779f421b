"""What the pictures of chapter 14 say, beside what was measured."""
from lessons.words.experiment import lines, merges, poets, pretraining
from lessons.words.panels.bell import HELD_OUT, curve
from lessons.words.panels.ctl import shares_of


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    asked, between, bell, starts, text, loss = said
    assert "λ = 2.5. " in asked and "film: bad " in asked
    line = lines.run("quick", 0)
    alpha = float(line.alpha.values[-2])
    block = list(line.layer.values).index("block 2")
    share = shares_of(line)[:, block, -2].mean()
    assert f"α = {alpha:.2f}" in between and f"block 2 {share:.1f} %" in between
    grid = merges.run("quick", 0)
    cart = curve(grid, merges.BY_NAME, HELD_OUT)
    average = float(grid.test.sel(reported="average").mean())
    assert "Own encoder, λ = " in bell and f"average {average:.3f}" in bell
    assert cart.lams.max() in grid.lam.values
    single = float(pretraining.EXPERIMENT.archived().isel(amount=-2).test.sel(reported="single").mean())
    assert "Start “all once”" in starts and f"each network alone {single:.3f}" in starts
    assert "α = 0.75, which is the share of the plays’ network." in text
    sweep = poets.run("quick", 0)
    alpha = float(sweep.alpha.values[-2])
    assert f"α = {alpha:.2f}" in loss and f"mean of both {float(sweep.loss.sel(alpha=alpha).mean()):.3f}" in loss
