"""Predictions: before an experiment the learner commits to a number. The panel that holds the truth shows nothing until
then, moves to the setting that was asked about, draws the guess, and the prediction says both numbers. Readings, tables
and still figures that would tell the answer wait for the guess too (`veil`).
"""
import re

import anywidget
import ipywidgets as widgets
import numpy as np
import traitlets

from lessons.kit.handles import Handles
from lessons.kit.page import Markup, Page, escape, folded, paragraph, preformatted
from lessons.kit.plotting import BLACK, PURPLE

FOLDED = "Make your guess above first, then open this"


class Prediction(widgets.VBox):
    """A question, a slider for the answer, and a button that commits it.

    Attributes:
        committed: the guess; None until it is committed. It can be changed later.
        shown: whether the learner chose to see the truth without a guess.
        at: {control: value}, the setting of the panel that the question is about; `panel_answers` sets it.
    """
    committed = traitlets.Float(None, allow_none=True)
    shown = traitlets.Bool(False)

    def __init__(self, question: str, low: float = 0.0, high: float = 1.0, step: float = 0.01):
        if not low < high or not 0 < step <= high - low:
            raise ValueError("a prediction needs low < high and a step between 0 and their difference, "
                             f"not low={low}, high={high}, step={step}")
        self.question, self.low, self.high, self.step = question, low, high, step
        self.at = {}
        self._truth = self._mark = None
        self._digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
        self._answer = widgets.FloatSlider(value=(low + high) / 2, min=low, max=high, step=step, description="my guess",
                                           readout_format=f".{self._digits}f", layout=widgets.Layout(width="420px"))
        self._button = widgets.Button(description="Commit", button_style="primary",
                                      tooltip="Fix your prediction; the panel below then shows the truth beside it")
        self._said = widgets.HTML()
        self._button.on_click(lambda _: self.commit(self._answer.value))
        self._question = Markup("<b>Your prediction.</b> {}").format(_emphasised(question))
        super().__init__([widgets.HTML(str(self._question)), widgets.HBox([self._answer, self._button]), self._said,
                          Handles()])
        self.add_class("weightspace-prediction")

    @property
    def question_page(self) -> Markup:
        """The question as a paragraph."""
        return paragraph(self._question)

    @property
    def said(self) -> str:
        """What the learner was told after committing, as HTML."""
        return self._said.value

    @property
    def truth(self) -> float | None:
        """What was measured, once a panel has told it."""
        return self._truth

    @property
    def hides(self) -> bool:
        """Whether the truth is still to be kept from the learner."""
        return self.committed is None and not self.shown

    def commit(self, value: float) -> None:
        """Fix the prediction.

        Raises:
            ValueError: it lies outside what was asked for.
        """
        if not self.low <= value <= self.high:
            raise ValueError(f"the prediction must lie between {self.low:g} and {self.high:g}, not {value!r}")
        self.committed = value
        self._say()

    def show_anyway(self) -> None:
        """Let the panel show the truth without a guess."""
        self.shown = True

    def take_back(self) -> None:
        """Ask again: what tells the answer is kept from the learner until the next guess."""
        self.committed, self.shown = None, False
        self._said.value = ""

    def panel_answers(self, truth: float, at: dict | None = None, mark: str = "purple star") -> None:
        """Called by the figure that holds the truth.

        Args:
            truth: what was measured.
            at: {control: value}, where the panel shows it.
            mark: how the guess is drawn there.
        """
        self._truth, self._mark, self.at = float(truth), mark, at or {}
        self._say()

    def _say(self):
        """You said this, measured was that."""
        if self.committed is None:
            return
        said = Markup("You said <b>{:.{}f}</b>").format(self.committed, self._digits)
        if self._truth is None:
            self._said.value = str(said + ". Run the cells below: they hold the answer.")
            return
        apart = round(self._truth - self.committed, self._digits)
        side = "right on it" if not apart else f"{abs(apart):.{self._digits}f} {'higher' if apart > 0 else 'lower'}"
        template = Markup("{}, measured: <b>{:.{}f}</b>, {}. Your guess is the {} in the next picture; commit again to "
                          "move it.")
        self._said.value = str(template.format(said, self._truth, self._digits, side, self._mark))

    def _repr_mimebundle_(self, **arguments):
        bundle = super()._repr_mimebundle_(**arguments)
        return {**(bundle or {}), "text/html": str(self.question_page)}  # shown where no widget can be


def predict(question: str, low: float = 0.0, high: float = 1.0, step: float = 0.01) -> Prediction:
    """Ask for a number between low and high; hand the result to the panel that shows the truth.

    In the question, **two stars** around words make them bold; all else is shown as it is written.
    """
    return Prediction(question, low, high, step)


class Waiting(anywidget.AnyWidget):
    """Pages that are kept from the learner until a prediction is committed, or its panel is asked to show the truth.

    The page in JupyterLab does not have them before that. Where no kernel can tell whether the guess was made, in a
    saved notebook or an HTML page, they are folded.

    Attributes:
        page: what is shown now, as HTML.
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

    def __init__(self, prediction: Prediction, parts):
        self._prediction = prediction
        self._parts = [preformatted(part) if isinstance(part, str) else part for part in parts]
        super().__init__()
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


def _emphasised(question):
    """A question as HTML: escaped, and bold between two stars."""
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(question))))


class Star:
    """The purple star that stands for a prediction in a panel's figure, at `x`; `place` moves it to what was committed.

    It is drawn where the panel shows what was asked about, and nowhere else.

    Args:
        prediction: None where the panel was made without one.
        x: where it stands.
        truth: what was measured.
        at: {control: value}: where the panel shows that.
    """

    def __init__(self, ax, prediction: Prediction | None, x: float, truth: float, at: dict):
        self._prediction, self._at = prediction, at
        self._star = ax.plot([x], [0], color=PURPLE, marker="*", markersize=15, markeredgecolor=BLACK, linestyle="",
                             zorder=5, animated=True)[0]
        if prediction:
            prediction.panel_answers(truth, at)

    def place(self, **controls) -> None:
        """To be called in a panel's `draw`, with the controls' values that `at` names."""
        self._star.set_ydata([guessed(self._prediction, self._at, controls)])


def guessed(prediction: Prediction | None, at: dict, controls: dict) -> float:
    """What was committed, where the panel shows what was asked about; otherwise nan, which draws nothing."""
    asked = all(controls[name] == value for name, value in at.items())
    committed = prediction.committed if prediction and asked else None
    return np.nan if committed is None else committed
