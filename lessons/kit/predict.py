"""Predictions: before an experiment the learner commits to a number. The view that holds the truth asks for it, shows
nothing until then, moves to the setting that was asked about, and draws the guess beside what was measured. Readings,
tables and still figures that would tell the answer wait for the guess too (`veil`).
"""
import functools
import math
import re
import sys

import anywidget
import traitlets

from lessons.kit import diary
from lessons.kit.page import Markup, Page, escape, folded, paragraph, preformatted

FOLDED = "Make your guess above first, then open this"


class Prediction(traitlets.HasTraits):
    """A question whose answer is a number; the view that is given it asks it.

    Attributes:
        question: in words, with **bold** ones between two stars.
        low, high, step: of the numbers that can be answered.
        committed: the guess; None until it is committed. It can be changed later.
        shown: whether the learner chose to see the truth without a guess.
        before: the guess that the learner committed when the notebook was open before, from their diary; None where
            there is none. The view begins there, and waits for the learner to commit it again.
        truth: what was measured, once the view that shows it has told it.
        at: {control: value}, the setting of that view which the question is about.
        vote: the vote of a class on it (`lessons.kit.votes.ClassVote`); None before a class was asked.

    Raises:
        ValueError: the question is no text, or the numbers between low and high are none.
    """
    committed = traitlets.Float(None, allow_none=True)
    shown = traitlets.Bool(False)
    vote = traitlets.Any(None, allow_none=True)

    def __init__(self, question: str, low: float = 0.0, high: float = 1.0, step: float = 0.01):
        if not isinstance(question, str):
            raise ValueError(f"a prediction needs its question first, as a text, not {_short(question)}. You make your "
                             "guess in the panel that asks it")
        numbers = [_finite(number) for number in (low, high, step)]
        if None in numbers or not numbers[0] < numbers[1] or not 0 < numbers[2] <= numbers[1] - numbers[0]:
            raise ValueError("a prediction needs finite numbers low < high and a step between 0 and their difference, "
                             f"not low={_short(low)}, high={_short(high)}, step={_short(step)}")
        super().__init__()
        self.question, (self.low, self.high, self.step) = question, numbers
        self.truth, self.at, self.before = None, {}, None

    @property
    def question_page(self) -> Markup:
        """The question as a paragraph."""
        return paragraph(Markup("<b>Your prediction.</b> {}").format(emphasised(self.question)))

    @property
    def hides(self) -> bool:
        """Whether the truth is still to be kept from the learner."""
        return self.committed is None and not self.shown

    def commit(self, value: float) -> None:
        """Fix the prediction.

        Raises:
            ValueError: it is no finite number, or it lies outside what was asked for.
        """
        number = _finite(value)
        if number is None or not self.low <= number <= self.high:
            raise ValueError(f"the prediction must be a number between {self.low:g} and {self.high:g}, "
                             f"not {_short(value)}")
        self.committed = number

    def show_anyway(self) -> None:
        """Let the view show the truth without a guess."""
        self.shown = True

    def take_back(self) -> None:
        """Ask again: what tells the answer is kept from the learner until the next guess."""
        self.committed, self.shown = None, False

    def panel_answers(self, truth: float, at: dict | None = None) -> None:
        """Called by the panel that holds the truth.

        Args:
            truth: what was measured.
            at: {control: value}, where the panel shows it.
        """
        self.truth, self.at = float(truth), at or {}

    def _repr_html_(self):
        return str(self.question_page)


def predict(question: str, low: float = 0.0, high: float = 1.0, step: float = 0.01) -> Prediction:
    """Ask for a number between low and high; hand the result to the panel that shows the truth, which asks.

    In the question, **two stars** around words make them bold; all else is shown as it is written. What is committed is
    noted in the learner's diary, where a notebook of the course asks.
    """
    prediction = Prediction(question, low, high, step)
    if diary.is_on() and (id := diary.call_of_predict(sys._getframe(1))):
        diary.opened(id)
        value = diary.guess_before(id, question)
        if value is not None and prediction.low <= value <= prediction.high:
            prediction.before = value
        prediction.observe(functools.partial(_noted, id), "committed")
    return prediction


def _noted(id, change):
    """The learner's diary has a guess that was committed."""
    if change["new"] is not None:
        diary.guessed(id, change["new"], change["owner"].question)


def _finite(value):
    """A finite number as a float; None for anything else, such as a text."""
    try:
        number = None if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last from a tensor of several numbers
        return None
    return number if number is not None and math.isfinite(number) else None


def _short(value):
    """What was given, for a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


class Waiting(anywidget.AnyWidget):
    """Pages that are kept from the learner until a prediction is committed, or its panel is asked to show the truth.

    The page in JupyterLab does not have them before that. Where no kernel can tell whether the guess was made, in a
    saved notebook or an HTML page, they are folded.

    Attributes:
        page: what is shown now, as HTML.
        question: of the prediction, as it was asked.
    """
    _esm = """
    export default { render({ model, el }) {
      const show = () => { el.innerHTML = model.get("page"); };
      el.classList.add("weightspace-waiting", "jp-RenderedHTMLCommon");
      model.on("change:page", show);
      show();
    } };
    """
    page = traitlets.Unicode().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)

    def __init__(self, prediction: Prediction, parts):
        self._prediction = prediction
        self._parts = [preformatted(part) if isinstance(part, str) else part for part in parts]
        super().__init__(question=prediction.question)
        prediction.observe(self._look, ["committed", "shown"])
        self._look()

    def _look(self, _change=None):
        waits = Markup("<p><i>{}</i></p>").format(self._text())
        pages = [waits] if self._prediction.hides else map(_html, self._parts)
        self.page = "".join(pages)

    def _text(self):
        if self._prediction.hides:
            return "This tells the answer. Make your guess above first."
        return "\n".join(repr(part) for part in self._parts if isinstance(part, Page))

    def _repr_mimebundle_(self, **arguments):
        bundle = _data(super()._repr_mimebundle_(**arguments))
        return {**bundle, "text/plain": self._text(), "text/html": unless_guessed([self._prediction], *self._parts)}


def veil(prediction: Prediction, *parts) -> Waiting:
    """Show parts once the guess is made.

    Args:
        prediction: whose answer they tell.
        parts: each a `Page`, a line of text, or another object with an HTML form, such as a still figure.

    Raises:
        TypeError: the first argument is no prediction, or a part has no HTML form.
    """
    if not isinstance(prediction, Prediction):
        raise TypeError(f"veil(…) needs the prediction first, as predict(…) gives it, not {type(prediction).__name__}")
    for part in parts:
        if not isinstance(part, str) and not hasattr(part, "_repr_html_"):
            raise TypeError(f"veil(…) shows text, pages and still figures, not {type(part).__name__}")
    return Waiting(prediction, parts)


def unless_guessed(predictions, *parts) -> str:
    """The HTML of pages or figures for where no kernel answers: folded while one of the predictions hides the truth."""
    if any(prediction.hides for prediction in predictions):
        return folded(FOLDED, *parts)._repr_html_()
    return "".join(map(_html, parts))


def _html(part):
    return part._repr_html_()


def _data(bundle):
    """The data of what a widget's `_repr_mimebundle_` returns, which may be a pair of data and metadata."""
    return (bundle[0] if isinstance(bundle, tuple) else bundle) or {}


def emphasised(question: str) -> Markup:
    """A question as HTML: escaped, and bold between two stars."""
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(question))))
