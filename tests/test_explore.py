"""A panel of the learner's own."""
import matplotlib.figure
import pytest

from lessons.kit.explore import explore
from lessons.kit.page import table


def test_a_slider_moves_what_a_function_returns():
    panel = explore(lambda alpha: f"α is {alpha:.1f} <b>", alpha=(0, 1, 0.1))
    assert "α is 0.0 &lt;b&gt;" in panel.children[-1].value
    panel.controls["alpha"].value = 0.4
    assert panel.result == "α is 0.4 <b>" and "α is 0.4" in panel.children[-1].value


def test_figures_tables_and_choices():
    assert "<img" in explore(lambda size: matplotlib.figure.Figure((size, 2)), size=(2, 4, 1)).children[-1].value
    panel = explore(lambda name: table([name], [["1"]]), name=["one", "two"])
    panel.controls["name"].value = "two"
    assert "two</th>" in panel.children[-1].value


def test_an_error_is_shown_and_the_next_value_goes_on():
    panel = explore(lambda n: 1 / n, n=(0, 2, 1))
    assert "ZeroDivisionError" in panel.children[-1].value and panel.result is None
    panel.controls["n"].value = 2
    assert panel.result == 0.5 and "0.5" in panel.children[-1].value


@pytest.mark.parametrize("given, says", [
    ({"alpha": (1, 0, 0.1)}, "low < high"), ({"alpha": (0, 1)}, "needs"), ({"alpha": []}, "needs"),
    ({"beta": (0, 1, 1)}, "names the arguments of")])
def test_a_range_that_is_none_is_named(given, says):
    with pytest.raises(ValueError, match=says):
        explore(lambda alpha: alpha, **given)
