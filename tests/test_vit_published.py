"""The figures that others published for CLIP are marked as theirs, and add up."""
import pytest

from lessons.checkpoints import published


def test_published_figures_are_marked_and_add_up():
    for one in published.ALL:
        assert all(len(row) == len(one.columns) for row in one.rows.values())
        assert published.MARK in one.page().page and one.source.split(" (")[0] in repr(one.page())
        assert one.dataset().attrs["mark"] == published.MARK
    said = {"θ₀": 48.2, "single models": 90.3, "average": 66.5, "task arithmetic, λ 0.3": 68.0,
            "TIES 20 %, λ 0.3": 72.2, "AdaMerging, per layer": 82.6, "TSV-M": 83.1}  # the means that the source prints
    for row, mean in said.items():
        assert published.B32.mean(row) == pytest.approx(mean, abs=0.15), row
    assert published.SIX_TASKS.mean("θ₀") == pytest.approx(51.1, abs=0.05)
    assert published.SIX_TASKS.mean("single models") == pytest.approx(96.0, abs=0.05)


def test_dtd_alone_explains_the_two_tables():
    ours, theirs = (published.BEHIND[name] for name in ("TSV-M on FusionBench's models", "TSV-M's repository"))
    of_dtd = (theirs["DTD"] - ours["DTD"]) / 8
    assert of_dtd == pytest.approx(theirs["merged"] - ours["merged"], abs=0.2)
    of_single = (theirs["DTD, single"] - ours["DTD, single"]) / 8
    assert of_single == pytest.approx(theirs["single models"] - ours["single models"], abs=0.3)
    assert "not measured here" in published.behind().page
