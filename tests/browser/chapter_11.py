"""What the pictures of chapter 11 say, beside what was measured."""
from lessons.vit.experiment import lines, merges, ranks


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    line = lines.run("quick", 0)
    alpha, pair = float(line.alpha.values[-2]), str(line.pair.values[0])
    gap = float(line.gap_mean.sel(width=64, pair=pair, alpha=alpha, layer="block 4"))
    assert any(f"block 4 gap {gap:.4f}" in text for text in said)
    grid = ranks.run("quick", 0)
    lam = float(grid.lam.values[-2])
    mean = float(grid.accuracy.sel(width=64, part="test", lam=lam, rank=0.08).mean())
    assert any(text.startswith(f"Width 64, λ = {lam:g}") and f"0.08: {mean:.3f}" in text for text in said)
    every = merges.run("quick", 0)
    away = float(every.lam.values[-2])
    own = float(every.negated.sel(width=64, lam=away, of="its own task").mean())
    assert any(f"with λ = {away:g} taken away, its own task is read at {own:.3f}" in text for text in said)
