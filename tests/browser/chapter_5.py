"""What the pictures of chapter 5 say, beside what was measured."""
from lessons.pretraining.experiment import labels, starts


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    units, line, together, shares = said
    assert "Layer 1 with activation matching" in units and "Pair 95, counted from the best" in units
    sweep, shuffled = starts.run("quick", 0), labels.run("quick", 0)
    here = sweep.sel(pair="two tasks", treatment="as it is", alpha=0.9)
    assert "α = 0.90" in line
    for setting in starts.SETTINGS:
        assert f"{setting} {here.loss.sel(setting=setting).item():.3f}" in line
    gap = here.gap_mean.sel(setting=starts.ONE_START_BRIEFLY).isel(layer=slice(None, -1)).mean().item()
    assert f"One epoch apart, α = 0.90, mean over the hidden layers: gap {gap:.4f} from one random start" in together
    part = shuffled.sel(start=labels.fraction_name(0.5), pair="two tasks")
    assert "0.50 of the labels shuffled" in shares
    assert f"mean over the layers: {part.gap_mean.mean().item():.4f}" in shares
