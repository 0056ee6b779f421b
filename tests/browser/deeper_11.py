"""What the pictures of the deeper notebook of chapter 11 say, beside what was measured."""
from lessons.linearization.experiment import kernel, lora
from lessons.linearization.experiment.subsets import subsets


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    of_ridge = next(text for text in said if "Layers tuned: all" in text)
    kappa = kernel.run("quick", 0).kappa.isel(subset=len(subsets(4)) - 1)
    assert f"Eigenvalues from {float(kappa.min()):.3g} to {float(kappa.max()):.4g}" in of_ridge
    rank = lora.RANKS[-2]
    mean = lora.run("quick", 0).apart.sel(rank=rank).mean().item()
    assert any(f"Rank {rank}, " in text and f"is {mean:.3f}, their cosine" in text for text in said)
