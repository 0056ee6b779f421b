"""What the pictures of chapter 3 say, beside what was measured."""
from lessons.averaging import experiment
from lessons.kit.page import half_up


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = experiment.run("quick", 0)
    triples, features, mixes, soups = said
    ranked = sweep.average_accuracy.sortby(sweep.average_accuracy)
    assert f"Averaged weights {ranked.values[-2]:.4f}" in triples, "one step from the end is the second best average"
    dots = page.locator(".weightspace-view svg.plot .cloud").first.get_attribute("d")
    assert dots.count("M") == len(experiment.TRIPLES)
    gap = sweep.gap_mean.sel(models=19, layer="output").item()
    assert "averages of 19 models" in features and f"output {gap:.4f} against" in features
    here = sweep.sel(three="the bold one and the two best", second=0.5).isel(first=-2)
    average, ensemble = (half_up(here[name].item()) for name in ("triangle_average", "triangle_ensemble"))
    assert f"averaged weights {average:.3f}, ensemble {ensemble:.3f}" in mixes
    assert f"uniform {sweep.uniform.sel(guest='nobody', size=19).item():.4f}" in soups
