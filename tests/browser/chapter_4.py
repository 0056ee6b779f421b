"""What the pictures of chapter 4 say, beside what was measured."""
import pytest

from lessons.task_arithmetic.experiment import mlp as experiment


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep, networks = experiment.run("quick", 0), experiment.models(0)
    edits, equations, negation, desk = said
    at_09 = sweep.accuracy.sel(lam=0.9)
    shown = [all(f"{value:.3f}" in edits for value in at_09.sel(edit=edit).values) for edit in experiment.EDITS]
    assert any(shown), edits
    assert all("λ = 0.80" in text for text in (equations, negation))
    table = experiment.desk(networks)
    assert "added with λ = 0.75: all eight" in desk
    expected = table.accuracy_of(dict.fromkeys(experiment.ANGLES, 0.75))
    accuracies = desk.split("in the weights: ")[-1].rstrip(".").split("; ")
    assert [float(text.split()[-1]) for text in accuracies] == pytest.approx(expected, abs=6e-4)
