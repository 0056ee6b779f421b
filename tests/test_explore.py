"""A panel of the learner's own."""
import functools

import ipywidgets
import matplotlib.figure
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

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
    ({"beta": (0, 1, 1)}, "names the arguments of"), ({"alpha": ("a", "b", "c")}, "needs"),
    ({"alpha": (0.0, float("inf"), 0.1)}, "needs"), ({"alpha": (0, 1j, 1)}, "needs"),
    ({"alpha": [torch.zeros(2), torch.ones(2)]}, "texts or numbers"),
    ({"alpha": [np.zeros(2), np.ones(2)]}, "texts or numbers"),
    ({"alpha": [(0, 1), (2, 3)]}, r'alpha has a list of pairs.*alpha=\[\("a label", choice\), …\].*alpha=\(low, high'),
    ({"alpha": [[0, 1]]}, "alpha has a list of pairs"), ({"alpha": [("a", 1), (2, 3)]}, "alpha has a list of pairs")])
def test_a_range_that_is_none_is_named(given, says):
    with pytest.raises(ValueError, match=says):
        explore(lambda alpha: alpha, **given)


def test_pairs_with_labels_are_a_menu_of_labels():
    panel = explore(lambda widths: widths, widths=[("small", (784, 10)), ("large", (784, 400))])
    panel.controls["widths"].label = "large"
    assert panel.result == (784, 400)


def test_what_is_no_function_is_named_and_so_is_what_has_no_name():
    for none in ("accuracy 0.9", None, 3):
        with pytest.raises(ValueError, match="needs a function first"):
            explore(none, alpha=(0, 1, 0.1))
    with pytest.raises(ValueError, match="names the arguments of partial"):
        explore(functools.partial(lambda a, b: a + b, 1), c=(0, 1, 1))
    assert explore(lambda function: function, function=(1, 2, 1)).result == 1


def drawn(height, returned):
    figure, axes = plt.subplots()
    axes.plot([0, height])
    return figure if returned else None


@pytest.mark.parametrize("returned", [True, False])
def test_a_figure_of_pyplot_is_shown_in_the_panel_and_not_left_open(returned):
    mine = plt.figure()
    panel = explore(lambda height: drawn(height, returned), height=(0.0, 1.0, 0.1))
    first = panel.children[-1].value
    panel.controls["height"].value = 0.5
    assert "<img" in first and "<img" in panel.children[-1].value
    assert plt.get_fignums() == [mine.number]
    plt.close(mine)


def test_a_slider_says_its_values_as_they_are():
    formats = [explore(lambda a: a, a=given).controls["a"].readout_format for given in [
        (0.0, 1.0, 0.1), (0.0, 0.01, 0.001), (0.0, 1.0, 0.125), (0.005, 1.0, 0.01)]]
    assert formats == [".2f", ".3f", ".3f", ".3f"]
    whole = explore(lambda a: a, a=(np.int64(0), np.int64(3), np.int64(1)))
    assert isinstance(whole.controls["a"], ipywidgets.IntSlider) and whole.result == 0
