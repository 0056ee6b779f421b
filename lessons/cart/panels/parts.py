"""What the pictures share: an axis of ranks, titles that move, names, how a method looks."""
import numpy as np
import xarray
from ipywidgets import SelectionSlider

from lessons.cart.experiment.grid import HOWS
from lessons.kit.panel import slider
from lessons.kit.panel.moving import Look, curve
from lessons.kit.plotting import BLACK, BLUE, GREEN, ORANGE, RED, moving_titles
from lessons.kit.sweep import position
from lessons.kit.view import Axis, Control
from lessons.kit.view import slider as view_slider

AVERAGE, TASK_ARITHMETIC, OWN = "average", "task arithmetic", "own networks"
OF_HOW = dict(zip(HOWS, (Look(BLUE, "o"), Look(RED, "s"))))  # task vectors from the average, and from θ₀
# as levels
OF_AVERAGE, OF_TASK_ARITHMETIC, OF_OWN = Look(GREEN, line="--"), Look(ORANGE, line="-."), Look(BLACK, line=":")


def tasks_slider(names, value) -> SelectionSlider:
    """A slider over sets of tasks whose texts fit beside it."""
    return slider("tasks", {name.replace(" of the pixels", "").partition(",")[0]: name for name in names}, value)


class Ranks:
    """The ranks of a sweep as a reader meets them: directions kept in layer 1 or, where layers of many sizes are cut to
    one share, per cent.

    Attributes:
        values: as the sweep has them.
        texts: for a slider and for ticks.
    """

    def __init__(self, sweep: xarray.Dataset):
        self.values = numbers_of(sweep["rank"])
        self._directions = sweep.attrs.get("directions")
        if self._directions is None:
            self.texts = [f"{100 * value:g}" for value in self.values]
        else:
            self.texts = [*(str(self.count(value)) for value in self.values[:-1]), "all"]

    def count(self, rank: float) -> int:
        """How many directions of layer 1 a rank of the sweep keeps."""
        return round(rank * self._directions)

    def said(self, rank: float) -> str:
        """One rank in a sentence: "12 directions", "all directions", "8 %"."""
        text = self.texts[position(self.values, rank, "rank")]
        if self._directions is None:
            return f"{text} %"
        return f"{text} direction{'' if text == '1' else 's'}"

    def slider(self, value: float) -> SelectionSlider:
        """Over all ranks, beginning at one of them."""
        label = "rank, %" if self._directions is None else "directions kept"
        return slider(label, dict(zip(self.texts, self.values)), value)

    @property
    def places(self) -> tuple[float, ...]:
        """Where they stand on an axis that gives every rank the same room."""
        return tuple(float(place) for place in range(len(self.values)))

    def view_axis(self, label: str) -> Axis:
        """The x axis of a view, with every second rank named, and the last."""
        last = len(self.values) - 1
        named = {place: text for place, text in zip(self.places, self.texts)
                 if last < 11 or place == last or (place % 2 == 0 and place != last - 1)}
        return Axis(label, -0.3, last + 0.3, kind="places", ticks=named)

    def view_slider(self, value: float, ends=("none", "all")) -> Control:
        """A view's slider over all ranks, which begins at the one that is nearest to `value`."""
        nearest = min(self.values, key=lambda rank: abs(rank - value))
        label = "rank kept" if self._directions is None else "directions kept"
        return view_slider(label, dict(zip(self.texts, self.values)), nearest, words=self.said,
                           ends=[("", end) for end in ends], at=self.places)

    def bars(self, sigma: np.ndarray, broad) -> tuple[np.ndarray, np.ndarray]:
        """Singular values as two kinds of bars, one value a place of the axis: those of which `broad` (number of the
        direction -> whether) says yes, and the others. What was not measured is a gap.

        Args:
            sigma: (directions,), largest first.
        """
        counts = [self.count(rank) for rank in self.values]
        heights = np.array([sigma[count - 1] if 1 <= count <= len(sigma) else np.nan for count in counts])
        kept = np.array([bool(broad(count)) for count in counts])
        return np.where(kept, heights, np.nan), np.where(kept, np.nan, heights)

    def axis(self, ax, label: bool = True, every: int = 2) -> np.ndarray:
        """Give every rank the same room on the axis and name every second one, or every fourth; returns their places.
        """
        places = np.arange(len(self.values))
        few = len(places) < 12
        shown = [place for place in places if few or place % every == 0 or (every == 2 and place >= len(places) - 4)]
        ax.set_xticks(shown, [self.texts[place] for place in shown])
        ax.set_xlim(-0.6, len(places) - 0.4)
        if label:
            ax.set_xlabel("rank kept, % of the full rank" if self._directions is None else
                          "directions kept in layer 1" if every > 2 else
                          "directions kept in layer 1 (steps widen at the right)")
        return places


def upright(bars) -> tuple[np.ndarray, np.ndarray]:
    """One line that goes up from 0 at every (place, height), with gaps between: bars that a curve can show."""
    x = np.repeat([place for place, _ in bars], 3).astype(float)
    y = np.ravel([(0.0, height, np.nan) for _, height in bars])
    return x, y


def numbers_of(coordinate) -> list[float]:
    """Of an axis of a sweep, such as its ranks."""
    return [float(value) for value in coordinate.values]


def curves_of_hows(ax) -> list:
    """A moving curve a kind of task vectors, in the order of `HOWS`."""
    return [curve(ax, look, how, markersize=4) for how, look in OF_HOW.items()]


def titles(axes):
    """One moving title an axis; the layout keeps room for a line, however long it gets."""
    for ax in axes:
        ax.set_title(" ")
    return moving_titles(axes, fontsize=9.5, in_layout=False)


def percent(rank) -> str:
    """A rank ratio for a reader: "4 %"."""
    return f"{100 * rank:g} %"


def listed(values, digits: int = 3) -> str:
    """Numbers for an alternative text: "0.123, 0.456"."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def by_rank(ranks: Ranks, values) -> str:
    """Numbers a rank for an alternative text: "1: 0.123, 4: 0.456"."""
    return ", ".join(f"{text}: {value:.3f}" for text, value in zip(ranks.texts, values))
