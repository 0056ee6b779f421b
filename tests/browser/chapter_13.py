"""What the pictures of chapter 13 say, beside what was measured."""
from lessons.vit.experiment import setting


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    layers, layer = said
    lengths = of_matrices()
    assert f"‖τ‖/‖θ₀‖ from {min(lengths):.2g} to {max(lengths):.2g}" in layers
    assert f"Matrix {len(lengths) - 1} of {len(lengths)}" in layers
    assert "λ = 2, α = 0.50, density 1 and rank 32 %" in layer and "blocks." in layer


def of_matrices():
    """‖τ‖/‖θ₀‖ of every matrix, mean over tasks."""
    loaded = setting.load(setting.PROFILES["quick"], 0, 64)
    return [float(sum((state[key] - start).norm() for state in loaded.finetuned) / len(loaded.finetuned) / start.norm())
            for key, start in loaded.base.items() if start.ndim > 1]
