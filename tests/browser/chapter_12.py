"""What the pictures of chapter 12 say, beside what was measured."""
from lessons.vit.experiment import lines, merges, ranks, setting


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    attention, blocks, bell, negation, layers, layer = said
    assert "Block 4, head 1, " in attention
    line = lines.run("quick", 0)
    alpha = float(line.alpha.values[-2])
    part = line.sel(width=64, layer="block 4")
    share = 100 * float((part.gap_mean.sel(alpha=alpha) / part.own_mean).mean())
    assert f"α = {alpha:.2f}" in blocks and f"block 4 {share:.1f} %" in blocks
    grid = ranks.run("quick", 0)
    _, lam = ranks.chosen(grid.isel(width=0))
    test = grid.sel(width=64, part="test", lam=lam)
    assert f"Width 64, λ = {lam:g}. " in bell and f"0.08: {float(test.accuracy.sel(rank=0.08).mean()):.3f}" in bell
    assert f"At rank {float(grid['rank'][-2]):g}: " in bell
    every = merges.run("quick", 0)
    away = float(every.lam.values[-2])
    own = float(every.negated.sel(width=64, lam=away, of="its own task").mean())
    assert f"with λ = {away:g} taken away, the accuracy on its own task is {own:.3f}" in negation
    lengths = of_matrices()
    assert f"‖τ‖/‖θ₀‖ from {min(lengths):.2g} to {max(lengths):.2g}" in layers
    assert f"Matrix {len(lengths) - 1} of {len(lengths)}" in layers
    assert "λ = 2, α = 0.50, density 1 and rank 32 %" in layer and "blocks." in layer


def of_matrices():
    """‖τ‖/‖θ₀‖ of every matrix, mean over tasks."""
    loaded = setting.load(setting.PROFILES["quick"], 0, 64)
    return [float(sum((state[key] - start).norm() for state in loaded.finetuned) / len(loaded.finetuned) / start.norm())
            for key, start in loaded.base.items() if start.ndim > 1]
