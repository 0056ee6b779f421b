"""What the pictures of chapter 11 say, beside what was measured."""
from lessons.vit.experiment import lines, merges, ranks, setting


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    blocks, bell, negation, layers, layer = said
    line = lines.run("quick", 0)
    alpha, pair = float(line.alpha.values[-2]), str(line.pair.values[0])
    gap = float(line.gap_mean.sel(width=64, pair=pair, alpha=alpha, layer="block 4"))
    assert f"α = {alpha:.2f}" in blocks and f"block 4 gap {gap:.4f}" in blocks
    grid = ranks.run("quick", 0)
    lam = float(grid.lam.values[-2])
    mean = float(grid.accuracy.sel(width=64, part="test", lam=lam, rank=0.08).mean())
    assert bell.startswith(f"Width 64, λ = {lam:g}") and f"0.08: {mean:.3f}" in bell
    every = merges.run("quick", 0)
    away = float(every.lam.values[-2])
    own = float(every.negated.sel(width=64, lam=away, of="its own task").mean())
    assert f"with λ = {away:g} taken away, its own task is read at {own:.3f}" in negation
    lengths = of_matrices()
    assert f"‖τ‖/‖θ₀‖ from {min(lengths):.2g} to {max(lengths):.2g}" in layers
    assert "at α = 0.90" in layer and layer.startswith("blocks.")


def of_matrices():
    """‖τ‖/‖θ₀‖ of every matrix, mean over tasks."""
    loaded = setting.load(setting.PROFILES["quick"], 0, 64)
    return [float(sum((state[key] - start).norm() for state in loaded.finetuned) / len(loaded.finetuned) / start.norm())
            for key, start in loaded.base.items() if start.ndim > 1]
