"""A panel of the learner's own in three lines: a function, its arguments as controls, and what it returns below them.

    def between(alpha):
        return f"{alpha:.1f} of one network, {1 - alpha:.1f} of the other"

    explore(between, alpha=(0, 1, 0.1))
"""
import inspect
import traceback
from collections.abc import Callable, Mapping

import ipywidgets as widgets
from matplotlib.figure import Figure

from lessons.kit.page import preformatted
from lessons.kit.plotting import drawing, image_tag


class Explore(widgets.VBox):
    """Controls over what a function returns for their values.

    Attributes:
        controls: {argument: its ipywidgets control}; move one from Python by `controls["alpha"].value = 0.4`.
        result: what the function returned last; None where it stopped with an error, which is shown.
    """

    def __init__(self, function: Callable, controls: Mapping[str, widgets.Widget]):
        self.controls, self.result = dict(controls), None
        self._function, self._shown = function, widgets.HTML()
        super().__init__([*self.controls.values(), self._shown])
        for control in self.controls.values():
            control.observe(self._run, "value")
        self._run()

    def _run(self, _change=None):
        try:
            self.result = self._function(**{name: control.value for name, control in self.controls.items()})
            self._shown.value = _html(self.result)
        except Exception:
            self.result = None
            self._shown.value = preformatted(traceback.format_exc())._repr_html_()


def explore(function: Callable, **ranges) -> Explore:
    """Controls over what `function` returns.

    Args:
        function: takes the controls' values by name and returns a matplotlib figure, anything with an HTML form, such
            as a table, or an object, whose text is shown.
        ranges: for each argument (low, high, step) of a slider, a list of choices, or an ipywidgets control.

    Raises:
        ValueError: a range that is none, or an argument that the function does not take.
    """
    try:
        inspect.signature(function).bind(**ranges)
    except TypeError as error:
        raise ValueError(f"explore(…) names the arguments of {function.__name__}: {error}") from None
    return Explore(function, {name: _control(name, given) for name, given in ranges.items()})


def _control(name, given):
    style = {"description_width": "initial"}
    if isinstance(given, widgets.Widget):
        return given
    if isinstance(given, list) and given:
        return widgets.Dropdown(description=name, options=given, style=style)
    if isinstance(given, tuple) and len(given) == 3 and given[0] < given[1] and 0 < given[2] <= given[1] - given[0]:
        kind = widgets.IntSlider if all(isinstance(number, int) for number in given) else widgets.FloatSlider
        low, high, step = given
        return kind(description=name, min=low, max=high, step=step, value=low, style=style)
    raise ValueError(f"{name} needs (low, high, step) with low < high, a list of choices, or a control, not {given!r}")


def _html(result):
    if isinstance(result, Figure):
        with drawing():
            return str(image_tag(result, "the figure of a function that is explored"))
    if not hasattr(result, "_repr_html_"):
        result = preformatted(result if isinstance(result, str) else repr(result))
    return result._repr_html_()
