"""Predictions: before an experiment the learner commits to a number, and the panel draws it beside the truth."""
import ipywidgets as widgets
import numpy as np
import traitlets

from lessons.kit.plotting import BLACK, PURPLE


class Prediction(widgets.VBox):
    """A question, a slider for the answer, and a button that commits it. `committed` is None until then, and can be
    changed later."""
    committed = traitlets.Float(None, allow_none=True)

    def __init__(self, question: str, low: float = 0.0, high: float = 1.0, step: float = 0.01):
        if not low < high or not 0 < step <= high - low:
            raise ValueError("a prediction needs low < high and a step between 0 and their difference, "
                             f"not low={low}, high={high}, step={step}")
        self.low, self.high = low, high
        self._answer = widgets.FloatSlider(value=(low + high) / 2, min=low, max=high, step=step, description="my guess",
                                           layout=widgets.Layout(width="420px"))
        self._button = widgets.Button(description="Commit", button_style="primary",
                                      tooltip="Fix your prediction; the panel below draws it")
        self._said = widgets.HTML()
        self._button.on_click(lambda _: self.commit(self._answer.value))
        self._question = f"<b>Your prediction.</b> {question}"
        super().__init__([widgets.HTML(self._question), widgets.HBox([self._answer, self._button]), self._said])
        self.add_class("weightspace-prediction")

    def commit(self, value: float) -> None:
        """Fix the prediction.

        Raises:
            ValueError: it lies outside what was asked for.
        """
        if not self.low <= value <= self.high:
            raise ValueError(f"the prediction must lie between {self.low:g} and {self.high:g}, not {value!r}")
        self.committed = value
        self._said.value = (f"You said <b>{value:.2f}</b>. It is the purple star in the next panel; "
                            "commit again to move it.")

    def _repr_mimebundle_(self, **arguments):
        bundle = super()._repr_mimebundle_(**arguments)
        return {**(bundle or {}), "text/html": f"<p>{self._question}</p>"}  # shown where no widget can be


def predict(question: str, low: float = 0.0, high: float = 1.0, step: float = 0.01) -> Prediction:
    """Ask for a number between low and high; hand the result to the panel that shows the truth."""
    return Prediction(question, low, high, step)


class Star:
    """The purple star that stands for a prediction in a panel's figure, at `x`; `place` moves it to what was committed,
    if anything was."""

    def __init__(self, ax, prediction: Prediction | None, x: float = 0.5):
        self._prediction = prediction
        self._star = ax.plot([x], [0], color=PURPLE, marker="*", markersize=15, markeredgecolor=BLACK, linestyle="",
                             zorder=5, animated=True)[0]

    def place(self) -> None:
        """To be called in a panel's `draw`."""
        committed = self._prediction.committed if self._prediction else None
        self._star.set_ydata([np.nan if committed is None else committed])
