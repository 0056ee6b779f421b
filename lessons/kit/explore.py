"""A panel of the learner's own in three lines: a function, its arguments as controls, and what it returns below them.

    def between(alpha):
        return f"{alpha:.1f} of one network, {1 - alpha:.1f} of the other"

    explore(between, alpha=(0, 1, 0.1))
"""
import contextlib
import inspect
import math
import numbers
import sys
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
            with _closed() as opened:
                self.result = self._function(**{name: control.value for name, control in self.controls.items()})
            self._shown.value = _html(opened[-1] if self.result is None and opened else self.result)
        except Exception:
            self.result = None
            self._shown.value = preformatted(traceback.format_exc())._repr_html_()


def explore(function: Callable, /, **ranges) -> Explore:
    """Controls over what `function` returns.

    Args:
        function: takes the controls' values by name and returns a matplotlib figure, anything with an HTML form, such
            as a table, or an object, whose text is shown. Where it returns nothing, what it drew with pyplot is shown.
        ranges: for each argument (low, high, step) of a slider, a list of choices, a list of pairs ("label", choice),
            or an ipywidgets control.

    Raises:
        ValueError: no function, a range that is none, pairs without labels, or an argument that the function does not
            take.
    """
    if not callable(function):
        raise ValueError(f"explore(…) needs a function first, not a {type(function).__name__}: hand over its name "
                         "without calling it")
    try:
        inspect.signature(function).bind(**ranges)
    except TypeError as error:
        called = getattr(function, "__name__", type(function).__name__)
        raise ValueError(f"explore(…) names the arguments of {called}: {error}") from None
    return Explore(function, {name: _control(name, given) for name, given in ranges.items()})


def _control(name, given):
    style = {"description_width": "initial"}
    if isinstance(given, widgets.Widget):
        return given
    if isinstance(given, list) and given:
        if _has_pairs_without_labels(given):
            raise ValueError(f"{name} has a list of pairs. In a menu the first of a pair is a label and the second is "
                             f"the choice, so write {name}=[(\"a label\", choice), …] with a text first in each pair. "
                             f"For a slider write {name}=(low, high, step) without a list")
        try:
            return widgets.Dropdown(description=name, options=given, style=style)
        except Exception:  # arrays and tensors, which a menu compares
            raise ValueError(f"{name} needs choices that are texts or numbers, such as the names of what your function "
                             "looks up") from None
    if not _is_range(given):
        raise ValueError(f"{name} needs (low, high, step) with low < high, a list of choices, or a control, not "
                         f"{given!r}")
    low, high, step = given
    about = {"description": name, "min": low, "max": high, "step": step, "value": low, "style": style}
    if all(isinstance(number, numbers.Integral) for number in given):
        return widgets.IntSlider(**about)
    return widgets.FloatSlider(**about, readout_format=f".{_decimals(float(low), float(step))}f")


def _has_pairs_without_labels(choices):
    """Whether all choices are pairs, which a menu would take for labels and choices, and some have no text first."""
    return all(isinstance(choice, (list, tuple)) and len(choice) == 2 for choice in choices) and \
        not all(isinstance(label, str) for label, _ in choices)


def _is_range(given):
    """Whether these are three numbers, from one to another that is larger, in steps that fit between them."""
    if not isinstance(given, tuple) or len(given) != 3 or any(isinstance(part, str) for part in given):
        return False
    try:
        low, high, step = map(float, given)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return False
    return low < high and 0 < step <= high - low and math.isfinite(high - low)


def _decimals(low, step):
    """So many that the slider says two values in different numbers, and each as it is; at least two."""
    enough = (count for count in range(2, 12)
              if all(abs(round(part, count) - part) <= step / 100 for part in (low, step)))
    return next(enough, 12)


@contextlib.contextmanager
def _closed():
    """Figures that pyplot opens inside are closed afterwards: it keeps every one, and the notebook would show them once
    more, below the panel.

    Yields:
        A list to which they are added, in order.
    """
    before, opened = _open_figures(), []
    try:
        yield opened
    finally:
        for number in sorted(_open_figures() - before):
            pyplot = sys.modules["matplotlib.pyplot"]
            opened.append(pyplot.figure(number))
            pyplot.close(number)


def _open_figures():
    """Their numbers; to import pyplot only for asking would take long."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if pyplot else set()


def _html(result):
    if isinstance(result, Figure):
        with drawing():
            return str(image_tag(result, "the figure of a function that is explored"))
    if not hasattr(result, "_repr_html_"):
        result = preformatted(result if isinstance(result, str) else repr(result))
    return result._repr_html_()
