"""What the pictures of chapter 3 say, beside what was measured."""
from lessons.averaging import experiment


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = experiment.run("quick", 0)
    ranked = sweep.average_accuracy.sortby(sweep.average_accuracy)
    assert f"Averaged weights {ranked.values[-2]:.4f}" in said[0], "one step from the end is the second best average"
    assert page.locator("svg.points title").count() == len(experiment.TRIPLES)
