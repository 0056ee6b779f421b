"""What the pictures of chapter 12 say, beside what was measured."""
from lessons.vit.experiment import lines, ranks


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    attention, blocks, bell = said
    assert "Block 4, head 1, " in attention
    line = lines.run("quick", 0)
    alpha = float(line.alpha.values[-2])
    part = line.sel(width=64, layer="block 4")
    share = 100 * float((part.gap_mean.sel(alpha=alpha) / part.own_mean).mean())
    assert f"α = {alpha:.2f}" in blocks and f"block 4 {share:.1f} %" in blocks
    grid = ranks.shown("quick", 0)  # the panel opens the kept sweep of profile full
    _, lam = ranks.chosen(grid.isel(width=0))
    test = grid.sel(width=64, part="test", lam=lam)
    assert f"Width 64, λ = {lam:g}. " in bell and f"0.08: {float(test.accuracy.sel(rank=0.08).mean()):.3f}" in bell
    assert f"At rank {float(grid['rank'][-2]):g}: " in bell
