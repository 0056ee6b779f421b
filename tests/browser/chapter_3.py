"""What the pictures of chapter 3 say, beside what was measured."""
from lessons.averaging import experiment


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = experiment.run("quick", 0)
    ranked = sweep.average_accuracy.sortby(sweep.average_accuracy)
    assert f"Averaged weights {ranked.values[-2]:.4f}" in said[0], "one step from the end is the second best average"
    dots = page.locator(".weightspace-view svg.plot .cloud").first.get_attribute("d")
    assert dots.count("M") == len(experiment.TRIPLES)
